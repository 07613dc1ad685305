// SPDX-License-Identifier: MIT
/*
 * How a pair shares the time with long slices, as in Share-a-GPU (Garg,
 * Kothapalli and Purini, HiPC 2018), and the scenarios of the tests.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluation.h"

#define PAIRS	12

static void run_pair(struct tally *larger, struct tally *stp, const struct suite *suite, int a,
		     int b, int slice_ms, const char *memory)
{
	struct sim_scenario s;
	struct metrics ms;
	char conf[64];
	double x, y;
	struct text t;
	FILE *f = text_begin(&t);

	snprintf(conf, sizeof(conf), "slice=%dms", slice_ms);
	fprintf(f, "duration 20s\n");
	write_device(f, conf);
	write_kernel(f, suite, a);
	write_kernel(f, suite, b);
	fprintf(f, "tenant a memory=%s\nphase %s\n", memory, suite->kernels[a].name);
	fprintf(f, "tenant b memory=%s\nphase %s\n", memory, suite->kernels[b].name);
	eval_run(&ms, &s, text_end(&t), NULL);
	x = sim_metric(&ms, "a.share");
	y = sim_metric(&ms, "b.share");
	tally(larger, fmax(x, y) / (x + y));
	tally(stp, sim_metric(&ms, "stp"));
	eval_done(&ms, &s);
	text_free(&t);
}

void eval_slices(FILE *out, const struct suite *suite)
{
	static const struct {
		int slice_ms;
		const char *memory, *words;
	} rows[] = {
		{ 2, "1G", "2 ms" }, { 500, "1G", "500 ms" }, { 1000, "1G", "1000 ms" },
		{ 500, "10G", "500 ms, 10 GiB each of 16" },
		{ 1000, "10G", "1000 ms, 10 GiB each of 16" },
	};
	struct tally larger, stp;
	struct sim_random r;
	size_t row;
	int i, a, b;

	fprintf(out, "## Long slices\n\n"
		"Pairs of kernels, launched again and again for 20 s, with equal weights. S. Garg,\n"
		"K. Kothapalli and S. Purini, \"Share-a-GPU: Providing Simple and Effective\n"
		"Time-Sharing on GPUs\", HiPC 2018, report near 50 %% each with slices of 500 and of\n"
		"1000 ms. Where both tenants' memory doesn't fit together, the one that comes\n"
		"brings its own back first, through a 12 GiB/s link: it holds the device\n"
		"meanwhile, so that the division of time stays and throughput pays for it.\n\n"
		"| slice | pairs | larger part, mean | worst pair | paper | STP |\n"
		"|---|---:|---:|---:|---:|---:|\n");
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		memset(&larger, 0, sizeof(larger));
		memset(&stp, 0, sizeof(stp));
		sim_random_init(&r, 3, "slices", 0);
		for (i = 0; i < PAIRS; i++) {
			a = sim_random_below(&r, SUITE);
			do {
				b = sim_random_below(&r, SUITE);
			} while (a == b);
			run_pair(&larger, &stp, suite, a, b, rows[row].slice_ms,
				 rows[row].memory);
		}
		fprintf(out, "| %s | %u | %.2f %% | %.2f %% | %s | %.3f |\n", rows[row].words, larger.n,
			100 * tally_mean(&larger), 100 * larger.max,
			rows[row].slice_ms > 2 ? "near 50 %" : "-", tally_mean(&stp));
	}
	fputc('\n', out);
}

static int is_scenario(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && !strcmp(d->d_name + n - 4, ".sim");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void write_number(FILE *out, double v, const char *format, double scale)
{
	fputs("| ", out);
	if (isnan(v))
		fputs("-", out);
	else
		fprintf(out, format, v * scale);
	fputc(' ', out);
}

static void scenario_row(FILE *out, const char *folder, const char *name)
{
	struct sim_scenario s;
	struct metrics ms;
	char error[512], path[512];
	int failed;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (sim_load(&s, path, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		exit(2);
	}
	if (sim_measure(&ms, &s, NULL))
		exit(2);
	failed = sim_report_expectations(stderr, &ms, false);
	fprintf(out, "| %s: %s ", name, s.title);
	write_number(out, sim_metric(&ms, "unfairness"), "%.2f", 1);
	write_number(out, sim_metric(&ms, "stp"), "%.2f", 1);
	write_number(out, sim_metric(&ms, "share_error"), "%.2f %%", 100);
	write_number(out, sim_metric(&ms, "wait_p50"), "%.2f ms", 1e-3);
	write_number(out, sim_metric(&ms, "wait_p99"), "%.2f ms", 1e-3);
	fprintf(out, "| %d of %d |\n", s.nexpects - failed, s.nexpects);
	sim_metrics_free(&ms);
	sim_scenario_free(&s);
}

void eval_scenarios(FILE *out, const char *folder)
{
	struct dirent **names;
	int i, n = scandir(folder, &names, is_scenario, by_name);

	if (n < 0) {
		perror(folder);
		exit(2);
	}
	fputs("## The scenarios of the tests\n\n"
	      "Each is a file in sim/scenarios/ that says what must come out; `gpushare-sim\n"
	      "FILE` prints the whole, `--svg` draws it. Share error is against a fluid reference\n"
	      "that divides the device without slices, in the worst window of the scenario.\n\n"
	      "| scenario | unfairness | STP | share error | wait, median | 99 % "
	      "| expectations held |\n|---|---:|---:|---:|---:|---:|---:|\n", out);
	for (i = 0; i < n; i++) {
		scenario_row(out, folder, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}
