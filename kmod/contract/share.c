// SPDX-License-Identifier: GPL-2.0 OR MIT
/* SHARE_SET and SHARE_GET: what a group may have, in the interface's units and the arbiter's. */
#include <linux/gpushare.h>
#include "contract.h"

/* The interface and the arbiter count these alike. */
#define SAME(name) static_assert((int)(GPUSHARE_##name) == (int)(GS_##name), #name)
SAME(SHARE_WEIGHT);
SAME(SHARE_CLASS);
SAME(SHARE_MAX);
SAME(SHARE_MIN);
SAME(SHARE_MEM_MAX);
SAME(SHARE_MEM_HIGH);
SAME(SHARE_MEM_MIN);
SAME(SHARE_MEM_FULL);
SAME(SHARE_MEM_WAIT);
SAME(FULL_ABOVE);
SAME(FULL_FAIL);
SAME(FULL_WAIT);
SAME(SHARE_ALL);
SAME(CLASS_BATCH);
SAME(CLASS_LATENCY);
SAME(CLASS_IDLE);

#define US		1000ull
#define PERIOD_MIN_US	1000
#define PERIOD_MAX_US	1000000
#define MAX_MIN_US	(GS_QUOTA_MIN / US)

int gs_contract_share_check(const struct gpushare_share *arg)
{
	u32 mask = arg->mask;

	if (arg->flags || arg->reserved || (mask | arg->reset) & ~GPUSHARE_SHARE_ALL ||
	    mask & arg->reset || !(mask | arg->reset))
		return -EINVAL;
	if (mask & GPUSHARE_SHARE_WEIGHT &&
	    (arg->weight < GS_WEIGHT_MIN || arg->weight > GS_WEIGHT_MAX))
		return -ERANGE;
	if (mask & GPUSHARE_SHARE_CLASS && arg->class >= GS_NR_CLASSES)
		return -ERANGE;
	if (mask & GPUSHARE_SHARE_MIN && arg->min_permille > 1000)
		return -ERANGE;
	if (mask & GPUSHARE_SHARE_MAX &&
	    (arg->period_us < PERIOD_MIN_US || arg->period_us > PERIOD_MAX_US ||
	     arg->max_us < MAX_MIN_US || arg->burst_us > arg->max_us ||
	     (arg->max_us != GPUSHARE_NO_LIMIT &&
	      arg->max_us > GS_SEATS_MAX * arg->period_us)))
		return -ERANGE;
	if (mask & GPUSHARE_SHARE_MEM_FULL && arg->mem_full >= GS_NR_FULLS)
		return -ERANGE;
	if (mask & GPUSHARE_SHARE_MEM_WAIT && arg->mem_wait_us &&
	    (arg->mem_wait_us < GS_MEM_WAIT_MIN / US || arg->mem_wait_us > GS_MEM_WAIT_MAX / US))
		return -ERANGE;
	return 0;
}

static void to_core(const struct gpushare_share *arg, struct gs_share *share)
{
	gs_share_init(share);
	share->weight = arg->weight;
	share->class = arg->class;
	share->min = arg->min_permille;
	share->period = arg->period_us * US;
	if (arg->max_us != GPUSHARE_NO_LIMIT) {
		share->quota = arg->max_us * US;
		share->burst = arg->burst_us * US;
	}
	share->mem_max = arg->mem_max;
	share->mem_high = arg->mem_high;
	share->mem_min = arg->mem_min;
	share->mem_full = arg->mem_full;
	share->mem_wait = arg->mem_wait_us * US;
}

static void from_core(struct gpushare_share *arg, const struct gs_share *share)
{
	arg->weight = share->weight;
	arg->class = share->class;
	arg->min_permille = share->min;
	arg->max_us = share->quota == GS_UNLIMITED ? GPUSHARE_NO_LIMIT :
		div_u64(share->quota, US);
	arg->period_us = div_u64(share->period, US);
	arg->burst_us = div_u64(share->burst, US);
	arg->mem_max = share->mem_max;
	arg->mem_high = share->mem_high;
	arg->mem_min = share->mem_min;
	arg->mem_full = share->mem_full;
	arg->mem_wait_us = div_u64(share->mem_wait, US);
}

static int set(struct gs_group *group, struct gs_device *dev, const struct gpushare_share *arg,
	       u64 now)
{
	struct gs_share share;

	if (!arg->mask)
		return 0;
	to_core(arg, &share);
	return gs_group_set(group, dev, &share, arg->mask, now);
}

static int reset(struct gs_group *group, struct gs_device *dev, const struct gpushare_share *arg,
		 u64 now)
{
	return arg->reset ? gs_group_unset(group, dev, arg->reset, now) : 0;
}

int gs_contract_share_apply(struct gs_group *group, struct gs_device *dev, u32 *general,
			    struct gpushare_share *arg, u64 now)
{
	int ret;

	/* Only min can be refused, and it is set or reset: that comes first. */
	if (arg->reset & GPUSHARE_SHARE_MIN)
		ret = reset(group, dev, arg, now) ?: set(group, dev, arg, now);
	else
		ret = set(group, dev, arg, now) ?: reset(group, dev, arg, now);
	if (ret == -ENOSPC) {
		arg->min_free = gs_min_room(group, dev);
		return -EBUSY;
	}
	if (!ret && !dev)
		*general = (*general | arg->mask) & ~arg->reset;
	return ret == -EINVAL ? -ERANGE : ret;
}

static u32 standing(const struct gs_group *group, const struct gs_device *dev)
{
	const struct gs_node *node;
	u32 n = 0;

	list_for_each_entry(node, &group->nodes, of_group) {
		if (!dev || node->dev == dev)
			n += node->standing;
	}
	return n;
}

/* On one device, or the mean of all. */
static u32 entitled(const struct gs_group *group, struct gs_device *dev, u64 now)
{
	u32 n = 0;
	u64 sum = 0;

	if (dev)
		return gs_due(group, dev, now);
	list_for_each_entry(dev, &group->arb->devices, of_arb) {
		sum += gs_due(group, dev, now);
		n++;
	}
	return n ? div_u64(sum + n / 2, n) : 0;
}

void gs_contract_share_show(struct gpushare_share *arg, const struct gs_group *group,
			    struct gs_device *dev, u32 general, u64 now)
{
	const struct gs_node *node = dev ? gs_node_find(group, dev) : NULL;

	arg->group = group->id;
	arg->device = dev ? dev->id : GPUSHARE_ALL_DEVICES;
	arg->mask = general;
	if (dev)
		arg->mask = node ? node->own : 0;
	arg->reset = 0;
	from_core(arg, node ? &node->share : &group->share);
	arg->parent = group->parent ? group->parent->id : 0;
	arg->min_free = 0;
	arg->entitled_permille = entitled(group, dev, now);
	arg->clients = standing(group, dev);
}
