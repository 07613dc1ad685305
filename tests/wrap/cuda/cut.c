// SPDX-License-Identifier: MIT
/* Which kernels are cut, by what of them reaches the driver. */
#include <dlfcn.h>
#include "bed.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define WORDS 1024u

static struct world w;

/* What the driver has done so far. */
struct done {
	uint64_t blocks, launches;
};

static struct done done(void)
{
	static void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches);
	struct done n = { 0 };
	uint64_t steps;

	if (!counts)
		counts = (__typeof__(counts))dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"),
							  RTLD_LAZY), "cpucuda_counts");
	if (counts)
		counts(&steps, &n.blocks, &n.launches);
	return n;
}

/* Each block adds its number and 1 to a word of its own; with so many registers in all. */
static const char *text_of_add(const char *more, unsigned int registers, const char *directive)
{
	static char text[1 << 14];
	unsigned int i;
	size_t n;

	n = (size_t)snprintf(text, sizeof(text), HEAD "%s"
			     ".visible .entry add(.param .u64 o)%s {\n"
			     ".reg .u32 %%r<%u>; .reg .u64 %%d<3>;\n", more, directive, registers);
	for (i = 3; i <= registers - 3; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "mov.u32 %%r%u, %u;\n", i, i);
	snprintf(text + n, sizeof(text) - n,
		 "ld.param.u64 %%d1, [o]; mov.u32 %%r1, %%ctaid.x; mul.wide.u32 %%d2, %%r1, 4;\n"
		 "add.u64 %%d1, %%d1, %%d2; ld.global.u32 %%r2, [%%d1]; add.u32 %%r2, %%r2, %%r1;\n"
		 "add.u32 %%r2, %%r2, 1; st.global.u32 [%%d1], %%r2; ret; }\n");
	return text;
}

static CUmodule load_add(const char *more, unsigned int registers, const char *directive)
{
	CUmodule m = NULL;

	MUST(cuModuleLoadData(&m, text_of_add(more, registers, directive)));
	return m;
}

/* Launches add() once; returns what the driver did for that. */
static struct done run_add(CUmodule m)
{
	uint32_t out[WORDS], i;
	struct done before, after;
	CUfunction f;
	CUdeviceptr d;
	void *args[] = { &d };

