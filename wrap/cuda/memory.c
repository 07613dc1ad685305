// SPDX-License-Identifier: MIT
/*
 * Device memory: charged before it is allocated, given back when it is freed, or
 * when its context goes. What the arbiter refuses is CUDA_ERROR_OUT_OF_MEMORY, and
 * the driver isn't asked. Where the settings say so (mem.full=wait) an allocation waits
 * until it may be had, and if the driver refuses it then, until others have given back
 * something. The figures that a program sees are those of its limit,
 * where that is tighter than the device.
 *
 * Charged is what was asked for: pitched memory with its pitch, arrays by their
 * format, mipmaps a third more. Managed memory counts whole, wherever it lies now.
 * What a driver's pool keeps beyond that and its contexts don't count, nor does host
 * memory, mapped or not. Memory of virtual addressing counts until it is released and
 * mapped nowhere any more; imported memory is its exporter's. What a graph allocates
 * when it is launched isn't counted.
 *
 * Variables of modules count by what modules say (globals.c), once they are loaded. The
 * arbiter isn't looked for for a few of them, as many programs load what they never use:
 * they are owed until the device's gate is opened, by the first launch or allocation, or
 * when more than OWED_MOST would be owed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rest.h"

#define BUCKETS	4096u

#define OWED_MOST	(1u << 20)	/* of one device's, together */

enum kind { LINEAR, ARRAY, MIPMAPS, ALLOCATION, MAPPING, VARIABLES };

/* One thing that is charged, or the mapping of one. */
struct entry {
	struct entry *next;
	enum kind kind;
	uint64_t handle;
	uint64_t bytes;
	struct gs_device *dev;
	uint64_t context;	/* its id; 0: no context's */
	uint32_t refs;		/* of an allocation: handles and mappings */
	uint64_t of;		/* a mapping's allocation; the device of variables that are owed */
	uint32_t turn;		/* owed, and being charged in this one; 0: not */
};

static struct entry *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry **bucket_of(enum kind kind, uint64_t handle)
{
	return &buckets[(handle + kind) * 0x9e3779b97f4a7c15ull >> 52];
}

static bool is_refusal(int err)
{
	return err == -ENOMEM || err == -ETIMEDOUT || err == -EINTR;
}

/* True: the arbiter lets us, or there is none. */
static bool charge(struct gs_device *dev, uint64_t bytes)
{
	return !dev || !dev->budget.share ||
	       gpushare_memory(dev->budget.share, GPUSHARE_MEM_CHARGE, bytes, NULL) != -ENOMEM;
}

static void uncharge(struct gs_device *dev, uint64_t bytes)
{
	if (dev && dev->budget.share && bytes)
		gpushare_memory(dev->budget.share, GPUSHARE_MEM_UNCHARGE, bytes, NULL);
}

/* As charge(), and it may wait: for what a program allocates. No lock is held. */
static bool may_have(struct gs_device *dev, uint64_t bytes)
{
	return !dev || !dev->budget.share || !bytes ||
	       !is_refusal(gpushare_memory_wait(dev->budget.share, 0, bytes, NULL));
}

/* The driver has no room. True: that may be over, and it is charged again; else it isn't. */
static bool may_try_again(struct gs_device *dev, uint64_t bytes)
{
	uncharge(dev, bytes);
	return dev && dev->budget.share && bytes &&
	       !gpushare_memory_wait(dev->budget.share, GPUSHARE_MEM_REFUSED, bytes, NULL);
}

/*
 * With @dev charged with @bytes: @r by @call. If it fails nothing is charged any more.
 */
#define TRY(r, dev, bytes, call) do {						\
	r = call;								\
	while (r == CUDA_ERROR_OUT_OF_MEMORY && may_try_again(dev, bytes))	\
		r = call;							\
	if (r && r != CUDA_ERROR_OUT_OF_MEMORY)					\
		uncharge(dev, bytes);						\
} while (0)

