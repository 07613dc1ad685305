// SPDX-License-Identifier: MIT
/* Shares of cgroups: setting, reading, who may, and what they do. */
#include "lib.h"

static int dev;

/* By group id, or by path if that is given. */
static int set(struct gpushare_share *s, const char *path)
{
	int r;

	s->size = sizeof(*s);
	s->authority_fd = -1;
	s->cgroup_fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	r = arb_call(dev, GPUSHARE_SHARE_SET, s);
	if (path)
		close(s->cgroup_fd);
	return r;
}

static int get(struct gpushare_share *s, uint64_t group, uint32_t device)
{
	*s = (struct gpushare_share){ .size = sizeof(*s), .group = group, .device = device,
		.cgroup_fd = -1, .authority_fd = -1 };
	return arb_call(dev, GPUSHARE_SHARE_GET, s);
}

static char *setup(const char *name)
{
	need_arbiter();
	dev = arb_open();
	return cg_new(CGROOT, name);
}

TEST(set_and_get)
{
	char *path = setup("share-set");
	uint64_t id = cg_id(path);
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_ALL, .weight = 250,
		.class = GPUSHARE_CLASS_LATENCY, .min_permille = 100, .max_us = 50000,
		.period_us = 200000, .burst_us = 10000, .mem_max = 3000, .mem_high = 2000,
		.mem_min = 1000, .mem_full = GPUSHARE_FULL_WAIT, .mem_wait_us = 7000 };

	EXPECT_EQ(-ENOENT, get(&s, 1ULL << 40, 0));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_ALL, .weight = 250,
		.class = GPUSHARE_CLASS_LATENCY, .min_permille = 100, .max_us = 50000,
		.period_us = 200000, .burst_us = 10000, .mem_max = 3000, .mem_high = 2000,
		.mem_min = 1000, .mem_full = GPUSHARE_FULL_WAIT, .mem_wait_us = 7000 };
	EXPECT_EQ(0, set(&s, path));
	ASSERT_EQ(0, get(&s, id, 0));
	EXPECT_EQ(id, s.group);
	EXPECT_EQ(GPUSHARE_SHARE_ALL, s.mask);
	EXPECT_EQ(250, s.weight);
	EXPECT_EQ(GPUSHARE_CLASS_LATENCY, s.class);
	EXPECT_EQ(100, s.min_permille);
	EXPECT_EQ(50000, s.max_us);
	EXPECT_EQ(200000, s.period_us);
	EXPECT_EQ(10000, s.burst_us);
	EXPECT_EQ(3000, s.mem_max);
	EXPECT_EQ(2000, s.mem_high);
	EXPECT_EQ(1000, s.mem_min);
	EXPECT_EQ(GPUSHARE_FULL_WAIT, s.mem_full);
	EXPECT_EQ(7000, s.mem_wait_us);
	EXPECT_EQ(cg_id(CGROOT), s.parent);
	EXPECT_STREQ("/share-set", s.path);

	/* one member, by id; the others stay */
	s = (struct gpushare_share){ .group = id, .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1 };
	EXPECT_EQ(0, set(&s, NULL));
	ASSERT_EQ(0, get(&s, id, 0));
	EXPECT_EQ(1, s.weight);
	EXPECT_EQ(100, s.min_permille);

	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL };
	EXPECT_EQ(0, set(&s, path));
	EXPECT_EQ(-ENOENT, get(&s, id, 0));	/* nothing set: no group */
	cg_remove(path);
}

TEST(one_device_overrides_all)
{
	char *path = setup("share-over");
	uint32_t a = device_new(), b = device_new();
	uint64_t id = cg_id(path);
	struct gpushare_share s;

	EXPECT_EQ(0, share_set(dev, path, 0, 200));
	EXPECT_EQ(0, share_set(dev, path, a, 300));
	EXPECT_EQ(0, get(&s, id, a));
	EXPECT_EQ(300, s.weight);
	EXPECT_EQ(GPUSHARE_SHARE_WEIGHT, s.mask);
	EXPECT_EQ(0, get(&s, id, b));
	EXPECT_EQ(200, s.weight);
	EXPECT_EQ(0, s.mask);			/* not set for this device */
	EXPECT_EQ(0, share_set(dev, path, 0, 400));
	EXPECT_EQ(0, get(&s, id, a));
	EXPECT_EQ(300, s.weight);
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_WEIGHT, .device = a };
	EXPECT_EQ(0, set(&s, path));
	EXPECT_EQ(0, get(&s, id, a));
	EXPECT_EQ(400, s.weight);
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL };
	EXPECT_EQ(0, set(&s, path));
	device_remove(a);
	device_remove(b);
	cg_remove(path);
}

