// SPDX-License-Identifier: MIT
/*
 * Cutting a launch: when, and into what.
 *
 * A kernel is cut if it would run for more than twice what may be in flight
 * ("wrap/launch/budget.c"), by what was measured of it. A grid that fits on the device in one wave
 * goes whole, as its blocks may wait for each other; so does a kernel that waits
 * for memory to change (GSX_WAITS): what it waits for may be another process of the
 * same job, and pausing one of them in the middle would hold up both.
 *
 * Slices are the rule: boxes of the grid in ascending order on the program's own
 * stream, each for half of what may be in flight, so that two are and the
 * device doesn't run dry between them. Each asks the gate. cuLaunchKernel() returns
 * when the first is in the stream; the others are left to the feeder (rest.c).
 *
 * Kernels of a holder that may only have so many workers (a device with several
 * seats), and those that slices can't be had of there, run by tickets (guarded
 * launches, workers): the whole remaining grid goes to the device, and a word that
 * we write when the device is asked back stops it at the next block. What comes next
 * in the stream goes to the driver when it has ended, since only then is known that
 * nothing is left to run before.
 *
 * What was never measured: if the grid is big, a small slice goes first and is
 * timed. GPUSHARE_CUT ("wrap/launch/option.h") may force a way, small parts and stops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulib/clock.h"
#include "wrap/launch/box.h"
#include "wrap/launch/option.h"
#include "cut.h"
#include "image.h"
#include "rest.h"

static const char *const ways[GSX_MODES] = { "slices", "guarded", "workers" };

#define NO_MODE	GSX_MODES

#define AREA_SLOTS	16384u

/* In host memory that is mapped for the device. */
struct words {
	uint32_t stop, quota, next;
};

/* What launches by tickets need on the device; a context keeps it to use it again. */
struct gs_area {
	struct gs_area *next;		/* unused ones of a context, or all that run */
	const struct gs_device *dev;	/* that it runs on */
	CUdeviceptr queue, slots;
	struct words *words;
	CUdeviceptr words_there;
	CUevent done;
};

/* A launch that is cut, as far as it went. */
struct cut {
	struct gs_work work;	/* the first member */
	struct gs_lane *lane;
	struct gs_record *record;
	const struct gs_launch *l;	/* the program's, then that in kept */
	struct gs_kept kept;
	const struct gs_image_kernel *kernel;
	unsigned int mode;
	const void *variant;
	const struct gs_shared *shared;	/* to be done yet */
	struct gsx_launch hidden;
	size_t hidden_bytes;
	size_t given_bytes;	/* of the program's buffer */
	uint64_t total, full;
	uint64_t at;		/* blocks that went to the device, or by tickets: that ended */
	uint64_t measured_by;	/* a first slice is measured until then */
	struct gs_area *area;
	bool running;		/* by tickets, and its end wasn't seen yet */
	bool impossible;	/* it can't be cut, and nothing was done */
};

static struct gs_area *running;	/* gs_poll */

static bool is_automatic(void)
{
	return gs_options.cut == GS_CUT_AUTO && !gs_options.random;
}

/* The mode that each launch is to be cut with, NO_MODE: any. */
static uint32_t forced_mode(void)
{
	switch (gs_options.cut) {
	case GS_CUT_SLICE:
		return GSX_SLICE;
	case GS_CUT_GUARD:
		return GSX_GUARD;
	case GS_CUT_WORKERS:
		return GSX_WORKERS;
	default:
		return NO_MODE;
	}
}

/* Tickets are for devices with more than one seat: each variant costs loading time. */
uint32_t gs_cut_modes(const struct gs_device *dev)
{
	uint32_t forced = forced_mode();

	if (gs_cuts_nothing() || !dev->budget.share)
		return 0;
	if (forced != NO_MODE)
		return GSX_BIT(forced);
	return gs_options.random || __atomic_load_n(&dev->budget.workers, __ATOMIC_RELAXED) ?
		GSX_ALL_MODES : GSX_BIT(GSX_SLICE);
}

/* What %gridid reads: another number for each launch of the program. */
static uint64_t next_gridid(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static uint64_t block_ps(const struct gs_record *r)
{
	return __atomic_load_n(&r->block_ps, __ATOMIC_RELAXED);
}

/* Blocks that are on the device at the same time. */
static uint64_t wave(const struct cut *c)
{
	uint32_t threads = c->l->block[0] * c->l->block[1] * c->l->block[2];
	int n = 0;

	if (REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&n, (CUfunction)c->l->handle,
							      (int)threads, c->l->shared) || n < 1)
		n = 32;
	return (uint64_t)n * c->lane->dev->units;
}

