// SPDX-License-Identifier: MIT
/*
 * What is worked out: workers for seats, memory, pressure, the tree itself.
 */
#include <math.h>
#include "bed.h"

static struct bed b;

static struct gs_device *begin(u32 way, u32 seats)
{
	struct gs_device_conf conf;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.seats = seats;
	conf.seat_way = way;
	conf.units = 1;
	conf.threads = 1000;
	conf.regs = 10000;
	conf.local_mem = 8000;
	conf.blocks = 16;
	return bed_device(&b, &conf);
}

#define P(t, r, l, n) { .threads = t, .regs = r, .local_mem = l, .blocks = n }

/* Up to three holders; workers worked out by hand. */
static const struct {
	const char *what;
	u32 way;
	unsigned int n;
	struct gs_profile p[3];
	u32 weight[3], want[3];
} seats[] = {
	{ "alone: threads bound", GS_SEATS_EQUAL, 1, { P(100, 10, 0, 99) }, { 1 }, { 10 } },
	{ "alone: places bound", GS_SEATS_EQUAL, 1, { P(10, 10, 0, 99) }, { 1 }, { 16 } },
	{ "alone: its blocks bound", GS_SEATS_EQUAL, 1, { P(10, 10, 0, 3) }, { 1 }, { 3 } },
	{ "alone: too large still runs", GS_SEATS_EQUAL, 1, { P(3000, 10, 0, 3) }, { 1 }, { 1 } },
	{ "two alike", GS_SEATS_EQUAL, 2, { P(100, 10, 0, 99), P(100, 10, 0, 99) }, { 1, 1 },
	  { 5, 5 } },
	{ "as in the comment", GS_SEATS_EQUAL, 2, { P(128, 1, 0, 99), P(300, 1, 0, 99) },
	  { 1, 1 }, { 5, 1 } },
	{ "registers bind one, threads the other", GS_SEATS_EQUAL, 2,
	  { P(10, 2500, 0, 99), P(100, 10, 0, 99) }, { 1, 1 }, { 3, 9 } },
	{ "local memory", GS_SEATS_EQUAL, 2, { P(10, 10, 3000, 99), P(10, 10, 1000, 99) },
	  { 1, 1 }, { 1, 5 } },
	{ "equal knows no weights", GS_SEATS_EQUAL, 2, { P(100, 1, 0, 99), P(100, 1, 0, 99) },
	  { 100, 300 }, { 5, 5 } },
	{ "weights", GS_SEATS_WEIGHTED, 2, { P(50, 1, 1000, 99), P(50, 1, 1000, 99) },
	  { 100, 300 }, { 2, 6 } },
	{ "three", GS_SEATS_EQUAL, 3, { P(100, 1, 0, 2), P(100, 1, 0, 99), P(100, 1, 0, 99) },
	  { 1, 1, 1 }, { 2, 4, 4 } },
	{ "no profile keeps its part", GS_SEATS_EQUAL, 2, { P(0, 0, 0, 0), P(100, 1, 0, 99) },
	  { 1, 1 }, { 0, 5 } },
	/* 900 blocks against 100: nine workers to one, as the rate is linear. */
	{ "longest first", GS_SEATS_LONGEST, 2, { P(100, 1, 0, 900), P(100, 1, 0, 100) },
	  { 1, 1 }, { 9, 1 } },
	{ "longest, but it can't be helped", GS_SEATS_LONGEST, 2,
	  { { .threads = 100, .blocks = 900, .points = 2, .rate = { 10, 10 } },
	    P(100, 1, 0, 100) }, { 1, 1 }, { 1, 9 } },
};

TEST(workers_are_dealt_out)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(seats); i++) {
		struct gs_device *dev = begin(seats[i].way, 3);
		struct tenant *t[3];

		for (k = 0; k < seats[i].n; k++) {
			t[k] = bed_tenant(&b, bed_group(&b, NULL, seats[i].weight[k]), dev, 0);
			gs_profile_set(&t[k]->c, &seats[i].p[k], b.now);
			EXPECT_EQ(gs_request(&t[k]->c, 0, b.now), 1);
		}
		for (k = 0; k < seats[i].n; k++)
			if (t[k]->c.workers != seats[i].want[k])
				test_fail("%s: holder %u has %u workers", seats[i].what, k,
					  t[k]->c.workers);
		bed_end(&b);
	}
}

