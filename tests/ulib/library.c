// SPDX-License-Identifier: MIT
/* libgpushare by itself: opening, brackets, fork, exec, threads, going ungated. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "harness.h"
#include "ulib/launches.h"
#include "tests/gpushared/world.h"

static struct world w;

TEST(bad_arguments)
{
	struct gpushare_options o = { .size = sizeof(o), .flags = 0x100 };
	struct gpushare *g = NULL;
	char key[80];

	world_make(&w);
	EXPECT_EQ(-EINVAL, gpushare_open(&g, NULL, NULL));
	EXPECT_EQ(-EINVAL, gpushare_open(&g, "", NULL));
	EXPECT_EQ(-EINVAL, gpushare_open(&g, "cpu", NULL));
	EXPECT_EQ(-EINVAL, gpushare_open(&g, ":0", NULL));
	EXPECT_EQ(-EINVAL, gpushare_open(&g, "cpu: 0", NULL));
	memset(key, 'x', sizeof(key) - 1);
	key[3] = ':';
	key[sizeof(key) - 1] = 0;
	EXPECT_EQ(-EINVAL, gpushare_open(&g, key, NULL));
	EXPECT_EQ(-EINVAL, gpushare_open(&g, "cpu:0", &o));
	o.flags = GPUSHARE_OPEN_STRICT;
	o.size = 4;
	EXPECT_EQ(-EINVAL, gpushare_open(&g, "cpu:0", &o));
	o.size = sizeof(o);
	o.arbiter = w.state;	/* nothing is there */
	EXPECT_EQ(-ENOENT, gpushare_open(&g, "cpu:0", &o));
	EXPECT_TRUE(!g);
	gpushare_close(NULL);
	world_remove(&w);
}

TEST(strict_says_what_the_arbiter_said)
{
	struct gpushare_options o = { .size = sizeof(o), .flags = GPUSHARE_OPEN_STRICT };
	struct gpushare *g = NULL;

	world_set_up(&w);
	EXPECT_EQ(-ENODEV, gpushare_open(&g, "pci:0000:99:00.0", &o));
	o.arbiter = "none";
	EXPECT_EQ(-ENODATA, gpushare_open(&g, "cpu:0", &o));
	o.arbiter = "/dev/null/x";
	EXPECT_EQ(-ENOTDIR, gpushare_open(&g, "cpu:0", &o));
	o.arbiter = "/etc/passwd";
	EXPECT_EQ(-EPROTO, gpushare_open(&g, "cpu:0", &o));
	world_remove(&w);
}

TEST(a_slice)
{
	struct gpushare *g;
	struct gpushare_grant grant;
	struct gpushare_stats s;
	uint64_t first;

	world_set_up(&w);
	g = open_one("cpu:0");
	EXPECT_FALSE(gpushare_may_run(g));
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	EXPECT_TRUE(gpushare_may_run(g));
	EXPECT_EQ(1, state_of(g).under_way);
	EXPECT_EQ(-EBUSY, gpushare_yield(g));
	gpushare_grant(g, &grant);
	EXPECT_EQ(GPUSHARE_GRANTED, grant.flags);
	EXPECT_GE(grant.epoch, 1);
	first = grant.epoch;
	EXPECT_GT(grant.slice_ns, 0);
	EXPECT_GT(grant.granted_ns, 0);
	sleep_ns(5 * MS);
	gpushare_progress(g, 7, 5 * MS);
	gpushare_unscheduled(g, 2);
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_statistics(g, &s));
	EXPECT_GE(s.usage_ns, 5 * MS);
	EXPECT_EQ(1, s.grants);
	EXPECT_EQ(7, s.progress);
	EXPECT_EQ(5 * MS, s.busy_ns);
	EXPECT_EQ(2, s.unscheduled);
	EXPECT_EQ(getpid(), s.pid);
	EXPECT_EQ(0, gpushare_yield(g));
	EXPECT_TRUE(WAIT_FOR(!gpushare_may_run(g)));
	gpushare_end(g);	/* one too many does no harm */
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	gpushare_grant(g, &grant);
	EXPECT_GT(grant.epoch, first);
	gpushare_end(g);
	EXPECT_EQ(0, state_of(g).under_way);
	gpushare_close(g);
	world_remove(&w);
}

