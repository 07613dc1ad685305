// SPDX-License-Identifier: MIT
/*
 * gpusharectl metrics: counters for Prometheus.
 *
 * OpenMetrics and the older text format differ in whether a counter's type is
 * said of its name with or without _total, and in the end mark. node_exporter's
 * text files must be of the older.
 */
#include "amount.h"
#include "ulib/transport.h"
#include "ctl.h"
#include "file.h"
#include "groups.h"
#include "http.h"
#include "props.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_TEXTFILE, OPT_LISTEN, OPT_FORMAT, OPT_MOST };

static const struct gs_option options[] = {
	{ "textfile", "FILE", "replace this file, for node_exporter's collector", 0 },
	{ "listen", "PORT", "answer http://127.0.0.1:PORT/metrics until stopped", 0 },
	{ "format", "FORMAT", "openmetrics or prometheus", 'f' },
	{ "max-groups", "N", "leave out groups beyond so many (1000)", 0 },
	{ NULL, NULL, NULL, 0 },
};

enum kind { COUNTER, COUNTER_SECONDS, GAUGE, GAUGE_RATIO, GAUGE_LIMIT };

struct family {
	const char *name, *help;
	enum kind kind;
	bool share;		/* a member of the share, else of the counters */
	bool narrow;		/* 32 bits */
	size_t offset;
};

#define STATS(n, h, k, m) { n, h, k, false, false, offsetof(struct gpushare_stats, m) }
#define SHARE64(n, h, k, m) { n, h, k, true, false, offsetof(struct gpushare_share, m) }
#define SHARE32(n, h, k, m) { n, h, k, true, true, offsetof(struct gpushare_share, m) }

static const struct family group_families[] = {
	STATS("gpu_seconds", "Time held on the device", COUNTER_SECONDS, usage_ns),
	STATS("wait_seconds", "Time its clients waited", COUNTER_SECONDS, wait_ns),
	STATS("throttled_seconds", "Time it was held back by its max", COUNTER_SECONDS,
	      throttled_ns),
	STATS("grants", "Grants", COUNTER, grants),
	STATS("preemptions", "Grants that were asked back", COUNTER, preempts),
	STATS("late_yields", "Of those, yielded later than a slice", COUNTER, late),
	STATS("overruns", "Of those, taken back after the grace time", COUNTER, overruns),
	STATS("memory_denied", "Memory charges refused", COUNTER, mem_denied),
	STATS("memory_bytes", "Device memory charged", GAUGE, mem_current),
	STATS("memory_peak_bytes", "The most that was charged", GAUGE, mem_peak),
	STATS("memory_swapped_bytes", "Memory moved away from the device", GAUGE, mem_swapped),
	SHARE32("weight", "Weight against its siblings", GAUGE, weight),
	SHARE32("min_ratio", "Guaranteed share", GAUGE_RATIO, min_permille),
	SHARE32("entitled_ratio", "Share that the rules give beside those who run now", GAUGE_RATIO,
		entitled_permille),
	SHARE32("clients", "Clients in the group itself", GAUGE, clients),
	SHARE64("memory_max_bytes", "Memory limit", GAUGE_LIMIT, mem_max),
};

struct metrics {
	struct gs_ctl *ctl;
	struct gs_view view;
	bool openmetrics;
	uint64_t most;
};

static void head(FILE *out, const struct metrics *m, const char *name, const char *help,
		 bool counter, const char *type)
{
	const char *suffix = counter && !m->openmetrics ? "_total" : "";

	fprintf(out, "# HELP gpushare_%s%s %s.\n# TYPE gpushare_%s%s %s\n", name, suffix, help,
		name, suffix, type);
}

