// SPDX-License-Identifier: MIT
/*
 * Kernels that are cut share their module's variables with those that aren't, and with
 * the host: in global memory, in constant memory, and those that hold addresses.
 */
#include <dlfcn.h>
#include "bed.h"

#define BLOCKS 1024u

static struct world w;

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .global .align 4 .u32 bias;\n"
	".visible .global .align 4 .u32 total;\n"
	".visible .const .align 4 .u32 scale = 3, unused[3] = { 1, 2, 3 };\n"
	".const .align 8 .u64 to_bias = generic(bias);\n"
	".global .align 8 .u64 to_total[2] = { 0, generic(total) };\n"
	".visible .global .align 4 .b8 times[4096];\n"
	/* times[n]++, from an address that is the name's and an offset */
	".func bump(.param .u32 n)\n{\n"
	".reg .u32 %r<4>; .reg .u64 %d<4>;\n"
	"ld.param.u32 %r1, [n]; mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, times+4;\n"
	"add.u64 %d1, %d1, %d2; ld.global.u32 %r2, [%d1+-4]; add.u32 %r2, %r2, 1;\n"
	"st.global.u32 [%d1+-4], %r2; ret;\n}\n"
	/* o[block] = block * scale + bias + *to_bias; *to_total[1] += block */
	".visible .entry work(.param .u64 o)\n{\n"
	".reg .u32 %r<9>; .reg .u64 %d<9>;\n"
	"ld.param.u64 %d1, [o]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4;\n"
	"add.u64 %d1, %d1, %d2; ld.const.u32 %r2, [scale]; mul.lo.u32 %r3, %r1, %r2;\n"
	"ld.global.u32 %r4, [bias]; add.u32 %r3, %r3, %r4; ld.const.u64 %d3, [to_bias];\n"
	"ld.u32 %r5, [%d3]; add.u32 %r3, %r3, %r5; st.global.u32 [%d1], %r3;\n"
	"ld.global.u64 %d4, [to_total+8]; atom.add.u32 %r6, [%d4], %r1;\n"
	"{ .param .u32 p; st.param.u32 [p], %r1; call bump, (p); }\nret;\n}\n"
	/* o[0] = total, o[1] = bias */
	".visible .entry look(.param .u64 o)\n{\n"
	".reg .u32 %r<9>; .reg .u64 %d<9>;\n"
	"ld.param.u64 %d1, [o]; cvta.global.u64 %d2, total; ld.u32 %r1, [%d2];\n"
	"st.global.u32 [%d1], %r1; ld.global.u32 %r1, [bias]; st.global.u32 [%d1+4], %r1;\n"
	"ret;\n}\n";

static uint64_t launches(void)
{
	static void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches);
	uint64_t steps, blocks, n = 0;

	if (!counts)
		counts = (__typeof__(counts))dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"),
							  RTLD_LAZY), "cpucuda_counts");
	if (counts)
		counts(&steps, &blocks, &n);
	return n;
}

/* Where the variables are, for the host. */
struct place {
	CUdeviceptr bias, scale, total, times;
};

static void set(CUdeviceptr at, uint32_t value)
{
	OK(cuMemcpyHtoD_v2(at, &value, 4));
}

static void expect(CUdeviceptr at, uint32_t value)
{
	uint32_t is = 0;

	OK(cuMemcpyDtoH_v2(&is, at, 4));
	EXPECT_EQ(value, is);
}

