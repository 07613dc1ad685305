// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree changes: a group comes between others, or goes.
 *
 * THE RULE. A group hangs below the nearest group above its cgroup; if somebody
 * without CAP_SYS_ADMIN made it, below that tenant's part of it. A client stands in its
 * tenant's part of the nearest group of its cgroup. Where all of a group is one
 * tenant's, that tenant's part of it is the group itself.
 *
 * IN STEPS. There may be thousands of groups and clients that a change displaces, and
 * the lock stops the machine's clients. So a change is made known at once, by which
 * all who come from then on follow it; then those displaced are moved to where the
 * rule has them, a few in one hold of the lock. Each step looks up everything anew, so
 * steps of several changes may mix in any order, and a group that has gone, or come
 * again, in between is no special case. Meanwhile some hang where they hung before.
 *
 *  - A group that COMES is put into the tree, empty, and given its share. Then all
 *    below its cgroup are looked at (gs_regroup()). If one can't be moved, as it was
 *    promised more than there is in the new place, the new group goes again.
 *  - A group that GOES is marked as leaving: it is nobody's nearest any more, and isn't
 *    listed. Then the groups below it are moved, the parts of its tenants, and its
 *    clients; once it is empty it is forgotten. If it is given a share meanwhile it isn't
 *    leaving any more, and whoever empties it stops. If memory is short the
 *    collector goes on with it later.
 *
 * Clients that a new group displaces follow when they next ask, as those do whose
 * processes move to another cgroup.
 *
 * Memory is allocated without the lock: who finds that some is missing lets go of it,
 * fills its spare, and looks up everything anew.
 */
#include <linux/cgroup.h>
#include <linux/slab.h>
#include "gpushare.h"

/* So many clients are moved in one hold of the lock. */
#define STEP	16

/* What a step may need: nodes, and a tenant's part. */
struct spare {
	struct list_head nodes;
	struct kgroup *part;
};

#define SPARE_INIT(name) { .nodes = LIST_HEAD_INIT((name).nodes) }

/* Let go of the lock, and see that there is one of each. */
static int fill(struct spare *spare, u64 *now)
	__must_hold(&gs.lock)
{
	struct gs_node *node = NULL;

	gs_unlock();
	cond_resched();
	if (!spare->part)
		spare->part = gs_part_alloc();
	if (list_empty(&spare->nodes))
		node = kmalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
	if (node)
		list_add(&node->of_group, &spare->nodes);
	*now = gs_lock();
	return spare->part && !list_empty(&spare->nodes) ? 0 : -ENOMEM;
}

/* Is another try worth while, after a step that lacked something? */
static bool again(int *ret, struct spare *spare, u64 *now)
	__must_hold(&gs.lock)
{
	if (*ret != -EAGAIN)
		return false;
	*ret = fill(spare, now);
	return !*ret;
}

static void drop(struct spare *spare)
{
	struct gs_node *node, *next;

	list_for_each_entry_safe(node, next, &spare->nodes, of_group)
		kfree(node);
	kfree(spare->part);
}

/* See that @place has a node on @dev, as have all above it. -EAGAIN: fill @spare. */
static int reach(struct gs_group *place, struct gs_device *dev, struct spare *spare, u64 now)
{
	struct gs_group *missing;
	struct gs_node *node;
	int ret = 0;

	while (!ret && (missing = gs_group_missing(place, dev))) {
		if (list_empty(&spare->nodes))
			return -EAGAIN;
		node = list_first_entry(&spare->nodes, struct gs_node, of_group);
		list_del(&node->of_group);
		ret = gs_node_add(node, missing, dev, now);
		if (ret)
			kfree(node);
	}
	return ret;
}

/* @tenant's part of @group, or @group itself if @tenant is 0. -EAGAIN: fill @spare. */
static int part_of(struct kgroup *group, u64 tenant, struct spare *spare, u64 now,
		   struct gs_group **part)
{
	int ret;

	*part = tenant ? gs_tenant_find(group->core, tenant) : group->core;
	if (*part)
		return 0;
	if (!spare->part)
		return -EAGAIN;
	ret = gs_part_add(spare->part, group, tenant, now);
	if (ret)
		return ret;
	*part = spare->part->core;
	spare->part = NULL;
	return 0;
}

/*
 * gs_place_for - where a client of @tenant in @cg stands on a device, with all nodes
 * @tenant: 0 for the group itself
 * @now: the time of the lock, replaced if the lock was let go
 */
int gs_place_for(struct cgroup *cg, u64 tenant, struct kdevice *device, u64 *now,
		 struct gs_group **place)
{
	struct spare spare = SPARE_INIT(spare);
	int ret;

