// SPDX-License-Identifier: MIT
/*
 * What sharing a device by the wrapper costs and gives, over the driver that
 * $MEASURE_DRIVER names: a GPU's where there is one (make check-gpu), the one on the
 * CPU in every check, where the figures say nothing but that they can be taken. Each
 * program is measured with the wrapper and with the bare driver in turns:
 *
 *  - alone: short kernels, a launch each; kernels of a millisecond;
 *  - 2, 4 and 8 tenants: what they did together against what they do bare, and how
 *    far the most served is ahead of the least, by work done;
 *  - two tenants of weight 1 and 3: how far their parts are from what is due;
 *  - from the arbiter's word to the device given back, with long kernels, which are cut.
 *
 * Each figure is a line "figure NAME VALUE UNIT TARGET", - for no target.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bed.h"
#include "ulib/transport.h"

#define MOST 8
#define YIELDS 20000

static struct world w;
static uint64_t span_ns = 10 * SEC;	/* of one measurement */
static const char *self, *driver, *wrapper;
/* A kernel of a millisecond, and one of twenty. */
static uint32_t blocks, steps, long_steps;
static volatile uint64_t *work;		/* a word for each tenant: kernels done */

static void figure(const char *name, double value, const char *unit, const char *target)
{
	printf("figure %s %.3f %s %s\n", name, value, unit, target);
}

static uint32_t number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? (uint32_t)strtoul(text, NULL, 0) : 0;
}

/* How long it takes, in ns, with the end awaited. */
static uint64_t timed(struct program *p, uint32_t n, uint32_t count)
{
	uint64_t began = now_ns();

	while (count--)
		MUST(program_spin(p, blocks, n, NULL));
	MUST(cuCtxSynchronize());
	return now_ns() - began;
}

/* In a child, as this process must not begin CUDA. Prints: blocks steps. */
static int calibrate(void)
{
	struct program p;
	uint64_t ns = 0;
	int units = 1;

	program_start(&p);
	MUST(cuDeviceGetAttribute(&units, (CUdevice_attribute)16, 0));
	blocks = (uint32_t)units * 256;		/* eight waves of the smallest blocks */
	for (steps = 1; steps < 1u << 24; steps *= 2) {
		timed(&p, steps, 1);
		ns = timed(&p, steps, 4) / 4;
		if (ns >= MS / 2)
			break;
	}
	printf("%u %u\n", blocks, (uint32_t)(steps * MS / (ns ? ns : 1)) + 1);
	return 0;
}

static int alone(const char *what)
{
	bool is_short = !strcmp(what, "short");
	uint32_t count = is_short ? 2000 : 50;
	struct program p;
	uint64_t ns;

	if (is_short) {
		blocks = 1;
		steps = 1;
	}
	program_start(&p);
	timed(&p, steps, count);
	ns = timed(&p, steps, count);
	printf("%f\n", (double)ns / count);
	return 0;
}

/* Works until it is killed; what is done is counted by the ends of its kernels. */
static int tenant(int n, uint32_t each)
{
	uint64_t done = 0;
	struct program p;
	CUevent ended[2];
	CUstream s;

	program_start(&p);
	MUST(cuStreamCreate(&s, 1));
	MUST(cuEventCreate(&ended[0], 2));
	MUST(cuEventCreate(&ended[1], 2));
	for (;; done++) {	/* two in flight */
		if (done > 1) {
			MUST(cuEventSynchronize(ended[done % 2]));
			work[n] = done - 1;
		}
		MUST(program_spin(&p, blocks, each, s));
		MUST(cuEventRecord(ended[done % 2], s));
	}
	return 0;
}

