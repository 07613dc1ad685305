// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: the cgroups that were given a share, in the arbiter's tree.
 *
 * Only they are nodes of the tree; a task belongs to the nearest one above it,
 * so that the deep trees that job schedulers and container engines build cost
 * nothing. The root always is one. When a cgroup between two groups gets a share
 * of its own, the lower groups move below the new one; when it loses its share,
 * what was below it goes to the group above.
 *
 * A group holds its cgroup, as a removed cgroup's id must not be taken for a
 * living one. There is no notice of a removal, so collect() drops the groups
 * whose cgroup is gone, once they have no clients any more: every COLLECT_MS
 * while there is anything to look at, and at once when a client of a removed
 * cgroup ends.
 */
#include <linux/cgroup.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "gpushare.h"

#define COLLECT_MS	2000

static struct kgroup root;

static void collect(struct work_struct *work);
static DECLARE_DELAYED_WORK(collect_work, collect);

struct kgroup *gs_group_by_id(u64 id)
{
	struct gs_id *found = gs_id_find(&gs.groups, id);

	return found ? container_of(found, struct kgroup, id) : NULL;
}

/* The group that @cg belongs to: its own, or that of the nearest above it. */
struct kgroup *gs_group_nearest(struct cgroup *cg)
{
	struct kgroup *group;

	for (; cg; cg = cgroup_parent(cg)) {
		group = gs_group_by_id(cgroup_id(cg));
		if (group)
			return group;
	}
	return &root;
}

struct kgroup *gs_kgroup(struct gs_group *core)
{
	return core->parent ? container_of(core, struct kgroup, own) : &root;
}

/*
 * gs_group_after - the group with the smallest id above @id at or below @top
 * @now: the time of the lock, replaced if the lock was let go
 */
struct kgroup *gs_group_after(u64 id, struct cgroup *top, u64 *now)
{
	struct kgroup *group;
	struct gs_id *next;
	unsigned int n;

	for (n = 1; (next = gs_id_after(&gs.groups, id)); n++) {
		id = next->id;
		group = container_of(next, struct kgroup, id);
		if (cgroup_is_descendant(group->cgroup, top))
			return group;
		if (!(n % GS_WALK))
			*now = gs_lock_anew();
	}
	return NULL;
}

/*
 * gs_nodes_for - the group of a cgroup, with all its nodes on a device
 * @now: the time of the lock, replaced if the lock was let go
 *
 * Allocating a node needs the lock to be let go; then the group may have become
 * another one, or be gone, so everything is looked up anew.
 */
int gs_nodes_for(struct cgroup *cg, struct kdevice *device, u64 *now, struct kgroup **found)
{
	struct gs_node *node = NULL;
	struct gs_group *missing;
	struct kgroup *group;
	int ret = 0;

	lockdep_assert_held(&gs.lock);
	for (;;) {
		if (device->removed) {
			ret = -ENODEV;
			break;
		}
		group = gs_group_nearest(cg);
		missing = gs_group_missing(group->core, &device->core);
		if (!missing) {
			*found = group;
			break;
		}
		if (node) {
			ret = gs_node_add(node, missing, &device->core, *now);
			if (ret)
				break;
			node = NULL;
			continue;
		}
		gs_unlock();
		node = kmalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
		*now = gs_lock();
		if (!node) {
			ret = -ENOMEM;
			break;
		}
	}
	kfree(node);
	return ret;
}

/* A group that nobody knows yet. */
static struct kgroup *create(struct cgroup *cg)
{
	struct kgroup *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!group)
		return ERR_PTR(-ENOMEM);
	ret = gs_user_charge(&group->payers, GS_LIMIT_GROUPS, cg);
	if (ret) {
		kfree(group);
		return ERR_PTR(ret);
	}
	cgroup_get(cg);
	group->cgroup = cg;
	group->core = &group->own;
	group->id.id = cgroup_id(cg);
	return group;
}

/* @group was never known, or gs_group_take_out() came before. Not under the lock. */
void gs_group_destroy(struct kgroup *group)
{
	gs_user_uncharge(&group->payers, GS_LIMIT_GROUPS);
	cgroup_put(group->cgroup);
	kfree(group);
}

