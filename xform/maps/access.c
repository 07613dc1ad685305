// SPDX-License-Identifier: MIT
/*
 * When something in a block happens, and in which form it is kept.
 *
 * A block's chain is the list of conditions on the way to it: of each branch above it that
 * it lies on one side of. They are necessary. The chain is exact if they are sufficient, too:
 * each step up goes to a block that it comes behind in any case, or to a branch that alone
 * leads to it.
 *
 * What comes behind in any case, may do so in a later round of a loop. Then all ways out of
 * the loop lead over it, and some to the next round don't; so the latch neither comes behind
 * all that leads to it nor has one branch for it: the loop isn't exact, and that counts, too.
 *
 * In the rounds of a loop behind the first, the conditions on the way from its head to its
 * latch, and of the branch back, held in the round before. With an exact chain these are
 * all, and if none of them can turn true again once it is false (ranges.c sees to that),
 * those of the last round stand for those of all before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"

static void add_guard(struct map_build *b, struct map_chain *c, uint32_t node, bool contrary)
{
	if (!map_room(b, &b->guard, b->n_guards, &b->cap_guards, sizeof(*b->guard)))
		return;
	b->guard[b->n_guards] = (struct map_guard){ node, c->guards, contrary };
	c->guards = b->n_guards++;
}

/* The block above @block that says when it happens: loops that it isn't in count as one. */
static uint32_t step_up(const struct map_build *b, uint32_t block)
{
	uint32_t up = b->down.up[block], l;

	for (l = b->loop_of[up]; l != MAP_NONE && !map_in_loop(b, block, l); l = b->loop[l].parent)
		up = b->loop[l].head;
	return up;
}

/* All that go forward to the block come from there. */
static bool only_from(const struct map_build *b, uint32_t block, uint32_t up)
{
	const struct map_block *at = &b->g->blocks[block];
	uint32_t k, from;

	for (k = 0; k < at->n_in; k++) {
		from = b->g->ins[at->in + k];
		if (from != up && b->down.up[from] != MAP_NONE &&
		    !map_above(&b->down, block, from))
			return false;
	}
	return true;
}

static struct map_chain *chain_of(struct map_build *b, uint32_t block)
{
	struct map_chain *c = &b->chain[block];
	uint32_t *way, n = 0, x = block, up, node;
	bool contrary;

	if (c->known)
		return c;
	way = malloc(((size_t)b->g->n + 1) * sizeof(*way));
	if (!way) {
		b->err = -ENOMEM;
		return c;
	}
	while (!b->chain[x].known && x) {
		way[n++] = x;
		x = step_up(b, x);
	}
	if (!x)
		b->chain[0] = (struct map_chain){ MAP_NONE, true, true };
	while (n--) {
		x = way[n];
		up = step_up(b, x);
		c = &b->chain[x];
		*c = b->chain[up];
		if (map_above(&b->up, x, up))
			continue;
		node = up == b->down.up[x] && only_from(b, x, up) ?
		       b->condition(b, up, x, &contrary) : MAP_NONE;
		if (node == MAP_NONE)
			c->exact = false;
		else
			add_guard(b, c, node, contrary);
	}
	free(way);
	return c;
}

static struct map_loop *loop_at(struct map_build *b, uint32_t l)
{
	struct map_loop *loop = &b->loop[l];
	struct map_chain c;
	bool contrary;
	uint32_t node;

	if (loop->known)
		return loop;
	loop->known = true;
	loop->guards = loop->end = MAP_NONE;
	if (loop->latch == MAP_NONE)
		return loop;
	loop->end = chain_of(b, loop->head)->guards;
	c = *chain_of(b, loop->latch);
	node = b->condition(b, loop->latch, loop->head, &contrary);
	if (node != MAP_NONE)
		add_guard(b, &c, node, contrary);
	loop->guards = c.guards;
	loop->exact = c.exact;
	return loop;
}

/* Nothing unknown in it, and no rounds of other loops than the access is in. */
struct look {
	const struct map_access *a;
	enum gsx_map_reason reason;
	uint32_t line, steps;
};

static bool fits(struct map_build *b, struct look *k, uint32_t node)
{
	const struct map_node *n = &b->node[node];
	uint32_t i;

	if (b->seen[node] == b->stamp)
		return true;
	b->seen[node] = b->stamp;
	switch (n->op) {
	case MAP_UNKNOWN:
		k->reason = n->imm;
		k->line = n->a;
		return false;
	case MAP_NEAR:
	case MAP_VARIABLE:
		k->reason = GSX_MAP_OPERATION;
		return false;
	case MAP_CONST: case MAP_PARAM:
	case MAP_CTAID: case MAP_TID: case MAP_NTID: case MAP_NCTAID:
		return true;
	case MAP_ROUND:
		for (i = 0; i < k->a->n_loops && k->a->loop[i] != n->imm; i++)
			;
		if (i == k->a->n_loops) {
			k->reason = GSX_MAP_LOOP;
			return false;
		}
		break;
	case MAP_MUL:
		if (!b->node[n->a].uniform && !b->node[n->b].uniform) {
			k->reason = GSX_MAP_PRODUCT;
			return false;
		}
		break;
	case MAP_SHL: case MAP_DIV: case MAP_REM: case MAP_SHR: case MAP_XOR: case MAP_MIN:
	case MAP_MAX: case MAP_MULHI:
		if (!b->node[n->b].uniform || (n->op != MAP_SHL && !b->node[n->a].uniform)) {
			k->reason = GSX_MAP_OPERATION;
			return false;
		}
		break;
	case MAP_AND: case MAP_OR:
		if (!b->node[n->b].uniform) {
			k->reason = GSX_MAP_OPERATION;
			return false;
		}
		break;
	case MAP_EXTEND: case MAP_POINTER: case MAP_NOT:
		return fits(b, k, n->a);
	default:
		break;
	}
	return fits(b, k, n->a) && fits(b, k, b->node[node].b);
}

