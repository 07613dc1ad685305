// SPDX-License-Identifier: MIT
/* Kernels that are linked while the program runs: which are cut, and that they compute the same. */
#include <dlfcn.h>
#include <limits.h>
#include "bed.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define WORDS 256u
#define MIB (1024ull * 1024)

static struct world w;

/* Each block adds what of() says of its number to a word of its own. */
static const char kernel[] = HEAD
	".extern .func (.param .u32 r) of(.param .u32 x);\n"
	".visible .entry k(.param .u64 o) {\n"
	".reg .u32 %r<4>; .reg .u64 %d<3>;\n"
	"ld.param.u64 %d1, [o]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4;\n"
	"add.u64 %d1, %d1, %d2;\n"
	"{ .param .u32 a; .param .u32 v; st.param.u32 [a], %r1;\n"
	"call (v), of, (a); ld.param.u32 %r2, [v]; }\n"
	"ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, %r2; st.global.u32 [%d1], %r3; ret; }\n";

/* The same by itself, without of(). */
static const char alone[] = HEAD
	".visible .entry k(.param .u64 o) {\n"
	".reg .u32 %r<4>; .reg .u64 %d<3>;\n"
	"ld.param.u64 %d1, [o]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4;\n"
	"add.u64 %d1, %d1, %d2; mul.lo.u32 %r2, %r1, 3;\n"
	"ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, %r2; st.global.u32 [%d1], %r3; ret; }\n";

#define OF(body) HEAD ".visible .func (.param .u32 r) of(.param .u32 x) {\n"		\
	".reg .u32 %r<6>; .reg .u64 %d<3>; ld.param.u32 %r1, [x];\n" body		\
	"st.param.u32 [r], %r2; ret; }\n"
static const char thrice[] = OF("mul.lo.u32 %r2, %r1, 3;\n");

/* What the driver has launched so far. */
static uint64_t launches(void)
{
	static void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches);
	uint64_t steps, blocks, n;

	if (!counts)
		counts = (__typeof__(counts))dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"),
							  RTLD_LAZY), "cpucuda_counts");
	ASSERT_TRUE(counts != NULL);
	counts(&steps, &blocks, &n);
	return n;
}

