// SPDX-License-Identifier: MIT
/*
 * A program that stalls in the middle of its work: stalls WHERE. It says "ready" and
 * waits for the end of its input; a device that it doesn't use then is to be others'.
 *
 *	write		a launch behind a write that waits for a user event
 *	empty		behind a launch of no items, which no layer can put off, that waits
 *	barrier		out of order, behind a barrier that waits for a user event
 *	other		waits for a command of another queue that waits for a user event
 *	copy		waits for a copy, out of order, that waits for a user event
 *	native		behind a native kernel that waits for the program
 *	read		behind another thread's blocking read that waits for a user event
 *	unflushed	a launch that nobody flushes
 *	unknown		likewise, of a kernel that was never launched before
 *	unordered	likewise, out of order
 *	build		a launch whose kernel must be rewritten to be cut; "ready" is said
 *			when one in another queue is over that came later
 *	release		a queue that it has released waits for a user event; likewise
 *
 *	end		as "build", but then it ends, as it does with
 *	fork		of whose children one ends first, and its status is said; and
 *	ask		a launch whose program asks the device something, for which the grant
 *			is waited for
 *	kept N		launches of N kernels that must be rewritten, and of all again
 *	devices		a launch by workers on a device that it can't have, and then one on
 *			another
 *	balance		launches of programs that must be rewritten; all is released
 *
 * And without a stall:
 *
 *	finished	a thread puts a write that waits for a user event into a queue and
 *			a launch behind it, while another finishes the queue
 *	blocked		a write waits for a launch in another queue that waits for a user event
 *	rebuilt		a launch waits for a user event, while its program is built anew
 *	refused		prints how a launch ends that waited for a user event, and the next
 *	required	launches of a kernel that must be rewritten to be cut and requires the
 *			size of its groups, while the layer asks for what it made of it
 *	past		four threads launch and wait, each in a queue of its own: is a longer
 *			launch in another one over within a while?
 *	plan N		N times, a short launch that it doesn't wait for, and a long one of a
 *			program that has yet to be read, with a question to the device
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

static const char text[] = "__kernel void k(__global uint *o) { o[get_global_id(0)] += 1; }";

static cl_command_queue q;
static cl_kernel k;
static cl_mem m;

static cl_kernel kernel_of(cl_program p)
{
	cl_int rc;
	cl_kernel kernel = clCreateKernel(p, "k", &rc);

	must(rc);
	arg_mem(kernel, 0, m);
	return kernel;
}

/* From then on the layer knows what a launch takes. */
static void warm_up(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		launch(q, k, N, 0, NULL, NULL);
		must(clFinish(q));
	}
}

static void empty_launch(cl_command_queue queue, cl_event user)
{
	const size_t none = 0, local = 64;

	must(clEnqueueNDRangeKernel(queue, k, 1, NULL, &none, &local, 1, &user, NULL));
}

static void ready(void)
{
	puts("ready");
	while (getchar() != EOF)
		;
}

static int may_end;			/* atomic */

static void CL_CALLBACK wait_for_program(void *args)
{
	(void)args;
	while (!__atomic_load_n(&may_end, __ATOMIC_RELAXED))
		usleep(1000);
}

static void *read_blocking(void *event)
{
	static cl_uint data[N];

	must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof(data), data, 1, event, NULL));
	return NULL;
}

