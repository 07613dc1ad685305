// SPDX-License-Identifier: MIT
/*
 * A storm: processes in many cgroups use one device in every way there is and
 * are killed at random moments. Afterwards no grant may be stuck, nothing may
 * be left, and those who survive get their shares.
 *
 * GS_KILLS (10000) says how many die, GS_SEED where the dice begin.
 */
#include <linux/sched.h>
#include <sys/resource.h>
#include "lib.h"

#define PROCESSES	64
#define GROUPS		16
#define SURVIVE_MS	8000
#define SETTLE_MS	1800000
#define DYING		16

static uint32_t device;
static char groups[GROUPS][64];
static pid_t pids[PROCESSES];
static unsigned int dice;

static unsigned int roll(unsigned int sides)
{
	return rand_r(&dice) % sides;
}

static unsigned int number(const char *name, unsigned int otherwise)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : otherwise;
}

static uint32_t weight_of(int i)
{
	return 100 * (1 + i % 4);
}

static void spin(struct client *c, unsigned int us)
{
	uint64_t end = now_ns() + us * 1000ULL;

	while (granted(c) && !asked_back(c) && now_ns() < end)
		usleep(200);
}

static void use(struct client *c)
{
	struct gpushare_memory m = { .size = sizeof(m), .op = 1 + roll(4), .bytes = roll(1 << 20) };
	struct gpushare_describe d = { .size = sizeof(d), .threads = 1 + roll(64),
		.groups = roll(9) };
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct gpushare_stats s;

	switch (roll(10)) {
	case 0: case 1: case 2:
		if (!acquire(c, 0, 1 + roll(50)))
			spin(c, roll(3000));
		break;
	case 3:
		if (acquire(c, GPUSHARE_WAIT_NONBLOCK, 0) == -EAGAIN)
			poll(&p, 1, roll(20));
		break;
	case 4: case 5:
		yield(c, GPUSHARE_WAIT_AGAIN, 1 + roll(50));
		break;
	case 6:
		yield(c, 0, 0);
		break;
	case 7:
		arb_call(c->fd, GPUSHARE_MEMORY, &m);
		arb_call(c->fd, GPUSHARE_DESCRIBE, &d);
		break;
	case 8:
		c->own->idle_ns = roll(2) ? now_ns() : 0;
		stats(c->fd, GPUSHARE_STATS_CLIENT, 0, 0, &s);
		break;
	case 9:
		client_close(c);
		CHILD(!client_open(c, device));
		break;
	}
}

/*
 * fork() into a cgroup. To move there afterwards takes the kernel a grace period
 * of RCU each time, which would be most of the storm.
 */
static pid_t fork_into(const char *group)
{
	int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = fd,
	};
	pid_t pid = syscall(SYS_clone3, &args, sizeof(args));

	close(fd);
	return pid;
}

static void start(int i)
{
	struct client c;
	pid_t pid;

	dice += 0x9e3779b9;		/* children roll numbers of their own */
	pid = fork_into(groups[i % GROUPS]);
	if (pid) {
		ASSERT_LT(0, pid);
		pids[i] = pid;
		return;
	}
	setpriority(PRIO_PROCESS, 0, 0);
	CHILD(!client_open(&c, device));
	for (;;)
		use(&c);
}

/*
 * Kills one and starts another in its place. The dead are waited for some kills
 * later: with so many on two processors, dying takes its time.
 */
static void kill_one(int i)
{
	static pid_t dying[DYING];
	static unsigned int next;

	if (i < 0) {
		for (i = 0; i < DYING; i++)
			if (dying[i])
				EXPECT_EQ(128 + SIGKILL, reap(dying[i]));
		return;
	}
	if (dying[next])
		EXPECT_EQ(128 + SIGKILL, reap(dying[next]));
	setpriority(PRIO_PROCESS, pids[i], -10);
	kill(pids[i], SIGKILL);
	dying[next] = pids[i];
	next = (next + 1) % DYING;
	start(i);
}

/* A survivor wants to run all the time, and yields when asked. */
static void survive(int i)
{
	struct client c;
	pid_t pid = fork_into(groups[i]);

	if (pid) {
		ASSERT_LT(0, pid);
		pids[i] = pid;
		return;
	}
	setpriority(PRIO_PROCESS, 0, 0);
	CHILD(!client_open(&c, device));
	for (;;) {
		CHILD(!acquire(&c, 0, 0));
		spin(&c, 1000000);
	}
}

static void nothing_left(int fd, uint32_t clients)
{
	struct gpushare_device d = { .size = sizeof(d), .device = device };
	struct gpushare_stats s;

	EXPECT_TRUE(EVENTUALLY(!arb_call(fd, GPUSHARE_DEVICE_GET, &d) && d.clients == clients));
	EXPECT_EQ(0, d.holders);
	EXPECT_EQ(0, d.waiters);
	EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_DEVICE, device, 0, &s));
	EXPECT_EQ(0, s.mem_current);
	EXPECT_EQ(0, s.mem_swapped);
	printf("# %llu grants, %llu handoffs, %llu preempts, %llu late, %llu overruns\n",
	       (unsigned long long)s.grants, (unsigned long long)s.handoffs,
	       (unsigned long long)s.preempts, (unsigned long long)s.late,
	       (unsigned long long)s.overruns);
}

