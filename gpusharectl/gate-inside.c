// SPDX-License-Identifier: MIT
/* Who is let in: by an administrator's share, by the allowlist, or as gpusharectl run. */
#include "gate.h"
#include "target.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define GROUPS_MOST	1000000

struct group {
	uint64_t id, parent;
	uint32_t kind;
};

static const struct group *group_of(const struct group *v, size_t n, uint64_t id)
{
	size_t low = 0, high = n, mid;

	/* By id, as the arbiter lists them. */
	while (low < high) {
		mid = (low + high) / 2;
		if (v[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && v[low].id == id ? &v[low] : NULL;
}

/*
 * What a tenant has set divides what it has: such a group hangs below its part of another,
 * or below a group that does. The root is nobody's setting.
 */
static bool is_admins(const struct group *v, size_t n, const struct group *g)
{
	unsigned int depth;

	if (g->kind != GPUSHARE_GROUP_CGROUP || !g->parent)
		return false;
	for (depth = 0; g && g->parent && depth < 4 * GS_GATE_LEVELS; depth++) {
		if (g->kind != GPUSHARE_GROUP_CGROUP)
			return false;
		g = group_of(v, n, g->parent);
	}
	return true;
}

static bool is_below_admins(const struct group *v, size_t n, const struct group *g)
{
	unsigned int depth;

	for (depth = 0; g && g->parent && depth < 4 * GS_GATE_LEVELS; depth++) {
		if (is_admins(v, n, g))
			return true;
		g = group_of(v, n, g->parent);
	}
	return false;
}

int gs_shared_list(struct gs_ctl *ctl, struct gs_shared **list, size_t *nr)
{
	struct gpushare_share s;
	struct group *v = NULL, *more;
	size_t n = 0, room = 0, i;
	uint64_t after = 0;
	int rc;

	*list = NULL;
	*nr = 0;
	for (;; after = s.group) {
		s = (struct gpushare_share){ .size = sizeof(s), .flags = GPUSHARE_GET_NEXT,
					     .cgroup_fd = -1, .authority_fd = -1, .group = after };
		rc = gs_call(ctl, GPUSHARE_SHARE_GET, &s);
		if (rc == -ENOENT)
			break;
		if (!rc && (s.group <= after || n == GROUPS_MOST))
			rc = -EPROTO;
		if (!rc && n == room) {
			more = reallocarray(v, 2 * room + 64, sizeof(*v));
			rc = more ? 0 : -ENOMEM;
			v = more ? more : v;
			room = 2 * room + 64;
		}
		if (rc) {
			free(v);
			return rc;
		}
		v[n++] = (struct group){ s.group, s.parent, s.kind };
	}
	*list = calloc(n + 1, sizeof(**list));
	for (i = 0; *list && i < n; i++)
		if (v[i].kind == GPUSHARE_GROUP_CGROUP && v[i].parent)
			(*list)[(*nr)++] = (struct gs_shared){ v[i].id, is_admins(v, n, &v[i]),
							       is_below_admins(v, n, &v[i]) };
	free(v);
	return *list ? 0 : -ENOMEM;
}

static int add_inside(struct gs_gate_wish *wish, uint64_t cgroup, uint32_t why)
{
	struct gs_inside *more;

	if (wish->nr_inside == wish->room) {
		more = reallocarray(wish->inside, 2 * wish->room + 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		wish->inside = more;
		wish->room = 2 * wish->room + 64;
	}
	wish->inside[wish->nr_inside++] = (struct gs_inside){ cgroup, why };
	return 0;
}

struct search {
	struct gs_ctl *ctl;
	struct gs_gate_wish *wish;
	const char *pattern;
};

/* One that was named, and is there. */
static int add_named(struct search *s, const char *text)
{
	const struct gs_view nothing = { 0 };
	struct gs_target target;
	int rc = gs_target_find(s->ctl, &nothing, text, GS_TARGET_QUIET | GS_TARGET_LATER, &target);

	if (rc == GS_EXIT_NOT_FOUND)
		return 0;
	if (!rc && target.cgroup_fd >= 0 && add_inside(s->wish, target.group, GS_IN_LIST))
		rc = gs_call_error("gate", -ENOMEM);
	gs_target_close(&target);
	return rc;
}

static int add_match(const char *path, void *arg)
{
	struct search *s = arg;

	return gs_cgroup_matches(s->pattern, path) ? add_named(s, path) : 0;
}

static int add_allowed(struct search *s, const char *pattern)
{
	int rc;

	if (gs_is_exact(pattern) && strncmp(pattern, "unit:", 5))
		return add_named(s, pattern);
	s->pattern = pattern;
	rc = gs_cgroup_walk(add_match, s);
	return rc == -E2BIG ? gs_error(GS_EXIT_FAILURE, pattern, "too many cgroups to search; give "
				       "paths") : rc;
}

int gs_gate_wish(struct gs_ctl *ctl, const struct gs_gate_rules *rules, struct gs_gate_wish *wish)
{
	struct search search = { .ctl = ctl, .wish = wish };
	struct gs_shared *shared = NULL;
	char why[320];
	unsigned int k;
	size_t i, nr = 0;
	int rc;

	*wish = (struct gs_gate_wish){ .mode = rules->mode };
	rc = gs_nodes_find(&wish->nodes);
	if (rc)
		return gs_call_error("gate", rc);
	for (k = 0; k < rules->nr_nodes; k++)
		if (gs_nodes_add(&wish->nodes, rules->nodes[k], why, sizeof(why)))
			return gs_error(GS_EXIT_USAGE, "gate", "%s", why);
	for (k = 0; k < rules->nr_allow; k++) {
		rc = add_allowed(&search, rules->allow[k]);
		if (rc)
			return rc;
	}
	if (!ctl->arbiter)
		return 0;
	rc = gs_shared_list(ctl, &shared, &nr);
	for (i = 0; !rc && i < nr; i++)
		if (shared[i].admins)
			rc = add_inside(wish, shared[i].cgroup, GS_IN_SHARE);
	free(shared);
	return rc ? gs_call_error("gate", rc) : 0;
}

void gs_gate_wish_free(struct gs_gate_wish *wish)
{
	gs_nodes_free(&wish->nodes);
	free(wish->inside);
	*wish = (struct gs_gate_wish){ 0 };
}

int gs_gate_take_shares(const struct gs_gate *gate, const struct gs_shared *list, size_t nr)
{
	uint64_t *ids = calloc(nr + 1, sizeof(*ids));
	size_t i, n = 0;
	int rc;

	if (!ids)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (list[i].admins)
			ids[n++] = list[i].cgroup;
	rc = gs_gate_only(gate, GS_IN_SHARE, ids, n);
	free(ids);
	return rc;
}

void gs_gate_share_set(struct gs_ctl *ctl)
{
	struct gs_shared *list;
	struct gs_gate gate;
	size_t nr;
	int lock;

	/* To look whether there is one is cheap; the lock is taken only if so. */
	if (geteuid() || gs_gate_find("/", &gate))
		return;
	gs_gate_close(&gate);
	if (gs_shared_list(ctl, &list, &nr))
		return;
	lock = gs_gate_lock();
	if (lock >= 0 && !gs_gate_find("/", &gate)) {
		gs_gate_take_shares(&gate, list, nr);
		gs_gate_close(&gate);
	}
	if (lock >= 0)
		close(lock);
	free(list);
}

/* Calls @fn with each path from the root to @cgroup, itself included. */
static int each_above(const char *cgroup, int (*fn)(const char *path, void *arg), void *arg)
{
	char path[PATH_MAX];
	const char *slash;
	int rc = fn("/", arg);

	for (slash = cgroup; !rc && *slash; ) {
		slash = strchrnul(slash + 1, '/');
		snprintf(path, sizeof(path), "%.*s", (int)(slash - cgroup), cgroup);
		if (path[1])
			rc = fn(path, arg);
	}
	return rc;
}

struct let {
	uint64_t cgroup;
	bool in;
};

static int let_at(const char *path, void *arg)
{
	const struct let *let = arg;
	struct gs_gate gate;
	int rc = gs_gate_find(path, &gate);

	if (rc == -ENOENT || rc == -ENODATA || rc == -ENOSYS || rc == -EINVAL)
		return 0;	/* none, nor can there be one */
	if (rc)
		return rc;
	rc = gs_gate_let(&gate, let->cgroup, GS_IN_RUN, let->in);
	gs_gate_close(&gate);
	return rc;
}

int gs_gate_let_run(const char *cgroup, bool in)
{
	const struct gs_view nothing = { 0 };
	struct gs_target target;
	struct let let = { .in = in };
	struct gs_ctl quiet = { 0 };
	int lock, rc;

	if (geteuid() && gs_gate_seen(cgroup) == GS_GATE_OFF)
		return 0;
	if (gs_target_find(&quiet, &nothing, cgroup, GS_TARGET_QUIET, &target))
		return -ENOENT;
	let.cgroup = target.group;
	lock = geteuid() ? -EPERM : gs_gate_lock();
	rc = lock < 0 ? lock : each_above(cgroup, let_at, &let);
	if (lock >= 0)
		close(lock);
	if (rc == -EPERM && in)
		rc = fgetxattr(target.cgroup_fd, GS_GATE_MARK, NULL, 0) >= 0 ||
			gs_gate_seen(cgroup) == GS_GATE_SHARE ? 0 : -EAGAIN;
	gs_target_close(&target);
	return rc;
}

static int see_at(const char *path, void *arg)
{
	enum gs_gate_mode *mode = arg, found;
	char full[2 * PATH_MAX], word[16];
	ssize_t n;

	snprintf(full, sizeof(full), "%s%s", gs_cgroup_mount(), path);
	n = getxattr(full, GS_GATE_MARK, word, sizeof(word) - 1);
	if (n > 0) {
		word[n] = 0;
		if (!gs_gate_mode_parse(word, &found))
			*mode = found;
	}
	return 0;
}

enum gs_gate_mode gs_gate_seen(const char *cgroup)
{
	enum gs_gate_mode mode = GS_GATE_OFF;

	if (gs_cgroup_mount())
		each_above(cgroup, see_at, &mode);
	return mode;
}
