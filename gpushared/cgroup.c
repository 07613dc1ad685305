// SPDX-License-Identifier: MIT
/*
 * The cgroup v2 file system: from a process to its cgroup, between ids and
 * paths, and who may divide what.
 *
 * A cgroup is named by its id (the inode of its directory), as the kernel's
 * cgroup_id() does; paths are from the mount's root. A path may be made anew
 * for another cgroup, so a path is never believed without its id.
 */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpushared.h"

#define KERNFS_HANDLE_TYPE 0xfe
#define WALK_MAX 65536		/* directories looked at to find an id, without rights */
#define GROUPS_MAX 1024

static int root_fd = -1, own_files = -1;
static char mount_point[CGROUP_PATH_MAX];

/* Finds where cgroup2 is mounted: alone, or beside v1 as "unified". */
static bool find_mount(void)
{
	char line[8192], point[CGROUP_PATH_MAX], *dash;
	bool found = false;
	FILE *f;

	f = fopen("/proc/self/mountinfo", "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		dash = strstr(line, " - cgroup2 ");
		if (dash && sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1) {
			snprintf(mount_point, sizeof(mount_point), "%s", point);
			found = true;
		}
	}
	fclose(f);
	return found;
}

int cgroup_init(void)
{
	if (!find_mount()) {
		say("no cgroup v2 is mounted, so all tasks are in one group; %s",
		    "mount -t cgroup2 none /sys/fs/cgroup/unified");
		return 0;
	}
	root_fd = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		say("%s: %s: all tasks are in one group", mount_point, strerror(errno));
	return 0;
}

/* The line of the one hierarchy, without its "0::"; @text is what /proc/PID/cgroup said. */
static char *own_line(char *text)
{
	char *line = text;

	/* Whole lines, or the end of a long v1 path could be "0::/", as its owner likes. */
	while (line && strncmp(line, "0::/", 4)) {
		line = strchr(line, '\n');
		line += !!line;
	}
	return line ? line + 3 : NULL;
}

/* After the fork, as these are this process's. */
int cgroup_files(void)
{
	own_files = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return own_files < 0 ? -errno : 0;
}

int cgroup_of_peer(const struct peer *p, char *path, size_t size)
{
	static char text[32 * CGROUP_PATH_MAX];
	size_t length = 0;
	char *line, *gone;
	ssize_t n = 0;

	if (root_fd < 0 || p->cgroup < 0)
		return -ENOENT;
	while (length < sizeof(text) - 1 &&
	       (n = pread(p->cgroup, text + length, sizeof(text) - 1 - length,
			  (off_t)length)) > 0)
		length += (size_t)n;
	if (n < 0)
		return -errno;
	text[length] = 0;
	line = own_line(text);
	if (!line || !strchr(line, '\n'))
		return -ENOENT;
	*strchr(line, '\n') = 0;
	gone = strstr(line, " (deleted)");
	if (gone && !gone[10])
		*gone = 0;
	/* "/.." is outside of what our own name space shows. */
	if (strlen(line) >= size || !strncmp(line, "/..", 3))
		return -ENOENT;
	strcpy(path, line);
	return 0;
}

int cgroup_id_of_path(const char *path, uint64_t *id)
{
	struct stat st;

	if (root_fd < 0)
		return -ENOENT;
	if (fstatat(root_fd, path[1] ? path + 1 : ".", &st, 0))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOENT;
	*id = st.st_ino;
	return 0;
}

/*
 * The directory of a group, open as long as the group is. What is open needn't be looked
 * up, and nor need any directory above it: a tenant can keep those who look up in a directory
 * what isn't known to be there (see meet.c).
 */
int cgroup_hold(const char *path, uint64_t id, int *dir)
{
	struct stat st;
	int err = 0;

	*dir = openat(root_fd, path[1] ? path + 1 : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dir < 0)
		return -errno;
	if (fstat(*dir, &st))
		err = -errno;
	else if (st.st_ino != id)
		err = -ENOENT;
	if (err) {
		close(*dir);
		*dir = -1;
	}
	return err;
}

/* Whether it is still there: else its path has " (deleted)" behind it. */
bool cgroup_is_held(const char *path, int dir)
{
	char number[16], link[2 * CGROUP_PATH_MAX];
	size_t skip = strlen(mount_point);
	ssize_t n;

	if (dir < 0)
		return true;
	snprintf(number, sizeof(number), "%d", dir);
	n = readlinkat(own_files, number, link, sizeof(link) - 1);
	if (n < 0)
		return true;	/* short of memory: it isn't known to have gone */
	link[n] = 0;
	return !strncmp(link, mount_point, skip) && !strcmp(link + skip, path);
}

/* An open file's path, if it lies below our mount. */
int cgroup_path_of_open(int fd, char *path, size_t size)
{
	char link[64], full[CGROUP_PATH_MAX];
	size_t skip = strlen(mount_point);
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, full, sizeof(full) - 1);
	if (n < 0)
		return -errno;
	full[n] = 0;
	if (strncmp(full, mount_point, skip) || (full[skip] && full[skip] != '/'))
		return -ENOENT;
	if (strlen(full + skip) + 2 > size)
		return -ENAMETOOLONG;
	strcpy(path, full[skip] ? full + skip : "/");
	return 0;
}

static bool leads_to(const char *path, uint64_t id)
{
	uint64_t found;

	return !cgroup_id_of_path(path, &found) && found == id;
}

