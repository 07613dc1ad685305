// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that is waited for: a charge that doesn't fit now, where mem_full says so.
 *
 * THE QUEUE. All who wait for a device stand in one line, in the order in which they
 * came. It is looked over whenever memory may have become free, from the front:
 *
 *  1. Who finds no room at a limit (a mem.max on its way up, then the device) keeps that
 *     limit from all who came later, however little they want: so small ones don't
 *     starve a big one. Only its first such limit, from its group upwards: room that it
 *     couldn't use yet, as its own group is full, is free for others.
 *  2. What is no more than a group's part of the device (mem.c) is had at once, whoever
 *     outside that group waits: no tenant's waiting keeps another from its part.
 *  3. Rule 1 isn't for who wouldn't find room there if all that don't wait had given back
 *     everything: it waits for others that wait, so these must get on first.
 *
 * NEVER A DEADLOCK. Waiting for each other can only those who have memory. Take for
 * granted that who doesn't wait gives back all it has some day. Then somebody whose
 * wish fits beside what all waiters have can be served, ends, and gives back what it has,
 * too; and so on. If none is left over, everyone can be served, in some order. Those
 * that are left over are waiting for each other, for ever: for any one of them there is a
 * limit at which what it wants and what those left over have is too much. The last of
 * them to come which has memory is refused, and it is looked at anew. That is done whenever
 * such a state could have come about: when one begins to wait, gets memory in another way
 * while it does, is moved, or a limit was set. Example, of a device with 10:
 *
 *	A has 4, B has 4; A wants 4: 4 + 4 + 4 > 10, it waits for B, which doesn't wait
 *	B wants 4: neither fits beside the 8 of both; B came last and is refused
 *	B wants 2: that fits beside the 8 of both, at once. A waits on, for B
 *
 * The rules don't bring a deadlock of their own: when nobody is left who doesn't wait, rule
 * 1 keeps nothing from anybody, as who finds no room then is one whom rule 3 exempts.
 *
 * Who wants what it couldn't have were it alone doesn't begin to wait. Nobody waits for
 * longer than its mem_wait; that is for programs that hold memory and don't get on for
 * reasons that aren't known here, and for hostile ones: to wait for much holds up those
 * who want more than their part, but not for longer than that.
 *
 * WHAT THE DEVICE ITSELF REFUSES although the books had room (it has fewer bytes than was
 * said, in pieces, or others use it past us) is asked for with @refused. Such a one waits
 * until anybody has given back something, has its try, and keeps its place if it comes back.
 *
 * KNOWN WEAKNESS: a look over the line costs its length times the depth of the tree, and to
 * find who waits for ever the square of it, a quarter of a ms at the worst; so the line is
 * short, a tenant has half of it, and that is looked for only when such a state could have
 * come about.
 */
#include "internal.h"

#define WAITERS	64	/* for one device */

static u32 full_of(const struct gs_client *c)
{
	const struct gs_node *node;

	for (node = c->node; node; node = node->up)
		if (node->share.mem_full != GS_FULL_ABOVE)
			return node->share.mem_full;
	return c->dev->conf.mem_full;
}

static u64 wait_of(const struct gs_client *c)
{
	const struct gs_node *node;

	for (node = c->node; node; node = node->up)
		if (node->share.mem_wait)
			return node->share.mem_wait;
	return c->dev->conf.mem_wait;
}

static u64 has(const struct gs_client *c)
{
	return c->mem_used + c->mem_swapped;
}

static bool capacity_is_a_limit(const struct gs_device *dev)
{
	return dev->conf.mem_capacity && !dev->conf.oversubscribe;
}

/* Would @c have room beside @others bytes of others, below @node? */
static bool fits_beside(const struct gs_node *node, u64 others, u64 bytes)
{
	u64 most = node->share.mem_max;

	return most == GS_UNLIMITED || others + bytes <= most;
}

/* Could it be had if there were nobody else? */
static bool could_be(const struct gs_client *c, u64 bytes)
{
	u64 cap = c->dev->conf.mem_capacity;
	const struct gs_node *node;

	if (c->dev->mem_used > GS_MEM_MOST)
		return false;
	for (node = c->node; node; node = node->up)
		if (!fits_beside(node, has(c), bytes))
			return false;
	if (c->dev->conf.oversubscribe)
		return !cap || bytes <= cap;
	return !cap || c->mem_used + bytes <= cap;
}

/* What those that wait have: below each node above them, and on the device. */
static void sum_up(struct gs_device *dev)
{
	struct gs_node *node;
	struct gs_client *c;

	dev->mem_stuck = 0;
	list_for_each_entry(c, &dev->mem_waiters, of_waiters)
		for (node = c->node; node; node = node->up) {
			node->mem.stuck = 0;
			node->mem.awaited = false;
			node->mem.part_awaited = false;
		}
	list_for_each_entry(c, &dev->mem_waiters, of_waiters) {
		dev->mem_stuck += c->mem_used;
		for (node = c->node; node; node = node->up)
			node->mem.stuck += has(c);
	}
	dev->mem_awaited = false;
}

