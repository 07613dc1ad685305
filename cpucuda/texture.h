/* SPDX-License-Identifier: MIT */
/*
 * What a texture or surface instruction finds behind a handle: where the texels
 * are, what they look like and how a coordinate becomes one of them.
 */
#ifndef CPUCUDA_TEXTURE_H
#define CPUCUDA_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers of CUarray_format, CUaddress_mode. */
enum texel_format { TEXEL_U8 = 1, TEXEL_U16, TEXEL_U32, TEXEL_S8 = 8, TEXEL_S16, TEXEL_S32,
	TEXEL_HALF = 0x10, TEXEL_FLOAT = 0x20 };
enum texture_address { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };

#define TEXTURE_LEVELS 16u

struct texture_level {
	uint8_t *base;
	uint32_t width, height, depth;	/* height, depth: 0 where there is no such dimension */
	size_t pitch, plane;		/* bytes a row, a plane or layer */
};

struct texture {
	struct texture_level level[TEXTURE_LEVELS];
	uint32_t levels, layers;	/* layers: 0, it isn't layered */
	uint8_t format, channels;
	uint8_t address[3];
	bool surface, normalized, as_integer, linear, linear_levels, linear_memory;
	float border[4];
	float level_bias, level_min, level_max;
};

static inline uint32_t texel_size(unsigned int format)
{
	return format == TEXEL_U8 || format == TEXEL_S8 ? 1 :
		format == TEXEL_U16 || format == TEXEL_S16 || format == TEXEL_HALF ? 2 : 4;
}

/* Handles are never 0 and seldom used twice; callers hold the device's lock. */
uint64_t texture_add(const struct texture *t);
bool texture_remove(uint64_t handle);
struct texture *texture_find(uint64_t handle);

#endif
