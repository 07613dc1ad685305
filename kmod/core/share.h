/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The numbers of the arbiter: what can be set for a group and for a device,
 * what is counted, what is told. Times are nanoseconds, memory is in bytes,
 * parts of a whole are per mille.
 */
#ifndef GS_CORE_SHARE_H
#define GS_CORE_SHARE_H

#include "os.h"

#define GS_NEVER	U64_MAX		/* a time that does not come */
#define GS_UNLIMITED	U64_MAX		/* a quota or a memory limit that is none */

#define GS_WEIGHT_MIN	1
#define GS_WEIGHT_MAX	10000
#define GS_WEIGHT_DEFAULT 100
#define GS_PERIOD_MIN	1000000ull		/* 1 ms */
#define GS_PERIOD_MAX	10000000000ull		/* 10 s */
#define GS_SLICE_MIN	10000ull		/* 10 us */
#define GS_SLICE_MAX	1000000000ull		/* 1 s */
#define GS_EPOCH_MIN	1000000ull
#define GS_EPOCH_MAX	10000000000ull
#define GS_SEATS_MAX	64
#define GS_WORKERS_MAX	(1u << 20)
#define GS_QUOTA_MIN	GS_SLICE_MIN
#define GS_GRACE_MAX	3600000000000ull	/* 1 h */
#define GS_DEPTH_MAX	64			/* levels of groups below the root */
#define GS_MEM_WAIT_MIN	1000000ull		/* 1 ms */
#define GS_MEM_WAIT_MAX	86400000000000ull	/* a day */
#define GS_MEM_MOST	(1ull << 60)		/* bytes: enough for anybody, and sums fit */

enum gs_class {
	GS_CLASS_BATCH,		/* the default */
	GS_CLASS_LATENCY,	/* asks a batch or idle holder to yield at once */
	GS_CLASS_IDLE,		/* runs only when no sibling wants to */
	GS_NR_CLASSES,
};

/* What becomes of a charge that may wait and doesn't fit, see memwait.c. */
enum gs_full {
	GS_FULL_ABOVE,		/* of groups: as the next above says, at last the device */
	GS_FULL_FAIL,
	GS_FULL_WAIT,
	GS_NR_FULLS,
};

/* Which members of a struct gs_share are meant. */
enum gs_share_field {
	GS_SHARE_WEIGHT	= 1 << 0,
	GS_SHARE_CLASS	= 1 << 1,
	GS_SHARE_MAX	= 1 << 2,	/* quota, period and burst: always together */
	GS_SHARE_MIN	= 1 << 3,
	GS_SHARE_MEM_MAX = 1 << 4,
	GS_SHARE_MEM_HIGH = 1 << 5,
	GS_SHARE_MEM_MIN = 1 << 6,
	GS_SHARE_MEM_FULL = 1 << 7,
	GS_SHARE_MEM_WAIT = 1 << 8,
	GS_SHARE_ALL	= (1 << 9) - 1,
};

/**
 * struct gs_share - what a group may have, for all devices or for one
 * @weight: its part among its siblings, 1..10000
 * @class: enum gs_class, also among its siblings
 * @quota: device time in each @period, as in cpu.max; it may pass the period
 *	on a device with several seats; GS_UNLIMITED for no limit
 * @period: GS_PERIOD_MIN..GS_PERIOD_MAX
 * @burst: unused quota that may be kept for later periods, at most @quota
 * @min: guaranteed part of the device's time in per mille, 0 for none. The
 *	children of a group can't be promised more than it was, siblings not
 *	more than 1000 together
 * @mem_max: charges past it are refused
 * @mem_high: past it the group's memory is the first to be named for eviction
 * @mem_min: below it the group's memory is never named for eviction
 * @mem_full: enum gs_full
 * @mem_wait: how long a charge may wait; 0: as the next above says, at last the device
 */
struct gs_share {
	u32 weight;
	u32 class;
	u64 quota, period, burst;
	u32 min;
	u64 mem_max, mem_high, mem_min;
	u64 mem_wait;
	u32 mem_full;
};

enum gs_policy {
	GS_POLICY_FAIR,		/* by weight, hierarchical: the default */
	GS_POLICY_RR,		/* in turn, a slice each, weights ignored */
	GS_POLICY_FCFS,		/* in order of arrival, each as long as it likes */
	GS_NR_POLICIES,
};

/* How a guarantee (min) is kept, see min.c. */
enum gs_min_way {
	GS_MIN_ROLLOVER,	/* the default */
	GS_MIN_NAIVE,
	GS_MIN_HISTORY,
	GS_MIN_ELASTIC,
	GS_NR_MIN_WAYS,
};

/* How workers are dealt out to the holders of seats, see seats.c. */
enum gs_seat_way {
	GS_SEATS_EQUAL,		/* an equal part of each resource, then greedy fill */
	GS_SEATS_WEIGHTED,	/* parts by weight, then greedy fill */
	GS_SEATS_LONGEST,	/* from profiles: shorten the longest remaining time */
	GS_NR_SEAT_WAYS,
};

/**
 * struct gs_device_conf - how a device is shared; all can change at run time
 * @policy: enum gs_policy
 * @seats: how many may hold it at a time, 1..GS_SEATS_MAX
 * @seat_way: enum gs_seat_way
 * @min_way: enum gs_min_way
 * @slice: base slice
 * @latency: longest slice while somebody of the latency class waits
 * @linger: for how long an idle holder keeps its seat when others wait
 * @grace: time to yield after preempt, then it is an overrun
 * @kill_after: time to yield after preempt, then the client is killed;
 *	0 for never (the default)
 * @epoch: over which guarantees hold
 * @copy_ns_per_mib: what it takes to move memory in or out; 0 if not known
 * @mem_capacity: bytes of device memory, 0 if not known (nothing is refused)
 * @oversubscribe: charges past @mem_capacity name victims, not refused
 * @mem_full: GS_FULL_FAIL or GS_FULL_WAIT, where no group says it
 * @mem_wait: how long a charge may wait, likewise
 * @units: compute units
 * @threads, @regs, @local_mem, @blocks: what one unit has
 */
