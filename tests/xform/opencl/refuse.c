// SPDX-License-Identifier: MIT
/* Each reason to refuse, for which modes and at which line; and what isn't one. */
#include <errno.h>

#include "cut.h"

#define K(body)		"__kernel void k(__global int *o, int n, volatile __global int *f) {\n" \
			"__local int t[64], flag;\n" body "\n}\n"

static const char *why(const char *text)
{
	if (cut(text)) {
		printf("# %s\n", cut_result.error);
		return "?";
	}
	return refusals("k");
}

/* A text and its refusals. */
struct expect {
	const char *text, *refusals;
};

static void check(const struct expect *e, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		const char *got = why(e[i].text);

		if (strcmp(e[i].refusals, got))
			test_fail("\"%s\", not \"%s\", for:\n%s", got, e[i].refusals, e[i].text);
	}
}

#define CHECK(e)	check(e, sizeof(e) / sizeof(*(e)))

TEST(waits)
{
	static const char whole[] = "slice wait-loop@3 workers wait-loop@3";
	const struct expect e[] = {
		{ K("while (*f == 0) ;"), whole },
		{ K("while (!f[n]) n++;"), whole },
		{ K("do ; while (f[0] != get_group_id(0));"), whole },
		{ K("for (; !f[0]; ) ;"), whole },
		{ K("for (;;) { if (f[0]) break; }"), whole },
		{ K("while (1) { int x = *f; if (x > n) return; }"), whole },
		{ K("int done = 0; while (!done) { if (*f) done = 1; }"), whole },
		{ K("for (int i = 0; i < n && *f == 0; i++) ;"), whole },
		{ K("while (atomic_add(f, 0) < n) ;"), whole },
		{ K("while (atomic_or(&f[1], 0) == 0) ;"), whole },
		{ K("while (atomic_xchg(f, 1)) ;"), whole },
		{ K("while (atomic_cmpxchg(f, 0, 1) != 0) ;"), whole },
		{ K("while (atomic_load((volatile __global atomic_int *)f) == 0) ;"), whole },
		{ K("while (((volatile __global int *)o)[3] == 0) ;"), whole },
		{ K("while (o[3] == 0) mem_fence(CLK_GLOBAL_MEM_FENCE);"), whole },
		{ K("volatile __global int *g = f + 1; __global int *h = (__global int *)g; while (!*g) ;"),
		  whole },
		{ K("again: if (*f == 0) goto again;"), "slice wait-loop@3 workers wait-loop@3" },
		{ K("again: if (*f) return; goto again;"), whole },
		{ K("int e = 5, x; do { x = atomic_cmpxchg(f, e, 6); } while (x != e);"), whole },
		{ K("for (;;) { int i; for (i = 0; i < 9; i++) if (*f) break; if (i < 9) break; }"), whole },
		{ "int read(volatile __global int *p) { return *p; }\n"
		  "__kernel void k(volatile __global int *f) {\n while (!read(f)) ; }", whole },
		{ "void spin(volatile __global int *p) {\n\nwhile (*p == 0) ; }\n"
		  "__kernel void k(volatile __global int *f) { spin(f); }", whole },
		{ "struct q { volatile int lock; };\n__kernel void k(__global struct q *q) {\n"
		  "while (q->lock) ; }", whole },
		{ "typedef volatile __global int *vp;\n\n__kernel void k(vp f) { while (*f) ; }", whole },
		{ "\n\n__kernel void k(__global atomic_int *f) { while (*f) ; }", whole },
	};

	CHECK(e);
	EXPECT_TRUE(kernel("k")->flags & GSX_WAITS);
	EXPECT_EQ(0, kernel("k")->modes);
}

