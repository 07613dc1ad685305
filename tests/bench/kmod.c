// SPDX-License-Identifier: MIT
/*
 * What the kernel module costs its clients, as ratios to what the kernel itself
 * costs in the same run: under emulation a time alone means nothing. Each pair
 * is measured in turns, and the median of the rounds' ratios counts.
 */
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include "lib.h"

#define ROUNDS	25
#define FEW	100
#define MANY	10000
#define GROUPS	1000
#define WAITING	3000
#define OVER	1000

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void say(const char *name, double value, const char *unit, double target)
{
	printf("bench %s %.2f %s %.2f %s\n", name, value, unit, target,
	       value <= target ? "ok" : "short");
	test_failures += value > target;
	fflush(stdout);
}

/* Any system call but the end kills from here on. */
static int forbid_calls(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(*f), f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* A million slices with a look at the page before each: no system call. */
static void look(uint32_t device)
{
	struct client c;
	pid_t pid = fork();
	int i, may = 0;

	if (!pid) {
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		CHILD(!forbid_calls());
		for (i = 0; i < 1000000; i++)
			may += (word(&c) & (GPUSHARE_GRANTED | GPUSHARE_PREEMPT)) ==
			       GPUSHARE_GRANTED;
		syscall(SYS_exit_group, may == 1000000 ? 0 : 1);
	}
	/* killed by the filter (128 + SIGSYS) means that there was one */
	say("kmod-calls-in-1e6-slices", reap(pid) ? 1 : 0, "calls", 0);
	pid = fork();
	if (!pid) {		/* and the filter does kill */
		CHILD(!forbid_calls());
		syscall(SYS_getppid);
		syscall(SYS_exit_group, 0);
	}
	if (reap(pid) != 128 + SIGSYS)
		say("kmod-filter-works", 1, "failures", 0);
}

static void alone(uint32_t device)
{
	struct gpushare_wait w = { .size = sizeof(w), .flags = GPUSHARE_WAIT_AGAIN,
		.until_ns = GPUSHARE_FOREVER };
	double ratio[ROUNDS], ours[ROUNDS], base[ROUNDS];
	struct client c = client_new(device);
	uint64_t t;
	int r, i, n = 2000;

	acquire(&c, 0, 0);
	for (r = 0; r < ROUNDS; r++) {
		t = now_ns();
		for (i = 0; i < n; i++)
			syscall(SYS_getppid);
		base[r] = (double)(now_ns() - t) / n;
		t = now_ns();
		for (i = 0; i < n; i++)
			arb_call(c.fd, GPUSHARE_YIELD, &w);
		ours[r] = (double)(now_ns() - t) / n;
		ratio[r] = ours[r] / base[r];
	}
	printf("# alone: getppid %.0f ns, yield and acquire %.0f ns\n", median(base, ROUNDS),
	       median(ours, ROUNDS));
	say("kmod-yield-alone", median(ratio, ROUNDS), "x-getppid", 3);
	client_close(&c);
}

static void futex(unsigned int *word, int op, unsigned int value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static struct shared {
	unsigned int turn;		/* whose it is: 0 or 1 */
	unsigned int phase;
	unsigned int ready;
} *shared;

static void pass_by_futex(unsigned int me, int n)
{
	unsigned int now;

	while (n--) {
		while ((now = __atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE)) != me)
			futex(&shared->turn, FUTEX_WAIT, now);
		__atomic_store_n(&shared->turn, !me, __ATOMIC_RELEASE);
		futex(&shared->turn, FUTEX_WAKE, 1);
	}
}

static void meet(unsigned int phase)
{
	if (__atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL) == 2 * phase) {
		__atomic_store_n(&shared->phase, phase, __ATOMIC_RELEASE);
		futex(&shared->phase, FUTEX_WAKE, 1);
	}
	while (__atomic_load_n(&shared->phase, __ATOMIC_ACQUIRE) < phase)
		futex(&shared->phase, FUTEX_WAIT, phase - 1);
}

static double ratios[ROUNDS];
static double theirs[ROUNDS], ours[ROUNDS];

