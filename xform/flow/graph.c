// SPDX-License-Identifier: MIT
/* Blocks, their instructions, the edges between them, loops, and post-dominators. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

static bool room(struct flow *f, void *array, uint32_t *cap, uint32_t n, size_t size)
{
	uint32_t want = *cap ? *cap : 16;
	void **at = array, *bigger;

	if (n <= *cap || f->err)
		return !f->err;
	while (want < n)
		want *= 2;
	if ((want - *cap) * size > f->limit - f->memory) {
		f->err = -E2BIG;
		return false;
	}
	bigger = realloc(*at, want * size);
	if (!bigger) {
		f->err = -ENOMEM;
		return false;
	}
	f->memory += (want - *cap) * size;
	*at = bigger;
	*cap = want;
	return true;
}

void flow_begin(struct flow *f, struct flow_value *value, uint32_t n, size_t limit)
{
	*f = (struct flow){ .value = value, .n_values = n, .limit = limit };
}

void flow_end(struct flow *f)
{
	uint32_t i;

	for (i = 0; i < f->n_refs; i++)
		f->value[f->refs[i]] = (struct flow_value){ 0 };
	free(f->blocks);
	free(f->ops);
	free(f->refs);
	free(f->next);
	free(f->edges);
	free(f->ins);
	free(f->stack);
}

void flow_block(struct flow *f)
{
	if (room(f, &f->blocks, &f->cap_blocks, f->n + 2, sizeof(*f->blocks)))
		f->blocks[f->n++] = (struct flow_block){ .op = f->n_ops };
}

struct flow_op *flow_op(struct flow *f, uint32_t place)
{
	static struct flow_op none;
	struct flow_op *op;

	if (!room(f, &f->ops, &f->cap_ops, f->n_ops + 1, sizeof(*f->ops)) || !f->n) {
		none = (struct flow_op){ 0 };
		return &none;
	}
	op = &f->ops[f->n_ops++];
	*op = (struct flow_op){
		.place = place, .first = f->n_refs, .expects = FLOW_NONE, .puts = FLOW_NONE,
		.address = FLOW_NONE,
	};
	f->blocks[f->n - 1].n_ops++;
	return op;
}

static bool add_ref(struct flow *f, uint32_t value)
{
	if (value >= f->n_values || !f->n_ops ||
	    !room(f, &f->refs, &f->cap_refs, f->n_refs + 1, sizeof(*f->refs)))
		return false;
	f->refs[f->n_refs++] = value;
	return true;
}

void flow_use(struct flow *f, uint32_t value)
{
	if (add_ref(f, value))
		f->ops[f->n_ops - 1].n_uses++;
}

void flow_def(struct flow *f, uint32_t value)
{
	struct flow_value *v = &f->value[value];

	if (!add_ref(f, value))
		return;
	f->ops[f->n_ops - 1].n_defs++;
	v->made = v->made || f->ops[f->n_ops - 1].flags & FLOW_MAYBE ? 2 : 1;
}

void flow_edge(struct flow *f, uint32_t from, uint32_t to)
{
	struct flow_block *b = &f->blocks[from];

	if (!room(f, &f->edges, &f->cap_edges, f->n_edges + 1, sizeof(*f->edges)))
		return;
	if (!b->n_edges)
		b->edge = f->n_edges;
	f->edges[f->n_edges++] = to;
	b->n_edges++;
}

/* From the last to the first, so that a value's definitions come in their order. */
static void find_makers(struct flow *f)
{
	uint32_t i, k;

	for (i = f->n_ops; i--;) {
		const struct flow_op *op = &f->ops[i];

		for (k = op->first + op->n_uses; k < op->first + op->n_uses + op->n_defs; k++) {
			struct flow_value *v = &f->value[f->refs[k]];

			f->next[2 * k] = v->maker;
			f->next[2 * k + 1] = i;
			v->maker = k + 1;
		}
	}
}

/* Who comes to each block. */
static void turn_round(struct flow *f)
{
	uint32_t i, e, at = 0;

	for (e = 0; e < f->n_edges; e++)
		f->blocks[f->edges[e]].n_in++;
	for (i = 0; i <= f->n; i++) {
		f->blocks[i].in = at;
		at += f->blocks[i].n_in;
		f->blocks[i].n_in = 0;
	}
	for (i = 0; i < f->n; i++)
		for (e = f->blocks[i].edge; e < f->blocks[i].edge + f->blocks[i].n_edges; e++) {
			struct flow_block *to = &f->blocks[f->edges[e]];

			f->ins[to->in + to->n_in++] = i;
		}
}

bool flow_close(struct flow *f)
{
	size_t refs = 2 * (size_t)f->n_refs + 1, ins = (size_t)f->n_edges + 1;
	size_t stack = 2 * ((size_t)f->n + 1);

	if (f->err || !f->n)
		return false;
	if ((refs + ins + stack) * sizeof(uint32_t) > f->limit - f->memory) {
		f->err = -E2BIG;
		return false;
	}
	f->next = malloc(refs * sizeof(*f->next));
	f->ins = malloc(ins * sizeof(*f->ins));
	f->stack = malloc(stack * sizeof(*f->stack));
	if (!f->next || !f->ins || !f->stack) {
		f->err = -ENOMEM;
		return false;
	}
	f->work = f->stack + f->n + 1;
	f->blocks[f->n] = (struct flow_block){ .op = f->n_ops };
	find_makers(f);
	turn_round(f);
	flow_find_loops(f, NULL, NULL);
	return !f->err;
}

