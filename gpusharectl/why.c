// SPDX-License-Identifier: MIT
/* gpusharectl why: why a process waits; who holds, until when, which limit. */
#include "amount.h"
#include "ctl.h"
#include "groups.h"
#include "props.h"
#include "target.h"
#include "term.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US		200000	/* between the two looks that rates come from */

struct why {
	struct gs_ctl *ctl;
	struct gs_view before, now;
	struct gs_json j;
};

/* One reason, as a line or as a member of the array. */
__attribute__((format(printf, 3, 4)))
static void reason(struct why *w, const char *kind, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (w->ctl->json) {
		gs_json_object(&w->j, NULL);
		gs_json_string(&w->j, "kind", kind);
		gs_json_string(&w->j, "text", text);
		gs_json_end(&w->j);
	} else {
		fputs("  ", stdout);
		gs_print_safe(stdout, text);
		putchar('\n');
	}
}

static const char *path_of(const struct why *w, uint64_t group)
{
	const struct gs_group_view *g = gs_view_group(&w->now, group);

	return g ? g->all.path : "a group that you may not see";
}

static void tell_holders(struct why *w, const struct gpushare_stats *c)
{
	const struct gs_device_view *d = gs_view_device(&w->now, c->device);
	const struct gpushare_stats *h;
	char held[GS_AMOUNT], slice[GS_AMOUNT];
	unsigned int holders = 0, others = 0;
	size_t i;

	for (i = 0; i < w->now.nr_clients; i++) {
		h = &w->now.clients[i];
		if (h->device != c->device || h->id == c->id)
			continue;
		others += !!(h->state & GPUSHARE_WAITING);
		if (!(h->state & GPUSHARE_GRANTED))
			continue;
		holders++;
		gs_time(held, h->now_ns > h->since_ns ? h->now_ns - h->since_ns : 0);
		if (h->state & GPUSHARE_PREEMPT)
			reason(w, "holder", "pid %d (%s, in %s) holds it for %s and was asked to yield",
			       h->pid, h->comm, path_of(w, h->group), held);
		else
			reason(w, "holder", "pid %d (%s, in %s) holds it for %s, of a slice of %s",
			       h->pid, h->comm, path_of(w, h->group), held,
			       gs_time(slice, d ? d->info.slice_us * 1000ULL : 0));
	}
	if (!holders)
		reason(w, "holder", d && d->info.holders ? "somebody whom you may not see holds it" :
		       "nobody holds it at this moment");
	if (others)
		reason(w, "queue", "%u other client%s wait%s too", others, others == 1 ? "" : "s",
		       others == 1 ? "s" : "");
}

/* What it wants, for how long, and who has most of what there is. */
static void tell_memory(struct why *w, const struct gpushare_stats *c)
{
	const struct gs_device_view *d = gs_view_device(&w->now, c->device);
	const struct gpushare_stats *h, *most = NULL;
	char a[GS_AMOUNT], b[GS_AMOUNT];
	unsigned int others = 0;
	size_t i;

	if (!c->mem_wanted)
		return;
	for (i = 0; i < w->now.nr_clients; i++) {
		h = &w->now.clients[i];
		if (h->device != c->device || h->id == c->id)
			continue;
		others += !!h->mem_wanted;
		if (h->mem_current && (!most || h->mem_current > most->mem_current))
			most = h;
	}
	reason(w, "memory-wait", "it waits for %s of memory, and has waited %s for memory in all; "
	       "it goes on when others give back enough, or is refused after its mem.wait",
	       gs_bytes(a, c->mem_wanted), gs_time(b, c->mem_wait_ns));
	if (d)
		reason(w, "memory-wait", "the device has %s, %s of it are in use",
		       gs_bytes(a, d->info.mem_bytes ? d->info.mem_bytes : GPUSHARE_NO_LIMIT),
		       gs_bytes(b, d->stats.mem_current));
	if (most)
		reason(w, "memory-wait", "pid %d (%s, in %s) has most of it of those that you may see: "
		       "%s%s", most->pid, most->comm, path_of(w, most->group),
		       gs_bytes(a, most->mem_current), most->mem_wanted ? ", and waits for more" : "");
	if (others)
		reason(w, "memory-wait", "%u other client%s wait%s for memory, too", others,
		       others == 1 ? "" : "s", others == 1 ? "s" : "");
}

