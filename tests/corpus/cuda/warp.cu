// SPDX-License-Identifier: MIT
/* Warp intrinsics: shuffles, votes, matches, partial warps and masks. */
#include "corpus.h"

#define ALL 0xffffffffu

KERNEL warp_sum(int *o, const int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? a[i] : 0;
	unsigned int b;

	for (int k = 16; k; k >>= 1)
		v += __shfl_xor_sync(ALL, v, k);
	b = __ballot_sync(ALL, v & (1 << (threadIdx.x & 7)));
	if (i < n)
		o[i] = v + __popc(b);
}
RUN(warp_sum, GRID(8, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN, 1000)

KERNEL shfl_down(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = a[i];

	for (int k = 16; k; k /= 2)
		v += __shfl_down_sync(ALL, v, k);
	if (!(threadIdx.x & 31))
		o[i / 32] = v;
}
RUN(shfl_down, GRID(4, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, IN)

KERNEL shfl_up_scan(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, v = a[i];

	for (int k = 1; k < 32; k *= 2) {
		int u = __shfl_up_sync(ALL, v, k);

		if (lane >= k)
			v += u;
	}
	o[i] = v;
}
RUN(shfl_up_scan, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL shfl_idx(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = __shfl_sync(ALL, a[i], a[i] & 31) - __shfl_sync(ALL, a[i] * 2, 31 - (i & 31));
}
RUN(shfl_idx, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL shfl_width(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = a[i];

	o[i] = __shfl_sync(ALL, v, 3, 8) + __shfl_up_sync(ALL, v, 2, 16) * 2 +
		__shfl_down_sync(ALL, v, 1, 4) * 3 + __shfl_xor_sync(ALL, v, 5, 8) * 5;
}
RUN(shfl_width, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL shfl_float(float *o, const float *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = a[i];

	for (int k = 1; k < 32; k *= 2)
		v = fmaxf(v, __shfl_xor_sync(ALL, v, k));
	o[i] = v;
}
RUN(shfl_float, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL shfl_double(double *o, const double *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = __shfl_down_sync(ALL, a[i], 7);
}
RUN(shfl_double, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTD, IND)

KERNEL shfl_long(long long *o, const long long *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = __shfl_xor_sync(ALL, a[i], 9) + a[i];
}
RUN(shfl_long, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, INL)

KERNEL votes(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = __any_sync(ALL, a[i] > 980) + 2 * __all_sync(ALL, a[i] > 5) +
		4 * __popc(__ballot_sync(ALL, a[i] & 1));
}
RUN(votes, GRID(8, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL half_warp(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = a[i];

	if (threadIdx.x & 16)
		v = __shfl_xor_sync(0xffff0000u, v, 3) + 1;
	else
		v = __shfl_xor_sync(0x0000ffffu, v, 5) * 2;
	o[i] = v;
}
RUN(half_warp, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL partial_warp(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int mask = __ballot_sync(ALL, threadIdx.x < 40);

	if (threadIdx.x < 40)
		o[i] = __shfl_sync(mask, a[i], 1) + __popc(mask);
}
RUN(partial_warp, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL divergent_ballot(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int odd = __ballot_sync(ALL, a[i] & 1);

	if (a[i] & 1)
		o[i] = __popc(__ballot_sync(odd, a[i] > 500));
	else
		o[i] = -__popc(__ballot_sync(~odd, a[i] > 300));
}
RUN(divergent_ballot, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL match_any(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int m = __match_any_sync(ALL, a[i] % 5);

	o[i] = __popc(m) * 32 + __ffs(m);
}
RUN(match_any, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL match_all(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, p, q;
	unsigned int m = __match_all_sync(ALL, a[i] < 2000, &p);
	unsigned int k = __match_all_sync(ALL, a[i], &q);

	o[i] = (m != 0) + 2 * p + 4 * (k != 0) + 8 * q;
}
RUN(match_all, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL aggregated(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;

	if (a[i] & 1) {		/* one atomic for as many threads as happen to run together */
		unsigned int m = __activemask();
		int leader = __ffs(m) - 1, base = 0;

		if (lane == leader)
			base = atomicAdd(&o[0], __popc(m));
		base = __shfl_sync(m, base, leader);
		atomicAdd(&o[1], base >= 0);
	}
}
RUN(aggregated, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL sync_warp(int *o, const int *a)
{
	__shared__ int s[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	s[t] = a[i];
	__syncwarp();
	o[i] = s[t ^ 31];
	__syncwarp();
	s[t] = o[i] * 2;
	__syncwarp();
	o[i] += s[t ^ 7];
}
RUN(sync_warp, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL block_sum(int *o, const int *a)
{
	__shared__ int part[8];
	int t = threadIdx.x, v = a[blockIdx.x * blockDim.x + t];

	for (int k = 16; k; k >>= 1)
		v += __shfl_down_sync(ALL, v, k);
	if (!(t & 31))
		part[t >> 5] = v;
	__syncthreads();
	if (t < 32) {
		v = t < 8 ? part[t] : 0;
		for (int k = 4; k; k >>= 1)
			v += __shfl_down_sync(ALL, v, k);
		if (!t)
			o[blockIdx.x] = v;
	}
}
RUN(block_sum, GRID(6, 1, 1), BLOCK(256, 1, 1), 0, 0, OUT, IN)

KERNEL odd_block(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = __popc(__ballot_sync(__activemask() | 1u << (threadIdx.x & 31), 1)) > 0;
	o[i] += a[i];
}
RUN(odd_block, GRID(4, 1, 1), BLOCK(45, 1, 1), 0, 0, OUT, IN)

KERNEL lanes_leave(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int stay = __ballot_sync(ALL, a[i] % 3 != 0);

	if (a[i] % 3 == 0)
		return;
	o[i] = __popc(__ballot_sync(stay, a[i] & 2)) + __shfl_sync(stay, a[i], __ffs(stay) - 1);
}
RUN(lanes_leave, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL warp_sort(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, v = a[i];

	for (int k = 2; k <= 32; k *= 2)
		for (int j = k / 2; j; j /= 2) {
			int u = __shfl_xor_sync(ALL, v, j);
			bool low = !(lane & j), up = !(lane & k);

			v = low == up ? min(v, u) : max(v, u);
		}
	o[i] = v;
}
RUN(warp_sort, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL compact(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	unsigned int keep = __ballot_sync(ALL, a[i] > 400);

	o[i] = -1;
	__syncwarp();
	if (a[i] > 400)
		o[i - lane + __popc(keep & ((1u << lane) - 1))] = a[i];
}
RUN(compact, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL warp_matrix(float *o, const float *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float row = a[i], sum = 0;

	for (int k = 0; k < 32; k++)
		sum += __shfl_sync(ALL, row, k) * a[k * 32 + (threadIdx.x & 31)];
	o[i] = sum;
}
RUN(warp_matrix, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

#if !defined(__CUDACC__) || __CUDA_ARCH__ >= 800
KERNEL redux(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int u = a[i];

	o[i] = __reduce_add_sync(ALL, a[i]) + (int)__reduce_min_sync(ALL, u) * 3 +
		(int)__reduce_max_sync(ALL, u) * 5 + (int)__reduce_xor_sync(ALL, u) * 7 +
		(int)__reduce_and_sync(ALL, u | 4) * 11 + (int)__reduce_or_sync(ALL, u) * 13;
}
#endif
RUN(redux, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, SM90, OUT, IN)
