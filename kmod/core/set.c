// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Settings: what is taken, and how it comes into force while everything runs.
 */
#include "internal.h"

void gs_device_conf_init(struct gs_device_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->policy = GS_POLICY_FAIR;
	conf->seats = 1;
	conf->seat_way = GS_SEATS_EQUAL;
	conf->min_way = GS_MIN_ROLLOVER;
	conf->slice = 2000000;		/* some 100 times what a handoff costs */
	conf->latency = 1000000;
	conf->linger = 200000;
	conf->grace = 100000000;	/* kernels that can't be cut last long */
	conf->epoch = 100000000;	/* as the default period of cpu.max */
	conf->mem_full = GS_FULL_FAIL;
	conf->mem_wait = 60000000000ull;
}

int gs_device_conf_check(const struct gs_device_conf *conf)
{
	if (conf->policy >= GS_NR_POLICIES || conf->seat_way >= GS_NR_SEAT_WAYS ||
	    conf->min_way >= GS_NR_MIN_WAYS)
		return -EINVAL;
	if (conf->seats < 1 || conf->seats > GS_SEATS_MAX)
		return -EINVAL;
	if (conf->slice < GS_SLICE_MIN || conf->slice > GS_SLICE_MAX ||
	    conf->latency < GS_SLICE_MIN || conf->latency > GS_SLICE_MAX)
		return -EINVAL;
	if (conf->linger > GS_SLICE_MAX || conf->grace > GS_GRACE_MAX ||
	    conf->kill_after > GS_GRACE_MAX)
		return -EINVAL;
	if (conf->kill_after && conf->kill_after < conf->grace)
		return -EINVAL;
	if (conf->epoch < GS_EPOCH_MIN || conf->epoch > GS_EPOCH_MAX)
		return -EINVAL;
	if (conf->copy_ns_per_mib > GS_SLICE_MAX)
		return -EINVAL;
	if (conf->mem_full != GS_FULL_FAIL && conf->mem_full != GS_FULL_WAIT)
		return -EINVAL;
	if (conf->mem_wait < GS_MEM_WAIT_MIN || conf->mem_wait > GS_MEM_WAIT_MAX)
		return -EINVAL;
	return 0;
}

static void all_entities(struct gs_device *dev,
			 void (*fn)(struct gs_device *dev, struct gs_entity *e))
{
	struct list_head *lists[] = { &dev->holders, &dev->over, &dev->idle };
	struct gs_client *c;
	struct gs_node *node;
	unsigned int i;

	list_for_each_entry(node, &dev->nodes, of_device)
		fn(dev, &node->entity);
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_entry(c, lists[i], of_device)
			fn(dev, &c->entity);
}

static void recount(struct gs_device *dev, struct gs_entity *e)
{
	if (e->active && !e->counted)
		gs_fair_count(dev, e);
}

/*
 * All who wait line up anew under another policy. Lags that gathered under one
 * that doesn't weigh are no promise, however large: a day of round robin would
 * else be made up for by hours in which the lighter ones get nothing.
 */
static void policy_set(struct gs_device *dev, u32 policy)
{
	struct gs_client *c;

	list_for_each_entry(c, &dev->idle, of_device)
		if (c->entity.queued)
			gs_path_dequeue(dev, &c->entity);
	if (!dev->policy->weighs && gs_policies[policy].weighs) {
		all_entities(dev, gs_fair_settle);
		all_entities(dev, recount);
	}
	dev->policy = &gs_policies[policy];
	list_for_each_entry(c, &dev->idle, of_device)
		if (c->state == GS_CLIENT_WAITING)
			gs_path_enqueue(dev, &c->entity, true);
}

int gs_device_set(struct gs_device *dev, const struct gs_device_conf *conf, u64 now)
{
	struct gs_device_conf old = dev->conf;
	int ret = gs_device_conf_check(conf);

	if (ret)
		return ret;
	now = gs_enter(dev->arb, now);
	gs_charge_holders(dev, now);
	dev->conf = *conf;
	if (old.policy != conf->policy)
		policy_set(dev, conf->policy);
	if (old.epoch != conf->epoch)
		dev->epoch_end = min(dev->epoch_end, now + conf->epoch);
	dev->dealt = 0;
	dev->looked_until = 0;
	gs_mem_refresh(dev, now);
	gs_tell(dev->arb, GS_EV_DEVICE, dev, NULL, NULL, 0, 0);
	gs_schedule(dev, now);
	gs_leave(dev->arb);
	return 0;
}

void gs_share_init(struct gs_share *share)
{
	memset(share, 0, sizeof(*share));
	share->weight = GS_WEIGHT_DEFAULT;
	share->class = GS_CLASS_BATCH;
	share->quota = GS_UNLIMITED;
	share->period = 100000000;
	share->mem_max = GS_UNLIMITED;
	share->mem_high = GS_UNLIMITED;
}

