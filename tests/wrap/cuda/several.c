// SPDX-License-Identifier: MIT
/*
 * Fat binaries of several containers, which the driver links as it loads them, and what
 * is kept on disk of links.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gsfatbin.h>
#include <sys/stat.h>

#include "bed.h"
#include "wrap/launch/cache.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define WORDS 256u
#define RELOCATABLE "--compile-only"

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

/* of(x): 3 x, and counts. */
static const char function[] = HEAD ".visible .global .u32 count = 100;\n"
	".visible .func (.param .u32 r) of(.param .u32 x) {\n"
	".reg .u32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, 3;\n"
	"red.global.add.u32 [count], 1; st.param.u32 [r], %r2; ret; }\n";

/* The same in one. */
static const char alone[] = HEAD ".visible .global .u32 count = 100;\n"
	".visible .entry k(.param .u64 o) {\n"
	".reg .u32 %r<4>; .reg .u64 %d<3>;\n"
	"ld.param.u64 %d1, [o]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4;\n"
	"add.u64 %d1, %d1, %d2; mul.lo.u32 %r2, %r1, 3; red.global.add.u32 [count], 1;\n"
	"ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, %r2; st.global.u32 [%d1], %r3; ret; }\n";

static void *driver_symbol(const char *name)
{
	void *symbol = dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), name);

	ASSERT_TRUE(symbol != NULL);
	return symbol;
}

static uint64_t launches(void)
{
	void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches) =
		(__typeof__(counts))driver_symbol("cpucuda_counts");
	uint64_t steps, blocks, n;

	counts(&steps, &blocks, &n);
	return n;
}

static uint64_t links(void)
{
	return ((uint64_t (*)(void))driver_symbol("cpucuda_links"))();
}

/* Launches k; how many launches the driver saw. */
static uint64_t run(CUfunction f)
{
	uint32_t out[WORDS], i;
	uint64_t before;
	CUdeviceptr d;
	void *args[] = { &d };

	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	OK(cuMemsetD32_v2(d, 5, WORDS));
	before = launches();
	OK(cuLaunchKernel(f, WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 5 + 3 * i; i++)
		;
	EXPECT_EQ(WORDS, i);
	OK(cuMemFree_v2(d));
	return launches() - before;
}

static uint64_t run_module(CUmodule m)
{
	uint32_t count = 0;
	CUfunction f;
	CUdeviceptr d;
	size_t size;
	uint64_t n;

	MUST(cuModuleGetFunction(&f, m, "k"));
	n = run(f);
	MUST(cuModuleGetGlobal_v2(&d, &size, m, "count"));
	OK(cuMemcpyDtoH_v2(&count, d, sizeof(count)));
	EXPECT_EQ(100 + WORDS, count);
	OK(cuModuleUnload(m));
	return n;
}

/* A container of PTX, and of machine code for @cubin if that isn't 0. */
static void *container(const char *ptx, const char *options, uint32_t cubin, size_t *size)
{
	struct gsx_fat_entry e[2] = {
		{ .kind = GSX_FAT_PTX, .major = 7, .arch = 75, .flags = GSX_FAT_64BIT,
		  .options = options, .options_len = strlen(options), .data = ptx,
		  .stored = strlen(ptx) + 1, .size = strlen(ptx) + 1 },
		{ .kind = GSX_FAT_CUBIN, .major = 1, .minor = 7, .arch = cubin,
		  .flags = GSX_FAT_64BIT, .data = "\177ELF and so on.", .stored = 16, .size = 16 },
	};
	void *out = NULL;

	ASSERT_EQ(0, gsx_fat_write(e, cubin ? 2 : 1, &out, size));
	return out;
}

/* A wrapper of these two, and of @data; gone() takes all of it away. */
struct bundle {
	struct gsx_fat_wrapper wrapper;
	void *more[3], *data;
	size_t size[3];
};

static void make(struct bundle *b, const char *data, uint32_t cubin)
{
	*b = (struct bundle){ .wrapper = { GSX_FAT_WRAPPER_MAGIC, 2, NULL, NULL } };
	b->more[0] = container(kernel, RELOCATABLE, cubin, &b->size[0]);
	b->more[1] = container(function, RELOCATABLE, 0, &b->size[1]);
	if (data)
		b->data = container(data, "", 0, &b->size[2]);
	b->wrapper.data = b->data;
	b->wrapper.more = b->more;
}

static void gone(struct bundle *b)
{
	memset(b->more[0], 0x55, b->size[0]);
	memset(b->more[1], 0x55, b->size[1]);
	free(b->more[0]);
	free(b->more[1]);
	free(b->data);
	memset(b, 0x55, sizeof(*b));
}

static void in_child(void (*fn)(void *arg), void *arg, const char *cut)
{
	setenv("GPUSHARE_CUT", cut, 1);
	EXPECT_EQ(0, child_wait(child_start(fn, arg)));
}

/* How many launches were cut, in this way or, as chance has it, in any. */
static uint64_t cut(const char *way)
{
	return way ? launched("k", way) :
		launched("k", "slices") + launched("k", "guarded") + launched("k", "workers");
}

static void bundles(void *arg)
{
	struct program p;
	struct bundle b;
	CUlibrary l;
	CUmodule m;
	CUkernel k;

	program_start(&p);
	make(&b, NULL, 0);
	MUST(cuModuleLoadFatBinary(&m, &b.wrapper));
	gone(&b);
	run_module(m);
	EXPECT_EQ(1, cut(arg));
	make(&b, NULL, 0);
	MUST(cuModuleLoadData(&m, &b.wrapper));
	gone(&b);
	run_module(m);
	EXPECT_EQ(2, cut(arg));
	make(&b, NULL, 0);
	MUST(cuLibraryLoadData(&l, &b.wrapper, NULL, NULL, 0, NULL, NULL, 0));
	gone(&b);
	MUST(cuLibraryGetKernel(&k, l, "k"));
	run((CUfunction)k);
	EXPECT_EQ(3, cut(arg));
	OK(cuLibraryUnload(l));
	/* What is linked already counts more than what it was made of, if it's to be used. */
	make(&b, alone, 0);
	MUST(cuModuleLoadData(&m, &b.wrapper));
	gone(&b);
	run_module(m);
	EXPECT_EQ(4, cut(arg));
	EXPECT_EQ(0, launched("k", "whole"));
}

TEST(what_the_driver_links_is_cut)
{
	bed_make(&w, 60000);
	in_child(bundles, "slices", "slice");
	in_child(bundles, "guarded", "guard");
	in_child(bundles, NULL, "random=3");
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static void odd(void *arg)
{
	struct program p;
	struct bundle b;
	CUmodule m;

	(void)arg;
	program_start(&p);
	/* Machine code of a newer kind than the PTX: that may compute otherwise. */
	make(&b, NULL, 80);
	MUST(cuModuleLoadData(&m, &b.wrapper));
	EXPECT_EQ(1, run_module(m));
	gone(&b);
	/* No list is read that there isn't, and one may be empty. */
	make(&b, alone, 0);
	b.wrapper.version = 1;
	b.wrapper.more = (void *)8;
	MUST(cuModuleLoadData(&m, &b.wrapper));
	EXPECT_GE(run_module(m), 2);
	gone(&b);
	make(&b, alone, 0);
	b.wrapper.more = &b.more[2];
	MUST(cuModuleLoadData(&m, &b.wrapper));
	EXPECT_GE(run_module(m), 2);
	b.wrapper.data = NULL;
	EXPECT_EQ(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, &b.wrapper));
	gone(&b);
	/* Half of it is missing: the driver's error. */
	make(&b, NULL, 0);
	b.wrapper.more = b.more + 1;
	MUST(cuModuleLoadData(&m, &b.wrapper));
	OK(cuModuleUnload(m));
	memset(b.more[1], 0x55, 16);
	EXPECT_EQ(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m, &b.wrapper));
	gone(&b);
}

