// SPDX-License-Identifier: MIT
/*
 * A run's trace, handed to the code that draws those of the real arbiters: a
 * row a tenant, with what it was entitled to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "metrics.h"
#include "gpusharectl/plot.h"

/* There, 0 means "never". */
#define TRACE_EPOCH	SIM_NS_PER_S

static uint32_t type_of(uint32_t type)
{
	switch (type) {
	case GS_EV_JOIN: return GPUSHARE_EVENT_CLIENT_JOINED;
	case GS_EV_LEAVE: return GPUSHARE_EVENT_CLIENT_LEFT;
	case GS_EV_REQUEST: return GPUSHARE_EVENT_REQUESTED;
	case GS_EV_GRANT: return GPUSHARE_EVENT_GRANTED;
	case GS_EV_PREEMPT: return GPUSHARE_EVENT_PREEMPT;
	case GS_EV_CANCEL: case GS_EV_YIELD: case GS_EV_LINGER: return GPUSHARE_EVENT_YIELDED;
	case GS_EV_OVERRUN: return GPUSHARE_EVENT_OVERRUN;
	case GS_EV_KILL: return GPUSHARE_EVENT_KILLED;
	case GS_EV_THROTTLE: return GPUSHARE_EVENT_THROTTLED;
	case GS_EV_UNTHROTTLE: return GPUSHARE_EVENT_UNTHROTTLED;
	case GS_EV_MEM_DENIED: return GPUSHARE_EVENT_MEM_DENIED;
	}
	return 0;
}

static int add_name(struct gs_trace *t, enum gs_trace_kind kind, uint64_t id, uint64_t parent,
		    const char *text)
{
	struct gs_trace_name n = {
		.time_ns = TRACE_EPOCH, .kind = kind, .id = id, .parent = parent,
		.entitled = GS_TRACE_UNKNOWN,
	};

	snprintf(n.name, sizeof(n.name), "%s", text);
	return gs_trace_add_name(t, &n);
}

static int add_names(struct gs_trace *t, const struct run *run)
{
	const struct sim_scenario *s = run->s;
	const struct promise *p;
	int i, d, ret = 0;

	for (i = 0; i < s->ndevices && !ret; i++)
		ret = add_name(t, GS_TRACE_DEVICE, i + 1, 0, s->devices[i].name);
	for (i = 0; i < s->ngroups && !ret; i++)
		ret = add_name(t, GS_TRACE_GROUP, i + 2, s->groups[i].parent + 2,
			       s->groups[i].path);
	for (i = 0; i < s->ntenants; i++)
		for (d = 0; d < s->ndevices && !ret; d++)
			if (s->tenants[i].devices >> d & 1)
				ret = add_name(t, GS_TRACE_CLIENT,
					       sim_client_id(&run->tenants[i], d),
					       s->tenants[i].group + 2, s->tenants[i].name);
	for (p = run->promises; p < run->promises + run->npromises && !ret; p++) {
		struct gs_trace_name n = {
			.time_ns = p->at + TRACE_EPOCH, .kind = GS_TRACE_CLIENT,
			.id = sim_client_id(&run->tenants[p->tenant], p->device),
			.parent = s->tenants[p->tenant].group + 2,
			.device = p->device + 1, .entitled = p->permille,
		};

		snprintf(n.name, sizeof(n.name), "%s", s->tenants[p->tenant].name);
		ret = gs_trace_add_name(t, &n);
	}
	return ret;
}

static int add_events(struct gs_trace *t, const struct run *run)
{
	const struct gs_event *e;
	int ret = 0;

	for (e = run->events; e < run->events + run->nevents && !ret; e++) {
		struct gpushare_event out = {
			.time_ns = e->time + TRACE_EPOCH, .type = type_of(e->type),
			.device = e->device, .group = e->group, .client = e->client,
			.value = e->type == GS_EV_CANCEL ? 0 : e->a,
		};

		if (out.type)
			ret = gs_trace_add_event(t, &out);
	}
	return ret;
}

static int build(struct gs_trace *t, struct gs_timeline *tl, const struct run *run)
{
	struct gs_timeline_options options = { .by_client = true };
	int ret;

	gs_trace_init(t);
	t->begin_ns = TRACE_EPOCH;
	t->end_ns = TRACE_EPOCH + run->end_ns;
	ret = add_names(t, run);
	if (!ret)
		ret = add_events(t, run);
	return ret ? ret : gs_timeline_build(tl, t, &options);
}

int sim_write_svg(FILE *out, const struct run *run)
{
	struct gs_plot_options options = { .title = run->s->title[0] ? run->s->title : NULL };
	struct gs_timeline tl;
	struct gs_trace t;
	int ret;

	memset(&tl, 0, sizeof(tl));
	ret = build(&t, &tl, run);
	if (!ret)
		ret = gs_svg_write(out, &tl, &options);
	gs_timeline_free(&tl);
	gs_trace_free(&t);
	return ret;
}

int sim_write_perfetto(FILE *out, const struct run *run)
{
	struct gs_timeline tl;
	struct gs_trace t;
	int ret;

	memset(&tl, 0, sizeof(tl));
	ret = build(&t, &tl, run);
	if (!ret)
		ret = gs_perfetto_write(out, &tl);
	gs_timeline_free(&tl);
	gs_trace_free(&t);
	return ret;
}
