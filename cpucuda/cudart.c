// SPDX-License-Identifier: MIT
/*
 * A small double of CUDA's runtime library, for tests: programs that nvcc made
 * with -cudart shared run over whatever driver dlopen("libcuda.so.1") finds.
 * NVIDIA's own runtime looks closely at the driver below it and refuses others;
 * this one uses the driver's public interface alone, in the way that the real one
 * does: cuGetProcAddress, libraries, kernels as functions.
 *
 * Errors have the driver's numbers, as the runtime's have since 10.1.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cudart.h"

struct dim3 { unsigned int x, y, z; };

/* The driver's functions, found when the first call comes. */
#define DRIVER(X) \
	X(cuInit) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceTotalMem_v2) \
	X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxReset_v2) \
	X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxSynchronize_v2) X(cuDriverGetVersion) \
	X(cuLibraryLoadData) X(cuLibraryGetKernel) X(cuLibraryGetGlobal) X(cuLibraryUnload) \
	X(cuKernelGetFunction) X(cuFuncGetAttribute) X(cuFuncSetAttribute) \
	X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemAllocPitch_v2) X(cuMemHostAlloc) \
	X(cuMemFreeHost) X(cuMemAllocManaged) X(cuMemGetInfo_v2) X(cuMemHostRegister_v2) \
	X(cuMemHostUnregister) X(cuMemHostGetDevicePointer_v2) X(cuMemAllocAsync) \
	X(cuMemFreeAsync) X(cuMemcpy) X(cuMemcpyAsync) X(cuMemcpy2D_v2) X(cuMemcpy2DAsync_v2) \
	X(cuMemsetD8_v2) X(cuMemsetD8Async) X(cuMemsetD2D8_v2) \
	X(cuLaunchKernel) X(cuLaunchKernel_ptsz) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel) \
	X(cuLaunchHostFunc) X(cuStreamCreateWithPriority) X(cuStreamDestroy_v2) \
	X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent) X(cuEventCreate) \
	X(cuEventDestroy_v2) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize) \
	X(cuEventElapsedTime) X(cuStreamBeginCapture_v2) X(cuStreamEndCapture) \
	X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuGraphDestroy) X(cuGraphExecDestroy) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) X(cuGetErrorName) \
	X(cuGetErrorString)
static struct {
#define X(name) __typeof__(&name) name;
	DRIVER(X)
#undef X
} cu;

/* What a program registers before main(): a fat binary, its functions, its variables. */
struct binary { const void *wrapper; CUlibrary lib; struct binary *next; };
struct symbol {
	const void *host;
	const char *name;
	struct binary *bin;
	bool function;
	void **managed;		/* where the program looks for its address */
	CUkernel kernel;
	struct symbol *next;
};

static struct symbol *symbols;
static struct binary *binaries;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static void *driver;
static CUresult broken;
static CUcontext primary;
static __thread CUresult last;
static __thread struct { struct dim3 grid, block; size_t shared; CUstream s; } calls[8];
static __thread unsigned int depth;

static void *resolve(void *h, const char *name)
{
	CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
	char base[80], *end;
	cuuint64_t flags = 0;
	void *fn = NULL;

	get = (__typeof__(get))dlsym(h, "cuGetProcAddress_v2");
	snprintf(base, sizeof(base), "%s", name);
	end = strstr(base, "_ptsz");
	if (end) {
		*end = 0;
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	}
	end = strrchr(base, '_');
	if (end && end[1] == 'v')
		*end = 0;
	return get && !get(base, &fn, 13000, flags, NULL) ? fn : NULL;
}

static void begin(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	broken = CUDA_ERROR_NOT_INITIALIZED;
	if (!driver)
		return;
#define X(name) cu.name = resolve(driver, #name); if (!cu.name) return;
	DRIVER(X)
#undef X
	broken = cu.cuInit(0);
	if (!broken)
		broken = cu.cuDevicePrimaryCtxRetain(&primary, 0);
}

void *rt_driver(const char *name)
{
	return resolve(driver, name);
}

CUresult rt_ready(void)
{
	CUcontext c;

	pthread_once(&once, begin);
	if (broken)
		return broken;
	cu.cuCtxGetCurrent(&c);
	return c ? CUDA_SUCCESS : cu.cuCtxSetCurrent(primary);
}

CUresult rt_keep(CUresult r)
{
	if (r && r != CUDA_ERROR_NOT_READY)
		last = r;
	return r;
}

API void **__cudaRegisterFatBinary(void *wrapper);
void **__cudaRegisterFatBinary(void *wrapper)
{
	struct binary *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->wrapper = wrapper;
	b->next = binaries;
	binaries = b;
	return (void **)b;
}

