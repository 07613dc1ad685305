// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * STATS: the counters of clients, groups and devices, in the interface's words.
 *
 * The arbiter charges a holder when something happens; gs_sync() makes its counters whole
 * for the moment at which they are read.
 */
#include <linux/gpushare.h>
#include "contract.h"

int gs_contract_stats_check(const struct gpushare_stats *arg)
{
	if (arg->flags & ~GPUSHARE_GET_NEXT ||
	    arg->what < GPUSHARE_STATS_CLIENT || arg->what > GPUSHARE_STATS_DEVICE)
		return -EINVAL;
	return 0;
}

static void begin(struct gpushare_stats *arg, u64 id, u32 device, u64 now)
{
	struct gpushare_stats in = *arg;

	memset(arg, 0, sizeof(*arg));
	arg->size = in.size;
	arg->flags = in.flags;
	arg->what = in.what;
	arg->id = id;
	arg->device = device;
	arg->now_ns = now;
}

static void add_pressure(struct gpushare_stats *arg, struct gs_node *node, u64 now)
{
	struct gs_pressure_values v;
	int i;

	gs_pressure_read(node, now, &v);
	arg->some_ns += v.some_total;
	arg->full_ns += v.full_total;
	/* A mean of means says nothing: of all devices, the worst. */
	for (i = 0; i < GS_NR_AVGS; i++) {
		arg->some_avg[i] = max_t(u32, arg->some_avg[i], v.some_avg[i]);
		arg->full_avg[i] = max_t(u32, arg->full_avg[i], v.full_avg[i]);
	}
}

/* What the node's subtree used, on top of what is in @arg. */
static void add_node(struct gpushare_stats *arg, struct gs_node *node, u64 now)
{
	const struct gs_stat *stat = &node->stat;

	gs_sync(node->dev, now);
	arg->usage_ns += gs_usage(node);
	arg->wait_ns += gs_wait_time(node, now);
	arg->idle_ns += stat->idle;
	arg->throttled_ns += stat->throttled;
	arg->grants += stat->grants;
	arg->handoffs += stat->handoffs;
	arg->preempts += stat->preempts;
	arg->late += stat->preempts_late;
	arg->overruns += stat->overruns;
	arg->periods += stat->nr_periods;
	arg->throttled += stat->nr_throttled;
	arg->mem_current += node->mem.used;
	arg->mem_peak += node->mem.peak;
	arg->mem_swapped += node->mem.swapped;
	arg->mem_denied += stat->mem_denied;
	arg->mem_waits += stat->mem_waits;
	arg->mem_wait_ns += stat->mem_wait + now * node->mem.waiters - node->mem.began;
	arg->mem_wanted += node->mem.wanted;
	arg->mem_crossed += stat->mem_crossed;
	arg->mem_waiters += node->mem.waiters;
	add_pressure(arg, node, now);
}

void gs_contract_stats_group(struct gpushare_stats *arg, struct gs_group *group,
			     struct gs_device *dev, u64 now)
{
	struct gs_node *node;

	begin(arg, group->id, dev ? dev->id : GPUSHARE_ALL_DEVICES, now);
	arg->group = gs_group_whole(group)->id;
	list_for_each_entry(node, &group->nodes, of_group) {
		if (!dev || node->dev == dev)
			add_node(arg, node, now);
	}
}

void gs_contract_stats_device(struct gpushare_stats *arg, struct gs_device *dev, u64 now)
{
	begin(arg, dev->id, dev->id, now);
	add_node(arg, &dev->root, now);
}

void gs_contract_stats_client(struct gpushare_stats *arg, const struct gs_client *c, u32 device,
			      u64 now)
{
	if (c->dev)
		gs_sync(c->dev, now);
	begin(arg, c->id, device, now);
	arg->group = gs_group_whole(c->group)->id;
	arg->part = gs_tenant_is(c->group) ? c->group->id : 0;
	arg->usage_ns = gs_client_usage(c);
	arg->wait_ns = c->wait;
	if (c->state == GS_CLIENT_WAITING)
		arg->wait_ns += now - min(c->since, now);
	arg->idle_ns = c->idle_time;
	arg->grants = c->grants;
	arg->preempts = c->preempts;
	arg->late = c->preempts_late;
	arg->overruns = c->overruns;
	arg->mem_current = c->mem_used;
	arg->mem_peak = c->mem_peak;
	arg->mem_swapped = c->mem_swapped;
	arg->mem_denied = c->mem_denied;
	arg->mem_waits = c->mem_waits;
	arg->mem_wait_ns = c->mem_wait + (c->mem_wanted ? now - min(c->mem_began, now) : 0);
	arg->mem_wanted = c->mem_wanted;
	arg->mem_crossed = c->mem_crossed;
	arg->mem_waiters = !!c->mem_wanted;
	arg->since_ns = c->since;
	arg->workers = c->workers;
}
