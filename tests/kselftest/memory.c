// SPDX-License-Identifier: MIT
/* The books of device memory, and what kernels need of a device. */
#include "lib.h"

#define MB	(1ULL << 20)

static int memory(struct client *c, uint32_t op, uint64_t bytes, struct gpushare_memory *out)
{
	struct gpushare_memory m = { .size = sizeof(m), .op = op, .bytes = bytes };
	int r = arb_call(c->fd, GPUSHARE_MEMORY, &m);

	if (out)
		*out = m;
	return r;
}

static uint32_t sized_device(uint64_t bytes)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_CAPACITY, .mem_bytes = bytes };

	need_arbiter();
	return device_add(&d);
}

TEST(charge_and_uncharge)
{
	struct gpushare_memory m;
	struct gpushare_stats s;
	struct client c = client_new(sized_device(100 * MB));

	EXPECT_EQ(0, memory(&c, GPUSHARE_MEM_CHARGE, 30 * MB, &m));
	EXPECT_EQ(30 * MB, m.current_bytes);
	EXPECT_EQ(0, m.swapped_bytes);
	EXPECT_EQ(70 * MB, m.available_bytes);
	EXPECT_EQ(100 * MB, m.total_bytes);
	EXPECT_EQ(0, memory(&c, GPUSHARE_MEM_CHARGE, 70 * MB, &m));
	EXPECT_EQ(0, m.available_bytes);
	EXPECT_EQ(-ENOMEM, memory(&c, GPUSHARE_MEM_CHARGE, 1, &m));
	EXPECT_EQ(0, m.limit_group);		/* the device's capacity */
	EXPECT_EQ(0, memory(&c, GPUSHARE_MEM_UNCHARGE, 100 * MB, &m));
	EXPECT_EQ(0, m.current_bytes);
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(0, s.mem_current);
	EXPECT_EQ(100 * MB, s.mem_peak);
	EXPECT_EQ(1, s.mem_denied);
	device_remove(c.device);
}

TEST(more_than_there_is_cant_be_given_back_or_moved)
{
	struct gpushare_stats s;
	struct client c = client_new(sized_device(100 * MB));

	EXPECT_EQ(0, memory(&c, GPUSHARE_MEM_CHARGE, 10, NULL));
	EXPECT_EQ(-ERANGE, memory(&c, GPUSHARE_MEM_UNCHARGE, 11, NULL));
	EXPECT_EQ(-ERANGE, memory(&c, GPUSHARE_MEM_UNCHARGE, ~0ULL, NULL));
	EXPECT_EQ(-ERANGE, memory(&c, GPUSHARE_MEM_SWAP_OUT, 11, NULL));
	EXPECT_EQ(-ERANGE, memory(&c, GPUSHARE_MEM_SWAP_IN, 1, NULL));
	EXPECT_EQ(-ENOMEM, memory(&c, GPUSHARE_MEM_CHARGE, ~0ULL, NULL));
	EXPECT_EQ(-ENOMEM, memory(&c, GPUSHARE_MEM_CHARGE, ~0ULL - 9, NULL));	/* wraps to 0 */
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(10, s.mem_current);
	EXPECT_EQ(0, s.mem_swapped);
	device_remove(c.device);
}

TEST(swapping_makes_room_for_others)
{
	struct client a = client_new(sized_device(100 * MB)), b = client_new(a.device);
	struct gpushare_memory m;

	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_CHARGE, 80 * MB, NULL));
	EXPECT_EQ(-ENOMEM, memory(&b, GPUSHARE_MEM_CHARGE, 60 * MB, NULL));
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_SWAP_OUT, 50 * MB, &m));
	EXPECT_EQ(30 * MB, m.current_bytes);
	EXPECT_EQ(50 * MB, m.swapped_bytes);
	EXPECT_EQ(0, memory(&b, GPUSHARE_MEM_CHARGE, 60 * MB, NULL));
	EXPECT_EQ(-ENOMEM, memory(&a, GPUSHARE_MEM_SWAP_IN, 50 * MB, NULL));
	EXPECT_EQ(0, memory(&b, GPUSHARE_MEM_UNCHARGE, 60 * MB, NULL));
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_SWAP_IN, 50 * MB, &m));
	EXPECT_EQ(80 * MB, m.current_bytes);
	EXPECT_EQ(0, m.swapped_bytes);
	device_remove(a.device);
}

