// SPDX-License-Identifier: MIT
/*
 * What few programs do: memory of the oldest forms, contexts that end in odd ways or
 * don't, captures that never end well, one kernel on several devices.
 */
#include <dlfcn.h>
#include <limits.h>
#include "bed.h"

#define MIB (1024ull * 1024)
#define LIMIT (64 * MIB)
#define OTHER_KEY "pci:0000:01:00.0"

static struct world w;

/* The wrapper's own, by name: api.h has only what the driver on the CPU has. */
#define FN(name, ...) ((CUresult (*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name))

static void rare_make(void)
{
	struct gpushare_share share = { .mask = GPUSHARE_SHARE_MEM_MAX, .mem_max = LIMIT };
	const char *o = getenv("O");
	char path[PATH_MAX];

	bed_make(&w, 60000);
	snprintf(path, sizeof(path), "%s/tests/wrap/cuda/rare-driver/libcuda.so.1",
		 o ? o : "build/user");
	setenv("GPUSHARE_REAL_LIBCUDA", path, 1);
	setenv("CPUCUDA_DEVICES", "2", 1);
	ASSERT_EQ(0, group_set(&w, "small", &share));
	setenv("GPUSHARE_GROUP", "small", 1);
}

static void rare_end(void)
{
	unsetenv("GPUSHARE_GROUP");
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static void in_child(void (*fn)(void *arg))
{
	rare_make();
	EXPECT_EQ(0, child_wait(child_start(fn, NULL)));
	rare_end();
}

static void *of_driver(const char *name)
{
	void *symbol = dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), name);

	ASSERT_TRUE(symbol != NULL);
	return symbol;
}

static uint64_t charged(void)
{
	return child_charged(&w, getpid());
}

static void oldest_memory(void *arg)
{
	struct { unsigned int width, height; int format; unsigned int channels; } flat = {
		1024, 1024, 0x20, 4 };
	struct { unsigned int width, height, depth; int format; unsigned int channels, flags; }
		deep = { 256, 256, 16, 0x20, 4, 0 };
	unsigned int left = 0, total = 0, pitch = 0;
	struct program p;
	uint32_t d[2];
	CUarray a[2];

	(void)arg;
	program_start(&p);
	OK(FN(cuDeviceTotalMem, unsigned int *, CUdevice)(&total, 0));
	EXPECT_EQ(LIMIT, total);
	MUST(FN(cuMemAlloc, uint32_t *, unsigned int)(&d[0], 20 * MIB));
	EXPECT_EQ(20 * MIB, charged());
	OK(FN(cuMemGetInfo, unsigned int *, unsigned int *)(&left, &total));
	EXPECT_EQ(LIMIT, total);
	EXPECT_EQ(44 * MIB, left);
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY,
		  FN(cuMemAlloc, uint32_t *, unsigned int)(&d[1], 45 * MIB));
	MUST(FN(cuMemAllocPitch, uint32_t *, unsigned int *, unsigned int, unsigned int,
		unsigned int)(&d[1], &pitch, 1000, 1024, 4));
	EXPECT_EQ(20 * MIB + pitch * 1024, charged());
	OK(FN(cuMemFree, uint32_t)(d[1]));
	MUST(FN(cuArrayCreate, CUarray *, void *)(&a[0], &flat));
	EXPECT_EQ(36 * MIB, charged());
	MUST(FN(cuArray3DCreate, CUarray *, void *)(&a[1], &deep));
	EXPECT_EQ(52 * MIB, charged());
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, FN(cuArrayCreate, CUarray *, void *)(&a[1], &flat));
	OK(FN(cuMemFree, uint32_t)(d[0]));
	EXPECT_EQ(32 * MIB, charged());
	EXPECT_NE(CUDA_SUCCESS, FN(cuMemFree, uint32_t)(d[0]));
	EXPECT_EQ(32 * MIB, charged());
}

TEST(the_oldest_forms_of_memory_are_charged)
{
	in_child(oldest_memory);
}