/*
 * Both processes run this, the parent first: it measures. The other one always
 * waits already when one yields, so that each yield is a handoff.
 */
static void pass(unsigned int me, struct client *c)
{
	struct gpushare_wait w = { .size = sizeof(w), .flags = GPUSHARE_WAIT_AGAIN,
		.until_ns = GPUSHARE_FOREVER };
	int r, i, n = 500, phase = 0;
	uint64_t t;

	for (r = 0; r < ROUNDS; r++) {
		meet(++phase);
		t = now_ns();
		pass_by_futex(me, n);
		theirs[r] = (double)(now_ns() - t) / n / 2;
		if (!me)
			acquire(c, 0, 0);
		meet(++phase);
		if (me)
			acquire(c, 0, 0);
		while (!me && !c->grant->waiters)
			sched_yield();
		t = now_ns();
		for (i = 0; i < n; i++)
			arb_call(c->fd, GPUSHARE_YIELD, &w);
		ours[r] = (double)(now_ns() - t) / n / 2;
		yield(c, 0, 0);
		ratios[r] = ours[r] / theirs[r];
	}
}

static void handoff(uint32_t device)
{
	struct gpushare_stats s;
	struct client c;
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&c, device));
		pass(1, &c);
		_exit(0);
	}
	c = client_new(device);
	pass(0, &c);
	reap(pid);
	stats(c.fd, GPUSHARE_STATS_DEVICE, device, 0, &s);
	printf("# handoff: futex %.0f ns, grant %.0f ns each; ", median(theirs, ROUNDS),
	       median(ours, ROUNDS));
	printf("%llu of %llu grants were handoffs\n", (unsigned long long)s.handoffs,
	       (unsigned long long)s.grants);
	say("kmod-handoff", median(ratios, ROUNDS), "x-futex", 1.5);
	client_close(&c);
}

/* How long it takes to list all clients, in ns for each. */
static double list(int fd, unsigned int clients)
{
	struct gpushare_stats s = { .id = 0 };
	unsigned int n = 0;
	uint64_t t = now_ns();

	for (;;) {
		s.size = sizeof(s);
		s.flags = GPUSHARE_GET_NEXT;
		s.what = GPUSHARE_STATS_CLIENT;
		if (arb_call(fd, GPUSHARE_STATS, &s))
			break;
		n++;
	}
	t = now_ns() - t;
	EXPECT_EQ(clients, n);
	return (double)t / n;
}

/* Each of ten thousand clients is found as quickly as each of a hundred. */
static void many(uint32_t device)
{
	struct gpushare_attach a = { .size = sizeof(a), .device = device, .set_fd = -1 };
	double few[ROUNDS], each;
	static int fds[MANY];
	int i, fd = arb_open();
	uint64_t t = 0;

	for (i = 0; i < MANY; i++) {
		if (i == FEW) {
			for (t = 0; t < ROUNDS; t++)
				few[t] = list(fd, FEW);
			t = now_ns();
		}
		fds[i] = arb_open();
		ASSERT_LE(0, fds[i]);
		a.client = 0;
		ASSERT_EQ(0, arb_call(fds[i], GPUSHARE_ATTACH, &a));
	}
	t = now_ns() - t;
	each = list(fd, MANY);
	printf("# list: %.0f ns for each of %u clients, %.0f ns for each of %u; attach %.0f ns\n",
	       median(few, ROUNDS), FEW, each, MANY, (double)t / (MANY - FEW));
	say("kmod-list-many", each / median(few, ROUNDS), "x-few", 2);
	for (i = 0; i < MANY; i++)
		close(fds[i]);
	close(fd);
}

static int set(int fd, const char *path, uint32_t mask, uint32_t reset)
{
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = -1, .mask = mask,
		.reset = reset, .weight = 100 };
	int r;

	s.cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = arb_call(fd, GPUSHARE_SHARE_SET, &s);
	close(s.cgroup_fd);
	return r;
}

