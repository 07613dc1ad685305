// SPDX-License-Identifier: MIT
/* The runtime double: devices, functions, memory, arrays and textures. */
#include <string.h>
#include "cudart.h"

struct extent { size_t w, h, d; };
struct pitched { void *ptr; size_t pitch, x, y; };
struct channels { int x, y, z, w, kind; };
/* Numbers of the driver's interface. */
enum { POINTER_MEMORY_TYPE = 2, POINTER_DEVICE = 3, POINTER_HOST = 4, POINTER_MANAGED = 8,
       POINTER_ORDINAL = 9 };
enum { UNSIGNED_8 = 1, UNSIGNED_16, UNSIGNED_32, SIGNED_8 = 8, SIGNED_16, SIGNED_32, HALF = 16,
       FLOAT = 32 };
enum { CHANNEL_SIGNED, CHANNEL_UNSIGNED, CHANNEL_FLOAT };

SAME(cudaDeviceSetLimit, cuCtxSetLimit, (CUlimit l, size_t v), l, v)
SAME(cudaDeviceGetLimit, cuCtxGetLimit, (size_t *v, CUlimit l), v, l)
SAME(cudaDeviceGetCacheConfig, cuCtxGetCacheConfig, (CUfunc_cache *c), c)
SAME(cudaDeviceSetCacheConfig, cuCtxSetCacheConfig, (CUfunc_cache c), c)
SAME(cudaCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, (void))
SAME(cudaDeviceGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *least, int *most), least,
     most)
SAME(cudaDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *can, int a, int b), can, a, b)
SAME(cudaDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *id, int n, int d), id, n, d)
SAME(cudaDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, (int *d, const char *id), d, id)
SAME(cudaDeviceGetP2PAttribute, cuDeviceGetP2PAttribute,
     (int *v, CUdevice_P2PAttribute which, int a, int b), v, which, a, b)
SAME(cudaDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, (CUmemoryPool *p, int d), p, d)
SAME(cudaDeviceGetMemPool, cuDeviceGetMemPool, (CUmemoryPool *p, int d), p, d)
SAME(cudaDeviceSetMemPool, cuDeviceSetMemPool, (int d, CUmemoryPool p), d, p)
SAME(cudaGetDeviceFlags, cuCtxGetFlags, (unsigned int *flags), flags)
SAME(cudaSetDeviceFlags, cuDevicePrimaryCtxSetFlags_v2, (unsigned int flags), 0, flags)
SAME(cudaProfilerStart, cuProfilerStart, (void))
SAME(cudaProfilerStop, cuProfilerStop, (void))
RT(cudaInitDevice, int d, unsigned int device_flags, unsigned int flags)
{
	(void)device_flags, (void)flags;
	return d ? rt_keep(CUDA_ERROR_INVALID_DEVICE) : DO(CUDA_SUCCESS);
}
RT(cudaSetValidDevices, int *list, int n)
{
	return n && *list ? rt_keep(CUDA_ERROR_INVALID_DEVICE) : DO(CUDA_SUCCESS);
}
RT(cudaChooseDevice, int *d, const void *wanted)
{
	(void)wanted;
	return DO((*d = 0, CUDA_SUCCESS));
}
/* Banks of shared memory have one width since compute capability 5.0. */
RT(cudaDeviceGetSharedMemConfig, int *width) { return DO((*width = 0, CUDA_SUCCESS)); }
RT(cudaDeviceSetSharedMemConfig, int width) { (void)width; return DO(CUDA_SUCCESS); }

