// SPDX-License-Identifier: MIT
/* The preprocessor, rule by rule. Texts are compared token by token. */
#include "oracle.h"

struct file {
	const char *path, *text;
	enum gsx_cl_where where;
};

static const struct file *files;
static char asked[1024];

static int include(void *arg, enum gsx_cl_where where, const char *path, const char **text,
		   size_t *len)
{
	size_t at = strlen(asked);

	(void)arg;
	snprintf(asked + at, sizeof(asked) - at, "%c:%s ", "pbf"[where], path);
	if (!strcmp(path, "broken"))
		return -EIO;
	for (const struct file *f = files; f && f->path; f++)
		if (f->where == where && !strcmp(f->path, path)) {
			*text = f->text;
			*len = strlen(f->text);
			return 0;
		}
	return -ENOENT;
}

static struct gsx_cl_source res;
static struct gsx_cl_cpp_options opt = { .include = include };

static int run(const char *text)
{
	gsx_cl_source_free(&res);
	asked[0] = 0;
	return gsx_cl_preprocess(text, strlen(text), &opt, &res);
}

#define IS(want, from) do {							\
	int err_ = run(from);							\
	const char *where_ = err_ ? res.error :					\
		differ(res.text, res.len, want, strlen(want));			\
	if (err_ || where_)							\
		test_fail("%s\n#  %d %s", from, err_, where_ ? where_ : "asks");	\
} while (0)

#define REFUSED(err, what, from) do {						\
	EXPECT_EQ(err, run(from));						\
	if (!res.error || !strstr(res.error, what))				\
		test_fail("%.1000s\n#  says: %s", from, res.error ? res.error : "nothing"); \
} while (0)

TEST(objects)
{
	IS("1 + 1", "#define A 1\nA + A");
	IS("x", "#define A\nA x A");
	IS("A", "#define A 1\n#undef A\n#undef B\nA");
	IS("2", "#define A B\n#define B 2\nA");
	IS("A B", "#define A B\n#define B A\nA B");
	IS("A B", "#define A A\n#define B B\nA B");
	IS("7", "#define A 7\n#define A 7\nA");
	IS("8", "#define A 7\n#define A 8\nA");
	IS("(x)", "#define A (x)\nA");
	IS("a ## b", "#define H # ## #\na H b");
	IS("ab", "#define A a ## b\nA");
	IS("xx", "#define x \\\n xx /* y\n */ // z\nx");
}

TEST(functions)
{
	IS("[1]", "#define f(x) [x]\nf(1)");
	IS("f", "#define f(x) [x]\nf");
	IS("[1]", "#define f(x) [x]\nf\n(\n1\n)");
	IS("[] [,]", "#define f(x) [x]\n#define g(x,y) [x,y]\nf() g(,)");
	IS("[(1,2)]", "#define f(x) [x]\nf((1,2))");
	IS("0", "#define f() 0\nf ( )");
	IS("1 + 2", "#define f(x, y) x + y\nf(1, 2)");
	IS("3 (2)", "#define f 3\nf (2)");
	IS("[[1]]", "#define f(x) [x]\nf(f(1))");
	IS("2 * 9 * g", "#define f(a) a * g\n#define g(a) f(a)\nf(2)(9)");
	IS("f(1)", "#define f(x) f(x)\nf(1)");
	IS("1 2", "#define both(x, y) x y\n#define P 1, 2\n#define q(x) both(x)\nq(P)");
	IS("z", "#define f(x) x\n#define E\nf(E z)");
}

