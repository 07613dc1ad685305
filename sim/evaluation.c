// SPDX-License-Identifier: MIT
/*
 * Writes Documentation/evaluation.md: what the policies do in the simulator,
 * with the figures of the papers that they come from beside them. It takes the
 * folder of scenarios as its argument and needs nothing else: no clock, no
 * randomness but its own seeds, so that it writes the same bytes everywhere.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluation.h"

#define SUITE_SEED	1

void tally(struct tally *t, double v)
{
	if (isnan(v))
		return;
	if (!t->n || v < t->min)
		t->min = v;
	if (!t->n || v > t->max)
		t->max = v;
	t->sum += v;
	t->n++;
}

double tally_mean(const struct tally *t)
{
	return t->n ? t->sum / t->n : NAN;
}

FILE *text_begin(struct text *t)
{
	t->s = NULL;
	t->f = open_memstream(&t->s, &t->n);
	if (!t->f) {
		perror("evaluation");
		exit(2);
	}
	return t->f;
}

const char *text_end(struct text *t)
{
	if (fclose(t->f)) {
		perror("evaluation");
		exit(2);
	}
	return t->s;
}

void text_free(struct text *t)
{
	free(t->s);
}

static void parse(struct sim_scenario *s, const char *text)
{
	char error[512];

	if (!sim_parse(s, "evaluation", text, error, sizeof(error)))
		return;
	fprintf(stderr, "%s\n%s", error, text);
	exit(2);
}

static void must(int ret, const char *text)
{
	if (!ret)
		return;
	fprintf(stderr, "evaluation: %s\n%s", strerror(-ret), text);
	exit(2);
}

void eval_run(struct metrics *ms, struct sim_scenario *s, const char *text,
	      const struct alone *alone)
{
	parse(s, text);
	must(alone ? sim_measure_with(ms, s, alone, NULL) : sim_measure(ms, s, NULL), text);
}

void eval_done(struct metrics *ms, struct sim_scenario *s)
{
	sim_metrics_free(ms);
	sim_scenario_free(s);
}

void eval_alone(const char *text, int tenant, struct alone *a)
{
	struct sim_scenario s;

	parse(&s, text);
	must(sim_alone(&s, tenant, a), text);
	sim_scenario_free(&s);
}

/* 80 units, as large as those of a V100. */
void write_device(FILE *f, const char *conf)
{
	fprintf(f, "device gpu0 units=80 threads=2048 registers=65536 local=96K blocks=32 "
		"memory=16G bandwidth=12G launch=5us wake=10us %s\n", conf);
}

void write_kernel(FILE *f, const struct suite *suite, int kernel)
{
	const struct sim_kernel *k = &suite->kernels[kernel];

	fprintf(f, "kernel %s blocks=%" PRIu64 " time=%" PRIu64 "ns threads=%u registers=%u "
		"local=%u\n", k->name, k->blocks, k->time.a, k->threads, k->registers, k->local);
}

/* A random number of @low .. @low * 2^@doublings, even on a scale of powers of 2. */
static uint64_t logarithmic(struct sim_random *r, uint64_t low, unsigned int doublings)
{
	uint64_t v = low << sim_random_below(r, doublings);

	return v + sim_random_below(r, v);
}

static void suite_make(struct suite *suite)
{
	static const uint32_t threads[] = { 64, 128, 256, 512 }, registers[] = { 16, 32, 64 };
	static const uint32_t local[] = { 0, 4096, 16384 };
	struct sim_random r;
	struct alone a;
	struct text t;
	FILE *f;
	int i;

	sim_random_init(&r, SUITE_SEED, "suite", 0);
	memset(suite, 0, sizeof(*suite));
	for (i = 0; i < SUITE; i++) {
		struct sim_kernel *k = &suite->kernels[i];

		snprintf(k->name, sizeof(k->name), "k%02d", i + 1);
		k->blocks = logarithmic(&r, 64, 7);
		k->time.a = logarithmic(&r, 10 * SIM_NS_PER_US, 7);
		k->threads = threads[sim_random_below(&r, 4)];
		k->registers = k->threads * registers[sim_random_below(&r, 3)];
		k->local = local[sim_random_below(&r, 3)];

		f = text_begin(&t);
		fprintf(f, "duration 10s\n");
		write_device(f, "");
		write_kernel(f, suite, i);
		fprintf(f, "tenant t repeat=1\nphase %s count=1\n", k->name);
		eval_alone(text_end(&t), 0, &a);
		text_free(&t);
		suite->alone_ns[i] = a.end_ns;
	}
}

