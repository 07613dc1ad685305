// SPDX-License-Identifier: MIT
/*
 * Which branches may part the threads of a block, or the lanes of a warp.
 *
 * Each register gets the least spread that all its definitions allow: constants,
 * parameters and the grid's registers are the same in a block; %tid.y and %tid.z,
 * and %tid.x without its low five bits, are the same in a warp whose lanes lie in
 * one row of the block (SAME_IN_ROWS); loads from memory and all else may differ.
 *
 * A register with several definitions also takes the spread of the branches that
 * decide which of them happened, and so does one that is defined in a loop: in some
 * rounds it may not be, and keeps the value of an earlier one. The branches are found
 * by the blocks between a branch and its nearest post-dominator, but only if the sides
 * of the branch can meet before it: after `if (i >= n) return;` those who are left
 * still agree on everything else. Loops that lanes leave at different times are such a
 * case too, as the branch that leaves is followed by itself.
 *
 * Work is limited: with too many blocks all branches are taken to differ.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define ROUNDS	64
#define STEPS	4000000u	/* blocks looked at for the regions of branches */

struct spreads {
	const struct cfg *g;
	const struct ptx_module *m;
	const struct ptx_function *f;
	uint8_t *reg;		/* spread of each register */
	uint8_t *is_tid;	/* exactly %tid.x */
	uint8_t *defs;		/* 0, 1, 2: two or more */
	uint8_t *block;		/* spread that the block's definitions take on */
	uint8_t *done;		/* spread of the branch when its region was marked */
	uint32_t *seen;
	uint32_t stamp, steps;
	bool changed;
	bool in_loop;		/* the block at hand may be come to again */
};

static uint8_t *reg_spread(struct spreads *s, uint32_t reg)
{
	return reg >= s->f->first_reg && reg - s->f->first_reg < s->f->n_regs ?
	       &s->reg[reg - s->f->first_reg] : NULL;
}

static uint8_t of_special(const struct ptx_operand *o)
{
	switch (o->ref) {
	case PTX_SR_ntid: case PTX_SR_ctaid: case PTX_SR_nctaid: case PTX_SR_gridid:
	case PTX_SR_nsmid: case PTX_SR_nwarpid: case PTX_SR_dynamic_smem_size:
	case PTX_SR_total_smem_size: case PTX_SR_aggr_smem_size:
		return SAME_IN_BLOCK;
	case PTX_SR_tid:
		return o->component == 'y' || o->component == 'z' ? SAME_IN_ROWS : DIFFERS;
	default:
		return DIFFERS;
	}
}

static uint8_t of_operand(struct spreads *s, const struct ptx_operand *o, int depth)
{
	uint8_t level = SAME_IN_BLOCK, *r, l;
	uint32_t i;

	switch (o->kind) {
	case PTX_SPECIAL:
		return of_special(o);
	case PTX_REG:
		r = reg_spread(s, o->ref);
		return r ? *r : DIFFERS;
	default:
		break;
	}
	if (depth > PTX_DEPTH)
		return DIFFERS;
	for (i = 0; i < o->n_children; i++) {
		l = of_operand(s, &s->m->operands[o->child + i], depth + 1);
		level = l > level ? l : level;
	}
	return level;
}

static bool is_tid_x(struct spreads *s, const struct ptx_operand *o)
{
	if (!o)
		return false;
	if (o->kind == PTX_SPECIAL)
		return o->ref == PTX_SR_tid && o->component == 'x';
	return o->kind == PTX_REG && reg_spread(s, o->ref) &&
	       s->is_tid[o->ref - s->f->first_reg];
}

/* Tests and shifts of %tid.x that come out the same for lanes 32k .. 32k + 31. */
static bool same_in_row(struct spreads *s, const struct ptx_stmt *st, const struct ptx_opcode *o)
{
	const struct ptx_operand *a = ptx_arg(s->m, st, 1), *b = ptx_arg(s->m, st, 2);

	if (st->n_args != 3 || !is_tid_x(s, a) || b->kind != PTX_INT)
		return false;
	switch (o->op) {
	case PTX_OP_shr:
		return b->imm >= 5;
	case PTX_OP_and:
		return !(b->imm & 31);
	case PTX_OP_div:
		return b->imm && !(b->imm & 31);
	case PTX_OP_setp:
		if (ptx_has_mod(o, "lt") || ptx_has_mod(o, "ge") || ptx_has_mod(o, "lo") ||
		    ptx_has_mod(o, "hs"))
			return !(b->imm & 31);
		if (ptx_has_mod(o, "gt") || ptx_has_mod(o, "le") || ptx_has_mod(o, "hi") ||
		    ptx_has_mod(o, "ls"))
			return (b->imm & 31) == 31;
		return false;
	default:
		return false;
	}
}

