/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL implementations that the tests run on: Debian's PoCL and Oclgrind, or
 * just what OCL_ICD_VENDORS names when it is set. A process can use one of them, as
 * the loader reads the variable once: engine_use() is for a child of its own.
 */
#ifndef GS_TESTS_OPENCL_ENGINE_H
#define GS_TESTS_OPENCL_ENGINE_H

#include <stdbool.h>

struct engine {
	const char *name, *icd;
	bool quick;		/* interprets: nothing to compile for seconds */
};

extern const struct engine *engines;
extern unsigned int n_engines;

/* Before all else: PoCL's cache goes below the build folder. */
void engines_find(void);
void engine_use(const struct engine *e);

#endif
