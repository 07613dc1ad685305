// SPDX-License-Identifier: MIT
/*
 * gpusharectl record: events into a trace file, with the names and shares of
 * those whom they speak of. Names are asked for when something new appears or a
 * share is set, on the connection for commands, while events wait on theirs.
 */
#include "amount.h"
#include "ulib/transport.h"
#include "ctl.h"
#include "events.h"
#include "query.h"
#include "term.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_NS	1000000000ULL
#define RENAME_NS	50000000ULL

enum { OPT_OUTPUT, OPT_FOR, OPT_SIZE };

static const struct gs_option options[] = {
	{ "output", "FILE", "where to (gpushare.trace)", 'o' },
	{ "for", "TIME", "end after this time", 0 },
	{ "size", "SIZE", "end when the file has this size (1G)", 0 },
	{ NULL, NULL, NULL, 0 },
};

struct recorder {
	struct gs_ctl *ctl;
	struct gs_events *events;
	FILE *out;
	const char *file;
	uint64_t until_ns, most_bytes, bytes;
	uint64_t flushed_ns, named_ns;
	uint64_t nr_events, lost;
	bool stale;		/* names aren't as they were written */
	pid_t child;
	int status;		/* the child's, when it ended */
};

static int write_name(struct recorder *r, struct gs_trace_name *n, const char *name)
{
	snprintf(n->name, sizeof(n->name), "%s", name);
	n->time_ns = gs_now();
	r->bytes += sizeof(*n);
	return gs_trace_write_name(r->out, n);
}

static int write_group(struct recorder *r, const struct gs_view *view,
		       const struct gs_group_view *g)
{
	struct gs_trace_name n;
	int rc = 0;
	size_t d;

	for (d = 0; d < view->nr_devices && !rc; d++) {
		n = (struct gs_trace_name){
			.id = g->all.group, .parent = g->all.parent, .kind = GS_TRACE_GROUP,
			.device = view->devices[d].info.device, .weight = g->on[d].share.weight,
			.entitled = g->on[d].share.entitled_permille,
		};
		rc = write_name(r, &n, g->all.path);
	}
	return rc;
}

static int write_names(struct recorder *r)
{
	struct gs_trace_name n;
	struct gs_view view;
	size_t i;
	int rc;

	r->stale = false;
	r->named_ns = gs_now();
	rc = gs_view_take(r->ctl, &view, GS_VIEW_GROUPS | GS_VIEW_CLIENTS);
	if (rc)
		return rc;
	for (i = 0; i < view.nr_devices && !rc; i++) {
		n = (struct gs_trace_name){ .id = view.devices[i].info.device,
					    .kind = GS_TRACE_DEVICE, .entitled = GS_TRACE_UNKNOWN };
		rc = write_name(r, &n, view.devices[i].info.key);
	}
	for (i = 0; i < view.nr_groups && !rc; i++)
		rc = write_group(r, &view, &view.groups[i]);
	for (i = 0; i < view.nr_clients && !rc; i++) {
		n = (struct gs_trace_name){
			.id = view.clients[i].id, .parent = view.clients[i].group,
			.kind = GS_TRACE_CLIENT, .pid = view.clients[i].pid,
			.entitled = GS_TRACE_UNKNOWN,
		};
		rc = write_name(r, &n, view.clients[i].comm);
	}
	gs_view_free(&view);
	return rc < 0 ? gs_error(GS_EXIT_FAILURE, r->file, "can't be written: %s", strerror(errno)) :
		rc;
}

static int take_event(struct recorder *r, const struct gpushare_event *e)
{
	switch (e->type) {
	case GPUSHARE_EVENT_CLIENT_JOINED:
	case GPUSHARE_EVENT_SHARE_SET:
	case GPUSHARE_EVENT_GROUP_ADDED:
	case GPUSHARE_EVENT_DEVICE_ADDED:
		r->stale = true;
		break;
	case GPUSHARE_EVENT_LOST:
		r->lost += e->value ? e->value : 1;
	}
	r->nr_events++;
	r->bytes += sizeof(*e) + 4;
	if (gs_trace_write_event(r->out, e))
		return gs_error(GS_EXIT_FAILURE, r->file, "can't be written: %s", strerror(errno));
	return 0;
}

static bool child_ended(struct recorder *r)
{
	if (r->child <= 0 || waitpid(r->child, &r->status, WNOHANG) != r->child)
		return false;
	r->child = 0;
	return true;
}

