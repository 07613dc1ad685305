// SPDX-License-Identifier: MIT
/*
 * Loops that wait for memory to change, which others do: blocks of the same grid, or
 * programs elsewhere. A part of a grid must not wait so for the rest of it.
 *
 * A loop is a branch back over some text. It waits if that text reads memory in a way
 * that is made for seeing others' writes (looks_at_memory(), here or in a function that
 * is called), or if a branch in it goes by what an atomic operation gave, or a plain
 * load of a function with fences. Which values come from those is followed through
 * registers, and through shared, local and parameter memory, each taken as a whole, as
 * unoptimised code keeps everything there and one thread may look for all.
 *
 * It errs on the side of waiting: a loop that only updates (compare and swap), or takes
 * work by a counter, is said to wait too.
 */
#include <errno.h>
#include <stdlib.h>

#include "facts.h"

#define ROUNDS	8	/* through the text; then everything is taken to come from there */

struct look {
	const struct module_facts *mf;
	const struct ptx_module *m;
	const struct ptx_function *f;
	uint8_t *reg;		/* its value comes from a look */
	bool memory[PTX_SPACE_TEX + 1];	/* so does something there */
	bool fences, any, changed;
};

bool looks_at_memory(const struct ptx_opcode *o)
{
	enum ptx_space space = ptx_opcode_space(o);

	if (space != PTX_SPACE_NONE && space != PTX_SPACE_GLOBAL)
		return false;
	if (o->op == PTX_OP_ld || o->op == PTX_OP_multimem)
		return ptx_has_mod(o, "volatile") || ptx_has_mod(o, "relaxed") ||
		       ptx_has_mod(o, "acquire") || ptx_has_mod(o, "mmio") ||
		       ptx_has_mod(o, "cv");
	return o->op == PTX_OP_atom && (ptx_has_mod(o, "cas") || ptx_has_mod(o, "exch"));
}

static const struct function_facts *callee(const struct look *k, const struct ptx_stmt *s)
{
	uint32_t i = ptx_call_target(k->m, s);

	return &k->mf->f[i == PTX_NONE ? k->mf->indirect : i];
}

static bool is_sure(const struct look *k, const struct ptx_stmt *s, const struct ptx_opcode *o)
{
	return o->op == PTX_OP_call ? callee(k, s)->all & FACT(F_LOOKS) : looks_at_memory(o);
}

/* What may be a look, by what is done with it. */
static bool is_possible(const struct look *k, const struct ptx_stmt *s, const struct ptx_opcode *o)
{
	enum ptx_space space = ptx_opcode_space(o);

	if (o->op == PTX_OP_call)
		return callee(k, s)->all & (FACT(F_LOOKS) | FACT(F_ATOMICS));
	if (space != PTX_SPACE_NONE && space != PTX_SPACE_GLOBAL)
		return false;
	return o->op == PTX_OP_atom || looks_at_memory(o) ||
	       (o->op == PTX_OP_ld && k->fences && !ptx_has_mod(o, "nc"));
}

static bool comes_from_look(const struct look *k, const struct ptx_operand *o, int depth)
{
	uint32_t i;

	if (o->kind == PTX_REG && o->ref - k->f->first_reg < k->f->n_regs &&
	    k->reg[o->ref - k->f->first_reg])
		return true;
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		if (comes_from_look(k, &k->m->operands[o->child + i], depth + 1))
			return true;
	return false;
}

static void mark(struct look *k, const struct ptx_operand *o, int depth)
{
	uint32_t i;

	if (o->kind == PTX_REG && o->ref - k->f->first_reg < k->f->n_regs &&
	    !k->reg[o->ref - k->f->first_reg]) {
		k->reg[o->ref - k->f->first_reg] = 1;
		k->changed = true;
	}
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		mark(k, &k->m->operands[o->child + i], depth + 1);
}

static void mark_memory(struct look *k, enum ptx_space space)
{
	k->changed |= !k->memory[space];
	k->memory[space] = true;
}

/* Shared memory, the stack, and what goes to and comes from a call. */
static bool is_kept(enum ptx_space space)
{
	return space == PTX_SPACE_SHARED || space == PTX_SPACE_LOCAL ||
	       space == PTX_SPACE_PARAM || space == PTX_SPACE_NONE;
}

