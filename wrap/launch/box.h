/* SPDX-License-Identifier: MIT */
/*
 * Where to cut a launch. Its pieces follow one another in the groups' order, x fastest,
 * and each is a box: some groups of a row, else some whole rows of a plane, else some
 * whole planes. So a launch of 100 x 8 groups in pieces of at most 250 is 2 rows, 2 rows,
 * 2 rows, 2 rows.
 */
#ifndef GS_BOX_H
#define GS_BOX_H

#include <stdint.h>

struct gs_box {
	uint64_t base[3], n[3], total;
};

/* That which begins at group @at of @groups, and has at most @most, but one at least. */
void gs_box_at(const uint64_t groups[3], uint64_t at, uint64_t most, struct gs_box *box);

#endif
