/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the module share. The module is one host of the arbiter in
 * core/: it knows processes, cgroups, pages and timers, and asks the arbiter
 * who may run; core/arbiter.h is the contract between the two.
 *
 * Names: gs_client, gs_device, gs_group and gs_node are the arbiter's; kclient,
 * kdevice and kgroup are the kernel's side of them, with the arbiter's inside.
 *
 * LOCK ORDER, outermost first (Documentation/locking.md argues each):
 *
 *	mmap_lock		(mmap and munmap of the pages; not ours)
 *	pci_rescan_remove_lock	(PCI functions come and go; not ours)
 *	  gs.devices_mutex	adding and removing devices; sleeps
 *	    gs.lock		everything else: the arbiter and all its objects;
 *				interrupts off, as irq_works take it
 *	      kdevice.page_lock	what the grant pages say; raw, as a hard interrupt
 *				takes it too
 *	      gs_file.wq.lock	wake-ups
 *	payers_lock		a leaf: user.c's counts
 *
 * The hard interrupt timers take the page lock of their device, and no other.
 */
#ifndef GS_GPUSHARE_H
#define GS_GPUSHARE_H

#ifdef pr_fmt
#undef pr_fmt
#endif
#define pr_fmt(fmt) "gpushare: " fmt

#include <linux/cgroup-defs.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/gpushare.h>
#include "contract/contract.h"
#include "core/arbiter.h"

struct cgroup;
struct gs_mem_sleeper;
struct kclient;
struct kdevice;
struct mm_struct;
struct page;
struct pid;
struct poll_table_struct;
struct vm_area_struct;

/**
 * struct gs_id - a place in a tree of things sorted by id, see ids.c
 * @rb: in gs.clients, gs.groups or gs.devices. Protected by gs.lock
 * @id: constant once it is in a tree
 */
struct gs_id {
	struct rb_node rb;
	u64 id;
};

/**
 * struct gs_host - the module's whole state; there is one
 * @lock: protects all that the arbiter knows and what says so below
 * @arb: the arbiter. Protected by @lock
 * @clients: struct kclient by id. Protected by @lock
 * @groups: struct kgroup by cgroup id, and those of tenants' parts. Protected by @lock
 * @devices: struct kdevice by id. Protected by @lock
 * @generation: counts the changes of which group is the nearest to some cgroup, so
 *	that a client can tell that its own may be another now. Protected by @lock
 * @last_client: the last client id given out. Protected by @lock
 * @last_part: the last id of a tenant's part given out. Protected by @lock
 * @listened: when it was last asked who listens to events. Protected by @lock
 * @withdrawn: clients whose grant was just taken for being idle, to be looked
 *	at once more before @lock is let go. Protected by @lock
 * @doomed: clients whose processes are to be killed, each with a reference.
 *	Protected by @lock
 * @started: when the module began: constant
 * @devices_mutex: held while devices are added or removed
 * @last_device: the last device id given out. Protected by @devices_mutex
 * @nr_devices: Changed under both locks
 */
struct gs_host {
	spinlock_t lock;		/* the arbiter and all its objects */
	struct gs_arbiter arb;
	struct rb_root clients, groups, devices;
	u64 generation;
	u64 last_client, last_part;
	u64 listened;
	struct list_head withdrawn, doomed;
	u64 started;
	struct mutex devices_mutex;	/* adding and removing devices */
	u32 last_device;
	unsigned int nr_devices;
};

extern struct gs_host gs;

/**
 * struct gs_file - an open file of /dev/gpushare
 * @wq: who waits for the file's client: blocked calls and poll. Here and not in
 *	the client, since an epoll set may watch the file after DETACH
 * @client: the file's client or NULL. Written under gs.lock, read under RCU
 */
struct gs_file {
	wait_queue_head_t wq;
	struct kclient __rcu *client;
};

/**
 * struct gs_payers - who is charged for a client or a group, see user.c
 * @user: NULL if nobody is
 * @place: the cgroup, NULL for the root
 */
struct gs_payers {
	struct gs_payer *user, *place;
};

