// SPDX-License-Identifier: MIT
/*
 * Another layer: stands in for a driver that takes SPIR-V, over one that doesn't. It knows
 * one module (module.h), and what that says in OpenCL C, and makes the program of that
 * text. What our layer makes of the module is known by making it once more: the
 * same words, for one mode, stand for the text's shadow in that mode, which libgsopencl
 * makes; hidden arguments are the same. Any other module is refused.
 *
 * The constant is given to the compiler as a macro. The file that IL_OUT names gets a line
 * for each program that is made: whole, slice, workers. With IL_KHR the core's function
 * refuses, as in drivers that have the extension's only; with IL_FIXED the constant of
 * what is cut can't be set.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <gsopencl.h>
#include <gsspirv.h>
#include <stdbool.h>

#include "module.h"

#define PUBLIC __attribute__((visibility("default")))
#define PROGRAMS_MAX	64
#define VERSION		"SPIR-V_1.0"

static const cl_icd_dispatch *target;
static cl_icd_dispatch ours;
static struct module known;
static struct program {
	cl_program handle;
	bool whole;
	cl_uint constant;
	size_t length;
	void *words;
} programs[PROGRAMS_MAX];

static void note(const char *what)
{
	FILE *f = getenv("IL_OUT") ? fopen(getenv("IL_OUT"), "a") : NULL;

	if (f) {
		fprintf(f, "%s\n", what);
		fclose(f);
	}
}

static struct program *find(cl_program handle)
{
	int i;

	for (i = 0; i < PROGRAMS_MAX; i++)
		if (handle && programs[i].handle == handle)
			return &programs[i];
	return NULL;
}

/* A handle that comes anew is another program. */
static cl_program forget(cl_program handle)
{
	struct program *p = find(handle);

	if (p) {
		free(p->words);
		*p = (struct program){ 0 };
	}
	return handle;
}

/* The text of the module's shadow, if it is one; NULL: it isn't. */
static char *shadow_text(const void *il, size_t length)
{
	static const char *const names[] = { [GSX_SLICE] = "slice", [GSX_WORKERS] = "workers" };
	struct gsx_cl_result text;
	struct gsx_spv_result res;
	char *found = NULL;
	enum gsx_mode m;

	if (!gsx_spv_transform(known.w, known.n * 4, NULL, &res) &&
	    !gsx_cl_transform(module_text, sizeof(module_text) - 1, NULL, &text)) {
		for (m = GSX_SLICE; m <= GSX_WORKERS; m++) {
			if (!res.module[m] || length != res.len[m] ||
			    memcmp(il, res.module[m], length))
				continue;
			note(names[m]);
			found = strdup(text.text[m]);
		}
		gsx_cl_result_free(&text);
	}
	gsx_spv_result_free(&res);
	return found;
}

static CL_API_ENTRY cl_program CL_API_CALL
with_il(cl_context context, const void *il, size_t length, cl_int *err)
{
	bool whole = il && length == known.n * 4 && !memcmp(il, known.w, length);
	cl_program handle = NULL;
	char *text = NULL;
	struct program *p;
	cl_int rc;
	int i;

	if (whole) {
		note("whole");
		text = strdup(module_text);
	} else if (il && length) {
		text = shadow_text(il, length);
	}
	rc = context ? CL_INVALID_VALUE : CL_INVALID_CONTEXT;
	if (text && context)
		handle = forget(target->clCreateProgramWithSource(context, 1, (const char **)&text,
								  NULL, &rc));
	for (i = 0; i < PROGRAMS_MAX && programs[i].handle; i++)
		;
	if (handle && i < PROGRAMS_MAX) {
		p = &programs[i];
		*p = (struct program){ handle, whole, 3, length, malloc(length) };
		memcpy(p->words, il, length);
	}
	free(text);
	if (err)
		*err = rc;
	return handle;
}

static CL_API_ENTRY cl_program CL_API_CALL
refuse(cl_context context, const void *il, size_t length, cl_int *err)
{
	(void)context;
	(void)il;
	(void)length;
	if (err)
		*err = CL_INVALID_OPERATION;
	return NULL;
}

