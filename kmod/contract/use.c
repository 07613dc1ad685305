// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What a client says of its use of the device: DESCRIBE and MEMORY. */
#include <linux/gpushare.h>
#include "contract.h"

static bool fits(const struct gpushare_describe *arg, const struct gs_device_conf *conf)
{
	return (!conf->threads || arg->threads <= conf->threads) &&
	       (!conf->regs || arg->registers <= conf->regs) &&
	       (!conf->local_mem || arg->local_bytes <= conf->local_mem);
}

/* The rate with 1, 2, 4, ... workers: each does as much as one, as far as is known. */
static void fill_rates(struct gs_profile *profile, u64 group_ns)
{
	unsigned int i;

	profile->points = group_ns ? GS_PROFILE_POINTS : 0;
	for (i = 0; i < profile->points; i++)
		profile->rate[i] = div64_u64(1000000000ull << i, group_ns);
}

int gs_contract_profile(struct gs_profile *profile, const struct gpushare_describe *arg,
			const struct gs_device_conf *conf)
{
	if (!fits(arg, conf))
		return -ERANGE;
	profile->threads = arg->threads;
	profile->regs = arg->registers;
	profile->local_mem = arg->local_bytes;
	profile->blocks = arg->groups;
	fill_rates(profile, arg->group_ns);
	return 0;
}

int gs_contract_memory(struct gs_client *c, u32 op, u64 bytes, u64 now)
{
	int ret;

	switch (op) {
	case GPUSHARE_MEM_CHARGE:
		/* More than there can be is more than there is. */
		ret = gs_mem_charge(c, bytes, now);
		return ret == -EINVAL ? -ENOMEM : ret;
	case GPUSHARE_MEM_UNCHARGE:
		ret = gs_mem_uncharge(c, bytes, now);
		break;
	case GPUSHARE_MEM_SWAP_OUT:
	case GPUSHARE_MEM_SWAP_IN:
		ret = gs_mem_swap(c, bytes, op == GPUSHARE_MEM_SWAP_OUT, now);
		break;
	default:
		return -EOPNOTSUPP;
	}
	/* Less is there than is given back or moved. */
	return ret == -EINVAL ? -ERANGE : ret;
}

u64 gs_contract_available(const struct gs_client *c, u64 *total, u64 *whose)
{
	const struct gs_device *dev = c->dev;
	u64 room = GPUSHARE_NO_LIMIT, first = GPUSHARE_NO_LIMIT, used, left;
	const struct gs_node *node;

	*total = GPUSHARE_NO_LIMIT;
	*whose = 0;
	if (dev->conf.mem_capacity) {
		*total = dev->conf.mem_capacity;
		room = gs_mem_room(c);
		/* An oversubscribed device only refuses what would never fit. */
		first = dev->conf.oversubscribe ? *total : room;
	}
	for (node = c->node; node; node = node->up) {
		if (node->share.mem_max == GS_UNLIMITED)
			continue;
		used = node->mem.used + node->mem.swapped;
		left = node->share.mem_max - min(node->share.mem_max, used);
		*total = min_t(u64, *total, node->share.mem_max);
		room = min(room, left);
		if (left < first) {
			first = left;
			*whose = node->group->id;
		}
	}
	return room;
}
