/* SPDX-License-Identifier: MIT */
/* The clock of the library, of the wrappers and of the tool. */
#ifndef GS_CLOCK_H
#define GS_CLOCK_H

#include <stdint.h>

uint64_t gs_now(void);		/* CLOCK_MONOTONIC, in nanoseconds */

#endif