static void stall(const char *where)
{
	static const cl_uint data[N];
	cl_command_queue other = queue_new(IN_ORDER);
	cl_mem copy = buffer_new(N * 4);
	bool reads = !strcmp(where, "read");
	pthread_t reader;
	cl_event user, e;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
	if (!strcmp(where, "native"))
		must(clEnqueueNativeKernel(q, wait_for_program, NULL, 0, 0, NULL, NULL, 0, NULL,
					   NULL));
	if (reads && pthread_create(&reader, NULL, read_blocking, &user))
		abort();
	/* Nothing tells that it is in the queue. */
	if (reads)
		usleep(200000);
	if (!strcmp(where, "unknown"))
		k = kernel_of(program_build(text, "-DOTHER"));
	if (!strcmp(where, "write"))
		must(clEnqueueWriteBuffer(q, m, CL_FALSE, 0, sizeof(data), data, 1, &user, NULL));
	if (!strcmp(where, "empty"))
		empty_launch(q, user);
	if (!strcmp(where, "barrier"))
		must(clEnqueueBarrierWithWaitList(q, 1, &user, NULL));
	if (!strcmp(where, "other")) {
		must(clEnqueueWriteBuffer(other, m, CL_FALSE, 0, sizeof(data), data, 1, &user, &e));
		must(clFlush(other));
		launch(q, k, N, 1, &e, NULL);
	} else if (!strcmp(where, "copy")) {
		must(clReleaseCommandQueue(other));
		other = queue_new(OUT_OF_ORDER);
		must(clEnqueueCopyBuffer(other, m, copy, 0, 0, N * 4, 1, &user, &e));
		must(clFlush(other));
		launch(q, k, N, 1, &e, NULL);
	} else {
		launch(q, k, N, 0, NULL, NULL);
	}
	if (where[0] != 'u')
		must(clFlush(q));
	ready();
	__atomic_store_n(&may_end, 1, __ATOMIC_RELAXED);
	must(clSetUserEventStatus(user, CL_COMPLETE));
	if (reads)
		pthread_join(reader, NULL);
	must(clFinish(q));
	print_buffer(where, q, m, N * 4);
}

static const char groups[] =
	"__kernel void k(__global uint *o) { o[get_global_id(0)] += get_num_groups(0); }";

/* Both have yet to be read. */
static void stall_in_build(void)
{
	cl_command_queue other = queue_new(IN_ORDER);
	cl_kernel rewritten = kernel_of(program_build(groups, ""));
	cl_kernel plain = kernel_of(program_build(text, "-DOTHER"));
	cl_mem second = buffer_new(N * 4);

	arg_mem(rewritten, 0, second);
	launch(other, rewritten, N, 0, NULL, NULL);
	must(clFlush(other));
	launch(q, plain, N, 0, NULL, NULL);
	must(clFinish(q));
	ready();
	must(clFinish(other));
	print_buffer("rewritten", other, second, N * 4);
	print_buffer("plain", q, m, N * 4);
}

/* As a compiler's end: registered when it runs for the first time. */
static void compilers_end(void)
{
	char text[4096] = "";
	FILE *f = fopen(getenv("SPY_OUT"), "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	puts(strstr(text, "built") ? "the compiler ends after the build" : "the compiler ends in the build");
	fflush(stdout);
}

static void end_in_build(bool forks)
{
	cl_command_queue other = queue_new(IN_ORDER);
	int status;
	pid_t pid;

	launch(other, kernel_of(program_build(groups, "")), N, 0, NULL, NULL);
	must(clFlush(other));
	ready();
	if (!forks) {
		atexit(compilers_end);
		return;
	}
	pid = fork();
	if (!pid)
		exit(3);
	printf("%d\n", waitpid(pid, &status, 0) == pid ? status : -1);
}

static void end_in_question(void)
{
	static const char asks[] =
		"__kernel void k(__global uint *o) {\n"
		"#ifdef cl_khr_fp64\n"
		"	o[get_global_id(0)] += get_num_groups(0);\n"
		"#endif\n"
		"}";

	launch(q, kernel_of(program_build(asks, "")), N, 0, NULL, NULL);
	must(clFlush(q));
	ready();
}

#define KERNELS_MAX 32

static void keep_many(int n)
{
	char source[KERNELS_MAX * 128] = "";
	cl_kernel kernels[KERNELS_MAX];
	cl_program p;
	char name[8];
	int i, round;
	cl_int rc;
	size_t at;

	for (i = 0, at = 0; i < n && i < KERNELS_MAX; i++)
		at += (size_t)snprintf(source + at, sizeof(source) - at,
				       "__kernel void k%d(__global uint *o)\n"
				       "{ o[get_global_id(0)] += get_num_groups(0) + %d; }\n", i, i);
	p = program_build(source, "");
	n = i;
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		kernels[i] = clCreateKernel(p, name, &rc);
		must(rc);
		arg_mem(kernels[i], 0, m);
	}
	for (round = 0; round < 2; round++) {
		for (i = 0; i < n; i++) {
			launch(q, kernels[i], N, 0, NULL, NULL);
			must(clFinish(q));
		}
		print_buffer("kept", q, m, N * 4);
		while (getchar() == ' ')
			;
	}
}

