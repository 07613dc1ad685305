// SPDX-License-Identifier: MIT
/*
 * The hidden arguments, and the books of workers that are stopped and resumed, held
 * against a worker in C that does what the header says of a kernel.
 */
#include <errno.h>

#include <gsopencl.h>

#include "harness.h"

#define MOST	24

static const struct gsx_cl_launch plane = {
	.size = { 70, 33, 1 }, .offset = { 5, 0, 9 }, .local = { 7, 3, 1 },
};

TEST(groups)
{
	struct gsx_cl_launch l = plane;
	uint64_t g[3];

	EXPECT_TRUE(gsx_cl_groups(&l, g));
	EXPECT_EQ(10, g[0]);
	EXPECT_EQ(11, g[1]);
	EXPECT_EQ(1, g[2]);
	l.size[0] = 71;
	EXPECT_TRUE(gsx_cl_groups(&l, g));
	EXPECT_EQ(11, g[0]);
	l.local[2] = 0;
	EXPECT_FALSE(gsx_cl_groups(&l, g));
	l = (struct gsx_cl_launch){ { 1ull << 40, 1ull << 30, 1 }, { 0 }, { 1, 1, 1 } };
	EXPECT_FALSE(gsx_cl_groups(&l, g));
}

TEST(slice)
{
	const uint64_t base[3] = { 4, 2, 0 };
	const uint64_t want[4][4] = {
		{ 4, 2, 0, 7 }, { 10, 11, 1, 3 }, { 5, 0, 9, 1 }, { 70, 33, 1, 0 }
	};
	struct gsx_cl_slice s;

	gsx_cl_slice_init(&s, &plane, base);
	EXPECT_EQ(0, memcmp(want, s.arg, sizeof(want)));
}

TEST(bounds)
{
	struct gsx_cl_launch l = plane;
	struct gsx_cl_todo t;
	uint32_t back[4][2];

	EXPECT_EQ(0, gsx_cl_todo_init(&t, &l, 0, 4, back));
	EXPECT_EQ(1, t.batch);
	EXPECT_EQ(110, t.total);
	EXPECT_EQ(-ERANGE, gsx_cl_todo_init(&t, &l, 1, 0, back));
	l.size[1] = 34;
	EXPECT_EQ(-EINVAL, gsx_cl_todo_init(&t, &l, 1, 4, back));
	l.size[1] = 0;
	EXPECT_EQ(-ERANGE, gsx_cl_todo_init(&t, &l, 1, 4, back));
	l = (struct gsx_cl_launch){ { GSX_MAX_BLOCKS, 1, 1 }, { 0 }, { 1, 1, 1 } };
	EXPECT_EQ(0, gsx_cl_todo_init(&t, &l, 8, 4, back));
	l.size[0]++;
	EXPECT_EQ(-ERANGE, gsx_cl_todo_init(&t, &l, 8, 4, back));
}

union queue {
	struct gsx_cl_queue q;
	uint32_t room[16 + 4 * MOST];
};

/* The batch with number @i; false: there is none. */
static bool batch(const struct gsx_cl_queue *q, const struct gsx_cl_workers *w,
		  uint32_t workers, uint32_t i, uint32_t *m, uint32_t *end)
{
	uint64_t total = w->arg[0][0] * w->arg[0][1] * w->arg[0][2], from;

	if (i < w->arg[2][3]) {
		*m = q->range[workers + i][0];
		*end = q->range[workers + i][1];
		return true;
	}
	from = w->arg[1][3] + (i - w->arg[2][3]) * w->arg[0][3];
	if (from >= total)
		return false;
	*m = from;
	*end = from + w->arg[0][3] < total ? from + w->arg[0][3] : total;
	return true;
}

