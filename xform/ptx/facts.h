/* SPDX-License-Identifier: MIT */
/*
 * What a function does that matters for cutting it, found in one pass over its
 * statements and then carried from callees to callers.
 */
#ifndef GSX_PTX_FACTS_H
#define GSX_PTX_FACTS_H

#include <gsxform.h>

#include "ptx.h"

/* The low bits: which of the grid's registers are read. */
enum grid_reg {
	READS_CTAID,			/* x, y, z */
	READS_NCTAID = READS_CTAID + 3,
	READS_GRIDID = READS_NCTAID + 3,
	GRID_REGS
};

#define READS_ANY_ID	((1u << GRID_REGS) - 1)

enum fact {
	F_GRID_SYNC = GRID_REGS,	/* %envreg: the driver's cooperative launch */
	F_CLUSTER,
	F_DEVICE_LAUNCH,
	F_INDIRECT,		/* calls through a register */
	F_EXTERN,		/* calls a body that we don't have, and don't know */
	F_OUTSIDE,		/* calls one that a module has which is linked with this */
	F_SPECIAL_USE,
	F_EXIT,			/* ends the thread */
	F_BARRIER,		/* a barrier that threads which are done would disturb */
	F_BARRIER_REDUCES,	/* bar.red */
	F_BARRIER_FORM,		/* one of these that can't be parked in */
	F_BARRIER_PART,		/* one that a part of the block passes or leaves arrivals at */
	F_WARP,
	F_ASYNC_STATE,
	F_COPIES,		/* cp.async */
	F_ALLOCA,
	F_UNKNOWN,		/* a statement or opcode not understood */
	F_ATOMICS,
	F_TEXTURES,
	F_DYNAMIC_SHARED,
	F_LOOKS,		/* reads memory as one that waits for others' writes may */
	F_WAITS,
	F_CALLS,
	F_STATE,		/* names a variable in a form that no shadow can have */
	F_FUNCTION,		/* takes a function's address */
	FACTS
};

#define FACT(f)		(1u << (f))

struct function_facts {
	uint32_t own;		/* FACT()s of its body */
	uint32_t all;		/* and of everything that it may call */
	uint32_t line[FACTS];	/* where the fact comes from, also if from a callee */
	uint32_t first_call, n_calls;	/* into calls */
};

struct module_facts {
	/* one for each function; the last stands for any indirectly called one */
	struct function_facts *f;
	uint32_t *calls;	/* callees */
	uint32_t n_calls, cap_calls;
	uint32_t *callers, *n_callers;	/* the other way round */
	uint32_t indirect;	/* index of the last one of f */
	uint32_t steps;		/* of waits_find() */
};

/*
 * 0 or -ENOMEM; facts_free() in each case. @outside: of each function, what is known of it
 * from elsewhere (FACT()s); NULL: nothing is.
 */
int facts_find(struct module_facts *mf, const struct ptx_module *m, const uint32_t *outside);
void facts_free(struct module_facts *mf);

/*
 * Fills in outside[m->n_functions], which is zeroed, from the texts that are linked with
 * the module. 0, -ENOMEM or -E2BIG.
 */
int outside_find(uint32_t *outside, const struct ptx_module *m, const struct gsx_text *linked,
		 uint32_t n, size_t limit);

/* A read of memory as it is made to see others' writes, whatever is done with it. */
bool looks_at_memory(const struct ptx_opcode *o);
/* 1: the function has a loop that waits for memory to change, by this line; 0; -ENOMEM */
int waits_find(struct module_facts *mf, const struct ptx_module *m, uint32_t function,
	       uint32_t *line);

#define SHARED_MOST	4u	/* of them in one statement */
/* state.c: a variable of the module that lives in global memory, by its name; or NULL */
const struct ptx_variable *state_named(const struct ptx_module *m, const struct ptx_operand *o);
/* The statement names some, or .const ones, in a form that a shadow can't have. */
bool state_is_odd(const struct ptx_module *m, const struct ptx_stmt *s);

/* How an instruction of class PTX_BARRIER takes part in cutting. */
enum barrier_kind {
	BARRIER_HARMLESS,	/* named, with a count: nobody else is waited for */
	BARRIER_PLAIN,		/* barrier 0 of all threads */
	BARRIER_REDUCING,	/* the same with a reduction */
	BARRIER_AWKWARD
};

enum barrier_kind barrier_kind(const struct ptx_module *m, const struct ptx_stmt *s);
/* It says how many threads meet. */
bool barrier_counts(const struct ptx_module *m, const struct ptx_stmt *s);

#endif
