// SPDX-License-Identifier: MIT
/*
 * Makes the 1st, 2nd, 3rd ... operation of the kernel that can fail fail, in
 * each entry point of the module, until none is left (/proc/self/fail-nth: an
 * allocation or an access to user memory). A call that fails so must say
 * ENOMEM, EFAULT or what its step makes of them, and change nothing; the debug
 * kernel watches the way out for leaks and worse.
 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include "lib.h"

#define POINTS_MAX	3000

static int nth = -1;
static uint32_t device;
static struct client client;
static int spare;		/* a file without a client */
static char *group;

static void setup(void)
{
	need_arbiter();
	if (access("/sys/kernel/debug/failslab", F_OK))
		SKIP("this kernel injects no faults");
	put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/failslab/verbose", "0");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	put("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	put("/sys/kernel/debug/fail_usercopy/verbose", "0");
	nth = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, nth);
	device = device_new();
	client = client_new(device);
	spare = arb_open();
	group = cg_new(CGROOT, "failnth");
}

static void teardown(void)
{
	struct gpushare_device d = { .size = sizeof(d), .device = device };

	EXPECT_EQ(0, arb_call(spare, GPUSHARE_DEVICE_GET, &d));
	EXPECT_EQ(1, d.clients);
	EXPECT_EQ(0, d.waiters);
	EXPECT_EQ(0, acquire(&client, 0, 1000));
	EXPECT_EQ(0, yield(&client, 0, 0));
	device_remove(device);
	cg_remove(group);
}

/*
 * @op is made with the @n-th operation failing, n = 1, 2, ...; @undo takes back
 * what a successful one did. Ends when @op comes to its end before the n-th.
 */
static void sweep(const char *name, int (*op)(void), void (*undo)(void))
{
	int n, r, len, failed = 0;
	char b[16];

	for (n = 1; n < POINTS_MAX; n++) {
		len = snprintf(b, sizeof(b), "%d", n);
		if (pwrite(nth, b, len, 0) != len)
			continue;
		r = op();
		len = pread(nth, b, sizeof(b) - 1, 0);
		while (pwrite(nth, "0", 1, 0) != 1)
			;
		b[len > 0 ? len : 0] = 0;
		if (!r && undo)
			undo();
		if (r) {
			failed++;
			test_or_end(r == -ENOMEM || r == -EFAULT || r == -ENOBUFS || r == -ENFILE,
				    false, "%s with fault %d says %s", name, n, strerror(-r));
		}
		/* still counting down: the call was over before; unreadable: hit this read */
		if (len < 0 || atoi(b) > 0)
			break;
	}
	printf("# %s: %d faults, %d of them made it fail\n", name, n - 1, failed);
	EXPECT_LT(n, POINTS_MAX);
	EXPECT_EQ(0, op());			/* and without one it works */
	if (undo)
		undo();
}

static int opened;

static int op_open(void)
{
	opened = arb_open();
	return opened < 0 ? opened : 0;
}

static void undo_open(void)
{
	close(opened);
}

TEST(open_close)
{
	setup();
	sweep("open", op_open, undo_open);
	teardown();
}

static int op_attach(void)
{
	struct gpushare_attach a = { .size = sizeof(a), .device = device, .set_fd = -1 };

	return arb_call(spare, GPUSHARE_ATTACH, &a);
}

static void undo_attach(void)
{
	EXPECT_EQ(0, arb_call(spare, GPUSHARE_DETACH, NULL));
}

TEST(attach_detach)
{
	setup();
	sweep("attach", op_attach, undo_attach);
	teardown();
}

static void *mapped;

static int op_map_grant(void)
{
	mapped = arb_map(client.fd, GPUSHARE_OFF_GRANT, PROT_READ);
	return mapped ? 0 : -errno;
}

static int op_map_own(void)
{
	mapped = arb_map(client.fd, GPUSHARE_OFF_CLIENT, PROT_READ | PROT_WRITE);
	return mapped ? 0 : -errno;
}