TEST(ranges)
{
	char *path = setup("share-range");
	static const struct gpushare_share bad[] = {
		{ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 0 },
		{ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 10001 },
		{ .mask = GPUSHARE_SHARE_WEIGHT, .weight = ~0U },
		{ .mask = GPUSHARE_SHARE_CLASS, .class = 3 },
		{ .mask = GPUSHARE_SHARE_MIN, .min_permille = 1001 },
		{ .mask = GPUSHARE_SHARE_MAX, .max_us = 1000, .period_us = 999 },
		{ .mask = GPUSHARE_SHARE_MAX, .max_us = 1000, .period_us = 1000001 },
		{ .mask = GPUSHARE_SHARE_MAX, .max_us = 1000, .period_us = 1000, .burst_us = 1001 },
		{ .mask = GPUSHARE_SHARE_MAX, .max_us = 9, .period_us = 1000 },
		{ .mask = GPUSHARE_SHARE_MAX, .max_us = 64001, .period_us = 1000 },
	};
	struct gpushare_share s;
	size_t i;

	EXPECT_EQ(0, share_set(dev, path, 0, 123));
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		s = bad[i];
		s.mask |= GPUSHARE_SHARE_MEM_MAX;	/* a good member beside the bad one */
		s.mem_max = 5;
		EXPECT_EQ(-ERANGE, set(&s, path));
		EXPECT_EQ(0, get(&s, cg_id(path), 0));
		EXPECT_EQ(123, s.weight);
		EXPECT_EQ(GPUSHARE_SHARE_WEIGHT, s.mask);	/* nothing changed */
	}
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL };
	EXPECT_EQ(0, set(&s, path));
	cg_remove(path);
}

TEST(a_threaded_cgroup_is_none)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1 };
	char *path = setup("share-threaded"), threaded[300];

	ONLY_MODULE("a look at a cgroup's type");
	snprintf(threaded, sizeof(threaded), "%s/cgroup.type", cg_new(path, "threaded"));
	EXPECT_EQ(0, put(threaded, "threaded"));
	*strrchr(threaded, '/') = 0;
	EXPECT_EQ(-EOPNOTSUPP, set(&s, threaded));
	cg_remove(threaded);
	cg_remove(path);
}

TEST(errors_of_naming_a_group)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1 };
	char *path = setup("share-name");
	uint64_t gone;

	EXPECT_EQ(-EINVAL, set(&s, CGROOT));		/* nobody to share with */
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1 };
	EXPECT_EQ(-EBADF, set(&s, "/proc"));
	EXPECT_EQ(-EBADF, set(&s, "/"));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1,
		.group = 1ULL << 50 };
	EXPECT_EQ(-ENOENT, set(&s, NULL));
	s.size = sizeof(s);
	s.cgroup_fd = 999;
	EXPECT_EQ(-EBADF, arb_call(dev, GPUSHARE_SHARE_SET, &s));
	s.device = 0x7fffffff;
	EXPECT_EQ(-ENODEV, set(&s, path));
	EXPECT_EQ(-ENODEV, get(&s, cg_id(CGROOT), 0x7fffffff));
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_WEIGHT };
	EXPECT_EQ(-ENOENT, set(&s, path));		/* was given nothing */
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1,
		.reset = GPUSHARE_SHARE_WEIGHT };
	EXPECT_EQ(-EINVAL, set(&s, path));		/* which of both? */
	gone = cg_id(path);
	cg_remove(path);
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1, .group = gone };
	EXPECT_EQ(-ENOENT, set(&s, NULL));
}

