// SPDX-License-Identifier: MIT
#include <string.h>

#include "fuzz.h"
#include "ulib/wire.h"

size_t fuzz_example(unsigned int which, unsigned char *data, size_t max)
{
	static const unsigned long cmds[] = {
		GPUSHARE_VERSION, GPUSHARE_ATTACH, GPUSHARE_DETACH, GPUSHARE_ACQUIRE,
		GPUSHARE_YIELD, GPUSHARE_MEMORY, GPUSHARE_DESCRIBE, GPUSHARE_SHARE_SET,
		GPUSHARE_SHARE_GET, GPUSHARE_DEVICE_ADD, GPUSHARE_DEVICE_SET,
		GPUSHARE_DEVICE_REMOVE, GPUSHARE_DEVICE_GET, GPUSHARE_STATS, GPUSHARE_GROUP,
		GPUSHARE_EVENTS,
	};
	unsigned long cmd = cmds[which % (sizeof(cmds) / sizeof(cmds[0]))];
	struct gs_wire h = { .magic = GS_WIRE_MAGIC, .cmd = (__u32)cmd, .cookie = which };
	__u32 size = _IOC_SIZE(cmd);

	(void)max;
	if (which & 0x1000 && size)
		size += 8 * (which % 16);	/* a newer caller's */
	data[0] = 0;
	memcpy(data + 1, &h, sizeof(h));
	memset(data + 1 + sizeof(h), 0, size);
	if (size)
		memcpy(data + 1 + sizeof(h), &size, sizeof(size));
	return 1 + sizeof(h) + size;
}