static CUresult entry(const char *name, void **fn, int version, cuuint64_t flags, int *status)
{
	CUdriverProcAddressQueryResult found = 0;
	CUresult r = CALL(cuGetProcAddress_v2, name, fn, version, flags, &found);

	if (status)
		*status = (int)found;
	return rt_keep(r);
}
RT(cudaGetDriverEntryPoint, const char *name, void **fn, unsigned long long flags, int *status)
{
	return entry(name, fn, 13000, flags, status);
}
RT(cudaGetDriverEntryPoint_ptsz, const char *name, void **fn, unsigned long long flags,
   int *status)
{
	return entry(name, fn, 13000, flags, status);
}
RT(cudaGetDriverEntryPointByVersion, const char *name, void **fn, unsigned int version,
   unsigned long long flags, int *status)
{
	return entry(name, fn, (int)version, flags, status);
}
RT(cudaGetDriverEntryPointByVersion_ptsz, const char *name, void **fn, unsigned int version,
   unsigned long long flags, int *status)
{
	return entry(name, fn, (int)version, flags, status);
}

RT(cudaGetKernel, CUkernel *k, const void *host) { return rt_keep(rt_kernel(host, k)); }
RT(cudaGetFuncBySymbol, CUfunction *f, const void *host)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : CALL(cuKernelGetFunction, f, k));
}
RT(cudaFuncSetCacheConfig, const void *host, CUfunc_cache c)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : CALL(cuKernelSetCacheConfig, k, c, 0));
}
RT(cudaFuncSetSharedMemConfig, const void *host, int width)
{
	CUkernel k;

	(void)width;
	return rt_keep(rt_kernel(host, &k));
}
RT(cudaFuncGetName, const char **name, const void *host)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : CALL(cuKernelGetName, name, k));
}
RT(cudaFuncGetParamInfo, const void *host, size_t i, size_t *offset, size_t *size)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : CALL(cuKernelGetParamInfo, k, i, offset, size));
}
SAME(cudaKernelSetAttributeForDevice, cuKernelSetAttribute,
     (CUkernel k, CUfunction_attribute a, int v, int d), a, v, k, d)
RT(cudaOccupancyAvailableDynamicSMemPerBlock, size_t *n, const void *host, int blocks, int threads)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : CALL(cuOccupancyAvailableDynamicSMemPerBlock, n, (CUfunction)k,
				    blocks, threads));
}
SAME(cudaLibraryLoadData, cuLibraryLoadData,
     (CUlibrary *l, const void *code, CUjit_option *jo, void **jv, unsigned int nj,
      CUlibraryOption *lo, void **lv, unsigned int nl), l, code, jo, jv, nj, lo, lv, nl)
SAME(cudaLibraryLoadFromFile, cuLibraryLoadFromFile,
     (CUlibrary *l, const char *path, CUjit_option *jo, void **jv, unsigned int nj,
      CUlibraryOption *lo, void **lv, unsigned int nl), l, path, jo, jv, nj, lo, lv, nl)
SAME(cudaLibraryUnload, cuLibraryUnload, (CUlibrary l), l)
SAME(cudaLibraryGetKernel, cuLibraryGetKernel, (CUkernel *k, CUlibrary l, const char *name), k, l,
     name)
SAME(cudaLibraryGetKernelCount, cuLibraryGetKernelCount, (unsigned int *n, CUlibrary l), n, l)
SAME(cudaLibraryEnumerateKernels, cuLibraryEnumerateKernels,
     (CUkernel *k, unsigned int n, CUlibrary l), k, n, l)
SAME(cudaLibraryGetGlobal, cuLibraryGetGlobal,
     (CUdeviceptr *p, size_t *size, CUlibrary l, const char *name), p, size, l, name)
SAME(cudaLibraryGetManaged, cuLibraryGetManaged,
     (CUdeviceptr *p, size_t *size, CUlibrary l, const char *name), p, size, l, name)

SAME(cudaHostGetFlags, cuMemHostGetFlags, (unsigned int *flags, void *p), flags, p)
SAME(cudaMallocFromPoolAsync, cuMemAllocFromPoolAsync,
     (CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream s), p, n, pool, s)
SAME(cudaMallocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync,
     (CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream s), p, n, pool, OWN(s))
