// SPDX-License-Identifier: MIT
/*
 * Who is told what share a cgroup has: the same over both arbiters. Another user's
 * process sits in /own, below which it sees everything, and may divide /other.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "harness.h"
#include "world.h"

#define USER 65534

static const char *const dirs[] = { "", "/own", "/own/below", "/other", "/other/part" };

static struct world w;
static char top[256];

static int open_cgroup(const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s%s", top, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	return fd;
}

static int get_by_fd(const char *name, int authority, struct gpushare_share *s)
{
	int r;

	*s = (struct gpushare_share){ .size = sizeof(*s), .authority_fd = authority };
	s->cgroup_fd = open_cgroup(name);
	r = world_call(&w, GPUSHARE_SHARE_GET, s);
	close(s->cgroup_fd);
	return r;
}

static int get_by_id(const char *name, int authority, struct gpushare_share *s)
{
	int fd = open_cgroup(name);
	struct stat st;

	ASSERT_EQ(0, fstat(fd, &st));
	close(fd);
	*s = (struct gpushare_share){ .size = sizeof(*s), .cgroup_fd = -1,
		.authority_fd = authority, .group = st.st_ino };
	return world_call(&w, GPUSHARE_SHARE_GET, s);
}

static void set_weight(const char *name, uint32_t weight)
{
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = -1,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = weight };

	s.cgroup_fd = open_cgroup(name);
	EXPECT_EQ(0, world_call(&w, GPUSHARE_SHARE_SET, &s));
	close(s.cgroup_fd);
}

static void enter(const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", top, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_EQ(1, write(fd, "0", 1));
	close(fd);
}

static bool cgroups_made(void)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	struct statfs fs;
	char path[400];
	size_t i, j;

	for (i = 0; i < 2; i++) {
		if (statfs(mounts[i], &fs) || fs.f_type != 0x63677270)
			continue;
		snprintf(top, sizeof(top), "%s/gpushare-rights-%d", mounts[i], getpid());
		if (mkdir(top, 0755))
			continue;
		for (j = 1; j < sizeof(dirs) / sizeof(*dirs); j++) {
			snprintf(path, sizeof(path), "%s%s", top, dirs[j]);
			ASSERT_EQ(0, mkdir(path, 0755));
		}
		return true;
	}
	return false;
}

static void remove_all(void)
{
	size_t j = sizeof(dirs) / sizeof(*dirs);
	char path[400];

	while (j--) {
		snprintf(path, sizeof(path), "%s%s", top, dirs[j]);
		EXPECT_TRUE(WAIT_FOR(!rmdir(path) || errno == ENOENT));
	}
	world_remove(&w);
}

/* Can the other user reach the arbiter at all? */
static bool reachable(void)
{
	int status;
	pid_t pid;

	chmod(w.dir, 0755);
	pid = fork();
	if (!pid)
		_exit(setuid(USER) || access(w.dir, X_OK) ? 1 : 0);
	waitpid(pid, &status, 0);
	return !status;
}

static void set_up(void)
{
	static const char *const more[] = { "--system", NULL };
	char path[400];

	if (geteuid())
		SKIP("needs root");
	if (!cgroups_made())
		SKIP("no cgroup2 in which this user may make a cgroup");
	world_set_up(&w);
	if (!reachable()) {
		remove_all();
		SKIP("other users can't look into TMPDIR");
	}
	if (w.module) {
		ASSERT_EQ(0, chmod(w.arbiter, 0666));
	} else {
		world_stop(&w, SIGTERM);
		world_start_with(&w, more);
	}
	set_weight("/own", 50);
	set_weight("/own/below", 60);
	set_weight("/other", 70);
	set_weight("/other/part", 80);
	snprintf(path, sizeof(path), "%s/other/cgroup.subtree_control", top);
	ASSERT_EQ(0, chown(path, USER, USER));
}

