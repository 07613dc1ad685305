// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tenants: whose programs are these? Within each group a tenant's clients stand
 * together in its part of the group, which is a group of the arbiter's with the
 * weight of one (core/arbiter.h, TENANTS). So nobody gains by more processes, files
 * or groups, and users have equal shares where no share was ever set.
 *
 * Who it is must be nothing that a program can choose. The rule, and why:
 *
 *  - A PID NAMESPACE below the first makes a container, known by the outermost one:
 *    nobody leaves a pid namespace, whatever others it makes within it, and whatever
 *    user ids it has there. If a user made that one, in a user namespace of its own, it
 *    is that user's, or each would have as many as it likes.
 *  - A USER NAMESPACE is the user's who made the outermost one, whose subordinate ids
 *    don't count. If root made it that says nothing of whose it is.
 *  - Else it is the REAL USER ID, which a set-user-id program doesn't change.
 *
 * KNOWN WEAKNESS: a set-user-id program that makes a pid namespace for whoever calls
 * it makes as many tenants of its caller. Containers that have the machine's pid
 * namespace are told apart by user ids alone. In both cases, as always, a share for
 * the cgroup that they are in puts an end to it.
 *
 * A part stays without clients while it owes time (gs_group_owes()), since to leave
 * and come back would be a way to be forgiven, but no longer than OWES_NS: where
 * nobody else runs nothing is ever paid back.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "gpushare.h"

#define OWES_NS (60 * NSEC_PER_SEC)

/* Keys: a user id plus one, or a namespace's inode number with this bit. */
#define CONTAINER BIT_ULL(40)

/* Who made the outermost user namespace around @ns and in it; root if there is none. */
static kuid_t maker_of(const struct user_namespace *ns)
{
	if (ns == &init_user_ns)
		return GLOBAL_ROOT_UID;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

/* The user behind the caller, by its user namespaces or its id. */
kuid_t gs_tenant_user(void)
{
	kuid_t maker = maker_of(current_user_ns());

	return uid_eq(maker, GLOBAL_ROOT_UID) ? current_uid() : maker;
}

static u64 user_key(kuid_t user)
{
	return (u64)__kuid_val(user) + 1;
}

/* The key of the caller's tenant, for gs_tenant_find(). */
u64 gs_tenant_current(void)
{
	const struct pid_namespace *ns = task_active_pid_ns(current);
	kuid_t maker;

	if (!ns->level)
		return user_key(gs_tenant_user());
	while (ns->level > 1)
		ns = ns->parent;
	maker = maker_of(ns->user_ns);
	return uid_eq(maker, GLOBAL_ROOT_UID) ? CONTAINER | ns->ns.inum : user_key(maker);
}

/* What kind of group it is, and whose part, as the caller sees user ids. */
void gs_tenant_fill(struct gpushare_share *arg, const struct kgroup *group)
{
	u64 key = group->core->tenant;

	arg->kind = GPUSHARE_GROUP_CGROUP;
	arg->tenant = 0;
	if (!gs_tenant_is(group->core))
		return;
	if (key & CONTAINER) {
		arg->kind = GPUSHARE_GROUP_CONTAINER;
		arg->tenant = key & ~CONTAINER;
	} else {
		arg->kind = GPUSHARE_GROUP_USER;
		arg->tenant = from_kuid_munged(current_user_ns(), KUIDT_INIT(key - 1));
	}
}

/* A part that is nobody's yet. */
struct kgroup *gs_part_alloc(void)
{
	return kzalloc(sizeof(struct kgroup), GFP_KERNEL_ACCOUNT);
}

/* Make @part the one of @tenant in @group. */
int gs_part_add(struct kgroup *part, struct kgroup *group, u64 tenant, u64 now)
{
	u64 id = gs.last_part + 1;
	int ret;

	lockdep_assert_held(&gs.lock);
	ret = gs_tenant_add(&gs.arb, &part->own, id, group->core, tenant, now);
	if (ret)
		return ret;
	gs.last_part = id;
	part->core = &part->own;
	part->cgroup = group->cgroup;
	cgroup_get(part->cgroup);
	part->id.id = id;
	gs_id_add(&gs.groups, &part->id);
	gs_collect_later();
	return 0;
}

/* Nobody stands in the part, and nothing is owed any more, or for too long. */
bool gs_part_is_over(struct kgroup *part, u64 now)
{
	lockdep_assert_held(&gs.lock);
	if (!list_empty(&part->core->clients) || !list_empty(&part->core->children)) {
		part->empty = 0;
		return false;
	}
	if (!part->empty)
		part->empty = now;
	return now - part->empty >= OWES_NS || !gs_group_owes(part->core, now);
}
