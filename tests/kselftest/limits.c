// SPDX-License-Identifier: MIT
/*
 * No caller can make the kernel keep things without bound: the limits, which are
 * the module's parameters, hold and are as Documentation/ioctl.md says.
 */
#include <linux/capability.h>
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

static void need_parameters(void)
{
	need_arbiter();
	ONLY_MODULE("limits that can be changed");
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

	need_parameters();
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

	need_parameters();
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

	need_parameters();
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

/*
 * A child in a cgroup (NULL: where it is) that attaches as often as it can, says how
 * often, and waits.
 */
struct crowd {
	pid_t pid;
	int go[2];
	int number;
};

static void attach_all(uint32_t device, int up)
{
	struct client c;
	int n = 0, r;

	while (!(r = client_open(&c, device)))
		n++;
	CHILD(r == -EUSERS);
	CHILD(write(up, &n, sizeof(n)) == sizeof(n));
}

static struct crowd crowd(const char *cgroup, void (*be)(int arg), int arg, uint32_t device)
{
	struct crowd c = {};
	int up[2];

	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(c.go));
	c.pid = fork();
	if (!c.pid) {
		CHILD(!cgroup || !cg_enter(cgroup));
		be(arg);
		attach_all(device, up[1]);
		hold(c.go);
		_exit(0);
	}
	close(up[1]);
	ASSERT_EQ(sizeof(c.number), read(up[0], &c.number, sizeof(c.number)));
	close(up[0]);
	return c;
}

static void disperse(struct crowd *c)
{
	step(c->go);
	EXPECT_EQ(0, reap(c->pid));
	close(c->go[0]);
	close(c->go[1]);
}

static void be_user(int uid)
{
	become(uid);
}

/* As root of a container is that has no user namespace of its own. */
static void be_powerless(int unused)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = {};

	(void)unused;
	CHILD(!syscall(SYS_capset, &h, none));
}

static void set_up_crowds(uint32_t *device, const char *most)
{
	need_parameters();
	chmod("/dev/gpushare", 0666);
	dev = arb_open();
	*device = device_new();
	parameter("max_clients", most);
}

static void tear_down_crowds(uint32_t device)
{
	parameter("max_clients", "65536");
	device_remove(device);
}

TEST(an_eighth_is_the_administrators)
{
	struct crowd c[6], root;
	uint32_t device;
	int i, sum = 0;

	set_up_crowds(&device, "40");
	for (i = 0; i < 6; i++) {
		c[i] = crowd(NULL, be_user, TENANT + i, device);
		EXPECT_LE(c[i].number, 10);		/* a user has a quarter at most */
		sum += c[i].number;
	}
	EXPECT_EQ(10, c[0].number);
	EXPECT_EQ(35, sum);
	root = crowd(NULL, be_powerless, 0, device);	/* to be uid 0 is no merit */
	EXPECT_EQ(0, root.number);
	disperse(&root);
	/* and the administrator has the rest */
	root.pid = fork();
	if (!root.pid) {
		struct client mine;

		for (i = 0; i < 5; i++)
			CHILD(!client_open(&mine, device));
		CHILD(client_open(&mine, device) == -EUSERS);
		_exit(0);
	}
	EXPECT_EQ(0, reap(root.pid));
	for (i = 0; i < 6; i++)
		disperse(&c[i]);
	tear_down_crowds(device);
}

/* In a user namespace, as root of it, with @ids more ids; 4 if there can be none. */
static void make_namespace(uid_t uid, unsigned int ids, void (*then)(void *arg), void *arg)
{
	char path[64], map[64];
	int ready[2], go[2];
	pid_t pid;
	char ch;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		if (uid)
			become(uid);
		if (unshare(CLONE_NEWUSER))
			_exit(4);
		CHILD(write(ready[1], "", 1) == 1);
		hold(go);
		CHILD(!setresgid(0, 0, 0) && !setresuid(0, 0, 0));
		then(arg);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &ch, 1) == 1) {
		snprintf(map, sizeof(map), "0 %u 1\n1 200000 %u\n", uid, ids);
		snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		EXPECT_EQ(0, put(path, map));
		snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
		EXPECT_EQ(0, put(path, map));
		step(go);
	}
	switch (reap(pid)) {
	case 0:
		return;
	case 4:
		SKIP("no user namespaces here");
	default:
		EXPECT_TRUE(false);
	}
}

/* How many clients @ids users have together, which come one after the other. */
static int attached_by(int ids, uint32_t device)
{
	struct crowd c[8];
	int i, sum = 0;

	for (i = 0; i < ids; i++) {
		c[i] = crowd(NULL, be_user, i, device);
		sum += c[i].number;
	}
	for (i = 0; i < ids; i++)
		disperse(&c[i]);
	return sum;
}

static void expect_one_users(void *device)
{
	CHILD(attached_by(5, *(uint32_t *)device) == 10);
}

static void be_the_same(int unused)
{
	(void)unused;
}

