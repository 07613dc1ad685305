// SPDX-License-Identifier: MIT
/* What may be in flight, before an arbiter's page and a clock that are made up. */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "ulib/clock.h"
#include "wrap/launch/budget.h"

#define MS	1000000ull
#define SLICE	(2 * MS)
#define ROOM	(SLICE - SLICE / 4)

static struct gpushare_grant_page page;
static struct gpushare handle = { .grant = &page };
static uint64_t now_ns, until, passed, ended, blocks_done, busy_ns, requests, yields;
static int64_t under_way;

uint64_t gs_now(void)
{
	return now_ns;
}

int gpushare_open(struct gpushare **g, const char *key, const struct gpushare_options *options)
{
	(void)options;
	*g = &handle;
	return strcmp(key, "cpu:0") ? -EINVAL : 0;
}

void gpushare_grant(const struct gpushare *g, struct gpushare_grant *grant)
{
	*grant = (struct gpushare_grant){
		.epoch = g->grant->word >> GPUSHARE_EPOCH_SHIFT,
		.flags = (uint32_t)(g->grant->word & GPUSHARE_FLAGS_MASK),
		.granted_ns = g->grant->granted_ns, .waiters = g->grant->waiters,
	};
}

void gpushare_until(struct gpushare *g, uint64_t until_ns)
{
	(void)g;
	until = until_ns;
}

void gpushare_unscheduled(struct gpushare *g, uint64_t launches)
{
	(void)g;
	passed += launches;
}

/* It is given back, and asked for, when nothing is under way. */
int gpushare_begin(struct gpushare *g, uint64_t until_ns)
{
	EXPECT_EQ(0, until_ns);
	if (!(g->grant->word & GPUSHARE_PREEMPT)) {
		under_way++;
		return 0;
	}
	if (!under_way)
		requests++;
	return -EAGAIN;
}

void gpushare_end(struct gpushare *g)
{
	(void)g;
	ended++;
	under_way--;
}

int gpushare_yield(struct gpushare *g)
{
	(void)g;
	yields++;
	return 0;
}

void gpushare_progress(struct gpushare *g, uint64_t blocks, uint64_t ns)
{
	(void)g;
	blocks_done += blocks;
	busy_ns += ns;
}

/* A device that is granted since now, for the @epoch-th time. */
static struct gs_budget granted(uint64_t epoch)
{
	struct gs_budget b = { 0 };

	now_ns = 1000 * MS;
	page = (struct gpushare_grant_page){
		.word = epoch << GPUSHARE_EPOCH_SHIFT | GPUSHARE_GRANTED, .slice_ns = SLICE,
		.granted_ns = now_ns, .client = 7,
	};
	handle.grant = &page;
	until = ended = blocks_done = busy_ns = passed = requests = yields = 0;
	under_way = 0;
	EXPECT_EQ(0, gs_budget_open(&b, "cpu:0"));
	return b;
}

/* How many launches of so long go until there is no room. */
static unsigned int launches_of(struct gs_budget *b, uint64_t ns)
{
	unsigned int n;

	for (n = 0; n < 100000 && gs_has_room(b, ns); n++)
		gs_enter(b, 1, ns);
	return n;
}

TEST(three_quarters_of_a_slice)
{
	struct gs_budget b = granted(1);

	page.waiters = 1;
	EXPECT_EQ(150, launches_of(&b, 10000));
	EXPECT_EQ(ROOM, b.in_flight_ns);
	EXPECT_EQ(150, b.in_flight);
	gs_leave(&b, 1, 10000);
	EXPECT_TRUE(gs_has_room(&b, 10000));
	EXPECT_FALSE(gs_has_room(&b, 10001));
	page.slice_ns = 2 * SLICE;
	EXPECT_EQ(151, launches_of(&b, 10000));
}

TEST(pieces_of_half_the_room_are_two_and_unknown_launches_six)
{
	struct gs_budget b = granted(1);

	EXPECT_EQ(2, launches_of(&b, gs_room(&b) / 2));
	b = granted(1);
	EXPECT_EQ(6, launches_of(&b, gs_unknown_ns(&b)));
}

TEST(one_goes_however_long_and_a_second_while_nobody_waits)
{
	struct gs_budget b = granted(1);

	EXPECT_EQ(2, launches_of(&b, 5 * MS));
	b = granted(1);
	page.waiters = 1;
	EXPECT_EQ(1, launches_of(&b, 5 * MS));
	page.waiters = 0;
	EXPECT_TRUE(gs_has_room(&b, UINT64_MAX));
	EXPECT_EQ(1, launches_of(&b, 5 * MS));
}

/* Short ones that fill the room aren't a first: behind them no long one goes. */
TEST(behind_many_short_ones_no_long_one_goes)
{
	struct gs_budget b = granted(1);

	launches_of(&b, 10000);
	EXPECT_FALSE(gs_has_room(&b, 5 * MS));
	EXPECT_FALSE(gs_has_room(&b, UINT64_MAX));
}

