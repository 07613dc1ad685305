/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOSTILE_FUSE_H
#define TESTS_HOSTILE_FUSE_H

#include <stdbool.h>

/*
 * An open file on a file system of this process's own, mounted at @dir, which answers
 * nothing but that: who closes it waits. The process is root in a user name space from then on.
 */
int hung_file(const char *dir);

/* Root in a user name space of its own, and with mounts of its own; else errno says why not. */
bool become_root(void);

#endif