API void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

API void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
	struct binary *b = (struct binary *)handle;

	if (b && b->lib)
		cu.cuLibraryUnload(b->lib);
	if (b)
		b->lib = NULL;
}

static void add(void **handle, const void *host, const char *name, bool function)
{
	struct symbol *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->host = host;
	s->name = name;
	s->bin = (struct binary *)handle;
	s->function = function;
	s->next = symbols;
	symbols = s;
}

API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
				  int ext, size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t size, int constant, int global)
{
	(void)device, (void)ext, (void)size, (void)constant, (void)global;
	add(handle, host, name, false);
	if (symbols && symbols->host == host)
		symbols->managed = host;
}

API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
				int limit, void *tid, void *bid, void *bdim, void *gdim,
				int *wsize);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, void *tid, void *bid, void *bdim, void *gdim, int *wsize)
{
	(void)device, (void)limit, (void)tid, (void)bid, (void)bdim, (void)gdim, (void)wsize;
	add(handle, host, name, true);
}

API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
			   size_t size, int constant, int global);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global)
{
	(void)device, (void)ext, (void)size, (void)constant, (void)global;
	add(handle, host, name, false);
}

static struct symbol *symbol(const void *host, bool function)
{
	struct symbol *s;

	for (s = symbols; s; s = s->next)
		if (s->host == host && s->function == function)
			return s;
	return NULL;
}

/* A fat binary is loaded when something of it is first used. */
static CUresult load(struct binary *b)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&loading);
	if (!b->lib)
		r = cu.cuLibraryLoadData(&b->lib, b->wrapper, NULL, NULL, 0, NULL, NULL, 0);
	pthread_mutex_unlock(&loading);
	return r;
}

/* Called before the program looks at a managed variable. */
API char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle)
{
	CUdeviceptr p;
	struct symbol *s;
	size_t size;

	for (s = symbols; s; s = s->next) {
		if (s->bin != (struct binary *)handle || !s->managed)
			continue;
		if (rt_keep(rt_ready() ?: load(s->bin)) ||
		    rt_keep(CALL(cuLibraryGetManaged, &p, &size, s->bin->lib, s->name)))
			return 0;
		*s->managed = (void *)(uintptr_t)p;
	}
	return 1;
}

CUresult rt_kernel(const void *host, CUkernel *k)
{
	struct symbol *s = symbol(host, true);
	CUresult r = rt_ready();

	if (r)
		return r;
	if (!s)
		return (CUresult)98;	/* no such device function */
	if (!s->kernel) {
		r = load(s->bin);
		if (!r)
			r = cu.cuLibraryGetKernel(&s->kernel, s->bin->lib, s->name);
	}
	*k = s->kernel;
	return r;
}

CUresult rt_variable(const void *host, CUdeviceptr *p, size_t *size)
{
	struct symbol *s = symbol(host, false);
	CUresult r = rt_ready();

	if (r)
		return r;
	if (!s)
		return (CUresult)13;	/* no such symbol */
	r = load(s->bin);
	return r ? r : cu.cuLibraryGetGlobal(p, size, s->bin->lib, s->name);
}

API unsigned int __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
					     CUstream s);
unsigned int __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
					 CUstream s)
{
	if (depth == 8)
		return 1;
	calls[depth].grid = grid;
	calls[depth].block = block;
	calls[depth].shared = shared;
	calls[depth++].s = s;
	return 0;
}

RT(__cudaPopCallConfiguration, struct dim3 *grid, struct dim3 *block, size_t *shared, CUstream *s)
{
	if (!depth)
		return CUDA_ERROR_INVALID_VALUE;
	depth--;
	*grid = calls[depth].grid;
	*block = calls[depth].block;
	*shared = calls[depth].shared;
	*s = calls[depth].s;
	return CUDA_SUCCESS;
}

RT(__cudaGetKernel, CUkernel *k, const void *host)
{
	return rt_keep(rt_kernel(host, k));
}

RT(__cudaLaunchKernel, CUkernel k, struct dim3 g, struct dim3 b, void **args, size_t shared,
   CUstream s)
{
	return DO(cu.cuLaunchKernel((CUfunction)k, g.x, g.y, g.z, b.x, b.y, b.z, shared, s, args,
				    NULL));
}

RT(__cudaLaunchKernel_ptsz, CUkernel k, struct dim3 g, struct dim3 b, void **args, size_t shared,
   CUstream s)
{
	return DO(cu.cuLaunchKernel_ptsz((CUfunction)k, g.x, g.y, g.z, b.x, b.y, b.z, shared, s,
					 args, NULL));
}

