// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Devices, groups, nodes and clients come and go, at any moment and in any
 * state. Nothing that was counted is lost: a node's counters include all that
 * was ever below it.
 */
#include "internal.h"

static void node_init(struct gs_node *node, struct gs_group *group, struct gs_device *dev,
		      struct gs_node *up, u64 now)
{
	memset(node, 0, sizeof(*node));
	node->group = group;
	node->dev = dev;
	node->up = up;
	node->share = group->share;
	INIT_LIST_HEAD(&node->spent);
	INIT_LIST_HEAD(&node->parked);
	gs_entity_init(&node->entity, GS_KIND_NODE, up, group->share.weight, group->share.class);
	node->behind.kind = GS_KIND_BEHIND;
	gs_pressure_init(&node->pressure, now);
	list_add_tail(&node->of_group, &group->nodes);
	if (up)
		list_add_tail(&node->of_device, &dev->nodes);
	else
		INIT_LIST_HEAD(&node->of_device);
}

int gs_device_add(struct gs_arbiter *arb, struct gs_device *dev, u64 id,
		  const struct gs_device_conf *conf, u64 now)
{
	int ret = gs_device_conf_check(conf);

	if (ret)
		return ret;
	now = gs_enter(arb, now);
	memset(dev, 0, sizeof(*dev));
	dev->id = id;
	dev->arb = arb;
	dev->conf = *conf;
	dev->policy = &gs_policies[conf->policy];
	dev->armed = GS_NEVER;
	dev->epoch_start = now;
	dev->epoch_end = now + conf->epoch;
	dev->goal = 1000;
	dev->shortest = 1000;
	dev->dealt = 1;
	INIT_LIST_HEAD(&dev->holders);
	INIT_LIST_HEAD(&dev->idle);
	INIT_LIST_HEAD(&dev->over);
	INIT_LIST_HEAD(&dev->nodes);
	INIT_LIST_HEAD(&dev->spent);
	INIT_LIST_HEAD(&dev->leaving);
	node_init(&dev->root, &arb->root, dev, NULL, now);
	list_add_tail(&dev->of_arb, &arb->devices);
	gs_tell(arb, GS_EV_DEVICE, dev, NULL, NULL, 0, 0);
	return 0;
}

/* The core is done with the node, which has nothing below it any more. */
static void node_drop(struct gs_node *node, u64 now)
{
	struct gs_arbiter *arb = node->dev->arb;

	if (node->throttled_at)
		gs_unthrottle(node, now);
	if (node->min)
		gs_min_set(node, 0);
	node->dev->nr_capped -= node->limited;
	list_del_init(&node->of_group);
	list_del_init(&node->of_device);
	if (arb->ops->node_free)
		arb->ops->node_free(arb, node);
}

static void client_gone(struct gs_client *c, u64 now)
{
	if (c->state == GS_CLIENT_WAITING)
		gs_any_clear(c, now);
	if (c->state != GS_CLIENT_IDLE)
		gs_to_idle(c, now);
	c->state = GS_CLIENT_GONE;
	c->flags = GS_GONE;
	c->epoch++;
	list_del_init(&c->of_device);
	list_del_init(&c->of_leaving);
	c->node->clients--;
	c->dev = NULL;
	c->node = NULL;
	gs_dirty(c);
}

void gs_device_remove(struct gs_device *dev, u64 now)
{
	struct list_head *lists[] = { &dev->holders, &dev->over, &dev->idle };
	struct gs_arbiter *arb = dev->arb;
	struct gs_node *node, *n;
	unsigned int i;

	now = gs_enter(arb, now);
	gs_tell(arb, GS_EV_DEVICE_GONE, dev, NULL, NULL, 0, 0);
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		while (!list_empty(lists[i]))
			client_gone(list_first_entry(lists[i], struct gs_client, of_device), now);
	list_for_each_entry_safe(node, n, &dev->nodes, of_device)
		node_drop(node, now);
	list_del_init(&dev->root.of_group);
	list_del_init(&dev->of_arb);
	gs_leave(arb);
}

static unsigned int group_depth(const struct gs_group *group)
{
	unsigned int depth = 0;

	for (; group->parent; group = group->parent)
		depth++;
	return depth;
}

int gs_group_add(struct gs_arbiter *arb, struct gs_group *group, u64 id,
		 struct gs_group *parent, u64 now)
{
	if (parent->arb != arb)
		return -EXDEV;
	if (group_depth(parent) >= GS_DEPTH_MAX)
		return -EINVAL;
	gs_enter(arb, now);
	memset(group, 0, sizeof(*group));
	group->id = id;
	group->arb = arb;
	group->parent = parent;
	gs_share_init(&group->share);
	INIT_LIST_HEAD(&group->nodes);
	INIT_LIST_HEAD(&group->children);
	INIT_LIST_HEAD(&group->clients);
	list_add_tail(&group->sibling, &parent->children);
	gs_tell(arb, GS_EV_GROUP, NULL, group, NULL, parent->id, 0);
	return 0;
}

struct gs_node *gs_node_find(const struct gs_group *group, const struct gs_device *dev)
{
	struct gs_node *node;

