// SPDX-License-Identifier: GPL-2.0-only
/*
 * STATS: the counters of clients, groups and devices, in the interface's words.
 *
 * The arbiter charges a holder when something happens; gs_sync() makes its
 * counters whole for the moment at which they are read.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/user_namespace.h>
#include "gpushare.h"

static void add_pressure(struct gpushare_stats *arg, struct gs_node *node, u64 now)
{
	struct gs_pressure_values v;
	int i;

	gs_pressure_read(node, now, &v);
	arg->some_ns += v.some_total;
	arg->full_ns += v.full_total;
	/* A mean of means says nothing: of all devices, the worst. */
	for (i = 0; i < 3; i++) {
		arg->some_avg[i] = max(arg->some_avg[i], v.some_avg[i]);
		arg->full_avg[i] = max(arg->full_avg[i], v.full_avg[i]);
	}
}

/* What the node's subtree used, on top of what is in @arg. */
static void add_node(struct gpushare_stats *arg, struct gs_node *node, u64 now)
{
	const struct gs_stat *stat = &node->stat;

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
	add_pressure(arg, node, now);
}

/* A group on one device, or on all (@device NULL). */
void gs_stats_group(struct gpushare_stats *arg, const struct kgroup *group,
		    struct kdevice *device, u64 now)
{
	struct gs_node *node, *only = NULL;

	lockdep_assert_held(&gs.lock);
	arg->what = GPUSHARE_STATS_GROUP;
	arg->id = group->id.id;
	arg->group = gs_group_whole(group->core)->id;
	arg->device = device ? device->id.id : GPUSHARE_ALL_DEVICES;
	arg->now_ns = now;
	if (device)
		only = gs_node_find(group->core, &device->core);
	list_for_each_entry(node, &group->core->nodes, of_group) {
		if (device && node != only)
			continue;
		gs_sync(node->dev, now);
		add_node(arg, node, now);
	}
}

void gs_stats_device(struct gpushare_stats *arg, struct kdevice *device, u64 now)
{
	lockdep_assert_held(&gs.lock);
	arg->what = GPUSHARE_STATS_DEVICE;
	arg->id = device->id.id;
	arg->device = device->id.id;
	arg->now_ns = now;
	gs_sync(&device->core, now);
	add_node(arg, &device->core.root, now);
}

/* @arg is zero but for its head. */
void gs_stats_client(struct gpushare_stats *arg, const struct kclient *c, u64 now)
{
	const struct gs_client *core = &c->core;

	lockdep_assert_held(&gs.lock);
	if (core->dev)
		gs_sync(core->dev, now);
	arg->what = GPUSHARE_STATS_CLIENT;
	arg->id = c->id.id;
	arg->device = c->device->id.id;
	arg->group = gs_group_whole(core->group)->id;
	arg->part = gs_tenant_is(core->group) ? core->group->id : 0;
	arg->now_ns = now;
	arg->usage_ns = gs_client_usage(core);
	arg->wait_ns = core->wait;
	if (core->state == GS_CLIENT_WAITING)
		arg->wait_ns += now - min(core->since, now);
	arg->idle_ns = core->idle_time;
	arg->grants = core->grants;
	arg->preempts = core->preempts;
	arg->late = core->preempts_late;
	arg->overruns = core->overruns;
	arg->mem_current = core->mem_used;
	arg->mem_peak = core->mem_peak;
	arg->mem_swapped = core->mem_swapped;
	arg->mem_denied = core->mem_denied;
	arg->progress = READ_ONCE(c->said->progress);
	arg->busy_ns = READ_ONCE(c->said->busy_ns);
	arg->unscheduled = READ_ONCE(c->said->unscheduled);
	arg->since_ns = core->since;
	arg->state = READ_ONCE(c->grant->word) & GPUSHARE_FLAGS_MASK;
	arg->workers = core->workers;
	arg->pid = pid_nr_ns(c->pid, task_active_pid_ns(current));
	arg->uid = from_kuid_munged(current_user_ns(), c->uid);
	strscpy_pad(arg->comm, c->comm, sizeof(arg->comm));
}

