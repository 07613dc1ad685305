// SPDX-License-Identifier: MIT
/*
 * Broken sources: pieces of real ones with random damage. Nothing may crash, hang, use
 * more memory than allowed, or come out as what doesn't go in again. GS_SEED and
 * GS_ROUNDS choose others.
 */
#include "harness.h"
#include "cpp-hold.h"

#define MOST	8192

static uint64_t state = 20261122;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 16) % n;
}

static const char start[] =
	"#ifndef N\n#define N 16\n#endif\n#define IDX(i, j) ((i) * N + (j))\n"
	"#define CAT_(a, b) a ## b\n#define CAT(a, b) CAT_(a, b)\n#define STR(x) #x\n"
	"#define LOG(s, ...) printf(s, ## __VA_ARGS__)\n"
	"#if defined(cl_khr_fp64) && __OPENCL_VERSION__ >= 120\n"
	"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double real;\n#else\n"
	"typedef float real;\n#endif\n#include \"x.h\"\n"
	"__kernel void CAT(k, N)(__global real *a) {\n\tint i = get_global_id(0); // one\n"
	"#pragma unroll N\n\tfor (int j = 0; j < N; j++) a[IDX(i, j)] *= 2.5f; /* two\n*/\n"
	"\tLOG(\"%d\\n\", IDX(IDX(1, 2), __LINE__));\n}\n";

static const char *const words[] = {
	"#define ", "#undef ", "#if ", "#ifdef ", "#else\n", "#elif 1\n", "#endif\n", "#include \"x\"\n",
	"#line 7\n", "#pragma once\n", "#error x\n", "#", "##", "(", ")", ",", "...", "__VA_ARGS__", "N",
	"IDX", "CAT", "STR", "LOG", "\\\n", "/*", "*/", "//", "\"", "'", "\n", "defined", "__LINE__",
	"__COUNTER__", "_Pragma(\"x\")", "&&", "||", "?", ":", "<<", "0x", "1e+", "\377", "$", " ",
	"#define IDX IDX IDX IDX\n", "#define f(x) x x f(x)\n", "%:", "%:%:", "?\?/", "L\"", "M_PI", "-",
};

static size_t damage(char *t, size_t n)
{
	uint32_t at = draw(n + 1), to = draw(n + 1), len = draw(draw(8) ? 16 : 400) + 1;
	const char *word;

	switch (draw(6)) {
	case 0:
		if (n)
			t[at % n] = draw(256);
		break;
	case 1:
		len = len < n - at ? len : n - at;
		memmove(t + at, t + at + len, n - at - len);
		n -= len;
		break;
	case 2:		/* a piece again elsewhere */
		len = len < n - at ? len : n - at;
		if (n + len < MOST && to <= at) {
			memmove(t + to + len, t + to, n - to);
			memmove(t + to, t + at + len, len);
			n += len;
		}
		break;
	default:
		word = words[draw(sizeof(words) / sizeof(words[0]))];
		len = strlen(word);
		if (n + len < MOST) {
			memmove(t + at + len, t + at, n - at);
			memcpy(t + at, word, len);
			n += len;
		}
	}
	return n;
}

TEST_LIMIT(damage_does_no_harm, 300)
{
	const char *seed = getenv("GS_SEED"), *rounds = getenv("GS_ROUNDS");
	uint32_t n_rounds = rounds ? atoi(rounds) : getenv("FULL") ? 30000 : 2000;
	static char text[MOST];
	const char *bad;
	size_t n;

	if (seed)
		state = strtoull(seed, NULL, 0) | 1;
	printf("# seed %llu\n", (unsigned long long)state);
	for (uint32_t i = 0; i < n_rounds; i++) {
		char *exact;

		n = sizeof(start) - 1;
		memcpy(text, start, n);
		for (uint32_t k = draw(12); k; k--)
			n = damage(text, n);
		exact = malloc(n ? n : 1);	/* so that a sanitizer sees what goes too far */
		memcpy(exact, text, n);
		bad = cpp_holds(exact, n, draw(4) ? NULL : "-DN=4 -cl-std=CL1.2 -D \"STR(x)=x\"");
		free(exact);
		if (bad) {
			test_fail("round %u: %s\n%.*s", i, bad, (int)n, text);
			return;
		}
	}
}

TEST(damaged_options_do_no_harm)
{
	static const char options[] = "-DA=1 -D 'B(x)=#x' -I \"a b\" -cl-std=CL1.2 -U C -w -x cl \\\"";
	char text[200];
	size_t n;

	for (uint32_t i = 0; i < 3000; i++) {
		n = sizeof(options) - 1;
		memcpy(text, options, n);
		for (uint32_t k = draw(6); k; k--) {
			if (draw(2))
				text[draw(n)] = "\"'\\ -DIU=(x"[draw(11)];
			else
				n = draw(n) + 1;
		}
		text[n] = 0;
		ASSERT_EQ(NULL, cpp_holds("A B(x) C\n", 9, text));
	}
}

TEST_MAIN()
