// SPDX-License-Identifier: MIT
/*
 * Calls on the world, each made of some bytes. Legal and illegal ones come as
 * they may: the core must refuse the latter, or take them as what they are
 * documented to be.
 */
#include "world.h"

static struct world *world_of(struct gs_arbiter *arb)
{
	return container_of(arb, struct world, arb);
}

static u32 byte(struct world *w)
{
	if (!w->left)
		return 0;
	w->left--;
	return *w->data++;
}

static u32 word(struct world *w)
{
	u32 hi = byte(w);

	return hi << 8 | byte(w);
}

/* From nanoseconds to seconds, all magnitudes alike. */
static u64 span(struct world *w)
{
	u64 n = byte(w) + 1;

	return n << byte(w) % 26;
}

/* Pages change one after the other: none may say what another one still says. */
static void check_exclusive(struct world *w, const struct gs_client *granted)
{
	u32 others = 0;
	int i;

	for (i = 0; i < CLIENTS; i++) {
		const struct fuzz_client *f = w->client[i];

		others += f && &f->c != granted && f->c.dev == granted->dev &&
			  f->page.flags & GS_GRANTED;
	}
	MUST(others < granted->dev->conf.seats, "more are shown as granted than there are seats");
}

static void on_publish(struct gs_arbiter *arb, struct gs_client *c)
{
	struct fuzz_client *f = container_of(c, struct fuzz_client, c);

	if (~f->page.flags & c->flags & GS_GRANTED)
		check_exclusive(world_of(arb), c);
	world_of(arb)->grants += f->page.epoch != c->epoch && c->flags & GS_GRANTED;
	f->page.epoch = c->epoch;
	f->page.deadline = c->deadline;
	f->page.preempt_at = c->preempt_at;
	f->page.flags = c->flags;
	f->page.workers = c->workers;
}

static void on_arm(struct gs_arbiter *arb, struct gs_device *dev, u64 when)
{
	struct world *w = world_of(arb);

	MUST(when < w->armed[dev - w->dev], "armed for later than it was");
	w->armed[dev - w->dev] = when;
}

static u64 on_peek(struct gs_arbiter *arb, struct gs_client *c)
{
	(void)arb;
	MUST(c->state == GS_CLIENT_RUNNING || (c->unasked && c->state == GS_CLIENT_WAITING),
	     "asked of one who doesn't hold");
	return container_of(c, struct fuzz_client, c)->idle_since;
}

static u64 on_peek_until(struct gs_arbiter *arb, struct gs_client *c)
{
	(void)arb;
	MUST(c->state == GS_CLIENT_RUNNING || c->beside, "asked of one who isn't on the device");
	return container_of(c, struct fuzz_client, c)->until;
}

static void on_kill(struct gs_arbiter *arb, struct gs_client *c)
{
	(void)arb;
	MUST(c->state == GS_CLIENT_OVER || c->beside, "killed in state %d", c->state);
}

static void on_node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	world_of(arb)->nodes--;
	memset(node, 0xa5, sizeof(*node));
	free(node);
}

static void on_event(struct gs_arbiter *arb, const struct gs_event *ev)
{
	struct world *w = world_of(arb);

	MUST(ev->time == w->now, "time");
	w->overruns += ev->type == GS_EV_OVERRUN;
	w->throttles += ev->type == GS_EV_THROTTLE;
	w->denied += ev->type == GS_EV_MEM_DENIED;
}

static const struct gs_host_ops ops = {
	.publish = on_publish,
	.arm = on_arm,
	.peek_idle = on_peek,
	.peek_until = on_peek_until,
	.kill = on_kill,
	.node_free = on_node_free,
	.event = on_event,
};

static void conf_random(struct world *w, struct gs_device_conf *conf)
{
	gs_device_conf_init(conf);
	conf->policy = byte(w) % 8 < 6 ? GS_POLICY_FAIR : byte(w) % (GS_NR_POLICIES + 1);
	conf->seats = byte(w) % 4 ? 1 + byte(w) % 2 : byte(w) % (GS_SEATS_MAX + 2);
	conf->seat_way = byte(w) % GS_NR_SEAT_WAYS;
	conf->min_way = byte(w) % GS_NR_MIN_WAYS;
	conf->slice = GS_SLICE_MIN + span(w);
	conf->latency = GS_SLICE_MIN + span(w);
	conf->linger = span(w);
	conf->grace = span(w);
	conf->kill_after = byte(w) % 2 ? conf->grace + span(w) : 0;
	conf->epoch = GS_EPOCH_MIN + span(w);
	conf->copy_ns_per_mib = byte(w) * 100;
	conf->mem_capacity = (u64)(byte(w) % 8) << 24;
	conf->oversubscribe = byte(w) % 2;
	conf->units = byte(w) % 20;
	conf->threads = 2048;
	conf->regs = 65536;
	conf->local_mem = 65536;
	conf->blocks = 32;
}

