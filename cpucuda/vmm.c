// SPDX-License-Identifier: MIT
/*
 * Virtual memory by the program's own hand: ranges of addresses, backing (a file of
 * pages that counts as the device's memory), and mappings of the one to the other.
 * A kernel reaches a mapping once its device was given access to it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "driver.h"

#define GRANULE ((size_t)2 << 20)

struct range {
	uint64_t addr;
	size_t size;
	struct range *next;
};

/* What cuMemCreate makes; the program's handle is its address. */
struct backing {
	uint32_t magic;
	uint32_t refs;		/* handles and mappings */
	uint32_t handles;
	int fd;
	size_t size;
	bool charged;		/* it is this process that pays for it */
	CUmemAllocationProp prop;
	struct backing *next;
};

static struct range *ranges;
static struct backing *backings;

static struct backing *find(CUmemGenericAllocationHandle h)
{
	struct backing *b;

	for (b = backings; b; b = b->next)
		if ((uintptr_t)b == h && b->handles)
			return b;
	return NULL;
}

static void backing_put(struct backing *b)
{
	struct backing **p;

	if (--b->refs)
		return;
	for (p = &backings; *p != b; p = &(*p)->next)
		;
	*p = b->next;
	if (b->charged)
		mem_uncharge(b->prop.location.id, b->size);
	close(b->fd);
	free(b);
}

EXPORT cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *prop,
				     CUmemAllocationGranularity_flags which)
{
	if (!size || !prop || (unsigned int)which > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*size = GRANULE;
	return CUDA_SUCCESS;
}

/* The lowest place of the window where nothing is reserved; the list goes upwards. */
static CUresult reserve(CUdeviceptr *out, size_t size, size_t align, uint64_t hint)
{
	struct range **p, *r = calloc(1, sizeof(*r));
	uint64_t base, at;
	size_t window;

	if (!r || !mem_window(&base, &window)) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	align = align < GRANULE ? GRANULE : align;
	at = hint >= base && hint % align == 0 ? hint : (base + align - 1) & ~(align - 1);
	for (p = &ranges; *p; p = &(*p)->next) {
		if ((*p)->addr + (*p)->size <= at)
			continue;
		if ((*p)->addr >= at + size)
			break;
		at = ((*p)->addr + (*p)->size + align - 1) & ~(align - 1);
	}
	if (size > window || at + size > base + window) {
		free(r);
		return hint ? reserve(out, size, align, 0) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->addr = at;
	r->size = size;
	r->next = *p;
	*p = r;
	*out = at;
	return CUDA_SUCCESS;
}

EXPORT cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
			   unsigned long long flags)
{
	CUresult r;

	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !size || size % GRANULE || flags || align & (align - 1))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = reserve(out, size, align, hint);
	unlock();
	return r;
}

/* Whether a mapping lies, at least in part, in these addresses. */
static bool mapped(uint64_t addr, size_t size)
{
	uint64_t at;

	for (at = addr; at < addr + size; at += GRANULE)
		if (mem_find(at))
			return true;
	return false;
}

EXPORT cuMemAddressFree(CUdeviceptr addr, size_t size)
{
	struct range **p, *r;
	CUresult err = CUDA_ERROR_INVALID_VALUE;

	lock();
	for (p = &ranges; (r = *p); p = &r->next) {
		if (r->addr != addr || r->size != size || mapped(addr, size))
			continue;
		*p = r->next;
		free(r);
		err = CUDA_SUCCESS;
		break;
	}
	unlock();
	return err;
}

static bool prop_ok(const CUmemAllocationProp *p)
{
	return p->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
		p->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !device_ok(p->location.id) &&
		((int)p->requestedHandleTypes & ~1) == 0;
}

static struct backing *backing_new(const CUmemAllocationProp *prop, size_t size, int fd)
{
	struct backing *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->magic = MAGIC_BACKING;
	b->refs = b->handles = 1;
	b->fd = fd;
	b->size = size;
	b->prop = *prop;
	b->next = backings;
	backings = b;
	return b;
}