TEST(odd_wrappers)
{
	bed_make(&w, 60000);
	setenv("CPUCUDA_CC", "80", 1);
	in_child(odd, NULL, "slice");
	unsetenv("CPUCUDA_CC");
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* Links and loads; @arg: how many links the driver then sees. */
static void link_once(void *arg)
{
	struct program p;
	CUlinkState l;
	size_t size;
	CUmodule m;
	void *out;

	program_start(&p);
	MUST(cuLinkCreate_v2(0, NULL, NULL, &l));
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)kernel, sizeof(kernel), "a", 0, NULL,
			      NULL));
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)function, sizeof(function), "b", 0,
			      NULL, NULL));
	MUST(cuLinkComplete(l, &out, &size));
	MUST(cuModuleLoadData(&m, out));
	OK(cuLinkDestroy(l));
	EXPECT_GE(run_module(m), 2);
	EXPECT_EQ((uintptr_t)arg, links());
}

/* Another register cap: another link. */
static void link_otherwise(void *arg)
{
	int registers = 0;
	void *many = (void *)64;
	struct program p;
	CUlinkState l;
	size_t size;
	CUmodule m;
	void *out;

	(void)arg;
	program_start(&p);
	MUST(cuLinkCreate_v2(1, &registers, &many, &l));
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)kernel, sizeof(kernel), "a", 0, NULL,
			      NULL));
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)function, sizeof(function), "b", 0,
			      NULL, NULL));
	MUST(cuLinkComplete(l, &out, &size));
	MUST(cuModuleLoadData(&m, out));
	OK(cuLinkDestroy(l));
	EXPECT_GE(run_module(m), 2);
	EXPECT_EQ(2, links());
}

/* Of each entry the bytes are others', as if another driver had made them. Returns how many. */
static uint32_t spoil(const char *cache)
{
	struct { char magic[8]; uint64_t len; uint8_t key[GS_SHA256_BYTES]; } head;
	struct dirent *d, *e;
	char path[2048];
	uint32_t n = 0;
	DIR *all, *one;
	int fd;

	all = opendir(cache);
	ASSERT_TRUE(all != NULL);
	while ((d = readdir(all))) {
		if (*d->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", cache, d->d_name);
		one = opendir(path);
		while (one && (e = readdir(one))) {
			if (*e->d_name == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s/%s", cache, d->d_name, e->d_name);
			fd = open(path, O_RDONLY);
			EXPECT_EQ((ssize_t)sizeof(head), read(fd, &head, sizeof(head)));
			close(fd);
			gs_cache_put(head.key, "\177ELF of others.", 16);
			n++;
		}
		closedir(one);
	}
	closedir(all);
	return n;
}

TEST(links_are_kept_on_disk)
{
	char cache[128];

	bed_make(&w, 60000);
	snprintf(cache, sizeof(cache), "%s/cache", w.dir);
	setenv("GPUSHARE_CACHE", cache, 1);
	in_child(link_once, (void *)2, "slice");	/* the program's own and ours */
	in_child(link_once, (void *)1, "slice");
	in_child(link_otherwise, NULL, "slice");
	in_child(link_once, (void *)1, "slice");
	EXPECT_GE(spoil(cache), 2);
	in_child(link_once, (void *)2, "slice");
	in_child(link_once, (void *)1, "slice");
	setenv("GPUSHARE_CACHE", "off", 1);
	in_child(link_once, (void *)2, "slice");
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

TEST_MAIN()
