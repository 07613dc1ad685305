// SPDX-License-Identifier: MIT
/*
 * A tenant of the demo: an ordinary OpenCL program that is always busy. It draws
 * a Mandelbrot set again and again, a picture a launch, in two queues so that one
 * draws while it looks at the other's, and has never heard of gpushare.
 *
 *	tenant SECONDS [NAME]
 *
 * At the end, or when it is told by SIGTERM, it prints how many pictures it drew, and
 * a checksum: they must be the same, whoever else was there.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WIDTH		256
#define HEIGHT		256
#define DEPTH		200
#define PIXELS		(WIDTH * HEIGHT)
#define LANES		2

static const char source[] =
"__kernel void picture(__global uint *out, uint width, uint height, uint depth)\n"
"{\n"
"	uint x = get_global_id(0), y = get_global_id(1);\n"
"	float cr = 3.0f * x / width - 2.25f, ci = 2.4f * y / height - 1.2f;\n"
"	float zr = 0, zi = 0, t;\n"
"	uint i;\n"
"\n"
"	for (i = 0; i < depth && zr * zr + zi * zi < 4; i++) {\n"
"		t = zr * zr - zi * zi + cr;\n"
"		zi = 2 * zr * zi + ci;\n"
"		zr = t;\n"
"	}\n"
"	out[y * width + x] = i;\n"
"}\n";

struct lane {
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem picture;
	cl_event drawn;
	cl_uint pixels[PIXELS];
};

struct tenant {
	cl_context context;
	cl_program program;
	struct lane lanes[LANES];
	unsigned long pictures, checksum;	/* of the first */
	bool broken;				/* another one was different */
};

static volatile sig_atomic_t told;

static void on_term(int sig)
{
	(void)sig;
	told = 1;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static bool check(const char *what, cl_int rc)
{
	if (rc != CL_SUCCESS)
		fprintf(stderr, "tenant: %s: OpenCL error %d\n", what, rc);
	return rc == CL_SUCCESS;
}

static bool set_up_lane(struct tenant *t, struct lane *l, cl_device_id device)
{
	const cl_uint width = WIDTH, height = HEIGHT, depth = DEPTH;
	cl_int rc;

	l->queue = clCreateCommandQueue(t->context, device, 0, &rc);
	if (!check("clCreateCommandQueue", rc))
		return false;
	l->kernel = clCreateKernel(t->program, "picture", &rc);
	if (!check("clCreateKernel", rc))
		return false;
	l->picture = clCreateBuffer(t->context, CL_MEM_WRITE_ONLY, sizeof(l->pixels), NULL, &rc);
	return check("clCreateBuffer", rc) &&
		check("argument", clSetKernelArg(l->kernel, 0, sizeof(l->picture), &l->picture)) &&
		check("argument", clSetKernelArg(l->kernel, 1, sizeof(width), &width)) &&
		check("argument", clSetKernelArg(l->kernel, 2, sizeof(height), &height)) &&
		check("argument", clSetKernelArg(l->kernel, 3, sizeof(depth), &depth));
}

static bool set_up(struct tenant *t)
{
	const char *text = source;
	cl_platform_id platform;
	cl_device_id device;
	cl_int rc;
	int i;

	rc = clGetPlatformIDs(1, &platform, NULL);
	if (rc == CL_SUCCESS)
		rc = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	if (!check("no device", rc))
		return false;
	t->context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	if (!check("clCreateContext", rc))
		return false;
	t->program = clCreateProgramWithSource(t->context, 1, &text, NULL, &rc);
	if (!check("clCreateProgramWithSource", rc) ||
	    !check("clBuildProgram", clBuildProgram(t->program, 1, &device, "", NULL, NULL)))
		return false;
	for (i = 0; i < LANES; i++)
		if (!set_up_lane(t, &t->lanes[i], device))
			return false;
	return true;
}

static bool begin_picture(struct lane *l)
{
	const size_t global[] = { WIDTH, HEIGHT }, local[] = { 64, 1 };

	return check("launch", clEnqueueNDRangeKernel(l->queue, l->kernel, 2, NULL, global, local,
						      0, NULL, NULL)) &&
		check("read", clEnqueueReadBuffer(l->queue, l->picture, CL_FALSE, 0,
						  sizeof(l->pixels), l->pixels, 0, NULL,
						  &l->drawn)) &&
		check("flush", clFlush(l->queue));
}

static bool end_picture(struct tenant *t, struct lane *l)
{
	unsigned long sum = 0;
	size_t i;

	if (!check("wait", clWaitForEvents(1, &l->drawn)) ||
	    !check("release", clReleaseEvent(l->drawn)))
		return false;
	for (i = 0; i < PIXELS; i++)
		sum = sum * 31 + l->pixels[i];
	if (t->pictures++ && sum != t->checksum)
		t->broken = true;
	t->checksum = sum;
	return true;
}

int main(int argc, char **argv)
{
	static struct tenant t;
	unsigned int i;
	double until;

	signal(SIGTERM, on_term);
	if (!set_up(&t))
		return 1;
	until = now() + (argc > 1 ? atof(argv[1]) : 10);
	for (i = 0; i < LANES; i++)
		if (!begin_picture(&t.lanes[i]))
			return 1;
	for (i = 0; now() < until && !told; i = (i + 1) % LANES)
		if (!end_picture(&t, &t.lanes[i]) || !begin_picture(&t.lanes[i]))
			return 1;
	for (i = 0; i < LANES; i++)
		if (!end_picture(&t, &t.lanes[i]))
			return 1;
	printf("%s: %lu pictures, checksum %016lx%s\n", argc > 2 ? argv[2] : "tenant", t.pictures,
	       t.checksum, t.broken ? ", WRONG" : "");
	return t.broken;
}
