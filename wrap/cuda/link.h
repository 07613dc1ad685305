/* SPDX-License-Identifier: MIT */
/* What a program links at run time (cuLink*), kept for when it loads the result. */
#ifndef GS_CUDA_LINK_H
#define GS_CUDA_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cu.h"

/* Those of the compiler's options that matter for what comes out. */
struct gs_link_options {
	uint32_t n;
	int *options;
	void **values;
};

struct gs_link_input {
	int type;		/* CU_JIT_INPUT_... */
	char *data;
	size_t size;
	char *name;		/* NULL: none was given */
	struct gs_link_options options;
};

/* A link that went well. */
struct gs_link {
	struct gs_link *next;	/* the newest first */
	uint32_t refs;
	struct gs_link_options options;
	struct gs_link_input *inputs;
	uint32_t n;
	size_t bytes;		/* of all inputs and the result */
	char *out;		/* a copy of the result; NULL: it is the driver's alone */
	size_t size;
};

/* What is to be linked in an input's place; data NULL: the input itself. */
struct gs_link_text {
	void *data;
	size_t size;
};

/* The link that gave these bytes, NULL: none that is known. @len: 0 if it isn't known. */
struct gs_link *gs_link_find(const void *data, size_t len);
/* Containers that the driver links by itself, with a NULL behind the last. NULL: too much. */
struct gs_link *gs_link_of(const void *const *containers);
void gs_link_put(struct gs_link *link);
/* Links its inputs in their order, with @with for some; free() what comes. NULL: it failed. */
void *gs_link_again(const struct gs_link *link, const struct gs_link_text *with, size_t *size);
void gs_links_forget(void);	/* in a forked child */

#endif
