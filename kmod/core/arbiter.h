/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The arbiter: who may run on which device, now. This header is the contract
 * between the core and its hosts: the kernel module, the daemon and the
 * simulator.
 *
 * THE SHAPE. The core is a state machine. The host calls it when something
 * happens (a client asks, yields, dies; a timer fires; an admin sets a share)
 * and passes the time in; the core answers by calling back through struct
 * gs_host_ops before its function returns. The core knows no clock, takes no
 * lock, allocates nothing, does no I/O and never sleeps.
 *
 * THE HOST'S PART
 * - It serialises all calls on one struct gs_arbiter: one lock. Callbacks are
 *   made under it, may not sleep where the lock's holder may not, and must not
 *   call the core again, except for what is said to be harmless below.
 * - `now` is in nanoseconds of one monotonic clock, and does not start at 0
 *   (0 means "not set"). A `now` before the last one is taken for the last one.
 * - It owns all memory: struct gs_arbiter, gs_device, gs_group, gs_client and
 *   gs_node are the host's to allocate (zeroed is not needed) and to free.
 *   Nothing may be freed before the core has said that it is done with it:
 *   devices, groups and clients are free when their gs_*_remove() returns,
 *   nodes when ops->node_free() hands them over.
 * - Members marked [host] may be read by the host at any time under its lock,
 *   the rest is the core's. Usage counters lag by what current holders have
 *   not been charged yet: gs_sync() brings them up to date. What those have to
 *   pay who overrun, however many, gs_usage() adds.
 *
 * NODES. A group on one device is a struct gs_node. A client on (group,
 * device) needs a node for its group and for each ancestor on that device. So
 * before gs_client_add(), gs_client_move() and gs_group_set() for one device:
 *
 *	while ((g = gs_group_missing(group, dev))) {
 *		node = allocate();	(a kernel host drops its lock for this,
 *					 and looks all up anew afterwards)
 *		gs_node_add(node, g, dev, now);
 *	}
 *
 * A node lives until its group or its device is removed, since it holds the
 * group's counters. The root group's nodes are part of struct gs_device.
 *
 * A CLIENT'S LIFE. It is in one of these states:
 *
 *	IDLE	 wants nothing
 *	WAITING	 has asked, and is in the queue
 *	RUNNING	 holds a seat: GS_GRANTED is set
 *	OVER	 did not yield within grace: its seat was given to another, but
 *		 it is charged on until it yields, is idle or leaves
 *		 (one that waits may be on the device as well, see beside.c)
 *	GONE	 its device was removed: everything is -ENODEV, except
 *		 gs_client_remove()
 *
 *	IDLE -request-> WAITING -(grant)-> RUNNING -yield-> IDLE
 *	WAITING -cancel-> IDLE		   RUNNING -yield again-> WAITING or RUNNING
 *	RUNNING -(grace over)-> OVER	   RUNNING, idle -(linger over)-> IDLE
 *	RUNNING, can't be stopped -(asked to yield)-> WAITING, and beside
 *	the same, not asked by itself, idle -> IDLE
 *	OVER -yield-> IDLE		   OVER -yield again-> WAITING or RUNNING
 *
 * THE GRANT PAGE. What a client may see of its state are the members of struct
 * gs_client under "the page". Whenever one of these changes the core calls
 * ops->publish(client), once per call into the core for each client and each
 * change of flags; the host copies them to the page and wakes those who sleep
 * on it. `epoch` grows by one with each grant and with each loss of one, so
 * that it is odd while GS_GRANTED is set, and tells two grants apart.
 * `waiters` is refreshed for holders only when it changes between none and
 * some, and with each publish.
 *
 * PREEMPTION. A holder of a slice that is over is asked to yield only when
 * somebody else could use the seat, or when its group's max is reached.
 * `preempt_at` is the time at which that becomes due if nothing else happens
 * (GS_NEVER: not at all). A kernel host may set the page's preempt word at
 * that time from its timer's hard interrupt, without the lock, and call
 * gs_expire() afterwards for the books. It is never taken back: once set, the
 * way on is gs_yield().
 *
 * IDLE HOLDERS. A client with nothing to run should yield if others wait; else
 * it may keep the grant and say so on its page. What it writes there is a
 * hint. The core asks for it with ops->peek_idle() when another client comes
 * to wait and when a linger timer fires, or is told by gs_idle(), gs_busy().
 * An idle holder's grant is withdrawn when it has been idle for `linger` with
 * others waiting: GS_GRANTED goes, no grace. The client must therefore clear
 * its idle flag *before* it reads the grant word (with a full fence between),
 * and the host must clear the grant word before it reads the idle flag for
 * the last time, and call gs_revive() if the client was quicker.
 *
 * TIMERS. One a device. ops->arm(dev, when) asks for gs_expire(dev, now) at or
 * after `when`; a new call replaces the last. gs_expire() too early or without
 * need is harmless: it arms again. The core calls arm() only for an earlier
 * time than is armed already, so a timer may fire in vain. A host that would
 * rather decide itself sets dev->armed to GS_NEVER in arm(): then it is called
 * at each update that has a time.
 *
 * ERRORS. 0 or -errno; an illegal call changes nothing. -EINVAL: a value is
 * out of range; -ENODEV: the device is gone; -ENOENT: a node is missing;
 * -EBUSY: it still has what must go first; -ENOSPC: guarantees would pass what
 * there is; -ENOMEM: a memory limit; -EXDEV: things of two arbiters or owners.
 */