	MUST(cuModuleGetFunction(&f, m, "add"));
	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	OK(cuMemsetD32_v2(d, 5, WORDS));
	before = done();
	OK(cuLaunchKernel(f, WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 6 + i; i++)
		;
	EXPECT_EQ(WORDS, i);
	OK(cuMemFree_v2(d));
	after = done();
	return (struct done){ after.blocks - before.blocks, after.launches - before.launches };
}

static void child(void (*fn)(void *arg), void *arg, const char *cut, const char *cache)
{
	bed_make(&w, 60000);
	setenv("GPUSHARE_CUT", cut, 1);
	if (cache)
		setenv("GPUSHARE_CACHE", cache, 1);
	EXPECT_EQ(0, child_wait(child_start(fn, arg)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/*
 * The driver on the CPU says 16 registers and a quarter of what the text names: with
 * 99 a kernel is at its cap of 40, which its variant for workers passes.
 */
static void capped(void *arg)
{
	struct program p;
	CUfunction f;
	int registers;

	(void)arg;
	program_start(&p);
	MUST(cuModuleGetFunction(&f, load_add("", 99, ""), "add"));
	MUST(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
	EXPECT_EQ(40, registers);
	/* Workers are fewer than there are blocks. */
	EXPECT_LT(run_add(load_add("", 99, "")).blocks, WORDS);
	/* It takes 32, and could do with no fewer; its variant would spill. */
	EXPECT_EQ(WORDS, run_add(load_add("", 111, "\n.maxnreg 32\n")).blocks);
}

TEST(a_variant_over_the_register_cap_is_made_again)
{
	child(capped, NULL, "workers", NULL);
}

static void capped_once(void *arg)
{
	struct program p;

	(void)arg;
	program_start(&p);
	EXPECT_LT(run_add(load_add(".visible .global .u32 v;\n", 99, "")).blocks, WORDS);
}

/* How many files of the cache were used since this was asked the last time. */
static int used(const char *cache)
{
	char command[128], answer[16] = "";
	FILE *f;

	snprintf(command, sizeof(command), "find %s -type f -newermt @1000 | wc -l; "
		 "find %s -type f -exec touch -d @0 {} +", cache, cache);
	f = popen(command, "r");
	if (!f || !fgets(answer, sizeof(answer), f))
		test_fail("no find");
	if (f)
		pclose(f);
	return atoi(answer);
}

TEST(caps_are_kept_for_the_next_start)
{
	char cache[] = "/tmp/gpushare-caps-XXXXXX", clean[64];

	ASSERT_TRUE(mkdtemp(cache) != NULL);
	child(capped_once, NULL, "workers", cache);
	/* What was made first, the cap, what was made with it. */
	EXPECT_EQ(3, used(cache));
	child(capped_once, NULL, "workers", cache);
	EXPECT_EQ(2, used(cache));
	snprintf(clean, sizeof(clean), "rm -rf %s", cache);
	EXPECT_EQ(0, system(clean));
}

/*
 * A kernel of which one variant is made, for the first of two devices. What is set on it for
 * the second, which has no gate, makes none there, and the first gets the others yet: with 87
 * registers only that for workers passes the cap, and has to be made anew.
 */
static void set_elsewhere(void *arg)
{
	uint64_t workers;
	CUlibrary l;
	CUkernel k;
	CUdeviceptr d;
	void *args[] = { &d };
	struct program p;
	int i;

	(void)arg;
	program_start(&p);
	MUST(cuLibraryLoadData(&l, text_of_add("", 87, ""), NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel(&k, l, "add"));
	MUST(cuMemAlloc_v2(&d, 4 * WORDS));
	for (i = 0; i < 32; i++) {
		OK(cuLaunchKernel((CUfunction)k, WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		OK(cuCtxSynchronize());
		if (i)
			continue;
		workers = launched("add", "workers");
		EXPECT_EQ(0, workers);
		OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0, k,
					1));
	}
	EXPECT_GT(launched("add", "workers"), workers);
}

TEST(an_attribute_for_a_device_without_a_gate)
{
	setenv("CPUCUDA_DEVICES", "2", 1);
	setenv("GPUSHARE_CUDA_KEYS", KEY ",/", 1);
	child(set_elsewhere, NULL, "random=2", NULL);
	unsetenv("GPUSHARE_CUDA_KEYS");
	unsetenv("CPUCUDA_DEVICES");
}

/* A stream that waits for a word in the program's memory: nothing behind it can run. */
struct stall {
	uint32_t *word;
	CUdeviceptr there;
};

static void stall(struct stall *st, CUstream s)
{
	MUST(cuMemHostAlloc((void **)&st->word, 4096, 2));	/* mapped */
	MUST(cuMemHostGetDevicePointer_v2(&st->there, st->word, 0));
	__atomic_store_n(st->word, 0, __ATOMIC_RELEASE);
	MUST(cuStreamWaitValue32_v2(s, st->there, 1, 0));
}

static void say_so(void *data)
{
	__atomic_store_n((uint32_t *)data, 1, __ATOMIC_SEQ_CST);
}

static CUresult launch_add(CUfunction f, CUdeviceptr d, CUstream s)
{
	void *args[] = { &d };

	return cuLaunchKernel(f, WORDS, 1, 1, 1, 1, 1, 0, s, args, NULL);
}

/*
 * No piece of the kernel can run, so not all of them fit into what may be in flight: the
 * call returns, or this test never ends. All that is put behind it goes on after it.
 */
static void returns(void *arg)
{
	uint32_t out[WORDS], i, seen = 0;
	struct program p;
	struct stall st;
	CUdeviceptr d;
	CUfunction f;
	CUstream s, t;
	CUevent e;
	CUmodule m;
	struct done before;

	(void)arg;
	program_start(&p);
	m = load_add("", 20, "");
	run_add(m);
	MUST(cuModuleGetFunction(&f, m, "add"));
	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	OK(cuMemsetD32_v2(d, 5, WORDS));
	MUST(cuStreamCreate(&s, 1));
	MUST(cuStreamCreate(&t, 1));
	MUST(cuEventCreate(&e, 0));
	stall(&st, s);
	before = done();

	OK(launch_add(f, d, s));
	OK(launch_add(f, d, s));
	OK(cuEventRecord(e, s));
	OK(cuLaunchHostFunc(s, say_so, &seen));
	OK(cuStreamWaitEvent(t, e, 0));
	OK(launch_add(f, d, t));
	EXPECT_EQ(before.blocks, done().blocks);
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(t));
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	EXPECT_EQ(0, __atomic_load_n(&seen, __ATOMIC_SEQ_CST));

	__atomic_store_n(st.word, 1, __ATOMIC_RELEASE);
	OK(cuEventSynchronize(e));
	OK(cuStreamSynchronize(t));
	OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 5 + 3 * (i + 1); i++)
		;
	EXPECT_EQ(WORDS, i);
	EXPECT_EQ(before.blocks + 3 * WORDS, done().blocks);
	OK(cuStreamSynchronize(s));
	EXPECT_EQ(1, __atomic_load_n(&seen, __ATOMIC_SEQ_CST));
	OK(cuCtxDestroy_v2(p.ctx));
}

TEST(a_launch_returns_before_its_kernel_has_run)
{
	child(returns, NULL, "slice", NULL);
}

/* Each block counts itself. */
static const char counting[] = HEAD ".visible .entry count(.param .u64 o) {\n"
	".reg .u64 %d; ld.param.u64 %d, [o]; red.global.add.u32 [%d], 1; ret; }\n";

static CUresult launch_with(CUfunction f, CUdeviceptr d, CUstream s, CUlaunchAttribute *a)
{
	CUlaunchConfig c = { .gridDimX = WORDS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
			     .blockDimY = 1, .blockDimZ = 1, .hStream = s, .numAttrs = 1,
			     .attrs = a };
	void *args[] = { &d };

	return cuLaunchKernelEx(&c, f, args, NULL);
}

/*
 * An event of a launch's blocks means all of its grid, or who waits for it sees too few: as
 * many as fit on the device may have begun and not counted yet.
 */
static void events_of_blocks(void *arg)
{
	CUlaunchAttribute a[] = {
		{ .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT },
		{ .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
		  .value.programmaticEvent.triggerAtBlockStart = 1 },
		{ .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT },
		{ .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION },
		{ .id = CU_LAUNCH_ATTRIBUTE_IGNORE },
	};
	int units, n, missing[] = { 0, 0, 0 };
	uint32_t *seen, i;
	struct program p;
	struct stall st;
	CUdeviceptr d;
	CUstream s, t;
	CUfunction f;
	CUmodule m;
	CUevent e;

	(void)arg;
	program_start(&p);
	MUST(cuModuleLoadData(&m, counting));
	MUST(cuModuleGetFunction(&f, m, "count"));
	MUST(cuDeviceGetAttribute(&units, 16, 0));
	MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 1, 0));
	missing[0] = missing[1] = units * n;
	ASSERT_LT(units * n, (int)WORDS / 2);
	MUST(cuMemAlloc_v2(&d, 4));
	MUST(cuMemHostAlloc((void **)&seen, 4096, 0));
	MUST(cuStreamCreate(&s, 1));
	MUST(cuStreamCreate(&t, 1));
	MUST(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	a[0].value.launchCompletionEvent.event = e;
	a[1].value.programmaticEvent.event = e;
	a[2].value.programmaticEvent.event = e;
	for (i = 0; i < 3; i++) {
		OK(cuMemsetD32_v2(d, 0, 1));
		OK(cuCtxSynchronize());
		stall(&st, s);
		OK(launch_with(f, d, s, &a[i]));
		OK(cuStreamWaitEvent(t, e, 0));
		OK(cuMemcpyDtoHAsync_v2(seen, d, 4, t));
		EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(e));
		__atomic_store_n(st.word, 1, __ATOMIC_RELEASE);
		OK(cuStreamSynchronize(t));
		EXPECT_GE((int)*seen, (int)WORDS - missing[i]);
		EXPECT_EQ(0, launched("count", "slices"));
	}
	OK(launch_with(f, d, s, &a[3]));
	OK(cuCtxSynchronize());
	EXPECT_EQ(0, launched("count", "slices"));
	/* It could be cut, but for those. */
	OK(launch_with(f, d, s, &a[4]));
	OK(cuCtxSynchronize());
	EXPECT_EQ(1, launched("count", "slices"));
}

TEST(events_of_a_launch_s_blocks)
{
	child(events_of_blocks, NULL, "slice", NULL);
}

TEST_MAIN()
