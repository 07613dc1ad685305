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

int gs_contract_describe(struct gs_client *c, struct gs_profile *profile,
			 struct gpushare_describe *arg, u64 now)
{
	int ret;

	if (!fits(arg, &c->dev->conf))
		return -ERANGE;
	profile->threads = arg->threads;
	profile->regs = arg->registers;
	profile->local_mem = arg->local_bytes;
	profile->blocks = arg->groups;
	fill_rates(profile, arg->group_ns);
	ret = gs_profile_set(c, profile, now);
	if (!ret)
		arg->workers = c->workers;
	return ret;
}

int gs_contract_memory_check(const struct gpushare_memory *arg)
{
	u32 flags = arg->flags;

	if (flags & ~(GPUSHARE_MEM_WAIT | GPUSHARE_MEM_REFUSED | GPUSHARE_MEM_NONBLOCK) ||
	    arg->reserved || arg->op < GPUSHARE_MEM_CHARGE || arg->op > GPUSHARE_MEM_SWAP_IN)
		return -EINVAL;
	if (flags && (arg->op != GPUSHARE_MEM_CHARGE || !(flags & GPUSHARE_MEM_WAIT)))
		return -EINVAL;
	if (flags & GPUSHARE_MEM_REFUSED && flags & GPUSHARE_MEM_NONBLOCK)
		return -EINVAL;
	return 0;
}

static int charge(struct gs_client *c, u32 flags, u64 bytes, u64 now)
{
	if (!(flags & GPUSHARE_MEM_WAIT))
		return gs_mem_charge(c, bytes, now);
	if (flags & GPUSHARE_MEM_NONBLOCK)
		return gs_mem_try(c, bytes, now);
	return gs_mem_wait(c, bytes, flags & GPUSHARE_MEM_REFUSED, now);
}

static int account(struct gs_client *c, u32 op, u32 flags, u64 bytes, u64 now)
{
	int ret;

	if (op == GPUSHARE_MEM_CHARGE) {
		/* More than there can be is more than there is. */
		ret = charge(c, flags, bytes, now);
		return ret == -EINVAL ? -ENOMEM : ret;
	}
	if (op == GPUSHARE_MEM_UNCHARGE)
		ret = gs_mem_uncharge(c, bytes, now);
	else
		ret = gs_mem_swap(c, bytes, op == GPUSHARE_MEM_SWAP_OUT, now);
	/* Less is there than is given back or moved. */
	return ret == -EINVAL ? -ERANGE : ret;
}

/*
 * What could still be charged to the client; @total: what it and those beside it may have
 * in all; @whose: the group whose limit stands in the way first, 0: the device itself.
 */
static u64 available(const struct gs_client *c, u64 *total, u64 *whose)
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

void gs_contract_memory_show(struct gpushare_memory *arg, const struct gs_client *c)
{
	u64 total, whose;

	arg->available_bytes = available(c, &total, &whose);
	arg->total_bytes = total;
	arg->limit_group = whose;
	arg->current_bytes = c->mem_used;
	arg->swapped_bytes = c->mem_swapped;
}

int gs_contract_memory(struct gs_client *c, struct gpushare_memory *arg, u64 now)
{
	int ret = account(c, arg->op, arg->flags, arg->bytes, now);

	gs_contract_memory_over(arg, c, ret);
	return ret;
}

void gs_contract_memory_over(struct gpushare_memory *arg, const struct gs_client *c, int ret)
{
	if (c->state == GS_CLIENT_GONE)
		return;
	gs_contract_memory_show(arg, c);
	if (ret != -ENOMEM)
		arg->limit_group = 0;
}
