// SPDX-License-Identifier: MIT
/*
 * A launch: which way it goes, and the direct way.
 *
 * Direct launches share brackets, and the driver is asked to tell the end of a
 * batch's last one only, or not at all if the program waits for it by itself.
 * So a program of short kernels pays for an estimate and a look at the grant. A
 * batch whose end nobody tells (the program has turned to something else) is
 * found by the launcher, which looks now and then while there is one.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

#define FEW_ITEMS	65536
#define BATCH_LAUNCHES	256
#define DIMS_MAX	8	/* that a device may say it has */
#define BATCH_OF_ROOM	8	/* a batch lasts for this part of what may be in flight, about */

/* What was asked for, as it was. */
struct request {
	struct gs_queue *queue;
	struct gs_kernel *kernel;
	bool task;
	cl_uint dims;
	const size_t *offset, *global, *local;
	cl_uint n_waits;
	const cl_event *waits;
	cl_event *event;
	const char *why;		/* it goes whole */
};

/* What a launch may be, by kernel and device. */
struct gs_limits {
	cl_device_id id;
	cl_context context;		/* the kernel's */
	bool usable;			/* the driver has answered all that we asked */
	cl_uint dims;
	size_t items[DIMS_MAX], group, reqd[3];
};

const char gs_short[] = "short enough";

static void learn(const struct gs_batch *batch, uint64_t ns)
{
	uint64_t ratio;
	uint32_t i;

	if (batch->kinds == 1) {
		gs_estimate_learn(batch->estimates[0], batch->groups, ns);
		return;
	}
	ratio = batch->estimate_ns ? (ns << 8) / batch->estimate_ns : 0;
	for (i = 0; i < batch->kinds && ratio; i++)
		gs_estimate_scale(batch->estimates[i], ratio);
}

/*
 * One that may have ended long ago shows nothing longer, unless somebody waited for it. What
 * really is, by more than the launcher waits before it looks, is still under way then, and not
 * late. Nor do waits for launches of several kernels show whose estimate is wrong.
 */
static uint64_t believed(const struct gs_batch *batch, uint64_t ns)
{
	uint64_t most = batch->estimate_ns;

	if (batch->waited_ns && batch->kinds == 1)
		most = gs_estimate_waited(batch->estimates[0],
					  ns < batch->waited_ns ? ns : batch->waited_ns, most);
	return ns < most ? ns : most;
}

