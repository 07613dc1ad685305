// SPDX-License-Identifier: MIT
/*
 * Which of a kernel's parameters are addresses, read or written behind.
 *
 * Each register carries the set of parameters that its value may come from; a
 * pass over the statements adds to the sets until nothing changes. Three bits
 * stand for other origins: a pointer that was itself loaded (ANY), memory that
 * has a name (NAMED), parameters beyond the 60th (MORE). Only 64-bit values can be
 * pointers, so a 32-bit index that was loaded doesn't spoil the address it's added
 * to. What is stored somewhere or passed on may be used for anything. Where it
 * doesn't settle within a few passes, everything may be written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform.h"

#define PARAMS	60
#define MORE	(1ull << 60)
#define NAMED	(1ull << 61)
#define ANY	(1ull << 62)
#define PASSES	24

struct origins {
	const struct ptx_module *m;
	const struct ptx_function *f;
	uint64_t *reg;
	uint64_t read, written;
	bool changed;
};

static bool is_wide(const struct origins *g, uint32_t reg)
{
	uint8_t t = g->m->regs[reg].type;

	return t == PTX_T_B64 || t == PTX_T_U64 || t == PTX_T_S64 || t == PTX_T_B128;
}

static uint64_t of_variable(const struct origins *g, uint32_t var)
{
	if (var >= g->f->params && var < g->f->params + g->f->n_params) {
		var -= g->f->params;
		return var < PARAMS ? 1ull << var : MORE;
	}
	return NAMED;
}

static uint64_t of_operand(const struct origins *g, const struct ptx_operand *o, int depth)
{
	uint64_t set = 0;
	uint32_t i;

	if (o->kind == PTX_REG && o->ref >= g->f->first_reg &&
	    o->ref - g->f->first_reg < g->f->n_regs)
		return g->reg[o->ref - g->f->first_reg];
	if (o->kind == PTX_VARIABLE || o->kind == PTX_INDEX)
		set = of_variable(g, o->ref);
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		set |= of_operand(g, &g->m->operands[o->child + i], depth + 1);
	return set;
}

static void give(struct origins *g, const struct ptx_operand *o, uint64_t set, int depth)
{
	uint64_t *r;
	uint32_t i;

	if (o->kind == PTX_REG && o->ref >= g->f->first_reg &&
	    o->ref - g->f->first_reg < g->f->n_regs) {
		r = &g->reg[o->ref - g->f->first_reg];
		if (g->m->regs[o->ref].type != PTX_T_PRED && set & ~*r) {
			*r |= set;
			g->changed = true;
		}
	}
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		give(g, &g->m->operands[o->child + i], set, depth + 1);
}

/* A loaded value is a pointer from anywhere only if it's wide enough for one. */
static uint64_t loaded(const struct origins *g, const struct ptx_operand *to)
{
	uint32_t i;

	if (to->kind == PTX_REG)
		return is_wide(g, to->ref) ? ANY : 0;
	for (i = 0; i < to->n_children; i++)
		if (loaded(g, &g->m->operands[to->child + i]))
			return ANY;
	return 0;
}

static uint64_t address(const struct origins *g, const struct ptx_operand *o)
{
	uint64_t set = of_operand(g, o, 0);

	return set ? set : ANY;
}

static void load(struct origins *g, const struct ptx_stmt *s, enum ptx_space space)
{
	const struct ptx_operand *to = ptx_arg(g->m, s, 0), *from = ptx_arg(g->m, s, 1);
	uint64_t set;

	if (!from)
		return;
	if (space == PTX_SPACE_PARAM) {
		set = of_operand(g, from, 0);
		give(g, to, set & ~NAMED ? set & ~NAMED : loaded(g, to), 0);
		return;
	}
	if (space == PTX_SPACE_NONE || space == PTX_SPACE_GLOBAL)
		g->read |= address(g, from);
	give(g, to, loaded(g, to), 0);
}