TEST(sum_of_min_is_bounded)
{
	char *top = setup("share-min"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_MIN, .min_permille = 700 };

	EXPECT_EQ(0, set(&s, a));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 301 };
	EXPECT_EQ(-EBUSY, set(&s, b));
	EXPECT_EQ(300, s.min_free);
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 300 };
	EXPECT_EQ(0, set(&s, b));
	/* a smaller one of its own is always possible */
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 699 };
	EXPECT_EQ(0, set(&s, a));
	cg_remove(a);
	cg_remove(b);
	cg_remove(top);
}

TEST(min_outlives_a_refusal_where_too_much_is_promised)
{
	char *g = setup("share-over"), *a = cg_new(g, "a"), *h = cg_new(CGROOT, "share-over-h");
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_MIN, .min_permille = 500 };

	EXPECT_EQ(0, set(&s, g));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 250 };
	EXPECT_EQ(0, set(&s, a));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN };
	EXPECT_EQ(0, set(&s, g));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 1000 };
	EXPECT_EQ(0, set(&s, h));
	/* now its child comes up beside the one that was promised all */
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL };
	EXPECT_EQ(0, set(&s, g));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MAX, .max_us = 9, .period_us = 1000,
		.reset = GPUSHARE_SHARE_MIN };
	EXPECT_EQ(-ERANGE, set(&s, a));
	EXPECT_EQ(0, get(&s, cg_id(a), 0));
	EXPECT_EQ(250, s.min_permille);
	cg_remove(a);
	cg_remove(g);
	cg_remove(h);
}

TEST(next_walks_all_groups)
{
	char *a = setup("share-next-a"), *b = cg_new(CGROOT, "share-next-b");
	struct gpushare_share s;
	uint64_t last = 0;
	int seen = 0, r;

	EXPECT_EQ(0, share_set(dev, a, 0, 111));
	EXPECT_EQ(0, share_set(dev, b, 0, 222));
	for (;;) {
		s = (struct gpushare_share){ .size = sizeof(s), .flags = GPUSHARE_GET_NEXT,
			.group = last, .cgroup_fd = -1, .authority_fd = -1 };
		r = arb_call(dev, GPUSHARE_SHARE_GET, &s);
		if (r)
			break;
		EXPECT_LT(last, s.group);
		if (s.group <= last)
			break;
		last = s.group;
		seen += last == cg_id(a) && s.weight == 111;
		seen += last == cg_id(b) && s.weight == 222;
	}
	EXPECT_EQ(-ENOENT, r);
	EXPECT_EQ(2, seen);
	cg_remove(a);
	cg_remove(b);
}

/* Is the group kept? A removed cgroup can't be named any more, so by NEXT. */
static bool listed(uint64_t id)
{
	struct gpushare_share s = { .size = sizeof(s), .flags = GPUSHARE_GET_NEXT, .group = id - 1,
		.cgroup_fd = -1, .authority_fd = -1 };

	return !arb_call(dev, GPUSHARE_SHARE_GET, &s) && s.group == id;
}

TEST(a_removed_cgroup_is_no_group)
{
	char *path = setup("share-rm");
	uint64_t id = cg_id(path);

	EXPECT_EQ(0, share_set(dev, path, 0, 200));
	EXPECT_TRUE(listed(id));
	cg_remove(path);
	EXPECT_TRUE(EVENTUALLY(!listed(id)));
}

/* Its process has moved away and asks for nothing, so it is still accounted there. */
TEST(a_removed_cgroups_state_goes_with_its_last_client)
{
	char *path = setup("share-last");
	uint64_t id = cg_id(path);
	struct gpushare_stats s;
	struct client c, m;
	int up[2], go[2];
	pid_t pid;

	ONLY_MODULE("clients that stay in a group that is gone");
	c = client_new(device_new());
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(go));
	EXPECT_EQ(0, share_set(dev, path, 0, 200));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(path));
		CHILD(!client_open(&m, c.device));
		CHILD(!acquire(&m, 0, 0));
		CHILD(!cg_enter(CGROOT));
		CHILD(write(up[1], &m.id, 8) == 8);
		hold(go);
		_exit(0);
	}
	ASSERT_EQ(8, read(up[0], &m.id, 8));
	cg_remove(path);
	nap(5000);		/* those without clients go every two seconds */
	EXPECT_TRUE(listed(id));
	EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_CLIENT, 0, m.id, &s));
	EXPECT_EQ(id, s.group);
	step(go);
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(EVENTUALLY(!listed(id)));
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	device_remove(c.device);
}

