// SPDX-License-Identifier: MIT
/*
 * What may be in flight.
 *
 * A device that is asked back is given back when all that is on it has ended. So what is in
 * flight is what others wait for; but with too little of it the device stands still between
 * two launches. Nobody knows how long a launch will take, only what those before it took.
 * The rule, for all APIs and on each device for itself:
 *
 *  1. By estimate there are three quarters of a slice in flight at most: the room. Some of it
 *     takes longer than was thought, so who waits then waits for about a slice.
 *  2. One launch may always go, however long it is. While nobody waits a second may as well:
 *     the device doesn't stand still between two that can't be cut, and who comes just then
 *     waits for one more of them, once.
 *  3. A grant that nobody else wanted for a quarter of a second is likely to stand. Each
 *     launch and each piece costs the device a moment without work, so the room is 32 ms then,
 *     if that is more. Who comes after all waits for that, once: then it isn't alone any more,
 *     until nobody else wanted it for such a time again.
 *  4. What was never measured is taken for an eighth of a slice: nearly all kernels are short,
 *     and programs begin with many that they launch for the first time. What can't be measured
 *     at all (by the APIs that say so) is taken for all of the room.
 *  5. What is cut, is cut into pieces of half the room (piece.c): two are in flight.
 *
 * With slices of 2 ms that is 1.5 ms: 150 launches of 10 us, or two pieces of 0.75 ms, or six
 * launches of unknown kernels; of a kernel of 5 ms that can't be cut one if somebody waits,
 * two if nobody does, and six after a quarter of a second alone.
 *
 * What is in flight can't be taken back, and may be longer than the least room: by 2, 3, or
 * as it was thought to be shorter. Then the arbiter is told when it will have ended, and who
 * waits isn't kept waiting for it (gpushare_until()). What is within the room is waited for,
 * so that the device is one program's at a time.
 *
 * A thread that waits for room has work queued, so its device isn't idle: a bracket says so
 * for all such threads. Where the grant is asked back and nothing is in flight, whoever
 * notices ends that bracket and asks anew in the thread's stead, which may be kept from its
 * processor for long: a request that isn't made is a share that isn't had.
 *
 * Its weakness is that sums of estimates know nothing of what runs side by side: two streams'
 * kernels that share a device count as if they came one after the other.
 */
#include "budget.h"
#include "ulib/clock.h"

#define ALONE_AFTER_NS	250000000u
#define ROOM_ALONE_NS	32000000u

int gs_budget_open(struct gs_budget *budget, const char *key)
{
	int err = gpushare_open(&budget->share, key, NULL);

	if (err)
		budget->share = NULL;
	return err;
}

void gs_budget_forked(struct gs_budget *budget)
{
	budget->told.telling = false;
	budget->queued = 0;
	budget->held = budget->asked = false;
	budget->until_ns = budget->asked_ns = 0;
	pthread_mutex_init(&budget->saying, NULL);
}

static void say(struct gs_budget *budget, uint64_t until)
{
	__atomic_store_n(&budget->until_ns, until, __ATOMIC_RELAXED);
	gpushare_until(budget->share, until);
}

void gs_say_until(struct gs_budget *budget)
{
	uint64_t ns = __atomic_load_n(&budget->in_flight_ns, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&budget->in_flight, __ATOMIC_SEQ_CST) && ns > gs_least_room(budget))
		say(budget, gs_now() + ns);
	else
		say(budget, 0);
}

void gs_say_late(struct gs_budget *budget)
{
	uint64_t asked = __atomic_load_n(&budget->asked_ns, __ATOMIC_RELAXED), now;

	if (!gs_is_asked_back(budget) || !__atomic_load_n(&budget->in_flight, __ATOMIC_SEQ_CST)) {
		if (asked)
			__atomic_store_n(&budget->asked_ns, 0, __ATOMIC_RELAXED);
		return;
	}
	now = gs_now();
	if (!asked)
		__atomic_store_n(&budget->asked_ns, now, __ATOMIC_RELAXED);
	else if (now - asked > gs_slice(budget) / 4 &&
		 __atomic_load_n(&budget->until_ns, __ATOMIC_RELAXED) <= now)
		say(budget, now + gs_slice(budget) + now - asked);	/* as long again */
}

