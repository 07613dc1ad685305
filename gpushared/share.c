// SPDX-License-Identifier: MIT
/*
 * Setting and showing shares. A group is made by its first setting and goes
 * with its last; what can't be set leaves all as it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpushared.h"

_Static_assert((int)GS_SHARE_WEIGHT == GPUSHARE_SHARE_WEIGHT &&
	       (int)GS_SHARE_CLASS == GPUSHARE_SHARE_CLASS &&
	       (int)GS_SHARE_MAX == GPUSHARE_SHARE_MAX && (int)GS_SHARE_MIN == GPUSHARE_SHARE_MIN &&
	       (int)GS_SHARE_MEM_MAX == GPUSHARE_SHARE_MEM_MAX &&
	       (int)GS_SHARE_MEM_HIGH == GPUSHARE_SHARE_MEM_HIGH &&
	       (int)GS_SHARE_MEM_MIN == GPUSHARE_SHARE_MEM_MIN &&
	       (int)GS_CLASS_LATENCY == GPUSHARE_CLASS_LATENCY &&
	       (int)GS_CLASS_IDLE == GPUSHARE_CLASS_IDLE, "the core's numbers are the uapi's");

static int check_ranges(const struct gpushare_share *u)
{
	uint32_t m = u->mask;

	if ((m & GPUSHARE_SHARE_WEIGHT && (u->weight < 1 || u->weight > 10000)) ||
	    (m & GPUSHARE_SHARE_CLASS && u->class > GPUSHARE_CLASS_IDLE) ||
	    (m & GPUSHARE_SHARE_MIN && u->min_permille > 1000))
		return -ERANGE;
	if (m & GPUSHARE_SHARE_MAX &&
	    (u->period_us < 1000 || u->period_us > 1000000 || !u->max_us ||
	     u->burst_us > u->max_us ||
	     (u->max_us != GPUSHARE_NO_LIMIT && u->max_us > GS_SEATS_MAX * u->period_us)))
		return -ERANGE;
	return 0;
}

static void convert(struct gs_share *s, const struct gpushare_share *u)
{
	gs_share_init(s);
	s->weight = u->weight;
	s->class = u->class;
	s->quota = u->max_us == GPUSHARE_NO_LIMIT ? GS_UNLIMITED : u->max_us * 1000;
	s->period = u->period_us * 1000;
	s->burst = u->max_us == GPUSHARE_NO_LIMIT ? 0 : u->burst_us * 1000;
	s->min = u->min_permille;
	s->mem_max = u->mem_max;
	s->mem_high = u->mem_high;
	s->mem_min = u->mem_min;
}

static struct gs_node *node_of(struct group *g, struct device *dev)
{
	return gs_node_find(g->node, &dev->core);
}

/* What is set now, so that it can be put back. */
static uint32_t *set_of(struct group *g, struct device *dev)
{
	return dev ? &node_of(g, dev)->own : &g->set;
}

static int core_error(int err)
{
	return err == -ENOSPC ? -EBUSY : err == -EINVAL ? -ERANGE : err;
}

/* Sets what @u->mask names and resets what @u->reset names, or neither. */
int share_apply(struct group *g, struct device *dev, const struct gpushare_share *u)
{
	struct gs_device *core = dev ? &dev->core : NULL;
	uint64_t now = now_ns();
	struct gs_share share, old;
	uint32_t had;
	int err;

	err = check_ranges(u);
	if (!err && dev)
		err = group_nodes(g, dev);
	if (err)
		return err;
	had = *set_of(g, dev);
	old = dev ? node_of(g, dev)->share : g->node->share;
	convert(&share, u);
	if (u->mask) {
		err = gs_group_set(g->node, core, &share, u->mask, now);
		if (err)
			return core_error(err);
	}
	if (u->reset & had) {
		err = gs_group_unset(g->node, core, u->reset & had, now);
		if (err) {
			if (u->mask & had)
				gs_group_set(g->node, core, &old, u->mask & had, now);
			if (u->mask & ~had)
				gs_group_unset(g->node, core, u->mask & ~had, now);
			return core_error(err);
		}
	}
	if (!dev)
		g->set = (g->set | u->mask) & ~u->reset;
	return 0;
}

