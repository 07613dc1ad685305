// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Slices: how long one is, when its holder is asked to yield, and what happens
 * if it doesn't.
 *
 * A grant is for one slice, but the end of a slice means nothing while nobody
 * else could use the seat: no timer is armed, nothing is asked. When there is
 * somebody, the holder is asked at the end of its slice, or at once if that is
 * past. It then has `grace` to reach its next boundary. One that is idle has
 * no boundary to reach: its grant is withdrawn after `linger`, or at the end
 * of its slice.
 *
 * One whose groups have a max loses it after linger even if nobody waits, or it
 * would use up with idling what it will need for its work.
 *
 * THE LENGTH of a slice starts from the device's base slice and is
 *	- no more than the client wants;
 *	- no more than the device's latency target while somebody waits whose group
 *	  is of the latency class where its way to the root and the holder's meet,
 *	  and the holder's is not: a class counts among siblings, so what a user
 *	  does below its own group makes nobody else's slices shorter;
 *	- no less than what it takes to bring the client's memory back and to
 *	  move as much of another's out (if memory must move, a device would
 *	  otherwise do nothing else);
 *	- no more than what the max of its groups leaves, or what is still owed
 *	  to one that has a min.
 */
#include "internal.h"

/* What EEVDF takes for the length of the entity's requests. */
u64 gs_slice_request(const struct gs_device *dev, const struct gs_entity *e)
{
	u64 slice = dev->conf.slice;

	if (e->class == GS_CLASS_LATENCY)
		slice = min(slice, dev->conf.latency);
	if (e->link.kind == GS_KIND_CLIENT) {
		const struct gs_client *c = container_of(e, struct gs_client, entity);

		if (c->want)
			slice = clamp_t(u64, c->want, GS_SLICE_MIN, slice);
	}
	return slice;
}

/* Does somebody of the latency class wait beside the client's way to the root? */
static bool is_hurried(const struct gs_client *c)
{
	const struct gs_entity *e = &c->entity;

	for (; e->up; e = &e->up->entity)
		if (e->class != GS_CLASS_LATENCY && e->up->queue[0].hurried)
			return true;
	return false;
}

static u64 bounded(struct gs_client *c, u64 slice)
{
	const struct gs_device *dev = c->dev;
	u64 moving;

	if (c->want)
		slice = clamp_t(u64, c->want, GS_SLICE_MIN, slice);
	if (unlikely(c->mem_swapped)) {
		moving = (2 * c->mem_swapped >> 20) * dev->conf.copy_ns_per_mib;
		slice = max(slice, min_t(u64, moving, GS_SLICE_MAX));
	}
	if (c->node->assured)
		slice = max_t(u64, min(slice, gs_min_left(c)), GS_SLICE_MIN);
	if (c->node->capped)
		slice = max_t(u64, min(slice, gs_quota_left(c)), GS_SLICE_MIN);
	return slice;
}

u64 gs_slice_length(struct gs_client *c)
{
	const struct gs_device_conf *conf = &c->dev->conf;

	if (c->dev->policy->weighs && is_hurried(c))
		return bounded(c, min(conf->slice, conf->latency));
	return bounded(c, conf->slice);
}

/* The same while nobody else waits, for the shortest of ways. */
u64 gs_slice_alone(struct gs_client *c)
{
	return bounded(c, c->dev->conf.slice);
}

/* Whoever it was asked for has gone, or was served elsewhere: it may go on. */
static void unask(struct gs_client *h)
{
	h->flags &= ~GS_PREEMPT;
	h->preempt_at = GS_NEVER;
	gs_dirty(h);
}

static void preempt(struct gs_client *h, u64 now)
{
	struct gs_node *node;

	if (h->flags & GS_PREEMPT)
		return;
	h->flags |= GS_PREEMPT;
	h->preempted = now;
	h->preempt_at = now;
	h->preempts++;
	for (node = h->node; node; node = node->up)
		node->stat.preempts++;
	gs_dirty(h);
	gs_tell(h->arb, GS_EV_PREEMPT, h->dev, h->group, h, now - h->since, 0);
}

/* The two entities of @a's and @b's ways to the root that are in one queue, or were. */
static void meet(struct gs_entity **a, struct gs_entity **b)
{
	while ((*a)->up != (*b)->up) {
		if ((*a)->up->depth >= (*b)->up->depth)
			*a = &(*a)->up->entity;
		else
			*b = &(*b)->up->entity;
	}
}

