// SPDX-License-Identifier: MIT
/*
 * No caller can make the kernel keep things without bound: the limits, which are
 * the module's parameters, hold and are as Documentation/ioctl.md says.
 */
#include "lib.h"

#define PARAMETERS	"/sys/module/gpushare/parameters/"
#define LEVELS		64

static int dev;

static void parameter(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	EXPECT_EQ(0, put(path, value));
}

static int attach(uint32_t device)
{
	struct client c;
	int r = client_open(&c, device);

	if (!r)
		client_close(&c);
	return r;
}

TEST(the_limits_are_those_that_are_documented)
{
	static const char *const documented[][2] = {
		{ "max_clients", "65536\n" }, { "max_user_clients", "4096\n" },
		{ "max_groups", "16384\n" }, { "max_user_groups", "1024\n" },
		{ "max_devices", "64\n" }, { "discover", "Y\n" },
	};
	char path[128], value[32];
	size_t i;
	int fd;

	need_arbiter();
	for (i = 0; i < sizeof(documented) / sizeof(*documented); i++) {
		snprintf(path, sizeof(path), PARAMETERS "%s", documented[i][0]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		memset(value, 0, sizeof(value));
		EXPECT_LT(0, read(fd, value, sizeof(value) - 1));
		EXPECT_STREQ(documented[i][1], value);
		close(fd);
	}
}

TEST(all_users_together_have_limits)
{
	struct gpushare_device d = { .size = sizeof(d), .kind = GPUSHARE_KIND_CPU,
		.key = "cpu:limits" };
	uint32_t device;
	char *path;

	need_arbiter();
	dev = arb_open();
	device = device_new();
	path = cg_new(CGROOT, "limits");
	parameter("max_clients", "0");
	parameter("max_groups", "0");
	parameter("max_devices", "0");
	EXPECT_EQ(-EUSERS, attach(device));
	EXPECT_EQ(-EUSERS, share_set(dev, path, 0, 200));
	EXPECT_EQ(-ENOSPC, arb_call(dev, GPUSHARE_DEVICE_ADD, &d));
	parameter("max_clients", "65536");
	parameter("max_groups", "16384");
	parameter("max_devices", "64");
	EXPECT_EQ(0, attach(device));
	EXPECT_EQ(0, share_set(dev, path, 0, 200));
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_DEVICE_ADD, &d));
	device_remove(d.device);
	device_remove(device);
	cg_remove(path);
}

/* TENANT divides /limits-user, which was delegated to it. */
TEST(a_user_has_limits)
{
	char *top, *sub[3], *mine, file[300];
	uint32_t device;
	pid_t pid;
	int i;

	need_arbiter();
	chmod("/dev/gpushare", 0666);
	dev = arb_open();
	device = device_new();
	top = cg_new(CGROOT, "limits-user");
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", top);
	EXPECT_EQ(0, chown(file, TENANT, TENANT));
	for (i = 0; i < 3; i++)
		sub[i] = cg_new(top, (char *[]){ "a", "b", "c" }[i]);
	mine = cg_new(CGROOT, "limits-root");
	parameter("max_user_groups", "2");
	parameter("max_user_clients", "2");
	pid = fork();
	if (!pid) {
		struct gpushare_share reset = { .size = sizeof(reset), .authority_fd = -1,
			.reset = GPUSHARE_SHARE_ALL };
		struct client a, b;

		become(TENANT);
		dev = arb_open();
		CHILD(!client_open(&a, device) && !client_open(&b, device));
		CHILD(attach(device) == -EUSERS);
		/* what still is mapped counts, and what isn't doesn't */
		CHILD(!arb_call(b.fd, GPUSHARE_DETACH, NULL));
		CHILD(attach(device) == -EUSERS);
		client_close(&b);
		CHILD(!attach(device));
		CHILD(!share_set(dev, sub[0], 0, 200) && !share_set(dev, sub[1], 0, 200));
		CHILD(share_set(dev, sub[2], 0, 200) == -EUSERS);
		CHILD(!share_set(dev, sub[1], 0, 300));		/* no new one */
		reset.cgroup_fd = open(sub[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CHILD(!arb_call(dev, GPUSHARE_SHARE_SET, &reset));
		CHILD(!share_set(dev, sub[2], 0, 200));		/* room again */
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, share_set(dev, mine, 0, 200));	/* not for root */
	EXPECT_EQ(0, share_set(dev, sub[0], 0, 200));
	parameter("max_user_groups", "1024");
	parameter("max_user_clients", "4096");
	for (i = 0; i < 3; i++)
		cg_remove(sub[i]);
	cg_remove(top);
	cg_remove(mine);
	device_remove(device);
}

TEST(groups_are_at_most_64_deep)
{
	char path[1024] = CGROOT "/limits-deep";
	int n, r = 0;

	need_arbiter();
	dev = arb_open();
	for (n = 1; n <= LEVELS + 1; n++) {
		ASSERT_EQ(0, mkdir(path, 0755));
		r = share_set(dev, path, 0, 100);
		if (r)
			break;
		strcat(path, "/d");
	}
	EXPECT_EQ(LEVELS + 1, n);
	EXPECT_EQ(-EUSERS, r);
	for (; n > 0; n--) {
		cg_remove(path);
		*strrchr(path, '/') = 0;
	}
}

TEST_MAIN()
