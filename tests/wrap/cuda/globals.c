// SPDX-License-Identifier: MIT
/*
 * Variables of modules are charged: as many bytes as the driver takes for them, no more
 * than the limit, for as long as they are there.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <gsfatbin.h>
#include <sys/mman.h>
#include <time.h>

#include "bed.h"
#include "wrap/cuda/globals.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define MIB (1024ull * 1024)
#define LIMIT (64 * MIB)

static struct world w;

static void globals_make(void)
{
	struct gpushare_share share = { .mask = GPUSHARE_SHARE_MEM_MAX, .mem_max = LIMIT };

	bed_make(&w, 60000);
	ASSERT_EQ(0, group_set(&w, "small", &share));
	setenv("GPUSHARE_GROUP", "small", 1);
}

static void in_child(void (*fn)(void *arg))
{
	globals_make();
	EXPECT_EQ(0, child_wait(child_start(fn, NULL)));
	unsetenv("GPUSHARE_GROUP");
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static uint64_t charged(void)
{
	return child_charged(&w, getpid());
}

/* What the driver has given out, past the wrapper. */
static uint64_t used(void)
{
	static CUresult (*info)(size_t *left, size_t *total);
	size_t left = 0, total = 0;

	if (!info)
		info = (__typeof__(info))dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY),
					       "cuMemGetInfo_v2");
	ASSERT_TRUE(info != NULL);
	OK(info(&left, &total));
	return total - left;
}

/* Both say the same of it; returns how much. */
static uint64_t compare(const void *image, const char *path)
{
	uint64_t mine = charged(), its = used(), bytes;
	CUmodule m;

	if (path)
		MUST(cuModuleLoad(&m, path));
	else
		MUST(cuModuleLoadData(&m, image));
	bytes = charged() - mine;
	if (bytes != used() - its)
		test_fail("%s: %llu bytes are charged, %llu taken", path ? path : (char *)image,
			  (unsigned long long)bytes, (unsigned long long)(used() - its));
	OK(cuModuleUnload(m));
	EXPECT_EQ(mine, charged());
	EXPECT_EQ(its, used());
	return bytes;
}

static void begin(struct program *p)
{
	CUdeviceptr d;

	program_start(p);
	MUST(cuMemAlloc_v2(&d, 1000));	/* the arbiter is there from now on */
}

