// SPDX-License-Identifier: MIT
/*
 * Setting and showing shares. A group is made by its first setting and goes
 * with its last; what can't be set leaves all as it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpushared.h"

int share_apply(struct group *g, struct device *dev, struct gpushare_share *u)
{
	int err = dev ? group_nodes(g, dev) : 0;

	if (err)
		return err;
	return gs_contract_share_apply(g->node, dev ? &dev->core : NULL, &g->set, u, now_ns());
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
	int err = gs_contract_share_check(u);

	if (err)
		return err;
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
	if (err)
		return err;
	err = set_checked(p, u, id, path, dev);
	/* What removed cgroups had is not in the way of the living. */
	if ((err == -EBUSY || err == -EUSERS) && group_collect(p, true))
		err = set_checked(p, u, id, path, dev);
	return err;
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
	*u = (struct gpushare_share){ .size = u->size, .cgroup_fd = -1, .authority_fd = -1 };
	gs_contract_share_show(u, g->node, dev ? &dev->core : NULL, g->set, now_ns());
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
