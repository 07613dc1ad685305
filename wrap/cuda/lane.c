// SPDX-License-Identifier: MIT
/*
 * Lanes: what was launched into each stream and hasn't ended.
 *
 * Nothing is waited for. Every so many launches an event is put behind them (a
 * mark), by the thread that launches, and when it has happened all before it has
 * ended. What comes after the last mark has ended when the stream says that it is
 * empty. Both are asked when somebody wants to know: the thread that finds too
 * much in flight, one that has just waited for the stream anyway, and the keeper.
 *
 * Default streams of threads are many streams with one name, so each launch into
 * one of them is marked; and nothing is put into the legacy default stream later
 * than its launch, as all other streams would wait for it.
 *
 * Captures: a stream that is captured mustn't be asked, nor, in some modes, may
 * anything be asked by any thread, and a stream can become captured by waiting for
 * an event. So while a capture is under way in the process (gs_captures), streams
 * aren't asked at all; what was launched before was marked when it began, and what
 * is launched beside it is marked each time. Marks are asked for by the keeper
 * alone, which takes part in no capture: a question of another thread, refused, would
 * spoil the capture.
 */
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "rest.h"
#include "wrap.h"

#define BUCKETS	1024u

pthread_mutex_t gs_poll = PTHREAD_MUTEX_INITIALIZER;
uint32_t gs_captures;

/*
 * With it nobody's stream is destroyed: who marks others' lanes has it, and who takes a
 * stream away from its lane. Before gs_poll.
 */
static pthread_mutex_t marking = PTHREAD_MUTEX_INITIALIZER;

static struct gs_lane *buckets[BUCKETS];
static struct gs_lane *lanes;		/* all; gs_poll */
static struct gs_context *contexts;	/* gs_poll */
static struct gs_context *contexts_unused;	/* dead lanes still point to them */

static struct gs_lane **bucket_of(CUstream stream, CUcontext ctx)
{
	uint64_t h = (uint64_t)(uintptr_t)stream ^ (uint64_t)(uintptr_t)ctx * 31;

	return &buckets[h * 0x9e3779b97f4a7c15ull >> 54];
}

/* Numbers of default streams mean one in each context, others are one in all. */
static CUstream by_its_name(CUstream stream, bool twin, CUcontext *ctx)
{
	if (!stream)
		stream = twin ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD)
		*ctx = NULL;
	else if (!*ctx)
		REAL(cuCtxGetCurrent)(ctx);
	return stream;
}

/* gs_poll is held */
static struct gs_context *context_find(CUcontext handle)
{
	struct gs_context *c;

	for (c = contexts; c && c->handle != handle; c = c->next)
		;
	return c;
}

/* gs_poll is held */
static struct gs_context *context_add(CUcontext handle)
{
	static uint64_t ids;
	struct gs_context *c = contexts_unused;

	if (c)
		contexts_unused = c->next;
	else
		c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->id = ++ids;
	c->handle = handle;
	c->ordinal = -1;
	c->refs = 1;
	c->next = contexts;
	contexts = c;
	return c;
}

struct gs_context *gs_context_known(void)
{
	struct gs_context *c = NULL;
	CUcontext handle;
	CUdevice ordinal;

	if (REAL(cuCtxGetCurrent)(&handle) || !handle || REAL(cuCtxGetDevice)(&ordinal))
		return NULL;
	pthread_mutex_lock(&gs_poll);
	c = context_find(handle);
	if (!c)
		c = context_add(handle);
	if (c)
		__atomic_store_n(&c->ordinal, ordinal, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&gs_poll);
	return c;
}

struct gs_context *gs_context_current(void)
{
	struct gs_context *c = gs_context_known();
	struct gs_device *dev = c ? __atomic_load_n(&c->dev, __ATOMIC_ACQUIRE) : NULL;

	if (c && !dev) {	/* whoever comes twice finds the same */
		dev = gs_device_of(__atomic_load_n(&c->ordinal, __ATOMIC_RELAXED));
		__atomic_store_n(&c->dev, dev, __ATOMIC_RELEASE);
	}
	return dev ? c : NULL;
}

