// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: the cgroups that were given a share, in the arbiter's tree.
 *
 * Only they, and the parts of their tenants, are nodes of the tree; a task belongs
 * to the nearest one above it, so that the deep trees that job schedulers and
 * container engines build cost nothing. The root always is one. How the tree changes
 * is in regroup.c, and who tenants are in tenant.c.
 *
 * A group holds its cgroup, as a removed cgroup's id must not be taken for a
 * living one. There is no notice of a removal, so collect() drops the groups
 * whose cgroup is gone, once they have no clients any more: every COLLECT_MS
 * while there is anything to look at, and at once when a client of a removed
 * cgroup ends. The parts of tenants that have gone are dropped there as well.
 */
#include <linux/cgroup.h>
#include <linux/workqueue.h>
#include "compat.h"
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

/* The group of @cg itself, or NULL. */
struct kgroup *gs_group_of(struct cgroup *cg)
{
	struct kgroup *group = gs_group_by_id(cgroup_id(cg));

	return group && !group->leaves ? group : NULL;
}

/* The group that @cg belongs to: its own, or that of the nearest above it. */
struct kgroup *gs_group_nearest(struct cgroup *cg)
{
	struct kgroup *group;

	for (; cg; cg = cgroup_parent(cg)) {
		group = gs_group_of(cg);
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
		if (!group->leaves && cgroup_is_descendant(group->cgroup, top))
			return group;
		if (!(n % GS_WALK))
			*now = gs_lock_anew();
	}
	return NULL;
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

/* In the group itself, as a whole. */
static bool has_clients(const struct kgroup *group)
{
	const struct gs_group *part;

	if (!list_empty(&group->core->clients))
		return true;
	list_for_each_entry(part, &group->core->children, sibling) {
		if (gs_tenant_is(part) && !list_empty(&part->clients))
			return true;
	}
	return false;
}

/* Is there nothing more to wait for? One that leaves may lack memory for it. */
static bool is_over(struct kgroup *group, u64 now)
{
	if (gs_tenant_is(group->core))
		return gs_part_is_over(group, now);
	return group->leaves || (!gs_cgroup_is_online(group->cgroup) && !has_clients(group));
}

/*
 * Drop the groups of removed cgroups that have no clients, and the parts of tenants
 * that have gone; true if there were any of the first.
 */
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
		for (n = 0; n < GS_WALK && !gone; n++) {
			next = gs_id_after(&gs.groups, id);
			if (!next)
				break;
			id = next->id;
			group = container_of(next, struct kgroup, id);
			if (!is_over(group, now))
				continue;
			if (gs_tenant_is(group->core)) {
				gs_group_take_out(group, now);
				gone = group;
			} else {
				gs_group_leave(group, &now);
				any = true;
			}
		}
		gs_unlock();
		if (gone)
			gs_group_destroy(gone);
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
	mod_delayed_work(system_percpu_wq, &collect_work, 0);
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

/* No file is open any more, so there are no clients. Parts come last, and go up to the root. */
void gs_groups_exit(void)
{
	struct kgroup *group;
	struct gs_id *next;
	u64 now;

	cancel_delayed_work_sync(&collect_work);
	now = gs_lock();
	while ((next = gs_id_after(&gs.groups, root.id.id))) {
		group = container_of(next, struct kgroup, id);
		if (!gs_tenant_is(group->core)) {
			gs_group_leave(group, &now);
			continue;
		}
		gs_group_take_out(group, now);
		gs_unlock();
		gs_group_destroy(group);
		now = gs_lock();
	}
	gs_unlock();
	/* Who left may have called for it. */
	cancel_delayed_work_sync(&collect_work);
}
