// SPDX-License-Identifier: MIT
/* The state file: kill -9 at any moment, and files that aren't sound. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness.h"
#include "world.h"

static struct world w;

#define LONG_NAME "group-with-a-name-that-is-as-long-as-it-may-be-or-nearly"

/* kill -9 at any moment: what was answered is there, and the file is whole and of one moment. */
TEST_LIMIT(kill_9_while_writing, 120)
{
	unsigned int seed = 1, i;

	printf("# seed %u\n", seed);
	world_make(&w);
	for (i = 0; i < 25; i++) {
		struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT };
		struct gpushare_group g = { .size = sizeof(g), .name = "g" };
		int told[2], status;
		uint32_t last = 0, n;
		pid_t pid;

		world_start(&w);
		ASSERT_EQ(0, pipe(told));
		pid = fork();
		if (!pid) {
			for (n = 1; n <= 10000; n++) {
				s.weight = n;
				if (group_set(&w, "g", &s) || group_set(&w, "h", &s))
					_exit(0);
				if (write(told[1], &n, sizeof(n)) != sizeof(n))
					_exit(0);
			}
			_exit(0);
		}
		close(told[1]);
		sleep_ns((uint64_t)(rand_r(&seed) % 40) * MS + MS);
		world_stop(&w, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		while (read(told[0], &n, sizeof(n)) == sizeof(n))
			last = n;
		close(told[0]);
		world_start(&w);
		if (last) {	/* the answered one, or the one that was under way */
			EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
			EXPECT_EQ(0, share_get(&w, g.group, &s));
			EXPECT_GE(s.weight, last);
			EXPECT_LE(s.weight, last + 1);
			n = s.weight;
			strcpy(g.name, "h");
			EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
			EXPECT_EQ(0, share_get(&w, g.group, &s));
			EXPECT_GE(s.weight, last);	/* each is of the same moment */
			EXPECT_LE(s.weight, n);
		}
		world_stop(&w, SIGTERM);
		unlink(w.state);
	}
	world_remove(&w);
}

static void spoil(void (*how)(int fd))
{
	struct gpushare_share named = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 77 };
	struct gpushare_group g = { .size = sizeof(g), .name = "team" };
	struct gpushare_share s;
	char bad[200], text[600] = "";
	int fd, err[2], old = dup(2);

	world_set_up(&w);
	EXPECT_EQ(0, group_set(&w, "team", &named));
	world_stop(&w, SIGTERM);
	fd = open(w.state, O_RDWR);
	how(fd);
	close(fd);
	ASSERT_EQ(0, pipe(err));
	dup2(err[1], 2);
	world_start(&w);
	dup2(old, 2);
	close(err[1]);
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	EXPECT_EQ(0, share_get(&w, g.group, &s) == 0 && s.mask);
	snprintf(bad, sizeof(bad), "%s.bad", w.state);
	EXPECT_EQ(0, access(bad, F_OK));
	EXPECT_GT(read(err[0], text, sizeof(text) - 1), 0);
	EXPECT_TRUE(strstr(text, "damaged"));
	world_remove(&w);
}

static void flip(int fd)
{
	char c;

	EXPECT_EQ(1, pread(fd, &c, 1, 40));
	c ^= 1;
	EXPECT_EQ(1, pwrite(fd, &c, 1, 40));
}

static void cut(int fd)
{
	EXPECT_EQ(0, ftruncate(fd, 30));
}

static void empty(int fd)
{
	EXPECT_EQ(0, ftruncate(fd, 0));
}

TEST(a_damaged_state_is_put_aside)
{
	spoil(flip);
	spoil(cut);
	spoil(empty);
}

static void set_weight(const char *name, uint32_t weight)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = weight };

	ASSERT_EQ(0, group_set(&w, name, &s));
}

static uint32_t weight_of(const char *name)
{
	struct gpushare_group g = { .size = sizeof(g) };
	struct gs_transport *a = world_connect(&w);
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1 };

	strcpy(g.name, name);
	EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_GROUP, &g));
	s.group = g.group;
	if (gs_transport_call(a, GPUSHARE_SHARE_GET, &s))
		s.mask = 0;
	gs_transport_close(a);
	return s.mask ? s.weight : 0;
}

