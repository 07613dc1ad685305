// SPDX-License-Identifier: MIT
/*
 * The header is a contract: the size and the tail of each struct, and each
 * number, are written down here a second time, so that no change goes unseen.
 * A struct may only grow at its end. The list is also compiled for 32 bits,
 * where the compiler can, since both kinds of callers share one layout.
 */
#include <linux/gpushare.h>
#include <stddef.h>
#include "harness.h"

#define LAYOUT(type, bytes, last, at)						\
	_Static_assert(sizeof(struct type) == bytes, #type " changed its size");	\
	_Static_assert(offsetof(struct type, last) == at, #type "." #last " moved")

LAYOUT(gpushare_grant_page, 88, holder, 80);
LAYOUT(gpushare_client_page, 56, until_ns, 48);
LAYOUT(gpushare_version, 72, started_ns, 64);
LAYOUT(gpushare_attach, 96, key, 32);
LAYOUT(gpushare_wait, 48, reserved, 44);
LAYOUT(gpushare_memory, 64, limit_group, 56);
LAYOUT(gpushare_describe, 40, group_ns, 32);
LAYOUT(gpushare_share, 400, reserved, 396);
LAYOUT(gpushare_device, 184, reserved, 180);
LAYOUT(gpushare_stats, 312, reserved, 308);
LAYOUT(gpushare_group, 80, name, 16);
LAYOUT(gpushare_event, 48, reserved, 44);
LAYOUT(gpushare_events, 16, types, 8);

static const struct {
	const char *name;
	unsigned long cmd, want;
} commands[] = {
#define COMMAND(name, want) { #name, name, want }
	COMMAND(GPUSHARE_VERSION, 0xc048d700),
	COMMAND(GPUSHARE_ATTACH, 0xc060d701),
	COMMAND(GPUSHARE_DETACH, 0x0000d702),
	COMMAND(GPUSHARE_ACQUIRE, 0xc030d703),
	COMMAND(GPUSHARE_YIELD, 0xc030d704),
	COMMAND(GPUSHARE_MEMORY, 0xc040d705),
	COMMAND(GPUSHARE_DESCRIBE, 0xc028d706),
	COMMAND(GPUSHARE_SHARE_SET, 0xc190d707),
	COMMAND(GPUSHARE_SHARE_GET, 0xc190d708),
	COMMAND(GPUSHARE_DEVICE_ADD, 0xc0b8d709),
	COMMAND(GPUSHARE_DEVICE_SET, 0xc0b8d70a),
	COMMAND(GPUSHARE_DEVICE_REMOVE, 0xc0b8d70b),
	COMMAND(GPUSHARE_DEVICE_GET, 0xc0b8d70c),
	COMMAND(GPUSHARE_STATS, 0xc138d70d),
	COMMAND(GPUSHARE_GROUP, 0xc050d70e),
	COMMAND(GPUSHARE_EVENTS, 0xc010d70f),
};

TEST(numbers_stand)
{
	unsigned int i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].cmd != commands[i].want)
			test_fail("%s is %#lx, not %#lx", commands[i].name, commands[i].cmd,
				  commands[i].want);
	EXPECT_EQ(GPUSHARE_EVENT_LOST, 18);
	EXPECT_EQ(GPUSHARE_A_MAX, 9);
	EXPECT_EQ(GPUSHARE_CMD_MAX, 4);
}

/* No libc for 32 bits is needed: only the layout is compiled. */
TEST(layout_is_the_same_for_32_bits)
{
	int rc = system("printf '#include <linux/gpushare.h>\\n"
			"_Static_assert(sizeof(struct gpushare_stats) == 312, \"\");\\n"
			"_Static_assert(sizeof(struct gpushare_share) == 400, \"\");\\n"
			"_Static_assert(sizeof(struct gpushare_device) == 184, \"\");\\n"
			"_Static_assert(sizeof(struct gpushare_attach) == 96, \"\");\\n"
			"_Static_assert(sizeof(struct gpushare_grant_page) == 88, \"\");\\n'"
			"| ${CC:-gcc} -m32 -Wpadded -Werror -Iinclude/uapi -isystem "
			"/usr/include/$(uname -m)-linux-gnu -x c -fsyntax-only - 2>&1");

	if (system("echo 'int x;' | ${CC:-gcc} -m32 -x c -fsyntax-only - 2>/dev/null"))
		SKIP("the compiler has no 32 bit mode");
	EXPECT_EQ(rc, 0);
}

TEST_MAIN()
