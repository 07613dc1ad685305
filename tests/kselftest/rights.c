// SPDX-License-Identifier: MIT
/*
 * Who may do what: delegation as in cgroup v2 (authority over the parent), by
 * the caller's rights or by a passed file, and what containers see.
 */
#include <sys/mount.h>
#include "lib.h"

static int dev;
static char *top, *sub;

/* TENANT is delegated /rights, and has made /rights/sub. */
static void setup(void)
{
	char file[300];

	need_arbiter();
	chmod("/dev/gpushare", 0666);
	dev = arb_open();
	top = cg_new(CGROOT, "rights");
	EXPECT_EQ(0, chown(top, TENANT, TENANT));
	snprintf(file, sizeof(file), "%s/cgroup.procs", top);
	EXPECT_EQ(0, chown(file, TENANT, TENANT));
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", top);
	EXPECT_EQ(0, chown(file, TENANT, TENANT));
	sub = cg_new(top, "sub");
	EXPECT_EQ(0, chown(sub, TENANT, TENANT));
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", sub);
	EXPECT_EQ(0, chown(file, TENANT, TENANT));
}

static void teardown(void)
{
	cg_remove(sub);
	cg_remove(top);
}

static int set_with(const char *path, const char *authority, uint32_t weight)
{
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = -1,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = weight };
	int r;

	s.cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (authority) {
		s.authority_fd = open(authority, O_WRONLY | O_CLOEXEC);
		if (s.authority_fd < 0)
			return -errno * 1000;
	}
	r = arb_call(dev, GPUSHARE_SHARE_SET, &s);
	close(s.cgroup_fd);
	if (authority)
		close(s.authority_fd);
	return r;
}

TEST(a_delegatee_divides_what_it_has)
{
	char own[300], above[300];
	pid_t pid;

	setup();
	snprintf(own, sizeof(own), "%s/cgroup.subtree_control", sub);
	snprintf(above, sizeof(above), "%s/cgroup.subtree_control", top);
	EXPECT_EQ(0, set_with(top, NULL, 50));
	pid = fork();
	if (!pid) {
		become(TENANT);
		dev = arb_open();
		CHILD(!set_with(sub, NULL, 300));
		CHILD(!set_with(sub, above, 301));
		/* but doesn't decide how much that is */
		CHILD(set_with(top, NULL, 10000) == -EPERM);
		CHILD(set_with(top, above, 10000) == -EPERM);
		CHILD(set_with(top, own, 10000) == -EPERM);
		CHILD(set_with(sub, own, 10000) == -EPERM);	/* proves nothing of sub */
		CHILD(set_with(CGROOT, NULL, 1) == -EINVAL);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	teardown();
}

TEST(a_stranger_may_nothing)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = 1 };
	pid_t pid;

	setup();
	EXPECT_EQ(0, set_with(sub, NULL, 50));
	pid = fork();
	if (!pid) {
		become(NOBODY);
		dev = arb_open();
		CHILD(set_with(sub, NULL, 1) == -EPERM);
		CHILD(set_with(top, NULL, 1) == -EPERM);
		s.group = cg_id(sub);		/* by id it's no easier */
		CHILD(arb_call(dev, GPUSHARE_SHARE_SET, &s) == -EPERM);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	s.mask = 0;
	s.weight = 0;
	s.group = cg_id(sub);
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_SHARE_GET, &s));
	EXPECT_EQ(50, s.weight);
	teardown();
}

