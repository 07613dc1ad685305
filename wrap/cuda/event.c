// SPDX-License-Identifier: MIT
/*
 * What may come behind the rest of a launch in its stream, besides launches: events,
 * waits for them, functions of the host. While there is no rest, and that is nearly
 * always, all of this goes to the driver as it comes.
 *
 * An event whose record is in a list hasn't happened. One that is named in the list of
 * one stream and now recorded in another waits until the list is with the driver, as
 * later waits mean the later record.
 */
#include <stdlib.h>

#include "rest.h"

static bool is_pending(void)
{
	return __builtin_expect(__atomic_load_n(&gs_pending, __ATOMIC_ACQUIRE) != 0, 0);
}

static bool is_late(void)
{
	return __builtin_expect(__atomic_load_n(&gs_lates, __ATOMIC_ACQUIRE) != 0, 0);
}

void gs_settle_stream(CUstream stream, bool twin)
{
	struct gs_lane *lane;

	if (!is_pending())
		return;
	lane = gs_lane_find(stream, twin, NULL);
	gs_settle(lane, NULL);
}

CUresult gs_or_late_in(CUresult r, CUstream stream, bool twin)
{
	struct gs_lane *lane = !r && is_late() ? gs_lane_find(stream, twin, NULL) : NULL;

	return lane ? gs_rest_late(lane, NULL) : r;
}

CUresult gs_or_late(CUresult r)
{
	CUcontext ctx = NULL;

	if (r || !is_late())
		return r;
	REAL(cuCtxGetCurrent)(&ctx);
	return gs_rest_late(NULL, ctx);
}

/* One of these; all are as small. */
struct small {
	struct gs_work work;
	unsigned int flags;
	void (*host)(void *data);
	void (*callback)(CUstream stream, CUresult status, void *data);
	CUstream stream;
	void *data;
	CUresult (*with_flags)(CUevent event, CUstream stream, unsigned int flags);
};

static void small_free(struct gs_work *w)
{
	free(w);
}

static enum gs_step step_record(struct gs_work *w)
{
	struct small *s = (struct small *)w;

	w->late = s->with_flags ? s->with_flags(w->record, w->lane->stream, s->flags) :
		REAL(cuEventRecord)(w->record, w->lane->stream);
	return GS_DONE;
}

static enum gs_step step_wait(struct gs_work *w)
{
	struct small *s = (struct small *)w;

	if (gs_rest_records(w->wait, w->number))
		return GS_LATER;
	w->late = REAL(cuStreamWaitEvent)(w->lane->stream, w->wait, s->flags);
	return GS_DONE;
}

static enum gs_step step_host(struct gs_work *w)
{
	struct small *s = (struct small *)w;

	w->late = s->callback ?
		REAL(cuStreamAddCallback)(s->stream, s->callback, s->data, s->flags) :
		REAL(cuLaunchHostFunc)(w->lane->stream, s->host, s->data);
	return GS_DONE;
}

/* True: it is in the list. False: the caller does it, now that nothing is before it. */
static bool put(struct gs_lane *lane, const struct small *what, bool first)
{
	struct small *s = lane ? malloc(sizeof(*s)) : NULL;
	enum gs_place place;

	if (!s) {
		gs_settle_all();
		return false;
	}
	*s = *what;
	s->work.free = small_free;
	place = gs_rest_put(lane, &s->work, first, true);
	if (place == GS_FIRST)
		gs_rest_go(&s->work);
	if (place == GS_NOT_PUT)
		free(s);
	return place != GS_NOT_PUT;
}

/* When another thread's capture begins meanwhile, the driver isn't to mind the question. */
static bool is_event(CUevent event)
{
	int mode = CU_STREAM_CAPTURE_RELAXED;
	CUresult r;

	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	r = event ? REAL(cuEventQuery)(event) : CUDA_ERROR_INVALID_VALUE;
	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return !r || r == CUDA_ERROR_NOT_READY;
}

typedef CUresult record_fn(CUevent event, CUstream stream, unsigned int flags);

static bool record_later(CUevent event, CUstream stream, bool twin, unsigned int flags,
			 record_fn *with_flags)
{
	struct gs_lane *lane = gs_lane_find(stream, twin, NULL);
	struct small s = { .work = { .step = step_record, .record = event }, .flags = flags,
			   .with_flags = with_flags };

	/* One that was recorded in a capture can't be asked, but may be recorded. */
	if (!is_event(event) || gs_rest_names(event, lane)) {
		gs_settle_all();
		return false;
	}
	return put(lane, &s, false);
}

HOOK(cuEventRecord, CUevent event, CUstream stream)
{
	if (is_pending() && record_later(event, stream, false, 0, NULL))
		return CUDA_SUCCESS;
	return REAL(cuEventRecord)(event, stream);
}

HOOK(cuEventRecord_ptsz, CUevent event, CUstream stream)
{
	if (is_pending() && record_later(event, stream, true, 0, NULL))
		return CUDA_SUCCESS;
	return REAL(cuEventRecord_ptsz)(event, stream);
}