/**
 * struct kclient - one process's session on one device
 * @core: the arbiter's part. Protected by gs.lock; @core.state is also read
 *	without it by sleepers, who look again under the lock
 * @id: in gs.clients
 * @ref: held by the file until the client ends, by each mapping of a page, and
 *	by calls while they use it
 * @rcu: readers find it by gs_file.client
 * @file: whose client it is, NULL once it ended. Protected by gs.lock
 * @device: constant, referenced
 * @payers: who is charged for it, constant
 * @tenant: whose it is, see tenant.c: constant
 * @mm: the address space it belongs to, as an identity (mmgrab'bed): constant
 * @pid: the process that attached: constant, referenced
 * @uid: whose that was: constant
 * @comm: what it was called: constant
 * @cgroup: where the process was when it last asked; referenced. Protected by
 *	gs.lock
 * @generation: gs.generation as of then. Protected by gs.lock
 * @grant_page, @client_page: constant. Someone who pinned them keeps them
 *	alive for longer than this. The first is @core.page, constant once it is a
 *	client; what it says is protected by @device's page_lock
 * @said: the second: whatever the client likes to write
 * @running: in @device's running while its page says GRANTED, not PREEMPT, and it
 *	has to be asked at @preempt_at. Protected by @device's page_lock
 * @preempt_at: @core.preempt_at for the timer. Protected by @device's page_lock
 * @sleepers: calls that wait for a grant. Protected by gs.lock
 * @ended: it is no client any more. Written under gs.lock
 * @mem_sleeper: the call that waits for memory, or NULL. Protected by gs.lock
 * @lingers: @core.lingers as of the last look. Protected by gs.lock
 * @withdrawn: in gs.withdrawn
 * @doomed: in gs.doomed
 * @profile: what DESCRIBE said. Protected by gs.lock
 */
struct kclient {
	struct gs_client core;
	struct gs_id id;
	struct kref ref;
	struct rcu_head rcu;
	struct gs_file *file;
	struct kdevice *device;
	struct gs_payers payers;
	u64 tenant;
	struct mm_struct *mm;
	struct pid *pid;
	kuid_t uid;
	char comm[TASK_COMM_LEN];
	struct cgroup *cgroup;
	u64 generation;
	struct page *grant_page, *client_page;
	const struct gpushare_client_page *said;
	struct list_head running;
	u64 preempt_at;
	unsigned int sleepers;
	bool ended;
	struct gs_mem_sleeper *mem_sleeper;
	u32 lingers;
	struct list_head withdrawn;
	struct list_head doomed;
	struct gs_profile profile;
};

/**
 * struct kdevice - one accelerator
 * @core: the arbiter's part. Protected by gs.lock
 * @id: in gs.devices
 * @kobj: its directory in sysfs; holds the reference count
 * @info: what was set, in the units of the interface. Protected by gs.lock
 * @page_lock: protects the grant pages of the device's clients. Taken by @timer
 *	in hard interrupt context, so a raw one
 * @running: clients that have to be asked to yield. Protected by @page_lock
 * @timer: when the arbiter wants to hear of the device again, which is not after
 *	any client has to be asked
 * @work: what @timer starts: gs_expire()
 * @clients: how many are attached. Protected by gs.lock
 * @removed: the arbiter doesn't know it (any more). Protected by gs.lock
 */
struct kdevice {
	struct gs_device core;
	struct gs_id id;
	struct kobject kobj;
	struct gpushare_device info;
	raw_spinlock_t page_lock;	/* the grant pages */
	struct list_head running;
	struct hrtimer timer;
	struct irq_work work;
	unsigned int clients;
	bool removed;
};

/**
 * struct kgroup - a cgroup that was given a share, or the root, or a tenant's part of
 *	one of these
 * @core: the arbiter's part: @own, or the arbiter's root. Protected by gs.lock
 * @own: the memory for it
 * @id: in gs.groups; the id is the cgroup's, a part has one of its own
 * @cgroup: referenced. Constant, but a part goes up to another group if its own leaves
 * @payers: who is charged for it, nobody for the root and for parts
 * @maker: the tenant who made it, below whose part it hangs; 0: an administrator.
 *	Protected by gs.lock
 * @leaves: not 0: it is to go, see regroup.c. Protected by gs.lock
 * @empty: a part: since when the collector found nobody in it, or 0. Protected by
 *	gs.lock
 * @set: the fields that were set for all devices. Protected by gs.lock
 */
struct kgroup {
	struct gs_group *core;
	struct gs_group own;
	struct gs_id id;
	struct cgroup *cgroup;
	struct gs_payers payers;
	u64 maker;
	u64 leaves;
	u64 empty;
	u32 set;
};

