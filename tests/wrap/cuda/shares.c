// SPDX-License-Identifier: MIT
/*
 * make bench BENCH=shares: how far from its due is what each tenant holds, with all
 * settings as they are by default, by rule, by the length of kernels, and with busy loops
 * beside on a host that does nothing else or much. The tenants are unmodified programs,
 * CUDA's over the driver on the CPU or OpenCL's over PoCL; each wants the device all the
 * time.
 *
 *	shares [SECONDS [LOADS [RULE [API]]]]	10 s, loads 0,8,20, all rules, both
 *
 * The error is that of the worst tenant, in points: hundredths of the device's time that
 * was held. What nobody held is printed beside: the busy loops keep the daemon and who was
 * granted from their processors. A run in which the host kept a tenant from its processor
 * for longer than grace, so that it couldn't give back in time, is made anew, up to four
 * times: what is told by it is told of the host.
 */
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
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

struct api;

struct job {
	char group[16];
	uint32_t steps;
	const struct party *party;
	const struct api *api;
};

struct api {
	const char *name;
	const char *key;		/* of its device, where the bed has none for it */
	void (*work)(const struct job *job);	/* without end */
	double (*calibrate)(void);	/* steps of a block in a ms, with nobody beside */
	bool (*there)(void);
};

static struct world w;
static int failed;

/* Keeps what the driver needs, whose device runs in real time. */
static bool become(uid_t user)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { .effective = 1u << CAP_SYS_NICE,
						    .permitted = 1u << CAP_SYS_NICE,
						    .inheritable = 1u << CAP_SYS_NICE } };

	return setgid(user) || prctl(PR_SET_KEEPCAPS, 1) || setuid(user) ||
	       syscall(SYS_capset, &head, caps) ||
	       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_NICE, 0, 0) ||
	       prctl(PR_SET_DUMPABLE, 1);
}

static void cuda_work(const struct job *job)
{
	struct program p;
	CUstream s;

	program_start(&p);
	MUST(cuStreamCreate(&s, 1));
	for (;;)
		MUST(program_spin(&p, 8, job->steps, s));
}

static bool always(void)
{
	return true;
}

#define POCL "/etc/OpenCL/vendors/pocl.icd"

static char pocl_cache[PATH_MAX];

static const char *built(const char *what)
{
	static char path[PATH_MAX];
	const char *o = getenv("O");

	snprintf(path, sizeof(path), "%s/%s", o ? o : "build/user", what);
	return path;
}

/* The layer's path must be whole; without the layer it is nobody's tenant. */
static void opencl_run(const char *steps, bool layer)
{
	char *path = layer ? realpath(built("lib/gpushare/libgpushare-opencl.so"), NULL) : NULL;
	char own[PATH_MAX + 16];

	snprintf(own, sizeof(own), "%s/%u", pocl_cache, getuid());
	setenv("OCL_ICD_VENDORS", POCL, 1);
	setenv("POCL_CACHE_DIR", own, 1);
	/* One thread computes, on the first processor. */
	setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
	setenv("POCL_AFFINITY", "1", 1);
	if (path)
		setenv("OPENCL_LAYERS", path, 1);
	execl(built("tests/wrap/opencl/spin"), "spin", steps, NULL);
	exit(127);
}

static void opencl_work(const struct job *job)
{
	char steps[16];

	snprintf(steps, sizeof(steps), "%" PRIu32, job->steps);
	opencl_run(steps, true);
}

