// SPDX-License-Identifier: MIT
/*
 * What lies above what in a function: dominators from its beginning and from its end, and
 * its loops. After Cooper, Harvey and Kennedy, 'A Simple, Fast Dominance Algorithm'. Where a
 * loop has two ways in, or there is too much to do, b->lost is set.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"

struct walk {
	uint32_t *order, *number, *stack, *at;
	uint32_t n;
};

/* From where a block goes to: its edges, or backwards those that come in. */
static uint32_t ways(const struct map_graph *g, uint32_t block, bool back, const uint32_t **to)
{
	const struct map_block *b = &g->blocks[block];

	*to = back ? g->ins + b->in : g->edges + b->edge;
	return back ? b->n_in : b->n_edges;
}

/* Numbers blocks so that each is numbered after all that it goes to, but for loops. */
static void post_order(const struct map_graph *g, struct walk *w, uint32_t root, bool back)
{
	uint32_t depth = 1, n, next;
	const uint32_t *to;

	memset(w->number, 0xff, (g->n + 1) * sizeof(*w->number));
	w->n = 0;
	w->stack[0] = root;
	w->at[0] = 0;
	w->number[root] = MAP_NONE - 1;
	while (depth) {
		n = ways(g, w->stack[depth - 1], back, &to);
		if (w->at[depth - 1] == n) {
			depth--;
			w->number[w->stack[depth]] = w->n;
			w->order[w->n++] = w->stack[depth];
			continue;
		}
		next = to[w->at[depth - 1]++];
		if (w->number[next] != MAP_NONE)
			continue;
		w->number[next] = MAP_NONE - 1;
		w->stack[depth] = next;
		w->at[depth++] = 0;
	}
}

static uint32_t meet(struct map_build *b, const struct map_tree *t, const struct walk *w,
		     uint32_t x, uint32_t y)
{
	while (x != y) {
		if (++b->steps > MAP_STEPS) {
			b->lost = true;
			return x;
		}
		if (w->number[x] < w->number[y])
			x = t->up[x];
		else
			y = t->up[y];
	}
	return x;
}

static void climb(struct map_build *b, struct map_tree *t, const struct walk *w, bool back)
{
	uint32_t i, k, n, root = w->order[w->n - 1], x, up;
	bool changed = true;
	const uint32_t *from;

	memset(t->up, 0xff, (b->g->n + 1) * sizeof(*t->up));
	t->up[root] = root;
	while (changed && !b->lost) {
		changed = false;
		for (i = w->n - 1; i-- > 0; ) {
			x = w->order[i];
			up = MAP_NONE;
			n = ways(b->g, x, !back, &from);
			for (k = 0; k < n; k++)
				if (t->up[from[k]] != MAP_NONE)
					up = up == MAP_NONE ? from[k] :
					     meet(b, t, w, from[k], up);
			if (up != t->up[x]) {
				t->up[x] = up;
				changed = true;
			}
		}
	}
}

/* enter and leave: the times of a walk over the tree, so that above is a comparison. */
static void number(const struct map_graph *g, struct map_tree *t, struct walk *w)
{
	uint32_t i, root = w->order[w->n - 1], x, time = 0, depth = 0;
	uint32_t *child = w->at, *next = w->number;	/* first child, next sibling */

	memset(child, 0xff, (g->n + 1) * sizeof(*child));
	for (i = 0; i < w->n; i++) {
		x = w->order[i];
		if (x == root)
			continue;
		next[x] = child[t->up[x]];
		child[t->up[x]] = x;
	}
	w->stack[depth++] = root;
	t->enter[root] = time++;
	while (depth) {
		x = w->stack[depth - 1];
		if (child[x] == MAP_NONE) {
			t->leave[x] = time++;
			depth--;
			continue;
		}
		w->stack[depth] = child[x];
		child[x] = next[child[x]];
		t->enter[w->stack[depth++]] = time++;
	}
}

bool map_above(const struct map_tree *t, uint32_t a, uint32_t b)
{
	return t->up[a] != MAP_NONE && t->up[b] != MAP_NONE && t->enter[a] <= t->enter[b] &&
	       t->leave[b] <= t->leave[a];
}

