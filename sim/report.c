// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "metrics.h"

/* -- text ------------------------------------------------------------------ */

enum unit { UNIT_COUNT, UNIT_RATIO, UNIT_PERCENT, UNIT_TIME };

struct column {
	const char *key, *head;
	enum unit unit;
	int width;
};

static void print_value(FILE *out, double v, enum unit unit, int width)
{
	char buf[32];

	if (isnan(v))
		snprintf(buf, sizeof(buf), "-");
	else if (isinf(v))
		snprintf(buf, sizeof(buf), "never");
	else if (unit == UNIT_PERCENT)
		snprintf(buf, sizeof(buf), "%.2f %%", v * 100);
	else if (unit == UNIT_RATIO)
		snprintf(buf, sizeof(buf), "%.3f", v);
	else if (unit == UNIT_COUNT)
		snprintf(buf, sizeof(buf), "%.0f", v);
	else if (v >= 1e6)
		snprintf(buf, sizeof(buf), "%.2f s", v / 1e6);
	else if (v >= 1e3)
		snprintf(buf, sizeof(buf), "%.2f ms", v / 1e3);
	else
		snprintf(buf, sizeof(buf), "%.1f us", v);
	fprintf(out, " %*s", width, buf);
}

static void print_table(FILE *out, const struct metrics *ms, enum metric_scope scope,
			const char *what, const struct column *columns, int n)
{
	const struct metric *m = ms->m, *end = ms->m + ms->n;
	const char *of = NULL;
	int i;

	for (; m < end && m->scope != scope; m++)
		;
	if (m == end)
		return;
	fprintf(out, "\n%-16s", what);
	for (i = 0; i < n; i++)
		fprintf(out, " %*s", columns[i].width, columns[i].head);
	for (; m < end && m->scope == scope; m++) {
		if (m->of != of) {
			of = m->of;
			fprintf(out, "\n%-16s", of);
			i = 0;
		}
		/* Keys come in the order of the columns; those in between are for JSON. */
		if (i < n && !strcmp(columns[i].key, m->key)) {
			print_value(out, m->value, columns[i].unit, columns[i].width);
			i++;
		}
	}
	fputc('\n', out);
}

static void print_whole(FILE *out, const struct metrics *ms)
{
	static const struct column lines[] = {
		{ "unfairness", "unfairness (largest slowdown / smallest)", UNIT_RATIO, 0 },
		{ "stp", "system throughput (STP)", UNIT_RATIO, 0 },
		{ "antt", "mean slowdown (ANTT)", UNIT_RATIO, 0 },
		{ "worst_antt", "largest slowdown (worst ANTT)", UNIT_RATIO, 0 },
		{ "overlap", "overlap of tenants on the machine", UNIT_PERCENT, 0 },
		{ "share_error", "share error, worst window", UNIT_PERCENT, 0 },
		{ "qos_reach", "goals reached (QoSreach)", UNIT_PERCENT, 0 },
		{ "qos_overshoot", "passed by, where reached", UNIT_PERCENT, 0 },
		{ "wait_p50", "wait for a grant, median", UNIT_TIME, 0 },
		{ "wait_p99", "wait for a grant, 99 %", UNIT_TIME, 0 },
		{ "throttled", "throttled by max, all groups", UNIT_TIME, 0 },
	};
	size_t i;
	double v;

	fputc('\n', out);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		v = sim_metric(ms, lines[i].key);
		if (isnan(v))
			continue;
		fprintf(out, "%-42s", lines[i].head);
		print_value(out, v, lines[i].unit, 12);
		fputc('\n', out);
	}
}