/* The present one, or of a named stream, whose context may be another. */
static struct gs_context *context_for(CUstream stream)
{
	struct gs_context *c;
	CUcontext of;

	if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    gs_is_missing(I_cuStreamGetCtx) || REAL(cuStreamGetCtx)(stream, &of) ||
	    REAL(cuCtxPushCurrent_v2)(of))
		return gs_context_current();
	c = gs_context_current();
	REAL(cuCtxPopCurrent_v2)(&of);
	return c;
}

/* One of that handle that leaves just now is another. */
void gs_context_made(CUcontext ctx, CUdevice ordinal, const void *green)
{
	struct gs_context *c;

	pthread_mutex_lock(&gs_poll);
	c = context_find(ctx);
	if (!c || c->leaving)
		c = context_add(ctx);
	if (c) {
		c->made = true;
		c->ordinal = ordinal;
		c->green = green;
	}
	pthread_mutex_unlock(&gs_poll);
}

/* How many references it has after the change; 0: we don't know it. */
uint32_t gs_context_refs(CUcontext ctx, int change)
{
	struct gs_context *c;
	uint32_t refs = 0;

	pthread_mutex_lock(&gs_poll);
	c = context_find(ctx);
	if (c)
		refs = c->refs += (uint32_t)change;
	pthread_mutex_unlock(&gs_poll);
	return refs;
}

static struct gs_lane *look(CUstream stream, CUcontext ctx)
{
	struct gs_lane *l = __atomic_load_n(bucket_of(stream, ctx), __ATOMIC_ACQUIRE);
	uint32_t steps = 0;

	for (; l && ++steps < 4096; l = __atomic_load_n(&l->chain, __ATOMIC_ACQUIRE))
		if (!__atomic_load_n(&l->dead, __ATOMIC_ACQUIRE) &&
		    __atomic_load_n(&l->stream, __ATOMIC_ACQUIRE) == stream &&
		    (!ctx || __atomic_load_n(&l->context, __ATOMIC_RELAXED)->handle == ctx))
			return l;
	return NULL;
}

/* Without the lane's lock: more may have ended by the time. */
static bool is_idle(const struct gs_lane *l)
{
	return __atomic_load_n(&l->submitted, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&l->ended, __ATOMIC_ACQUIRE);
}

/* The lane's lock is held; others look at it without. */
static void set_count(struct gs_lane *l, uint32_t count)
{
	__atomic_store_n(&l->count, count, __ATOMIC_RELAXED);
}

static void drop_first(struct gs_lane *l)
{
	l->first = (l->first + 1) % GS_MARKS;
	set_count(l, l->count - 1);
}

static void set_marked(struct gs_lane *l, uint64_t upto)
{
	if (l->marked < upto)
		__atomic_store_n(&l->marked, upto, __ATOMIC_RELAXED);
}

/* Takes a lane that is dead and empty out of its chain, to be used again. */
static struct gs_lane *lane_again(void)
{
	struct gs_lane *l, **at;

	for (l = lanes; l; l = l->next) {
		if (!l->dead || l->leaving || !is_idle(l) ||
		    __atomic_load_n(&l->count, __ATOMIC_RELAXED))
			continue;
		for (at = l->bucket; *at && *at != l; at = &(*at)->chain)
			;
		if (*at)
			__atomic_store_n(at, l->chain, __ATOMIC_RELEASE);
		return l;
	}
	return NULL;
}

static bool is_blocking(CUstream stream)
{
	unsigned int flags = 0;

	return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	       REAL(cuStreamGetFlags)(stream, &flags) || !(flags & CU_STREAM_NON_BLOCKING);
}

static struct gs_lane *lane_make(CUstream stream, CUcontext ctx)
{
	struct gs_context *c = context_for(stream);
	struct gs_lane **bucket = bucket_of(stream, ctx), *l;
	struct gs_device *dev;
	bool blocking;