/* Rule 1, at the limit of a group: false, if it finds no room there. */
static bool passes_node(struct gs_node *node, const struct gs_client *c)
{
	u64 bytes = c->mem_wanted;

	if (node->share.mem_max == GS_UNLIMITED)
		return true;
	if (!node->mem.awaited && fits_beside(node, node->mem.used + node->mem.swapped, bytes))
		return true;
	if (fits_beside(node, node->mem.stuck, bytes))
		node->mem.awaited = true;
	return false;
}

/* Rules 2 and 1, at the device. */
static bool passes_device(struct gs_device *dev, const struct gs_client *c)
{
	struct gs_node *node;
	u64 cap = dev->conf.mem_capacity, bytes = c->mem_wanted;
	bool again = !c->mem_refused || c->mem_freed != dev->mem_freed;

	if (!capacity_is_a_limit(dev) && again)
		return true;
	if (again && bytes <= gs_mem_part_left(c, true))
		return true;
	if (again && !dev->mem_awaited && bytes <= cap - min(cap, dev->mem_used))
		return true;
	if (cap && dev->mem_stuck + bytes > cap)
		return false;
	dev->mem_awaited = true;
	for (node = c->node; node; node = node->up)
		node->mem.part_awaited = true;
	return false;
}

static bool passes(struct gs_client *c)
{
	struct gs_node *node;

	for (node = c->node; node; node = node->up)
		if (!passes_node(node, c))
			return false;
	return passes_device(c->dev, c);
}

static void count(const struct gs_client *c, int n)
{
	gs_mem_count_waits(c->node, n, n * c->mem_wanted, n * c->mem_began);
}

/* It waits no more; 0: it is to have what it wants. */
static void leave(struct gs_client *c, int result, u64 now)
{
	u64 bytes = c->mem_wanted, waited = now - min(now, c->mem_began);
	struct gs_node *node;

	count(c, -1);
	for (node = c->node; node; node = node->up)
		node->stat.mem_wait += waited;
	c->mem_wait += waited;
	c->mem_wanted = 0;
	c->mem_result = result;
	list_del_init(&c->of_waiters);
	c->dev->nr_mem_waiters--;
	if (!result)
		gs_mem_take(c, bytes);
	else if (result != -EINTR && result != -ENODEV)
		gs_mem_refuse(c, &c->dev->root, bytes);
	c->mem_left = result == -EINTR ? GS_MEM_INTERRUPTED : result ? GS_MEM_DONE : GS_MEM_HAD;
	if (c->arb->ops->mem_over && c->dev->mem_asking != c)
		c->arb->ops->mem_over(c->arb, c, result);
}

static void serve(struct gs_device *dev, u64 now)
{
	struct gs_client *c, *n;

again:
	sum_up(dev);
	list_for_each_entry_safe(c, n, &dev->mem_waiters, of_waiters) {
		bool alone = !has(c);

		if (full_of(c) != GS_FULL_WAIT || !could_be(c, c->mem_wanted)) {
			leave(c, -ENOMEM, now);
			goto again;
		}
		if (!passes(c))
			continue;
		leave(c, 0, now);
		/* What it has stands in nobody's way any more: rule 3 exempts fewer. */
		if (!alone)
			goto again;
	}
}

/* Would there be room for @c if all but those whose memory is stuck gave back everything? */
static bool could_go(const struct gs_client *c)
{
	const struct gs_device *dev = c->dev;
	const struct gs_node *node;

	for (node = c->node; node; node = node->up)
		if (!fits_beside(node, node->mem.stuck, c->mem_wanted))
			return false;
	if (c->mem_refused && c->mem_freed == dev->mem_freed && dev->mem_used <= dev->mem_stuck)
		return false;	/* nobody could give back anything */
	return !capacity_is_a_limit(dev) || c->mem_wanted <= gs_mem_part_left(c, false) ||
	       dev->mem_stuck + c->mem_wanted <= dev->conf.mem_capacity;
}

/* Who would wait for ever; of these the last that has memory, else the last; or NULL. */
static struct gs_client *left_over(struct gs_device *dev)
{
	struct gs_client *c, *last = NULL;
	struct gs_node *node;
	bool any;

	sum_up(dev);
	list_for_each_entry(c, &dev->mem_waiters, of_waiters)
		c->mem_clear = false;
	do {
		any = false;
		list_for_each_entry(c, &dev->mem_waiters, of_waiters) {
			if (c->mem_clear || !could_go(c))
				continue;
			c->mem_clear = true;
			any |= !!has(c);
			dev->mem_stuck -= c->mem_used;
			for (node = c->node; node; node = node->up)
				node->mem.stuck -= has(c);
		}
	} while (any);
	list_for_each_entry(c, &dev->mem_waiters, of_waiters)
		if (!c->mem_clear && (!last || has(c) || !has(last)))
			last = c;
	return last;
}

/* Memory may have become free, and nothing else is new. */
void gs_mem_freed(struct gs_device *dev, u64 now)
{
	if (!list_empty(&dev->mem_waiters))
		serve(dev, now);
}

