/* SPDX-License-Identifier: MIT */
/*
 * A connection to an arbiter, whichever of the two it is: the module's device
 * node or the daemon's socket. libgpushare puts its clients on it, gpusharectl
 * uses it as it is. Not part of the public API.
 */
#ifndef GS_TRANSPORT_H
#define GS_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/gpushare.h>

#include "user-socket.h"

#define GS_DEVICE_NODE		"/dev/gpushare"
#define GS_SYSTEM_SOCKET	"/run/gpushare/arbiter.sock"
#define GS_SYSTEM_FOLDER	"/run/gpushare"
#define GS_ARBITER_ENV		"GPUSHARE_ARBITER"
#define GS_DAEMON_ENV		"GPUSHARE_DAEMON"	/* the gpushared to start */

struct gs_transport;

/* Start the user's own daemon if there is no arbiter. */
#define GS_TRANSPORT_START	0x1

/*
 * Connect. @where is the path of a device node or of a socket, or NULL: then
 * GPUSHARE_ARBITER if it is set, else the first of the default places.
 * "private" is the user's own daemon, wherever this is. -ENOLINK: this is a container
 * that has no arbiter, and none is started in it.
 * -ENOENT: there is no arbiter (-ECONNREFUSED: one that died left its socket);
 * -ENODATA: GPUSHARE_ARBITER, or @where, is "none"; -EACCES: one is there, and
 * it isn't for this user; -EUSERS: the daemon has no room for
 * one more; -EPROTO: what is there is no arbiter.
 */
int gs_transport_open(const char *where, unsigned int flags, struct gs_transport **arbiter);
void gs_transport_close(struct gs_transport *arbiter);

bool gs_in_container(void);

bool gs_transport_is_kernel(const struct gs_transport *arbiter);
const char *gs_transport_path(const struct gs_transport *arbiter);

/* Callers that the daemon has turned away for want of room, when it was asked for VERSION. */
uint64_t gs_transport_turned_away(const struct gs_transport *arbiter);

/*
 * Give a command: @cmd is GPUSHARE_* and @arg its struct, size filled in (NULL
 * for DETACH). Returns what the ioctl would: 0 or -errno. Members that name open
 * files work on both. -EPIPE: the daemon is gone; -ETIMEDOUT: it gave no answer
 * within 10 s.
 */
int gs_transport_call(struct gs_transport *arbiter, unsigned long cmd, void *arg);

/*
 * The daemon's events: after gs_transport_events() (types: bits 1 << type, as in
 * struct gpushare_events; -EOPNOTSUPP with the module, whose events come by
 * netlink) poll gs_transport_fd() for reading, and take events with
 * gs_transport_next(): 1 and one event, 0 if there is none now, -EPIPE at the end.
 */
int gs_transport_events(struct gs_transport *arbiter, uint64_t types);
int gs_transport_next(struct gs_transport *arbiter, struct gpushare_event *event);
int gs_transport_fd(const struct gs_transport *arbiter);

#endif /* GS_TRANSPORT_H */