/* Which cgroup is meant, by file or by id; a named group has no path. */
static int find_target(const struct gpushare_share *u, const struct gs_seen *files,
		       unsigned int nr_files, uint64_t *id, char *path, size_t size)
{
	struct group *g;

	*path = 0;
	*id = u->group;
	if (u->cgroup_fd >= 0) {
		if ((unsigned int)u->cgroup_fd >= nr_files)
			return -EBADF;
		return cgroup_path_of_seen(&files[u->cgroup_fd], path, size, id);
	}
	if (*id >= GPUSHARE_PART_FIRST && *id < GPUSHARE_NAMED_FIRST)
		return -EINVAL;		/* a cgroup can be given a share */
	g = group_find(*id);
	if (g) {
		if (group_is_cgroup(g) && !cgroup_is_held(g->path, g->dir))
			return -ENOENT;
		if (!g->named)
			strcpy(path, g->path);
		return 0;
	}
	if (*id >= GPUSHARE_NAMED_FIRST)
		return -ENOENT;
	return cgroup_path_of_id(*id, path, size);
}

/* Containers have user ids in common. */
static bool is_own(const struct peer *p, const struct group *named)
{
	return named->uid == p->uid && named->maker == p->tenant;
}

static bool below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return !top[1] || (!strncmp(path, top, n) && (!path[n] || path[n] == '/'));
}

/* A peer's own cgroup, NULL for none; read once a command, as listings pass over many. */
static const char *own_cgroup(const struct peer *p)
{
	static char path[CGROUP_PATH_MAX];
	static uint64_t read_for;
	static bool there;

	if (read_for != d.commands) {
		there = !cgroup_of_peer(p, path, sizeof(path));
		read_for = d.commands;
	}
	return there ? path : NULL;
}

/* One in another cgroup name space sees, as far as can be told from here, its own and below. */
static bool path_visible(const struct peer *p, const char *path)
{
	const char *own = p->foreign ? own_cgroup(p) : "/";

	return own && below(path, own);
}

/* What isn't seen and may not be set is as if it weren't there. */
static int may_set(const struct peer *p, const struct group *g, const char *path,
		   const struct gs_seen *authority)
{
	if (g && g->named)
		return is_own(p, g) || p->admin ? 0 : -ENOENT;
	if (!cgroup_authority(p, path, authority))
		return 0;
	return path_visible(p, path) ? -EPERM : -ENOENT;
}

static void show(struct peer *p, struct group *g, struct device *dev, struct gpushare_share *u);

/* What is to be below it was promised more than it has, or there are too many levels. */
static int tree_error(int err, struct gpushare_share *u)
{
	if (err == -ENOSPC)
		u->min_free = 0;
	return err == -ENOSPC ? -EBUSY : err == -EINVAL ? -EUSERS : err;
}

static int set_checked(struct peer *p, struct gpushare_share *u, uint64_t id, const char *path,
		       struct device *dev)
{
	struct group *g = group_find(id);
	uint64_t was = g ? g->maker : 0;
	bool made = !g, taken = was && p->admin && !g->named;
	int err;

	if (made) {
		if (!u->mask)
			return -ENOENT;	/* nothing is set, so there is nothing to reset */
		err = group_make_cgroup(id, path, p->admin ? 0 : p->tenant, p->admin, &g);
	} else {
		/* What an admin sets is one's own doing no more. */
		err = taken ? tree_error(group_assign(g, 0), u) : 0;
	}
	if (err)
		return err;
	err = share_apply(g, dev, u);
	if (err == -EBUSY)
		u->min_free = gs_min_room(g->node, dev ? &dev->core : NULL);
	if (!err && (made || taken)) {
		err = tree_error(group_take_children(g), u);
		if (err && made) {
			group_remove(g);	/* what it took goes back to its parent */
			return err;
		}
	}
	if (err && taken)
		group_assign(g, was);
	if (!err) {
		state_group_changed(g);
		show(p, g, dev, u);
		if (made || taken)
			group_resolve_clients();
	}
	group_drop_if_unused(g);
	return err;
}

