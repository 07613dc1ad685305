// SPDX-License-Identifier: MIT
#include "events.h"

#include <string.h>

static const char *const names[] = {
	[GPUSHARE_EVENT_CLIENT_JOINED] = "client-joined",
	[GPUSHARE_EVENT_CLIENT_LEFT] = "client-left",
	[GPUSHARE_EVENT_REQUESTED] = "requested",
	[GPUSHARE_EVENT_GRANTED] = "granted",
	[GPUSHARE_EVENT_PREEMPT] = "preempt",
	[GPUSHARE_EVENT_YIELDED] = "yielded",
	[GPUSHARE_EVENT_OVERRUN] = "overrun",
	[GPUSHARE_EVENT_KILLED] = "killed",
	[GPUSHARE_EVENT_THROTTLED] = "throttled",
	[GPUSHARE_EVENT_UNTHROTTLED] = "unthrottled",
	[GPUSHARE_EVENT_MEM_DENIED] = "mem-denied",
	[GPUSHARE_EVENT_SHARE_SET] = "share-set",
	[GPUSHARE_EVENT_GROUP_ADDED] = "group-added",
	[GPUSHARE_EVENT_GROUP_REMOVED] = "group-removed",
	[GPUSHARE_EVENT_DEVICE_ADDED] = "device-added",
	[GPUSHARE_EVENT_DEVICE_SET] = "device-set",
	[GPUSHARE_EVENT_DEVICE_REMOVED] = "device-removed",
	[GPUSHARE_EVENT_LOST] = "lost",
};

const char *gs_event_name(uint32_t type)
{
	return type && type < sizeof(names) / sizeof(*names) ? names[type] : "unknown";
}

uint32_t gs_event_type(const char *name)
{
	uint32_t i;

	for (i = 1; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return i;
	return 0;
}