/* The slice of @h is to be no longer than @ns. */
static void shorten(struct gs_client *h, u64 ns)
{
	if (h->deadline <= h->since + ns)
		return;
	h->deadline = h->since + ns;
	gs_dirty(h);
}

/*
 * May @c, who just came, cut the slice of @h short? That is up to their groups
 * where their ways to the root meet.
 *
 * Of one class: who is ahead of its share, as others didn't want their time, gives
 * it back to one who is owed some, once it had a quarter of a slice. So who was
 * late by a moment waits no slice for that, and handoffs stay rare.
 *
 * One of the latency class has it at once; if it is ahead of its share it waits for
 * the end of the slice, which is to be no longer than the latency target.
 */
static bool outranks(struct gs_client *c, struct gs_client *h)
{
	const struct gs_device_conf *conf = &h->dev->conf;
	struct gs_entity *a = &c->entity, *b = &h->entity;

	meet(&a, &b);
	if (!a->queued)
		return false;
	if (a->class == b->class) {
		if (gs_fair_lent(h->dev, b) && gs_fair_eligible(a))
			shorten(h, conf->slice / 4);
		return false;
	}
	if (b->class == GS_CLASS_IDLE)
		return true;
	if (a->class != GS_CLASS_LATENCY)
		return false;
	shorten(h, conf->latency);
	return gs_fair_eligible(a);
}

void gs_slice_idle(struct gs_client *h, u64 since, u64 now)
{
	gs_charge(h, now);
	h->idle = 1;
	h->idle_since = clamp_t(u64, since, h->since, now);
}

static u64 peek(struct gs_client *h)
{
	return h->arb->ops->peek_idle ? h->arb->ops->peek_idle(h->arb, h) : 0;
}

/* @c came to wait: what does that change for those who hold? */
void gs_slice_arrival(struct gs_client *c, u64 now)
{
	struct gs_device *dev = c->dev;
	struct gs_client *h, *outranked = NULL;

	if (!gs_node_pickable(&dev->root))
		return;
	list_for_each_entry(h, &dev->holders, of_device) {
		if (!h->idle) {
			u64 since = peek(h);

			if (since)
				gs_slice_idle(h, since, now);
		}
		if (h->flags & GS_PREEMPT || !dev->policy->weighs)
			continue;
		gs_charge(h, now);
		if (outranks(c, h) && !outranked)
			outranked = h;
	}
	if (outranked && !outranked->idle)
		preempt(outranked, now);
}

/*
 * How long the idle holder @h may keep its seat while others wait. One that was
 * asked to yield has just ended a slice, and comes with its next, to yield and
 * ask again in one: so it has linger for that as well.
 */
static u64 linger_until(const struct gs_client *h)
{
	u64 until = h->idle_since + h->dev->conf.linger;

	return h->flags & GS_PREEMPT ? until : min(until, h->deadline);
}

/* Has the idle holder @h lost its seat to those who wait? */
static bool linger_over(struct gs_client *h, u64 now)
{
	u64 since;

	if (now < linger_until(h))
		return false;
	if (!h->arb->ops->peek_idle)
		return true;
	since = peek(h);
	if (!since) {
		gs_charge(h, now);
		h->idle = 0;
		return false;
	}
	/* It may have been at work between the two looks. */
	if (since > h->idle_since)
		gs_slice_idle(h, since, now);
	return now >= linger_until(h);
}

static void withdraw(struct gs_client *h, u64 now)
{
	u64 held = now - h->since;
	struct gs_node *node;

	h->lingers++;
	for (node = h->node; node; node = node->up)
		node->stat.lingers++;
	gs_to_idle(h, now);
	h->at_work = 0;
	h->answered = 0;
	gs_tell(h->arb, GS_EV_LINGER, h->dev, h->group, h, held, 0);
}

/* Take back the seats whose time is over, of those who will not answer. */
void gs_slice_expire(struct gs_device *dev, u64 now)
{
	bool wanted = gs_node_pickable(&dev->root) && !gs_min_held(dev);
	struct gs_client *h, *n;

	list_for_each_entry_safe(h, n, &dev->holders, of_device) {
		if (wanted && !h->idle) {
			u64 since = peek(h);

			if (since)
				gs_slice_idle(h, since, now);
		}
		if (h->idle && (wanted || h->node->capped) && linger_over(h, now))
			withdraw(h, now);
		else if (h->flags & GS_PREEMPT && now >= h->preempted + dev->conf.grace)
			gs_overrun(h, now);
	}
}

