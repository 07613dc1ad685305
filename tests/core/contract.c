// SPDX-License-Identifier: MIT
/* What the contract's structs mean to the arbiter, for both of its hosts. */
#include <linux/gpushare.h>

#include "kmod/contract/contract.h"
#include "bed.h"

static struct bed b;

static struct gs_device *sized(u64 bytes, u32 seats)
{
	struct gs_device_conf conf;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.mem_capacity = bytes;
	conf.seats = seats;
	conf.threads = 1024;
	conf.local_mem = 64 << 10;
	return bed_device(&b, &conf);
}

TEST(a_profile_is_what_was_said)
{
	struct gpushare_describe d = {
		.threads = 256, .registers = 8192, .local_bytes = 16 << 10, .groups = 1000,
		.group_ns = 1000000,
	};
	struct gs_client *c = &bed_tenant(&b, NULL, sized(0, 1), US)->c;
	struct gs_profile p = { 0 };
	u32 i;

	EXPECT_EQ(0, gs_contract_describe(c, &p, &d, b.now));
	EXPECT_TRUE(c->profile == &p);
	EXPECT_EQ(256u, p.threads);
	EXPECT_EQ(8192u, p.regs);
	EXPECT_EQ(16u << 10, p.local_mem);
	EXPECT_EQ(1000u, p.blocks);
	EXPECT_EQ((u32)GS_PROFILE_POINTS, p.points);
	for (i = 0; i < p.points; i++)
		EXPECT_EQ(1000ull << i, p.rate[i]);	/* each worker does what one does */
	d.group_ns = 0;
	EXPECT_EQ(0, gs_contract_describe(c, &p, &d, b.now));
	EXPECT_EQ(0u, p.points);
	bed_end(&b);
}

TEST(what_fits_no_unit_changes_nothing)
{
	struct gs_client *c = &bed_tenant(&b, NULL, sized(0, 1), US)->c;
	struct gpushare_describe d = { .threads = 1025, .groups = 7 };
	struct gs_profile p = { .blocks = 5 };

	EXPECT_EQ(-ERANGE, gs_contract_describe(c, &p, &d, b.now));
	d.threads = 1024;
	d.local_bytes = (64 << 10) + 1;
	EXPECT_EQ(-ERANGE, gs_contract_describe(c, &p, &d, b.now));
	EXPECT_EQ(5u, p.blocks);
	EXPECT_TRUE(!c->profile);
	bed_end(&b);
}

static struct gpushare_memory memory;

static int account(struct gs_client *c, u32 op, u64 bytes)
{
	memory = (struct gpushare_memory){ .op = op, .bytes = bytes };
	EXPECT_EQ(0, gs_contract_memory_check(&memory));
	return gs_contract_memory(c, &memory, b.now);
}

