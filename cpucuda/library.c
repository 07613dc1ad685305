// SPDX-License-Identifier: MIT
/*
 * Libraries, which become modules in each context that uses them, their kernels, and
 * the linker: it keeps the texts, which are linked when the result is loaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpucuda.h"
#include "driver.h"

EXPORT cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *jo, void **jv,
			 unsigned int jn, CUlibraryOption *lo, void **lv, unsigned int ln)
{
	struct CUlib_st *l;
	CUresult r;

	(void)jo, (void)jv, (void)jn, (void)lo, (void)lv, (void)ln;
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = capture_forbids();
	unlock();
	if (r)
		return r;
	l = calloc(1, sizeof(*l));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->magic = MAGIC_LIB;
	r = image_take(&l->image, image);
	if (r) {
		free(l);
		return r;
	}
	*out = l;
	return CUDA_SUCCESS;
}

EXPORT cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jo, void **jv,
			     unsigned int jn, CUlibraryOption *lo, void **lv, unsigned int ln)
{
	char *image = path ? image_file(path) : NULL;
	CUresult r = image ? cuLibraryLoadData(out, image, jo, jv, jn, lo, lv, ln) :
		CUDA_ERROR_FILE_NOT_FOUND;

	free(image);
	return r;
}

/* A library becomes a module in each context that uses it. The lock is held. */
CUresult library_module(struct CUlib_st *l, struct CUmod_st **m)
{
	struct CUctx_st *c;
	CUresult r = current(&c);
	char why[400];
	int k;

	if (r)
		return r;
	for (k = 0; k < 8 && l->per_ctx[k].ctx && l->per_ctx[k].ctx != c; k++)
		;
	if (k == 8)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!l->per_ctx[k].ctx) {
		l->per_ctx[k].m = module_load(c, &l->image, &r, why, sizeof(why));
		if (r)
			return r;
		l->per_ctx[k].ctx = c;
	}
	*m = l->per_ctx[k].m;
	return CUDA_SUCCESS;
}

EXPORT cuLibraryUnload(CUlibrary l)
{
	struct CUkern_st *k;
	int i;

	if (!IS(l, MAGIC_LIB))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	for (i = 0; i < 8; i++)
		if (l->per_ctx[i].ctx && !l->per_ctx[i].ctx->dead) {
			drain(l->per_ctx[i].ctx);
			module_unload(l->per_ctx[i].m);
		}
	while ((k = l->kernels)) {
		l->kernels = k->next;
		k->magic = 0;
		free(k);
	}
	l->magic = 0;
	image_free(&l->image);
	free(l);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuLibraryGetModule(CUmodule *m, CUlibrary l)
{
	CUresult r;

	if (!m || !IS(l, MAGIC_LIB))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = library_module(l, m);
	unlock();
	return r;
}

/* The same handle each time. */
static CUresult kernel(struct CUlib_st *l, const char *name, CUkernel *out)
{
	struct CUkern_st *k;

	for (k = l->kernels; k && strcmp(k->name, name); k = k->next)
		;
	if (!k) {
		k = calloc(1, sizeof(*k) + strlen(name) + 1);
		if (!k)
			return CUDA_ERROR_OUT_OF_MEMORY;
		k->magic = MAGIC_KERNEL;
		k->lib = l;
		strcpy(k->name, name);
		k->next = l->kernels;
		l->kernels = k;
	}
	*out = k;
	return CUDA_SUCCESS;
}

EXPORT cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name)
{
	struct CUmod_st *m;
	CUresult r;

	if (!out || !name || !IS(l, MAGIC_LIB))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = library_module(l, &m);
	if (!r && !module_entry(m, name))
		r = CUDA_ERROR_NOT_FOUND;
	if (!r)
		r = kernel(l, name, out);
	unlock();
	return r;
}

EXPORT cuLibraryEnumerateKernels(CUkernel *out, unsigned int n, CUlibrary l)
{
	struct CUmod_st *m;
	struct func *f;
	unsigned int k;
	CUresult r;

	if (!out || !n || !IS(l, MAGIC_LIB))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = library_module(l, &m);
	for (k = 0; !r && k < n && (f = module_kernel(m, k)); k++)
		r = kernel(l, f->name, &out[k]);
	unlock();
	return r;
}

static CUresult variable_of(CUlibrary l, const char *name, CUdeviceptr *p, size_t *size,
			    CUresult (*find)(struct CUmod_st *, const char *, CUdeviceptr *,
					     size_t *))
{
	struct CUmod_st *m;
	CUresult r;

	if (!name || !IS(l, MAGIC_LIB))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = library_module(l, &m);
	if (!r)
		r = find(m, name, p, size);
	unlock();
	return r;
}

EXPORT cuLibraryGetGlobal(CUdeviceptr *p, size_t *size, CUlibrary l, const char *name)
{
	return variable_of(l, name, p, size, module_global);
}

EXPORT cuLibraryGetKernelCount(unsigned int *n, CUlibrary l)
{
	struct CUmod_st *m;
	CUresult r;

	if (!n || !IS(l, MAGIC_LIB))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = library_module(l, &m);
	if (!r)
		*n = module_kernels(m);
	unlock();
	return r;
}

EXPORT cuLibraryGetManaged(CUdeviceptr *p, size_t *size, CUlibrary l, const char *name)
{
	return variable_of(l, name, p, size, module_managed);
}

