// SPDX-License-Identifier: MIT
/*
 * Devices, groups and clients come, go and change while grants are out.
 */
#include "bed.h"

static struct bed b;

TEST(group_removed_with_clients_inside)
{
	struct gs_group *a, *child, *grand;
	struct tenant *t[4];
	struct gs_device *dev;
	unsigned int i;
	u64 before;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	a = bed_group(&b, NULL, 100);
	child = bed_group(&b, a, 100);
	grand = bed_group(&b, child, 100);
	t[0] = bed_tenant(&b, child, dev, 100 * US);
	t[1] = bed_tenant(&b, child, dev, 100 * US);
	t[2] = bed_tenant(&b, grand, dev, 100 * US);
	t[3] = bed_tenant(&b, NULL, dev, 100 * US);
	for (i = 0; i < 4; i++)
		bed_start(t[i]);
	gs_mem_charge(&t[0]->c, 4096, b.now);
	bed_run(&b, b.now + SEC);
	gs_sync(dev, b.now);
	before = a->nodes.next != &a->nodes ? gs_node_find(a, dev)->stat.usage : 0;
	EXPECT_EQ(gs_node_find(child, dev)->stat.usage, before);
	EXPECT_EQ(gs_group_remove(child, b.now), -EBUSY);
	bed_drop_group(&b, child);
	EXPECT_EQ(b.nodes, 2ul);
	EXPECT_EQ(gs_node_find(a, dev)->stat.usage, before);
	EXPECT_EQ(gs_node_find(a, dev)->mem.used, 4096ull);
	EXPECT_EQ(t[0]->c.group, a);
	EXPECT_EQ(grand->parent, a);
	EXPECT_EQ(gs_node_find(grand, dev)->depth, 2);
	EXPECT_EQ(b.events[GS_EV_MOVE], 2ul);
	EXPECT_EQ(dev->root.running, 1u);
	bed_run(&b, b.now + SEC);
	EXPECT_EQ(gs_group_remove(&b.arb.root, b.now), -EINVAL);
	bed_end(&b);
}

TEST(group_moved_between_two_that_are_there)
{
	struct gs_group *a, *low, *top;
	struct gs_share share;
	struct gs_device *dev;
	struct tenant *t[3];
	struct gs_node *node;
	unsigned int i;
	u64 low_before;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	a = bed_group(&b, NULL, 100);
	low = bed_group(&b, NULL, 100);
	t[0] = bed_tenant(&b, a, dev, 100 * US);
	t[1] = bed_tenant(&b, low, dev, 100 * US);
	t[2] = bed_tenant(&b, low, dev, 100 * US);
	for (i = 0; i < 3; i++)
		bed_start(t[i]);
	gs_mem_charge(&t[1]->c, 4096, b.now);
	bed_run(&b, b.now + SEC);
	gs_sync(dev, b.now);
	low_before = gs_node_find(low, dev)->stat.usage;
	top = bed_group(&b, NULL, 300);
	EXPECT_EQ(gs_group_move(low, top, b.now), -ENOENT);
	bed_nodes(&b, top, dev);
	EXPECT_EQ(gs_group_move(top, top, b.now), -EINVAL);
	EXPECT_EQ(gs_group_move(low, top, b.now), 0);
	EXPECT_EQ(gs_group_move(top, low, b.now), -EINVAL);
	EXPECT_EQ(gs_group_move(&b.arb.root, low, b.now), -EINVAL);
	node = gs_node_find(top, dev);
	EXPECT_EQ(low->parent, top);
	EXPECT_EQ(gs_node_find(low, dev)->up, node);
	EXPECT_EQ(gs_node_find(low, dev)->depth, 2);
	EXPECT_EQ(gs_node_find(low, dev)->stat.usage, low_before);
	EXPECT_EQ(node->mem.used, 4096ull);
	EXPECT_EQ(dev->root.mem.used, 4096ull);
	EXPECT_EQ(node->running + node->waiting, 2u);
	EXPECT_EQ(dev->root.running, 1u);
	EXPECT_EQ(dev->root.waiting, 2u);
	/* From here on its weight is top's: 300 to 100. */
	bed_run(&b, b.now + 4 * SEC);
	gs_sync(dev, b.now);
	EXPECT_LE(node->stat.usage, 3100000000ull);
	EXPECT_LE(2900000000ull, node->stat.usage);

	/* A promise that the new parent doesn't bear */
	gs_share_init(&share);
	share.min = 200;
	EXPECT_EQ(gs_group_set(a, NULL, &share, GS_SHARE_MIN, b.now), 0);
	EXPECT_EQ(gs_group_move(a, top, b.now), -ENOSPC);
	EXPECT_EQ(a->parent, &b.arb.root);
	bed_end(&b);
}

