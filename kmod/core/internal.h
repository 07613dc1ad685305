/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of the core share among themselves and hosts don't need.
 */
#ifndef GS_CORE_INTERNAL_H
#define GS_CORE_INTERNAL_H

#include "arbiter.h"
#include "policy.h"

static inline struct gs_queue *gs_queue_of(const struct gs_entity *e)
{
	return &e->up->queue[e->class == GS_CLASS_IDLE];
}

/* Is there anything below @node that could be granted? */
static inline bool gs_node_pickable(const struct gs_node *node)
{
	return !gs_tree_empty(&node->queue[0].tree) || !gs_tree_empty(&node->queue[1].tree);
}

static inline struct gs_client *gs_entity_client(struct gs_entity *e)
{
	return container_of(e, struct gs_client, entity);
}

static inline struct gs_node *gs_entity_node(struct gs_entity *e)
{
	return container_of(e, struct gs_node, entity);
}

static inline struct gs_entity *gs_link_entity(struct gs_link *l)
{
	return container_of(l, struct gs_entity, link);
}

static inline bool gs_node_below(const struct gs_node *node, const struct gs_node *top)
{
	while (node->depth > top->depth)
		node = node->up;
	return node == top;
}

/* arbiter.c: entering and leaving the core */
u64 gs_enter(struct gs_arbiter *arb, u64 now);
void gs_dirty(struct gs_client *c);
void gs_dirty_last(struct gs_client *c);
void gs_dirty_first(struct gs_client *c);
void gs_leave(struct gs_arbiter *arb);
void gs_schedule(struct gs_device *dev, u64 now);
struct gs_entity *gs_next(struct gs_device *dev);
void gs_tell_wanted(struct gs_arbiter *arb, u32 type, struct gs_device *dev,
		    struct gs_group *group, struct gs_client *c, u64 a, u64 b);

static inline void gs_tell(struct gs_arbiter *arb, u32 type, struct gs_device *dev,
			   struct gs_group *group, struct gs_client *c, u64 a, u64 b)
{
	if (unlikely(arb->events & (1ull << type)))
		gs_tell_wanted(arb, type, dev, group, c, a, b);
}

/* path.c: from a client up to the root */
void gs_path_enqueue(struct gs_device *dev, struct gs_entity *e, bool fresh);
void gs_path_activate(struct gs_device *dev, struct gs_entity *e);
void gs_path_dequeue(struct gs_device *dev, struct gs_entity *e);
void gs_path_deactivate(struct gs_device *dev, struct gs_entity *e);
void gs_path_present(struct gs_entity *e, int n);
void gs_path_stand(struct gs_node *node, int n);
void gs_path_count(struct gs_node *node, int running, int waiting);
void gs_path_over(struct gs_node *node, int overrunning, u64 paid);
void gs_path_pressure(struct gs_node *node, u64 now);
u64 gs_over_part(const struct gs_entity *e, u64 ns);
void gs_charge(struct gs_client *c, u64 now);
void gs_await_end(struct gs_device *dev);
void gs_charge_holders(struct gs_device *dev, u64 now);
void gs_charge_all(struct gs_device *dev, u64 now);
void gs_charge_over(struct gs_device *dev, u64 now, unsigned int most);

/* state.c: a client's changes of state */
void gs_to_waiting(struct gs_client *c, bool fresh, u64 now);
void gs_to_running(struct gs_client *c, u64 now);
void gs_to_idle(struct gs_client *c, u64 now);
void gs_to_over(struct gs_client *c, u64 now);
void gs_overrun(struct gs_client *c, u64 now);
void gs_any_clear(struct gs_client *c, u64 now);

/* beside.c: those whose launches can't be stopped */
u64 gs_turns(struct gs_device *dev, u64 now);
void gs_path_beside(struct gs_node *node, int beside, u64 paid);
bool gs_beside_is_over(const struct gs_client *c, u64 now);
void gs_beside_end(struct gs_client *c, u64 now);
void gs_beside_charge(struct gs_device *dev, u64 now);
void gs_beside_look(struct gs_device *dev, u64 now);
bool gs_beside_check(struct gs_client *c, u64 now);
bool gs_beside_lend(struct gs_device *dev, u64 now);

