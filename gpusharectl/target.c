// SPDX-License-Identifier: MIT
#include "target.h"
#include "amount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK_DEPTH	32
#define WALK_MOST	100000

const char *gs_cgroup_mount(void)
{
	static char mount[PATH_MAX];
	char line[PATH_MAX + 512], root[256], at[PATH_MAX];
	const char *rest;
	FILE *f;

	if (*mount)
		return mount;
	f = fopen("/proc/self/mountinfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		rest = strstr(line, " - cgroup2 ");
		if (rest && sscanf(line, "%*s %*s %*s %255s %4095s", root, at) == 2) {
			strcpy(mount, at);
			break;
		}
	}
	if (f)
		fclose(f);
	return *mount ? mount : NULL;
}

int gs_cgroup_of(int pid, char *path, size_t size)
{
	char name[64], line[2 * PATH_MAX];	/* whole: a v1 path may end in "0::/" */
	int rc = -ENODATA;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	f = fopen(pid ? name : "/proc/self/cgroup", "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "0::", 3))
			continue;
		rc = strlen(line + 3) < size ? 0 : -ENAMETOOLONG;
		if (!rc)
			strcpy(path, line + 3);
		break;
	}
	fclose(f);
	return rc;
}

bool gs_cgroup_matches(const char *pattern, const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	if (!strncmp(pattern, "unit:", 5))
		return !fnmatch(pattern + 5, name, 0);
	if (!strncmp(pattern, "job:", 4))
		return !strncmp(name, "job_", 4) && !fnmatch(pattern + 4, name + 4, 0);
	return !fnmatch(pattern, path, FNM_PATHNAME);
}

struct walk {
	int (*fn)(const char *path, void *arg);
	void *arg;
	char path[PATH_MAX];
	unsigned int seen;
};

/* Below what others own, they chose the names. */
static bool names_are_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (!st.st_uid || st.st_uid == geteuid()) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int walk_in(struct walk *w, int dir_fd, unsigned int depth)
{
	size_t length = strlen(w->path);
	struct dirent *e;
	int fd, rc = 0;
	DIR *dir = fdopendir(dir_fd);

	if (!dir) {
		close(dir_fd);
		return 0;
	}
	while (!rc && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
		    length + strlen(e->d_name) + 2 > sizeof(w->path))
			continue;
		fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		sprintf(w->path + length, "/%s", e->d_name);
		rc = ++w->seen < WALK_MOST ? w->fn(w->path, w->arg) : -E2BIG;
		if (!rc && depth < WALK_DEPTH && names_are_ours(fd))
			rc = walk_in(w, fd, depth + 1);
		else
			close(fd);
		w->path[length] = 0;
	}
	closedir(dir);
	return rc;
}

int gs_cgroup_walk(int (*fn)(const char *path, void *arg), void *arg)
{
	struct walk w = { .fn = fn, .arg = arg };
	const char *mount = gs_cgroup_mount();
	int fd;

	if (!mount)
		return 0;
	fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? 0 : walk_in(&w, fd, 0);
}

/* What a name in the tree must look like, and the first two that do. */
struct search {
	char word[256];
	bool prefix;		/* begins so, after "libpod-", "docker-", ... */
	char step[64];		/* below it, or empty */
	char found[PATH_MAX], other[PATH_MAX];
};

static bool name_matches(const struct search *s, const char *name)
{
	static const char *const runtimes[] = { "libpod-", "docker-", "cri-containerd-", "crio-" };
	size_t i, length;

	if (!s->prefix)
		return !strcmp(name, s->word);
	for (i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		length = strlen(runtimes[i]);
		if (!strncmp(name, runtimes[i], length) &&
		    !strncmp(name + length, s->word, strlen(s->word)))
			return true;
	}
	/* Without systemd the directory is the bare id. */
	return strlen(name) == 64 && !strncmp(name, s->word, strlen(s->word));
}

static int search_step(const char *path, void *arg)
{
	struct search *s = arg;
	const char *name = strrchr(path, '/') + 1;
	const char *parent;
	char above[PATH_MAX];

	if (*s->step) {
		if (strcmp(name, s->step))
			return 0;
		strcpy(above, path);
		above[name - path - 1] = 0;
		parent = strrchr(above, '/');
		if (!parent || !name_matches(s, parent + 1))
			return 0;
	} else if (!name_matches(s, name)) {
		return 0;
	}
	if (*s->found) {
		strcpy(s->other, path);
		return 1;
	}
	strcpy(s->found, path);
	return 0;
}

