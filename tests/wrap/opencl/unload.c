// SPDX-License-Identifier: MIT
/*
 * A program that loads OpenCL by itself and unloads it while a launch runs, as some do
 * when they end. What is left of it there must not run into what is gone; and loaded
 * again it is what it was. Prints what each time's launch is. With an argument it is unloaded
 * once, and then it ends when its input does.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ITEMS	(1 << 15)

static void *lib;

static void *find(const char *name)
{
	void *found = dlsym(lib, name);

	if (found)
		return found;
	printf("no %s\n", name);
	exit(1);
}

#define FIND(name) __typeof__(name) *p_##name = (__typeof__(name) *)find(#name)

static void must(cl_int rc, const char *what)
{
	if (rc == CL_SUCCESS)
		return;
	printf("%s: %d\n", what, rc);
	exit(1);
}

static void launch_and_unload(void)
{
	static const char *text =
		"__kernel void k(__global uint *o) { uint x = get_global_id(0);\n"
		"for (uint i = 0; i < 20000; i++) x = x * 1664525u + 1013904223u + (x >> 7);\n"
		"o[get_global_id(0)] = x + get_num_groups(0); }";
	const size_t items = ITEMS, local = 64;
	cl_platform_id platform;
	cl_context context;
	cl_command_queue q;
	cl_device_id id;
	cl_program p;
	cl_kernel k;
	cl_mem m;
	cl_int rc;

	lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		puts(dlerror());
		exit(1);
	}
	FIND(clGetPlatformIDs);
	FIND(clGetDeviceIDs);
	FIND(clCreateContext);
	FIND(clCreateCommandQueue);
	FIND(clCreateProgramWithSource);
	FIND(clBuildProgram);
	FIND(clCreateKernel);
	FIND(clCreateBuffer);
	FIND(clSetKernelArg);
	FIND(clEnqueueNDRangeKernel);
	FIND(clFlush);
	must(p_clGetPlatformIDs(1, &platform, NULL), "platform");
	must(p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL), "device");
	context = p_clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
	must(rc, "context");
	q = p_clCreateCommandQueue(context, id, CL_QUEUE_PROFILING_ENABLE, &rc);
	must(rc, "queue");
	p = p_clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	must(rc, "program");
	must(p_clBuildProgram(p, 1, &id, "", NULL, NULL), "build");
	k = p_clCreateKernel(p, "k", &rc);
	must(rc, "kernel");
	m = p_clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * 4, NULL, &rc);
	must(rc, "buffer");
	must(p_clSetKernelArg(k, 0, sizeof(m), &m), "argument");
	must(p_clEnqueueNDRangeKernel(q, k, 1, NULL, &items, &local, 0, NULL, NULL), "launch");
	must(p_clFlush(q), "flush");
	if (dlclose(lib))
		exit(1);
	puts("launched");
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_sec = 2 };

	(void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	launch_and_unload();
	while (argc > 1 && getchar() != EOF)
		;
	if (argc > 1)
		return 0;
	/* The launch ends, and is seen to, if anybody is there to see. */
	nanosleep(&pause, NULL);
	launch_and_unload();
	nanosleep(&pause, NULL);
	puts("end");
	return 0;
}
