// SPDX-License-Identifier: MIT
/* Launches: shapes, arguments, errors. */
#include "api.h"

SCENARIO(shapes)
{
	static const struct {
		cl_uint dims;
		size_t offset[3], global[3], local[3];
	} shapes[] = {
		{ 1, { 0 }, { 1024, 1, 1 }, { 64, 1, 1 } },
		{ 1, { 77 }, { 1000, 1, 1 }, { 8, 1, 1 } },
		{ 1, { 0 }, { 64, 1, 1 }, { 64, 1, 1 } },
		{ 2, { 0 }, { 60, 45, 1 }, { 4, 5, 1 } },
		{ 2, { 3, 9 }, { 4, 400, 1 }, { 4, 1, 1 } },
		{ 3, { 3, 5, 7 }, { 32, 24, 8 }, { 8, 4, 2 } },
		{ 3, { 0 }, { 5, 7, 11 }, { 1, 1, 1 } },
		{ 3, { 0 }, { 3, 3, 300 }, { 3, 3, 1 } },
	};
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("ids");
	size_t i, bytes;
	cl_mem m;

	for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		bytes = shapes[i].global[0] * shapes[i].global[1] * shapes[i].global[2] * 4;
		m = buffer_new(bytes);
		arg_mem(k, 0, m);
		arg_int(k, 1, (cl_int)shapes[i].global[1]);
		arg_int(k, 2, (cl_int)shapes[i].global[2]);
		must(clEnqueueNDRangeKernel(q, k, shapes[i].dims, shapes[i].offset,
					    shapes[i].global, shapes[i].local, 0, NULL, NULL));
		print_buffer("ids", q, m, bytes);
		must(clReleaseMemObject(m));
	}
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

/* What kernels see of dimensions that their launches don't have. */
SCENARIO(missing_dimensions)
{
	static const char text[] =
		"#define AT (get_global_id(0) + 96 * get_global_id(1))\n"
		"int far(int d) { return get_global_id(d) + 5; }\n"
		"__kernel void one(__global int *o) { size_t i = get_global_id(0); o[i] = i + 1; }\n"
		"__kernel void two(__global int *o) { o[AT] = 3 * get_global_id(1) + 7; }\n"
		"__kernel void each(__global int *o)\n"
		"{ int v = 1; for (int d = 0; d < 4; d++) v = 7 * v + far(d); o[AT] = v; }\n"
		"__kernel void how_many(__global int *o) { o[AT] = get_work_dim(); }\n"
		"__kernel void groups(__global int *o)\n"
		"{ o[get_global_id(0)] = get_group_id(0) + 3 * get_num_groups(1) +\n"
		"  5 * get_num_groups(2) + 7 * get_global_size(1) + get_local_size(2); }\n"
		"__kernel void groups_of_each(__global int *o)\n"
		"{ o[AT] = get_group_id(0) + 10 * get_work_dim() + far(2); }\n";
	static const char *const names[] = {
		"one", "two", "each", "how_many", "groups", "groups_of_each",
	};
	static const size_t global[] = { 96, 40, 1 }, local[] = { 8, 1, 1 };
	cl_program p = program_build(text, "");
	cl_command_queue q = queue_new(IN_ORDER);
	cl_uint dims;
	cl_kernel k;
	cl_mem m;
	size_t i;
	cl_int rc;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		k = clCreateKernel(p, names[i], &rc);
		must(rc);
		for (dims = 1; dims <= 3; dims++) {
			m = buffer_new(96 * 40 * 4);
			arg_mem(k, 0, m);
			must(clEnqueueNDRangeKernel(q, k, dims, NULL, global, local, 0, NULL,
						    NULL));
			print_buffer(names[i], q, m, 96 * 40 * 4);
			must(clReleaseMemObject(m));
		}
		must(clReleaseKernel(k));
	}
	must(clReleaseProgram(p));
	must(clReleaseCommandQueue(q));
}

SCENARIO(barriers_and_local_memory)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel add = kernel_new("add"), reduce = kernel_new("reduce");
	cl_mem in = buffer_new(N * 4), out = buffer_new(32 * 4);

	arg_mem(add, 0, in);
	arg_int(add, 1, 3);
	launch(q, add, N, 0, NULL, NULL);
	arg_mem(reduce, 0, in);
	arg_mem(reduce, 1, out);
	must(clSetKernelArg(reduce, 2, 64 * 4, NULL));
	arg_int(reduce, 3, N);
	launch(q, reduce, 32 * 64, 0, NULL, NULL);
	print_buffer("sums", q, out, 32 * 4);
	must(clReleaseMemObject(in));
	must(clReleaseMemObject(out));
	must(clReleaseKernel(add));
	must(clReleaseKernel(reduce));
	must(clReleaseCommandQueue(q));
}

