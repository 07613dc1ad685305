// SPDX-License-Identifier: MIT
/*
 * Maps of random kernels against what their blocks do: sums of all kinds as addresses,
 * conditions that wrap, loops of all forms, nested. What faults or never ends is passed over.
 * A failure names the seed; `maps-random-test SEED` shows its text.
 */
#include "harness.h"
#include "oracle.h"

#define SEED 26000u
#define REGS 400
#define POOL 60

struct gen {
	char text[1 << 16];
	size_t n;
	uint64_t state;
	uint32_t r, p, d, label;
	uint32_t pool[POOL], n_pool;	/* registers that hold something here */
	uint32_t lines;
};

static struct gen g;

static uint32_t draw(uint32_t n)
{
	g.state = g.state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(g.state >> 33) % n;
}

__attribute__((format(printf, 1, 2)))
static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	g.n += vsnprintf(g.text + g.n, sizeof(g.text) - g.n, fmt, ap);
	va_end(ap);
	g.lines++;
}

static uint32_t keep(uint32_t reg)
{
	if (g.n_pool < POOL)
		g.pool[g.n_pool++] = reg;
	return reg;
}

static uint32_t any(void)
{
	/* rather one of the last, as those of loops are */
	return g.pool[draw(2) && g.n_pool > 4 ? g.n_pool - 1 - draw(4) : draw(g.n_pool)];
}

static uint32_t leaf(void)
{
	static const char *const special[] = { "%tid.x", "%tid.y", "%ctaid.x", "%ctaid.y", "%ntid.x",
		"%nctaid.x", "%ntid.y", "%nctaid.y", "%tid.x", "%ctaid.x" };
	static const char *const param[] = { "n", "m", "n" };
	uint32_t r = g.r++;

	switch (draw(4)) {
	case 0:
		say("\tmov.u32 %%r%u, %d;\n", r, (int)draw(40) - 8);
		break;
	case 1:
		say("\tld.param.u32 %%r%u, [%s];\n", r, param[draw(3)]);
		break;
	default:
		say("\tmov.u32 %%r%u, %s;\n", r, special[draw(10)]);
		break;
	}
	return r;
}

/* A number that is the same for all threads */
static uint32_t number(void)
{
	uint32_t r = g.r++;

	switch (draw(4)) {
	case 0:
		say("\tmov.u32 %%r%u, %d;\n", r, 1 + (int)draw(9));
		break;
	case 1:
		say("\tmov.u32 %%r%u, %%ntid.x;\n", r);
		break;
	default:
		say("\tld.param.u32 %%r%u, [%s];\n", r, draw(2) ? "n" : "m");
		break;
	}
	return r;
}