uint64_t gs_room(struct gs_budget *budget)
{
	const struct gpushare_grant_page *page = gs_grant_page(budget);
	uint64_t room = gs_least_room(budget), epoch;
	struct gpushare_grant grant;

	if (!page || room >= ROOM_ALONE_NS || gs_is_awaited(budget))
		return room;
	epoch = __atomic_load_n(&page->word, __ATOMIC_RELAXED) >> GPUSHARE_EPOCH_SHIFT;
	if (epoch == __atomic_load_n(&budget->alone, __ATOMIC_RELAXED))
		return ROOM_ALONE_NS;
	gpushare_grant(budget->share, &grant);
	if (!(grant.flags & GPUSHARE_GRANTED) || grant.waiters ||
	    gs_now() < grant.granted_ns + ALONE_AFTER_NS)
		return room;
	__atomic_store_n(&budget->alone, grant.epoch, __ATOMIC_RELAXED);
	return ROOM_ALONE_NS;
}

/* What is in flight and this don't fit into the least room. */
bool gs_has_more_room(struct gs_budget *budget, uint64_t ns)
{
	uint32_t n = __atomic_load_n(&budget->in_flight, __ATOMIC_SEQ_CST);
	uint64_t room;

	if (!n)
		return true;
	if (gs_is_awaited(budget))
		return false;
	room = gs_room(budget);
	return n < 2 || (ns <= room && __atomic_load_n(&budget->in_flight_ns,
						       __ATOMIC_SEQ_CST) <= room - ns);
}

uint64_t gs_took(struct gs_budget *budget, uint64_t begun_ns)
{
	uint64_t now = gs_now();
	uint64_t before = __atomic_exchange_n(&budget->ended_ns, now, __ATOMIC_RELAXED);

	if (begun_ns < before)
		begun_ns = before;
	return now > begun_ns ? now - begun_ns : 0;
}

void gs_ended(struct gs_budget *budget, uint64_t brackets, uint32_t n, uint64_t estimate_ns,
	      uint64_t blocks, uint64_t ns)
{
	gpushare_progress(budget->share, blocks, ns);
	gs_leave(budget, n, estimate_ns);
	while (brackets--)
		gpushare_end(budget->share);
}

static bool is_queued(const struct gs_budget *budget)
{
	return __atomic_load_n(&budget->queued, __ATOMIC_SEQ_CST);
}

static void say_queued(struct gs_budget *budget)
{
	bool last;

	pthread_mutex_lock(&budget->saying);
	if (budget->held && !gpushare_may_run(budget->share)) {
		gpushare_end(budget->share);
		budget->held = false;
	}
	if (!budget->held && is_queued(budget)) {
		/* While something is in flight nothing is given back, nor asked for. */
		last = !__atomic_load_n(&budget->in_flight, __ATOMIC_SEQ_CST);
		budget->held = !gpushare_begin(budget->share, 0);
		budget->asked = last && !budget->held;
	}
	pthread_mutex_unlock(&budget->saying);
}

void gs_queue(struct gs_budget *budget)
{
	__atomic_add_fetch(&budget->queued, 1, __ATOMIC_SEQ_CST);
	say_queued(budget);
}

/* Unless it @launches, a request that stands for it goes: the grant would be nobody's. */
static void unqueue(struct gs_budget *budget, bool launches)
{
	if (__atomic_sub_fetch(&budget->queued, 1, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_lock(&budget->saying);
	if (budget->held && !is_queued(budget)) {
		gpushare_end(budget->share);
		budget->held = false;
	} else if (budget->asked && !launches && !is_queued(budget)) {
		gpushare_yield(budget->share);
	}
	budget->asked = false;
	pthread_mutex_unlock(&budget->saying);
}

void gs_unqueue(struct gs_budget *budget)
{
	unqueue(budget, false);
}

bool gs_begin_queued(struct gs_budget *budget)
{
	bool begun = !gpushare_begin(budget->share, 0);

	unqueue(budget, true);
	return begun;
}

void gs_ask_for_queued(struct gs_budget *budget)
{
	if (is_queued(budget) && !__atomic_load_n(&budget->in_flight, __ATOMIC_SEQ_CST) &&
	    !__atomic_load_n(&budget->asked, __ATOMIC_RELAXED) && !gpushare_may_run(budget->share))
		say_queued(budget);
}

void gs_went_past(const struct gs_budget *budget, uint64_t launches)
{
	if (gs_is_gated(budget))
		gpushare_unscheduled(budget->share, launches);
}

void gs_note_workers(struct gs_budget *budget)
{
	const struct gpushare_grant_page *page = gs_grant_page(budget);

	if (page && __atomic_load_n(&page->word, __ATOMIC_RELAXED) & GPUSHARE_GRANTED)
		__atomic_store_n(&budget->workers, __atomic_load_n(&page->workers,
								   __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}
