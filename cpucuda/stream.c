// SPDX-License-Identifier: MIT
/* Streams and events. */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

static __thread struct CUstream_st *own;	/* this thread's default stream */
static uint64_t seq;

CUresult stream_of(CUstream h, bool per_thread, struct CUstream_st **s)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if ((!h && per_thread) || h == CU_STREAM_PER_THREAD) {
		if (!own || own->magic != MAGIC_STREAM || own->ctx != c)
			own = stream_make(c, 0, 0);
		*s = own;
		return own ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!h || h == CU_STREAM_LEGACY) {
		*s = c->legacy;
		return CUDA_SUCCESS;
	}
	if (h->magic != MAGIC_STREAM || h->gone)
		return CUDA_ERROR_INVALID_HANDLE;
	*s = h;
	return h->ctx->error;
}

void work_free(struct work *w)
{
	if (w->kind == W_KERNEL)
		free(w->kernel.params);
	if (w->kind == W_ALLOC)
		alloc_put(w->alloc);
	w->kind = W_NOTHING;
}

CUresult work_copy(struct work *to, const struct work *from)
{
	*to = *from;
	if (from->kind == W_ALLOC)
		to->alloc->refs++;
	if (from->kind == W_KERNEL) {
		to->kernel.params = malloc(from->kernel.f->f->param_bytes + 1);
		if (!to->kernel.params)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(to->kernel.params, from->kernel.params, from->kernel.f->f->param_bytes);
	}
	return CUDA_SUCCESS;
}

/* Takes over what the work and @staged own, in each case. */
CUresult submit(struct CUstream_st *s, struct work *w, uint8_t *staged)
{
	struct op *o;

	if (s->capture) {
		free(staged);	/* a graph reads the memory when it runs */
		return capture_add(s, w);
	}
	o = calloc(1, sizeof(*o));
	if (!o) {
		work_free(w);
		free(staged);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	o->w = *w;
	o->s = s;
	o->staged = staged;
	o->seq = ++seq;
	*s->tail = o;
	s->tail = &o->next;
	device_kick();
	return CUDA_SUCCESS;
}

struct until { struct CUstream_st *s; uint64_t seq; };

static bool passed(void *arg)
{
	struct until *u = arg;

	return !u->s->head || u->s->head->seq > u->seq;
}

bool stream_idle(void *s)
{
	return !((struct CUstream_st *)s)->head;
}

CUresult submit_wait(struct CUstream_st *s, struct work *w, uint8_t *staged)
{
	struct until u = { s, 0 };
	CUresult r;

	if (s->capture) {
		work_free(w);
		free(staged);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	r = submit(s, w, staged);
	u.seq = seq;
	return r ? r : wait_for(passed, &u, s->ctx);
}

EXPORT cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!out || flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	*out = stream_make(c, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
	unlock();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuStreamCreate(CUstream *out, unsigned int flags)
{
	return cuStreamCreateWithPriority(out, flags, 0);
}

EXPORT cuStreamDestroy_v2(CUstream s)
{
	if (!IS(s, MAGIC_STREAM) || s->gone)
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	if (s->head)
		s->gone = true;		/* what is in it is still done */
	else
		stream_free(s);
	unlock();
	return CUDA_SUCCESS;
}

TWO(cuStreamSynchronize, _ptsz, (CUstream h), h)
{
	struct CUstream_st *s;
	CUresult r;

	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && s->capture)
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!r)
		r = wait_for(stream_idle, s, s->ctx);
	unlock();
	return r;
}

TWO(cuStreamQuery, _ptsz, (CUstream h), h)
{
	struct CUstream_st *s;
	CUresult r;

	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && s->capture)
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!r && s->head)
		r = CUDA_ERROR_NOT_READY;
	unlock();
	return r;
}

#define GETTER(name, type, expr)						\
TWO(name, _ptsz, (CUstream h, type *out), h, out)				\
{										\
	struct CUstream_st *s;							\
	CUresult r;								\
										\
	if (!out)								\
		return CUDA_ERROR_INVALID_VALUE;				\
	lock();									\
	r = stream_of(h, per_thread, &s);					\
	if (!r)									\
		*out = expr;							\
	unlock();								\
	return r;								\
}

GETTER(cuStreamGetPriority, int, s->priority)
GETTER(cuStreamGetFlags, unsigned int, s->flags)
GETTER(cuStreamGetId, unsigned long long, s->id)
GETTER(cuStreamGetCtx, CUcontext, s->ctx)
GETTER(cuStreamGetDevice, CUdevice, s->ctx->device)

TWO(cuStreamGetCtx_v2, _ptsz, (CUstream h, CUcontext *c, CUgreenCtx *green), h, c, green)
{
	if (green)
		*green = NULL;
	return cuStreamGetCtx_do(per_thread, h, c);
}

