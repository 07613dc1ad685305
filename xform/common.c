// SPDX-License-Identifier: MIT
/* What all kinds of kernel text share: names, and the arithmetic of the launch. */
#include <errno.h>
#include <string.h>

#include <gsxform.h>

const char *gsx_mode_name(enum gsx_mode mode)
{
	static const char *const names[GSX_MODES] = { "slice", "guard", "workers" };

	return (unsigned int)mode < GSX_MODES ? names[mode] : "?";
}

const char *gsx_reason_name(enum gsx_reason reason)
{
	static const char *const names[GSX_REASONS] = {
		[GSX_OK] = "ok", [GSX_GRID_SYNC] = "grid-sync", [GSX_CLUSTER] = "cluster",
		[GSX_DEVICE_LAUNCH] = "device-launch", [GSX_INDIRECT_CALL] = "indirect-call",
		[GSX_EXTERN_CALL] = "extern-call", [GSX_PARAM_SPACE] = "param-space",
		[GSX_SPECIAL_USE] = "special-use", [GSX_EXIT_IN_FUNCTION] = "exit-in-function",
		[GSX_BARRIER_FORM] = "barrier-form", [GSX_WARP_AFTER_EXIT] = "warp-after-exit",
		[GSX_ASYNC_STATE] = "async-state", [GSX_STACK] = "stack",
		[GSX_OLD_TARGET] = "old-target", [GSX_UNKNOWN_FLOW] = "unknown-flow",
		[GSX_BODYLESS] = "bodyless", [GSX_NOT_ASKED] = "not-asked",
		[GSX_WAIT_LOOP] = "wait-loop", [GSX_EARLY_RETURN] = "early-return",
		[GSX_SUB_GROUPS] = "sub-groups", [GSX_PROGRAM_SCOPE] = "program-scope",
		[GSX_KERNEL_CALL] = "kernel-call", [GSX_PIPE] = "pipe",
		[GSX_PARAM_FORM] = "param-form", [GSX_LOCAL_FORM] = "local-form",
	};

	return (unsigned int)reason < GSX_REASONS ? names[reason] : "?";
}

/*
 * Division by multiplication: with s = ceil(log2 d) and m = ceil(2^(31 + s) / d),
 * (t * m) >> (31 + s) is t / d for all t below 2^31, and m fits in 32 bits. The
 * device takes the upper half of 2t * m and shifts that by s.
 */
static void set_divisor(struct gsx_launch *l, int i, uint32_t d)
{
	uint32_t s = 0;

	while (s < 31 && (1u << s) < d)
		s++;
	l->mul[i] = ((1ull << (31 + s)) + d - 1) / d;
	l->shift[i] = s;
}

int gsx_launch_init(struct gsx_launch *l, const uint32_t grid[3])
{
	uint64_t total;
	int i;

	memset(l, 0, sizeof(*l));
	memcpy(l->grid, grid, sizeof(l->grid));
	if (!grid[0] || !grid[1] || !grid[2])
		return -ERANGE;
	total = (uint64_t)grid[0] * grid[1];
	if (total > GSX_MAX_BLOCKS || total * grid[2] > GSX_MAX_BLOCKS)
		return -ERANGE;
	l->total = total * grid[2];
	for (i = 0; i < 2; i++)
		set_divisor(l, i, grid[i]);
	return 0;
}
