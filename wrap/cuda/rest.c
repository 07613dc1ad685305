// SPDX-License-Identifier: MIT
/*
 * What of a stream's work hasn't gone to the driver yet.
 *
 * A launch that is cut goes to the device piece by piece, as long as the kernel runs, and
 * the program mustn't be held up for that. So the first piece is submitted by its thread,
 * and the rest is left to the feeder, a thread of ours for each device, in the order of
 * the stream. What the program puts into the stream meanwhile comes behind: launches,
 * events, waits for events, host functions. Each is a work in the lane's list, and has
 * its effect when its turn comes.
 *
 * The rule that makes it right: nothing goes to the driver before what it has to follow.
 * Streams are followed in their order. The legacy stream and those that block with it
 * follow each other. A wait for an event whose record is in a list follows that. All other
 * calls with an effect on streams, or that could see one, first wait until the lists are
 * with the driver (gs_settle): precisely where a call is known to name its stream, also by
 * some trampolines (kind S), for all streams in the others, which know nothing of
 * parameters. So the driver sees the program's calls in an order that the program allowed,
 * and there is no second way of waiting on the device: hidden waits there (a word in memory
 * that the feeder writes) are not safe, as two streams may share a queue of the hardware,
 * and then the wait of one holds up the pieces that it waits for.
 *
 * What can't be told apart, blocks until the rest is submitted, as if the stream's queue
 * were full: default streams of threads, into which no other thread can launch; launches
 * behind a rest whose like (same block, same shared memory) hasn't succeeded before, since
 * their error must be told at once, or whose parameters' sizes can't be known.
 *
 * What the driver refuses then, no call can tell any more that made it. It is kept, and the
 * next call that waits for the stream tells it, as CUDA does with errors that come up while
 * a kernel runs: waiting for the stream or asking whether it is empty, the same for the
 * context, for events (of which we don't know the stream), and copies that wait. It is told
 * once, as the context isn't lost; errors that stay are the driver's to tell again.
 *
 * While a capture is under way there is no rest: what there is goes out before it begins.
 * A program that was given a function of the driver that we don't know might submit
 * anything past us, so it has none either.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "rest.h"

#define MOST		1024u	/* works of a lane, as the driver's own queues */

uint32_t gs_pending, gs_lates;

/* Protects all lists; taken after gs_poll. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct gs_lane *busy;	/* those that have a rest */
static uint64_t number, turns;
static bool feeds[GS_DEVICES];
static bool strangers;		/* the program has functions that we don't know */

/*
 * An error that no call has told yet. It isn't pending: it may stay for as long as the
 * program runs, and nothing has to wait for it.
 */
struct late {
	struct late *next;
	CUresult error;
	const struct gs_lane *lane;	/* NULL: its stream is no more */
	const struct gs_context *context;
};

static struct late *lates;

/* What comes into @to has to follow what is in @from. */
static bool follows(const struct gs_lane *to, const struct gs_lane *from)
{
	if (to == from)
		return true;
	return to->context == from->context &&
	       ((to->stream == CU_STREAM_LEGACY && from->blocking) ||
		(from->stream == CU_STREAM_LEGACY && to->blocking));
}

/* The lane whose turn it is, NULL: none has anything for this device. */
static struct gs_lane *next_lane(const struct gs_device *dev, uint32_t *n)
{
	struct gs_lane *l, *best = NULL;

	*n = 0;
	for (l = busy; l; l = l->busy_next) {
		if (l->dev != dev || l->rest->held)
			continue;
		(*n)++;
		if (!best || l->turn < best->turn)
			best = l;
	}
	return best;
}

/* The lock is held; the first work of its lane has ended. */
static void take_out(struct gs_work *w)
{
	struct gs_lane *l = w->lane, **at;

	l->rest = w->next;
	l->n_rest--;
	if (!l->rest) {
		l->rest_end = NULL;
		for (at = &busy; *at != l; at = &(*at)->busy_next)
			;
		*at = l->busy_next;
	}
	__atomic_sub_fetch(&gs_pending, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&changed);
}