static uint32_t expression(void)
{
	uint32_t r, a = any(), b = draw(3) ? any() : leaf(), c;

	if (!draw(3))
		a = leaf();
	switch (draw(17)) {
	case 16:	/* of a few bits */
		r = g.r++;
		say("\tcvt.%s %%r%u, %%r%u;\n", draw(2) ? "u32.u8" : draw(2) ? "s32.s8" : "u32.u16",
		    r, a);
		break;
	case 0: case 1: case 2:
		r = g.r++;
		say("\tadd.s32 %%r%u, %%r%u, %%r%u;\n", r, a, b);
		break;
	case 3:
		r = g.r++;
		say("\tsub.s32 %%r%u, %%r%u, %%r%u;\n", r, a, b);
		break;
	case 4: case 5:
		r = g.r++;
		say("\tmul.lo.s32 %%r%u, %%r%u, %d;\n", r, a, (int)draw(12) - 4);
		break;
	case 6: case 7:
		c = number();
		r = g.r++;
		say("\tmad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;\n", r, a, c, b);
		break;
	case 8:
		r = g.r++;
		say("\tshl.b32 %%r%u, %%r%u, %u;\n", r, a, draw(4));
		break;
	case 9:
		c = g.r++;
		r = g.r++;
		say("\tshl.b32 %%r%u, %%r%u, 2;\n\tor.b32 %%r%u, %%r%u, %u;\n", c, a, r, c,
		    draw(5));
		break;
	case 10:
		r = g.r++;
		say("\tand.b32 %%r%u, %%r%u, %u;\n", r, a, draw(2) ? 31 : 255);
		break;
	case 11:	/* there and back over the end */
		c = g.r++;
		r = g.r++;
		say("\tadd.s32 %%r%u, %%r%u, 2147483640;\n\tsub.s32 %%r%u, %%r%u, 2147483640;\n", c,
		    a, r, c);
		break;
	case 12:
		c = number();
		r = g.r++;
		say("\t%s.%c32 %%r%u, %%r%u, %%r%u;\n", draw(2) ? "min" : "max", draw(2) ? 's' : 'u',
		    r, draw(2) ? a : number(), c);
		break;
	case 13:
		c = number();
		r = g.r++;
		say("\t%s.s32 %%r%u, %%r%u, %u;\n", draw(2) ? "div" : "rem", r, c, 1 + draw(4));
		break;
	default:	/* as everybody has it */
		c = g.r;
		g.r += 4;
		r = g.r++;
		say("\tmov.u32 %%r%u, %%ctaid.%c;\n\tmov.u32 %%r%u, %%ntid.%c;\n", c,
		    "xy"[a & 1], c + 1, "xy"[a & 1]);
		say("\tmov.u32 %%r%u, %%tid.%c;\n", c + 2, "xy"[a & 1]);
		say("\tmad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;\n", r, c, c + 1, c + 2);
		break;
	}
	return keep(r);
}

/* A register that says yes or no */
static uint32_t condition(void)
{
	static const char *const how[] = { "lt.s32", "le.s32", "gt.s32", "ge.s32", "lt.u32", "ge.u32",
		"eq.s32", "ne.s32", "gt.u32", "le.u32", "lt.s32", "ge.s32" };
	uint32_t p = g.p++, a = any(), b, q, wide;

	if (!draw(9)) {		/* by what was read */
		wide = g.d++;
		b = g.r++;
		say("\tand.b32 %%r%u, %%r%u, 255;\n\tmul.wide.u32 %%d%u, %%r%u, 4;\n", b, a, wide, b);
		say("\tadd.s64 %%d%u, %%in, %%d%u;\n\tld.global.u32 %%r%u, [%%d%u];\n", wide, wide, b,
		    wide);
		say("\tsetp.lt.s32 %%p%u, %%r%u, 500;\n", p, b);
		return p;
	}
	if (!draw(6)) {		/* which may wrap */
		b = g.r++;
		say("\tmul.lo.s32 %%r%u, %%r%u, %u;\n", b, a, draw(2) ? 268435456 : 1073741824);
		a = b;
	}
	if (draw(2))
		say("\tsetp.%s %%p%u, %%r%u, %d;\n", how[draw(12)], p, a, (int)draw(60) - 10);
	else
		say("\tsetp.%s %%p%u, %%r%u, %%r%u;\n", how[draw(12)], p, a, draw(2) ? number() : any());
	if (!draw(4)) {
		q = condition();
		say("\t%s.pred %%p%u, %%p%u, %%p%u;\n", draw(2) ? "and" : "or", p, p, q);
	}
	return p;
}

static void address(uint32_t d, uint32_t r, uint32_t size)
{
	switch (draw(5)) {
	case 0:
		say("\tmul.wide.s32 %%d%u, %%r%u, %u;\n\tadd.s64 %%d%u, %%out, %%d%u;\n", d, r, size, d,
		    d);
		break;
	case 1:
		say("\tmul.wide.u32 %%d%u, %%r%u, %u;\n\tadd.s64 %%d%u, %%d%u, %%out;\n", d, r, size, d,
		    d);
		break;
	case 2:
		say("\tmad.wide.s32 %%d%u, %%r%u, %u, %%out;\n", d, r, size);
		break;
	case 3:
		say("\tcvt.s64.s32 %%d%u, %%r%u;\n\tmul.lo.s64 %%d%u, %%d%u, %u;\n", d, r, d, d, size);
		say("\tadd.s64 %%d%u, %%out, %%d%u;\n", d, d);
		break;
	default:
		say("\tcvt.s64.s32 %%d%u, %%r%u;\n\tshl.b64 %%d%u, %%d%u, %u;\n", d, r, d, d,
		    __builtin_ctz(size));
		say("\tadd.s64 %%d%u, %%out, %%d%u;\n", d, d);
		break;
	}
}

