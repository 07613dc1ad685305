// SPDX-License-Identifier: MIT
/* Tenants and what happens to them: end to end, with real processes, over either arbiter. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "harness.h"
#include "world.h"

static struct world w;

static uint64_t usage(uint64_t client)
{
	return stats_of(&w, GPUSHARE_STATS_CLIENT, client).usage_ns;
}

/* Runs tenants of named groups for a while; their part of what all used, per mille. */
static void run_groups(const char *const *names, int n, uint64_t slice, uint64_t time,
		       unsigned int *permille)
{
	uint64_t client[8], before[8], used[8], sum = 0;
	pid_t pid[8];
	int i;

	for (i = 0; i < n; i++) {
		struct tenant t = { .group = names[i], .slice_ns = slice };

		pid[i] = tenant_start(&w, &t);
	}
	for (i = 0; i < n; i++)
		client[i] = tenant_client(&w, pid[i]);
	for (i = 0; i < n; i++)
		before[i] = usage(client[i]);
	sleep_ns(time);
	for (i = 0; i < n; i++) {
		used[i] = usage(client[i]) - before[i];
		sum += used[i];
	}
	for (i = 0; i < n; i++) {
		permille[i] = (unsigned int)(used[i] * 1000 / (sum ? sum : 1));
		printf("# %s: %u per mille, %llu ms\n", names[i], permille[i],
		       (unsigned long long)(used[i] / MS));
		tenant_stop(pid[i]);
	}
}

TEST(weights)
{
	struct gpushare_share one = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 100 };
	struct gpushare_share three = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 300 };
	const char *names[] = { "one", "three" };
	unsigned int part[2];

	world_set_up(&w);
	ASSERT_EQ(0, group_set(&w, "one", &one));
	ASSERT_EQ(0, group_set(&w, "three", &three));
	run_groups(names, 2, 400000, 3 * SEC, part);
	EXPECT_GE(part[0], 180);
	EXPECT_LE(part[0], 320);
	world_remove(&w);
}

/* Two processes of one group get no more than one of another. */
TEST(forking_earns_nothing)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 100 };
	const char *names[] = { "many", "many", "many", "single" };
	unsigned int part[4];

	world_set_up(&w);
	ASSERT_EQ(0, group_set(&w, "many", &s));
	ASSERT_EQ(0, group_set(&w, "single", &s));
	run_groups(names, 4, 400000, 3 * SEC, part);
	EXPECT_GE(part[3], 380);	/* as one of four it would be 250 */
	EXPECT_LE(part[3], 620);
	world_remove(&w);
}

/* Of the wall clock, not of what was used: alone, it still gets no more. */
TEST(max)
{
	struct gpushare_share s = {
		.mask = GPUSHARE_SHARE_MAX, .max_us = 20000, .period_us = 100000,
	};
	struct tenant t = { .group = "capped", .slice_ns = 500000 };
	uint64_t client, before, start, part;
	struct gpushare_stats stats;
	pid_t pid;

	world_set_up(&w);
	ASSERT_EQ(0, group_set(&w, "capped", &s));
	pid = tenant_start(&w, &t);
	client = tenant_client(&w, pid);
	sleep_ns(300 * MS);
	before = usage(client);
	start = now_ns();
	sleep_ns(2 * SEC);
	part = (usage(client) - before) * 1000 / (now_ns() - start);
	printf("# max 200 per mille: %llu\n", (unsigned long long)part);
	EXPECT_GE(part, 100);
	EXPECT_LE(part, 260);
	stats = stats_of(&w, GPUSHARE_STATS_CLIENT, client);
	stats = stats_of(&w, GPUSHARE_STATS_GROUP, stats.group);
	EXPECT_GT(stats.throttled, 0);
	EXPECT_GT(stats.throttled_ns, 0);
	tenant_stop(pid);
	world_remove(&w);
}

TEST(min)
{
	struct gpushare_share heavy = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 900 };
	struct gpushare_share sure = {
		.mask = GPUSHARE_SHARE_MIN | GPUSHARE_SHARE_WEIGHT,
		.min_permille = 500, .weight = 100,
	};
	const char *names[] = { "heavy", "sure" };
	unsigned int part[2];

	world_set_up(&w);
	ASSERT_EQ(0, group_set(&w, "heavy", &heavy));
	ASSERT_EQ(0, group_set(&w, "sure", &sure));
	run_groups(names, 2, 400000, 3 * SEC, part);
	EXPECT_GE(part[1], 400);	/* by weight it would be 100 */
	world_remove(&w);
}