/* A group below @cg has a cgroup there, be it one that was removed. */
static bool has_any_below(struct cgroup *cg)
{
	return READ_ONCE(cg->nr_descendants) || READ_ONCE(cg->nr_dying_descendants);
}

/*
 * The next of @parent's children, after @child or from the first, whose cgroup
 * is below @cg.
 */
static struct gs_group *next_below(struct gs_group *parent, struct gs_group *child,
				   struct cgroup *cg)
{
	child = child ? list_next_entry(child, sibling) :
		list_first_entry(&parent->children, struct gs_group, sibling);
	list_for_each_entry_from(child, &parent->children, sibling) {
		struct kgroup *group = container_of(child, struct kgroup, own);

		if (group->cgroup != cg && cgroup_is_descendant(group->cgroup, cg))
			return child;
	}
	return NULL;
}

/*
 * The groups below the new one's cgroup go below it: they were its parent's
 * children, as that was the nearest group above them. They need it to have a
 * node where they have one. A promise (min) of theirs can stand in the way,
 * since the new group has none yet that it could divide.
 */
static int adopt(struct kgroup *group, struct list_head *nodes, u64 now)
{
	struct gs_group *parent = group->core->parent;
	struct gs_group *child, *next;
	struct gs_device *dev;
	struct gs_node *node;
	int ret = 0;

	list_for_each_entry(dev, &gs.arb.devices, of_arb) {
		if (gs_group_missing(group->core, dev) != group->core)
			continue;
		node = list_first_entry(nodes, struct gs_node, of_group);
		list_del(&node->of_group);
		ret = gs_node_add(node, group->core, dev, now);
		if (ret) {
			kfree(node);
			return ret;
		}
	}
	for (child = next_below(parent, NULL, group->cgroup); child && !ret; child = next) {
		next = next_below(parent, child, group->cgroup);
		ret = gs_group_move(child, group->core, now);
	}
	return ret;
}

static void free_nodes(struct list_head *nodes)
{
	struct gs_node *node, *next;

	list_for_each_entry_safe(node, next, nodes, of_group)
		kfree(node);
}

/* Let go of the lock and make @n nodes. */
static int make_nodes(struct list_head *nodes, unsigned int n, u64 *now)
	__must_hold(&gs.lock)
{
	struct gs_node *node = NULL;

	gs_unlock();
	for (; n; n--) {
		node = kmalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
		if (!node)
			break;
		list_add(&node->of_group, nodes);
	}
	*now = gs_lock();
	return n ? -ENOMEM : 0;
}

/* Put @group into the tree. -EAGAIN if @have nodes are too few. */
static int put_in(struct kgroup *group, struct list_head *nodes, unsigned int have, u64 now)
{
	struct kgroup *parent = gs_group_nearest(cgroup_parent(group->cgroup));
	bool adopts = has_any_below(group->cgroup) &&
		      next_below(parent->core, NULL, group->cgroup);
	int ret;

	if (adopts && have < gs.nr_devices)
		return -EAGAIN;
	ret = gs_group_add(&gs.arb, group->core, group->id.id, parent->core, now);
	if (ret)
		return ret;
	gs_id_add(&gs.groups, &group->id);
	gs.generation++;
	gs.settings++;
	if (adopts)
		ret = adopt(group, nodes, now);
	if (ret)
		gs_group_take_out(group, now);
	return ret;
}

/*
 * gs_group_make - the group of @cg itself, made if it has none
 * @now: the time of the lock, replaced if the lock was let go
 *
 * The caller takes it out again if it stays without a share.
 */
struct kgroup *gs_group_make(struct cgroup *cg, u64 *now)
{
	struct kgroup *group, *new = NULL;
	unsigned int have = 0, want;
	LIST_HEAD(nodes);
	int ret = 0;

	lockdep_assert_held(&gs.lock);
	while (!(group = gs_group_by_id(cgroup_id(cg)))) {
		if (!new) {
			gs_unlock();
			new = create(cg);
			*now = gs_lock();
			if (IS_ERR(new))
				return new;
			continue;
		}
		ret = put_in(new, &nodes, have, *now);
		if (ret == -EAGAIN) {
			want = gs.nr_devices;
			ret = make_nodes(&nodes, want - have, now);
			have = want;
		} else if (!ret) {
			new = NULL;
		}
		if (ret)
			break;
	}
	free_nodes(&nodes);
	if (new) {
		gs_unlock();
		gs_group_destroy(new);
		*now = gs_lock();
		/* It may have gone meanwhile. */
		group = gs_group_by_id(cgroup_id(cg));
	}
	if (ret)
		return ERR_PTR(ret);
	gs_collect_later();
	return group ?: ERR_PTR(-EAGAIN);
}

