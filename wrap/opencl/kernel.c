// SPDX-License-Identifier: MIT
/*
 * Kernels and their arguments.
 *
 * A launch that was deferred wants the arguments of its own moment, and the
 * program goes on setting others. Both use the driver's one kernel object: who
 * launches holds the kernel's lock, and sets those arguments whose version the
 * object doesn't have. clSetKernelArg() itself always goes to the driver, since
 * it answers for errors.
 */
#include <stdlib.h>
#include <string.h>

#include "ulib/launches.h"
#include "layer.h"

static void arg_free(struct gs_arg *arg)
{
	if (arg->value != arg->small)
		free(arg->value);
}

static void kernel_end(struct gs_object *object)
{
	struct gs_kernel *kernel = (struct gs_kernel *)object;
	struct gs_estimate *estimate, *next;
	cl_uint i;

	for (i = 0; i < kernel->n_args; i++)
		arg_free(&kernel->arg[i]);
	for (estimate = kernel->estimates; estimate; estimate = next) {
		next = estimate->next;
		free(estimate);
	}
	if (kernel->program)
		gs_object_put(&kernel->program->object);
	pthread_mutex_destroy(&kernel->lock);
	gs_cut_free(kernel->cut);
	free(kernel->limits);
	free(kernel->native);
	free(kernel->name);
	free(kernel);
}

static char *name_of(cl_kernel handle)
{
	size_t n = 0;
	char *name;

	if (gs_cl.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &n) != CL_SUCCESS || !n)
		return NULL;
	name = malloc(n);
	if (name && gs_cl.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, n, name, NULL) !=
	    CL_SUCCESS) {
		free(name);
		return NULL;
	}
	return name;
}

/* @program: NULL if it isn't known; a reference is taken. */
static struct gs_kernel *kernel_add(cl_kernel handle, struct gs_program *program)
{
	struct gs_kernel *kernel;
	cl_uint n;

	if (gs_cl.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL) != CL_SUCCESS)
		return NULL;
	kernel = calloc(1, sizeof(*kernel) + n * sizeof(*kernel->arg));
	if (!kernel)
		return NULL;
	kernel->n_args = n;
	kernel->native = calloc(n + 1, sizeof(*kernel->native));
	kernel->name = name_of(handle);
	gs_recursive_mutex(&kernel->lock);
	kernel->program = program;
	if (program) {
		gs_object_get(&program->object);
		kernel->build = __atomic_load_n(&program->build, __ATOMIC_RELAXED);
	}
	if (!kernel->native || !kernel->name) {
		kernel_end(&kernel->object);
		return NULL;
	}
	if (kernel->program)
		__atomic_add_fetch(&kernel->program->kernels, 1, __ATOMIC_RELAXED);
	gs_object_add(&kernel->object, GS_KERNEL, handle, kernel_end);
	return kernel;
}

static CL_API_ENTRY cl_kernel CL_API_CALL create(cl_program program, const char *name, cl_int *err)
{
	cl_kernel handle = gs_cl.clCreateKernel(program, name, err);

	if (handle)
		kernel_add(handle, gs_object_find(GS_PROGRAM, program));
	return handle;
}

static CL_API_ENTRY cl_int CL_API_CALL
create_all(cl_program program, cl_uint n, cl_kernel *kernels, cl_uint *n_ret)
{
	cl_uint i, made = 0;
	cl_int rc = gs_cl.clCreateKernelsInProgram(program, n, kernels, &made);

	if (rc != CL_SUCCESS)
		return rc;
	for (i = 0; kernels && i < made && i < n; i++)
		kernel_add(kernels[i], gs_object_find(GS_PROGRAM, program));
	if (n_ret)
		*n_ret = made;
	return rc;
}

/* The kernel's lock is held; false: no memory, so the argument isn't known. */
static bool arg_put(struct gs_arg *arg, size_t size, const void *value)
{
	void *to;

	if (!value || size <= sizeof(arg->small))
		to = value ? arg->small : NULL;
	else if (arg->value && arg->value != arg->small && arg->size >= size)
		to = arg->value;
	else
		to = malloc(size);
	if (value && !to)
		return false;
	if (to != arg->value)
		arg_free(arg);
	if (value)
		memcpy(to, value, size);
	arg->value = to;
	arg->size = size;
	arg->is_svm = false;
	return true;
}

static void arg_is_set(struct gs_kernel *kernel, cl_uint i, bool known)
{
	kernel->arg[i].version = known ? ++kernel->version : 0;
	kernel->native[i] = kernel->arg[i].version;
}

