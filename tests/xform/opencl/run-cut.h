/* SPDX-License-Identifier: MIT */
/*
 * One kernel, run whole and in all the ways that it can be cut, with its memory
 * compared bit by bit each time: buffers with guard zones before and behind, images,
 * and the lines that it prints.
 */
#ifndef GS_TESTS_OPENCL_CUT_H
#define GS_TESTS_OPENCL_CUT_H

#include <gsopencl.h>

#include "clhost.h"
#include "spec.h"

#define CUT_GUARD	4096u

/* A program, its shadows and what the transformer says about them. */
struct cut_program {
	const struct host *host;
	cl_program whole, shadow[GSX_MODES];
	struct gsx_cl_result res;
	char *plain;
	char options[512];
};

/* May change a shadow's text before it is built: plants errors. To be freed. */
typedef char *(*cut_edit)(void *arg, enum gsx_mode mode, const char *text);

/* NULL, or what went wrong. A shadow that doesn't build is wrong as well. */
const char *cut_open(struct cut_program *p, const struct host *h, const char *text, size_t len,
		     const char *options, bool rewrite_native, bool build_shadows,
		     cut_edit edit, void *arg);
void cut_close(struct cut_program *p);
const struct gsx_cl_kernel *cut_kernel(const struct cut_program *p, const char *name);

struct cut_state {
	uint8_t *bytes;		/* all memory behind each other, guard zones too */
	char *printed;		/* lines, sorted */
	size_t size;
};

struct cut_job {
	const struct cut_program *program;
	const struct gsx_cl_kernel *k;
	const struct spec_run *run;
	struct gsx_cl_launch launch;
	cl_mem parent[SPEC_ARGS], mem[SPEC_ARGS];
	cl_sampler sampler[SPEC_ARGS];
	uint8_t *initial[SPEC_ARGS];
	size_t bytes[SPEC_ARGS];	/* with guard zones */
	struct cut_state expected;
	uint32_t runs, launches, stops;	/* counted up */
	bool stop_by_thread;	/* the device sees the host's memory while it runs */
};

/* Runs it whole and keeps the result. NULL, or what went wrong. */
const char *cut_begin(struct cut_job *j, const struct cut_program *p, const struct spec_run *r);
/* Once more in a mode, with cuts by chance; NULL: the same as whole. */
const char *cut_again(struct cut_job *j, enum gsx_mode mode, bool original);
void cut_end(struct cut_job *j);

/* Chance, with a seed that can be printed. */
extern uint64_t cut_seed;
uint32_t cut_random(uint32_t below);

#endif
