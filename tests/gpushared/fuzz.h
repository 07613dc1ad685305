/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ULIB_FUZZ_H
#define TESTS_ULIB_FUZZ_H

#include <stddef.h>

/* Writes the @which-th sound input of the target, at most @max bytes of it. */
size_t fuzz_example(unsigned int which, unsigned char *data, size_t max);

#endif
