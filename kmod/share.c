// SPDX-License-Identifier: GPL-2.0-only
/*
 * SHARE_SET and SHARE_GET: what a group may have, between the units of the
 * interface and those of the arbiter.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include "gpushare.h"

/* The interface and the arbiter count these alike. */
#define SAME(name) static_assert((GPUSHARE_##name) == (GS_##name))
SAME(SHARE_WEIGHT);
SAME(SHARE_CLASS);
SAME(SHARE_MAX);
SAME(SHARE_MIN);
SAME(SHARE_MEM_MAX);
SAME(SHARE_MEM_HIGH);
SAME(SHARE_MEM_MIN);
SAME(SHARE_ALL);
SAME(CLASS_BATCH);
SAME(CLASS_LATENCY);
SAME(CLASS_IDLE);

#define PERIOD_MIN_US	1000
#define PERIOD_MAX_US	1000000
#define MAX_MIN_US	(GS_QUOTA_MIN / NSEC_PER_USEC)

/*
 * All that the arbiter would refuse but for min. What it refuses after a member
 * was reset can't be relied on to go back: with min, others may have been
 * promised more than there is.
 */
static int check(const struct gpushare_share *arg)
{
	if (arg->mask & GPUSHARE_SHARE_WEIGHT &&
	    (arg->weight < GS_WEIGHT_MIN || arg->weight > GS_WEIGHT_MAX))
		return -ERANGE;
	if (arg->mask & GPUSHARE_SHARE_CLASS && arg->class >= GS_NR_CLASSES)
		return -ERANGE;
	if (arg->mask & GPUSHARE_SHARE_MIN && arg->min_permille > 1000)
		return -ERANGE;
	if (arg->mask & GPUSHARE_SHARE_MAX &&
	    (arg->period_us < PERIOD_MIN_US || arg->period_us > PERIOD_MAX_US ||
	     arg->max_us < MAX_MIN_US || arg->burst_us > arg->max_us ||
	     (arg->max_us != GPUSHARE_NO_LIMIT &&
	      arg->max_us > GS_SEATS_MAX * arg->period_us)))
		return -ERANGE;
	return 0;
}

static void to_core(const struct gpushare_share *arg, struct gs_share *share)
{
	gs_share_init(share);
	share->weight = arg->weight;
	share->class = arg->class;
	share->min = arg->min_permille;
	share->period = arg->period_us * NSEC_PER_USEC;
	if (arg->max_us != GPUSHARE_NO_LIMIT) {
		share->quota = arg->max_us * NSEC_PER_USEC;
		share->burst = arg->burst_us * NSEC_PER_USEC;
	}
	share->mem_max = arg->mem_max;
	share->mem_high = arg->mem_high;
	share->mem_min = arg->mem_min;
}

static void from_core(struct gpushare_share *arg, const struct gs_share *share)
{
	arg->weight = share->weight;
	arg->class = share->class;
	arg->min_permille = share->min;
	arg->max_us = share->quota == GS_UNLIMITED ? GPUSHARE_NO_LIMIT :
		share->quota / NSEC_PER_USEC;
	arg->period_us = share->period / NSEC_PER_USEC;
	arg->burst_us = share->burst / NSEC_PER_USEC;
	arg->mem_max = share->mem_max;
	arg->mem_high = share->mem_high;
	arg->mem_min = share->mem_min;
}

/* What is in force for a group, on a device that may be NULL. */
static const struct gs_share *share_of(const struct gs_group *group, const struct gs_device *dev)
{
	const struct gs_node *node = dev ? gs_node_find(group, dev) : NULL;

	return node ? &node->share : &group->share;
}

/* Which stand in the group itself and, with @below, in any below it; on @dev, or on all. */
static unsigned int clients_of(const struct gs_group *group, const struct gs_device *dev,
			       bool below)
{
	const struct gs_node *node;
	unsigned int n = 0;

	list_for_each_entry(node, &group->nodes, of_group) {
		if (!dev || node->dev == dev)
			n += below ? node->present : node->clients;
	}
	return n;
}

/*
 * What the children of @parent were given, and the clients in its tenants' parts. There
 * may be thousands of them and a dump asks for each, so the sum is kept until some
 * group is set or goes, or some client comes, moves or goes. A part counts only while
 * there are clients in it or below it.
 */
