/* SPDX-License-Identifier: MIT */
/*
 * How the launches of a process were made, for gpusharectl status --transforms.
 *
 * They are counted in a memory file of the process, named below, that it keeps
 * open: the tool finds it in /proc/PID/fd. So there is nothing to send while the
 * program runs, only who may look into the process can read it, and nothing is
 * left of a process that was killed. The file begins with a struct
 * gs_launches_head, then come its records, each of the same size, in no order;
 * one is there when used isn't 0. A reader believes nothing of it: strings may
 * lack their end, and the file may be short.
 */
#ifndef GS_LAUNCHES_H
#define GS_LAUNCHES_H

#include <stdint.h>

#define GS_LAUNCHES_NAME	"gpushare-launches"
#define GS_LAUNCHES_MAGIC	0x4c534721u	/* "!GSL" */
#define GS_LAUNCHES_VERSION	1
#define GS_LAUNCHES_MAX		1023		/* records; with the head, 64 pages of 4 KiB */

struct gs_launches_head {
	uint32_t magic;
	uint32_t version;
	uint64_t others;		/* launches that found no record */
	char reserved[240];
};

struct gs_launches {
	uint64_t count;
	uint32_t used;
	uint32_t reserved;
	char kernel[112];
	char way[16];
	char why[112];
};

/*
 * Where such launches are counted, for who has many of a kind; NULL: nowhere. It may
 * change errno. In a forked child it isn't there any more.
 */
uint64_t *gs_launches_counter(const char *kernel, const char *way, const char *why);

_Static_assert(sizeof(struct gs_launches) == 256 && sizeof(struct gs_launches_head) == 256,
	       "a file of equal records");

#endif /* GS_LAUNCHES_H */
