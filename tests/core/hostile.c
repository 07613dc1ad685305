// SPDX-License-Identifier: MIT
/*
 * Tenants that try to get more than their share, beside one that doesn't: nobody
 * gains more than his due and 2 % of the device.
 *
 * What is due to them: what those have who stand in their place, and behave, beside the
 * same honest tenant; or what they would have if the device were shared without any
 * grain, as who behaves gives back more of an honest one's pauses than it must.
 */
#include "bed.h"

#define RUN (20 * SEC)
#define ALLOWED (RUN / 50)
#define MOST 24

enum { HONEST_KEY = 1, HOSTILE_KEY = 2, OTHER_KEY = 3 };

static struct bed b;
static struct gs_device *dev;

/*
 * Where they stand.
 * @make: the groups in which the honest and the hostile tenants are, by key
 * @share: the honest one's part by weights, per mille, beside one and beside two
 * @rest: the part of those
 * @busy: only beside one who is always busy. Whoever pauses where its min is more than its part
 *	by weight lets late ones in, who owe nothing by weight.
 */
struct place {
	const char *name;
	void (*make)(struct gs_group *of[4]);
	unsigned int share[2], rest[2];
	bool busy;
};

static void in_the_root(struct gs_group *of[4])
{
	of[HONEST_KEY] = of[HOSTILE_KEY] = of[OTHER_KEY] = &b.arb.root;
}

static void in_one_group(struct gs_group *of[4])
{
	of[HONEST_KEY] = of[HOSTILE_KEY] = of[OTHER_KEY] = bed_group(&b, NULL, 100);
}

static void with_shares(struct gs_group *of[4])
{
	of[HONEST_KEY] = bed_group(&b, NULL, 300);
	of[HOSTILE_KEY] = bed_group(&b, NULL, 100);
	of[OTHER_KEY] = bed_group(&b, NULL, 100);
}

static void with_a_max(struct gs_group *of[4])
{
	of[HONEST_KEY] = bed_group(&b, NULL, 100);
	of[HOSTILE_KEY] = of[OTHER_KEY] = bed_group(&b, NULL, 100);
	bed_set(&b, of[HOSTILE_KEY], SHARE(.quota = 20 * MS, .period = 100 * MS), GS_SHARE_MAX);
}

static void beside_a_min(struct gs_group *of[4])
{
	of[HONEST_KEY] = bed_group(&b, NULL, 100);
	bed_set(&b, of[HONEST_KEY], SHARE(.min = 700), GS_SHARE_MIN);
	of[HOSTILE_KEY] = bed_group(&b, NULL, 100);
	of[OTHER_KEY] = bed_group(&b, NULL, 100);
}

/* In one group below another, and a third who is always there beside them. */
static void nested(struct gs_group *of[4])
{
	struct gs_group *top = bed_group(&b, NULL, 200), *in = bed_group(&b, top, 100);

	of[HONEST_KEY] = of[HOSTILE_KEY] = of[OTHER_KEY] = in;
	bed_start(bed_tenant(&b, bed_tenants(&b, NULL, 9), dev, 200 * US));
	bed_start(bed_tenant(&b, bed_tenants(&b, top, 8), dev, 200 * US));
}

static const struct place places[] = {
	{ "in the root", in_the_root, { 500, 333 }, { 500, 667 }, false },
	{ "in one group", in_one_group, { 500, 333 }, { 500, 667 }, false },
	{ "with shares", with_shares, { 750, 600 }, { 250, 400 }, false },
	{ "with a max", with_a_max, { 800, 800 }, { 200, 200 }, false },
	{ "beside a min", beside_a_min, { 700, 700 }, { 300, 300 }, true },
	{ "nested", nested, { 167, 111 }, { 167, 222 }, false },
};

/* How the honest one works: pieces of 0.2 ms, and what it does between some of them. */
static const struct honest {
	const char *name;
	u64 burst, pause;
} honests[] = {
	{ "always busy", 0, 0 },
	{ "20 us between slices", 2 * MS, 20 * US },
	{ "0.3 ms between slices", 2 * MS, 300 * US },
	{ "1 ms of each 2 ms", 1 * MS, 1 * MS },
	{ "20 ms of each 25 ms", 20 * MS, 5 * MS },
};