RT(cudaLaunchKernel, const void *host, struct dim3 g, struct dim3 b, void **args, size_t shared,
   CUstream s)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : cu.cuLaunchKernel((CUfunction)k, g.x, g.y, g.z, b.x, b.y, b.z,
						 shared, s, args, NULL));
}

RT(cudaLaunchCooperativeKernel, const void *host, struct dim3 g, struct dim3 b, void **args,
   size_t shared, CUstream s)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : cu.cuLaunchCooperativeKernel((CUfunction)k, g.x, g.y, g.z, b.x, b.y,
							 b.z, shared, s, args));
}

struct config {
	struct dim3 grid, block;
	size_t shared;
	CUstream s;
	CUlaunchAttribute *attrs;
	unsigned int n;
};

RT(cudaLaunchKernelExC, const struct config *c, const void *host, void **args)
{
	CUlaunchConfig l = { c->grid.x, c->grid.y, c->grid.z, c->block.x, c->block.y, c->block.z,
		c->shared, c->s, c->attrs, c->n };
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : cu.cuLaunchKernelEx(&l, (CUfunction)k, args, NULL));
}

RT(cudaGetLastError, void)
{
	CUresult r = last;

	last = CUDA_SUCCESS;
	return r;
}

RT(cudaPeekAtLastError, void)
{
	return last;
}

API const char *cudaGetErrorString(CUresult r);
const char *cudaGetErrorString(CUresult r)
{
	const char *s = NULL;

	return !rt_ready() && !cu.cuGetErrorString(r, &s) ? s : "unrecognized error code";
}

API const char *cudaGetErrorName(CUresult r);
const char *cudaGetErrorName(CUresult r)
{
	const char *s = NULL;

	return !rt_ready() && !cu.cuGetErrorName(r, &s) ? s : "unrecognized error code";
}

RT(cudaGetDeviceCount, int *n) { return DO(cu.cuDeviceGetCount(n)); }
RT(cudaGetDevice, int *d) { return DO((*d = 0, CUDA_SUCCESS)); }
RT(cudaSetDevice, int d) { return d ? rt_keep(CUDA_ERROR_INVALID_DEVICE) : DO(CUDA_SUCCESS); }
RT(cudaDeviceSynchronize, void)
{
	CUcontext c;

	return DO(cu.cuCtxGetCurrent(&c) ?: cu.cuCtxSynchronize_v2(c));
}
RT(cudaDeviceReset, void) { return DO(cu.cuDevicePrimaryCtxReset_v2(0)); }
RT(cudaDriverGetVersion, int *v) { return DO(cu.cuDriverGetVersion(v)); }
RT(cudaRuntimeGetVersion, int *v) { *v = 13000; return CUDA_SUCCESS; }
RT(cudaDeviceGetAttribute, int *v, int a, int d)
{
	return DO(cu.cuDeviceGetAttribute(v, (CUdevice_attribute)a, d));
}

/* Offsets of the members that programs read most; the rest is zero. */
RT(cudaGetDeviceProperties, unsigned char *p, int d)
{
	static const struct { unsigned short at, attribute; } ints[] = {
		{ 304, 12 }, { 308, 10 }, { 320, 1 }, { 324, 2 }, { 328, 3 }, { 332, 4 },
		{ 336, 5 },
		{ 340, 6 }, { 344, 7 }, { 360, 75 }, { 364, 76 }, { 384, 16 }, { 392, 19 },
		{ 560, 31 }, { 584, 40 }, { 588, 41 }, { 596, 38 }, { 604, 39 }, { 632, 82 },
		{ 636, 83 }, { 668, 95 }, { 688, 106 },
	};
	static const struct { unsigned short at, attribute; } sizes[] = {
		{ 296, 8 }, { 312, 11 }, { 352, 9 }, { 624, 81 }, { 672, 97 },
	};
	CUresult r = rt_ready();
	size_t k, size;
	int v;

	if (r)
		return rt_keep(r);
	memset(p, 0, 1008);
	r = cu.cuDeviceGetName((char *)p, 256, d);
	for (k = 0; k < sizeof(ints) / sizeof(*ints) && !r; k++) {
		r = cu.cuDeviceGetAttribute(&v, (CUdevice_attribute)ints[k].attribute, d);
		memcpy(p + ints[k].at, &v, 4);
	}
	for (k = 0; k < sizeof(sizes) / sizeof(*sizes) && !r; k++) {
		r = cu.cuDeviceGetAttribute(&v, (CUdevice_attribute)sizes[k].attribute, d);
		size = v;
		memcpy(p + sizes[k].at, &size, 8);
	}
	if (!r)
		r = cu.cuDeviceTotalMem_v2(&size, d);
	memcpy(p + 288, &size, 8);
	return rt_keep(r);
}

