// SPDX-License-Identifier: MIT
/*
 * Waiting for memory: who is served when, who is refused, and that it ends. The rules are
 * those at the head of memwait.c; the random test holds them against a model that tries all
 * orders in which those who wait could be served.
 */
#include <time.h>
#include "bed.h"

#define LINE 64

static struct bed b;

static struct gs_device *device(u64 bytes)
{
	struct gs_device_conf conf;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.mem_capacity = bytes;
	conf.mem_full = GS_FULL_WAIT;
	return bed_device(&b, &conf);
}

static int want(struct tenant *t, u64 bytes)
{
	return gs_mem_wait(&t->c, bytes, false, b.now);
}

static void give(struct tenant *t, u64 bytes)
{
	EXPECT_EQ(gs_mem_uncharge(&t->c, bytes, b.now), 0);
}

static u64 real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static bool waits(const struct tenant *t)
{
	return t->c.mem_wanted;
}

/* Its wait has ended so. */
#define EXPECT_OVER(t, result) do {					\
	EXPECT_FALSE(waits(t));						\
	EXPECT_EQ((t)->c.mem_result, result);				\
} while (0)

TEST(what_fits_is_had_and_what_never_could_is_refused)
{
	struct gs_device *dev = device(1000);
	struct tenant *t = bed_tenant(&b, NULL, dev, 0), *u = bed_tenant(&b, NULL, dev, 0);

	EXPECT_EQ(want(t, 0), 0);
	EXPECT_EQ(want(t, 600), 0);
	EXPECT_EQ(want(u, 400), 0);
	EXPECT_EQ(want(t, 401), -ENOMEM);	/* not if it were alone */
	EXPECT_EQ(want(t, GS_MEM_MOST + 1), -EINVAL);
	EXPECT_EQ(want(t, 400), -EAGAIN);
	EXPECT_EQ(want(t, 1), -EBUSY);
	EXPECT_EQ(dev->mem_used, 1000ull);
	give(u, 399);
	EXPECT_TRUE(waits(t));
	bed_drop(u);				/* frees the last one */
	EXPECT_OVER(t, 0);
	EXPECT_EQ(t->c.mem_used, 1000ull);
	bed_end(&b);
}

/* The device says it, a group may say otherwise, for itself and for those below. */
TEST(who_may_wait_is_as_the_next_above_says)
{
	struct gs_device *dev = device(1000);
	struct gs_group *top = bed_group(&b, NULL, 100), *sub = bed_group(&b, top, 100);
	struct tenant *full = bed_tenant(&b, NULL, dev, 0), *t;
	struct gs_device_conf conf = dev->conf;

	t = bed_tenant(&b, sub, dev, 0);
	EXPECT_EQ(want(t, 600), 0);		/* past its part, so that more isn't had by that */
	EXPECT_EQ(want(full, 400), 0);
	EXPECT_EQ(want(t, 100), -EAGAIN);
	bed_set(&b, top, SHARE(.mem_full = GS_FULL_FAIL), GS_SHARE_MEM_FULL);
	EXPECT_OVER(t, -ENOMEM);		/* who waits is refused then */
	EXPECT_EQ(want(t, 100), -ENOMEM);
	bed_set(&b, sub, SHARE(.mem_full = GS_FULL_WAIT), GS_SHARE_MEM_FULL);
	EXPECT_EQ(want(t, 100), -EAGAIN);
	EXPECT_EQ(t->c.mem_until - b.now, 60 * SEC);
	EXPECT_EQ(gs_mem_give_up(&t->c, false, b.now), -ETIMEDOUT);
	bed_set(&b, top, SHARE(.mem_wait = 3 * SEC), GS_SHARE_MEM_WAIT);
	EXPECT_EQ(want(t, 100), -EAGAIN);
	EXPECT_EQ(t->c.mem_until - b.now, 3 * SEC);
	bed_set(&b, sub, SHARE(.mem_full = GS_FULL_ABOVE), GS_SHARE_MEM_FULL);
	EXPECT_OVER(t, -ENOMEM);
	bed_set(&b, top, SHARE(.mem_full = GS_FULL_ABOVE), GS_SHARE_MEM_FULL);
	EXPECT_EQ(want(t, 100), -EAGAIN);
	conf.mem_full = GS_FULL_FAIL;
	EXPECT_EQ(gs_device_set(dev, &conf, b.now), 0);
	EXPECT_OVER(t, -ENOMEM);
	EXPECT_EQ(dev->root.stat.mem_waits, 4ull);
	EXPECT_EQ(dev->root.stat.mem_crossed, 0ull);
	bed_end(&b);
}

