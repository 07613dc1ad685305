// SPDX-License-Identifier: MIT
/*
 * Another layer: notes that there are launches and a hash of what is read back, in the
 * file that SPY_OUT names; with SPY_OFFSETS each launch that has no offset, too. It stands
 * for others' layers, before and behind ours.
 * The command whose end is asked for as the SPY_FAIL-th has failed, it says then. With
 * SPY_FORGIVE what has failed is called complete, as some drivers do.
 * With SPY_REFUSE nobody's end can be asked for. With SPY_HOLD a launch begins when its
 * queue is flushed, and not before, as with drivers that gather commands. SPY_SLOW names
 * a file: until it is there, no text is built that a layer has written; and SPY_KEEP one
 * until which no binary of such a program is told. With SPY_DEEP both take much of a stack.
 * SPY_WRITE keeps a write that waits for an event from its queue for a moment, SPY_BLOCK until
 * that event is there, as drivers may that copy from the program's memory by themselves.
 * With SPY_LATE one that blocks returns at once, and is done when its queue is flushed.
 * With SPY_FINISH a queue is finished in its last release, as some drivers do; with SPY_BINARY
 * binaries are refused. SPY_PROGRAMS has it note each reference of a program that is taken
 * and given up.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static const cl_icd_dispatch *target;
static cl_icd_dispatch ours;
static unsigned int launches;

static void note(const char *what, unsigned long long value)
{
	FILE *f = getenv("SPY_OUT") ? fopen(getenv("SPY_OUT"), "a") : NULL;

	if (f) {
		fprintf(f, "%s %llx\n", what, value);
		fclose(f);
	}
}

#define HELD_MAX 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects held */
static struct held { cl_command_queue queue; cl_event event; } held[HELD_MAX];

/* The event that a launch is to wait for until its queue is flushed. */
static cl_event hold(cl_command_queue queue)
{
	cl_event event = NULL;
	cl_context context;
	unsigned int i;

	target->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
	pthread_mutex_lock(&lock);
	for (i = 0; i < HELD_MAX && held[i].event; i++)
		;
	if (i < HELD_MAX)
		event = target->clCreateUserEvent(context, &(cl_int){ 0 });
	if (event)
		held[i] = (struct held){ queue, event };
	pthread_mutex_unlock(&lock);
	return event;
}

static void let_go(cl_command_queue queue)
{
	cl_event event;
	unsigned int i;

	for (i = 0; i < HELD_MAX; i++) {
		pthread_mutex_lock(&lock);
		event = held[i].queue == queue ? held[i].event : NULL;
		if (event)
			held[i] = (struct held){ NULL, NULL };
		pthread_mutex_unlock(&lock);
		if (!event)
			continue;
		target->clSetUserEventStatus(event, CL_COMPLETE);
		target->clReleaseEvent(event);
	}
}

static bool has_offset(cl_uint dims, const size_t *offset)
{
	cl_uint i;

	for (i = 0; offset && i < dims; i++)
		if (offset[i])
			return true;
	return false;
}

static CL_API_ENTRY cl_int CL_API_CALL
enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
	       const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
	       cl_event *event)
{
	cl_event all[n + 1];

	if (!__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED))
		note("launches", 1);
	if (getenv("SPY_OFFSETS") && !has_offset(dims, offset))
		note("unshifted", 1);
	if (n)
		memcpy(all, waits, n * sizeof(*all));
	if (getenv("SPY_HOLD"))
		all[n] = hold(queue);
	if (getenv("SPY_HOLD") && all[n])
		n++;
	return target->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, n,
					      n ? all : NULL, event);
}

static CL_API_ENTRY cl_int CL_API_CALL flush(cl_command_queue queue)
{
	let_go(queue);
	return target->clFlush(queue);
}

static CL_API_ENTRY cl_int CL_API_CALL finish(cl_command_queue queue)
{
	let_go(queue);
	return target->clFinish(queue);
}

static struct counted { cl_command_queue queue; unsigned int n; } counted[HELD_MAX];

/* Adds to a queue's references but those of its own commands; returns how many it has. */
static unsigned int count(cl_command_queue queue, int more)
{
	unsigned int i, n = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < HELD_MAX && counted[i].queue && counted[i].queue != queue; i++)
		;
	if (i < HELD_MAX) {
		counted[i].queue = queue;
		n = counted[i].n += (unsigned int)more;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL
create(cl_context context, cl_device_id id, cl_command_queue_properties properties, cl_int *err)
{
	cl_command_queue queue = target->clCreateCommandQueue(context, id, properties, err);

	if (queue)
		count(queue, 1);
	return queue;
}

static CL_API_ENTRY cl_int CL_API_CALL retain(cl_command_queue queue)
{
	count(queue, 1);
	return target->clRetainCommandQueue(queue);
}

static CL_API_ENTRY cl_int CL_API_CALL release(cl_command_queue queue)
{
	let_go(queue);
	if (!count(queue, -1) && getenv("SPY_FINISH"))
		target->clFinish(queue);
	return target->clReleaseCommandQueue(queue);
}

/* As compilers do: of the eight MiB that a thread has anywhere else. */
__attribute__((noinline)) static void go_deep(void)
{
	volatile char frame[6 << 20];
	size_t i;

	for (i = 0; i < sizeof(frame); i += 4096)
		frame[i] = 1;
}

static void wait_for_file(const char *name)
{
	while (name && access(name, F_OK))
		usleep(10000);
}

static bool is_rewritten(cl_program program)
{
	bool is = false;
	char *source;
	size_t n = 0;

	if (target->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &n) != CL_SUCCESS || !n)
		return false;
	source = malloc(n);
	if (source && target->clGetProgramInfo(program, CL_PROGRAM_SOURCE, n, source, NULL) ==
	    CL_SUCCESS)
		is = strstr(source, "gsx_state");
	free(source);
	return is;
}