static struct tenant *tenant_of(struct gs_group *of[4], unsigned int key, u64 block)
{
	return bed_tenant(&b, bed_tenants(&b, of[key], key), dev, block);
}

/*
 * A strategy: what the hostile ones are. @step is called each millisecond.
 * @others: how many honest ones they are to be compared with.
 */
struct strategy {
	const char *name;
	void (*start)(struct gs_group *of[4]);
	void (*step)(struct gs_group *of[4], u64 ms);
	unsigned int others;
	struct gs_share share;
	u64 block, burst, pause, want;
	bool lies, reborn, linger;
	unsigned int connections;
};

static struct tenant *hostile[MOST];
static unsigned int nr_hostile;

static void start_one(const struct strategy *s, struct gs_group *g)
{
	struct tenant *t = bed_tenant(&b, g, dev, s->block);

	t->burst = s->burst;
	t->pause = s->pause;
	t->want = s->want;
	t->lies = s->lies;
	t->reborn = s->reborn;
	t->linger = s->linger;
	bed_start(t);
	hostile[nr_hostile++] = t;
}

/* Twenty groups of its own, as heavy and as hasty as it may make them. */
static void many_groups(struct gs_group *of[4])
{
	struct gs_group *own = bed_tenants(&b, of[HOSTILE_KEY], HOSTILE_KEY), *g;
	struct strategy late = { .block = 30 * MS };
	unsigned int i;

	for (i = 0; i < 20; i++) {
		g = bed_group(&b, own, 10000);
		bed_set(&b, g, SHARE(.class = GS_CLASS_LATENCY), GS_SHARE_CLASS);
		EXPECT_EQ(gs_group_set(g, NULL, &SHARE(.min = 900), GS_SHARE_MIN, b.now),
			  -ENOSPC);
		start_one(&late, g);
	}
}

/* Two users who play into each other's hands. */
static void a_pair(struct gs_group *of[4])
{
	struct strategy late = { .block = 92 * MS };

	start_one(&late, bed_tenants(&b, of[HOSTILE_KEY], HOSTILE_KEY));
	start_one(&late, bed_tenants(&b, of[OTHER_KEY], OTHER_KEY));
}

static struct gs_group *churned;

static void churn_start(struct gs_group *of[4])
{
	struct strategy late = { .block = 92 * MS };

	churned = NULL;
	start_one(&late, bed_tenants(&b, of[HOSTILE_KEY], HOSTILE_KEY));
	start_one(&late, bed_tenants(&b, of[HOSTILE_KEY], HOSTILE_KEY));
}

/* A group comes, is moved into, is set in all ways, and goes with what is in it. */
static void churn_step(struct gs_group *of[4], u64 ms)
{
	struct gs_group *own = bed_tenants(&b, of[HOSTILE_KEY], HOSTILE_KEY);
	static const u32 classes[] = { GS_CLASS_IDLE, GS_CLASS_LATENCY, GS_CLASS_BATCH };

	switch (ms % 8) {
	case 0:
		if (churned)
			bed_drop_group(&b, churned);
		churned = bed_group(&b, own, 10000);
		bed_nodes(&b, churned, dev);
		break;
	case 2:
		EXPECT_EQ(gs_client_move(&hostile[0]->c, churned, b.now), 0);
		break;
	case 3:
		bed_set(&b, churned, SHARE(.quota = MS, .period = 100 * MS), GS_SHARE_MAX);
		break;
	case 4:
		bed_set(&b, churned, SHARE(.quota = GS_UNLIMITED, .period = 100 * MS),
			GS_SHARE_MAX);
		break;
	case 5:
	case 6:
	case 7:
		bed_set(&b, churned, SHARE(.class = classes[ms % 3]), GS_SHARE_CLASS);
		break;
	}
}

