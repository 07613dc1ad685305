// SPDX-License-Identifier: MIT
/*
 * Loops that do wait for another thread, in whatever dress: each has something of those
 * in retry.cu. None must be cut. Those that are run come to an end where blocks run one
 * after the other.
 */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

/* Takes a lock, adds under it and lets go: of one thread of each block. */
#define LOCKED(name, drop, ...)							\
KERNEL name(int *o, const int *a)						\
{										\
	int *lock = o, v = a[blockIdx.x];					\
										\
	if (threadIdx.x)							\
		return;								\
	__VA_ARGS__;								\
	__threadfence();							\
	((volatile int *)o)[8] = ((volatile int *)o)[8] + v;			\
	__threadfence();							\
	drop;									\
}										\
RUN(name, GRID(9, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

LOCKED(lock_swap, atomicExch(lock, 0), while (atomicCAS(lock, 0, 1)) YIELD())
LOCKED(lock_swap_equal, *(volatile int *)lock = 0, while (atomicCAS(lock, 0, 1) != 0) YIELD())
LOCKED(lock_exchange, atomicExch(lock, 0), while (atomicExch(lock, 1)) YIELD())
LOCKED(lock_or, atomicAnd(lock, ~1), while (atomicOr(lock, 1) & 1) YIELD())
LOCKED(lock_max, atomicMin(lock, 0), while (atomicMax(lock, 1)) YIELD())

/* Looks first, and lies down for longer each time. */
LOCKED(lock_back_off, atomicExch(lock, 0), {
	for (int ns = 8; *(volatile int *)lock || atomicCAS(lock, 0, 1); ns *= 2)
		__nanosleep(ns > 256 ? 256 : ns);
})

/* Expects what is read anew, and goes by what that was. */
LOCKED(lock_bit, atomicAnd(lock, ~1), {
	int e, y;

	do {
		e = *(volatile int *)lock;
		y = atomicCAS(lock, e, e | 1);
	} while (y != e || e & 1);
})

/* A semaphore: waits till there is something to take. */
LOCKED(lock_count, atomicAdd(lock, 1), {
	int e;

	do {
		e = *(volatile int *)lock;
		if (e <= -1)
			continue;
		if (atomicCAS(lock, e, e - 1) == e)
			break;
	} while (1);
})

/* A ticket, and the number that is served. */
LOCKED(lock_ticket, atomicAdd(lock, 1), {
	int mine = atomicAdd(&lock[1], 1);

	while (*(volatile int *)lock != mine)
		YIELD();
})
LOCKED(lock_ticket_atomic, atomicAdd(lock, 1), {
	int mine = atomicAdd(&lock[1], 1);

	while (atomicAdd(&lock[0], 0) < mine)
		YIELD();
})

/* A counter that is moved on, and back if that was too far. */
LOCKED(lock_counter, atomicSub(lock, 1), {
	while (atomicAdd(lock, 1) >= 1) {
		atomicSub(lock, 1);
		YIELD();
	}
})

/* One that is moved on alone, and never comes back to what is waited for. */
LOCKED(lock_zero, atomicExch(lock, 0), while (atomicAdd(lock, 1) != 0) YIELD())

DEVICE int is_taken(int *lock)
{
	return atomicCAS(lock, 0, 1) != 0;
}

NOINLINE int try_lock(int *lock)
{
	return atomicCAS(lock, 0, 1) == 0;
}

NOINLINE int look(const int *at)
{
	return *(const volatile int *)at;
}

LOCKED(lock_inlined, atomicExch(lock, 0), while (is_taken(lock)) YIELD())
LOCKED(lock_called, atomicExch(lock, 0), while (!try_lock(lock)) YIELD())

/* A flag of the block before. */
#define FLAGGED(name, ...)							\
KERNEL name(int *o, const int *a)						\
{										\
	int b = blockIdx.x, *flag = o + 64;					\
										\
	if (b) {								\
		__VA_ARGS__;							\
	}									\
	__syncthreads();							\
	__threadfence();							\
	if (!threadIdx.x) {							\
		((volatile int *)o)[b] = a[b] + (b ? ((volatile int *)o)[b - 1] : 0);	\
		__threadfence();						\
		((volatile int *)flag)[b] = 1;					\
	}									\
}										\
RUN(name, GRID(9, 1, 1), BLOCK(32, 1, 1), 0, ORDER, OUT, IN)

FLAGGED(flag_volatile, while (!((volatile int *)flag)[b - 1]) YIELD())
FLAGGED(flag_atomic, while (!atomicAdd(&flag[b - 1], 0)) YIELD())
FLAGGED(flag_swap, while (!atomicCAS(&flag[b - 1], 1, 1)) YIELD())
FLAGGED(flag_called, while (!look(&flag[b - 1])) YIELD())
FLAGGED(flag_fence, do { __threadfence(); YIELD(); } while (!flag[b - 1]))
/* One looks, and tells the rest through the block's memory, or by a barrier. */
FLAGGED(flag_shared, {
	__shared__ int seen;

	do {
		__syncthreads();
		if (!threadIdx.x)
			seen = ((volatile int *)flag)[b - 1];
		__syncthreads();
	} while (!seen);
})
FLAGGED(flag_reduced, while (!__syncthreads_or(!threadIdx.x && ((volatile int *)flag)[b - 1])) YIELD())
FLAGGED(flag_shuffled,
	while (!__shfl_sync(0xffffffffu, 0 + ((volatile int *)flag)[b - 1], 3)) YIELD())
/* Through a place that the thread chooses. */
FLAGGED(flag_indexed, {
	int seen[4] = { 0 };

	do {
		seen[a[b] & 3] = ((volatile int *)flag)[b - 1];
		YIELD();
	} while (!seen[0] && !seen[1] && !seen[2] && !seen[3]);
})
/* A bound that nobody comes to. */
FLAGGED(flag_bounded, for (int k = 0; !((volatile int *)flag)[b - 1] && k != -1; k += 2) YIELD())
/* All blocks below, as a scan that looks back does. */
FLAGGED(flag_all, {
	for (int k = b - 1; k >= 0; k--)
		while (!((volatile int *)flag)[k])
			YIELD();
})

/* A retry whose success is what is waited for: alone, it never ends. */
KERNEL swap_for_ever(int *o, const int *a)
{
	int e, y;

	do {
		e = *(volatile int *)o;
		y = atomicCAS(o, e, e + a[I]);
	} while (y == e);
}
RUN(swap_for_ever, GRID(1, 1, 1), BLOCK(32, 1, 1), 0, NOEXEC, OUT, IN)

/* What is expected was read once, and nobody need put it there again. */
KERNEL swap_stale(int *o, const int *a)
{
	int e = *(volatile int *)o;

	while (atomicCAS(o, e, e + a[I]) != e)
		YIELD();
}
RUN(swap_stale, GRID(1, 1, 1), BLOCK(32, 1, 1), 0, NOEXEC, OUT, IN)

/* What is expected was read elsewhere. */
KERNEL swap_elsewhere(int *o, const int *a)
{
	int e;

	do
		e = ((volatile int *)o)[1];
	while (atomicCAS(o, e, e + a[I]) != e);
}
RUN(swap_elsewhere, GRID(1, 1, 1), BLOCK(32, 1, 1), 0, NOEXEC, OUT, IN)

/* It puts what it expects: only another thread changes anything. */
KERNEL swap_for_itself(int *o, const int *a)
{
	int e, y;

	do {
		e = ((volatile int *)o)[a[I]];
		y = atomicCAS(&o[a[I]], e, e);
	} while (!y);
}
RUN(swap_for_itself, GRID(1, 1, 1), BLOCK(32, 1, 1), 0, NOEXEC, OUT, IN)

/* A pool whose places are given back: the next free one may be another's to free. */
KERNEL pool(int *o, const int *a)
{
	int at = a[I] & 7;

	while (atomicCAS(&o[at], 0, 1))
		at = (at + 1) & 7;
	atomicAdd(&o[64 + I % 8], a[I]);
	atomicExch(&o[at], 0);
}
RUN(pool, GRID(1, 1, 1), BLOCK(32, 1, 1), 0, NOEXEC, OUT, IN)

/* Writer and readers by one word; a reader that tries again if it was written to. */
KERNEL readers(int *o, const int *a)
{
	volatile int *seq = o, *data = o + 1;
	int s, sum;

	do {
		s = seq[0];
		__threadfence();
		sum = data[0] + data[1];
		__threadfence();
	} while (s & 1 || s != seq[0]);
	o[64 + I] = sum + a[I];
}
RUN(readers, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

/* A counter that is moved on alone, and looked at for one bit. */
KERNEL parity(int *o, const int *a)
{
	while (atomicAdd(&o[0], 2) & 1)
		YIELD();
	o[64 + I] = a[I];
}
RUN(parity, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

/* A queue that others fill: its end moves on by others alone. */
KERNEL queue_filled(int *o, const int *a, int n)
{
	int i;

	while ((i = atomicAdd(&o[0], 1)) < n) {
		while (((volatile int *)o)[1] <= i)
			YIELD();
		o[64 + i] = a[i];
	}
}
RUN(queue_filled, GRID(1, 1, 1), BLOCK(32, 1, 1), 0, NOEXEC, OUT, IN, 100)

/* A barrier of all blocks, that turns round. */
KERNEL barrier_turns(int *o, const int *a)
{
	o[64 + I] = a[I];
	__syncthreads();
	if (!threadIdx.x) {
		int turn = ((volatile int *)o)[1];

		__threadfence();
		if (atomicInc((unsigned int *)o, gridDim.x - 1) == gridDim.x - 1)
			((volatile int *)o)[1] = !turn;
		else
			while (((volatile int *)o)[1] == turn)
				YIELD();
	}
	__syncthreads();
}
RUN(barrier_turns, GRID(4, 1, 1), BLOCK(32, 1, 1), 0, WAVE, OUT, IN)