EXPORT cuKernelSetCacheConfig(CUkernel k, CUfunc_cache x, CUdevice d)
{
	(void)x;
	return device_ok(d) ? CUDA_ERROR_INVALID_DEVICE :
		IS(k, MAGIC_KERNEL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EXPORT cuKernelGetFunction(CUfunction *out, CUkernel k)
{
	CUresult r;

	if (!out || !IS(k, MAGIC_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = function_of((CUfunction)k, out);
	unlock();
	return r;
}

EXPORT cuKernelGetLibrary(CUlibrary *out, CUkernel k)
{
	if (!out || !IS(k, MAGIC_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	*out = k->lib;
	return CUDA_SUCCESS;
}

EXPORT cuKernelGetName(const char **name, CUkernel k)
{
	if (!name || !IS(k, MAGIC_KERNEL))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = k->name;
	return CUDA_SUCCESS;
}

EXPORT cuKernelGetAttribute(int *v, CUfunction_attribute a, CUkernel k, CUdevice d)
{
	return device_ok(d) ? CUDA_ERROR_INVALID_DEVICE : cuFuncGetAttribute(v, a, (CUfunction)k);
}

EXPORT cuKernelSetAttribute(CUfunction_attribute a, int v, CUkernel k, CUdevice d)
{
	return device_ok(d) ? CUDA_ERROR_INVALID_DEVICE : cuFuncSetAttribute((CUfunction)k, a, v);
}

EXPORT cuKernelGetParamInfo(CUkernel k, size_t i, size_t *offset, size_t *size)
{
	return cuFuncGetParamInfo((CUfunction)k, i, offset, size);
}

struct CUlinkState_st {
	uint32_t magic;
	struct image image;
	void *done;		/* what cuLinkComplete gave */
	char *log;
	size_t log_size;
};

EXPORT cuLinkCreate_v2(unsigned int n, CUjit_option *opt, void **val, CUlinkState *out)
{
	struct CUctx_st *c;
	CUresult r = current(&c);
	unsigned int k;

	if (r)
		return r;
	if (!out || (n && (!opt || !val)))
		return CUDA_ERROR_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->magic = MAGIC_LINK;
	for (k = 0; k < n; k++) {
		if ((int)opt[k] == 5)
			(*out)->log = val[k];
		if ((int)opt[k] == 6)
			(*out)->log_size = (uintptr_t)val[k];
	}
	return CUDA_SUCCESS;
}

static CUresult add_image(struct CUlinkState_st *l, const void *image)
{
	struct image m = { 0 };
	CUresult r = image_take(&m, image);
	uint32_t k;

	for (k = 0; k < m.n && !r; k++) {
		r = image_add(&l->image, (char *)m.piece[k].text, m.piece[k].len);
		m.piece[k].text = NULL;
	}
	image_free(&m);
	return r;
}

/* PTX, fat binaries that hold some, and what was linked before. */
EXPORT cuLinkAddData_v2(CUlinkState l, CUjitInputType type, void *data, size_t size,
			const char *name, unsigned int n, CUjit_option *opt, void **val)
{
	char *text;
	CUresult r;

	(void)name, (void)n, (void)opt, (void)val;
	if (!IS(l, MAGIC_LINK) || l->done)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !size || (unsigned int)type > CU_JIT_INPUT_LIBRARY)
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_JIT_INPUT_PTX) {
		text = strndup(data, size);
		return text ? image_add(&l->image, text, strlen(text)) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	/* a copy with zeros behind it: its own length may lie */
	text = calloc(1, size + 64);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(text, data, size);
	r = add_image(l, text);
	free(text);
	return r;
}

EXPORT cuLinkAddFile_v2(CUlinkState l, CUjitInputType type, const char *path, unsigned int n,
			CUjit_option *opt, void **val)
{
	char *image = path ? image_file(path) : NULL;
	CUresult r;

	(void)type, (void)n, (void)opt, (void)val;
	if (!image)
		return CUDA_ERROR_FILE_NOT_FOUND;
	r = IS(l, MAGIC_LINK) && !l->done ? add_image(l, image) : CUDA_ERROR_INVALID_HANDLE;
	free(image);
	return r;
}

static uint64_t links;

uint64_t cpucuda_links(void)
{
	return __atomic_load_n(&links, __ATOMIC_RELAXED);
}

/* Links once to see whether it can be done; the module's loading does it again. */
EXPORT cuLinkComplete(CUlinkState l, void **out, size_t *size)
{
	struct CUctx_st *c;
	CUresult r = current(&c);
	char why[400] = "";
	struct CUmod_st *m;

	if (r)
		return r;
	if (!IS(l, MAGIC_LINK) || l->done || !l->image.n)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	m = module_load(c, &l->image, &r, why, sizeof(why));
	if (m)
		module_unload(m);
	unlock();
	if (r) {
		if (l->log && l->log_size)
			snprintf(l->log, l->log_size, "%s", why);
		return r;
	}
	__atomic_add_fetch(&links, 1, __ATOMIC_RELAXED);
	l->done = image_pack(&l->image, size);
	*out = l->done;
	return l->done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuLinkDestroy(CUlinkState l)
{
	if (!IS(l, MAGIC_LINK))
		return CUDA_ERROR_INVALID_HANDLE;
	image_free(&l->image);
	free(l->done);
	l->magic = 0;
	free(l);
	return CUDA_SUCCESS;
}