#ifndef GS_CORE_ARBITER_H
#define GS_CORE_ARBITER_H

#include "fair.h"
#include "os.h"
#include "pressure.h"
#include "share.h"
#include "tree.h"

struct gpushare_grant_page;
struct gs_arbiter;
struct gs_device;
struct gs_group;
struct gs_node;
struct gs_client;

/* Flags of a client, for its page. */
#define GS_GRANTED	(1u << 0)	/* it may run */
#define GS_PREEMPT	(1u << 1)	/* it should yield at the next boundary */
#define GS_PREPARE	(1u << 2)	/* it is next: it may bring its memory back */
#define GS_EVICT	(1u << 3)	/* it should move memory out: gs_mem_swap() */
#define GS_GONE		(1u << 4)	/* the device is gone */

enum gs_client_state {
	GS_CLIENT_IDLE,
	GS_CLIENT_WAITING,
	GS_CLIENT_RUNNING,
	GS_CLIENT_OVER,
	GS_CLIENT_GONE,
};

/**
 * struct gs_host_ops - how the core reaches its host. All but @publish and
 *	@arm may be NULL.
 */
struct gs_host_ops {
	/**
	 * @publish: the client's page has changed. If its flags or its state
	 * changed the client is to be woken.
	 */
	void (*publish)(struct gs_arbiter *arb, struct gs_client *c);

	/** @arm: call gs_expire(@dev, now) once @when has come. */
	void (*arm)(struct gs_arbiter *arb, struct gs_device *dev, u64 when);

	/**
	 * @peek_idle: does the client's page say that it is idle? Returns
	 * since when (taken for the time of the grant if it is earlier: 1 will
	 * do for "not known"), or 0 if it is busy. Only ever asked of holders, and
	 * of those who wait without having asked by themselves.
	 */
	u64 (*peek_idle)(struct gs_arbiter *arb, struct gs_client *c);

	/**
	 * @peek_until: does the client's page say that it has something on the device
	 * which can't be stopped? Returns until when about, or 0. It may be a lie.
	 * Asked of holders, and of those who are beside one.
	 */
	u64 (*peek_until)(struct gs_arbiter *arb, struct gs_client *c);

