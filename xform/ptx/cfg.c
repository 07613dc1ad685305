// SPDX-License-Identifier: MIT
/* Basic blocks and the edges between them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define MOST_EDGES(g)	((g)->n * 8 + 65536)

static bool ends_block(const struct ptx_module *m, const struct ptx_stmt *s)
{
	return s->kind == PTX_INSTR && ptx_opcode(m, s)->class & PTX_FLOW;
}

static int split(struct cfg *g, const struct ptx_module *m, const struct ptx_function *f)
{
	uint32_t i, end = f->body + f->n_body;
	bool fresh = true;

	g->first = f->body;
	g->blocks = calloc((size_t)f->n_body + 2, sizeof(*g->blocks));
	g->block_of = malloc(((size_t)f->n_body + 1) * sizeof(*g->block_of));
	if (!g->blocks || !g->block_of)
		return -ENOMEM;
	for (i = f->body; i < end; i++) {
		const struct ptx_stmt *s = &m->stmts[i];

		if (s->kind == PTX_MARK && m->labels[s->ref].uses)
			fresh = true;
		if (fresh) {
			g->blocks[g->n++] = (struct block){ .first = i, .end = i,
							    .last = PTX_NONE };
			fresh = false;
		}
		g->block_of[i - f->body] = g->n - 1;
		g->blocks[g->n - 1].end = i + 1;
		if (ends_block(m, s)) {
			g->blocks[g->n - 1].last = i;
			fresh = true;
		}
	}
	g->blocks[g->n].first = g->blocks[g->n].end = end;
	g->blocks[g->n].last = PTX_NONE;
	return 0;
}

static int edge(struct cfg *g, uint32_t from, uint32_t to)
{
	struct block *b = &g->blocks[from];
	uint32_t i, *bigger;

	for (i = 0; i < b->n_edges && i < 8; i++)
		if (g->edges[b->edge + i] == to)
			return 0;
	if (!(g->n_edges & (g->n_edges - 1))) {
		bigger = realloc(g->edges, (g->n_edges ? g->n_edges * 2ul : 1) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		g->edges = bigger;
	}
	g->edges[g->n_edges++] = to;
	b->n_edges++;
	return 0;
}

static uint32_t block_at(const struct cfg *g, const struct ptx_module *m,
			 const struct ptx_operand *o)
{
	return g->block_of[m->labels[o->ref].stmt - g->first];
}

/* The .branchtargets that a label stands for; NULL: none */
static const struct ptx_stmt *targets(const struct ptx_module *m, const struct ptx_operand *o)
{
	const struct ptx_stmt *s;

	if (!o || o->kind != PTX_LABEL || m->labels[o->ref].stmt + 1 >= m->n_stmts)
		return NULL;
	s = &m->stmts[m->labels[o->ref].stmt + 1];
	return s->kind == PTX_TARGETS && s->ref == o->ref ? s : NULL;
}

static int jump(struct cfg *g, const struct ptx_module *m, uint32_t from,
		const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(m, s);
	const struct ptx_stmt *t;
	uint32_t i;
	int err = 0;

	if (o->op == PTX_OP_bra && ptx_arg(m, s, 0) && ptx_arg(m, s, 0)->kind == PTX_LABEL)
		return edge(g, from, block_at(g, m, ptx_arg(m, s, 0)));
	t = o->op == PTX_OP_brx ? targets(m, ptx_arg(m, s, 1)) : NULL;
	if (!t) {
		g->unknown_line = g->unknown_line ? g->unknown_line : s->line;
		return edge(g, from, g->n);
	}
	/* many jumps through one long list of targets: crafted, and not worth it */
	if (g->n_edges > MOST_EDGES(g)) {
		g->unknown_line = s->line;
		return edge(g, from, g->n);
	}
	for (i = 0; i < t->n_args && !err; i++) {
		const struct ptx_operand *l = &m->operands[t->args + i];

		if (l->kind == PTX_LABEL)
			err = edge(g, from, block_at(g, m, l));
		else
			g->unknown_line = s->line;
	}
	return err;
}

static int connect(struct cfg *g, const struct ptx_module *m)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < g->n && !err; i++) {
		struct block *b = &g->blocks[i];
		const struct ptx_stmt *s = b->last == PTX_NONE ? NULL : &m->stmts[b->last];
		const struct ptx_opcode *o = s ? ptx_opcode(m, s) : NULL;

		b->edge = g->n_edges;
		if (o && o->class & PTX_ENDS)
			err = edge(g, i, g->n);
		else if (o && o->op != PTX_OP_trap)
			err = jump(g, m, i, s);
		if (!err && (!s || s->pred != PTX_NONE))
			err = edge(g, i, i + 1);
	}
	g->blocks[g->n].edge = g->n_edges;
	return err;
}

static int turn_round(struct cfg *g)
{
	uint32_t i, k, at = 0;

	g->ins = malloc(((size_t)g->n_edges + 1) * sizeof(*g->ins));
	if (!g->ins)
		return -ENOMEM;
	for (i = 0; i < g->n_edges; i++)
		g->blocks[g->edges[i]].n_in++;
	for (i = 0; i <= g->n; i++) {
		g->blocks[i].in = at;
		at += g->blocks[i].n_in;
		g->blocks[i].n_in = 0;
	}
	for (i = 0; i < g->n; i++) {
		for (k = 0; k < g->blocks[i].n_edges; k++) {
			struct block *to = &g->blocks[g->edges[g->blocks[i].edge + k]];

			g->ins[to->in + to->n_in++] = i;
		}
	}
	return 0;
}

int cfg_build(struct cfg *g, const struct ptx_module *m, const struct ptx_function *f)
{
	int err;

	memset(g, 0, sizeof(*g));
	err = split(g, m, f);
	if (!err)
		err = connect(g, m);
	return err ? err : turn_round(g);
}

void cfg_free(struct cfg *g)
{
	free(g->blocks);
	free(g->block_of);
	free(g->edges);
	free(g->ins);
	memset(g, 0, sizeof(*g));
}