static void child(void (*fn)(void *arg), void *arg, const char *cut)
{
	bed_make(&w, 60000);
	setenv("GPUSHARE_CUT", cut, 1);
	EXPECT_EQ(0, child_wait(child_start(fn, arg)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static CUlinkState begin(void)
{
	CUlinkState l = NULL;

	MUST(cuLinkCreate_v2(0, NULL, NULL, &l));
	return l;
}

static void add(CUlinkState l, const char *text)
{
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, "t", 0, NULL,
			      NULL));
}

/* What comes of it, in memory of the program's own; the link is no more. */
static char *end(CUlinkState l, size_t *size)
{
	void *out = NULL;
	char *copy;

	MUST(cuLinkComplete(l, &out, size));
	copy = malloc(*size);
	ASSERT_TRUE(copy != NULL);
	memcpy(copy, out, *size);
	OK(cuLinkDestroy(l));
	return copy;
}

static char *linked(const char *a, const char *b, const char *c, size_t *size)
{
	CUlinkState l = begin();

	add(l, a);
	if (b)
		add(l, b);
	if (c)
		add(l, c);
	return end(l, size);
}

/* Launches it on @f; returns how many launches the driver saw, and what block 9 added. */
static uint64_t run(CUfunction f, uint32_t *nine)
{
	uint32_t out[WORDS], i;
	CUdeviceptr d;
	void *args[] = { &d };
	uint64_t before;

	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	OK(cuMemsetD32_v2(d, 5, WORDS));
	before = launches();
	OK(cuLaunchKernel(f, WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
	before = launches() - before;
	if (nine)
		*nine = out[9] - 5;
	for (i = 0; !nine && i < WORDS && out[i] == 5 + 3 * i; i++)
		;
	EXPECT_EQ(nine ? 0 : WORDS, i);
	OK(cuMemFree_v2(d));
	return before;
}

static CUfunction function_of(CUmodule m)
{
	CUfunction f = NULL;

	MUST(cuModuleGetFunction(&f, m, "k"));
	return f;
}

static uint64_t run_data(const void *data, uint32_t *nine)
{
	CUmodule m;
	uint64_t n;

	MUST(cuModuleLoadData(&m, data));
	n = run(function_of(m), nine);
	OK(cuModuleUnload(m));
	return n;
}

static void cut(void *arg)
{
	struct program p;
	CUlinkState l;
	char *cubin;
	size_t size;
	void *out;
	CUmodule m;

	/* Guarded launches are only seen if they are stopped. */
	uint64_t least = arg ? 1 : 2;

	program_start(&p);
	/* One text, of a link that is destroyed, at another place; again and again. */
	cubin = linked(alone, NULL, NULL, &size);
	EXPECT_GE(run_data(cubin, NULL), least);
	EXPECT_GE(run_data(cubin, NULL), least);
	/* Bytes that were changed aren't what was linked. */
	cubin[size - 1] = 'x';
	EXPECT_EQ(1, run_data(cubin, NULL));
	free(cubin);
	/* The link's own memory, which goes while the module stays. */
	l = begin();
	add(l, kernel);
	add(l, thrice);
	MUST(cuLinkComplete(l, &out, &size));
	MUST(cuModuleLoadData(&m, out));
	OK(cuLinkDestroy(l));
	EXPECT_GE(run(function_of(m), NULL), least);
	OK(cuModuleUnload(m));
}

TEST(what_was_linked_is_cut)
{
	child(cut, NULL, "slice");
	child(cut, "", "guard");
	child(cut, "", "random=5");
}

static void forms(void *arg)
{
	char path[] = "/tmp/gpushare-link-XXXXXX";
	int opt[] = { 5, 6, 7, 0 }, fd;		/* a log, optimisation, registers */
	char log[100] = "", *cubin;
	void *val[] = { log, (void *)sizeof(log), (void *)4, (void *)64 };
	struct program p;
	CUlibrary lib;
	CUlinkState l;
	CUkernel k;
	CUmodule m;
	size_t size;

	(void)arg;
	program_start(&p);
	fd = mkstemp(path);
	ASSERT_TRUE(fd >= 0);
	EXPECT_EQ((ssize_t)strlen(thrice), write(fd, thrice, strlen(thrice)));
	MUST(cuLinkCreate_v2(4, opt, val, &l));
	MUST(cuLinkAddFile_v2(l, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)kernel, strlen(kernel), NULL, 1, opt + 2,
			      val + 2));
	cubin = end(l, &size);
	/* The file is another by now. */
	EXPECT_EQ(0, ftruncate(fd, 0));
	MUST(cuModuleLoadDataEx(&m, cubin, 0, NULL, NULL));
	EXPECT_GE(run(function_of(m), NULL), 2);
	OK(cuModuleUnload(m));
	MUST(cuLibraryLoadData(&lib, cubin, NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel(&k, lib, "k"));
	EXPECT_GE(run((CUfunction)k, NULL), 2);
	OK(cuLibraryUnload(lib));
	/* Through a file of the result. */
	EXPECT_EQ((ssize_t)size, pwrite(fd, cubin, size, 0));
	MUST(cuModuleLoad(&m, path));
	EXPECT_GE(run(function_of(m), NULL), 2);
	OK(cuModuleUnload(m));
	close(fd);
	unlink(path);
	free(cubin);
}

TEST(however_it_is_added_and_loaded)
{
	child(forms, NULL, "slice");
}

/* A counter that both kernel and program see, whichever of the kernels' blocks run how. */
static const char counts_up[] = HEAD ".visible .global .u32 count = 100;\n"
	".visible .func (.param .u32 r) of(.param .u32 x) {\n"
	".reg .u32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, 3;\n"
	"red.global.add.u32 [count], 1; st.param.u32 [r], %r2; ret; }\n";

static void check_count(CUmodule m, uint32_t expected)
{
	uint32_t count = 0;
	CUdeviceptr d;
	size_t size;

	MUST(cuModuleGetGlobal_v2(&d, &size, m, "count"));
	OK(cuMemcpyDtoH_v2(&count, d, sizeof(count)));
	EXPECT_EQ(expected, count);
}

static void with_state(void *arg)
{
	unsigned int n = 0;
	struct program p;
	CUlinkState l;
	char *first, *cubin;
	CUmodule m;
	size_t size;

	(void)arg;
	program_start(&p);
	cubin = linked(kernel, counts_up, NULL, &size);
	MUST(cuModuleLoadData(&m, cubin));
	EXPECT_GE(run(function_of(m), NULL), 2);
	check_count(m, 100 + WORDS);
	OK(cuModuleGetFunctionCount(&n, m));
	EXPECT_EQ(1, n);
	OK(cuModuleUnload(m));
	free(cubin);
	/* Of an input that is machine code, which can't be had twice. */
	first = linked(counts_up, NULL, NULL, &size);
	l = begin();
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_CUBIN, first, size, NULL, 0, NULL, NULL));
	add(l, kernel);
	cubin = end(l, &size);
	free(first);
	MUST(cuModuleLoadData(&m, cubin));
	run(function_of(m), NULL);
	check_count(m, 100 + WORDS);
	OK(cuModuleUnload(m));
	free(cubin);
	/* Kernels that have nothing to do with such are cut. */
	first = linked(thrice, NULL, NULL, &size);
	l = begin();
	add(l, alone);
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_CUBIN, first, size, NULL, 0, NULL, NULL));
	cubin = end(l, &size);
	free(first);
	EXPECT_GE(run_data(cubin, NULL), 2);
	free(cubin);
}

