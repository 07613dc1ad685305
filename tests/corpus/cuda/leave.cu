// SPDX-License-Identifier: MIT
/*
 * Lanes that leave before the others of their warp meet again: behind a head, in loops,
 * at several places, with barriers in between; and the reductions that do it on purpose.
 * Where a kernel has ended the hardware forgives a mask; where a worker's lane waits for
 * the next block it doesn't.
 */
#include "corpus.h"

#define ALL 0xffffffffu
#define I (blockIdx.x * blockDim.x + threadIdx.x)

#ifdef __CUDACC__
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#define RANK() cg::this_thread_block().thread_rank()
#define TILE_DOWN(v, k) cg::tiled_partition<32>(cg::this_thread_block()).shfl_down(v, k)

/* One atomic for all that are here; each gets a place of its own. */
DEVICE int claim(int *counter)
{
	cg::coalesced_group here = cg::coalesced_threads();
	int first = 0;

	if (!here.thread_rank())
		first = atomicAdd(counter, here.size());
	return here.shfl(first, 0) + here.thread_rank();
}
#else
#define RANK() (host_self->linear)
#define TILE_DOWN(v, k) __shfl_down_sync(ALL, v, k)

DEVICE int claim(int *counter)
{
	return atomicAdd(counter, 1);
}
#endif