TEST(variable_arguments)
{
	IS("g(1, 2)", "#define f(...) g(__VA_ARGS__)\nf(1, 2)");
	IS("g()", "#define f(...) g(__VA_ARGS__)\nf()");
	IS("p(\"a\") p(\"a\", 1, 2)", "#define f(s, ...) p(s, ## __VA_ARGS__)\nf(\"a\") f(\"a\", 1, 2)");
	IS("p(\"a\",)", "#define f(s, ...) p(s, ## __VA_ARGS__)\nf(\"a\",)");
	IS("p(0,)", "#define f(...) p(0, ## __VA_ARGS__)\nf()");
	IS("g(1, 2)", "#define f(r...) g(r)\nf(1, 2)");
	IS("\"a, b\"", "#define f(...) #__VA_ARGS__\nf( a,  b )");
	REFUSED(-EINVAL, "too few", "#define f(a, b, ...) a\nf(1)");
}

TEST(strings_and_pastes)
{
	IS("\"a + b\"", "#define s(x) #x\ns( a  +/**/b )");
	IS("\"\\\"a\\\\n\\\" '\\\\0'\"", "#define s(x) #x\ns(\"a\\n\" '\\0')");
	IS("\"\"", "#define s(x) #x\ns()");
	IS("\"A\" \"1\"", "#define A 1\n#define s(x) #x\n#define t(x) s(x)\ns(A) t(A)");
	IS("x1 12 <<= ->", "#define p(a, b) a ## b\np(x, 1) p(1, 2) p(<<, =) p(-, >)");
	IS("x y", "#define p(a, b) a ## b\np(x,) p(,y) p(,)");
	IS("abc", "#define p(a, b, c) a ## b ## c\np(a, b, c)");
	IS("A1", "#define A 5\n#define p(a, b) a ## b\np(A, 1)");
	IS("6", "#define A1 6\n#define p(a, b) a ## b\np(A, 1)");
	REFUSED(-EINVAL, "no token", "#define p(a, b) a ## b\np(+, 1)");
	REFUSED(-EINVAL, "no token", "#define p(a, b) a ## b\np(/, /)");
	REFUSED(-EINVAL, "## stands", "#define p(a) ## a\n");
	REFUSED(-EINVAL, "## stands", "#define p(a) a ##\n");
	REFUSED(-EINVAL, "# stands", "#define p(a) # b\n");
}

/* Rescanning, in a case of our own with all that the standard's well-known one has. */
TEST(rescan)
{
	IS("k(3 * (v + 1)) + k(3 * (k(3 * (u[0])))) | k(3 * (~ 5)) & k(3 * (7, 8)) ^ e(7, 8)",
	   "#define n 9\n#define k(c) k(n * (c))\n#undef n\n#define n 3\n#define o k\n"
	   "#define u u[0]\n#define i o(~\n#define e(c) c(r)\n#define r 7, 8\n"
	   "k(v + 1) + k(k(u)) | i 5) & e\n(k)^e(e)");
	IS("\"x\" \"## y\"", "#define hh # ## #\n#define mk(a) # a\n#define in(a) mk(a)\n"
	   "#define j(c, d) mk(c) in(hh d)\nj(x, y)");
	IS("{ 123, 45, 67, 89, 10, 11, 12, }",
	   "#define t(x, y, z) x ## y ## z\n{ t(1,2,3), t(,4,5), t(6,,7), t(8,9,), t(10,,), "
	   "t(,11,), t(,,12), t(,,) }");
}

TEST(words_that_would_join_are_kept_apart)
{
	IS("- - x", "#define A -\n-A x");
	IS("+ +", "#define A +\n+A");
	IS("1 .5 . 1", "#define A 1\nA.5 .A");
	IS("< < < =", "#define A <\nA<A=");
	IS("/ * x / / y", "#define A /\nA* x A/ y");
	IS("L \"x\" L 'x'", "#define A L\nA\"x\" A'x'");
	IS("a b 1 . . . .", "#define f(x) x\nf(a)f(b) f(1)f(.) f(.)f(.)f(.)");
	IS("% : % > < % : %", "#define A %\nA: A> <A :A");
	IS("1e + 1 1e - 1", "#define A 1e\nA+1 A-1");
	IS("x + + y - > & &", "#define E\nx+E+y -E> &E&");
	REFUSED(-EINVAL, "begins with \\", "a \\ b");
	REFUSED(-EINVAL, "begins with '", "don't");
	REFUSED(-EINVAL, "a trigraph", "int a; // what?\?/\nint b;");
	REFUSED(-EINVAL, "a trigraph", "int a = 1 ?\?! 2;");
	REFUSED(-EINVAL, "a trigraph", "?\?\?=");
	IS("ok", "#if 0\ndon't \\ @\n#endif\nok");
	REFUSED(-EINVAL, "a # begins", "#define A #\nA define x");
}