static void undo_map(void)
{
	munmap(mapped, sysconf(_SC_PAGESIZE));
}

TEST(map)
{
	setup();
	sweep("mmap of the grant page", op_map_grant, undo_map);
	sweep("mmap of the client's page", op_map_own, undo_map);
	teardown();
}

/*
 * An older caller's struct, which is copied as a whole: that can be made to fail,
 * which the access to each member of the present one can't.
 */
static int older_call(unsigned long cmd, uint32_t flags, unsigned int ms)
{
	struct gpushare_wait w = { .size = offsetof(struct gpushare_wait, client),
		.flags = flags, .until_ns = now_ns() + ms * MS };

	return arb_call(client.fd, cmd, &w);
}

static int op_acquire(void)
{
	int r = older_call(GPUSHARE_ACQUIRE, 0, 1000);

	test_or_end(!r == granted(&client), false, "acquire says %d, the page %llx", r,
		    (unsigned long long)word(&client));
	return r;
}

static void undo_acquire(void)
{
	EXPECT_EQ(0, yield(&client, 0, 0));
}

static int op_yield(void)
{
	return older_call(GPUSHARE_YIELD, 0, 0);
}

static int op_again(void)
{
	return older_call(GPUSHARE_YIELD, GPUSHARE_WAIT_AGAIN, 1000);
}

TEST(acquire_yield)
{
	setup();
	sweep("acquire", op_acquire, undo_acquire);
	sweep("yield", op_yield, NULL);
	sweep("yield and acquire", op_again, undo_acquire);
	teardown();
}

/* A wait that ends by its time, with somebody else holding. */
static int op_wait(void)
{
	int r = older_call(GPUSHARE_ACQUIRE, 0, 5);

	return r == -ETIMEDOUT ? 0 : r;
}

TEST(wait)
{
	struct client other;

	setup();
	other = client_new(device);
	EXPECT_EQ(0, acquire(&other, 0, 0));
	sweep("a wait", op_wait, NULL);
	EXPECT_EQ(0, word(&client) & GPUSHARE_WAITING);
	client_close(&other);
	teardown();
}

static uint64_t charged(void)
{
	struct gpushare_stats s;

	EXPECT_EQ(0, stats(client.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	return s.mem_current;
}

static int op_memory(void)
{
	struct gpushare_memory m = { .size = sizeof(m), .op = GPUSHARE_MEM_CHARGE, .bytes = 4096 };

	return arb_call(client.fd, GPUSHARE_MEMORY, &m);
}

static void undo_memory(void)
{
	struct gpushare_memory m = { .size = sizeof(m), .op = GPUSHARE_MEM_UNCHARGE,
		.bytes = 4096 };

	EXPECT_EQ(0, arb_call(client.fd, GPUSHARE_MEMORY, &m));
}

static int op_describe(void)
{
	struct gpushare_describe d = { .size = sizeof(d), .threads = 1, .groups = 1 };

	return arb_call(client.fd, GPUSHARE_DESCRIBE, &d);
}

TEST(memory_describe)
{
	setup();
	sweep("memory", op_memory, undo_memory);
	EXPECT_EQ(0, charged());
	sweep("describe", op_describe, NULL);
	teardown();
}

static int op_share_set(void)
{
	return share_set(spare, group, device, 200);
}

static void undo_share_set(void)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.group = cg_id(group), .device = device, .reset = GPUSHARE_SHARE_ALL };

	EXPECT_EQ(0, arb_call(spare, GPUSHARE_SHARE_SET, &s));
}

static int op_share_get(void)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.flags = GPUSHARE_GET_NEXT };

	return arb_call(spare, GPUSHARE_SHARE_GET, &s);
}

TEST(share)
{
	setup();
	sweep("share set", op_share_set, undo_share_set);
	sweep("share get", op_share_get, NULL);
	teardown();
}

static struct gpushare_device added;