static void expect_one_users_deeper(void *device)
{
	struct crowd c;

	if (unshare(CLONE_NEWUSER))
		_exit(4);
	put("/proc/self/setgroups", "deny");
	CHILD(!put("/proc/self/uid_map", "0 0 1"));
	CHILD(!put("/proc/self/gid_map", "0 0 1"));
	c = crowd(NULL, be_the_same, 0, *(uint32_t *)device);
	CHILD(c.number == 10);
	disperse(&c);
}

static void expect_each_its_own(void *device)
{
	struct crowd a = crowd(NULL, be_user, 1, *(uint32_t *)device);
	struct crowd b = crowd(NULL, be_user, 2, *(uint32_t *)device);

	CHILD(a.number == 10 && b.number == 10);
	disperse(&a);
	disperse(&b);
}

TEST(subordinate_ids_are_their_owners)
{
	struct crowd own;
	uint32_t device;

	set_up_crowds(&device, "40");
	make_namespace(TENANT, 8, expect_one_users, &device);
	make_namespace(TENANT, 8, expect_one_users_deeper, &device);
	own = crowd(NULL, be_user, TENANT, device);
	EXPECT_EQ(10, own.number);
	make_namespace(TENANT + 1, 8, expect_one_users, &device);
	disperse(&own);
	make_namespace(0, 8, expect_each_its_own, &device);
	tear_down_crowds(device);
}

TEST(a_container_leaves_room_for_the_others)
{
	struct crowd first, inside, second, third;
	char *top, *a, *b, *below;
	uint32_t device;

	set_up_crowds(&device, "64");		/* 56 for all */
	top = cg_new(CGROOT, "limits-pods");
	a = cg_new(top, "a");
	below = cg_new(a, "below");
	b = cg_new(top, "b");
	first = crowd(a, be_powerless, 0, device);
	EXPECT_EQ(32, first.number);		/* 9/16 of them */
	inside = crowd(below, be_powerless, 0, device);
	EXPECT_EQ(0, inside.number);		/* to go deeper is no way out */
	second = crowd(b, be_powerless, 0, device);
	EXPECT_LE(5, second.number);
	third = crowd(NULL, be_powerless, 0, device);
	EXPECT_LE(1, third.number);
	EXPECT_EQ(56, first.number + second.number + third.number);
	EXPECT_EQ(0, attach(device));		/* and the administrator has its own */
	disperse(&third);
	disperse(&second);
	disperse(&inside);
	disperse(&first);
	first = crowd(b, be_powerless, 0, device);
	EXPECT_EQ(32, first.number);		/* all is free again */
	disperse(&first);
	cg_remove(below);
	cg_remove(a);
	cg_remove(b);
	cg_remove(top);
	tear_down_crowds(device);
}

/* Of the cgroups above only the first eight have books: deeper is no further loss. */
TEST(a_place_deep_down_is_one_of_the_eighth_level)
{
	char path[1024] = CGROOT "/limits-deep";
	struct crowd c;
	uint32_t device;
	int n, at8 = 0;

	set_up_crowds(&device, "1000");
	for (n = 1; n <= 12; n++) {
		ASSERT_EQ(0, mkdir(path, 0755));
		if (n == 8 || n == 12) {
			c = crowd(path, be_powerless, 0, device);
			EXPECT_LE(80, c.number);
			EXPECT_TRUE(n == 8 || c.number == at8);
			at8 = c.number;
			disperse(&c);
		}
		if (n < 12)
			strcat(path, "/d");
	}
	for (n = 12; n > 0; n--) {
		cg_remove(path);
		*strrchr(path, '/') = 0;
	}
	tear_down_crowds(device);
}

/* Groups count where they are; whoever gives them their share. */
TEST(a_container_leaves_room_for_the_groups_of_others)
{
	char *top[2], path[400];
	int i, k, n[2] = {};
	pid_t pid;

	need_parameters();
	dev = arb_open();
	top[0] = cg_new(CGROOT, "limits-pod-a");
	top[1] = cg_new(CGROOT, "limits-pod-b");
	parameter("max_groups", "32");		/* 28 for all */
	for (k = 0; k < 2; k++) {
		pid = fork();
		if (!pid) {
			CHILD(!cg_enter(top[k]));
			be_powerless(0);
			dev = arb_open();
			for (i = 0; i < 28; i++) {
				snprintf(path, sizeof(path), "%s/%d", top[k], i);
				CHILD(!mkdir(path, 0755));
				if (share_set(dev, path, 0, 200))
					break;
			}
			_exit(i);
		}
		n[k] = reap(pid);
	}
	EXPECT_EQ(21, n[0]);			/* three quarters */
	EXPECT_LE(5, n[1]);
	EXPECT_LE(n[0] + n[1], 27);
	EXPECT_EQ(0, share_set(dev, top[0], 0, 200));	/* the administrator */
	parameter("max_groups", "16384");
	for (k = 0; k < 2; k++) {
		for (i = 0; i <= n[k]; i++) {
			snprintf(path, sizeof(path), "%s/%d", top[k], i);
			cg_remove(path);
		}
		cg_remove(top[k]);
	}
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
