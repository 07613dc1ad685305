// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "world.h"

#ifdef __SANITIZE_THREAD__
/* A forked child of ours has threads of its own, which is what some tests are about. */
const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

/*
 * Mapping other pages over those that a thread may be looking at is what these
 * two are for: it sees the old or the new ones.
 */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
	return "race:socket_attach\nrace:gs_pages_ungate\n";
}
#endif

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / SEC), (long)(ns % SEC) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static bool others_sleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool all = true;
	char path[64], state;
	FILE *f;

	ASSERT_TRUE(tasks);
	while ((task = readdir(tasks))) {
		if (task->d_name[0] == '.' || atoi(task->d_name) == gettid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", task->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state != 'S')
			all = false;
		if (f)
			fclose(f);
	}
	closedir(tasks);
	return all;
}

pid_t world_fork(void)
{
	ASSERT_TRUE(WAIT_FOR(others_sleep()));
	return fork();
}

/* Beside this program: build/user/tests/gpushared/x -> build/user/gpushared/gpushared. */
const char *world_daemon(void)
{
	static char path[4200];
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *at, *next;

	self[n < 0 ? 0 : n] = 0;
	for (at = strstr(self, "/tests/"); at && (next = strstr(at + 1, "/tests/")); at = next)
		;
	if (at)
		*at = 0;
	snprintf(path, sizeof(path), "%s/gpushared/gpushared", self);
	return path;
}

static void cgroup_write(const char *dir, const char *file, const char *text)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_GT(write(fd, text, strlen(text)), 0);
	close(fd);
}

/* The module's groups are cgroups: where to make those of this test. */
static void find_cgroups(struct world *w)
{
	char line[600], own[200] = "/", mount[200] = "";
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "0::%199s", own);
	fclose(f);
	f = fopen("/proc/mounts", "re");
	while (f && fgets(line, sizeof(line), f) && !mount[0])
		if (strstr(line, " cgroup2 "))
			sscanf(line, "%*s %199s", mount);
	fclose(f);
	if (!mount[0])
		SKIP("there is no cgroup2 here");
	snprintf(w->groups, sizeof(w->groups), "%s/gpushare-tests", mount);
	snprintf(w->home, sizeof(w->home), "%s%s", mount, own);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)f;
	/* A cgroup's files go with it. */
	if (type == FTW_DP || !strstr(path, "/gpushare-tests"))
		return remove(path);
	return 0;
}

static bool remove_tree(const char *dir)
{
	return !nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) || access(dir, F_OK);
}

void world_make(struct world *w)
{
	const char *tmp = getenv("TMPDIR"), *arbiter = getenv("GPUSHARE_ARBITER");

	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "%s/gpushare-test-XXXXXX", tmp ? tmp : "/tmp");
	ASSERT_TRUE(mkdtemp(w->dir));
	w->module = arbiter && !strcmp(arbiter, GS_DEVICE_NODE);
	snprintf(w->arbiter, sizeof(w->arbiter), "%s/s", w->dir);
	if (w->module)
		strcpy(w->arbiter, arbiter);
	snprintf(w->state, sizeof(w->state), "%s/state", w->dir);
	snprintf(w->pci, sizeof(w->pci), "%s/pci", w->dir);
	ASSERT_EQ(0, mkdir(w->pci, 0700));
	setenv("GPUSHARE_ARBITER", w->arbiter, 1);
	unsetenv("GPUSHARE_GROUP");
	if (w->module) {
		find_cgroups(w);
		/* A test that failed may have left some. */
		ASSERT_TRUE(WAIT_FOR(remove_tree(w->groups)));
		ASSERT_EQ(0, mkdir(w->groups, 0755));
	}
}

void world_join(struct world *w, const char *group)
{
	char dir[400];

	if (!w->module) {
		setenv("GPUSHARE_GROUP", group, 1);
		return;
	}
	snprintf(dir, sizeof(dir), "%s/%s", w->groups, group);
	ASSERT_TRUE(!mkdir(dir, 0755) || errno == EEXIST);
	cgroup_write(dir, "cgroup.procs", "0");
}

