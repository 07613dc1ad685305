// SPDX-License-Identifier: MIT
/* gpusharectl monitor: the arbiter's events as they happen, a line each. */
#include "amount.h"
#include "ctl.h"
#include "events.h"
#include "query.h"
#include "term.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { OPT_STAMP, OPT_COUNT, OPT_FOR, OPT_GRANTS };

static const struct gs_option options[] = {
	{ "timestamp", NULL, "begin each line with the time of day", 't' },
	{ "count", "N", "end after so many events", 'n' },
	{ "for", "TIME", "end after this time", 0 },
	{ "grants", NULL, "also what happens many times a second: requested, granted, ...", 'g' },
	{ NULL, NULL, NULL, 0 },
};

/* The wall clock's nanoseconds at the monotonic clock's 0. */
static uint64_t wall_offset(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec - gs_now();
}

/* Names of groups, taken anew when one isn't among them, but ten times a second at most. */
static struct gs_view names;
static uint64_t names_ns;

/* NULL: nobody knows it any more. */
static const char *path_of(struct gs_ctl *ctl, uint64_t group)
{
	const struct gs_group_view *g = gs_view_group(&names, group);

	if (!g && gs_now() - names_ns > 100000000) {
		gs_view_free(&names);
		if (gs_view_take(ctl, &names, GS_VIEW_GROUPS))
			names = (struct gs_view){ 0 };
		names_ns = gs_now();
		g = gs_view_group(&names, group);
	}
	return g ? g->all.path : NULL;
}

static void print_json(struct gs_ctl *ctl, const struct gpushare_event *e, uint64_t offset)
{
	const char *path = e->group ? path_of(ctl, e->group) : NULL;
	struct gs_json j;

	gs_json_begin(&j, stdout, ctl->pretty);
	gs_json_object(&j, NULL);
	gs_json_string(&j, "schema", "gpushare.event/1");
	gs_json_string(&j, "event", gs_event_name(e->type));
	gs_json_unsigned(&j, "time_usec", (e->time_ns + offset) / 1000);
	gs_json_unsigned(&j, "monotonic_ns", e->time_ns);
	gs_json_unsigned(&j, "device", e->device);
	gs_json_unsigned(&j, "group", e->group);
	gs_json_string(&j, "path", path ? path : "");
	gs_json_unsigned(&j, "client", e->client);
	gs_json_signed(&j, "pid", e->pid);
	gs_json_unsigned(&j, "value", e->value);
	gs_json_end(&j);
}

static void print_value(const struct gpushare_event *e)
{
	char a[GS_AMOUNT];

	switch (e->type) {
	case GPUSHARE_EVENT_GRANTED:
		printf(" slice %s", gs_time(a, e->value));
		break;
	case GPUSHARE_EVENT_CLIENT_LEFT:
		printf(" held %s in all", gs_time(a, e->value));
		break;
	case GPUSHARE_EVENT_YIELDED:
		printf(" held %s", gs_time(a, e->value));
		break;
	case GPUSHARE_EVENT_OVERRUN:
		printf(" late by %s", gs_time(a, e->value));
		break;
	case GPUSHARE_EVENT_THROTTLED:
		if (e->value > e->time_ns && e->value != GPUSHARE_FOREVER)
			printf(" for %s", gs_time(a, e->value - e->time_ns));
		break;
	case GPUSHARE_EVENT_MEM_DENIED:
		printf(" %s", gs_bytes(a, e->value));
		break;
	case GPUSHARE_EVENT_LOST:
		if (e->value)
			printf(" %llu events didn't fit", (unsigned long long)e->value);
		else
			fputs(" events didn't fit", stdout);
	}
}

static void print_line(struct gs_ctl *ctl, const struct gpushare_event *e, uint64_t offset)
{
	const char *path = e->group ? path_of(ctl, e->group) : NULL;
	time_t seconds = (e->time_ns + offset) / 1000000000;
	char stamp[32];
	struct tm tm;

	if (ctl->values[OPT_STAMP]) {
		strftime(stamp, sizeof(stamp), "%H:%M:%S", localtime_r(&seconds, &tm));
		printf("%s.%06llu ", stamp,
		       (unsigned long long)((e->time_ns + offset) / 1000 % 1000000));
	}
	if (ctl->colour && e->type == GPUSHARE_EVENT_LOST)
		fputs("\033[31m", stdout);
	fputs(gs_event_name(e->type), stdout);
	if (e->device)
		printf(" device %u", e->device);
	if (path) {
		fputs(" group ", stdout);
		gs_print_safe(stdout, path);
	} else if (e->group) {
		printf(" group %llu", (unsigned long long)e->group);
	}
	if (e->client)
		printf(" client %llu", (unsigned long long)e->client);
	if (e->pid)
		printf(" pid %d", e->pid);
	print_value(e);
	if (ctl->colour && e->type == GPUSHARE_EVENT_LOST)
		fputs("\033[0m", stdout);
	putchar('\n');
}

static int listen_to(struct gs_ctl *ctl, struct gs_events *events, uint64_t count, uint64_t until)
{
	uint64_t offset = wall_offset(), seen = 0, now;
	struct gpushare_event e;
	int rc;

	while (!gs_stopped() && seen < count) {
		now = gs_now();
		if (now >= until)
			return 0;
		rc = gs_events_next(events, &e, until - now > 1000000000 ? 1000 :
				    (int)((until - now) / 1000000) + 1);
		if (rc < 0)
			return gs_call_error("events", rc);
		if (!rc)
			continue;
		seen++;
		if (ctl->json)
			print_json(ctl, &e, offset);
		else
			print_line(ctl, &e, offset);
		if (fflush(stdout))
			return 0;	/* who read it is gone */
	}
	return 0;
}

static int run_monitor(struct gs_ctl *ctl, int argc, char **argv)
{
	uint64_t types = argc ? 0 : GS_EVENTS_ALL & ~GS_EVENTS_GRANTS, count = UINT64_MAX;
	uint64_t time_us, until = UINT64_MAX;
	struct gs_events *events;
	uint32_t type;
	int rc, i;

	for (i = 0; i < argc; i++) {
		type = gs_event_type(argv[i]);
		if (!type)
			return gs_usage(ctl, "%s: no such event", argv[i]);
		types |= 1ULL << type;
	}
	if (ctl->values[OPT_GRANTS])
		types |= GS_EVENTS_GRANTS;
	if (ctl->values[OPT_COUNT] &&
	    (gs_parse_unsigned(ctl->values[OPT_COUNT], UINT64_MAX, &count) || !count))
		return gs_usage(ctl, "--count=%s: a number from 1", ctl->values[OPT_COUNT]);
	if (ctl->values[OPT_FOR]) {
		if (gs_parse_us(ctl->values[OPT_FOR], &time_us) || time_us > 1000000000000)
			return gs_usage(ctl, "--for=%s: a time, as 10s", ctl->values[OPT_FOR]);
		until = gs_now() + time_us * 1000;
	}
	gs_catch_stop();
	rc = gs_events_open(ctl, types, &events);
	if (rc)
		return rc;
	rc = listen_to(ctl, events, count, until);
	gs_events_close(events);
	gs_view_free(&names);
	return rc;
}

const struct gs_command gs_monitor_command = {
	.name = "monitor", .args = "[EVENT...]", .options = options, .run = run_monitor,
	.operands = "event", .most = -1,
	.summary = "Events as they happen, a line each",
	.details = "Without EVENT: all but requested, granted, preempt and yielded, which happen many\n"
	"times a second (--grants). Events that the arbiter had to drop are told as lost.\n",
};
