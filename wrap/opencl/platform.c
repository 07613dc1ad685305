// SPDX-License-Identifier: MIT
/*
 * Extensions. Their functions come from the driver by address and would pass us
 * by: those that launch kernels, set their arguments or allocate device memory
 * are replaced by ours, or not offered, and then their extension isn't either.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

/* Beginnings of names: variants of one extension share them. */
static const char *const hidden[] = {
	"cl_khr_command_buffer",	/* records launches */
	"cl_pocl_command_buffer",
	"cl_intel_unified_shared_memory",
	"cl_arm_shared_virtual_memory",
	"cl_ext_buffer_device_address",
	"cl_khr_unified_svm",
	"cl_intel_concurrent_dispatch",
	"cl_arm_import_memory",		/* what it makes wouldn't be kept for a deferred launch */
};

/* Functions of those, and others of the same kind, by parts of their names. */
static const char *const unwrapped[] = {
	"CommandBuffer", "clCommand", "clUpdateMutable", "clSetKernel", "clEnqueueND", "clEnqueueTask",
	"MemAllocINTEL", "MemAllocInfoINTEL", "MemFreeINTEL", "MemBlockingFreeINTEL",
	"clEnqueueMemcpyINTEL", "clEnqueueMemFillINTEL", "clEnqueueMemsetINTEL",
	"clEnqueueMemAdviseINTEL", "clEnqueueMigrateMemINTEL", "clSVM", "clEnqueueSVM",
	"clImportMemoryARM", "clCreatePerfCounterCommandQueueINTEL",
};

static bool is_hidden(const char *name, size_t length)
{
	size_t i, n;

	for (i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		n = strlen(hidden[i]);
		if (length >= n && !memcmp(name, hidden[i], n))
			return true;
	}
	return false;
}

/* In place; words are separated by one space, as drivers do. */
static size_t filter_words(char *words)
{
	char *from = words, *to = words;
	size_t n;

	while (*from) {
		n = strcspn(from, " ");
		if (n && !is_hidden(from, n)) {
			if (to != words)
				*to++ = ' ';
			memmove(to, from, n);
			to += n;
		}
		from += n + strspn(from + n, " ");
	}
	*to = 0;
	return (size_t)(to - words) + 1;
}

static size_t filter_versions(cl_name_version *list, size_t size)
{
	size_t i, n = 0;

	for (i = 0; i < size / sizeof(*list); i++)
		if (!is_hidden(list[i].name, strnlen(list[i].name, sizeof(list[i].name))))
			list[n++] = list[i];
	return n * sizeof(*list);
}

static cl_int answer(bool versions, void *all, size_t n, size_t size, void *value, size_t *size_ret)
{
	n = versions ? filter_versions(all, n) : filter_words(all);
	if (value && size < n)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, all, n);
	if (size_ret)
		*size_ret = n;
	return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL get_platform_info(cl_platform_id id, cl_platform_info what,
							 size_t size, void *value, size_t *size_ret)
{
	size_t n;
	void *all;
	cl_int rc;

	if (what != CL_PLATFORM_EXTENSIONS && what != CL_PLATFORM_EXTENSIONS_WITH_VERSION)
		return gs_cl.clGetPlatformInfo(id, what, size, value, size_ret);
	rc = gs_cl.clGetPlatformInfo(id, what, 0, NULL, &n);
	if (rc != CL_SUCCESS)
		return rc;
	all = calloc(1, n + 1);
	if (!all)
		return CL_OUT_OF_HOST_MEMORY;
	rc = gs_cl.clGetPlatformInfo(id, what, n, all, NULL);
	if (rc == CL_SUCCESS)
		rc = answer(what != CL_PLATFORM_EXTENSIONS, all, n, size, value, size_ret);
	free(all);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info what,
						       size_t size, void *value, size_t *size_ret)
{
	size_t n;
	void *all;
	cl_int rc;

	if (what != CL_DEVICE_EXTENSIONS && what != CL_DEVICE_EXTENSIONS_WITH_VERSION)
		return gs_cl.clGetDeviceInfo(id, what, size, value, size_ret);
	rc = gs_cl.clGetDeviceInfo(id, what, 0, NULL, &n);
	if (rc != CL_SUCCESS)
		return rc;
	all = calloc(1, n + 1);
	if (!all)
		return CL_OUT_OF_HOST_MEMORY;
	rc = gs_cl.clGetDeviceInfo(id, what, n, all, NULL);
	if (rc == CL_SUCCESS)
		rc = answer(what != CL_DEVICE_EXTENSIONS, all, n, size, value, size_ret);
	free(all);
	return rc;
}

static bool is_unwrapped(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(unwrapped) / sizeof(*unwrapped); i++)
		if (strstr(name, unwrapped[i]))
			return true;
	return false;
}

/* Written while the layer is set up. */
static struct { const char *name; void *wrapper; } wrappers[128];
static size_t n_wrappers;

void gs_hooked(const char *name, void *wrapper)
{
	if (n_wrappers == sizeof(wrappers) / sizeof(*wrappers))
		return;
	wrappers[n_wrappers].name = name;
	wrappers[n_wrappers++].wrapper = wrapper;
}

/* Ours, for what the driver gives out under the name of the core, or as it was before. */
static void *replacement(const char *name)
{
	size_t i, n;

	for (i = 0; i < n_wrappers; i++) {
		n = strlen(wrappers[i].name);
		if (!strncmp(name, wrappers[i].name, n) && (!name[n] || !strcmp(name + n, "KHR")))
			return wrappers[i].wrapper;
	}
	return NULL;
}

static void *check_address(const char *name, void *address)
{
	void *other;

	if (!address || !name)
		return address;
	other = replacement(name);
	if (other)
		return other;
	if (is_unwrapped(name))
		return NULL;
	if (!strncmp(name, "clEnqueue", 9))
		__atomic_store_n(&gs_foreign_commands, true, __ATOMIC_RELAXED);
	return address;
}

static CL_API_ENTRY void *CL_API_CALL get_address(const char *name)
{
	return check_address(name, gs_cl.clGetExtensionFunctionAddress(name));
}

static CL_API_ENTRY void *CL_API_CALL get_address_for(cl_platform_id id, const char *name)
{
	return check_address(name, gs_cl.clGetExtensionFunctionAddressForPlatform(id, name));
}

void gs_hook_platform(cl_icd_dispatch *table)
{
	GS_HOOK(table, clGetPlatformInfo, get_platform_info);
	GS_HOOK(table, clGetDeviceInfo, get_device_info);
	GS_HOOK(table, clGetExtensionFunctionAddress, get_address);
	GS_HOOK(table, clGetExtensionFunctionAddressForPlatform, get_address_for);
}
