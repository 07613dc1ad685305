// SPDX-License-Identifier: MIT
/* Atomics whose end result doesn't depend on the order they come in. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL atomk(int *o, const int *a, int n)
{
	int i = I;

	if (i < n) {
		atomicAdd(&o[a[i] & 31], 1);
		atomicMax(&o[32 + (a[i] & 7)], (int)blockIdx.x);
	}
}
RUN(atomk, GRID(10, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 600)

KERNEL atomic_sub(int *o, const int *a) { atomicSub(&o[a[I] % 10], a[I]); }
RUN(atomic_sub, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL atomic_min(int *o, const int *a) { atomicMin(&o[a[I] % 10], a[I] - 700); }
RUN(atomic_min, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL atomic_umax(unsigned int *o, const unsigned int *a) { atomicMax(&o[a[I] % 10], a[I] << 22); }
RUN(atomic_umax, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL atomic_or(unsigned int *o, const unsigned int *a) { atomicOr(&o[a[I] / 32], 1u << (a[I] & 31)); }
RUN(atomic_or, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL atomic_and(unsigned int *o, const unsigned int *a)
{
	if (I < 64)
		atomicOr(&o[I], ~0u);
	atomicAnd(&o[64 + a[I] % 64], a[I]);
}
RUN(atomic_and, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL atomic_xor(unsigned int *o, const unsigned int *a) { atomicXor(&o[a[I] % 7], a[I] * 0x9e3779b9u); }
RUN(atomic_xor, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL atomic_inc(unsigned int *o, const unsigned int *a) { atomicInc(&o[a[I] % 3], 16); }
RUN(atomic_inc, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL atomic_dec(unsigned int *o, const unsigned int *a) { atomicDec(&o[a[I] % 3], 21); }
RUN(atomic_dec, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL atomic_exch(int *o, const int *a)
{
	/* what goes in comes out: the sum over all is kept */
	int old = atomicExch(&o[1000 + a[I] % 8], a[I]);

	atomicAdd(&o[a[I] % 2], 1);
	(void)old;
	__syncthreads();
	if (I < 8)
		atomicExch(&o[1000 + I], 5);
}
RUN(atomic_exch, GRID(1, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN)

KERNEL atomic_cas_add(int *o, const int *a)
{
	int *p = &o[a[I] % 5], old = *(volatile int *)p, seen;

	do {
		seen = old;
		old = atomicCAS(p, seen, seen + a[I]);
	} while (old != seen);
}
RUN(atomic_cas_add, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL atomic_add64(unsigned long long *o, const long long *a)
{
	atomicAdd(&o[a[I] & 3], (unsigned long long)a[I]);
}
RUN(atomic_add64, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, INL)

KERNEL atomic_max64(long long *o, const long long *a) { atomicMax(&o[a[I] & 3], a[I]); }
RUN(atomic_max64, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, INL)

KERNEL atomic_cas64(unsigned long long *o, const long long *a)
{
	unsigned long long *p = &o[a[I] & 1], old = *(volatile unsigned long long *)p, seen;

	do {
		seen = old;
		old = atomicCAS(p, seen, seen ^ (unsigned long long)a[I]);
	} while (old != seen);
}
RUN(atomic_cas64, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, INL)

KERNEL atomic_float(float *o, const int *a)
{
	atomicAdd(&o[a[I] & 7], (float)(a[I] & 15));	/* small integers: exact in any order */
}
RUN(atomic_float, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, IN)

KERNEL atomic_double(double *o, const int *a) { atomicAdd(&o[a[I] & 7], a[I] * 0.5); }
RUN(atomic_double, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTD, IN)

KERNEL atomic_shared(int *o, const int *a)
{
	__shared__ int s[4];

	if (threadIdx.x < 4)
		s[threadIdx.x] = 0;
	__syncthreads();
	atomicAdd(&s[0], a[I]);
	atomicMax(&s[1], a[I]);
	atomicXor(&s[2], a[I]);
	atomicOr(&s[3], a[I]);
	__syncthreads();
	if (threadIdx.x < 4)
		o[blockIdx.x * 4 + threadIdx.x] = s[threadIdx.x];
}
RUN(atomic_shared, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL atomic_scopes(int *o, const int *a)
{
	atomicAdd_block(&o[blockIdx.x], a[I]);
	atomicAdd_system(&o[100], 1);
	atomicMax_block(&o[200 + blockIdx.x], a[I]);
}
RUN(atomic_scopes, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL atomic_generic(int *o, const int *a)
{
	__shared__ int s;
	int *p = a[I] & 1 ? &s : &o[1];

	if (!threadIdx.x)
		s = 0;
	__syncthreads();
	atomicAdd(p, a[I]);
	__syncthreads();
	if (!threadIdx.x)
		atomicAdd(&o[0], s);
}
RUN(atomic_generic, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL slots(int *o, const int *a)
{
	/* each thread takes a slot; which one differs, that each is taken once doesn't */
	int slot = atomicAdd(&o[0], 1);

	atomicAdd(&o[1 + slot], 1);
	atomicAdd(&o[8000], a[slot]);
}
RUN(slots, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL spin_lock(int *o, const int *a)
{
	/* one thread a block, or a warp could wait for itself */
	if (threadIdx.x == 0) {
		while (atomicCAS(&o[0], 0, 1))
			;
		__threadfence();
		((volatile int *)o)[1] = ((volatile int *)o)[1] + a[blockIdx.x];
		__threadfence();
		atomicExch(&o[0], 0);
	}
}
RUN(spin_lock, GRID(9, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL last_block(int *o, const int *a)
{
	__shared__ int s[64], last;
	int t = threadIdx.x;

	s[t] = a[I];
	__syncthreads();
	for (int k = 32; k; k >>= 1) {
		if (t < k)
			s[t] += s[t + k];
		__syncthreads();
	}
	if (!t) {
		((volatile int *)o)[16 + blockIdx.x] = s[0];
		__threadfence();
		last = atomicAdd(&o[1], 1) == (int)gridDim.x - 1;
	}
	__syncthreads();
	if (last && !t) {
		int sum = 0;

		for (unsigned int k = 0; k < gridDim.x; k++)
			sum += ((volatile int *)o)[16 + k];
		o[0] = sum;
	}
}
RUN(last_block, GRID(9, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL union_find(int *o, const int *a)
{
	int x = a[I] & 255, y = a[I + 1000] & 255;

	atomicMin(&o[x + 1024], -(y + 1));
	atomicMin(&o[y + 1024], -(x + 1));
}
RUN(union_find, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)