/* What is set after the enqueue is the next one's. */
SCENARIO(arguments_are_those_of_the_enqueue)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_mem a = buffer_new(N * 4), b = buffer_new(N * 4);
	int i;

	for (i = 0; i < 300; i++) {
		arg_mem(k, 0, i % 3 ? a : b);
		arg_int(k, 1, i);
		launch(q, k, N, 0, NULL, NULL);
		if (i % 50 == 49)
			arg_int(k, 1, -1);
	}
	print_buffer("a", q, a, N * 4);
	print_buffer("b", q, b, N * 4);
	must(clReleaseMemObject(a));
	must(clReleaseMemObject(b));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

SCENARIO(kinds_of_arguments)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32,
				     .image_height = 32 };
	const size_t global[] = { 32, 32 }, local[] = { 8, 8 };
	struct { cl_int a[30]; cl_float f; } big;
	unsigned char pixels[32 * 32 * 4];
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("structure");
	cl_mem m = buffer_new(N * 4), image, none = NULL;
	cl_sampler sampler;
	size_t i;
	cl_int rc;

	for (i = 0; i < 30; i++)
		big.a[i] = (cl_int)(i * i);
	big.f = 5;
	arg_mem(k, 0, m);
	must(clSetKernelArg(k, 1, sizeof(big), &big));
	launch(q, k, N, 0, NULL, NULL);
	big.f = 1000;
	print_buffer("structure", q, m, N * 4);
	must(clReleaseKernel(k));

	k = kernel_new("null");
	arg_mem(k, 0, m);
	must(clSetKernelArg(k, 1, sizeof(none), &none));
	launch(q, k, N, 0, NULL, NULL);
	print_buffer("null pointer", q, m, N * 4);
	must(clReleaseKernel(k));

	for (i = 0; i < sizeof(pixels); i++)
		pixels[i] = (unsigned char)(i * 7);
	image = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &desc,
			      pixels, &rc);
	must(rc);
	sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &rc);
	must(rc);
	k = kernel_new("image");
	arg_mem(k, 0, image);
	must(clSetKernelArg(k, 1, sizeof(sampler), &sampler));
	arg_mem(k, 2, m);
	must(clEnqueueNDRangeKernel(q, k, 2, NULL, global, local, 0, NULL, NULL));
	/* All may go before the launch has run. */
	must(clReleaseKernel(k));
	must(clReleaseSampler(sampler));
	must(clReleaseMemObject(image));
	print_buffer("image", q, m, 32 * 32 * 4);
	must(clReleaseMemObject(m));
	must(clReleaseCommandQueue(q));
}

SCENARIO(tasks_and_required_sizes)
{
	const size_t n = 640, right = 32, wrong = 16;
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("reqd"), nothing = kernel_new("nothing"), add = kernel_new("add");
	cl_mem m = buffer_new(n * 4);
	cl_event e;

	arg_mem(k, 0, m);
	must(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &right, 0, NULL, NULL));
	print_buffer("required", q, m, n * 4);
	printf("another size: %d\n", clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &wrong, 0, NULL, NULL));
	must(clEnqueueTask(q, nothing, 0, NULL, NULL));
	arg_mem(add, 0, m);
	arg_int(add, 1, 5);
	must(clEnqueueTask(q, add, 0, NULL, &e));
	wait_one(e);
	print_buffer("task", q, m, n * 4);
	must(clEnqueueNDRangeKernel(q, add, 1, NULL, &n, NULL, 0, NULL, NULL));
	print_buffer("no local size", q, m, n * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseKernel(nothing));
	must(clReleaseKernel(add));
	must(clReleaseCommandQueue(q));
}

/* PoCL 6.0 dies of a group's size of 0, without us as well. */
static bool divides_by_zero(void)
{
	char name[256] = "", version[64] = "";

	clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
	clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	return strstr(name, "Portable Computing Language") && !strncmp(version, "6.", 2);
}

#define SHOW(call) printf("%s: %d\n", #call, (int)(call))

