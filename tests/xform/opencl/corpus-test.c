// SPDX-License-Identifier: MIT
/*
 * The transformer, kernel by kernel over the corpus: what it says about each is what
 * its file expects, and each run in each way that it allows leaves the same memory as
 * the original, to the bit. One test a file and OpenCL; `corpus-test images` picks.
 *
 * FULL=1 runs all kernels several times each and rewrites also those that need no
 * rewriting; else PoCL runs one in eight, since compiling takes it so long. What is
 * said about a kernel is checked for all of them.
 */
#include <dirent.h>
#include <sys/mman.h>

#include "harness.h"
#include "run-cut.h"
#include "engine.h"

#define FOLDER "tests/corpus/opencl"
#define CHECK_PART 8u

struct tally {
	uint32_t kernels, native, rewritten, workers, run_kernels, skipped;
	uint32_t runs[GSX_MODES], launches, stops;
	uint32_t refused[GSX_MODES][GSX_REASONS];
};

static struct tally *tally;	/* of each engine, shared by the tests' processes */
static const struct engine *engine;
static bool full;

static const char *slice_word(const struct gsx_cl_kernel *k)
{
	if (!(k->modes & GSX_BIT(GSX_SLICE)))
		return "no";
	return k->flags & GSX_CL_NATIVE ? "offset" : "rewritten";
}

/* Whether what happened is among the words that are joined by '|'. */
static bool met(const char *words, const struct gsx_cl_kernel *k, enum gsx_mode mode)
{
	char copy[96], *word, *save = NULL;
	bool can = k->modes & GSX_BIT(mode);
	uint32_t i;

	snprintf(copy, sizeof(copy), "%s", words);
	for (word = strtok_r(copy, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
		if (!strcmp(word, "any"))
			return true;
		if (can && (!strcmp(word, "cut") || !strcmp(word, "ok")))
			return true;
		if (can && mode == GSX_SLICE && !strcmp(word, slice_word(k)))
			return true;
		for (i = 0; i < k->n_refusals && !can; i++)
			if (k->refusals[i].modes & GSX_BIT(mode) &&
			    !strcmp(word, gsx_reason_name(k->refusals[i].reason)))
				return true;
	}
	return false;
}

static void say_refusals(const struct gsx_cl_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->n_refusals; i++)
		printf("#     line %u: %s: %s\n", k->refusals[i].line,
		       gsx_reason_name(k->refusals[i].reason), k->refusals[i].text);
}

static void check_report(const struct spec *s, const struct gsx_cl_kernel *k)
{
	static const struct spec_expect plain = { .slice = "cut", .workers = "ok" };
	const struct spec_expect *e = spec_expect_of(s, k->name);
	uint32_t i;

	if (!e)
		e = &plain;
	if (!met(e->slice, k, GSX_SLICE)) {
		test_fail("%s: slice is %s, expected %s", k->name, slice_word(k), e->slice);
		say_refusals(k);
	}
	if (!met(e->workers, k, GSX_WORKERS)) {
		test_fail("%s: workers are %s, expected %s", k->name,
			  k->modes & GSX_BIT(GSX_WORKERS) ? "ok" : "refused", e->workers);
		say_refusals(k);
	}
	tally->kernels++;
	if (k->modes & GSX_BIT(GSX_SLICE))
		*(k->flags & GSX_CL_NATIVE ? &tally->native : &tally->rewritten) += 1;
	tally->workers += !!(k->modes & GSX_BIT(GSX_WORKERS));
	for (i = 0; i < k->n_refusals; i++) {
		tally->refused[GSX_SLICE][k->refusals[i].reason] +=
			!!(k->refusals[i].modes & GSX_BIT(GSX_SLICE));
		tally->refused[GSX_WORKERS][k->refusals[i].reason] +=
			!!(k->refusals[i].modes & GSX_BIT(GSX_WORKERS));
	}
}

static bool picked(const struct host *h, const struct spec_run *r)
{
	uint32_t hash = 0;
	const char *c;

	if (r->never || (r->oclgrind_only && !h->oclgrind))
		return false;
	for (c = r->kernel; *c; c++)
		hash = hash * 31 + (unsigned char)*c;
	return full || engine->quick || hash % CHECK_PART == 0;
}

static void run(const struct cut_program *p, const struct spec_run *r)
{
	unsigned int times = full ? 4 : 2, k;
	struct cut_job j;
	const char *error;
	int mode, way;

	error = cut_begin(&j, p, r);
	if (error)
		test_fail("%s: %s", r->kernel, error);
	for (mode = 0; mode < GSX_MODES && !error; mode++) {
		/* A slice by the original's own offset, and by the shadow where there is one. */
		for (way = 0; way < 2 && !error; way++) {
			if (!(j.k->modes & GSX_BIT(mode)) || (mode != GSX_SLICE && way) ||
			    (mode == GSX_SLICE && (way ? !(j.k->flags & GSX_CL_NATIVE) :
				!full && (j.k->flags & GSX_CL_NATIVE))))
				continue;
			for (k = 0; k < times && !error; k++) {
				error = cut_again(&j, mode, way);
				tally->runs[mode]++;
			}
		}
		if (error)
			test_fail("%s (line %u), %s: %s; seed %llu", r->kernel, r->line,
				  gsx_mode_name(mode), error, (unsigned long long)cut_seed);
	}
	tally->launches += j.launches;
	tally->stops += j.stops;
	cut_end(&j);
}