	if (!c)
		return NULL;
	dev = __atomic_load_n(&c->dev, __ATOMIC_ACQUIRE);
	blocking = is_blocking(stream);
	/* A function may have been looked up in another context than it is launched in. */
	if (ctx && ctx != c->handle) {
		ctx = c->handle;
		bucket = bucket_of(stream, ctx);
	}
	pthread_mutex_lock(&gs_poll);
	l = look(stream, ctx);
	if (l)
		goto out;
	l = lane_again();
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			goto out;
		pthread_mutex_init(&l->lock, NULL);
		l->next = lanes;
		lanes = l;
	}
	l->bucket = bucket;
	__atomic_store_n(&l->context, c, __ATOMIC_RELAXED);
	l->dev = dev;
	l->per_thread = stream == CU_STREAM_PER_THREAD;
	l->blocking = blocking;
	__atomic_store_n(&l->marked, l->ended, __ATOMIC_RELAXED);
	/* who has still got it from its last chain sees the above with the name */
	__atomic_store_n(&l->stream, stream, __ATOMIC_RELEASE);
	__atomic_store_n(&l->chain, *bucket, __ATOMIC_RELAXED);
	__atomic_store_n(&l->dead, false, __ATOMIC_RELEASE);
	__atomic_store_n(bucket, l, __ATOMIC_RELEASE);
out:
	pthread_mutex_unlock(&gs_poll);
	return l;
}

struct gs_lane *gs_lane_find(CUstream stream, bool twin, CUcontext ctx)
{
	struct gs_lane *l;

	stream = by_its_name(stream, twin, &ctx);
	l = look(stream, ctx);
	return __builtin_expect(l != NULL, 1) ? l : lane_make(stream, ctx);
}

CUevent gs_event_get(struct gs_context *context, bool timed)
{
	CUevent *list = timed ? context->timed : context->plain, event = NULL;
	uint32_t *n = timed ? &context->n_timed : &context->n_plain;

	pthread_mutex_lock(&gs_poll);
	if (*n)
		event = list[--*n];
	pthread_mutex_unlock(&gs_poll);
	if (!event && REAL(cuEventCreate)(&event, timed ? CU_EVENT_DEFAULT :
					  CU_EVENT_DISABLE_TIMING))
		return NULL;
	return event;
}

/* gs_poll is held */
static void put(struct gs_context *context, CUevent event, bool timed)
{
	CUevent *list = timed ? context->timed : context->plain;
	uint32_t *n = timed ? &context->n_timed : &context->n_plain;

	if (*n < sizeof(context->plain) / sizeof(*context->plain))
		list[(*n)++] = event;
	else
		REAL(cuEventDestroy_v2)(event);
}

void gs_event_put(struct gs_context *context, CUevent event, bool timed)
{
	pthread_mutex_lock(&gs_poll);
	put(context, event, timed);
	pthread_mutex_unlock(&gs_poll);
}

struct gs_load gs_lane_load(const struct gs_lane *lane)
{
	return (struct gs_load){
		.ns = __atomic_load_n(&lane->submitted_load.ns, __ATOMIC_RELAXED),
		.blocks = __atomic_load_n(&lane->submitted_load.blocks, __ATOMIC_RELAXED),
	};
}

void gs_lane_submitted(struct gs_lane *lane, struct gs_load load)
{
	__atomic_add_fetch(&lane->submitted_load.ns, load.ns, __ATOMIC_RELAXED);
	__atomic_add_fetch(&lane->submitted_load.blocks, load.blocks, __ATOMIC_RELAXED);
	__atomic_add_fetch(&lane->submitted, 1, __ATOMIC_RELEASE);
}

/* All up to there has ended; the lane's lock is held. */
static void ended_upto(struct gs_lane *l, uint64_t upto, struct gs_load load)
{
	struct gs_load *had = &l->ended_load;
	uint64_t n;

	if (upto <= l->ended)
		return;
	n = upto - l->ended;
	load.ns = load.ns > had->ns ? load.ns - had->ns : 0;
	load.blocks = load.blocks > had->blocks ? load.blocks - had->blocks : 0;
	__atomic_store_n(&l->ended, upto, __ATOMIC_RELEASE);
	had->ns += load.ns;
	had->blocks += load.blocks;
	set_marked(l, upto);
	gs_ended(&l->dev->budget, n, (uint32_t)n, load.ns, load.blocks, load.ns);
}

