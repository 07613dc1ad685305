// SPDX-License-Identifier: MIT
/*
 * Launches that can't be stopped, on a device that takes turns among the programs that have
 * work there, as a GPU does among contexts: what each really had of it, by its weight, and
 * who waits for whom. The device is a model of some 20 us steps, in which each of n has 1/n.
 */
#include "bed.h"

#define STEP (20 * US)
#define MOST 24

/* What a program says on its page of what it has on the device. */
enum says { THE_TRUTH, NOTHING, ALWAYS };

/*
 * @kernel: a launch takes so long alone; @slow: it can't be stopped
 * @burst, @pause: so much work, and then none for so long
 * @empty: it launches nothing, and holds on
 */
struct program {
	struct gs_client c;
	u64 kernel, burst, pause;
	enum says says;
	bool slow, empty;
	u64 left, todo, wake;		/* of the launch that is there, of the burst; or GS_NEVER */
	u64 had, asked, longest;	/* on the device really; of waits for the seat */
	bool idle;
};

static struct {
	struct gs_arbiter arb;
	struct gs_device dev;
	u64 armed, now;
	struct program p[MOST];
	unsigned int n;
	unsigned long kills;
} w;

static void on_publish(struct gs_arbiter *arb, struct gs_client *c)
{
	struct program *p = container_of(c, struct program, c);

	(void)arb;
	if (!(c->flags & GS_GRANTED) || p->asked == GS_NEVER)
		return;
	p->longest = max(p->longest, w.now - p->asked);
	p->asked = GS_NEVER;
}

static void on_arm(struct gs_arbiter *arb, struct gs_device *dev, u64 when)
{
	(void)arb;
	(void)dev;
	w.armed = when;
}

static u64 on_peek(struct gs_arbiter *arb, struct gs_client *c)
{
	(void)arb;
	return container_of(c, struct program, c)->idle;
}

static u64 on_peek_until(struct gs_arbiter *arb, struct gs_client *c)
{
	struct program *p = container_of(c, struct program, c);

	(void)arb;
	if (p->says == ALWAYS)
		return w.now + SEC;
	return p->says == THE_TRUTH && p->slow && p->left ? w.now + p->left : 0;
}

static void on_kill(struct gs_arbiter *arb, struct gs_client *c)
{
	(void)arb;
	(void)c;
	w.kills++;
}

static void on_node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	(void)arb;
	free(node);
}

static const struct gs_host_ops ops = {
	.publish = on_publish,
	.arm = on_arm,
	.peek_idle = on_peek,
	.peek_until = on_peek_until,
	.kill = on_kill,
	.node_free = on_node_free,
};

static void begin(const struct gs_device_conf *conf)
{
	struct gs_device_conf def;

	memset(&w, 0, sizeof(w));
	w.now = SEC;
	w.armed = GS_NEVER;
	gs_arbiter_init(&w.arb, &ops);
	gs_device_conf_init(&def);
	ASSERT_EQ(0, gs_device_add(&w.arb, &w.dev, 1, conf ? conf : &def, w.now));
}

static struct gs_group *group(struct gs_group *parent, struct gs_share s, u32 which)
{
	struct gs_group *g = calloc(1, sizeof(*g));
	static u64 id = 100;

	ASSERT_TRUE(g != NULL);
	ASSERT_EQ(0, gs_group_add(&w.arb, g, ++id, parent ? parent : &w.arb.root, w.now));
	ASSERT_EQ(0, gs_group_set(g, NULL, &s, which, w.now));
	return g;
}

static struct gs_group *weighs(struct gs_group *parent, u32 weight)
{
	return group(parent, SHARE(.weight = weight), GS_SHARE_WEIGHT);
}

static struct gs_group *tenant(struct gs_group *parent, u64 key)
{
	struct gs_group *g = gs_tenant_find(parent, key);
	static u64 id = 10000;

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	ASSERT_TRUE(g != NULL);
	ASSERT_EQ(0, gs_tenant_add(&w.arb, g, ++id, parent, key, w.now));
	return g;
}

static struct program *join(struct gs_group *g, struct program like)
{
	struct program *p = &w.p[w.n++];
	struct gs_node *node;
	struct gs_group *m;

	while ((m = gs_group_missing(g, &w.dev))) {
		node = calloc(1, sizeof(*node));
		ASSERT_TRUE(node != NULL);
		ASSERT_EQ(0, gs_node_add(node, m, &w.dev, w.now));
	}
	*p = like;
	p->todo = p->burst;
	p->asked = GS_NEVER;
	ASSERT_EQ(0, gs_client_add(&p->c, w.n, g, &w.dev, w.now));
	return p;
}

static void ask(struct program *p)
{
	p->asked = w.now;
	EXPECT_LE(0, gs_request(&p->c, 0, w.now));
}

