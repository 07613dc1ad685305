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

enum { OPT_TEXTFILE, OPT_LISTEN, OPT_FORMAT, OPT_MOST, OPT_CLIENTS };

static const struct gs_option options[] = {
	{ "textfile", "FILE", "replace this file, for node_exporter's collector", 0 },
	{ "listen", "PORT", "answer http://127.0.0.1:PORT/metrics until stopped; or ADDRESS:PORT", 0 },
	{ "format", "FORMAT", "openmetrics or prometheus", 'f' },
	{ "max-groups", "N", "leave out groups beyond so many (1000)", 0 },
	{ "clients", NULL, "also a series of each figure for each client", 'c' },
	{ NULL, NULL, NULL, 0 },
};

/* NS and US are given in seconds. */
enum kind { COUNTER, COUNTER_NS, GAUGE, GAUGE_NS, GAUGE_US, GAUGE_MEGA, GAUGE_RATIO,
	    GAUGE_LIMIT, GAUGE_AVERAGE };

struct figure {
	const char *name, *help;
	enum kind kind;
	bool narrow;		/* 32 bits */
	size_t offset;		/* in its struct */
};

#define STATS(n, h, k, m) { n, h, k, false, offsetof(struct gpushare_stats, m) }
#define AVERAGE(n, h, m) { n, h, GAUGE_AVERAGE, true, offsetof(struct gpushare_stats, m) }
#define SHARE64(n, h, k, m) { n, h, k, false, offsetof(struct gpushare_share, m) }
#define SHARE32(n, h, k, m) { n, h, k, true, offsetof(struct gpushare_share, m) }
#define DEVICE64(n, h, k, m) { n, h, k, false, offsetof(struct gpushare_device, m) }
#define DEVICE32(n, h, k, m) { n, h, k, true, offsetof(struct gpushare_device, m) }

/* Of groups, devices and clients. */
static const struct figure counter_figures[] = {
	STATS("gpu_seconds", "Time held on the device", COUNTER_NS, usage_ns),
	STATS("wait_seconds", "Time its clients waited", COUNTER_NS, wait_ns),
	STATS("idle_seconds", "Time held with nothing to run, as far as told", COUNTER_NS, idle_ns),
	STATS("throttled_seconds", "Time it was held back by its max", COUNTER_NS, throttled_ns),
	STATS("grants", "Grants", COUNTER, grants),
	STATS("handoffs", "Grants right after another client's", COUNTER, handoffs),
	STATS("preemptions", "Grants that were asked back", COUNTER, preempts),
	STATS("late_yields", "Of those, yielded later than a slice", COUNTER, late),
	STATS("overruns", "Of those, taken back after the grace time", COUNTER, overruns),
	STATS("periods", "Periods of its max", COUNTER, periods),
	STATS("throttled_periods", "Of those, in which it was reached", COUNTER, throttled),
	STATS("memory_denied", "Memory charges refused", COUNTER, mem_denied),
	STATS("memory_waits", "Memory charges that had to wait", COUNTER, mem_waits),
	STATS("memory_wait_seconds", "Time that these waited", COUNTER_NS, mem_wait_ns),
	STATS("memory_wanted_bytes", "Memory that is waited for", GAUGE, mem_wanted),
	{ "memory_waiters", "Clients that wait for it", GAUGE, true,
	  offsetof(struct gpushare_stats, mem_waiters) },
	STATS("memory_crossed", "Charges refused as they would have waited for each other", COUNTER,
	      mem_crossed),
	STATS("memory_bytes", "Device memory charged", GAUGE, mem_current),
	STATS("memory_peak_bytes", "The most that was charged", GAUGE, mem_peak),
	STATS("memory_swapped_bytes", "Memory moved away from the device", GAUGE, mem_swapped),
	STATS("pressure_some_seconds", "Time in which some waited", COUNTER_NS, some_ns),
	STATS("pressure_full_seconds", "Time in which some waited and none ran", COUNTER_NS, full_ns),
	AVERAGE("pressure_some_ratio", "Part of the time in which some waited", some_avg),
	AVERAGE("pressure_full_ratio", "Part of the time in which some waited and none ran", full_avg),
};

