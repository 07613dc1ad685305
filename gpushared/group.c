// SPDX-License-Identifier: MIT
/*
 * Groups: those that mirror a cgroup with a share, named ones, and the parts of their
 * tenants (tenant.c). A task belongs to the nearest ancestor of its cgroup that is a
 * group, and stands in its tenant's part of it.
 *
 * A group hangs below the nearest one above its cgroup, or, of a named one, above the
 * cgroup that it was made in; if it wasn't made by an admin, below its maker's part of that:
 * what a tenant makes divides what the tenant has.
 *
 * A group can come between others: /a is given a share when /a/b has one. Then
 * what is below moves under it. After groups came or went, the clients are
 * looked up anew.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpushared.h"

#define COLLECT_NS	50000000ull	/* after a collection, or 19 times as long as it took */
#define RESOLVE_NS	400000ull	/* for a look at a client, which takes some 20 us */
#define PURSE_NS	3000000000ull	/* what a purse holds: so 60 collections at once */
#define PURSES		64

void group_init(void)
{
	d.root.node = &d.arb.root;
	d.root.id = d.arb.root.id;
	INIT_LIST_HEAD(&d.root.unsaved);
	d.root.path = (char *)"/";
	d.root.keep = 1;
	d.root.dir = -1;	/* it doesn't go */
	d.next_named = GPUSHARE_NAMED_FIRST;
	d.next_part = GPUSHARE_PART_FIRST;
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

/* The one of that name that a user has below @place, its part of a group. */
struct group *group_named(const struct group *place, uid_t uid, const char *name)
{
	struct gs_group *i;
	struct group *g;

	list_for_each_entry(i, &place->node->children, sibling) {
		g = group_of(i);
		if (g->named && g->uid == uid && !strcmp(g->name, name))
			return g;
	}
	return NULL;
}

struct group *group_of(struct gs_group *core)
{
	return core == &d.arb.root ? &d.root : container_of(core, struct group, core);
}

/* The group that @g is a tenant's part of, or @g itself. */
struct group *group_whole(const struct group *g)
{
	return group_of(gs_group_whole(g->node));
}

bool group_is_cgroup(const struct group *g)
{
	return g->path && !g->named;
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
}

/* @tenant: whose part of @parent it is; 0: it is a group like others. */
static int make(uint64_t id, struct group *parent, uint64_t tenant, struct group **group)
{
	struct group *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	INIT_LIST_HEAD(&g->unsaved);
	g->node = &g->core;
	g->id = id;
	g->dir = -1;
	if (tenant)
		err = gs_tenant_add(&d.arb, &g->core, id, parent->node, tenant, now_ns());
	else
		err = gs_group_add(&d.arb, &g->core, id, parent->node, now_ns());
	if (err) {
		free(g);
		return err;
	}
	insert(g);
	*group = g;
	return 0;
}

int group_make_part(uint64_t id, struct group *group, uint64_t tenant, struct group **part)
{
	int err = d.nr_parts < MAX_PARTS ? make(id, group, tenant, part) : -EUSERS;

	d.nr_parts += !err;
	return err;
}

static void drop_part(struct group *part)
{
	if (gs_tenant_is(part->node))
		group_drop_if_unused(part);
}

/* A group of @maker's, 0 for an admin, below @up or the maker's part of it. */
static int make_below(uint64_t id, struct group *up, uint64_t maker, bool admin, const char *path,
		      struct group **group)
{
	struct room_taken room = { 0 };
	char *copy = strdup(path);
	struct group *place;
	int err = copy ? room_take(&room, ROOM_GROUPS, path, maker, admin) : -ENOMEM;

	if (!err)
		err = part_of(up, maker, &place);
	if (!err) {
		err = make(id, place, 0, group);
		if (err)
			drop_part(place);
	}
	if (err) {
		room_give_back(&room, ROOM_GROUPS);
		free(copy);
		return err == -EINVAL ? -EUSERS : err;	/* too deep */
	}
	d.nr_groups++;
	(*group)->room = room;
	(*group)->maker = maker;
	(*group)->path = copy;
	return 0;
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

	list_for_each_entry(g, &d.groups, link) {
		if (!group_is_cgroup(g) || (strcmp(path, g->path) && !is_below(path, g->path)) ||
		    strlen(g->path) <= strlen(best->path))
			continue;
		if (cgroup_is_held(g->path, g->dir))
			best = g;
	}
	return best;
}

static struct group *cgroup_group(const struct peer *p)
{
	char path[CGROUP_PATH_MAX];

	if (!d.nr_groups || cgroup_of_peer(p, path, sizeof(path)))
		return &d.root;
	return group_of_path(path);
}

/* Where a peer's clients stand: its tenant's part of its cgroup's group. */
int group_of_peer(const struct peer *p, struct group **group)
{
	return part_of(cgroup_group(p), p->tenant, group);
}

static bool move_nodes(struct group *from, struct group *to)
{
	struct gs_node *n;

	list_for_each_entry(n, &from->node->nodes, of_group)
		if (group_nodes(to, n->dev->priv))
			return false;
	return true;
}

/* Hangs @g below @up, or its maker's part of that. @yield: whatever it was promised. */
static int hang(struct group *g, struct group *up, bool yield)
{
	struct group *to;
	int err = part_of(up, g->maker, &to);

	if (err || to->node == g->node->parent)
		return err;
	if (!move_nodes(g, to))
		err = -ENOMEM;
	else
		err = yield ? gs_group_rehang(g->node, to->node, now_ns()) :
			      gs_group_move(g->node, to->node, now_ns());
	if (err)
		drop_part(to);
	return err;
}

/*
 * What hung where @g hangs and lies below it, and what is below it already, hangs where
 * it belongs from now on. Called when its own share is set, as its min has to bear theirs.
 */
int group_take_children(struct group *g)
{
	struct group *up = group_whole(group_of(g->node->parent)), *i, *at;
	int err;

	/* Parts may go here, but they aren't what the list is at. */
	list_for_each_entry(i, &d.groups, link) {
		if (i == g || !i->path || !i->node->parent)
			continue;
		if (!is_below(i->path, g->path) && !(i->named && !strcmp(i->path, g->path)))
			continue;
		at = group_of(i->node->parent);
		if (group_whole(at) != up && group_whole(at) != g)
			continue;
		err = hang(i, g, false);
		if (err)
			return err;
		drop_part(at);
	}
	return 0;
}

/* @maker: the tenant whose doing it is, 0 for an admin's; @admin: for whom there is always room. */
int group_make_cgroup(uint64_t id, const char *path, uint64_t maker, bool admin,
		      struct group **group)
{
	int dir, err = cgroup_hold(path, id, &dir);

	if (err)
		return err;
	err = make_below(id, group_of_path(path), maker, admin, path, group);
	if (err)
		close(dir);
	else
		(*group)->dir = dir;
	return err;
}

/* What is one's own doing, and what an admin's? That says where it hangs. */
int group_assign(struct group *g, uint64_t maker)
{
	struct group *from = group_of(g->node->parent);
	uint64_t was = g->maker;
	int err;

	g->maker = maker;
	err = hang(g, group_whole(from), false);
	if (err)
		g->maker = was;
	else
		drop_part(from);
	return err;
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

void group_move_client(struct client *c, struct group *g)
{
	struct group *old = c->group;

	if (c->core.state == GS_CLIENT_GONE || group_nodes(g, c->device) ||
	    gs_client_move(&c->core, g->node, now_ns())) {
		drop_part(g);
		return;
	}
	c->group = g;
	c->named = g->named;
	g->keep++;
	old->keep--;
	group_drop_if_unused(old);
}

/* A named group is as good as the place that it hangs in: who isn't there has left it. */
void group_check_client(struct client *c)
{
	struct group *g;

	if (group_of_peer(c->peer, &g))
		return;
	if (c->named && (c->peer->admin || c->group->node->parent == g->node)) {
		drop_part(g);
		return;
	}
	if (g != c->group)
		group_move_client(c, g);
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

	if (!has_left(&purse)) {
		client_check_all_later();
		return;
	}
	client_check_later();
	list_for_each_entry(c, &d.clients, link) {
		n++;
		group_check_client(c);
	}
	pay(&purse, n * RESOLVE_NS);
}

/* Its clients go to where they belong in @up. */
static int move_clients(struct group *from, struct group *up)
{
	struct group *to;
	struct client *c;
	int err = 0;

	while (!err && !list_empty(&from->node->clients)) {
		c = list_first_entry(&from->node->clients, struct gs_client, of_group)->priv;
		err = part_of(up, c->peer->tenant, &to);
		if (err)
			break;
		if (c->core.dev)
			err = group_nodes(to, c->device);
		if (!err)
			err = gs_client_move(&c->core, to->node, now_ns());
		if (err) {
			drop_part(to);
			break;
		}
		c->group = to;
		c->named = to->named;
		to->keep++;
		from->keep--;
	}
	return err;
}

/* Out of the tree, with nobody in it. */
static int take_out(struct group *g)
{
	bool part = gs_tenant_is(g->node);
	struct group *up = group_of(g->node->parent);
	int err = gs_group_remove(g->node, now_ns());

	if (err)
		return err;
	if (part)
		d.nr_parts--;
	else
		d.nr_groups--;
	room_give_back(&g->room, ROOM_GROUPS);
	list_del_init(&g->link);
	state_group_gone(g);
	if (g->dir >= 0)
		close(g->dir);
	free(g->path);
	free(g);
	drop_part(up);
	return 0;
}

/* A part goes up as it is, with what it owes, if there is none of its tenant's. */
static int move_up(struct group *g, struct group *up)
{
	int err;

	if (!gs_tenant_is(g->node))
		return hang(g, up, true);
	if (!gs_tenant_find(up->node, g->node->tenant))
		return gs_group_rehang(g->node, up->node, now_ns());
	err = move_clients(g, up);
	while (!err && !list_empty(&g->node->children))
		err = hang(group_of(list_first_entry(&g->node->children, struct gs_group,
						     sibling)), up, true);
	return err ? err : take_out(g);
}

/* What it was promised is others' to have, and its weight counts for nobody. */
static void clear_share(struct group *g)
{
	uint64_t now = now_ns();
	struct gs_node *n;

	g->set = 0;
	gs_group_unset(g->node, NULL, GPUSHARE_SHARE_ALL, now);
	list_for_each_entry(n, &g->node->nodes, of_group)
		gs_group_unset(g->node, n->dev, GPUSHARE_SHARE_ALL, now);
}

/* A group of a cgroup, or with a name: all that stands in it goes to where it belongs. */
int group_remove(struct group *g)
{
	struct group *up = group_whole(group_of(g->node->parent));
	int err;

	clear_share(g);
	while (!list_empty(&g->node->children)) {
		err = move_up(group_of(list_first_entry(&g->node->children, struct gs_group,
							sibling)), up);
		if (err)
			return err;
	}
	err = move_clients(g, up);
	return err ? err : take_out(g);
}

bool group_has_settings(const struct group *g)
{
	struct gs_node *n;

	if (g->set)
		return true;
	list_for_each_entry(n, &g->node->nodes, of_group)
		if (n->own)
			return true;
	return false;
}

/*
 * A cgroup without settings is no group; a named one lasts as long as it is used, and a
 * tenant's part as long as it is.
 */
void group_drop_if_unused(struct group *g)
{
	if (gs_tenant_is(g->node)) {
		if (part_is_over(g))
			take_out(g);
		return;
	}
	if (g == &d.root || group_has_settings(g) || (g->named && g->keep))
		return;
	if (!group_remove(g))
		group_resolve_clients();
}

static bool collect(void)
{
	struct list_head *i = d.root.link.next, *next;
	unsigned int left = 0;
	bool changed = false;
	struct group *g;

	list_for_each_entry(g, &d.groups, link)
		left += g != &d.root && group_is_cgroup(g);
	/* Those of cgroups come before all others, and parts go with them. */
	for (; left; left--, i = next) {
		g = list_entry(i, struct group, link);
		next = i->next;
		if (group_has_settings(g) && cgroup_is_held(g->path, g->dir))
			continue;
		if (!group_remove(g))
			changed = true;
	}
	if (!changed)
		return false;
	group_resolve_clients();
	return true;
}

/*
 * Cgroups that were removed take their shares with them. That costs a look at each,
 * and a tenant chooses how long one takes, as paths may be deep. So after a collection there
 * is none for a while, but for who would be refused what a removed one had: that one has a
 * purse, of such whiles. As there may be thousands of tenants, these share purses, and
 * nobody gets more out of all of them than four get out of theirs.
 *
 * @refused: else the peer is refused something. True if there is more room now.
 */
bool group_collect(const struct peer *p, bool refused)
{
	static struct purse all, of[PURSES];
	struct purse *own = &of[p->tenant % PURSES];
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

int group_make_named(struct group *up, uint64_t maker, bool admin, uid_t uid, const char *name,
		     const char *home, struct group **group)
{
	int err = make_below(d.next_named, up, maker, admin, home, group);

	if (err)
		return err;
	d.next_named++;
	(*group)->named = true;
	(*group)->uid = uid;
	strcpy((*group)->name, name);
	return 0;
}

static int find_or_make(const struct peer *p, const char *name, struct group **group)
{
	char home[CGROUP_PATH_MAX];
	struct group *place;
	int err = group_of_peer(p, &place);

	if (err)
		return err;
	*group = group_named(place, p->uid, name);
	if (*group)
		return 0;
	if (cgroup_of_peer(p, home, sizeof(home)))
		strcpy(home, "/");
	err = group_make_named(group_whole(place), p->tenant, d.system && p->admin, p->uid, name,
			       home, group);
	if (err)
		drop_part(place);
	return err;
}

int group_command(struct peer *p, struct gpushare_group *u)
{
	struct group *g;
	int err;

	if (u->flags || !group_name_ok(u->name))
		return -EINVAL;
	err = find_or_make(p, u->name, &g);
	if (err)
		return err;
	keep_named(p, g);
	u->group = g->id;
	return 0;
}

/* No client is left. Those with settings go first, as others stand in their way. */
void group_forget_all(void)
{
	struct group *g, *n;
	int err = 0;

	while (d.nr_groups && !err)
		list_for_each_entry(g, &d.groups, link)
			if (g != &d.root && !gs_tenant_is(g->node)) {
				err = group_remove(g);
				break;
			}
	list_for_each_entry_safe(g, n, &d.groups, link)
		if (gs_tenant_is(g->node))
			take_out(g);
}
