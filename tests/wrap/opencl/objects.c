// SPDX-License-Identifier: MIT
/* Memory, programs, devices: the rest of what passes through the layer. */
#include <unistd.h>

#include "api.h"

SCENARIO(buffers)
{
	const size_t at[3] = { 4, 2, 0 }, host[3] = { 0 }, region[3] = { 16, 8, 1 };
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem a = buffer_new(4096), b = buffer_new(4096);
	unsigned char data[4096], rect[128];
	const cl_uint pattern = 0x01020304;
	cl_int rc;
	char *p;
	int i;

	for (i = 0; i < 4096; i++)
		data[i] = (unsigned char)(i * 3);
	must(clEnqueueWriteBuffer(q, a, CL_FALSE, 0, 4096, data, 0, NULL, NULL));
	must(clEnqueueCopyBuffer(q, a, b, 0, 1024, 2048, 0, NULL, NULL));
	must(clEnqueueFillBuffer(q, b, &pattern, 4, 0, 512, 0, NULL, NULL));
	print_buffer("filled and copied", q, b, 4096);
	must(clEnqueueReadBufferRect(q, a, CL_TRUE, at, host, region, 64, 0, 16, 0, rect, 0, NULL,
				     NULL));
	printf("rect %016llx\n", (unsigned long long)hash(rect, sizeof(rect)));
	must(clEnqueueWriteBufferRect(q, b, CL_TRUE, at, host, region, 64, 0, 16, 0, rect, 0, NULL,
				      NULL));
	must(clEnqueueCopyBufferRect(q, b, a, at, host, region, 64, 0, 64, 0, 0, NULL, NULL));
	print_buffer("rectangles", q, a, 4096);
	p = clEnqueueMapBuffer(q, a, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096, 0, NULL, NULL,
			       &rc);
	must(rc);
	memset(p, 5, 100);
	must(clEnqueueUnmapMemObject(q, a, p, 0, NULL, NULL));
	must(clEnqueueMigrateMemObjects(q, 1, &a, 0, 0, NULL, NULL));
	must(clEnqueueMarker(q, &(cl_event){ NULL }));
	print_buffer("mapped", q, a, 4096);
	must(clFlush(q));
	must(clFinish(q));
	must(clReleaseMemObject(a));
	must(clReleaseMemObject(b));
	must(clReleaseCommandQueue(q));
}

SCENARIO(images)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const size_t at[3] = { 0 }, all[3] = { 16, 16, 1 };
	const cl_uint colour[4] = { 1, 2, 3, 4 };
	cl_command_queue q = queue_new(IN_ORDER);
	unsigned char pixels[16 * 16 * 4];
	cl_mem a, b, m = buffer_new(sizeof(pixels));
	size_t i, row;
	cl_int rc;
	void *p;

	for (i = 0; i < sizeof(pixels); i++)
		pixels[i] = (unsigned char)(i * 5);
	a = clCreateImage2D(context, CL_MEM_READ_WRITE, &format, 16, 16, 0, NULL, &rc);
	must(rc);
	b = clCreateImage2D(context, CL_MEM_READ_WRITE, &format, 16, 16, 0, NULL, &rc);
	must(rc);
	must(clEnqueueWriteImage(q, a, CL_TRUE, at, all, 0, 0, pixels, 0, NULL, NULL));
	must(clEnqueueFillImage(q, b, colour, at, (size_t[3]){ 8, 8, 1 }, 0, NULL, NULL));
	must(clEnqueueCopyImage(q, a, b, (size_t[3]){ 8, 8, 0 }, (size_t[3]){ 8, 8, 0 },
				(size_t[3]){ 8, 8, 1 }, 0, NULL, NULL));
	must(clEnqueueCopyImageToBuffer(q, a, m, at, all, 0, 0, NULL, NULL));
	print_buffer("image in a buffer", q, m, sizeof(pixels));
	must(clEnqueueCopyBufferToImage(q, m, b, 0, at, (size_t[3]){ 16, 4, 1 }, 0, NULL, NULL));
	p = clEnqueueMapImage(q, b, CL_TRUE, CL_MAP_READ, at, all, &row, NULL, 0, NULL, NULL, &rc);
	must(rc);
	printf("row %zu, first %02x\n", row, *(unsigned char *)p);
	must(clEnqueueUnmapMemObject(q, b, p, 0, NULL, NULL));
	memset(pixels, 0, sizeof(pixels));
	must(clEnqueueReadImage(q, a, CL_TRUE, at, all, 0, 0, pixels, 0, NULL, NULL));
	printf("read %016llx\n", (unsigned long long)hash(pixels, sizeof(pixels)));
	must(clReleaseMemObject(a));
	must(clReleaseMemObject(b));
	must(clReleaseMemObject(m));
	must(clReleaseCommandQueue(q));
}

