// SPDX-License-Identifier: MIT
/*
 * Modules and libraries, and where the variants of their kernels are.
 *
 * A module is loaded as the program gave it, and its PTX is kept. When one of its
 * kernels turns out to run long, the PTX is transformed, and loaded beside it as a
 * shadow (gsxform.h) that shares its variables. So programs whose kernels are short pay
 * for a copy, and the originals run as they would, machine code included.
 *
 * Handles of functions and kernels are always those of the originals, and so are lists
 * of functions.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cut.h"
#include "globals.h"
#include "module.h"
#include "rest.h"
#include "wrap.h"
#include "wrap/launch/option.h"

static struct gs_loaded *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct gs_loaded *gs_loaded_find(const void *handle)
{
	struct gs_loaded *l;

	pthread_mutex_lock(&lock);
	for (l = all; l && l->handle != handle; l = l->next)
		;
	pthread_mutex_unlock(&lock);
	return l;
}

static void add(const struct gs_loaded *what)
{
	struct gs_loaded *l = malloc(sizeof(*l));

	if (!l) {	/* never cut then */
		gs_source_free(what->source);
		return;
	}
	*l = *what;
	pthread_mutex_lock(&lock);
	l->next = all;
	all = l;
	pthread_mutex_unlock(&lock);
}

static void let_go(struct gs_loaded *l, bool unload)
{
	gs_variants_free(l, unload);
	gs_source_free(l->source);
	free(l);
}

/*
 * Takes out what goes with @handle, or with @context. Before the driver does, which
 * may give the same handle to another thread at once.
 */
static struct gs_loaded *take_out(const void *handle, uint64_t context)
{
	struct gs_loaded **at = &all, *l, *taken = NULL;

	pthread_mutex_lock(&lock);
	while ((l = *at)) {
		if (l->handle == handle || (handle && l->library == handle) ||
		    (context && l->context == context)) {
			*at = l->next;
			l->next = taken;
			taken = l;
		} else {
			at = &l->next;
		}
	}
	pthread_mutex_unlock(&lock);
	for (l = taken; l; l = l->next)
		gs_records_gone(l->handle);
	if (handle)
		gs_records_gone(handle);
	return taken;
}

static void let_all_go(struct gs_loaded *taken, bool unload)
{
	struct gs_loaded *l;

	while ((l = taken)) {
		taken = l->next;
		let_go(l, unload);
	}
}

