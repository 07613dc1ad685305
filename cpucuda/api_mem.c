// SPDX-License-Identifier: MIT
/* Memory: allocation, copies, fills. */
#include <stdlib.h>
#include <string.h>
#include "cpucuda.h"
#include "driver.h"

static CUresult allocate(CUdeviceptr *p, size_t size, enum mem_kind kind)
{
	struct mem_block *b = NULL;
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!p || !size)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = capture_forbids();
	if (!r)
		b = mem_alloc(c->device, size, kind, c);
	if (!r && !b && kind == MEM_DEVICE && pools_trim(c->device))
		b = mem_alloc(c->device, size, kind, c);
	if (b)
		*p = b->addr;
	unlock();
	return r || b ? r : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuMemAlloc_v2(CUdeviceptr *p, size_t size)
{
	return allocate(p, size, MEM_DEVICE);
}

EXPORT cuMemAllocManaged(CUdeviceptr *p, size_t size, unsigned int flags)
{
	return flags < 1 || flags > 2 ? CUDA_ERROR_INVALID_VALUE : allocate(p, size, MEM_MANAGED);
}

EXPORT cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
			  unsigned int unit)
{
	if (!pitch || !width || !height || (unit != 4 && unit != 8 && unit != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + MEM_ALIGN - 1) & ~(size_t)(MEM_ALIGN - 1);
	return allocate(p, *pitch * height, MEM_DEVICE);
}

EXPORT cuMemHostAlloc(void **p, size_t size, unsigned int flags)
{
	CUdeviceptr d;
	CUresult r;

	lock();
	r = p ? refusal("host memory") : CUDA_ERROR_INVALID_VALUE;
	unlock();
	if (!r)
		r = allocate(&d, size, MEM_PINNED);
	if (r)
		return r;
	*p = (void *)(uintptr_t)d;
	lock();
	mem_find(d)->flags = flags;
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuMemAllocHost_v2(void **p, size_t size)
{
	return cuMemHostAlloc(p, size, 0);
}

static void (*when_freed)(uint64_t addr);

void cpucuda_freed(void (*fn)(uint64_t addr))
{
	when_freed = fn;
}

void was_freed(uint64_t addr)
{
	if (when_freed)
		when_freed(addr);
}

/* Freeing waits until nothing runs that could still use it. */
static CUresult release(CUdeviceptr p, bool host)
{
	struct mem_block *b;
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r || !p)
		return r;
	lock();
	b = mem_find(p);
	if (!b || b->addr != p || !b->seen_by || (host ? b->kind != MEM_PINNED :
				   b->kind != MEM_DEVICE && b->kind != MEM_MANAGED)) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else {
		drain(c);
		if (!(b->flags & MEM_OF_GRAPH) || b->kind == MEM_PINNED)
			device_free(b);
		if (when_freed)
			mem_reuse(p);
	}
	unlock();
	if (!r)
		was_freed(p);
	return r;
}

EXPORT cuMemFree_v2(CUdeviceptr p)
{
	return release(p, false);
}

EXPORT cuMemFreeHost(void *p)
{
	return release((uintptr_t)p, true);
}

EXPORT cuMemGetInfo_v2(size_t *free_, size_t *total)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	lock();
	if (free_)
		*free_ = mem_total() - mem_in_use(c->device);
	if (total)
		*total = mem_total();
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuMemHostRegister_v2(void *p, size_t size, unsigned int flags)
{
	struct mem_block *b;
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!p || !size)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	if (mem_find((uintptr_t)p)) {
		r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	} else {
		b = mem_register(p, size, c);
		if (b)
			b->flags = flags;
		else
			r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	unlock();
	return r;
}

EXPORT cuMemHostUnregister(void *p)
{
	struct mem_block *b;
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	lock();
	b = mem_find((uintptr_t)p);
	if (!b || b->kind != MEM_REGISTERED || b->addr != (uintptr_t)p) {
		r = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	} else {
		drain(c);
		mem_free(b);
	}
	unlock();
	return r;
}

static bool host_kind(const struct mem_block *b)
{
	return b && (b->kind == MEM_PINNED || b->kind == MEM_REGISTERED);
}

EXPORT cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned int flags)
{
	CUresult r = CUDA_SUCCESS;

	if (!d || flags)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	if (host_kind(mem_find((uintptr_t)p)))
		*d = (uintptr_t)p;
	else
		r = CUDA_ERROR_INVALID_VALUE;
	unlock();
	return r;
}

