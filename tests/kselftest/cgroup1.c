// SPDX-License-Identifier: MIT
/*
 * A system without cgroup v2 directories, as one that uses v1 only: everything
 * is in one group, and the log says so once.
 */
#include <sys/mount.h>
#include "lib.h"

#define V1	"/run/gpushare-cgroup1"

static bool has_directories(void)
{
	struct stat st;

	return stat(CGROOT, &st) || st.st_nlink > 2;
}

static int in_directory(const char *path, struct client *c, uint32_t device)
{
	struct gpushare_stats s;
	int ret = cg_enter(path) ?: client_open(c, device);

	return ret ?: stats(c->fd, GPUSHARE_STATS_CLIENT, 0, 0, &s) ?: (int)s.group;
}

TEST(all_are_in_one_group)
{
	struct client a, b;
	uint32_t device;
	pid_t pid;

	need_arbiter();
	if (has_directories())
		SKIP("this system has cgroup v2 directories");
	pid = fork();
	if (!pid) {
		CHILD(!unshare(CLONE_NEWNS));
		CHILD(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
		CHILD(!umount2(CGROOT, MNT_DETACH));
		CHILD(!mkdir(V1, 0755) || errno == EEXIST);
		CHILD(!mount("none", V1, "cgroup", 0, "none,name=gpushare"));
		CHILD(!mkdir(V1 "/a", 0755) && !mkdir(V1 "/b", 0755));
		device = device_new();
		CHILD(in_directory(V1 "/a", &a, device) == 1);
		CHILD(in_directory(V1 "/b", &b, device) == 1);
		/* and share the device */
		CHILD(!acquire(&a, 0, 0));
		CHILD(acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0) == -EAGAIN);
		CHILD(EVENTUALLY(asked_back(&a)));
		CHILD(acquire(&a, GPUSHARE_WAIT_NONBLOCK, 0) == -EAGAIN);
		CHILD(granted(&b));
		CHILD(!cg_enter(V1));
		CHILD(!rmdir(V1 "/a") && !rmdir(V1 "/b"));
		device_remove(device);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	rmdir(V1);
	EXPECT_EQ(1, logged("gpushare: there are no cgroup v2 directories"));
}

TEST_MAIN()