/*
 * When is @h to be asked to yield, if nothing else happens? @left counts those
 * who wait and have no holder asked for them yet.
 */
static u64 preempt_time(struct gs_client *h, u32 *left, u64 now)
{
	struct gs_device *dev = h->dev;
	u64 at = GS_NEVER;

	if (*left && dev->policy->sliced) {
		at = h->deadline;
		--*left;
	}
	if (h->node->capped)
		at = min(at, now + gs_quota_left(h));
	return at;
}

/*
 * When to look whether @h, whose seat others want, has become idle: it says so
 * on its page, and nobody calls. After linger, and then each time after twice
 * as long, so that it costs a few looks at most and an idle seat is never kept
 * for much longer than it was used. Once it was asked to yield that begins anew:
 * it may have ended its work and not come back to a boundary.
 *
 * To look is to be woken up, more often than for the handoff itself. So the first
 * look of a grant is when one who does as it did in its last ones will have yielded:
 * after twice as long as it was at work then at most, or took to answer. Who works
 * all the time is looked at when its slice ends; who was found idle, after linger
 * again. That costs the device at most PATIENCE lingers, and the holder pays for it.
 */
#define PATIENCE	20

static u64 peek_time(const struct gs_client *h, u64 now)
{
	u64 from = h->flags & GS_PREEMPT ? h->preempted : h->since;
	u64 as_before = 2 * (h->flags & GS_PREEMPT ? h->answered : h->at_work);
	u64 after = h->dev->conf.linger;

	if (!h->arb->ops->peek_idle || h->idle || !after)
		return GS_NEVER;
	after = max(after, min(as_before, PATIENCE * after));
	while (from + after <= now)
		after *= 2;
	return from + after;
}

static void arm(struct gs_device *dev, u64 when)
{
	struct gs_arbiter *arb = dev->arb;

	if (!gs_tree_empty(&dev->later))
		when = min(when, dev->later.first->key);
	when = min(when, gs_min_timer(dev));
	if (unlikely(dev->awaits))
		when = min(when, dev->awaits_until);
	if (unlikely(dev->root.beside))
		when = min(when, dev->arb->now + dev->conf.slice);
	if (when >= dev->armed)
		return;
	dev->armed = when;	/* before the call: the host may set it */
	arb->ops->arm(arb, dev, when);
}

/*
 * The slice of @h is over, but all who wait are on the device beside it, and the first of
 * them isn't owed the seat: @h would only give back what it has there, and with it its turn
 * on the device, to be granted again.
 */
static bool goes_on(struct gs_client *h, u64 now)
{
	struct gs_entity *a, *b = &h->entity;
	struct gs_device *dev = h->dev;

	if (dev->root.waiting != dev->root.beside || dev->conf.seats > 1 || dev->nr_assured ||
	    !dev->policy->weighs || h->node->capped)
		return false;
	gs_charge(h, now);
	a = gs_next(dev);
	if (!a)
		return false;
	meet(&a, &b);
	return !gs_fair_eligible(a);
}

/* Bring what holders are told up to date, and the device's timer. */
void gs_slice_update(struct gs_device *dev, u64 now)
{
	bool wanted = gs_node_pickable(&dev->root) && !gs_min_held(dev);
	u32 left = wanted ? dev->root.waiting : 0;
	u64 when = GS_NEVER, at;
	struct gs_client *h;

	list_for_each_entry(h, &dev->holders, of_device) {
		if (!h->waiters != !dev->root.waiting)
			gs_dirty(h);
		if (h->flags & GS_PREEMPT && !dev->root.waiting &&
		    (!h->node->capped || gs_quota_left(h)))
			unask(h);
		if (!(h->flags & GS_PREEMPT)) {
			at = preempt_time(h, &left, now);
			if (unlikely(dev->root.beside) && at <= now && goes_on(h, now)) {
				h->deadline = now + gs_slice_length(h);
				at = h->deadline;
			}
			if (at > now) {
				if (h->preempt_at != at) {
					h->preempt_at = at;
					gs_dirty(h);
				}
				when = min(when, at);
			} else {
				preempt(h, now);
			}
		} else if (left) {
			left--;
		}
		if (h->flags & GS_PREEMPT)
			when = min(when, h->preempted + dev->conf.grace);
		if (wanted || h->flags & GS_PREEMPT)
			when = min(when, peek_time(h, now));
		if (h->idle && (wanted || h->node->capped))
			when = min(when, max(now, linger_until(h)));
	}
	arm(dev, when);
}