EXPORT cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct mem_block *b;

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	b = mem_find((uintptr_t)p);
	if (host_kind(b))
		*flags = b->flags;
	unlock();
	return host_kind(b) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr p)
{
	struct mem_block *b;

	lock();
	b = mem_find(p);
	if (b && base)
		*base = b->addr;
	if (b && size)
		*size = b->size;
	unlock();
	return b ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult pointer_attribute(void *out, int which, const struct mem_block *b)
{
	switch (which) {
	case 1: *(CUcontext *)out = b->owner; break;
	case 2:
		*(unsigned int *)out = host_kind(b) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case 3: *(CUdeviceptr *)out = b->addr; break;
	case 4: *(void **)out = b->kind == MEM_DEVICE ? NULL : b->host; break;
	case 6: *(int *)out = 0; break;
	case 7: *(unsigned long long *)out = b->id; break;
	case 8: *(int *)out = b->kind == MEM_MANAGED; break;
	case 9: *(int *)out = 0; break;
	case 11: *(CUdeviceptr *)out = b->addr; break;
	case 12: *(size_t *)out = b->size; break;
	case 13: *(int *)out = 1; break;
	default: return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

EXPORT cuPointerGetAttribute(void *out, CUpointer_attribute which, CUdeviceptr p)
{
	struct mem_block *b;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!out)
		return r;
	lock();
	b = mem_find(p);
	if (b)
		r = pointer_attribute(out, which, b);
	unlock();
	return r;
}

EXPORT cuPointerGetAttributes(unsigned int n, CUpointer_attribute *which, void **out, CUdeviceptr p)
{
	unsigned int k;

	/* a pointer that nobody knows gives zeros, not an error */
	for (k = 0; k < n; k++)
		if (cuPointerGetAttribute(out[k], which[k], p))
			memset(out[k], 0, (int)which[k] == 2 || (int)which[k] == 6 ||
			       (int)which[k] == 8 || (int)which[k] == 9 ? 4 : 8);
	return CUDA_SUCCESS;
}

/* Pageable memory is read before the call returns, whoever calls it asynchronous. */
static uint8_t *stage(struct work *w)
{
	struct side *s = &w->copy.src;
	uint8_t *p;
	size_t y, z;

	if (!s->is_host || mem_find(s->addr))
		return NULL;
	p = malloc(w->copy.width * w->copy.rows * w->copy.planes + 1);
	if (!p)
		return NULL;
	for (z = 0; z < w->copy.planes; z++)
		for (y = 0; y < w->copy.rows; y++)
			memcpy(p + (z * w->copy.rows + y) * w->copy.width,
			       (uint8_t *)(uintptr_t)s->addr + (z * s->height + y) * s->pitch,
			       w->copy.width);
	s->pitch = w->copy.width;
	s->height = w->copy.rows;
	return p;
}

CUresult transfer(struct work *w, CUstream h, bool per_thread, bool async)
{
	struct CUstream_st *s;
	uint8_t *staged;
	bool pageable;
	CUresult r;

	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && !ranges_ok(w))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r && async && w->kind == W_COPY)
		r = refusal("copy");
	if (!r) {
		pageable = w->kind == W_COPY && w->copy.dst.is_host && !mem_find(w->copy.dst.addr);
		staged = w->kind == W_COPY && !s->capture ? stage(w) : NULL;
		if ((async && !pageable) || s->capture)
			r = submit(s, w, staged);
		else
			r = submit_wait(s, w, staged);
	}
	unlock();
	return r;
}

