/* SPDX-License-Identifier: MIT */
/*
 * A trace: events of an arbiter, and the names and shares of those whom they
 * speak of. `gpusharectl record` writes one to a file, the simulator builds one
 * in memory; timeline.h makes rows and spans of it, plot.h pictures.
 *
 * The file is a header, then records of a type, a size and that many bytes. A
 * record that the reader doesn't know is skipped, one that was cut short by a
 * crash ends the trace and only sets @truncated: what was written before it
 * stays good.
 */
#ifndef GS_CTL_TRACE_H
#define GS_CTL_TRACE_H

#include <linux/gpushare.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GS_TRACE_VERSION	1
#define GS_TRACE_NAME_MAX	256

enum gs_trace_kind {
	GS_TRACE_DEVICE = 1,
	GS_TRACE_GROUP,
	GS_TRACE_CLIENT,
};

/*
 * What something is called and what it is entitled to, from @time_ns on; said
 * anew when it changes. @device narrows @weight and @entitled to one device
 * (0: all). @entitled is in per mille of the device, GS_TRACE_UNKNOWN if nobody
 * can say.
 */
#define GS_TRACE_UNKNOWN	(~0U)
struct gs_trace_name {
	uint64_t time_ns;
	uint64_t id;
	uint64_t parent;	/* of a group: the one above; of a client: its group */
	uint32_t kind;		/* enum gs_trace_kind */
	uint32_t device;
	uint32_t weight;	/* 0: unknown */
	uint32_t entitled;
	int32_t pid;		/* of a client, else 0 */
	uint32_t reserved;
	char name[GS_TRACE_NAME_MAX];
};

struct gs_trace {
	struct gpushare_event *events;
	struct gs_trace_name *names;
	size_t nr_events, room_events;
	size_t nr_names, room_names;
	uint64_t begin_ns, end_ns;	/* of the recording; 0: the events' own */
	uint64_t realtime_ns;		/* wall clock at begin_ns, 0: unknown */
	bool truncated;
	char release[32];
};

void gs_trace_init(struct gs_trace *t);
void gs_trace_free(struct gs_trace *t);
int gs_trace_add_event(struct gs_trace *t, const struct gpushare_event *event);
int gs_trace_add_name(struct gs_trace *t, const struct gs_trace_name *name);
/* The last name given to it up to @time_ns, or the first one after; or NULL. */
const struct gs_trace_name *gs_trace_find(const struct gs_trace *t, enum gs_trace_kind kind,
					  uint64_t id, uint32_t device, uint64_t time_ns);

int gs_trace_write_header(FILE *out, uint64_t begin_ns, uint64_t realtime_ns);
int gs_trace_write_event(FILE *out, const struct gpushare_event *event);
int gs_trace_write_name(FILE *out, const struct gs_trace_name *name);
/* A whole trace, as the three above. */
int gs_trace_write(FILE *out, const struct gs_trace *t);

/*
 * Reads a trace from memory into @t, which was initialised. On failure @why
 * points to words that say what is wrong, and @offset to where.
 */
int gs_trace_parse(struct gs_trace *t, const void *data, size_t size, const char **why,
		   size_t *offset);

#endif
