// SPDX-License-Identifier: MIT
/*
 * Within a group each tenant is one: whose programs they are, where they stand, what
 * they have, and what is left of a tenant that has gone.
 */
#include "lib.h"

#define OTHER	1001

static int dev;

static void setup(void)
{
	need_arbiter();
	chmod("/dev/gpushare", 0666);
	dev = arb_open();
}

/* Slices are long, as the processors may be anywhere else for a while. */
static uint32_t slow_device(void)
{
	return device_add(&(struct gpushare_device){ .mask = GPUSHARE_DEV_SLICE,
		.slice_us = 20000 });
}

static int get(struct gpushare_share *s, uint64_t id, uint32_t device, uint32_t flags)
{
	*s = (struct gpushare_share){ .size = sizeof(*s), .cgroup_fd = -1, .authority_fd = -1,
		.group = id, .device = device, .flags = flags };
	return arb_call(dev, GPUSHARE_SHARE_GET, s);
}

/* The part of @group (an id) that is @tenant's, or 0. */
static uint64_t part_of(uint64_t group, uint32_t kind, uint64_t tenant, struct gpushare_share *s)
{
	uint64_t id;

	for (id = GPUSHARE_PART_FIRST - 1; !get(s, id, 0, GPUSHARE_GET_NEXT); id = s->group)
		if (s->parent == group && s->kind == kind && s->tenant == tenant)
			return s->group;
	return 0;
}

static uint64_t users_part(const char *path, uid_t uid)
{
	struct gpushare_share s;

	return part_of(cg_id(path), GPUSHARE_GROUP_USER, uid, &s);
}

static uint64_t usage(uint64_t group, uint32_t device)
{
	struct gpushare_stats s;

	EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_GROUP, device, group, &s));
	return s.usage_ns;
}

/* Has the device whenever it can, and yields when asked: @late ms after that. */
static void want(uint32_t device, unsigned int late)
{
	struct client c;

	CHILD(!client_open(&c, device));
	CHILD(!acquire(&c, 0, 0));
	for (;;) {
		while (!asked_back(&c))
			nap(1);
		if (late)
			nap(late);
		CHILD(!yield(&c, GPUSHARE_WAIT_AGAIN, 0));
	}
}

/* A process of @uid in @cgroup that attaches, in a pid or user namespace if so asked. */
struct stay {
	pid_t pid;
	int up[2], go[2];
	uint64_t client;
};

static struct stay stay(const char *cgroup, uid_t uid, int first, int second, uint32_t device)
{
	struct stay s = {};

	ASSERT_EQ(0, pipe(s.up));
	ASSERT_EQ(0, pipe(s.go));
	s.pid = fork();
	if (!s.pid) {
		struct client c;
		pid_t pid = 0;

		CHILD(!cgroup || !cg_enter(cgroup));
		if (first)
			CHILD(!unshare(first));
		if (first & CLONE_NEWPID)
			pid = fork();
		if (pid)
			_exit(reap(pid));
		if (uid)
			become(uid);
		if (second)
			CHILD(!unshare(second));
		if (second & CLONE_NEWPID)
			pid = fork();
		if (pid)
			_exit(reap(pid));
		CHILD(!client_open(&c, device));
		CHILD(write(s.up[1], &c.id, 8) == 8);
		hold(s.go);
		_exit(0);
	}
	close(s.up[1]);
	ASSERT_EQ(8, read(s.up[0], &s.client, 8));
	close(s.up[0]);
	return s;
}

static void leave(struct stay *s)
{
	step(s->go);
	EXPECT_EQ(0, reap(s->pid));
	close(s->go[0]);
	close(s->go[1]);
}

static struct gpushare_share stands_in(const struct stay *s)
{
	struct gpushare_stats st;
	struct gpushare_share part;

	EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_CLIENT, 0, s->client, &st));
	EXPECT_LE(GPUSHARE_PART_FIRST, st.part);
	EXPECT_EQ(0, get(&part, st.part, 0, 0));
	EXPECT_EQ(st.group, part.parent);
	return part;
}