static bool all_fits(struct map_build *b, struct look *k, uint32_t node)
{
	uint32_t *bigger;

	if (b->cap_seen < b->n_nodes) {
		bigger = realloc(b->seen, 2 * (size_t)b->n_nodes * sizeof(*bigger));
		if (!bigger) {
			b->err = -ENOMEM;
			return false;
		}
		memset(bigger + b->cap_seen, 0,
		       (2 * (size_t)b->n_nodes - b->cap_seen) * sizeof(*bigger));
		b->seen = bigger;
		b->cap_seen = 2 * b->n_nodes;
	}
	b->stamp++;
	return fits(b, k, node);
}

static void add_condition(struct map_build *b, struct map_access *a, uint32_t node, bool contrary,
			  uint32_t before)
{
	const struct map_node *n = &b->node[node];
	struct look k = { .a = a };
	uint32_t second;

	if (n->op == MAP_NOT) {
		add_condition(b, a, n->a, !contrary, before);
		return;
	}
	if (n->op == (contrary ? MAP_EITHER : MAP_BOTH)) {
		second = n->b;
		add_condition(b, a, n->a, contrary, before);
		add_condition(b, a, second, contrary, before);
		return;
	}
	if ((n->op != MAP_LESS && n->op != MAP_LESS_EQUAL && n->op != MAP_EQUAL) ||
	    a->n >= 24 || !all_fits(b, &k, node)) {
		a->exact = false;
		return;
	}
	if (!map_room(b, &b->cond, b->n_conds, &b->cap_conds, sizeof(*b->cond)))
		return;
	b->cond[b->n_conds++] = (struct map_condition){ node, contrary, before };
	a->n++;
}

static void conditions(struct map_build *b, struct map_access *a, uint32_t block, uint32_t pred,
		       bool contrary)
{
	struct map_loop *loop;
	struct map_chain *c;
	uint32_t g, i;

	a->first = b->n_conds;
	c = chain_of(b, block);
	a->exact = c->exact;
	if (pred != MAP_NONE)
		add_condition(b, a, pred, contrary, 0);
	for (g = c->guards; g != MAP_NONE; g = b->guard[g].next)
		add_condition(b, a, b->guard[g].node, b->guard[g].contrary, 0);
	for (i = 0; i < a->n_loops && !b->err; i++) {
		loop = loop_at(b, a->loop[i]);
		a->exact = a->exact && loop->exact;
		for (g = loop->guards; g != loop->end && g != MAP_NONE; g = b->guard[g].next)
			add_condition(b, a, b->guard[g].node, b->guard[g].contrary, i + 1);
	}
}

enum gsx_map_reason map_access(struct map_build *b, uint32_t map, bool write, uint32_t at,
			       uint32_t bytes, uint32_t block, uint32_t pred, bool contrary,
			       uint32_t *line)
{
	struct map_access a = { .map = map, .node = at, .bytes = bytes, .write = write };
	struct look k = { .a = &a, .line = b->line };
	uint32_t l, i;

	if (b->lost)
		return GSX_MAP_FLOW;
	if (b->n_accesses >= MAP_ACCESSES)
		return GSX_MAP_SIZE;
	for (l = b->loop_of[block]; l != MAP_NONE; l = b->loop[l].parent) {
		if (a.n_loops == MAP_LOOPS)
			return GSX_MAP_LOOP;
		memmove(a.loop + 1, a.loop, a.n_loops * sizeof(*a.loop));
		a.loop[0] = l;
		a.n_loops++;
	}
	if (!all_fits(b, &k, at)) {
		*line = k.line ? k.line : b->line;
		return k.reason;
	}
	/* that of the access before is often the same place in the text */
	if (pred == MAP_NONE && b->n_accesses && b->last_block == block) {
		i = b->n_accesses - 1;
		a.first = b->access[i].first;
		a.n = b->access[i].n;
		a.exact = b->access[i].exact;
	} else {
		conditions(b, &a, block, pred, contrary);
	}
	b->last_block = pred == MAP_NONE ? block : MAP_NONE;
	if (map_room(b, &b->access, b->n_accesses, &b->cap_accesses, sizeof(*b->access)))
		b->access[b->n_accesses++] = a;
	return GSX_MAP_OK;
}
