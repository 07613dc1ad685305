// SPDX-License-Identifier: MIT
/*
 * Interleavings of the library that chance hardly ever brings, forced.
 *
 * The transport of a handle is a table of ours, which goes on to the real one: it
 * keeps a thread in the middle of its wait, where the library holds no lock, and
 * looks whether its connection is closed meanwhile. The library's futex calls come
 * through syscall() below, where one can be kept between its look and its sleep.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "harness.h"
#include "ulib/client.h"
#include "tests/gpushared/world.h"

static struct world w;

/* The table, and who is in it. */
static const struct gs_backend *real;
static struct gs_backend table;
static sem_t entered, leave;
static int inside, closed_under;

/* The words that syscall() looks at. */
static uint32_t *event_word, *wake_word;
static int event_waits, about_to_sleep, wakes, wakes_before_sleep, timed_out;

#define get(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define add(x, n) __atomic_add_fetch(&(x), n, __ATOMIC_SEQ_CST)

static int held_ask(struct gs_transport *a, const struct gs_ask *ask)
{
	int err;

	add(inside, 1);
	sem_post(&entered);
	while (sem_wait(&leave))
		;
	err = real->ask(a, ask);
	add(inside, -1);
	return err;
}

static void seen_close(struct gs_transport *a, bool end)
{
	if (get(inside))
		add(closed_under, 1);
	real->close(a, end);
}

static struct gs_gate *gate_of(struct gpushare *g)
{
	return gs_client_of(g)->gate;
}

/* From now on this one's calls come through the table. */
static void take_over(struct gpushare *g)
{
	struct gs_gate *gate = gate_of(g);

	pthread_mutex_lock(&gate->lock);
	real = gate->arbiter.ops;
	table = *real;
	table.ask = held_ask;
	table.close = seen_close;
	gate->arbiter.ops = &table;
	pthread_mutex_unlock(&gate->lock);
	event_word = &gate->event;
}

/*
 * Would it sleep? Not if the daemon hears of its request just now, and changes the word:
 * then it looks again, and comes back.
 */
static bool would_sleep(const uint32_t *word, uint32_t value)
{
	const struct gpushare_grant_page *page = (const void *)
		((const char *)word - offsetof(struct gpushare_grant_page, wake));

	EXPECT_TRUE(WAIT_FOR(get(page->word) & GPUSHARE_WAITING));
	return get(*word) == value;
}

long syscall(long nr, ...)
{
	static long (*next)(long nr, ...);
	long a[6], result;
	va_list ap;
	int i, op;

	if (!get(next))
		__atomic_store_n(&next, (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"),
				 __ATOMIC_SEQ_CST);
	va_start(ap, nr);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	op = nr == SYS_futex ? (int)a[1] & FUTEX_CMD_MASK : -1;
	if (op == FUTEX_WAIT_BITSET && (uint32_t *)a[0] == get(event_word))
		add(event_waits, 1);
	if (op == FUTEX_WAIT_BITSET && (uint32_t *)a[0] == get(wake_word) &&
	    (get(wakes) || would_sleep((uint32_t *)a[0], (uint32_t)a[2]))) {
		add(about_to_sleep, 1);
		EXPECT_TRUE(WAIT_FOR(get(wakes) >= wakes_before_sleep));
	}
	result = next(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (op == FUTEX_WAIT_BITSET && (uint32_t *)a[0] == get(wake_word) && result < 0 &&
	    errno == ETIMEDOUT)
		add(timed_out, 1);
	if (op == FUTEX_WAKE && (uint32_t *)a[0] == get(wake_word))
		add(wakes, 1);
	return result;
}

struct beginner {
	pthread_t thread;
	struct gpushare *g;
	bool any;
	struct gpushare *which;
	int result, done;
};

static void *begin(void *arg)
{
	struct beginner *b = arg;

	b->which = b->g;
	b->result = b->any ? gpushare_begin_any(b->g, GPUSHARE_FOREVER, &b->which) :
		    gpushare_begin(b->g, GPUSHARE_FOREVER);
	__atomic_store_n(&b->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start(struct beginner *b, struct gpushare *g, bool any)
{
	*b = (struct beginner){ .g = g, .any = any };
	ASSERT_EQ(0, pthread_create(&b->thread, NULL, begin, b));
}

static void join(struct beginner *b)
{
	pthread_join(b->thread, NULL);
	EXPECT_EQ(0, b->result);
	if (!b->result)
		gpushare_end(b->which);
}

/* One thread asks, for what another process holds, and is kept there. */
static pid_t set_up(struct gpushare **g, struct beginner *asker)
{
	struct tenant holder = { .slice_ns = 600 * SEC };
	pid_t pid;

	world_set_up(&w);
	ONLY_DAEMON(&w, "transport that can be replaced");
	world_be_patient(&w, "cpu:0");
	pid = tenant_start(&w, &holder);
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").holders == 1));
	*g = open_one("cpu:0");
	ASSERT_EQ(0, sem_init(&entered, 0, 0));
	ASSERT_EQ(0, sem_init(&leave, 0, 0));
	take_over(*g);
	start(asker, *g, false);
	while (sem_wait(&entered))
		;
	return pid;
}

static bool is_gone(struct gpushare *g)
{
	return gs_word(gate_of(g)) & GPUSHARE_GONE;
}

static void remove_device(const char *key)
{
	struct gpushare_device dev = world_device(&w, key);

	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_REMOVE, &dev));
}

/* Who comes and finds the device gone leaves the connection to the one that is asking. */
TEST(a_device_that_goes_under_an_asker)
{
	struct beginner asker, second;
	struct gpushare *g;
	pid_t pid;

	pid = set_up(&g, &asker);
	remove_device("cpu:0");
	ASSERT_TRUE(WAIT_FOR(is_gone(g)));
	start(&second, g, false);
	EXPECT_TRUE(WAIT_FOR(get(event_waits) || get(second.done)));
	EXPECT_EQ(0, get(closed_under));
	EXPECT_EQ(0, get(second.done));
	EXPECT_TRUE(state_of(g).gated);
	sem_post(&leave);
	join(&asker);
	join(&second);
	EXPECT_EQ(0, get(closed_under));
	EXPECT_FALSE(state_of(g).gated);
	gpushare_close(g);
	tenant_stop(pid);
	world_remove(&w);
}

/*
 * Whose watcher can't be started gets the asker out, and closes after that. Two
 * threads come so far if the first has a file left for it and the second hasn't.
 */
TEST(no_watcher_while_another_asks)
{
	struct rlimit many, few;
	struct beginner asker, second;
	struct gpushare *g;
	pid_t pid;

	pid = set_up(&g, &asker);
	gs_unwatch(gs_client_of(g));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &many));
	few = many;
	few.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	start(&second, g, false);
	EXPECT_TRUE(WAIT_FOR(get(gate_of(g)->lost) || get(closed_under)));
	EXPECT_EQ(0, get(closed_under));
	EXPECT_EQ(0, get(second.done));
	sem_post(&leave);
	join(&asker);
	join(&second);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &many));
	EXPECT_EQ(0, get(closed_under));
	gpushare_close(g);
	tenant_stop(pid);
	world_remove(&w);
}

