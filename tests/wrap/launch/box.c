// SPDX-License-Identifier: MIT
/* Boxes: every group of a launch is in one of them, once, in ascending order. */
#include "wrap/launch/box.h"
#include "harness.h"

static uint64_t seed = 20261123;

static uint64_t draw(uint64_t below)
{
	uint64_t x = seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (x ^ x >> 31) % below;
}

/* The boxes' groups, walked x fastest, have to be 0, 1, 2, ... */
static bool walk(const uint64_t groups[3], const struct gs_box *box, uint64_t *at)
{
	uint64_t x, y, z, there;

	for (z = 0; z < box->n[2]; z++)
		for (y = 0; y < box->n[1]; y++)
			for (x = 0; x < box->n[0]; x++) {
				there = ((box->base[2] + z) * groups[1] + box->base[1] + y) *
					groups[0] + box->base[0] + x;
				if (there != (*at)++)
					return false;
			}
	return true;
}

TEST(each_group_comes_once_and_in_order)
{
	uint64_t groups[3], total, at, before, most;
	struct gs_box box;
	unsigned int i, j;

	for (i = 0; i < 2000; i++) {
		for (j = 0; j < 3; j++)
			groups[j] = 1 + draw(12);
		total = groups[0] * groups[1] * groups[2];
		for (at = 0; at < total;) {
			most = 1 + draw(total + 2);
			before = at;
			gs_box_at(groups, at, most, &box);
			ASSERT_TRUE(box.total && box.total <= most);
			ASSERT_TRUE(walk(groups, &box, &at));
			ASSERT_EQ(at - before, box.total);
		}
		ASSERT_EQ(at, total);
	}
}

TEST(none_is_smaller_than_a_row_that_fits)
{
	static const uint64_t groups[3] = { 100, 8, 3 };
	struct gs_box box;

	gs_box_at(groups, 0, 250, &box);
	EXPECT_EQ(box.total, 200);
	gs_box_at(groups, 600, 250, &box);
	EXPECT_EQ(box.total, 200);
	gs_box_at(groups, 0, 1700, &box);
	EXPECT_EQ(box.total, 1600);
	gs_box_at(groups, 50, 1700, &box);	/* to the row's end */
	EXPECT_EQ(box.total, 50);
	gs_box_at(groups, 100, 1700, &box);	/* to the plane's */
	EXPECT_EQ(box.total, 700);
	gs_box_at(groups, 0, 0, &box);
	EXPECT_EQ(box.total, 1);
}

/* A grid of CUDA's largest: 2^31 - 1 by 65535 by 65535. */
TEST(largest_grid)
{
	static const uint64_t groups[3] = { 2147483647, 65535, 65535 };
	uint64_t plane = groups[0] * groups[1], last = plane * groups[2] - 1;
	struct gs_box box;

	gs_box_at(groups, last, UINT64_MAX, &box);
	EXPECT_EQ(box.total, 1);
	EXPECT_EQ(box.base[2], 65534);
	gs_box_at(groups, 0, UINT64_MAX, &box);
	EXPECT_EQ(box.total, last + 1);
}

TEST_MAIN()
