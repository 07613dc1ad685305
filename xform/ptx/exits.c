// SPDX-License-Identifier: MIT
/*
 * May some threads be done while others still wait for company, and what to do then.
 *
 * On a GPU a thread that ends counts as present in every later barrier and warp-wide
 * operation. In a workers' loop it doesn't end, so this has to be known. A thread is
 * done with such meetings where it *crosses*: it comes from a place from where one can
 * be reached to one from where none can. Threads cross together, and nothing is to be
 * done, if all of those that meet do the same up to there: then no branch on which they
 * may differ (see spread.c) is one where some cross, and after each other one all its
 * sides come to the same place next, of those where something happens (an *event*).
 *
 * For barriers the answer decides whether threads park (prologue.c).
 *
 * For warps there is more. The hardware forgives a mask that names lanes which have
 * ended: the others don't wait for them. So where only some lanes cross, all lanes
 * vote who stays just before, and later masks are narrowed to those:
 *
 *	@%p1 bra DONE;			vote.sync.ballot.b32 %gsx_live, !%p1, %gsx_live;
 *					@%p1 bra DONE;
 *	shfl.sync.down ..., %r5;	and.b32 %gsx_mask, %r5, %gsx_live;
 *					shfl.sync.down ..., %gsx_mask;
 *
 * The operation then has the lanes that it has in the original: those of its mask that
 * haven't ended. What the program sees is the same too, as no operation returns its mask
 * and activemask names only who executes it. That all who are left come to the vote is
 * what the events are for: votes and crossings are some, and where there are votes
 * barriers as well, in which lanes that have voted would wait for those that haven't.
 *
 * Not all can be done so: who waits in a loop for what another lane writes must not wait
 * for it in a vote; an operation without a mask, as mma, has none to be narrowed; what a
 * function does isn't followed.
 *
 * One thing is taken for granted, as CUDA demands it: that lanes which are named in a
 * mask and haven't ended come to that operation. So operations themselves are no events,
 * and sides of a branch may end in operations of their own, if all of them or none name
 * the whole warp.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define STEPS	4000000u	/* blocks looked at for what follows branches */

enum event {
	NOTHING,
	EVENT,
	ENDS_APART,	/* the last operations, and their masks name a part of the warp */
	ENDS_WHOLE	/* the last ones, and one is for the whole warp */
};

struct meeting {
	const struct cfg *g;
	const struct ptx_module *m;
	const struct ptx_function *f;
	const struct module_facts *mf;
	const uint8_t *branch;	/* spread of each block's branch */
	bool warp;		/* warp-wide operations, else barriers */
	uint8_t *some;		/* one is in the block */
	uint8_t *finds;		/* one can be reached from its start */
	uint8_t *event;
	uint8_t *votes;		/* lanes part here for good */
	uint32_t *stack, *seen, stamp, steps;
	bool any_votes, needs_rows;
	uint32_t line;		/* 0, or why it can't be */
	const char *why;
};

static void object(struct meeting *q, uint32_t line, const char *why)
{
	if (q->line)
		return;
	q->line = line;
	q->why = why;
}

static uint32_t callee_facts(const struct meeting *q, const struct ptx_stmt *s)
{
	uint32_t callee = ptx_call_target(q->m, s);

	return q->mf->f[callee == PTX_NONE ? q->mf->indirect : callee].all;
}

static bool is_barrier(const struct meeting *q, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(q->m, s);

	if (o->op == PTX_OP_call)
		return callee_facts(q, s) & FACT(F_BARRIER);
	return o->class & PTX_BARRIER && barrier_kind(q->m, s) != BARRIER_HARMLESS;
}

static bool meets(const struct meeting *q, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o;

	if (s->kind != PTX_INSTR)
		return false;
	if (!q->warp)
		return is_barrier(q, s);
	o = ptx_opcode(q->m, s);
	return o->op == PTX_OP_call ? callee_facts(q, s) & FACT(F_WARP) : o->class & PTX_WARP;
}

/* A callee may meet one on some of its ways only. */
static bool is_certain(const struct meeting *q, const struct ptx_stmt *s)
{
	return s->pred == PTX_NONE && ptx_opcode(q->m, s)->op != PTX_OP_call;
}

