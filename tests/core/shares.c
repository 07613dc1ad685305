// SPDX-License-Identifier: MIT
/*
 * Long runs in virtual time: each always-busy tenant gets its share of every
 * 10 s, with an error of at most 0.5 % of the device's time.
 */
#include "bed.h"

#define WINDOW (10 * SEC)
#define ERROR (WINDOW / 200)
#define MOST 64

static struct bed b;

/*
 * How weights are spread: between the lightest and the heaviest tenant of the
 * whole tree they are 1:1 to 1:100, at one level or over all of them.
 */
enum spread { EQUAL, RAMP, HUNDRED, EACH_LEVEL, NR_SPREADS };

/* Weights of n siblings, @ratio to 1 or less. */
static u32 weight_of(enum spread spread, unsigned int i, unsigned int n, u32 ratio)
{
	switch (spread) {
	case RAMP:
		return n > 1 ? 100 + i * 100 * (ratio - 1) / (n - 1) : 100;
	case HUNDRED:
	case EACH_LEVEL:
		return i % 2 ? 100 * ratio : 100;
	default:
		return 100;
	}
}

struct run {
	unsigned int n;
	enum spread spread;
	u64 slice;
	unsigned int depth;	/* levels of groups above each tenant */
	unsigned int at;	/* the level at which weights differ, from the leaves up */
	u64 seconds;
};

static struct tenant *tenants[MOST];
static double due[MOST];
static unsigned int made;

/* Split @n tenants over the children of @g, level by level. */
static void build(const struct run *r, struct gs_group *g, struct gs_device *dev, unsigned int n,
		  unsigned int depth, double part)
{
	enum spread spread = r->spread == EACH_LEVEL || depth == r->at ? r->spread : EQUAL;
	u32 ratio = r->spread == EACH_LEVEL && r->depth > 1 ? 3 : 100;
	unsigned int fan = depth > 1 ? (n >= 27 ? 3 : 2) : n, i, give;
	double sum = 0;

	fan = min(fan, n);
	for (i = 0; i < fan; i++)
		sum += weight_of(spread, i, fan, ratio);
	for (i = 0; i < fan; i++) {
		u32 w = weight_of(spread, i, fan, ratio);
		struct gs_group *child = bed_group(&b, g, w);

		give = n / fan + (i < n % fan);
		if (depth > 1) {
			build(r, child, dev, give, depth - 1, part * w / sum);
			continue;
		}
		tenants[made] = bed_tenant(&b, child, dev, r->slice / 10);
		due[made++] = part * w / sum;
	}
}

static double worst_error(const struct run *r)
{
	u64 last[MOST] = { 0 }, end;
	struct gs_device_conf conf;
	struct gs_device *dev;
	double worst = 0;
	unsigned int i;

	bed_init(&b);
	b.arb.events = 0;
	gs_device_conf_init(&conf);
	conf.slice = r->slice;
	conf.grace = SEC;
	dev = bed_device(&b, &conf);
	made = 0;
	build(r, NULL, dev, r->n, r->depth, 1.0);
	for (i = 0; i < made; i++)
		bed_start(tenants[i]);
	for (end = b.now + r->seconds * SEC; b.now < end; ) {
		bed_run(&b, b.now + WINDOW);
		for (i = 0; i < made; i++) {
			u64 used = bed_usage(tenants[i]);
			double err = (double)(used - last[i]) - due[i] * WINDOW;

			last[i] = used;
			if (err < 0)
				err = -err;
			worst = err > worst ? err : worst;
		}
	}
	EXPECT_EQ(dev->root.stat.usage, r->seconds * SEC);
	bed_end(&b);
	return worst;
}

static void check(const struct run *r, double *most)
{
	double err = worst_error(r);

	*most = err > *most ? err : *most;
	if (err > ERROR)
		test_fail("%u tenants, spread %d at level %u of %u, slices of %d ms: %.1f ms",
			  r->n, r->spread, r->at, r->depth, (int)(r->slice / MS), err / MS);
}

static void check_all(unsigned int depth, u64 seconds)
{
	static const unsigned int ns[] = { 2, 3, 5, 16, 64 };
	static const u64 slices[] = { MS, 5 * MS, 20 * MS };
	double most = 0;
	unsigned int i, s, w, at;

	for (i = 0; i < 5; i++)
		for (w = EQUAL; w < NR_SPREADS; w++)
			for (s = 0; s < 3; s++)
				for (at = 1; at <= (w == RAMP || w == HUNDRED ? depth : 1); at++) {
					struct run r = { ns[i], w, slices[s], depth, at, seconds };

					check(&r, &most);
				}
	printf("# worst error at depth %u: %.3f %% of a 10 s window\n", depth, most / WINDOW * 100);
}

TEST_LIMIT(flat, 120)
{
	check_all(1, 600);
}

TEST_LIMIT(four_levels, 120)
{
	check_all(4, 200);
}

/* Pieces that take many slices, of lengths that vary: who overshoots makes up for it later. */
TEST(pieces_of_many_slices)
{
	static const u64 blocks[] = { 5 * MS, 10 * MS, 15 * MS, 20 * MS, 40 * MS };
	static const u32 weights[][3] = {
		{ 100, 200, 400 }, { 100, 900, 100 }, { 300, 100, 1000 },
	};
	struct tenant *t[3];
	unsigned int i, k, way;

	for (way = 0; way < 2 * ARRAY_SIZE(weights); way++) {
		const u32 *weight = weights[way / 2];
		u32 all = weight[0] + weight[1] + weight[2];

		for (i = 0; i < ARRAY_SIZE(blocks); i++) {
			struct gs_device *dev;

			bed_init(&b);
			dev = bed_device(&b, NULL);
			for (k = 0; k < 3; k++) {
				t[k] = bed_tenant(&b, bed_group(&b, NULL, weight[k]), dev,
						  blocks[i]);
				t[k]->jitter = way & 1;
				bed_start(t[k]);
			}
			bed_run(&b, b.now + 20 * SEC);
			for (k = 0; k < 3; k++) {
				s64 part = (s64)(bed_usage(t[k]) / (20 * MS));	/* of 1000 */
				s64 due = 1000 * weight[k] / all;

				EXPECT_LE(due - 6, part);
				EXPECT_LE(part, due + 6);
			}
			bed_end(&b);
		}
	}
}

TEST_MAIN()
