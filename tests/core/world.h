/* SPDX-License-Identifier: MIT */
/*
 * A small world of devices, groups and clients for the fuzzer, on which any
 * call can be made at any time, and which knows what must hold after each.
 */
#ifndef GS_TESTS_WORLD_H
#define GS_TESTS_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include "arbiter.h"

#define DEVICES 3
#define GROUPS 12
#define CLIENTS 20
#define WORLD_BEGINS (1000000000ll * 1000000000)	/* as after 30 years of being up */

struct page {
	u64 epoch, deadline, preempt_at, slice;
	u32 flags, workers;
};

struct fuzz_client {
	struct gs_client c;
	struct page page;
	struct gs_profile profile;
	u64 v;			/* virtual runtime after the last call */
	u64 idle_since;
	u64 until;		/* says that it can't be stopped */
};

struct world {
	struct gs_arbiter arb;
	struct gs_device dev[DEVICES];
	struct gs_group *group[GROUPS];
	struct fuzz_client *client[CLIENTS];
	bool dev_used[DEVICES];
	u64 armed[DEVICES];
	u64 book[DEVICES];	/* time that seats were held, by our own watch */
	u64 inexact[DEVICES];	/* at most so much, as who takes turns has whole ns */
	u64 gone[DEVICES];	/* usage of clients that left the device */
	u32 most_seats[DEVICES];
	struct gs_stat last[DEVICES];
	u64 last_some[DEVICES];
	u64 now;
	u64 ids;
	u64 longest_hold, longest_slice;
	long nodes;
	unsigned long besides;
	unsigned long ops, grants, overruns, throttles, denied, worst_lag;
	bool weights_moved;	/* virtual runtimes may have been set anew */
	bool unfair;		/* lags aren't bounded: a policy that doesn't weigh */
	const unsigned char *data;
	size_t left;
	int verbose;
};

void world_init(struct world *w, const unsigned char *data, size_t size);
void world_step(struct world *w);
void world_end(struct world *w);
void world_check(struct world *w);
u64 unpaid(const struct world *w, const struct gs_client *c);
bool is_near(const struct world *w, unsigned int d, u64 usage);

#define MUST(cond, ...) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "# %s:%d: %s does not hold: ", __FILE__, __LINE__, #cond); \
		fprintf(stderr, __VA_ARGS__);				\
		fprintf(stderr, "\n");					\
		abort();						\
	}								\
} while (0)

#endif
