// SPDX-License-Identifier: MIT
/*
 * What the flow of control tells of one function.
 *
 * U_DIVERGES: a barrier that stands under a branch whose condition may differ among the
 * work-items of a group. As it is, some items may have returned while others wait there,
 * and what then happens the device decides; in a worker those that returned would wait
 * at the barrier behind the body. A value may differ if it is computed from the
 * work-item's ids or from memory, or chosen by a branch that may differ; a branch acts
 * on all blocks between it and the first one that every path from it must pass.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

static bool ends_block(uint32_t op)
{
	return op >= OP_BRANCH && op <= OP_UNREACHABLE;
}

static void add_edge(struct graph *k, struct block *b, uint32_t at, uint32_t i)
{
	struct spv *s = k->s;
	uint32_t id = s->w[at + i], to = id < s->bound ? s->block_of[id] : NONE;

	/* A block's number is from another function, if the label is. */
	if (to >= k->n || s->w[k->b[to].word + 1] != id) {
		spv_error(s, -EINVAL, at, "a branch to what is no label of its function");
		return;
	}
	if (!spv_room(s, &k->edges, &k->cap_edges, k->n_edges + 1, 4))
		return;
	k->edges[k->n_edges++] = to;
	b->n_succ++;
}

static void find_edges(struct graph *k, struct block *b)
{
	struct spv *s = k->s;
	uint32_t at = b->last, len = len_of(s, at), i, step_words, type, def;

	b->succ = k->n_edges;
	switch (op_of(s, at)) {
	case OP_BRANCH:
		add_edge(k, b, at, 1);
		break;
	case OP_BRANCH_CONDITIONAL:
		add_edge(k, b, at, 2);
		add_edge(k, b, at, 3);
		break;
	case OP_SWITCH:
		type = s->ids[s->w[at + 1]].type;
		def = s->ids[type].def;
		step_words = def && op_of(s, def) == OP_TYPE_INT && s->w[def + 2] > 32 ? 3 : 2;
		add_edge(k, b, at, 2);
		for (i = 3; i + step_words <= len; i += step_words)
			add_edge(k, b, at, i + step_words - 1);
		break;
	}
}

static bool find_blocks(struct graph *k)
{
	struct spv *s = k->s;
	uint32_t at, cap = 0, open = NONE, i;

	for (at = k->f->label; at < k->f->end; at += len_of(s, at)) {
		uint32_t op = op_of(s, at);

		if (op == OP_LABEL) {
			if (open != NONE) {
				spv_error(s, -EINVAL, at, "a block without an end");
				return false;
			}
			if (!spv_room(s, &k->b, &cap, k->n + 1, sizeof(*k->b)))
				return false;
			open = k->n++;
			k->b[open] = (struct block){ .word = at, .ipdom = NONE, .order = NONE };
			s->block_of[s->w[at + 1]] = open;
		} else if (op != OP_FUNCTION_END && op != OP_LINE && op != OP_NO_LINE &&
			   open == NONE) {
			spv_error(s, -EINVAL, at, "an instruction outside a block");
			return false;
		} else if (ends_block(op)) {
			k->b[open].last = at;
			open = NONE;
		}
	}
	if (open != NONE) {
		spv_error(s, -EINVAL, at, "a block without an end");
		return false;
	}
	for (i = 0; i < k->n && !s->err; i++)
		find_edges(k, &k->b[i]);
	return !s->err;
}

static bool find_preds(struct graph *k)
{
	uint32_t i, e;

	k->preds = calloc(k->n + 2, sizeof(*k->preds));
	k->pred = calloc(k->n_edges + 1, sizeof(*k->pred));
	k->stack = calloc(2 * (k->n + 1), sizeof(*k->stack));
	k->post = calloc(k->n + 1, sizeof(*k->post));
	if (!k->preds || !k->pred || !k->stack || !k->post) {
		spv_error(k->s, -ENOMEM, 0, "out of memory");
		return false;
	}
	for (e = 0; e < k->n_edges; e++)
		k->preds[k->edges[e] + 2]++;
	for (i = 2; i < k->n + 2; i++)
		k->preds[i] += k->preds[i - 1];
	for (i = 0; i < k->n; i++)
		for (e = 0; e < k->b[i].n_succ; e++)
			k->pred[k->preds[k->edges[k->b[i].succ + e] + 1]++] = i;
	return true;
}

