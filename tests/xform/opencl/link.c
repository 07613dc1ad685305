// SPDX-License-Identifier: MIT
/* Programs that are linked of several sources: cut as one, or refused as a whole. */
#include <errno.h>

#include "cut.h"

#define MAX_UNITS	3

static struct gsx_cl_source units[MAX_UNITS];

/* Up to three sources, the later ones NULL if there are none. */
static int link_of(const char *a, const char *b, const char *c)
{
	const char *const text[MAX_UNITS] = { a, b, c };
	const struct gsx_cl_cpp_options opt = { .build = "-cl-std=CL1.2 -DN=4" };
	uint32_t n;

	for (n = 0; n < MAX_UNITS && text[n]; n++) {
		gsx_cl_source_free(&units[n]);
		ASSERT_EQ(0, gsx_cl_preprocess(text[n], strlen(text[n]), &opt, &units[n]));
	}
	gsx_cl_result_free(&cut_result);
	return gsx_cl_link(units, n, NULL, &cut_result);
}

#define STATE	"__private const struct gsx_state *gsx_s"

TEST(a_function_of_another_source)
{
	static const char kernel_text[] = "int help(int x);\n"
		"__kernel void k(__global int *o) { o[get_global_id(0)] = help(N); }\n";
	static const char help_text[] = "int help(int x) { return x + (int)get_group_id(0); }\n";

	ASSERT_EQ(0, cut(kernel_text));
	EXPECT_STREQ("slice extern-call@2 workers extern-call@2", refusals("k"));
	for (int order = 0; order < 2; order++) {
		ASSERT_EQ(0, order ? link_of(help_text, kernel_text, NULL) :
			  link_of(kernel_text, help_text, NULL));
		EXPECT_STREQ("", refusals("k"));
		EXPECT_FALSE(kernel("k")->flags & GSX_CL_NATIVE);
		EXPECT_HAS(GSX_SLICE, "int help(" STATE ", int x);");
		EXPECT_HAS(GSX_SLICE, "int help(" STATE ", int x) { return x + "
			   "(int)gsx_get_group_id(gsx_s, 0); }");
		EXPECT_HAS(GSX_SLICE, "help(gsx_s, 4)");
		EXPECT_HAS(GSX_WORKERS, "help(gsx_s, 4)");
	}
	/* one source is itself */
	ASSERT_EQ(0, link_of("__kernel void k(__global int *o) { o[get_group_id(0)] = N; }", NULL, NULL));
	EXPECT_HAS(GSX_SLICE, "gsx_get_group_id(gsx_s, 0)] = 4;");
}

TEST(what_another_source_does)
{
	ASSERT_EQ(0, link_of("int peek(volatile __global int *f);\n"
			     "__kernel void k(volatile __global int *f) {\nwhile (!peek(f)) ; }\n",
			     "\n\nint peek(volatile __global int *f) { return *f; }\n", NULL));
	EXPECT_STREQ("slice wait-loop@3 workers wait-loop@3", refusals("k"));
	/* said of the second source, by its lines */
	ASSERT_EQ(0, link_of("int spin(volatile __global int *f);\n"
			     "__kernel void k(volatile __global int *f) { spin(f); }\n",
			     "\n\nint spin(volatile __global int *f) {\nwhile (!*f) ; return 1; }\n",
			     NULL));
	EXPECT_STREQ("slice wait-loop@4 workers wait-loop@4", refusals("k"));
	EXPECT_TRUE(strstr(kernel("k")->refusals[0].text, "source 2: "));
	/* still nowhere */
	ASSERT_EQ(0, link_of("int none(int x);\n__kernel void k(__global int *o) { o[0] = none(1); }\n",
			     "int other(int x) { return x; }\n", NULL));
	EXPECT_STREQ("slice extern-call@2 workers extern-call@2", refusals("k"));
	/* a table of another source, and a kernel in each */
	ASSERT_EQ(0, link_of("extern __constant int tab[2];\n"
			     "__kernel void k(__global int *o) { o[get_group_id(0)] = tab[1]; }\n",
			     "__constant int tab[2] = { 1, 2 };\n",
			     "__kernel void l(__global int *p) { p[get_group_id(0)] = 1; }\n"));
	EXPECT_STREQ("", refusals("k"));
	EXPECT_STREQ("", refusals("l"));
}

#define HEADER	"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" \
	"typedef struct pair { int a, b; } pair;\nenum kinds { ONE = 1, TWO };\n" \
	"__constant int table[2] = { 5, 6 };\n" \
	"static int twice(pair x) { return x.a + x.b * TWO + table[1]; }\n" \
	"int far(pair x);\n"

