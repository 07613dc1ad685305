// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a group is due: the part of a device that the rules give it, if it wants it
 * without end beside all who want some now.
 *
 * Each level of the tree divides what came from above by weight, so that nobody has
 * less than its min or more than its max, nor more than it can use: a client one seat,
 * a group what is below it. What the idle class has, but for its min, is what all
 * others leave. A policy that doesn't weigh gives all clients the same, and knows no min.
 *
 * WHO WANTS. Programs pause between launches, and what is due shouldn't flicker with
 * them: who wanted some a moment ago (RECENT) counts as one who does. The group that
 * is asked for always counts, as a client of its own if nobody of it wants some.
 *
 * COST. Who wants, and how much each could use, is looked up for all nodes of a device
 * at once, and kept for a while (KEPT) or until somebody comes, goes or is set; and so is
 * how each level divides. So to ask for all groups takes a look and a division of each level;
 * for one that wants none, all levels on its way to the root are divided for it.
 *
 * Time on the device is in units of SEAT here: one seat all the time.
 */
#include "internal.h"

#define SEAT	(1u << 20)
#define RECENT	1000000000ull
#define KEPT	10000000ull

/* A level gives each its weight times @level / 2^16 units; nobody's part passes 2^26. */
#define LEVEL_BITS 16
#define LEVEL_MOST (1ull << 42)

/* One who competes at a level, or @n who are alike. */
struct rival {
	u64 weight;
	u32 low, high;
	u32 n;
	bool idle;
};

/* Who competes below a node (NULL: nobody was ever there), with @one in the place of @of. */
struct field {
	const struct gs_node *node, *of;
	const struct rival *one;
};

/* What those who are @idle, or those who aren't, get at @level. */
struct tally {
	u64 level, sum, weights;
	u32 n;
	bool idle;
};

/* -- who wants some -------------------------------------------------------- */

static u32 whole(const struct gs_device *dev)
{
	return dev->conf.seats * SEAT;
}

/* What the group may use at most, on a device where it may have no node yet. */
static u32 limit_of(const struct gs_share *share)
{
	if (share->quota == GS_UNLIMITED)
		return U32_MAX;
	return mul_u64_u64_div_u64(share->quota, SEAT, share->period);
}

static u32 wanting(const struct gs_node *node)
{
	return node->running + node->waiting + node->overrunning;
}

static void forget(struct gs_node *node)
{
	node->eager = 0;
	node->eager_below = NULL;
	node->below = 0;
	node->usable = 0;
	node->division[0].known = false;
	node->division[1].known = false;
	node->eager_own = wanting(node);
}

/* Those who want some in each node itself, and not in a child of it. */
static void find_own(struct gs_device *dev, u64 now)
{
	struct gs_client *c;
	struct gs_node *node;

	forget(&dev->root);
	list_for_each_entry(node, &dev->nodes, of_device)
		forget(node);
	list_for_each_entry(node, &dev->nodes, of_device)
		node->up->eager_own -= wanting(node);
	/* Who left the device last stands last. */
	list_for_each_entry_reverse(c, &dev->idle, of_device) {
		if (c->state != GS_CLIENT_IDLE)
			continue;
		if (!c->entity.left || now > c->entity.left + RECENT)
			return;
		c->node->eager_own++;
	}
}

/* Somebody in @node itself could use so much: that is so above, as far as a max lets it. */
static void use_more(struct gs_node *node, u64 more)
{
	u32 was;

	for (; node; node = node->up) {
		if (node->eager && !more)
			return;
		if (!node->eager && node->up) {
			node->next_eager = node->up->eager_below;
			node->up->eager_below = node;
		}
		node->eager = 1;
		was = node->usable;
		node->below = min_t(u64, node->below + more, whole(node->dev));
		node->usable = min(node->below, node->up ? limit_of(&node->share) : U32_MAX);
		more = node->usable - was;
	}
}

static void look(struct gs_device *dev, u64 now)
{
	struct gs_node *node;

	if (now < dev->looked_until)
		return;
	dev->looked_until = now + KEPT;
	find_own(dev, now);
	if (dev->root.eager_own)
		use_more(&dev->root, (u64)dev->root.eager_own * SEAT);
	list_for_each_entry(node, &dev->nodes, of_device)
		if (node->eager_own)
			use_more(node, (u64)node->eager_own * SEAT);
}

/* -- a level --------------------------------------------------------------- */

static u64 at_level(const struct rival *r, u64 level)
{
	return clamp_t(u64, (r->weight * level) >> LEVEL_BITS, r->low, r->high);
}

