// SPDX-License-Identifier: MIT
#include "query.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An arbiter that gives back ids that don't grow would keep us here for ever. */
#define MOST_ITEMS	1000000

#define GROW(array, nr, room)	grow((void **)&(array), nr, &(room), sizeof(*(array)))

static int grow(void **array, size_t nr, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 16;
	void *more;

	if (nr >= MOST_ITEMS)
		return -EOVERFLOW;
	if (nr < *room)
		return 0;
	more = reallocarray(*array, want, size);
	if (!more)
		return -ENOMEM;
	*array = more;
	*room = want;
	return 0;
}

static int take_devices(struct gs_ctl *ctl, struct gs_view *view)
{
	struct gs_device_view *d;
	uint32_t after = 0;
	int rc;

	for (;; after = d->info.device) {
		rc = GROW(view->devices, view->nr_devices, view->room_devices);
		if (rc)
			return rc;
		d = &view->devices[view->nr_devices];
		memset(d, 0, sizeof(*d));
		d->info.size = sizeof(d->info);
		d->info.flags = GPUSHARE_GET_NEXT;
		d->info.device = after;
		rc = gs_call(ctl, GPUSHARE_DEVICE_GET, &d->info);
		if (rc == -ENOENT)
			return 0;
		if (rc)
			return rc;
		if (d->info.device <= after)
			return -EPROTO;
		d->info.key[sizeof(d->info.key) - 1] = 0;
		d->stats.size = sizeof(d->stats);
		d->stats.what = GPUSHARE_STATS_DEVICE;
		d->stats.device = d->info.device;
		rc = gs_call(ctl, GPUSHARE_STATS, &d->stats);
		if (rc == -ENODEV || rc == -ENOENT)
			continue;	/* it was removed in between */
		if (rc)
			return rc;
		view->nr_devices++;
	}
}

/* A group that went away in between simply has no counters. */
static int take_group_on(struct gs_ctl *ctl, struct gs_group_on *on, uint64_t group,
			 uint32_t device)
{
	int rc;

	on->share.size = sizeof(on->share);
	on->share.group = group;
	on->share.cgroup_fd = -1;
	on->share.authority_fd = -1;
	on->share.device = device;
	rc = gs_call(ctl, GPUSHARE_SHARE_GET, &on->share);
	if (rc && rc != -ENOENT && rc != -ENODEV)
		return rc;
	on->share.path[sizeof(on->share.path) - 1] = 0;
	on->stats.size = sizeof(on->stats);
	on->stats.what = GPUSHARE_STATS_GROUP;
	on->stats.id = group;
	on->stats.device = device;
	rc = gs_call(ctl, GPUSHARE_STATS, &on->stats);
	return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
}

bool gs_group_is_part(const struct gpushare_share *group)
{
	return group->kind == GPUSHARE_GROUP_USER || group->kind == GPUSHARE_GROUP_CONTAINER;
}

const char *gs_user_name(uint32_t uid, char buffer[GS_USER])
{
	const struct passwd *user = getpwuid((uid_t)uid);

	if (user)
		snprintf(buffer, GS_USER, "%s", user->pw_name);
	else
		snprintf(buffer, GS_USER, "%u", uid);
	return buffer;
}

/* A tenant's part has its group's path: what tells them apart is whose it is. */
static void name_part(struct gpushare_share *group)
{
	size_t n = strlen(group->path), room = sizeof(group->path) - n;
	const struct passwd *user = NULL;

	if (group->kind == GPUSHARE_GROUP_USER)
		user = getpwuid((uid_t)group->tenant);
	if (user)
		snprintf(group->path + n, room, "@%.64s", user->pw_name);
	else
		snprintf(group->path + n, room, "@%s%llu",
			 group->kind == GPUSHARE_GROUP_USER ? "" : "container:",
			 (unsigned long long)group->tenant);
}

static int take_groups(struct gs_ctl *ctl, struct gs_view *view)
{
	struct gs_group_view *g;
	uint64_t after = 0;
	size_t i;
	int rc;

	for (;; after = g->all.group) {
		rc = GROW(view->groups, view->nr_groups, view->room_groups);
		if (rc)
			return rc;
		g = &view->groups[view->nr_groups];
		memset(g, 0, sizeof(*g));
		g->all.size = sizeof(g->all);
		g->all.flags = GPUSHARE_GET_NEXT;
		g->all.cgroup_fd = -1;
		g->all.authority_fd = -1;
		g->all.group = after;
		rc = gs_call(ctl, GPUSHARE_SHARE_GET, &g->all);
		if (rc == -ENOENT)
			return 0;
		if (rc)
			return rc;
		if (g->all.group <= after)
			return -EPROTO;
		g->all.path[sizeof(g->all.path) - 1] = 0;
		if (gs_group_is_part(&g->all))
			name_part(&g->all);
		g->on = calloc(view->nr_devices + 1, sizeof(*g->on));
		if (!g->on)
			return -ENOMEM;
		view->nr_groups++;
		for (i = 0; i < view->nr_devices; i++) {
			rc = take_group_on(ctl, &g->on[i], g->all.group,
					   view->devices[i].info.device);
			if (rc)
				return rc;
		}
	}
}

static int take_clients(struct gs_ctl *ctl, struct gs_view *view)
{
	struct gpushare_stats *s;
	uint64_t after = 0;
	int rc;

	for (;; after = s->id) {
		rc = GROW(view->clients, view->nr_clients, view->room_clients);
		if (rc)
			return rc;
		s = &view->clients[view->nr_clients];
		memset(s, 0, sizeof(*s));
		s->size = sizeof(*s);
		s->flags = GPUSHARE_GET_NEXT;
		s->what = GPUSHARE_STATS_CLIENT;
		s->id = after;
		rc = gs_call(ctl, GPUSHARE_STATS, s);
		if (rc == -ENOENT)
			return 0;
		if (rc)
			return rc;
		if (s->id <= after)
			return -EPROTO;
		s->comm[sizeof(s->comm) - 1] = 0;
		view->nr_clients++;
	}
}

