// SPDX-License-Identifier: MIT
/*
 * The variants of a kernel: made when it is first worth it, looked up by their names,
 * set as the original is.
 *
 * A variant must not take more registers than gsx_register_cap() allows, or fewer blocks
 * fit on the device. Whether it does is known when it is loaded, so a module is then
 * transformed once more, with that cap for that kernel (the compiler finds its way in
 * nearly all cases), and loaded beside the first. A variant that takes local memory which
 * the original doesn't take spills, and isn't used. The caps of a module are kept on disk,
 * so the next start has them at once.
 *
 * Variables stay the original's, one set for each context. Where they are is asked once;
 * what of it a variant reaches is put into its stream before each launch that is cut.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "module.h"
#include "rest.h"

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;	/* variants, one at a time */
static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;	/* adds to gs_made.shared */

static void made_free(struct gs_made *made)
{
	struct gs_shared *s;

	while ((s = made->shared)) {
		made->shared = s->next;
		free(s);
	}
	free(made->image);
	free(made->kept);
	free(made);
}

void gs_variants_free(struct gs_loaded *l, bool unload)
{
	struct gs_made *m;

	while ((m = l->made)) {
		l->made = m->next;
		if (!l->context)
			REAL(cuLibraryUnload)((CUlibrary)(uintptr_t)m->variants);
		else if (unload)
			REAL(cuModuleUnload)((CUmodule)(uintptr_t)m->variants);
		made_free(m);
	}
}

static struct gs_made *made(struct gs_loaded *l, struct gs_device *dev, bool *from_disk)
{
	struct gs_made *m = calloc(1, sizeof(*m));
	CUlibrary library = NULL;
	CUmodule module = NULL;

	if (!m) {
		*from_disk = false;
		return NULL;
	}
	m->modes = gs_cut_modes(dev);
	m->image = gs_image_make(l->source, m->modes, from_disk, &m->kept);
	if (m->image && l->context) {
		REAL(cuModuleLoadData)(&module, m->kept);
		m->variants = module;
	} else if (m->image) {
		REAL(cuLibraryLoadData)(&library, m->kept, NULL, NULL, 0, NULL, NULL, 0);
		m->variants = library;
	}
	if (m->variants)
		return m;
	made_free(m);
	return NULL;
}

/* Transforms and loads it, with the caps that are known by now. */
static void make(struct gs_loaded *l, struct gs_device *dev)
{
	bool from_disk = true;
	struct gs_made *m = made(l, dev, &from_disk);

	if (!m && from_disk) {	/* there may be what another driver linked */
		from_disk = false;
		m = made(l, dev, &from_disk);
	}
	if (!m)
		return;
	m->next = l->made;
	l->made = m;
}

/* What is newest of its module goes for the kernel. */
static const struct gs_image_kernel *take(struct gs_record *r, const struct gs_loaded *l,
					  const char *name)
{
	const struct gs_image_kernel *k = l->made ? gs_image_find(l->made->image, name) : NULL;

	if (!k)
		return NULL;
	r->made = l->made;
	__atomic_store_n(&r->modes, l->made->modes, __ATOMIC_RELAXED);
	__atomic_store_n(&r->kernel, k, __ATOMIC_RELEASE);
	return k;
}

static struct gs_loaded *owner_of(const struct gs_record *r)
{
	return gs_loaded_find(__atomic_load_n(&r->owner, __ATOMIC_RELAXED));
}

/* NULL: it can't be cut, or not any more. */
static const char *name_of(const struct gs_record *r)
{
	return __atomic_load_n(&r->name, __ATOMIC_ACQUIRE);
}

/* The lock of those who make is held. */
static void name_gone(struct gs_record *r)
{
	__atomic_store_n(&r->name, NULL, __ATOMIC_RELAXED);
}

/*
 * How a kernel can be cut. If its module's PTX waits to be transformed, that is done
 * now: it takes some milliseconds, once for a module with a kernel that runs long.
 */
