/* SPDX-License-Identifier: MIT */
/* What spirv-val says of a module, where it is installed. */
#ifndef GS_TESTS_SPIRV_VALID_H
#define GS_TESTS_SPIRV_VALID_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* 0: valid; -1: spirv-val isn't there */
static inline int spirv_val(const void *module, size_t len, bool quiet)
{
	char path[] = "/tmp/gs-spirv-XXXXXX", command[200];
	int fd = mkstemp(path), status;

	ASSERT_GE(fd, 0);
	ASSERT_EQ((ssize_t)len, write(fd, module, len));
	close(fd);
	snprintf(command, sizeof(command), "spirv-val --target-env %s %s %s",
		 ((const uint32_t *)module)[1] > 0x10200 ? "spv1.6" : "opencl2.2", path,
		 quiet ? ">/dev/null 2>&1" : "2>&1");
	status = system(command);
	unlink(path);
	return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -1 : status;
}

#endif