static const struct figure share_figures[] = {
	SHARE32("weight", "Weight against its siblings", GAUGE, weight),
	SHARE32("min_ratio", "Guaranteed share", GAUGE_RATIO, min_permille),
	SHARE64("max_seconds", "Time it may have in a period", GAUGE_US, max_us),
	SHARE64("period_seconds", "Period of its max", GAUGE_US, period_us),
	SHARE64("burst_seconds", "What it may save up of its max", GAUGE_US, burst_us),
	SHARE32("entitled_ratio", "Share that the rules give beside those who run now", GAUGE_RATIO,
		entitled_permille),
	SHARE32("clients", "Clients in the group itself", GAUGE, clients),
	SHARE64("memory_max_bytes", "Memory limit", GAUGE_LIMIT, mem_max),
	SHARE64("memory_high_bytes", "Memory beyond which it moves out first", GAUGE_LIMIT, mem_high),
	SHARE64("memory_min_bytes", "Memory up to which it is spared", GAUGE_LIMIT, mem_min),
	SHARE64("memory_wait_limit_seconds", "How long memory is waited for, 0: as above it says",
		GAUGE_US, mem_wait_us),
};

static const struct figure device_figures[] = {
	DEVICE32("clients", "Clients of the device", GAUGE, clients),
	DEVICE32("waiters", "Clients that wait for the device", GAUGE, waiters),
	DEVICE32("holders", "Clients that hold a grant", GAUGE, holders),
	DEVICE32("seats", "Clients that may hold one at once", GAUGE, seats),
	DEVICE32("slice_seconds", "Length of a slice", GAUGE_US, slice_us),
	DEVICE32("linger_seconds", "How long who is idle keeps its grant", GAUGE_US, linger_us),
	DEVICE32("grace_seconds", "How late a yield may be", GAUGE_US, grace_us),
	DEVICE32("kill_seconds", "How late it may be before it is killed, 0: for ever", GAUGE_US, kill_us),
	DEVICE32("epoch_seconds", "Time over which min is kept", GAUGE_US, epoch_us),
	DEVICE32("latency_seconds", "Target of waits, 0: none", GAUGE_US, latency_us),
	DEVICE32("units", "Compute units, 0: unknown", GAUGE, units),
	DEVICE32("unit_threads", "Threads of a unit, 0: unknown", GAUGE, unit_threads),
	DEVICE32("unit_registers", "Registers of a unit, 0: unknown", GAUGE, unit_registers),
	DEVICE32("unit_local_bytes", "Local memory of a unit, 0: unknown", GAUGE, unit_local_bytes),
	DEVICE32("bandwidth_bytes_per_second", "Of moving memory to and from it, 0: unknown",
		 GAUGE_MEGA, bandwidth_mbps),
	DEVICE64("memory_capacity_bytes", "Its memory, 0: unknown", GAUGE, mem_bytes),
	DEVICE32("oversubscribe", "1: more may be charged than it has", GAUGE, oversubscribe),
	DEVICE64("memory_wait_limit_seconds", "How long memory is waited for", GAUGE_US, mem_wait_us),
};

static const struct figure client_figures[] = {
	STATS("progress", "Work done, as the client says", GAUGE, progress),
	STATS("busy_seconds", "Time that the device worked, as the client says", GAUGE_NS, busy_ns),
	STATS("unscheduled", "Launches that went past the gate, as the client says", GAUGE, unscheduled),
	{ "workers", "Workers that may be resident, 0: no limit", GAUGE, true,
	  offsetof(struct gpushare_stats, workers) },
};

#define EACH(f, table) \
	for ((f) = (table); (f) < (table) + sizeof(table) / sizeof(*(table)); (f)++)