SAME(cudaMemPoolCreate, cuMemPoolCreate, (CUmemoryPool *p, const CUmemPoolProps *props), p, props)
SAME(cudaMemPoolDestroy, cuMemPoolDestroy, (CUmemoryPool p), p)
SAME(cudaMemPoolTrimTo, cuMemPoolTrimTo, (CUmemoryPool p, size_t n), p, n)
SAME(cudaMemPoolSetAttribute, cuMemPoolSetAttribute,
     (CUmemoryPool p, CUmemPool_attribute a, void *v), p, a, v)
SAME(cudaMemPoolGetAttribute, cuMemPoolGetAttribute,
     (CUmemoryPool p, CUmemPool_attribute a, void *v), p, a, v)
SAME(cudaMemPoolSetAccess, cuMemPoolSetAccess,
     (CUmemoryPool p, const CUmemAccessDesc *list, size_t n), p, list, n)
SAME(cudaMemPoolGetAccess, cuMemPoolGetAccess,
     (CUmemAccess_flags *flags, CUmemoryPool p, CUmemLocation *l), flags, p, l)
SAME(cudaMemAdvise, cuMemAdvise_v2,
     (const void *p, size_t n, CUmem_advise advice, CUmemLocation l), P(p), n, advice, l)
SAME(cudaMemPrefetchAsync, cuMemPrefetchAsync_v2,
     (const void *p, size_t n, CUmemLocation l, unsigned int flags, CUstream s), P(p), n, l, flags,
     s)
SAME(cudaMemPrefetchAsync_ptsz, cuMemPrefetchAsync_v2,
     (const void *p, size_t n, CUmemLocation l, unsigned int flags, CUstream s), P(p), n, l, flags,
     OWN(s))
SAME(cudaMemRangeGetAttribute, cuMemRangeGetAttribute,
     (void *out, size_t size, CUmem_range_attribute a, const void *p, size_t n), out, size, a,
     P(p),
     n)
SAME(cudaMemRangeGetAttributes, cuMemRangeGetAttributes,
     (void **out, size_t *sizes, CUmem_range_attribute *a, size_t na, const void *p, size_t n),
     out,
     sizes, a, na, P(p), n)

struct where { int type, device; void *on_device, *on_host; long reserved[8]; };
RT(cudaPointerGetAttributes, struct where *w, const void *p)
{
	unsigned int type = 0, managed = 0;
	CUresult r;

	memset(w, 0, sizeof(*w));
	r = CALL(cuPointerGetAttribute, &type, POINTER_MEMORY_TYPE, P(p));
	if (r == CUDA_ERROR_INVALID_VALUE && p) {	/* the host's, which nobody registered */
		w->device = -2;
		return CUDA_SUCCESS;
	}
	if (r)
		return rt_keep(r);
	CALL(cuPointerGetAttribute, &managed, POINTER_MANAGED, P(p));
	CALL(cuPointerGetAttribute, &w->device, POINTER_ORDINAL, P(p));
	CALL(cuPointerGetAttribute, &w->on_device, POINTER_DEVICE, P(p));
	CALL(cuPointerGetAttribute, &w->on_host, POINTER_HOST, P(p));
	w->type = managed ? 3 : (int)type;
	return CUDA_SUCCESS;
}

/* Of one device: both sides are its own. */
static bool peers(int a, int b) { return !a && !b; }
RT(cudaMemcpyPeer, void *d, int to, const void *s, int from, size_t n)
{
	return rt_keep(peers(to, from) ? CALL(cuMemcpy, P(d), P(s), n) : CUDA_ERROR_INVALID_DEVICE);
}
RT(cudaMemcpyPeerAsync, void *d, int to, const void *s, int from, size_t n, CUstream st)
{
	return rt_keep(peers(to, from) ? CALL(cuMemcpyAsync, P(d), P(s), n, st) :
		       CUDA_ERROR_INVALID_DEVICE);
}

