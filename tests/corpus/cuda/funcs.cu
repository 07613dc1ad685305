// SPDX-License-Identifier: MIT
/*
 * Functions that stay functions: with block ids read inside, recursive, with
 * structs and many arguments, called through pointers, leaving by exit.
 */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

NOINLINE int reads_block(int x) { return x * 5 + blockIdx.x + gridDim.x * 2; }
NOINLINE int reads_all(void)
{
	return ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 1000 +
		gridDim.x * 100 + gridDim.y * 10 + gridDim.z;
}
NOINLINE int recursive(const int *a, int x, int d)
{
	if (d == 0)
		return reads_block(x);
	return a[x & 15] + recursive(a, x + 1, d - 1);
}
NOINLINE int plain(int x, int y) { return x * y - (x ^ y); }

KERNEL func_block(int *o, const int *a) { o[I] = reads_block(a[I]); }
RUN(func_block, GRID(9, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL func_recursive(int *o, const int *a, int n, int m)
{
	if ((int)I < n)
		o[I] = recursive(a, I, m & 3);
}
RUN(func_recursive, GRID(9, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 500, 3)

KERNEL func_grid3(int *o)
{
	int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;

	o[b * blockDim.x + threadIdx.x] = reads_all() + threadIdx.x;
}
RUN(func_grid3, GRID(3, 4, 2), BLOCK(32, 1, 1), 0, 0, OUT)

KERNEL func_plain(int *o, const int *a) { o[I] = plain(a[I], plain(a[I + 1], 3)); }
RUN(func_plain, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

struct pair { int a; double b; };
NOINLINE struct pair make_pair(int x)
{
	struct pair p = { x * 2, x * 0.5 };

	return p;
}
NOINLINE double sum_pair(struct pair p, int k) { return p.a * k + p.b; }

KERNEL func_struct(double *o, const int *a) { o[I] = sum_pair(make_pair(a[I]), 3); }
RUN(func_struct, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTD, IN)

NOINLINE long long many(char a, short b, int c, long long d, float e, double f, unsigned char g)
{
	return a + b * 2 + c * 3 + d * 4 + (int)(e * 5) + (int)(f * 6) + g * 7;
}

KERNEL func_many(long long *o, const int *a)
{
	o[I] = many((char)a[I], (short)(a[I] * 77), a[I], a[I] * 3ll, a[I] * 0.5f, a[I] * 0.25,
		    (unsigned char)a[I]);
}
RUN(func_many, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, IN)

NOINLINE void by_pointer(int *x, int *y)
{
	int t = *x;

	*x = *y + 1;
	*y = t - 1;
}

KERNEL func_pointer_args(int *o, const int *a)
{
	int x = a[I], y = a[I + 1];

	by_pointer(&x, &y);
	if (x > y)
		by_pointer(&x, &o[I]);
	o[I] += x * 3 + y;
}
RUN(func_pointer_args, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

NOINLINE void leaves(int *o, int x)
{
	o[I] = x;
	if (x > 600)
		EXIT();
	o[I] += 1;
}

KERNEL func_exit(int *o, const int *a)
{
	leaves(o, a[I]);
	o[I] += 10;
}
RUN(func_exit, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL func_exit_barrier(int *o, const int *a)
{
	__shared__ int s[64];

	s[threadIdx.x] = 0;
	__syncthreads();
	leaves(o, a[I]);
	s[threadIdx.x] = 1;
	__syncthreads();
	o[I] += s[threadIdx.x];
}
RUN(func_exit_barrier, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

typedef int (*op_fn)(int);
static __device__ int op_double(int x) { return x * 2; }
static __device__ int op_square(int x) { return x * x; }
static __device__ int op_negate(int x) { return -x; }
static __device__ int op_block(int x) { return x + (int)blockIdx.x * 100; }
static __device__ op_fn ops[3] = { op_double, op_square, op_negate };
static __device__ op_fn block_ops[2] = { op_block, op_double };

KERNEL func_indirect(int *o, const int *a) { o[I] = ops[a[I] % 3](a[I]); }
RUN(func_indirect, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL func_indirect_block(int *o, const int *a) { o[I] = block_ops[a[I] & 1](a[I]); }
RUN(func_indirect_block, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

NOINLINE int ackermann(int m, int n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

KERNEL func_ackermann(int *o, const int *a) { o[I] = ackermann(a[I] & 1, a[I + 1] & 7); }
RUN(func_ackermann, GRID(1, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

NOINLINE float tree(const float *a, int lo, int hi)
{
	return hi - lo == 1 ? a[lo] : tree(a, lo, (lo + hi) / 2) + tree(a, (lo + hi) / 2, hi);
}

KERNEL func_tree(float *o, const float *a) { o[I] = tree(a, I, I + 9); }
RUN(func_tree, GRID(2, 1, 1), BLOCK(32, 1, 1), 0, 0, OUTF, INF)

NOINLINE int shuffled(int v) { return __shfl_xor_sync(0xffffffffu, v, 1) * 3 + blockIdx.x; }

KERNEL func_shuffle(int *o, const int *a) { o[I] = shuffled(a[I]) + shuffled(a[I] + 1); }
RUN(func_shuffle, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

NOINLINE void early(int *o, const int *a, int i)
{
	if (a[i] & 1)
		return;
	o[i] = a[i];
	if (a[i] & 2)
		return;
	o[i] *= 2;
}

KERNEL func_early(int *o, const int *a)
{
	early(o, a, I);
	o[I] += blockIdx.x;
}
RUN(func_early, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

NOINLINE int chain3(int x) { return x + gridDim.x; }
NOINLINE int chain2(int x) { return chain3(x) * 2 + threadIdx.x; }
NOINLINE int chain1(int x) { return chain2(x + 1) - 5; }

KERNEL func_chain(int *o, const int *a) { o[I] = chain1(a[I]) + chain3(a[I]); }
RUN(func_chain, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

NOINLINE void atomic_func(int *o, int k) { atomicAdd(&o[k], (int)blockIdx.x + 1); }

KERNEL func_atomic(int *o, const int *a) { atomic_func(o, a[I] & 15); }
RUN(func_atomic, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)