TEST(conditions)
{
	static const char *const yes[] = {
		"1", "-1", "!0", "1 ? 1 : 0", "0 ? 0 : 1", "(1)", "2 == 1 + 1", "1 || 1 / 0", "!(0 && 1 / 0)",
		"-1 < 0", "!(-1 < 0u)", "-1 > 0u", "0x10 == 16", "010 == 8", "0b11 == 3", "'a' == 97",
		"'\\n' == 10", "'\\377' < 0", "'\\x41' == 65", "'ab' == 24930", "1 + 2 * 3 == 7",
		"(1 | 2) == 3", "7 / 2 == 3", "-7 / 2 == -3", "-7 % 2 == -1", "-8 >> 1 == -4",
		"~0 == -1", "~0 == -1",
		"1 ? -1 : 0u", "(1 ? -1 : 0u) > 0", "nothing == 0",
		"defined A", "defined(A)", "!defined B", "A == 1", "F(3) == 3", "1ull == 1UL",
		"2 - 1 - 1 == 0", "1 ? 2 ? 1 : 0 : 0",
	};
	char text[200];

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		snprintf(text, sizeof(text), "#define A 1\n#define F(x) x\n#if %s\ny\n#else\nn\n#endif",
			 yes[i]);
		IS("y", text);
		snprintf(text, sizeof(text), "#define A 1\n#define F(x) x\n#if !(%s)\ny\n#elif 1\nn\n"
			 "#else\nz\n#endif", yes[i]);
		IS("n", text);
	}
	REFUSED(-EINVAL, "division by zero", "#if 1 / 0\n#endif");
	REFUSED(-EINVAL, "a shift", "#if 1 << 64\n#endif");
	REFUSED(-EINVAL, "don't agree", "#if ~0u == 0xffffffffffffffff\n#endif");
	REFUSED(-EINVAL, "don't agree", "#if 9223372036854775807 + 1 < 0\n#endif");
	REFUSED(-EINVAL, "don't agree", "#if 1 << 63 < 0 || 1\n#endif");
	REFUSED(-EINVAL, "don't agree", "#if 38 << 63 ? 1 : 2\n#endif");
	REFUSED(-EINVAL, "a comma", "#if (2, 1)\n#endif");
	REFUSED(-EINVAL, "value is missing", "#if\n#endif");
	REFUSED(-EINVAL, "not an integer", "#if 1.0\n#endif");
	REFUSED(-EINVAL, "too big", "#if 18446744073709551616\n#endif");
	REFUSED(-EINVAL, "behind the expression", "#if 1 2\n#endif");
	REFUSED(-EINVAL, ") is missing", "#if (1\n#endif");
	REFUSED(-EINVAL, "without a name", "#if defined 1\n#endif");
	REFUSED(-EINVAL, "no macro", "#if g(1)\n#endif");
	REFUSED(-EINVAL, "integer", "#if 1lul\n#endif");
}

