// SPDX-License-Identifier: MIT
/*
 * make bench BENCH=device: what a device does while programs share it, as the device itself
 * saw it: gaps, time at work and the order of kernels come from the driver on the CPU, whose
 * device notes when it ran which (CPUCUDA_TIMES). It has processor 0 for itself and goes from
 * one program's work to the next after 2 ms, as GPUs do; all else is on the other processors.
 * Each figure stands beside `bare`: the same programs over the driver alone, by turns in the
 * same run. A program is this one, started anew, so what is bare has nothing of ours in it.
 *
 *	device [SECONDS [LOADS [PART...]]]	2 s a turn of three, loads 0,8,20, all parts
 *	device short				1 s, one turn, no load
 *
 *	total	tenants that launch a kernel of 0.2 ms and wait for it, over and over: time until
 *		all are done, over the sum of what each takes alone
 *	gap	two that always have kernels queued: what the device did between two of
 *		different programs, and what the daemon did for it
 *	front	a kernel of 1 ms every 50 ms, beside one that wants the device all the time
 *	start	of a program that begins with CUDA
 *	burst	1,000 kernels of nothing, until they are done
 *	many	what is lost at a handoff through the daemon, by the number of clients
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "bed.h"
#include "cpucuda/cpucuda.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define TIMES		(1u << 20)	/* of the device, in one turn */
#define TENANTS		8
#define LATENCIES	4096
#define DEPTH		16
#define STARTS		21
#define BURST		1000

enum kind { EACH, QUEUE, FRONT };

/* What one program does, and what came of it: in memory that all share. */
struct tenant_of_scene {
	enum kind kind;
	uint32_t blocks, steps;
	uint64_t count;			/* so many kernels; 0: until it is stopped */
	const char *group, *cut;	/* NULL: none, the default */
	uint32_t ready;
	uint32_t n;			/* of these: */
	double latency_us[LATENCIES];
};

struct area {
	uint32_t go, stop;
	struct tenant_of_scene t[TENANTS];
};

/* What came of a scene. */
struct scene {
	double took_s, busy;
	struct sample {
		double *v;
		size_t n, room;
	} gaps_us, latency_us;
	double grants, handoffs, overruns, sleeps, cpu_us;
};

static struct world w;
static struct area *area;
static struct cpucuda_times *times;
static char self[PATH_MAX], root[PATH_MAX];
static double per_ms;
static unsigned int seconds, load, turns = 3;
static int failed;

static void report(const char *name, double value, const char *unit, double most)
{
	printf("bench device/%s,load=%u %.3f %s <=%.3g %s\n", name, load, value, unit, most,
	       value <= most ? "ok" : "short");
	fflush(stdout);
	failed |= value > most;
}

static void sample_add(struct sample *s, double v)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->v = realloc(s->v, s->room * sizeof(*s->v));
		ASSERT_TRUE(s->v != NULL);
	}
	s->v[s->n++] = v;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of a hundred so many are at most that; 0 of none. */
static double sample_at(struct sample *s, unsigned int percent)
{
	if (!s->n)
		return 0;
	qsort(s->v, s->n, sizeof(*s->v), compare);
	return s->v[(s->n - 1) * percent / 100];
}

static void *map_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at;

	ASSERT_TRUE(fd >= 0 && !ftruncate(fd, (off_t)size));
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(at != MAP_FAILED);
	close(fd);
	return at;
}

/* The program that is measured. */
static void each(struct program *p, struct tenant_of_scene *t, CUstream s)
{
	uint64_t n;

	for (n = 0; t->count ? n < t->count : !area->stop; n++) {
		MUST(program_spin(p, t->blocks, t->steps, s));
		MUST(cuStreamSynchronize(s));
	}
}

static void queue(struct program *p, struct tenant_of_scene *t, CUstream s)
{
	CUevent e[DEPTH];
	uint64_t n;

	for (n = 0; t->count ? n < t->count : !area->stop; n++) {
		if (n < DEPTH)
			MUST(cuEventCreate(&e[n], CU_EVENT_DISABLE_TIMING));
		else
			MUST(cuEventSynchronize(e[n % DEPTH]));
		MUST(program_spin(p, t->blocks, t->steps, s));
		MUST(cuEventRecord(e[n % DEPTH], s));
	}
	MUST(cuStreamSynchronize(s));
}

