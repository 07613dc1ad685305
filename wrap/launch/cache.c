// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"

#define FOLDERS		256
#define NAME_BYTES	(2 * (GS_SHA256_BYTES - 1))	/* the first byte names the folder */

struct head {
	char magic[8];
	uint64_t len;
	uint8_t key[GS_SHA256_BYTES];
	uint8_t digest[GS_SHA256_BYTES];
};

static const char magic[8] = "gscache1";

static uint64_t limit_bytes(void)
{
	const char *s = secure_getenv("GPUSHARE_CACHE_MB");
	unsigned long long mb;
	char *end;

	if (s && *s >= '0' && *s <= '9') {
		errno = 0;
		mb = strtoull(s, &end, 10);
		if (!errno && !*end && mb < UINT64_MAX >> 20)
			return mb << 20;
	}
	return 256ull << 20;
}

/* The folder's path; false: there is to be none. */
static bool cache_path(char path[PATH_MAX])
{
	const char *dir = secure_getenv("GPUSHARE_CACHE");
	int n;

	if (dir && *dir) {
		if (!strcmp(dir, "off"))
			return false;
		n = snprintf(path, PATH_MAX, "%s", dir);
	} else if ((dir = secure_getenv("XDG_CACHE_HOME")) && *dir == '/') {
		n = snprintf(path, PATH_MAX, "%s/gpushare", dir);
	} else if ((dir = secure_getenv("HOME")) && *dir == '/') {
		n = snprintf(path, PATH_MAX, "%s/.cache/gpushare", dir);
	} else {
		return false;
	}
	return n > 0 && n < PATH_MAX && *path == '/';
}

bool gs_cache_is_on(void)
{
	char path[PATH_MAX];

	return cache_path(path);
}

/* fstat() and fstatat() by a symbol that is in glibc 2.28 too. */
static bool look_at(int at, const char *name, struct statx *st)
{
	return !statx(at, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
		      STATX_TYPE | STATX_MODE | STATX_UID | STATX_SIZE | STATX_MTIME, st);
}

static bool is_ours(const struct statx *st, mode_t type)
{
	return (st->stx_mode & S_IFMT) == type && st->stx_uid == geteuid() &&
	       !(st->stx_mode & 022);
}