/* The first one's program has yet to be read for the one device, as the second's for the other. */
static void two_devices(void)
{
	cl_device_id ids[2];
	cl_command_queue queues[2];
	cl_kernel kernels[2];
	cl_mem memory[2];
	cl_int rc;
	int i;

	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, ids, NULL));
	context = clCreateContext(NULL, 2, ids, NULL, NULL, &rc);
	must(rc);
	for (i = 0; i < 2; i++) {
		device = ids[i];
		queues[i] = queue_new(IN_ORDER);
		m = memory[i] = buffer_new(N * 4);
		kernels[i] = kernel_of(program_build(groups, i ? "-DOTHER" : ""));
	}
	launch(queues[0], kernels[0], N, 0, NULL, NULL);
	must(clFlush(queues[0]));
	puts("enqueued");
	while (getchar() == ' ')
		;
	launch(queues[1], kernels[1], N, 0, NULL, NULL);
	print_buffer("the one", queues[1], memory[1], N * 4);
	ready();
	print_buffer("the other", queues[0], memory[0], N * 4);
}

static void balance(void)
{
	char options[32];
	cl_program p;
	cl_kernel kernel;
	int i;

	for (i = 0; i < 4; i++) {
		snprintf(options, sizeof(options), "-DROUND=%d", i);
		p = program_build(groups, options);
		kernel = kernel_of(p);
		launch(q, kernel, N, 0, NULL, NULL);
		must(clFinish(q));
		must(clReleaseKernel(kernel));
		must(clReleaseProgram(p));
	}
	print_buffer("balance", q, m, N * 4);
	ready();
}

static void *let_go(void *arg)
{
	usleep(100000);
	must(clSetUserEventStatus(arg, CL_COMPLETE));
	return NULL;
}

/*
 * The driver refuses to build while the launch has its kernel, and the layer tries again for
 * a while; the event is set meanwhile. Without a layer there is nothing but the refusal.
 */
static void rebuilt(void)
{
	static const char value[] =
		"__kernel void k(__global uint *o) { o[get_global_id(0)] = get_num_groups(0) + V; }";
	cl_program p = program_build(value, "-DV=1000");
	cl_kernel kernel = kernel_of(p);
	pthread_t thread;
	cl_event user;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
	launch(q, kernel, N, 1, &user, NULL);
	must(clFlush(q));
	must(clReleaseKernel(kernel));
	must(pthread_create(&thread, NULL, let_go, user));
	do {
		rc = clBuildProgram(p, 1, &device, "-DV=2000", NULL, NULL);
	} while (rc == CL_INVALID_OPERATION);
	must(rc);
	must(pthread_join(thread, NULL));
	must(clFinish(q));
	print_buffer("as it was", q, m, N * 4);
	launch(q, kernel_of(p), N, 0, NULL, NULL);
	print_buffer("as it is", q, m, N * 4);
}

static void *finish_meanwhile(void *arg)
{
	usleep(200000);
	must(clFinish(arg));
	return NULL;
}

/* Another thread's wait says nothing of a write that isn't in the queue yet. */
static void finished(void)
{
	static const cl_uint data[N] = { 7 };
	pthread_t thread;
	cl_event user;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
	must(pthread_create(&thread, NULL, finish_meanwhile, q));
	must(clEnqueueWriteBuffer(q, m, CL_FALSE, 0, sizeof(data), data, 1, &user, NULL));
	/* If it came before that wait it must be done for it to end. */
	usleep(400000);
	launch(q, k, N, 0, NULL, NULL);
	must(clFlush(q));
	usleep(200000);
	must(clSetUserEventStatus(user, CL_COMPLETE));
	must(pthread_join(thread, NULL));
	must(clFinish(q));
	print_buffer("finished", q, m, N * 4);
}

