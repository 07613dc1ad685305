// SPDX-License-Identifier: MIT
/*
 * Functions that the driver on the CPU lacks, for what the wrapper must know of
 * them: linked with it into a driver that has them. Memory of the oldest forms has
 * small numbers for addresses; a green context is a context of its own; a capture
 * for graphics takes launches and does nothing with them.
 */
#include <stdint.h>
#include <string.h>

#include "cpucuda/api.h"

#define DRIVER(name, ...)							\
	__attribute__((visibility("default"))) CUresult name(__VA_ARGS__);	\
	CUresult name(__VA_ARGS__)

struct array_v1 {
	unsigned int width, height;
	int format;
	unsigned int channels;
};

struct array3d_v1 {
	unsigned int width, height, depth;
	int format;
	unsigned int channels, flags;
};

struct multi {
	CUfunction function;
	unsigned int grid[3], block[3], shared;
	CUstream stream;
	void **params;
};

#define BLOCKS 64u

/* cuCtxDetach() refuses while this isn't 0. */
__attribute__((visibility("default"))) int rare_refuses;

static CUdeviceptr blocks[BLOCKS];
static unsigned int attached;
static CUcontext green_context;
static CUstream graphics_stream;

static CUresult number(uint32_t *p, CUdeviceptr real)
{
	uint32_t i = 0;

	while (i < BLOCKS && blocks[i])
		i++;
	if (i == BLOCKS) {
		cuMemFree_v2(real);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	blocks[i] = real;
	*p = (i + 1) * 4096;
	return CUDA_SUCCESS;
}

DRIVER(cuMemAlloc, uint32_t *p, unsigned int size)
{
	CUdeviceptr real;
	CUresult r = p ? cuMemAlloc_v2(&real, size) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : number(p, real);
}

DRIVER(cuMemAllocPitch, uint32_t *p, unsigned int *pitch, unsigned int width,
       unsigned int height, unsigned int element)
{
	CUdeviceptr real;
	size_t wide;
	CUresult r = cuMemAllocPitch_v2(&real, &wide, width, height, element);

	if (r)
		return r;
	*pitch = (unsigned int)wide;
	return number(p, real);
}

DRIVER(cuMemFree, uint32_t p)
{
	uint32_t i = p / 4096 - 1;
	CUresult r;

	if (i >= BLOCKS || !blocks[i])
		return CUDA_ERROR_INVALID_VALUE;
	r = cuMemFree_v2(blocks[i]);
	blocks[i] = 0;
	return r;
}

DRIVER(cuMemGetInfo, unsigned int *left, unsigned int *total)
{
	size_t l, t;
	CUresult r = cuMemGetInfo_v2(&l, &t);

	*left = l > UINT32_MAX ? UINT32_MAX : (unsigned int)l;
	*total = t > UINT32_MAX ? UINT32_MAX : (unsigned int)t;
	return r;
}

DRIVER(cuDeviceTotalMem, unsigned int *total, CUdevice dev)
{
	size_t t;
	CUresult r = cuDeviceTotalMem_v2(&t, dev);

	*total = t > UINT32_MAX ? UINT32_MAX : (unsigned int)t;
	return r;
}

DRIVER(cuArrayCreate, CUarray *array, const struct array_v1 *d)
{
	CUDA_ARRAY_DESCRIPTOR now = { .Width = d->width, .Height = d->height, .Format = d->format,
				      .NumChannels = d->channels };

	return cuArrayCreate_v2(array, &now);
}

DRIVER(cuArray3DCreate, CUarray *array, const struct array3d_v1 *d)
{
	CUDA_ARRAY3D_DESCRIPTOR now = { .Width = d->width, .Height = d->height, .Depth = d->depth,
					.Format = d->format, .NumChannels = d->channels,
					.Flags = d->flags };

	return cuArray3DCreate_v2(array, &now);
}

DRIVER(cuCtxAttach, CUcontext *ctx, unsigned int flags)
{
	CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : cuCtxGetCurrent(ctx);

	if (!r)
		attached++;
	return r;
}

DRIVER(cuCtxDetach, CUcontext ctx)
{
	if (rare_refuses)
		return CUDA_ERROR_INVALID_VALUE;
	if (!attached)
		return cuCtxDestroy_v2(ctx);
	attached--;
	return CUDA_SUCCESS;
}

DRIVER(cuCtxFromGreenCtx, CUcontext *ctx, void *green)
{
	CUresult r = green ? cuCtxCreate_v2(ctx, 0, 0) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	green_context = *ctx;
	return cuCtxPopCurrent_v2(ctx);
}

DRIVER(cuGreenCtxDestroy, void *green)
{
	return green ? cuCtxDestroy_v2(green_context) : CUDA_ERROR_INVALID_VALUE;
}

DRIVER(cuLinkCreate, unsigned int n, CUjit_option *opt, void **val, CUlinkState *state)
{
	return cuLinkCreate_v2(n, opt, val, state);
}

DRIVER(cuLinkAddData, CUlinkState state, CUjitInputType type, void *data, size_t size,
       const char *name, unsigned int n, CUjit_option *opt, void **val)
{
	return cuLinkAddData_v2(state, type, data, size, name, n, opt, val);
}

DRIVER(cuLinkAddFile, CUlinkState state, CUjitInputType type, const char *path, unsigned int n,
       CUjit_option *opt, void **val)
{
	return cuLinkAddFile_v2(state, type, path, n, opt, val);
}

DRIVER(cuStreamBeginCaptureToCig, CUstream stream, void *params)
{
	if (!params || graphics_stream)
		return CUDA_ERROR_INVALID_VALUE;
	graphics_stream = stream;
	return CUDA_SUCCESS;
}

DRIVER(cuStreamEndCaptureToCig, CUstream stream)
{
	if (stream != graphics_stream)
		return CUDA_ERROR_INVALID_VALUE;
	graphics_stream = NULL;
	return CUDA_SUCCESS;
}

DRIVER(cuLaunchCooperativeKernelMultiDevice, const struct multi *list, unsigned int n,
       unsigned int flags)
{
	CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	const struct multi *m;
	CUcontext ctx;

	for (m = list; m < list + n && !r; m++) {
		r = cuStreamGetCtx(m->stream, &ctx);
		if (!r)
			r = cuCtxPushCurrent_v2(ctx);
		if (r)
			break;
		r = cuLaunchCooperativeKernel(m->function, m->grid[0], m->grid[1], m->grid[2],
					      m->block[0], m->block[1], m->block[2], m->shared,
					      m->stream, m->params);
		cuCtxPopCurrent_v2(&ctx);
	}
	return r;
}