/* What it had on the device has ended, or it has nothing there. */
static void go_on(struct program *p)
{
	bool held = p->c.flags & GS_GRANTED;

	if (p->burst && !p->todo) {
		p->todo = p->burst;
		p->wake = w.now + p->pause;
		p->idle = true;
		if (held)
			gs_yield(&p->c, false, 0, w.now);
		return;
	}
	p->idle = false;
	if (p->c.state == GS_CLIENT_IDLE || (p->c.state == GS_CLIENT_WAITING && p->c.unasked))
		ask(p);
	else if (held && p->c.flags & GS_PREEMPT)
		gs_yield(&p->c, true, 0, w.now);
	if ((p->c.flags & (GS_GRANTED | GS_PREEMPT)) == GS_GRANTED && !p->empty)
		p->left = p->kernel;
}

static void take_turns(void)
{
	unsigned int i, n = 0;
	u64 had;

	for (i = 0; i < w.n; i++)
		n += !!w.p[i].left;
	for (i = 0; i < w.n && n; i++) {
		struct program *p = &w.p[i];

		had = min(p->left, STEP / n);
		p->left -= had;
		p->had += had;
		if (p->burst)
			p->todo -= min(had, p->todo);
	}
}

static void pass(u64 ns)
{
	u64 until = w.now + ns;
	unsigned int i;

	while (w.now < until) {
		take_turns();
		w.now += STEP;
		for (i = 0; i < w.n; i++) {
			struct program *p = &w.p[i];

			if (p->left || p->wake > w.now)
				continue;
			go_on(p);
		}
		if (w.armed <= w.now) {
			w.armed = GS_NEVER;
			gs_expire(&w.dev, w.now);
		}
	}
}

static void drop(struct gs_group *g)
{
	while (!list_empty(&g->children))
		drop(list_first_entry(&g->children, struct gs_group, sibling));
	if (!g->parent)
		return;
	EXPECT_EQ(0, gs_group_remove(g, w.now));
	free(g);
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < w.n; i++)
		gs_client_remove(&w.p[i].c, w.now);
	EXPECT_EQ(0u, w.dev.root.beside);
	EXPECT_EQ(0ull, w.dev.root.beside_paid);
	EXPECT_TRUE(list_empty(&w.dev.beside));
	drop(&w.arb.root);
	gs_device_remove(&w.dev, w.now);
}

static const struct program quick = { .kernel = 200 * US };
static const struct program whole = { .kernel = 100 * MS, .slow = true };

/* Who comes beside a launch of 100 ms has the seat at once, and not after the launch or grace. */
TEST(who_comes_waits_for_no_launch)
{
	struct program *hog, *p, deaf = whole;

	begin(NULL);
	hog = join(tenant(&w.arb.root, 1), whole);
	p = join(tenant(&w.arb.root, 2), (struct program){ .kernel = MS, .burst = MS,
							   .pause = 49 * MS });
	p->wake = w.now + 31 * MS;
	pass(5 * SEC);
	EXPECT_LE(p->longest, STEP);
	/* Each took 2 ms, as they took turns: 1 ms of 51. */
	EXPECT_GE(p->had, 90 * MS);
	EXPECT_EQ(0u, w.dev.root.stat.overruns);
	EXPECT_GE(w.dev.root.stat.besides, 90u);
	EXPECT_GE(hog->had, 5 * SEC - p->had - 50 * MS);
	end();

	begin(NULL);
	deaf.says = NOTHING;
	join(tenant(&w.arb.root, 1), deaf);
	p = join(tenant(&w.arb.root, 2), (struct program){ .kernel = MS, .burst = MS,
							   .pause = 49 * MS });
	p->wake = w.now + 31 * MS;
	pass(5 * SEC);
	EXPECT_GE(p->longest, 60 * MS);
	end();
}

/* One that is about to end is waited for: the device is one's alone where that costs little. */
TEST(what_ends_soon_is_waited_for)
{
	struct program *hog, *p;

	begin(NULL);
	hog = join(tenant(&w.arb.root, 1), (struct program){ .kernel = 2400 * US, .slow = true });
	pass(10 * MS);
	p = join(tenant(&w.arb.root, 2), quick);
	pass(SEC);
	/* Slices of 2 ms are over 0.4 ms before a launch ends; at first it was at its beginning. */
	EXPECT_EQ(1u, w.dev.root.stat.besides);
	EXPECT_GE(hog->had, 450 * MS);
	EXPECT_GE(p->had, 450 * MS);
	end();
}

static void expect_part(const struct program *p, u64 of, unsigned int permille, unsigned int by)
{
	unsigned int got = (unsigned int)(p->had * 1000 / of);

	if (got + by < permille || got > permille + by)
		test_fail("program %u had %u per mille of the device, due are %u",
			  (unsigned int)p->c.id, got, permille);
}