/* What few programs use. Where a driver has none of it, its error is what is compared. */
SCENARIO(seldom_used)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8,
				     .image_height = 8 };
	const cl_sampler_properties nearest[] = { CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST, 0 };
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_sampler sampler;
	cl_mem m;
	char name[256];
	cl_int rc;

	m = clCreateImage3D(context, CL_MEM_READ_WRITE, &format, 8, 8, 2, 0, 0, NULL, &rc);
	printf("image of three dimensions: %d\n", rc);
	if (m)
		must(clReleaseMemObject(m));
	m = clCreateImageWithProperties(context, NULL, CL_MEM_READ_WRITE, &format, &desc, NULL,
					&rc);
	printf("image with properties: %d\n", rc);
	if (m)
		must(clReleaseMemObject(m));
	m = clCreatePipe(context, CL_MEM_HOST_NO_ACCESS, 4, 16, NULL, &rc);
	printf("pipe: %d\n", rc);
	if (m)
		must(clReleaseMemObject(m));
	sampler = clCreateSamplerWithProperties(context, nearest, &rc);
	printf("sampler: %d\n", rc);
	if (sampler) {
		must(clRetainSampler(sampler));
		must(clReleaseSampler(sampler));
		must(clReleaseSampler(sampler));
	}
	must(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL));
	printf("platform: %s\n", name);
	m = clCreateBufferWithProperties(context, NULL, CL_MEM_READ_WRITE, N * 4, NULL, &rc);
	must(rc);
	must(clEnqueueFillBuffer(q, m, &(int){ 3 }, 4, 0, N * 4, 0, NULL, NULL));
	arg_mem(k, 0, m);
	arg_int(k, 1, 4);
	launch(q, k, N, 0, NULL, NULL);
	print_buffer("buffer with properties", q, m, N * 4);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

