/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Queues of entities that share by weight; fair.c has the idea.
 */
#ifndef GS_CORE_FAIR_H
#define GS_CORE_FAIR_H

#include "os.h"
#include "tree.h"

struct gs_device;
struct gs_node;

/**
 * struct gs_entity - a client or a child node in the queue of a node
 * @link: in the queue's tree while it can be picked. link.key is the virtual
 *	deadline, link.val the virtual runtime, link.kind one of GS_KIND_*
 * @up: the node in whose queue it is
 * @inv: 2^32 / weight
 * @weight: 1..10000
 * @class: enum gs_class; the idle class has a queue of its own
 * @counted: part of the queue's average
 * @owing: active, and not counted
 * @active: wants to run or runs
 * @queued: can be picked, so @link is in the queue's tree. (A throttled node and
 *	an overrunning client use @link for gs_device.later meanwhile)
 * @fresh: was never active yet
 * @late: by how much it overstayed of late when it was asked to yield, in us
 * @left: when it was active last
 * @others: what its node had used by then
 */
struct gs_entity {
	struct gs_link link;
	struct gs_node *up;
	u64 inv;
	u32 weight;
	u8 class;
	u8 counted;
	u8 owing;
	u8 active;
	u8 queued;
	u8 fresh;
	u32 late;
	u64 left;
	u64 others;
};

enum { GS_KIND_CLIENT, GS_KIND_NODE, GS_KIND_BEHIND };

/**
 * struct gs_queue - entities that compete with each other
 * @tree: those that can be picked
 * @v: with @rest, the weighted average of the virtual runtimes of all that are
 *	counted: @v + @rest / @weight
 * @rest: the sum of weight * (vruntime - @v)
 * @weight: the sum of the weights of all that are counted
 * @owing: the sum of the weights of all that are active and not counted
 * @hurried: how many in @tree are of the latency class
 * @last: the weight of who was counted last
 * @patience: for how long the device may await those who are away
 * @awaited: how far @v went on while it did, with nobody counted
 */
struct gs_queue {
	struct gs_tree tree;
	u64 v;
	s64 rest;
	u64 weight;
	u64 owing;
	u32 hurried;
	u32 last;
	u64 patience;
	u64 awaited;
};

/**
 * struct gs_debts - what those owe who are there no longer, in a queue that is
 *	one tenant's. Who comes next takes the largest over
 * @val: virtual runtimes, of entities of default weight
 * @n: so many
 */
#define GS_DEBTS 4
struct gs_debts {
	u64 val[GS_DEBTS];
	u32 n;
};

void gs_entity_init(struct gs_entity *e, u32 kind, struct gs_node *up, u32 weight, u32 class);
void gs_entity_weight(struct gs_entity *e, u32 weight);

/* The queue's virtual time: the average, rounded down. */
u64 gs_queue_time(struct gs_queue *q);

/* How far @e is ahead of its queue (negative: behind), in virtual time. */
s64 gs_fair_ahead(struct gs_entity *e);

void gs_fair_count(struct gs_device *dev, struct gs_entity *e);
void gs_fair_return(struct gs_device *dev, struct gs_entity *e);
void gs_fair_leave(const struct gs_device *dev, struct gs_entity *e);
/* @e had @ns of the device, in a span of time in which others took turns with it. */
void gs_fair_charge(struct gs_device *dev, struct gs_entity *e, u64 ns, u64 span);
void gs_fair_forgive(struct gs_entity *e, u64 virtual);
void gs_fair_settle(struct gs_device *dev, struct gs_entity *e);
bool gs_fair_eligible(struct gs_entity *e);
bool gs_fair_owes(const struct gs_device *dev, struct gs_entity *e);
void gs_fair_bequeath(struct gs_device *dev, struct gs_entity *e);
void gs_fair_inherit(struct gs_entity *e);
void gs_fair_late(struct gs_entity *e, u64 ns, bool end);
bool gs_fair_lent(const struct gs_device *dev, struct gs_entity *e);
void gs_fair_lend(struct gs_device *dev, struct gs_entity *e);
u64 gs_fair_await(struct gs_device *dev, struct gs_entity *e);
void gs_fair_awaited(struct gs_queue *q, u64 ns, bool unused);

/* @ns of device time in @e's virtual time: ns * 4096 / weight. */
static inline u64 gs_virtual(const struct gs_entity *e, u64 ns)
{
	return (ns >> 20) * e->inv + (((ns & ((1u << 20) - 1)) * e->inv) >> 20);
}

#endif
