// SPDX-License-Identifier: MIT
/* Asking for a device, waiting, being granted, giving back. */
#include <pthread.h>
#include "lib.h"

TEST(acquire_shows_a_grant_on_the_page)
{
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = GPUSHARE_FOREVER };
	struct client c;
	uint64_t epoch;

	need_arbiter();
	c = client_new(device_new());
	EXPECT_EQ(GPUSHARE_PAGE_VERSION, c.grant->version);
	EXPECT_LE(sizeof(struct gpushare_grant_page), c.grant->size);
	EXPECT_EQ(c.device, c.grant->device);
	EXPECT_EQ(c.id, c.grant->client);
	EXPECT_EQ(0, word(&c) & GPUSHARE_FLAGS_MASK);
	EXPECT_EQ(0, c.grant->deadline_ns);

	ASSERT_EQ(0, arb_call(c.fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(word(&c), w.word);
	EXPECT_EQ(GPUSHARE_GRANTED, w.word & GPUSHARE_FLAGS_MASK);
	EXPECT_EQ(0, c.grant->preempt);
	EXPECT_EQ(c.id, c.grant->holder);
	EXPECT_EQ(0, c.grant->seq & 1);
	EXPECT_NE(0, c.grant->slice_ns);
	EXPECT_LT(0, c.grant->granted_ns);
	EXPECT_LE(c.grant->granted_ns, now_ns());
	EXPECT_LT(c.grant->granted_ns, c.grant->deadline_ns);
	epoch = w.word >> GPUSHARE_EPOCH_SHIFT;

	EXPECT_EQ(0, yield(&c, 0, 0));
	EXPECT_EQ(0, word(&c) & GPUSHARE_FLAGS_MASK);
	EXPECT_EQ(0, c.grant->deadline_ns);
	EXPECT_EQ(0, c.grant->holder);
	EXPECT_EQ(0, acquire(&c, 0, 0));
	EXPECT_LT(epoch, word(&c) >> GPUSHARE_EPOCH_SHIFT);
	device_remove(c.device);
}

TEST(acquire_while_granted_and_yield_while_not_do_nothing)
{
	struct client c;
	uint64_t w;

	need_arbiter();
	c = client_new(device_new());
	EXPECT_EQ(0, yield(&c, 0, 0));
	EXPECT_EQ(0, acquire(&c, 0, 0));
	w = word(&c);
	EXPECT_EQ(0, acquire(&c, 0, 0));
	EXPECT_EQ(0, acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_EQ(w, word(&c));
	EXPECT_EQ(0, yield(&c, 0, 0));
	EXPECT_EQ(0, yield(&c, 0, 0));
	device_remove(c.device);
}

TEST(a_second_client_waits_until_its_time)
{
	struct client a, b;
	uint64_t start;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	EXPECT_NE(a.id, b.id);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	start = now_ns();
	EXPECT_EQ(-ETIMEDOUT, acquire(&b, 0, 50));
	EXPECT_LE(start + 50 * MS, now_ns());
	EXPECT_EQ(0, word(&b) & GPUSHARE_WAITING);	/* the request is gone */
	EXPECT_EQ(0, yield(&a, 0, 0));
	EXPECT_FALSE(granted(&b));
	EXPECT_EQ(0, acquire(&b, 0, 0));
	EXPECT_TRUE(granted(&b));
	device_remove(a.device);
}

TEST(a_time_that_has_passed_is_no_wait)
{
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = 1 };
	struct client a, b;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, arb_call(b.fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(0, word(&b) & GPUSHARE_WAITING);
	device_remove(a.device);
}

TEST(nonblock_leaves_a_request_that_poll_tells_of)
{
	struct client a, b;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_TRUE(word(&b) & GPUSHARE_WAITING);
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));	/* no second request */
	EXPECT_TRUE(EVENTUALLY(a.grant->waiters == 1));
	EXPECT_EQ(0, arb_poll(b.fd, POLLIN, 0));
	EXPECT_TRUE(EVENTUALLY(asked_back(&a)));
	EXPECT_EQ(1, a.grant->preempt);
	EXPECT_EQ(0, yield(&a, 0, 0));
	EXPECT_TRUE(arb_poll(b.fd, POLLIN, 5000) & POLLIN);
	EXPECT_EQ(GPUSHARE_GRANTED, word(&b) & GPUSHARE_FLAGS_MASK);
	EXPECT_EQ(0, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	device_remove(a.device);
}

TEST(yield_takes_a_request_back)
{
	struct client a, b;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_EQ(0, yield(&b, 0, 0));
	EXPECT_EQ(0, word(&b) & GPUSHARE_FLAGS_MASK);
	EXPECT_EQ(0, yield(&a, 0, 0));
	nap(20);
	EXPECT_FALSE(granted(&b));
	device_remove(a.device);
}

TEST(nobody_waits_nothing_happens)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE, .slice_us = 1000 };
	struct client c;
	uint64_t w;

	need_arbiter();
	c = client_new(device_add(&d));
	ASSERT_EQ(0, acquire(&c, 0, 0));
	w = word(&c);
	nap(100);			/* a hundred slices */
	EXPECT_EQ(w, word(&c));
	device_remove(c.device);
}

