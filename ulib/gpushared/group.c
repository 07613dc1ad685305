// SPDX-License-Identifier: MIT
/*
 * Groups: those that mirror a cgroup with a share, and named ones below them.
 * A task belongs to the nearest ancestor of its cgroup that is a group.
 *
 * A group can come between others: /a is given a share when /a/b has one. Then
 * what is below moves under it. After groups came or went, the clients are
 * looked up anew.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpushared.h"

#define COLLECT_NS	50000000ull	/* after a collection, or 19 times as long as it took */
#define RESOLVE_NS	400000ull	/* for a look at a client, which takes some 20 us */
#define PURSE_NS	3000000000ull	/* what a purse holds: so 60 collections at once */
#define PURSES		64

void group_init(void)
{
	d.root.node = &d.arb.root;
	d.root.id = d.arb.root.id;
	d.root.path = (char *)"/";
	d.root.keep = 1;
	d.next_named = GPUSHARE_NAMED_FIRST;
	list_add_tail(&d.root.link, &d.groups);
}

struct group *group_find(uint64_t id)
{
	struct group *g;

	list_for_each_entry(g, &d.groups, link)
		if (g->id == id)
			return g;
	return NULL;
}

struct group *group_next(uint64_t id)
{
	struct group *g;

	list_for_each_entry(g, &d.groups, link)
		if (g->id > id)
			return g;
	return NULL;
}

struct group *group_named(const char *name)
{
	struct group *g;

	list_for_each_entry(g, &d.groups, link)
		if (g->named && !strcmp(g->name, name))
			return g;
	return NULL;
}

struct group *group_of(struct gs_group *core)
{
	return core == &d.arb.root ? &d.root : container_of(core, struct group, core);
}

bool group_name_ok(const char *name)
{
	size_t i, n = strnlen(name, GPUSHARE_NAME_MAX);

	if (!n || n == GPUSHARE_NAME_MAX)
		return false;
	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

/* Sorted by id, for NEXT. */
static void insert(struct group *g)
{
	struct group *after = NULL, *i;

	list_for_each_entry(i, &d.groups, link)
		if (i->id < g->id)
			after = i;
	list_add(&g->link, after ? &after->link : &d.groups);
	d.nr_groups++;
}

int group_make(uint64_t id, struct group *parent, struct group **group)
{
	struct group *g;
	int err;

	if (d.nr_groups >= MAX_GROUPS)
		return -EUSERS;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->node = &g->core;
	g->id = id;
	err = gs_group_add(&d.arb, &g->core, id, parent->node, now_ns());
	if (err) {
		free(g);
		return err;
	}
	insert(g);
	*group = g;
	return 0;
}

/* Users, however many they are, can't take all the room that there is. */
bool group_room(const struct peer *p)
{
	return p->admin || d.nr_groups < MAX_GROUPS - MAX_GROUPS_ADMIN;
}

static bool is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	if (!top[1])
		return path[1];
	return !strncmp(path, top, n) && path[n] == '/';
}

/* The nearest group at or above a cgroup's path. */
struct group *group_of_path(const char *path)
{
	struct group *g, *best = &d.root;
	uint64_t id;

	list_for_each_entry(g, &d.groups, link) {
		if (!g->path || (strcmp(path, g->path) && !is_below(path, g->path)) ||
		    strlen(g->path) <= strlen(best->path))
			continue;
		if (!cgroup_id_of_path(g->path, &id) && id == g->id)
			best = g;
	}
	return best;
}

struct group *group_of_pid(pid_t pid)
{
	char path[CGROUP_PATH_MAX];

	if (!d.nr_groups || cgroup_of_pid(pid, path, sizeof(path)))
		return &d.root;
	return group_of_path(path);
}

/*
 * What hung on its parent and lies below the new one, hangs on it from now on.
 * Called when its own share is set, as its min has to bear theirs.
 */
int group_take_children(struct group *g)
{
	struct gs_group *parent = g->node->parent;
	struct gs_node *n;
	struct group *i;
	int err;

	list_for_each_entry(i, &d.groups, link) {
		if (i == g || !i->path || i->node->parent != parent || !is_below(i->path, g->path))
			continue;
		list_for_each_entry(n, &i->node->nodes, of_group) {
			err = group_nodes(g, n->dev->priv);
			if (err)
				return err;
		}
		err = gs_group_move(i->node, g->node, now_ns());
		if (err)
			return err;
	}
	return 0;
}

int group_make_cgroup(uint64_t id, const char *path, struct group **group)
{
	struct group *parent = group_of_path(path), *g;
	char *copy = strdup(path);
	int err;

	if (!copy)
		return -ENOMEM;
	err = group_make(id, parent, &g);
	if (err) {
		free(copy);
		return err;
	}
	g->path = copy;
	*group = g;
	return 0;
}

/* Nodes of it and its ancestors on a device. */
int group_nodes(struct group *g, struct device *dev)
{
	struct gs_group *missing;
	struct gs_node *node;
	int err;

	while ((missing = gs_group_missing(g->node, &dev->core))) {
		node = calloc(1, sizeof(*node));
		if (!node)
			return -ENOMEM;
		err = gs_node_add(node, missing, &dev->core, now_ns());
		if (err) {
			free(node);
			return err;
		}
	}
	return 0;
}

static bool move_nodes(struct group *from, struct group *to)
{
	struct gs_node *n;

	list_for_each_entry(n, &from->node->nodes, of_group)
		if (group_nodes(to, n->dev->priv))
			return false;
	return true;
}