static int search(const char *text, struct search *s, char *path, size_t size)
{
	int rc = gs_cgroup_walk(search_step, s);

	if (*s->other)
		return gs_error(GS_EXIT_NOT_FOUND, text, "is it %s or %s? Give the path", s->found,
				s->other);
	/* There may be another one among those not looked at. */
	if (rc == -E2BIG)
		return gs_error(GS_EXIT_FAILURE, text, "too many cgroups to search; give the path");
	snprintf(path, size, "%s", s->found);
	return 0;
}

bool gs_is_unit(const char *text)
{
	static const char *const suffixes[] = { ".slice", ".service", ".scope" };
	size_t i, length = strlen(text), n;

	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		n = strlen(suffixes[i]);
		if (length > n && !strcmp(text + length - n, suffixes[i]))
			return true;
	}
	return false;
}

/* Where systemd has a user's sessions. */
static int user_slice(const struct gs_ctl *ctl, const char *text, char *path, size_t size)
{
	const struct passwd *user;
	uint64_t uid;

	if (gs_parse_unsigned(text + 5, UINT32_MAX, &uid)) {
		user = getpwnam(text + 5);
		if (!user)
			return gs_usage(ctl, "%s: no such user", text);
		uid = user->pw_uid;
	}
	snprintf(path, size, "/user.slice/user-%llu.slice", (unsigned long long)uid);
	return 0;
}

/* The path that @text speaks of; empty: there is none. */
static int find_path(const struct gs_ctl *ctl, const char *text, char *path, size_t size)
{
	struct search s = { .prefix = false };
	const char *dot;
	uint64_t pid = 0;
	int rc;

	*path = 0;
	if (*text == '/') {
		snprintf(path, size, "%s", text);
		while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
			path[strlen(path) - 1] = 0;
		return 0;
	}
	if (!strcmp(text, "self") || !strncmp(text, "pid:", 4)) {
		if (*text == 'p' && (gs_parse_unsigned(text + 4, INT_MAX, &pid) || !pid))
			return gs_usage(ctl, "%s: not a process id", text);
		rc = gs_cgroup_of(pid, path, size);
		return !rc ? 0 : gs_error(GS_EXIT_NOT_FOUND, text, rc == -ESRCH ? "no such process" :
					  "it has no cgroup v2; mount one, or use name:NAME");
	}
	if (!strncmp(text, "user:", 5))
		return user_slice(ctl, text, path, size);
	if (!strncmp(text, "job:", 4)) {
		dot = strchr(text, '.');
		snprintf(s.word, sizeof(s.word), "job_%.*s",
			 dot ? (int)(dot - text - 4) : 200, text + 4);
		if (dot)
			snprintf(s.step, sizeof(s.step), "step_%.50s", dot + 1);
		return search(text, &s, path, size);
	}
	if (!strncmp(text, "ctr:", 4) || gs_is_unit(text)) {
		s.prefix = *text == 'c' && text[3] == ':';
		snprintf(s.word, sizeof(s.word), "%.250s", s.prefix ? text + 4 : text);
		if (!*s.word)
			return gs_usage(ctl, "%s: which container?", text);
		return search(text, &s, path, size);
	}
	return gs_usage(ctl, "%s: not a target; it is a /path, a unit, user:NAME, self, pid:N, job:ID, ctr:ID, "
			"name:NAME or id:N", text);
}

/* Of the tree, and by the name that it has there. */
static bool is_straight(const char *path)
{
	size_t length = strlen(path);

	return !strstr(path, "/../") && (length < 3 || strcmp(path + length - 3, "/.."));
}

static const struct gs_group_view *by_path(const struct gs_view *view, const char *path)
{
	size_t i;

	for (i = 0; i < view->nr_groups; i++)
		if (!strcmp(view->groups[i].all.path, path))
			return &view->groups[i];
	return NULL;
}

/* The group of that path, or the nearest above it. */
static const struct gs_group_view *nearest(const struct gs_view *view, const char *path)
{
	const struct gs_group_view *g;
	char part[PATH_MAX];
	char *slash;

	snprintf(part, sizeof(part), "%s", path);
	for (;;) {
		g = by_path(view, *part ? part : "/");
		slash = strrchr(part, '/');
		if (g || !slash || !*part)
			return g;
		*slash = 0;
	}
}

static void take(struct gs_target *target, const struct gs_group_view *g)
{
	target->group = g->all.group;
	snprintf(target->path, sizeof(target->path), "%s", g->all.path);
}

