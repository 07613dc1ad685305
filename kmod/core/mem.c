// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Device memory: who may have how much, and who is asked to make room.
 *
 * Charges go up the tree like time does. A mem.max counts all that was
 * charged, on the device or moved off it, so moving memory out is no way round
 * a limit. The device counts what is really there.
 *
 * On a device that may be oversubscribed, clients that aren't running are
 * asked to move out (GS_EVICT) when more is charged than there is: those of
 * groups above their mem.high first, then those that ran least recently, but
 * none of a group at or below its mem.min, if all above it have one too. The
 * next one to run is told beforehand (GS_PREPARE) if it has memory to bring back,
 * so that it can do so while the present holder computes: double buffering. The
 * core only names them and keeps the books; the copying is the client's.
 */
#include "internal.h"

/* So many clients are looked at for eviction at one time. */
#define EVICT_LOOK 256

void gs_mem_refuse(struct gs_client *c, struct gs_node *at, u64 bytes)
{
	c->mem_denied++;
	for (; at; at = at->up)
		at->stat.mem_denied++;
	gs_tell(c->arb, GS_EV_MEM_DENIED, c->dev, c->group, c, bytes, 0);
}

/* Change what @node and all above it have. */
static void count(struct gs_node *node, s64 used, s64 swapped)
{
	for (; node; node = node->up) {
		node->mem.used += used;
		node->mem.swapped += swapped;
		node->mem.peak = max(node->mem.peak, node->mem.used);
	}
}

static void client_count(struct gs_client *c, s64 used, s64 swapped)
{
	c->mem_used += used;
	c->mem_swapped += swapped;
	c->mem_peak = max(c->mem_peak, c->mem_used);
	c->dev->mem_used += used;
	count(c->node, used, swapped);
}

/* Those of @node and below that wait, what they want, and when they began, added up. */
void gs_mem_count_waits(struct gs_node *node, int waiters, u64 wanted, u64 began)
{
	for (; node; node = node->up) {
		node->mem.waiters += waiters;
		node->mem.wanted += wanted;
		node->mem.began += began;
	}
}

static bool may_move_out(const struct gs_client *c, bool only_high)
{
	const struct gs_node *node;
	bool high = false, spared = false;

	if (!c->mem_used || c->flags & GS_EVICT || c == c->dev->prepared)
		return false;
	for (node = c->node; node->up; node = node->up) {
		/* Only what a group was promised can it promise on. */
		if (!node->share.mem_min)
			spared = false;
		else if (node->mem.used <= node->share.mem_min)
			spared = true;
		high |= node->mem.used > node->share.mem_high;
	}
	return !spared && (high || !only_high);
}

static u64 ask_out(struct gs_device *dev, struct gs_client *but, u64 need, bool only_high)
{
	unsigned int look = EVICT_LOOK;
	struct gs_client *c;
	u64 asked = 0;

	list_for_each_entry(c, &dev->idle, of_device) {
		if (asked >= need || !look--)
			break;
		if (c == but || !may_move_out(c, only_high))
			continue;
		c->flags |= GS_EVICT;
		list_add_tail(&c->of_leaving, &dev->leaving);
		asked += c->mem_used;
		dev->mem_leaving += c->mem_used;
		gs_dirty(c);
		gs_tell(c->arb, GS_EV_EVICT, dev, c->group, c, c->mem_used, 0);
	}
	return asked;
}

/* Make room for @bytes that are about to come, for @c. */
static void make_room(struct gs_device *dev, struct gs_client *c, u64 bytes)
{
	u64 cap = dev->conf.mem_capacity, have = dev->mem_used + bytes, asked;

	have -= min(have, dev->mem_leaving);
	if (!cap || have <= cap)
		return;
	asked = ask_out(dev, c, have - cap, true);
	if (asked < have - cap)
		ask_out(dev, c, have - cap - asked, false);
}

static void stop_leaving(struct gs_client *c)
{
	c->dev->mem_leaving -= c->mem_used;
	c->flags &= ~GS_EVICT;
	list_del_init(&c->of_leaving);
	gs_dirty(c);
}