static void front(struct program *p, struct tenant_of_scene *t, CUstream s)
{
	uint64_t next = now_ns(), from;

	while (!area->stop && t->n < LATENCIES) {
		/* Not always at the same time of anybody's slice. */
		next += 45 * MS + (uint64_t)rand() % (10 * MS);
		from = now_ns();
		if (next > from)
			sleep_ns(next - from);
		from = now_ns();
		MUST(program_spin(p, t->blocks, t->steps, s));
		MUST(cuStreamSynchronize(s));
		t->latency_us[t->n++] = (double)(now_ns() - from) / 1000;
	}
}

static int tenant_of_scene_main(unsigned int i)
{
	static void (*const run[])(struct program *, struct tenant_of_scene *, CUstream) = {
		[EACH] = each, [QUEUE] = queue, [FRONT] = front,
	};
	struct tenant_of_scene *t;
	struct program p;
	CUstream s;
	int k;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1000ul);
	area = map_file(getenv("DEVICE_AREA"), sizeof(*area));
	t = &area->t[i];
	program_start(&p);
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (k = 0; k < 4; k++)		/* as it has run for a while */
		MUST(program_spin(&p, t->blocks, t->steps, s));
	MUST(cuStreamSynchronize(s));
	__atomic_store_n(&t->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&area->go, __ATOMIC_SEQ_CST))
		sleep_ns(MS / 2);
	run[t->kind](&p, t, s);
	return test_failures;
}

static void use(bool ours)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", root, ours ? "cuda" : "cpucuda");
	setenv("LD_LIBRARY_PATH", path, 1);
}

static void set_or_not(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static pid_t program(bool ours, const char *what, const char *arg, const char *group,
		     const char *cut)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	use(ours);
	set_or_not("GPUSHARE_GROUP", group);
	set_or_not("GPUSHARE_CUT", cut);
	execl(self, self, what, arg, NULL);
	_exit(127);
}

static uint64_t daemon_cpu(void)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", w.daemon);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu", &ns) != 1)
			ns = 0;
		fclose(f);
	}
	return ns;
}

static int by_from(const void *a, const void *b)
{
	const struct cpucuda_time *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* What the device noted between two points of time. */
static void judge(struct scene *s, uint64_t from, uint64_t to, unsigned int tenants)
{
	size_t n = times->n < TIMES ? times->n : TIMES, i;
	struct cpucuda_time *t = times->t;
	uint64_t busy = 0;

	qsort(t, n, sizeof(*t), by_from);
	for (i = 0; i < n; i++) {
		if (t[i].from < from || t[i].to > to)
			continue;
		busy += t[i].to - t[i].from;
		if (i && t[i - 1].from >= from && t[i - 1].pid != t[i].pid && tenants > 1)
			sample_add(&s->gaps_us, ((double)t[i].from - (double)t[i - 1].to) / 1000);
	}
	s->busy += (double)busy / (double)(to - from) / turns;
	s->took_s += (double)(to - from) / 1e9 / turns;
}

/* One turn: @n tenants, until all of those that count are done, or for some seconds. */
static void play(struct scene *s, bool ours, const struct tenant_of_scene *t, unsigned int n)
{
	struct gpushare_stats before, after;
	uint64_t from, to, sleeps, cpu;
	bool counts = t[0].count;
	pid_t pid[TENANTS];
	char arg[8];
	unsigned int i;

	area->go = area->stop = 0;
	for (i = 0; i < n; i++) {
		area->t[i] = t[i];
		snprintf(arg, sizeof(arg), "%u", i);
		pid[i] = program(ours, "tenant", arg, t[i].group, t[i].cut);
	}
	for (i = 0; i < n; i++)
		ASSERT_TRUE(WAIT_FOR(__atomic_load_n(&area->t[i].ready, __ATOMIC_SEQ_CST)));
	sleep_ns(20 * MS);
	before = stats_of(&w, GPUSHARE_STATS_DEVICE, world_device(&w, KEY).device);
	times->n = 0;
	sleeps = world_sleeps(&w);
	cpu = daemon_cpu();
	from = now_ns();
	__atomic_store_n(&area->go, 1, __ATOMIC_SEQ_CST);
	if (counts) {
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, child_wait(pid[i]));
		to = now_ns();
	} else {
		sleep_ns(seconds * SEC);
		to = now_ns();
	}
	s->sleeps += (double)(world_sleeps(&w) - sleeps);
	s->cpu_us += (double)(daemon_cpu() - cpu) / 1000;
	after = stats_of(&w, GPUSHARE_STATS_DEVICE, before.device);
	s->grants += (double)(after.grants - before.grants);
	s->handoffs += (double)(after.handoffs - before.handoffs);
	s->overruns += (double)(after.overruns - before.overruns);
	__atomic_store_n(&area->stop, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < n && !counts; i++)
		ASSERT_EQ(0, child_wait(pid[i]));
	judge(s, from, to, n);
	for (i = 0; i < n; i++)
		for (unsigned int k = 0; k < area->t[i].n; k++)
			sample_add(&s->latency_us, area->t[i].latency_us[k]);
}

