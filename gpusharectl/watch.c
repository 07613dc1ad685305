// SPDX-License-Identifier: MIT
/*
 * Rules are made so when there is something new: a file, a unit, a cgroup, a device, or an
 * arbiter. Files and cgroups are told of by inotify. Once a second it is looked whether
 * the arbiter is still the same and has the same devices. The module's node isn't kept
 * open, or the module couldn't be unloaded; a daemon's connection is, as its end tells
 * that another one follows.
 */
#include "watch.h"
#include "gate.h"
#include "plan.h"
#include "target.h"
#include "ulib/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define TICK_MS		1000
#define SETTLE_MS	20	/* cgroups and files come several at a time */
#define FILE_EVENTS	(IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
#define DIR_EVENTS	(IN_CREATE | IN_MOVED_TO | IN_ONLYDIR)

struct watch {
	struct gs_ctl *ctl;
	int argc;
	char **argv;
	struct gs_rules rules;
	struct gs_units *units;		/* NULL: files were named, and they aren't looked at */
	struct gs_applied applied;
	struct gs_gate_follow *gate;
	bool gated;			/* there is a gate, which needs the arbiter's shares */
	int notify;
	int dirs[GS_CONFIG_DIRS];	/* watched: those of configuration files, -1 if not there */
	int *unit_dirs;			/* those of units, and where such a one may come */
	size_t nr_unit_dirs;
	bool blind;			/* not all cgroups can be watched: they are looked for */
	struct stat node;		/* the arbiter's, by which another is told from it */
	uint64_t devices;		/* a sum of their ids; 0: not known */
};

static int see(struct watch *w, const char *path, uint32_t events)
{
	/* One may be watched for two reasons. */
	int wd = inotify_add_watch(w->notify, path, events | IN_MASK_ADD);

	if (wd >= 0 || errno != ENOSPC || w->blind)
		return wd;
	w->blind = true;
	gs_error(0, path, "can't be watched, sysctl fs.inotify.max_user_watches is reached: it is "
		 "looked for new cgroups once a second");
	return wd;
}

static int see_cgroup(const char *path, void *arg)
{
	char full[2 * PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", gs_cgroup_mount(), path);
	see(arg, full, DIR_EVENTS);
	return 0;
}

/* A path that is named whole may lead through what isn't walked. */
static void see_way_to(struct watch *w, const char *path)
{
	char part[PATH_MAX];
	const char *slash;

	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		see_cgroup(part, w);
	}
}

static void see_cgroups(struct watch *w)
{
	const struct gs_section *s;
	unsigned int m;
	size_t i;

	if (!gs_cgroup_mount())
		return;
	see(w, gs_cgroup_mount(), DIR_EVENTS);
	gs_cgroup_walk(see_cgroup, w);
	for (i = 0; i < w->rules.config.nr; i++) {
		s = &w->rules.config.sections[i];
		for (m = 0; !s->device && m < s->nr_match; m++)
			if (*s->match[m] == '/')
				see_way_to(w, s->match[m]);
	}
}

/* One that isn't there yet comes into its parent. */
static void see_files(struct watch *w)
{
	char parent[PATH_MAX];
	const char *dir;
	size_t i;
	int k;

	for (i = 0; !w->argc && (dir = gs_config_dir(i)); i++) {
		snprintf(parent, sizeof(parent), "%s", dir);
		see(w, dirname(parent), DIR_EVENTS);
		w->dirs[i] = see(w, dir, FILE_EVENTS);
	}
	for (k = 0; k < w->argc; k++) {
		snprintf(parent, sizeof(parent), "%s", w->argv[k]);
		see(w, dirname(parent), FILE_EVENTS);
	}
}

static void see_unit_dir(const char *dir, void *arg)
{
	struct watch *w = arg;
	int wd = see(w, dir, FILE_EVENTS | IN_ONLYDIR), *more;

	if (wd < 0)
		return;
	more = reallocarray(w->unit_dirs, w->nr_unit_dirs + 1, sizeof(*more));
	if (!more)
		return;
	w->unit_dirs = more;
	w->unit_dirs[w->nr_unit_dirs++] = wd;
}

/* A line with a mistake is said, and isn't there. */
static void read_units(struct watch *w)
{
	if (!w->units)
		return;
	w->nr_unit_dirs = 0;
	gs_units_each_dir(w->units, see_unit_dir, w);
	if (gs_units_read(w->units, stderr))
		gs_call_error("units", -ENOMEM);
}

/* Those with mistakes, which are said, leave what was so before. */
static void read_rules(struct watch *w)
{
	struct gs_rules rules;

	see_files(w);
	if (gs_rules_read(&rules, w->argc, w->argv)) {
		gs_rules_free(&rules);
		return;
	}
	gs_rules_free(&w->rules);
	gs_applied_forget(&w->applied);
	w->rules = rules;
	gs_gate_follow_rules(w->ctl, &w->rules.config.gate);
}

static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

/*
 * Is what came or went one of our files, or a directory of them? Their parents see much
 * else, as /etc/resolv.conf, which is no reason to make all rules so anew.
 */
static bool is_file_of_ours(const struct watch *w, const struct inotify_event *e)
{
	size_t length = strlen(e->name);
	const char *dir;
	size_t i;
	int k;

	for (k = 0; k < w->argc; k++)
		if (is_named(w->argv[k], e->name))
			return true;
	if (w->argc)
		return false;
	for (i = 0; (dir = gs_config_dir(i)); i++)
		if (e->wd == w->dirs[i] ? *e->name != '.' && length > 5 &&
					  !strcmp(e->name + length - 5, ".conf") :
		    e->mask & IN_ISDIR && is_named(dir, e->name))
			return true;
	return false;
}

