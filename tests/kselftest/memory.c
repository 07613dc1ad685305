// SPDX-License-Identifier: MIT
/* The books of device memory, and what kernels need of a device. */
#include <pthread.h>
#include <signal.h>
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

/* A thread that charges, and waits for it if need be. */
struct waiter {
	pthread_t thread;
	struct client *c;
	uint64_t bytes;
	uint32_t flags;
	int result;
	struct gpushare_memory m;
};

static void *charge(void *arg)
{
	struct waiter *w = arg;

	w->m = (struct gpushare_memory){ .size = sizeof(w->m), .op = GPUSHARE_MEM_CHARGE,
		.flags = GPUSHARE_MEM_WAIT | w->flags, .bytes = w->bytes };
	w->result = arb_call(w->c->fd, GPUSHARE_MEMORY, &w->m);
	return NULL;
}

static uint32_t waiters(uint32_t device)
{
	struct gpushare_stats s;
	int fd = arb_open();

	stats(fd, GPUSHARE_STATS_DEVICE, device, 0, &s);
	close(fd);
	return s.mem_waiters;
}

/* Until it waits. */
static void begin(struct waiter *w, struct client *c, uint64_t bytes, uint32_t flags)
{
	uint32_t before = waiters(c->device);

	*w = (struct waiter){ .c = c, .bytes = bytes, .flags = flags };
	ASSERT_EQ(0, pthread_create(&w->thread, NULL, charge, w));
	EXPECT_TRUE(EVENTUALLY(waiters(c->device) == before + 1));
}

static int end(struct waiter *w)
{
	EXPECT_EQ(0, pthread_join(w->thread, NULL));
	return w->result;
}

static int charge_now(struct client *c, uint64_t bytes, uint32_t flags)
{
	struct waiter w = { .c = c, .bytes = bytes, .flags = flags };

	charge(&w);
	return w.result;
}

static uint32_t waiting_device(uint64_t wait_us)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_MEM_FULL |
		GPUSHARE_DEV_MEM_WAIT, .mem_bytes = 100 * MB, .mem_full = GPUSHARE_FULL_WAIT,
		.mem_wait_us = wait_us };

	need_arbiter();
	return device_add(&d);
}

TEST(who_may_wait_gets_it_when_others_give_back)
{
	struct client a = client_new(waiting_device(9000000)), b = client_new(a.device);
	struct client c = client_new(a.device);
	struct gpushare_stats s;
	struct waiter w, v;

	EXPECT_EQ(0, charge_now(&a, 80 * MB, 0));
	EXPECT_EQ(-ENOMEM, memory(&b, GPUSHARE_MEM_CHARGE, 50 * MB, NULL));	/* it mustn't */
	EXPECT_EQ(-EAGAIN, charge_now(&b, 50 * MB, GPUSHARE_MEM_NONBLOCK));
	EXPECT_EQ(0, charge_now(&b, 5 * MB, GPUSHARE_MEM_NONBLOCK));
	EXPECT_EQ(-ENOMEM, charge_now(&b, 96 * MB, 0));	/* never */
	begin(&w, &b, 50 * MB, 0);
	begin(&v, &c, 10 * MB, 0);			/* for which there is room, behind it */
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, b.id, &s));
	EXPECT_EQ(50 * MB, s.mem_wanted);
	EXPECT_EQ(1, s.mem_waiters);
	EXPECT_EQ(1, s.mem_waits);
	EXPECT_LT(0, s.mem_wait_ns);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_DEVICE, a.device, 0, &s));
	EXPECT_EQ(60 * MB, s.mem_wanted);
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_UNCHARGE, 34 * MB, NULL));
	EXPECT_EQ(2, waiters(a.device));
	EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_UNCHARGE, 1 * MB, NULL));
	EXPECT_EQ(0, end(&w));
	EXPECT_EQ(55 * MB, w.m.current_bytes);
	EXPECT_EQ(1, waiters(a.device));
	client_close(&a);
	EXPECT_EQ(0, end(&v));
	EXPECT_EQ(0, stats(b.fd, GPUSHARE_STATS_DEVICE, b.device, 0, &s));
	EXPECT_EQ(0, s.mem_waiters);
	EXPECT_EQ(0, s.mem_wanted);
	EXPECT_EQ(2, s.mem_waits);
	EXPECT_EQ(65 * MB, s.mem_current);
	device_remove(b.device);
}