TEST(device_removed_with_grants_out)
{
	struct gs_device *dev, *other;
	struct tenant *t[3];
	unsigned int i;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	other = bed_device(&b, NULL);
	for (i = 0; i < 3; i++)
		t[i] = bed_tenant(&b, bed_group(&b, NULL, 100), i < 2 ? dev : other, 100 * US);
	for (i = 0; i < 3; i++)
		bed_start(t[i]);
	bed_run(&b, b.now + 10 * MS);
	gs_device_remove(dev, b.now);
	b.armed[0] = GS_NEVER;
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(t[i]->c.flags, GS_GONE);
		EXPECT_EQ(t[i]->c.state, (u8)GS_CLIENT_GONE);
		EXPECT_EQ(gs_request(&t[i]->c, 0, b.now), -ENODEV);
		EXPECT_EQ(gs_yield(&t[i]->c, true, 0, b.now), -ENODEV);
		EXPECT_EQ(gs_cancel(&t[i]->c, b.now), -ENODEV);
		EXPECT_EQ(gs_mem_charge(&t[i]->c, 1, b.now), -ENODEV);
		EXPECT_EQ(gs_client_move(&t[i]->c, &b.arb.root, b.now), 0);
		EXPECT_EQ(t[i]->c.group, &b.arb.root);
		EXPECT_EQ(gs_profile_set(&t[i]->c, NULL, b.now), -ENODEV);
		t[i]->wake = GS_NEVER;
	}
	EXPECT_EQ(t[2]->c.flags, GS_GRANTED);
	EXPECT_EQ(b.nodes, 1ul);
	dev->arb = NULL;
	bed_end(&b);
}

TEST(clients_die_in_every_state)
{
	struct gs_device *dev;
	struct gs_device_conf conf;
	struct tenant *t[4];
	u64 left;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.grace = MS;
	dev = bed_device(&b, &conf);
	t[0] = bed_tenant(&b, NULL, dev, 0);
	t[1] = bed_tenant(&b, NULL, dev, 0);
	t[2] = bed_tenant(&b, NULL, dev, 0);
	t[3] = bed_tenant(&b, NULL, dev, 0);
	gs_request(&t[0]->c, 0, b.now);
	gs_request(&t[1]->c, 0, b.now);
	gs_request(&t[2]->c, 0, b.now);
	bed_run(&b, b.now + 4 * MS);
	EXPECT_EQ(t[0]->c.state, (u8)GS_CLIENT_OVER);
	EXPECT_EQ(t[1]->c.state, (u8)GS_CLIENT_RUNNING);
	EXPECT_EQ(t[2]->c.state, (u8)GS_CLIENT_WAITING);
	bed_drop(t[0]);
	left = b.last[GS_EV_LEAVE].a;
	EXPECT_LE(MS, left);
	EXPECT_EQ(dev->root.overrunning, 0u);
	bed_drop(t[1]);
	EXPECT_EQ(t[2]->c.state, (u8)GS_CLIENT_RUNNING);
	/* It ran beside others, and all of its time counts: who listens misses none. */
	EXPECT_LE(MS, b.last[GS_EV_LEAVE].a);
	EXPECT_EQ(b.last[GS_EV_LEAVE].a + left, dev->root.stat.usage);
	bed_drop(t[3]);
	EXPECT_EQ(b.last[GS_EV_LEAVE].a, 0ull);
	EXPECT_EQ(b.events[GS_EV_LEAVE], 3ul);
	bed_end(&b);
}

