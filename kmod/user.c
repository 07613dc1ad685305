// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much of us each one has. Everything that an unprivileged caller can make us
 * keep is counted here and limited, beside being charged to its memory cgroup:
 * clients where and by whom they were attached, groups where they are and by who
 * gave them their first share.
 *
 * Three limits hold at once, and each is there for what the others don't see:
 *
 * ALL TOGETHER. max_clients and max_groups. An eighth of each is for CAP_SYS_ADMIN in
 * the initial user namespace, as is exemption from all that follows: whoever has to
 * clean up is never refused for what others took.
 *
 * A USER has no more than max_user_clients and max_user_groups, nor than a quarter of
 * all. Who that is, is a user id as the kernel knows it, so that to be another one in
 * a user namespace of one's own hides nothing. Nor do subordinate ids multiply the
 * limit: what runs below a user namespace is charged to who made the outermost one.
 * If root made it (a container engine), that says nothing, and each id in it is a
 * user. Root itself has no such limit, since without CAP_SYS_ADMIN it is the root of
 * any container, and one of them would be in the way of all.
 *
 * A CGROUP has no more than three quarters of what there is for it and its siblings,
 * at each level of the tree. That is the limit for containers, whose ids may all be 0
 * or be 65,536, and it knows them by nothing but their place: nobody gets out of its
 * cgroup by making others, as those are below it and count in it. At the root there is
 * what is left of all; a cgroup that has n of that and could have k more may grow while
 * n is less than three times what it would leave to others:
 *
 *	n + k < 3 (left - k), so k = (3 left - n) / 4
 *
 * and this k is what is left for those below. Numbers: of 600 the administrator has
 * 75. Alone on the machine a cgroup of the first level may have 394 of the 525, one
 * of the second 296, of the fifth 126. When the first container of the second level
 * has its 296, a sibling may have another 74, the next one 18. So the first to come may
 * have most, which is no waste while nobody else wants it, and can't take the rest. It
 * is no fair division: nothing is taken back, and who comes last has little. A smaller
 * part than three quarters would leave more to the last, and to a lone container deep
 * in the tree too little: of the fifth level it would have 17 with one half.
 *
 * Deeper than LEVELS cgroups count in the one at that level, so the books of a client
 * are at most LEVELS + 1 numbers, of 64 bytes each where nobody else has them, found in
 * O(log n). Where a client was attached is where it counts until it goes: a process
 * that moves pays where it came from, as with memory.
 *
 * KNOWN WEAKNESS: a user id that containers of different people have in common, other
 * than root's, is one user. A program that is set-user-id to a subordinate id and
 * is executed outside of the namespace makes its owner another user; its cgroup's
 * limit holds. With cgroup v1 alone all processes are in the root, and only the first two
 * limits hold.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/moduleparam.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "gpushare.h"

#define LEVELS		8
#define RESERVED	8	/* one in so many is the administrator's */

static unsigned int max_clients = 65536;
module_param(max_clients, uint, 0644);
MODULE_PARM_DESC(max_clients, "most clients of all together (65536)");

static unsigned int max_user_clients = 4096;
module_param(max_user_clients, uint, 0644);
MODULE_PARM_DESC(max_user_clients, "most clients of one user but root (4096)");

static unsigned int max_groups = 16384;
module_param(max_groups, uint, 0644);
MODULE_PARM_DESC(max_groups, "most groups of all together (16384)");

static unsigned int max_user_groups = 1024;
module_param(max_user_groups, uint, 0644);
MODULE_PARM_DESC(max_user_groups, "most groups of one user but root (1024)");

enum kind { USER, CGROUP };

/**
 * struct gs_payer - a user or a cgroup that has something
 * @rb: in payers. Protected by payers_lock
 * @up: the cgroup above, NULL at the first level and for a user. It has what this
 *	one has, and so is there for as long. Constant
 * @kind: constant
 * @id: a user id, or a cgroup's, which isn't used again: the cgroup itself may be
 *	gone. Constant
 * @has: with all that is below. Protected by payers_lock
 */
struct gs_payer {
	struct rb_node rb;
	struct gs_payer *up;
	enum kind kind;
	u64 id;
	unsigned int has[GS_NR_LIMITS];
};

static DEFINE_SPINLOCK(payers_lock);	/* a leaf */
static struct rb_root payers = RB_ROOT;
static unsigned int total[GS_NR_LIMITS];

