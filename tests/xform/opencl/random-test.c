// SPDX-License-Identifier: MIT
/*
 * Random kernels: whole, in slices, by workers, to the bit. A difference is told with
 * its seed; `random-test SEED` runs that one alone and shows the program.
 * FULL=1 runs thousands.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "run-cut.h"
#include "engine.h"
#include "generate.h"

#define FIRST_SEED 20261122u
#define CHUNK 10u	/* programs a test */

struct tally { uint32_t programs, taken_out, kernels, modes[GSX_MODES], runs, launches, stops; };

static struct tally *tally;	/* shared by the tests' processes */
static const struct engine *engine;
static uint64_t first_seed;
static unsigned int n_programs;
static bool full;

static void run(const struct cut_program *p, const struct spec_run *r, uint64_t seed)
{
	struct cut_job j;
	const char *error;
	int mode;

	error = cut_begin(&j, p, r);
	if (error)
		test_fail("seed %llu, %s: %s", (unsigned long long)seed, r->kernel, error);
	tally->kernels++;
	for (mode = 0; mode < GSX_MODES && !error; mode++) {
		if (!(j.k->modes & GSX_BIT(mode)))
			continue;
		tally->modes[mode]++;
		error = cut_again(&j, mode, false);
		if (!error && (full || engine->quick))
			error = cut_again(&j, mode, false);
		if (error)
			test_fail("seed %llu, %s, %s: %s", (unsigned long long)seed, r->kernel,
				  gsx_mode_name(mode), error);
	}
	tally->runs += j.runs;
	tally->launches += j.launches;
	tally->stops += j.stops;
	cut_end(&j);
}

static void original(const struct host *h, uint64_t seed)
{
	struct cut_program p;
	struct generated g;
	struct cut_job j;
	unsigned int k;

	cut_seed = seed;
	generate(seed, h->oclgrind, &g);
	if (!cut_open(&p, h, g.text, g.len, "", true, true, NULL, NULL))
		for (k = 0; k < GENERATE_KERNELS; k++)
			if (!cut_begin(&j, &p, &g.run[k]))
				cut_end(&j);
	_exit(0);
}

/*
 * Does the driver itself die of the program as it was written? PoCL 6.0 does of one in
 * a dozen, by an assertion in its own loops over work-items.
 */
static bool kills_the_driver(uint64_t seed)
{
	struct host h;
	int status;
	pid_t pid;

	if (engine->quick)
		return false;
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		if (!host_open(&h))
			original(&h, seed);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static void program(const struct host *h, uint64_t seed)
{
	struct cut_program p;
	struct generated g;
	const char *error;
	unsigned int k;

	cut_seed = seed;
	generate(seed, h->oclgrind, &g);
	error = cut_open(&p, h, g.text, g.len, "", true, true, NULL, NULL);
	if (error)
		test_fail("seed %llu: %s", (unsigned long long)seed, error);
	for (k = 0; k < GENERATE_KERNELS && !error; k++)
		run(&p, &g.run[k], seed);
	cut_close(&p);
	generate_free(&g);
}

static void test_chunk(void)
{
	bool out[CHUNK];
	const char *error;
	struct host h;
	unsigned int k;

	engine_use(engine);
	for (k = 0; k < n_programs; k++) {
		out[k] = kills_the_driver(first_seed + k);
		tally->taken_out += out[k];
	}
	error = host_open(&h);
	if (error)
		SKIP("%s: %s", engine->name, error);
	tally->programs += n_programs;
	for (k = 0; k < n_programs; k++)
		if (!out[k])
			program(&h, first_seed + k);
	host_close(&h);
}

/* One program by its seed, shown. */
static int show(uint64_t seed)
{
	struct generated g;

	for (engine = engines; engine < engines + n_engines; engine++) {
		struct test one = { "one", test_chunk, 600, NULL };
		char why[256];

		generate(seed, engine->quick, &g);
		printf("%s// %s\n", g.text, engine->name);
		generate_free(&g);
		first_seed = seed;
		n_programs = 1;
		test_run(&one, why, sizeof(why));
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct test chunk = { "random kernels", test_chunk, 1800, NULL };
	unsigned int chunks[8], total = 0, n = 0, e, k;
	int failed = 0, skipped = 0, r;
	char why[256];

	full = getenv("FULL");
	setvbuf(stdout, NULL, _IOLBF, 0);
	engines_find();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (argc > 1)
		return show(strtoull(argv[1], NULL, 0));
	for (e = 0; e < n_engines; e++) {
		chunks[e] = engines[e].quick ? full ? 60 : 6 : full ? 4 : 1;
		total += chunks[e];
	}
	printf("TAP version 13\n1..%u\n", total);
	for (e = 0; e < n_engines; e++) {
		engine = &engines[e];
		for (k = 0; k < chunks[e]; k++) {
			first_seed = FIRST_SEED + k * CHUNK;
			n_programs = full || engine->quick ? CHUNK : 3;
			r = test_run(&chunk, why, sizeof(why));
			failed += r == 1;
			skipped += r == 4;
			printf("%s %u - %s: seeds %llu to %llu%s%s\n", r == 1 ? "not ok" : "ok", ++n,
			       engine->name, (unsigned long long)first_seed,
			       (unsigned long long)first_seed + n_programs - 1,
			       r == 4 ? " # SKIP " : "", why);
		}
	}
	printf("# %u random kernels, %u in slices, %u by workers; %u cut runs, %u launches, %u "
	       "stopped before their end\n", tally->kernels, tally->modes[GSX_SLICE],
	       tally->modes[GSX_WORKERS], tally->runs, tally->launches, tally->stops);
	if (tally->taken_out)
		printf("# %u of %u programs left out: the driver dies of them uncut\n",
		       tally->taken_out, tally->programs);
	if (failed || tally->taken_out * 2 > tally->programs)
		return 1;
	return (unsigned int)skipped == n ? 4 : 0;
}
