// SPDX-License-Identifier: MIT
/*
 * A kernel is a random list of statements over eight registers: arithmetic, loads,
 * reads of the special registers, branches, loops, calls, atomics whose order
 * can't be seen, exchanges through shared memory between barriers, shuffles, and
 * threads that leave early. Barriers and shuffles stand where all threads that
 * are left of the block come by; each thread writes to shared memory before any
 * leaves, so that nobody reads what nobody wrote. What is computed is stored at
 * the end and, now and then, on the way.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "generate.h"

#define CAP (1u << 18)

struct gen {
	char *p;
	size_t n;
	uint64_t state;
	unsigned int labels, depth, stores, calls;
	int left;		/* threads may have left: no shuffles any more */
	int uniform;		/* all threads of the block come by here */
	int funcs;
};

static uint32_t draw(struct gen *g, uint32_t n)
{
	g->state = g->state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(g->state >> 33) % n;
}

__attribute__((format(printf, 2, 3)))
static void put(struct gen *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (g->n < CAP)
		g->n += vsnprintf(g->p + g->n, CAP - g->n, fmt, ap);
	va_end(ap);
}

static unsigned int v(struct gen *g)
{
	return draw(g, 8);
}

static void arithmetic(struct gen *g)
{
	static const char *const two[] = { "add.s32", "sub.s32", "mul.lo.s32", "xor.b32", "and.b32",
		"or.b32", "min.s32", "max.u32", "mul.hi.u32", "rem.u32", "div.s32" };
	static const char *const one[] = { "not.b32", "neg.s32", "brev.b32", "popc.b32", "abs.s32",
		"clz.b32" };

	switch (draw(g, 6)) {
	case 0:
		put(g, "%s %%v%u, %%v%u;\n", one[draw(g, 6)], v(g), v(g));
		break;
	case 1:
		put(g, "%s %%v%u, %%v%u, %u;\n", draw(g, 2) ? "shl.b32" : "shr.s32", v(g), v(g),
		    draw(g, 32));
		break;
	case 2:
		put(g, "mad.lo.s32 %%v%u, %%v%u, %u, %%v%u;\n", v(g), v(g), draw(g, 1000), v(g));
		break;
	case 3:
		put(g, "setp.%s.s32 %%q, %%v%u, %%v%u;\nselp.b32 %%v%u, %%v%u, %%v%u, %%q;\n",
		    draw(g, 2) ? "lt" : "ne", v(g), v(g), v(g), v(g), v(g));
		break;
	default:
		put(g, "%s %%v%u, %%v%u, %%v%u;\n", two[draw(g, 11)], v(g), v(g), v(g));
	}
}

static void special(struct gen *g)
{
	static const char *const names[] = { "ctaid", "nctaid", "tid", "ntid", "ctaid", "nctaid" };
	unsigned int d = v(g);

	switch (draw(g, 8)) {
	case 0:
		put(g, "cvt.u64.u32 %%w0, %%ctaid.%c;\ncvt.u32.u64 %%v%u, %%w0;\n",
		    "xyz"[draw(g, 3)], d);
		break;
	case 1:
		put(g, "mov.v4.u32 {%%v%u, %%t0, %%t1, _}, %%ctaid;\nadd.u32 %%v%u, %%v%u, %%t1;\n", d,
		    d, d);
		break;
	case 2:
		put(g, "mov.u64 %%w0, %%gridid;\nsetp.ne.u64 %%q, %%w0, 0;\n"
		    "selp.u32 %%v%u, 1, 0, %%q;\n", d);
		break;
	default:
		put(g, "mov.u32 %%t0, %%%s.%c;\nadd.u32 %%v%u, %%v%u, %%t0;\n", names[draw(g, 6)],
		    "xyz"[draw(g, 3)], d, v(g));
	}
}

static void load(struct gen *g)
{
	put(g, "and.b32 %%t0, %%v%u, 8191;\nmul.wide.u32 %%w0, %%t0, 4;\nadd.u64 %%w0, %%w0, %%in;\n"
	    "ld.global%s.u32 %%v%u, [%%w0+%u];\n", v(g), draw(g, 2) ? ".nc" : "", v(g),
	    4 * draw(g, 8000));
}

/* Each thread has four places of its own behind the first 64 words. */
static void store(struct gen *g)
{
	put(g, "st.global.u32 [%%own+%u], %%v%u;\n", 4 * (g->stores++ & 3), v(g));
}

static void atomic(struct gen *g)
{
	static const char *const ops[] = { "add.u32", "max.u32", "xor.b32", "or.b32", "min.s32" };
	unsigned int op = draw(g, 5);

	/* one operation for each word, or the order could be seen */
	put(g, "and.b32 %%t0, %%v%u, 7;\nadd.u32 %%t0, %%t0, %u;\nmul.wide.u32 %%w0, %%t0, 4;\n"
	    "add.u64 %%w0, %%w0, %%out;\n%s.global.%s %s[%%w0], %%v%u;\n", v(g), op * 8,
	    op & 1 ? "atom" : "red", ops[op], op & 1 ? "%t1, " : "", v(g));
}

