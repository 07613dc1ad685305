// SPDX-License-Identifier: MIT
/*
 * Launches by workers: a few work-groups that stay, take the groups of the
 * program's launch from a queue in the device's memory, and look at a word before
 * each: if it isn't 0 they leave, and the queue says what is left.
 *
 * The word is that of the grant's page which says that the device is asked back:
 * the device reads the arbiter's own memory, so nobody on the host need be awake
 * for a launch to stop. That takes a device that works on the host's memory itself
 * (CL_MEM_USE_HOST_PTR without a copy), which is found out by a kernel that waits
 * for a word of ours. Where it can't be seen, a launch is given as many workers as
 * groups make half a slice, and a word that is set from the beginning: each
 * does the one group that it does in any case. That is slices the hard way, so
 * it is only done when workers are forced.
 *
 * For tests with random cuts the word is ours, and is set at a random time.
 *
 * A queue's buffers are its own, as one launch of it goes by workers at a time.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shadow.h"

#define WORKERS_MAX	256u
#define PER_UNIT	4	/* workers, on what isn't a processor; not measured */
#define PROBE_SHORT	(1u << 20)
#define PROBE_LONG	(1u << 28)
#define PROBE_NS	100000000	/* no longer probe behind one that took as long */

struct gs_workers {
	cl_mem queue;
	struct gsx_cl_queue *memory;	/* what is written there, and read */
	uint32_t *word;			/* a page: ours */
	cl_mem own, asked_back;		/* over @word, and over the grant's */
	uint64_t generation;		/* of the page that @asked_back lies over */
	uint32_t most, n;		/* of the launch that is in flight */
};

/* What is left of a launch. */
struct gs_todo {
	struct gsx_cl_todo t;
	uint32_t back[WORKERS_MAX][2];
};

void gs_todo_free(struct gs_todo *todo)
{
	free(todo);
}

void gs_workers_free(struct gs_workers *w)
{
	if (!w)
		return;
	if (w->queue)
		gs_cl.clReleaseMemObject(w->queue);
	if (w->own)
		gs_cl.clReleaseMemObject(w->own);
	if (w->asked_back)
		gs_cl.clReleaseMemObject(w->asked_back);
	free(w->word);
	free(w->memory);
	free(w);
}

/* The kernel sees it as a buffer of its own: a word of the host's memory. */
static cl_mem over(cl_context context, cl_mem_flags flags, const uint32_t *word)
{
	return gs_cl.clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, sizeof(*word),
				    (void *)(uintptr_t)word, &(cl_int){ 0 });
}

/* As far into a page of ours as the grant's word is into its own. */
static uint32_t *own_word(uint32_t *page)
{
	return page + offsetof(struct gpushare_grant_page, preempt) / sizeof(*page);
}

static uint32_t *page_new(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t *page = aligned_alloc(size, size);

	if (page)
		memset(page, 0, size);
	return page;
}

/* How many are launched if nobody says otherwise. */
static uint32_t most_workers(cl_device_id id)
{
	cl_device_type type = 0;
	cl_uint units = 0;

	gs_cl.clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	gs_cl.clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	return (units ? units : 1) * (type & CL_DEVICE_TYPE_CPU ? 1 : PER_UNIT);
}

/* A group alone takes as long as those that run beside it. */
void gs_workers_describe(struct gs_queue *queue, const struct gs_launch *launch)
{
	struct gpushare_describe d = {
		.threads = (uint32_t)(launch->local[0] * launch->local[1] * launch->local[2]),
		.groups = launch->total,
	};
	uint64_t ns = gs_estimate_ns(launch->estimate, most_workers(queue->id));
	cl_ulong local = 0;

	gs_cl.clGetKernelWorkGroupInfo(launch->kernel->object.handle, queue->id,
				       CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local), &local, NULL);
	d.local_bytes = (uint32_t)local;
	d.group_ns = ns < GS_NO_TIME - 1 ? ns : 0;
	gs_describe(queue->device->budget.share, &queue->device->budget.told, &d);
}

bool gs_workers_are_dealt(const struct gs_queue *queue)
{
	uint32_t dealt = __atomic_load_n(&queue->device->budget.workers, __ATOMIC_RELAXED);

	return dealt && dealt < most_workers(queue->id);
}

