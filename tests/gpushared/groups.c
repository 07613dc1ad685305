// SPDX-License-Identifier: MIT
/* Groups, shares, and keeping them: cgroups of this machine, names, the state file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "harness.h"
#include "world.h"

static struct world w;
static char top[256];

/* A cgroup of our own to make others in, or no test. */
static void set_up_cgroup(void)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	struct statfs fs;
	int i;

	for (i = 0; i < 2; i++) {
		if (statfs(mounts[i], &fs) || fs.f_type != 0x63677270)
			continue;
		snprintf(top, sizeof(top), "%s/gpushare-test-%d", mounts[i], getpid());
		if (!mkdir(top, 0755)) {
			world_set_up(&w);
			return;
		}
	}
	SKIP("no cgroup2 in which this user may make a cgroup");
}

static int make_cgroup(const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s%s", top, name);
	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	return fd;
}

static void remove_cgroup(const char *name)
{
	char path[400];

	snprintf(path, sizeof(path), "%s%s", top, name);
	WAIT_FOR(!rmdir(path) || errno == ENOENT);
}

static void move_into(const char *name, pid_t pid)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", top, name);
	f = fopen(path, "w");
	ASSERT_TRUE(f);
	fprintf(f, "%d\n", pid);
	ASSERT_EQ(0, fclose(f));
}

static int set_weight(int fd, uint32_t weight, struct gpushare_share *s)
{
	*s = (struct gpushare_share){
		.size = sizeof(*s), .cgroup_fd = fd, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = weight,
	};
	return world_call(&w, GPUSHARE_SHARE_SET, s);
}

static uint64_t group_of(pid_t pid)
{
	return stats_of(&w, GPUSHARE_STATS_CLIENT, tenant_client(&w, pid)).group;
}

static uint64_t id_of(int fd)
{
	struct stat st;

	ASSERT_EQ(0, fstat(fd, &st));
	return st.st_ino;
}

/*
 * The nearest ancestor with a share; one may come between, or go. With the
 * module a client that asks for nothing stays where it was, so that there is a
 * rival, for which it has to ask.
 */
TEST(nearest_ancestor)
{
	struct tenant t = { .slice_ns = MS, .pause_ns = MS };
	struct gpushare_share s;
	pid_t pid, rival;
	int a, ab;

	set_up_cgroup();
	a = make_cgroup("/a");
	ab = make_cgroup("/a/b");
	close(make_cgroup("/a/b/c"));
	rival = tenant_start(&w, &t);
	pid = tenant_start(&w, &t);
	EXPECT_EQ(1, group_of(pid));
	EXPECT_EQ(0, set_weight(ab, 300, &s));
	EXPECT_EQ(id_of(ab), s.group);
	EXPECT_EQ(1, s.parent);
	EXPECT_STREQ(strrchr(top, '/'), (*strstr(s.path, "/a/b") = 0, s.path));
	move_into("/a/b/c", pid);
	EXPECT_TRUE(WAIT_FOR(group_of(pid) == id_of(ab)));	/* within a second */
	EXPECT_EQ(0, set_weight(a, 50, &s));
	EXPECT_EQ(0, share_get(&w, id_of(ab), &s));
	EXPECT_EQ(id_of(a), s.parent);
	EXPECT_EQ(300, s.weight);
	EXPECT_EQ(1, s.clients);
	EXPECT_EQ(group_of(pid), id_of(ab));
	s = (struct gpushare_share){
		.size = sizeof(s), .cgroup_fd = ab, .authority_fd = -1,
		.reset = GPUSHARE_SHARE_ALL,
	};
	EXPECT_EQ(0, world_call(&w, GPUSHARE_SHARE_SET, &s));
	EXPECT_EQ(-ENOENT, share_get(&w, id_of(ab), &s));
	EXPECT_EQ(id_of(a), group_of(pid));
	tenant_stop(rival);
	tenant_stop(pid);
	remove_cgroup("/a/b/c");
	remove_cgroup("/a/b");
	remove_cgroup("/a");
	EXPECT_EQ(-ENOENT, share_get(&w, id_of(a), &s));	/* its share went with it */
	remove_cgroup("");
	world_remove(&w);
}

