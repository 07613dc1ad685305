// SPDX-License-Identifier: MIT
/* The things of a scenario: devices, groups, kernels, tenants and their phases. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

#define MAX_TENANTS	4096

static const char *const policies[] = { "fair", "rr", "fcfs", NULL };
static const char *const quotas[] = { "rollover", "naive", "history", "elastic", NULL };
static const char *const workers[] = { "equal", "weighted", "longest", NULL };
static const char *const classes[] = { "batch", "latency", "idle", NULL };
static const char *const runs[] = { "persistent", "sliced", "unsliced", NULL };

#define CONF(k, t, member, lo, hi, w) OPTION(k, t, struct sim_device, conf.member, lo, hi, 0, w)
#define MACHINE(k, t, member, lo, hi) OPTION(k, t, struct sim_device, member, lo, hi, 0, NULL)

/* What may also change while the scenario runs. */
#define CONF_OPTIONS							\
	CONF("policy", OPT_WORD, policy, 0, 2, policies),		\
	CONF("seats", OPT_U32, seats, 1, GS_SEATS_MAX, NULL),		\
	CONF("workers", OPT_WORD, seat_way, 0, 2, workers),		\
	CONF("quota", OPT_WORD, min_way, 0, 3, quotas),			\
	CONF("slice", OPT_NS, slice, GS_SLICE_MIN, GS_SLICE_MAX, NULL),	\
	CONF("latency", OPT_NS, latency, GS_SLICE_MIN, GS_SLICE_MAX, NULL),	\
	CONF("linger", OPT_NS, linger, 0, SIM_NS_PER_S, NULL),		\
	CONF("grace", OPT_NS, grace, SIM_NS_PER_MS, GS_GRACE_MAX, NULL),	\
	CONF("kill", OPT_NS, kill_after, 0, GS_GRACE_MAX, NULL),		\
	CONF("epoch", OPT_NS, epoch, GS_EPOCH_MIN, GS_EPOCH_MAX, NULL)

static const struct option conf_options[] = { CONF_OPTIONS, { .key = NULL } };
static const struct option device_options[] = {
	CONF_OPTIONS,
	CONF("units", OPT_U32, units, 1, 100000, NULL),
	CONF("threads", OPT_U32, threads, 1, 1 << 20, NULL),
	CONF("registers", OPT_U32, regs, 1, 1 << 30, NULL),
	CONF("local", OPT_BYTES32, local_mem, 0, 1 << 30, NULL),
	CONF("blocks", OPT_U32, blocks, 1, 100000, NULL),
	CONF("memory", OPT_BYTES64, mem_capacity, 1, 1ULL << 50, NULL),
	MACHINE("bandwidth", OPT_BYTES64, bandwidth, 1 << 20, 1ULL << 50),
	MACHINE("speed", OPT_PERMILLE, speed, 1, 1000000),
	MACHINE("launch", OPT_NS, launch_ns, 0, SIM_NS_PER_S),
	MACHINE("wake", OPT_NS, wake_ns, 0, SIM_NS_PER_S),
	MACHINE("turn", OPT_NS, turn_ns, 0, SIM_NS_PER_S),
	{ .key = NULL },
};

static int check_conf(struct parser *p, const struct gs_device_conf *conf)
{
	if (conf->kill_after && conf->kill_after < conf->grace)
		return sim_fail(p, "kill= is a shorter time than grace=");
	return 0;
}

int sim_parse_conf(struct parser *p, struct gs_device_conf *conf)
{
	struct sim_device d;

	memset(&d, 0, sizeof(d));
	d.conf = *conf;
	if (sim_options(p, conf_options, &d, NULL) || check_conf(p, &d.conf))
		return -EINVAL;
	*conf = d.conf;
	return 0;
}

int sim_parse_device(struct parser *p)
{
	struct sim_device d = {
		.conf = {
			.seats = 1, .slice = 2 * SIM_NS_PER_MS, .latency = SIM_NS_PER_MS,
			.linger = 200 * SIM_NS_PER_US, .grace = 100 * SIM_NS_PER_MS,
			.epoch = 100 * SIM_NS_PER_MS, .units = 80, .threads = 2048, .regs = 65536,
			.local_mem = 98304, .blocks = 32, .mem_capacity = 16ULL << 30,
			.oversubscribe = true, .mem_full = GS_FULL_FAIL,
			.mem_wait = 60 * SIM_NS_PER_S,
		},
		.bandwidth = 12ULL << 30, .speed = 1000,
		.launch_ns = 5 * SIM_NS_PER_US, .wake_ns = 10 * SIM_NS_PER_US,
	};
	struct sim_device *new;

	if (sim_new_name(p, "a device", false, d.name, sizeof(d.name)) ||
	    sim_options(p, device_options, &d, NULL) || check_conf(p, &d.conf))
		return -EINVAL;
	if (FIND(p->s->devices, p->s->ndevices, d.name) >= 0)
		return sim_fail(p, "there is a device '%s' already", d.name);
	if (p->s->ndevices == MAX_DEVICES)
		return sim_fail(p, "at most %d devices", MAX_DEVICES);
	d.conf.copy_ns_per_mib = (SIM_NS_PER_S << 20) / d.bandwidth;
	p->confs[p->s->ndevices] = d.conf;
	new = GROW(p->s->devices, p->s->ndevices);
	if (!new)
		return -ENOMEM;
	*new = d;
	return 0;
}

