// SPDX-License-Identifier: MIT
/*
 * Blocks that know of each other: the ones that wait for lower blocks, for all
 * blocks, for their cluster; and the ones that look at what tells them where
 * they run, which no cut kernel may answer differently for.
 */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

#ifdef __CUDACC__
#include <cooperative_groups.h>
#define GRID_SYNC() cooperative_groups::this_grid().sync()
#else
#define GRID_SYNC() host_grid_sync()
#endif

KERNEL grid_sync(int *o, const int *a)
{
	o[I] = a[I];
	GRID_SYNC();
	o[4096 + I] = o[(I + 64) % (gridDim.x * blockDim.x)] + 1;
	GRID_SYNC();
	o[8192 + I] = o[4096 + (I + 100) % (gridDim.x * blockDim.x)] * 2;
}
RUN(grid_sync, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, COOP, OUT, IN)

/* Each block adds to what the one before it has published. */
KERNEL chained(int *o, const int *a)
{
	__shared__ int s[32];
	int t = threadIdx.x, sum = 0;

	s[t] = a[I];
	__syncthreads();
	if (!t) {
		volatile int *flag = o + 2048, *value = o + 1024;

		for (int k = 0; k < 32; k++)
			sum += s[k];
		if (blockIdx.x) {
			while (!flag[blockIdx.x - 1])
				YIELD();
			__threadfence();
			sum += value[blockIdx.x - 1];
		}
		value[blockIdx.x] = sum;
		__threadfence();
		flag[blockIdx.x] = 1;
	}
}
RUN(chained, GRID(12, 1, 1), BLOCK(32, 1, 1), 0, ORDER, OUT, IN)

/* Decoupled look-back: walks down over the blocks below until a prefix is known. */
KERNEL look_back(int *o, const int *a)
{
	int lane = threadIdx.x, v = a[I];

	for (int k = 1; k < 32; k *= 2) {
		int u = __shfl_up_sync(0xffffffffu, v, k);

		if (lane >= k)
			v += u;
	}
	int all = __shfl_sync(0xffffffffu, v, 31), before = 0;

	if (!lane) {
		volatile int *state = o + 4096, *part = o + 5120, *prefix = o + 6144;

		part[blockIdx.x] = all;
		__threadfence();
		atomicMax((int *)&state[blockIdx.x], 1);
		for (int b = (int)blockIdx.x - 1; b >= 0; b--) {
			int st;

			do {
				YIELD();
				st = state[b];
			} while (!st);
			__threadfence();
			if (st == 2) {
				before += prefix[b];
				break;
			}
			before += part[b];
		}
		prefix[blockIdx.x] = before + all;
		__threadfence();
		atomicMax((int *)&state[blockIdx.x], 2);
	}
	o[I] = v + __shfl_sync(0xffffffffu, before, 0);
}
RUN(look_back, GRID(14, 1, 1), BLOCK(32, 1, 1), 0, ORDER, OUT, IN)

/* A barrier over the grid made by hand: right only if all blocks are resident. */
KERNEL hand_made_barrier(int *o, const int *a)
{
	o[1024 + I] = a[I];
	__threadfence();
	__syncthreads();
	if (!threadIdx.x) {
		atomicAdd(&o[0], 1);
		while (((volatile int *)o)[0] < (int)gridDim.x)
			YIELD();
		__threadfence();
	}
	__syncthreads();
	o[4096 + I] = ((volatile int *)o)[1024 + gridDim.x * blockDim.x - 1 - I];
}
RUN(hand_made_barrier, GRID(6, 1, 1), BLOCK(32, 1, 1), 0, WAVE, OUT, IN)

KERNEL ticket_order(int *o, const int *a)
{
	/* blocks name themselves by a counter, as tile schedulers do */
	__shared__ int mine;

	if (!threadIdx.x)
		mine = atomicAdd(&o[0], 1);
	__syncthreads();
	o[1024 + mine * 32 + threadIdx.x] = a[mine * 32 + threadIdx.x] * 3;
}
RUN(ticket_order, GRID(9, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL work_queue(int *o, const int *a, int n)
{
	__shared__ int item;

	for (;;) {
		__syncthreads();
		if (!threadIdx.x)
			item = atomicAdd(&o[0], 1);
		__syncthreads();
		if (item >= n)
			break;
		o[64 + item * 32 + threadIdx.x] = a[item * 32 + threadIdx.x] + item;
	}
	if (!threadIdx.x)
		atomicAdd(&o[1], 1);
}
RUN(work_queue, GRID(5, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN, 40)

KERNEL sleeps(int *o, const int *a)
{
#if !defined(__CUDACC__) || __CUDA_ARCH__ >= 700
	__nanosleep(100);
#endif
	o[I] = a[I];
}
RUN(sleeps, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

#ifdef __CUDACC__
#define SREG(name) ({ unsigned int r_; asm volatile("mov.u32 %0, %%" name ";" : "=r"(r_)); r_; })

KERNEL reads_smid(int *o)
{
	o[I] = SREG("smid") < SREG("nsmid");
}

KERNEL reads_gridid(int *o)
{
	unsigned long long g;

	asm volatile("mov.u64 %0, %%gridid;" : "=l"(g));
	o[I] = (int)g;
}

KERNEL reads_clock(int *o)
{
	long long t = clock64();

	o[I] = clock64() >= t;
}

KERNEL reads_lanes(unsigned int *o)
{
	o[I] = SREG("laneid") + 64 * SREG("warpid") + SREG("lanemask_lt") + SREG("lanemask_ge");
}
#else
KERNEL reads_smid(int *o) { o[I] = 1; }
KERNEL reads_gridid(int *o) { (void)o; }
KERNEL reads_clock(int *o) { o[I] = 1; }
KERNEL reads_lanes(unsigned int *o)
{
	unsigned int lane = threadIdx.x & 31;

	o[I] = lane + 64 * (threadIdx.x / 32) + ((1u << lane) - 1) + ~((1u << lane) - 1);
}
#endif
RUN(reads_smid, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT)
RUN(reads_gridid, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, NOREF, OUT)
RUN(reads_clock, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT)
RUN(reads_lanes, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU)

#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
KERNEL __cluster_dims__(2, 1, 1) cluster_swap(int *o, const int *a)
{
	namespace cg = cooperative_groups;
	__shared__ int s[32];
	cg::cluster_group c = cg::this_cluster();
	int t = threadIdx.x;

	s[t] = a[I];
	c.sync();
	o[I] = c.map_shared_rank(s, c.block_rank() ^ 1)[31 - t];
	c.sync();
}
#elif !defined(__CUDACC__)
KERNEL cluster_swap(int *o, const int *a)
{
	int t = threadIdx.x;

	o[I] = a[(blockIdx.x ^ 1) * blockDim.x + 31 - t];
}
#endif
RUN(cluster_swap, GRID(6, 1, 1), BLOCK(32, 1, 1), 0, SM90 | CLUSTER, OUT, IN)
