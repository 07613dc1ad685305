// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: gpushare/tree, the share tree as the arbiter sees it. One line a
 * group, and below it one for each device that knows it and one for each of
 * its clients, up to GS_WALK of them, as the lock is held meanwhile. It is for
 * people who look for a fault: its form may change.
 */
#include <linux/cgroup.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "gpushare.h"

static struct dentry *directory;

static const char *state_name(const struct kclient *c)
{
	static const char *const names[] = {
		[GS_CLIENT_IDLE] = "idle",
		[GS_CLIENT_WAITING] = "waiting",
		[GS_CLIENT_RUNNING] = "running",
		[GS_CLIENT_OVER] = "over",
		[GS_CLIENT_GONE] = "gone",
	};

	return c->core.state < ARRAY_SIZE(names) ? names[c->core.state] : "?";
}

static void show_node(struct seq_file *s, const struct gs_node *node, int depth)
{
	seq_printf(s, "%*sdevice %llu: running %u waiting %u over %u usage_ns %llu mem %llu%s\n",
		   depth * 2, "", node->dev->id, node->running, node->waiting,
		   node->overrunning, gs_usage(node), node->mem.used,
		   node->throttled_at ? " throttled" : "");
}

static void show_client(struct seq_file *s, const struct kclient *c, int depth)
{
	seq_printf(s, "%*sclient %llu: device %llu pid %d %s word %#llx usage_ns %llu\n",
		   depth * 2, "", c->id.id, c->device->id.id, pid_nr(c->pid),
		   state_name(c), READ_ONCE(c->core.page->word), gs_client_usage(&c->core));
}

static void show_group(struct seq_file *s, struct gs_group *group, int depth)
{
	struct gs_client *core;
	unsigned int n = 0;
	struct gs_node *node;

	seq_printf(s, "%*sgroup %llu: weight %u class %u\n", depth * 2, "", group->id,
		   group->share.weight, group->share.class);
	list_for_each_entry(node, &group->nodes, of_group)
		show_node(s, node, depth + 1);
	list_for_each_entry(core, &group->clients, of_group) {
		if (n++ == GS_WALK) {
			seq_printf(s, "%*smore clients\n", depth * 2 + 2, "");
			break;
		}
		show_client(s, gs_kclient(core), depth + 1);
	}
}

/* The next group in the order in which a tree is written down, or NULL. */
static struct gs_group *after(struct gs_group *group)
{
	if (!list_empty(&group->children))
		return list_first_entry(&group->children, struct gs_group, sibling);
	for (; group->parent; group = group->parent) {
		if (!list_is_last(&group->sibling, &group->parent->children))
			return list_next_entry(group, sibling);
	}
	return NULL;
}

/*
 * The lock is held for one group at a time, and the id of the last one shown is
 * kept between. What comes and goes meanwhile may be missed, or end the dump.
 */
static void *tree_start(struct seq_file *s, loff_t *pos)
{
	u64 *id = s->private;

	if (!*pos)
		*id = gs.arb.root.id;
	return *id ? id : NULL;
}

static void *tree_next(struct seq_file *s, void *v, loff_t *pos)
{
	struct kgroup *group;
	struct gs_group *next;
	u64 *id = v;

	++*pos;
	gs_lock();
	group = gs_group_by_id(*id);
	next = group ? after(group->core) : NULL;
	*id = next ? next->id : 0;
	gs_unlock();
	return next ? id : NULL;
}

static void tree_stop(struct seq_file *s, void *v)
{
}

static int tree_show(struct seq_file *s, void *v)
{
	struct gs_group *up;
	struct kgroup *group;
	int depth = 0;

	gs_lock();
	group = gs_group_by_id(*(u64 *)v);
	if (group) {
		for (up = group->core; up->parent; up = up->parent)
			depth++;
		show_group(s, group->core, depth);
	}
	gs_unlock();
	return 0;
}

static const struct seq_operations tree_seq = {
	.start = tree_start,
	.next = tree_next,
	.stop = tree_stop,
	.show = tree_show,
};

static int tree_open(struct inode *inode, struct file *file)
{
	return seq_open_private(file, &tree_seq, sizeof(u64));
}

static const struct file_operations tree_fops = {
	.owner = THIS_MODULE,
	.open = tree_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

void gs_debugfs_init(void)
{
	directory = debugfs_create_dir("gpushare", NULL);
	debugfs_create_file("tree", 0400, directory, NULL, &tree_fops);
}

void gs_debugfs_exit(void)
{
	debugfs_remove_recursive(directory);
}