TEST(a_task_moves)
{
	struct gs_group *a, *c;
	struct gs_device *dev;
	struct tenant *t, *u;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	a = bed_group(&b, NULL, 100);
	c = bed_group(&b, NULL, 300);
	t = bed_tenant(&b, a, dev, 100 * US);
	u = bed_tenant(&b, NULL, dev, 100 * US);
	bed_start(t);
	bed_start(u);
	bed_run(&b, b.now + SEC);
	EXPECT_EQ(gs_client_move(&t->c, c, b.now), -ENOENT);
	bed_nodes(&b, c, dev);
	gs_mem_charge(&t->c, 4096, b.now);
	EXPECT_EQ(gs_client_move(&t->c, c, b.now), 0);
	EXPECT_EQ(gs_node_find(a, dev)->mem.used, 0ull);
	EXPECT_EQ(gs_node_find(c, dev)->mem.used, 4096ull);
	EXPECT_EQ(gs_node_find(a, dev)->running + gs_node_find(a, dev)->waiting, 0u);
	bed_run(&b, b.now + 10 * SEC);
	gs_sync(dev, b.now);
	EXPECT_LE(7450 * MS, gs_node_find(c, dev)->stat.usage);
	EXPECT_LE(gs_node_find(c, dev)->stat.usage, 7550 * MS);
	bed_end(&b);
}

/*
 * By when it was to run in a group that has used much says nothing in one that hasn't,
 * even if it owes for a slice that was too long.
 */
TEST(a_running_task_moves_to_a_younger_group)
{
	struct tenant *t, *old, *young;
	struct gs_group *a, *c;
	struct gs_device *dev;
	u64 used;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	a = bed_group(&b, NULL, 100);
	c = bed_group(&b, NULL, 100);
	t = bed_tenant(&b, a, dev, 100 * US);
	old = bed_tenant(&b, a, dev, 100 * US);
	young = bed_tenant(&b, c, dev, 100 * US);
	bed_start(t);
	bed_start(old);
	bed_run(&b, b.now + 20 * SEC);
	t->block = 60 * MS;
	while (t->c.state != GS_CLIENT_RUNNING)
		bed_run(&b, b.now + 50 * US);
	bed_run(&b, b.now + 40 * MS);
	EXPECT_EQ(t->c.state, (u8)GS_CLIENT_RUNNING);
	EXPECT_EQ(gs_client_move(&t->c, c, b.now), 0);
	bed_start(young);
	t->block = 100 * US;
	bed_run(&b, b.now + SEC);
	used = bed_usage(t);
	bed_run(&b, b.now + 2 * SEC);
	EXPECT_GE(bed_usage(t) - used, 480 * MS);
	bed_end(&b);
}