/* A compare and swap ends a loop without a wait only if it is tried with what is new. */
TEST(swaps_that_wait)
{
	static const char whole[] = "slice wait-loop@3 workers wait-loop@3";
	static const char *const bodies[] = {
		/* nothing is swapped: only a look */
		"int e; do { e = *f; } while (atomic_cmpxchg(f, e, e) == e);",
		"int e = *f; while (atomic_cmpxchg(f, e, e) == e) ;",
		"int e; for (;;) { e = *f; if (atomic_cmpxchg(&f[n], e + 1, e + 1) != e) break; }",
		/* what was read once is expected again and again: a lock */
		"int e = *f; while (atomic_cmpxchg(f, e, e + 1) != e) ;",
		"int e = *f; while (!(atomic_cmpxchg(f, e, 1) == e)) n++;",
		"for (;;) { int e = *f; while (atomic_cmpxchg(f, e, e + 1) != e) ; break; }",
		"int e = *f; again: if (atomic_cmpxchg(f, e, e + 1) != e) goto again;",
		"int e = *f, won = 0; while (!won) { won = atomic_cmpxchg(f, e, e + 1) == e; }",
		/* it goes round as long as it succeeds, till another group fails it */
		"int e; do { e = *f; } while (atomic_cmpxchg(f, e, e | 1) == e);",
		"int e; for (;;) { e = *f; if (atomic_cmpxchg(f, e, e | 1) != e) break; }",
		"int e; for (;;) { e = *f; if (atomic_cmpxchg(f, e, e | 1) == e) o[0]++; else return; }",
		"int e; do { e = *f; } while (!(atomic_cmpxchg(f, e, e | 1) != e));",
		"int e; do { e = *f; } while ((atomic_cmpxchg(f, e, e | 1) == e) == (n == 1));",
		"int e = 0; while (atomic_compare_exchange_strong((volatile __global atomic_int *)f,"
		" &e, e | 1)) ;",
	};
	const struct expect none[] = {
		{ K("int e; do { e = *f; } while (atomic_cmpxchg(f, e, e | 1) != e);"), "" },
		{ K("while (1) { int e = *f; if (atomic_cmpxchg(f, e, e + n) == e) break; }"), "" },
		{ K("for (;;) { int e = *f; if (atomic_cmpxchg(f, e, e + n) != e) continue;"
		    "o[0] = 1; return; }"), "" },
		{ K("int e; do { e = *f; } while (!(atomic_cmpxchg(f, e, e + n) == e));"), "" },
		{ K("int e; do { e = *f; } while ((atomic_cmpxchg(f, e, e + n) == e) == false);"), "" },
		{ K("int won = 0; while (!won) { int e = *f; won = atomic_cmpxchg(f, e, e + 1) == e; }"),
		  "" },
		{ K("int old[1]; do { old[0] = *f; } while (atomic_cmpxchg(f, old[0], n) != old[0]);"),
		  "" },
		{ K("int e; do e = 1; while (atomic_cmpxchg(f, *f, *f + 1) != e);"), "" },
		{ K("for (int i = 0; i < n; i++) { int e = f[i]; if (i > 3) e = f[i + 1];"
		    "if (atomic_cmpxchg(f + i, e, 7) == e) o[i] = 1; }"), "" },
		{ "int try(volatile __global int *f) { int e = *f; return atomic_cmpxchg(f, e, e + 1) == e; }"
		  "__kernel void k(volatile __global int *f) { while (!try(f)) ; }", "" },
	};
	char text[512];
	uint32_t i;

	for (i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		snprintf(text, sizeof(text), K("%s"), bodies[i]);
		if (strcmp(whole, why(text)))
			test_fail("\"%s\", not a wait, for:\n%s", why(text), text);
	}
	CHECK(none);
	EXPECT_STREQ("slice wait-loop@3 workers wait-loop@3",
		     why("int try(volatile __global int *f) { int e = *f;"
			 "return atomic_cmpxchg(f, e, e | 1) == e; }\n"
			 "__kernel void k(volatile __global int *f) {\nwhile (try(f)) ; }"));
}

/* Waits that a function, an attribute or an expression hides. */
TEST(hidden_waits)
{
	static const char whole[] = "slice wait-loop@3 workers wait-loop@3";
	const struct expect e[] = {
		{ K("__attribute__((opencl_unroll_hint(1))) while (*f == 0) ;"), whole },
		{ "void fence(void) { mem_fence(CLK_GLOBAL_MEM_FENCE); }\n"
		  "__kernel void k(__global int *f) {\nwhile (*f == 0) fence(); }", whole },
		{ "int peek(__global int *f) { mem_fence(CLK_GLOBAL_MEM_FENCE); return *f; }\n"
		  "__kernel void k(__global int *f) {\nwhile (!peek(f)) ; }", whole },
		{ "int peek(__global int *f) { return *f; }\n"
		  "__kernel void k(__global int *f) {\nwhile (!peek(f)) read_mem_fence(1); }", whole },
		{ "int __attribute__((overloadable)) atomic_add(float x) { return x; }\n"
		  "__kernel void k(__global int *f) {\nwhile (!atomic_add(f, 0)) ; }", whole },
	};

	CHECK(e);
}

