// SPDX-License-Identifier: MIT
/*
 * All commands but launches go to the driver as they are. Here is only noted
 * that they were: a job takes no launches from behind them, what they wait for
 * may put the queue in doubt, and what a blocking one waited for is over. Not so with
 * one that writes: a driver may take the data and return at once, as Intel's does.
 *
 * The queue's lock is held while the driver is called, so that no command comes
 * between a job's marker and its barrier; but not for a blocking command, which
 * another thread's command in the same queue may have to release.
 */
#include "layer.h"

cl_event *gs_command_begin(struct gs_command *c, cl_command_queue handle, bool blocking,
			   bool barrier, cl_uint n, const cl_event *events, cl_event *event)
{
	struct gs_queue *queue = gs_queue_find(handle);

	*c = (struct gs_command){ .queue = queue, .blocking = blocking, .over = blocking,
				  .event = event };
	if (!queue)
		return event;
	pthread_mutex_lock(&queue->lock);
	gs_queue_close(queue);
	c->number = ++queue->commands;
	/* What others do out of order doesn't hold up a launch, unless it is a barrier. */
	if (queue->in_order)
		c->doubtful = n && gs_waits_open(queue, n, events);
	else if (barrier)
		c->doubtful = true;
	/*
	 * The driver may wait for that in the call, with the queue's lock held, so the launcher
	 * mustn't need that to have the batch told.
	 */
	if (c->doubtful)
		gs_batch_close(queue);
	if (c->doubtful && !event)
		c->event = &c->own;
	if (blocking) {
		queue->blocked += c->doubtful;
		pthread_mutex_unlock(&queue->lock);
	}
	return c->event;
}

cl_int gs_command_end(struct gs_command *c, cl_int rc)
{
	struct gs_queue *queue = c->queue;

	if (!queue)
		return rc;
	if (c->blocking && c->doubtful) {
		pthread_mutex_lock(&queue->lock);
		queue->blocked--;
		pthread_mutex_unlock(&queue->lock);
	}
	if (c->over && rc == CL_SUCCESS && queue->in_order)
		gs_queue_drained(queue, c->number, 0);
	if (!c->blocking && c->doubtful && rc == CL_SUCCESS) {
		if (c->event != &c->own)
			gs_cl.clRetainEvent(*c->event);
		if (queue->doubt)
			gs_cl.clReleaseEvent(queue->doubt);
		queue->doubt = *c->event;
	} else if (c->own) {
		gs_cl.clReleaseEvent(c->own);
	}
	if (!c->blocking)
		pthread_mutex_unlock(&queue->lock);
	return rc;
}

#define ARGS(...) __VA_ARGS__

/*
 * A command with the usual end: number of events, events, event. @before are its
 * own parameters behind the queue, @pass their names.
 */
#define COMMAND(name, blocking, barrier, before, pass)					\
static CL_API_ENTRY cl_int CL_API_CALL							\
do_##name(cl_command_queue queue, before cl_uint n_waits, const cl_event *waits, cl_event *event) \
{											\
	struct gs_command c;								\
											\
	event = gs_command_begin(&c, queue, blocking, barrier, n_waits, waits, event);	\
	return gs_command_end(&c, gs_cl.name(queue, pass n_waits, waits, event));	\
}

/* One that writes what the program has. */
#define WRITE_COMMAND(name, before, pass)						\
static CL_API_ENTRY cl_int CL_API_CALL							\
do_##name(cl_command_queue queue, before cl_uint n_waits, const cl_event *waits, cl_event *event) \
{											\
	struct gs_command c;								\
											\
	event = gs_command_begin(&c, queue, blocking, false, n_waits, waits, event);	\
	c.over = false;									\
	return gs_command_end(&c, gs_cl.name(queue, pass n_waits, waits, event));	\
}

/* One that returns a pointer. */
#define MAP_COMMAND(name, before, pass)							\
static CL_API_ENTRY void *CL_API_CALL							\
do_##name(cl_command_queue queue, before cl_uint n_waits, const cl_event *waits,		\
	  cl_event *event, cl_int *err)							\
{											\
	struct gs_command c;								\
	cl_int rc;									\
	void *mapped;									\
											\
	event = gs_command_begin(&c, queue, blocking, false, n_waits, waits, event);	\
	mapped = gs_cl.name(queue, pass n_waits, waits, event, &rc);			\
	gs_command_end(&c, rc);								\
	if (err)									\
		*err = rc;								\
	return mapped;									\
}

COMMAND(clEnqueueReadBuffer, blocking, false,
	ARGS(cl_mem mem, cl_bool blocking, size_t at, size_t size, void *to,),
	ARGS(mem, blocking, at, size, to,))
