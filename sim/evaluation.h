/* SPDX-License-Identifier: MIT */
/* The parts of the report Documentation/evaluation.md. */
#ifndef SIM_EVALUATION_H
#define SIM_EVALUATION_H

#include "metrics.h"

#define SUITE	25

/* The kernels that all mixes are made of; see suite_make(). */
struct suite {
	struct sim_kernel kernels[SUITE];
	uint64_t alone_ns[SUITE];	/* one launch on the device of the report */
};

/* A number of values, summed up. */
struct tally {
	double sum, min, max;
	unsigned int n;
};

void tally(struct tally *t, double v);
double tally_mean(const struct tally *t);

/* The text of a scenario, and then what came out of it; ends the program if it can't be run. */
void eval_run(struct metrics *ms, struct sim_scenario *s, const char *text,
	      const struct alone *alone);
void eval_alone(const char *text, int tenant, struct alone *a);
void eval_done(struct metrics *ms, struct sim_scenario *s);

/* Text that grows; ends the program without memory. */
struct text {
	char *s;
	size_t n;
	FILE *f;
};

FILE *text_begin(struct text *t);
const char *text_end(struct text *t);
void text_free(struct text *t);

/* The machine of all runs; @conf are more options of its device line. */
void write_device(FILE *f, const char *conf);
void write_kernel(FILE *f, const struct suite *suite, int kernel);

void eval_fairness(FILE *out, const struct suite *suite);
void eval_guarantees(FILE *out, const struct suite *suite);
void eval_slices(FILE *out, const struct suite *suite);
void eval_scenarios(FILE *out, const char *folder);

#endif
