// SPDX-License-Identifier: MIT
/*
 * What the module shows beside its node: sysfs, tracepoints, debugfs, the log.
 * Documentation/ABI.md says what programs may rely on.
 */
#include <dirent.h>
#include "lib.h"

#define TRACING	"/sys/kernel/tracing"
#define TRACE	TRACING "/instances/gpushare-test"
#define TREE	"/sys/kernel/debug/gpushare/tree"

static char text[1 << 18];

/* The whole file as a string in @text; its length, or -errno. */
static int slurp(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), n, len = 0;

	text[0] = 0;
	if (fd < 0)
		return -errno;
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += n;
	n = n < 0 ? -errno : len;
	text[len] = 0;
	close(fd);
	return n;
}

static const char *value(uint32_t device, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/gpushare/%u/%s", device, file);
	return slurp(path) < 0 ? "(none)" : text;
}

TEST(a_device_is_a_directory_with_one_value_a_file)
{
	static const char *const values[][2] = {
		{ "key", "cpu:files\n" }, { "kind", "other\n" }, { "policy", "rr\n" },
		{ "quota", "elastic\n" }, { "workers", "profile\n" }, { "seats", "3\n" },
		{ "slice_us", "1001\n" }, { "linger_us", "1002\n" }, { "grace_us", "1003\n" },
		{ "kill_us", "1004\n" }, { "epoch_us", "10005\n" }, { "latency_us", "1006\n" },
		{ "units", "7\n" }, { "unit_threads", "8\n" }, { "unit_registers", "9\n" },
		{ "unit_local_bytes", "10\n" }, { "bandwidth_mbps", "11\n" },
		{ "mem_bytes", "10995116277760\n" }, { "oversubscribe", "1\n" },
		{ "mem_full", "wait\n" }, { "mem_wait_us", "5000000000\n" },
		{ "clients", "1\n" }, { "waiters", "0\n" }, { "holders", "1\n" },
	};
	struct gpushare_device d = { .kind = GPUSHARE_KIND_OTHER, .key = "cpu:files",
		.mask = GPUSHARE_DEV_ALL, .policy = GPUSHARE_POLICY_RR,
		.quota = GPUSHARE_QUOTA_ELASTIC, .workers = GPUSHARE_WORKERS_PROFILE, .seats = 3,
		.slice_us = 1001, .linger_us = 1002, .grace_us = 1003, .kill_us = 1004,
		.epoch_us = 10005, .latency_us = 1006, .units = 7, .unit_threads = 8,
		.unit_registers = 9, .unit_local_bytes = 10, .bandwidth_mbps = 11,
		.mem_bytes = 10ULL << 40, .oversubscribe = 1,
		.mem_full = GPUSHARE_FULL_WAIT, .mem_wait_us = 5000000000 };
	const size_t count = sizeof(values) / sizeof(*values);
	char path[64], id[16];
	size_t i, files = 0;
	struct client c;
	struct dirent *e;
	struct stat st;
	int fd;
	DIR *dir;

	need_arbiter();
	c = client_new(device_add(&d));
	ASSERT_EQ(0, acquire(&c, 0, 0));
	for (i = 0; i < count; i++)
		EXPECT_STREQ(values[i][1], value(c.device, values[i][0]));
	snprintf(id, sizeof(id), "%u\n", c.device);
	EXPECT_STREQ(id, value(c.device, "id"));
	snprintf(path, sizeof(path), "/sys/kernel/gpushare/%u", c.device);
	dir = opendir(path);
	ASSERT_TRUE(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		files++;
		ASSERT_EQ(0, fstatat(dirfd(dir), e->d_name, &st, 0));
		EXPECT_EQ(S_IFREG | 0444, st.st_mode);
	}
	closedir(dir);
	EXPECT_EQ(count + 1, files);		/* and no other one */

	/* one that is read while its device goes says so */
	strcat(path, "/seats");
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	device_remove(c.device);
	EXPECT_EQ(-1, read(fd, text, 16));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-1, stat(path, &st));
}

/* How many trace lines there are of the event, with these numbers and a value in between. */
static int traced(const char *event, uint64_t device, uint64_t group, uint64_t client,
		  uint64_t least, uint64_t most)
{
	unsigned long long d, g, c, v;
	char name[40];
	const char *p;
	int n = 0;

	snprintf(name, sizeof(name), "gpushare_%s: ", event);
	if (slurp(TRACE "/trace") < 0)
		return -1;
	for (p = text; (p = strstr(p, name)); ) {
		p += strlen(name);
		n += sscanf(p, "device=%llu group=%llu client=%llu value=%llu", &d, &g, &c,
			    &v) == 4 &&
		     d == device && g == group && c == client && v >= least && v <= most;
	}
	return n;
}

