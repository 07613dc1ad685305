/* SPDX-License-Identifier: MIT */
/*
 * gsspirv: make the work-groups of OpenCL kernels stoppable that come as SPIR-V.
 *
 * The same as gsopencl.h, whose words, modes, hidden arguments and duties of the host
 * hold here without a change: a module in (clCreateProgramWithIL), shadow modules and a
 * report out. What differs:
 *
 *  - Kernels that lack a mode stay in that mode's module as they were, or so that the
 *    module is valid; they must not be launched from there.
 *  - struct gsx_cl_kernel.line and struct gsx_refusal.line are word offsets into the
 *    module (of the entry point, of the instruction).
 *  - Modules of SPIR-V 1.0 to 1.6 with the Kernel capability and physical addressing;
 *    in either byte order, which the result keeps. Specialisation constants stay.
 *  - An instruction beyond the core set is never guessed at: its function is refused.
 */
#ifndef GSSPIRV_H
#define GSSPIRV_H

#include "gsopencl.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gsx_spv_options {
	const char *file;	/* name for messages; NULL: "spirv" */
	uint32_t modes;		/* GSX_BIT()s wanted; 0: report only */
	bool rewrite_native;	/* rewrite GSX_CL_NATIVE kernels for GSX_SLICE as well */
	size_t max_memory;	/* 0: 64 MiB and 64 times the input */
};

struct gsx_spv_result {
	/* The shadow modules; NULL where no kernel needs one. */
	void *module[GSX_MODES];
	size_t len[GSX_MODES];	/* bytes */
	const struct gsx_cl_kernel *kernels;	/* in the order of the entry points */
	uint32_t n_kernels;
	/* where the input was refused as a whole */
	uint32_t error_word;
	const char *error;	/* "FILE:WORD: what", NULL: none */
	void *memory;		/* private */
};

/*
 * Transforms a module of @len bytes; @module need not be aligned. @opt may be NULL: all
 * modes. The same input gives the same result. Returns 0; -EINVAL: not a module that we
 * can read; -E2BIG: over max_memory; -ENOMEM. gsx_spv_result_free() is due in each case.
 */
int gsx_spv_transform(const void *module, size_t len, const struct gsx_spv_options *opt,
		      struct gsx_spv_result *res);
void gsx_spv_result_free(struct gsx_spv_result *res);

#ifdef __cplusplus
}
#endif

#endif