/* Those of the warp-wide operations that name their lanes: in the last operand. */
static const struct ptx_operand *mask_of(const struct ptx_module *m, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(m, s);
	uint32_t args;

	switch (o->op) {
	case PTX_OP_shfl:
		args = 5;
		break;
	case PTX_OP_vote: case PTX_OP_match: case PTX_OP_redux:
		args = 3;
		break;
	case PTX_OP_elect:
		args = 2;
		break;
	case PTX_OP_bar: case PTX_OP_barrier:
		args = 1;
		break;
	default:
		return NULL;
	}
	return ptx_has_mod(o, "sync") && s->n_args == args ? ptx_arg(m, s, args - 1) : NULL;
}

uint32_t warp_mask_begin(const struct ptx_module *m, const struct ptx_stmt *s, uint32_t *end)
{
	const struct ptx_operand *mask = mask_of(m, s);
	const char *t = m->text;
	uint32_t at = s->end, before;
	const struct ptx_symbol *sym;

	if (!mask || mask->not || mask->component || at == s->begin || t[--at] != ';')
		return 0;
	while (at > s->begin && strchr(" \t\r\n", t[at - 1]))
		at--;
	*end = at;
	if (mask->kind == PTX_REG) {
		sym = &m->syms[mask->sym];
		if (at - s->begin <= sym->len || memcmp(t + at - sym->len, sym->s, sym->len))
			return 0;
		at -= sym->len;
	} else if (mask->kind == PTX_INT) {
		while (at > s->begin && strchr("0123456789abcdefABCDEFxXU", t[at - 1]))
			at--;
		if (at == *end)
			return 0;
		at -= t[at - 1] == '-';
	} else {
		return 0;
	}
	/* it stands alone: behind a comma, or behind the opcode */
	for (before = at; before > s->begin && strchr(" \t\r\n", t[before - 1]); before--)
		;
	return t[before - 1] == ',' || (s->n_args == 1 && before < at) ? at : 0;
}

/* The whole warp, by a number or a register that is nothing else; or it has no mask. */
static bool is_whole(struct meeting *q, const struct ptx_stmt *s)
{
	const struct ptx_operand *mask = mask_of(q->m, s), *to, *from;
	bool whole = false;
	uint32_t i;

	q->steps += q->f->n_body;
	if (!mask || mask->kind != PTX_REG)
		return !mask || (mask->kind == PTX_INT && (uint32_t)mask->imm == UINT32_MAX);
	for (i = q->f->body; i < q->f->body + q->f->n_body && q->steps < STEPS; i++) {
		const struct ptx_stmt *d = &q->m->stmts[i];

		to = d->kind == PTX_INSTR ? ptx_arg(q->m, d, 0) : NULL;
		if (!to || to->kind != PTX_REG || to->ref != mask->ref ||
		    !ptx_opcode(q->m, d)->results)
			continue;
		from = ptx_arg(q->m, d, 1);
		if (ptx_opcode(q->m, d)->op != PTX_OP_mov || !from || from->kind != PTX_INT ||
		    (uint32_t)from->imm != UINT32_MAX)
			return false;
		whole = true;
	}
	return whole;
}

static const struct ptx_stmt *end_of(const struct meeting *q, uint32_t b)
{
	uint32_t last = cfg_last(q->g, b);

	return last == PTX_NONE ? NULL : &q->m->stmts[last];
}

static uint32_t side(const struct meeting *q, uint32_t b, uint32_t k)
{
	return q->g->f.edges[q->g->f.blocks[b].edge + k];
}

/* Of the sides of block b's end, how many may still meet. */
static uint32_t sides_that_find(const struct meeting *q, uint32_t b)
{
	uint32_t k, n = 0;

	for (k = 0; k < q->g->f.blocks[b].n_edges; k++)
		n += q->finds[side(q, b, k)];
	return n;
}

static bool differs(const struct meeting *q, uint32_t b)
{
	return q->g->f.blocks[b].n_edges > 1 &&
	       q->branch[b] > (q->warp ? SAME_IN_ROWS : SAME_IN_BLOCK);
}

