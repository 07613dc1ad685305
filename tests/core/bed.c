// SPDX-License-Identifier: MIT
#include "bed.h"

static struct bed *bed_of(struct gs_arbiter *arb)
{
	return container_of(arb, struct bed, arb);
}

u64 bed_random(struct bed *b, u64 below)
{
	b->seed ^= b->seed << 13;
	b->seed ^= b->seed >> 7;
	b->seed ^= b->seed << 17;
	return below ? b->seed % below : 0;
}

static void enter_callback(struct bed *b)
{
	EXPECT_FALSE(b->inside);
	b->inside = true;
}

/* The next time at which a running tenant looks up from its work. */
static u64 boundary(struct tenant *t, u64 now)
{
	u64 block = t->block;

	if (!block)
		return GS_NEVER;
	if (t->jitter)
		return now + bed_random(t->bed, block) + 1;
	return t->began + ((now - t->began) / block + 1) * block;
}

static void on_publish(struct gs_arbiter *arb, struct gs_client *c)
{
	struct tenant *t = c->priv;
	struct bed *b = bed_of(arb);
	bool granted = c->flags & GS_GRANTED;

	enter_callback(b);
	b->publishes++;
	if (t) {
		EXPECT_LE(t->epoch, c->epoch);
		EXPECT_EQ(granted, (bool)(c->epoch & 1));
		if (t->granted_at && (!granted || t->epoch != c->epoch)) {
			t->held += b->now - t->granted_at;
			t->granted_at = 0;
		}
		if (granted && t->epoch != c->epoch) {
			t->granted_at = b->now;
			t->turns++;
			t->began = b->now;
			t->ran_to = b->now;
			t->idle = false;
			if (t->asked_at)
				t->wait_max = max(t->wait_max, b->now - t->asked_at);
			t->asked_at = 0;
			t->saw_preempt = false;
			t->wake = t->burst ? b->now + t->work_left : GS_NEVER;
		}
		if (granted && c->flags & GS_PREEMPT && !t->saw_preempt && !t->idle) {
			t->saw_preempt = true;
			t->wake = min(t->wake, boundary(t, b->now));
		}
		if (!granted && t->on && t->idle && c->state == GS_CLIENT_IDLE)
			t->granted_at = 0;
		t->epoch = c->epoch;
	}
	b->inside = false;
}

static void on_arm(struct gs_arbiter *arb, struct gs_device *dev, u64 when)
{
	struct bed *b = bed_of(arb);
	u64 *armed = &b->armed[dev - b->dev];

	enter_callback(b);
	EXPECT_LT(when, *armed);
	*armed = when;
	b->arms++;
	b->inside = false;
}

static u64 on_peek(struct gs_arbiter *arb, struct gs_client *c)
{
	struct tenant *t = c->priv;

	(void)arb;
	EXPECT_EQ(c->state, (u8)GS_CLIENT_RUNNING);
	return t && (t->idle || t->lies) ? t->began : 0;
}

static void on_kill(struct gs_arbiter *arb, struct gs_client *c)
{
	(void)c;
	bed_of(arb)->kills++;
}

static void on_node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	bed_of(arb)->nodes--;
	memset(node, 0xa5, sizeof(*node));
	free(node);
}

static void on_event(struct gs_arbiter *arb, const struct gs_event *ev)
{
	struct bed *b = bed_of(arb);

	EXPECT_LT(ev->type, (u32)GS_NR_EVENTS);
	EXPECT_EQ(ev->time, b->now);
	b->events[ev->type]++;
	b->last[ev->type] = *ev;
	if (b->on_event)
		b->on_event(b, ev);
}

static const struct gs_host_ops ops = {
	.publish = on_publish,
	.arm = on_arm,
	.peek_idle = on_peek,
	.kill = on_kill,
	.node_free = on_node_free,
	.event = on_event,
};

void bed_init(struct bed *b)
{
	const char *seed = getenv("SEED");

	memset(b, 0, sizeof(*b));
	b->now = SEC;
	b->seed = seed ? strtoull(seed, NULL, 0) : 88172645463325252ull;
	gs_arbiter_init(&b->arb, &ops);
	b->arb.events = GS_EVENTS_ALL;
}