TEST(small_ones_dont_starve_a_big_one)
{
	struct gs_device *dev = device(1000);
	struct tenant *holder = bed_tenant(&b, NULL, dev, 0), *big = bed_tenant(&b, NULL, dev, 0);
	struct tenant *small[20];
	unsigned int i;

	EXPECT_EQ(want(holder, 600), 0);
	EXPECT_EQ(want(big, 800), -EAGAIN);
	for (i = 0; i < 20; i++) {
		small[i] = bed_tenant(&b, NULL, dev, 0);
		EXPECT_EQ(want(small[i], 10), -EAGAIN);	/* though 400 are free */
	}
	give(holder, 399);
	for (i = 0; i < 20; i++)
		EXPECT_TRUE(waits(small[i]));
	give(holder, 1);
	EXPECT_OVER(big, 0);
	EXPECT_EQ(dev->mem_used, 1000ull);
	for (i = 0; i < 20; i++)
		EXPECT_TRUE(waits(small[i]));
	give(holder, 100);			/* in the order in which they came */
	for (i = 0; i < 20; i++)
		EXPECT_EQ(waits(small[i]), i >= 10);
	/* Who may not wait takes what is there; those who wait aren't kept for ever by that. */
	give(big, 799);
	EXPECT_TRUE(list_empty(&dev->mem_waiters));
	bed_end(&b);
}

/* Within a group its own part is no way past those that came before. */
TEST(nor_do_those_of_a_group_of_its_own)
{
	struct gs_device *dev = device(1000);
	struct gs_group *g = bed_tenants(&b, NULL, 7), *h = bed_group(&b, NULL, 100);
	struct tenant *holder = bed_tenant(&b, g, dev, 0), *big = bed_tenant(&b, g, dev, 0);
	struct tenant *small = bed_tenant(&b, g, dev, 0), *other;

	EXPECT_EQ(want(holder, 600), 0);
	EXPECT_EQ(want(big, 800), -EAGAIN);
	EXPECT_EQ(want(small, 10), -EAGAIN);
	other = bed_tenant(&b, h, dev, 0);
	EXPECT_EQ(want(other, 10), 0);		/* another group's is */
	EXPECT_EQ(want(other, 600), -EAGAIN);
	give(holder, 400);
	EXPECT_TRUE(waits(small));
	bed_end(&b);
}

