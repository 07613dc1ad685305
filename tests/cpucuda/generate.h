/* SPDX-License-Identifier: MIT */
/* Random kernels in PTX whose result doesn't depend on any schedule. */
#ifndef CPUCUDA_GENERATE_H
#define CPUCUDA_GENERATE_H

#include <stddef.h>
#include <stdint.h>

struct generated {
	char *text;
	size_t len;
	uint32_t grid[3], block[3], dynamic;
};

#define GENERATED_WORDS 32768	/* of each of the two buffers: kernel(out, in, n) */

/* The module for a seed, with one kernel named "k"; text to free(). */
void generate(struct generated *g, uint64_t seed);

#endif
