// SPDX-License-Identifier: MIT
/* Launch bounds and register limits. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

BOUNDED(128) bounded(int *o, const int *a) { o[I] = a[I] + 1; }
RUN(bounded, GRID(3, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN)

BOUNDED(64, 4) bounded_min(float *o, const float *a)
{
	float s = 0;

	for (int k = 0; k < 8; k++)
		s += a[I + k] * a[I + 2 * k];
	o[I] = s;
}
RUN(bounded_min, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

BOUNDED(1024) bounded_full(int *o, const int *a)
{
	__shared__ int s[1024];

	s[threadIdx.x] = a[I];
	__syncthreads();
	o[I] = s[1023 - threadIdx.x];
}
RUN(bounded_full, GRID(2, 1, 1), BLOCK(1024, 1, 1), 0, 0, OUT, IN)

KERNEL __maxnreg__(32) few_registers(float *o, const float *a)
{
	float v[8];

	for (int k = 0; k < 8; k++)
		v[k] = a[I + k];
	for (int j = 0; j < 4; j++)
		for (int k = 0; k < 8; k++)
			v[k] = v[k] * v[(k + 1) & 7] + v[(k + 3) & 7];
	o[I] = v[0] + v[3] + v[7];
}
RUN(few_registers, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

BOUNDED(256) bounded_small(int *o, const int *a)
{
	if (threadIdx.x < 100)
		o[blockIdx.x * 100 + threadIdx.x] = a[threadIdx.x] - blockIdx.x;
}
RUN(bounded_small, GRID(5, 1, 1), BLOCK(160, 1, 1), 0, 0, OUT, IN)

KERNEL many_registers(float *o, const float *a)
{
	float v[32], s = 0;

#pragma unroll
	for (int k = 0; k < 32; k++)
		v[k] = a[I + k];
#pragma unroll
	for (int k = 0; k < 32; k++)
		v[k] = v[k] * v[(k + 7) & 31] - v[(k + 13) & 31];
#pragma unroll
	for (int k = 0; k < 32; k++)
		s += v[k] * v[31 - k];
	o[I] = s;
}
RUN(many_registers, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)