/* Weights are parts of the device's real time, whatever can be stopped. */
TEST(weights_are_kept)
{
	static const u32 weights[][2] = { { 1, 1 }, { 1, 3 }, { 3, 1 }, { 9, 1 }, { 1, 9 } };
	static const u64 kernels[] = { 5 * MS, 20 * MS, 100 * MS };
	struct program *hog, *p, *q, slow = whole;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		for (k = 0; k < ARRAY_SIZE(kernels); k++) {
			u32 a = weights[i][0], b = weights[i][1];

			begin(NULL);
			slow.kernel = kernels[k];
			hog = join(weighs(NULL, a * 100), slow);
			p = join(weighs(NULL, b * 100), quick);
			pass(20 * SEC);
			expect_part(hog, 20 * SEC, 1000 * a / (a + b), 10);
			expect_part(p, 20 * SEC, 1000 * b / (a + b), 15);
			end();
		}
	}
	/* Two beside one: it has more than its part while it can't be kept off, and waits. */
	begin(NULL);
	hog = join(weighs(NULL, 100), whole);
	p = join(weighs(NULL, 100), quick);
	q = join(weighs(NULL, 200), quick);
	pass(20 * SEC);
	expect_part(hog, 20 * SEC, 250, 10);
	expect_part(p, 20 * SEC, 250, 10);
	expect_part(q, 20 * SEC, 500, 15);
	end();
	/* All of them slow. */
	begin(NULL);
	hog = join(weighs(NULL, 100), whole);
	p = join(weighs(NULL, 300), whole);
	pass(20 * SEC);
	expect_part(hog, 20 * SEC, 250, 15);
	expect_part(p, 20 * SEC, 750, 15);
	end();
}

/* A max counts all time on the device: no saying raises it. */
TEST(a_max_isnt_passed)
{
	struct gs_group *capped;
	struct program *p, liar = whole;
	unsigned int i;

	liar.empty = true;
	liar.says = ALWAYS;
	begin(NULL);
	capped = group(NULL, SHARE(.quota = 20 * MS, .period = 100 * MS), GS_SHARE_MAX);
	p = join(tenant(capped, 1), quick);
	for (i = 0; i < 8; i++)
		join(tenant(&w.arb.root, 1), liar);
	pass(10 * SEC);
	EXPECT_LE(p->had / MS, 10000 * 20 / 100 + 40);
	end();

	begin(NULL);
	capped = group(NULL, SHARE(.quota = 20 * MS, .period = 100 * MS), GS_SHARE_MAX);
	p = join(capped, whole);
	join(&w.arb.root, quick);
	pass(10 * SEC);
	EXPECT_LE(p->had / MS, 10000 * 20 / 100 + 40);
	end();
}

/* What never ends is killed after the time that was set, though it said so. */
TEST(what_never_ends_is_killed)
{
	struct gs_device_conf conf;
	struct program endless = whole;

	gs_device_conf_init(&conf);
	conf.kill_after = 500 * MS;
	endless.kernel = 1000 * SEC;
	begin(&conf);
	join(tenant(&w.arb.root, 1), endless);
	join(tenant(&w.arb.root, 2), quick);
	pass(400 * MS);
	EXPECT_EQ(0ul, w.kills);
	pass(600 * MS);
	EXPECT_EQ(1ul, w.kills);
	end();
}

/* One that never ends costs those who share its group no more than if it said nothing. */
TEST(an_endless_one_doesnt_starve_its_group)
{
	struct gs_group *shared;
	struct program *p, endless = whole;

	endless.kernel = 1000 * SEC;
	begin(NULL);
	shared = weighs(NULL, 100);
	join(tenant(shared, 1), endless);
	p = join(tenant(shared, 2), quick);
	join(weighs(NULL, 100), quick);
	pass(20 * SEC);
	EXPECT_GE(p->had, 2 * SEC);
	end();
}

/* It has nothing more to run when its launch ends: then it doesn't get the seat. */
TEST(who_has_ended_isnt_granted)
{
	struct program *hog, *p;
	u32 grants;

	begin(NULL);
	hog = join(tenant(&w.arb.root, 1), (struct program){ .kernel = 30 * MS, .slow = true,
							     .burst = 30 * MS, .pause = SEC });
	p = join(tenant(&w.arb.root, 2), quick);
	p->wake = w.now + 2 * MS;
	pass(20 * MS);
	EXPECT_EQ(1u, hog->c.beside);
	while (hog->left)
		pass(STEP);
	grants = hog->c.grants;
	pass(10 * MS);
	EXPECT_EQ(0u, hog->c.beside);
	EXPECT_EQ((u8)GS_CLIENT_IDLE, hog->c.state);
	EXPECT_EQ(grants, hog->c.grants);
	EXPECT_LE(hog->c.usage, hog->had + 3 * MS);
	end();
}

