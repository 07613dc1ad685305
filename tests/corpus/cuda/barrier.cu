// SPDX-License-Identifier: MIT
/*
 * Barriers in all the ways that make a loop around a kernel hard: threads that
 * leave before the others' barriers, barriers in loops and functions, named
 * ones, and the ones that count votes.
 */
#include "corpus.h"

KERNEL hard(int *o, const int *a, int n)
{
	DYNAMIC(int, hard_s);
	int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, v, w;

	hard_s[t] = -7;
	__syncthreads();
	if (i >= n || (a[i] & 15) == 3)
		return;
	hard_s[t] = a[i];
	__syncthreads();
	v = hard_s[(t + 1) % blockDim.x];
	__syncthreads();
	hard_s[t] = v;
	__syncthreads();
	if ((a[i] & 7) == 1)
		return;
	w = hard_s[(t * 7 + 3) % blockDim.x];
	__syncthreads();
	o[i] = v * 2 + w + blockIdx.x;
}
RUN(hard, GRID(11, 1, 1), BLOCK(96, 1, 1), 384, 0, OUT, IN, 1000)

KERNEL leave_first(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	if (a[i] % 5 == 0)
		return;
	s[t] = a[i];
	__syncthreads();
	o[i] = s[t] * 2;
}
RUN(leave_first, GRID(9, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL leave_in_loop(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	s[t] = 0;
	for (int k = 0; k < 6; k++) {
		__syncthreads();
		if (a[i + k] % 7 == 0)
			return;
		s[t] += a[i + k];
		__syncthreads();
		o[i] = s[t] + k;
	}
}
RUN(leave_in_loop, GRID(9, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL leave_by_exit(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	s[t] = a[i];
	__syncthreads();
	o[i] = s[63 - t];
	if (a[i] & 1)
		EXIT();
	__syncthreads();
	o[i] += 1000;
}
RUN(leave_by_exit, GRID(9, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL loopbar(int *o, const int *a, int n)
{
	__shared__ int s[64];
	int t = threadIdx.x, acc = 0, lim = blockIdx.x % 5;

	for (int k = 0; k < lim; k++) {
		s[t] = a[(blockIdx.x * 64 + t + k) % n];
		__syncthreads();
		acc += s[63 - t];
		__syncthreads();
		if (acc > 1000000)
			break;
	}
	o[blockIdx.x * 64 + t] = acc;
}
RUN(loopbar, GRID(13, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 600)

KERNEL uniform_branch(int *o, const int *a)
{
	__shared__ int s[32];

	if (blockIdx.x & 1) {
		s[threadIdx.x] = a[threadIdx.x];
		__syncthreads();
		o[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
	} else {
		o[blockIdx.x * 32 + threadIdx.x] = -1;
	}
}
RUN(uniform_branch, GRID(7, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL uniform_return(int *o, const int *a, int n)
{
	__shared__ int s[32];

	if ((int)blockIdx.x >= n)
		return;
	s[threadIdx.x] = a[blockIdx.x * 32 + threadIdx.x];
	__syncthreads();
	o[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x ^ 1];
}
RUN(uniform_return, GRID(9, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN, 6)

KERNEL sync_count(int *o, const int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int c = __syncthreads_count(i < n && (a[i] & 1));

	if (i < n)
		o[i] = c;
}
RUN(sync_count, GRID(6, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, IN, 500)

KERNEL sync_and(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = __syncthreads_and(a[i] < 990);
}
RUN(sync_and, GRID(12, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, IN)

KERNEL sync_or(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = __syncthreads_or(a[i] > 990);
}
RUN(sync_or, GRID(12, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, IN)

KERNEL until_quiet(int *o, const int *a)
{
	__shared__ int s[65];
	int t = threadIdx.x, busy;

	s[t] = a[blockIdx.x * 64 + t];
	if (!t)
		s[64] = 5000;
	__syncthreads();
	do {		/* odd-even sort until nobody has moved */
		busy = 0;
		for (int odd = 0; odd < 2; odd++) {
			if ((t & 1) == odd && s[t] > s[t + 1]) {
				int x = s[t];

				s[t] = s[t + 1];
				s[t + 1] = x;
				busy = 1;
			}
			__syncthreads();
		}
	} while (__syncthreads_or(busy));
	o[blockIdx.x * 64 + t] = s[t];
}
RUN(until_quiet, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL named_barrier(int *o, const int *a)
{
	__shared__ int s[128];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;

	s[t] = a[i];
	if (t < 64)
		BARRIER(1, 64);
	else
		BARRIER(2, 64);
	o[i] = s[t ^ 33];
}
RUN(named_barrier, GRID(5, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN)

KERNEL producer_consumer(int *o, const int *a)
{
	__shared__ int s[32];
	int t = threadIdx.x;

	for (int k = 0; k < 4; k++) {
		if (t < 32) {
			s[t] = a[blockIdx.x * 128 + k * 32 + t];
			ARRIVE(1, 64);
			BARRIER(2, 64);
		} else {
			BARRIER(1, 64);
			o[blockIdx.x * 128 + k * 32 + t - 32] = s[63 - t] * 3;
			ARRIVE(2, 64);
		}
	}
}
RUN(producer_consumer, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

static __device__ int *swap_area(int *s)
{
	return s;
}

NOINLINE int swap_through(int *s, int v)
{
	int r;

	swap_area(s)[threadIdx.x] = v;
	__syncthreads();
	r = s[blockDim.x - 1 - threadIdx.x];
	__syncthreads();
	return r;
}

KERNEL barrier_in_function(int *o, const int *a)
{
	__shared__ int s[64];
	int i = blockIdx.x * 64 + threadIdx.x, v = a[i];

	v = swap_through(s, v) + 1;
	v += swap_through(s, v * 2);
	o[i] = v;
}
RUN(barrier_in_function, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL return_then_function(int *o, const int *a)
{
	__shared__ int s[64];
	int i = blockIdx.x * 64 + threadIdx.x;

	s[threadIdx.x] = 0;
	__syncthreads();
	if (a[i] % 3 == 0)
		return;
	o[i] = swap_through(s, a[i]) > -1;
}
RUN(return_then_function, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL both_sides(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	s[t] = a[i];
	if (t < 32) {		/* whole warps part: each side has a barrier of its own */
		__syncthreads();
		o[i] = s[t + 32];
	} else {
		__syncthreads();
		o[i] = s[t - 32] * 2;
	}
}
RUN(both_sides, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL shared_reuse(int *o, const int *a)
{
	__shared__ int total;

	if (!threadIdx.x)
		total = 0;
	__syncthreads();
	atomicAdd(&total, a[blockIdx.x * blockDim.x + threadIdx.x]);
	__syncthreads();
	o[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
RUN(shared_reuse, GRID(10, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL last_read(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x;

	/* the end of the kernel is the only thing between these reads and the next block */
	s[t] = a[blockIdx.x * 64 + t];
	__syncthreads();
	for (int k = 0; k < 8; k++)
		o[(blockIdx.x * 8 + k) * 64 + t] = s[(t + k * 9) & 63];
}
RUN(last_read, GRID(12, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL spread_returns(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	s[t] = a[i];
	for (int k = 32; k; k >>= 1) {
		__syncthreads();
		if (t >= k)
			return;		/* a tree whose idle half goes home */
		s[t] += s[t + k];
	}
	o[blockIdx.x] = s[0];
}
RUN(spread_returns, GRID(12, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)