TEST(memory_that_isnt_there)
{
	struct gs_client *c = &bed_tenant(&b, NULL, sized(1 << 20, 1), US)->c;
	struct gpushare_memory wrong[] = { { .op = 0 }, { .op = GPUSHARE_MEM_SWAP_IN + 1 },
		{ .op = 1, .flags = 8 }, { .op = 1, .reserved = 1 } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT_EQ(-EINVAL, gs_contract_memory_check(&wrong[i]));
	EXPECT_EQ(0, account(c, GPUSHARE_MEM_CHARGE, 10));
	EXPECT_EQ(-ENOMEM, account(c, GPUSHARE_MEM_CHARGE, 1 << 20));
	EXPECT_EQ(-ENOMEM, account(c, GPUSHARE_MEM_CHARGE, ~0ull));
	EXPECT_EQ(-ENOMEM, account(c, GPUSHARE_MEM_CHARGE, ~0ull - 9));
	EXPECT_EQ(-ERANGE, account(c, GPUSHARE_MEM_UNCHARGE, 11));
	EXPECT_EQ(-ERANGE, account(c, GPUSHARE_MEM_SWAP_OUT, 11));
	EXPECT_EQ(-ERANGE, account(c, GPUSHARE_MEM_SWAP_IN, 1));
	EXPECT_EQ(10u, memory.current_bytes);
	EXPECT_EQ((1u << 20) - 10u, memory.available_bytes);
	EXPECT_EQ(1u << 20, memory.total_bytes);
	EXPECT_EQ(0u, memory.limit_group);
	EXPECT_EQ(0, account(c, GPUSHARE_MEM_UNCHARGE, 10));
	bed_end(&b);
}

TEST(whose_limit_is_in_the_way)
{
	struct gs_device *dev = sized(1 << 20, 1);
	struct gs_group *g = bed_group(&b, NULL, 100);
	struct gs_client *c = &bed_tenant(&b, g, dev, US)->c;

	bed_set(&b, g, SHARE(.mem_max = 4096), GS_SHARE_MEM_MAX);
	EXPECT_EQ(0, account(c, GPUSHARE_MEM_CHARGE, 96));
	EXPECT_EQ(0u, memory.limit_group);	/* it stands in nobody's way */
	EXPECT_EQ(-ENOMEM, account(c, GPUSHARE_MEM_CHARGE, 4001));
	EXPECT_EQ(4000u, memory.available_bytes);
	EXPECT_EQ(4096u, memory.total_bytes);
	EXPECT_EQ(g->id, memory.limit_group);
	bed_end(&b);
}

static int checked(struct gpushare_share s)
{
	return gs_contract_share_check(&s);
}

TEST(shares_out_of_range)
{
	EXPECT_EQ(-EINVAL, checked((struct gpushare_share){ 0 }));
	EXPECT_EQ(-EINVAL, checked((struct gpushare_share){ .mask = 1 << 9 }));
	EXPECT_EQ(-EINVAL, checked((struct gpushare_share){ .reset = 1, .reserved = 1 }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MEM_FULL,
		.mem_full = 3 }));
	EXPECT_EQ(0, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MEM_FULL,
		.mem_full = GPUSHARE_FULL_WAIT }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MEM_WAIT,
		.mem_wait_us = 999 }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MEM_WAIT,
		.mem_wait_us = 86400000001 }));
	EXPECT_EQ(0, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MEM_WAIT }));
	EXPECT_EQ(-EINVAL, checked((struct gpushare_share){ .mask = 1, .reset = 1, .weight = 1 }));
	EXPECT_EQ(-EINVAL, checked((struct gpushare_share){ .flags = 1, .reset = 1 }));
	EXPECT_EQ(0, checked((struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT,
		.weight = 10001 }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_CLASS,
		.class = 3 }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN,
		.min_permille = 1001 }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MAX,
		.max_us = 9, .period_us = 1000 }));
	EXPECT_EQ(0, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MAX,
		.max_us = 10, .period_us = 1000, .burst_us = 10 }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MAX,
		.max_us = 10, .period_us = 1000, .burst_us = 11 }));
	EXPECT_EQ(-ERANGE, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MAX,
		.max_us = 65000, .period_us = 1000 }));
	EXPECT_EQ(0, checked((struct gpushare_share){ .mask = GPUSHARE_SHARE_MAX,
		.max_us = GPUSHARE_NO_LIMIT, .period_us = 1000000 }));
}

/* What is refused changes nothing, whichever of the two is what can't be. */
TEST(shares_are_set_wholly_or_not_at_all)
{
	struct gs_device *dev = sized(0, 1);
	struct gs_group *one = bed_group(&b, NULL, 100), *two = bed_group(&b, NULL, 100);
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_MIN, .min_permille = 700 };
	struct gpushare_share was, is;
	u32 general = 0, other = 0;

	bed_nodes(&b, one, dev);
	bed_nodes(&b, two, dev);
	EXPECT_EQ(0, gs_contract_share_apply(one, NULL, &general, &s, b.now));
	EXPECT_EQ(GPUSHARE_SHARE_MIN, general);
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN | GPUSHARE_SHARE_CLASS,
		.class = GPUSHARE_CLASS_IDLE, .min_permille = 301, .reset = GPUSHARE_SHARE_WEIGHT };
	EXPECT_EQ(-EBUSY, gs_contract_share_apply(two, NULL, &other, &s, b.now));
	EXPECT_EQ(300u, s.min_free);
	EXPECT_EQ(0u, other);
	EXPECT_EQ((u32)GS_CLASS_BATCH, two->share.class);
	/* Less for this device, so that the other may have more there: it can't go back. */
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 100 };
	EXPECT_EQ(0, gs_contract_share_apply(one, dev, &general, &s, b.now));
	s.min_permille = 900;
	EXPECT_EQ(0, gs_contract_share_apply(two, dev, &other, &s, b.now));
	gs_contract_share_show(&was, one, dev, general, b.now);
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_MIN, .mask = GPUSHARE_SHARE_WEIGHT,
		.weight = 5 };
	EXPECT_EQ(-EBUSY, gs_contract_share_apply(one, dev, &general, &s, b.now));
	gs_contract_share_show(&is, one, dev, general, b.now);
	EXPECT_EQ(was.weight, is.weight);
	EXPECT_EQ(100u, is.min_permille);
	EXPECT_EQ(GPUSHARE_SHARE_MIN, is.mask);
	bed_end(&b);
}

