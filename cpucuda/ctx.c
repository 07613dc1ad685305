// SPDX-License-Identifier: MIT
/* The driver's beginning, its device, and contexts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cpucuda.h"
#include "driver.h"

bool driver_ready;
static pthread_mutex_t dev_lock;
static bool forked;

struct gpu gpus[MEM_DEVICES];
uint32_t n_gpus;
static struct CUctx_st *contexts;
static __thread struct CUctx_st *stack[64];
static __thread unsigned int depth;
static uint64_t ids;

/*
 * The device holds the lock most of the time: callers are let in between, in turn, as a
 * lock that inherits priority is handed to who waits for it. And a caller that isn't
 * given a processor doesn't stop the device, which lends it its own.
 */
static void __attribute__((constructor)) lock_init(void)
{
	pthread_mutexattr_t inherit;

	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&dev_lock, &inherit);
	pthread_mutexattr_destroy(&inherit);
}

void lock(void)
{
	pthread_mutex_lock(&dev_lock);
}

void unlock(void)
{
	pthread_mutex_unlock(&dev_lock);
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *v = getenv(name);

	return v && *v ? strtoull(v, NULL, 0) : otherwise;
}

/* As CUDA has it: of what its parent had begun a child has nothing, and can't begin anew. */
static void in_child(void)
{
	lock_init();
	driver_ready = false;
	forked = true;
}

/* The newest PTX of a toolkit: that of 12.4 is 8.4, but 12.6 brought none, and 13.0 is 9.0. */
static uint32_t ptx_of(uint64_t version)
{
	uint64_t major = version / 1000, minor = version % 1000 / 10;

	return (uint32_t)((major - 4) * 100 + minor - (major == 12 && minor > 5));
}

EXPORT cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	lock();
	if (!driver_ready) {
		pthread_atfork(NULL, NULL, in_child);
		dev.seed = from_env("CPUCUDA_SEED", 1);
		dev.cc = from_env("CPUCUDA_CC", 90);
		dev.ptx = ptx_of(from_env("CPUCUDA_VERSION", 13000));
		dev.mode = from_env("CPUCUDA_COMPUTE_MODE", 0);
		dev.sms = from_env("CPUCUDA_SMS", 4);
		dev.sms = dev.sms < 1 ? 1 : dev.sms > 64 ? 64 : dev.sms;
		dev.limit = from_env("CPUCUDA_LIMIT", 2000000000);
		dev.shuffle_blocks = from_env("CPUCUDA_SHUFFLE", 0);
		n_gpus = from_env("CPUCUDA_DEVICES", 1);
		n_gpus = n_gpus < 1 ? 1 : n_gpus > MEM_DEVICES ? MEM_DEVICES : n_gpus;
		mem_set_total(from_env("CPUCUDA_MEMORY", (size_t)4 << 30));
		driver_ready = !device_start((int)from_env("CPUCUDA_PROCESSOR", -1),
					     from_env("CPUCUDA_TURN_US", 0));
	}
	unlock();
	return driver_ready ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

EXPORT cuDriverGetVersion(int *v)
{
	if (!v)
		return CUDA_ERROR_INVALID_VALUE;
	/* Programs may ask before cuInit(). */
	*v = (int)from_env("CPUCUDA_VERSION", 13000);
	return CUDA_SUCCESS;
}

CUresult device_ok(CUdevice d)
{
	return !driver_ready ? CUDA_ERROR_NOT_INITIALIZED :
		d < 0 || (uint32_t)d >= n_gpus ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

EXPORT cuDeviceGet(CUdevice *d, int ordinal)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	if (device_ok(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*d = ordinal;
	return CUDA_SUCCESS;
}

EXPORT cuDeviceGetCount(int *n)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	*n = n_gpus;
	return CUDA_SUCCESS;
}

EXPORT cuDeviceGetName(char *name, int len, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!name || len < 1)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, len, "gpushare test device on the CPU");
	return CUDA_SUCCESS;
}

EXPORT cuDeviceGetUuid_v2(CUuuid *u, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!u)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(u->bytes, "gpushare-cpucuda", 16);
	u->bytes[15] += d;
	return CUDA_SUCCESS;
}