TEST(a_tenants_clients_stand_in_its_part)
{
	struct stay a, b, c;
	struct gpushare_share part, group;
	struct gpushare_stats st;
	uint32_t device;
	char *path;

	setup();
	device = device_new();
	path = cg_new(CGROOT, "tenants-part");
	EXPECT_EQ(0, share_set(dev, path, 0, 300));
	a = stay(path, TENANT, 0, 0, device);
	b = stay(path, TENANT, 0, 0, device);
	c = stay(path, OTHER, 0, 0, device);
	part = stands_in(&a);
	EXPECT_EQ(part.group, stands_in(&b).group);
	EXPECT_NE(part.group, stands_in(&c).group);
	EXPECT_EQ(GPUSHARE_GROUP_USER, part.kind);
	EXPECT_EQ(TENANT, part.tenant);
	EXPECT_EQ(2, part.clients);
	EXPECT_EQ(100, part.weight);
	EXPECT_EQ(cg_id(path), part.parent);
	EXPECT_STREQ("/tenants-part", part.path);
	EXPECT_EQ(0, get(&group, cg_id(path), device, 0));
	EXPECT_EQ(GPUSHARE_GROUP_CGROUP, group.kind);
	EXPECT_EQ(3, group.clients);
	EXPECT_EQ(0, get(&part, part.group, device, 0));
	/* Nobody wants any: who came would have it all. */
	EXPECT_EQ(1000, group.entitled_permille);
	EXPECT_EQ(1000, part.entitled_permille);
	EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_GROUP, device, part.group, &st));
	EXPECT_EQ(cg_id(path), st.group);
	leave(&c);
	EXPECT_EQ(0, get(&part, part.group, device, 0));
	/* It can't be given anything. */
	part.mask = GPUSHARE_SHARE_WEIGHT;
	part.cgroup_fd = part.authority_fd = -1;
	EXPECT_EQ(-EINVAL, arb_call(dev, GPUSHARE_SHARE_SET, &part));
	leave(&a);
	leave(&b);
	EXPECT_TRUE(EVENTUALLY(!users_part(path, TENANT) && !users_part(path, OTHER)));
	device_remove(device);
	cg_remove(path);
}

TEST(whose_they_are_is_no_choice_of_theirs)
{
	struct gpushare_share user, contained, part;
	struct stay s, t;
	uint32_t device;
	int i;
	static const struct {
		uid_t uid;
		int first, second;
		bool contained;
	} who[] = {
		{ TENANT, 0, CLONE_NEWUSER, false },
		{ TENANT, 0, CLONE_NEWUSER | CLONE_NEWPID, false },
		{ TENANT, 0, CLONE_NEWUSER | CLONE_NEWCGROUP, false },
		{ TENANT, CLONE_NEWCGROUP, 0, false },
		{ TENANT, CLONE_NEWPID, 0, true },
		{ 0, CLONE_NEWPID, 0, true },
		{ OTHER, CLONE_NEWPID | CLONE_NEWCGROUP, CLONE_NEWUSER | CLONE_NEWPID, true },
	};

	setup();
	put("/proc/sys/kernel/unprivileged_userns_clone", "1");
	device = device_new();
	s = stay(NULL, TENANT, 0, 0, device);
	user = stands_in(&s);
	for (i = 0; i < (int)(sizeof(who) / sizeof(*who)); i++) {
		t = stay(NULL, who[i].uid, who[i].first, who[i].second, device);
		part = stands_in(&t);
		if (who[i].contained) {
			EXPECT_EQ(GPUSHARE_GROUP_CONTAINER, part.kind);
			EXPECT_NE(0, part.tenant);
		} else {
			EXPECT_EQ(user.group, part.group);
		}
		leave(&t);
	}
	leave(&s);
	/* Whatever it makes within it: it is the same container, of that number. */
	s = stay(NULL, 0, CLONE_NEWPID, 0, device);
	contained = stands_in(&s);
	t = stay(NULL, OTHER, CLONE_NEWPID, 0, device);
	EXPECT_NE(contained.group, stands_in(&t).group);
	leave(&s);
	leave(&t);
	device_remove(device);
}