struct metrics {
	struct gs_ctl *ctl;
	struct gs_view view;
	bool openmetrics, clients;
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

static void decimal(FILE *out, uint64_t v, unsigned int unit, int digits)
{
	fprintf(out, "%llu.%0*llu", (unsigned long long)(v / unit), digits,
		(unsigned long long)(v % unit));
}

static void value(FILE *out, const struct figure *f, const void *from)
{
	const char *at = (const char *)from + f->offset;
	uint64_t v = f->narrow ? *(const uint32_t *)at : *(const uint64_t *)at;

	fputs("} ", out);
	if ((f->kind == GAUGE_LIMIT || f->kind == GAUGE_US) && !f->narrow && v == GPUSHARE_NO_LIMIT)
		fputs("+Inf", out);
	else if (f->kind == COUNTER_NS || f->kind == GAUGE_NS)
		decimal(out, v, 1000000000, 9);
	else if (f->kind == GAUGE_US)
		decimal(out, v, 1000000, 6);
	else if (f->kind == GAUGE_MEGA)
		fprintf(out, "%llu", (unsigned long long)v * 1000000);
	else if (f->kind == GAUGE_RATIO)
		decimal(out, v, 1000, 3);
	else
		fprintf(out, "%llu", (unsigned long long)v);
	fputc('\n', out);
}

static bool is_counter(const struct figure *f)
{
	return f->kind == COUNTER || f->kind == COUNTER_NS;
}

static void figure_head(FILE *out, const struct metrics *m, const char *of, const struct figure *f)
{
	char name[96];

	snprintf(name, sizeof(name), "%s_%s", of, f->name);
	head(out, m, name, f->help, is_counter(f), is_counter(f) ? "counter" : "gauge");
}

/* One figure of something, whose labels @labels writes, the first with a brace before it. */
static void sample(FILE *out, const struct metrics *m, const char *of, const struct figure *f,
		   const void *from, void (*labels)(FILE *, const struct metrics *, size_t, size_t),
		   size_t i, size_t d)
{
	static const char *const windows[] = { "10s", "60s", "300s" };
	const uint32_t *averages = (const uint32_t *)((const char *)from + f->offset);
	unsigned int k;

	for (k = 0; k < (f->kind == GAUGE_AVERAGE ? 3 : 1); k++) {
		fprintf(out, "gpushare_%s_%s%s", of, f->name, is_counter(f) ? "_total" : "");
		labels(out, m, i, d);
		if (f->kind != GAUGE_AVERAGE) {
			value(out, f, from);
			continue;
		}
		label(out, "window", windows[k], false);
		fputs("} ", out);
		decimal(out, averages[k], 10000, 4);	/* of hundredths of a per cent */
		fputc('\n', out);
	}
}

static void gpu_label(FILE *out, uint32_t device)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", device);
	label(out, "gpu", id, true);
}

static void group_labels(FILE *out, const struct metrics *m, size_t group, size_t d)
{
	gpu_label(out, m->view.devices[d].info.device);
	group_label(out, &m->view, &m->view.groups[group].all);
}

static void device_labels(FILE *out, const struct metrics *m, size_t i, size_t d)
{
	(void)d;
	gpu_label(out, m->view.devices[i].info.device);
}

static void client_labels(FILE *out, const struct metrics *m, size_t i, size_t d)
{
	char id[24];

	(void)d;
	gpu_label(out, m->view.clients[i].device);
	snprintf(id, sizeof(id), "%llu", (unsigned long long)m->view.clients[i].id);
	label(out, "client", id, false);
}

static size_t groups_shown(const struct metrics *m)
{
	return m->view.nr_groups < m->most ? m->view.nr_groups : (size_t)m->most;
}

static void write_group_figure(FILE *out, const struct metrics *m, const struct figure *f,
			       bool share)
{
	const struct gs_group_on *on;
	size_t g, d;

	figure_head(out, m, "cgroup", f);
	for (g = 0; g < groups_shown(m); g++)
		for (d = 0; d < m->view.nr_devices; d++) {
			on = &m->view.groups[g].on[d];
			sample(out, m, "cgroup", f, share ? (const void *)&on->share : &on->stats,
			       group_labels, g, d);
		}
}

/* What was set for it: for all devices, or for this one. */
static void set_label(FILE *out, uint32_t mask)
{
	const struct gs_prop *p;
	char list[256] = "";

	for (p = gs_share_props; p->name; p++)
		if (mask & p->mask && strlen(list) + strlen(p->json) + 2 < sizeof(list)) {
			strcat(list, *list ? "," : "");
			strcat(list, p->json);
		}
	label(out, "set", list, false);
}

