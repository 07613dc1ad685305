// SPDX-License-Identifier: MIT
/*
 * Loops by what atomics give that wait for nobody: compare-and-swap that is tried again
 * after somebody else got on, tickets that are drawn until there are none left, places of
 * a table that are gone through for a free one. Alone, a thread comes to the end of each.
 * What comes out doesn't depend on who comes first.
 */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

#ifdef __CUDACC__
#define BITS_OF_FLOAT(f) __float_as_uint(f)
#define FLOAT_OF_BITS(u) __uint_as_float(u)
#define BITS_OF_DOUBLE(d) ((unsigned long long)__double_as_longlong(d))
#define DOUBLE_OF_BITS(u) __longlong_as_double((long long)(u))
#else
#define BITS_OF_FLOAT(f) ({ float f_ = (f); unsigned int u_; memcpy(&u_, &f_, 4); u_; })
#define FLOAT_OF_BITS(u) ({ unsigned int u_ = (u); float f_; memcpy(&f_, &u_, 4); f_; })
#define BITS_OF_DOUBLE(d) ({ double d_ = (d); unsigned long long u_; memcpy(&u_, &d_, 8); u_; })
#define DOUBLE_OF_BITS(u) ({ unsigned long long u_ = (u); double d_; memcpy(&d_, &u_, 8); d_; })
#endif

/* The form of CUDA's own guide: what was found is what is expected next. */
KERNEL retry_double_add(double *o, const int *a)
{
	unsigned long long *p = (unsigned long long *)&o[a[I] & 7], old = *p, seen;

	do {
		seen = old;
		old = atomicCAS(p, seen, BITS_OF_DOUBLE(DOUBLE_OF_BITS(seen) + a[I] * 0.5));
	} while (seen != old);
}
RUN(retry_double_add, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTD, IN)