RT(cudaMalloc, void **p, size_t n)
{
	*p = NULL;
	return n ? DO(cu.cuMemAlloc_v2((CUdeviceptr *)p, n)) : DO(CUDA_SUCCESS);
}
RT(cudaMallocManaged, void **p, size_t n, unsigned int flags)
{
	return DO(cu.cuMemAllocManaged((CUdeviceptr *)p, n, flags));
}
RT(cudaMallocPitch, void **p, size_t *pitch, size_t w, size_t h)
{
	return DO(cu.cuMemAllocPitch_v2((CUdeviceptr *)p, pitch, w, h, 4));
}
RT(cudaMallocAsync, void **p, size_t n, CUstream s)
{
	return DO(cu.cuMemAllocAsync((CUdeviceptr *)p, n, s));
}
RT(cudaFree, void *p) { return DO(cu.cuMemFree_v2(P(p))); }
RT(cudaFreeAsync, void *p, CUstream s) { return DO(cu.cuMemFreeAsync(P(p), s)); }
RT(cudaMallocHost, void **p, size_t n) { return DO(cu.cuMemHostAlloc(p, n, 0)); }
RT(cudaHostAlloc, void **p, size_t n, unsigned int f) { return DO(cu.cuMemHostAlloc(p, n, f)); }
RT(cudaFreeHost, void *p) { return DO(cu.cuMemFreeHost(p)); }
RT(cudaHostRegister, void *p, size_t n, unsigned int f)
{
	return DO(cu.cuMemHostRegister_v2(p, n, f));
}
RT(cudaHostUnregister, void *p) { return DO(cu.cuMemHostUnregister(p)); }
RT(cudaHostGetDevicePointer, void **d, void *p, unsigned int f)
{
	return DO(cu.cuMemHostGetDevicePointer_v2((CUdeviceptr *)d, p, f));
}
RT(cudaMemGetInfo, size_t *f, size_t *t) { return DO(cu.cuMemGetInfo_v2(f, t)); }

/* Pointers tell by themselves which side they are on. */
RT(cudaMemcpy, void *d, const void *s, size_t n, int kind)
{
	return kind < 0 || kind > 4 ? rt_keep((CUresult)21) : DO(cu.cuMemcpy(P(d), P(s), n));
}
RT(cudaMemcpyAsync, void *d, const void *s, size_t n, int kind, CUstream st)
{
	return kind < 0 || kind > 4 ? rt_keep((CUresult)21) :
		DO(cu.cuMemcpyAsync(P(d), P(s), n, st));
}

static CUDA_MEMCPY2D flat(void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h)
{
	CUDA_MEMCPY2D c = { 0 };

	c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c.srcDevice = P(s);
	c.dstDevice = P(d);
	c.srcPitch = sp;
	c.dstPitch = dp;
	c.WidthInBytes = w;
	c.Height = h;
	return c;
}

RT(cudaMemcpy2D, void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, int kind)
{
	CUDA_MEMCPY2D c = flat(d, dp, s, sp, w, h);

	(void)kind;
	return DO(cu.cuMemcpy2D_v2(&c));
}
RT(cudaMemcpy2DAsync, void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, int kind,
   CUstream st)
{
	CUDA_MEMCPY2D c = flat(d, dp, s, sp, w, h);

	(void)kind;
	return DO(cu.cuMemcpy2DAsync_v2(&c, st));
}
RT(cudaMemset, void *p, int v, size_t n) { return DO(cu.cuMemsetD8_v2(P(p), v, n)); }
RT(cudaMemsetAsync, void *p, int v, size_t n, CUstream s)
{
	return DO(cu.cuMemsetD8Async(P(p), v, n, s));
}
RT(cudaMemset2D, void *p, size_t pitch, int v, size_t w, size_t h)
{
	return DO(cu.cuMemsetD2D8_v2(P(p), pitch, v, w, h));
}

RT(cudaGetSymbolAddress, void **p, const void *sym)
{
	size_t n;

	return rt_keep(rt_variable(sym, (CUdeviceptr *)p, &n));
}
RT(cudaGetSymbolSize, size_t *n, const void *sym)
{
	CUdeviceptr p;

	return rt_keep(rt_variable(sym, &p, n));
}

CUresult rt_part_of(const void *host, size_t n, size_t off, CUdeviceptr *p)
{
	size_t size;
	CUresult r = rt_variable(host, p, &size);

	if (!r && (off > size || n > size - off))
		r = CUDA_ERROR_INVALID_VALUE;
	*p += r ? 0 : off;
	return r;
}

