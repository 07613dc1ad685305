// SPDX-License-Identifier: MIT
/*
 * What makes the kernels right by construction, so that every difference is a fault:
 * each work-item writes only its own element of out, and to acc by atomics whose
 * order doesn't matter (one kind of operation an element); in is only read; local
 * memory is written at one's own place between two barriers. Barriers stand only where
 * all work-items come: under conditions and in loops over u variables, which hang on
 * arguments and group numbers alone. All arithmetic is on unsigned numbers, shifts and
 * indices are masked, divisors are odd.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

#define VARS 4		/* v0...: a work-item's own; u0, u1: the same in all of a group */
#define IN_MASK 255

struct writer {
	FILE *f;
	uint64_t seed;
	unsigned int indent, depth, loops, helpers;
	bool in_helper;		/* its index is `helpers`; it may call those below */
	bool barriers;		/* all work-items of the group come here */
	bool returns;		/* a work-item may return: no barrier behind */
	bool all;
	bool in_loop;		/* break and continue mean a loop without barriers */
};

static unsigned int pick(struct writer *w, unsigned int below)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(w->seed >> 33) % below;
}

static void line(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	unsigned int k;

	for (k = 0; k < w->indent; k++)
		fputc('\t', w->f);
	va_start(ap, fmt);
	vfprintf(w->f, fmt, ap);
	va_end(ap);
	fputc('\n', w->f);
}

static const char *const functions[] = {
	"get_global_id", "get_group_id", "get_local_id", "get_num_groups", "get_global_size",
	"get_global_offset", "WHICH", "get_local_size",
};

/* The same in all work-items of a group. */
static void uniform(struct writer *w, char *to, size_t size, int depth)
{
	char a[300], b[300];

	switch (depth > 0 ? pick(w, 7) : 3 + pick(w, 4)) {
	case 0: case 1: case 2:
		uniform(w, a, sizeof(a), depth - 1);
		uniform(w, b, sizeof(b), depth - 1);
		snprintf(to, size, "(%s %c %s)", a, "+*^-|"[pick(w, 5)], b);
		break;
	case 3:
		snprintf(to, size, "%uu", pick(w, 50));
		break;
	case 4:
		snprintf(to, size, "u%u", pick(w, 2));
		break;
	case 5:
		snprintf(to, size, "(uint)get_group_id(%u)", pick(w, 4));
		break;
	default:
		snprintf(to, size, "(uint)%s(%u)", functions[3 + pick(w, 5)], pick(w, 3));
		break;
	}
}

static void value(struct writer *w, char *to, size_t size, int depth)
{
	char a[600], b[600];

	switch (depth > 0 ? pick(w, 15) : 8 + pick(w, 7)) {
	case 0: case 1: case 2:
		value(w, a, sizeof(a), depth - 1);
		value(w, b, sizeof(b), depth - 1);
		snprintf(to, size, "(%s %c %s)", a, "+*^-|&"[pick(w, 6)], b);
		break;
	case 3:
		value(w, a, sizeof(a), depth - 1);
		/* By threes: two never make 32, a rotation, which Oclgrind doesn't know. */
		snprintf(to, size, "(%s %s %u)", a, pick(w, 2) ? ">>" : "<<", 3 * pick(w, 11));
		break;
	case 4:
		value(w, a, sizeof(a), depth - 1);
		value(w, b, sizeof(b), depth - 1);
		snprintf(to, size, "(%s / (%s | 1u))", a, b);
		break;
	case 5:
		value(w, a, sizeof(a), depth - 1);
		snprintf(to, size, "(%s > %uu ? v%u : (uint)%s(%u))", a, pick(w, 99), pick(w, VARS),
			 functions[pick(w, 8)], pick(w, 3));
		break;
	case 6:
		value(w, a, sizeof(a), depth - 1);
		/* From a table: of what has two bits clang makes switches Oclgrind can't. */
		if (w->all)
			snprintf(to, size, "(uint)%s(dims[%s & 3u])", functions[pick(w, 8)], a);
		else
			snprintf(to, size, "(%s | %uu)", a, pick(w, 8));
		break;
	case 7:
		value(w, a, sizeof(a), depth - 1);
		if (w->helpers)
			snprintf(to, size, "help%u(in, %s, v%u)", pick(w, w->helpers), a, pick(w, VARS));
		else
			snprintf(to, size, "(~%s)", a);
		break;
	case 8:
		snprintf(to, size, "%uu", pick(w, 1000));
		break;
	case 9:
		value(w, a, sizeof(a), 0);
		snprintf(to, size, "in[%s & %u]", a, IN_MASK);
		break;
	case 10:
		snprintf(to, size, "own[v%u & 3]", pick(w, VARS));
		break;
	case 11:
		snprintf(to, size, "(uint)%s(%u)", functions[pick(w, 8)], pick(w, 3));
		break;
	case 12:
		uniform(w, to, size, 1);
		break;
	default:
		snprintf(to, size, "v%u", pick(w, VARS));
		break;
	}
}

