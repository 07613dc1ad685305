// SPDX-License-Identifier: MIT
/*
 * Stream capture: what goes into a captured stream becomes nodes of a graph, each
 * behind the last one of its stream; events carry the capture to other streams.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

static uint64_t captures;

CUresult capture_add(struct CUstream_st *s, struct work *w)
{
	struct CUgraphNode_st *n;
	CUresult r;

	if (s->invalid) {
		work_free(w);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	r = graph_add(s->capture, w, s->deps, s->n_deps, &n);
	return r ? r : deps_set(&s->deps, &s->n_deps, &n, 1);
}

/* An event recorded in a capture stands for what the stream has come to. */
CUresult capture_note(struct CUstream_st *s, struct CUevent_st *e)
{
	e->capture = s->capture;
	return deps_set(&e->deps, &e->n_deps, s->deps, s->n_deps);
}

/* Waiting for such an event takes the stream into the capture. */
CUresult capture_join(struct CUstream_st *s, struct CUevent_st *e)
{
	struct CUgraphNode_st **d;

	if (s->capture && s->capture != e->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!s->capture) {
		s->capture = e->capture;
		s->origin = s->invalid = false;
		s->n_deps = 0;
	}
	d = realloc(s->deps, (s->n_deps + e->n_deps + 1) * sizeof(*d));
	if (!d)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (e->n_deps)
		memcpy(d + s->n_deps, e->deps, e->n_deps * sizeof(*d));
	s->deps = d;
	s->n_deps += e->n_deps;
	return CUDA_SUCCESS;
}

static void invalidate(struct CUctx_st *c, const struct CUgraph_st *capture)
{
	struct CUstream_st *s;

	for (s = c->streams; s; s = s->next)
		if (s->capture == capture)
			s->invalid = true;
}

/* Nothing of it will happen, so who asks or waits for it is mistaken: the capture is lost. */
CUresult capture_asked(const struct CUevent_st *e)
{
	invalidate(e->ctx, e->capture);
	return CUDA_ERROR_CAPTURED_EVENT;
}

/* Captures that all threads have to mind, but those that said they know what they do. */
static struct CUstream_st *global;
static __thread CUstreamCaptureMode own_mode;