static void find(struct meeting *q)
{
	const struct cfg *g = q->g;
	uint32_t depth = 0, b, i, k;

	for (b = 0; b < g->f.n; b++) {
		for (i = g->first[b]; i < g->first[b + 1] && !q->some[b]; i++)
			q->some[b] = meets(q, &q->m->stmts[i]);
		q->finds[b] = q->some[b];
		if (q->some[b])
			q->stack[depth++] = b;
	}
	while (depth) {
		b = q->stack[--depth];
		for (k = 0; k < g->f.blocks[b].n_in; k++) {
			i = g->f.ins[g->f.blocks[b].in + k];
			if (q->finds[i])
				continue;
			q->finds[i] = 1;
			q->stack[depth++] = i;
		}
	}
}

/* Lanes part at b: its end has to be one where they can be asked. */
static void vote_at(struct meeting *q, uint32_t b)
{
	const struct ptx_stmt *s = end_of(q, b);
	enum ptx_op op = ptx_opcode(q->m, s)->op;

	if (s->pred == PTX_NONE || (op != PTX_OP_bra && op != PTX_OP_ret && op != PTX_OP_exit))
		object(q, s->line, "lanes may end by a jump through a table before a warp-wide "
		       "operation of the others");
	q->votes[b] = 1;
	q->any_votes = true;
}

static void cross(struct meeting *q, uint32_t b)
{
	uint32_t finding = sides_that_find(q, b), i;

	if (!q->finds[b])
		return;
	if (!finding && q->some[b]) {
		q->event[b] = q->warp ? ENDS_APART : EVENT;
		for (i = q->g->first[b]; i < q->g->first[b + 1] && q->warp; i++)
			if (meets(q, &q->m->stmts[i]) && is_whole(q, &q->m->stmts[i]))
				q->event[b] = ENDS_WHOLE;
	} else if (finding && finding < q->g->f.blocks[b].n_edges) {
		q->event[b] = EVENT;
		if (differs(q, b))
			vote_at(q, b);
		else if (q->branch[b] == SAME_IN_ROWS)
			q->needs_rows = true;
	}
}

static void events(struct meeting *q)
{
	const struct cfg *g = q->g;
	uint32_t b, i;

	for (b = 0; b < g->f.n; b++)
		cross(q, b);
	for (b = 0; b < g->f.n; b++) {
		if (!q->finds[b] || (q->warp && !q->any_votes))
			continue;
		for (i = g->first[b]; i < g->first[b + 1]; i++)
			if (q->m->stmts[i].kind == PTX_INSTR && is_barrier(q, &q->m->stmts[i]))
				q->event[b] = EVENT;
	}
}

/* Whatever way they take from b, all come to the same event next. */
static bool comes_together(struct meeting *q, uint32_t b)
{
	uint32_t depth = 0, first = PTX_NONE, k, i, to;

	q->stamp++;
	for (q->stack[depth++] = b; depth && q->steps < STEPS;) {
		i = q->stack[--depth];
		for (k = 0; k < q->g->f.blocks[i].n_edges; k++) {
			to = side(q, i, k);
			q->steps++;
			if (!q->finds[to] || q->seen[to] == q->stamp)
				continue;
			q->seen[to] = q->stamp;
			if (!q->event[to]) {
				q->stack[depth++] = to;
				continue;
			}
			if (first != PTX_NONE && (q->event[first] == EVENT ||
						  q->event[first] != q->event[to]))
				return false;
			first = to;
		}
	}
	return q->steps < STEPS;
}

static void check_branches(struct meeting *q)
{
	uint32_t b;

	for (b = 0; b < q->g->f.n; b++) {
		if (q->branch[b] == SAME_IN_BLOCK || sides_that_find(q, b) < 2 ||
		    (!differs(q, b) && q->needs_rows) || comes_together(q, b))
			continue;
		if (differs(q, b))
			object(q, end_of(q, b)->line, "lanes part here, and some may end before a "
			       "warp-wide operation of the others");
		else
			q->needs_rows = true;
	}
}