/* Ends those who want, and says how much of 1000 @group had since @before. */
static int part_in(uint64_t group, uint32_t device, unsigned int seconds)
{
	uint64_t all, own;
	struct gpushare_stats s;

	EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_DEVICE, device, 0, &s));
	all = s.usage_ns;
	own = usage(group, device);
	nap(seconds * 1000);
	EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_DEVICE, device, 0, &s));
	return (int)((usage(group, device) - own) * 1000 / (s.usage_ns - all + 1));
}

static pid_t wanting(const char *cgroup, uid_t uid, uint32_t device, unsigned int late)
{
	pid_t pid = fork();

	if (!pid) {
		CHILD(!cgroup || !cg_enter(cgroup));
		become(uid);
		want(device, late);
	}
	return pid;
}

/* Until @group had about @due of 1000, or for good. */
static bool comes_to(uint64_t group, uint32_t device, int due)
{
	int i, had = 0;

	for (i = 0; i < 10; i++) {
		had = part_in(group, device, 3);
		if (had > due - 50 && had < due + 50)
			return true;
	}
	printf("# had %d of 1000, %d due\n", had, due);
	return false;
}

TEST_LIMIT(many_clients_gain_nothing, 180)
{
	uint32_t device;
	pid_t pids[9];
	char *path;
	int i;

	setup();
	device = slow_device();
	path = cg_new(CGROOT, "tenants-many");
	EXPECT_EQ(0, share_set(dev, path, 0, 100));
	pids[0] = wanting(NULL, TENANT, device, 0);
	for (i = 1; i < 8; i++)
		pids[i] = wanting(NULL, OTHER, device, 0);
	pids[8] = wanting(path, TENANT, device, 0);
	EXPECT_TRUE(EVENTUALLY(users_part(CGROOT, TENANT) && users_part(CGROOT, OTHER)));
	/* beside a user of seven, and beside a group */
	EXPECT_TRUE(comes_to(users_part(CGROOT, TENANT), device, 333));
	EXPECT_TRUE(comes_to(cg_id(path), device, 333));
	for (i = 0; i < 9; i++) {
		kill(pids[i], SIGKILL);
		reap(pids[i]);
	}
	device_remove(device);
	cg_remove(path);
}

/* Takes twice a slice more than it was given, leaves, and comes back. */
static void be_born_again(uint32_t device)
{
	struct client c;

	for (;;) {
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		while (!asked_back(&c))
			nap(1);
		nap(40);
		client_close(&c);
	}
}

TEST_LIMIT(who_leaves_and_comes_back_still_owes, 180)
{
	uint32_t device;
	pid_t honest, other;

	setup();
	device = slow_device();
	honest = wanting(NULL, TENANT, device, 0);
	other = fork();
	if (!other) {
		become(OTHER);
		be_born_again(device);
	}
	EXPECT_TRUE(EVENTUALLY(users_part(CGROOT, TENANT)));
	EXPECT_TRUE(comes_to(users_part(CGROOT, TENANT), device, 500));
	kill(honest, SIGKILL);
	kill(other, SIGKILL);
	reap(honest);
	reap(other);
	device_remove(device);
}