/* By turns: [0] bare, [1] ours. */
static void play_both(struct scene s[2], const struct tenant_of_scene *t, unsigned int n)
{
	unsigned int turn;

	memset(s, 0, 2 * sizeof(*s));
	for (turn = 0; turn < 2 * turns; turn++)
		play(&s[turn & 1], turn & 1, t, n);
}

static void scene_free(struct scene s[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		free(s[i].gaps_us.v);
		free(s[i].latency_us.v);
	}
}

static uint32_t steps(double ms, uint32_t blocks)
{
	return (uint32_t)(per_ms * ms * 8 / blocks);
}

static void total(void)
{
	struct tenant_of_scene t[TENANTS];
	static const unsigned int n[] = { 1, 2, 4, 8 };
	struct scene s[2];
	double alone = 0;
	char name[64];
	unsigned int i;

	for (i = 0; i < TENANTS; i++)
		t[i] = (struct tenant_of_scene){ .kind = EACH, .blocks = 8, .steps = steps(0.2, 8),
						 .count = 500 * seconds };
	for (i = 0; i < COUNT(n); i++) {
		play_both(s, t, n[i]);
		if (n[i] == 1)
			alone = s[0].took_s;
		printf("# %u tenants: %.2f of one after the other, bare %.2f; device at work %.1f %%, "
		       "bare %.1f %%\n", n[i], s[1].took_s / (n[i] * alone),
		       s[0].took_s / (n[i] * alone), 100 * s[1].busy, 100 * s[0].busy);
		snprintf(name, sizeof(name), "total,tenants=%u", n[i]);
		report(name, s[1].took_s / (n[i] * alone), "of-one-after-the-other", 1);
		snprintf(name, sizeof(name), "total-idle,tenants=%u", n[i]);
		report(name, 100 * (1 - s[1].busy / s[0].busy), "%-less-at-work-than-bare", 2);
		scene_free(s);
	}
}

static void gap(void)
{
	static const double ms[] = { 0.2, 1 };
	struct tenant_of_scene t[2];
	struct scene s[2];
	char name[64];
	unsigned int k;

	for (k = 0; k < COUNT(ms); k++) {
		t[0] = t[1] = (struct tenant_of_scene){ .kind = QUEUE, .blocks = 8,
							.steps = steps(ms[k], 8) };
		play_both(s, t, 2);
		printf("# %g ms kernels: at work %.1f %%, bare %.1f %%; gap p50 %.0f p99 %.0f us, "
		       "bare %.0f and %.0f; %.0f handoffs\n", ms[k], 100 * s[1].busy,
		       100 * s[0].busy, sample_at(&s[1].gaps_us, 50), sample_at(&s[1].gaps_us, 99),
		       sample_at(&s[0].gaps_us, 50), sample_at(&s[0].gaps_us, 99), s[1].handoffs);
		snprintf(name, sizeof(name), "gap-idle,%gms", ms[k]);
		report(name, 100 * (1 - s[1].busy / s[0].busy), "%-less-at-work-than-bare", 2);
		snprintf(name, sizeof(name), "gap-p50,%gms", ms[k]);
		report(name, sample_at(&s[1].gaps_us, 50), "us", 50);
		snprintf(name, sizeof(name), "gap-p99,%gms", ms[k]);
		report(name, sample_at(&s[1].gaps_us, 99), "us", 200);
		snprintf(name, sizeof(name), "wake-ups,%gms", ms[k]);
		report(name, s[1].sleeps / s[1].handoffs, "a-handoff", 2);
		snprintf(name, sizeof(name), "daemon-cpu,%gms", ms[k]);
		report(name, s[1].cpu_us / s[1].handoffs, "us-a-handoff", 20);
		scene_free(s);
	}
}

