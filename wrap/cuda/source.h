/* SPDX-License-Identifier: MIT */
/* The PTX of a module, as it was loaded: kept until it is worth transforming. */
#ifndef GS_CUDA_SOURCE_H
#define GS_CUDA_SOURCE_H

#include <gsfatbin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text, and how it came. */
struct gs_part {
	const char *ptx;	/* NULL: it is packed yet */
	size_t len;
	char *own;		/* what of it is ours, to free */
	uint32_t input;		/* of the link */
	bool in_container;
	struct gsx_fat_entry entry;
	char *options;		/* the entry's, of our own */
};

/* The register cap of a kernel's variants, as it also lies in the cache on disk. */
struct gs_cap {
	uint64_t kernel;	/* a digest of its name: a mistaken one costs nothing but speed */
	uint64_t registers;
};

/* What a module is made of: one part, or those of a link that are PTX. */
struct gs_source {
	struct gs_part *parts;
	uint32_t n;
	uint32_t arch;
	struct gs_cap *caps;
	size_t n_caps;
	bool caps_read;
	struct gs_link *link;	/* NULL: a module by itself */
};

/*
 * The PTX in what a program gives the driver to load: text, a container, a wrapper
 * of one or of several that the driver links, or what it linked from such. @len is 0 if
 * it isn't known, in the program's memory; a wrapper counts only there. NULL: there is none
 * to be used on a device of @arch, whatever the reason.
 */
struct gs_source *gs_source_take(const void *data, size_t len, uint32_t arch);
void gs_source_free(struct gs_source *source);
/* Its texts can be read from now on. False: they are damaged, or there is no memory. */
bool gs_source_unpack(struct gs_source *source);
/* A link of so many parts that are so long that gs_image_make() takes none of them. */
bool gs_source_is_too_much(const struct gs_source *source);

#endif