static struct gs_workers *workers_new(struct gs_queue *queue)
{
	struct gs_workers *w = calloc(1, sizeof(*w));
	size_t bytes = GSX_CL_QUEUE_BYTES(WORKERS_MAX, WORKERS_MAX);

	if (!w)
		return NULL;
	w->memory = malloc(bytes);
	w->word = page_new();
	w->queue = gs_cl.clCreateBuffer(queue->context, CL_MEM_READ_WRITE, bytes, NULL,
					&(cl_int){ 0 });
	if (w->word)
		w->own = over(queue->context, CL_MEM_READ_WRITE, own_word(w->word));
	w->most = most_workers(queue->id);
	if (w->memory && w->queue && w->own)
		return w;
	gs_workers_free(w);
	return NULL;
}

static const char probe_text[] =
"__kernel void gs_sees(volatile __global uint *word, volatile __global uint *begun, uint most)\n"
"{\n"
"	uint i = 0;\n"
"	*begun = 1;\n"
"	while (*word == 0 && ++i < most)\n"
"		;\n"
"	*begun = *word == 0 ? 2 : 3;\n"
"}\n";

/* The kernel waits for the word, which is set when it says that it has begun. */
static bool probe_once(cl_command_queue queue, cl_kernel kernel, uint32_t *word, uint32_t *begun,
		       cl_uint most)
{
	cl_int status = CL_QUEUED;
	cl_event event = NULL;
	const size_t one = 1;

	__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	__atomic_store_n(begun, 0, __ATOMIC_RELAXED);
	if (gs_cl.clSetKernelArg(kernel, 2, sizeof(most), &most) != CL_SUCCESS ||
	    gs_cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &event) !=
	    CL_SUCCESS)
		return false;
	gs_cl.clFlush(queue);
	while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE) && status > CL_COMPLETE &&
	       gs_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				    &status, NULL) == CL_SUCCESS)
		sched_yield();
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	gs_cl.clFinish(queue);
	gs_cl.clReleaseEvent(event);
	return __atomic_load_n(begun, __ATOMIC_ACQUIRE) == 3;
}

/* Tried for longer and longer, as this thread may come late to set the word. */
static bool probe(struct gs_queue *queue, cl_kernel kernel, uint32_t *page)
{
	uint32_t *word = own_word(page), *begun = page;
	cl_mem word_mem = over(queue->context, CL_MEM_READ_ONLY, word);
	cl_mem begun_mem = over(queue->context, CL_MEM_READ_WRITE, begun);
	cl_command_queue private = gs_queue_private(queue);
	uint64_t begun_ns, took = 0;
	bool seen = false;
	cl_uint most;

	if (word_mem && begun_mem && private &&
	    gs_cl.clSetKernelArg(kernel, 0, sizeof(word_mem), &word_mem) == CL_SUCCESS &&
	    gs_cl.clSetKernelArg(kernel, 1, sizeof(begun_mem), &begun_mem) == CL_SUCCESS)
		for (most = PROBE_SHORT; !seen && most <= PROBE_LONG && took < PROBE_NS;
		     most *= 16) {
			begun_ns = gs_now();
			seen = probe_once(private, kernel, word, begun, most);
			took = gs_now() - begun_ns;
		}
	if (word_mem)
		gs_cl.clReleaseMemObject(word_mem);
	if (begun_mem)
		gs_cl.clReleaseMemObject(begun_mem);
	return seen;
}

static bool ask_whether_it_sees(struct gs_queue *queue)
{
	struct gs_device *device = queue->device;
	const char *text = probe_text;
	uint32_t *page = page_new();
	cl_program program;
	cl_kernel kernel = NULL;
	bool seen = false;

	program = gs_cl.clCreateProgramWithSource(queue->context, 1, &text, NULL, &(cl_int){ 0 });
	if (page && program &&
	    gs_compile(program, queue->id, "") == CL_SUCCESS)
		kernel = gs_cl.clCreateKernel(program, "gs_sees", &(cl_int){ 0 });
	if (kernel) {
		gpushare_begin(device->budget.share, GPUSHARE_FOREVER);
		if (gs_compile_begin()) {
			seen = probe(queue, kernel, page);
			gs_compile_end();
		}
		gpushare_end(device->budget.share);
		gs_cl.clReleaseKernel(kernel);
	}
	if (program)
		gs_cl.clReleaseProgram(program);
	free(page);
	return seen;
}