/* Others of its group can do nothing about it: see gs_over_part(). */
static inline bool gs_pays_part(const struct gs_client *c, u64 now)
{
	return c->state == GS_CLIENT_OVER || (c->beside && gs_beside_is_over(c, now));
}

/* slice.c */
u64 gs_slice_request(const struct gs_device *dev, const struct gs_entity *e);
u64 gs_slice_length(struct gs_client *c);
u64 gs_slice_alone(struct gs_client *c);
void gs_slice_arrival(struct gs_client *c, u64 now);
void gs_slice_update(struct gs_device *dev, u64 now);
void gs_slice_expire(struct gs_device *dev, u64 now);
void gs_slice_idle(struct gs_client *h, u64 since, u64 now);

/* quota.c */
void gs_quota_charge(struct gs_node *node, u64 from, u64 now);
void gs_quota_enforce(struct gs_node *node, u64 now);
u64 gs_quota_left(struct gs_client *c);
struct gs_node *gs_quota_throttled(struct gs_node *node);
void gs_quota_set(struct gs_node *node, u64 now);
void gs_unthrottle(struct gs_node *node, u64 now);
void gs_later_due(struct gs_device *dev, u64 now);
void gs_kill(struct gs_client *c, u64 since);

/* set.c, life.c */
void gs_node_inherit(struct gs_node *node);
void gs_node_refresh(struct gs_node *top);
struct gs_group *gs_group_next(struct gs_group *g, struct gs_group *top);
u32 gs_min_room_in(const struct gs_group *parent, const struct gs_device *dev,
		   const struct gs_group *but);
void gs_entity_move(struct gs_device *dev, struct gs_entity *e, struct gs_node *to);

/* seats.c */
void gs_seats_deal(struct gs_device *dev);

/* memwait.c; struct gs_client.mem_left */
enum { GS_MEM_DONE, GS_MEM_HAD, GS_MEM_INTERRUPTED };
void gs_mem_freed(struct gs_device *dev, u64 now);
void gs_mem_look(struct gs_device *dev, u64 now);
void gs_mem_wait_drop(struct gs_client *c, u64 now);

/* mem.c */
void gs_mem_refuse(struct gs_client *c, struct gs_node *at, u64 bytes);
void gs_mem_count_waits(struct gs_node *node, int waiters, u64 wanted, u64 began);
bool gs_mem_fits(const struct gs_client *c, u64 bytes);
void gs_mem_take(struct gs_client *c, u64 bytes);
u64 gs_mem_part_left(const struct gs_client *c, bool in_turn);
void gs_mem_move(struct gs_client *c, struct gs_node *from, struct gs_node *to);
void gs_mem_move_node(const struct gs_node *node, struct gs_node *from, struct gs_node *to);
void gs_mem_drop(struct gs_client *c);
void gs_mem_prepare(struct gs_device *dev, struct gs_client *next);
void gs_mem_refresh(struct gs_device *dev, u64 now);

/* min.c */
bool gs_min_held(const struct gs_device *dev);
u64 gs_min_timer(const struct gs_device *dev);
u64 gs_min_left(struct gs_client *c);
struct gs_node *gs_min_pick(struct gs_device *dev);
void gs_min_pickable(struct gs_node *node);
void gs_min_unpickable(struct gs_node *node);
void gs_min_wants(struct gs_node *node);
void gs_min_full(struct gs_node *node);
void gs_min_unpark(struct gs_node *node);
void gs_min_charge(struct gs_client *c, u64 ns);
void gs_min_epoch(struct gs_device *dev, u64 now);
void gs_min_set(struct gs_node *node, u32 min);

/*
 * An entity that isn't in a queue keeps its deadline for its next turn, unless that is
 * no deadline there: of another queue, or a time.
 */
static inline void gs_deadline_forget(struct gs_entity *e)
{
	if (!gs_tree_in(&e->link))
		e->link.key = e->link.val;
}

/* Nodes and clients that are not in a queue use their own link. */
static inline void gs_later_add(struct gs_device *dev, struct gs_entity *e, u64 when)
{
	e->link.key = when;
	gs_tree_insert(&dev->later, &e->link);
}

static inline void gs_later_remove(struct gs_device *dev, struct gs_entity *e)
{
	gs_tree_remove(&dev->later, &e->link);
	gs_deadline_forget(e);
}

#endif