static bool is_there(const char *arbiter)
{
	struct gs_transport *a;

	if (gs_transport_open(arbiter, 0, &a))
		return false;
	gs_transport_close(a);
	return true;
}

static void remove_devices(struct world *w)
{
	struct gpushare_device dev;
	uint32_t last = 0;

	for (;;) {
		dev = (struct gpushare_device){
			.size = sizeof(dev), .flags = GPUSHARE_GET_NEXT, .device = last,
		};
		if (world_call(w, GPUSHARE_DEVICE_GET, &dev))
			break;
		last = dev.device;
		if (!strncmp(dev.key, "pci:", 4))
			continue;
		dev = (struct gpushare_device){ .size = sizeof(dev), .device = last };
		ASSERT_EQ(0, world_call(w, GPUSHARE_DEVICE_REMOVE, &dev));
	}
}

static void module_start(struct world *w)
{
	struct gpushare_device cpu = {
		.size = sizeof(cpu), .key = "cpu:0", .kind = GPUSHARE_KIND_CPU,
	};

	remove_devices(w);
	ASSERT_EQ(0, world_call(w, GPUSHARE_DEVICE_ADD, &cpu));
}

const char *world_program;

void world_exec(struct world *w, const char *const *more)
{
	const char *args[32] = {
		world_program ? world_program : world_daemon(), "--foreground", "--socket", w->arbiter, "--state", w->state,
		"--pci", w->pci, "--idle-exit", "0",
	};
	int n = 0;

	while (args[n])
		n++;
	while (more && *more && n < 31)
		args[n++] = *more++;
	w->daemon = fork();
	ASSERT_GE(w->daemon, 0);
	if (!w->daemon) {
		alarm(0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(args[0], (char **)args);
		perror(args[0]);
		_exit(127);
	}
}

void world_start_with(struct world *w, const char *const *more)
{
	world_exec(w, more);
	ASSERT_TRUE(WAIT_FOR(is_there(w->arbiter)));
}

void world_start(struct world *w)
{
	if (w->module)
		module_start(w);
	else
		world_start_with(w, NULL);
}

void world_set_up(struct world *w)
{
	world_make(w);
	world_start(w);
}

void world_stop(struct world *w, int sig)
{
	int status;

	kill(w->daemon, sig);
	ASSERT_EQ(w->daemon, waitpid(w->daemon, &status, 0));
	if (sig != SIGKILL) {
		EXPECT_TRUE(WIFEXITED(status));
		EXPECT_EQ(0, WEXITSTATUS(status));
	}
	w->daemon = 0;
}

void world_remove(struct world *w)
{
	if (w->daemon)
		world_stop(w, SIGTERM);
	if (w->module) {
		remove_devices(w);
		cgroup_write(w->home, "cgroup.procs", "0");
		WAIT_FOR(remove_tree(w->groups));
	}
	remove_tree(w->dir);
}

struct gs_transport *world_connect(struct world *w)
{
	struct gs_transport *a = NULL;

	ASSERT_EQ(0, gs_transport_open(w->arbiter, 0, &a));
	return a;
}

int world_call(struct world *w, unsigned long cmd, void *arg)
{
	struct gs_transport *a = world_connect(w);
	int err = gs_transport_call(a, cmd, arg);

	gs_transport_close(a);
	return err;
}

struct gpushare_device world_device(struct world *w, const char *key)
{
	struct gpushare_device dev = { .size = sizeof(dev) };

	strcpy(dev.key, key);
	EXPECT_EQ(0, world_call(w, GPUSHARE_DEVICE_GET, &dev));
	return dev;
}

void world_be_patient(struct world *w, const char *key)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_LINGER,
		.grace_us = 60000000, .linger_us = 1000000,
	};

	strcpy(dev.key, key);
	ASSERT_EQ(0, world_call(w, GPUSHARE_DEVICE_SET, &dev));
}

struct gpushare *open_one(const char *key)
{
	struct gpushare_options strict = { .size = sizeof(strict), .flags = GPUSHARE_OPEN_STRICT };
	struct gpushare *g = NULL;

	ASSERT_EQ(0, gpushare_open(&g, key, &strict));
	return g;
}