static CL_API_ENTRY cl_int CL_API_CALL
set_arg(cl_kernel handle, cl_uint i, size_t size, const void *value)
{
	struct gs_kernel *kernel = gs_object_find(GS_KERNEL, handle);
	cl_int rc;

	if (!kernel)
		return gs_cl.clSetKernelArg(handle, i, size, value);
	pthread_mutex_lock(&kernel->lock);
	rc = gs_cl.clSetKernelArg(handle, i, size, value);
	if (rc == CL_SUCCESS && i < kernel->n_args)
		arg_is_set(kernel, i, arg_put(&kernel->arg[i], size, value));
	pthread_mutex_unlock(&kernel->lock);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL set_svm(cl_kernel handle, cl_uint i, const void *pointer)
{
	struct gs_kernel *kernel = gs_object_find(GS_KERNEL, handle);
	cl_int rc;

	if (!kernel)
		return gs_cl.clSetKernelArgSVMPointer(handle, i, pointer);
	pthread_mutex_lock(&kernel->lock);
	rc = gs_cl.clSetKernelArgSVMPointer(handle, i, pointer);
	if (rc == CL_SUCCESS && i < kernel->n_args) {
		arg_put(&kernel->arg[i], 0, NULL);
		kernel->arg[i].is_svm = true;
		kernel->arg[i].svm = pointer;
		arg_is_set(kernel, i, true);
	}
	pthread_mutex_unlock(&kernel->lock);
	return rc;
}

/* What it says holds for the kernel object, which is launched in any case. */
static CL_API_ENTRY cl_int CL_API_CALL
set_exec_info(cl_kernel handle, cl_kernel_exec_info what, size_t size, const void *value)
{
	struct gs_kernel *kernel = gs_object_find(GS_KERNEL, handle);
	cl_int rc;

	if (!kernel)
		return gs_cl.clSetKernelExecInfo(handle, what, size, value);
	pthread_mutex_lock(&kernel->lock);
	rc = gs_cl.clSetKernelExecInfo(handle, what, size, value);
	if (rc == CL_SUCCESS)
		__atomic_store_n(&kernel->exec_info, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&kernel->lock);
	return rc;
}

static CL_API_ENTRY cl_kernel CL_API_CALL clone_kernel(cl_kernel handle, cl_int *err)
{
	struct gs_kernel *from = gs_object_find(GS_KERNEL, handle), *to;
	cl_kernel clone;
	cl_uint i;
	bool known;

	if (!from)
		return gs_cl.clCloneKernel(handle, err);
	pthread_mutex_lock(&from->lock);
	gs_kernel_set(from, NULL);
	clone = gs_cl.clCloneKernel(handle, err);
	to = clone ? kernel_add(clone, from->program) : NULL;
	for (i = 0; to && i < to->n_args && i < from->n_args; i++) {
		if (!from->arg[i].version)
			continue;
		known = arg_put(&to->arg[i], from->arg[i].size, from->arg[i].value);
		to->arg[i].is_svm = from->arg[i].is_svm;
		to->arg[i].svm = from->arg[i].svm;
		arg_is_set(to, i, known);
	}
	if (to) {
		to->exec_info = from->exec_info;
		to->build = from->build;
	}
	pthread_mutex_unlock(&from->lock);
	return clone;
}

static CL_API_ENTRY cl_int CL_API_CALL retain(cl_kernel handle)
{
	cl_int rc = gs_cl.clRetainKernel(handle);

	if (rc == CL_SUCCESS)
		gs_object_retained(GS_KERNEL, handle);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL release(cl_kernel handle)
{
	struct gs_kernel *kernel = gs_object_find_get(GS_KERNEL, handle);
	bool last = gs_object_released(GS_KERNEL, handle);
	cl_int rc = gs_cl.clReleaseKernel(handle);

	if (kernel && last && kernel->program)
		__atomic_sub_fetch(&kernel->program->kernels, 1, __ATOMIC_RELEASE);
	if (kernel)
		gs_object_put(&kernel->object);
	return rc;
}

/* A memory object or a sampler that the program may release after the enqueue. */
static void keep(struct gs_args *args, const struct gs_arg *arg)
{
	struct gs_kept *kept = &args->kept[args->n_kept];
	void *handle;

	if (!arg->value || arg->size != sizeof(handle))
		return;
	memcpy(&handle, arg->value, sizeof(handle));
	if (!handle)
		return;
	*kept = (struct gs_kept){ .handle = handle };
	if (gs_object_find(GS_MEM, handle)) {
		if (gs_cl.clRetainMemObject(handle) == CL_SUCCESS)
			args->n_kept++;
	} else if (gs_object_find(GS_SAMPLER, handle)) {
		kept->sampler = true;
		if (gs_cl.clRetainSampler(handle) == CL_SUCCESS)
			args->n_kept++;
	}
}

static struct gs_args *args_make(struct gs_kernel *kernel)
{
	size_t large = 0, fixed;
	struct gs_args *args;
	unsigned char *at;
	cl_uint i;

	for (i = 0; i < kernel->n_args; i++) {
		if (!kernel->arg[i].version)
			return NULL;
		if (kernel->arg[i].value && kernel->arg[i].value != kernel->arg[i].small)
			large += kernel->arg[i].size;
	}
	fixed = sizeof(*args) + kernel->n_args * (sizeof(*args->arg) + sizeof(*args->kept));
	args = malloc(fixed + large);
	if (!args)
		return NULL;
	*args = (struct gs_args){ .version = kernel->version, .refs = 1, .kernel = kernel,
				  .n = kernel->n_args };
	args->kept = (struct gs_kept *)(void *)&args->arg[args->n];
	at = (unsigned char *)args + fixed;
	for (i = 0; i < args->n; i++) {
		args->arg[i] = kernel->arg[i];
		if (args->arg[i].value == kernel->arg[i].small) {
			args->arg[i].value = args->arg[i].small;
		} else if (args->arg[i].value) {
			memcpy(at, args->arg[i].value, args->arg[i].size);
			args->arg[i].value = at;
			at += args->arg[i].size;
		}
		keep(args, &args->arg[i]);
	}
	return args;
}

/* The same words come from the same places, so that mostly they need no comparing. */
void gs_kernel_gone(struct gs_kernel *kernel, const char *way, const char *why)
{
	if (kernel->gone.way != way || kernel->gone.why != why || kernel->gone.forks != gs_forks) {
		kernel->gone.counter = gs_launches_counter(kernel->name, way, why);
		kernel->gone.way = way;
		kernel->gone.why = why;
		kernel->gone.forks = gs_forks;
	}
	if (kernel->gone.counter)
		__atomic_add_fetch(kernel->gone.counter, 1, __ATOMIC_RELAXED);
}

struct gs_args *gs_args_take(struct gs_kernel *kernel)
{
	struct gs_args *args = kernel->args;

	if (args && args->version == kernel->version) {
		args->refs++;
		return args;
	}
	args = args_make(kernel);
	if (args)
		kernel->args = args;
	return args;
}

void gs_args_put(struct gs_args *args)
{
	struct gs_kernel *kernel;
	bool last;
	cl_uint i;

	if (!args)
		return;
	kernel = args->kernel;
	pthread_mutex_lock(&kernel->lock);
	last = !--args->refs;
	if (last && kernel->args == args)
		kernel->args = NULL;
	pthread_mutex_unlock(&kernel->lock);
	if (!last)
		return;
	for (i = 0; i < args->n_kept; i++) {
		if (args->kept[i].sampler)
			gs_cl.clReleaseSampler(args->kept[i].handle);
		else
			gs_cl.clReleaseMemObject(args->kept[i].handle);
	}
	free(args);
}

cl_int gs_arg_set(cl_kernel handle, cl_uint i, const struct gs_arg *arg)
{
	if (arg->is_svm)
		return gs_cl.clSetKernelArgSVMPointer(handle, i, arg->svm);
	return gs_cl.clSetKernelArg(handle, i, arg->size, arg->value);
}

cl_int gs_kernel_set(struct gs_kernel *kernel, const struct gs_args *args)
{
	const struct gs_arg *arg = args ? args->arg : kernel->arg;
	cl_int rc;
	cl_uint i;

	for (i = 0; i < kernel->n_args; i++) {
		if (kernel->native[i] == arg[i].version || !arg[i].version)
			continue;
		rc = gs_arg_set(kernel->object.handle, i, &arg[i]);
		if (rc != CL_SUCCESS)
			return rc;
		kernel->native[i] = arg[i].version;
	}
	return CL_SUCCESS;
}

void gs_hook_kernel(cl_icd_dispatch *table)
{
	GS_HOOK(table, clCreateKernel, create);
	GS_HOOK(table, clCreateKernelsInProgram, create_all);
	GS_HOOK(table, clCloneKernel, clone_kernel);
	GS_HOOK(table, clSetKernelArg, set_arg);
	GS_HOOK(table, clSetKernelArgSVMPointer, set_svm);
	GS_HOOK(table, clSetKernelExecInfo, set_exec_info);
	GS_HOOK(table, clRetainKernel, retain);
	GS_HOOK(table, clReleaseKernel, release);
}