const struct gs_image_kernel *gs_record_kernel(struct gs_record *r, struct gs_device *dev)
{
	const struct gs_image_kernel *k = __atomic_load_n(&r->kernel, __ATOMIC_ACQUIRE);
	uint32_t modes = gs_cut_modes(dev);
	struct gs_loaded *l;
	const char *name;

	if ((k && !(modes & ~__atomic_load_n(&r->modes, __ATOMIC_RELAXED))) || !name_of(r))
		return k;
	l = owner_of(r);
	if (!l)
		return k;
	pthread_mutex_lock(&making);
	name = name_of(r);	/* another thread may just have found that it can't be cut */
	if (name && l->source && (!l->made || modes & ~l->made->modes)) {
		make(l, dev);
		if (l->made) {	/* also if it failed this time: not tried again */
			l->made->modes |= modes;
		} else {
			l->too_much = gs_source_is_too_much(l->source);
			gs_source_free(l->source);
			l->source = NULL;
		}
	}
	k = name ? take(r, l, name) : NULL;
	if (name && !k) {	/* not asked again */
		gs_whole_because(r, l->too_much ? "too much is linked" : "no variant");
		name_gone(r);
	}
	pthread_mutex_unlock(&making);
	return k;
}

static CUresult set(const struct gs_record *r, const void *variant, const struct gs_setting *s)
{
	CUfunction f = (CUfunction)(uintptr_t)variant;
	CUkernel k = (CUkernel)(uintptr_t)variant;

	if (r->found == GS_FOUND_IN_LIBRARY)
		return s->what == GS_SET_CACHE ? REAL(cuKernelSetCacheConfig)(k, s->value, s->dev) :
			REAL(cuKernelSetAttribute)(s->what, s->value, k, s->dev);
	if (s->what == GS_SET_CACHE)
		return REAL(cuFuncSetCacheConfig)(f, s->value);
	if (s->what == GS_SET_BANKS)
		return REAL(cuFuncSetSharedMemConfig)(f, s->value);
	return REAL(cuFuncSetAttribute)(f, s->what, s->value);
}

static const void *look_up(const struct gs_record *r, const char *name)
{
	CUmodule module = (CUmodule)(uintptr_t)r->made->variants;
	CUlibrary library = (CUlibrary)(uintptr_t)r->made->variants;
	const struct gs_record *of = __atomic_load_n(&r->of, __ATOMIC_ACQUIRE);
	CUfunction f = NULL;
	CUkernel k = NULL;
	uint32_t i;

	switch (r->found) {
	case GS_FOUND_IN_MODULE:
		return REAL(cuModuleGetFunction)(&f, module, name) ? NULL : f;
	case GS_FOUND_IN_LIBRARY:
		return REAL(cuLibraryGetKernel)(&k, library, name) ? NULL : k;
	case GS_FOUND_BY_KERNEL:
		if (REAL(cuLibraryGetKernel)(&k, library, name))
			return NULL;
		for (i = 0; of && i < of->n_settings; i++)
			if (set(of, k, &of->settings[i]))
				return NULL;
		return REAL(cuKernelGetFunction)(&f, k) ? NULL : f;
	default:
		return NULL;
	}
}

int gs_attribute(const struct gs_record *r, const void *handle, int what, CUdevice dev)
{
	int value = 0;

	if (r->found == GS_FOUND_IN_LIBRARY)
		REAL(cuKernelGetAttribute)(&value, what, (CUkernel)(uintptr_t)handle, dev);
	else
		REAL(cuFuncGetAttribute)(&value, what, (CUfunction)(uintptr_t)handle);
	return value;
}

/* The variant, set as the original is; NULL: there is none. */
static const void *ready(const struct gs_record *r, unsigned int mode)
{
	const void *v = look_up(r, gs_image_text(r->made->image, r->kernel->variant[mode]));
	uint32_t i;

	for (i = 0; v && i < r->n_settings; i++)
		if (set(r, v, &r->settings[i]))
			v = NULL;
	return v;
}

/*
 * The variant @v, if it costs no more than the contract allows, or another that was
 * made with a cap.
 */
static const void *affordable(struct gs_record *r, const void *v, unsigned int mode,
			      struct gs_device *dev)
{
	uint32_t cap = gsx_register_cap((uint32_t)gs_attribute(r, r->handle,
							       CU_FUNC_ATTRIBUTE_NUM_REGS,
							       dev->ordinal));
	struct gs_loaded *l = owner_of(r);
	const char *name = name_of(r);

	if (v && gs_attribute(r, v, CU_FUNC_ATTRIBUTE_NUM_REGS, dev->ordinal) > (int)cap) {
		v = NULL;
		if (!l || !l->source || !name)
			return NULL;
		if (gs_source_cap(l->source, name, cap))
			make(l, dev);
		if (l->made != r->made && take(r, l, name))
			v = ready(r, mode);
		if (v && gs_attribute(r, v, CU_FUNC_ATTRIBUTE_NUM_REGS, dev->ordinal) > (int)cap)
			v = NULL;
	}
	if (v && gs_attribute(r, v, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, dev->ordinal) >
		 gs_attribute(r, r->handle, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, dev->ordinal))
		v = NULL;
	return v;
}