static void note_conf(struct world *w, const struct gs_device_conf *conf)
{
	w->longest_slice = max(w->longest_slice, max(conf->slice, conf->latency));
	if (conf->policy != GS_POLICY_FAIR)
		w->unfair = true;
}

static struct gs_device *some_device(struct world *w)
{
	unsigned int d = byte(w) % DEVICES;

	return w->dev_used[d] ? &w->dev[d] : NULL;
}

static void device_toggle(struct world *w)
{
	unsigned int d = byte(w) % DEVICES, i;
	struct gs_device_conf conf;

	conf_random(w, &conf);
	if (w->dev_used[d]) {
		if (byte(w) % 8)
			return;
		gs_device_remove(&w->dev[d], w->now);
		w->dev_used[d] = false;
		for (i = 0; i < CLIENTS; i++)
			if (w->client[i])
				MUST(w->client[i]->c.dev != &w->dev[d], "still there");
		return;
	}
	w->armed[d] = GS_NEVER;
	if (gs_device_add(&w->arb, &w->dev[d], d + 1, &conf, w->now))
		return;
	note_conf(w, &conf);
	w->dev_used[d] = true;
	w->book[d] = 0;
	w->inexact[d] = 0;
	w->gone[d] = 0;
	w->most_seats[d] = 1;
	w->last_some[d] = 0;
	memset(&w->last[d], 0, sizeof(w->last[d]));
}

static void device_set(struct world *w)
{
	struct gs_device *dev = some_device(w);
	struct gs_device_conf conf;

	conf_random(w, &conf);
	w->weights_moved = true;
	if (dev && !gs_device_set(dev, &conf, w->now))
		note_conf(w, &conf);
}

static struct gs_group *some_group(struct world *w)
{
	struct gs_group *g = w->group[byte(w) % GROUPS];

	return g ? g : &w->arb.root;
}

static void nodes(struct world *w, struct gs_group *g, struct gs_device *dev)
{
	struct gs_group *m;

	while ((m = gs_group_missing(g, dev))) {
		struct gs_node *node = malloc(sizeof(*node));

		MUST(node, "memory");
		MUST(!gs_node_add(node, m, dev, w->now), "node");
		w->nodes++;
	}
}

static void group_add(struct world *w)
{
	unsigned int i = byte(w) % GROUPS;
	struct gs_group *parent = some_group(w), *g;
	u32 key;
	int ret;

	if (w->group[i])
		return;
	g = malloc(sizeof(*g));
	MUST(g, "memory");
	key = byte(w) % 5;
	if (key > 2) {
		MUST(!gs_group_add(&w->arb, g, 100 + ++w->ids, parent, w->now), "group");
		MUST(g->tenant == parent->tenant, "another tenant");
	} else {
		ret = gs_tenant_add(&w->arb, g, 100 + ++w->ids, parent, key, w->now);
		MUST(!!ret == (!key || gs_tenant_find(parent, key) != g), "tenant");
		if (ret) {
			free(g);
			return;
		}
	}
	w->group[i] = g;
}

/* What is below goes up; where a tenant has a place there, its clients go to that. */
static void drop_group(struct world *w, struct gs_group *g)
{
	struct gs_group *up = g->parent, *child;
	struct gs_client *c;
	unsigned int i;
	int ret;

	while (!list_empty(&g->children)) {
		MUST(gs_group_remove(g, w->now) == -EBUSY, "groups below");
		child = list_first_entry(&g->children, struct gs_group, sibling);
		ret = gs_group_rehang(child, child->parent->parent, w->now);
		MUST(!ret || (ret == -EEXIST && gs_tenant_is(child)), "lift");
		if (ret)
			drop_group(w, child);
	}
	while (!list_empty(&g->clients)) {
		MUST(gs_group_remove(g, w->now) == -EBUSY, "clients");
		c = list_first_entry(&g->clients, struct gs_client, of_group);
		MUST(!gs_client_move(c, up, w->now), "move");
	}
	MUST(!gs_group_remove(g, w->now), "group");
	for (i = 0; w->group[i] != g; i++)
		;
	w->group[i] = NULL;
	free(g);
}

static void group_remove(struct world *w)
{
	unsigned int i = byte(w) % GROUPS;

	w->weights_moved = true;
	if (w->group[i])
		drop_group(w, w->group[i]);
}

