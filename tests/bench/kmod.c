// SPDX-License-Identifier: MIT
/*
 * What the kernel module costs its clients, as ratios to what the kernel itself
 * costs in the same run: under emulation a time alone means nothing. Each pair
 * is measured in turns, and the median of the rounds' ratios counts.
 */
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "lib.h"

#define ROUNDS	25
#define FEW	100
#define MANY	10000

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
	struct rlimit most = { MANY + 100, MANY + 100 };
	struct gpushare_attach a = { .size = sizeof(a), .device = device, .set_fd = -1 };
	double few[ROUNDS], each;
	static int fds[MANY];
	int i, fd = arb_open();
	uint64_t t = 0;

	EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &most));
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

TEST_LIMIT(bench, 600)
{
	/* turn by turn: by fairness one that had less time might go on */
	struct gpushare_device rr = { .mask = GPUSHARE_DEV_POLICY, .policy = GPUSHARE_POLICY_RR };
	uint32_t device;
	cpu_set_t one;

	need_arbiter();
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
}

TEST_MAIN()