static CL_API_ENTRY cl_int CL_API_CALL
build(cl_program program, cl_uint n, const cl_device_id *ids, const char *options,
      void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	bool rewritten = is_rewritten(program);
	cl_int rc;

	if (rewritten) {
		note("rewritten", 1);
		wait_for_file(getenv("SPY_SLOW"));
		if (getenv("SPY_DEEP"))
			go_deep();
	}
	rc = target->clBuildProgram(program, n, ids, options, notify, data);
	if (rewritten)
		note("built", (unsigned int)rc);
	return rc;
}

/* How many ask at one time is noted with each. */
static CL_API_ENTRY cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info what,
							size_t size, void *value, size_t *size_ret)
{
	static unsigned int asking;
	bool rewritten = what == CL_PROGRAM_BINARIES && is_rewritten(program);
	cl_int rc;

	if (rewritten) {
		note("asked", __atomic_add_fetch(&asking, 1, __ATOMIC_RELAXED));
		wait_for_file(getenv("SPY_KEEP"));
		if (getenv("SPY_DEEP"))
			go_deep();
	}
	rc = target->clGetProgramInfo(program, what, size, value, size_ret);
	if (rewritten) {
		__atomic_sub_fetch(&asking, 1, __ATOMIC_RELAXED);
		note("told", (unsigned int)rc);
	}
	return rc;
}

static void note_program(const char *what)
{
	if (getenv("SPY_PROGRAMS"))
		note(what, 1);
}

static CL_API_ENTRY cl_program CL_API_CALL
with_source(cl_context context, cl_uint n, const char **strings, const size_t *lengths, cl_int *err)
{
	cl_program program = target->clCreateProgramWithSource(context, n, strings, lengths, err);

	if (program)
		note_program("taken");
	return program;
}

static CL_API_ENTRY cl_int CL_API_CALL retain_program(cl_program program)
{
	note_program("taken");
	return target->clRetainProgram(program);
}

static CL_API_ENTRY cl_int CL_API_CALL release_program(cl_program program)
{
	note_program("given");
	return target->clReleaseProgram(program);
}

static void CL_CALLBACK written(cl_event event, cl_int status, void *data)
{
	(void)event;
	(void)status;
	free(data);
}

/* As the specification allows: the data is taken, and the write is still to come. */
static CL_API_ENTRY cl_int CL_API_CALL
write_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t at, size_t size,
	     const void *from, cl_uint n, const cl_event *waits, cl_event *event)
{
	cl_event all[n + 1], own = NULL;
	void *copy = blocking && getenv("SPY_LATE") ? malloc(size) : NULL;
	cl_int rc;

	/* One that waits for something is late to be put into the queue, or waits by itself. */
	if (n && getenv("SPY_WRITE"))
		usleep(400000);
	if (n && getenv("SPY_BLOCK"))
		target->clWaitForEvents(n, waits);
	if (copy && n)
		memcpy(all, waits, n * sizeof(*all));
	all[n] = copy ? hold(queue) : NULL;
	if (!copy || !all[n]) {
		free(copy);
		return target->clEnqueueWriteBuffer(queue, mem, blocking, at, size, from, n, waits,
						    event);
	}
	memcpy(copy, from, size);
	rc = target->clEnqueueWriteBuffer(queue, mem, CL_FALSE, at, size, copy, n + 1, all, &own);
	if (rc != CL_SUCCESS || target->clSetEventCallback(own, CL_COMPLETE, written, copy))
		return rc;
	if (event)
		*event = own;
	else
		target->clReleaseEvent(own);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *events)
{
	cl_command_queue queue;
	cl_uint i;

	for (i = 0; i < n; i++)
		if (target->clGetEventInfo(events[i], CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
					   NULL) == CL_SUCCESS && queue)
			let_go(queue);
	return target->clWaitForEvents(n, events);
}

static CL_API_ENTRY cl_int CL_API_CALL
read_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t at, size_t size, void *to,
	    cl_uint n, const cl_event *waits, cl_event *event)
{
	const unsigned char *c = to;
	uint64_t hash = size;
	cl_int rc;

	if (blocking)
		let_go(queue);
	rc = target->clEnqueueReadBuffer(queue, mem, blocking, at, size, to, n, waits, event);
	if (rc == CL_SUCCESS && blocking) {
		while (size--)
			hash = hash * 31 + *c++;
		note("read", hash);
	}
	return rc;
}