static struct work linear(uint64_t dst, bool dst_host, uint64_t src, bool src_host, size_t size)
{
	struct work w = { .kind = W_COPY };

	w.copy.dst = (struct side){ dst, size, 1, dst_host, NULL };
	w.copy.src = (struct side){ src, size, 1, src_host, NULL };
	w.copy.width = size;
	w.copy.rows = w.copy.planes = 1;
	return w;
}

#define U(p) ((uint64_t)(uintptr_t)(p))
#define COPY(name, sync_suffix, params, async_params, dst, dh, src, sh, sargs, aargs)	\
TWO(name##sync_suffix, _ptds, params, SPREAD sargs)					\
{											\
	struct work w = linear(U(dst), dh, U(src), sh, n);				\
	return transfer(&w, NULL, per_thread, false);					\
}											\
TWO(name##Async##sync_suffix, _ptsz, async_params, SPREAD aargs)			\
{											\
	struct work w = linear(U(dst), dh, U(src), sh, n);				\
	return transfer(&w, s, per_thread, true);					\
}

COPY(cuMemcpyHtoD, _v2, (CUdeviceptr d, const void *h, size_t n),
     (CUdeviceptr d, const void *h, size_t n, CUstream s), d, false, h, true, (d, h, n),
     (d, h, n, s))
COPY(cuMemcpyDtoH, _v2, (void *h, CUdeviceptr d, size_t n),
     (void *h, CUdeviceptr d, size_t n, CUstream s), h, true, d, false, (h, d, n), (h, d, n, s))
COPY(cuMemcpyDtoD, _v2, (CUdeviceptr d, CUdeviceptr h, size_t n),
     (CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s), d, false, h, false, (d, h, n),
     (d, h, n, s))

TWO(cuMemcpy, _ptds, (CUdeviceptr d, CUdeviceptr h, size_t n), d, h, n)
{
	struct work w = linear(d, true, h, true, n);

	return transfer(&w, NULL, per_thread, false);
}

TWO(cuMemcpyAsync, _ptsz, (CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s), d, h, n, s)
{
	struct work w = linear(d, true, h, true, n);

	return transfer(&w, s, per_thread, true);
}

TWO(cuMemcpyPeer, _ptds, (CUdeviceptr d, CUcontext dc, CUdeviceptr h, CUcontext hc, size_t n),
    d, dc, h, hc, n)
{
	struct work w = linear(d, false, h, false, n);

	(void)dc;
	(void)hc;
	return transfer(&w, NULL, per_thread, false);
}

TWO(cuMemcpyPeerAsync, _ptsz,
    (CUdeviceptr d, CUcontext dc, CUdeviceptr h, CUcontext hc, size_t n, CUstream s),
    d, dc, h, hc, n, s)
{
	struct work w = linear(d, false, h, false, n);

	(void)dc;
	(void)hc;
	return transfer(&w, s, per_thread, true);
}

/* One side of a copy as the structures for two and three dimensions say it. */
struct given {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static CUresult side(struct side *s, const struct given *g, size_t width)
{
	memset(s, 0, sizeof(*s));
	s->is_host = g->type == CU_MEMORYTYPE_HOST || g->type == CU_MEMORYTYPE_UNIFIED;
	s->pitch = g->pitch ? g->pitch : width;
	s->height = g->height ? g->height : 1;
	s->addr = g->type == CU_MEMORYTYPE_HOST ? U(g->host) : g->device;
	if (g->type == CU_MEMORYTYPE_ARRAY) {
		if (!IS(g->array, MAGIC_ARRAY))
			return CUDA_ERROR_INVALID_HANDLE;
		if (g->x + width > g->array->pitch || g->y >= g->array->rows)
			return CUDA_ERROR_INVALID_VALUE;
		s->array = g->array;
		s->pitch = g->array->pitch;
		s->height = g->array->rows;
		s->addr = g->array->b->addr;
	}
	s->addr += (g->z * s->height + g->y) * s->pitch + g->x;
	return (int)g->type < 1 || (int)g->type > 4 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult copy_of(struct work *w, const struct given *src, const struct given *dst,
			size_t width, size_t rows, size_t planes)
{
	CUresult r;

	memset(w, 0, sizeof(*w));
	w->kind = W_COPY;
	w->copy.width = width;
	w->copy.rows = rows;
	w->copy.planes = planes;
	r = side(&w->copy.src, src, width);
	if (!r)
		r = side(&w->copy.dst, dst, width);
	if (!r && ((w->copy.src.array && src->y + rows > w->copy.src.array->rows) ||
		   (w->copy.dst.array && dst->y + rows > w->copy.dst.array->rows)))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

static CUresult copy2(struct work *w, const CUDA_MEMCPY2D *c)
{
	struct given src = { c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
		c->srcXInBytes, c->srcY, 0, c->srcPitch, c->Height };
	struct given dst = { c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
		c->dstXInBytes, c->dstY, 0, c->dstPitch, c->Height };

	return copy_of(w, &src, &dst, c->WidthInBytes, c->Height, 1);
}

static CUresult copy3(struct work *w, const CUDA_MEMCPY3D *c)
{
	struct given src = { c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
		c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch,
		c->srcHeight ? c->srcHeight : c->Height };
	struct given dst = { c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
		c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch,
		c->dstHeight ? c->dstHeight : c->Height };

	return copy_of(w, &src, &dst, c->WidthInBytes, c->Height, c->Depth);
}

TWO(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *c), c)
{
	struct work w;
	CUresult r = c ? copy2(&w, c) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : transfer(&w, NULL, per_thread, false);
}

TWO(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *c), c)
{
	return cuMemcpy2D_v2_do(per_thread, c);
}

TWO(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *c, CUstream s), c, s)
{
	struct work w;
	CUresult r = c ? copy2(&w, c) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : transfer(&w, s, per_thread, true);
}

TWO(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *c), c)
{
	struct work w;
	CUresult r = c ? copy3(&w, c) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : transfer(&w, NULL, per_thread, false);
}

TWO(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *c, CUstream s), c, s)
{
	struct work w;
	CUresult r = c ? copy3(&w, c) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : transfer(&w, s, per_thread, true);
}

