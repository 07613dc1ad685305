// SPDX-License-Identifier: MIT
/* What is told about a kernel: which buffers it may read and write, its memory, its uses. */
#include <errno.h>

#include "cut.h"

#define RW	(GSX_PARAM_READ | GSX_PARAM_WRITTEN)

/* "a:rw b:r c:" of all parameters, " any-r any-w" behind them. */
static const char *touched(const char *text)
{
	const struct gsx_cl_kernel *k;
	static char out[1024];
	uint32_t i, at = 0;

	if (cut(text))
		return cut_result.error;
	k = kernel("k");
	out[0] = 0;
	for (i = 0; i < k->n_params; i++)
		at += snprintf(out + at, sizeof(out) - at, "%s%s:%s%s", at ? " " : "",
			       k->params[i].name, k->params[i].flags & GSX_PARAM_READ ? "r" : "",
			       k->params[i].flags & GSX_PARAM_WRITTEN ? "w" : "");
	snprintf(out + at, sizeof(out) - at, "%s%s", k->flags & GSX_READS_ANY ? " any-r" : "",
		 k->flags & GSX_WRITES_ANY ? " any-w" : "");
	return out;
}

#define K(body) "__kernel void k(__global int *a, __global int *b, __global int *c, int n) { " \
		body " }"

TEST(plain_access)
{
	EXPECT_STREQ("a:w b:r c: n:", touched(K("a[0] = b[n];")));
	EXPECT_STREQ("a:rw b: c: n:", touched(K("a[0] += n;")));
	EXPECT_STREQ("a:rw b: c: n:", touched(K("a[n]++;")));
	EXPECT_STREQ("a:rw b: c: n:", touched(K("--*a;")));
	EXPECT_STREQ("a:w b:r c: n:", touched(K("*(a + n) = *(b + 1);")));
	EXPECT_STREQ("a: b: c: n:", touched(K("n = 3;")));
	EXPECT_STREQ("a:r b:w c: n:", touched(K("b[a[0]] = 1;")));
	EXPECT_STREQ("a:w b:r c: n:", touched(K("n[a] = 0[b];")));
	EXPECT_STREQ("a:r b: c: n:", touched(K("int x = sizeof(b[0]) + a[1];")));
	EXPECT_STREQ("a:w b:r c:r n:", touched(K("a[0] = n ? b[0] : c[0];")));
	EXPECT_STREQ("a:w b:w c:r n:", touched(K("a[0] = b[0] = c[0];")));
}

TEST(through_variables)
{
	EXPECT_STREQ("a:w b: c: n:", touched(K("__global int *p = a; *p = 1;")));
	EXPECT_STREQ("a:w b:w c: n:", touched(K("__global int *p = n ? a : b; p[0] = 1;")));
	EXPECT_STREQ("a:w b: c: n:", touched(K("__global float *p = (__global float *)a; p++; p[2] = 1;")));
	EXPECT_STREQ("a:w b:w c: n:", touched(K("__global int *p = a, *q; q = p; p = b; *q = 1;")));
	EXPECT_STREQ("a:w b:r c: n:", touched(K("int x = b[0]; a[x] = x;")));
	EXPECT_STREQ("a:w b: c: n:", touched("typedef __global int *gp;\n" K("gp p = a; p[0] = 1;")));
	EXPECT_STREQ("a:w b: c: n:", touched(K("typedef __global int *gp; gp p; p = a; *p = 1;")));
	EXPECT_STREQ("a:w b:", touched("typedef __global int *gp;\n"
				      "__kernel void k(gp a, gp b) { *a = 1; }"));
	EXPECT_STREQ("a:w b: c: n:", touched("typedef __global int *gp; typedef gp gq;\n"
					    K("gq p[2]; p[1] = a; p[0][3] = 1;")));
	EXPECT_STREQ("a:w b: c: n:", touched(K("ulong u = (ulong)a; ((__global int *)u)[0] = 1;")));
	EXPECT_STREQ("a:w b:w c: n:", touched(K("__global int *t[2] = { a, b }; t[n][0] = 1;")));
	EXPECT_STREQ("a:w b:r c: n:", touched(K("__global int *p; p = a; for (int i = 0; i < n; i++, p += 4)"
					       " *p = b[i];")));
	EXPECT_STREQ("a:rw b:rw c: n:", touched(K("__global int *p = a, *q = b, *t; for (;;) {"
						  " *p = *q; t = q; q = p; p = t; }")));
	EXPECT_STREQ("a:w b: c: n:", touched("struct s { __global int *p; int m[4]; };\n"
					     K("struct s x; x.p = a; x.m[1] = 2; x.p[0] = 1;")));
	EXPECT_STREQ("a:w b: c: n:", touched("struct s { __global int *p; };\n"
					    K("struct s x = { a }; *x.p = 1;")));
	EXPECT_STREQ("a:w b: c: n:", touched("struct s { int m[4][2]; };\n"
					    K("((__global struct s *)a)->m[n][1] = 1;")));
	EXPECT_STREQ("a:w", touched("__kernel void k(__global int (*a)[4]) { a[1][2] = 3; }"));
	EXPECT_STREQ("a:w", touched("__kernel void k(__global int a[][4]) { a[1][2] = 3; }"));
	EXPECT_STREQ("a:w b: c: n:", touched(K("int m[2][3]; m[0][1] = n; a[m[1][2]] = 1;")));
}

