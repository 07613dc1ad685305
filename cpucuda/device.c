// SPDX-License-Identifier: MIT
/*
 * The device: one thread that looks at the heads of all streams, does what is
 * short at once and steps all kernels that may run, a few thousand instructions
 * at a time, letting callers in between.
 *
 * Order is CUDA's: a stream is a queue; what goes into a context's legacy stream
 * waits for all its blocking streams and they wait for it, by the order in which
 * things were submitted.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cpucuda.h"
#include "driver.h"

#define QUANTUM 20000

static pthread_t thread;
static uint64_t turn_ns;	/* of those that share the processor; 0: whoever is first */
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static uint64_t kicks;
static struct CUctx_st *all[256];
static unsigned int n_all;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

CUresult fault_result(enum fault f)
{
	static const CUresult of[] = { [FAULT_ADDRESS] = CUDA_ERROR_ILLEGAL_ADDRESS,
		[FAULT_MISALIGNED] = CUDA_ERROR_MISALIGNED_ADDRESS,
		[FAULT_DEADLOCK] = CUDA_ERROR_LAUNCH_TIMEOUT,
		[FAULT_TIMEOUT] = CUDA_ERROR_LAUNCH_TIMEOUT,
		[FAULT_TRAP] = CUDA_ERROR_LAUNCH_FAILED,
		[FAULT_ASSERT] = CUDA_ERROR_ASSERT, [FAULT_STACK] = CUDA_ERROR_HARDWARE_STACK_ERROR,
		[FAULT_INSTRUCTION] = CUDA_ERROR_ILLEGAL_INSTRUCTION,
		[FAULT_MEMORY] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES };

	return of[f];
}

/* Where a side's bytes are. Host memory may be a device's own, by its address. */
uint8_t *side_at(const struct side *s)
{
	struct mem_block *b = mem_find(s->addr);

	if (b)
		return b->host + (s->addr - b->addr);
	return s->is_host ? (uint8_t *)(uintptr_t)s->addr : NULL;
}

static bool range_ok(uint64_t addr, size_t size, bool is_host)
{
	if (!size || mem_host(addr, size))
		return true;
	return is_host && !mem_find(addr);
}

static size_t extent(const struct side *s, size_t width, size_t rows, size_t planes)
{
	if (!width || !rows || !planes)
		return 0;
	return ((planes - 1) * s->height + rows - 1) * s->pitch + width;
}

bool ranges_ok(const struct work *w)
{
	if (w->kind == W_SET)
		return range_ok(w->set.dst, !w->set.width || !w->set.rows ? 0 :
				(w->set.rows - 1) * w->set.pitch +
				w->set.width * w->set.unit, false);
	return range_ok(w->copy.src.addr, extent(&w->copy.src, w->copy.width, w->copy.rows,
						 w->copy.planes), w->copy.src.is_host) &&
		range_ok(w->copy.dst.addr, extent(&w->copy.dst, w->copy.width, w->copy.rows,
						  w->copy.planes), w->copy.dst.is_host);
}

CUresult copy_now(const struct work *w, const uint8_t *staged)
{
	const uint8_t *s;
	uint8_t *d;
	size_t y, z;

	if (!ranges_ok(w))
		return CUDA_ERROR_INVALID_VALUE;
	s = staged ? staged : side_at(&w->copy.src);
	d = side_at(&w->copy.dst);
	for (z = 0; z < w->copy.planes; z++)
		for (y = 0; y < w->copy.rows; y++)
			memmove(d + (z * w->copy.dst.height + y) * w->copy.dst.pitch,
				s + (z * w->copy.src.height + y) * w->copy.src.pitch,
				w->copy.width);
	return CUDA_SUCCESS;
}

static CUresult set_now(const struct work *w)
{
	uint8_t *d;
	size_t x, y;

	if (!ranges_ok(w))
		return CUDA_ERROR_INVALID_VALUE;
	for (y = 0; y < w->set.rows && w->set.width; y++) {
		d = mem_host(w->set.dst + y * w->set.pitch, w->set.width * w->set.unit);
		for (x = 0; x < w->set.width; x++)
			memcpy(d + x * w->set.unit, &w->set.value, w->set.unit);
	}
	return CUDA_SUCCESS;
}

/* Whether a waited-for word is there: geq, eq, and, nor. */
static bool word_there(const struct work *w)
{
	uint8_t *p = mem_host(w->word.addr, w->word.wide ? 8 : 4);
	uint64_t v, want = w->word.value;

	if (!p)
		return true;
	v = w->word.wide ? __atomic_load_n((uint64_t *)p, __ATOMIC_ACQUIRE) :
		__atomic_load_n((uint32_t *)p, __ATOMIC_ACQUIRE);
	switch (w->word.flags & 3) {
	case 0: return w->word.wide ? (int64_t)(v - want) >= 0 :
		(int32_t)((uint32_t)v - (uint32_t)want) >= 0;
	case 1: return v == want;
	case 2: return (v & want) != 0;
	default: return ~(v | want) != 0;
	}
}