static void front_beside(const char *what, const struct tenant_of_scene *hog, const char *group,
			 double alone)
{
	struct tenant_of_scene t[2] = {
		{ .kind = FRONT, .blocks = 8, .steps = steps(1, 8), .group = group }, *hog,
	};
	struct scene s[2];
	double bare, most;
	char name[64];

	if (group && turns == 1)
		return;
	play_both(s, t, 2);
	bare = sample_at(&s[0].latency_us, 99);
	/* What can't be cut isn't made worse; what can, waits for 2 ms. */
	most = hog->cut ? 1.1 * bare : 1.1 * alone + 2000;
	printf("# a kernel of 1 ms beside %s%s: p50 %.1f p99 %.1f ms, bare %.1f and %.1f\n", what,
	       group ? ", class=latency" : "", sample_at(&s[1].latency_us, 50) / 1000,
	       sample_at(&s[1].latency_us, 99) / 1000, sample_at(&s[0].latency_us, 50) / 1000,
	       bare / 1000);
	snprintf(name, sizeof(name), "front,%s%s", what, group ? ",latency" : "");
	report(name, sample_at(&s[1].latency_us, 99) / 1000, "ms", most / 1000);
	/* What can't be stopped says so: nobody is waited for until grace is over. */
	snprintf(name, sizeof(name), "front-overruns,%s%s", what, group ? ",latency" : "");
	report(name, s[1].overruns, "past-grace", 0);
	scene_free(s);
}

static void front_part(void)
{
	struct gpushare_share quick = {
		.mask = GPUSHARE_SHARE_CLASS, .class = GPUSHARE_CLASS_LATENCY,
	};
	const struct tenant_of_scene short_blocks = { .kind = QUEUE, .blocks = 2048,
						      .steps = steps(100, 2048) };
	const struct tenant_of_scene whole = { .kind = QUEUE, .blocks = 2048,
					       .steps = steps(100, 2048), .cut = "off" };
	const struct tenant_of_scene long_blocks = { .kind = QUEUE, .blocks = 512,
						     .steps = steps(100, 512) };
	struct tenant_of_scene t = { .kind = FRONT, .blocks = 8, .steps = steps(1, 8) };
	struct scene s[2];
	double alone;

	play_both(s, &t, 1);
	alone = sample_at(&s[0].latency_us, 99);
	printf("# a kernel of 1 ms alone: p99 %.1f ms, bare %.1f\n",
	       sample_at(&s[1].latency_us, 99) / 1000, alone / 1000);
	scene_free(s);
	ASSERT_EQ(0, group_set(&w, "quick", &quick));
	front_beside("cut", &short_blocks, NULL, alone);
	front_beside("cut", &short_blocks, "quick", alone);
	front_beside("whole", &whole, NULL, alone);
	front_beside("whole", &whole, "quick", alone);
	front_beside("few-long-blocks", &long_blocks, NULL, alone);
	front_beside("few-long-blocks", &long_blocks, "quick", alone);
}

static int start_main(void)
{
	CUcontext ctx;

	return cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0);
}

