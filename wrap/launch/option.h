/* SPDX-License-Identifier: MIT */
/*
 * How launches are cut, by the environment: GPUSHARE_CUT, words with commas between them.
 *
 *	auto		what is long is cut (the default)
 *	off		nothing is cut; each launch waits for the grant as it is
 *	whole		nothing is cut; OpenCL's launches are deferred all the same
 *	slice		all that can be is cut, into slices
 *	guard		the same by guarded launches, where the API has them; else as slice
 *	workers		the same by workers, where the API has them; else as slice
 *	random=SEED	what is cut, is cut at places that are drawn; CUDA with auto cuts all,
 *			each launch in a way that is drawn
 *
 * All but auto and off are for tests. Of two words for the same the last one holds. A word that
 * isn't known changes nothing and is told on stderr; so is a variable that had another name
 * before. Programs with more rights than their caller get the default.
 */
#ifndef GS_OPTION_H
#define GS_OPTION_H

#include <stdbool.h>
#include <stdint.h>

enum gs_cutting {
	GS_CUT_AUTO, GS_CUT_OFF, GS_CUT_WHOLE, GS_CUT_SLICE, GS_CUT_GUARD, GS_CUT_WORKERS,
};

struct gs_options {
	enum gs_cutting cut;
	bool random;
};

/* Written by gs_options_read() alone. */
extern struct gs_options gs_options;

/* Before the wrapper's first launch; what the first call read stays. */
void gs_options_read(void);

/* Is nothing to be cut? Is all to be, however short? */
static inline bool gs_cuts_nothing(void)
{
	return gs_options.cut == GS_CUT_OFF || gs_options.cut == GS_CUT_WHOLE;
}

static inline bool gs_cuts_all(void)
{
	return gs_options.cut >= GS_CUT_SLICE;
}

/*
 * The next of the seed's numbers, less than @below, which isn't 0. Threads draw without a
 * lock: each number goes to one of them.
 */
uint64_t gs_draw(uint64_t below);

#endif