int gs_target_make(struct gs_ctl *ctl, const char *name, uint64_t *group)
{
	struct gpushare_group g = { .size = sizeof(g) };
	int rc;

	snprintf(g.name, sizeof(g.name), "%s", name);
	rc = gs_call(ctl, GPUSHARE_GROUP, &g);
	*group = g.group;
	return rc;
}

static int by_name(struct gs_ctl *ctl, const struct gs_view *view, const char *text,
		   unsigned int flags, struct gs_target *target)
{
	const char *name = text + 5;
	size_t i;
	int rc;

	if (!*name || strlen(name) >= sizeof(target->name) ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
	    strlen(name))
		return gs_usage(ctl, "%s: a name is of letters, digits, '.', '_' and '-', up to 63",
				text);
	for (i = 0; i < view->nr_groups; i++) {
		/* A named group's path is its name; a cgroup's begins with '/'. */
		if (!strcmp(view->groups[i].all.path, name)) {
			take(target, &view->groups[i]);
			return 0;
		}
	}
	if (flags & GS_TARGET_KNOWN)
		return flags & GS_TARGET_QUIET ? GS_EXIT_NOT_FOUND :
			gs_error(GS_EXIT_NOT_FOUND, text, "no such group");
	snprintf(target->path, sizeof(target->path), "%s", text);
	strcpy(target->name, name);
	if (flags & GS_TARGET_LATER)
		return 0;
	rc = gs_target_make(ctl, name, &target->group);
	if (rc == -EOPNOTSUPP)
		return gs_error(GS_EXIT_FAILURE, text, "the module has no named groups; use a "
				"cgroup");
	return rc ? gs_call_error(text, rc) : 0;
}

static int by_id(const struct gs_ctl *ctl, const struct gs_view *view, const char *text,
		 struct gs_target *target)
{
	const struct gs_group_view *g;
	uint64_t id;

	if (gs_parse_unsigned(text + 3, UINT64_MAX, &id) || !id)
		return gs_usage(ctl, "%s: not a group's id", text);
	g = gs_view_group(view, id);
	if (!g)
		return gs_error(GS_EXIT_NOT_FOUND, text, "no group has this id; gpusharectl -j list "
				"shows them");
	take(target, g);
	return 0;
}

int gs_target_find(struct gs_ctl *ctl, const struct gs_view *view, const char *text,
		   unsigned int flags, struct gs_target *target)
{
	bool process = !strcmp(text, "self") || !strncmp(text, "pid:", 4);
	const struct gs_group_view *g;
	const char *mount = gs_cgroup_mount();
	char path[PATH_MAX], full[2 * PATH_MAX];
	struct stat st;
	int rc;

	*target = (struct gs_target){ .cgroup_fd = -1 };
	if (!strncmp(text, "name:", 5))
		return by_name(ctl, view, text, flags, target);
	if (!strncmp(text, "id:", 3))
		return by_id(ctl, view, text, target);
	rc = find_path(ctl, text, path, sizeof(path));
	if (rc)
		return rc;
	g = !*path ? NULL : process && (flags & GS_TARGET_KNOWN) ? nearest(view, path) :
		by_path(view, path);
	if (g)
		take(target, g);
	if (flags & GS_TARGET_KNOWN) {
		if (g)
			return 0;
		return flags & GS_TARGET_QUIET ? GS_EXIT_NOT_FOUND :
			gs_error(GS_EXIT_NOT_FOUND, text, "no such group; gpusharectl list shows "
				 "them");
	}
	snprintf(full, sizeof(full), "%s%s", mount ? mount : "", path);
	if (mount && *path && is_straight(path))
		target->cgroup_fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->cgroup_fd >= 0 && !fstat(target->cgroup_fd, &st)) {
		target->group = st.st_ino;
		snprintf(target->path, sizeof(target->path), "%s", path);
		return 0;
	}
	if (g || (flags & GS_TARGET_QUIET))
		return g ? 0 : GS_EXIT_NOT_FOUND;
	return gs_error(GS_EXIT_NOT_FOUND, text, mount ? "no such cgroup; gpusharectl set --keep "
			"gives a share when it comes" : "no such cgroup: no cgroup v2 is mounted; use "
			"name:NAME");
}

void gs_target_close(struct gs_target *target)
{
	if (target->cgroup_fd >= 0)
		close(target->cgroup_fd);
	target->cgroup_fd = -1;
}
