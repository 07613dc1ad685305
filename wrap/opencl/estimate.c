// SPDX-License-Identifier: MIT
/*
 * What a launch will take: nanoseconds of one group, by kernel, local size and
 * magnitude of the launch, learnt from what launches and pieces took.
 *
 * Too short an estimate makes a tenant overstay, too long a one makes pieces too
 * small; the first is worse. So a longer measurement is believed at once, a
 * shorter one by half. Values are updated without a lock: one of two that
 * come at the same time may be lost.
 *
 * Except that who waits for an end is woken late now and then, on a busy machine often,
 * and for a short kernel that is many times what it takes: it would be read, rewritten and
 * cut. So a longer wait is believed when several in a row were, and then the least of them.
 */
#include <stdlib.h>

#include "layer.h"

#define WAITS	4	/* in a row that are believed */

/* Magnitudes by half powers of two would split hairs; by powers of four they'd hide too much. */
static uint64_t class_of(uint64_t groups, const size_t local[3])
{
	uint64_t class = 63 - __builtin_clzll(groups | 1);

	return class ^ (uint64_t)local[0] << 8 ^ (uint64_t)local[1] << 28 ^
		(uint64_t)local[2] << 46;
}

struct gs_estimate *gs_estimate_of(struct gs_kernel *kernel, uint64_t groups,
				   const size_t local[3])
{
	struct gs_estimate *first = __atomic_load_n(&kernel->estimates, __ATOMIC_ACQUIRE), *e;
	uint64_t class = class_of(groups, local);

	for (e = first; e; e = e->next)
		if (e->size_class == class)
			return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return first;
	e->size_class = class;
	/* Others of its size may be there by now: the first that is found serves. */
	do {
		e->next = first;
	} while (!__atomic_compare_exchange_n(&kernel->estimates, &first, e, false,
					      __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
	return e;
}

uint64_t gs_estimate_ns(const struct gs_estimate *e, uint64_t groups)
{
	uint64_t ps = e ? __atomic_load_n(&e->group_ps, __ATOMIC_RELAXED) : 0;
	uint64_t ns;

	if (!ps)
		return GS_NO_TIME;
	if (__builtin_mul_overflow(ps, groups, &ns))
		return GS_NO_TIME - 1;
	return ns / 1000;
}

uint64_t gs_estimate_groups(const struct gs_estimate *e, uint64_t ns)
{
	uint64_t ps;

	if (__builtin_mul_overflow(ns, 1000, &ps))
		ps = UINT64_MAX;
	return ps / __atomic_load_n(&e->group_ps, __ATOMIC_RELAXED);
}

static void set(struct gs_estimate *e, uint64_t ps)
{
	__atomic_store_n(&e->group_ps, ps ? ps : 1, __ATOMIC_RELAXED);
}

void gs_estimate_learn(struct gs_estimate *e, uint64_t groups, uint64_t ns)
{
	uint64_t ps, old;

	if (!e || !groups || __builtin_mul_overflow(ns, 1000, &ps))
		return;
	ps /= groups;
	old = __atomic_load_n(&e->group_ps, __ATOMIC_RELAXED);
	/* The first may have had to be compiled. */
	set(e, __atomic_load_n(&e->samples, __ATOMIC_RELAXED) < 2 || ps > old ? ps :
	    old - (old - ps) / 2);
	__atomic_add_fetch(&e->samples, 1, __ATOMIC_RELAXED);
}

uint64_t gs_estimate_waited(struct gs_estimate *e, uint64_t waited_ns, uint64_t estimate_ns)
{
	uint32_t longer = __atomic_load_n(&e->longer, __ATOMIC_RELAXED);
	uint64_t least = __atomic_load_n(&e->least_256, __ATOMIC_RELAXED), ratio;

	if (!estimate_ns || waited_ns <= estimate_ns) {
		if (longer)
			__atomic_store_n(&e->longer, 0, __ATOMIC_RELAXED);
		return estimate_ns;
	}
	ratio = (waited_ns << 8) / estimate_ns;
	if (longer && least < ratio)
		ratio = least;
	__atomic_store_n(&e->least_256, ratio, __ATOMIC_RELAXED);
	__atomic_store_n(&e->longer, (longer + 1) % WAITS, __ATOMIC_RELAXED);
	return longer + 1 < WAITS ? estimate_ns : estimate_ns * ratio >> 8;
}

void gs_estimate_scale(struct gs_estimate *e, uint64_t ratio_256)
{
	uint64_t old = e ? __atomic_load_n(&e->group_ps, __ATOMIC_RELAXED) : 0, new;

	if (!old || __builtin_mul_overflow(old, ratio_256, &new))
		return;
	new /= 256;
	set(e, new > old ? new : old - (old - new) / 2);
}
