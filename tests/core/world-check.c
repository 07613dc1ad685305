// SPDX-License-Identifier: MIT
/*
 * What must hold after each call, whatever the call was. Each rule is worked
 * out from the bottom, not from what the core says of itself.
 */
#include "world.h"

static bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* Order, balance, and what each link says of its subtree. Returns the size. */
static unsigned int check_tree(const struct gs_link *l, const struct gs_link *up, bool least)
{
	unsigned int n = 1;
	int a, b;
	u64 low;

	if (!l)
		return 0;
	MUST(l->parent == up, "a link has another parent");
	n += check_tree(l->left, l, least) + check_tree(l->right, l, least);
	a = l->left ? l->left->height : 0;
	b = l->right ? l->right->height : 0;
	MUST(a - b >= -1 && a - b <= 1, "tilted by %d", a - b);
	MUST(l->height == (a > b ? a : b) + 1, "height");
	MUST(!l->left || !before(l->key, l->left->key), "order");
	MUST(!l->right || !before(l->right->key, l->key), "order");
	low = l->val;
	if (l->left && before(l->left->least, low))
		low = l->left->least;
	if (l->right && before(l->right->least, low))
		low = l->right->least;
	MUST(!least || low == l->least, "least");
	return n;
}

static unsigned int check_whole_tree(const struct gs_tree *t, bool least)
{
	const struct gs_link *l = t->root;

	while (l && l->left)
		l = l->left;
	MUST(t->first == l, "first");
	return check_tree(t->root, NULL, least);
}

struct sums {
	unsigned int active, queued[2], hurried;
	u64 weight[2], owing[2];
	__int128 rest[2];
};

static void add_entity(struct sums *s, const struct gs_entity *e, const struct gs_node *node)
{
	unsigned int idle = e->class == GS_CLASS_IDLE;

	MUST(e->up == node, "an entity hangs elsewhere");
	MUST(!e->queued || e->active, "queued, not active");
	MUST(e->counted + e->owing == e->active, "counted %u, owing %u, active %u", e->counted,
	     e->owing, e->active);
	s->active += e->active;
	s->queued[idle] += e->queued;
	s->hurried += e->queued && e->class == GS_CLASS_LATENCY;
	if (e->owing)
		s->owing[idle] += e->weight;
	if (!e->counted)
		return;
	s->weight[idle] += e->weight;
	s->rest[idle] += (__int128)(s64)(e->link.val - node->queue[idle].v) * e->weight;
}

/*
 * A deadline lies near its virtual runtime, in the unit of which a slice is 10^14 at most:
 * the world begins at a time that is none.
 */
static void check_deadline(struct gs_node *node, const struct gs_entity *e)
{
	if (e->queued && node->dev->conf.policy == GS_POLICY_FAIR)
		MUST((s64)(e->link.key - e->link.val) < WORLD_BEGINS / 2,
		     "a deadline %lld ahead", (long long)(e->link.key - e->link.val));
}

static void check_lag(struct world *w, struct gs_node *node, struct gs_entity *e)
{
	/* What all seats together may give to others while one client waits, in debt first. */
	u64 bound = (4 * w->longest_hold + 4 * w->longest_slice) *
		    w->most_seats[node->dev - w->dev];
	s64 lag;

	if (!e->queued || !e->counted || w->unfair)
		return;
	lag = (s64)(gs_queue_time(&node->queue[e->class == GS_CLASS_IDLE]) - e->link.val);
	if (lag <= 0)
		return;
	lag = (u64)((__int128)lag * e->weight / 4096);
	if ((u64)lag > w->worst_lag)
		w->worst_lag = lag;
	MUST((u64)lag <= bound, "lag %lld of at most %llu", (long long)lag,
	     (unsigned long long)bound);
}

