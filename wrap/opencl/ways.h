/* SPDX-License-Identifier: MIT */
/*
 * Slices or workers: what a kernel's long launches are cut by, whichever measures
 * faster. Nothing is launched twice to find out, since kernels have effects: real
 * launches go the one way or the other, and are measured.
 *
 *  - Slices come first. When a kernel has run in them for a second, so that it pays to
 *    build another program, three launches go by workers. The first of those isn't
 *    counted: it may have had to be compiled.
 *  - What counts is the least time of a group, since all that others do on the machine
 *    only adds; it is forgotten by and by (a 64th a launch), as kernels' times
 *    change with their data.
 *  - The other way must be faster by a 32nd to be changed to.
 *  - It is looked at again after 64 launches, then after 128, ... at most 4096.
 *
 * What fits into a slice isn't cut, so it is never asked about here.
 */
#ifndef GS_OPENCL_WAYS_H
#define GS_OPENCL_WAYS_H

#include <stdbool.h>
#include <stdint.h>

/* The ways that a launch may go. */
enum gs_way { GS_WHOLE, GS_SLICES, GS_WORKERS, GS_WAYS };

/* Of one kernel, local size and magnitude; zeroes to begin with. */
struct gs_ways {
	uint64_t spent_ns;		/* in slices, until workers are tried */
	uint64_t group_ps[GS_WAYS];	/* the least lately; 0: unknown */
	uint32_t trials;		/* launches by workers, at first */
	uint32_t launches, pause;	/* since the other way was looked at; until it is again */
	bool workers;			/* are faster */
	bool never;			/* they can't be had */
};

/* How the next launch goes, and why, if there is more to say than that it is cut. */
enum gs_way gs_ways_choose(struct gs_ways *ways, const char **why);
/* What a launch of so many groups took. */
void gs_ways_learn(struct gs_ways *ways, enum gs_way way, uint64_t groups, uint64_t ns);

#endif