/*
 * There is more room than there was: those without whose memory all fits needn't
 * move out any more, who was asked last first. What the next one to run is to
 * bring back needs its room too.
 */
static void take_back(struct gs_device *dev)
{
	u64 cap = dev->conf.mem_capacity, need = dev->mem_used;
	struct gs_client *c;

	if (dev->prepared)
		need += dev->prepared->mem_swapped;
	while (!list_empty(&dev->leaving)) {
		c = list_last_entry(&dev->leaving, struct gs_client, of_leaving);
		if (cap && need - (dev->mem_leaving - c->mem_used) > cap)
			break;
		stop_leaving(c);
	}
}

/* The device's capacity was set: those who are in the way needn't wait for a charge. */
void gs_mem_refresh(struct gs_device *dev, u64 now)
{
	if (dev->conf.oversubscribe)
		make_room(dev, NULL, 0);
	take_back(dev);
	gs_mem_look(dev, now);
}

/* @out of what @c had on the device isn't there any more. */
static void moved_out(struct gs_client *c, u64 out)
{
	c->dev->mem_freed += !!out;
	if (c->flags & GS_EVICT) {
		c->dev->mem_leaving -= out;
		if (!c->mem_used)
			stop_leaving(c);
	}
	take_back(c->dev);
}

/* The node's part of the device's memory, by the weights of those who are there. */
static u64 part_of(const struct gs_node *node)
{
	const struct gs_entity *e = &node->entity;
	u64 part = node->dev->conf.mem_capacity;

	for (; e->up; e = &e->up->entity)
		part = mul_u64_u64_div_u64(part, e->weight, max_t(u64, e->up->rivals, 1));
	return part;
}

/*
 * Nobody can be believed what it charged, as a claim costs nothing. So a device that
 * is full by the books still takes what is no more than the part of some group that
 * the client is in: what really isn't there the device itself refuses.
 */
/* The most of these; @in_turn: of those that nobody else waits for, see memwait.c. */
u64 gs_mem_part_left(const struct gs_client *c, bool in_turn)
{
	u64 left = 0, part, have;
	const struct gs_node *node;

	for (node = c->node; node->up; node = node->up) {
		if (in_turn && node->mem.part_awaited)
			continue;
		part = part_of(node);
		have = node->mem.used + node->mem.swapped;
		left = max(left, part - min(part, have));
	}
	return left;
}

u64 gs_mem_room(const struct gs_client *c)
{
	u64 cap = c->dev->conf.mem_capacity;

	if (!cap)
		return GS_UNLIMITED;
	return max(cap - min(cap, c->dev->mem_used), gs_mem_part_left(c, false));
}

/* Is there, or can there be, room for @bytes more on the device? */
static bool fits(const struct gs_client *c, u64 bytes)
{
	u64 cap = c->dev->conf.mem_capacity;

	if (!cap)
		return true;
	return bytes <= (c->dev->conf.oversubscribe ? cap : gs_mem_room(c));
}

/* Whose limit it would pass, the device's root for the device's; NULL: it fits. */
static struct gs_node *in_the_way(const struct gs_client *c, u64 bytes)
{
	struct gs_node *node;

	for (node = c->node; node; node = node->up) {
		u64 have = node->mem.used + node->mem.swapped;

		if (node->share.mem_max != GS_UNLIMITED && have + bytes > node->share.mem_max)
			return node;
	}
	return fits(c, bytes) && c->dev->mem_used <= GS_MEM_MOST ? NULL : &c->dev->root;
}

bool gs_mem_fits(const struct gs_client *c, u64 bytes)
{
	return !in_the_way(c, bytes);
}

/* It may have it. */
void gs_mem_take(struct gs_client *c, u64 bytes)
{
	struct gs_device *dev = c->dev;

	if (dev->conf.oversubscribe)
		make_room(dev, c, bytes);
	if (c->flags & GS_EVICT)
		dev->mem_leaving += bytes;
	client_count(c, bytes, 0);
}