TEST(groups)
{
	IS("b", "#if 0\na\n#elif 1\nb\n#elif 1 / 0\nc\n#else\nd\n#endif");
	IS("c", "#ifdef A\n#if\n#else don't\n#nonsense /* x\n#else\n */\n#endif\n#else\nc\n#endif");
	IS("x", "#ifndef A\n#define A\n#endif\n#ifdef A\nx\n#endif");
	IS("y", "#if 1\n#if 0\n#else\ny\n#endif\n#else\n#error no\n#endif");
	REFUSED(-EINVAL, ":2: this #if", "\n#if 1\n");
	REFUSED(-EINVAL, "without its #if", "#endif\n");
	REFUSED(-EINVAL, "without its #if", "#if 1\n#else\n#else\n#endif\n");
	REFUSED(-EINVAL, "#elifdef", "#if 0\n#elifdef A\n#endif\n");
	REFUSED(-EINVAL, "program:3: #error no way", "#if 1\n\n#error no way\n#endif");
	REFUSED(-EINVAL, "isn't known", "#foo\n");
	REFUSED(-EINVAL, "lacks its name", "#ifdef\n#endif");
}

TEST(lines_and_files)
{
	IS("2 3 5", "\n__LINE__\n__LINE__\n\n__LINE__");
	IS("[3]", "#define f(x) [__LINE__]\nf(\n)");
	IS("100 \"x\"", "#line 100 \"x\"\n__LINE__ __FILE__");
	IS("7", "# 7 \"y\" 1\n__LINE__");
	IS("__FILE__", "__FILE__");
	IS("0 1 2", "__COUNTER__ __COUNTER__ __COUNTER__");
	REFUSED(-EINVAL, "#line", "#line x\n");
	EXPECT_EQ(0, run("a\n#define X\n\nb\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nc\nd"));
	EXPECT_STREQ("a\n\n\nb\nc\nd\n", res.text);
	EXPECT_EQ(1, gsx_cl_source_line(&res, 1, NULL));
	EXPECT_EQ(4, gsx_cl_source_line(&res, 4, NULL));
	EXPECT_EQ(23, gsx_cl_source_line(&res, 5, NULL));
	EXPECT_EQ(24, gsx_cl_source_line(&res, 6, NULL));
}

TEST(pragmas)
{
	IS("#pragma OPENCL EXTENSION x : enable\na", "#define x y\n#pragma OPENCL EXTENSION x : enable\na");
	EXPECT_EQ(0, run("#define N 4\n#pragma unroll N\nfor"));
	EXPECT_TRUE(strstr(res.text, "#pragma unroll 4\n"));
	EXPECT_EQ(0, run("a _Pragma(\"pack(\\\"x\\\")\") b"));
	EXPECT_TRUE(strstr(res.text, "a\n#pragma pack(\"x\")\n"));
	EXPECT_EQ(0, run("#define P _Pragma(\"unroll\") for\nP"));
	EXPECT_TRUE(strstr(res.text, "#pragma unroll\n"));
	REFUSED(-EINVAL, "push_macro", "#pragma push_macro(\"x\")\n");
	REFUSED(-EINVAL, "_Pragma", "_Pragma(x)\n");
}