TEST(variables_are_one_for_all)
{
	child(with_state, NULL, "slice");
}

/* Launches of what @a and @b make, of which the driver is asked as they are. */
static void whole_as(const char *a, const char *b, const char *c, uint32_t nine)
{
	uint32_t sum = 0;
	size_t size;
	char *cubin = linked(a, b, c, &size);

	EXPECT_EQ(1, run_data(cubin, &sum));
	EXPECT_EQ(nine, sum);
	free(cubin);
}

static void whole(void *arg)
{
	static const char twice[] = HEAD ".entry same(.param .u64 o) { ret; }\n";
	int unknown = 20, regs = 0;	/* link-time optimisation: other inputs, other rules */
	void *one = (void *)1, *many = (void *)64, *out;
	struct program p;
	char *cubin;
	CUlinkState l, other;
	size_t size;

	(void)arg;
	program_start(&p);
	/* of() sees the grid itself, or calls on and on. */
	whole_as(kernel, OF("mov.u32 %r2, %ctaid.x; add.u32 %r2, %r2, 1;\n"), NULL, 10);
	whole_as(kernel, OF("mov.u32 %r2, %nctaid.x;\n"), NULL, WORDS);
	whole_as(kernel, HEAD ".extern .func on();\n.visible .func (.param .u32 r) of(.param .u32 x) {\n"
		 "call on, (); st.param.u32 [r], 7; ret; }\n",
		 HEAD ".visible .func on() { ret; }\n", 7);
	/* An option that we don't know, of the link or of an input. */
	MUST(cuLinkCreate_v2(1, &unknown, &one, &l));
	add(l, alone);
	cubin = end(l, &size);
	EXPECT_EQ(1, run_data(cubin, NULL));
	free(cubin);
	l = begin();
	add(l, twice);
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)alone, sizeof(alone), NULL, 1, &unknown,
			      &one));
	cubin = end(l, &size);
	EXPECT_EQ(1, run_data(cubin, NULL));
	free(cubin);
	/* Something was refused in between. */
	l = begin();
	add(l, alone);
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
		  cuLinkAddData_v2(l, 77, (void *)alone, sizeof(alone), NULL, 0, NULL, NULL));
	cubin = end(l, &size);
	EXPECT_EQ(1, run_data(cubin, NULL));
	free(cubin);
	/* A link that never ends, and one beside it that does. */
	other = begin();
	add(other, thrice);
	MUST(cuLinkCreate_v2(1, &regs, &many, &l));
	add(l, alone);
	MUST(cuLinkComplete(l, &out, &size));
	EXPECT_GE(run_data(out, NULL), 2);
	OK(cuLinkDestroy(l));
	OK(cuLinkDestroy(other));
}