static const struct gs_sum *sum_of(struct gs_group *parent, const struct gs_device *dev)
{
	struct gs_sum *sum = &gs_kgroup(parent)->below;
	const struct gs_group *child;
	const struct gs_share *share;
	u32 id = dev ? dev->id : GPUSHARE_ALL_DEVICES;

	if (sum->settings == gs.settings && sum->device == id)
		return sum;
	*sum = (struct gs_sum) { .settings = gs.settings, .device = id };
	list_for_each_entry(child, &parent->children, sibling) {
		share = share_of(child, dev);
		if (gs_tenant_is(child)) {
			sum->clients += clients_of(child, dev, false);
			if (!clients_of(child, dev, true))
				continue;
		}
		if (share->class == GS_CLASS_IDLE)
			sum->idle += share->weight;
		else
			sum->busy += share->weight;
	}
	return sum;
}

/*
 * The part of the device that the group gets if all others want some too: at
 * each level its weight among all that compete there, which are its sibling
 * groups, the parts of tenants, and its parent's own clients if all of that is one
 * tenant's. The idle class gets what others leave.
 */
static u32 entitled(const struct gs_group *group, const struct gs_device *dev)
{
	const struct gs_share *share;
	const struct gs_sum *sum;
	u64 part = 1000 << 20;
	u64 busy;

	for (; group->parent; group = group->parent) {
		sum = sum_of(group->parent, dev);
		busy = sum->busy +
		       (u64)GS_WEIGHT_DEFAULT * clients_of(group->parent, dev, false);
		share = share_of(group, dev);
		/* A part that nobody is in, but would compete if somebody came. */
		if (gs_tenant_is(group) && !clients_of(group, dev, true))
			busy += share->weight;
		if (share->class == GS_CLASS_IDLE && busy)
			return 0;
		part = div64_u64(part * share->weight,
				 share->class == GS_CLASS_IDLE ? sum->idle : busy);
	}
	return (part + (1 << 19)) >> 20;
}

/* All of @arg's output but the path. */
void gs_share_fill(struct gpushare_share *arg, struct kgroup *group,
		   const struct kdevice *device)
{
	const struct gs_device *dev = device ? &device->core : NULL;
	const struct gs_node *node;

	lockdep_assert_held(&gs.lock);
	arg->group = group->id.id;
	arg->device = device ? device->id.id : GPUSHARE_ALL_DEVICES;
	arg->mask = group->set;
	if (dev) {
		node = gs_node_find(group->core, dev);
		arg->mask = node ? node->own : 0;
	}
	arg->reset = 0;
	from_core(arg, share_of(group->core, dev));
	arg->parent = group->core->parent ? group->core->parent->id : 0;
	arg->min_free = 0;
	arg->entitled_permille = entitled(group->core, dev);
	arg->clients = clients_of(group->core, dev, false) + sum_of(group->core, dev)->clients;
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

/* Change the group's share, wholly or not at all. */
static int apply(struct kgroup *group, struct kdevice *device, struct gpushare_share *arg, u64 now)
{
	struct gs_device *dev = device ? &device->core : NULL;
	struct gs_share share, old = *share_of(group->core, dev);
	u32 had = group->set;
	int ret = 0;

	if (dev)
		had = gs_node_find(group->core, dev)->own;
	had &= arg->reset;
	to_core(arg, &share);
	gs.settings++;
	if (arg->reset)
		ret = gs_group_unset(group->core, dev, arg->reset, now);
	if (!ret && arg->mask)
		ret = gs_group_set(group->core, dev, &share, arg->mask, now);
	if (!ret) {
		if (!dev)
			group->set = (group->set & ~arg->reset) | arg->mask;
		return 0;
	}
	if (had)
		WARN_ON_ONCE(gs_group_set(group->core, dev, &old, had, now));
	if (ret == -EINVAL)
		return -ERANGE;
	if (ret != -ENOSPC)
		return ret;
	arg->min_free = gs_min_room(group->core, dev);
	return -EBUSY;
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
	ret = apply(group, device, arg, *now);
	if (!ret)
		gs_share_fill(arg, group, device);
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
	struct cgroup *cg;
	int ret;

	if (arg->flags || (arg->mask | arg->reset) & ~GPUSHARE_SHARE_ALL ||
	    arg->mask & arg->reset)
		return -EINVAL;
	ret = check(arg);
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
		gs_share_fill(arg, group, device);
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
