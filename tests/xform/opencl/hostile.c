// SPDX-License-Identifier: MIT
/*
 * Programs with random damage from a fixed seed, and texts made to be slow, deep or
 * big. Nothing may crash, hang, use more memory than allowed, or come out as what
 * can't be read again. GSX_SEED and GSX_ROUNDS in the environment change the run.
 */
#include <errno.h>

#include "../damage.h"
#include "harness.h"
#include "hold.h"

#define MOST	(64 * 1024)

static const char *const programs[] = {
	"typedef struct { int a; __global float *b; } S;\n__constant int tab[4] = { 1, 2, 3, 4 };\n"
	"int low(int d);\nint both(int d) { return get_num_groups(d) * low(d); }\n"
	"int low(int d) { return (int)get_group_id(d); }\n#pragma OPENCL EXTENSION all : enable\n"
	"__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k(__global int *o, S s, int n,\n"
	"__local int *t) { __local int l[4 * 4], *p; __constant int c[2] = { 1, 2 }; p = l + n; n++;\n"
	"for (int i = 0; i < n; i++) { if (i == 3) continue; o[i] += tab[i & 3] + s.b[i]; }\n"
	"barrier(1); if (get_local_id(0) > 3) return; switch (n) { case 1: o[0] = p[1]; break;\n"
	"default: (*o)++; } do { n--; } while (n > both(0)); }\n",
	"__kernel void spin(volatile __global int *f) { while (atomic_cmpxchg(f, 0, 1)) ; }\n"
	"__kernel void ok(__global int *a, __global int *b) { int x = *a; __global int *p = x ? a : b;\n"
	"union { int i; float f; } u, v; do { u.i = *p; v.f = u.f * 2.5e+3f; }\n"
	"while (atomic_cmpxchg((volatile __global int *)p, u.i, v.i) != u.i); (&a[1])[2] = sizeof(int); }\n"
	"__kernel void call(__global int *a) { ok(a, a); }\n",
	"float __attribute__((overloadable)) f(float x) { return x; }\n"
	"float __attribute__((overloadable)) f(float2 x) { return f(x.x) + f(x.y); }\n"
	"__global int counter;\nconstant sampler_t smp = CLK_FILTER_NEAREST;\n"
	"kernel void im(read_only image2d_t i, write_only image2d_t o) { int2 p = (int2)(get_global_id(0),\n"
	"get_global_id(1)); float4 v[2] = { read_imagef(i, smp, p), { 0, 1, 2, 3 } }; v[1].xy = 1;\n"
	"write_imagef(o, p, v[0] * f(v[1].xy)); counter += sub_group_all(1); }\n",
};

static const char *const words[] = {
	"{", "}", ";", ",", "(", ")", "[", "]", "=", "*", "&", "++", "--", "->", ".", "?", ":", "#",
	"\n#pragma x\n", "/*", "*/", "//", "\"", "'", "\\", "if (", "else", "for (;;)", "while (", "do",
	"return", "goto x;", "x:", "switch", "case 1:", "break;", "continue;", "__kernel", "__local",
	"__global int", "typedef", "struct", "union {", "enum", "volatile", "const", "static", "asm",
	"get_group_id", "get_group_id(0)", "get_global_linear_id()", "barrier(1);", "atomic_inc(",
	"sizeof", "(int)", "(float4)", "^{", "pipe", "image2d_t", "__attribute__((", "typeof(", "void",
	"gsx_", "...", "<<=", "0x", "1e+", "\0", "\377",
};

static struct damage chance = {
	.most = MOST, .longest = 400, .words = words, .n_words = sizeof(words) / sizeof(words[0]),
};

TEST_LIMIT(random_damage, 300)
{
	uint32_t rounds = getenv("GSX_ROUNDS") ? atoi(getenv("GSX_ROUNDS")) : 20000, i, k;
	static char text[MOST + 1];
	uint64_t seed = getenv("GSX_SEED") ? strtoull(getenv("GSX_SEED"), NULL, 0) :
		0x9e3779b97f4a7c15ull;

	printf("# GSX_SEED=%#llx\n", (unsigned long long)seed);
	chance.state = seed | 1;
	for (i = 0; i < rounds; i++) {
		const char *p = programs[draw(&chance, sizeof(programs) / sizeof(programs[0]))];
		size_t n = strlen(p);

		memcpy(text, p, n);
		for (k = draw(&chance, 8); k--; )
			n = damage(&chance, text, n);
		/* in memory of its own size, so that a sanitizer sees what is read beyond */
		p = memcpy(malloc(n + 1), text, n);
		if (!holds(p, n)) {
			test_fail("round %u:\n%.*s", i, (int)n, p);
			return;
		}
		free((char *)p);
	}
}

/* @head, then @n times @piece, then @n times @back, then @tail. */
static int repeated(const char *head, const char *piece, uint32_t n, const char *back,
		    const char *tail)
{
	size_t len = strlen(head) + n * (strlen(piece) + strlen(back)) + strlen(tail);
	struct gsx_cl_result res;
	char *text = malloc(len + 1), *s = stpcpy(text, head);
	uint32_t i;
	int err;

	for (i = 0; i < n; i++)
		s = stpcpy(s, piece);
	for (i = 0; i < n; i++)
		s = stpcpy(s, back);
	strcpy(s, tail);
	err = gsx_cl_transform(text, len, NULL, &res);
	gsx_cl_result_free(&res);
	free(text);
	return err;
}

#define HEAD "__kernel void k(__global int *o, int n) { "