TEST(yield_again_alone_is_a_new_grant)
{
	struct gpushare_stats s;
	struct client c;
	uint64_t before;
	int i;

	need_arbiter();
	c = client_new(device_new());
	for (i = 0; i < 20; i++) {
		before = word(&c) >> GPUSHARE_EPOCH_SHIFT;
		EXPECT_EQ(0, yield(&c, GPUSHARE_WAIT_AGAIN, 1000));
		EXPECT_LT(before, word(&c) >> GPUSHARE_EPOCH_SHIFT);
		EXPECT_EQ(GPUSHARE_GRANTED, word(&c) & GPUSHARE_FLAGS_MASK);
	}
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_DEVICE, c.device, 0, &s));
	EXPECT_EQ(20, s.grants);
	device_remove(c.device);
}

TEST(yield_again_hands_over_and_comes_back)
{
	struct gpushare_stats s;
	struct client c, other;
	/* turn by turn; by fairness, one that had less time may go on */
	struct gpushare_device d = { .mask = GPUSHARE_DEV_POLICY, .policy = GPUSHARE_POLICY_RR };
	uint32_t device;
	int go[2], i;
	pid_t pid;

	need_arbiter();
	device = device_add(&d);
	ASSERT_EQ(0, pipe(go));
	c = client_new(device);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&other, device));
		for (i = 0; i < 10; i++)
			CHILD(!yield(&other, GPUSHARE_WAIT_AGAIN, 20000) && granted(&other));
		hold(go);
		_exit(0);
	}
	EXPECT_TRUE(EVENTUALLY(asked_back(&c)));
	/* it waits already: whoever yields lets the other have its turn */
	for (i = 0; i < 9; i++) {
		EXPECT_EQ(0, yield(&c, GPUSHARE_WAIT_AGAIN, 20000));
		EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 1));
	}
	EXPECT_EQ(-ETIMEDOUT, yield(&c, GPUSHARE_WAIT_AGAIN, 50));	/* the other sits on it */
	EXPECT_FALSE(granted(&c));
	step(go);
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_DEVICE, device, 0, &s));
	EXPECT_EQ(1 + 9 + 10 + 1, s.grants);
	EXPECT_LE(19, s.handoffs);
	device_remove(device);
}

