/* SPDX-License-Identifier: MIT */
/* The blocks of a function, as flow.c and waits.c see them. */
#ifndef GSX_SPIRV_FLOW_H
#define GSX_SPIRV_FLOW_H

#include "spv.h"
#include "xform/flow/flow.h"

#define M_VARIES	1	/* may differ among the items of a group */
#define M_ESCAPES	2	/* a variable whose pointer goes elsewhere */
#define M_USED		4	/* by more than the marks of a variable's life */

struct block {
	uint32_t word, last;	/* its OpLabel, its terminator */
	bool under;		/* a branch that varies decides on it */
	bool seen;
};

struct graph {
	struct spv *s;
	struct fn *f;
	struct block *b;	/* of each of flow's */
	uint32_t n;
	struct flow flow;
	bool changed;
};

/* Has one of the operands of an instruction the mark? */
bool flow_marked(const struct graph *k, uint32_t at, uint8_t m);
void flow_mark(struct graph *k, uint32_t id, uint8_t m);
bool flow_reads_pointer(const struct spv *s, uint32_t at);	/* an OpExtInst */
/* waits.c: tells the instruction at word @at; U_WAITS, U_POLLS, fn.tries */
void spv_tell(struct graph *k, uint32_t at);
void spv_find_waits(struct graph *k);

#endif
