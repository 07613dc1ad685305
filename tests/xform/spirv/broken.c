// SPDX-License-Identifier: MIT
/*
 * Broken modules: real ones with random damage to their words. Nothing may crash, hang,
 * use more memory than allowed, or come out as what doesn't go in again. GS_SEED and
 * GS_ROUNDS choose others.
 */
#include "harness.h"
#include "hold.h"

#define MOST	(64 * 1024)

static uint64_t state = 20261122;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 16) % n;
}

static size_t damage(uint32_t *w, size_t n)
{
	uint32_t at = draw(n), to = draw(n), len = draw(draw(4) ? 4 : 100) + 1;

	switch (draw(7)) {
	case 0:
		w[at] = draw(2) ? draw(256) : (uint32_t)state;
		break;
	case 1:
		w[at] ^= 1u << draw(32);
		break;
	case 2:		/* another operand */
		w[at] = w[to];
		break;
	case 3:
		w[at] += draw(2) ? 1 : -1;
		break;
	case 4:		/* another length or instruction */
		w[at] = (w[at] & 0xffff) | (draw(8) << 16);
		break;
	case 5:
		len = len < n - at ? len : n - at;
		memmove(w + at, w + at + len, (n - at - len) * 4);
		n -= len;
		break;
	default:
		len = len < n - at ? len : n - at;
		if (n + len < MOST && to <= at) {
			memmove(w + to + len, w + to, (n - to) * 4);
			memmove(w + to, w + at + len, len * 4);
			n += len;
		}
	}
	return n ? n : 1;
}

TEST_LIMIT(damage_does_no_harm, 600)
{
	static const char *const modules[] = { "plain", "optimised", "narrow" };
	const char *seed = getenv("GS_SEED"), *rounds = getenv("GS_ROUNDS"), *bad;
	uint32_t n_rounds = rounds ? atoi(rounds) : getenv("FULL") ? 40000 : 2500, taken = 0;
	static uint32_t from[3][MOST], w[MOST];
	size_t len[3], n;
	char path[200];

	if (seed)
		state = strtoull(seed, NULL, 0) | 1;
	printf("# seed %llu\n", (unsigned long long)state);
	for (int i = 0; i < 3; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "tests/xform/spirv/%s.spv", modules[i]);
		f = fopen(path, "r");
		ASSERT_TRUE(f);
		len[i] = fread(from[i], 4, MOST, f);
		fclose(f);
		ASSERT_TRUE(len[i]);
		ASSERT_EQ(NULL, spv_holds(from[i], len[i] * 4));
	}
	for (uint32_t i = 0; i < n_rounds; i++) {
		uint32_t m = draw(3), *exact;
		struct gsx_spv_result r;

		n = len[m];
		memcpy(w, from[m], n * 4);
		for (uint32_t k = draw(4) + 1; k; k--)
			n = damage(w, n);
		exact = malloc(n * 4);	/* so that a sanitizer sees what goes too far */
		memcpy(exact, w, n * 4);
		bad = spv_holds(exact, n * 4);
		taken += !gsx_spv_transform(exact, n * 4, NULL, &r);
		gsx_spv_result_free(&r);
		free(exact);
		if (bad) {
			test_fail("round %u: %s", i, bad);
			return;
		}
	}
	printf("# %u modules, of which %u were taken\n", n_rounds, taken);
	EXPECT_GT(taken, 0);
}

TEST_MAIN()