TEST(acquire_when_asked_back_gives_way)
{
	struct client a, b;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	ASSERT_TRUE(EVENTUALLY(asked_back(&a)));
	EXPECT_EQ(-EAGAIN, acquire(&a, GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_TRUE(granted(&b));
	EXPECT_FALSE(granted(&a));
	EXPECT_TRUE(word(&a) & GPUSHARE_WAITING);
	EXPECT_EQ(0, a.grant->preempt);
	EXPECT_EQ(0, yield(&b, 0, 0));
	EXPECT_TRUE(EVENTUALLY(granted(&a)));
	EXPECT_FALSE(asked_back(&a));
	device_remove(a.device);
}

TEST(as_many_hold_as_there_are_seats)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SEATS, .seats = 3 };
	struct gpushare_device get;
	struct client c[4];
	int i;

	need_arbiter();
	c[0] = client_new(device_add(&d));
	for (i = 1; i < 4; i++)
		c[i] = client_new(c[0].device);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, acquire(&c[i], 0, 1000));
	EXPECT_EQ(-EAGAIN, acquire(&c[3], GPUSHARE_WAIT_NONBLOCK, 0));
	get = device_of(&c[0]);
	EXPECT_EQ(4, get.clients);
	EXPECT_EQ(3, get.holders);
	EXPECT_EQ(1, get.waiters);
	EXPECT_EQ(0, yield(&c[1], 0, 0));
	EXPECT_TRUE(EVENTUALLY(granted(&c[3])));
	device_remove(c[0].device);
}

#define WAITERS	6

/* How often the process has gone to sleep. */
static long sleeps(pid_t pid)
{
	char path[64], text[4096];
	const char *p;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	p = strstr(text, "\nvoluntary_ctxt_switches:");
	return p ? strtol(strchr(p, ':') + 1, NULL, 10) : -1;
}

TEST(only_who_is_granted_wakes)
{
	long before[WAITERS];
	pid_t pids[WAITERS];
	struct client c, w;
	int up[2], i, turn, who;

	need_arbiter();
	c = client_new(device_new());
	ASSERT_EQ(0, acquire(&c, 0, 0));
	ASSERT_EQ(0, pipe(up));
	for (i = 0; i < WAITERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			CHILD(!client_open(&w, c.device));
			CHILD(!acquire(&w, 0, 0));
			CHILD(write(up[1], &i, sizeof(i)) == sizeof(i));
			for (;;)
				pause();
		}
	}
	EXPECT_TRUE(EVENTUALLY(device_of(&c).waiters == WAITERS));
	for (i = 0; i < WAITERS; i++) {
		EXPECT_TRUE(EVENTUALLY(blocked(pids[i])));
		before[i] = sleeps(pids[i]);
		EXPECT_LT(0, before[i]);
	}
	EXPECT_EQ(0, yield(&c, 0, 0));
	for (turn = 0; turn < WAITERS; turn++) {
		ASSERT_EQ(sizeof(who), read(up[0], &who, sizeof(who)));
		nap(50);	/* as long as others, if they woke, need to sleep again */
		before[who] = 0;
		for (i = 0; i < WAITERS; i++)
			EXPECT_TRUE(!before[i] || (blocked(pids[i]) &&
						   sleeps(pids[i]) == before[i]));
		kill(pids[who], SIGKILL);
		reap(pids[who]);
	}
	device_remove(c.device);
}

