/* SPDX-License-Identifier: MIT */
/* The blocks of a function, as flow.c and waits.c see them. */
#ifndef GSX_SPIRV_FLOW_H
#define GSX_SPIRV_FLOW_H

#include "spv.h"

#define NONE		UINT32_MAX
/* Of one function; beyond it the worst is assumed. */
#define MAX_STEPS	20000000u

#define M_VARIES	1	/* may differ among the items of a group */
#define M_ESCAPES	2	/* a variable whose pointer goes elsewhere */
#define M_USED		4	/* by more than the marks of a variable's life */

struct block {
	uint32_t word, last;	/* its OpLabel, its terminator */
	uint32_t succ, n_succ;	/* into flow.edges */
	uint32_t order;		/* in the reverse graph, from the exit */
	uint32_t ipdom;		/* NONE: none */
	uint32_t low, index, scc;
	bool in_loop, under;	/* under: a branch that varies decides on it */
	uint8_t seen;
};

struct graph {
	struct spv *s;
	struct fn *f;
	struct block *b;
	uint32_t n, *edges, n_edges, cap_edges;
	uint32_t *preds, *pred;	/* preds of block i: pred[preds[i] .. preds[i + 1]) */
	uint32_t *stack, *post;	/* work */
	uint32_t n_post, steps;
	bool changed, lost;
};

static inline bool step(struct graph *k)
{
	if (++k->steps > MAX_STEPS)
		k->lost = true;
	return !k->lost;
}

/* Has one of the operands of an instruction the mark? */
bool flow_marked(const struct graph *k, uint32_t at, uint8_t m);
void flow_mark(struct graph *k, uint32_t id, uint8_t m);
bool flow_reads_pointer(const struct spv *s, uint32_t at);	/* an OpExtInst */
/* waits.c: U_WAITS, U_POLLS, fn.tries */
void spv_find_waits(struct graph *k);

#endif
