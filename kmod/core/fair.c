// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sharing by weight: EEVDF at each level of the share tree.
 *
 * THE PROBLEM. Each entity i of a queue is to get w_i / W of the time that the
 * queue gets, over any stretch in which it wants to run; a slice at a time, as
 * a device can't be cut finer, and without knowing how long a slice will last
 * until it is over.
 *
 * VIRTUAL TIME. What an entity has used is kept as its virtual runtime v_i,
 * which grows by dt * 4096 / w_i for dt nanoseconds of device time. Were the
 * device shared without any grain, all v_i would be equal all the time. The
 * average, weighted by w_i,
 *
 *	V = sum(w_i * v_i) / W
 *
 * is where they all would be, and lag_i = w_i * (V - v_i) is what the arbiter
 * owes entity i, in device time. The lags sum up to 0.
 *
 * PICKING. Two rules: only entities that are owed something (v_i <= V) are
 * eligible, so nobody gets ahead by more than one slice; and of these, the one
 * with the earliest virtual deadline v_i + slice / w_i goes first, so one who
 * asks for less at a time waits less, and gets no more for it. This bounds
 * every lag by one longest slice. Example, weights 3 and 1, slices of 4 ms,
 * both from v = 0 (virtual times in ms at weight 1):
 *
 *	t	 0	 4	 8	12	16
 *	v_A	 0	 1.3	 1.3	 2.7	 4
 *	v_B	 0	 0	 4	 4	 4
 *	V	 0	 1	 2	 3	 4
 *	runs	 A(1.3)	 B(4)	 A	 A	 all anew
 *
 * (At 0 both are eligible and A has the earlier deadline. At 4 A is ahead.)
 *
 * THE ARITHMETIC. A queue keeps v and rest, with V = v + rest / W, where rest
 * is the sum of w_i * (v_i - v). Charging adds to rest, no division; V is
 * worked out when somebody wants to know it, and then v catches up, so that
 * rest stays small: |rest| is below the device time of some slices, times 4096,
 * some 2^45. All v wrap and are compared by their distance.
 *
 * WHO IS COUNTED. Waiting and running entities; so an entity that is alone has
 * V = v_i, whatever it uses: it gathers no debt. One that sleeps keeps its v,
 * and when it comes back
 *	- owed more than one slice: it gets one slice; sleeping earns no more.
 *	  V without it is (W_o * V_o), so the bound that leaves it just one slice
 *	  behind the V with it is slice * (W_o + w) / W_o;
 *	- in debt: it stays in debt, or one could shed it by a nap.
 * An entity that owes more than two slices (it held on after it was asked to
 * yield) isn't counted until V has caught up: with it V would run ahead of all
 * others, and those who nap would be thought to be owed what nobody owes them.
 * Without it V advances at the rate at which the others are served, and
 * reaches v_i at the very moment when the debt is paid. While only such want to
 * run there is nobody to pay, and V advances with them, as far as their average:
 * all keep their debts. Did it stand still, one that came later would be owed all
 * the time that they shared without it.
 *
 * SEVERAL SEATS. An entity with all its clients running can't use more, so it
 * isn't owed more than a slice either, however large its weight. And where
 * nobody waits, nobody owes: debts beyond a slice are forgiven.
 *
 * KNOWN WEAKNESS. Rounding of v loses less than w/4096 ns per charge. With
 * several seats V is that of a device that could be cut at will, so weights
 * that can't be met (3:1 on two seats) are met as far as seats go.
 */
#include "internal.h"

/* Beyond this |rest| is brought down even if nobody asks for V. */
#define REST_LIMIT (1ll << 60)

/*
 * What counts of one charge, a quarter of an hour: |rest| grows by this times 4096. Only
 * who was alone is charged for more at a time, as those who wait make holders pay; after
 * 26 days, 2^51 ns, it would be taken for a debt.
 */
#define CHARGE_MOST (1ull << 40)

void gs_entity_weight(struct gs_entity *e, u32 weight)
{
	e->weight = weight;
	e->inv = div_u64(1ull << 32, weight);
}

void gs_entity_init(struct gs_entity *e, u32 kind, struct gs_node *up, u32 weight, u32 class)
{
	memset(e, 0, sizeof(*e));
	e->link.kind = kind;
	e->up = up;
	e->class = class;
	gs_entity_weight(e, weight);
	if (up)
		e->link.val = gs_queue_time(gs_queue_of(e));
}

u64 gs_queue_time(struct gs_queue *q)
{
	s64 step;

	if (q->rest < 0 || (u64)q->rest >= q->weight) {
		if (!q->weight) {
			q->rest = 0;
			return q->v;
		}
		step = div64_s64(q->rest, q->weight);
		q->rest -= step * (s64)q->weight;
		if (q->rest < 0) {
			q->rest += q->weight;
			step--;
		}
		q->v += step;
	}
	return q->v;
}

s64 gs_fair_ahead(struct gs_entity *e)
{
	return e->link.val - gs_queue_time(gs_queue_of(e));
}