/* Who was exempt, as others that waited had too much, isn't any more when those are served. */
TEST(who_could_not_be_served_before_others_comes_right_after_them)
{
	struct gs_device *dev = device(10);
	struct tenant *t[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		t[i] = bed_tenant(&b, NULL, dev, 0);
	EXPECT_EQ(want(t[0], 4), 0);
	EXPECT_EQ(want(t[1], 1), 0);
	EXPECT_EQ(want(t[2], 5), 0);
	EXPECT_EQ(want(t[1], 5), -EAGAIN);
	EXPECT_EQ(want(t[2], 1), -EAGAIN);	/* t[1] waits for it */
	EXPECT_EQ(want(t[3], 1), -EAGAIN);
	give(t[0], 2);
	EXPECT_OVER(t[2], 0);
	EXPECT_TRUE(waits(t[1]));
	EXPECT_TRUE(waits(t[3]));		/* behind t[1] again */
	bed_end(&b);
}

/* Room that the first in the line couldn't use, as its group is full, is others'. */
TEST(a_groups_limit_holds_up_that_group_alone)
{
	struct gs_device *dev = device(1000);
	struct gs_group *g = bed_group(&b, NULL, 1), *h = bed_group(&b, NULL, 1);
	struct tenant *a, *c, *other, *late;

	bed_set(&b, g, SHARE(.mem_max = 300), GS_SHARE_MEM_MAX);
	a = bed_tenant(&b, g, dev, 0);
	c = bed_tenant(&b, g, dev, 0);
	late = bed_tenant(&b, g, dev, 0);
	other = bed_tenant(&b, h, dev, 0);
	EXPECT_EQ(want(a, 250), 0);
	EXPECT_EQ(want(c, 100), -EAGAIN);
	EXPECT_EQ(want(late, 10), -EAGAIN);
	EXPECT_EQ(want(other, 700), 0);
	give(a, 40);
	EXPECT_TRUE(waits(c) && waits(late));
	give(a, 10);
	EXPECT_OVER(c, 0);
	EXPECT_TRUE(waits(late));
	bed_set(&b, g, SHARE(.mem_max = 310), GS_SHARE_MEM_MAX);
	EXPECT_OVER(late, 0);
	bed_end(&b);
}

/* Nobody's waiting keeps another tenant from its part. */
TEST(a_part_is_had_whoever_waits)
{
	struct gs_device *dev = device(1000);
	struct gs_group *g = bed_group(&b, NULL, 100), *h = bed_group(&b, NULL, 100);
	struct tenant *a = bed_tenant(&b, g, dev, 0), *greedy = bed_tenant(&b, g, dev, 0);
	struct tenant *c = bed_tenant(&b, h, dev, 0);

	EXPECT_EQ(want(a, 900), 0);
	EXPECT_EQ(want(greedy, 1000), -EAGAIN);
	EXPECT_EQ(want(c, 500), 0);		/* its half, the books say */
	EXPECT_EQ(want(c, 1), -EAGAIN);
	give(a, 900);				/* 500 of 1000: greedy waits for c, which waits */
	EXPECT_TRUE(waits(greedy));
	EXPECT_OVER(c, 0);
	bed_end(&b);
}

TEST(who_would_wait_for_each_other_for_ever_doesnt)
{
	struct gs_device *dev = device(10);
	struct tenant *t[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		t[i] = bed_tenant(&b, NULL, dev, 0);
	EXPECT_EQ(want(t[0], 4), 0);
	EXPECT_EQ(want(t[1], 4), 0);
	EXPECT_EQ(want(t[0], 4), -EAGAIN);
	EXPECT_EQ(want(t[1], 4), -ENOMEM);
	EXPECT_EQ(t[1]->c.mem_crossed, 1u);
	EXPECT_EQ(dev->root.stat.mem_crossed, 1ull);
	EXPECT_EQ(want(t[1], 2), 0);		/* t[0] waits for it, so it goes first */
	EXPECT_TRUE(waits(t[0]));
	give(t[1], 6);
	EXPECT_OVER(t[0], 0);
	give(t[0], 8);
	/* Three in a ring; who has nothing is in nobody's way and may wait. */
	for (i = 0; i < 3; i++)
		EXPECT_EQ(want(t[i], 3), 0);
	EXPECT_EQ(want(t[3], 10), -EAGAIN);
	EXPECT_EQ(want(t[0], 2), -EAGAIN);
	EXPECT_EQ(want(t[1], 3), -EAGAIN);	/* as long as t[2] doesn't wait */
	EXPECT_EQ(want(t[2], 3), -ENOMEM);
	EXPECT_EQ(want(t[2], 1), 0);
	/* A limit that is set may be what makes them wait for each other. */
	EXPECT_EQ(want(t[2], 2), -ENOMEM);
	bed_drop(t[2]);
	EXPECT_OVER(t[0], 0);
	EXPECT_TRUE(waits(t[1]));
	EXPECT_EQ(want(t[0], 3), -ENOMEM);
	bed_drop(t[0]);
	EXPECT_OVER(t[1], 0);
	EXPECT_TRUE(waits(t[3]));
	bed_end(&b);
}

TEST(a_limit_that_is_set_is_looked_at_by_those_who_wait)
{
	struct gs_device *dev = device(100);
	struct gs_device_conf conf = dev->conf;
	struct tenant *t = bed_tenant(&b, NULL, dev, 0), *u = bed_tenant(&b, NULL, dev, 0);
	struct tenant *v = bed_tenant(&b, NULL, dev, 0);

	EXPECT_EQ(want(t, 40), 0);
	EXPECT_EQ(want(u, 40), 0);
	EXPECT_EQ(want(v, 20), 0);
	EXPECT_EQ(want(t, 20), -EAGAIN);	/* both fit when v has gone */
	EXPECT_EQ(want(u, 15), -EAGAIN);
	conf.mem_capacity = 90;
	EXPECT_EQ(gs_device_set(dev, &conf, b.now), 0);
	EXPECT_TRUE(waits(t));			/* now t needs u's, and u needs t's */
	EXPECT_OVER(u, -ENOMEM);
	conf.mem_capacity = 120;
	EXPECT_EQ(gs_device_set(dev, &conf, b.now), 0);
	EXPECT_OVER(t, 0);
	EXPECT_EQ(want(t, 10), -EAGAIN);
	conf.mem_capacity = 60;			/* it couldn't have it alone */
	EXPECT_EQ(gs_device_set(dev, &conf, b.now), 0);
	EXPECT_OVER(t, -ENOMEM);
	bed_end(&b);
}

/* Another of its threads may get memory in another way while it waits. */
TEST(who_waits_may_come_to_have_more)
{
	struct gs_device *dev = device(100);
	struct tenant *t = bed_tenant(&b, NULL, dev, 0), *u = bed_tenant(&b, NULL, dev, 0);

	EXPECT_EQ(want(t, 40), 0);
	EXPECT_EQ(want(u, 30), 0);
	EXPECT_EQ(want(t, 60), -EAGAIN);
	EXPECT_EQ(want(u, 31), -ENOMEM);
	EXPECT_EQ(gs_mem_charge(&t->c, 10, b.now), 0);
	EXPECT_OVER(t, -ENOMEM);		/* 50 + 60: no more if it were alone */
	EXPECT_EQ(want(t, 45), -EAGAIN);
	EXPECT_EQ(want(u, 20), 0);
	EXPECT_EQ(gs_mem_uncharge(&u->c, 20, b.now), 0);
	EXPECT_TRUE(waits(t));
	give(t, 25);				/* and less: then there is room */
	EXPECT_OVER(t, 0);
	bed_end(&b);
}

/* What the device refuses is tried again when something was given back, at the same place. */
TEST(what_the_device_refuses_is_tried_again)
{
	struct gs_device *dev = device(1000);
	struct tenant *t = bed_tenant(&b, NULL, dev, 0), *u = bed_tenant(&b, NULL, dev, 0);
	struct tenant *v = bed_tenant(&b, NULL, dev, 0);
	u64 until;

	EXPECT_EQ(want(t, 500), 0);
	give(t, 500);
	EXPECT_EQ(gs_mem_wait(&t->c, 500, true, b.now), -ENOMEM);	/* nobody has any */
	EXPECT_EQ(want(u, 300), 0);
	EXPECT_EQ(gs_mem_wait(&t->c, 500, true, b.now), -EAGAIN);
	EXPECT_EQ(want(v, 10), -EAGAIN);	/* it is behind t */
	until = t->c.mem_until;
	b.now += SEC;
	give(u, 100);
	EXPECT_OVER(t, 0);
	EXPECT_OVER(v, 0);
	EXPECT_EQ(want(v, 10), 0);
	give(t, 500);
	EXPECT_EQ(gs_mem_wait(&t->c, 500, true, b.now), -EAGAIN);
	EXPECT_EQ(t->c.mem_until, until);	/* the same wait */
	give(u, 100);
	EXPECT_OVER(t, 0);
	give(t, 500);
	b.now = until;
	EXPECT_EQ(gs_mem_wait(&t->c, 500, true, b.now), -ETIMEDOUT);
	EXPECT_EQ(gs_mem_wait(&t->c, 500, true, b.now), -EAGAIN);	/* that one is a new one */
	/* Those that could give something back wait themselves. */
	EXPECT_EQ(gs_mem_wait(&u->c, 10, true, b.now), -EAGAIN);
	EXPECT_EQ(gs_mem_wait(&v->c, 10, true, b.now), -ENOMEM);
	bed_end(&b);
}

TEST(a_wait_that_was_interrupted_goes_on_at_its_place)
{
	struct gs_device *dev = device(100);
	struct tenant *t = bed_tenant(&b, NULL, dev, 0), *u = bed_tenant(&b, NULL, dev, 0);
	struct tenant *v = bed_tenant(&b, NULL, dev, 0);
	u64 until;

	EXPECT_EQ(want(t, 90), 0);
	EXPECT_EQ(want(u, 50), -EAGAIN);
	EXPECT_EQ(want(v, 50), -EAGAIN);
	until = u->c.mem_until;
	b.now += SEC;
	EXPECT_EQ(gs_mem_give_up(&u->c, true, b.now), -EINTR);
	EXPECT_EQ(want(u, 50), -EAGAIN);
	EXPECT_EQ(u->c.mem_until, until);
	give(t, 40);
	EXPECT_OVER(u, 0);
	EXPECT_TRUE(waits(v));
	/* Of other bytes it is another one, and so it is after its time. */
	EXPECT_EQ(gs_mem_give_up(&v->c, true, b.now), -EINTR);
	EXPECT_EQ(want(u, 20), -EAGAIN);
	EXPECT_EQ(want(v, 40), -EAGAIN);
	give(t, 30);
	EXPECT_OVER(u, 0);
	EXPECT_TRUE(waits(v));
	give(t, 20);
	EXPECT_EQ(gs_mem_give_up(&v->c, false, b.now), -ETIMEDOUT);
	EXPECT_EQ(v->c.mem_denied, 1u);
	EXPECT_EQ(gs_mem_give_up(&u->c, false, b.now), 0);	/* it has what it wanted */
	EXPECT_EQ(v->c.mem_wait, SEC);
	EXPECT_EQ(dev->root.stat.mem_wait, 2 * SEC);
	bed_end(&b);
}

/* One tenant has half of the places. */
TEST(places_are_limited)
{
	struct gs_device *dev = device(1000);
	struct gs_group *g = bed_tenants(&b, NULL, 7), *h = bed_tenants(&b, NULL, 8);
	unsigned int i, n[2] = { 0, 0 };
	struct tenant *t;

	t = bed_tenant(&b, g, dev, 0);
	EXPECT_EQ(want(t, 1000), 0);
	t = bed_tenant(&b, h, dev, 0);
	EXPECT_EQ(want(t, 500), 0);		/* its part */
	for (i = 0; i < 200; i++) {
		t = bed_tenant(&b, i & 1 ? g : h, dev, 0);
		n[i & 1] += want(t, 1) == -EAGAIN;
	}
	EXPECT_EQ(n[0], 32u);
	EXPECT_EQ(n[1], 32u);
	EXPECT_EQ(dev->root.mem.waiters, 64u);
	EXPECT_EQ(dev->root.mem.wanted, 64ull);
	EXPECT_EQ(gs_group_remove(g, b.now), -EBUSY);
	bed_end(&b);
	EXPECT_EQ(dev->root.mem.waiters, 0u);
	EXPECT_EQ(dev->root.mem.wanted, 0ull);
	EXPECT_EQ(dev->root.mem.began, 0ull);
}

/*
 * The longest line, eight levels deep, in the order in which each look at it finds one more
 * who can be served, the last first. It is looked over while nobody else is served.
 */
TEST(the_longest_line_is_looked_over_in_a_moment)
{
	struct gs_device *dev = device(100000);
	struct gs_group *g = NULL;
	struct tenant *other = bed_tenant(&b, NULL, dev, 0), *t[LINE];
	u64 began, took = ~0ull;
	unsigned int i;

	for (i = 0; i < 8; i++)
		g = bed_group(&b, g, 100);
	for (i = 0; i < LINE; i++) {
		t[i] = bed_tenant(&b, g, dev, 0);
		EXPECT_EQ(gs_mem_charge(&t[i]->c, 100, b.now), 0);
	}
	EXPECT_EQ(gs_mem_charge(&other->c, 90000, b.now), 0);
	for (i = 0; i < LINE; i++)
		EXPECT_EQ(want(t[i], 100000 - 100 * (i + 1)), -EAGAIN);
	for (i = 0; i < 20; i++) {
		began = real_ns();
		EXPECT_EQ(gs_mem_charge(&t[0]->c, 0, b.now), 0);
		took = min(took, real_ns() - began);
	}
	EXPECT_EQ(dev->root.mem.waiters, 64u);
	printf("# %lu us\n", (unsigned long)(took / 1000));
	EXPECT_LE(took, 5000000ull);
	bed_end(&b);
}

TEST(a_device_that_goes_ends_the_waits)
{
	struct gs_device *dev = device(100);
	struct tenant *t = bed_tenant(&b, NULL, dev, 0), *u = bed_tenant(&b, NULL, dev, 0);

	EXPECT_EQ(want(t, 90), 0);
	EXPECT_EQ(want(u, 50), -EAGAIN);
	gs_device_remove(dev, b.now);
	EXPECT_OVER(u, -ENODEV);
	EXPECT_EQ(want(u, 50), -ENODEV);
	dev->arb = NULL;
	bed_end(&b);
}

/*
 * Programs take memory piece by piece, give some back, and end. The model knows of each
 * what it has and wants; nothing of lines, rules and places.
 */
#define PROGRAMS	6
struct program {
	struct tenant *t;
	struct gs_group *g;
	u64 has, wanted, most;
	unsigned int steps;
	bool ended;
};

static struct program programs[PROGRAMS];
static struct gs_group *groups[3];
static u64 limits[3], capacity;

static bool fits_model(const bool *gone, unsigned int i, bool waiters_only)
{
	u64 all = 0, in_group = 0;
	unsigned int k, g;

	for (g = 0; programs[i].g != groups[g]; g++)
		;
	for (k = 0; k < PROGRAMS; k++) {
		if (gone[k] || (waiters_only && !programs[k].wanted))
			continue;
		all += programs[k].has;
		if (programs[k].g == groups[g])
			in_group += programs[k].has;
	}
	return all + programs[i].wanted <= capacity && in_group + programs[i].wanted <= limits[g];
}

/* Is there an order in which all that wait can be served, the others being gone? */
static bool any_order(bool *gone)
{
	unsigned int i, left = 0;

	for (i = 0; i < PROGRAMS; i++) {
		if (!programs[i].wanted || gone[i])
			continue;
		left++;
		if (!fits_model(gone, i, true))
			continue;
		gone[i] = true;
		if (any_order(gone))
			return true;
		gone[i] = false;
	}
	return !left;
}

static bool can_end(void)
{
	bool gone[PROGRAMS] = { false };

	return any_order(gone);
}

/* What became of those who waited in the model. */
static void take_over(void)
{
	unsigned int i;

	for (i = 0; i < PROGRAMS; i++) {
		struct program *p = &programs[i];

		if (p->ended || !p->wanted || p->t->c.mem_wanted)
			continue;
		/* Who is refused is so when it comes, never later: no limit changes here. */
		EXPECT_EQ(p->t->c.mem_result, 0);
		p->has += p->wanted;
		p->wanted = 0;
	}
}

static void random_step(struct program *p)
{
	u64 bytes;
	int ret;

	if (!p->steps--) {
		bed_drop(p->t);
		p->ended = true;
		p->has = 0;
	} else if (p->has && bed_random(&b, 4) == 0) {
		bytes = 1 + bed_random(&b, p->has);
		give(p->t, bytes);
		p->has -= bytes;
	} else {
		bytes = 1 + bed_random(&b, p->most);
		p->wanted = bytes;
		ret = want(p->t, bytes);
		if (ret == -ENOMEM) {
			bool gone[PROGRAMS];
			unsigned int i;

			for (i = 0; i < PROGRAMS; i++)
				gone[i] = &programs[i] != p;
			/* A good reason: it couldn't be had alone, or no order would do. */
			EXPECT_TRUE(!fits_model(gone, (unsigned int)(p - programs), false) ||
				    !can_end());
			p->wanted = 0;
		} else if (!ret) {
			p->has += bytes;
			p->wanted = 0;
		}
	}
	take_over();
}

static void random_world(void)
{
	struct gs_device *dev;
	unsigned int i, alive;
	u64 sum, seed;

	capacity = 10 + bed_random(&b, 30);
	seed = b.seed;
	dev = device(capacity);
	b.seed = seed;
	for (i = 0; i < 3; i++) {
		groups[i] = i ? bed_group(&b, NULL, 1) : &b.arb.root;
		limits[i] = i && bed_random(&b, 2) ? 3 + bed_random(&b, capacity) : GS_MEM_MOST;
		if (i && limits[i] != GS_MEM_MOST)
			bed_set(&b, groups[i], SHARE(.mem_max = limits[i]), GS_SHARE_MEM_MAX);
		/* Parts of nothing: they are for a test of their own. */
		if (i)
			bed_set(&b, groups[i], SHARE(.weight = 1), GS_SHARE_WEIGHT);
	}
	for (i = 0; i < PROGRAMS; i++) {
		programs[i] = (struct program){ .g = groups[bed_random(&b, 3)],
			.most = 1 + bed_random(&b, capacity), .steps = 2 + bed_random(&b, 12) };
		programs[i].t = bed_tenant(&b, programs[i].g, dev, 0);
	}
	/* With an anchor of great weight nobody's part is a byte. */
	bed_tenant(&b, bed_group(&b, NULL, 10000), dev, 0);
	for (;;) {
		unsigned int ready[PROGRAMS], n = 0;

		alive = 0;
		for (i = 0; i < PROGRAMS; i++) {
			alive += !programs[i].ended;
			if (!programs[i].ended && !programs[i].wanted)
				ready[n++] = i;
		}
		if (!alive)
			break;
		ASSERT_GT(n, 0u);	/* all wait: a deadlock */
		random_step(&programs[ready[bed_random(&b, n)]]);
		EXPECT_TRUE(can_end());
		for (sum = i = 0; i < PROGRAMS; i++)
			sum += programs[i].has;
		EXPECT_EQ(sum, dev->mem_used);
		EXPECT_LE(dev->mem_used, capacity);
	}
	EXPECT_TRUE(list_empty(&dev->mem_waiters));
	bed_end(&b);
}

TEST(random_programs_always_end)
{
	u64 seed;
	unsigned int i;

	bed_init(&b);
	seed = b.seed;
	printf("# seed %llu\n", (unsigned long long)seed);
	for (i = 0; i < 4000 && !test_failures; i++) {
		b.seed = seed + i * 7919;
		bed_random(&b, 0);
		random_world();
	}
}

TEST_MAIN()
