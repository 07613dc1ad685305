// SPDX-License-Identifier: MIT
/* Where the blocks of a function begin, and what follows each: told to xform/flow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define MOST_EDGES(g)	((g)->f.n * 8 + 65536)

static void split(struct cfg *g, const struct ptx_function *f, const struct cfg_teller *t)
{
	uint32_t i, end = f->body + f->n_body;
	bool fresh = true;

	for (i = f->body; i < end && !g->f.err; i++) {
		const struct ptx_stmt *s = &g->m->stmts[i];

		if (s->kind == PTX_MARK && g->m->labels[s->ref].uses)
			fresh = true;
		if (fresh) {
			g->first[g->f.n] = i;
			flow_block(&g->f);
			fresh = false;
		}
		g->block_of[i - f->body] = g->f.n - 1;
		if (s->kind != PTX_INSTR)
			continue;
		fresh = ptx_opcode(g->m, s)->class & PTX_FLOW;
		if (t)
			t->tell(t, &g->f, i);
	}
	g->first[g->f.n] = end;
}

static void edge(struct cfg *g, uint32_t from, uint32_t to)
{
	const struct flow_block *b = &g->f.blocks[from];
	uint32_t i;

	for (i = 0; i < b->n_edges && i < 8; i++)
		if (g->f.edges[b->edge + i] == to)
			return;
	flow_edge(&g->f, from, to);
}

static uint32_t block_at(const struct cfg *g, const struct ptx_operand *o)
{
	return g->block_of[g->m->labels[o->ref].stmt - g->first[0]];
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

static void jump(struct cfg *g, uint32_t from, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(g->m, s);
	const struct ptx_operand *to = ptx_arg(g->m, s, 0);
	const struct ptx_stmt *t;
	uint32_t i;

	if (o->op == PTX_OP_bra && to && to->kind == PTX_LABEL) {
		edge(g, from, block_at(g, to));
		return;
	}
	t = o->op == PTX_OP_brx ? targets(g->m, ptx_arg(g->m, s, 1)) : NULL;
	/* many jumps through one long list of targets: crafted, and not worth it */
	if (!t || g->f.n_edges > MOST_EDGES(g)) {
		g->unknown_line = t || !g->unknown_line ? s->line : g->unknown_line;
		edge(g, from, g->f.n);
		return;
	}
	for (i = 0; i < t->n_args; i++) {
		to = &g->m->operands[t->args + i];
		if (to->kind == PTX_LABEL)
			edge(g, from, block_at(g, to));
		else
			g->unknown_line = s->line;
	}
}

static void connect(struct cfg *g)
{
	uint32_t i;

	for (i = 0; i < g->f.n && !g->f.err; i++) {
		uint32_t last = cfg_last(g, i);
		const struct ptx_stmt *s = last == PTX_NONE ? NULL : &g->m->stmts[last];
		const struct ptx_opcode *o = s ? ptx_opcode(g->m, s) : NULL;

		if (o && o->class & PTX_ENDS)
			edge(g, i, g->f.n);
		else if (o && o->op != PTX_OP_trap)
			jump(g, i, s);
		if (!s || s->pred != PTX_NONE)
			edge(g, i, i + 1);
	}
}

uint32_t cfg_last(const struct cfg *g, uint32_t block)
{
	uint32_t last = g->first[block + 1] - 1;
	const struct ptx_stmt *s = &g->m->stmts[last];

	return s->kind == PTX_INSTR && ptx_opcode(g->m, s)->class & PTX_FLOW ? last : PTX_NONE;
}

int cfg_build(struct cfg *g, const struct ptx_module *m, const struct ptx_function *f,
	      const struct cfg_teller *t)
{
	memset(g, 0, sizeof(*g));
	g->m = m;
	flow_begin(&g->f, t ? t->value : NULL, t ? t->n_values : 0, t ? t->limit : SIZE_MAX);
	g->first = malloc(((size_t)f->n_body + 2) * sizeof(*g->first));
	g->block_of = malloc(((size_t)f->n_body + 1) * sizeof(*g->block_of));
	if (!g->first || !g->block_of)
		g->f.err = -ENOMEM;
	if (!g->f.err)
		split(g, f, t);
	if (!g->f.err)
		connect(g);
	flow_close(&g->f);
	return g->f.err;
}

void cfg_free(struct cfg *g)
{
	flow_end(&g->f);
	free(g->first);
	free(g->block_of);
}