TEST(memory_is_refused_up_the_tree)
{
	struct gs_device *dev;
	struct gs_group *top, *leaf;
	struct tenant *t, *u;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	top = bed_group(&b, NULL, 100);
	leaf = bed_group(&b, top, 100);
	t = bed_tenant(&b, leaf, dev, 0);
	u = bed_tenant(&b, top, dev, 0);
	bed_set(&b, top, SHARE(.mem_max = 1000), GS_SHARE_MEM_MAX);
	EXPECT_EQ(gs_mem_charge(&t->c, 600, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&u->c, 401, b.now), -ENOMEM);
	EXPECT_EQ(gs_mem_charge(&u->c, 400, b.now), 0);
	EXPECT_EQ(gs_node_find(top, dev)->mem.used, 1000ull);
	EXPECT_EQ(gs_node_find(top, dev)->stat.mem_denied, 1ull);
	EXPECT_EQ(gs_node_find(leaf, dev)->stat.mem_denied, 0ull);
	/* Moving out is no way round the limit. */
	EXPECT_EQ(gs_mem_swap(&t->c, 600, true, b.now), 0);
	EXPECT_EQ(gs_node_find(top, dev)->mem.used, 400ull);
	EXPECT_EQ(gs_node_find(top, dev)->mem.swapped, 600ull);
	EXPECT_EQ(gs_mem_charge(&u->c, 1, b.now), -ENOMEM);
	EXPECT_EQ(gs_mem_swap(&t->c, 601, false, b.now), -EINVAL);
	EXPECT_EQ(gs_mem_swap(&t->c, 600, false, b.now), 0);
	EXPECT_EQ(gs_mem_uncharge(&t->c, 601, b.now), -EINVAL);
	EXPECT_EQ(gs_mem_uncharge(&t->c, 600, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&t->c, U64_MAX, b.now), -EINVAL);
	EXPECT_EQ(dev->mem_used, 400ull);
	EXPECT_EQ(dev->root.mem.peak, 1000ull);
	bed_drop(u);
	EXPECT_EQ(dev->mem_used, 0ull);
	bed_end(&b);
}

TEST(a_full_device_refuses_or_makes_room)
{
	struct gs_device_conf conf;
	struct gs_device *dev;
	struct gs_group *g[3];
	struct tenant *t[3], *plain;
	unsigned int i;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.mem_capacity = 1000;
	dev = bed_device(&b, &conf);
	plain = bed_tenant(&b, NULL, dev, 0);	/* off the device for longest */
	for (i = 0; i < 3; i++) {
		g[i] = bed_group(&b, NULL, 100);
		t[i] = bed_tenant(&b, g[i], dev, 0);
	}
	EXPECT_EQ(gs_mem_charge(&t[0]->c, 400, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&t[1]->c, 300, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&plain->c, 100, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&t[2]->c, 300, b.now), -ENOMEM);
	conf.oversubscribe = true;
	EXPECT_EQ(gs_device_set(dev, &conf, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&t[2]->c, 1001, b.now), -ENOMEM);
	/* Protected, above high, and neither: high goes first. */
	bed_set(&b, g[0], SHARE(.mem_min = 400), GS_SHARE_MEM_MIN);
	bed_set(&b, g[1], SHARE(.mem_high = 100), GS_SHARE_MEM_HIGH);
	gs_request(&t[2]->c, 0, b.now);
	EXPECT_EQ(gs_mem_charge(&t[2]->c, 300, b.now), 0);
	EXPECT_FALSE(t[0]->c.flags & GS_EVICT);
	EXPECT_FALSE(plain->c.flags & GS_EVICT);
	EXPECT_TRUE(t[1]->c.flags & GS_EVICT);
	EXPECT_EQ(b.last[GS_EV_EVICT].client, t[1]->c.id);
	EXPECT_EQ(gs_mem_swap(&t[1]->c, 300, true, b.now), 0);
	EXPECT_FALSE(t[1]->c.flags & GS_EVICT);
	/* It is next: it may bring its memory back while the other computes. */
	gs_request(&t[1]->c, 0, b.now);
	EXPECT_EQ(t[1]->c.flags, GS_PREPARE);
	EXPECT_EQ(gs_mem_swap(&t[1]->c, 300, false, b.now), 0);
	gs_yield(&t[2]->c, false, 0, b.now);
	EXPECT_EQ(t[1]->c.flags, GS_GRANTED);
	bed_end(&b);
}