TEST(through_functions)
{
	EXPECT_STREQ("a:w b: c: n:", touched("void f(__global int *p) { p[0] = 1; }\n" K("f(a);")));
	EXPECT_STREQ("a:w b:r c: n:", touched("void f(__global int *p, __global int *q) { p[0] = *q; }\n"
					     K("f(a + 1, b);")));
	EXPECT_STREQ("a:w b: c: n:", touched("__global int *f(__global int *p) { return p + 1; }\n"
					    K("*f(a) = 1;")));
	EXPECT_STREQ("a:w b: c: n:", touched("void g(__global int *p) { *p = 1; }\n"
					    "void f(__global int *p) { g(p); }\n" K("f(&a[3]);")));
	EXPECT_STREQ("a:r b: c: n:", touched("int f(__global const int *p) { return *p; }\n"
					    K("f(a);")));
	/* not told apart: overloads */
	EXPECT_STREQ("a:rw b: c: n:", touched("int __attribute__((overloadable)) f(__global int *p)"
					     "{ return *p; }\n"
					     "void __attribute__((overloadable)) f(__global int *p, int x)"
					     "{ *p = x; }\n" K("f(a);")));
}

TEST(builtins)
{
	EXPECT_STREQ("a:rw b: c: n:", touched(K("atomic_inc(a);")));
	EXPECT_STREQ("a:w b:r c: n:", touched(K("vstore4(vload4(0, b), n, a);")));
	EXPECT_STREQ("a: b:r c: n:", touched(K("prefetch(a, 4); n = vload_half(1, (__global half *)b);")));
	EXPECT_STREQ("a:w b: c: n:", touched(K("float x = fract(1.5f, (__global float *)a);")));
	EXPECT_STREQ("a:rw b: c: n:", touched(K("vendor_thing(a, n);")));
	EXPECT_STREQ("t: a:r", touched("__kernel void k(__local int *t, __global int *a) {"
				      "event_t e = async_work_group_copy(t, a, 4, 0); }"));
	EXPECT_STREQ("t: a:w", touched("__kernel void k(__local int *t, __global int *a) {"
				      "event_t e = async_work_group_copy(a, t, 4, 0); }"));
	EXPECT_STREQ("i:r o:w s:", touched("__kernel void k(read_only image2d_t i, __write_only image2d_t o,"
					  "sampler_t s) { int2 p = (int2)(0, 0);"
					  "write_imagef(o, p, read_imagef(i, s, p)); }"));
	EXPECT_TRUE(kernel("k")->flags & GSX_CL_IMAGES);
	EXPECT_TRUE(param("k", "i")->flags & GSX_CL_IMAGE);
	EXPECT_TRUE(param("k", "s")->flags & GSX_CL_SAMPLER);
}