static void exchange(struct gen *g)
{
	static const char *const sync[] = { "bar.sync 0", "barrier.sync 0", "bar.sync  0" };

	put(g, "st.shared.u32 [%%mine], %%v%u;\n%s;\n", v(g), sync[draw(g, 3)]);
	put(g, "add.u32 %%t0, %%lin, %u;\nrem.u32 %%t0, %%t0, %%all;\nshl.b32 %%t0, %%t0, 2;\n"
	    "add.u32 %%t0, %%t0, %%base;\nld.shared.u32 %%v%u, [%%t0];\n%s;\n",
	    1 + draw(g, 60), v(g), sync[draw(g, 3)]);
}

static void shuffle(struct gen *g)
{
	static const char *const modes[] = { "idx", "bfly", "up", "down" };
	unsigned int m = draw(g, 4);

	if (draw(g, 3) == 0)
		put(g, "setp.lt.s32 %%q, %%v%u, %%v%u;\nvote.sync.ballot.b32 %%v%u, %%q, -1;\n", v(g),
		    v(g), v(g));
	else
		put(g, "shfl.sync.%s.b32 %%v%u, %%v%u, %u, %u, -1;\n", modes[m], v(g), v(g),
		    draw(g, 32), m == 2 ? 0 : 31);
}

static void call(struct gen *g)
{
	put(g, "{\n.param .b32 p0;\n.param .b32 r0;\nst.param.b32 [p0], %%v%u;\n"
	    "call.uni (r0), f%u, (p0);\nld.param.b32 %%v%u, [r0];\n}\n", v(g),
	    draw(g, g->funcs), v(g));
}

static void leave(struct gen *g)
{
	put(g, "and.b32 %%t0, %%v%u, %u;\nsetp.eq.u32 %%q, %%t0, 1;\n", v(g), 1 + 2 * draw(g, 8));
	if (draw(g, 3)) {
		store(g);
		put(g, "@%%q %s;\n", draw(g, 4) ? "ret" : "exit");
	} else {
		put(g, "@!%%q bra L%u;\n", g->labels);
		store(g);
		put(g, "%s;\nL%u:\n", draw(g, 4) ? "ret" : "exit", g->labels++);
	}
	g->left = 1;
}

static void statements(struct gen *g, unsigned int n);

static void branch(struct gen *g)
{
	unsigned int l = g->labels;
	int was = g->uniform;

	g->labels += 2;
	if (draw(g, 3) == 0) {		/* the same way for the whole block */
		put(g, "mov.u32 %%t0, %%ctaid.x;\nand.b32 %%t0, %%t0, 1;\n"
		    "setp.eq.u32 %%q, %%t0, %u;\n", draw(g, 2));
	} else {
		put(g, "setp.gt.s32 %%q, %%v%u, %%v%u;\n", v(g), v(g));
		g->uniform = 0;
	}
	put(g, "@%%q bra L%u;\n", l);
	statements(g, 1 + draw(g, 3));
	if (draw(g, 2)) {
		put(g, "bra.uni L%u;\nL%u:\n", l + 1, l);
		statements(g, 1 + draw(g, 3));
		put(g, "L%u:\n", l + 1);
	} else {
		put(g, "L%u:\n", l);
	}
	g->uniform = was;
}

static void loop(struct gen *g)
{
	unsigned int l = g->labels++, d = g->depth;
	int was = g->uniform;

	if (draw(g, 2)) {
		put(g, "mov.u32 %%c%u, %u;\n", d, 1 + draw(g, 4));
	} else {
		put(g, "and.b32 %%c%u, %%v%u, 3;\nadd.u32 %%c%u, %%c%u, 1;\n", d, v(g), d, d);
		g->uniform = 0;
	}
	put(g, "L%u:\n", l);
	statements(g, 1 + draw(g, 3));
	put(g, "sub.u32 %%c%u, %%c%u, 1;\nsetp.ne.u32 %%q, %%c%u, 0;\n@%%q bra L%u;\n", d, d, d, l);
	g->uniform = was;
}

static void statement(struct gen *g)
{
	switch (draw(g, 16)) {
	case 0: case 1:
		special(g);
		return;
	case 2: case 3:
		load(g);
		return;
	case 4:
		store(g);
		return;
	case 5:
		atomic(g);
		return;
	case 6: case 7:
		if (g->uniform) {
			exchange(g);
			return;
		}
		break;
	case 8:
		if (g->uniform && !g->left) {
			shuffle(g);
			return;
		}
		break;
	case 9:
		if (g->funcs) {
			call(g);
			return;
		}
		break;
	case 10:
		if (g->depth == 1 && g->uniform && !draw(g, 2)) {
			leave(g);
			return;
		}
		break;
	case 11:
		if (g->depth < 4) {
			branch(g);
			return;
		}
		break;
	case 12:
		if (g->depth < 3) {
			loop(g);
			return;
		}
	}
	arithmetic(g);
}