static bool told(const struct client *c, uint64_t flag)
{
	return word(c) & flag;
}

static int polled(const struct client *c)
{
	return arb_poll(c->fd, POLLIN | POLLPRI, 0);
}

TEST(who_is_asked_to_move_out_is_woken)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_OVERSUB |
		GPUSHARE_DEV_SLICE, .slice_us = 1000000, .mem_bytes = 100 * MB,
		.oversubscribe = 1 };
	struct client a, b;
	char ch;
	int up[2];
	pid_t pid;

	need_arbiter();
	b = client_new(device_add(&d));
	ASSERT_EQ(0, pipe(up));
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&a, b.device));
		CHILD(!memory(&a, GPUSHARE_MEM_CHARGE, 80 * MB, NULL));
		CHILD(write(up[1], "", 1) == 1);
		CHILD(arb_poll(a.fd, POLLPRI, 10000) == POLLPRI && told(&a, GPUSHARE_EVICT));
		CHILD(!memory(&a, GPUSHARE_MEM_SWAP_OUT, 80 * MB, NULL));
		CHILD(acquire(&a, GPUSHARE_WAIT_NONBLOCK, 0) == -EAGAIN);
		CHILD(arb_poll(a.fd, POLLPRI, 10000) == POLLPRI && told(&a, GPUSHARE_PREPARE));
		_exit(0);
	}
	ASSERT_EQ(1, read(up[0], &ch, 1));
	EXPECT_TRUE(EVENTUALLY(blocked(pid)));
	EXPECT_EQ(0, acquire(&b, 0, 1000));
	EXPECT_EQ(0, memory(&b, GPUSHARE_MEM_CHARGE, 70 * MB, NULL));
	EXPECT_EQ(0, reap(pid));
	device_remove(b.device);
}

/* Who isn't running is asked to move out, and asked back in when it is next. */
TEST(a_device_may_be_oversubscribed)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_OVERSUB |
		GPUSHARE_DEV_SLICE, .slice_us = 1000000, .mem_bytes = 100 * MB,
		.oversubscribe = 1 };
	struct gpushare_memory m;
	struct client a, b;

	need_arbiter();
	a = client_new(device_add(&d));
	b = client_new(a.device);
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_CHARGE, 80 * MB, NULL));
	EXPECT_EQ(-ENOMEM, memory(&b, GPUSHARE_MEM_CHARGE, 101 * MB, &m));
	EXPECT_EQ(0, m.limit_group);		/* more than the device ever has */
	EXPECT_FALSE(told(&a, GPUSHARE_EVICT));
	EXPECT_EQ(0, acquire(&b, 0, 1000));
	EXPECT_EQ(0, memory(&b, GPUSHARE_MEM_CHARGE, 70 * MB, &m));
	EXPECT_EQ(0, m.available_bytes);
	EXPECT_TRUE(told(&a, GPUSHARE_EVICT));
	EXPECT_FALSE(told(&b, GPUSHARE_EVICT));	/* it is running */
	EXPECT_EQ(POLLPRI, polled(&a));
	EXPECT_EQ(0, memory(&b, GPUSHARE_MEM_UNCHARGE, 50 * MB, NULL));
	EXPECT_FALSE(told(&a, GPUSHARE_EVICT));	/* b made room itself */
	EXPECT_EQ(0, polled(&a));
	EXPECT_EQ(0, memory(&b, GPUSHARE_MEM_CHARGE, 50 * MB, NULL));
	EXPECT_TRUE(told(&a, GPUSHARE_EVICT));
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_SWAP_OUT, 20 * MB, NULL));
	EXPECT_TRUE(told(&a, GPUSHARE_EVICT));	/* 130 of 100 MB: not enough */
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_SWAP_OUT, 30 * MB, &m));
	EXPECT_FALSE(told(&a, GPUSHARE_EVICT));
	EXPECT_EQ(30 * MB, m.current_bytes);
	EXPECT_EQ(0, polled(&a));
	/* it is the next to run, and is told so while the other one computes */
	EXPECT_EQ(-EAGAIN, acquire(&a, GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_TRUE(told(&a, GPUSHARE_PREPARE));
	EXPECT_EQ(POLLPRI, polled(&a));
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_SWAP_IN, 50 * MB, &m));
	EXPECT_EQ(0, m.swapped_bytes);
	EXPECT_EQ(0, yield(&b, 0, 0));
	EXPECT_TRUE(granted(&a));
	EXPECT_FALSE(told(&a, GPUSHARE_PREPARE));
	/* b is off the device and in the way by now: the next charge says so */
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_CHARGE, 1, NULL));
	EXPECT_TRUE(told(&b, GPUSHARE_EVICT));
	EXPECT_EQ(0, memory(&b, GPUSHARE_MEM_UNCHARGE, 70 * MB, NULL));
	EXPECT_FALSE(told(&b, GPUSHARE_EVICT));
	device_remove(a.device);
}