/* Given up as soon as it isn't needed any more. */
KERNEL retry_float_max(float *o, const float *a)
{
	unsigned int *p = (unsigned int *)&o[I & 7], old = *p, seen;
	float v = a[I] + 1000;

	while (FLOAT_OF_BITS(old) < v) {
		seen = old;
		old = atomicCAS(p, seen, BITS_OF_FLOAT(v));
		if (old == seen)
			break;
	}
}
RUN(retry_float_max, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

/* Read anew in each turn, and changed by what can't be said in one atomic. */
KERNEL retry_read_anew(unsigned int *o, const int *a)
{
	volatile unsigned int *p = &o[a[I] & 3];
	unsigned int e;

	do
		e = *p;
	while (atomicCAS((unsigned int *)p, e, e * 3 + 3 * 1000003u) != e);
}
RUN(retry_read_anew, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, IN)

/* A histogram of bytes that stop at their highest, four in a word. */
KERNEL retry_bytes(unsigned int *o, const int *a)
{
	unsigned int bin = a[I] & 31, at = bin % 4 * 8, *p = &o[bin / 4], old = *p, seen;

	do {
		if ((old >> at & 255) == 9)
			break;
		seen = old;
		old = atomicCAS(p, seen, seen + (1u << at));
	} while (old != seen);
}
RUN(retry_bytes, GRID(8, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, IN)

/* Two halves that change together: a count and a sum. */
KERNEL retry_pair(unsigned long long *o, const int *a)
{
	unsigned long long *p = &o[a[I] % 5], e, next;

	do {
		e = *(volatile unsigned long long *)p;
		next = ((e >> 32) + 1) << 32 | (unsigned int)((unsigned int)e + a[I]);
	} while (atomicCAS(p, e, next) != e);
}
RUN(retry_pair, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, IN)

NOINLINE int multiply(unsigned int *p, unsigned int by)
{
	unsigned int old = *(volatile unsigned int *)p, seen;
	int tries = 0;

	do {
		seen = old;
		old = atomicCAS(p, seen, seen ? seen * by : by);
		tries++;
	} while (old != seen);
	return tries > 0;
}

/* Odd numbers, so that the product never is what it was when nobody had come. */
KERNEL retry_in_function(unsigned int *o, const int *a)
{
	for (int k = 0; k < 3; k++)
		o[64 + I] += multiply(&o[a[I + k] & 7], a[I + k] | 1);
}
RUN(retry_in_function, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, IN)

/* Some of the lanes try, in a loop that has a number of turns of its own. */
KERNEL retry_in_loop(unsigned int *o, const int *a, int n)
{
	for (int k = I; k < n; k += gridDim.x * blockDim.x) {
		unsigned int *p = &o[a[k] & 15], e;

		if (a[k] % 3 == 1)
			continue;
		do
			e = *(volatile unsigned int *)p;
		while (atomicCAS(p, e, e + a[k]) != e);
	}
}
RUN(retry_in_loop, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, IN, 1000)

/* All of the warp go on as long as one of them must. */
KERNEL retry_by_vote(unsigned int *o, const int *a)
{
	unsigned int *p = &o[a[I] & 3], old = *(volatile unsigned int *)p, seen;
	int done = 0;

	do {
		if (!done) {
			seen = old;
			old = atomicCAS(p, seen, seen + a[I]);
			done = old == seen;
		}
	} while (!done);
	o[64 + I] = done;
}
RUN(retry_by_vote, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, IN)

/* A thread takes the next item, until there is none. */
KERNEL tickets(int *o, const int *a, int n)
{
	for (;;) {
		int i = atomicAdd(&o[0], 1);

		if (i >= n)
			return;
		o[64 + i] = a[i] * 3 + i;
	}
}
RUN(tickets, GRID(5, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN, 700)

/* From above down, and in steps. */
KERNEL tickets_down(int *o, const int *a, int n)
{
	int i;

	while ((i = n + atomicSub(&o[0], 4)) > 0)
		for (int k = 0; k < 4 && i - k > 0; k++)
			o[64 + i - k] = a[i - k] + k;
}
RUN(tickets_down, GRID(5, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN, 701)

/* Persistent blocks: the first thread draws, for all. */
KERNEL tickets_for_block(int *o, const int *a, int n)
{
	__shared__ int next;

	for (;;) {
		__syncthreads();
		if (!threadIdx.x)
			next = atomicAdd(&o[0], 64);
		__syncthreads();
		if (next >= n)
			break;
		if (next + (int)threadIdx.x < n)
			o[64 + next + threadIdx.x] = a[next + threadIdx.x] ^ 5;
	}
}
RUN(tickets_for_block, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 1500)

/* The first lane draws, for its warp. */
KERNEL tickets_for_warp(int *o, const int *a, int n)
{
	int lane = threadIdx.x & 31, i = 0;

	for (;;) {
		if (!lane)
			i = atomicAdd(&o[0], 32);
		i = __shfl_sync(0xffffffffu, i, 0);
		if (i >= n)
			break;
		if (i + lane < n)
			o[64 + i + lane] = a[i + lane] - lane;
	}
}
RUN(tickets_for_warp, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 1500)

/* Each takes a place that nobody has, from its own on, if there is one. */
KERNEL claim_place(int *o, const int *a)
{
	int at = a[I] & 511;

	for (int k = 0; k < 512 && atomicCAS(&o[at], 0, 7); k++)
		at = (at + 1) & 511;
	atomicAdd(&o[1024], 1);
}
RUN(claim_place, GRID(6, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

/* A hash table: a key's place, found or made, and how often it came. */
KERNEL hash_count(int *o, const int *a)
{
	int key = (a[I] & 127) + 1, at = key * 29 & 255, old;

	for (;;) {
		old = atomicCAS(&o[at], 0, key);
		if (!old || old == key)
			break;
		at = (at + 1) & 255;
	}
	atomicAdd(&o[512 + at], 1);
}
RUN(hash_count, GRID(8, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

/* One a block, in global memory: full of collisions, and folded in the end. */
KERNEL hash_for_block(int *o, const int *a)
{
	int *table = o + 1024 + blockIdx.x * 64, t = threadIdx.x, key = (a[I] & 31) + 1;
	int at = key * key & 63, old, found = 0;

	for (int k = 0; k < 64 && (old = atomicCAS(&table[at], 0, key)) && old != key; k++)
		at = (at + 1) & 63;
	__syncthreads();
	for (int k = 0; k < 64; k++)
		found += table[k] == key;
	o[I] = found;
	__syncthreads();
	table[t] = table[t] ? -1 : -2;
}
RUN(hash_for_block, GRID(8, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

/* With a look before it, as it is cheaper, and a step that grows. */
KERNEL hash_with_look(unsigned long long *o, const int *a)
{
	unsigned long long key = (a[I] & 63) + 1, old;
	int at = key * 37 & 255;

	for (int step = 1;; step++) {
		old = o[at];
		if (!old)
			old = atomicCAS(&o[at], 0ull, key);
		if (!old || old == key)
			break;
		at = (at + step) & 255;
	}
	atomicAdd(&o[256 + at], 1ull);
}
RUN(hash_with_look, GRID(8, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, IN)
