// SPDX-License-Identifier: MIT
/*
 * Random PTX, cut in all ways, against itself whole. A failure names the seed; the
 * text for a seed is printed by `random-test SEED`.
 */
#include "harness.h"
#include "cut.h"
#include "generate.h"

#define SEED 7000u
#define BYTES (GENERATED_WORDS * 4)

static struct mem_block *out, *in;
static uint32_t kernels, possible[GSX_MODES], runs;

static const char *one(uint64_t seed, struct cut_module *m, const struct generated *g)
{
	static const char *(*const way[GSX_MODES])(struct cut_launch *) = { cut_slices, cut_guard,
		cut_workers };
	static uint8_t first[BYTES];
	static char say[800];
	const char *error;
	struct cut_launch l;
	int mode, k;

	cut_prepare(m, &l, "k");
	memcpy(l.grid, g->grid, sizeof(l.grid));
	memcpy(l.block, g->block, sizeof(l.block));
	l.dynamic = g->dynamic;
	memcpy(l.params, &out->addr, 8);
	memcpy(l.params + 8, &in->addr, 8);
	memcpy(l.params + 16, &seed, 4);
	memset(out->host, 0, BYTES);
	error = cut_whole(&l);
	if (error)
		return error;
	memcpy(first, out->host, BYTES);
	kernels++;
	for (mode = -1; mode < GSX_MODES; mode++) {
		if (mode >= 0 && !l.variant[mode])
			continue;
		possible[mode < 0 ? 0 : mode] += mode >= 0;
		for (k = 0; k < 2; k++) {
			memset(out->host, 0, BYTES);
			error = mode < 0 ? cut_whole(&l) : way[mode](&l);
			runs++;
			if (!error && memcmp(first, out->host, BYTES))
				error = "memory differs";
			if (!error)
				continue;
			snprintf(say, sizeof(say), "%s: %s", mode < 0 ? "whole" :
				 gsx_mode_name((enum gsx_mode)mode), error);
			return say;
		}
	}
	return NULL;
}

static void many(uint64_t from, uint64_t to)
{
	struct cut_module m;
	struct generated g;
	const char *error;
	char why[600];
	uint64_t s;
	size_t i;

	dev.limit = 20000000;
	out = mem_alloc(0, BYTES, MEM_DEVICE, NULL);
	in = mem_alloc(0, BYTES, MEM_DEVICE, NULL);
	ASSERT_TRUE(out && in);
	for (i = 0; i < GENERATED_WORDS; i++)
		((uint32_t *)in->host)[i] = i * 2654435761u;
	for (s = from; s < to; s++) {
		generate(&g, s);
		dev.seed = s;
		if (cut_load(&m, g.text, g.len, "random", NULL, NULL, why, sizeof(why))) {
			test_fail("seed %llu: %s", (unsigned long long)s, why);
			free(g.text);
			continue;
		}
		error = one(s, &m, &g);
		if (error)
			test_fail("seed %llu: %s", (unsigned long long)s, error);
		cut_unload(&m);
		free(g.text);
	}
	printf("# seeds %llu to %llu: %u kernels; slices %u, guard %u, workers %u; %u runs\n",
	       (unsigned long long)from, (unsigned long long)to - 1, kernels, possible[0],
	       possible[1], possible[2], runs);
	EXPECT_EQ(to - from, kernels);
}

TEST_LIMIT(random_kernels, 800)
{
	many(SEED, SEED + (getenv("FULL") ? 10000 : 600));
}

int main(int argc, char **argv)
{
	struct generated g;

	if (argc == 2 && argv[1][0] >= '0' && argv[1][0] <= '9') {
		generate(&g, strtoull(argv[1], NULL, 0));
		fputs(g.text, stdout);
		return 0;
	}
	return test_main(argv);
}
