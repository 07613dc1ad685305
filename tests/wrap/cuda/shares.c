// SPDX-License-Identifier: MIT
/*
 * make bench BENCH=shares: how far from its due is what each tenant holds, with all
 * settings as they are by default, by rule, by the length of kernels, and with busy loops
 * beside on a host that does nothing else or much. The tenants are unmodified CUDA
 * programs over the driver on the CPU; each wants the device all the time.
 *
 *	shares [SECONDS [LOADS [RULE]]]		10 s, loads 0,8,20, all rules
 *
 * The error is that of the worst tenant, in points: hundredths of the device's time that
 * was held. What nobody held is printed beside: the busy loops keep the daemon and who was
 * granted from their processors. A run in which the host kept a tenant from its processor
 * for longer than grace, so that it couldn't give back in time, is made anew, up to four
 * times: what is told by it is told of the host.
 */
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "bed.h"

#define TENANTS	4
#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

struct party {
	struct gpushare_share share;
	double due;			/* of all that is held, in hundredths */
	uid_t user;			/* whose groups divide what the user has; 0: the admin's */
};

struct rule {
	const char *name;
	unsigned int n;
	struct party t[TENANTS];
};

#define WEIGHT(w)	.mask = GPUSHARE_SHARE_WEIGHT, .weight = (w)
#define FLOOR(w, m)	.mask = GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MIN, .weight = (w), \
			.min_permille = (m)
#define CEILING(q, p)	.mask = GPUSHARE_SHARE_MAX, .max_us = (q), .period_us = (p)

/* Of a share, by whom it is set, and what is due then. */
#define PARTY(due_, user_, ...)	{ .share = { __VA_ARGS__ }, .due = (due_), .user = (user_) }
#define ADMIN(due_, ...)	PARTY(due_, 0, __VA_ARGS__)

static const struct rule rules[] = {
	{ "9:1", 2, { ADMIN(90, WEIGHT(900)), ADMIN(10, WEIGHT(100)) } },
	{ "1:2:4", 3, { ADMIN(100 / 7.0, WEIGHT(100)), ADMIN(200 / 7.0, WEIGHT(200)),
			ADMIN(400 / 7.0, WEIGHT(400)) } },
	{ "min=50%", 2, { ADMIN(50, FLOOR(100, 500)), ADMIN(50, WEIGHT(200)) } },
	{ "min=30%", 2, { ADMIN(100 / 3.0, FLOOR(100, 300)), ADMIN(200 / 3.0, WEIGHT(200)) } },
	{ "min=20%", 3, { ADMIN(25, FLOOR(100, 200)), ADMIN(50, WEIGHT(200)), ADMIN(25, WEIGHT(100)) } },
	{ "max=30%", 2, { ADMIN(30, CEILING(30000, 100000)), ADMIN(70, WEIGHT(100)) } },
	/* Two users, equal, of two groups each. */
	{ "levels", 4, { PARTY(12.5, 1001, WEIGHT(100)), PARTY(37.5, 1001, WEIGHT(300)),
			 PARTY(10, 1002, WEIGHT(100)), PARTY(40, 1002, WEIGHT(400)) } },
};

/* 8 blocks each; calibrated below. */
static const struct { const char *name; double ms; } kernels[] = {
	{ "1ms", 1 }, { "10ms", 10 }, { "20ms", 20 },
};

struct job {
	char group[16];
	uint32_t steps;
	const struct party *party;
};

static struct world w;
static int failed;

/* Keeps what the driver needs, whose device runs in real time. */
static bool become(uid_t user)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { .effective = 1u << CAP_SYS_NICE,
						    .permitted = 1u << CAP_SYS_NICE } };

	return setgid(user) || prctl(PR_SET_KEEPCAPS, 1) || setuid(user) ||
	       syscall(SYS_capset, &head, caps) || prctl(PR_SET_DUMPABLE, 1);
}

static void work(void *arg)
{
	const struct job *job = arg;
	struct gpushare_share share = job->party->share;
	struct program p;
	CUstream s;

	if (job->party->user && become(job->party->user))
		exit(1);
	if (job->party->user)
		ASSERT_EQ(0, group_set(&w, job->group, &share));
	setenv("GPUSHARE_GROUP", job->group, 1);
	program_start(&p);
	MUST(cuStreamCreate(&s, 1));
	for (;;)
		MUST(program_spin(&p, 8, job->steps, s));
}

static void burn(void *arg)
{
	(void)arg;
	for (;;)
		__asm__ volatile("");
}

/* Steps a block of eight for a millisecond, when nobody else is there. */
static void calibrate(void *arg)
{
	const uint32_t steps = 40000;
	double *per_ms = arg;
	uint64_t best = UINT64_MAX, from;
	struct program p;
	int i;

	setenv("GPUSHARE", "off", 1);
	program_start(&p);
	for (i = 0; i < 10; i++) {
		from = now_ns();
		MUST(program_spin(&p, 8, steps, NULL));
		MUST(cuCtxSynchronize());
		if (now_ns() - from < best)
			best = now_ns() - from;
	}
	*per_ms = steps * 1e6 / (double)best;
}

