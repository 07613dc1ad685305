/* SPDX-License-Identifier: MIT */
/* Groups and clients as list, status, top and show present them. */
#ifndef GS_CTL_GROUPS_H
#define GS_CTL_GROUPS_H

#include "query.h"

/* How a group did on a device between two views, in per mille of the time. */
struct gs_rate {
	unsigned int used, wait;
	bool throttled;		/* at some time in between */
	double grants;		/* a second */
};

/* Without @before: since the arbiter began to count is unknown, so all is 0. */
struct gs_rate gs_group_rate(const struct gs_view *before, const struct gs_view *now,
			     size_t group, size_t device);
struct gs_rate gs_client_rate(const struct gs_view *before, const struct gpushare_stats *client);
unsigned int gs_device_busy(const struct gs_view *before, const struct gs_view *now,
			    size_t device);

/* The group's place in the tree, drawn, and the end of its path: at most @size. */
void gs_tree_label(const struct gs_view *view, size_t group, char *label, size_t size);
/* "running 2, waiting 1", "throttled", ... */
void gs_group_state(const struct gs_view *view, const struct gs_rate *rate, size_t group,
		    size_t device, char *state, size_t size);
/* Has it anything to show there: a share of its own, a client, or time used? */
bool gs_group_on_device(const struct gs_view *view, size_t group, size_t device);

/* Takes a view, waits for @interval_us and takes it anew into @now. 0: no wait, no @before. */
int gs_view_twice(struct gs_ctl *ctl, uint64_t interval_us, unsigned int what,
		  struct gs_view *before, struct gs_view *now);

int gs_groups_table(const struct gs_view *before, const struct gs_view *now, uint32_t device,
		    bool colour);
const char *gs_group_kind_name(uint32_t kind);
void gs_groups_json(struct gs_json *j, const struct gs_view *view, uint32_t device);
void gs_devices_json(struct gs_json *j, const struct gs_view *view);
void gs_clients_json(struct gs_json *j, const struct gs_view *view);
/* The members of a share, and of counters, into the open object. */
void gs_share_json(struct gs_json *j, const struct gpushare_share *share);
void gs_stats_json(struct gs_json *j, const struct gpushare_stats *stats);

#endif