/* A write that blocks may return before it is done: only the queue's order counts. */
SCENARIO(what_is_written_before)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(N * 4);
	static cl_int data[N];
	int i, wrong = 0;

	arg_mem(k, 0, m);
	arg_int(k, 1, 1000);
	for (i = 0; i < 30; i++) {
		data[0] = data[N - 1] = i;
		must(clEnqueueWriteBuffer(q, m, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
		launch(q, k, N, 0, NULL, NULL);
		must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
		wrong += data[0] != 1000 + i || data[N - 1] != 1000 + i;
		data[1] = i;
	}
	printf("wrong %d\n", wrong);
	must(clReleaseKernel(k));
	must(clReleaseMemObject(m));
	must(clReleaseCommandQueue(q));
}

static void CL_CALLBACK destroyed(cl_mem m, void *data)
{
	(void)m;
	__atomic_add_fetch((int *)data, 1, __ATOMIC_RELEASE);
}

SCENARIO(parents_and_children)
{
	cl_buffer_region region = { 1024, 1024 };
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	cl_mem m = buffer_new(4096), sub;
	size_t size, offset;
	int ends = 0, i;
	cl_int rc;

	must(clSetMemObjectDestructorCallback(m, destroyed, &ends));
	sub = clCreateSubBuffer(m, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
	must(rc);
	must(clGetMemObjectInfo(sub, CL_MEM_SIZE, sizeof(size), &size, NULL));
	must(clGetMemObjectInfo(sub, CL_MEM_OFFSET, sizeof(offset), &offset, NULL));
	printf("%zu bytes at %zu\n", size, offset);
	arg_mem(k, 0, sub);
	arg_int(k, 1, 9);
	launch(q, k, 256, 0, NULL, NULL);
	print_buffer("part", q, m, 4096);
	must(clReleaseKernel(k));
	must(clReleaseMemObject(m));
	printf("ends %d\n", __atomic_load_n(&ends, __ATOMIC_RELAXED));
	must(clReleaseMemObject(sub));
	must(clFinish(q));
	/* What has run may be cleaned up a moment later. */
	for (i = 0; !__atomic_load_n(&ends, __ATOMIC_ACQUIRE) && i < 10000; i++)
		usleep(1000);
	printf("ends %d\n", ends);
	must(clReleaseCommandQueue(q));
}

SCENARIO(shared_virtual_memory)
{
	cl_device_svm_capabilities can = 0;
	cl_command_queue q = queue_new(IN_ORDER);
	cl_kernel k = kernel_new("add");
	const int pattern = 4;
	int *p, *p2;
	void *both[2];

	clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL);
	if (!(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
		puts("none");
		return;
	}
	p = clSVMAlloc(context, CL_MEM_READ_WRITE, N * 4, 0);
	p2 = clSVMAlloc(context, CL_MEM_READ_WRITE, N * 4, 0);
	must(!p || !p2);
	must(clEnqueueSVMMemFill(q, p, &pattern, 4, N * 4, 0, NULL, NULL));
	must(clSetKernelArgSVMPointer(k, 0, p));
	arg_int(k, 1, 100);
	must(clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(p), &p));
	launch(q, k, N, 0, NULL, NULL);
	must(clSetKernelArgSVMPointer(k, 0, p2));
	must(clEnqueueSVMMemcpy(q, CL_FALSE, p2, p, N * 4, 0, NULL, NULL));
	launch(q, k, N, 0, NULL, NULL);
	must(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_READ, p2, N * 4, 0, NULL, NULL));
	printf("%d %d %016llx\n", p2[0], p2[N - 1], (unsigned long long)hash(p2, N * 4));
	must(clEnqueueSVMUnmap(q, p2, 0, NULL, NULL));
	must(clEnqueueSVMMigrateMem(q, 1, (const void **)&p, NULL, 0, 0, NULL, NULL));
	must(clFinish(q));
	both[0] = p;
	must(clEnqueueSVMFree(q, 1, both, NULL, NULL, 0, NULL, NULL));
	must(clFinish(q));
	clSVMFree(context, p2);
	must(clReleaseKernel(k));
	must(clReleaseCommandQueue(q));
}

static void try_program(const char *what, cl_program p)
{
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(N * 4);
	cl_kernel k;
	cl_int rc;

	k = clCreateKernel(p, "k", &rc);
	must(rc);
	arg_mem(k, 0, m);
	launch(q, k, N, 0, NULL, NULL);
	launch(q, k, N, 0, NULL, NULL);
	print_buffer(what, q, m, N * 4);
	must(clReleaseKernel(k));
	must(clReleaseMemObject(m));
	must(clReleaseCommandQueue(q));
}