RT(cudaMemcpyToSymbolAsync, const void *sym, const void *s, size_t n, size_t off, int kind,
   CUstream st)
{
	CUdeviceptr p;
	CUresult r = rt_part_of(sym, n, off, &p);

	(void)kind;
	return rt_keep(r ? r : CALL(cuMemcpyAsync, p, P(s), n, st));
}
RT(cudaMemcpyFromSymbolAsync, void *d, const void *sym, size_t n, size_t off, int kind,
   CUstream st)
{
	CUdeviceptr p;
	CUresult r = rt_part_of(sym, n, off, &p);

	(void)kind;
	return rt_keep(r ? r : CALL(cuMemcpyAsync, P(d), p, n, st));
}
RT(cudaMemcpyToSymbolAsync_ptsz, const void *sym, const void *s, size_t n, size_t off, int kind,
   CUstream st)
{
	return cudaMemcpyToSymbolAsync(sym, s, n, off, kind, OWN(st));
}
RT(cudaMemcpyFromSymbolAsync_ptsz, void *d, const void *sym, size_t n, size_t off, int kind,
   CUstream st)
{
	return cudaMemcpyFromSymbolAsync(d, sym, n, off, kind, OWN(st));
}
SAME(cudaMemset2DAsync, cuMemsetD2D8Async,
     (void *p, size_t pitch, int v, size_t w, size_t h, CUstream s), P(p), pitch, (unsigned char)v,
     w, h, s)
SAME(cudaMemset2DAsync_ptsz, cuMemsetD2D8Async,
     (void *p, size_t pitch, int v, size_t w, size_t h, CUstream s), P(p), pitch, (unsigned char)v,
     w, h, OWN(s))
RT(cudaMemset3DAsync, struct pitched p, int v, struct extent e, CUstream s)
{
	CUresult r = rt_ready();
	size_t z;

	for (z = 0; z < e.d && !r; z++)
		r = CALL(cuMemsetD2D8Async, P(p.ptr) + z * p.pitch * p.y, p.pitch, (unsigned char)v,
			 e.w, e.h, s);
	return rt_keep(r);
}
RT(cudaMemset3DAsync_ptsz, struct pitched p, int v, struct extent e, CUstream s)
{
	return cudaMemset3DAsync(p, v, e, OWN(s));
}
RT(cudaMemset3D, struct pitched p, int v, struct extent e)
{
	CUresult r = rt_ready();
	size_t z;

	for (z = 0; z < e.d && !r; z++)
		r = CALL(cuMemsetD2D8_v2, P(p.ptr) + z * p.pitch * p.y, p.pitch, (unsigned char)v,
			 e.w, e.h);
	return rt_keep(r);
}
RT(cudaMalloc3D, struct pitched *p, struct extent e)
{
	*p = (struct pitched){ .x = e.w, .y = e.h };
	if (!e.w || !e.h || !e.d)
		return DO(CUDA_SUCCESS);
	return rt_keep(CALL(cuMemAllocPitch_v2, (CUdeviceptr *)&p->ptr, &p->pitch, e.w, e.h * e.d,
			    4));
}

API struct channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
struct channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
	return (struct channels){ x, y, z, w, kind };
}

/* All channels have the width of the first. */
static CUresult format_of(const struct channels *c, CUarray_format *f, unsigned int *n)
{
	bool sign = c->kind == CHANNEL_SIGNED;

	*n = !!c->x + !!c->y + !!c->z + !!c->w;
	if (c->kind == CHANNEL_FLOAT && (c->x == 16 || c->x == 32))
		*f = c->x == 32 ? FLOAT : HALF;
	else if (c->kind <= CHANNEL_UNSIGNED && c->x == 8)
		*f = sign ? SIGNED_8 : UNSIGNED_8;
	else if (c->kind <= CHANNEL_UNSIGNED && c->x == 16)
		*f = sign ? SIGNED_16 : UNSIGNED_16;
	else if (c->kind <= CHANNEL_UNSIGNED && c->x == 32)
		*f = sign ? SIGNED_32 : UNSIGNED_32;
	else
		return (CUresult)20;	/* no such channels */
	return CUDA_SUCCESS;
}

