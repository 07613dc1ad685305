// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Beside a holder: what can't be stopped isn't waited for.
 *
 * THE PROBLEM. A launch that can't be cut runs to its end, for 100 ms say. To keep the
 * next one waiting for that is no use: a device takes turns among the programs that have
 * work on it (a GPU's contexts in some ms), so with no arbiter at all the next one would
 * run within a turn or two.
 *
 * THE RULE. Who is asked to yield, and says on its page that what it has on the device
 * can't be stopped for longer than a quarter of a slice, is taken to have yielded and asked
 * anew at that moment. The seat is the next one's. From then on the client waits as all do,
 * and is *beside* for as long as its page says that it is on the device still. It may get
 * the seat again meanwhile, if it is owed it: then the others are kept off, and what it has
 * on the device runs alone.
 *
 * WHO PAYS. Those on the device, holders and those beside, take turns there: each of n has
 * 1/n of the time (with seats: seats/n), and that is what each is charged. gs_turns() is
 * that clock: what each who is there had up to now. So charges sum up to the seats' time
 * whoever says what, and a weight is a part of the device's real time. Example, A of weight
 * 3 with kernels of 100 ms, B of weight 1 with short ones, slices of 2 ms; A alone, and
 * both in turns, follow each other:
 *
 *	holds	 A	B	A	B	...
 *	A had	 2	1	2	1	of each 4 ms 3, as is its part
 *	B had	 0	1	0	1
 *
 * BOUNDS. Who comes waits for nobody's launch, but for a quarter of a slice at most, and
 * then as without an arbiter. Lags stay bounded as they are (fair.c), but for who is beside:
 * as it can't be kept off the device it may be ahead by all that it has there; it owes that,
 * and while it does it is taken for late (gs_fair_late()), so it is lent nothing.
 *
 * WHO LIES gains nothing. It had to be granted the seat before; what it says after that
 * can't take a seat from anybody, and costs it 1/n for as long as it says so. It makes
 * others' charges less by just that much. One that says so for ever harms those who share
 * its group: after OVER_AFTER graces the group pays for no more than for one that overruns.
 * A max counts all time on the device, turns or not, so that no saying raises it.
 */
#include "internal.h"

#define OVER_AFTER 10
#define AT_ONCE 2

u64 gs_turns(struct gs_device *dev, u64 now)
{
	u64 n = dev->root.running + dev->root.beside, ns = now - dev->turns_at, had;
	u64 most = max(dev->conf.seats, dev->root.running);

	if (!ns)
		return dev->turns;
	if (unlikely(n > most)) {
		had = ns * most + dev->turns_rest;
		ns = div64_u64(had, n);
		dev->turns_rest = had - ns * n;
	} else {
		dev->turns_rest = 0;
	}
	dev->turns_at = now;
	dev->turns += ns;
	return dev->turns;
}

/* So many more are beside holders below @node, who paid up to times that sum up to @paid. */
void gs_path_beside(struct gs_node *node, int beside, u64 paid)
{
	gs_turns(node->dev, node->dev->arb->now);
	for (; node; node = node->up) {
		node->beside += beside;
		node->beside_paid += paid;
	}
}

bool gs_beside_is_over(const struct gs_client *c, u64 now)
{
	return c->beside && now - c->since > OVER_AFTER * c->dev->conf.grace;
}

static void to_beside(struct gs_client *c, u64 now)
{
	struct gs_device *dev = c->dev;
	struct gs_node *node;

	gs_tell(c->arb, GS_EV_YIELD, dev, c->group, c, now - c->since, 1);
	gs_tell(c->arb, GS_EV_REQUEST, dev, c->group, c, c->want, 0);
	for (node = c->node; node; node = node->up)
		node->stat.besides++;
	gs_to_waiting(c, false, now);
	gs_dirty_first(c);
	c->beside = 1;
	c->unasked = 1;
	list_add_tail(&c->of_beside, &dev->beside);
	gs_path_beside(c->node, 1, c->paid);
}

/* What it had on the device has ended, or it holds again. */
void gs_beside_end(struct gs_client *c, u64 now)
{
	gs_charge(c, now);
	gs_fair_late(&c->entity, now - c->since, true);
	c->beside = 0;
	list_del_init(&c->of_beside);
	gs_path_beside(c->node, -1, -c->paid);
}

static u64 peek_until(struct gs_client *c)
{
	return c->arb->ops->peek_until ? c->arb->ops->peek_until(c->arb, c) : 0;
}

static bool is_idle(struct gs_client *c)
{
	return c->arb->ops->peek_idle && c->arb->ops->peek_idle(c->arb, c);
}

static void look(struct gs_client *c, u64 now)
{
	const u64 kill_after = c->dev->conf.kill_after;

	if (c->unasked && is_idle(c)) {
		gs_to_idle(c, now);
		gs_tell(c->arb, GS_EV_CANCEL, c->dev, c->group, c, 0, 0);
	} else if (c->beside && !peek_until(c)) {
		gs_beside_end(c, now);
	} else if (c->beside) {
		gs_charge(c, now);
		if (kill_after && !c->killed && now - c->since >= kill_after)
			gs_kill(c, now - c->since);
	}
}

/* A holder goes: what these had until now was beside it, and not while it was away. */
void gs_beside_charge(struct gs_device *dev, u64 now)
{
	unsigned int most = AT_ONCE;
	struct gs_client *c;

	list_for_each_entry(c, &dev->beside, of_beside) {
		if (!most--)
			break;
		gs_charge(c, now);
	}
}

/* Some of those who are beside are looked at, in turn: their number is theirs to choose. */
void gs_beside_look(struct gs_device *dev, u64 now)
{
	unsigned int most = AT_ONCE;
	struct gs_client *c;

	while (most-- && !list_empty(&dev->beside)) {
		c = list_first_entry(&dev->beside, struct gs_client, of_beside);
		list_move_tail(&c->of_beside, &dev->beside);
		look(c, now);
	}
}

/*
 * Has @c, which waits, paid up to now, and does it want the seat still? Else that is known
 * now, and another may be the next.
 */
bool gs_beside_check(struct gs_client *c, u64 now)
{
	if (c->beside ? c->charged == now : !c->unasked || !is_idle(c))
		return true;
	look(c, now);
	return false;
}

/* Seats of those who were asked to yield and can't are free from now on; false: there are none. */
bool gs_beside_lend(struct gs_device *dev, u64 now)
{
	struct gs_client *h, *n;
	bool any = false;

	list_for_each_entry_safe(h, n, &dev->holders, of_device) {
		if (!(h->flags & GS_PREEMPT) || h->idle || h->since == now ||
		    peek_until(h) <= now + dev->conf.slice / 4)
			continue;
		to_beside(h, now);
		any = true;
	}
	return any;
}