static void start(void)
{
	double ms[2][STARTS], kib[2][STARTS];
	struct rusage u;
	int i, k, side, status;
	pid_t pid;

	for (i = 0; i < STARTS; i++)
		for (k = 0; k < 2; k++) {
			side = (i + k) & 1;
			pid = program(side, "start", NULL, NULL, NULL);
			ASSERT_EQ(pid, wait4(pid, &status, 0, &u));
			ASSERT_EQ(0, status);
			ms[side][i] = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
				      (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
			kib[side][i] = (double)u.ru_maxrss;
		}
	for (side = 0; side < 2; side++) {
		qsort(ms[side], STARTS, sizeof(double), compare);
		qsort(kib[side], STARTS, sizeof(double), compare);
	}
	printf("# a start: %.2f ms of processor time, bare %.2f; %.0f KiB at most, bare %.0f\n",
	       ms[1][STARTS / 2], ms[0][STARTS / 2], kib[1][STARTS / 2], kib[0][STARTS / 2]);
	report("start-cpu", ms[1][STARTS / 2] - ms[0][STARTS / 2], "ms-more", 0.2);
	report("start-memory", kib[1][STARTS / 2] - kib[0][STARTS / 2], "KiB-more", 128);
}

/* Both sides in one program, by turns, as what is measured is some hundred ns. */
static int burst_main(void)
{
	void *real = dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY);
	__typeof__(&cuLaunchKernel) launch[2] = { NULL, cuLaunchKernel };
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX }, from;
	uint32_t one = 1;
	void *args[] = { &one };
	struct program p;
	CUstream s;
	int i, k;

	ASSERT_TRUE(real != NULL);
	launch[0] = (__typeof__(launch[0]))dlsym(real, "cuLaunchKernel");
	area = map_file(getenv("DEVICE_AREA"), sizeof(*area));
	program_start(&p);
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (i = 0; i < 2 * 20; i++) {
		from = now_ns();
		for (k = 0; k < BURST; k++)
			MUST(launch[i & 1](p.spin, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
		MUST(cuStreamSynchronize(s));
		if (now_ns() - from < best[i & 1])
			best[i & 1] = now_ns() - from;
	}
	for (i = 0; i < 2; i++)
		area->t[0].latency_us[i] = (double)best[i] / BURST / 1000;
	return test_failures;
}

static void burst(void)
{
	const double *us = area->t[0].latency_us;

	ASSERT_EQ(0, child_wait(program(true, "burst", NULL, NULL, NULL)));
	printf("# 1,000 kernels of nothing, until done: %.0f ns each, bare %.0f\n", 1000 * us[1],
	       1000 * us[0]);
	report("burst", 1000 * (us[1] - us[0]), "ns-more", 100);
}

/* What clients of the library share: who ended last, and what was lost until the next began. */
struct handoffs {
	uint64_t ended, lost, n;
	uint32_t last, stop;
};

static void hold_in_turn(struct handoffs *h, uint32_t me)
{
	struct gpushare *g = open_one("cpu:0");
	uint64_t now;

	prctl(PR_SET_TIMERSLACK, 1ul);
	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED)) {
		if (gpushare_begin(g, GPUSHARE_FOREVER))
			exit(1);
		now = now_ns();
		if (h->last != me && h->ended) {
			h->lost += now - h->ended;
			h->n++;
		}
		h->last = me;
		while (gpushare_may_run(g) && !h->stop)
			sleep_ns(MS / 5);
		h->ended = now_ns();
		gpushare_end(g);
	}
	_exit(0);
}

static void futex(uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

/* The same with nobody between: each wakes the other. */
static void pass_in_turn(struct handoffs *h, uint32_t me)
{
	prctl(PR_SET_TIMERSLACK, 1ul);
	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED)) {
		while (__atomic_load_n(&h->last, __ATOMIC_ACQUIRE) != me)
			futex(&h->last, FUTEX_WAIT, !me);
		if (h->ended) {
			h->lost += now_ns() - h->ended;
			h->n++;
		}
		sleep_ns(2 * MS);
		h->ended = now_ns();
		__atomic_store_n(&h->last, !me, __ATOMIC_RELEASE);
		futex(&h->last, FUTEX_WAKE, 1);
	}
	_exit(0);
}

