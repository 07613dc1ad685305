/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: events/gpushare/ in tracefs. Each speaks of a device, a group (a
 * cgroup id) and a client; @value is said at each.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpushare

#if !defined(GS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GS_TRACE_H

#include <linux/tracepoint.h>
#include "core/share.h"

DECLARE_EVENT_CLASS(gpushare_event,
		    TP_PROTO(const struct gs_event *event),
		    TP_ARGS(event),
		    TP_STRUCT__entry(__field(u64, device)
				     __field(u64, group)
				     __field(u64, client)
				     __field(u64, value)),
		    TP_fast_assign(__entry->device = event->device;
				   __entry->group = event->group;
				   __entry->client = event->client;
				   __entry->value = event->a;),
		    TP_printk("device=%llu group=%llu client=%llu value=%llu",
			      __entry->device, __entry->group, __entry->client,
			      __entry->value)
);

/* A seat was given; value is the slice in ns. */
DEFINE_EVENT(gpushare_event, gpushare_grant,
	     TP_PROTO(const struct gs_event *event), TP_ARGS(event));

/* A holder was asked to yield; value is for how long it has held, in ns. */
DEFINE_EVENT(gpushare_event, gpushare_preempt,
	     TP_PROTO(const struct gs_event *event), TP_ARGS(event));

/* A seat came back, or was taken back from an idle holder; value as above. */
DEFINE_EVENT(gpushare_event, gpushare_yield,
	     TP_PROTO(const struct gs_event *event), TP_ARGS(event));

/* A seat was taken back in the books; value as above. */
DEFINE_EVENT(gpushare_event, gpushare_overrun,
	     TP_PROTO(const struct gs_event *event), TP_ARGS(event));

/* A group reached its max; value is until when, in ns of CLOCK_MONOTONIC. */
DEFINE_EVENT(gpushare_event, gpushare_throttle,
	     TP_PROTO(const struct gs_event *event), TP_ARGS(event));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
