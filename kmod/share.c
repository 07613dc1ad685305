// SPDX-License-Identifier: GPL-2.0-only
/*
 * SHARE_SET and SHARE_GET: which group is meant, and who may set and see it.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include "gpushare.h"

/* All of @arg's output but the path. */
void gs_share_fill(struct gpushare_share *arg, struct kgroup *group,
		   struct kdevice *device, u64 now)
{
	lockdep_assert_held(&gs.lock);
	gs_contract_share_show(arg, group->core, device ? &device->core : NULL, group->set, now);
	gs_tenant_fill(arg, group);
}

/* As the caller sees it in its cgroup namespace. Takes locks of the kernel's own. */
void gs_share_path(struct cgroup *cg, char *path, size_t size)
{
	char *whole = kzalloc(PATH_MAX, GFP_KERNEL);

	path[0] = '\0';
	if (!whole)
		return;
	cgroup_path_ns(cg, whole, PATH_MAX, current->nsproxy->cgroup_ns);
	strscpy_pad(path, whole, size);
	kfree(whole);
}

static bool has_share(const struct kgroup *group)
{
	const struct gs_node *node;

	if (group->set || gs_group_is_root(group))
		return true;
	list_for_each_entry(node, &group->core->nodes, of_group) {
		if (node->own)
			return true;
	}
	return false;
}

/* The device that is meant, NULL for all. */
static struct kdevice *device_of(u32 id)
{
	return id == GPUSHARE_ALL_DEVICES ? NULL : gs_device_by_id(id) ?: ERR_PTR(-ENODEV);
}

/* The group is there: give it what it needs on the device, and set it. */
static int set_made(struct kgroup *group, struct cgroup *cg, struct gpushare_share *arg, u64 *now)
{
	struct kdevice *device = device_of(arg->device);
	struct gs_group *found;
	int ret;

	if (IS_ERR(device))
		return PTR_ERR(device);
	if (device) {
		kobject_get(&device->kobj);
		ret = gs_place_for(cg, 0, device, now, &found);
		kobject_put(&device->kobj);
		if (ret)
			return ret;
		/* It went while nodes were made: the caller makes it anew. */
		if (found->id != cgroup_id(cg))
			return -EAGAIN;
		group = gs_kgroup(found);
	}
	ret = gs_contract_share_apply(group->core, device ? &device->core : NULL, &group->set,
				      arg, *now);
	if (!ret)
		gs_share_fill(arg, group, device, *now);
	return ret;
}

/* What an administrator sets is one's own doing no more. */
static int make_and_set(struct cgroup *cg, struct gpushare_share *arg, u64 maker, u64 *now,
			bool *made)
{
	struct kgroup *group = gs_group_make(cg, maker, now, made);
	u64 was;
	int ret;

	if (IS_ERR(group))
		return PTR_ERR(group);
	was = group->maker;
	if (!was || maker)
		return set_made(group, cg, arg, now);
	ret = gs_group_assign(cg, 0, now);
	if (ret)
		return ret;
	ret = set_made(gs_group_of(cg), cg, arg, now);
	if (ret)
		gs_group_assign(cg, was, now);
	return ret;
}

/* Find or make the group, change it, drop it if nothing is left. */
static int try_set(struct cgroup *cg, struct gpushare_share *arg, u64 maker)
{
	bool made = false, keep = false;
	struct kgroup *group;
	u64 now = gs_lock();
	int ret;

	/* What has no share has nothing to reset. */
	if (!gs_group_of(cg) && !arg->mask) {
		ret = IS_ERR(device_of(arg->device)) ? -ENODEV : -ENOENT;
		gs_unlock();
		return ret;
	}
	do {
		ret = make_and_set(cg, arg, maker, &now, &made);
	} while (ret == -EAGAIN);
	if (!ret) {
		keep = true;
		if (made)
			ret = gs_regroup(cg, &now);
	}
	/* What is to be below it was promised more than it has. */
	if (ret == -ENOSPC) {
		arg->min_free = 0;
		ret = -EBUSY;
	}
	/* Too deep. */
	if (ret == -EINVAL)
		ret = -EUSERS;
	group = gs_group_of(cg);
	if (group && (!has_share(group) || (keep && ret)))
		gs_group_leave(group, &now);
	gs_unlock();
	return ret;
}