/* Does the device see what the host writes while a kernel runs? Asked once, of each. */
static void probe_device(struct gs_queue *queue)
{
	struct gs_device *device = queue->device;

	pthread_mutex_lock(&device->probing);
	if (!device->probed) {
		device->sees_host = ask_whether_it_sees(queue);
		__atomic_store_n(&device->probed, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&device->probing);
}

static void fill_launch(struct gsx_cl_launch *l, const struct gs_launch *launch)
{
	int i;

	for (i = 0; i < 3; i++) {
		l->size[i] = launch->global[i];
		l->offset[i] = launch->offset[i];
		l->local[i] = launch->local[i];
	}
}

bool gs_workers_find(struct gs_launch *launch, struct gs_queue *queue, bool build,
		     const char **why)
{
	struct gs_cut *cut = launch->kernel->cut;
	struct gsx_cl_launch l;

	/*
	 * As few groups as there are threads have PoCL's threads wait and be woken so that
	 * now and then the thread that launches stays in pthread_cond_broadcast(), with
	 * glibc 2.36, until a signal comes.
	 */
	*why = "PoCL may hang in workers";
	if (queue->pocl && gs_options.cut != GS_CUT_WORKERS)
		return false;
	*why = gs_cut_make(launch, GSX_WORKERS, build);
	if (*why)
		return false;
	*why = gs_not_made;
	if (build)
		probe_device(queue);
	else if (!__atomic_load_n(&queue->device->probed, __ATOMIC_ACQUIRE))
		return false;
	*why = "the device doesn't see what the host writes";
	if (!queue->device->sees_host && gs_options.cut != GS_CUT_WORKERS)
		return false;
	*why = "no memory";
	if (!queue->workers)
		queue->workers = workers_new(queue);
	launch->todo = queue->workers ? malloc(sizeof(*launch->todo)) : NULL;
	if (!launch->todo)
		return false;
	fill_launch(&l, launch);
	*why = NULL;
	if (!gsx_cl_todo_init(&launch->todo->t, &l, cut->info->batch, WORKERS_MAX,
			      launch->todo->back))
		return true;
	*why = "too many groups for workers";
	free(launch->todo);
	launch->todo = NULL;
	return false;
}

/* The grant's page stays where it is, but may be another one. */
static cl_mem asked_back(struct gs_workers *w, struct gs_queue *queue)
{
	struct gpushare_pages pages;

	gpushare_pages(queue->device->budget.share, &pages);
	if (w->asked_back && w->generation == pages.generation)
		return w->asked_back;
	if (w->asked_back)
		gs_cl.clReleaseMemObject(w->asked_back);
	w->asked_back = over(queue->context, CL_MEM_READ_ONLY, &pages.grant->preempt);
	w->generation = pages.generation;
	return w->asked_back;
}

/* How many workers, and which word they look at. */
static uint32_t choose_workers(struct gs_workers *w, struct gs_queue *queue, struct gs_todo *todo,
			       const struct gs_launch *launch, cl_mem *stop)
{
	uint32_t most = __atomic_load_n(&queue->device->budget.workers, __ATOMIC_RELAXED);
	uint32_t n = w->most;
	bool bounded = !queue->device->sees_host;

	*stop = w->own;
	if (gs_options.random) {
		n = 1 + (uint32_t)gs_draw(12);
		todo->t.batch = 1 + (uint32_t)gs_draw(10);
		bounded |= !gs_draw(3);
	} else if (bounded) {
		n = (uint32_t)gs_piece_groups(launch, gs_slice(&queue->device->budget));
		todo->t.batch = 1;
	} else {
		*stop = asked_back(w, queue);
	}
	__atomic_store_n(own_word(w->word), bounded, __ATOMIC_RELAXED);
	if (most && n > most)
		n = most;
	return n < WORKERS_MAX ? n : WORKERS_MAX;
}

static bool local_fits(cl_kernel kernel, cl_device_id id)
{
	cl_ulong wanted = 0, there = 0;

	return gs_cl.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(wanted),
					      &wanted, NULL) != CL_SUCCESS ||
		gs_cl.clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(there), &there, NULL) !=
			CL_SUCCESS || wanted <= there;
}

