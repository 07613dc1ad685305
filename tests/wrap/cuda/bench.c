// SPDX-License-Identifier: MIT
/*
 * What the wrapper costs, over the driver on the CPU: wrapped and bare calls in turns
 * in one process, the best of many rounds; starts of programs in pairs, by their processor
 * time: the median of the pairs, as what else runs then hits both of a pair about alike.
 * On a machine that others use even that is noise of some hundredths, so a start's page
 * faults and, where valgrind is there, its instructions are counted as well. These are the
 * same each time; valgrind counts a copied byte as one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "bed.h"

#define ROUNDS	400
#define BATCH	16
#define STARTS	61

static struct world w;
static int failed;

static void report(const char *name, double value, const char *unit, double target)
{
	printf("bench %s %.2f %s <=%g %s\n", name, value, unit, target,
	       value <= target ? "ok" : "short");
	failed |= value > target;
}

static int counter_open(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static uint64_t counter_read(int fd)
{
	uint64_t n = 0;

	return fd >= 0 && read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

struct cost {
	uint64_t ns, instructions;
};

static void least(struct cost *c, uint64_t ns, uint64_t instructions)
{
	if (!c->ns || ns < c->ns)
		c->ns = ns;
	if (!c->instructions || instructions < c->instructions)
		c->instructions = instructions;
}

static void bench_calls(void)
{
	void *real = dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY);
	__typeof__(&cuLaunchKernel) launch[2] = { cuLaunchKernel };
	__typeof__(&cuDriverGetVersion) version[2] = { cuDriverGetVersion };
	struct cost cost[2] = { 0 }, call[2] = { 0 };
	uint64_t began, counted;
	uint32_t steps = 1;
	void *args[] = { &steps };
	int fd = counter_open(), i, k, side, v;
	struct program p;
	CUstream s;

	launch[1] = (__typeof__(launch[1]))dlsym(real, "cuLaunchKernel");
	version[1] = (__typeof__(version[1]))dlsym(real, "cuDriverGetVersion");
	program_start(&p);
	MUST(cuStreamCreate(&s, 1));
	for (i = 0; i < ROUNDS; i++)
		for (side = 0; side < 2; side++) {
			MUST(launch[0](p.spin, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
			began = now_ns();
			counted = counter_read(fd);
			for (k = 0; k < BATCH; k++)
				launch[side](p.spin, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
			counted = counter_read(fd) - counted;
			least(&cost[side], now_ns() - began, counted);
			MUST(cuStreamSynchronize(s));
			began = now_ns();
			for (k = 0; k < 1000; k++)
				version[side](&v);
			least(&call[side], now_ns() - began, 0);
		}
	printf("# a launch takes %.1f ns, bare %.1f ns\n", (double)cost[0].ns / BATCH,
	       (double)cost[1].ns / BATCH);
	report("cuda.launch", ((double)cost[0].ns - (double)cost[1].ns) / BATCH, "ns", 150);
	if (cost[1].instructions)
		printf("# %.0f instructions more a launch\n",
		       ((double)cost[0].instructions - (double)cost[1].instructions) / BATCH);
	else
		printf("# instructions: not counted, this machine doesn't let us\n");
	report("cuda.forward", ((double)call[0].ns - (double)call[1].ns) / 1000, "ns", 2);
}

/* A program that starts, does something or not, and ends. */
static int run_start(const char *what)
{
	char text[64];
	CUcontext ctx;
	CUmodule m;
	FILE *f;
	char *ptx;

	MUST(cuInit(0));
	MUST(cuCtxCreate_v2(&ctx, 0, 0));
	if (!strcmp(what, "start"))
		return 0;
	snprintf(text, sizeof(text), "build/corpus/ptx/sm_90/%s.ptx", what);
	f = fopen(text, "r");
	ptx = calloc(1, 4 << 20);
	if (!f || !fread(ptx, 1, (4 << 20) - 1, f))
		return 1;
	fclose(f);
	MUST(cuModuleLoadData(&m, ptx));
	return 0;
}

static char self[PATH_MAX];

struct start {
	uint64_t ns;		/* of processor time: others' doesn't come in */
	uint64_t faults;	/* that the kernel brought pages for */
};

