// SPDX-License-Identifier: MIT
/*
 * gpusharectl hook: runs what [Hook] sections name, when what they wait for happens.
 *
 * What happens is up to tenants, and may happen without end, to groups of any number. So a
 * hook is run for a group and a device at most once each Every=, and is told how often it has
 * happened since; for all of them so many times at most; of all only so many run at a time,
 * and none for ever. What can't be run yet waits, one of each hook, group and device.
 */
#include "ctl.h"
#include "events.h"
#include "query.h"
#include "target.h"
#include "term.h"
#include "ulib/transport.h"
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_NS		1000000000ull
#define RUN_MOST	8		/* at a time */
#define HOOK_MOST	16		/* of one hook, each Every= */
#define RUN_NS		30000000000ull	/* then it is killed */
#define CASES_MOST	1024
#define HEAR_MOST	1000		/* events at once */

/* What a hook is about: it, a group and a device. */
struct hook_case {
	size_t hook;
	uint64_t group;
	uint32_t device;
	uint64_t count;			/* of what happened since it was run */
	uint64_t ran_ns;		/* when that was, 0: never */
	struct gpushare_event last;
	bool waiting;			/* @last is no event, but a wait */
};

struct run {
	pid_t pid;			/* 0: free */
	uint64_t since_ns;
	size_t hook;
};

struct hooks {
	struct gs_ctl *ctl;
	int argc;
	char **argv;
	struct gs_rules rules;
	uint64_t files;			/* a sum of what they are, by which a change is seen */
	struct gs_events *events;
	uint64_t types, started_ns;
	bool deaf;
	struct hook_case cases[CASES_MOST];
	size_t nr_cases;
	struct run runs[RUN_MOST];
	struct { uint64_t since_ns; unsigned int nr; } started[GS_HOOKS_MOST];
};

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * 0x100000001b3ull;
}

/* What changes when the file does. */
static uint64_t look_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 1;
	return mix(mix(mix(mix(0, st.st_ino), (uint64_t)st.st_size), (uint64_t)st.st_mtim.tv_sec),
		   (uint64_t)st.st_mtim.tv_nsec);
}

static uint64_t see_files(const struct hooks *h)
{
	char path[PATH_MAX];
	const char *dir;
	uint64_t sum = 0;
	struct dirent *e;
	DIR *d;
	size_t i, n;
	int k;

	for (i = 0; !h->argc && (dir = gs_config_dir(i)); i++) {
		d = opendir(dir);
		while (d && (e = readdir(d))) {
			n = strlen(e->d_name);
			if (n < 6 || strcmp(e->d_name + n - 5, ".conf"))
				continue;
			snprintf(path, sizeof(path), "%.3800s/%s", dir, e->d_name);
			sum += look_of(path);
		}
		if (d)
			closedir(d);
	}
	for (k = 0; k < h->argc; k++)
		sum += look_of(h->argv[k]);
	return sum;
}

static void stop_listening(struct hooks *h)
{
	gs_events_close(h->events);
	h->events = NULL;
	gs_leave_arbiter(h->ctl);
	h->started_ns = 0;
	h->deaf = false;
}

/* Those with mistakes, which are said, leave what was so before. */
static void read_files(struct hooks *h)
{
	struct gs_rules rules;
	uint64_t types = 0;
	size_t i;

	h->files = see_files(h);
	if (gs_rules_read(&rules, h->argc, h->argv)) {
		gs_rules_free(&rules);
		return;
	}
	gs_rules_free(&h->rules);
	h->rules = rules;
	h->nr_cases = 0;
	memset(h->started, 0, sizeof(h->started));
	for (i = 0; i < rules.config.nr_hooks; i++)
		types |= rules.config.hooks[i].types;
	if (types != h->types)
		stop_listening(h);
	h->types = types;
}

static bool matches(const struct gs_hook *hook, const char *path, bool cgroup)
{
	unsigned int i;

	for (i = 0; i < hook->nr_match; i++) {
		if (!strncmp(hook->match[i], "name:", 5) ?
		    !cgroup && !fnmatch(hook->match[i] + 5, path, 0) :
		    cgroup && *path == '/' && gs_cgroup_matches(hook->match[i], path))
			return true;
	}
	return !hook->nr_match;
}