static void statements(struct gen *g, unsigned int n)
{
	g->depth++;
	while (n--)
		statement(g);
	g->depth--;
}

static void function(struct gen *g, unsigned int i)
{
	put(g, ".func (.param .b32 r) f%u(.param .b32 a)\n{\n.reg .u32 %%x, %%y;\n"
	    "ld.param.b32 %%x, [a];\n", i);
	switch (draw(g, 4)) {
	case 0:
		put(g, "mov.u32 %%y, %%ctaid.%c;\nmad.lo.u32 %%x, %%x, 3, %%y;\n", "xyz"[draw(g, 3)]);
		break;
	case 1:
		put(g, "mov.u32 %%y, %%nctaid.%c;\nxor.b32 %%x, %%x, %%y;\n", "xyz"[draw(g, 3)]);
		break;
	case 2:
		if (i) {
			put(g, "{\n.param .b32 p, q;\nst.param.b32 [p], %%x;\ncall.uni (q), f%u, (p);\n"
			    "ld.param.b32 %%x, [q];\n}\nadd.u32 %%x, %%x, 7;\n", draw(g, i));
			break;
		}
		/* fall through */
	default:
		put(g, "mul.lo.u32 %%x, %%x, 2654435761;\n");
	}
	put(g, "st.param.b32 [r], %%x;\nret;\n}\n");
}

static void prologue(struct gen *g, const struct generated *out)
{
	unsigned int k, threads = out->block[0] * out->block[1] * out->block[2];

	put(g, ".visible .entry k(.param .u64 k_out, .param .u64 k_in, .param .u32 k_n)\n{\n"
	    ".reg .u32 %%v<8>, %%t<4>, %%c<8>, %%lin, %%all, %%mine, %%base;\n"
	    ".reg .u64 %%w<4>, %%out, %%in, %%own;\n.reg .pred %%q;\n");
	if (out->dynamic)
		put(g, "mov.u32 %%base, dyn;\n");
	else
		put(g, ".shared .align 4 .b8 sh[%u];\nmov.u32 %%base, sh;\n", threads * 4);
	put(g, "ld.param.u64 %%out, [k_out];\nld.param.u64 %%in, [k_in];\n"
	    "ld.param.u32 %%v7, [k_n];\nmov.u32 %%t0, %%tid.x;\nmov.u32 %%t1, %%tid.y;\n"
	    "mad.lo.u32 %%lin, %%t1, %u, %%t0;\nmov.u32 %%all, %u;\n", out->block[0], threads);
	/* %own: out + 64 words + 4 for each thread of the grid */
	put(g, "mov.u32 %%t0, %%ctaid.z;\nmov.u32 %%t1, %%nctaid.y;\nmov.u32 %%t2, %%ctaid.y;\n"
	    "mad.lo.u32 %%t0, %%t0, %%t1, %%t2;\nmov.u32 %%t1, %%nctaid.x;\n"
	    "mov.u32 %%t2, %%ctaid.x;\nmad.lo.u32 %%t0, %%t0, %%t1, %%t2;\n"
	    "mad.lo.u32 %%t0, %%t0, %%all, %%lin;\nmul.wide.u32 %%w0, %%t0, 16;\n"
	    "add.u64 %%own, %%out, %%w0;\nadd.u64 %%own, %%own, 256;\n");
	for (k = 0; k < 7; k++)
		put(g, "mad.lo.u32 %%v%u, %%t0, %u, %u;\n", k, draw(g, 9999), draw(g, 9999));
	put(g, "shl.b32 %%mine, %%lin, 2;\nadd.u32 %%mine, %%mine, %%base;\n"
	    "st.shared.u32 [%%mine], %%v0;\n");
}

void generate(struct generated *out, uint64_t seed)
{
	struct gen g = { .p = malloc(CAP), .state = seed * 2 + 1, .uniform = 1 };
	unsigned int k;

	for (k = 0; k < 5; k++)
		draw(&g, 2);
	memset(out, 0, sizeof(*out));
	out->grid[0] = 1 + draw(&g, 7);
	out->grid[1] = draw(&g, 2) ? 1 : 1 + draw(&g, 3);
	out->grid[2] = draw(&g, 3) ? 1 : 1 + draw(&g, 2);
	out->block[0] = 32 * (1 + draw(&g, 2));
	out->block[1] = draw(&g, 3) ? 1 : 2;
	out->block[2] = 1;
	out->dynamic = draw(&g, 3) ? 0 : out->block[0] * out->block[1] * 4;
	g.funcs = draw(&g, 2) ? draw(&g, 3) : 0;
	put(&g, ".version 7.0\n.target sm_75\n.address_size 64\n");
	if (out->dynamic)
		put(&g, ".extern .shared .align 16 .b8 dyn[];\n");
	for (k = 0; k < (unsigned int)g.funcs; k++)
		function(&g, k);
	prologue(&g, out);
	statements(&g, 8 + draw(&g, 25));
	for (k = 0; k < 4; k++)
		store(&g);
	put(&g, "ret;\n}\n");
	out->text = g.p;
	out->len = g.n;
}
