/* SPDX-License-Identifier: MIT */
/* The command, shared by its kinds of files. */
#ifndef GS_XFORM_COMMAND_H
#define GS_XFORM_COMMAND_H

#include <stdio.h>

#include <gsfatbin.h>
#include <gsopencl.h>
#include <gsxform.h>

struct cap {
	const char *kernel;
	size_t len;
	uint32_t registers;
};

struct command {
	struct gsx_options opt;
	struct cap *caps;
	int n_caps;
	const char *output;
	bool parameters, summary;
	FILE *report;
	/* OpenCL: build options in a shell's quotes, and what the device defines */
	char *build;
	struct gsx_cl_macro *macros;
	uint32_t n_macros;
	/* counted over all files */
	uint32_t kernels, by_mode[GSX_MODES], refused[GSX_REASONS];
	/* entries of the container to write */
	struct gsx_fat_entry *entries;
	size_t n_entries;
};

int complain(const char *name, const char *what);
char *read_file(const char *name, size_t *len);
int write_file(const char *name, const void *data, size_t len);

/* @place: what a refusal's line counts, "line" or "word" */
void cl_report(struct command *c, const char *name, const struct gsx_cl_kernel *kernels,
	       uint32_t n, const char *place);
int spv_file(struct command *c, const char *name, const void *module, size_t len);
int cl_file(struct command *c, const char *name, const char *text, size_t len);
bool add_build_option(struct command *c, const char *option);
bool add_macro(struct command *c, char *definition);

#endif