/* main.c */
extern const struct file_operations gs_fops;
void gs_look_again(void);

/* ids.c */
bool gs_id_add(struct rb_root *root, struct gs_id *id);
void gs_id_remove(struct rb_root *root, struct gs_id *id);
struct gs_id *gs_id_find(const struct rb_root *root, u64 id);
struct gs_id *gs_id_after(const struct rb_root *root, u64 id);

/* user.c */
enum gs_limit { GS_LIMIT_CLIENTS, GS_LIMIT_GROUPS, GS_NR_LIMITS };
int gs_user_charge(struct gs_payers *by, enum gs_limit what, struct cgroup *cg);
void gs_user_uncharge(const struct gs_payers *by, enum gs_limit what);

/* cgroup.c */
struct cgroup *gs_cgroup_current(void);
bool gs_cgroup_none(void);
bool gs_cgroup_is_online(const struct cgroup *cg);
struct cgroup *gs_cgroup_view(bool all);
struct cgroup *gs_cgroup_find(int fd, u64 id);
int gs_cgroup_may_share(struct cgroup *cg, int fd, int authority_fd);

/* group.c */
void gs_groups_init(void);
void gs_groups_exit(void);
struct kgroup *gs_group_by_id(u64 id);
struct kgroup *gs_group_of(struct cgroup *cg);
struct kgroup *gs_group_nearest(struct cgroup *cg);
struct kgroup *gs_group_after(u64 id, struct cgroup *top, u64 *now);
struct kgroup *gs_kgroup(struct gs_group *core);
bool gs_group_is_root(const struct kgroup *group);
bool gs_collect_groups(void);
void gs_collect_soon(void);
void gs_collect_later(void);

/* regroup.c */
int gs_place_for(struct cgroup *cg, u64 tenant, struct kdevice *device, u64 *now,
		 struct gs_group **place);
struct kgroup *gs_group_make(struct cgroup *cg, u64 maker, u64 *now, bool *made);
int gs_group_assign(struct cgroup *cg, u64 maker, u64 *now);
int gs_regroup(struct cgroup *cg, u64 *now);
void gs_group_leave(struct kgroup *group, u64 *now);
void gs_group_take_out(struct kgroup *group, u64 now);
void gs_group_destroy(struct kgroup *group);

/* tenant.c */
kuid_t gs_tenant_user(void);
u64 gs_tenant_current(void);
void gs_tenant_fill(struct gpushare_share *arg, const struct kgroup *group);
struct kgroup *gs_part_alloc(void);
int gs_part_add(struct kgroup *part, struct kgroup *group, u64 tenant, u64 now);
bool gs_part_is_over(struct kgroup *part, u64 now);

/* share.c */
int gs_share_set(struct gpushare_share *arg);
int gs_share_get(struct gpushare_share *arg);
void gs_share_fill(struct gpushare_share *arg, struct kgroup *group,
		   struct kdevice *device, u64 now);
void gs_share_path(struct cgroup *cg, char *path, size_t size);

/* client.c */
int gs_client_attach(struct gs_file *file, struct gpushare_attach *arg);
int gs_client_detach(struct gs_file *file, u64 id);
void gs_client_end(struct kclient *c);
bool gs_client_is_dead(const struct kclient *c);
struct kclient *gs_client_get(struct gs_file *file);
struct kclient *gs_client_own(struct gs_file *file);
void gs_client_put(struct kclient *c);
int gs_client_usable(const struct kclient *c);
int gs_client_settle(struct kclient *c, u64 *now);
int gs_client_mmap(struct file *file, struct vm_area_struct *vma);

/* owner.c */
void gs_owners_kill(struct gs_arbiter *arb, struct gs_client *core);
void gs_owners_exit(void);
bool gs_owner_is_dying(const struct kclient *c);

/* grant.c */
int gs_acquire(struct gs_file *file, struct gpushare_wait *arg);
int gs_yield_call(struct gs_file *file, struct gpushare_wait *arg);
void gs_acquire_undo(struct gs_file *file, struct gpushare_wait *arg);

/* page.c */
extern const struct gs_host_ops gs_ops;
__poll_t gs_poll(struct file *file, struct poll_table_struct *table);
u64 gs_idle_since(const struct kclient *c);
void gs_show_end(struct kclient *c);
void gs_timer_init(struct kdevice *device);
void gs_timer_stop(struct kdevice *device);