/* The lock is held. */
static void put(struct entry *e)
{
	struct entry **bucket = bucket_of(e->kind, e->handle);

	e->next = *bucket;
	*bucket = e;
}

static void enter(enum kind kind, uint64_t handle, uint64_t bytes, struct gs_device *dev,
		  uint64_t context, uint64_t of)
{
	struct entry *e = malloc(sizeof(*e));

	if (!e) {	/* then it isn't limited */
		uncharge(dev, bytes);
		return;
	}
	*e = (struct entry){ .kind = kind, .handle = handle, .bytes = bytes, .dev = dev,
			     .context = context, .refs = 1, .of = of };
	pthread_mutex_lock(&lock);
	put(e);
	pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static struct entry **find(enum kind kind, uint64_t handle)
{
	struct entry **at = bucket_of(kind, handle);

	for (; *at; at = &(*at)->next)
		if ((*at)->kind == kind && (*at)->handle == handle)
			return at;
	return NULL;
}

static void take_out(struct entry **at, struct entry **dead)
{
	struct entry *e = *at;

	*at = e->next;
	e->next = *dead;
	*dead = e;
}

/* Outside the lock: it takes a message to the arbiter. */
static void settle(struct entry *dead)
{
	struct entry *e;

	while ((e = dead)) {
		dead = e->next;
		uncharge(e->dev, e->bytes);
		free(e);
	}
}

/* One reference less; the last takes it out. False: there is none. The lock is held. */
static bool drop(enum kind kind, uint64_t handle, struct entry **dead)
{
	struct entry **at = find(kind, handle);

	if (at && !--(*at)->refs)
		take_out(at, dead);
	return at;
}

/* And one more: @taken, or that which still has others. The lock is held. */
static void hold(enum kind kind, uint64_t handle, struct entry *taken)
{
	struct entry **at = taken ? &taken : find(kind, handle);

	if (at)
		(*at)->refs++;
	if (taken)
		put(taken);
}

/*
 * Frees by @call. The record goes before, as the driver may give the same handle to another
 * thread at once, and comes back if nothing was freed.
 */
#define FREE(kind, of, call) do {						\
	uint64_t handle = (uint64_t)(of);					\
	struct entry *taken = NULL;						\
	bool known;								\
	CUresult r;								\
										\
	pthread_mutex_lock(&lock);						\
	known = drop(kind, handle, &taken);					\
	pthread_mutex_unlock(&lock);						\
	r = call;								\
	if (!r) {								\
		settle(taken);							\
	} else if (known) {							\
		pthread_mutex_lock(&lock);					\
		hold(kind, handle, taken);					\
		pthread_mutex_unlock(&lock);					\
	}									\
	return r;								\
} while (0)

void gs_memory_gone(uint64_t context)
{
	struct entry **at, *dead = NULL;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (at = &buckets[i]; *at;)
			if ((*at)->context == context)
				take_out(at, &dead);
			else
				at = &(*at)->next;
	pthread_mutex_unlock(&lock);
	settle(dead);
}

void gs_memory_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(buckets, 0, sizeof(buckets));
}

/* The lock is held. What is owed for the device; with a @turn it is charged in that one. */
static uint64_t owed(CUdevice ordinal, uint32_t turn)
{
	uint64_t sum = 0;
	struct entry *e;
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		for (e = buckets[i]; e; e = e->next)
			if (e->kind == VARIABLES && !e->dev && !e->turn &&
			    e->of == (uint64_t)ordinal) {
				e->turn = turn;
				sum += e->bytes;
			}
	return sum;
}

/* The lock is held. They are there, and count nothing if they were refused. Returns the sum. */
static uint64_t was_charged(struct gs_device *dev, uint32_t turn, bool granted)
{
	uint64_t sum = 0;
	struct entry *e;
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		for (e = buckets[i]; e; e = e->next)
			if (e->turn == turn) {
				e->turn = 0;
				e->dev = dev;
				e->bytes = granted ? e->bytes : 0;
				sum += e->bytes;
			}
	return sum;
}