static double opencl_calibrate(void)
{
	double per_ms = 0;
	int ends[2];
	FILE *from;
	pid_t pid;

	if (pipe(ends))
		return 0;
	pid = fork();
	if (!pid) {
		dup2(ends[1], 1);
		opencl_run(NULL, false);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (!from || fscanf(from, "%lf", &per_ms) != 1)
		per_ms = 0;
	if (child_wait(pid))
		per_ms = 0;
	return per_ms;
}

static bool opencl_there(void)
{
	return !access(POCL, R_OK) && !access(built("lib/gpushare/libgpushare-opencl.so"), R_OK) &&
	       !access(built("tests/wrap/opencl/spin"), X_OK);
}

static const struct api apis[] = {
	{ "cuda", NULL, cuda_work, bed_steps_per_ms, always },
	{ "opencl", "cpu:0", opencl_work, opencl_calibrate, opencl_there },
};

static void work(void *arg)
{
	const struct job *job = arg;
	struct gpushare_share share = job->party->share;

	if (job->party->user && become(job->party->user))
		exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* forgotten with each change of user */
	if (job->party->user)
		ASSERT_EQ(0, group_set(&w, job->group, &share));
	setenv("GPUSHARE_GROUP", job->group, 1);
	job->api->work(job);
}

/* Returns false if the host was too late for it to count; @last: it counts all the same. */
static bool measure(const struct api *api, const struct rule *r, const char *kernel, uint32_t steps,
		    unsigned int load, unsigned int seconds, bool last)
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
	if (api->key) {
		struct gpushare_device dev = {
			.size = sizeof(dev), .kind = GPUSHARE_KIND_CPU,
			.mask = GPUSHARE_DEV_GRACE, .grace_us = 100000,
		};

		strcpy(dev.key, api->key);
		/* A user's own arbiter has it already. */
		if (world_call(&w, GPUSHARE_DEVICE_ADD, &dev))
			ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	}
	for (i = 0; i < r->n; i++) {
		snprintf(job[i].group, sizeof(job[i].group), "t%u", i);
		job[i].steps = steps;
		job[i].party = &r->t[i];
		job[i].api = api;
		share = r->t[i].share;
		if (!r->t[i].user)
			ASSERT_EQ(0, group_set(&w, job[i].group, &share));
		pid[i] = child_start(work, &job[i]);
	}
	for (i = 0; i < r->n; i++)
		ASSERT_TRUE(WAIT_FOR(child_stats(&w, pid[i]).usage_ns > 0));
	began = now_ns();
	for (i = 0; i < r->n; i++)
		from[i] = child_stats(&w, pid[i]);
	sleep_ns(seconds * SEC);
	took = now_ns() - began;
	for (i = 0; i < r->n; i++) {
		to[i] = child_stats(&w, pid[i]);
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
		printf("bench shares/%s,%s,%s,load=%u %.2f points <=1 %s\n", api->name, r->name,
		       kernel, load, worst, worst <= 1 ? "ok" : "short");
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

static void all_with(const struct api *api, unsigned int load, unsigned int seconds,
		     const char *rule, double steps_per_ms)
{
	unsigned int i, k, steps;
	int tries;

	bed_load(load);
	for (i = 0; i < COUNT(rules); i++)
		for (k = 0; k < COUNT(kernels) && (!rule || !strcmp(rule, rules[i].name)); k++) {
			steps = (unsigned int)(kernels[k].ms * steps_per_ms);
			tries = 4;
			while (!measure(api, &rules[i], kernels[k].name, steps, load, seconds,
					!--tries))
				;
		}
	bed_load(0);
}

static void forget_cache(void *arg)
{
	(void)arg;
	execlp("rm", "rm", "-rf", pocl_cache, NULL);
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 10, i;
	const char *rule = argc > 3 && *argv[3] ? argv[3] : NULL;
	const char *tmp = getenv("TMPDIR");
	char loads[64], *load;
	double per_ms;

	bed_driver();
	if (!bed_set_apart()) {
		printf("# it takes two processors, and the right to real-time priority\n");
		return 4;
	}
	snprintf(pocl_cache, sizeof(pocl_cache), "%s/shares-pocl.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(pocl_cache) || chmod(pocl_cache, 0777))
		return 1;
	for (i = 0; i < COUNT(apis); i++) {
		if (argc > 4 && strcmp(argv[4], apis[i].name))
			continue;
		if (!apis[i].there()) {
			printf("# %s: no driver here\n", apis[i].name);
			continue;
		}
		per_ms = apis[i].calibrate();
		if (per_ms <= 0)
			return 1;
		snprintf(loads, sizeof(loads), "%s", argc > 2 ? argv[2] : "0,8,20");
		for (load = strtok(loads, ","); load; load = strtok(NULL, ","))
			all_with(&apis[i], (unsigned int)atoi(load) % 64, seconds, rule, per_ms);
	}
	child_wait(child_start(forget_cache, NULL));
	return failed;
}
