// SPDX-License-Identifier: MIT
/*
 * min: guarantees hold in each epoch, whatever the neighbours do, and are only
 * given as far as there is something to give.
 */
#include <inttypes.h>

#include "bed.h"

static struct bed b;
static struct tenant *sure[4];
static u64 used[4], least[4], sum[4];
static unsigned int nr_sure, epochs;

static void on_event(struct bed *bed, const struct gs_event *ev)
{
	unsigned int i;

	(void)bed;
	if (ev->type != GS_EV_EPOCH)
		return;
	for (i = 0; i < nr_sure; i++) {
		u64 now = sure[i]->c.usage, got = now - used[i];

		/* The first epoch began before the tenant did. */
		if (epochs && got * 1000 / ev->a < least[i])
			least[i] = got * 1000 / ev->a;
		sum[i] += epochs ? got : 0;
		used[i] = now;
	}
	epochs++;
}

static struct gs_device *begin(u32 way, u64 grace)
{
	struct gs_device_conf conf;
	unsigned int i;

	bed_init(&b);
	b.on_event = on_event;
	gs_device_conf_init(&conf);
	conf.min_way = way;
	conf.grace = grace;
	nr_sure = 0;
	epochs = 0;
	for (i = 0; i < 4; i++) {
		least[i] = 1000;
		used[i] = 0;
		sum[i] = 0;
	}
	return bed_device(&b, &conf);
}

/* Somebody with a guarantee, and next to no weight. */
static struct tenant *guaranteed(struct gs_device *dev, u32 min)
{
	struct gs_group *g = bed_group(&b, NULL, 1);

	bed_set(&b, g, SHARE(.min = min), GS_SHARE_MIN);
	sure[nr_sure] = bed_tenant(&b, g, dev, 100 * US);
	return sure[nr_sure++];
}

static void rivals(struct gs_device *dev, unsigned int n, u64 block, bool hog)
{
	while (n--) {
		struct gs_group *g = bed_group(&b, NULL, 10000);

		bed_start(bed_tenant(&b, g, dev, hog && n % 2 ? 0 : block));
	}
}

static const struct { u64 block; unsigned int n; bool hog; } hostile[] = {
	{ 100 * US, 1, false }, { 100 * US, 10, false }, { 5 * MS, 3, false },
	{ 15 * MS, 10, false }, { 1 * MS, 4, true }, { 7 * MS, 6, true },
};

static void check_way(u32 way)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(hostile); i++) {
		struct gs_device *dev = begin(way, 10 * MS);

		guaranteed(dev, 300);
		guaranteed(dev, 100);
		guaranteed(dev, 5);
		rivals(dev, hostile[i].n, hostile[i].block, hostile[i].hog);
		for (k = 0; k < nr_sure; k++)
			bed_start(sure[k]);
		bed_run(&b, b.now + 60 * SEC);
		EXPECT_LE(590u, epochs);
		EXPECT_LE(300ull, least[0]);
		EXPECT_LE(100ull, least[1]);
		EXPECT_LE(5ull, least[2]);
		bed_end(&b);
	}
}

TEST(rollover_holds_in_each_epoch)
{
	check_way(GS_MIN_ROLLOVER);
}

TEST(elastic_holds_in_each_epoch)
{
	check_way(GS_MIN_ELASTIC);
}

/* The other two hold where nothing keeps them from it. */
TEST(all_ways_hold_among_the_polite)
{
	u32 way;

	for (way = 0; way < GS_NR_MIN_WAYS; way++) {
		struct gs_device *dev = begin(way, 10 * MS);

		guaranteed(dev, 600);
		rivals(dev, 5, 100 * US, false);
		bed_start(sure[0]);
		bed_run(&b, b.now + 10 * SEC);
		EXPECT_LE(600ull, least[0]);
		EXPECT_LE(sum[0], 6200 * MS);
		bed_end(&b);
	}
}

/*
 * A neighbour with blocks of 130 ms takes most of every other epoch of 100 ms.
 * What is missed then must be made up for in the next one; naive forgets it.
 */
