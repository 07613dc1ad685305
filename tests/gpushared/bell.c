// SPDX-License-Identifier: MIT
/* Asking by the doorbell: what ulib/wire.h promises of wishes, and those who have no bell. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness.h"
#include "ulib/backend.h"
#include "ulib/wire.h"
#include "world.h"

static struct world w;

/* A client without the library: its transport is driven by hand. */
struct end {
	struct gs_transport a;
	struct gs_pages pages;
	struct gs_asked of;
	uint32_t lost;
};

static void end_connect(struct end *e)
{
	memset(e, 0, sizeof(*e));
	e->pages.length = (size_t)sysconf(_SC_PAGESIZE);
	e->pages.grant = mmap(NULL, 2 * e->pages.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	e->pages.client = (void *)((char *)e->pages.grant + e->pages.length);
	ASSERT_EQ(0, gs_transport_connect(&e->a, w.arbiter, 0));
}

static void end_attach(struct end *e, const char *key, uint64_t set)
{
	struct gpushare_attach at = { .size = sizeof(at), .set_fd = -1 };

	strcpy(at.key, key);
	ASSERT_EQ(0, e->a.ops->attach(&e->a, &at, &e->pages, set));
	e->of = (struct gs_asked){
		.page = e->pages.grant, .own = e->pages.client, .lost = &e->lost,
	};
}

static void end_open(struct end *e, const char *key, bool bell, uint64_t set)
{
	end_connect(e);
	if (!bell)
		e->a.features &= ~GPUSHARE_FEAT_BELL;
	end_attach(e, key, set);
}

static void end_close(struct end *e)
{
	gs_transport_drop(&e->a, true);
	munmap(e->pages.grant, 2 * e->pages.length);
}

static int ask(struct end *e, bool again, uint64_t until_ns)
{
	struct gs_ask ask = { .of = &e->of, .n = 1, .again = again, .until_ns = until_ns };

	return e->a.ops->ask(&e->a, &ask);
}

static bool granted(const struct end *e)
{
	return gs_word_granted(__atomic_load_n(&e->pages.grant->word, __ATOMIC_ACQUIRE),
			       e->of.epoch_back);
}

static uint64_t epoch(const struct end *e)
{
	return gs_epoch(__atomic_load_n(&e->pages.grant->word, __ATOMIC_ACQUIRE));
}

/* What it holds is given back with its next wish. */
static void back(struct end *e)
{
	e->of.epoch_back = epoch(e);
}

/* The daemon has taken all that this one said before. */
static void settle(struct end *e)
{
	struct gpushare_version v = { .size = sizeof(v) };

	EXPECT_EQ(0, gs_transport_call(&e->a, GPUSHARE_VERSION, &v));
}

static void set_up(void)
{
	struct gpushare_device turns = {
		.size = sizeof(turns), .key = "cpu:0", .mask = GPUSHARE_DEV_POLICY,
		.policy = GPUSHARE_POLICY_RR,
	};

	world_set_up(&w);
	ONLY_DAEMON(&w, "doorbell");
	world_be_patient(&w, "cpu:0");
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &turns));
}

static void expect_device(unsigned int holders, unsigned int waiters)
{
	struct gpushare_device dev = world_device(&w, "cpu:0");

	EXPECT_EQ(holders, dev.holders);
	EXPECT_EQ(waiters, dev.waiters);
}

/* As /proc says it: S asleep, T stopped. */
static bool daemon_is(char state)
{
	char path[64], is = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", w.daemon);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &is) != 1)
		is = 0;
	if (f)
		fclose(f);
	return is == state;
}

/* Nobody asks or gives back while the daemon sleeps: it finds what was said last. */
static void daemon_sleeps(bool sleeps)
{
	ASSERT_EQ(0, kill(w.daemon, sleeps ? SIGSTOP : SIGCONT));
	ASSERT_TRUE(WAIT_FOR(daemon_is('T') == sleeps));
}