/*
 * The daemon dies when the asker has looked for that, and not gone to sleep yet: it
 * is woken until it is out, and needn't sleep until it asks whether anybody is there.
 */
TEST(the_arbiter_dies_between_a_look_and_the_sleep)
{
	struct beginner asker;
	struct gpushare *g;
	pid_t pid;

	pid = set_up(&g, &asker);
	wakes_before_sleep = 1;
	__atomic_store_n(&wake_word, &gate_of(g)->pages.grant->wake, __ATOMIC_SEQ_CST);
	sem_post(&leave);
	ASSERT_TRUE(WAIT_FOR(get(about_to_sleep)));
	world_stop(&w, SIGKILL);
	join(&asker);
	EXPECT_GE(get(wakes), 2);
	EXPECT_EQ(0, get(timed_out));
	EXPECT_EQ(0, get(closed_under));
	EXPECT_FALSE(state_of(g).gated);
	gpushare_close(g);
	tenant_stop(pid);
	world_remove(&w);
}

/*
 * Of a set one is the asker's connection. When another's device goes, who comes there
 * goes on without it at once, and the asker waits on for the rest.
 */
TEST(another_device_of_a_set_goes)
{
	struct gpushare_device b = {
		.size = sizeof(b), .kind = GPUSHARE_KIND_OTHER, .key = "test:b",
	};
	struct gpushare_options beside = { .size = sizeof(beside) };
	struct tenant holder[2] = {
		{ .slice_ns = 600 * SEC }, { .slice_ns = 600 * SEC, .key = "test:b" },
	};
	struct beginner asker, second;
	struct gpushare *g[2];
	pid_t pid[2];
	int i;

	world_set_up(&w);
	ONLY_DAEMON(&w, "transport that can be replaced");
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &b));
	world_be_patient(&w, "cpu:0");
	world_be_patient(&w, "test:b");
	for (i = 0; i < 2; i++)
		pid[i] = tenant_start(&w, &holder[i]);
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").holders == 1 &&
			     world_device(&w, "test:b").holders == 1));
	g[0] = open_one("cpu:0");
	beside.set = g[0];
	ASSERT_EQ(0, gpushare_open(&g[1], "test:b", &beside));
	ASSERT_EQ(0, sem_init(&entered, 0, 0));
	ASSERT_EQ(0, sem_init(&leave, 0, 0));
	take_over(g[0]);
	start(&asker, g[0], true);
	while (sem_wait(&entered))
		;
	remove_device("test:b");
	ASSERT_TRUE(WAIT_FOR(is_gone(g[1])));
	start(&second, g[1], false);
	join(&second);
	EXPECT_FALSE(state_of(g[1]).gated);
	EXPECT_EQ(0, get(closed_under));
	EXPECT_EQ(0, get(asker.done));
	tenant_stop(pid[0]);
	sem_post(&leave);
	/* It may have seen the page on which all is granted, and ask anew for the first. */
	sem_post(&leave);
	sem_post(&leave);
	join(&asker);
	EXPECT_TRUE(asker.which == g[0]);
	EXPECT_TRUE(state_of(g[0]).gated);
	EXPECT_EQ(0, get(closed_under));
	gpushare_close(g[1]);
	gpushare_close(g[0]);
	tenant_stop(pid[1]);
	world_remove(&w);
}

TEST_MAIN()
