// SPDX-License-Identifier: MIT
/*
 * Events of launches that were deferred. In the driver such an event is a
 * barrier's; what it says about itself must be what a kernel's would say.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

static void event_end(struct gs_object *object)
{
	free(object);
}

/* NULL: no memory; then the event only looks like a barrier's. */
struct gs_event *gs_event_add(cl_event handle, cl_command_type type)
{
	struct gs_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->type = type;
	event->status = CL_QUEUED;
	gs_object_add(&event->object, GS_EVENT, handle, event_end);
	return event;
}

static cl_int give(const void *from, size_t n, size_t size, void *value, size_t *size_ret)
{
	if (value && size < n)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, n);
	if (size_ret)
		*size_ret = n;
	return CL_SUCCESS;
}

/*
 * The driver decides when it is over, we say what it is until then, and why it failed.
 * Some drivers call complete what waited for an event that failed; so be it, but
 * what failed by itself has.
 */
static cl_int status_of(const struct gs_event *event, cl_int driver)
{
	cl_int ours = __atomic_load_n(&event->status, __ATOMIC_ACQUIRE);

	if (driver == CL_COMPLETE)
		return ours < 0 && ours != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? ours :
											 driver;
	if (driver < 0)
		return ours < 0 ? ours : driver;
	return ours > CL_COMPLETE && ours < driver ? ours : driver;
}

static CL_API_ENTRY cl_int CL_API_CALL get_event_info(cl_event handle, cl_event_info what,
						      size_t size, void *value, size_t *size_ret)
{
	struct gs_event *event;
	cl_int status, rc;

	if (what != CL_EVENT_COMMAND_TYPE && what != CL_EVENT_COMMAND_EXECUTION_STATUS)
		return gs_cl.clGetEventInfo(handle, what, size, value, size_ret);
	event = gs_object_find(GS_EVENT, handle);
	if (!event)
		return gs_cl.clGetEventInfo(handle, what, size, value, size_ret);
	if (what == CL_EVENT_COMMAND_TYPE)
		return give(&event->type, sizeof(event->type), size, value, size_ret);
	rc = gs_cl.clGetEventInfo(handle, what, sizeof(status), &status, NULL);
	if (rc != CL_SUCCESS)
		return rc;
	status = status_of(event, status);
	return give(&status, sizeof(status), size, value, size_ret);
}

/* A time of the driver's own; its answer decides whether there is one. */
static cl_int profile(cl_event handle, const struct gs_event *event, cl_profiling_info what,
		      cl_ulong *ns)
{
	cl_ulong queued;
	cl_int rc = gs_cl.clGetEventProfilingInfo(handle, what, sizeof(*ns), ns, NULL);

	if (rc != CL_SUCCESS || !event->start)
		return rc;
	switch (what) {
	case CL_PROFILING_COMMAND_SUBMIT:
		/* The barrier may have been submitted when the kernel was under way already. */
		if (*ns > event->start)
			*ns = event->start;
		rc = gs_cl.clGetEventProfilingInfo(handle, CL_PROFILING_COMMAND_QUEUED,
						   sizeof(queued), &queued, NULL);
		if (rc == CL_SUCCESS && *ns < queued)
			*ns = queued;
		break;
	case CL_PROFILING_COMMAND_START:
		*ns = event->start;
		break;
	case CL_PROFILING_COMMAND_END:
	case CL_PROFILING_COMMAND_COMPLETE:
		*ns = event->end;
		break;
	default:
		break;
	}
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL get_profiling(cl_event handle, cl_profiling_info what,
						     size_t size, void *value, size_t *size_ret)
{
	struct gs_event *event = gs_object_find(GS_EVENT, handle);
	cl_ulong ns;
	cl_int rc;

	if (!event || (value && size < sizeof(ns)))
		return gs_cl.clGetEventProfilingInfo(handle, what, size, value, size_ret);
	rc = profile(handle, event, what, &ns);
	return rc == CL_SUCCESS ? give(&ns, sizeof(ns), size, value, size_ret) : rc;
}

struct callback {
	struct gs_event *event;
	void (CL_CALLBACK *notify)(cl_event, cl_int, void *);
	void *data;
};

static void CL_CALLBACK call_back(cl_event handle, cl_int status, void *data)
{
	struct callback *c = data;

	if (status <= CL_COMPLETE)
		status = status_of(c->event, status);
	c->notify(handle, status, c->data);
	gs_object_released(GS_EVENT, handle);
	free(c);
}

/* The program may have released its event by then, and ask it things all the same. */
static CL_API_ENTRY cl_int CL_API_CALL
set_callback(cl_event handle, cl_int type, void (CL_CALLBACK *notify)(cl_event, cl_int, void *),
	     void *data)
{
	struct gs_event *event = gs_object_find(GS_EVENT, handle);
	struct callback *c;
	cl_int rc;

	if (!event || !notify)
		return gs_cl.clSetEventCallback(handle, type, notify, data);
	c = malloc(sizeof(*c));
	if (!c)
		return CL_OUT_OF_HOST_MEMORY;
	*c = (struct callback){ .event = event, .notify = notify, .data = data };
	gs_object_retained(GS_EVENT, handle);
	rc = gs_cl.clSetEventCallback(handle, type, call_back, c);
	if (rc != CL_SUCCESS) {
		gs_object_released(GS_EVENT, handle);
		free(c);
	}
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL retain_event(cl_event handle)
{
	cl_int rc = gs_cl.clRetainEvent(handle);

	if (rc == CL_SUCCESS)
		gs_object_retained(GS_EVENT, handle);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL release_event(cl_event handle)
{
	gs_object_released(GS_EVENT, handle);
	return gs_cl.clReleaseEvent(handle);
}

void gs_hook_event(cl_icd_dispatch *table)
{
	GS_HOOK(table, clGetEventInfo, get_event_info);
	GS_HOOK(table, clGetEventProfilingInfo, get_profiling);
	GS_HOOK(table, clSetEventCallback, set_callback);
	GS_HOOK(table, clRetainEvent, retain_event);
	GS_HOOK(table, clReleaseEvent, release_event);
}