EXPORT cuDeviceGetUuid(CUuuid *u, CUdevice d)
{
	return cuDeviceGetUuid_v2(u, d);
}

EXPORT cuDeviceTotalMem_v2(size_t *bytes, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = mem_total();
	return CUDA_SUCCESS;
}

EXPORT cuDeviceComputeCapability(int *major, int *minor, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = dev.cc / 10;
	*minor = dev.cc % 10;
	return CUDA_SUCCESS;
}

EXPORT cuDeviceGetPCIBusId(char *id, int len, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!id || len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, len, "0000:%02x:00.0", d);
	return CUDA_SUCCESS;
}

EXPORT cuDeviceGetByPCIBusId(CUdevice *d, const char *id)
{
	unsigned int n;

	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!d || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "0000:%x:00.0", &n) != 1 || n >= n_gpus)
		return CUDA_ERROR_INVALID_DEVICE;
	*d = n;
	return CUDA_SUCCESS;
}

EXPORT cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b)
{
	if (device_ok(a) || device_ok(b))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	*can = a != b;
	return CUDA_SUCCESS;
}

EXPORT cuDeviceGetP2PAttribute(int *v, CUdevice_P2PAttribute which, CUdevice a, CUdevice b)
{
	if (device_ok(a) || device_ok(b) || a == b)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!v)
		return CUDA_ERROR_INVALID_VALUE;
	*v = which == 2 || which == 3;		/* access, atomics; no rank, no arrays */
	return CUDA_SUCCESS;
}

static CUresult peer(struct CUctx_st *other, bool on)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!IS(other, MAGIC_CTX) || other->dead || other->device == c->device)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((c->peers >> other->device & 1) == on)
		return on ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED :
			CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	lock();
	c->peers ^= 1u << other->device;
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuCtxEnablePeerAccess(CUcontext other, unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : peer(other, true);
}

EXPORT cuCtxDisablePeerAccess(CUcontext other)
{
	return peer(other, false);
}

/* By the numbers of CUdevice_attribute; what isn't here is 0, "can't". */
static int attribute(int a, CUdevice d)
{
	switch (a) {
	case 1: return 1024;				/* threads a block */
	case 2: case 3: return 1024;			/* block x, y */
	case 4: return 64;				/* block z */
	case 5: return 0x7fffffff;			/* grid x */
	case 6: case 7: return 65535;			/* grid y, z */
	case 8: return 48 << 10;			/* shared memory a block */
	case 9: return 64 << 10;			/* constant memory */
	case 10: return 32;				/* warp size */
	case 11: return 0x7fffffff;			/* pitch */
	case 12: case 82: return 65536;			/* registers a block, a multiprocessor */
	case 13: return 1000000;			/* kHz */
	case 14: return MEM_ALIGN;			/* texture alignment */
	case 15: case 16: return a == 15 ? 1 : (int)dev.sms;	/* overlap; multiprocessors */
	case 20: return (int)dev.mode;
	case 19: case 31: return 1;	/* can map host memory; concurrent kernels */
	case 21 ... 29: case 45: case 46: case 55 ... 65: case 69 ... 71:
		return 16384;				/* textures, surfaces: elements, layers */
	case 33: return d;				/* PCI bus */
	case 36: return 1000000;			/* memory clock, kHz */
	case 37: return 64;				/* bus width */
	case 38: return 1 << 20;			/* L2 */
	case 39: return dev.warps_per_sm * 32;		/* threads a multiprocessor */
	case 40: return 1;				/* copy engines */
	case 41: return 1;				/* unified addressing */
	case 75: return dev.cc / 10;
	case 76: return dev.cc % 10;
	case 78: return 1;				/* stream priorities */
	case 81: return dev.shared_per_sm;
	case 83: return 1;				/* managed memory */
	case 89: case 90: return 1;	/* concurrent managed; pageable access off */
	case 92: return 1;				/* 64-bit stream memory operations */
	case 95: return 1;				/* cooperative launch */
	case 97: return dev.shared_per_block;		/* opt-in */
	case 99: return 1;				/* host register */
	case 102: case 103: return 1;	/* memory is mapped by the program; exported as files */
	case 106: return dev.blocks_per_sm;
	case 111: return 1024;				/* reserved shared memory a block */
	case 115: return 1;				/* memory pools */
	case 119: return 0;				/* none of them is exported */
	case 120: return dev.cc >= 90;			/* cluster launch */
	default: return 0;
	}
}