TEST(any_of_a_set_wins_once)
{
	struct gpushare_wait w = { .size = sizeof(w), .flags = GPUSHARE_WAIT_ANY };
	struct client a, b, block;

	need_arbiter();
	a = client_new(device_new());
	ASSERT_EQ(0, client_open_set(&b, device_new(), a.fd));
	block = client_new(a.device);
	ASSERT_EQ(0, acquire(&block, 0, 0));
	w.until_ns = GPUSHARE_FOREVER;
	ASSERT_EQ(0, arb_call(a.fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(b.device, w.device);
	EXPECT_EQ(b.id, w.client);
	EXPECT_TRUE(granted(&b));
	EXPECT_EQ(0, word(&a) & GPUSHARE_FLAGS_MASK);	/* the other request vanished */
	EXPECT_EQ(0, yield(&block, 0, 0));
	nap(20);
	EXPECT_FALSE(granted(&a));
	device_remove(a.device);
	device_remove(b.device);
}

TEST(any_of_a_set_times_out_everywhere)
{
	struct client a, b, x, y;

	need_arbiter();
	a = client_new(device_new());
	ASSERT_EQ(0, client_open_set(&b, device_new(), a.fd));
	x = client_new(a.device);
	y = client_new(b.device);
	ASSERT_EQ(0, acquire(&x, 0, 0));
	ASSERT_EQ(0, acquire(&y, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, acquire(&b, GPUSHARE_WAIT_ANY, 30));
	EXPECT_EQ(0, word(&a) & GPUSHARE_WAITING);
	EXPECT_EQ(0, word(&b) & GPUSHARE_WAITING);
	/* and by poll: either file tells */
	EXPECT_EQ(-EAGAIN, acquire(&a, GPUSHARE_WAIT_ANY | GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_EQ(0, yield(&y, 0, 0));
	EXPECT_TRUE(EVENTUALLY(granted(&b)));
	EXPECT_EQ(0, word(&a) & GPUSHARE_FLAGS_MASK);
	device_remove(a.device);
	device_remove(b.device);
}

TEST(a_request_of_ones_own_ends_that_of_the_set)
{
	struct client a, b, x, y;

	need_arbiter();
	a = client_new(device_new());
	ASSERT_EQ(0, client_open_set(&b, device_new(), a.fd));
	x = client_new(a.device);
	y = client_new(b.device);
	ASSERT_EQ(0, acquire(&x, 0, 0));
	ASSERT_EQ(0, acquire(&y, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&a, GPUSHARE_WAIT_ANY | GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_NE(0, word(&a) & GPUSHARE_WAITING);
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_EQ(0, word(&a) & GPUSHARE_WAITING);
	EXPECT_NE(0, word(&b) & GPUSHARE_WAITING);
	device_remove(a.device);
	device_remove(b.device);
}

TEST(overrun_loses_its_seat_in_the_books)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_SLICE,
		.grace_us = 20000, .slice_us = 1000 };
	struct gpushare_stats s;
	struct client a, b;

	need_arbiter();
	a = client_new(device_add(&d));
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(0, acquire(&b, 0, 10000));	/* although a never yields */
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(1, s.overruns);
	EXPECT_EQ(1, s.preempts);
	/* its time is charged on, and it comes back when it yields */
	EXPECT_EQ(0, yield(&b, 0, 0));
	EXPECT_EQ(0, yield(&a, GPUSHARE_WAIT_AGAIN, 10000));
	EXPECT_TRUE(granted(&a));
	EXPECT_FALSE(asked_back(&a));
	device_remove(a.device);
}

TEST(kill_after_kills)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_KILL,
		.grace_us = 10000, .kill_us = 50000 };
	struct client c;
	uint32_t device;
	pid_t pid;

	need_arbiter();
	device = device_add(&d);
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		for (;;)
			pause();
	}
	c = client_new(device);
	EXPECT_TRUE(EVENTUALLY(device_of(&c).holders));
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	device_remove(device);
}

/*
 * Something that doesn't yield, and is killed for it: @start is what the process
 * does once it holds. It ends with what is written to @up, if anything.
 */
static pid_t deaf(uint32_t device, int *up, void (*start)(int up))
{
	struct client c;
	pid_t pid;
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		start(fds[1]);
		for (;;)
			pause();
	}
	close(fds[1]);
	*up = fds[0];
	return pid;
}

static uint32_t device_that_kills(void)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_KILL,
		.grace_us = 10000, .kill_us = 50000 };

	need_arbiter();
	return device_add(&d);
}

/* Has it been killed by now, or in a while? */
static bool is_killed(pid_t pid)
{
	int status = 0;

	return EVENTUALLY(waitpid(pid, &status, WNOHANG) == pid) &&
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int pauses(void *arg)
{
	while (!arg)
		pause();
	return 0;
}

/* Another process that uses this one's memory, as a child of the test, too. */
static void share_memory(int up)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = clone(pauses, stack + sizeof(stack), CLONE_VM | CLONE_PARENT | SIGCHLD, NULL);

	CHILD(pid > 0);
	CHILD(write(up, &pid, sizeof(pid)) == sizeof(pid));
}