/* Runs workers in turns drawn by chance; after @quota groups the stop word is set. */
static void kernel(struct gsx_cl_queue *q, const struct gsx_cl_workers *w, uint32_t workers,
		   uint32_t quota, uint8_t *ran, uint32_t *last)
{
	uint32_t at[MOST], end[MOST], present = workers, i;
	bool gone[MOST] = { false };

	for (i = 0; i < workers; i++)
		ASSERT_TRUE(batch(q, w, workers, i, &at[i], &end[i]));
	while (present) {
		i = rand() % workers;
		if (gone[i])
			continue;
		ran[at[i]]++;
		if (quota)
			quota--;
		if (++at[i] < end[i] && quota)
			continue;
		if (quota) {
			uint32_t first = at[i];

			if (batch(q, w, workers, q->next++, &at[i], &end[i])) {
				/* in ascending order over all launches */
				EXPECT_LE(*last, at[i]);
				*last = at[i];
				continue;
			}
			at[i] = end[i] = first;
		}
		q->range[i][0] = at[i];
		q->range[i][1] = end[i];
		gone[i] = true;
		present--;
	}
}

TEST(stop_and_resume)
{
	unsigned int seed = getenv("SEED") ? atoi(getenv("SEED")) : 1, round;

	printf("# SEED=%u\n", seed);
	srand(seed);
	for (round = 0; round < 3000; round++) {
		struct gsx_cl_launch l = {
			{ 1 + rand() % 40, 1 + rand() % 5, 1 + rand() % 3 }, { 0 }, { 1, 1, 1 }
		};
		uint32_t most = 1 + rand() % MOST, back[MOST][2], workers, last, i, launches = 0;
		struct gsx_cl_workers w;
		uint8_t ran[600] = { 0 };
		struct gsx_cl_todo t;
		union queue q;
		int64_t left = 1;

		ASSERT_EQ(0, gsx_cl_todo_init(&t, &l, 1 + rand() % 9, most, back));
		while ((workers = gsx_cl_todo_next(&t, 1 + rand() % (most + 2), &q.q, &w))) {
			ASSERT_LE(workers, most);
			last = 0;
			kernel(&q.q, &w, workers, rand() % 30, ran, &last);
			left = gsx_cl_todo_done(&t, workers, &q.q);
			ASSERT_LE(0, left);
			ASSERT_LE(++launches, t.total);
		}
		EXPECT_EQ(0, left);
		for (i = 0; i < t.total; i++)
			ASSERT_EQ(1, ran[i]);
	}
}

TEST(a_queue_that_no_kernel_left)
{
	uint32_t back[4][2];
	struct gsx_cl_workers w;
	struct gsx_cl_todo t;
	union queue q;

	ASSERT_EQ(0, gsx_cl_todo_init(&t, &plane, 4, 4, back));
	ASSERT_EQ(3, gsx_cl_todo_next(&t, 3, &q.q, &w));
	q.q.next = 2;
	EXPECT_EQ(-EINVAL, gsx_cl_todo_done(&t, 3, &q.q));
	q.q.next = 3;
	q.q.range[1][0] = 9;
	q.q.range[1][1] = 8;
	EXPECT_EQ(-EINVAL, gsx_cl_todo_done(&t, 3, &q.q));
	q.q.range[1][0] = 2;
	EXPECT_EQ(104, gsx_cl_todo_done(&t, 3, &q.q));
	ASSERT_EQ(1, t.n_back);
	/* overlaps, and beyond what was handed out */
	ASSERT_EQ(2, gsx_cl_todo_next(&t, 2, &q.q, &w));
	q.q.range[0][0] = q.q.range[1][0] = 4;
	q.q.range[0][1] = q.q.range[1][1] = 6;
	EXPECT_EQ(-EINVAL, gsx_cl_todo_done(&t, 2, &q.q));
	ASSERT_EQ(0, gsx_cl_todo_init(&t, &plane, 4, 4, back));
	ASSERT_EQ(2, gsx_cl_todo_next(&t, 2, &q.q, &w));
	q.q.range[0][0] = 6;
	q.q.range[0][1] = 9;
	EXPECT_EQ(-EINVAL, gsx_cl_todo_done(&t, 2, &q.q));
}

TEST_MAIN()
