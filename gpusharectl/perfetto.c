// SPDX-License-Identifier: MIT
/*
 * A process is a device, a thread one client's lane of a tenant. Waits have a
 * thread of their own, since slices of one thread must nest; the share that
 * each tenant got is a counter, once every hundredth of the trace.
 */
#include "json.h"
#include "plot.h"

#include <errno.h>
#include <stdlib.h>

#define COUNTER_POINTS	100

/* Thread ids: a block a row, run lanes at even places, waits after them. */
static uint64_t thread_of(size_t row, unsigned int lane, bool waits)
{
	return (uint64_t)(row + 1) << 20 | lane << 1 | waits;
}

static void begin(struct gs_json *j, const char *phase, const char *name, uint32_t device)
{
	gs_json_object(j, NULL);
	gs_json_string(j, "ph", phase);
	gs_json_string(j, "name", name);
	gs_json_unsigned(j, "pid", device);
}

static void at(struct gs_json *j, const struct gs_timeline *tl, uint64_t time_ns)
{
	gs_json_scaled(j, "ts", time_ns - tl->begin_ns, 3);
}

static void meta(struct gs_json *j, const char *what, uint32_t device, uint64_t thread,
		 const char *name)
{
	begin(j, "M", what, device);
	if (thread)
		gs_json_unsigned(j, "tid", thread);
	gs_json_object(j, "args");
	gs_json_string(j, "name", name);
	gs_json_end(j);
	gs_json_end(j);
}

static void write_names(struct gs_json *j, const struct gs_timeline *tl)
{
	const struct gs_trace_name *device;
	char name[GS_TRACE_NAME_MAX + 32];
	const struct gs_row *row;
	unsigned int lane;
	size_t i;

	for (i = 0; i < tl->nr_rows; i++) {
		row = &tl->rows[i];
		if (!i || row[-1].device != row->device) {
			device = gs_trace_find(tl->trace, GS_TRACE_DEVICE, row->device, 0,
					       tl->end_ns);
			snprintf(name, sizeof(name), "device %s", device ? device->name : "?");
			meta(j, "process_name", row->device, 0, name);
		}
		for (lane = 0; lane < row->lanes; lane++) {
			if (row->lanes > 1)
				snprintf(name, sizeof(name), "%s #%u", row->name, lane + 1);
			else
				snprintf(name, sizeof(name), "%s", row->name);
			meta(j, "thread_name", row->device, thread_of(i, lane, false), name);
			snprintf(name, sizeof(name), "%s: waits", row->name);
			meta(j, "thread_name", row->device, thread_of(i, lane, true), name);
		}
	}
}

static void write_spans(struct gs_json *j, const struct gs_timeline *tl, size_t row_nr)
{
	static const char *const names[] = { "grant", "wait", "throttled" };
	const struct gs_row *row = &tl->rows[row_nr];
	const struct gs_span *s;
	const struct gs_mark *m;

	for (s = row->spans; s && s < row->spans + row->nr_spans; s++) {
		/* Throttling isn't a client's, and lies over its waits: it is async. */
		if (s->kind == GS_SPAN_THROTTLED) {
			begin(j, "b", names[s->kind], row->device);
			gs_json_string(j, "cat", "throttled");
			gs_json_unsigned(j, "id", row->id);
			at(j, tl, s->begin_ns);
			gs_json_end(j);
			begin(j, "e", names[s->kind], row->device);
			gs_json_string(j, "cat", "throttled");
			gs_json_unsigned(j, "id", row->id);
			at(j, tl, s->end_ns);
			gs_json_end(j);
			continue;
		}
		begin(j, "X", names[s->kind], row->device);
		gs_json_unsigned(j, "tid", thread_of(row_nr, s->lane, s->kind == GS_SPAN_WAIT));
		at(j, tl, s->begin_ns);
		gs_json_scaled(j, "dur", s->end_ns - s->begin_ns, 3);
		gs_json_end(j);
	}
	for (m = row->marks; m && m < row->marks + row->nr_marks; m++) {
		begin(j, "i", m->type == GPUSHARE_EVENT_PREEMPT ? "asked to yield" :
		      m->type == GPUSHARE_EVENT_OVERRUN ? "overrun" :
		      m->type == GPUSHARE_EVENT_KILLED ? "killed" : "memory denied", row->device);
		gs_json_unsigned(j, "tid", thread_of(row_nr, m->lane, false));
		at(j, tl, m->time_ns);
		gs_json_string(j, "s", "t");
		gs_json_end(j);
	}
}

/* Runs of each point's interval, summed in one walk over the spans. */
static int write_counters(struct gs_json *j, const struct gs_timeline *tl, const struct gs_row *row)
{
	uint64_t length = (tl->end_ns - tl->begin_ns) / COUNTER_POINTS, from, to;
	uint64_t *sums = calloc(COUNTER_POINTS + 1, sizeof(*sums));
	const struct gs_span *s;
	size_t i;

	if (!sums)
		return -ENOMEM;
	for (s = row->spans; length && s && s < row->spans + row->nr_spans; s++) {
		if (s->kind != GS_SPAN_RUN)
			continue;
		for (from = s->begin_ns; from < s->end_ns; from = to) {
			i = (from - tl->begin_ns) / length;
			to = tl->begin_ns + (i + 1) * length;
			if (to > s->end_ns)
				to = s->end_ns;
			sums[i < COUNTER_POINTS ? i : COUNTER_POINTS] += to - from;
		}
	}
	for (i = 0; length && i < COUNTER_POINTS; i++) {
		begin(j, "C", row->name, row->device);
		at(j, tl, tl->begin_ns + i * length);
		gs_json_object(j, "args");
		gs_json_unsigned(j, "share %", sums[i] * 100 / length);
		gs_json_end(j);
		gs_json_end(j);
	}
	free(sums);
	return 0;
}

int gs_perfetto_write(FILE *out, const struct gs_timeline *tl)
{
	struct gs_json j;
	int rc = 0;
	size_t i;

	gs_json_begin(&j, out, false);
	gs_json_object(&j, NULL);
	gs_json_string(&j, "displayTimeUnit", "ms");
	gs_json_array(&j, "traceEvents");
	write_names(&j, tl);
	for (i = 0; i < tl->nr_rows && !rc; i++) {
		write_spans(&j, tl, i);
		rc = write_counters(&j, tl, &tl->rows[i]);
	}
	gs_json_end(&j);
	gs_json_end(&j);
	return rc ? rc : ferror(out) ? -EIO : 0;
}