static void block(struct writer *w, int n);

static void assign(struct writer *w)
{
	static const char *const op[] = { "=", "+=", "^=", "*=", "-=", "|=" };
	char a[1300];

	value(w, a, sizeof(a), 3);
	if (pick(w, 4))
		line(w, "v%u %s %s;", pick(w, VARS), op[pick(w, 6)], a);
	else
		line(w, "own[%u] %s %s;", pick(w, 4), op[pick(w, 6)], a);
}

/* The statements of a branch or a loop; what is allowed there may be less. */
static void nested(struct writer *w, bool same_for_all, bool loop)
{
	struct writer kept = *w;

	w->indent++;
	w->depth++;
	w->barriers = kept.barriers && same_for_all;
	w->in_loop = loop ? !w->barriers : kept.in_loop && !w->barriers;
	block(w, 1 + pick(w, 3));
	if (w->in_loop && loop && pick(w, 3) == 0)
		line(w, "if (v%u & %uu) %s;", pick(w, VARS), 1u << pick(w, 8),
		     pick(w, 2) ? "break" : "continue");
	w->indent = kept.indent;
	w->depth = kept.depth;
	w->barriers = kept.barriers;
	w->in_loop = kept.in_loop;
}

static void branch(struct writer *w)
{
	bool same = pick(w, 2);
	char a[1300];

	if (same)
		uniform(w, a, sizeof(a), 1);
	else
		value(w, a, sizeof(a), 2);
	line(w, "if (%s & %uu) {", a, 1u << pick(w, 3));
	nested(w, same, false);
	if (pick(w, 2)) {
		line(w, "} else {");
		nested(w, same, false);
	}
	line(w, "}");
}

static void loop(struct writer *w)
{
	unsigned int name = w->loops++, n = 1 + pick(w, 4);
	bool same = pick(w, 2);

	if (same && pick(w, 2))
		line(w, "for (uint i%u = 0; i%u < (u%u & 3u); i%u++) {", name, name, pick(w, 2), name);
	else if (!same && pick(w, 2))
		line(w, "for (uint i%u = v%u & 3u; i%u < 5u; i%u++) {", name, pick(w, VARS), name, name);
	else
		line(w, "for (uint i%u = 0; i%u < %uu; i%u++) {", name, name, n, name);
	nested(w, same, true);
	line(w, "}");
}

static void choice(struct writer *w)
{
	struct writer kept = *w;

	/* Less 3, as clang makes a switch of 3 bits of what is below 7; Oclgrind can't. */
	line(w, "switch (v%u %% 7u - 3u) {", pick(w, VARS));
	line(w, "case 0:");
	w->in_loop = false;
	nested(w, false, false);
	w->in_loop = kept.in_loop;
	line(w, "\tbreak;");
	line(w, "case 1:");
	line(w, "\tv%u += %s(0);", pick(w, VARS), functions[pick(w, 8)]);
	line(w, "default:");
	line(w, "\tv%u ^= v%u;", pick(w, VARS), pick(w, VARS));
	line(w, "}");
}

