/* SPDX-License-Identifier: MIT */
/*
 * A scenario: what a run of the simulator is made of, as read from a text
 * file (Documentation/simulator.md has the format).
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share.h"

#define SIM_NAME_MAX	64
#define SIM_NS_PER_US	1000ULL
#define SIM_NS_PER_MS	1000000ULL
#define SIM_NS_PER_S	1000000000ULL
#define SIM_NEVER	UINT64_MAX

enum sim_dist_kind { SIM_CONST, SIM_UNIFORM, SIM_EXP };

/* A length of time, drawn anew each time: a, a..b, or exponential of mean a. */
struct sim_dist {
	enum sim_dist_kind kind;
	uint64_t a, b;
};

/*
 * A device: @conf is what the arbiter knows of it, the rest is the machine.
 * @speed is in per mille of that for which the kernels' block times were said;
 * @launch_ns passes between a launch and its first block, @wake_ns between a
 * grant and the tenant that acts on it. @turn_ns: tenants take turns of so long,
 * 0: they share its queue.
 */
struct sim_device {
	char name[SIM_NAME_MAX];
	struct gs_device_conf conf;
	uint64_t bandwidth;		/* of moving memory, bytes a second */
	uint32_t speed;
	uint64_t launch_ns;
	uint64_t wake_ns;
	uint64_t turn_ns;
};

struct sim_group {
	char path[2 * SIM_NAME_MAX];
	int parent;			/* index; -1: the root */
};

/* One setting of a group, on one device (0-based) or on all (-1). */
struct sim_share {
	int group;			/* index; -1: the root */
	int device;
	uint32_t fields;		/* enum gs_share_field: what is set */
	struct gs_share share;
};

struct sim_kernel {
	char name[SIM_NAME_MAX];
	uint64_t blocks;
	struct sim_dist time;		/* of one block */
	uint32_t threads, registers, local;	/* of one block */
};

enum sim_arrive { SIM_CLOSED, SIM_EVERY, SIM_POISSON, SIM_BURST };

/*
 * A phase of a tenant's life: launches of one kernel until @count were made
 * and done, or for @for_ns. @kernel is -1 for a pause of for_ns.
 */
struct sim_phase {
	int kernel;
	uint64_t count;			/* 0: no limit */
	uint64_t for_ns;		/* SIM_NEVER: no limit */
	enum sim_arrive arrive;
	uint64_t gap_ns;		/* between arrivals, or bursts */
	uint32_t burst;			/* launches a burst */
	struct sim_dist think;		/* SIM_CLOSED: from the end to the next */
};

enum sim_run { SIM_PERSISTENT, SIM_SLICED, SIM_UNSLICED };

struct sim_tenant {
	char name[SIM_NAME_MAX];
	int group;			/* index; -1: the root */
	uint64_t devices;		/* a bit each */
	enum sim_run run;
	uint64_t start_ns, stop_ns;
	uint64_t memory;		/* bytes on the device */
	uint64_t piece_ns;		/* SIM_SLICED: how long a slice should take */
	uint64_t ticket_ns;		/* SIM_PERSISTENT: what a block costs on top */
	uint64_t stubborn_ns;		/* goes on so long after preempt */
	uint64_t want_ns;		/* hint with each request; 0: a whole slice */
	uint32_t goal;			/* per mille of its speed alone; 0: none */
	uint32_t repeat;		/* of its phases; 0: until it is stopped */
	uint32_t nphases;
	struct sim_phase *phases;
};

enum sim_change_kind { SIM_SET_SHARE, SIM_SET_DEVICE, SIM_KILL, SIM_REMOVE_DEVICE };

struct sim_change {
	uint64_t at_ns;
	enum sim_change_kind kind;
	int index;			/* of the tenant or device */
	struct sim_share share;
	struct gs_device_conf conf;
};

/* `expect METRIC LOW HIGH`: what the scenario's author says will come out. */
struct sim_expect {
	char metric[2 * SIM_NAME_MAX];
	double low, high;
	int line;
};

struct sim_scenario {
	char file[256];
	char title[256];
	uint64_t seed;
	uint64_t duration_ns;
	uint64_t window_ns;
	bool native;
	bool no_alone;			/* no runs alone, so no slowdowns */

	struct sim_device *devices;
	struct sim_group *groups;
	struct sim_share *shares;
	struct sim_kernel *kernels;
	struct sim_tenant *tenants;
	struct sim_change *changes;
	struct sim_expect *expects;
	int ndevices, ngroups, nshares, nkernels, ntenants, nchanges, nexpects;
};

/*
 * Both return 0 or -errno and say in @error what is wrong, as FILE:LINE: TEXT.
 * sim_parse() takes the text itself, @name is only for the messages.
 */
int sim_load(struct sim_scenario *s, const char *path, char *error, size_t size);
int sim_parse(struct sim_scenario *s, const char *name, const char *text, char *error,
	      size_t size);
void sim_scenario_free(struct sim_scenario *s);

/* The values of options, in value.c: 0, or -EINVAL with the reason in @why. */
int sim_value_number(const char *text, uint64_t *out, const char **why);
int sim_value_decimal(const char *text, double *out, const char **why);
int sim_value_permille(const char *text, uint64_t *out, const char **why);
int sim_value_time(const char *text, uint64_t *ns, const char **why);
int sim_value_bytes(const char *text, uint64_t *bytes, const char **why);
int sim_value_dist(const char *text, struct sim_dist *d, const char **why);

/* The most blocks of @k that the whole device holds; 0: a unit can't hold one. */
uint64_t sim_width(const struct sim_device *d, const struct sim_kernel *k);

/* Randomness: one stream a purpose, so that one more draw moves no other. */
struct sim_random {
	uint64_t s;
};

void sim_random_init(struct sim_random *r, uint64_t seed, const char *name, unsigned int stream);
uint64_t sim_random(struct sim_random *r);
uint64_t sim_random_below(struct sim_random *r, uint64_t n);
uint64_t sim_draw(struct sim_random *r, const struct sim_dist *d);
uint64_t sim_mean(const struct sim_dist *d);

#endif