TEST(deep)
{
	EXPECT_EQ(0, repeated(HEAD "o[0] = ", "(", 100, ")", "; }"));
	EXPECT_EQ(-E2BIG, repeated(HEAD "o[0] = ", "(", 100000, ")", "; }"));
	EXPECT_EQ(0, repeated(HEAD, "{", 100, "}", "}"));
	EXPECT_EQ(-E2BIG, repeated(HEAD, "{", 100000, "}", "}"));
	EXPECT_EQ(-E2BIG, repeated(HEAD "o[0] = ", "- ", 100000, "", "1; }"));
	EXPECT_EQ(-E2BIG, repeated(HEAD, "if (n) ", 100000, "", "n = 1; }"));
	EXPECT_EQ(-E2BIG, repeated(HEAD, "for (;;) ", 100000, "", "n = 1; }"));
	EXPECT_EQ(-E2BIG, repeated(HEAD, "do ", 100000, "while (n);", "}"));
	EXPECT_EQ(-E2BIG, repeated(HEAD, "n = ", 100000, "", "1; }"));
	EXPECT_EQ(-E2BIG, repeated(HEAD, "(int)", 100000, "", "1; }"));
	EXPECT_EQ(0, repeated(HEAD "if (n == 1) n = 2; ", "else if (n == 3) n = 4; ", 20000, "", "}"));
	EXPECT_EQ(0, repeated(HEAD "n = 1", " + n * 3 ? n : 2", 50000, "", "; }"));
}

TEST(long_ones)
{
	EXPECT_EQ(0, repeated("int ", "aaaaaaaaaaaaaaaa", 100000, "", ";"));
	EXPECT_EQ(0, repeated(HEAD "n = \"", "xxxxxxxxxxxxxxxx", 100000, "", "\"; }"));
	EXPECT_EQ(0, repeated("__kernel void k(int a", ", int b", 50000, "", ") { }"));
	EXPECT_EQ(0, repeated(HEAD "f(1", ", n", 50000, "", "); }"));
	EXPECT_EQ(0, repeated(HEAD, "int a; ", 50000, "", "}"));
	EXPECT_EQ(-E2BIG, repeated("", "void f(int x) { f(x); }\n", 5000, "", ""));
	EXPECT_EQ(-E2BIG, repeated("", "void f(int x);", 100000, "", ""));
	EXPECT_EQ(0, repeated("", "#pragma x\n", 100000, "", HEAD "}"));
}

/* Each step of a chain needs the one after it: more passes than are made. */
TEST(slow_chains)
{
	char *text = malloc(4 << 20), *s = text;
	struct gsx_cl_result res;
	uint32_t i;

	s = stpcpy(s, "__kernel void k(__global int *o, __global int *p) { __global int *v0");
	for (i = 1; i < 20000; i++)
		s += sprintf(s, ", *v%u = o", i);
	s = stpcpy(s, "; for (;;) {");
	for (i = 0; i < 19999; i++)
		s += sprintf(s, "v%u = v%u;", i, i + 1);
	stpcpy(s, "v19999 = p; *v0 = 1; } }");
	ASSERT_EQ(0, gsx_cl_transform(text, strlen(text), NULL, &res));
	EXPECT_TRUE(res.kernels[0].params[1].flags & GSX_PARAM_WRITTEN);
	gsx_cl_result_free(&res);

	/* functions that call the next, in the worst order */
	s = text;
	for (i = 0; i < 20000; i++)
		s += sprintf(s, "int f%u(int x);\n", i);
	for (i = 0; i < 19999; i++)
		s += sprintf(s, "int f%u(int x) { return f%u(x); }\n", i, i + 1);
	stpcpy(s, "int f19999(int x) { return get_group_id(x); }\n"
	       "__kernel void k(__global int *o) { o[0] = f0(0); }");
	ASSERT_EQ(0, gsx_cl_transform(text, strlen(text), NULL, &res));
	EXPECT_FALSE(res.kernels[0].flags & GSX_CL_NATIVE);
	EXPECT_TRUE(res.text[GSX_SLICE] && strstr(res.text[GSX_SLICE], "return f19999(gsx_s, x);"));
	gsx_cl_result_free(&res);
	free(text);
}

TEST(memory_has_a_limit)
{
	struct gsx_cl_options opt = { .modes = GSX_ALL_MODES, .max_memory = 1 << 20 };
	struct gsx_cl_result res;
	char *text = malloc(1 << 20);

	memset(text, ';', 1 << 20);
	EXPECT_EQ(-E2BIG, gsx_cl_transform(text, 1 << 20, &opt, &res));
	EXPECT_TRUE(res.error && strstr(res.error, "memory"));
	gsx_cl_result_free(&res);
	opt.max_memory = 1;
	EXPECT_EQ(-E2BIG, gsx_cl_transform("int x;", 6, &opt, &res));
	gsx_cl_result_free(&res);
	free(text);
}

TEST(strange_bytes)
{
	EXPECT_TRUE(holds("\0\0\0", 3));
	EXPECT_TRUE(holds("__kernel void k(int n) { n = 1; \0 n = 2; }", 42));
	EXPECT_TRUE(holds("\xef\xbb\xbfint x;", 9));
	EXPECT_TRUE(holds("__kernel", 8));
	EXPECT_TRUE(holds("__kernel void k(", 16));
	EXPECT_TRUE(holds("#", 1));
	EXPECT_TRUE(holds("# ( {", 5));
	EXPECT_TRUE(holds("x (", 3));
	EXPECT_TRUE(holds("typedef", 7));
	EXPECT_TRUE(holds("__kernel void k(){for(", 22));
	EXPECT_TRUE(holds("__kernel void k(){for(;}", 24));
	EXPECT_TRUE(holds("__kernel void k(){if}", 21));
}

TEST_MAIN()