/* What is set on the way to the root. */
static void tell_limits(struct why *w, const struct gpushare_stats *c)
{
	size_t d = gs_view_device_index(&w->now, c->device), g;
	const struct gs_group_on *on;
	struct gs_rate rate;
	char value[GS_VALUE], a[GS_AMOUNT], b[GS_AMOUNT];
	unsigned int depth;
	uint64_t group = c->group;

	for (depth = 0; group && depth < 64 && d < w->now.nr_devices; depth++) {
		for (g = 0; g < w->now.nr_groups && w->now.groups[g].all.group != group; g++)
			;
		if (g == w->now.nr_groups)
			return;
		on = &w->now.groups[g].on[d];
		rate = gs_group_rate(&w->before, &w->now, g, d);
		if (!depth)
			reason(w, "share", "its group %s is entitled to %s, and got %s of the "
			       "last %dms", path_of(w, group),
			       gs_permille(a, on->share.entitled_permille),
			       gs_permille(b, rate.used), LOOK_US / 1000);
		if (on->share.max_us != GPUSHARE_NO_LIMIT) {
			gs_share_format(&on->share, gs_prop_find(gs_share_props, "max"), value);
			reason(w, rate.throttled ? "throttled" : "limit", rate.throttled ?
			       "%s has max=%s, and it is used up: it goes on in the next period (of "
			       "%s)" : "%s has max=%s, in periods of %s", path_of(w, group), value,
			       gs_time(a, on->share.period_us * 1000));
		}
		if (on->share.class == GPUSHARE_CLASS_IDLE)
			reason(w, "class", "%s is of class idle: it runs when nobody else wants to",
			       path_of(w, group));
		if (on->stats.mem_denied)
			reason(w, "memory", "%s was refused memory %llu times; mem.max=%s, it has %s",
			       path_of(w, group), (unsigned long long)on->stats.mem_denied,
			       gs_bytes(a, on->share.mem_max), gs_bytes(b, on->stats.mem_current));
		group = w->now.groups[g].all.parent;
	}
}

static void tell_client(struct why *w, const struct gpushare_stats *c)
{
	const struct gs_device_view *d = gs_view_device(&w->now, c->device);
	uint64_t since = c->now_ns > c->since_ns ? c->now_ns - c->since_ns : 0;
	char a[GS_AMOUNT];

	if (w->ctl->json) {
		gs_json_object(&w->j, NULL);
		gs_json_unsigned(&w->j, "client", c->id);
		gs_json_unsigned(&w->j, "device", c->device);
		gs_json_string(&w->j, "key", d ? d->info.key : "");
		gs_json_string(&w->j, "group", path_of(w, c->group));
		gs_json_string(&w->j, "state", gs_state_name(c->state));
		gs_json_unsigned(&w->j, "since_usec", since / 1000);
		gs_json_array(&w->j, "reasons");
	} else {
		printf("pid %d (", c->pid);
		gs_print_safe(stdout, c->comm);
		fputs(") on ", stdout);
		gs_print_safe(stdout, d ? d->info.key : "a device");
		printf(": %s for %s\n", gs_state_name(c->state), gs_time(a, since));
	}
	tell_memory(w, c);
	if (c->state & GPUSHARE_WAITING)
		tell_holders(w, c);
	else if (c->state & GPUSHARE_GONE)
		reason(w, "device", "its device was removed: no grant will come");
	else if (!(c->state & GPUSHARE_GRANTED))
		reason(w, "idle", "it doesn't wait: it has asked for nothing since then");
	tell_limits(w, c);
	if (c->unscheduled)
		reason(w, "ungated", "%llu of its launches went past the gate",
		       (unsigned long long)c->unscheduled);
	if (w->ctl->json) {
		gs_json_end(&w->j);
		gs_json_end(&w->j);
	}
}

