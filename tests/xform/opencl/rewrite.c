// SPDX-License-Identifier: MIT
/* Each rule of the rewriting, seen in the text that it writes. */
#include "cut.h"

#define K(body)		"__kernel void k(__global int *o, int n) {\n" body "\n}\n"
#define STATE		"__private const struct gsx_state *gsx_s"
#define SLICE_ARGS	"ulong4 gsx_h0, ulong4 gsx_h1, ulong4 gsx_h2, ulong4 gsx_h3)"
#define WORKER_ARGS	"volatile __global uint *gsx_q, const volatile __global uint *gsx_stop, " \
			"ulong4 gsx_h0, ulong4 gsx_h1, ulong4 gsx_h2)"

TEST(native_offset)
{
	ASSERT_EQ(0, cut(K("o[get_global_id(0)] = get_local_id(0) + get_local_size(0);")));
	EXPECT_EQ(BOTH, kernel("k")->modes);
	EXPECT_TRUE(kernel("k")->flags & GSX_CL_NATIVE);
	EXPECT_TRUE(!cut_result.text[GSX_SLICE]);
	EXPECT_HAS(GSX_WORKERS, "o[gsx_get_global_id(gsx_s, 0)] = get_local_id(0) + get_local_size(0);");
}

TEST(native_is_rewritten_if_asked)
{
	const struct gsx_cl_options opt = { .modes = SLICE, .rewrite_native = true };
	const char *text = K("o[get_global_id(0)] = 1;");

	ASSERT_EQ(0, gsx_cl_transform(text, strlen(text), &opt, &cut_result));
	EXPECT_HAS(GSX_SLICE, "k(__global int *o, int n, " SLICE_ARGS);
	EXPECT_TRUE(!cut_result.text[GSX_WORKERS]);
	EXPECT_EQ(SLICE, kernel("k")->modes);
	EXPECT_STREQ("workers not-asked@1", refusals("k"));
}

TEST(work_item_functions)
{
	static const struct {
		const char *name;
		bool slice, workers;
	} f[] = {
		{ "get_global_id", false, true }, { "get_group_id", true, true },
		{ "get_num_groups", true, true }, { "get_global_size", true, true },
		{ "get_global_offset", true, true }, { "get_enqueued_local_size", true, false },
		{ "get_local_id", false, false }, { "get_local_size", false, false },
	};
	char text[300], call[100], changed[100];
	uint32_t i;

	for (i = 0; i < sizeof(f) / sizeof(*f); i++) {
		snprintf(call, sizeof(call), "o[n] = %s(n + (1, 2));", f[i].name);
		snprintf(changed, sizeof(changed), "o[n] = gsx_%s(gsx_s, n + (1, 2));", f[i].name);
		snprintf(text, sizeof(text), K("%s"), call);
		ASSERT_EQ(0, cut(text));
		EXPECT_EQ(f[i].slice, !!cut_result.text[GSX_SLICE]);
		if (f[i].slice)
			EXPECT_HAS(GSX_SLICE, changed);
		EXPECT_HAS(GSX_WORKERS, f[i].workers ? changed : call);
	}
	ASSERT_EQ(0, cut(K("o[0] = get_global_linear_id();")));
	EXPECT_HAS(GSX_SLICE, "o[0] = gsx_get_global_linear_id(gsx_s);");
	EXPECT_HAS(GSX_WORKERS, "o[0] = gsx_get_global_linear_id(gsx_s);");
}

/* A member may have such a name; a function would be an overload of the device's. */
TEST(names_that_only_look_like_it)
{
	ASSERT_EQ(0, cut("struct s { int get_group_id; };\n"
			 K("struct s x; x.get_group_id = 1; o[0] = x.get_group_id;")));
	EXPECT_TRUE(kernel("k")->flags & GSX_CL_NATIVE);
	ASSERT_EQ(0, cut("int get_group_id(int a, int b) { return a; }\n"
			 K("o[0] = get_group_id(1, 2);")));
	EXPECT_EQ(0, kernel("k")->modes);
}