WRITE_COMMAND(clEnqueueWriteBuffer,
	ARGS(cl_mem mem, cl_bool blocking, size_t at, size_t size, const void *from,),
	ARGS(mem, blocking, at, size, from,))
COMMAND(clEnqueueReadBufferRect, blocking, false,
	ARGS(cl_mem mem, cl_bool blocking, const size_t *at, const size_t *host_at,
	     const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
	     void *to,),
	ARGS(mem, blocking, at, host_at, region, row, slice, host_row, host_slice, to,))
WRITE_COMMAND(clEnqueueWriteBufferRect,
	ARGS(cl_mem mem, cl_bool blocking, const size_t *at, const size_t *host_at,
	     const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
	     const void *from,),
	ARGS(mem, blocking, at, host_at, region, row, slice, host_row, host_slice, from,))
COMMAND(clEnqueueCopyBuffer, false, false,
	ARGS(cl_mem from, cl_mem to, size_t from_at, size_t to_at, size_t size,),
	ARGS(from, to, from_at, to_at, size,))
COMMAND(clEnqueueCopyBufferRect, false, false,
	ARGS(cl_mem from, cl_mem to, const size_t *from_at, const size_t *to_at,
	     const size_t *region, size_t row, size_t slice, size_t to_row, size_t to_slice,),
	ARGS(from, to, from_at, to_at, region, row, slice, to_row, to_slice,))
COMMAND(clEnqueueFillBuffer, false, false,
	ARGS(cl_mem mem, const void *pattern, size_t pattern_size, size_t at, size_t size,),
	ARGS(mem, pattern, pattern_size, at, size,))
COMMAND(clEnqueueReadImage, blocking, false,
	ARGS(cl_mem image, cl_bool blocking, const size_t *at, const size_t *region, size_t row,
	     size_t slice, void *to,),
	ARGS(image, blocking, at, region, row, slice, to,))
WRITE_COMMAND(clEnqueueWriteImage,
	ARGS(cl_mem image, cl_bool blocking, const size_t *at, const size_t *region, size_t row,
	     size_t slice, const void *from,),
	ARGS(image, blocking, at, region, row, slice, from,))
COMMAND(clEnqueueFillImage, false, false,
	ARGS(cl_mem image, const void *colour, const size_t *at, const size_t *region,),
	ARGS(image, colour, at, region,))
COMMAND(clEnqueueCopyImage, false, false,
	ARGS(cl_mem from, cl_mem to, const size_t *from_at, const size_t *to_at,
	     const size_t *region,),
	ARGS(from, to, from_at, to_at, region,))
COMMAND(clEnqueueCopyImageToBuffer, false, false,
	ARGS(cl_mem from, cl_mem to, const size_t *from_at, const size_t *region, size_t to_at,),
	ARGS(from, to, from_at, region, to_at,))
COMMAND(clEnqueueCopyBufferToImage, false, false,
	ARGS(cl_mem from, cl_mem to, size_t from_at, const size_t *to_at, const size_t *region,),
	ARGS(from, to, from_at, to_at, region,))
COMMAND(clEnqueueUnmapMemObject, false, false, ARGS(cl_mem mem, void *at,), ARGS(mem, at,))
COMMAND(clEnqueueMigrateMemObjects, false, false,
	ARGS(cl_uint n, const cl_mem *mems, cl_mem_migration_flags flags,), ARGS(n, mems, flags,))

static CL_API_ENTRY cl_int CL_API_CALL
do_clEnqueueNativeKernel(cl_command_queue queue, void (CL_CALLBACK *fn)(void *), void *args,
			 size_t size, cl_uint n_mems, const cl_mem *mems, const void **places,
			 cl_uint n_waits, const cl_event *waits, cl_event *event)
{
	struct gs_command c;

	event = gs_command_begin(&c, queue, false, false, n_waits, waits, event);
	/* The host's own code may wait for anything. */
	if (c.queue && c.queue->in_order && !c.doubtful) {
		gs_batch_close(c.queue);
		c.doubtful = true;
		if (!event)
			event = c.event = &c.own;
	}
	return gs_command_end(&c, gs_cl.clEnqueueNativeKernel(queue, fn, args, size, n_mems, mems,
							      places, n_waits, waits, event));
}

COMMAND(clEnqueueMarkerWithWaitList, false, false, ARGS(), ARGS())
COMMAND(clEnqueueBarrierWithWaitList, false, true, ARGS(), ARGS())
COMMAND(clEnqueueSVMMemcpy, blocking, false,
	ARGS(cl_bool blocking, void *to, const void *from, size_t size,),
	ARGS(blocking, to, from, size,))
COMMAND(clEnqueueSVMMemFill, false, false,
	ARGS(void *to, const void *pattern, size_t pattern_size, size_t size,),
	ARGS(to, pattern, pattern_size, size,))
