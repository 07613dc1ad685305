// SPDX-License-Identifier: MIT
/* Handles of textures and surfaces. */
#include <stdlib.h>
#include <string.h>
#include "texture.h"

/* A handle is a slot and how often that was used, so that a stale one finds nothing. */
struct slot {
	struct texture *t;
	uint32_t uses;
};

static struct slot *slots;
static uint32_t n_slots;

uint64_t texture_add(const struct texture *t)
{
	struct slot *all;
	uint32_t k;

	for (k = 0; k < n_slots && slots[k].t; k++)
		;
	if (k == n_slots) {
		all = realloc(slots, (n_slots * 2 + 16) * sizeof(*all));
		if (!all)
			return 0;
		slots = all;
		n_slots = n_slots * 2 + 16;
		memset(slots + k, 0, (n_slots - k) * sizeof(*slots));
	}
	slots[k].t = malloc(sizeof(*t));
	if (!slots[k].t)
		return 0;
	*slots[k].t = *t;
	slots[k].uses++;
	return (uint64_t)slots[k].uses << 32 | k;
}

struct texture *texture_find(uint64_t handle)
{
	uint32_t k = handle;

	return k < n_slots && slots[k].uses == handle >> 32 ? slots[k].t : NULL;
}

bool texture_remove(uint64_t handle)
{
	struct texture *t = texture_find(handle);

	if (!t)
		return false;
	slots[(uint32_t)handle].t = NULL;
	free(t);
	return true;
}
