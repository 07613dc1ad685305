// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module: its one state, its lock, its device node, and the order in which
 * the parts come and go.
 */
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include "compat.h"
#include "gpushare.h"

struct gs_host gs = {
	.lock = __SPIN_LOCK_UNLOCKED(gs.lock),
	.clients = RB_ROOT,
	.groups = RB_ROOT,
	.devices = RB_ROOT,
	.last_part = GPUSHARE_PART_FIRST - 1,
	.withdrawn = LIST_HEAD_INIT(gs.withdrawn),
	.doomed = LIST_HEAD_INIT(gs.doomed),
	.devices_mutex = __MUTEX_INITIALIZER(gs.devices_mutex),
};

/*
 * A holder that seemed idle has just lost its grant. It clears its idle flag
 * before it looks at the word for the next time, and we read the flag after we
 * have changed the word: if it doesn't see our change, we see its.
 */
void gs_look_again(void)
{
	struct kclient *c;

	while (!list_empty(&gs.withdrawn)) {
		c = list_first_entry(&gs.withdrawn, struct kclient, withdrawn);
		list_del_init(&c->withdrawn);
		smp_mb();	/* pairs with the client's fence, as said above */
		if (c->core.state == GS_CLIENT_IDLE && !gs_idle_since(c))
			gs_revive(&c->core, ktime_get_ns());
	}
}

static int gs_open(struct inode *inode, struct file *f)
{
	struct gs_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return -ENOMEM;
	init_waitqueue_head(&file->wq);
	f->private_data = file;
	return nonseekable_open(inode, f);
}

/* A process closes one of its files; does its address space go with it? */
static int gs_flush(struct file *f, fl_owner_t id)
{
	struct kclient *c;

	if (!(current->flags & PF_EXITING))
		return 0;
	c = gs_client_get(f->private_data);
	if (!c)
		return 0;
	if (gs_client_is_dead(c))
		gs_client_end(c);
	gs_client_put(c);
	return 0;
}

static int gs_release(struct inode *inode, struct file *f)
{
	struct gs_file *file = f->private_data;
	struct kclient *c;

	/* Who ends the client elsewhere is done with the file when we have the lock. */
	gs_lock();
	c = rcu_dereference_protected(file->client, lockdep_is_held(&gs.lock));
	if (c)
		kref_get(&c->ref);
	gs_unlock();
	if (c) {
		gs_client_end(c);
		gs_client_put(c);
	}
	kfree(file);
	return 0;
}

const struct file_operations gs_fops = {
	.owner = THIS_MODULE,
	.open = gs_open,
	.flush = gs_flush,
	.release = gs_release,
	.unlocked_ioctl = gs_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = gs_client_mmap,
	.poll = gs_poll,
};

static struct miscdevice gs_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gpushare",
	.fops = &gs_fops,
	.mode = 0666,	/* a client can only affect itself; udev may narrow it */
};

static int __init gs_init(void)
{
	int ret;

	gs.started = ktime_get_ns();
	gs_arbiter_init(&gs.arb, &gs_ops);
	gs_groups_init();
	ret = gs_netlink_init();
	if (ret)
		goto err_groups;
	ret = gs_devices_init();
	if (ret)
		goto err_netlink;
	ret = gs_pci_init();
	if (ret)
		goto err_devices;
	gs_debugfs_init();
	/* Last, as from here on anybody can come in. */
	ret = misc_register(&gs_misc);
	if (ret)
		goto err_debugfs;
	return 0;

err_debugfs:
	gs_debugfs_exit();
	gs_pci_exit();
err_devices:
	gs_devices_exit();
err_netlink:
	gs_netlink_exit();
err_groups:
	gs_groups_exit();
	return ret;
}

static void __exit gs_exit(void)
{
	misc_deregister(&gs_misc);
	gs_owners_exit();
	gs_debugfs_exit();
	gs_pci_exit();
	gs_devices_exit();
	gs_netlink_exit();
	gs_groups_exit();
}

module_init(gs_init);
module_exit(gs_exit);

MODULE_AUTHOR("The gpushare project");
MODULE_DESCRIPTION("Shares of accelerators, by cgroup");
MODULE_LICENSE("GPL");
MODULE_VERSION(GPUSHARE_RELEASE);
MODULE_ALIAS_GENL_FAMILY(GPUSHARE_GENL_NAME);