/* Its bracket ends. */
static void batch_end(struct gs_batch *batch)
{
	struct gs_device *device = batch->device;
	uint64_t ns = gs_took(&device->budget, batch->begun_ns);

	if (batch->late)
		ns = believed(batch, ns);
	gs_ended(&device->budget, 1, batch->launches, batch->estimate_ns, batch->groups, ns);
	gs_ask_for_queued(&device->budget);
	learn(batch, ns);
	/* Jobs may wait for room: either this sees them, or they see that there is some. */
	if (!__atomic_load_n(&device->jobs, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_lock(&device->lock);
	gs_launcher_wake(device);
	pthread_mutex_unlock(&device->lock);
}

/*
 * The event goes at once: in PoCL it outlives neither its queue nor a sub-device, and
 * the program may release those when its work is over. The rest is for later.
 */
static void CL_CALLBACK batch_done(cl_event event, cl_int status, void *data)
{
	struct gs_batch *batch = data;
	struct gs_device *device = batch->device;

	(void)status;
	batch_end(batch);
	batch->last = NULL;
	gs_cl.clReleaseEvent(event);
	pthread_mutex_lock(&device->lock);
	batch->next = device->ended;
	__atomic_store_n(&device->ended, batch, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&device->lock);
}

/* Not inside a callback of the driver's. */
static void batch_empty(struct gs_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->kinds; i++)
		gs_object_put(&batch->kernels[i]->object);
	if (batch->last)
		gs_cl.clReleaseEvent(batch->last);
	batch->last = NULL;
	batch->launches = batch->kinds = 0;
	batch->estimate_ns = batch->groups = 0;
	batch->waited_ns = 0;
	batch->late = false;
}

static void batch_free(struct gs_batch *batch)
{
	batch_empty(batch);
	free(batch);
}

void gs_batches_reap(struct gs_device *device)
{
	struct gs_batch *batch, *next;

	if (!__atomic_load_n(&device->ended, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&device->lock);
	batch = device->ended;
	__atomic_store_n(&device->ended, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&device->lock);
	for (; batch; batch = next) {
		next = batch->next;
		batch_free(batch);
	}
}

/* It isn't open any more. */
static void batch_shut(struct gs_batch *batch)
{
	__atomic_store_n(&batch->open, false, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&batch->device->open, 1, __ATOMIC_RELAXED);
}

static struct gs_batch *batch_detach(struct gs_queue *queue)
{
	struct gs_batch *batch = queue->batch;

	queue->batch = NULL;
	pthread_mutex_lock(&batch->device->lock);
	if (batch->prev)
		batch->prev->next = batch->next;
	else
		batch->device->batches = batch->next;
	if (batch->next)
		batch->next->prev = batch->prev;
	pthread_mutex_unlock(&batch->device->lock);
	batch->prev = batch->next = NULL;
	return batch;
}

/* It stays, for the launches to come. */
void gs_batch_over(struct gs_queue *queue, uint64_t waited_ns)
{
	struct gs_batch *batch = queue->batch;

	batch_shut(batch);
	batch->late = true;
	batch->waited_ns = batch->alone ? waited_ns : 0;
	batch_end(batch);
	batch_empty(batch);
}

void gs_batch_forget(struct gs_queue *queue)
{
	if (queue->batch)
		batch_free(batch_detach(queue));
}

void gs_batch_close(struct gs_queue *queue)
{
	struct gs_batch *batch = gs_batch_open(queue);
	cl_int status;

	if (!batch)
		return;
	batch_shut(batch);
	batch_detach(queue);
	batch->late = gs_cl.clGetEventInfo(batch->last, CL_EVENT_COMMAND_EXECUTION_STATUS,
					   sizeof(status), &status, NULL) != CL_SUCCESS ||
		      status == CL_COMPLETE;
	/* Without a callback its end can't be known: better too early than never. */
	if (gs_cl.clSetEventCallback(batch->last, CL_COMPLETE, batch_done, batch) != CL_SUCCESS) {
		batch_end(batch);
		batch_free(batch);
	}
	/* A driver may keep it until then, and the program need not flush: it would never end. */
	gs_cl.clFlush(queue->object.handle);
}

static struct gs_batch *batch_new(struct gs_queue *queue)
{
	struct gs_device *device = queue->device;
	struct gs_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->device = device;
	batch->queue = queue;
	queue->batch = batch;
	pthread_mutex_lock(&device->lock);
	batch->next = device->batches;
	if (batch->next)
		batch->next->prev = batch;
	device->batches = batch;
	pthread_mutex_unlock(&device->lock);
	return batch;
}

/* One that takes launches, with its bracket; NULL: no memory. */
static struct gs_batch *batch_begin(struct gs_queue *queue)
{
	struct gs_batch *batch = queue->batch ? queue->batch : batch_new(queue);

	if (!batch || batch->open)
		return batch;
	__atomic_store_n(&batch->begun_ns, gs_now(), __ATOMIC_RELAXED);
	__atomic_store_n(&batch->open, true, __ATOMIC_RELAXED);
	__atomic_add_fetch(&queue->device->begun, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&queue->device->open, 1, __ATOMIC_SEQ_CST);
	return batch;
}

static void batch_add(struct gs_batch *batch, const struct request *r, struct gs_estimate *estimate,
		      uint64_t groups, uint64_t ns, cl_event event)
{
	uint64_t before = batch->launches ? batch->command : r->queue->drained;
	uint32_t i;

	if (batch->last)
		gs_cl.clReleaseEvent(batch->last);
	batch->last = event;
	batch->command = ++r->queue->commands;
	batch->alone = (batch->alone || !batch->launches) && !r->n_waits &&
		batch->command == before + 1;
	batch->launches++;
	batch->estimate_ns += ns;
	batch->groups += groups;
	for (i = 0; i < batch->kinds; i++)
		if (batch->estimates[i] == estimate)
			return;
	gs_object_get(&r->kernel->object);
	batch->kernels[batch->kinds] = r->kernel;
	batch->estimates[batch->kinds++] = estimate;
}

/* The driver's own launch, with the arguments that the program set last. */
static cl_int native(const struct request *r, cl_event *event)
{
	cl_kernel kernel = r->kernel->object.handle;
	cl_command_queue queue = r->queue->object.handle;
	cl_int rc;

	pthread_mutex_lock(&r->kernel->lock);
	rc = gs_kernel_set(r->kernel, NULL);
	if (rc == CL_SUCCESS)
		rc = r->task ? gs_cl.clEnqueueTask(queue, kernel, r->n_waits, r->waits, event) :
			gs_cl.clEnqueueNDRangeKernel(queue, kernel, r->dims, r->offset, r->global,
						     r->local, r->n_waits, r->waits, event);
	if (rc == CL_SUCCESS)
		gs_kernel_gone(r->kernel, "whole", r->why);
	pthread_mutex_unlock(&r->kernel->lock);
	return rc;
}

/* Past the gate: what can't wait for the grant without the program's noticing. */
static cl_int unscheduled(struct request *r)
{
	struct gs_command c;
	cl_event *event;
	cl_int rc;

	r->why = "past the gate";
	/* What it waits for holds up those behind it as well. */
	event = gs_command_begin(&c, r->queue->object.handle, false, false, r->n_waits, r->waits,
				 r->event);
	rc = gs_command_end(&c, native(r, event));
	if (rc == CL_SUCCESS)
		gs_went_past(&r->queue->device->budget, 1);
	return rc;
}

static void fetch_limits(struct gs_limits *limits, const struct request *r)
{
	cl_kernel kernel = r->kernel->object.handle;
	cl_device_id id = r->queue->id;

	limits->id = id;
	limits->dims = 0;
	gs_cl.clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, sizeof(limits->dims),
			      &limits->dims, NULL);
	limits->usable = limits->dims >= 3 && limits->dims <= DIMS_MAX &&
		gs_cl.clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(limits->items),
				      limits->items, NULL) == CL_SUCCESS &&
		gs_cl.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE,
					       sizeof(limits->group), &limits->group, NULL) ==
			CL_SUCCESS &&
		gs_cl.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
					       sizeof(limits->reqd), limits->reqd, NULL) ==
			CL_SUCCESS &&
		gs_cl.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(limits->context),
				      &limits->context, NULL) == CL_SUCCESS;
}