static void touch(void)
{
	static const uint32_t sizes[] = { 1, 2, 4, 4, 4, 8 };
	uint32_t size = sizes[draw(6)], d = g.d++, r = draw(2) ? any() : expression(), p;

	address(d, r, size);
	if (!draw(8)) {
		p = condition();
		say("\t@%s%%p%u ", draw(2) ? "!" : "", p);
	}
	if (!draw(5))
		say("\tld.global.u8 %%r%u, [%%d%u+%u];\n", g.r++, d, draw(3) * size);
	else if (size == 8 && draw(2))
		say("\tst.global.v2.u32 [%%d%u], {%%r%u, %%r%u};\n", d, r, r);
	else if (size == 8)
		say("\tst.global.u64 [%%d%u], %%d%u;\n", d, d);
	else
		say("\tst.global.u%u [%%d%u+%u], %%r%u;\n", size * 8, d, draw(3) * size, r);
}

static void block(int depth);

static void loop(int depth)
{
	uint32_t i = g.r++, j = g.r++, step = number(), d = g.d++;
	uint32_t head = g.label++, out = g.label++;
	uint32_t p, q, kind = draw(7), from = draw(2) ? any() : leaf(), saved, to = number();

	say("\tmov.u32 %%r%u, %%r%u;\n\tmov.u32 %%r%u, %%r%u;\n", i, from, j, any());
	say("\tmov.u64 %%d%u, %%out;\n", d);
	if (!draw(3)) {
		saved = g.r++;
		say("\tmul.lo.s32 %%r%u, %%ntid.x, %%nctaid.x;\n", saved);
		step = saved;
	}
	if (kind == 4)
		say("\tmov.u32 %%r%u, %d;\n", i, 1 + (int)draw(6));
	if (kind < 2 && draw(4)) {
		p = g.p++;
		say("\tsetp.ge.s32 %%p%u, %%r%u, %%r%u;\n\t@%%p%u bra $L%u;\n", p, i, to, p, out);
	}
	say("$L%u:\n", head);
	saved = g.n_pool;
	keep(i);
	keep(j);
	if (kind == 2) {	/* asked at the top */
		p = g.p++;
		say("\tsetp.%s %%p%u, %%r%u, %%r%u;\n\t@%%p%u bra $L%u;\n", draw(2) ? "ge.s32" :
		    "gt.u32", p, i, to, p, out);
	}
	block(depth + 1);
	if (!draw(3))
		say("\tst.global.u32 [%%d%u], %%r%u;\n\tadd.s64 %%d%u, %%d%u, %u;\n", d, i, d, d,
		    4 * draw(4));
	say("\tadd.s32 %%r%u, %%r%u, %d;\n", j, j, (int)draw(9) - 4);
	p = g.p++;
	if (!draw(4)) {		/* another way out */
		q = condition();
		say("\t@%s%%p%u bra $L%u;\n", draw(2) ? "!" : "", q, out);
	}
	switch (kind) {
	case 2:
		say("\tadd.s32 %%r%u, %%r%u, %%r%u;\n\tbra $L%u;\n", i, i, step, head);
		break;
	case 6:		/* some rounds miss what all come by at last */
		q = condition();
		from = g.label++;
		say("\t@%%p%u bra $L%u;\n", q, from);
		touch();
		say("\tsetp.ge.s32 %%p%u, %%r%u, %%r%u;\n\t@%%p%u bra $L%u;\n$L%u:\n", p, i, to, p,
		    out, from);
		say("\tadd.s32 %%r%u, %%r%u, %%r%u;\n\tbra $L%u;\n", i, i, step, head);
		break;
	case 3:		/* downwards */
		say("\tsub.s32 %%r%u, %%r%u, %%r%u;\n", i, i, step);
		say("\tsetp.gt.s32 %%p%u, %%r%u, %d;\n\t@%%p%u bra $L%u;\n", p, i, (int)draw(9) - 9, p,
		    head);
		break;
	case 4:
		say("\tadd.s32 %%r%u, %%r%u, -1;\n", i, i);
		say("\tsetp.ne.s32 %%p%u, %%r%u, 0;\n\t@%%p%u bra $L%u;\n", p, i, p, head);
		break;
	default:
		say("\tadd.s32 %%r%u, %%r%u, %%r%u;\n", i, i, step);
		say("\tsetp.lt.s32 %%p%u, %%r%u, %%r%u;\n\t@%%p%u bra $L%u;\n", p, i, to, p, head);
		break;
	}
	say("$L%u:\n", out);
	g.n_pool = saved;
}