/* /tenants-home is delegated to TENANT, who divides it. */
TEST(a_user_divides_what_it_has)
{
	struct gpushare_share s, part;
	char *top, *sub, file[300];
	struct stay in, out;
	uint32_t device;
	pid_t pid;

	setup();
	device = device_new();
	top = cg_new(CGROOT, "tenants-home");
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", top);
	EXPECT_EQ(0, chown(file, TENANT, TENANT));
	sub = cg_new(top, "sub");
	pid = fork();
	if (!pid) {
		struct gpushare_share min = { .size = sizeof(min), .authority_fd = -1,
			.mask = GPUSHARE_SHARE_MIN, .min_permille = 10 };

		become(TENANT);
		dev = arb_open();
		CHILD(!share_set(dev, sub, 0, 10000));
		min.cgroup_fd = open(sub, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CHILD(arb_call(dev, GPUSHARE_SHARE_SET, &min) == -EBUSY);
		CHILD(!min.min_free);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	in = stay(sub, TENANT, 0, 0, device);
	out = stay(NULL, OTHER, 0, 0, device);
	EXPECT_EQ(0, get(&s, cg_id(sub), device, 0));
	EXPECT_EQ(10000, s.weight);
	EXPECT_EQ(users_part(CGROOT, TENANT), s.parent);
	EXPECT_EQ(1, s.clients);
	part = stands_in(&out);
	EXPECT_EQ(0, get(&part, part.group, device, 0));
	EXPECT_LE(part.entitled_permille, s.entitled_permille + 1);
	EXPECT_LE(s.entitled_permille, part.entitled_permille + 1);

	/* A share for what it has, and that is what it divides. */
	EXPECT_EQ(0, share_set(dev, top, 0, 200));
	EXPECT_EQ(0, get(&s, cg_id(sub), 0, 0));
	EXPECT_EQ(users_part(top, TENANT), s.parent);
	/* What an administrator sets is the administrator's. */
	EXPECT_EQ(0, share_set(dev, sub, 0, 50));
	EXPECT_EQ(0, get(&s, cg_id(sub), 0, 0));
	EXPECT_EQ(cg_id(top), s.parent);
	s = (struct gpushare_share){ .size = sizeof(s), .authority_fd = -1,
		.reset = GPUSHARE_SHARE_ALL };
	s.cgroup_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_SHARE_SET, &s));
	close(s.cgroup_fd);
	EXPECT_EQ(0, get(&s, cg_id(sub), 0, 0));
	EXPECT_EQ(cg_id(CGROOT), s.parent);
	leave(&in);
	leave(&out);
	device_remove(device);
	cg_remove(sub);
	cg_remove(top);
}

TEST(a_share_that_goes_leaves_parts_where_they_belong)
{
	struct gpushare_share reset = { .size = sizeof(reset), .authority_fd = -1,
		.reset = GPUSHARE_SHARE_ALL }, part;
	struct stay both, alone, up;
	uint64_t was;
	uint32_t device;
	char *path;

	setup();
	device = device_new();
	path = cg_new(CGROOT, "tenants-goes");
	EXPECT_EQ(0, share_set(dev, path, 0, 100));
	up = stay(NULL, TENANT, 0, 0, device);
	both = stay(path, TENANT, 0, 0, device);
	alone = stay(path, OTHER + 1, 0, 0, device);	/* of whom there is no part above */
	was = stands_in(&alone).group;
	reset.cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_SHARE_SET, &reset));
	close(reset.cgroup_fd);
	EXPECT_EQ(stands_in(&up).group, stands_in(&both).group);
	part = stands_in(&alone);
	EXPECT_EQ(was, part.group);			/* as it is, with what it owes */
	EXPECT_EQ(cg_id(CGROOT), part.parent);
	EXPECT_STREQ("/", part.path);
	leave(&up);
	leave(&both);
	leave(&alone);
	device_remove(device);
	cg_remove(path);
}

TEST(others_parts_are_seen_by_who_sees_the_group)
{
	struct gpushare_share s;
	struct stay in, out;
	uint32_t device;
	pid_t pid;
	char *path;

	setup();
	device = device_new();
	path = cg_new(CGROOT, "tenants-see");
	EXPECT_EQ(0, share_set(dev, path, 0, 100));
	in = stay(path, OTHER, 0, 0, device);
	out = stay(NULL, OTHER, 0, 0, device);
	pid = fork();
	if (!pid) {
		uint64_t seen = stands_in(&in).group, hidden = stands_in(&out).group, id;
		struct gpushare_stats st;
		int n = 0;

		CHILD(!cg_enter(path));
		become(TENANT);
		dev = arb_open();
		for (id = 0; !get(&s, id, 0, GPUSHARE_GET_NEXT); id = s.group)
			n++;
		CHILD(n == 2);				/* the group, and OTHER's part */
		CHILD(!get(&s, seen, 0, 0) && s.tenant == OTHER);
		CHILD(get(&s, hidden, 0, 0) == -ENOENT);
		CHILD(stats(dev, GPUSHARE_STATS_GROUP, device, hidden, &st) == -ENOENT);
		CHILD(get(&s, ~0ULL, 0, 0) == -ENOENT);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	leave(&in);
	leave(&out);
	device_remove(device);
	cg_remove(path);
}

TEST_MAIN()