/* A waiting node or client has a way to the root, or waits for a refill. */
static void check_reach(struct gs_node *node, bool pickable)
{
	if (!node->up)
		return;
	if (node->throttled_at) {
		MUST(!node->entity.queued && !node->entity.active, "throttled and queued");
		MUST(gs_tree_in(&node->entity.link), "throttled for ever");
		MUST(node->share.quota != GS_UNLIMITED, "throttled without a max");
		return;
	}
	MUST(node->entity.queued == pickable, "queued %d, pickable %d", node->entity.queued,
	     pickable);
	MUST(node->entity.active == !!node->active, "active");
}

static void check_min(struct gs_node *node, bool pickable)
{
	bool in = gs_tree_in(&node->behind), listed = !list_empty(&node->spent);

	if (!node->min) {
		MUST(!in && !listed, "owed without a min");
		return;
	}
	MUST(in + listed == pickable, "behind %d, spent %d, pickable %d", in, listed, pickable);
	MUST(!in || node->owed > 0, "owed nothing");
	MUST(!!node->wanted_at == (node->running || node->waiting), "wants");
}

static void check_node(struct world *w, struct gs_node *node)
{
	unsigned int i, running = 0, waiting = 0, over = 0, min = 0, own = 0, present = 0;
	unsigned int standing = 0, beside = 0;
	u64 turns_paid = 0, used = 0, swapped = 0, paid = 0, rivals = 0;
	struct sums s = { 0 };
	bool pickable;

	for (i = 0; i < 2; i++)
		gs_queue_time(&node->queue[i]);
	for (i = 0; i < CLIENTS; i++) {
		struct gs_client *c = w->client[i] ? &w->client[i]->c : NULL;
		struct gs_node *up;

		if (!c || c->dev != node->dev)
			continue;
		for (up = c->node; up && up != node; up = up->up)
			;
		if (!up)
			continue;
		present++;
		running += c->state == GS_CLIENT_RUNNING;
		waiting += c->state == GS_CLIENT_WAITING;
		over += c->state == GS_CLIENT_OVER;
		paid += c->state == GS_CLIENT_OVER ? c->charged : 0;
		beside += c->beside;
		turns_paid += c->beside ? c->paid : 0;
		used += c->mem_used;
		swapped += c->mem_swapped;
		if (c->node == node) {
			own++;
			rivals += c->entity.weight;
			add_entity(&s, &c->entity, node);
			check_deadline(node, &c->entity);
			check_lag(w, node, &c->entity);
		}
	}
	for (i = 0; i < GROUPS; i++) {
		struct gs_node *n = w->group[i] ? gs_node_find(w->group[i], node->dev) : NULL;

		if (!n || n->up != node)
			continue;
		add_entity(&s, &n->entity, node);
		check_deadline(node, &n->entity);
		check_lag(w, node, &n->entity);
		min += n->min;
		standing += gs_tenant_is(n->group) ? n->clients : 0;
		rivals += n->present ? n->entity.weight : 0;
	}
	MUST(running == node->running && waiting == node->waiting && over == node->overrunning,
	     "%u+%u+%u clients, counted %u+%u+%u", running, waiting, over, node->running,
	     node->waiting, node->overrunning);
	MUST(paid == node->over_paid, "paid up to");
	MUST(beside == node->beside && turns_paid == node->beside_paid, "%u beside, counted %u",
	     beside, node->beside);
	MUST(own == node->clients, "%u clients of its own, counted %u", own, node->clients);
	MUST(own + standing == node->standing, "%u standing, counted %u", own + standing,
	     node->standing);
	MUST(gs_due(node->group, node->dev, w->arb.now) <= 1000, "more than all is due");
	MUST(present == node->present && rivals == node->rivals, "present");
	MUST(node->stat.nr_throttled <= node->stat.nr_periods, "throttled in more than all periods");
	MUST(used == node->mem.used && swapped == node->mem.swapped, "memory");
	MUST(node->mem.peak >= node->mem.used, "peak");
	MUST(s.active == node->active, "%u active, counted %u", s.active, node->active);
	for (i = 0; i < 2; i++) {
		struct gs_queue *q = &node->queue[i];

		MUST(check_whole_tree(&q->tree, true) == s.queued[i], "queue %u", i);
		MUST(q->weight == s.weight[i], "weight %llu", (unsigned long long)q->weight);
		MUST(q->owing == s.owing[i], "owing %llu", (unsigned long long)q->owing);
		MUST(q->rest == s.rest[i], "rest");
	}
	MUST(node->queue[0].hurried == s.hurried && !node->queue[1].hurried, "hurried");
	pickable = s.queued[0] || s.queued[1];
	check_reach(node, pickable);
	check_min(node, pickable);
	MUST(min <= (node->up ? node->min : 1000), "min %u of %u", min,
	     node->up ? node->min : 1000);
}

