/* SPDX-License-Identifier: MIT */
/*
 * Random kernels: control flow, uniform barriers, local memory, helper calls with
 * work-item functions, macros, early returns, in one to three dimensions. The same
 * seed gives the same program on every machine.
 */
#ifndef GS_TESTS_OPENCL_GENERATE_H
#define GS_TESTS_OPENCL_GENERATE_H

#include "spec.h"

#define GENERATE_KERNELS 4u

struct generated {
	char *text;
	size_t len;
	struct spec_run run[GENERATE_KERNELS];
};

/*
 * @all: also what PoCL 3.1 can't do: returns that only some take before a barrier of the
 * others, and work-item functions of a dimension that isn't known (some such programs
 * it builds and then can't load, for want of a symbol like _local_size_x).
 */
void generate(uint64_t seed, bool all, struct generated *g);
void generate_free(struct generated *g);

#endif