static const struct strategy strategies[] = {
	{ .name = "never yields", .block = 0 },
	{ .name = "90 ms late", .block = 92 * MS },
	{ .name = "7 ms late", .block = 9 * MS },
	{ .name = "one slice late", .block = 4 * MS },
	{ .name = "half a slice late", .block = 3 * MS },
	{ .name = "0.6 ms late", .block = 2600 * US },
	{ .name = "0.4 ms late", .block = 2400 * US },
	{ .name = "late, then a nap", .block = 92 * MS, .burst = 92 * MS, .pause = 3 * MS },
	{ .name = "late, then a long nap", .block = 92 * MS, .burst = 92 * MS,
	  .pause = 60 * MS },
	{ .name = "naps", .block = 100 * US, .burst = 500 * US, .pause = 100 * US },
	{ .name = "late, and born anew", .block = 92 * MS, .reborn = true },
	{ .name = "a little late, and born anew", .block = 5 * MS, .reborn = true },
	{ .name = "20 connections", .block = 200 * US, .connections = 20 },
	{ .name = "20 connections, all late", .block = 30 * MS, .connections = 20 },
	{ .name = "20 connections born anew", .block = 30 * MS, .connections = 20,
	  .reborn = true },
	{ .name = "20 groups", .start = many_groups },
	{ .name = "wishes for little", .block = 3 * MS, .want = 10 * US },
	{ .name = "says it is idle", .block = 5 * MS, .lies = true },
	{ .name = "says it is idle, and naps", .block = 5 * MS, .lies = true, .burst = 5 * MS,
	  .pause = 10 * US, .linger = true },
	{ .name = "a pair", .start = a_pair, .others = 2 },
	{ .name = "churn", .start = churn_start, .step = churn_step },
};

struct result {
	u64 honest, hostile;
};

static u64 used_by_all(void)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < nr_hostile; i++)
		sum += bed_usage(hostile[i]);
	return sum;
}

/* A run beside the hostile ones, or, to compare, beside as many who behave. */
static struct result run(const struct place *p, const struct honest *h, const struct strategy *s,
			 bool behave)
{
	static const struct strategy good = { .block = 200 * US };
	struct gs_group *of[4];
	struct result r;
	struct tenant *t;
	unsigned int i;
	u64 ms;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	nr_hostile = 0;
	p->make(of);
	t = tenant_of(of, HONEST_KEY, 200 * US);
	t->burst = h->burst;
	t->pause = h->pause;
	bed_start(t);
	if (behave)
		for (i = 0; i < max(s->others, 1u); i++)
			start_one(&good, bed_tenants(&b, of[HOSTILE_KEY + i], HOSTILE_KEY + i));
	else if (s->start)
		s->start(of);
	else
		for (i = 0; i < max(s->connections, 1u); i++)
			start_one(s, bed_tenants(&b, of[HOSTILE_KEY], HOSTILE_KEY));
	bed_run(&b, b.now + SEC);
	r = (struct result){ bed_usage(t), used_by_all() };
	for (ms = 0; ms < RUN / MS; ms++) {
		if (!behave && s->step)
			s->step(of, ms);
		bed_run(&b, b.now + MS);
	}
	r.honest = bed_usage(t) - r.honest;
	r.hostile = used_by_all() - r.hostile;
	bed_end(&b);
	return r;
}

static double percent(u64 ns)
{
	return ns * 100.0 / RUN;
}

/* Without any grain, the honest one's burst takes longer, and its pauses are theirs. */
static u64 without_grain(const struct place *p, const struct honest *h, bool pair)
{
	u64 cycle = h->burst * 1000 / p->share[pair] + h->pause;
	u64 part = p->rest[pair];

	if (h->pause)
		part += p->share[pair] * h->pause / cycle;
	return RUN / 1000 * part;
}