static int by_path(const void *a, const void *b)
{
	const struct gs_group_view *x = a, *y = b;
	const unsigned char *s = (const unsigned char *)x->all.path;
	const unsigned char *t = (const unsigned char *)y->all.path;

	/* '/' before all else, so that "/a/b" comes before "/a-c". */
	for (; *s && *s == *t; s++, t++)
		;
	return (*s == '/' ? 1 : *s) - (*t == '/' ? 1 : *t);
}

/* The @i-th is the @n-th from now on. */
static void place(struct gs_view *view, size_t i, size_t n, unsigned int depth)
{
	struct gs_group_view g = view->groups[i];

	g.depth = depth;
	memmove(&view->groups[n + 1], &view->groups[n], (i - n) * sizeof(g));
	view->groups[n] = g;
}

/* Those below @parent come next, in the order in which they are; @n have their place. */
static void place_below(struct gs_view *view, uint64_t parent, unsigned int depth, size_t *n)
{
	size_t i;

	for (i = *n; i < view->nr_groups; i++) {
		if (view->groups[i].all.parent != parent)
			continue;
		place(view, i, *n, depth);
		i = (*n)++;
		place_below(view, view->groups[i].all.group, depth + 1, n);
		i = *n - 1;
	}
}

/* Parts, and what their tenants make, don't lie where their paths would have them. */
static void place_in_tree(struct gs_view *view)
{
	size_t i, n = 0;

	for (i = 0; i < view->nr_groups; i++) {
		if (gs_view_group(view, view->groups[i].all.parent))
			continue;
		place(view, i, n, 0);
		i = n++;
		place_below(view, view->groups[i].all.group, 1, &n);
		i = n - 1;
	}
}

int gs_view_take(struct gs_ctl *ctl, struct gs_view *view, unsigned int what)
{
	int rc;

	*view = (struct gs_view){ 0 };
	rc = gs_connect(ctl);
	if (rc)
		return rc;
	rc = take_devices(ctl, view);
	if (!rc && (what & GS_VIEW_GROUPS))
		rc = take_groups(ctl, view);
	if (!rc && (what & GS_VIEW_CLIENTS))
		rc = take_clients(ctl, view);
	if (rc) {
		gs_view_free(view);
		return gs_call_error("arbiter", rc);
	}
	if (view->nr_groups)
		qsort(view->groups, view->nr_groups, sizeof(*view->groups), by_path);
	place_in_tree(view);
	return 0;
}

void gs_view_free(struct gs_view *view)
{
	size_t i;

	for (i = 0; i < view->nr_groups; i++)
		free(view->groups[i].on);
	free(view->groups);
	free(view->devices);
	free(view->clients);
	*view = (struct gs_view){ 0 };
}

const struct gs_group_view *gs_view_group(const struct gs_view *view, uint64_t id)
{
	size_t i;

	for (i = 0; i < view->nr_groups; i++)
		if (view->groups[i].all.group == id)
			return &view->groups[i];
	return NULL;
}

size_t gs_view_device_index(const struct gs_view *view, uint32_t id)
{
	size_t i;

	for (i = 0; i < view->nr_devices && view->devices[i].info.device != id; i++)
		;
	return i;
}

const struct gs_device_view *gs_view_device(const struct gs_view *view, uint32_t id)
{
	size_t i = gs_view_device_index(view, id);

	return i < view->nr_devices ? &view->devices[i] : NULL;
}

bool gs_pci_key(const char *text, char key[GPUSHARE_KEY_MAX])
{
	unsigned int domain = 0, bus, slot, function;
	int n = -1;

	if (!strncmp(text, "pci:", 4))
		text += 4;
	if (strlen(text) > 16 || strspn(text, "0123456789abcdefABCDEF:.") != strlen(text))
		return false;
	if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &n) != 4 || text[n]) {
		domain = 0;
		n = -1;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &slot, &function, &n) != 3 || text[n])
			return false;
	}
	snprintf(key, GPUSHARE_KEY_MAX, "pci:%04x:%02x:%02x.%x", domain, bus, slot, function);
	return true;
}

int gs_device_choose(const struct gs_view *view, const char *text, uint32_t *id)
{
	const struct gpushare_device *found = NULL, *d;
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	char key[GPUSHARE_KEY_MAX];
	size_t i;

	if (!gs_pci_key(text, key))
		snprintf(key, sizeof(key), "%s", text);
	if (!strcmp(text, "all")) {
		*id = GPUSHARE_ALL_DEVICES;
		return 0;
	}
	for (i = 0; i < view->nr_devices; i++) {
		d = &view->devices[i].info;
		if (!strcmp(d->key, text) || !strcmp(d->key, key) ||
		    (*text && !*end && d->device == number)) {
			*id = d->device;
			return 0;
		}
		if (!strstr(d->key, text))
			continue;
		if (found)
			return gs_error(GS_EXIT_NOT_FOUND, text, "is it device %s or %s? Say more of "
					"the key", found->key, d->key);
		found = d;
	}
	if (!found || !*text)
		return gs_error(GS_EXIT_NOT_FOUND, text, "no such device; gpusharectl device list "
				"shows those known");
	*id = found->device;
	return 0;
}

const char *gs_state_name(uint32_t state)
{
	return state & GPUSHARE_GONE ? "gone" :
	       state & GPUSHARE_PREEMPT ? "yielding" :
	       state & GPUSHARE_GRANTED ? "running" :
	       state & GPUSHARE_WAITING ? "waiting" : "idle";
}
