// SPDX-License-Identifier: MIT
/*
 * Memory pools. A pool keeps what was freed for the next allocation of that size, up
 * to its release threshold (0 as a rule: then it gives all back at once), until it
 * is trimmed or the device has no more room.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

struct kept {
	struct mem_block *b;
	struct kept *next;
};

struct CUmemPoolHandle_st {
	uint32_t magic, device;
	bool builtin;
	struct kept *kept;
	uint64_t used, reserved, used_high, reserved_high, threshold, max;
	int reuse[3];		/* what may be reused when; all is, here */
	uint32_t access;	/* devices besides its own */
	struct CUmemPoolHandle_st *next;
};

static struct CUmemPoolHandle_st *pools;

static struct CUmemPoolHandle_st *pool_new(uint32_t device, size_t max)
{
	struct CUmemPoolHandle_st *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->magic = MAGIC_POOL;
	p->device = device;
	p->max = max;
	p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
	p->next = pools;
	pools = p;
	return p;
}

static struct CUmemPoolHandle_st *default_pool(uint32_t device)
{
	struct gpu *g = &gpus[device];

	if (!g->default_pool) {
		g->default_pool = pool_new(device, 0);
		if (g->default_pool)
			g->default_pool->builtin = true;
	}
	return g->default_pool;
}

struct CUmemPoolHandle_st *pool_of(uint32_t device)
{
	return gpus[device].pool ? gpus[device].pool : default_pool(device);
}

static bool trim(struct CUmemPoolHandle_st *p, uint64_t keep)
{
	struct kept *k;
	bool any = false;

	while (p->reserved > keep && (k = p->kept)) {
		p->kept = k->next;
		p->reserved -= k->b->size;
		mem_free(k->b);
		free(k);
		any = true;
	}
	return any;
}

bool pools_trim(uint32_t device)
{
	struct CUmemPoolHandle_st *p;
	bool any = false;

	for (p = pools; p; p = p->next)
		if (p->device == device)
			any |= trim(p, 0);
	return any;
}

static void gone(struct CUmemPoolHandle_st *p)
{
	struct CUmemPoolHandle_st **q;

	for (q = &pools; *q != p; q = &(*q)->next)
		;
	*q = p->next;
	trim(p, 0);
	p->magic = 0;
	free(p);
}

static struct mem_block *from_kept(struct CUmemPoolHandle_st *p, size_t size)
{
	struct mem_block *b;
	struct kept **q, *k;

	for (q = &p->kept; (k = *q); q = &k->next) {
		if (k->b->size != size)
			continue;
		*q = k->next;
		b = k->b;
		free(k);
		return b;
	}
	return NULL;
}

struct mem_block *pool_alloc(struct CUmemPoolHandle_st *p, size_t size)
{
	struct mem_block *b = from_kept(p, size);

	if (!b) {
		if (p->max && p->reserved + size > p->max)
			trim(p, p->max > size ? p->max - size : 0);
		if (p->max && p->reserved + size > p->max)
			return NULL;
		b = mem_alloc(p->device, size, MEM_DEVICE, p);
		if (!b && pools_trim(p->device))
			b = mem_alloc(p->device, size, MEM_DEVICE, p);
		if (!b)
			return NULL;
		p->reserved += size;
	}
	b->seen_by = 1u << p->device | p->access;
	p->used += size;
	p->used_high = p->used > p->used_high ? p->used : p->used_high;
	p->reserved_high = p->reserved > p->reserved_high ? p->reserved : p->reserved_high;
	return b;
}

void device_free(struct mem_block *b)
{
	struct CUmemPoolHandle_st *p;
	struct kept *k;

	for (p = pools; p && p != b->owner; p = p->next)
		;
	if (!p) {
		mem_free(b);
		return;
	}
	p->used -= b->size;
	k = malloc(sizeof(*k));
	if (!k) {
		p->reserved -= b->size;
		mem_free(b);
		return;
	}
	b->seen_by = 0;		/* nobody's until it is given out again */
	k->b = b;
	k->next = p->kept;
	p->kept = k;
	trim(p, p->threshold > p->used ? p->threshold : p->used);
	if (!p->magic && !p->used)
		gone(p);	/* destroyed before: this was the last piece */
}