/* The driver has unloaded what was @taken out; or hasn't, then it is put back. */
static CUresult unloaded(CUresult r, struct gs_loaded *taken, struct entry *variables)
{
	struct gs_loaded *l;

	gs_memory_variables_end(variables, !r);
	if (!r) {
		let_all_go(taken, true);
		return r;
	}
	pthread_mutex_lock(&lock);
	while ((l = taken)) {
		taken = l->next;
		l->next = all;
		all = l;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

void gs_modules_gone(uint64_t context)
{
	let_all_go(take_out(NULL, context), false);
}

/* The device that a module is for, of a library the oldest of all; -1: none. */
static CUdevice device_for(bool library)
{
	CUdevice best, i;
	int n = 0;

	if (REAL(cuCtxGetDevice)(&best))
		best = -1;
	if (!library || REAL(cuDeviceGetCount)(&n))
		return best;
	for (i = 0; i < n; i++)
		if (best < 0 || gs_device_arch(i) < gs_device_arch(best))
			best = i;
	return best;
}

static bool is_regular(int at, const char *path)
{
	struct statx st;	/* stat() by itself isn't in a glibc before 2.33 */

	return !statx(at, path, AT_EMPTY_PATH, STATX_TYPE, &st) && S_ISREG(st.stx_mode);
}

/* What comes out of a pipe is the driver's, and could keep us waiting. */
static FILE *open_regular(const char *path)
{
	int fd = path && is_regular(AT_FDCWD, path) ?
		 open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	FILE *f = fd >= 0 && is_regular(fd, "") ? fdopen(fd, "rb") : NULL;

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

char *gs_read_file(const char *path, size_t *len, size_t most)
{
	FILE *f = open_regular(path);
	size_t room = 1 << 16, n;
	char *text = NULL, *more;

	*len = 0;
	while (f) {
		more = realloc(text, room + 1);
		if (!more)
			break;
		text = more;
		n = fread(text + *len, 1, room - *len, f);
		*len += n;
		if (*len > most) {
			free(text);
			text = NULL;
			break;
		}
		if (*len < room)
			break;
		room *= 2;
	}
	if (f)
		fclose(f);
	if (text)
		text[*len] = 0;
	return text;
}

/* A call that loads something: @data or what is in the file. */
struct request {
	CUmodule *module;
	CUlibrary *library;
	bool is_library;	/* which of them */
	const void *data;
	const char *path;
	bool file, fat, ex;	/* from @path, cuModuleLoadFatBinary(), cuModuleLoadDataEx() */
	int *options, *library_options;
	void **values, **library_values;
	unsigned int n, n_library;
};

static CUresult load(const struct request *q)
{
	if (q->file && q->is_library)
		return REAL(cuLibraryLoadFromFile)(q->library, q->path, q->options, q->values, q->n,
						   q->library_options, q->library_values,
						   q->n_library);
	if (q->is_library)
		return REAL(cuLibraryLoadData)(q->library, q->data, q->options, q->values, q->n,
					       q->library_options, q->library_values, q->n_library);
	if (q->file)
		return REAL(cuModuleLoad)(q->module, q->path);
	if (q->fat)
		return REAL(cuModuleLoadFatBinary)(q->module, q->data);
	if (q->ex)
		return REAL(cuModuleLoadDataEx)(q->module, q->data, q->n, q->options, q->values);
	return REAL(cuModuleLoadData)(q->module, q->data);
}

static void unload(const struct request *q)
{
	if (q->is_library)
		REAL(cuLibraryUnload)(*q->library);
	else
		REAL(cuModuleUnload)(*q->module);
}

/*
 * Its variables are charged, and its PTX is kept for later. After the driver has taken it:
 * then it is sound, and the driver's own copy has left memory for ours, which a start would
 * pay for page by page.
 */
static CUresult loaded(const struct request *q, CUdevice ordinal, const void *data, size_t len)
{
	uint32_t arch = gs_device_arch(ordinal);
	CUdevice at = device_for(false);	/* its variables are charged to this one */
	uint64_t bytes = gs_globals(data, len, gs_device_arch(at));
	struct gs_loaded l = {
		.handle = q->is_library ? (const void *)*q->library : *q->module,
		.source = gs_cuts_nothing() ? NULL : gs_source_take(data, len, arch),
	};
	struct gs_context *c;

	if (!q->is_library && (bytes || l.source)) {
		c = gs_context_known();	/* from now on, for its end */
		l.context = c ? c->id : 0;
	}
	if (!gs_memory_variables(l.handle, l.context, at, bytes)) {
		gs_source_free(l.source);
		unload(q);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (l.source)
		add(&l);
	return CUDA_SUCCESS;
}

static CUresult load_request(const struct request *q)
{
	CUresult r = load(q);
	CUdevice ordinal = r ? -1 : device_for(q->is_library);
	char *text;
	size_t len;

	if (ordinal < 0)
		return r;
	if (!q->file)
		return loaded(q, ordinal, q->data, 0);
	text = gs_read_file(q->path, &len, SIZE_MAX);
	r = loaded(q, ordinal, len ? text : NULL, len);
	free(text);
	return r;
}

HOOK(cuModuleLoadData, CUmodule *module, const void *data)
{
	return load_request(&(struct request){ .module = module, .data = data });
}

HOOK(cuModuleLoadDataEx, CUmodule *module, const void *data, unsigned int n, int *options,
     void **values)
{
	return load_request(&(struct request){ .module = module, .data = data, .ex = true, .n = n,
					       .options = options, .values = values });
}

HOOK(cuModuleLoadFatBinary, CUmodule *module, const void *data)
{
	return load_request(&(struct request){ .module = module, .data = data, .fat = true });
}

HOOK(cuModuleLoad, CUmodule *module, const char *path)
{
	return load_request(&(struct request){ .module = module, .path = path, .file = true });
}

HOOK(cuModuleUnload, CUmodule module)
{
	struct gs_loaded *taken;
	struct entry *variables;

	gs_settle_all();
	taken = module ? take_out(module, 0) : NULL;
	variables = gs_memory_variables_take(module);
	return unloaded(REAL(cuModuleUnload)(module), taken, variables);
}

#define LIBRARY_OPTIONS int *options, void **values, unsigned int n, int *library_options, \
	void **library_values, unsigned int n_library
#define LIBRARY_VALUES .options = options, .values = values, .n = n, \
	.library_options = library_options, .library_values = library_values, \
	.n_library = n_library

HOOK(cuLibraryLoadData, CUlibrary *library, const void *data, LIBRARY_OPTIONS)
{
	return load_request(&(struct request){ .library = library, .is_library = true,
					       .data = data, LIBRARY_VALUES });
}

HOOK(cuLibraryLoadFromFile, CUlibrary *library, const char *path, LIBRARY_OPTIONS)
{
	return load_request(&(struct request){ .library = library, .is_library = true,
					       .path = path, .file = true, LIBRARY_VALUES });
}

HOOK(cuLibraryUnload, CUlibrary library)
{
	struct gs_loaded *taken;
	struct entry *variables;

	gs_settle_all();
	taken = library ? take_out(library, 0) : NULL;
	variables = gs_memory_variables_take(library);
	return unloaded(REAL(cuLibraryUnload)(library), taken, variables);
}

/* The module that a library is in one context: what becomes of it goes with the library. */
HOOK(cuLibraryGetModule, CUmodule *module, CUlibrary library)
{
	CUresult r = REAL(cuLibraryGetModule)(module, library);
	struct gs_loaded *l = r ? NULL : gs_loaded_find(library);
	struct gs_context *c;

	if (l && !gs_loaded_find(*module)) {
		c = gs_context_known();
		if (c)
			add(&(struct gs_loaded){ .handle = *module, .library = library,
						 .context = c->id });
	}
	return r;
}

/* @of: the kernel by which it was found; or NULL */
static void know(const void *handle, const char *name, const void *owner, enum gs_found found,
		 CUcontext ctx, struct gs_record *of)
{
	struct gs_loaded *l = name ? gs_loaded_find(owner) : NULL;

	if (l && l->library) {	/* its variants are as well */
		owner = l->library;
		found = GS_FOUND_BY_KERNEL;
	}
	gs_record_know(handle, &(struct gs_record){ .owner = owner, .found = found, .ctx = ctx,
						    .of = of, .title = (char *)(uintptr_t)name,
						    .name = l ? name : NULL });
}

HOOK(cuModuleGetFunction, CUfunction *f, CUmodule module, const char *name)
{
	CUresult r = REAL(cuModuleGetFunction)(f, module, name);
	CUcontext ctx = NULL;

	if (!r) {
		REAL(cuCtxGetCurrent)(&ctx);
		know(*f, name, module, GS_FOUND_IN_MODULE, ctx, NULL);
	}
	return r;
}

HOOK(cuLibraryGetKernel, CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult r = REAL(cuLibraryGetKernel)(kernel, library, name);

	if (!r)
		know(*kernel, name, library, GS_FOUND_IN_LIBRARY, NULL, NULL);
	return r;
}

HOOK(cuKernelGetFunction, CUfunction *f, CUkernel kernel)
{
	CUresult r = REAL(cuKernelGetFunction)(f, kernel);
	struct gs_record *of = r ? NULL : gs_record_find(kernel);
	CUcontext ctx = NULL;

	if (!of)
		return r;
	REAL(cuCtxGetCurrent)(&ctx);
	know(*f, __atomic_load_n(&of->name, __ATOMIC_ACQUIRE),
	     __atomic_load_n(&of->owner, __ATOMIC_RELAXED), GS_FOUND_BY_KERNEL, ctx, of);
	return r;
}

/* A function that came another way: from the runtime's own tables, or a list. */
void gs_record_first(const struct gs_launch *l)
{
	const char *name = NULL;
	CUmodule module = NULL;
	CUcontext ctx = NULL;

	if (l->whole || gs_is_missing(I_cuFuncGetName) ||
	    REAL(cuFuncGetName)(&name, (CUfunction)l->handle) ||
	    REAL(cuFuncGetModule)(&module, (CUfunction)l->handle) || !gs_loaded_find(module)) {
		gs_record_add(l->handle);
		return;
	}
	REAL(cuCtxGetCurrent)(&ctx);
	know(l->handle, name, module, GS_FOUND_IN_MODULE, ctx, NULL);
}

void gs_modules_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	gs_variants_forget();
}
