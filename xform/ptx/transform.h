/* SPDX-License-Identifier: MIT */
/* What the rewriting half shares: text that grows, memory of the report, the plan. */
#ifndef GSX_PTX_TRANSFORM_H
#define GSX_PTX_TRANSFORM_H

#include <gsxform.h>

#include "facts.h"
#include "flow.h"

/* Text that grows; the first error sticks. */
struct out {
	char *s;
	size_t len, cap, limit;
	int err;
};

void put(struct out *o, const char *s, size_t len);
void say(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Memory that goes with a result. */
struct pool {
	struct pool_chunk *chunks;
	size_t used, limit;
	bool full;		/* something was refused for the limit */
};

void *pool_get(struct pool *p, size_t size);	/* zeroed; NULL: no more */
char *pool_text(struct pool *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void pool_free(struct pool *p);

/* One entry's plan. */
struct plan {
	uint32_t function;
	uint32_t modes;
	bool parks;
	bool two_rounds;	/* each barrier takes two, see prologue.c */
	uint8_t *marks;		/* enum lane_mark of each statement, or NULL */
};

/* What was found and decided about a module. */
struct job {
	const struct ptx_module *m;
	const struct gsx_options *opt;
	struct module_facts facts;
	struct pool *pool;
	struct plan *plans;
	struct gsx_kernel *kernels;	/* of the result, one for each plan */
	uint32_t n_plans;
	uint8_t *copies;	/* per function: COPY_ bits */
	bool two_rounds;	/* of parked copies of device functions */
	struct out out;
	uint32_t *seen;		/* per variable: function + 1 that named it last */
	uint32_t calls;		/* rewritten so far: makes names unique */
	uint32_t *slot;		/* per variable, of a shadow: place in the table + 1 */
	uint32_t n_slots;
	bool has_state;		/* global or constant variables of module scope; or is linked */
	const char *table_space;
};

#define COPY_IDS	1	/* a copy of a device function that takes the grid's values */
#define COPY_PARKED	2	/* and whose barriers are the parking kind */

/* report.c: fills in one kernel's report and its plan; 0 or -ENOMEM */
int report_kernel(struct job *j, struct gsx_kernel *k, struct plan *p);
/* pointers.c: which parameters are addresses; flags[n_params], more into *kernel_flags */
int pointers_find(const struct ptx_module *m, const struct ptx_function *f, uint32_t *flags,
		  uint32_t *kernel_flags);
/* maps.c: which bytes its blocks write and read, into k->maps; 0 or -ENOMEM */
int maps_find(struct job *j, uint32_t function, struct gsx_kernel *k);
/* rewrite.c: the copies of device functions and entries that the plans ask for */
void write_variants(struct job *j, const struct gsx_kernel *kernels);
/* shadow.c: what a shadow shares with its original, and its text but for the variants */
int shadow_plan(struct job *j, struct gsx_result *res);
int shadow_write(struct job *j);
/* rewrite.c: a function of the original that stays, as far as a shadow must differ */
void write_kept(struct job *j, uint32_t function);
/* which copy of a function a kernel calls, 0: the function itself */
uint8_t copy_of(const struct job *j, uint32_t function, bool parks);

#endif
