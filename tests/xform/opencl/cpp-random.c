// SPDX-License-Identifier: MIT
/*
 * Random macro programs: the same tokens as from clang -E, or refused by both.
 * GS_SEED and GS_ROUNDS choose others.
 */
#include "oracle.h"

struct gen {
	uint32_t seed;
	char s[16384];
	size_t n;
	uint32_t params;	/* of the macro whose body is written */
	bool variadic;
};

static uint32_t roll(struct gen *g, uint32_t n)
{
	g->seed ^= g->seed << 13;
	g->seed ^= g->seed >> 17;
	g->seed ^= g->seed << 5;
	return g->seed % n;
}

__attribute__((format(printf, 2, 3))) static void add(struct gen *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	g->n += vsnprintf(g->s + g->n, sizeof(g->s) - g->n, fmt, ap);
	va_end(ap);
	if (g->n >= sizeof(g->s))
		g->n = sizeof(g->s) - 1;
}

static void space(struct gen *g)
{
	add(g, "%s", (const char *[]){ "", " ", " ", "  ", "/**/", " " }[roll(g, 6)]);
}

static void name(struct gen *g)
{
	add(g, "%c", 'A' + roll(g, 8));
}

static void piece(struct gen *g, int depth);

static void pieces(struct gen *g, uint32_t n, int depth)
{
	while (n--) {
		piece(g, depth);
		space(g);
		if (!roll(g, 3))
			add(g, " ");
	}
}

static void call(struct gen *g, int depth)
{
	uint32_t n = roll(g, 4);

	name(g);
	if (!roll(g, 4))
		space(g);
	add(g, "(");
	while (n--) {
		space(g);
		pieces(g, roll(g, 3), depth - 1);
		if (n)
			add(g, ",");
	}
	add(g, ")");
}

static void param(struct gen *g)
{
	if (g->variadic && !roll(g, 3))
		add(g, "__VA_ARGS__");
	else if (g->params)
		add(g, "p%u", roll(g, g->params));
	else
		name(g);
}

static void piece(struct gen *g, int depth)
{
	switch (roll(g, depth > 0 ? 16 : 9)) {
	case 0:
		add(g, "%u", roll(g, 100));
		break;
	case 1:
		add(g, "%s", (const char *[]){ "+", "-", "<", "=", ".", "*", ">", "&" }[roll(g, 8)]);
		break;
	case 2:
		add(g, "%s", (const char *[]){ "\"s\\n\"", "'c'", "x", "yy", "__LINE__",
					       "__COUNTER__" }[roll(g, 6)]);
		break;
	case 3:
	case 4:
		param(g);
		break;
	case 5:
	case 6:
		name(g);
		break;
	case 7:
		if (g->params) {
			add(g, "#");
			param(g);
		} else {
			add(g, "z ");
		}
		break;
	case 8:
		if (g->params) {	/* clang's , __VA_ARGS__ ## x is its own */
			add(g, "p%u", roll(g, g->params));
			space(g);
			add(g, "##");
			space(g);
			param(g);
		}
		break;
	case 9:
	case 10:
		add(g, "(");
		pieces(g, roll(g, 3), depth - 1);
		add(g, ")");
		break;
	default:
		call(g, depth);
	}
}

static void define(struct gen *g)
{
	char params[64] = "";
	uint32_t n = roll(g, 4), at = 0;

	g->variadic = false;
	add(g, "#define ");
	name(g);
	if (n) {
		n--;
		g->variadic = !roll(g, 3);
		for (uint32_t i = 0; i < n; i++)
			at += sprintf(params + at, "%sp%u", i ? "," : "", i);
		sprintf(params + at, "%s%s", n && g->variadic ? "," : "", g->variadic ? "..." : "");
		add(g, "(%s)", params);
	}
	add(g, " ");
	g->params = n;
	pieces(g, roll(g, 6), 2);
	if (g->variadic && !roll(g, 3))
		add(g, "( x , ## __VA_ARGS__ )");
	g->params = 0;
	g->variadic = false;
	add(g, "\n");
}