/* Authority can be handed on as a file, opened for writing by who may. */
TEST(authority_travels_as_a_file)
{
	struct gpushare_share s = { .size = sizeof(s), .mask = GPUSHARE_SHARE_WEIGHT,
		.weight = 77 };
	char file[300];
	pid_t pid;

	setup();
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", top);
	s.authority_fd = open(file, O_WRONLY);
	s.cgroup_fd = open(sub, O_RDONLY | O_DIRECTORY);
	pid = fork();
	if (!pid) {
		become(NOBODY);
		dev = arb_open();
		CHILD(!arb_call(dev, GPUSHARE_SHARE_SET, &s));
		s.authority_fd = open(file, O_RDONLY);		/* reading proves nothing */
		CHILD(s.authority_fd >= 0);
		CHILD(arb_call(dev, GPUSHARE_SHARE_SET, &s) == -EPERM);
		s.authority_fd = open("/dev/null", O_WRONLY);
		CHILD(arb_call(dev, GPUSHARE_SHARE_SET, &s) != 0);
		s.authority_fd = 999;
		CHILD(arb_call(dev, GPUSHARE_SHARE_SET, &s) == -EBADF);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	teardown();
}

TEST(devices_are_the_administrators)
{
	struct gpushare_device d = { .size = sizeof(d), .kind = GPUSHARE_KIND_CPU,
		.key = "cpu:no" };
	uint32_t device;
	pid_t pid;

	setup();
	device = device_new();
	pid = fork();
	if (!pid) {
		become(TENANT);
		dev = arb_open();
		CHILD(arb_call(dev, GPUSHARE_DEVICE_ADD, &d) == -EPERM);
		d.device = device;
		d.mask = GPUSHARE_DEV_SLICE;
		d.slice_us = 1000;
		CHILD(arb_call(dev, GPUSHARE_DEVICE_SET, &d) == -EPERM);
		CHILD(arb_call(dev, GPUSHARE_DEVICE_REMOVE, &d) == -EPERM);
		d = (struct gpushare_device){ .size = sizeof(d), .device = device };
		CHILD(!arb_call(dev, GPUSHARE_DEVICE_GET, &d));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	device_remove(device);
	teardown();
}

/* root in a user namespace of its own is nobody's administrator */
TEST(root_of_a_user_namespace_is_no_administrator)
{
	struct gpushare_device d = { .size = sizeof(d), .kind = GPUSHARE_KIND_CPU,
		.key = "cpu:no" };
	pid_t pid;

	setup();
	pid = fork();
	if (!pid) {
		become(NOBODY);
		if (unshare(CLONE_NEWUSER))
			_exit(4);
		put("/proc/self/setgroups", "deny");
		CHILD(!put("/proc/self/uid_map", "0 65534 1"));
		CHILD(!geteuid());
		dev = arb_open();
		CHILD(arb_call(dev, GPUSHARE_DEVICE_ADD, &d) == -EPERM);
		CHILD(set_with(sub, NULL, 1) == -EPERM);
		_exit(0);
	}
	switch (reap(pid)) {
	case 0:
		break;
	case 4:
		SKIP("no user namespaces here");
	default:
		EXPECT_TRUE(false);
	}
	teardown();
}

/* The share of a cgroup, by its directory and by its id. */
static int get_by_fd(const char *path, int authority, struct gpushare_share *s)
{
	int r;

	*s = (struct gpushare_share){ .size = sizeof(*s), .authority_fd = authority };
	s->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->cgroup_fd < 0)
		return -errno * 1000;
	r = arb_call(dev, GPUSHARE_SHARE_GET, s);
	close(s->cgroup_fd);
	return r;
}

static int get_by_id(uint64_t id, int authority, struct gpushare_share *s)
{
	*s = (struct gpushare_share){ .size = sizeof(*s), .cgroup_fd = -1,
		.authority_fd = authority, .group = id };
	return arb_call(dev, GPUSHARE_SHARE_GET, s);
}

static bool shown(const char *path)
{
	struct gpushare_share s;

	return !get_by_fd(path, -1, &s) && !get_by_id(cg_id(path), -1, &s);
}

static bool hidden(const char *path)
{
	struct gpushare_share s;

	return get_by_fd(path, -1, &s) == -ENOENT && !s.weight && !s.clients && !s.path[0] &&
	       get_by_id(cg_id(path), -1, &s) == -ENOENT && !s.weight && !s.clients && !s.path[0];
}

/* Everybody can open every cgroup's directory, so that alone is no reason to be told. */
TEST(a_stranger_reads_nobody_elses_share)
{
	char *own, *below, *other;
	pid_t pid;

	setup();
	own = cg_new(CGROOT, "rights-own");
	below = cg_new(own, "below");
	other = cg_new(CGROOT, "rights-other");
	EXPECT_EQ(0, set_with(own, NULL, 50));
	EXPECT_EQ(0, set_with(below, NULL, 60));
	EXPECT_EQ(0, set_with(other, NULL, 70));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(own));
		become(NOBODY);
		dev = arb_open();
		CHILD(hidden(other));
		CHILD(hidden(CGROOT));
		CHILD(shown(own));
		CHILD(shown(below));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(shown(other));		/* to the administrator */
	EXPECT_TRUE(shown(CGROOT));
	teardown();
	cg_remove(below);
	cg_remove(own);
	cg_remove(other);
}

