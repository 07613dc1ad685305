// SPDX-License-Identifier: MIT
/*
 * gpusharectl status --transforms: how the clients' kernels were launched, as
 * the wrappers in them count it. ulib/launches.h says where that lies.
 */
#include "ulib/launches.h"
#include "ctl.h"
#include "query.h"
#include "term.h"
#include "transforms.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct process {
	int pid;
	const char *comm;
	ino_t inode;
	uint64_t others;
	struct gs_launches *of;
	size_t n;
};

static bool take_head(int fd, uint64_t *others)
{
	struct gs_launches_head head;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || head.magic != GS_LAUNCHES_MAGIC ||
	    head.version != GS_LAUNCHES_VERSION)
		return false;
	*others = head.others;
	return true;
}

/* The other process's words: they get their ends, and nothing else is believed. */
static int take_records(int fd, struct process *p)
{
	struct gs_launches l, *more;
	size_t i;

	p->of = calloc(GS_LAUNCHES_MAX, sizeof(*p->of));
	if (!p->of)
		return -ENOMEM;
	for (i = 1; i <= GS_LAUNCHES_MAX; i++) {
		if (pread(fd, &l, sizeof(l), i * sizeof(l)) != sizeof(l))
			break;
		if (!l.used)
			continue;
		l.kernel[sizeof(l.kernel) - 1] = 0;
		l.way[sizeof(l.way) - 1] = 0;
		l.why[sizeof(l.why) - 1] = 0;
		p->of[p->n++] = l;
	}
	more = reallocarray(p->of, p->n + 1, sizeof(*p->of));	/* there may be many processes */
	p->of = more ? more : p->of;
	return 0;
}

static bool is_wanted(int dir, const char *name)
{
	static const char wanted[] = "/memfd:" GS_LAUNCHES_NAME " (deleted)";
	char link[sizeof(wanted)];

	return readlinkat(dir, name, link, sizeof(link)) == sizeof(wanted) - 1 &&
		!memcmp(link, wanted, sizeof(wanted) - 1);
}

/* What the kernel's own file system is, in which all memory files lie. */
static bool memory_device(struct statx *st)
{
	int fd = memfd_create("gpusharectl", MFD_CLOEXEC);
	int rc = fd < 0 ? -1 : statx(fd, "", AT_EMPTY_PATH, 0, st);

	if (fd >= 0)
		close(fd);
	return !rc;
}

/*
 * The process may put another file in its place at any moment, one of a device
 * or of a file system of its own, which would act on being opened or read, with
 * our rights: so it is taken hold of without being opened, and looked at, in a
 * way that asks nobody, before it is.
 */
static int open_memory(int dir, const char *name)
{
	struct statx st, memory;
	char path[64];
	int held, fd;

	held = openat(dir, name, O_PATH | O_CLOEXEC);
	if (held < 0)
		return -errno;
	if (memory_device(&memory) &&
	    !statx(held, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) &&
	    S_ISREG(st.stx_mode) && st.stx_dev_major == memory.stx_dev_major &&
	    st.stx_dev_minor == memory.stx_dev_minor) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	} else {
		fd = -ENOENT;
	}
	close(held);
	return fd;
}

static int take_file(int dir, const char *name, struct process *p)
{
	struct stat st;
	int fd, rc = -ENOENT;

	if (!is_wanted(dir, name))
		return -ENOENT;
	fd = open_memory(dir, name);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && take_head(fd, &p->others)) {
		p->inode = st.st_ino;
		rc = take_records(fd, p);
	}
	close(fd);
	return rc;
}

/* 0: read, or it has nothing to tell; -EACCES: it isn't for us. */
static int take_process(struct process *p)
{
	struct dirent *entry;
	char path[64];
	int rc = -ENOENT;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", p->pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (rc == -ENOENT && (entry = readdir(dir)))
		rc = take_file(dirfd(dir), entry->d_name, p);
	closedir(dir);
	return rc == -ENOENT ? 0 : rc;
}

static int by_count(const void *a, const void *b)
{
	const struct gs_launches *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count) - (x->count > y->count) :
		strcmp(x->kernel, y->kernel);
}

