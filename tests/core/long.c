// SPDX-License-Identifier: MIT
/*
 * Long runs with neighbours that don't play fair, and limits that must hold in
 * each of many periods.
 */
#include "bed.h"

static struct bed b;

/* Nobody but the hog itself pays for a hog that hears no preempt. */
TEST(hog_takes_no_more_than_its_share)
{
	static const u64 blocks[] = { 0, 3 * SEC, 300 * MS };
	struct tenant *hog, *t[3];
	struct gs_device_conf conf;
	struct gs_device *dev;
	unsigned int i, j, with_group;
	u64 start, due;

	for (with_group = 0; with_group < 2; with_group++) {
		for (i = 0; i < ARRAY_SIZE(blocks); i++) {
			bed_init(&b);
			gs_device_conf_init(&conf);
			dev = bed_device(&b, &conf);
			hog = bed_tenant(&b, with_group ? bed_group(&b, NULL, 100) : NULL, dev,
					 blocks[i]);
			for (j = 0; j < 3; j++)
				t[j] = bed_tenant(&b, with_group ? bed_group(&b, NULL, 100) : NULL,
						  dev, 200 * US);
			bed_start(hog);
			for (j = 0; j < 3; j++)
				bed_start(t[j]);
			start = b.now;
			bed_run(&b, b.now + 60 * SEC);
			bed_usage(hog);
			/*
			 * What it holds beyond grace is charged, but no longer granted:
			 * the others have the device. In grants it gets its part at most,
			 * and one grant of grace that was under way.
			 */
			due = (b.now - start) / 4;
			EXPECT_LE(hog->held, due + conf.grace + conf.slice);
			for (j = 0; j < 3; j++)
				EXPECT_LE(due - conf.grace - conf.slice, t[j]->c.usage);
			EXPECT_LT(0ull, (u64)hog->c.overruns);
			bed_end(&b);
		}
	}
}

/* One who naps often gets no more than one who is always there. */
TEST(sleepers_earn_nothing)
{
	static const struct { u64 burst, pause; } naps[] = {
		{ 100 * US, 100 * US }, { 2 * MS, 10 * US }, { 1 * MS, 4 * MS },
		{ 20 * MS, 100 * MS }, { 3 * MS, SEC },
	};
	struct tenant *busy, *nap;
	struct gs_device *dev;
	unsigned int i;
	u64 before, start;

	for (i = 0; i < ARRAY_SIZE(naps); i++) {
		bed_init(&b);
		dev = bed_device(&b, NULL);
		busy = bed_tenant(&b, bed_group(&b, NULL, 100), dev, 100 * US);
		nap = bed_tenant(&b, bed_group(&b, NULL, 100), dev, 100 * US);
		nap->burst = naps[i].burst;
		nap->pause = naps[i].pause;
		bed_start(busy);
		bed_start(nap);
		bed_run(&b, b.now + 60 * SEC);
		bed_usage(nap);
		EXPECT_LE(nap->c.usage, 30 * SEC + 2 * dev->conf.slice);
		/* A long sleep, then greed: at most half, and one slice. */
		bed_stop(nap);
		bed_run(&b, b.now + 30 * SEC);
		before = bed_usage(nap);
		start = b.now;
		nap->burst = 0;
		bed_start(nap);
		while (b.now < start + SEC) {
			bed_run(&b, b.now + MS);
			EXPECT_LE(bed_usage(nap) - before,
				  (b.now - start) / 2 + 2 * dev->conf.slice);
		}
		bed_end(&b);
	}
}

/* Many clients are one group, and no more. */
TEST(forking_earns_nothing)
{
	struct tenant *one, *many[50];
	struct gs_group *crowd;
	struct gs_device *dev;
	unsigned int i;
	u64 sum = 0;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	crowd = bed_group(&b, NULL, 100);
	one = bed_tenant(&b, bed_group(&b, NULL, 100), dev, 100 * US);
	for (i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = bed_tenant(&b, crowd, dev, 100 * US);
		bed_start(many[i]);
	}
	bed_start(one);
	bed_run(&b, b.now + 20 * SEC);
	for (i = 0; i < ARRAY_SIZE(many); i++)
		sum += bed_usage(many[i]);
	EXPECT_LE(sum, 10 * SEC + 5 * MS);
	EXPECT_LE(10 * SEC - 5 * MS, bed_usage(one));
	bed_end(&b);
}