EXPORT cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!v || (int)a < 1 || (int)a > 400)
		return CUDA_ERROR_INVALID_VALUE;
	*v = attribute(a, d);
	return CUDA_SUCCESS;
}

CUresult current(struct CUctx_st **c)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	*c = depth ? stack[depth - 1] : NULL;
	if (!*c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((*c)->dead)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return (*c)->error;
}

static struct CUctx_st *make(uint32_t device, uint32_t flags)
{
	struct CUctx_st *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->magic = MAGIC_CTX;
	c->flags = flags;
	c->device = device;
	c->id = ++ids;
	c->limit[0] = 1024;	/* stack */
	c->limit[1] = 1 << 20;	/* printf */
	c->limit[2] = 8 << 20;	/* heap */
	c->limit[5] = 128;
	c->legacy = stream_make(c, 0, 0);
	if (!c->legacy) {
		free(c);
		return NULL;
	}
	c->next = contexts;
	contexts = c;
	return c;
}

/* Waits, then everything of the context's goes; the handle stays, marked dead. */
static void destroy(struct CUctx_st *c)
{
	drain(c);
	modules_gone(c);
	mem_free_owner(c);
	while (c->streams)
		stream_free(c->streams);
	c->legacy = NULL;
	c->dead = true;
}

EXPORT cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	if (!out || depth == 64)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	*out = make(d, flags);
	unlock();
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = *out;
	return CUDA_SUCCESS;
}

#ifdef CPUCUDA_TOOLKIT
EXPORT cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *p, unsigned int flags, CUdevice d)
#else
EXPORT cuCtxCreate_v4(CUcontext *out, void *p, unsigned int flags, CUdevice d)
#endif
{
	return p ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(out, flags, d);
}

EXPORT cuCtxDestroy_v2(CUcontext c)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!IS(c, MAGIC_CTX) || c->dead)
		return CUDA_ERROR_INVALID_CONTEXT;
	lock();
	destroy(c);
	unlock();
	if (depth && stack[depth - 1] == c)
		depth--;
	return CUDA_SUCCESS;
}

EXPORT cuCtxSetCurrent(CUcontext c)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (c && (!IS(c, MAGIC_CTX) || c->dead))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!c)
		depth -= !!depth;
	else if (depth)
		stack[depth - 1] = c;
	else
		stack[depth++] = c;
	return CUDA_SUCCESS;
}

EXPORT cuCtxGetCurrent(CUcontext *c)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	*c = depth ? stack[depth - 1] : NULL;
	return CUDA_SUCCESS;
}

EXPORT cuCtxPushCurrent_v2(CUcontext c)
{
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!IS(c, MAGIC_CTX) || c->dead)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == 64)
		return CUDA_ERROR_INVALID_VALUE;
	stack[depth++] = c;
	return CUDA_SUCCESS;
}

EXPORT cuCtxPopCurrent_v2(CUcontext *c)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (c)
		*c = stack[depth];
	return CUDA_SUCCESS;
}

EXPORT cuCtxGetDevice(CUdevice *d)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (!r && !d)
		return CUDA_ERROR_INVALID_VALUE;
	if (!r)
		*d = c->device;
	return r;
}

EXPORT cuCtxGetDevice_v2(CUdevice *d, CUcontext c)
{
	if (!c)
		return cuCtxGetDevice(d);
	if (!IS(c, MAGIC_CTX) || !d)
		return CUDA_ERROR_INVALID_VALUE;
	*d = c->device;
	return CUDA_SUCCESS;
}

EXPORT cuCtxGetId(CUcontext c, unsigned long long *id)
{
	if (!c && current(&c))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!IS(c, MAGIC_CTX) || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = c->id;
	return CUDA_SUCCESS;
}

EXPORT cuCtxGetFlags(unsigned int *flags)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (!r)
		*flags = c->flags;
	return r;
}

