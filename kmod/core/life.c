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
	dev->turns_at = now;
	dev->epoch_start = now;
	dev->epoch_end = now + conf->epoch;
	dev->goal = 1000;
	dev->shortest = 1000;
	dev->dealt = 1;
	INIT_LIST_HEAD(&dev->holders);
	INIT_LIST_HEAD(&dev->idle);
	INIT_LIST_HEAD(&dev->over);
	INIT_LIST_HEAD(&dev->beside);
	INIT_LIST_HEAD(&dev->nodes);
	INIT_LIST_HEAD(&dev->spent);
	INIT_LIST_HEAD(&dev->leaving);
	INIT_LIST_HEAD(&dev->mem_waiters);
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
	gs_mem_wait_drop(c, now);
	if (c->state == GS_CLIENT_WAITING)
		gs_any_clear(c, now);
	if (c->state != GS_CLIENT_IDLE)
		gs_to_idle(c, now);
	c->state = GS_CLIENT_GONE;
	c->flags = GS_GONE;
	list_del_init(&c->of_device);
	list_del_init(&c->of_leaving);
	gs_path_present(&c->entity, -1);
	gs_path_stand(c->node, -1);
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
	dev->awaits = NULL;
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

static void group_init(struct gs_arbiter *arb, struct gs_group *group, u64 id,
		       struct gs_group *parent)
{
	memset(group, 0, sizeof(*group));
	group->id = id;
	group->arb = arb;
	group->parent = parent;
	group->tenant = parent->tenant;
	gs_share_init(&group->share);
	INIT_LIST_HEAD(&group->nodes);
	INIT_LIST_HEAD(&group->children);
	INIT_LIST_HEAD(&group->clients);
	list_add_tail(&group->sibling, &parent->children);
}

int gs_group_add(struct gs_arbiter *arb, struct gs_group *group, u64 id,
		 struct gs_group *parent, u64 now)
{
	if (parent->arb != arb)
		return -EXDEV;
	if (group_depth(parent) >= GS_DEPTH_MAX)
		return -EINVAL;
	gs_enter(arb, now);
	group_init(arb, group, id, parent);
	gs_tell(arb, GS_EV_GROUP, NULL, group, NULL, gs_group_whole(parent)->id, 0);
	return 0;
}

static struct gs_group *tenant_of_link(struct gs_link *l)
{
	return container_of(l, struct gs_group, of_tenants);
}

struct gs_group *gs_tenant_find(struct gs_group *parent, u64 key)
{
	struct gs_link *l = parent->tenants.root;

	if (parent->tenant == key)
		return parent;
	while (l && l->key != key)
		l = gs_before(key, l->key) ? l->left : l->right;
	return l ? tenant_of_link(l) : NULL;
}

static void tenant_join(struct gs_group *group, struct gs_group *parent, u64 key)
{
	group->tenant = key;
	group->of_tenants.key = key;
	gs_tree_insert(&parent->tenants, &group->of_tenants);
}

int gs_tenant_add(struct gs_arbiter *arb, struct gs_group *group, u64 id,
		  struct gs_group *parent, u64 key, u64 now)
{
	if (parent->arb != arb)
		return -EXDEV;
	if (!key || key > GS_TENANT_MAX)
		return -EINVAL;
	if (gs_tenant_find(parent, key))
		return -EEXIST;
	/* One level more than others: wherever there may be a group its clients have a place. */
	if (group_depth(parent) > GS_DEPTH_MAX)
		return -EINVAL;
	gs_enter(arb, now);
	group_init(arb, group, id, parent);
	tenant_join(group, parent, key);
	return 0;
}

static bool node_owes(struct gs_node *node, u64 now)
{
	if (!node->up || node->entity.active || !gs_fair_owes(node->dev, &node->entity))
		return false;
	gs_sync(node->dev, now);	/* others may have run since they were last charged */
	return gs_fair_owes(node->dev, &node->entity);
}