struct gs_device *bed_device(struct bed *b, const struct gs_device_conf *conf)
{
	struct gs_device *dev = &b->dev[b->nr_devices];
	struct gs_device_conf def;

	ASSERT_LT(b->nr_devices, BED_DEVICES);
	gs_device_conf_init(&def);
	b->armed[b->nr_devices++] = GS_NEVER;
	ASSERT_EQ(gs_device_add(&b->arb, dev, b->nr_devices, conf ? conf : &def, b->now), 0);
	return dev;
}

struct gs_group *bed_group(struct bed *b, struct gs_group *parent, u32 weight)
{
	static u64 id = 100;
	struct gs_group *g = malloc(sizeof(*g));

	ASSERT_TRUE(g);
	ASSERT_EQ(gs_group_add(&b->arb, g, ++id, parent ? parent : &b->arb.root, b->now), 0);
	if (weight)
		bed_set(b, g, SHARE(.weight = weight), GS_SHARE_WEIGHT);
	return g;
}

struct gs_group *bed_tenants(struct bed *b, struct gs_group *parent, u64 key)
{
	static u64 id = 10000;
	struct gs_group *g;

	parent = parent ? parent : &b->arb.root;
	g = gs_tenant_find(parent, key);
	if (g)
		return g;
	g = malloc(sizeof(*g));
	ASSERT_TRUE(g);
	ASSERT_EQ(gs_tenant_add(&b->arb, g, ++id, parent, key, b->now), 0);
	return g;
}

void bed_set(struct bed *b, struct gs_group *g, struct gs_share s, u32 which)
{
	EXPECT_EQ(gs_group_set(g, NULL, &s, which, b->now), 0);
}

void bed_nodes(struct bed *b, struct gs_group *g, struct gs_device *dev)
{
	struct gs_group *m;

	while ((m = gs_group_missing(g, dev))) {
		struct gs_node *node = malloc(sizeof(*node));

		ASSERT_TRUE(node);
		b->nodes++;
		ASSERT_EQ(gs_node_add(node, m, dev, b->now), 0);
	}
}

static void join(struct tenant *t, struct gs_group *g, struct gs_device *dev)
{
	static u64 id = 1000;

	ASSERT_EQ(gs_client_add(&t->c, ++id, g, dev, t->bed->now), 0);
	t->c.priv = t;
	t->epoch = 0;
}

struct tenant *bed_tenant(struct bed *b, struct gs_group *g, struct gs_device *dev, u64 block)
{
	struct tenant *t = calloc(1, sizeof(*t));

	ASSERT_TRUE(t);
	g = g ? g : &b->arb.root;
	bed_nodes(b, g, dev);
	t->bed = b;
	join(t, g, dev);
	t->block = block;
	t->wake = GS_NEVER;
	t->next = b->tenants;
	b->tenants = t;
	return t;
}

static void ask(struct tenant *t)
{
	t->wake = GS_NEVER;
	t->work_left = t->burst;
	t->asked_at = t->bed->now;
	EXPECT_LE(0, gs_request(&t->c, t->want, t->bed->now));
}

static void be_reborn(struct tenant *t)
{
	struct gs_group *g = t->c.group;
	struct gs_device *dev = t->c.dev;

	t->gone = bed_usage(t);
	gs_client_remove(&t->c, t->bed->now);
	join(t, g, dev);
	ask(t);
}

void bed_start(struct tenant *t)
{
	t->on = true;
	ask(t);
}

void bed_stop(struct tenant *t)
{
	t->on = false;
	t->wake = GS_NEVER;
	gs_cancel(&t->c, t->bed->now);
	gs_yield(&t->c, false, 0, t->bed->now);
}

void bed_drop(struct tenant *t)
{
	struct tenant **p = &t->bed->tenants;

	gs_client_remove(&t->c, t->bed->now);
	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	free(t);
}

