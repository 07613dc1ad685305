// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much of us each user has. Everything that an unprivileged caller can make
 * us keep is counted against its user id here and limited, beside being charged
 * to its memory cgroup: clients by who attached them, groups by who gave the
 * cgroup its first share.
 *
 * A user id is the kernel's, so that a user namespace doesn't hide who it is;
 * somebody with a range of subordinate ids has the limit once for each of them,
 * for which there is the limit for all users together.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include "gpushare.h"

static unsigned int max_clients = 65536;
module_param(max_clients, uint, 0644);
MODULE_PARM_DESC(max_clients, "most clients of all users together (65536)");

static unsigned int max_user_clients = 4096;
module_param(max_user_clients, uint, 0644);
MODULE_PARM_DESC(max_user_clients, "most clients of one user but root (4096)");

static unsigned int max_groups = 16384;
module_param(max_groups, uint, 0644);
MODULE_PARM_DESC(max_groups, "most groups of all users together (16384)");

static unsigned int max_user_groups = 1024;
module_param(max_user_groups, uint, 0644);
MODULE_PARM_DESC(max_user_groups, "most groups of one user but root (1024)");

/* One for each user that has something; guarded by users_lock, a leaf. */
struct gs_user {
	struct hlist_node link;
	kuid_t uid;
	unsigned int has[GS_NR_LIMITS];
};

static DEFINE_SPINLOCK(users_lock);
static DEFINE_HASHTABLE(users, 8);
static unsigned int total[GS_NR_LIMITS];

static struct gs_user *find(kuid_t uid)
{
	struct gs_user *user;

	lockdep_assert_held(&users_lock);
	hash_for_each_possible(users, user, link, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

static int charge(struct gs_user *user, enum gs_limit what)
{
	unsigned int most = what == GS_LIMIT_CLIENTS ? max_user_clients : max_user_groups;
	unsigned int all = what == GS_LIMIT_CLIENTS ? max_clients : max_groups;

	lockdep_assert_held(&users_lock);
	if (total[what] >= all)
		return -EUSERS;
	if (user->has[what] >= most && !uid_eq(user->uid, GLOBAL_ROOT_UID))
		return -EUSERS;
	user->has[what]++;
	total[what]++;
	return 0;
}

static void drop_if_empty(struct gs_user *user)
{
	int i;

	lockdep_assert_held(&users_lock);
	for (i = 0; i < GS_NR_LIMITS; i++) {
		if (user->has[i])
			return;
	}
	hash_del(&user->link);
	kfree(user);
}

/* One more @what for the caller. Give it back with gs_user_uncharge(). */
struct gs_user *gs_user_charge(enum gs_limit what)
{
	kuid_t uid = current_uid();
	struct gs_user *user, *new;
	int ret;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->uid = uid;
	spin_lock(&users_lock);
	user = find(uid);
	if (!user) {
		user = new;
		new = NULL;
		hash_add(users, &user->link, __kuid_val(uid));
	}
	ret = charge(user, what);
	if (ret)
		drop_if_empty(user);
	spin_unlock(&users_lock);
	kfree(new);
	return ret ? ERR_PTR(ret) : user;
}

void gs_user_uncharge(struct gs_user *user, enum gs_limit what)
{
	spin_lock(&users_lock);
	user->has[what]--;
	total[what]--;
	drop_if_empty(user);
	spin_unlock(&users_lock);
}
