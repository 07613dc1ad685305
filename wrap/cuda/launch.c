// SPDX-License-Identifier: MIT
/*
 * Launches: each form, and what all have in common.
 *
 * A launch into a stream that is captured isn't work yet: it goes to the driver as
 * it is, and the graph that it becomes part of is gated when it is launched. All
 * others ask the gate. Now and then a launch is timed, by two events around it.
 */
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "image.h"
#include "rest.h"
#include "wrap.h"

#define MARK_EVERY	32u	/* launches, or a fourth of a slice */
#define TIME_FIRST	3u
#define TIME_EVERY	64u
#define TELL_NS		50000u

static uint64_t blocks_of(const struct gs_launch *l)
{
	return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

static bool is_due(struct gs_lane *lane, uint64_t est_ns)
{
	uint64_t open = __atomic_load_n(&lane->submitted, __ATOMIC_RELAXED) -
			__atomic_load_n(&lane->marked, __ATOMIC_RELAXED);

	return open >= MARK_EVERY || lane->per_thread ||
	       open * est_ns >= gs_slice(&lane->dev->budget) / 4 ||
	       __atomic_load_n(&gs_captures, __ATOMIC_RELAXED);
}

static bool begin_timing(struct gs_lane *lane, struct gs_record *record, struct gs_mark *m)
{
	uint32_t n = __atomic_fetch_add(&record->launches, 1, __ATOMIC_RELAXED);

	if (__builtin_expect(n >= TIME_FIRST && n % TIME_EVERY, 1))
		return false;
	m->begin = gs_event_get(lane->context, true);
	m->end = m->begin ? gs_event_get(lane->context, true) : NULL;
	if (m->end && !REAL(cuEventRecord)(m->begin, lane->stream))
		return true;
	if (m->end)
		gs_event_put(lane->context, m->end, true);
	if (m->begin)
		REAL(cuEventDestroy_v2)(m->begin);
	return false;
}

static void end_timing(struct gs_lane *lane, struct gs_record *record, struct gs_mark *m,
		       struct gs_load load)
{
	m->record = record;
	m->life = __atomic_load_n(&record->lives, __ATOMIC_RELAXED);
	m->blocks = load.blocks;
	m->upto = __atomic_load_n(&lane->submitted, __ATOMIC_ACQUIRE);
	m->load = gs_lane_load(lane);
	if (!REAL(cuEventRecord)(m->end, lane->stream)) {
		gs_lane_mark(lane, m, load);
		return;
	}
	gs_event_put(lane->context, m->begin, true);
	REAL(cuEventDestroy_v2)(m->end);
	gs_lane_unmarked(lane, load);
}

/* One launch, or a part of one, that goes to the device as it is. */
CUresult gs_launch_part(struct gs_lane *lane, struct gs_record *record,
			const struct gs_launch *l, uint64_t blocks)
{
	struct gs_load load = { .blocks = blocks };
	struct gs_mark m = { 0 };
	bool timed;
	CUresult r;

	if (record)
		load.ns = __atomic_load_n(&record->block_ps, __ATOMIC_RELAXED) * blocks / 1000;
	load.ns = gs_admit(lane->dev, load.ns);
	timed = record && begin_timing(lane, record, &m);
	r = l->submit(l);
	if (r) {
		if (timed) {
			gs_event_put(lane->context, m.begin, true);
			gs_event_put(lane->context, m.end, true);
		}
		gs_refused(lane->dev, load.ns);
		return r;
	}
	gs_lane_submitted(lane, load);
	if (timed)
		end_timing(lane, record, &m, load);
	else if (is_due(lane, load.ns))
		gs_lane_mark(lane, NULL, load);
	return r;
}

/* Why launches must not be cut. */
static const char a_graph[] = "a graph", is_cooperative[] = "cooperative",
	is_oldest[] = "parameters were given before";

/* For gpusharectl status --transforms: the long ones each time, the short ones once. */
static void tell(const struct gs_record *record, const struct gs_launch *l)
{
	uint64_t ns = __atomic_load_n(&record->block_ps, __ATOMIC_RELAXED) * blocks_of(l) / 1000;
	const char *title, *why;

	if (__builtin_expect(ns < TELL_NS &&
			     __atomic_load_n(&record->launches, __ATOMIC_RELAXED) != 1, 1))
		return;
	title = __atomic_load_n(&record->title, __ATOMIC_ACQUIRE);
	why = __atomic_load_n(&record->why, __ATOMIC_RELAXED);
	gpushare_launched(title ? title : l->whole == a_graph ? "(graph)" : "(unknown)", "whole",
			  l->whole ? l->whole : why ? why : "no PTX");
}

bool gs_param_sizes(const struct gs_record *record, const struct gs_launch *l, uint32_t *sizes,
		    uint32_t *n)
{
	const struct gs_image_kernel *k = __atomic_load_n(&record->kernel, __ATOMIC_ACQUIRE);
	enum gs_found found = __atomic_load_n(&record->found, __ATOMIC_RELAXED);
	bool kernel = found == GS_FOUND_IN_LIBRARY;
	size_t offset, size;

	*n = 0;
	if (l->extra)
		return true;
	if (k && k->n_params <= GS_MAX_PARAMS) {
		*n = k->n_params;
		memcpy(sizes, gs_image_sizes(k), k->n_params * sizeof(*sizes));
		return true;
	}
	if (found == GS_FOUND_ELSEWHERE ||
	    gs_is_missing(kernel ? I_cuKernelGetParamInfo : I_cuFuncGetParamInfo))
		return false;
	while (!(kernel ? REAL(cuKernelGetParamInfo)((CUkernel)l->handle, *n, &offset, &size) :
		 REAL(cuFuncGetParamInfo)((CUfunction)l->handle, *n, &offset, &size))) {
		if (*n == GS_MAX_PARAMS)
			return false;
		sizes[(*n)++] = (uint32_t)size;
	}
	return true;
}

static void put_like(const struct gs_launch *l, uint64_t like[2])
{
	like[0] = l->block[0] | (uint64_t)l->block[1] << 32;
	like[1] = l->block[2] | (uint64_t)l->shared << 32;
}

bool gs_is_like_before(const struct gs_record *record, const struct gs_launch *l)
{
	uint64_t like[2];

	put_like(l, like);
	return like[0] && like[0] == __atomic_load_n(&record->like[0], __ATOMIC_RELAXED) &&
	       like[1] == __atomic_load_n(&record->like[1], __ATOMIC_RELAXED) && l->grid[0] &&
	       l->grid[1] && l->grid[2] && l->grid[0] <= INT32_MAX && l->grid[1] <= UINT16_MAX &&
	       l->grid[2] <= UINT16_MAX;
}

static void went_well(struct gs_record *record, const struct gs_launch *l)
{
	uint64_t like[2];

	put_like(l, like);
	if (__atomic_load_n(&record->like[0], __ATOMIC_RELAXED) != like[0])
		__atomic_store_n(&record->like[0], like[0], __ATOMIC_RELAXED);
	if (__atomic_load_n(&record->like[1], __ATOMIC_RELAXED) != like[1])
		__atomic_store_n(&record->like[1], like[1], __ATOMIC_RELAXED);
}

/* A launch that goes whole, behind the rest of others. */
struct whole {
	struct gs_work work;
	struct gs_record *record;
	struct gs_kept kept;
};

static enum gs_step whole_step(struct gs_work *w)
{
	struct whole *a = (struct whole *)w;

	w->late = gs_launch_part(w->lane, a->record, &a->kept.l, blocks_of(&a->kept.l));
	if (!w->late)
		tell(a->record, &a->kept.l);
	return GS_DONE;
}

static void whole_free(struct gs_work *w)
{
	gs_kept_free(&((struct whole *)w)->kept);
	free(w);
}

static struct whole *whole(struct gs_record *record, const struct gs_launch *l)
{
	uint32_t sizes[GS_MAX_PARAMS], n;
	struct whole *a;

	if (!record || l->whole || !gs_is_like_before(record, l) ||
	    !gs_param_sizes(record, l, sizes, &n))
		return NULL;
	a = calloc(1, sizeof(*a));
	if (a && !gs_keep(&a->kept, l, sizes, n, 0)) {
		whole_free(&a->work);
		a = NULL;
	}
	if (a) {
		a->work.step = whole_step;
		a->work.free = whole_free;
		a->record = record;
	}
	return a;
}

/* It follows what isn't with the driver yet; false: all of that is now, and it is next. */
static bool follows_rest(struct gs_lane *lane, struct gs_record *record, const struct gs_launch *l)
{
	struct whole *a = whole(record, l);

	if (a && gs_rest_put(lane, &a->work, false, true) == GS_BEHIND)
		return true;
	if (a)
		whole_free(&a->work);
	gs_settle(lane, NULL);
	return false;
}

CUresult gs_launch(const struct gs_launch *l)
{
	struct gs_record *record = gs_record_find(l->handle);
	struct gs_lane *lane = gs_lane_find(l->stream, l->twin, record ?
					    __atomic_load_n(&record->ctx, __ATOMIC_RELAXED) : NULL);
	CUresult r;

	if (gs_is_captured(l->stream, l->twin))
		return l->submit(l);
	if (!lane || !lane->dev->budget.share) {
		gs_settle_all();
		__atomic_add_fetch(&gs_past_gate, 1, __ATOMIC_RELAXED);
		return l->submit(l);
	}
	if (record && !l->whole && __atomic_load_n(&record->name, __ATOMIC_ACQUIRE) &&
	    gs_cut_launch(lane, record, l, &r)) {
		if (!r)
			went_well(record, l);
		return r;
	}
	if (gs_rest_is_before(lane) && follows_rest(lane, record, l))
		return CUDA_SUCCESS;
	r = gs_launch_part(lane, record, l, blocks_of(l));
	if (record && !r) {
		tell(record, l);
		went_well(record, l);
	} else if (!r) {
		gs_record_first(l);
	}
	return r;
}

static CUresult submit_kernel(const struct gs_launch *l)
{
	return ((__typeof__(&cuLaunchKernel))l->real)((CUfunction)l->handle, l->grid[0], l->grid[1],
		l->grid[2], l->block[0], l->block[1], l->block[2], l->shared, l->stream, l->params,
		l->extra);
}

#define KERNEL_PARAMS CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, \
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, \
	void **params

#define KERNEL_LAUNCH(function, default_is_own) {				\
	.submit = submit_kernel, .handle = f, .stream = stream, .twin = default_is_own, \
	.grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared,	\
	.params = params, .extra = extra, .real = (void *)REAL(function) }

