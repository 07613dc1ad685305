// SPDX-License-Identifier: MIT
/* Devices: adding, configuring, listing, removing, and those found on PCI. */
#include <dirent.h>
#include "lib.h"

static int dev;

static struct gpushare_device named(const char *key)
{
	struct gpushare_device d = { .size = sizeof(d), .kind = GPUSHARE_KIND_CPU };

	snprintf(d.key, sizeof(d.key), "%s", key);
	return d;
}

static int get(uint32_t device, struct gpushare_device *d)
{
	*d = (struct gpushare_device){ .size = sizeof(*d), .device = device };
	return arb_call(dev, GPUSHARE_DEVICE_GET, d);
}

static void setup(void)
{
	need_arbiter();
	dev = arb_open();
}

TEST(add_gives_defaults)
{
	struct gpushare_device d = named("cpu:defaults"), g;

	setup();
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_ADD, &d));
	ASSERT_EQ(0, get(d.device, &g));
	EXPECT_STREQ("cpu:defaults", g.key);
	EXPECT_EQ(GPUSHARE_KIND_CPU, g.kind);
	EXPECT_EQ(GPUSHARE_POLICY_FAIR, g.policy);
	EXPECT_EQ(GPUSHARE_QUOTA_ROLLOVER, g.quota);
	EXPECT_EQ(1, g.seats);
	EXPECT_EQ(2000, g.slice_us);
	EXPECT_EQ(200, g.linger_us);
	EXPECT_EQ(100000, g.grace_us);
	EXPECT_EQ(0, g.kill_us);
	EXPECT_EQ(100000, g.epoch_us);
	EXPECT_EQ(0, g.mem_bytes);
	EXPECT_EQ(0, g.clients);
	/* by key */
	g = named("cpu:defaults");
	g.kind = 0;
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_GET, &g));
	EXPECT_EQ(d.device, g.device);
	device_remove(d.device);
	EXPECT_EQ(-ENODEV, get(d.device, &g));
}

TEST(keys)
{
	static const char *const bad[] = { "", "cpu", "cpu:", ":0", "cpu:a b", "cpu:a\tb",
		"cpu:\x80", "cpu:a\nb" };
	struct gpushare_device d = named("mig:GPU-5d1f/3"), e;
	size_t i;

	setup();
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_ADD, &d));
	e = named("mig:GPU-5d1f/3");
	EXPECT_EQ(-EEXIST, arb_call(dev, GPUSHARE_DEVICE_ADD, &e));
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		e = named(bad[i]);
		EXPECT_EQ(-EINVAL, arb_call(dev, GPUSHARE_DEVICE_ADD, &e));
	}
	e = named("cpu:x");
	memset(e.key + 4, 'x', sizeof(e.key) - 4);	/* no NUL */
	EXPECT_EQ(-EINVAL, arb_call(dev, GPUSHARE_DEVICE_ADD, &e));
	device_remove(d.device);
	d = named("cpu:no such");
	strcpy(d.key, "cpu:none");
	EXPECT_EQ(-ENODEV, arb_call(dev, GPUSHARE_DEVICE_REMOVE, &d));
}

TEST(ids_are_not_used_again_at_once)
{
	uint32_t a, b;

	setup();
	a = device_new();
	device_remove(a);
	b = device_new();
	EXPECT_NE(a, b);
	device_remove(b);
}