/* Runs it as the user, in /own. */
static void as_user(void (*part)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		enter("/own");
		if (setgid(USER) || setuid(USER))
			_exit(9);
		part();
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

static void look(void)
{
	struct gpushare_share s;

	EXPECT_EQ(0, get_by_fd("/own", -1, &s));
	EXPECT_EQ(50, s.weight);
	EXPECT_EQ(0, get_by_id("/own", -1, &s));
	EXPECT_EQ(50, s.weight);
	EXPECT_EQ(0, get_by_fd("/own/below", -1, &s));
	EXPECT_EQ(0, get_by_id("/own/below", -1, &s));
	EXPECT_EQ(60, s.weight);
	/* somebody else's, although everybody may open the directory */
	EXPECT_EQ(-ENOENT, get_by_fd("/other", -1, &s));
	EXPECT_EQ(0, s.weight);
	EXPECT_EQ(-ENOENT, get_by_id("/other", -1, &s));
	EXPECT_EQ(0, s.weight);
	/* what it may set, and shows that it may */
	EXPECT_EQ(0, get_by_fd("/other/part", -1, &s));
	EXPECT_EQ(80, s.weight);
	EXPECT_EQ(-ENOENT, get_by_id("/other/part", -1, &s));
	/* one that has no share is as one that isn't seen */
	EXPECT_EQ(-ENOENT, get_by_fd("", -1, &s));
}

TEST(reading_by_rights)
{
	struct gpushare_share s;

	set_up();
	as_user(look);
	EXPECT_EQ(0, get_by_fd("/other", -1, &s));	/* root */
	EXPECT_EQ(70, s.weight);
	EXPECT_EQ(0, s.min_free);
	EXPECT_EQ(0, get_by_id("/other/part", -1, &s));
	EXPECT_EQ(80, s.weight);
	remove_all();
}

static int proof, weak;

static void look_with_proof(void)
{
	struct gpushare_share s;

	EXPECT_EQ(0, get_by_fd("/other/part", proof, &s));
	EXPECT_EQ(80, s.weight);
	EXPECT_EQ(0, get_by_id("/other/part", proof, &s));
	EXPECT_EQ(80, s.weight);
	EXPECT_EQ(-ENOENT, get_by_fd("/other/part", weak, &s));
	EXPECT_EQ(-ENOENT, get_by_id("/other/part", weak, &s));
	EXPECT_EQ(-ENOENT, get_by_fd("/other", proof, &s));
	EXPECT_EQ(-ENOENT, get_by_fd("/other/part", -1, &s));
}

TEST(reading_by_a_passed_file)
{
	char path[400];

	set_up();
	snprintf(path, sizeof(path), "%s/other/cgroup.subtree_control", top);
	ASSERT_EQ(0, chown(path, 0, 0));
	proof = open(path, O_WRONLY | O_CLOEXEC);
	weak = open(path, O_RDONLY | O_CLOEXEC);
	as_user(look_with_proof);
	remove_all();
}

static int set_by(const char *name, bool by_id, int authority)
{
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = authority,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = 90 };
	struct stat st;
	int r;

	s.cgroup_fd = open_cgroup(name);
	ASSERT_EQ(0, fstat(s.cgroup_fd, &st));
	if (by_id) {
		close(s.cgroup_fd);
		s.cgroup_fd = -1;
		s.group = st.st_ino;
	}
	r = world_call(&w, GPUSHARE_SHARE_SET, &s);
	if (s.cgroup_fd >= 0)
		close(s.cgroup_fd);
	return r;
}

/* Uid 0 still, and no admin. */
static bool drop_sys_admin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &head, caps))
		return false;
	caps[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective &= ~CAP_TO_MASK(CAP_SYS_ADMIN);
	caps[CAP_TO_INDEX(CAP_SYS_ADMIN)].permitted &= ~CAP_TO_MASK(CAP_SYS_ADMIN);
	return !syscall(SYS_capset, &head, caps);
}

/*
 * As container engines make one: in /own, with name spaces of its own but for users, and
 * cgroups mounted for reading, or, as of a trusted one, for writing.
 */