TEST(errno_is_left_alone)
{
	struct gpushare *g;

	world_set_up(&w);
	errno = 77;
	g = open_one("cpu:0");
	gpushare_begin(g, GPUSHARE_FOREVER);
	gpushare_end(g);
	gpushare_yield(g);
	gpushare_memory(g, GPUSHARE_MEM_UNCHARGE, 1, NULL);
	gpushare_close(g);
	EXPECT_EQ(77, errno);
	world_remove(&w);
}

/* Holds the device until its standard input ends, having said so on the pipe. */
static pid_t holder(int *hold)
{
	struct gpushare *g;
	int up[2], down[2];
	char c;
	pid_t pid;

	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	pid = world_fork();
	if (!pid) {
		close(up[0]);
		close(down[1]);
		if (gpushare_open(&g, "cpu:0", NULL) || gpushare_begin(g, GPUSHARE_FOREVER))
			_exit(1);
		if (write(up[1], "x", 1) != 1 || read(down[0], &c, 1) < 0)
			_exit(1);
		gpushare_end(g);
		gpushare_close(g);
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	ASSERT_EQ(1, read(up[0], &c, 1));
	close(up[0]);
	*hold = down[1];
	return pid;
}

TEST(waiting_ends_in_time)
{
	struct gpushare *g;
	uint64_t start;
	int hold;

	world_set_up(&w);
	world_be_patient(&w, "cpu:0");
	holder(&hold);
	g = open_one("cpu:0");
	start = now_ns();
	EXPECT_EQ(-ETIMEDOUT, gpushare_begin(g, gpushare_after(30 * MS)));
	EXPECT_GE(now_ns() - start, 30 * MS);
	EXPECT_EQ(0, state_of(g).under_way);
	EXPECT_EQ(-EAGAIN, gpushare_begin(g, 0));
	EXPECT_EQ(-EAGAIN, gpushare_begin(g, 0));
	EXPECT_EQ(0, gpushare_yield(g));	/* takes the request back */
	EXPECT_EQ(-EAGAIN, gpushare_begin(g, 0));
	close(hold);
	EXPECT_TRUE(WAIT_FOR(!gpushare_begin(g, 0)));
	EXPECT_EQ(1, state_of(g).under_way);
	gpushare_end(g);
	gpushare_close(g);
	world_remove(&w);
}

/* What others wait for goes to them when its holder is idle, with no call of its own. */
TEST(an_idle_holder_loses_the_device)
{
	struct gpushare *g, *other;
	struct gpushare_stats s;

	world_set_up(&w);
	g = open_one("cpu:0");
	other = open_one("cpu:0");
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	gpushare_end(g);
	EXPECT_TRUE(gpushare_may_run(g));	/* it lingers, as nobody waits */
	EXPECT_EQ(0, gpushare_begin(other, gpushare_after(10 * SEC)));
	EXPECT_FALSE(gpushare_may_run(g));
	EXPECT_EQ(0, gpushare_statistics(g, &s));
	EXPECT_EQ(0, s.overruns);
	gpushare_end(other);
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	gpushare_end(g);
	gpushare_close(g);
	gpushare_close(other);
	world_remove(&w);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(signals_dont_end_the_wait)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct itimerval it = { { 0, 3000 }, { 0, 3000 } };
	struct gpushare *g;
	int hold;

	world_set_up(&w);
	world_be_patient(&w, "cpu:0");
	holder(&hold);
	g = open_one("cpu:0");
	sigaction(SIGVTALRM, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	EXPECT_EQ(-ETIMEDOUT, gpushare_begin(g, gpushare_after(100 * MS)));
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(50);
	close(hold);
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	gpushare_close(g);
	world_remove(&w);
}

/* Never its parent's client; one of its own as soon as it asks. */
TEST(a_forked_child)
{
	struct gpushare_grant grant;
	struct gpushare_state s;
	struct gpushare *g;
	uint64_t parent;
	int status;
	pid_t pid;

	if (TSAN)
		SKIP("the thread sanitizer takes a child's thread for its parent's");
	world_set_up(&w);
	world_be_patient(&w, "cpu:0");
	g = open_one("cpu:0");
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	parent = state_of(g).client;
	EXPECT_NE(0, parent);
	pid = world_fork();
	if (!pid) {
		EXPECT_FALSE(gpushare_may_run(g));
		EXPECT_EQ(0, state_of(g).client);
		gpushare_end(g);
		gpushare_progress(g, 1, 1);
		EXPECT_EQ(-ETIMEDOUT, gpushare_begin(g, gpushare_after(20 * MS)));
		s = state_of(g);
		EXPECT_TRUE(s.gated);
		EXPECT_NE(parent, s.client);
		gpushare_close(g);
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	gpushare_grant(g, &grant);	/* asked back by now, as the child had to wait */
	EXPECT_TRUE(grant.flags & GPUSHARE_GRANTED);
	EXPECT_EQ(parent, state_of(g).client);
	pid = world_fork();
	if (!pid) {
		gpushare_close(g);	/* without having asked */
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	gpushare_grant(g, &grant);
	EXPECT_TRUE(grant.flags & GPUSHARE_GRANTED);
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	gpushare_end(g);
	gpushare_close(g);
	world_remove(&w);
}

/* A child that lives on with the parent's file doesn't keep the parent's client. */
TEST(a_parent_that_dies_before_its_child)
{
	struct gpushare *g;
	int hold[2];
	pid_t pid;

	world_set_up(&w);
	ASSERT_EQ(0, pipe(hold));
	pid = world_fork();
	if (!pid) {
		g = open_one("cpu:0");
		gpushare_begin(g, GPUSHARE_FOREVER);
		if (!world_fork()) {
			char c;

			close(hold[1]);
			if (read(hold[0], &c, 1) < 0)
				_exit(1);
			_exit(0);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	g = open_one("cpu:0");
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	gpushare_end(g);
	gpushare_close(g);
	world_remove(&w);
}

TEST(exec_ends_the_client)
{
	struct gpushare *g;
	int hold[2];
	pid_t pid;

	world_set_up(&w);
	ASSERT_EQ(0, pipe(hold));
	pid = world_fork();
	if (!pid) {
		dup2(hold[0], 0);
		close(hold[1]);
		g = open_one("cpu:0");
		gpushare_begin(g, GPUSHARE_FOREVER);
		execlp("cat", "cat", NULL);
		_exit(127);
	}
	close(hold[0]);
	g = open_one("cpu:0");
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").clients == 1));
	EXPECT_EQ(0, kill(pid, 0));	/* it lives, it is only no client any more */
	close(hold[1]);
	waitpid(pid, NULL, 0);
	gpushare_close(g);
	world_remove(&w);
}

static struct gpushare *shared;
static volatile int in_all, most, stop_threads, rounds[8];

static void *thread(void *arg)
{
	while (!__atomic_load_n(&stop_threads, __ATOMIC_RELAXED)) {
		int in, seen;

		if (gpushare_begin(shared, GPUSHARE_FOREVER))
			return arg;
		in = __atomic_add_fetch(&in_all, 1, __ATOMIC_RELAXED);
		seen = __atomic_load_n(&most, __ATOMIC_RELAXED);
		if (in > seen)
			__atomic_store_n(&most, in, __ATOMIC_RELAXED);
		sleep_ns(200000);
		__atomic_sub_fetch(&in_all, 1, __ATOMIC_RELAXED);
		gpushare_end(shared);
		__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static bool all_threads_ran(void)
{
	int i;

	for (i = 0; i < 8; i++)
		if (!__atomic_load_n(&rounds[i], __ATOMIC_RELAXED))
			return false;
	return __atomic_load_n(&most, __ATOMIC_RELAXED) >= 2;
}

/* Threads share a handle while another process wants the device as well. */
TEST(threads)
{
	struct tenant t = { .slice_ns = 300000 };
	struct gpushare_stats s;
	pthread_t threads[8];
	uint64_t client;
	pid_t pid;
	void *bad;
	int i;

	world_set_up(&w);
	world_be_patient(&w, "cpu:0");
	shared = open_one("cpu:0");
	pid = tenant_start(&w, &t);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, thread,
						 (void *)&rounds[i]));
	client = tenant_client(&w, pid);
	EXPECT_TRUE(WAIT_FOR(all_threads_ran()));
	EXPECT_TRUE(WAIT_FOR(!gpushare_statistics(shared, &s) && s.grants >= 20));
	EXPECT_TRUE(WAIT_FOR(stats_of(&w, GPUSHARE_STATS_CLIENT, client).grants >= 20));
	__atomic_store_n(&stop_threads, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 8; i++) {
		pthread_join(threads[i], &bad);
		EXPECT_TRUE(!bad);
	}
	EXPECT_EQ(0, in_all);
	EXPECT_EQ(0, state_of(shared).under_way);
	EXPECT_EQ(0, gpushare_statistics(shared, &s));
	EXPECT_EQ(0, s.overruns);
	tenant_stop(pid);
	gpushare_close(shared);
	world_remove(&w);
}

TEST(ungated_is_loud)
{
	char text[512] = "";
	struct gpushare *g, *second;
	int err[2], old;
	ssize_t n;

	world_make(&w);
	setenv("GPUSHARE_ARBITER", "none", 1);
	ASSERT_EQ(0, pipe(err));
	old = dup(2);
	dup2(err[1], 2);
	EXPECT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	EXPECT_EQ(0, gpushare_open(&second, "cpu:1", NULL));
	dup2(old, 2);
	close(err[1]);
	n = read(err[0], text, sizeof(text) - 1);
	EXPECT_GT(n, 0);
	EXPECT_TRUE(strstr(text, "UNGATED"));
	EXPECT_TRUE(strstr(text, "none"));
	EXPECT_EQ(1, n > 0 ? strchr(text, '\n') == text + n - 1 : 0);	/* once */
	EXPECT_TRUE(gpushare_may_run(g));
	EXPECT_EQ(0, gpushare_begin(g, 0));
	gpushare_end(g);
	EXPECT_FALSE(state_of(g).gated);
	gpushare_close(g);
	gpushare_close(second);
	world_remove(&w);
}

TEST(memory)
{
	struct gpushare_share limit = { .mask = GPUSHARE_SHARE_MEM_MAX, .mem_max = 1000 };
	struct gpushare_memory m;
	struct gpushare *g;

	world_set_up(&w);
	ASSERT_EQ(0, group_set(&w, "mem", &limit));
	world_join(&w, "mem");
	g = open_one("cpu:0");
	EXPECT_EQ(0, gpushare_memory(g, GPUSHARE_MEM_CHARGE, 600, &m));
	EXPECT_EQ(600, m.current_bytes);
	EXPECT_EQ(400, m.available_bytes);
	EXPECT_EQ(1000, m.total_bytes);
	EXPECT_EQ(-ENOMEM, gpushare_memory(g, GPUSHARE_MEM_CHARGE, 401, &m));
	EXPECT_NE(0, m.limit_group);
	EXPECT_EQ(-ERANGE, gpushare_memory(g, GPUSHARE_MEM_UNCHARGE, 601, NULL));
	EXPECT_EQ(-EINVAL, gpushare_memory(g, 9, 1, NULL));
	EXPECT_EQ(0, gpushare_memory(g, GPUSHARE_MEM_SWAP_OUT, 100, &m));
	EXPECT_EQ(500, m.current_bytes);
	EXPECT_EQ(100, m.swapped_bytes);
	EXPECT_EQ(0, gpushare_memory(g, GPUSHARE_MEM_SWAP_IN, 100, &m));
	EXPECT_EQ(0, gpushare_memory(g, GPUSHARE_MEM_UNCHARGE, 600, &m));
	EXPECT_EQ(0, m.current_bytes);
	gpushare_close(g);
	world_remove(&w);
}

static uint32_t flags_of(struct gpushare *g)
{
	struct gpushare_grant grant;

	gpushare_grant(g, &grant);
	return grant.flags;
}

struct late_begin {
	struct gpushare *g, *which;
	bool any;
	int result;
};

static void *begin_late(void *arg)
{
	struct late_begin *b = arg;

	b->which = b->g;
	b->result = b->any ? gpushare_begin_any(b->g, gpushare_after(20 * SEC), &b->which) :
		    gpushare_begin(b->g, gpushare_after(20 * SEC));
	return NULL;
}

/* What is under way ends only after one more has begun, which asks anew when it was taken. */
TEST(who_waits_for_an_end_sees_that_the_device_is_taken)
{
	struct gpushare_device dev = { .size = sizeof(dev), .key = "cpu:0",
				       .mask = GPUSHARE_DEV_GRACE, .grace_us = 500000 };
	struct late_begin mine, others;
	struct gpushare *g, *other;
	pthread_t waits, asks;
	int any;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	for (any = 0; any < 2; any++) {
		g = open_one("cpu:0");
		other = open_one("cpu:0");
		EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
		others = (struct late_begin){ .g = other };
		mine = (struct late_begin){ .g = g, .any = any };
		ASSERT_EQ(0, pthread_create(&asks, NULL, begin_late, &others));
		EXPECT_TRUE(WAIT_FOR(flags_of(g) & GPUSHARE_PREEMPT));
		ASSERT_EQ(0, pthread_create(&waits, NULL, begin_late, &mine));
		pthread_join(asks, NULL);
		EXPECT_EQ(0, others.result);
		gpushare_end(other);
		pthread_join(waits, NULL);
		EXPECT_EQ(0, mine.result);
		gpushare_end(g);
		gpushare_end(g);
		gpushare_close(g);
		gpushare_close(other);
	}
	world_remove(&w);
}

/* What doesn't fit is taken, and who isn't running is asked to move out. */
TEST(memory_is_oversubscribed)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER, .key = "test:small",
		.mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_OVERSUB, .mem_bytes = 1000,
		.oversubscribe = 1,
	};
	struct gpushare_share limit = { .mask = GPUSHARE_SHARE_MEM_MAX, .mem_max = 100 };
	struct gpushare *a, *b, *c;
	struct gpushare_memory m;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	EXPECT_EQ(1, world_device(&w, "test:small").oversubscribe);
	a = open_one("test:small");
	b = open_one("test:small");
	EXPECT_EQ(0, gpushare_memory(a, GPUSHARE_MEM_CHARGE, 800, NULL));
	EXPECT_EQ(0, gpushare_begin(b, GPUSHARE_FOREVER));
	EXPECT_EQ(0, gpushare_memory(b, GPUSHARE_MEM_CHARGE, 700, NULL));
	EXPECT_TRUE(flags_of(a) & GPUSHARE_EVICT);
	EXPECT_FALSE(flags_of(b) & GPUSHARE_EVICT);
	EXPECT_EQ(0, gpushare_memory(a, GPUSHARE_MEM_SWAP_OUT, 500, NULL));
	EXPECT_FALSE(flags_of(a) & GPUSHARE_EVICT);
	EXPECT_EQ(-ENOMEM, gpushare_memory(b, GPUSHARE_MEM_CHARGE, 1001, &m));
	EXPECT_EQ(0, m.limit_group);
	ASSERT_EQ(0, group_set(&w, "little", &limit));
	world_join(&w, "little");
	c = open_one("test:small");
	EXPECT_EQ(-ENOMEM, gpushare_memory(c, GPUSHARE_MEM_CHARGE, 101, &m));
	EXPECT_NE(0, m.limit_group);	/* the device, full as it is, would take it */
	gpushare_end(b);
	gpushare_close(c);
	gpushare_close(a);
	gpushare_close(b);
	world_remove(&w);
}

TEST(describe)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER, .key = "test:units",
		.mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_SEATS, .units = 4, .seats = 2,
		.unit_threads = 1024, .unit_registers = 65536, .unit_local_bytes = 49152,
	};
	struct gpushare_describe k = { .threads = 256, .registers = 8192, .groups = 1000 };
	struct gpushare *g;

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	g = open_one("test:units");
	EXPECT_EQ(0, gpushare_describe(g, &k));
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	EXPECT_EQ(0, gpushare_describe(g, &k));
	EXPECT_EQ(16, k.workers);	/* alone: 4 units of 4 blocks of 256 threads */
	k.threads = 2048;
	EXPECT_EQ(-ERANGE, gpushare_describe(g, &k));
	gpushare_end(g);
	gpushare_close(g);
	world_remove(&w);
}

/* Nobody gets at the grant, whatever they try with the page. */
TEST(the_grant_page_cant_be_written)
{
	struct gpushare_pages p;
	struct gpushare *g;

	world_set_up(&w);
	g = open_one("cpu:0");
	gpushare_pages(g, &p);
	EXPECT_EQ(-1, mprotect((void *)p.grant, p.length, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	p.client->progress = 3;
	EXPECT_EQ((const void *)g->grant, (const void *)p.grant);
	EXPECT_EQ(GPUSHARE_PAGE_VERSION, p.grant->version);
	gpushare_close(g);
	world_remove(&w);
}

static uint64_t read_launches(pid_t pid, const char *kernel, uint64_t *others)
{
	struct gs_launches_head head;
	struct gs_launches l;
	char path[64], link[64];
	uint64_t count = 0;
	int i, fd;

	for (i = 3; i < 64; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, i);
		if (readlink(path, link, sizeof(link)) > 0 && strstr(link, GS_LAUNCHES_NAME))
			break;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	EXPECT_EQ(sizeof(head), pread(fd, &head, sizeof(head), 0));
	EXPECT_EQ(GS_LAUNCHES_MAGIC, head.magic);
	*others = head.others;
	for (i = 1; pread(fd, &l, sizeof(l), i * (off_t)sizeof(l)) == sizeof(l); i++)
		if (l.used && !strcmp(l.kernel, kernel))
			count += l.count;
	close(fd);
	return count;
}

static void *launch(void *arg)
{
	char name[64];
	int i;

	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "kernel%d", i);
		gpushare_launched(name, "whole", NULL);
		gpushare_launched("many", "slices", "because");
	}
	return arg;
}

/* Counted by name, by several threads, and by a forked child for itself. */
TEST(launches_are_counted)
{
	pthread_t threads[4];
	uint64_t others, sum = 0;
	char name[64];
	int i, status;
	pid_t pid;

	errno = 77;
	gpushare_launched("first", "whole", "it is the first");
	EXPECT_EQ(77, errno);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, launch, NULL));
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(1, read_launches(getpid(), "first", &others));
	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "kernel%d", i);
		sum += read_launches(getpid(), name, &others);
	}
	EXPECT_GT(sum, 0);
	EXPECT_GT(others, 0);	/* there isn't room for so many */
	EXPECT_EQ(20000, read_launches(getpid(), "many", &others));
	pid = world_fork();
	if (!pid) {
		gpushare_launched("childs", "whole", NULL);
		EXPECT_EQ(1, read_launches(getpid(), "childs", &others));
		EXPECT_EQ(0, read_launches(getpid(), "first", &others));
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, read_launches(getpid(), "childs", &others));
}

