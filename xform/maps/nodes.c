// SPDX-License-Identifier: MIT
/* Nodes: each kept once, so that two of one number are equal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"

bool map_room(struct map_build *b, void *array, uint32_t n, uint32_t *cap, size_t size)
{
	void **p = array, *bigger;
	uint32_t more = *cap ? *cap * 2 : 64;

	if (b->err)
		return false;
	if (n < *cap)
		return true;
	bigger = more > *cap ? realloc(*p, more * size) : NULL;
	if (!bigger) {
		b->err = -ENOMEM;
		return false;
	}
	*p = bigger;
	*cap = more;
	return true;
}

uint32_t map_new(struct map_build *b, const struct map_node *n)
{
	if (!map_room(b, &b->node, b->n_nodes, &b->cap_nodes, sizeof(*b->node)))
		return 0;
	b->node[b->n_nodes] = *n;
	return b->n_nodes++;
}

static uint32_t hash(const struct map_node *n)
{
	uint64_t h = (uint64_t)n->imm * 0x9e3779b97f4a7c15ull;

	h ^= ((uint64_t)n->a << 32 | n->b) * 0xc2b2ae3d27d4eb4full;
	h ^= ((uint64_t)n->op << 16 | n->bits << 8 | n->sign) * 0xd6e8feb86659fd93ull;
	return h >> 32 ^ h;
}

static bool alike(const struct map_node *a, const struct map_node *b)
{
	return a->op == b->op && a->bits == b->bits && a->sign == b->sign && a->a == b->a &&
	       a->b == b->b && a->imm == b->imm;
}

static bool grow(struct map_build *b)
{
	uint32_t more = b->slots ? b->slots * 2 : 128, i, at;
	uint32_t *slot = calloc(more, sizeof(*slot));

	if (!slot) {
		b->err = -ENOMEM;
		return false;
	}
	for (i = 0; i < b->slots; i++) {
		if (!b->slot[i])
			continue;
		for (at = hash(&b->node[b->slot[i] - 1]) & (more - 1); slot[at];
		     at = (at + 1) & (more - 1))
			;
		slot[at] = b->slot[i];
	}
	free(b->slot);
	b->slot = slot;
	b->slots = more;
	return true;
}

static uint32_t keep(struct map_build *b, const struct map_node *n)
{
	uint32_t at, i;

	if (b->n_nodes >= b->slots / 2 && !grow(b))
		return 0;
	for (at = hash(n) & (b->slots - 1); b->slot[at]; at = (at + 1) & (b->slots - 1))
		if (alike(&b->node[b->slot[at] - 1], n))
			return b->slot[at] - 1;
	i = map_new(b, n);
	if (!b->err)
		b->slot[at] = i + 1;
	return i;
}

uint32_t map_leaf(struct map_build *b, enum map_op op, unsigned int bits, bool sign, int64_t imm)
{
	struct map_node n = { .op = op, .bits = bits, .sign = sign, .imm = imm };

	n.uniform = op == MAP_CONST || op == MAP_PARAM || op == MAP_NTID || op == MAP_NCTAID;
	return keep(b, &n);
}

uint32_t map_unknown(struct map_build *b, enum gsx_map_reason reason)
{
	struct map_node n = { .op = MAP_UNKNOWN, .a = b->line, .imm = reason };

	return keep(b, &n);
}

static bool is_const(const struct map_build *b, uint32_t node, int64_t v)
{
	return b->node[node].op == MAP_CONST && b->node[node].imm == v;
}

uint32_t map_make(struct map_build *b, enum map_op op, unsigned int bits, bool sign, uint32_t a,
		  uint32_t c)
{
	struct map_node n = { .op = op, .bits = bits, .sign = sign, .a = a, .b = c };
	uint16_t h;
	int64_t r;

	if (b->err)
		return 0;
	h = b->node[a].height > b->node[c].height ? b->node[a].height : b->node[c].height;
	if ((op == MAP_ADD || op == MAP_SUB || op == MAP_SHL) && is_const(b, c, 0))
		return a;
	if (op == MAP_ADD && is_const(b, a, 0))
		return c;
	if (op == MAP_MUL && is_const(b, c, 1))
		return a;
	if (op == MAP_ADD && b->node[a].op == MAP_CONST && b->node[c].op == MAP_CONST &&
	    !__builtin_add_overflow(b->node[a].imm, b->node[c].imm, &r))
		return map_leaf(b, MAP_CONST, 64, true, r);
	if (h >= MAP_HEIGHT)
		return map_unknown(b, GSX_MAP_SIZE);
	n.height = h + 1;
	n.uniform = b->node[a].uniform &&
		    (op == MAP_EXTEND || op == MAP_NOT || op == MAP_POINTER || b->node[c].uniform);
	return keep(b, &n);
}

uint32_t map_step(struct map_build *b, uint32_t v, uint32_t head)
{
	const struct map_node *n = &b->node[v];
	uint32_t step;

	if (v == head)
		return map_leaf(b, MAP_CONST, 64, true, 0);
	if (++b->depth > MAP_DEPTH || (n->op != MAP_ADD && n->op != MAP_SUB)) {
		step = MAP_NONE;
	} else if (b->node[n->b].uniform) {
		step = map_step(b, n->a, head);
		n = &b->node[v];
		if (step != MAP_NONE)
			step = map_make(b, n->op, n->bits, n->sign, step, n->b);
	} else if (n->op == MAP_ADD && b->node[n->a].uniform) {
		step = map_step(b, n->b, head);
		n = &b->node[v];
		if (step != MAP_NONE)
			step = map_make(b, n->op, n->bits, n->sign, step, n->a);
	} else {
		step = MAP_NONE;
	}
	b->depth--;
	return step;
}

/* Bases among the terms of a sum: how many, by kind, and which. */
struct bases {
	uint32_t certain, likely, odd, node, steps;
	enum map_base kind;
};

