// SPDX-License-Identifier: MIT
/*
 * Streams, captures and contexts: what of their lives we must know. Who has just
 * waited for work may as well notice that it has ended, which is cheap then.
 */
#include <stdlib.h>

#include "rest.h"

static CUresult waited(CUresult r)
{
	struct gs_device *dev;
	size_t i;

	for (i = 0; !r && i < GS_DEVICES; i++) {
		dev = __atomic_load_n(&gs_devices[i], __ATOMIC_ACQUIRE);
		if (dev && __atomic_load_n(&dev->budget.in_flight, __ATOMIC_RELAXED))
			gs_reap(dev);
	}
	return r;
}

HOOK(cuStreamSynchronize, CUstream stream)
{
	gs_settle_stream(stream, false);
	return gs_or_late_in(waited(REAL(cuStreamSynchronize)(stream)), stream, false);
}

HOOK(cuStreamSynchronize_ptsz, CUstream stream)
{
	gs_settle_stream(stream, true);
	return gs_or_late_in(waited(REAL(cuStreamSynchronize_ptsz)(stream)), stream, true);
}

HOOK(cuCtxSynchronize, void)
{
	gs_settle_all();	/* green contexts are waited for as well */
	return gs_or_late(waited(REAL(cuCtxSynchronize)()));
}

HOOK(cuCtxSynchronize_v2, CUcontext ctx)
{
	CUresult r;

	gs_settle_all();
	r = waited(REAL(cuCtxSynchronize_v2)(ctx));
	return r || !ctx ? gs_or_late(r) : gs_rest_late(NULL, ctx);
}

HOOK(cuEventSynchronize, CUevent event)
{
	if (__atomic_load_n(&gs_pending, __ATOMIC_ACQUIRE))
		gs_settle_event(event);
	return gs_or_late(waited(REAL(cuEventSynchronize)(event)));
}

/*
 * Captures that are under way. One ends with cuStreamEndCapture(), or with its
 * stream, or with the stream's context; a thread's default stream is as many
 * streams as there are threads. The streams that join one aren't here.
 */
struct capture {
	struct capture *next;
	CUstream stream;
	pthread_t thread;	/* of its default stream */
	CUcontext ctx;
	bool graphics;		/* into a command list of a graphics interface */
};

static struct capture *captures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. */
static struct capture **capture_find(CUstream stream, bool twin)
{
	struct capture **at;

	if (!stream && twin)
		stream = CU_STREAM_PER_THREAD;
	for (at = &captures; *at; at = &(*at)->next)
		if ((*at)->stream == stream && (stream != CU_STREAM_PER_THREAD ||
						pthread_equal((*at)->thread, pthread_self())))
			return at;
	return NULL;
}

/* The lock is held. */
static void capture_over(struct capture **at)
{
	struct capture *c = *at;

	*at = c->next;
	free(c);
	__atomic_sub_fetch(&gs_captures, 1, __ATOMIC_SEQ_CST);
}

static void capture_over_of(CUstream stream, bool twin)
{
	struct capture **at;

	pthread_mutex_lock(&lock);
	at = capture_find(stream, twin);
	if (at)
		capture_over(at);
	pthread_mutex_unlock(&lock);
}

static void captures_over_in(CUcontext ctx)
{
	struct capture **at;

	pthread_mutex_lock(&lock);
	for (at = &captures; *at;)
		if ((*at)->ctx == ctx)
			capture_over(at);
		else
			at = &(*at)->next;
	pthread_mutex_unlock(&lock);
}

void gs_captures_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	captures = NULL;
}

/* What the driver says. An error: others are captured and this stream mustn't be used. */
static bool says_captured(CUstream stream, bool twin)
{
	int status = CU_STREAM_CAPTURE_NONE;

	return (twin ? REAL(cuStreamIsCapturing_ptsz)(stream, &status) :
		REAL(cuStreamIsCapturing)(stream, &status)) || status != CU_STREAM_CAPTURE_NONE;
}

/* Of a capture for graphics the driver may say that it is none. */
static bool is_for_graphics(CUstream stream, bool twin)
{
	struct capture **at;
	bool is;

	pthread_mutex_lock(&lock);
	at = capture_find(stream, twin);
	is = at && (*at)->graphics;
	pthread_mutex_unlock(&lock);
	return is;
}

bool gs_is_captured(CUstream stream, bool twin)
{
	if (__builtin_expect(!__atomic_load_n(&gs_captures, __ATOMIC_RELAXED), 1))
		return false;
	return is_for_graphics(stream, twin) || says_captured(stream, twin);
}