void sim_report_text(FILE *out, const struct metrics *ms)
{
	static const struct column devices[] = {
		{ "busy", "busy", UNIT_PERCENT, 9 },
		{ "grants", "grants", UNIT_COUNT, 10 },
		{ "handoffs", "handoffs", UNIT_COUNT, 10 },
		{ "preempts", "preempts", UNIT_COUNT, 10 },
		{ "late", "late", UNIT_COUNT, 6 },
		{ "overruns", "overruns", UNIT_COUNT, 9 },
		{ "lingers", "lingers", UNIT_COUNT, 9 },
	};
	static const struct column groups[] = {
		{ "share", "share", UNIT_PERCENT, 9 },
		{ "throttled", "throttled", UNIT_TIME, 11 },
		{ "periods", "periods", UNIT_COUNT, 8 },
		{ "throttled_periods", "throttled", UNIT_COUNT, 10 },
	};
	static const struct column tenants[] = {
		{ "share", "share", UNIT_PERCENT, 9 },
		{ "entitled", "entitled", UNIT_PERCENT, 9 },
		{ "slowdown", "slowdown", UNIT_RATIO, 9 },
		{ "goal", "goal", UNIT_PERCENT, 8 },
		{ "launches", "launches", UNIT_COUNT, 9 },
		{ "grants", "grants", UNIT_COUNT, 8 },
		{ "wait_p50", "wait 50 %", UNIT_TIME, 10 },
		{ "wait_p99", "99 %", UNIT_TIME, 10 },
		{ "turnaround_p50", "done 50 %", UNIT_TIME, 10 },
		{ "turnaround_p99", "99 %", UNIT_TIME, 10 },
	};
	const struct sim_scenario *s = ms->s;

	fprintf(out, "%s%s%s\n", s->file, s->title[0] ? ": " : "", s->title);
	fprintf(out, "%.6g s of virtual time, seed %" PRIu64 ", %s\n", ms->end_ns / 1e9, s->seed,
		s->native ? "native: nobody arbitrates" : "under the arbiter");
	print_table(out, ms, METRIC_DEVICE, "device", devices, 7);
	print_table(out, ms, METRIC_GROUP, "group", groups, 4);
	print_table(out, ms, METRIC_TENANT, "tenant", tenants, 10);
	print_whole(out, ms);
}

/* -- JSON ------------------------------------------------------------------ */

static void json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

static void json_number(FILE *out, double v)
{
	if (isnan(v) || isinf(v))
		fputs("null", out);
	else
		fprintf(out, "%.9g", v);
}

void sim_report_json(FILE *out, const struct metrics *ms)
{
	static const char *const scopes[] = { "whole", "devices", "groups", "tenants" };
	const struct metric *m, *last = NULL;
	int scope;

	fputs("{\n  \"scenario\": ", out);
	json_string(out, ms->s->file);
	fputs(",\n  \"title\": ", out);
	json_string(out, ms->s->title);
	fprintf(out, ",\n  \"seed\": %" PRIu64 ",\n  \"mode\": \"%s\",\n  \"seconds\": %.9g",
		ms->s->seed, ms->s->native ? "native" : "arbiter", ms->end_ns / 1e9);
	for (scope = METRIC_WHOLE; scope <= METRIC_TENANT; scope++) {
		fprintf(out, ",\n  \"%s\": {", scopes[scope]);
		last = NULL;
		for (m = ms->m; m < ms->m + ms->n; m++) {
			if ((int)m->scope != scope)
				continue;
			if (scope != METRIC_WHOLE && (!last || last->of != m->of)) {
				fprintf(out, "%s\n    ", last ? " }," : "");
				json_string(out, m->of);
				fputs(": {", out);
				last = NULL;
			}
			fprintf(out, "%s\n      \"%s\": ", last ? "," : "", m->key);
			json_number(out, m->value);
			last = m;
		}
		fprintf(out, "%s\n  }", last && scope != METRIC_WHOLE ? " }" : "");
	}
	fputs("\n}\n", out);
}

/* -- expectations ---------------------------------------------------------- */

int sim_report_expectations(FILE *out, const struct metrics *ms, bool tap)
{
	const struct sim_expect *e = ms->s->expects;
	int i, failed = 0;
	bool ok;
	double v;

	if (tap)
		fprintf(out, "TAP version 13\n1..%d\n", ms->s->nexpects);
	for (i = 0; i < ms->s->nexpects; i++, e++) {
		v = sim_metric(ms, e->metric);
		ok = v >= e->low && v <= e->high;	/* false for what there isn't */
		failed += !ok;
		if (tap)
			fprintf(out, "%s %d - %s is %.6g\n", ok ? "ok" : "not ok", i + 1,
				e->metric, v);
		if (!ok)
			fprintf(out, "%s%s:%d: %s is %.6g, not within %.6g..%.6g\n",
				tap ? "# " : "", ms->s->file, e->line, e->metric, v, e->low,
				e->high);
	}
	return failed;
}
