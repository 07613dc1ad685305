// SPDX-License-Identifier: MIT
/*
 * A program that stalls in the middle of its work: stalls WHERE. It says "ready" and
 * waits for the end of its input; a device that it doesn't use then is to be others'.
 *
 *	write		a launch behind a write that waits for a user event
 *	empty		behind a launch of no items, which no layer can put off, that waits
 *	barrier		out of order, behind a barrier that waits for a user event
 *	other		waits for a command of another queue that waits for a user event
 *	unflushed	a launch that nobody flushes
 *	build		a launch whose kernel must be rewritten to be cut; "ready" is said
 *			when one in another queue is over that came later
 *	release		a queue that it has released waits for a user event; likewise
 *
 * And without a stall:
 *
 *	refused		prints how a launch ends that waited for a user event, and the next
 *	plan N		N times, a short launch that it doesn't wait for, and a long one of a
 *			program that has yet to be read, with a question to the device
 */
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

	m = buffer_new(N * 4);
	k = kernel_of(program_build(text, ""));
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

static void stall(const char *where)
{
	static const cl_uint data[N];
	cl_command_queue other = queue_new(IN_ORDER);
	cl_event user, e;
	cl_int rc;

	user = clCreateUserEvent(context, &rc);
	must(rc);
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
	} else {
		launch(q, k, N, 0, NULL, NULL);
	}
	if (strcmp(where, "unflushed"))
		must(clFlush(q));
	puts("ready");
	while (getchar() != EOF)
		;
	must(clSetUserEventStatus(user, CL_COMPLETE));
	must(clFinish(q));
	print_buffer(where, q, m, N * 4);
}

/* Both have yet to be read. */
static void stall_in_build(void)
{
	static const char groups[] =
		"__kernel void k(__global uint *o) { o[get_global_id(0)] += get_num_groups(0); }";
	cl_command_queue other = queue_new(IN_ORDER);
	cl_kernel rewritten = kernel_of(program_build(groups, ""));
	cl_kernel plain = kernel_of(program_build(text, "-DOTHER"));
	cl_mem second = buffer_new(N * 4);

	arg_mem(rewritten, 0, second);
	launch(other, rewritten, N, 0, NULL, NULL);
	must(clFlush(other));
	launch(q, plain, N, 0, NULL, NULL);
	must(clFinish(q));
	puts("ready");
	while (getchar() != EOF)
		;
	must(clFinish(other));
	print_buffer("rewritten", other, second, N * 4);
	print_buffer("plain", q, m, N * 4);
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
	puts("ready");
	while (getchar() != EOF)
		;
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
	q = queue_new(strcmp(argv[1], "barrier") ? IN_ORDER : OUT_OF_ORDER);
	warm_up();
	if (!strcmp(argv[1], "refused"))
		refused();
	else if (!strcmp(argv[1], "build"))
		stall_in_build();
	else if (!strcmp(argv[1], "release"))
		stall_in_release();
	else if (!strcmp(argv[1], "plan") && argc > 2)
		plan(atoi(argv[2]));
	else
		stall(argv[1]);
	return 0;
}