TEST(includes)
{
	static const struct file list[] = {
		{ "passed.h", "passed", GSX_CL_PASSED },
		{ "sub/b.h", "#include \"c.h\"\nb", GSX_CL_BESIDE }, { "sub/c.h", "c __LINE__", GSX_CL_BESIDE },
		{ "/inc/d.h", "#ifndef D\n#define D\nd\n#endif\n// x\n", GSX_CL_FOLDER },
		{ "my inc/e.h", "#pragma once\ne\n", GSX_CL_FOLDER },
		{ "loop.h", "#include \"loop.h\"\n", GSX_CL_BESIDE },
		{ "open.h", "#if 1\n", GSX_CL_BESIDE }, { "call.h", "f(", GSX_CL_BESIDE },
		{ "file.h", "__FILE__ __INCLUDE_LEVEL__", GSX_CL_BESIDE },
		/* Beside one that was passed, the next one that was; never a file. */
		{ "in/a.h", "#include \"b.h\"\n#include <b.h>\n", GSX_CL_PASSED },
		{ "in/b.h", "beside", GSX_CL_PASSED }, { "b.h", "plain", GSX_CL_PASSED },
		{ "in/n.h", "#include \"d.h\"\n#include \"m.h\"\n", GSX_CL_PASSED },
		{ "in/d.h", "a file", GSX_CL_BESIDE }, { "in/m.h", "a file", GSX_CL_BESIDE },
		{ .path = NULL },
	};

	files = list;
	opt.build = "-I/inc -I \"my inc\"";
	IS("passed", "#include \"passed.h\"\n");
	IS("passed", "#include <passed.h>\n");
	IS("c 1 b", "#include \"sub/b.h\"\n");
	IS("beside plain", "#include \"in/a.h\"\n");
	REFUSED(-ENOENT, "in/n.h:2: m.h isn't found", "#include \"in/n.h\"\n");
	IS("d x", "#include <d.h>\n#include <d.h>\n#include \"d.h\"\nx");
	EXPECT_EQ(NULL, strstr(strstr(asked, "f:/inc/d.h") + 1, "f:/inc/d.h"));
	IS("e x", "#include <e.h>\n#include \"e.h\"\nx");
	IS("\"file.h\" 1", "#define N \"file.h\"\n#include N\n");
	IS("d", "#define N <d.h>\n#include N\n");
	IS("yes no", "#if __has_include(<d.h>)\nyes\n#endif\n#if !__has_include(\"d2.h\")\nno\n#endif");
	EXPECT_EQ(0, run("a\n#include \"sub/c.h\"\nb"));
	for (uint32_t i = 0; i < 2; i++) {
		const char *file;
		uint32_t line = gsx_cl_source_line(&res, 2 + i, &file);

		EXPECT_EQ(i ? 3 : 1, line);
		EXPECT_STREQ(i ? "-" : "sub/c.h", file ? file : "-");
	}
	REFUSED(-ENOENT, "program:1: none.h isn't found", "#include \"none.h\"\n");
	REFUSED(-EIO, "broken can't be read", "#include \"broken\"\n");
	REFUSED(-E2BIG, "nested too deep", "#include \"loop.h\"\n");
	REFUSED(-EINVAL, "open.h:1: this #if", "#include \"open.h\"\n#endif");
	REFUSED(-EINVAL, "doesn't end", "#define f(x) x\n#include \"call.h\"\n)");
	REFUSED(-EINVAL, "#include without", "#include x\n");
	files = NULL;
	opt.build = NULL;
}

TEST(options)
{
	opt.build = "-DA -D B=2 -cl-std=CL1.2 -DXM2S(x)=#x -D 'S=\"a b\"' -U A -w -Werror -g -x cl "
		    "-cl-mad-enable -s file.cl -D C=\"x y\" -DD=\\\"q\\\"";
	IS("A 2 \"z\" \"a b\" x y \"q\"", "A B XM2S(z) S C D");
	EXPECT_STREQ("-cl-std=CL1.2 -cl-mad-enable", res.options);
	opt.build = "-foo=\"a b\"  -O2";
	EXPECT_EQ(0, run(""));
	EXPECT_STREQ("\"-foo=a b\" -O2", res.options);
	opt.build = "-D";
	REFUSED(-EINVAL, "without its value", "");
	opt.build = "-D 'A";
	REFUSED(-EINVAL, "quote", "");
	opt.build = "-D =3";
	REFUSED(-EINVAL, "without a name", "");
	opt.build = "-include x.h";
	REFUSED(-EINVAL, "-include", "");
	opt.build = "-D (";
	REFUSED(-EINVAL, "build options:1:", "");
	opt.build = NULL;
}