static void corpus(void *arg)
{
	static const char folder[] = "build/corpus/ptx/sm_90";
	uint32_t n = 0, with = 0;
	struct program p;
	struct dirent *e;
	char path[400];
	DIR *dir;

	(void)arg;
	begin(&p);
	dir = opendir(folder);
	ASSERT_TRUE(dir != NULL);
	while ((e = readdir(dir))) {
		if (!strstr(e->d_name, ".ptx"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		n++;
		with += compare(NULL, path) != 0;
	}
	closedir(dir);
	EXPECT_GE(n, 15);
	EXPECT_GE(with, 4);
}

TEST(what_compilers_declare)
{
	in_child(corpus);
}

/* How declarations can look. */
static void forms(void *arg)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} t[] = {
		{ ".global .u8 a;\n", 1 },
		{ ".visible .global .align 16 .b8 a[100];\n", 100 },
		{ ".global .v4 .f32 a[3];\n.global .v2 .u16 b;\n", 52 },
		{ ".global .f64 a[2][3], b, c[4];\n", 88 },
		{ ".const .u32 a[] = { 1, 2, 3 };\n", 12 },
		{ ".global .u32 a[][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };\n", 24 },
		{ ".global .u64 a = 5, b[0x10] = { 1, 2 }, d;\n", 144 },
		{ ".global .u32 t;\n.global .u64 a[2] = { generic(t), generic(t)+4 };\n", 20 },
		{ ".extern .global .u32 a[100];\n.extern .func f(.param .u32 x);\n", 0 },
		{ ".weak .global .u32 a[5];\n.common .global .u32 b[6];\n", 44 },
		{ "// .global .u32 a;\n/* .global .u32 b[7]; */ .global // .const\n.u32 /* c */ d;\n",
		  4 },
		{ ".file 1 \".global .u32 a;\"\n.global .u32 b;\n", 4 },
		{ ".global .u32 a;\n.visible .entry k(.param .u64 .ptr .global .align 4 p,\n"
		  ".param .u32 q) .maxntid 32, 1, 1 {\n.reg .u64 %r<3>; .shared .u32 s[10];\n"
		  "// } .global .u32 z[1000];\n{ ld.param.u64 %r1, [p]; }\n"
		  "st.global.u32 [%r1], 5; ret; }\n.global .u32 b;\n", 8 },
		{ ".func (.param .u32 r) f(.param .u32 x) { ret; }\n.const .f32 c = 0f3F800000;\n",
		  4 },
		{ ".shared .u32 s[9];\n.global .texref t;\n", 0 },
		{ ".global .u32 a[4*8], b[2 + 3 * 4][2];\n.global .u8 c[ 8U *2 ];\n", 256 },
	};
	char text[1000];
	struct program p;
	size_t i;

	(void)arg;
	begin(&p);
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		snprintf(text, sizeof(text), HEAD "%s", t[i].text);
		EXPECT_EQ(t[i].bytes, gs_globals(text, 0, 90));
		/* Declared alone it is nothing to load; the driver here wants all dimensions. */
		if (!strstr(text, ".extern") && !strstr(text, ".texref") && !strstr(text, "[]") &&
		    !strchr(t[i].text, '*'))
			EXPECT_EQ(t[i].bytes, compare(text, NULL));
	}
}

TEST(what_may_be_declared)
{
	in_child(forms);
}

/* Whatever the text is, it is read to its end and no further. */
TEST(damaged_texts)
{
	static const char *const parts[] = {
		".global", ".u32", " a", "[", "]", "{", "}", "(", ")", "\"", "//", "/*", "*/", "\n",
		";", ",", "=", ".extern", " 18446744073709551615", "0", ".v4", ".align", "x", ".", "/",
		".const", ".b128", ".attribute",
	};
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL), n;
	char *text, *room = malloc(4096);
	int i, k;

	ASSERT_TRUE(room != NULL);
	printf("# seed %llu\n", (unsigned long long)seed);
	for (i = 0; i < 20000; i++) {
		text = room;
		strcpy(text, ".");
		for (k = 0; k < 40; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			n = (seed >> 33) % (sizeof(parts) / sizeof(*parts));
			strcat(text, parts[n]);
		}
		text = strdup(text);	/* its end is the end of its memory */
		gs_globals(text, 0, 90);
		free(text);
	}
	free(room);
}

/* Machine code, as compilers write it: three sections of variables among others. */
struct code {
	Elf64_Ehdr h;
	char names[64];
	Elf64_Shdr s[6];
};

static void code_make(struct code *c)
{
	static const char names[] = "\0.nv.global\0.nv.global.init\0.nv.constant3\0.text.k\0.shstr";
	static const uint32_t at[] = { 0, 1, 12, 28, 42, 50 };
	uint32_t i;

	memset(c, 0, sizeof(*c));
	memcpy(c->h.e_ident, ELFMAG, SELFMAG);
	c->h.e_ident[EI_CLASS] = ELFCLASS64;
	c->h.e_machine = 190;
	c->h.e_shoff = offsetof(struct code, s);
	c->h.e_shentsize = sizeof(*c->s);
	c->h.e_shnum = 6;
	c->h.e_shstrndx = 5;
	memcpy(c->names, names, sizeof(names));
	for (i = 0; i < 6; i++)
		c->s[i] = (Elf64_Shdr){ .sh_name = at[i], .sh_type = SHT_PROGBITS,
					.sh_offset = offsetof(struct code, names),
					.sh_size = i * 1000 };
	c->s[5].sh_size = sizeof(names);
}