TEST(min_is_admitted_up_to_all)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_MIN, .min_permille = 700 };

	world_set_up(&w);
	ASSERT_EQ(0, group_set(&w, "a", &s));
	s.min_permille = 301;
	EXPECT_EQ(-EBUSY, group_set(&w, "b", &s));
	EXPECT_EQ(300, s.min_free);
	s.min_permille = 300;
	EXPECT_EQ(0, group_set(&w, "b", &s));
	world_remove(&w);
}

/* The idle class gets what is left. */
TEST(classes)
{
	struct gpushare_share idle = { .mask = GPUSHARE_SHARE_CLASS, .class = GPUSHARE_CLASS_IDLE };
	struct gpushare_share batch = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 100 };
	const char *names[] = { "idle", "batch" };
	unsigned int part[2];

	world_set_up(&w);
	ASSERT_EQ(0, group_set(&w, "idle", &idle));
	ASSERT_EQ(0, group_set(&w, "batch", &batch));
	run_groups(names, 2, 400000, 2 * SEC, part);
	EXPECT_LE(part[0], 150);	/* of the same class it would be 500 */
	run_groups(names, 1, 400000, SEC / 2, part);
	EXPECT_EQ(1000, part[0]);
	world_remove(&w);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * A latency client among busy ones whose slices are long: it needn't wait for
 * the end of a slice, only for the next boundary of its holder, which comes
 * every 500 us. The middle of all its waits counts, as the machine may be busy.
 */
TEST(a_latency_client_waits_for_a_boundary)
{
	struct gpushare_share s = {
		.mask = GPUSHARE_SHARE_CLASS, .class = GPUSHARE_CLASS_LATENCY,
	};
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "cpu:0", .mask = GPUSHARE_DEV_SLICE,
		.slice_us = 200000,
	};
	struct tenant busy = { .group = "busy", .slice_ns = 500000 };
	uint64_t wait[40], start;
	struct gpushare *g;
	pid_t pid[2];
	int i;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	ASSERT_EQ(0, group_set(&w, "quick", &s));
	for (i = 0; i < 2; i++) {
		pid[i] = tenant_start(&w, &busy);
		ASSERT_TRUE(tenant_client(&w, pid[i]));
	}
	world_join(&w, "quick");
	g = open_one("cpu:0");
	for (i = 0; i < 40; i++) {
		sleep_ns(20 * MS);
		start = now_ns();
		ASSERT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
		wait[i] = now_ns() - start;
		sleep_ns(200000);
		gpushare_end(g);
	}
	qsort(wait, 40, sizeof(wait[0]), by_size);
	printf("# waits of a latency client: %llu us in the middle, %llu us the longest\n",
	       (unsigned long long)(wait[20] / 1000), (unsigned long long)(wait[39] / 1000));
	EXPECT_LE(wait[20], 50 * MS);
	gpushare_close(g);
	tenant_stop(pid[0]);
	tenant_stop(pid[1]);
	world_remove(&w);
}

TEST(kill_9_of_the_holder)
{
	struct tenant t = { .slice_ns = 60 * SEC };
	struct gpushare *g;
	uint64_t start;
	pid_t pid;

	world_set_up(&w);
	world_be_patient(&w, "cpu:0");
	pid = tenant_start(&w, &t);
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").holders == 1));
	ASSERT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	EXPECT_EQ(-ETIMEDOUT, gpushare_begin(g, gpushare_after(20 * MS)));
	start = now_ns();
	tenant_stop(pid);
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	printf("# freed within %llu us\n", (unsigned long long)((now_ns() - start) / 1000));
	gpushare_close(g);
	world_remove(&w);
}

/* A holder that doesn't yield loses its seat in the books, and others go on. */
TEST(overrun)
{
	struct tenant stuck = { .slice_ns = 60 * SEC };
	struct gpushare_device dev = {
		.size = sizeof(dev), .mask = GPUSHARE_DEV_GRACE, .grace_us = 20000, .key = "cpu:0",
	};
	struct gpushare *g;
	pid_t pid;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	pid = tenant_start(&w, &stuck);
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").holders == 1));
	ASSERT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	gpushare_end(g);
	EXPECT_EQ(1, stats_of(&w, GPUSHARE_STATS_CLIENT, tenant_client(&w, pid)).overruns);
	EXPECT_EQ(0, kill(pid, 0));
	tenant_stop(pid);
	gpushare_close(g);
	world_remove(&w);
}

/* Whether one that was stopped until its grant was taken from it asks again by itself. */
static bool asks_anew(struct gpushare *g)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .mask = GPUSHARE_DEV_GRACE, .grace_us = 20000, .key = "cpu:0",
	};
	int status = -1;
	pid_t pid;

	world_be_patient(&w, "cpu:0");
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	pid = fork();
	if (!pid)
		_exit(gpushare_begin(open_one("cpu:0"), gpushare_after(4 * SEC)) ? 1 : 0);
	EXPECT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").waiters == 1));
	EXPECT_EQ(0, kill(pid, SIGSTOP));
	EXPECT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_yield(g));
	EXPECT_TRUE(w.module || WAIT_FOR(world_device(&w, "cpu:0").holders == 1));
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_yield(g));
	EXPECT_EQ(0, kill(pid, SIGCONT));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* A waiter that slept through its grant doesn't wait for ever: a slow machine may try again. */
