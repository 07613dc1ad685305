/* SPDX-License-Identifier: MIT */
/* How much device memory the variables of a module take, as it declares them. */
#ifndef GS_CUDA_GLOBALS_H
#define GS_CUDA_GLOBALS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Of what the driver has just loaded for a device of @arch, so it is sound. @len is 0 if it
 * isn't known: then it is the program's memory, where a wrapper says where its containers
 * are, else it was read from a file. What can't be asked counts 0.
 */
uint64_t gs_globals(const void *data, size_t len, uint32_t arch);

#endif