struct asked {
	void (CL_CALLBACK *notify)(cl_event, cl_int, void *);
	void *data;
};

static void CL_CALLBACK has_failed(cl_event event, cl_int status, void *data)
{
	struct asked asked = *(struct asked *)data;

	(void)status;
	free(data);
	asked.notify(event, CL_OUT_OF_RESOURCES, asked.data);
}

static void CL_CALLBACK is_forgiven(cl_event event, cl_int status, void *data)
{
	struct asked asked = *(struct asked *)data;

	free(data);
	asked.notify(event, status < 0 ? CL_COMPLETE : status, asked.data);
}

static CL_API_ENTRY cl_int CL_API_CALL
get_event_info(cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret)
{
	cl_int rc = target->clGetEventInfo(event, what, size, value, size_ret);

	if (rc == CL_SUCCESS && value && what == CL_EVENT_COMMAND_EXECUTION_STATUS &&
	    *(cl_int *)value < 0 && getenv("SPY_FORGIVE"))
		*(cl_int *)value = CL_COMPLETE;
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL
set_callback(cl_event event, cl_int type, void (CL_CALLBACK *notify)(cl_event, cl_int, void *),
	     void *data)
{
	static unsigned int n;
	const char *fail = getenv("SPY_FAIL");
	struct asked *asked;
	bool fails;

	if (getenv("SPY_REFUSE"))
		return CL_OUT_OF_RESOURCES;
	fails = fail && __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) == (unsigned int)atoi(fail);
	if (!fails && !getenv("SPY_FORGIVE"))
		return target->clSetEventCallback(event, type, notify, data);
	asked = malloc(sizeof(*asked));
	if (!asked)
		return CL_OUT_OF_HOST_MEMORY;
	*asked = (struct asked){ notify, data };
	return target->clSetEventCallback(event, type, fails ? has_failed : is_forgiven, asked);
}

static CL_API_ENTRY cl_program CL_API_CALL
with_binary(cl_context context, cl_uint n, const cl_device_id *ids, const size_t *lengths,
	    const unsigned char **binaries, cl_int *status, cl_int *err)
{
	cl_program program;

	if (!getenv("SPY_BINARY")) {
		program = target->clCreateProgramWithBinary(context, n, ids, lengths, binaries,
							    status, err);
		if (program)
			note_program("taken");
		return program;
	}
	if (err)
		*err = CL_INVALID_BINARY;
	return NULL;
}

/* As some drivers do: a function of the core is told by its name, too. */
static CL_API_ENTRY void *CL_API_CALL get_address(cl_platform_id id, const char *name)
{
	if (getenv("SPY_ADDRESS") && !strcmp(name, "clEnqueueNDRangeKernel"))
		return (void *)target->clEnqueueNDRangeKernel;
	return target->clGetExtensionFunctionAddressForPlatform(id, name);
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
						      size_t *size_ret)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size >= sizeof(version))
		memcpy(value, &version, sizeof(version));
	if (size_ret)
		*size_ret = sizeof(version);
	return CL_SUCCESS;
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *below,
						   cl_uint *n_ret, const cl_icd_dispatch **ret)
{
	const cl_uint most = sizeof(ours) / sizeof(void *);

	target = below;
	ours.clEnqueueNDRangeKernel = enqueue_kernel;
	ours.clEnqueueReadBuffer = read_buffer;
	ours.clEnqueueWriteBuffer = write_buffer;
	ours.clFlush = flush;
	ours.clFinish = finish;
	ours.clCreateCommandQueue = create;
	ours.clRetainCommandQueue = retain;
	ours.clReleaseCommandQueue = release;
	ours.clBuildProgram = build;
	ours.clGetProgramInfo = get_program_info;
	ours.clCreateProgramWithSource = with_source;
	ours.clRetainProgram = retain_program;
	ours.clReleaseProgram = release_program;
	ours.clCreateProgramWithBinary = with_binary;
	ours.clWaitForEvents = wait_for_events;
	ours.clSetEventCallback = set_callback;
	ours.clGetEventInfo = get_event_info;
	ours.clGetExtensionFunctionAddressForPlatform = get_address;
	*n_ret = n < most ? n : most;
	*ret = &ours;
	return CL_SUCCESS;
}

/* Khronos's loader passes by, without a word, what doesn't have these two. */
PUBLIC CL_API_ENTRY cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *below, cl_uint *n_ret,
			  const cl_icd_dispatch **ret, const cl_bitfield *properties);
PUBLIC CL_API_ENTRY cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *below, cl_uint *n_ret,
			  const cl_icd_dispatch **ret, const cl_bitfield *properties)
{
	(void)properties;
	return clInitLayer(n, below, n_ret, ret);
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);
PUBLIC CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}
