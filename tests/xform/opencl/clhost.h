/* SPDX-License-Identifier: MIT */
/* An OpenCL device for the tests: the first one that the loader offers. */
#ifndef GS_TESTS_OPENCL_CLHOST_H
#define GS_TESTS_OPENCL_CLHOST_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdbool.h>

struct host {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	char name[256], version[256];
	bool oclgrind;
	size_t align;		/* of sub-buffers, bytes */
};

/* NULL, or why there is none. */
const char *host_open(struct host *h);
void host_close(struct host *h);
/* Words as in a file's "needs:" line: a feature's name, "images", "3.0". */
bool host_has(const struct host *h, const char *needs);
/* NULL: not built, and @log says why. */
cl_program host_build(const struct host *h, const char *text, size_t len, const char *options,
		      char *log, size_t log_size);

/*
 * The program without macros, by the product's preprocessor with this device's own
 * macros, and the options that a shadow program is built with. NULL: @log says why.
 */
char *host_preprocess(const struct host *h, const char *text, size_t len, const char *options,
		      char *shadow_options, size_t size, char *log, size_t log_size);

#endif
