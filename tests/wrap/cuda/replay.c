// SPDX-License-Identifier: MIT
/*
 * A program of CUDA's driver interface: every kernel of the corpus, in changing
 * forms of loading and launching. It prints a digest of what each left in memory,
 * so two runs of it can be compared: over the bare driver and over the wrapper,
 * whatever that does to the launches. To stderr goes how many the driver saw.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpucuda/api.h"
#include "tests/cpucuda/corpus.h"

#define MUST(x) must(x, #x)

static CUstream stream;
static int cc = 75, version;

static void must(CUresult r, const char *what)
{
	if (r) {
		printf("%s: error %d\n", what, (int)r);
		exit(1);
	}
}

static uint64_t digest(const unsigned char *bytes, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (n--)
		h = (h ^ *bytes++) * 0x100000001b3ull;
	return h;
}

/* The kernel's parameters as a buffer, at the places that the driver tells. */
static size_t pack(CUfunction f, const struct corpus_args *a, unsigned char *buffer)
{
	size_t offset, size, end = 0;
	int k;

	for (k = 0; k < a->n; k++) {
		MUST(cuFuncGetParamInfo(f, k, &offset, &size));
		memcpy(buffer + offset, a->bytes[k], size);
		end = offset + size > end ? offset + size : end;
	}
	return end;
}

static CUresult launch(const struct corpus_run *r, CUfunction f, int form, struct corpus_args *a)
{
	CUlaunchConfig c = {
		r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1], r->block[2],
		r->dynamic, stream, NULL, 0,
	};
	unsigned char buffer[8192];
	size_t bytes;
	void *params[64], *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
		CU_LAUNCH_PARAM_END,
	};
	int k;

	for (k = 0; k < a->n; k++)
		params[k] = a->bytes[k];
	if (r->flags & COOP)
		return cuLaunchCooperativeKernel(f, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX,
						 c.blockDimY, c.blockDimZ, r->dynamic, stream,
						 params);
	switch (form % 4) {
	case 0:
		return cuLaunchKernel(f, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX,
				      c.blockDimY, c.blockDimZ, r->dynamic, stream, params, NULL);
	case 1:
		return cuLaunchKernelEx(&c, f, params, NULL);
	case 2:
		bytes = pack(f, a, buffer);
		return cuLaunchKernel_ptsz(f, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX,
					   c.blockDimY, c.blockDimZ, r->dynamic, stream, NULL,
					   extra);
	default:
		bytes = pack(f, a, buffer);
		return cuLaunchKernelEx_ptsz(&c, f, NULL, extra);
	}
}

/* The text as it comes out of a link; the link is no more. */
static char *linked(char *text, size_t len)
{
	CUlinkState l;
	size_t size;
	void *out;

	MUST(cuLinkCreate_v2(0, NULL, NULL, &l));
	MUST(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, text, len + 1, "text", 0, NULL, NULL));
	MUST(cuLinkComplete(l, &out, &size));
	free(text);
	text = malloc(size);
	must(text ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY, "malloc");
	memcpy(text, out, size);
	MUST(cuLinkDestroy(l));
	return text;
}

/* One kernel, from a module or a library that is loaded for it alone. */
static void run(const struct corpus_run *r, int form, const CUdeviceptr buf[5], unsigned char *out)
{
	struct corpus_bufs on = { (void *)buf[0], (void *)buf[1], (void *)buf[2], (void *)buf[3],
				  (void *)buf[4] };
	struct corpus_args a = { 0 };
	CUlibrary library = NULL;
	CUmodule module = NULL;
	CUkernel kernel;
	CUfunction f;
	char *text;
	size_t len;
	int i;

	text = corpus_text(r, cc, &len);
	if (!text)
		return;
	corpus_suit(text, version);
	if (form % 3 == 1)
		text = linked(text, len);
	if (form & 8) {
		MUST(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
		MUST(cuLibraryGetKernel(&kernel, library, r->name));
		if (form & 16)
			f = (CUfunction)kernel;
		else
			MUST(cuKernelGetFunction(&f, kernel));
		if ((form & 16) && form % 4 > 1)
			form -= 2;	/* the driver tells no places for these */
	} else {
		MUST(cuModuleLoadData(&module, text));
		MUST(cuModuleGetFunction(&f, module, r->name));
	}
	free(text);
	r->args(&on, &a);
	MUST(cuMemsetD8_v2(buf[0], 0, CORPUS_BYTES));
	/* The second launch knows how long the first took. */
	for (i = 0; i < 2; i++) {
		MUST(launch(r, f, form, &a));
		MUST(cuStreamSynchronize(stream));
		MUST(cuMemcpyDtoH_v2(out, buf[0], CORPUS_BYTES));
		printf("%s %s %016llx\n", r->file, r->name,
		       (unsigned long long)digest(out, CORPUS_BYTES));
	}
	if (library)
		MUST(cuLibraryUnload(library));
	else
		MUST(cuModuleUnload(module));
}

static void tell_counts(void)
{
	const char *real = getenv("GPUSHARE_REAL_LIBCUDA");
	void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches);
	uint64_t steps, blocks, launches;
	void *lib = dlopen(real ? real : "libcuda.so.1", RTLD_LAZY);

	counts = lib ? (__typeof__(counts))dlsym(lib, "cpucuda_counts") : NULL;
	if (!counts)
		return;
	counts(&steps, &blocks, &launches);
	fprintf(stderr, "launches %llu\n", (unsigned long long)launches);
}

int main(int argc, char **argv)
{
	const bool stay = argc > 1 && !strcmp(argv[1], "stay");
	const unsigned int skip = NOEXEC | (argc > 1 && !stay ? 0 : WAVE);
	struct corpus_data d;
	struct corpus_run *r;
	CUdeviceptr buf[5];
	CUcontext ctx;
	int k, major, form = 0;

	if (corpus_data_make(&d))
		return 1;
	MUST(cuInit(0));
	MUST(cuDriverGetVersion(&version));
	MUST(cuDeviceGetAttribute(&major, 75, 0));
	if (major >= 9)
		cc = 90;
	MUST(cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(cuCtxSetCurrent(ctx));
	for (k = 0; k < 5; k++)
		MUST(cuMemAlloc_v2(&buf[k], CORPUS_BYTES));
	/* "stay": all of it, again and again, until it is killed */
	for (r = corpus_runs; r || stay; r = r ? r->next : corpus_runs, form++) {
		if (!r)
			continue;
		/* Its result is the launch's number, which only must be another each time. */
		if (!strcmp(r->name, "reads_gridid") || r->flags & skip || (argc > 1 && !stay && !strstr(r->name, argv[1])))
			continue;
		MUST(cuMemcpyHtoD_v2(buf[1], d.bufs.in, CORPUS_BYTES));
		MUST(cuMemcpyHtoD_v2(buf[2], d.bufs.inf, CORPUS_BYTES));
		MUST(cuMemcpyHtoD_v2(buf[3], d.bufs.ind, CORPUS_BYTES));
		MUST(cuMemcpyHtoD_v2(buf[4], d.bufs.inl, CORPUS_BYTES));
		if (form % 5)
			MUST(cuStreamCreate(&stream, form % 2));
		run(r, form, buf, d.bufs.out);
		if (stream)
			MUST(cuStreamDestroy_v2(stream));
		stream = NULL;
	}
	tell_counts();
	return 0;
}