TEST(what_cannot_be_cut_goes_whole)
{
	child(whole, NULL, "slice");
}

/* Errors are the driver's. */
static void errors(void *arg)
{
	int opt[2] = { 5, 6 };
	char log[200] = "";
	void *val[2] = { log, (void *)sizeof(log) }, *out;
	struct program p;
	CUlinkState l;
	size_t size;

	(void)arg;
	program_start(&p);
	MUST(cuLinkCreate_v2(2, opt, val, &l));
	add(l, HEAD ".extern .global .u32 gone;\n"
	    ".visible .entry k() { .reg .u32 %r; ld.global.u32 %r, [gone]; ret; }\n");
	EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuLinkComplete(l, &out, &size));
	EXPECT_TRUE(strstr(log, "gone"));
	EXPECT_EQ(CUDA_ERROR_FILE_NOT_FOUND,
		  cuLinkAddFile_v2(l, CU_JIT_INPUT_PTX, "/nowhere", 0, NULL, NULL));
	OK(cuLinkDestroy(l));
	l = begin();
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
		  cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, NULL, 0, NULL, 0, NULL, NULL));
	EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuLinkComplete(l, &out, &size));
	OK(cuLinkDestroy(l));
	EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(NULL));
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLinkCreate_v2(1, NULL, NULL, &l));
}

TEST(errors_of_links)
{
	child(errors, NULL, "slice");
}

/* What is kept for links that may be loaded later is bounded. */
static void many(void *arg)
{
	char *first, *last, *text = malloc(24 * MIB);
	struct program p;
	size_t size;
	int i;

	(void)arg;
	ASSERT_TRUE(text != NULL);
	program_start(&p);
	first = linked(alone, NULL, NULL, &size);
	EXPECT_GE(run_data(first, NULL), 2);
	for (i = 0; i < 3; i++) {	/* each with 12 MiB of rubbish, and as much comes out */
		memset(text, ' ', 12 * MIB);
		memcpy(text, alone, strlen(alone));
		snprintf(text + 12 * MIB, 64, "\n// %d\n", i);
		last = linked(text, NULL, NULL, &size);
		if (i < 2)
			free(last);
	}
	EXPECT_GE(run_data(last, NULL), 2);
	EXPECT_EQ(1, run_data(first, NULL));
	free(first);
	free(last);
	free(text);
}

TEST(what_is_kept_is_bounded)
{
	child(many, NULL, "slice");
}

/* Launches of a kernel that is linked with @n inputs of 2 MiB each. */
static uint64_t run_among(uint32_t n)
{
	char *text = malloc(2 * MIB + 1), *cubin;
	CUlinkState l = begin();
	uint64_t seen;
	size_t size;

	ASSERT_TRUE(text != NULL);
	memset(text, ' ', 2 * MIB);
	memcpy(text, HEAD, strlen(HEAD));
	text[2 * MIB] = 0;
	add(l, kernel);
	add(l, thrice);
	while (n--)
		add(l, text);
	cubin = end(l, &size);
	seen = run_data(cubin, NULL);
	free(cubin);
	free(text);
	return seen;
}

static void long_ones(void *arg)
{
	struct program p;

	(void)arg;
	program_start(&p);
	EXPECT_GE(run_among(8), 2);
	EXPECT_EQ(1, run_among(13));
}