static void refused(void *arg)
{
	int *refuses = of_driver("rare_refuses"), i;
	struct program p;
	CUdeviceptr d;
	CUcontext c;

	(void)arg;
	program_start(&p);
	MUST(cuMemAlloc_v2(&d, 20 * MIB));
	MUST(program_spin(&p, 4, 1000, NULL));
	*refuses = 1;
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, FN(cuCtxDetach, CUcontext)(p.ctx));
	*refuses = 0;
	EXPECT_EQ(20 * MIB, charged());
	/* All goes on as before, and ends. */
	for (i = 0; i < 100; i++)
		MUST(program_spin(&p, 4, 10, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemFree_v2(d));
	EXPECT_EQ(0, charged());
	MUST(cuMemAlloc_v2(&d, 20 * MIB));
	/* Somebody else uses it as well. */
	OK(FN(cuCtxAttach, CUcontext *, unsigned int)(&c, 0));
	OK(FN(cuCtxDetach, CUcontext)(p.ctx));
	EXPECT_EQ(20 * MIB, charged());
	OK(FN(cuCtxDetach, CUcontext)(p.ctx));
	EXPECT_EQ(0, charged());
}

TEST(a_context_that_stays_keeps_what_it_has)
{
	in_child(refused);
}

static void green(void *arg)
{
	struct program p;
	CUdeviceptr d;
	CUcontext c;
	int i;

	(void)arg;
	program_start(&p);
	for (i = 0; i < 3; i++) {
		MUST(FN(cuCtxFromGreenCtx, CUcontext *, void *)(&c, &p));
		MUST(cuCtxPushCurrent_v2(c));
		MUST(cuMemAlloc_v2(&d, 40 * MIB));
		MUST(program_load(&p.module));
		OK(cuCtxPopCurrent_v2(&c));
		EXPECT_EQ(40 * MIB, charged());
		OK(FN(cuGreenCtxDestroy, void *)(&p));
		EXPECT_EQ(0, charged());
	}
}

TEST(a_green_context_takes_its_own_along)
{
	in_child(green);
}

static void reset(void *arg)
{
	struct program p;
	CUcontext primary;
	CUdeviceptr d, own;
	int i;

	(void)arg;
	program_start(&p);
	MUST(cuMemAlloc_v2(&own, 10 * MIB));
	for (i = 0; i < 3; i++) {
		MUST(cuDevicePrimaryCtxRetain(&primary, 0));
		MUST(cuDevicePrimaryCtxRetain(&primary, 0));
		MUST(cuCtxPushCurrent_v2(primary));
		MUST(cuMemAlloc_v2(&d, 40 * MIB));
		EXPECT_EQ(50 * MIB, charged());
		OK(cuDevicePrimaryCtxRelease_v2(0));
		EXPECT_EQ(50 * MIB, charged());
		OK(cuDevicePrimaryCtxReset_v2(0));
		EXPECT_EQ(10 * MIB, charged());
		cuDevicePrimaryCtxRelease_v2(0);
		cuCtxPopCurrent_v2(&primary);
	}
}

TEST(a_reset_takes_all_of_the_primary_context)
{
	in_child(reset);
}

/* How many launches it takes for one of sixteen blocks. */
static uint64_t parts(struct program *p)
{
	void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches) =
		(__typeof__(counts))of_driver("cpucuda_counts");
	uint64_t steps, blocks, before, after;

	OK(cuCtxSynchronize());
	counts(&steps, &blocks, &before);
	MUST(program_spin(p, 64, 10, NULL));
	OK(cuCtxSynchronize());
	counts(&steps, &blocks, &after);
	return after - before;
}