static cl_int set_hidden(cl_kernel kernel, cl_uint first, const struct gs_workers *w, cl_mem stop,
			 const struct gsx_cl_workers *hidden)
{
	cl_int rc = gs_cl.clSetKernelArg(kernel, first, sizeof(w->queue), &w->queue);
	cl_uint i;

	if (rc == CL_SUCCESS)
		rc = gs_cl.clSetKernelArg(kernel, first + 1, sizeof(stop), &stop);
	for (i = 0; i < 3 && rc == CL_SUCCESS; i++)
		rc = gs_cl.clSetKernelArg(kernel, first + 2 + i, sizeof(hidden->arg[i]),
					  hidden->arg[i]);
	return rc;
}

cl_int gs_workers_enqueue(struct gs_launch *launch, struct gs_queue *queue, cl_event *event,
			  cl_event *told)
{
	struct gs_cut *cut = launch->kernel->cut;
	cl_command_queue private = gs_queue_private(queue);
	cl_kernel kernel = cut->kernel[GSX_WORKERS];
	struct gs_workers *w = queue->workers;
	struct gs_todo *todo = launch->todo;
	struct gsx_cl_workers hidden;
	size_t global[3], bytes;
	cl_mem stop;
	cl_int rc;

	w->n = choose_workers(w, queue, todo, launch, &stop);
	w->n = gsx_cl_todo_next(&todo->t, w->n, w->memory, &hidden);
	bytes = GSX_CL_QUEUE_BYTES(w->n, todo->t.n_back);
	memcpy(global, launch->local, sizeof(global));
	global[0] *= w->n;
	rc = stop && private ? gs_cut_arguments(cut, GSX_WORKERS, launch->args) :
		CL_OUT_OF_RESOURCES;
	if (rc == CL_SUCCESS)
		rc = set_hidden(kernel, cut->info->n_params, w, stop, &hidden);
	if (rc == CL_SUCCESS && !local_fits(kernel, queue->id))
		rc = CL_OUT_OF_RESOURCES;
	if (rc == CL_SUCCESS)
		rc = gs_cl.clEnqueueWriteBuffer(private, w->queue, CL_FALSE, 0, bytes, w->memory, 0,
						NULL, NULL);
	if (rc == CL_SUCCESS)
		rc = gs_cl.clEnqueueNDRangeKernel(private, kernel, launch->dims, NULL, global,
						  launch->local, 0, NULL, event);
	if (rc != CL_SUCCESS) {
		__atomic_store_n(&cut->failed[GSX_WORKERS], true, __ATOMIC_RELAXED);
		/* What was written may still be on its way from our memory. */
		gs_cl.clFinish(private);
		return rc;
	}
	rc = gs_cl.clEnqueueReadBuffer(private, w->queue, CL_FALSE, 0, bytes, w->memory, 0, NULL,
				       told);
	if (rc == CL_SUCCESS)
		return rc;
	/* It runs, and can't be undone: what it did isn't known. */
	gs_cl.clFinish(private);
	w->memory->next = 0;
	*told = *event;
	gs_cl.clRetainEvent(*told);
	return CL_SUCCESS;
}

void gs_workers_stop(struct gs_queue *queue)
{
	struct timespec pause = { .tv_nsec = (long)gs_draw(300000) };

	if (!gs_options.random)
		return;
	nanosleep(&pause, NULL);
	__atomic_store_n(own_word(queue->workers->word), 1, __ATOMIC_RELEASE);
}

int64_t gs_workers_ended(struct gs_launch *launch, struct gs_queue *queue)
{
	struct gs_workers *w = queue->workers;
	int64_t left = gsx_cl_todo_done(&launch->todo->t, w->n, w->memory);

	if (left < 0 || (uint64_t)left + launch->done >= launch->total)
		return -1;
	return (int64_t)(launch->total - launch->done) - left;
}