static void write_suite(FILE *out, const struct suite *suite)
{
	const struct sim_kernel *k;
	struct tally times = { .n = 0 };
	int i;

	fprintf(out, "## The kernels\n\n"
		"The papers ran benchmark suites on their machines; we have neither here. The\n"
		"mixes below are made of %d invented kernels, drawn once with a fixed seed and\n"
		"never chosen by their results: blocks 64 to 8191 and block times 10 us to\n"
		"1.28 ms, both even on a logarithmic scale; 64, 128, 256 or 512 threads; 16, 32 or\n"
		"64 registers a thread; 0, 4 or 16 KiB of local memory. The device has 80 units,\n"
		"each with 2048 threads, 65536 registers, 96 KiB of local memory and 32 block\n"
		"slots; a launch takes 5 us, a hand-over 10 us, a block of a persistent worker\n"
		"0.2 us more than natively.\n\n"
		"| kernel | blocks | block time | threads | registers | local | alone |\n"
		"|---|---:|---:|---:|---:|---:|---:|\n", SUITE);
	for (i = 0; i < SUITE; i++) {
		k = &suite->kernels[i];
		fprintf(out, "| %s | %" PRIu64 " | %.1f us | %u | %u | %u | %.3f ms |\n", k->name,
			k->blocks, k->time.a / 1e3, k->threads, k->registers, k->local,
			suite->alone_ns[i] / 1e6);
		tally(&times, suite->alone_ns[i] / 1e6);
	}
	fprintf(out, "\nAlone, a launch of them takes from %.3f to %.2f ms, %.2f ms on average.\n\n",
		times.min, times.max, tally_mean(&times));
}

static const char introduction[] =
"<!-- SPDX-License-Identifier: MIT -->\n# Evaluation\n"
"\n"
"`make evaluation` writes this file; a test checks that it is what the code gives\n"
"now. All figures are from the simulator (simulator.md), which runs the arbiter's\n"
"own core in virtual time on a model of a device. They show what the *policies* do.\n"
"They don't show what a real device, driver or program adds; for that see the\n"
"tests and benchmarks that run real tenants.\n"
"\n"
"Where a paper has a figure for the same question it stands beside ours, as the\n"
"paper gives it. The two are not from the same kernels or machines: compare the\n"
"direction and the order of magnitude, not the digits. No scenario was changed to\n"
"come nearer to a paper.\n"
"\n"
"The model is simpler than a device in these points, throughout:\n"
"\n"
"- A block takes its time no matter who runs beside it: no contention for memory\n"
"  bandwidth, caches or the pipelines of a unit. Sharing in space thus costs\n"
"  nothing here, and gains only what idle units give.\n"
"- The resources of the units are one pool: a kernel's own rounding per unit is\n"
"  kept, the fragmentation between kernels is not.\n"
"- Blocks of a kernel all take the same time here; drawn times are possible.\n"
"\n";

int main(int argc, char **argv)
{
	struct suite suite;

	if (argc != 2) {
		fprintf(stderr, "usage: evaluation FOLDER-OF-SCENARIOS\n");
		return 2;
	}
	suite_make(&suite);
	fputs(introduction, stdout);
	write_suite(stdout, &suite);
	eval_fairness(stdout, &suite);
	eval_guarantees(stdout, &suite);
	eval_slices(stdout, &suite);
	eval_scenarios(stdout, argv[1]);
	return ferror(stdout) || fflush(stdout) ? 2 : 0;
}
