// SPDX-License-Identifier: MIT
/*
 * Arrays, mipmapped arrays, and the objects and references through which kernels
 * read them. An array is device memory without an address, row by row, plane by
 * plane (a layer is a plane).
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "texture.h"

struct CUmipmappedArray_st {
	uint32_t magic, levels;
	struct CUarray_st *level[TEXTURE_LEVELS];
};

/* What was asked for when an object was made, to be shown again. */
struct object {
	uint64_t handle;
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC tex;
	bool surface;
	struct object *next;
};

static struct object *objects;

static bool format_ok(int format, unsigned int channels)
{
	return (channels == 1 || channels == 2 || channels == 4) &&
		((format >= 1 && format <= 3) || (format >= 8 && format <= 10) ||
		 format == TEXEL_HALF || format == TEXEL_FLOAT);
}

uint32_t array_element(const struct CUarray_st *a)
{
	return texel_size(a->d.Format) * a->d.NumChannels;
}

static struct CUarray_st *array_new(struct CUctx_st *c, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct CUarray_st *a = calloc(1, sizeof(*a));
	size_t rows = d->Height ? d->Height : 1, planes = d->Depth ? d->Depth : 1;

	if (!a)
		return NULL;
	a->magic = MAGIC_ARRAY;
	a->d = *d;
	a->rows = rows;
	a->pitch = d->Width * array_element(a);
	a->b = mem_alloc(c->device, a->pitch * rows * planes, MEM_ARRAY, c);
	if (!a->b && pools_trim(c->device))
		a->b = mem_alloc(c->device, a->pitch * rows * planes, MEM_ARRAY, c);
	if (a->b)
		return a;
	free(a);
	return NULL;
}

static void array_free(struct CUarray_st *a)
{
	mem_free(a->b);
	a->magic = 0;
	free(a);
}

static CUresult create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!out || !format_ok(d->Format, d->NumChannels) || !d->Width || d->Width > 131072 ||
	    d->Height > 65536 || d->Depth > 16384 || d->Flags & ~0xfu ||
	    (d->Flags & CUDA_ARRAY3D_CUBEMAP && (d->Depth % 6 || d->Width != d->Height)))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	*out = array_new(c, d);
	unlock();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR d3 = { 0 };

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	d3.Width = d->Width;
	d3.Height = d->Height;
	d3.Format = d->Format;
	d3.NumChannels = d->NumChannels;
	return create(out, &d3);
}

EXPORT cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d ? create(out, d) : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuArrayDestroy(CUarray a)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!IS(a, MAGIC_ARRAY) || a->of_mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	drain(c);
	array_free(a);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray a)
{
	if (!IS(a, MAGIC_ARRAY) || !d)
		return d ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	*d = a->d;
	return CUDA_SUCCESS;
}

EXPORT cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, CUarray a)
{
	if (!IS(a, MAGIC_ARRAY) || !d)
		return d ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	d->Width = a->d.Width;
	d->Height = a->d.Height;
	d->Format = a->d.Format;
	d->NumChannels = a->d.NumChannels;
	return CUDA_SUCCESS;
}

