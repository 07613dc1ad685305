// SPDX-License-Identifier: MIT
/*
 * gpusharectl run: one program with a share of its own.
 *
 * Where we may, it gets a cgroup below ours: then nothing that it does can take
 * it out of its share. Else, with the daemon, a named group: the library takes
 * its name from the environment, which a program could ignore.
 */
#include "ctl.h"
#include "cuda.h"
#include "gate.h"
#include "groups.h"
#include "props.h"
#include "target.h"
#include "term.h"
#include "ulib/transport.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* The first options are properties, in this order. */
static const char *const property_options[] = {
	"weight", "class", "max", "min", "mem.max", "mem.high", "mem.min", "mem.full",
	"mem.wait",
};

enum { OPT_DEVICE = 9, OPT_NAME, OPT_SLICE, OPT_REPORT };

static const struct gs_option options[] = {
	{ "weight", "N", "1..10000, against its siblings", 'w' },
	{ "class", "CLASS", "batch, latency or idle", 0 },
	{ "max", "PCT%", "at most so much of the device's time", 0 },
	{ "min", "PCT%", "at least so much of it", 0 },
	{ "mem", "SIZE", "at most so much of its memory", 'm' },
	{ "mem-high", "SIZE", "above it, memory is moved away first", 0 },
	{ "mem-min", "SIZE", "below it, memory isn't moved away", 0 },
	{ "mem-full", "WAY", "memory that isn't free: fail or wait", 0 },
	{ "mem-wait", "TIME", "how long to wait for it at most", 0 },
	{ "device", "DEV", "for this device only; without it for all", 'd' },
	{ "name", "NAME", "of the new group", 0 },
	{ "slice", "TARGET", "make the cgroup below this one, not below ours", 0 },
	{ "report", NULL, "say at the end what it used", 'r' },
	{ NULL, NULL, NULL, 0 },
};

struct run {
	struct gs_ctl *ctl;
	struct gpushare_share share;
	char name[GPUSHARE_NAME_MAX];
	char dir[2 * PATH_MAX];		/* of the cgroup made, or empty */
	bool named;
	pid_t child;
};

static volatile sig_atomic_t child_pid;

/* From a terminal, the program got the signal itself. */
static void forward(int signal_nr, siginfo_t *info, void *context)
{
	(void)context;
	if (child_pid > 0 && info->si_code <= 0)
		kill(child_pid, signal_nr);
}

static void forward_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
				       SIGALRM };
	struct sigaction sa = { .sa_sigaction = forward, .sa_flags = SA_SIGINFO };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
}

static int take_options(struct run *r, const struct gs_view *view)
{
	const struct gs_prop *prop;
	struct gs_ctl *ctl = r->ctl;
	uint64_t memory = 0;
	char why[256];
	size_t i;
	int rc;

	if (ctl->values[OPT_DEVICE]) {
		rc = gs_device_choose(view, ctl->values[OPT_DEVICE], &r->share.device);
		if (rc)
			return GS_EXIT_RUN_FAILED;
	}
	i = gs_view_device_index(view, r->share.device);
	if (i < view->nr_devices)
		memory = view->devices[i].info.mem_bytes;
	else if (view->nr_devices == 1)
		memory = view->devices[0].info.mem_bytes;
	for (i = 0; i < sizeof(property_options) / sizeof(*property_options); i++) {
		prop = gs_prop_find(gs_share_props, property_options[i]);
		if (!ctl->values[i])
			continue;
		if (gs_share_parse(&r->share, prop, ctl->values[i], memory, why, sizeof(why))) {
			gs_usage(ctl, "%s", why);
			return GS_EXIT_RUN_FAILED;
		}
	}
	r->share.reset = 0;	/* it is new: what is default is default */
	/* What has no share is no group, and what isn't one isn't counted. */
	if (ctl->values[OPT_REPORT] && !r->share.mask) {
		r->share.mask = GPUSHARE_SHARE_WEIGHT;
		r->share.weight = 100;
	}
	if (ctl->values[OPT_NAME] && (!*ctl->values[OPT_NAME] || *ctl->values[OPT_NAME] == '.' ||
	    strlen(ctl->values[OPT_NAME]) >= sizeof(r->name) ||
	    strspn(ctl->values[OPT_NAME], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		   "0123456789._-") != strlen(ctl->values[OPT_NAME]))) {
		gs_usage(ctl, "--name=%s: letters, digits, '.', '_' and '-', up to 63, no '.' first",
			 ctl->values[OPT_NAME]);
		return GS_EXIT_RUN_FAILED;
	}
	if (ctl->values[OPT_NAME])
		strcpy(r->name, ctl->values[OPT_NAME]);
	else
		snprintf(r->name, sizeof(r->name), "gpushare-run-%d", getpid());
	return 0;
}