TEST(what_would_take_long_goes_whole)
{
	child(long_ones, NULL, "slice");
}

/* Which of its variables another input's function reaches can't be seen: each might be. */
static void unseen(void *arg)
{
	static const char two[] = HEAD ".visible .global .u32 count = 100;\n"
		".visible .global .u32 other = 7, spare = 8;\n"
		".visible .func set() { st.global.u32 [other], 5; ret; }\n"
		".visible .func (.param .u32 r) of(.param .u32 x) {\n"
		".reg .u32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, 3;\n"
		"red.global.add.u32 [count], 1; st.param.u32 [r], %r2; ret; }\n";
	void (*hide)(const char *name) = (__typeof__(hide))dlsym(
		dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), "cpucuda_hide");
	static const struct {
		const char *hidden;
		bool whole;
	} t[] = { { NULL, false }, { "count", true }, { "other", true }, { "spare", false } };
	struct program p;
	uint64_t seen;
	char *cubin;
	size_t size;
	CUmodule m;
	int i;

	(void)arg;
	ASSERT_TRUE(hide != NULL);
	program_start(&p);
	for (i = 0; i < 4; i++) {
		cubin = linked(kernel, two, NULL, &size);
		MUST(cuModuleLoadData(&m, cubin));
		hide(t[i].hidden);
		seen = run(function_of(m), NULL);
		hide(NULL);
		if (t[i].whole)
			EXPECT_EQ(1, seen);
		else
			EXPECT_GE(seen, 2);
		check_count(m, 100 + WORDS);
		OK(cuModuleUnload(m));
		free(cubin);
	}
}

TEST(what_a_called_input_reaches_is_shared_or_all_is_whole)
{
	child(unseen, NULL, "slice");
}