SCENARIO(errors)
{
	const size_t n = 256, zero = 0, local = 64, seven = 7, huge = 1 << 20;
	const size_t three[] = { 4, 4, 4 };
	cl_command_queue q = queue_new(IN_ORDER), q2;
	cl_kernel k = kernel_new("add");
	cl_context other;
	cl_mem m = buffer_new(n * 4);
	cl_event bad = NULL, e, user;
	cl_int rc, v = 1;

	SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &local, 0, NULL, NULL));	/* no arguments */
	SHOW(clSetKernelArg(k, 2, sizeof(v), &v));
	SHOW(clSetKernelArg(k, 1, 2, &v));
	SHOW(clSetKernelArg(k, 1, sizeof(v), NULL));
	arg_int(k, 1, 1);
	SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &local, 0, NULL, NULL));	/* one is missing */
	arg_mem(k, 0, m);
	SHOW(clEnqueueNDRangeKernel(NULL, k, 1, NULL, &n, &local, 0, NULL, NULL));
	SHOW(clEnqueueNDRangeKernel(q, k, 0, NULL, &n, &local, 0, NULL, NULL));
	SHOW(clEnqueueNDRangeKernel(q, k, 4, NULL, three, three, 0, NULL, NULL));
	if (!divides_by_zero())
		SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &zero, 0, NULL, NULL));
	SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &seven, 0, NULL, NULL));
	SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &huge, &huge, 0, NULL, NULL));
	SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &local, 0, &bad, NULL));
	SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &local, 1, &bad, NULL));
	other = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	q2 = clCreateCommandQueue(other, device, 0, &rc);
	must(rc);
	SHOW(clEnqueueNDRangeKernel(q2, k, 1, NULL, &n, &local, 0, NULL, NULL));
	user = clCreateUserEvent(other, &rc);
	must(rc);
	SHOW(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &local, 1, &user, NULL));
	must(clSetUserEventStatus(user, CL_COMPLETE));
	must(clReleaseEvent(user));
	must(clReleaseCommandQueue(q2));
	must(clReleaseContext(other));
	/* After all that, it works. */
	must(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &local, 0, NULL, &e));
	SHOW(clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_START, 8, &(cl_ulong){ 0 }, NULL));
	SHOW(clGetEventInfo(e, CL_EVENT_COMMAND_TYPE, 1, &v, NULL));
	SHOW(clGetEventInfo(e, 0x1234, sizeof(v), &v, NULL));
	SHOW(clSetUserEventStatus(e, CL_COMPLETE));
	wait_one(e);
	print_buffer("works", q, m, n * 4);
	SHOW(clReleaseKernel(NULL));
	SHOW(clReleaseEvent(NULL));
	SHOW(clReleaseMemObject(NULL));
	SHOW(clReleaseCommandQueue(NULL));
	SHOW(clReleaseProgram(NULL));
	SHOW(clWaitForEvents(0, NULL));
	SHOW(clFinish(NULL));
	clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &rc);
	SHOW(rc);
	clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 16, NULL, &rc);
	SHOW(rc);
	SHOW(clCreateKernel(program, "isn't there", &rc) == NULL);
	SHOW(rc);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

SCENARIO(clones)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add"), c;
	cl_mem m = buffer_new(N * 4);
	cl_int rc;

	arg_mem(k, 0, m);
	arg_int(k, 1, 2);
	c = clCloneKernel(k, &rc);
	must(rc);
	arg_int(k, 1, 100);
	launch(q, c, N, 0, NULL, NULL);
	arg_int(c, 1, 7);
	launch(q, c, N, 0, NULL, NULL);
	launch(q, k, N, 0, NULL, NULL);
	print_buffer("clones", q, m, N * 4);
	must(clReleaseKernel(k));
	must(clReleaseKernel(c));
	must(clReleaseMemObject(m));
	must(clReleaseCommandQueue(q));
}

SCENARIO(release_in_any_order)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(N * 4), sub;
	cl_buffer_region half = { 0, N * 2 };
	cl_program p = program_build("__kernel void k(__global int *o) { o[get_global_id(0)] += 7; }", "");
	cl_kernel k;
	cl_event e;
	cl_int rc;
	int i;

	k = clCreateKernel(p, "k", &rc);
	must(rc);
	must(clReleaseProgram(p));
	sub = clCreateSubBuffer(m, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &rc);
	must(rc);
	arg_mem(k, 0, sub);
	for (i = 0; i < 5; i++)
		launch(q, k, N / 2, 0, NULL, i == 4 ? &e : NULL);
	/* A kernel doesn't keep its arguments, but what is enqueued does. */
	must(clReleaseMemObject(sub));
	must(clRetainKernel(k));
	must(clReleaseKernel(k));
	must(clReleaseKernel(k));
	must(clRetainCommandQueue(q));
	must(clReleaseCommandQueue(q));
	must(clRetainEvent(e));
	must(clReleaseEvent(e));
	wait_one(e);
	print_buffer("half", q, m, N * 4);
	launch(q, k = kernel_new("nothing"), N, 0, NULL, &e);
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
	wait_one(e);
	must(clReleaseMemObject(m));
}