/* Whose group a client of this process is counted to. */
static uint64_t group_of(struct client *c)
{
	struct gpushare_stats s;

	return stats(c->fd, GPUSHARE_STATS_CLIENT, 0, 0, &s) ? 0 : s.group;
}

/* From the next request on over the module; the daemon looks who belongs where now and then. */
static bool is_in(struct client *c, uint64_t group)
{
	return arb_is_module() ? group_of(c) == group : EVENTUALLY(group_of(c) == group);
}

TEST(a_task_belongs_to_its_nearest_group)
{
	char *top = setup("share-near"), *mid, *leaf;
	uint32_t device = device_new();
	struct gpushare_share s;
	struct client c;
	pid_t pid;

	mid = cg_new(top, "mid");
	leaf = cg_new(mid, "leaf");
	EXPECT_EQ(0, share_set(dev, top, 0, 100));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(leaf));
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 1000));
		CHILD(is_in(&c, cg_id(top)));
		/* a nearer one appears: from the next request on it counts */
		CHILD(!share_set(dev, mid, 0, 100));
		CHILD(!yield(&c, GPUSHARE_WAIT_AGAIN, 1000));
		CHILD(is_in(&c, cg_id(mid)));
		/* the task moves */
		CHILD(!cg_enter(top));
		CHILD(!yield(&c, GPUSHARE_WAIT_AGAIN, 1000));
		CHILD(is_in(&c, cg_id(top)));
		CHILD(!cg_enter(CGROOT));
		CHILD(!yield(&c, GPUSHARE_WAIT_AGAIN, 1000));
		CHILD(is_in(&c, cg_id(CGROOT)));
		/* its group loses all that was set */
		CHILD(!cg_enter(leaf));
		CHILD(!yield(&c, GPUSHARE_WAIT_AGAIN, 1000));
		s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL };
		CHILD(!set(&s, mid));
		CHILD(!yield(&c, GPUSHARE_WAIT_AGAIN, 1000));
		CHILD(is_in(&c, cg_id(top)));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	cg_remove(leaf);
	cg_remove(mid);
	cg_remove(top);
	device_remove(device);
}

TEST(a_share_between_two_groups)
{
	char *top = strdup(setup("share-between")), *mid, *low;
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 200 };
	struct gpushare_stats before, after;
	uint64_t root = cg_id(CGROOT);
	struct client c;
	pid_t pid;
	int go[2], ready[2];
	char ch;

	mid = strdup(cg_new(top, "mid"));
	low = strdup(cg_new(mid, "low"));
	EXPECT_EQ(0, set(&s, low));
	c = client_new(device_new());
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		struct client in;

		CHILD(!cg_enter(low));
		CHILD(!client_open(&in, c.device));
		CHILD(!acquire(&in, 0, 0));
		step(ready);
		hold(go);
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &ch, 1));
	ASSERT_EQ(0, get(&s, cg_id(low), 0));
	EXPECT_EQ(root, s.parent);
	EXPECT_EQ(1, s.clients);
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_GROUP, c.device, cg_id(low), &before));

	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 50 };
	EXPECT_EQ(0, set(&s, mid));
	ASSERT_EQ(0, get(&s, cg_id(low), 0));
	EXPECT_EQ(cg_id(mid), s.parent);
	EXPECT_EQ(200, s.weight);
	ASSERT_EQ(0, get(&s, cg_id(mid), 0));
	EXPECT_EQ(root, s.parent);
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_GROUP, c.device, cg_id(low), &after));
	EXPECT_LE(before.usage_ns, after.usage_ns);	/* what it had used is not forgotten */

	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 70 };
	EXPECT_EQ(0, set(&s, top));
	ASSERT_EQ(0, get(&s, cg_id(mid), 0));
	EXPECT_EQ(cg_id(top), s.parent);
	ASSERT_EQ(0, get(&s, cg_id(low), 0));
	EXPECT_EQ(cg_id(mid), s.parent);
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL };
	EXPECT_EQ(0, set(&s, mid));
	ASSERT_EQ(0, get(&s, cg_id(low), 0));
	EXPECT_EQ(cg_id(top), s.parent);

	/* what was promised below can't be given by one that has no promise */
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 100 };
	EXPECT_EQ(-EBUSY, set(&s, low));
	EXPECT_EQ(0, s.min_free);
	s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_ALL };
	EXPECT_EQ(0, set(&s, top));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_MIN, .min_permille = 100 };
	EXPECT_EQ(0, set(&s, low));
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 70 };
	EXPECT_EQ(-EBUSY, set(&s, mid));
	EXPECT_EQ(-ENOENT, get(&s, cg_id(mid), 0));
	ASSERT_EQ(0, get(&s, cg_id(low), 0));
	EXPECT_EQ(root, s.parent);
	EXPECT_EQ(100, s.min_permille);

	step(go);
	EXPECT_EQ(0, reap(pid));
	device_remove(c.device);
	cg_remove(low);
	cg_remove(mid);
	cg_remove(top);
}