static int by_id(struct rb_node *rb, const struct rb_node *other)
{
	const struct gs_payer *a = rb_entry(rb, struct gs_payer, rb);
	const struct gs_payer *b = rb_entry(other, struct gs_payer, rb);

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static void free_spare(struct gs_payer *spare)
{
	struct gs_payer *next;

	for (; spare; spare = next) {
		next = spare->up;
		kfree(spare);
	}
}

/* As many as may have to be made, linked by @up: under the lock none can be. */
static struct gs_payer *make_spare(unsigned int n)
{
	struct gs_payer *first = NULL, *next;

	while (n--) {
		next = kzalloc(sizeof(*next), GFP_KERNEL_ACCOUNT);
		if (!next) {
			free_spare(first);
			return NULL;
		}
		next->up = first;
		first = next;
	}
	return first;
}

/* The one of that id, made of a spare one if it isn't there. */
static struct gs_payer *find(enum kind kind, u64 id, struct gs_payer *up, struct gs_payer **spare)
{
	struct gs_payer *new = *spare, *next = new->up;
	struct rb_node *there;

	lockdep_assert_held(&payers_lock);
	new->kind = kind;
	new->id = id;
	new->up = up;
	there = rb_find_add(&new->rb, &payers, by_id);
	if (there) {
		new->up = next;
		return rb_entry(there, struct gs_payer, rb);
	}
	*spare = next;
	return new;
}

/* One more or less, or none: who has nothing is forgotten. */
static void count(struct gs_payer *payer, enum gs_limit what, int n)
{
	struct gs_payer *up;
	int i;

	lockdep_assert_held(&payers_lock);
	for (; payer; payer = up) {
		up = payer->up;
		payer->has[what] += n;
		for (i = 0; i < GS_NR_LIMITS; i++) {
			if (payer->has[i])
				break;
		}
		if (i < GS_NR_LIMITS)
			continue;
		rb_erase(&payer->rb, &payers);
		kfree(payer);
	}
}

static bool user_may(const struct gs_payer *user, enum gs_limit what, unsigned int all)
{
	unsigned int most = what == GS_LIMIT_CLIENTS ? max_user_clients : max_user_groups;

	return user->id == __kuid_val(GLOBAL_ROOT_UID) ||
	       user->has[what] < min(most, max(all / 4, 1U));
}

/* How many more there may be, for @user as far as that is up to it. */
static u64 left_for(const struct gs_payer *user, enum gs_limit what, bool admin)
{
	unsigned int all = what == GS_LIMIT_CLIENTS ? max_clients : max_groups;
	unsigned int left = all - min(all, total[what]);
	unsigned int reserved = all / RESERVED;

	lockdep_assert_held(&payers_lock);
	if (admin)
		return left;
	return left > reserved && user_may(user, what, all) ? left - reserved : 0;
}

/* Of @left for a cgroup and its siblings, what is left for it: k in the opening comment. */
static u64 left_in(const struct gs_payer *cgroup, enum gs_limit what, u64 left)
{
	unsigned int has = cgroup->has[what];

	return 3 * left > has ? DIV_ROUND_UP_ULL(3 * left - has, 4) : 0;
}

/*
 * gs_user_charge - one more @what in @cg for the caller
 * @by: who pays, for gs_user_uncharge()
 */
int gs_user_charge(struct gs_payers *by, enum gs_limit what, struct cgroup *cg)
{
	/* Asked of everybody, so it isn't for the audit log. */
	bool admin = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	int level, levels = min(cg->level, LEVELS);
	u64 left, user = __kuid_val(gs_tenant_user());
	struct gs_payer *spare;

	spare = make_spare(levels + 1);
	if (!spare)
		return -ENOMEM;
	spin_lock(&payers_lock);
	by->user = find(USER, user, NULL, &spare);
	by->place = NULL;
	left = left_for(by->user, what, admin);
	for (level = 1; level <= levels; level++) {
		by->place = find(CGROUP, cgroup_id(cgroup_ancestor(cg, level)), by->place, &spare);
		if (!admin)
			left = left_in(by->place, what, left);
	}
	total[what] += !!left;
	count(by->user, what, !!left);
	count(by->place, what, !!left);
	spin_unlock(&payers_lock);
	free_spare(spare);
	if (!left)
		by->user = NULL;
	return left ? 0 : -EUSERS;
}

/* Nothing for who wasn't charged. */
void gs_user_uncharge(const struct gs_payers *by, enum gs_limit what)
{
	if (!by->user)
		return;
	spin_lock(&payers_lock);
	total[what]--;
	count(by->user, what, -1);
	count(by->place, what, -1);
	spin_unlock(&payers_lock);
}
