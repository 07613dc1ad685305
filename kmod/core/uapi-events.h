/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the interface calls the arbiter's events, for the hosts that tell of
 * them: the module by netlink, the daemon by its socket. The arbiter itself
 * knows nothing of the interface.
 */
#ifndef GS_CORE_UAPI_EVENTS_H
#define GS_CORE_UAPI_EVENTS_H

#include <linux/gpushare.h>
#include "share.h"

/*
 * 0: the interface doesn't know such events. GS_EV_DEVICE is also the coming of
 * a new device, which a host tells as DEVICE_ADDED.
 */
static const u8 gs_uapi_events[GS_NR_EVENTS] = {
	[GS_EV_JOIN] = GPUSHARE_EVENT_CLIENT_JOINED,
	[GS_EV_LEAVE] = GPUSHARE_EVENT_CLIENT_LEFT,
	[GS_EV_REQUEST] = GPUSHARE_EVENT_REQUESTED,
	[GS_EV_GRANT] = GPUSHARE_EVENT_GRANTED,
	[GS_EV_PREEMPT] = GPUSHARE_EVENT_PREEMPT,
	[GS_EV_YIELD] = GPUSHARE_EVENT_YIELDED,
	[GS_EV_LINGER] = GPUSHARE_EVENT_YIELDED,
	[GS_EV_OVERRUN] = GPUSHARE_EVENT_OVERRUN,
	[GS_EV_KILL] = GPUSHARE_EVENT_KILLED,
	[GS_EV_THROTTLE] = GPUSHARE_EVENT_THROTTLED,
	[GS_EV_UNTHROTTLE] = GPUSHARE_EVENT_UNTHROTTLED,
	[GS_EV_SHARE] = GPUSHARE_EVENT_SHARE_SET,
	[GS_EV_DEVICE] = GPUSHARE_EVENT_DEVICE_SET,
	[GS_EV_DEVICE_GONE] = GPUSHARE_EVENT_DEVICE_REMOVED,
	[GS_EV_GROUP] = GPUSHARE_EVENT_GROUP_ADDED,
	[GS_EV_GROUP_GONE] = GPUSHARE_EVENT_GROUP_REMOVED,
	[GS_EV_MEM_DENIED] = GPUSHARE_EVENT_MEM_DENIED,
};

#endif
