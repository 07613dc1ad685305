// SPDX-License-Identifier: MIT
/* Making a client, and the ends of one. */
#include <sys/resource.h>
#include "lib.h"

static int attach(int fd, uint32_t device, int set_fd, struct gpushare_attach *out)
{
	struct gpushare_attach a = { .size = sizeof(a), .device = device, .set_fd = set_fd };
	int r = arb_call(fd, GPUSHARE_ATTACH, &a);

	if (out)
		*out = a;
	return r;
}

TEST(attach_by_id_and_by_key)
{
	struct gpushare_device d = { .size = sizeof(d), .key = "cpu:attach" };
	struct gpushare_attach a, b = { .size = sizeof(b), .set_fd = -1, .key = "cpu:attach" };
	int f, g;

	need_arbiter();
	d.device = device_add(&d);
	f = arb_open();
	g = arb_open();
	EXPECT_EQ(0, attach(f, d.device, -1, &a));
	EXPECT_EQ(d.device, a.device);
	EXPECT_STREQ("cpu:attach", a.key);
	EXPECT_NE(0, a.client);
	EXPECT_EQ(0, arb_call(g, GPUSHARE_ATTACH, &b));
	EXPECT_EQ(d.device, b.device);
	EXPECT_LT(a.client, b.client);
	device_remove(d.device);
}

TEST(opening_makes_no_client)
{
	struct gpushare_device d = { .size = sizeof(d) };
	int fd;

	need_arbiter();
	d.device = device_new();
	fd = arb_open();
	EXPECT_EQ(0, arb_call(fd, GPUSHARE_DEVICE_GET, &d));
	EXPECT_EQ(0, d.clients);
	device_remove(d.device);
}

TEST(errors_of_attach)
{
	struct gpushare_attach a = { .size = sizeof(a), .set_fd = -1 };
	uint32_t dev, other;
	struct client c;
	int f, null;

	need_arbiter();
	dev = device_new();
	other = device_new();
	c = client_new(dev);
	f = arb_open();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	EXPECT_EQ(-ENODEV, attach(f, 0x7fffffff, -1, NULL));
	strcpy(a.key, "cpu:no such device");
	EXPECT_EQ(-ENODEV, arb_call(f, GPUSHARE_ATTACH, &a));
	a.key[0] = 0;
	EXPECT_EQ(-ENODEV, arb_call(f, GPUSHARE_ATTACH, &a));
	memset(a.key, 'x', sizeof(a.key));		/* no NUL */
	EXPECT_EQ(-EINVAL, arb_call(f, GPUSHARE_ATTACH, &a));
	EXPECT_EQ(-EALREADY, attach(c.fd, dev, -1, NULL));
	EXPECT_EQ(-EALREADY, attach(c.fd, other, -1, NULL));
	EXPECT_EQ(-EBADF, attach(f, other, null, NULL));
	EXPECT_EQ(-EBADF, attach(f, other, 999, NULL));
	EXPECT_EQ(-EBADF, attach(f, other, f, NULL));		/* has no client */
	EXPECT_EQ(-EBADF, attach(f, dev, c.fd, NULL));		/* the same device */
	a = (struct gpushare_attach){ .size = sizeof(a), .set_fd = -1, .device = dev, .group = 1 };
	/* The daemon has named groups, and this is none. */
	EXPECT_EQ(arb_is_module() ? -EOPNOTSUPP : -EINVAL, arb_call(f, GPUSHARE_ATTACH, &a));
	EXPECT_EQ(0, attach(f, other, c.fd, NULL));		/* nothing had changed */
	device_remove(dev);
	device_remove(other);
}

