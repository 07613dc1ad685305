// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Seats: with several holders at a time, how many workers each may have.
 *
 * A device has so many threads, registers, bytes of local memory and places
 * for blocks; a worker of a client needs so many of each (its profile). Three
 * ways to deal them out:
 *
 *	equal	 each of K holders gets as many workers as fit into 1/K of every
 *		 resource; then what is left is filled up in turns, as long as
 *		 anything fits. This is the allocation of accelOS (Margiolas and
 *		 O'Boyle, 'Portable and Transparent Software Managed Scheduling
 *		 on Accelerators for Fair Resource Sharing', CGO 2016).
 *	weighted the same with parts by weight, all the way up the share tree.
 *	longest	 from one worker each, the next one always goes to the holder
 *		 whose remaining work would take longest, as far as its profile
 *		 says that it helps. This is the greedy allocation of 'Adaptive
 *		 Simultaneous Multi-tenancy for GPUs' (Bashizade, Li and Lebeck).
 *
 * Example, equal, 1000 threads: A's workers have 128 threads, B's 300. Each
 * has a part of 500: A gets 3 workers (384), B gets 1 (300). Of the 316 left A
 * takes 128, then B's 300 no longer fit, A takes another 128: 5 and 1.
 *
 * A profile comes from the client, and it may lie: it is held against the
 * client's own part only, so all that a lie changes is how many workers the
 * liar is told to have. Every holder has at least one worker. Holders without
 * a profile are told 0, "not dealt out", and count with their part.
 *
 * KNOWN WEAKNESS: resources are summed over all units; that a block must fit
 * into one unit isn't looked at, so a few of the workers may have to wait.
 */
#include "internal.h"

enum { THREADS, REGS, LOCAL_MEM, BLOCKS, NR_RESOURCES };

struct pool {
	u64 total[NR_RESOURCES];
	u64 left[NR_RESOURCES];
};

static bool dealt_to(const struct gs_client *c)
{
	return c->profile && c->profile->blocks;
}

static u64 need(const struct gs_client *c, unsigned int r)
{
	const struct gs_profile *p = c->profile;

	switch (r) {
	case THREADS:
		return p->threads;
	case REGS:
		return p->regs;
	case LOCAL_MEM:
		return p->local_mem;
	}
	return 1;
}

static void pool_init(struct pool *pool, const struct gs_device_conf *conf)
{
	unsigned int r;

	pool->total[THREADS] = (u64)conf->units * conf->threads;
	pool->total[REGS] = (u64)conf->units * conf->regs;
	pool->total[LOCAL_MEM] = (u64)conf->units * conf->local_mem;
	pool->total[BLOCKS] = (u64)conf->units * conf->blocks;
	for (r = 0; r < NR_RESOURCES; r++)
		pool->left[r] = pool->total[r];
}

/* How many more workers of @c fit into @room, which has 0 for "not known"? */
static u64 fit(const struct gs_client *c, const struct pool *pool, const u64 *room)
{
	u64 n = c->profile->blocks - min_t(u64, c->profile->blocks, c->workers);
	unsigned int r;

	for (r = 0; r < NR_RESOURCES; r++)
		if (pool->total[r] && need(c, r))
			n = min(n, div64_u64(room[r], need(c, r)));
	return min_t(u64, n, GS_WORKERS_MAX - min_t(u32, c->workers, GS_WORKERS_MAX));
}

static void give(struct gs_client *c, struct pool *pool, u64 n)
{
	unsigned int r;

	c->workers += n;
	for (r = 0; r < NR_RESOURCES; r++)
		pool->left[r] -= min(pool->left[r], n * need(c, r));
}

/* The client's part by weight, at each level among all who run or wait; of 2^40. */
static u64 weight_part(const struct gs_client *c)
{
	const struct gs_entity *e = &c->entity;
	u64 part = 1ull << 40;

	for (; e->up; e = &e->up->entity) {
		const struct gs_queue *q = gs_queue_of(e);

		if (q->weight > e->weight)
			part = mul_u64_u64_div_u64(part, e->weight, q->weight);
	}
	return max_t(u64, part, 1);
}

static u64 part_of(const struct gs_client *c)
{
	return c->dev->conf.seat_way == GS_SEATS_WEIGHTED ? weight_part(c) : 1;
}

/* To each its part of every resource, and a worker at least. */
static void deal_parts(struct gs_device *dev, struct pool *pool)
{
	u64 sum = 0, room[NR_RESOURCES];
	struct gs_client *c;
	unsigned int r;

	list_for_each_entry(c, &dev->holders, of_device)
		sum += part_of(c);
	list_for_each_entry(c, &dev->holders, of_device) {
		for (r = 0; r < NR_RESOURCES; r++)
			room[r] = mul_u64_u64_div_u64(pool->total[r], part_of(c), sum);
		if (dealt_to(c))
			give(c, pool, max_t(u64, fit(c, pool, room), 1));
		else
			for (r = 0; r < NR_RESOURCES; r++)
				pool->left[r] -= min(pool->left[r], room[r]);
	}
}

/* How many turns can all who still fit take together? */
static u64 whole_turns(struct gs_device *dev, const struct pool *pool)
{
	u64 turns = GS_WORKERS_MAX, sum;
	struct gs_client *c;
	unsigned int r;

	for (r = 0; r < NR_RESOURCES; r++) {
		sum = 0;
		list_for_each_entry(c, &dev->holders, of_device)
			if (!c->sated)
				sum += need(c, r);
		if (pool->total[r] && sum)
			turns = min(turns, div64_u64(pool->left[r], sum));
	}
	list_for_each_entry(c, &dev->holders, of_device)
		if (!c->sated)
			turns = min(turns, fit(c, pool, pool->left));
	return turns;
}

/* What is left goes out in turns, a worker a turn, as long as anything fits. */
static void deal_rest(struct gs_device *dev, struct pool *pool)
{
	struct gs_client *c;
	bool any = true;
	u64 turns;

	list_for_each_entry(c, &dev->holders, of_device)
		c->sated = !dealt_to(c);
	while (any) {
		any = false;
		turns = whole_turns(dev, pool);
		list_for_each_entry(c, &dev->holders, of_device) {
			if (c->sated)
				continue;
			if (turns)
				give(c, pool, turns);
			else if (fit(c, pool, pool->left))
				give(c, pool, 1);
			else
				c->sated = 1;
			any = true;
		}
	}
}

/* Blocks per second with @n workers: the profile's points, straight between. */
static u64 rate(const struct gs_profile *p, u64 n)
{
	unsigned int points = min_t(unsigned int, p->points, GS_PROFILE_POINTS), i = 0;
	u64 a, b;

	if (!points)
		return n;
	while (i + 1 < points && 1ull << (i + 1) <= n)
		i++;
	if (i + 1 == points)
		return p->rate[i];
	a = p->rate[i];
	b = max(a, p->rate[i + 1]);
	return a + div64_u64(min_t(u64, b - a, U32_MAX) * (n - (1ull << i)), 1ull << i);
}

static u64 remaining(const struct gs_client *c, u64 workers)
{
	u64 r = rate(c->profile, workers);

	return r ? mul_u64_u64_div_u64(min_t(u64, c->profile->blocks, U32_MAX), 1000000000, r) :
		   GS_NEVER;
}

/* Who takes longest and could be helped? */
static struct gs_client *longest(struct gs_device *dev)
{
	struct gs_client *c, *best = NULL;

	list_for_each_entry(c, &dev->holders, of_device)
		if (!c->sated && (!best || remaining(c, c->workers) >
				  remaining(best, best->workers)))
			best = c;
	return best;
}

static void deal_longest(struct gs_device *dev, struct pool *pool)
{
	/* Steps of one worker would take too long where there are thousands. */
	u64 step = max_t(u64, pool->total[BLOCKS] / 256, 1), n;
	struct gs_client *c;

	list_for_each_entry(c, &dev->holders, of_device) {
		c->sated = !dealt_to(c);
		if (!c->sated)
			give(c, pool, 1);
	}
	while ((c = longest(dev))) {
		n = min(step, fit(c, pool, pool->left));
		if (n && remaining(c, c->workers + n) < remaining(c, c->workers))
			give(c, pool, n);
		else
			c->sated = 1;
	}
}

/* Deal the workers out to those who hold now. */
void gs_seats_deal(struct gs_device *dev)
{
	struct gs_client *c;
	struct pool pool;
	bool any = false;

	dev->dealt = 1;
	if (!dev->conf.units)
		return;
	list_for_each_entry(c, &dev->holders, of_device) {
		c->was_workers = c->workers;
		c->workers = 0;
		any |= dealt_to(c);
	}
	if (any) {
		pool_init(&pool, &dev->conf);
		if (dev->conf.seat_way == GS_SEATS_LONGEST) {
			deal_longest(dev, &pool);
		} else {
			deal_parts(dev, &pool);
			deal_rest(dev, &pool);
		}
	}
	list_for_each_entry(c, &dev->holders, of_device)
		if (c->workers != c->was_workers)
			gs_dirty(c);
}

int gs_profile_set(struct gs_client *c, const struct gs_profile *profile, u64 now)
{
	if (c->state == GS_CLIENT_GONE)
		return -ENODEV;
	gs_enter(c->arb, now);
	c->profile = profile;
	if (c->state == GS_CLIENT_RUNNING) {
		gs_seats_deal(c->dev);
		gs_leave(c->arb);
	}
	return 0;
}
