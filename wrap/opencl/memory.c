// SPDX-License-Identifier: MIT
/*
 * Device memory, charged to the group. An object is made first and given back
 * if it can't be charged, so that the driver's own errors come first, as they
 * would without us. Where the settings say so (mem.full=wait) it waits until it may be
 * charged: most drivers take the memory when an object is first used. What lies in another
 * object's memory costs nothing; what belongs to a context of several devices is charged
 * to each of them.
 */
#include <stdlib.h>

#include "layer.h"

struct memory {
	struct gs_object object;
	uint64_t bytes;
	size_t n;
	struct gs_device **devices;	/* that are charged */
};

static void memory_end(struct gs_object *object)
{
	struct memory *m = (struct memory *)object;

	while (m->n)
		gpushare_memory(m->devices[--m->n]->budget.share, GPUSHARE_MEM_UNCHARGE, m->bytes,
				NULL);
	free(m->devices);
	free(m);
}

static bool has_device(const struct memory *m, const struct gs_device *device)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->devices[i] == device)
			return true;
	return false;
}

/* False: refused; nothing is charged then. */
static bool charge(struct memory *m, cl_context context)
{
	struct gs_device *device;
	cl_device_id *ids;
	size_t size = 0, i;
	bool ok;

	if (gs_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS)
		return true;
	ids = malloc(size);
	m->devices = malloc(size);
	ok = ids && m->devices;
	if (!ok || gs_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, ids, NULL) !=
	    CL_SUCCESS)
		size = 0;
	for (i = 0; ok && i < size / sizeof(*ids); i++) {
		device = gs_device_of(ids[i]);
		if (!device || has_device(m, device))
			continue;
		ok = !gpushare_memory_wait(device->budget.share, 0, m->bytes, NULL);
		if (ok)
			m->devices[m->n++] = device;
	}
	free(ids);
	return ok;
}

static void CL_CALLBACK destroyed(cl_mem handle, void *data)
{
	(void)data;
	gs_object_released(GS_MEM, handle);
}

static bool has_memory_of_its_own(cl_mem handle)
{
	cl_mem parent = NULL;

	gs_cl.clGetMemObjectInfo(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent,
				 NULL);
	return !parent;
}

/*
 * What the program gets: the new object, or NULL and an error if it is refused.
 * The record ends with the driver's object, which may outlive the program's last
 * reference.
 */
static cl_mem take(cl_mem handle, cl_context context, bool ours, cl_int *err)
{
	struct memory *m;
	size_t size = 0;

	if (!handle)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (m && ours && has_memory_of_its_own(handle)) {
		gs_cl.clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof(size), &size, NULL);
		m->bytes = size;
	}
	if (!m || (m->bytes && !charge(m, context))) {
		if (m)
			memory_end(&m->object);
		gs_cl.clReleaseMemObject(handle);
		if (err)
			*err = m ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_OUT_OF_HOST_MEMORY;
		return NULL;
	}
	gs_object_add(&m->object, GS_MEM, handle, memory_end);
	if (gs_cl.clSetMemObjectDestructorCallback(handle, destroyed, NULL) != CL_SUCCESS)
		gs_object_released(GS_MEM, handle);
	return handle;
}

/* @own: it is device memory that the context allocates. */
#define CREATE(name, own, params, pass)							\
static CL_API_ENTRY cl_mem CL_API_CALL do_##name(cl_context context, params, cl_int *err)	\
{											\
	return take(gs_cl.name(context, pass, err), context, own, err);			\
}
#define ARGS(...) __VA_ARGS__

CREATE(clCreateBuffer, true, ARGS(cl_mem_flags flags, size_t size, void *host),
       ARGS(flags, size, host))
CREATE(clCreateBufferWithProperties, true,
       ARGS(const cl_mem_properties *properties, cl_mem_flags flags, size_t size, void *host),
       ARGS(properties, flags, size, host))
CREATE(clCreateImage, true,
       ARGS(cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc,
	    void *host),
       ARGS(flags, format, desc, host))
CREATE(clCreateImageWithProperties, true,
       ARGS(const cl_mem_properties *properties, cl_mem_flags flags,
	    const cl_image_format *format, const cl_image_desc *desc, void *host),
       ARGS(properties, flags, format, desc, host))
CREATE(clCreateImage2D, true,
       ARGS(cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height,
	    size_t row, void *host),
       ARGS(flags, format, width, height, row, host))
CREATE(clCreateImage3D, true,
       ARGS(cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height,
	    size_t depth, size_t row, size_t slice, void *host),
       ARGS(flags, format, width, height, depth, row, slice, host))
CREATE(clCreatePipe, true,
       ARGS(cl_mem_flags flags, cl_uint packet, cl_uint packets,
	    const cl_pipe_properties *properties),
       ARGS(flags, packet, packets, properties))
CREATE(clCreateFromGLBuffer, false, ARGS(cl_mem_flags flags, cl_GLuint name), ARGS(flags, name))
CREATE(clCreateFromGLTexture, false,
       ARGS(cl_mem_flags flags, cl_GLenum target, cl_GLint level, cl_GLuint name),
       ARGS(flags, target, level, name))