/* mem_high goes first, mem_min is spared. */
TEST(groups_say_whose_memory_goes_first)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_OVERSUB,
		.mem_bytes = 100 * MB, .oversubscribe = 1 };
	static const char *const names[] = { "spared", "plain", "high" };
	static const struct gpushare_share shares[] = {
		{ .mask = GPUSHARE_SHARE_MEM_MIN, .mem_min = 30 * MB },
		{ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 100 },
		{ .mask = GPUSHARE_SHARE_MEM_HIGH, .mem_high = 10 * MB },
	};
	char *top = cg_new(CGROOT, "evict"), *sub[3];
	struct gpushare_share s;
	struct client c[4];
	int fd, i;

	ONLY_MODULE("clients of one process in several cgroups");
	need_arbiter();
	fd = arb_open();
	c[3] = client_new(device_add(&d));
	for (i = 0; i < 3; i++) {
		sub[i] = cg_new(top, names[i]);
		s = shares[i];
		s.size = sizeof(s);
		s.cgroup_fd = s.authority_fd = -1;
		s.group = cg_id(sub[i]);
		EXPECT_EQ(0, arb_call(fd, GPUSHARE_SHARE_SET, &s));
		ASSERT_EQ(0, cg_enter(sub[i]));
		c[i] = client_new(c[3].device);
		EXPECT_EQ(0, memory(&c[i], GPUSHARE_MEM_CHARGE, 30 * MB, NULL));
		ASSERT_EQ(0, cg_enter(CGROOT));
	}
	EXPECT_EQ(0, memory(&c[3], GPUSHARE_MEM_CHARGE, 20 * MB, NULL));
	EXPECT_TRUE(told(&c[2], GPUSHARE_EVICT));
	EXPECT_FALSE(told(&c[1], GPUSHARE_EVICT));
	EXPECT_EQ(0, memory(&c[3], GPUSHARE_MEM_CHARGE, 80 * MB, NULL));
	EXPECT_TRUE(told(&c[1], GPUSHARE_EVICT));
	EXPECT_FALSE(told(&c[0], GPUSHARE_EVICT));
	device_remove(c[3].device);
	for (i = 0; i < 4; i++)
		client_close(&c[i]);
	for (i = 0; i < 3; i++)
		cg_remove(sub[i]);
	cg_remove(top);
}

TEST(a_client_that_goes_gives_its_memory_back)
{
	uint32_t device = sized_device(100 * MB);
	struct client c, d;
	pid_t pid;

	pid = fork();
	if (!pid) {
		CHILD(!client_open(&d, device));
		CHILD(!memory(&d, GPUSHARE_MEM_CHARGE, 100 * MB, NULL));
		kill(getpid(), SIGKILL);
	}
	reap(pid);
	c = client_new(device);
	EXPECT_TRUE(EVENTUALLY(!memory(&c, GPUSHARE_MEM_CHARGE, 100 * MB, NULL)));
	device_remove(device);
}