bool gs_fair_eligible(struct gs_entity *e)
{
	return gs_fair_ahead(e) <= 0;
}

/* One longest slice in the entity's virtual time. */
static u64 bound(const struct gs_device *dev, const struct gs_entity *e)
{
	return gs_virtual(e, dev->conf.slice);
}

/*
 * @slices of lag, as seen by a queue without the entity: there the distance
 * to V is larger by (W + w) / W.
 */
static u64 bound_outside(const struct gs_device *dev, const struct gs_entity *e,
			 const struct gs_queue *q, u32 slices)
{
	u64 b = bound(dev, e) * slices;

	return q->weight ? b + mul_u64_u64_div_u64(b, e->weight, q->weight) : b;
}

static void count(struct gs_queue *q, struct gs_entity *e)
{
	q->rest += (s64)(e->link.val - q->v) * e->weight;
	q->weight += e->weight;
	e->counted = 1;
}

static void uncount(struct gs_queue *q, struct gs_entity *e)
{
	q->rest -= (s64)(e->link.val - q->v) * e->weight;
	q->weight -= e->weight;
	e->counted = 0;
	if (!q->weight) {
		q->v = e->link.val;	/* alone: V was its own */
		q->rest = 0;
	}
}

static void owe(struct gs_queue *q, struct gs_entity *e, bool on)
{
	if (e->owing == on)
		return;
	e->owing = on;
	q->owing += on ? e->weight : -(u64)e->weight;
}

/* Does @e owe more than two slices? @q is without it. */
static bool indebted(const struct gs_device *dev, const struct gs_entity *e, struct gs_queue *q)
{
	s64 ahead = e->link.val - gs_queue_time(q);

	return ahead > (s64)bound(dev, e) && ahead > (s64)bound_outside(dev, e, q, 2);
}

/* Let @e, which is active, count if its debt allows it. */
void gs_fair_count(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);
	s64 behind = -gs_fair_ahead(e);

	if (behind > (s64)bound(dev, e)) {
		u64 most = bound_outside(dev, e, q, 1);

		if (behind > (s64)most)
			e->link.val += behind - (s64)most;
	}
	owe(q, e, indebted(dev, e, q));
	if (!e->owing)
		count(q, e);
}

/* @e was charged: it may have become too much for it to count. */
static void check_debt(struct gs_device *dev, struct gs_queue *q, struct gs_entity *e)
{
	if ((s64)(e->link.val - q->v) <= (s64)(2 * bound(dev, e)) || q->weight == e->weight)
		return;
	uncount(q, e);
	owe(q, e, indebted(dev, e, q));
	if (!e->owing)
		count(q, e);
}

/* @e is no longer active. */
void gs_fair_leave(struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);

	owe(q, e, false);
	if (e->counted)
		uncount(q, e);
}

/* Move @e, whose place in the queue's average is known, by @by. */
static void shift(struct gs_queue *q, struct gs_entity *e, s64 by)
{
	e->link.val += by;
	if (e->counted)
		q->rest += by * (s64)e->weight;
}

/* Bring a debt that isn't to be paid down to one slice. */
void gs_fair_forgive(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);
	s64 much = gs_fair_ahead(e) - (s64)bound(dev, e);

	if (much > 0) {
		shift(q, e, -much);
		if (e->queued)
			gs_tree_refresh(&e->link);
	}
}

/*
 * Nobody owes @e anything, nor it anybody. It isn't queued, and the same is
 * done to all of its queue before anybody asks for the time.
 */
void gs_fair_settle(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);

	(void)dev;
	shift(q, e, q->v - e->link.val);
}

/* Where several run at a time: see "several seats" above. */
static void settle(struct gs_device *dev, struct gs_queue *q, struct gs_entity *e, bool contended)
{
	s64 ahead = gs_fair_ahead(e), b = bound(dev, e);

	if (ahead < -b)
		shift(q, e, -b - ahead);
	else if (!contended && ahead > b)
		shift(q, e, b - ahead);
}

void gs_fair_charge(struct gs_device *dev, struct gs_entity *e, u64 ns)
{
	struct gs_queue *q = gs_queue_of(e);
	bool contended = gs_node_pickable(e->up);

	ns = min_t(u64, ns, CHARGE_MOST);
	if (!e->counted) {
		if (!contended && !q->weight)
			return;		/* nobody is kept from anything */
		e->link.val += gs_virtual(e, ns);
		if (e->owing && !q->weight)
			q->v += div64_u64(ns << 12, q->owing);
		if (e->active)
			gs_fair_count(dev, e);
	} else {
		u64 by = gs_virtual(e, ns);

		e->link.val += by;
		q->rest += by * e->weight;
		if (unlikely(q->rest > REST_LIMIT))
			gs_queue_time(q);
		check_debt(dev, q, e);
	}
	if (dev->conf.seats > 1 && !e->queued)
		settle(dev, q, e, contended);
}