/* What is set of waiting for memory, of a group and a device. */
TEST(how_memory_is_waited_for_is_kept)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER, .key = "test:m",
		.mask = GPUSHARE_DEV_MEM_FULL | GPUSHARE_DEV_MEM_WAIT,
		.mem_full = GPUSHARE_FULL_WAIT, .mem_wait_us = 5000000,
	};
	struct gpushare_share s = {
		.mask = GPUSHARE_SHARE_MEM_FULL | GPUSHARE_SHARE_MEM_WAIT,
		.mem_full = GPUSHARE_FULL_FAIL, .mem_wait_us = 7000,
	};
	struct gpushare_group g = { .size = sizeof(g), .name = "m" };

	world_set_up(&w);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	ASSERT_EQ(0, group_set(&w, "m", &s));
	world_stop(&w, SIGKILL);
	world_start(&w);
	dev = world_device(&w, "test:m");
	EXPECT_EQ(GPUSHARE_FULL_WAIT, dev.mem_full);
	EXPECT_EQ(5000000, dev.mem_wait_us);
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	memset(&s, 0, sizeof(s));
	EXPECT_EQ(0, share_get(&w, g.group, &s));
	EXPECT_EQ(GPUSHARE_FULL_FAIL, s.mem_full);
	EXPECT_EQ(7000, s.mem_wait_us);
	world_remove(&w);
}

/* A share that was taken back, and one for a device that was removed, don't come back. */
TEST(what_goes_is_gone)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "test:0", .kind = GPUSHARE_KIND_OTHER,
	};
	struct gpushare_share s = { .reset = GPUSHARE_SHARE_WEIGHT };
	int i;

	world_set_up(&w);
	for (i = 0; i < 2; i++) {	/* once known to the writer, and once not */
		dev.device = 0;
		ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
		set_weight("a", 5);
		set_weight("b", 6);
		s = (struct gpushare_share){
			.mask = GPUSHARE_SHARE_WEIGHT, .weight = 7, .device = dev.device,
		};
		EXPECT_EQ(0, group_set(&w, "b", &s));
		s = (struct gpushare_share){ .reset = GPUSHARE_SHARE_WEIGHT };
		EXPECT_EQ(0, group_set(&w, "a", &s));
		ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_REMOVE, &dev));
		world_stop(&w, SIGKILL);
		world_start(&w);
		EXPECT_EQ(0, weight_of("a"));
		EXPECT_EQ(6, weight_of("b"));
		dev.device = 0;
		EXPECT_EQ(-ENODEV, world_call(&w, GPUSHARE_DEVICE_GET, &dev));
		ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
		s = (struct gpushare_share){
			.reset = GPUSHARE_SHARE_CLASS, .device = dev.device,
		};
		EXPECT_EQ(0, group_set(&w, "b", &s));
		EXPECT_EQ(0, s.mask);
		ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_REMOVE, &dev));
	}
	world_remove(&w);
}

/* The daemon can have no more memory than now, or as much as it likes. */
static void starve(bool starve)
{
	struct rlimit r = { starve ? 4096 : RLIM_INFINITY, RLIM_INFINITY };

	ASSERT_EQ(0, prlimit(w.daemon, RLIMIT_AS, &r, NULL));
}

