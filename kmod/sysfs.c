// SPDX-License-Identifier: GPL-2.0-only
/*
 * A directory for each device, named by its id, below /sys/kernel/gpushare, with
 * one value in each file; Documentation/ABI.md lists them. All are read-only: what
 * can be changed is changed by DEVICE_SET, in one step and with one check.
 */
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "gpushare.h"

static const char *const kinds[] = { "unknown", "gpu", "mig", "cpu", "other", NULL };
static const char *const policies[] = { "fair", "fcfs", "rr", NULL };
static const char *const quotas[] = { "rollover", "elastic", "history", "naive", NULL };
static const char *const workers[] = { "equal", "profile", NULL };
static const char *const fulls[] = { "default", "fail", "wait", NULL };

/**
 * struct value - a file
 * @attr: its name and mode
 * @offset: of the member of struct gpushare_device that it shows
 * @names: what its values are called, NULL to show them as they are
 */
struct value {
	struct attribute attr;
	size_t offset;
	const char *const *names;
};

#define VALUE(file, member, words)						\
	static const struct value file##_value = {				\
		.attr = { .name = #file, .mode = 0444 },			\
		.offset = offsetof(struct gpushare_device, member),		\
		.names = words,							\
	}

VALUE(id, device, NULL);
VALUE(key, key, NULL);
VALUE(kind, kind, kinds);
VALUE(policy, policy, policies);
VALUE(quota, quota, quotas);
VALUE(workers, workers, workers);
VALUE(seats, seats, NULL);
VALUE(slice_us, slice_us, NULL);
VALUE(linger_us, linger_us, NULL);
VALUE(grace_us, grace_us, NULL);
VALUE(kill_us, kill_us, NULL);
VALUE(epoch_us, epoch_us, NULL);
VALUE(latency_us, latency_us, NULL);
VALUE(units, units, NULL);
VALUE(unit_threads, unit_threads, NULL);
VALUE(unit_registers, unit_registers, NULL);
VALUE(unit_local_bytes, unit_local_bytes, NULL);
VALUE(bandwidth_mbps, bandwidth_mbps, NULL);
VALUE(mem_bytes, mem_bytes, NULL);
VALUE(oversubscribe, oversubscribe, NULL);
VALUE(mem_full, mem_full, fulls);
VALUE(mem_wait_us, mem_wait_us, NULL);
VALUE(clients, clients, NULL);
VALUE(waiters, waiters, NULL);
VALUE(holders, holders, NULL);

static const struct attribute *const values[] = {
	&key_value.attr,
	&id_value.attr,
	&kind_value.attr,
	&policy_value.attr,
	&quota_value.attr,
	&workers_value.attr,
	&seats_value.attr,
	&slice_us_value.attr,
	&linger_us_value.attr,
	&grace_us_value.attr,
	&kill_us_value.attr,
	&epoch_us_value.attr,
	&latency_us_value.attr,
	&units_value.attr,
	&unit_threads_value.attr,
	&unit_registers_value.attr,
	&unit_local_bytes_value.attr,
	&bandwidth_mbps_value.attr,
	&mem_bytes_value.attr,
	&oversubscribe_value.attr,
	&mem_full_value.attr,
	&mem_wait_us_value.attr,
	&clients_value.attr,
	&waiters_value.attr,
	&holders_value.attr,
	NULL
};

static ssize_t name_of(char *buf, const char *const *names, u32 value)
{
	while (*names && value--)
		names++;
	return sysfs_emit(buf, "%s\n", *names ?: "unknown");
}

static ssize_t emit(char *buf, const struct gpushare_device *info, const struct value *value)
{
	const void *member = (const void *)info + value->offset;

	if (value->names)
		return name_of(buf, value->names, *(const u32 *)member);
	if (value == &key_value)
		return sysfs_emit(buf, "%s\n", (const char *)member);
	if (value == &mem_bytes_value || value == &mem_wait_us_value)
		return sysfs_emit(buf, "%llu\n", *(const u64 *)member);
	return sysfs_emit(buf, "%u\n", *(const u32 *)member);
}

static ssize_t show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct kdevice *device = container_of(kobj, struct kdevice, kobj);
	struct gpushare_device info = {};
	bool removed;

	gs_lock();
	removed = device->removed;
	if (!removed)
		gs_device_fill(&info, device);
	gs_unlock();
	return removed ? -ENODEV : emit(buf, &info, container_of(attr, struct value, attr));
}

static void release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct kdevice, kobj));
}

static const struct sysfs_ops ops = { .show = show };

static const struct attribute_group group = {
	.attrs = (struct attribute **)values,
};

static const struct attribute_group *groups[] = { &group, NULL };

const struct kobj_type gs_device_type = {
	.release = release,
	.sysfs_ops = &ops,
	.default_groups = groups,
};