/* Without the right to open by id: look at all directories. */
static int walk(char *path, size_t size, uint64_t id, unsigned int *left)
{
	size_t len = strlen(path);
	struct dirent *e;
	int fd, err = -ENOENT;
	DIR *dir;

	fd = openat(root_fd, path[1] ? path + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (err == -ENOENT && *left && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		--*left;
		if (snprintf(path + len, size - len, "%s%s", path[1] ? "/" : "", e->d_name) >=
		    (int)(size - len))
			continue;
		err = e->d_ino == id ? 0 : walk(path, size, id, left);
		if (err)
			path[len] = 0;
	}
	closedir(dir);
	return err;
}

int cgroup_path_of_id(uint64_t id, char *path, size_t size)
{
	_Alignas(struct file_handle) char room[sizeof(struct file_handle) + sizeof(id)];
	struct file_handle *handle = (struct file_handle *)room;
	unsigned int left = WALK_MAX;
	int fd, err;

	if (root_fd < 0)
		return -ENOENT;
	handle->handle_bytes = sizeof(id);
	handle->handle_type = KERNFS_HANDLE_TYPE;
	memcpy(room + sizeof(struct file_handle), &id, sizeof(id));
	fd = open_by_handle_at(root_fd, handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno != EPERM)
		return -ENOENT;
	if (fd >= 0) {
		err = cgroup_path_of_open(fd, path, size);
		close(fd);
		return err ? err : leads_to(path, id) ? 0 : -ENOENT;
	}
	strcpy(path, "/");
	if (leads_to(path, id))
		return 0;
	return walk(path, size, id, &left);
}

/* A directory that a peer has sent: it may come from another mount of the same tree. */
int cgroup_path_of_seen(const struct gs_seen *seen, char *path, size_t size, uint64_t *id)
{
	if (!seen->cgroup || !S_ISDIR(seen->mode))
		return -EBADF;
	*id = seen->ino;
	if (seen->path[0] && strlen(seen->path) < size && leads_to(seen->path, *id)) {
		strcpy(path, seen->path);
		return 0;
	}
	return cgroup_path_of_id(*id, path, size);
}

static bool in_group(const struct peer *p, gid_t gid)
{
	gid_t groups[GROUPS_MAX];
	socklen_t i, len = sizeof(groups);

	if (p->gid == gid)
		return true;
	if (getsockopt(p->source.fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false;
	for (i = 0; i < len / sizeof(gid_t); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

static bool may_write(const struct peer *p, const struct stat *st)
{
	if (p->uid == st->st_uid)
		return st->st_mode & S_IWUSR;
	if (in_group(p, st->st_gid))
		return st->st_mode & S_IWGRP;
	return st->st_mode & S_IWOTH;
}

/* The parent's file which says by its mode who may divide what it has; from the root, without "/". */
static int control_of(const char *path, char *control, size_t size)
{
	const char *slash = strrchr(path, '/');

	if (!path[1] || !slash)
		return -ENOENT;		/* the root has no parent */
	snprintf(control, size, "%.*s%scgroup.subtree_control",
		 (int)(slash == path ? 0 : slash - path - 1), path + 1, slash == path ? "" : "/");
	return 0;
}

/*
 * Looks at all that a command about a share will look at. A porter does, so if
 * that hangs it is the porter who hangs; and then all of it is known to the kernel.
 */
void cgroup_look_ahead(const struct gpushare_share *u, const struct gs_seen *files,
		       unsigned int nr_files)
{
	char path[CGROUP_PATH_MAX], control[CGROUP_PATH_MAX + 32];
	uint64_t id = u->group;
	struct stat st;
	int err;

	if (u->cgroup_fd >= 0 && (unsigned int)u->cgroup_fd < nr_files)
		err = cgroup_path_of_seen(&files[u->cgroup_fd], path, sizeof(path), &id);
	else
		err = u->cgroup_fd >= 0 || id >= GPUSHARE_PART_FIRST ? -ENOENT :
		      cgroup_path_of_id(id, path, sizeof(path));
	if (!err && !control_of(path, control, sizeof(control)))
		fstatat(root_fd, control, &st, 0);
}

/* In a porter: the root of the file system is open as another number from now on. */
int cgroup_root(int fd)
{
	if (root_fd >= 0)
		root_fd = dup2(root_fd, fd);
	return root_fd < 0 ? fd : fd + 1;
}

/*
 * May the peer divide the parent's resources? It may write the parent's
 * cgroup.subtree_control, or has that file open for writing: who brings a proof is
 * judged by that alone. In a container the file's mode says nothing of the first: it
 * may be mounted for reading alone, and there any uid 0 owns all that is root's. Whoever
 * may be in one has to show the second.
 */
int cgroup_authority(const struct peer *p, const char *path, const struct gs_seen *authority)
{
	char control[CGROUP_PATH_MAX + 32];
	struct stat st;

	if (p->admin && !authority)
		return 0;
	if (control_of(path, control, sizeof(control)))
		return -EPERM;
	if (root_fd < 0 || fstatat(root_fd, control, &st, 0))
		return -EPERM;
	if (!authority)
		return !p->outsider && may_write(p, &st) ? 0 : -EPERM;
	if (!authority->cgroup || authority->flags < 0 || authority->flags & O_PATH ||
	    (authority->flags & O_ACCMODE) == O_RDONLY)
		return -EPERM;
	return authority->dev == st.st_dev && authority->ino == st.st_ino ? 0 : -EPERM;
}