RT(cudaMemcpyToSymbol, const void *sym, const void *s, size_t n, size_t off, int kind)
{
	CUdeviceptr p;
	CUresult r = rt_part_of(sym, n, off, &p);

	(void)kind;
	return rt_keep(r ? r : cu.cuMemcpy(p, P(s), n));
}
RT(cudaMemcpyFromSymbol, void *d, const void *sym, size_t n, size_t off, int kind)
{
	CUdeviceptr p;
	CUresult r = rt_part_of(sym, n, off, &p);

	(void)kind;
	return rt_keep(r ? r : cu.cuMemcpy(P(d), p, n));
}

RT(cudaStreamCreate, CUstream *s) { return DO(cu.cuStreamCreateWithPriority(s, 0, 0)); }
RT(cudaStreamCreateWithFlags, CUstream *s, unsigned int f)
{
	return DO(cu.cuStreamCreateWithPriority(s, f, 0));
}
RT(cudaStreamCreateWithPriority, CUstream *s, unsigned int f, int p)
{
	return DO(cu.cuStreamCreateWithPriority(s, f, p));
}
RT(cudaStreamDestroy, CUstream s) { return DO(cu.cuStreamDestroy_v2(s)); }
RT(cudaStreamSynchronize, CUstream s) { return DO(cu.cuStreamSynchronize(s)); }
RT(cudaStreamQuery, CUstream s) { return DO(cu.cuStreamQuery(s)); }
RT(cudaStreamWaitEvent, CUstream s, CUevent e, unsigned int f)
{
	return DO(cu.cuStreamWaitEvent(s, e, f));
}
RT(cudaLaunchHostFunc, CUstream s, CUhostFn fn, void *arg)
{
	return DO(cu.cuLaunchHostFunc(s, fn, arg));
}
RT(cudaStreamBeginCapture, CUstream s, int mode)
{
	return DO(cu.cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)mode));
}
RT(cudaStreamEndCapture, CUstream s, CUgraph *g) { return DO(cu.cuStreamEndCapture(s, g)); }
RT(cudaGraphInstantiate, CUgraphExec *x, CUgraph g, unsigned long long f)
{
	return DO(cu.cuGraphInstantiateWithFlags(x, g, f));
}
RT(cudaGraphLaunch, CUgraphExec x, CUstream s) { return DO(cu.cuGraphLaunch(x, s)); }
RT(cudaGraphDestroy, CUgraph g) { return DO(cu.cuGraphDestroy(g)); }
RT(cudaGraphExecDestroy, CUgraphExec x) { return DO(cu.cuGraphExecDestroy(x)); }

RT(cudaEventCreate, CUevent *e) { return DO(cu.cuEventCreate(e, 0)); }
RT(cudaEventCreateWithFlags, CUevent *e, unsigned int f) { return DO(cu.cuEventCreate(e, f)); }
RT(cudaEventDestroy, CUevent e) { return DO(cu.cuEventDestroy_v2(e)); }
RT(cudaEventRecord, CUevent e, CUstream s) { return DO(cu.cuEventRecord(e, s)); }
RT(cudaEventQuery, CUevent e) { return DO(cu.cuEventQuery(e)); }
RT(cudaEventSynchronize, CUevent e) { return DO(cu.cuEventSynchronize(e)); }
RT(cudaEventElapsedTime, float *ms, CUevent a, CUevent b)
{
	return DO(cu.cuEventElapsedTime(ms, a, b));
}

struct attributes { size_t shared, constant, local; int threads, regs, ptx, binary, ca, dynamic; };
RT(cudaFuncGetAttributes, struct attributes *a, const void *host)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);
	int v[9], i;

	for (i = 0; i < 9 && !r; i++)
		r = cu.cuFuncGetAttribute(&v[i], (CUfunction_attribute)i, (CUfunction)k);
	if (!r) {
		memset(a, 0, 144);
		*a = (struct attributes){ v[1], v[2], v[3], v[0], v[4], v[5], v[6], v[7], v[8] };
	}
	return rt_keep(r);
}
RT(cudaFuncSetAttribute, const void *host, int which, int v)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : cu.cuFuncSetAttribute((CUfunction)k, (CUfunction_attribute)which,
						     v));
}
RT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *n, const void *host, int threads,
   size_t dynamic, unsigned int flags)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n,
		(CUfunction)k, threads, dynamic, flags));
}
RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *n, const void *host, int threads,
   size_t dynamic)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, host, threads, dynamic, 0);
}
