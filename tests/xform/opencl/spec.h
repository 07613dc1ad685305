/* SPDX-License-Identifier: MIT */
/*
 * The comment lines by which a file of the corpus says how its kernels are run and
 * what is expected of the transformer. Documentation/testing.md has the grammar.
 */
#ifndef GS_TESTS_OPENCL_SPEC_H
#define GS_TESTS_OPENCL_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_ARGS	16
#define SPEC_NAME	128

enum arg_kind { ARG_BUFFER, ARG_LOCAL, ARG_VALUE, ARG_IMAGE, ARG_SAMPLER };
enum fill { FILL_ZERO, FILL_RANDOM, FILL_SMALL, FILL_INDEX, FILL_PERM };
enum scalar { S_CHAR, S_UCHAR, S_SHORT, S_USHORT, S_INT, S_UINT, S_LONG, S_ULONG, S_HALF,
	S_FLOAT, S_DOUBLE, SCALARS };

struct spec_arg {
	enum arg_kind kind;
	enum scalar type;	/* of a buffer's elements */
	enum fill fill;
	bool sorted;		/* a buffer: compared as a set, as the order is open */
	size_t count;		/* elements; local: bytes; value: bytes */
	uint8_t value[128];
	/* image: clCreateImage's words */
	uint32_t image_type, order, channel, width, height, depth, layers;
	bool image_written;
	/* sampler */
	uint32_t normal, address, filter;
};

struct spec_run {
	struct spec_run *next;
	char kernel[SPEC_NAME];
	unsigned int line, dims, n_args;
	size_t global[3], local[3], offset[3];
	bool never;		/* can't be run without risk of a hang */
	bool oclgrind_only;	/* has a meaning only there: divergent returns */
	struct spec_arg arg[SPEC_ARGS];
};

struct spec_expect {
	struct spec_expect *next;
	char kernel[SPEC_NAME], slice[96], workers[96];
};

struct spec {
	char *text;
	size_t len;
	char options[256], needs[256];
	bool report_only;
	struct spec_run *runs;
	struct spec_expect *expects;
};

extern const size_t scalar_size[SCALARS];

/* Reads a file; NULL, or what is wrong with it. */
const char *spec_read(const char *path, struct spec *s);
/* One run from its words, what stands behind "// run ". NULL, or what is wrong. */
const char *spec_run_parse(const char *line, struct spec_run *r);
void spec_free(struct spec *s);
const struct spec_expect *spec_expect_of(const struct spec *s, const char *kernel);

#endif