static void label(FILE *out, const char *name, const char *value, bool first)
{
	unsigned int n;

	fprintf(out, "%s%s=\"", first ? "{" : ",", name);
	for (; *value; value += n ? n : 1) {
		n = gs_utf8_length(value);
		if (!gs_utf8_shown(value))
			fputs("\xef\xbf\xbd", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			fwrite(value, 1, n, out);
	}
	fputc('"', out);
}

/* Users may have named groups of one name, and cgroups the look of a tenant's part. */
static bool is_only(const struct gs_view *view, const struct gpushare_share *group)
{
	bool could = group->kind || strchr(group->path, '@');
	size_t i;

	for (i = 0; could && i < view->nr_groups; i++)
		if (view->groups[i].all.group != group->group &&
		    !strcmp(view->groups[i].all.path, group->path))
			return false;
	return true;
}

/*
 * Two series of the same labels make a scrape fail, and tenants choose names:
 * one that isn't whole or isn't shown as it is has its id behind it, and so has
 * one that could look like that.
 */
static void group_label(FILE *out, const struct gs_view *view, const struct gpushare_share *group)
{
	bool whole = strlen(group->path) < sizeof(group->path) - 1 && !strchr(group->path, '#') &&
		     is_only(view, group);
	char name[sizeof(group->path) + 24];
	const char *s;

	for (s = group->path; *s && whole; s += gs_utf8_length(s))
		whole = gs_utf8_shown(s);
	snprintf(name, sizeof(name), "%s#%llu", group->path, (unsigned long long)group->group);
	label(out, "cgroup", whole ? group->path : name, false);
}

static void value(FILE *out, enum kind kind, uint64_t v)
{
	if (kind == COUNTER_SECONDS)
		fprintf(out, "} %llu.%09llu\n", (unsigned long long)(v / 1000000000),
			(unsigned long long)(v % 1000000000));
	else if (kind == GAUGE_RATIO)
		fprintf(out, "} %llu.%03llu\n", (unsigned long long)(v / 1000),
			(unsigned long long)(v % 1000));
	else if (kind == GAUGE_LIMIT && v == GPUSHARE_NO_LIMIT)
		fputs("} +Inf\n", out);
	else
		fprintf(out, "} %llu\n", (unsigned long long)v);
}

static void write_family(FILE *out, const struct metrics *m, const struct family *f)
{
	bool counter = f->kind == COUNTER || f->kind == COUNTER_SECONDS;
	const struct gs_group_on *on;
	char name[64], id[16];
	const void *member;
	size_t g, d;

	snprintf(name, sizeof(name), "cgroup_%s", f->name);
	head(out, m, name, f->help, counter, counter ? "counter" : "gauge");
	for (g = 0; g < m->view.nr_groups && g < m->most; g++) {
		for (d = 0; d < m->view.nr_devices; d++) {
			on = &m->view.groups[g].on[d];
			member = f->share ? (const char *)&on->share + f->offset :
				(const char *)&on->stats + f->offset;
			snprintf(id, sizeof(id), "%u", m->view.devices[d].info.device);
			fprintf(out, "gpushare_%s%s", name, counter ? "_total" : "");
			label(out, "gpu", id, true);
			group_label(out, &m->view, &m->view.groups[g].all);
			value(out, f->kind, f->narrow ? *(const uint32_t *)member :
			      *(const uint64_t *)member);
		}
	}
}

static void write_device_value(FILE *out, const struct metrics *m, const char *name,
			       const char *help, enum kind kind, size_t offset, bool narrow)
{
	bool counter = kind == COUNTER || kind == COUNTER_SECONDS;
	const void *member;
	char id[16];
	size_t d;

	head(out, m, name, help, counter, counter ? "counter" : "gauge");
	for (d = 0; d < m->view.nr_devices; d++) {
		member = narrow ? (const char *)&m->view.devices[d].info + offset :
			(const char *)&m->view.devices[d].stats + offset;
		snprintf(id, sizeof(id), "%u", m->view.devices[d].info.device);
		fprintf(out, "gpushare_%s%s", name, counter ? "_total" : "");
		label(out, "gpu", id, true);
		value(out, kind, narrow ? *(const uint32_t *)member : *(const uint64_t *)member);
	}
}

static void write_devices(FILE *out, const struct metrics *m)
{
	const struct gpushare_device *info;
	char id[16];
	size_t d;

	head(out, m, "device_info", "Devices that are shared", false, "gauge");
	for (d = 0; d < m->view.nr_devices; d++) {
		info = &m->view.devices[d].info;
		snprintf(id, sizeof(id), "%u", info->device);
		fputs("gpushare_device_info", out);
		label(out, "gpu", id, true);
		label(out, "key", info->key, false);
		label(out, "pci_bus_id", !strncmp(info->key, "pci:", 4) ? info->key + 4 : "", false);
		label(out, "kind", gs_kind_name(info->kind), false);
		label(out, "policy", gs_policy_name(info->policy), false);
		fputs("} 1\n", out);
	}
	write_device_value(out, m, "device_gpu_seconds", "Time that the device was held",
			   COUNTER_SECONDS, offsetof(struct gpushare_stats, usage_ns), false);
	write_device_value(out, m, "device_waiters", "Clients that wait for the device", GAUGE,
			   offsetof(struct gpushare_device, waiters), true);
	write_device_value(out, m, "device_clients", "Clients of the device", GAUGE,
			   offsetof(struct gpushare_device, clients), true);
	write_device_value(out, m, "device_memory_bytes", "Memory charged on the device", GAUGE,
			   offsetof(struct gpushare_stats, mem_current), false);
}

static int write_all(FILE *out, void *arg)
{
	const struct metrics *m = arg;
	size_t i;

	head(out, m, "build_info", "The tool and the arbiter", false, "gauge");
	fputs("gpushare_build_info", out);
	label(out, "version", GPUSHARE_RELEASE, true);
	label(out, "mode", gs_transport_is_kernel(m->ctl->arbiter) ? "kernel" : "daemon", false);
	fprintf(out, ",abi=\"%d\"} 1\n", GPUSHARE_ABI_VERSION);
	head(out, m, "settings_unkept", "1: the daemon's state file can't be written, what was set "
	     "last is lost with it", false, "gauge");
	fprintf(out, "gpushare_settings_unkept %d\n", gs_unkept(m->ctl) != 0);
	write_devices(out, m);
	for (i = 0; i < sizeof(group_families) / sizeof(*group_families); i++)
		write_family(out, m, &group_families[i]);
	head(out, m, "cgroups_left_out", "Groups beyond --max-groups", false, "gauge");
	fprintf(out, "gpushare_cgroups_left_out %zu\n",
		m->view.nr_groups > m->most ? m->view.nr_groups - (size_t)m->most : 0);
	if (m->openmetrics)
		fputs("# EOF\n", out);
	return ferror(out) ? -EIO : 0;
}

/* For the HTTP side: the metrics as they are now, or NULL. */
static char *answer(void *arg, bool openmetrics, size_t *size)
{
	struct metrics m = *(struct metrics *)arg;
	char *text = NULL;
	FILE *out;
	int rc;

	m.openmetrics = openmetrics;
	rc = gs_view_take(m.ctl, &m.view, GS_VIEW_GROUPS);
	if (rc) {
		/* The next one tries anew: the arbiter may have come back. */
		gs_transport_close(m.ctl->arbiter);
		m.ctl->arbiter = NULL;
		return NULL;
	}
	out = open_memstream(&text, size);
	if (out) {
		write_all(out, &m);
		fclose(out);
	}
	gs_view_free(&m.view);
	return text;
}

static int take_options(struct metrics *m)
{
	const char *const *v = m->ctl->values;

	m->most = 1000;
	m->openmetrics = !v[OPT_TEXTFILE];
	if (v[OPT_FORMAT] && strcmp(v[OPT_FORMAT], "openmetrics") &&
	    strcmp(v[OPT_FORMAT], "prometheus"))
		return gs_usage(m->ctl, "--format=%s: openmetrics or prometheus", v[OPT_FORMAT]);
	if (v[OPT_FORMAT])
		m->openmetrics = !strcmp(v[OPT_FORMAT], "openmetrics");
	if (v[OPT_MOST] && gs_parse_unsigned(v[OPT_MOST], 1000000, &m->most))
		return gs_usage(m->ctl, "--max-groups=%s: a number", v[OPT_MOST]);
	return 0;
}

static int run_metrics(struct gs_ctl *ctl, int argc, char **argv)
{
	const char *file = ctl->values[OPT_TEXTFILE] ? ctl->values[OPT_TEXTFILE] : "-";
	struct metrics m = { .ctl = ctl };
	uint64_t port;
	int rc;

	(void)argc;
	(void)argv;
	rc = take_options(&m);
	if (rc)
		return rc;
	if (ctl->values[OPT_LISTEN]) {
		if (gs_parse_unsigned(ctl->values[OPT_LISTEN], 65535, &port))
			return gs_usage(ctl, "--listen=%s: a port", ctl->values[OPT_LISTEN]);
		rc = gs_connect(ctl);
		if (rc)
			return rc;
		gs_catch_stop();
		return gs_http_serve(port, answer, &m);
	}
	rc = gs_view_take(ctl, &m.view, GS_VIEW_GROUPS);
	if (rc)
		return rc;
	rc = gs_file_replace(file, write_all, &m);
	gs_view_free(&m.view);
	return rc ? gs_error(GS_EXIT_FAILURE, file, "can't be written: %s", strerror(-rc)) : 0;
}

const struct gs_command gs_metrics_command = {
	.name = "metrics", .args = "", .options = options, .run = run_metrics,
	.summary = "Counters for Prometheus: on stdout, in a text file, or over HTTP",
	.details = "On stdout and over HTTP it is OpenMetrics, in a text file the older format that\n"
	"node_exporter reads; --format picks one.\n",
};
