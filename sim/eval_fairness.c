// SPDX-License-Identifier: MIT
/*
 * Unfairness of 2, 4 and 8 launches that come at the same moment, as in accelOS
 * (Margiolas and O'Boyle, CGO 2016).
 */
#include <math.h>
#include <string.h>

#include "evaluation.h"

enum way { WAY_NATIVE, WAY_SPACE, WAY_TIME, NWAYS };

static const char *const ways[NWAYS] = {
	"native queue", "seats, equal shares", "time slices, fair",
};

struct row {
	struct tally unfairness, stp, antt, worst, overlap;
};

static void run_mix(struct row *row, const struct suite *suite, const int *mix, int n,
		    enum way way)
{
	char conf[64] = "";
	struct sim_scenario s;
	struct metrics ms;
	struct text t;
	FILE *f = text_begin(&t);
	int i;

	if (way == WAY_SPACE)
		snprintf(conf, sizeof(conf), "seats=%d workers=equal", n);
	fprintf(f, "duration 60s\n%s", way == WAY_NATIVE ? "mode native\n" : "");
	write_device(f, conf);
	for (i = 0; i < SUITE; i++)
		write_kernel(f, suite, i);
	for (i = 0; i < n; i++)
		fprintf(f, "tenant t%d repeat=1 run=persistent\nphase %s count=1\n", i,
			suite->kernels[mix[i]].name);
	eval_run(&ms, &s, text_end(&t), NULL);
	tally(&row->unfairness, sim_metric(&ms, "unfairness"));
	tally(&row->stp, sim_metric(&ms, "stp"));
	tally(&row->antt, sim_metric(&ms, "antt"));
	tally(&row->worst, sim_metric(&ms, "worst_antt"));
	tally(&row->overlap, sim_metric(&ms, "overlap"));
	eval_done(&ms, &s);
	text_free(&t);
}

/* Different kernels in random order; all pairs, or a number of random mixes. */
static void run_mixes(struct row *rows, const struct suite *suite, int n, int mixes)
{
	int mix[8], i, j, k, way;
	struct sim_random r;

	sim_random_init(&r, 1, "mixes", n);
	for (i = 0; i < mixes; i++) {
		for (j = 0; j < n; j++) {
			do {
				mix[j] = sim_random_below(&r, SUITE);
				for (k = 0; mix[k] != mix[j]; k++)
					;
			} while (k < j);
		}
		for (way = 0; way < NWAYS; way++)
			run_mix(&rows[way], suite, mix, n, way);
	}
}

void eval_fairness(FILE *out, const struct suite *suite)
{
	static const struct {
		int n, mixes;
		double native, accelos;
	} sizes[] = {
		{ 2, 300, 8.43, 1.24 }, { 4, 150, 19.65, 1.89 }, { 8, 100, 43.42, 3.54 },
	};
	struct row rows[NWAYS], *row;
	size_t i;
	int way;

	fprintf(out, "## Fairness among launches that come together\n\n"
		"N tenants launch one kernel each at the same moment. Unfairness is the largest\n"
		"slowdown over the smallest; the mean over all mixes is given, as in the paper:\n"
		"C. Margiolas and M. O'Boyle, \"Portable and transparent software managed\n"
		"scheduling on accelerators for fair resource sharing\" (accelOS), CGO 2016, on an\n"
		"NVIDIA GPU with 25 kernels of Parboil. *seats, equal shares* is accelOS's own\n"
		"way: all run at once with an equal part of each resource. *time slices* is what\n"
		"gpushare does by default: one at a time, slices of 2 ms.\n\n"
		"| tenants | way | mixes | unfairness | paper | STP | ANTT | worst slowdown of any mix "
		"| overlap |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n");
	for (i = 0; i < 3; i++) {
		memset(rows, 0, sizeof(rows));
		run_mixes(rows, suite, sizes[i].n, sizes[i].mixes);
		for (way = 0; way < NWAYS; way++) {
			char paper[16] = "-";

			row = &rows[way];
			if (way != WAY_TIME)
				snprintf(paper, sizeof(paper), "%.2f", way == WAY_NATIVE ?
					 sizes[i].native : sizes[i].accelos);
			fprintf(out, "| %d | %s | %u | %.2f | %s | %.2f | %.2f | %.1f | %.0f %% |\n",
				sizes[i].n, ways[way], row->unfairness.n,
				tally_mean(&row->unfairness), paper, tally_mean(&row->stp),
				tally_mean(&row->antt), row->worst.max,
				100 * tally_mean(&row->overlap));
		}
	}
	fputs("\n"
	"How to read it: natively a short kernel that comes behind a long one waits for\n"
	"its last wave, so unfairness is about the ratio of their lengths, and depends on\n"
	"the suite more than on anything else. With equal shares a kernel that can't fill\n"
	"its share anyway isn't slowed at all, while one that fills the device is slowed N\n"
	"times: that is where unfairness above 1 comes from. With time slices a kernel\n"
	"shorter than a slice runs whole when its turn comes, so its slowdown depends on\n"
	"its place in the queue, which for a kernel of tens of microseconds behind slices\n"
	"of 2 ms is large; it is a short launch's latency that the `latency` class is for.\n"
	"The paper's device has contention for memory bandwidth, ours has none.\n"
	"\n", out);
}
