/* SPDX-License-Identifier: MIT */
/*
 * A test bed for the arbiter: a host with virtual time and tenants that behave
 * in simple, known ways. It checks what holds for any host (callbacks are not
 * nested, a timer isn't armed in vain, epochs grow) and keeps books of its own
 * on who held what, to hold the core's against.
 */
#ifndef GS_TESTS_BED_H
#define GS_TESTS_BED_H

#include "arbiter.h"
#include "harness.h"

#define US 1000ull
#define MS 1000000ull
#define SEC 1000000000ull

#define BED_DEVICES 8

struct bed {
	struct gs_arbiter arb;
	struct gs_device dev[BED_DEVICES];
	u64 armed[BED_DEVICES];
	u64 now;
	struct tenant *tenants;
	unsigned int nr_devices;
	unsigned long nodes;		/* allocated and not freed yet */
	unsigned long publishes, kills, arms, expiries;
	unsigned long events[GS_NR_EVENTS];
	struct gs_event last[GS_NR_EVENTS];
	bool inside;			/* a callback runs */
	void (*on_event)(struct bed *b, const struct gs_event *ev);
	u64 seed;
};

/**
 * struct tenant - a client and how it behaves
 * @block: it looks at its flags each @block ns while it runs; 0: never
 * @burst: it runs so long at a time, 0: for ever
 * @pause: and then wants nothing for so long
 * @linger: it keeps its grant in its pauses and says on its page that it is idle
 * @lies: it says so while it works
 * @reborn: it leaves when it is asked to yield, and comes again as another
 * @want: what it says it wants to run
 * @held: for how long it really was granted
 */
struct tenant {
	struct gs_client c;
	struct bed *bed;
	struct tenant *next;
	u64 block, burst, pause, want;
	bool linger, jitter, lies, reborn;
	bool on, idle, saw_preempt;
	u64 wake;			/* its next step, GS_NEVER: none */
	u64 began, work_left, ran_to;
	u64 held, granted_at, wait_max, asked_at;
	u64 gone;			/* used by those that it was before */
	unsigned long turns;
	u64 epoch;
};

void bed_init(struct bed *b);
struct gs_device *bed_device(struct bed *b, const struct gs_device_conf *conf);
struct gs_group *bed_group(struct bed *b, struct gs_group *parent, u32 weight);
/* The group for a tenant's clients at @parent, made if it isn't there. */
struct gs_group *bed_tenants(struct bed *b, struct gs_group *parent, u64 key);
/* With its clients and groups going up. */
void bed_drop_group(struct bed *b, struct gs_group *g);
void bed_nodes(struct bed *b, struct gs_group *g, struct gs_device *dev);
struct tenant *bed_tenant(struct bed *b, struct gs_group *g, struct gs_device *dev, u64 block);
void bed_start(struct tenant *t);
void bed_stop(struct tenant *t);
void bed_drop(struct tenant *t);

/* Let everything happen up to @until. */
void bed_run(struct bed *b, u64 until);

/* Take all down, and see that nothing is left. */
void bed_end(struct bed *b);

u64 bed_random(struct bed *b, u64 below);
void bed_set(struct bed *b, struct gs_group *g, struct gs_share s, u32 which);

/* Counters up to now. */
u64 bed_usage(struct tenant *t);

#define SHARE(...) ((struct gs_share){ __VA_ARGS__ })

#endif