/* Strongly connected components, Tarjan's way without recursion: what lies in loops. */
static void find_loops(struct graph *k)
{
	uint32_t *call = k->stack, *path = k->post, n_call = 0, n_path = 0, count = 0, root, e, v;

	for (root = 0; root < k->n; root++) {
		if (k->b[root].seen)
			continue;
		call[n_call++] = root;
		while (n_call) {
			struct block *b = &k->b[call[n_call - 1]];

			if (!b->seen) {
				b->seen = 1;
				b->index = b->low = ++count;
				b->scc = 0;	/* the next edge to look at */
				path[n_path++] = b - k->b;
			}
			for (; b->scc < b->n_succ; b->scc++) {
				struct block *t = &k->b[k->edges[b->succ + b->scc]];

				if (!t->seen) {
					call[n_call++] = t - k->b;
					break;
				}
				if (t->seen == 1 && t->low < b->low)
					b->low = t->low;
			}
			if (b->scc < b->n_succ)
				continue;
			n_call--;
			if (b->low != b->index)
				continue;
			do {
				v = path[--n_path];
				k->b[v].seen = 2;
				k->b[v].low = b->index;
			} while (v != (uint32_t)(b - k->b));
		}
	}
	/* An edge inside a component is part of a loop; one of one block may have none. */
	for (root = 0; root < k->n; root++)
		for (e = 0; e < k->b[root].n_succ; e++) {
			struct block *t = &k->b[k->edges[k->b[root].succ + e]];

			if (t->low == k->b[root].low)
				k->b[root].in_loop = t->in_loop = true;
		}
}

/* Depth first over the reverse graph, from all blocks that leave the function. */
static void order_reverse(struct graph *k)
{
	uint32_t *call = k->stack, *at = k->stack + k->n + 1, n, root;

	for (root = 0; root < k->n; root++)
		k->b[root].seen = 0;
	for (root = 0; root < k->n; root++) {
		if (k->b[root].n_succ || k->b[root].seen)
			continue;
		n = 0;
		call[n] = root;
		at[n++] = k->preds[root];
		k->b[root].seen = 1;
		while (n) {
			uint32_t b = call[n - 1];

			if (at[n - 1] < k->preds[b + 1]) {
				uint32_t p = k->pred[at[n - 1]++];

				if (!k->b[p].seen) {
					k->b[p].seen = 1;
					call[n] = p;
					at[n++] = k->preds[p];
				}
				continue;
			}
			k->b[b].order = k->n_post;
			k->post[k->n_post++] = b;
			n--;
		}
	}
}

/* The nearest block that both paths to the exit pass; NONE: only the exit itself. */
static uint32_t meet(struct graph *k, uint32_t a, uint32_t b)
{
	while (a != b && a != NONE && b != NONE && step(k)) {
		if (k->b[a].order < k->b[b].order)
			a = k->b[a].ipdom;
		else
			b = k->b[b].ipdom;
	}
	return a == b ? a : NONE;
}

/*
 * Immediate post-dominators, as in 'A Simple, Fast Dominance Algorithm' (Cooper, Harvey,
 * Kennedy), over the reverse graph. Blocks from which nothing leaves have none.
 */
static void find_ipdoms(struct graph *k)
{
	uint32_t i, e;

	order_reverse(k);
	for (i = 0; i < k->n; i++)
		k->b[i].seen = 0;
	do {
		k->changed = false;
		for (i = k->n_post; i-- && step(k);) {
			struct block *b = &k->b[k->post[i]];
			uint32_t to = NONE;
			bool first = true;

			for (e = 0; e < b->n_succ; e++) {
				uint32_t t = k->edges[b->succ + e];

				if (k->b[t].order == NONE || !k->b[t].seen)
					continue;
				to = first ? t : meet(k, to, t);
				first = false;
			}
			if (!b->seen || to != b->ipdom)
				k->changed = true;
			b->seen = 1;
			b->ipdom = to;
		}
	} while (k->changed && !k->lost);
}