	list_for_each_entry(node, &group->nodes, of_group)
		if (node->dev == dev)
			return node;
	return NULL;
}

struct gs_group *gs_group_missing(struct gs_group *group, struct gs_device *dev)
{
	struct gs_group *missing = NULL;

	for (; group && !gs_node_find(group, dev); group = group->parent)
		missing = group;
	return missing;
}

int gs_node_add(struct gs_node *node, struct gs_group *group, struct gs_device *dev, u64 now)
{
	struct gs_node *up;

	if (group->arb != dev->arb)
		return -EXDEV;
	if (gs_node_find(group, dev))
		return -EEXIST;
	up = group->parent ? gs_node_find(group->parent, dev) : NULL;
	if (!up)
		return -ENOENT;
	now = gs_enter(dev->arb, now);
	node_init(node, group, dev, up, now);
	gs_quota_set(node, now);
	gs_node_inherit(node);
	if (node->share.min)
		gs_node_refresh(up);
	return 0;
}

/*
 * Hang an entity and what it stands for below another node, which is on the
 * way to the root of the old one or anywhere else. Its lag goes with it.
 */
void gs_entity_move(struct gs_device *dev, struct gs_entity *e, struct gs_node *to)
{
	bool queued = e->queued, active = e->active;
	s64 ahead = gs_fair_ahead(e);

	if (queued)
		gs_path_dequeue(dev, e);
	if (active)
		gs_path_deactivate(dev, e);
	e->up = to;
	e->link.val = gs_queue_time(gs_queue_of(e)) + ahead;
	gs_deadline_forget(e);
	if (active)
		gs_path_activate(dev, e);
	if (queued)
		gs_path_enqueue(dev, e, true);
}

static void client_move(struct gs_client *c, struct gs_group *group, struct gs_node *to, u64 now)
{
	struct gs_device *dev = c->dev;
	struct gs_node *from = c->node;
	int running = c->state == GS_CLIENT_RUNNING;
	int waiting = c->state == GS_CLIENT_WAITING;
	int over = c->state == GS_CLIENT_OVER;
	u64 old = c->group->id;

	if (running || over)
		gs_charge(c, now);
	gs_entity_move(dev, &c->entity, to);
	gs_path_count(from, -running, -waiting);
	gs_path_count(to, running, waiting);
	if (over) {
		gs_path_over(from, -1, -c->charged);
		gs_path_over(to, 1, c->charged);
	}
	gs_mem_move(c, from, to);
	from->clients--;
	to->clients++;
	c->group = group;
	c->node = to;
	list_move_tail(&c->of_group, &group->clients);
	gs_path_pressure(from, now);
	gs_path_pressure(to, now);
	gs_tell(c->arb, GS_EV_MOVE, dev, group, c, old, 0);
}

int gs_client_move(struct gs_client *c, struct gs_group *group, u64 now)
{
	if (c->state == GS_CLIENT_GONE)
		return -ENODEV;
	if (group->arb != c->arb)
		return -EXDEV;
	if (gs_group_missing(group, c->dev))
		return -ENOENT;
	if (group == c->group)
		return 0;
	now = gs_enter(c->arb, now);
	gs_charge_holders(c->dev, now);
	client_move(c, group, gs_node_find(group, c->dev), now);
	gs_schedule(c->dev, now);
	gs_leave(c->arb);
	return 0;
}

/* A child group goes up one level, on all devices. */
static void child_up(struct gs_group *child, u64 now)
{
	struct gs_node *node;

	list_move_tail(&child->sibling, &child->parent->parent->children);
	child->parent = child->parent->parent;
	list_for_each_entry(node, &child->nodes, of_group) {
		if (node->throttled_at)
			gs_unthrottle(node, now);
		gs_entity_move(node->dev, &node->entity, node->up->up);
		node->up = node->up->up;
	}
}

int gs_group_remove(struct gs_group *group, u64 now)
{
	struct gs_group *parent = group->parent, *child;
	struct gs_arbiter *arb = group->arb;
	struct gs_client *c, *n;
	struct gs_node *node, *m;
	struct gs_device *dev;
	bool had_children;

	if (!parent)
		return -EINVAL;
	now = gs_enter(arb, now);
	list_for_each_entry(node, &group->nodes, of_group) {
		gs_charge_holders(node->dev, now);
		if (node->throttled_at)
			gs_unthrottle(node, now);
		if (node->min)
			gs_min_set(node, 0);
		gs_min_unpark(node);
	}
	list_for_each_entry_safe(c, n, &group->clients, of_group) {
		if (c->dev) {
			client_move(c, parent, c->node->up, now);
		} else {
			c->group = parent;
			list_move_tail(&c->of_group, &parent->clients);
		}
	}
	had_children = !list_empty(&group->children);
	while (!list_empty(&group->children)) {
		child = list_first_entry(&group->children, struct gs_group, sibling);
		child_up(child, now);
	}
	list_for_each_entry_safe(node, m, &group->nodes, of_group) {
		struct gs_node *up = node->up;
		bool inherited = had_children || node->share.min;

		node_drop(node, now);
		if (inherited)
			gs_node_refresh(up);
	}
	list_del_init(&group->sibling);
	gs_tell(arb, GS_EV_GROUP_GONE, NULL, group, NULL, parent->id, 0);
	list_for_each_entry(dev, &arb->devices, of_arb)
		gs_schedule(dev, now);
	gs_leave(arb);
	return 0;
}