TEST(helpers)
{
	ASSERT_EQ(0, cut("int a(int d);\n"
			 "int b(void);\n"
			 "int c() { return 3; }\n"
			 "int a(int d) { return (int)get_group_id(d) + b() + c(); }\n"
			 "int b(void) { return (int)get_num_groups(0); }\n"
			 "int g(int x) { return x * get_global_id(0); }\n"
			 K("o[0] = a(n) + b( ) + c() + g(1);")));
	EXPECT_HAS(GSX_SLICE, "int a(" STATE ", int d);");
	EXPECT_HAS(GSX_SLICE, "int b(" STATE ");");
	EXPECT_HAS(GSX_SLICE, "int c() { return 3; }");
	EXPECT_HAS(GSX_SLICE, "int a(" STATE ", int d) { return (int)gsx_get_group_id(gsx_s, d) + "
		   "b(gsx_s) + c(); }");
	EXPECT_HAS(GSX_SLICE, "int b(" STATE ") { return (int)gsx_get_num_groups(gsx_s, 0); }");
	EXPECT_HAS(GSX_SLICE, "int g(int x) { return x * get_global_id(0); }");
	EXPECT_HAS(GSX_SLICE, "o[0] = a(gsx_s, n) + b(gsx_s) + c() + g(1);");
	EXPECT_HAS(GSX_WORKERS, "o[0] = a(gsx_s, n) + b(gsx_s) + c() + g(gsx_s, 1);");
	EXPECT_TRUE(kernel("k")->flags & GSX_CALLS);
}

TEST(declared_in_a_block)
{
	ASSERT_EQ(0, cut("uint get(uint);\n"
			 K("uint get(uint); int *two(void), one(); o[0] = get(n) + one();")
			 "uint get(uint d) { return get_group_id(d); }\n"
			 "int *two(void) { return (int *)get(0); }\nint one() { return *two(); }\n"));
	EXPECT_HAS(GSX_SLICE, "uint get(" STATE ", uint); int *two(" STATE "), one(");
	EXPECT_HAS(GSX_SLICE, "o[0] = get(gsx_s, n) + one(gsx_s);");
}

TEST(overloads)
{
	ASSERT_EQ(0, cut("#define\n"
			 "int __attribute__((overloadable)) f(int x) { return x; }\n"
			 "int __attribute__((overloadable)) f(float x) { return get_group_id(0); }\n"
			 "int __attribute__((overloadable)) f(int x, int y) { return f(x) + f(1.0f); }\n"
			 K("o[0] = f(n, n);")));
	EXPECT_STREQ("", refusals("k"));
	EXPECT_HAS(GSX_SLICE, "f(" STATE ", int x) { return x; }");
	EXPECT_HAS(GSX_SLICE, "{ return f(gsx_s, x) + f(gsx_s, 1.0f); }");
}

/* What a refused kernel alone calls, and what wouldn't build, doesn't take others along. */
TEST(overloads_of_builtins)
{
	ASSERT_EQ(0, cut("typedef struct { float a; } mine;\n"
			 "mine __attribute__((overloadable)) max(mine a, mine b);\n"
			 "mine __attribute__((overloadable)) max(mine a, mine b)\n"
			 "{ return a.a > b.a + get_group_id(0) ? a : b; }\n"
			 "float calls(float a) { return max(a, 1.0f); }\n"
			 "__kernel void no(__global float *o) { o[0] = calls(o[1]); }\n"
			 K("o[0] = get_group_id(0);")));
	EXPECT_EQ(0, kernel("no")->modes);
	EXPECT_EQ(BOTH, kernel("k")->modes);
	EXPECT_LACKS(GSX_SLICE, "max(");
	EXPECT_LACKS(GSX_WORKERS, "calls(");
	EXPECT_HAS(GSX_SLICE, "o[0] = gsx_get_group_id(gsx_s, 0);");
}

