/* SPDX-License-Identifier: MIT */
/*
 * What a module's PTX becomes: one block of memory, as it also lies in the cache on
 * disk. Places in it are offsets from its beginning; 0 is none.
 */
#ifndef GS_CUDA_IMAGE_H
#define GS_CUDA_IMAGE_H

#include <gsxform.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source.h"

struct gs_image_kernel {
	uint32_t name, variant[GSX_MODES];
	uint32_t flags, needs;		/* as in struct gsx_kernel */
	uint32_t hidden_offset, param_bytes, n_params;
	uint32_t sizes;			/* of the parameters, uint32_t each; counts from here */
	uint32_t max_threads;
	uint32_t variables, n_variables;	/* that it reaches: their places, as sizes */
};

/* As struct gsx_variable. */
struct gs_image_variable {
	uint32_t name, slot;
	uint32_t bytes;			/* of a constant */
	uint32_t part;			/* whose table that is */
};

struct gs_image {
	uint32_t bytes, n_kernels;
	uint32_t text, text_len;	/* the transformed texts, a NUL behind each */
	uint32_t variables, n_variables;
	uint32_t n_parts;		/* texts */
	struct gs_image_kernel kernels[];
};

static inline const char *gs_image_text(const struct gs_image *image, uint32_t at)
{
	return at ? (const char *)image + at : NULL;
}

static inline const struct gs_image_variable *gs_image_variables(const struct gs_image *image)
{
	return (const struct gs_image_variable *)((const char *)image + image->variables);
}

static inline const uint32_t *gs_image_sizes(const struct gs_image_kernel *kernel)
{
	return (const uint32_t *)((const char *)kernel + kernel->sizes);
}

/* How many variables the kernel reaches, and which the @i'th is, in ascending parts. */
static inline uint32_t gs_image_n_reached(const struct gs_image *image,
					  const struct gs_image_kernel *kernel)
{
	return kernel->flags & GSX_ANY_VARIABLE ? image->n_variables : kernel->n_variables;
}

static inline uint32_t gs_image_reached(const struct gs_image_kernel *kernel, uint32_t i)
{
	return kernel->flags & GSX_ANY_VARIABLE ? i :
	       ((const uint32_t *)((const char *)kernel + kernel->variables))[i];
}

/*
 * From now on the variants of @kernel are made with at most so many registers, also in
 * later runs on a device like this. False: that was so already.
 */
bool gs_source_cap(struct gs_source *source, const char *kernel, uint32_t registers);

/*
 * The module's shadow with variants for @modes (GSX_BIT()s); NULL: none can be had. Else
 * free() it, and *load, which is what the driver is to load. *from_disk: whether the result
 * of a link may be an earlier one's; afterwards, whether it is.
 */
struct gs_image *gs_image_make(struct gs_source *source, uint32_t modes, bool *from_disk,
			       void **load);
const struct gs_image_kernel *gs_image_find(const struct gs_image *image, const char *name);

#endif
