/* SPDX-License-Identifier: MIT */
/* gpusharectl set --keep: a share as a rule of its own file. */
#ifndef GS_CTL_KEEP_H
#define GS_CTL_KEEP_H

#include "ctl.h"

/*
 * Add what @share sets, and take out what it resets, in the file for what @text names
 * (@path: what that is now, if it is there) on device @key (NULL: all). A file that says
 * nothing any more is removed. 0, or an exit status, and said why.
 */
int gs_keep(const char *text, const char *path, const char *key,
	    const struct gpushare_share *share);

/* May a rule's pattern be @name, and mean itself and nothing else? */
bool gs_can_be_named(const char *name);

#endif