/* One that is moved is noticed though it is seldom at work, and never for long. */
TEST(moved_while_it_pauses)
{
	struct tenant t = { .slice_ns = MS, .pause_ns = MS };
	struct gpushare_share s;
	pid_t pid, rival;
	int a;

	set_up_cgroup();
	a = make_cgroup("/a");
	EXPECT_EQ(0, set_weight(a, 300, &s));
	rival = tenant_start(&w, &t);
	t.pause_ns = 700 * MS;
	pid = tenant_start(&w, &t);
	EXPECT_EQ(1, group_of(pid));
	move_into("/a", pid);
	EXPECT_TRUE(WAIT_FOR(group_of(pid) == id_of(a)));
	tenant_stop(rival);
	tenant_stop(pid);
	close(a);
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

/* What may not be: bad files, bad values, nobody's rights. */
TEST(refused)
{
	struct gpushare_share s;
	int a, fd, status;
	pid_t pid;

	set_up_cgroup();
	a = make_cgroup("/a");
	EXPECT_EQ(-ERANGE, set_weight(a, 0, &s));
	EXPECT_EQ(-ERANGE, set_weight(a, 10001, &s));
	fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	EXPECT_EQ(-EBADF, set_weight(fd, 100, &s));
	close(fd);
	EXPECT_EQ(-ENOENT, share_get(&w, id_of(a), &s));		/* nothing was made */
	s = (struct gpushare_share){
		.size = sizeof(s), .cgroup_fd = a, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_MAX, .max_us = 10, .period_us = 10,
	};
	EXPECT_EQ(-ERANGE, world_call(&w, GPUSHARE_SHARE_SET, &s));
	if (!geteuid() && !w.module) {
		pid = fork();
		if (!pid) {
			struct gs_transport *c;

			chmod(w.dir, 0755);
			if (setuid(65534))
				_exit(9);
			/* Somebody else's daemon in user mode isn't for us. */
			_exit(gs_transport_open(w.arbiter, 0, &c) ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		EXPECT_EQ(0, status);
	}
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

/* Whether another user gets there, once the last folder lets them. */
static bool reachable(const char *dir)
{
	int status;
	pid_t pid;

	chmod(dir, 0755);
	pid = fork();
	if (!pid)
		_exit(setuid(65534) || access(dir, X_OK) ? 1 : 0);
	waitpid(pid, &status, 0);
	return !status;
}

/* With --system: who was delegated a cgroup divides it, and can't raise itself. */
TEST(delegation)
{
	static const char *const more[] = { "--system", NULL };
	struct gpushare_share s;
	char path[400];
	int a, ab, status;
	pid_t pid;

	if (geteuid())
		SKIP("needs root");
	set_up_cgroup();
	if (!reachable(w.dir)) {
		remove_cgroup("");
		world_remove(&w);
		SKIP("other users can't look into TMPDIR");
	}
	if (w.module) {
		ASSERT_EQ(0, chmod(w.arbiter, 0666));	/* udev's doing, elsewhere */
	} else {
		world_stop(&w, SIGTERM);
		world_start_with(&w, more);
	}
	a = make_cgroup("/a");
	ab = make_cgroup("/a/b");
	EXPECT_EQ(0, set_weight(a, 100, &s));
	snprintf(path, sizeof(path), "%s/a/cgroup.subtree_control", top);
	ASSERT_EQ(0, chown(path, 65534, 65534));
	pid = fork();
	if (!pid) {
		struct gpushare_device dev = { .size = sizeof(dev), .key = "x:1", .kind = 4 };

		if (setgid(65534) || setuid(65534))
			_exit(9);
		EXPECT_EQ(0, set_weight(ab, 200, &s));
		EXPECT_EQ(-EPERM, set_weight(a, 1000, &s));
		EXPECT_EQ(-EPERM, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, chown(path, 0, 0));
	/* The file, opened by one who may, is proof as well. */
	pid = fork();
	if (!pid) {
		int proof = open(path, O_WRONLY | O_CLOEXEC), weak;

		weak = open(path, O_RDONLY | O_CLOEXEC);
		if (setgid(65534) || setuid(65534))
			_exit(9);
		EXPECT_EQ(-EPERM, set_weight(ab, 300, &s));
		s = (struct gpushare_share){
			.size = sizeof(s), .cgroup_fd = ab, .authority_fd = weak,
			.mask = GPUSHARE_SHARE_WEIGHT, .weight = 300,
		};
		EXPECT_EQ(-EPERM, world_call(&w, GPUSHARE_SHARE_SET, &s));
		s.authority_fd = proof;
		EXPECT_EQ(0, world_call(&w, GPUSHARE_SHARE_SET, &s));
		s.cgroup_fd = a;
		EXPECT_EQ(-EPERM, world_call(&w, GPUSHARE_SHARE_SET, &s));
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	remove_cgroup("/a/b");
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

/* A daemon in system mode, and below /a another user may divide; or no test. */
static void set_up_user(void)
{
	/* Nothing is kept, so nothing waits for a disk. */
	static const char *const more[] = { "--system", "--state", "none", NULL };
	char path[400];

	if (geteuid())
		SKIP("needs root");
	set_up_cgroup();
	if (w.module || !reachable(w.dir)) {
		bool module = w.module;

		remove_cgroup("");
		world_remove(&w);
		SKIP("%s", module ? "the module sees them go" :
		     "other users can't look into TMPDIR");
	}
	world_stop(&w, SIGTERM);
	world_start_with(&w, more);
	close(make_cgroup("/a"));
	snprintf(path, sizeof(path), "%s/a", top);
	ASSERT_EQ(0, chown(path, 65534, 65534));
	strcat(path, "/cgroup.subtree_control");
	ASSERT_EQ(0, chown(path, 65534, 65534));
}

static void run_in_child(void (*what)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		what();
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

static void (*users_part)(void);

static void be_user(void)
{
	if (setgid(65534) || setuid(65534))
		_exit(9);
	users_part();
}

static void run_as_user(void (*what)(void))
{
	users_part = what;
	run_in_child(be_user);
}

static void take_away_user(void)
{
	remove_cgroup("/a/b");
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

#define ALL_BUT_ONE 255		/* of the groups that a user may have */

static void take_all_but_one(bool take)
{
	struct gpushare_share s;
	char name[32];
	int i, fd;

	for (i = 0; i < ALL_BUT_ONE; i++) {
		sprintf(name, "/a/%d", i);
		if (!take) {
			remove_cgroup(name);
			continue;
		}
		fd = make_cgroup(name);
		EXPECT_EQ(0, set_weight(fd, 100, &s));
		close(fd);
	}
}

/* Only one at a time fits: the next has room when the one before was seen to be gone. */
static int set_and_remove(void)
{
	struct gpushare_share s;
	int err, fd = make_cgroup("/a/b");

	err = set_weight(fd, 100, &s);
	close(fd);
	remove_cgroup("/a/b");
	return err;
}

/* On a user's behalf they are looked at 20 times a second, but for this. */
static void thirty_times(void)
{
	int i;

	take_all_but_one(true);
	for (i = 0; i < 30; i++)
		EXPECT_EQ(0, set_and_remove());
	take_all_but_one(false);
}

/* What removed cgroups had is taken back at once when it stands in a living one's way. */
TEST(the_removed_are_in_nobodys_way)
{
	set_up_user();
	run_as_user(thirty_times);
	take_away_user();
}

/*
 * 60 at once, and 20 a second; as many again may come in turn. A refusal doesn't last:
 * the next look in turn is due, at the latest, when the one before is paid for.
 */
static void as_often_as_it_goes(void)
{
	int tries = 0, done = 0, err;
	uint64_t start, seconds;

	take_all_but_one(true);
	start = now_ns();
	do {
		err = set_and_remove();
		EXPECT_TRUE(!err || err == -EUSERS);
		done += !err;
		tries++;
	} while (now_ns() - start < 2 * SEC || err);
	seconds = (now_ns() - start) / SEC + 1;
	take_all_but_one(false);
	printf("# %d of %d within %" PRIu64 " s\n", done, tries, seconds);
	EXPECT_LE(done, 60 + 40 * seconds + 2);
}

/* A tenant can't have the daemon look at all groups as often as it likes. */
TEST(looking_for_the_removed_has_its_price)
{
	set_up_user();
	run_as_user(as_often_as_it_goes);
	take_away_user();
}

/* What is mounted from now on, or not any more, is so for this process and its children. */
static bool own_mounts(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* How many files a process has read, or parts of them. */
static uint64_t reads_of(pid_t pid)
{
	unsigned long long n = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "syscr: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* How many reads it takes to learn somebody's cgroup: stdio takes such files by 1 KiB. */
static unsigned int reads_of_a_look(void)
{
	char text[8192];
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text));

	close(fd);
	ASSERT_GT(n, 0);
	return (unsigned int)n / 1024 + 1;
}

/* A group comes and goes, so each time somebody may belong elsewhere. */
static void come_and_go(void)
{
	struct gs_transport *a = world_connect(&w);
	uint64_t end = now_ns() + 3 * SEC;
	struct gpushare_share s;
	int n = 0;

	do {
		s = (struct gpushare_share){
			.size = sizeof(s), .authority_fd = -1, .mask = GPUSHARE_SHARE_WEIGHT,
			.weight = 5, .cgroup_fd = make_cgroup("/a/b"),
		};
		EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_SHARE_SET, &s));
		s.mask = 0;
		s.reset = GPUSHARE_SHARE_ALL;
		EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_SHARE_SET, &s));
		close(s.cgroup_fd);
		n++;
	} while (now_ns() < end);
	printf("# %d times\n", n);
	gs_transport_close(a);
}

/* In a group that has no share of its own yet. */
static void two_hundred_elsewhere(void)
{
	static struct gpushare *g[200];
	int own = make_cgroup("/own"), i;
	uint64_t reads, start, looks;
	struct gpushare_share s;

	move_into("/own", getpid());
	for (i = 0; i < 200; i++)
		g[i] = open_one("cpu:0");
	reads = reads_of(w.daemon);
	start = now_ns();
	run_as_user(come_and_go);
	looks = 2500 * ((now_ns() - start) / SEC + 1 + 3) + 200 * 4;
	looks *= reads_of_a_look();
	looks += looks / 10;	/* timers and eventfds are read, too */
	reads = reads_of(w.daemon) - reads;
	printf("# %" PRIu64 " reads of %" PRIu64 " at most\n", reads, looks);
	EXPECT_LE(reads, looks);
	/* Who belongs elsewhere is found all the same, if later, also if it does nothing. */
	EXPECT_EQ(0, set_weight(own, 100, &s));
	for (i = 0; i < 200; i += 199)
		EXPECT_TRUE(WAIT_FOR(stats_of(&w, GPUSHARE_STATS_CLIENT,
					      state_of(g[i]).client).group == id_of(own)));
}

/* That has its price too: 2,500 looks at a client a second, and as many as in 3 s at once. */
TEST(looking_for_who_belongs_where_has_its_price)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "cpu:0", .kind = GPUSHARE_KIND_CPU,
	};

	set_up_user();
	if (!reads_of(w.daemon)) {
		take_away_user();
		SKIP("the kernel doesn't count reads");
	}
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	run_in_child(two_hundred_elsewhere);
	remove_cgroup("/own");
	take_away_user();
}

/* Puts a file over another, or takes it away. */
static bool cover(const char *with, const char *file)
{
	return with ? !mount(with, file, NULL, MS_BIND, NULL) : !umount2(file, MNT_DETACH);
}

/*
 * The boot's id is read at the start, when there are files and memory left for that. What
 * it can't read later, or reads as another, is in no state file.
 */
TEST(the_boots_id_is_read_once)
{
	static const char boot[] = "/proc/sys/kernel/random/boot_id";
	struct gpushare_share s;
	char other[200];
	uint64_t id;
	FILE *f;
	int a;

	set_up_cgroup();
	ONLY_DAEMON(&w, "state file");
	snprintf(other, sizeof(other), "%s/other", w.dir);
	f = fopen(other, "w");
	ASSERT_TRUE(f);
	fputs("00000000-0000-0000-0000-000000000000\n", f);
	fclose(f);
	if (!own_mounts() || !cover(other, boot)) {
		remove_cgroup("");
		world_remove(&w);
		SKIP("no mounts of our own");
	}
	EXPECT_TRUE(cover(NULL, boot));
	world_stop(&w, SIGTERM);
	world_start(&w);	/* it sees what we mount */
	a = make_cgroup("/a");
	id = id_of(a);
	EXPECT_TRUE(cover(other, boot));
	EXPECT_EQ(0, set_weight(a, 250, &s));
	EXPECT_TRUE(cover(NULL, boot));
	world_stop(&w, SIGKILL);
	world_start(&w);
	EXPECT_EQ(0, share_get(&w, id, &s));
	EXPECT_EQ(250, s.weight);
	close(a);
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

/* Kept over a restart, whatever the end was; a cgroup made anew is another. */
TEST(state_is_kept)
{
	struct gpushare_share s, named = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 77 };
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "mig:x/1", .kind = GPUSHARE_KIND_MIG,
		.mask = GPUSHARE_DEV_SLICE, .slice_us = 3000,
	};
	struct gpushare_group g = { .size = sizeof(g), .name = "team" };
	uint64_t id;
	int a;

	set_up_cgroup();
	ONLY_DAEMON(&w, "state file");
	a = make_cgroup("/a b");
	id = id_of(a);
	EXPECT_EQ(0, set_weight(a, 250, &s));
	EXPECT_EQ(0, group_set(&w, "team", &named));
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	s = (struct gpushare_share){
		.size = sizeof(s), .cgroup_fd = a, .authority_fd = -1, .device = dev.device,
		.mask = GPUSHARE_SHARE_MIN, .min_permille = 123,
	};
	EXPECT_EQ(0, world_call(&w, GPUSHARE_SHARE_SET, &s));
	world_stop(&w, SIGKILL);
	world_start(&w);
	EXPECT_EQ(0, share_get(&w, id, &s));
	EXPECT_EQ(250, s.weight);
	EXPECT_EQ(GPUSHARE_SHARE_WEIGHT, s.mask);
	dev = (struct gpushare_device){ .size = sizeof(dev), .key = "mig:x/1" };
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_GET, &dev));
	EXPECT_EQ(3000, dev.slice_us);
	s = (struct gpushare_share){
		.size = sizeof(s), .group = id, .cgroup_fd = -1, .authority_fd = -1,
		.device = dev.device,
	};
	EXPECT_EQ(0, world_call(&w, GPUSHARE_SHARE_GET, &s));
	EXPECT_EQ(123, s.min_permille);
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	EXPECT_EQ(0, share_get(&w, g.group, &s));
	EXPECT_EQ(77, s.weight);
	world_stop(&w, SIGTERM);
	close(a);
	remove_cgroup("/a b");
	a = make_cgroup("/a b");
	world_start(&w);
	EXPECT_EQ(-ENOENT, share_get(&w, id, &s));
	EXPECT_EQ(-ENOENT, share_get(&w, id_of(a), &s));
	remove_cgroup("/a b");
	remove_cgroup("");
	world_remove(&w);
}