bool gs_group_owes(struct gs_group *group, u64 now)
{
	struct gs_node *node;

	list_for_each_entry(node, &group->nodes, of_group)
		if (node_owes(node, now))
			return true;
	return false;
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
	e->left = 0;		/* to be away counts in one queue only */
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
	u64 old = gs_group_whole(c->group)->id;

	if (running || over || c->beside)
		gs_charge(c, now);
	gs_path_present(&c->entity, -1);
	gs_entity_move(dev, &c->entity, to);
	gs_path_present(&c->entity, 1);
	gs_path_count(from, -running, -waiting);
	gs_path_count(to, running, waiting);
	if (over) {
		gs_path_over(from, -1, -c->charged);
		gs_path_over(to, 1, c->charged);
	}
	if (c->beside) {
		gs_path_beside(from, -1, -c->paid);
		gs_path_beside(to, 1, c->paid);
	}
	gs_mem_move(c, from, to);
	gs_path_stand(from, -1);
	gs_path_stand(to, 1);
	c->group = group;
	c->node = to;
	list_move_tail(&c->of_group, &group->clients);
	gs_path_pressure(from, now);
	gs_path_pressure(to, now);
	if (old != gs_group_whole(group)->id)
		gs_tell(c->arb, GS_EV_MOVE, dev, group, c, old, 0);
}

int gs_client_move(struct gs_client *c, struct gs_group *group, u64 now)
{
	if (group->arb != c->arb)
		return -EXDEV;
	if (group == c->group)
		return 0;
	if (c->state == GS_CLIENT_GONE) {
		c->group = group;
		list_move_tail(&c->of_group, &group->clients);
		return 0;
	}
	if (gs_group_missing(group, c->dev))
		return -ENOENT;
	now = gs_enter(c->arb, now);
	gs_charge_holders(c->dev, now);
	client_move(c, group, gs_node_find(group, c->dev), now);
	gs_mem_look(c->dev, now);
	gs_schedule(c->dev, now);
	gs_leave(c->arb);
	return 0;
}

int gs_group_remove(struct gs_group *group, u64 now)
{
	struct gs_arbiter *arb = group->arb;
	struct gs_group *parent = group->parent;
	struct gs_node *node, *n, *up;
	bool promised;

	if (!parent)
		return -EINVAL;
	if (!list_empty(&group->clients) || !list_empty(&group->children))
		return -EBUSY;
	now = gs_enter(arb, now);
	list_for_each_entry_safe(node, n, &group->nodes, of_group) {
		up = node->up;
		promised = node->share.min;
		gs_charge_holders(up->dev, now);
		gs_fair_bequeath(up->dev, &node->entity);
		node_drop(node, now);
		if (promised)
			gs_node_refresh(up);
		gs_schedule(up->dev, now);
	}
	list_del_init(&group->sibling);
	if (gs_tenant_is(group))
		gs_tree_remove(&parent->tenants, &group->of_tenants);
	else
		gs_tell(arb, GS_EV_GROUP_GONE, NULL, group, NULL, gs_group_whole(parent)->id, 0);
	gs_leave(arb);
	return 0;
}

/* How many levels there are from @top down, itself included. */
static unsigned int group_height(struct gs_group *top)
{
	unsigned int most = 0, base = group_depth(top);
	struct gs_group *g;

	for (g = top; g; g = gs_group_next(g, top)) {
		/* For a tenant's clients alone there is a level more. */
		if (gs_tenant_is(g) && list_empty(&g->children))
			continue;
		most = max(most, group_depth(g) - base + 1);
	}
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
	if (gs_tenant_is(group) && gs_tenant_find(parent, group->tenant))
		return -EEXIST;
	list_for_each_entry(node, &group->nodes, of_group)
		if (!gs_node_find(parent, node->dev))
			return -ENOENT;
	return 0;
}