static uint32_t attribute(const struct cut *c, int what)
{
	int value = gs_attribute(c->record, c->l->handle, what, c->lane->dev->ordinal);

	return value > 0 ? (uint32_t)value : 0;
}

/* For the arbiter, of the program's own kernel. A block alone takes as long as a wave. */
static void describe(const struct cut *c)
{
	uint32_t threads = c->l->block[0] * c->l->block[1] * c->l->block[2];
	struct gpushare_describe d = {
		.threads = threads,
		.registers = threads * attribute(c, CU_FUNC_ATTRIBUTE_NUM_REGS),
		.local_bytes = c->l->shared + attribute(c, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
		.groups = c->total,
		.group_ns = block_ps(c->record) * c->full / 1000,
	};

	gs_describe(c->lane->dev->budget.share, &c->lane->dev->budget.told, &d);
}

/* What the program gave may be gone when the last part is launched. */
static bool keep(struct cut *c)
{
	const struct gs_image_kernel *k = c->kernel;

	if (k->n_params > GS_MAX_PARAMS ||
	    !gs_keep(&c->kept, c->l, gs_image_sizes(k), k->n_params,
		     k->hidden_offset + sizeof(c->hidden)) ||
	    (c->kept.buffer && c->kept.buffer_bytes < k->param_bytes))
		return false;
	c->given_bytes = c->kept.buffer_bytes;
	c->l = &c->kept.l;
	return true;
}

static CUresult launch_part(struct cut *c, struct gs_record *timed, const uint32_t grid[3],
			    uint64_t blocks)
{
	struct gs_launch part = *c->l;
	CUlaunchConfig config;

	part.handle = c->variant;
	memcpy(part.grid, grid, sizeof(part.grid));
	if (c->kept.buffer) {
		memcpy((char *)c->kept.buffer + c->kernel->hidden_offset, &c->hidden,
		       c->hidden_bytes);
		c->kept.buffer_bytes = c->kernel->hidden_offset + c->hidden_bytes;
	} else {
		c->kept.params[c->kernel->n_params] = &c->hidden;
	}
	if (c->l->config) {
		config = *c->l->config;
		config.gridDimX = grid[0];
		config.gridDimY = grid[1];
		config.gridDimZ = grid[2];
		part.config = &config;
	}
	return gs_launch_part(c->lane, timed, &part, blocks);
}

/* How many blocks for half the room, but a device full at least. */
static uint64_t slice_blocks(const struct cut *c, uint64_t full)
{
	uint64_t ps = block_ps(c->record), n;

	if (gs_options.random)
		return 1 + gs_draw(c->total);
	if (gs_options.cut == GS_CUT_SLICE)
		return c->lane->dev->units;
	if (!ps)
		return 2 * c->lane->dev->units;
	n = gs_room(&c->lane->dev->budget) * 500 / ps;
	return n > full ? n : full;
}

static enum gs_step slices(struct cut *c, CUresult *r)
{
	const uint32_t *grid = c->l->grid;
	struct gs_box box;
	uint32_t n[3];
	uint64_t most;
	int i;

	/* A first slice shows how long the kernel takes; for a slice at most. */
	if (c->measured_by && !block_ps(c->record) && gs_now() < c->measured_by) {
		gs_reap(c->lane->dev);
		return GS_LATER;
	}
	c->measured_by = 0;
	c->hidden_bytes = GSX_SLICE_BYTES;
	memcpy(c->hidden.grid, grid, sizeof(c->hidden.grid));
	most = slice_blocks(c, c->full);
	if (most > c->total - c->at)
		most = c->total - c->at;
	gs_box_at((uint64_t [3]){ grid[0], grid[1], grid[2] }, c->at, most, &box);
	for (i = 0; i < 3; i++) {
		c->hidden.base[i] = (uint32_t)box.base[i];
		n[i] = (uint32_t)box.n[i];
	}
	*r = launch_part(c, c->record, n, box.total);
	if (*r) {
		c->impossible = !c->at;
		return GS_DONE;
	}
	if (!c->at && !block_ps(c->record))
		c->measured_by = gs_now() + gs_slice(&c->lane->dev->budget);
	c->at += box.total;
	return c->at < c->total ? GS_AGAIN : GS_DONE;
}

/* One that lacks something is taken last: what was refused once may be refused again. */
static void area_put(struct gs_context *context, struct gs_area *a)
{
	struct gs_area **at = &context->areas;

	pthread_mutex_lock(&gs_poll);
	while (*at && !a->done)
		at = &(*at)->next;
	a->next = *at;
	*at = a;
	pthread_mutex_unlock(&gs_poll);
}

static struct gs_area *area_get(struct gs_context *context)
{
	struct gs_area *a;

	pthread_mutex_lock(&gs_poll);
	a = context->areas;
	if (a)
		context->areas = a->next;
	pthread_mutex_unlock(&gs_poll);
	if (!a)
		a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	if ((!a->queue && REAL(cuMemAlloc_v2)(&a->queue, sizeof(struct gsx_queue) +
					      AREA_SLOTS * sizeof(struct gsx_slot))) ||
	    (!a->words && REAL(cuMemHostAlloc)((void **)&a->words, 4096,
					       CU_MEMHOSTALLOC_PORTABLE |
					       CU_MEMHOSTALLOC_DEVICEMAP)) ||
	    (!a->words_there &&
	     REAL(cuMemHostGetDevicePointer_v2)(&a->words_there, a->words, 0)) ||
	    (!a->done && REAL(cuEventCreate)(&a->done, CU_EVENT_DISABLE_TIMING))) {
		area_put(context, a);	/* what it got is for the next try */
		return NULL;
	}
	a->slots = a->queue + sizeof(struct gsx_queue);
	return a;
}

static void area_runs(struct gs_area *a, const struct gs_device *dev)
{
	pthread_mutex_lock(&gs_poll);
	a->dev = dev;
	a->next = running;
	running = a;
	pthread_mutex_unlock(&gs_poll);
}

static void area_ended(struct gs_area *a)
{
	struct gs_area **at;

	pthread_mutex_lock(&gs_poll);
	for (at = &running; *at && *at != a; at = &(*at)->next)
		;
	if (*at)
		*at = a->next;
	pthread_mutex_unlock(&gs_poll);
}

void gs_areas_stop(const struct gs_device *dev)
{
	struct gs_area *a;

	pthread_mutex_lock(&gs_poll);
	for (a = running; a; a = a->next)
		if (a->dev == dev)
			__atomic_store_n(&a->words->stop, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&gs_poll);
}

static bool tickets_begin(struct cut *c)
{
	struct gs_area *a = area_get(c->lane->context);

	c->area = a;
	if (!a || gsx_launch_init(&c->hidden, c->l->grid))
		return false;
	c->hidden_bytes = GSX_LAUNCH_BYTES;
	c->hidden.gridid = next_gridid();
	c->hidden.queue = a->queue;
	c->hidden.slots = a->slots;
	c->hidden.stop = a->words_there + offsetof(struct words, stop);
	c->hidden.quota = a->words_there + offsetof(struct words, quota);
	c->hidden.progress = a->queue + offsetof(struct gsx_queue, done);
	return !REAL(cuMemsetD8Async)(a->queue, 0, sizeof(struct gsx_queue), c->lane->stream);
}

/* How many of them, with what is free for us. */
static uint64_t tickets_size(const struct cut *c)
{
	uint64_t n = c->total - c->at, most;

	gs_note_workers(&c->lane->dev->budget);
	most = __atomic_load_n(&c->lane->dev->budget.workers, __ATOMIC_RELAXED);
	if (c->mode == GSX_WORKERS && n > c->full)
		n = c->full;
	if (c->mode == GSX_WORKERS && most && n > most)
		n = most;
	if (n > AREA_SLOTS)
		n = AREA_SLOTS;
	return gs_options.random ? 1 + gs_draw(n) : n;
}

/* Looks whether a launch by tickets has ended; it is stopped if the device is asked back. */
static enum gs_step tickets_look(struct cut *c, CUresult *r)
{
	struct gs_area *a = c->area;
	uint64_t done;

	*r = REAL(cuEventQuery)(a->done);
	if (*r == CUDA_ERROR_NOT_READY) {
		*r = CUDA_SUCCESS;
		if (!gpushare_may_run(c->lane->dev->budget.share) ||
		    (gs_options.random && !gs_draw(8)))
			__atomic_store_n(&a->words->stop, 1, __ATOMIC_RELAXED);
		return GS_LATER;
	}
	area_ended(a);
	c->running = false;
	if (*r) {	/* the context's, and said where it asks next */
		*r = CUDA_SUCCESS;
		return GS_DONE;
	}
	done = gsx_queue_done(a->words->next, (uint32_t)c->total);
	gpushare_progress(c->lane->dev->budget.share, done - c->at, 0);
	c->at = done;
	return c->at < c->total ? GS_AGAIN : GS_DONE;
}

static enum gs_step tickets(struct cut *c, CUresult *r)
{
	uint32_t grid[3] = { 1, 1, 1 };
	struct gs_area *a;

	if (c->running)
		return tickets_look(c, r);
	if (!c->area && !tickets_begin(c)) {
		c->impossible = true;
		return GS_DONE;
	}
	a = c->area;
	a->words->quota = UINT32_MAX;
	__atomic_store_n(&a->words->stop, 0, __ATOMIC_RELEASE);
	grid[0] = (uint32_t)tickets_size(c);
	*r = launch_part(c, NULL, grid, 0);	/* which blocks it does is known later */
	if (*r) {
		c->impossible = !c->at;
		return GS_DONE;
	}
	*r = REAL(cuMemcpyDtoHAsync_v2)(&a->words->next, a->queue, 4, c->lane->stream);
	if (!*r)
		*r = REAL(cuEventRecord)(a->done, c->lane->stream);
	if (*r) {	/* how far it comes can't be known, nor when what it has is free again */
		c->area = NULL;
		free(a);
		return GS_DONE;
	}
	area_runs(a, c->lane->dev);
	c->running = true;
	return GS_AGAIN;
}

/* The original's variables that it reaches, as they are when the kernel begins. */
static bool share(struct cut *c)
{
	const struct gs_shared *s = c->shared;
	const struct gs_image_kernel *k = c->record->as[c->mode];
	const struct gs_image_variable *v;
	const struct gs_table *written = NULL, *t;
	uint32_t n = gs_image_n_reached(s->image, k), i, at;

	c->shared = NULL;
	for (i = 0; i < n; i++) {
		at = gs_image_reached(k, i);
		v = &gs_image_variables(s->image)[at];
		t = &s->tables[v->part];
		if (v->slot == GSX_CONSTANT) {
			if (REAL(cuMemcpyDtoDAsync_v2)(s->places[at].to, s->places[at].from,
						       v->bytes, c->lane->stream))
				return false;
		} else if (t != written) {
			if (REAL(cuMemcpyHtoDAsync_v2)(t->to, t->addresses, t->bytes,
						       c->lane->stream))
				return false;
			written = t;
		}
	}
	return true;
}

static enum gs_step step(struct cut *c, CUresult *r)
{
	enum gs_step s;

	if (c->shared && !share(c)) {
		c->impossible = true;
		return GS_DONE;
	}
	s = c->mode == GSX_SLICE ? slices(c, r) : tickets(c, r);

	if (s == GS_DONE && !c->impossible)
		gpushare_launched(c->record->title, ways[c->mode], NULL);
	return s;
}

static void cut_free(struct gs_work *w)
{
	struct cut *c = (struct cut *)w;

	if (c->area)
		area_put(c->lane->context, c->area);
	gs_kept_free(&c->kept);
	free(c);
}

/* As the feeder does it. */
static enum gs_step cut_step(struct gs_work *w)
{
	struct cut *c = (struct cut *)w;
	CUresult r = CUDA_SUCCESS;
	enum gs_step s = step(c, &r);

	if (s == GS_DONE && c->impossible) {
		c->kept.buffer_bytes = c->given_bytes;
		r = gs_launch_part(c->lane, c->record, c->l, c->total);
	}
	w->late = r;
	/* Only for as long as this is in the list does its context stay. */
	if (s == GS_DONE && c->area) {
		area_put(c->lane->context, c->area);
		c->area = NULL;
	}
	return s;
}

/* For twice the room: its variants have to be made and loaded, which must be worth it. */
static bool is_long(struct gs_device *dev, uint64_t ps, uint64_t blocks)
{
	uint64_t ns = ps * blocks / 1000;

	return ns > 2 * gs_least_room(&dev->budget) && ns > 2 * gs_room(&dev->budget);
}

/* It runs long; or was never measured, and has a big grid. */
static bool is_worth_it(const struct cut *c, uint64_t full)
{
	uint64_t ps = block_ps(c->record);

	if (c->total <= full) {
		gs_whole_because(c->record, "one wave");
		return false;
	}
	return ps ? is_long(c->lane->dev, ps, c->total) : c->total >= 16 * full;
}

/* The mode to cut it with; NO_MODE: not at all. */
static unsigned int choose(struct cut *c, uint64_t full, const void **variant)
{
	uint32_t have = 0, m, order[GSX_MODES] = { GSX_SLICE, GSX_GUARD, GSX_WORKERS };
	uint32_t forced = forced_mode();
	uint32_t dealt = __atomic_load_n(&c->lane->dev->budget.workers, __ATOMIC_RELAXED);
	const uint32_t *block = c->l->block;

	if (is_automatic() && dealt && dealt < full) {
		order[0] = GSX_WORKERS;
		order[2] = GSX_SLICE;
	}
	for (m = 0; m < GSX_MODES; m++)
		have |= c->kernel->variant[m] ? GSX_BIT(m) : 0;
	if (c->total > GSX_MAX_BLOCKS)
		have &= GSX_BIT(GSX_SLICE);
	if ((c->kernel->needs & GSX_NEEDS_ROWS) && block[0] % 32 &&
	    (block[1] != 1 || block[2] != 1))
		have &= ~GSX_BIT(GSX_WORKERS);
	if (forced != NO_MODE)
		have &= GSX_BIT(forced);
	if (gs_options.random)
		order[0] = (uint32_t)gs_draw(GSX_MODES);
	for (m = 0; m < GSX_MODES; m++) {
		if (!(have & GSX_BIT(order[m])))
			continue;
		*variant = gs_variant(c->record, order[m], c->lane->dev);
		if (*variant)
			return order[m];
	}
	return NO_MODE;
}

/* All of it, by this thread. */
static void finish(struct cut *c, CUresult *r)
{
	enum gs_step s;
	uint32_t n = 0;

	while ((s = step(c, r)) != GS_DONE) {
		if (s == GS_LATER)
			gs_pause(n++);
		else
			n = 0;
	}
}

/* Puts it into its stream; false: it is to be launched whole, and nothing was done. */
static bool put(struct cut *c, CUresult *r)
{
	enum gs_place place = gs_rest_put(c->lane, &c->work, true,
					  gs_is_like_before(c->record, c->l));
	bool cut;

	*r = CUDA_SUCCESS;
	if (place == GS_BEHIND)
		return true;
	if (place == GS_NOT_PUT) {
		finish(c, r);
	} else if (step(c, r) != GS_DONE) {
		gs_rest_go(&c->work);
		return true;
	} else {
		gs_rest_drop(&c->work);
	}
	cut = !c->impossible;
	cut_free(&c->work);
	return cut;
}

static bool cut_launch(struct gs_lane *lane, struct gs_record *record, const struct gs_launch *l,
		       uint64_t total, CUresult *result)
{
	struct cut c = {
		.work.step = cut_step, .work.free = cut_free,
		.lane = lane, .record = record, .l = l, .total = total,
	}, *own;

	c.full = wave(&c);
	if (is_automatic() && !is_worth_it(&c, c.full))
		return false;
	describe(&c);
	c.kernel = gs_record_kernel(record, lane->dev);
	if (!c.kernel)
		return false;
	gs_whole_because(record, "waits for memory to change");
	if (c.kernel->flags & GSX_WAITS)
		return false;
	gs_whole_because(record, "no variant to be used");
	c.mode = choose(&c, c.full, &c.variant);
	if (c.mode < GSX_MODES) {
		gs_whole_because(record, "a variable that it reaches can't be found");
		if (!gs_shared(record, c.mode, lane->context, &c.shared))
			return false;
	}
	own = c.mode < GSX_MODES ? malloc(sizeof(*own)) : NULL;
	if (!own)
		return false;
	*own = c;
	own->hidden.gridid = next_gridid();
	if (keep(own))
		return put(own, result);
	cut_free(&own->work);
	return false;
}

bool gs_cut_launch(struct gs_lane *lane, struct gs_record *record, const struct gs_launch *l,
		   CUresult *result)
{
	uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	int mode = CU_STREAM_CAPTURE_RELAXED;
	bool cut;

	gs_whole_because(record, "short");
	if (total < 2 || __atomic_load_n(&gs_captures, __ATOMIC_RELAXED))
		return false;
	/* What is known to be short is out quickly. */
	if (is_automatic() && block_ps(record) && !is_long(lane->dev, block_ps(record), total))
		return false;
	/*
	 * When another thread's capture begins meanwhile, the driver refuses to load modules, to
	 * allocate and to tell, unless this one says that it knows what it does.
	 */
	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	cut = cut_launch(lane, record, l, total, result);
	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return cut;
}

void gs_areas_gone(struct gs_context *context)
{
	struct gs_area *a;

	while ((a = context->areas)) {
		context->areas = a->next;
		free(a);
	}
}