TEST(missed_time_is_made_up_for)
{
	u64 got[GS_NR_MIN_WAYS];
	u32 way;

	for (way = 0; way < GS_NR_MIN_WAYS; way++) {
		struct gs_device *dev = begin(way, SEC);

		guaranteed(dev, 500);
		rivals(dev, 1, 130 * MS, false);
		bed_start(sure[0]);
		bed_run(&b, b.now + 60 * SEC);
		got[way] = div64_u64(bed_usage(sure[0]), 60 * MS);
		printf("# way %d: %d per mille\n", (int)way, (int)got[way]);
		bed_end(&b);
	}
	EXPECT_LE(got[GS_MIN_NAIVE], 400ull);
	EXPECT_LE(got[GS_MIN_NAIVE] + 30, got[GS_MIN_HISTORY]);
	EXPECT_LE(490ull, got[GS_MIN_ROLLOVER]);
	EXPECT_LE(490ull, got[GS_MIN_ELASTIC]);
}

/*
 * Each pause of who is guaranteed lets the neighbour begin, who is late by most of an epoch
 * each time. What such a neighbour took beyond its part it doesn't get again. Naive forgets
 * by its nature; elastic's epochs last until the late one is through.
 */
TEST(a_pause_doesnt_give_the_guarantee_away)
{
	static const struct { u64 burst, pause, block; u32 min; } t[] = {
		{ 2 * MS, 20 * US, 92 * MS, 700 }, { 2 * MS, 20 * US, 92 * MS, 300 },
		{ 500 * US, 5 * US, 50 * MS, 800 }, { 9 * MS, 50 * US, 300 * MS, 600 },
		{ 2 * MS, 20 * US, 15 * MS, 700 },
	};
	u32 way;
	unsigned int i;

	for (way = 0; way < GS_NR_MIN_WAYS; way++) {
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			struct gs_device *dev = begin(way, SEC);
			struct tenant *late;
			u64 part, others;

			guaranteed(dev, t[i].min);
			sure[0]->burst = t[i].burst;
			sure[0]->pause = t[i].pause;
			late = bed_tenant(&b, bed_group(&b, NULL, 1), dev, t[i].block);
			bed_start(sure[0]);
			bed_start(late);
			bed_run(&b, b.now + 60 * SEC);
			part = bed_usage(sure[0]) * 1000 / (60 * SEC);
			others = bed_usage(late) * 1000 / (60 * SEC);
			printf("# way %u, %u: %u due, %" PRIu64 " and %" PRIu64 "\n", way, i, t[i].min, part, others);
			if (way == GS_MIN_ROLLOVER || way == GS_MIN_HISTORY) {
				EXPECT_LE(t[i].min - 20, part);
				EXPECT_LE(1000 - max(t[i].min, 500) - 50, others);
			}
			bed_end(&b);
		}
	}
}

/* A floor, not a cap; and weight goes on where the guarantee ends. */
TEST(min_is_a_floor)
{
	struct gs_device *dev = begin(GS_MIN_ROLLOVER, 100 * MS);
	struct tenant *t, *u;

	t = guaranteed(dev, 200);
	bed_set(&b, t->c.group, SHARE(.weight = 100), GS_SHARE_WEIGHT);
	u = bed_tenant(&b, bed_group(&b, NULL, 100), dev, 100 * US);
	bed_start(t);
	bed_run(&b, b.now + SEC);
	EXPECT_EQ(bed_usage(t), SEC);
	bed_start(u);
	bed_run(&b, b.now + 10 * SEC);
	EXPECT_LE(4950 * MS, bed_usage(t) - SEC);
	EXPECT_LE(4950 * MS, bed_usage(u));
	bed_end(&b);
}

/* What each of three with these weights and mins is due: its part, or its min if that is more. */
static void dues(const u32 *weight, const u32 *min, unsigned int n, double *due)
{
	bool floor[4] = { false };
	double rest, weights;
	unsigned int i, round;

	for (round = 0; round < n; round++) {
		rest = 1000, weights = 0;
		for (i = 0; i < n; i++) {
			rest -= floor[i] ? min[i] : 0;
			weights += floor[i] ? 0 : weight[i];
		}
		for (i = 0; i < n; i++) {
			due[i] = floor[i] ? min[i] : rest * weight[i] / weights;
			floor[i] |= due[i] < min[i];
		}
	}
}