CUresult memcpy_node(struct work *w, const CUDA_MEMCPY3D *c)
{
	return copy3(w, c);
}

/* The copy in the words of the interface; its start is in the addresses. */
void memcpy_shown(CUDA_MEMCPY3D *c, const struct work *w)
{
	const struct side *s = &w->copy.src, *d = &w->copy.dst;
	uint64_t off;

	memset(c, 0, sizeof(*c));
	c->srcMemoryType = s->array ? CU_MEMORYTYPE_ARRAY : s->is_host ? CU_MEMORYTYPE_HOST :
		CU_MEMORYTYPE_DEVICE;
	c->dstMemoryType = d->array ? CU_MEMORYTYPE_ARRAY : d->is_host ? CU_MEMORYTYPE_HOST :
		CU_MEMORYTYPE_DEVICE;
	c->srcPitch = s->pitch;
	c->srcHeight = s->height;
	c->dstPitch = d->pitch;
	c->dstHeight = d->height;
	c->WidthInBytes = w->copy.width;
	c->Height = w->copy.rows;
	c->Depth = w->copy.planes;
	if (s->array) {
		off = s->addr - s->array->b->addr;
		c->srcArray = s->array;
		c->srcXInBytes = off % s->pitch;
		c->srcY = off / s->pitch % s->height;
		c->srcZ = off / s->pitch / s->height;
	} else if (s->is_host) {
		c->srcHost = (void *)(uintptr_t)s->addr;
	} else {
		c->srcDevice = s->addr;
	}
	if (d->array) {
		off = d->addr - d->array->b->addr;
		c->dstArray = d->array;
		c->dstXInBytes = off % d->pitch;
		c->dstY = off / d->pitch % d->height;
		c->dstZ = off / d->pitch / d->height;
	} else if (d->is_host) {
		c->dstHost = (void *)(uintptr_t)d->addr;
	} else {
		c->dstDevice = d->addr;
	}
}