/* A process of cgroup @sub gets 20 MB, which is all that @group may have, and no more. */
static int meets_limit(const char *sub, uint32_t device, uint64_t group)
{
	struct gpushare_memory m;
	struct client c;
	pid_t pid = fork();

	if (!pid) {
		CHILD(!cg_enter(sub));
		CHILD(!client_open(&c, device));
		CHILD(!memory(&c, GPUSHARE_MEM_CHARGE, 20 * MB, &m));
		CHILD(m.total_bytes == 20 * MB && !m.available_bytes);
		CHILD(memory(&c, GPUSHARE_MEM_CHARGE, 1, &m) == -ENOMEM);
		CHILD(m.limit_group == group);
		_exit(0);
	}
	return reap(pid);
}

TEST(a_groups_limit_says_whose_it_is)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_MEM_MAX, .mem_max = 20 * MB };
	struct gpushare_device d = { .size = sizeof(d), .mask = GPUSHARE_DEV_OVERSUB,
		.oversubscribe = 1 };
	uint32_t device = sized_device(100 * MB);
	char *top = cg_new(CGROOT, "memory"), *sub = cg_new(top, "sub");
	struct client full;
	int fd = arb_open();

	s.group = cg_id(top);
	s.device = device;
	EXPECT_EQ(0, arb_call(fd, GPUSHARE_SHARE_SET, &s));
	EXPECT_EQ(0, share_set(fd, sub, device, 100));
	EXPECT_EQ(0, meets_limit(sub, device, s.group));
	/* a device that takes more than it has isn't what stands in the way */
	d.device = device;
	EXPECT_EQ(0, arb_call(fd, GPUSHARE_DEVICE_SET, &d));
	full = client_new(device);
	EXPECT_EQ(0, memory(&full, GPUSHARE_MEM_CHARGE, 100 * MB, NULL));
	EXPECT_EQ(0, meets_limit(sub, device, s.group));
	client_close(&full);
	device_remove(device);
	cg_remove(sub);
	cg_remove(top);
}

TEST(describe_answers_with_workers)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_SEATS, .seats = 2,
		.units = 4, .unit_threads = 1024, .unit_registers = 65536,
		.unit_local_bytes = 49152 };
	struct gpushare_describe k = { .size = sizeof(k), .threads = 256, .registers = 256 * 32,
		.local_bytes = 1024, .groups = 1000 };
	struct client a, b;

	need_arbiter();
	a = client_new(device_add(&d));
	b = client_new(a.device);
	EXPECT_EQ(0, arb_call(a.fd, GPUSHARE_DESCRIBE, &k));
	EXPECT_EQ(0, arb_call(b.fd, GPUSHARE_DESCRIBE, &k));
	EXPECT_EQ(0, acquire(&a, 0, 1000));
	EXPECT_EQ(0, acquire(&b, 0, 1000));
	/* 4 units of 4 such groups each; two equal holders get half each */
	EXPECT_TRUE(EVENTUALLY(a.grant->workers == 8 && b.grant->workers == 8));
	EXPECT_EQ(0, arb_call(a.fd, GPUSHARE_DESCRIBE, &k));
	EXPECT_EQ(8, k.workers);
	k.threads = 1025;
	EXPECT_EQ(-ERANGE, arb_call(a.fd, GPUSHARE_DESCRIBE, &k));
	k.threads = 256;
	k.registers = 65537;
	EXPECT_EQ(-ERANGE, arb_call(a.fd, GPUSHARE_DESCRIBE, &k));
	k.registers = 0;
	k.local_bytes = 49153;
	EXPECT_EQ(-ERANGE, arb_call(a.fd, GPUSHARE_DESCRIBE, &k));
	device_remove(a.device);
}

TEST_MAIN()
