// SPDX-License-Identifier: MIT
#include <stddef.h>

#include "ways.h"

#define TRY_AFTER_NS	1000000000
#define TRIALS		3
#define PAUSE_FIRST	64
#define PAUSE_MOST	4096

enum gs_way gs_ways_choose(struct gs_ways *w, const char **why)
{
	*why = NULL;
	if (w->never || w->spent_ns < TRY_AFTER_NS)
		return GS_SLICES;
	if (w->trials < TRIALS) {
		w->trials++;
		*why = "to be measured";
		return GS_WORKERS;
	}
	if (!w->pause)
		w->pause = PAUSE_FIRST;
	if (++w->launches > w->pause) {
		w->launches = 0;
		w->pause = w->pause < PAUSE_MOST ? w->pause * 2 : PAUSE_MOST;
		*why = "to be measured again";
		return w->workers ? GS_SLICES : GS_WORKERS;
	}
	*why = w->workers ? "faster than slices" : "faster than workers";
	return w->workers ? GS_WORKERS : GS_SLICES;
}

static bool is_faster(uint64_t a, uint64_t b)
{
	return a && b && a < b - b / 32;
}

void gs_ways_learn(struct gs_ways *w, enum gs_way way, uint64_t groups, uint64_t ns)
{
	uint64_t ps, *least = &w->group_ps[way];

	if (!groups || __builtin_mul_overflow(ns, 1000, &ps))
		return;
	ps = ps / groups ? ps / groups : 1;
	if (way == GS_SLICES)
		w->spent_ns += ns;
	if (way == GS_WORKERS && w->trials == 1)
		return;
	*least = !*least || ps < *least ? ps : *least + (ps - *least) / 64;
	if (w->workers)
		w->workers = !is_faster(w->group_ps[GS_SLICES], w->group_ps[GS_WORKERS]);
	else
		w->workers = is_faster(w->group_ps[GS_WORKERS], w->group_ps[GS_SLICES]);
}