bool map_in_loop(const struct map_build *b, uint32_t block, uint32_t loop)
{
	uint32_t l;

	for (l = b->loop_of[block]; l != MAP_NONE; l = b->loop[l].parent)
		if (l == loop)
			return true;
	return false;
}

static uint32_t outermost(struct map_build *b, uint32_t loop)
{
	while (b->loop[loop].parent != MAP_NONE && ++b->steps < MAP_STEPS)
		loop = b->loop[loop].parent;
	return loop;
}

/* All from which a latch is reached without its head, inner loops as a whole. */
static void body(struct map_build *b, struct walk *w, uint32_t l)
{
	uint32_t depth = 0, x, k, head = b->loop[l].head, inner;
	const struct map_block *h = &b->g->blocks[head], *at;

	b->loop_of[head] = l;
	for (k = 0; k < h->n_in; k++) {
		x = b->g->ins[h->in + k];
		if (!map_above(&b->down, head, x))
			continue;
		b->loop[l].latch = b->loop[l].latches++ ? MAP_NONE : x;
		w->stack[depth++] = x;
	}
	while (depth) {
		x = w->stack[--depth];
		if (++b->steps > MAP_STEPS) {
			b->lost = true;
			return;
		}
		if (x == head)
			continue;
		if (b->loop_of[x] == MAP_NONE) {
			b->loop_of[x] = l;
		} else {
			inner = outermost(b, b->loop_of[x]);
			if (inner == l)
				continue;
			b->loop[inner].parent = l;
			x = b->loop[inner].head;
		}
		at = &b->g->blocks[x];
		for (k = 0; k < at->n_in; k++) {
			inner = b->g->ins[at->in + k];
			if (b->down.up[inner] == MAP_NONE)
				continue;
			if (depth > b->g->n) {
				b->lost = true;
				return;
			}
			w->stack[depth++] = inner;
		}
	}
}

/* Heads from the last to the first, so that inner loops come before those around them. */
static void loops(struct map_build *b, struct walk *w)
{
	const struct map_graph *g = b->g;
	uint32_t i, k, x, from, cap = 0;
	const struct map_block *at;
	bool head;

	memset(b->loop_of, 0xff, (g->n + 1) * sizeof(*b->loop_of));
	for (i = 0; i < w->n && !b->lost && !b->err; i++) {
		x = w->order[i];
		at = &g->blocks[x];
		head = false;
		for (k = 0; k < at->n_in; k++) {
			from = g->ins[at->in + k];
			if (b->down.up[from] == MAP_NONE || w->number[from] > w->number[x])
				continue;
			if (map_above(&b->down, x, from))
				head = true;
			else
				b->lost = true;		/* another way into a loop */
		}
		if (!head || !map_room(b, &b->loop, b->n_loops, &cap, sizeof(*b->loop)))
			continue;
		b->loop[b->n_loops] = (struct map_loop){ .head = x, .latch = MAP_NONE,
							 .parent = MAP_NONE };
		body(b, w, b->n_loops++);
	}
}

static bool tree_make(struct map_tree *t, uint32_t n)
{
	t->up = calloc(3 * ((size_t)n + 1), sizeof(*t->up));
	t->enter = t->up ? t->up + n + 1 : NULL;
	t->leave = t->up ? t->up + 2 * ((size_t)n + 1) : NULL;
	return t->up;
}

void map_order(struct map_build *b)
{
	uint32_t n = b->g->n + 1, *space = calloc(4 * ((size_t)n + 1), sizeof(*space));
	struct walk w = { space, space + n, space + 2 * (size_t)n, space + 3 * (size_t)n, 0 };

	b->loop_of = calloc(n, sizeof(*b->loop_of));
	b->chain = calloc(n, sizeof(*b->chain));
	if (!space || !b->loop_of || !b->chain || !tree_make(&b->down, b->g->n) ||
	    !tree_make(&b->up, b->g->n)) {
		b->err = -ENOMEM;
		free(space);
		return;
	}
	post_order(b->g, &w, b->g->n, true);
	climb(b, &b->up, &w, true);
	if (!b->lost)
		number(b->g, &b->up, &w);
	post_order(b->g, &w, 0, false);
	climb(b, &b->down, &w, false);
	if (!b->lost) {
		number(b->g, &b->down, &w);
		post_order(b->g, &w, 0, false);
		loops(b, &w);
	}
	free(space);
}