/* Who may set a share may read it, from wherever; that is shown as for setting it. */
TEST(a_delegatee_reads_what_it_may_set)
{
	struct gpushare_share s;
	char *own, file[300];
	int proof, weak;
	pid_t pid;

	setup();
	own = cg_new(CGROOT, "rights-own");
	EXPECT_EQ(0, set_with(top, NULL, 50));
	EXPECT_EQ(0, set_with(sub, NULL, 60));
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", top);
	proof = open(file, O_WRONLY | O_CLOEXEC);
	weak = open(file, O_RDONLY | O_CLOEXEC);
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(own));
		become(TENANT);
		dev = arb_open();
		CHILD(!get_by_fd(sub, -1, &s) && s.weight == 60);
		CHILD(get_by_id(cg_id(sub), -1, &s) == -ENOENT);
		CHILD(hidden(top));			/* which it can't set */
		CHILD(hidden(CGROOT));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(own));
		become(NOBODY);
		dev = arb_open();
		CHILD(hidden(sub));
		CHILD(!get_by_fd(sub, proof, &s) && s.weight == 60);
		CHILD(!get_by_id(cg_id(sub), proof, &s) && s.weight == 60);
		CHILD(get_by_fd(sub, weak, &s) == -ENOENT);
		CHILD(get_by_fd(top, proof, &s) == -ENOENT);
		CHILD(get_by_id(cg_id(top), proof, &s) == -ENOENT);
		/* what is no file isn't even sent to the daemon */
		CHILD(get_by_fd(sub, 999, &s) == (arb_is_module() ? -ENOENT : -EBADF));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	teardown();
	cg_remove(own);
}

/* What is free of a promise is said to who was refused one, not to who looks. */
TEST(what_siblings_were_promised_isnt_shown)
{
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = -1,
		.mask = GPUSHARE_SHARE_MIN, .min_permille = 700 };
	char *own, *other;
	pid_t pid;

	setup();
	own = cg_new(CGROOT, "rights-own");
	other = cg_new(CGROOT, "rights-other");
	EXPECT_EQ(0, set_with(own, NULL, 50));
	s.cgroup_fd = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_SHARE_SET, &s));
	EXPECT_EQ(0, s.min_free);
	close(s.cgroup_fd);
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(own));
		become(NOBODY);
		dev = arb_open();
		CHILD(!get_by_fd(own, -1, &s) && !s.min_free);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	teardown();
	cg_remove(own);
	cg_remove(other);
}

static int visible_groups(void)
{
	struct gpushare_share s = {};
	uint64_t last = 0;
	int n = 0;

	for (;;) {
		s = (struct gpushare_share){ .size = sizeof(s), .flags = GPUSHARE_GET_NEXT,
			.group = last, .cgroup_fd = -1, .authority_fd = -1 };
		if (arb_call(dev, GPUSHARE_SHARE_GET, &s) || s.group <= last)
			return n;
		last = s.group;
		n++;
	}
}