struct components {
	struct flow *f;
	const bool *edge, *block;
	uint32_t *index, *low, *at;	/* per block; index 0: not yet */
	bool *open;			/* it is on the path */
	uint32_t count, n_call, n_path;
};

static bool keeps(const struct components *c, uint32_t e)
{
	uint32_t to = c->f->edges[e];

	return to < c->f->n && (!c->edge || c->edge[e]) && (!c->block || c->block[to]);
}

/* Goes on from block @b to one that wasn't seen; false: it's done. */
static bool deeper(struct components *c, uint32_t b)
{
	const struct flow_block *at = &c->f->blocks[b];

	if (!c->index[b]) {
		c->index[b] = c->low[b] = ++c->count;
		c->open[b] = true;
		c->f->work[c->n_path++] = b;
	}
	for (; c->at[b] < at->n_edges; c->at[b]++) {
		uint32_t e = at->edge + c->at[b], to = c->f->edges[e];

		if (!keeps(c, e))
			continue;
		if (!c->index[to]) {
			c->f->stack[c->n_call++] = to;
			return true;
		}
		if (c->open[to] && c->low[to] < c->low[b])
			c->low[b] = c->low[to];
	}
	return false;
}

/* One component ends at block b: what lies on the path from it on. */
static void close_component(struct components *c, uint32_t b)
{
	uint32_t v;

	do {
		v = c->f->work[--c->n_path];
		c->open[v] = false;
		c->f->blocks[v].loop = c->index[b];
	} while (v != b);
}

/* An edge inside a component is part of a loop; a component of one block may have none. */
static void mark_loops(struct components *c)
{
	struct flow *f = c->f;
	uint32_t i, e;

	for (i = 0; i < f->n; i++)
		f->blocks[i].in_loop = false;
	for (i = 0; i < f->n; i++)
		for (e = f->blocks[i].edge; e < f->blocks[i].edge + f->blocks[i].n_edges; e++)
			if ((!c->block || c->block[i]) && keeps(c, e) &&
			    f->blocks[f->edges[e]].loop == f->blocks[i].loop)
				f->blocks[i].in_loop = f->blocks[f->edges[e]].in_loop = true;
}

/* Strongly connected components, Tarjan's way without recursion. */
void flow_find_loops(struct flow *f, const bool *kept_edge, const bool *kept_block)
{
	struct components c = { .f = f, .edge = kept_edge, .block = kept_block };
	uint32_t root, b;

	c.index = calloc((size_t)f->n + 1, 3 * sizeof(*c.index) + sizeof(*c.open));
	if (!c.index) {
		f->err = -ENOMEM;
		return;
	}
	c.low = c.index + f->n + 1;
	c.at = c.low + f->n + 1;
	c.open = (bool *)(c.at + f->n + 1);
	for (root = 0; root < f->n; root++) {
		if (c.index[root])
			continue;
		f->stack[c.n_call++] = root;
		while (c.n_call) {
			b = f->stack[c.n_call - 1];
			if (deeper(&c, b))
				continue;
			c.n_call--;
			if (c.low[b] == c.index[b])
				close_component(&c, b);
		}
	}
	mark_loops(&c);
	free(c.index);
}

/* Numbers the blocks as a walk against the edges, from the end, leaves them: f->work. */
static uint32_t number_blocks(struct flow *f, uint32_t *at)
{
	uint32_t depth = 0, n = 0, i;

	f->stack[depth++] = f->n;
	f->blocks[f->n].order = 0;
	while (depth) {
		struct flow_block *b = &f->blocks[f->stack[depth - 1]];

		if (at[b - f->blocks] == b->n_in) {
			b->order = n;
			f->work[n++] = f->stack[--depth];
			continue;
		}
		i = f->ins[b->in + at[b - f->blocks]++];
		if (f->blocks[i].order == FLOW_NONE) {
			f->blocks[i].order = 0;
			f->stack[depth++] = i;
		}
	}
	return n;
}

/* The nearest that is passed from both. */
static uint32_t meet(struct flow *f, uint32_t a, uint32_t b)
{
	while (a != b && flow_step(f, 1)) {
		if (f->blocks[a].order < f->blocks[b].order)
			a = f->blocks[a].ipdom;
		else
			b = f->blocks[b].ipdom;
	}
	return a;
}

/*
 * As in 'A Simple, Fast Dominance Algorithm' (Cooper, Harvey, Kennedy), against the edges.
 */
void flow_find_ipdoms(struct flow *f)
{
	uint32_t *at = calloc((size_t)f->n + 1, sizeof(*at)), n, i, e, best;
	bool changed = true;

	f->steps = 0;
	f->lost = false;
	if (!at) {
		f->err = -ENOMEM;
		return;
	}
	for (i = 0; i <= f->n; i++)
		f->blocks[i].order = f->blocks[i].ipdom = FLOW_NONE;
	n = number_blocks(f, at);
	free(at);
	f->blocks[f->n].ipdom = f->n;
	while (changed && flow_step(f, f->n_edges)) {
		changed = false;
		for (i = n - 1; i-- > 0;) {
			struct flow_block *b = &f->blocks[f->work[i]];

			best = FLOW_NONE;
			for (e = b->edge; e < b->edge + b->n_edges; e++) {
				uint32_t to = f->edges[e];

				if (f->blocks[to].ipdom != FLOW_NONE)
					best = best == FLOW_NONE ? to : meet(f, best, to);
			}
			changed |= best != b->ipdom;
			b->ipdom = best;
		}
	}
}
