// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The calls of clients and of the timer: requests, yields, hints.
 *
 * Each takes the client to its new state (state.c), lets the device give its
 * free seats away (gs_schedule()), and on the way out publishes the clients
 * whose pages changed, each once.
 */
#include "internal.h"

u64 gs_enter(struct gs_arbiter *arb, u64 now)
{
	if (gs_before(arb->now, now))
		arb->now = now;
	return arb->now;
}

void gs_dirty(struct gs_client *c)
{
	if (c->dirty)
		return;
	c->dirty = 1;
	list_add_tail(&c->dirty_link, &c->arb->dirty);
}

/* Behind those whose seat it got: no two pages may ever say of one seat that it's theirs. */
void gs_dirty_last(struct gs_client *c)
{
	c->dirty = 1;
	list_move_tail(&c->dirty_link, &c->arb->dirty);
}

/* Before those who get seats: other seats may have been given in this call already. */
void gs_dirty_first(struct gs_client *c)
{
	c->dirty = 1;
	list_del_init(&c->dirty_link);
	list_add(&c->dirty_link, &c->arb->dirty);
}

static void publish(struct gs_client *c)
{
	c->waiters = c->dev ? c->dev->root.waiting : 0;
	c->arb->ops->publish(c->arb, c);
}

void gs_leave(struct gs_arbiter *arb)
{
	struct gs_client *c;

	while (!list_empty(&arb->dirty)) {
		c = list_first_entry(&arb->dirty, struct gs_client, dirty_link);
		list_del_init(&c->dirty_link);
		c->dirty = 0;
		publish(c);
	}
}

void gs_tell_wanted(struct gs_arbiter *arb, u32 type, struct gs_device *dev,
		    struct gs_group *group, struct gs_client *c, u64 a, u64 b)
{
	struct gs_event ev;

	if (!arb->ops->event)
		return;
	ev.time = arb->now;
	ev.type = type;
	ev.device = dev ? dev->id : 0;
	ev.group = group ? gs_group_whole(group)->id : 0;
	ev.client = c ? c->id : 0;
	ev.a = a;
	ev.b = b;
	arb->ops->event(arb, &ev);
}

void gs_arbiter_init(struct gs_arbiter *arb, const struct gs_host_ops *ops)
{
	struct gs_group *root = &arb->root;

	memset(arb, 0, sizeof(*arb));
	arb->ops = ops;
	INIT_LIST_HEAD(&arb->devices);
	INIT_LIST_HEAD(&arb->dirty);
	root->id = 1;
	root->arb = arb;
	gs_share_init(&root->share);
	INIT_LIST_HEAD(&root->nodes);
	INIT_LIST_HEAD(&root->children);
	INIT_LIST_HEAD(&root->sibling);
	INIT_LIST_HEAD(&root->clients);
}

/* Who is next? Somebody, if anybody can be picked and isn't held. */
struct gs_entity *gs_next(struct gs_device *dev)
{
	struct gs_node *node = &dev->root;
	struct gs_entity *e;

	if (!gs_node_pickable(node))
		return NULL;
	if (dev->nr_assured)
		node = gs_min_pick(dev);
	while (node) {
		e = dev->policy->pick(&node->queue[gs_tree_empty(&node->queue[0].tree)]);
		if (e->link.kind == GS_KIND_CLIENT)
			return e;
		node = gs_entity_node(e);
	}
	return NULL;
}

/* Does the device rather await others than run @e's client, see fair.c? */
static bool await(struct gs_device *dev, struct gs_entity *e, u64 now)
{
	u64 ns;

	for (; e->up; e = &e->up->entity) {
		if (likely(!e->owing))
			continue;
		ns = gs_fair_await(dev, e);
		if (!ns)
			continue;
		dev->awaits = e->up;
		dev->awaits_class = e->class == GS_CLASS_IDLE;
		dev->awaits_since = now;
		dev->awaits_until = now + ns;
		return true;
	}
	return false;
}

static void give_seats(struct gs_device *dev, u64 now)
{
	struct gs_entity *e;
	struct gs_client *c;

	while (dev->root.running < dev->conf.seats) {
		e = gs_next(dev);
		if (!e)
			break;
		c = gs_entity_client(e);
		if (unlikely(c->beside || c->unasked) && !gs_beside_check(c, now))
			continue;
		if (await(dev, e, now))
			break;
		gs_to_running(c, now);
	}
}

