/* SPDX-License-Identifier: MIT */
/* Modules and libraries as they were loaded, and what their PTX was made into. */
#ifndef GS_CUDA_MODULE_H
#define GS_CUDA_MODULE_H

#include "image.h"
#include "wrap.h"

/* Its PTX, transformed once; goes with the module. */
struct gs_made {
	struct gs_made *next;
	struct gs_image *image;
	uint32_t modes;		/* that were asked for */
	const void *variants;	/* the module or library that they are in */
	void *kept;		/* what the driver may still read */
	struct gs_shared *shared;	/* by contexts; only added to, read without a lock */
};

/* A module or library with PTX. */
struct gs_loaded {
	struct gs_loaded *next;
	const void *handle;
	const void *library;	/* a module that is a library's, for a context */
	uint64_t context;	/* its id, of a module; 0: a library */
	struct gs_source *source;	/* NULL: nothing can be made of it */
	struct gs_made *made;	/* newest first; variant.c's lock */
	bool too_much;		/* what its source was made of */
};

/* module.c */
struct gs_loaded *gs_loaded_find(const void *handle);
/* With a NUL behind; NULL: it can't be read, or has more than @most bytes. */
char *gs_read_file(const char *path, size_t *len, size_t most);

/* variant.c */
/* @unload: they are the driver's still; a context takes its modules with it. */
void gs_variants_free(struct gs_loaded *l, bool unload);
void gs_variants_forget(void);		/* in a forked child */

#endif