/* Without memory changes are written later, and nobody waits for it. */
TEST(no_memory_for_the_state)
{
	struct gpushare_share s = { .size = sizeof(s), .mask = GPUSHARE_SHARE_WEIGHT };
	struct gpushare_group g = { .size = sizeof(g) };
	struct gs_transport *a;
	int i, round;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("a sanitizer needs the memory itself");
#endif
	world_make(&w);
	/* So that what is freed goes back, and what is large must be had anew. */
	setenv("MALLOC_TRIM_THRESHOLD_", "4096", 1);
	setenv("MALLOC_TOP_PAD_", "0", 1);
	world_start(&w);
	for (round = 1; round <= 3; round++) {
		a = world_connect(&w);	/* nobody else is let in meanwhile */
		starve(round > 1);
		for (i = 0; i < 250; i++) {
			sprintf(g.name, LONG_NAME "-%d", i);
			EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_GROUP, &g));
			s.group = g.group;
			s.cgroup_fd = s.authority_fd = -1;
			s.mask = GPUSHARE_SHARE_WEIGHT;
			s.weight = (uint32_t)(round * 1000 + i);
			EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_SHARE_SET, &s));
		}
		starve(false);
		gs_transport_close(a);
		if (round == 2)		/* it is tried again by itself, */
			sleep_ns(6 * SEC);
		world_stop(&w, round == 3 ? SIGTERM : SIGKILL);	/* or at the end */
		world_start(&w);
		for (i = 0; i < 250; i++) {
			sprintf(g.name, LONG_NAME "-%d", i);
			EXPECT_EQ(round * 1000 + i, weight_of(g.name));
		}
	}
	world_remove(&w);
}

/* Nobody waits for a file that can't be written, it is tried again, and the old one stays. */
static uint32_t unkept(void)
{
	struct gpushare_version v = { .size = sizeof(v) };

	EXPECT_EQ(0, world_call(&w, GPUSHARE_VERSION, &v));
	EXPECT_TRUE(v.features & GPUSHARE_FEAT_KEEPS);
	return v.unkept;
}

static void cant_be_written(void (*spoil_it)(bool spoil), uint32_t error)
{
	uint64_t start;

	world_start(&w);
	set_weight("team", 1);
	EXPECT_EQ(0, unkept());
	spoil_it(true);
	set_weight("team", 2);
	start = now_ns();
	set_weight("team", 3);
	set_weight("team", 4);
	EXPECT_LT(now_ns() - start, 4 * SEC);	/* it isn't tried meanwhile */
	EXPECT_EQ(error, unkept());
	spoil_it(false);
	world_stop(&w, SIGKILL);
	world_start(&w);
	EXPECT_EQ(1, weight_of("team"));
	spoil_it(true);
	set_weight("team", 5);
	spoil_it(false);
	EXPECT_TRUE(WAIT_FOR(!unkept()));
	world_stop(&w, SIGKILL);
	world_start(&w);
	EXPECT_EQ(5, weight_of("team"));
	world_stop(&w, SIGTERM);
}

static void put_a_folder_there(bool there)
{
	char path[120];

	snprintf(path, sizeof(path), "%s.new", w.state);
	EXPECT_EQ(0, there ? mkdir(path, 0700) : rmdir(path));
}

static void fill_the_disk(bool fill)
{
	char path[120], page[4096] = "";
	int fd;

	snprintf(path, sizeof(path), "%s.filler", w.state);
	if (!fill) {
		EXPECT_EQ(0, unlink(path));
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, page, sizeof(page)) > 0)
		;
	EXPECT_EQ(ENOSPC, errno);
	close(fd);
}

TEST(no_place_for_the_state)
{
	world_make(&w);
	cant_be_written(put_a_folder_there, EISDIR);
	world_remove(&w);
}

TEST(a_full_disk)
{
	char dir[90];

	world_make(&w);
	snprintf(dir, sizeof(dir), "%s/disk", w.dir);
	mkdir(dir, 0700);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=64k")) {
		world_remove(&w);
		SKIP("a disk to fill takes root");
	}
	strcat(dir, "/state");
	strcpy(w.state, dir);
	cant_be_written(fill_the_disk, ENOSPC);
	umount2(dirname(dir), MNT_DETACH);
	world_remove(&w);
}

#define GROUPS 250
#define DEVICES 8