HOOK(cuLaunchKernel, KERNEL_PARAMS, void **extra)
{
	struct gs_launch l = KERNEL_LAUNCH(cuLaunchKernel, false);

	return gs_launch(&l);
}

HOOK(cuLaunchKernel_ptsz, KERNEL_PARAMS, void **extra)
{
	struct gs_launch l = KERNEL_LAUNCH(cuLaunchKernel_ptsz, true);

	return gs_launch(&l);
}

static CUresult submit_cooperative(const struct gs_launch *l)
{
	return ((__typeof__(&cuLaunchCooperativeKernel))l->real)((CUfunction)l->handle, l->grid[0],
		l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared, l->stream,
		l->params);
}

static CUresult cooperative(struct gs_launch *l)
{
	l->submit = submit_cooperative;
	l->whole = is_cooperative;
	return gs_launch(l);
}

HOOK(cuLaunchCooperativeKernel, KERNEL_PARAMS)
{
	void **extra = NULL;
	struct gs_launch l = KERNEL_LAUNCH(cuLaunchCooperativeKernel, false);

	return cooperative(&l);
}

HOOK(cuLaunchCooperativeKernel_ptsz, KERNEL_PARAMS)
{
	void **extra = NULL;
	struct gs_launch l = KERNEL_LAUNCH(cuLaunchCooperativeKernel_ptsz, true);

	return cooperative(&l);
}

