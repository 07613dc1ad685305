// SPDX-License-Identifier: MIT
/* Waiting for memory: what ends a wait, and that nothing is lost or charged twice. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "harness.h"
#include "tests/gpushared/world.h"

static struct world w;

static void begin_world(uint32_t full)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER, .key = "test:small",
		.mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_MEM_FULL | GPUSHARE_DEV_MEM_WAIT,
		.mem_bytes = 1000, .mem_full = full, .mem_wait_us = 20000000,
	};

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
}

static struct gpushare *open_small(void)
{
	struct gpushare_options o = { .size = sizeof(o), .flags = GPUSHARE_OPEN_STRICT };
	struct gpushare *g = NULL;

	ASSERT_EQ(0, gpushare_open(&g, "test:small", &o));
	return g;
}

static struct gpushare_stats device_stats(void)
{
	struct gpushare_stats s = { .size = sizeof(s), .what = GPUSHARE_STATS_DEVICE,
				    .device = world_device(&w, "test:small").device };

	ASSERT_EQ(0, world_call(&w, GPUSHARE_STATS, &s));
	return s;
}

static bool eventually_wait(uint32_t n)
{
	unsigned int i;

	for (i = 0; i < 5000; i++) {
		if (device_stats().mem_waiters == n)
			return true;
		usleep(2000);
	}
	return false;
}

struct charge {
	pthread_t thread;
	struct gpushare *g;
	uint64_t bytes;
	uint32_t flags;
	int result;
	bool ended;
	struct gpushare_memory m;
};

static void *charge(void *arg)
{
	struct charge *c = arg;

	c->result = gpushare_memory_wait(c->g, c->flags, c->bytes, &c->m);
	__atomic_store_n(&c->ended, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void begin(struct charge *c, struct gpushare *g, uint32_t flags, uint64_t bytes)
{
	*c = (struct charge){ .g = g, .flags = flags, .bytes = bytes };
	ASSERT_EQ(0, pthread_create(&c->thread, NULL, charge, c));
}

static int end(struct charge *c)
{
	pthread_join(c->thread, NULL);
	return c->result;
}

static void give(struct gpushare *g, uint64_t bytes)
{
	EXPECT_EQ(0, gpushare_memory(g, GPUSHARE_MEM_UNCHARGE, bytes, NULL));
}

TEST(where_nothing_waits_it_is_a_charge)
{
	struct gpushare_memory m;
	struct gpushare *g;

	begin_world(GPUSHARE_FULL_FAIL);
	g = open_small();
	EXPECT_EQ(-EINVAL, gpushare_memory_wait(g, 1, 1, NULL));
	EXPECT_EQ(0, gpushare_memory_wait(g, 0, 600, &m));
	EXPECT_EQ(600, m.current_bytes);
	EXPECT_EQ(-ENOMEM, gpushare_memory_wait(g, 0, 401, &m));
	EXPECT_EQ(0, m.limit_group);
	EXPECT_EQ(-ENOMEM, gpushare_memory_wait(g, GPUSHARE_MEM_REFUSED, 1, NULL));
	give(g, 600);
	gpushare_close(g);
	world_remove(&w);
}

/* What other threads do with the same handle goes on meanwhile. */
TEST(a_wait_holds_up_nobody_else)
{
	struct gpushare *a, *b;
	struct charge c, second;
	struct gpushare_stats s;

	begin_world(GPUSHARE_FULL_WAIT);
	a = open_small();
	b = open_small();
	EXPECT_EQ(0, gpushare_memory_wait(a, 0, 800, NULL));
	EXPECT_EQ(0, gpushare_memory_wait(b, 0, 100, NULL));
	begin(&c, b, 0, 300);
	EXPECT_TRUE(eventually_wait(1));
	begin(&second, b, 0, 400);		/* waits for its turn to wait */
	EXPECT_EQ(0, gpushare_begin(b, GPUSHARE_FOREVER));
	gpushare_end(b);
	EXPECT_EQ(0, gpushare_statistics(b, &s));
	EXPECT_EQ(300, s.mem_wanted);
	give(b, 100);
	EXPECT_FALSE(__atomic_load_n(&c.ended, __ATOMIC_SEQ_CST));
	give(a, 200);
	EXPECT_EQ(0, end(&c));
	EXPECT_EQ(300, c.m.current_bytes);
	give(a, 600);
	EXPECT_EQ(0, end(&second));
	EXPECT_EQ(700, device_stats().mem_current);
	give(b, 700);
	gpushare_close(a);
	gpushare_close(b);
	world_remove(&w);
}

static void nothing(int signal)
{
	(void)signal;
}

static void handle(int flags)
{
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = flags };

	sigaction(SIGUSR1, &sa, NULL);
}