/* Halves of the block, then the first warp alone. */
#define TREE(name, type, size)							\
KERNEL name(type *o, const type *a, int n)						\
{										\
	__shared__ type s[size];							\
	int t = threadIdx.x, i = blockIdx.x * size * 2 + t;				\
	type v = i < n ? a[i] : 0;							\
										\
	if (i + size < n)								\
		v += a[i + size];							\
	s[t] = v;									\
	__syncthreads();								\
	for (int k = size / 2; k > 32; k >>= 1) {					\
		if (t < k)								\
			s[t] = v = v + s[t + k];					\
		__syncthreads();							\
	}										\
	if (RANK() < 32) {								\
		if (size >= 64)								\
			v += s[t + 32];							\
		for (int k = size < 32 ? size / 2 : 16; k; k >>= 1)			\
			v += TILE_DOWN(v, k);						\
	}										\
	if (RANK() == 0)								\
		o[blockIdx.x] = v;							\
}
TREE(tree_int_256, int, 256)
RUN(tree_int_256, GRID(5, 1, 1), BLOCK(256, 1, 1), 0, 0, OUT, IN, 2400)
TREE(tree_float_64, float, 64)
RUN(tree_float_64, GRID(9, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF, 1100)
TREE(tree_double_16, double, 16)
RUN(tree_double_16, GRID(9, 1, 1), BLOCK(16, 1, 1), 0, 0, OUTD, IND, 280)

/* A sum a warp, then those of the first warp that have one; the mask is voted for. */
#define VOTED(name, type, size)							\
KERNEL name(type *o, const type *a, int n)						\
{										\
	const int last = size / 32 ? size / 32 : 1;					\
	const unsigned int all = size < 32 ? ALL >> (32 - size % 32) : ALL;		\
	__shared__ type s[size / 32 + 1];						\
	int t = threadIdx.x;								\
	unsigned int mask;								\
	type v = 0;									\
										\
	for (int i = blockIdx.x * size + t; i < n; i += size * gridDim.x)		\
		v += a[i];								\
	for (int k = size < 32 ? size / 2 : 16; k; k >>= 1)				\
		v += __shfl_down_sync(all, v, k);					\
	if (!(t & 31))									\
		s[t / 32] = v;								\
	__syncthreads();								\
	mask = __ballot_sync(all, t < last);						\
	if (t < last) {									\
		v = s[t];								\
		for (int k = last / 2; k; k >>= 1)					\
			v += __shfl_down_sync(mask, v, k);				\
	}										\
	if (!t)										\
		o[blockIdx.x] = v;							\
}
VOTED(voted_int_256, int, 256)
RUN(voted_int_256, GRID(5, 1, 1), BLOCK(256, 1, 1), 0, 0, OUT, IN, 5000)
VOTED(voted_float_128, float, 128)
RUN(voted_float_128, GRID(7, 1, 1), BLOCK(128, 1, 1), 0, 0, OUTF, INF, 3000)
VOTED(voted_double_64, double, 64)
RUN(voted_double_64, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTD, IND, 2000)
VOTED(voted_int_8, int, 8)
RUN(voted_int_8, GRID(7, 1, 1), BLOCK(8, 1, 1), 0, 0, OUT, IN, 200)

KERNEL head_votes(int *o, const int *a, int n)
{
	int i = I;

	if (i >= n)
		return;
	o[i] = __popc(__ballot_sync(ALL, a[i] & 1)) + 64 * __any_sync(ALL, a[i] > 900) +
		128 * __all_sync(ALL, a[i] > 20);
}
RUN(head_votes, GRID(6, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, IN, 399)

KERNEL head_scan(int *o, const int *a, int n)
{
	int i = I, lane = threadIdx.x & 31, v;

	if (i >= n)
		return;
	v = a[i];
	for (int k = 1; k < 32; k *= 2) {
		int u = __shfl_up_sync(ALL, v, k);

		if (lane >= k)
			v += u;
	}
	o[i] = v;
}
RUN(head_scan, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 300)

/* Warps that straddle the block's rows, of which each loses its end. */
KERNEL rows_end(int *o, const int *a, int n)
{
	int t = threadIdx.y * blockDim.x + threadIdx.x, i = blockIdx.x * 72 + t;

	if ((int)threadIdx.x >= n)
		return;
	o[i] = __popc(__ballot_sync(ALL, a[i] & 2)) * 64 + __shfl_sync(ALL, a[i], 0) % 64;
}
RUN(rows_end, GRID(6, 1, 1), BLOCK(24, 3, 1), 0, 0, OUT, IN, 19)

KERNEL lanes_loop(int *o, const int *a)
{
	int i = I, n = a[i] & 7, sum = 0;

	for (int k = 0; k < n; k++)
		sum += __popc(__ballot_sync(ALL, a[i + k] & 1)) << k;
	o[i] = sum;
}
RUN(lanes_loop, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL leave_between(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = I, v = a[i];

	s[t] = v;
	__syncthreads();
	for (int r = 0; r < 4; r++) {
		int b;

		if ((a[i] >> r & 3) == 3)
			return;
		b = __popc(__ballot_sync(ALL, v & 1));
		s[t] = b;
		__syncthreads();
		v += s[(t + 9) & 63];
		__syncthreads();
		o[i] = v;
	}
}
RUN(leave_between, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL leave_by_asm(int *o, const int *a)
{
	int i = I;

	o[i] = __popc(__ballot_sync(ALL, a[i] & 1));
	if (a[i] % 3 == 1)
		EXIT();
	o[i] += __popc(__ballot_sync(ALL, a[i] & 4)) * 64;
	if (a[i] % 5 == 1)
		EXIT();
	o[i] += __popc(__ballot_sync(ALL, a[i] & 2)) * 4096;
}
RUN(leave_by_asm, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL leave_then_match(int *o, const int *a)
{
	int i = I, p;
	unsigned int m;

	if (a[i] & 1)
		return;
	m = __match_any_sync(ALL, a[i] % 6);
	o[i] = __popc(m) * 32 + __ffs(m);
	m = __match_all_sync(ALL, a[i] < 2000, &p);
	o[i] += 4096 * p + 8192 * (__popc(m) > 4);
}
RUN(leave_then_match, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL leave_then_meet(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = I;

	s[t] = a[i] * 3;
	__syncthreads();
	if (a[i] % 3 == 0)
		return;
	s[t] = a[i];
	__syncwarp();
	o[i] = s[t ^ 1];
	__syncwarp();
	s[t] = a[i] * 5;
	__syncwarp();
	o[i] += s[t ^ 2];
}
RUN(leave_then_meet, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

/* Of each eight lanes the first stays. */
KERNEL leave_in_eights(int *o, const int *a)
{
	int i = I, v = a[i];

	if ((threadIdx.x & 7) > (v & 7))
		return;
	o[i] = __shfl_sync(ALL, v, 0, 8) + __popc(__ballot_sync(ALL, v & 8)) * 1024;
}
RUN(leave_in_eights, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

/* What runs together is asked for in a loop that lanes leave: only sums are certain. */
KERNEL claims(int *o, const int *a, int n)
{
	int votes = 0;

	for (int i = I; i < n; i += gridDim.x * blockDim.x) {
		votes += __popc(__ballot_sync(ALL, a[i] & 2));
		if (a[i] & 1)
			atomicAdd(&o[1], claim(&o[0]));
	}
	o[64 + I] = votes;
}
RUN(claims, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 1500)

/* Whole warps leave, lanes of others do, and some leave later. */
KERNEL leave_twice(int *o, const int *a, int n)
{
	int t = threadIdx.x, i = I, v;

	if (t >= 64 && (blockIdx.x & 1))
		return;
	v = __popc(__ballot_sync(ALL, a[i] & 1));
	if (i >= n)
		return;
	v = v * 64 + __popc(__ballot_sync(ALL, a[i] & 2));
	if (v & 1) {
		if (a[i] % 5 == 0)
			return;
	}
	o[i] = v * 64 + __popc(__ballot_sync(ALL, a[i] & 4));
}
RUN(leave_twice, GRID(6, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, IN, 500)

/* Lanes that take no part any more meet their block's barriers all the same. */
KERNEL last_votes(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = I, v = a[i];
	unsigned int odd = __ballot_sync(ALL, v & 1);

	s[t] = v;
	if (v & 1)
		s[t] = __popc(__ballot_sync(odd, v & 2));
	__syncthreads();
	o[i] = s[63 - t];
}
RUN(last_votes, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

/* A warp that meets less often than the others, and is gone then. */
KERNEL fewer_barriers(int *o, const int *a)
{
	__shared__ int s[96];
	int t = threadIdx.x, i = I;

	s[t] = a[i];
	if (t < 32) {
		__syncthreads();
		o[i] = s[31 - t];
		return;
	}
	__syncthreads();
	s[t] += s[t & 31];
	__syncthreads();
	o[i] = s[127 - t];
}
RUN(fewer_barriers, GRID(9, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, IN)

#if !defined(__CUDACC__) || __CUDA_ARCH__ >= 800
KERNEL leave_then_reduce(int *o, const int *a, int n)
{
	int i = I;
	unsigned int u = a[i];

	if (i >= n || a[i] % 7 == 2)
		return;
	o[i] = __reduce_add_sync(ALL, a[i]) + (int)__reduce_max_sync(ALL, u) * 3 +
		(int)__reduce_xor_sync(ALL, u) * 5;
}
#endif
RUN(leave_then_reduce, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, SM90, OUT, IN, 300)