	lockdep_assert_held(&gs.lock);
	do {
		ret = device->removed ? -ENODEV :
		      part_of(gs_group_nearest(cg), tenant, &spare, *now, place);
		if (!ret)
			ret = reach(*place, &device->core, &spare, *now);
	} while (again(&ret, &spare, now));
	drop(&spare);
	return ret;
}

/* Hang @group where it belongs. -EAGAIN: fill @spare; -ENOSPC: it was promised too much. */
static int rehang(struct kgroup *group, struct spare *spare, u64 now)
{
	struct kgroup *up = gs_group_nearest(cgroup_parent(group->cgroup));
	struct gs_group *to, *from = group->core->parent;
	struct gs_node *node;
	int ret;

	ret = part_of(up, group->maker, spare, now, &to);
	if (ret || to == from)
		return ret;
	list_for_each_entry(node, &group->core->nodes, of_group) {
		ret = reach(to, node->dev, spare, now);
		if (ret)
			return ret;
	}
	/* What goes up out of a group that leaves has nowhere else to be. */
	if (gs_kgroup(gs_group_whole(from))->leaves)
		return gs_group_rehang(group->core, to, now);
	return gs_group_move(group->core, to, now);
}

/*
 * gs_regroup - hang all groups below @cg where they belong
 * @now: the time of the lock, replaced as the lock is let go
 */
int gs_regroup(struct cgroup *cg, u64 *now)
{
	struct kgroup *group;
	struct gs_id *next;
	unsigned int n = 0;
	struct spare spare = SPARE_INIT(spare);
	int ret = 0;
	u64 id = 0;

	lockdep_assert_held(&gs.lock);
	while ((next = gs_id_after(&gs.groups, id)) && next->id < GPUSHARE_PART_FIRST) {
		group = container_of(next, struct kgroup, id);
		if (group->cgroup != cg && cgroup_is_descendant(group->cgroup, cg)) {
			ret = rehang(group, &spare, *now);
			if (again(&ret, &spare, now))
				continue;
			if (ret)
				break;
			id = group->id.id;
			n += GS_WALK / 4;
		} else {
			id = next->id;
			n++;
		}
		if (n >= GS_WALK) {
			*now = gs_lock_anew();
			n = 0;
		}
	}
	drop(&spare);
	return ret;
}

/* Some of @from's clients go to their tenant's part of @up. -EAGAIN: fill @spare. */
static int move_clients(struct gs_group *from, struct kgroup *up, struct spare *spare, u64 now)
{
	struct gs_client *c;
	struct gs_group *to;
	int n, ret = 0;

	for (n = 0; !ret && n < STEP && !list_empty(&from->clients); n++) {
		c = list_first_entry(&from->clients, struct gs_client, of_group);
		ret = part_of(up, gs_kclient(c)->tenant, spare, now, &to);
		if (!ret && c->dev)
			ret = reach(to, c->dev, spare, now);
		if (!ret)
			ret = gs_client_move(c, to, now);
	}
	return ret;
}

/* A part goes up as it is, with what it owes, if there is none of its tenant's. */
static int move_part(struct kgroup *part, struct kgroup *up, u64 now)
{
	int ret = gs_group_rehang(part->core, up->core, now);

	if (ret)
		return ret;
	cgroup_get(up->cgroup);
	cgroup_put(part->cgroup);
	part->cgroup = up->cgroup;
	return 0;
}

/* Out of the tree, with nobody in it; the caller destroys it without the lock. */
void gs_group_take_out(struct kgroup *group, u64 now)
{
	lockdep_assert_held(&gs.lock);
	WARN_ON_ONCE(gs_group_remove(group->core, now));
	gs_id_remove(&gs.groups, &group->id);
}

/*
 * One step of emptying @group, below which there are no cgroups' groups any more. What
 * was taken out is in *@gone. -EAGAIN: fill @spare.
 */
static int step_out(struct kgroup *group, struct spare *spare, struct kgroup **gone, u64 now)
{
	struct kgroup *part, *up = gs_group_nearest(group->cgroup);
	struct gs_group *core = group->core;

	if (!list_empty(&core->clients))
		return move_clients(core, up, spare, now);
	if (list_empty(&core->children)) {
		gs_group_take_out(group, now);
		*gone = group;
		return 0;
	}
	part = gs_kgroup(list_first_entry(&core->children, struct gs_group, sibling));
	if (!gs_tenant_find(up->core, part->core->tenant))
		return move_part(part, up, now);
	if (!list_empty(&part->core->clients))
		return move_clients(part->core, up, spare, now);
	gs_group_take_out(part, now);
	*gone = part;
	return 0;
}

/* What it was promised is others' to have, and its weight counts for nobody. */
static void clear_share(struct kgroup *group, u64 now)
{
	struct gs_node *node;

	group->set = 0;
	gs_group_unset(group->core, NULL, GS_SHARE_ALL, now);
	list_for_each_entry(node, &group->core->nodes, of_group)
		gs_group_unset(group->core, node->dev, GS_SHARE_ALL, now);
}

