// SPDX-License-Identifier: MIT
/*
 * Programs that come as intermediate language: SPIR-V, which is cut as it is, word by
 * word (xform/include/gsspirv.h), and may be anything else that a driver takes.
 *
 * Its constants are the program's to set before a build. A shadow is given those of the
 * build that its kernel is of: so they are kept as arrays that are never changed, each
 * setting making another.
 *
 * Drivers below OpenCL 2.1 have one function for it, by an extension, and none in the
 * loader's table. Where there is that one, we take it.
 */
#include <stdlib.h>
#include <string.h>

#include "shadow.h"

typedef cl_program (CL_API_CALL *with_il_fn)(cl_context, const void *, size_t, cl_int *);

void gs_constants_put(struct gs_constants *constants)
{
	if (constants && !__atomic_sub_fetch(&constants->refs, 1, __ATOMIC_ACQ_REL))
		free(constants);
}

struct gs_constants *gs_constants_get(struct gs_constants *constants)
{
	if (constants)
		__atomic_add_fetch(&constants->refs, 1, __ATOMIC_RELAXED);
	return constants;
}

struct gs_constants *gs_constants_new(const void *of, cl_uint n)
{
	struct gs_constants *constants = malloc(sizeof(*constants) + n * sizeof(*constants->of));
	cl_uint i;

	if (!constants)
		return NULL;
	constants->refs = 1;
	constants->n = n;
	if (n)
		memcpy(constants->of, of, n * sizeof(*constants->of));
	for (i = 0; i < n; i++)
		if (constants->of[i].size > sizeof(constants->of[i].value)) {
			free(constants);
			return NULL;
		}
	return constants;
}

/* Those of before, and this one; false: it can't be kept. */
static bool keep_constant(struct gs_constants **at, cl_uint id, size_t size, const void *value)
{
	struct gs_constants *old = *at, *new;
	cl_uint n = old ? old->n : 0, i;

	for (i = 0; i < n && old->of[i].id != id; i++)
		;
	if (size > sizeof(new->of[i].value))
		return false;
	new = malloc(sizeof(*new) + (n + 1) * sizeof(*new->of));
	if (!new)
		return false;
	new->refs = 1;
	new->n = i == n ? n + 1 : n;
	if (n)
		memcpy(new->of, old->of, n * sizeof(*new->of));
	new->of[i] = (struct gs_constant){ .id = id, .size = (uint32_t)size };
	memcpy(new->of[i].value, value, size);
	gs_constants_put(old);
	*at = new;
	return true;
}

static CL_API_ENTRY cl_int CL_API_CALL
set_constant(cl_program handle, cl_uint id, size_t size, const void *value)
{
	struct gs_program *program = gs_object_find(GS_PROGRAM, handle);
	cl_int rc;

	if (!program)
		return gs_cl.clSetProgramSpecializationConstant(handle, id, size, value);
	pthread_mutex_lock(&program->lock);
	rc = gs_cl.clSetProgramSpecializationConstant(handle, id, size, value);
	if (rc == CL_SUCCESS && !keep_constant(&program->set, id, size, value))
		program->lost = true;
	pthread_mutex_unlock(&program->lock);
	return rc;
}

/* The extension's own function, of the driver behind the context; NULL: there is none. */
static with_il_fn extension_of(cl_context context)
{
	cl_platform_id platform = NULL;
	cl_device_id *ids = NULL;
	with_il_fn fn = NULL;
	void *address = NULL;
	size_t size = 0;

	if (gs_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) == CL_SUCCESS &&
	    size >= sizeof(*ids))
		ids = malloc(size);
	if (ids && gs_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, ids, NULL) ==
	    CL_SUCCESS)
		gs_cl.clGetDeviceInfo(ids[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform,
				      NULL);
	free(ids);
	if (platform)
		address = gs_cl.clGetExtensionFunctionAddressForPlatform(platform,
									 "clCreateProgramWithILKHR");
	memcpy(&fn, &address, sizeof(fn));
	return fn;
}

static cl_program take(cl_program handle, cl_context context, const void *il, size_t length)
{
	struct gs_program *program = handle ? gs_program_add(handle, context, NULL) : NULL;

	if (!program)
		return handle;
	program->il = true;
	program->source = malloc(length + 1);
	program->length = length;
	if (program->source) {
		memcpy(program->source, il, length);
		program->source[length] = 0;
	}
	return handle;
}

static CL_API_ENTRY cl_program CL_API_CALL
with_il(cl_context context, const void *il, size_t length, cl_int *err)
{
	return take(gs_cl.clCreateProgramWithIL(context, il, length, err), context, il, length);
}

/* Had by its address, so the driver has it, if it has the context. */
static CL_API_ENTRY cl_program CL_API_CALL
with_il_by_extension(cl_context context, const void *il, size_t length, cl_int *err)
{
	with_il_fn fn = extension_of(context);

	if (fn)
		return take(fn(context, il, length, err), context, il, length);
	if (err)
		*err = CL_INVALID_CONTEXT;
	return NULL;
}

cl_program gs_il_create(cl_context context, const void *il, size_t length,
			const struct gs_constants *constants)
{
	with_il_fn fn = extension_of(context);
	cl_program program;
	cl_uint i;

	if (!fn)
		fn = gs_cl.clCreateProgramWithIL;
	program = fn ? fn(context, il, length, &(cl_int){ 0 }) : NULL;
	for (i = 0; program && constants && i < constants->n; i++) {
		if (gs_cl.clSetProgramSpecializationConstant &&
		    gs_cl.clSetProgramSpecializationConstant(program, constants->of[i].id,
							     constants->of[i].size,
							     constants->of[i].value) == CL_SUCCESS)
			continue;
		gs_cl.clReleaseProgram(program);
		program = NULL;
	}
	return program;
}

void gs_hook_il(cl_icd_dispatch *table)
{
	/* The first that fits a name counts, and the core's fits both. */
	gs_hooked("clCreateProgramWithILKHR", (void *)with_il_by_extension);
	GS_HOOK(table, clCreateProgramWithIL, with_il);
	GS_HOOK(table, clSetProgramSpecializationConstant, set_constant);
}
