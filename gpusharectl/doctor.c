// SPDX-License-Identifier: MIT
/* gpusharectl doctor: what is missing on this machine, and what to do about it. */
#include "amount.h"
#include "ulib/transport.h"
#include "ctl.h"
#include "cuda.h"
#include "driver.h"
#include "gate.h"
#include "props.h"
#include "query.h"
#include "target.h"
#include "units.h"
#include "watch.h"
#include "term.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { OPT_STRICT };

static const struct gs_option options[] = {
	{ "strict", NULL, "a warning counts as a failure", 0 },
	{ NULL, NULL, NULL, 0 },
};

enum level { OK, WARN, FAIL };

struct doctor {
	struct gs_ctl *ctl;
	struct gs_view view;
	bool arbiter;
	struct gs_json j;
	unsigned int counts[3];
};

/* A finding, and the way out; @remedy is NULL if all is well. */
__attribute__((format(printf, 5, 6)))
static void find(struct doctor *d, enum level level, const char *check, const char *remedy,
		 const char *format, ...)
{
	static const char *const names[] = { "ok", "WARN", "FAIL" };
	static const char *const colours[] = { "\033[32m", "\033[33m", "\033[31m" };
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	d->counts[level]++;
	if (d->ctl->json) {
		gs_json_object(&d->j, NULL);
		gs_json_string(&d->j, "level", names[level]);
		gs_json_string(&d->j, "check", check);
		gs_json_string(&d->j, "text", text);
		if (remedy)
			gs_json_string(&d->j, "remedy", remedy);
		else
			gs_json_null(&d->j, "remedy");
		gs_json_end(&d->j);
		return;
	}
	if (d->ctl->quiet && level == OK)
		return;
	printf(" %s%-5s%s %-10s ", d->ctl->colour ? colours[level] : "", names[level],
	       d->ctl->colour ? "\033[0m" : "", check);
	gs_print_safe(stdout, text);
	if (remedy)
		printf("\n%18s-> %s", "", remedy);
	putchar('\n');
}

static bool read_line(const char *name, char *line, size_t size)
{
	FILE *f = fopen(name, "re");
	bool good = f && fgets(line, size, f);

	if (f)
		fclose(f);
	if (good)
		line[strcspn(line, "\n")] = 0;
	return good;
}

static void check_module(struct doctor *d)
{
	char line[256], path[PATH_MAX];
	struct utsname u;
	bool loaded;

	uname(&u);
	loaded = !access("/sys/module/gpushare", F_OK);
	if (loaded) {
		if (access(GS_DEVICE_NODE, F_OK))
			find(d, FAIL, "module", "check that devtmpfs is mounted, or that the container "
			     "was given the device", "loaded, but there is no " GS_DEVICE_NODE);
		else if (access(GS_DEVICE_NODE, R_OK | W_OK))
			find(d, FAIL, "module", "be in the node's group (render), see "
			     "udev/60-gpushare.rules", "loaded, but " GS_DEVICE_NODE " isn't for "
			     "this user");
		else
			find(d, OK, "module", NULL, "loaded, " GS_DEVICE_NODE " can be used");
		return;
	}
	snprintf(path, sizeof(path), "/lib/modules/%s/updates/dkms/gpushare.ko", u.release);
	if (access(path, F_OK)) {
		snprintf(path, sizeof(path), "/lib/modules/%s/build", u.release);
		find(d, WARN, "module", access(path, F_OK) ?
		     "the daemon serves too; for the module, install this kernel's headers, then "
		     "make kmod" : "the daemon serves too; make kmod builds it",
		     "not installed for kernel %s: a tenant can leave its share by not using the "
		     "library", u.release);
		return;
	}
	if ((read_line("/sys/module/module/parameters/sig_enforce", line, sizeof(line)) &&
	     *line == 'Y') ||
	    (read_line("/sys/kernel/security/lockdown", line, sizeof(line)) &&
	     !strstr(line, "[none]")))
		find(d, FAIL, "module", "mokutil --import /var/lib/dkms/mok.pub, then reboot and "
		     "confirm", "installed, but this kernel takes only signed modules");
	else
		find(d, WARN, "module", "modprobe gpushare", "installed, but not loaded");
}

