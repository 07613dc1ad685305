// SPDX-License-Identifier: MIT
/*
 * Where to cut. Pieces follow one another in the groups' order, x fastest, and
 * each is a box: some groups of a row, else some whole rows of a plane, else
 * some whole planes. So a launch of 100 x 8 groups in pieces of at most 250 is
 * 2 rows, 2 rows, 2 rows, 2 rows.
 */
#include "layer.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void gs_box_next(const struct gs_launch *l, uint64_t most, struct gs_box *box)
{
	uint64_t row = l->groups[0], plane = row * l->groups[1];
	uint64_t x = l->done % row, y = l->done / row % l->groups[1], z = l->done / plane;

	*box = (struct gs_box){ .base = { x, y, z }, .n = { 1, 1, 1 } };
	if (!most)
		most = 1;
	if (x || most < row) {
		box->n[0] = least(most, row - x);
	} else if (y || most < plane) {
		box->n[0] = row;
		box->n[1] = least(most / row, l->groups[1] - y);
	} else {
		box->n[0] = row;
		box->n[1] = l->groups[1];
		box->n[2] = least(most / plane, l->groups[2] - z);
	}
	box->total = box->n[0] * box->n[1] * box->n[2];
}

/*
 * At most half of what may be in flight, as long as a group isn't longer: then two are, the
 * device doesn't run dry, and a preemption waits for one slice where others are. All pieces
 * of what is left are about as long. So a launch of 70 groups of a millisecond, where 32
 * may be in flight, is 5 pieces of 14. What isn't known yet is tried with few groups, and
 * each further piece has four times as many, until it is.
 */
uint64_t gs_piece_groups(const struct gs_launch *l, uint64_t room_ns)
{
	uint64_t left = l->total - l->done, n, pieces;

	if (gs_options.cuts)
		return 1 + gs_random() % least(left, 1 + gs_random() % 64);
	if (gs_estimate_ns(l->estimate, 1) == GS_NO_TIME)
		return least(left, l->done ? l->done * 3 : (l->total + 63) / 64);
	n = least(left, gs_estimate_groups(l->estimate, room_ns / 2));
	if (!n)
		return 1;
	pieces = (left + n - 1) / n;
	return (left + pieces - 1) / pieces;
}
