/* SPDX-License-Identifier: MIT */
/* From a configuration to what is so: once, whole or not at all; or as rules, for good. */
#ifndef GS_CTL_PLAN_H
#define GS_CTL_PLAN_H

#include "config.h"
#include "ctl.h"
#include "units.h"

/*
 * Make @config so, after what @units have (NULL: none). 0, or an exit status, and said
 * why.
 */
int gs_plan_apply(struct gs_ctl *ctl, const struct gs_config *config, struct gs_units *units,
		  bool dry_run, bool prune);

/*
 * For which groups and devices a section of the rules has been made so. It is done once
 * for each, so that what an administrator sets by hand after that stays.
 */
struct gs_turn {
	uint32_t section;		/* its number */
	/* A share's; 0: all, or it is about a device; UINT32_MAX: the section makes no sense */
	uint32_t device;
	uint64_t id;			/* the group's, the device's, or how many there are */
	bool done;
	bool said;			/* that it was refused */
};

struct gs_applied {
	struct gs_turn *old, *now;
	size_t nr_old, nr_now, room;
};

/*
 * Make so what of @config and @units is about something new. What is refused is said once, and
 * tried again with the next call; nothing is undone. 0; not 0: the arbiter is lost, or memory.
 */
int gs_plan_follow(struct gs_ctl *ctl, const struct gs_config *config, struct gs_units *units,
		   struct gs_applied *applied);
/* All is new: another arbiter, or another configuration. */
void gs_applied_forget(struct gs_applied *applied);

#endif