#define TAKEN "there is such a group already; take another name"

/*
 * A cgroup of a run that was killed stays behind. Ours have a mark, and are
 * locked for as long as we live: one with a mark and without a lock is nobody's,
 * and goes if nothing runs in it.
 */
static void mark(int cgroup_fd)
{
	if (!flock(cgroup_fd, LOCK_EX | LOCK_NB))
		fsetxattr(cgroup_fd, GS_RUN_MARK, "", 0, 0);
}

static void remove_left_over(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *e;
	int fd;

	while (dir && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (fgetxattr(fd, GS_RUN_MARK, NULL, 0) >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Makes the cgroup: 0; 1 if we may not; or an exit status, and said why. */
static int make_cgroup(struct run *r, const struct gs_view *view)
{
	const char *mount = gs_cgroup_mount(), *slice = r->ctl->values[OPT_SLICE];
	struct gs_target target;
	char path[PATH_MAX];
	int rc;

	if (!mount)
		return 1;
	if (slice) {
		rc = gs_target_find(r->ctl, view, slice, 0, &target);
		if (rc || target.cgroup_fd < 0) {
			if (!rc)
				gs_error(0, slice, "no cgroup");
			return GS_EXIT_RUN_FAILED;
		}
		snprintf(path, sizeof(path), "%s", target.path);
		gs_target_close(&target);
	} else if (gs_cgroup_of(0, path, sizeof(path))) {
		return 1;
	}
	snprintf(r->dir, sizeof(r->dir), "%s%s", mount, strcmp(path, "/") ? path : "");
	remove_left_over(r->dir);
	snprintf(r->dir + strlen(r->dir), sizeof(r->dir) - strlen(r->dir), "/%s", r->name);
	if (mkdir(r->dir, 0755)) {
		rc = errno;
		if (rc == EEXIST || slice) {
			gs_error(0, r->name, rc == EEXIST ? TAKEN :
				 "no cgroup could be made there: %s", strerror(rc));
			*r->dir = 0;
			return GS_EXIT_RUN_FAILED;
		}
		*r->dir = 0;
		return 1;
	}
	r->share.cgroup_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->share.cgroup_fd < 0)
		return gs_error(GS_EXIT_RUN_FAILED, r->dir, "%s", strerror(errno));
	mark(r->share.cgroup_fd);
	return 0;
}

/* As a directory would be: one that is in use, or was given a share, isn't ours to take. */
static bool is_taken(struct run *r, uint64_t group)
{
	struct gpushare_share share = {
		.size = sizeof(share), .group = group, .cgroup_fd = -1, .authority_fd = -1,
	};

	return !gs_call(r->ctl, GPUSHARE_SHARE_GET, &share) && (share.clients || share.mask);
}

static int make_named(struct run *r)
{
	struct gpushare_group group = { .size = sizeof(group) };
	int rc;

	strcpy(group.name, r->name);
	rc = gs_call(r->ctl, GPUSHARE_GROUP, &group);
	if (rc == -EOPNOTSUPP)
		gs_error(0, r->name, "no cgroup can be made here, and the module has no other groups; "
			 "use --slice=TARGET with a cgroup that you may write to");
	else if (rc)
		gs_call_error(r->name, rc);
	if (rc)
		return GS_EXIT_RUN_FAILED;
	if (is_taken(r, group.group)) {
		gs_error(0, r->name, TAKEN ", or gpusharectl reset name:%s", r->name);
		return GS_EXIT_RUN_FAILED;
	}
	r->share.group = group.group;
	r->named = true;
	return 0;
}

static int make_group(struct run *r, const struct gs_view *view)
{
	struct stat st;
	int rc = make_cgroup(r, view);

	if (rc == 1)
		rc = make_named(r);
	if (rc)
		return rc;
	if (!r->named && !fstat(r->share.cgroup_fd, &st))
		r->share.group = st.st_ino;
	if (!r->share.mask)
		return 0;
	rc = gs_call(r->ctl, GPUSHARE_SHARE_SET, &r->share);
	if (rc == -EBUSY)
		gs_error(0, r->name, "min=%u.%u%% refused: at most %u.%u%% is free",
			 r->share.min_permille / 10, r->share.min_permille % 10,
			 r->share.min_free / 10, r->share.min_free % 10);
	else if (rc)
		gs_call_error(r->name, rc);
	return rc ? GS_EXIT_RUN_FAILED : 0;
}

static bool is_gated(void)
{
	char path[PATH_MAX];

	return gs_cgroup_mount() && !gs_cgroup_of(0, path, sizeof(path)) &&
		gs_gate_seen(path) == GS_GATE_RUN;
}

/* Where its cgroup is, below the mount. */
static const char *cgroup_of(const struct run *r)
{
	return r->dir + strlen(gs_cgroup_mount());
}

/*
 * A gate, where there is one, is opened for what we start: by us if we may, else by the
 * service that keeps the rules, which finds our cgroup by its share and its mark.
 */
static void pass_gate(struct run *r)
{
	struct timespec pause = { 0, 50000000 };
	unsigned int tries;
	int rc;

	if (!*r->dir) {
		if (is_gated())
			gs_error(0, "gate", "closed to what is started here, as it has no cgroup of its "
				 "own: use --slice=TARGET with one that you may write to");
		return;
	}
	for (tries = 0; tries < 100; tries++) {
		rc = gs_gate_let_run(cgroup_of(r), true);
		if (rc != -EAGAIN)
			break;
		nanosleep(&pause, NULL);
	}
	if (rc)
		gs_error(0, "gate", rc == -EAGAIN ? "still closed to this program: "
			 "gpushare-rules.service opens it for whose group, or one above, an administrator "
			 "gave a share" : "can't be opened for this program: %s", strerror(-rc));
}

/* A share without its group would be in the way of the next one of this name. */
static void remove_group(struct run *r)
{
	struct timespec pause = { 0, 10000000 };
	struct gpushare_share share = r->share;
	unsigned int tries;

	if (share.mask && (r->named || *r->dir)) {
		share.reset = share.mask;
		share.mask = 0;
		gs_call(r->ctl, GPUSHARE_SHARE_SET, &share);
	}
	if (*r->dir)
		gs_gate_let_run(cgroup_of(r), false);
	if (r->share.cgroup_fd >= 0)
		close(r->share.cgroup_fd);
	/* The last process may still be on its way out. */
	for (tries = 0; *r->dir && rmdir(r->dir) && errno == EBUSY; tries++) {
		if (tries == 50) {
			gs_error(0, r->dir, "not removed: processes that it started are still there");
			return;
		}
		nanosleep(&pause, NULL);
	}
}

static void put_in_front(const char *variable, const char *path)
{
	const char *old = getenv(variable);
	char *both = NULL;

	if (!old || !*old)
		setenv(variable, path, 1);
	else if (asprintf(&both, "%s:%s", path, old) > 0)
		setenv(variable, both, 1);
	free(both);
}

/* Wrappers that aren't installed aren't named: a loader would complain. */
static void set_environment(const struct run *r)
{
	char path[2 * PATH_MAX];
	struct gs_cuda cuda;

	setenv("GPUSHARE_ARBITER", gs_transport_path(r->ctl->arbiter), 1);
	/* A group that we were given by name isn't this one. */
	if (*r->dir)
		unsetenv("GPUSHARE_GROUP");
	if (r->named)
		setenv("GPUSHARE_GROUP", r->name, 1);
	if (gs_file_beside(path, sizeof(path), "libgpushare-opencl.so"))
		put_in_front("OPENCL_LAYERS", path);
	if (gs_file_beside(path, sizeof(path), "vulkan/libgpushare-vulkan.so")) {
		*strrchr(path, '/') = 0;
		/* Whoever names all paths has the loader look into no added one. */
		put_in_front(getenv("VK_LAYER_PATH") ? "VK_LAYER_PATH" : "VK_ADD_LAYER_PATH", path);
		put_in_front("VK_INSTANCE_LAYERS", "VK_LAYER_GPUSHARE_gate");
	}
	/*
	 * A program that looks for the driver, finds none and goes on without must find none
	 * here, too. The wrapper itself is asked, as it is the one that will look for it.
	 */
	if (gs_file_beside(path, sizeof(path), "cuda/libcuda.so.1") &&
	    !gs_cuda_look(&cuda, path) && cuda.driver) {
		*strrchr(path, '/') = 0;
		put_in_front("LD_LIBRARY_PATH", path);
	}
}

static int move_to(const char *dir, pid_t pid)
{
	char name[2 * PATH_MAX + 16], text[16];
	int fd, n, rc;

	snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = snprintf(text, sizeof(text), "%d", pid);
	rc = write(fd, text, n) == n ? 0 : -errno;
	close(fd);
	return rc;
}

/* The child waits on @gate until it is where it belongs. */
static void be_child(const struct run *r, int gate, char **argv)
{
	char go;

	if (read(gate, &go, 1) != 1)
		_exit(GS_EXIT_RUN_FAILED);
	close(gate);
	set_environment(r);
	execvp(argv[0], argv);
	go = errno == ENOENT ? GS_EXIT_RUN_NOT_FOUND : GS_EXIT_RUN_DENIED;
	gs_error(0, argv[0], "can't be run: %s", strerror(errno));
	fflush(NULL);
	_exit(go);
}

static int start(struct run *r, char **argv)
{
	sigset_t all, old;
	int gate[2], rc = 0;

	if (pipe2(gate, O_CLOEXEC))
		return gs_error(GS_EXIT_RUN_FAILED, "run", "%s", strerror(errno));
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);	/* so that none comes in between */
	r->child = fork();
	if (!r->child) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		close(gate[1]);
		be_child(r, gate[0], argv);
	}
	close(gate[0]);
	if (r->child < 0) {
		rc = gs_error(GS_EXIT_RUN_FAILED, "run", "%s", strerror(errno));
	} else {
		child_pid = r->child;
		forward_signals();
		if (*r->dir)
			rc = move_to(r->dir, r->child);
		if (rc)
			rc = gs_error(GS_EXIT_RUN_FAILED, r->dir, "the program can't be put there: %s",
				      strerror(-rc));
		else if (write(gate[1], "", 1) != 1)
			rc = GS_EXIT_RUN_FAILED;
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(gate[1]);		/* if it wasn't let go, it ends now */
	return rc;
}

static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return GS_EXIT_RUN_FAILED;
	child_pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What the group used, as time(1) would say it; to stderr, which isn't data. */
static void report(struct run *r, uint64_t began)
{
	char used[GS_AMOUNT], waited[GS_AMOUNT], peak[GS_AMOUNT], took[GS_AMOUNT];
	struct gpushare_stats s;
	struct gs_view view;
	size_t i;

	if (gs_view_take(r->ctl, &view, 0))
		return;
	gs_time(took, gs_now() - began);
	for (i = 0; i < view.nr_devices; i++) {
		s = (struct gpushare_stats){ .size = sizeof(s), .what = GPUSHARE_STATS_GROUP,
					     .id = r->share.group,
					     .device = view.devices[i].info.device };
		if (gs_call(r->ctl, GPUSHARE_STATS, &s) || !s.grants)
			continue;
		fprintf(stderr, "%s on %s: held %s (%u.%u%% of %s), waited %s, %llu grants, "
			"%llu asked back, memory peak %s\n", r->name, view.devices[i].info.key,
			gs_time(used, s.usage_ns), gs_ratio(s.usage_ns, gs_now() - began) / 10,
			gs_ratio(s.usage_ns, gs_now() - began) % 10, took,
			gs_time(waited, s.wait_ns), (unsigned long long)s.grants,
			(unsigned long long)s.preempts, gs_bytes(peak, s.mem_peak));
	}
	gs_view_free(&view);
}

static int run_run(struct gs_ctl *ctl, int argc, char **argv)
{
	struct run r = { .ctl = ctl };
	uint64_t began = gs_now();
	struct gs_view view;
	int rc;

	(void)argc;
	r.share = (struct gpushare_share){ .size = sizeof(r.share), .cgroup_fd = -1,
					   .authority_fd = -1 };
	ctl->may_start = true;	/* as the program's own library would */
	rc = gs_view_take(ctl, &view, GS_VIEW_GROUPS);
	if (rc)
		return GS_EXIT_RUN_FAILED;
	rc = take_options(&r, &view);
	/* Without a wish, its group is ours; a gate may want one of its own, with a share. */
	if (!rc && is_gated() && !r.share.mask) {
		r.share.mask = GPUSHARE_SHARE_WEIGHT;
		r.share.weight = 100;
	}
	if (!rc && (r.share.mask || ctl->values[OPT_NAME] || ctl->values[OPT_REPORT]))
		rc = make_group(&r, &view);
	gs_view_free(&view);
	if (!rc)
		pass_gate(&r);
	if (!rc)
		rc = start(&r, argv);
	if (r.child > 0)
		rc = rc ? (wait_for(r.child), rc) : wait_for(r.child);
	if (r.child > 0 && ctl->values[OPT_REPORT] && r.share.group)
		report(&r, began);
	remove_group(&r);
	return rc;
}

const struct gs_command gs_run_command = {
	.name = "run", .args = "[--] PROGRAM [ARGUMENT...]", .options = options, .run = run_run,
	.operands = "command", .stop_at_operand = true, .least = 1, .most = -1,
	.summary = "Run a program with a share of its own",
	.details = "It gets a cgroup below the present one where that may be made, else a named\n"
	"group of the daemon, for as long as it runs. Signals are passed on to it. With\n"
	"--report and nothing set, the group has the default weight. Where no arbiter runs,\n"
	"the user's own daemon is started, which ends when it isn't used any more.\n\n"
	"The exit status is the program's; 128+N if signal N ended it; 125 if gpusharectl\n"
	"failed, 126 if the program can't be run, 127 if it isn't there.\n",
};