/* Through local memory: one's own place, a barrier, another's place, a barrier. */
static void exchange(struct writer *w)
{
	unsigned int v = pick(w, VARS);
	char a[1300];

	value(w, a, sizeof(a), 2);
	line(w, "t[LID] = %s;", a);
	line(w, "SYNC;");
	line(w, "v%u += t[(LID + %uu) %% LSIZE];", v, pick(w, 9));
	line(w, "SYNC;");
}

static void atomic(struct writer *w)
{
	static const char *const op[] = { "add", "xor", "or", "max", "min", "and" };
	unsigned int which = pick(w, 6);
	char a[1300];

	value(w, a, sizeof(a), 2);
	line(w, "atomic_%s(&acc[%u + (v%u & 3u)], %s);", op[which], 4 * which, pick(w, VARS), a);
}

static void statement(struct writer *w)
{
	unsigned int kind = pick(w, 14);
	char a[300];

	if (w->barriers && kind < 4) {
		exchange(w);
	} else if (w->barriers && kind == 4) {
		uniform(w, a, sizeof(a), 2);
		line(w, "u%u = %s;", pick(w, 2), a);
	} else if (kind == 5 && !w->in_helper) {
		atomic(w);
	} else if (kind == 6 && w->returns && !w->barriers && w->depth) {
		line(w, "if (v%u & %uu) LEAVE;", pick(w, VARS), 1u << pick(w, 5));
	} else if (kind == 7 && w->barriers && w->all && !w->in_helper && !pick(w, 3)) {
		line(w, "if (v%u & %uu) LEAVE;", pick(w, VARS), 1u << pick(w, 5));
	} else if (kind == 8 && w->barriers && !w->in_helper && !pick(w, 4)) {
		line(w, "if ((get_group_id(0) & 7) == %uu) { out[OUT] = v%u; return; }", pick(w, 8),
		     pick(w, VARS));
	} else if (w->depth < 3 && kind == 9) {
		branch(w);
	} else if (w->depth < 2 && kind == 10) {
		loop(w);
	} else if (w->depth < 3 && kind == 11) {
		choice(w);
	} else {
		assign(w);
	}
}

static void block(struct writer *w, int n)
{
	while (n-- > 0)
		statement(w);
}

static void variables(struct writer *w, const char *a, const char *b)
{
	line(w, "uint own[4] = { 1, %s, 3, (uint)get_local_id(0) };", b);
	line(w, "uint v0 = %s, v1 = %s, v2 = in[(v0 + v1) & %u], v3 = 7;", a, b, IN_MASK);
}

/* A function that kernels and later ones call, with no barrier. */
static void helper(struct writer *w)
{
	static const char *const form[] = { "uint", "static uint", "static inline uint",
		"__attribute__((always_inline)) uint" };

	fprintf(w->f, "%s help%u(global const uint *in, uint a, uint b)\n{\n", form[pick(w, 4)],
		w->helpers);
	w->indent = 1;
	w->in_helper = true;
	line(w, "const uint u0 = a & 3u, u1 = b & 3u;");
	variables(w, "a", "b");
	block(w, 1 + pick(w, 4));
	line(w, "if (v0 & %uu)", 1u << pick(w, 4));
	line(w, "\treturn (uint)%s(%u);", functions[pick(w, 8)], pick(w, 3));
	line(w, "return v0 ^ v1 ^ v2 ^ v3 ^ own[0] ^ own[1] ^ own[2] ^ u0 ^ u1;");
	fprintf(w->f, "}\n\n");
	w->in_helper = false;
	w->helpers++;
}

