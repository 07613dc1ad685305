// SPDX-License-Identifier: MIT
/* What the programs here have in common. */
#include <time.h>

#include "api.h"

cl_platform_id platform;
cl_device_id device;
cl_context context;
cl_program program;

void must_(cl_int rc, const char *what, int line)
{
	if (rc == CL_SUCCESS)
		return;
	printf("line %d: %s: error %d\n", line, what, rc);
	fflush(NULL);
	exit(1);
}

cl_command_queue queue_new(cl_command_queue_properties properties)
{
	cl_int rc;
	cl_command_queue q = clCreateCommandQueue(context, device, properties, &rc);

	must(rc);
	return q;
}

cl_mem buffer_new(size_t bytes)
{
	void *zeroes = calloc(1, bytes);
	cl_int rc;
	cl_mem m = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeroes,
				  &rc);

	must(rc);
	free(zeroes);
	return m;
}

cl_program program_build(const char *text, const char *options)
{
	cl_int rc;
	cl_program p = clCreateProgramWithSource(context, 1, &text, NULL, &rc);

	must(rc);
	must(clBuildProgram(p, 1, &device, options, NULL, NULL));
	return p;
}

void arg_mem(cl_kernel k, cl_uint i, cl_mem m)
{
	must(clSetKernelArg(k, i, sizeof(m), &m));
}

void arg_int(cl_kernel k, cl_uint i, cl_int v)
{
	must(clSetKernelArg(k, i, sizeof(v), &v));
}

void wait_one(cl_event e)
{
	must(clWaitForEvents(1, &e));
	must(clReleaseEvent(e));
}

void launch(cl_command_queue q, cl_kernel k, size_t n, cl_uint n_waits, const cl_event *waits,
	    cl_event *event)
{
	const size_t local = 64;

	must(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, &local, n_waits, waits, event));
}

uint64_t hash(const void *data, size_t n)
{
	const unsigned char *c = data;
	uint64_t h = 14695981039346656037u;

	while (n--)
		h = (h ^ *c++) * 1099511628211u;
	return h;
}

void print_buffer(const char *what, cl_command_queue q, cl_mem m, size_t bytes)
{
	int *data = malloc(bytes);

	must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, bytes, data, 0, NULL, NULL));
	printf("%s: %d %d ... %016llx\n", what, data[0], data[bytes / sizeof(int) - 1],
	       (unsigned long long)hash(data, bytes));
	free(data);
}

cl_int status_of(cl_event e)
{
	cl_int status;

	must(clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
	return status;
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}