/* The group's path; "": nobody knows it. */
static void path_of(struct hooks *h, uint64_t group, char path[264], bool *cgroup)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
				    .group = group };

	*path = 0;
	*cgroup = true;
	if (!group || !h->ctl->arbiter || gs_call(h->ctl, GPUSHARE_SHARE_GET, &s))
		return;
	*cgroup = s.kind != GPUSHARE_GROUP_NAMED;
	snprintf(path, 264, "%.*s", (int)sizeof(s.path), s.path);
}

/* The longest quiet one makes room; NULL: none is. */
static struct hook_case *new_case(struct hooks *h)
{
	struct hook_case *c, *oldest = NULL;

	if (h->nr_cases < CASES_MOST)
		return &h->cases[h->nr_cases++];
	for (c = h->cases; c < h->cases + CASES_MOST; c++)
		if (!c->count && (!oldest || c->ran_ns < oldest->ran_ns))
			oldest = c;
	return oldest;
}

static struct hook_case *case_of(struct hooks *h, size_t hook, uint64_t group, uint32_t device)
{
	struct hook_case *c;

	for (c = h->cases; c < h->cases + h->nr_cases; c++)
		if (c->hook == hook && c->group == group && c->device == device)
			return c;
	c = new_case(h);
	if (c)
		*c = (struct hook_case){ .hook = hook, .group = group, .device = device };
	return c;
}

static void note(struct hooks *h, size_t hook, const struct gpushare_event *e, bool waiting)
{
	struct hook_case *c = case_of(h, hook, e->group, e->device);

	if (!c)
		return;
	c->count++;
	c->last = *e;
	c->waiting = waiting;
}

static void on_event(struct hooks *h, const struct gpushare_event *e)
{
	const struct gs_hook *hooks = h->rules.config.hooks;
	size_t i;

	for (i = 0; i < h->rules.config.nr_hooks; i++)
		if (hooks[i].types & 1ULL << e->type)
			note(h, i, e, false);
}

/* How many wait so long is as it is now, and not since the hook was run. */
static void look_for_waits(struct hooks *h)
{
	const struct gs_hook *hooks = h->rules.config.hooks;
	const struct gpushare_stats *s;
	struct gs_view view;
	bool any = false;
	size_t i, k;

	for (i = 0; i < h->rules.config.nr_hooks; i++)
		any |= hooks[i].waiting;
	if (!any || !h->ctl->arbiter || gs_view_take(h->ctl, &view, GS_VIEW_CLIENTS))
		return;
	for (k = 0; k < h->nr_cases; k++)
		if (h->cases[k].waiting)
			h->cases[k].count = 0;
	for (i = 0; i < h->rules.config.nr_hooks; i++)
		for (k = 0; hooks[i].waiting && k < view.nr_clients; k++) {
			s = &view.clients[k];
			if (!(s->state & GPUSHARE_WAITING) || s->now_ns < s->since_ns ||
			    s->now_ns - s->since_ns < hooks[i].after_us * 1000)
				continue;
			note(h, i, &(struct gpushare_event){
				     .time_ns = s->now_ns, .device = s->device, .group = s->group,
				     .client = s->id, .pid = s->pid,
				     .value = s->now_ns - s->since_ns,
			     }, true);
		}
	gs_view_free(&view);
}

static const char *key_of(struct hooks *h, uint32_t device, struct gpushare_device *d)
{
	*d = (struct gpushare_device){ .size = sizeof(*d), .device = device };
	if (!device || !h->ctl->arbiter || gs_call(h->ctl, GPUSHARE_DEVICE_GET, d))
		*d->key = 0;
	d->key[sizeof(d->key) - 1] = 0;
	return d->key;
}

__attribute__((format(printf, 3, 4)))
static void put_variable(char **list, unsigned int *n, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(&list[*n], format, args) >= 0)
		++*n;
	va_end(args);
}