	/**
	 * @kill: the client has not yielded for kill_after. The host ends the
	 * process, later and from outside the call, and then comes with
	 * gs_client_remove(). Called once.
	 */
	void (*kill)(struct gs_arbiter *arb, struct gs_client *c);

	/**
	 * @mem_over: its wait for memory is over, see gs_mem_wait(). Not called for one
	 * that gs_mem_give_up() ends.
	 */
	void (*mem_over)(struct gs_arbiter *arb, struct gs_client *c, int result);

	/** @node_free: the core is done with the node. */
	void (*node_free)(struct gs_arbiter *arb, struct gs_node *node);

	/** @event: called for the types in the arbiter's @events. */
	void (*event)(struct gs_arbiter *arb, const struct gs_event *ev);
};

/**
 * struct gs_group - a node of the share tree
 * @id: [host] as given, the cgroup id
 * @parent: [host] NULL for the root
 * @share: [host] its settings for all devices
 * @nodes: its nodes, linked by gs_node.of_group
 * @children: [host] its child groups, linked by @sibling
 * @clients: [host] clients of this very group on all devices, linked by
 *	gs_client.of_group
 * @tenant: [host] all that stands in it is this tenant's, see gs_tenant_add();
 *	0: of several
 * @of_tenants: place in the parent's @tenants, for tenants' groups
 * @tenants: of @children, those of tenants, by their key
 */
struct gs_group {
	u64 id;
	struct gs_arbiter *arb;
	struct gs_group *parent;
	struct gs_share share;
	u64 tenant;
	struct gs_link of_tenants;
	struct gs_tree tenants;
	struct list_head nodes, children, sibling, clients;
};

/*
 * How what a node has is divided among those below it, see due.c: each gets its weight times
 * @level; or, if their mins are more than @have, its part of these, of which the sum is @mins.
 */
struct gs_division {
	u64 level, have, mins;
	bool known;
};

/**
 * struct gs_node - a group on one device
 * @entity: its place in the queue of its parent's node
 * @queue: its children and clients that want to run: by weight, and those of
 *	the idle class
 * @group, @dev, @up: [host] where it belongs; @up is the parent's node
 * @of_group: place in gs_group.nodes
 * @of_device: place in gs_device.nodes
 * @own: [host] which fields of @share are set for this device only
 * @share: [host] what is in force on this device
 * @stat, @mem, @pressure: [host] counters of the whole subtree
 * @running, @waiting: [host] clients of the subtree in that state
 * @clients: [host] clients of the group itself on the device, in any state
 * @standing: [host] @clients, and those of its tenants' groups themselves
 * @overrunning: [host] clients of the subtree in state OVER
 * @beside: [host] clients of the subtree that are on the device and don't hold it
 */
struct gs_node {
	/* What every decision touches comes first, and lies close together. */
	struct gs_entity entity;
	struct gs_queue queue[2];
	struct gs_node *up;
	u32 active;		/* entities of @queue that want to run or run */
	u32 running, waiting, overrunning;
	u32 clients;		/* of its own group */
	u32 standing;		/* of it and of its tenants' groups */
	u32 present;		/* clients of the subtree, in any state */
	u64 rivals;		/* weights of those present in its queues */
	u64 wait_at;		/* up to when stat.wait is whole */
	u64 over_paid;		/* the times up to which @overrunning paid, added up */
	u64 beside_paid;	/* the same of @beside, in gs_device.turns */
	u32 beside;
	u32 min;		/* guarantee in force, per mille; see min.c */
	u8 depth;
	u8 limited;		/* it has a max */
	u8 capped;		/* it or an ancestor has a max */
	u8 assured;		/* it or an ancestor has a min */
	u64 throttled_at;	/* since when it may not run, 0: it may */
	struct gs_stat stat;
	struct gs_pressure pressure;

	struct gs_group *group;
	struct gs_device *dev;
	struct list_head of_group, of_device;
	u32 own;
	struct gs_share share;
	struct gs_mem mem;