static void block(int depth)
{
	uint32_t n = 1 + draw(4), saved = g.n_pool, past, other, p;

	while (n-- && g.r < REGS - 60 && g.lines < 220) {
		switch (draw(depth < 3 ? 9 : 5)) {
		case 0: case 1:
			expression();
			break;
		case 2: case 3: case 4:
			touch();
			break;
		case 5: case 6:
			p = condition();
			past = g.label++;
			other = g.label++;
			say("\t@%s%%p%u bra $L%u;\n", draw(2) ? "!" : "", p, other);
			saved = g.n_pool;
			block(depth + 1);
			g.n_pool = saved;
			if (draw(3)) {
				say("$L%u:\n", other);
			} else {
				say("\tbra $L%u;\n$L%u:\n", past, other);
				block(depth + 1);
				g.n_pool = saved;
				say("$L%u:\n", past);
			}
			break;
		case 7:
			loop(depth);
			break;
		default:
			if (depth < 2) {
				p = condition();
				say("\t@%%p%u %s;\n", p, draw(2) ? "ret" : "exit");
			}
			break;
		}
	}
}

/* Up to the kernel's own instructions. */
static void begin(void)
{
	g.n = 0;
	say(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(\n\t.param .u64 out,\n"
	    "\t.param .u64 in,\n\t.param .u32 n,\n\t.param .u32 m\n)\n{\n"
	    "\t.reg .pred %%p<200>;\n\t.reg .b32 %%r<%u>;\n\t.reg .b64 %%d<200>;\n"
	    "\t.reg .b64 %%out, %%in, %%o;\n", REGS);
	say("\tld.param.u64 %%o, [out];\n\tcvta.to.global.u64 %%out, %%o;\n"
	    "\tld.param.u64 %%o, [in];\n\tcvta.to.global.u64 %%in, %%o;\n");
}

static void generate_kernel(uint64_t seed)
{
	size_t body;
	uint32_t k;

	memset(&g, 0, sizeof(g));
	g.state = seed * 0x9e3779b97f4a7c15ull + 1;
	draw(2);
	begin();
	body = g.n;
	do {
		g.n = body;
		g.r = g.p = g.d = g.label = g.n_pool = g.lines = 0;
		keep(leaf());
		keep(leaf());
		for (k = 0; k < 3; k++)
			expression();
		block(0);
		touch();
	} while (g.r > REGS - 8 || g.p > 190 || g.d > 190);
	say("\tret;\n}\n");
}

static uint32_t kernels, faults;

/* Three launches of the kernel in g.text. */
static const char *launches(struct oracle_tally *t)
{
	struct gsx_options opt = { .file = "k", .maps = true };
	struct cut_module m = { 0 };
	const char *error = NULL, *fault;
	struct cut_launch l;
	uint64_t at;
	uint32_t k;
	int32_t n;

	if (gsx_ptx_transform(g.text, g.n, &opt, &m.x) ||
	    program_decode(&m.p, g.text, g.n, "k", &m))
		return "it isn't PTX";
	kernels++;
	for (k = 0; k < 3 && !error; k++) {
		cut_prepare(&m, &l, "k");
		for (n = 0; n < 3; n++) {
			l.grid[n] = n < 2 ? 1 + draw(n ? 3 : 6) : 1;
			l.block[n] = n < 2 ? 1 + draw(n ? 3 : 9) : 1;
		}
		at = oracle_buf[0]->addr + CORPUS_BYTES / 2;
		memcpy(l.params, &at, 8);
		memcpy(l.params + 8, &oracle_buf[1]->addr, 8);
		n = (int)draw(50) - 3;
		memcpy(l.params + 16, &n, 4);
		n = 1 + draw(20);
		memcpy(l.params + 20, &n, 4);
		error = oracle_run(&l, &fault, t);
		faults += !!fault;
	}
	mem_free_owner(&m);
	program_free(&m.p);
	gsx_result_free(&m.x);
	return error;
}

static void buffers(void)
{
	struct mem_block *gap;
	uint32_t i;
	int k;

	dev.limit = 60000;
	for (k = 0; k < ORACLE_BUFS; k++) {
		oracle_buf[k] = mem_alloc(0, CORPUS_BYTES, MEM_DEVICE, NULL);
		gap = mem_alloc(0, 256 << 20, MEM_DEVICE, NULL);
		ASSERT_TRUE(oracle_buf[k] && gap);
		mem_free(gap);		/* so that who leaves one buffer isn't in another */
		for (i = 0; i < CORPUS_BYTES / 4; i++)
			((uint32_t *)oracle_buf[k]->host)[i] = i * 7919 % 1000;
	}
}

static void many(uint64_t from, uint64_t to)
{
	struct oracle_tally t = { 0 };
	const char *error;
	uint64_t seed;

	buffers();
	for (seed = from; seed < to; seed++) {
		generate_kernel(seed);
		error = launches(&t);
		if (error)
			test_fail("seed %u: %s", (unsigned int)seed, error);
	}
	printf("# seeds %u to %u: %u kernels, %u launches, %u more that fault; writes: %u affine (%u "
	       "exact, %u disjoint, %u not in this launch), %u unproven, %u shared; reads: %u affine, "
	       "%u unproven\n", (unsigned int)from, (unsigned int)to - 1, kernels, t.launches, faults,
	       t.by[1][1], t.exact, t.disjoint, t.late[1], t.by[1][2], t.by[1][3], t.by[0][1],
	       t.by[0][2]);
	/* a test of nothing would be none */
	ASSERT_TRUE(t.exact > t.launches / 10 && t.disjoint > t.launches / 10);
}

TEST_LIMIT(random_kernels, 900)
{
	many(SEED, SEED + (getenv("FULL") ? 8000 : 1000));
}

/* A loop whose way out is open in the second round, and wouldn't be in the sixth. */
TEST(rounds_after_the_end)
{
	struct oracle_tally t = { 0 };
	const char *error;

	buffers();
	begin();
	say("\tmov.u32 %%r1, 0;\n$L1:\n\tmul.wide.s32 %%d1, %%r1, 4;\n\tadd.s64 %%d1, %%out, %%d1;\n"
	    "\tst.global.u32 [%%d1], %%r1;\n\tadd.s32 %%r1, %%r1, 1;\n"
	    "\tsetp.lt.s32 %%p1, %%r1, 5;\n\t@%%p1 bra $L2;\n"
	    "\tsetp.lt.s32 %%p1, %%r1, 100;\n\t@%%p1 bra $L1;\n$L2:\n\tret;\n}\n");
	error = launches(&t);
	if (error)
		test_fail("%s", error);
	EXPECT_EQ(3, t.launches);
	EXPECT_EQ(0, t.late[1]);
}

int main(int argc, char **argv)
{
	if (argc == 2 && argv[1][0] >= '0' && argv[1][0] <= '9') {
		generate_kernel(strtoull(argv[1], NULL, 10));
		fputs(g.text, stdout);
		return 0;
	}
	return test_main(argv);
}