/* What those in the line have, want or may have may be another. */
void gs_mem_look(struct gs_device *dev, u64 now)
{
	struct gs_client *c;
	struct gs_node *node;

	if (list_empty(&dev->mem_waiters))
		return;
	serve(dev, now);
	while ((c = left_over(dev))) {
		c->mem_crossed++;
		for (node = c->node; node; node = node->up)
			node->stat.mem_crossed++;
		leave(c, -ENOMEM, now);
		serve(dev, now);
	}
}

static bool has_place(const struct gs_client *c)
{
	const struct gs_client *other;
	unsigned int n = 0;

	if (c->dev->nr_mem_waiters >= WAITERS)
		return false;
	if (!c->group->tenant && !gs_tenant_is(c->group))
		return true;
	list_for_each_entry(other, &c->dev->mem_waiters, of_waiters)
		n += other->group->tenant == c->group->tenant;
	return n < WAITERS / 2;
}

/* What the device refused, of what was waited for. */
static bool has_its_try(const struct gs_client *c, u64 bytes, bool refused)
{
	return refused && c->mem_left == GS_MEM_HAD && bytes == c->mem_asked;
}

/* Its place in the line: at the end, unless it goes on with a wait that it began before. */
static void enter(struct gs_client *c, u64 bytes, bool refused, u64 now)
{
	bool goes_on = has_its_try(c, bytes, refused) || (c->mem_left == GS_MEM_INTERRUPTED &&
		bytes == c->mem_asked && now < c->mem_until);
	struct gs_device *dev = c->dev;
	struct gs_client *before;

	if (!goes_on) {
		c->mem_turn = ++dev->mem_turn;
		c->mem_until = now + wait_of(c);
		c->mem_asked = bytes;
	}
	c->mem_began = now;
	c->mem_wanted = bytes;
	c->mem_refused = refused;
	c->mem_freed = dev->mem_freed;
	list_for_each_entry_reverse(before, &dev->mem_waiters, of_waiters)
		if (before->mem_turn < c->mem_turn)
			break;
	list_add(&c->of_waiters, &before->of_waiters);
	dev->nr_mem_waiters++;
	count(c, 1);
}

static int enqueue(struct gs_client *c, u64 bytes, bool refused, u64 now)
{
	struct gs_node *node;

	enter(c, bytes, refused, now);
	c->dev->mem_asking = c;
	gs_mem_look(c->dev, now);
	c->dev->mem_asking = NULL;
	if (!c->mem_wanted)
		return c->mem_result;
	c->mem_waits++;
	for (node = c->node; node; node = node->up)
		node->stat.mem_waits++;
	return -EAGAIN;
}

int gs_mem_try(struct gs_client *c, u64 bytes, u64 now)
{
	if (c->state != GS_CLIENT_GONE && bytes && bytes <= GS_MEM_MOST &&
	    full_of(c) == GS_FULL_WAIT &&
	    !(list_empty(&c->dev->mem_waiters) && gs_mem_fits(c, bytes)))
		return -EAGAIN;
	return gs_mem_charge(c, bytes, now);
}

int gs_mem_wait(struct gs_client *c, u64 bytes, bool refused, u64 now)
{
	struct gs_device *dev = c->dev;
	bool late;
	int ret;

	if (c->state == GS_CLIENT_GONE)
		return -ENODEV;
	if (bytes > GS_MEM_MOST)
		return -EINVAL;
	if (c->mem_wanted)
		return -EBUSY;
	now = gs_enter(c->arb, now);
	if (!bytes || full_of(c) != GS_FULL_WAIT ||
	    (!refused && list_empty(&dev->mem_waiters) && gs_mem_fits(c, bytes))) {
		c->mem_left = GS_MEM_DONE;
		if (!refused)
			return gs_mem_charge(c, bytes, now);
		gs_mem_refuse(c, &dev->root, bytes);
		return -ENOMEM;
	}
	late = has_its_try(c, bytes, refused) && now >= c->mem_until;
	if (late || !could_be(c, bytes) || !has_place(c)) {
		c->mem_left = GS_MEM_DONE;
		gs_mem_refuse(c, &dev->root, bytes);
		return late ? -ETIMEDOUT : -ENOMEM;
	}
	ret = enqueue(c, bytes, refused, now);
	gs_leave(c->arb);
	return ret;
}

int gs_mem_give_up(struct gs_client *c, bool in_time, u64 now)
{
	int ret;

	if (!c->mem_wanted)
		return c->mem_result;
	now = gs_enter(c->arb, now);
	c->dev->mem_asking = c;
	ret = in_time ? -EINTR : -ETIMEDOUT;
	leave(c, ret, now);
	c->dev->mem_asking = NULL;
	gs_mem_freed(c->dev, now);
	gs_leave(c->arb);
	return ret;
}

/* It goes, or its device does. */
void gs_mem_wait_drop(struct gs_client *c, u64 now)
{
	if (c->mem_wanted)
		leave(c, -ENODEV, now);
}

