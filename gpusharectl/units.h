/* SPDX-License-Identifier: MIT */
/*
 * Shares in systemd's units: a unit's file, or a drop-in of it, may have
 *
 *	[X-GPUShare]
 *	Weight=50
 *
 * systemd passes over sections whose names begin with X-. What a unit has is put together
 * as systemd does it with its own sections: the unit's file, or its template's, then the
 * drop-ins of the unit, its template, its prefixes and its type, by name; the last word
 * on a key counts. Nothing is asked of systemd: a change is one when the file has it.
 */
#ifndef GS_CTL_UNITS_H
#define GS_CTL_UNITS_H

#include "config.h"

struct gs_units;

struct gs_units *gs_units_new(void);	/* NULL: no memory */
void gs_units_free(struct gs_units *u);
/*
 * What the files say now. Mistakes go to @err, of each file once while it is the same; what
 * is no mistake counts. 0 or -ENOMEM.
 */
int gs_units_read(struct gs_units *u, FILE *err);
unsigned int gs_units_mistakes(const struct gs_units *u);	/* of all files */
/* Does any file have such a section, or had one that is still in force? */
bool gs_units_any(const struct gs_units *u);

/*
 * The sections for the unit of the cgroup @path, one for each device that they name, and
 * how many; 0: none, or it is no unit's. What was said before and isn't now is in them as
 * a value that is taken back. They are good until the next call of gs_units_read().
 */
size_t gs_units_find(struct gs_units *u, const char *path, const struct gs_section **sections);
/* A round of all cgroups is over: who wasn't asked for in it isn't there any more. */
void gs_units_end_round(struct gs_units *u);

/* @fn with each directory in which something may come that counts. */
void gs_units_each_dir(const struct gs_units *u, void (*fn)(const char *dir, void *arg), void *arg);

#endif