TEST(slice)
{
	ASSERT_EQ(0, cut("__attribute__((reqd_work_group_size(8, 4, 2))) __kernel void\n"
			 "k(__global int *o) { if (o[0]) return; o[get_group_id(0)] = 1; }\n"
			 "__kernel void none(void) { get_group_id(0); }\n"));
	EXPECT_HAS(GSX_SLICE, "__attribute__((reqd_work_group_size(8, 4, 2))) __kernel void\n"
		   "k(__global int *o, " SLICE_ARGS "{");
	EXPECT_HAS(GSX_SLICE, "void none(" SLICE_ARGS "{");
	EXPECT_HAS(GSX_SLICE, "gsx_v.b = gsx_h0; gsx_v.n = gsx_h1; gsx_v.o = gsx_h2; gsx_v.z = gsx_h3;");
	EXPECT_HAS(GSX_SLICE, "if (o[0]) return; o[gsx_get_group_id(gsx_s, 0)] = 1;");
	EXPECT_EQ(8, kernel("k")->reqd[0]);
	EXPECT_EQ(4, kernel("k")->reqd[1]);
	EXPECT_EQ(2, kernel("k")->reqd[2]);
}

/* The order of these is what PoCL needs; see xform/opencl/workers.c. */
TEST(workers)
{
	const char *s, *at;
	uint32_t i;
	static const char *const order[] = {
		"__local uint gsx_l[2];", "__local int t[4];", "gsx_batch(gsx_q, (uint)get_group_id(0)",
		"do {", "gsx_v.b =", "t[0] = 1;", "goto gsx_end;", "gsx_end:",
		"barrier(CLK_LOCAL_MEM_FENCE);", "if (gsx_one) gsx_l[0] = gsx_next(",
		"barrier(CLK_LOCAL_MEM_FENCE);", "gsx_n = gsx_l[0];", "} while (gsx_n < gsx_total);",
	};

	ASSERT_EQ(0, cut(K("__local int t[4]; t[0] = 1; barrier(1); if (n) return; o[0] = t[0];")));
	EXPECT_HAS(GSX_WORKERS, "void k(__global int *o, int n, " WORKER_ARGS "\n{");
	EXPECT_EQ(GSX_CL_WORKER_LOCAL / 2, 2 * sizeof(uint32_t));
	s = strstr(cut_result.text[GSX_WORKERS], "__kernel");
	for (i = 0; i < sizeof(order) / sizeof(*order) && s; i++, s = at) {
		at = strstr(s, order[i]);
		if (!at)
			test_fail("%s isn't behind %s", order[i], i ? order[i - 1] : "the start");
	}
	EXPECT_LACKS(GSX_WORKERS, "return; o[0]");
}

TEST(parameters_are_fresh_for_each_group)
{
	ASSERT_EQ(0, cut("struct s { int a; };\n"
			 "__kernel void k(__global int *o, __global int *p, int a, int b, int c, int d,\n"
			 "struct s e, struct s f, float4 g, __global int *q, int h, int i, int (j)) {\n"
			 "o++; *p = a; b += a; --c; int *z = &d; e.a = 1; o[0] = f.a; g.xy = 1;\n"
			 "q[h] = 1; q[0]++; (i) = 1; ((o))[0] = -h; j <<= 2; }\n"));
	EXPECT_HAS(GSX_WORKERS, "__global int *o = gsx_p_o;");
	EXPECT_LACKS(GSX_WORKERS, "= gsx_p_p;");
	EXPECT_LACKS(GSX_WORKERS, "= gsx_p_a;");
	EXPECT_HAS(GSX_WORKERS, "int b = gsx_p_b;");
	EXPECT_HAS(GSX_WORKERS, "int c = gsx_p_c;");
	EXPECT_HAS(GSX_WORKERS, "int d = gsx_p_d;");
	EXPECT_HAS(GSX_WORKERS, "struct s e = gsx_p_e;");
	EXPECT_LACKS(GSX_WORKERS, "= gsx_p_f;");
	EXPECT_HAS(GSX_WORKERS, "float4 g = gsx_p_g;");
	EXPECT_LACKS(GSX_WORKERS, "= gsx_p_q;");
	EXPECT_LACKS(GSX_WORKERS, "= gsx_p_h;");
	EXPECT_HAS(GSX_WORKERS, "int i = gsx_p_i;");
	EXPECT_HAS(GSX_WORKERS, "__global int *gsx_p_o, __global int *p, int a, int gsx_p_b");
}