EXPORT cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
			      unsigned int levels)
{
	struct CUmipmappedArray_st *m;
	CUDA_ARRAY3D_DESCRIPTOR at;
	CUresult r = CUDA_SUCCESS;
	uint32_t k;

	if (!out || !d || !levels || levels > TEXTURE_LEVELS)
		return CUDA_ERROR_INVALID_VALUE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->magic = MAGIC_MIPMAP;
	at = *d;
	for (k = 0; k < levels && !r; k++) {
		r = create(&m->level[k], &at);
		if (r)
			break;
		m->level[k]->of_mipmap = true;
		at.Width = at.Width > 1 ? at.Width / 2 : 1;
		at.Height = at.Height > 1 ? at.Height / 2 : at.Height;
		if (!(at.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
			at.Depth = at.Depth > 1 ? at.Depth / 2 : at.Depth;
	}
	m->levels = k;
	if (r) {
		cuMipmappedArrayDestroy(m);
		return r;
	}
	*out = m;
	return CUDA_SUCCESS;
}

EXPORT cuMipmappedArrayDestroy(CUmipmappedArray m)
{
	struct CUctx_st *c;
	CUresult r = current(&c);
	uint32_t k;

	if (r)
		return r;
	if (!IS(m, MAGIC_MIPMAP))
		return CUDA_ERROR_INVALID_HANDLE;
	lock();
	drain(c);
	for (k = 0; k < m->levels; k++)
		array_free(m->level[k]);
	m->magic = 0;
	free(m);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray m, unsigned int level)
{
	if (!IS(m, MAGIC_MIPMAP) || !out || level >= m->levels)
		return CUDA_ERROR_INVALID_VALUE;
	*out = m->level[level];
	return CUDA_SUCCESS;
}

static void from_array(struct texture *t, uint32_t level, const struct CUarray_st *a)
{
	bool layered = a->d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

	t->level[level].base = a->b->host;
	t->level[level].width = a->d.Width;
	t->level[level].height = a->d.Height;
	t->level[level].depth = layered ? 0 : a->d.Depth;
	t->level[level].pitch = a->pitch;
	t->level[level].plane = a->pitch * a->rows;
	t->layers = layered ? a->d.Depth : 0;
	t->format = a->d.Format;
	t->channels = a->d.NumChannels;
}

/* The texels of a resource. The lock is held. */
static CUresult resource(struct texture *t, const CUDA_RESOURCE_DESC *d)
{
	struct CUmipmappedArray_st *m;
	uint64_t at;
	size_t size;

	t->levels = 1;
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		if (!IS(d->res.array.hArray, MAGIC_ARRAY))
			return CUDA_ERROR_INVALID_VALUE;
		from_array(t, 0, d->res.array.hArray);
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		m = d->res.mipmap.hMipmappedArray;
		if (!IS(m, MAGIC_MIPMAP))
			return CUDA_ERROR_INVALID_VALUE;
		for (t->levels = 0; t->levels < m->levels; t->levels++)
			from_array(t, t->levels, m->level[t->levels]);
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_LINEAR:
		at = d->res.linear.devPtr;
		size = d->res.linear.sizeInBytes;
		t->format = d->res.linear.format;
		t->channels = d->res.linear.numChannels;
		if (!format_ok(t->format, t->channels) || at % MEM_ALIGN)
			return CUDA_ERROR_INVALID_VALUE;
		t->linear_memory = true;
		t->level[0].width = size / (texel_size(t->format) * t->channels);
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		at = d->res.pitch2D.devPtr;
		t->format = d->res.pitch2D.format;
		t->channels = d->res.pitch2D.numChannels;
		t->level[0].width = d->res.pitch2D.width;
		t->level[0].height = d->res.pitch2D.height;
		t->level[0].pitch = d->res.pitch2D.pitchInBytes;
		size = t->level[0].pitch * t->level[0].height;
		if (!format_ok(t->format, t->channels) || at % MEM_ALIGN || !size ||
		    t->level[0].pitch < t->level[0].width * texel_size(t->format) * t->channels)
			return CUDA_ERROR_INVALID_VALUE;
		/* the last row needs no room behind its texels */
		size -= t->level[0].pitch - t->level[0].width * texel_size(t->format) * t->channels;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	t->level[0].base = mem_host(at, size);
	return t->level[0].base ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult sampling(struct texture *t, const CUDA_TEXTURE_DESC *d)
{
	uint32_t k;

	for (k = 0; k < 3; k++) {
		if ((unsigned int)d->addressMode[k] > 3)
			return CUDA_ERROR_INVALID_VALUE;
		t->address[k] = d->addressMode[k];
	}
	t->linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
	t->linear_levels = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
	/* What isn't of integers isn't read as such. */
	t->as_integer = d->flags & CU_TRSF_READ_AS_INTEGER && t->format != TEXEL_FLOAT &&
		t->format != TEXEL_HALF;
	t->normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
	t->level_bias = d->mipmapLevelBias;
	t->level_min = d->minMipmapLevelClamp;
	t->level_max = d->maxMipmapLevelClamp;
	memcpy(t->border, d->borderColor, sizeof(t->border));
	/* what isn't a number between 0 and 1 can't be mixed */
	if (t->linear && (t->as_integer || t->format == TEXEL_U32 || t->format == TEXEL_S32))
		return CUDA_ERROR_INVALID_VALUE;
	return d->flags & CU_TRSF_SRGB ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult object_new(uint64_t *out, const CUDA_RESOURCE_DESC *res,
			   const CUDA_TEXTURE_DESC *tex, bool surface)
{
	struct texture t = { .surface = surface };
	struct object *o;
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!out || !res || (!surface && !tex) || res->flags)
		return CUDA_ERROR_INVALID_VALUE;
	o = calloc(1, sizeof(*o));
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	lock();
	r = resource(&t, res);
	if (!r && surface && (res->resType != CU_RESOURCE_TYPE_ARRAY ||
			      !(res->res.array.hArray->d.Flags & CUDA_ARRAY3D_SURFACE_LDST)))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r && tex)
		r = sampling(&t, tex);
	o->handle = r ? 0 : texture_add(&t);
	if (!r && !o->handle)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!r) {
		o->res = *res;
		o->surface = surface;
		if (tex)
			o->tex = *tex;
		o->next = objects;
		objects = o;
		*out = o->handle;
	}
	unlock();
	if (r)
		free(o);
	return r;
}

EXPORT cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *res,
			 const CUDA_TEXTURE_DESC *tex, const CUDA_RESOURCE_VIEW_DESC *view)
{
	uint64_t h = 0;
	CUresult r = view ? CUDA_ERROR_NOT_SUPPORTED : object_new(&h, res, tex, false);

	if (out)
		*out = h;
	return out ? r : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *res)
{
	uint64_t h = 0;
	CUresult r = object_new(&h, res, NULL, true);

	if (out)
		*out = h;
	return out ? r : CUDA_ERROR_INVALID_VALUE;
}