/* The kernel's lock is held. */
static const struct gs_limits *limits_of(const struct request *r)
{
	struct gs_limits *limits = r->kernel->limits;

	if (!limits)
		limits = r->kernel->limits = calloc(1, sizeof(*limits));
	if (limits && limits->id != r->queue->id)
		fetch_limits(limits, r);
	return limits && limits->usable && limits->context == r->queue->context ? limits : NULL;
}

static bool local_is_right(const struct gs_launch *l, const struct gs_limits *limits)
{
	size_t all = 1;
	cl_uint i;

	if (!l->has_local)
		return !limits->reqd[0];
	for (i = 0; i < l->dims; i++) {
		if (!l->local[i] || l->local[i] > limits->items[i] || l->global[i] % l->local[i])
			return false;
		all *= l->local[i];
		if (all > limits->group)
			return false;
	}
	for (i = 0; i < 3 && limits->reqd[0]; i++)
		if (l->local[i] != limits->reqd[i])
			return false;
	return true;
}

/*
 * Fills in the shape; false if the driver might refuse the launch, which must
 * then hear of it now: an error can't be told later.
 */
static bool shape(struct gs_launch *l, const struct request *r, const struct gs_limits *limits)
{
	cl_uint i;

	l->total = 1;
	for (i = 0; i < 3; i++)
		l->global[i] = l->local[i] = l->groups[i] = 1;
	l->task = r->task;
	l->type = r->task ? CL_COMMAND_TASK : CL_COMMAND_NDRANGE_KERNEL;
	l->dims = r->task ? 1 : r->dims;
	l->has_local = r->local;
	l->has_offset = r->offset;
	if (r->task)
		return !limits->reqd[0] || limits->reqd[0] * limits->reqd[1] * limits->reqd[2] == 1;
	if (!r->dims || r->dims > 3 || !r->global)
		return false;
	for (i = 0; i < r->dims; i++) {
		l->global[i] = r->global[i];
		l->offset[i] = r->offset ? r->offset[i] : 0;
		l->local[i] = r->local ? r->local[i] : 1;
		if (!l->global[i] || l->global[i] + l->offset[i] < l->global[i])
			return false;
	}
	if (!local_is_right(l, limits))
		return false;
	for (i = 0; i < l->dims; i++) {
		l->groups[i] = l->global[i] / l->local[i];
		if (__builtin_mul_overflow(l->total, l->groups[i], &l->total))
			return false;
	}
	return true;
}

static bool waits_are_right(const struct request *r)
{
	cl_context context;
	cl_uint i;

	if (!r->n_waits != !r->waits)
		return false;
	for (i = 0; i < r->n_waits; i++)
		if (!r->waits[i] || gs_cl.clGetEventInfo(r->waits[i], CL_EVENT_CONTEXT,
							 sizeof(context), &context, NULL) !=
		    CL_SUCCESS || context != r->queue->context)
			return false;
	return true;
}