	/* max, see quota.c */
	s64 left;		/* of the quota, in this period */
	u64 refill_at;		/* when this period ends */
	u8 period_used, period_throttled;

	/* min, see min.c */
	struct gs_link behind;	/* in gs_device.behind while it is owed time */
	struct list_head spent;	/* in gs_device.spent, or in a throttled node's parked */
	u8 full;		/* a max kept it from more in this epoch */
	struct list_head parked;
	s64 owed;		/* of the guarantee, in this epoch */
	u64 got;		/* used in this epoch, or of it in the last */
	u64 favoured;		/* virtual time it is ahead by as it was guaranteed */
	u64 late;		/* for how long it held on when it was asked to yield */
	u64 wanted_at;		/* since when it wants to run, 0: it doesn't */
	u64 wanted;		/* for how long it did in this epoch */
	u64 epoch;		/* the epoch that the four above belong to */
	u32 history;		/* got/due of the past, per mille */

	/* see due.c: as of the last look at its device; nodes in these lists have clients */
	const struct gs_node *eager_below, *next_eager;	/* who wants some */
	u32 eager_own;		/* clients of its own group that do */
	u32 below, usable;	/* what they could use, and what its max lets them */
	u8 eager;
	struct gs_division division[2];	/* among these; as gs_node.queue */

	struct gs_debts debts;	/* of who was in @queue[0] */
};

/**
 * struct gs_client - one open session of one process on one device
 * @id: [host] as given
 * @state: [host] enum gs_client_state
 * @epoch, @flags, @deadline, @preempt_at, @slice, @workers, @waiters: [host]
 *	the page. @deadline is the end of the slice; @workers is 0 when workers
 *	are not dealt out
 * @dev, @group, @node: [host] where it belongs. @dev is NULL when GONE
 * @mem_wanted, @mem_began, @mem_until, @mem_result: [host]
 * @usage, ... @mem_denied: [host] its counters, as in struct gs_stat and gs_mem;
 *	throttling is counted for groups alone
 * @profile: [host] what it runs, the host's memory, or NULL; see gs_profile_set()
 * @page, @set: [host] the contract's: its grant page, and the ring of those it may be
 *	asked for together with. The core only makes it one that is alone
 * @priv: [host] the host's own
 */
struct gs_client {
	/* What every handoff touches comes first, and lies close together. */
	struct gs_entity entity;
	struct gs_node *node;
	struct gs_device *dev;
	struct gs_arbiter *arb;
	u64 id;
	u64 since;		/* of the present state */
	u64 charged;		/* up to when its seat is paid */
	u64 paid;		/* gs_device.turns then */
	u64 want;		/* hint: time it wants in one go, 0: unknown */

	u64 epoch;
	u64 deadline;
	u64 preempt_at;
	u64 slice;
	u32 flags;
	u32 workers;
	u32 waiters;

	u8 state;
	u8 idle;		/* said that it has nothing to run */
	u8 dirty;		/* has to be published */
	u8 killed;
	u8 beside;		/* it waits, and is on the device; see beside.c */
	u8 unasked;		/* it waits, but didn't ask by itself */
	struct list_head of_beside;	/* in its device's beside */
	struct list_head of_device;	/* in its device's idle, holders or over */
	struct list_head dirty_link;
	struct list_head any;		/* the other requests of a gs_request_any() */
	struct list_head of_leaving;	/* in its device's leaving while it has GS_EVICT */
	u64 usage, wait;
	u32 grants, preempts;
	u64 preempted;		/* when it was asked to yield */
	u64 idle_since;
	u64 at_work;		/* for how long it was in its last grants, at most, */
	u64 answered;		/* and took to yield; see slice.c's peek_time() */