/* Who is asked to move out: what they have is added up, and nobody else is asked. */
static void check_leaving(struct world *w, const struct gs_device *dev)
{
	unsigned int asked = 0, listed = 0, i;
	const struct gs_client *c;
	u64 bytes = 0;

	for (i = 0; i < CLIENTS; i++)
		asked += w->client[i] && w->client[i]->c.dev == dev &&
			w->client[i]->c.flags & GS_EVICT;
	list_for_each_entry(c, &dev->leaving, of_leaving) {
		MUST(c->flags & GS_EVICT && c->mem_used, "leaving, and not asked");
		bytes += c->mem_used;
		listed++;
	}
	MUST(asked == listed, "%u asked to move out, %u listed", asked, listed);
	MUST(bytes == dev->mem_leaving, "leaving");
}

static void check_client(struct world *w, struct fuzz_client *f)
{
	struct gs_client *c = &f->c;
	bool holds = c->state == GS_CLIENT_RUNNING;

	MUST(!!(c->flags & GS_GRANTED) == holds, "flags %x, state %d", c->flags, c->state);
	MUST((c->epoch & 1) == holds, "epoch %llu, state %d", (unsigned long long)c->epoch,
	     c->state);
	MUST(f->page.epoch == c->epoch && f->page.flags == c->flags &&
	     f->page.preempt_at == c->preempt_at && f->page.workers == c->workers,
	     "a change was not published");
	MUST(!holds || f->page.deadline == c->deadline, "deadline");
	if (c->state == GS_CLIENT_GONE)
		return;
	MUST(c->entity.queued == (c->state == GS_CLIENT_WAITING), "queued");
	MUST(c->entity.active == (holds || c->state == GS_CLIENT_WAITING), "active");
	MUST(list_empty(&c->any) || c->state == GS_CLIENT_WAITING, "any");
	MUST(!(c->beside || c->unasked) || c->state == GS_CLIENT_WAITING, "beside in state %d",
	     c->state);
	MUST(c->beside == !list_empty(&c->of_beside), "beside");
	/* But for one who is forgiven a part of a debt, and still owes. */
	if (!w->weights_moved && c->dev->conf.seats == 1)
		MUST(!before(c->entity.link.val, f->v) || gs_fair_ahead(&c->entity) > 0,
		     "virtual time went back");
	f->v = c->entity.link.val;
}

static void grow(u64 now, u64 last, const char *what)
{
	MUST(now >= last, "%s went back", what);
}

static void check_counters(struct world *w, unsigned int d)
{
	struct gs_stat *a = &w->dev[d].root.stat, *b = &w->last[d];
	struct gs_pressure *p = &w->dev[d].root.pressure;

	grow(a->usage, b->usage, "usage");
	grow(a->wait, b->wait, "wait");
	grow(a->idle, b->idle, "idle");
	grow(a->overrun, b->overrun, "overrun");
	grow(a->grants, b->grants, "grants");
	grow(a->handoffs, b->handoffs, "handoffs");
	grow(a->preempts, b->preempts, "preempts");
	grow(a->preempts_late, b->preempts_late, "preempts_late");
	grow(a->nr_periods, b->nr_periods, "nr_periods");
	grow(a->mem_denied, b->mem_denied, "mem_denied");
	grow(p->total[GS_SOME], w->last_some[d], "pressure");
	MUST(p->total[GS_SOME] >= p->total[GS_FULL], "full passes some");
	w->last_some[d] = p->total[GS_SOME];
	*b = *a;
}