struct gpushare_state state_of(struct gpushare *g)
{
	struct gpushare_state s;

	gpushare_state(g, &s);
	return s;
}

static void tenant_run(struct world *w, const struct tenant *t)
{
	struct gpushare *g;

	prctl(PR_SET_TIMERSLACK, 1UL);
	if (t->uid && (setgid(t->uid) || setuid(t->uid)))
		_exit(3);
	if (t->group)
		world_join(w, t->group);
	if (gpushare_open(&g, t->key ? t->key : "cpu:0", NULL))
		_exit(1);
	while ((!t->end_ns || now_ns() < t->end_ns) &&
	       !(t->stop && __atomic_load_n(t->stop, __ATOMIC_RELAXED))) {
		if (gpushare_begin(g, GPUSHARE_FOREVER))
			_exit(2);
		sleep_ns(t->slice_ns);
		gpushare_progress(g, 1, t->slice_ns);
		gpushare_end(g);
		if (t->pause_ns)
			sleep_ns(t->pause_ns);
	}
	gpushare_close(g);
	_exit(0);
}

pid_t tenant_start(struct world *w, const struct tenant *t)
{
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid) {
		alarm(0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		tenant_run(w, t);
	}
	return pid;
}

int *world_shared(void)
{
	int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(p != MAP_FAILED);
	return p;
}

bool world_many_files(unsigned int n)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_max < n)
		return false;
	if (r.rlim_cur < n)
		r.rlim_cur = n;
	return !setrlimit(RLIMIT_NOFILE, &r);
}

void tenant_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static uint64_t find_client(struct gs_transport *a, pid_t pid)
{
	struct gpushare_stats s = { .size = sizeof(s) };
	uint64_t id = 0;

	for (;;) {
		s = (struct gpushare_stats){
			.size = sizeof(s), .what = GPUSHARE_STATS_CLIENT, .id = id,
			.flags = GPUSHARE_GET_NEXT,
		};
		if (gs_transport_call(a, GPUSHARE_STATS, &s))
			return 0;
		if (s.pid == pid)
			return s.id;
		id = s.id;
	}
}

uint64_t tenant_client(struct world *w, pid_t pid)
{
	struct gs_transport *a = world_connect(w);
	uint64_t id = 0;

	WAIT_FOR((id = find_client(a, pid)));
	gs_transport_close(a);
	return id;
}

uint64_t world_sleeps(struct world *w)
{
	unsigned long long n = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", w->daemon);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	EXPECT_NE(0, n);
	return n;
}

struct gpushare_stats stats_of(struct world *w, uint32_t what, uint64_t id)
{
	struct gpushare_stats s = { .size = sizeof(s), .what = what, .id = id };

	if (what == GPUSHARE_STATS_DEVICE)
		s.device = (uint32_t)id;
	EXPECT_EQ(0, world_call(w, GPUSHARE_STATS, &s));
	return s;
}

int group_set(struct world *w, const char *name, struct gpushare_share *share)
{
	struct gpushare_group g = { .size = sizeof(g) };
	struct gs_transport *a = world_connect(w);
	char dir[400];
	int err = 0;

	share->size = sizeof(*share);
	share->cgroup_fd = -1;
	share->authority_fd = -1;
	if (w->module) {
		snprintf(dir, sizeof(dir), "%s/%s", w->groups, name);
		ASSERT_TRUE(!mkdir(dir, 0755) || errno == EEXIST);
		share->cgroup_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} else {
		strcpy(g.name, name);
		err = gs_transport_call(a, GPUSHARE_GROUP, &g);
		share->group = g.group;
	}
	if (!err)
		err = gs_transport_call(a, GPUSHARE_SHARE_SET, share);
	if (share->cgroup_fd >= 0)
		close(share->cgroup_fd);
	gs_transport_close(a);
	return err;
}

int share_get(struct world *w, uint64_t group, struct gpushare_share *share)
{
	*share = (struct gpushare_share){
		.size = sizeof(*share), .group = group, .cgroup_fd = -1, .authority_fd = -1,
	};
	return world_call(w, GPUSHARE_SHARE_GET, share);
}
