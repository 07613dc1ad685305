// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: what is shared. They come from the PCI bus or the administrator; a
 * device is a key and settings, its hardware is never touched.
 *
 * A removed device is forgotten at once, but its memory stays until the last
 * client that was attached to it has gone, which still finds the reason (GONE)
 * in its page.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include "compat.h"
#include "gpushare.h"

static unsigned int max_devices = 64;
module_param(max_devices, uint, 0644);
MODULE_PARM_DESC(max_devices, "most devices (64)");

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

void gs_device_fill(struct gpushare_device *info, const struct kdevice *device)
{
	lockdep_assert_held(&gs.lock);
	gs_contract_device_show(info, &device->info, &device->core, device->clients);
}

/* Let the arbiter and the listings know of it, unless its key is taken. */
static int introduce(struct kdevice *device, const struct gs_device_conf *conf)
{
	u64 now = gs_lock();
	int ret;

	if (gs_device_by_key(device->info.key))
		ret = -EEXIST;
	else
		ret = gs_device_add(&gs.arb, &device->core, device->id.id, conf, now);
	if (!ret) {
		gs.last_device++;
		device->removed = false;
		gs_id_add(&gs.devices, &device->id);
		gs.nr_devices++;
	}
	gs_unlock();
	return ret;
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

static int create(const struct gpushare_device *info, const struct gs_device_conf *conf,
		  struct gpushare_device *arg)
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
		ret = introduce(device, conf);
	if (ret) {
		kobject_put(&device->kobj);
		return ret;
	}
	gs_lock();
	gs_device_fill(arg, device);
	gs_unlock();
	return 0;
}

int gs_device_create(struct gpushare_device *arg)
{
	struct gpushare_device info;
	struct gs_device_conf conf;
	int ret;

	ret = arg->device ? -EINVAL : gs_contract_device_check(arg);
	if (!ret)
		ret = gs_contract_device_init(&info, arg->key, arg->kind);
	if (!ret)
		ret = gs_contract_device_merge(&info, arg, &conf);
	if (ret)
		return ret;
	mutex_lock(&gs.devices_mutex);
	ret = create(&info, &conf, arg);
	mutex_unlock(&gs.devices_mutex);
	return ret;
}

int gs_device_change(struct gpushare_device *arg)
{
	struct gs_device_conf conf;
	struct kdevice *device;
	u64 now;
	int ret;

	ret = gs_contract_device_check(arg);
	if (ret)
		return ret;
	now = gs_lock();
	device = find(arg);
	ret = device ? gs_contract_device_merge(&device->info, arg, &conf) : -ENODEV;
	if (!ret) {
		gs_device_set(&device->core, &conf, now);
		gs_device_fill(arg, device);
	}
	gs_unlock();
	return ret;
}

int gs_device_drop(const struct gpushare_device *arg)
{
	struct kdevice *device;

	if (gs_contract_device_check(arg))
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