static void captures(void *arg)
{
	struct program p, other;
	CUgraph graph;
	CUstream s, t;
	CUevent e;

	(void)arg;
	setenv("GPUSHARE_CUT", "slice", 1);
	program_start(&p);
	EXPECT_GE(parts(&p), 2);
	/* Nothing is cut while a capture is under way. */
	MUST(cuStreamCreate(&s, 1));
	MUST(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	MUST(program_spin(&p, 64, 10, s));
	EXPECT_EQ(1, parts(&p));
	MUST(cuStreamEndCapture(s, &graph));
	EXPECT_GE(parts(&p), 2);
	/* One that joined and is destroyed isn't its end. */
	MUST(cuStreamCreate(&t, 1));
	MUST(cuEventCreate(&e, 2));
	MUST(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	MUST(cuEventRecord(e, s));
	MUST(cuStreamWaitEvent(t, e, 0));
	OK(cuStreamDestroy_v2(t));
	EXPECT_EQ(1, parts(&p));
	/* Its stream's is. */
	OK(cuStreamDestroy_v2(s));
	EXPECT_GE(parts(&p), 2);
	/* And its context's. */
	program_start(&other);
	MUST(cuStreamCreate(&s, 1));
	MUST(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	MUST(cuCtxPopCurrent_v2(&other.ctx));
	EXPECT_EQ(1, parts(&p));
	OK(cuCtxDestroy_v2(other.ctx));
	EXPECT_GE(parts(&p), 2);
}

TEST(a_capture_ends_with_its_stream_or_context)
{
	in_child(captures);
}

/* The oldest forms of linking: half the kernel by one of them, half by another. */
static void oldest_links(void *arg)
{
	static const char head[] = ".version 7.0\n.target sm_75\n.address_size 64\n", file[] =
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .func end() { ret; }\n";
	char path[] = "/tmp/gpushare-rare-XXXXXX", text[512];
	struct program p;
	CUlinkState l;
	size_t size;
	void *out;
	int fd;

	(void)arg;
	setenv("GPUSHARE_CUT", "slice", 1);
	program_start(&p);
	fd = mkstemp(path);
	ASSERT_TRUE(fd >= 0);
	EXPECT_EQ((ssize_t)sizeof(file) - 1, write(fd, file, sizeof(file) - 1));
	close(fd);
	snprintf(text, sizeof(text), "%s.extern .func end();\n"
		 ".visible .entry spin(.param .u32 steps) { call end, (); ret; }\n", head);
	MUST(FN(cuLinkCreate, unsigned int, void *, void **, CUlinkState *)(0, NULL, NULL, &l));
	MUST(FN(cuLinkAddFile, CUlinkState, int, const char *, unsigned int, void *, void **)(
		l, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	MUST(FN(cuLinkAddData, CUlinkState, int, void *, size_t, const char *, unsigned int, void *,
		void **)(l, CU_JIT_INPUT_PTX, text, strlen(text) + 1, NULL, 0, NULL, NULL));
	MUST(cuLinkComplete(l, &out, &size));
	MUST(cuModuleLoadData(&p.module, out));
	OK(cuLinkDestroy(l));
	MUST(cuModuleGetFunction(&p.spin, p.module, "spin"));
	EXPECT_GE(parts(&p), 2);
	unlink(path);
}

TEST(the_oldest_forms_of_links)
{
	in_child(oldest_links);
}

/* Is the process a client of that device that waits? */
static bool waits(pid_t pid, const char *key, uint64_t *unscheduled)
{
	uint32_t device = world_device(&w, key).device;
	struct gpushare_stats s = { .size = sizeof(s), .what = GPUSHARE_STATS_CLIENT,
				    .flags = GPUSHARE_GET_NEXT };
	bool any = false;

	while (!world_call(&w, GPUSHARE_STATS, &s)) {
		if (s.pid == pid && s.device == device) {
			any |= (s.state & GPUSHARE_WAITING) != 0;
			if (unscheduled)
				*unscheduled += s.unscheduled;
		}
		s.flags = GPUSHARE_GET_NEXT;
	}
	return any;
}

static void for_graphics(void *arg)
{
	int *fds = arg, params = 1;
	struct program p;
	CUstream s;
	char c;

	program_start(&p);
	MUST(program_spin(&p, 1, 10, NULL));
	MUST(cuStreamCreate(&s, 1));
	MUST(FN(cuStreamBeginCaptureToCig, CUstream, void *)(s, &params));
	OK(cuCtxSynchronize());
	EXPECT_EQ(1, write(fds[1], "x", 1));
	EXPECT_EQ(1, read(fds[2], &c, 1));
	/* The device is another's: what goes into the capture doesn't wait for it. */
	MUST(program_spin(&p, 1, 10, s));
	EXPECT_EQ(1, write(fds[1], "x", 1));
	EXPECT_EQ(1, read(fds[2], &c, 1));
	MUST(FN(cuStreamEndCaptureToCig, CUstream)(s));
	MUST(program_spin(&p, 1, 10, s));	/* this does */
	OK(cuCtxSynchronize());
}

TEST(a_capture_for_graphics_is_left_alone)
{
	uint64_t unscheduled = 0;
	struct gpushare *g;
	int fds[4];
	pid_t pid;
	char c;

	rare_make();
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, pipe(fds + 2));
	pid = child_start(for_graphics, fds);
	EXPECT_EQ(1, read(fds[0], &c, 1));
	g = holder_begin("other");
	EXPECT_EQ(1, write(fds[3], "x", 1));
	EXPECT_EQ(1, read(fds[0], &c, 1));
	EXPECT_TRUE(WAIT_FOR((waits(pid, KEY, &unscheduled), unscheduled > 0)));
	EXPECT_EQ(1, write(fds[3], "x", 1));
	EXPECT_TRUE(WAIT_FOR(waits(pid, KEY, NULL)));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	holder_end(g);
	EXPECT_EQ(0, child_wait(pid));
	rare_end();
}

/* What the driver doesn't let a program have, nobody is asked for. */
static void in_fork(CUdevice other)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, other } };
	CUmemGenericAllocationHandle h;
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		test_failures = 0;
		EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuMemCreate(&h, 2 * MIB, &prop, 0));
		EXPECT_FALSE(child_is_client(&w, getpid()));
		fflush(NULL);
		_exit(test_failures);
	}
	EXPECT_EQ(0, child_wait(pid));
}

