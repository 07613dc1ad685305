// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Events: what the interface calls them, and their values. */
#include <linux/gpushare.h>
#include "contract.h"

/*
 * 0: the interface doesn't know such events. GS_EV_DEVICE is also the coming of a new
 * device.
 */
static const u8 types[GS_NR_EVENTS] = {
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

u32 gs_contract_event_type(u32 core)
{
	return types[core];
}

u64 gs_contract_events(u64 wanted)
{
	u64 events = 0;
	unsigned int i;

	for (i = 0; i < GS_NR_EVENTS; i++) {
		if (types[i] && wanted & 1ull << types[i])
			events |= 1ull << i;
	}
	if (wanted & 1ull << GPUSHARE_EVENT_DEVICE_ADDED)
		events |= 1ull << GS_EV_DEVICE;
	return events;
}

static u64 value_of(const struct gs_event *ev)
{
	switch (ev->type) {
	case GS_EV_LEAVE:
	case GS_EV_GRANT:
	case GS_EV_YIELD:
	case GS_EV_LINGER:
	case GS_EV_THROTTLE:
	case GS_EV_UNTHROTTLE:
	case GS_EV_MEM_DENIED:
		return ev->a;
	case GS_EV_OVERRUN:
		return ev->b;
	default:
		return 0;
	}
}

void gs_contract_event(struct gpushare_event *out, const struct gs_event *ev, bool new_device,
		       s32 pid)
{
	*out = (struct gpushare_event) {
		.time_ns = ev->time,
		.type = types[ev->type],
		.device = ev->device,
		.group = ev->group,
		.client = ev->client,
		.value = value_of(ev),
		.pid = pid,
	};
	if (ev->type == GS_EV_DEVICE && new_device)
		out->type = GPUSHARE_EVENT_DEVICE_ADDED;
}