static int op_add(void)
{
	added = (struct gpushare_device){ .size = sizeof(added), .kind = GPUSHARE_KIND_CPU,
		.key = "cpu:failnth" };
	return arb_call(spare, GPUSHARE_DEVICE_ADD, &added);
}

static void undo_add(void)
{
	added = (struct gpushare_device){ .size = sizeof(added), .key = "cpu:failnth" };
	EXPECT_EQ(0, arb_call(spare, GPUSHARE_DEVICE_REMOVE, &added));
}

static int op_set(void)
{
	struct gpushare_device d = { .size = sizeof(d), .device = device,
		.mask = GPUSHARE_DEV_SEATS, .seats = 4 };

	return arb_call(spare, GPUSHARE_DEVICE_SET, &d);
}

static int op_device_get(void)
{
	struct gpushare_device d = { .size = sizeof(d), .flags = GPUSHARE_GET_NEXT };

	return arb_call(spare, GPUSHARE_DEVICE_GET, &d);
}

TEST(devices)
{
	setup();
	sweep("device add", op_add, undo_add);
	sweep("device set", op_set, NULL);
	sweep("device get", op_device_get, NULL);
	teardown();
}

static int op_stats(void)
{
	struct gpushare_stats s;

	return stats(client.fd, GPUSHARE_STATS_DEVICE, device, 0, &s);
}

TEST(statistics)
{
	setup();
	sweep("stats", op_stats, NULL);
	teardown();
}

static int family, dump_cmd;

/* One dump, by hand: each system call of it counts down. */
static int op_dump(void)
{
	static char buf[32768];
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
	} m = { { sizeof(m), family, NLM_F_REQUEST | NLM_F_DUMP, 0, 0 }, { .cmd = dump_cmd } };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), r = 0, n;
	struct timeval limit = { 1, 0 };
	const struct nlmsghdr *h;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (send(fd, &m, sizeof(m), 0) < 0)
		r = -errno;
	while (!r) {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0) {
			/* the answer itself couldn't be allocated: no news is an error */
			r = errno == EAGAIN ? -ENOBUFS : -errno;
			break;
		}
		for (h = (void *)buf; NLMSG_OK(h, (unsigned int)n); h = NLMSG_NEXT(h, n))
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				break;
		if (!NLMSG_OK(h, (unsigned int)n))
			continue;
		r = *(int *)NLMSG_DATA(h);
		break;
	}
	close(fd);
	return r;
}

TEST_LIMIT(netlink, 120)
{
	setup();
	family = genl_family();
	ASSERT_LT(0, family);
	dump_cmd = GPUSHARE_CMD_DEVICE_GET;
	sweep("device dump", op_dump, NULL);
	dump_cmd = GPUSHARE_CMD_GROUP_GET;
	sweep("group dump", op_dump, NULL);
	dump_cmd = GPUSHARE_CMD_CLIENT_GET;
	sweep("client dump", op_dump, NULL);
	teardown();
}

static int module = -1;

static int op_load(void)
{
	return syscall(SYS_finit_module, module, "", 0) ? -errno : 0;
}

static void undo_load(void)
{
	EXPECT_EQ(0, syscall(SYS_delete_module, "gpushare", O_NONBLOCK));
}

/* Loading is an entry point too: every step of init unwinds. */
TEST_LIMIT(load_unload, 2400)
{
	char path[300];

	setup();
	teardown();
	client_close(&client);
	close(spare);
	snprintf(path, sizeof(path), "%s", getenv("GS_MODULES") ?: "");
	path[strcspn(path + 1, " ") + 1] = 0;
	module = open(path + strspn(path, " "), O_RDONLY | O_CLOEXEC);
	if (module < 0)
		SKIP("GS_MODULES doesn't name the module");
	ASSERT_TRUE(EVENTUALLY(!syscall(SYS_delete_module, "gpushare", O_NONBLOCK)));
	sweep("load", op_load, undo_load);
	EXPECT_EQ(0, op_load());
}

TEST_MAIN()