static void value(struct gen *g, int depth)
{
	static const char *const ops[] = { "+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=",
		"==", "!=", "&", "|", "^", "&&", "||" };

	switch (roll(g, depth > 0 ? 8 : 3)) {
	case 0:
		add(g, "%d%s", roll(g, 70) - 3 * !roll(g, 3), roll(g, 4) ? "" : "u");
		break;
	case 1:
		add(g, "%s", (const char *[]){ "0x7fffffffffffffff", "'a'", "077", "0xffffffffffffffff",
					       "1", "0", "'\\377'", "x" }[roll(g, 8)]);
		break;
	case 2:
		add(g, "defined(%c)", 'A' + roll(g, 8));
		break;
	case 3:
		add(g, "%s", (const char *[]){ "-", "!", "~", "+" }[roll(g, 4)]);
		value(g, depth - 1);
		break;
	case 4:
		add(g, "(");
		value(g, depth - 1);
		add(g, ")");
		break;
	case 5:
		value(g, depth - 1);
		add(g, " ? ");
		value(g, depth - 1);
		add(g, " : ");
		value(g, depth - 1);
		break;
	default:
		value(g, depth - 1);
		add(g, " %s ", ops[roll(g, 18)]);
		value(g, depth - 1);
	}
}

/* A program of a few lines; small, so that an error in it hides little. */
static void program(struct gen *g)
{
	uint32_t lines = 3 + roll(g, 10);

	g->n = 0;
	while (lines--) {
		switch (roll(g, 8)) {
		case 0:
		case 1:
		case 2:
			add(g, "#undef %c\n", 'A' + roll(g, 8));
			define(g);
			break;
		case 3:
			add(g, "#if ");
			value(g, 3);
			add(g, "\nyes%u\n#else\nno\n#endif\n", lines);
			break;
		default:
			add(g, " ");
			pieces(g, 1 + roll(g, 5), 3);
			add(g, "%s\n", roll(g, 4) ? "" : "\\");
		}
	}
	add(g, "\n");
}

/* What we refuse and clang takes, each with its reason. */
static bool ours_alone(const char *why)
{
	static const char *const list[] = {
		"a shift by",		/* undefined, and compilers differ */
		"a comma",		/* not a constant expression */
		"don't agree",		/* intmax_t has 128 bits in clang's OpenCL */
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strstr(why, list[i]))
			return true;
	return false;
}

TEST_LIMIT(random_programs_as_clang_has_them, 600)
{
	const char *seed = getenv("GS_SEED"), *rounds = getenv("GS_ROUNDS");
	uint32_t n = rounds ? atoi(rounds) : getenv("FULL") ? 1500 : 100, same = 0, refused = 0;
	static struct gen g = { .seed = 20261122 };
	char in[] = "/tmp/gs-cpp-XXXXXX", out[64];
	struct gsx_cl_source res;
	const char *where;
	size_t len;
	char *theirs;
	int err, fd, status;

	if (seed)
		g.seed = atoi(seed) | 1;
	fd = mkstemp(in);
	ASSERT_GE(fd, 0);
	snprintf(out, sizeof(out), "%s.i", in);
	printf("# seed %u\n", g.seed);
	for (uint32_t i = 0; i < n && test_failures < 10; i++) {
		program(&g);
		ASSERT_EQ(0, ftruncate(fd, 0));
		ASSERT_EQ((ssize_t)g.n, pwrite(fd, g.s, g.n, 0));
		status = clang_E(in, out, NULL);
		if (status < 0) {
			unlink(in);
			SKIP("clang isn't there");
		}
		err = gsx_cl_preprocess(g.s, g.n, NULL, &res);
		if (err && !ours_alone(res.error ? res.error : "") && !status)
			test_fail("program %u: we refuse it: %s\n%s", i, res.error, g.s);
		if (!err && status)
			test_fail("program %u: clang refuses it\n%s", i, g.s);
		refused += err && status;
		if (!err && !status) {
			theirs = read_whole(out, &len);
			where = differ(res.text, res.len, theirs, len);
			if (where)
				test_fail("program %u: %s\n%s", i, where, g.s);
			free(theirs);
			same++;
		}
		gsx_cl_source_free(&res);
	}
	unlink(in);
	unlink(out);
	printf("# %u programs: %u the same, %u refused by both\n", n, same, refused);
	EXPECT_GT(same, n / 4);
}

TEST_MAIN()
