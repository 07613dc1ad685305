// SPDX-License-Identifier: MIT
/*
 * A kernel that is compiled while the program runs, launched by itself and in a
 * graph. Prints what came out, the same over the bare driver and over the wrapper;
 * exits with 4 where there is no NVRTC that the driver is new enough for, and says so.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpucuda/api.h"

#define N 65536u
#define FN(lib, name, ...) ((int (*)(__VA_ARGS__))dlsym(lib, #name))
#define MUST(x) must((int)(x), #x)

static const char source[] =
	"__device__ unsigned int seen;\n"
	"extern \"C\" __global__ void triple(unsigned int *v) {\n"
	"	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	v[i] = 3 * v[i] + 1;\n"
	"	atomicAdd(&seen, 1);\n"
	"}\n";

static void must(int r, const char *what)
{
	if (r) {
		printf("%s: error %d\n", what, r);
		exit(1);
	}
}

static char *compile(void *lib, int arch)
{
	char option[64];
	const char *options[] = { option };
	void *program;
	size_t size;
	char *text;

	snprintf(option, sizeof(option), "--gpu-architecture=compute_%d", arch);
	MUST(FN(lib, nvrtcCreateProgram, void **, const char *, const char *, int, void *, void *)(
		&program, source, "triple.cu", 0, NULL, NULL));
	MUST(FN(lib, nvrtcCompileProgram, void *, int, const char *const *)(program, 1, options));
	MUST(FN(lib, nvrtcGetPTXSize, void *, size_t *)(program, &size));
	text = malloc(size);
	if (!text)
		exit(1);
	MUST(FN(lib, nvrtcGetPTX, void *, char *)(program, text));
	return text;
}

/* A toolkit has it without a version, what Python's packages bring has none such. */
static void *find(void)
{
	static const char *const names[] = { "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
					     "libnvrtc.so.11.2" };
	void *lib = NULL;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_LAZY);
	return lib;
}

static int skip(const char *why)
{
	printf("%s\n", why);
	return 4;
}

int main(void)
{
	void *lib = find();
	static uint32_t v[N];
	uint32_t i, expected = 0, wrong = 0, seen = 0;
	CUdeviceptr d, counter;
	void *args[] = { &d };
	CUgraphExec exec;
	CUgraph graph;
	CUfunction f;
	CUcontext ctx;
	CUresult r;
	CUmodule m;
	CUstream s;
	size_t size;

	if (!lib)
		return skip("no NVRTC");
	MUST(cuInit(0));
	MUST(cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(cuCtxSetCurrent(ctx));
	r = cuModuleLoadData(&m, compile(lib, 75));
	if (r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
		return skip("NVRTC is newer than the driver");
	MUST(r);
	MUST(cuModuleGetFunction(&f, m, "triple"));
	MUST(cuMemAlloc_v2(&d, sizeof(v)));
	MUST(cuMemsetD32_v2(d, 0, N));
	MUST(cuStreamCreate(&s, 1));
	MUST(cuCtxSynchronize());
	MUST(cuLaunchKernel(f, N / 256, 1, 1, 256, 1, 1, 0, s, args, NULL));
	MUST(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(cuLaunchKernel(f, N / 256, 1, 1, 256, 1, 1, 0, s, args, NULL));
	MUST(cuLaunchKernel(f, N / 256, 1, 1, 256, 1, 1, 0, s, args, NULL));
	MUST(cuStreamEndCapture(s, &graph));
	MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (i = 0; i < 3; i++)
		MUST(cuGraphLaunch(exec, s));
	MUST(cuStreamSynchronize(s));
	MUST(cuMemcpyDtoH_v2(v, d, sizeof(v)));
	MUST(cuModuleGetGlobal_v2(&counter, &size, m, "seen"));
	MUST(cuMemcpyDtoH_v2(&seen, counter, sizeof(seen)));
	for (i = 0; i < 7; i++)
		expected = 3 * expected + 1;
	for (i = 0; i < N; i++)
		wrong += v[i] != expected;
	printf("%u wrong, seen %u\n", wrong, seen);
	return wrong || seen != 7 * N;
}
