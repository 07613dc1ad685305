// SPDX-License-Identifier: MIT
/*
 * Counters of clients, groups and devices. The core's lag by what present
 * holders haven't been charged yet, so a device is brought up to date first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushared.h"

#define OVERFLOW_UID 65534

/* The number that the caller knows the process by; 0 if it can't see it. */
static pid_t pid_seen_by(const struct peer *p, const struct peer *of)
{
	if (!p->foreign)
		return of->pid;
	return p->pid_ns && p->pid_ns == of->pid_ns ? of->inner_pid : 0;
}

uid_t uid_seen_by(const struct peer *p, uid_t uid)
{
	return p->foreign && uid != p->uid ? OVERFLOW_UID : uid;
}

static bool client_visible(const struct peer *p, const struct client *c)
{
	return p->admin || p == c->peer || group_visible(p, c->group);
}

static void of_client(const struct peer *p, struct client *c, struct gpushare_stats *u)
{
	const struct gs_client *core = &c->core;

	if (core->dev)
		gs_sync(core->dev, u->now_ns);
	u->device = c->grant->device;
	u->id = core->id;
	u->group = group_whole(c->group)->id;
	u->part = gs_tenant_is(c->group->node) ? c->group->id : 0;
	u->usage_ns = gs_client_usage(core);
	u->wait_ns = core->wait;
	if (core->state == GS_CLIENT_WAITING)
		u->wait_ns += d.arb.now - core->since;
	u->idle_ns = core->idle_time;
	u->grants = core->grants;
	u->preempts = core->preempts;
	u->late = core->preempts_late;
	u->overruns = core->overruns;
	u->mem_current = core->mem_used;
	u->mem_peak = core->mem_peak;
	u->mem_swapped = core->mem_swapped;
	u->mem_denied = core->mem_denied;
	u->progress = c->page->progress;
	u->busy_ns = c->page->busy_ns;
	u->unscheduled = c->page->unscheduled;
	u->since_ns = core->since;
	u->state = c->grant->word & GPUSHARE_FLAGS_MASK;
	u->pid = pid_seen_by(p, c->peer);
	u->uid = uid_seen_by(p, c->peer->uid);
	u->workers = core->workers;
	memcpy(u->comm, c->comm, sizeof(u->comm));
}

/* Adds a node's counters; averages and peaks of several devices: the largest. */
static void add_node(struct gs_node *n, struct gpushare_stats *u)
{
	struct gs_pressure_values v;
	int i;

	gs_sync(n->dev, u->now_ns);
	gs_pressure_read(n, u->now_ns, &v);
	u->usage_ns += gs_usage(n);
	u->wait_ns += gs_wait_time(n, d.arb.now);
	u->idle_ns += n->stat.idle;
	u->throttled_ns += n->stat.throttled;
	u->grants += n->stat.grants;
	u->handoffs += n->stat.handoffs;
	u->preempts += n->stat.preempts;
	u->late += n->stat.preempts_late;
	u->overruns += n->stat.overruns;
	u->periods += n->stat.nr_periods;
	u->throttled += n->stat.nr_throttled;
	u->mem_current += n->mem.used;
	u->mem_peak += n->mem.peak;
	u->mem_swapped += n->mem.swapped;
	u->mem_denied += n->stat.mem_denied;
	u->some_ns += v.some_total;
	u->full_ns += v.full_total;
	for (i = 0; i < GS_NR_AVGS; i++) {
		u->some_avg[i] = max(u->some_avg[i], v.some_avg[i]);
		u->full_avg[i] = max(u->full_avg[i], v.full_avg[i]);
	}
}

static void of_group(struct group *g, struct device *only, struct gpushare_stats *u)
{
	struct gs_node *n;
	struct device *dev;

	list_for_each_entry(dev, &d.devices, link) {
		if (only && dev != only)
			continue;
		n = gs_node_find(g->node, &dev->core);
		if (n)
			add_node(n, u);
	}
	u->id = g->id;
	u->group = group_whole(g)->id;
}

static int get_client(struct peer *p, const struct gpushare_stats *in, struct gpushare_stats *u)
{
	struct client *c;

	if (in->flags & GPUSHARE_GET_NEXT) {
		for (c = client_next(in->id); c; c = client_next(c->core.id))
			if (client_visible(p, c) && (!in->device || c->grant->device == in->device))
				break;
		if (!c)
			return -ENOENT;
	} else if (in->id) {
		c = client_find(in->id);
		if (!c || !client_visible(p, c))
			return -ENOENT;
	} else {
		c = p->client;
		if (!c)
			return -ENOTCONN;
	}
	of_client(p, c, u);
	return 0;
}

static int get_group(struct peer *p, const struct gpushare_stats *in, struct gpushare_stats *u)
{
	struct device *dev = NULL;
	struct group *g;

	if (in->device) {
		dev = device_find(in->device, NULL);
		if (!dev)
			return -ENODEV;
	}
	if (in->flags & GPUSHARE_GET_NEXT) {
		for (g = group_next(in->id); g; g = group_next(g->id))
			if (group_visible(p, g))
				break;
	} else {
		g = group_find(in->id);
	}
	if (!g || !group_visible(p, g))
		return -ENOENT;
	of_group(g, dev, u);
	return 0;
}

static int get_device(const struct gpushare_stats *in, struct gpushare_stats *u)
{
	struct device *dev, *found = NULL;

	list_for_each_entry(dev, &d.devices, link)
		if (!found && (in->flags & GPUSHARE_GET_NEXT ? dev->core.id > in->device :
			       dev->core.id == in->device))
			found = dev;
	if (!found)
		return in->flags & GPUSHARE_GET_NEXT ? -ENOENT : -ENODEV;
	add_node(&found->core.root, u);
	u->device = (uint32_t)found->core.id;
	u->id = found->core.id;
	return 0;
}

int stats_get(struct peer *p, struct gpushare_stats *u)
{
	struct gpushare_stats in = *u;
	int err;

	if (in.flags & ~GPUSHARE_GET_NEXT)
		return -EINVAL;
	memset(u, 0, sizeof(*u));
	u->size = in.size;
	u->what = in.what;
	u->device = in.device;
	u->now_ns = now_ns();
	switch (in.what) {
	case GPUSHARE_STATS_CLIENT:
		err = get_client(p, &in, u);
		break;
	case GPUSHARE_STATS_GROUP:
		group_collect(p, false);
		err = get_group(p, &in, u);
		break;
	case GPUSHARE_STATS_DEVICE:
		err = get_device(&in, u);
		break;
	default:
		err = -EINVAL;
	}
	return err;
}