static int open_folder(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct statx st;

	if (fd >= 0 && (!look_at(fd, "", &st) || !is_ours(&st, S_IFDIR))) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Could somebody else have put this where it is, or put something else there? What is
 * root's or ours is nobody else's, in a directory in which others can't write, or can
 * write what is their own alone (/tmp). Who shares a group shares what it may write.
 * @root: whose "/" is, as in a user namespace root may be somebody else
 */
static bool is_safe(const struct statx *st, uid_t root)
{
	if (st->stx_uid && st->stx_uid != root && st->stx_uid != geteuid())
		return false;
	return !S_ISDIR(st->stx_mode) || !(st->stx_mode & S_IWOTH) || st->stx_mode & S_ISVTX;
}

/* One step down. A link is followed if it is root's or ours, which only they can exchange. */
static int step_into(int at, const char *name, uid_t root, bool make)
{
	int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), link = -1;
	struct statx st;

	if (fd < 0 && errno == ENOENT && make && !mkdirat(at, name, 0700))
		fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && look_at(fd, "", &st) && is_safe(&st, root) && S_ISLNK(st.stx_mode)) {
		link = fd;
		fd = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(link);
	}
	if (fd >= 0 && (!look_at(fd, "", &st) || !is_safe(&st, root) || !S_ISDIR(st.stx_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* As mkdir -p with @make, for the user alone, and through nothing that others made. */
static int open_root(bool make)
{
	char path[PATH_MAX], *name, *rest;
	struct statx top;
	int fd, next;

	if (!cache_path(path))
		return -1;
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !look_at(fd, "", &top)) {
		close(fd);
		return -1;
	}
	for (name = strtok_r(path, "/", &rest); name && fd >= 0; name = strtok_r(NULL, "/", &rest)) {
		next = step_into(fd, name, top.stx_uid, make);
		close(fd);
		fd = next;
	}
	if (fd < 0)
		return -1;
	next = open_folder(fd, ".");
	close(fd);
	return next;
}

static void folder_name(char name[3], unsigned int folder)
{
	snprintf(name, 3, "%02x", folder & 0xff);
}

/* The folder that the key's entry belongs into, and the entry's name there. */
static int open_for(const uint8_t key[GS_SHA256_BYTES], bool make, char name[NAME_BYTES + 1])
{
	int root = open_root(make), fd;
	char folder[3];
	int i;

	if (root < 0)
		return -1;
	folder_name(folder, key[0]);
	fd = open_folder(root, folder);
	if (fd < 0 && make && !mkdirat(root, folder, 0700))
		fd = open_folder(root, folder);
	close(root);
	for (i = 1; i < GS_SHA256_BYTES; i++)
		snprintf(name + 2 * (i - 1), 3, "%02x", key[i]);
	return fd;
}

static bool read_all(int fd, void *to, size_t len)
{
	char *p = to;
	ssize_t n;

	while (len) {
		n = read(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool write_all(int fd, const void *from, size_t len)
{
	const char *p = from;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static void digest_of(uint8_t digest[GS_SHA256_BYTES], const void *data, size_t len)
{
	struct gs_sha256 sha;

	gs_sha256_init(&sha);
	gs_sha256_add(&sha, data, len);
	gs_sha256_end(&sha, digest);
}

/* 0, -ENOMEM, or -EBADMSG: the entry is not what it should be. */
static int read_entry(int fd, const uint8_t key[GS_SHA256_BYTES], void **data, size_t *len)
{
	uint8_t digest[GS_SHA256_BYTES];
	struct head head;
	struct statx st;
	char *bytes;

	if (!look_at(fd, "", &st) || !is_ours(&st, S_IFREG) ||
	    !read_all(fd, &head, sizeof(head)) ||
	    memcmp(head.magic, magic, sizeof(magic)) || memcmp(head.key, key, sizeof(head.key)) ||
	    st.stx_size - sizeof(head) != head.len || head.len > SIZE_MAX - 1)
		return -EBADMSG;
	bytes = malloc(head.len + 1);
	if (!bytes)
		return -ENOMEM;
	if (!read_all(fd, bytes, head.len))
		goto bad;
	digest_of(digest, bytes, head.len);
	if (memcmp(digest, head.digest, sizeof(digest)))
		goto bad;
	bytes[head.len] = '\0';
	*data = bytes;
	*len = head.len;
	return 0;
bad:
	free(bytes);
	return -EBADMSG;
}

int gs_cache_get(const uint8_t key[GS_SHA256_BYTES], void **data, size_t *len)
{
	char name[NAME_BYTES + 1];
	int folder, fd, rc = -ENOENT, err = errno;

	folder = open_for(key, false, name);
	if (folder >= 0) {
		fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0) {
			rc = read_entry(fd, key, data, len);
			if (!rc)
				futimens(fd, NULL);	/* it was used */
			else if (rc == -EBADMSG)
				unlinkat(folder, name, 0);
			close(fd);
		}
		close(folder);
	}
	errno = err;
	return rc == -ENOMEM ? rc : rc ? -ENOENT : 0;
}

struct entry {
	struct statx_timestamp used;
	uint64_t size;
	uint8_t folder;
	char name[NAME_BYTES + 1];
};

struct entries {
	struct entry *entry;
	size_t n, room;
	uint64_t size;
};

static int by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void list_entry(struct entries *all, int folder, unsigned int number, const char *name)
{
	struct entry *more;
	struct statx st;

	if (!look_at(folder, name, &st) || !S_ISREG(st.stx_mode))
		return;
	if (strlen(name) != NAME_BYTES) {
		/* Left by a writer that died; one that still writes takes no hour. */
		if (st.stx_mtime.tv_sec < time(NULL) - 3600)
			unlinkat(folder, name, 0);
		return;
	}
	if (all->n == all->room) {
		more = realloc(all->entry, (all->room * 2 + 64) * sizeof(*more));
		if (!more)
			return;
		all->entry = more;
		all->room = all->room * 2 + 64;
	}
	all->entry[all->n] = (struct entry){
		.used = st.stx_mtime, .size = st.stx_size, .folder = (uint8_t)number,
	};
	memcpy(all->entry[all->n++].name, name, NAME_BYTES + 1);
	all->size += st.stx_size;
}

static void list_folder(struct entries *all, int root, unsigned int number)
{
	struct dirent *d;
	char name[3];
	DIR *dir;
	int fd;

	folder_name(name, number);
	fd = open_folder(root, name);
	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while ((d = readdir(dir)))
		if (*d->d_name != '.')
			list_entry(all, fd, number, d->d_name);
	closedir(dir);
}

/* Down to three quarters of the limit, so that it isn't due again at once. */
static void shrink(uint64_t limit)
{
	struct entries all = { 0 };
	char path[3 + NAME_BYTES + 1];
	int root = open_root(false);
	unsigned int folder;
	size_t i;

	if (root < 0)
		return;
	for (folder = 0; folder < FOLDERS; folder++)
		list_folder(&all, root, folder);
	if (all.size > limit) {
		qsort(all.entry, all.n, sizeof(*all.entry), by_use);
		for (i = 0; i < all.n && all.size > limit / 4 * 3; i++) {
			snprintf(path, sizeof(path), "%02x/%s", all.entry[i].folder,
				 all.entry[i].name);
			if (!unlinkat(root, path, 0))
				all.size -= all.entry[i].size;
		}
	}
	free(all.entry);
	close(root);
}

/* Enough was written since the last look, by this process, to look again. */
static bool is_time_to_shrink(uint64_t written, uint64_t limit)
{
	static uint64_t since = UINT64_MAX;	/* the first to write looks */
	uint64_t old = __atomic_load_n(&since, __ATOMIC_RELAXED), new;

	do {
		new = old > limit / 16 ? 0 : old + written;
	} while (!__atomic_compare_exchange_n(&since, &old, new, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return !new;
}

static bool write_entry(int folder, const char *name, const struct head *head, const void *data)
{
	static uint32_t counter;
	char temporary[64];
	bool done;
	int fd;

	snprintf(temporary, sizeof(temporary), "new-%ld-%u", (long)getpid(),
		 __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	/* Not synced: what a crash leaves is told by the digest. */
	done = write_all(fd, head, sizeof(*head)) && write_all(fd, data, head->len);
	if (close(fd))
		done = false;
	if (!done || renameat(folder, temporary, folder, name)) {
		unlinkat(folder, temporary, 0);
		return false;
	}
	return true;
}

void gs_cache_put(const uint8_t key[GS_SHA256_BYTES], const void *data, size_t len)
{
	struct head head = { .len = len };
	uint64_t limit = limit_bytes();
	char name[NAME_BYTES + 1];
	int folder, err = errno;
	struct rlimit file;
	bool written;

	/* Past the process's own limit on files there would be a signal. */
	if (len + sizeof(head) > limit / 8 || getrlimit(RLIMIT_FSIZE, &file) ||
	    len + sizeof(head) > file.rlim_cur)
		return;
	memcpy(head.magic, magic, sizeof(magic));
	memcpy(head.key, key, sizeof(head.key));
	digest_of(head.digest, data, len);
	folder = open_for(key, true, name);
	if (folder >= 0) {
		written = write_entry(folder, name, &head, data);
		close(folder);
		if (written && is_time_to_shrink(len + sizeof(head), limit))
			shrink(limit);
	}
	errno = err;
}