/* Work-item functions that are reached in ways that aren't a plain call of their name. */
TEST(hidden_calls)
{
	static const char all[] = "__kernel void k(__global int *o) { o[get_local_id(0)] = ";
	static const char *const refused[][3] = {
		{ "int help(int x) { return x + get_group_id(0); }\n", "(help)(1); }",
		  "special-use" },
		{ "int __attribute__((overloadable)) get_num_groups(float x) { return 7; }\n",
		  "get_num_groups(0); }", "special-use" },
		{ "", "({ int i = 3; i; }); }", "unknown-flow" },
		{ "", "0; int other(int); o[1] = other(2); }", "extern-call" },
		{ "", "__nvvm_read_ptx_sreg_ctaid_x(); }", "special-use" },
		{ "", "__spirv_BuiltInWorkgroupId(0); }", "special-use" },
		{ "", "__builtin_IB_get_group_id(0); }", "special-use" },
		{ "", "__builtin_amdgcn_workgroup_id_x(); }", "special-use" },
		{ "", "_cl_get_group_id(0); }", "special-use" },
		{ "", "__vendors_own(0); }", "special-use" },
		{ "", "get_slice_of_work(0); }", "special-use" },
		{ "size_t _Z12get_group_idj(uint d);\n", "_Z12get_group_idj(0); }", "special-use" },
		{ "extern size_t _group_id_x;\n", "_group_id_x; }", "special-use" },
		{ "extern size_t row;\n", "row; }", "extern-call" },
		{ "extern __constant int tab[4];\n", "tab[0]; }", "extern-call" },
		{ "", "0; extern size_t row; o[1] = row; }", "extern-call" },
		{ "", "0; extern size_t row __asm__(\"_group_id_x\"); o[1] = row; }", "special-use" },
	};
	char text[512];
	uint32_t i;

	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		snprintf(text, sizeof(text), "%s%s%s", refused[i][0], all, refused[i][1]);
		if (!strstr(why(text), refused[i][2]))
			test_fail("\"%s\" lacks %s, for:\n%s", why(text), refused[i][2], text);
		EXPECT_EQ(0, kernel("k")->modes);
	}
	/* a variable of this name in another scope hides no call */
	EXPECT_STREQ("", why("__kernel void k(__global int *o) {\n"
			     "{ int get_group_id = 2; o[1] = get_group_id; }\n"
			     "o[0] = get_group_id(0); }"));
	EXPECT_FALSE(kernel("k")->flags & GSX_CL_NATIVE);
	EXPECT_EQ(-EINVAL, cut("int f(int), g(int);\n__kernel void k(__global int *o) { *o = g(1); }"));
	EXPECT_EQ(-EINVAL, cut("int a = 1, g(int);\n__kernel void k(__global int *o) { *o = g(1); }"));
	EXPECT_EQ(-EINVAL, cut("int g(int), a = 1;\n__kernel void k(__global int *o) { *o = g(1); }"));
	/* what would stand in the place of the device's own */
	EXPECT_EQ(-EINVAL, cut("size_t _Z12get_group_idj(uint d) { return 0; }"));
	EXPECT_EQ(-EINVAL, cut("size_t _group_id_x;"));
	EXPECT_EQ(-EINVAL, cut("extern size_t row __asm__(\"_group_id_x\");"));
	EXPECT_EQ(-EINVAL, cut("size_t own(uint d) __attribute__((alias(\"_Z12get_group_idj\")));"));
	EXPECT_EQ(-EINVAL, cut("__kernel void _pocl_k(__global int *o) { *o = 1; }"));
	EXPECT_EQ(-EINVAL, cut("__kernel void get_group_id(__global int *o) { *o = 1; }"));
	EXPECT_EQ(-EINVAL, cut("int __ockl_get_group_id(int d) { return d; }"));
	EXPECT_EQ(0, cut("__kernel void get_group_ids(__global int *o) { *o = 1; }"));
	/* a variable of the program's own, said twice; and a local one of such a name */
	EXPECT_STREQ("", why("extern __constant int tab[2]; __constant int tab[2] = { 1, 2 };\n"
			     "__kernel void k(__global int *o) { int _group_id_x = tab[0];"
			     "o[0] = _group_id_x + __builtin_popcount(o[1]); }"));
}

