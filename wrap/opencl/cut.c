// SPDX-License-Identifier: MIT
/* How much of a launch to cut off. */
#include "layer.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
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

	if (gs_options.random)
		return 1 + gs_draw(least(left, 1 + gs_draw(64)));
	if (gs_estimate_ns(l->estimate, 1) == GS_NO_TIME)
		return least(left, l->done ? l->done * 3 : (l->total + 63) / 64);
	n = least(left, gs_estimate_groups(l->estimate, room_ns / 2));
	if (!n)
		return 1;
	pieces = (left + n - 1) / n;
	return (left + pieces - 1) / pieces;
}
