// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clhost.h"

const char *host_open(struct host *h)
{
	cl_platform_id platform;
	cl_uint n = 0, bits = 0;
	cl_int err;

	memset(h, 0, sizeof(*h));
	if (clGetPlatformIDs(1, &platform, &n) || !n)
		return "no OpenCL platform";
	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &h->device, &n) || !n)
		return "no OpenCL device";
	clGetDeviceInfo(h->device, CL_DEVICE_NAME, sizeof(h->name), h->name, NULL);
	clGetDeviceInfo(h->device, CL_DEVICE_VERSION, sizeof(h->version), h->version, NULL);
	clGetDeviceInfo(h->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL);
	h->align = bits / 8 > 128 ? bits / 8 : 128;
	h->oclgrind = strstr(h->name, "Oclgrind");
	h->context = clCreateContext(NULL, 1, &h->device, NULL, NULL, &err);
	if (!h->context)
		return "no OpenCL context";
	h->queue = clCreateCommandQueue(h->context, h->device, 0, &err);
	return h->queue ? NULL : "no command queue";
}

void host_close(struct host *h)
{
	clReleaseCommandQueue(h->queue);
	clReleaseContext(h->context);
}

static bool has_word(const struct host *h, const char *word)
{
	cl_name_version list[128];
	cl_bool images = CL_FALSE;
	size_t size = 0, k;

	if (!strcmp(word, "images")) {
		clGetDeviceInfo(h->device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
		return images;
	}
	if (!strcmp(word, "3.0"))
		return strcmp(h->version, "OpenCL 3") > 0;
	if (clGetDeviceInfo(h->device, CL_DEVICE_OPENCL_C_FEATURES, sizeof(list), list, &size))
		return false;
	for (k = 0; k < size / sizeof(*list); k++)
		if (!strcmp(list[k].name, word))
			return true;
	return false;
}

bool host_has(const struct host *h, const char *needs)
{
	char copy[256], *word, *save = NULL;

	snprintf(copy, sizeof(copy), "%s", needs);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!has_word(h, word))
			return false;
	return true;
}

cl_program host_build(const struct host *h, const char *text, size_t len, const char *options,
		      char *log, size_t log_size)
{
	cl_program p;
	cl_int err;

	log[0] = 0;
	p = clCreateProgramWithSource(h->context, 1, &text, &len, &err);
	if (!p)
		return NULL;
	if (clBuildProgram(p, 1, &h->device, options, NULL, NULL) == CL_SUCCESS)
		return p;
	if (clGetProgramBuildInfo(p, h->device, CL_PROGRAM_BUILD_LOG, log_size, log, NULL))
		snprintf(log, log_size, "(the log is too long)");
	clReleaseProgram(p);
	return NULL;
}