/* What is moved before the loop must not hide what the body named before. */
TEST(hidden_names)
{
	const struct expect e[] = {
		{ "__constant int tab[2] = { 5, 6 };\n__kernel void k(__global int *o) {\n"
		  "int x = tab[1];\n__local int tab[2]; tab[0] = x; o[0] = tab[0]; }",
		  "workers local-form@4" },
		{ "typedef int T;\n__kernel void k(__global int *o) {\n"
		  "T x = 1.5f;\ntypedef float T; T y = 1.5f; o[0] = x + y; }",
		  "workers local-form@4" },
		{ "__kernel void a(__global int *o) { __local int tab[2]; tab[0] = 1; *o = tab[0]; }\n"
		  "__kernel void k(__global int *o) { __local int tab[2]; tab[0] = 1; *o = tab[0]; }",
		  "" },
		{ "int sync(void) { barrier(CLK_LOCAL_MEM_FENCE); return 1; }\n"
		  "__kernel void k(__global int *o) {\n"
		  "o[0] = get_local_id(0) < 4 && sync(); }", "workers barrier-form@3" },
		{ "int sync(void) { barrier(CLK_LOCAL_MEM_FENCE); return 1; }\n"
		  "__kernel void k(__global int *o, int n) {\no[0] = n < 4 && sync(); }", "" },
	};

	CHECK(e);
}

/* Loops that make their own way, and waits within the group. */
TEST(no_waits)
{
	const struct expect e[] = {
		{ K("for (int i = 0; i < n; i++) o[i] += f[i];"), "" },
		{ K("for (int i = 0; i < n; i++) { if (f[i]) break; o[i] = 1; }"), "" },
		{ K("while (atomic_inc(f) < n) o[0]++;"), "" },
		{ K("while (atomic_add(f, 4u) < n) o[0]++;"), "" },
		{ K("int i; for (i = 0; i < n; i++) { if (f[i]) break; } o[0] = i;"), "" },
		{ K("int x = f[0]; while (n < x) n++;"), "slice wait-loop@3 workers wait-loop@3" },
		{ K("volatile int x = 0; while (x < n) x++;"), "" },
		{ K("volatile __local int *v = t; while (v[0] < n) v[0]++;"), "" },
		{ K("while (atomic_xchg(&flag, 1)) ;"), "" },
		{ K("union { int i; float f; } a, b; do { a.i = *f; b.f = a.f + 1; }"
		    "while (atomic_cmpxchg(f, a.i, b.i) != a.i);"), "" },
		{ K("int a = *f, b; do { b = a; a = atomic_cmpxchg(f, b, b + n); } while (a != b);"), "" },
		{ K("int a, b = f[0]; for (;;) { a = b; b = atomic_cmpxchg(f, a, a * 2);"
		    "if (a == b) break; }"), "" },
		{ "__kernel void k(volatile __global atomic_int *f) { int e = atomic_load(f);"
		  "while (!atomic_compare_exchange_weak(f, &e, e + 1)) ; }", "" },
	};

	CHECK(e);
}

TEST(early_returns)
{
	const struct expect e[] = {
		{ K("if (get_local_id(0) > 3) return;\nbarrier(1);"), "workers early-return@3" },
		{ K("for (;;) { barrier(1);\nif (n++ > 3) return; }"), "workers early-return@4" },
		{ K("if (n) goto out;\nbarrier(1); out: o[0] = 1;"), "workers early-return@3" },
		{ K("again: barrier(1); if (n) return;\ngoto again;"), "workers early-return@4" },
		{ "void b(__local int *t) { if (t[0]) return;\nbarrier(1); }\n"
		  "__kernel void k(__local int *t) { b(t); }",
		  "workers early-return@1" },
		{ "void b(void) { barrier(1); }\n"
		  "__kernel void k(int n) {\nif (n) return; b(); }", "workers early-return@3" },
		{ "__kernel void k(__local int *t, __global int *o, event_t e) {\n\nif (o[9]) return;"
		  "e = async_work_group_copy(t, o, 4, e); wait_group_events(1, &e); }",
		  "workers early-return@3" },
		{ "\n\n__kernel void k(int n) { if (n) return; work_group_barrier(1); }",
		  "workers early-return@3" },
		{ K("barrier(1); if (get_local_id(0) > 3) return; o[0] = 1;"), "" },
		{ K("barrier(1); for (int i = 0; i < n; i++) if (t[i]) return;"), "" },
		{ K("if (n) return; o[0] = 1;"), "" },
		{ "int b(int n) { barrier(1); if (n) return 3; return 4; }\n"
		  "__kernel void k(__global int *o, int n) { o[0] = b(n); barrier(1); }", "" },
	};

	CHECK(e);
}