/* Look at a group's use in each of its periods. */
static void check_max(u64 quota, u64 period, u64 burst, u64 block, unsigned int clients,
		      u32 seats, bool rivals)
{
	struct tenant *t[8], *rival[2];
	struct gs_device_conf conf;
	struct gs_device *dev;
	struct gs_group *g;
	unsigned int i, k;
	u64 last = 0, start, used, most = 0;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.seats = seats;
	dev = bed_device(&b, &conf);
	g = bed_group(&b, NULL, 1000);
	bed_set(&b, g, SHARE(.quota = quota, .period = period, .burst = burst), GS_SHARE_MAX);
	for (i = 0; i < clients; i++)
		t[i] = bed_tenant(&b, g, dev, block);
	for (i = 0; i < 2 && rivals; i++) {
		rival[i] = bed_tenant(&b, NULL, dev, block);
		bed_start(rival[i]);
	}
	start = b.now;
	for (i = 0; i < clients; i++)
		bed_start(t[i]);
	for (k = 1; k <= 1000; k++) {
		bed_run(&b, start + k * period);
		for (used = 0, i = 0; i < clients; i++)
			used += bed_usage(t[i]);
		most = max(most, used - last);
		last = used;
	}
	/* No period beyond the quota by more than a slice for each seat... */
	EXPECT_LE(most, quota + burst + seats * max(block, (u64)GS_SLICE_MIN));
	/* ...nor the whole beyond what all periods gave, nor much below. */
	EXPECT_LE(last, 1000 * quota + burst + seats * max(block, (u64)GS_SLICE_MIN));
	EXPECT_LE(1000 * quota - quota / 100 * 5, last);
	bed_end(&b);
}

/* One who was alone for months, and never had to pay meanwhile, owes nobody for them. */
static void check_alone(u64 days, u32 weight)
{
	struct gs_client *holder;
	struct tenant *t, *late;
	struct gs_device *dev;
	u64 used[2] = { 0 };
	int i;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	t = bed_tenant(&b, bed_group(&b, NULL, weight), dev, 0);
	late = bed_tenant(&b, bed_group(&b, NULL, weight), dev, 0);
	EXPECT_EQ(gs_request(&t->c, 0, b.now), 1);
	b.now += days * 24 * 3600 * SEC;
	EXPECT_EQ(gs_request(&late->c, 0, b.now), 0);
	for (i = 0; i < 2000; i++) {
		if (i == 1000) {
			used[0] = t->c.usage;
			used[1] = late->c.usage;
		}
		b.now += 2 * MS;
		holder = t->c.state == GS_CLIENT_RUNNING ? &t->c : &late->c;
		EXPECT_EQ(holder->state, (u8)GS_CLIENT_RUNNING);
		gs_yield(holder, true, 0, b.now);
	}
	EXPECT_GE(t->c.usage - used[0], 990 * MS);
	EXPECT_GE(late->c.usage - used[1], 990 * MS);
	bed_end(&b);
}

TEST(alone_for_months)
{
	check_alone(20, 100);
	check_alone(30, 100);
	check_alone(40, 10000);
	check_alone(60, 1);
	check_alone(250, 100);
	check_alone(40000, 1);
}

TEST(max_holds_in_each_period)
{
	check_max(20 * MS, 100 * MS, 0, 100 * US, 1, 1, false);
	check_max(20 * MS, 100 * MS, 0, 100 * US, 1, 1, true);
	check_max(20 * MS, 100 * MS, 0, 3 * MS, 3, 1, true);
	check_max(5 * MS, 10 * MS, 0, 700 * US, 2, 1, false);
	check_max(1 * MS, 10 * MS, 0, 2 * MS, 2, 1, true);
	check_max(20 * MS, 100 * MS, 20 * MS, 100 * US, 1, 1, true);
	check_max(150 * MS, 100 * MS, 0, 100 * US, 4, 4, true);
	check_max(60 * MS, 50 * MS, 0, 1 * MS, 8, 4, false);
}

TEST_MAIN()