TEST(machine_code)
{
	struct gsx_fat_entry e = { .kind = GSX_FAT_CUBIN, .major = 1, .minor = 7, .arch = 90,
				   .flags = GSX_FAT_64BIT, .size = sizeof(struct code),
				   .stored = sizeof(struct code) };
	struct gsx_fat_wrapper wrapper = { GSX_FAT_WRAPPER_MAGIC, 1, NULL, NULL };
	const void *more[3] = { NULL };
	struct code c, bad;
	size_t n, page;
	void *fat;
	char *big;

	code_make(&c);
	EXPECT_EQ(6000, gs_globals(&c, 0, 90));
	EXPECT_EQ(6000, gs_globals(&c, sizeof(c), 90));
	e.data = &c;
	ASSERT_EQ(0, gsx_fat_write(&e, 1, &fat, &n));
	EXPECT_EQ(6000, gs_globals(fat, 0, 90));
	EXPECT_EQ(6000, gs_globals(fat, n, 90));
	EXPECT_EQ(0, gs_globals(fat, 0, 100));		/* it isn't for that */
	EXPECT_EQ(0, gs_globals(fat, 0, 80));
	wrapper.data = fat;
	EXPECT_EQ(6000, gs_globals(&wrapper, 0, 90));
	wrapper.data = NULL;
	wrapper.more = more;
	more[0] = fat;
	more[1] = fat;
	EXPECT_EQ(0, gs_globals(&wrapper, 0, 90));
	wrapper.version = 2;
	EXPECT_EQ(12000, gs_globals(&wrapper, 0, 90));
	/* In a file its addresses are nobody's. */
	wrapper.data = (void *)8;
	EXPECT_EQ(0, gs_globals(&wrapper, sizeof(wrapper), 90));
	free(fat);
	/* An entry may be as long as it likes, or have nothing in it. */
	big = calloc(1, 3 * MIB);
	ASSERT_TRUE(big != NULL);
	memcpy(big, &c, sizeof(c));
	e.data = big;
	e.size = 3 * MIB;
	e.stored = 3 * MIB;
	ASSERT_EQ(0, gsx_fat_write(&e, 1, &fat, &n));
	EXPECT_EQ(6000, gs_globals(fat, 0, 90));
	free(fat);
	free(big);
	e.size = 0;
	e.stored = 0;
	ASSERT_EQ(0, gsx_fat_write(&e, 1, &fat, &n));
	EXPECT_EQ(0, gs_globals(fat, 0, 90));
	free(fat);
	/* Where its length is known, nothing beyond is read. */
	page = (size_t)sysconf(_SC_PAGESIZE);
	big = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(big != MAP_FAILED);
	ASSERT_EQ(0, mprotect(big + page, page, PROT_NONE));
	for (n = 1; n <= sizeof(c); n++) {
		memcpy(big + page - n, &c, n);
		EXPECT_EQ(n < sizeof(c) ? 0 : 6000, gs_globals(big + page - n, n, 90));
	}
	munmap(big, 2 * page);
	bad = c;
	bad.h.e_shoff = UINT64_MAX & ~7ull;
	EXPECT_EQ(0, gs_globals(&bad, sizeof(bad), 90));
	bad = c;
	bad.h.e_shnum = 7;
	EXPECT_EQ(0, gs_globals(&bad, sizeof(bad), 90));
	bad = c;
	bad.s[5].sh_size = sizeof(bad);
	EXPECT_EQ(0, gs_globals(&bad, sizeof(bad), 90));
	bad = c;
	bad.s[1].sh_name = 60;
	EXPECT_EQ(5000, gs_globals(&bad, sizeof(bad), 90));
	bad = c;
	bad.h.e_machine = EM_X86_64;
	EXPECT_EQ(0, gs_globals(&bad, 0, 90));
}