static uint8_t of_result(struct spreads *s, const struct ptx_stmt *st, const struct ptx_opcode *o)
{
	uint8_t level = SAME_IN_BLOCK, l;
	uint32_t i;

	if (o->class & PTX_BARRIER)	/* a reduction over the block, or over a part of it */
		return barrier_counts(s->m, st) ? DIFFERS : SAME_IN_BLOCK;
	if (o->op == PTX_OP_ld) {
		if (o->space != PTX_SPACE_PARAM && o->space != PTX_SPACE_CONST)
			return DIFFERS;
	} else if (!(o->class & PTX_PURE)) {
		return DIFFERS;
	}
	if (same_in_row(s, st, o))
		return SAME_IN_ROWS;
	for (i = 1; i < st->n_args; i++) {
		l = of_operand(s, &s->m->operands[st->args + i], 0);
		level = l > level ? l : level;
	}
	/* what a call returned is loaded from .param as well */
	if (o->op == PTX_OP_ld && ptx_arg(s->m, st, 1) && ptx_arg(s->m, st, 1)->n_children) {
		const struct ptx_operand *a = &s->m->operands[ptx_arg(s->m, st, 1)->child];

		if (o->space == PTX_SPACE_PARAM &&
		    (a->kind != PTX_VARIABLE || a->ref < s->f->params ||
		     a->ref >= s->f->params + s->f->n_params))
			return DIFFERS;
	}
	return level;
}

static void define(struct spreads *s, const struct ptx_operand *o, uint8_t level, uint8_t block,
		   bool tid, int depth)
{
	uint8_t *r;
	uint32_t i;

	if (o->kind == PTX_REG) {
		r = reg_spread(s, o->ref);
		if (!r)
			return;
		if (s->defs[o->ref - s->f->first_reg] > 1 || s->in_loop)
			level = level > block ? level : block;
		tid &= s->defs[o->ref - s->f->first_reg] < 2;
		s->is_tid[o->ref - s->f->first_reg] = tid;
		if (level > *r) {
			*r = level;
			s->changed = true;
		}
	}
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		define(s, &s->m->operands[o->child + i], level, block, false, depth + 1);
}

static void statement(struct spreads *s, const struct ptx_stmt *st, uint8_t block)
{
	const struct ptx_opcode *o = ptx_opcode(s->m, st);
	uint8_t level, pred;
	bool tid;
	uint32_t i;

	if (o->op == PTX_OP_call) {
		if (st->n_args && s->m->operands[st->args].kind == PTX_LIST)
			define(s, &s->m->operands[st->args], DIFFERS, DIFFERS, false, 0);
		return;
	}
	if (!o->results || !st->n_args)
		return;
	level = of_result(s, st, o);
	tid = o->op == PTX_OP_mov && st->pred == PTX_NONE && is_tid_x(s, ptx_arg(s->m, st, 1));
	if (st->pred != PTX_NONE) {	/* else the old value stays */
		pred = of_operand(s, &s->m->operands[st->pred], 0);
		level = pred > level ? pred : level;
	}
	for (i = 0; i < o->results && i < st->n_args; i++)
		define(s, &s->m->operands[st->args + i], level, block, tid, 0);
}

static void count_defs(struct spreads *s, const struct ptx_operand *o, bool twice, int depth)
{
	uint32_t i;

	if (o->kind == PTX_REG && reg_spread(s, o->ref)) {
		uint8_t *d = &s->defs[o->ref - s->f->first_reg];

		*d = *d || twice ? 2 : 1;
	}
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		count_defs(s, &s->m->operands[o->child + i], twice, depth + 1);
}

static void count_all_defs(struct spreads *s)
{
	uint32_t i, k;

	for (i = s->f->body; i < s->f->body + s->f->n_body; i++) {
		const struct ptx_stmt *st = &s->m->stmts[i];
		uint32_t results;

		if (st->kind != PTX_INSTR || !st->n_args)
			continue;
		results = ptx_opcode(s->m, st)->results;
		if (ptx_opcode(s->m, st)->op == PTX_OP_call)
			results = s->m->operands[st->args].kind == PTX_LIST;
		for (k = 0; k < results && k < st->n_args; k++)
			count_defs(s, &s->m->operands[st->args + k], st->pred != PTX_NONE, 0);
	}
}

