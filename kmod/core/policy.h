/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Policies: in which order those who wait are picked, and whether a holder has
 * to share in slices. All of them work on the same queues and charge the same
 * way, so a device can change its policy while it is in use.
 */
#ifndef GS_CORE_POLICY_H
#define GS_CORE_POLICY_H

#include "fair.h"

/**
 * struct gs_policy_ops - one policy
 * @name: for people
 * @sliced: holders are asked to yield at the end of a slice when others wait
 * @weighs: classes and lag decide who may cut a slice short
 * @place: set link.key of an entity that is about to enter its queue's tree.
 *	@fresh: it comes with a new wish, not with the rest of an old one
 * @moved: link.val has changed, or (a node's) what is below it has. Sets a new
 *	key and returns true if the entity must change its place in the tree
 * @pick: whom to take of a tree that isn't empty
 */
struct gs_policy_ops {
	const char *name;
	bool sliced;
	bool weighs;
	void (*place)(struct gs_device *dev, struct gs_entity *e, bool fresh);
	bool (*moved)(struct gs_device *dev, struct gs_entity *e, u64 *key);
	struct gs_entity *(*pick)(struct gs_queue *q);
};

/* By enum gs_policy. */
extern const struct gs_policy_ops gs_policies[];

#endif