static void group_move(struct world *w)
{
	struct gs_group *g = some_group(w), *parent = some_group(w), *up;
	struct gs_node *node;
	bool below = false;
	int ret;

	w->weights_moved = true;
	for (up = parent; up; up = up->parent)
		below |= up == g;
	list_for_each_entry(node, &g->nodes, of_group)
		nodes(w, parent, node->dev);
	ret = gs_group_move(g, parent, w->now);
	MUST(ret == 0 || ret == -ENOSPC || (ret == -EINVAL && (below || !g->parent)) ||
	     (ret == -EEXIST && gs_tenant_is(g)), "move");
	MUST(ret || g->parent == parent, "parent");
}

static void group_set(struct world *w)
{
	struct gs_group *g = some_group(w);
	struct gs_device *dev = byte(w) % 2 ? some_device(w) : NULL;
	struct gs_share s;
	u32 which = byte(w);

	w->weights_moved = true;
	gs_share_init(&s);
	s.weight = word(w) % 10100;
	s.class = byte(w) % 4;
	s.quota = byte(w) % 3 ? GS_QUOTA_MIN + span(w) : GS_UNLIMITED;
	s.period = GS_PERIOD_MIN + span(w);
	s.burst = byte(w) % 2 ? min(s.quota, span(w)) : 0;
	if (s.quota == GS_UNLIMITED)
		s.burst = 0;
	s.min = word(w) % 1020;
	if (byte(w) % 2)
		s.min %= 300;
	s.mem_max = byte(w) % 2 ? (u64)byte(w) << 18 : GS_UNLIMITED;
	s.mem_high = (u64)byte(w) << 18;
	s.mem_min = (u64)byte(w) << 14;
	if (dev && byte(w) % 4)
		nodes(w, g, dev);
	if (byte(w) % 8)
		which = 1 << which % 7;
	if (byte(w) % 4)
		gs_group_set(g, dev, &s, which, w->now);
	else
		gs_group_unset(g, dev, which, w->now);
}

static struct fuzz_client *some_client(struct world *w)
{
	return w->client[byte(w) % CLIENTS];
}

static void client_add(struct world *w)
{
	unsigned int i = byte(w) % CLIENTS;
	struct gs_device *dev = some_device(w);
	struct gs_group *g = some_group(w), *tenants;
	struct fuzz_client *f;

	if (w->client[i] || !dev)
		return;
	f = calloc(1, sizeof(*f));
	MUST(f, "memory");
	tenants = gs_tenant_find(g, 1 + byte(w) % 2);
	g = tenants ? tenants : g;
	if (byte(w) % 8)
		nodes(w, g, dev);
	if (gs_client_add(&f->c, 1000 + ++w->ids, g, dev, w->now)) {
		MUST(gs_group_missing(g, dev), "refused");
		free(f);
		return;
	}
	f->page.preempt_at = GS_NEVER;
	f->v = f->c.entity.link.val;
	w->client[i] = f;
}

/* Used, and not charged yet. */
u64 unpaid(const struct world *w, const struct gs_client *c)
{
	u64 n, most, ns = w->now - c->charged;

	if (c->state == GS_CLIENT_OVER)
		return ns;
	if (c->state != GS_CLIENT_RUNNING && !c->beside)
		return 0;
	n = c->dev->root.running + c->dev->root.beside;
	most = max(c->dev->conf.seats, c->dev->root.running);
	ns = w->now - c->dev->turns_at;
	return c->dev->turns - c->paid + (n > most ? ns * most / n : ns);
}

static void client_remove(struct world *w, unsigned int i)
{
	struct fuzz_client *f = w->client[i];
	struct gs_device *dev;

	if (!f)
		return;
	dev = f->c.dev;
	if (dev)
		w->gone[dev - w->dev] += f->c.usage + unpaid(w, &f->c);
	f->page.flags = 0;	/* nobody reads it any more */
	gs_client_remove(&f->c, w->now);
	memset(f, 0xa5, sizeof(*f));
	free(f);
	w->client[i] = NULL;
}

static void client_move(struct world *w, struct fuzz_client *f)
{
	struct gs_group *g = some_group(w);

	w->weights_moved = true;
	if (f->c.dev && byte(w) % 8)
		nodes(w, g, f->c.dev);
	gs_client_move(&f->c, g, w->now);
}

static void request_any(struct world *w)
{
	struct gs_client *clients[4];
	int n = byte(w) % 5, i, ret;

	for (i = 0; i < n; i++) {
		struct fuzz_client *f = some_client(w);

		if (!f)
			return;
		clients[i] = &f->c;
	}
	ret = gs_request_any(clients, n, span(w), w->now);
	MUST(ret < n && ret >= -200, "ret %d", ret);
	if (ret >= 0) {
		MUST(clients[ret]->state == GS_CLIENT_RUNNING, "not granted");
		for (i = 0; i < n; i++)
			MUST(i == ret || clients[i]->state == GS_CLIENT_IDLE, "two won");
	}
}