/* A user who sets shares of all its groups on all devices, on @n connections. */
static void churn(int *stop, int n)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT };
	struct gpushare_group g = { .size = sizeof(g) };
	struct gs_transport *a;
	uint32_t i, id[GROUPS];
	int k;

	if (setgid(65534) || setuid(65534))
		_exit(1);
	a = world_connect(&w);
	s.size = sizeof(s);
	s.cgroup_fd = s.authority_fd = -1;
	for (i = 0; i < GROUPS; i++) {
		sprintf(g.name, LONG_NAME "-%d", i);
		if (gs_transport_call(a, GPUSHARE_GROUP, &g))
			_exit(2);
		s.group = g.group;
		s.weight = 1;
		if (gs_transport_call(a, GPUSHARE_SHARE_SET, &s))
			_exit(3);
		id[i] = (uint32_t)(g.group - (1ull << 62));
	}
	__atomic_store_n(&stop[1], 1, __ATOMIC_SEQ_CST);
	for (k = 1; k < n && fork(); k++)
		;
	a = world_connect(&w);
	for (i = (uint32_t)k; !__atomic_load_n(stop, __ATOMIC_SEQ_CST); i++) {
		s = (struct gpushare_share){
			.size = sizeof(s), .mask = GPUSHARE_SHARE_ALL & ~GPUSHARE_SHARE_MIN,
			.weight = 1 + i % 10000, .max_us = 50000 + i, .period_us = 100000,
			.mem_max = GPUSHARE_NO_LIMIT, .mem_high = GPUSHARE_NO_LIMIT,
			.cgroup_fd = -1, .authority_fd = -1, .device = 1 + i / GROUPS % DEVICES,
			.group = (1ull << 62) + id[i % GROUPS],
		};
		s.max_us %= 100000;
		s.max_us += 1000;
		s.mask &= ~(uint32_t)(GPUSHARE_SHARE_MEM_MIN);
		if (!gs_transport_call(a, GPUSHARE_SHARE_SET, &s))
			__atomic_fetch_add(&stop[2], 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of round trips for a time, a thousand a second: the 99th percentile, in us. */
static uint64_t round_trips(uint64_t ns)
{
	static uint64_t took[20000];
	struct gpushare_version v = { .size = sizeof(v) };
	struct gs_transport *a = world_connect(&w);
	uint64_t until = now_ns() + ns;
	size_t n = 0;

	while (now_ns() < until && n < 20000) {
		took[n] = now_ns();
		EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_VERSION, &v));
		took[n] = now_ns() - took[n];
		n++;
		sleep_ns(MS);
	}
	gs_transport_close(a);
	qsort(took, n, sizeof(*took), by_time);
	return took[n * 99 / 100] / 1000;
}

struct trips {
	uint64_t alone, beside;	/* the 99th percentile of others' round trips, in us */
};

/* Without anybody, and beside four who change what is kept, with a state or without. */
static struct trips trips_beside_churn(bool state)
{
	const char *more[] = { "--system", state ? NULL : "--state", "none", NULL };
	struct gpushare_device dev = { .size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER };
	int *stop = world_shared(), i, status;
	struct trips t;
	pid_t pid;

	world_make(&w);
	chmod(w.dir, 0755);
	world_start_with(&w, more);
	for (i = 0; i < DEVICES; i++) {
		sprintf(dev.key, "test:%d", i);
		ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
		dev.device = 0;
	}
	t.alone = round_trips(2 * SEC);
	stop[0] = stop[1] = stop[2] = 0;
	pid = fork();
	if (!pid)
		churn(stop, 4);
	ASSERT_TRUE(WAIT_FOR(stop[1]));
	t.beside = round_trips(8 * SEC);
	__atomic_store_n(stop, 1, __ATOMIC_SEQ_CST);
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	printf("# p99 %" PRIu64 " us; %" PRIu64 " us beside %d changes in 8 s%s\n", t.alone, t.beside,
	       stop[2], state ? "" : " without a state");
	world_remove(&w);
	return t;
}

/*
 * A tenant chooses how large the state is and how often it changes; others don't wait
 * for it. The same load without a state is what it is compared with. What the machine does
 * besides comes and goes, and only ever adds: one try of four that holds is enough.
 */
TEST_LIMIT(others_dont_wait_for_it, 180)
{
	struct trips without, with;
	bool slow = TSAN || getenv("TEST_VALGRIND");
	int tries = 4;

	if (getuid())
		SKIP("users of one's own take root");
	do {
		without = trips_beside_churn(false);
		with = trips_beside_churn(true);
	} while (!slow && with.beside > 2000 + 3 * with.alone + without.beside / 2 && --tries);
	EXPECT_NE(0, tries);
}

TEST_MAIN()
