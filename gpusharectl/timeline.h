/* SPDX-License-Identifier: MIT */
/*
 * A trace's events, put in order for the eye: a row for each tenant of each
 * device, and in it what it did when (spans) and what happened to it (marks).
 */
#ifndef GS_CTL_TIMELINE_H
#define GS_CTL_TIMELINE_H

#include "trace.h"

enum gs_span_kind {
	GS_SPAN_RUN,
	GS_SPAN_WAIT,
	GS_SPAN_THROTTLED,
};

struct gs_span {
	uint64_t begin_ns, end_ns;
	uint64_t asked_ns;	/* a run: when it was asked to yield, 0 if it wasn't */
	uint16_t lane;		/* which of the row's clients */
	uint16_t kind;		/* enum gs_span_kind */
};

/* From @time_ns on, @permille of the device are the row's by right. */
struct gs_step {
	uint64_t time_ns;
	uint32_t permille;
};

struct gs_mark {
	uint64_t time_ns;
	uint32_t type;		/* enum gpushare_event_type */
	uint32_t lane;
	uint64_t value;
};

struct gs_row {
	uint64_t id;		/* of the group, or of the client */
	uint64_t group;
	uint32_t device;
	uint32_t weight;	/* 0: unknown */
	char name[GS_TRACE_NAME_MAX];
	struct gs_span *spans;	/* by end */
	size_t nr_spans, room_spans;
	struct gs_mark *marks;
	size_t nr_marks, room_marks;
	struct gs_step *steps;	/* none: nobody can say */
	size_t nr_steps, room_steps;
	uint64_t *waits;	/* how long each wait took, sorted */
	size_t nr_waits, room_waits;
	unsigned int lanes;	/* at least 1 */
	uint64_t run_ns, wait_ns, throttled_ns;
	uint64_t grants, preempts, overruns;
};

struct gs_gap {
	uint64_t begin_ns, end_ns, lost;
};

struct gs_timeline {
	const struct gs_trace *trace;
	uint64_t begin_ns, end_ns;
	struct gs_row *rows;	/* by device, name and id */
	size_t nr_rows, room_rows;
	struct gs_gap *gaps;	/* events were lost here: the rows don't know */
	size_t nr_gaps, room_gaps;
	uint64_t grants;
};

struct gs_timeline_options {
	bool by_client;		/* a row for each client, not for each group */
	uint32_t device;	/* 0: all */
	uint64_t from_ns, to_ns; /* after the trace's begin; to 0: its end */
};

int gs_timeline_build(struct gs_timeline *tl, const struct gs_trace *trace,
		      const struct gs_timeline_options *options);
void gs_timeline_free(struct gs_timeline *tl);

/* The time that @row ran between @from and @to, over the length between them. */
double gs_row_share(const struct gs_row *row, uint64_t from_ns, uint64_t to_ns);
/* What it was entitled to on average in that time, in 0..1; below 0: unknown. */
double gs_row_entitled(const struct gs_row *row, uint64_t from_ns, uint64_t to_ns);
/* The wait that @percent of its waits didn't pass. */
uint64_t gs_row_wait(const struct gs_row *row, unsigned int percent);

#endif