static CUresult submit_config(const struct gs_launch *l)
{
	return ((__typeof__(&cuLaunchKernelEx))l->real)(l->config, (CUfunction)l->handle, l->params,
							l->extra);
}

/*
 * With attributes that say more than a priority, a kernel is more than its blocks. An event
 * for when its blocks have begun means those of the whole grid: of a slice it would come too
 * early, and of the last one it could come when all is over, where others who wait for it
 * are to run beside what is left. What may begin before the launch ahead of it has ended is
 * a promise about two grids.
 */
static const char *because_of(int attribute)
{
	switch (attribute) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		return NULL;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		return is_cooperative;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return "clusters";
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		return "overlaps the launch before it";
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return "an event tells when its blocks have begun";
	default:
		return "an attribute of the launch";
	}
}

static CUresult launch_config(const CUlaunchConfig *c, CUfunction f, void **params, void **extra,
			      bool twin, void *real)
{
	struct gs_launch l = {
		.submit = submit_config, .handle = f, .twin = twin, .params = params,
		.extra = extra, .config = c, .real = real,
	};
	unsigned int i;

	if (!c)
		return submit_config(&l);
	l.stream = c->hStream;
	l.grid[0] = c->gridDimX;
	l.grid[1] = c->gridDimY;
	l.grid[2] = c->gridDimZ;
	l.block[0] = c->blockDimX;
	l.block[1] = c->blockDimY;
	l.block[2] = c->blockDimZ;
	l.shared = c->sharedMemBytes;
	for (i = 0; c->attrs && i < c->numAttrs; i++) {
		if (!l.whole)
			l.whole = because_of(c->attrs[i].id);
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
		    c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
			gs_settle_all();
	}
	return gs_launch(&l);
}

HOOK(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	return launch_config(config, f, params, extra, false, (void *)REAL(cuLaunchKernelEx));
}

HOOK(cuLaunchKernelEx_ptsz, const CUlaunchConfig *config, CUfunction f, void **params,
     void **extra)
{
	return launch_config(config, f, params, extra, true,
			     (void *)REAL(cuLaunchKernelEx_ptsz));
}