/* To claim everything costs nothing, so it keeps nobody from his part. */
TEST(claims_keep_nobody_from_his_part)
{
	struct gs_device_conf conf;
	struct gs_group *g, *heavy;
	struct gs_device *dev;
	struct tenant *liar, *t, *u;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.mem_capacity = 1200;
	dev = bed_device(&b, &conf);
	heavy = bed_group(&b, NULL, 300);
	g = bed_tenants(&b, NULL, 1);
	liar = bed_tenant(&b, g, dev, 0);
	/* Nobody else is there: all of it may be its own. */
	EXPECT_EQ(gs_mem_room(&liar->c), 1200);
	EXPECT_EQ(gs_mem_charge(&liar->c, 1200, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&liar->c, 1, b.now), -ENOMEM);
	t = bed_tenant(&b, bed_tenants(&b, heavy, 2), dev, 0);
	EXPECT_EQ(gs_mem_room(&t->c), 900);
	EXPECT_EQ(gs_mem_charge(&t->c, 901, b.now), -ENOMEM);
	EXPECT_EQ(gs_mem_charge(&t->c, 500, b.now), 0);
	/* Its group's part is 900, its own half of that. */
	u = bed_tenant(&b, bed_tenants(&b, heavy, 3), dev, 0);
	EXPECT_EQ(gs_mem_room(&u->c), 450);
	EXPECT_EQ(gs_mem_charge(&u->c, 450, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&u->c, 1, b.now), -ENOMEM);
	EXPECT_EQ(gs_mem_charge(&t->c, 1, b.now), -ENOMEM);
	bed_drop(t);
	EXPECT_EQ(gs_mem_room(&u->c), 450);	/* it has 450 of 900 */
	EXPECT_EQ(gs_mem_uncharge(&liar->c, 1200, b.now), 0);
	EXPECT_EQ(gs_mem_room(&u->c), 750);
	bed_end(&b);
}

/* A group protects memory from being moved out with what it was promised, and no more. */
TEST(mem_min_needs_one_above)
{
	struct gs_device_conf conf;
	struct gs_group *own, *low, *top;
	struct gs_device *dev;
	struct tenant *t, *u;
	bool promised;

	for (promised = false; ; promised = true) {
		bed_init(&b);
		gs_device_conf_init(&conf);
		conf.mem_capacity = 1000;
		conf.oversubscribe = true;
		dev = bed_device(&b, &conf);
		own = bed_group(&b, NULL, 100);
		low = bed_group(&b, own, 100);
		top = bed_group(&b, NULL, 100);
		if (promised)
			bed_set(&b, own, SHARE(.mem_min = 700), GS_SHARE_MEM_MIN);
		bed_set(&b, low, SHARE(.mem_min = 5000), GS_SHARE_MEM_MIN);
		t = bed_tenant(&b, low, dev, 0);
		u = bed_tenant(&b, top, dev, 0);
		EXPECT_EQ(gs_mem_charge(&t->c, 700, b.now), 0);
		EXPECT_EQ(gs_mem_charge(&u->c, 700, b.now), 0);
		EXPECT_EQ(!!(t->c.flags & GS_EVICT), !promised);
		bed_end(&b);
		if (promised)
			break;
	}
}