void gs_launch_free(struct gs_launch *launch)
{
	cl_kernel handle;

	gs_args_put(launch->args);
	if (launch->event)
		gs_object_put(&launch->event->object);
	gs_todo_free(launch->todo);
	handle = launch->kernel->object.handle;
	gs_object_put(&launch->kernel->object);
	gs_cl.clReleaseKernel(handle);
	free(launch);
}

/* NULL: it can't be deferred. */
static struct gs_launch *launch_new(const struct request *r)
{
	struct gs_launch *launch = calloc(1, sizeof(*launch));
	const struct gs_limits *limits;

	if (!launch || !waits_are_right(r))
		goto no;
	pthread_mutex_lock(&r->kernel->lock);
	limits = limits_of(r);
	if (limits && shape(launch, r, limits))
		launch->args = gs_args_take(r->kernel);
	pthread_mutex_unlock(&r->kernel->lock);
	if (!launch->args)
		goto no;
	gs_cl.clRetainKernel(r->kernel->object.handle);
	gs_object_get(&r->kernel->object);
	launch->kernel = r->kernel;
	launch->estimate = gs_estimate_of(r->kernel, launch->total, launch->local);
	return launch;
no:
	free(launch);
	return NULL;
}

static cl_int defer(struct request *r)
{
	struct gs_launch *launch = launch_new(r);
	cl_int rc;

	if (!launch)
		return unscheduled(r);
	gs_batch_close(r->queue);
	rc = gs_defer(r->queue, launch, r->n_waits, r->waits, r->event);
	if (rc != CL_SUCCESS)
		gs_launch_free(launch);
	return rc;
}

/* The number of groups, as far as an estimate must know it, and the local size. */
static uint64_t groups_of(const struct request *r, size_t local[3])
{
	uint64_t n = 1;
	cl_uint i;

	local[0] = local[1] = local[2] = 1;
	if (r->task || !r->global || r->dims > 3)
		return 1;
	for (i = 0; i < r->dims; i++) {
		local[i] = r->local && r->local[i] ? r->local[i] : 1;
		n *= r->global[i] / local[i];
	}
	return n ? n : 1;
}

/* Whether it may go straight into the queue now; if so, its bracket has begun. */
static bool may_go(const struct request *r, struct gs_estimate *estimate, uint64_t ns)
{
	struct gs_queue *queue = r->queue;
	struct gs_batch *batch = gs_batch_open(queue);
	cl_int status;

	if ((queue->in_order && __atomic_load_n(&queue->jobs, __ATOMIC_RELAXED)) ||
	    gs_queue_in_doubt(queue) || gs_waits_open(queue, r->n_waits, r->waits))
		return false;
	/* One that isn't known is measured alone. One that is over would be measured with gaps. */
	if (batch && (!gs_estimate_is_known(estimate) || batch->kinds == GS_BATCH_KINDS ||
		      !gpushare_may_run(queue->device->budget.share))) {
		gs_batch_close(queue);
	} else if (batch && gs_now() - batch->begun_ns > batch->estimate_ns &&
		   gs_cl.clGetEventInfo(batch->last, CL_EVENT_COMMAND_EXECUTION_STATUS,
					sizeof(status), &status, NULL) == CL_SUCCESS &&
		   status <= CL_COMPLETE) {
		gs_queue_drained(queue, batch->command, 0);
	}
	if (__atomic_load_n(&queue->device->no_room, __ATOMIC_RELAXED) ||
	    !gs_has_room(&queue->device->budget, ns))
		return false;
	return gs_batch_open(queue) || !gpushare_begin(queue->device->budget.share, 0);
}

/* Admitted and begun, in a new bracket or that of the queue's batch. */
static cl_int go(const struct request *r, struct gs_estimate *estimate, uint64_t groups,
		 uint64_t ns)
{
	struct gs_queue *queue = r->queue;
	struct gs_batch *batch = batch_begin(queue);
	cl_event own = NULL, *event = r->event ? r->event : &own;
	cl_int rc;

	gs_enter(&queue->device->budget, 1, ns);
	rc = batch ? native(r, event) : CL_OUT_OF_HOST_MEMORY;
	if (rc != CL_SUCCESS) {
		gs_leave(&queue->device->budget, 1, ns);
		if (batch && !batch->launches)
			batch_shut(batch);
		if (!gs_batch_open(queue))
			gpushare_end(queue->device->budget.share);
		return rc;
	}
	if (r->event)
		gs_cl.clRetainEvent(*event);
	batch_add(batch, r, estimate, groups, ns, *event);
	/* Out of order, the end of the last one says nothing of the others. */
	if (!queue->in_order || !gs_estimate_is_known(estimate) ||
	    batch->launches == BATCH_LAUNCHES ||
	    __atomic_load_n(&queue->device->jobs, __ATOMIC_SEQ_CST) ||
	    batch->estimate_ns >= gs_room(&queue->device->budget) / BATCH_OF_ROOM)
		gs_batch_close(queue);
	else if (batch->launches == 1)
		gs_launcher_watch(queue->device);
	return rc;
}

