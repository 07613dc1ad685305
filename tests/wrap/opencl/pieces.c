// SPDX-License-Identifier: MIT
/* What a long launch is cut into, by times that are made up. */
#include "wrap/opencl/layer.h"
#include "wrap/launch/box.h"
#include "harness.h"

#define ROOM	32000000ull

static struct gs_estimate estimate;

static struct gs_launch launch_of(uint64_t x, uint64_t y, uint64_t z, uint64_t group_ps)
{
	estimate = (struct gs_estimate){ .group_ps = group_ps, .samples = group_ps ? 2 : 0 };
	return (struct gs_launch){
		.groups = { x, y, z }, .total = x * y * z, .estimate = &estimate,
	};
}

/* How many pieces there are; the longest of them, in groups. */
static uint64_t cut(struct gs_launch *l, uint64_t *most)
{
	struct gs_box box;
	uint64_t n = 0;

	for (*most = 0; l->done < l->total && n < 1000000; n++) {
		gs_box_at(l->groups, l->done, gs_piece_groups(l, ROOM), &box);
		l->done += box.total;
		*most = box.total > *most ? box.total : *most;
	}
	EXPECT_EQ(l->done, l->total);
	return n;
}

/* Else one would be launched only when that before it has ended, and the device stand idle. */
TEST(two_pieces_may_be_in_flight)
{
	static const uint64_t times[] = { 1, 3, 999, 1300, 77777, 1300001, 65432101, 15999999999 };
	struct gs_launch l;
	uint64_t most, total, pieces;
	size_t i, j;

	for (i = 0; i < sizeof(times) / sizeof(*times); i++) {
		/* Of 33 ms, 41.25 ms, ... 264 ms. */
		for (j = 4; j <= 32; j++) {
			total = ROOM * 1000 / times[i] * j * 33 / 128 + 1;
			l = launch_of(total, 1, 1, times[i]);
			pieces = cut(&l, &most);
			if (total > 1)
				EXPECT_TRUE(2 * gs_estimate_ns(&estimate, most) <= ROOM);
			EXPECT_TRUE(pieces <= gs_estimate_ns(&estimate, total) / (ROOM / 2) + 2 ||
				    times[i] > ROOM * 100);
		}
	}
}

/* Who waits may be woken late, so one wait says nothing longer, but several in a row do. */
TEST(waits_are_believed_together)
{
	struct gs_estimate e = { .group_ps = 1000, .samples = 2 };
	int i;

	EXPECT_EQ(gs_estimate_waited(&e, 90000, 1000), 1000);
	EXPECT_EQ(gs_estimate_waited(&e, 70000, 1000), 1000);
	EXPECT_EQ(gs_estimate_waited(&e, 80000, 1000), 1000);
	EXPECT_EQ(gs_estimate_waited(&e, 900, 1000), 1000);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(gs_estimate_waited(&e, 9000, 1000), 1000);
		EXPECT_EQ(gs_estimate_waited(&e, 4000, 1000), 1000);
		EXPECT_EQ(gs_estimate_waited(&e, 8000, 1000), 1000);
		EXPECT_EQ(gs_estimate_waited(&e, 7000, 1000), 4000);
	}
	EXPECT_EQ(gs_estimate_waited(&e, 7000, 0), 0);
}

/* A short one at the end would leave the device to few of its units. */
TEST(pieces_are_alike)
{
	struct gs_launch l = launch_of(70, 1, 1, 1000000000);
	uint64_t most;

	EXPECT_EQ(gs_piece_groups(&l, ROOM), 14);
	EXPECT_EQ(cut(&l, &most), 5);
	EXPECT_EQ(most, 14);
	l = launch_of(33001, 1, 1, 1000000);
	EXPECT_EQ(cut(&l, &most), 3);
	EXPECT_EQ(most, 11001);
}

TEST(rows_and_planes_are_whole)
{
	struct gs_launch l = launch_of(100, 40, 1, 10000000);
	uint64_t most;

	EXPECT_EQ(cut(&l, &most), 3);
	EXPECT_EQ(most % 100, 0);
	l = launch_of(10, 10, 100, 5000000);
	cut(&l, &most);
	EXPECT_EQ(most % 100, 0);
}

TEST(groups_longer_than_that_go_one_by_one)
{
	struct gs_launch l = launch_of(7, 1, 1, 20000000000);
	uint64_t most;

	EXPECT_EQ(cut(&l, &most), 7);
}

TEST(what_is_not_known_is_tried_with_few)
{
	struct gs_launch l = launch_of(6400, 1, 1, 0);

	EXPECT_EQ(gs_piece_groups(&l, ROOM), 100);
	l.done = 100;
	EXPECT_EQ(gs_piece_groups(&l, ROOM), 300);
}

TEST_MAIN()