/* The oldest forms: block size and parameters were given to the function before. */
static CUresult submit_oldest(const struct gs_launch *l)
{
	return ((__typeof__(&cuLaunch))l->real)((CUfunction)l->handle);
}

static CUresult submit_grid(const struct gs_launch *l)
{
	return ((__typeof__(&cuLaunchGrid))l->real)((CUfunction)l->handle, (int)l->grid[0],
						    (int)l->grid[1]);
}

static CUresult submit_grid_async(const struct gs_launch *l)
{
	return ((__typeof__(&cuLaunchGridAsync))l->real)((CUfunction)l->handle, (int)l->grid[0],
							 (int)l->grid[1], l->stream);
}

HOOK(cuLaunch, CUfunction f)
{
	struct gs_launch l = {
		.submit = submit_oldest, .handle = f, .whole = is_oldest, .grid = { 1, 1, 1 },
		.real = (void *)REAL(cuLaunch),
	};

	return gs_launch(&l);
}

HOOK(cuLaunchGrid, CUfunction f, int width, int height)
{
	struct gs_launch l = {
		.submit = submit_grid, .handle = f, .whole = is_oldest,
		.grid = { (uint32_t)width, (uint32_t)height, 1 },
		.real = (void *)REAL(cuLaunchGrid),
	};

	return gs_launch(&l);
}

HOOK(cuLaunchGridAsync, CUfunction f, int width, int height, CUstream stream)
{
	struct gs_launch l = {
		.submit = submit_grid_async, .handle = f, .whole = is_oldest, .stream = stream,
		.grid = { (uint32_t)width, (uint32_t)height, 1 },
		.real = (void *)REAL(cuLaunchGridAsync),
	};

	return gs_launch(&l);
}

/*
 * One kernel on several devices that wait for each other: all are granted first.
 * Each stream's context is its own (these are never default streams), and so must
 * be the events that are put into it.
 */
static bool enter_context(CUstream stream)
{
	CUcontext ctx = NULL;

	return !REAL(cuStreamGetCtx)(stream, &ctx) && ctx && !REAL(cuCtxPushCurrent_v2)(ctx);
}

static void leave_context(bool entered)
{
	if (entered)
		REAL(cuCtxPopCurrent_v2)(&(CUcontext){ NULL });
}

HOOK(cuLaunchCooperativeKernelMultiDevice, CUDA_LAUNCH_PARAMS *list, unsigned int n,
     unsigned int flags)
{
	struct gs_lane *lane[GS_DEVICES];
	struct gs_load load[GS_DEVICES];
	unsigned int i, known = list && n <= GS_DEVICES ? n : 0;
	bool entered;
	CUresult r;

	gs_settle_all();
	for (i = 0; i < known; i++) {
		lane[i] = gs_lane_find(list[i].hStream, false, NULL);
		if (lane[i] && !lane[i]->dev->budget.share)
			lane[i] = NULL;
		if (!lane[i]) {
			__atomic_add_fetch(&gs_past_gate, 1, __ATOMIC_RELAXED);
			continue;
		}
		load[i].ns = gs_admit(lane[i]->dev, 0);
		load[i].blocks = (uint64_t)list[i].gridDimX * list[i].gridDimY * list[i].gridDimZ;
	}
	r = REAL(cuLaunchCooperativeKernelMultiDevice)(list, n, flags);
	for (i = 0; i < known; i++) {
		if (!lane[i])
			continue;
		if (r) {
			gs_refused(lane[i]->dev, load[i].ns);
			continue;
		}
		gs_lane_submitted(lane[i], load[i]);
		entered = enter_context(list[i].hStream);
		gs_lane_mark(lane[i], NULL, load[i]);
		leave_context(entered);
	}
	return r;
}

static CUresult submit_graph(const struct gs_launch *l)
{
	return ((__typeof__(&cuGraphLaunch))l->real)((CUgraphExec)l->handle, l->stream);
}

static CUresult graph(CUgraphExec exec, CUstream stream, bool twin, void *real)
{
	struct gs_launch l = {
		.submit = submit_graph, .handle = exec, .whole = a_graph, .grid = { 1, 1, 1 },
		.stream = stream, .twin = twin, .real = real,
	};

	gs_settle_all();	/* it may record events and wait for some */
	return gs_launch(&l);
}

HOOK(cuGraphLaunch, CUgraphExec exec, CUstream stream)
{
	return graph(exec, stream, false, (void *)REAL(cuGraphLaunch));
}

HOOK(cuGraphLaunch_ptsz, CUgraphExec exec, CUstream stream)
{
	return graph(exec, stream, true, (void *)REAL(cuGraphLaunch_ptsz));
}

HOOK(cuGraphExecDestroy, CUgraphExec exec)
{
	gs_record_gone(exec);	/* before another graph can get its handle */
	return REAL(cuGraphExecDestroy)(exec);
}
