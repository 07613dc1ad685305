/* SPDX-License-Identifier: MIT */
/*
 * Names that a program can't give to what others see: one rule for all kinds of text.
 * A program that has one is left whole, as it came.
 */
#ifndef GSX_RESERVED_H
#define GSX_RESERVED_H

#include <stdbool.h>
#include <stddef.h>

/* Has gsx_ in it, as the names that the transformers add. */
bool gsx_name_is_ours(const char *s, size_t len);
#define GSX_OURS_TEXT	"names with gsx_ in them are kept for the transformer"

/*
 * Stands behind the work-item functions of some device, as PoCL's _group_id_x does. No
 * specification has these, so a call of one can't be followed either.
 */
bool gsx_name_is_inner(const char *s, size_t len);

/*
 * A device finds by this name what tells a work-item who it is, or what a worker is made
 * of: an inner name, or that of a builtin, plain or mangled. What has it would be run in
 * the place of the device's own by code that we add.
 */
bool gsx_name_is_device(const char *s, size_t len);
#define GSX_DEVICE_TEXT	"what has the name of what is a device's own"

#endif
