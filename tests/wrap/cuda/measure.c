// SPDX-License-Identifier: MIT
/*
 * What sharing a device by the wrapper costs and gives, over the driver that
 * $MEASURE_DRIVER names: a GPU's where there is one (make check-gpu), the one on the
 * CPU in every check, where the figures say nothing but that they can be taken. Each
 * program is measured with the wrapper and with the bare driver in turns:
 *
 *  - alone: short kernels, a launch each; kernels of a millisecond, which go whole; of
 *    twenty, which are cut;
 *  - 2, 4 and 8 tenants: what they did together against what they do bare, and how
 *    far the most served is ahead of the least, by work done;
 *  - 2, 4 and 8 tenants of different weights: how far the part of the one that is worst
 *    off is from what is due, in hundredths of the whole;
 *  - from the arbiter's word to the device given back, with long kernels: as they are cut
 *    by themselves, into slices; and by tickets and by workers, with short blocks, as
 *    what a block has begun it ends.
 *
 * Each figure is a line "figure NAME VALUE UNIT TARGET", - for no target; what it was
 * measured on is a line "device ...". Exits with 4 where the device takes one process at
 * a time: what needs several isn't measured then.
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
/* A kernel of a millisecond: eight waves of blocks. */
static uint32_t blocks, steps;
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

/*
 * A loop that a compiler leaves in: one without effects is nothing to an assembler that
 * looks for it, and ptxas does.
 */
static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry work(.param .u32 steps) {\n"
	".reg .u32 %r<3>; .reg .pred %p; .shared .align 4 .b8 word[4];\n"
	"ld.param.u32 %r1, [steps]; mov.u32 %r2, 0;\n"
	"L: add.u32 %r2, %r2, 1; st.volatile.shared.u32 [word], %r2;\n"
	"setp.lt.u32 %p, %r2, %r1; @%p bra L; ret; }\n";

static CUfunction kernel;

static void start(void)
{
	CUcontext ctx;
	CUmodule m;

	MUST(cuInit(0));
	MUST(cuCtxCreate_v2(&ctx, 0, 0));
	MUST(cuModuleLoadData(&m, text));
	MUST(cuModuleGetFunction(&kernel, m, "work"));
}

static void launch(uint32_t n_blocks, uint32_t n_steps, CUstream s)
{
	void *args[] = { &n_steps };

	MUST(cuLaunchKernel(kernel, n_blocks, 1, 1, 1, 1, 1, 0, s, args, NULL));
}

/* How long it takes, in ns, with the end awaited. */
static uint64_t timed(uint32_t n_blocks, uint32_t n_steps, uint32_t count)
{
	uint64_t began = now_ns();

	while (count--)
		launch(n_blocks, n_steps, NULL);
	MUST(cuCtxSynchronize());
	return now_ns() - began;
}

static int attribute(int which)
{
	int value = 0;

	return cuDeviceGetAttribute(&value, (CUdevice_attribute)which, 0) ? 0 : value;
}

/*
 * In a child, as this process must not begin CUDA. Prints: blocks, steps, whether several
 * processes may use it, and what the device is. One process at a time is the compute mode
 * (attribute 20) 3, but for programs that go by MPS (133).
 */
static int calibrate(void)
{
	char name[100] = "", pci[32] = "";
	uint64_t ns = 0;
	int version = 0;

	start();
	MUST(cuDriverGetVersion(&version));
	MUST(cuDeviceGetName(name, sizeof(name), 0));
	MUST(cuDeviceGetPCIBusId(pci, sizeof(pci), 0));
	blocks = (uint32_t)attribute(16) * 256;	/* 32 at a time on each */
	for (steps = 1; steps < 1u << 24; steps *= 2) {
		timed(blocks, steps, 1);
		ns = timed(blocks, steps, 4) / 4;
		if (ns >= MS / 2)
			break;
	}
	if (ns < MS / 2) {
		test_fail("%u steps take no time", steps);
		return 1;
	}
	printf("%u %u %d %s, sm_%d%d, %s, CUDA %d.%d%s\n", blocks,
	       (uint32_t)(steps * MS / (ns ? ns : 1)) + 1, attribute(20) == 3 && !attribute(133),
	       name, attribute(75), attribute(76), pci, version / 1000, version % 1000 / 10,
	       attribute(133) ? ", by MPS" : "");
	return 0;
}

/* What a program launches: so many blocks of so many steps. */
static void choose(const char *what)
{
	if (!strcmp(what, "launch")) {
		blocks = 1;
		steps = 1;
	} else if (!strncmp(what, "long", 4)) {
		blocks *= 20;
	} else if (!strncmp(what, "small", 5)) {	/* as long, of blocks an eighth as long */
		blocks *= 160;
		steps = steps / 8 + 1;
	}
}

static int alone(const char *what)
{
	uint32_t count = !strcmp(what, "launch") ? 2000 : !strcmp(what, "long") ? 5 : 50;
	uint64_t ns;

	start();
	timed(blocks, steps, count);
	ns = timed(blocks, steps, count);
	printf("%f\n", (double)ns / count);
	return 0;
}

/* Works until it is killed; what is done is counted by the ends of its kernels. */
static int tenant(int n)
{
	uint64_t done = 0;
	CUevent ended[2];
	CUstream s;

	start();
	MUST(cuStreamCreate(&s, 1));
	MUST(cuEventCreate(&ended[0], 2));
	MUST(cuEventCreate(&ended[1], 2));
	for (;; done++) {	/* two in flight */
		if (done > 1) {
			MUST(cuEventSynchronize(ended[done % 2]));
			work[n] = done - 1;
		}
		launch(blocks, steps, s);
		MUST(cuEventRecord(ended[done % 2], s));
	}
	return 0;
}

/* Before what LD_LIBRARY_PATH says: the driver may have more of its own there. */
static void put_first(const char *folder)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char all[2 * PATH_MAX];

	snprintf(all, sizeof(all), "%s%s%s", folder, old ? ":" : "", old ? old : "");
	setenv("LD_LIBRARY_PATH", all, 1);
}