TEST(barriers_that_may_not_be_met_by_all)
{
	static const char no[] = "workers barrier-form@3";
	const struct expect e[] = {
		{ K("if (get_local_id(0) < 4) barrier(1);"), no },
		{ K("for (int i = get_global_id(0); i < n; i += 64) barrier(1);"), no },
		{ K("int x = o[get_global_id(0)]; while (x-- > 0) barrier(1);"), no },
		{ K("for (;;) { if (o[get_local_id(0)]) break; barrier(1); }"), no },
		{ K("int x = 0; if (get_local_id(0)) x = 1; if (x) barrier(1);"), no },
		{ K("switch (t[get_local_id(0)]) { case 1: barrier(1); }"), no },
		{ K("int x = atomic_inc(f); for (int i = 0; i < x; i++) barrier(1);"), no },
		{ K("int x; int *p = &x; *p = get_local_id(0); if (x) barrier(1);"), no },
		{ K("int x[2]; x[0] = get_local_id(0); if (x[1]) barrier(1);"), no },
		{ K("int i = 0; while (o[get_local_id(0) + i]) i++; if (i > 4) barrier(1);"), no },
		{ "void b(int n) { for (int i = 0; i < n; i++) barrier(1); }\n"
		  "__kernel void k(int n) {\nb(get_local_id(0)); }", no },
		{ K("if (n) barrier(1);"), "" },
		{ K("for (int i = 0; i < n; i++) barrier(1);"), "" },
		{ K("for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {"
		    "if (get_local_id(0) < s) t[0] += s; barrier(1); }"), "" },
		{ K("do { if (get_local_id(0) == 0) flag = atomic_inc(f); barrier(1); }"
		    "while (flag < n);"), "" },
		{ K("for (int i = get_group_id(0); i < n; i += get_num_groups(0)) barrier(1);"), "" },
		{ "void b(int n) { for (int i = 0; i < n; i++) barrier(1); }\n"
		  "__kernel void k(int n) { b(n * 2); }", "" },
	};

	CHECK(e);
}

TEST(sub_groups)
{
	const struct expect e[] = {
		{ K("o[0] = get_sub_group_local_id();"), "workers sub-groups@3" },
		{ K("o[n] = sub_group_reduce_add(n);"), "workers sub-groups@3" },
		{ K("sub_group_barrier(1);"), "workers sub-groups@3" },
		{ K("o[get_group_id(0)] = sub_group_broadcast(n, 0);"), "workers sub-groups@3" },
		{ K("o[n] = work_group_reduce_add(n);"), "" },
	};

	CHECK(e);
	EXPECT_TRUE(kernel("k")->flags & GSX_CL_COLLECTIVES);
}

/* The remainder of a launch that isn't uniform would be told of its own sub-groups. */
TEST(sub_groups_of_all_groups)
{
	static const struct {
		const char *body;
		bool uniform;
	} c[] = {
		{ K("o[0] = get_enqueued_num_sub_groups();"), true },
		{ K("o[get_group_id(0)] = get_max_sub_group_size();"), true },
		{ K("o[0] = get_num_sub_groups() + get_sub_group_size();"), false },
	};
	uint32_t i;

	for (i = 0; i < sizeof(c) / sizeof(*c); i++) {
		EXPECT_STREQ("workers sub-groups@3", why(c[i].body));
		EXPECT_EQ(c[i].uniform, !!(kernel("k")->flags & GSX_CL_UNIFORM));
	}
}