/*
 * How long others wait, at most, while somebody gives a cgroup a share and takes it
 * again, in ms. There is one processor: who has it and the lock lets nobody else run, so
 * what comes first in all else is late by just that.
 */
static double others_wait(uint32_t device, const char *path)
{
	struct sched_param first = { .sched_priority = 1 };
	struct gpushare_stats s;
	uint64_t at, longest = 0;
	int fd = arb_open();
	pid_t pid;

	pid = fork();
	if (!pid) {
		CHILD(!set(fd, path, GPUSHARE_SHARE_WEIGHT, 0));
		CHILD(!set(fd, path, 0, GPUSHARE_SHARE_ALL));
		_exit(0);
	}
	EXPECT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &first));
	while (!waitpid(pid, NULL, WNOHANG)) {
		at = now_ns() + MS / 5;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				&(struct timespec){ at / 1000000000, at % 1000000000 }, NULL);
		EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_DEVICE, device, 0, &s));
		at = now_ns() - at;
		if (at > longest)
			longest = at;
	}
	EXPECT_EQ(0, sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){}));
	close(fd);
	return (double)longest / MS;
}

/* A group that comes between, and goes, with 1,000 below it that 8 devices know. */
static void adopt(void)
{
	uint32_t devices[8];
	int i, j, fd = arb_open();
	char *top, path[300];

	top = cg_new(CGROOT, "bench-adopt");
	for (j = 0; j < 8; j++)
		devices[j] = device_new();
	for (i = 0; i < GROUPS; i++) {
		snprintf(path, sizeof(path), "%s/g%d", top, i);
		ASSERT_EQ(0, mkdir(path, 0755));
		for (j = 0; j < 8; j++)
			EXPECT_EQ(0, share_set(fd, path, devices[j], 100));
	}
	say("kmod-adopt-others-wait", others_wait(devices[0], top), "ms", 10);
	for (i = 0; i < GROUPS; i++) {
		snprintf(path, sizeof(path), "%s/g%d", top, i);
		rmdir(path);
	}
	cg_remove(top);
	for (j = 0; j < 8; j++)
		device_remove(devices[j]);
	close(fd);
}

/* A group goes in which 3,000 clients wait. */
static void empty(void)
{
	uint32_t device = device_new();
	int i, fd = arb_open();
	struct client first;
	char *path;
	char ch;
	pid_t pid;
	int up[2];

	path = cg_new(CGROOT, "bench-empty");
	EXPECT_EQ(0, share_set(fd, path, 0, 100));
	first = client_new(device);
	EXPECT_EQ(0, acquire(&first, 0, 0));
	EXPECT_EQ(0, pipe(up));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(path));
		for (i = 0; i < WAITING; i++) {
			struct gpushare_attach a = { .size = sizeof(a), .device = device,
				.set_fd = -1 };
			struct client c = { .fd = arb_open() };

			CHILD(!arb_call(c.fd, GPUSHARE_ATTACH, &a));
			CHILD(acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0) == -EAGAIN);
		}
		CHILD(write(up[1], "", 1) == 1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(up[0], &ch, 1));
	say("kmod-empty-others-wait", others_wait(device, path), "ms", 10);
	kill(pid, SIGKILL);
	reap(pid);
	device_remove(device);
	cg_remove(path);
	close(fd);
}

/* How long STATS of a device takes while @n clients are past grace on it, in ns. */
static double stats_with_over(int n)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_GRACE,
		.slice_us = 100, .grace_us = 1000 };
	uint32_t device = device_add(&d);
	double ns[ROUNDS];
	struct gpushare_stats s = {};
	static int fds[OVER];
	int i, fd = arb_open();
	uint64_t t;

	for (i = 0; i < n; i++) {
		struct gpushare_attach a = { .size = sizeof(a), .device = device, .set_fd = -1 };
		struct client c = { .fd = arb_open() };
		int r;

		ASSERT_EQ(0, arb_call(c.fd, GPUSHARE_ATTACH, &a));
		r = acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0);
		EXPECT_TRUE(!r || r == -EAGAIN);
		fds[i] = c.fd;
	}
	for (i = 0; i < 60000 && s.overruns < (unsigned int)n - 1; i++) {
		EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_DEVICE, device, 0, &s));
		nap(10);
	}
	EXPECT_EQ(n - 1, s.overruns);
	for (i = 0; i < ROUNDS; i++) {
		t = now_ns();
		EXPECT_EQ(0, stats(fd, GPUSHARE_STATS_DEVICE, device, 0, &s));
		ns[i] = now_ns() - t;
	}
	for (i = 0; i < n; i++)
		close(fds[i]);
	close(fd);
	device_remove(device);
	return median(ns, ROUNDS);
}

