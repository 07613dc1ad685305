/* SPDX-License-Identifier: MIT */
/*
 * What is said of a launch's writes and reads (gsmaps.h) against what its blocks do: each
 * access to one of the buffers is noted with the block that made it, and ranges of blocks of
 * all sizes asked for.
 */
#ifndef CPUCUDA_ORACLE_H
#define CPUCUDA_ORACLE_H

#include "cut.h"
#include "tests/corpus/cuda/corpus.h"

#define ORACLE_BUFS 5

/* Of CORPUS_BYTES each, which the caller fills. */
extern struct mem_block *oracle_buf[ORACLE_BUFS];

/* Counted over all launches: pointers' writes and reads by what was said. */
struct oracle_tally {
	uint32_t launches, refused, by[2][GSX_MAP_CLASSES], late[2], exact, disjoint, asked;
};

/*
 * Runs it whole, and asks. NULL: all that was said is so; else what isn't. @fault: how the
 * launch failed, or NULL; then nothing is asked.
 */
const char *oracle_run(struct cut_launch *l, const char **fault, struct oracle_tally *t);

#endif