/* Holds in the cgroup, past its max. */
static void hold_in(const char *path, uint32_t device)
{
	struct client c;
	pid_t pid = fork();

	if (!pid) {
		CHILD(!cg_enter(path));
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		CHILD(EVENTUALLY(asked_back(&c)));
		nap(10);
		CHILD(!yield(&c, 0, 0));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
}

TEST(tracepoints)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_SLICE,
		.grace_us = 20000, .slice_us = 1500 };
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = -1, .max_us = 5000,
		.mask = GPUSHARE_SHARE_MAX, .period_us = 100000, .cgroup_fd = -1 };
	uint64_t root = cg_id(CGROOT), start;
	struct client a, b;
	char *path;
	int fd;

	need_arbiter();
	if (access(TRACING "/events/gpushare", F_OK))
		SKIP("no tracefs, or a kernel without it");
	if (mkdir(TRACE, 0755) && errno != EEXIST)
		SKIP("%s: %s", TRACE, strerror(errno));
	start = now_ns();
	EXPECT_EQ(0, put(TRACE "/events/gpushare/enable", "1"));
	a = client_new(device_add(&d));
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(0, acquire(&b, 0, 10000));		/* although a never yields */
	EXPECT_EQ(0, yield(&b, 0, 0));
	EXPECT_EQ(1, traced("grant", a.device, root, a.id, 1500000, 1500000));
	EXPECT_EQ(1, traced("grant", a.device, root, b.id, 1500000, 1500000));
	EXPECT_EQ(1, traced("preempt", a.device, root, a.id, 1500000, now_ns() - start));
	EXPECT_EQ(0, traced("preempt", a.device, root, b.id, 0, ~0ULL));
	EXPECT_EQ(1, traced("overrun", a.device, root, a.id, 21500000, now_ns() - start));
	EXPECT_EQ(1, traced("yield", a.device, root, b.id, 1, now_ns() - start));

	path = cg_new(CGROOT, "files-trace");
	s.group = cg_id(path);
	fd = arb_open();
	EXPECT_EQ(0, arb_call(fd, GPUSHARE_SHARE_SET, &s));
	EXPECT_EQ(0, yield(&a, 0, 0));
	hold_in(path, a.device);
	EXPECT_LE(1, traced("throttle", a.device, s.group, 0, start, now_ns() + 10000 * MS));
	EXPECT_EQ(0, traced("throttle", a.device, root, 0, 0, ~0ULL));

	EXPECT_EQ(0, put(TRACE "/events/gpushare/enable", "0"));
	EXPECT_EQ(0, rmdir(TRACE));
	device_remove(a.device);
	cg_remove(path);
}

TEST(debugfs_shows_the_tree)
{
	char line[128], *top, *sub;
	struct client c, in;
	int fd, go[2];
	pid_t pid;
	char ch;

	need_arbiter();
	if (access(TREE, F_OK))
		SKIP("no debugfs, or a kernel without it");
	top = cg_new(CGROOT, "files-tree");
	sub = cg_new(top, "sub");
	fd = arb_open();
	EXPECT_EQ(0, share_set(fd, top, 0, 321));
	EXPECT_EQ(0, share_set(fd, sub, 0, 123));
	c = client_new(device_new());
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(sub));
		CHILD(!client_open(&in, c.device));
		CHILD(!acquire(&in, 0, 0));
		CHILD(write(go[1], "", 1) == 1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(go[0], &ch, 1));
	EXPECT_EQ(-EAGAIN, acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0));
	ASSERT_LT(0, slurp(TREE));
	snprintf(line, sizeof(line), "group %llu: weight 100 class 0\n",
		 (unsigned long long)cg_id(CGROOT));
	EXPECT_EQ(0, strncmp(line, text, strlen(line)));
	snprintf(line, sizeof(line), "\n    client %llu: device %u pid %d waiting ",
		 (unsigned long long)c.id, c.device, getpid());
	EXPECT_TRUE(strstr(text, line));
	snprintf(line, sizeof(line), "\n  group %llu: weight 321 class 0\n",
		 (unsigned long long)cg_id(top));
	EXPECT_TRUE(strstr(text, line));
	snprintf(line, sizeof(line), "\n    group %llu: weight 123 class 0\n"
		 "      device %u: running 1 waiting 0 ", (unsigned long long)cg_id(sub), c.device);
	EXPECT_TRUE(strstr(text, line));
	snprintf(line, sizeof(line), ": device %u pid %d running ", c.device, pid);
	EXPECT_TRUE(strstr(text, line));
	kill(pid, SIGKILL);
	reap(pid);
	device_remove(c.device);
	cg_remove(sub);
	cg_remove(top);
}

#define KILLED	24

/* The kernel writes ten such lines in five seconds; the kills may lie across two such times. */
TEST(a_line_of_log_for_a_kill_but_not_for_each_of_many)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_KILL |
		GPUSHARE_DEV_SEATS | GPUSHARE_DEV_SLICE, .grace_us = 10000, .kill_us = 10000000,
		.seats = KILLED, .slice_us = 1000 };
	int before, n, i, up[2];
	struct client c[KILLED], h;
	pid_t pids[KILLED];
	uint32_t device;
	char ch;

	need_arbiter();
	device = device_add(&d);
	ASSERT_EQ(0, pipe(up));
	for (i = 0; i < KILLED; i++) {
		c[i] = client_new(device);
		pids[i] = fork();
		if (!pids[i]) {
			CHILD(!client_open(&h, device));
			CHILD(!acquire(&h, 0, 0));
			CHILD(write(up[1], "", 1) == 1);
			for (;;)
				pause();
		}
	}
	for (i = 0; i < KILLED; i++)
		ASSERT_EQ(1, read(up[0], &ch, 1));
	before = logged("gpushare: killing process ");
	for (i = 0; i < KILLED; i++)	/* who asks all of them back, and gets their seats */
		acquire(&c[i], GPUSHARE_WAIT_NONBLOCK, 0);
	for (i = 0; i < KILLED; i++)
		EXPECT_TRUE(EVENTUALLY(granted(&c[i])));
	for (i = 0; i < KILLED; i++)
		EXPECT_EQ(0, yield(&c[i], 0, 0));
	for (i = 0; i < KILLED; i++)
		EXPECT_EQ(128 + SIGKILL, reap(pids[i]));
	n = logged("gpushare: killing process ") - before;
	printf("# %d lines for %d kills\n", n, KILLED);
	EXPECT_LE(1, n);
	EXPECT_LE(n, 20);
	device_remove(device);
}

TEST_MAIN()
