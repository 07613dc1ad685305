// SPDX-License-Identifier: MIT
/*
 * May some threads be done while others still wait for company?
 *
 * On a GPU a thread that ends counts as present in every later barrier and
 * warp-wide operation. In a workers' loop it doesn't end, so this has to be
 * known. It can happen only at a branch of which one side may reach the exit
 * without such an operation and another side may still meet one, and only if the
 * threads in question may part there (see spread.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

struct meeting {
	const struct cfg *g;
	const struct ptx_module *m;
	const struct module_facts *mf;
	bool warp;		/* warp-wide operations, else barriers */
	uint8_t *certain;	/* each way through the block meets one */
	uint8_t *some;		/* one is in the block */
	uint8_t *avoids;	/* the exit can be reached from its start without one */
	uint8_t *finds;		/* one can be reached from its start */
	uint32_t *stack;
};

static bool meets(const struct meeting *q, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o;
	uint32_t callee;

	if (s->kind != PTX_INSTR)
		return false;
	o = ptx_opcode(q->m, s);
	if (o->op == PTX_OP_call) {
		callee = ptx_call_target(q->m, s);
		callee = callee == PTX_NONE ? q->mf->indirect : callee;
		return q->mf->f[callee].all & FACT(q->warp ? F_WARP : F_BARRIER);
	}
	if (q->warp)
		return o->class & PTX_WARP;
	return o->class & PTX_BARRIER && barrier_kind(q->m, s) != BARRIER_HARMLESS;
}

/* A callee may meet one on some of its ways only. */
static bool is_certain(const struct meeting *q, const struct ptx_stmt *s)
{
	return s->pred == PTX_NONE && ptx_opcode(q->m, s)->op != PTX_OP_call;
}

/* Goes backwards: sets flag[] of all that reach a set block; blocked by certain[]. */
static void backwards(struct meeting *q, uint8_t *flag, bool blocked)
{
	const struct cfg *g = q->g;
	uint32_t depth = 0, i, k, b;

	for (i = 0; i <= g->n; i++)
		if (flag[i])
			q->stack[depth++] = i;
	while (depth) {
		b = q->stack[--depth];
		for (k = 0; k < g->blocks[b].n_in; k++) {
			i = g->ins[g->blocks[b].in + k];
			if (flag[i] || (blocked && q->certain[i]))
				continue;
			flag[i] = 1;
			q->stack[depth++] = i;
		}
	}
}

static void find(struct meeting *q)
{
	const struct cfg *g = q->g;
	uint32_t b, i;

	for (b = 0; b < g->n; b++) {
		for (i = g->blocks[b].first; i < g->blocks[b].end; i++) {
			if (!meets(q, &q->m->stmts[i]))
				continue;
			q->some[b] = 1;
			q->certain[b] |= is_certain(q, &q->m->stmts[i]);
		}
		q->finds[b] = q->some[b];
	}
	q->avoids[g->n] = 1;
	backwards(q, q->avoids, true);
	backwards(q, q->finds, false);
}

/* Of the sides of block b's branch, is one done and another not? */
static bool parts(const struct meeting *q, uint32_t b)
{
	const struct cfg *g = q->g;
	bool avoids = false, finds = false;
	uint32_t k, to;

	for (k = 0; k < g->blocks[b].n_edges; k++) {
		to = g->edges[g->blocks[b].edge + k];
		avoids |= q->avoids[to];
		finds |= q->finds[to];
	}
	return g->blocks[b].n_edges > 1 && avoids && finds;
}

/* The worst branch: its line and spread. */
static uint32_t worst(struct meeting *q, const uint8_t *branch, uint8_t *spread)
{
	const struct cfg *g = q->g;
	uint32_t b, i, line = 0;
	bool leaves;

	*spread = SAME_IN_BLOCK;
	for (b = 0; b < g->n; b++) {
		if (branch[b] > *spread && parts(q, b)) {
			*spread = branch[b];
			line = q->m->stmts[g->blocks[b].last].line;
		}
		/* one that only some execute, with the exit behind it */
		leaves = false;
		for (i = 0; i < g->blocks[b].n_edges; i++)
			leaves |= q->avoids[g->edges[g->blocks[b].edge + i]];
		if (!q->some[b] || !leaves || *spread == DIFFERS)
			continue;
		for (i = g->blocks[b].first; i < g->blocks[b].end; i++) {
			if (!meets(q, &q->m->stmts[i]) || is_certain(q, &q->m->stmts[i]))
				continue;
			*spread = DIFFERS;
			line = q->m->stmts[i].line;
		}
	}
	return line;
}

int early_exits_find(struct early_exits *e, const struct cfg *g, const struct ptx_module *m,
		     const struct ptx_function *f, const struct module_facts *mf)
{
	struct meeting q = { .g = g, .m = m, .mf = mf };
	size_t n = (size_t)g->n + 1;
	uint8_t *flags = malloc(n * 5), *branch, spread;
	int err = -ENOMEM;

	memset(e, 0, sizeof(*e));
	q.stack = malloc(n * sizeof(*q.stack));
	if (!flags || !q.stack)
		goto out;
	branch = flags;
	q.certain = branch + n;
	q.some = q.certain + n;
	q.avoids = q.some + n;
	q.finds = q.avoids + n;
	err = spread_find(g, m, f, branch);
	if (err)
		goto out;
	memset(q.certain, 0, n * 4);
	find(&q);
	e->barrier_line = worst(&q, branch, &spread);
	memset(q.certain, 0, n * 4);
	q.warp = true;
	find(&q);
	e->warp_line = worst(&q, branch, &spread);
	if (e->warp_line && spread == SAME_IN_ROWS) {
		e->needs_rows = true;
		e->warp_line = 0;
	}
out:
	free(flags);
	free(q.stack);
	return err;
}
