// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * min: so much of the device's time is guaranteed, in per mille.
 *
 * The idea is that of 'Quality of Service Support for Fine-Grained Sharing on
 * GPUs' (Wang and others, ISCA 2017), in time units: time is cut into epochs,
 * a group with a min has a quota in each, and what counts is how a quota that
 * couldn't be met in its epoch is treated.
 *
 *	naive	 each epoch is a new start: what was missed is lost;
 *	history	 the quota is raised by what the group got too little so far;
 *	elastic	 an epoch lasts until all who want their quota have it (at most
 *		 two epochs), and is over early when all have;
 *	rollover what was missed is added to the next quota.
 *
 * While a group is owed time it goes before all that aren't; among the owed,
 * the one served least in proportion to its min goes first (start-time fair
 * queueing with min as weight). When it has its quota it competes by weight as
 * all others do, so min is a floor, not a cap: a group gets the larger of its
 * min and its part by weight, and no more. Two things see to that:
 *
 *  - What it gets as a guarantee is charged by weight too, so that the others are
 *    served next. What it is ahead by at the end of an epoch is forgiven, or it would
 *    have nothing but its min for long after that is enough; but only what it is ahead
 *    by because of the guarantee (and not as others didn't want their time), and but
 *    for what a slice and its own pieces make anybody ahead by. Where its part by
 *    weight is the larger one it isn't ahead by more than that when the others had
 *    theirs, and nothing is forgiven. Example: weights 100:200, min 30 %, an epoch of
 *    100 ms: it has 30, the others 60, so all are even, and of the rest it has a third.
 *  - Its last piece goes beyond its quota, as it can't be cut. That much is taken off
 *    the next one: 6 ms pieces in a quota of 50 ms gave 54 %.
 *
 * A group that doesn't want to run isn't owed: only time in which it waited or
 * ran counts, and an idle group saves nothing up. Nor is one owed more than it had that
 * was stopped by a max, its own or of all who want to run below it.
 *
 * THE GOAL. A holder can't be stopped at any point, so slices of others may
 * make a guarantee fall short: one that comes and goes finds the device taken
 * each time. After an epoch in which that happened the others' goal is lowered
 * in proportion: when they have used that part of an epoch, they are held until
 * it ends, even if the device is idle, so that the guaranteed find it free. The
 * goal never falls below half of what isn't guaranteed to anybody, and recovers
 * when guarantees hold.
 *
 * THE TREE. As with memory.min, a child's min is good only as far as its
 * parent's: set.c works out what is in force.
 *
 * COST. O(log n) for each charge; at the end of an epoch each guaranteed node
 * that waits is looked at once (at most 1000 of them at each level, as a min is
 * at least 1 per mille). Nodes that are idle look for themselves later.
 */
#include "internal.h"

/* A shortfall is carried on for at most so many epochs. */
#define ROLL_MOST 8

/* How late it was counts less by so much with each epoch: a piece may take several quotas. */
#define LATE_FADES 16

/* History answers a shortfall with at most so many times the quota. */
#define HISTORY_MOST 4

/* What the others took too much is remembered for at most so many epochs of theirs. */
#define BEYOND_MOST 16

static struct gs_node *behind_node(struct gs_link *l)
{
	return container_of(l, struct gs_node, behind);
}

static u64 quota_of(const struct gs_node *node, u64 time)
{
	return div_u64(time, 1000) * node->min * node->dev->conf.seats;
}

/* For how long the node wanted to run in this epoch, up to @now. */
static u64 wanted_until(const struct gs_node *node, u64 now)
{
	u64 from = max(node->wanted_at, node->dev->epoch_start);

	return node->wanted + (node->wanted_at && now > from ? now - from : 0);
}

/* What it is ahead by as it was guaranteed, but for what anybody may be ahead by. */
static void forgive(struct gs_node *node)
{
	u64 keep = gs_virtual(&node->entity, node->dev->conf.slice + node->late);
	s64 ahead = gs_fair_ahead(&node->entity);

	node->favoured = min_t(u64, node->favoured, max_t(s64, ahead, 0));
	if (node->favoured <= keep)
		return;
	gs_fair_forgive(&node->entity, node->favoured - keep);
	node->favoured = keep;
}

/* The node ran for @ns, and was owed time if @owed. */
static void favour(struct gs_node *node, u64 ns, bool owed)
{
	s64 ahead = gs_fair_ahead(&node->entity);
	u64 by = gs_virtual(&node->entity, ns);

	/* Others ran since: what was paid back by that is no favour any more. */
	node->favoured = min_t(u64, node->favoured, max_t(s64, ahead - (s64)by, 0));
	if (owed)
		node->favoured = min_t(u64, node->favoured + by, max_t(s64, ahead, 0));
}

/*
 * The node's epoch is over: what it is owed in the next one. @end: when it was
 * over. Called before the device's own epoch_start moves on, or late.
 */
static void next_quota(struct gs_node *node, u64 wanted)
{
	struct gs_device *dev = node->dev;
	u64 quota = quota_of(node, dev->conf.epoch), due = quota_of(node, wanted);
	u64 beyond = min_t(u64, max_t(s64, -node->owed, 0), node->late);
	s64 missed = 0;
	u32 part = 1000;

	if (node->full)
		due = min(due, node->got);
	node->full = 0;
	if (due) {
		part = node->got >= due ? 1000 : div64_u64(node->got * 1000, due);
		dev->shortest = min(dev->shortest, part);
		node->history = (3 * node->history + part) / 4;
	}
	switch (dev->conf.min_way) {
	case GS_MIN_ROLLOVER:
		/* An epoch that nobody saw the end of, as nobody waited, lasted longer. */
		missed = node->owed + (s64)due - (s64)quota;
		missed = clamp_t(s64, missed, 0, ROLL_MOST * quota);
		break;
	case GS_MIN_HISTORY:
		part = max_t(u32, node->history, 1000 / HISTORY_MOST);
		quota = div_u64(quota * 1000, part);
		break;
	}
	node->owed = quota + missed - beyond;
	node->got = beyond;
	node->wanted = 0;
	forgive(node);
	node->late -= node->late / LATE_FADES;
}

/* A node that took no part in the last epochs' ends catches up. */
static void catch_up(struct gs_node *node)
{
	struct gs_device *dev = node->dev;

	if (node->epoch == dev->epoch)
		return;
	if (node->wanted_at) {
		/* It ran, and nobody looked: it has what it wanted. */
		next_quota(node, 0);
		node->owed = min_t(s64, node->owed, quota_of(node, dev->conf.epoch));
	} else {
		next_quota(node, node->wanted);
	}
	node->epoch = dev->epoch;
}

static void put(struct gs_node *node)
{
	struct gs_device *dev = node->dev;

	if (node->owed <= 0) {
		list_add_tail(&node->spent, &dev->spent);
		return;
	}
	if (gs_before(node->behind.key, dev->behind_time))
		node->behind.key = dev->behind_time;
	gs_tree_insert(&dev->behind, &node->behind);
}

static void take(struct gs_node *node)
{
	if (gs_tree_in(&node->behind))
		gs_tree_remove(&node->dev->behind, &node->behind);
	else
		list_del_init(&node->spent);
}

/* Somebody below the node, which has a min, can be picked now. */
void gs_min_pickable(struct gs_node *node)
{
	catch_up(node);
	put(node);
}

void gs_min_unpickable(struct gs_node *node)
{
	take(node);
}

/* The number of those who run or wait below the node has changed. */
void gs_min_wants(struct gs_node *node)
{
	u64 now = node->dev->arb->now;

	if (node->running || node->waiting) {
		if (node->wanted_at)
			return;
		catch_up(node);
		node->wanted_at = now;
	} else if (node->wanted_at) {
		catch_up(node);
		node->wanted = wanted_until(node, now);
		node->wanted_at = 0;
	}
}

/* @node is throttled: it was given all that it may have, and who has nobody else below. */
void gs_min_full(struct gs_node *node)
{
	node->full = 1;
	while ((node = node->up) && !node->active)
		node->full = 1;
}

/* The throttled @top runs again: so may those below it that are owed time. */
void gs_min_unpark(struct gs_node *top)
{
	struct gs_node *node;

	while (!list_empty(&top->parked)) {
		node = list_first_entry(&top->parked, struct gs_node, spent);
		list_del_init(&node->spent);
		catch_up(node);
		put(node);
	}
}

void gs_min_charge(struct gs_client *c, u64 ns)
{
	struct gs_device *dev = c->dev;
	const struct gs_entity *e = &c->entity;
	u64 due = ns, now = c->charged;
	struct gs_node *node;

	if (!c->node->assured)
		dev->others += ns;
	for (node = c->node; node; e = &node->entity, node = node->up) {
		if (unlikely(gs_pays_part(c, now)) && due == ns)
			due = gs_over_part(e, ns);
		if (!node->min)
			continue;
		catch_up(node);
		favour(node, due, node->owed > 0);
		if (c->flags & GS_PREEMPT)
			node->late = clamp_t(u64, now - c->preempted, node->late, dev->conf.grace);
		node->got += due;
		node->owed -= due;
		if (gs_tree_in(&node->behind)) {
			gs_tree_remove(&dev->behind, &node->behind);
			node->behind.key += div_u64(due << 10, node->min);
			put(node);
		} else {
			node->behind.key += div_u64(due << 10, node->min);
		}
	}
}

/* How much of a guarantee is left for the client, GS_NEVER if it has its due. */
u64 gs_min_left(struct gs_client *c)
{
	struct gs_node *node;

	for (node = c->node; node; node = node->up)
		if (node->min && node->owed > 0)
			return node->owed;
	return GS_NEVER;
}

static u64 others_most(const struct gs_device *dev)
{
	return div_u64(dev->conf.epoch, 1000) * dev->goal * dev->conf.seats;
}

/* Are those without a guarantee held until the epoch ends? */
static bool others_held(const struct gs_device *dev)
{
	return dev->nr_assured && dev->policy->weighs && dev->goal < 1000 &&
	       dev->others + dev->beyond >= others_most(dev);
}

/*
 * One who has had its guarantee may have what the others took too much before. Where the
 * goal alone holds the others, the device stays free for who comes.
 */
static struct gs_node *first_spent(const struct gs_device *dev)
{
	struct gs_node *node;

	if (dev->others >= others_most(dev))
		return NULL;
	list_for_each_entry(node, &dev->spent, spent)
		if (!gs_quota_throttled(node))
			return node;
	return NULL;
}

/* Is nobody to be picked, though somebody could be? */
bool gs_min_held(const struct gs_device *dev)
{
	return gs_tree_empty(&dev->behind) && others_held(dev) && !first_spent(dev);
}

/* The node to pick from, or NULL to pick nobody. */
struct gs_node *gs_min_pick(struct gs_device *dev)
{
	struct gs_node *node, *top;

	while (dev->policy->weighs && !gs_tree_empty(&dev->behind)) {
		node = behind_node(dev->behind.first);
		dev->behind_time = node->behind.key;
		top = gs_quota_throttled(node);
		if (!top)
			return node;
		gs_tree_remove(&dev->behind, &node->behind);
		list_add_tail(&node->spent, &top->parked);
		node->full = 1;
	}
	return others_held(dev) ? first_spent(dev) : &dev->root;
}

u64 gs_min_timer(const struct gs_device *dev)
{
	return dev->nr_assured && dev->root.waiting ? dev->epoch_end : GS_NEVER;
}

/* What of @time isn't guaranteed to anybody, for all seats; at least a hundredth. */
static u64 others_part(const struct gs_device *dev, u64 time)
{
	u32 part = max_t(u32, 1000 - min_t(u32, dev->assured_sum, 1000), 10);

	return div_u64(time, 1000) * part * dev->conf.seats;
}

/* What the others took beyond their part of the epoch, which was so long. */
static void next_beyond(struct gs_device *dev, u64 length)
{
	u64 part = others_part(dev, length), had = dev->beyond;

	if (dev->shortest < 1000 && dev->conf.min_way != GS_MIN_NAIVE)
		had += dev->others;
	had -= min(had, part);
	dev->beyond = min(had, BEYOND_MOST * others_part(dev, dev->conf.epoch));
}

/* What the others may use in the next epoch. */
static void next_goal(struct gs_device *dev)
{
	u32 floor = max_t(u32, (1000 - min_t(u32, dev->assured_sum, 1000)) / 2, 10);

	if (dev->shortest < 1000)
		dev->goal = dev->goal * dev->shortest / 1000;
	else
		dev->goal += (1000 - dev->goal + 7) / 8;
	dev->goal = clamp_t(u32, dev->goal, floor, 1000);
}

/* End the epoch for a node that wants to run. */
static void close_node(struct gs_node *node, u64 now)
{
	struct gs_device *dev = node->dev;

	if (node->epoch > dev->epoch)
		return;
	catch_up(node);
	next_quota(node, wanted_until(node, now));
	node->epoch = dev->epoch + 1;
}

static void close_holders(struct gs_device *dev, u64 now)
{
	struct gs_client *c;
	struct gs_node *node;

	list_for_each_entry(c, &dev->holders, of_device)
		for (node = c->node; node && node->assured; node = node->up)
			if (node->min)
				close_node(node, now);
}

static void close_epoch(struct gs_device *dev, u64 now)
{
	u64 length = now - dev->epoch_start;
	struct gs_node *node, *n;
	struct gs_link *l;

	gs_charge_holders(dev, now);
	close_holders(dev, now);
	for (l = dev->behind.first; l; l = gs_tree_next(l))
		close_node(behind_node(l), now);
	list_for_each_entry_safe(node, n, &dev->spent, spent) {
		close_node(node, now);
		if (node->owed <= 0)
			continue;	/* its last piece was worth several quotas */
		list_del_init(&node->spent);
		gs_tree_insert(&dev->behind, &node->behind);
	}
	next_beyond(dev, length);
	next_goal(dev);
	dev->epoch++;
	dev->epoch_start = now;
	dev->epoch_end = now + dev->conf.epoch;
	dev->shortest = 1000;
	dev->others = 0;
	gs_tell(dev->arb, GS_EV_EPOCH, dev, NULL, NULL, length, dev->goal);
}

/* Does somebody run or wait who is still owed time in this epoch? */
static bool somebody_owed(const struct gs_device *dev)
{
	struct gs_client *c;

	if (!gs_tree_empty(&dev->behind))
		return true;
	list_for_each_entry(c, &dev->holders, of_device)
		if (c->node->assured && gs_min_left(c) != GS_NEVER)
			return true;
	return false;
}

/* All who want to have had their part, guaranteed or not. */
static bool all_served(const struct gs_device *dev, u64 now)
{
	u64 rest = others_part(dev, dev->conf.epoch);

	return !list_empty(&dev->spent) && now - dev->epoch_start >= dev->conf.epoch / 8 &&
	       dev->others >= div_u64(rest, 1000) * dev->goal;
}

/* Start a new epoch if the present one is over. */
void gs_min_epoch(struct gs_device *dev, u64 now)
{
	bool over = now >= dev->epoch_end;

	if (!dev->nr_assured)
		return;
	if (dev->conf.min_way == GS_MIN_ELASTIC) {
		u64 latest = dev->epoch_start + 2 * dev->conf.epoch;

		if (somebody_owed(dev)) {
			if (over && now < latest)
				dev->epoch_end = latest;
			over = over && now >= latest;
		} else {
			over = over || dev->epoch_end == latest || all_served(dev, now);
		}
	}
	if (over)
		close_epoch(dev, now);
}

/* What is in force for the node has changed. */
void gs_min_set(struct gs_node *node, u32 min)
{
	struct gs_device *dev = node->dev;

	if (gs_tree_in(&node->behind) || !list_empty(&node->spent))
		take(node);
	if (!node->min) {
		node->epoch = dev->epoch;
		node->got = 0;
		node->favoured = 0;
		node->late = 0;
		node->wanted = 0;
		node->history = 1000;
		node->behind.key = dev->behind_time;
		node->wanted_at = node->running || node->waiting ? dev->arb->now : 0;
	}
	dev->nr_assured += !!min - !!node->min;
	node->min = min;
	node->owed = quota_of(node, dev->conf.epoch);
	if (min && gs_node_pickable(node))
		put(node);
}