/* A copy between devices is one like any other: addresses are the same everywhere. */
static CUresult copy_peer(struct work *w, const CUDA_MEMCPY3D_PEER *p)
{
	CUDA_MEMCPY3D c = { 0 };

	c.srcXInBytes = p->srcXInBytes;
	c.srcY = p->srcY;
	c.srcZ = p->srcZ;
	c.srcMemoryType = p->srcMemoryType;
	c.srcHost = p->srcHost;
	c.srcDevice = p->srcDevice;
	c.srcArray = p->srcArray;
	c.srcPitch = p->srcPitch;
	c.srcHeight = p->srcHeight;
	c.dstXInBytes = p->dstXInBytes;
	c.dstY = p->dstY;
	c.dstZ = p->dstZ;
	c.dstMemoryType = p->dstMemoryType;
	c.dstHost = p->dstHost;
	c.dstDevice = p->dstDevice;
	c.dstArray = p->dstArray;
	c.dstPitch = p->dstPitch;
	c.dstHeight = p->dstHeight;
	c.WidthInBytes = p->WidthInBytes;
	c.Height = p->Height;
	c.Depth = p->Depth;
	return copy3(w, &c);
}

TWO(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *c), c)
{
	struct work w;
	CUresult r = c ? copy_peer(&w, c) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : transfer(&w, NULL, per_thread, false);
}

TWO(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *c, CUstream s), c, s)
{
	struct work w;
	CUresult r = c ? copy_peer(&w, c) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : transfer(&w, s, per_thread, true);
}

static struct work fill(CUdeviceptr d, size_t pitch, uint32_t v, uint32_t unit, size_t n,
			size_t rows)
{
	struct work w = { .kind = W_SET };

	w.set.dst = d;
	w.set.pitch = pitch;
	w.set.value = v;
	w.set.unit = unit;
	w.set.width = n;
	w.set.rows = rows;
	return w;
}

#define FILL(bits, type)							\
TWO(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr d, type v, size_t n), d, v, n)	\
{										\
	struct work w = fill(d, n * sizeof(v), v, sizeof(v), n, 1);		\
	return d % sizeof(v) ? CUDA_ERROR_INVALID_VALUE : transfer(&w, NULL, per_thread, true); \
}										\
TWO(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr d, type v, size_t n, CUstream s), d, v, n, s) \
{										\
	struct work w = fill(d, n * sizeof(v), v, sizeof(v), n, 1);		\
	return d % sizeof(v) ? CUDA_ERROR_INVALID_VALUE : transfer(&w, s, per_thread, true); \
}										\
TWO(cuMemsetD2D##bits##_v2, _ptds,						\
    (CUdeviceptr d, size_t pitch, type v, size_t n, size_t rows), d, pitch, v, n, rows) \
{										\
	struct work w = fill(d, pitch, v, sizeof(v), n, rows);			\
	return transfer(&w, NULL, per_thread, true);				\
}										\
TWO(cuMemsetD2D##bits##Async, _ptsz,						\
    (CUdeviceptr d, size_t pitch, type v, size_t n, size_t rows, CUstream s),	\
    d, pitch, v, n, rows, s)							\
{										\
	struct work w = fill(d, pitch, v, sizeof(v), n, rows);			\
	return transfer(&w, s, per_thread, true);				\
}

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
