// SPDX-License-Identifier: MIT
/*
 * Advice about memory, and what else is said about ranges of it. Managed memory is
 * the host's own here; advice is kept and shown again, and moves nothing.
 */
#include <string.h>
#include "driver.h"

#define CPU (-1)
#define NOWHERE (-2)

static struct mem_block *managed(CUdeviceptr p, size_t n)
{
	struct mem_block *b = mem_find(p);

	return b && (b->kind == MEM_MANAGED || b->kind == MEM_REGISTERED ||
		     b->kind == MEM_PINNED) && mem_host(p, n) ? b : NULL;
}

static bool place_ok(int id)
{
	return id == CPU || !device_ok(id);
}

static CUresult advise(CUdeviceptr p, size_t n, int advice, int id)
{
	CUresult r = CUDA_SUCCESS;
	struct mem_block *b;

	if (!n || advice < 1 || advice > 6 || (advice > 2 && advice != 4 && !place_ok(id)))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	b = managed(p, n);
	if (!b)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (advice == 1 || advice == 2)
		b->read_mostly = advice == 1;
	else if (advice == 3 || advice == 4)
		b->preferred = advice == 3 ? id : NOWHERE;
	else if (id >= 0)
		b->accessed_by = advice == 5 ? b->accessed_by | 1u << id :
			b->accessed_by & ~(1u << id);
	unlock();
	return r;
}

/* A location's id; the host in all its forms is -1. */
static int id_of(CUmemLocation l)
{
	return l.type == CU_MEM_LOCATION_TYPE_DEVICE ? l.id :
		(int)l.type >= CU_MEM_LOCATION_TYPE_HOST && (int)l.type <= 4 ? CPU : NOWHERE;
}

EXPORT cuMemAdvise(CUdeviceptr p, size_t n, CUmem_advise advice, CUdevice d)
{
	return advise(p, n, advice, d);
}

EXPORT cuMemAdvise_v2(CUdeviceptr p, size_t n, CUmem_advise advice, CUmemLocation l)
{
	return advise(p, n, advice, id_of(l));
}

static CUresult prefetch(CUdeviceptr p, size_t n, int id, CUstream h, bool per_thread)
{
	struct work w = { .kind = W_NOTHING };
	struct CUstream_st *s;
	struct mem_block *b;
	CUresult r;

	if (!n || !place_ok(id))
		return n ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	b = managed(p, n);
	if (!r && !b)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r) {
		b->last_prefetch = id;
		r = submit(s, &w, NULL);
	}
	unlock();
	return r;
}

TWO(cuMemPrefetchAsync, _ptsz, (CUdeviceptr p, size_t n, CUdevice d, CUstream h), p, n, d, h)
{
	return prefetch(p, n, d, h, per_thread);
}

TWO(cuMemPrefetchAsync_v2, _ptsz,
    (CUdeviceptr p, size_t n, CUmemLocation l, unsigned int flags, CUstream h), p, n, l, flags, h)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : prefetch(p, n, id_of(l), h, per_thread);
}

EXPORT cuMemRangeGetAttribute(void *out, size_t size, CUmem_range_attribute which, CUdeviceptr p,
			      size_t n)
{
	CUresult r = CUDA_SUCCESS;
	struct mem_block *b;
	uint32_t k, at = 0;

	if (!out || !n || size < 4 || size % 4)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	b = managed(p, n);
	switch (b ? (int)which : 0) {
	case 1: *(int *)out = b->read_mostly; break;
	case 2: *(int *)out = b->preferred; break;
	case 3:
		for (k = 0; k < n_gpus && at < size / 4; k++)
			if (b->accessed_by >> k & 1)
				((int *)out)[at++] = k;
		while (at < size / 4)
			((int *)out)[at++] = NOWHERE;
		break;
	case 4: *(int *)out = b->last_prefetch; break;
	default: r = CUDA_ERROR_INVALID_VALUE;
	}
	unlock();
	return r;
}

EXPORT cuMemRangeGetAttributes(void **out, size_t *sizes, CUmem_range_attribute *which, size_t n,
			       CUdeviceptr p, size_t count)
{
	CUresult r = out && sizes && which && n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	size_t k;

	for (k = 0; !r && k < n; k++)
		r = cuMemRangeGetAttribute(out[k], sizes[k], which[k], p, count);
	return r;
}

EXPORT cuPointerSetAttribute(const void *v, CUpointer_attribute which, CUdeviceptr p)
{
	struct mem_block *b;

	if (!v || (int)which != 6)	/* that copies to and from it wait */
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	b = mem_find(p);
	unlock();
	return b ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Managed memory for one stream or for all: everybody sees it at all times, here. */
TWO(cuStreamAttachMemAsync, _ptsz, (CUstream h, CUdeviceptr p, size_t n, unsigned int flags),
    h, p, n, flags)
{
	struct work w = { .kind = W_NOTHING };
	struct CUstream_st *s;
	CUresult r;

	(void)n;
	if (flags != 1 && flags != 2 && flags != 4)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r && !managed(p, 1))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = submit(s, &w, NULL);
	unlock();
	return r;
}
