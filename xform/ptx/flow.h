/* SPDX-License-Identifier: MIT */
/* Control flow of one function, and what it means for threads that end early. */
#ifndef GSX_PTX_FLOW_H
#define GSX_PTX_FLOW_H

#include "facts.h"
#include "xform/flow/flow.h"

/* Block f.n is the exit, without statements. A function without a body has no block. */
struct cfg {
	const struct ptx_module *m;
	struct flow f;
	uint32_t *first;	/* per block, and one more: its first statement */
	uint32_t *block_of;	/* statement - the body's first to block */
	uint32_t unknown_line;	/* a jump whose targets aren't known, 0: none */
};

/* Who tells flow what the instructions are; what it has to say lies around it. */
struct cfg_teller {
	void (*tell)(const struct cfg_teller *t, struct flow *f, uint32_t stmt);
	struct flow_value *value;
	uint32_t n_values;
	size_t limit;		/* in bytes, beyond which it is -E2BIG */
};

/* How much a value may differ between threads. */
enum spread {
	SAME_IN_BLOCK,		/* all threads of a block agree */
	SAME_IN_ROWS,		/* those of a warp agree, if warps don't straddle rows */
	DIFFERS
};

/* What lanes that end early ask of a statement in the workers' loop. */
enum lane_mark {
	MARK_NONE,
	MARK_NARROW,		/* its mask, to those that are left */
	MARK_STAYS_IF,		/* a branch; before it they say who stays: who takes it, */
	MARK_STAYS_UNLESS	/* or who doesn't */
};

struct early_exits {
	bool parks;		/* some may be done and others still meet a barrier */
	uint32_t warp_line;	/* 0, or why that can't be with a warp-wide operation */
	const char *warp_why;
	bool needs_rows;	/* it can only if warps don't straddle rows */
	uint32_t vote_line;	/* 0, or the first branch that lanes vote at */
	uint8_t *marks;		/* then, enum lane_mark of each statement; to be freed */
};

/* 0, -ENOMEM, -E2BIG; cfg_free() in each case. @t: NULL: nobody, and no limit. */
int cfg_build(struct cfg *g, const struct ptx_module *m, const struct ptx_function *f,
	      const struct cfg_teller *t);
void cfg_free(struct cfg *g);
/* The instruction that ends a block; PTX_NONE: it goes on to the next. */
uint32_t cfg_last(const struct cfg *g, uint32_t block);

/* spread of each block's branch, into branch[n]; 0 or -ENOMEM */
int spread_find(struct cfg *g, const struct ptx_module *m, const struct ptx_function *f,
		uint8_t *branch);
/* 0, -ENOMEM */
int early_exits_find(struct early_exits *e, struct cfg *g, const struct ptx_module *m,
		     const struct ptx_function *f, const struct module_facts *mf);
/* Where the mask of a warp-wide operation stands in the text, 0: in no form that's known. */
uint32_t warp_mask_begin(const struct ptx_module *m, const struct ptx_stmt *s, uint32_t *end);

#endif