/* A forked child has its parent's file until it counts itself: shown once. */
static bool is_new(const struct process *all, size_t n, const struct process *p)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (all[i].pid == p->pid || (p->n && all[i].n && all[i].inode == p->inode))
			return false;
	return true;
}

static size_t take_all(const struct gs_view *view, struct process *all, size_t *unread)
{
	struct process p;
	size_t i, n = 0;
	int rc;

	*unread = 0;
	for (i = 0; i < view->nr_clients; i++) {
		p = (struct process){ .pid = view->clients[i].pid, .comm = view->clients[i].comm };
		if (p.pid <= 0 || !is_new(all, n, &p))
			continue;
		rc = take_process(&p);
		*unread += rc == -EACCES || rc == -EPERM;
		if (rc || !is_new(all, n, &p)) {
			free(p.of);
			continue;
		}
		if (p.n)
			qsort(p.of, p.n, sizeof(*p.of), by_count);
		all[n++] = p;
	}
	return n;
}

static void show_text(struct gs_ctl *ctl, const struct process *all, size_t n, size_t unread)
{
	static const char *const heads[] = { "KERNEL", ">PID", "COMMAND", "WAY", ">LAUNCHES",
					     "WHY" };
	const struct gs_launches *l;
	struct gs_table t;
	size_t i, k, rows = 0;

	gs_table_begin(&t, heads, 6);
	for (i = 0; i < n; i++) {
		for (k = 0; k < all[i].n; k++, rows++) {
			l = &all[i].of[k];
			gs_table_cell(&t, "%s", l->kernel);
			gs_table_cell(&t, "%d", all[i].pid);
			gs_table_cell(&t, "%s", all[i].comm);
			gs_table_cell(&t, "%s", l->way);
			gs_table_cell(&t, "%llu", (unsigned long long)l->count);
			gs_table_cell(&t, "%s", l->why);
		}
	}
	if (rows)
		gs_table_end(&t, ctl->colour);
	else
		puts("no client's wrapper has counted a launch yet");
	for (i = 0; i < n; i++)
		if (all[i].others)
			printf("and %llu launches of other kernels in %d\n",
			       (unsigned long long)all[i].others, all[i].pid);
	if (unread)
		printf("%zu client%s of other users can't be looked into\n", unread,
		       unread == 1 ? "" : "s");
}

static void show_json(struct gs_ctl *ctl, const struct process *all, size_t n, size_t unread)
{
	const struct gs_launches *l;
	struct gs_json j;
	size_t i, k;

	gs_answer_begin(&j, ctl, "transforms");
	gs_json_unsigned(&j, "unread", unread);
	gs_json_array(&j, "processes");
	for (i = 0; i < n; i++) {
		gs_json_object(&j, NULL);
		gs_json_signed(&j, "pid", all[i].pid);
		gs_json_string(&j, "comm", all[i].comm);
		gs_json_unsigned(&j, "others", all[i].others);
		gs_json_array(&j, "launches");
		for (k = 0; k < all[i].n; k++) {
			l = &all[i].of[k];
			gs_json_object(&j, NULL);
			gs_json_string(&j, "kernel", l->kernel);
			gs_json_string(&j, "way", l->way);
			gs_json_string(&j, "why", l->why);
			gs_json_unsigned(&j, "count", l->count);
			gs_json_end(&j);
		}
		gs_json_end(&j);
		gs_json_end(&j);
	}
	gs_json_end(&j);
	gs_json_end(&j);
}

int gs_transforms_show(struct gs_ctl *ctl)
{
	struct gs_view view;
	struct process *all;
	size_t n, i, unread;
	int rc;

	rc = gs_view_take(ctl, &view, GS_VIEW_CLIENTS);
	if (rc)
		return rc;
	all = calloc(view.nr_clients + 1, sizeof(*all));
	if (!all) {
		gs_view_free(&view);
		return gs_call_error("status", -ENOMEM);
	}
	n = take_all(&view, all, &unread);
	if (ctl->json)
		show_json(ctl, all, n, unread);
	else
		show_text(ctl, all, n, unread);
	for (i = 0; i < n; i++)
		free(all[i].of);
	free(all);
	gs_view_free(&view);
	return 0;
}