/* What they don't mind is refused, and the captures are lost. */
CUresult capture_forbids(void)
{
	struct CUstream_st *s;

	if (!global || own_mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
		return CUDA_SUCCESS;
	for (s = global; s; s = s->next_global)
		invalidate(s->ctx, s->capture);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void capture_over(struct CUstream_st *s)
{
	struct CUstream_st **at = &global;

	while (*at && *at != s)
		at = &(*at)->next_global;
	if (*at)
		*at = s->next_global;
}

static CUresult begin(struct CUstream_st *s, struct CUgraph_st *g,
		      struct CUgraphNode_st *const *deps, size_t n, CUstreamCaptureMode mode)
{
	if (s == s->ctx->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return CUDA_ERROR_INVALID_VALUE;
	s->capture = g ? g : graph_new();
	s->origin = true;
	s->invalid = false;
	s->capture_id = ++captures;
	if (s->capture && mode == CU_STREAM_CAPTURE_MODE_GLOBAL) {
		s->next_global = global;
		global = s;
	}
	return s->capture ? deps_set(&s->deps, &s->n_deps, deps, n) : CUDA_ERROR_OUT_OF_MEMORY;
}

TWO(cuStreamBeginCapture_v2, _ptsz, (CUstream h, CUstreamCaptureMode mode), h, mode)
{
	struct CUstream_st *s;
	CUresult r;

	if ((unsigned int)mode > 2)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r)
		r = begin(s, NULL, NULL, 0, mode);
	unlock();
	return r;
}

TWO(cuStreamBeginCapture, _ptsz, (CUstream h), h)
{
	return cuStreamBeginCapture_v2_do(per_thread, h, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TWO(cuStreamBeginCaptureToGraph, _ptsz,
    (CUstream h, CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t n,
     CUstreamCaptureMode mode), h, g, deps, data, n, mode)
{
	struct CUstream_st *s;
	CUresult r;

	if (data || (unsigned int)mode > 2 || !nodes_of(g, deps, n))
		return data ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r)
		r = begin(s, g, deps, n, mode);
	if (!r)
		g->own = true;
	unlock();
	return r;
}

static CUresult update_deps(bool per_thread, CUstream h, CUgraphNode *deps, size_t n,
			    unsigned int flags)
{
	struct CUgraphNode_st **d;
	struct CUstream_st *s;
	CUresult r;

	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && !s->capture)
		r = CUDA_ERROR_ILLEGAL_STATE;
	if (!r && !nodes_of(s->capture, deps, n))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		r = deps_set(&s->deps, &s->n_deps, deps, n);
	else if (!r && n) {
		d = realloc(s->deps, (s->n_deps + n) * sizeof(*d));
		if (d) {
			s->deps = d;
			memcpy(d + s->n_deps, deps, n * sizeof(*d));
			s->n_deps += n;
		} else {
			r = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	unlock();
	return r;
}

TWO(cuStreamUpdateCaptureDependencies, _ptsz,
    (CUstream h, CUgraphNode *deps, size_t n, unsigned int flags), h, deps, n, flags)
{
	return update_deps(per_thread, h, deps, n, flags);
}

TWO(cuStreamUpdateCaptureDependencies_v2, _ptsz,
    (CUstream h, CUgraphNode *deps, const CUgraphEdgeData *data, size_t n, unsigned int flags),
    h, deps, data, n, flags)
{
	return data ? CUDA_ERROR_NOT_SUPPORTED : update_deps(per_thread, h, deps, n, flags);
}

/* Every branch must have come back: what is left open isn't reached from @s. */
static bool joined(struct CUgraph_st *g, struct CUstream_st *s)
{
	size_t k, i, reached = 0;
	bool more = true;

	for (k = 0; k < g->n; k++)
		g->nodes[k]->mark = 0;
	for (i = 0; i < s->n_deps; i++)
		s->deps[i]->mark = 1;
	while (more) {
		more = false;
		for (k = 0; k < g->n; k++)
			for (i = 0; g->nodes[k]->mark && i < g->nodes[k]->n_deps; i++)
				if (!g->nodes[k]->deps[i]->mark)
					g->nodes[k]->deps[i]->mark = more = true;
	}
	for (k = 0; k < g->n; k++)
		reached += g->nodes[k]->mark;
	return reached == g->n;
}

TWO(cuStreamEndCapture, _ptsz, (CUstream h, CUgraph *out), h, out)
{
	struct CUstream_st *s, *o;
	struct CUgraph_st *g;
	CUresult r;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && (!s->capture || !s->origin))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r) {
		g = s->capture;
		capture_over(s);
		if (s->invalid)
			r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		else if (!g->own && !joined(g, s))
			r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
		for (o = s->ctx->streams; o; o = o->next)
			if (o->capture == g)
				o->capture = NULL;
		if (r && !g->own)
			graph_free(g);
		*out = r ? NULL : g;
	}
	unlock();
	return r;
}

TWO(cuStreamIsCapturing, _ptsz, (CUstream h, CUstreamCaptureStatus *st), h, st)
{
	struct CUstream_st *s;
	CUresult r;

	if (!st)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r)
		*st = !s->capture ? CU_STREAM_CAPTURE_STATUS_NONE : s->invalid ?
			CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	unlock();
	return r;
}

static CUresult capture_info(bool per_thread, CUstream h, CUstreamCaptureStatus *st,
			     cuuint64_t *id, CUgraph *g, const CUgraphNode **deps, size_t *n)
{
	CUresult r = cuStreamIsCapturing_do(per_thread, h, st);
	struct CUstream_st *s;

	if (r || *st == CU_STREAM_CAPTURE_STATUS_NONE)
		return r;
	lock();
	r = stream_of(h, per_thread, &s);
	if (id)
		*id = s->capture_id;
	if (g)
		*g = s->capture;
	if (deps)
		*deps = s->deps;
	if (n)
		*n = s->n_deps;
	unlock();
	return r;
}

TWO(cuStreamGetCaptureInfo, _ptsz, (CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id),
    h, st, id)
{
	return capture_info(per_thread, h, st, id, NULL, NULL, NULL);
}

TWO(cuStreamGetCaptureInfo_v2, _ptsz,
    (CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **deps,
     size_t *n), h, st, id, g, deps, n)
{
	return capture_info(per_thread, h, st, id, g, deps, n);
}

TWO(cuStreamGetCaptureInfo_v3, _ptsz,
    (CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **deps,
     const CUgraphEdgeData **data, size_t *n), h, st, id, g, deps, data, n)
{
	if (data)
		*data = NULL;	/* all edges are of the plain kind */
	return capture_info(per_thread, h, st, id, g, deps, n);
}

EXPORT cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = own_mode;

	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	own_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