TEST(ranges)
{
	static const struct gpushare_device bad[] = {
		{ .mask = GPUSHARE_DEV_POLICY, .policy = 3 },
		{ .mask = GPUSHARE_DEV_SEATS, .seats = 0 },
		{ .mask = GPUSHARE_DEV_SEATS, .seats = 65 },
		{ .mask = GPUSHARE_DEV_SLICE, .slice_us = 99 },
		{ .mask = GPUSHARE_DEV_SLICE, .slice_us = 1000001 },
		{ .mask = GPUSHARE_DEV_LINGER, .linger_us = 1000001 },
		{ .mask = GPUSHARE_DEV_GRACE, .grace_us = 999 },
		{ .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_KILL, .grace_us = 2000,
		  .kill_us = 1999 },
		{ .mask = GPUSHARE_DEV_QUOTA, .quota = 4, .epoch_us = 100000 },
		{ .mask = GPUSHARE_DEV_QUOTA, .epoch_us = 9999 },
		{ .mask = GPUSHARE_DEV_QUOTA, .epoch_us = 10000001 },
		{ .mask = GPUSHARE_DEV_WORKERS, .workers = 2 },
		{ .mask = GPUSHARE_DEV_OVERSUB, .oversubscribe = 2 },
	};
	struct gpushare_device d, before, after;
	uint32_t device;
	size_t i;

	setup();
	device = device_new();
	ASSERT_EQ(0, get(device, &before));
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		d = bad[i];
		d.size = sizeof(d);
		d.device = device;
		EXPECT_EQ(-ERANGE, arb_call(dev, GPUSHARE_DEVICE_SET, &d));
		d = bad[i];
		d.size = sizeof(d);
		d.kind = GPUSHARE_KIND_CPU;
		strcpy(d.key, "cpu:bad");
		EXPECT_EQ(-ERANGE, arb_call(dev, GPUSHARE_DEVICE_ADD, &d));
	}
	d = named("cpu:bad");
	d.kind = 0;
	EXPECT_EQ(-ERANGE, arb_call(dev, GPUSHARE_DEVICE_ADD, &d));
	d.kind = GPUSHARE_KIND_OTHER + 1;
	EXPECT_EQ(-ERANGE, arb_call(dev, GPUSHARE_DEVICE_ADD, &d));
	ASSERT_EQ(0, get(device, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	device_remove(device);
}

TEST(set_takes_effect_at_once)
{
	struct gpushare_device d;
	struct client a, b;

	setup();
	a = client_new(device_new());
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	d = (struct gpushare_device){ .size = sizeof(d), .device = a.device,
		.mask = GPUSHARE_DEV_SEATS | GPUSHARE_DEV_SLICE, .seats = 2, .slice_us = 5000 };
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_SET, &d));
	EXPECT_TRUE(EVENTUALLY(granted(&b)));		/* there's room now */
	ASSERT_EQ(0, get(a.device, &d));
	EXPECT_EQ(2, d.seats);
	EXPECT_EQ(5000, d.slice_us);
	EXPECT_EQ(200, d.linger_us);			/* what wasn't named stays */
	/* fewer seats than holders: they are asked back once somebody waits */
	d = (struct gpushare_device){ .size = sizeof(d), .device = a.device,
		.mask = GPUSHARE_DEV_SEATS, .seats = 1 };
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_SET, &d));
	EXPECT_EQ(0, yield(&a, 0, 0));
	EXPECT_EQ(0, yield(&b, 0, 0));
	EXPECT_EQ(0, acquire(&a, 0, 1000));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	device_remove(a.device);
}

TEST(next_lists_all)
{
	uint32_t mine[3], last = 0;
	struct gpushare_device d;
	int i, seen = 0, r;

	setup();
	for (i = 0; i < 3; i++)
		mine[i] = device_new();
	for (;;) {
		d = (struct gpushare_device){ .size = sizeof(d), .flags = GPUSHARE_GET_NEXT,
			.device = last };
		r = arb_call(dev, GPUSHARE_DEVICE_GET, &d);
		if (r)
			break;
		EXPECT_LT(last, d.device);
		if (d.device <= last)
			break;
		last = d.device;
		for (i = 0; i < 3; i++)
			seen += d.device == mine[i];
	}
	EXPECT_EQ(-ENOENT, r);
	EXPECT_EQ(3, seen);
	for (i = 0; i < 3; i++)
		device_remove(mine[i]);
}

TEST_LIMIT(there_is_a_limit_of_devices, 120)
{
	struct gpushare_device d;
	char key[GPUSHARE_KEY_MAX];
	int n, r = 0, i;

	setup();
	for (n = 0; n < 100000; n++) {
		snprintf(key, sizeof(key), "cpu:limit%d", n);
		d = named(key);
		r = arb_call(dev, GPUSHARE_DEVICE_ADD, &d);
		if (r)
			break;
	}
	printf("# %d devices fit\n", n);
	EXPECT_EQ(-ENOSPC, r);
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "cpu:limit%d", i);
		d = named(key);
		EXPECT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_REMOVE, &d));
	}
}

static int pci_device(char *address, size_t size)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *e;
	char path[300], class[16];
	int fd, n, found = 0;

	while (dir && !found && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", e->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? 0 : read(fd, class, sizeof(class) - 1);
		close(fd);
		class[n > 0 ? n : 0] = 0;
		found = !strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4);
		if (found)
			snprintf(address, size, "%.31s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

TEST(a_display_on_pci_is_found_and_follows_hotplug)
{
	char address[32], path[300], key[40];
	struct gpushare_device d;
	struct client c;

	setup();
	if (!pci_device(address, sizeof(address)))
		SKIP("no display or accelerator on PCI here");
	snprintf(key, sizeof(key), "pci:%s", address);
	d = named(key);
	d.kind = 0;
	ASSERT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_GET, &d));
	EXPECT_EQ(GPUSHARE_KIND_GPU, d.kind);
	c = client_new(d.device);
	EXPECT_EQ(0, acquire(&c, 0, 1000));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", address);
	EXPECT_EQ(0, put(path, "1"));
	EXPECT_TRUE(EVENTUALLY(word(&c) & GPUSHARE_GONE));
	client_close(&c);
	d.device = 0;
	EXPECT_EQ(-ENODEV, arb_call(dev, GPUSHARE_DEVICE_GET, &d));
	EXPECT_EQ(0, put("/sys/bus/pci/rescan", "1"));
	EXPECT_TRUE(EVENTUALLY(!arb_call(dev, GPUSHARE_DEVICE_GET, &d)));
	c = client_new(d.device);
	EXPECT_EQ(0, acquire(&c, 0, 1000));
}

TEST_MAIN()
