// SPDX-License-Identifier: MIT
/* Launches, checked as the hardware's limits have it, and occupancy. */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

static bool sizes_ok(const struct CUfunc_st *f, const uint32_t g[3], const uint32_t b[3],
		     uint32_t dynamic, CUresult *r)
{
	uint64_t threads = (uint64_t)b[0] * b[1] * b[2];

	*r = CUDA_ERROR_INVALID_VALUE;
	if (!g[0] || !g[1] || !g[2] || !threads || g[0] > 0x7fffffff || g[1] > 65535 ||
	    g[2] > 65535 ||
	    b[0] > 1024 || b[1] > 1024 || b[2] > 64 || threads > 1024)
		return false;
	if ((uint64_t)g[0] * g[1] * g[2] > 0xffffffffull)
		return false;
	if ((int)threads > f->attr[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK])
		return false;
	if (dynamic > (uint32_t)f->attr[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES])
		return false;
	*r = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	return blocks_per_sm(f->f, threads, dynamic) > 0;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER, p, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END */
static CUresult from_extra(void **extra, const void **buf, size_t *size)
{
	*buf = NULL;
	*size = 0;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buf = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*size = *(size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	return *buf || !*size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fill_params(const struct func *f, uint8_t *to, void **params, void **extra)
{
	const void *buf;
	size_t size;
	CUresult r;
	uint32_t k;

	if (!f->n_params)
		return CUDA_SUCCESS;
	if (params) {
		for (k = 0; k < f->n_params; k++)
			memcpy(to + f->param_offset[k], params[k], f->param_size[k]);
		return CUDA_SUCCESS;
	}
	if (!extra)
		return CUDA_ERROR_INVALID_VALUE;
	r = from_extra(extra, &buf, &size);
	/* a structure's end may be padded; more than that is somebody's mistake */
	if (r || size < f->param_bytes || size >= f->param_bytes + 16)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(to, buf, f->param_bytes);
	return CUDA_SUCCESS;
}

CUresult kernel_work(struct work *w, CUfunction h, const uint32_t grid[3], const uint32_t block[3],
		     uint32_t dynamic, void **params, void **extra)
{
	struct CUfunc_st *f;
	CUresult r = function_of(h, &f);
	int k;

	if (r)
		return r;
	if (!sizes_ok(f, grid, block, dynamic, &r))
		return r;
	memset(w, 0, sizeof(*w));
	w->kind = W_KERNEL;
	w->kernel.f = f;
	w->kernel.dynamic = dynamic;
	for (k = 0; k < 3; k++) {
		w->kernel.grid[k] = grid[k];
		w->kernel.block[k] = block[k];
		w->kernel.cluster[k] = f->f->req_cluster[0] ? f->f->req_cluster[k] : 1;
	}
	w->kernel.params = calloc(1, f->f->param_bytes + 1);
	if (!w->kernel.params)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = fill_params(f->f, w->kernel.params, params, extra);
	if (r)
		work_free(w);
	return r;
}

/* What depends on grid and cluster together; frees the work if it is refused. */
static CUresult check(struct work *w)
{
	const uint32_t *g = w->kernel.grid, *c = w->kernel.cluster, *b = w->kernel.block;
	uint64_t total = (uint64_t)g[0] * g[1] * g[2];
	CUresult r = CUDA_SUCCESS;

	if (!c[0] || !c[1] || !c[2] || g[0] % c[0] || g[1] % c[1] || g[2] % c[2] ||
	    c[0] * c[1] * c[2] > 8)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (w->kernel.cooperative &&
		 total > (uint64_t)dev.sms * blocks_per_sm(w->kernel.f->f, b[0] * b[1] * b[2],
							   w->kernel.dynamic))
		r = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	if (r)
		work_free(w);
	return r;
}

/* Those that only advise, or order kernels that run beside each other, change nothing here. */
CUresult kernel_attribute(struct work *w, CUlaunchAttributeID id, const CUlaunchAttributeValue *v)
{
	switch ((int)id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		w->kernel.cooperative = v->cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		w->kernel.cluster[0] = v->clusterDim.x;
		w->kernel.cluster[1] = v->clusterDim.y;
		w->kernel.cluster[2] = v->clusterDim.z;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		w->kernel.priority = v->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return (unsigned int)id > 16 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	}
}

/*
 * An event for when all blocks have begun, or for when they let others begin: that is when
 * they end, as an earlier word of theirs isn't followed here.
 */
static CUresult event_attribute(struct work *w, const struct CUstream_st *s,
				const CUlaunchAttribute *a)
{
	struct CUevent_st *e;
	bool at_end = false;
	int flags;

	if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
		e = a->value.programmaticEvent.event;
		flags = a->value.programmaticEvent.flags;
		at_end = !a->value.programmaticEvent.triggerAtBlockStart;
	} else {
		e = a->value.launchCompletionEvent.event;
		flags = a->value.launchCompletionEvent.flags;
	}
	if (!IS(e, MAGIC_EVENT) || !(e->flags & CU_EVENT_DISABLE_TIMING) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture || w->kernel.event)
		return CUDA_ERROR_NOT_SUPPORTED;
	w->kernel.event = e;
	w->kernel.at_end = at_end;
	return CUDA_SUCCESS;
}

static CUresult launch_attribute(struct work *w, const struct CUstream_st *s,
				 const CUlaunchAttribute *a)
{
	if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
	    a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
		return event_attribute(w, s, a);
	return kernel_attribute(w, a->id, &a->value);
}

static CUresult launch(bool per_thread, const CUlaunchConfig *l, CUfunction f, void **params,
		       void **extra, bool cooperative)
{
	uint32_t grid[3] = { l->gridDimX, l->gridDimY, l->gridDimZ };
	uint32_t block[3] = { l->blockDimX, l->blockDimY, l->blockDimZ };
	struct CUstream_st *s;
	struct work w;
	unsigned int k;
	CUresult r;

	lock();
	r = stream_of(l->hStream, per_thread, &s);
	if (!r)
		r = refusal("launch");
	if (!r)
		r = kernel_work(&w, f, grid, block, l->sharedMemBytes, params, extra);
	if (!r) {
		w.kernel.cooperative = cooperative;
		for (k = 0; k < l->numAttrs && !r; k++)
			r = launch_attribute(&w, s, &l->attrs[k]);
		if (r)
			work_free(&w);
		else
			r = check(&w);
	}
	if (!r && w.kernel.event) {
		w.kernel.event->capture = NULL;
		w.kernel.gen = event_record(w.kernel.event);
	}
	if (!r)
		r = submit(s, &w, NULL);
	unlock();
	return r;
}

TWO(cuLaunchKernel, _ptsz,
    (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
     unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params,
     void **extra),
    f, gx, gy, gz, bx, by, bz, shared, s, params, extra)
{
	CUlaunchConfig l = { gx, gy, gz, bx, by, bz, shared, s, NULL, 0 };

	return launch(per_thread, &l, f, params, extra, false);
}

TWO(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *l, CUfunction f, void **params, void **extra),
    l, f, params, extra)
{
	return l ? launch(per_thread, l, f, params, extra, false) : CUDA_ERROR_INVALID_VALUE;
}

TWO(cuLaunchCooperativeKernel, _ptsz,
    (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
     unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params),
    f, gx, gy, gz, bx, by, bz, shared, s, params)
{
	CUlaunchConfig l = { gx, gy, gz, bx, by, bz, shared, s, NULL, 0 };

	return launch(per_thread, &l, f, params, NULL, true);
}

EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, CUfunction h, int threads,
							    size_t dynamic, unsigned int flags)
{
	struct CUfunc_st *f;
	CUresult r;

	(void)flags;
	if (!n || threads < 1)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = function_of(h, &f);
	if (!r)
		*n = dynamic > dev.shared_per_block ? 0 : blocks_per_sm(f->f, threads, dynamic);
	unlock();
	return r;
}

EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction h, int threads,
						   size_t dynamic)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, h, threads, dynamic, 0);
}

/* The block size with most threads resident; the biggest of those. */
EXPORT cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction h,
						 CUoccupancyB2DSize by_size, size_t dynamic,
						 int limit, unsigned int flags)
{
	int threads, n, best = -1, max;
	CUresult r = cuFuncGetAttribute(&max, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, h);

	if (r || !grid || !block)
		return r ? r : CUDA_ERROR_INVALID_VALUE;
	max = limit && limit < max ? limit : max;
	for (threads = (max + 31) / 32 * 32; threads > 0; threads -= 32) {
		int t = threads < max ? threads : max;

		r = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, h, t,
			by_size ? by_size(t) : dynamic, flags);
		if (r)
			return r;
		if (n * t > best) {
			best = n * t;
			*block = t;
			*grid = n * (int)dev.sms;
		}
	}
	return CUDA_SUCCESS;
}

EXPORT cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction h,
					CUoccupancyB2DSize by_size, size_t dynamic, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, h, by_size, dynamic, limit,
							 0);
}

EXPORT cuOccupancyAvailableDynamicSMemPerBlock(size_t *size, CUfunction h, int blocks, int threads)
{
	struct CUfunc_st *f;
	uint32_t room;
	CUresult r;

	if (!size || blocks < 1 || threads < 1)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = function_of(h, &f);
	unlock();
	if (r)
		return r;
	room = dev.shared_per_sm / blocks;
	room = room > 1024 + f->f->static_shared ? room - 1024 - f->f->static_shared : 0;
	*size = room < dev.shared_per_block - f->f->static_shared ? room :
		dev.shared_per_block - f->f->static_shared;
	return CUDA_SUCCESS;
}

EXPORT cuOccupancyMaxActiveClusters(int *n, CUfunction h, const CUlaunchConfig *l)
{
	uint32_t threads, size = 1;
	struct CUfunc_st *f;
	unsigned int k;
	CUresult r;

	if (!n || !l)
		return CUDA_ERROR_INVALID_VALUE;
	for (k = 0; k < l->numAttrs; k++)
		if (l->attrs[k].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			size = l->attrs[k].value.clusterDim.x * l->attrs[k].value.clusterDim.y *
				l->attrs[k].value.clusterDim.z;
	threads = l->blockDimX * l->blockDimY * l->blockDimZ;
	if (!size || size > 8 || !threads)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = function_of(h, &f);
	if (!r)
		*n = dev.sms * blocks_per_sm(f->f, threads, l->sharedMemBytes) / size;
	unlock();
	return r;
}

EXPORT cuOccupancyMaxPotentialClusterSize(int *n, CUfunction h, const CUlaunchConfig *l)
{
	struct CUfunc_st *f;
	CUresult r;

	if (!n || !l)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = function_of(h, &f);
	unlock();
	*n = 8;
	return r;
}