COMMAND(clEnqueueSVMMap, blocking, false,
	ARGS(cl_bool blocking, cl_map_flags flags, void *at, size_t size,),
	ARGS(blocking, flags, at, size,))
COMMAND(clEnqueueSVMUnmap, false, false, ARGS(void *at,), ARGS(at,))
COMMAND(clEnqueueSVMMigrateMem, false, false,
	ARGS(cl_uint n, const void **pointers, const size_t *sizes, cl_mem_migration_flags flags,),
	ARGS(n, pointers, sizes, flags,))
COMMAND(clEnqueueAcquireGLObjects, false, false, ARGS(cl_uint n, const cl_mem *mems,),
	ARGS(n, mems,))
COMMAND(clEnqueueReleaseGLObjects, false, false, ARGS(cl_uint n, const cl_mem *mems,),
	ARGS(n, mems,))
COMMAND(clEnqueueAcquireEGLObjectsKHR, false, false, ARGS(cl_uint n, const cl_mem *mems,),
	ARGS(n, mems,))
COMMAND(clEnqueueReleaseEGLObjectsKHR, false, false, ARGS(cl_uint n, const cl_mem *mems,),
	ARGS(n, mems,))
MAP_COMMAND(clEnqueueMapBuffer,
	    ARGS(cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t at, size_t size,),
	    ARGS(mem, blocking, flags, at, size,))
MAP_COMMAND(clEnqueueMapImage,
	    ARGS(cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *at,
		 const size_t *region, size_t *row, size_t *slice,),
	    ARGS(image, blocking, flags, at, region, row, slice,))

/* Those of OpenCL 1.0 and 1.1. */
static CL_API_ENTRY cl_int CL_API_CALL do_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
	struct gs_command c;

	event = gs_command_begin(&c, queue, false, false, 0, NULL, event);
	return gs_command_end(&c, gs_cl.clEnqueueMarker(queue, event));
}

/* The other two have no event; a marker behind them has. */
static cl_int mark(struct gs_command *c, cl_command_queue queue, cl_int rc)
{
	if (rc == CL_SUCCESS && c->doubtful &&
	    gs_cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &c->own) != CL_SUCCESS)
		c->doubtful = false;
	return gs_command_end(c, rc);
}

static CL_API_ENTRY cl_int CL_API_CALL do_clEnqueueBarrier(cl_command_queue queue)
{
	struct gs_command c;

	gs_command_begin(&c, queue, false, true, 0, NULL, NULL);
	return mark(&c, queue, gs_cl.clEnqueueBarrier(queue));
}

static CL_API_ENTRY cl_int CL_API_CALL
do_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint n, const cl_event *events)
{
	struct gs_command c;

	gs_command_begin(&c, queue, false, true, n, events, NULL);
	return mark(&c, queue, gs_cl.clEnqueueWaitForEvents(queue, n, events));
}

void gs_hook_enqueue(cl_icd_dispatch *table)
{
#define HOOK(name) GS_HOOK(table, name, do_##name)
	HOOK(clEnqueueReadBuffer);
	HOOK(clEnqueueWriteBuffer);
	HOOK(clEnqueueReadBufferRect);
	HOOK(clEnqueueWriteBufferRect);
	HOOK(clEnqueueCopyBuffer);
	HOOK(clEnqueueCopyBufferRect);
	HOOK(clEnqueueFillBuffer);
	HOOK(clEnqueueReadImage);
	HOOK(clEnqueueWriteImage);
	HOOK(clEnqueueFillImage);
	HOOK(clEnqueueCopyImage);
	HOOK(clEnqueueCopyImageToBuffer);
	HOOK(clEnqueueCopyBufferToImage);
	HOOK(clEnqueueUnmapMemObject);
	HOOK(clEnqueueMigrateMemObjects);
	HOOK(clEnqueueNativeKernel);
	HOOK(clEnqueueMarkerWithWaitList);
	HOOK(clEnqueueBarrierWithWaitList);
	HOOK(clEnqueueSVMMemcpy);
	HOOK(clEnqueueSVMMemFill);
	HOOK(clEnqueueSVMMap);
	HOOK(clEnqueueSVMUnmap);
	HOOK(clEnqueueSVMMigrateMem);
	HOOK(clEnqueueAcquireGLObjects);
	HOOK(clEnqueueReleaseGLObjects);
	HOOK(clEnqueueAcquireEGLObjectsKHR);
	HOOK(clEnqueueReleaseEGLObjectsKHR);
	HOOK(clEnqueueMapBuffer);
	HOOK(clEnqueueMapImage);
	HOOK(clEnqueueMarker);
	HOOK(clEnqueueBarrier);
	HOOK(clEnqueueWaitForEvents);
#undef HOOK
}