static void capture_begins(void)
{
	gs_settle_all();
	if (!__atomic_load_n(&gs_captures, __ATOMIC_RELAXED))
		gs_lanes_mark_all();
	/* What came up meanwhile is out, and from now on no launch has a rest. */
	gs_settle_and_lock();
	__atomic_add_fetch(&gs_captures, 1, __ATOMIC_SEQ_CST);
	gs_rest_unlock();
	/* With it nobody is in the middle of asking a stream. */
	pthread_mutex_lock(&gs_poll);
	pthread_mutex_unlock(&gs_poll);
}

static CUresult began(CUresult r, CUstream stream, bool twin, bool graphics)
{
	struct capture *c = r ? NULL : calloc(1, sizeof(*c));

	if (!c) {	/* without memory for it, it isn't followed */
		__atomic_sub_fetch(&gs_captures, 1, __ATOMIC_SEQ_CST);
		return r;
	}
	c->stream = !stream && twin ? CU_STREAM_PER_THREAD : stream;
	c->thread = pthread_self();
	c->graphics = graphics;
	if (REAL(cuStreamGetCtx)(c->stream, &c->ctx))
		REAL(cuCtxGetCurrent)(&c->ctx);
	pthread_mutex_lock(&lock);
	c->next = captures;
	captures = c;
	pthread_mutex_unlock(&lock);
	return r;
}

#define BEGIN_CAPTURE(name, twin, params, ...)					\
	HOOK(name, params)							\
	{									\
		capture_begins();						\
		return began(REAL(name)(__VA_ARGS__), stream, twin, false);	\
	}
#define COMMA ,

BEGIN_CAPTURE(cuStreamBeginCapture, false, CUstream stream, stream)
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, true, CUstream stream, stream)
BEGIN_CAPTURE(cuStreamBeginCapture_v2, false, CUstream stream COMMA int mode, stream, mode)
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, true, CUstream stream COMMA int mode, stream, mode)

#define TO_GRAPH_PARAMS CUstream stream COMMA CUgraph graph COMMA const void *deps COMMA \
	const void *edges COMMA size_t n COMMA int mode

BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, false, TO_GRAPH_PARAMS, stream, graph, deps, edges, n,
	      mode)
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, true, TO_GRAPH_PARAMS, stream, graph, deps, edges,
	      n, mode)

#define AGAIN_PARAMS CUstream stream COMMA int mode COMMA CUgraph graph COMMA void *callback COMMA \
	void *arg

BEGIN_CAPTURE(cuStreamBeginRecaptureToGraph, false, AGAIN_PARAMS, stream, mode, graph, callback,
	      arg)
BEGIN_CAPTURE(cuStreamBeginRecaptureToGraph_ptsz, true, AGAIN_PARAMS, stream, mode, graph,
	      callback, arg)

/* It has ended if it is none any more, whatever was wrong with it. */
static CUresult ended(CUresult r, CUstream stream, bool twin)
{
	if (__atomic_load_n(&gs_captures, __ATOMIC_RELAXED) && !says_captured(stream, twin))
		capture_over_of(stream, twin);
	return r;
}

HOOK(cuStreamEndCapture, CUstream stream, CUgraph *graph)
{
	return ended(REAL(cuStreamEndCapture)(stream, graph), stream, false);
}

HOOK(cuStreamEndCapture_ptsz, CUstream stream, CUgraph *graph)
{
	return ended(REAL(cuStreamEndCapture_ptsz)(stream, graph), stream, true);
}

/*
 * A capture into a command list of a graphics interface, which submits the work
 * itself: that goes past the gate, and is counted as one.
 */
static CUresult for_graphics(CUresult r, CUstream stream, bool twin)
{
	if (!r)
		__atomic_add_fetch(&gs_past_gate, 1, __ATOMIC_RELAXED);
	return began(r, stream, twin, true);
}

HOOK(cuStreamBeginCaptureToCig, CUstream stream, void *params)
{
	capture_begins();
	return for_graphics(REAL(cuStreamBeginCaptureToCig)(stream, params), stream, false);
}

HOOK(cuStreamBeginCaptureToCig_ptsz, CUstream stream, void *params)
{
	capture_begins();
	return for_graphics(REAL(cuStreamBeginCaptureToCig_ptsz)(stream, params), stream, true);
}

HOOK(cuStreamEndCaptureToCig, CUstream stream)
{
	return ended(REAL(cuStreamEndCaptureToCig)(stream), stream, false);
}

HOOK(cuStreamEndCaptureToCig_ptsz, CUstream stream)
{
	return ended(REAL(cuStreamEndCaptureToCig_ptsz)(stream), stream, true);
}

static CUresult stream_destroyed(CUstream stream, CUresult (*destroy)(CUstream stream))
{
	CUresult r;

	gs_lane_forget(stream);
	r = destroy(stream);
	if (!r && stream && __atomic_load_n(&gs_captures, __ATOMIC_RELAXED))
		capture_over_of(stream, false);
	return r;
}

HOOK(cuStreamDestroy, CUstream stream)
{
	return stream_destroyed(stream, REAL(cuStreamDestroy));
}