bool flow_marked(const struct graph *k, uint32_t at, uint8_t m)
{
	const struct spv *s = k->s;
	uint32_t op = op_of(s, at), len = len_of(s, at), r = result_at(op), i, to;

	to = literals_from(op) < len ? literals_from(op) : len;
	for (i = r ? r + 1 : 1; i < to; i++)
		if (s->w[at + i] < s->bound && s->marks[s->w[at + i]] & m &&
		    !spv_is_number(s, at, i))
			return true;
	return false;
}

void flow_mark(struct graph *k, uint32_t id, uint8_t m)
{
	if (k->s->marks[id] & m)
		return;
	k->s->marks[id] |= m;
	k->changed = true;
}

bool flow_reads_pointer(const struct spv *s, uint32_t at)
{
	for (uint32_t i = 5; i < len_of(s, at); i++)
		if (s->w[at + i] < s->bound && storage_of(s, s->w[at + i]) != UINT32_MAX)
			return true;
	return false;
}

static void mark_operands(struct graph *k, uint32_t at, uint8_t m)
{
	struct spv *s = k->s;
	uint32_t op = op_of(s, at), len = len_of(s, at), r = result_at(op), i, to;

	if (op == OP_LIFETIME_START || op == OP_LIFETIME_STOP || op == OP_VARIABLE)
		return;
	to = literals_from(op) < len ? literals_from(op) : len;
	for (i = r ? r + 1 : 1; i < to; i++)
		if (s->w[at + i] < s->bound && !spv_is_number(s, at, i) &&
		    (m == M_USED || !((op == OP_LOAD && i == 3) || (op == OP_STORE && i == 1))))
			s->marks[s->w[at + i]] |= m;
}

/*
 * Variables of the function that are loaded from and stored to, and nothing else; but
 * for a pointer of another type that only says where their life begins and ends.
 */
static void find_escapes(struct graph *k)
{
	struct spv *s = k->s;
	uint32_t at;

	for (at = k->f->label; at < k->f->end; at += len_of(s, at))
		mark_operands(k, at, M_USED);
	for (at = k->f->label; at < k->f->end; at += len_of(s, at))
		if (op_of(s, at) != OP_BITCAST || s->marks[s->w[at + 2]] & M_USED)
			mark_operands(k, at, M_ESCAPES);
}

static bool is_local_variable(const struct spv *s, uint32_t id)
{
	uint32_t def = s->ids[id].def;

	return def && op_of(s, def) == OP_VARIABLE && storage_of(s, id) == STORAGE_FUNCTION &&
	       !(s->marks[id] & M_ESCAPES);
}

#define VARYING_BITS	(BIT(B_LOCAL_ID) | BIT(B_GLOBAL_ID) | BIT(B_LINEAR_ID) | \
			 BIT(B_LOCAL_LINEAR) | BIT(B_SUBGROUP))

/* Does the value that an instruction gives vary among the items, operands aside? */
static bool source(const struct graph *k, uint32_t at)
{
	const struct spv *s = k->s;
	uint32_t op = op_of(s, at), from;
	const struct fn *g;

	if (op == OP_LOAD) {
		from = s->w[at + 3];
		if (s->ids[from].builtin)
			return VARYING_BITS & BIT(s->ids[from].builtin - 1);
		return !is_local_variable(s, from) && storage_of(s, from) != STORAGE_CONSTANT &&
		       storage_of(s, from) != STORAGE_INPUT;
	}
	if (op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_ACCESS_CHAIN)
		return s->ids[s->w[at + 3]].builtin &&
		       VARYING_BITS & BIT(s->ids[s->w[at + 3]].builtin - 1);
	if (op == OP_FUNCTION_CALL) {
		g = s->fn_of_id[s->w[at + 3]] ? &s->fns[s->fn_of_id[s->w[at + 3]] - 1] : NULL;
		return !g || g->read || g->uses & (VARYING_BITS | U_READS_ANY | U_ATOMIC |
						   U_COLLECTIVE | U_SUBGROUP);
	}
	if (op == OP_GROUP_ALL || op == OP_GROUP_ALL + 1 || op == OP_GROUP_ALL + 2)
		return false;
	if (op > OP_GROUP_ALL && op <= OP_GROUP_S_MAX)
		return s->w[at + 4];		/* a reduction is the same for all */
	return (op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR) || op == OP_ATOMIC_FLAG_TEST_AND_SET ||
	       (op >= OP_SAMPLED_IMAGE && op <= OP_IMAGE_QUERY_LAST) || op > OP_LAST_CORE ||
	       (op == OP_EXT_INST && flow_reads_pointer(s, at));
}