static unsigned int width_of(CUarray_format f)
{
	return f == UNSIGNED_8 || f == SIGNED_8 ? 8 :
	       f == FLOAT || f == UNSIGNED_32 ||
	       f == SIGNED_32 ? 32 : 16;
}

RT(cudaMalloc3DArray, CUarray *a, const struct channels *c, struct extent e, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = e.w, .Height = e.h, .Depth = e.d, .Flags = flags };
	CUresult r = format_of(c, &d.Format, &d.NumChannels);

	return rt_keep(r ? r : CALL(cuArray3DCreate_v2, a, &d));
}
RT(cudaMallocArray, CUarray *a, const struct channels *c, size_t w, size_t h, unsigned int flags)
{
	return cudaMalloc3DArray(a, c, (struct extent){ w, h, 0 }, flags);
}
RT(cudaFreeArray, CUarray a) { return a ? rt_keep(CALL(cuArrayDestroy, a)) : DO(CUDA_SUCCESS); }
RT(cudaArrayGetInfo, struct channels *c, struct extent *e, unsigned int *flags, CUarray a)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = CALL(cuArray3DGetDescriptor_v2, &d, a);
	int w;

	if (r)
		return rt_keep(r);
	w = (int)width_of(d.Format);
	if (c)
		*c = (struct channels){ w, d.NumChannels > 1 ? w : 0, d.NumChannels > 2 ? w : 0,
			d.NumChannels > 3 ? w : 0,
			d.Format >= HALF ? CHANNEL_FLOAT :
			d.Format >= SIGNED_8 ? CHANNEL_SIGNED : CHANNEL_UNSIGNED };
	if (e)
		*e = (struct extent){ d.Width, d.Height, d.Depth };
	if (flags)
		*flags = d.Flags;
	return CUDA_SUCCESS;
}
RT(cudaGetChannelDesc, struct channels *c, CUarray a) { return cudaArrayGetInfo(c, NULL, NULL,
   a); }

/* One side of a copy: an array at an offset in bytes, or an address. */
struct side { CUarray array; size_t x, y; const void *at; size_t pitch; };

static CUDA_MEMCPY2D copy_of(struct side to, struct side from, size_t w, size_t h)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = w, .Height = h };

	c.srcMemoryType = from.array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	c.srcArray = from.array;
	c.srcXInBytes = from.x;
	c.srcY = from.y;
	c.srcDevice = P(from.at);
	c.srcPitch = from.pitch;
	c.dstMemoryType = to.array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	c.dstArray = to.array;
	c.dstXInBytes = to.x;
	c.dstY = to.y;
	c.dstDevice = P(to.at);
	c.dstPitch = to.pitch;
	return c;
}

