// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * max: so much device time in each period, as cpu.max has it for CPUs.
 *
 * A node with a max has `left` of its quota. What its clients hold is taken
 * from it, after the fact; at 0 the node is throttled: it leaves its parent's
 * queue until the period's end gives it a new quota. Unused quota is kept up to
 * `burst`. What was used too much (a client yields only at a boundary) is owed
 * to the next periods, so the long run is exact, and one period is passed by
 * what lies between the question to yield and the yield, at most a slice.
 *
 * That is so because nobody gets a slice beyond what is left: with several
 * holders in a group each may count on its part of it, and all are looked at
 * again when it is used. Periods don't tick: a node looks at the time when it
 * is charged, and only throttled nodes have a timer.
 */
#include "internal.h"

static u64 quota_most(const struct gs_node *node)
{
	return node->share.quota + node->share.burst;
}

static u64 rest_of(u64 a, u64 b)
{
	return a - div64_u64(a, b) * b;
}

/* The node ran or waited in this period, or its max was reached: each counts once. */
static void use_period(struct gs_node *node)
{
	node->stat.nr_periods += !node->period_used;
	node->period_used = 1;
}

static void reach_max(struct gs_node *node)
{
	use_period(node);
	node->stat.nr_throttled += !node->period_throttled;
	node->period_throttled = 1;
}

/* Start the period that @now lies in; @ran: the node ran all the time. */
static void refill(struct gs_node *node, bool ran, u64 now)
{
	u64 period = node->share.period, quota = node->share.quota;
	s64 most = quota_most(node);
	u64 n, need;

	n = div64_u64(now - node->refill_at, period) + 1;
	node->refill_at += n * period;
	if (ran)
		node->stat.nr_periods += n - node->period_used;
	node->period_used = 0;
	node->period_throttled = 0;
	need = div64_u64(most - node->left, quota) + 1;
	node->left = min(most, node->left + (s64)(min(n, need) * quota));
}

/* The node was used from @from to @now, which may reach over many periods. */
void gs_quota_charge(struct gs_node *node, u64 from, u64 now)
{
	u64 start;

	if (now >= node->refill_at) {
		start = now - rest_of(now - node->refill_at, node->share.period);
		if (from < start) {
			node->left -= start - from;
			refill(node, from < node->refill_at, now);
			from = start;
		} else {
			refill(node, false, now);
		}
	}
	node->left -= now - from;
	use_period(node);
}

/* Some node above @node, or itself, may not run. */
struct gs_node *gs_quota_throttled(struct gs_node *node)
{
	if (!node->capped)
		return NULL;
	for (; node; node = node->up)
		if (node->throttled_at)
			return node;
	return NULL;
}

/* What a client may run before a max is reached. */
u64 gs_quota_left(struct gs_client *c)
{
	struct gs_node *node;
	u64 left = GS_NEVER, part;

	for (node = c->node; node; node = node->up) {
		if (node->throttled_at)
			return 0;
		if (!node->limited)
			continue;
		if (node->left <= 0)
			return 0;
		part = node->left;
		if (node->running > 1)
			part = div_u64(part, node->running);
		left = min(left, part);
	}
	return min_t(u64, left, GS_PERIOD_MAX * GS_SEATS_MAX);
}

static void throttle(struct gs_node *node, u64 now)
{
	struct gs_device *dev = node->dev;
	u64 periods = div64_u64(-node->left, node->share.quota);
	u64 until = node->refill_at + periods * node->share.period;

	if (node->entity.queued)
		gs_path_dequeue(dev, &node->entity);
	gs_path_deactivate(dev, &node->entity);
	node->throttled_at = now;
	gs_min_full(node);
	reach_max(node);
	gs_later_add(dev, &node->entity, until);
	gs_tell(dev->arb, GS_EV_THROTTLE, dev, node->group, NULL, until, 0);
}

/* Throttle what has used up its quota, on the way from @node up. */
void gs_quota_enforce(struct gs_node *node, u64 now)
{
	for (; node && node->capped; node = node->up)
		if (node->limited && node->left <= 0 && !node->throttled_at)
			throttle(node, now);
}

void gs_unthrottle(struct gs_node *node, u64 now)
{
	struct gs_device *dev = node->dev;
	u64 time = now - node->throttled_at;

	gs_later_remove(dev, &node->entity);
	node->throttled_at = 0;
	node->stat.throttled += time;
	if (node->active)
		gs_path_activate(dev, &node->entity);
	if (gs_node_pickable(node))
		gs_path_enqueue(dev, &node->entity, true);
	gs_min_unpark(node);
	gs_tell(dev->arb, GS_EV_UNTHROTTLE, dev, node->group, NULL, time, 0);
}

/* A throttled node's time has come: it may turn out that it owes still more. */
static void refilled(struct gs_node *node, u64 now)
{
	if (now >= node->refill_at)
		refill(node, false, now);
	if (gs_node_pickable(node))
		use_period(node);
	if (node->left > 0) {
		gs_unthrottle(node, now);
		return;
	}
	gs_later_remove(node->dev, &node->entity);
	gs_later_add(node->dev, &node->entity, node->refill_at +
		     div64_u64(-node->left, node->share.quota) * node->share.period);
}

/* It hasn't yielded for so long. */
void gs_kill(struct gs_client *c, u64 since)
{
	struct gs_arbiter *arb = c->arb;

	c->killed = 1;
	gs_tell(arb, GS_EV_KILL, c->dev, c->group, c, since, 0);
	if (arb->ops->kill)
		arb->ops->kill(arb, c);
}

/* Do what was put off until now. */
void gs_later_due(struct gs_device *dev, u64 now)
{
	struct gs_client *c;
	struct gs_link *l;

	while ((l = dev->later.first) && l->key <= now) {
		if (l->kind == GS_KIND_NODE) {
			refilled(gs_entity_node(gs_link_entity(l)), now);
			continue;
		}
		c = gs_entity_client(gs_link_entity(l));
		gs_later_remove(dev, &c->entity);
		gs_kill(c, now - c->preempted);
	}
}

/* The node's max was set: it starts with a new period. */
void gs_quota_set(struct gs_node *node, u64 now)
{
	if (node->throttled_at)
		gs_unthrottle(node, now);
	node->dev->nr_capped -= node->limited;
	node->limited = node->share.quota != GS_UNLIMITED;
	node->dev->nr_capped += node->limited;
	node->left = node->limited ? node->share.quota : 0;
	node->refill_at = now + node->share.period;
	node->period_used = 0;
	node->period_throttled = 0;
}