/* The last asked may stay first; what is to be brought back needs its room. */
TEST(who_is_asked_to_move_out_may_stay_when_others_make_room)
{
	struct gs_device_conf conf;
	struct gs_device *dev;
	struct tenant *t[4];
	unsigned int i;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.mem_capacity = 1000;
	conf.oversubscribe = true;
	dev = bed_device(&b, &conf);
	for (i = 0; i < 4; i++)
		t[i] = bed_tenant(&b, NULL, dev, 0);
	gs_request(&t[2]->c, 0, b.now);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(gs_mem_charge(&t[i]->c, 300, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&t[2]->c, 600, b.now), 0);	/* 1500 of 1000 */
	EXPECT_TRUE(t[0]->c.flags & GS_EVICT);
	EXPECT_TRUE(t[1]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_uncharge(&t[2]->c, 199, b.now), 0);	/* 301 too many */
	EXPECT_TRUE(t[1]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_uncharge(&t[2]->c, 1, b.now), 0);
	EXPECT_TRUE(t[0]->c.flags & GS_EVICT);
	EXPECT_FALSE(t[1]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_uncharge(&t[2]->c, 300, b.now), 0);
	EXPECT_FALSE(t[0]->c.flags & GS_EVICT);
	EXPECT_EQ(dev->mem_leaving, 0ull);
	/* All that was charged fits, but for what comes back next. */
	EXPECT_EQ(gs_mem_charge(&t[3]->c, 100, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&t[3]->c, 100, b.now), 0);
	EXPECT_TRUE(t[0]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_swap(&t[3]->c, 200, true, b.now), 0);
	EXPECT_FALSE(t[0]->c.flags & GS_EVICT);
	gs_request(&t[3]->c, 0, b.now);
	EXPECT_EQ(t[3]->c.flags, GS_PREPARE);
	EXPECT_TRUE(t[0]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_swap(&t[0]->c, 100, true, b.now), 0);
	EXPECT_TRUE(t[0]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_swap(&t[0]->c, 100, true, b.now), 0);
	EXPECT_FALSE(t[0]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_swap(&t[3]->c, 200, false, b.now), 0);
	EXPECT_FALSE(t[1]->c.flags & GS_EVICT);
	EXPECT_EQ(dev->mem_used, 1000ull);
	/* One that goes, or more memory, is room as well. */
	EXPECT_EQ(gs_mem_charge(&t[2]->c, 50, b.now), 0);
	EXPECT_TRUE(t[0]->c.flags & GS_EVICT);
	conf.mem_capacity = 1050;
	EXPECT_EQ(gs_device_set(dev, &conf, b.now), 0);
	EXPECT_FALSE(t[0]->c.flags & GS_EVICT);
	EXPECT_EQ(gs_mem_charge(&t[2]->c, 50, b.now), 0);
	EXPECT_TRUE(t[0]->c.flags & GS_EVICT);
	bed_drop(t[1]);
	EXPECT_FALSE(t[0]->c.flags & GS_EVICT);
	EXPECT_EQ(dev->mem_leaving, 0ull);
	bed_end(&b);
}

/* What the averages of PSI are by their definition, in floating point. */
TEST(pressure_is_that_of_psi)
{
	static const struct { u64 wait_ms, rest_ms; } patterns[] = {
		{ 1000, 0 }, { 500, 500 }, { 50, 950 }, { 3000, 1000 }, { 10000, 30000 },
	};
	static const double window[GS_NR_AVGS] = { 10, 60, 300 };
	unsigned int i, a, k;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		double avg[GS_NR_AVGS] = { 0 }, total = 0, at = 0;
		struct gs_pressure_values v;
		struct gs_node node = { 0 };
		u64 now = SEC, step = now, end = now + 200 * SEC, phase = now, ms;
		bool waits = false;

		gs_pressure_init(&node.pressure, now);
		for (k = 0; now < end; k++) {
			now += MS;
			total += waits ? 1e-3 : 0;
			if (now - step >= GS_PRESSURE_STEP) {
				for (a = 0; a < GS_NR_AVGS; a++) {
					double past = exp(-2.0 / window[a]);

					avg[a] = avg[a] * past + (total - at) / 2 * (1 - past);
				}
				at = total;
				step = now;
				gs_pressure_change(&node.pressure, node.pressure.state, now);
			}
			ms = waits ? patterns[i].wait_ms : patterns[i].rest_ms;
			if (now - phase >= ms * MS) {
				waits = !waits || !patterns[i].rest_ms;
				gs_pressure_change(&node.pressure, waits ? BIT(GS_SOME) : 0, now);
				phase = now;
			}
		}
		gs_pressure_read(&node, now, &v);
		for (a = 0; a < GS_NR_AVGS; a++)
			if (fabs(v.some_avg[a] - avg[a] * 10000) > 100)
				test_fail("pattern %u: average %u is %u, not %.0f", i, a,
					  v.some_avg[a], avg[a] * 10000);
		EXPECT_EQ(v.full_total, 0ull);
		EXPECT_LE(fabs(v.some_total / 1e9 - total), 0.01);
	}
}

