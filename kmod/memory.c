// SPDX-License-Identifier: GPL-2.0-only
/*
 * MEMORY and DESCRIBE: what a client says that it uses of its device. Nothing
 * that it says gives it more than its groups may have: memory that it doesn't
 * tell of is not seen, and memory that it tells of is limited.
 */
#include "gpushare.h"

/* What could still be charged to the client, and what stands in the way first. */
static u64 available(const struct kclient *c, u64 *total, u64 *whose)
{
	const struct gs_device *dev = c->core.dev;
	u64 room = U64_MAX, first = U64_MAX, used, left;
	const struct gs_node *node;

	*total = GPUSHARE_NO_LIMIT;
	*whose = 0;
	if (dev->conf.mem_capacity) {
		*total = dev->conf.mem_capacity;
		room = gs_mem_room(&c->core);
		/* An oversubscribed device only refuses what would never fit. */
		first = dev->conf.oversubscribe ? *total : room;
	}
	for (node = c->core.node; node; node = node->up) {
		if (node->share.mem_max == GS_UNLIMITED)
			continue;
		used = node->mem.used + node->mem.swapped;
		left = node->share.mem_max - min(node->share.mem_max, used);
		*total = min(*total, node->share.mem_max);
		room = min(room, left);
		if (left < first) {
			first = left;
			*whose = node->group->id;
		}
	}
	return room;
}

static int account(struct kclient *c, const struct gpushare_memory *arg, u64 now)
{
	int ret;

	switch (arg->op) {
	case GPUSHARE_MEM_CHARGE:
		ret = gs_mem_charge(&c->core, arg->bytes, now);
		/* More than any device has. */
		return ret == -EINVAL ? -ENOMEM : ret;
	case GPUSHARE_MEM_UNCHARGE:
		return gs_mem_uncharge(&c->core, arg->bytes, now);
	case GPUSHARE_MEM_SWAP_OUT:
		return gs_mem_swap(&c->core, arg->bytes, true, now);
	default:
		return gs_mem_swap(&c->core, arg->bytes, false, now);
	}
}

int gs_memory(struct kclient *c, struct gpushare_memory *arg)
{
	u64 now, whose;
	bool short_of;	/* memory of the kernel's own */
	int ret;

	if (arg->flags || arg->reserved ||
	    arg->op < GPUSHARE_MEM_CHARGE || arg->op > GPUSHARE_MEM_SWAP_IN)
		return -EINVAL;
	now = gs_lock();
	ret = gs_client_settle(c, &now);
	short_of = ret == -ENOMEM;
	if (!ret)
		ret = account(c, arg, now);
	if (ret && ret != -ENOMEM)
		goto unlock;
	/* It may have been while the lock was let go. */
	ret = gs_client_usable(c) ?: ret;
	if (ret && ret != -ENOMEM)
		goto unlock;
	arg->available_bytes = available(c, &arg->total_bytes, &whose);
	arg->limit_group = !ret ? 0 : short_of ? GPUSHARE_NO_LIMIT : whose;
	arg->current_bytes = c->core.mem_used;
	arg->swapped_bytes = c->core.mem_swapped;
unlock:
	gs_unlock();
	return ret == -EINVAL ? -ERANGE : ret;
}

/* Does one work-group fit one compute unit, as far as that is known? */
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
		profile->rate[i] = div64_u64((u64)NSEC_PER_SEC << i, group_ns);
}

int gs_describe(struct kclient *c, struct gpushare_describe *arg)
{
	int ret;
	u64 now;

	if (arg->flags)
		return -EINVAL;
	now = gs_lock();
	ret = gs_client_settle(c, &now);
	if (ret)
		goto unlock;
	if (!fits(arg, &c->core.dev->conf)) {
		ret = -ERANGE;
		goto unlock;
	}
	c->profile.threads = arg->threads;
	c->profile.regs = arg->registers;
	c->profile.local_mem = arg->local_bytes;
	c->profile.blocks = arg->groups;
	fill_rates(&c->profile, arg->group_ns);
	ret = gs_profile_set(&c->core, &c->profile, now);
	if (!ret)
		arg->workers = c->core.workers;
unlock:
	gs_unlock();
	return ret;
}