	struct gs_group *group;
	struct list_head of_group;
	struct list_head set;
	struct gpushare_grant_page *page;
	void *priv;
	const struct gs_profile *profile;
	u32 was_workers;
	u8 sated;		/* while workers are dealt out */
	u64 mem_used, mem_peak, mem_swapped;
	struct list_head of_waiters;	/* in its device's mem_waiters while it wants memory */
	u64 mem_wanted;		/* bytes that it waits for, 0: it doesn't */
	u64 mem_began, mem_until;	/* since when, and for how long at most */
	u64 mem_turn, mem_asked;	/* its place, and for how many bytes that was */
	u64 mem_freed;		/* the device's, when it began */
	u64 mem_wait;
	u32 mem_waits, mem_crossed;
	int mem_result;		/* how its last wait ended */
	u8 mem_left;		/* why, see memwait.c */
	u8 mem_refused;		/* the device itself had no room */
	u8 mem_clear;		/* while the line is looked over */
	u64 idle_time, overrun_time;
	u32 preempts_late, overruns, lingers, mem_denied;
};

/**
 * struct gs_device - one accelerator
 * @id: [host] as given
 * @conf: [host] see gs_device_set()
 * @root: [host] the root group's node: its counters are the device's
 * @running, @waiting, @overrunning: [host] are @root's
 * @holders: [host] clients that hold a seat, linked by gs_client.of_device;
 *	the one that got its seat first stands first
 * @idle: clients in state IDLE and WAITING, the longest off the device first
 * @over: clients in state OVER
 * @beside: clients that wait and are on the device still
 * @turns: what each of those on the device had of it up to @turns_at, see beside.c
 * @nodes: all but @root, linked by gs_node.of_device
 * @later: what has to wait for a certain time: throttled nodes (until
 *	refilled) and overrunning clients (until killed)
 * @mem_used: bytes on the device
 * @priv: [host] the host's own
 */
struct gs_device {
	u64 id;
	struct gs_arbiter *arb;
	struct gs_device_conf conf;
	const struct gs_policy_ops *policy;
	struct gs_node root;
	struct list_head of_arb, holders, idle, over, beside, nodes;
	u64 turns, turns_at, turns_rest;
	struct gs_tree later;
	u64 armed;
	u64 turn;		/* order of arrival, for fcfs and rr */
	u64 last;		/* the id of the client that held it last */
	u32 nr_capped;		/* nodes with a max */
	u8 dealt;		/* workers are dealt out as holders are now */
	u8 awaits_class;	/* which queue of @awaits */
	struct gs_node *awaits;	/* below which somebody is awaited, see fair.c */
	u64 awaits_since, awaits_until;
	u64 looked_until;	/* what due.c found is good until then */
	u64 mem_used;
	u64 mem_leaving;	/* of it, what those in @leaving have */
	struct list_head leaving;	/* who has GS_EVICT, the first asked first */
	struct list_head mem_waiters;	/* who waits for memory, in order; see memwait.c */
	u32 nr_mem_waiters;
	u8 mem_awaited;
	u64 mem_turn;		/* the last place in that line that was given out */
	u64 mem_freed;		/* how often something was given back */
	u64 mem_stuck;
	struct gs_client *mem_asking;	/* who is told by the call's result */
	struct gs_client *prepared;	/* who has GS_PREPARE */
	void *priv;

	/* min, see min.c */
	struct gs_tree behind;
	struct list_head spent;
	u64 behind_time;	/* the key of the last that was picked */
	u64 epoch, epoch_start, epoch_end;
	u32 nr_assured;		/* nodes with a min */
	u32 assured_sum;	/* of the root's children */
	u32 goal;		/* per mille of an epoch that the others may use */
	u32 shortest;		/* the worst got/due of this epoch, per mille */
	u64 grain;		/* the longest grant of late */
	u64 others;		/* what the others used in this epoch */
	u64 beyond;		/* and too much in those before, in which a guarantee fell short */
};

