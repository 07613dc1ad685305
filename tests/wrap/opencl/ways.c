// SPDX-License-Identifier: MIT
/* The choice between slices and workers, with times that are made up. */
#include "wrap/opencl/ways.h"
#include "harness.h"

#define GROUPS	1000
#define MS	1000000ull

static const char *why;

/* One launch: chosen, and measured to have taken what that way takes now. */
static enum gs_way go(struct gs_ways *w, uint64_t slices_ns, uint64_t workers_ns)
{
	enum gs_way way = gs_ways_choose(w, &why);

	gs_ways_learn(w, way, GROUPS, way == GS_WORKERS ? workers_ns : slices_ns);
	return way;
}

static uint32_t workers_among(struct gs_ways *w, uint32_t launches, uint64_t slices_ns,
			      uint64_t workers_ns)
{
	uint32_t n = 0;

	while (launches--)
		n += go(w, slices_ns, workers_ns) == GS_WORKERS;
	return n;
}

TEST(workers_are_tried_when_a_kernel_has_run_for_a_second)
{
	struct gs_ways w = { 0 };

	EXPECT_EQ(workers_among(&w, 10, 100 * MS, 50 * MS), 0);
	EXPECT_EQ(go(&w, 100 * MS, 50 * MS), GS_WORKERS);
	EXPECT_STREQ(why, "to be measured");
	EXPECT_EQ(workers_among(&w, 52, 100 * MS, 50 * MS), 52);
	EXPECT_STREQ(why, "faster than slices");
}

TEST(slower_ones_are_left_after_three_launches)
{
	struct gs_ways w = { 0 };

	EXPECT_EQ(workers_among(&w, 70, 100 * MS, 110 * MS), 3);
	EXPECT_STREQ(why, "faster than workers");
}

/* It may have been compiled in it. */
TEST(the_first_trial_does_not_count)
{
	struct gs_ways w = { 0 };

	workers_among(&w, 10, 100 * MS, 0);
	EXPECT_EQ(go(&w, 100 * MS, 5000 * MS), GS_WORKERS);
	EXPECT_EQ(w.group_ps[GS_WORKERS], 0);
	EXPECT_EQ(workers_among(&w, 20, 100 * MS, 50 * MS), 20);
}

TEST(a_little_faster_is_not_enough)
{
	struct gs_ways w = { 0 };

	EXPECT_EQ(workers_among(&w, 70, 100 * MS, 98 * MS), 3);
}

/* Noise only adds: one launch that others held up changes nothing. */
TEST(one_slow_launch_changes_nothing)
{
	struct gs_ways w = { 0 };

	workers_among(&w, 20, 100 * MS, 50 * MS);
	EXPECT_EQ(go(&w, 0, 800 * MS), GS_WORKERS);
	EXPECT_EQ(go(&w, 100 * MS, 50 * MS), GS_WORKERS);
}

/* The times have changed: the other way is looked at, more and more seldom, and taken. */
TEST(the_other_way_is_looked_at_again)
{
	struct gs_ways w = { 0 };

	workers_among(&w, 13, 100 * MS, 110 * MS);
	EXPECT_EQ(workers_among(&w, 65, 100 * MS, 110 * MS), 1);
	EXPECT_STREQ(why, "to be measured again");
	EXPECT_EQ(workers_among(&w, 128, 100 * MS, 110 * MS), 0);
	EXPECT_EQ(go(&w, 100 * MS, 50 * MS), GS_WORKERS);
	EXPECT_EQ(workers_among(&w, 20, 100 * MS, 50 * MS), 20);
}

TEST(where_they_cannot_be_had_nothing_is_tried)
{
	struct gs_ways w = { .never = true };

	EXPECT_EQ(workers_among(&w, 5000, 100 * MS, 1), 0);
	EXPECT_TRUE(!why);
}

TEST_MAIN()