static void memory(struct world *w, struct fuzz_client *f)
{
	u64 bytes = (u64)byte(w) << 14;

	switch (byte(w) % 5) {
	case 0:
	case 1:
		gs_mem_charge(&f->c, byte(w) ? bytes : U64_MAX, w->now);
		break;
	case 2:
		gs_mem_uncharge(&f->c, bytes, w->now);
		break;
	case 3:
		gs_mem_swap(&f->c, min(bytes, f->c.mem_used), true, w->now);
		break;
	default:
		gs_mem_swap(&f->c, bytes, false, w->now);
		break;
	}
}

static void profile(struct world *w, struct fuzz_client *f)
{
	struct gs_profile *p = &f->profile;
	unsigned int i;

	p->threads = word(w) % 2000;
	p->regs = word(w);
	p->local_mem = word(w) % 3000;
	p->blocks = word(w);
	p->blocks *= word(w);
	p->points = byte(w) % (GS_PROFILE_POINTS + 4);
	for (i = 0; i < GS_PROFILE_POINTS; i++)
		p->rate[i] = span(w);
	gs_profile_set(&f->c, byte(w) % 4 ? p : NULL, w->now);
}

/* Those on the device take turns, if there are more than it has seats. */
static void note_use(struct world *w, unsigned int d, u64 dt)
{
	const struct gs_node *root = &w->dev[d].root;
	u64 n = root->running + root->beside, most = max(w->dev[d].conf.seats, root->running);

	w->book[d] += dt * (min(n, most) + root->overrunning);
	w->inexact[d] += n > most ? 4 * n : 0;
	w->besides += root->beside;
}

static void pass_time(struct world *w)
{
	u64 dt = span(w);
	unsigned int d, i;

	w->now += dt;
	for (d = 0; d < DEVICES; d++)
		if (w->dev_used[d])
			note_use(w, d, dt);
	for (i = 0; i < CLIENTS; i++) {
		struct gs_client *c = w->client[i] ? &w->client[i]->c : NULL;

		if (c && (c->state == GS_CLIENT_RUNNING || c->state == GS_CLIENT_OVER || c->beside))
			w->longest_hold = max(w->longest_hold, w->now - c->since);
	}
	for (d = 0; d < DEVICES; d++) {
		if (w->dev_used[d] && w->armed[d] <= w->now) {
			w->armed[d] = GS_NEVER;
			gs_expire(&w->dev[d], w->now);
		}
	}
}

static void early_timer(struct world *w)
{
	struct gs_device *dev = some_device(w);

	if (!dev)
		return;
	w->armed[dev - w->dev] = GS_NEVER;
	gs_expire(dev, w->now);
}

bool is_near(const struct world *w, unsigned int d, u64 usage)
{
	return usage <= w->book[d] && usage + w->inexact[d] >= w->book[d];
}

static void look(struct world *w)
{
	struct gs_device *dev = some_device(w);
	struct gs_pressure_values v;

	if (!dev)
		return;
	gs_sync(dev, w->now);
	MUST(is_near(w, dev - w->dev, gs_usage(&dev->root)), "usage after sync");
	gs_pressure_read(&dev->root, w->now, &v);
	MUST(v.some_avg[GS_AVG10] <= 10000 && v.full_avg[GS_AVG10] <= v.some_avg[GS_AVG10],
	     "pressure %u, %u", v.some_avg[GS_AVG10], v.full_avg[GS_AVG10]);
}

