// SPDX-License-Identifier: MIT
/*
 * The daemon with a fault at each call that can fail: the first, the second, and so on,
 * until a whole round of all that clients do meets none any more. Whoever met it may be
 * refused or cut off, at once; everybody else is served, and nothing is lost.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fault-wrap.h"
#include "harness.h"
#include "ulib/backend.h"
#include "ulib/wire.h"
#include "world.h"

static struct world w;
static struct faults *faults;

static void make_faults(void)
{
	static char path[200], program[4300];
	char *at;
	int fd;

	world_make(&w);
	snprintf(path, sizeof(path), "%s/faults", w.dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_EQ(0, ftruncate(fd, sizeof(*faults)));
	faults = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(faults != MAP_FAILED);
	close(fd);
	setenv("GPUSHARE_FAULTS", path, 1);
	snprintf(program, sizeof(program), "%s", world_daemon());
	at = strstr(program, "/gpushared/gpushared");
	ASSERT_TRUE(at);
	strcpy(at, "/tests/gpushared/faulty-gpushared");
	world_program = program;
}

static void arm(uint64_t nth)
{
	faults->count = 0;
	faults->hits = 0;
	__atomic_store_n(&faults->nth, nth, __ATOMIC_SEQ_CST);
}

/* Any answer will do, but one there must be. */
static int in_time(struct gs_transport *a, unsigned long cmd, void *arg)
{
	int err = gs_transport_call(a, cmd, arg);

	EXPECT_NE(-ETIMEDOUT, err);
	return err;
}

static void with_a_file(void)
{
	struct gpushare_share s = {
		.size = sizeof(s), .authority_fd = -1, .mask = GPUSHARE_SHARE_WEIGHT, .weight = 5,
	};
	struct gs_transport *a;

	if (gs_transport_open(w.arbiter, 0, &a))
		return;
	s.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	in_time(a, GPUSHARE_SHARE_SET, &s);
	close(s.cgroup_fd);
	gs_transport_close(a);
}

static void as_a_client(void)
{
	struct gpushare_options strict = { .size = sizeof(strict), .flags = GPUSHARE_OPEN_STRICT };
	struct gpushare *g;
	int err;

	setenv("GPUSHARE_GROUP", "some", 1);
	err = gpushare_open(&g, "cpu:0", &strict);
	unsetenv("GPUSHARE_GROUP");
	EXPECT_NE(-ETIMEDOUT, err);
	if (err)
		return;
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(20 * SEC)));
	gpushare_memory(g, GPUSHARE_MEM_CHARGE, 1000, NULL);
	gpushare_end(g);
	gpushare_yield(g);
	gpushare_close(g);
}

static void as_a_reader(void)
{
	struct gs_transport *a;

	if (gs_transport_open(w.arbiter, 0, &a))
		return;
	EXPECT_NE(-ETIMEDOUT, gs_transport_events(a, 1ull << GPUSHARE_EVENT_SHARE_SET));
	gs_transport_close(a);
}

/* All that there is to do, once. */
static void a_round(void)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER, .key = "x:y",
	};
	struct gpushare_stats stats = { .size = sizeof(stats), .flags = GPUSHARE_GET_NEXT };
	struct gpushare_share s = {
		.size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MIN, .weight = 7, .min_permille = 5,
	};
	struct gpushare_group g = { .size = sizeof(g), .name = "mine" };
	struct gs_transport *a;

	as_a_client();
	as_a_reader();
	with_a_file();
	if (gs_transport_open(w.arbiter, 0, &a))
		return;
	in_time(a, GPUSHARE_DEVICE_ADD, &dev);
	if (!in_time(a, GPUSHARE_GROUP, &g)) {
		s.group = g.group;
		in_time(a, GPUSHARE_SHARE_SET, &s);
		s.device = dev.device;
		in_time(a, GPUSHARE_SHARE_SET, &s);
	}
	stats.what = GPUSHARE_STATS_CLIENT;
	in_time(a, GPUSHARE_STATS, &stats);
	gs_transport_close(a);
	kill(w.daemon, SIGHUP);
}