int share_set(struct peer *p, struct gpushare_share *u, const struct gs_seen *files,
	      unsigned int nr_files)
{
	const struct gs_seen *authority = NULL;
	char path[CGROUP_PATH_MAX];
	struct device *dev = NULL;
	uint64_t id;
	int err;

	if (u->flags || ((u->mask | u->reset) & ~GPUSHARE_SHARE_ALL) ||
	    (u->mask & u->reset) || !(u->mask | u->reset))
		return -EINVAL;
	if (u->authority_fd >= 0) {
		if ((unsigned int)u->authority_fd >= nr_files)
			return -EBADF;
		authority = &files[u->authority_fd];
	}
	if (u->device) {
		dev = device_find(u->device, NULL);
		if (!dev)
			return -ENODEV;
	}
	group_collect(p, false);
	err = find_target(u, files, nr_files, &id, path, sizeof(path));
	if (!err && !strcmp(path, "/"))
		err = -EINVAL;		/* there is nobody to share with */
	if (!err)
		err = may_set(p, group_find(id), path, authority);
	if (!err)
		err = check_ranges(u);
	if (err)
		return err;
	err = set_checked(p, u, id, path, dev);
	/* What removed cgroups had is not in the way of the living. */
	if ((err == -EBUSY || err == -EUSERS) && group_collect(p, true))
		err = set_checked(p, u, id, path, dev);
	return err;
}

/* Clients that stand in the group itself and, with @below, in any below it. */
static unsigned int clients_of(const struct gs_group *group, const struct device *dev, bool below)
{
	const struct gs_node *n;
	unsigned int sum = 0;

	list_for_each_entry(n, &group->nodes, of_group)
		if (!dev || n->dev == &dev->core)
			sum += below ? n->present : n->clients;
	return sum;
}

/*
 * The part of the device that it gets if all others want some too: at each level its
 * weight among all that compete there. These are its sibling groups, the parts of tenants
 * where there is anybody, and its parent's own clients if all of that is one tenant's.
 * The idle class gets what others leave.
 */
static uint32_t entitled(struct group *g, struct device *dev)
{
	uint64_t part = 1000000, busy, idle;
	const struct gs_share *own, *s;
	struct gs_group *i, *at;
	struct gs_node *n;

	for (at = g->node; at->parent; at = at->parent) {
		busy = (uint64_t)GS_WEIGHT_DEFAULT * clients_of(at->parent, dev, false);
		idle = 0;
		own = &at->share;
		list_for_each_entry(i, &at->parent->children, sibling) {
			n = dev ? gs_node_find(i, &dev->core) : NULL;
			s = n ? &n->share : &i->share;
			if (i == at)
				own = s;
			else if (gs_tenant_is(i) && !clients_of(i, dev, true))
				continue;
			if (s->class == GS_CLASS_IDLE)
				idle += s->weight;
			else
				busy += s->weight;
		}
		if (own->class == GS_CLASS_IDLE && busy)
			return 0;
		part = part * own->weight / (busy ? busy : idle);
	}
	return (uint32_t)((part + 500) / 1000);
}

/*
 * A caller that isn't an admin sees its own cgroup and below, with all parts of these,
 * and its named groups.
 */
bool group_visible(const struct peer *p, const struct group *g)
{
	const char *own;

	if (p->admin)
		return true;
	if (g->named)
		return is_own(p, g);
	own = own_cgroup(p);
	return own && below(group_whole(g)->path, own);
}

/*
 * The path as the caller sees it. One in another cgroup name space is, as far
 * as can be told from here, in the root of its own.
 */
static void show_path(const struct peer *p, const struct group *g, char *to, size_t size)
{
	const char *path = g->named ? g->name : group_whole(g)->path;
	const char *own = !g->named && p->foreign ? own_cgroup(p) : NULL;
	size_t n;

	if (own && own[1] && below(path, own)) {
		path += strlen(own);
		path = *path ? path : "/";
	}
	n = strlen(path);
	n = n < size ? n : size - 1;
	memcpy(to, path, n);
	to[n] = 0;
}

