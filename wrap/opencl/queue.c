// SPDX-License-Identifier: MIT
/*
 * Queues: what is in them, as far as a launch must know it.
 *
 * A launch goes straight into the queue only if it will run when its turn comes:
 * if it hung on a user event, the device would be held for nothing. So a command
 * that waits for anything but what is surely on its way puts its queue in doubt,
 * until it is over.
 */
#include <stdlib.h>
#include <string.h>

#include "ulib/glibc.h"
#include "layer.h"

GS_OLD(pthread_mutex_trylock);

#define LANES_SAFE	2

bool gs_foreign_commands;
static uint32_t lanes;			/* atomic */

static void queue_end(struct gs_object *object)
{
	struct gs_queue *queue = (struct gs_queue *)object;

	__atomic_sub_fetch(&lanes, queue->lanes, __ATOMIC_RELAXED);
	gs_batch_forget(queue);
	if (queue->private)
		gs_cl.clReleaseCommandQueue(queue->private);
	if (queue->doubt)
		gs_cl.clReleaseEvent(queue->doubt);
	gs_workers_free(queue->workers);
	if (queue->keeps_device)
		gs_cl.clReleaseDevice(queue->id);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/*
 * PoCL's basic driver runs commands inside the program's own calls. What waits for
 * a user event it runs inside clSetUserEventStatus(), where it locks up, and its
 * clFinish() doesn't wait for such commands. So nothing is deferred there: each
 * launch waits for the grant and is run to its end, as it would be soon anyway.
 */
static bool runs_inside(const struct gs_queue *queue)
{
	char name[64] = "";

	gs_cl.clGetDeviceInfo(queue->id, CL_DEVICE_NAME, sizeof(name), name, NULL);
	return queue->pocl && !strncmp(name, "basic", 5);
}

/*
 * PoCL compiles a kernel anew for a wider grid than before, and for an offset. It counts
 * who runs which form; but until 6.0, the end of a launch is taken from the form that was
 * used last, whichever it ran, and at less than nothing PoCL aborts. Two are counted a
 * launch, so that it takes three in flight; on two devices, whose threads don't wait for each
 * other, two were seen to do. A program may do that by itself, but pieces are of many widths
 * where its launches are of one. So where so many could be in flight at once, in all of the
 * process, none is cut.
 */
static uint32_t lanes_of(const struct gs_queue *queue)
{
	char version[64] = "";

	if (!queue->pocl)
		return 0;
	gs_cl.clGetDeviceInfo(queue->id, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	if (strtoul(version, NULL, 10) >= 6)
		return 0;
	return queue->in_order ? 1 : LANES_SAFE + 1;
}

bool gs_queue_in_crowd(const struct gs_queue *queue)
{
	return queue->lanes && __atomic_load_n(&lanes, __ATOMIC_RELAXED) > LANES_SAFE;
}

static void lanes_add(struct gs_queue *queue)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static cl_device_id device;

	queue->lanes = lanes_of(queue);
	if (!queue->lanes)
		return;
	pthread_mutex_lock(&lock);
	if (!__atomic_load_n(&lanes, __ATOMIC_RELAXED))
		device = queue->id;
	else if (queue->id != device)
		queue->lanes = LANES_SAFE + 1;
	__atomic_add_fetch(&lanes, queue->lanes, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

static void queue_add(cl_command_queue handle)
{
	cl_command_queue_properties properties = 0;
	struct gs_queue *queue;

	if (!handle)
		return;
	gs_cl.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				    NULL);
	if (properties & CL_QUEUE_ON_DEVICE)
		return;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return;
	gs_recursive_mutex(&queue->lock);
	queue->in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	queue->profiling = properties & CL_QUEUE_PROFILING_ENABLE;
	if (gs_cl.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(queue->context),
					&queue->context, NULL) != CL_SUCCESS ||
	    gs_cl.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(queue->id), &queue->id,
					NULL) != CL_SUCCESS) {
		queue_end(&queue->object);
		return;
	}
	/* A sub-device's end would be the driver's, with queues of ours still on it. */
	queue->keeps_device = gs_cl.clRetainDevice &&
		gs_cl.clRetainDevice(queue->id) == CL_SUCCESS;
	queue->device = gs_device_of(queue->id);
	queue->pocl = gs_device_is_pocl(queue->id);
	queue->at_once = runs_inside(queue);
	lanes_add(queue);
	gs_object_add(&queue->object, GS_QUEUE, handle, queue_end);
}