/* What a round may have left is taken away, which has to work now. */
static void tidy(void)
{
	struct gpushare_device dev = { .size = sizeof(dev), .key = "x:y" };
	struct gpushare_share s = {
		.size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.reset = GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MIN,
	};
	struct gpushare_group g = { .size = sizeof(g), .name = "mine" };
	struct gs_transport *a = world_connect(&w);
	int err;

	err = gs_transport_call(a, GPUSHARE_DEVICE_REMOVE, &dev);
	EXPECT_TRUE(!err || err == -ENODEV);
	EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_GROUP, &g));
	s.group = g.group;
	EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_SHARE_SET, &s));
	gs_transport_close(a);
}

static unsigned int open_files(void)
{
	unsigned int n = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", w.daemon);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool only_the_neighbour(void)
{
	struct gpushare_device dev = world_device(&w, "cpu:0");

	return dev.clients == 1 && !dev.waiters && dev.holders <= 1;
}

TEST_LIMIT(at_each_call, 1500)
{
	static struct tenant t = { .slice_ns = 200000, .pause_ns = 200000 };
	unsigned int base, step = getenv("FULL") ? 1 : 3, i, n = 0;
	uint64_t nth, id, usage;
	pid_t neighbour;

	make_faults();
	world_start(&w);
	neighbour = tenant_start(&w, &t);
	id = tenant_client(&w, neighbour);
	ASSERT_NE(0, id);
	for (i = 0; i < 4; i++) {
		a_round();
		tidy();
	}
	ASSERT_TRUE(WAIT_FOR(only_the_neighbour()));
	base = open_files();
	for (nth = 1 + (unsigned int)getpid() % step; ; nth += step) {
		arm(nth);
		a_round();
		arm(0);
		if (!faults->what[0])
			break;
		n++;
		usage = stats_of(&w, GPUSHARE_STATS_CLIENT, tenant_client(&w, neighbour)).usage_ns;
		tidy();
		if (!WAIT_FOR(only_the_neighbour()))
			test_fail("after a fault of %s, call %llu", faults->what,
				  (unsigned long long)nth);
		EXPECT_TRUE(WAIT_FOR(stats_of(&w, GPUSHARE_STATS_CLIENT,
					      tenant_client(&w, neighbour)).usage_ns != usage));
		if (kill(w.daemon, 0) || test_failures) {
			test_fail("at call %llu, %s", (unsigned long long)nth, faults->what);
			break;
		}
		memset(faults->what, 0, sizeof(faults->what));
	}
	printf("# %u faults; %u files open, %u before\n", n, open_files(), base);
	EXPECT_GT(n, 30);
	EXPECT_TRUE(WAIT_FOR(open_files() <= base + 12));	/* some porters more */
	tenant_stop(neighbour);
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* It starts, or ends and says why; it doesn't hang. */
TEST_LIMIT(at_its_start, 1500)
{
	struct gpushare_version v = { .size = sizeof(v) };
	unsigned int step = getenv("FULL") ? 1 : 3, n = 0, started = 0;
	struct gs_transport *a;
	uint64_t nth, end;
	int status;
	bool up;

	make_faults();
	for (nth = 1 + (unsigned int)getpid() % step; ; nth += step) {
		arm(nth);
		world_exec(&w, NULL);
		up = false;
		end = now_ns() + 30 * SEC;
		while (!up && now_ns() < end && waitpid(w.daemon, &status, WNOHANG) != w.daemon) {
			sleep_ns(2 * MS);
			if (gs_transport_open(w.arbiter, 0, &a))
				continue;
			up = !gs_transport_call(a, GPUSHARE_VERSION, &v);
			gs_transport_close(a);
		}
		arm(0);
		EXPECT_LT(now_ns(), end);
		if (up) {
			started++;
			world_stop(&w, SIGTERM);
		} else {
			EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
		}
		if (test_failures)
			test_fail("at call %llu, %s", (unsigned long long)nth, faults->what);
		if (!faults->what[0] || test_failures)
			break;
		n++;
		memset(faults->what, 0, sizeof(faults->what));
	}
	printf("# %u faults, it started with %u\n", n, started);
	EXPECT_GT(n, 5);
	w.daemon = 0;
	world_remove(&w);
}

TEST_MAIN()