/* Takes away all cgroup2 mounts that this process sees. */
static bool without_cgroup2(void)
{
	char line[600], at[300], type[32];
	bool again = true, ok = own_mounts();
	FILE *f;

	while (ok && again) {
		again = false;
		f = fopen("/proc/self/mounts", "re");
		ASSERT_TRUE(f);
		while (!again && fgets(line, sizeof(line), f))
			again = sscanf(line, "%*s %299s %31s", at, type) == 2 &&
				!strcmp(type, "cgroup2");
		fclose(f);
		if (again)
			ok = !umount2(at, MNT_DETACH);
	}
	return ok;
}

/* On a system with v1 alone all tasks are in one group, which is said once; named ones work. */
TEST(without_cgroups)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 300 };
	struct tenant in = { .slice_ns = MS, .group = "a" }, out = { .slice_ns = MS };
	struct gpushare_group g = { .size = sizeof(g), .name = "a" };
	int err[2], old = dup(2), times = 0;
	char text[4000] = "", *at;
	pid_t pid[2];

	world_make(&w);
	ONLY_DAEMON(&w, "life without cgroups");
	if (!without_cgroup2()) {
		world_remove(&w);
		SKIP("no mounts of our own");
	}
	ASSERT_EQ(0, pipe(err));
	dup2(err[1], 2);
	world_start(&w);
	EXPECT_EQ(0, group_set(&w, "a", &s));
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	pid[0] = tenant_start(&w, &in);
	pid[1] = tenant_start(&w, &out);
	EXPECT_EQ(g.group, group_of(pid[0]));
	EXPECT_EQ(1, group_of(pid[1]));
	EXPECT_TRUE(WAIT_FOR(stats_of(&w, GPUSHARE_STATS_CLIENT,
				      tenant_client(&w, pid[0])).grants > 10));
	EXPECT_TRUE(WAIT_FOR(stats_of(&w, GPUSHARE_STATS_CLIENT,
				      tenant_client(&w, pid[1])).grants > 10));
	tenant_stop(pid[0]);
	tenant_stop(pid[1]);
	world_stop(&w, SIGTERM);
	dup2(old, 2);
	close(err[1]);
	EXPECT_GT(read(err[0], text, sizeof(text) - 1), 0);
	for (at = text; (at = strstr(at, "no cgroup v2 is mounted")); at++)
		times++;
	EXPECT_EQ(1, times);
	world_remove(&w);
}

/* A named group is its user's, and goes when nothing keeps it. */
TEST(named_groups)
{
	struct gpushare_share share = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 77 }, s;
	struct gpushare_group g = { .size = sizeof(g), .name = "team" };

	world_set_up(&w);
	ONLY_DAEMON(&w, "named groups");
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	EXPECT_EQ(-ENOENT, share_get(&w, g.group, &s));	/* the connection that made it is gone */
	EXPECT_EQ(0, group_set(&w, "team", &share));
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	EXPECT_EQ(0, share_get(&w, g.group, &s));
	EXPECT_STREQ("team", s.path);
	EXPECT_EQ(77, s.weight);
	EXPECT_EQ(1, s.parent);
	world_remove(&w);
}

TEST_MAIN()