/**
 * struct gs_arbiter - all devices and groups of one host
 * @ops: [host] how to reach it
 * @events: [host] BIT(enum gs_event_type) of those that ops->event() wants;
 *	the host may change it at any time
 * @now: the latest time seen
 * @root: [host] the root group: id 1, everything is below it
 * @devices: [host] linked by gs_device.of_arb
 * @priv: [host] the host's own
 */
struct gs_arbiter {
	const struct gs_host_ops *ops;
	u64 events;
	u64 now;
	struct gs_group root;
	struct list_head devices;
	struct list_head dirty;
	void *priv;
};

/* All events, for gs_arbiter.events. */
#define GS_EVENTS_ALL	((1ull << GS_NR_EVENTS) - 1)

void gs_arbiter_init(struct gs_arbiter *arb, const struct gs_host_ops *ops);

/*
 * Devices. gs_device_conf_init() fills in the defaults (fair, 1 seat, 2 ms
 * slices). gs_device_set() takes a whole conf: change a copy of dev->conf.
 * gs_device_remove() takes all grants back: the clients become GONE, are
 * published once more and stay the host's to remove.
 */
void gs_device_conf_init(struct gs_device_conf *conf);
int gs_device_conf_check(const struct gs_device_conf *conf);
int gs_device_add(struct gs_arbiter *arb, struct gs_device *dev, u64 id,
		  const struct gs_device_conf *conf, u64 now);
int gs_device_set(struct gs_device *dev, const struct gs_device_conf *conf, u64 now);
void gs_device_remove(struct gs_device *dev, u64 now);

/*
 * Groups. One that is removed has no clients and no groups below it any more
 * (-EBUSY): the host moves them elsewhere before, as many at a time as it likes.
 * What was counted for it is counted in its parent already. Its nodes are handed
 * to ops->node_free(). The root can't be removed.
 */
int gs_group_add(struct gs_arbiter *arb, struct gs_group *group, u64 id,
		 struct gs_group *parent, u64 now);
int gs_group_remove(struct gs_group *group, u64 now);

/*
 * TENANTS. Whose programs are these? The host says it by a key (a user, a
 * container), and puts a tenant's clients into a group of its own below the group
 * that they belong to: so tenants divide what a group has equally, however many
 * processes, connections or groups each of them makes. Such a group is a group
 * like others, with a share that may be set. What stands below it is that
 * tenant's alone (@tenant), so there is no tenant's group of the same key in it:
 * its clients stand where they are.
 *
 * gs_tenant_add() is gs_group_add() for such a group, -EEXIST if @parent has one;
 * @key is 1..2^63 - 1. gs_tenant_find() is the group for a tenant's clients at
 * @parent: itself, or NULL if it isn't there yet.
 * gs_group_owes(): it was ahead of its share when it last ran, and has not waited
 * for it since. The host keeps a tenant's group while it owes, or to leave and
 * come back would be a way to be forgiven.
 */
#define GS_TENANT_MAX ((1ull << 63) - 1)
int gs_tenant_add(struct gs_arbiter *arb, struct gs_group *group, u64 id,
		  struct gs_group *parent, u64 key, u64 now);
struct gs_group *gs_tenant_find(struct gs_group *parent, u64 key);
bool gs_group_owes(struct gs_group *group, u64 now);

static inline bool gs_tenant_is(const struct gs_group *group)
{
	return gs_tree_in(&group->of_tenants);
}

/* The group that @group is a tenant's part of; else @group itself. Events name this one. */
static inline struct gs_group *gs_group_whole(struct gs_group *group)
{
	return gs_tenant_is(group) ? group->parent : group;
}

/*
 * Hang a group below another one, with its nodes, clients and child groups, and
 * with what was counted for it. The new parent must not be below it, and must
 * have a node on each device where the group has one. -ENOSPC: the parent's min
 * doesn't bear the group's. -EEXIST: it is a tenant's, and there is one of the same
 * tenant. gs_group_rehang(): whatever was promised to it: that is cut down to what
 * can be kept there. O(groups below it), and below the two parents if it has a min.
 */
