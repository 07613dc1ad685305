// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ways from an entity up to the root. At each level two things are kept:
 *
 *	active	it runs or waits; a node: one of its own entities is active
 *	queued	it can be picked: it waits; a node: one of its own is queued
 *
 * and neither holds for a throttled node in its parent's queue, whatever goes
 * on below it. So a change at the bottom climbs only as far as it changes
 * anything, and below a throttled node everything stands ready.
 */
#include "internal.h"

static void activate_one(struct gs_device *dev, struct gs_entity *e)
{
	if (unlikely(e->fresh)) {
		e->fresh = 0;
		gs_fair_inherit(e);
	}
	e->active = 1;
	e->up->active++;
	gs_fair_return(dev, e);
}

void gs_path_activate(struct gs_device *dev, struct gs_entity *e)
{
	while (!e->active) {
		activate_one(dev, e);
		if (!e->up->up || e->up->throttled_at)
			return;
		e = &e->up->entity;
	}
}

void gs_path_deactivate(struct gs_device *dev, struct gs_entity *e)
{
	while (e->active) {
		gs_fair_leave(dev, e);
		e->active = 0;
		if (--e->up->active || !e->up->up)
			return;
		e = &e->up->entity;
	}
}

static void insert_one(struct gs_device *dev, struct gs_entity *e, bool fresh)
{
	if (!e->active)
		activate_one(dev, e);
	else if (!e->counted)
		gs_fair_count(dev, e);
	dev->policy->place(dev, e, fresh);
	gs_tree_insert(&gs_queue_of(e)->tree, &e->link);
	gs_queue_of(e)->hurried += e->class == GS_CLASS_LATENCY;
	e->queued = 1;
	if (e->up->min && !gs_tree_in(&e->up->behind) && list_empty(&e->up->spent))
		gs_min_pickable(e->up);
}

static void remove_one(struct gs_entity *e)
{
	gs_tree_remove(&gs_queue_of(e)->tree, &e->link);
	gs_queue_of(e)->hurried -= e->class == GS_CLASS_LATENCY;
	e->queued = 0;
	if (e->up->min && !gs_node_pickable(e->up))
		gs_min_unpickable(e->up);
}

/* A queued entity's virtual runtime, or what is below it, has changed. */
static bool moved_one(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_tree *t = &gs_queue_of(e)->tree;
	u64 key;

	if (!dev->policy->moved(dev, e, &key)) {
		gs_tree_refresh(&e->link);
		return false;
	}
	gs_tree_remove(t, &e->link);
	e->link.key = key;
	gs_tree_insert(t, &e->link);
	return true;
}

void gs_path_enqueue(struct gs_device *dev, struct gs_entity *e, bool fresh)
{
	for (;;) {
		insert_one(dev, e, fresh);
		if (!e->up->up || e->up->throttled_at)
			return;
		e = &e->up->entity;
		if (e->queued)
			break;
		fresh = false;
	}
	/* From here on up only the order of arrival may have changed. */
	while (moved_one(dev, e) && !dev->policy->weighs && e->up->up && e->up->entity.queued)
		e = &e->up->entity;
}

void gs_path_dequeue(struct gs_device *dev, struct gs_entity *e)
{
	for (;;) {
		remove_one(e);
		if (!e->counted && e->active)
			gs_fair_count(dev, e);
		if (!e->up->up)
			return;
		if (gs_node_pickable(e->up))
			break;
		e = &e->up->entity;
		if (!e->queued)
			return;
	}
	if (dev->policy->weighs)
		return;
	for (e = &e->up->entity; e->queued && moved_one(dev, e) && e->up->up; )
		e = &e->up->entity;
}

/* So many more wait below @node from now on, or fewer; they waited until now. */
static void count_waiting(struct gs_node *node, int waiting)
{
	u64 now = node->dev->arb->now;

	node->stat.wait += node->waiting * (now - node->wait_at);
	node->wait_at = now;
	node->waiting += waiting;
}

void gs_path_count(struct gs_node *node, int running, int waiting)
{
	if (running)
		gs_turns(node->dev, node->dev->arb->now);
	for (; node; node = node->up) {
		node->running += running;
		if (waiting)
			count_waiting(node, waiting);
		if (node->min)
			gs_min_wants(node);
	}
}

/* What @e stands for has @n more clients from now on; @e itself, if it is a client's. */
void gs_path_present(struct gs_entity *e, int n)
{
	bool changed = true;
	struct gs_node *node;
	u32 was;

	e->up->dev->looked_until = 0;
	for (node = e->up; node; e = &node->entity, node = node->up) {
		if (changed)
			node->rivals += n > 0 ? e->weight : -(u64)e->weight;
		was = node->present;
		node->present += n;
		changed = !was != !node->present;
	}
}

/* So many more clients stand in the node's own group. */
void gs_path_stand(struct gs_node *node, int n)
{
	node->clients += n;
	node->standing += n;
	if (gs_tenant_is(node->group))
		node->up->standing += n;
}