static void *sleep_on(void *unused)
{
	pause();
	return unused;
}

/* Holds the device, with threads and memory that it takes time to get rid of. */
static pid_t burdened_holder(uint32_t device)
{
	size_t i, size = 64 << 20;
	pthread_t thread;
	struct client c;
	int up[2];
	pid_t pid;
	char ch, *p;

	ASSERT_EQ(0, pipe(up));
	pid = fork();
	if (!pid) {
		CHILD(!sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){}));
		CHILD((p = malloc(size)));
		for (i = 0; i < size; i += 4096)
			p[i] = 1;
		for (i = 0; i < 20; i++)
			CHILD(!pthread_create(&thread, NULL, sleep_on, NULL));
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		CHILD(write(up[1], "", 1) == 1);
		for (;;)
			;
	}
	close(up[1]);
	ASSERT_EQ(1, read(up[0], &ch, 1));
	close(up[0]);
	return pid;
}

/* After kill -9 of a holder, with four busy loops beside: until the next has the device, in ms. */
static void after_kill(void)
{
	struct sched_param first = { .sched_priority = 1 };
	uint32_t device = device_add(&(struct gpushare_device){ .mask = GPUSHARE_DEV_GRACE,
		.grace_us = 100000 });
	double took, sum = 0, worst = 0;
	pid_t busy[4], pid;
	struct client c;
	uint64_t t;
	int i;

	for (i = 0; i < 4; i++) {
		busy[i] = fork();
		while (!busy[i])
			;
	}
	c = client_new(device);
	EXPECT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &first));
	for (i = 0; i < ROUNDS; i++) {
		pid = burdened_holder(device);
		EXPECT_EQ(-ETIMEDOUT, acquire(&c, 0, 1 + i % 5));
		t = now_ns();
		kill(pid, SIGKILL);
		EXPECT_EQ(0, acquire(&c, 0, 0));
		took = (double)(now_ns() - t) / MS;
		sum += took;
		worst = took > worst ? took : worst;
		EXPECT_EQ(0, yield(&c, 0, 0));
		reap(pid);
	}
	EXPECT_EQ(0, sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){}));
	say("kmod-after-kill-mean", sum / ROUNDS, "ms", 5);
	say("kmod-after-kill-worst", worst, "ms", 10);
	for (i = 0; i < 4; i++) {
		kill(busy[i], SIGKILL);
		reap(busy[i]);
	}
	client_close(&c);
	device_remove(device);
}

TEST_LIMIT(bench, 600)
{
	/* turn by turn: by fairness one that had less time might go on */
	struct gpushare_device rr = { .mask = GPUSHARE_DEV_POLICY, .policy = GPUSHARE_POLICY_RR };
	struct rlimit most = { MANY + 100, MANY + 100 };
	uint32_t device;
	cpu_set_t one;

	need_arbiter();
	EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &most));
	/*
	 * All on one processor, as the scheduler does by itself with a futex's
	 * two: waking an emulated processor that sleeps takes as long as the
	 * machine below pleases.
	 */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	EXPECT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	device = device_new();
	look(device);
	alone(device);
	device_remove(device);
	device = device_add(&rr);
	handoff(device);
	device_remove(device);
	device = device_new();
	many(device);
	device_remove(device);
	adopt();
	empty();
	after_kill();
	say("kmod-stats-of-overrunners", stats_with_over(OVER) / stats_with_over(10), "x-ten", 1.5);
}

TEST_MAIN()
