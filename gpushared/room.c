// SPDX-License-Identifier: MIT
/*
 * How much of the daemon each one has: connections, and groups. The module's user.c has
 * the idea and its numbers. Three limits hold at once, for all but admins:
 *
 * ALL TOGETHER leave an eighth to admins, so that whoever has to clean up gets in.
 *
 * A TENANT has no more than most, nor than a quarter of all.
 *
 * A CGROUP has no more than three quarters of what there is for it and its siblings, at
 * each level. One that has n may have k = (3 left - n) / 4 more, where left is what is
 * left of all for it and its siblings, and this k is what is left for those below. So
 * who makes tenants (an engine that makes containers, a set-user-id program) is limited
 * by where they are. Deeper than LEVELS cgroups count in the one at that level.
 *
 * Where one was when it came is where it counts until it goes. In a user's own daemon
 * only the user's number is limited, and root gets in.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushared.h"

#define LEVELS		8
#define RESERVED	8	/* one in so many is the admins' */

/* A cgroup below @up, or a tenant, that has something. */
struct payer {
	struct payer *up;
	struct list_head link;		/* among its siblings */
	struct list_head below;
	unsigned int has[NR_ROOMS];
	char name[];
};

static struct list_head cgroups = { &cgroups, &cgroups };
static struct list_head tenants = { &tenants, &tenants };
static unsigned int total[NR_ROOMS];

static unsigned int all_of(enum room what)
{
	return what == ROOM_PEERS ? d.max_peers : MAX_GROUPS;
}

static unsigned int most_of(enum room what)
{
	return what == ROOM_PEERS ? MAX_PEERS_USER : MAX_GROUPS_USER;
}

/* Found, or made. */
static struct payer *payer_of(struct payer *up, struct list_head *among, const char *name,
			      size_t length)
{
	struct payer *p;

	list_for_each_entry(p, among, link)
		if (!strncmp(p->name, name, length) && !p->name[length])
			return p;
	p = calloc(1, sizeof(*p) + length + 1);
	if (!p)
		return NULL;
	p->up = up;
	memcpy(p->name, name, length);
	INIT_LIST_HEAD(&p->below);
	list_add_tail(&p->link, among);
	return p;
}

/* One more or less, or none: who has nothing is forgotten. */
static void count(struct payer *p, enum room what, int n)
{
	struct payer *up;
	int i;

	for (; p; p = up) {
		up = p->up;
		p->has[what] += (unsigned int)n;
		for (i = 0; i < NR_ROOMS && !p->has[i]; i++)
			;
		if (i < NR_ROOMS || !list_empty(&p->below))
			continue;
		list_del_init(&p->link);
		free(p);
	}
}

static unsigned int left_for(const struct payer *tenant, enum room what, bool admin)
{
	unsigned int all = all_of(what), left = all - min(all, total[what]);

	if (admin)
		return left;
	if (!d.system)
		return tenant->has[what] < most_of(what) ? left : 0;
	if (left <= all / RESERVED || tenant->has[what] >= min(most_of(what), all / 4))
		return 0;
	return left - all / RESERVED;
}

/* k in the opening comment, rounded up. */
static unsigned int left_in(const struct payer *cgroup, enum room what, unsigned int left)
{
	unsigned int has = cgroup->has[what];

	return 3 * left > has ? (3 * left - has + 3) / 4 : 0;
}

/* The books of a cgroup, from the first level on; each narrows what is left. */
static int walk(const char *path, enum room what, struct payer **place, unsigned int *left)
{
	struct list_head *among = &cgroups;
	int level;

	for (level = 0; level < LEVELS && path && *path == '/' && path[1]; level++) {
		size_t length = strcspn(path + 1, "/");
		struct payer *p = payer_of(*place, among, path + 1, length);

		if (!p)
			return -ENOMEM;
		*place = p;
		*left = left_in(p, what, *left);
		among = &p->below;
		path += length + 1;
	}
	return 0;
}

/* One more @what in a cgroup (NULL: it isn't known) for a tenant; -EUSERS if there is no room. */
int room_take(struct room_taken *by, enum room what, const char *path, uint64_t tenant, bool admin)
{
	struct payer *place = NULL, *user;
	unsigned int left, in;
	char name[24];
	int err;

	snprintf(name, sizeof(name), "%llu", (unsigned long long)tenant);
	user = payer_of(NULL, &tenants, name, strlen(name));
	if (!user)
		return -ENOMEM;
	left = left_for(user, what, admin);
	in = left;
	err = walk(path, what, &place, &in);
	if (d.system && !admin)
		left = in;
	if (!err && !left)
		err = -EUSERS;
	total[what] += !err;
	count(user, what, !err);
	count(place, what, !err);
	if (!err)
		*by = (struct room_taken){ .tenant = user, .place = place };
	return err;
}

/* Nothing for who took none. */
void room_give_back(struct room_taken *by, enum room what)
{
	if (!by->tenant)
		return;
	total[what]--;
	count(by->tenant, what, -1);
	count(by->place, what, -1);
	by->tenant = NULL;
}
