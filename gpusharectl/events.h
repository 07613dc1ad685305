/* SPDX-License-Identifier: MIT */
/* The arbiter's events, whichever way they come: the socket, or netlink. */
#ifndef GS_CTL_EVENTS_H
#define GS_CTL_EVENTS_H

#include "ctl.h"

struct gs_events;

#define GS_EVENTS_ALL	((1ULL << (GPUSHARE_EVENT_LOST + 1)) - 2)
/* Those that happen many times a second. */
#define GS_EVENTS_GRANTS ((1ULL << GPUSHARE_EVENT_REQUESTED) | (1ULL << GPUSHARE_EVENT_GRANTED) | \
			  (1ULL << GPUSHARE_EVENT_PREEMPT) | (1ULL << GPUSHARE_EVENT_YIELDED))

/*
 * Begin to listen for events of @types (bits 1 << type; LOST always comes), on a
 * connection of its own. 0, or an exit status, and said why.
 */
int gs_events_open(struct gs_ctl *ctl, uint64_t types, struct gs_events **events);
void gs_events_close(struct gs_events *events);
/*
 * The next event, waiting for @timeout_ms (-1: for ever) at most: 1, or 0 if
 * there was none in that time or a signal came, or -errno (-EPIPE: the arbiter
 * is gone).
 */
int gs_events_next(struct gs_events *events, struct gpushare_event *event, int timeout_ms);

const char *gs_event_name(uint32_t type);
/* By that name; 0: there is none. */
uint32_t gs_event_type(const char *name);

/* The module's side of the above, in netlink.c; -EOPNOTSUPP if built without libnl. */
struct gs_netlink;
int gs_netlink_open(uint64_t types, struct gs_netlink **netlink);
void gs_netlink_close(struct gs_netlink *netlink);
int gs_netlink_fd(const struct gs_netlink *netlink);
/* 1 and an event, 0: none now, or -errno. */
int gs_netlink_next(struct gs_netlink *netlink, struct gpushare_event *event);

#endif