static void client_call(struct world *w, u32 op)
{
	struct fuzz_client *f = some_client(w);
	u8 state;
	int ret;

	if (!f)
		return;
	state = f->c.state;
	switch (op % 16) {
	case 0:
	case 1:
	case 2:
		ret = gs_request(&f->c, byte(w) % 2 ? span(w) : 0, w->now);
		MUST(ret == (state == GS_CLIENT_GONE ? -ENODEV : f->c.state == GS_CLIENT_RUNNING),
		     "request: %d", ret);
		break;
	case 3:
	case 4:
	case 5:
		f->idle_since = 0;
		ret = gs_yield(&f->c, true, byte(w) % 2 ? span(w) : 0, w->now);
		MUST(ret == (state == GS_CLIENT_GONE ? -ENODEV : f->c.state == GS_CLIENT_RUNNING),
		     "yield: %d", ret);
		break;
	case 6:
	case 7:
		f->idle_since = 0;
		gs_yield(&f->c, false, 0, w->now);
		MUST(f->c.state != GS_CLIENT_RUNNING && f->c.state != GS_CLIENT_OVER, "yield");
		break;
	case 8:
		gs_cancel(&f->c, w->now);
		MUST(f->c.state != GS_CLIENT_WAITING, "cancel");
		break;
	case 9:
		f->idle_since = byte(w) % 2 ? w->now - span(w) % w->now : 0;
		f->until = byte(w) % 2 ? w->now + span(w) : 0;
		break;
	case 10:
		if (byte(w) % 2)
			gs_idle(&f->c, w->now, w->now);
		else
			gs_busy(&f->c, w->now);
		break;
	case 11:
		client_move(w, f);
		break;
	case 12:
	case 13:
		memory(w, f);
		break;
	case 14:
		profile(w, f);
		break;
	case 15:
		gs_revive(&f->c, w->now);
		break;
	}
}

void world_step(struct world *w)
{
	u32 op = byte(w);

	w->ops++;
	switch (op % 32) {
	case 0:
		device_toggle(w);
		break;
	case 1:
		device_set(w);
		break;
	case 2:
		group_add(w);
		break;
	case 3:
		if (byte(w) % 2)
			group_remove(w);
		else
			group_move(w);
		break;
	case 4:
	case 5:
		group_set(w);
		break;
	case 6:
	case 7:
		client_add(w);
		break;
	case 8:
		client_remove(w, byte(w) % CLIENTS);
		break;
	case 9:
		request_any(w);
		break;
	case 10:
		early_timer(w);
		break;
	case 11:
		look(w);
		break;
	case 12:
	case 13:
	case 14:
	case 15:
	case 16:
	case 17:
		pass_time(w);
		break;
	default:
		client_call(w, byte(w));
		break;
	}
}

/* Begin with all devices, groups and clients there, in one or two calls each. */
static void populate(struct world *w)
{
	unsigned int d, i;

	for (d = 0; d < DEVICES; d++) {
		struct gs_device_conf conf;

		gs_device_conf_init(&conf);
		conf.seats = d + 1;
		conf.mem_capacity = 16 << 20;
		conf.oversubscribe = d == 1;
		conf.min_way = byte(w) % GS_NR_MIN_WAYS;
		conf.grace = (byte(w) + 1) * 4000000ull;
		w->armed[d] = GS_NEVER;
		MUST(!gs_device_add(&w->arb, &w->dev[d], d + 1, &conf, w->now), "device");
		note_conf(w, &conf);
		w->dev_used[d] = true;
	}
	for (i = 0; i < GROUPS; i++)
		group_add(w);
	for (i = 0; i < 4 * CLIENTS; i++)
		client_add(w);
	for (i = 0; i < GROUPS; i++)
		group_set(w);
}

/* The first byte of the data tells what to begin with. */
void world_init(struct world *w, const unsigned char *data, size_t size)
{
	memset(w, 0, sizeof(*w));
	w->data = data;
	w->left = size;
	w->now = WORLD_BEGINS;
	w->longest_slice = GS_SLICE_MIN;
	gs_arbiter_init(&w->arb, &ops);
	w->arb.events = GS_EVENTS_ALL;
	if (byte(w) % 4)
		populate(w);
}

void world_end(struct world *w)
{
	unsigned int i;

	for (i = 0; i < CLIENTS; i++)
		client_remove(w, i);
	for (i = 0; i < GROUPS; i++)
		if (w->group[i])
			drop_group(w, w->group[i]);
	for (i = 0; i < DEVICES; i++) {
		struct gs_device *dev = &w->dev[i];

		if (!w->dev_used[i])
			continue;
		MUST(!dev->root.active && !dev->root.running && !dev->root.waiting, "left over");
		MUST(!dev->root.overrunning && !dev->mem_used && !dev->mem_leaving, "left over");
		MUST(!dev->root.queue[0].hurried && !dev->nr_capped && !dev->nr_assured, "left over");
		MUST(gs_tree_empty(&dev->later) && gs_tree_empty(&dev->behind), "left over");
		MUST(!dev->awaits, "left over");
		MUST(!dev->root.beside && !dev->root.beside_paid && list_empty(&dev->beside),
		     "left over");
		MUST(is_near(w, i, dev->root.stat.usage), "usage at the end");
		gs_device_remove(dev, w->now);
	}
	MUST(!w->nodes, "%ld nodes left", w->nodes);
	MUST(list_empty(&w->arb.dirty) && list_empty(&w->arb.devices), "left over");
}