TEST(a_signal_ends_a_wait_as_its_handler_says)
{
	struct gpushare *a, *b;
	struct charge c;

	begin_world(GPUSHARE_FULL_WAIT);
	a = open_small();
	b = open_small();
	EXPECT_EQ(0, gpushare_memory_wait(a, 0, 800, NULL));
	handle(SA_RESTART);
	begin(&c, b, 0, 300);
	EXPECT_TRUE(eventually_wait(1));
	pthread_kill(c.thread, SIGUSR1);
	usleep(50000);
	EXPECT_EQ(1, device_stats().mem_waiters);
	handle(0);
	pthread_kill(c.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, end(&c));
	EXPECT_EQ(0, device_stats().mem_waiters);
	EXPECT_EQ(800, device_stats().mem_current);
	give(a, 800);
	gpushare_close(a);
	gpushare_close(b);
	world_remove(&w);
}

/* Signals that come just when others give back: what was said is what was charged. */
TEST(a_signal_at_the_last_moment_loses_nothing)
{
	unsigned int i, had = 0, ended = 0;
	struct gpushare *a, *b;
	struct charge c;

	begin_world(GPUSHARE_FULL_WAIT);
	handle(0);
	a = open_small();
	b = open_small();
	for (i = 0; i < 300; i++) {
		EXPECT_EQ(0, gpushare_memory_wait(a, 0, 800, NULL));
		begin(&c, b, 0, 300);
		EXPECT_TRUE(eventually_wait(1));
		if (i & 1)
			pthread_kill(c.thread, SIGUSR1);
		usleep(i % 7 * 20);
		give(a, 800);
		if (!(i & 1))
			pthread_kill(c.thread, SIGUSR1);
		if (!end(&c)) {
			had++;
			EXPECT_EQ(300, device_stats().mem_current);
			give(b, 300);
		} else {
			ended++;
			EXPECT_EQ(-EINTR, c.result);
		}
		EXPECT_EQ(0, device_stats().mem_current);
		EXPECT_EQ(0, device_stats().mem_waiters);
	}
	printf("# %u had it, %u were interrupted\n", had, ended);
	EXPECT_LT(0, had);
	EXPECT_LT(0, ended);
	gpushare_close(a);
	gpushare_close(b);
	world_remove(&w);
}

/* Without an arbiter nobody limits it; what was charged is charged again when one is back. */
static void arbiter_ends(int sig)
{
	struct gpushare *a, *b;
	struct charge c;

	begin_world(GPUSHARE_FULL_WAIT);
	a = open_small();
	b = open_small();
	EXPECT_EQ(0, gpushare_memory_wait(a, 0, 800, NULL));
	begin(&c, b, 0, 300);
	EXPECT_TRUE(eventually_wait(1));
	if (sig == SIGSTOP) {
		/* Who asks for the device finds that it gives no answer. */
		kill(w.daemon, SIGSTOP);
		EXPECT_EQ(0, gpushare_begin(b, GPUSHARE_FOREVER));
		gpushare_end(b);
	} else {
		world_stop(&w, sig);
	}
	EXPECT_EQ(0, end(&c));
	if (sig == SIGSTOP)
		kill(w.daemon, SIGCONT);
	gpushare_close(a);
	gpushare_close(b);
	world_remove(&w);
}

TEST(an_arbiter_that_is_killed_ends_the_wait)
{
	arbiter_ends(SIGKILL);
}

TEST(an_arbiter_that_hangs_ends_the_wait)
{
	arbiter_ends(SIGSTOP);
}

TEST(what_the_device_refused_is_waited_for)
{
	struct gpushare *a, *b;
	struct charge c;

	begin_world(GPUSHARE_FULL_WAIT);
	a = open_small();
	b = open_small();
	EXPECT_EQ(-ENOMEM, gpushare_memory_wait(b, GPUSHARE_MEM_REFUSED, 300, NULL));
	EXPECT_EQ(0, gpushare_memory_wait(a, 0, 500, NULL));
	begin(&c, b, GPUSHARE_MEM_REFUSED, 300);
	EXPECT_TRUE(eventually_wait(1));
	give(a, 1);
	EXPECT_EQ(0, end(&c));
	EXPECT_EQ(799, device_stats().mem_current);
	give(b, 300);
	give(a, 499);
	gpushare_close(a);
	gpushare_close(b);
	world_remove(&w);
}

/* A child of a fork waits as a client of its own. */
TEST(a_forked_child_waits_too)
{
	struct gpushare *a;
	int status;
	pid_t pid;

	begin_world(GPUSHARE_FULL_WAIT);
	a = open_small();
	EXPECT_EQ(0, gpushare_memory_wait(a, 0, 800, NULL));
	pid = fork();
	if (!pid)
		_exit(gpushare_memory_wait(a, 0, 300, NULL) ? 1 : 0);
	EXPECT_TRUE(eventually_wait(1));
	give(a, 100);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	give(a, 700);
	gpushare_close(a);
	world_remove(&w);
}

TEST_MAIN()
