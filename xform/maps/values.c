// SPDX-License-Identifier: MIT
/* What a register holds at some place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"

void map_begin(struct map_build *b, const struct map_graph *g, uint32_t n_regs)
{
	b->g = g;
	b->n_regs = n_regs;
	b->first = calloc(2 * ((size_t)n_regs + 1), sizeof(*b->first));
	b->last = b->first ? b->first + n_regs + 1 : NULL;
	if (!b->first)
		b->err = -ENOMEM;
}

void map_end(struct map_build *b)
{
	free(b->node);
	free(b->slot);
	free(b->first);
	free(b->def);
	free(b->entry);
	free(b->down.up);
	free(b->up.up);
	free(b->loop_of);
	free(b->loop);
	free(b->chain);
	free(b->guard);
	free(b->access);
	free(b->cond);
	free(b->seen);
	memset(b, 0, sizeof(*b));
}

void map_def(struct map_build *b, uint32_t reg, uint32_t stmt, uint32_t block, bool maybe)
{
	if (reg >= b->n_regs ||
	    !map_room(b, &b->def, b->n_defs, &b->cap_defs, sizeof(*b->def)))
		return;
	b->def[b->n_defs++] = (struct map_definition){ .stmt = stmt, .block = block,
						       .maybe = maybe };
	if (b->last[reg])
		b->def[b->last[reg] - 1].next = b->n_defs;
	else
		b->first[reg] = b->n_defs;
	b->last[reg] = b->n_defs;
}

static bool spent(struct map_build *b)
{
	return b->err || ++b->steps > MAP_STEPS;
}

static uint32_t of_definition(struct map_build *b, uint32_t d, uint32_t reg)
{
	uint32_t node;

	if (b->def[d].node)
		return b->def[d].node - 1;
	if (b->def[d].maybe)
		return map_unknown(b, GSX_MAP_JOIN);
	if (b->depth > MAP_DEPTH || spent(b))
		return map_unknown(b, GSX_MAP_SIZE);
	b->depth++;
	node = b->define(b, b->def[d].stmt, b->def[d].block, reg);
	b->depth--;
	b->def[d].node = node + 1;
	return node;
}

/* The last definition in the block before the statement; MAP_NONE: none. */
static uint32_t in_block(struct map_build *b, uint32_t reg, uint32_t stmt, uint32_t block)
{
	uint32_t d, found = MAP_NONE;

	for (d = b->first[reg]; d && b->def[d - 1].stmt < stmt && !spent(b); d = b->def[d - 1].next)
		if (b->def[d - 1].block == block)
			found = d - 1;
	return found;
}

static uint32_t *entry_slot(struct map_build *b, uint32_t reg, uint32_t block)
{
	uint32_t more, i, at;
	struct map_entry *bigger, *old = b->entry;

	if (b->n_entries >= b->entries / 2) {
		more = b->entries ? b->entries * 2 : 64;
		bigger = calloc(more, sizeof(*bigger));
		if (!bigger) {
			b->err = -ENOMEM;
			return NULL;
		}
		b->entry = bigger;
		for (i = 0; i < b->entries; i++) {
			if (!old[i].reg)
				continue;
			for (at = (old[i].reg * 2654435761u ^ old[i].block * 40503u) & (more - 1);
			     bigger[at].reg; at = (at + 1) & (more - 1))
				;
			bigger[at] = old[i];
		}
		b->entries = more;
		free(old);
	}
	at = ((reg + 1) * 2654435761u ^ block * 40503u) & (b->entries - 1);
	while (b->entry[at].reg &&
	       (b->entry[at].reg != reg + 1 || b->entry[at].block != block) && !spent(b))
		at = (at + 1) & (b->entries - 1);
	if (!b->entry[at].reg) {
		b->entry[at] = (struct map_entry){ reg + 1, block, MAP_NONE };
		b->n_entries++;
	}
	return &b->entry[at].node;
}

static uint32_t at_entry(struct map_build *b, uint32_t reg, uint32_t block);

static uint32_t at_exit(struct map_build *b, uint32_t reg, uint32_t block)
{
	uint32_t d = in_block(b, reg, MAP_NONE, block);

	return d == MAP_NONE ? at_entry(b, reg, block) : of_definition(b, d, reg);
}