static void too_early(void *arg)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemGenericAllocationHandle h;
	struct program p;

	(void)arg;
	EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuMemCreate(&h, 2 * MIB, &prop, 0));
	prop.location.id = 9;
	EXPECT_NE(CUDA_SUCCESS, cuMemCreate(&h, 2 * MIB, &prop, 0));
	EXPECT_FALSE(child_is_client(&w, getpid()));
	program_start(&p);
	prop.location.id = 0;
	MUST(cuMemCreate(&h, 2 * MIB, &prop, 0));
	EXPECT_EQ(2 * MIB, charged());
	in_fork(1);
	setenv("GPUSHARE_CUDA_KEYS", KEY "," OTHER_KEY, 1);
	in_fork(1);
	OK(cuMemRelease(h));
	EXPECT_EQ(0, charged());
}

TEST(no_device_is_opened_before_cuda_or_after_a_fork)
{
	static const char *const keys[] = { OTHER_KEY, "pci:unknown-0", "pci:unknown-1",
					    "pci:unknown-9" };
	struct gpushare_device dev;
	unsigned int i;

	rare_make();
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		dev = (struct gpushare_device){ .size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER };
		strcpy(dev.key, keys[i]);
		ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	}
	EXPECT_EQ(0, child_wait(child_start(too_early, NULL)));
	rare_end();
}

struct multi {
	CUfunction function;
	unsigned int grid[3], block[3], shared;
	CUstream stream;
	void **params;
};

/* Streams that were never launched into, on two devices. */
static void on_both(void *arg)
{
	uint32_t steps = 10, i;
	void *args[] = { &steps };
	struct multi list[2];
	struct program p[2];

	(void)arg;
	MUST(cuInit(0));
	for (i = 0; i < 2; i++) {
		MUST(cuCtxCreate_v2(&p[i].ctx, 0, (CUdevice)i));
		MUST(program_load(&p[i].module));
		MUST(cuModuleGetFunction(&p[i].spin, p[i].module, "spin"));
		list[i] = (struct multi){ p[i].spin, { 2, 1, 1 }, { 1, 1, 1 }, 0, NULL, args };
		MUST(cuStreamCreate(&list[i].stream, 1));
	}
	for (i = 0; i < 50; i++)
		MUST(FN(cuLaunchCooperativeKernelMultiDevice, struct multi *, unsigned int,
			unsigned int)(list, 2, 0));
	for (i = 0; i < 2; i++)
		OK(cuStreamSynchronize(list[i].stream));
}

static void one_kernel_waits_for(const char *key)
{
	struct gpushare_options o = { .size = sizeof(o), .group = "other" };
	struct gpushare *g;
	pid_t pid;

	ASSERT_EQ(0, gpushare_open(&g, key, &o));
	ASSERT_EQ(0, gpushare_begin(g, gpushare_after(20 * SEC)));
	pid = child_start(on_both, NULL);
	EXPECT_TRUE(WAIT_FOR(waits(pid, key, NULL)));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	holder_end(g);
	EXPECT_EQ(0, child_wait(pid));
}

TEST(one_kernel_on_several_devices_waits_for_all)
{
	struct gpushare_device dev = { .size = sizeof(dev), .key = OTHER_KEY,
				       .kind = GPUSHARE_KIND_OTHER };

	rare_make();
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	one_kernel_waits_for(KEY);
	one_kernel_waits_for(OTHER_KEY);
	rare_end();
}

TEST_MAIN()
