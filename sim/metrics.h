/* SPDX-License-Identifier: MIT */
/* What comes out of a run, in figures (Documentation/simulator.md defines them). */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

#include <stdio.h>

#include "run.h"

enum metric_scope { METRIC_WHOLE, METRIC_DEVICE, METRIC_GROUP, METRIC_TENANT };

struct metric {
	enum metric_scope scope;
	const char *of;			/* name of the device, group or tenant */
	const char *key;
	double value;			/* NAN: there is none */
};

struct metrics {
	const struct sim_scenario *s;
	uint64_t end_ns;
	struct metric *m;
	size_t n, room;
};

/* How a tenant does with the whole machine for itself. */
struct alone {
	uint64_t end_ns, work_ns;
	double turnaround;
	bool finished;
};

/*
 * Runs the scenario, and each of its tenants alone, and takes the figures.
 * With @run the run is kept for its trace, and the caller frees it. The names
 * in the metrics are the scenario's, and live as long.
 */
int sim_measure(struct metrics *ms, const struct sim_scenario *s, struct run *run);
/* The same in parts, for many runs of tenants that were seen alone before. */
int sim_alone(const struct sim_scenario *s, int tenant, struct alone *a);
int sim_measure_with(struct metrics *ms, const struct sim_scenario *s, const struct alone *alone,
		     struct run *run);
void sim_metrics_free(struct metrics *ms);
/* By full name (KEY, TENANT.KEY, device:NAME.KEY, group:PATH.KEY); NAN if it isn't there. */
double sim_metric(const struct metrics *ms, const char *name);
bool sim_metric_known(const struct metrics *ms, const char *name);

/* report.c */
void sim_report_text(FILE *out, const struct metrics *ms);
void sim_report_json(FILE *out, const struct metrics *ms);
/* TAP, a line for each expectation; the number of those that don't hold. */
int sim_report_expectations(FILE *out, const struct metrics *ms, bool tap);

/* trace.c: 0 or -errno */
int sim_write_svg(FILE *out, const struct run *run);
int sim_write_perfetto(FILE *out, const struct run *run);

#endif
