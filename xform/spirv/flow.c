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

static void add_edge(struct graph *k, uint32_t from, uint32_t at, uint32_t i)
{
	struct spv *s = k->s;
	uint32_t id = s->w[at + i], to = id < s->bound ? s->block_of[id] : FLOW_NONE;

	/* A block's number is from another function, if the label is. */
	if (to >= k->n || s->w[k->b[to].word + 1] != id)
		spv_error(s, -EINVAL, at, "a branch to what is no label of its function");
	else
		flow_edge(&k->flow, from, to);
}

static void find_edges(struct graph *k, uint32_t from)
{
	struct spv *s = k->s;
	uint32_t at = k->b[from].last, len = len_of(s, at), i, step_words, type, def;

	switch (op_of(s, at)) {
	case OP_BRANCH:
		add_edge(k, from, at, 1);
		break;
	case OP_BRANCH_CONDITIONAL:
		add_edge(k, from, at, 2);
		add_edge(k, from, at, 3);
		break;
	case OP_SWITCH:
		type = s->ids[s->w[at + 1]].type;
		def = s->ids[type].def;
		step_words = def && op_of(s, def) == OP_TYPE_INT && s->w[def + 2] > 32 ? 3 : 2;
		add_edge(k, from, at, 2);
		for (i = 3; i + step_words <= len; i += step_words)
			add_edge(k, from, at, i + step_words - 1);
		break;
	default:
		flow_edge(&k->flow, from, k->n);
	}
}

static bool find_blocks(struct graph *k)
{
	struct spv *s = k->s;
	uint32_t at, cap = 0, i;
	bool open = false;

	for (at = k->f->label; at < k->f->end; at += len_of(s, at)) {
		uint32_t op = op_of(s, at);

		if (op == OP_LABEL) {
			if (open) {
				spv_error(s, -EINVAL, at, "a block without an end");
				return false;
			}
			if (!spv_room(s, &k->b, &cap, k->n + 1, sizeof(*k->b)))
				return false;
			open = true;
			k->b[k->n] = (struct block){ .word = at };
			s->block_of[s->w[at + 1]] = k->n++;
			flow_block(&k->flow);
		} else if (op == OP_FUNCTION_END || op == OP_LINE || op == OP_NO_LINE) {
			continue;
		} else if (!open) {
			spv_error(s, -EINVAL, at, "an instruction outside a block");
			return false;
		}
		spv_tell(k, at);
		if (ends_block(op)) {
			k->b[k->n - 1].last = at;
			open = false;
		}
	}
	if (open) {
		spv_error(s, -EINVAL, at, "a block without an end");
		return false;
	}
	for (i = 0; i < k->n && !s->err && !k->flow.err; i++)
		find_edges(k, i);
	return !s->err && flow_close(&k->flow);
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
	struct flow *f = &k->flow;
	uint32_t n = 0, i, e, at, stop = f->blocks[from].ipdom;
	bool again;

	for (i = 0; i < k->n; i++)
		k->b[i].seen = false;
	i = from;
	do {
		const struct flow_block *b = &f->blocks[i];

		for (e = b->edge; e < b->edge + b->n_edges; e++) {
			struct block *t = &k->b[f->edges[e]];

			if (f->edges[e] == k->n || f->edges[e] == stop || t->seen)
				continue;
			t->seen = true;
			f->stack[n++] = f->edges[e];
			k->changed |= !t->under;
			t->under = true;
		}
		i = n ? f->stack[--n] : FLOW_NONE;
	} while (i != FLOW_NONE && flow_step(f, 1));
	again = k->b[from].seen;
	for (i = 0; i < k->n && !f->lost; i++) {
		struct block *b = &k->b[i];

		if (!b->seen && i != stop)
			continue;
		/* Out of a loop that items leave at different turns, all of it varies. */
		for (at = b->word; at <= b->last && flow_step(f, 1); at += len_of(s, at))
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
		for (i = 0; i < k->n && flow_step(&k->flow, 1); i++) {
			struct block *b = &k->b[i];

			for (at = b->word; at <= b->last && flow_step(&k->flow, 1);
			     at += len_of(s, at)) {
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
				if (at == b->last && k->flow.blocks[i].n_edges > 1)
					spread(k, i);
			}
		}
	} while (k->changed && !k->flow.lost);
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
	if (k->flow.lost)
		spv_use(k->f, U_DIVERGES, k->f->word);
}

void spv_flow(struct spv *s, struct fn *f)
{
	struct graph k = { .s = s, .f = f };

	flow_begin(&k.flow, s->values, s->bound, s->max_memory - s->memory);
	if (find_blocks(&k)) {
		spv_find_waits(&k);
		if (f->uses & U_BARRIER) {
			flow_find_ipdoms(&k.flow);
			find_divergence(&k);
		}
	}
	flow_end(&k.flow);
	if (k.flow.err)
		spv_error(s, k.flow.err, 0, "out of memory");
	free(k.b);
}