/* One more of many streams' in one; the lane's lock is held. */
static void ended_one(struct gs_lane *l, struct gs_load load)
{
	load.ns += l->ended_load.ns;
	load.blocks += l->ended_load.blocks;
	ended_upto(l, l->ended + 1, load);
}

/*
 * No event could be put behind a launch. With many streams in one nothing else tells
 * when it ends, and the device would never be given back.
 */
void gs_lane_unmarked(struct gs_lane *lane, struct gs_load load)
{
	if (!lane->per_thread)
		return;
	pthread_mutex_lock(&lane->lock);
	ended_one(lane, load);
	pthread_mutex_unlock(&lane->lock);
}

/*
 * Puts an event behind what was submitted so far; with @timed, its two events are
 * in the stream already. If there is no room the launches stay unmarked, and a
 * later mark speaks for them; a lane of many streams has to wait for room.
 */
void gs_lane_mark(struct gs_lane *lane, const struct gs_mark *timed, struct gs_load load)
{
	struct gs_mark m = timed ? *timed : (struct gs_mark){ 0 };

	if (!timed) {
		m.upto = __atomic_load_n(&lane->submitted, __ATOMIC_ACQUIRE);
		m.load = gs_lane_load(lane);
		m.end = gs_event_get(lane->context, false);
		/* An event that failed may be another context's: not used again. */
		if (m.end && REAL(cuEventRecord)(m.end, lane->stream)) {
			REAL(cuEventDestroy_v2)(m.end);
			m.end = NULL;
		}
		if (!m.end) {
			gs_lane_unmarked(lane, load);
			return;
		}
	}
	if (lane->per_thread)
		m.load = load;
	for (;;) {
		pthread_mutex_lock(&lane->lock);
		if (lane->count < GS_MARKS)
			break;
		pthread_mutex_unlock(&lane->lock);
		if (!lane->per_thread) {
			gs_event_put(lane->context, m.end, timed != NULL);
			if (timed)
				gs_event_put(lane->context, m.begin, true);
			return;
		}
		gs_pause(0);
		gs_reap(lane->dev);
	}
	lane->marks[(lane->first + lane->count) % GS_MARKS] = m;
	set_count(lane, lane->count + 1);
	set_marked(lane, m.upto);
	pthread_mutex_unlock(&lane->lock);
}

/*
 * The driver's answer to whether something has ended. An error is an end as well: the
 * context is lost, nothing of it runs any more. A refusal to tell is none: of a thread that
 * isn't to ask now, as beside a capture that isn't followed, or in a function of the host.
 */
static bool is_end(CUresult r)
{
	switch (r) {
	case CUDA_ERROR_NOT_READY:
	case CUDA_ERROR_NOT_PERMITTED:
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
	case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
		return false;
	default:
		return true;
	}
}

static bool mark_has_happened(struct gs_lane *l, struct gs_mark *m)
{
	float ms = 0;

	if (!is_end(REAL(cuEventQuery)(m->end)))
		return false;
	if (m->begin && !REAL(cuEventElapsedTime)(&ms, m->begin, m->end) && m->record)
		gs_record_measured(m->record, m->life, m->blocks, (uint64_t)(ms * 1e6f));
	if (m->begin)
		put(l->context, m->begin, true);
	put(l->context, m->end, m->begin != NULL);
	return true;
}

static void reap_marks(struct gs_lane *l)
{
	struct gs_mark *m;
	uint32_t i;

	if (!l->per_thread) {
		for (; l->count; drop_first(l)) {
			m = &l->marks[l->first];
			if (!mark_has_happened(l, m))
				break;
			ended_upto(l, m->upto, m->load);
		}
		return;
	}
	/* each speaks for one launch */
	for (i = 0; i < l->count;) {
		m = &l->marks[(l->first + i) % GS_MARKS];
		if (!mark_has_happened(l, m)) {
			i++;
			continue;
		}
		ended_one(l, m->load);
		set_count(l, l->count - 1);
		*m = l->marks[(l->first + l->count) % GS_MARKS];
	}
}