static CL_API_ENTRY cl_int CL_API_CALL set_constant(cl_program handle, cl_uint id, size_t size,
						    const void *value)
{
	struct program *p = find(handle);

	if (!p)
		return CL_INVALID_PROGRAM;
	if (id != MODULE_CONSTANT)
		return CL_INVALID_SPEC_ID;
	if (size != sizeof(p->constant) || !value || (!p->whole && getenv("IL_FIXED")))
		return CL_INVALID_VALUE;
	memcpy(&p->constant, value, size);
	return CL_SUCCESS;
}

/* The constant, behind the options. */
static const char *with_macro(const struct program *p, const char *options, char to[300])
{
	if (!p)
		return options;
	snprintf(to, 300, "%.200s -DSPEC_7=%uu", options ? options : "", p->constant);
	return to;
}

static CL_API_ENTRY cl_int CL_API_CALL
build(cl_program handle, cl_uint n, const cl_device_id *ids, const char *options,
      void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	char all[300];

	return target->clBuildProgram(handle, n, ids, with_macro(find(handle), options, all),
				      notify, data);
}

static CL_API_ENTRY cl_int CL_API_CALL
compile(cl_program handle, cl_uint n, const cl_device_id *ids, const char *options,
	cl_uint n_headers, const cl_program *headers, const char **names,
	void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	char all[300];

	return target->clCompileProgram(handle, n, ids, with_macro(find(handle), options, all),
					n_headers, headers, names, notify, data);
}

static cl_int answer(const void *from, size_t n, size_t size, void *to, size_t *size_ret)
{
	if (to && size < n)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, from, n);
	if (size_ret)
		*size_ret = n;
	return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL
program_info(cl_program handle, cl_program_info what, size_t size, void *value, size_t *size_ret)
{
	const struct program *p = find(handle);

	if (p && what == CL_PROGRAM_IL)
		return answer(p->words, p->length, size, value, size_ret);
	if (p && what == CL_PROGRAM_SOURCE)
		return answer("", 1, size, value, size_ret);
	return target->clGetProgramInfo(handle, what, size, value, size_ret);
}

static CL_API_ENTRY cl_int CL_API_CALL
device_info(cl_device_id id, cl_device_info what, size_t size, void *value, size_t *size_ret)
{
	if (what == CL_DEVICE_IL_VERSION)
		return answer(VERSION, sizeof(VERSION), size, value, size_ret);
	return target->clGetDeviceInfo(id, what, size, value, size_ret);
}

static CL_API_ENTRY void *CL_API_CALL get_address(cl_platform_id id, const char *name)
{
	if (!strcmp(name, "clCreateProgramWithILKHR"))
		return (void *)with_il;
	return target->clGetExtensionFunctionAddressForPlatform(id, name);
}

static CL_API_ENTRY cl_program CL_API_CALL with_source(cl_context context, cl_uint n,
						       const char **strings, const size_t *lengths,
						       cl_int *err)
{
	return forget(target->clCreateProgramWithSource(context, n, strings, lengths, err));
}

static CL_API_ENTRY cl_program CL_API_CALL
with_binary(cl_context context, cl_uint n, const cl_device_id *ids, const size_t *lengths,
	    const unsigned char **binaries, cl_int *status, cl_int *err)
{
	return forget(target->clCreateProgramWithBinary(context, n, ids, lengths, binaries, status,
							err));
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
						      size_t *size_ret)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	return answer(&version, sizeof(version), size, value, size_ret);
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *below,
						   cl_uint *n_ret, const cl_icd_dispatch **ret)
{
	const cl_uint most = sizeof(ours) / sizeof(void *);

	target = below;
	module_make(&known);
	ours.clCreateProgramWithIL = getenv("IL_KHR") ? refuse : with_il;
	ours.clSetProgramSpecializationConstant = set_constant;
	ours.clBuildProgram = build;
	ours.clCompileProgram = compile;
	ours.clGetProgramInfo = program_info;
	ours.clGetDeviceInfo = device_info;
	ours.clGetExtensionFunctionAddressForPlatform = get_address;
	ours.clCreateProgramWithSource = with_source;
	ours.clCreateProgramWithBinary = with_binary;
	*n_ret = n < most ? n : most;
	*ret = &ours;
	return CL_SUCCESS;
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);
PUBLIC CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}