/* The first free device wins, and the other wishes are gone. */
TEST(any_of_these_devices)
{
	struct gs_device *dev[3];
	struct tenant *hog[3], *t[3];
	struct gs_client *c[3];
	unsigned int i;

	bed_init(&b);
	for (i = 0; i < 3; i++) {
		dev[i] = bed_device(&b, NULL);
		hog[i] = bed_tenant(&b, NULL, dev[i], 100 * US);
		t[i] = bed_tenant(&b, bed_group(&b, NULL, 100), dev[i], 100 * US);
		c[i] = &t[i]->c;
	}
	bed_start(hog[0]);
	EXPECT_EQ(gs_request_any(c, 3, 0, b.now), 1);
	EXPECT_EQ(c[0]->state, (u8)GS_CLIENT_IDLE);
	EXPECT_EQ(gs_request_any(c, 3, 0, b.now), -EBUSY);
	gs_yield(c[1], false, 0, b.now);
	bed_start(hog[1]);
	bed_start(hog[2]);
	EXPECT_EQ(gs_request_any(c, 3, 0, b.now), -EAGAIN);
	EXPECT_EQ(dev[2]->root.waiting, 1u);
	b.now += 100 * US;
	bed_stop(hog[2]);
	EXPECT_EQ(c[2]->state, (u8)GS_CLIENT_RUNNING);
	EXPECT_EQ(c[0]->state, (u8)GS_CLIENT_IDLE);
	EXPECT_EQ(c[1]->state, (u8)GS_CLIENT_IDLE);
	EXPECT_EQ(dev[0]->root.waiting, 0u);
	EXPECT_EQ(hog[0]->c.preempt_at, GS_NEVER);
	gs_yield(c[2], false, 0, b.now);
	bed_start(hog[2]);
	EXPECT_EQ(gs_request_any(c, 3, 0, b.now), -EAGAIN);
	EXPECT_EQ(gs_cancel(c[1], b.now), 0);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(c[i]->state, (u8)GS_CLIENT_IDLE);
	/* One that dies takes all its wishes with it. */
	EXPECT_EQ(gs_request_any(c, 3, 0, b.now), -EAGAIN);
	bed_drop(t[0]);
	EXPECT_EQ(c[1]->state, (u8)GS_CLIENT_IDLE);
	EXPECT_EQ(gs_request_any(c + 1, 0, 0, b.now), -EINVAL);
	c[0] = c[1];
	EXPECT_EQ(gs_request_any(c, 2, 0, b.now), -EINVAL);
	bed_end(&b);
}

/* Every setting at run time, for one device and for all. */
TEST(settings_for_one_device)
{
	struct gs_device *dev[2];
	struct tenant *t[2], *u[2];
	struct gs_group *g;
	unsigned int i;
	struct gs_share s = SHARE(.weight = 300);

	bed_init(&b);
	g = bed_group(&b, NULL, 100);
	for (i = 0; i < 2; i++) {
		dev[i] = bed_device(&b, NULL);
		t[i] = bed_tenant(&b, g, dev[i], 100 * US);
		u[i] = bed_tenant(&b, bed_group(&b, NULL, 100), dev[i], 100 * US);
		bed_start(t[i]);
		bed_start(u[i]);
	}
	bed_run(&b, b.now + SEC);
	EXPECT_EQ(gs_group_set(g, dev[1], &s, GS_SHARE_WEIGHT, b.now), 0);
	bed_run(&b, b.now + 10 * SEC);
	EXPECT_LE(bed_usage(t[0]), 5550 * MS);
	EXPECT_LE(7950 * MS, bed_usage(t[1]));
	/* What is set for all counts where nothing else was set. */
	s.weight = 900;
	EXPECT_EQ(gs_group_set(g, NULL, &s, GS_SHARE_WEIGHT, b.now), 0);
	EXPECT_EQ(gs_node_find(g, dev[0])->share.weight, 900u);
	EXPECT_EQ(gs_node_find(g, dev[1])->share.weight, 300u);
	EXPECT_EQ(gs_group_unset(g, dev[1], GS_SHARE_WEIGHT, b.now), 0);
	EXPECT_EQ(gs_node_find(g, dev[1])->share.weight, 900u);
	EXPECT_EQ(gs_group_unset(g, NULL, GS_SHARE_ALL, b.now), 0);
	EXPECT_EQ(gs_node_find(g, dev[1])->share.weight, 100u);
	bed_end(&b);
}

