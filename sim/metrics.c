// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "metrics.h"

static void add(struct metrics *ms, enum metric_scope scope, const char *of, const char *key,
		double value)
{
	if (ms->n == ms->room) {
		ms->room = ms->room ? 2 * ms->room : 64;
		ms->m = realloc(ms->m, ms->room * sizeof(*ms->m));
		if (!ms->m) {
			perror("gpushare-sim");
			exit(2);
		}
	}
	ms->m[ms->n++] = (struct metric){ scope, of, key, value };
}

static void whole(struct metrics *ms, const char *key, double value)
{
	add(ms, METRIC_WHOLE, "", key, value);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest sample that @percent of them don't pass, in us; 100: the largest. */
static double percentile(struct samples *s, unsigned int percent)
{
	size_t rank;

	if (!s->n)
		return NAN;
	qsort(s->v, s->n, sizeof(*s->v), by_value);
	rank = (s->n * percent + 99) / 100;
	return s->v[rank ? rank - 1 : 0] / 1000.0;
}

/* Mean turnaround in ns; launches that aren't done count with their age. */
static double mean_turnaround(const struct tenant *t)
{
	const struct job *job;
	double sum = 0;
	size_t i, n = t->turnarounds.n;

	for (i = 0; i < n; i++)
		sum += t->turnarounds.v[i];
	for (job = t->jobs; job; job = job->next, n++)
		sum += t->run->clock.now - job->arrived;
	return n ? sum / n : NAN;
}

static bool arrives_by_clock(const struct sim_tenant *t)
{
	uint32_t i;

	for (i = 0; i < t->nphases; i++)
		if (t->phases[i].kernel >= 0 && t->phases[i].arrive != SIM_CLOSED)
			return true;
	return false;
}

/* From its start to its end, or the end of the run. */
static double lifetime(const struct run *run, const struct tenant *t)
{
	uint64_t end = t->finished ? t->finished_at : run->clock.now;

	if (t->t->stop_ns < end)
		end = t->t->stop_ns;
	return end > t->t->start_ns ? end - t->t->start_ns : 0;
}

int sim_alone(const struct sim_scenario *s, int i, struct alone *a)
{
	struct run run;
	int ret;

	ret = sim_run(&run, s, i, false);
	if (!ret)
		*a = (struct alone){
			.end_ns = lifetime(&run, &run.tenants[i]),
			.work_ns = run.tenants[i].work_ns,
			.turnaround = mean_turnaround(&run.tenants[i]),
			.finished = run.tenants[i].finished,
		};
	sim_run_free(&run);
	return ret;
}

/*
 * How many times longer it takes than alone: by turnaround if launches arrive
 * by the clock, else by the rate of its progress (for one that finishes this
 * is the ratio of the times that it took).
 */
static double slowdown(const struct run *run, const struct tenant *t, const struct alone *a)
{
	double rate, alone;

	if (!a->end_ns || !a->work_ns)
		return NAN;
	if (arrives_by_clock(t->t) && !t->t->repeat)
		return mean_turnaround(t) / a->turnaround;
	alone = (double)a->work_ns / a->end_ns;
	rate = t->work_ns / lifetime(run, t);
	return rate > 0 ? alone / rate : INFINITY;
}

struct sums {
	double stp, antt, worst, best, reached, overshoot, held;
	int n, goals;
	struct samples waits;
};

static void measure_tenant(struct metrics *ms, struct run *run, struct tenant *t,
			   const struct alone *a, struct sums *sums)
{
	const char *of = t->t->name;
	double slow = slowdown(run, t, a), held = sim_tenant_held(t);
	size_t i;

	add(ms, METRIC_TENANT, of, "share", held / run->end_ns);
	add(ms, METRIC_TENANT, of, "entitled", run->fluid ?
	    sim_fluid_entitled(run, t->index) / run->end_ns : NAN);
	add(ms, METRIC_TENANT, of, "slowdown", slow);
	add(ms, METRIC_TENANT, of, "progress", 1 / slow);
	add(ms, METRIC_TENANT, of, "goal", t->t->goal ? t->t->goal / 1000.0 : NAN);
	add(ms, METRIC_TENANT, of, "launches", t->done);
	add(ms, METRIC_TENANT, of, "finished", t->finished ? t->finished_at / 1000.0 : NAN);
	add(ms, METRIC_TENANT, of, "grants", t->grants);
	add(ms, METRIC_TENANT, of, "wait_p50", percentile(&t->waits, 50));
	add(ms, METRIC_TENANT, of, "wait_p99", percentile(&t->waits, 99));
	add(ms, METRIC_TENANT, of, "wait_max", percentile(&t->waits, 100));
	add(ms, METRIC_TENANT, of, "turnaround_p50", percentile(&t->turnarounds, 50));
	add(ms, METRIC_TENANT, of, "turnaround_p99", percentile(&t->turnarounds, 99));
	add(ms, METRIC_TENANT, of, "overruns", t->overran);
	add(ms, METRIC_TENANT, of, "moved_mib", t->moved / 1048576.0);
	add(ms, METRIC_TENANT, of, "denied", t->denied);
	for (i = 0; i < t->waits.n; i++)
		sim_sample(&sums->waits, t->waits.v[i]);
	sums->held += held;
	if (isnan(slow))
		return;
	sums->stp += 1 / slow;
	sums->antt += slow;
	if (!sums->n || slow > sums->worst)
		sums->worst = slow;
	if (!sums->n || slow < sums->best)
		sums->best = slow;
	sums->n++;
	if (!t->t->goal)
		return;
	sums->goals++;
	if (1 / slow >= t->t->goal / 1000.0) {
		sums->reached++;
		sums->overshoot += 1000 / slow / t->t->goal - 1;
	}
}

static void measure_devices(struct metrics *ms, struct run *run)
{
	const struct gs_stat *stat;
	const char *of;
	int d;

	for (d = 0; d < run->s->ndevices; d++) {
		of = run->s->devices[d].name;
		add(ms, METRIC_DEVICE, of, "busy",
		    (double)sim_machine_busy(&run->machines[d]) / run->end_ns);
		if (!run->host || !run->host->devices[d].there)
			continue;
		gs_sync(&run->host->devices[d].dev, host_now(run));
		stat = &run->host->devices[d].dev.root.stat;
		add(ms, METRIC_DEVICE, of, "usage", (double)gs_usage(&run->host->devices[d].dev.root) / run->end_ns);
		add(ms, METRIC_DEVICE, of, "grants", stat->grants);
		add(ms, METRIC_DEVICE, of, "handoffs", stat->handoffs);
		add(ms, METRIC_DEVICE, of, "preempts", stat->preempts);
		add(ms, METRIC_DEVICE, of, "late", stat->preempts_late);
		add(ms, METRIC_DEVICE, of, "overruns", stat->overruns);
		add(ms, METRIC_DEVICE, of, "lingers", stat->lingers);
	}
}

/* The sum over all devices; returns the throttled time in us. */
static double measure_group(struct metrics *ms, struct run *run, int g)
{
	double usage = 0, throttled = 0, periods = 0, full = 0;
	const char *of = run->s->groups[g].path;
	const struct gs_node *node;
	int d;

	for (d = 0; d < run->s->ndevices; d++) {
		if (!run->host->devices[d].there)
			continue;
		node = gs_node_find(&run->host->groups[g], &run->host->devices[d].dev);
		if (!node)
			continue;
		usage += gs_usage(node);
		throttled += node->stat.throttled / 1000.0;
		periods += node->stat.nr_periods;
		full += node->stat.nr_throttled;
	}
	add(ms, METRIC_GROUP, of, "share", usage / run->end_ns);
	add(ms, METRIC_GROUP, of, "throttled", throttled);
	add(ms, METRIC_GROUP, of, "periods", periods);
	add(ms, METRIC_GROUP, of, "throttled_periods", full);
	return throttled;
}

static void measure_whole(struct metrics *ms, struct run *run, struct sums *sums)
{
	double shared = 0, busy = 0, usage = 0;
	int d;

	for (d = 0; d < run->s->ndevices; d++) {
		shared += sim_machine_shared(&run->machines[d]);
		busy += sim_machine_busy(&run->machines[d]);
		if (run->host && run->host->devices[d].there)
			usage += gs_usage(&run->host->devices[d].dev.root);
	}
	whole(ms, "unfairness", sums->n ? sums->worst / sums->best : NAN);
	whole(ms, "stp", sums->n ? sums->stp : NAN);
	whole(ms, "antt", sums->n ? sums->antt / sums->n : NAN);
	whole(ms, "worst_antt", sums->n ? sums->worst : NAN);
	whole(ms, "overlap", busy > 0 ? shared / busy : NAN);
	whole(ms, "share_error", sim_fluid_error(run));
	whole(ms, "qos_reach", sums->goals ? sums->reached / sums->goals : NAN);
	whole(ms, "qos_overshoot", sums->reached > 0 ? sums->overshoot / sums->reached : NAN);
	whole(ms, "wait_p50", percentile(&sums->waits, 50));
	whole(ms, "wait_p99", percentile(&sums->waits, 99));
	/* What the arbiter charged, against what its clients held. */
	whole(ms, "uncharged", run->host ? fabs(sums->held - usage) / run->end_ns : NAN);
}

static void take(struct metrics *ms, struct run *run, const struct alone *alone)
{
	const struct sim_scenario *s = run->s;
	double throttled = 0;
	struct sums sums;
	int i;

	memset(&sums, 0, sizeof(sums));
	ms->end_ns = run->end_ns;
	measure_devices(ms, run);
	for (i = 0; run->host && i < s->ngroups; i++)
		throttled += measure_group(ms, run, i);
	for (i = 0; i < s->ntenants; i++)
		measure_tenant(ms, run, &run->tenants[i], &alone[i], &sums);
	measure_whole(ms, run, &sums);
	whole(ms, "throttled", run->host ? throttled : NAN);
	free(sums.waits.v);
}

int sim_measure_with(struct metrics *ms, const struct sim_scenario *s, const struct alone *alone,
		     struct run *keep)
{
	struct run own, *run = keep ? keep : &own;	/* its parts point to it */
	int ret;

	memset(ms, 0, sizeof(*ms));
	ms->s = s;
	ret = sim_run(run, s, -1, keep != NULL);
	if (!ret)
		take(ms, run, alone);
	if (!keep || ret)
		sim_run_free(run);
	return ret;
}

int sim_measure(struct metrics *ms, const struct sim_scenario *s, struct run *keep)
{
	struct alone *alone = calloc(s->ntenants, sizeof(*alone));
	int i, ret = alone ? 0 : -ENOMEM;

	for (i = 0; i < s->ntenants && !ret && !s->no_alone; i++)
		ret = sim_alone(s, i, &alone[i]);
	if (!ret)
		ret = sim_measure_with(ms, s, alone, keep);
	free(alone);
	return ret;
}

void sim_metrics_free(struct metrics *ms)
{
	free(ms->m);
	memset(ms, 0, sizeof(*ms));
}

static const struct metric *find(const struct metrics *ms, const char *name)
{
	static const char *const prefixes[] = { "", "device:", "group:", "" };
	const char *dot = strrchr(name, '.'), *key = dot ? dot + 1 : name;
	const struct metric *m;
	size_t prefix;

	for (m = ms->m; m < ms->m + ms->n; m++) {
		prefix = strlen(prefixes[m->scope]);
		if (strcmp(m->key, key) || !dot != (m->scope == METRIC_WHOLE))
			continue;
		if (m->scope == METRIC_WHOLE)
			return m;
		if (!strncmp(name, prefixes[m->scope], prefix) &&
		    strlen(m->of) == (size_t)(dot - name) - prefix &&
		    !strncmp(name + prefix, m->of, dot - name - prefix))
			return m;
	}
	return NULL;
}

double sim_metric(const struct metrics *ms, const char *name)
{
	const struct metric *m = find(ms, name);

	return m ? m->value : NAN;
}

bool sim_metric_known(const struct metrics *ms, const char *name)
{
	return find(ms, name) != NULL;
}