static struct start start_once(const char *library, const char *what)
{
	struct rusage u;
	int status = 1;
	pid_t pid;

	pid = fork();
	if (!pid) {
		setenv("LD_LIBRARY_PATH", library, 1);
		execl(self, self, what, NULL);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &u) != pid || status)
		failed = 1;
	return (struct start){
		.ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * SEC +
		      (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000,
		.faults = (uint64_t)(u.ru_minflt + u.ru_majflt),
	};
}

/* The instructions of a start; 0: nobody is there who counts them. */
static uint64_t start_instructions(const char *library, const char *what)
{
	char command[4 * PATH_MAX], line[256];
	unsigned long long n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "LD_LIBRARY_PATH='%s' valgrind --tool=callgrind "
		 "--callgrind-out-file=/dev/null '%s' %s 2>&1", library, self, what);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "Collected :"))
			n = strtoull(strstr(line, "Collected :") + 11, NULL, 10);
	if (f)
		pclose(f);
	return n;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct starts {
	double more_ms, ratio;	/* of wrapped and bare */
};

static struct starts bench_starts(const char *what)
{
	const char *o = getenv("O") ? getenv("O") : "build/user";
	char path[2][PATH_MAX + 32], root[PATH_MAX];
	double more[STARTS], ratio[STARTS];
	struct start t[2], best[2] = { { UINT64_MAX, UINT64_MAX }, { UINT64_MAX, UINT64_MAX } };
	uint64_t counted[2];
	int i, k, side;

	/* Whole paths, as a program gets them: the loader tries others more often. */
	ASSERT_TRUE(realpath(o, root) != NULL);
	snprintf(path[0], sizeof(path[0]), "%s/cuda", root);
	snprintf(path[1], sizeof(path[1]), "%s/cpucuda", root);
	for (i = -1; i < STARTS; i++) {		/* one is to fill caches */
		for (k = 0; k < 2; k++) {
			side = (i + k) & 1;	/* each is first in every other pair */
			t[side] = start_once(path[side], what);
			if (t[side].ns < best[side].ns)
				best[side].ns = t[side].ns;
			if (t[side].faults < best[side].faults)
				best[side].faults = t[side].faults;
		}
		if (i < 0)
			continue;
		more[i] = ((double)t[0].ns - (double)t[1].ns) / 1e6;
		ratio[i] = (double)t[0].ns / (double)t[1].ns;
	}
	qsort(more, STARTS, sizeof(*more), compare);
	qsort(ratio, STARTS, sizeof(*ratio), compare);
	printf("# %s: at least %.3f ms wrapped, %.3f ms bare, %.3fx\n", what,
	       (double)best[0].ns / 1e6, (double)best[1].ns / 1e6,
	       (double)best[0].ns / (double)best[1].ns);
	printf("# %s: %llu page faults wrapped, %llu bare\n", what,
	       (unsigned long long)best[0].faults, (unsigned long long)best[1].faults);
	for (side = 0; side < 2; side++)
		counted[side] = start_instructions(path[side], what);
	if (counted[0] && counted[1])
		printf("# %s: %llu instructions wrapped, %llu bare, %.3fx\n", what,
		       (unsigned long long)counted[0], (unsigned long long)counted[1],
		       (double)counted[0] / (double)counted[1]);
	else
		printf("# %s: instructions aren't counted, there is no valgrind\n", what);
	return (struct starts){ more[STARTS / 2], ratio[STARTS / 2] };
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char cache[128];

	self[n < 0 ? 0 : n] = 0;
	setlinebuf(stdout);
	if (argc > 1)
		return run_start(argv[1]);
	bed_make(&w, 60000);
	snprintf(cache, sizeof(cache), "%s/cache", w.dir);
	setenv("GPUSHARE_CACHE", cache, 1);
	bench_calls();
	report("cuda.start", bench_starts("start").more_ms, "ms", 1);
	report("cuda.second_start", bench_starts("types").ratio, "x", 1.05);
	report("cuda.second_start_with_variables", bench_starts("apps").ratio, "x", 1.05);
	world_stop(&w, SIGTERM);
	world_remove(&w);
	return failed || test_failures;
}