static int share_check(const struct gs_share *s, u32 which)
{
	if (!which || which & ~(u32)GS_SHARE_ALL)
		return -EINVAL;
	if (which & GS_SHARE_WEIGHT && (s->weight < GS_WEIGHT_MIN || s->weight > GS_WEIGHT_MAX))
		return -EINVAL;
	if (which & GS_SHARE_CLASS && s->class >= GS_NR_CLASSES)
		return -EINVAL;
	if (which & GS_SHARE_MIN && s->min > 1000)
		return -EINVAL;
	if (which & GS_SHARE_MEM_FULL && s->mem_full >= GS_NR_FULLS)
		return -EINVAL;
	if (which & GS_SHARE_MEM_WAIT && s->mem_wait &&
	    (s->mem_wait < GS_MEM_WAIT_MIN || s->mem_wait > GS_MEM_WAIT_MAX))
		return -EINVAL;
	if (!(which & GS_SHARE_MAX))
		return 0;
	if (s->period < GS_PERIOD_MIN || s->period > GS_PERIOD_MAX)
		return -EINVAL;
	if (s->quota == GS_UNLIMITED)
		return s->burst ? -EINVAL : 0;
	if (s->quota < GS_QUOTA_MIN || s->quota > GS_SEATS_MAX * s->period || s->burst > s->quota)
		return -EINVAL;
	return 0;
}

static void share_copy(struct gs_share *to, const struct gs_share *from, u32 which)
{
	if (which & GS_SHARE_WEIGHT)
		to->weight = from->weight;
	if (which & GS_SHARE_CLASS)
		to->class = from->class;
	if (which & GS_SHARE_MAX) {
		to->quota = from->quota;
		to->period = from->period;
		to->burst = from->burst;
	}
	if (which & GS_SHARE_MIN)
		to->min = from->min;
	if (which & GS_SHARE_MEM_MAX)
		to->mem_max = from->mem_max;
	if (which & GS_SHARE_MEM_HIGH)
		to->mem_high = from->mem_high;
	if (which & GS_SHARE_MEM_MIN)
		to->mem_min = from->mem_min;
	if (which & GS_SHARE_MEM_FULL)
		to->mem_full = from->mem_full;
	if (which & GS_SHARE_MEM_WAIT)
		to->mem_wait = from->mem_wait;
}

/* What @group may have on @dev, which it may not have a node on yet. */
static const struct gs_share *share_on(const struct gs_group *group, const struct gs_device *dev)
{
	const struct gs_node *node = dev ? gs_node_find(group, dev) : NULL;

	return node ? &node->share : &group->share;
}

/* What the children of @parent but @but leave of its guarantee. */
u32 gs_min_room_in(const struct gs_group *parent, const struct gs_device *dev,
		   const struct gs_group *but)
{
	u32 most = parent->parent ? share_on(parent, dev)->min : 1000, sum = 0;
	const struct gs_group *g;

	list_for_each_entry(g, &parent->children, sibling)
		if (g != but)
			sum += share_on(g, dev)->min;
	return sum < most ? most - sum : 0;
}

/* What the siblings of @group have left for it; @dev NULL: by general settings. */
u32 gs_min_room(const struct gs_group *group, const struct gs_device *dev)
{
	return group->parent ? gs_min_room_in(group->parent, dev, group) : 0;
}

/* Next group below @top, parents first. */
struct gs_group *gs_group_next(struct gs_group *g, struct gs_group *top)
{
	if (!list_empty(&g->children))
		return list_first_entry(&g->children, struct gs_group, sibling);
	while (g != top && g->sibling.next == &g->parent->children)
		g = g->parent;
	return g == top ? NULL : list_entry(g->sibling.next, struct gs_group, sibling);
}

/*
 * The children's guarantees, as far as their parent's bears them: if they sum
 * up to more, each gets its part.
 */
static void refresh_mins(struct gs_node *up)
{
	u32 most = up->up ? up->min : 1000, sum = 0, given = 0;
	struct gs_group *g;
	struct gs_node *node;

	list_for_each_entry(g, &up->group->children, sibling) {
		node = gs_node_find(g, up->dev);
		sum += node ? node->share.min : 0;
	}
	list_for_each_entry(g, &up->group->children, sibling) {
		u32 min;

		node = gs_node_find(g, up->dev);
		if (!node)
			continue;
		min = sum > most ? div_u64((u64)node->share.min * most, sum) : node->share.min;
		if (min != node->min)
			gs_min_set(node, min);
		given += min;
	}
	if (!up->up)
		up->dev->assured_sum = given;
}

/* What a node knows about those above it. */
void gs_node_inherit(struct gs_node *node)
{
	struct gs_node *up = node->up;

	if (!up)
		return;
	node->depth = up->depth + 1;
	node->capped = up->capped || node->limited;
	node->assured = up->assured || node->min;
}