TEST(the_device_is_asked_where_it_matters)
{
	struct gsx_cl_macro known[] = {
		{ "cl_khr_fp64", "1" }, { "__OPENCL_VERSION__", "300" },
		{ "__has_builtin", "__has_builtin" }, { "__has_builtin(__builtin_fma)", "1" },
		{ "CL_VERSION_1_2", "120" }, { "cl_khr_fp16", NULL },
	};
	const char *text = "#ifdef cl_khr_fp64\n#if __OPENCL_VERSION__ >= CL_VERSION_1_2\na\n#endif\n"
			   "#ifdef cl_khr_fp16\nb\n#endif\n#endif\n#if __has_builtin(__builtin_fma)\nc\n#endif";

	EXPECT_EQ(-EAGAIN, run(text));
	ASSERT_EQ(5, res.n_questions);
	EXPECT_STREQ("cl_khr_fp64", res.questions[0]);
	EXPECT_STREQ("__has_builtin(__builtin_fma)", res.questions[4]);
	EXPECT_EQ(NULL, res.text);
	opt.macros = known;
	opt.n_macros = 6;
	IS("a c", text);
	IS("n", "#undef cl_khr_fp64\n#ifndef cl_khr_fp64\nn\n#endif");
	opt.n_macros = 0;
	/* Defined by the program first: nothing to ask. */
	IS("a", "#define cl_khr_fp64 1\n#if cl_khr_fp64\na\n#endif");
	/* In a group that is skipped: it may be live once the first is known. */
	EXPECT_EQ(-EAGAIN, run("#ifdef cl_khr_fp64\n#ifdef cl_khr_fp16\n#endif\n#endif"));
	EXPECT_EQ(2, res.n_questions);
}

TEST(what_is_assumed_is_guarded)
{
	EXPECT_EQ(0, run("#ifndef SIZE\n#define SIZE 4\n#endif\n__kernel void k(int x) { x = SIZE + "
			 "get_global_id(0) + M_PI; }"));
	EXPECT_TRUE(strstr(res.guard, "#if defined(SIZE) || defined(k) || defined(x)\n#error"));
	EXPECT_FALSE(strstr(res.guard, "get_global_id"));
	EXPECT_FALSE(strstr(res.guard, "M_PI"));
	EXPECT_EQ(0, run("int f(void);"));
	EXPECT_STREQ("#if defined(f)\n#error \"gpushare: a plain name of the program is a macro here\"\n"
		     "#endif\n", res.guard);
	/* Joined after it was looked up: the text would be another if it were a macro. */
	EXPECT_EQ(0, run("#define C2(a, b) a ## b\n#define C(a, b) C2(a, b)\nC(foo, 1)"));
	EXPECT_TRUE(strstr(res.guard, "defined(foo)"));
	EXPECT_EQ(-EAGAIN, run("#define S2(a) #a\n#define S(a) S2(a)\nS(M_PI)"));
	EXPECT_EQ(0, run("#define S2(a) #a\n#define S(a) S2(a)\nS(float4) S(sin)"));
	opt.ask_all = true;
	EXPECT_EQ(-EAGAIN, run("#ifndef SIZE\n#define SIZE 4\n#endif\nint x;"));
	EXPECT_EQ(2, res.n_questions);
	opt.ask_all = false;
}

TEST(macros_of_the_device_in_the_text)
{
	struct gsx_cl_macro known[] = {
		{ "linux", "1" }, { "ENTRY", "__kernel void" }, { "BEGIN", "{" }, { "PAIR", "(int2)(1,2)" },
		{ "CALL", "CALL" }, { "max", "max" },
	};

	opt.macros = known;
	opt.n_macros = 6;
	IS("linux + PAIR", "linux + PAIR");
	REFUSED(-EINVAL, "ENTRY is a macro of the device", "ENTRY k() {}");
	REFUSED(-EINVAL, "BEGIN is a macro of the device", "void f() BEGIN }");
	REFUSED(-EINVAL, "CALL is a macro of the device", "CALL(x)");
	IS("max(1, 2)", "max(1, 2)");
	opt.n_macros = 0;
	/* The program's own stands before the device's, also when it is gone or unfinished. */
	EXPECT_EQ(0, run("#define max(a, b) a\nmax(1, 2) max"));
	EXPECT_TRUE(strstr(res.text, "#undef max\n"));
	EXPECT_EQ(0, run("#define foo(a) a\nfoo"));
	EXPECT_TRUE(strstr(res.guard, "defined(foo)"));
}