static const struct {
	const char *what;
	struct gs_share s;
	u32 which;
	int ret;
} shares[] = {
	{ "nothing", { 0 }, 0, -EINVAL },
	{ "an unknown field", { 0 }, 1u << 20, -EINVAL },
	{ "weight 0", { .weight = 0 }, GS_SHARE_WEIGHT, -EINVAL },
	{ "weight 1", { .weight = 1 }, GS_SHARE_WEIGHT, 0 },
	{ "weight 10000", { .weight = 10000 }, GS_SHARE_WEIGHT, 0 },
	{ "weight 10001", { .weight = 10001 }, GS_SHARE_WEIGHT, -EINVAL },
	{ "class 3", { .class = 3 }, GS_SHARE_CLASS, -EINVAL },
	{ "no period", { .quota = MS }, GS_SHARE_MAX, -EINVAL },
	{ "quota 0", { .period = 100 * MS }, GS_SHARE_MAX, -EINVAL },
	{ "burst beyond quota", { .quota = MS, .period = 9 * MS, .burst = 2 * MS },
	  GS_SHARE_MAX, -EINVAL },
	{ "quota beyond all seats", { .quota = 65 * MS, .period = MS }, GS_SHARE_MAX, -EINVAL },
	{ "period too long", { .quota = MS, .period = 11 * SEC }, GS_SHARE_MAX, -EINVAL },
	{ "unlimited with burst", { .quota = GS_UNLIMITED, .period = MS, .burst = 1 },
	  GS_SHARE_MAX, -EINVAL },
	{ "unlimited", { .quota = GS_UNLIMITED, .period = MS }, GS_SHARE_MAX, 0 },
	{ "min 1001", { .min = 1001 }, GS_SHARE_MIN, -EINVAL },
	{ "min 1000", { .min = 1000 }, GS_SHARE_MIN, 0 },
};

TEST(bad_shares_change_nothing)
{
	struct gs_share before;
	struct gs_group *g;
	unsigned int i;

	bed_init(&b);
	g = bed_group(&b, NULL, 100);
	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		before = g->share;
		if (gs_group_set(g, NULL, &shares[i].s, shares[i].which, b.now) != shares[i].ret)
			test_fail("%s: taken or refused", shares[i].what);
		if (shares[i].ret)
			EXPECT_EQ(memcmp(&before, &g->share, sizeof(before)), 0);
	}
	EXPECT_EQ(gs_group_set(&b.arb.root, NULL, &shares[3].s, GS_SHARE_WEIGHT, b.now), -EINVAL);
	bed_end(&b);
}

TEST(bad_confs_are_refused)
{
	struct gs_device_conf good, c;
	struct gs_device *dev;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	good = dev->conf;
#define REFUSED(member, value) do {						\
	c = good;								\
	c.member = value;							\
	EXPECT_EQ(gs_device_set(dev, &c, b.now), -EINVAL);			\
	EXPECT_EQ(memcmp(&dev->conf, &good, sizeof(good)), 0);			\
} while (0)
	REFUSED(policy, GS_NR_POLICIES);
	REFUSED(seats, 0);
	REFUSED(seats, GS_SEATS_MAX + 1);
	REFUSED(seat_way, GS_NR_SEAT_WAYS);
	REFUSED(min_way, GS_NR_MIN_WAYS);
	REFUSED(slice, GS_SLICE_MIN - 1);
	REFUSED(slice, GS_SLICE_MAX + 1);
	REFUSED(latency, 0);
	REFUSED(linger, GS_SLICE_MAX + 1);
	REFUSED(grace, GS_GRACE_MAX + 1);
	REFUSED(kill_after, good.grace - 1);
	REFUSED(epoch, 0);
	bed_end(&b);
}