const void *gs_variant(struct gs_record *r, unsigned int mode, struct gs_device *dev)
{
	const struct gs_image_kernel *k = __atomic_load_n(&r->kernel, __ATOMIC_ACQUIRE);
	const void *v;

	if (!k || !k->variant[mode])
		return NULL;
	v = __atomic_load_n(&r->variant[mode], __ATOMIC_ACQUIRE);
	if (!v) {
		pthread_mutex_lock(&making);
		v = r->variant[mode];	/* whoever comes twice finds the same */
		if (!v) {
			v = r->kernel ? affordable(r, ready(r, mode), mode, dev) : NULL;
			r->from[mode] = r->made;
			r->as[mode] = r->kernel;
			if (!v)
				v = GS_NO_VARIANT;
			__atomic_store_n(&r->variant[mode], v, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&making);
	}
	return v == GS_NO_VARIANT ? NULL : v;
}

static CUresult variable(bool library, const void *where, const char *name, CUdeviceptr *at,
			 size_t *bytes)
{
	return library ? REAL(cuLibraryGetGlobal)(at, bytes, (CUlibrary)(uintptr_t)where, name) :
			 REAL(cuModuleGetGlobal_v2)(at, bytes, (CUmodule)(uintptr_t)where, name);
}

/* Where its variables are in the present context. */
static void find_variables(struct gs_shared *s, const struct gs_record *r,
			   const struct gs_made *made)
{
	const struct gs_image_variable *v = gs_image_variables(made->image);
	const void *owner = __atomic_load_n(&r->owner, __ATOMIC_RELAXED);
	bool library = r->found != GS_FOUND_IN_MODULE;
	struct gs_found_at *p = s->places;
	struct gs_table *table;
	const char *name;
	size_t bytes, ours;
	char text[32];
	uint32_t i;

	for (i = 0; i < made->image->n_parts; i++) {
		table = &s->tables[i];
		snprintf(text, sizeof(text), GSX_TABLE "%u", i);
		if (table->bytes &&
		    (variable(library, made->variants, text, &table->to, &bytes) ||
		     bytes != table->bytes))
			table->to = 0;
	}
	for (i = 0; i < made->image->n_variables; i++, v++, p++) {
		name = gs_image_text(made->image, v->name);
		table = &s->tables[v->part];
		if (v->slot != GSX_CONSTANT)
			p->missing = !table->to ||
				     v->slot >= table->bytes / sizeof(*table->addresses) ||
				     variable(library, owner, name,
					      &table->addresses[v->slot], &bytes);
		else
			p->missing = variable(library, owner, name, &p->from, &bytes) ||
				     variable(library, made->variants, name, &p->to, &ours) ||
				     bytes != v->bytes || bytes != ours;
	}
}

static struct gs_shared *share(const struct gs_record *r, const struct gs_made *made,
			       const struct gs_context *context)
{
	const struct gs_image_variable *v = gs_image_variables(made->image);
	uint32_t n = made->image->n_variables, parts = made->image->n_parts, i;
	struct gs_shared *s = calloc(1, sizeof(*s) + parts * sizeof(*s->tables) +
				     n * (sizeof(*s->places) + sizeof(CUdeviceptr)));
	CUdeviceptr *addresses;

	if (!s || REAL(cuCtxPushCurrent_v2)(context->handle)) {
		free(s);
		return NULL;
	}
	s->context = context->id;
	s->image = made->image;
	s->tables = (struct gs_table *)(s + 1);
	s->places = (struct gs_found_at *)(s->tables + parts);
	addresses = (CUdeviceptr *)(s->places + n);
	for (i = 0; i < n; i++)
		if (v[i].slot != GSX_CONSTANT)
			s->tables[v[i].part].bytes += sizeof(*addresses);
	for (i = 0; i < parts; i++) {
		s->tables[i].addresses = addresses;
		addresses += s->tables[i].bytes / sizeof(*addresses);
	}
	find_variables(s, r, made);
	REAL(cuCtxPopCurrent_v2)(&(CUcontext){ NULL });
	return s;
}

static const struct gs_shared *shared_in(const struct gs_made *made, uint64_t context)
{
	const struct gs_shared *s = __atomic_load_n(&made->shared, __ATOMIC_ACQUIRE);

	while (s && s->context != context)
		s = s->next;
	return s;
}

/* Not of @making: launches don't wait for what others have to be compiled. */
bool gs_shared(struct gs_record *r, unsigned int mode, struct gs_context *context,
	       const struct gs_shared **shared)
{
	const struct gs_image_kernel *k = r->as[mode];
	struct gs_made *made = r->from[mode];
	const struct gs_shared *s;
	struct gs_shared *more;
	uint32_t i, n;

	*shared = NULL;
	if (!k)
		return false;
	n = gs_image_n_reached(made->image, k);
	if (!n)
		return true;
	s = shared_in(made, context->id);
	if (!s) {
		pthread_mutex_lock(&finding);
		s = shared_in(made, context->id);
		more = s ? NULL : share(r, made, context);
		if (more) {
			more->next = made->shared;
			__atomic_store_n(&made->shared, more, __ATOMIC_RELEASE);
			s = more;
		}
		pthread_mutex_unlock(&finding);
	}
	for (i = 0; s && i < n; i++)
		if (s->places[gs_image_reached(k, i)].missing)
			return false;
	*shared = s;
	return s;
}

/* The lock of those who make is held. Is the setting lost, the kernel isn't cut any more. */
static void keep_setting(struct gs_record *r, int what, int value, CUdevice dev)
{
	struct gs_setting s = { what, value, dev };
	unsigned int m, i = 0;

	if (!name_of(r))
		return;
	while (i < r->n_settings && (r->settings[i].what != what || r->settings[i].dev != dev))
		i++;
	/* With clusters the grid is more than its blocks. */
	if (i == GS_SETTINGS || (what >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
				 what <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)) {
		r->settings_lost = true;
		name_gone(r);
		__atomic_store_n(&r->kernel, NULL, __ATOMIC_RELEASE);
		return;
	}
	r->settings[i] = s;
	if (i == r->n_settings)
		r->n_settings++;
	for (m = 0; m < GSX_MODES; m++)
		if (r->variant[m] && r->variant[m] != GS_NO_VARIANT && set(r, r->variant[m], &s))
			__atomic_store_n(&r->variant[m], GS_NO_VARIANT, __ATOMIC_RELEASE);
}

/* What was set on the original. */
static CUresult was_set(CUresult rc, const void *handle, int what, int value, CUdevice dev)
{
	struct gs_record *r = rc ? NULL : gs_record_find(handle);

	if (r && name_of(r)) {
		pthread_mutex_lock(&making);
		keep_setting(r, what, value, dev);
		pthread_mutex_unlock(&making);
	}
	return rc;
}

HOOK(cuFuncSetAttribute, CUfunction f, int what, int value)
{
	gs_settle_all();	/* launches before it are as it was */
	return was_set(REAL(cuFuncSetAttribute)(f, what, value), f, what, value, 0);
}

HOOK(cuFuncSetCacheConfig, CUfunction f, int config)
{
	gs_settle_all();
	return was_set(REAL(cuFuncSetCacheConfig)(f, config), f, GS_SET_CACHE, config, 0);
}

HOOK(cuFuncSetSharedMemConfig, CUfunction f, int config)
{
	gs_settle_all();
	return was_set(REAL(cuFuncSetSharedMemConfig)(f, config), f, GS_SET_BANKS, config, 0);
}

/*
 * A kernel's functions are made after it, the variant's after the variant: of a device with
 * a gate, as without one nothing is cut. Beside another thread's capture as well.
 */
static CUresult kernel_was_set(CUresult rc, CUkernel k, int what, int value, CUdevice dev)
{
	struct gs_record *r = rc ? NULL : gs_record_find(k);
	struct gs_device *on = r ? gs_device_of(dev) : NULL;
	int mode = CU_STREAM_CAPTURE_RELAXED;
	unsigned int m;

	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	for (m = 0; on && on->budget.share && m < GSX_MODES; m++)
		gs_variant(r, m, on);
	was_set(rc, k, what, value, dev);
	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return rc;
}

HOOK(cuKernelSetAttribute, int what, int value, CUkernel kernel, CUdevice dev)
{
	gs_settle_all();
	return kernel_was_set(REAL(cuKernelSetAttribute)(what, value, kernel, dev), kernel, what,
			      value, dev);
}

HOOK(cuKernelSetCacheConfig, CUkernel kernel, int config, CUdevice dev)
{
	gs_settle_all();
	return kernel_was_set(REAL(cuKernelSetCacheConfig)(kernel, config, dev), kernel,
			      GS_SET_CACHE, config, dev);
}

void gs_variants_forget(void)
{
	pthread_mutex_init(&making, NULL);
	pthread_mutex_init(&finding, NULL);
}