/* What can't be followed may be anything. */
TEST(doubt)
{
	EXPECT_STREQ("a:r b: c: n: any-w", touched(K("((__global int *)(ulong)a[0])[0] = 1;")));
	EXPECT_STREQ("p:rw any-w", touched("__kernel void k(__global int *__global *p) { p[0][1] = 1; }"));
	EXPECT_STREQ("p:rw any-w", touched("struct s { __global int *q; };\n"
					 "__kernel void k(__global struct s *p) { p->q[0] = 1; }"));
	/* a list whose struct is defined behind its typedef */
	EXPECT_STREQ("p:rw any-w", touched("typedef struct node node;\n"
					   "struct node { __global node *next; int x; };\n"
					   "__kernel void k(__global node *p) { p->next->x = 1; }"));
	EXPECT_STREQ("u: any-w", touched("__kernel void k(ulong u) { *(__global int *)u = 1; }"));
	EXPECT_STREQ("a:rw b:w c: n:", touched(K("b[0] = (int)(ulong)a; b[1] = (ulong)a;")));
	EXPECT_STREQ("a: any-r any-w", touched("__global int g;\n"
					      "__kernel void k(__global int *a) { g++; }"));
	EXPECT_STREQ("a:rw b: c: n: any-w", touched("struct s { __global int *p; };\n"
						   "void f(struct s *x) { x->p[0] = 1; }\n"
						   K("struct s x; x.p = a; f(&x); a[0]++;")));
}

TEST(kinds)
{
	ASSERT_EQ(0, cut("__kernel void k(__global float *restrict a, constant int *b, __local int *c,\n"
			 "const float4 d, unsigned int e, __global int f[4], int (*g)[3], size_t) {}"));
	EXPECT_EQ(8, kernel("k")->n_params);
	EXPECT_EQ(GSX_CL_GLOBAL | GSX_PARAM_POINTER, param("k", "a")->flags);
	EXPECT_EQ(GSX_CL_CONSTANT | GSX_PARAM_POINTER, param("k", "b")->flags);
	EXPECT_EQ(GSX_CL_LOCAL | GSX_PARAM_POINTER, param("k", "c")->flags);
	EXPECT_EQ(0, param("k", "d")->flags);
	EXPECT_EQ(0, param("k", "e")->flags);
	EXPECT_EQ(GSX_CL_GLOBAL | GSX_PARAM_POINTER, param("k", "f")->flags);
	EXPECT_TRUE(param("k", "g")->flags & GSX_PARAM_POINTER);
	EXPECT_STREQ("", kernel("k")->params[7].name);
}

TEST(memory)
{
	ASSERT_EQ(0, cut("typedef struct { int x; } S; typedef float4 V;\n"
			 "__kernel void k() { __local int a[16][0x10], b; local float3 c; __local V d[2];\n"
			 "int e[4 * (3 + 1)], f; double g[2]; __local int *p[3]; }\n"
			 "__kernel void l() { __local S a[4]; S b[2]; __local int c[N]; }"));
	EXPECT_EQ(1024 + 4 + 16 + 32, kernel("k")->local_bytes);
	EXPECT_EQ(64 + 16 + 24, kernel("k")->private_bytes);
	EXPECT_FALSE(kernel("k")->flags & (GSX_CL_LOCAL_UNKNOWN | GSX_CL_PRIVATE_UNKNOWN));
	EXPECT_TRUE(kernel("l")->flags & GSX_CL_LOCAL_UNKNOWN);
	EXPECT_TRUE(kernel("l")->flags & GSX_CL_PRIVATE_UNKNOWN);
}

TEST(uses)
{
	ASSERT_EQ(0, cut("void h(__global int *o) { printf(\"%d\\n\", atomic_inc(o)); barrier(1); }\n"
			 "__kernel void k(__global int *o) { h(o); }\n"
			 "__kernel void l(__local int *o) { atomic_inc(o); }"));
	EXPECT_EQ(GSX_CL_PRINTF | GSX_ATOMICS | GSX_BARRIERS | GSX_CALLS | GSX_CL_NATIVE,
		  kernel("k")->flags);
	EXPECT_EQ(GSX_CL_NATIVE, kernel("l")->flags);
	EXPECT_EQ(2, kernel("k")->line);
}