int gs_mem_charge(struct gs_client *c, u64 bytes, u64 now)
{
	struct gs_node *at;

	if (c->state == GS_CLIENT_GONE)
		return -ENODEV;
	if (bytes > GS_MEM_MOST)
		return -EINVAL;
	now = gs_enter(c->arb, now);
	at = in_the_way(c, bytes);
	if (at) {
		gs_mem_refuse(c, at, bytes);
		return -ENOMEM;
	}
	gs_mem_take(c, bytes);
	if (c->mem_wanted)	/* another thread waits: with more to wait for each other by */
		gs_mem_look(c->dev, now);
	gs_leave(c->arb);
	return 0;
}

int gs_mem_uncharge(struct gs_client *c, u64 bytes, u64 now)
{
	u64 used;

	if (c->state == GS_CLIENT_GONE)
		return -ENODEV;
	if (bytes > c->mem_used + c->mem_swapped)
		return -EINVAL;
	now = gs_enter(c->arb, now);
	used = min(bytes, c->mem_used);
	client_count(c, -(s64)used, -(s64)(bytes - used));
	moved_out(c, used);
	gs_mem_freed(c->dev, now);
	gs_leave(c->arb);
	return 0;
}

int gs_mem_swap(struct gs_client *c, u64 bytes, bool out, u64 now)
{
	if (c->state == GS_CLIENT_GONE)
		return -ENODEV;
	if (bytes > (out ? c->mem_used : c->mem_swapped))
		return -EINVAL;
	now = gs_enter(c->arb, now);
	if (!out && !fits(c, bytes)) {
		gs_mem_refuse(c, &c->dev->root, bytes);
		return -ENOMEM;
	}
	if (out) {
		client_count(c, -(s64)bytes, bytes);
		moved_out(c, bytes);
		gs_mem_freed(c->dev, now);
	} else {
		if (c->dev->conf.oversubscribe)
			make_room(c->dev, c, bytes);
		if (c->flags & GS_EVICT)
			c->dev->mem_leaving += bytes;
		client_count(c, bytes, -(s64)bytes);
		gs_mem_look(c->dev, now);
	}
	gs_leave(c->arb);
	return 0;
}

void gs_mem_move(struct gs_client *c, struct gs_node *from, struct gs_node *to)
{
	count(from, -(s64)c->mem_used, -(s64)c->mem_swapped);
	count(to, c->mem_used, c->mem_swapped);
	if (c->mem_wanted) {
		gs_mem_count_waits(from, -1, -c->mem_wanted, -c->mem_began);
		gs_mem_count_waits(to, 1, c->mem_wanted, c->mem_began);
	}
}

void gs_mem_move_node(const struct gs_node *node, struct gs_node *from, struct gs_node *to)
{
	count(from, -(s64)node->mem.used, -(s64)node->mem.swapped);
	count(to, node->mem.used, node->mem.swapped);
	gs_mem_count_waits(from, -(int)node->mem.waiters, -node->mem.wanted, -node->mem.began);
	gs_mem_count_waits(to, node->mem.waiters, node->mem.wanted, node->mem.began);
}

void gs_mem_drop(struct gs_client *c)
{
	u64 used = c->mem_used;

	client_count(c, -(s64)used, -(s64)c->mem_swapped);
	moved_out(c, used);
}

/* @next would be picked now: let it bring its memory back. */
void gs_mem_prepare(struct gs_device *dev, struct gs_client *next)
{
	struct gs_client *was = dev->prepared;

	if (next == was)
		return;
	if (was) {
		was->flags &= ~GS_PREPARE;
		gs_dirty(was);
	}
	dev->prepared = NULL;
	if (!next || !next->mem_swapped)
		return;
	dev->prepared = next;
	next->flags |= GS_PREPARE;
	if (next->flags & GS_EVICT)
		stop_leaving(next);
	if (dev->conf.oversubscribe)
		make_room(dev, next, next->mem_swapped);
	gs_dirty(next);
}