static void write_groups(FILE *out, const struct metrics *m)
{
	const struct gs_group_view *g;
	const struct figure *f;
	char text[GS_VALUE];
	size_t i, d;

	head(out, m, "cgroup_info", "Groups: what they are, their class, and what was set for them",
	     false, "gauge");
	for (i = 0; i < groups_shown(m); i++)
		for (d = 0; d < m->view.nr_devices; d++) {
			g = &m->view.groups[i];
			fputs("gpushare_cgroup_info", out);
			group_labels(out, m, i, d);
			snprintf(text, sizeof(text), "%llu", (unsigned long long)g->all.group);
			label(out, "id", text, false);
			snprintf(text, sizeof(text), "%llu", (unsigned long long)g->all.parent);
			label(out, "parent", text, false);
			label(out, "kind", gs_group_kind_name(g->all.kind), false);
			snprintf(text, sizeof(text), "%llu", (unsigned long long)g->all.tenant);
			label(out, "tenant", text, false);
			gs_share_format(&g->on[d].share, gs_prop_find(gs_share_props, "class"), text);
			label(out, "class", text, false);
			gs_share_format(&g->on[d].share, gs_prop_find(gs_share_props, "mem.full"), text);
			label(out, "memory_full", text, false);
			set_label(out, g->all.mask | g->on[d].share.mask);
			fputs("} 1\n", out);
		}
	EACH(f, counter_figures)
		write_group_figure(out, m, f, false);
	EACH(f, share_figures)
		write_group_figure(out, m, f, true);
}

static void write_devices(FILE *out, const struct metrics *m)
{
	const struct gpushare_device *info;
	const struct figure *f;
	char text[GS_VALUE];
	size_t d;

	head(out, m, "device_info", "Devices that are shared", false, "gauge");
	for (d = 0; d < m->view.nr_devices; d++) {
		info = &m->view.devices[d].info;
		fputs("gpushare_device_info", out);
		gpu_label(out, info->device);
		label(out, "key", info->key, false);
		label(out, "pci_bus_id", !strncmp(info->key, "pci:", 4) ? info->key + 4 : "", false);
		label(out, "kind", gs_kind_name(info->kind), false);
		label(out, "policy", gs_policy_name(info->policy), false);
		gs_device_format(info, gs_prop_find(gs_device_props, "quota"), text);
		label(out, "quota", text, false);
		gs_device_format(info, gs_prop_find(gs_device_props, "workers"), text);
		label(out, "workers", text, false);
		gs_device_format(info, gs_prop_find(gs_device_props, "mem.full"), text);
		label(out, "memory_full", text, false);
		fputs("} 1\n", out);
	}
	EACH(f, counter_figures) {
		figure_head(out, m, "device", f);
		for (d = 0; d < m->view.nr_devices; d++)
			sample(out, m, "device", f, &m->view.devices[d].stats, device_labels, d, 0);
	}
	EACH(f, device_figures) {
		figure_head(out, m, "device", f);
		for (d = 0; d < m->view.nr_devices; d++)
			sample(out, m, "device", f, &m->view.devices[d].info, device_labels, d, 0);
	}
}

static void write_client_figure(FILE *out, const struct metrics *m, const struct figure *f)
{
	size_t i;

	figure_head(out, m, "client", f);
	for (i = 0; i < m->view.nr_clients; i++)
		sample(out, m, "client", f, &m->view.clients[i], client_labels, i, 0);
}

static void write_clients(FILE *out, const struct metrics *m)
{
	const struct gpushare_stats *c;
	const struct gs_group_view *g;
	const struct figure *f;
	char text[24];
	size_t i;

	head(out, m, "client_info", "Clients: whose they are, and their state", false, "gauge");
	for (i = 0; i < m->view.nr_clients; i++) {
		c = &m->view.clients[i];
		fputs("gpushare_client_info", out);
		client_labels(out, m, i, 0);
		g = gs_view_group(&m->view, c->group);
		if (g)
			group_label(out, &m->view, &g->all);
		snprintf(text, sizeof(text), "%d", c->pid);
		label(out, "pid", text, false);
		snprintf(text, sizeof(text), "%u", c->uid);
		label(out, "uid", text, false);
		label(out, "comm", c->comm, false);
		label(out, "state", gs_state_name(c->state), false);
		fputs("} 1\n", out);
	}
	head(out, m, "client_state_seconds", "For how long it has been in its state", false, "gauge");
	for (i = 0; i < m->view.nr_clients; i++) {
		c = &m->view.clients[i];
		fputs("gpushare_client_state_seconds", out);
		client_labels(out, m, i, 0);
		fputs("} ", out);
		decimal(out, c->now_ns > c->since_ns ? c->now_ns - c->since_ns : 0, 1000000000, 9);
		fputc('\n', out);
	}
	EACH(f, counter_figures)
		write_client_figure(out, m, f);
	EACH(f, client_figures)
		write_client_figure(out, m, f);
}

