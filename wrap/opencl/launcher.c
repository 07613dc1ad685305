// SPDX-License-Identifier: MIT
/*
 * The launcher: a thread a device, which launches what was deferred.
 *
 * A job is what one user event stands for: a launch, or several in a row that
 * the program wants no events of. It is ready when its marker is over. Of the
 * ready jobs, that whose queue was served longest ago has the next piece. A
 * piece is bracketed: the grant is waited for here, in gpushare_begin(), which
 * also gives it back when it is asked for and all that is in flight has ended.
 *
 * The driver tells a piece's end to a callback, in a thread of its own; there
 * the bracket ends, and all else is left to the launcher, since a callback may
 * hardly call the driver.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shadow.h"

#define LOOK_NS		1000000		/* batches are looked at no oftener, while there are any */
#define DRAIN_NS	10000000	/* what is in flight may be taken for over in a while */
#define PIECES_MAX	8		/* in flight */
#define PIECE_LAUNCHES	64		/* short launches that share a bracket */
#define PIECE_OF_ROOM	4		/* which then last for this part of what may be in flight */

struct gs_piece {
	struct gs_piece *next;		/* device->landed, its lock */
	struct gs_job *job;
	struct gs_launch *launch[PIECE_LAUNCHES];	/* the last may be a part of one */
	uint32_t n;
	uint64_t groups;		/* of all of them */
	uint64_t begun_ns, estimate_ns, ns;
	bool workers;
	cl_event event;			/* of the last */
	cl_event told;			/* workers': what they did can be read */
	cl_int status;
	cl_ulong start, end;
};

static void *launcher(void *arg);

/* The device's lock is held. */
static bool start(struct gs_device *device)
{
	if (!device->launcher && gs_thread_start(launcher, device))
		__atomic_store_n(&device->launcher, true, __ATOMIC_RELAXED);
	return device->launcher;
}

static bool ensure_launcher(struct gs_device *device)
{
	bool there;

	pthread_mutex_lock(&device->lock);
	there = start(device);
	pthread_mutex_unlock(&device->lock);
	return there;
}

void gs_launcher_wake(struct gs_device *device)
{
	__atomic_store_n(&device->asleep, false, __ATOMIC_RELAXED);
	pthread_cond_signal(&device->changed);
}

