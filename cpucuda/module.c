// SPDX-License-Identifier: MIT
/* Modules and functions: from PTX text, files, fat binaries, and what was linked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpucuda.h"
#include "driver.h"
#include "gsfatbin.h"

#define IMAGE_MAX ((size_t)256 << 20)
#define LINKED_MAGIC 0x6b6e696cu	/* what cuLinkComplete gives: struct linked, then texts */

struct linked {
	uint32_t magic, n;
	uint64_t len[];		/* of each text; a zero stands behind it */
};

static struct CUmod_st *modules;

void image_free(struct image *m)
{
	uint32_t k;

	for (k = 0; k < m->n; k++)
		free((char *)m->piece[k].text);
	free(m->piece);
	memset(m, 0, sizeof(*m));
}

/* Takes the text over, also when it fails. */
CUresult image_add(struct image *m, char *text, size_t len)
{
	struct piece *all = realloc(m->piece, (m->n + 1) * sizeof(*all));

	if (!all) {
		free(text);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->piece = all;
	all[m->n++] = (struct piece){ text, len };
	return CUDA_SUCCESS;
}

/* The PTX for the newest architecture that this device has: as a compiler would pick. */
static CUresult from_container(const void *data, struct image *m)
{
	struct gsx_fat_entry e, best = { 0 };
	bool found = false, wrong = false;
	struct gsx_fat f;
	char *text;
	size_t len;
	int r;

	if (gsx_fat_open(&f, data, gsx_fat_length(data)))
		return CUDA_ERROR_INVALID_IMAGE;
	while ((r = gsx_fat_next(&f, &e)) == 1) {
		bool exact = e.flags & (GSX_FAT_SUFFIX_A | GSX_FAT_SUFFIX_F);

		if (e.kind != GSX_FAT_PTX || e.arch > dev.cc || (exact && e.arch != dev.cc)) {
			wrong = true;
		} else if (!found || e.arch > best.arch) {
			best = e;
			found = true;
		}
	}
	if (r < 0)
		return CUDA_ERROR_INVALID_IMAGE;
	if (!found)
		return wrong ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_NOT_FOUND;
	r = gsx_fat_unpack(&best, IMAGE_MAX, &text, &len);
	return !r ? image_add(m, text, len) : r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY :
		CUDA_ERROR_INVALID_IMAGE;
}

static CUresult from_wrapper(const struct gsx_fat_wrapper *w, struct image *m)
{
	const void *const *more = w->version == 2 ? w->more : NULL;
	CUresult r = w->data ? from_container(w->data, m) : CUDA_ERROR_NOT_FOUND;

	/* relocatable code that wasn't linked is linked now */
	if (r == CUDA_ERROR_NOT_FOUND && more && more[0])
		for (r = CUDA_SUCCESS; *more && !r; more++)
			r = from_container(*more, m);
	return r == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_NO_BINARY_FOR_GPU : r;
}

static CUresult copy_text(const char *from, size_t len, struct image *m)
{
	char *text = malloc(len + 1);

	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(text, from, len);
	text[len] = 0;
	return image_add(m, text, len);
}

static CUresult from_linked(const struct linked *l, struct image *m)
{
	const char *at = (const char *)(l->len + l->n);
	CUresult r = CUDA_SUCCESS;
	uint32_t k;

	for (k = 0; k < l->n && !r; k++) {
		r = copy_text(at, l->len[k], m);
		at += l->len[k] + 1;
	}
	return r;
}

/* What an image pointer leads to: texts to link, or what we can't run. */
CUresult image_take(struct image *m, const void *image)
{
	uint32_t magic;
	CUresult r;

	memcpy(&magic, image, 4);
	if (magic == GSX_FAT_MAGIC) {
		r = from_container(image, m);
		if (r == CUDA_ERROR_NOT_FOUND)
			r = CUDA_ERROR_NO_BINARY_FOR_GPU;
	} else if (magic == GSX_FAT_WRAPPER_MAGIC) {
		r = from_wrapper(image, m);
	} else if (magic == LINKED_MAGIC) {
		r = from_linked(image, m);
	} else if (!memcmp(image, "\177ELF", 4)) {
		r = CUDA_ERROR_NO_BINARY_FOR_GPU;
	} else {
		r = copy_text(image, strnlen(image, IMAGE_MAX), m);
	}
	if (r)
		image_free(m);
	return r;
}

/* The other way round, for cuLinkComplete. */
void *image_pack(const struct image *m, size_t *size)
{
	size_t n = sizeof(struct linked) + m->n * 8;
	struct linked *l;
	uint32_t k;
	char *at;

	for (k = 0; k < m->n; k++)
		n += m->piece[k].len + 1;
	l = calloc(1, n);
	if (!l)
		return NULL;
	l->magic = LINKED_MAGIC;
	l->n = m->n;
	at = (char *)(l->len + m->n);
	for (k = 0; k < m->n; k++) {
		l->len[k] = m->piece[k].len;
		memcpy(at, m->piece[k].text, m->piece[k].len);
		at += m->piece[k].len + 1;
	}
	*size = n;
	return l;
}

struct CUmod_st *module_load(struct CUctx_st *c, const struct image *image, CUresult *r, char *why,
			     size_t size)
{
	struct CUmod_st *m = calloc(1, sizeof(*m));
	int err;

	*r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!m)
		return NULL;
	m->magic = MAGIC_MODULE;
	m->ctx = c;
	m->p = calloc(image->n, sizeof(*m->p));
	m->n_p = image->n;
	err = m->p ? programs_link(m->p, image->piece, image->n, m, c->device) : -ENOMEM;
	if (err) {
		snprintf(why, size, "%s", m->p ? m->p[0].error : "no memory");
		mem_free_owner(m);
		free(m->p);
		free(m);
		*r = err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY :
			err == -EPROTONOSUPPORT ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION :
			CUDA_ERROR_INVALID_PTX;
		return NULL;
	}
	m->next = modules;
	modules = m;
	*r = CUDA_SUCCESS;
	return m;
}