static void check_arbiter(struct doctor *d)
{
	struct gpushare_version v = { .size = sizeof(v) };
	int rc = gs_transport_open(d->ctl->where, 0, &d->ctl->arbiter);

	if (rc) {
		find(d, FAIL, "arbiter", rc == -EACCES || rc == -EPERM ?
		     "be in the group of the node or socket" : rc == -ECONNREFUSED ?
		     "it died and left its socket: start gpushared again" : rc == -EUSERS ?
		     "it has no room for one more: end some clients, or be root" :
		     rc == -ETIMEDOUT ? "it hangs: systemctl restart gpushared" :
		     gs_in_container() ? "start the container with -v " GS_SYSTEM_FOLDER ":"
		     GS_SYSTEM_FOLDER ", or with --device " GS_DEVICE_NODE :
		     "modprobe gpushare, or systemctl start gpushared, or gpushared --user",
		     "none answers: %s", strerror(-rc));
		return;
	}
	rc = gs_call(d->ctl, GPUSHARE_VERSION, &v);
	if (rc) {
		find(d, FAIL, "arbiter", "restart it", "%s doesn't say its version: %s",
		     gs_transport_path(d->ctl->arbiter), strerror(-rc));
		return;
	}
	v.release[sizeof(v.release) - 1] = 0;
	d->arbiter = true;
	if (v.abi != GPUSHARE_ABI_VERSION)
		find(d, FAIL, "arbiter", "install tool and arbiter of one release",
		     "it speaks abi %u, this tool %u", v.abi, GPUSHARE_ABI_VERSION);
	else if (strcmp(v.release, GPUSHARE_RELEASE))
		find(d, WARN, "arbiter", "install tool and arbiter of one release",
		     "release %s, this tool is %s", v.release, GPUSHARE_RELEASE);
	else
		find(d, OK, "arbiter", NULL, "%s %s, abi %u, at %s",
		     gs_transport_is_kernel(d->ctl->arbiter) ? "kernel module" : "daemon", v.release,
		     v.abi, gs_transport_path(d->ctl->arbiter));
}

/* The module's clients get EUSERS from ATTACH, which isn't counted. */
static void check_room(struct doctor *d)
{
	uint64_t n = gs_transport_turned_away(d->ctl->arbiter);

	if (n)
		find(d, WARN, "room", "the daemon's log says whose they are; see \"What a peer can't do\" "
		     "in gpushared.md for the limits", "%llu callers were turned away since the daemon "
		     "was started, and run ungated: a limit of connections was reached",
		     (unsigned long long)n);
}

static void check_kept(struct doctor *d)
{
	int error = gs_unkept(d->ctl);

	if (error)
		find(d, FAIL, "state", "make room on the disk of the file that gpushared's --state names "
		     "(/var/lib/gpushare/state); it is tried again every 5 s", "what was set last is lost when the "
		     "daemon is started anew: its state file can't be written: %s", strerror(error));
}

