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
 *	  behind the V with it is slice * (W_o + w) / W_o. If it was away for no
 *	  longer than a busy machine keeps one from waking up, it keeps what it was
 *	  owed before, less what others used meanwhile;
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
 * LENT TIME. Time that an entity doesn't want is lent to those who are ahead of
 * their share; slice.c takes it back when somebody comes who is owed some. One
 * that is late in giving it back (by a quarter of a slice or more when it was asked
 * of late) and owes more than two slices is lent no more. (Who isn't late, and owes
 * that much all the same, had only what others left, and is forgiven the rest.)
 * While none but the late want to run, the device awaits the others, for up to
 * twice as long as they ran since and five slices. Example: A holds for 92 ms at
 * each turn, B runs for 2 ms, pauses for 20 us and comes again. In the pause the
 * device was A's, for 92 ms, so B had 2 %. Now A waits until B had 92 ms as well,
 * pauses included: while the device awaits B, V goes on as if B ran. So A has its
 * share, whatever B does with its own, and nothing beyond it. In a tree all that is
 * above the queue is charged for the awaiting. With several seats nobody is awaited.
 *
 * DEBTS OUTLIVE DEBTORS. Else to leave and come back would be to be forgiven. A
 * queue whose entities are all one tenant's keeps what those owe who are gone, and
 * the next newcomer takes the largest debt over. Tenants are known by themselves:
 * their nodes are kept until they owe nothing (gs_group_owes()).
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

/* With default slices, what a loaded machine keeps one from waking up for: 10 ms. */
#define ABSENCE_SLICES	5
#define PATIENCE_TIMES	2	/* as long as those who are away ran */
#define LATE_UNIT	1000ull	/* ns */
#define PIECES		2	/* of others, which one that was in debt may have to wait for */

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
	e->fresh = 1;
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
	s64 behind = q->v - e->link.val;

	/* Who comes first had the time for which the device awaited it. */
	if (q->awaited && !q->weight) {
		if (behind > 0)
			e->link.val += min_t(u64, behind, q->awaited);
		q->awaited = 0;
	}
	q->rest += (s64)(e->link.val - q->v) * e->weight;
	q->weight += e->weight;
	e->counted = 1;
}

static void uncount(struct gs_queue *q, struct gs_entity *e)
{
	q->rest -= (s64)(e->link.val - q->v) * e->weight;
	q->weight -= e->weight;
	e->counted = 0;
	q->last = e->weight;
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

static bool is_late(const struct gs_device *dev, const struct gs_entity *e)
{
	return e->late * LATE_UNIT >= dev->conf.slice / 4;
}

/* @e's holder has the device for @ns since it was asked to give it back; @end: it does so. */
void gs_fair_late(struct gs_entity *e, u64 ns, bool end)
{
	u32 late = min_t(u64, div_u64(ns, LATE_UNIT), U32_MAX);

	for (; e->up; e = &e->up->entity) {
		if (late > e->late)
			e->late = late;
		else if (end)
			e->late -= (e->late - late) / 8;
	}
}

/* Does @e owe more than two slices? @q is without it. */
static bool indebted(const struct gs_device *dev, const struct gs_entity *e, struct gs_queue *q)
{
	s64 ahead = e->link.val - gs_queue_time(q);

	return ahead > (s64)bound(dev, e) && ahead > (s64)bound_outside(dev, e, q, 2);
}

/* @e is owed a slice at most, or what it keeps of an older claim. */
static void cut_claim(struct gs_device *dev, struct gs_entity *e, s64 behind, s64 kept)
{
	s64 most;

	if (behind <= (s64)bound(dev, e))
		return;
	most = bound_outside(dev, e, gs_queue_of(e), 1);
	most = max(kept, most);
	if (behind > most)
		e->link.val += behind - most;
}

/* Let @e, which is active and isn't counted, count or owe. */
static void place(struct gs_device *dev, struct gs_queue *q, struct gs_entity *e)
{
	owe(q, e, indebted(dev, e, q));
	if (!e->owing)
		count(q, e);
}

/*
 * Let @e, which is active, count if its debt allows it by now. Others' pieces are never so
 * short that V reaches it just then, and it waits for some of them before it is picked: by
 * so much it is owed. More comes of what kept it from being picked.
 */
void gs_fair_count(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);
	u64 most = gs_virtual(e, max(dev->conf.slice, PIECES * min(dev->grain, CHARGE_MOST)));
	s64 behind = -gs_fair_ahead(e);

	if (behind > (s64)most) {
		if (q->weight)
			most += mul_u64_u64_div_u64(most, e->weight, q->weight);
		if (behind > (s64)most)
			e->link.val += behind - most;
	}
	place(dev, q, e);
}

/* By those who hold, or are beside them. */
static u64 used_below(const struct gs_node *node)
{
	return node->stat.usage + node->beside * gs_turns(node->dev, node->dev->arb->now) -
		node->beside_paid;
}

/*
 * @e becomes active. If it was away for a moment only it keeps what it was owed before,
 * less what others used meanwhile.
 */
void gs_fair_return(struct gs_device *dev, struct gs_entity *e)
{
	u64 away = dev->arb->now - e->left, used;
	struct gs_queue *q = gs_queue_of(e);
	s64 behind = -gs_fair_ahead(e), kept = 0;

	if (behind > 0 && away <= ABSENCE_SLICES * dev->conf.slice && q->weight) {
		used = min(used_below(e->up) - e->others, CHARGE_MOST);
		kept = behind - (s64)div64_u64(used << 12, q->weight + q->owing);
	}
	cut_claim(dev, e, behind, kept);
	place(dev, q, e);
}