struct gs_queue *gs_queue_find(cl_command_queue handle)
{
	struct gs_queue *queue = gs_object_find(GS_QUEUE, handle);

	return queue && queue->device ? queue : NULL;
}

cl_command_queue gs_queue_private(struct gs_queue *queue)
{
	cl_command_queue_properties properties = queue->profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
	cl_int err;

	if (!queue->private)
		queue->private = gs_cl.clCreateCommandQueue(queue->context, queue->id, properties,
							    &err);
	return queue->private;
}

void gs_queue_close(struct gs_queue *queue)
{
	queue->behind_job = false;
	if (!__atomic_load_n(&queue->open, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&queue->device->lock);
	__atomic_store_n(&queue->open, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&queue->device->lock);
}

void gs_queue_drained(struct gs_queue *queue, uint64_t commands, uint64_t waited_ns)
{
	pthread_mutex_lock(&queue->lock);
	if (commands > queue->drained)
		queue->drained = commands;
	/* What came behind a batch may have been waited for, and not the batch. */
	if (gs_batch_open(queue) && queue->batch->command <= commands)
		gs_batch_over(queue, queue->batch->command == queue->commands &&
			      !__atomic_load_n(&gs_foreign_commands, __ATOMIC_RELAXED) ?
			      waited_ns : 0);
	pthread_mutex_unlock(&queue->lock);
}

static cl_int status_of(cl_event event)
{
	cl_int status;

	/* One that is none: the driver shall say so, when it gets it. */
	if (gs_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				 NULL) != CL_SUCCESS)
		return CL_COMPLETE;
	return status;
}

static cl_command_queue queue_of(cl_event event)
{
	cl_command_queue handle = NULL;

	gs_cl.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL);
	return handle;
}

bool gs_queue_in_doubt(struct gs_queue *queue)
{
	if (queue->blocked)
		return true;
	if (!queue->doubt)
		return false;
	if (status_of(queue->doubt) > CL_COMPLETE)
		return true;
	gs_cl.clReleaseEvent(queue->doubt);
	queue->doubt = NULL;
	return false;
}

/*
 * Other queues' locks have no order, so a queue that is in use counts as open; so does one
 * that is out of order, of which it isn't known what each command in it waits for.
 * Another thread may release it meanwhile: its events outlive it.
 */
static bool may_hang(cl_command_queue handle)
{
	struct gs_queue *queue = gs_object_find_get(GS_QUEUE, handle);
	bool open = true;

	if (!queue)
		return true;
	if (queue->device && queue->in_order && !pthread_mutex_trylock(&queue->lock)) {
		open = __atomic_load_n(&queue->jobs, __ATOMIC_RELAXED) || gs_queue_in_doubt(queue);
		pthread_mutex_unlock(&queue->lock);
	}
	gs_object_put(&queue->object);
	return open;
}

bool gs_waits_open(struct gs_queue *queue, cl_uint n, const cl_event *events)
{
	cl_command_queue handle;
	cl_uint i;

	for (i = 0; i < n && events; i++) {
		if (status_of(events[i]) <= CL_COMPLETE)
			continue;
		handle = queue_of(events[i]);
		if (queue->in_order && handle == queue->object.handle)
			continue;
		if (!handle || may_hang(handle))
			return true;
	}
	return false;
}

