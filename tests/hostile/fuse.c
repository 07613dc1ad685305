// SPDX-License-Identifier: MIT
/*
 * The least of FUSE: one file, which can be opened, and whatever else is asked about it gets no
 * answer. Everybody can have such a file system, in a user name space of his own.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "arena.h"
#include "fuse.h"

#define FILE_ID 2

static void answer(int fd, uint64_t unique, int error, const void *body, size_t size)
{
	struct fuse_out_header head = { .unique = unique, .error = error };
	char buf[512];

	head.len = (uint32_t)(sizeof(head) + size);
	memcpy(buf, &head, sizeof(head));
	if (size)
		memcpy(buf + sizeof(head), body, size);
	if (write(fd, buf, head.len) < 0 && errno != ENOENT)
		_exit(31);
}

static struct fuse_attr attr_of(uint64_t id)
{
	return (struct fuse_attr){
		.ino = id, .mode = id == FILE_ID ? S_IFREG | 0666 : S_IFDIR | 0777, .nlink = 1,
	};
}

static void serve(int fd)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096,
	};
	struct fuse_entry_out entry = { .nodeid = FILE_ID, .attr = attr_of(FILE_ID) };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_attr_out attr = { .attr_valid = 0 };
	static char buf[1 << 17];
	struct fuse_in_header *in = (void *)buf;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, buf, sizeof(buf)) >= (ssize_t)sizeof(*in)) {
		switch (in->opcode) {
		case FUSE_INIT:
			answer(fd, in->unique, 0, &init, sizeof(init));
			break;
		case FUSE_LOOKUP:
			answer(fd, in->unique, 0, &entry, sizeof(entry));
			break;
		case FUSE_GETATTR:
			attr.attr = attr_of(in->nodeid);
			answer(fd, in->unique, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			answer(fd, in->unique, 0, &opened, sizeof(opened));
			break;
		}
	}
	_exit(0);
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return ok;
}

bool become_root(void)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %d 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %d 1", getegid());
	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", uids) && put("/proc/self/gid_map", gids);
}

int hung_file(const char *dir)
{
	char options[128], path[200];
	int fd;

	if (!become_root())
		return -errno;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);	/* which must be that name space's */
	if (fd < 0)
		return -errno;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("hung", dir, "fuse.hung", MS_NOSUID | MS_NODEV, options))
		return -errno;
	if (!fork())
		serve(fd);
	close(fd);
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
