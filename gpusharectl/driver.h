/* SPDX-License-Identifier: MIT */
/*
 * What GPU drivers themselves say of who computed for how long. An arbiter knows who
 * was granted a device; who computes on without a grant, or after saying that it is
 * idle, only the driver sees.
 */
#ifndef GS_CTL_DRIVER_H
#define GS_CTL_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process computed for so long on one GPU, named as the kernel does: 0000:65:00.0. */
struct gs_computed {
	pid_t pid;
	char bus[16];
	uint64_t ns;
};

struct gs_driver;

/* Begins to watch: NULL if no driver tells of any process. */
struct gs_driver *gs_driver_watch(void);

/*
 * Who computed since then, and ends the watch: how many are in *list, which is to be
 * freed, and in *ns for how long it went on.
 */
size_t gs_driver_seen(struct gs_driver *d, struct gs_computed **list, uint64_t *ns);

#endif