static bool begin_kernel(struct op *o)
{
	struct work *w = &o->w;

	dev.launches++;
	o->g = grid_make(w->kernel.f->f, w->kernel.grid, w->kernel.block, w->kernel.cluster,
			 w->kernel.dynamic, w->kernel.params, w->kernel.cooperative,
			 o->s->ctx->device);
	if (!o->g) {
		o->s->ctx->error = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
		return false;
	}
	o->g->sees |= o->s->ctx->peers;
	return true;
}

/* The event of its blocks, if there is one. */
static void kernel_event(const struct work *w, const struct grid *g, bool ended)
{
	struct CUevent_st *e = w->kernel.event;

	if (!e || event_happened(e, w->kernel.gen) ||
	    !(ended || (!w->kernel.at_end && g->next == g->total)))
		return;
	event_happens(e, w->kernel.gen);
	e->ns = now_ns();
}

static void call_host(struct op *o)
{
	struct work w = o->w;
	struct CUstream_st *s = o->s;
	CUresult err = s->ctx->error;

	unlock();	/* the program's code: anything may happen in it */
	if (w.kind == W_HOST)
		w.host.fn(w.host.arg);
	else
		w.callback.fn(s, err, w.callback.arg);
	lock();
}

/* Does the head of a stream; false: it isn't done yet. */
static bool perform(struct op *o)
{
	struct CUctx_st *c = o->s->ctx;
	CUresult r = CUDA_SUCCESS;
	struct mem_block *b;
	uint8_t *p;

	switch (o->w.kind) {
	case W_COPY:
		r = c->error ? c->error : copy_now(&o->w, o->staged);
		break;
	case W_SET:
		r = c->error ? c->error : set_now(&o->w);
		break;
	case W_KERNEL:
		if (!o->begun && !c->error) {
			o->begun = true;
			if (begin_kernel(o))
				return false;
		}
		if (o->g && !grid_ended(o->g)) {
			kernel_event(&o->w, o->g, false);
			return false;
		}
		if (o->g && o->g->fault)
			r = fault_result(o->g->fault);
		kernel_event(&o->w, o->g, true);
		break;
	case W_HOST:
	case W_CALLBACK:
		if (o->begun)
			return false;
		o->begun = true;
		call_host(o);
		break;
	case W_RECORD:
		event_happens(o->w.event.e, o->w.event.gen);
		o->w.event.e->ns = now_ns();
		break;
	case W_WAIT:
		return event_happened(o->w.event.e, o->w.event.gen);
	case W_WRITE_VALUE:
		p = mem_host(o->w.word.addr, o->w.word.wide ? 8 : 4);
		if (p && o->w.word.wide)
			__atomic_store_n((uint64_t *)p, o->w.word.value, __ATOMIC_RELEASE);
		else if (p)
			__atomic_store_n((uint32_t *)p, o->w.word.value, __ATOMIC_RELEASE);
		break;
	case W_WAIT_VALUE:
		return word_there(&o->w) || c->error;
	case W_FREE:
		b = mem_find(o->w.free.addr);
		if (b && b->seen_by && !(b->flags & MEM_OF_GRAPH))
			device_free(b);
		break;
	default:
		break;
	}
	if (r && !c->error)
		c->error = r;
	return true;
}