RT(cudaMemcpy2DToArray, CUarray a, size_t x, size_t y, const void *s, size_t pitch, size_t w,
   size_t h, int kind)
{
	CUDA_MEMCPY2D c = copy_of((struct side){ a, x, y, NULL, 0 },
				  (struct side){ NULL, 0, 0, s, pitch }, w, h);

	(void)kind;
	return rt_keep(CALL(cuMemcpy2D_v2, &c));
}
RT(cudaMemcpy2DToArrayAsync, CUarray a, size_t x, size_t y, const void *s, size_t pitch, size_t w,
   size_t h, int kind, CUstream st)
{
	CUDA_MEMCPY2D c = copy_of((struct side){ a, x, y, NULL, 0 },
				  (struct side){ NULL, 0, 0, s, pitch }, w, h);

	(void)kind;
	return rt_keep(CALL(cuMemcpy2DAsync_v2, &c, st));
}
RT(cudaMemcpy2DFromArray, void *d, size_t pitch, CUarray a, size_t x, size_t y, size_t w, size_t h,
   int kind)
{
	CUDA_MEMCPY2D c = copy_of((struct side){ NULL, 0, 0, d, pitch },
				  (struct side){ a, x, y, NULL, 0 }, w, h);

	(void)kind;
	return rt_keep(CALL(cuMemcpy2D_v2, &c));
}
RT(cudaMemcpy2DFromArrayAsync, void *d, size_t pitch, CUarray a, size_t x, size_t y, size_t w,
   size_t h, int kind, CUstream st)
{
	CUDA_MEMCPY2D c = copy_of((struct side){ NULL, 0, 0, d, pitch },
				  (struct side){ a, x, y, NULL, 0 }, w, h);

	(void)kind;
	return rt_keep(CALL(cuMemcpy2DAsync_v2, &c, st));
}
RT(cudaMemcpy2DArrayToArray, CUarray d, size_t dx, size_t dy, CUarray s, size_t sx, size_t sy,
   size_t w, size_t h, int kind)
{
	CUDA_MEMCPY2D c = copy_of((struct side){ d, dx, dy, NULL, 0 },
				  (struct side){ s, sx, sy, NULL, 0 }, w, h);

	(void)kind;
	return rt_keep(CALL(cuMemcpy2D_v2, &c));
}
/* @n bytes from @x on: a piece of a row, or whole rows. Anything else is refused. */
static CUresult rows_of(CUarray a, size_t x, size_t n, size_t *width, size_t *rows)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = CALL(cuArray3DGetDescriptor_v2, &d, a);
	size_t row;

	if (r)
		return r;
	row = d.Width * d.NumChannels * width_of(d.Format) / 8;
	*width = x + n <= row ? n : row;
	*rows = x + n <= row ? 1 : n / row;
	return x + n > row && (x || n % row) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
RT(cudaMemcpyToArray, CUarray a, size_t x, size_t y, const void *s, size_t n, int kind)
{
	size_t width, rows;
	CUresult r = rows_of(a, x, n, &width, &rows);

	return r ? rt_keep(r) : cudaMemcpy2DToArray(a, x, y, s, width, width, rows, kind);
}
RT(cudaMemcpyFromArray, void *to, CUarray a, size_t x, size_t y, size_t n, int kind)
{
	size_t width, rows;
	CUresult r = rows_of(a, x, n, &width, &rows);

	return r ? rt_keep(r) : cudaMemcpy2DFromArray(to, width, a, x, y, width, rows, kind);
}

struct copy3 {
	CUarray from_array;
	size_t from_x, from_y, from_z;
	struct pitched from;
	CUarray to_array;
	size_t to_x, to_y, to_z;
	struct pitched to;
	struct extent e;
	int kind;
};

/* Beside an array, widths are in its elements. */
static CUresult copy3_of(const struct copy3 *p, CUDA_MEMCPY3D *c)
{
	CUarray a = p->from_array ? p->from_array : p->to_array;
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = rt_ready();
	size_t element = 1;

	if (!r && a)
		r = CALL(cuArray3DGetDescriptor_v2, &d, a);
	if (r)
		return r;
	if (a)
		element = d.NumChannels * width_of(d.Format) / 8;
	*c = (CUDA_MEMCPY3D){
		.srcXInBytes = p->from_x * (p->from_array ? element : 1), .srcY = p->from_y,
		.srcZ = p->from_z, .srcArray = p->from_array, .srcDevice = P(p->from.ptr),
		.srcMemoryType = p->from_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
		.srcPitch = p->from.pitch, .srcHeight = p->from.y,
		.dstXInBytes = p->to_x * (p->to_array ? element : 1), .dstY = p->to_y,
		.dstZ = p->to_z, .dstArray = p->to_array, .dstDevice = P(p->to.ptr),
		.dstMemoryType = p->to_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
		.dstPitch = p->to.pitch, .dstHeight = p->to.y,
		.WidthInBytes = p->e.w * element, .Height = p->e.h, .Depth = p->e.d,
	};
	return CUDA_SUCCESS;
}
RT(cudaMemcpy3D, const struct copy3 *p)
{
	CUDA_MEMCPY3D c;
	CUresult r = copy3_of(p, &c);

	return rt_keep(r ? r : CALL(cuMemcpy3D_v2, &c));
}
RT(cudaMemcpy3DAsync, const struct copy3 *p, CUstream s)
{
	CUDA_MEMCPY3D c;
	CUresult r = copy3_of(p, &c);

	return rt_keep(r ? r : CALL(cuMemcpy3DAsync_v2, &c, s));
}

