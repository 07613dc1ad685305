// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: what is shared. They come from the PCI bus or the administrator; a
 * device is a key and settings, its hardware is never touched.
 *
 * A removed device is forgotten at once, but its memory stays until the last
 * client that was attached to it has gone, which still finds the reason (GONE)
 * in its page.
 */
#include <linux/ctype.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include "compat.h"
#include "gpushare.h"

static unsigned int max_devices = 64;
module_param(max_devices, uint, 0644);
MODULE_PARM_DESC(max_devices, "most devices (64)");

static_assert(GPUSHARE_POLICY_FAIR == 0 && GPUSHARE_QUOTA_ROLLOVER == 0 &&
	      GPUSHARE_WORKERS_EQUAL == 0);

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

static const struct gpushare_device defaults = {
	.seats = 1,
	.slice_us = 2000,
	.linger_us = 200,
	.grace_us = 100000,
	.epoch_us = 100000,
};

static struct kobject *devices_dir;

struct kdevice *gs_device_by_id(u64 id)
{
	struct gs_id *found = gs_id_find(&gs.devices, id);

	return found ? container_of(found, struct kdevice, id) : NULL;
}

struct kdevice *gs_device_after(u64 id)
{
	struct gs_id *next = gs_id_after(&gs.devices, id);

	return next ? container_of(next, struct kdevice, id) : NULL;
}

struct kdevice *gs_device_by_key(const char *key)
{
	struct kdevice *device;

	for (device = gs_device_after(0); device; device = gs_device_after(device->id.id)) {
		if (!strncmp(device->info.key, key, GPUSHARE_KEY_MAX))
			return device;
	}
	return NULL;
}

static struct kdevice *find(const struct gpushare_device *info)
{
	return info->device ? gs_device_by_id(info->device) : gs_device_by_key(info->key);
}

static bool within(u64 value, u64 least, u64 most)
{
	return value >= least && value <= most;
}

/* Ranges of the interface; the arbiter has wider ones. */
static int check(const struct gpushare_device *info)
{
	if (!within(info->kind, GPUSHARE_KIND_GPU, GPUSHARE_KIND_OTHER) ||
	    info->policy >= ARRAY_SIZE(policies) || info->quota >= ARRAY_SIZE(min_ways) ||
	    info->workers >= ARRAY_SIZE(seat_ways) || info->oversubscribe > 1 ||
	    !within(info->seats, 1, GS_SEATS_MAX) || !within(info->slice_us, 100, 1000000) ||
	    info->linger_us > 1000000 || info->grace_us < 1000 ||
	    !within(info->epoch_us, 10000, 10000000))
		return -ERANGE;
	return 0;
}

/* "KIND:NAME", printable, without spaces, ended. */
static int check_key(const char *key)
{
	size_t i, len = strnlen(key, GPUSHARE_KEY_MAX);
	const char *colon;

	if (len == GPUSHARE_KEY_MAX)
		return -EINVAL;
	colon = memchr(key, ':', len);
	if (!colon || colon == key || colon == key + len - 1)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (!isascii(key[i]) || !isgraph(key[i]))
			return -EINVAL;
	}
	return 0;
}

static u64 ns(u32 us)
{
	return (u64)us * NSEC_PER_USEC;
}

static void to_core(const struct gpushare_device *info, struct gs_device_conf *conf)
{
	gs_device_conf_init(conf);
	conf->policy = policies[info->policy];
	conf->seats = info->seats;
	conf->seat_way = seat_ways[info->workers];
	conf->min_way = min_ways[info->quota];
	conf->slice = ns(info->slice_us);
	if (info->latency_us)
		conf->latency = ns(info->latency_us);
	conf->linger = ns(info->linger_us);
	conf->grace = ns(info->grace_us);
	conf->kill_after = ns(info->kill_us);
	conf->epoch = ns(info->epoch_us);
	/* MB/s are bytes/us */
	if (info->bandwidth_mbps)
		conf->copy_ns_per_mib = div_u64((1 << 20) * NSEC_PER_USEC, info->bandwidth_mbps);
	conf->mem_capacity = info->mem_bytes;
	conf->oversubscribe = info->oversubscribe;
	conf->units = info->units;
	conf->threads = info->unit_threads;
	conf->regs = info->unit_registers;
	conf->local_mem = info->unit_local_bytes;
}

/* Take over from @from what @mask names. */
static void merge(struct gpushare_device *info, const struct gpushare_device *from, u32 mask)
{
	if (mask & GPUSHARE_DEV_POLICY)
		info->policy = from->policy;
	if (mask & GPUSHARE_DEV_SEATS)
		info->seats = from->seats;
	if (mask & GPUSHARE_DEV_SLICE)
		info->slice_us = from->slice_us;
	if (mask & GPUSHARE_DEV_LINGER)
		info->linger_us = from->linger_us;
	if (mask & GPUSHARE_DEV_GRACE)
		info->grace_us = from->grace_us;
	if (mask & GPUSHARE_DEV_KILL)
		info->kill_us = from->kill_us;
	if (mask & GPUSHARE_DEV_QUOTA) {
		info->quota = from->quota;
		info->epoch_us = from->epoch_us;
	}
	if (mask & GPUSHARE_DEV_WORKERS)
		info->workers = from->workers;
	if (mask & GPUSHARE_DEV_LATENCY)
		info->latency_us = from->latency_us;
	if (mask & GPUSHARE_DEV_CAPACITY) {
		info->units = from->units;
		info->unit_threads = from->unit_threads;
		info->unit_registers = from->unit_registers;
		info->unit_local_bytes = from->unit_local_bytes;
		info->bandwidth_mbps = from->bandwidth_mbps;
		info->mem_bytes = from->mem_bytes;
	}
	if (mask & GPUSHARE_DEV_OVERSUB)
		info->oversubscribe = from->oversubscribe;
}