static void look(struct map_build *b, uint32_t node, struct bases *to)
{
	const struct map_node *n = &b->node[node];

	if (++b->depth > MAP_DEPTH || ++to->steps > 1000) {
		to->odd++;
		b->depth--;
		return;
	}
	switch (n->op) {
	case MAP_PARAM:
		if (n->bits == 64) {
			to->likely++;
			if (!to->certain)
				to->node = node;
		}
		break;
	case MAP_POINTER:
		to->certain++;
		to->node = node;
		break;
	case MAP_NEAR:
	case MAP_VARIABLE:
		to->certain++;
		to->node = node;
		break;
	case MAP_ROUND:
	case MAP_SUB:	/* a difference of pointers has no base */
		look(b, n->a, to);
		break;
	case MAP_ADD:
		look(b, n->a, to);
		look(b, b->node[node].b, to);
		break;
	default:
		break;
	}
	b->depth--;
}

/* The sum without its base; once, as there is one. */
static uint32_t without(struct map_build *b, uint32_t node, uint32_t base)
{
	struct map_node n = b->node[node];
	uint32_t rest;

	if (node == base)
		return map_leaf(b, MAP_CONST, 64, true, 0);
	if (n.op != MAP_ADD && n.op != MAP_SUB && n.op != MAP_ROUND)
		return node;
	rest = without(b, n.a, base);
	if (n.op == MAP_ROUND && rest != n.a) {
		n.a = rest;
		return keep(b, &n);
	}
	if (n.op == MAP_ROUND)
		return node;
	if (n.op == MAP_ADD && rest == n.a)
		return map_make(b, n.op, n.bits, n.sign, rest, without(b, n.b, base));
	return map_make(b, n.op, n.bits, n.sign, rest, n.b);
}

void map_split(struct map_build *b, uint32_t node, struct map_place *to)
{
	struct bases found = { 0 };
	const struct map_node *n;

	memset(to, 0, sizeof(*to));
	to->rest = node;
	look(b, node, &found);
	if (found.odd || found.certain > 1 || (!found.certain && found.likely != 1))
		return;
	to->certain = found.certain;
	n = &b->node[found.node];
	if (n->op == MAP_NEAR) {
		to->kind = MAP_BASE_NEAR;
	} else if (n->op == MAP_VARIABLE) {
		to->kind = MAP_BASE_VARIABLE;
	} else {
		to->kind = MAP_BASE_PARAM;
		to->offset = n->op == MAP_POINTER ? b->node[n->a].imm : n->imm;
		to->rest = without(b, node, found.node);
	}
}