/* Each mistake in them, with its place. */
static bool check_units(struct doctor *d)
{
	struct gs_units *units = gs_units_new();
	char *said = NULL, *line, *save = NULL;
	bool any = false;
	size_t size;
	FILE *err = open_memstream(&said, &size);

	if (units && err && !gs_units_read(units, err))
		any = gs_units_any(units);
	gs_units_free(units);
	if (err)
		fclose(err);
	for (line = said ? strtok_r(said, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		find(d, FAIL, "units", "the other lines hold; mend it, systemctl edit", "%s", line);
	free(said);
	return any;
}

/* Who isn't allowed to take the lock can't tell. */
static void check_rules(struct doctor *d)
{
	bool units = check_units(d);
	struct gs_rules rules;
	int lock;

	if (gs_rules_read(&rules, 0, NULL)) {
		find(d, FAIL, "rules", "gpusharectl apply --check, and mend what it says",
		     "a file of /etc/gpushare can't be taken: those before it are kept");
	} else if (rules.config.nr || rules.config.gate.file || units) {
		lock = gs_rules_lock(false);
		if (lock >= 0)
			close(lock);
		if (lock >= 0 || lock == -ENOENT) {
			find(d, WARN, "rules", "systemctl enable --now gpushare-rules.service",
			     "there are rules (%s), and nobody keeps them: cgroups that come later, and "
			     "an arbiter that is started anew, don't get them",
			     rules.nr ? rules.files[0] : "in units");
		} else if (lock == -EWOULDBLOCK) {
			find(d, OK, "rules", NULL, "kept, of %zu files%s", rules.nr,
			     units ? " and of units" : "");
		}
	}
	gs_rules_free(&rules);
}

/* Only the machine's: one below a cgroup is for who put it there. */
static void check_gate(struct doctor *d)
{
	enum gs_gate_mode mode;
	struct gs_gate gate;
	int rc;

	if (!gs_cgroup_mount())
		return;
	rc = gs_gate_find("/", &gate);
	mode = rc ? gs_gate_seen("/") : gate.mode;
	if (!rc)
		gs_gate_close(&gate);
	if (rc == -EPROTO)
		find(d, WARN, "device-gate", "gpusharectl gate on", "it is of another release");
	else if (mode == GS_GATE_OFF)
		find(d, OK, "device-gate", NULL, "off: who asks for no grant can use the GPUs; "
		     "gpusharectl gate on");
	else
		find(d, OK, "device-gate", NULL, "on, mode %s: gpusharectl gate status",
		     gs_gate_mode_name(mode));
}

static void check_cgroup(struct doctor *d)
{
	const char *mount = gs_cgroup_mount();
	char path[PATH_MAX];

	if (!mount || gs_cgroup_of(0, path, sizeof(path))) {
		find(d, WARN, "cgroup", "boot with systemd.unified_cgroup_hierarchy=1, or mount -t "
		     "cgroup2; until then use named groups (gpusharectl run --name)",
		     "no cgroup v2 here: tasks can't be told apart by cgroup");
		return;
	}
	if (strcmp(mount, "/sys/fs/cgroup"))
		find(d, WARN, "cgroup", "systemd.unified_cgroup_hierarchy=1 would put all of it into "
		     "v2", "v2 is at %s beside v1; services may not be told apart in it", mount);
	else
		find(d, OK, "cgroup", NULL, "unified, at %s; this is in %s", mount, path);
}

static bool known(const struct gs_view *view, const char *key)
{
	size_t i;

	for (i = 0; i < view->nr_devices; i++)
		if (!strcmp(view->devices[i].info.key, key))
			return true;
	return false;
}

/* GPUs on the bus that nobody arbitrates. */
static void check_devices(struct doctor *d)
{
	char name[PATH_MAX], line[64], key[GPUSHARE_KEY_MAX], remedy[160];
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		snprintf(name, sizeof(name), "/sys/bus/pci/devices/%s/class", e->d_name);
		/* 3D controllers and accelerators; a screen's adapter may be just that. */
		if (e->d_name[0] == '.' || !read_line(name, line, sizeof(line)) ||
		    (strncmp(line, "0x0302", 6) && strncmp(line, "0x1200", 6)))
			continue;
		snprintf(key, sizeof(key), "pci:%.50s", e->d_name);
		if (known(&d->view, key))
			continue;
		snprintf(remedy, sizeof(remedy), "gpusharectl device add %s", key);
		find(d, WARN, "device", remedy, "%s is an accelerator that isn't shared", e->d_name);
	}
	if (dir)
		closedir(dir);
	if (d->view.nr_devices)
		find(d, OK, "device", NULL, "%zu known", d->view.nr_devices);
	else
		find(d, WARN, "device", "gpusharectl device add KEY; the wrappers' programs add "
		     "theirs", "none is known yet");
}

/* CUDA programs: the driver, the wrapper before it, and whether it knows all of it. */
static void check_cuda(struct doctor *d)
{
	bool nvidia = !access("/proc/driver/nvidia/version", F_OK);
	char path[2 * PATH_MAX], remedy[3 * PATH_MAX], *real;
	struct gs_cuda c;

	if (!gs_file_beside(path, sizeof(path), "cuda/libcuda.so.1")) {
		find(d, nvidia ? WARN : OK, "cuda", nvidia ? "make install puts it beside this tool" :
		     NULL, "the wrapper isn't installed: CUDA programs aren't scheduled");
		return;
	}
	if (gs_cuda_look(&c, path) || !c.loads) {
		find(d, FAIL, "cuda", "install tool and wrapper of one release",
		     "the wrapper can't be loaded: %.300s", path);
		return;
	}
	if (!c.driver) {
		find(d, nvidia ? FAIL : OK, "cuda", nvidia ? "name its libcuda.so.1 with "
		     "GPUSHARE_REAL_LIBCUDA" : NULL, "the wrapper finds no CUDA driver behind it");
		return;
	}
	if ((unsigned int)c.driver > c.newest)
		find(d, WARN, "cuda", "a newer release; or wrap/cuda/regenerate with its toolkit's "
		     "headers", "the driver is of CUDA %d.%d, the wrapper knows functions up to "
		     "%u.%u: newer ones aren't scheduled", c.driver / 1000, c.driver % 1000 / 10,
		     c.newest / 1000, c.newest % 1000 / 10);
	else
		find(d, OK, "cuda", NULL, "driver of CUDA %d.%d, the wrapper knows all of its "
		     "functions", c.driver / 1000, c.driver % 1000 / 10);
	real = realpath(path, NULL);
	snprintf(remedy, sizeof(remedy), "gpusharectl run, or LD_LIBRARY_PATH=%.*s",
		 real ? (int)(strrchr(real, '/') - real) : 0, real ? real : "");
	free(real);
	if (c.comes_first)
		find(d, OK, "cuda", NULL, "programs started here get the wrapper");
	else
		find(d, WARN, "cuda", remedy, "programs started here get the driver, past the "
		     "wrapper");
}

static bool uses_gpu(const char *pid)
{
	char name[64], link[PATH_MAX];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *dir;

	snprintf(name, sizeof(name), "/proc/%.16s/fd", pid);
	dir = opendir(name);
	while (dir && !found && (e = readdir(dir))) {
		n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		found = (!strncmp(link, "/dev/nvidia", 11) && link[11] >= '0' && link[11] <= '9') ||
			!strcmp(link, "/dev/kfd");
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Processes that have a GPU open and are no clients. */
static void check_vulkan(struct doctor *d)
{
	char path[PATH_MAX], manifest[PATH_MAX];

	if (!gs_file_beside(path, sizeof(path), "vulkan/libgpushare-vulkan.so"))
		find(d, OK, "vulkan", NULL, "the layer isn't installed: programs of Vulkan aren't "
		     "arbitrated");
	else if (!gs_file_beside(manifest, sizeof(manifest), "vulkan/gpushare.json"))
		find(d, FAIL, "vulkan", "install it again", "%s lacks gpushare.json, by which "
		     "Vulkan's loader finds it", path);
	else
		find(d, OK, "vulkan", NULL, "%s: gpusharectl run puts it before programs", path);
}

static void check_coverage(struct doctor *d)
{
	unsigned int seen = 0, outside = 0;
	DIR *dir = opendir("/proc");
	char name[64], comm[64];
	struct dirent *e;
	size_t i;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !uses_gpu(e->d_name))
			continue;
		seen++;
		for (i = 0; i < d->view.nr_clients; i++)
			if (d->view.clients[i].pid == atoi(e->d_name))
				break;
		if (i < d->view.nr_clients)
			continue;
		outside++;
		snprintf(name, sizeof(name), "/proc/%.16s/comm", e->d_name);
		if (outside <= 5)
			find(d, WARN, "coverage", "start it with gpusharectl run, or see COVERAGE in "
			     "gpushare(7)", "pid %s (%s) uses a GPU and isn't arbitrated", e->d_name,
			     read_line(name, comm, sizeof(comm)) ? comm : "?");
	}
	if (dir)
		closedir(dir);
	if (!outside)
		find(d, OK, "coverage", NULL, geteuid() ? "%u of this user's processes use a GPU, all "
		     "of them arbitrated" : "%u processes use a GPU, all of them arbitrated", seen);
}

static void check_ungated(struct doctor *d)
{
	const struct gpushare_stats *c;
	size_t i;

	for (i = 0; i < d->view.nr_clients; i++) {
		c = &d->view.clients[i];
		if (c->unscheduled)
			find(d, WARN, "gate", "see COVERAGE in gpushare(7)",
			     "pid %d (%s): %llu calls put work past the gate", c->pid, c->comm,
			     (unsigned long long)c->unscheduled);
		if (c->overruns)
			find(d, WARN, "overrun", "its kernels are long; a longer grace, or cutting them, "
			     "would help", "pid %d (%s) didn't yield in time %llu times", c->pid,
			     c->comm, (unsigned long long)c->overruns);
	}
}

static uint64_t held(const struct gs_view *view, pid_t pid, bool *client)
{
	uint64_t ns = 0;
	size_t i;

	*client = false;
	for (i = 0; i < view->nr_clients; i++)
		if (view->clients[i].pid == pid) {
			ns += view->clients[i].usage_ns;
			*client = true;
		}
	return ns;
}

/*
 * Who computes past its grants: the driver knows, where it tells. A fifth of the time is
 * for what is measured at other moments, and for copies beside kernels.
 */
static void compare(struct doctor *d, const struct gs_view *now, const struct gs_computed *c,
		    uint64_t ns, unsigned int *counts)
{
	uint64_t before, had;
	char key[GPUSHARE_KEY_MAX], name[64], comm[64];
	bool was, is;

	snprintf(key, sizeof(key), "pci:%s", c->bus);
	if (!known(now, key))
		return;
	before = held(&d->view, c->pid, &was);
	had = held(now, c->pid, &is);
	if (was != is)
		return;			/* it came or went meanwhile */
	had = had > before ? had - before : 0;
	counts[0]++;
	if (c->ns <= had + ns / 5)
		return;
	counts[1]++;
	snprintf(name, sizeof(name), "/proc/%d/comm", (int)c->pid);
	if (!read_line(name, comm, sizeof(comm)))
		strcpy(comm, "?");
	if (is)
		find(d, WARN, "driver", "it computes past its grants: nothing here ends that but its "
		     "owner; see COVERAGE in gpushare(7)",
		     "pid %d (%s) computed for %llu ms of the last %llu, by its driver, and was "
		     "granted %llu", (int)c->pid, comm, (unsigned long long)c->ns / 1000000,
		     (unsigned long long)ns / 1000000, (unsigned long long)had / 1000000);
	else
		find(d, WARN, "driver", "start it with gpusharectl run, or see COVERAGE in "
		     "gpushare(7)", "pid %d (%s) computed for %llu ms of the last %llu, by its "
		     "driver, and isn't arbitrated", (int)c->pid, comm,
		     (unsigned long long)c->ns / 1000000, (unsigned long long)ns / 1000000);
}

static void check_driver(struct doctor *d)
{
	struct gs_driver *driver = gs_driver_watch();
	const struct timespec second = { .tv_sec = 1 };
	unsigned int counts[2] = { 0 };
	struct gs_computed *list;
	struct gs_view now = { 0 };
	uint64_t ns;
	size_t i, n;

	if (!driver) {
		find(d, OK, "driver", NULL, "none tells who computes: who does past its grants "
		     "isn't seen");
		return;
	}
	gs_view_free(&d->view);
	if (gs_view_take(d->ctl, &d->view, GS_VIEW_CLIENTS))
		memset(&d->view, 0, sizeof(d->view));
	nanosleep(&second, NULL);
	n = gs_driver_seen(driver, &list, &ns);
	if (!gs_view_take(d->ctl, &now, GS_VIEW_CLIENTS))
		for (i = 0; i < n; i++)
			compare(d, &now, &list[i], ns, counts);
	gs_view_free(&now);
	free(list);
	if (!counts[1])
		find(d, OK, "driver", NULL, "%u processes computed on shared GPUs in the last "
		     "second, none past its grants", counts[0]);
}

static int run_doctor(struct gs_ctl *ctl, int argc, char **argv)
{
	struct doctor d = { .ctl = ctl };

	(void)argc;
	(void)argv;
	if (ctl->json) {
		gs_answer_begin(&d.j, ctl, "doctor");
		gs_json_array(&d.j, "checks");
	}
	check_arbiter(&d);
	if (d.arbiter) {
		check_room(&d);
		check_kept(&d);
	}
	check_module(&d);
	check_rules(&d);
	check_gate(&d);
	check_cgroup(&d);
	check_cuda(&d);
	check_vulkan(&d);
	if (d.arbiter && !gs_view_take(ctl, &d.view, GS_VIEW_CLIENTS)) {
		check_devices(&d);
		check_coverage(&d);
		check_ungated(&d);
		check_driver(&d);
		gs_view_free(&d.view);
	}
	if (ctl->json) {
		gs_json_end(&d.j);
		gs_json_end(&d.j);
	}
	return d.counts[FAIL] || (d.counts[WARN] && ctl->values[OPT_STRICT]) ? GS_EXIT_FAILURE : 0;
}

const struct gs_command gs_doctor_command = {
	.name = "doctor", .args = "", .options = options, .run = run_doctor,
	.summary = "What is missing on this machine, and what to do about it",
	.details = "The exit status is 1 if something failed, with --strict also on a warning.\n",
};