/* Blocks that lanes come to after others may have ended, into seen[]. */
static void after_votes(struct meeting *q)
{
	uint32_t depth = 0, b, k, to;

	q->stamp++;
	for (b = 0; b < q->g->f.n; b++)
		if (q->votes[b])
			q->stack[depth++] = b;
	while (depth) {
		b = q->stack[--depth];
		for (k = 0; k < q->g->f.blocks[b].n_edges; k++) {
			to = side(q, b, k);
			if (!q->finds[to] || q->seen[to] == q->stamp)
				continue;
			q->seen[to] = q->stamp;
			if (!q->votes[to])
				q->stack[depth++] = to;
		}
	}
}

static void check_operations(struct meeting *q)
{
	uint32_t b, i, end;

	after_votes(q);
	for (b = 0; b < q->g->f.n; b++) {
		for (i = q->g->first[b]; i < q->g->first[b + 1]; i++) {
			const struct ptx_stmt *s = &q->m->stmts[i];

			if (!meets(q, s))
				continue;
			if (!is_certain(q, s))
				object(q, s->line, !q->warp || s->pred != PTX_NONE ?
				       "lanes may end before this operation of a part of them" :
				       "lanes may end before a warp-wide operation in what is called");
			else if (q->warp && q->seen[b] == q->stamp &&
				 !warp_mask_begin(q->m, s, &end))
				object(q, s->line, "lanes may end before this warp-wide operation, "
				       "which has no mask that can be narrowed");
		}
	}
}

/* What the writer does: at the branches, and at operations after them. */
static int mark(struct meeting *q, uint8_t **marks)
{
	uint32_t b, i;

	*marks = calloc((size_t)q->f->n_body + 1, 1);
	if (!*marks)
		return -ENOMEM;
	for (b = 0; b < q->g->f.n; b++) {
		uint32_t end = q->g->first[b + 1];

		for (i = q->g->first[b]; i < end && q->seen[b] == q->stamp; i++)
			if (meets(q, &q->m->stmts[i]))
				(*marks)[i - q->f->body] = MARK_NARROW;
		/* the first edge is where the jump goes, the second goes on */
		if (q->votes[b])
			(*marks)[cfg_last(q->g, b) - q->f->body] = q->finds[side(q, b, 0)] ?
				MARK_STAYS_IF : MARK_STAYS_UNLESS;
	}
	return 0;
}

static void look(struct meeting *q, bool warp)
{
	size_t n = (size_t)q->g->f.n + 1;

	q->warp = warp;
	q->any_votes = q->needs_rows = false;
	q->line = 0;
	memset(q->some, 0, n * 4);
	find(q);
	events(q);
	check_branches(q);
	check_operations(q);
}

int early_exits_find(struct early_exits *e, struct cfg *g, const struct ptx_module *m,
		     const struct ptx_function *f, const struct module_facts *mf)
{
	struct meeting q = { .g = g, .m = m, .f = f, .mf = mf };
	size_t n = (size_t)g->f.n + 1;
	uint8_t *flags = malloc(n * 5);
	int err = -ENOMEM;
	uint32_t b;

	memset(e, 0, sizeof(*e));
	q.stack = calloc(n, 2 * sizeof(*q.stack));
	if (!flags || !q.stack)
		goto out;
	q.seen = q.stack + n;
	q.branch = flags;
	q.some = flags + n;
	q.finds = q.some + n;
	q.event = q.finds + n;
	q.votes = q.event + n;
	err = spread_find(g, m, f, flags);
	if (err)
		goto out;
	look(&q, false);
	e->parks = q.line || q.any_votes;
	look(&q, true);
	if (q.any_votes && mf->f[f - m->functions].all & FACT(F_WAITS))
		object(&q, mf->f[f - m->functions].line[F_WAITS],
		       "lanes that end would have to wait for those that wait here");
	e->warp_line = q.line;
	e->warp_why = q.why;
	e->needs_rows = q.needs_rows;
	for (b = 0; b < g->f.n && !q.line; b++)
		e->vote_line = q.votes[b] && !e->vote_line ? end_of(&q, b)->line : e->vote_line;
	if (e->vote_line)
		err = mark(&q, &e->marks);
out:
	free(flags);
	free(q.stack);
	return err;
}