TEST(locals_move)
{
	ASSERT_EQ(0, cut("typedef struct { int x[4]; } L;\n"
			 K("enum { N = 4 }; typedef int T; struct q { T a; };\n"
			   "__local T a[N], *p, b; __local int *lone = a; local L s;\n"
			   "__constant int c[2] = { 1, 2 }; const sampler_t m = CLK_FILTER_NEAREST;\n"
			   "int v = 3; int *__local w; p = a + v; o[0] = p[0] + c[1];")));
	EXPECT_STREQ("", refusals("k"));
	EXPECT_HAS(GSX_WORKERS, "__local uint gsx_l[2]; enum { N = 4 }; typedef int T; struct q { T a; };"
		   "__local T a[N], b; local L s; __constant int c[2] = { 1, 2 };"
		   "const sampler_t m = CLK_FILTER_NEAREST; int *__local w; const bool gsx_one");
	EXPECT_HAS(GSX_WORKERS, "{ { __local T *p; __local int *lone = a; int v = 3; p = a + v;");
}

TEST(directives_stay_on_their_lines)
{
	ASSERT_EQ(0, cut("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
			 "__kernel void k(__global int *o) {\n#pragma unroll\n"
			 "for (int i = 0; i < 4; i++) o[i] = get_group_id(0);\n"
			 "#pragma x get_group_id(0) { ( \" '\n"
			 "if (o[0])\n#pragma a\nreturn;\n#pragma b\n}\n#pragma end"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_SLICE], "\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_SLICE], "\n#pragma unroll\n"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_SLICE], "\n#pragma x get_group_id(0) { ( \" '\n"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_SLICE], "\n#pragma end\n"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_WORKERS], "\n#pragma unroll\n"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_WORKERS], "\n#pragma x get_group_id(0) { ( \" '\n"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_WORKERS], "\n#pragma a\n"));
	EXPECT_TRUE(strstr(cut_result.text[GSX_WORKERS], "\n#pragma b\n"));
}

TEST(kernels_without_the_mode_are_left_out)
{
	ASSERT_EQ(0, cut("__kernel void native(__global int *o) { o[get_global_id(0)] = 1; }\n"
			 "__kernel void cut(__global int *o) { o[get_group_id(0)] = 1; }\n"
			 "__kernel void cut(__global int *o);\n"
			 "__kernel void waits(volatile __global int *o) { while (!o[get_group_id(0)]); }\n"
			 "__kernel void inner(__global int *o) { o[0] = 1; }\n"
			 "__kernel void outer(__global int *o) { inner(o); o[get_num_groups(0)] = 1; }\n"));
	EXPECT_LACKS(GSX_SLICE, "native");
	EXPECT_LACKS(GSX_SLICE, "waits");
	EXPECT_LACKS(GSX_SLICE, "cut(__global int *o);");
	EXPECT_HAS(GSX_SLICE, "void cut(__global int *o, " SLICE_ARGS);
	EXPECT_HAS(GSX_SLICE, "void inner(__global int *o) { o[0] = 1; }");
	EXPECT_HAS(GSX_SLICE, "void outer(__global int *o, " SLICE_ARGS);
	EXPECT_HAS(GSX_WORKERS, "void native(__global int *o, " WORKER_ARGS);
	EXPECT_LACKS(GSX_WORKERS, "waits");
	EXPECT_EQ(SLICE, kernel("inner")->modes);
}

/* A text without the others' parts is what comes of a program without the others. */
TEST(one_kernel_of_a_text)
{
	static const char *const text[] = {
		"int f(int d) { return get_group_id(d); }\n#pragma a\n",
		"__kernel void a(__global int *o, int n) { __local int t[4];\n"
			"o[n + f(0)] = t[0] + get_num_groups(0); }\n",
		"__constant int c[2] = { 1, 2 };\n",
		"__attribute__((reqd_work_group_size(8, 4, 2))) __kernel void b(__global int *o)\n"
			"{\n#pragma b\n\to[f(1)] = c[get_num_groups(0)]; if (o[0]) return; o[1] = 1; }\n",
		"int g(int d) { return f(d); }\n",
	};
	static const struct { const char *name; int without; } one[] = { { "a", 3 }, { "b", 1 } };
	struct gsx_cl_result all, alone;
	char whole[1024] = "", left[1024], want[8192], is[8192];
	const struct gsx_cl_part *part;
	int i, k, mode;

	for (i = 0; i < 5; i++)
		strcat(whole, text[i]);
	ASSERT_EQ(0, gsx_cl_transform(whole, strlen(whole), NULL, &all));
	ASSERT_EQ(2, all.n_kernels);
	for (k = 0; k < 2; k++) {
		for (i = 0, *left = 0; i < 5; i++)
			if (i != one[k].without)
				strcat(left, text[i]);
		ASSERT_EQ(0, gsx_cl_transform(left, strlen(left), NULL, &alone));
		EXPECT_STREQ(one[k].name, all.kernels[k].name);
		for (mode = 0; mode < GSX_MODES; mode++) {
			part = &all.kernels[!k].part[mode];
			if (mode == GSX_GUARD) {
				EXPECT_EQ(0, part->len);
				continue;
			}
			ASSERT_TRUE(part->len);
			memcpy(is, all.text[mode], part->at);
			strcpy(is + part->at, all.text[mode] + part->at + part->len + 1);
			strcpy(want, alone.text[mode]);
			EXPECT_STREQ(want, is);
		}
		gsx_cl_result_free(&alone);
	}
	gsx_cl_result_free(&all);
}

TEST(same_input_same_text)
{
	const char *text = "int f(int d) { return get_group_id(d); }\n"
		K("__local int t[4]; n++; if (n) return; o[f(0)] = t[0];");
	struct gsx_cl_result a, b;
	char other[400];

	ASSERT_EQ(0, gsx_cl_transform(text, strlen(text), NULL, &a));
	/* from another place, without a NUL behind it */
	memset(other, 'x', sizeof(other));
	memcpy(other, text, strlen(text));
	ASSERT_EQ(0, gsx_cl_transform(other, strlen(text), NULL, &b));
	EXPECT_STREQ(a.text[GSX_SLICE], b.text[GSX_SLICE]);
	EXPECT_STREQ(a.text[GSX_WORKERS], b.text[GSX_WORKERS]);
	EXPECT_EQ(strlen(a.text[GSX_WORKERS]), a.len[GSX_WORKERS]);
	gsx_cl_result_free(&a);
	gsx_cl_result_free(&b);
}

TEST(batches_as_accelos)
{
	static const struct {
		uint32_t ops, batch;
	} want[] = { { 3, 8 }, { 12, 6 }, { 24, 4 }, { 36, 2 }, { 60, 1 } };
	char text[1000];
	uint32_t i, k;

	for (i = 0; i < 5; i++) {
		strcpy(text, "__kernel void k(__global int *o, int n) { ");
		for (k = 0; k < want[i].ops / 3; k++)
			strcat(text, "o[0] = n;");
		strcat(text, "}");
		ASSERT_EQ(0, cut(text));
		EXPECT_EQ(want[i].ops, kernel("k")->instructions);
		EXPECT_EQ(want[i].batch, kernel("k")->batch);
	}
}

TEST_MAIN()