static int parent_of(int pid)
{
	char name[64], line[256];
	const char *end;
	int parent = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	f = fopen(name, "re");
	if (!f)
		return 0;
	/* The command stands in brackets, and may hold some. */
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (end)
		sscanf(end + 1, " %*c %d", &parent);
	fclose(f);
	return parent;
}

/* The process itself, or one that it has started: a shell, or gpusharectl run. */
static bool is_of_process(int pid, int ancestor)
{
	unsigned int depth;

	for (depth = 0; pid > 0 && depth < 64; depth++) {
		if (pid == ancestor)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

/* In the cgroup, or below it. */
static bool is_in_cgroup(int pid, const char *cgroup)
{
	size_t length = strlen(cgroup);
	char path[PATH_MAX];

	if (!strcmp(cgroup, "/"))
		return true;
	return !gs_cgroup_of(pid, path, sizeof(path)) && !strncmp(path, cgroup, length) &&
		(!path[length] || path[length] == '/');
}

/* Who is asked about: a process and what it started, or whoever is in a group. */
struct whom {
	int pid;
	struct gs_target target;
};

static bool is_meant(const struct why *w, const struct whom *whom, const struct gpushare_stats *c)
{
	const struct gs_group_view *g = gs_view_group(&w->now, c->group);

	if (whom->pid)
		return is_of_process(c->pid, whom->pid);
	return (g && g->all.group == whom->target.group) ||
		(*whom->target.path == '/' && c->pid && is_in_cgroup(c->pid, whom->target.path));
}

static int nobody(const struct whom *whom, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d", whom->pid);
	if (whom->pid && access(name, F_OK))
		return gs_error(GS_EXIT_NOT_FOUND, text, "no such process");
	return gs_error(GS_EXIT_NOT_FOUND, text, "the arbiter knows no client of this %s: it doesn't "
			"use a shared device, or not through gpushare",
			whom->pid ? "process, or of one that it started" : "group");
}

static int explain(struct why *w, const struct whom *whom, const char *text)
{
	bool *meant = calloc(w->now.nr_clients + 1, sizeof(*meant));
	size_t i, found = 0;

	for (i = 0; meant && i < w->now.nr_clients; i++)
		found += meant[i] = is_meant(w, whom, &w->now.clients[i]);
	if (!found) {
		free(meant);
		return nobody(whom, text);
	}
	if (w->ctl->json) {
		gs_answer_begin(&w->j, w->ctl, "why");
		gs_json_signed(&w->j, "pid", whom->pid);
		gs_json_array(&w->j, "clients");
	}
	for (i = 0; i < w->now.nr_clients; i++)
		if (meant[i])
			tell_client(w, &w->now.clients[i]);
	free(meant);
	if (w->ctl->json) {
		gs_json_end(&w->j);
		gs_json_end(&w->j);
	}
	return 0;
}

static int run_why(struct gs_ctl *ctl, int argc, char **argv)
{
	struct whom whom = { .target.cgroup_fd = -1 };
	struct why w = { .ctl = ctl };
	const char *text = argv[0];
	uint64_t pid = 0;
	int rc;

	(void)argc;
	if (!strncmp(text, "pid:", 4))
		text += 4;
	if (isdigit((unsigned char)*text) && (gs_parse_unsigned(text, INT_MAX, &pid) || !pid))
		return gs_usage(ctl, "%s: not a process id", text);
	whom.pid = (int)pid;
	rc = gs_view_twice(ctl, LOOK_US, GS_VIEW_GROUPS | GS_VIEW_CLIENTS, &w.before, &w.now);
	if (rc)
		return rc;
	if (!pid)
		rc = gs_target_find(ctl, &w.now, text, GS_TARGET_LATER, &whom.target);
	if (!rc)
		rc = explain(&w, &whom, text);
	gs_target_close(&whom.target);
	gs_view_free(&w.before);
	gs_view_free(&w.now);
	return rc;
}

const struct gs_command gs_why_command = {
	.name = "why", .args = "PID|TARGET", .run = run_why, .operands = "pid", .least = 1, .most = 1,
	.summary = "Why a process or a group waits: who holds, until when, which limit",
	.details = "Of a process also those that it has started. TARGET as for set: a unit, a job, ...\n",
};