struct resource {
	int kind;
	union {
		CUarray array;
		CUmipmappedArray mipmapped;
		struct { void *at; struct channels c; size_t size; } linear;
		struct { void *at; struct channels c; size_t w, h, pitch; } flat;
	};
};
struct texture {
	int address[3], filter, read, srgb;
	float border[4];
	int normalized;
	unsigned int anisotropy;
	int level_filter;
	float bias, least, most;
	int no_trilinear, seamless;
};

static CUresult resource_of(const struct resource *r, CUDA_RESOURCE_DESC *d)
{
	*d = (CUDA_RESOURCE_DESC){ .resType = (CUresourcetype)r->kind };
	switch (r->kind) {
	case CU_RESOURCE_TYPE_ARRAY:
		d->res.array.hArray = r->array;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		d->res.mipmap.hMipmappedArray = r->mipmapped;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_LINEAR:
		d->res.linear.devPtr = P(r->linear.at);
		d->res.linear.sizeInBytes = r->linear.size;
		return format_of(&r->linear.c, &d->res.linear.format, &d->res.linear.numChannels);
	case CU_RESOURCE_TYPE_PITCH2D:
		d->res.pitch2D.devPtr = P(r->flat.at);
		d->res.pitch2D.width = r->flat.w;
		d->res.pitch2D.height = r->flat.h;
		d->res.pitch2D.pitchInBytes = r->flat.pitch;
		return format_of(&r->flat.c, &d->res.pitch2D.format, &d->res.pitch2D.numChannels);
	}
	return CUDA_ERROR_INVALID_VALUE;
}
RT(cudaCreateTextureObject, CUtexObject *out, const struct resource *res, const struct texture *t,
   const CUDA_RESOURCE_VIEW_DESC *view)
{
	CUDA_TEXTURE_DESC d = { .filterMode = (CUfilter_mode)t->filter,
		.maxAnisotropy = t->anisotropy, .mipmapFilterMode = (CUfilter_mode)t->level_filter,
		.mipmapLevelBias = t->bias, .minMipmapLevelClamp = t->least,
		.maxMipmapLevelClamp = t->most };
	CUDA_RESOURCE_DESC r;
	CUresult error = resource_of(res, &r);
	int i;

	for (i = 0; i < 3; i++)
		d.addressMode[i] = (CUaddress_mode)t->address[i];
	memcpy(d.borderColor, t->border, sizeof(t->border));
	d.flags = (t->read ? 0 : 0x1) | (t->normalized ? 0x2 : 0) | (t->srgb ? 0x10 : 0) |
		(t->no_trilinear ? 0x20 : 0) | (t->seamless ? 0x40 : 0);
	return rt_keep(error ? error : CALL(cuTexObjectCreate, out, &r, &d, view));
}
SAME(cudaDestroyTextureObject, cuTexObjectDestroy, (CUtexObject t), t)
RT(cudaCreateSurfaceObject, CUsurfObject *out, const struct resource *res)
{
	CUDA_RESOURCE_DESC r;
	CUresult error = resource_of(res, &r);

	return rt_keep(error ? error : CALL(cuSurfObjectCreate, out, &r));
}
SAME(cudaDestroySurfaceObject, cuSurfObjectDestroy, (CUsurfObject s), s)