/* Give free seats away, and bring timers and pages up to date. */
void gs_schedule(struct gs_device *dev, u64 now)
{
	struct gs_entity *e;

	if (dev->conf.seats > 1 || dev->nr_capped || dev->nr_assured)
		gs_charge_holders(dev, now);
	gs_await_end(dev);
	if (!list_empty(&dev->over))
		gs_charge_over(dev, now, 2);
	if (unlikely(dev->root.beside))
		gs_beside_look(dev, now);
	gs_later_due(dev, now);
	gs_min_epoch(dev, now);
	gs_slice_expire(dev, now);
	do {
		give_seats(dev, now);
		if (!dev->dealt)
			gs_seats_deal(dev);
		gs_slice_update(dev, now);
	} while (gs_beside_lend(dev, now));
	if (unlikely(dev->root.mem.swapped) && dev->root.running) {
		e = gs_next(dev);
		gs_mem_prepare(dev, e ? gs_entity_client(e) : NULL);
	}
}

/* Is there anybody whom the device would rather await than run the idle @c? */
static bool others_awaited(struct gs_client *c)
{
	struct gs_entity *e;

	for (e = &c->entity; e->up && !e->active; e = &e->up->entity)
		if (gs_fair_await(c->dev, e))
			return true;
	return false;
}

/* Could @c have a seat now, with nobody else to ask? */
static bool seat_free(struct gs_client *c)
{
	struct gs_device *dev = c->dev;

	return dev->root.running < dev->conf.seats && !gs_node_pickable(&dev->root) &&
	       !gs_quota_throttled(c->node) && !gs_min_held(dev) && !others_awaited(c);
}

static void ask(struct gs_client *c, u64 want, u64 now)
{
	/* What others ran until now must not look as if they did so while this one waited. */
	gs_charge_holders(c->dev, now);
	c->want = want;
	if (seat_free(c)) {
		gs_to_running(c, now);
		return;
	}
	gs_to_waiting(c, true, now);
	gs_tell(c->arb, GS_EV_REQUEST, c->dev, c->group, c, want, 0);
	gs_slice_arrival(c, now);
}

int gs_request(struct gs_client *c, u64 want, u64 now)
{
	now = gs_enter(c->arb, now);
	switch (c->state) {
	case GS_CLIENT_GONE:
		return -ENODEV;
	case GS_CLIENT_RUNNING:
		return 1;
	case GS_CLIENT_WAITING:
		c->want = want;
		c->unasked = 0;
		if (unlikely(c->beside))
			gs_beside_check(c, now);
		return 0;
	case GS_CLIENT_OVER:
		return gs_yield(c, true, want, now);
	}
	ask(c, want, now);
	gs_schedule(c->dev, now);
	gs_path_pressure(c->node, now);
	gs_leave(c->arb);
	return c->state == GS_CLIENT_RUNNING;
}

static int any_check(struct gs_client **clients, int n)
{
	int i, j;

	if (n < 1 || n > GS_ANY_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (clients[i]->state == GS_CLIENT_GONE)
			return -ENODEV;
		if (clients[i]->state != GS_CLIENT_IDLE)
			return -EBUSY;
		if (clients[i]->arb != clients[0]->arb)
			return -EXDEV;
		for (j = 0; j < i; j++)
			if (clients[j]->dev == clients[i]->dev)
				return -EINVAL;
	}
	return 0;
}

int gs_request_any(struct gs_client **clients, int n, u64 want, u64 now)
{
	struct gs_arbiter *arb;
	int i, ret;

	ret = any_check(clients, n);
	if (ret)
		return ret;
	arb = clients[0]->arb;
	now = gs_enter(arb, now);
	for (i = 0; i < n; i++) {
		/* A free seat would make its device's schedule pick it anyway. */
		gs_schedule(clients[i]->dev, now);
		if (!seat_free(clients[i]))
			continue;
		ask(clients[i], want, now);
		gs_schedule(clients[i]->dev, now);
		gs_leave(arb);
		return i;
	}
	for (i = 0; i < n; i++) {
		ask(clients[i], want, now);
		if (i)
			list_add_tail(&clients[i]->any, &clients[0]->any);
	}
	ret = -EAGAIN;
	for (i = 0; i < n; i++) {
		gs_schedule(clients[i]->dev, now);
		gs_path_pressure(clients[i]->node, now);
		if (clients[i]->state == GS_CLIENT_RUNNING)
			ret = i;
	}
	gs_leave(arb);
	return ret;
}

