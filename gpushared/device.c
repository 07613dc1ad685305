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
#define US 1000ull

static const uint8_t policies[] = {
	[GPUSHARE_POLICY_FAIR] = GS_POLICY_FAIR,
	[GPUSHARE_POLICY_FCFS] = GS_POLICY_FCFS,
	[GPUSHARE_POLICY_RR] = GS_POLICY_RR,
};

static const uint8_t quotas[] = {
	[GPUSHARE_QUOTA_ROLLOVER] = GS_MIN_ROLLOVER,
	[GPUSHARE_QUOTA_ELASTIC] = GS_MIN_ELASTIC,
	[GPUSHARE_QUOTA_HISTORY] = GS_MIN_HISTORY,
	[GPUSHARE_QUOTA_NAIVE] = GS_MIN_NAIVE,
};

static struct list_head to_free = { &to_free, &to_free };

static uint32_t find_value(const uint8_t *table, uint32_t n, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (table[i] == value)
			return i;
	return 0;
}

bool device_key_ok(const char *key)
{
	size_t i, n = strnlen(key, GPUSHARE_KEY_MAX);
	const char *colon = memchr(key, ':', n);

	if (n == GPUSHARE_KEY_MAX || !colon || colon == key || !colon[1])
		return false;
	for (i = 0; i < n; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return false;
	return true;
}

/* By id, or by key if that is 0. */
struct device *device_find(uint32_t id, const char *key)
{
	struct device *dev;

	list_for_each_entry(dev, &d.devices, link)
		if (id ? dev->core.id == id : !strncmp(dev->key, key, sizeof(dev->key)))
			return dev;
	return NULL;
}

static void device_expire(struct source *s, uint32_t events)
{
	struct device *dev = container_of(s, struct device, timer);
	uint64_t count;

	(void)events;
	if (read(s->fd, &count, sizeof(count)) != sizeof(count))
		return;
	dev->armed = GS_NEVER;
	gs_expire(&dev->core, now_ns());
}

int device_make(const char *key, uint32_t kind, bool added, struct device **device)
{
	struct gs_device_conf conf;
	struct device *dev;
	int err;

	if (d.nr_devices >= MAX_DEVICES)
		return -ENOSPC;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	strcpy(dev->key, key);
	dev->kind = kind;
	dev->added = added;
	dev->timer.ready = device_expire;
	dev->armed = GS_NEVER;
	err = timer_init(&dev->timer);
	if (!err) {
		gs_device_conf_init(&conf);
		conf.seat_way = GS_SEATS_WEIGHTED;	/* GPUSHARE_WORKERS_EQUAL */
		dev->core.priv = dev;
		err = gs_device_add(&d.arb, &dev->core, d.next_device, &conf, now_ns());
		dev->core.priv = dev;
	}
	if (err) {
		loop_remove(&dev->timer);
		free(dev);
		return err;
	}
	d.next_device++;
	d.nr_devices++;
	list_add_tail(&dev->link, &d.devices);
	*device = dev;
	return 0;
}

static void device_free(struct device *dev)
{
	struct client *c;

	state_device_gone(dev);
	gs_device_remove(&dev->core, now_ns());
	list_for_each_entry(c, &d.clients, link)
		if (c->device == dev)
			c->device = NULL;
	loop_remove(&dev->timer);
	list_move_tail(&dev->link, &to_free);	/* its timer may be among this round's sources */
	d.nr_devices--;
}

/* At the end of a round, when no source is looked at any more. */
void device_end_round(void)
{
	struct device *dev, *n;

	list_for_each_entry_safe(dev, n, &to_free, link)
		free(dev);
	INIT_LIST_HEAD(&to_free);
}

static bool in_range(uint64_t value, uint64_t least, uint64_t most)
{
	return value >= least && value <= most;
}

static int check_ranges(const struct gpushare_device *u)
{
	uint32_t m = u->mask;

	if ((m & GPUSHARE_DEV_POLICY && u->policy > GPUSHARE_POLICY_RR) ||
	    (m & GPUSHARE_DEV_SEATS && !in_range(u->seats, 1, GS_SEATS_MAX)) ||
	    (m & GPUSHARE_DEV_SLICE && !in_range(u->slice_us, 100, 1000000)) ||
	    (m & GPUSHARE_DEV_LINGER && u->linger_us > 1000000) ||
	    (m & GPUSHARE_DEV_GRACE && u->grace_us < 1000) ||
	    (m & GPUSHARE_DEV_QUOTA &&
	     (u->quota > GPUSHARE_QUOTA_NAIVE || !in_range(u->epoch_us, 10000, 10000000))) ||
	    (m & GPUSHARE_DEV_WORKERS && u->workers > GPUSHARE_WORKERS_PROFILE) ||
	    (m & GPUSHARE_DEV_LATENCY && u->latency_us > 1000000) ||
	    (m & GPUSHARE_DEV_OVERSUB && u->oversubscribe > 1))
		return -ERANGE;
	return 0;
}

static void convert(struct gs_device_conf *conf, const struct gpushare_device *u)
{
	struct gs_device_conf dfl;
	uint32_t m = u->mask;

	gs_device_conf_init(&dfl);
	if (m & GPUSHARE_DEV_POLICY)
		conf->policy = policies[u->policy];
	if (m & GPUSHARE_DEV_SEATS)
		conf->seats = u->seats;
	if (m & GPUSHARE_DEV_SLICE)
		conf->slice = u->slice_us * US;
	if (m & GPUSHARE_DEV_LINGER)
		conf->linger = u->linger_us * US;
	if (m & GPUSHARE_DEV_GRACE)
		conf->grace = u->grace_us * US;
	if (m & GPUSHARE_DEV_KILL)
		conf->kill_after = u->kill_us * US;
	if (m & GPUSHARE_DEV_QUOTA) {
		conf->min_way = quotas[u->quota];
		conf->epoch = u->epoch_us * US;
	}
	if (m & GPUSHARE_DEV_WORKERS)
		conf->seat_way = u->workers == GPUSHARE_WORKERS_PROFILE ? GS_SEATS_LONGEST :
				 GS_SEATS_WEIGHTED;
	if (m & GPUSHARE_DEV_LATENCY)
		conf->latency = u->latency_us ? u->latency_us * US : dfl.latency;
	if (m & GPUSHARE_DEV_CAPACITY) {
		conf->units = u->units;
		conf->threads = u->unit_threads;
		conf->regs = u->unit_registers;
		conf->local_mem = u->unit_local_bytes;
		conf->copy_ns_per_mib = u->bandwidth_mbps ? 1048576000ull / u->bandwidth_mbps : 0;
		conf->mem_capacity = u->mem_bytes;
	}
	if (m & GPUSHARE_DEV_OVERSUB)
		conf->oversubscribe = u->oversubscribe;
}

/* Changes what @u->mask names, or nothing. */
int device_apply(struct device *dev, const struct gpushare_device *u)
{
	struct gs_device_conf conf = dev->core.conf;
	int err = check_ranges(u);

	if (err)
		return err;
	convert(&conf, u);
	err = gs_device_set(&dev->core, &conf, now_ns());
	if (err)
		return err == -EINVAL ? -ERANGE : err;
	dev->set |= u->mask;
	if (u->mask & GPUSHARE_DEV_LATENCY)
		dev->latency_us = u->latency_us;
	if (u->mask & GPUSHARE_DEV_CAPACITY)
		dev->bandwidth_mbps = u->bandwidth_mbps;
	return 0;
}

void device_show(struct device *dev, struct gpushare_device *u)
{
	const struct gs_device_conf *conf = &dev->core.conf;
	uint32_t size = u->size;

	*u = (struct gpushare_device){
		.size = size,
		.device = (uint32_t)dev->core.id,
		.mask = dev->set,
		.kind = dev->kind,
		.policy = find_value(policies, ARRAY_SIZE(policies), conf->policy),
		.seats = conf->seats,
		.quota = find_value(quotas, ARRAY_SIZE(quotas), conf->min_way),
		.workers = conf->seat_way == GS_SEATS_LONGEST ? GPUSHARE_WORKERS_PROFILE :
			   GPUSHARE_WORKERS_EQUAL,
		.slice_us = (uint32_t)(conf->slice / US),
		.linger_us = (uint32_t)(conf->linger / US),
		.grace_us = (uint32_t)(conf->grace / US),
		.kill_us = (uint32_t)(conf->kill_after / US),
		.epoch_us = (uint32_t)(conf->epoch / US),
		.latency_us = dev->latency_us,
		.units = conf->units,
		.unit_threads = conf->threads,
		.unit_registers = conf->regs,
		.unit_local_bytes = conf->local_mem,
		.bandwidth_mbps = dev->bandwidth_mbps,
		.mem_bytes = conf->mem_capacity,
		.clients = dev->nr_clients,
		.waiters = dev->core.root.waiting,
		.holders = dev->core.root.running,
		.oversubscribe = conf->oversubscribe,
	};
	memcpy(u->key, dev->key, sizeof(u->key));
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
	int err;

	if (u->flags || u->device || (u->mask & ~GPUSHARE_DEV_ALL) || !device_key_ok(u->key))
		return -EINVAL;
	if (u->kind < GPUSHARE_KIND_GPU || u->kind > GPUSHARE_KIND_OTHER)
		return -ERANGE;
	if (device_find(0, u->key))
		return -EEXIST;
	err = check_ranges(u);
	if (!err)
		err = device_make(u->key, u->kind, true, &dev);
	if (err)
		return err;
	err = device_apply(dev, u);
	if (err) {
		device_free(dev);
		return err;
	}
	state_devices_changed();
	device_show(dev, u);
	return 0;
}

int device_set(struct gpushare_device *u)
{
	struct device *dev;
	int err;

	if (u->flags || (u->mask & ~GPUSHARE_DEV_ALL))
		return -EINVAL;
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

	if (u->flags)
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
	struct device *dev = device_find(0, key);

	if (!dev && device_make(key, kind, false, &dev)) {
		say("%s: found, and there is no room for it", key);
		return;
	}
	if (!dev->present && !dev->set)
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
	device_end_round();
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