EXPORT cuCtxSetFlags(unsigned int flags)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (!r)
		c->flags = flags;
	return r;
}

EXPORT cuCtxGetApiVersion(CUcontext c, unsigned int *v)
{
	if (!v || (c && !IS(c, MAGIC_CTX)))
		return CUDA_ERROR_INVALID_VALUE;
	*v = 3020;
	return CUDA_SUCCESS;
}

EXPORT cuCtxSynchronize(void)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	lock();
	drain(c);
	unlock();
	return c->error;
}

EXPORT cuCtxSynchronize_v2(CUcontext c)
{
	if (!c)
		return cuCtxSynchronize();
	if (!IS(c, MAGIC_CTX) || c->dead)
		return CUDA_ERROR_INVALID_CONTEXT;
	lock();
	drain(c);
	unlock();
	return c->error;
}

EXPORT cuCtxSetLimit(CUlimit l, size_t v)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if ((unsigned int)l >= 16)
		return CUDA_ERROR_INVALID_VALUE;
	c->limit[l] = v;
	return CUDA_SUCCESS;
}

EXPORT cuCtxGetLimit(size_t *v, CUlimit l)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (r)
		return r;
	if (!v || (unsigned int)l >= 16)
		return CUDA_ERROR_INVALID_VALUE;
	*v = c->limit[l];
	return CUDA_SUCCESS;
}

EXPORT cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct CUctx_st *c;
	CUresult r = current(&c);

	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return r;
}

EXPORT cuCtxSetCacheConfig(CUfunc_cache x)
{
	struct CUctx_st *c;

	(void)x;
	return current(&c);
}

EXPORT cuCtxGetCacheConfig(CUfunc_cache *x)
{
	struct CUctx_st *c;

	*x = 0;
	return current(&c);
}

EXPORT cuCtxResetPersistingL2Cache(void)
{
	struct CUctx_st *c;

	return current(&c);
}

EXPORT cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
	struct gpu *g = &gpus[d & (MEM_DEVICES - 1)];

	if (device_ok(d))
		return device_ok(d);
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	if (!g->primary || g->primary->dead) {
		g->primary = make(d, g->primary_flags);
		if (g->primary)
			g->primary->primary = true;
	}
	if (g->primary)
		g->primary->refs++;
	*c = g->primary;
	unlock();
	return *c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct CUctx_st *primary_of(CUdevice d)
{
	struct CUctx_st *c = gpus[d].primary;

	return c && !c->dead ? c : NULL;
}

EXPORT cuDevicePrimaryCtxReset_v2(CUdevice d)
{
	if (device_ok(d))
		return device_ok(d);
	lock();
	if (primary_of(d))
		destroy(primary_of(d));
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
	struct CUctx_st *c;

	if (device_ok(d))
		return device_ok(d);
	c = primary_of(d);
	if (!c || !c->refs)
		return CUDA_ERROR_INVALID_CONTEXT;
	lock();
	if (!--c->refs)
		destroy(c);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuDevicePrimaryCtxGetState(CUdevice d, unsigned int *flags, int *active)
{
	if (device_ok(d))
		return device_ok(d);
	if (flags)
		*flags = gpus[d].primary_flags;
	if (active)
		*active = primary_of(d) && primary_of(d)->refs;
	return CUDA_SUCCESS;
}

EXPORT cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned int flags)
{
	if (device_ok(d))
		return device_ok(d);
	gpus[d].primary_flags = flags;
	if (primary_of(d))
		primary_of(d)->flags = flags;
	return CUDA_SUCCESS;
}

static bool all_idle(void *arg)
{
	struct CUctx_st *c = arg;
	struct CUstream_st *s;

	for (s = c->streams; s; s = s->next)
		if (s->head)
			return false;
	return true;
}

void drain(struct CUctx_st *c)
{
	wait_for(all_idle, c, NULL);
}

/* Lets the device go on until it is so; the lock is held before and after. */
CUresult wait_for(bool (*done)(void *arg), void *arg, struct CUctx_st *c)
{
	while (driver_ready && !done(arg)) {
		device_kick();
		unlock();
		usleep(50);
		lock();
	}
	if (!driver_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	return c ? c->error : CUDA_SUCCESS;
}