TEST(a_removed_groups_client_moves_up)
{
	char *top = setup("share-dead"), *sub = cg_new(top, "sub");
	struct gpushare_stats s;
	struct client c, m;
	pid_t pid;
	int go[2];

	c = client_new(device_new());
	EXPECT_EQ(0, pipe(go));
	EXPECT_EQ(0, share_set(dev, top, 0, 100));
	EXPECT_EQ(0, share_set(dev, sub, 0, 100));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(sub));
		CHILD(!client_open(&m, c.device));
		CHILD(!acquire(&m, 0, 1000));
		CHILD(!yield(&m, 0, 0));
		CHILD(!cg_enter(top));
		CHILD(!rmdir(sub));
		CHILD(!acquire(&m, 0, 1000));
		CHILD(is_in(&m, cg_id(top)));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	/* what was used below stays in the counters above */
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_GROUP, c.device, cg_id(top), &s));
	EXPECT_EQ(2, s.grants);
	device_remove(c.device);
	cg_remove(top);
}

/*
 * Two groups of 3:1 that always want to run get 3:1 of the time. Who holds while
 * its processor is elsewhere makes up for it later, so it's the long run that
 * counts: as long as it takes, and not at the first look.
 */
TEST_LIMIT(weights_divide_the_time, 180)
{
	/* long slices, as the processors may be anywhere else for a while */
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE, .slice_us = 20000 };
	char *a = setup("share-w3"), *b = cg_new(CGROOT, "share-w1");
	struct gpushare_stats sa, sb;
	bool right = false;
	struct client c;
	uint32_t device;
	pid_t pids[3];
	int i;

	device = device_add(&d);
	EXPECT_EQ(0, share_set(dev, a, 0, 300));
	EXPECT_EQ(0, share_set(dev, b, 0, 100));
	for (i = 0; i < 3; i++) {	/* one in a, two in b */
		pids[i] = fork();
		if (pids[i])
			continue;
		CHILD(!cg_enter(i ? b : a));
		CHILD(!client_open(&c, device));
		for (;;) {
			CHILD(!acquire(&c, 0, 0));
			while (!asked_back(&c))
				nap(1);
		}
	}
	EXPECT_TRUE(EVENTUALLY(!stats(dev, GPUSHARE_STATS_GROUP, device, cg_id(b), &sb) &&
			       sb.grants > 10));
	for (i = 0; i < 30 && !right; i++) {
		nap(i ? 1000 : 3000);
		EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_GROUP, device, cg_id(a), &sa));
		EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_GROUP, device, cg_id(b), &sb));
		right = sb.usage_ns * 26 < sa.usage_ns * 10 &&
			sb.usage_ns * 34 > sa.usage_ns * 10;
	}
	for (i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		reap(pids[i]);
	}
	printf("# used: weight 300 %llu us, weight 100 %llu us\n",
	       (unsigned long long)sa.usage_ns / 1000, (unsigned long long)sb.usage_ns / 1000);
	EXPECT_TRUE(right);
	device_remove(device);
	cg_remove(a);
	cg_remove(b);
}

