/* SPDX-License-Identifier: MIT */
/* The state of writing one variant. Names of our own begin with gsx_. */
#ifndef GSX_PTX_WRITE_H
#define GSX_PTX_WRITE_H

#include "transform.h"

struct writer {
	struct job *j;
	const struct ptx_module *m;
	struct out *o;
	bool entry;		/* else a device function's copy */
	bool kept;		/* what the original has, in its shadow */
	enum gsx_mode mode;
	uint32_t ids;		/* which of the grid's registers are read, also below */
	bool parks, two_rounds;
	bool copies_in_flight;	/* cp.async */
	const uint8_t *marks;	/* enum lane_mark of each statement, or NULL */
};

/* prologue.c */
void write_registers(struct writer *w);
void write_prologue(struct writer *w);
void write_epilogue(struct writer *w);
void write_parked_barrier(struct writer *w, const struct ptx_stmt *s);
/* rewrite.c */
void write_pred(struct writer *w, const struct ptx_stmt *s);

#endif
