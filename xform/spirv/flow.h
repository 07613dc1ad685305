/* SPDX-License-Identifier: MIT */
/* The blocks of a function, as flow.c and waits.c see them. */
#ifndef GSX_SPIRV_FLOW_H
#define GSX_SPIRV_FLOW_H

#include "spv.h"

#define NONE		UINT32_MAX
/* Of one function; beyond it the worst is assumed. */
#define MAX_STEPS	20000000u

#define M_TAINTED	1	/* comes of a poll */
#define M_VARIES	2	/* may differ among the items of a group */
#define M_ESCAPES	4	/* a variable whose pointer goes elsewhere */
#define M_USED		8	/* by more than the marks of a variable's life */
#define M_SEEN		16	/* fresh values: looked into */
#define M_RETRY		32	/* of a compare-and-exchange that is tried with what is new */

struct block {
	uint32_t word, last;	/* its OpLabel, its terminator */
	uint32_t succ, n_succ;	/* into flow.edges */
	uint32_t order;		/* in the reverse graph, from the exit */
	uint32_t ipdom;		/* NONE: none */
	uint32_t low, index, scc;
	bool in_loop, under;	/* under: a branch that varies decides on it */
	bool fresh;		/* what a compare-and-exchange expects is read here */
	uint8_t seen;
};

struct flow {
	struct spv *s;
	struct fn *f;
	struct block *b;
	uint32_t n, *edges, n_edges, cap_edges;
	uint32_t *preds, *pred;	/* preds of block i: pred[preds[i] .. preds[i + 1]) */
	uint32_t *stack, *post;	/* work */
	uint32_t n_post, steps;
	bool changed, lost;
};

static inline bool step(struct flow *k)
{
	if (++k->steps > MAX_STEPS)
		k->lost = true;
	return !k->lost;
}

/* Has one of the operands of an instruction the mark? */
bool flow_marked(const struct flow *k, uint32_t at, uint8_t m);
void flow_mark(struct flow *k, uint32_t id, uint8_t m);
bool flow_reads_pointer(const struct spv *s, uint32_t at);	/* an OpExtInst */
/* waits.c: U_WAITS, U_POLLS */
void flow_find_waits(struct flow *k);

#endif