struct gs_device_conf {
	u32 policy, seats, seat_way, min_way;
	u64 slice, latency, linger, grace, kill_after, epoch;
	u64 copy_ns_per_mib;
	u64 mem_capacity;
	bool oversubscribe;
	u32 mem_full;
	u64 mem_wait;
	u32 units, threads, regs, local_mem, blocks;
};

/**
 * struct gs_profile - what a client runs, for dealing out workers. It comes
 *	from the client: it is only ever used against the client's own part.
 * @threads, @regs, @local_mem: of one worker (block): threads, registers of
 *	all its threads together, bytes of local memory
 * @blocks: logical blocks left
 * @points: valid entries of @rate
 * @rate: blocks per second with 1, 2, 4, 8, ... workers, for GS_SEATS_LONGEST
 */
#define GS_PROFILE_POINTS 12
struct gs_profile {
	u32 threads, regs, local_mem;
	u32 points;
	u64 blocks;
	u64 rate[GS_PROFILE_POINTS];
};

/**
 * struct gs_stat - counters of a client, a node or a device; they only grow
 * @usage: time for which seats were held, idle or not, overruns included; of those
 *	who take turns on the device, beside.c, each one's part of it
 * @wait: time from request to grant, or to its end by gs_cancel(); of waits that
 *	go on, see gs_wait_time()
 * @idle: held without work, as far as the client said so
 * @overrun: held past grace
 * @throttled: time for which max kept it off
 * @grants: seats given
 * @handoffs: seats that went from one client to another
 * @preempts: yields asked for
 * @preempts_late: of these, answered later than a slice
 * @overruns: seats taken back in the books
 * @lingers: grants taken back from idle holders
 * @besides: grants given on while what their holder had on the device ran on
 * @nr_periods: periods of max in which something ran or waited, the present one
 *	included
 * @nr_throttled: of these, those in which max was reached
 * @mem_denied: charges refused
 * @mem_waits: charges that had to wait
 * @mem_wait: for how long those waited that wait no more
 * @mem_crossed: of @mem_denied, those that would have waited for each other for ever
 */
struct gs_stat {
	u64 usage, wait, grants, handoffs, preempts;
	u64 idle, overrun, throttled, preempts_late, overruns, lingers, besides;
	u64 nr_periods, nr_throttled;
	u64 mem_denied;
	u64 mem_waits, mem_wait, mem_crossed;
};

/**
 * struct gs_mem - memory in bytes
 * @used: charged and on the device
 * @peak: the most that @used ever was
 * @swapped: charged but moved off the device
 * @wanted: what those want that wait
 * @waiters: how many do
 * @began: when they began to, added up
 * @stuck, @awaited, @part_awaited: memwait.c's, while it looks over the line
 */
struct gs_mem {
	u64 used, peak, swapped;
	u64 wanted, began;
	u64 stuck;
	u32 waiters;
	bool awaited, part_awaited;
};

/* Pressure averages in hundredths of a per cent; totals in nanoseconds. */
enum { GS_AVG10, GS_AVG60, GS_AVG300, GS_NR_AVGS };
struct gs_pressure_values {
	u32 some_avg[GS_NR_AVGS], full_avg[GS_NR_AVGS];
	u64 some_total, full_total;
};

enum gs_event_type {
	GS_EV_JOIN,		/* a client came */
	GS_EV_LEAVE,		/* a client went. a: time held in all */
	GS_EV_REQUEST,		/* a client waits from now on */
	GS_EV_CANCEL,		/* a wait ended without a grant */
	GS_EV_GRANT,		/* a: slice, b: time waited */
	GS_EV_PREEMPT,		/* asked to yield. a: time held */
	GS_EV_YIELD,		/* a seat came back. a: time held */
	GS_EV_LINGER,		/* taken back from an idle holder. a: time held */
	GS_EV_OVERRUN,		/* taken back in the books. a: time held, b: past grace by */
	GS_EV_KILL,		/* a: time since preempt */
	GS_EV_THROTTLE,		/* client 0. a: until, GS_NEVER for none */
	GS_EV_UNTHROTTLE,	/* client 0. a: for how long it was */
	GS_EV_SHARE,		/* a group's share was set. a: enum gs_share_field bits */
	GS_EV_DEVICE,		/* a device's conf was set, or it was added */
	GS_EV_DEVICE_GONE,
	GS_EV_GROUP,		/* a group was added, but a tenant's. a: its parent's id */
	GS_EV_GROUP_GONE,	/* a: the id of the group that took its clients */
	GS_EV_MOVE,		/* a client changed its group. a: the old group's id */
	GS_EV_MEM_DENIED,	/* a: bytes wanted */
	GS_EV_EVICT,		/* asked to move memory out. a: bytes */
	GS_EV_EPOCH,		/* a guarantee epoch ended. a: its length, b: goal per mille */
	GS_NR_EVENTS,
};

/**
 * struct gs_event - something happened
 * @time: when
 * @type: enum gs_event_type
 * @device, @group, @client: ids as given at gs_*_add(), 0 where there is none
 * @a, @b: see enum gs_event_type
 */
struct gs_event {
	u64 time;
	u32 type;
	u64 device, group, client;
	u64 a, b;
};

#endif