TEST_LIMIT(slept_through_a_grant, 400)
{
	struct gpushare *g;

	world_set_up(&w);
	ASSERT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	EXPECT_TRUE(asks_anew(g) || asks_anew(g) || asks_anew(g));
	gpushare_close(g);
	world_remove(&w);
}

TEST(kill_after)
{
	struct tenant stuck = { .slice_ns = 60 * SEC };
	struct gpushare_device dev = {
		.size = sizeof(dev), .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_KILL,
		.grace_us = 20000, .kill_us = 100000, .key = "cpu:0",
	};
	struct gpushare *g;
	int status;
	pid_t pid;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	pid = tenant_start(&w, &stuck);
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").holders == 1));
	ASSERT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	gpushare_close(g);
	world_remove(&w);
}

TEST(two_devices)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_MIG, .key = "mig:GPU-5d1f/3",
	};
	struct gpushare *a, *b, *c;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	EXPECT_EQ(-EEXIST, ({ dev.device = 0; world_call(&w, GPUSHARE_DEVICE_ADD, &dev); }));
	world_be_patient(&w, dev.key);
	ASSERT_EQ(0, gpushare_open(&a, "cpu:0", NULL));
	ASSERT_EQ(0, gpushare_open(&b, "mig:GPU-5d1f/3", NULL));
	ASSERT_EQ(0, gpushare_open(&c, "mig:GPU-5d1f/3", NULL));
	EXPECT_EQ(0, gpushare_begin(a, GPUSHARE_FOREVER));
	EXPECT_EQ(0, gpushare_begin(b, gpushare_after(10 * SEC)));	/* both at once */
	EXPECT_EQ(-ETIMEDOUT, gpushare_begin(c, gpushare_after(20 * MS)));
	EXPECT_NE(state_of(a).device, state_of(b).device);
	gpushare_end(b);
	/* Taken away: who holds it, and who waits, goes on ungated. */
	dev = world_device(&w, "mig:GPU-5d1f/3");
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_REMOVE, &dev));
	EXPECT_EQ(0, gpushare_begin(c, gpushare_after(10 * SEC)));
	EXPECT_FALSE(state_of(c).gated);
	EXPECT_TRUE(gpushare_may_run(a));
	gpushare_end(c);
	/* And is arbitrated again when it is back. */
	dev = (struct gpushare_device){
		.size = sizeof(dev), .kind = GPUSHARE_KIND_MIG, .key = "mig:GPU-5d1f/3",
	};
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	EXPECT_TRUE(WAIT_FOR(state_of(c).gated));
	EXPECT_EQ(dev.device, state_of(c).device);
	EXPECT_EQ(0, gpushare_begin(c, gpushare_after(10 * SEC)));
	gpushare_end(c);
	gpushare_end(a);
	gpushare_close(a);
	gpushare_close(b);
	gpushare_close(c);
	world_remove(&w);
}

static const char *const two[] = { "cpu:0", "test:b" };

/* Two handles of one set, and two others that hold both devices. */
static void make_sets(struct gpushare *set[2], struct gpushare *other[2])
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER, .key = "test:b",
	};
	struct gpushare_options o = { .size = sizeof(o), .flags = GPUSHARE_OPEN_STRICT };
	int i;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	for (i = 0; i < 2; i++) {
		world_be_patient(&w, two[i]);
		other[i] = open_one(two[i]);
		ASSERT_EQ(0, gpushare_begin(other[i], GPUSHARE_FOREVER));
		o.set = i ? set[0] : NULL;
		ASSERT_EQ(0, gpushare_open(&set[i], two[i], &o));
	}
	EXPECT_EQ(-EINVAL, gpushare_open(&(struct gpushare *){ NULL }, two[0], &o));
}

static void let_go(struct gpushare *g)
{
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_yield(g));
}