/* Forget @group; the caller destroys it without the lock. */
void gs_group_take_out(struct kgroup *group, u64 now)
{
	struct gs_group *core = group->core, *child;
	struct gs_client *c;

	lockdep_assert_held(&gs.lock);
	while (!list_empty(&core->clients)) {
		c = list_first_entry(&core->clients, struct gs_client, of_group);
		gs_client_move(c, core->parent, now);
	}
	while (!list_empty(&core->children)) {
		child = list_first_entry(&core->children, struct gs_group, sibling);
		gs_group_rehang(child, child->parent->parent, now);
	}
	gs_group_remove(core, now);
	gs_id_remove(&gs.groups, &group->id);
	gs.generation++;
	gs.settings++;
}

bool gs_group_is_root(const struct kgroup *group)
{
	return group == &root;
}

/* End the clients whose address space is gone; false if there are no clients. */
static bool collect_clients(void)
{
	struct kclient *c, *dead;
	struct gs_id *next;
	u64 id = 0;
	int n;

	do {
		dead = NULL;
		gs_lock();
		for (n = 0; n < GS_WALK; n++) {
			next = gs_id_after(&gs.clients, id);
			if (!next)
				break;
			id = next->id;
			c = container_of(next, struct kclient, id);
			/* The ended are out of the tree: it has its file's reference. */
			if (gs_client_is_dead(c)) {
				kref_get(&c->ref);
				dead = c;
				break;
			}
		}
		gs_unlock();
		if (dead) {
			gs_client_end(dead);
			gs_client_put(dead);
		}
		cond_resched();
	} while (next);
	return id;
}

/* Drop the groups of removed cgroups that have no clients; true if there were any. */
bool gs_collect_groups(void)
{
	struct kgroup *group, *gone;
	u64 now, id = root.id.id;
	struct gs_id *next;
	bool any = false;
	int n;

	do {
		gone = NULL;
		now = gs_lock();
		for (n = 0; n < GS_WALK; n++) {
			next = gs_id_after(&gs.groups, id);
			if (!next)
				break;
			id = next->id;
			group = container_of(next, struct kgroup, id);
			if (!gs_cgroup_is_online(group->cgroup) &&
			    list_empty(&group->core->clients)) {
				gs_group_take_out(group, now);
				gone = group;
				break;
			}
		}
		gs_unlock();
		if (gone) {
			any = true;
			gs_group_destroy(gone);
		}
		cond_resched();
	} while (next);
	return any;
}

static bool has_groups(void)
{
	bool any;

	gs_lock();
	any = gs_id_after(&gs.groups, root.id.id);
	gs_unlock();
	return any;
}

static void collect(struct work_struct *work)
{
	bool clients = collect_clients();

	gs_collect_groups();
	if (clients || has_groups())
		gs_collect_later();
}

/* There is something to look at. */
void gs_collect_later(void)
{
	schedule_delayed_work(&collect_work, msecs_to_jiffies(COLLECT_MS));
}

void gs_collect_soon(void)
{
	mod_delayed_work(system_wq, &collect_work, 0);
}

void gs_groups_init(void)
{
	root.core = &gs.arb.root;
	root.cgroup = &cgrp_dfl_root.cgrp;
	root.id.id = cgroup_id(root.cgroup);
	gs_lock();
	gs_id_add(&gs.groups, &root.id);
	gs_unlock();
}

/* No file is open any more, so there are no clients. */
void gs_groups_exit(void)
{
	struct kgroup *group;
	struct gs_id *next;
	u64 now;

	cancel_delayed_work_sync(&collect_work);
	for (;;) {
		now = gs_lock();
		next = gs_id_after(&gs.groups, root.id.id);
		if (!next)
			break;
		group = container_of(next, struct kgroup, id);
		gs_group_take_out(group, now);
		gs_unlock();
		gs_group_destroy(group);
	}
	gs_unlock();
}