/* An older client sends messages; it and one with a bell are served alike. */
TEST(with_and_without)
{
	struct end e[2];
	uint64_t last;
	int i;

	set_up();
	end_open(&e[0], "cpu:0", true, 0);
	end_open(&e[1], "cpu:0", false, 0);
	EXPECT_GE(e[0].a.bell, 0);
	EXPECT_EQ(-1, e[1].a.bell);
	EXPECT_EQ(0, ask(&e[0], false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(&e[1], false, 0));
	settle(&e[1]);
	expect_device(1, 1);
	for (i = 0; i < 200; i++) {
		struct end *from = &e[i % 2], *to = &e[!(i % 2)];

		last = epoch(from);
		back(from);
		EXPECT_EQ(-EAGAIN, ask(from, true, 0));
		ASSERT_TRUE(WAIT_FOR(granted(to)));
		settle(from);
		EXPECT_FALSE(granted(from));
		EXPECT_EQ(last + 1, epoch(from));	/* lost, and none won */
	}
	expect_device(1, 1);
	back(&e[0]);
	EXPECT_EQ(0, e[0].a.ops->yield(&e[0].a, &e[0].of));
	settle(&e[0]);
	ASSERT_TRUE(WAIT_FOR(granted(&e[1])));
	expect_device(1, 0);
	end_close(&e[0]);
	end_close(&e[1]);
	world_remove(&w);
}

/* Of a process's first numbers for files, those in use, or the one that is the nth free. */
static int files_of(pid_t pid, int nth_free)
{
	int i, n = 0, free = 0;
	char path[64], to[8];

	for (i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, i);
		if (readlink(path, to, sizeof(to)) >= 0)
			n++;
		else if (++free == nth_free)
			return i;
	}
	return n;
}

/* Short of files, the daemon gives no bell, and the client sends messages. */
TEST(no_file_left_for_a_bell)
{
	static const char *const more[] = { "--state", "none", NULL };	/* and no file for that */
	struct rlimit few, many;
	struct end e;
	int n;

	world_make(&w);
	ONLY_DAEMON(&w, "doorbell");
	world_start_with(&w, more);
	ASSERT_EQ(0, prlimit(w.daemon, RLIMIT_NOFILE, NULL, &many));
	end_connect(&e);
	/* Until it has closed what others had before. */
	do {
		n = files_of(w.daemon, 0);
		sleep_ns(200 * MS);
		settle(&e);
	} while (n != files_of(w.daemon, 0));
	few = many;
	few.rlim_cur = (rlim_t)files_of(w.daemon, 3);	/* two for the pages, on their way */
	ASSERT_EQ(0, prlimit(w.daemon, RLIMIT_NOFILE, &few, NULL));
	end_attach(&e, "cpu:0", 0);
	EXPECT_EQ(-1, e.a.bell);
	EXPECT_EQ(0, prlimit(w.daemon, RLIMIT_NOFILE, &many, NULL));
	EXPECT_EQ(0, ask(&e, false, GPUSHARE_FOREVER));
	back(&e);
	EXPECT_EQ(0, ask(&e, true, GPUSHARE_FOREVER));
	end_close(&e);
	world_remove(&w);
}