TEST(there_is_more_when_a_grant_was_alone_for_a_quarter_of_a_second)
{
	struct gs_budget b = granted(1);

	now_ns += 250 * MS - 1;
	EXPECT_EQ(ROOM, gs_room(&b));
	EXPECT_EQ(2, launches_of(&b, 5 * MS));
	now_ns++;
	EXPECT_EQ(32 * MS, gs_room(&b));
	EXPECT_EQ(4, launches_of(&b, 5 * MS));
	/* Somebody comes: at once as little as ever. */
	page.waiters = 1;
	EXPECT_EQ(ROOM, gs_room(&b));
	EXPECT_FALSE(gs_has_room(&b, 1));
	/* The next grant was alone for no time at all. */
	page.waiters = 0;
	page.word = 2 << GPUSHARE_EPOCH_SHIFT | GPUSHARE_GRANTED;
	page.granted_ns = now_ns;
	EXPECT_EQ(ROOM, gs_room(&b));
	EXPECT_FALSE(gs_has_room(&b, 1));
}

TEST(what_is_not_granted_is_not_alone)
{
	struct gs_budget b = granted(1);

	now_ns += 1000 * MS;
	page.word &= ~(uint64_t)GPUSHARE_GRANTED;
	EXPECT_EQ(ROOM, gs_room(&b));
}

TEST(long_slices_are_not_made_shorter_by_that)
{
	struct gs_budget b = granted(1);

	page.slice_ns = 100 * MS;
	now_ns += 1000 * MS;
	EXPECT_EQ(75 * MS, gs_room(&b));
}

TEST(who_ends_leaves_what_entered)
{
	struct gs_budget b = granted(1);

	EXPECT_TRUE(gs_enter(&b, 3, 300));
	EXPECT_FALSE(gs_enter(&b, 1, 50));
	gs_ended(&b, 1, 3, 300, 96, 280);
	EXPECT_EQ(50, b.in_flight_ns);
	EXPECT_EQ(1, b.in_flight);
	EXPECT_EQ(1, ended);
	gs_ended(&b, 1, 1, 50, 4, 20);
	EXPECT_EQ(0, b.in_flight_ns);
	EXPECT_EQ(0, b.in_flight);
	EXPECT_EQ(2, ended);
	EXPECT_EQ(100, blocks_done);
	EXPECT_EQ(300, busy_ns);
	EXPECT_TRUE(gs_enter(&b, 1, 1));
}

/* Two that were on the device one after the other: none's time is counted twice. */
TEST(time_is_counted_once)
{
	struct gs_budget b = granted(1);
	uint64_t first = now_ns, second = now_ns + 1;

	now_ns += 100;
	EXPECT_EQ(100, gs_took(&b, first));
	now_ns += 50;
	EXPECT_EQ(50, gs_took(&b, second));
	now_ns += 1000;
	EXPECT_EQ(10, gs_took(&b, now_ns - 10));
}

TEST(workers_are_those_of_a_grant)
{
	struct gs_budget b = granted(1);

	page.workers = 5;
	gs_note_workers(&b);
	EXPECT_EQ(5, b.workers);
	page.workers = 0;
	page.word &= ~(uint64_t)GPUSHARE_GRANTED;
	gs_note_workers(&b);
	EXPECT_EQ(5, b.workers);
	page.word |= GPUSHARE_GRANTED;
	gs_note_workers(&b);
	EXPECT_EQ(0, b.workers);
}

TEST(past_the_gate_goes_what_had_one)
{
	struct gs_budget b = granted(1);

	gs_went_past(&b, 3);
	EXPECT_EQ(3, passed);
	page.client = 0;
	gs_went_past(&b, 3);
	EXPECT_EQ(3, passed);
}

TEST(a_child_of_a_fork_has_no_page_until_it_asks)
{
	struct gs_budget b = granted(1);

	handle.grant = NULL;
	EXPECT_EQ(ROOM, gs_room(&b));
	EXPECT_TRUE(gs_is_gated(&b));
	EXPECT_FALSE(gs_is_awaited(&b));
	gs_note_workers(&b);
	EXPECT_EQ(2, launches_of(&b, 5 * MS));
}

TEST(one_that_cannot_be_opened)
{
	struct gs_budget b = { 0 };

	EXPECT_EQ(-EINVAL, gs_budget_open(&b, "nonsense"));
	EXPECT_TRUE(!b.share);
}

/* As one launch runs and another waits for room: a bracket for each. */
static struct gs_budget one_runs_one_waits(void)
{
	struct gs_budget b = granted(1);

	gpushare_begin(b.share, 0);
	gs_enter(&b, 1, MS);
	gs_queue(&b);
	EXPECT_EQ(2, under_way);
	return b;
}

TEST(who_waits_for_room_is_not_idle)
{
	struct gs_budget b = one_runs_one_waits();

	gs_ended(&b, 1, 1, MS, 1, MS);
	gs_ask_for_queued(&b);
	EXPECT_EQ(1, under_way);
	EXPECT_EQ(0, requests);
	EXPECT_TRUE(gs_begin_queued(&b));
	EXPECT_EQ(1, under_way);	/* its own; that which stood for it is over */
	gs_queue(&b);
	gs_unqueue(&b);
	EXPECT_EQ(1, under_way);
}