/*
 * Too long to go in one piece, or perhaps so? What isn't known yet and has few
 * items is taken to be short while nobody waits: to cut it costs more.
 */
static bool should_cut(struct request *r, const struct gs_estimate *estimate, uint64_t groups,
		       const size_t local[3], uint64_t ns)
{
	struct gs_budget *budget = &r->queue->device->budget;

	r->why = gs_options.cut == GS_CUT_OFF ? "nothing is to be cut" :
		gs_cut_refusal(r->kernel, groups);
	if (r->why)
		return false;
	r->why = gs_short;
	if (gs_estimate_is_known(estimate))
		return ns > gs_least_room(budget) && ns > gs_room(budget);
	r->why = "few items, and nobody waits";
	return !gs_grant_page(budget) || gs_is_awaited(budget) ||
		groups * local[0] * local[1] * local[2] > FEW_ITEMS;
}

/* For a driver that runs it in this thread. What somebody must let go first isn't held. */
static cl_int run_at_once(struct request *r)
{
	struct gpushare *share = r->queue->device->budget.share;
	cl_int rc;

	if (gs_queue_in_doubt(r->queue) || gs_waits_open(r->queue, r->n_waits, r->waits))
		return unscheduled(r);
	r->why = "the driver runs it inside the call";
	gpushare_begin(share, GPUSHARE_FOREVER);
	rc = native(r, r->event);
	if (rc == CL_SUCCESS)
		gs_cl.clFinish(r->queue->object.handle);
	gpushare_end(share);
	return rc;
}

static cl_int schedule(struct request *r)
{
	struct gs_queue *queue = r->queue;
	struct gs_estimate *estimate;
	uint64_t groups, ns;
	size_t local[3];

	if (queue->at_once)
		return run_at_once(r);
	if (gs_options.cut == GS_CUT_AUTO || gs_options.cut == GS_CUT_OFF) {
		if (!gs_is_gated(&queue->device->budget))
			return unscheduled(r);
		groups = groups_of(r, local);
		estimate = gs_estimate_of(r->kernel, groups, local);
		ns = gs_estimate_ns(estimate, groups);
		if (ns == GS_NO_TIME)
			ns = gs_unknown_ns(&queue->device->budget);
		if (estimate && !should_cut(r, estimate, groups, local, ns) &&
		    may_go(r, estimate, ns)) {
			gs_queue_close(queue);
			return go(r, estimate, groups, ns);
		}
	}
	return defer(r);
}

static cl_int enqueue(struct request *r, cl_command_queue queue, cl_kernel kernel)
{
	cl_int rc;

	r->queue = gs_queue_find(queue);
	r->kernel = gs_object_find(GS_KERNEL, kernel);
	if (!r->queue || !r->kernel)
		return r->task ?
			gs_cl.clEnqueueTask(queue, kernel, r->n_waits, r->waits, r->event) :
			gs_cl.clEnqueueNDRangeKernel(queue, kernel, r->dims, r->offset, r->global,
						     r->local, r->n_waits, r->waits, r->event);
	gs_batches_reap(r->queue->device);
	pthread_mutex_lock(&r->queue->lock);
	rc = schedule(r);
	pthread_mutex_unlock(&r->queue->lock);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL
enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
	       const size_t *global, const size_t *local, cl_uint n_waits, const cl_event *waits,
	       cl_event *event)
{
	struct request r = {
		.dims = dims, .offset = offset, .global = global, .local = local,
		.n_waits = n_waits, .waits = waits, .event = event,
	};

	gs_main_thread();
	return enqueue(&r, queue, kernel);
}

static CL_API_ENTRY cl_int CL_API_CALL
enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint n_waits, const cl_event *waits,
	     cl_event *event)
{
	struct request r = { .task = true, .n_waits = n_waits, .waits = waits, .event = event };

	return enqueue(&r, queue, kernel);
}

void gs_hook_launch(cl_icd_dispatch *table)
{
	GS_HOOK(table, clEnqueueNDRangeKernel, enqueue_kernel);
	GS_HOOK(table, clEnqueueTask, enqueue_task);
}
