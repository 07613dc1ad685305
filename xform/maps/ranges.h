/* SPDX-License-Identifier: MIT */
/* A launch's numbers put into the nodes: sums, and the rows of conditions on them. */
#ifndef GSX_RANGES_H
#define GSX_RANGES_H

#include "maps.h"

/* What differs within a launch: ctaid, tid, and the rounds of the loops by nesting. */
#define V_CTAID	0
#define V_TID	3
#define V_ROUND	6
#define VARS	(V_ROUND + (int)MAP_LOOPS)

#define ENDLESS	INT64_MAX	/* rounds that nothing bounds */

struct sum {
	int64_t c[VARS];
	int64_t k;
};

struct span {
	int64_t lo, hi;
};

/* It isn't below zero. */
struct row {
	struct sum g;
};

#define MOST_ROWS	40u

/* Where an access goes, and when. */
struct task {
	const struct map_access *a;
	struct sum at;
	uint64_t bytes;
	struct span span[VARS];
	struct row row[MOST_ROWS];
	uint32_t n_rows;
	bool exact, empty;
};

struct figures {
	const struct map_code *code;
	const struct gsx_shape *shape;
	struct span box[VARS];		/* of the launch or of a part of it; rounds ENDLESS */
	struct span grid[VARS];		/* of all of it, in the first round */
	struct sum *sum;		/* of each node */
	uint8_t *state;			/* 0: not worked out yet; 1: it is; 2: it can't be */
	uint32_t *seen, stamp;
	const char *why;
};

/* figures.c */
int figures_begin(struct figures *f, const struct map_code *code, const struct gsx_shape *shape);
void figures_end(struct figures *f);
/* What a node is, in this launch; false: f->why */
bool figure(struct figures *f, uint32_t node, struct sum *to);
/*
 * The sum of a register's low bits as they are looked at, signed or not. What it then must be
 * within, for that to be right, is [*lo, *hi].
 */
bool figure_whole(struct figures *f, uint32_t node, unsigned int bits, bool sign, struct sum *to,
		  struct span *within);
bool sum_add(struct sum *to, const struct sum *from, int64_t times);
/* The least and the most; false: too big to be said. ENDLESS and -ENDLESS: no bound. */
bool sum_span(const struct sum *s, const struct span *span, struct span *to);

/* rows.c */
/* Each task of an access in f->box goes to @take; false: f->why, or @take's. */
bool tasks_make(struct figures *f, const struct map_access *a,
		bool (*take)(void *arg, const struct task *t), void *arg);

#endif