/*
 * Strategies: nobody gains more than 2 % of the device's real time by what it says, and
 * nobody who behaves loses that.
 */
#define RUN (8 * SEC)

static const struct strategy {
	const char *name;
	struct program is;
	unsigned int clients;
	bool pair;			/* each is another tenant's */
} strategies[] = {
	{ "says the truth", { .kernel = 92 * MS, .slow = true }, 1, false },
	{ "the same, shorter", { .kernel = 7 * MS, .slow = true }, 1, false },
	{ "says so of all", { .kernel = 200 * US, .says = ALWAYS }, 1, false },
	{ "says so always", { .kernel = 92 * MS, .slow = true, .says = ALWAYS }, 1, false },
	{ "says so, and does nothing", { .says = ALWAYS, .empty = true }, 1, false },
	{ "20 clients", { .kernel = 92 * MS, .slow = true }, 20, false },
	{ "20 that say so always", { .kernel = 5 * MS, .slow = true, .says = ALWAYS }, 20, false },
	{ "naps", { .kernel = 30 * MS, .slow = true, .burst = 30 * MS, .pause = 3 * MS }, 1, false },
	{ "a pair", { .kernel = 92 * MS, .slow = true }, 2, true },
	{ "a pair, one of them says so always", { .kernel = 3 * MS, .says = ALWAYS }, 2, true },
};

static const struct {
	const char *name;
	u64 burst, pause;
} honests[] = {
	{ "always busy", 0, 0 },
	{ "20 us between slices", 2 * MS, 20 * US },
	{ "1 ms of each 2 ms", 1 * MS, 1 * MS },
};

/* @one, @two: the honest one's part by weights beside one other, and beside two. */
static const struct place {
	const char *name;
	u32 weight;
	bool grouped;
	unsigned int one, two;
} places[] = {
	{ "in the root", 0, false, 500, 333 },
	{ "in one group", 0, true, 500, 333 },
	{ "weights 3:1", 300, false, 750, 600 },
	{ "weights 1:3", 33, false, 250, 142 },
};

struct result { u64 honest, hostile; };

static struct result run(const struct place *pl, unsigned int h, const struct strategy *s,
			 bool behave)
{
	struct gs_group *top, *of[3];
	struct program *p, good = quick;
	struct result r = { 0 };
	unsigned int i, n = behave ? 1 + s->pair : s->clients;

	begin(NULL);
	top = pl->grouped ? weighs(NULL, 100) : &w.arb.root;
	for (i = 0; i < 3; i++)
		of[i] = pl->weight ? weighs(top, i ? 100 : pl->weight) : top;
	good.burst = honests[h].burst;
	good.pause = honests[h].pause;
	p = join(tenant(of[0], 1), good);
	for (i = 0; i < n; i++)
		join(tenant(of[1 + (s->pair && i)], 2 + (s->pair && i)), behave ? quick : s->is);
	pass(RUN);
	r.honest = p->had;
	for (i = 1; i < w.n; i++)
		r.hostile += w.p[i].had;
	end();
	return r;
}

static void compare(const struct place *pl, unsigned int h, const struct strategy *s)
{
	struct result due = run(pl, h, s, true), got = run(pl, h, s, false);
	u64 part = s->pair ? pl->two : pl->one, floor = due.honest, most = due.hostile, cycle;

	if (honests[h].pause) {
		cycle = honests[h].burst * 1000 / part + honests[h].pause;
		floor = min(floor, RUN / 1000 * part * honests[h].burst /
			    (honests[h].burst + honests[h].pause));
		most = max(most, RUN / 1000 * (1000 - part + part * honests[h].pause / cycle));
	}
	if (got.honest + RUN / 50 < floor)
		test_fail("%s, %s, %s: the honest one had %.1f %%, due are %.1f", pl->name, s->name,
			  honests[h].name, got.honest * 100.0 / RUN, floor * 100.0 / RUN);
	if (got.hostile > most + RUN / 50)
		test_fail("%s, %s, %s: the hostile one had %.1f %%, due are %.1f", pl->name, s->name,
			  honests[h].name, got.hostile * 100.0 / RUN, most * 100.0 / RUN);
}

TEST(nobody_gains_by_what_it_says)
{
	unsigned int p, h, s;

	for (p = 0; p < ARRAY_SIZE(places); p++)
		for (s = 0; s < ARRAY_SIZE(strategies); s++)
			for (h = 0; h < ARRAY_SIZE(honests); h++)
				compare(&places[p], h, &strategies[s]);
}

TEST_MAIN()