SCENARIO(programs)
{
	static const char *const text =
		"#define NAME(x) x\n"
		"int helper(int a) { return a * K + (int)get_group_id(0); }\n"
		"__kernel void NAME(k)(__global int *o) { o[get_global_id(0)] += helper(get_global_id(0)); }\n"
		"__kernel void other(__global int *o, float f) { o[0] = f; }\n";
	const char *parts[2] = { text, text + 20 };
	size_t lengths[2] = { 20, 0 }, size;
	cl_program p = clCreateProgramWithSource(context, 2, parts, lengths, &(cl_int){ 0 }), p2;
	unsigned char *binary;
	cl_kernel kernels[2];
	char info[600];
	cl_uint n, i;
	cl_int rc;

	printf("bad options: %d\n", clBuildProgram(p, 1, &device, "-DK=", NULL, NULL) != CL_SUCCESS);
	must(clBuildProgram(p, 1, &device, "-DK=3 -cl-mad-enable", NULL, NULL));
	try_program("built", p);
	must(clBuildProgram(p, 1, &device, "-D K=5", NULL, NULL));
	try_program("built anew", p);
	must(clGetProgramInfo(p, CL_PROGRAM_SOURCE, sizeof(info), info, &size));
	printf("source %d\n", !strcmp(info, text));
	must(clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_OPTIONS, sizeof(info), info, NULL));
	printf("options \"%s\"\n", info);
	must(clGetProgramInfo(p, CL_PROGRAM_KERNEL_NAMES, sizeof(info), info, NULL));
	printf("kernels %zu\n", strlen(info));
	must(clCreateKernelsInProgram(p, 2, kernels, &n));
	for (i = 0; i < n; i++) {
		must(clGetKernelInfo(kernels[i], CL_KERNEL_NUM_ARGS, sizeof(rc), &rc, NULL));
		must(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(info), info,
				     NULL));
		printf("%s has %d\n", info, rc);
		must(clRetainKernel(kernels[i]));
		must(clReleaseKernel(kernels[i]));
		must(clReleaseKernel(kernels[i]));
	}

	must(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	binary = malloc(size);
	must(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
	p2 = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary,
				       NULL, &rc);
	must(rc);
	must(clBuildProgram(p2, 1, &device, "", NULL, NULL));
	try_program("from its binary", p2);
	must(clReleaseProgram(p2));
	free(binary);
	must(clRetainProgram(p));
	must(clReleaseProgram(p));
	must(clReleaseProgram(p));

	p = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &rc);
	must(rc);
	must(clCompileProgram(p, 1, &device, "-DK=11", 0, NULL, NULL, NULL, NULL));
	p2 = clLinkProgram(context, 1, &device, "", 1, &p, NULL, NULL, &rc);
	must(rc);
	must(clReleaseProgram(p));
	try_program("compiled and linked", p2);
	must(clReleaseProgram(p2));
}

/* What it calls, and what that knows, stands in another source; and a header in both. */
SCENARIO(program_linked_of_several)
{
#define HEADER "typedef struct { int a, b; } pair;\nstatic int sum(pair p) { return p.a + p.b; }\n"
	const char *text[] = {
		HEADER "int where(pair p);\n__kernel void k(__global int *o) {\n"
		"pair p = { 1, N }; o[get_global_id(0)] += where(p) + sum(p); }\n",
		HEADER "int where(pair p) { return sum(p) * ((int)get_group_id(0) + N); }\n",
		"int unused(int x) { return x; }\n",
	};
	cl_program p[3], p2;
	cl_uint i, n;
	cl_int rc;

	for (n = 2; n <= 3; n++) {
		for (i = 0; i < n; i++) {
			p[i] = clCreateProgramWithSource(context, 1, &text[i], NULL, &rc);
			must(rc);
			/* each has its own */
			must(clCompileProgram(p[i], 1, &device, i ? "-DN=5" : "-DN=3", 0, NULL, NULL,
					      NULL, NULL));
		}
		p2 = clLinkProgram(context, 1, &device, "", n, p, NULL, NULL, &rc);
		must(rc);
		for (i = 0; i < n; i++)
			must(clReleaseProgram(p[i]));
		try_program("linked of several", p2);
		must(clReleaseProgram(p2));
	}
#undef HEADER
}

static void CL_CALLBACK built(cl_program p, void *data)
{
	(void)p;
	__atomic_store_n((int *)data, 1, __ATOMIC_RELEASE);
}

/* One includes the other; they go when they were compiled. */
SCENARIO(program_with_headers)
{
	const char *text[] = {
		"#include <where.h>\n"
		"__kernel void k(__global int *o) { o[get_global_id(0)] += where(BASE); }",
		"#include \"inc/factor.h\"\n"
		"int where(int x) { return x * FACTOR + (int)get_group_id(0); }",
		"#define FACTOR 2\n",
		"#define FACTOR 3\n",
	};
	const char *names[] = { "where.h", "inc/factor.h" };
	cl_program p[4], linked;
	cl_uint i, j;
	cl_int rc;

	for (i = 0; i < 4; i++) {
		p[i] = clCreateProgramWithSource(context, 1, &text[i], NULL, &rc);
		must(rc);
	}
	for (i = 0; i < 2; i++) {
		/* Not all drivers compile a program twice. */
		rc = clCompileProgram(p[0], 1, &device, "-DBASE=100", 2,
				      i ? (cl_program[]){ p[1], p[3] } : &p[1], names, NULL, NULL);
		printf("compiled: %d\n", rc);
		linked = clLinkProgram(context, 1, &device, NULL, 1, p, NULL, NULL, &rc);
		must(rc);
		for (j = 0; i && j < 4; j++)
			must(clReleaseProgram(p[j]));
		try_program("with headers", linked);
		must(clReleaseProgram(linked));
	}
}