static void reap_all(int n)
{
	int i;

	for (i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < n; i++)
		EXPECT_EQ(128 + SIGKILL, reap(pids[i]));
}

/*
 * Who held on for long when it couldn't be scheduled, in the storm, owes that to
 * the others: waits until everybody has had a turn. A second too much is paid by a
 * group of the least weight in 39 seconds, so on a machine that others use too this
 * takes minutes.
 */
static bool all_had_turns(int fd)
{
	uint64_t begin = now_ns(), end = begin + SETTLE_MS * MS;
	uint64_t before[GROUPS];
	struct gpushare_stats s;
	int i = 0;

	for (i = 0; i < GROUPS; i++) {
		EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_GROUP, device, cg_id(groups[i]), &s));
		before[i] = s.grants;
	}
	for (i = 0; i < GROUPS && now_ns() < end; ) {
		EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_GROUP, device, cg_id(groups[i]), &s));
		if (s.grants >= before[i] + 3)
			i++;
		else
			nap(20);
	}
	printf("# the first %d of %d groups had turns after %llu ms\n", i, GROUPS,
	       (unsigned long long)((now_ns() - begin) / MS));
	return i == GROUPS;
}

/* What each group used since @before, as its weight wants it within a fifth? */
static bool are_right(int fd, const uint64_t *before, bool say)
{
	uint64_t used[GROUPS], all = 0, weights = 0, expect;
	struct gpushare_stats s;
	bool right = true;
	int i;

	for (i = 0; i < GROUPS; i++) {
		EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_GROUP, device, cg_id(groups[i]), &s));
		used[i] = s.usage_ns - before[i];
		all += used[i];
		weights += weight_of(i);
	}
	for (i = 0; i < GROUPS; i++) {
		expect = all * weight_of(i) / weights;
		right &= used[i] > expect * 8 / 10 && used[i] < expect * 12 / 10;
		if (say)
			printf("# %s: weight %u, %llu us of %llu due\n", groups[i], weight_of(i),
			       (unsigned long long)used[i] / 1000,
			       (unsigned long long)expect / 1000);
	}
	return right;
}

/* In the long run, that is: who can't be scheduled for a while makes up for it. */
static void shares_are_right(int fd)
{
	uint64_t before[GROUPS];
	struct gpushare_stats s;
	bool right = false;
	int i;

	for (i = 0; i < GROUPS; i++)
		survive(i);
	EXPECT_TRUE(all_had_turns(fd));
	for (i = 0; i < GROUPS; i++) {
		EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_GROUP, device, cg_id(groups[i]), &s));
		before[i] = s.usage_ns;
	}
	for (i = 0; i < 20 && !right; i++) {
		nap(SURVIVE_MS);
		right = are_right(fd, before, false);
	}
	are_right(fd, before, true);
	EXPECT_TRUE(right);
	reap_all(GROUPS);
}

TEST_LIMIT(storm, 7200)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_CAPACITY |
		GPUSHARE_DEV_GRACE, .slice_us = 4000, .grace_us = 1000000,
		.mem_bytes = 32 << 20 };
	unsigned int kills = number("GS_KILLS", 10000), seed = number("GS_SEED", 20261120), i;
	struct client c;
	uint64_t begin;
	int fd;

	need_arbiter();
	dice = seed;
	printf("# seed %u, %u kills\n", seed, kills);
	device = device_add(&d);
	fd = arb_open();
	cg_new(CGROOT, "storm");
	for (i = 0; i < GROUPS; i++) {
		snprintf(groups[i], sizeof(groups[i]), "%s/storm/g%u", CGROOT, i);
		mkdir(groups[i], 0755);
		EXPECT_EQ(0, share_set(fd, groups[i], 0, weight_of(i)));
	}
	for (i = 0; i < PROCESSES; i++)
		start(i);
	setpriority(PRIO_PROCESS, 0, -20);	/* else it has a 65th of the time */
	begin = now_ns();
	for (i = 0; i < kills; i++) {
		unsigned int victim = roll(PROCESSES);

		if (i % 1000 == 999)
			printf("# %u kills, %llu ms\n", i + 1,
			       (unsigned long long)((now_ns() - begin) / MS));
		usleep(roll(2000));
		kill_one(victim);
	}
	kill_one(-1);
	printf("# %u kills in %llu ms\n", kills, (unsigned long long)((now_ns() - begin) / MS));
	reap_all(PROCESSES);
	nothing_left(fd, 0);

	shares_are_right(fd);
	nothing_left(fd, 0);
	c = client_new(device);			/* and who comes next is served at once */
	EXPECT_EQ(0, acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0));
	for (i = 0; i < GROUPS; i++)
		cg_remove(groups[i]);
	cg_remove(CGROOT "/storm");
	device_remove(device);
}

TEST_MAIN()