/* On standard error, if asked to; each way once. */
TEST(launches_are_said)
{
	char said[200] = "";
	int both[2], was, i;

	ASSERT_EQ(0, pipe(both));
	was = dup(2);
	dup2(both[1], 2);
	gpushare_launched("quiet", "whole", NULL);
	setenv("GPUSHARE_VERBOSE", "1", 1);
	for (i = 0; i < 3; i++) {
		gpushare_launched("loud", "whole", "it waits");
		gpushare_launched("loud", "slices", NULL);
	}
	dup2(was, 2);
	EXPECT_GT(read(both[0], said, sizeof(said) - 1), 0);
	EXPECT_TRUE(!strcmp(said, "gpushare: kernel loud: whole (it waits)\n"
				  "gpushare: kernel loud: slices\n"));
}

/* No thread, no file: a handle that went leaves nothing behind. */
TEST(nothing_is_left)
{
	struct gpushare *g;
	int i, fd, before;

	world_set_up(&w);
	before = dup(0);
	close(before);
	for (i = 0; i < 50; i++) {
		g = open_one("cpu:0");
		EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
		gpushare_end(g);
		gpushare_close(g);
	}
	fd = dup(0);
	EXPECT_EQ(before, fd);
	EXPECT_TRUE(access("/proc/self/task", F_OK) == 0);
	world_remove(&w);
}

TEST_MAIN()