EXPORT cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *prop,
		   unsigned long long flags)
{
	struct backing *b = NULL;
	uint32_t d;
	int fd;

	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !prop || !size || size % GRANULE || flags || !prop_ok(prop))
		return CUDA_ERROR_INVALID_VALUE;
	d = prop->location.id;
	lock();
	if (mem_charge(d, size) || (pools_trim(d) && mem_charge(d, size))) {
		fd = memfd_create("cpucuda", MFD_CLOEXEC);
		if (fd >= 0 && !ftruncate(fd, size))
			b = backing_new(prop, size, fd);
		if (b)
			b->charged = true;
		else
			mem_uncharge(d, size);
		if (!b && fd >= 0)
			close(fd);
	}
	unlock();
	*out = (uintptr_t)b;
	return b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuMemRelease(CUmemGenericAllocationHandle h)
{
	struct backing *b;

	lock();
	b = find(h);
	if (b) {
		b->handles--;
		backing_put(b);
	}
	unlock();
	return b ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool reserved(uint64_t addr, size_t size)
{
	struct range *r;

	for (r = ranges; r; r = r->next)
		if (addr >= r->addr && size <= r->size && addr - r->addr <= r->size - size)
			return true;
	return false;
}

EXPORT cuMemMap(CUdeviceptr addr, size_t size, size_t offset, CUmemGenericAllocationHandle h,
		unsigned long long flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct mem_block *m;
	struct backing *b;

	if (!size || size % GRANULE || addr % GRANULE || offset % GRANULE || flags)
		return r;
	lock();
	b = find(h);
	if (b && offset <= b->size && size <= b->size - offset && reserved(addr, size) &&
	    !mapped(addr, size)) {
		m = mem_map(b->prop.location.id, addr, size, b->fd, offset, b);
		b->refs += !!m;
		r = m ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	unlock();
	return r;
}

/* Whether whole mappings fill these addresses. */
static bool whole(uint64_t addr, size_t size)
{
	struct mem_block *m;
	uint64_t at;

	for (at = addr; at < addr + size; at = m->addr + m->size) {
		m = mem_find(at);
		if (!m || m->kind != MEM_MAPPED || m->addr != at || m->size > addr + size - at)
			return false;
	}
	return size;
}

/* Nothing is waited for: a kernel that still goes there faults. */
EXPORT cuMemUnmap(CUdeviceptr addr, size_t size)
{
	struct mem_block *m;
	struct backing *b;
	uint64_t at;
	bool ok;

	lock();
	ok = whole(addr, size);
	for (at = addr; ok && at < addr + size; ) {
		m = mem_find(at);
		at += m->size;
		b = m->owner;
		mem_unmap(m);
		backing_put(b);
	}
	unlock();
	if (ok)
		was_freed(addr);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	struct mem_block *m;
	uint64_t at;
	uint32_t bit;
	size_t k;
	bool ok;

	if (!desc || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (k = 0; k < n; k++)
		if (desc[k].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    device_ok(desc[k].location.id) || ((int)desc[k].flags != 0 &&
		    (int)desc[k].flags != 1 && (int)desc[k].flags != 3))
			return CUDA_ERROR_INVALID_VALUE;
	lock();
	ok = whole(addr, size);
	for (at = addr; ok && at < addr + size; at = m->addr + m->size) {
		m = mem_find(at);
		for (k = 0; k < n; k++) {
			bit = 1u << desc[k].location.id;
			m->seen_by = desc[k].flags ? m->seen_by | bit : m->seen_by & ~bit;
			m->read_only = desc[k].flags == 1 ? m->read_only | bit :
				m->read_only & ~bit;
		}
	}
	unlock();
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuMemGetAccess(unsigned long long *flags, const CUmemLocation *loc, CUdeviceptr addr)
{
	struct mem_block *m;

	if (!flags || !loc || loc->type != CU_MEM_LOCATION_TYPE_DEVICE || device_ok(loc->id))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	m = mem_find(addr);
	if (m && m->kind == MEM_MAPPED)
		*flags = !(m->seen_by >> loc->id & 1) ? 0 : m->read_only >> loc->id & 1 ? 1 : 3;
	unlock();
	return m && m->kind == MEM_MAPPED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
					      CUmemGenericAllocationHandle h)
{
	struct backing *b;

	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	b = find(h);
	if (b)
		*prop = b->prop;
	unlock();
	return b ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
	struct mem_block *m;
	struct backing *b;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	m = mem_find((uintptr_t)addr);
	m = m && m->kind == MEM_MAPPED ? m : NULL;
	if (m) {
		b = m->owner;
		b->refs++;
		b->handles++;
		*out = (uintptr_t)b;
	}
	unlock();
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* As a file descriptor, which another process may import. */
EXPORT cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle h,
				    CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct backing *b;

	lock();
	b = find(h);
	if (out && !flags && b && (int)type == 1 && (int)b->prop.requestedHandleTypes == 1) {
		*(int *)out = dup(b->fd);
		r = *(int *)out < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
	}
	unlock();
	return r;
}

EXPORT cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
				      CUmemAllocationHandleType type)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };
	struct backing *b = NULL;
	struct stat st;
	int fd = dup((int)(intptr_t)handle);

	if (!out || (int)type != 1 || fd < 0 || fstat(fd, &st) || st.st_size % GRANULE) {
		if (fd >= 0)
			close(fd);
		return CUDA_ERROR_INVALID_VALUE;
	}
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.requestedHandleTypes = type;
	lock();
	b = backing_new(&prop, st.st_size, fd);
	unlock();
	*out = (uintptr_t)b;
	return b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
