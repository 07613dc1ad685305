// SPDX-License-Identifier: MIT
/*
 * Events say when something changed; spans say how things were. This walks the
 * events once, in the order of time, with the state of each client beside it.
 *
 * A trace may begin in the middle of things, and events may be lost. A client's
 * state is then unknown until its next event; YIELDED carries how long it held
 * its grant, so the span before it can still be drawn.
 */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct client {
	uint64_t id;
	size_t row;
	uint32_t lane;
	uint64_t wait_ns;	/* waits since; 0: doesn't */
	uint64_t run_ns;	/* runs since; 0: doesn't */
	uint64_t asked_ns;
};

struct throttle {
	uint64_t group, since_ns;
	uint32_t device;
};

struct builder {
	struct gs_timeline *tl;
	const struct gs_timeline_options *options;
	uint64_t last_ns;		/* the time of the event before */
	struct client *clients;		/* in an open hash of this many slots */
	size_t slots, nr_clients;
	struct throttle *throttles;
	size_t nr_throttles, room_throttles;
};

#define GROW(array, nr, room)	grow((void **)&(array), nr, &(room), sizeof(*(array)))

static int grow(void **array, size_t nr, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 16;
	void *more;

	if (nr < *room)
		return 0;
	more = reallocarray(*array, want, size);
	if (!more)
		return -ENOMEM;
	memset((char *)more + *room * size, 0, (want - *room) * size);
	*array = more;
	*room = want;
	return 0;
}

static struct client *slot_of(struct client *clients, size_t slots, uint64_t id)
{
	size_t i = (id * 0x9e3779b97f4a7c15ULL) >> 20;

	for (i &= slots - 1; clients[i].id && clients[i].id != id; i = (i + 1) & (slots - 1))
		;
	return &clients[i];
}