/* What is overwritten before the daemon looked is as if it had been done in between. */
TEST(the_last_wish_counts)
{
	struct end e, other;

	set_up();
	end_open(&e, "cpu:0", true, 0);
	end_open(&other, "cpu:0", true, 0);
	EXPECT_EQ(0, ask(&e, false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(&other, false, 0));
	settle(&other);
	daemon_sleeps(true);
	back(&e);
	EXPECT_EQ(0, e.a.ops->yield(&e.a, &e.of));
	EXPECT_EQ(-EAGAIN, ask(&e, false, 0));
	daemon_sleeps(false);
	ASSERT_TRUE(WAIT_FOR(granted(&other)));
	settle(&e);
	expect_device(1, 1);
	EXPECT_FALSE(granted(&e));
	daemon_sleeps(true);
	EXPECT_EQ(-EAGAIN, ask(&e, false, 0));
	EXPECT_EQ(0, e.a.ops->yield(&e.a, &e.of));
	daemon_sleeps(false);
	settle(&e);
	expect_device(1, 0);
	end_close(&e);
	end_close(&other);
	world_remove(&w);
}

/* A grant that the client hasn't seen isn't taken for the one that it gave back. */
TEST(an_unseen_grant_stays)
{
	struct end e, other;
	uint64_t first;

	set_up();
	end_open(&e, "cpu:0", true, 0);
	end_open(&other, "cpu:0", true, 0);
	EXPECT_EQ(0, ask(&other, false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(&e, false, 0));
	settle(&e);
	back(&other);
	EXPECT_EQ(-EAGAIN, ask(&other, true, 0));
	ASSERT_TRUE(WAIT_FOR(granted(&e)));
	first = epoch(&e);
	EXPECT_EQ(0, ask(&e, false, 0));
	EXPECT_EQ(0, e.a.ops->yield(&e.a, &e.of));
	settle(&e);
	EXPECT_TRUE(granted(&e));
	EXPECT_EQ(first, epoch(&e));
	back(&e);
	EXPECT_EQ(0, e.a.ops->yield(&e.a, &e.of));
	settle(&e);
	EXPECT_TRUE(WAIT_FOR(granted(&other)));
	expect_device(1, 0);
	end_close(&e);
	end_close(&other);
	world_remove(&w);
}

/* A wish is taken once: before the next message, and not again when the bell is late. */
TEST(messages_keep_their_place)
{
	struct gpushare_wait no = { .size = sizeof(no) };
	uint64_t want = GS_WISH_NUMBER | GS_WISH_WANT;
	struct end e;
	int i;

	set_up();
	end_open(&e, "cpu:0", true, 0);
	__atomic_store_n(&e.pages.client->wish, want, __ATOMIC_RELEASE);
	settle(&e);
	expect_device(1, 0);
	EXPECT_EQ(0, gs_transport_call(&e.a, GPUSHARE_YIELD, &no));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, eventfd_write(e.a.bell, 1));
	settle(&e);
	settle(&e);
	expect_device(0, 0);
	/* No wish at all: what its flags mean isn't known here. */
	__atomic_store_n(&e.pages.client->wish, want + GS_WISH_NUMBER + 0x80, __ATOMIC_RELEASE);
	EXPECT_EQ(0, eventfd_write(e.a.bell, 1));
	settle(&e);
	expect_device(0, 0);
	/* And the bell alone does it, without a message after it. */
	__atomic_store_n(&e.pages.client->wish, want + 2 * GS_WISH_NUMBER, __ATOMIC_RELEASE);
	EXPECT_EQ(0, eventfd_write(e.a.bell, 1));
	EXPECT_TRUE(WAIT_FOR(granted(&e)));
	end_close(&e);
	world_remove(&w);
}

/* Of a set each gives back what its own page says. */
TEST(a_set)
{
	struct gpushare_device b = {
		.size = sizeof(b), .kind = GPUSHARE_KIND_OTHER, .key = "test:b",
	};
	struct gs_asked of[2];
	struct gs_ask any = { .of = of, .n = 2, .until_ns = now_ns() + 60 * SEC };
	struct end e[2], other;

	set_up();
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &b));
	world_be_patient(&w, "test:b");
	end_open(&e[0], "cpu:0", true, 0);
	end_open(&e[1], "test:b", true, e[0].pages.grant->client);
	end_open(&other, "test:b", true, 0);
	/* It holds both, and gives back the second, which another wants. */
	EXPECT_EQ(0, ask(&e[0], false, GPUSHARE_FOREVER));
	EXPECT_EQ(0, ask(&e[1], false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(&other, false, 0));
	settle(&other);
	back(&e[1]);
	of[0] = e[0].of;
	of[1] = e[1].of;
	EXPECT_EQ(0, e[0].a.ops->ask(&e[0].a, &any));	/* the first stays: unseen */
	ASSERT_TRUE(WAIT_FOR(granted(&other)));
	EXPECT_TRUE(granted(&e[0]));
	/* Now the first as well: it is free at once, and granted anew. */
	back(&e[0]);
	of[0] = e[1].of;
	of[1] = e[0].of;
	EXPECT_EQ(0, e[1].a.ops->ask(&e[1].a, &any));
	EXPECT_TRUE(granted(&e[0]));
	settle(&e[1]);
	EXPECT_FALSE(granted(&e[1]));
	EXPECT_EQ(0, world_device(&w, "test:b").waiters);
	end_close(&e[0]);
	end_close(&e[1]);
	end_close(&other);
	world_remove(&w);
}