static int write_all(FILE *out, void *arg)
{
	const struct metrics *m = arg;

	head(out, m, "build_info", "The tool and the arbiter", false, "gauge");
	fputs("gpushare_build_info", out);
	label(out, "version", GPUSHARE_RELEASE, true);
	label(out, "mode", gs_transport_is_kernel(m->ctl->arbiter) ? "kernel" : "daemon", false);
	fprintf(out, ",abi=\"%d\"} 1\n", GPUSHARE_ABI_VERSION);
	head(out, m, "settings_unkept", "1: the daemon's state file can't be written, what was set "
	     "last is lost with it", false, "gauge");
	fprintf(out, "gpushare_settings_unkept %d\n", gs_unkept(m->ctl) != 0);
	head(out, m, "callers_turned_away", "Callers that the daemon refused for want of room", true,
	     "counter");
	fprintf(out, "gpushare_callers_turned_away_total %llu\n",
		(unsigned long long)gs_transport_turned_away(m->ctl->arbiter));
	write_devices(out, m);
	write_groups(out, m);
	if (m->clients)
		write_clients(out, m);
	head(out, m, "cgroups_left_out", "Groups beyond --max-groups", false, "gauge");
	fprintf(out, "gpushare_cgroups_left_out %zu\n",
		m->view.nr_groups > m->most ? m->view.nr_groups - (size_t)m->most : 0);
	if (m->openmetrics)
		fputs("# EOF\n", out);
	return ferror(out) ? -EIO : 0;
}

static unsigned int what_of(const struct metrics *m)
{
	return GS_VIEW_GROUPS | (m->clients ? GS_VIEW_CLIENTS : 0);
}

/* For the HTTP side: the metrics as they are now. */
static bool answer(void *arg, const struct gs_http_request *request, struct gs_http_reply *reply)
{
	struct metrics m = *(struct metrics *)arg;
	FILE *out;

	if (strcmp(request->path, "/metrics"))
		return false;
	m.openmetrics = request->openmetrics;
	reply->type = m.openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8" :
		"text/plain; version=0.0.4; charset=utf-8";
	out = gs_view_take(m.ctl, &m.view, what_of(&m)) ? NULL :
		open_memstream(&reply->text, &reply->size);
	if (out) {
		write_all(out, &m);
		if (!fclose(out)) {
			gs_view_free(&m.view);
			return true;
		}
		free(reply->text);
		reply->text = NULL;
	}
	/* The next one tries anew: the arbiter may have come back. */
	gs_view_free(&m.view);
	gs_leave_arbiter(m.ctl);
	reply->status = 503;
	reply->type = "text/plain; charset=utf-8";
	reply->constant = "no arbiter answers\n";
	reply->size = strlen(reply->constant);
	return true;
}

static int take_options(struct metrics *m)
{
	const char *const *v = m->ctl->values;

	m->most = 1000;
	m->clients = v[OPT_CLIENTS];
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
	const struct gs_http http = {
		.name = "metrics", .path = "/metrics", .any_host = true, .connections = 16,
		.answer = answer, .arg = &m,
	};
	int rc;

	(void)argc;
	(void)argv;
	rc = take_options(&m);
	if (rc)
		return rc;
	if (ctl->values[OPT_LISTEN]) {
		rc = gs_connect(ctl);
		if (rc)
			return rc;
		gs_catch_stop();
		return gs_http_serve(&http, ctl->values[OPT_LISTEN]);
	}
	rc = gs_view_take(ctl, &m.view, what_of(&m));
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