TEST(a_container_sees_and_sets_its_own_subtree)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1 };
	uint64_t id, outside;
	char *other;
	pid_t pid;

	setup();
	other = cg_new(CGROOT, "rights-other");
	EXPECT_EQ(0, set_with(top, NULL, 50));
	EXPECT_EQ(0, set_with(sub, NULL, 60));
	EXPECT_EQ(0, set_with(other, NULL, 70));
	id = cg_id(sub);
	outside = cg_id(other);
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(top));
		CHILD(!unshare(CLONE_NEWCGROUP));
		become(TENANT);
		dev = arb_open();
		s.group = id;
		CHILD(!arb_call(dev, GPUSHARE_SHARE_GET, &s));
		CHILD(!strcmp(s.path, "/sub"));			/* as it sees itself */
		s = (struct gpushare_share){ .size = sizeof(s), .cgroup_fd = -1,
			.authority_fd = -1, .group = outside };
		CHILD(arb_call(dev, GPUSHARE_SHARE_GET, &s) == -ENOENT);
		s = (struct gpushare_share){ .size = sizeof(s), .cgroup_fd = -1,
			.authority_fd = -1, .group = outside, .mask = 1, .weight = 1 };
		CHILD(arb_call(dev, GPUSHARE_SHARE_SET, &s) == -ENOENT);
		CHILD(visible_groups() == 2);			/* itself and /sub */
		CHILD(!set_with(sub, NULL, 66));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	teardown();
	cg_remove(other);
}

/* In a cgroup namespace's own mount the parent of its root can't be reached. */
TEST(the_root_of_a_cgroup_namespace_cant_be_set_from_inside)
{
	char control[300];
	pid_t pid;

	setup();
	snprintf(control, sizeof(control), "%s/cgroup.subtree_control", CGROOT);
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(top));
		CHILD(!unshare(CLONE_NEWCGROUP | CLONE_NEWNS));
		CHILD(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
		CHILD(!mkdir("/run/rights-cg", 0755) || errno == EEXIST);
		CHILD(!mount("none", "/run/rights-cg", "cgroup2", 0, NULL));
		become(TENANT);		/* may write all that it sees there */
		dev = arb_open();
		CHILD(set_with("/run/rights-cg", NULL, 10000) == -EXDEV);
		CHILD(!set_with("/run/rights-cg/sub", NULL, 200));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	teardown();
}

TEST(a_pid_namespace_shows_its_own_numbers)
{
	struct gpushare_stats s;
	struct client c, in;
	int go[2], up[2], number[2];
	pid_t pid, inner;

	setup();
	c = client_new(device_new());
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(number));
	pid = fork();
	if (!pid) {
		CHILD(!unshare(CLONE_NEWPID));
		inner = fork();
		if (!inner) {
			CHILD(getpid() == 1);
			CHILD(!client_open(&in, c.device));
			CHILD(!stats(in.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
			CHILD(s.pid == 1);
			/* one outside has no number here */
			CHILD(!stats(in.fd, GPUSHARE_STATS_CLIENT, 0, c.id, &s) && s.pid == 0);
			CHILD(write(up[1], &in.id, 8) == 8);
			hold(go);
			_exit(0);
		}
		CHILD(write(number[1], &inner, sizeof(inner)) == sizeof(inner));
		_exit(reap(inner));
	}
	ASSERT_EQ(sizeof(inner), read(number[0], &inner, sizeof(inner)));
	ASSERT_EQ(8, read(up[0], &in.id, 8));
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_CLIENT, 0, in.id, &s));
	EXPECT_EQ(inner, s.pid);
	step(go);
	EXPECT_EQ(0, reap(pid));
	device_remove(c.device);
	teardown();
}

TEST_MAIN()