bool gs_waits_implied(const struct gs_queue *queue, cl_uint n, const cl_event *events)
{
	const cl_command_queue handle = queue->in_order ? queue->object.handle : NULL;
	cl_int status;
	cl_uint i;

	for (i = 0; i < n && events; i++) {
		status = status_of(events[i]);
		/* A failed one fails what waits for it. */
		if (status < 0 ||
		    (status > CL_COMPLETE && (!handle || queue_of(events[i]) != handle)))
			return false;
	}
	return true;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL
create(cl_context context, cl_device_id id, cl_command_queue_properties properties, cl_int *err)
{
	cl_command_queue handle = gs_cl.clCreateCommandQueue(context, id, properties, err);

	queue_add(handle);
	return handle;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL
create_with_properties(cl_context context, cl_device_id id, const cl_queue_properties *properties,
		       cl_int *err)
{
	cl_command_queue handle = gs_cl.clCreateCommandQueueWithProperties(context, id, properties,
									   err);

	queue_add(handle);
	return handle;
}

static CL_API_ENTRY cl_int CL_API_CALL retain(cl_command_queue handle)
{
	cl_int rc = gs_cl.clRetainCommandQueue(handle);

	if (rc == CL_SUCCESS)
		gs_object_retained(GS_QUEUE, handle);
	return rc;
}

/* The driver flushes it with the last reference; a batch must not keep it from that. */
static CL_API_ENTRY cl_int CL_API_CALL release(cl_command_queue handle)
{
	struct gs_queue *queue = gs_object_find_get(GS_QUEUE, handle);

	if (queue) {
		pthread_mutex_lock(&queue->lock);
		gs_batch_close(queue);
		gs_object_released(GS_QUEUE, handle);
		pthread_mutex_unlock(&queue->lock);
		gs_object_put(&queue->object);
	}
	return gs_cl.clReleaseCommandQueue(handle);
}

static void *release_last(void *arg)
{
	struct gs_queue *queue = arg;

	gs_cl.clReleaseCommandQueue(queue->object.handle);
	gs_object_put(&queue->object);
	return NULL;
}

/* If the program has one too, who gives it up under this lock before the driver hears of it. */
static bool release_beside(struct gs_queue *queue)
{
	bool held;

	if (pthread_mutex_trylock(&queue->lock))
		return false;
	held = queue->object.held;
	if (held)
		gs_cl.clReleaseCommandQueue(queue->object.handle);
	pthread_mutex_unlock(&queue->lock);
	return held;
}

/*
 * The launcher waits for nobody here. A driver may end a queue on its last release, for as
 * long as the program's commands take; and a thread of the program may hold the lock while
 * the driver waits for launches in the queue that are still to come. Without a thread
 * for that the queue stays, and the part of a device that it is on.
 */
void gs_queue_put(struct gs_queue *queue, bool last_job)
{
	if (last_job && !release_beside(queue)) {
		gs_thread_start(release_last, queue);
		return;
	}
	if (!last_job)
		gs_cl.clReleaseCommandQueue(queue->object.handle);
	gs_object_put(&queue->object);
}

/*
 * So many are in the driver's queue by now. Whoever has the lock may be about to put one there
 * that is counted already, and what comes behind that must not be taken to come behind the
 * wait; so then it's none.
 */
static uint64_t commands_of(struct gs_queue *queue)
{
	uint64_t n;

	if (pthread_mutex_trylock(&queue->lock))
		return 0;
	n = queue->commands;
	pthread_mutex_unlock(&queue->lock);
	return n;
}

static CL_API_ENTRY cl_int CL_API_CALL finish(cl_command_queue handle)
{
	struct gs_queue *queue = gs_object_find_get(GS_QUEUE, handle);
	uint64_t commands = queue ? commands_of(queue) : 0;
	uint64_t begun_ns = gs_now();
	cl_int rc = gs_cl.clFinish(handle);

	if (queue) {
		if (rc == CL_SUCCESS && queue->device)
			gs_queue_drained(queue, commands, gs_now() - begun_ns);
		gs_object_put(&queue->object);
	}
	return rc;
}

/* If it is the batch's last command, all of it is over. The queue may be released meanwhile. */
static void waited_for(cl_event event, uint64_t waited_ns)
{
	struct gs_queue *queue = gs_object_find_get(GS_QUEUE, queue_of(event));

	if (!queue)
		return;
	pthread_mutex_lock(&queue->lock);
	if (queue->in_order && gs_batch_open(queue) && queue->batch->last == event)
		gs_queue_drained(queue, queue->batch->command, waited_ns);
	pthread_mutex_unlock(&queue->lock);
	gs_object_put(&queue->object);
}

static CL_API_ENTRY cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *events)
{
	uint64_t begun_ns = gs_now();
	cl_int rc = gs_cl.clWaitForEvents(n, events);

	/* Of many, the last: the launcher's look at the batches finds the others. */
	if (rc == CL_SUCCESS)
		waited_for(events[n - 1], n == 1 ? gs_now() - begun_ns : 0);
	return rc;
}

void gs_hook_queue(cl_icd_dispatch *table)
{
	GS_HOOK(table, clCreateCommandQueue, create);
	GS_HOOK(table, clCreateCommandQueueWithProperties, create_with_properties);
	GS_HOOK(table, clRetainCommandQueue, retain);
	GS_HOOK(table, clReleaseCommandQueue, release);
	GS_HOOK(table, clFinish, finish);
	GS_HOOK(table, clWaitForEvents, wait_for_events);
}