/* Work out anew what @top and all below it inherit. */
void gs_node_refresh(struct gs_node *top)
{
	struct gs_device *dev = top->dev;
	struct gs_group *g;
	struct gs_node *node;

	for (g = top->group; g; g = gs_group_next(g, top->group)) {
		node = gs_node_find(g, dev);
		if (!node)
			continue;
		gs_node_inherit(node);
		refresh_mins(node);
	}
}

/* Weight and class decide the entity's place: take it out, put it in anew. */
static void reweigh(struct gs_device *dev, struct gs_entity *e, u32 weight, u32 class)
{
	bool queued = e->queued, active = e->active;
	s64 ahead = clamp_t(s64, gs_fair_ahead(e), -(1ll << 48), 1ll << 48);

	if (queued)
		gs_path_dequeue(dev, e);
	if (active)
		gs_path_deactivate(dev, e);
	ahead = div64_s64(ahead * e->weight, weight);
	if (e->link.kind == GS_KIND_CLIENT || gs_entity_node(e)->present)
		e->up->rivals += (u64)weight - e->weight;
	e->class = class;
	gs_entity_weight(e, weight);
	e->link.val = gs_queue_time(gs_queue_of(e)) + ahead;
	gs_deadline_forget(e);
	if (active)
		gs_path_activate(dev, e);
	if (queued)
		gs_path_enqueue(dev, e, true);
}

/* Bring the node's share in line with its group's and its own settings. */
static void apply(struct gs_node *node, u32 which, u64 now)
{
	struct gs_device *dev = node->dev;
	struct gs_share *s = &node->share;

	dev->looked_until = 0;
	gs_charge_holders(dev, now);
	share_copy(s, &node->group->share, which & ~node->own);
	if (s->weight != node->entity.weight || s->class != node->entity.class)
		reweigh(dev, &node->entity, s->weight, s->class);
	if (which & GS_SHARE_MAX)
		gs_quota_set(node, now);
	if (which & GS_SHARE_MIN)
		gs_node_refresh(node->up);
	else if (which & GS_SHARE_MAX)
		gs_node_refresh(node);
	gs_mem_look(dev, now);
}

/* All nodes that @which of the group's general settings count for. */
static void apply_all(struct gs_group *group, u32 which, u64 now)
{
	struct gs_node *node;

	list_for_each_entry(node, &group->nodes, of_group) {
		apply(node, which, now);
		gs_schedule(node->dev, now);
	}
}

static bool min_fits(struct gs_group *group, struct gs_device *dev, u32 min)
{
	struct gs_node *node;

	if (min > gs_min_room(group, dev))
		return false;
	if (dev)
		return true;
	list_for_each_entry(node, &group->nodes, of_group)
		if (!(node->own & GS_SHARE_MIN) && min > gs_min_room(group, node->dev))
			return false;
	return true;
}

int gs_group_set(struct gs_group *group, struct gs_device *dev, const struct gs_share *share,
		 u32 which, u64 now)
{
	struct gs_node *node = NULL;
	int ret = share_check(share, which);

	if (ret)
		return ret;
	if (!group->parent)
		return -EINVAL;
	if (dev) {
		node = gs_node_find(group, dev);
		if (!node)
			return -ENOENT;
	}
	if (which & GS_SHARE_MIN && share->min && !min_fits(group, dev, share->min))
		return -ENOSPC;
	now = gs_enter(group->arb, now);
	gs_tell(group->arb, GS_EV_SHARE, dev, group, NULL, which, 0);
	if (node) {
		gs_charge_holders(dev, now);
		node->own |= which;
		share_copy(&node->share, share, which);
		apply(node, which, now);
		gs_schedule(dev, now);
	} else {
		share_copy(&group->share, share, which);
		apply_all(group, which, now);
	}
	gs_leave(group->arb);
	return 0;
}

int gs_group_unset(struct gs_group *group, struct gs_device *dev, u32 which, u64 now)
{
	struct gs_share init;
	struct gs_node *node;

	if (!which || which & ~(u32)GS_SHARE_ALL || !group->parent)
		return -EINVAL;
	if (!dev) {
		gs_share_init(&init);
		return gs_group_set(group, NULL, &init, which, now);
	}
	node = gs_node_find(group, dev);
	if (!node)
		return -ENOENT;
	if (which & node->own & GS_SHARE_MIN && !min_fits(group, dev, group->share.min))
		return -ENOSPC;
	now = gs_enter(group->arb, now);
	gs_tell(group->arb, GS_EV_SHARE, dev, group, NULL, which, 0);
	which &= node->own;
	node->own &= ~which;
	apply(node, which, now);
	gs_schedule(dev, now);
	gs_leave(group->arb);
	return 0;
}
