// SPDX-License-Identifier: MIT
/*
 * What only shows with the layer: look COMMAND...
 *	extensions		those offered that would pass it by
 *	child			what OPENCL_LAYERS a child has, after the first call
 *	allocate MIB...		tries buffers of these sizes, keeps them, prints the errors
 *	fail			prints how a launch ends, and the next one
 *	address			launches by a function that it asked for by name
 *	many N			launches that it doesn't wait for, with events that it never
 *				looks at; prints how many have run, and the MiB it took
 *	busy SECONDS		long launches, one after the other; prints how many
 */
#include <sys/resource.h>
#include <time.h>

#include "api.h"

static void extensions(void)
{
	static char text[16384];

	must(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL));
	printf("%s\n", strstr(text, "command_buffer") ? "passed by" : "none");
	printf("%s\n", clGetExtensionFunctionAddressForPlatform(platform,
								"clEnqueueCommandBufferKHR") ?
	       "passed by" : "none");
}

static void allocate(int n, char **sizes)
{
	cl_mem first = NULL, m;
	cl_int rc;
	int i;

	for (i = 0; i < n; i++) {
		if (!strcmp(sizes[i], "free")) {
			must(clReleaseMemObject(first));
			first = NULL;
			continue;
		}
		m = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)atoi(sizes[i]) << 20, NULL,
				   &rc);
		printf("%s: %d\n", sizes[i], rc);
		first = first ? first : m;
	}
}

static void fail(void)
{
	const size_t items = 1 << 10, local = 1;
	cl_mem m = buffer_new(items * 4);
	cl_command_queue q;
	cl_int rc, status;
	cl_event e;
	cl_kernel k;
	int i;

	k = clCreateKernel(program_build("__kernel void k(__global uint *o)"
					 "{ o[get_global_id(0)] = 1; }", ""), "k", &rc);
	must(rc);
	arg_mem(k, 0, m);
	for (i = 0; i < 2; i++) {
		q = queue_new(IN_ORDER);
		must(clEnqueueNDRangeKernel(q, k, 1, NULL, &items, &local, 0, NULL, &e));
		clWaitForEvents(1, &e);
		must(clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				    NULL));
		printf("%d\n", status);
		must(clReleaseEvent(e));
		must(clReleaseCommandQueue(q));
	}
}

static void address(void)
{
	cl_int (CL_API_CALL *fn)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
				 const size_t *, const size_t *, cl_uint, const cl_event *,
				 cl_event *);
	void *found = clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueNDRangeKernel");
	const size_t items = 64;
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(items * 4);
	cl_int rc;
	cl_kernel k;

	memcpy(&fn, &found, sizeof(fn));
	k = clCreateKernel(program_build("__kernel void by_address(__global uint *o)"
					 "{ o[get_global_id(0)] = 1; }", ""), "by_address", &rc);
	must(rc);
	arg_mem(k, 0, m);
	must(fn ? fn(q, k, 1, NULL, &items, NULL, 0, NULL, NULL) : CL_INVALID_VALUE);
	must(clFinish(q));
}

static void many(int n)
{
	const size_t one = 1;
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(4);
	struct rusage use;
	cl_event event;
	cl_uint ran;
	cl_kernel k;
	cl_int rc;
	int i;

	k = clCreateKernel(program_build("__kernel void k(__global uint *o) { o[0]++; }", ""), "k",
			   &rc);
	must(rc);
	arg_mem(k, 0, m);
	for (i = 0; i < n; i++)
		must(clEnqueueNDRangeKernel(q, k, 1, NULL, &one, &one, 0, NULL,
					    i & 1 ? &event : NULL));
	must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof(ran), &ran, 0, NULL, NULL));
	getrusage(RUSAGE_SELF, &use);
	printf("%u %ld\n", ran, use.ru_maxrss >> 10);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void busy(double seconds)
{
	static const char *const text =
		"__kernel void k(__global uint *o, uint n) { uint x = get_global_id(0);\n"
		"for (uint i = 0; i < n; i++) x = x * 1664525u + 1013904223u + (x >> 7);\n"
		"o[get_global_id(0)] = x; }";
	const size_t items = 1 << 15, local = 64;
	cl_command_queue q[2];
	cl_kernel k;
	cl_event e[2] = { NULL, NULL };
	cl_mem m = buffer_new(items * 4);
	double until = now() + seconds;
	unsigned long n = 0;
	cl_int rc;
	int i;

	k = clCreateKernel(program_build(text, ""), "k", &rc);
	must(rc);
	arg_mem(k, 0, m);
	arg_int(k, 1, 2000);
	q[0] = queue_new(IN_ORDER);
	q[1] = queue_new(IN_ORDER);
	for (i = 0; now() < until; i = !i) {
		if (e[i]) {
			wait_one(e[i]);
			n++;
		}
		must(clEnqueueNDRangeKernel(q[i], k, 1, NULL, &items, &local, 0, NULL, &e[i]));
		must(clFlush(q[i]));
	}
	printf("%lu launches\n", n);
}

int main(int argc, char **argv)
{
	cl_int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	if (argc > 1 && !strcmp(argv[1], "extensions"))
		extensions();
	else if (argc > 1 && !strcmp(argv[1], "child"))
		return system("echo \"$OPENCL_LAYERS\"");
	else if (argc > 2 && !strcmp(argv[1], "allocate"))
		allocate(argc - 2, argv + 2);
	else if (argc > 1 && !strcmp(argv[1], "fail"))
		fail();
	else if (argc > 1 && !strcmp(argv[1], "address"))
		address();
	else if (argc > 2 && !strcmp(argv[1], "many"))
		many(atoi(argv[2]));
	else if (argc > 2 && !strcmp(argv[1], "busy"))
		busy(atof(argv[2]));
	else
		return 1;
	return 0;
}