EXPORT cuEventCreate(CUevent *out, unsigned int flags)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!out || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->magic = MAGIC_EVENT;
	(*out)->flags = flags;
	(*out)->ctx = c;
	return CUDA_SUCCESS;
}

/* Records in several streams happen in any order, and who waits means one of them. */
uint64_t event_record(struct CUevent_st *e)
{
	uint64_t *more = e->open;

	if (e->n_open == e->room) {
		more = realloc(e->open, (2 * e->room + 4) * sizeof(*more));
		if (!more)
			abort();
		e->open = more;
		e->room = 2 * e->room + 4;
	}
	e->open[e->n_open++] = ++e->gen;
	return e->gen;
}

bool event_happened(const struct CUevent_st *e, uint64_t gen)
{
	size_t i;

	for (i = 0; i < e->n_open && e->open[i] != gen; i++)
		;
	return i == e->n_open;
}

void event_happens(struct CUevent_st *e, uint64_t gen)
{
	size_t i;

	for (i = 0; i < e->n_open; i++)
		if (e->open[i] == gen)
			e->open[i] = e->open[--e->n_open];
}

static bool event_done(void *arg)
{
	struct CUevent_st *e = arg;

	return event_happened(e, e->gen);
}

EXPORT cuEventDestroy_v2(CUevent e)
{
	if (!IS(e, MAGIC_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	/* someone may still wait for it in a stream: let all of them pass */
	drain(e->ctx);
	e->magic = 0;
	free(e->deps);
	free(e->open);
	free(e);
	unlock();
	return CUDA_SUCCESS;
}

TWO(cuEventRecord, _ptsz, (CUevent e, CUstream h), e, h)
{
	struct work w = { .kind = W_RECORD };
	struct CUstream_st *s;
	CUresult r;

	if (!IS(e, MAGIC_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && s->capture) {
		r = capture_note(s, e);
	} else if (!r) {
		e->capture = NULL;
		w.event.e = e;
		w.event.gen = event_record(e);
		r = submit(s, &w, NULL);
	}
	unlock();
	return r;
}

TWO(cuEventRecordWithFlags, _ptsz, (CUevent e, CUstream h, unsigned int flags), e, h, flags)
{
	return flags > 1 ? CUDA_ERROR_INVALID_VALUE : cuEventRecord_do(per_thread, e, h);
}

EXPORT cuEventQuery(CUevent e)
{
	CUresult r;

	if (!IS(e, MAGIC_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	if (!driver_ready)
		r = CUDA_ERROR_NOT_INITIALIZED;
	else if (e->capture)
		r = capture_asked(e);
	else
		r = capture_forbids();
	if (!r)
		r = e->ctx->error ? e->ctx->error :
			event_done(e) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	unlock();
	return r;
}

EXPORT cuEventSynchronize(CUevent e)
{
	CUresult r;

	if (!IS(e, MAGIC_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = e->capture ? capture_asked(e) : wait_for(event_done, e, e->ctx);
	unlock();
	return r;
}

EXPORT cuEventElapsedTime(float *ms, CUevent a, CUevent b)
{
	CUresult r = CUDA_SUCCESS;

	if (!ms || !IS(a, MAGIC_EVENT) || !IS(b, MAGIC_EVENT) || !a->gen || !b->gen ||
	    (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	if (!event_done(a) || !event_done(b))
		r = CUDA_ERROR_NOT_READY;
	else
		*ms = ((int64_t)(b->ns - a->ns)) / 1e6f;
	unlock();
	return r;
}

EXPORT cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b)
{
	return cuEventElapsedTime(ms, a, b);
}

TWO(cuStreamWaitEvent, _ptsz, (CUstream h, CUevent e, unsigned int flags), h, e, flags)
{
	struct work w = { .kind = W_WAIT };
	struct CUstream_st *s;
	CUresult r;

	if (!IS(e, MAGIC_EVENT) || flags > 1)
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && e->capture) {
		r = capture_join(s, e);
	} else if (!r && s->capture) {
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	} else if (!r) {
		w.event.e = e;
		w.event.gen = e->gen;
		r = submit(s, &w, NULL);
	}
	unlock();
	return r;
}

static CUresult simple(CUstream h, bool per_thread, struct work *w)
{
	struct CUstream_st *s;
	CUresult r;

	lock();
	r = stream_of(h, per_thread, &s);
	if (!r)
		r = submit(s, w, NULL);
	unlock();
	return r;
}

TWO(cuLaunchHostFunc, _ptsz, (CUstream h, CUhostFn fn, void *arg), h, fn, arg)
{
	struct work w = { .kind = W_HOST };

	w.host.fn = fn;
	w.host.arg = arg;
	return fn ? simple(h, per_thread, &w) : CUDA_ERROR_INVALID_VALUE;
}

TWO(cuStreamAddCallback, _ptsz,
    (CUstream h, CUstreamCallback fn, void *arg, unsigned int flags), h, fn, arg, flags)
{
	struct work w = { .kind = W_CALLBACK };

	w.callback.fn = fn;
	w.callback.arg = arg;
	return fn && !flags ? simple(h, per_thread, &w) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult word(CUstream h, bool per_thread, enum work_kind kind, CUdeviceptr addr, uint64_t v,
		     unsigned int flags, bool wide)
{
	struct work w = { .kind = kind };

	w.word.addr = addr;
	w.word.value = v;
	w.word.flags = flags;
	w.word.wide = wide;
	return addr % (wide ? 8 : 4) ? CUDA_ERROR_INVALID_VALUE : simple(h, per_thread, &w);
}

/* The first and the second version differ in what a driver must be told to allow. */
#define WORD(name, kind, type, wide)						\
TWO(name, _ptsz, (CUstream h, CUdeviceptr addr, type v, unsigned int flags), h, addr, v, flags) \
{										\
	return word(h, per_thread, kind, addr, v, flags, wide);			\
}										\
TWO(name##_v2, _ptsz, (CUstream h, CUdeviceptr addr, type v, unsigned int flags), h, addr, v, \
    flags)									\
{										\
	return word(h, per_thread, kind, addr, v, flags, wide);			\
}

WORD(cuStreamWriteValue32, W_WRITE_VALUE, cuuint32_t, false)
WORD(cuStreamWriteValue64, W_WRITE_VALUE, cuuint64_t, true)
WORD(cuStreamWaitValue32, W_WAIT_VALUE, cuuint32_t, false)
WORD(cuStreamWaitValue64, W_WAIT_VALUE, cuuint64_t, true)

static CUresult memory_operation(CUstream h, bool per_thread, const CUstreamBatchMemOpParams *p)
{
	bool wide = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
		p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;

	switch ((int)p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return word(h, per_thread, W_WAIT_VALUE, p->waitValue.address,
			    wide ? p->waitValue.value64 : p->waitValue.value, p->waitValue.flags,
			    wide);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return word(h, per_thread, W_WRITE_VALUE, p->writeValue.address,
			    wide ? p->writeValue.value64 : p->writeValue.value,
			    p->writeValue.flags, wide);
	case CU_STREAM_MEM_OP_BARRIER:
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_SUCCESS;	/* memory has one order here */
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult batch(CUstream h, bool per_thread, unsigned int n, CUstreamBatchMemOpParams *p,
		      unsigned int flags)
{
	CUresult r = n > 256 || !p || flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	unsigned int k;

	for (k = 0; !r && k < n; k++)
		r = memory_operation(h, per_thread, &p[k]);
	return r;
}

TWO(cuStreamBatchMemOp, _ptsz,
    (CUstream h, unsigned int n, CUstreamBatchMemOpParams *p, unsigned int flags), h, n, p, flags)
{
	return batch(h, per_thread, n, p, flags);
}

TWO(cuStreamBatchMemOp_v2, _ptsz,
    (CUstream h, unsigned int n, CUstreamBatchMemOpParams *p, unsigned int flags), h, n, p, flags)
{
	return batch(h, per_thread, n, p, flags);
}

/* Attributes: the priority has a meaning, the others are kept to be shown. */
TWO(cuStreamSetAttribute, _ptsz, (CUstream h, CUlaunchAttributeID id,
				  const CUlaunchAttributeValue *v), h, id, v)
{
	struct CUstream_st *s;
	CUresult r;

	if (!v || (unsigned int)id >= STREAM_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		s->priority = v->priority;
	else if (!r)
		s->attribute[id] = *v;
	unlock();
	return r;
}

TWO(cuStreamGetAttribute, _ptsz, (CUstream h, CUlaunchAttributeID id, CUlaunchAttributeValue *v),
    h, id, v)
{
	struct CUstream_st *s;
	CUresult r;

	if (!v || (unsigned int)id >= STREAM_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r)
		*v = s->attribute[id];
	if (!r && id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		v->priority = s->priority;
	unlock();
	return r;
}

TWO(cuStreamCopyAttributes, _ptsz, (CUstream to, CUstream from), to, from)
{
	struct CUstream_st *t, *f;
	CUresult r;

	lock();
	r = stream_of(to, per_thread, &t);
	if (!r)
		r = stream_of(from, per_thread, &f);
	if (!r) {
		t->priority = f->priority;
		memcpy(t->attribute, f->attribute, sizeof(t->attribute));
	}
	unlock();
	return r;
}