/* A tenant's step: a boundary, the end of a burst or of a pause. */
static void step(struct tenant *t)
{
	struct bed *b = t->bed;
	u64 ran = b->now - t->ran_to;

	t->wake = GS_NEVER;
	if (t->c.state == GS_CLIENT_IDLE) {
		ask(t);
		return;
	}
	if (t->idle) {		/* the pause is over, and the grant is there still */
		t->idle = false;
		t->began = b->now;
		t->ran_to = b->now;
		t->work_left = t->burst;
		t->wake = b->now + t->burst;
		return;
	}
	t->ran_to = b->now;
	if (t->reborn && t->saw_preempt) {
		be_reborn(t);
		return;
	}
	if (t->burst && ran >= t->work_left) {
		t->work_left = 0;
		t->wake = b->now + t->pause;
		if (t->linger && !(t->c.flags & GS_PREEMPT)) {
			t->idle = true;
			t->began = b->now;
			if (t->c.waiters)
				gs_idle(&t->c, b->now, b->now);
		} else {
			gs_yield(&t->c, false, 0, b->now);
		}
		return;
	}
	t->work_left -= min(ran, t->work_left);
	t->asked_at = b->now;
	gs_yield(&t->c, true, t->want, b->now);
}

void bed_run(struct bed *b, u64 until)
{
	struct tenant *t, *first;
	unsigned int i, dev;
	u64 when;

	for (;;) {
		when = GS_NEVER;
		first = NULL;
		dev = 0;
		for (i = 0; i < b->nr_devices; i++) {
			if (b->armed[i] < when) {
				when = b->armed[i];
				dev = i;
			}
		}
		for (t = b->tenants; t; t = t->next) {
			if (t->wake < when) {
				when = t->wake;
				first = t;
			}
		}
		if (when > until)
			break;
		b->now = max(b->now, when);
		if (first) {
			step(first);
		} else {
			b->armed[dev] = GS_NEVER;
			b->expiries++;
			gs_expire(&b->dev[dev], b->now);
		}
	}
	b->now = until;
}

u64 bed_usage(struct tenant *t)
{
	gs_sync(t->c.dev, t->bed->now);
	return t->gone + gs_client_usage(&t->c);
}

void bed_drop_group(struct bed *b, struct gs_group *g)
{
	struct gs_group *up = g->parent, *child;
	struct gs_node *node;
	struct gs_client *c;

	while (!list_empty(&g->clients)) {
		c = list_first_entry(&g->clients, struct gs_client, of_group);
		ASSERT_EQ(gs_client_move(c, up, b->now), 0);
	}
	while (!list_empty(&g->children)) {
		child = list_first_entry(&g->children, struct gs_group, sibling);
		list_for_each_entry(node, &child->nodes, of_group)
			bed_nodes(b, up, node->dev);
		if (gs_group_rehang(child, child->parent->parent, b->now) == -EEXIST)
			bed_drop_group(b, child);
	}
	EXPECT_EQ(gs_group_remove(g, b->now), 0);
	free(g);
}

static void drop_groups(struct bed *b)
{
	while (!list_empty(&b->arb.root.children))
		bed_drop_group(b, list_first_entry(&b->arb.root.children, struct gs_group,
						   sibling));
}

void bed_end(struct bed *b)
{
	unsigned int i;

	while (b->tenants)
		bed_drop(b->tenants);
	drop_groups(b);
	for (i = 0; i < b->nr_devices; i++) {
		struct gs_device *dev = &b->dev[i];

		if (!dev->arb)
			continue;
		EXPECT_EQ(dev->root.running, 0u);
		EXPECT_EQ(dev->root.waiting, 0u);
		EXPECT_EQ(dev->root.overrunning, 0u);
		EXPECT_EQ(dev->mem_used, 0ull);
		EXPECT_EQ(dev->root.queue[0].hurried, 0u);
		EXPECT_EQ(dev->nr_capped, 0u);
		EXPECT_EQ(dev->nr_assured, 0u);
		EXPECT_TRUE(gs_tree_empty(&dev->later));
		EXPECT_TRUE(gs_tree_empty(&dev->behind));
		EXPECT_EQ(dev->root.queue[0].weight, 0ull);
		EXPECT_EQ(dev->root.queue[1].weight, 0ull);
		EXPECT_EQ(dev->root.active, 0u);
		gs_device_remove(dev, b->now);
	}
	EXPECT_EQ(b->nodes, 0ul);
	EXPECT_TRUE(list_empty(&b->arb.devices));
	EXPECT_TRUE(list_empty(&b->arb.dirty));
}