/* @e was charged: it may have become too much for it to count. */
static void check_debt(struct gs_device *dev, struct gs_queue *q, struct gs_entity *e)
{
	if (q->weight == e->weight ||
	    (s64)(e->link.val - gs_queue_time(q)) <= (s64)(2 * bound(dev, e)))
		return;
	uncount(q, e);
	place(dev, q, e);
}

/* @e is no longer active. */
void gs_fair_leave(const struct gs_device *dev, struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);

	owe(q, e, false);
	if (e->counted)
		uncount(q, e);
	e->left = dev->arb->now;
	e->others = used_below(e->up);
}

/* Move @e, whose place in the queue's average is known, by @by. */
static void shift(struct gs_queue *q, struct gs_entity *e, s64 by)
{
	e->link.val += by;
	if (e->counted)
		q->rest += by * (s64)e->weight;
}

/* So much of what the entity is ahead by isn't to be paid back. */
void gs_fair_forgive(struct gs_entity *e, u64 virtual)
{
	shift(gs_queue_of(e), e, -(s64)virtual);
	if (e->queued)
		gs_tree_refresh(&e->link);
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

/* Would @e, which isn't active, be missed by those whom it owes time? */
bool gs_fair_owes(const struct gs_device *dev, struct gs_entity *e)
{
	return gs_fair_ahead(e) > (s64)bound(dev, e);
}

/* Is what @e had, up to now, more than its share by half a slice? */
bool gs_fair_lent(const struct gs_device *dev, struct gs_entity *e)
{
	return gs_fair_ahead(e) > (s64)bound(dev, e) / 2;
}

/* Is @e in a queue where one tenant's debts pass from one to the next? */
static struct gs_debts *debts_of(struct gs_entity *e)
{
	struct gs_node *up = e->up;

	if (!up->group->tenant || e->class == GS_CLASS_IDLE)
		return NULL;
	/* Another tenant's node is known by itself. */
	if (e->link.kind == GS_KIND_NODE && gs_tenant_is(gs_entity_node(e)->group))
		return NULL;
	return &up->debts;
}

/* Drop what is paid by @v; the place of the largest that is left. */
static u32 largest(struct gs_debts *d, u64 v)
{
	u32 i, most = 0;

	for (i = d->n; i--; )
		if (!gs_before(v, d->val[i]))
			d->val[i] = d->val[--d->n];
	for (i = 1; i < d->n; i++)
		if (gs_before(d->val[most], d->val[i]))
			most = i;
	return most;
}

/* @e, which isn't active, goes for good: what it owes more than a slice stays. */
void gs_fair_bequeath(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_debts *d = debts_of(e);
	u64 v, ahead;
	u32 most;

	if (!d || !gs_fair_owes(dev, e))
		return;
	v = gs_queue_time(gs_queue_of(e));
	ahead = div_u64((e->link.val - v) * e->weight, GS_WEIGHT_DEFAULT);
	most = largest(d, v);
	if (d->n < GS_DEBTS)
		d->val[d->n++] = v + ahead;
	else
		d->val[most] += ahead;
}

/* @e becomes active for the first time. */
void gs_fair_inherit(struct gs_entity *e)
{
	struct gs_debts *d = debts_of(e);
	u64 v, ahead;
	u32 most;

	if (!d || !d->n)
		return;
	v = gs_queue_time(gs_queue_of(e));
	most = largest(d, v);
	if (!d->n)
		return;
	ahead = div_u64((d->val[most] - v) * GS_WEIGHT_DEFAULT, e->weight);
	d->val[most] = d->val[--d->n];
	e->link.val = v + ahead;
}

/*
 * For how long is the device to await others rather than be @e's, which would be
 * the next? See "awaiting" above. 0: not at all.
 */
u64 gs_fair_await(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);
	u64 debt;

	if (!q->patience || q->weight || dev->conf.seats > 1 || !dev->policy->weighs ||
	    !is_late(dev, e) || !indebted(dev, e, q))
		return 0;
	debt = min_t(u64, gs_fair_ahead(e) - 2 * bound(dev, e), CHARGE_MOST);
	return min(q->patience, max_t(u64, debt * q->last >> 12, 1));
}

/* @e, which isn't counted, has the device, as nobody wants it who is owed some. */
void gs_fair_lend(struct gs_device *dev, struct gs_entity *e)
{
	struct gs_queue *q = gs_queue_of(e);
	s64 much = gs_fair_ahead(e) - (s64)bound_outside(dev, e, q, 2);

	/* With guarantees, or several seats, debts come of other things too. */
	if (much <= 0 || is_late(dev, e) || dev->conf.seats > 1 || dev->nr_assured)
		return;
	shift(q, e, -much);
	if (e->queued)
		gs_tree_refresh(&e->link);
}

/* The device awaited those of @q who are away for @ns, while nobody was counted, or used it. */
void gs_fair_awaited(struct gs_queue *q, u64 ns, bool unused)
{
	u64 by;

	ns = min(ns, q->patience);
	q->patience -= ns;
	if (q->weight || !q->last || !unused)
		return;
	by = div_u64(ns << 12, q->last);
	q->v += by;
	q->awaited += by;
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

void gs_fair_charge(struct gs_device *dev, struct gs_entity *e, u64 ns, u64 span)
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
		q->patience = min(q->patience + PATIENCE_TIMES * min(span, CHARGE_MOST),
				  ABSENCE_SLICES * dev->conf.slice);
		if (unlikely(q->rest > REST_LIMIT))
			gs_queue_time(q);
		check_debt(dev, q, e);
	}
	if (dev->conf.seats > 1 && !e->queued)
		settle(dev, q, e, contended);
}