/* How many levels there are from @top down, itself included. */
static unsigned int group_height(struct gs_group *top)
{
	unsigned int most = 0, base = group_depth(top);
	struct gs_group *g;

	for (g = top; g; g = gs_group_next(g, top))
		most = max(most, group_depth(g) - base + 1);
	return most;
}

static int may_move(struct gs_group *group, struct gs_group *parent)
{
	struct gs_group *up;
	struct gs_node *node;

	if (!group->parent)
		return -EINVAL;
	if (group->arb != parent->arb)
		return -EXDEV;
	for (up = parent; up; up = up->parent)
		if (up == group)
			return -EINVAL;
	if (group_depth(parent) + group_height(group) > GS_DEPTH_MAX)
		return -EINVAL;
	if (group->share.min > gs_min_room_in(parent, NULL, group))
		return -ENOSPC;
	list_for_each_entry(node, &group->nodes, of_group) {
		if (!gs_node_find(parent, node->dev))
			return -ENOENT;
		if (node->share.min > gs_min_room_in(parent, node->dev, group))
			return -ENOSPC;
	}
	return 0;
}

/* Guarantees below are set anew by gs_node_refresh(), in the new place. */
static void forget_mins(struct gs_group *top)
{
	struct gs_group *g;
	struct gs_node *node;

	for (g = top; g; g = gs_group_next(g, top))
		list_for_each_entry(node, &g->nodes, of_group)
			if (node->min)
				gs_min_set(node, 0);
}

static void node_move(struct gs_node *node, struct gs_node *to, u64 now)
{
	struct gs_node *from = node->up;

	gs_charge_all(node->dev, now);
	if (node->throttled_at)
		gs_unthrottle(node, now);
	gs_entity_move(node->dev, &node->entity, to);
	gs_path_count(from, -(int)node->running, -(int)node->waiting);
	gs_path_count(to, node->running, node->waiting);
	gs_path_over(from, -(int)node->overrunning, -node->over_paid);
	gs_path_over(to, node->overrunning, node->over_paid);
	gs_mem_move_node(node, from, to);
	node->up = to;
	gs_path_pressure(from, now);
	gs_path_pressure(to, now);
}

int gs_group_move(struct gs_group *group, struct gs_group *parent, u64 now)
{
	int ret = may_move(group, parent);
	struct gs_node *node;

	if (ret || parent == group->parent)
		return ret;
	now = gs_enter(group->arb, now);
	forget_mins(group);
	list_for_each_entry(node, &group->nodes, of_group)
		node_move(node, gs_node_find(parent, node->dev), now);
	list_move_tail(&group->sibling, &parent->children);
	group->parent = parent;
	list_for_each_entry(node, &group->nodes, of_group) {
		gs_node_refresh(&node->dev->root);
		gs_schedule(node->dev, now);
	}
	gs_leave(group->arb);
	return 0;
}

int gs_client_add(struct gs_client *c, u64 id, struct gs_group *group, struct gs_device *dev,
		  u64 now)
{
	struct gs_node *node;

	if (group->arb != dev->arb)
		return -EXDEV;
	if (gs_group_missing(group, dev))
		return -ENOENT;
	now = gs_enter(dev->arb, now);
	node = gs_node_find(group, dev);
	memset(c, 0, sizeof(*c));
	c->arb = dev->arb;
	c->id = id;
	c->dev = dev;
	c->group = group;
	c->node = node;
	node->clients++;
	c->since = now;
	c->preempt_at = GS_NEVER;
	gs_entity_init(&c->entity, GS_KIND_CLIENT, node, GS_WEIGHT_DEFAULT, GS_CLASS_BATCH);
	INIT_LIST_HEAD(&c->any);
	INIT_LIST_HEAD(&c->of_leaving);
	INIT_LIST_HEAD(&c->dirty_link);
	list_add_tail(&c->of_device, &dev->idle);
	list_add_tail(&c->of_group, &group->clients);
	gs_tell(c->arb, GS_EV_JOIN, dev, group, c, 0, 0);
	return 0;
}

void gs_client_remove(struct gs_client *c, u64 now)
{
	struct gs_arbiter *arb = c->arb;
	struct gs_device *dev = c->dev;

	now = gs_enter(arb, now);
	if (dev) {
		if (c->state == GS_CLIENT_WAITING)
			gs_any_clear(c, now);
		if (c->state != GS_CLIENT_IDLE)
			gs_to_idle(c, now);
		gs_mem_drop(c);
		c->node->clients--;
		list_del_init(&c->of_device);
	}
	gs_tell(arb, GS_EV_LEAVE, dev, c->group, c, 0, 0);
	list_del_init(&c->of_group);
	if (c->dirty)
		list_del_init(&c->dirty_link);
	if (dev)
		gs_schedule(dev, now);
	gs_leave(arb);
}