static struct gpushare_stats stats_of_child(pid_t pid)
{
	struct gpushare_stats s = { .size = sizeof(s), .what = GPUSHARE_STATS_CLIENT,
				    .flags = GPUSHARE_GET_NEXT };

	while (!world_call(&w, GPUSHARE_STATS, &s)) {
		if (s.pid == pid)
			return s;
		s.flags = GPUSHARE_GET_NEXT;
	}
	return (struct gpushare_stats){ 0 };
}

/* Returns false if the host was too late for it to count; @last: it counts all the same. */
static bool measure(const struct rule *r, const char *kernel, uint32_t steps, unsigned int load,
		    unsigned int seconds, bool last)
{
	static const char *const for_users[] = { "--system", "--state", "none", NULL };
	double worst = 0, part, off;
	struct gpushare_share share;
	struct gpushare_stats from[TENANTS], to[TENANTS];
	uint64_t all = 0, began, took, overruns = 0;
	struct job job[TENANTS];
	pid_t pid[TENANTS];
	unsigned int i;

	bed_make_with(&w, 100, r->t[0].user ? for_users : NULL);
	for (i = 0; i < r->n; i++) {
		snprintf(job[i].group, sizeof(job[i].group), "t%u", i);
		job[i].steps = steps;
		job[i].party = &r->t[i];
		share = r->t[i].share;
		if (!r->t[i].user)
			ASSERT_EQ(0, group_set(&w, job[i].group, &share));
		pid[i] = child_start(work, &job[i]);
	}
	for (i = 0; i < r->n; i++)
		ASSERT_TRUE(WAIT_FOR(stats_of_child(pid[i]).usage_ns > 0));
	began = now_ns();
	for (i = 0; i < r->n; i++)
		from[i] = stats_of_child(pid[i]);
	sleep_ns(seconds * SEC);
	took = now_ns() - began;
	for (i = 0; i < r->n; i++) {
		to[i] = stats_of_child(pid[i]);
		all += to[i].usage_ns - from[i].usage_ns;
		overruns += to[i].overruns - from[i].overruns;
	}
	printf("#");
	for (i = 0; i < r->n; i++) {
		part = 100.0 * (double)(to[i].usage_ns - from[i].usage_ns) / (double)all;
		off = part - r->t[i].due;
		if (off < 0)
			off = -off;
		if (off > worst)
			worst = off;
		printf(" %.2f", part);
	}
	printf(" of 100 held, %.2f held by nobody, %" PRIu64 " past grace\n",
	       100 - 100.0 * (double)all / (double)took, overruns);
	if (last || !overruns) {
		printf("bench shares/%s,%s,load=%u %.2f points <=1 %s\n", r->name, kernel, load,
		       worst, worst <= 1 ? "ok" : "short");
		failed |= worst > 1;
	}
	fflush(stdout);
	for (i = 0; i < r->n; i++) {
		kill(pid[i], SIGKILL);
		child_wait(pid[i]);
	}
	world_stop(&w, SIGTERM);
	world_remove(&w);
	return last || !overruns;
}

static void row(const struct rule *r, const char *kernel, uint32_t steps, unsigned int load,
		unsigned int seconds)
{
	int tries = 4;

	while (!measure(r, kernel, steps, load, seconds, !--tries))
		;
}

static void all_with(unsigned int load, unsigned int seconds, const char *rule, double steps_per_ms)
{
	unsigned int i, k;
	pid_t burner[64];

	for (i = 0; i < load; i++)
		burner[i] = child_start(burn, NULL);
	for (i = 0; i < COUNT(rules); i++)
		for (k = 0; k < COUNT(kernels) && (!rule || !strcmp(rule, rules[i].name)); k++)
			row(&rules[i], kernels[k].name,
			    (uint32_t)(kernels[k].ms * steps_per_ms), load, seconds);
	for (i = 0; i < load; i++) {
		kill(burner[i], SIGKILL);
		child_wait(burner[i]);
	}
}

/* The device gets a processor for itself, as a GPU has; all else has the others. */
static bool set_apart(void)
{
	struct sched_param first = { .sched_priority = 1 }, none = { 0 };
	cpu_set_t others;
	int i;

	setenv("CPUCUDA_PROCESSOR", "0", 1);
	CPU_ZERO(&others);
	for (i = 1; i < sysconf(_SC_NPROCESSORS_ONLN); i++)
		CPU_SET(i, &others);
	return !sched_setaffinity(0, sizeof(others), &others) &&
	       !sched_setscheduler(0, SCHED_FIFO, &first) &&
	       !sched_setscheduler(0, SCHED_OTHER, &none);
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 10;
	char loads[64], *load;
	double *per_ms = mmap(NULL, sizeof(*per_ms), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	bed_driver();
	if (!set_apart()) {
		printf("# it takes two processors, and the right to real-time priority\n");
		return 4;
	}
	if (per_ms == MAP_FAILED || child_wait(child_start(calibrate, per_ms)))
		return 1;
	snprintf(loads, sizeof(loads), "%s", argc > 2 ? argv[2] : "0,8,20");
	for (load = strtok(loads, ","); load; load = strtok(NULL, ","))
		all_with((unsigned int)atoi(load) % 64, seconds, argc > 3 ? argv[3] : NULL,
			 *per_ms);
	return failed;
}