static bool is_unit_dir(const struct watch *w, int wd)
{
	size_t i;

	for (i = 0; i < w->nr_unit_dirs; i++)
		if (w->unit_dirs[i] == wd)
			return true;
	return false;
}

/* What inotify has told: new files are read; true: there is something new. */
static bool take_notes(struct watch *w)
{
	char buffer[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *e;
	bool files = false, units = false, dirs = false;
	ssize_t n, at;

	while ((n = read(w->notify, buffer, sizeof(buffer))) > 0)
		for (at = 0; at < n; at += (ssize_t)sizeof(*e) + e->len) {
			e = (const void *)(buffer + at);
			files |= e->mask & IN_Q_OVERFLOW || (e->len && is_file_of_ours(w, e));
			units |= e->mask & IN_Q_OVERFLOW || is_unit_dir(w, e->wd);
			dirs |= e->mask & (IN_Q_OVERFLOW | IN_ISDIR);
		}
	if (files)
		read_rules(w);
	if (units)
		read_units(w);
	return files || units || dirs;
}

static bool sum_devices(struct watch *w, uint64_t *sum)
{
	struct gpushare_device d = { .size = sizeof(d), .flags = GPUSHARE_GET_NEXT };
	int rc;

	for (*sum = 0xcbf29ce484222325ull; !(rc = gs_call(w->ctl, GPUSHARE_DEVICE_GET, &d)); )
		*sum = (*sum ^ d.device) * 0x100000001b3ull;
	*sum |= 1;
	return rc == -ENOENT;
}

static bool has_rules(const struct watch *w)
{
	return w->rules.config.nr || (w->units && gs_units_any(w->units));
}

/* Looks whether there is an arbiter. True: it is another one, or has other devices. */
static bool look_at_arbiter(struct watch *w)
{
	struct stat node = { .st_ino = 0 };
	uint64_t devices;
	bool other = false;

	if (!has_rules(w) && !w->gated)
		return false;	/* whose socket would start one for nothing */
	if (!w->ctl->arbiter && gs_transport_open(w->ctl->where, 0, &w->ctl->arbiter))
		return false;
	/* A daemon's end is seen by the connection's. */
	if (gs_transport_is_kernel(w->ctl->arbiter))
		stat(gs_transport_path(w->ctl->arbiter), &node);
	if (!sum_devices(w, &devices)) {
		gs_leave_arbiter(w->ctl);
		return false;
	}
	if (!w->devices || node.st_ino != w->node.st_ino ||
	    node.st_ctim.tv_sec != w->node.st_ctim.tv_sec ||
	    node.st_ctim.tv_nsec != w->node.st_ctim.tv_nsec) {
		gs_applied_forget(&w->applied);
		other = true;
	}
	other |= devices != w->devices;
	w->node = node;
	w->devices = devices;
	return other;
}

static void follow(struct watch *w)
{
	if (!w->ctl->arbiter)
		return;
	if (has_rules(w) && gs_plan_follow(w->ctl, &w->rules.config, w->units, &w->applied)) {
		w->devices = 0;
		gs_leave_arbiter(w->ctl);
	}
}

int gs_rules_lock(bool make)
{
	const char *only = getenv("GPUSHARE_CONFIG_DIR");
	char path[PATH_MAX];
	int fd;

	if (make && !only && mkdir(GS_SYSTEM_FOLDER, 0755) && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s/%s", only ? only : GS_SYSTEM_FOLDER,
		 only ? ".rules.lock" : "rules.lock");
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -errno;
}

int gs_watch(struct gs_ctl *ctl, int argc, char **argv)
{
	struct watch w = { .ctl = ctl, .argc = argc, .argv = argv };
	struct pollfd p = { .events = POLLIN };
	bool news = true, had;
	int lock = gs_rules_lock(true);

	if (lock < 0)
		return gs_error(lock == -EWOULDBLOCK ? GS_EXIT_REFUSED : GS_EXIT_PERMISSION, "apply",
				lock == -EWOULDBLOCK ? "another --watch keeps the rules already" :
				"can't keep the rules: %s", strerror(-lock));
	w.notify = p.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (p.fd < 0) {
		close(lock);
		return gs_error(GS_EXIT_FAILURE, "apply", "inotify: %s", strerror(errno));
	}
	w.gate = gs_gate_follow_begin();
	if (!argc)
		w.units = gs_units_new();
	if (!w.gate || (!argc && !w.units)) {
		gs_units_free(w.units);
		if (w.gate)
			gs_gate_follow_end(w.gate);
		close(w.notify);
		close(lock);
		return gs_call_error("apply", -ENOMEM);
	}
	memset(w.dirs, -1, sizeof(w.dirs));
	gs_catch_stop();
	read_rules(&w);
	read_units(&w);
	while (!gs_stopped()) {
		had = ctl->arbiter;
		news |= look_at_arbiter(&w) | w.blind;
		if (had && !ctl->arbiter)
			w.devices = 0;
		if (news)
			see_cgroups(&w);
		if (news)
			follow(&w);
		w.gated = gs_gate_follow_tick(w.gate, ctl, &w.rules.config.gate, news);
		/* The module couldn't be unloaded while its node is open. */
		if (ctl->arbiter && gs_transport_is_kernel(ctl->arbiter))
			gs_leave_arbiter(ctl);
		news = false;
		if (poll(&p, 1, TICK_MS) > 0) {
			poll(NULL, 0, SETTLE_MS);
			news = take_notes(&w);
		}
	}
	close(w.notify);
	close(lock);
	gs_gate_follow_end(w.gate);
	gs_applied_forget(&w.applied);
	gs_rules_free(&w.rules);
	gs_units_free(w.units);
	free(w.unit_dirs);
	return 0;
}