/* What removed cgroups had is not in the way of the living. */
static int set(struct cgroup *cg, struct gpushare_share *arg)
{
	u64 maker = capable(CAP_SYS_ADMIN) ? 0 : gs_tenant_current();
	int ret = try_set(cg, arg, maker);

	if ((ret == -EBUSY || ret == -EUSERS) && gs_collect_groups())
		ret = try_set(cg, arg, maker);
	return ret;
}

static bool names_part(const struct gpushare_share *arg)
{
	return arg->cgroup_fd == -1 && arg->group >= GPUSHARE_PART_FIRST;
}

int gs_share_set(struct gpushare_share *arg)
{
	int ret = gs_contract_share_check(arg);
	struct cgroup *cg;

	if (ret)
		return ret;
	if (names_part(arg))
		return -EINVAL;
	cg = gs_cgroup_find(arg->cgroup_fd, arg->group);
	if (IS_ERR(cg))
		return PTR_ERR(cg);
	if (cg->dom_cgrp != cg)
		ret = -EOPNOTSUPP;
	else if (!cgroup_parent(cg))
		ret = -EINVAL;
	if (!ret)
		ret = gs_cgroup_may_share(cg, arg->cgroup_fd, arg->authority_fd);
	if (!ret)
		ret = set(cg, arg);
	if (!ret)
		gs_share_path(cg, arg->path, sizeof(arg->path));
	cgroup_put(cg);
	return ret;
}

/* A tenant's part of a group that is to be seen. */
static struct kgroup *part_below(u64 id, struct cgroup *view)
{
	struct kgroup *part = gs_group_by_id(id);

	return part && cgroup_is_descendant(part->cgroup, view) ? part : NULL;
}

/* The group that GET speaks of; its cgroup is referenced in *@cg. */
static struct kgroup *find(struct gpushare_share *arg, struct cgroup *view, struct cgroup **cg,
			   u64 *now)
{
	struct kgroup *group;

	if (arg->flags & GPUSHARE_GET_NEXT)
		group = gs_group_after(arg->group, view, now);
	else if (names_part(arg))
		group = part_below(arg->group, view);
	else
		group = gs_group_of(view);
	if (group) {
		*cg = group->cgroup;
		cgroup_get(*cg);
	}
	return group;
}

/*
 * Who may not list a group may still know its share if it may set it: that is
 * told to who sets it. To have its directory open proves nothing, as everybody
 * can open all of them.
 */
static bool may_read(struct cgroup *cg, const struct gpushare_share *arg)
{
	struct cgroup *top = gs_cgroup_view(capable(CAP_SYS_ADMIN));
	bool sees = top && cgroup_is_descendant(cg, top);

	if (top)
		cgroup_put(top);
	return sees || !gs_cgroup_may_share(cg, arg->cgroup_fd, arg->authority_fd);
}

/*
 * The cgroup that is named, if the caller may read its share; what it may list for NEXT
 * and for a tenant's part.
 */
static struct cgroup *view_of(const struct gpushare_share *arg)
{
	struct cgroup *cg;

	if (arg->flags & GPUSHARE_GET_NEXT || names_part(arg))
		return gs_cgroup_view(capable(CAP_SYS_ADMIN)) ?: ERR_PTR(-ENOENT);
	cg = gs_cgroup_find(arg->cgroup_fd, arg->group);
	if (IS_ERR(cg) || may_read(cg, arg))
		return cg;
	cgroup_put(cg);
	return ERR_PTR(-ENOENT);
}

int gs_share_get(struct gpushare_share *arg)
{
	struct cgroup *view, *cg = NULL;
	struct kdevice *device;
	struct kgroup *group;
	int ret = 0;
	u64 now;

	if (arg->flags & ~GPUSHARE_GET_NEXT)
		return -EINVAL;
	view = view_of(arg);
	if (IS_ERR(view))
		return PTR_ERR(view);
	now = gs_lock();
	group = find(arg, view, &cg, &now);
	device = device_of(arg->device);
	if (IS_ERR(device))
		ret = PTR_ERR(device);
	else if (group)
		gs_share_fill(arg, group, device, now);
	else
		ret = -ENOENT;
	gs_unlock();
	cgroup_put(view);
	if (!ret)
		gs_share_path(cg, arg->path, sizeof(arg->path));
	if (cg)
		cgroup_put(cg);
	return ret;
}
