// SPDX-License-Identifier: MIT
/*
 * Who is told what share a cgroup has: the same over both arbiters. Another user's
 * process sits in /own, below which it sees everything, and may divide /other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
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

TEST_MAIN()