static void launch(struct writer *w, unsigned int number, struct spec_run *r)
{
	unsigned int dims = 1 + pick(w, 3), d, at = 0;
	size_t items = 1, groups = 0, local, all = 1;
	char text[600], g[64] = "", l[64] = "", o[64] = "";

	for (d = 0; d < dims; d++) {
		local = items >= 16 ? 1 : 1 + pick(w, dims == 1 ? 17 : 5);
		groups = 1 + pick(w, dims == 1 ? 30 : dims == 2 ? 7 : 4);
		items *= local;
		all *= local * groups;
		at = strlen(g);
		snprintf(g + at, sizeof(g) - at, "%s%zu", d ? "x" : "", local * groups);
		at = strlen(l);
		snprintf(l + at, sizeof(l) - at, "%s%zu", d ? "x" : "", local);
		at = strlen(o);
		snprintf(o + at, sizeof(o) - at, "%s%u", d ? "x" : "", pick(w, 2) ? pick(w, 40) : 0);
	}
	snprintf(text, sizeof(text), "kern%u global=%s local=%s offset=%s: buf(uint,%zu,zero) "
		 "buf(uint,%u,random) buf(uint,24,random) uint(%u) uint(%u) local(%zu)", number, g, l,
		 o, all, IN_MASK + 1, pick(w, 9), pick(w, 9), items * 4);
	if (spec_run_parse(text, r))
		abort();
}

static void kernel(struct writer *w, unsigned int number, struct spec_run *r)
{
	launch(w, number, r);
	fprintf(w->f, "kernel void kern%u(global uint *out, global const uint *in, "
		"volatile global uint *acc,\n\t\tuint u0, uint u1, local uint *%s)\n{\n", number,
		number & 1 ? "t" : "given");
	w->indent = 1;
	w->depth = w->loops = 0;
	if (!(number & 1))
		line(w, "local uint t[%zu];", r->local[0] * r->local[1] * r->local[2]);
	variables(w, "LID", "u0");
	/* Who leaves early leaves this, or what it wrote last. */
	line(w, "t[LID] = v2;");
	line(w, "SYNC;");
	w->barriers = true;
	w->returns = false;
	block(w, 3 + pick(w, 5));
	line(w, "out[OUT] = v0 + v1 * 3u;");
	w->barriers = false;
	w->returns = true;
	w->depth = 1;
	block(w, 1 + pick(w, 4));
	line(w, "out[OUT] = v0 ^ v1 ^ v2 ^ v3 ^ own[0] ^ own[1] ^ own[2] ^ own[3] ^ u0 ^ u1;");
	fprintf(w->f, "}\n\n");
}

void generate(uint64_t seed, bool all, struct generated *g)
{
	struct writer w = { .seed = seed * 2654435761u + 12345, .all = all };
	unsigned int k;

	w.f = open_memstream(&g->text, &g->len);
	fprintf(w.f,
		"#define LID ((uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * "
		"get_local_size(0) + get_local_id(0)))\n"
		"#define LSIZE ((uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)))\n"
		"#define POS(d) (get_global_id(d) - get_global_offset(d))\n"
		"#define OUT ((POS(2) * get_global_size(1) + POS(1)) * get_global_size(0) + POS(0))\n"
		"#define SYNC barrier(CLK_LOCAL_MEM_FENCE)\n"
		"#define LEAVE do { out[OUT] = v1; return; } while (0)\n"
		"#define WHICH(d) %s(d)\n\n"
		"constant uint dims[4] = { 0, 1, 2, 4 };\n\n", functions[pick(&w, 6)]);
	for (k = pick(&w, 4); k > 0; k--)
		helper(&w);
	for (k = 0; k < GENERATE_KERNELS; k++)
		kernel(&w, k, &g->run[k]);
	fclose(w.f);
}

void generate_free(struct generated *g)
{
	free(g->text);
}