/* So many more overrun below @node, who paid up to times that sum up to @paid. */
void gs_path_over(struct gs_node *node, int overrunning, u64 paid)
{
	for (; node; node = node->up) {
		node->overrunning += overrunning;
		node->over_paid += paid;
	}
}

void gs_path_pressure(struct gs_node *node, u64 now)
{
	for (; node; node = node->up) {
		u32 some = !!node->waiting;
		u32 full = some && !(node->running + node->overrunning);
		u32 state = some << GS_SOME | full << GS_FULL;

		if (node->pressure.state != state)
			gs_pressure_change(&node->pressure, state, now);
	}
}

/* @e's part by weights of @ns of the device's time, all the way up. */
static u64 part_of(const struct gs_entity *e, u64 ns)
{
	const struct gs_queue *q;

	for (; e->up; e = &e->up->entity) {
		q = gs_queue_of(e);
		ns = mul_u64_u64_div_u64(ns, e->weight, q->weight + q->owing +
					 (e->active ? 0 : e->weight));
	}
	return ns;
}

/*
 * What is charged above @e for @ns of one that overruns below it. A tenant pays for
 * all of it. The group that it shares with others pays for no more than the tenant's
 * part of the device, or those would starve who can do nothing about it.
 */
u64 gs_over_part(const struct gs_entity *e, u64 ns)
{
	return e->up->group->tenant ? ns : part_of(e, ns);
}

/* Make a holder, or one that overruns, pay up to now, with all its ancestors. */
void gs_charge(struct gs_client *c, u64 now)
{
	u64 ns = now - c->charged, had = ns, due, turns;
	struct gs_device *dev = c->dev;
	struct gs_entity *e = &c->entity;
	bool over = c->state == GS_CLIENT_OVER;
	struct gs_node *node;

	if (!ns)
		return;
	turns = gs_turns(dev, now);
	if (!over)
		had = turns - c->paid;
	due = had;
	c->paid = turns;
	c->charged = now;
	c->usage += had;
	if (over)
		c->overrun_time += ns;
	if (c->idle)
		c->idle_time += had;
	if (c->flags & GS_PREEMPT)
		gs_fair_late(e, now - c->preempted, false);
	else if (unlikely(c->beside))
		gs_fair_late(e, now - c->since, false);
	for (;; e = &node->entity) {
		gs_fair_charge(dev, e, due, ns);
		if (e->queued)
			moved_one(dev, e);
		node = e->up;
		node->stat.usage += had;
		if (unlikely(over)) {
			node->stat.overrun += ns;
			node->over_paid += ns;
		}
		if (unlikely(c->beside))
			node->beside_paid += had;
		if (unlikely(gs_pays_part(c, now)) && due == had)
			due = gs_over_part(e, had);
		if (unlikely(c->idle))
			node->stat.idle += had;
		if (node->limited)
			gs_quota_charge(node, now - (due == had ? ns : due), now);
		if (!node->up)
			break;
	}
	if (dev->nr_assured)
		gs_min_charge(c, had);
	if (c->node->capped)
		gs_quota_enforce(c->node, now);
}

/*
 * The device awaited those below a node who are away: it was theirs, and all above
 * are charged for it; but for what those had who are beside, and pay. Called before
 * anything else may change.
 */
void gs_await_end(struct gs_device *dev)
{
	struct gs_node *node = dev->awaits;
	struct gs_entity *e;
	u64 ns;

	if (!node)
		return;
	ns = dev->arb->now - dev->awaits_since;
	dev->awaits = NULL;
	gs_fair_awaited(&node->queue[dev->awaits_class], ns, !dev->root.beside);
	if (dev->root.beside)
		return;
	for (e = &node->entity; e->up; e = &e->up->entity) {
		gs_fair_charge(dev, e, ns, ns);
		if (e->queued)
			moved_one(dev, e);
	}
}

void gs_charge_holders(struct gs_device *dev, u64 now)
{
	struct gs_client *c;

	gs_await_end(dev);
	gs_turns(dev, now);
	list_for_each_entry(c, &dev->holders, of_device)
		gs_charge(c, now);
}

void gs_charge_all(struct gs_device *dev, u64 now)
{
	struct gs_client *c;

	gs_charge_holders(dev, now);
	list_for_each_entry(c, &dev->over, of_device)
		gs_charge(c, now);
	list_for_each_entry(c, &dev->beside, of_beside)
		gs_charge(c, now);
}

/*
 * Those who overrun are charged in turn, @most of them at a time: their number
 * is theirs to choose, and a decision's cost must not be.
 */
void gs_charge_over(struct gs_device *dev, u64 now, unsigned int most)
{
	struct gs_client *c;

	while (most-- && !list_empty(&dev->over)) {
		c = list_first_entry(&dev->over, struct gs_client, of_device);
		gs_charge(c, now);
		list_move_tail(&c->of_device, &dev->over);
	}
}
