/* SPDX-License-Identifier: MIT */
/*
 * What this process may have in flight on a device. budget.c says the rule.
 *
 * A launch asks whether there is room, begins a bracket with the arbiter, and enters; when it
 * has ended, or was refused, it leaves. Several may share one bracket. Who finds no room waits
 * in the way of his API, and asks again.
 */
#ifndef GS_BUDGET_H
#define GS_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "describe.h"
#include "gpushare.h"

#define GS_DEFAULT_SLICE_NS	2000000u	/* until the arbiter has said how long one is */

/* Zeroes to begin with. All but @share is atomic. */
struct gs_budget {
	struct gpushare *share;		/* NULL: it couldn't be opened, nothing is bounded */
	uint64_t in_flight_ns;		/* what it is thought to take */
	uint32_t in_flight;		/* launches */
	uint32_t workers;		/* dealt when it was last held; 0: none are dealt out */
	uint64_t ended_ns;		/* when something ended last */
	uint64_t alone;			/* the number of a grant that stood for long */
	uint64_t until_ns;		/* what was said with gpushare_until() */
	uint64_t asked_ns;		/* since when it is asked back, and not given back */
	struct gs_described told;	/* of what runs next */
	uint32_t queued;		/* threads that have work, and wait for room */
	pthread_mutex_t saying;		/* protects the rest */
	bool held;			/* a bracket says for @queued that there is work */
	bool asked;			/* a request does */
};

/* 0, or an error of gpushare_open(). */
int gs_budget_open(struct gs_budget *budget, const char *key);
/* In a child of a fork, which has none of the threads that were here. */
void gs_budget_forked(struct gs_budget *budget);

/* NULL: in a forked child that hasn't asked yet. What it says are hints of no one moment. */
static inline const struct gpushare_grant_page *gs_grant_page(const struct gs_budget *budget)
{
	return __atomic_load_n(&budget->share->grant, __ATOMIC_RELAXED);
}

/* How long the device is granted at a time. */
static inline uint64_t gs_slice(const struct gs_budget *budget)
{
	const struct gpushare_grant_page *page = gs_grant_page(budget);
	uint64_t ns = page ? __atomic_load_n(&page->slice_ns, __ATOMIC_RELAXED) : 0;

	return ns ? ns : GS_DEFAULT_SLICE_NS;
}

static inline bool gs_is_awaited(const struct gs_budget *budget)
{
	const struct gpushare_grant_page *page = gs_grant_page(budget);

	return page && __atomic_load_n(&page->waiters, __ATOMIC_RELAXED);
}

/* Then it is given back when all that is in flight has ended. */
static inline bool gs_is_asked_back(const struct gs_budget *budget)
{
	const uint64_t both = GPUSHARE_GRANTED | GPUSHARE_PREEMPT;
	const struct gpushare_grant_page *page = gs_grant_page(budget);

	return page && (__atomic_load_n(&page->word, __ATOMIC_RELAXED) & both) == both;
}

/* Is there an arbiter? The page that stands in for one's has no client's id. */
static inline bool gs_is_gated(const struct gs_budget *budget)
{
	const struct gpushare_grant_page *page = gs_grant_page(budget);

	return !page || __atomic_load_n(&page->client, __ATOMIC_RELAXED);
}

/* The room that there always is, and that which there is now. */
static inline uint64_t gs_least_room(const struct gs_budget *budget)
{
	uint64_t slice = gs_slice(budget);

	return slice - slice / 4;
}

uint64_t gs_room(struct gs_budget *budget);

/* What a launch of a kernel is taken for that was never measured. */
static inline uint64_t gs_unknown_ns(const struct gs_budget *budget)
{
	return gs_slice(budget) / 8;
}

bool gs_has_more_room(struct gs_budget *budget, uint64_t ns);

/* For a launch that is thought to take @ns. */
static inline bool gs_has_room(struct gs_budget *budget, uint64_t ns)
{
	uint64_t room = gs_least_room(budget);

	if (__builtin_expect(ns <= room && __atomic_load_n(&budget->in_flight_ns,
							   __ATOMIC_SEQ_CST) <= room - ns, 1))
		return true;
	return gs_has_more_room(budget, ns);
}

/* Says what is in flight and can't be stopped, or that it is no longer. */
void gs_say_until(struct gs_budget *budget);
/* Whoever waits, or looks, does so: is it asked back, and goes on for longer than was thought? */
void gs_say_late(struct gs_budget *budget);

/* So many launches enter. True: nothing was in flight before. */
static inline bool gs_enter(struct gs_budget *budget, uint32_t n, uint64_t ns)
{
	uint64_t room = gs_least_room(budget);
	uint64_t all = __atomic_add_fetch(&budget->in_flight_ns, ns, __ATOMIC_SEQ_CST);
	bool first = !__atomic_fetch_add(&budget->in_flight, n, __ATOMIC_SEQ_CST);

	if (__builtin_expect(all > room, 0) &&
	    (ns > room || !__atomic_load_n(&budget->until_ns, __ATOMIC_RELAXED)))
		gs_say_until(budget);
	return first;
}

static inline void gs_leave(struct gs_budget *budget, uint32_t n, uint64_t ns)
{
	__atomic_sub_fetch(&budget->in_flight_ns, ns, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&budget->in_flight, n, __ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&budget->until_ns, __ATOMIC_RELAXED) != 0, 0))
		gs_say_until(budget);
}

/* What took something that began at @begun_ns and ended now, and waited for what was before. */
uint64_t gs_took(struct gs_budget *budget, uint64_t begun_ns);
/*
 * So many brackets end, with @n launches in them that were thought to take @estimate_ns: they
 * did so many blocks in @ns.
 */
void gs_ended(struct gs_budget *budget, uint64_t brackets, uint32_t n, uint64_t estimate_ns,
	      uint64_t blocks, uint64_t ns);
/*
 * Work that waits for room. From gs_queue() on the device isn't idle, and it is asked for
 * again when it was lost; gs_begin_queued() begins a bracket for it if that is granted now, as
 * gpushare_begin() without waiting, and gs_unqueue() takes it back.
 */
void gs_queue(struct gs_budget *budget);
bool gs_begin_queued(struct gs_budget *budget);
void gs_unqueue(struct gs_budget *budget);
/* Whoever notices that something has ended, or that the grant is asked back, says it anew. */
void gs_ask_for_queued(struct gs_budget *budget);

/* So many launches went past the gate. */
void gs_went_past(const struct gs_budget *budget, uint64_t launches);
/* Notes how many workers are dealt, if the device is held. */
void gs_note_workers(struct gs_budget *budget);

#endif
