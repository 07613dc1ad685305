/* SPDX-License-Identifier: MIT */
/*
 * What the arbiter is told of the kernel that runs next, so that it can deal out workers on
 * a device with several seats. A call to the arbiter, so for launches that take long alone,
 * and only if it is something else than what was told last.
 */
#ifndef GS_LAUNCH_DESCRIBE_H
#define GS_LAUNCH_DESCRIBE_H

#include <stdbool.h>

#include "gpushare.h"

/* Zero: nothing was said yet. */
struct gs_described {
	bool telling;			/* atomic: a thread is at it */
	struct gpushare_describe last;
	uint64_t generation;		/* of the arbiter that was told */
};

/*
 * @kernel: but @size and @workers. One of which a block doesn't fit a compute unit as the
 * arbiter knows it counts as not described. Threads may call it at the same time.
 */
void gs_describe(struct gpushare *handle, struct gs_described *told,
		 const struct gpushare_describe *kernel);

#endif
