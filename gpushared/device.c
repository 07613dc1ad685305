// SPDX-License-Identifier: MIT
/*
 * Devices: found on the PCI bus, the processor itself in a user's own daemon,
 * and what an admin adds (MIG instances have no place in sysfs).
 *
 * A found device's settings are kept under its key, so they are there again
 * when it is. One that an admin has set stays when it vanishes from the bus
 * only if the admin had added it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gpushared.h"

#define CLASS_DISPLAY		0x03
#define CLASS_ACCELERATOR	0x12

/* By id, or by key if that is 0. */
struct device *device_find(uint32_t id, const char *key)
{
	struct device *dev;

	list_for_each_entry(dev, &d.devices, link)
		if (id ? dev->core.id == id : !strncmp(dev->info.key, key, GPUSHARE_KEY_MAX))
			return dev;
	return NULL;
}

static void device_expire(struct timer *t)
{
	struct device *dev = container_of(t, struct device, timer);

	gs_expire(&dev->core, now_ns());
}

static int make(const struct gpushare_device *info, const struct gs_device_conf *conf, bool added,
		struct device **device)
{
	struct device *dev;
	int err;

	if (d.nr_devices >= MAX_DEVICES)
		return -ENOSPC;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->info = *info;
	dev->added = added;
	dev->timer.due = device_expire;
	err = gs_device_add(&d.arb, &dev->core, d.next_device, conf, now_ns());
	dev->core.priv = dev;
	if (err) {
		timer_stop(&dev->timer);
		free(dev);
		return err;
	}
	d.next_device++;
	d.nr_devices++;
	list_add_tail(&dev->link, &d.devices);
	*device = dev;
	return 0;
}

/* As the defaults are, but for what @arg names. */
int device_make(const struct gpushare_device *arg, bool added, struct device **device)
{
	struct gpushare_device info;
	struct gs_device_conf conf;
	int err = gs_contract_device_init(&info, arg->key, arg->kind);

	if (!err)
		err = gs_contract_device_merge(&info, arg, &conf);
	if (!err && device_find(0, arg->key))
		err = -EEXIST;
	return err ? err : make(&info, &conf, added, device);
}

static void device_free(struct device *dev)
{
	struct client *c;

	state_device_gone(dev);
	gs_device_remove(&dev->core, now_ns());
	list_for_each_entry(c, &d.clients, link)
		if (c->device == dev)
			c->device = NULL;
	timer_stop(&dev->timer);
	list_del_init(&dev->link);
	d.nr_devices--;
	free(dev);
}

/* Changes what @u->mask names, or nothing. */
int device_apply(struct device *dev, const struct gpushare_device *u)
{
	struct gs_device_conf conf;
	int err = gs_contract_device_merge(&dev->info, u, &conf);

	return err ? err : gs_device_set(&dev->core, &conf, now_ns());
}

void device_show(const struct device *dev, struct gpushare_device *u)
{
	gs_contract_device_show(u, &dev->info, &dev->core, dev->nr_clients);
}

int device_get(struct gpushare_device *u)
{
	struct device *dev, *found = NULL;

	if (u->flags & ~GPUSHARE_GET_NEXT)
		return -EINVAL;
	if (u->flags & GPUSHARE_GET_NEXT) {
		list_for_each_entry(dev, &d.devices, link)
			if (!found && dev->core.id > u->device)
				found = dev;
		if (!found)
			return -ENOENT;
	} else {
		found = device_find(u->device, u->key);
		if (!found)
			return -ENODEV;
	}
	device_show(found, u);
	return 0;
}

int device_add(struct gpushare_device *u)
{
	struct device *dev;
	int err = u->device ? -EINVAL : gs_contract_device_check(u);

	if (!err)
		err = device_make(u, true, &dev);
	if (err)
		return err;
	state_devices_changed();
	device_show(dev, u);
	return 0;
}

int device_set(struct gpushare_device *u)
{
	struct device *dev;
	int err = gs_contract_device_check(u);

	if (err)
		return err;
	dev = device_find(u->device, u->key);
	if (!dev)
		return -ENODEV;
	err = device_apply(dev, u);
	if (err)
		return err;
	state_devices_changed();
	device_show(dev, u);
	return 0;
}

int device_remove(struct gpushare_device *u)
{
	struct device *dev;

	if (gs_contract_device_check(u))
		return -EINVAL;
	dev = device_find(u->device, u->key);
	if (!dev)
		return -ENODEV;
	device_free(dev);
	state_devices_changed();
	return 0;
}

static bool is_accelerator(const char *slot)
{
	char path[512], text[32];
	unsigned long class;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/class", d.pci_path, slot);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	class = strtoul(text, NULL, 16) >> 16;
	return class == CLASS_DISPLAY || class == CLASS_ACCELERATOR;
}

static void found(const char *key, uint32_t kind)
{
	struct gpushare_device arg = { .kind = kind };
	struct device *dev = device_find(0, key);

	snprintf(arg.key, sizeof(arg.key), "%s", key);
	if (!dev && device_make(&arg, false, &dev)) {
		say("%s: found, and there is no room for it", key);
		return;
	}
	if (!dev->present && !dev->info.mask)
		state_remembered(dev);
	dev->present = true;
}

static void look_at_bus(void)
{
	char key[GPUSHARE_KEY_MAX];
	struct dirent *e;
	DIR *dir;

	dir = opendir(d.pci_path);
	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < sizeof(key) - 4 &&
		    is_accelerator(e->d_name)) {
			snprintf(key, sizeof(key), "pci:%.59s", e->d_name);
			found(key, GPUSHARE_KIND_GPU);
		}
	closedir(dir);
}

/* What is there now; what was found before and is gone is taken away. */
void device_discover(void)
{
	struct device *dev, *n;

	list_for_each_entry(dev, &d.devices, link)
		dev->present = dev->added;
	look_at_bus();
	if (!d.system)
		found("cpu:0", GPUSHARE_KIND_CPU);
	list_for_each_entry_safe(dev, n, &d.devices, link)
		if (!dev->present)
			device_free(dev);
}

void device_forget_all(void)
{
	while (!list_empty(&d.devices))
		device_free(list_first_entry(&d.devices, struct device, link));
}

/* The kernel's word about something that came or went. */
static void uevent(struct source *s, uint32_t events)
{
	char text[4096];
	ssize_t n;

	(void)events;
	n = recv(s->fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	if (n <= 0)
		return;
	text[n] = 0;
	if (!strncmp(text, "add@", 4) || !strncmp(text, "remove@", 7))
		if (memmem(text, (size_t)n, "SUBSYSTEM=pci", 13))
			device_discover();
}

int device_watch(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	static struct source source = { .ready = uevent };

	source.fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			   NETLINK_KOBJECT_UEVENT);
	if (source.fd < 0)
		return -errno;
	if (bind(source.fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(source.fd);
		source.fd = -1;
		return -errno;
	}
	return loop_add(&source, EPOLLIN);
}
