// SPDX-License-Identifier: MIT
/*
 * Who has a GPU's node open, by /proc. The gate is asked when a node is opened and at no
 * other time: who opened it before, or was handed the descriptor, is seen only here. A
 * mapping outlives its descriptor, so mappings are looked at, too.
 *
 * Files are a tenant's, and to look at one may wait for its server (FUSE): what the kernel
 * has of it already is enough, as a device's number never changes (AT_STATX_DONT_SYNC).
 */
#include "gate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOUND_MOST	64	/* nodes of one process */

struct process {
	const struct gs_nodes *nodes;
	struct gs_holder found[FOUND_MOST];
	unsigned int n;
};

static void note(struct process *p, uint32_t major, uint32_t minor, bool mapped)
{
	unsigned int i;

	if (!gs_nodes_has(p->nodes, major, minor))
		return;
	for (i = 0; i < p->n; i++)
		if (p->found[i].major == major && p->found[i].minor == minor) {
			p->found[i].mapped &= mapped;
			return;
		}
	if (p->n < FOUND_MOST)
		p->found[p->n++] = (struct gs_holder){ .major = major, .minor = minor,
						       .mapped = mapped };
}

/* /proc/TASK/fd, or map_files: links to what is open. -errno: it can't be looked into. */
static int look_in(struct process *p, const char *task, const char *folder, bool mapped)
{
	char path[64];
	struct dirent *e;
	struct statx st;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.16s/%s", task, folder);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && !statx(dirfd(dir), e->d_name, AT_STATX_DONT_SYNC,
						  STATX_TYPE, &st) && S_ISCHR(st.stx_mode))
			note(p, st.stx_rdev_major, st.stx_rdev_minor, mapped);
	closedir(dir);
	return 0;
}

static bool have_one(int what, pid_t a, pid_t b)
{
	return !syscall(SYS_kcmp, a, b, what, 0, 0);
}

/*
 * A thread may have descriptors of its own, and be there after the first one, whose files
 * and memory then are none.
 */
static int look_at(struct process *p, const char *pid)
{
	pid_t first = atoi(pid), other;
	char path[64];
	struct dirent *e;
	DIR *dir;
	int rc = look_in(p, pid, "fd", false);

	look_in(p, pid, "map_files", true);
	snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		other = atoi(e->d_name);
		if (!other || other == first)
			continue;
		if (!have_one(KCMP_FILES, first, other))
			look_in(p, e->d_name, "fd", false);
		if (!have_one(KCMP_VM, first, other))
			look_in(p, e->d_name, "map_files", true);
	}
	if (dir)
		closedir(dir);
	return rc;
}

static void describe(const char *pid, struct gs_holder *h)
{
	char path[64], line[128];
	FILE *f;

	h->pid = atoi(pid);
	snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Name: %15[^\n]", h->comm);
		sscanf(line, "Uid: %u", &h->uid);
	}
	if (f)
		fclose(f);
}

int gs_holders_find(const struct gs_nodes *nodes, int (*fn)(const struct gs_holder *h, void *arg),
		    void *arg, unsigned int *hidden)
{
	struct process p = { .nodes = nodes };
	DIR *dir = opendir("/proc");
	struct gs_holder who;
	struct dirent *e;
	unsigned int i;
	int rc = 0;

	*hidden = 0;
	while (dir && !rc && (e = readdir(dir))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		p.n = 0;
		*hidden += look_at(&p, e->d_name) == -EACCES;
		who = (struct gs_holder){ 0 };
		if (p.n)
			describe(e->d_name, &who);
		for (i = 0; !rc && i < p.n; i++) {
			who.major = p.found[i].major;
			who.minor = p.found[i].minor;
			who.mapped = p.found[i].mapped;
			rc = fn(&who, arg);
		}
	}
	if (dir)
		closedir(dir);
	return rc;
}