/* Stores, atomics, copies, calls and what isn't known. */
static void other_memory(struct origins *g, const struct ptx_stmt *s, const struct ptx_opcode *o,
			 enum ptx_space space)
{
	bool outside = space == PTX_SPACE_NONE || space == PTX_SPACE_GLOBAL || o->op == PTX_OP_cp;
	const struct ptx_operand *a;
	uint64_t set;
	uint32_t i;

	for (i = 0; i < s->n_args; i++) {
		a = ptx_arg(g->m, s, i);
		if (a->kind == PTX_ADDRESS) {
			if (!outside)
				continue;
			set = address(g, a);
			if (o->op != PTX_OP_st)
				g->read |= set;
			if (o->class & PTX_STORE && !(o->op == PTX_OP_cp && i))
				g->written |= set;
		} else if (i < o->results) {
			give(g, a, loaded(g, a), 0);
		} else if (a->kind != PTX_REG || is_wide(g, a->ref)) {
			/* where it's stored, others may take it up */
			set = of_operand(g, a, 0) & ~NAMED;
			g->read |= set;
			g->written |= set;
		}
	}
}

static void texture(struct origins *g, const struct ptx_stmt *s, const struct ptx_opcode *o)
{
	uint64_t set = 0;
	uint32_t i;

	for (i = o->results; i < s->n_args; i++)
		if (ptx_arg(g->m, s, i)->kind == PTX_ADDRESS)
			set |= of_operand(g, ptx_arg(g->m, s, i), 0);
	g->read |= set;
	if (o->op == PTX_OP_sust || o->op == PTX_OP_sured)
		g->written |= set;
}

static void statement(struct origins *g, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(g->m, s);
	enum ptx_space space = o->space;
	uint64_t set = 0;
	uint32_t i;

	if (!s->n_args || o->op == PTX_OP_call)
		return;	/* arguments were stored to .param, results are loaded */
	if (o->op == PTX_OP_ld || o->op == PTX_OP_ldu) {
		load(g, s, space);
	} else if (o->class & PTX_TEXTURE) {
		texture(g, s, o);
	} else if (o->class & (PTX_LOAD | PTX_STORE | PTX_ASYNC)) {
		other_memory(g, s, o, space);
	} else if (o->results) {
		for (i = o->results; i < s->n_args; i++)
			set |= of_operand(g, ptx_arg(g->m, s, i), 0);
		/* two halves make a pointer */
		if (o->op == PTX_OP_mov && ptx_arg(g->m, s, 1) &&
		    ptx_arg(g->m, s, 1)->kind == PTX_VECTOR)
			set |= loaded(g, ptx_arg(g->m, s, 0));
		give(g, ptx_arg(g->m, s, 0), set, 0);
	}
}

int pointers_find(const struct ptx_module *m, const struct ptx_function *f, uint32_t *flags,
		  uint32_t *kernel_flags)
{
	struct origins g = { .m = m, .f = f };
	uint32_t i, pass = 0;
	uint64_t bit;

	g.reg = calloc((size_t)f->n_regs + 1, sizeof(*g.reg));
	if (!g.reg)
		return -ENOMEM;
	do {
		g.changed = false;
		for (i = f->body; i < f->body + f->n_body; i++)
			if (m->stmts[i].kind == PTX_INSTR)
				statement(&g, &m->stmts[i]);
	} while (g.changed && ++pass < PASSES);
	if (g.changed)
		g.read = g.written = ~0ull;
	free(g.reg);
	for (i = 0; i < f->n_params; i++) {
		if (m->vars[f->params + i].size < 8)
			continue;
		bit = i < PARAMS ? 1ull << i : MORE;
		flags[i] = (g.read & bit ? GSX_PARAM_READ : 0) |
			   (g.written & bit ? GSX_PARAM_WRITTEN : 0);
		if (flags[i] || m->vars[f->params + i].pointer)
			flags[i] |= GSX_PARAM_POINTER;
	}
	*kernel_flags |= (g.read & ANY ? GSX_READS_ANY : 0) |
			 (g.written & ANY ? GSX_WRITES_ANY : 0);
	return 0;
}
