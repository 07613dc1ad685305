/* SPDX-License-Identifier: MIT */
/* The libcuda wrapper and the driver behind it, as programs started here find them. */
#ifndef GS_CTL_CUDA_H
#define GS_CTL_CUDA_H

#include <stdbool.h>
#include <stddef.h>

/* A file that was built or installed beside this tool. */
bool gs_file_beside(char *path, size_t size, const char *name);

struct gs_cuda {
	bool loads;		/* the wrapper can be loaded */
	bool comes_first;	/* a program that asks for libcuda.so.1 gets it */
	unsigned int newest;	/* CUDA whose functions it knows, 13050 for 13.5 */
	int driver;		/* the driver's; 0: no driver was found */
};

/*
 * Looks at the wrapper at this path, in a child, as a driver is a big thing to load.
 * 0 or -errno.
 */
int gs_cuda_look(struct gs_cuda *cuda, const char *wrapper);

#endif