static int rehash(struct builder *b)
{
	size_t slots = b->slots ? b->slots * 2 : 64, i;
	struct client *more = calloc(slots, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (i = 0; i < b->slots; i++)
		if (b->clients[i].id)
			*slot_of(more, slots, b->clients[i].id) = b->clients[i];
	free(b->clients);
	b->clients = more;
	b->slots = slots;
	return 0;
}

/* A row's name and what it was entitled to, from all that the trace says. */
static int name_row(struct gs_timeline *tl, struct gs_row *row, bool by_client)
{
	enum gs_trace_kind kind = by_client ? GS_TRACE_CLIENT : GS_TRACE_GROUP;
	const struct gs_trace *t = tl->trace;
	const struct gs_trace_name *n;
	int rc;

	n = gs_trace_find(t, kind, row->id, row->device, tl->end_ns);
	if (n && n->name[0] && by_client && n->pid)
		snprintf(row->name, sizeof(row->name), "%.*s %d", (int)sizeof(row->name) - 13,
			 n->name, n->pid);
	else if (n && n->name[0])
		memcpy(row->name, n->name, sizeof(row->name));
	else
		snprintf(row->name, sizeof(row->name), "%s %llu", by_client ? "client" : "group",
			 (unsigned long long)row->id);
	row->weight = n ? n->weight : 0;
	for (n = t->names; n && n < t->names + t->nr_names; n++) {
		if (n->kind != kind || n->id != row->id || n->entitled == GS_TRACE_UNKNOWN ||
		    (n->device && n->device != row->device))
			continue;
		if (row->nr_steps && n->time_ns < row->steps[row->nr_steps - 1].time_ns)
			continue;
		rc = GROW(row->steps, row->nr_steps, row->room_steps);
		if (rc)
			return rc;
		row->steps[row->nr_steps++] = (struct gs_step){ n->time_ns, n->entitled };
	}
	return 0;
}

static int find_row(struct builder *b, const struct gpushare_event *e, size_t *row)
{
	uint64_t id = b->options->by_client ? e->client : e->group;
	struct gs_timeline *tl = b->tl;
	int rc;

	for (*row = 0; *row < tl->nr_rows; (*row)++)
		if (tl->rows[*row].id == id && tl->rows[*row].device == e->device)
			return 0;
	rc = GROW(tl->rows, tl->nr_rows, tl->room_rows);
	if (rc)
		return rc;
	tl->rows[*row] = (struct gs_row){ .id = id, .group = e->group, .device = e->device };
	return name_row(tl, &tl->rows[tl->nr_rows++], b->options->by_client);
}

static int find_client(struct builder *b, const struct gpushare_event *e, struct client **client)
{
	int rc;

	if (b->nr_clients * 2 >= b->slots) {
		rc = rehash(b);
		if (rc)
			return rc;
	}
	*client = slot_of(b->clients, b->slots, e->client);
	if ((*client)->id)
		return 0;
	rc = find_row(b, e, &(*client)->row);
	if (rc)
		return rc;
	(*client)->id = e->client;
	(*client)->lane = b->tl->rows[(*client)->row].lanes++;
	b->nr_clients++;
	return 0;
}

/* Adds what of the span lies inside of the timeline. */
static int add_span(struct gs_timeline *tl, struct gs_row *row, struct gs_span span)
{
	uint64_t *sum[] = { &row->run_ns, &row->wait_ns, &row->throttled_ns };
	int rc;

	if (span.begin_ns < tl->begin_ns)
		span.begin_ns = tl->begin_ns;
	if (span.end_ns > tl->end_ns)
		span.end_ns = tl->end_ns;
	if (span.begin_ns >= span.end_ns)
		return 0;
	rc = GROW(row->spans, row->nr_spans, row->room_spans);
	if (rc)
		return rc;
	row->spans[row->nr_spans++] = span;
	*sum[span.kind] += span.end_ns - span.begin_ns;
	return 0;
}

static int end_wait(struct builder *b, struct client *c, uint64_t now, bool granted)
{
	struct gs_row *row = &b->tl->rows[c->row];
	struct gs_span span = { c->wait_ns, now, 0, c->lane, GS_SPAN_WAIT };
	int rc;

	if (!c->wait_ns)
		return 0;
	c->wait_ns = 0;
	if (granted && now >= b->tl->begin_ns && now <= b->tl->end_ns) {
		rc = GROW(row->waits, row->nr_waits, row->room_waits);
		if (rc)
			return rc;
		row->waits[row->nr_waits++] = now - span.begin_ns;
	}
	return add_span(b->tl, row, span);
}

static int end_run(struct builder *b, struct client *c, uint64_t now)
{
	struct gs_span span = { c->run_ns, now, c->asked_ns, c->lane, GS_SPAN_RUN };

	if (!c->run_ns)
		return 0;
	c->run_ns = 0;
	c->asked_ns = 0;
	return add_span(b->tl, &b->tl->rows[c->row], span);
}

static int add_mark(struct builder *b, size_t row_nr, uint32_t lane, const struct gpushare_event *e)
{
	struct gs_row *row = &b->tl->rows[row_nr];
	int rc;

	if (e->time_ns < b->tl->begin_ns || e->time_ns > b->tl->end_ns)
		return 0;
	rc = GROW(row->marks, row->nr_marks, row->room_marks);
	if (rc)
		return rc;
	row->marks[row->nr_marks++] = (struct gs_mark){ e->time_ns, e->type, lane, e->value };
	return 0;
}

static bool inside(const struct builder *b, uint64_t now)
{
	return now >= b->tl->begin_ns && now <= b->tl->end_ns;
}

static int client_event(struct builder *b, const struct gpushare_event *e)
{
	uint64_t now = e->time_ns;
	struct gs_row *row;
	struct client *c;
	int rc;

	rc = find_client(b, e, &c);
	if (rc)
		return rc;
	row = &b->tl->rows[c->row];
	switch (e->type) {
	case GPUSHARE_EVENT_REQUESTED:
		if (!c->wait_ns)
			c->wait_ns = now;
		return 0;
	case GPUSHARE_EVENT_GRANTED:
		rc = end_run(b, c, now);
		if (!rc)
			rc = end_wait(b, c, now, true);
		c->run_ns = now;
		row->grants += inside(b, now);
		b->tl->grants += inside(b, now);
		return rc;
	case GPUSHARE_EVENT_PREEMPT:
		c->asked_ns = now;
		row->preempts += inside(b, now);
		return add_mark(b, c->row, c->lane, e);
	case GPUSHARE_EVENT_YIELDED:
		if (!c->run_ns && e->value && e->value < now)
			c->run_ns = now - e->value;
		if (!c->run_ns)
			return end_wait(b, c, now, false);
		return end_run(b, c, now);
	case GPUSHARE_EVENT_OVERRUN:
		row->overruns += inside(b, now);
		rc = end_run(b, c, now);	/* in the books the seat is free now */
		return rc ? rc : add_mark(b, c->row, c->lane, e);
	case GPUSHARE_EVENT_MEM_DENIED:
		return add_mark(b, c->row, c->lane, e);
	case GPUSHARE_EVENT_KILLED:
	case GPUSHARE_EVENT_CLIENT_LEFT:
		rc = end_run(b, c, now);
		if (!rc)
			rc = end_wait(b, c, now, false);
		if (!rc && e->type == GPUSHARE_EVENT_KILLED)
			rc = add_mark(b, c->row, c->lane, e);
		return rc;
	}
	return 0;
}

/* Is @group that one, or below it? */
static bool below(const struct gs_trace *t, uint64_t group, uint64_t above, uint64_t now)
{
	const struct gs_trace_name *n;
	unsigned int depth;

	for (depth = 0; depth < 64 && group; depth++) {
		if (group == above)
			return true;
		n = gs_trace_find(t, GS_TRACE_GROUP, group, 0, now);
		group = n ? n->parent : 0;
	}
	return false;
}

static int end_throttle(struct builder *b, size_t i, uint64_t now)
{
	struct throttle th = b->throttles[i];
	struct gs_span span = { th.since_ns, now, 0, 0, GS_SPAN_THROTTLED };
	struct gs_row *row;
	int rc;

	b->throttles[i] = b->throttles[--b->nr_throttles];
	for (row = b->tl->rows; row && row < b->tl->rows + b->tl->nr_rows; row++) {
		if (row->device != th.device || !below(b->tl->trace, row->group, th.group, now))
			continue;
		rc = add_span(b->tl, row, span);
		if (rc)
			return rc;
	}
	return 0;
}

static int throttle_event(struct builder *b, const struct gpushare_event *e)
{
	size_t i;
	int rc;

	for (i = 0; i < b->nr_throttles; i++)
		if (b->throttles[i].group == e->group && b->throttles[i].device == e->device)
			break;
	if (e->type == GPUSHARE_EVENT_UNTHROTTLED)
		return i < b->nr_throttles ? end_throttle(b, i, e->time_ns) : 0;
	if (i < b->nr_throttles)
		return 0;
	rc = GROW(b->throttles, b->nr_throttles, b->room_throttles);
	if (rc)
		return rc;
	b->throttles[b->nr_throttles++] = (struct throttle){ e->group, e->time_ns, e->device };
	return 0;
}

/* Nobody knows what anybody does any more, from @now on. */
static int end_all(struct builder *b, uint64_t now, uint32_t device)
{
	struct client *c;
	int rc;

	for (c = b->clients; c && c < b->clients + b->slots; c++) {
		if (!c->id || (device && b->tl->rows[c->row].device != device))
			continue;
		rc = end_run(b, c, now);
		if (!rc)
			rc = end_wait(b, c, now, false);
		if (rc)
			return rc;
	}
	while (!device && b->nr_throttles) {
		rc = end_throttle(b, b->nr_throttles - 1, now);
		if (rc)
			return rc;
	}
	return 0;
}

static int lost_event(struct builder *b, const struct gpushare_event *e)
{
	struct gs_timeline *tl = b->tl;
	int rc;

	rc = end_all(b, b->last_ns, 0);
	if (!rc)
		rc = GROW(tl->gaps, tl->nr_gaps, tl->room_gaps);
	if (!rc)
		tl->gaps[tl->nr_gaps++] = (struct gs_gap){ b->last_ns, e->time_ns, e->value };
	return rc;
}

static int take_event(struct builder *b, const struct gpushare_event *e)
{
	uint32_t device = b->options->device;

	if (e->type == GPUSHARE_EVENT_LOST)
		return lost_event(b, e);
	if (device && e->device != device)
		return 0;
	if (e->type == GPUSHARE_EVENT_DEVICE_REMOVED)
		return end_all(b, e->time_ns, e->device);
	if (e->type == GPUSHARE_EVENT_THROTTLED || e->type == GPUSHARE_EVENT_UNTHROTTLED)
		return throttle_event(b, e);
	return e->client && e->device ? client_event(b, e) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct gpushare_event *const *x = a, *const *y = b;

	if ((*x)->time_ns != (*y)->time_ns)
		return (*x)->time_ns < (*y)->time_ns ? -1 : 1;
	return *x < *y ? -1 : *x > *y;	/* as they came */
}

static int by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int by_device_and_name(const void *a, const void *b)
{
	const struct gs_row *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (names)
		return names;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void set_limits(struct gs_timeline *tl, const struct gpushare_event **sorted,
		       const struct gs_timeline_options *options)
{
	const struct gs_trace *t = tl->trace;
	uint64_t begin = t->begin_ns, end = t->end_ns;

	if (t->nr_events) {
		if (!begin || begin > sorted[0]->time_ns)
			begin = sorted[0]->time_ns;
		if (end < sorted[t->nr_events - 1]->time_ns)
			end = sorted[t->nr_events - 1]->time_ns;
	}
	if (end < begin)
		end = begin;
	tl->begin_ns = begin;
	tl->end_ns = end;
	if (options->from_ns)
		tl->begin_ns = options->from_ns < end - begin ? begin + options->from_ns : end;
	if (options->to_ns && options->to_ns < end - begin)
		tl->end_ns = begin + options->to_ns;
	if (tl->end_ns < tl->begin_ns)
		tl->end_ns = tl->begin_ns;
}

static int walk(struct builder *b, const struct gpushare_event **sorted)
{
	const struct gs_trace *t = b->tl->trace;
	size_t i;
	int rc;

	b->last_ns = b->tl->begin_ns;
	for (i = 0; i < t->nr_events; i++) {
		rc = take_event(b, sorted[i]);
		if (rc)
			return rc;
		b->last_ns = sorted[i]->time_ns;
	}
	return end_all(b, b->tl->end_ns, 0);
}

int gs_timeline_build(struct gs_timeline *tl, const struct gs_trace *trace,
		      const struct gs_timeline_options *options)
{
	const struct gpushare_event **sorted;
	struct builder b = { .tl = tl, .options = options };
	size_t i;
	int rc;

	*tl = (struct gs_timeline){ .trace = trace };
	sorted = calloc(trace->nr_events + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < trace->nr_events; i++)
		sorted[i] = &trace->events[i];
	qsort(sorted, trace->nr_events, sizeof(*sorted), by_time);
	set_limits(tl, sorted, options);
	rc = walk(&b, sorted);
	for (i = 0; i < tl->nr_rows; i++)
		if (tl->rows[i].nr_waits)
			qsort(tl->rows[i].waits, tl->rows[i].nr_waits, sizeof(uint64_t), by_length);
	if (tl->nr_rows)
		qsort(tl->rows, tl->nr_rows, sizeof(*tl->rows), by_device_and_name);
	free(sorted);
	free(b.clients);
	free(b.throttles);
	if (rc)
		gs_timeline_free(tl);
	return rc;
}

void gs_timeline_free(struct gs_timeline *tl)
{
	size_t i;

	for (i = 0; i < tl->nr_rows; i++) {
		free(tl->rows[i].spans);
		free(tl->rows[i].marks);
		free(tl->rows[i].steps);
		free(tl->rows[i].waits);
	}
	free(tl->rows);
	free(tl->gaps);
	*tl = (struct gs_timeline){ 0 };
}

double gs_row_share(const struct gs_row *row, uint64_t from_ns, uint64_t to_ns)
{
	const struct gs_span *s;
	uint64_t sum = 0, begin, end;

	if (to_ns <= from_ns)
		return 0;
	for (s = row->spans; s && s < row->spans + row->nr_spans; s++) {
		if (s->kind != GS_SPAN_RUN)
			continue;
		begin = s->begin_ns > from_ns ? s->begin_ns : from_ns;
		end = s->end_ns < to_ns ? s->end_ns : to_ns;
		if (begin < end)
			sum += end - begin;
	}
	return (double)sum / (to_ns - from_ns);
}

double gs_row_entitled(const struct gs_row *row, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begin, end;
	double sum = 0;
	size_t i;

	if (!row->nr_steps || to_ns <= from_ns)
		return -1;
	for (i = 0; i < row->nr_steps; i++) {
		/* What was first known is taken to have been so before. */
		begin = !i || row->steps[i].time_ns < from_ns ? from_ns : row->steps[i].time_ns;
		end = i + 1 < row->nr_steps && row->steps[i + 1].time_ns < to_ns ?
			row->steps[i + 1].time_ns : to_ns;
		if (begin < end)
			sum += (double)(end - begin) * row->steps[i].permille;
	}
	return sum / 1000 / (to_ns - from_ns);
}

uint64_t gs_row_wait(const struct gs_row *row, unsigned int percent)
{
	if (!row->nr_waits)
		return 0;
	return row->waits[(row->nr_waits - 1) * percent / 100];
}