/* What all ways into a block bring, of those from within the loop or those from without. */
static uint32_t joined(struct map_build *b, uint32_t reg, uint32_t block, uint32_t loop,
		       bool within)
{
	const struct map_block *at = &b->g->blocks[block];
	uint32_t k, from, node = MAP_NONE, one;

	for (k = 0; k < at->n_in; k++) {
		from = b->g->ins[at->in + k];
		if (b->down.up[from] == MAP_NONE ||
		    (loop != MAP_NONE && map_in_loop(b, from, loop) != within))
			continue;
		one = at_exit(b, reg, from);
		if (b->node[one].op == MAP_UNKNOWN)
			return one;
		if (node != MAP_NONE && node != one)
			return map_unknown(b, GSX_MAP_JOIN);
		node = one;
	}
	return node == MAP_NONE ? map_unknown(b, GSX_MAP_OPERATION) : node;
}

static bool changes_in(struct map_build *b, uint32_t reg, uint32_t loop)
{
	uint32_t d;

	for (d = b->first[reg]; d && !spent(b); d = b->def[d - 1].next)
		if (map_in_loop(b, b->def[d - 1].block, loop))
			return true;
	return false;
}

/* At the head of a loop that changes it. */
static uint32_t round_of(struct map_build *b, uint32_t reg, uint32_t block, uint32_t loop)
{
	struct map_node n = { .op = MAP_ROUND, .imm = loop };
	uint32_t head, first = joined(b, reg, block, loop, false), next, step, *slot;

	for (next = b->loop[loop].parent; next != MAP_NONE; next = b->loop[next].parent)
		if (++n.bits == MAP_LOOPS)
			return map_unknown(b, GSX_MAP_LOOP);
	if (b->err || b->node[first].op == MAP_UNKNOWN || b->node[first].height >= MAP_HEIGHT)
		return b->node[first].op == MAP_UNKNOWN ? first : map_unknown(b, GSX_MAP_SIZE);
	n.height = b->node[first].height + 1;
	head = map_new(b, &n);
	slot = entry_slot(b, reg, block);
	if (b->err)
		return 0;
	*slot = head;
	next = joined(b, reg, block, loop, true);
	if (b->err)
		return 0;
	step = map_step(b, next, head);
	if (step != MAP_NONE) {
		b->node[head].a = first;
		b->node[head].b = step;
	} else if (b->node[next].op == MAP_UNKNOWN) {
		b->node[head] = b->node[next];
	} else {
		step = map_unknown(b, GSX_MAP_LOOP);
		b->node[head] = b->node[step];
	}
	return head;
}

static uint32_t at_entry(struct map_build *b, uint32_t reg, uint32_t block)
{
	uint32_t d = b->first[reg], node, loop, *slot;

	if (!d || !block)
		return map_unknown(b, GSX_MAP_OPERATION);	/* nobody says what it holds */
	if (!b->def[d - 1].next && b->def[d - 1].block != block &&
	    map_above(&b->down, b->def[d - 1].block, block))
		return of_definition(b, d - 1, reg);
	if (b->depth > MAP_DEPTH || spent(b))
		return map_unknown(b, GSX_MAP_SIZE);
	slot = entry_slot(b, reg, block);
	if (!slot)
		return 0;
	if (*slot != MAP_NONE)
		return *slot;
	b->depth++;
	loop = b->loop_of[block];
	if (loop == MAP_NONE || b->loop[loop].head != block)
		node = joined(b, reg, block, MAP_NONE, false);
	else if (changes_in(b, reg, loop))
		node = round_of(b, reg, block, loop);
	else
		node = joined(b, reg, block, loop, false);
	b->depth--;
	slot = entry_slot(b, reg, block);
	if (slot)
		*slot = node;
	return node;
}

uint32_t map_value(struct map_build *b, uint32_t reg, uint32_t stmt, uint32_t block)
{
	uint32_t d;

	if (reg >= b->n_regs || b->err || b->lost)
		return map_unknown(b, b->lost ? GSX_MAP_FLOW : GSX_MAP_OPERATION);
	d = in_block(b, reg, stmt, block);
	return d == MAP_NONE ? at_entry(b, reg, block) : of_definition(b, d, reg);
}