/* The lock is held. Of one stream the first error counts. */
static void keep_late(const struct gs_lane *lane, CUresult error)
{
	struct late *l;

	for (l = lates; l && l->lane != lane; l = l->next)
		;
	l = l ? NULL : malloc(sizeof(*l));
	if (!l)
		return;
	*l = (struct late){ .next = lates, .error = error, .lane = lane,
			    .context = lane->context };
	lates = l;
	__atomic_add_fetch(&gs_lates, 1, __ATOMIC_SEQ_CST);
}

/* The lock is held. */
static CUresult tell_late(struct late **at)
{
	struct late *l = *at;
	CUresult error = l->error;

	*at = l->next;
	free(l);
	__atomic_sub_fetch(&gs_lates, 1, __ATOMIC_RELEASE);
	return error;
}

CUresult gs_rest_late(const struct gs_lane *lane, CUcontext ctx)
{
	CUresult error = CUDA_SUCCESS;
	struct late **at;

	if (__builtin_expect(!__atomic_load_n(&gs_lates, __ATOMIC_ACQUIRE), 1))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	for (at = &lates; *at && !error;) {
		struct late *l = *at;

		if (lane ? l->lane && follows(lane, l->lane) :
		    !ctx || l->context->handle == ctx)
			error = tell_late(at);
		else
			at = &l->next;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

void gs_rest_lane_gone(const struct gs_lane *lane)
{
	struct late *l;

	if (__builtin_expect(!__atomic_load_n(&gs_lates, __ATOMIC_ACQUIRE), 1))
		return;
	pthread_mutex_lock(&lock);
	for (l = lates; l; l = l->next)
		if (l->lane == lane)
			l->lane = NULL;
	pthread_mutex_unlock(&lock);
}

void gs_rest_context_gone(const struct gs_context *context)
{
	struct late **at;

	if (__builtin_expect(!__atomic_load_n(&gs_lates, __ATOMIC_ACQUIRE), 1))
		return;
	pthread_mutex_lock(&lock);
	for (at = &lates; *at;)
		if ((*at)->context == context)
			tell_late(at);
		else
			at = &(*at)->next;
	pthread_mutex_unlock(&lock);
}

static void *feeder_main(void *arg)
{
	int mode = CU_STREAM_CAPTURE_RELAXED;
	struct gs_device *dev = arg;
	uint32_t n, later = 0, looks = 0;
	struct gs_work *w;
	struct gs_lane *l;
	enum gs_step step;

	prctl(PR_SET_NAME, "gpushare-feed");
	prctl(PR_SET_TIMERSLACK, 1000ul);
	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	pthread_mutex_lock(&lock);
	for (;;) {
		l = next_lane(dev, &n);
		if (!l) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		l->turn = ++turns;
		w = l->rest;
		pthread_mutex_unlock(&lock);
		REAL(cuCtxPushCurrent_v2)(l->context->handle);
		step = w->step(w);
		REAL(cuCtxPopCurrent_v2)(&(CUcontext){ NULL });
		pthread_mutex_lock(&lock);
		if (step != GS_LATER)
			later = looks = 0;
		if (w->late) {
			keep_late(l, w->late);
			w->late = CUDA_SUCCESS;
		}
		if (step == GS_DONE) {
			take_out(w);
			pthread_mutex_unlock(&lock);
			w->free(w);
			pthread_mutex_lock(&lock);
		} else if (step == GS_LATER && ++later >= n) {
			later = 0;	/* all wait for the device */
			pthread_mutex_unlock(&lock);
			/*
			 * Who waits for what runs by tickets has the device within two looks
			 * and a block: one sees that it is asked back, one that it ended.
			 */
			if (looks >= GS_QUICK_LOOKS && gs_is_awaited(&dev->budget))
				looks = GS_QUICK_LOOKS - 1;
			gs_pause(looks++);
			pthread_mutex_lock(&lock);
		}
	}
	return NULL;
}

/* The lock is held. */
static bool has_feeder(struct gs_device *dev)
{
	if (!feeds[dev->ordinal])
		feeds[dev->ordinal] = gs_thread(feeder_main, dev);
	return feeds[dev->ordinal];
}

static bool other_before(const struct gs_lane *lane)
{
	const struct gs_lane *l;

	for (l = busy; l; l = l->busy_next)
		if (l != lane && follows(lane, l))
			return true;
	return false;
}

/* The lock is held; waits until no work up to @upto is in lanes that @lane follows. */
static void settle(const struct gs_lane *lane, CUcontext ctx, uint64_t upto)
{
	struct gs_lane *l;

	for (l = busy; l;) {
		if (l->rest->number <= upto && (!lane || follows(lane, l)) &&
		    (!ctx || l->context->handle == ctx)) {
			pthread_cond_wait(&changed, &lock);
			l = busy;
		} else {
			l = l->busy_next;
		}
	}
}

enum gs_place gs_rest_put(struct gs_lane *lane, struct gs_work *w, bool first, bool behind)
{
	enum gs_place place = GS_NOT_PUT;

	pthread_mutex_lock(&lock);
	/* Behind what is in other lanes, or not to come behind anything. */
	while (lane->n_rest >= MOST || other_before(lane) ||
	       (lane->rest && (!behind || strangers)))
		settle(lane, NULL, number);
	if (lane->per_thread || (!lane->rest && !first) || strangers ||
	    __atomic_load_n(&gs_captures, __ATOMIC_RELAXED) || !has_feeder(lane->dev))
		goto out;
	w->lane = lane;
	w->next = NULL;
	w->number = ++number;
	w->held = !lane->rest;
	place = lane->rest ? GS_BEHIND : GS_FIRST;
	if (lane->rest) {
		lane->rest_end->next = w;
	} else {
		lane->rest = w;
		lane->busy_next = busy;
		busy = lane;
	}
	lane->rest_end = w;
	lane->n_rest++;
	__atomic_add_fetch(&gs_pending, 1, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&changed);
out:
	pthread_mutex_unlock(&lock);
	return place;
}

void gs_rest_go(struct gs_work *w)
{
	pthread_mutex_lock(&lock);
	w->held = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void gs_rest_drop(struct gs_work *w)
{
	pthread_mutex_lock(&lock);
	take_out(w);
	pthread_mutex_unlock(&lock);
}

bool gs_rest_is_before(const struct gs_lane *lane)
{
	bool before;

	if (__builtin_expect(!__atomic_load_n(&gs_pending, __ATOMIC_ACQUIRE), 1))
		return false;
	pthread_mutex_lock(&lock);
	before = lane->rest || other_before(lane);
	pthread_mutex_unlock(&lock);
	return before;
}

/* The lock is held. Works up to @upto. */
static bool names(CUevent event, bool waits, const struct gs_lane *but, uint64_t upto)
{
	const struct gs_work *w;
	const struct gs_lane *l;

	for (l = busy; l; l = l->busy_next)
		for (w = l != but ? l->rest : NULL; w; w = w->next)
			if (w->number <= upto &&
			    (w->record == event || (waits && w->wait == event)))
				return true;
	return false;
}

bool gs_rest_records(CUevent event, uint64_t before)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = names(event, false, NULL, before);
	pthread_mutex_unlock(&lock);
	return found;
}

bool gs_rest_names(CUevent event, const struct gs_lane *but)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = names(event, true, but, number);
	pthread_mutex_unlock(&lock);
	return found;
}

void gs_settle(const struct gs_lane *lane, CUcontext ctx)
{
	if (__builtin_expect(!__atomic_load_n(&gs_pending, __ATOMIC_ACQUIRE), 1))
		return;
	pthread_mutex_lock(&lock);
	settle(lane, ctx, number);
	pthread_mutex_unlock(&lock);
}

void gs_settle_event(CUevent event)
{
	uint64_t upto;

	pthread_mutex_lock(&lock);
	upto = number;
	while (names(event, false, NULL, upto))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

void gs_settle_all(void)
{
	int saved = errno;

	gs_settle(NULL, NULL);
	errno = saved;
}

CUresult gs_settle_for_copy(void)
{
	int saved = errno;
	CUcontext ctx = NULL;
	CUresult r;

	gs_settle(NULL, NULL);
	REAL(cuCtxGetCurrent)(&ctx);
	r = ctx ? gs_rest_late(NULL, ctx) : CUDA_SUCCESS;
	errno = saved;
	return r;
}

void gs_settle_and_lock(void)
{
	pthread_mutex_lock(&lock);
	while (busy)
		pthread_cond_wait(&changed, &lock);
}

void gs_rest_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void gs_rest_stranger(void)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	strangers = true;	/* who sleeps before putting something sees it then */
	settle(NULL, NULL, number);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void gs_rest_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
	memset(feeds, 0, sizeof(feeds));
	gs_pending = 0;
	gs_lates = 0;
	busy = NULL;
	lates = NULL;
}

static bool keep_params(struct gs_kept *k, const struct gs_launch *l, const uint32_t *sizes,
			uint32_t n)
{
	size_t bytes = (n + 1) * sizeof(void *);
	uint32_t i;
	char *at;

	if (!l->params && n)
		return false;
	for (i = 0; i < n; i++)
		bytes += sizes[i] + 15;
	k->params = malloc(bytes);
	if (!k->params)
		return false;
	at = (char *)(k->params + n + 1);
	for (i = 0; i < n; i++) {
		at = (char *)(((uintptr_t)at + 15) & ~(uintptr_t)15);
		k->params[i] = at;
		memcpy(at, l->params[i], sizes[i]);
		at += sizes[i];
	}
	k->params[n] = NULL;
	k->l.params = k->params;
	return true;
}

static bool keep_buffer(struct gs_kept *k, const struct gs_launch *l, size_t room)
{
	const void *from = NULL;
	size_t bytes = 0;
	void **e;

	for (e = l->extra; *e != CU_LAUNCH_PARAM_END; e += 2)
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			from = e[1];
		else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = *(const size_t *)e[1];
		else
			return false;
	if (!from || l->params || bytes > (1 << 16))
		return false;
	k->buffer = calloc(1, bytes > room ? bytes : room + 1);
	if (!k->buffer)
		return false;
	memcpy(k->buffer, from, bytes);
	k->buffer_bytes = bytes;
	k->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	k->extra[1] = k->buffer;
	k->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	k->extra[3] = &k->buffer_bytes;
	k->extra[4] = CU_LAUNCH_PARAM_END;
	k->l.extra = k->extra;
	return true;
}

bool gs_keep(struct gs_kept *k, const struct gs_launch *l, const uint32_t *sizes, uint32_t n,
	     size_t room)
{
	size_t bytes;

	memset(k, 0, sizeof(*k));
	k->l = *l;
	if (l->extra ? !keep_buffer(k, l, room) : !keep_params(k, l, sizes, n))
		return false;
	if (!l->config)
		return true;
	k->config = *l->config;
	k->l.config = &k->config;
	bytes = k->config.attrs ? k->config.numAttrs * sizeof(*k->config.attrs) : 0;
	k->config.attrs = bytes ? malloc(bytes) : NULL;
	if (bytes && !k->config.attrs)
		return false;
	if (bytes)
		memcpy(k->config.attrs, l->config->attrs, bytes);
	return true;
}

void gs_kept_free(struct gs_kept *k)
{
	free(k->params);
	free(k->buffer);
	if (k->l.config == &k->config)
		free(k->config.attrs);
}