/* May somebody who sees @view and below see the client? */
bool gs_client_is_below(const struct kclient *c, struct cgroup *view)
{
	lockdep_assert_held(&gs.lock);
	return cgroup_is_descendant(c->cgroup, view);
}

/*
 * gs_client_after - the client with the smallest id above @id that is below @view
 * @now: the time of the lock, replaced if the lock was let go
 */
struct kclient *gs_client_after(u64 id, struct cgroup *view, u64 *now)
{
	struct gs_id *next;
	struct kclient *c;
	unsigned int n;

	for (n = 1; (next = gs_id_after(&gs.clients, id)); n++) {
		id = next->id;
		c = container_of(next, struct kclient, id);
		if (gs_client_is_below(c, view))
			return c;
		if (!(n % GS_WALK))
			*now = gs_lock_anew();
	}
	return NULL;
}

static int read_client(struct gpushare_stats *arg, u64 id, bool after, struct cgroup *view,
		       const struct kclient *own, u64 now)
{
	const struct kclient *c;
	struct gs_id *found;

	if (after) {
		c = gs_client_after(id, view, &now);
	} else {
		found = gs_id_find(&gs.clients, id);
		c = found ? container_of(found, struct kclient, id) : NULL;
		/* Whoever holds the file sees its client, wherever it has gone. */
		if (c && c != own && !gs_client_is_below(c, view))
			c = NULL;
	}
	if (!c)
		return own ? -ENOTCONN : -ENOENT;
	gs_stats_client(arg, c, now);
	return 0;
}

static int read_group(struct gpushare_stats *arg, u64 id, u32 on, bool after, struct cgroup *view,
		      u64 now)
{
	struct kdevice *device = NULL;
	struct kgroup *group;

	/* First, since this may let go of the lock. */
	group = after ? gs_group_after(id, view, &now) : gs_group_by_id(id);
	if (on != GPUSHARE_ALL_DEVICES) {
		device = gs_device_by_id(on);
		if (!device)
			return -ENODEV;
	}
	if (!group || !cgroup_is_descendant(group->cgroup, view))
		return -ENOENT;
	gs_stats_group(arg, group, device, now);
	return 0;
}

static int read_device(struct gpushare_stats *arg, u64 id, u32 device_id, bool after, u64 now)
{
	struct kdevice *device = after ? gs_device_after(id) : gs_device_by_id(device_id);

	if (!device)
		return after ? -ENOENT : -ENODEV;
	gs_stats_device(arg, device, now);
	return 0;
}

/* @own is the file's client if it is that one that is asked for. */
int gs_stats_read(struct gpushare_stats *arg, const struct kclient *own)
{
	bool after = arg->flags & GPUSHARE_GET_NEXT;
	u32 size = arg->size, flags = arg->flags, what = arg->what, device = arg->device;
	struct cgroup *view;
	u64 now, id = arg->id;
	int ret;

	if (flags & ~GPUSHARE_GET_NEXT ||
	    what < GPUSHARE_STATS_CLIENT || what > GPUSHARE_STATS_DEVICE)
		return -EINVAL;
	view = gs_cgroup_view(capable(CAP_SYS_ADMIN));
	if (!view && !own && what != GPUSHARE_STATS_DEVICE)
		return -ENOENT;
	memset(arg, 0, sizeof(*arg));
	arg->size = size;
	arg->flags = flags;
	now = gs_lock();
	if (what == GPUSHARE_STATS_CLIENT)
		ret = read_client(arg, id, after, view, own, now);
	else if (what == GPUSHARE_STATS_GROUP)
		ret = read_group(arg, id, device, after, view, now);
	else
		ret = read_device(arg, id, device, after, now);
	gs_unlock();
	if (view)
		cgroup_put(view);
	return ret;
}