/* Of how many dimensions it looks at the global id, and at no more. */
static uint32_t dims(const char *before, const char *expression)
{
	char text[500];

	snprintf(text, sizeof(text), "%s __kernel void k(__global int *a) { a[0] = %s; }", before,
		 expression);
	EXPECT_EQ(0, cut(text));
	return kernel("k")->dims;
}

TEST(dimensions)
{
	EXPECT_EQ(0, dims("", "1"));
	EXPECT_EQ(0, dims("", "get_local_id(2) + get_group_id(1) + get_global_size(2)"));
	EXPECT_EQ(1, dims("", "get_global_id(0) + get_group_id(2)"));
	EXPECT_EQ(2, dims("", "get_global_id ( 1 ) - get_global_id(0)"));
	EXPECT_EQ(3, dims("", "get_global_id(2)"));
	EXPECT_EQ(3, dims("", "get_global_id(7)"));
	EXPECT_EQ(3, dims("", "get_global_id(0 + 1)"));
	EXPECT_EQ(3, dims("", "get_global_id((0))"));
	EXPECT_EQ(3, dims("", "get_global_id(01)"));
	EXPECT_EQ(3, dims("", "get_global_id(a[0])"));
	EXPECT_EQ(3, dims("", "get_work_dim()"));
	EXPECT_EQ(3, dims("", "get_global_linear_id()"));
	EXPECT_EQ(2, dims("int f(void) { return get_global_id(1); }", "f() + get_global_id(0)"));
	EXPECT_EQ(3, dims("int f(int d) { return get_global_id(d); } int g(void) { return f(0); }",
			  "g()"));
	EXPECT_EQ(1, dims("int f(void) { return get_work_dim(); }", "get_global_id(0)"));
	EXPECT_EQ(3, dims("int f(int d) __attribute__((overloadable));\n"
			  "int f(float d) __attribute__((overloadable)) { return f(0) + 1; }\n"
			  "int f(int d) __attribute__((overloadable)) { return d ? f(.5f) :"
			  " get_work_dim(); }", "f(1.f)"));
}

TEST(reasons_have_names)
{
	uint32_t i, j;

	for (i = 0; i < GSX_REASONS; i++)
		for (j = 0; j <= i; j++)
			EXPECT_EQ(i == j, !strcmp(gsx_reason_name(i), gsx_reason_name(j)));
	EXPECT_STREQ("?", gsx_reason_name(GSX_REASONS));
}

/* What NVIDIA's build log says of a kernel, and what others don't. */
TEST(build_logs)
{
	static const char log_text[] =
		"\nptxas info    : 0 bytes gmem\n"
		"ptxas info    : Compiling entry function 'scale2' for 'sm_86'\n"
		"ptxas info    : Function properties for scale2\n"
		"ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
		"ptxas info    : Used 255 registers, 376 bytes cmem[0]\n"
		"ptxas info    : Compiling entry function 'scale' for 'sm_86'\n"
		"ptxas info    : Function properties for scale\n"
		"    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
		"ptxas info    : Used 12 registers, 376 bytes cmem[0]\n"
		"ptxas info    : Compiling entry function 'cut' for 'sm_86'\n"
		"ptxas info    : Used 1";
	struct gsx_cl_told told;

	ASSERT_EQ(0, gsx_cl_build_log(log_text, "scale", &told));
	EXPECT_EQ(12, told.registers);
	EXPECT_EQ(16, told.stack_bytes);
	EXPECT_EQ(12, told.spill_bytes);
	ASSERT_EQ(0, gsx_cl_build_log(log_text, "scale2", &told));
	EXPECT_EQ(255, told.registers);
	EXPECT_EQ(0, told.spill_bytes);
	EXPECT_EQ(-ENOENT, gsx_cl_build_log(log_text, "scal", &told));
	EXPECT_EQ(-ENOENT, gsx_cl_build_log(log_text, "cut", &told));
	EXPECT_EQ(-ENOENT, gsx_cl_build_log("1 warning generated.\n", "scale", &told));
	EXPECT_EQ(-ENOENT, gsx_cl_build_log("", "", &told));
	EXPECT_EQ(0, told.registers);
}

TEST_MAIN()