static void check_file(const char *path)
{
	struct cut_program p;
	struct spec_run *r;
	const char *error;
	struct host h;
	struct spec s;
	uint32_t k;

	error = spec_read(path, &s);
	if (error) {
		test_fail("%s: %s", path, error);
		return;
	}
	engine_use(engine);
	error = host_open(&h);
	if (error)
		SKIP("%s: %s", engine->name, error);
	if (!s.report_only && !host_has(&h, s.needs)) {
		printf("# %s has no %s: what is said about the kernels is checked only\n", h.name,
		       s.needs);
		s.report_only = true;
	}
	error = cut_open(&p, &h, s.text, s.len, s.options, full, !s.report_only, NULL, NULL);
	if (error) {
		test_fail("%s: %s", path, error);
		return;
	}
	for (k = 0; k < p.res.n_kernels; k++)
		check_report(&s, &p.res.kernels[k]);
	for (r = s.runs; r; r = r->next) {
		if (!cut_kernel(&p, r->kernel)) {
			test_fail("%s isn't in the report", r->kernel);
		} else if (s.report_only || !picked(&h, r)) {
			tally->skipped++;
		} else {
			tally->run_kernels++;
			run(&p, r);
		}
	}
	cut_close(&p);
	host_close(&h);
	spec_free(&s);
}

static char (*files)[256];
static int n_files, current;

static void test_file(void)
{
	check_file(files[current]);
}

static void print_tally(void)
{
	const struct tally *t = tally;
	int mode, r;

	if (!t->kernels)
		return;
	printf("# %s: %u kernels: slices %u (%u%%), %u of them by an offset alone; workers %u "
	       "(%u%%)\n", engine->name, t->kernels, t->native + t->rewritten,
	       100 * (t->native + t->rewritten) / t->kernels, t->native, t->workers,
	       100 * t->workers / t->kernels);
	for (mode = 0; mode < GSX_MODES; mode++)
		for (r = 0; r < GSX_REASONS; r++)
			if (t->refused[mode][r])
				printf("#   %s refused, %s: %u\n", gsx_mode_name(mode), gsx_reason_name(r),
				       t->refused[mode][r]);
	printf("# run: %u (not run: %u), in slices %u times, by workers %u times: %u launches, "
	       "%u stopped before their end\n", t->run_kernels, t->skipped, t->runs[GSX_SLICE],
	       t->runs[GSX_WORKERS], t->launches, t->stops);
}

/* After all files, and only if none was left out: */
static void test_shares(void)
{
	EXPECT_GE(tally->kernels, 300);
	EXPECT_GE(100 * (tally->native + tally->rewritten) / tally->kernels, 90);
	EXPECT_GE(100 * tally->workers / tally->kernels, 85);
	EXPECT_GT(tally->runs[GSX_SLICE], 0);
	EXPECT_GT(tally->runs[GSX_WORKERS], 0);
	EXPECT_GT(tally->stops, 0);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void find_files(void)
{
	struct dirent *e;
	DIR *d = opendir(FOLDER);

	files = calloc(256, sizeof(*files));
	while (d && (e = readdir(d)) && n_files < 256) {
		size_t len = strlen(e->d_name);

		if (len > 3 && !strcmp(e->d_name + len - 3, ".cl"))
			snprintf(files[n_files++], sizeof(*files), FOLDER "/%.200s", e->d_name);
	}
	if (d)
		closedir(d);
	qsort(files, n_files, sizeof(*files), by_name);
}

static int run_all(const char *pick, int *n, int *skipped)
{
	struct test shares = { "the shares", test_shares, 60, NULL };
	int failed = 0, first_skips = *skipped, r;
	char why[256];

	for (current = 0; current < n_files; current++) {
		struct test file = { strrchr(files[current], '/') + 1, test_file,
			full ? 1800 : 600, NULL };

		if (pick && !strstr(files[current], pick))
			continue;
		r = test_run(&file, why, sizeof(why));
		failed += r == 1;
		*skipped += r == 4;
		printf("%s %d - %s: %s%s%s\n", r == 1 ? "not ok" : "ok", ++*n, engine->name,
		       file.name, r == 4 ? " # SKIP " : "", why);
	}
	print_tally();
	if (pick)
		return failed;
	r = *skipped > first_skips ? 4 : test_run(&shares, why, sizeof(why));
	failed += r == 1;
	*skipped += r == 4;
	printf("%s %d - %s: %s%s\n", r == 1 ? "not ok" : "ok", ++*n, engine->name, shares.name,
	       r == 4 ? " # SKIP not all files were read" : "");
	return failed;
}

int main(int argc, char **argv)
{
	const char *seed = getenv("GS_SEED"), *pick = argc > 1 ? argv[1] : NULL;
	int failed = 0, skipped = 0, n = 0, i;

	full = getenv("FULL");
	cut_seed = seed ? strtoull(seed, NULL, 0) : 20261122;
	setvbuf(stdout, NULL, _IOLBF, 0);
	engines_find();
	find_files();
	for (i = 0; i < n_files; i++)
		n += !pick || strstr(files[i], pick);
	printf("TAP version 13\n# seed %llu\n1..%d\n", (unsigned long long)cut_seed,
	       (n + !pick) * (int)n_engines);
	n = 0;
	tally = mmap(NULL, n_engines * sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < (int)n_engines; i++, tally++) {
		engine = &engines[i];
		failed += run_all(pick, &n, &skipped);
	}
	return failed ? 1 : skipped == n ? 4 : 0;
}
