// SPDX-License-Identifier: MIT
/*
 * A client's life, one call at a time.
 */
#include "bed.h"

static struct bed b;

TEST(first_comes_at_once)
{
	struct gs_device *dev;
	struct tenant *t, *u;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	t = bed_tenant(&b, NULL, dev, MS);
	u = bed_tenant(&b, NULL, dev, MS);
	EXPECT_EQ(gs_request(&t->c, 0, b.now), 1);
	EXPECT_EQ(t->c.flags, GS_GRANTED);
	EXPECT_EQ(t->c.epoch, 1ull);
	EXPECT_EQ(t->c.preempt_at, GS_NEVER);
	EXPECT_EQ(b.armed[0], GS_NEVER);
	EXPECT_EQ(gs_request(&u->c, 0, b.now), 0);
	EXPECT_EQ(t->c.preempt_at, t->c.deadline);
	/* The first look whether it has gone idle comes before. */
	EXPECT_EQ(b.armed[0], t->c.since + dev->conf.linger);
	EXPECT_EQ(t->c.waiters, 1u);
	b.now += 500 * US;
	EXPECT_EQ(gs_yield(&t->c, false, 0, b.now), 0);
	EXPECT_EQ(t->c.flags, 0u);
	EXPECT_EQ(t->c.epoch, 2ull);
	EXPECT_EQ(t->c.usage, 500 * US);
	EXPECT_EQ(u->c.flags, GS_GRANTED);
	EXPECT_EQ(u->c.wait, 500 * US);
	/* Given back and won anew in one step: another grant, the same seat. */
	EXPECT_EQ(u->c.epoch, 1ull);
	EXPECT_EQ(gs_yield(&u->c, true, 0, b.now), 1);
	EXPECT_EQ(u->c.epoch, 3ull);
	EXPECT_EQ(u->c.grants, 2u);
	EXPECT_EQ(dev->root.stat.grants, 3ull);
	/* A wait without a grant is a wait as well. */
	EXPECT_EQ(gs_request(&t->c, 0, b.now), 0);
	b.now += 300 * US;
	/* and counts while it lasts. */
	EXPECT_EQ(dev->root.stat.wait, 500 * US);
	EXPECT_EQ(gs_wait_time(&dev->root, b.now), 800 * US);
	EXPECT_EQ(gs_cancel(&t->c, b.now), 0);
	EXPECT_EQ(t->c.wait, 300 * US);
	EXPECT_EQ(dev->root.stat.wait, 800 * US);
	bed_end(&b);
}

/* Nobody is asked for somebody who has gone, nor called late for that. */
TEST(a_question_without_an_asker_is_taken_back)
{
	struct gs_device *dev;
	struct tenant *t, *u;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	t = bed_tenant(&b, NULL, dev, 0);
	u = bed_tenant(&b, NULL, dev, 0);
	EXPECT_EQ(gs_request(&t->c, 0, b.now), 1);
	EXPECT_EQ(gs_request(&u->c, 0, b.now), 0);
	bed_run(&b, b.now + 2 * MS);
	EXPECT_EQ(t->c.flags, GS_GRANTED | GS_PREEMPT);
	EXPECT_EQ(gs_cancel(&u->c, b.now), 0);
	EXPECT_EQ(t->c.flags, GS_GRANTED);
	EXPECT_EQ(t->c.preempt_at, GS_NEVER);
	bed_run(&b, b.now + 10 * dev->conf.grace);
	EXPECT_EQ(t->c.state, (u8)GS_CLIENT_RUNNING);
	EXPECT_EQ(t->c.overruns, 0u);
	/* The next one to come has it asked at once: its slice is long over. */
	EXPECT_EQ(gs_request(&u->c, 0, b.now), 0);
	EXPECT_EQ(t->c.flags, GS_GRANTED | GS_PREEMPT);
	b.now += 2 * MS;
	EXPECT_EQ(gs_yield(&t->c, true, 0, b.now), 0);
	EXPECT_EQ(t->c.preempts, 2u);
	EXPECT_EQ(t->c.preempts_late, 0u);
	/* Late is who takes longer than a slice, grace or not. */
	bed_run(&b, b.now + 2 * MS);
	EXPECT_EQ(u->c.flags, GS_GRANTED | GS_PREEMPT);
	b.now += 2 * MS + 1;
	EXPECT_EQ(gs_yield(&u->c, false, 0, b.now), 0);
	EXPECT_EQ(u->c.preempts_late, 1u);
	EXPECT_EQ(u->c.overruns, 0u);
	bed_end(&b);
}

TEST(what_was_moved_out_comes_back_only_if_it_fits)
{
	struct gs_device_conf conf;
	struct gs_device *dev;
	struct tenant *t, *u;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.mem_capacity = 100;
	dev = bed_device(&b, &conf);
	t = bed_tenant(&b, NULL, dev, MS);
	u = bed_tenant(&b, NULL, dev, MS);
	EXPECT_EQ(gs_mem_charge(&t->c, 80, b.now), 0);
	EXPECT_EQ(gs_mem_swap(&t->c, 50, true, b.now), 0);
	EXPECT_EQ(gs_mem_charge(&u->c, 60, b.now), 0);
	EXPECT_EQ(gs_mem_swap(&t->c, 50, false, b.now), -ENOMEM);
	EXPECT_EQ(t->c.mem_swapped, 50ull);
	EXPECT_EQ(gs_mem_swap(&t->c, 10, false, b.now), 0);
	EXPECT_EQ(dev->mem_used, 100ull);
	bed_end(&b);
}

TEST(two_share_equally)
{
	struct gs_device *dev;
	struct tenant *t, *u;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	t = bed_tenant(&b, NULL, dev, 100 * US);
	u = bed_tenant(&b, NULL, dev, 100 * US);
	bed_start(t);
	bed_start(u);
	bed_run(&b, b.now + 10 * SEC);
	EXPECT_LT(4990 * MS, bed_usage(t));
	EXPECT_LT(4990 * MS, bed_usage(u));
	EXPECT_EQ(t->c.usage + u->c.usage, 10 * SEC);
	bed_end(&b);
}

TEST_MAIN()
