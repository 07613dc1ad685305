// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hungfs.h"

#define FILE_NODE 2
#define FILE_SIZE (1 << 20)

static void fill(struct fuse_attr *a, uint64_t node)
{
	memset(a, 0, sizeof(*a));
	a->ino = node;
	a->mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0666;
	a->nlink = 1;
	a->size = node == FUSE_ROOT_ID ? 0 : FILE_SIZE;
	a->uid = getuid();
	a->gid = getgid();
	a->blksize = 4096;
}

static void answer(int fd, uint64_t unique, int error, const void *body, size_t size)
{
	static char out[sizeof(struct fuse_out_header) + (128 << 10)];
	struct fuse_out_header *head = (void *)out;

	head->len = (uint32_t)(sizeof(*head) + size);
	head->error = error;
	head->unique = unique;
	if (size)
		memcpy(out + sizeof(*head), body, size);
	if (write(fd, out, head->len) < 0 && errno != ENOENT)
		_exit(1);
}

static void serve_one(int fd, const struct fuse_in_header *in, bool writeback)
{
	static const char zeros[128 << 10];
	struct fuse_init_out init = {
		.major = 7, .minor = 31, .max_readahead = 4096, .max_write = 128 << 10,
		.flags = writeback ? FUSE_WRITEBACK_CACHE : 0,
		.max_background = 16, .congestion_threshold = 12, .time_gran = 1,
	};
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .entry_valid = 3600 };
	struct fuse_attr_out attr = { 0 };
	struct fuse_open_out open = { .fh = 1 };
	struct fuse_statfs_out fs = { .st = { .bsize = 4096, .namelen = 255 } };
	const void *arg = in + 1;
	struct fuse_write_out wrote;

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fill(&entry.attr, FILE_NODE);
		answer(fd, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		fill(&attr.attr, in->nodeid);
		answer(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(fd, in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		answer(fd, in->unique, 0, zeros, ((const struct fuse_read_in *)arg)->size);
		break;
	case FUSE_WRITE:
		wrote = (struct fuse_write_out){ ((const struct fuse_write_in *)arg)->size, 0 };
		answer(fd, in->unique, 0, &wrote, sizeof(wrote));
		break;
	case FUSE_STATFS:
		answer(fd, in->unique, 0, &fs, sizeof(fs));
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(fd, in->unique, -ENOSYS, NULL, 0);
	}
}

static void serve(struct hungfs *h, int fd, bool writeback)
{
	static _Alignas(8) char request[256 << 10];
	const struct fuse_in_header *in = (void *)request;
	ssize_t n;

	for (;;) {
		n = read(fd, request, sizeof(request));
		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n < (ssize_t)sizeof(*in))
			_exit(0);
		if (in->opcode < 64) {
			__atomic_add_fetch(&h->page->asked[in->opcode], 1, __ATOMIC_SEQ_CST);
			if (h->page->hang & 1ull << in->opcode)
				continue;
		}
		serve_one(fd, in, writeback);
	}
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int own_namespaces(void)
{
	unsigned int uid = getuid(), gid = getgid();
	char map[64];
	int err;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -errno;
	put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	err = put("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return err ? err : put("/proc/self/gid_map", map);
}

int hungfs_start(struct hungfs *h, const char *dir, bool writeback)
{
	char options[128];
	int fd, err;

	h->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h->page == MAP_FAILED)
		return -errno;
	snprintf(h->dir, sizeof(h->dir), "%s", dir);
	snprintf(h->file, sizeof(h->file), "%s/f", dir);
	if (mkdir(dir, 0755) && errno != EEXIST)
		return -errno;
	err = own_namespaces();
	if (err)
		return err;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=%u,group_id=%u", fd,
		 getuid(), getgid());
	if (mount("hungfs", dir, "fuse", MS_NOSUID | MS_NODEV, options)) {
		err = -errno;
		close(fd);
		return err;
	}
	h->server = fork();
	if (!h->server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* What it has open would not be closed for the last time by who is to hang. */
		dup2(fd, 3);
		closefrom(4);
		serve(h, 3, writeback);
	}
	close(fd);
	return h->server < 0 ? -errno : 0;
}

void hungfs_hang(struct hungfs *h, unsigned int op)
{
	__atomic_or_fetch(&h->page->hang, 1ull << op, __ATOMIC_SEQ_CST);
}

void *hungfs_memory(struct hungfs *h)
{
	int fd = open(h->file, O_RDWR | O_CLOEXEC);
	void *at;

	at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	hungfs_hang(h, FUSE_READ);
	return at == MAP_FAILED ? NULL : at;
}