static void compare(const struct place *p, const struct honest *h, const struct strategy *s)
{
	struct result due = run(p, h, s, true), got = run(p, h, s, false);
	u64 floor = due.honest, most;
	bool pair = s->others > 1;

	/*
	 * Whose pauses others can't use without being late has its share of the time all the
	 * same, pauses included, but no more than that.
	 */
	if (h->pause)
		floor = min(floor, RUN / 1000 * p->share[pair] * h->burst /
			    (h->burst + h->pause));
	if (got.honest + ALLOWED < floor)
		test_fail("%s, %s, %s: the honest one has %.1f %%, due are %.1f %%", p->name,
			  s->name, h->name, percent(got.honest), percent(floor));
	/* Who never yields is charged for what runs beside others. */
	most = max(due.hostile, without_grain(p, h, pair));
	if (got.hostile > most + ALLOWED && s->block)
		test_fail("%s, %s, %s: the hostile one has %.1f %%, due are %.1f %%", p->name,
			  s->name, h->name, percent(got.hostile), percent(most));
}

TEST(nobody_gains_by_a_strategy)
{
	unsigned int p, h, s;

	for (p = 0; p < ARRAY_SIZE(places); p++)
		for (s = 0; s < ARRAY_SIZE(strategies); s++)
			for (h = 0; h < (places[p].busy ? 1 : ARRAY_SIZE(honests)); h++)
				compare(&places[p], &honests[h], &strategies[s]);
}

/*
 * Of one tenant all programs are alike to the arbiter; but what one owes that ended, the
 * next one pays, and who just goes on isn't the worse for it.
 */
TEST(a_tenants_debts_outlive_its_programs)
{
	struct gs_group *own;
	struct tenant *t, *u;
	u64 used;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	own = bed_tenants(&b, NULL, HONEST_KEY);
	t = bed_tenant(&b, own, dev, 200 * US);
	u = bed_tenant(&b, own, dev, 92 * MS);
	u->reborn = true;
	bed_start(t);
	bed_start(u);
	bed_run(&b, b.now + RUN);
	EXPECT_LE(bed_usage(t) / MS, RUN / MS / 2 + 200);
	EXPECT_GE(bed_usage(t) / MS, RUN / MS / 2 - 200);
	/* Several debts at a time, more than are kept apart: none is forgotten. */
	while (bed_usage(u) < bed_usage(t) + 90 * MS)
		bed_run(&b, b.now + MS);
	bed_drop(u);
	used = bed_usage(t);
	u = bed_tenant(&b, own, dev, 200 * US);
	bed_start(u);
	bed_run(&b, b.now + 80 * MS);
	EXPECT_EQ(bed_usage(u), 0);
	EXPECT_EQ(bed_usage(t) - used, 80 * MS);
	bed_end(&b);
}

static u64 debt_of(struct gs_entity *e)
{
	s64 ahead;

	gs_sync(dev, b.now);
	ahead = e->link.val - gs_queue_time(&e->up->queue[0]);
	return ahead > 0 ? ahead * e->weight / GS_WEIGHT_DEFAULT : 0;
}

/* More debts than are kept apart are added up; groups leave theirs as programs do. */
TEST(no_debt_is_lost_among_many)
{
	struct gs_device_conf conf;
	struct gs_group *own, *low;
	struct tenant *t, *u[12], *next[4];
	struct gs_node *node;
	u64 sum = 0, left = 0;
	unsigned int i;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.grace = 5 * MS;
	dev = bed_device(&b, &conf);
	own = bed_tenants(&b, NULL, HONEST_KEY);
	low = bed_group(&b, own, 300);
	t = bed_tenant(&b, own, dev, 200 * US);
	bed_start(t);
	for (i = 0; i < ARRAY_SIZE(u); i++) {
		u[i] = bed_tenant(&b, i ? own : low, dev, 0);
		bed_start(u[i]);
	}
	bed_run(&b, b.now + SEC);
	for (i = 0; i < ARRAY_SIZE(u); i++) {
		EXPECT_EQ(u[i]->c.state, GS_CLIENT_OVER);
		gs_yield(&u[i]->c, false, 0, b.now);
		sum += debt_of(i ? &u[i]->c.entity : &gs_node_find(low, dev)->entity);
	}
	for (i = 0; i < ARRAY_SIZE(u); i++)
		bed_drop(u[i]);
	bed_drop_group(&b, low);
	node = gs_node_find(own, dev);
	for (i = 0; i < node->debts.n; i++)
		left += node->debts.val[i] - gs_queue_time(&node->queue[0]);
	EXPECT_EQ(left / 4096 / US, sum / 4096 / US);
	/* Who comes next has the largest, the others what is left. */
	for (i = 0; i < ARRAY_SIZE(next); i++) {
		next[i] = bed_tenant(&b, own, dev, 200 * US);
		bed_start(next[i]);
		EXPECT_GE(debt_of(&next[0]->c.entity), debt_of(&next[i]->c.entity));
	}
	EXPECT_EQ(node->debts.n, 0);
	bed_run(&b, b.now + left * 100 / 4096 / 12);
	EXPECT_EQ(bed_usage(next[0]), 0);
	bed_end(&b);
}

