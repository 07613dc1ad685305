/* SPDX-License-Identifier: MIT */
/*
 * What the arbiter knows, taken at one moment by its GET commands: devices,
 * groups with their share and counters on each device, clients.
 */
#ifndef GS_CTL_QUERY_H
#define GS_CTL_QUERY_H

#include "ctl.h"

struct gs_device_view {
	struct gpushare_device info;
	struct gpushare_stats stats;
};

/* A group on one device: @all.mask says what was set for all, @share.mask for it. */
struct gs_group_on {
	struct gpushare_share share;
	struct gpushare_stats stats;
};

struct gs_group_view {
	struct gpushare_share all;	/* as for GPUSHARE_ALL_DEVICES */
	struct gs_group_on *on;		/* one for each device of the view, in its order */
	unsigned int depth;		/* in the tree of groups */
};

struct gs_view {
	struct gs_device_view *devices;
	size_t nr_devices, room_devices;
	struct gs_group_view *groups;	/* parents before children, siblings by path */
	size_t nr_groups, room_groups;
	struct gpushare_stats *clients;
	size_t nr_clients, room_clients;
};

#define GS_USER		36
/* The user's name, or the number. */
const char *gs_user_name(uint32_t uid, char buffer[GS_USER]);

/*
 * The key of a PCI device's address: "65:00.0", "0000:65:00.0", "00000000:65:00.0", with
 * or without "pci:". False: it is no such address.
 */
bool gs_pci_key(const char *text, char key[GPUSHARE_KEY_MAX]);

#define GS_VIEW_GROUPS	0x1
#define GS_VIEW_CLIENTS	0x2

/* Connects, and takes devices and what @what asks for: 0, or an exit status, and said why. */
int gs_view_take(struct gs_ctl *ctl, struct gs_view *view, unsigned int what);
/* All of it, as status --json has it; in status.c. @device: of groups this one alone. */
void gs_status_json(struct gs_ctl *ctl, const struct gs_view *view, uint32_t device, FILE *out);
void gs_view_free(struct gs_view *view);

/* A tenant's part of a group, which can't be given a share. */
bool gs_group_is_part(const struct gpushare_share *group);

const struct gs_group_view *gs_view_group(const struct gs_view *view, uint64_t id);
const struct gs_device_view *gs_view_device(const struct gs_view *view, uint32_t id);
size_t gs_view_device_index(const struct gs_view *view, uint32_t id);

/*
 * Which devices are meant: "all", an id, a key, or a part of one key. Sets *id
 * (GPUSHARE_ALL_DEVICES for all). 0, or an exit status, and said why.
 */
int gs_device_choose(const struct gs_view *view, const char *text, uint32_t *id);

const char *gs_state_name(uint32_t state);

#endif
