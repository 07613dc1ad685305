// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "bed.h"
#include "ulib/launches.h"

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry spin(.param .u32 steps) {\n"
	".reg .u32 %r<3>; .reg .pred %p;\n"
	"ld.param.u32 %r1, [steps]; mov.u32 %r2, 0;\n"
	"L: add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra L; ret; }\n"
	".visible .entry add(.param .u64 o, .param .u32 n) {\n"
	".reg .u32 %r<6>; .reg .u64 %d<4>;\n"
	"ld.param.u64 %d1, [o]; ld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"mad.lo.u32 %r2, %r2, %r3, %r4; mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2;\n"
	"ld.global.u32 %r5, [%d1]; add.u32 %r5, %r5, %r1; st.global.u32 [%d1], %r5; ret; }\n";

void bed_driver(void)
{
	const char *o = getenv("O");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/cpucuda/libcuda.so.1", o ? o : "build/user");
	setenv("GPUSHARE_REAL_LIBCUDA", path, 1);
}

void bed_make_with(struct world *w, uint32_t grace_ms, const char *const *more)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = KEY, .kind = GPUSHARE_KIND_OTHER,
		.mask = GPUSHARE_DEV_GRACE, .grace_us = grace_ms * 1000,
	};

	bed_driver();
	setenv("GPUSHARE_CACHE", "off", 1);
	world_make(w);
	if (more) {
		chmod(w->dir, 0755);	/* it is for others too */
		world_start_with(w, more);
	} else {
		world_start(w);
	}
	ASSERT_EQ(0, world_call(w, GPUSHARE_DEVICE_ADD, &dev));
}

void bed_make(struct world *w, uint32_t grace_ms)
{
	bed_make_with(w, grace_ms, NULL);
}

CUresult program_load(CUmodule *module)
{
	return cuModuleLoadData(module, text);
}

void program_start(struct program *p)
{
	CUdevice d;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&d, 0));
	MUST(cuCtxCreate_v2(&p->ctx, 0, d));
	MUST(program_load(&p->module));
	MUST(cuModuleGetFunction(&p->spin, p->module, "spin"));
	MUST(cuModuleGetFunction(&p->add, p->module, "add"));
}

CUresult program_spin(struct program *p, uint32_t blocks, uint32_t steps, CUstream s)
{
	void *args[] = { &steps };

	return cuLaunchKernel(p->spin, blocks, 1, 1, 1, 1, 1, 0, s, args, NULL);
}

static uint64_t counted(int file, const char *kernel, const char *way)
{
	struct gs_launches l;
	uint64_t n = 0;
	off_t at;

	for (at = sizeof(l); pread(file, &l, sizeof(l), at) == sizeof(l); at += sizeof(l))
		if (l.used && !strcmp(l.kernel, kernel) && !strcmp(l.way, way))
			n += l.count;
	return n;
}

uint64_t launched(const char *kernel, const char *way)
{
	static const char wanted[] = "/memfd:" GS_LAUNCHES_NAME " ";
	DIR *files = opendir("/proc/self/fd");
	char link[sizeof(wanted)];
	struct dirent *d;
	uint64_t n = 0;

	ASSERT_TRUE(files != NULL);
	while ((d = readdir(files)))
		if (readlinkat(dirfd(files), d->d_name, link, sizeof(link)) == sizeof(link) &&
		    !memcmp(link, wanted, sizeof(wanted) - 1))
			n += counted(atoi(d->d_name), kernel, way);
	closedir(files);
	return n;
}

struct gpushare *holder_begin(const char *group)
{
	struct gpushare_options o = { .size = sizeof(o), .group = group };
	struct gpushare *g;

	ASSERT_EQ(0, gpushare_open(&g, KEY, &o));
	ASSERT_EQ(0, gpushare_begin(g, gpushare_after(20 * SEC)));
	return g;
}

void holder_end(struct gpushare *g)
{
	gpushare_end(g);
	gpushare_close(g);
}

pid_t child_start(void (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		test_failures = 0;
		fn(arg);
		test_end(test_failures ? 1 : 0);
	}
	return pid;
}

int child_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What the arbiter says of it; false: it isn't a client. */
static bool find_child(struct world *w, pid_t pid, struct gpushare_stats *s)
{
	*s = (struct gpushare_stats){ .size = sizeof(*s), .what = GPUSHARE_STATS_CLIENT,
				      .flags = GPUSHARE_GET_NEXT };
	while (!world_call(w, GPUSHARE_STATS, s)) {
		if (s->pid == pid)
			return true;
		s->flags = GPUSHARE_GET_NEXT;
	}
	return false;
}

uint32_t child_state(struct world *w, pid_t pid)
{
	struct gpushare_stats s;

	return find_child(w, pid, &s) ? s.state : 0;
}

struct gpushare_stats child_stats(struct world *w, pid_t pid)
{
	struct gpushare_stats s;

	return find_child(w, pid, &s) ? s : (struct gpushare_stats){ 0 };
}

uint64_t child_charged(struct world *w, pid_t pid)
{
	struct gpushare_stats s;

	return find_child(w, pid, &s) ? s.mem_current : 0;
}

bool child_is_client(struct world *w, pid_t pid)
{
	struct gpushare_stats s;

	return find_child(w, pid, &s);
}

bool bed_set_apart(void)
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

static void calibrate(void *arg)
{
	const uint32_t steps = 40000;
	uint64_t best = UINT64_MAX, from;
	double *per_ms = arg;
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

double bed_steps_per_ms(void)
{
	double *per_ms = mmap(NULL, sizeof(*per_ms), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(per_ms != MAP_FAILED);
	ASSERT_EQ(0, child_wait(child_start(calibrate, per_ms)));
	return *per_ms;
}

static void burn(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		__asm__ volatile("");
}

void bed_load(unsigned int n)
{
	static pid_t burner[64];
	static unsigned int burners;

	while (burners > n) {
		kill(burner[--burners], SIGKILL);
		child_wait(burner[burners]);
	}
	for (; burners < n && burners < 64; burners++)
		burner[burners] = child_start(burn, NULL);
}
