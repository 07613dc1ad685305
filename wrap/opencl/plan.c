// SPDX-License-Identifier: MIT
/* How a launch that was deferred goes: whole, in slices, or by workers. */
#include "shadow.h"

static const char crowd[] = "PoCL before 6.0 may abort if launches in many queues are cut";

bool gs_launch_is_long(struct gs_device *device, const struct gs_launch *launch)
{
	if (gs_options.cut != GS_CUT_AUTO)
		return gs_cuts_all();
	return !gs_estimate_is_known(launch->estimate) ||
		gs_estimate_ns(launch->estimate, launch->total) > gs_room(&device->budget);
}

/* Counted, so once a launch. */
static void choose_way(struct gs_launch *launch, const struct gs_queue *queue)
{
	if (launch->chosen)
		return;
	launch->chosen = true;
	launch->way = gs_options.cut == GS_CUT_WORKERS ? GS_WORKERS : GS_SLICES;
	if (gs_options.cut == GS_CUT_AUTO && gs_workers_are_dealt(queue)) {
		launch->way = GS_WORKERS;
		launch->why = "others hold the device as well";
		return;
	}
	if (gs_options.cut != GS_CUT_AUTO || !launch->estimate)
		return;
	pthread_mutex_lock(&launch->kernel->lock);
	launch->way = gs_ways_choose(&launch->estimate->ways, &launch->why);
	pthread_mutex_unlock(&launch->kernel->lock);
}

static void never_by_workers(struct gs_launch *launch)
{
	pthread_mutex_lock(&launch->kernel->lock);
	if (launch->estimate)
		launch->estimate->ways.never = true;
	pthread_mutex_unlock(&launch->kernel->lock);
}

static enum gs_way way_of(struct gs_device *device, struct gs_launch *launch,
			  struct gs_queue *queue, bool build, const char **why)
{
	*why = gs_short;
	/* Without a queue it is a short one, and the grant is held: nothing may wait for it. */
	if (!queue || !gs_launch_is_long(device, launch))
		return GS_WHOLE;
	if (gs_options.cut == GS_CUT_AUTO && gs_queue_in_crowd(queue)) {
		*why = crowd;
		return GS_WHOLE;
	}
	if (!gs_cut_find(launch, queue->id, build, why))
		return GS_WHOLE;
	choose_way(launch, queue);
	if (launch->way == GS_WORKERS && !gs_workers_find(launch, queue, build, why)) {
		if (*why == gs_not_made)
			return launch->way;
		never_by_workers(launch);
		launch->way = GS_SLICES;
		launch->why = NULL;
	}
	*why = launch->way == GS_SLICES ? gs_cut_make(launch, GSX_SLICE, build) : NULL;
	if (*why)
		return GS_WHOLE;
	*why = launch->why;
	return launch->way;
}

bool gs_launch_plan(struct gs_device *device, struct gs_launch *launch, struct gs_queue *queue,
		    bool build)
{
	static const char *const names[GS_WAYS] = { "whole", "slices", "workers" };
	const char *why;
	enum gs_way way = way_of(device, launch, queue, build, &why);

	if (why == gs_not_made)
		return false;
	launch->way = way;
	launch->planned = true;
	pthread_mutex_lock(&launch->kernel->lock);
	gs_kernel_gone(launch->kernel, names[way], why);
	pthread_mutex_unlock(&launch->kernel->lock);
	return true;
}