static const struct {
	u64 slice;
	u64 block[3];		/* of each */
	bool jitter;		/* from one to two of them */
	u64 pause;		/* each wants nothing for so long after a piece */
} grains[] = {
	{ 2 * MS, { 100 * US, 100 * US, 100 * US }, false, 0 },
	{ 4 * MS, { 4 * MS, 4 * MS, 4 * MS }, false, 0 },
	{ 2 * MS, { 6 * MS, 6 * MS, 6 * MS }, false, 0 },
	{ 2 * MS, { 6 * MS, 200 * US, 200 * US }, false, 0 },
	{ 2 * MS, { 200 * US, 6 * MS, 3 * MS }, false, 0 },
	{ 2 * MS, { 6 * MS, 6 * MS, 6 * MS }, true, 0 },
	{ 4 * MS, { 4 * MS, 4 * MS, 4 * MS }, false, 20 * US },
	{ 2 * MS, { 6 * MS, 4 * MS, 2 * MS }, true, 20 * US },
};

static const struct {
	unsigned int n;
	u32 weight[3], min[3];
} mixes[] = {
	{ 2, { 100, 200 }, { 0, 0 } },
	{ 2, { 100, 200 }, { 100, 0 } },
	{ 2, { 100, 200 }, { 300, 0 } },
	{ 2, { 100, 200 }, { 330, 0 } },
	{ 2, { 100, 200 }, { 340, 0 } },
	{ 2, { 100, 200 }, { 500, 0 } },
	{ 2, { 100, 200 }, { 300, 600 } },
	{ 3, { 100, 200, 100 }, { 200, 0, 0 } },
	{ 3, { 100, 200, 100 }, { 400, 100, 0 } },
	/* Last, as it can't be had with pauses: in each of them another begins a piece. */
	{ 2, { 100, 900 }, { 800, 0 } },
};

/* One mix, each in a group of its own, @levels deep with the same min at each. */
static unsigned int off_by(u32 way, unsigned int mix, unsigned int grain, unsigned int levels)
{
	unsigned int n = mixes[mix].n, i, k, most = 0;
	struct gs_device_conf conf;
	struct gs_device *dev;
	struct tenant *t[3];
	u64 all = 20 * SEC;
	double due[3], off;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.min_way = way;
	conf.slice = grains[grain].slice;
	dev = bed_device(&b, &conf);
	for (i = 0; i < n; i++) {
		struct gs_group *g = NULL;

		for (k = 0; k < levels; k++) {
			g = bed_group(&b, g, mixes[mix].weight[i]);
			bed_set(&b, g, SHARE(.min = mixes[mix].min[i]), GS_SHARE_MIN);
		}
		t[i] = bed_tenant(&b, g, dev, grains[grain].block[i]);
		t[i]->jitter = grains[grain].jitter;
		t[i]->pause = grains[grain].pause;
		t[i]->burst = t[i]->pause ? t[i]->block : 0;
		bed_start(t[i]);
	}
	bed_run(&b, b.now + all);
	dues(mixes[mix].weight, mixes[mix].min, n, due);
	for (i = 0; i < n; i++) {
		off = (double)bed_usage(t[i]) * 1000 / (double)all - due[i];
		off = off < 0 ? -off : off;
		most = off > most ? (unsigned int)(off + 0.5) : most;
	}
	bed_end(&b);
	return most;
}

/*
 * A floor is a floor: nobody gets more for it than what it is, or than its part by
 * weight if that is more, whatever the pieces are and however a quota is kept.
 */
TEST_LIMIT(min_gives_no_more_than_it_says, 120)
{
	unsigned int i, k, levels, off, most = 0;
	u32 way;

	for (way = 0; way < GS_NR_MIN_WAYS; way++)
		for (i = 0; i < ARRAY_SIZE(mixes); i++)
			for (k = 0; k < ARRAY_SIZE(grains); k++)
				for (levels = 1; levels <= 3; levels += 2) {
					if (grains[k].pause && i == ARRAY_SIZE(mixes) - 1)
						continue;
					off = off_by(way, i, k, levels);
					if (off > 10)
						test_fail("way %u, mix %u, grain %u, %u levels: %u of 1000 off",
							  way, i, k, levels, off);
					most = off > most ? off : most;
				}
	printf("# at most %u of 1000 off\n", most);
}

