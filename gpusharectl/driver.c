// SPDX-License-Identifier: MIT
/*
 * Two sources. The kernel's DRM drivers tell it in the fdinfo files of who has a device
 * open: one line for each engine, in ns or in cycles of so many, by client (the
 * kernel's Documentation/gpu/drm-usage-stats.rst). NVIDIA's driver tells it by NVML, as a
 * percentage since a point in time; its library is loaded if it is there.
 */
#include "driver.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GPUS_MOST	64
#define ENGINES_MOST	16384	/* lines that are kept of all processes */

/* A line of an fdinfo file: an engine, of a client of the driver's. */
struct engine {
	pid_t pid;
	char bus[16];
	char name[24];
	unsigned long long client;
	uint64_t ns;			/* or cycles, */
	uint64_t total;			/* of so many, if this isn't 0 */
};

/* As NVML has them. */
struct nvml_sample {
	unsigned int pid;
	unsigned long long time_us;
	unsigned int sm, mem, enc, dec;
};

struct nvml_pci {
	char legacy[16];
	unsigned int domain, bus, device, id, subsystem;
	char bus_id[32];
};

struct nvml {
	void *lib;
	int (*shutdown)(void);
	int (*pci)(void *gpu, struct nvml_pci *pci);
	int (*use)(void *gpu, struct nvml_sample *v, unsigned int *n, unsigned long long since);
	void *gpus[GPUS_MOST];
	unsigned int nr_gpus;
};

struct gs_driver {
	struct nvml nvml;
	struct engine *engines;
	size_t nr_engines;
	struct timespec since, since_real;
};

static void nvml_close(struct nvml *n)
{
	if (!n->lib)
		return;
	n->shutdown();
	dlclose(n->lib);
	n->lib = NULL;
}

/* Functions by the names that NVML exports, for all of its versions since 2019. */
static void nvml_open(struct nvml *n)
{
	int (*init)(void), (*count)(unsigned int *), (*at)(unsigned int, void **);
	unsigned int i;

	n->lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->lib)
		return;
	*(void **)&init = dlsym(n->lib, "nvmlInit_v2");
	*(void **)&n->shutdown = dlsym(n->lib, "nvmlShutdown");
	*(void **)&count = dlsym(n->lib, "nvmlDeviceGetCount_v2");
	*(void **)&at = dlsym(n->lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&n->pci = dlsym(n->lib, "nvmlDeviceGetPciInfo_v3");
	*(void **)&n->use = dlsym(n->lib, "nvmlDeviceGetProcessUtilization");
	if (!init || !n->shutdown || !count || !at || !n->pci || !n->use || init()) {
		dlclose(n->lib);
		n->lib = NULL;
		return;
	}
	if (count(&n->nr_gpus))
		n->nr_gpus = 0;
	if (n->nr_gpus > GPUS_MOST)
		n->nr_gpus = GPUS_MOST;
	for (i = 0; i < n->nr_gpus; i++)
		if (at(i, &n->gpus[i]))
			n->gpus[i] = NULL;
	if (!n->nr_gpus)
		nvml_close(n);
}

/* What one line says of the client's engines; a later one may add to an earlier one. */
static void take_line(const char *line, struct engine *first, size_t *n, size_t room)
{
	struct engine e = { 0 };
	unsigned long long value;
	char unit[16] = "";
	bool total;
	size_t i;

	if (sscanf(line, "drm-engine-%23[^:]: %llu %15s", e.name, &value, unit) == 3) {
		if (!strncmp(e.name, "capacity-", 9) || strcmp(unit, "ns"))
			return;
		total = false;
	} else if (sscanf(line, "drm-total-cycles-%23[^:]: %llu", e.name, &value) == 2) {
		total = true;
	} else if (sscanf(line, "drm-cycles-%23[^:]: %llu", e.name, &value) == 2) {
		total = false;
	} else {
		return;
	}
	for (i = 0; i < *n && strcmp(first[i].name, e.name); i++)
		;
	if (i == *n) {
		if (*n == room)
			return;
		first[(*n)++] = e;
	}
	if (total)
		first[i].total = value;
	else
		first[i].ns = value;
}

/* A file of a driver's that tells: its client's engines are appended. */
static void take_file(FILE *f, pid_t pid, struct engine *v, size_t *nr)
{
	struct engine mine[16] = { 0 };
	unsigned long long client = 0;
	char line[256], bus[16] = "";
	size_t n = 0, i;

	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "drm-pdev: %15s", bus);
		sscanf(line, "drm-client-id: %llu", &client);
		take_line(line, mine, &n, sizeof(mine) / sizeof(*mine));
	}
	if (!bus[0] || !n)
		return;
	/* One client may have several descriptors. */
	for (i = 0; i < *nr; i++)
		if (v[i].pid == pid && v[i].client == client && !strcmp(v[i].bus, bus))
			return;
	for (i = 0; i < n && *nr < ENGINES_MOST; i++) {
		mine[i].pid = pid;
		mine[i].client = client;
		memcpy(mine[i].bus, bus, sizeof(bus));
		v[(*nr)++] = mine[i];
	}
}