/*
 * Holds a device until that is taken from it in the books; whoever wants it has it
 * then. It knows by itself that its grant is over.
 */
static void overrun(struct end *e, struct end *other)
{
	struct gpushare_device soon = {
		.size = sizeof(soon), .key = "test:b", .grace_us = 1000,
		.mask = GPUSHARE_DEV_GRACE,
	};

	EXPECT_EQ(0, ask(e, false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(other, false, 0));
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &soon));
	ASSERT_TRUE(WAIT_FOR(granted(other)));
	EXPECT_FALSE(granted(e));
	EXPECT_EQ(1, stats_of(&w, GPUSHARE_STATS_CLIENT, e->pages.grant->client).overruns);
	back(e);
}

/* Who overruns is charged for it, as long as it does. */
static bool is_charged(const struct end *e)
{
	uint64_t id = e->pages.grant->client;
	uint64_t before = stats_of(&w, GPUSHARE_STATS_CLIENT, id).usage_ns;

	sleep_ns(20 * MS);
	return stats_of(&w, GPUSHARE_STATS_CLIENT, id).usage_ns > before;
}

static void set_up_overrun(struct end *e, struct end *other)
{
	struct gpushare_device b = {
		.size = sizeof(b), .kind = GPUSHARE_KIND_OTHER, .key = "test:b",
	};

	set_up();
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &b));
	world_be_patient(&w, "test:b");
	end_open(e, "cpu:0", true, 0);
	end_open(other, "test:b", true, 0);
}

/* What overran is given back by a wish for any, also where another's grant is unseen. */
TEST(any_gives_back_what_is_over)
{
	struct gs_asked of[2];
	struct gs_ask any = { .of = of, .n = 2 };
	struct end e[2], other;

	set_up_overrun(&e[0], &other);
	end_open(&e[1], "test:b", true, e[0].pages.grant->client);
	overrun(&e[1], &other);
	EXPECT_TRUE(is_charged(&e[1]));
	EXPECT_EQ(0, ask(&e[0], false, GPUSHARE_FOREVER));
	of[0] = e[0].of;
	of[1] = e[1].of;
	EXPECT_EQ(0, e[0].a.ops->ask(&e[0].a, &any));
	settle(&e[0]);
	EXPECT_TRUE(granted(&e[0]));
	EXPECT_FALSE(is_charged(&e[1]));
	end_close(&e[0]);
	end_close(&e[1]);
	end_close(&other);
	world_remove(&w);
}