/* Each kind of event comes, and says whom it is about. */
TEST(events_tell_all)
{
	struct gs_device *dev;
	struct gs_group *g;
	struct tenant *t, *u;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	g = bed_group(&b, NULL, 100);
	EXPECT_EQ(b.last[GS_EV_DEVICE].device, dev->id);
	EXPECT_EQ(b.last[GS_EV_GROUP].group, g->id);
	EXPECT_EQ(b.last[GS_EV_GROUP].a, 1ull);
	EXPECT_EQ(b.last[GS_EV_SHARE].a, (u64)GS_SHARE_WEIGHT);
	t = bed_tenant(&b, g, dev, 100 * US);
	u = bed_tenant(&b, g, dev, 100 * US);
	EXPECT_EQ(b.last[GS_EV_JOIN].client, u->c.id);
	bed_set(&b, g, SHARE(.quota = 10 * MS, .period = 100 * MS), GS_SHARE_MAX);
	bed_start(t);
	EXPECT_EQ(b.last[GS_EV_GRANT].client, t->c.id);
	EXPECT_EQ(b.last[GS_EV_GRANT].group, g->id);
	EXPECT_EQ(b.last[GS_EV_GRANT].a, 2 * MS);
	bed_start(u);
	EXPECT_EQ(b.last[GS_EV_REQUEST].client, u->c.id);
	bed_run(&b, b.now + 3 * MS);
	EXPECT_EQ(b.last[GS_EV_PREEMPT].a, 2 * MS);
	EXPECT_EQ(b.last[GS_EV_YIELD].a, 2100 * US);
	EXPECT_EQ(b.last[GS_EV_GRANT].b, 2100 * US);
	bed_run(&b, b.now + 200 * MS);
	EXPECT_EQ(b.last[GS_EV_THROTTLE].group, g->id);
	EXPECT_LE(1ul, b.events[GS_EV_UNTHROTTLE]);
	gs_sync(dev, b.now);
	EXPECT_EQ(gs_node_find(g, dev)->stat.nr_throttled, b.events[GS_EV_THROTTLE]);
	EXPECT_EQ(gs_node_find(g, dev)->stat.nr_periods, 3ull);
	/* 10 ms of work in each 100 ms, and a block of 100 us beyond it. */
	EXPECT_LE(175 * MS, gs_node_find(g, dev)->stat.throttled);
	EXPECT_LE(gs_node_find(g, dev)->stat.throttled, 181 * MS);
	EXPECT_EQ(gs_mem_charge(&t->c, 100, b.now), 0);
	bed_set(&b, g, SHARE(.mem_max = 100), GS_SHARE_MEM_MAX);
	EXPECT_EQ(gs_mem_charge(&t->c, 1, b.now), -ENOMEM);
	EXPECT_EQ(b.last[GS_EV_MEM_DENIED].a, 1ull);
	bed_stop(t);
	EXPECT_LE(1ul, b.events[GS_EV_CANCEL] + b.events[GS_EV_YIELD]);
	/* Types that nobody asked for aren't told. */
	b.arb.events = 1ull << GS_EV_LEAVE;
	b.events[GS_EV_GRANT] = 0;
	bed_run(&b, b.now + SEC);
	EXPECT_EQ(b.events[GS_EV_GRANT], 0ul);
	bed_drop(u);
	EXPECT_EQ(b.events[GS_EV_LEAVE], 1ul);
	bed_end(&b);
}

/* Who listens knows groups; which tenants divide them is the host's affair. */
TEST(events_know_no_tenants)
{
	struct gs_group *g, *part, *other, *below;
	struct gs_device *dev;
	struct tenant *t;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	g = bed_group(&b, NULL, 100);
	EXPECT_EQ(b.events[GS_EV_GROUP], 1ul);
	part = bed_tenants(&b, g, 7);
	other = bed_tenants(&b, g, 8);
	EXPECT_EQ(b.events[GS_EV_GROUP], 1ul);
	below = bed_group(&b, part, 100);
	EXPECT_EQ(b.events[GS_EV_GROUP], 2ul);
	EXPECT_EQ(b.last[GS_EV_GROUP].a, g->id);
	t = bed_tenant(&b, part, dev, 100 * US);
	EXPECT_EQ(b.last[GS_EV_JOIN].group, g->id);
	bed_start(t);
	EXPECT_EQ(b.last[GS_EV_GRANT].group, g->id);
	bed_nodes(&b, other, dev);
	bed_nodes(&b, below, dev);
	EXPECT_EQ(gs_client_move(&t->c, other, b.now), 0);
	EXPECT_EQ(b.events[GS_EV_MOVE], 0ul);
	EXPECT_EQ(gs_client_move(&t->c, below, b.now), 0);
	EXPECT_EQ(b.last[GS_EV_MOVE].group, below->id);
	EXPECT_EQ(b.last[GS_EV_MOVE].a, g->id);
	bed_drop(t);
	bed_drop_group(&b, other);
	EXPECT_EQ(b.events[GS_EV_GROUP_GONE], 0ul);
	bed_drop_group(&b, below);
	EXPECT_EQ(b.last[GS_EV_GROUP_GONE].a, g->id);
	bed_end(&b);
}

TEST_MAIN()
