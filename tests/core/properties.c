// SPDX-License-Identifier: MIT
/*
 * The property fuzzer: random calls, and after each the world is checked.
 *
 * As a libFuzzer target (GS_LIBFUZZER) the bytes come from there. As a test it
 * makes its own: properties [SEED [OPERATIONS]], a million and more by default.
 * An episode of some thousand calls is one world; its seed is printed when it
 * fails, and `properties EPISODE_SEED 1` repeats just that one.
 */
#include "world.h"

#ifdef GS_LIBFUZZER

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct world w;

	world_init(&w, data, size);
	while (w.left) {
		world_step(&w);
		world_check(&w);
	}
	world_end(&w);
	return 0;
}

#else

#include <signal.h>
#include <unistd.h>

#define EPISODE_BYTES 12000

static u64 episode_seed;

static u64 next(u64 *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s * 2685821657736338717ull;
}

static void on_abort(int sig)
{
	(void)sig;
	printf("# the episode: properties %llu 1\nnot ok 1 - properties\n",
	       (unsigned long long)episode_seed);
	fflush(stdout);
	_exit(1);
}

/* Worlds differ in how busy they are with set-up and with running. */
static void episode(struct world *w, u64 seed)
{
	static unsigned char data[EPISODE_BYTES];
	unsigned int i, quiet = seed % 4;
	u64 s = seed | 1;

	for (i = 0; i < EPISODE_BYTES; i++)
		data[i] = next(&s) >> 33;
	world_init(w, data, EPISODE_BYTES);
	while (w->left) {
		/* In a quiet world, settings and lives change seldom. */
		if (quiet && *w->data % 32 < 9 && next(&s) % (8 * quiet))
			*(unsigned char *)w->data = 12 + next(&s) % 20;
		world_step(w);
		world_check(w);
	}
	world_end(w);
}

int main(int argc, char **argv)
{
	u64 seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261121;
	u64 ops = argc > 2 ? strtoull(argv[2], NULL, 0) : 1200000, done = 0;
	unsigned long besides = 0, grants = 0, overruns = 0, throttles = 0, denied = 0, worlds = 0;
	static struct world w;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n# seed %llu, %llu operations or more\n",
	       (unsigned long long)seed, (unsigned long long)ops);
	signal(SIGABRT, on_abort);
	for (episode_seed = seed; done < ops; episode_seed++) {
		episode(&w, episode_seed);
		done += w.ops;
		worlds++;
		grants += w.grants;
		besides += w.besides;
		overruns += w.overruns;
		throttles += w.throttles;
		denied += w.denied;
	}
	printf("# %llu operations in %lu worlds\n", (unsigned long long)done, worlds);
	printf("# %lu grants, %lu overruns, %lu throttled, %lu refused, %lu beside\n", grants,
	       overruns, throttles, denied, besides);
	if (!besides) {
		printf("not ok 1 - properties # nobody was beside a holder\n");
		return 1;
	}
	printf("ok 1 - properties\n");
	return 0;
}

#endif