/* Can @parent bear what @group was promised? */
static bool promises_fit(const struct gs_group *group, const struct gs_group *parent)
{
	struct gs_node *node;

	if (group->share.min && group->share.min > gs_min_room_in(parent, NULL, group))
		return false;
	list_for_each_entry(node, &group->nodes, of_group)
		if (node->share.min &&
		    node->share.min > gs_min_room_in(parent, node->dev, group))
			return false;
	return true;
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
	if (node->present)
		gs_path_present(&node->entity, -(int)node->present);
	gs_entity_move(node->dev, &node->entity, to);
	if (node->present)
		gs_path_present(&node->entity, node->present);
	gs_path_count(from, -(int)node->running, -(int)node->waiting);
	gs_path_count(to, node->running, node->waiting);
	gs_path_over(from, -(int)node->overrunning, -node->over_paid);
	gs_path_over(to, node->overrunning, node->over_paid);
	gs_path_beside(from, -(int)node->beside, -node->beside_paid);
	gs_path_beside(to, node->beside, node->beside_paid);
	gs_mem_move_node(node, from, to);
	if (gs_tenant_is(node->group)) {
		from->standing -= node->clients;
		to->standing += node->clients;
	}
	node->up = to;
	gs_path_pressure(from, now);
	gs_path_pressure(to, now);
}

static void hang(struct gs_group *top, struct gs_group *parent)
{
	struct gs_group *g;

	if (gs_tenant_is(top)) {
		gs_tree_remove(&top->parent->tenants, &top->of_tenants);
		gs_tree_insert(&parent->tenants, &top->of_tenants);
	}
	list_move_tail(&top->sibling, &parent->children);
	top->parent = parent;
	for (g = top; g; g = gs_group_next(g, top))
		if (!gs_tenant_is(g))
			g->tenant = g->parent->tenant;
}

static void move(struct gs_group *group, struct gs_group *parent, u64 now)
{
	struct gs_group *from = group->parent;
	struct gs_node *node;

	now = gs_enter(group->arb, now);
	forget_mins(group);
	list_for_each_entry(node, &group->nodes, of_group)
		node_move(node, gs_node_find(parent, node->dev), now);
	hang(group, parent);
	list_for_each_entry(node, &group->nodes, of_group) {
		if (node->share.min)
			gs_node_refresh(gs_node_find(from, node->dev));
		gs_node_refresh(node->share.min ? node->up : node);
		gs_mem_look(node->dev, now);
		gs_schedule(node->dev, now);
	}
	gs_leave(group->arb);
}

int gs_group_move(struct gs_group *group, struct gs_group *parent, u64 now)
{
	int ret = may_move(group, parent);

	if (ret || parent == group->parent)
		return ret;
	if (!promises_fit(group, parent))
		return -ENOSPC;
	move(group, parent, now);
	return 0;
}

int gs_group_rehang(struct gs_group *group, struct gs_group *parent, u64 now)
{
	int ret = may_move(group, parent);

	if (!ret && parent != group->parent)
		move(group, parent, now);
	return ret;
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
	gs_path_stand(node, 1);
	c->since = now;
	c->preempt_at = GS_NEVER;
	gs_entity_init(&c->entity, GS_KIND_CLIENT, node, GS_WEIGHT_DEFAULT, GS_CLASS_BATCH);
	INIT_LIST_HEAD(&c->any);
	INIT_LIST_HEAD(&c->set);
	INIT_LIST_HEAD(&c->of_leaving);
	INIT_LIST_HEAD(&c->of_beside);
	INIT_LIST_HEAD(&c->of_waiters);
	INIT_LIST_HEAD(&c->dirty_link);
	gs_path_present(&c->entity, 1);
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
		gs_await_end(dev);
		gs_fair_bequeath(dev, &c->entity);
		gs_mem_wait_drop(c, now);
		gs_mem_drop(c);
		gs_path_present(&c->entity, -1);
		gs_path_stand(c->node, -1);
		list_del_init(&c->of_device);
	}
	gs_tell(arb, GS_EV_LEAVE, dev, c->group, c, gs_client_usage(c), 0);
	list_del_init(&c->of_group);
	if (c->dirty)
		list_del_init(&c->dirty_link);
	if (dev) {
		gs_mem_freed(dev, now);
		gs_schedule(dev, now);
	}
	gs_leave(arb);
}
