// SPDX-License-Identifier: MIT
/* The counters: do they count, never go back, and show to whom they should. */
#include "lib.h"

TEST(a_clients_counters)
{
	struct gpushare_stats s, t;
	struct client a, b;
	uint64_t start;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(a.id, s.id);
	EXPECT_EQ(a.device, s.device);
	EXPECT_EQ(getpid(), s.pid);
	EXPECT_EQ(0, s.uid);
	EXPECT_STREQ("stats", s.comm);
	EXPECT_EQ(0, s.grants);
	EXPECT_EQ(0, s.usage_ns);
	EXPECT_EQ(0, s.state);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	start = now_ns();
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	nap(50);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_LE(50 * MS, s.usage_ns);			/* while it still holds */
	EXPECT_LE(s.now_ns, now_ns());
	EXPECT_EQ(GPUSHARE_GRANTED, s.state & GPUSHARE_GRANTED);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, b.id, &t));
	EXPECT_LE(50 * MS, t.wait_ns);
	EXPECT_TRUE(t.state & GPUSHARE_WAITING);
	EXPECT_EQ(0, yield(&a, 0, 0));
	EXPECT_LE(s.usage_ns, now_ns() - start + 50 * MS);
	EXPECT_TRUE(EVENTUALLY(granted(&b)));
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &t));
	EXPECT_LE(s.usage_ns, t.usage_ns);
	EXPECT_EQ(1, t.grants);
	EXPECT_EQ(1, t.preempts);
	nap(20);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(s.usage_ns, t.usage_ns);		/* it no longer holds */
	a.own->progress = 5;
	a.own->busy_ns = 6;
	a.own->unscheduled = 7;
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(5, s.progress);
	EXPECT_EQ(6, s.busy_ns);
	EXPECT_EQ(7, s.unscheduled);
	device_remove(a.device);
}

TEST(a_devices_counters)
{
	struct gpushare_stats s, t;
	struct client a, b;
	int i;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, acquire(&a, 0, 1000));
		EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
		nap(5);
		EXPECT_EQ(0, yield(&a, 0, 0));
		EXPECT_EQ(0, acquire(&b, 0, 1000));
		EXPECT_EQ(0, yield(&b, 0, 0));
	}
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_DEVICE, a.device, 0, &s));
	EXPECT_EQ(10, s.grants);
	EXPECT_LE(5, s.handoffs);
	EXPECT_LE(25 * MS, s.usage_ns);
	EXPECT_LE(25 * MS, s.some_ns);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_GROUP, a.device, cg_id(CGROOT), &t));
	EXPECT_EQ(10, t.grants);
	client_close(&b);			/* what it used stays */
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_DEVICE, a.device, 0, &t));
	EXPECT_LE(s.usage_ns, t.usage_ns);
	EXPECT_EQ(10, t.grants);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_GROUP, GPUSHARE_ALL_DEVICES, cg_id(CGROOT), &t));
	EXPECT_LE(10, t.grants);		/* summed */
	device_remove(a.device);
}

TEST(errors)
{
	struct gpushare_stats s;
	uint32_t device;
	int fd;

	need_arbiter();
	device = device_new();
	fd = arb_open();
	EXPECT_EQ(-ENODEV, stats(fd, GPUSHARE_STATS_DEVICE, 0x7fffffff, 0, &s));
	EXPECT_EQ(-ENODEV, stats(fd, GPUSHARE_STATS_GROUP, 0x7fffffff, cg_id(CGROOT), &s));
	EXPECT_EQ(-ENOENT, stats(fd, GPUSHARE_STATS_GROUP, device, 1ULL << 50, &s));
	EXPECT_EQ(-ENOENT, stats(fd, GPUSHARE_STATS_CLIENT, 0, 1ULL << 50, &s));
	device_remove(device);
}

/* Clients that a caller may see, counted by NEXT. */
static int visible(int fd, uint64_t mine, bool *found)
{
	struct gpushare_stats s;
	uint64_t last = 0;
	int n = 0;

	*found = false;
	for (;;) {
		memset(&s, 0, sizeof(s));
		s.size = sizeof(s);
		s.what = GPUSHARE_STATS_CLIENT;
		s.flags = GPUSHARE_GET_NEXT;
		s.id = last;
		if (arb_call(fd, GPUSHARE_STATS, &s) || s.id <= last)
			return n;
		last = s.id;
		*found |= last == mine;
		n++;
	}
}

TEST(a_tenant_sees_its_own_subtree)
{
	struct gpushare_stats s;
	char *path;
	struct client c, m;
	bool found;
	pid_t pid;
	int fd;

	need_arbiter();
	chmod("/dev/gpushare", 0666);
	path = cg_new(CGROOT, "stats");
	fd = arb_open();
	c = client_new(device_new());
	EXPECT_EQ(0, share_set(fd, path, 0, 100));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(path));
		become(TENANT);
		CHILD(!client_open(&m, c.device));
		CHILD(visible(m.fd, m.id, &found) == 1 && found);
		CHILD(stats(m.fd, GPUSHARE_STATS_CLIENT, 0, c.id, &s) == -ENOENT);
		CHILD(!stats(m.fd, GPUSHARE_STATS_GROUP, c.device, cg_id(path), &s));
		CHILD(stats(m.fd, GPUSHARE_STATS_GROUP, c.device, cg_id(CGROOT), &s) == -ENOENT);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_LE(1, visible(fd, c.id, &found));
	EXPECT_TRUE(found);
	device_remove(c.device);
	cg_remove(path);
}

TEST_MAIN()