int gs_group_move(struct gs_group *group, struct gs_group *parent, u64 now);
int gs_group_rehang(struct gs_group *group, struct gs_group *parent, u64 now);

/*
 * The ancestor of @group, or @group itself, that is nearest to the root and
 * has no node on @dev; NULL if nothing is missing.
 */
struct gs_group *gs_group_missing(struct gs_group *group, struct gs_device *dev);
int gs_node_add(struct gs_node *node, struct gs_group *group, struct gs_device *dev, u64 now);

/* The group's node on the device, or NULL. */
struct gs_node *gs_node_find(const struct gs_group *group, const struct gs_device *dev);

/*
 * Set the fields named by @which (enum gs_share_field) of a group's share, on
 * all devices (@dev NULL) or on one. What is set for one device counts there,
 * until gs_group_unset() lets the general setting count again.
 * gs_min_room(): the largest min that gs_group_set() would take for this group.
 */
void gs_share_init(struct gs_share *share);
int gs_group_set(struct gs_group *group, struct gs_device *dev, const struct gs_share *share,
		 u32 which, u64 now);
int gs_group_unset(struct gs_group *group, struct gs_device *dev, u32 which, u64 now);
u32 gs_min_room(const struct gs_group *group, const struct gs_device *dev);

/*
 * Clients. They start IDLE with no grant. Remove frees all at once, in any
 * state; after it (and after a device is gone) the core has no reference left.
 * gs_client_move(): its task went to another group; a seat is kept. One whose
 * device is gone changes its group alone.
 */
int gs_client_add(struct gs_client *c, u64 id, struct gs_group *group, struct gs_device *dev,
		  u64 now);
void gs_client_remove(struct gs_client *c, u64 now);
int gs_client_move(struct gs_client *c, struct gs_group *group, u64 now);

/*
 * Ask for a seat. @want: how long it would like to run in one go, 0 if not
 * known; asking for less than a slice gets it sooner, and no more than that.
 * Returns 1 if it holds a seat (at once, or already), 0 if it waits.
 */
int gs_request(struct gs_client *c, u64 want, u64 now);

/*
 * Ask for a seat on any of several devices: @n clients (1..GS_ANY_MAX) of one
 * owner, all IDLE, on different devices. The first free one wins; the others
 * are IDLE again without having held. Returns the winner's index, or -EAGAIN
 * if they wait: the winner is then published. gs_cancel() on any of them
 * cancels all.
 */
#define GS_ANY_MAX 64
int gs_request_any(struct gs_client **clients, int n, u64 want, u64 now);

/* No longer wait. 0, also if it didn't; -EBUSY if it holds by now. */
int gs_cancel(struct gs_client *c, u64 now);

/*
 * At a boundary: give the seat back and, if @again, ask for it at once. When
 * nobody else has a better right to it a client keeps its seat with a new
 * slice. Returns 1 if it holds a seat, 0 if not (it waits if @again). A client
 * whose grant was withdrawn meanwhile may call this as well: without @again
 * nothing happens, with it, it is gs_request().
 */
int gs_yield(struct gs_client *c, bool again, u64 want, u64 now);

/*
 * What gs_yield() with @again comes to when a holder is alone, in a short way:
 * a new slice of the same seat. False, and nothing done, if it isn't.
 */
bool gs_keep(struct gs_client *c, u64 want, u64 now);

/*
 * Hints from holders: it is idle since @since, it is busy again. For hosts
 * that learn it by a call; see ops->peek_idle() for those that read a page.
 */
void gs_idle(struct gs_client *c, u64 since, u64 now);
void gs_busy(struct gs_client *c, u64 now);

/*
 * A client whose grant was just withdrawn for idleness was quicker and is
 * running: it is charged and must yield, as one that overran; but it did nothing
 * wrong, so that isn't counted as an overrun.
 */