static bool is_drm(int fd_dir, const char *name)
{
	char link[64];
	ssize_t n = readlinkat(fd_dir, name, link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = 0;
	return !strncmp(link, "/dev/dri/", 9) || !strncmp(link, "/dev/accel/", 11);
}

static void take_process(const char *pid, struct engine *v, size_t *nr)
{
	char path[64], name[300];
	struct dirent *e;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (!is_drm(dirfd(dir), e->d_name))
			continue;
		snprintf(name, sizeof(name), "/proc/%.16s/fdinfo/%s", pid, e->d_name);
		f = fopen(name, "re");
		if (!f)
			continue;
		take_file(f, atoi(pid), v, nr);
		fclose(f);
	}
	if (dir)
		closedir(dir);
}

static struct engine *take_all(size_t *nr)
{
	struct engine *v = calloc(ENGINES_MOST, sizeof(*v));
	DIR *dir = v ? opendir("/proc") : NULL;
	struct dirent *e;

	*nr = 0;
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			take_process(e->d_name, v, nr);
	if (dir)
		closedir(dir);
	return v;
}

struct gs_driver *gs_driver_watch(void)
{
	struct gs_driver *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	nvml_open(&d->nvml);
	d->engines = take_all(&d->nr_engines);
	if (!d->nvml.lib && !d->nr_engines) {
		free(d->engines);
		free(d);
		return NULL;
	}
	clock_gettime(CLOCK_MONOTONIC, &d->since);
	clock_gettime(CLOCK_REALTIME, &d->since_real);
	return d;
}

struct list {
	struct gs_computed *v;
	size_t n, room;
};

/* The process's time on that GPU, to be added to. */
static uint64_t *time_of(struct list *l, pid_t pid, const char *bus)
{
	struct gs_computed *v;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->v[i].pid == pid && !strcmp(l->v[i].bus, bus))
			return &l->v[i].ns;
	if (l->n == l->room) {
		v = realloc(l->v, (l->room + 64) * sizeof(*v));
		if (!v)
			return NULL;
		l->v = v;
		l->room += 64;
	}
	v = &l->v[l->n++];
	memset(v, 0, sizeof(*v));
	v->pid = pid;
	snprintf(v->bus, sizeof(v->bus), "%s", bus);
	return &v->ns;
}

/* For how long the engine worked for its client since @then. */
static uint64_t worked(const struct engine *now, const struct engine *then, size_t nr, uint64_t ns)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (then[i].pid == now->pid && then[i].client == now->client &&
		    !strcmp(then[i].bus, now->bus) && !strcmp(then[i].name, now->name))
			break;
	/* It has come since, or its counters went back. */
	if (i == nr || now->ns < then[i].ns)
		return 0;
	if (!now->total)
		return now->ns - then[i].ns;
	if (now->total <= then[i].total)
		return 0;
	return (uint64_t)((double)(now->ns - then[i].ns) / (double)(now->total - then[i].total) *
			  (double)ns);
}

/* Engines of one GPU work side by side: what counts is the one that did most. */
static void add_engines(struct list *l, const struct gs_driver *d, uint64_t ns)
{
	struct engine *now;
	size_t nr, i, j;

	now = take_all(&nr);
	for (i = 0; now && i < nr; i++) {
		uint64_t sum = 0, *of;

		if (now[i].pid < 0)
			continue;
		/* Clients of one process have their time one after the other. */
		for (j = i; j < nr; j++) {
			if (now[j].pid != now[i].pid || strcmp(now[j].bus, now[i].bus) ||
			    strcmp(now[j].name, now[i].name))
				continue;
			sum += worked(&now[j], d->engines, d->nr_engines, ns);
			if (j > i)
				now[j].pid = -1;
		}
		of = sum ? time_of(l, now[i].pid, now[i].bus) : NULL;
		if (of && *of < sum)
			*of = sum;
	}
	free(now);
}

static void add_nvml(struct list *l, struct gs_driver *d, uint64_t ns)
{
	unsigned long long since = (unsigned long long)d->since_real.tv_sec * 1000000 +
				   (unsigned long long)d->since_real.tv_nsec / 1000;
	struct nvml_sample v[256];
	struct nvml_pci pci;
	unsigned int i, k, n;
	char bus[40];
	uint64_t *of;

	for (i = 0; i < d->nvml.nr_gpus; i++) {
		n = sizeof(v) / sizeof(*v);
		memset(&pci, 0, sizeof(pci));
		if (!d->nvml.gpus[i] || d->nvml.pci(d->nvml.gpus[i], &pci) ||
		    d->nvml.use(d->nvml.gpus[i], v, &n, since))
			continue;
		snprintf(bus, sizeof(bus), "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
		for (k = 0; k < n && k < sizeof(v) / sizeof(*v); k++) {
			/* There are old ones among them, and of nobody. */
			if (!v[k].pid || v[k].sm > 100 || v[k].time_us < since)
				continue;
			of = time_of(l, (pid_t)v[k].pid, bus);
			if (of && *of < ns / 100 * v[k].sm)
				*of = ns / 100 * v[k].sm;
		}
	}
}

size_t gs_driver_seen(struct gs_driver *d, struct gs_computed **list, uint64_t *ns)
{
	struct list l = { 0 };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	*ns = (uint64_t)(now.tv_sec - d->since.tv_sec) * 1000000000 +
	      (uint64_t)now.tv_nsec - (uint64_t)d->since.tv_nsec;
	add_engines(&l, d, *ns);
	if (d->nvml.lib)
		add_nvml(&l, d, *ns);
	nvml_close(&d->nvml);
	free(d->engines);
	free(d);
	*list = l.v;
	return l.n;
}
