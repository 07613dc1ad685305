// SPDX-License-Identifier: MIT
/*
 * What short launches cost a program: for each kind of work, the shortest time of some
 * rounds, one line each, "NAME ns". Compared with and without the layer. An argument
 * picks those whose names begin with it.
 */
#include <time.h>

#include "api.h"

#define ROUNDS		7	/* at least */
#define WARM_NS		4e8	/* compiled, known, and alone on the device for a while */
#define MEASURE_NS	4e8

static const char text[] =
"__kernel void alu(__global uint *o, uint n) { uint x = get_global_id(0);\n"
"for (uint i = 0; i < n; i++) x = x * 1664525u + (x >> 7); o[get_global_id(0)] = x; }\n"
"__kernel void small(__global uint *o, uint n) { o[get_global_id(0)] += n; }\n";

static const struct work {
	const char *name, *kernel;
	size_t items;
	cl_uint n;
	int launches;
	bool wait_each;
} works[] = {
	{ "short.waited", "small", 1024, 1, 400, true },
	{ "short.queued", "alu", 1024, 50, 400, false },
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec;
}

static double round_of(const struct work *w, cl_command_queue q, cl_kernel k)
{
	double began = now();
	int i;

	for (i = 0; i < w->launches; i++) {
		launch(q, k, w->items, 0, NULL, NULL);
		if (w->wait_each)
			must(clFinish(q));
	}
	must(clFinish(q));
	return now() - began;
}

int main(int argc, char **argv)
{
	cl_command_queue q;
	double best, took, began;
	cl_program p;
	cl_kernel k;
	cl_int rc;
	cl_mem m;
	size_t i;
	int r;

	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	p = program_build(text, "");
	q = queue_new(IN_ORDER);
	m = buffer_new(4 << 18);
	for (i = 0; i < sizeof(works) / sizeof(*works); i++) {
		if (argc > 1 && strncmp(works[i].name, argv[1], strlen(argv[1])))
			continue;
		k = clCreateKernel(p, works[i].kernel, &rc);
		must(rc);
		arg_mem(k, 0, m);
		arg_int(k, 1, (cl_int)works[i].n);
		for (began = now(), r = 0; r < 3 || now() - began < WARM_NS; r++)
			round_of(&works[i], q, k);
		for (began = now(), r = 0, best = 1e18;
		     r < ROUNDS || now() - began < MEASURE_NS; r++) {
			took = round_of(&works[i], q, k);
			best = took < best ? took : best;
		}
		printf("%s %.0f\n", works[i].name, best);
		must(clReleaseKernel(k));
	}
	return 0;
}