void gs_launcher_watch(struct gs_device *device)
{
	if (__atomic_load_n(&device->launcher, __ATOMIC_RELAXED) &&
	    !__atomic_load_n(&device->asleep, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_lock(&device->lock);
	if (start(device) && device->asleep)
		gs_launcher_wake(device);
	pthread_mutex_unlock(&device->lock);
}

static void event_is(struct gs_launch *launch, cl_int status)
{
	if (launch->event)
		__atomic_store_n(&launch->event->status, status, __ATOMIC_RELEASE);
}

/* The device's lock is held here and in what follows. */
static void job_list(struct gs_job *job)
{
	struct gs_queue *queue = job->queue;
	struct gs_device *device = queue->device;

	job->listed = true;
	job->next = NULL;
	if (queue->first) {
		queue->last->next = job;
	} else {
		queue->first = job;
		queue->prev = NULL;
		queue->next = device->queues;
		if (queue->next)
			queue->next->prev = queue;
		device->queues = queue;
	}
	queue->last = job;
}

/* The queue's first job has no launch any more. */
static void job_unlist(struct gs_job *job)
{
	struct gs_queue *queue = job->queue;

	job->listed = false;
	queue->first = job->next;
	if (queue->first)
		return;
	if (queue->prev)
		queue->prev->next = queue->next;
	else
		queue->device->queues = queue->next;
	if (queue->next)
		queue->next->prev = queue->prev;
}

static void launch_append(struct gs_job *job, struct gs_launch *launch)
{
	if (job->last)
		job->last->next = launch;
	else
		job->first = launch;
	job->last = launch;
}

static void CL_CALLBACK marker_done(cl_event event, cl_int status, void *data)
{
	struct gs_job *job = data;
	struct gs_device *device = job->queue->device;

	(void)event;
	pthread_mutex_lock(&device->lock);
	if (status < 0)
		job->status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	job->ready = true;
	if (!job->listed)
		job_list(job);
	gs_launcher_wake(device);
	pthread_mutex_unlock(&device->lock);
}

/* Others' pieces may have ended meanwhile: these took all of the time. */
static void workers_done(struct gs_piece *piece)
{
	int64_t groups = piece->status < 0 ? 0 :
		gs_workers_ended(piece->launch[0], piece->job->queue);

	piece->ns = gs_now() - piece->begun_ns;
	if (groups < 0)
		piece->status = CL_OUT_OF_RESOURCES;
	else
		piece->groups = (uint64_t)groups;
}

static void CL_CALLBACK piece_done(cl_event event, cl_int status, void *data)
{
	struct gs_piece *piece = data;
	struct gs_queue *queue = piece->job->queue;
	struct gs_device *device = queue->device;
	uint64_t ns;

	(void)event;
	if (queue->profiling) {
		gs_cl.clGetEventProfilingInfo(piece->event, CL_PROFILING_COMMAND_START,
					      sizeof(piece->start), &piece->start, NULL);
		gs_cl.clGetEventProfilingInfo(piece->event, CL_PROFILING_COMMAND_END,
					      sizeof(piece->end), &piece->end, NULL);
	}
	piece->status = status < 0 ? status : CL_COMPLETE;
	piece->ns = gs_took(&device->budget, piece->begun_ns);
	if (piece->workers)
		workers_done(piece);
	ns = piece->ns;
	gs_ended(&device->budget, 1, piece->n, piece->estimate_ns, piece->groups, ns);
	gs_ask_for_queued(&device->budget);
	if (piece->n == 1)
		gs_estimate_learn(piece->launch[0]->estimate, piece->groups, ns);
	else if (piece->estimate_ns)
		gs_estimate_scale(piece->launch[0]->estimate, (ns << 8) / piece->estimate_ns);
	gs_cl.clReleaseEvent(piece->event);
	if (piece->told)
		gs_cl.clReleaseEvent(piece->told);
	pthread_mutex_lock(&device->lock);
	device->pieces--;
	queue->pieces--;
	piece->next = device->landed;
	device->landed = piece;
	gs_launcher_wake(device);
	pthread_mutex_unlock(&device->lock);
}

/* Joins the job before it, if nothing stands between them. */
static bool join(struct gs_queue *queue, struct gs_launch *launch)
{
	struct gs_device *device = queue->device;
	bool joined = false;

	pthread_mutex_lock(&device->lock);
	if (queue->open) {
		launch_append(queue->open, launch);
		if (!queue->open->listed)
			job_list(queue->open);
		gs_launcher_wake(device);
		joined = true;
	}
	pthread_mutex_unlock(&device->lock);
	return joined;
}

/*
 * A marker behind all that the launch must wait for; none if that is over, or if
 * a job before it in the queue sees to it. Out of order, a barrier that the
 * program put before it must be waited for by name.
 */
static cl_int mark(struct gs_queue *queue, struct gs_job *job, cl_uint n, const cl_event *waits)
{
	bool implied = gs_waits_implied(queue, n, waits);
	cl_event *more = NULL;
	cl_int rc;

	if (queue->in_order) {
		if (implied && !__atomic_load_n(&gs_foreign_commands, __ATOMIC_RELAXED) &&
		    (queue->behind_job || queue->drained == queue->commands))
			return CL_SUCCESS;
	} else if (gs_queue_in_doubt(queue)) {
		more = malloc((n + (size_t)1) * sizeof(*more));
		if (!more)
			return CL_OUT_OF_HOST_MEMORY;
		if (n)
			memcpy(more, waits, n * sizeof(*more));
		more[n++] = queue->doubt;
		waits = more;
	} else if (implied) {
		return CL_SUCCESS;
	}
	rc = gs_cl.clEnqueueMarkerWithWaitList(queue->object.handle, n, n ? waits : NULL,
					       &job->marker);
	free(more);
	return rc;
}

/* What stands for the launch in the program's queue, and for it to wait on. */
static cl_int stand_in(struct gs_queue *queue, struct gs_job *job, struct gs_launch *launch,
		       cl_event *event)
{
	cl_int rc;

	job->user = gs_cl.clCreateUserEvent(queue->context, &rc);
	if (!job->user)
		return rc;
	if (queue->in_order)
		rc = gs_cl.clEnqueueBarrierWithWaitList(queue->object.handle, 1, &job->user, event);
	else
		rc = gs_cl.clEnqueueMarkerWithWaitList(queue->object.handle, 1, &job->user, event);
	if (rc != CL_SUCCESS || !event)
		return rc;
	launch->event = gs_event_add(*event, launch->type);
	if (launch->event)
		gs_object_get(&launch->event->object);
	return rc;
}

cl_int gs_defer(struct gs_queue *queue, struct gs_launch *launch, cl_uint n_waits,
		const cl_event *waits, cl_event *event)
{
	struct gs_device *device = queue->device;
	struct gs_job *job;
	cl_event marker;
	cl_int rc;

	if (!event && queue->in_order && queue->behind_job &&
	    gs_waits_implied(queue, n_waits, waits) && join(queue, launch))
		return CL_SUCCESS;
	if (!ensure_launcher(device))
		return CL_OUT_OF_RESOURCES;
	job = calloc(1, sizeof(*job));
	if (!job)
		return CL_OUT_OF_HOST_MEMORY;
	job->queue = queue;
	rc = mark(queue, job, n_waits, waits);
	if (rc == CL_SUCCESS)
		rc = stand_in(queue, job, launch, event);
	if (rc != CL_SUCCESS) {
		/* Whatever waits for it must not wait for ever. */
		if (job->user)
			gs_cl.clSetUserEventStatus(job->user, rc);
		goto failed;
	}
	gs_object_get(&queue->object);
	gs_cl.clRetainCommandQueue(queue->object.handle);
	queue->commands++;
	queue->behind_job = true;
	launch_append(job, launch);
	marker = job->marker;
	pthread_mutex_lock(&device->lock);
	job->ready = !marker;
	__atomic_add_fetch(&device->jobs, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&queue->jobs, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&queue->open, queue->in_order && !event ? job : NULL, __ATOMIC_RELAXED);
	if (queue->in_order || job->ready)
		job_list(job);
	gs_launcher_wake(device);
	pthread_mutex_unlock(&device->lock);
	/* A job that needn't wait may be over, and gone, by now. */
	if (marker) {
		/* Nobody would tell when its turn comes: it fails, as others' callbacks would. */
		rc = gs_cl.clSetEventCallback(marker, CL_COMPLETE, marker_done, job);
		if (rc != CL_SUCCESS)
			marker_done(marker, rc, job);
		gs_cl.clFlush(queue->object.handle);
	}
	return CL_SUCCESS;
failed:
	if (job->user)
		gs_cl.clReleaseEvent(job->user);
	if (job->marker)
		gs_cl.clReleaseEvent(job->marker);
	free(job);
	return rc;
}

/* The job's first launch was launched in whole, or won't be: on to the next. */
static void advance(struct gs_device *device, struct gs_job *job)
{
	struct gs_launch *launch = job->first;

	pthread_mutex_lock(&device->lock);
	job->first = launch->next;
	if (!job->first) {
		job->last = NULL;
		job_unlist(job);
	}
	pthread_mutex_unlock(&device->lock);
	launch->next = NULL;
}

/* If nothing of it is left: the program may go on. */
static void end_if_over(struct gs_job *job)
{
	struct gs_queue *queue = job->queue;
	bool over, last = false;

	pthread_mutex_lock(&queue->device->lock);
	over = !job->first && !job->pieces;
	if (over) {
		if (queue->open == job)
			__atomic_store_n(&queue->open, NULL, __ATOMIC_RELAXED);
		last = !__atomic_sub_fetch(&queue->jobs, 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&queue->device->jobs, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&queue->device->lock);
	if (!over)
		return;
	gs_cl.clSetUserEventStatus(job->user, job->status);
	gs_cl.clReleaseEvent(job->user);
	if (job->marker)
		gs_cl.clReleaseEvent(job->marker);
	gs_queue_put(queue, last);
	free(job);
}

/* A launch has failed, so its job has; what is left of it is for fail_first(). */
static void launch_failed(struct gs_launch *launch, struct gs_job *job, cl_int status)
{
	if (job->status == CL_COMPLETE)
		job->status = status;
	launch->failed = true;
	event_is(launch, status);
}

/* As its groups are counted where the local size was left open. */
static uint64_t items(const struct gs_launch *launch)
{
	return launch->global[0] * launch->global[1] * launch->global[2];
}

static void learn_way(struct gs_launch *launch)
{
	if (launch->way == GS_WHOLE || !launch->estimate || launch->failed)
		return;
	pthread_mutex_lock(&launch->kernel->lock);
	gs_ways_learn(&launch->estimate->ways, launch->way, launch->total, launch->ns);
	pthread_mutex_unlock(&launch->kernel->lock);
}

static void piece_landed(struct gs_piece *piece)
{
	struct gs_job *job = piece->job;
	struct gs_launch *launch;
	uint32_t i;

	for (i = 0; i < piece->n; i++) {
		launch = piece->launch[i];
		launch->pieces--;
		if (piece->status < 0)
			launch_failed(launch, job, piece->status);
		launch->ns += piece->ns / piece->n;
		if (piece->workers && piece->status == CL_COMPLETE)
			launch->done += piece->groups;
		if (launch->event && piece->start) {
			if (!launch->event->start || piece->start < launch->event->start)
				launch->event->start = piece->start;
			if (piece->end > launch->event->end)
				launch->event->end = piece->end;
		}
	}
	/* Only now is it known what is left. */
	if (piece->workers)
		job->queue->at_work = false;
	if (piece->workers && piece->launch[0]->done == piece->launch[0]->total)
		advance(job->queue->device, job);
	pthread_mutex_lock(&job->queue->device->lock);
	job->pieces--;
	pthread_mutex_unlock(&job->queue->device->lock);
	/* Those before the last were launched in whole. */
	for (i = 0; i < piece->n; i++) {
		launch = piece->launch[i];
		if (launch->done != launch->total || launch->pieces)
			continue;
		learn_way(launch);
		if (launch->way != GS_WHOLE && !launch->failed)
			gs_cut_keep(launch->kernel->cut,
				    launch->way == GS_WORKERS ? GSX_WORKERS : GSX_SLICE);
		if (launch->uncut)
			gs_estimate_learn(launch->uncut, items(launch), launch->ns);
		gs_launch_free(launch);
	}
	free(piece);
	end_if_over(job);
}

static void clean_up(struct gs_device *device)
{
	struct gs_piece *piece, *next;

	pthread_mutex_lock(&device->lock);
	piece = device->landed;
	device->landed = NULL;
	pthread_mutex_unlock(&device->lock);
	for (; piece; piece = next) {
		next = piece->next;
		piece_landed(piece);
	}
	gs_batches_reap(device);
}

/* Workers are alone: what is left of their launch comes before what follows it. */
static bool may_start(const struct gs_queue *queue)
{
	const struct gs_launch *launch = queue->first->first;

	return queue->first->ready && !queue->first->built_for && !queue->at_work &&
		!(queue->pieces && launch->way == GS_WORKERS);
}

static struct gs_job *choose(struct gs_device *device)
{
	struct gs_queue *queue, *best = NULL;

	for (queue = device->queues; queue; queue = queue->next)
		if (may_start(queue) && (!best || queue->turn < best->turn))
			best = queue;
	return best ? best->first : NULL;
}

static uint64_t groups_next(const struct gs_launch *launch, uint64_t room)
{
	uint64_t left = launch->total - launch->done;
	struct gs_box box;

	if (launch->way == GS_WHOLE)
		return left;
	gs_box_at(launch->groups, launch->done, gs_piece_groups(launch, room), &box);
	return box.total;
}

/* What the job's next piece will take. Workers stop in time, and leave room for others. */
static uint64_t next_ns(const struct gs_job *job, uint64_t room)
{
	uint64_t ns;

	if (job->first->way == GS_WORKERS)
		return room / 2;
	ns = gs_estimate_ns(job->first->estimate, groups_next(job->first, room));

	return ns == GS_NO_TIME ? room / 2 : ns;
}

static bool has_room(struct gs_device *device, const struct gs_job *job, bool asked_back)
{
	if (job->status < 0)
		return true;
	if (asked_back && job->first->planned &&
	    __atomic_load_n(&device->budget.in_flight, __ATOMIC_SEQ_CST))
		return false;
	return device->pieces < PIECES_MAX &&
		gs_has_room(&device->budget, next_ns(job, gs_room(&device->budget)));
}

/* As the program asked for it. */
static cl_int native(const struct gs_launch *launch, cl_command_queue queue, cl_event *event)
{
	cl_kernel handle = launch->kernel->object.handle;

	if (launch->task)
		return gs_cl.clEnqueueTask(queue, handle, 0, NULL, event);
	return gs_cl.clEnqueueNDRangeKernel(queue, handle, launch->dims,
					    launch->has_offset ? launch->offset : NULL,
					    launch->global,
					    launch->has_local ? launch->local : NULL, 0, NULL,
					    event);
}

/* All of what is left; how much of it is done shows when they have left. */
static cl_int enqueue_workers(struct gs_piece *piece, struct gs_launch *launch)
{
	cl_int rc = gs_workers_enqueue(launch, piece->job->queue, &piece->event, &piece->told);

	if (rc != CL_SUCCESS)
		return rc;
	piece->workers = true;
	piece->launch[piece->n++] = launch;
	launch->pieces++;
	event_is(launch, CL_RUNNING);
	return rc;
}

/* Enqueues what @piece has as its last launch, up to @groups groups of it. */
static cl_int enqueue(struct gs_piece *piece, struct gs_launch *launch, uint64_t groups)
{
	struct gs_box box;
	cl_command_queue queue = gs_queue_private(piece->job->queue);
	struct gs_kernel *kernel = launch->kernel;
	cl_event event = NULL;
	cl_int rc = CL_SUCCESS;

	if (!queue)
		return CL_OUT_OF_RESOURCES;
	if (launch->way == GS_WORKERS)
		rc = enqueue_workers(piece, launch);
	if (launch->way == GS_SLICES) {
		gs_box_at(launch->groups, launch->done, groups, &box);
		rc = gs_cut_enqueue(launch, queue, &box, &event);
	}
	/* Nothing of it has run: then the original can, whole. */
	if (rc != CL_SUCCESS && !launch->done) {
		launch->way = GS_WHOLE;
		groups = launch->total;
	}
	if (launch->way == GS_WHOLE) {
		pthread_mutex_lock(&kernel->lock);
		rc = gs_kernel_set(kernel, launch->args);
		if (rc == CL_SUCCESS)
			rc = native(launch, queue, &event);
		pthread_mutex_unlock(&kernel->lock);
	}
	if (rc != CL_SUCCESS || piece->workers)
		return rc;
	if (piece->event)
		gs_cl.clReleaseEvent(piece->event);
	piece->event = event;
	piece->launch[piece->n++] = launch;
	piece->groups += groups;
	launch->pieces++;
	launch->done += groups;
	event_is(launch, CL_RUNNING);
	return rc;
}

/* Launches that didn't make it: the first one fails, others that wait for it too. */
static void fail_first(struct gs_device *device, struct gs_job *job, cl_int status)
{
	struct gs_launch *launch = job->first;

	launch_failed(launch, job, status);
	launch->done = launch->total;
	advance(device, job);
	if (!launch->pieces)
		gs_launch_free(launch);
	end_if_over(job);
}

/* As many short launches as there is room for in a piece, or a part of a long one. */
static cl_int fill(struct gs_device *device, struct gs_piece *piece)
{
	struct gs_job *job = piece->job;
	uint64_t in_flight = __atomic_load_n(&device->budget.in_flight_ns, __ATOMIC_RELAXED);
	uint64_t room = gs_room(&device->budget), most = room / PIECE_OF_ROOM, ns, groups;
	struct gs_launch *launch;
	cl_int rc;

	if (in_flight + most > room)
		most = in_flight < room ? room - in_flight : 0;
	while ((launch = job->first) && piece->n < PIECE_LAUNCHES) {
		ns = next_ns(job, room);
		if (piece->n && (launch->estimate != piece->launch[0]->estimate ||
				 !gs_estimate_is_known(launch->estimate) ||
				 gs_launch_is_long(device, launch) ||
				 piece->estimate_ns + ns > most))
			break;
		if (!launch->planned)
			gs_launch_plan(device, launch, NULL, false);	/* short, behind others */
		/* What it is thought to take may have changed just now. */
		if (piece->n && launch->way != GS_WHOLE)
			break;
		groups = groups_next(launch, room);
		rc = enqueue(piece, launch, groups);
		if (rc != CL_SUCCESS)
			return piece->n ? CL_SUCCESS : rc;
		piece->estimate_ns += ns;
		if (launch->done == launch->total)
			advance(device, job);
		else
			break;
	}
	return CL_SUCCESS;
}

/* Asks for the ends of batches that are older than @age_ns. */
static void tell_batches(struct gs_device *device, uint64_t age_ns)
{
	uint64_t now = gs_now();
	struct gs_queue *queue;
	struct gs_batch *batch;

	do {
		queue = NULL;
		pthread_mutex_lock(&device->lock);
		for (batch = device->batches; batch && !queue; batch = batch->next)
			if (__atomic_load_n(&batch->open, __ATOMIC_RELAXED) &&
			    __atomic_load_n(&batch->begun_ns, __ATOMIC_RELAXED) + age_ns < now) {
				queue = batch->queue;
				gs_object_get(&queue->object);
			}
		pthread_mutex_unlock(&device->lock);
		if (queue) {
			pthread_mutex_lock(&queue->lock);
			/* While it is open, its queue is there. */
			gs_batch_close(queue);
			pthread_mutex_unlock(&queue->lock);
			gs_object_put(&queue->object);
		}
	} while (queue);
}

/*
 * A grant that is asked back is given back, inside gpushare_begin(), when nothing
 * is in flight; so all batches must have somebody to tell their end. Those to
 * come see that there is a job, and have.
 */
static void launch_piece(struct gs_device *device, struct gs_job *job, bool *queued)
{
	struct gs_piece *piece = calloc(1, sizeof(*piece));
	struct gs_queue *queue = job->queue;
	cl_event told;
	cl_int rc = CL_OUT_OF_HOST_MEMORY;
	bool begun;

	tell_batches(device, 0);
	if (job->first->way != GS_WHOLE && !job->first->done)
		gs_workers_describe(queue, job->first);
	begun = *queued && gs_begin_queued(&device->budget);
	*queued = false;
	if (!begun)
		gpushare_begin(device->budget.share, GPUSHARE_FOREVER);
	gs_note_workers(&device->budget);
	if (piece) {
		piece->job = job;
		piece->begun_ns = gs_now();
		rc = fill(device, piece);
	}
	if (rc != CL_SUCCESS) {
		gpushare_end(device->budget.share);
		free(piece);
		fail_first(device, job, rc);
		return;
	}
	pthread_mutex_lock(&device->lock);
	device->pieces++;
	gs_enter(&device->budget, piece->n, piece->estimate_ns);
	job->pieces++;
	queue->pieces++;
	queue->at_work = piece->workers;
	queue->turn = ++device->turn;
	pthread_mutex_unlock(&device->lock);
	told = piece->told ? piece->told : piece->event;
	rc = gs_cl.clSetEventCallback(told, CL_COMPLETE, piece_done, piece);
	/* Pieces, and so jobs and queues, go in this thread only: all are still there. */
	if (rc != CL_SUCCESS) {
		piece_done(told, gs_cl.clWaitForEvents(1, &told), piece);
		return;
	}
	gs_cl.clFlush(gs_queue_private(queue));
	if (piece->workers)
		gs_workers_stop(queue);
}

/*
 * How often batches are looked at. Twice in the time that may be in flight: to be woken
 * a thousand times a second for nothing is felt by a program of short kernels.
 */
static uint64_t look_ns(struct gs_device *device)
{
	uint64_t ns = gs_room(&device->budget) / 2;

	return ns > LOOK_NS ? ns : LOOK_NS;
}

/* The device's lock is held, and given up meanwhile. */
static void sleep_until_changed(struct gs_device *device, uint32_t *begun, bool asked_back)
{
	uint64_t until = gs_now() + (asked_back ? DRAIN_NS : look_ns(device));
	struct timespec ts = {
		.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000),
	};
	uint32_t now_begun;

	/* Either this sees an open batch, or who opens it sees that we are asleep. */
	__atomic_store_n(&device->asleep, true, __ATOMIC_SEQ_CST);
	now_begun = __atomic_load_n(&device->begun, __ATOMIC_SEQ_CST);
	/* Who launches now and then all the time shall find us awake. */
	if (asked_back || __atomic_load_n(&device->open, __ATOMIC_SEQ_CST) ||
	    now_begun != *begun) {
		*begun = now_begun;
		__atomic_store_n(&device->asleep, false, __ATOMIC_RELAXED);
		pthread_cond_timedwait(&device->changed, &device->lock, &ts);
		return;
	}
	while (device->asleep)
		pthread_cond_wait(&device->changed, &device->lock);
}

/* Its first launch isn't touched meanwhile, nor is anything launched of its queue. */
static void *build(void *arg)
{
	struct gs_job *job = arg;
	struct gs_device *device = job->queue->device;

	gs_launch_plan(device, job->first, job->queue, true);
	pthread_mutex_lock(&device->lock);
	job->built_for = false;
	gs_launcher_wake(device);
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

/*
 * What the job's launch is cut by must be made first, which may take seconds and wait
 * for the grant (so all batches are told, as in launch_piece()): other queues go on.
 */
static void build_for(struct gs_device *device, struct gs_job *job)
{
	tell_batches(device, 0);
	pthread_mutex_lock(&device->lock);
	job->built_for = true;
	pthread_mutex_unlock(&device->lock);
	if (!gs_thread_start(build, job))
		build(job);
}

/*
 * While a ready job waits for room, or for what is in flight to end on a grant that is asked
 * back, the arbiter is told that there is work, and piece_done() asks for it anew: this thread
 * may be kept from its processor when that is due.
 */
static void *launcher(void *arg)
{
	struct gs_device *device = arg;
	bool queued = false, full, asked_back;
	uint32_t begun = 0;
	struct gs_job *job;

	for (;;) {
		clean_up(device);
		gs_say_late(&device->budget);
		asked_back = gs_is_asked_back(&device->budget);
		tell_batches(device, queued && asked_back ? 0 : look_ns(device));
		pthread_mutex_lock(&device->lock);
		job = choose(device);
		full = job && !has_room(device, job, asked_back);
		__atomic_store_n(&device->no_room, full, __ATOMIC_RELAXED);
		if (full)
			job = NULL;
		if (!job && full == queued && !device->landed && !device->ended)
			sleep_until_changed(device, &begun, full && asked_back);
		pthread_mutex_unlock(&device->lock);
		if (full && !queued)
			gs_queue(&device->budget);
		else if (queued && !full && !job)
			gs_unqueue(&device->budget);
		queued = full || (queued && job);
		if (job && job->status < 0)
			fail_first(device, job, job->status);
		else if (job && job->first->planned)
			launch_piece(device, job, &queued);
		else if (job && !gs_launch_plan(device, job->first, job->queue, false))
			build_for(device, job);
	}
	return NULL;
}