void module_unload(struct CUmod_st *m)
{
	struct CUmod_st **p;
	struct CUfunc_st *f;
	uint32_t k;

	for (p = &modules; *p && *p != m; p = &(*p)->next)
		;
	if (*p)
		*p = m->next;
	while ((f = m->funcs)) {
		m->funcs = f->next;
		f->magic = 0;
		free(f);
	}
	mem_free_owner(m);
	for (k = 0; k < m->n_p; k++)
		program_free(&m->p[k]);
	free(m->p);
	m->magic = 0;
	free(m);
}

void modules_gone(struct CUctx_st *c)
{
	struct CUmod_st *m, *next;

	for (m = modules; m; m = next) {
		next = m->next;
		if (m->ctx == c)
			module_unload(m);
	}
}

/* The compiler's log goes where the options say. */
static void log_error(unsigned int n, CUjit_option *opt, void **val, const char *why)
{
	size_t size = 0;
	char *buf = NULL;
	unsigned int k;

	for (k = 0; k < n; k++) {
		if ((int)opt[k] == 5)
			buf = val[k];
		if ((int)opt[k] == 6)
			size = (uintptr_t)val[k];
	}
	if (buf && size)
		snprintf(buf, size, "%s", why);
}

EXPORT cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n, CUjit_option *opt,
			  void **val)
{
	struct image m = { 0 };
	char why[400] = "";
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	r = image_take(&m, image);
	if (r)
		return r;
	lock();
	r = capture_forbids();
	if (!r)
		*out = module_load(c, &m, &r, why, sizeof(why));
	unlock();
	image_free(&m);
	if (r)
		log_error(n, opt, val, why);
	return r;
}

EXPORT cuModuleLoadData(CUmodule *out, const void *image)
{
	return cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

EXPORT cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
	return cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

/* A file's bytes with some zeros behind them. */
char *image_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	char *p = n >= 0 ? calloc(1, n + 64) : NULL;

	if (!f)
		return NULL;
	if (p) {
		rewind(f);
		if (fread(p, 1, n, f) != (size_t)n) {
			free(p);
			p = NULL;
		} else if (gsx_fat_length(p) > (size_t)n) {
			memset(p, 0, 4);	/* cut off: nobody shall believe its length */
		}
	}
	fclose(f);
	return p;
}

