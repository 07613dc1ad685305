// SPDX-License-Identifier: MIT
/*
 * A program that asks for everything in odd ways and prints what it hears, so that
 * two runs of it can be compared: over the bare driver and over the wrapper. Calls
 * with bad handles and NULL for results, before cuInit() and after, in every form of
 * name; which function cuGetProcAddress() gives for each name, version and flag.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpucuda/api.h"

#define N(name, base, version, twin, first, last, kind) { #name, #base, version },
static const struct { const char *name, *base; int version; } names[] = {
#include "wrap/cuda/names.h"
};
#define NAMES (sizeof(names) / sizeof(*names))

static void *lib;

#define CALL(name, ...) do {							\
	__typeof__(&name) f_ = (__typeof__(&name))dlsym(lib, #name);		\
	printf(#name "(" #__VA_ARGS__ ") %d\n", f_ ? (int)f_(__VA_ARGS__) : -1);	\
} while (0)

static const char *name_of(void *fn)
{
	size_t i;

	for (i = 0; i < NAMES; i++)
		if (dlsym(lib, names[i].name) == fn)
			return names[i].name;
	return "a function without a name";
}

static void ask_names(void)
{
	static const int versions[] = { 2000, 3020, 4000, 7000, 10000, 11030, 12000, 12080, 13000,
					13050, 99000 };
	__typeof__(&cuGetProcAddress_v2) get[2];
	__typeof__(&cuGetProcAddress) old = (__typeof__(old))dlsym(lib, "cuGetProcAddress");
	CUdriverProcAddressQueryResult status;
	uint64_t flags;
	size_t i, v;
	void *fn;
	int r;

	get[0] = (__typeof__(get[0]))dlsym(lib, "cuGetProcAddress_v2");
	/* and by itself, as the runtime does */
	if (get[0]("cuGetProcAddress", (void **)&get[1], 12000, 0, &status))
		exit(1);
	for (i = 0; i < NAMES; i++)
		for (v = 0; v < sizeof(versions) / sizeof(*versions); v++)
			for (flags = 0; flags <= 3; flags++) {
				fn = NULL;
				r = get[flags & 1](names[i].base, &fn, versions[v], flags, &status);
				printf("%s %d %d: %d %s %d\n", names[i].base, versions[v],
				       (int)flags, r, r || !fn ? "" : name_of(fn), (int)status);
				if (flags)
					continue;
				fn = NULL;
				r = old(names[i].base, &fn, versions[v], flags);
				printf("old: %d %s\n", r, r || !fn ? "" : name_of(fn));
			}
	printf("%d\n", (int)get[0](NULL, &fn, 12000, 0, NULL));
	printf("%d\n", (int)get[0]("cuInit", NULL, 12000, 0, NULL));
	printf("%d\n", (int)get[0]("", &fn, 12000, 0, NULL));
	printf("%d\n", (int)get[0]("cuNothing", &fn, 12000, 0, &status));
}