TEST(commands_without_a_client)
{
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = GPUSHARE_FOREVER };
	struct gpushare_memory m = { .size = sizeof(m), .op = GPUSHARE_MEM_CHARGE, .bytes = 1 };
	struct gpushare_describe d = { .size = sizeof(d), .threads = 1 };
	struct gpushare_stats s;
	int fd;

	need_arbiter();
	fd = arb_open();
	EXPECT_EQ(-ENOTCONN, arb_call(fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(-ENOTCONN, arb_call(fd, GPUSHARE_YIELD, &w));
	EXPECT_EQ(-ENOTCONN, arb_call(fd, GPUSHARE_MEMORY, &m));
	EXPECT_EQ(-ENOTCONN, arb_call(fd, GPUSHARE_DESCRIBE, &d));
	EXPECT_EQ(-ENOTCONN, arb_call(fd, GPUSHARE_DETACH, NULL));
	EXPECT_EQ(-ENOTCONN, stats(fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_TRUE(!arb_map(fd, GPUSHARE_OFF_GRANT, PROT_READ));
	EXPECT_TRUE(!arb_map(fd, GPUSHARE_OFF_CLIENT, PROT_READ | PROT_WRITE));
	EXPECT_TRUE(arb_poll(fd, POLLIN, 100) & POLLERR);	/* not a wait for ever */
}

TEST(detach_frees_all_and_lets_attach_again)
{
	struct gpushare_stats s;
	struct client a, b;
	uint64_t id;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	id = a.id;
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	EXPECT_EQ(0, arb_call(a.fd, GPUSHARE_DETACH, NULL));
	EXPECT_TRUE(EVENTUALLY(granted(&b)));
	EXPECT_EQ(0, word(&a) & GPUSHARE_GRANTED);	/* the old page shows no grant */
	EXPECT_NE(0, stats(b.fd, GPUSHARE_STATS_CLIENT, 0, id, &s));
	EXPECT_EQ(-ENOTCONN, arb_call(a.fd, GPUSHARE_DETACH, NULL));
	munmap((void *)a.grant, sysconf(_SC_PAGESIZE));
	munmap((void *)a.own, sysconf(_SC_PAGESIZE));
	{
		struct gpushare_attach again;

		EXPECT_EQ(0, attach(a.fd, a.device, -1, &again));
		EXPECT_LT(id, again.client);		/* never used again */
	}
	device_remove(a.device);
}

/* Nobody can make the kernel allocate without bound. */
TEST_LIMIT(a_user_has_a_limit_of_clients, 120)
{
	struct rlimit files = { 20000, 20000 };
	struct client c;
	uint32_t device;
	int n, r = 0, fd;
	pid_t pid;

	ONLY_MODULE("files that any user may open");
	need_arbiter();
	device = device_new();
	pid = fork();
	if (!pid) {
		CHILD(!setrlimit(RLIMIT_NOFILE, &files));
		chmod("/dev/gpushare", 0666);
		become(TENANT);
		for (n = 0; n < 19000; n++) {
			fd = arb_open();
			CHILD(fd >= 0);
			r = attach(fd, device, -1, NULL);
			if (r)
				break;
		}
		dprintf(1, "# a user may have %d clients\n", n);
		CHILD(r == -EUSERS && n >= 16);
		CHILD(!arb_call(fd - 1, GPUSHARE_DETACH, NULL));
		CHILD(!attach(fd, device, -1, NULL));		/* room again */
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	c = client_new(device);		/* another user isn't hindered */
	EXPECT_EQ(0, acquire(&c, 0, 0));
	device_remove(device);
}

TEST(a_removed_device_is_gone)
{
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = GPUSHARE_FOREVER };
	struct gpushare_memory m = { .size = sizeof(m), .op = GPUSHARE_MEM_CHARGE, .bytes = 1 };
	struct gpushare_describe k = { .size = sizeof(k), .threads = 1 };
	struct client a, b;
	uint32_t device;
	pid_t pid;

	need_arbiter();
	device = device_new();
	a = client_new(device);
	b = client_new(device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	pid = fork();
	if (!pid) {		/* waits while the device goes */
		CHILD(!client_open(&b, device));
		CHILD(acquire(&b, 0, 0) == -ENODEV);
		CHILD(word(&b) & GPUSHARE_GONE);
		_exit(0);
	}
	EXPECT_TRUE(EVENTUALLY(device_of(&a).waiters == 2 && blocked(pid)));
	device_remove(device);
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(word(&a) & GPUSHARE_GONE);
	EXPECT_TRUE(word(&b) & GPUSHARE_GONE);
	EXPECT_EQ(0, word(&a) & GPUSHARE_GRANTED);
	EXPECT_TRUE(arb_poll(b.fd, POLLIN, 1000) & (POLLERR | POLLHUP));
	EXPECT_EQ(-ENODEV, arb_call(a.fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(-ENODEV, arb_call(a.fd, GPUSHARE_YIELD, &w));
	EXPECT_EQ(-ENODEV, yield(&a, GPUSHARE_WAIT_AGAIN, 0));
	EXPECT_EQ(-ENODEV, arb_call(a.fd, GPUSHARE_MEMORY, &m));
	EXPECT_EQ(-ENODEV, arb_call(a.fd, GPUSHARE_DESCRIBE, &k));
	EXPECT_EQ(0, arb_call(a.fd, GPUSHARE_DETACH, NULL));
	EXPECT_EQ(-ENODEV, attach(a.fd, device, -1, NULL));
}

TEST_MAIN()