static void limited(void *arg)
{
	static const char big[] = HEAD ".visible .global .align 4 .b8 a[41943040];\n";
	struct program p;
	CUmodule m, other;
	uint64_t its;
	CUlibrary l;
	CUcontext c;
	CUdeviceptr d;

	(void)arg;
	program_start(&p);
	its = used();
	/* Nobody has looked for the arbiter before. */
	MUST(cuModuleLoadData(&m, big));
	EXPECT_EQ(40 * MIB, charged());
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuModuleLoadData(&other, big));
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY,
		  cuLibraryLoadData(&l, big, NULL, NULL, 0, NULL, NULL, 0));
	EXPECT_EQ(40 * MIB, charged());
	EXPECT_EQ(its + 40 * MIB, used());
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&d, 25 * MIB));
	MUST(cuMemAlloc_v2(&d, 20 * MIB));
	OK(cuModuleUnload(m));
	EXPECT_EQ(20 * MIB, charged());
	EXPECT_EQ(its + 20 * MIB, used());
	MUST(cuLibraryLoadData(&l, big, NULL, NULL, 0, NULL, NULL, 0));
	EXPECT_EQ(60 * MIB, charged());
	OK(cuLibraryUnload(l));
	EXPECT_EQ(20 * MIB, charged());
	/* With their context. */
	MUST(cuCtxCreate_v2(&c, 0, 0));
	MUST(cuModuleLoadData(&m, big));
	EXPECT_EQ(60 * MIB, charged());
	OK(cuCtxDestroy_v2(c));
	EXPECT_EQ(20 * MIB, charged());
	/* A handle that is none takes nothing away. */
	EXPECT_NE(CUDA_SUCCESS, cuModuleUnload(NULL));
	EXPECT_EQ(20 * MIB, charged());
}

TEST(variables_count_against_the_limit)
{
	in_child(limited);
}

static void owed(void *arg)
{
	static const char small[] = HEAD ".visible .global .align 4 .b8 a[300000];\n";
	CUmodule m[3];
	struct program p;
	CUlibrary l;

	(void)arg;
	program_start(&p);
	MUST(cuModuleLoadData(&m[0], small));
	MUST(cuModuleLoadData(&m[1], small));
	MUST(cuLibraryLoadData(&l, small, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuModuleUnload(m[0]));
	EXPECT_EQ(0, charged());
	/* A launch finds the arbiter. */
	MUST(program_spin(&p, 1, 10, NULL));
	OK(cuCtxSynchronize());
	EXPECT_EQ(600000, charged());
	MUST(cuModuleLoadData(&m[2], small));
	EXPECT_EQ(900000, charged());
	OK(cuModuleUnload(m[1]));
	OK(cuLibraryUnload(l));
	OK(cuModuleUnload(m[2]));
	EXPECT_EQ(0, charged());
}

TEST(a_few_are_owed_until_the_first_launch)
{
	in_child(owed);
}

/* However small each is: together they are charged, and refused in the end. */
static void many(void *arg)
{
	static const char small[] = HEAD ".visible .global .align 4 .b8 a[1000000];\n";
	CUmodule m[70];
	struct program p;
	int n = 0;

	(void)arg;
	program_start(&p);
	MUST(cuModuleLoadData(&m[n++], small));
	EXPECT_EQ(0, charged());
	MUST(cuModuleLoadData(&m[n++], small));
	EXPECT_EQ(2000000, charged());
	while (n < 70 && !cuModuleLoadData(&m[n], small))
		n++;
	EXPECT_EQ(LIMIT / 1000000, n);
	EXPECT_EQ(n * 1000000, charged());
	EXPECT_NE(CUDA_SUCCESS, cuModuleUnload((CUmodule)&p));
	EXPECT_EQ(n * 1000000, charged());
	while (n--)
		OK(cuModuleUnload(m[n]));
	EXPECT_EQ(0, charged());
}

TEST(many_are_not_owed)
{
	in_child(many);
}

TEST_MAIN()