/* gs_poll is held, and the lane's context is the thread's. */
static void reap_lane(struct gs_lane *l)
{
	struct gs_load load;
	uint64_t upto;

	pthread_mutex_lock(&l->lock);
	reap_marks(l);
	load = gs_lane_load(l);
	upto = __atomic_load_n(&l->submitted, __ATOMIC_ACQUIRE);
	if (!l->count && upto != l->ended && !l->per_thread &&
	    !__atomic_load_n(&gs_captures, __ATOMIC_SEQ_CST) &&
	    is_end(REAL(cuStreamQuery)(l->stream)))
		ended_upto(l, upto, load);
	pthread_mutex_unlock(&l->lock);
}

/* gs_poll is held. What it held is over, as far as we can know. */
static void lane_dies(struct gs_lane *l)
{
	struct gs_mark *m;

	pthread_mutex_lock(&l->lock);
	for (; l->count; drop_first(l)) {
		m = &l->marks[l->first];
		put(l->context, m->end, m->begin != NULL);
		if (m->begin)
			put(l->context, m->begin, true);
	}
	ended_upto(l, __atomic_load_n(&l->submitted, __ATOMIC_ACQUIRE), gs_lane_load(l));
	__atomic_store_n(&l->dead, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&l->lock);
	gs_rest_lane_gone(l);
}

/* What has ended is noticed. */
void gs_reap(struct gs_device *dev)
{
	CUcontext present = NULL;
	struct gs_lane *l;
	bool pushed;

	if (__atomic_load_n(&gs_captures, __ATOMIC_RELAXED) && !gs_is_keeper())
		return;
	REAL(cuCtxGetCurrent)(&present);
	pthread_mutex_lock(&gs_poll);
	/* A capture that was about to begin has had gs_poll since, or waits for it. */
	if (__atomic_load_n(&gs_captures, __ATOMIC_SEQ_CST) && !gs_is_keeper())
		goto out;
	for (l = lanes; l; l = l->next) {
		if ((dev && l->dev != dev) || l->dead ||
		    (is_idle(l) && !__atomic_load_n(&l->count, __ATOMIC_RELAXED)))
			continue;
		pushed = l->context->handle != present &&
			 !REAL(cuCtxPushCurrent_v2)(l->context->handle);
		reap_lane(l);
		if (!l->stream && is_idle(l))
			lane_dies(l);
		if (pushed)
			REAL(cuCtxPopCurrent_v2)(&(CUcontext){ NULL });
	}
out:
	pthread_mutex_unlock(&gs_poll);
}

/* A capture begins: what wasn't marked is, as streams can't be asked any more. */
void gs_lanes_mark_all(void)
{
	CUcontext present = NULL;
	struct gs_lane *l;
	bool open;

	REAL(cuCtxGetCurrent)(&present);
	/* Lanes aren't taken away from this list. */
	pthread_mutex_lock(&gs_poll);
	l = lanes;
	pthread_mutex_unlock(&gs_poll);
	for (; l; l = l->next) {
		pthread_mutex_lock(&marking);
		pthread_mutex_lock(&l->lock);
		open = !__atomic_load_n(&l->dead, __ATOMIC_ACQUIRE) && l->stream &&
		       !l->per_thread && l->context->handle == present &&
		       __atomic_load_n(&l->submitted, __ATOMIC_ACQUIRE) > l->marked;
		pthread_mutex_unlock(&l->lock);
		if (open)
			gs_lane_mark(l, NULL, (struct gs_load){ 0 });
		pthread_mutex_unlock(&marking);
	}
}

/*
 * The program destroys a stream: its work runs on. A last mark stands for it, and
 * the lane goes on without its stream until that has happened.
 */