void gs_revive(struct gs_client *c, u64 now);

/*
 * What it runs, for the device's seat_way; NULL to forget. The profile is the
 * host's memory and stays in use until set again or the client is removed.
 * Call it again when its contents changed.
 */
int gs_profile_set(struct gs_client *c, const struct gs_profile *profile, u64 now);

/*
 * Memory. A charge is refused with -ENOMEM at a mem.max on the way up, or when
 * the device is full (unless conf.oversubscribe: then GS_EVICT asks others to
 * move out). But what is charged is what clients say: so nobody's claims keep
 * another from its part of the device, by the weights of those who are there.
 * gs_mem_room() is what a device that isn't oversubscribed would take now.
 * gs_mem_swap() says that bytes were moved out (@out), or back in (which is a
 * charge of the device, and refused as one, but not of mem.max: they are counted
 * in it all the time). Uncharging more than was charged is -EINVAL.
 */
int gs_mem_charge(struct gs_client *c, u64 bytes, u64 now);
int gs_mem_uncharge(struct gs_client *c, u64 bytes, u64 now);
int gs_mem_swap(struct gs_client *c, u64 bytes, bool out, u64 now);

u64 gs_mem_room(const struct gs_client *c);

/*
 * As gs_mem_charge(), but where mem_full says so what doesn't fit waits: then -EAGAIN, and
 * ops->mem_over() comes with 0 when it was charged, else with -ENOMEM, or -ENODEV if the
 * device goes. @c->mem_until is when the host has to call gs_mem_give_up(). @refused: the
 * device itself refused what was charged before, and that was given back. -EBUSY: it
 * waits already. -ETIMEDOUT: it was refused again and again for all its time.
 * gs_mem_try() is the same, but begins no wait: -EAGAIN if there would be one.
 * gs_mem_give_up() ends a wait: -ETIMEDOUT, or -EINTR if that is @in_time (when the same
 * is asked for again, it goes on); if it is over already, how it ended: 0, it is charged.
 */
int gs_mem_wait(struct gs_client *c, u64 bytes, bool refused, u64 now);
int gs_mem_try(struct gs_client *c, u64 bytes, u64 now);
int gs_mem_give_up(struct gs_client *c, bool in_time, u64 now);

/* The device's timer. */
void gs_expire(struct gs_device *dev, u64 now);

/*
 * What the rules give to the group, in per mille of the device's time, if it wants some
 * without end beside those who want some now or did within the last second: by weight,
 * not below its min, not above its max or what it could use. May be 10 ms old.
 */
u32 gs_due(const struct gs_group *group, struct gs_device *dev, u64 now);

/* Charge the device's holders up to now, so that counters can be read. */
void gs_sync(struct gs_device *dev, u64 now);

/*
 * After gs_sync(): for how long seats were held. Those who overrun are charged in
 * turn, as their number is theirs to choose; here they count up to now, all at once.
 * So it is with those who are beside holders.
 */
static inline u64 gs_unpaid(const struct gs_node *node)
{
	return node->overrunning * node->dev->arb->now - node->over_paid;
}

static inline u64 gs_usage(const struct gs_node *node)
{
	return node->stat.usage + gs_unpaid(node) +
		node->beside * node->dev->turns - node->beside_paid;
}

static inline u64 gs_client_usage(const struct gs_client *c)
{
	if (c->beside)
		return c->usage + c->dev->turns - c->paid;
	return c->usage + (c->state == GS_CLIENT_OVER ? c->arb->now - c->charged : 0);
}

/* For how long the node's clients waited, those that still do included. */
static inline u64 gs_wait_time(const struct gs_node *node, u64 now)
{
	return node->stat.wait + node->waiting * (now - min(node->wait_at, now));
}

/* After gs_sync(): the pressure averages of a node (of a device: dev->root). */
void gs_pressure_read(struct gs_node *node, u64 now, struct gs_pressure_values *v);

#endif
