// SPDX-License-Identifier: MIT
/*
 * ends MS: a program that ends so long after its first launch, when the layer has that
 * launch's form compiled for the cache. Exits 0 if it computed what it should.
 */
#include <unistd.h>

#include "api.h"

int main(int argc, char **argv)
{
	const size_t n = 1 << 18;
	cl_uint *out = malloc(n * sizeof(*out)), i, j, x;
	cl_command_queue q;
	cl_kernel k;
	cl_mem m;
	cl_int rc;

	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	q = queue_new(IN_ORDER);
	program = program_build("__kernel void f(__global uint *o) { uint g = get_group_id(0) * 64 + get_local_id(0), x = g;\n"
				"for (uint i = 0; i < 1000; i++) x = x * 1664525u + 7;\n"
				"o[g] = x; }\n", "");
	k = clCreateKernel(program, "f", &rc);
	must(rc);
	m = buffer_new(n * sizeof(*out));
	arg_mem(k, 0, m);
	launch(q, k, n, 0, NULL, NULL);
	must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, n * sizeof(*out), out, 0, NULL, NULL));
	for (i = 0; i < n; i += 997) {
		for (x = i, j = 0; j < 1000; j++)
			x = x * 1664525u + 7;
		rc |= x != out[i];
	}
	usleep(argc > 1 ? 1000 * (useconds_t)atoi(argv[1]) : 0);
	return rc;
}