static int record(struct recorder *r)
{
	struct gpushare_event e;
	uint64_t now;
	int rc;

	for (;;) {
		now = gs_now();
		if (gs_stopped() || now >= r->until_ns || r->bytes >= r->most_bytes ||
		    child_ended(r))
			return 0;
		/* Names come soon after they changed, but not with each of many changes. */
		if (r->stale && now - r->named_ns > RENAME_NS) {
			rc = write_names(r);
			if (rc)
				return rc;
		}
		if (now - r->flushed_ns > FLUSH_NS) {
			if (fflush(r->out))
				return gs_error(GS_EXIT_FAILURE, r->file, "can't be written: %s",
						strerror(errno));
			r->flushed_ns = now;
		}
		rc = gs_events_next(r->events, &e, 20);
		if (rc == -EPIPE)
			return gs_error(GS_EXIT_ABSENT, "arbiter", "it went away; what came until "
					"then is in %s", r->file);
		if (rc < 0)
			return gs_call_error("events", rc);
		if (rc) {
			rc = take_event(r, &e);
			if (rc)
				return rc;
		}
	}
}

static int start_child(struct recorder *r, char **argv)
{
	int rc;

	r->child = fork();
	if (r->child < 0)
		return gs_error(GS_EXIT_RUN_FAILED, argv[0], "can't be run: %s", strerror(errno));
	if (r->child)
		return 0;
	setenv("GPUSHARE_ARBITER", gs_transport_path(r->ctl->arbiter), 1);
	execvp(argv[0], argv);
	rc = errno == ENOENT ? GS_EXIT_RUN_NOT_FOUND : GS_EXIT_RUN_DENIED;
	_exit(gs_error(rc, argv[0], "can't be run: %s", strerror(errno)));
}

static int end_child(struct recorder *r)
{
	if (r->child > 0) {
		kill(r->child, SIGTERM);
		while (waitpid(r->child, &r->status, 0) < 0 && errno == EINTR)
			;
	}
	return WIFSIGNALED(r->status) ? 128 + WTERMSIG(r->status) : WEXITSTATUS(r->status);
}

static int run_open(struct recorder *r, char **argv)
{
	struct timespec wall;
	int rc;

	clock_gettime(CLOCK_REALTIME, &wall);
	if (gs_trace_write_header(r->out, gs_now(), wall.tv_sec * 1000000000ULL + wall.tv_nsec))
		return gs_error(GS_EXIT_FAILURE, r->file, "can't be written: %s", strerror(errno));
	rc = write_names(r);
	if (!rc && argv[0])
		rc = start_child(r, argv);
	if (!rc)
		rc = record(r);
	if (argv[0]) {
		int status = end_child(r);

		rc = rc ? rc : status;
	}
	if (r->stale)
		write_names(r);
	return rc;
}

static int take_options(struct recorder *r)
{
	const char *const *values = r->ctl->values;
	uint64_t time_us;

	r->file = values[OPT_OUTPUT] ? values[OPT_OUTPUT] : "gpushare.trace";
	r->until_ns = UINT64_MAX;
	r->most_bytes = 1ULL << 30;
	if (values[OPT_FOR]) {
		if (gs_parse_us(values[OPT_FOR], &time_us) || time_us > 1000000000000)
			return gs_usage(r->ctl, "--for=%s: a time, as 10s", values[OPT_FOR]);
		r->until_ns = gs_now() + time_us * 1000;
	}
	if (values[OPT_SIZE] && gs_parse_bytes(values[OPT_SIZE], &r->most_bytes))
		return gs_usage(r->ctl, "--size=%s: a size, as 100M", values[OPT_SIZE]);
	return 0;
}

static int run_record(struct gs_ctl *ctl, int argc, char **argv)
{
	struct recorder r = { .ctl = ctl };
	int rc;

	(void)argc;
	rc = take_options(&r);
	if (rc)
		return rc;
	gs_catch_stop();
	rc = gs_events_open(ctl, GS_EVENTS_ALL, &r.events);
	if (rc)
		return rc;
	r.out = fopen(r.file, "we");
	if (!r.out) {
		rc = gs_error(GS_EXIT_FAILURE, r.file, "can't be written: %s", strerror(errno));
	} else {
		rc = run_open(&r, argv);
		if (fclose(r.out) && !rc)
			rc = gs_error(GS_EXIT_FAILURE, r.file, "can't be written: %s",
				      strerror(errno));
	}
	gs_events_close(r.events);
	if (r.out && !ctl->quiet) {
		fprintf(stderr, "gpusharectl: %s: %llu events", r.file,
			(unsigned long long)r.nr_events);
		if (r.lost)
			fprintf(stderr, ", and %llu or more lost", (unsigned long long)r.lost);
		fputc('\n', stderr);
	}
	return rc;
}

const struct gs_command gs_record_command = {
	.name = "record", .args = "[--] [PROGRAM [ARGUMENT...]]", .options = options,
	.run = run_record, .operands = "command", .stop_at_operand = true, .most = -1,
	.summary = "Record who ran when into a trace file",
	.details = "Until it is stopped (^C), the time or the size is reached, or PROGRAM ends. plot\n"
	"makes pictures of it.\n",
};