SCENARIO(program_with_callback)
{
	const char *text;
	cl_program p;
	int done = 0;
	cl_int rc;

	text = "__kernel void k(__global int *o) { o[get_global_id(0)] -= 1; }";
	p = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	must(rc);
	must(clBuildProgram(p, 1, &device, NULL, built, &done));
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		;
	try_program("with a callback", p);
	must(clReleaseProgram(p));
}

SCENARIO(sub_devices)
{
	const cl_device_partition_property by[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	cl_device_id parts[64];
	cl_command_queue q;
	cl_context c;
	cl_program p;
	cl_kernel k;
	cl_uint n = 0;
	cl_mem m;
	cl_int rc, v[64];
	const size_t size = 64;
	const char *text = "__kernel void k(__global int *o) { o[get_global_id(0)] = 3 * get_global_id(0); }";

	if (clCreateSubDevices(device, by, 64, parts, &n) != CL_SUCCESS || !n) {
		puts("none");
		return;
	}
	c = clCreateContext(NULL, 1, parts, NULL, NULL, &rc);
	must(rc);
	q = clCreateCommandQueueWithProperties(c, parts[0], NULL, &rc);
	must(rc);
	p = clCreateProgramWithSource(c, 1, &text, NULL, &rc);
	must(rc);
	must(clBuildProgram(p, 1, parts, "", NULL, NULL));
	k = clCreateKernel(p, "k", &rc);
	must(rc);
	m = clCreateBuffer(c, CL_MEM_READ_WRITE, sizeof(v), NULL, &rc);
	must(rc);
	arg_mem(k, 0, m);
	must(clEnqueueNDRangeKernel(q, k, 1, NULL, &size, NULL, 0, NULL, NULL));
	must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof(v), v, 0, NULL, NULL));
	printf("%d %d\n", v[1], v[63]);
	must(clReleaseMemObject(m));
	must(clReleaseKernel(k));
	must(clReleaseProgram(p));
	must(clReleaseCommandQueue(q));
	must(clReleaseContext(c));
	while (n)
		must(clReleaseDevice(parts[--n]));
}

static void CL_CALLBACK native(void *args)
{
	++**(int **)args;
}

SCENARIO(native_kernels)
{
	cl_device_exec_capabilities can = 0;
	cl_command_queue q = queue_new(IN_ORDER);
	int n = 0, *p = &n;

	must(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL));
	if (can & CL_EXEC_NATIVE_KERNEL)
		must(clEnqueueNativeKernel(q, native, &p, sizeof(p), 0, NULL, NULL, 0, NULL, NULL));
	must(clFinish(q));
	printf("called %d\n", can & CL_EXEC_NATIVE_KERNEL ? n : 1);
	must(clReleaseCommandQueue(q));
}

/* A build that is refused leaves the program as it was built before. */
SCENARIO(refused_build)
{
	cl_program p = program_build("__kernel void k(__global uint *o)\n"
				     "{ o[get_global_id(0)] = X + get_num_groups(0); }", "-DX=10");
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(N * 4);
	cl_kernel k;
	cl_int rc;

	rc = clBuildProgram(p, 0, &device, "-DX=20", NULL, NULL);
	printf("a list of no devices: %d\n", rc);
	rc = clBuildProgram(p, 1, &device, "-DX=30", NULL, p);
	printf("data for no callback: %d\n", rc);
	k = clCreateKernel(p, "k", &rc);
	must(rc);
	arg_mem(k, 0, m);
	launch(q, k, N, 0, NULL, NULL);
	print_buffer("as it was built", q, m, N * 4);
	must(clReleaseKernel(k));
	must(clReleaseProgram(p));
	must(clReleaseMemObject(m));
	must(clReleaseCommandQueue(q));
}