/* Lost at a handoff, in us: @n clients, or two without an arbiter. */
static double lost(void (*run)(struct handoffs *, uint32_t), uint32_t n)
{
	struct handoffs *h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t before, from;
	pid_t pid[500];
	uint32_t i;

	ASSERT_TRUE(h != MAP_FAILED);
	for (i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run(h, i);
		}
	}
	/* Until all are there, and for some more. */
	ASSERT_TRUE(run == pass_in_turn ||
		    WAIT_FOR(world_device(&w, "cpu:0").clients == n));
	sleep_ns(SEC / 2);
	before = h->n;
	from = h->lost;
	sleep_ns(seconds * SEC);
	from = h->lost - from;
	before = h->n - before;
	for (i = 0; i < n; i++) {
		kill(pid[i], SIGKILL);
		child_wait(pid[i]);
	}
	munmap(h, sizeof(*h));
	return before ? (double)from / (double)before / 1000 : 1e9;
}

static void many(void)
{
	static const uint32_t n[] = { 2, 10, 100, 500 };
	cpu_set_t here, all;
	double us[COUNT(n)], bare;
	char name[64];
	unsigned int i;

	/* On all processors, the daemon too. */
	sched_getaffinity(0, sizeof(here), &here);
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	sched_setaffinity(w.daemon, sizeof(all), &all);
	bare = lost(pass_in_turn, 2);
	for (i = 0; i < COUNT(n); i++)
		us[i] = lost(hold_in_turn, n[i]);
	sched_setaffinity(0, sizeof(here), &here);
	sched_setaffinity(w.daemon, sizeof(here), &here);
	printf("# lost at a handoff: %.0f us between two by a futex; by the daemon %.0f, %.0f, %.0f "
	       "and %.0f us with 2, 10, 100 and 500 clients\n", bare, us[0], us[1], us[2], us[3]);
	report("lost,clients=2", us[0] / bare, "ping-pongs", 2);
	for (i = 1; i < COUNT(n); i++) {
		snprintf(name, sizeof(name), "lost,clients=%u", n[i]);
		report(name, us[i] / us[0], "of-two-clients", 1.5);
	}
}

static const struct { const char *name; void (*run)(void); } parts[] = {
	{ "total", total }, { "gap", gap }, { "front", front_part }, { "start", start },
	{ "burst", burst }, { "many", many },
};

static bool is_wanted(const char *name, char **wanted)
{
	if (!*wanted)
		return true;
	for (; *wanted; wanted++)
		if (!strcmp(*wanted, name))
			return true;
	return false;
}

static void measure(char *loads, char **wanted)
{
	char *at;
	unsigned int i;

	for (at = strtok(loads, ","); at; at = strtok(NULL, ",")) {
		load = (unsigned int)atoi(at) % 65;
		bed_load(load);
		for (i = 0; i < COUNT(parts); i++)
			if (is_wanted(parts[i].name, wanted))
				parts[i].run();
	}
	bed_load(0);
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char path[128], loads[64], *none = NULL;

	self[n < 0 ? 0 : n] = 0;
	if (argc > 1 && !strcmp(argv[1], "tenant"))
		return tenant_of_scene_main((unsigned int)atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "start"))
		return start_main();
	if (argc > 1 && !strcmp(argv[1], "burst"))
		return burst_main();
	if (argc > 1 && !strcmp(argv[1], "short"))
		seconds = turns = 1;
	else
		seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 2;
	snprintf(loads, sizeof(loads), "%s", argc > 2 ? argv[2] : turns == 1 ? "0" : "0,8,20");
	ASSERT_TRUE(realpath(getenv("O") ? getenv("O") : "build/user", root) != NULL);
	bed_driver();
	if (!bed_set_apart() || !world_many_files(2048)) {
		printf("# it takes two processors, files, and the right to real-time priority\n");
		return 4;
	}
	per_ms = bed_steps_per_ms();
	bed_make(&w, 100);
	snprintf(path, sizeof(path), "%s/area", w.dir);
	area = map_file(path, sizeof(*area));
	setenv("DEVICE_AREA", path, 1);
	snprintf(path, sizeof(path), "%s/times", w.dir);
	times = map_file(path, sizeof(*times) + TIMES * sizeof(times->t[0]));
	setenv("CPUCUDA_TIMES", path, 1);
	setenv("CPUCUDA_TURN_US", "2000", 1);
	measure(loads, argc > 3 ? argv + 3 : &none);
	world_stop(&w, SIGTERM);
	world_remove(&w);
	return failed || test_failures;
}