static CUresult launch(CUfunction f, uint32_t blocks, CUdeviceptr d)
{
	void *args[] = { &d };

	return cuLaunchKernel(f, blocks, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
}

/* Launches work() with these, and looks at all that comes of it; it has run @before. */
static void run(CUfunction work, const struct place *p, uint32_t bias, uint32_t scale,
		uint32_t before)
{
	uint32_t out[BLOCKS], i;
	CUdeviceptr d;

	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	set(p->bias, bias);
	set(p->scale, scale);
	OK(launch(work, BLOCKS, d));
	OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
	for (i = 0; i < BLOCKS && out[i] == i * scale + 2 * bias; i++)
		;
	EXPECT_EQ(BLOCKS, i);
	expect(p->total, (before + 1) * (BLOCKS * (BLOCKS - 1) / 2));
	OK(cuMemcpyDtoH_v2(out, p->times, sizeof(out)));
	for (i = 0; i < BLOCKS && out[i] == before + 1; i++)
		;
	EXPECT_EQ(BLOCKS, i);
	OK(cuMemFree_v2(d));
}

static void of_module(void *arg)
{
	const char *cut = arg;
	CUfunction work, look;
	struct program p;
	struct place at;
	uint64_t before;
	CUmodule m;
	CUdeviceptr d;

	program_start(&p);
	MUST(cuModuleLoadData(&m, text));
	MUST(cuModuleGetFunction(&work, m, "work"));
	MUST(cuModuleGetFunction(&look, m, "look"));
	MUST(cuModuleGetGlobal_v2(&at.bias, NULL, m, "bias"));
	MUST(cuModuleGetGlobal_v2(&at.scale, NULL, m, "scale"));
	MUST(cuModuleGetGlobal_v2(&at.total, NULL, m, "total"));
	MUST(cuModuleGetGlobal_v2(&at.times, NULL, m, "times"));
	before = launches();
	run(work, &at, 7, 3, 0);
	if (!strcmp(cut, "slice"))
		EXPECT_GE(launches() - before, 2);
	run(work, &at, 1000000, 5, 1);
	run(work, &at, 0, 6, 2);
	/* A kernel of one block isn't cut, and sees the same. */
	MUST(cuMemAlloc_v2(&d, 8));
	set(at.bias, 4711);
	OK(launch(look, 1, d));
	expect(d, 3 * (BLOCKS * (BLOCKS - 1) / 2));
	expect(d + 4, 4711);
	OK(cuModuleUnload(m));
	OK(cuCtxDestroy_v2(p.ctx));
}

static void of_library(void *arg)
{
	struct place at[2];
	CUfunction work[2];
	uint64_t before;
	CUcontext ctx[2];
	CUlibrary l;
	CUkernel k;
	CUmodule m;
	int i, round;

	(void)arg;
	MUST(cuInit(0));
	for (i = 0; i < 2; i++)
		MUST(cuCtxCreate_v2(&ctx[i], 0, 0));
	MUST(cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0));
	for (i = 0; i < 2; i++) {
		MUST(cuCtxSetCurrent(ctx[i]));
		MUST(cuLibraryGetGlobal(&at[i].bias, NULL, l, "bias"));
		MUST(cuLibraryGetGlobal(&at[i].scale, NULL, l, "scale"));
		MUST(cuLibraryGetGlobal(&at[i].total, NULL, l, "total"));
		MUST(cuLibraryGetGlobal(&at[i].times, NULL, l, "times"));
		if (i) {
			MUST(cuLibraryGetModule(&m, l));
			MUST(cuModuleGetFunction(&work[i], m, "work"));
		} else {
			MUST(cuLibraryGetKernel(&k, l, "work"));
			work[i] = (CUfunction)k;
		}
	}
	EXPECT_NE(at[0].bias, at[1].bias);
	for (round = 0; round < 2; round++)
		for (i = 0; i < 2; i++) {
			MUST(cuCtxSetCurrent(ctx[i]));
			before = launches();
			run(work[i], &at[i], 10 * (uint32_t)i + 1, 2 + (uint32_t)i,
			    (uint32_t)round);
			EXPECT_GE(launches() - before, 2);
		}
	OK(cuLibraryUnload(l));
}

static void in_child(void (*fn)(void *arg), const char *cut)
{
	bed_make(&w, 60000);
	setenv("GPUSHARE_CUT", cut, 1);
	EXPECT_EQ(0, child_wait(child_start(fn, (void *)cut)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

TEST(slices_share_variables)
{
	in_child(of_module, "slice");
}

TEST(guarded_launches_share_variables)
{
	in_child(of_module, "guard");
}

TEST(workers_share_variables)
{
	in_child(of_module, "workers");
}

TEST(random_parts_share_variables)
{
	in_child(of_module, "random=7");
}

TEST(a_library_has_them_once_for_each_context)
{
	in_child(of_library, "slice");
}

static void hide(const char *name)
{
	void (*plant)(const char *name) = (__typeof__(plant))dlsym(
		dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), "cpucuda_hide");

	ASSERT_TRUE(plant != NULL);
	plant(name);
}

/* How many launches the driver sees of work() while it doesn't tell where @name is. */
static uint64_t launches_without(const char *name)
{
	struct place at;
	CUfunction work;
	uint64_t before;
	CUmodule m;

	MUST(cuModuleLoadData(&m, text));
	MUST(cuModuleGetFunction(&work, m, "work"));
	MUST(cuModuleGetGlobal_v2(&at.bias, NULL, m, "bias"));
	MUST(cuModuleGetGlobal_v2(&at.scale, NULL, m, "scale"));
	MUST(cuModuleGetGlobal_v2(&at.total, NULL, m, "total"));
	MUST(cuModuleGetGlobal_v2(&at.times, NULL, m, "times"));
	hide(name);
	before = launches();
	run(work, &at, 7, 3, 0);
	before = launches() - before;
	run(work, &at, 8, 4, 1);
	hide(NULL);
	OK(cuModuleUnload(m));
	return before;
}

static void not_found(void *arg)
{
	struct program p;

	(void)arg;
	program_start(&p);
	EXPECT_GE(launches_without(NULL), 2);
	EXPECT_EQ(1, launches_without("bias"));		/* in global memory */
	EXPECT_EQ(1, launches_without("times"));	/* by a function that is called */
	EXPECT_EQ(1, launches_without("scale"));	/* a constant */
	EXPECT_GE(launches_without("unused"), 2);
}

TEST(a_variable_that_the_driver_does_not_tell_of)
{
	in_child(not_found, "slice");
}

TEST_MAIN()