/* All in one message, without the lock; what is unloaded meanwhile is given back after it. */
void gs_memory_owed(struct gs_device *dev)
{
	static uint32_t turns;
	uint64_t sum, left;
	uint32_t turn;
	bool granted;

	pthread_mutex_lock(&lock);
	turns += turns == UINT32_MAX ? 2 : 1;
	turn = turns;
	sum = owed(dev->ordinal, turn);
	pthread_mutex_unlock(&lock);
	if (!sum)
		return;
	granted = charge(dev, sum);
	pthread_mutex_lock(&lock);
	left = was_charged(dev, turn, granted);
	pthread_mutex_unlock(&lock);
	if (granted)
		uncharge(dev, sum - left);
}

/* Until its gate is open a device has no handle. */
static struct gs_device *open_device(CUdevice ordinal)
{
	return __atomic_load_n(&gs_devices[ordinal], __ATOMIC_ACQUIRE);
}

/* False: that would be too much. */
static bool owe(struct entry *e, CUdevice ordinal)
{
	bool few;

	pthread_mutex_lock(&lock);
	few = e->bytes <= OWED_MOST && owed(ordinal, 0) <= OWED_MOST - e->bytes;
	if (few)
		put(e);
	pthread_mutex_unlock(&lock);
	if (few && open_device(ordinal))
		gs_memory_owed(open_device(ordinal));	/* opened in this moment */
	return few;
}

bool gs_memory_variables(const void *module, uint64_t context, CUdevice ordinal, uint64_t bytes)
{
	struct entry *e;

	if (!bytes || ordinal < 0 || ordinal >= (CUdevice)GS_DEVICES)
		return true;
	e = malloc(sizeof(*e));
	if (!e)		/* then it isn't limited */
		return true;
	*e = (struct entry){ .kind = VARIABLES, .handle = (uint64_t)(uintptr_t)module,
			     .bytes = bytes, .context = context, .refs = 1,
			     .of = (uint64_t)ordinal };
	if (!open_device(ordinal) && owe(e, ordinal))
		return true;
	e->dev = gs_device_of(ordinal);
	if (!charge(e->dev, bytes)) {
		free(e);
		return false;
	}
	pthread_mutex_lock(&lock);
	put(e);
	pthread_mutex_unlock(&lock);
	return true;
}

struct entry *gs_memory_variables_take(const void *module)
{
	struct entry **at, *taken = NULL;

	pthread_mutex_lock(&lock);
	at = find(VARIABLES, (uint64_t)(uintptr_t)module);
	if (at)
		take_out(at, &taken);
	pthread_mutex_unlock(&lock);
	return taken;
}

void gs_memory_variables_end(struct entry *taken, bool gone)
{
	CUdevice ordinal;

	if (!taken || gone) {
		settle(taken);
		return;
	}
	ordinal = (CUdevice)taken->of;
	pthread_mutex_lock(&lock);
	taken->turn = 0;	/* who was charging it has given it back */
	put(taken);
	pthread_mutex_unlock(&lock);
	if (open_device(ordinal))
		gs_memory_owed(open_device(ordinal));
}

static uint64_t present(void)
{
	struct gs_context *c = gs_context_known();	/* from now on, for its end */

	return c ? c->id : 0;
}

/* Charges @bytes, allocates by @call, and enters what came into @out. */
#define ALLOCATE(kind, out, bytes_wanted, call) do {				\
	struct gs_device *dev = gs_device_current();				\
	uint64_t bytes = bytes_wanted;						\
	CUresult r;								\
										\
	if (!may_have(dev, bytes))						\
		return CUDA_ERROR_OUT_OF_MEMORY;				\
	TRY(r, dev, bytes, call);						\
	if (!r && !(out))							\
		uncharge(dev, bytes);						\
	else if (!r)								\
		enter(kind, (uint64_t)(uintptr_t)*(out), bytes, dev, present(), 0); \
	return r;								\
} while (0)

