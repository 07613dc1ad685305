// SPDX-License-Identifier: MIT
/*
 * What a loader sees of us, by either loader's convention.
 *
 * There is no constructor: whoever is given this file and never calls OpenCL
 * pays nothing. clInitLayer() is called in the loader's own initialisation, so
 * no function of OpenCL but those that we are given may be called in it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "ulib/glibc.h"
#include "layer.h"

GS_OLD(dladdr);
GS_OLD(dlopen);
GS_OLD(pthread_mutexattr_init);
GS_OLD(pthread_mutexattr_settype);
GS_OLD(pthread_mutexattr_destroy);
GS_OLD_AT(pthread_condattr_setclock, "2.3.3");

#define PUBLIC __attribute__((visibility("default")))
#define NAME "gpushare"

cl_icd_dispatch gs_cl;
static cl_icd_dispatch ours;

void gs_recursive_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

void gs_monotonic_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

static bool is_variable(const char *at)
{
	char **variable;

	for (variable = environ; variable && *variable; variable++)
		if (*variable == at)
			return true;
	return false;
}

/*
 * ocl-icd cuts the variable's value at each colon, in place, so that a child
 * would inherit the first layer only. The pieces are still there, one behind
 * the other, up to the next variable; if the value lies in the block that the
 * kernel made (which ends where the program's name stands), it can be read on.
 */
static void restore_layers(void)
{
	char *value = getenv("OPENCL_LAYERS"), *all, *to;
	const char *end = (const char *)(uintptr_t)getauxval(AT_EXECFN), *at;
	size_t length;

	if (!value || !end || value >= end || (uintptr_t)value < (uintptr_t)&length)
		return;
	for (at = value; at < end && *at && (at == value || !is_variable(at)); )
		at += strlen(at) + 1;
	length = (size_t)(at - value);
	if (length <= strlen(value) + 1)
		return;
	all = malloc(length);
	if (!all)
		return;
	memcpy(all, value, length);
	/* What follows in the block could be a variable that was taken out by unsetenv(). */
	for (to = all; to + strlen(to) + 1 < all + length && to[strlen(to) + 1] == '/'; ) {
		to += strlen(to);
		*to++ = ':';
	}
	setenv("OPENCL_LAYERS", all, 1);
	free(all);
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
						      size_t *size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *from;
	size_t n;

	switch (what) {
	case CL_LAYER_API_VERSION:
		from = &version;
		n = sizeof(version);
		break;
	case CL_LAYER_NAME:
		from = NAME;
		n = sizeof(NAME);
		break;
	default:
		return CL_INVALID_VALUE;
	}
	if (value && size < n)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, n);
	if (size_ret)
		*size_ret = n;
	return CL_SUCCESS;
}

/*
 * A program may unload the loader while launches run, and our threads, and the driver's
 * in callbacks of ours, go on calling what is below us. So that stays, as we do; and
 * a program that loads it again finds the one that knows us.
 */
static void keep_below(void)
{
	void *function[sizeof(gs_cl) / sizeof(void *)], *last = NULL;
	Dl_info info;
	size_t i;

	memcpy(function, &gs_cl, sizeof(function));
	for (i = 0; i < sizeof(function) / sizeof(*function); i++) {
		if (!function[i] || !dladdr(function[i], &info) || info.dli_fbase == last)
			continue;
		last = info.dli_fbase;
		/* The handle is never given back. */
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	}
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target,
						   cl_uint *n_ret, const cl_icd_dispatch **ret)
{
	static bool taken;
	cl_uint most = sizeof(ours) / sizeof(void *);

	if (!target || !n_ret || !ret)
		return CL_INVALID_VALUE;
	/* A second loader in one process, or a second mention: there is one of us. */
	if (__atomic_exchange_n(&taken, true, __ATOMIC_ACQ_REL)) {
		*n_ret = n;
		*ret = target;
		return CL_SUCCESS;
	}
	if (n < most)
		most = n;
	memcpy(&gs_cl, target, most * sizeof(void *));
	keep_below();
	gs_options_read();
	gs_main_thread();
	restore_layers();
	gs_hook_platform(&ours);
	gs_hook_queue(&ours);
	gs_hook_enqueue(&ours);
	gs_hook_event(&ours);
	gs_hook_program(&ours);
	gs_hook_il(&ours);
	gs_hook_kernel(&ours);
	gs_hook_memory(&ours);
	gs_hook_launch(&ours);
	*n_ret = most;
	*ret = &ours;
	return CL_SUCCESS;
}

/* Khronos's loader since 2025 wants this one; properties say nothing to us. */
PUBLIC CL_API_ENTRY cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret,
			  const cl_icd_dispatch **ret, const cl_bitfield *properties);
PUBLIC CL_API_ENTRY cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret,
			  const cl_icd_dispatch **ret, const cl_bitfield *properties)
{
	(void)properties;
	return clInitLayer(n, target, n_ret, ret);
}

/* The program ends; its threads, and so ours, may still be in the driver. */
PUBLIC CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);
PUBLIC CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}