static void as_containers_root(bool writes, void (*part)(void))
{
	char mount_point[256];
	int status;
	pid_t pid;

	snprintf(mount_point, sizeof(mount_point), "%.*s", (int)(strrchr(top, '/') - top), top);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		enter("/own");
		ASSERT_EQ(0, unshare(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWPID));
		ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
		if (!writes)
			ASSERT_EQ(0, mount(NULL, mount_point, NULL,
					   MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
		pid = fork();
		if (!pid) {
			ASSERT_TRUE(drop_sys_admin());
			part();
			_exit(test_failures ? 1 : 0);
		}
		waitpid(pid, &status, 0);
		_exit(status ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

static void set_what_is_roots(void)
{
	EXPECT_EQ(-EPERM, set_by("/own", false, -1));
	EXPECT_EQ(-EPERM, set_by("/own", true, -1));		/* its own cap */
	EXPECT_EQ(-EPERM, set_by("/own/below", false, -1));	/* it can't write there */
	EXPECT_EQ(-EPERM, set_by("/own/below", true, -1));
	EXPECT_EQ(-ENOENT, set_by("/other", false, -1));
	EXPECT_EQ(-ENOENT, set_by("/other", true, -1));		/* nor is that to be seen */
	EXPECT_EQ(-ENOENT, set_by("/other/part", true, -1));
	EXPECT_EQ(-ENOENT, set_by("", true, -1));
}

static void set_what_it_may_write(void)
{
	EXPECT_EQ(0, set_by("/own/below", false, -1));
	EXPECT_EQ(-ENOENT, set_by("/other/part", true, -1));
	EXPECT_EQ(-ENOENT, set_by("/other/part", false, weak));
	EXPECT_EQ(0, set_by("/other/part", false, proof));
}

/* A container's root owns what is root's, and may set none of it. */
TEST(a_containers_root_is_no_admin)
{
	char path[400];

	if (geteuid())
		SKIP("needs root");
	set_up();
	ONLY_DAEMON(&w, "other way than the caller's own");
	snprintf(path, sizeof(path), "%s/other/cgroup.subtree_control", top);
	ASSERT_EQ(0, chown(path, 0, 0));
	as_containers_root(false, set_what_is_roots);
	proof = open(path, O_WRONLY | O_CLOEXEC);
	weak = open(path, O_RDONLY | O_CLOEXEC);
	as_containers_root(true, set_what_it_may_write);
	remove_all();
}

/* Tells its id by @weak, and stays until @proof has something for it. */
static void name_one(void)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 91 };
	char c;

	EXPECT_EQ(0, group_set(&w, "name", &s));
	EXPECT_LE(GPUSHARE_PART_FIRST, s.parent);
	EXPECT_GE(write(weak, &s.group, sizeof(s.group)), 0);
	EXPECT_EQ(1, read(proof, &c, 1));
}

/* The user ids of two containers are the same, their groups of one name aren't. */
TEST(containers_dont_meet_in_a_named_group)
{
	int tell[2], stay[2], status, i;
	struct gpushare_share s;
	uint64_t id[2];
	pid_t pid[2];

	set_up();
	ONLY_DAEMON(&w, "named groups");
	ASSERT_EQ(0, pipe(tell));
	ASSERT_EQ(0, pipe(stay));
	weak = tell[1];
	proof = stay[0];
	/* Both at once: the number of one that has gone may be another's. */
	for (i = 0; i < 2; i++) {
		fflush(NULL);
		pid[i] = fork();
		if (!pid[i]) {
			as_containers_root(false, name_one);
			_exit(test_failures ? 1 : 0);
		}
		ASSERT_EQ((ssize_t)sizeof(id[i]), read(tell[0], &id[i], sizeof(id[i])));
		EXPECT_EQ(0, share_get(&w, id[i], &s));
		EXPECT_EQ(91, s.weight);
	}
	EXPECT_NE(id[0], id[1]);
	EXPECT_EQ(2, write(stay[1], "..", 2));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	remove_all();
}

TEST_MAIN()