CREATE(clCreateFromGLTexture2D, false,
       ARGS(cl_mem_flags flags, cl_GLenum target, cl_GLint level, cl_GLuint name),
       ARGS(flags, target, level, name))
CREATE(clCreateFromGLTexture3D, false,
       ARGS(cl_mem_flags flags, cl_GLenum target, cl_GLint level, cl_GLuint name),
       ARGS(flags, target, level, name))
CREATE(clCreateFromGLRenderbuffer, false, ARGS(cl_mem_flags flags, cl_GLuint name),
       ARGS(flags, name))

static CL_API_ENTRY cl_mem CL_API_CALL
do_clCreateSubBuffer(cl_mem of, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
		     cl_int *err)
{
	return take(gs_cl.clCreateSubBuffer(of, flags, type, info, err), NULL, false, err);
}

static CL_API_ENTRY void *CL_API_CALL
do_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
	void *at = gs_cl.clSVMAlloc(context, flags, size, alignment);
	struct memory *m = at ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return at;
	m->bytes = size;
	if (!charge(m, context)) {
		memory_end(&m->object);
		gs_cl.clSVMFree(context, at);
		return NULL;
	}
	gs_object_add(&m->object, GS_SVM, at, memory_end);
	return at;
}

static CL_API_ENTRY void CL_API_CALL do_clSVMFree(cl_context context, void *at)
{
	if (at)
		gs_object_released(GS_SVM, at);
	gs_cl.clSVMFree(context, at);
}

/*
 * Without a function of its own, the program leaves freeing to the driver; then
 * we free, by the same call, so that the charge ends with the memory.
 */
static void CL_CALLBACK free_svm(cl_command_queue queue, cl_uint n, void **pointers, void *data)
{
	cl_context context = data;
	cl_uint i;

	(void)queue;
	for (i = 0; i < n; i++)
		do_clSVMFree(context, pointers[i]);
}

static CL_API_ENTRY cl_int CL_API_CALL
do_clEnqueueSVMFree(cl_command_queue handle, cl_uint n, void **pointers,
		    void (CL_CALLBACK *fn)(cl_command_queue, cl_uint, void **, void *), void *data,
		    cl_uint n_waits, const cl_event *waits, cl_event *event)
{
	struct gs_queue *queue = gs_queue_find(handle);
	struct gs_command c;

	if (queue && !fn) {
		fn = free_svm;
		data = queue->context;
	}
	event = gs_command_begin(&c, handle, false, false, n_waits, waits, event);
	return gs_command_end(&c, gs_cl.clEnqueueSVMFree(handle, n, pointers, fn, data, n_waits,
							 waits, event));
}

/* Samplers cost nothing; a launch that was deferred must know them to keep them. */
static void sampler_add(cl_sampler handle)
{
	struct memory *m = handle ? calloc(1, sizeof(*m)) : NULL;

	if (m)
		gs_object_add(&m->object, GS_SAMPLER, handle, memory_end);
}

static CL_API_ENTRY cl_sampler CL_API_CALL
do_clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode mode,
		   cl_filter_mode filter, cl_int *err)
{
	cl_sampler handle = gs_cl.clCreateSampler(context, normalized, mode, filter, err);

	sampler_add(handle);
	return handle;
}

static CL_API_ENTRY cl_sampler CL_API_CALL
do_clCreateSamplerWithProperties(cl_context context, const cl_sampler_properties *properties,
				 cl_int *err)
{
	cl_sampler handle = gs_cl.clCreateSamplerWithProperties(context, properties, err);

	sampler_add(handle);
	return handle;
}

static CL_API_ENTRY cl_int CL_API_CALL do_clRetainSampler(cl_sampler handle)
{
	cl_int rc = gs_cl.clRetainSampler(handle);

	if (rc == CL_SUCCESS)
		gs_object_retained(GS_SAMPLER, handle);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL do_clReleaseSampler(cl_sampler handle)
{
	gs_object_released(GS_SAMPLER, handle);
	return gs_cl.clReleaseSampler(handle);
}

void gs_hook_memory(cl_icd_dispatch *table)
{
#define HOOK(name) GS_HOOK(table, name, do_##name)
	if (gs_cl.clSetMemObjectDestructorCallback) {
		HOOK(clCreateBuffer);
		HOOK(clCreateBufferWithProperties);
		HOOK(clCreateImage);
		HOOK(clCreateImageWithProperties);
		HOOK(clCreateImage2D);
		HOOK(clCreateImage3D);
		HOOK(clCreatePipe);
		HOOK(clCreateFromGLBuffer);
		HOOK(clCreateFromGLTexture);
		HOOK(clCreateFromGLTexture2D);
		HOOK(clCreateFromGLTexture3D);
		HOOK(clCreateFromGLRenderbuffer);
		HOOK(clCreateSubBuffer);
	}
	HOOK(clSVMAlloc);
	HOOK(clSVMFree);
	HOOK(clEnqueueSVMFree);
	HOOK(clCreateSampler);
	HOOK(clCreateSamplerWithProperties);
	HOOK(clRetainSampler);
	HOOK(clReleaseSampler);
#undef HOOK
}