EXPORT cuModuleLoad(CUmodule *out, const char *path)
{
	char *image = path ? image_file(path) : NULL;
	CUresult r = image ? cuModuleLoadData(out, image) : CUDA_ERROR_FILE_NOT_FOUND;

	free(image);
	return r;
}

EXPORT cuModuleUnload(CUmodule m)
{
	if (!IS(m, MAGIC_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	drain(m->ctx);
	module_unload(m);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuModuleGetLoadingMode(CUmoduleLoadingMode *m)
{
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	*m = CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}

static void attributes(struct CUfunc_st *h)
{
	const struct func *f = h->f;
	int *a = h->attr, k;

	a[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = f->max_threads ? (int)f->max_threads : 1024;
	a[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = f->static_shared;
	a[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = f->frame + func_spilled(f);
	a[CU_FUNC_ATTRIBUTE_NUM_REGS] = func_registers(f);
	a[CU_FUNC_ATTRIBUTE_PTX_VERSION] = f->p->version / 100 * 10 + f->p->version % 100 / 10;
	a[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = dev.cc;
	a[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = (48 << 10) - (int)f->static_shared;
	a[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
	a[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] = f->clustered && !f->req_cluster[0];
	for (k = 0; k < 3; k++)
		a[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + k] = f->req_cluster[k];
}

struct func *module_entry(struct CUmod_st *m, const char *name)
{
	struct func *f = NULL;
	uint32_t k;

	for (k = 0; k < m->n_p && !f; k++)
		f = program_entry(&m->p[k], name);
	return f;
}

/* The same handle each time, as programs compare them. */
CUresult module_function(struct CUmod_st *m, const char *name, struct CUfunc_st **out)
{
	struct func *f = module_entry(m, name);
	struct CUfunc_st *h;

	if (!f)
		return CUDA_ERROR_NOT_FOUND;
	for (h = m->funcs; h; h = h->next)
		if (h->f == f) {
			*out = h;
			return CUDA_SUCCESS;
		}
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->magic = MAGIC_FUNC;
	h->m = m;
	h->f = f;
	attributes(h);
	h->next = m->funcs;
	m->funcs = h;
	*out = h;
	return CUDA_SUCCESS;
}

EXPORT cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	CUresult r;

	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!IS(m, MAGIC_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	r = module_function(m, name, out);
	unlock();
	return r;
}

/* The k-th kernel of a module, NULL behind the last. */
struct func *module_kernel(struct CUmod_st *m, uint32_t k)
{
	uint32_t i, n;

	for (i = 0; i < m->n_p; i++)
		for (n = 0; n < m->p[i].n_funcs; n++)
			if (m->p[i].funcs[n].entry && m->p[i].funcs[n].has_body && !k--)
				return &m->p[i].funcs[n];
	return NULL;
}

uint32_t module_kernels(struct CUmod_st *m)
{
	uint32_t n;

	for (n = 0; module_kernel(m, n); n++)
		;
	return n;
}

EXPORT cuModuleGetFunctionCount(unsigned int *n, CUmodule m)
{
	if (!n || !IS(m, MAGIC_MODULE))
		return CUDA_ERROR_INVALID_VALUE;
	*n = module_kernels(m);
	return CUDA_SUCCESS;
}

EXPORT cuModuleEnumerateFunctions(CUfunction *out, unsigned int n, CUmodule m)
{
	CUresult r = CUDA_SUCCESS;
	struct func *f;
	unsigned int k;

	if (!out || !IS(m, MAGIC_MODULE))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	for (k = 0; k < n && !r && (f = module_kernel(m, k)); k++)
		r = module_function(m, f->name, &out[k]);
	unlock();
	return r;
}

/* What a test has planted, cpucuda_hide(). */
static char hidden[64];

void cpucuda_hide(const char *name)
{
	lock();
	snprintf(hidden, sizeof(hidden), "%s", name ? name : "");
	unlock();
}

static CUresult global(struct CUmod_st *m, const char *name, bool managed, CUdeviceptr *p,
		       size_t *size)
{
	const struct variable *v;
	uint32_t i, k;

	if (*name && !strcmp(name, hidden))
		return CUDA_ERROR_NOT_FOUND;
	for (i = 0; i < m->n_p; i++)
		for (k = 0; k < m->p[i].n_vars; k++) {
			v = &m->p[i].vars[k];
			if (strcmp(v->name, name) || (managed && !v->managed))
				continue;
			if (p)
				*p = v->addr;
			if (size)
				*size = v->size;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult module_global(struct CUmod_st *m, const char *name, CUdeviceptr *p, size_t *size)
{
	return global(m, name, false, p, size);
}

CUresult module_managed(struct CUmod_st *m, const char *name, CUdeviceptr *p, size_t *size)
{
	return global(m, name, true, p, size);
}

EXPORT cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *size, CUmodule m, const char *name)
{
	if (!IS(m, MAGIC_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	return name ? module_global(m, name, p, size) : CUDA_ERROR_INVALID_VALUE;
}

/* A CUfunction may be a CUkernel in truth; that is looked up in this context. */
CUresult function_of(CUfunction h, struct CUfunc_st **f)
{
	struct CUkern_st *k = (struct CUkern_st *)h;
	struct CUmod_st *m;
	CUresult r;

	if (!h)
		return CUDA_ERROR_INVALID_HANDLE;
	if (h->magic == MAGIC_FUNC) {
		*f = h;
		return CUDA_SUCCESS;
	}
	if (k->magic != MAGIC_KERNEL)
		return CUDA_ERROR_INVALID_HANDLE;
	r = library_module(k->lib, &m);
	return r ? r : module_function(m, k->name, f);
}

EXPORT cuFuncGetModule(CUmodule *m, CUfunction h)
{
	struct CUfunc_st *f;
	CUresult r;

	lock();
	r = m ? function_of(h, &f) : CUDA_ERROR_INVALID_VALUE;
	if (!r)
		*m = f->m;
	unlock();
	return r;
}

EXPORT cuFuncGetName(const char **name, CUfunction h)
{
	struct CUfunc_st *f;
	CUresult r;

	lock();
	r = name ? function_of(h, &f) : CUDA_ERROR_INVALID_VALUE;
	if (!r)
		*name = f->f->name;
	unlock();
	return r;
}

EXPORT cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction h)
{
	struct CUfunc_st *f;
	CUresult r;

	if (!v || (unsigned int)a >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = function_of(h, &f);
	if (!r)
		*v = f->attr[a];
	unlock();
	return r;
}

static bool settable(int a, int v, const struct CUfunc_st *f)
{
	if (a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		return v >= 0 && (uint32_t)v + f->f->static_shared <= dev.shared_per_block;
	return a >= CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
}

EXPORT cuFuncSetAttribute(CUfunction h, CUfunction_attribute a, int v)
{
	struct CUfunc_st *f;
	CUresult r;

	if ((unsigned int)a >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = function_of(h, &f);
	if (!r && !settable(a, v, f))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		f->attr[a] = v;
	unlock();
	return r;
}

EXPORT cuFuncSetCacheConfig(CUfunction h, CUfunc_cache x)
{
	struct CUfunc_st *f;

	(void)x;
	return function_of(h, &f);
}

EXPORT cuFuncGetParamInfo(CUfunction h, size_t i, size_t *offset, size_t *size)
{
	struct CUfunc_st *f;
	CUresult r;

	lock();
	r = function_of(h, &f);
	if (!r && i >= f->f->n_params)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r && offset)
		*offset = f->f->param_offset[i];
	if (!r && size)
		*size = f->f->param_size[i];
	unlock();
	return r;
}

EXPORT cuFuncIsLoaded(CUfunctionLoadingState *s, CUfunction h)
{
	struct CUfunc_st *f;

	*s = (CUfunctionLoadingState)1;
	return function_of(h, &f);
}

EXPORT cuFuncLoad(CUfunction h)
{
	struct CUfunc_st *f;

	return function_of(h, &f);
}