HOOK(cuStreamDestroy_v2, CUstream stream)
{
	return stream_destroyed(stream, REAL(cuStreamDestroy_v2));
}

static CUresult made(CUresult r, CUcontext *ctx, CUdevice dev)
{
	if (!r && ctx)
		gs_context_made(*ctx, dev, NULL);
	return r;
}

HOOK(cuCtxCreate, CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	return made(REAL(cuCtxCreate)(ctx, flags, dev), ctx, dev);
}

HOOK(cuCtxCreate_v2, CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	return made(REAL(cuCtxCreate_v2)(ctx, flags, dev), ctx, dev);
}

HOOK(cuCtxCreate_v3, CUcontext *ctx, void *affinity, int n, unsigned int flags, CUdevice dev)
{
	return made(REAL(cuCtxCreate_v3)(ctx, affinity, n, flags, dev), ctx, dev);
}

HOOK(cuCtxCreate_v4, CUcontext *ctx, void *params, unsigned int flags, CUdevice dev)
{
	return made(REAL(cuCtxCreate_v4)(ctx, params, flags, dev), ctx, dev);
}

/* What becomes of a context is only known afterwards: the driver may refuse. */
static CUresult left(struct gs_context *context, CUresult r, bool gone)
{
	if (context && gone)
		captures_over_in(context->handle);
	gs_context_left(context, gone);
	return r;
}

static CUresult destroyed(CUcontext ctx, CUresult (*destroy)(CUcontext ctx))
{
	struct gs_context *c;
	CUresult r;

	gs_settle(NULL, ctx);
	c = ctx ? gs_context_leaves(ctx, NULL, 0) : NULL;
	r = destroy(ctx);
	return left(c, r, !r);
}

HOOK(cuCtxDestroy, CUcontext ctx)
{
	return destroyed(ctx, REAL(cuCtxDestroy));
}

HOOK(cuCtxDestroy_v2, CUcontext ctx)
{
	return destroyed(ctx, REAL(cuCtxDestroy_v2));
}

/* The oldest way to count a context's users; the last one's going destroys it. */
HOOK(cuCtxAttach, CUcontext *ctx, unsigned int flags)
{
	CUresult r = REAL(cuCtxAttach)(ctx, flags);

	if (!r && ctx)
		gs_context_refs(*ctx, 1);
	return r;
}

HOOK(cuCtxDetach, CUcontext ctx)
{
	CUresult r;

	if (gs_context_refs(ctx, 0) <= 1)
		return destroyed(ctx, REAL(cuCtxDetach));
	r = REAL(cuCtxDetach)(ctx);
	if (!r)
		gs_context_refs(ctx, -1);
	return r;
}

/* A green context that is used as a context ends with itself. */
HOOK(cuCtxFromGreenCtx, CUcontext *ctx, CUgreenCtx green)
{
	CUresult r = REAL(cuCtxFromGreenCtx)(ctx, green);

	if (!r && ctx)
		gs_context_made(*ctx, -1, green);
	return r;
}

HOOK(cuGreenCtxDestroy, CUgreenCtx green)
{
	struct gs_context *c;
	CUresult r;

	gs_settle_all();
	c = green ? gs_context_leaves(NULL, green, 0) : NULL;
	r = REAL(cuGreenCtxDestroy)(green);
	return left(c, r, !r);
}

/* The primary context ends with its last reference, which only the driver counts. */
static CUresult released(CUdevice dev, CUresult (*release)(CUdevice dev))
{
	struct gs_context *c;
	unsigned int flags;
	int active = 1;
	CUresult r;

	gs_settle_all();
	c = gs_context_leaves(NULL, NULL, dev);
	r = release(dev);
	return left(c, r, !r && !REAL(cuDevicePrimaryCtxGetState)(dev, &flags, &active) && !active);
}

HOOK(cuDevicePrimaryCtxRelease, CUdevice dev)
{
	return released(dev, REAL(cuDevicePrimaryCtxRelease));
}

HOOK(cuDevicePrimaryCtxRelease_v2, CUdevice dev)
{
	return released(dev, REAL(cuDevicePrimaryCtxRelease_v2));
}

/* All that is in it goes, whoever still refers to it. */
static CUresult reset(CUdevice dev, CUresult (*call)(CUdevice dev))
{
	struct gs_context *c;
	CUresult r;

	gs_settle_all();
	c = gs_context_leaves(NULL, NULL, dev);
	r = call(dev);
	return left(c, r, !r);
}

HOOK(cuDevicePrimaryCtxReset, CUdevice dev)
{
	return reset(dev, REAL(cuDevicePrimaryCtxReset));
}

HOOK(cuDevicePrimaryCtxReset_v2, CUdevice dev)
{
	return reset(dev, REAL(cuDevicePrimaryCtxReset_v2));
}