/* The device awaits others for a while, if all who want to run there owe a lot. */
static void check_awaits(struct world *w, const struct gs_device *dev)
{
	const struct gs_queue *q = &dev->awaits->queue[dev->awaits_class];

	MUST(dev->conf.seats == 1 && !dev->root.running, "awaits beside a holder");
	/* What it waits for has come, or gone, elsewhere: its timer is due. */
	if (dev->awaits_until <= w->now)
		return;
	MUST(!q->weight && q->owing, "awaits beside one that is counted");
	MUST(w->now - dev->awaits_since <= dev->awaits_until - dev->awaits_since,
	     "awaits for too long");
	MUST(dev->awaits_until - dev->awaits_since <= q->patience, "awaits beyond its patience");
}

/* A waiter that could run is never left alone. */
static void check_wakeups(struct world *w, unsigned int d)
{
	struct gs_device *dev = &w->dev[d];
	bool pickable = dev->root.queue[0].tree.root || dev->root.queue[1].tree.root;
	bool held = dev->nr_assured && dev->goal < 1000 && gs_tree_empty(&dev->behind);
	struct gs_client *h;

	MUST(w->armed[d] == dev->armed, "timer");
	if (!gs_tree_empty(&dev->later))
		MUST(dev->armed <= dev->later.first->key, "a refill or a kill has no timer");
	if (pickable && dev->root.running < dev->conf.seats) {
		MUST(held || dev->awaits, "a free seat, and somebody waits");
		MUST(dev->armed <= (dev->awaits ? dev->awaits_until : dev->epoch_end),
		     "held without a timer");
	}
	if (dev->awaits)
		check_awaits(w, dev);
	MUST(!dev->root.beside || dev->armed <= w->arb.now + dev->conf.slice,
	     "who is beside has no timer");
	list_for_each_entry(h, &dev->holders, of_device) {
		if (h->flags & GS_PREEMPT)
			MUST(dev->armed <= h->preempted + dev->conf.grace, "no grace timer");
		else
			MUST(h->preempt_at > w->now && dev->armed <= h->preempt_at,
			     "no slice timer");
	}
	if (pickable && !held && dev->conf.policy != GS_POLICY_FCFS && dev->root.running) {
		h = list_first_entry(&dev->holders, struct gs_client, of_device);
		MUST(h->flags & GS_PREEMPT || h->preempt_at <= h->deadline ||
		     h->preempt_at != GS_NEVER, "nobody will be asked to yield");
	}
}

void world_check(struct world *w)
{
	unsigned int d, g, i;

	for (i = 0; i < CLIENTS; i++)
		if (w->client[i])
			check_client(w, w->client[i]);
	w->weights_moved = false;
	for (d = 0; d < DEVICES; d++) {
		struct gs_device *dev = &w->dev[d];
		u64 usage = w->gone[d];

		if (!w->dev_used[d])
			continue;
		MUST(dev->root.running <= max(dev->conf.seats, w->most_seats[d]), "%u holders",
		     dev->root.running);
		check_node(w, &dev->root);
		check_leaving(w, dev);
		for (g = 0; g < GROUPS; g++) {
			struct gs_node *n = w->group[g] ? gs_node_find(w->group[g], dev) : NULL;

			if (n)
				check_node(w, n);
		}
		check_whole_tree(&dev->later, false);
		check_whole_tree(&dev->behind, false);
		check_counters(w, d);
		check_wakeups(w, d);
		for (i = 0; i < CLIENTS; i++) {
			struct gs_client *c = w->client[i] ? &w->client[i]->c : NULL;

			if (!c || c->dev != dev)
				continue;
			usage += c->usage + unpaid(w, c);
		}
		w->most_seats[d] = max(dev->conf.seats, dev->root.running);
		MUST(is_near(w, d, usage), "%llu used, %llu held", (unsigned long long)usage,
		     (unsigned long long)w->book[d]);
	}
}