/* Stamps what is reached from `from` before `stop`; true if it meets `other`. */
static bool reach(struct spreads *s, uint32_t from, uint32_t stop, uint32_t other)
{
	const struct flow *g = &s->g->f;
	uint32_t depth = 0, b, k, to;
	bool met;

	if (from == stop || from == g->n)
		return false;
	g->stack[depth++] = from;
	met = other && s->seen[from] == other;
	s->seen[from] = s->stamp;
	while (depth && s->steps < STEPS) {
		b = g->stack[--depth];
		for (k = 0; k < g->blocks[b].n_edges; k++) {
			s->steps++;
			to = g->edges[g->blocks[b].edge + k];
			if (to == stop || to == g->n || s->seen[to] == s->stamp)
				continue;
			met |= other && s->seen[to] == other;
			s->seen[to] = s->stamp;
			g->stack[depth++] = to;
		}
	}
	return met;
}

/* Marks the blocks whose definitions depend on which way block x went. */
static void mark_region(struct spreads *s, uint32_t x, uint8_t level)
{
	const struct flow *g = &s->g->f;
	const struct flow_block *b = &g->blocks[x];
	uint32_t stop = b->ipdom, first = s->stamp + 1, k, i;
	bool met = b->n_edges > 2;

	for (k = 0; k < b->n_edges; k++) {
		s->stamp++;
		met |= reach(s, g->edges[b->edge + k], stop, k ? s->stamp - 1 : 0);
	}
	/* sides that meet only at the post-dominator part who comes there from where */
	met |= stop != FLOW_NONE && stop != g->n;
	if (!met)
		return;
	for (i = 0; i < g->n; i++)
		if (s->seen[i] >= first && s->block[i] < level) {
			s->block[i] = level;
			s->changed = true;
		}
	s->steps += g->n;
}

static uint8_t branch_spread(struct spreads *s, uint32_t b)
{
	const struct ptx_stmt *st;

	if (s->g->f.blocks[b].n_edges < 2)
		return SAME_IN_BLOCK;
	st = &s->m->stmts[cfg_last(s->g, b)];
	if (st->pred != PTX_NONE)
		return of_operand(s, &s->m->operands[st->pred], 0);
	return ptx_arg(s->m, st, 0) ? of_operand(s, ptx_arg(s->m, st, 0), 0) : DIFFERS;
}

static void one_round(struct spreads *s)
{
	const struct cfg *g = s->g;
	uint32_t b, i;
	uint8_t level;

	for (b = 0; b < g->f.n; b++) {
		s->in_loop = g->f.blocks[b].in_loop;
		for (i = g->first[b]; i < g->first[b + 1]; i++)
			if (s->m->stmts[i].kind == PTX_INSTR)
				statement(s, &s->m->stmts[i], s->block[b]);
		level = branch_spread(s, b);
		if (level > s->done[b] && s->steps < STEPS) {
			s->done[b] = level;
			mark_region(s, b, level);
		}
	}
}

static int get_memory(struct spreads *s)
{
	size_t blocks = (size_t)s->g->f.n + 1, regs = (size_t)s->f->n_regs + 1;

	s->reg = calloc(regs, 3);
	s->block = calloc(blocks, 2);
	s->seen = calloc(blocks, sizeof(*s->seen));
	if (!s->reg || !s->block || !s->seen)
		return -ENOMEM;
	s->is_tid = s->reg + regs;
	s->defs = s->is_tid + regs;
	s->done = s->block + blocks;
	return 0;
}

int spread_find(struct cfg *g, const struct ptx_module *m, const struct ptx_function *f,
		uint8_t *branch)
{
	struct spreads s = { .g = g, .m = m, .f = f };
	uint32_t i, rounds = 0;
	int err = get_memory(&s);

	if (!err) {
		count_all_defs(&s);
		flow_find_ipdoms(&g->f);
		err = g->f.err;
		if (g->f.lost)
			s.steps = STEPS;
	}
	if (!err) {
		do {
			s.changed = false;
			one_round(&s);
		} while (s.changed && ++rounds < ROUNDS && s.steps < STEPS);
		for (i = 0; i < g->f.n; i++)
			branch[i] = s.changed || s.steps >= STEPS ? DIFFERS : branch_spread(&s, i);
	}
	free(s.reg);
	free(s.block);
	free(s.seen);
	return err;
}
