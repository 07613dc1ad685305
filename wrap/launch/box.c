// SPDX-License-Identifier: MIT
/* Boxes of a launch. */
#include "box.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void gs_box_at(const uint64_t groups[3], uint64_t at, uint64_t most, struct gs_box *box)
{
	uint64_t row = groups[0], plane = row * groups[1];
	uint64_t x = at % row, y = at / row % groups[1], z = at / plane;

	*box = (struct gs_box){ .base = { x, y, z }, .n = { 1, 1, 1 } };
	if (!most)
		most = 1;
	if (x || most < row) {
		box->n[0] = least(most, row - x);
	} else if (y || most < plane) {
		box->n[0] = row;
		box->n[1] = least(most / row, groups[1] - y);
	} else {
		box->n[0] = row;
		box->n[1] = groups[1];
		box->n[2] = least(most / plane, groups[2] - z);
	}
	box->total = box->n[0] * box->n[1] * box->n[2];
}
