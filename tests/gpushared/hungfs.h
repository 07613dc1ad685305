/* SPDX-License-Identifier: MIT */
/*
 * A file system whose server answers what it likes: FUSE, spoken by hand, mounted
 * in a user name space of its own, as every user may. What it doesn't answer waits
 * in the kernel, in whoever asked, and not even SIGKILL helps.
 */
#ifndef TESTS_ULIB_HUNGFS_H
#define TESTS_ULIB_HUNGFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hungfs {
	pid_t server;
	char dir[128], file[160];	/* where it is mounted, and its only file */
	/* In memory that is shared with the server. */
	struct hungfs_page {
		volatile uint64_t hang;		/* bits: opcodes that aren't answered */
		volatile uint32_t asked[64];	/* so many of each came */
		volatile int ready;		/* 1, or -errno */
	} *page;
};

/*
 * Puts this process into new user and mount name spaces, mounts it on @dir and starts
 * the server, which ends with this process. 0, or why FUSE can't be had here.
 */
int hungfs_start(struct hungfs *h, const char *dir, bool writeback);
/* From now on what has opcode @op (FUSE_FLUSH, ...) isn't answered. */
void hungfs_hang(struct hungfs *h, unsigned int op);
/* A page of memory that hangs whoever in the kernel touches it. */
void *hungfs_memory(struct hungfs *h);

#endif