void gs_device_fill(struct gpushare_device *info, const struct kdevice *device)
{
	u32 size = info->size, flags = info->flags;
	const struct gs_device *dev = &device->core;

	lockdep_assert_held(&gs.lock);
	*info = device->info;
	info->size = size;
	info->flags = flags;
	info->device = device->id.id;
	info->mask = GPUSHARE_DEV_ALL;
	info->waiters = dev->root.waiting;
	info->holders = dev->root.running;
	info->clients = device->clients;
}

static int check_args(const struct gpushare_device *info)
{
	if (info->flags || info->mask & ~GPUSHARE_DEV_ALL)
		return -EINVAL;
	return 0;
}

/* Let the arbiter and the listings know of it, unless its key is taken. */
static int introduce(struct kdevice *device)
{
	struct gs_device_conf conf;
	u64 now;
	int ret;

	to_core(&device->info, &conf);
	now = gs_lock();
	if (gs_device_by_key(device->info.key))
		ret = -EEXIST;
	else
		ret = gs_device_add(&gs.arb, &device->core, device->id.id, &conf, now);
	if (!ret) {
		gs.last_device++;
		device->removed = false;
		gs_id_add(&gs.devices, &device->id);
		gs.nr_devices++;
	}
	gs_unlock();
	return ret == -EINVAL ? -ERANGE : ret;
}

static void forget(struct kdevice *device)
{
	u64 now = gs_lock();

	device->removed = true;
	gs_id_remove(&gs.devices, &device->id);
	gs.nr_devices--;
	gs_device_remove(&device->core, now);
	gs_unlock();
	gs_timer_stop(device);
	kobject_del(&device->kobj);
	kobject_put(&device->kobj);
}

/* Make a device; @info is checked. */
static int create(struct gpushare_device *info)
{
	struct kdevice *device;
	int ret;

	lockdep_assert_held(&gs.devices_mutex);
	if (gs.nr_devices >= max_devices)
		return -ENOSPC;
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return -ENOMEM;
	device->info = *info;
	device->id.id = gs.last_device + 1;
	/* Until the arbiter knows it, the files in its directory can't be read. */
	device->removed = true;
	gs_timer_init(device);
	ret = kobject_init_and_add(&device->kobj, &gs_device_type, devices_dir, "%llu",
				   device->id.id);
	if (!ret)
		ret = introduce(device);
	if (ret) {
		kobject_put(&device->kobj);
		return ret;
	}
	gs_lock();
	gs_device_fill(info, device);
	gs_unlock();
	return 0;
}

int gs_device_create(struct gpushare_device *arg)
{
	struct gpushare_device info = defaults;
	int ret;

	if (check_args(arg) || check_key(arg->key))
		return -EINVAL;
	info.kind = arg->kind;
	strscpy_pad(info.key, arg->key, sizeof(info.key));
	merge(&info, arg, arg->mask);
	ret = check(&info);
	if (ret)
		return ret;
	mutex_lock(&gs.devices_mutex);
	ret = create(&info);
	mutex_unlock(&gs.devices_mutex);
	if (ret)
		return ret;
	info.size = arg->size;
	*arg = info;
	return 0;
}

int gs_device_change(struct gpushare_device *arg)
{
	struct gs_device_conf conf;
	struct gpushare_device info;
	struct kdevice *device;
	u64 now;
	int ret;

	ret = check_args(arg);
	if (ret)
		return ret;
	now = gs_lock();
	device = find(arg);
	if (!device) {
		gs_unlock();
		return -ENODEV;
	}
	info = device->info;
	merge(&info, arg, arg->mask);
	ret = check(&info);
	if (!ret) {
		to_core(&info, &conf);
		ret = gs_device_set(&device->core, &conf, now);
		if (ret == -EINVAL)
			ret = -ERANGE;
	}
	if (!ret) {
		device->info = info;
		gs_device_fill(arg, device);
	}
	gs_unlock();
	return ret;
}

int gs_device_drop(const struct gpushare_device *arg)
{
	struct kdevice *device;

	if (check_args(arg))
		return -EINVAL;
	mutex_lock(&gs.devices_mutex);
	gs_lock();
	device = find(arg);
	gs_unlock();
	if (device)
		forget(device);
	mutex_unlock(&gs.devices_mutex);
	return device ? 0 : -ENODEV;
}

int gs_device_read(struct gpushare_device *arg)
{
	struct kdevice *device;
	bool next = arg->flags & GPUSHARE_GET_NEXT;

	if (arg->flags & ~GPUSHARE_GET_NEXT)
		return -EINVAL;
	gs_lock();
	device = next ? gs_device_after(arg->device) : find(arg);
	if (device)
		gs_device_fill(arg, device);
	gs_unlock();
	return device ? 0 : next ? -ENOENT : -ENODEV;
}

int gs_devices_init(void)
{
	devices_dir = kobject_create_and_add("gpushare", kernel_kobj);
	return devices_dir ? 0 : -ENOMEM;
}

void gs_devices_exit(void)
{
	struct kdevice *device;

	mutex_lock(&gs.devices_mutex);
	for (;;) {
		gs_lock();
		device = gs_device_after(0);
		gs_unlock();
		if (!device)
			break;
		forget(device);
	}
	mutex_unlock(&gs.devices_mutex);
	kobject_put(devices_dir);
}