/* In the child, after fork(). */
static void become(const struct gs_hook *hook, char **environment)
{
	char *argv[GS_HOOK_WORDS];
	unsigned int i;
	sigset_t none;
	int fd;

	for (i = 0; i < hook->nr_words; i++)
		argv[i] = (char *)hook->exec + hook->words[i];
	argv[i] = NULL;
	setpgid(0, 0);
	fd = open("/dev/null", O_RDONLY);
	if (fd > 0)
		dup2(fd, 0);
	/* What it says goes where our own complaints go. */
	dup2(2, 1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(argv[0], argv, environment);
	_exit(errno == ENOENT ? GS_EXIT_RUN_NOT_FOUND : GS_EXIT_RUN_DENIED);
}

static void complain(const struct gs_hook *hook, const char *what, int number)
{
	char where[4200];

	snprintf(where, sizeof(where), "%s:%u", hook->file, hook->line);
	gs_error(0, where, "%s %s %d", hook->exec, what, number);
}

static bool start(struct hooks *h, struct hook_case *c, struct run *run, const char *path,
		  bool cgroup)
{
	const struct gs_hook *hook = &h->rules.config.hooks[c->hook];
	const struct gpushare_event *e = &c->last;
	struct gpushare_device d;
	char *list[16];
	unsigned int n = 0;
	pid_t pid;

	put_variable(list, &n, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	put_variable(list, &n, "GPUSHARE_HOOK_EVENT=%s", c->waiting ? "waiting" :
		     gs_event_name(e->type));
	put_variable(list, &n, "GPUSHARE_HOOK_COUNT=%" PRIu64, c->count);
	put_variable(list, &n, "GPUSHARE_HOOK_GROUP=%s%s", cgroup ? "" : "name:", path);
	put_variable(list, &n, "GPUSHARE_HOOK_GROUP_ID=%" PRIu64, (uint64_t)e->group);
	put_variable(list, &n, "GPUSHARE_HOOK_DEVICE=%s", key_of(h, e->device, &d));
	put_variable(list, &n, "GPUSHARE_HOOK_CLIENT=%" PRIu64, (uint64_t)e->client);
	put_variable(list, &n, "GPUSHARE_HOOK_PID=%d", e->pid);
	put_variable(list, &n, "GPUSHARE_HOOK_VALUE=%" PRIu64, (uint64_t)e->value);
	list[n] = NULL;
	pid = n == 9 ? fork() : -1;
	if (!pid)
		become(hook, list);
	if (pid < 0)
		complain(hook, "can't be started: error", errno);
	while (n)
		free(list[--n]);
	if (pid < 0)
		return false;
	*run = (struct run){ .pid = pid, .since_ns = gs_now(), .hook = c->hook };
	return true;
}

/* May one more of the hook be run? */
static bool has_left(struct hooks *h, size_t hook, uint64_t now)
{
	if (!h->started[hook].nr ||
	    now - h->started[hook].since_ns >= h->rules.config.hooks[hook].every_us * 1000) {
		h->started[hook].since_ns = now;
		h->started[hook].nr = 0;
	}
	return h->started[hook].nr < HOOK_MOST;
}

static bool is_due(struct hooks *h, const struct hook_case *c, uint64_t now)
{
	const struct gs_hook *hook = &h->rules.config.hooks[c->hook];

	return c->count && (!c->ran_ns || now - c->ran_ns >= hook->every_us * 1000) &&
		has_left(h, c->hook, now);
}

static void start_due(struct hooks *h)
{
	struct run *run = h->runs;
	uint64_t started_ns, now = gs_now();
	struct hook_case *c;
	char path[264];
	bool cgroup;

	for (c = h->cases; c < h->cases + h->nr_cases; c++) {
		if (!is_due(h, c, now))
			continue;
		while (run < h->runs + RUN_MOST && run->pid)
			run++;
		if (run == h->runs + RUN_MOST || gs_find_arbiter(h->ctl, &started_ns))
			return;
		path_of(h, c->group, path, &cgroup);
		if (matches(&h->rules.config.hooks[c->hook], path, cgroup)) {
			if (!start(h, c, run, path, cgroup))
				return;
			h->started[c->hook].nr++;
		}
		c->count = 0;
		c->ran_ns = now;
	}
}

/* Files may have been read anew since it was started: then it is nobody's that ends. */
static void reap(struct hooks *h)
{
	const struct gs_hook *hook;
	struct run *r;
	int status;

	for (r = h->runs; r < h->runs + RUN_MOST; r++) {
		if (!r->pid)
			continue;
		hook = r->hook < h->rules.config.nr_hooks ? &h->rules.config.hooks[r->hook] : NULL;
		if (waitpid(r->pid, &status, WNOHANG) == r->pid) {
			if (hook && WIFEXITED(status) && WEXITSTATUS(status))
				complain(hook, "ended with", WEXITSTATUS(status));
			else if (hook && WIFSIGNALED(status))
				complain(hook, "was ended by signal", WTERMSIG(status));
			r->pid = 0;
		} else if (gs_now() - r->since_ns > RUN_NS) {
			kill(-r->pid, SIGKILL);
		}
	}
}

static void listen_to(struct hooks *h)
{
	uint64_t started_ns;

	if (!h->rules.config.nr_hooks || gs_find_arbiter(h->ctl, &started_ns))
		return;
	if (started_ns != h->started_ns) {
		gs_events_close(h->events);
		h->events = NULL;
		h->deaf = false;
		h->nr_cases = 0;	/* ids are another one's */
		h->started_ns = started_ns;
	}
	if (!h->events && !h->deaf && h->types)
		h->deaf = gs_events_open(h->ctl, h->types, &h->events);
}

static void hear(struct hooks *h, int timeout_ms)
{
	struct gpushare_event e;
	unsigned int n;
	int rc = 1;

	if (!h->events) {
		poll(NULL, 0, timeout_ms);
		return;
	}
	for (n = 0; n < HEAR_MOST && rc == 1; n++) {
		rc = gs_events_next(h->events, &e, n ? 0 : timeout_ms);
		if (rc == 1)
			on_event(h, &e);
	}
	if (rc < 0)
		stop_listening(h);
}

static void keep(struct hooks *h)
{
	uint64_t next = 0, now;

	while (!gs_stopped()) {
		now = gs_now();
		if (now >= next) {
			next = now + TICK_NS;
			if (see_files(h) != h->files)
				read_files(h);
			listen_to(h);
			look_for_waits(h);
		}
		reap(h);
		start_due(h);
		/* The module couldn't be unloaded while its node is open. */
		if (h->ctl->arbiter && gs_transport_is_kernel(h->ctl->arbiter))
			gs_leave_arbiter(h->ctl);
		now = gs_now();
		hear(h, next > now ? (int)((next - now) / 1000000) + 1 : 0);
	}
}

static int run_hook(struct gs_ctl *ctl, int argc, char **argv)
{
	struct hooks *h;
	unsigned int i;

	if (argc > GS_FILES_MOST)
		return gs_usage(ctl, "more than %d files", GS_FILES_MOST);
	h = calloc(1, sizeof(*h));
	if (!h)
		return gs_call_error("hook", -ENOMEM);
	h->ctl = ctl;
	h->argc = argc;
	h->argv = argv;
	gs_catch_stop();
	read_files(h);
	keep(h);
	stop_listening(h);
	for (i = 0; i < RUN_MOST; i++)
		if (h->runs[i].pid)
			kill(-h->runs[i].pid, SIGKILL);
	gs_rules_free(&h->rules);
	free(h);
	return 0;
}

const struct gs_command gs_hook_command = {
	.name = "hook", .args = "[FILE...]", .run = run_hook, .operands = "file", .most = -1,
	.summary = "Run what [Hook] sections name when a group overruns, waits for long, ...",
	.details = "Without FILE: those of gpusharectl apply. They are read anew when they change.\n"
	"gpushare-hook.service is that. The sections, and what the programs are told, are in\n"
	"gpushare.conf(5).\n",
};
