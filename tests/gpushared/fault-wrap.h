/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ULIB_FAULT_WRAP_H
#define TESTS_ULIB_FAULT_WRAP_H

#include <stdbool.h>
#include <stdint.h>

/* In the file that GPUSHARE_FAULTS names. */
struct faults {
	volatile uint64_t nth;		/* this call fails; 0: none does, nor is counted */
	uint64_t count;
	volatile uint32_t hits;
	char what[28];			/* the function that failed last */
};

#endif
