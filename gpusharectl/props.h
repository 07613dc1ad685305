/* SPDX-License-Identifier: MIT */
/*
 * The properties of shares and devices by name: one table each, from which the
 * command line, the configuration, show, save and the completion all live.
 */
#ifndef GS_CTL_PROPS_H
#define GS_CTL_PROPS_H

#include <linux/gpushare.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GS_VALUE	96	/* a formatted value with its NUL */

struct gs_prop {
	const char *name;	/* on the command line: "mem.max" */
	const char *key;	/* in the configuration: "MemoryMax" */
	const char *json;	/* in JSON */
	const char *values;	/* what it takes, for people */
	uint32_t mask;		/* GPUSHARE_SHARE_* or GPUSHARE_DEV_* */
	int kind;		/* how it is read and written, private */
	size_t offset;
};

extern const struct gs_prop gs_share_props[], gs_device_props[];

/* By either name; case doesn't matter. */
const struct gs_prop *gs_prop_find(const struct gs_prop *props, const char *name);

/*
 * Take @value for @prop into @share (mask or reset are set) or @device, which
 * holds what is so now (mask is set). @mem_bytes is the device's memory, for
 * percentages of it; 0: unknown. On -EINVAL @why says what is wrong.
 */
int gs_share_parse(struct gpushare_share *share, const struct gs_prop *prop, const char *value,
		   uint64_t mem_bytes, char *why, size_t size);
int gs_device_parse(struct gpushare_device *device, const struct gs_prop *prop, const char *value,
		    char *why, size_t size);

/* As it is written to be read again. */
void gs_share_format(const struct gpushare_share *share, const struct gs_prop *prop, char *value);
void gs_device_format(const struct gpushare_device *device, const struct gs_prop *prop,
		      char *value);

/* A device nothing was said of. */
void gs_device_defaults(struct gpushare_device *device);
/* What kind a key speaks of: GPUSHARE_KIND_*. */
uint32_t gs_kind_of(const char *key);
const char *gs_kind_name(uint32_t kind);
const char *gs_policy_name(uint32_t policy);

/* The members of @share that @prop's mask names, copied from @from. */
void gs_share_copy(struct gpushare_share *share, const struct gpushare_share *from, uint32_t mask);
bool gs_share_same(const struct gpushare_share *a, const struct gpushare_share *b, uint32_t mask);

#endif
