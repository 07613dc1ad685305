// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine.h"

static struct engine known[] = {
	{ "pocl", "/etc/OpenCL/vendors/pocl.icd", false },
	{ "oclgrind", "/usr/lib/oclgrind/liboclgrind-rt-icd.so", true },
}, given = { "given", NULL, false };

const struct engine *engines = known;
unsigned int n_engines = 2;

void engines_find(void)
{
	const char *out = getenv("O");
	char path[400];

	given.icd = getenv("OCL_ICD_VENDORS");
	if (given.icd) {
		given.quick = strstr(given.icd, "oclgrind");
		engines = &given;
		n_engines = 1;
	}
	snprintf(path, sizeof(path), "%s/tests/xform/opencl/pocl-cache", out ? out : "build/user");
	mkdir(path, 0777);
	setenv("POCL_CACHE_DIR", path, 0);
	setenv("OCLGRIND_LOG", "/dev/null", 0);	/* it tells of each divergent barrier */
}

void engine_use(const struct engine *e)
{
	setenv("OCL_ICD_VENDORS", e->icd, 1);
}