static bool blocking(const struct CUstream_st *s)
{
	return !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* May the head of this stream begin, as far as the legacy stream goes? */
static bool may_begin(const struct CUstream_st *s)
{
	const struct CUctx_st *c = s->ctx;
	const struct CUstream_st *o;

	if (!blocking(s) || s->head->begun)
		return true;
	if (s != c->legacy)
		return !c->legacy->head || c->legacy->head->seq > s->head->seq;
	for (o = c->streams; o; o = o->next)
		if (o != s && blocking(o) && o->head && o->head->seq < s->head->seq)
			return false;
	return true;
}

static void pop(struct CUstream_st *s)
{
	struct op *o = s->head;

	s->head = o->next;
	if (!s->head)
		s->tail = &s->head;
	if (o->g)
		grid_free(o->g);
	work_free(&o->w);
	free(o->staged);
	free(o);
}

/* One look at all streams: whether anything moved; the kernels that run go into @g. */
static bool look(struct grid **g, uint32_t *n, bool *waits)
{
	struct CUstream_st *s, *next;
	bool moved = false;
	unsigned int k;

	*n = 0;
	*waits = false;
	for (k = 0; k < n_all; k++)
		for (s = all[k]->streams; s; s = next) {
			while (s->head && may_begin(s) && perform(s->head)) {
				pop(s);
				moved = true;
			}
			if (s->head && s->head->g && *n < 64)
				g[(*n)++] = s->head->g;
			*waits |= s->head && s->head->w.kind == W_WAIT_VALUE;
			next = s->next;	/* a host function may have taken others away */
			if (s->gone && !s->head)
				stream_free(s);
		}
	return moved;
}

/* A step of all kernels that may run, and when that was. */
static void step(struct grid **g, uint32_t n)
{
	struct cpucuda_time t = { .launch = (uint32_t)g[0]->id };

	t.began = !g[0]->steps;
	t.from = now_ns();
	grids_step(g, n, QUANTUM);
	t.to = now_ns();
	t.ended = grid_ended(g[0]);
	times_add(&t);
}

/*
 * Behind the others of its processor, in its turn, as a GPU goes from one context to the next.
 * A turn begins when there is work again.
 */
static void take_turns(bool busy, uint64_t *began)
{
	uint64_t now = turn_ns ? now_ns() : 0;

	if (!busy || !*began) {
		*began = busy ? now : 0;
	} else if (now - *began >= turn_ns) {
		sched_yield();
		*began = now_ns();
	}
}

static void *run(void *arg)
{
	uint64_t seen = 0, turn = 0;
	struct grid *g[64];
	uint32_t n;
	bool moved, waits;

	(void)arg;
	for (;;) {
		lock();
		moved = look(g, &n, &waits);
		if (n)
			step(g, n);
		unlock();
		if (turn_ns)
			take_turns(moved || n, &turn);
		if (moved || n)
			continue;
		if (waits) {	/* for a word that the host writes without telling */
			usleep(200);
			continue;
		}
		pthread_mutex_lock(&wake_lock);
		while (seen == kicks)
			pthread_cond_wait(&wake, &wake_lock);
		seen = kicks;
		pthread_mutex_unlock(&wake_lock);
	}
	return NULL;
}

void device_kick(void)
{
	pthread_mutex_lock(&wake_lock);
	kicks++;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&wake_lock);
}

/* As a GPU, it isn't slowed down by what the host's other processors do. */
static int set_apart(int processor)
{
	struct sched_param first = { .sched_priority = 1 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	return pthread_setaffinity_np(thread, sizeof(one), &one) ||
	       pthread_setschedparam(thread, SCHED_FIFO, &first);
}

CUresult device_start(int processor, uint64_t turn_us)
{
	turn_ns = processor < 0 ? 0 : turn_us * 1000;
	times_open();
	if (pthread_create(&thread, NULL, run, NULL) || (processor >= 0 && set_apart(processor)))
		return CUDA_ERROR_UNKNOWN;
	return CUDA_SUCCESS;
}

/* The device knows a context from its first stream on. */
struct CUstream_st *stream_make(struct CUctx_st *c, uint32_t flags, int priority)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));
	static uint64_t ids;
	unsigned int k;

	for (k = 0; k < n_all && all[k] != c; k++)
		;
	if (!s || k == 256) {
		free(s);
		return NULL;
	}
	if (k == n_all)
		all[n_all++] = c;
	s->magic = MAGIC_STREAM;
	s->flags = flags;
	s->priority = priority;
	s->ctx = c;
	s->tail = &s->head;
	s->id = ++ids;
	s->next = c->streams;
	c->streams = s;
	return s;
}

void stream_free(struct CUstream_st *s)
{
	struct CUstream_st **p;

	for (p = &s->ctx->streams; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	while (s->head)
		pop(s);
	capture_over(s);
	free(s->deps);
	s->magic = 0;
	free(s);
}

void cpucuda_schedule(uint64_t seed, int shuffle_blocks)
{
	lock();
	dev.seed = seed;
	dev.shuffle_blocks = shuffle_blocks;
	unlock();
}

const char *cpucuda_fault(void)
{
	static __thread char text[sizeof(dev.fault_text)];

	lock();
	memcpy(text, dev.fault_text, sizeof(text));
	unlock();
	return text;
}

CUresult refusal(const char *what)
{
	return dev.refuse_in && !strcmp(dev.refuse_what, what) && !--dev.refuse_in ?
		(CUresult)dev.refuse_with : CUDA_SUCCESS;
}

void cpucuda_refuse(const char *what, uint64_t n, int error)
{
	lock();
	dev.refuse_what = what;
	dev.refuse_in = n;
	dev.refuse_with = error;
	unlock();
}

void cpucuda_counts(uint64_t *steps, uint64_t *blocks, uint64_t *launches)
{
	lock();
	*steps = dev.steps;
	*blocks = dev.blocks_run;
	*launches = dev.launches;
	unlock();
}

int cpucuda_poke(uint64_t steps, uint32_t *word, uint32_t value)
{
	int r = -1;

	lock();
	if (dev.n_poke < 64) {
		dev.poke[dev.n_poke].at = dev.steps + steps;
		dev.poke[dev.n_poke].word = word;
		dev.poke[dev.n_poke++].value = value;
		r = 0;
	}
	unlock();
	return r;
}