/* And where a request stands that was made before the one that overran came to the set. */
TEST(any_gives_back_what_is_over_while_it_waits)
{
	struct gpushare_device c = {
		.size = sizeof(c), .kind = GPUSHARE_KIND_OTHER, .key = "test:c",
	};
	struct end e[3], other, first[2];
	struct gs_asked of[3];
	struct gs_ask any = { .of = of, .n = 2 };
	int i;

	set_up_overrun(&e[0], &other);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &c));
	world_be_patient(&w, "test:c");
	end_open(&e[1], "test:c", true, e[0].pages.grant->client);
	for (i = 0; i < 2; i++) {
		end_open(&first[i], i ? "test:c" : "cpu:0", true, 0);
		EXPECT_EQ(0, ask(&first[i], false, GPUSHARE_FOREVER));
	}
	of[0] = e[0].of;
	of[1] = e[1].of;
	EXPECT_EQ(-EAGAIN, e[0].a.ops->ask(&e[0].a, &any));
	settle(&e[0]);
	EXPECT_EQ(1, world_device(&w, "test:c").waiters);
	end_open(&e[2], "test:b", true, e[0].pages.grant->client);
	overrun(&e[2], &other);
	EXPECT_TRUE(is_charged(&e[2]));
	of[2] = e[2].of;
	any.n = 3;
	EXPECT_EQ(-EAGAIN, e[0].a.ops->ask(&e[0].a, &any));
	settle(&e[0]);
	EXPECT_FALSE(is_charged(&e[2]));
	EXPECT_EQ(1, world_device(&w, "test:c").waiters);
	for (i = 0; i < 3; i++)
		end_close(&e[i]);
	for (i = 0; i < 2; i++)
		end_close(&first[i]);
	end_close(&other);
	world_remove(&w);
}

/* Handoffs between two for 3 s; returns how many wake-ups there were beyond one for each. */
static int64_t wakes_beyond_handoffs(struct end *e, unsigned int *turn)
{
	uint64_t sleeps = world_sleeps(&w), handoffs, end = now_ns() + 3 * SEC;

	for (handoffs = 0; now_ns() < end; handoffs++, ++*turn) {
		struct end *from = &e[*turn % 2], *to = &e[!(*turn % 2)];

		back(from);
		EXPECT_EQ(-EAGAIN, ask(from, true, 0));
		ASSERT_TRUE(WAIT_FOR(granted(to)));
		sleep_ns(2 * MS);	/* so that each costs a sleep */
	}
	sleeps = world_sleeps(&w) - sleeps;
	printf("# %" PRIu64 " handoffs, %" PRIu64 " wake-ups\n", handoffs, sleeps);
	return (int64_t)(sleeps - handoffs);
}

/*
 * Slice and linger are long against a handoff here, so no holder has a timer that
 * falls due: each handoff wakes the daemon up once, and nothing else does. A timer that
 * isn't put off fires each 200 ms. A machine that is late makes timers fall due, and what
 * the kernel counts as sleeps has waits for memory and locks in it. Both only ever add:
 * the least of ten tries counts.
 */
TEST(timers_that_a_handoff_moves_dont_fire)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "cpu:0", .slice_us = 200000, .linger_us = 200000,
		.mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_LINGER,
	};
	unsigned int turn = 0, tries = 10;
	struct end e[2];

	set_up();
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	end_open(&e[0], "cpu:0", true, 0);
	end_open(&e[1], "cpu:0", true, 0);
	EXPECT_EQ(0, ask(&e[0], false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(&e[1], false, 0));
	settle(&e[1]);
	ASSERT_TRUE(WAIT_FOR(daemon_is('S')));
	while (wakes_beyond_handoffs(e, &turn) > 6 && --tries)
		;
	EXPECT_NE(0, tries);
	end_close(&e[0]);
	end_close(&e[1]);
	world_remove(&w);
}

static bool is_to_yield(const struct end *e)
{
	return __atomic_load_n(&e->pages.grant->word, __ATOMIC_ACQUIRE) & GPUSHARE_PREEMPT;
}