TEST(the_last_end_on_a_grant_that_is_asked_back_asks_anew)
{
	struct gs_budget b = one_runs_one_waits();

	page.word |= GPUSHARE_PREEMPT;
	gs_ask_for_queued(&b);		/* not while the launch runs */
	EXPECT_EQ(0, requests);
	gs_ended(&b, 1, 1, MS, 1, MS);
	gs_ask_for_queued(&b);
	EXPECT_EQ(0, under_way);
	EXPECT_EQ(1, requests);
	gs_ask_for_queued(&b);		/* it stands: once is enough */
	EXPECT_EQ(1, requests);
	EXPECT_FALSE(gs_begin_queued(&b));
	EXPECT_EQ(0, b.queued);
}

TEST(who_begins_to_wait_on_a_grant_that_is_asked_back_asks_at_the_end)
{
	struct gs_budget b = granted(1);

	gpushare_begin(b.share, 0);
	gs_enter(&b, 1, MS);
	page.word |= GPUSHARE_PREEMPT;
	gs_queue(&b);
	gs_ended(&b, 1, 1, MS, 1, MS);
	EXPECT_EQ(0, requests);
	gs_ask_for_queued(&b);
	EXPECT_EQ(1, requests);
	gs_unqueue(&b);
	EXPECT_EQ(0, under_way);
}

/* The grant would come, and be taken for one at work until grace is over. */
TEST(a_request_for_work_that_is_not_launched_is_taken_back)
{
	struct gs_budget b = one_runs_one_waits();

	gs_queue(&b);
	page.word |= GPUSHARE_PREEMPT;
	gs_ended(&b, 1, 1, MS, 1, MS);
	gs_ask_for_queued(&b);
	EXPECT_EQ(1, requests);
	gs_unqueue(&b);			/* the other still waits */
	EXPECT_EQ(0, yields);
	gs_unqueue(&b);
	EXPECT_EQ(1, yields);
	gs_queue(&b);
	EXPECT_EQ(2, requests);
	EXPECT_FALSE(gs_begin_queued(&b));	/* it begins, and waits, by itself */
	EXPECT_EQ(1, yields);
	page.word &= ~(uint64_t)GPUSHARE_PREEMPT;
	gs_queue(&b);
	gs_unqueue(&b);
	EXPECT_EQ(1, yields);
}

TEST(nobody_waits_nobody_asks)
{
	struct gs_budget b = one_runs_one_waits();

	gs_unqueue(&b);
	page.word |= GPUSHARE_PREEMPT;
	gs_ended(&b, 1, 1, MS, 1, MS);
	gs_ask_for_queued(&b);
	EXPECT_EQ(0, under_way);
	EXPECT_EQ(0, requests);
}

/* What is more than the room can't be taken back, and is said; what is within it isn't. */
TEST(who_waits_is_not_kept_by_what_takes_longer_than_the_room)
{
	struct gs_budget b = granted(1);

	launches_of(&b, 10000);
	EXPECT_EQ(0, until);
	b = granted(1);
	gs_enter(&b, 1, 100 * MS);
	EXPECT_EQ(now_ns + 100 * MS, until);
	gs_enter(&b, 1, 100 * MS);
	EXPECT_EQ(now_ns + 200 * MS, until);
	now_ns += 30 * MS;
	gs_enter(&b, 1, 1000);		/* a short one says nothing anew */
	EXPECT_EQ(now_ns + 170 * MS, until);
	gs_ended(&b, 1, 1, 100 * MS, 1, MS);
	EXPECT_EQ(now_ns + 100 * MS + 1000, until);
	gs_ended(&b, 1, 1, 100 * MS, 1, MS);
	EXPECT_EQ(0, until);
}

/* It was thought to be short, or nobody knew: who is asked and can't says so then. */
TEST(what_goes_on_when_it_is_asked_back_is_said)
{
	struct gs_budget b = granted(1);
	uint64_t asked;

	gs_enter(&b, 1, gs_unknown_ns(&b));
	now_ns += 50 * MS;
	gs_say_late(&b);
	EXPECT_EQ(0, until);		/* nobody waits */
	page.word |= GPUSHARE_PREEMPT;
	asked = now_ns;
	gs_say_late(&b);
	now_ns = asked + SLICE / 4;
	gs_say_late(&b);
	EXPECT_EQ(0, until);		/* it may end any moment */
	now_ns = asked + SLICE / 4 + 1;
	gs_say_late(&b);
	EXPECT_EQ(now_ns + SLICE + SLICE / 4 + 1, until);
	now_ns = until;
	gs_say_late(&b);
	EXPECT_EQ(now_ns + SLICE + now_ns - asked, until);
	gs_ended(&b, 1, 1, gs_unknown_ns(&b), 1, MS);
	EXPECT_EQ(0, until);
	gs_say_late(&b);
	now_ns += 10 * MS;
	gs_enter(&b, 1, 10000);
	gs_say_late(&b);
	EXPECT_EQ(0, until);		/* asked anew: from now on */
}

TEST_MAIN()