/* What a guarantee gave isn't a debt when it ends. */
TEST(a_guarantee_leaves_no_debt)
{
	struct gs_device *dev = begin(GS_MIN_ROLLOVER, 100 * MS);
	struct tenant *t = guaranteed(dev, 900);
	u64 before;

	bed_set(&b, t->c.group, SHARE(.weight = 10000), GS_SHARE_WEIGHT);
	rivals(dev, 1, 100 * US, false);
	bed_start(t);
	bed_run(&b, b.now + 10 * SEC);
	EXPECT_LE(8900 * MS, bed_usage(t));
	EXPECT_EQ(gs_group_unset(t->c.group, NULL, GS_SHARE_MIN, b.now), 0);
	before = bed_usage(t);
	bed_run(&b, b.now + SEC);
	EXPECT_LE(450 * MS, bed_usage(t) - before);
	bed_end(&b);
}

/* One that does not want to run saves nothing up. */
TEST(idle_saves_nothing_up)
{
	struct gs_device *dev = begin(GS_MIN_ROLLOVER, 100 * MS);
	struct tenant *t = guaranteed(dev, 500);
	u64 before;

	rivals(dev, 2, 100 * US, false);
	bed_run(&b, b.now + 20 * SEC);
	before = b.now;
	bed_start(t);
	bed_run(&b, b.now + SEC);
	EXPECT_LE(bed_usage(t), (b.now - before) / 2 + 60 * MS);
	EXPECT_LE((b.now - before) / 2 - 5 * MS, bed_usage(t));
	bed_end(&b);
}

TEST(no_more_is_promised_than_there_is)
{
	struct gs_device *dev = begin(GS_MIN_ROLLOVER, 100 * MS);
	struct gs_group *a = bed_group(&b, NULL, 100), *c = bed_group(&b, NULL, 100);
	struct gs_group *child[3];
	struct gs_share s = SHARE(.min = 600);
	unsigned int i;

	bed_nodes(&b, a, dev);
	EXPECT_EQ(gs_group_set(a, NULL, &s, GS_SHARE_MIN, b.now), 0);
	EXPECT_EQ(gs_min_room(c, dev), 400u);
	s.min = 401;
	EXPECT_EQ(gs_group_set(c, NULL, &s, GS_SHARE_MIN, b.now), -ENOSPC);
	EXPECT_EQ(c->share.min, 0u);
	s.min = 400;
	EXPECT_EQ(gs_group_set(c, NULL, &s, GS_SHARE_MIN, b.now), 0);
	s.min = 1001;
	EXPECT_EQ(gs_group_set(c, NULL, &s, GS_SHARE_MIN, b.now), -EINVAL);
	for (i = 0; i < 3; i++)
		child[i] = bed_group(&b, a, 100);
	s.min = 300;
	EXPECT_EQ(gs_group_set(child[0], NULL, &s, GS_SHARE_MIN, b.now), 0);
	EXPECT_EQ(gs_group_set(child[1], NULL, &s, GS_SHARE_MIN, b.now), 0);
	s.min = 1;
	EXPECT_EQ(gs_group_set(child[2], NULL, &s, GS_SHARE_MIN, b.now), -ENOSPC);
	/* The parent may be given less later: then the children get their parts. */
	bed_nodes(&b, child[0], dev);
	bed_nodes(&b, child[1], dev);
	EXPECT_EQ(gs_node_find(child[0], dev)->min, 300u);
	s.min = 200;
	EXPECT_EQ(gs_group_set(a, NULL, &s, GS_SHARE_MIN, b.now), 0);
	EXPECT_EQ(gs_node_find(child[0], dev)->min, 100u);
	EXPECT_EQ(gs_node_find(child[1], dev)->min, 100u);
	/* For one device more may be free than for all. */
	s.min = 500;
	bed_nodes(&b, c, dev);
	EXPECT_EQ(gs_group_set(c, dev, &s, GS_SHARE_MIN, b.now), 0);
	EXPECT_EQ(gs_node_find(c, dev)->min, 500u);
	EXPECT_EQ(gs_group_unset(c, dev, GS_SHARE_MIN, b.now), 0);
	EXPECT_EQ(gs_node_find(c, dev)->min, 400u);
	bed_end(&b);
}

TEST_MAIN()
