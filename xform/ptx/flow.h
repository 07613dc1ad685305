/* SPDX-License-Identifier: MIT */
/* Control flow of one function, and what it means for threads that end early. */
#ifndef GSX_PTX_FLOW_H
#define GSX_PTX_FLOW_H

#include "facts.h"

struct block {
	uint32_t first, end;	/* statements */
	uint32_t last;		/* the instruction that ends it, PTX_NONE: falls through */
	uint32_t edge, n_edges;	/* successors, indexes into edges */
	uint32_t in, n_in;	/* predecessors */
};

struct cfg {
	struct block *blocks;
	uint32_t n;		/* blocks[n] is the exit, without statements */
	uint32_t *edges, n_edges;
	uint32_t *ins;
	uint32_t *block_of;	/* statement - first to block */
	uint32_t first;
	uint32_t unknown_line;	/* a jump whose targets aren't known, 0: none */
};

/* How much a value may differ between threads. */
enum spread {
	SAME_IN_BLOCK,		/* all threads of a block agree */
	SAME_IN_ROWS,		/* those of a warp agree, if warps don't straddle rows */
	DIFFERS
};

struct early_exits {
	uint32_t barrier_line;	/* 0, or a branch after which some are done and others
				 * still meet a barrier
				 */
	uint32_t warp_line;	/* the same with a warp-wide operation */
	bool needs_rows;	/* warp_line is 0 only if warps don't straddle rows */
};

/* 0, -ENOMEM */
int cfg_build(struct cfg *g, const struct ptx_module *m, const struct ptx_function *f);
void cfg_free(struct cfg *g);

/* spread of each block's branch, into branch[n]; 0 or -ENOMEM */
int spread_find(const struct cfg *g, const struct ptx_module *m, const struct ptx_function *f,
		uint8_t *branch);
int early_exits_find(struct early_exits *e, const struct cfg *g, const struct ptx_module *m,
		     const struct ptx_function *f, const struct module_facts *mf);

#endif