/* A client belongs to an address space, so all who use that are its owners. */
TEST(kill_after_kills_all_who_share_the_memory)
{
	pid_t pid, other;
	struct client c;
	int up;

	ONLY_MODULE("a look at who uses an address space");
	c = client_new(device_that_kills());
	pid = deaf(c.device, &up, share_memory);
	ASSERT_EQ(sizeof(other), read(up, &other, sizeof(other)));
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	EXPECT_TRUE(is_killed(pid));
	EXPECT_TRUE(is_killed(other));
	EXPECT_TRUE(EVENTUALLY(device_of(&c).clients == 1));
	device_remove(c.device);
}

static void share_memory_and_exec(int up)
{
	share_memory(up);
	execlp("sleep", "sleep", "1000", NULL);
	_exit(1);
}

static bool runs(pid_t pid, const char *program)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%31s", comm) != 1)
		comm[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(comm, program);
}

/* Whoever runs another program by now has nothing to do with the client any more. */
TEST(kill_after_spares_who_has_left_the_memory)
{
	pid_t pid, other;
	struct client c;
	int up;

	ONLY_MODULE("a look at who uses an address space");
	c = client_new(device_that_kills());
	pid = deaf(c.device, &up, share_memory_and_exec);
	ASSERT_EQ(sizeof(other), read(up, &other, sizeof(other)));
	EXPECT_TRUE(EVENTUALLY(runs(pid, "sleep")));
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	EXPECT_TRUE(is_killed(other));
	EXPECT_TRUE(EVENTUALLY(device_of(&c).clients == 1));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	reap(pid);
	device_remove(c.device);
}

static void *pauses_too(void *arg)
{
	pauses(arg);
	return NULL;
}

static void leave_a_thread(int up)
{
	pthread_t t;

	CHILD(!pthread_create(&t, NULL, pauses_too, NULL));
	CHILD(write(up, "", 1) == 1);
	syscall(SYS_exit, 0);
}

TEST(kill_after_kills_what_its_main_thread_left)
{
	struct client c = client_new(device_that_kills());
	pid_t pid;
	char ch;
	int up;

	pid = deaf(c.device, &up, leave_a_thread);
	ASSERT_EQ(1, read(up, &ch, 1));
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	EXPECT_TRUE(is_killed(pid));
	EXPECT_TRUE(EVENTUALLY(device_of(&c).clients == 1));
	device_remove(c.device);
}

/* The first process of a pid namespace takes no signal that it doesn't want, but this. */
TEST(kill_after_kills_a_containers_init)
{
	struct client c = client_new(device_that_kills()), own;
	pid_t pid, inner;

	pid = fork();
	if (!pid) {
		CHILD(!unshare(CLONE_NEWPID));
		inner = fork();
		if (!inner) {
			CHILD(getpid() == 1);
			CHILD(!client_open(&own, c.device));
			CHILD(!acquire(&own, 0, 0));
			pauses(NULL);
		}
		_exit(reap(inner) == 128 + SIGKILL ? 0 : 1);
	}
	EXPECT_TRUE(EVENTUALLY(device_of(&c).holders));
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	EXPECT_EQ(0, reap(pid));
	device_remove(c.device);
}

TEST(bad_flags_are_refused)
{
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = GPUSHARE_FOREVER };
	struct client c;

	need_arbiter();
	c = client_new(device_new());
	w.flags = 0x8;
	EXPECT_EQ(-EINVAL, arb_call(c.fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(-EINVAL, arb_call(c.fd, GPUSHARE_YIELD, &w));
	w.flags = GPUSHARE_WAIT_AGAIN;
	EXPECT_EQ(-EINVAL, arb_call(c.fd, GPUSHARE_ACQUIRE, &w));	/* YIELD only */
	w.flags = 0;
	w.reserved = 1;
	EXPECT_EQ(-EINVAL, arb_call(c.fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(0, word(&c) & GPUSHARE_FLAGS_MASK);
	device_remove(c.device);
}

TEST_MAIN()