/* Behind a launch that has the device, a write waits for one that is still to have it. */
static void blocked(void)
{
	static const cl_uint data[N] = { 7 };
	cl_command_queue other = queue_new(IN_ORDER);
	cl_mem second = buffer_new(N * 4);
	pthread_t thread;
	cl_event user, e;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
	must(pthread_create(&thread, NULL, let_go, user));
	launch(q, k, N, 0, NULL, NULL);
	launch(other, k, N, 1, &user, &e);
	must(clFlush(other));
	must(clEnqueueWriteBuffer(q, second, CL_FALSE, 0, sizeof(data), data, 1, &e, NULL));
	must(clFinish(q));
	must(pthread_join(thread, NULL));
	print_buffer("blocked", q, m, N * 4);
	print_buffer("written", q, second, N * 4);
}

static void stall_in_release(void)
{
	static const cl_uint data[N];
	cl_command_queue other = queue_new(IN_ORDER);
	cl_mem second = buffer_new(N * 4);
	cl_event first, user, written;
	cl_int rc;

	first = clCreateUserEvent(context, &rc);
	must(rc);
	user = clCreateUserEvent(context, &rc);
	must(rc);
	launch(other, k, N, 1, &first, NULL);
	must(clEnqueueWriteBuffer(other, second, CL_FALSE, 0, sizeof(data), data, 1, &user,
				  &written));
	must(clFlush(other));
	must(clReleaseCommandQueue(other));
	must(clSetUserEventStatus(first, CL_COMPLETE));
	launch(q, k, N, 1, &first, NULL);
	must(clFinish(q));
	/* By now the launch in the other queue is over as well, as it came first. */
	launch(q, k, N, 0, NULL, NULL);
	must(clFinish(q));
	ready();
	must(clSetUserEventStatus(user, CL_COMPLETE));
	wait_one(written);
	print_buffer("release", q, m, N * 4);
}

static void refused(void)
{
	cl_event user, e;
	cl_int rc;
	int i;

	for (i = 0; i < 2; i++) {
		q = queue_new(IN_ORDER);
		user = clCreateUserEvent(context, &rc);
		must(rc);
		launch(q, k, N, i ? 0 : 1, i ? NULL : &user, &e);
		must(clFlush(q));
		must(clSetUserEventStatus(user, CL_COMPLETE));
		clWaitForEvents(1, &e);
		printf("%d\n", status_of(e));
	}
	print_buffer("refused", q, m, N * 4);
}

/* Of all numbers of groups: PoCL compiles a form of its own for more than there were. */
static void required(void)
{
	static const char reqd[] =
		"__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k(__global uint *o)\n"
		"{ uint x = get_global_id(0);\n"
		"for (uint i = 0; i < 2000; i++) x = x * 1664525u + get_num_groups(0);\n"
		"o[get_global_id(0)] += x; }";
	cl_kernel kernel = kernel_of(program_build(reqd, ""));
	size_t i;

	for (i = 0; i < 256; i++)
		launch(q, kernel, (1 + i / 4) * 64, 0, NULL, NULL);
	print_buffer("required", q, m, N * 4);
}

static void plan(int n)
{
	static const char asks[] =
		"__kernel void k(__global uint *o) { uint x = get_global_id(0) + ROUND;\n"
		"#ifdef cl_khr_fp64\n"
		"	x += 1;\n"
		"#endif\n"
		"	for (uint i = 0; i < 500; i++) x = x * 1664525u + get_num_groups(0);\n"
		"	o[get_global_id(0) % 4096] = x; }";
	cl_command_queue second = queue_new(IN_ORDER);
	char options[32];
	cl_kernel longer;
	int i;

	for (i = 0; i < n; i++) {
		snprintf(options, sizeof(options), "-DROUND=%d", i);
		longer = kernel_of(program_build(asks, options));
		/* The first may have to wait for the grant, which then stands. */
		launch(q, k, N, 0, NULL, NULL);
		must(clFinish(q));
		launch(q, k, N, 0, NULL, NULL);
		launch(second, longer, N * 32, 0, NULL, NULL);
		must(clFlush(second));
		must(clFinish(second));
		must(clFinish(q));
		must(clReleaseKernel(longer));
	}
	printf("%d planned\n", n);
}