int gs_cancel(struct gs_client *c, u64 now)
{
	now = gs_enter(c->arb, now);
	switch (c->state) {
	case GS_CLIENT_GONE:
		return -ENODEV;
	case GS_CLIENT_RUNNING:
	case GS_CLIENT_OVER:
		return -EBUSY;
	case GS_CLIENT_IDLE:
		return 0;
	}
	gs_any_clear(c, now);
	gs_to_idle(c, now);
	gs_tell(c->arb, GS_EV_CANCEL, c->dev, c->group, c, 0, 0);
	gs_schedule(c->dev, now);
	gs_leave(c->arb);
	return 0;
}

bool gs_keep(struct gs_client *c, u64 want, u64 now)
{
	struct gs_device *dev = c->dev;
	struct gs_node *node;

	now = gs_enter(c->arb, now);
	if (c->state != GS_CLIENT_RUNNING || c->flags & GS_PREEMPT || c->idle ||
	    gs_node_pickable(&dev->root) || c->node->capped || dev->nr_assured)
		return false;
	gs_tell(c->arb, GS_EV_YIELD, dev, c->group, c, now - c->since, 1);
	gs_tell(c->arb, GS_EV_REQUEST, dev, c->group, c, want, 0);
	c->want = want;
	c->slice = gs_slice_alone(c);
	c->deadline = now + c->slice;
	c->since = now;
	c->epoch += 2;		/* one grant lost, one won */
	c->grants++;
	for (node = c->node; node; node = node->up)
		node->stat.grants++;
	gs_tell(c->arb, GS_EV_GRANT, dev, c->group, c, c->slice, 0);
	publish(c);
	return true;
}

int gs_yield(struct gs_client *c, bool again, u64 want, u64 now)
{
	now = gs_enter(c->arb, now);
	if (again && gs_keep(c, want, now))
		return 1;
	if (c->state == GS_CLIENT_GONE)
		return -ENODEV;
	if (c->state != GS_CLIENT_RUNNING && c->state != GS_CLIENT_OVER)
		return again ? gs_request(c, want, now) : 0;
	gs_tell(c->arb, GS_EV_YIELD, c->dev, c->group, c, now - c->since, again);
	if (again) {
		gs_tell(c->arb, GS_EV_REQUEST, c->dev, c->group, c, want, 0);
		c->want = want;
		gs_to_waiting(c, false, now);
	} else {
		gs_to_idle(c, now);
	}
	gs_schedule(c->dev, now);
	gs_path_pressure(c->node, now);
	gs_leave(c->arb);
	return c->state == GS_CLIENT_RUNNING;
}

void gs_idle(struct gs_client *c, u64 since, u64 now)
{
	now = gs_enter(c->arb, now);
	if (c->state == GS_CLIENT_RUNNING && !c->idle) {
		gs_slice_idle(c, since, now);
		gs_schedule(c->dev, now);
	} else if (c->state == GS_CLIENT_OVER) {
		gs_to_idle(c, now);
		gs_schedule(c->dev, now);
	}
	gs_leave(c->arb);
}

void gs_busy(struct gs_client *c, u64 now)
{
	now = gs_enter(c->arb, now);
	if (c->state != GS_CLIENT_RUNNING || !c->idle)
		return;
	gs_charge(c, now);
	c->idle = 0;
	gs_schedule(c->dev, now);
	gs_leave(c->arb);
}

void gs_revive(struct gs_client *c, u64 now)
{
	now = gs_enter(c->arb, now);
	if (c->state != GS_CLIENT_IDLE)
		return;
	c->want = 0;
	gs_charge_holders(c->dev, now);
	if (seat_free(c)) {
		gs_to_running(c, now);
	} else {
		gs_path_activate(c->dev, &c->entity);
		gs_path_count(c->node, 1, 0);
		c->state = GS_CLIENT_RUNNING;
		c->since = now;
		c->charged = now;
		c->paid = gs_turns(c->dev, now);
		c->flags |= GS_PREEMPT;
		c->preempted = now;
		gs_to_over(c, now);
	}
	gs_schedule(c->dev, now);
	gs_leave(c->arb);
}

void gs_expire(struct gs_device *dev, u64 now)
{
	now = gs_enter(dev->arb, now);
	dev->armed = GS_NEVER;
	gs_schedule(dev, now);
	gs_leave(dev->arb);
}

void gs_sync(struct gs_device *dev, u64 now)
{
	now = gs_enter(dev->arb, now);
	gs_charge_holders(dev, now);
	gs_schedule(dev, now);
	gs_leave(dev->arb);
}
