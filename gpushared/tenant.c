// SPDX-License-Identifier: MIT
/*
 * Tenants: whose programs are these? Within each group a tenant's clients stand
 * together in its part of the group, which is a group of the core's with the weight
 * of one (arbiter.h, TENANTS). So nobody gains by more connections, processes or
 * groups, and users have equal shares where no share was ever set.
 *
 * Who it is, is found when somebody connects, by what it can't choose. The rule is
 * the module's, whose tenant.c has the reasons: a container is known by the outermost
 * pid namespace below ours, unless a user made that one in a user namespace of its
 * own; then, and below user namespaces anyway, it is the user's who made the outermost
 * of these, unless that was root; else it is the user's, by the id that it connected with.
 * (The module takes the real one. What is set-user-id can make that the same, and
 * to read it, in /proc/PID/status, may take as long as the process likes.)
 *
 * A user's own daemon has one tenant, its user, to whom the root belongs as a whole.
 *
 * A part stays without clients while it owes time, since to leave and come back would
 * be a way to be forgiven, but no longer than OWES_NS: where nobody else runs nothing is
 * ever paid back.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpushared.h"

#define LOOK_NS		1000000000ull
#define OWES_NS		(60 * LOOK_NS)

/* Keys: a user id plus one, or a namespace's inode number with this bit. */
#define CONTAINER	(1ull << 40)

static void look(struct timer *t);
static struct timer timer = { .due = look };
static bool armed;

uint64_t tenant_of_user(uid_t uid)
{
	return (uint64_t)uid + 1;
}

static bool is_own(int fd, const char *which)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", which);
	return !stat(path, &own) && !fstat(fd, &its) && own.st_ino == its.st_ino &&
	       own.st_dev == its.st_dev;
}

/* The outermost namespace around @fd's that isn't ours, instead of @fd; -1: it is ours. */
static int outermost(int fd, const char *which)
{
	int up;

	if (fd >= 0 && is_own(fd, which)) {
		close(fd);
		return -1;
	}
	while (fd >= 0 && (up = ioctl(fd, NS_GET_PARENT)) >= 0) {
		if (is_own(up, which)) {
			close(up);
			break;
		}
		close(fd);
		fd = up;
	}
	return fd;
}

static int outermost_of(pid_t pid, const char *which)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, which);
	return outermost(open(path, O_RDONLY | O_CLOEXEC), which);
}

/* Who made the user namespace; root if it is ours. Closes @fd. */
static uid_t maker_of(int fd)
{
	uid_t uid = 0;

	if (fd >= 0 && ioctl(fd, NS_GET_OWNER_UID, &uid))
		uid = 0;
	if (fd >= 0)
		close(fd);
	return uid;
}

uint64_t tenant_of(pid_t pid, uid_t uid)
{
	struct stat st;
	uid_t maker;
	int fd;

	if (!d.system)
		return d.root.node->tenant;
	fd = outermost_of(pid, "pid");
	if (fd >= 0 && !fstat(fd, &st)) {
		maker = maker_of(outermost(ioctl(fd, NS_GET_USERNS), "user"));
		close(fd);
		return maker ? tenant_of_user(maker) : CONTAINER | st.st_ino;
	}
	if (fd >= 0)
		close(fd);
	maker = maker_of(outermost_of(pid, "user"));
	return tenant_of_user(maker ? maker : uid);
}

/* What kind of group a tenant's part is; @id is the user's, or the container's. */
uint32_t tenant_kind(uint64_t tenant, uint64_t *id)
{
	if (tenant & CONTAINER) {
		*id = tenant & ~CONTAINER;
		return GPUSHARE_GROUP_CONTAINER;
	}
	*id = tenant - 1;
	return GPUSHARE_GROUP_USER;
}

static void look_later(void)
{
	if (armed)
		return;
	armed = true;
	timer_arm(&timer, now_ns() + LOOK_NS);
}

/* Nobody is in the part, and nothing is owed any more, or for too long. */
bool part_is_over(struct group *part)
{
	uint64_t now = now_ns();

	if (!list_empty(&part->node->clients) || !list_empty(&part->node->children)) {
		part->empty_ns = 0;
		return false;
	}
	if (!part->empty_ns)
		part->empty_ns = now;
	if (now - part->empty_ns >= OWES_NS || !gs_group_owes(part->node, now))
		return true;
	look_later();
	return false;
}

static void look(struct timer *t)
{
	struct group *g, *n;

	(void)t;
	armed = false;
	list_for_each_entry_safe(g, n, &d.groups, link)
		if (gs_tenant_is(g->node))
			group_drop_if_unused(g);
}

/*
 * @tenant's part of @group, made if it isn't there yet; @group itself if @tenant is 0,
 * or if all of it is that tenant's. Whoever doesn't use it calls group_drop_if_unused().
 */
int part_of(struct group *group, uint64_t tenant, struct group **part)
{
	struct gs_group *there = tenant ? gs_tenant_find(group->node, tenant) : group->node;
	int err;

	if (there) {
		*part = group_of(there);
		return 0;
	}
	err = group_make_part(d.next_part, group, tenant, part);
	if (!err)
		d.next_part++;
	return err;
}

void tenant_init(void)
{
	if (!d.system)
		d.root.node->tenant = tenant_of_user(d.uid);
}