static struct object **object_of(uint64_t handle, bool surface)
{
	struct object **p;

	for (p = &objects; *p; p = &(*p)->next)
		if ((*p)->handle == handle && (*p)->surface == surface)
			return p;
	return NULL;
}

static CUresult object_gone(uint64_t handle, bool surface)
{
	struct object **p, *o;
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	lock();
	p = object_of(handle, surface);
	if (p) {
		drain(c);
		o = *p;
		*p = o->next;
		texture_remove(handle);
		free(o);
	}
	unlock();
	return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuTexObjectDestroy(CUtexObject h)
{
	return object_gone(h, false);
}

EXPORT cuSurfObjectDestroy(CUsurfObject h)
{
	return object_gone(h, true);
}

#define SHOW(name, handle_type, desc_type, surface, member)			\
EXPORT name(desc_type *d, handle_type h)					\
{										\
	struct object **p;							\
										\
	if (!d)									\
		return CUDA_ERROR_INVALID_VALUE;				\
	lock();									\
	p = object_of(h, surface);						\
	if (p)									\
		*d = (*p)->member;						\
	unlock();								\
	return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;			\
}

SHOW(cuTexObjectGetResourceDesc, CUtexObject, CUDA_RESOURCE_DESC, false, res)
SHOW(cuTexObjectGetTextureDesc, CUtexObject, CUDA_TEXTURE_DESC, false, tex)
SHOW(cuSurfObjectGetResourceDesc, CUsurfObject, CUDA_RESOURCE_DESC, true, res)

/*
 * References: variables of a module that hold a handle. What was set takes effect
 * for launches after it; each setting makes the object anew.
 */
struct CUtexref_st {
	uint32_t magic;
	uint64_t addr;		/* of the variable */
	bool surface;
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC tex;
	uint64_t handle;
	struct CUtexref_st *next;
};

static struct CUtexref_st *refs;

static CUresult reference(struct CUtexref_st **out, CUmodule m, const char *name, bool surface)
{
	struct CUtexref_st *r;
	CUdeviceptr addr;
	CUresult err;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	err = cuModuleGetGlobal_v2(&addr, NULL, m, name);
	if (err)
		return err;
	lock();
	for (r = refs; r && (r->addr != addr || r->surface != surface); r = r->next)
		;
	if (!r) {
		r = calloc(1, sizeof(*r));
		if (r) {
			r->magic = MAGIC_TEXREF;
			r->addr = addr;
			r->surface = surface;
			r->tex.addressMode[0] = r->tex.addressMode[1] = r->tex.addressMode[2] =
				CU_TR_ADDRESS_MODE_CLAMP;
			r->tex.maxMipmapLevelClamp = TEXTURE_LEVELS;
			r->next = refs;
			refs = r;
		}
	}
	unlock();
	*out = r;
	return r ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuModuleGetTexRef(CUtexref *out, CUmodule m, const char *name)
{
	return reference(out, m, name, false);
}

EXPORT cuModuleGetSurfRef(CUsurfref *out, CUmodule m, const char *name)
{
	return reference((struct CUtexref_st **)out, m, name, true);
}

/* As the reference stands now; without a resource yet there is nothing to do. */
static CUresult renew(struct CUtexref_st *r, bool bound)
{
	struct texture t = { .surface = r->surface };
	CUresult err;
	uint8_t *at;

	if (!bound && !r->handle)
		return CUDA_SUCCESS;
	lock();
	err = resource(&t, &r->res);
	if (!err)
		err = r->surface ? CUDA_SUCCESS : sampling(&t, &r->tex);
	at = mem_host(r->addr, 8);
	if (!err && at) {
		texture_remove(r->handle);
		r->handle = texture_add(&t);
		memcpy(at, &r->handle, 8);
	}
	unlock();
	return err ? err : at ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult bind_array(struct CUtexref_st *r, CUarray a, unsigned int flags, bool surface)
{
	if (!IS(r, MAGIC_TEXREF) || r->surface != surface || !IS(a, MAGIC_ARRAY) ||
	    flags != (surface ? 0 : CU_TRSA_OVERRIDE_FORMAT))
		return CUDA_ERROR_INVALID_VALUE;
	memset(&r->res, 0, sizeof(r->res));
	r->res.resType = CU_RESOURCE_TYPE_ARRAY;
	r->res.res.array.hArray = a;
	return renew(r, true);
}

EXPORT cuTexRefSetArray(CUtexref r, CUarray a, unsigned int flags)
{
	return bind_array(r, a, flags, false);
}

EXPORT cuSurfRefSetArray(CUsurfref r, CUarray a, unsigned int flags)
{
	return bind_array((struct CUtexref_st *)r, a, flags, true);
}

EXPORT cuTexRefSetMipmappedArray(CUtexref r, CUmipmappedArray m, unsigned int flags)
{
	if (!IS(r, MAGIC_TEXREF) || !IS(m, MAGIC_MIPMAP) || flags != CU_TRSA_OVERRIDE_FORMAT)
		return CUDA_ERROR_INVALID_VALUE;
	memset(&r->res, 0, sizeof(r->res));
	r->res.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	r->res.res.mipmap.hMipmappedArray = m;
	return renew(r, true);
}

/* The format of linear memory is set on its own, before or after. */
EXPORT cuTexRefSetFormat(CUtexref r, CUarray_format format, int channels)
{
	if (!IS(r, MAGIC_TEXREF) || !format_ok(format, channels))
		return CUDA_ERROR_INVALID_VALUE;
	r->res.res.linear.format = format;
	r->res.res.linear.numChannels = channels;
	return CUDA_SUCCESS;
}

EXPORT cuTexRefSetAddress_v2(size_t *offset, CUtexref r, CUdeviceptr p, size_t size)
{
	if (!IS(r, MAGIC_TEXREF) || p % MEM_ALIGN)
		return CUDA_ERROR_INVALID_VALUE;
	r->res.resType = CU_RESOURCE_TYPE_LINEAR;
	r->res.res.linear.devPtr = p;
	r->res.res.linear.sizeInBytes = size;
	if (offset)
		*offset = 0;
	return renew(r, true);
}

EXPORT cuTexRefSetAddress2D_v3(CUtexref r, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr p,
			       size_t pitch)
{
	if (!IS(r, MAGIC_TEXREF) || !d)
		return CUDA_ERROR_INVALID_VALUE;
	memset(&r->res, 0, sizeof(r->res));
	r->res.resType = CU_RESOURCE_TYPE_PITCH2D;
	r->res.res.pitch2D.devPtr = p;
	r->res.res.pitch2D.format = d->Format;
	r->res.res.pitch2D.numChannels = d->NumChannels;
	r->res.res.pitch2D.width = d->Width;
	r->res.res.pitch2D.height = d->Height;
	r->res.res.pitch2D.pitchInBytes = pitch;
	return renew(r, true);
}

EXPORT cuTexRefSetAddressMode(CUtexref r, int dim, CUaddress_mode mode)
{
	if (!IS(r, MAGIC_TEXREF) || dim < 0 || dim > 2)
		return CUDA_ERROR_INVALID_VALUE;
	r->tex.addressMode[dim] = mode;
	return renew(r, false);
}

EXPORT cuTexRefSetFilterMode(CUtexref r, CUfilter_mode mode)
{
	if (!IS(r, MAGIC_TEXREF))
		return CUDA_ERROR_INVALID_VALUE;
	r->tex.filterMode = mode;
	return renew(r, false);
}

EXPORT cuTexRefSetFlags(CUtexref r, unsigned int flags)
{
	if (!IS(r, MAGIC_TEXREF))
		return CUDA_ERROR_INVALID_VALUE;
	r->tex.flags = flags;
	return renew(r, false);
}

EXPORT cuTexRefSetBorderColor(CUtexref r, float *color)
{
	if (!IS(r, MAGIC_TEXREF) || !color)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(r->tex.borderColor, color, sizeof(r->tex.borderColor));
	return renew(r, false);
}