TEST(a_header_that_all_include)
{
	const char *s;
	int n = 0;

	ASSERT_EQ(0, link_of(HEADER "__kernel void k(__global int *o) { pair x = { 1, ONE };\n"
			     "o[get_group_id(0)] = far(x) + twice(x); }\n",
			     HEADER "int far(pair x) { return twice(x) + 1; }\n", NULL));
	EXPECT_STREQ("", refusals("k"));
	for (s = cut_result.text[GSX_SLICE]; (s = strstr(s, "int twice(")); s++)
		n++;
	EXPECT_EQ(1, n);
	/* twice the prototype, once the function */
	for (s = cut_result.text[GSX_SLICE], n = 0; (s = strstr(s, "int far(")); s++)
		n++;
	EXPECT_EQ(3, n);
}

TEST(what_may_mean_something_else)
{
	static const struct {
		const char *a, *b, *why;
	} e[] = {
		/* a static function, and another one of this name that is linked */
		{ "static int f(int x) { return x; }\n", "int f(int x);\nint g(void) { return f(1); }\n",
		  "in other words" },
		{ "static int f(int x) { return x; }\n", "static int f(int x) { return x + 1; }\n",
		  "in other words" },
		/* the other one's own builtin function, local name or macro of the device */
		{ "float __attribute__((overloadable)) max(float a, float b, float c) { return a; }\n",
		  "__kernel void k(__global float *o) { o[0] = max(o[1], o[2]); }\n",
		  "means something else" },
		{ "typedef int size;\n", "__kernel void k(__global int *o) { int size = 3; o[0] = size; }\n",
		  "means something else" },
		{ "enum { wide = 3 };\n", "__kernel void k(__global int *o, int wide) { o[0] = wide; }\n",
		  "means something else" },
		{ "struct in { enum { deep = 3 } e; };\n",
		  "__kernel void k(__global int *o, int deep) { o[0] = deep; }\n", "means something else" },
		/* of one name in two forms */
		{ "typedef int T;\n", "typedef float T;\n", "in other words" },
		{ "struct s { int a; };\n", "struct s { float a; };\n", "in other words" },
		{ "#define W 1\nenum { A = W };\n", "#define W 2\nenum { A = W };\n", "in other words" },
		{ "typedef int T; struct s { T a; };\n", "typedef float T; struct s { T a; };\n",
		  "in other words" },
		{ "int f(int x) { return 1; }\n", "int f(int x) { return 1; }\n", "in other words" },
		{ "int __attribute__((overloadable)) f(int x) { return 1; }\n",
		  "int __attribute__((overloadable)) f(float x) { return 2; }\n", "overloaded" },
		{ "static __global int n;\n", "static __global int n;\n", "in other words" },
		/* what goes on beyond a source's end */
		{ "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nint a(void);\n", "int b(void);\n",
		  "not all of the sources" },
		{ "int b(void);\n", "int c(void);\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
		  "beyond its own source" },
		{ "#pragma STDC FP_CONTRACT OFF\nint a(void);\n", "int b(void);\n",
		  "beyond its own source" },
		{ "#pragma pack(1)\nint a(void);\n", "int b(void);\n", "beyond its own source" },
		{ "int f(void) {\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nreturn 1; }\n",
		  "int b(void);\n", "beyond its own source" },
		{ "int a = 1\n", "; int b;\n", "in the next source" },
	};
	uint32_t i;

	for (i = 0; i < sizeof(e) / sizeof(*e); i++) {
		EXPECT_EQ(-EINVAL, link_of(e[i].a, e[i].b, NULL));
		if (!cut_result.error || !strstr(cut_result.error, e[i].why))
			test_fail("\"%s\" is no \"%s\", for:\n%s--\n%s", cut_result.error, e[i].why,
				  e[i].a, e[i].b);
		EXPECT_EQ(0, cut_result.n_kernels);
	}
	/* the same pragma twice, and one for a loop alone */
	EXPECT_EQ(0, link_of("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nint a(void);\n",
			     "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nint b(int n) {\n"
			     "#pragma unroll 4\nfor (; n; n--) ; return 0; }\n", NULL));
}

TEST(options)
{
	const struct gsx_cl_cpp_options opt = { .build = "-cl-fast-relaxed-math -DN=5" };
	static const char text[] = "int help(int x) { return x; }\n";

	ASSERT_EQ(0, link_of("__kernel void k(__global int *o) { o[0] = 1; }\n", text, NULL));
	gsx_cl_source_free(&units[1]);
	ASSERT_EQ(0, gsx_cl_preprocess(text, strlen(text), &opt, &units[1]));
	gsx_cl_result_free(&cut_result);
	EXPECT_EQ(-EINVAL, gsx_cl_link(units, 2, NULL, &cut_result));
	EXPECT_TRUE(strstr(cut_result.error, "different options"));
	EXPECT_EQ(-E2BIG, gsx_cl_link(units, 0, NULL, &cut_result));
}

TEST_MAIN()
