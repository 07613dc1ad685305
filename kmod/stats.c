// SPDX-License-Identifier: GPL-2.0-only
/*
 * STATS: whose counters are meant, and who may see them.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/user_namespace.h>
#include "gpushare.h"

/* A group on one device, or on all (@device NULL). */
void gs_stats_group(struct gpushare_stats *arg, const struct kgroup *group,
		    struct kdevice *device, u64 now)
{
	lockdep_assert_held(&gs.lock);
	arg->what = GPUSHARE_STATS_GROUP;
	gs_contract_stats_group(arg, group->core, device ? &device->core : NULL, now);
}

void gs_stats_device(struct gpushare_stats *arg, struct kdevice *device, u64 now)
{
	lockdep_assert_held(&gs.lock);
	arg->what = GPUSHARE_STATS_DEVICE;
	gs_contract_stats_device(arg, &device->core, now);
}

void gs_stats_client(struct gpushare_stats *arg, const struct kclient *c, u64 now)
{
	lockdep_assert_held(&gs.lock);
	arg->what = GPUSHARE_STATS_CLIENT;
	gs_contract_stats_client(arg, &c->core, c->device->id.id, now);
	arg->progress = READ_ONCE(c->said->progress);
	arg->busy_ns = READ_ONCE(c->said->busy_ns);
	arg->unscheduled = READ_ONCE(c->said->unscheduled);
	arg->state = READ_ONCE(c->core.page->word) & GPUSHARE_FLAGS_MASK;
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
	u32 what = arg->what, device = arg->device;
	int ret = gs_contract_stats_check(arg);
	u64 now, id = arg->id;
	struct cgroup *view;

	if (ret)
		return ret;
	view = gs_cgroup_view(capable(CAP_SYS_ADMIN));
	if (!view && !own && what != GPUSHARE_STATS_DEVICE)
		return -ENOENT;
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