void group_move_client(struct client *c, struct group *g)
{
	struct group *old = c->group;

	if (c->core.state == GS_CLIENT_GONE || group_nodes(g, c->device) ||
	    gs_client_move(&c->core, g->node, now_ns()))
		return;
	c->group = g;
	g->keep++;
	old->keep--;
	group_drop_if_unused(old);
}

/* Times at which work of ours is paid for; there is some to begin with. */
struct purse {
	uint64_t spent_until;
};

static bool has_left(const struct purse *p)
{
	return p->spent_until <= now_ns() + PURSE_NS;
}

static void pay(struct purse *p, uint64_t price)
{
	p->spent_until = max(p->spent_until, now_ns()) + price;
}

/*
 * After groups came or went: who belongs where. That is a look at each client, and a
 * tenant can make a group and drop it again all the time. Beyond a twentieth of the
 * time the clients are looked at once a second, as those at work are anyway.
 */
void group_resolve_clients(void)
{
	static struct purse purse;
	unsigned int n = 0;
	struct client *c;
	struct group *g;

	if (!has_left(&purse)) {
		client_check_all_later();
		return;
	}
	client_check_later();
	list_for_each_entry(c, &d.clients, link) {
		if (c->named)
			continue;
		n++;
		g = group_of_pid(c->peer->pid);
		if (g != c->group)
			group_move_client(c, g);
	}
	pay(&purse, n * RESOLVE_NS);
}

/* Clients and child groups go to the parent. */
int group_remove(struct group *g)
{
	struct group *parent = group_of(g->node->parent);
	struct gs_group *child;
	struct client *c;
	int err;

	if (!move_nodes(g, parent))
		return -ENOMEM;
	list_for_each_entry(c, &d.clients, link) {
		if (c->group != g)
			continue;
		gs_client_move(&c->core, parent->node, now_ns());
		c->group = parent;
		c->named = parent->named;
		parent->keep++;
	}
	while (!list_empty(&g->node->children)) {
		child = list_first_entry(&g->node->children, struct gs_group, sibling);
		gs_group_rehang(child, child->parent->parent, now_ns());
	}
	err = gs_group_remove(g->node, now_ns());
	if (err)
		return err;
	list_del_init(&g->link);
	d.nr_groups--;
	free(g->path);
	free(g);
	return 0;
}

static bool has_settings(const struct group *g)
{
	struct gs_node *n;

	if (g->set)
		return true;
	list_for_each_entry(n, &g->node->nodes, of_group)
		if (n->own)
			return true;
	return false;
}

/* A cgroup without settings is no group; a named one lasts as long as it is used. */
void group_drop_if_unused(struct group *g)
{
	if (g == &d.root || has_settings(g) || (g->named && g->keep))
		return;
	if (!group_remove(g))
		group_resolve_clients();
}

/* Of the processor, as others may keep us from it for longer. */
static uint64_t own_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static bool collect(void)
{
	struct group *g, *n;
	bool changed = false;
	uint64_t id;

	list_for_each_entry_safe(g, n, &d.groups, link) {
		if (g == &d.root || !g->path)
			continue;
		if (!cgroup_id_of_path(g->path, &id) && id == g->id)
			continue;
		if (!group_remove(g))
			changed = true;
	}
	if (!changed)
		return false;
	group_resolve_clients();
	state_changed();
	return true;
}

/*
 * Cgroups that were removed take their shares with them. That costs a look at each,
 * and a tenant chooses how long one takes, as paths may be deep. So after a collection there
 * is none for a while, but for who would be refused what a removed one had: that one has a
 * purse, of such whiles. As a container's root may be thousands of users, these share
 * purses, and nobody gets more out of all of them than four get out of theirs.
 *
 * @refused: else the peer is refused something. True if there is more room now.
 */
bool group_collect(const struct peer *p, bool refused)
{
	static struct purse all, of[PURSES];
	struct purse *own = &of[p->uid % PURSES];
	static uint64_t next_ns;
	uint64_t price;
	bool changed;

	if (!p->admin && (refused ? !has_left(own) || !has_left(&all) : now_ns() < next_ns))
		return false;
	price = own_time();
	changed = collect();
	price = max(COLLECT_NS, 19 * (own_time() - price));
	next_ns = now_ns() + price;
	if (refused && !p->admin) {
		pay(own, price);
		pay(&all, price / 4);
	}
	return changed;
}

static unsigned int count_named(uid_t uid)
{
	unsigned int n = 0;
	struct group *g;

	list_for_each_entry(g, &d.groups, link)
		n += g->named && g->uid == uid;
	return n;
}

static void keep_named(struct peer *p, struct group *g)
{
	struct group *old;

	if (p->last_named == g->id)
		return;
	old = p->last_named ? group_find(p->last_named) : NULL;
	p->last_named = g->id;
	g->keep++;
	if (old) {
		old->keep--;
		group_drop_if_unused(old);
	}
}

int group_command(struct peer *p, struct gpushare_group *u)
{
	struct group *g;
	int err;

	if (u->flags || !group_name_ok(u->name))
		return -EINVAL;
	g = group_named(u->name);
	if (g && g->uid != p->uid && !p->admin)
		return -EPERM;
	if (!g) {
		if (!group_room(p) || count_named(p->uid) >= MAX_GROUPS_USER)
			return -EUSERS;
		err = group_make(d.next_named, group_of_pid(p->pid), &g);
		if (err)
			return err;
		d.next_named++;
		g->named = true;
		g->uid = p->uid;
		strcpy(g->name, u->name);
	}
	keep_named(p, g);
	u->group = g->id;
	return 0;
}

void group_forget_all(void)
{
	struct group *g, *n;

	list_for_each_entry_safe(g, n, &d.groups, link)
		if (g != &d.root)
			group_remove(g);
}