/* A child in the cgroup that asks for the device and stays. */
static pid_t asks(const char *path, uint32_t device, int *go)
{
	struct client c;
	int up[2];
	pid_t pid;
	char byte;

	ASSERT_EQ(0, pipe2(up, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(path));
		CHILD(!client_open(&c, device));
		acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0);
		CHILD(write(up[1], "", 1) == 1);
		hold(go);
		_exit(0);
	}
	close(up[1]);
	EXPECT_EQ(1, read(up[0], &byte, 1));
	close(up[0]);
	return pid;
}

static uint32_t entitled(const char *path, uint32_t device)
{
	struct gpushare_share s;

	EXPECT_EQ(0, get(&s, cg_id(path), device));
	return s.entitled_permille;
}

TEST(entitled_is_what_the_rules_give)
{
	char *one = strdup(setup("share-one")), *two = strdup(cg_new(CGROOT, "share-two"));
	char *away = cg_new(CGROOT, "share-away");
	struct gpushare_share cap = { .mask = GPUSHARE_SHARE_MAX, .max_us = 30000,
		.period_us = 100000 };
	struct gpushare_share floor = { .mask = GPUSHARE_SHARE_MIN, .min_permille = 500 };
	uint32_t device = device_new();
	int go[2];
	pid_t a, b;

	EXPECT_EQ(0, share_set(dev, one, device, 200));
	EXPECT_EQ(0, share_set(dev, two, device, 100));
	EXPECT_EQ(0, share_set(dev, away, device, 300));
	/* Nobody wants any: who came would have all. */
	EXPECT_EQ(1000, entitled(one, device));
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	a = asks(one, device, go);
	b = asks(two, device, go);
	EXPECT_EQ(667, entitled(one, device));
	EXPECT_EQ(333, entitled(two, device));
	EXPECT_EQ(500, entitled(away, device));
	EXPECT_EQ(0, set(&cap, one));
	EXPECT_EQ(300, entitled(one, device));
	EXPECT_EQ(700, entitled(two, device));
	cap = (struct gpushare_share){ .reset = GPUSHARE_SHARE_MAX };
	EXPECT_EQ(0, set(&cap, one));
	EXPECT_EQ(0, set(&floor, two));
	EXPECT_EQ(500, entitled(one, device));
	EXPECT_EQ(500, entitled(two, device));
	step(go);
	step(go);
	EXPECT_EQ(0, reap(a));
	EXPECT_EQ(0, reap(b));
	device_remove(device);
	cg_remove(one);
	cg_remove(two);
	cg_remove(away);
	free(one);
	free(two);
}

TEST_LIMIT(max_caps_a_group, 120)
{
	char *path = setup("share-max");
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_MAX, .max_us = 10000,
		.period_us = 100000 };
	/* how long it ran, and the longest that it held beyond its slices' ends */
	uint64_t *took = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	struct gpushare_stats st;
	uint32_t device = device_new();
	struct client c;
	uint64_t start, held;
	pid_t pid;

	EXPECT_EQ(0, set(&s, path));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(path));
		CHILD(!client_open(&c, device));
		start = now_ns();
		while (now_ns() - start < 2000 * MS) {
			CHILD(!acquire(&c, 0, 20000));
			held = c.grant->granted_ns;
			while (!asked_back(&c) && now_ns() - start < 2000 * MS)
				nap(1);
			CHILD(!yield(&c, 0, 0));
			held = now_ns() - held;
			took[1] = held > took[1] ? held : took[1];
		}
		took[0] = now_ns() - start;
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, stats(dev, GPUSHARE_STATS_GROUP, device, cg_id(path), &st));
	printf("# used %llu us of %llu at 10 %%, at most %llu at once, throttled in %llu of %llu periods\n",
	       (unsigned long long)st.usage_ns / 1000, (unsigned long long)took[0] / 1000,
	       (unsigned long long)took[1] / 1000, (unsigned long long)st.throttled,
	       (unsigned long long)st.periods);
	EXPECT_GT(st.usage_ns, took[0] / 20);
	/* what it overdraws is owed: only the last time isn't paid back yet */
	EXPECT_LT(st.usage_ns, took[0] / 10 + took[1] + 20 * MS);
	EXPECT_LE(1, st.throttled);
	EXPECT_LE(st.throttled, st.periods + 1);	/* the present one isn't over */
	EXPECT_LT(0, st.throttled_ns);
	device_remove(device);
	cg_remove(path);
}

TEST_MAIN()