/* Two devices: what they were used for is added up, what is due is their mean. */
TEST(of_all_devices)
{
	struct gs_device *dev = sized(0, 1), *second = bed_device(&b, &dev->conf);
	struct gs_group *one = bed_group(&b, NULL, 100), *two = bed_group(&b, NULL, 300);
	struct gpushare_share share = { 0 };
	struct gpushare_stats all = { .what = GPUSHARE_STATS_GROUP }, on = all;

	bed_start(bed_tenant(&b, one, dev, 100 * US));
	bed_start(bed_tenant(&b, one, second, 100 * US));
	bed_start(bed_tenant(&b, two, second, 100 * US));
	bed_run(&b, b.now + SEC);
	gs_contract_stats_group(&all, one, NULL, b.now);
	gs_contract_stats_group(&on, one, dev, b.now);
	EXPECT_EQ(SEC, on.usage_ns);
	EXPECT_LE(1200 * MS, all.usage_ns);
	EXPECT_LE(all.usage_ns, 1300 * MS);
	EXPECT_EQ(GPUSHARE_STATS_GROUP, (int)all.what);
	gs_contract_share_show(&share, one, NULL, 0, b.now);
	EXPECT_EQ(625u, share.entitled_permille);
	EXPECT_EQ(2u, share.clients);
	gs_contract_share_show(&share, one, second, 0, b.now);
	EXPECT_EQ(250u, share.entitled_permille);
	EXPECT_EQ(1u, share.clients);
	bed_end(&b);
}

/* Of all tenants in the group, and of one in its part. */
TEST(clients_of_a_group)
{
	struct gs_device *dev = sized(0, 1);
	struct gs_group *top = bed_group(&b, NULL, 100);
	struct gs_group *part = bed_tenants(&b, top, 7), *other = bed_tenants(&b, top, 8);
	struct gpushare_share s = { 0 };
	struct tenant *t;

	bed_tenant(&b, part, dev, 0);
	bed_tenant(&b, part, dev, 0);
	t = bed_tenant(&b, other, dev, 0);
	gs_contract_share_show(&s, top, dev, 0, b.now);
	EXPECT_EQ(3u, s.clients);
	EXPECT_EQ(0, gs_client_move(&t->c, part, b.now));
	gs_contract_share_show(&s, part, NULL, 0, b.now);
	EXPECT_EQ(3u, s.clients);
	gs_contract_share_show(&s, top, dev, 0, b.now);
	EXPECT_EQ(3u, s.clients);
	bed_drop(t);
	gs_contract_share_show(&s, top, dev, 0, b.now);
	EXPECT_EQ(2u, s.clients);
	bed_end(&b);
}

static int keyed(const char *key)
{
	struct gpushare_device info;
	char all[GPUSHARE_KEY_MAX];

	memset(all, 'x', sizeof(all));	/* behind the end: not looked at */
	memcpy(all, key, strlen(key) + 1);
	return gs_contract_device_init(&info, all, GPUSHARE_KIND_CPU);
}

TEST(keys_of_devices)
{
	struct gpushare_device info;
	char all[GPUSHARE_KEY_MAX];

	EXPECT_EQ(0, keyed("cpu:0"));
	EXPECT_EQ(0, keyed("pci:0000:65:00.0"));
	EXPECT_EQ(0, keyed("mig:GPU-5d1f/3"));
	EXPECT_EQ(-EINVAL, keyed(""));
	EXPECT_EQ(-EINVAL, keyed("cpu"));
	EXPECT_EQ(-EINVAL, keyed(":0"));
	EXPECT_EQ(-EINVAL, keyed("cpu:"));
	EXPECT_EQ(-EINVAL, keyed("cpu: 0"));
	EXPECT_EQ(-EINVAL, keyed("cpu:0\n"));
	EXPECT_EQ(-EINVAL, keyed("cpu:\xc3\xa9"));
	memset(all, 'x', sizeof(all));
	all[3] = ':';
	EXPECT_EQ(-EINVAL, gs_contract_device_init(&info, all, GPUSHARE_KIND_CPU));
	EXPECT_EQ(-ERANGE, gs_contract_device_init(&info, "cpu:0", 0));
	EXPECT_EQ(-ERANGE, gs_contract_device_init(&info, "cpu:0", GPUSHARE_KIND_OTHER + 1));
}