static void ask_oddly(CUstream s, CUfunction f)
{
	CUstream bad_stream = NULL;
	CUlaunchConfig c = { 1, 1, 1, 1, 1, 1, 0, s, NULL, 0 };
	CUlaunchAttribute odd = { .id = (CUlaunchAttributeID)77 };
	unsigned int n = 0;
	size_t a = 0, b = 0;

	CALL(cuLaunchKernel, NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	CALL(cuLaunchKernel_ptsz, NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	CALL(cuLaunchKernel, f, 0, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	CALL(cuLaunchKernel, f, 1, 1, 1, 5000, 1, 1, 0, s, NULL, NULL);
	CALL(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 1 << 30, s, NULL, NULL);
	CALL(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	CALL(cuLaunchKernel_ptsz, f, 1, 1, 1, 1, 1, 1, 0, bad_stream, NULL, NULL);
	CALL(cuLaunchKernelEx, NULL, f, NULL, NULL);
	CALL(cuLaunchKernelEx_ptsz, NULL, NULL, NULL, NULL);
	CALL(cuLaunchKernelEx, &c, NULL, NULL, NULL);
	CALL(cuLaunchKernelEx, &c, f, NULL, NULL);
	c.attrs = &odd;
	c.numAttrs = 1;
	CALL(cuLaunchKernelEx, &c, f, NULL, NULL);
	CALL(cuLaunchCooperativeKernel, NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL);
	CALL(cuLaunchCooperativeKernel_ptsz, f, 1 << 20, 1, 1, 1, 1, 1, 0, s, NULL);
	CALL(cuGraphLaunch, NULL, s);
	CALL(cuGraphLaunch_ptsz, NULL, s);
	CALL(cuGraphExecDestroy, NULL);
	CALL(cuStreamEndCapture, s, NULL);
	CALL(cuStreamEndCapture_ptsz, NULL, NULL);
	CALL(cuStreamBeginCapture_v2, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CALL(cuStreamDestroy_v2, NULL);
	CALL(cuEventSynchronize, NULL);
	CALL(cuMemAlloc_v2, NULL, 4);
	CALL(cuMemAllocManaged, NULL, 4, 1);
	CALL(cuMemAllocManaged, NULL, 4, 99);
	CALL(cuMemAllocAsync, NULL, 4, s);
	CALL(cuMemAllocAsync_ptsz, NULL, 4, s);
	CALL(cuMemFree_v2, 0);
	CALL(cuMemFree_v2, 77);
	CALL(cuMemFreeAsync, 77, s);
	CALL(cuMemGetInfo_v2, NULL, NULL);
	CALL(cuMemGetInfo_v2, &a, &b);
	printf("%zu %zu\n", a, b);
	CALL(cuDeviceTotalMem_v2, NULL, 0);
	CALL(cuDeviceTotalMem_v2, &a, 77);
	CALL(cuDeviceTotalMem_v2, &a, 0);
	CALL(cuModuleLoadData, NULL, NULL);
	CALL(cuModuleLoad, NULL, NULL);
	CALL(cuModuleLoad, &(CUmodule){ NULL }, "/nowhere");
	CALL(cuModuleLoadData, &(CUmodule){ NULL }, "this is no module, but a text that is long");
	CALL(cuModuleLoadData, &(CUmodule){ NULL }, ".version 7.0\n.target sm_75\nnonsense {");
	CALL(cuModuleUnload, NULL);
	CALL(cuModuleGetFunction, NULL, NULL, NULL);
	CALL(cuModuleGetFunctionCount, &n, NULL);
	CALL(cuLibraryLoadData, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0);
	CALL(cuLibraryUnload, NULL);
	CALL(cuLibraryGetKernel, NULL, NULL, NULL);
	CALL(cuKernelGetFunction, NULL, NULL);
	CALL(cuFuncSetAttribute, NULL, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0);
	CALL(cuCtxCreate_v2, NULL, 0, 0);
	CALL(cuCtxDestroy_v2, NULL);
	CALL(cuCtxSynchronize);
	CALL(cuStreamSynchronize, s);
	CALL(cuStreamSynchronize_ptsz, NULL);
	CALL(cuDevicePrimaryCtxRelease_v2, 77);
	CALL(cuDevicePrimaryCtxReset_v2, 77);
	CALL(cuGetExportTable, NULL, NULL);
}

int main(void)
{
	static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".global .u32 v;\n.visible .entry first() { ret; }\n"
		".visible .entry second() { ret; }\n";
	CUfunction f = NULL, list[4] = { 0 };
	CUstream s = NULL;
	unsigned int n = 0, i;
	const char *name;
	CUcontext ctx;
	CUmodule m;

	lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!lib)
		return 2;
	ask_oddly(NULL, NULL);
	CALL(cuInit, 1);
	CALL(cuInit, 0);
	ask_oddly(NULL, NULL);
	CALL(cuCtxCreate_v2, &ctx, 0, 0);
	CALL(cuStreamCreate, &s, 0);
	CALL(cuModuleLoadData, &m, text);
	CALL(cuModuleGetFunction, &f, m, "none");
	CALL(cuModuleGetFunction, &f, m, "first");
	CALL(cuModuleGetFunctionCount, &n, m);
	CALL(cuModuleEnumerateFunctions, list, 4, m);
	for (i = 0; i < n && i < 4; i++)
		if (list[i] && !((__typeof__(&cuFuncGetName))dlsym(lib, "cuFuncGetName"))(&name,
											  list[i]))
			printf("function %s\n", name);
	ask_oddly(s, f);
	ask_oddly(NULL, f);
	ask_names();
	return 0;
}