/* A program over the wrapper or the bare driver; @out: a pipe for what it prints. */
static pid_t begin(bool wrapped, const char *group, const char *what, int n, int out)
{
	char text[16], value[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	setenv("LD_LIBRARY_PATH", wrapped ? wrapper : driver, 1);
	if (group)
		setenv("GPUSHARE_GROUP", group, 1);
	snprintf(value, sizeof(value), "%u", blocks);
	setenv("MEASURE_BLOCKS", value, 1);
	snprintf(value, sizeof(value), "%u", steps);
	setenv("MEASURE_STEPS", value, 1);
	snprintf(value, sizeof(value), "%u", long_steps);
	setenv("MEASURE_LONG_STEPS", value, 1);
	snprintf(text, sizeof(text), "%d", n);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	execl(self, self, what, text, NULL);
	_exit(127);
}

static void ask(bool wrapped, const char *what, char *answer, size_t size)
{
	ssize_t n, have = 0;
	int fds[2];
	pid_t pid;

	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	pid = begin(wrapped, NULL, what, 0, fds[1]);
	close(fds[1]);
	while ((n = read(fds[0], answer + have, size - 1 - (size_t)have)) > 0)
		have += n;
	answer[have] = 0;
	close(fds[0]);
	ASSERT_EQ(0, child_wait(pid));
}

/* The least of several, in turns. */
static void compare(const char *what, double ns[2])
{
	char answer[64];
	int round, side;
	double one;

	ns[0] = ns[1] = 0;
	for (round = 0; round < 5; round++)
		for (side = 0; side < 2; side++) {
			ask(side == 0, what, answer, sizeof(answer));
			one = strtod(answer, NULL);
			if (!ns[side] || one < ns[side])
				ns[side] = one;
		}
}

/* How long it took from each PREEMPT to the same client's YIELDED. */
static struct {
	struct gs_transport *arbiter;	/* NULL: nobody wants to know */
	uint64_t of, at;
	uint64_t took[YIELDS];
	size_t n;
} yields;

static void take_events(void)
{
	struct gpushare_event e;

	while (yields.arbiter && yields.n < YIELDS && gs_transport_next(yields.arbiter, &e) == 1) {
		if (e.type == GPUSHARE_EVENT_PREEMPT) {
			yields.of = e.client;
			yields.at = e.time_ns;
		} else if (yields.at && e.client == yields.of) {
			yields.took[yields.n++] = e.time_ns - yields.at;
			yields.at = 0;
		}
	}
}

/* What @n tenants do in a span of time, kernels each. */
static void run(bool wrapped, int n, const char *what, const uint32_t *weights, double done[MOST])
{
	uint64_t began;
	uint64_t before[MOST];
	char group[16];
	pid_t pid[MOST];
	int i;

	for (i = 0; i < n; i++) {
		struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT,
					    .weight = weights ? weights[i] : 100 };

		snprintf(group, sizeof(group), "tenant-%d", i);
		ASSERT_EQ(0, group_set(&w, group, &s));
		work[i] = 0;
		pid[i] = begin(wrapped, group, what, i, -1);
	}
	for (i = 0; i < n; i++)
		EXPECT_TRUE(WAIT_FOR(work[i] > 0));
	for (i = 0; i < n; i++)
		before[i] = work[i];
	/* However slow the machine is, who wants to know of yields sees some. */
	for (began = now_ns(); now_ns() < began + span_ns ||
	     (yields.arbiter && yields.n < 20 && now_ns() < began + 60 * SEC); sleep_ns(MS))
		take_events();
	for (i = 0; i < n; i++)
		done[i] = (double)(work[i] - before[i]);
	for (i = 0; i < n; i++) {
		kill(pid[i], SIGKILL);
		child_wait(pid[i]);
	}
}

static double sum(const double *v, int n)
{
	double all = 0;

	while (n--)
		all += v[n];
	return all;
}

static double unfairness(const double *v, int n)
{
	double least = v[0], most = v[0];

	while (n--) {
		least = v[n] < least ? v[n] : least;
		most = v[n] > most ? v[n] : most;
	}
	return most / (least ? least : 1);
}

static void tenants(int n)
{
	double done[MOST], bare[MOST];
	char name[64];

	run(true, n, "tenant", NULL, done);
	run(false, n, "tenant", NULL, bare);
	snprintf(name, sizeof(name), "%d-tenants.throughput", n);
	figure(name, sum(done, n) / (sum(bare, n) ? sum(bare, n) : 1), "x-bare", "-");
	snprintf(name, sizeof(name), "%d-tenants.unfairness", n);
	figure(name, unfairness(done, n), "x", "-");
	snprintf(name, sizeof(name), "%d-tenants.unfairness-bare", n);
	figure(name, unfairness(bare, n), "x", "-");
}