static bool uniform_result(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at);

	return (op >= OP_GROUP_ALL && op <= OP_GROUP_ALL + 2) ||
	       (op > OP_GROUP_ALL + 2 && op <= OP_GROUP_S_MAX && !s->w[at + 4]);
}

/* All between a branch that varies and where its paths are one again. */
static void spread(struct graph *k, uint32_t from)
{
	struct spv *s = k->s;
	uint32_t n = 0, i, e, at, stop = k->b[from].ipdom;
	bool again;

	for (i = 0; i < k->n; i++)
		k->b[i].seen = 0;
	i = from;
	do {
		struct block *b = &k->b[i];

		for (e = 0; e < b->n_succ; e++) {
			struct block *t = &k->b[k->edges[b->succ + e]];

			if (t->seen || (uint32_t)(t - k->b) == stop)
				continue;
			t->seen = 1;
			k->stack[n++] = t - k->b;
			k->changed |= !t->under;
			t->under = true;
		}
		i = n ? k->stack[--n] : NONE;
	} while (i != NONE && step(k));
	again = k->b[from].seen;
	for (i = 0; i < k->n && !k->lost; i++) {
		struct block *b = &k->b[i];

		if (!b->seen && i != stop)
			continue;
		/* Out of a loop that items leave at different turns, all of it varies. */
		for (at = b->word; at <= b->last && step(k); at += len_of(s, at))
			if (op_of(s, at) == OP_PHI ||
			    (again && b->seen && result_at(op_of(s, at)) == 2))
				flow_mark(k, s->w[at + 2], M_VARIES);
	}
}

static void find_divergence(struct graph *k)
{
	struct spv *s = k->s;
	uint32_t i, at, op, r;

	for (i = 0; i < k->f->n_params && !k->f->uniform; i++)
		s->marks[s->params[k->f->first_param + i]] |= M_VARIES;
	find_escapes(k);
	do {
		k->changed = false;
		for (i = 0; i < k->n && step(k); i++) {
			struct block *b = &k->b[i];

			for (at = b->word; at <= b->last && step(k); at += len_of(s, at)) {
				bool yes = source(k, at) || flow_marked(k, at, M_VARIES);

				op = op_of(s, at);
				r = result_at(op);
				if (op == OP_STORE && b->under)
					yes = true;
				if (!yes)
					continue;
				if (op == OP_STORE)
					flow_mark(k, s->w[at + 1], M_VARIES);
				if (r == 2 && !uniform_result(s, at))
					flow_mark(k, s->w[at + 2], M_VARIES);
				if (at == b->last && b->n_succ > 1)
					spread(k, i);
			}
		}
	} while (k->changed && !k->lost);
	for (i = 0; i < k->n; i++)
		for (at = k->b[i].word; at <= k->b[i].last && k->b[i].under; at += len_of(s, at)) {
			uint32_t fn =
				op_of(s, at) == OP_FUNCTION_CALL ? s->fn_of_id[s->w[at + 3]] : 0;

			op = op_of(s, at);
			if (op == OP_CONTROL_BARRIER ||
			    (op >= OP_GROUP_ASYNC_COPY && op <= OP_GROUP_S_MAX) ||
			    (fn && s->fns[fn - 1].uses & U_BARRIER))
				spv_use(k->f, U_DIVERGES, at);
		}
	if (k->lost)
		spv_use(k->f, U_DIVERGES, k->f->word);
}

void spv_flow(struct spv *s, struct fn *f)
{
	struct graph k = { .s = s, .f = f };

	if (find_blocks(&k) && find_preds(&k)) {
		find_loops(&k);
		spv_find_waits(&k);
		if (f->uses & U_BARRIER) {
			find_ipdoms(&k);
			find_divergence(&k);
		}
	}
	free(k.b);
	free(k.edges);
	free(k.preds);
	free(k.pred);
	free(k.stack);
	free(k.post);
}
