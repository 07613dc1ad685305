// SPDX-License-Identifier: MIT
/*
 * What the environment says.
 *
 *	GPUSHARE_OPENCL_MODE	auto (the default), gate (nothing is cut), whole
 *				(all is deferred, nothing is cut), slice, workers
 *	GPUSHARE_OPENCL_CUTS	a seed: cuts and stops at random places
 *
 * All but the first mode are for tests.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer.h"

struct gs_layer_options gs_options;
static uint64_t random_state;

static enum gs_mode mode_of(const char *name)
{
	static const char *const names[] = {
		[GS_MODE_AUTO] = "auto", [GS_MODE_GATE] = "gate", [GS_MODE_WHOLE] = "whole",
		[GS_MODE_SLICE] = "slice", [GS_MODE_WORKERS] = "workers",
	};
	static const char unknown[] =
		"gpushare: GPUSHARE_OPENCL_MODE is none of auto, gate, whole, slice and workers\n";
	unsigned int i;

	for (i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return i;
	if (name && *name && write(2, unknown, sizeof(unknown) - 1) < 0)
		return GS_MODE_AUTO;
	return GS_MODE_AUTO;
}

void gs_options_read(void)
{
	const char *seed = getenv("GPUSHARE_OPENCL_CUTS");

	gs_options.mode = mode_of(getenv("GPUSHARE_OPENCL_MODE"));
	gs_options.cuts = seed && *seed;
	gs_options.seed = seed ? strtoull(seed, NULL, 0) : 0;
	random_state = gs_options.seed;
}

/* splitmix64 of a counter, so that threads can draw without a lock. */
uint64_t gs_random(void)
{
	uint64_t x = __atomic_add_fetch(&random_state, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}