static void weights(void)
{
	double done[MOST], all, error;

	run(true, 2, "tenant", (uint32_t[]){ 100, 300 }, done);
	all = sum(done, 2);
	error = all ? 100 * done[0] / all - 25 : 25;
	figure("share.error", error < 0 ? -error : error, "%", "2");
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure_yields(void)
{
	struct gpushare_device dev = world_device(&w, KEY);
	double done[MOST], us;
	size_t n;

	yields.arbiter = world_connect(&w);
	ASSERT_EQ(0, gs_transport_events(yields.arbiter, 1ull << GPUSHARE_EVENT_PREEMPT |
					 1ull << GPUSHARE_EVENT_YIELDED));
	run(true, 2, "long", NULL, done);
	gs_transport_close(yields.arbiter);
	yields.arbiter = NULL;
	n = yields.n;
	if (!n) {
		test_fail("nobody was asked to yield");
		return;
	}
	qsort(yields.took, n, sizeof(*yields.took), by_size);
	us = (double)dev.slice_us;
	figure("yields.count", (double)n, "yields", "-");
	figure("yields.median", (double)yields.took[n / 2] / 1e3 / us, "slices", "-");
	figure("yields.p99", (double)yields.took[n * 99 / 100] / 1e3 / us, "slices", "1.2");
}

static void map_work(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ASSERT_TRUE(fd >= 0 && !ftruncate(fd, 4096));
	work = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(work != MAP_FAILED);
	close(fd);
}

static void set_up(void)
{
	const char *named = getenv("MEASURE_DRIVER"), *o = getenv("O"), *ms = getenv("MEASURE_MS");
	char answer[64], path[PATH_MAX], *end;

	bed_make(&w, 100);
	if (named)
		setenv("GPUSHARE_REAL_LIBCUDA", named, 1);
	setenv("GPUSHARE_CUDA_KEYS", KEY, 1);
	if (ms)
		span_ns = strtoull(ms, NULL, 0) * MS;
	self = realpath("/proc/self/exe", NULL);
	snprintf(path, sizeof(path), "%s/cuda", o ? o : "build/user");
	wrapper = realpath(path, NULL);
	/* The bare driver by the name that is asked for, whatever it is called. */
	named = realpath(getenv("GPUSHARE_REAL_LIBCUDA"), NULL);
	ASSERT_TRUE(self && wrapper && named);
	snprintf(path, sizeof(path), "%s/bare", w.dir);
	ASSERT_EQ(0, mkdir(path, 0700));
	driver = strdup(path);
	snprintf(path, sizeof(path), "%s/bare/libcuda.so.1", w.dir);
	ASSERT_EQ(0, symlink(named, path));
	snprintf(path, sizeof(path), "%s/work", w.dir);
	setenv("MEASURE_WORK", path, 1);
	map_work(path);
	ask(false, "calibrate", answer, sizeof(answer));
	blocks = (uint32_t)strtoul(answer, &end, 0);
	steps = (uint32_t)strtoul(end, NULL, 0);
	long_steps = steps * 20;
	ASSERT_TRUE(blocks > 0 && steps > 0);
	printf("# a millisecond is %u blocks of %u steps\n", blocks, steps);
}

static int be_program(char **argv)
{
	if (!strcmp(argv[1], "calibrate"))
		return calibrate();
	blocks = number("MEASURE_BLOCKS");
	steps = number("MEASURE_STEPS");
	if (strcmp(argv[1], "tenant") && strcmp(argv[1], "long"))
		return alone(argv[1]);
	map_work(getenv("MEASURE_WORK"));
	return tenant(atoi(argv[2]), strcmp(argv[1], "long") ? steps :
		      number("MEASURE_LONG_STEPS"));
}

int main(int argc, char **argv)
{
	double ns[2];
	int n;

	setlinebuf(stdout);
	if (argc > 2)
		return be_program(argv);
	set_up();
	compare("short", ns);
	figure("alone.launch", (ns[0] - ns[1]) / 1e3, "us-more", "3");
	compare("millisecond", ns);
	figure("alone.kernel", 100 * (ns[0] / ns[1] - 1), "%-more", "1");
	for (n = 2; n <= MOST; n *= 2)
		tenants(n);
	weights();
	measure_yields();
	world_stop(&w, SIGTERM);
	unlink(getenv("MEASURE_WORK"));
	world_remove(&w);
	return test_failures > 0;
}