TEST(devices_are_set_wholly_or_not_at_all)
{
	static const struct gpushare_device wrong[] = {
		{ .mask = GPUSHARE_DEV_POLICY, .policy = 3 },
		{ .mask = GPUSHARE_DEV_SEATS, .seats = GS_SEATS_MAX + 1 },
		{ .mask = GPUSHARE_DEV_SLICE, .slice_us = 99 },
		{ .mask = GPUSHARE_DEV_LATENCY, .latency_us = 9 },
		{ .mask = GPUSHARE_DEV_LATENCY, .latency_us = 1000001 },
		{ .mask = GPUSHARE_DEV_KILL, .kill_us = 99999 },
		{ .mask = GPUSHARE_DEV_QUOTA, .quota = 4, .epoch_us = 100000 },
		{ .mask = GPUSHARE_DEV_WORKERS, .workers = 2 },
		{ .mask = GPUSHARE_DEV_OVERSUB, .oversubscribe = 2 },
		{ .mask = GPUSHARE_DEV_MEM_FULL, .mem_full = GPUSHARE_FULL_ABOVE },
		{ .mask = GPUSHARE_DEV_MEM_FULL, .mem_full = 3 },
		{ .mask = GPUSHARE_DEV_MEM_WAIT, .mem_wait_us = 999 },
		{ .mask = GPUSHARE_DEV_MEM_WAIT, .mem_wait_us = 86400000001 },
	};
	struct gpushare_device info, was, set = { .mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_QUOTA |
		GPUSHARE_DEV_LATENCY | GPUSHARE_DEV_CAPACITY, .slice_us = 5000,
		.quota = GPUSHARE_QUOTA_HISTORY, .epoch_us = 50000, .latency_us = 700,
		.bandwidth_mbps = 1000, .units = 8 };
	struct gs_device_conf conf, dfl;
	unsigned int i;

	gs_device_conf_init(&dfl);
	EXPECT_EQ(0, gs_contract_device_init(&info, "cpu:0", GPUSHARE_KIND_CPU));
	EXPECT_EQ(0, gs_contract_device_merge(&info, &(struct gpushare_device){ 0 }, &conf));
	dfl.seat_way = GS_SEATS_WEIGHTED;
	EXPECT_EQ(0, memcmp(&dfl, &conf, sizeof(conf)));
	EXPECT_EQ(0, gs_contract_device_merge(&info, &set, &conf));
	EXPECT_EQ(set.mask, info.mask);
	EXPECT_EQ(5 * MS, conf.slice);
	EXPECT_EQ(700 * US, conf.latency);
	EXPECT_EQ((u32)GS_MIN_HISTORY, conf.min_way);
	EXPECT_EQ(50 * MS, conf.epoch);
	EXPECT_EQ(1048576ull, conf.copy_ns_per_mib);
	EXPECT_EQ(8u, conf.units);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		was = info;
		EXPECT_EQ(-ERANGE, gs_contract_device_merge(&info, &wrong[i], &conf));
		EXPECT_EQ(0, memcmp(&was, &info, sizeof(info)));
	}
	EXPECT_EQ(-EINVAL, gs_contract_device_check(&(struct gpushare_device){ .mask = 1 << 13 }));
	EXPECT_EQ(-EINVAL, gs_contract_device_check(&(struct gpushare_device){ .flags = 1 }));
}

TEST(events_and_their_values)
{
	struct gs_event ev = { .time = 7, .type = GS_EV_OVERRUN, .device = 1, .group = 2,
			       .client = 3, .a = 4, .b = 5 };
	struct gpushare_event out;
	u32 type;

	gs_contract_event(&out, &ev, true, 99);
	EXPECT_EQ((u32)GPUSHARE_EVENT_OVERRUN, out.type);
	EXPECT_EQ(5ull, out.value);	/* past grace, not held */
	EXPECT_EQ(99, out.pid);
	EXPECT_EQ(3ull, out.client);
	ev.type = GS_EV_SHARE;
	gs_contract_event(&out, &ev, true, 0);
	EXPECT_EQ(0ull, out.value);
	ev.type = GS_EV_DEVICE;
	gs_contract_event(&out, &ev, true, 0);
	EXPECT_EQ((u32)GPUSHARE_EVENT_DEVICE_ADDED, out.type);
	gs_contract_event(&out, &ev, false, 0);
	EXPECT_EQ((u32)GPUSHARE_EVENT_DEVICE_SET, out.type);
	/* Whoever wants one of ours hears of all of the core's that are called so. */
	for (type = 0; type < GS_NR_EVENTS; type++)
		if (gs_contract_event_type(type))
			EXPECT_TRUE(gs_contract_events(1ull << gs_contract_event_type(type)) >>
				    type & 1);
	EXPECT_EQ(1ull << GS_EV_DEVICE, gs_contract_events(1ull << GPUSHARE_EVENT_DEVICE_ADDED));
	EXPECT_EQ(0ull, gs_contract_events(0));
	EXPECT_EQ(0ull, gs_contract_events(1));
}

TEST_MAIN()
