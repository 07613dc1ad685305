// SPDX-License-Identifier: MIT
/*
 * Who a peer is, by what /proc says of its process. A porter looks (porter.c): whoever
 * lists /proc/PID into memory that hangs, while somebody tries to make a file there, keeps
 * every other process that looks up a name in that directory, and any user can do both.
 * And who reads the status file just when the process ends, may be who has to end its
 * memory. So this is done once, when it connects; its cgroup, which may change, is read
 * from a file that stays open.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpushared.h"

static uint64_t name_space(int dir, const char *which)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "ns/%s", which);
	return fstatat(dir, path, &st, 0) ? 0 : st.st_ino;
}

static bool same_namespace(int dir, int self, const char *which)
{
	uint64_t its = name_space(dir, which);

	return its && its == name_space(self, which);
}

static bool has_sys_admin(pid_t pid)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, pid };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &head, caps) &&
	       caps[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

/* Without what allocates memory: another thread may have been at that when we were made. */
static size_t read_all(int dir, const char *name, char *to, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = 0;

	if (fd >= 0) {
		while (length < size - 1 && (n = read(fd, to + length, size - 1 - length)) > 0)
			length += (size_t)n;
		close(fd);
	}
	to[length] = 0;
	return length;
}

/* The number that the process has in its own pid name space. */
static pid_t inner_pid(int dir)
{
	static char text[16384];
	char *at, *tab, *end;

	read_all(dir, "status", text, sizeof(text));
	at = strstr(text, "\nNSpid:");
	end = at ? strchr(at + 1, '\n') : NULL;
	if (!end)
		return 0;
	*end = 0;
	tab = strrchr(at, '\t');
	return tab ? (pid_t)atoi(tab) : 0;
}

/*
 * Uid 0 when it connected, and the capability now: the first can't be had by
 * executing a set-user-id program with the connection, the second is what a
 * container's root lacks.
 */
bool meet_may_be_admin(pid_t pid, uid_t uid)
{
	/* Others than the daemon's own user, and root, don't get this far in user mode. */
	return !d.system || (!uid && has_sys_admin(pid));
}

/* Opens the file that says its cgroup, or -1. */
int meet(pid_t pid, uid_t uid, struct gs_met *met)
{
	char path[64];
	bool insider;
	int dir, self, cgroup;
	size_t n;

	memset(met, 0, sizeof(*met));
	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	insider = same_namespace(dir, self, "user");
	met->pid_ns = name_space(dir, "pid");
	met->inner_pid = inner_pid(dir);
	met->foreign = !same_namespace(dir, self, "pid") || !same_namespace(dir, self, "cgroup");
	met->admin = meet_may_be_admin(pid, uid) && (!d.system || insider);
	met->outsider = met->foreign || !insider || (!uid && !met->admin);
	met->tenant = tenant_of(pid, uid);
	n = read_all(dir, "comm", met->comm, sizeof(met->comm));
	if (n && met->comm[n - 1] == '\n')
		met->comm[n - 1] = 0;
	cgroup = openat(dir, "cgroup", O_RDONLY | O_CLOEXEC);
	if (dir >= 0)
		close(dir);
	close(self);
	return cgroup;
}