#define SHARE(k, t, member, lo, hi, b, w) \
	OPTION(k, t, struct group_line, share.member, lo, hi, GS_SHARE_##b, w)

struct group_line {
	struct gs_share share;
	uint32_t fields;
	uint64_t devices;
};

static const struct option group_options[] = {
	SHARE("weight", OPT_U32, weight, 1, 10000, WEIGHT, NULL),
	SHARE("class", OPT_WORD, class, 0, 2, CLASS, classes),
	SHARE("min", OPT_PERMILLE, min, 0, 1000, MIN, NULL),
	SHARE("burst", OPT_NS, burst, 0, TIME_MAX, MAX, NULL),
	SHARE("mem.max", OPT_BYTES64, mem_max, 0, 1ULL << 50, MEM_MAX, NULL),
	SHARE("mem.high", OPT_BYTES64, mem_high, 0, 1ULL << 50, MEM_HIGH, NULL),
	SHARE("mem.min", OPT_BYTES64, mem_min, 0, 1ULL << 50, MEM_MIN, NULL),
	OPTION("max", OPT_MAX, struct group_line, share, 0, 0, GS_SHARE_MAX, NULL),
	OPTION("on", OPT_DEVICES, struct group_line, devices, 0, 0, 0, NULL),
	{ .key = NULL },
};

int sim_parse_share(struct parser *p, int group, struct sim_share *out)
{
	struct group_line g = { .devices = 0 };

	if (sim_options(p, group_options, &g, &g.fields))
		return -EINVAL;
	if (g.devices & (g.devices - 1))
		return sim_fail(p, "on= takes one device");
	if ((g.fields & GS_SHARE_MAX) && !g.share.period)
		return sim_fail(p, "burst= needs max=QUOTA/PERIOD beside it");
	if (g.share.burst > g.share.quota)
		return sim_fail(p, "burst= is more than the quota of max=");
	out->group = group;
	out->device = g.devices ? __builtin_ctzll(g.devices) : -1;
	out->fields = g.fields;
	out->share = g.share;
	return 0;
}

/* group PATH [on=DEVICE] OPTIONS: again for another device, or more settings */
int sim_parse_group(struct parser *p)
{
	struct sim_share share, *new;
	struct sim_group g, *ng;
	char *slash;
	int group = -1;

	memset(&g, 0, sizeof(g));
	if (sim_new_name(p, "a group", true, g.path, sizeof(g.path)))
		return -EINVAL;
	if (strcmp(g.path, "/")) {
		if (g.path[0] == '/' || strstr(g.path, "//") || g.path[strlen(g.path) - 1] == '/')
			return sim_fail(p, "'%s' is no group: paths are like a/b", g.path);
		group = FIND(p->s->groups, p->s->ngroups, g.path);
	}
	if (sim_parse_share(p, group, &share))
		return -EINVAL;
	if (group < 0 && strcmp(g.path, "/")) {
		slash = strrchr(g.path, '/');
		if (slash)
			*slash = 0;
		if (sim_find_group(p, slash ? g.path : "/", &g.parent))
			return -EINVAL;
		if (slash)
			*slash = '/';
		share.group = p->s->ngroups;
		ng = GROW(p->s->groups, p->s->ngroups);
		if (!ng)
			return -ENOMEM;
		*ng = g;
	}
	new = GROW(p->s->shares, p->s->nshares);
	if (!new)
		return -ENOMEM;
	*new = share;
	return 0;
}

#define KERNEL(k, t, member, lo, hi) OPTION(k, t, struct sim_kernel, member, lo, hi, 0, NULL)

static const struct option kernel_options[] = {
	KERNEL("blocks", OPT_U64, blocks, 1, 1ULL << 40),
	KERNEL("time", OPT_DIST, time, 0, 0),
	KERNEL("threads", OPT_U32, threads, 1, 1 << 20),
	KERNEL("registers", OPT_U32, registers, 0, 1 << 30),
	KERNEL("local", OPT_BYTES32, local, 0, 1 << 30),
	{ .key = NULL },
};

int sim_parse_kernel(struct parser *p)
{
	struct sim_kernel k = { .blocks = 1, .threads = 256 }, *new;

	if (sim_new_name(p, "a kernel", false, k.name, sizeof(k.name)) ||
	    sim_options(p, kernel_options, &k, NULL))
		return -EINVAL;
	if (FIND(p->s->kernels, p->s->nkernels, k.name) >= 0)
		return sim_fail(p, "there is a kernel '%s' already", k.name);
	if (!sim_mean(&k.time))
		return sim_fail(p, "kernel '%s' needs time=, the time of a block", k.name);
	new = GROW(p->s->kernels, p->s->nkernels);
	if (!new)
		return -ENOMEM;
	*new = k;
	return 0;
}

#define TENANT(k, t, member, lo, hi, w) OPTION(k, t, struct tenant_line, member, lo, hi, 0, w)

struct tenant_line {
	struct sim_tenant t;
	uint32_t copies;
};

static const struct option tenant_options[] = {
	TENANT("group", OPT_GROUP, t.group, 0, 0, NULL),
	TENANT("device", OPT_DEVICES, t.devices, 0, 0, NULL),
	TENANT("run", OPT_WORD, t.run, 0, 2, runs),
	TENANT("start", OPT_NS, t.start_ns, 0, TIME_MAX, NULL),
	TENANT("stop", OPT_NS, t.stop_ns, 1, TIME_MAX, NULL),
	TENANT("memory", OPT_BYTES64, t.memory, 0, 1ULL << 50, NULL),
	TENANT("piece", OPT_NS, t.piece_ns, SIM_NS_PER_US, TIME_MAX, NULL),
	TENANT("ticket", OPT_NS, t.ticket_ns, 0, SIM_NS_PER_S, NULL),
	TENANT("stubborn", OPT_NS, t.stubborn_ns, 0, TIME_MAX, NULL),
	TENANT("want", OPT_NS, t.want_ns, 0, TIME_MAX, NULL),
	TENANT("goal", OPT_PERMILLE, t.goal, 1, 1000, NULL),
	TENANT("repeat", OPT_U32, t.repeat, 0, UINT32_MAX, NULL),
	TENANT("copies", OPT_U32, copies, 1, MAX_TENANTS, NULL),
	{ .key = NULL },
};

/* With copies=N there are N tenants, NAME.1 to NAME.N, with the same phases. */
int sim_parse_tenant(struct parser *p)
{
	struct tenant_line l = {
		.t = { .group = -1, .devices = 1, .stop_ns = SIM_NEVER,
		       .piece_ns = 500 * SIM_NS_PER_US, .ticket_ns = 200 },
	};
	char name[SIM_NAME_MAX - 8];
	struct sim_tenant *new;
	uint32_t i;

	if (sim_new_name(p, "a tenant", false, name, sizeof(name)) ||
	    sim_options(p, tenant_options, &l, NULL))
		return -EINVAL;
	if (!p->s->ndevices)
		return sim_fail(p, "a device must come before the first tenant");
	p->first = p->s->ntenants;
	if (p->s->ntenants + (l.copies ? l.copies : 1) > MAX_TENANTS)
		return sim_fail(p, "at most %d tenants", MAX_TENANTS);
	if (l.t.stop_ns <= l.t.start_ns)
		return sim_fail(p, "tenant '%s' stops before it starts", name);
	for (i = 1; i <= (l.copies ? l.copies : 1); i++) {
		if (l.copies)
			snprintf(l.t.name, sizeof(l.t.name), "%s.%u", name, i);
		else
			snprintf(l.t.name, sizeof(l.t.name), "%s", name);
		if (FIND(p->s->tenants, p->s->ntenants, l.t.name) >= 0)
			return sim_fail(p, "there is a tenant '%s' already", l.t.name);
		new = GROW(p->s->tenants, p->s->ntenants);
		if (!new)
			return -ENOMEM;
		*new = l.t;
	}
	return 0;
}

#define PHASE(k, t, member, lo, hi) OPTION(k, t, struct sim_phase, member, lo, hi, 0, NULL)

static const struct option phase_options[] = {
	PHASE("count", OPT_U64, count, 1, 1ULL << 40),
	PHASE("for", OPT_NS, for_ns, 1, TIME_MAX),
	{ .key = "arrive", .type = OPT_ARRIVE },
	PHASE("think", OPT_DIST, think, 0, 0),
	{ .key = NULL },
};

/* A phase belongs to all tenants of the tenant line above it. */
int sim_add_phase(struct parser *p, const struct sim_phase *phase)
{
	struct sim_phase *new;
	struct sim_tenant *t;
	int i, n;

	for (i = p->first; i < p->s->ntenants; i++) {
		t = &p->s->tenants[i];
		n = t->nphases;
		new = GROW(t->phases, n);
		if (!new)
			return -ENOMEM;
		t->nphases = n;
		*new = *phase;
	}
	return 0;
}

/* phase KERNEL [count=N] [for=TIME] [arrive=...] [think=...] */
int sim_parse_phase(struct parser *p)
{
	struct sim_phase phase = { .for_ns = SIM_NEVER, .burst = 1 };
	const char *name = sim_word(p);

	if (p->first < 0)
		return sim_fail(p, "a tenant must come before its phases");
	if (!name)
		return sim_fail(p, "phase needs the name of a kernel");
	phase.kernel = FIND(p->s->kernels, p->s->nkernels, name);
	if (phase.kernel < 0)
		return sim_fail(p, "there is no kernel '%s' above this line", name);
	if (sim_options(p, phase_options, &phase, NULL))
		return -EINVAL;
	return sim_add_phase(p, &phase);
}