static void show_kind(const struct peer *p, const struct group *g, struct gpushare_share *u)
{
	uint64_t id = g->uid;

	if (g->named)
		u->kind = GPUSHARE_GROUP_NAMED;
	else if (gs_tenant_is(g->node))
		u->kind = tenant_kind(g->node->tenant, &id);
	else
		return;
	u->tenant = u->kind == GPUSHARE_GROUP_CONTAINER ? id : uid_seen_by(p, (uid_t)id);
}

static void show(struct peer *p, struct group *g, struct device *dev, struct gpushare_share *u)
{
	struct gs_node *n = dev ? node_of(g, dev) : NULL;
	const struct gs_share *s = n ? &n->share : &g->node->share;
	uint32_t size = u->size;
	struct gs_group *i;

	*u = (struct gpushare_share){
		.size = size,
		.group = g->id,
		.cgroup_fd = -1,
		.authority_fd = -1,
		.device = dev ? (uint32_t)dev->core.id : 0,
		.mask = dev ? (n ? n->own : 0) : g->set,
		.weight = s->weight,
		.class = s->class,
		.min_permille = s->min,
		.max_us = s->quota == GS_UNLIMITED ? GPUSHARE_NO_LIMIT : s->quota / 1000,
		.period_us = s->period / 1000,
		.burst_us = s->burst / 1000,
		.mem_max = s->mem_max,
		.mem_high = s->mem_high,
		.mem_min = s->mem_min,
		.parent = g->node->parent ? g->node->parent->id : 0,
		.entitled_permille = entitled(g, dev),
		.clients = clients_of(g->node, dev, false),
	};
	list_for_each_entry(i, &g->node->children, sibling)
		if (gs_tenant_is(i))
			u->clients += clients_of(i, dev, false);
	show_kind(p, g, u);
	show_path(p, g, u->path, sizeof(u->path));
}

/*
 * Who may set a share may read it as well, if that shows from the files that came along.
 * A directory alone proves nothing, as everybody can open all of them.
 */
static bool may_read(const struct peer *p, const struct group *g, const struct gpushare_share *u,
		     const struct gs_seen *files, unsigned int nr_files)
{
	const struct gs_seen *authority = NULL;

	if (group_visible(p, g))
		return true;
	if (u->authority_fd >= 0 && (unsigned int)u->authority_fd < nr_files)
		authority = &files[u->authority_fd];
	if (!group_is_cgroup(g) || (u->cgroup_fd < 0 && !authority))
		return false;
	return cgroup_is_held(g->path, g->dir) && !cgroup_authority(p, g->path, authority);
}

/* The group that is named, if the peer may read its share. */
static int find_read(const struct peer *p, const struct gpushare_share *u,
		     const struct gs_seen *files, unsigned int nr_files, struct group **group)
{
	char path[CGROUP_PATH_MAX];
	uint64_t id = u->group;
	int err;

	if (u->cgroup_fd >= 0) {
		if ((unsigned int)u->cgroup_fd >= nr_files)
			return -EBADF;
		err = cgroup_path_of_seen(&files[u->cgroup_fd], path, sizeof(path), &id);
		if (err)
			return err;
	}
	*group = group_find(id);
	return *group && may_read(p, *group, u, files, nr_files) ? 0 : -ENOENT;
}

int share_get(struct peer *p, struct gpushare_share *u, const struct gs_seen *files,
	      unsigned int nr_files)
{
	struct device *dev = NULL;
	struct group *g;
	int err = 0;

	if (u->flags & ~GPUSHARE_GET_NEXT)
		return -EINVAL;
	if (u->device) {
		dev = device_find(u->device, NULL);
		if (!dev)
			return -ENODEV;
	}
	group_collect(p, false);
	if (u->flags & GPUSHARE_GET_NEXT) {
		for (g = group_next(u->group); g; g = group_next(g->id))
			if (group_visible(p, g))
				break;
		err = g ? 0 : -ENOENT;
	} else {
		err = find_read(p, u, files, nr_files, &g);
	}
	if (err)
		return err;
	show(p, g, dev, u);
	return 0;
}
