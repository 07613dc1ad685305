/* SPDX-License-Identifier: MIT */
/* What a kernel of the tests reads and writes. NULL, or what went wrong. */
#ifndef GS_TESTS_OPENCL_MEMORY_H
#define GS_TESTS_OPENCL_MEMORY_H

#include "run-cut.h"

const char *memory_make(struct cut_job *j);
const char *memory_arguments(struct cut_job *j, cl_kernel k);
const char *memory_fill(struct cut_job *j);
const char *memory_state(struct cut_job *j, struct cut_state *s);
const char *memory_compare(const struct cut_job *j, const struct cut_state *got);
void memory_drop(struct cut_job *j);

/* What is printed between the two goes to the state, if the kernel may print. */
void print_begin(struct cut_job *j);
void print_end(struct cut_job *j, struct cut_state *s);

#endif