TEST(program_scope)
{
	const struct expect e[] = {
		{ "__global int g;\n__kernel void k(__global int *o) {\no[0] = g; }",
		  "workers program-scope@3" },
		{ "__global int g = 1;\n__kernel void k(__global int *o) {\no[get_group_id(0)] = g; }",
		  "slice program-scope@3 workers program-scope@3" },
		{ "int g[4];\nvoid f(void) {\n g[0] = 1; }\n__kernel void k(void) { f(); }",
		  "workers program-scope@3" },
		{ "\n\n__kernel void k(__global int *o) { static int g; o[0] = g++; }",
		  "workers program-scope@3" },
		{ "__global int g;\n__kernel void k(__global int *o) { o[0] = 1; }", "" },
		{ "__constant int g[2] = { 1, 2 };\n__kernel void k(__global int *o) { o[0] = g[1]; }", "" },
		{ "const __global int g[2] = { 1, 2 };\n__kernel void k(__global int *o) { o[0] = g[1]; }",
		  "" },
		/* the pointer of the list may change, the constant may not */
		{ "__constant int a = 1, *p = &a;\n__kernel void k(__global int *o) {\n"
		  "o[0] = *p; }", "workers program-scope@3" },
		{ "const int a = 1, b[2] = { 2, 3 };\n__kernel void k(__global int *o) { o[0] = a + b[1]; }",
		  "" },
	};

	CHECK(e);
}

TEST(calls)
{
	const struct expect e[] = {
		{ "__kernel void k(__global int *o) { o[get_group_id(0)] = 1; }\n"
		  "__kernel void l(__global int *o) { k(o); }\n",
		  "slice kernel-call@1 workers kernel-call@1" },
		{ "__kernel void l(__global int *o) { o[get_group_id(0)] = 1; }\n"
		  "__kernel void k(__global int *o) {\nl(o); }\n",
		  "slice kernel-call@3 workers kernel-call@3" },
		{ "__kernel void l(__global int *o) { o[0] = 1; }\n"
		  "__kernel void k(__global int *o) { l(o); o[get_group_id(0)] = 2; }\n", "" },
		{ "int out(int x);\n__kernel void k(__global int *o) {\no[0] = out(1); }",
		  "slice extern-call@3 workers extern-call@3" },
		{ "\n\nint r(int x) { return x ? r(x - 1) : 0; }\n__kernel void k(__global int *o) {"
		  "o[0] = r(3); }", "slice unknown-flow@3 workers unknown-flow@3" },
		{ K("void (^b)(void) = ^{ o[0] = 1; };"), "slice device-launch@3 workers device-launch@3" },
		{ K("enqueue_kernel(get_default_queue(), 0, ndrange_1D(1), ^{ o[0] = 1; });"),
		  "slice device-launch@3 workers device-launch@3" },
		{ "\n\n__kernel void k(queue_t q) { }", "slice device-launch@3 workers device-launch@3" },
		{ "\n\n__kernel void k(read_only pipe int p, __global int *o) { read_pipe(p, o); }",
		  "workers pipe@3 workers pipe@3" },
		{ "int __attribute__((overloadable)) max(int a, int b, int c) { return get_group_id(a); }\n"
		  "__kernel void k(__global int *o, int n) {\no[0] = max(n, 1, 2); }",
		  "slice special-use@3 workers special-use@3" },
		{ "int get_row(int a) { return get_group_id(a); }\n"
		  "__kernel void k(__global int *o, int n) { o[0] = get_row(n); }", "" },
		{ "__kernel void get_k(__global int *o) { o[0] = get_group_id(0); }\n"
		  "__kernel void k(__global int *o) { o[0] = get_group_id(0); }", "" },
		{ K("asm volatile(\"mov %0, %%ctaid.x;\" : \"=r\"(n));"),
		  "slice special-use@3 workers special-use@3" },
		{ K("o[0] = (get_group_id)(0);"), "slice special-use@3 workers special-use@3" },
	};

	CHECK(e);
}