TEST(pressure_of_groups)
{
	struct gs_pressure_values v;
	struct gs_group *a, *c;
	struct gs_device *dev;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	a = bed_group(&b, NULL, 100);
	c = bed_group(&b, NULL, 100);
	bed_start(bed_tenant(&b, a, dev, 100 * US));
	bed_start(bed_tenant(&b, c, dev, 100 * US));
	bed_start(bed_tenant(&b, c, dev, 100 * US));
	bed_run(&b, b.now + 100 * SEC);
	/* On the device somebody always waits, and somebody always runs. */
	gs_pressure_read(&dev->root, b.now, &v);
	EXPECT_LE(99 * SEC, v.some_total);
	EXPECT_EQ(v.full_total, 0ull);
	EXPECT_LE(9900u, v.some_avg[GS_AVG10]);
	/* All of a wait while c runs, half the time; in c one waits always. */
	gs_pressure_read(gs_node_find(a, dev), b.now, &v);
	EXPECT_LE(49 * SEC, v.full_total);
	EXPECT_LE(v.full_total, 51 * SEC);
	EXPECT_EQ(v.full_total, v.some_total);
	gs_pressure_read(gs_node_find(c, dev), b.now, &v);
	EXPECT_LE(99 * SEC, v.some_total);
	EXPECT_LE(49 * SEC, v.full_total);
	EXPECT_LE(v.full_total, 51 * SEC);
	bed_end(&b);
}

#define LINKS 500

/* The tree against plain arrays. */
TEST(tree_is_right_and_balanced)
{
	static struct gs_link l[LINKS];
	struct gs_tree t = { NULL, NULL };
	unsigned int round, i, n = 0, most = 0;

	bed_init(&b);
	for (round = 0; round < 20000; round++) {
		struct gs_link *x = &l[bed_random(&b, LINKS)], *want = NULL, *got;
		u64 limit = bed_random(&b, 1000) - 500;

		if (!gs_tree_in(x)) {
			x->key = bed_random(&b, 200) - 100;	/* around 0: they wrap */
			x->val = bed_random(&b, 1000) - 500;
			gs_tree_insert(&t, x);
			n++;
		} else if (bed_random(&b, 3)) {
			x->val = bed_random(&b, 1000) - 500;
			gs_tree_refresh(x);
		} else {
			gs_tree_remove(&t, x);
			n--;
		}
		for (i = 0; i < LINKS; i++) {
			if (!gs_tree_in(&l[i]) || gs_before(limit, l[i].val))
				continue;
			if (!want || gs_before(l[i].key, want->key))
				want = &l[i];
		}
		got = gs_tree_first_at_most(&t, limit);
		ASSERT_EQ(!!got, !!want);
		ASSERT_TRUE(!got || (got->key == want->key && !gs_before(limit, got->val)));
		if (t.root)
			most = max(most, (unsigned int)t.root->height);
	}
	EXPECT_LE(most, 12u);	/* 1.44 * log2(500) */
	i = 0;
	for (struct gs_link *x = t.first; x; x = gs_tree_next(x)) {
		EXPECT_TRUE(!gs_tree_next(x) || !gs_before(gs_tree_next(x)->key, x->key));
		i++;
	}
	EXPECT_EQ(i, n);
}

/* Equal keys keep their order, through everything that turns the tree. */
TEST(tree_keeps_the_order_of_equals)
{
	static struct gs_link l[100];
	struct gs_tree t = { NULL, NULL };
	struct gs_link *x;
	unsigned int i;

	for (i = 0; i < 100; i++)
		gs_tree_insert(&t, &l[i]);
	for (i = 0; i < 100; i += 3)
		gs_tree_remove(&t, &l[i]);
	for (i = 1, x = t.first; x; x = gs_tree_next(x), i += i % 3 == 1 ? 1 : 2)
		EXPECT_EQ(x, &l[i]);
}

TEST_MAIN()
