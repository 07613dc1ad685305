// SPDX-License-Identifier: GPL-2.0 OR MIT
/* DEVICE_ADD, _SET and _GET: how a device is shared, in the interface's units and the arbiter's. */
#include <linux/gpushare.h>
#include "contract.h"

#define US 1000ull

static_assert(GPUSHARE_POLICY_FAIR == 0 && GPUSHARE_QUOTA_ROLLOVER == 0 &&
	      GPUSHARE_WORKERS_EQUAL == 0, "what is 0 is default");

/* The interface's numbers for these were settled apart from the arbiter's. */
static const u8 policies[] = {
	[GPUSHARE_POLICY_FAIR] = GS_POLICY_FAIR,
	[GPUSHARE_POLICY_FCFS] = GS_POLICY_FCFS,
	[GPUSHARE_POLICY_RR] = GS_POLICY_RR,
};

static const u8 min_ways[] = {
	[GPUSHARE_QUOTA_ROLLOVER] = GS_MIN_ROLLOVER,
	[GPUSHARE_QUOTA_ELASTIC] = GS_MIN_ELASTIC,
	[GPUSHARE_QUOTA_HISTORY] = GS_MIN_HISTORY,
	[GPUSHARE_QUOTA_NAIVE] = GS_MIN_NAIVE,
};

static const u8 seat_ways[] = {
	[GPUSHARE_WORKERS_EQUAL] = GS_SEATS_WEIGHTED,
	[GPUSHARE_WORKERS_PROFILE] = GS_SEATS_LONGEST,
};

static bool within(u64 value, u64 least, u64 most)
{
	return value >= least && value <= most;
}

/* Printable, without spaces, ended, with something on both sides of the first colon. */
static bool key_is_good(const char *key)
{
	size_t i, colon = 0;

	for (i = 0; i < GPUSHARE_KEY_MAX && key[i]; i++) {
		if (key[i] <= ' ' || key[i] > '~')
			return false;
		if (key[i] == ':' && !colon) {
			if (!i)
				return false;
			colon = i;
		}
	}
	return i < GPUSHARE_KEY_MAX && colon && colon + 1 < i;
}

int gs_contract_device_check(const struct gpushare_device *arg)
{
	return arg->flags || arg->reserved || arg->mask & ~GPUSHARE_DEV_ALL ? -EINVAL : 0;
}

/* Ranges of the interface; the arbiter has wider ones. */
static bool ranges_hold(const struct gpushare_device *info)
{
	return within(info->kind, GPUSHARE_KIND_GPU, GPUSHARE_KIND_OTHER) &&
	       info->policy < ARRAY_SIZE(policies) && info->quota < ARRAY_SIZE(min_ways) &&
	       info->workers < ARRAY_SIZE(seat_ways) && info->oversubscribe <= 1 &&
	       within(info->seats, 1, GS_SEATS_MAX) && within(info->slice_us, 100, 1000000) &&
	       info->linger_us <= 1000000 && info->grace_us >= 1000 &&
	       within(info->epoch_us, 10000, 10000000) &&
	       within(info->mem_full, GPUSHARE_FULL_FAIL, GPUSHARE_FULL_WAIT) &&
	       within(info->mem_wait_us, GS_MEM_WAIT_MIN / US, GS_MEM_WAIT_MAX / US);
}