TEST(jumps_into_loops)
{
	const struct expect e[] = {
		{ K("switch (n) { case 0: do { o[0]++;\ncase 1: o[1]++; } while (n--); }"),
		  "workers unknown-flow@4" },
		{ K("goto in; while (n--) { in: o[0]++; }"), "workers unknown-flow@3" },
		{ K("for (;;) { while (n--) { in: o[0]++; }\nif (n) goto in; break; }"),
		  "workers unknown-flow@4" },
		{ K("while (n--) { if (n == 3) goto next; o[0]++; next: ; }"), "" },
		{ K("again: if (n--) goto again; for (;;) { if (n) goto out; } out: ;"), "" },
		{ K("while (n--) switch (n) { case 0: break; default: o[0] = 1; }"), "" },
	};

	CHECK(e);
}

TEST(forms)
{
	const struct expect e[] = {
		{ "\n\n__kernel void k(__global int o[]) { o[0] = 1; o++; }", "workers param-form@3" },
		{ "__kernel void k(__global int o[]) { o[0] = 1; }", "" },
		{ "\n\n__kernel void k(__global int *o) { { __local int t[4]; o[0] = t[0]; } }",
		  "workers local-form@3" },
		{ "typedef __local int L;\n__kernel void k(__global int *o) {\nL t[4]; o[0] = t[0]; }",
		  "workers local-form@3" },
		{ K("struct i { int a; } s;\ntypedef struct i t_i; t_i u; o[0] = s.a;"),
		  "workers local-form@4" },
		{ "enum { N = 8 };\n__kernel void k(__global int *o) { enum { N = 4 } e;\n"
		  "__local int t[N]; o[0] = t[0]; }", "workers local-form@3" },
		{ K("struct i { int a; }; typedef struct i t_i; t_i u; o[0] = u.a;"), "" },
		/* a name that means something else in front of the loop */
		{ "__constant float x = 1;\n__kernel void k(__global int *o) { int x = 3;\n"
		  "typedef __typeof__(x) T; T y = 1.5f; o[0] = y + x; }", "workers local-form@3" },
		{ "__constant float x = 1;\n__kernel void k(__global int *o) { int x = 3;\n"
		  "__local __typeof(x + 1) t[4]; o[0] = t[0] + x; }", "workers local-form@3" },
		{ "enum { N = 8 };\n__kernel void k(__global int *o) { enum { N = 4 } e;\n"
		  "typedef int T[N]; o[0] = sizeof(T); }", "workers local-form@3" },
		{ "enum { N = 8 };\n__kernel void k(__global int *o) { enum { N = 4 } e;\n"
		  "enum { M = N + 1 }; o[0] = M; }", "workers local-form@3" },
		{ K("__local int t2[2]; typedef __typeof__(t2[0]) T; T y = 1; o[0] = y + t2[0];"), "" },
		{ "enum { N = 8 };\n__kernel void k(__global int *o) { int N = 4;\n__local int t[N];"
		  "o[0] = t[0]; }", "workers local-form@3" },
	};

	CHECK(e);
}

TEST(what_is_not_read_is_refused_whole)
{
	EXPECT_EQ(-EINVAL, cut("__kernel void k() { int a = (1; }"));
	EXPECT_STREQ("opencl:1: a bracket without its partner", cut_result.error);
	EXPECT_EQ(-EINVAL, cut("__kernel void k() {"));
	EXPECT_EQ(-EINVAL, cut("\n/* never ends"));
	EXPECT_EQ(2, cut_result.error_line);
	EXPECT_EQ(-EINVAL, cut("int f(a) int a; { return a; }"));
	EXPECT_EQ(-EINVAL, cut("VENDOR(3) int f(int a) { return get_group_id(a); }"));
	EXPECT_EQ(-EINVAL, cut("int f(int a) VENDOR(3) { return get_group_id(a); }"));
	EXPECT_EQ(0, cut("int f(int a) __attribute__((pure))\n#pragma x\n{ return a; }"));
	EXPECT_EQ(-EINVAL, cut("int (f)(int a) { return get_group_id(a); }"));
	EXPECT_EQ(-EINVAL, cut("__kernel void k() { @ }"));
	EXPECT_EQ(-EEXIST, cut("int gsx_x;"));
	EXPECT_EQ(-EEXIST, cut("__kernel void k__gsx_slice(__global int *o) { *o = 1; }"));
	EXPECT_EQ(0, cut("int xgsx;"));
	EXPECT_EQ(0, cut(""));
	EXPECT_EQ(0, cut_result.n_kernels);
}

TEST_MAIN()