static const char spins[] = "__kernel void k(__global uint *o, int n) {\n"
"uint x = get_global_id(0);\n"
"for (int i = 0; i < n; i++) x = x * 1664525u + 1013904223u + (x >> 7);\n"
"o[get_global_id(0)] = x; }";

static cl_kernel spinning(int n)
{
	cl_kernel kernel = kernel_of(program_build(spins, ""));

	arg_int(kernel, 1, n);
	return kernel;
}

static int past_over;			/* atomic */

static void *launch_past(void *steps)
{
	cl_command_queue own = queue_new(IN_ORDER);
	cl_kernel kernel = spinning(*(int *)steps);

	while (!__atomic_load_n(&past_over, __ATOMIC_RELAXED)) {
		launch(own, kernel, N, 0, NULL, NULL);
		must(clFinish(own));
	}
	return NULL;
}

/* The short ones take 3 ms, as long as the machine needs for it. */
static void past(void)
{
	cl_command_queue other = queue_new(IN_ORDER);
	pthread_t threads[4];
	cl_kernel longer;
	double begun;
	int steps = 100, i;
	cl_event e;

	longer = spinning(steps);
	do {
		steps += steps / 4;
		arg_int(longer, 1, steps);
		begun = now();
		launch(other, longer, N, 0, NULL, NULL);
		must(clFinish(other));
	} while (now() - begun < 0.003);
	arg_int(longer, 1, 10 * steps);
	for (i = 0; i < 3; i++) {
		launch(other, longer, N, 0, NULL, NULL);
		must(clFinish(other));
	}
	for (i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, launch_past, &steps))
			abort();
	usleep(500000);
	begun = now();
	launch(other, longer, N, 0, NULL, &e);
	must(clFlush(other));
	while (status_of(e) > CL_COMPLETE && now() - begun < 10)
		usleep(1000);
	puts(status_of(e) == CL_COMPLETE ? "over" : "not over");
	__atomic_store_n(&past_over, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	cl_int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return 1;
	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	q = queue_new(strcmp(argv[1], "barrier") && strcmp(argv[1], "unordered") ?
		      IN_ORDER : OUT_OF_ORDER);
	m = buffer_new(N * 4);
	k = kernel_of(program_build(text, ""));
	/* Some can't have the device. */
	if (strcmp(argv[1], "ask") && strcmp(argv[1], "devices"))
		warm_up();
	if (!strcmp(argv[1], "refused"))
		refused();
	else if (!strcmp(argv[1], "build"))
		stall_in_build();
	else if (!strcmp(argv[1], "end") || !strcmp(argv[1], "fork"))
		end_in_build(!strcmp(argv[1], "fork"));
	else if (!strcmp(argv[1], "ask"))
		end_in_question();
	else if (!strcmp(argv[1], "kept") && argc > 2)
		keep_many(atoi(argv[2]));
	else if (!strcmp(argv[1], "devices"))
		two_devices();
	else if (!strcmp(argv[1], "balance"))
		balance();
	else if (!strcmp(argv[1], "finished"))
		finished();
	else if (!strcmp(argv[1], "blocked"))
		blocked();
	else if (!strcmp(argv[1], "rebuilt"))
		rebuilt();
	else if (!strcmp(argv[1], "release"))
		stall_in_release();
	else if (!strcmp(argv[1], "required"))
		required();
	else if (!strcmp(argv[1], "past"))
		past();
	else if (!strcmp(argv[1], "plan") && argc > 2)
		plan(atoi(argv[2]));
	else
		stall(argv[1]);
	return 0;
}