/* Where each thread has a stream of its own, also what waits is done in that. */
RT(cudaMemcpy_ptds, void *d, const void *s, size_t n, int kind)
{
	return kind < 0 || kind > 4 ? rt_keep((CUresult)21) :
		DONE(CALL(cuMemcpyAsync, P(d), P(s), n, OWN(0)));
}
RT(cudaMemset_ptds, void *p, int v, size_t n)
{
	return DONE(CALL(cuMemsetD8Async, P(p), (unsigned char)v, n, OWN(0)));
}
RT(cudaMemset2D_ptds, void *p, size_t pitch, int v, size_t w, size_t h)
{
	return DONE(cudaMemset2DAsync(p, pitch, v, w, h, OWN(0)));
}
RT(cudaMemset3D_ptds, struct pitched p, int v, struct extent e)
{
	return DONE(cudaMemset3DAsync(p, v, e, OWN(0)));
}
RT(cudaMemcpy2D_ptds, void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, int kind)
{
	CUDA_MEMCPY2D c = copy_of((struct side){ NULL, 0, 0, d, dp },
				  (struct side){ NULL, 0, 0, s, sp }, w, h);

	(void)kind;
	return DONE(CALL(cuMemcpy2DAsync_v2, &c, OWN(0)));
}
RT(cudaMemcpy2DAsync_ptsz, void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h,
   int kind, CUstream st)
{
	CUDA_MEMCPY2D c = copy_of((struct side){ NULL, 0, 0, d, dp },
				  (struct side){ NULL, 0, 0, s, sp }, w, h);

	(void)kind;
	return rt_keep(CALL(cuMemcpy2DAsync_v2, &c, OWN(st)));
}
RT(cudaMemcpy2DToArray_ptds, CUarray a, size_t x, size_t y, const void *s, size_t pitch, size_t w,
   size_t h, int kind)
{
	return DONE(cudaMemcpy2DToArrayAsync(a, x, y, s, pitch, w, h, kind, OWN(0)));
}
RT(cudaMemcpy2DToArrayAsync_ptsz, CUarray a, size_t x, size_t y, const void *s, size_t pitch,
   size_t w, size_t h, int kind, CUstream st)
{
	return cudaMemcpy2DToArrayAsync(a, x, y, s, pitch, w, h, kind, OWN(st));
}
RT(cudaMemcpy2DFromArray_ptds, void *d, size_t pitch, CUarray a, size_t x, size_t y, size_t w,
   size_t h, int kind)
{
	return DONE(cudaMemcpy2DFromArrayAsync(d, pitch, a, x, y, w, h, kind, OWN(0)));
}
RT(cudaMemcpy2DFromArrayAsync_ptsz, void *d, size_t pitch, CUarray a, size_t x, size_t y, size_t w,
   size_t h, int kind, CUstream st)
{
	return cudaMemcpy2DFromArrayAsync(d, pitch, a, x, y, w, h, kind, OWN(st));
}
RT(cudaMemcpy3DAsync_ptsz, const struct copy3 *p, CUstream s)
{
	return cudaMemcpy3DAsync(p, OWN(s));
}
RT(cudaMemcpy3D_ptds, const struct copy3 *p) { return DONE(cudaMemcpy3DAsync(p, OWN(0))); }
RT(cudaMemcpyToSymbol_ptds, const void *sym, const void *s, size_t n, size_t off, int kind)
{
	return DONE(cudaMemcpyToSymbolAsync(sym, s, n, off, kind, OWN(0)));
}
RT(cudaMemcpyFromSymbol_ptds, void *d, const void *sym, size_t n, size_t off, int kind)
{
	return DONE(cudaMemcpyFromSymbolAsync(d, sym, n, off, kind, OWN(0)));
}
RT(cudaMemcpyToArray_ptds, CUarray a, size_t x, size_t y, const void *s, size_t n, int kind)
{
	size_t width, rows;
	CUresult r = rows_of(a, x, n, &width, &rows);

	return r ? rt_keep(r) : cudaMemcpy2DToArray_ptds(a, x, y, s, width, width, rows, kind);
}
RT(cudaMemcpyFromArray_ptds, void *to, CUarray a, size_t x, size_t y, size_t n, int kind)
{
	size_t width, rows;
	CUresult r = rows_of(a, x, n, &width, &rows);

	return r ? rt_keep(r) : cudaMemcpy2DFromArray_ptds(to, width, a, x, y, width, rows, kind);
}
