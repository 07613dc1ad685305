// SPDX-License-Identifier: MIT
/* STATS: whose counters are meant, and who may see them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushared.h"

#define OVERFLOW_UID 65534

/* The number that the caller knows the process by; 0 if it can't see it. */
static pid_t pid_seen_by(const struct peer *p, const struct peer *of)
{
	if (!p->foreign)
		return of->pid;
	return p->pid_ns && p->pid_ns == of->pid_ns ? of->inner_pid : 0;
}

uid_t uid_seen_by(const struct peer *p, uid_t uid)
{
	return p->foreign && uid != p->uid ? OVERFLOW_UID : uid;
}

static bool client_visible(const struct peer *p, const struct client *c)
{
	return p->admin || p == c->peer || group_visible(p, c->group);
}

static void of_client(const struct peer *p, const struct client *c, struct gpushare_stats *u)
{
	gs_contract_stats_client(u, &c->core, c->pages.grant->device, now_ns());
	u->progress = c->pages.own->progress;
	u->busy_ns = c->pages.own->busy_ns;
	u->unscheduled = c->pages.own->unscheduled;
	u->state = c->pages.grant->word & GPUSHARE_FLAGS_MASK;
	u->pid = pid_seen_by(p, c->peer);
	u->uid = uid_seen_by(p, c->peer->uid);
	memcpy(u->comm, c->comm, sizeof(u->comm));
}

static int get_client(struct peer *p, struct gpushare_stats *u)
{
	struct client *c;

	if (u->flags & GPUSHARE_GET_NEXT) {
		for (c = client_next(u->id); c; c = client_next(c->core.id))
			if (client_visible(p, c))
				break;
		if (!c)
			return -ENOENT;
	} else if (u->id) {
		c = client_find(u->id);
		if (!c || !client_visible(p, c))
			return -ENOENT;
	} else {
		c = p->client;
		if (!c)
			return -ENOTCONN;
	}
	of_client(p, c, u);
	return 0;
}

static int get_group(struct peer *p, struct gpushare_stats *u)
{
	struct device *dev = NULL;
	struct group *g;

	if (u->device) {
		dev = device_find(u->device, NULL);
		if (!dev)
			return -ENODEV;
	}
	if (u->flags & GPUSHARE_GET_NEXT) {
		for (g = group_next(u->id); g; g = group_next(g->id))
			if (group_visible(p, g))
				break;
	} else {
		g = group_find(u->id);
	}
	if (!g || !group_visible(p, g))
		return -ENOENT;
	gs_contract_stats_group(u, g->node, dev ? &dev->core : NULL, now_ns());
	return 0;
}

static int get_device(struct gpushare_stats *u)
{
	struct device *dev, *found = NULL;

	list_for_each_entry(dev, &d.devices, link)
		if (!found && (u->flags & GPUSHARE_GET_NEXT ? dev->core.id > u->id :
			       dev->core.id == u->device))
			found = dev;
	if (!found)
		return u->flags & GPUSHARE_GET_NEXT ? -ENOENT : -ENODEV;
	gs_contract_stats_device(u, &found->core, now_ns());
	return 0;
}

int stats_get(struct peer *p, struct gpushare_stats *u)
{
	int err = gs_contract_stats_check(u);

	if (err)
		return err;
	switch (u->what) {
	case GPUSHARE_STATS_CLIENT:
		return get_client(p, u);
	case GPUSHARE_STATS_GROUP:
		group_collect(p, false);
		return get_group(p, u);
	default:
		return get_device(u);
	}
}