/* ioctl.c */
long gs_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* device.c */
int gs_devices_init(void);
void gs_devices_exit(void);
int gs_device_create(struct gpushare_device *info);
int gs_device_change(struct gpushare_device *info);
int gs_device_drop(const struct gpushare_device *info);
int gs_device_read(struct gpushare_device *info);
struct kdevice *gs_device_by_id(u64 id);
struct kdevice *gs_device_by_key(const char *key);
struct kdevice *gs_device_after(u64 id);
void gs_device_fill(struct gpushare_device *info, const struct kdevice *device);

/* sysfs.c */
extern const struct kobj_type gs_device_type;

/* pci.c */
#ifdef CONFIG_PCI
int gs_pci_init(void);
void gs_pci_exit(void);
#else
static inline int gs_pci_init(void)
{
	return 0;
}

static inline void gs_pci_exit(void)
{
}
#endif

/* stats.c */
int gs_stats_read(struct gpushare_stats *arg, const struct kclient *own);
void gs_stats_client(struct gpushare_stats *arg, const struct kclient *c, u64 now);
void gs_stats_group(struct gpushare_stats *arg, const struct kgroup *group,
		    struct kdevice *device, u64 now);
void gs_stats_device(struct gpushare_stats *arg, struct kdevice *device, u64 now);
bool gs_client_is_below(const struct kclient *c, struct cgroup *view);
struct kclient *gs_client_after(u64 id, struct cgroup *view, u64 *now);

/* memory.c */
int gs_memory(struct gs_file *file, struct kclient *c, struct gpushare_memory *arg);
void gs_memory_over(struct gs_arbiter *arb, struct gs_client *core, int result);
int gs_describe(struct kclient *c, struct gpushare_describe *arg);

/* event.c */
void gs_event(struct gs_arbiter *arb, const struct gs_event *ev);
void gs_listen(u64 now);
void gs_events_init(void);
void gs_events_exit(void);

/* netlink.c */
int gs_netlink_init(void);
void gs_netlink_exit(void);
bool gs_netlink_wanted(u32 type);
void gs_netlink_send(const struct gpushare_event *event);

/* debugfs.c */
void gs_debugfs_init(void);
void gs_debugfs_exit(void);

/* Take the lock; the time is taken under it, so that it never runs backwards. */
static inline u64 gs_lock(void)
	__acquires(&gs.lock)
{
	u64 now;

	spin_lock_irq(&gs.lock);
	now = ktime_get_ns();
	gs_listen(now);
	return now;
}

static inline void gs_unlock(void)
	__releases(&gs.lock)
{
	gs_look_again();
	spin_unlock_irq(&gs.lock);
}

/* So many clients or groups are looked at in one hold of the lock. */
#define GS_WALK	256

/* Let others have the lock in between: what isn't referenced may be gone. */
static inline u64 gs_lock_anew(void)
{
	gs_unlock();
	cond_resched();
	return gs_lock();
}

/* For where interrupts may be off already. */
#define gs_lock_irqsave(flags)						\
({									\
	u64 now_;							\
									\
	spin_lock_irqsave(&gs.lock, flags);				\
	now_ = ktime_get_ns();						\
	gs_listen(now_);						\
	now_;								\
})

static inline void gs_unlock_irqrestore(unsigned long flags)
	__releases(&gs.lock)
{
	gs_look_again();
	spin_unlock_irqrestore(&gs.lock, flags);
}

/*
 * Has the caller been where the client is accounted since it last asked? The lock
 * keeps the caller's css_set: it is an RCU reader, on PREEMPT_RT too.
 */
static inline bool gs_client_is_settled(const struct kclient *c)
{
	const struct css_set *set = rcu_dereference_check(current->cgroups,
							  lockdep_is_held(&gs.lock));

	return READ_ONCE(set->dfl_cgrp->dom_cgrp) == c->cgroup && c->generation == gs.generation;
}

static inline bool gs_may_run(u64 word)
{
	return (word & (GPUSHARE_GRANTED | GPUSHARE_PREEMPT)) == GPUSHARE_GRANTED;
}

static inline struct kclient *gs_kclient(struct gs_client *core)
{
	return container_of(core, struct kclient, core);
}

static inline struct kdevice *gs_kdevice(struct gs_device *core)
{
	return container_of(core, struct kdevice, core);
}

#endif