static void statement(struct look *k, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(k->m, s);
	enum ptx_space space = ptx_opcode_space(o);
	bool from = is_possible(k, s, o);
	uint32_t i, results = o->results;

	if (o->op == PTX_OP_call) {
		results = s->n_args && k->m->operands[s->args].kind == PTX_LIST;
		if (from)
			mark_memory(k, PTX_SPACE_PARAM);
	}
	from |= s->pred != PTX_NONE && comes_from_look(k, &k->m->operands[s->pred], 0);
	for (i = results; i < s->n_args && !from; i++)
		from = comes_from_look(k, &k->m->operands[s->args + i], 0);
	if (o->op == PTX_OP_st && from && is_kept(space))
		mark_memory(k, space);
	if (o->op == PTX_OP_ld && is_kept(space))	/* a generic address may be anywhere */
		from |= k->memory[space] || k->memory[PTX_SPACE_NONE] ||
			(space == PTX_SPACE_NONE && (k->memory[PTX_SPACE_SHARED] ||
						     k->memory[PTX_SPACE_LOCAL]));
	for (i = 0; from && i < results && i < s->n_args; i++)
		mark(k, &k->m->operands[s->args + i], 0);
}

static void follow(struct look *k)
{
	uint32_t i, rounds = 0;

	do {
		k->changed = false;
		for (i = k->f->body; i < k->f->body + k->f->n_body; i++)
			if (k->m->stmts[i].kind == PTX_INSTR)
				statement(k, &k->m->stmts[i]);
	} while (k->changed && ++rounds < ROUNDS);
	k->any = k->changed;
}

/* Does the thread's way depend on what was seen? */
static bool goes_by_look(const struct look *k, const struct ptx_stmt *s,
			 const struct ptx_opcode *o)
{
	if (!(o->class & PTX_FLOW))
		return false;
	if (s->pred != PTX_NONE)
		return k->any || comes_from_look(k, &k->m->operands[s->pred], 0);
	return o->op == PTX_OP_brx && s->n_args &&
	       (k->any || comes_from_look(k, &k->m->operands[s->args], 0));
}

/* Where in the text these were last, behind its first statement; 0: not yet */
struct last {
	uint32_t sure, possible, branch;
};

/* Whether the statement, which goes back, closes a loop that waits. */
static bool closes(const struct look *k, const struct ptx_stmt *s, const struct last *last)
{
	const struct ptx_operand *to = ptx_arg(k->m, s, 0);
	uint32_t from;

	if (ptx_opcode(k->m, s)->op != PTX_OP_bra || !to || to->kind != PTX_LABEL)
		return false;
	from = k->m->labels[to->ref].stmt - k->f->body + 1;
	return last->sure >= from || (last->possible >= from && last->branch >= from);
}

static bool find(struct look *k, uint32_t *line, bool possible_too)
{
	struct last last = { 0 };
	uint32_t i;

	for (i = 0; i < k->f->n_body; i++) {
		const struct ptx_stmt *s = &k->m->stmts[k->f->body + i];
		const struct ptx_opcode *o;

		if (s->kind != PTX_INSTR)
			continue;
		o = ptx_opcode(k->m, s);
		if (is_sure(k, s, o))
			last.sure = i + 1;
		if (possible_too && is_possible(k, s, o))
			last.possible = i + 1;
		if (possible_too && goes_by_look(k, s, o))
			last.branch = i + 1;
		if (closes(k, s, &last)) {
			*line = s->line;
			return true;
		}
	}
	return false;
}

/* One of those that are worth following is here, and a way back. */
static bool is_worth_following(struct look *k)
{
	bool possible = false, back = false;
	uint32_t i;

	for (i = k->f->body; i < k->f->body + k->f->n_body; i++) {
		const struct ptx_stmt *s = &k->m->stmts[i];
		const struct ptx_operand *to = ptx_arg(k->m, s, 0);

		if (s->kind != PTX_INSTR)
			continue;
		switch (ptx_opcode(k->m, s)->op) {
		case PTX_OP_membar:
		case PTX_OP_fence:
		case PTX_OP_nanosleep:
			k->fences = true;
			break;
		case PTX_OP_bra:
			back |= to && to->kind == PTX_LABEL && k->m->labels[to->ref].stmt < i;
			break;
		default:
			break;
		}
	}
	for (i = k->f->body; back && !possible && i < k->f->body + k->f->n_body; i++)
		possible = k->m->stmts[i].kind == PTX_INSTR &&
			   is_possible(k, &k->m->stmts[i], ptx_opcode(k->m, &k->m->stmts[i]));
	return possible;
}

int waits_find(const struct module_facts *mf, const struct ptx_module *m, uint32_t function,
	       uint32_t *line)
{
	struct look k = { .mf = mf, .m = m, .f = &m->functions[function] };
	bool found;

	if (!is_worth_following(&k))
		return 0;
	found = find(&k, line, false);
	if (found)
		return 1;
	k.reg = calloc((size_t)k.f->n_regs + 1, 1);
	if (!k.reg)
		return -ENOMEM;
	follow(&k);
	found = find(&k, line, true);
	free(k.reg);
	return found;
}