void gs_lane_forget(CUstream stream)
{
	struct gs_lane *l = look(stream, NULL);
	CUcontext present = NULL;
	bool pushed;

	if (!l || stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return;
	gs_settle(l, NULL);
	/* A captured one was marked before. The mark's event must be of its own context. */
	if (!is_idle(l) && !gs_is_captured(stream, false)) {
		REAL(cuCtxGetCurrent)(&present);
		pushed = l->context->handle != present &&
			 !REAL(cuCtxPushCurrent_v2)(l->context->handle);
		gs_lane_mark(l, NULL, (struct gs_load){ 0 });
		if (pushed)
			REAL(cuCtxPopCurrent_v2)(&(CUcontext){ NULL });
	}
	pthread_mutex_lock(&marking);
	pthread_mutex_lock(&gs_poll);
	if (is_idle(l)) {
		lane_dies(l);
	} else {
		pthread_mutex_lock(&l->lock);
		__atomic_store_n(&l->stream, NULL, __ATOMIC_RELEASE);	/* found no more */
		pthread_mutex_unlock(&l->lock);
	}
	pthread_mutex_unlock(&gs_poll);
	pthread_mutex_unlock(&marking);
}

static bool is_meant(const struct gs_context *c, CUcontext ctx, const void *green,
		     CUdevice ordinal)
{
	if (ctx)
		return c->handle == ctx;
	return green ? c->green == green : !c->made && c->ordinal == ordinal;
}

struct gs_context *gs_context_leaves(CUcontext ctx, const void *green, CUdevice ordinal)
{
	struct gs_context *c;
	struct gs_lane *l;

	pthread_mutex_lock(&marking);
	pthread_mutex_lock(&gs_poll);
	for (c = contexts; c && !(is_meant(c, ctx, green, ordinal) && !c->leaving); c = c->next)
		;
	for (l = c ? lanes : NULL; l; l = l->next)
		if (!l->dead && l->context == c) {
			l->leaving = true;
			__atomic_store_n(&l->dead, true, __ATOMIC_RELEASE);
		}
	if (c)
		c->leaving = true;
	pthread_mutex_unlock(&gs_poll);
	pthread_mutex_unlock(&marking);
	return c;
}

/* The driver didn't destroy it. */
static void context_stays(struct gs_context *c)
{
	struct gs_lane *l;

	c->leaving = false;
	for (l = lanes; l; l = l->next)
		if (l->leaving && l->context == c) {
			l->leaving = false;
			__atomic_store_n(&l->dead, false, __ATOMIC_RELEASE);
		}
}

static void context_goes(struct gs_context *c)
{
	struct gs_context **at;
	struct gs_lane *l;

	c->n_plain = 0;		/* they went with it */
	c->n_timed = 0;
	gs_areas_gone(c);
	gs_rest_context_gone(c);
	for (l = lanes; l; l = l->next)
		if (l->context == c && (l->leaving || !l->dead)) {
			l->leaving = false;
			set_count(l, 0);
			lane_dies(l);
		}
	for (at = &contexts; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	c->next = contexts_unused;
	contexts_unused = c;
}

void gs_context_left(struct gs_context *context, bool gone)
{
	CUcontext handle;
	uint64_t id;

	if (!context)
		return;
	pthread_mutex_lock(&gs_poll);
	id = context->id;
	handle = context->handle;
	if (gone)
		context_goes(context);
	else
		context_stays(context);
	pthread_mutex_unlock(&gs_poll);
	if (gone) {
		gs_modules_gone(id);
		gs_records_gone(handle);
		gs_memory_gone(id);
	}
}

void gs_lanes_forget(void)
{
	struct gs_lane *l;
	size_t i;

	pthread_mutex_init(&gs_poll, NULL);
	pthread_mutex_init(&marking, NULL);
	gs_captures = 0;
	for (l = lanes; l; l = l->next) {
		pthread_mutex_init(&l->lock, NULL);
		l->count = 0;
		l->rest = NULL;
		l->n_rest = 0;
		l->dead = true;
		l->leaving = false;
		l->ended = l->submitted;
		l->ended_load = l->submitted_load;
	}
	for (i = 0; i < BUCKETS; i++)
		buckets[i] = NULL;
	contexts = NULL;
	contexts_unused = NULL;
}