/* A program over the wrapper or the bare driver; @out: a pipe for what it prints. */
static pid_t begin(bool wrapped, const char *group, const char *what, int n, int out)
{
	char number_text[16], value[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	put_first(wrapped ? wrapper : driver);
	if (group)
		setenv("GPUSHARE_GROUP", group, 1);
	snprintf(value, sizeof(value), "%u", blocks);
	setenv("MEASURE_BLOCKS", value, 1);
	snprintf(value, sizeof(value), "%u", steps);
	setenv("MEASURE_STEPS", value, 1);
	snprintf(number_text, sizeof(number_text), "%d", n);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	execl(self, self, what, number_text, NULL);
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

static void weights(int n)
{
	static const uint32_t of[MOST] = { 100, 300, 200, 400, 100, 100, 200, 300 };
	double done[MOST], all, due = 0, error, worst = 0;
	char name[64];
	int i;

	run(true, n, "tenant", of, done);
	all = sum(done, n);
	for (i = 0; i < n; i++)
		due += of[i];
	for (i = 0; i < n; i++) {
		error = all ? 100 * (done[i] / all - of[i] / due) : 100;
		error = error < 0 ? -error : error;
		worst = error > worst ? error : worst;
	}
	snprintf(name, sizeof(name), "%d-tenants.share-error", n);
	figure(name, worst, "%", "2");
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* @cut: how their kernels are cut, NULL as the wrapper wants. A @unit is so many ns. */
static void measure_yields(const char *way, const char *cut, const char *what, double unit_ns,
			   const char *unit, const char *target)
{
	double done[MOST];
	char name[64];
	size_t n;

	if (cut)
		setenv("GPUSHARE_CUT", cut, 1);
	memset(&yields, 0, sizeof(yields));
	yields.arbiter = world_connect(&w);
	ASSERT_EQ(0, gs_transport_events(yields.arbiter, 1ull << GPUSHARE_EVENT_PREEMPT |
					 1ull << GPUSHARE_EVENT_YIELDED));
	run(true, 2, what, NULL, done);
	gs_transport_close(yields.arbiter);
	yields.arbiter = NULL;
	unsetenv("GPUSHARE_CUT");
	n = yields.n;
	if (!n) {
		test_fail("%s: nobody was asked to yield", way);
		return;
	}
	qsort(yields.took, n, sizeof(*yields.took), by_size);
	snprintf(name, sizeof(name), "yields-%s.count", way);
	figure(name, (double)n, "yields", "-");
	snprintf(name, sizeof(name), "yields-%s.median", way);
	figure(name, (double)yields.took[n / 2] / unit_ns, unit, "-");
	snprintf(name, sizeof(name), "yields-%s.p99", way);
	figure(name, (double)yields.took[n * 99 / 100] / unit_ns, unit, target);
}

static void map_work(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ASSERT_TRUE(fd >= 0 && !ftruncate(fd, 4096));
	work = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(work != MAP_FAILED);
	close(fd);
}

/* Whether several processes may use the device. */
static bool set_up(void)
{
	const char *named = getenv("MEASURE_DRIVER"), *o = getenv("O"), *ms = getenv("MEASURE_MS");
	char answer[300], path[PATH_MAX];
	int one_process = 0, at = 0;

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
	ASSERT_EQ(3, sscanf(answer, "%u %u %d %n", &blocks, &steps, &one_process, &at));
	ASSERT_TRUE(blocks > 0 && steps > 0);
	printf("device %s", answer + at);
	printf("# a millisecond is %u blocks of %u steps\n", blocks, steps);
	return !one_process;
}

static int be_program(char **argv)
{
	if (!strcmp(argv[1], "calibrate"))
		return calibrate();
	blocks = number("MEASURE_BLOCKS");
	steps = number("MEASURE_STEPS");
	choose(argv[1]);
	if (strcmp(argv[1], "tenant") && !strstr(argv[1], "-tenant"))
		return alone(argv[1]);
	map_work(getenv("MEASURE_WORK"));
	return tenant(atoi(argv[2]));
}

static void measure_alone(void)
{
	double ns[2];

	compare("launch", ns);
	figure("alone.launch", (ns[0] - ns[1]) / 1e3, "us-more", "3");
	compare("millisecond", ns);
	figure("alone.kernel", 100 * (ns[0] / ns[1] - 1), "%-more", "1");
	compare("long", ns);
	figure("alone.long-kernel", 100 * (ns[0] / ns[1] - 1), "%-more", "1");
}

static void measure_tenants(void)
{
	struct gpushare_device dev = world_device(&w, KEY);
	int n;

	for (n = 2; n <= MOST; n *= 2)
		tenants(n);
	for (n = 2; n <= MOST; n *= 2)
		weights(n);
	measure_yields("slices", NULL, "long-tenant", dev.slice_us * 1e3, "slices", "1.2");
	measure_yields("tickets", "guard", "small-tenant", 1e3, "us", "200");
	measure_yields("workers", "workers", "small-tenant", 1e3, "us", "200");
}

int main(int argc, char **argv)
{
	bool several;

	setlinebuf(stdout);
	if (argc > 2)
		return be_program(argv);
	several = set_up();
	measure_alone();
	if (several)
		measure_tenants();
	else
		printf("# the device takes one process at a time (nvidia-smi -c DEFAULT changes that)\n");
	world_stop(&w, SIGTERM);
	unlink(getenv("MEASURE_WORK"));
	world_remove(&w);
	return test_failures > 0 ? 1 : several ? 0 : 4;
}
