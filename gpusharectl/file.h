/* SPDX-License-Identifier: MIT */
#ifndef GS_CTL_FILE_H
#define GS_CTL_FILE_H

#include <stdio.h>

/*
 * Replace the file @name by what @write writes, in one step: readers see the
 * old one or the new one, also if the machine stops in between. "-" is standard
 * output. 0 or -errno.
 */
int gs_file_replace(const char *name, int (*write)(FILE *out, void *arg), void *arg);

#endif