TEST(texts_that_explode)
{
	static char text[1 << 20];
	size_t n = 0;

	n += sprintf(text + n, "#define A0 x x x x x x x x x x\n");
	for (int i = 1; i < 20; i++)
		n += sprintf(text + n, "#define A%d A%d A%d A%d A%d A%d A%d A%d A%d\n", i, i - 1, i - 1, i - 1,
			     i - 1, i - 1, i - 1, i - 1, i - 1);
	sprintf(text + n, "A19\n");
	REFUSED(-E2BIG, "program:21: ", text);
	n = sprintf(text, "#define f(x) x x\n#define g(x) f(f(f(f(x))))\n#define h(x) g(g(g(g(x))))\n");
	sprintf(text + n, "h(h(h(h(1))))\n");
	REFUSED(-E2BIG, "program:4: ", text);
	n = sprintf(text, "#define s(x) #x\n#define t(x) s(x)\n");
	for (int i = 0; i < 60; i++)
		n += sprintf(text + n, "t(");
	n += sprintf(text + n, "\"\\\\\"");
	for (int i = 0; i < 60; i++)
		n += sprintf(text + n, ")");
	REFUSED(-E2BIG, "program:3: ", text);
	n = sprintf(text, "#define f(x) x\n");
	for (int i = 0; i < 1000; i++)
		n += sprintf(text + n, "f(");
	REFUSED(-EINVAL, "doesn't end", text);
	for (int i = 0; i < 1000; i++)
		n += sprintf(text + n, ")");
	REFUSED(-E2BIG, "nested too deep", text);
	n = sprintf(text, "#if ");
	memset(text + n, '(', 100000);
	text[n + 100000] = 0;
	REFUSED(-E2BIG, "nested too deep", text);
	n = 0;
	for (int i = 0; i < 20000; i++)
		n += sprintf(text + n, "#if 1\n");
	REFUSED(-E2BIG, "nested too deep", text);
	REFUSED(-EINVAL, "comment doesn't end", "a\n/* b");
}

TEST(probe)
{
	const char *const questions[] = { "cl_khr_fp64", "__has_builtin(x)", "M_PI" };
	char *text = gsx_cl_probe(questions, 3);
	char answer[] = "0=1\n2=3.14=\n.\n???", torn[] = "0=1\n2=3.1", none[] = "", bad[] = "3=1\n.\n",
	     twice[] = "0=1\n0=1\n.\n";
	struct gsx_cl_macro m[3];

	ASSERT_TRUE(text);
	EXPECT_TRUE(strstr(text, "#ifdef cl_khr_fp64\n"));
	EXPECT_TRUE(strstr(text, "#ifdef __has_builtin\n"));
	EXPECT_TRUE(strstr(text, "\"1=\" gsx_text(__has_builtin(x))"));
	free(text);
	text = gsx_cl_probe((const char *const []){ "__has_builtin" }, 1);
	ASSERT_TRUE(text);
	EXPECT_FALSE(strstr(text, "gsx_text(__has"));	/* bare, it is an error */
	EXPECT_TRUE(strstr(text, "\"0=__has_builtin\\n\""));
	free(text);
	EXPECT_EQ(0, gsx_cl_probe_answer(questions, 3, answer, sizeof(answer), m));
	EXPECT_STREQ("1", m[0].value);
	EXPECT_EQ(NULL, m[1].value);
	EXPECT_STREQ("M_PI", m[2].name);
	EXPECT_STREQ("3.14=", m[2].value);
	EXPECT_EQ(-E2BIG, gsx_cl_probe_answer(questions, 3, torn, strlen(torn), m));
	EXPECT_EQ(-E2BIG, gsx_cl_probe_answer(questions, 3, none, 0, m));
	EXPECT_EQ(-EINVAL, gsx_cl_probe_answer(questions, 3, bad, strlen(bad), m));
	EXPECT_EQ(-EINVAL, gsx_cl_probe_answer(questions, 3, twice, strlen(twice), m));
}

TEST_MAIN()