HOOK(cuMemAlloc_v2, CUdeviceptr *ptr, size_t size)
{
	ALLOCATE(LINEAR, ptr, size, REAL(cuMemAlloc_v2)(ptr, size));
}

/* Of the oldest forms addresses and sizes have 32 bits. */
HOOK(cuMemAlloc, uint32_t *ptr, unsigned int size)
{
	ALLOCATE(LINEAR, ptr, size, REAL(cuMemAlloc)(ptr, size));
}

HOOK(cuMemAllocManaged, CUdeviceptr *ptr, size_t size, unsigned int flags)
{
	ALLOCATE(LINEAR, ptr, size, REAL(cuMemAllocManaged)(ptr, size, flags));
}

/* The pitch is only known afterwards: the rest is charged then. */
#define ALLOCATE_PITCHED(suffix)							\
	struct gs_device *dev = gs_device_current();				\
	uint64_t bytes = (uint64_t)width * height, all;				\
	CUresult r;								\
										\
	if (!may_have(dev, bytes))						\
		return CUDA_ERROR_OUT_OF_MEMORY;				\
	TRY(r, dev, bytes, REAL(cuMemAllocPitch##suffix)(ptr, pitch, width, height, element)); \
	if (r)									\
		return r;							\
	all = (uint64_t)*pitch * height;					\
	if (all > bytes && !may_have(dev, all - bytes)) {			\
		REAL(cuMemFree##suffix)(*ptr);					\
		uncharge(dev, bytes);						\
		return CUDA_ERROR_OUT_OF_MEMORY;				\
	}									\
	enter(LINEAR, *ptr, all > bytes ? all : bytes, dev, present(), 0);	\
	return r

HOOK(cuMemAllocPitch_v2, CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
     unsigned int element)
{
	ALLOCATE_PITCHED(_v2);
}

HOOK(cuMemAllocPitch, uint32_t *ptr, unsigned int *pitch, unsigned int width,
     unsigned int height, unsigned int element)
{
	ALLOCATE_PITCHED();
}

/* In a capture allocating and freeing become parts of a graph, which do it each time. */
HOOK(cuMemAllocAsync, CUdeviceptr *ptr, size_t size, CUstream stream)
{
	gs_settle_stream(stream, false);
	if (gs_is_captured(stream, false))
		return REAL(cuMemAllocAsync)(ptr, size, stream);
	ALLOCATE(LINEAR, ptr, size, REAL(cuMemAllocAsync)(ptr, size, stream));
}

HOOK(cuMemAllocAsync_ptsz, CUdeviceptr *ptr, size_t size, CUstream stream)
{
	gs_settle_stream(stream, true);
	if (gs_is_captured(stream, true))
		return REAL(cuMemAllocAsync_ptsz)(ptr, size, stream);
	ALLOCATE(LINEAR, ptr, size, REAL(cuMemAllocAsync_ptsz)(ptr, size, stream));
}

HOOK(cuMemAllocFromPoolAsync, CUdeviceptr *ptr, size_t size, CUmemoryPool pool, CUstream stream)
{
	gs_settle_stream(stream, false);
	if (gs_is_captured(stream, false))
		return REAL(cuMemAllocFromPoolAsync)(ptr, size, pool, stream);
	ALLOCATE(LINEAR, ptr, size, REAL(cuMemAllocFromPoolAsync)(ptr, size, pool, stream));
}

HOOK(cuMemAllocFromPoolAsync_ptsz, CUdeviceptr *ptr, size_t size, CUmemoryPool pool,
     CUstream stream)
{
	gs_settle_stream(stream, true);
	if (gs_is_captured(stream, true))
		return REAL(cuMemAllocFromPoolAsync_ptsz)(ptr, size, pool, stream);
	ALLOCATE(LINEAR, ptr, size, REAL(cuMemAllocFromPoolAsync_ptsz)(ptr, size, pool, stream));
}

HOOK(cuMemFree_v2, CUdeviceptr ptr)
{
	gs_settle_all();
	FREE(LINEAR, ptr, REAL(cuMemFree_v2)(ptr));
}

HOOK(cuMemFree, uint32_t ptr)
{
	gs_settle_all();
	FREE(LINEAR, ptr, REAL(cuMemFree)(ptr));
}

HOOK(cuMemFreeAsync, CUdeviceptr ptr, CUstream stream)
{
	gs_settle_stream(stream, false);
	if (gs_is_captured(stream, false))
		return REAL(cuMemFreeAsync)(ptr, stream);
	FREE(LINEAR, ptr, REAL(cuMemFreeAsync)(ptr, stream));
}

HOOK(cuMemFreeAsync_ptsz, CUdeviceptr ptr, CUstream stream)
{
	gs_settle_stream(stream, true);
	if (gs_is_captured(stream, true))
		return REAL(cuMemFreeAsync_ptsz)(ptr, stream);
	FREE(LINEAR, ptr, REAL(cuMemFreeAsync_ptsz)(ptr, stream));
}

/* Bytes of one element of a channel; the formats that pack blocks come close to one. */
static uint64_t format_bytes(int format)
{
	switch (format) {
	case 0x01:	/* 8 bits */
	case 0x08:
		return 1;
	case 0x02:	/* 16 bits */
	case 0x09:
	case 0x10:
		return 2;
	case 0x03:	/* 32 bits */
	case 0x0a:
	case 0x20:
		return 4;
	default:
		return 1;
	}
}

static uint64_t array_bytes(size_t width, size_t height, size_t depth, int format,
			    unsigned int channels)
{
	return (uint64_t)width * (height ? height : 1) * (depth ? depth : 1) *
	       (channels ? channels : 1) * format_bytes(format);
}

static uint64_t array3d_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d ? array_bytes(d->Width, d->Height, d->Depth, d->Format, d->NumChannels) : 0;
}

HOOK(cuArrayCreate_v2, CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	ALLOCATE(ARRAY, array,
		 d ? array_bytes(d->Width, d->Height, 1, d->Format, d->NumChannels) : 0,
		 REAL(cuArrayCreate_v2)(array, d));
}

HOOK(cuArray3DCreate_v2, CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	ALLOCATE(ARRAY, array, array3d_bytes(d), REAL(cuArray3DCreate_v2)(array, d));
}

HOOK(cuArrayCreate, CUarray *array, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
	ALLOCATE(ARRAY, array,
		 d ? array_bytes(d->Width, d->Height, 1, d->Format, d->NumChannels) : 0,
		 REAL(cuArrayCreate)(array, d));
}

HOOK(cuArray3DCreate, CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
	ALLOCATE(ARRAY, array,
		 d ? array_bytes(d->Width, d->Height, d->Depth, d->Format, d->NumChannels) : 0,
		 REAL(cuArray3DCreate)(array, d));
}

HOOK(cuMipmappedArrayCreate, CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d,
     unsigned int levels)
{
	ALLOCATE(MIPMAPS, array, array3d_bytes(d) + (levels > 1 ? array3d_bytes(d) / 3 : 0),
		 REAL(cuMipmappedArrayCreate)(array, d, levels));
}

HOOK(cuArrayDestroy, CUarray array)
{
	gs_settle_all();
	FREE(ARRAY, (uintptr_t)array, REAL(cuArrayDestroy)(array));
}

HOOK(cuMipmappedArrayDestroy, CUmipmappedArray array)
{
	gs_settle_all();
	FREE(MIPMAPS, (uintptr_t)array, REAL(cuMipmappedArrayDestroy)(array));
}

HOOK(cuMemCreate, CUmemGenericAllocationHandle *handle, size_t size,
     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct gs_device *dev = prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ?
				gs_device_of(prop->location.id) : NULL;
	CUresult r;

	if (!may_have(dev, size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	TRY(r, dev, size, REAL(cuMemCreate)(handle, size, prop, flags));
	if (!r)
		enter(ALLOCATION, *handle, size, dev, 0, 0);
	return r;
}

static void hold_allocation(uint64_t handle)
{
	pthread_mutex_lock(&lock);
	hold(ALLOCATION, handle, NULL);
	pthread_mutex_unlock(&lock);
}

HOOK(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *handle, void *addr)
{
	CUresult r = REAL(cuMemRetainAllocationHandle)(handle, addr);

	if (!r)
		hold_allocation(*handle);
	return r;
}

HOOK(cuMemRelease, CUmemGenericAllocationHandle allocation)
{
	gs_settle_all();
	FREE(ALLOCATION, allocation, REAL(cuMemRelease)(allocation));
}

HOOK(cuMemMap, CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
     unsigned long long flags)
{
	CUresult r = REAL(cuMemMap)(ptr, size, offset, handle, flags);

	if (!r) {
		hold_allocation(handle);
		enter(MAPPING, ptr, 0, NULL, 0, handle);
	}
	return r;
}

/* It may take several mappings away at once; as FREE() does it. */
HOOK(cuMemUnmap, CUdeviceptr ptr, size_t size)
{
	struct entry **at, *mappings = NULL, *allocations = NULL, *e;
	CUresult r;
	size_t i;

	gs_settle_all();
	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (at = &buckets[i]; *at;)
			if ((*at)->kind == MAPPING && (*at)->handle - ptr < size)
				take_out(at, &mappings);
			else
				at = &(*at)->next;
	for (e = mappings; e; e = e->next)
		drop(ALLOCATION, e->of, &allocations);
	pthread_mutex_unlock(&lock);
	r = REAL(cuMemUnmap)(ptr, size);
	pthread_mutex_lock(&lock);
	while (r && (e = allocations)) {
		allocations = e->next;
		put(e);
	}
	while (r && (e = mappings)) {
		mappings = e->next;
		hold(ALLOCATION, e->of, NULL);
		put(e);
	}
	pthread_mutex_unlock(&lock);
	settle(mappings);
	settle(allocations);
	return r;
}

/* The limit, and what is left of it: as they are if nobody limits. */
static void clip(struct gs_device *dev, size_t *left, size_t *total)
{
	struct gpushare_memory m = { 0 };

	if (!dev || !dev->budget.share ||
	    gpushare_memory(dev->budget.share, GPUSHARE_MEM_UNCHARGE, 0, &m))
		return;
	if (total && m.total_bytes && *total > m.total_bytes)
		*total = (size_t)m.total_bytes;
	if (left && m.total_bytes && *left > m.available_bytes)
		*left = (size_t)m.available_bytes;
}

HOOK(cuMemGetInfo_v2, size_t *left, size_t *total)
{
	CUresult r = REAL(cuMemGetInfo_v2)(left, total);

	if (!r)
		clip(gs_device_current(), left, total);
	return r;
}

HOOK(cuDeviceTotalMem_v2, size_t *total, CUdevice dev)
{
	CUresult r = REAL(cuDeviceTotalMem_v2)(total, dev);

	if (!r)
		clip(gs_device_of(dev), NULL, total);
	return r;
}

/* The oldest forms can't say more than 32 bits hold. */
static void clip_old(struct gs_device *dev, unsigned int *left, unsigned int *total)
{
	size_t l = left ? *left : 0, t = total ? *total : 0;

	clip(dev, left ? &l : NULL, total ? &t : NULL);
	if (left)
		*left = (unsigned int)l;
	if (total)
		*total = (unsigned int)t;
}

HOOK(cuMemGetInfo, unsigned int *left, unsigned int *total)
{
	CUresult r = REAL(cuMemGetInfo)(left, total);

	if (!r)
		clip_old(gs_device_current(), left, total);
	return r;
}

HOOK(cuDeviceTotalMem, unsigned int *total, CUdevice dev)
{
	CUresult r = REAL(cuDeviceTotalMem)(total, dev);

	if (!r)
		clip_old(gs_device_of(dev), NULL, total);
	return r;
}
