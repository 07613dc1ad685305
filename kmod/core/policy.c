// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "internal.h"

static void fair_place(struct gs_device *dev, struct gs_entity *e, bool fresh)
{
	if (fresh || !gs_before(e->link.val, e->link.key))
		e->link.key = e->link.val + gs_virtual(e, gs_slice_request(dev, e));
}

static bool fair_moved(struct gs_device *dev, struct gs_entity *e, u64 *key)
{
	if (gs_before(e->link.val, e->link.key))
		return false;
	*key = e->link.val + gs_virtual(e, gs_slice_request(dev, e));
	return true;
}

/*
 * The earliest deadline among the eligible. There may be none: those who are
 * owed something run already, or have nothing to run. Then time is free, and
 * the earliest deadline of all has it.
 */
static struct gs_entity *fair_pick(struct gs_queue *q)
{
	struct gs_link *l = gs_tree_first_at_most(&q->tree, gs_queue_time(q));

	return gs_link_entity(l ? l : q->tree.first);
}

/* When the first of those below a node came. */
static u64 first_turn(const struct gs_node *node)
{
	return node->queue[gs_tree_empty(&node->queue[0].tree)].tree.first->key;
}

/*
 * In order of arrival, groups or not: a client's key is its turn, a node's the
 * turn of the first client below it.
 */
static void turn_place(struct gs_device *dev, struct gs_entity *e, bool fresh)
{
	(void)fresh;
	if (e->link.kind == GS_KIND_NODE)
		e->link.key = first_turn(gs_entity_node(e));
	else
		e->link.key = ++dev->turn;
}

static bool turn_moved(struct gs_device *dev, struct gs_entity *e, u64 *key)
{
	(void)dev;
	if (e->link.kind != GS_KIND_NODE)
		return false;
	*key = first_turn(gs_entity_node(e));
	return *key != e->link.key;
}

static struct gs_entity *turn_pick(struct gs_queue *q)
{
	return gs_link_entity(q->tree.first);
}

const struct gs_policy_ops gs_policies[GS_NR_POLICIES] = {
	[GS_POLICY_FAIR] = {
		.name = "fair",
		.sliced = true,
		.weighs = true,
		.place = fair_place,
		.moved = fair_moved,
		.pick = fair_pick,
	},
	[GS_POLICY_RR] = {
		.name = "rr",
		.sliced = true,
		.place = turn_place,
		.moved = turn_moved,
		.pick = turn_pick,
	},
	[GS_POLICY_FCFS] = {
		.name = "fcfs",
		.place = turn_place,
		.moved = turn_moved,
		.pick = turn_pick,
	},
};