static CUresult place(const CUmemLocation *l, const struct CUmemPoolHandle_st *p)
{
	if (l->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return device_ok(l->id) || !IS(p, MAGIC_POOL) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->handleTypes || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (device_ok(props->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	lock();
	*out = pool_new(props->location.id, props->maxSize);
	unlock();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Goes when the last of its memory is freed; the device is back at its own pool. */
EXPORT cuMemPoolDestroy(CUmemoryPool p)
{
	if (!IS(p, MAGIC_POOL) || p->builtin)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	if (gpus[p->device].pool == p)
		gpus[p->device].pool = NULL;
	p->magic = 0;
	p->threshold = 0;
	trim(p, p->used);
	if (!p->used)
		gone(p);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuMemPoolTrimTo(CUmemoryPool p, size_t keep)
{
	if (!IS(p, MAGIC_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	trim(p, keep);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuMemPoolSetAttribute(CUmemoryPool p, CUmemPool_attribute which, void *v)
{
	CUresult r = CUDA_SUCCESS;

	if (!IS(p, MAGIC_POOL) || !v)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	switch ((int)which) {
	case 1: case 2: case 3: p->reuse[which - 1] = *(int *)v; break;
	case 4:
		p->threshold = *(cuuint64_t *)v;
		trim(p, p->threshold > p->used ? p->threshold : p->used);
		break;
	case 6: case 8:		/* the marks may only be set back */
		if (*(cuuint64_t *)v)
			r = CUDA_ERROR_INVALID_VALUE;
		else if (which == 6)
			p->reserved_high = p->reserved;
		else
			p->used_high = p->used;
		break;
	default: r = CUDA_ERROR_INVALID_VALUE;
	}
	unlock();
	return r;
}

EXPORT cuMemPoolGetAttribute(CUmemoryPool p, CUmemPool_attribute which, void *v)
{
	CUresult r = CUDA_SUCCESS;

	if (!IS(p, MAGIC_POOL) || !v)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	switch ((int)which) {
	case 1: case 2: case 3: *(int *)v = p->reuse[which - 1]; break;
	case 4: *(cuuint64_t *)v = p->threshold; break;
	case 5: *(cuuint64_t *)v = p->reserved; break;
	case 6: *(cuuint64_t *)v = p->reserved_high; break;
	case 7: *(cuuint64_t *)v = p->used; break;
	case 8: *(cuuint64_t *)v = p->used_high; break;
	default: r = CUDA_ERROR_INVALID_VALUE;
	}
	unlock();
	return r;
}

EXPORT cuMemPoolSetAccess(CUmemoryPool p, const CUmemAccessDesc *desc, size_t n)
{
	struct mem_block *b;
	CUresult r = CUDA_SUCCESS;
	uint32_t access;
	uint64_t at = 0;
	size_t k;

	if (!IS(p, MAGIC_POOL) || (n && !desc))
		return CUDA_ERROR_INVALID_VALUE;
	access = p->access;
	for (k = 0; k < n && !r; k++) {
		r = place(&desc[k].location, p);
		if (!r && desc[k].flags)
			access |= 1u << desc[k].location.id;
		else if (!r)
			access &= ~(1u << desc[k].location.id);
	}
	if (r)
		return r;
	lock();
	p->access = access;
	for (b = mem_next(at); b; b = mem_next(b->addr + 1))
		if (b->owner == p && b->seen_by)
			b->seen_by = 1u << p->device | access;
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool p, CUmemLocation *l)
{
	CUresult r = l && flags ? place(l, p) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*flags = (CUmemAccess_flags)((p->access | 1u << p->device) >> l->id & 1 ? 3 : 0);
	return r;
}

EXPORT cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	*out = default_pool(d);
	unlock();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuDeviceGetMemPool(CUmemoryPool *out, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	*out = pool_of(d);
	unlock();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuDeviceSetMemPool(CUdevice d, CUmemoryPool p)
{
	if (device_ok(d))
		return device_ok(d);
	if (!IS(p, MAGIC_POOL) || p->device != (uint32_t)d)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	gpus[d].pool = p;
	unlock();
	return CUDA_SUCCESS;
}

/*
 * The memory is there when the call returns; the order of the stream matters to the
 * free alone. In a capture the graph keeps it until the graph and its instances go.
 */
static CUresult allocate(CUdeviceptr *out, size_t size, CUmemoryPool p, CUstream h, bool per_thread)
{
	struct work w = { .kind = W_ALLOC };
	struct mem_block *b = NULL;
	struct CUstream_st *s;
	CUresult r;

	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && !p)
		p = pool_of(s->ctx->device);
	if (!r && !IS(p, MAGIC_POOL))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r && s->capture) {
		r = alloc_work(&w, p, size);
		if (!r)
			*out = w.alloc->addr;
		if (!r)
			r = submit(s, &w, NULL);
	} else if (!r) {
		b = pool_alloc(p, size);
		r = b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		if (b)
			*out = b->addr;
	}
	unlock();
	return r;
}

TWO(cuMemAllocAsync, _ptsz, (CUdeviceptr *p, size_t n, CUstream h), p, n, h)
{
	return allocate(p, n, NULL, h, per_thread);
}

TWO(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream h),
    p, n, pool, h)
{
	return IS(pool, MAGIC_POOL) ? allocate(p, n, pool, h, per_thread) :
		CUDA_ERROR_INVALID_VALUE;
}

TWO(cuMemFreeAsync, _ptsz, (CUdeviceptr p, CUstream h), p, h)
{
	struct work w = { .kind = W_FREE };
	struct CUstream_st *s;
	struct mem_block *b;
	CUresult r;

	lock();
	r = stream_of(h, per_thread, &s);
	b = mem_find(p);
	if (!r && (!b || b->addr != p || b->kind != MEM_DEVICE || !b->seen_by))
		r = CUDA_ERROR_INVALID_VALUE;
	w.free.addr = p;
	if (!r)
		r = submit(s, &w, NULL);
	unlock();
	return r;
}

/* What a graph allocates: it and its instances hold it together. */
CUresult alloc_work(struct work *w, struct CUmemPoolHandle_st *p, size_t size)
{
	struct graph_memory *g = calloc(1, sizeof(*g));
	struct mem_block *b = g ? mem_alloc(p->device, size, MEM_DEVICE, g) : NULL;

	if (!b) {
		free(g);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	b->seen_by |= p->access;
	b->flags = MEM_OF_GRAPH;
	g->refs = 1;
	g->addr = b->addr;
	memset(w, 0, sizeof(*w));
	w->kind = W_ALLOC;
	w->alloc = g;
	return CUDA_SUCCESS;
}

void alloc_put(struct graph_memory *g)
{
	struct mem_block *b;

	if (--g->refs)
		return;
	b = mem_find(g->addr);
	if (b && b->owner == g)
		mem_free(b);
	free(g);
}
