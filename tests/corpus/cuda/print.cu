// SPDX-License-Identifier: MIT
/* Calls into the device's own library: printf, assert, malloc. */
#include "corpus.h"
#include <assert.h>
#include <stdio.h>

#define I (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL prints(int *o, const int *a)
{
	if (a[I] > 995)
		printf("block %d thread %u value %5d %s %.3f %lld\n", (int)blockIdx.x, threadIdx.x,
		       a[I], a[I] & 1 ? "odd" : "even", a[I] * 0.5, 1ll << 40);
	o[I] = a[I];
}
RUN(prints, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL asserts(int *o, const int *a)
{
	assert(a[I] >= 0);
	o[I] = a[I] / 2;
}
RUN(asserts, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL allocates(int *o, const int *a)
{
	int *p = (int *)malloc(40);

	if (p) {
		for (int k = 0; k < 10; k++)
			p[k] = a[I + k];
		o[I] = p[a[I] % 10];
		free(p);
	}
}
RUN(allocates, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)