/* Take over from @arg what its mask names. */
static void merge(struct gpushare_device *info, const struct gpushare_device *arg)
{
	u32 mask = arg->mask;

	info->mask |= mask;
	if (mask & GPUSHARE_DEV_POLICY)
		info->policy = arg->policy;
	if (mask & GPUSHARE_DEV_SEATS)
		info->seats = arg->seats;
	if (mask & GPUSHARE_DEV_SLICE)
		info->slice_us = arg->slice_us;
	if (mask & GPUSHARE_DEV_LINGER)
		info->linger_us = arg->linger_us;
	if (mask & GPUSHARE_DEV_GRACE)
		info->grace_us = arg->grace_us;
	if (mask & GPUSHARE_DEV_KILL)
		info->kill_us = arg->kill_us;
	if (mask & GPUSHARE_DEV_QUOTA) {
		info->quota = arg->quota;
		info->epoch_us = arg->epoch_us;
	}
	if (mask & GPUSHARE_DEV_WORKERS)
		info->workers = arg->workers;
	if (mask & GPUSHARE_DEV_LATENCY)
		info->latency_us = arg->latency_us;
	if (mask & GPUSHARE_DEV_CAPACITY) {
		info->units = arg->units;
		info->unit_threads = arg->unit_threads;
		info->unit_registers = arg->unit_registers;
		info->unit_local_bytes = arg->unit_local_bytes;
		info->bandwidth_mbps = arg->bandwidth_mbps;
		info->mem_bytes = arg->mem_bytes;
	}
	if (mask & GPUSHARE_DEV_OVERSUB)
		info->oversubscribe = arg->oversubscribe;
	if (mask & GPUSHARE_DEV_MEM_FULL)
		info->mem_full = arg->mem_full;
	if (mask & GPUSHARE_DEV_MEM_WAIT)
		info->mem_wait_us = arg->mem_wait_us;
}

static void to_core(const struct gpushare_device *info, struct gs_device_conf *conf)
{
	gs_device_conf_init(conf);
	conf->policy = policies[info->policy];
	conf->seats = info->seats;
	conf->seat_way = seat_ways[info->workers];
	conf->min_way = min_ways[info->quota];
	conf->slice = info->slice_us * US;
	if (info->latency_us)
		conf->latency = info->latency_us * US;
	conf->linger = info->linger_us * US;
	conf->grace = info->grace_us * US;
	conf->kill_after = info->kill_us * US;
	conf->epoch = info->epoch_us * US;
	/* MB/s are bytes/us */
	if (info->bandwidth_mbps)
		conf->copy_ns_per_mib = div_u64((1 << 20) * US, info->bandwidth_mbps);
	conf->mem_capacity = info->mem_bytes;
	conf->oversubscribe = info->oversubscribe;
	conf->mem_full = info->mem_full;
	conf->mem_wait = info->mem_wait_us * US;
	conf->units = info->units;
	conf->threads = info->unit_threads;
	conf->regs = info->unit_registers;
	conf->local_mem = info->unit_local_bytes;
}

int gs_contract_device_init(struct gpushare_device *info, const char *key, u32 kind)
{
	if (!key_is_good(key))
		return -EINVAL;
	*info = (struct gpushare_device) {
		.kind = kind,
		.seats = 1,
		.slice_us = 2000,
		.linger_us = 200,
		.grace_us = 100000,
		.epoch_us = 100000,
		.mem_full = GPUSHARE_FULL_FAIL,
		.mem_wait_us = 60000000,
	};
	memcpy(info->key, key, strlen(key));
	return ranges_hold(info) ? 0 : -ERANGE;
}

int gs_contract_device_merge(struct gpushare_device *info, const struct gpushare_device *arg,
			     struct gs_device_conf *conf)
{
	struct gpushare_device merged = *info;

	merge(&merged, arg);
	if (!ranges_hold(&merged))
		return -ERANGE;
	to_core(&merged, conf);
	if (gs_device_conf_check(conf))
		return -ERANGE;
	*info = merged;
	return 0;
}

void gs_contract_device_show(struct gpushare_device *arg, const struct gpushare_device *info,
			     const struct gs_device *dev, u32 clients)
{
	u32 size = arg->size, flags = arg->flags;

	*arg = *info;
	arg->size = size;
	arg->flags = flags;
	arg->device = dev->id;
	arg->clients = clients;
	arg->waiters = dev->root.waiting;
	arg->holders = dev->root.running;
}