/* A tenant's group owes until it waited for it; a nap or an absence isn't waiting. */
TEST(a_tenant_owes_until_others_had_their_part)
{
	struct gs_group *a, *c;
	struct tenant *t, *u;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	a = bed_tenants(&b, NULL, HONEST_KEY);
	c = bed_tenants(&b, NULL, HOSTILE_KEY);
	t = bed_tenant(&b, a, dev, 200 * US);
	u = bed_tenant(&b, c, dev, 92 * MS);
	EXPECT_FALSE(gs_group_owes(a, b.now));
	bed_start(t);
	bed_start(u);
	while (bed_usage(u) < 90 * MS)
		bed_run(&b, b.now + MS);
	bed_drop(u);
	EXPECT_TRUE(gs_group_owes(c, b.now));
	EXPECT_FALSE(gs_group_owes(a, b.now));
	bed_run(&b, b.now + 80 * MS);
	EXPECT_TRUE(gs_group_owes(c, b.now));
	bed_run(&b, b.now + 20 * MS);
	EXPECT_FALSE(gs_group_owes(c, b.now));
	bed_end(&b);
}

/* A tenant has one place below a group; what is below that is its own as well. */
TEST(tenants_have_one_place)
{
	struct gs_group *g, *own, *low, extra;

	bed_init(&b);
	dev = bed_device(&b, NULL);
	g = bed_group(&b, NULL, 100);
	EXPECT_EQ(gs_tenant_find(g, HONEST_KEY), NULL);
	own = bed_tenants(&b, g, HONEST_KEY);
	EXPECT_EQ(gs_tenant_find(g, HONEST_KEY), own);
	EXPECT_EQ(gs_tenant_find(g, OTHER_KEY), NULL);
	low = bed_group(&b, own, 100);
	EXPECT_EQ(low->tenant, HONEST_KEY);
	EXPECT_EQ(gs_tenant_find(low, HONEST_KEY), low);
	EXPECT_EQ(gs_tenant_add(&b.arb, &extra, 7, g, HONEST_KEY, b.now), -EEXIST);
	EXPECT_EQ(gs_tenant_add(&b.arb, &extra, 7, low, HONEST_KEY, b.now), -EEXIST);
	EXPECT_EQ(gs_tenant_add(&b.arb, &extra, 7, g, 0, b.now), -EINVAL);
	EXPECT_EQ(gs_tenant_add(&b.arb, &extra, 7, g, GS_TENANT_MAX + 1, b.now), -EINVAL);
	/* Elsewhere it is not its tenant's any more. */
	EXPECT_EQ(gs_group_move(low, g, b.now), 0);
	EXPECT_EQ(low->tenant, 0);
	EXPECT_EQ(gs_group_move(low, bed_tenants(&b, NULL, OTHER_KEY), b.now), 0);
	EXPECT_EQ(low->tenant, OTHER_KEY);
	EXPECT_EQ(gs_group_move(own, low, b.now), 0);
	EXPECT_EQ(own->tenant, HONEST_KEY);
	EXPECT_EQ(gs_tenant_find(low, HONEST_KEY), own);
	bed_end(&b);
}

TEST_MAIN()