/* Whichever of several devices is free first. */
TEST(any_of_a_set)
{
	struct gpushare *set[2], *other[2], *which;
	struct gpushare_device dev;
	int i, status;
	pid_t pid;

	make_sets(set, other);
	EXPECT_EQ(-ETIMEDOUT, gpushare_begin_any(set[0], gpushare_after(30 * MS), &which));
	EXPECT_EQ(0, world_device(&w, "cpu:0").waiters + world_device(&w, "test:b").waiters);
	for (i = 1; i >= 0; i--) {	/* the asker's own device comes last */
		EXPECT_EQ(-EAGAIN, gpushare_begin_any(set[0], 0, &which));
		EXPECT_EQ(1, world_device(&w, two[i]).waiters);
		let_go(other[i]);
		which = NULL;
		EXPECT_EQ(0, gpushare_begin_any(set[0], gpushare_after(20 * SEC), &which));
		EXPECT_TRUE(which == set[i]);
		/* The requests to the others went with it; and it may stay where it is. */
		EXPECT_EQ(0, world_device(&w, two[!i]).waiters);
		EXPECT_EQ(0, gpushare_begin_any(set[0], 0, &which));
		EXPECT_TRUE(which == set[i]);
		gpushare_end(which);
		let_go(which);
		EXPECT_EQ(0, gpushare_begin(other[i], gpushare_after(20 * SEC)));
	}
	/* A forked child's set is its own. */
	let_go(other[1]);
	pid = fork();
	if (!pid) {
		EXPECT_EQ(0, gpushare_begin_any(set[0], gpushare_after(20 * SEC), &which));
		EXPECT_TRUE(which == set[1]);
		gpushare_end(which);
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	/* A device that goes leaves the others; with the last one nothing is arbitrated. */
	dev = world_device(&w, "test:b");
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_REMOVE, &dev));
	EXPECT_EQ(-ETIMEDOUT, gpushare_begin_any(set[0], gpushare_after(30 * MS), &which));
	let_go(other[0]);
	EXPECT_EQ(0, gpushare_begin_any(set[1], gpushare_after(20 * SEC), &which));
	EXPECT_TRUE(which == set[0]);
	let_go(which);
	dev = world_device(&w, "cpu:0");
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_REMOVE, &dev));
	EXPECT_EQ(0, gpushare_begin_any(set[1], gpushare_after(20 * SEC), &which));
	EXPECT_TRUE(which == set[1]);
	gpushare_end(which);
	gpushare_close(set[0]);
	gpushare_close(set[1]);
	world_remove(&w);
}

static struct gpushare *any_set;
static int any_runs[2], any_stop;

static void *any_thread(void *arg)
{
	struct gpushare *which;

	while (!__atomic_load_n(&any_stop, __ATOMIC_RELAXED)) {
		if (gpushare_begin_any(any_set, gpushare_after(60 * SEC), &which))
			return (void *)-1;
		__atomic_add_fetch(&any_runs[which != any_set], 1, __ATOMIC_RELAXED);
		sleep_ns(300000);
		gpushare_end(which);
	}
	return arg;
}

/* Threads of one set get on, on both devices, among tenants that want each. */
TEST_LIMIT(threads_of_a_set, 400)
{
	struct gpushare *set[2], *other[2];
	pthread_t threads[4];
	pid_t pid[2];
	void *bad;
	int i;

	make_sets(set, other);
	any_set = set[0];
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, any_thread, NULL));
	for (i = 0; i < 2; i++) {
		struct tenant t = { .key = two[i], .slice_ns = 300000 };

		pid[i] = tenant_start(&w, &t);
		let_go(other[i]);
	}
	EXPECT_TRUE(WAIT_FOR(__atomic_load_n(&any_runs[0], __ATOMIC_RELAXED) > 50 &&
			     __atomic_load_n(&any_runs[1], __ATOMIC_RELAXED) > 50));
	__atomic_store_n(&any_stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		EXPECT_TRUE(!bad);
	}
	printf("# slices on each: %d and %d\n", any_runs[0], any_runs[1]);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, state_of(set[i]).under_way);
		EXPECT_GT(stats_of(&w, GPUSHARE_STATS_CLIENT,
				   tenant_client(&w, pid[i])).grants, 1);
		tenant_stop(pid[i]);
		gpushare_close(set[i]);
	}
	world_remove(&w);
}

TEST_LIMIT(two_hundred_tenants, 400)
{
	struct tenant t = { .slice_ns = 200000 };
	int i, status, bad = 0, *stop = world_shared();
	uint32_t device;
	pid_t pid[200];

	if (!world_many_files(2048))
		SKIP("no 2048 open files are allowed here");
	t.stop = stop;
	world_set_up(&w);
	for (i = 0; i < 200; i++)
		pid[i] = tenant_start(&w, &t);
	EXPECT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").clients == 200));
	device = world_device(&w, "cpu:0").device;
	EXPECT_TRUE(WAIT_FOR(stats_of(&w, GPUSHARE_STATS_DEVICE, device).grants >= 400));
	__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 200; i++) {
		waitpid(pid[i], &status, 0);
		bad += status != 0;
	}
	EXPECT_EQ(0, bad);
	EXPECT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").clients == 0));
	world_remove(&w);
}

TEST_MAIN()