TEST(a_wait_for_memory_has_its_time)
{
	struct client a = client_new(waiting_device(200000)), b = client_new(a.device);
	struct gpushare_stats s;
	uint64_t start;

	EXPECT_EQ(0, charge_now(&a, 80 * MB, 0));
	start = now_ns();
	EXPECT_EQ(-ETIMEDOUT, charge_now(&b, 50 * MB, 0));
	EXPECT_LE(200 * MS, now_ns() - start);
	EXPECT_EQ(0, stats(b.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(1, s.mem_denied);
	EXPECT_EQ(0, s.mem_current);
	EXPECT_EQ(0, s.mem_waiters);
	EXPECT_LE(200 * MS, s.mem_wait_ns);
	EXPECT_EQ(0, charge_now(&b, 20 * MB, 0));
	device_remove(a.device);
}

TEST(two_that_would_wait_for_each_other_dont)
{
	struct client a = client_new(waiting_device(9000000)), b = client_new(a.device);
	struct gpushare_stats s;
	struct waiter w;

	EXPECT_EQ(0, charge_now(&a, 40 * MB, 0));
	EXPECT_EQ(0, charge_now(&b, 40 * MB, 0));
	begin(&w, &a, 40 * MB, 0);
	EXPECT_EQ(-ENOMEM, charge_now(&b, 40 * MB, 0));
	EXPECT_EQ(0, stats(b.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(1, s.mem_crossed);
	EXPECT_EQ(0, charge_now(&b, 20 * MB, 0));	/* a waits for it: it goes first */
	client_close(&b);
	EXPECT_EQ(0, end(&w));
	device_remove(a.device);
}

/* Waiting, or holding what others wait for: it ends with the process. */
TEST(death_ends_waits_for_memory)
{
	struct client a = client_new(waiting_device(9000000)), b = client_new(a.device), c;
	struct waiter w;
	pid_t pid[2];
	char ch;
	int up[2];

	ASSERT_EQ(0, pipe(up));
	pid[0] = fork();
	if (!pid[0]) {
		CHILD(!client_open(&c, a.device));
		CHILD(!charge_now(&c, 80 * MB, 0));
		CHILD(write(up[1], "", 1) == 1);
		pause();
	}
	ASSERT_EQ(1, read(up[0], &ch, 1));
	pid[1] = fork();
	if (!pid[1]) {
		CHILD(!client_open(&c, a.device));
		charge_now(&c, 90 * MB, 0);
		CHILD(false);
	}
	EXPECT_TRUE(EVENTUALLY(waiters(a.device) == 1));
	begin(&w, &b, 15 * MB, 0);		/* behind the second child */
	kill(pid[1], SIGKILL);
	reap(pid[1]);
	EXPECT_EQ(0, end(&w));
	begin(&w, &b, 50 * MB, 0);
	kill(pid[0], SIGKILL);
	reap(pid[0]);
	EXPECT_EQ(0, end(&w));
	EXPECT_EQ(0, waiters(a.device));
	device_remove(a.device);
}

TEST(what_ends_the_client_ends_its_wait_for_memory)
{
	struct client a = client_new(waiting_device(9000000)), b = client_new(a.device);
	struct waiter w;

	EXPECT_EQ(0, charge_now(&a, 80 * MB, 0));
	begin(&w, &b, 50 * MB, 0);
	device_remove(a.device);
	EXPECT_EQ(-ENODEV, end(&w));
	EXPECT_EQ(-ENODEV, charge_now(&b, 1, 0));
}

static int interrupted_by(int flags)
{
	struct client a = client_new(waiting_device(9000000)), b = client_new(a.device);
	struct gpushare_stats s;
	struct waiter w;

	EXPECT_EQ(0, charge_now(&a, 80 * MB, 0));
	begin(&w, &b, 50 * MB, 0);
	pthread_kill(w.thread, SIGUSR1);
	if (flags & SA_RESTART) {
		nap(50);
		EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, b.id, &s));
		EXPECT_EQ(1, s.mem_waiters);
		EXPECT_EQ(0, memory(&a, GPUSHARE_MEM_UNCHARGE, 40 * MB, NULL));
	}
	end(&w);
	device_remove(a.device);
	return w.result;
}

static void nothing(int signal)
{
	(void)signal;
}

TEST(a_signal_ends_a_wait_for_memory_as_its_handler_says)
{
	struct sigaction sa = { .sa_handler = nothing };

	ONLY_MODULE("calls that a signal ends: the library waits for the daemon");
	sigaction(SIGUSR1, &sa, NULL);
	EXPECT_EQ(-EINTR, interrupted_by(0));
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	EXPECT_EQ(0, interrupted_by(SA_RESTART));
}

TEST(flags_of_memory_are_checked)
{
	struct client a = client_new(waiting_device(1000));
	static const struct { uint32_t op, flags; } wrong[] = {
		{ GPUSHARE_MEM_CHARGE, 8 }, { GPUSHARE_MEM_CHARGE, GPUSHARE_MEM_REFUSED },
		{ GPUSHARE_MEM_CHARGE, GPUSHARE_MEM_NONBLOCK },
		{ GPUSHARE_MEM_CHARGE, GPUSHARE_MEM_WAIT | GPUSHARE_MEM_REFUSED |
		  GPUSHARE_MEM_NONBLOCK },
		{ GPUSHARE_MEM_UNCHARGE, GPUSHARE_MEM_WAIT },
		{ GPUSHARE_MEM_SWAP_OUT, GPUSHARE_MEM_WAIT },
		{ GPUSHARE_MEM_SWAP_IN, GPUSHARE_MEM_WAIT },
	};
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct gpushare_memory m = { .size = sizeof(m), .op = wrong[i].op,
			.flags = wrong[i].flags };

		EXPECT_EQ(-EINVAL, arb_call(a.fd, GPUSHARE_MEMORY, &m));
	}
	/* Nobody has anything that could be given back. */
	EXPECT_EQ(-ENOMEM, charge_now(&a, 10, GPUSHARE_MEM_REFUSED));
	device_remove(a.device);
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