/* For 2 s each holds until it is to yield; the wake-ups a slice, in hundredths. */
static uint64_t wakes_a_slice(struct end *e, unsigned int *turn)
{
	uint64_t sleeps = world_sleeps(&w), slices, end = now_ns() + 2 * SEC;

	for (slices = 0; now_ns() < end; slices++, ++*turn) {
		struct end *from = &e[*turn % 2], *to = &e[!(*turn % 2)];

		ASSERT_TRUE(WAIT_FOR(is_to_yield(from)));
		back(from);
		EXPECT_EQ(-EAGAIN, ask(from, true, 0));
		ASSERT_TRUE(WAIT_FOR(granted(to)));
	}
	sleeps = world_sleeps(&w) - sleeps;
	printf("# %" PRIu64 " slices, %" PRIu64 " wake-ups\n", slices, sleeps);
	return 100 * sleeps / slices;
}

/*
 * Once when a slice ends, and once when its holder gives it back: nobody is looked at in
 * vain who does as it did before, and no timer fires that a handoff has moved. As above,
 * what comes beside only adds.
 */
TEST(a_slice_costs_two_wake_ups)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "cpu:0", .slice_us = 2000, .linger_us = 200,
		.mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_LINGER,
	};
	unsigned int turn = 0, tries = 10;
	struct end e[2];

	set_up();
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	end_open(&e[0], "cpu:0", true, 0);
	end_open(&e[1], "cpu:0", true, 0);
	EXPECT_EQ(0, ask(&e[0], false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(&e[1], false, 0));
	while (wakes_a_slice(e, &turn) > 215 && --tries)
		;
	EXPECT_NE(0, tries);
	end_close(&e[0]);
	end_close(&e[1]);
	world_remove(&w);
}

/* A request that stands isn't told again, or a program that polls would be a flood. */
TEST(asking_again_while_it_stands_wakes_nobody)
{
	unsigned int i, tries = 10;
	struct end e[2];
	uint64_t sleeps;

	set_up();
	end_open(&e[0], "cpu:0", true, 0);
	end_open(&e[1], "cpu:0", true, 0);
	EXPECT_EQ(0, ask(&e[0], false, GPUSHARE_FOREVER));
	EXPECT_EQ(-EAGAIN, ask(&e[1], false, 0));
	ASSERT_TRUE(WAIT_FOR(e[1].pages.grant->word & GPUSHARE_WAITING));
	do {
		sleeps = world_sleeps(&w);
		for (i = 0; i < 100; i++) {
			EXPECT_EQ(-EAGAIN, ask(&e[1], false, 0));
			sleep_ns(MS);
		}
		sleeps = world_sleeps(&w) - sleeps;
	} while (sleeps > 20 && --tries);
	EXPECT_NE(0, tries);
	/* It is the same request, and is granted as one. */
	back(&e[0]);
	EXPECT_EQ(-EAGAIN, ask(&e[0], false, 0));
	EXPECT_TRUE(WAIT_FOR(granted(&e[1])));
	end_close(&e[0]);
	end_close(&e[1]);
	world_remove(&w);
}

/* A forked child closes its copies of its parent's files, and nobody else's. */
TEST(a_child_keeps_no_bell)
{
	struct gpushare *g;
	int status, n;
	pid_t pid;

	set_up();
	g = open_one("cpu:0");
	n = files_of(getpid(), 0);
	pid = fork();
	if (!pid) {
		EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
		gpushare_end(g);
		/* Besides, the watcher's epoll and eventfd; its parent's two are copies too. */
		EXPECT_EQ(n + 2, files_of(getpid(), 0));
		test_end(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	pid = fork();
	if (!pid) {
		int i, bell, own = eventfd(0, EFD_CLOEXEC);

		/* All numbers are another file's by now. */
		for (i = 3; i < 64; i++)
			if (i != own && test_result_fd != i)
				dup2(own, i);
		EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
		gpushare_close(g);
		bell = 0;
		for (i = 3; i < 64; i++)
			bell += i != own && test_result_fd != i && eventfd_write(i, 1);
		EXPECT_EQ(0, bell);
		test_end(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	gpushare_close(g);
	world_remove(&w);
}

TEST_MAIN()
