/* SPDX-License-Identifier: MIT */
/*
 * One kernel launch done in four ways: whole, in boxes, under guard with random
 * stops, by workers with random stops and changes of their number.
 */
#ifndef CPUCUDA_CUT_H
#define CPUCUDA_CUT_H

#include "gsxform.h"
#include "cpucuda/memory.h"
#include "cpucuda/run.h"

struct cut_module {
	struct gsx_result x;
	struct program p;
	uint8_t **image;	/* of each variable, as it was after loading */
};

struct cut_launch {
	const struct gsx_kernel *k;
	struct func *whole, *variant[GSX_MODES];
	uint32_t grid[3], block[3], dynamic;
	uint8_t params[4608];
	bool ordered, cooperative;
	uint64_t gridid;
};

/* Transforms and decodes; @edit, if given, may change the text in between. */
int cut_load(struct cut_module *m, const char *text, size_t len, const char *file,
	     char *(*edit)(char *text, void *arg), void *arg, char *why, size_t size);
void cut_unload(struct cut_module *m);
void cut_reset(struct cut_module *m);
/* Whether the module's variables hold what @other's do; the name of one that differs. */
const char *cut_state(struct cut_module *m, uint8_t **save);
const struct gsx_kernel *cut_kernel(struct cut_module *m, const char *name);
void cut_prepare(struct cut_module *m, struct cut_launch *l, const char *name);

/* NULL: it went well; else what was wrong. */
const char *cut_whole(struct cut_launch *l);
const char *cut_slices(struct cut_launch *l);
const char *cut_guard(struct cut_launch *l);
const char *cut_workers(struct cut_launch *l);

#endif
