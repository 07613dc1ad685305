// SPDX-License-Identifier: MIT
/* Events, queues, threads: what waits for what, and what the program sees of it. */
#include <pthread.h>
#include <unistd.h>

#include "api.h"

static void print_times(cl_event e, cl_ulong *end)
{
	cl_ulong t[4];
	int i;

	for (i = 0; i < 4; i++)
		must(clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_QUEUED + i, sizeof(*t), &t[i],
					     NULL));
	printf("times ordered: %d, after the one before: %d\n",
	       t[0] <= t[1] && t[1] <= t[2] && t[2] <= t[3], t[2] >= *end);
	*end = t[3];
}

SCENARIO(events_tell)
{
	cl_command_queue q = queue_new(PROFILING), of;
	cl_kernel k = kernel_new("work");
	cl_mem m = buffer_new(N * 4);
	cl_command_type type;
	cl_context c;
	cl_ulong end = 0;
	cl_event e;
	int i;

	arg_mem(k, 0, m);
	arg_int(k, 1, 500);
	for (i = 0; i < 4; i++) {
		launch(q, k, N, 0, NULL, &e);
		must(clGetEventInfo(e, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
		must(clGetEventInfo(e, CL_EVENT_COMMAND_QUEUE, sizeof(of), &of, NULL));
		must(clGetEventInfo(e, CL_EVENT_CONTEXT, sizeof(c), &c, NULL));
		printf("type %x, queue %d, context %d\n", type, of == q, c == context);
		must(clWaitForEvents(1, &e));
		printf("status %d\n", status_of(e));
		print_times(e, &end);
		must(clReleaseEvent(e));
	}
	print_buffer("work", q, m, N * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static int calls, last_status;

/* One that the program has released (no @data) may be gone, but is never another's. */
static void CL_CALLBACK call(cl_event e, cl_int status, void *data)
{
	cl_command_type type = 0;
	cl_int rc = clGetEventInfo(e, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
	bool known = rc == CL_SUCCESS ? type == CL_COMMAND_NDRANGE_KERNEL : !data;

	pthread_mutex_lock(&lock);
	calls += known ? 1 : 1000;
	last_status = status;
	pthread_cond_signal(&called);
	pthread_mutex_unlock(&lock);
}

static void await_calls(int n)
{
	pthread_mutex_lock(&lock);
	while (calls < n)
		pthread_cond_wait(&called, &lock);
	printf("%d calls, status %d\n", calls, last_status);
	calls = 0;
	pthread_mutex_unlock(&lock);
}

SCENARIO(callbacks)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(N * 4);
	cl_event held[20];
	int i;

	arg_mem(k, 0, m);
	arg_int(k, 1, 1);
	for (i = 0; i < 20; i++) {
		launch(q, k, N, 0, NULL, &held[i]);
		must(clSetEventCallback(held[i], CL_COMPLETE, call, i & 1 ? held : NULL));
		if (!(i & 1))
			must(clReleaseEvent(held[i]));
	}
	must(clFlush(q));
	await_calls(20);
	for (i = 1; i < 20; i += 2)
		must(clReleaseEvent(held[i]));
	print_buffer("called", q, m, N * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

/* The same thread lets go what it waits for: an enqueue that blocks would hang. */
static void user_event(cl_command_queue_properties properties)
{
	cl_command_queue q = queue_new(properties);
	cl_kernel add = kernel_new("add"), mul = kernel_new("mul");
	cl_mem m = buffer_new(N * 4);
	cl_event user, first, second, third;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
	arg_mem(add, 0, m);
	arg_int(add, 1, 5);
	arg_mem(mul, 0, m);
	arg_int(mul, 1, 3);
	launch(q, add, N, 1, &user, &first);
	launch(q, mul, N, 1, &first, &second);
	arg_int(add, 1, 1);
	launch(q, add, N, 1, &second, &third);
	must(clFlush(q));
	printf("before: %d %d %d\n", status_of(first) != CL_COMPLETE,
	       status_of(second) != CL_COMPLETE, status_of(third) != CL_COMPLETE);
	usleep(20000);
	printf("still: %d\n", status_of(first) != CL_COMPLETE);
	must(clSetUserEventStatus(user, CL_COMPLETE));
	must(clWaitForEvents(1, &third));
	printf("after: %d %d %d\n", status_of(first), status_of(second), status_of(third));
	print_buffer("in turn", q, m, N * 4);
	must(clReleaseEvent(first));
	must(clReleaseEvent(second));
	must(clReleaseEvent(third));
	must(clReleaseEvent(user));
	must(clReleaseMemObject(m));
	must(clReleaseKernel(add));
	must(clReleaseKernel(mul));
	must(clReleaseCommandQueue(q));
}

SCENARIO(user_event_in_order)
{
	user_event(IN_ORDER);
}

SCENARIO(user_event_out_of_order)
{
	user_event(OUT_OF_ORDER);
}

/* A command that isn't a launch waits, and holds up launches without events. */
SCENARIO(user_event_before_a_write)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(N * 4);
	cl_event user;
	int data[N], i;
	cl_int rc;

	for (i = 0; i < N; i++)
		data[i] = i;
	user = clCreateUserEvent(context, &rc);
	must(rc);
	must(clEnqueueWriteBuffer(q, m, CL_FALSE, 0, sizeof(data), data, 1, &user, NULL));
	arg_mem(k, 0, m);
	arg_int(k, 1, 10);
	launch(q, k, N, 0, NULL, NULL);
	launch(q, k, N, 0, NULL, NULL);
	must(clFlush(q));
	must(clSetUserEventStatus(user, CL_COMPLETE));
	print_buffer("written", q, m, N * 4);
	must(clReleaseEvent(user));
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

static void CL_CALLBACK write_late(void *args)
{
	usleep(200000);
	**(int **)args = 1;
}

/* What the barrier waits for is on its way, and not there yet. */
SCENARIO(barrier_out_of_order)
{
	cl_command_queue q = queue_new(OUT_OF_ORDER), other = queue_new(IN_ORDER);
	cl_device_exec_capabilities can = 0;
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(N * 4);
	void *args[1] = { NULL };
	const void *places[1] = { args };
	cl_event e;

	must(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL));
	arg_mem(k, 0, m);
	arg_int(k, 1, 0);
	launch(q, k, N, 0, NULL, NULL);
	must(clFinish(q));
	if (can & CL_EXEC_NATIVE_KERNEL) {
		must(clEnqueueNativeKernel(other, write_late, args, sizeof(args), 1, &m, places,
					   0, NULL, &e));
		must(clFlush(other));
		must(clEnqueueBarrierWithWaitList(q, 1, &e, NULL));
		arg_int(k, 1, 5);
		launch(q, k, N, 0, NULL, NULL);
		must(clFinish(q));
		printf("behind it: %d\n", status_of(e));
		print_buffer("both", q, m, N * 4);
		must(clReleaseEvent(e));
	}
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(other));
	must(clReleaseCommandQueue(q));
}

/* A launch is over when it is, whatever comes behind it. */
SCENARIO(event_before_others)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("work");
	cl_mem m = buffer_new(N * 4);
	cl_event e;
	int n;

	arg_mem(k, 0, m);
	arg_int(k, 1, 1000);
	launch(q, k, N, 0, NULL, &e);
	for (n = 0; n < 1000 && status_of(e) > CL_COMPLETE; n++) {
		launch(q, k, N, 0, NULL, NULL);
		must(clFlush(q));
		usleep(1000);
	}
	printf("while others are enqueued: %d\n", n < 1000);
	must(clFinish(q));
	must(clReleaseEvent(e));
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

/* More events than a stack has room for. */
SCENARIO(many_waits_behind_a_barrier)
{
	const cl_uint n = 1200000;
	cl_command_queue q = queue_new(OUT_OF_ORDER);
	cl_event *waits = malloc(n * sizeof(*waits)), user, e;
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(N * 4);
	cl_uint i;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
	for (i = 0; i < n; i++)
		waits[i] = user;
	must(clEnqueueBarrierWithWaitList(q, 1, &user, NULL));
	arg_mem(k, 0, m);
	arg_int(k, 1, 10);
	launch(q, k, N, n, waits, &e);
	must(clSetUserEventStatus(user, CL_COMPLETE));
	must(clWaitForEvents(1, &e));
	print_buffer("launched", q, m, N * 4);
	free(waits);
	must(clReleaseEvent(e));
	must(clReleaseEvent(user));
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

/* What fails fails what waits for it. */
SCENARIO(failed_user_event)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(N * 4);
	cl_event user, e;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
	arg_mem(k, 0, m);
	arg_int(k, 1, 10);
	launch(q, k, N, 1, &user, &e);
	must(clFlush(q));
	must(clSetUserEventStatus(user, -5));
	printf("wait: %d\n", clWaitForEvents(1, &e));
	printf("failed: %d\n", status_of(e) < 0);
	must(clReleaseEvent(user));
	must(clReleaseEvent(e));
	must(clReleaseCommandQueue(q));
	q = queue_new(IN_ORDER);
	print_buffer("untouched", q, m, N * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

SCENARIO(long_chain_in_order)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel add = kernel_new("add"), mul = kernel_new("mul");
	cl_mem m = buffer_new(N * 4);
	int seen, i;

	arg_mem(add, 0, m);
	arg_mem(mul, 0, m);
	for (i = 0; i < 200; i++) {
		arg_int(add, 1, i);
		arg_int(mul, 1, i % 5 - 2);
		launch(q, add, N, 0, NULL, NULL);
		launch(q, mul, N, 0, NULL, NULL);
		if (i % 40 == 0) {
			must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, 4, &seen, 0, NULL, NULL));
			printf("at %d: %d\n", i, seen);
		}
	}
	print_buffer("chain", q, m, N * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(add));
	must(clReleaseKernel(mul));
	must(clReleaseCommandQueue(q));
}

SCENARIO(graph_out_of_order)
{
	cl_command_queue q = queue_new(OUT_OF_ORDER | PROFILING);
	cl_kernel add = kernel_new("add"), mul = kernel_new("mul"), vadd = kernel_new("vadd");
	cl_mem a = buffer_new(N * 4), b = buffer_new(N * 4), c = buffer_new(N * 4);
	cl_event e[4], marker;
	int i;

	for (i = 0; i < 10; i++) {
		arg_mem(add, 0, a);
		arg_int(add, 1, i);
		launch(q, add, N, 0, NULL, &e[0]);
		arg_mem(add, 0, b);
		arg_int(add, 1, 3 * i);
		launch(q, add, N, 0, NULL, &e[1]);
		arg_mem(mul, 0, b);
		arg_int(mul, 1, 2);
		launch(q, mul, N, 1, &e[1], &e[2]);
		arg_mem(vadd, 0, a);
		arg_mem(vadd, 1, b);
		arg_mem(vadd, 2, c);
		must(clReleaseEvent(e[1]));
		e[1] = e[2];
		launch(q, vadd, N, 2, e, &e[3]);
		must(clEnqueueMarkerWithWaitList(q, 1, &e[3], &marker));
		/* What comes behind it must wait, without being told by events. */
		if (i % 2)
			must(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
		else
			must(clEnqueueBarrier(q));
		must(clReleaseEvent(e[0]));
		must(clReleaseEvent(e[1]));
		must(clReleaseEvent(e[3]));
		must(clReleaseEvent(marker));
	}
	print_buffer("graph", q, c, N * 4);
	must(clReleaseMemObject(a));
	must(clReleaseMemObject(b));
	must(clReleaseMemObject(c));
	must(clReleaseKernel(add));
	must(clReleaseKernel(mul));
	must(clReleaseKernel(vadd));
	must(clReleaseCommandQueue(q));
}

/* Two queues that wait for each other's events. */
SCENARIO(two_queues)
{
	cl_command_queue q[2] = { queue_new(IN_ORDER), queue_new(IN_ORDER) };
	cl_kernel add = kernel_new("add"), mul = kernel_new("mul");
	cl_mem m = buffer_new(N * 4);
	cl_event before = NULL, e;
	int i;

	arg_mem(add, 0, m);
	arg_mem(mul, 0, m);
	arg_int(mul, 1, 3);
	for (i = 0; i < 60; i++) {
		arg_int(add, 1, i);
		launch(q[i % 2], i % 2 ? mul : add, N, before ? 1 : 0, before ? &before : NULL, &e);
		must(clFlush(q[i % 2]));
		if (before)
			must(clReleaseEvent(before));
		before = e;
	}
	wait_one(before);
	print_buffer("to and fro", q[0], m, N * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(add));
	must(clReleaseKernel(mul));
	must(clReleaseCommandQueue(q[0]));
	must(clReleaseCommandQueue(q[1]));
}

struct threads {
	cl_command_queue queue;		/* shared; NULL: each has its own */
	cl_mem m[4];
};

static struct threads shared;

static void *thread(void *arg)
{
	cl_command_queue q = shared.queue ? shared.queue : queue_new(IN_ORDER);
	cl_mem m = shared.m[(intptr_t)arg];
	cl_kernel k = kernel_new("add");
	int i;

	arg_mem(k, 0, m);
	for (i = 0; i < 100; i++) {
		arg_int(k, 1, i);
		launch(q, k, N, 0, NULL, NULL);
		if (i % 20 == 0)
			must(clFinish(q));
	}
	must(clFinish(q));
	must(clReleaseKernel(k));
	if (!shared.queue)
		must(clReleaseCommandQueue(q));
	return NULL;
}

static void four_threads(cl_command_queue queue)
{
	cl_command_queue q = queue_new(IN_ORDER);
	pthread_t threads[4];
	intptr_t i;

	shared.queue = queue;
	for (i = 0; i < 4; i++) {
		/* All of them add to one buffer where they share a queue in order. */
		shared.m[i] = queue && i ? shared.m[0] : buffer_new(N * 4);
		pthread_create(&threads[i], NULL, thread, (void *)i);
	}
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < (queue ? 1 : 4); i++) {
		print_buffer("thread", q, shared.m[i], N * 4);
		must(clReleaseMemObject(shared.m[i]));
	}
	must(clReleaseCommandQueue(q));
}

SCENARIO(threads_with_queues)
{
	four_threads(NULL);
}

SCENARIO(threads_with_one_queue)
{
	cl_command_queue q = queue_new(IN_ORDER);

	four_threads(q);
	must(clReleaseCommandQueue(q));
}

/* So many that no driver or layer may keep all of them under way, and no waiting. */
SCENARIO(many_without_waiting)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(64 * 4);
	int n = getenv("API_MANY") ? atoi(getenv("API_MANY")) : 20000, i;

	arg_mem(k, 0, m);
	arg_int(k, 1, 1);
	for (i = 0; i < n; i++)
		launch(q, k, 64, 0, NULL, NULL);
	print_buffer("all of them", q, m, 64 * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

/* Events are made, and never looked at but for the last. */
SCENARIO(events_not_read)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("count");
	cl_mem m = buffer_new(7 * 4);
	cl_event e[500];
	int i;

	arg_mem(k, 0, m);
	for (i = 0; i < 500; i++)
		launch(q, k, 64 * 16, 0, NULL, &e[i]);
	print_buffer("counted", q, m, 7 * 4);
	for (i = 0; i < 500; i++)
		must(clReleaseEvent(e[i]));
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}