/* One who could use so much: what it was given stands in @share, or on the device in @node. */
static struct rival rival_of(const struct gs_share *share, const struct gs_node *node,
			     const struct gs_device *dev, u32 usable)
{
	struct rival r = {
		.weight = share->weight,
		.high = usable,
		.n = 1,
		.idle = share->class == GS_CLASS_IDLE,
	};

	if (!dev->policy->weighs)
		r.weight = max_t(u32, node ? wanting(node) : 0, 1);
	else if (node)
		r.low = min_t(u64, div_u64((u64)node->min * whole(dev), 1000), usable);
	return r;
}

static void add(struct tally *t, const struct rival *r)
{
	if (r->idle != t->idle)
		return;
	t->sum += r->n * at_level(r, t->level);
	t->weights += r->n * r->weight;
	t->n += r->n;
}

/* What those of one kind, the idle class or the others, get at @level. */
static struct tally tally(const struct field *f, bool idle, u64 level)
{
	struct tally t = { .level = level, .idle = idle };
	const struct gs_node *node;
	struct rival r;

	add(&t, f->one);
	if (!f->node)
		return t;
	r = (struct rival) { .high = SEAT, .n = f->node->eager_own };
	r.weight = f->node->dev->policy->weighs ? GS_WEIGHT_DEFAULT : 1;
	add(&t, &r);
	for (node = f->node->eager_below; node; node = node->next_eager) {
		if (node == f->of)
			continue;
		r = rival_of(&node->share, node, node->dev, node->usable);
		add(&t, &r);
	}
	return t;
}

/* The others take what is due to them first: but for its min all that they can use. */
static u64 left_for(const struct field *f, u64 have)
{
	u64 low = tally(f, true, 0).sum;
	u64 rest = have - min(have, low);

	if (!f->one->idle)
		return rest;
	return have - min(rest, tally(f, false, LEVEL_MOST).sum);
}

/* How those of @f->one's kind divide @have. */
static struct gs_division divide(const struct field *f, u64 have)
{
	bool idle = f->one->idle;
	struct gs_division d = { .have = left_for(f, have), .known = true };
	u64 low = 0, high = LEVEL_MOST;
	struct tally t = tally(f, idle, 0);

	if (t.sum >= d.have) {
		d.mins = max_t(u64, t.sum, 1);
		return d;
	}
	/* With no bound in the way, that's it: but for what each is rounded down by. */
	d.level = div64_u64(d.have << LEVEL_BITS, t.weights);
	t = tally(f, idle, d.level);
	if (t.sum <= d.have && t.sum + t.n >= d.have)
		return d;
	d.level = LEVEL_MOST;
	if (tally(f, idle, d.level).sum <= d.have)
		return d;
	while (high - low > 1) {
		d.level = low + (high - low) / 2;
		if (tally(f, idle, d.level).sum <= d.have)
			low = d.level;
		else
			high = d.level;
	}
	d.level = low;
	return d;
}

static u64 part_of(const struct gs_division *d, const struct rival *r)
{
	return d->mins ? mul_u64_u64_div_u64(r->low, d->have, d->mins) : at_level(r, d->level);
}

/* -- the way down ---------------------------------------------------------- */

static const struct gs_share *share_of(const struct gs_group *group, const struct gs_node *node)
{
	return node ? &node->share : &group->share;
}

/* What @group could use if below it @more could be used than by those who want some. */
static u32 usable_with(const struct gs_group *group, const struct gs_device *dev, u32 *more)
{
	const struct gs_node *node = gs_node_find(group, dev);
	u32 below = min(*more + (node ? node->below : 0), whole(dev));
	u32 usable = min(below, limit_of(share_of(group, node)));

	*more = usable - (node ? node->usable : 0);
	return usable;
}

/* What of the part of the group above @group it gets. @known: it is one of those who want some. */
static u64 go_down(const struct gs_group *group, struct gs_device *dev, u32 usable, bool known,
		   u64 part)
{
	struct gs_node *up = gs_node_find(group->parent, dev);
	const struct gs_node *node = gs_node_find(group, dev);
	struct rival one = rival_of(share_of(group, node), node, dev, usable);
	struct gs_division own = { 0 }, *d = known ? &up->division[one.idle] : &own;

	if (!d->known)
		*d = divide(&(struct field) { .node = up, .of = node, .one = &one }, part);
	return part_of(d, &one);
}

u32 gs_due(const struct gs_group *group, struct gs_device *dev, u64 now)
{
	const struct gs_node *node = gs_node_find(group, dev);
	u32 usable[GS_DEPTH_MAX + 2], more, depth = 0, i;
	const struct gs_group *at;
	u64 part = whole(dev);
	bool known;

	look(dev, max(now, dev->arb->now));
	known = node && node->eager;
	more = known ? 0 : SEAT;
	for (at = group; at->parent; at = at->parent)
		usable[depth++] = usable_with(at, dev, &more);
	while (depth--) {
		for (at = group, i = depth; i; i--)
			at = at->parent;
		part = go_down(at, dev, usable[depth], known, part);
	}
	return div_u64(part * 1000 + whole(dev) / 2, whole(dev));
}