HOOK(cuEventRecordWithFlags, CUevent event, CUstream stream, unsigned int flags)
{
	if (is_pending() && flags < 2 &&
	    record_later(event, stream, false, flags, REAL(cuEventRecordWithFlags)))
		return CUDA_SUCCESS;
	return REAL(cuEventRecordWithFlags)(event, stream, flags);
}

HOOK(cuEventRecordWithFlags_ptsz, CUevent event, CUstream stream, unsigned int flags)
{
	if (is_pending() && flags < 2 &&
	    record_later(event, stream, true, flags, REAL(cuEventRecordWithFlags)))
		return CUDA_SUCCESS;
	return REAL(cuEventRecordWithFlags_ptsz)(event, stream, flags);
}

HOOK(cuEventQuery, CUevent event)
{
	if (is_pending() && gs_rest_records(event, UINT64_MAX))
		return CUDA_ERROR_NOT_READY;
	return gs_or_late(REAL(cuEventQuery)(event));
}

static bool wait_later(CUstream stream, bool twin, CUevent event, unsigned int flags)
{
	struct gs_lane *lane = gs_lane_find(stream, twin, NULL);
	struct small s = { .work = { .step = step_wait, .wait = event }, .flags = flags };
	bool recorded = gs_rest_records(event, UINT64_MAX);

	if (flags > 1 || !is_event(event)) {
		gs_settle_all();
		return false;
	}
	if (put(lane, &s, recorded))
		return true;
	if (recorded)
		gs_settle_event(event);
	return false;
}

HOOK(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned int flags)
{
	if (is_pending() && wait_later(stream, false, event, flags))
		return CUDA_SUCCESS;
	return REAL(cuStreamWaitEvent)(stream, event, flags);
}

HOOK(cuStreamWaitEvent_ptsz, CUstream stream, CUevent event, unsigned int flags)
{
	if (is_pending() && wait_later(stream, true, event, flags))
		return CUDA_SUCCESS;
	return REAL(cuStreamWaitEvent_ptsz)(stream, event, flags);
}

static bool host_later(CUstream stream, bool twin, void (*host)(void *data), void *data)
{
	struct small s = { .work.step = step_host, .host = host, .data = data };

	return host && put(gs_lane_find(stream, twin, NULL), &s, false);
}

HOOK(cuLaunchHostFunc, CUstream stream, void (*host)(void *data), void *data)
{
	if (is_pending() && host_later(stream, false, host, data))
		return CUDA_SUCCESS;
	return REAL(cuLaunchHostFunc)(stream, host, data);
}

HOOK(cuLaunchHostFunc_ptsz, CUstream stream, void (*host)(void *data), void *data)
{
	if (is_pending() && host_later(stream, true, host, data))
		return CUDA_SUCCESS;
	return REAL(cuLaunchHostFunc_ptsz)(stream, host, data);
}

/* With a way of waiting, that isn't followed here. */
HOOK(cuLaunchHostFunc_v2, CUstream stream, void (*host)(void *data), void *data, unsigned int mode)
{
	gs_settle_stream(stream, false);
	return REAL(cuLaunchHostFunc_v2)(stream, host, data, mode);
}

HOOK(cuLaunchHostFunc_v2_ptsz, CUstream stream, void (*host)(void *data), void *data,
     unsigned int mode)
{
	gs_settle_stream(stream, true);
	return REAL(cuLaunchHostFunc_v2_ptsz)(stream, host, data, mode);
}

typedef void callback_fn(CUstream stream, CUresult status, void *data);

/* It is told the stream by the name that the program used. */
static bool callback_later(CUstream stream, bool twin, callback_fn *callback, void *data,
			   unsigned int flags)
{
	struct small s = { .work.step = step_host, .callback = callback, .stream = stream,
			   .data = data, .flags = flags };

	return callback && !flags && put(gs_lane_find(stream, twin, NULL), &s, false);
}

HOOK(cuStreamAddCallback, CUstream stream, callback_fn *callback, void *data, unsigned int flags)
{
	if (is_pending() && callback_later(stream, false, callback, data, flags))
		return CUDA_SUCCESS;
	return REAL(cuStreamAddCallback)(stream, callback, data, flags);
}

HOOK(cuStreamAddCallback_ptsz, CUstream stream, callback_fn *callback, void *data,
     unsigned int flags)
{
	if (is_pending() && callback_later(stream, true, callback, data, flags))
		return CUDA_SUCCESS;
	return REAL(cuStreamAddCallback_ptsz)(stream, callback, data, flags);
}

static bool stream_is_pending(CUstream stream, bool twin)
{
	struct gs_lane *lane = is_pending() ? gs_lane_find(stream, twin, NULL) : NULL;

	return lane && gs_rest_is_before(lane);
}

HOOK(cuStreamQuery, CUstream stream)
{
	return stream_is_pending(stream, false) ? CUDA_ERROR_NOT_READY :
		gs_or_late_in(REAL(cuStreamQuery)(stream), stream, false);
}

HOOK(cuStreamQuery_ptsz, CUstream stream)
{
	return stream_is_pending(stream, true) ? CUDA_ERROR_NOT_READY :
		gs_or_late_in(REAL(cuStreamQuery_ptsz)(stream), stream, true);
}
