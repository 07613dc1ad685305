// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A client's changes of state. Each function takes it from whatever state it
 * may come from to the one in the name, with all books: the seat is paid, the
 * queues, the counters of its group and all above, the page, the event.
 */
#include "internal.h"

/* With each grant that ends, what the longest one of late is taken for is less by so much. */
#define GRAIN_FADES	16
/* The same of what a client did in its grants. */
#define HABIT_FADES	4

/* No longer waits. */
static void leave_queue(struct gs_client *c)
{
	struct gs_device *dev = c->dev;

	if (c->entity.queued)
		gs_path_dequeue(dev, &c->entity);
	if (dev->prepared == c) {
		dev->prepared = NULL;
		c->flags &= ~GS_PREPARE;
		gs_dirty(c);
	}
}

/* No longer holds a seat, or the place of one who did not give it back. */
static void leave_seat(struct gs_client *c, u64 now)
{
	struct gs_device *dev = c->dev;

	gs_charge(c, now);
	c->at_work = max((c->idle ? c->idle_since : now) - c->since,
			 c->at_work - c->at_work / HABIT_FADES);
	dev->grain = max(now - c->since, dev->grain - dev->grain / GRAIN_FADES);
	if (c->flags & GS_PREEMPT) {
		gs_fair_late(&c->entity, now - c->preempted, true);
		c->answered = max(now - c->preempted,
				  c->answered - c->answered / HABIT_FADES);
	}
	if ((c->flags & GS_PREEMPT) && now > c->preempted + dev->conf.slice) {
		struct gs_node *node;

		c->preempts_late++;
		for (node = c->node; node; node = node->up)
			node->stat.preempts_late++;
	}
	if (gs_tree_in(&c->entity.link))
		gs_later_remove(dev, &c->entity);
	if (c->state == GS_CLIENT_RUNNING) {
		c->epoch++;
		dev->dealt = 0;
	} else {
		gs_path_over(c->node, -1, -c->charged);
	}
	c->flags &= ~(GS_GRANTED | GS_PREEMPT);
	c->preempt_at = GS_NEVER;
	c->workers = 0;
	c->idle = 0;
	list_move_tail(&c->of_device, &dev->idle);
	gs_dirty(c);
}

void gs_to_waiting(struct gs_client *c, bool fresh, u64 now)
{
	int was_running = c->state == GS_CLIENT_RUNNING;
	int was_over = c->state == GS_CLIENT_OVER;

	if (was_running || was_over)
		leave_seat(c, now);
	c->state = GS_CLIENT_WAITING;
	c->since = now;
	gs_dirty(c);
	gs_path_count(c->node, -was_running, 1);
	gs_path_enqueue(c->dev, &c->entity, fresh || was_over);
}

void gs_to_idle(struct gs_client *c, u64 now)
{
	int was_running = c->state == GS_CLIENT_RUNNING;
	int was_waiting = c->state == GS_CLIENT_WAITING;

	if (was_waiting) {
		if (unlikely(c->beside))
			gs_beside_end(c, now);
		leave_queue(c);
		c->wait += now - c->since;	/* without a grant, but a wait */
		gs_dirty(c);
	} else {
		if (unlikely(c->dev->root.beside))
			gs_beside_charge(c->dev, now);
		leave_seat(c, now);
	}
	gs_path_deactivate(c->dev, &c->entity);
	c->state = GS_CLIENT_IDLE;
	c->unasked = 0;
	c->since = now;
	gs_path_count(c->node, -was_running, -was_waiting);
	gs_path_pressure(c->node, now);
}

/* A grant: from WAITING, or from IDLE when nobody else is there. */
void gs_to_running(struct gs_client *c, u64 now)
{
	bool waited = c->state == GS_CLIENT_WAITING;
	u64 wait = waited ? now - c->since : 0;
	struct gs_device *dev = c->dev;
	struct gs_entity *e;
	struct gs_node *node;
	u32 handoff = dev->last != c->id;

	if (unlikely(c->beside))
		gs_beside_end(c, now);
	if (waited)
		leave_queue(c);
	else
		gs_path_activate(dev, &c->entity);
	for (e = &c->entity; e->up; e = &e->up->entity)
		if (unlikely(e->owing))
			gs_fair_lend(dev, e);
	dev->last = c->id;
	c->state = GS_CLIENT_RUNNING;
	c->unasked = 0;
	c->since = now;
	c->charged = now;
	c->paid = gs_turns(dev, now);
	c->slice = gs_slice_length(c);
	c->deadline = now + c->slice;
	c->preempt_at = GS_NEVER;
	c->epoch++;
	c->flags = (c->flags & GS_EVICT) | GS_GRANTED;
	c->wait += wait;
	c->grants++;
	for (node = c->node; node; node = node->up) {
		node->stat.grants++;
		node->stat.handoffs += handoff;
	}
	gs_path_count(c->node, 1, -(int)waited);
	gs_path_pressure(c->node, now);
	dev->dealt = 0;
	list_move_tail(&c->of_device, &dev->holders);
	gs_dirty_last(c);
	gs_tell(c->arb, GS_EV_GRANT, dev, c->group, c, c->slice, wait);
	if (!list_empty(&c->any))
		gs_any_clear(c, now);
}

/* It runs on without a seat: the seat goes to another, it pays on. */
void gs_to_over(struct gs_client *c, u64 now)
{
	struct gs_device *dev = c->dev;

	gs_charge(c, now);
	gs_path_deactivate(dev, &c->entity);
	c->state = GS_CLIENT_OVER;
	c->flags &= ~GS_GRANTED;
	c->workers = 0;
	gs_path_count(c->node, -1, 0);
	gs_path_over(c->node, 1, c->charged);
	dev->dealt = 0;
	list_move_tail(&c->of_device, &dev->over);
	if (dev->conf.kill_after && !c->killed)
		gs_later_add(dev, &c->entity, c->preempted + dev->conf.kill_after);
	gs_dirty(c);
}

/* It kept its seat beyond grace. */
void gs_overrun(struct gs_client *c, u64 now)
{
	u64 past = now - (c->preempted + c->dev->conf.grace);
	struct gs_node *node;

	c->epoch++;
	gs_to_over(c, now);
	c->overruns++;
	for (node = c->node; node; node = node->up)
		node->stat.overruns++;
	gs_tell(c->arb, GS_EV_OVERRUN, c->dev, c->group, c, now - c->since, past);
}

/* One of several requests was granted or cancelled: the others vanish. */
void gs_any_clear(struct gs_client *c, u64 now)
{
	struct gs_client *o;

	while (!list_empty(&c->any)) {
		o = list_first_entry(&c->any, struct gs_client, any);
		list_del_init(&o->any);
		gs_to_idle(o, now);
		gs_tell(o->arb, GS_EV_CANCEL, o->dev, o->group, o, 0, 0);
		/* Whom that device awaits may be another now: it is looked at by itself. */
		o->dev->awaits_until = min(o->dev->awaits_until, now);
		gs_slice_update(o->dev, now);
	}
}