/* The group of that id, if it leaves still, or again by our doing. */
static struct kgroup *leaving(u64 id, u64 leaves)
{
	struct kgroup *group = gs_group_by_id(id);

	return group && group->leaves == leaves ? group : NULL;
}

/*
 * gs_group_leave - @group goes, with all that stands in it moved to where it belongs
 * @now: the time of the lock, replaced as the lock is let go
 */
void gs_group_leave(struct kgroup *group, u64 *now)
{
	u64 id = group->id.id, leaves = ++gs.generation;
	struct cgroup *cg = group->cgroup;
	struct kgroup *gone = NULL;
	struct spare spare = SPARE_INIT(spare);
	int ret;

	lockdep_assert_held(&gs.lock);
	group->leaves = leaves;
	clear_share(group, *now);
	cgroup_get(cg);
	ret = gs_regroup(cg, now);
	while (!ret && (group = leaving(id, leaves))) {
		ret = step_out(group, &spare, &gone, *now);
		if (again(&ret, &spare, now))
			continue;
		gs_unlock();
		if (gone)
			gs_group_destroy(gone);
		gone = NULL;
		cond_resched();
		*now = gs_lock();
	}
	drop(&spare);
	cgroup_put(cg);
	gs_collect_later();
}

/* A group that nobody knows yet. */
static struct kgroup *create(struct cgroup *cg, u64 maker)
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
	group->maker = maker;
	return group;
}

/* @group was never known, or gs_group_take_out() came before. Not under the lock. */
void gs_group_destroy(struct kgroup *group)
{
	gs_user_uncharge(&group->payers, GS_LIMIT_GROUPS);
	cgroup_put(group->cgroup);
	kfree(group);
}

static int put_in(struct kgroup *group, struct spare *spare, u64 now)
{
	struct kgroup *up = gs_group_nearest(cgroup_parent(group->cgroup));
	struct gs_group *to;
	int ret;

	ret = part_of(up, group->maker, spare, now, &to);
	if (!ret)
		ret = gs_group_add(&gs.arb, group->core, group->id.id, to, now);
	if (ret)
		return ret;
	gs_id_add(&gs.groups, &group->id);
	gs.generation++;
	return 0;
}

/* Find the group of @cg, or put @new into the tree for it. -EAGAIN: fill @spare. */
static int find_or_put(struct cgroup *cg, struct kgroup **new, u64 maker, bool *made,
		       struct spare *spare, u64 now)
{
	struct kgroup *group = gs_group_by_id(cgroup_id(cg));
	int ret;

	if (!group) {
		ret = put_in(*new, spare, now);
		if (ret)
			return ret;
		*new = NULL;
		*made = true;
	} else if (group->leaves) {
		group->leaves = 0;
		group->maker = maker;
		gs.generation++;
		*made = true;
	}
	return 0;
}

/*
 * gs_group_make - the group of @cg itself, made if it has none
 * @maker: the tenant who makes it, 0 if an administrator does
 * @now: the time of the lock, replaced if the lock was let go
 * @made: set if it has just come: the caller gives it a share, and calls gs_regroup()
 */
struct kgroup *gs_group_make(struct cgroup *cg, u64 maker, u64 *now, bool *made)
{
	struct kgroup *group = gs_group_of(cg), *new;
	struct spare spare = SPARE_INIT(spare);
	int ret;

	lockdep_assert_held(&gs.lock);
	if (group)
		return group;
	gs_unlock();
	new = create(cg, maker);
	*now = gs_lock();
	if (IS_ERR(new))
		return new;
	do {
		ret = find_or_put(cg, &new, maker, made, &spare, *now);
	} while (again(&ret, &spare, now));
	drop(&spare);
	if (new) {
		gs_unlock();
		gs_group_destroy(new);
		*now = gs_lock();
	}
	gs_collect_later();
	/* It may have gone while the lock was let go. */
	return ret ? ERR_PTR(ret) : gs_group_of(cg) ?: ERR_PTR(-EAGAIN);
}

/*
 * gs_group_assign - whose doing the group of @cg is, which says where it hangs
 * @maker: a tenant, or 0 for an administrator's
 */
int gs_group_assign(struct cgroup *cg, u64 maker, u64 *now)
{
	struct kgroup *group;
	struct spare spare = SPARE_INIT(spare);
	int ret;
	u64 was;

	lockdep_assert_held(&gs.lock);
	do {
		group = gs_group_of(cg);
		if (!group) {
			ret = -EAGAIN;
			break;
		}
		was = group->maker;
		group->maker = maker;
		ret = rehang(group, &spare, *now);
		if (ret)
			group->maker = was;
	} while (again(&ret, &spare, now));
	drop(&spare);
	return ret;
}