/* A function's address, stored by an input that has no variables, for one that has. */
static void by_address(void *arg)
{
	static const char pointers[] = HEAD ".extern .func bump(.param .u32 n);\n"
		".visible .entry put(.param .u64 o) {\n"
		".reg .u32 %r<3>; .reg .u64 %d<4>;\n"
		"ld.param.u64 %d1, [o]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 8;\n"
		"add.u64 %d1, %d1, %d2; mov.u64 %d3, bump; st.global.u64 [%d1], %d3; ret; }\n"
		".visible .entry use(.param .u64 o) {\n"
		".reg .u32 %r<3>; .reg .u64 %d<4>;\n"
		"ld.param.u64 %d1, [o]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 8;\n"
		"add.u64 %d1, %d1, %d2; ld.global.u64 %d3, [%d1];\n"
		"proto: .callprototype _ (.param .u32 _);\n"
		"{ .param .u32 a; st.param.u32 [a], 1; call %d3, (a), proto; }\nret; }\n",
		counts[] = HEAD ".visible .global .u32 count = 100;\n"
		".visible .func bump(.param .u32 n) {\n"
		".reg .u32 %r<3>; ld.param.u32 %r1, [n]; red.global.add.u32 [count], %r1; ret; }\n";
	CUfunction put, use;
	struct program p;
	CUdeviceptr d;
	void *args[] = { &d };
	uint32_t round;
	char *cubin;
	size_t size;
	CUmodule m;

	(void)arg;
	program_start(&p);
	cubin = linked(pointers, counts, NULL, &size);
	MUST(cuModuleLoadData(&m, cubin));
	MUST(cuModuleGetFunction(&put, m, "put"));
	MUST(cuModuleGetFunction(&use, m, "use"));
	MUST(cuMemAlloc_v2(&d, 8 * WORDS));
	for (round = 0; round < 4; round++) {
		/* Cut or not: one block never is. */
		OK(cuLaunchKernel(put, WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		OK(cuLaunchKernel(use, round & 1 ? WORDS : 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		OK(cuCtxSynchronize());
	}
	check_count(m, 100 + 2 * WORDS + 2);
	OK(cuModuleUnload(m));
	free(cubin);
}

/* The same from an input that is machine code, and is there twice if it's linked again. */
static void by_address_of_code(void *arg)
{
	static const char put[] = HEAD ".extern .func bump(.param .u32 n);\n"
		".visible .entry k(.param .u64 o) {\n"
		".reg .u32 %r<3>; .reg .u64 %d<4>;\n"
		"ld.param.u64 %d1, [o]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 8;\n"
		"add.u64 %d1, %d1, %d2; mov.u64 %d3, bump; st.global.u64 [%d1], %d3; ret; }\n",
		counts[] = HEAD ".visible .global .u32 count = 100;\n"
		".visible .func bump(.param .u32 n) {\n"
		".reg .u32 %r<3>; ld.param.u32 %r1, [n]; red.global.add.u32 [count], %r1; ret; }\n"
		".visible .entry use(.param .u64 o) {\n"
		".reg .u64 %d<4>; ld.param.u64 %d1, [o]; ld.global.u64 %d3, [%d1];\n"
		"proto: .callprototype _ (.param .u32 _);\n"
		"{ .param .u32 a; st.param.u32 [a], 1; call %d3, (a), proto; }\nret; }\n";
	struct program p;
	CUdeviceptr d;
	void *args[] = { &d };
	char *cubin, *code;
	CUfunction use;
	CUlinkState l;
	size_t size;
	CUmodule m;

	(void)arg;
	program_start(&p);
	code = linked(counts, NULL, NULL, &size);
	l = begin();
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_CUBIN, code, size, NULL, 0, NULL, NULL));
	add(l, put);
	cubin = end(l, &size);
	free(code);
	MUST(cuModuleLoadData(&m, cubin));
	MUST(cuModuleGetFunction(&use, m, "use"));
	MUST(cuMemAlloc_v2(&d, 8 * WORDS));
	OK(cuLaunchKernel(function_of(m), WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
	check_count(m, 101);
	OK(cuModuleUnload(m));
	free(cubin);
}

/* What is called reads the grid, and its input isn't the kernel's. */
static void by_address_of_ids(void *arg)
{
	static const char use[] = HEAD ".visible .entry k(.param .u64 o, .param .u64 to) {\n"
		".reg .u32 %r<3>; .reg .u64 %d<5>;\n"
		"ld.param.u64 %d1, [o]; ld.global.u64 %d3, [%d1]; ld.param.u64 %d4, [to];\n"
		"mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d4, %d4, %d2;\n"
		"proto: .callprototype _ (.param .u64 _);\n"
		"{ .param .u64 a; st.param.u64 [a], %d4; call %d3, (a), proto; }\nret; }\n",
		id[] = HEAD ".visible .func id(.param .u64 at) {\n"
		".reg .u32 %r<2>; .reg .u64 %d<2>; ld.param.u64 %d1, [at]; mov.u32 %r1, %ctaid.x;\n"
		"st.global.u32 [%d1], %r1; ret; }\n"
		".visible .entry put(.param .u64 o) {\n"
		".reg .u64 %d<4>; ld.param.u64 %d1, [o]; mov.u64 %d3, id; st.global.u64 [%d1], %d3;\n"
		"ret; }\n";
	uint32_t out[WORDS], i;
	struct program p;
	CUdeviceptr d, to;
	void *args[] = { &d, &to };
	CUfunction put;
	char *cubin;
	size_t size;
	CUmodule m;

	(void)arg;
	program_start(&p);
	cubin = linked(use, id, NULL, &size);
	MUST(cuModuleLoadData(&m, cubin));
	MUST(cuModuleGetFunction(&put, m, "put"));
	MUST(cuMemAlloc_v2(&d, 8));
	MUST(cuMemAlloc_v2(&to, sizeof(out)));
	OK(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuLaunchKernel(function_of(m), WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuMemcpyDtoH_v2(out, to, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == i; i++)
		;
	EXPECT_EQ(WORDS, i);
	OK(cuModuleUnload(m));
	free(cubin);
}

TEST(functions_by_address)
{
	child(by_address, NULL, "slice");
	child(by_address, NULL, "guard");
	child(by_address_of_code, NULL, "slice");
	child(by_address_of_ids, NULL, "slice");
}

/*
 * A kernel that calls through a pointer is cut if all functions are in its own text, and
 * none of them reads the grid. Linked with a function that does, it isn't: what was made of
 * the text alone doesn't hold then.
 */
static void alone_and_linked(void *arg)
{
	static const char use[] = HEAD ".visible .entry k(.param .u64 o, .param .u64 to) {\n"
		".reg .u32 %r<3>; .reg .u64 %d<5>;\n"
		"ld.param.u64 %d1, [o]; ld.global.u64 %d3, [%d1]; ld.param.u64 %d4, [to];\n"
		"mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d4, %d4, %d2;\n"
		"proto: .callprototype _ (.param .u64 _);\n"
		"{ .param .u64 a; st.param.u64 [a], %d4; call %d3, (a), proto; }\nret; }\n"
		".visible .func none(.param .u64 at) {\n"
		".reg .u64 %d<2>; ld.param.u64 %d1, [at]; st.global.u32 [%d1], 7; ret; }\n"
		".visible .entry own(.param .u64 o) {\n"
		".reg .u64 %d<4>; ld.param.u64 %d1, [o]; mov.u64 %d3, none;\n"
		"st.global.u64 [%d1], %d3; ret; }\n",
		id[] = HEAD ".visible .func id(.param .u64 at) {\n"
		".reg .u32 %r<2>; .reg .u64 %d<2>; ld.param.u64 %d1, [at]; mov.u32 %r1, %ctaid.x;\n"
		"st.global.u32 [%d1], %r1; ret; }\n"
		".visible .entry put(.param .u64 o) {\n"
		".reg .u64 %d<4>; ld.param.u64 %d1, [o]; mov.u64 %d3, id; st.global.u64 [%d1], %d3;\n"
		"ret; }\n";
	uint32_t out[WORDS], i, round;
	char *cubin = NULL, *code;
	uint64_t before, seen[2];
	struct program p;
	CUdeviceptr d, to;
	void *args[] = { &d, &to };
	CUfunction put;
	CUlinkState l;
	size_t size;
	CUmodule m;

	(void)arg;
	program_start(&p);
	MUST(cuMemAlloc_v2(&d, 8));
	MUST(cuMemAlloc_v2(&to, sizeof(out)));
	for (round = 0; round < 2; round++) {
		if (round) {
			code = linked(id, NULL, NULL, &size);
			l = begin();
			MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_CUBIN, code, size, NULL, 0, NULL,
					      NULL));
			add(l, use);
			cubin = end(l, &size);
			free(code);
		}
		MUST(cuModuleLoadData(&m, round ? cubin : use));
		MUST(cuModuleGetFunction(&put, m, round ? "put" : "own"));
		OK(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		OK(cuCtxSynchronize());
		before = launches();
		OK(cuLaunchKernel(function_of(m), WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		OK(cuMemcpyDtoH_v2(out, to, sizeof(out)));
		seen[round] = launches() - before;
		for (i = 0; i < WORDS && out[i] == (round ? i : 7); i++)
			;
		EXPECT_EQ(WORDS, i);
		OK(cuModuleUnload(m));
	}
	EXPECT_GE(seen[0], 2);
	EXPECT_EQ(1, seen[1]);
	free(cubin);
}

TEST(a_text_alone_and_the_same_linked_are_kept_apart)
{
	char cache[128];

	bed_make(&w, 60000);
	snprintf(cache, sizeof(cache), "%s/cache", w.dir);
	setenv("GPUSHARE_CACHE", cache, 1);
	setenv("GPUSHARE_CUT", "slice", 1);
	EXPECT_EQ(0, child_wait(child_start(alone_and_linked, NULL)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

TEST_MAIN()
