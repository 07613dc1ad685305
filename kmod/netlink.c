// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: dumps of devices, groups and clients, and two
 * multicast groups for events. It is for monitoring; what a client needs goes
 * by its file, since a family like this one is not to be seen from another
 * network namespace.
 *
 * A dump goes on from the last id that was sent, so that what comes and goes
 * meanwhile neither ends it nor makes it skip anything else. Who asked decides
 * at the start what is seen, and that stays, whoever reads the socket later.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include "compat.h"
#include "gpushare.h"

/* Room for one item: the longest path and the structs. */
#define ITEM_SIZE (PATH_MAX + 2048)

enum { MCAST_EVENTS, MCAST_GRANTS };

static const struct genl_multicast_group mcast_groups[] = {
	[MCAST_EVENTS] = { .name = GPUSHARE_GENL_EVENTS, .flags = GENL_MCAST_CAP_SYS_ADMIN },
	[MCAST_GRANTS] = { .name = GPUSHARE_GENL_GRANTS, .flags = GENL_MCAST_CAP_SYS_ADMIN },
};

/**
 * struct cursor - where a dump is, in netlink_callback.ctx
 * @id: the last item that was sent: of a device, a group or a client
 * @device: of the last item of a group; 0 to begin with the next group
 * @view: what is shown, referenced; NULL for nothing
 * @only_device: 0 for all
 * @only_group: 0 for all
 */
struct cursor {
	u64 id;
	u64 device;
	struct cgroup *view;
	u32 only_device;
	u64 only_group;
};

static_assert(sizeof(struct cursor) <= sizeof_field(struct netlink_callback, ctx));

static struct genl_family family;

static struct cursor *cursor_of(struct netlink_callback *cb)
{
	return (struct cursor *)cb->ctx;
}

static int dump_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = genl_info_dump(cb)->attrs;
	struct cursor *cursor = cursor_of(cb);
	bool known = true;

	memset(cursor, 0, sizeof(*cursor));
	if (attrs && attrs[GPUSHARE_A_DEVICE])
		cursor->only_device = nla_get_u32(attrs[GPUSHARE_A_DEVICE]);
	if (attrs && attrs[GPUSHARE_A_GROUP])
		cursor->only_group = nla_get_u64(attrs[GPUSHARE_A_GROUP]);
	if (cursor->only_device) {
		gs_lock();
		known = gs_device_by_id(cursor->only_device);
		gs_unlock();
	}
	if (!known) {
		NL_SET_ERR_MSG_ATTR(cb->extack, attrs[GPUSHARE_A_DEVICE], "no such device");
		return -ENODEV;
	}
	cursor->view = gs_cgroup_view(netlink_capable(cb->skb, CAP_SYS_ADMIN));
	cb->min_dump_alloc = ITEM_SIZE;
	return 0;
}

static int dump_done(struct netlink_callback *cb)
{
	if (cursor_of(cb)->view)
		cgroup_put(cursor_of(cb)->view);
	return 0;
}

static void *begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &family,
			   NLM_F_MULTI, cmd);
}

static int add_device(struct sk_buff *skb, struct netlink_callback *cb, u64 after, u64 *id)
{
	struct gpushare_device info = { .size = sizeof(info) };
	struct gpushare_stats stats = { .size = sizeof(stats) };
	struct kdevice *device;
	void *head;
	u64 now = gs_lock();

	device = gs_device_after(after);
	if (device) {
		gs_device_fill(&info, device);
		gs_stats_device(&stats, device, now);
	}
	gs_unlock();
	if (!device)
		return -ENOENT;
	*id = info.device;
	head = begin(skb, cb, GPUSHARE_CMD_DEVICE_GET);
	if (!head)
		return -EMSGSIZE;
	if (nla_put_u32(skb, GPUSHARE_A_DEVICE, info.device) ||
	    nla_put(skb, GPUSHARE_A_DEVICE_INFO, sizeof(info), &info) ||
	    nla_put(skb, GPUSHARE_A_STATS, sizeof(stats), &stats)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

static int dump_devices(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct cursor *cursor = cursor_of(cb);
	u64 id;

	while (!add_device(skb, cb, cursor->id, &id))
		cursor->id = id;
	return skb->len;
}

static bool is_wanted(const struct kclient *c, const struct cursor *cursor)
{
	if (cursor->only_device && c->device->id.id != cursor->only_device)
		return false;
	return !cursor->only_group ||
	       gs_group_whole(c->core.group)->id == cursor->only_group;
}

static int add_client(struct sk_buff *skb, struct netlink_callback *cb, u64 after, u64 *id)
{
	struct gpushare_stats stats = { .size = sizeof(stats) };
	const struct cursor *cursor = cursor_of(cb);
	unsigned int skipped = 0;
	struct kclient *c;
	void *head;
	u64 now = gs_lock();

	while ((c = gs_client_after(after, cursor->view, &now)) && !is_wanted(c, cursor)) {
		after = c->id.id;
		if (!(++skipped % GS_WALK))
			now = gs_lock_anew();
	}
	if (c)
		gs_stats_client(&stats, c, now);
	gs_unlock();
	if (!c)
		return -ENOENT;
	*id = stats.id;
	head = begin(skb, cb, GPUSHARE_CMD_CLIENT_GET);
	if (!head)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, GPUSHARE_A_CLIENT, stats.id, GPUSHARE_A_PAD) ||
	    nla_put(skb, GPUSHARE_A_STATS, sizeof(stats), &stats)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

static int dump_clients(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct cursor *cursor = cursor_of(cb);
	u64 id;

	while (cursor->view && !add_client(skb, cb, cursor->id, &id))
		cursor->id = id;
	return skb->len;
}

/* What is said of a group on one device, or of one that no device knows. */
struct group_item {
	struct gpushare_share share;
	struct gpushare_stats stats;
	struct cgroup *cgroup;
	char path[PATH_MAX];
};

/* The next device of @group after @id that knows it and is wanted, or NULL. */
static struct kdevice *next_device(const struct kgroup *group, u64 id, u32 only)
{
	struct kdevice *device;

	for (device = gs_device_after(id); device; device = gs_device_after(device->id.id)) {
		if ((!only || device->id.id == only) &&
		    gs_node_find(group->core, &device->core))
			return device;
	}
	return NULL;
}

/* Find the item after the cursor; false at the end. */
static bool take_group(struct group_item *item, struct cursor *at)
{
	struct kdevice *device = NULL;
	unsigned int skipped = 0;
	struct kgroup *group;
	u64 now;

	memset(item, 0, offsetof(struct group_item, path));
	item->share.size = sizeof(item->share);
	item->stats.size = sizeof(item->stats);
	now = gs_lock();
	group = at->device ? gs_group_by_id(at->id) : NULL;
	if (group)
		device = next_device(group, at->device, at->only_device);
	while (!device) {
		if (skipped && !(skipped % GS_WALK))
			now = gs_lock_anew();
		group = gs_group_after(at->id, at->view, &now);
		if (!group)
			break;
		at->id = group->id.id;
		device = next_device(group, 0, at->only_device);
		if (list_empty(&group->core->nodes) && !at->only_device)
			break;
		skipped++;
	}
	if (group) {
		at->device = device ? device->id.id : 0;
		gs_share_fill(&item->share, group, device, now);
		gs_stats_group(&item->stats, group, device, now);
		item->cgroup = group->cgroup;
		cgroup_get(item->cgroup);
	}
	gs_unlock();
	return group;
}

static int add_group(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct group_item *item)
{
	void *head = begin(skb, cb, GPUSHARE_CMD_GROUP_GET);

	if (!head)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, GPUSHARE_A_GROUP, item->share.group, GPUSHARE_A_PAD) ||
	    nla_put_u32(skb, GPUSHARE_A_DEVICE, item->share.device) ||
	    nla_put_string(skb, GPUSHARE_A_PATH, item->path) ||
	    nla_put(skb, GPUSHARE_A_SHARE, sizeof(item->share), &item->share) ||
	    nla_put(skb, GPUSHARE_A_STATS, sizeof(item->stats), &item->stats)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

static int dump_groups(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct cursor *cursor = cursor_of(cb), next = *cursor;
	struct group_item *item;
	int ret = 0;

	if (!cursor->view)
		return 0;
	item = kmalloc(sizeof(*item), GFP_KERNEL);
	if (!item)
		return -ENOMEM;
	while (!ret && take_group(item, &next)) {
		gs_share_path(item->cgroup, item->path, sizeof(item->path));
		cgroup_put(item->cgroup);
		strscpy_pad(item->share.path, item->path, sizeof(item->share.path));
		ret = add_group(skb, cb, item);
		if (!ret)
			*cursor = next;
	}
	kfree(item);
	return skb->len;
}

static const struct nla_policy no_attrs[GPUSHARE_A_MAX + 1];

static const struct nla_policy group_attrs[GPUSHARE_A_MAX + 1] = {
	[GPUSHARE_A_DEVICE] = { .type = NLA_U32 },
};

static const struct nla_policy client_attrs[GPUSHARE_A_MAX + 1] = {
	[GPUSHARE_A_DEVICE] = { .type = NLA_U32 },
	[GPUSHARE_A_GROUP] = { .type = NLA_U64 },
};

#define DUMP(number, function, attrs)					\
	{								\
		.cmd = number,						\
		.policy = attrs,					\
		.maxattr = GPUSHARE_A_MAX,				\
		.start = dump_start,					\
		.dumpit = function,					\
		.done = dump_done,					\
	}

static const struct genl_ops ops[] = {
	DUMP(GPUSHARE_CMD_DEVICE_GET, dump_devices, no_attrs),
	DUMP(GPUSHARE_CMD_GROUP_GET, dump_groups, group_attrs),
	DUMP(GPUSHARE_CMD_CLIENT_GET, dump_clients, client_attrs),
};

static struct genl_family family __ro_after_init = {
	.name = GPUSHARE_GENL_NAME,
	.version = GPUSHARE_GENL_VERSION,
	.module = THIS_MODULE,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.resv_start_op = __GPUSHARE_CMD_MAX,
	.mcgrps = mcast_groups,
	.n_mcgrps = ARRAY_SIZE(mcast_groups),
};

/* Those that come many times a second have a group of their own. */
static unsigned int group_for(u32 type)
{
	switch (type) {
	case GPUSHARE_EVENT_REQUESTED:
	case GPUSHARE_EVENT_GRANTED:
	case GPUSHARE_EVENT_PREEMPT:
	case GPUSHARE_EVENT_YIELDED:
		return MCAST_GRANTS;
	default:
		return MCAST_EVENTS;
	}
}

/* Does anybody listen to such events? Any context. */
bool gs_netlink_wanted(u32 type)
{
	return genl_has_listeners(&family, &init_net, group_for(type));
}

static void multicast(const struct gpushare_event *event, unsigned int group)
{
	struct sk_buff *skb;
	void *head;

	if (!genl_has_listeners(&family, &init_net, group))
		return;
	skb = genlmsg_new(nla_total_size(sizeof(*event)), GFP_KERNEL);
	if (!skb)
		return;
	head = genlmsg_put(skb, 0, 0, &family, 0, GPUSHARE_CMD_EVENT);
	if (!head || nla_put(skb, GPUSHARE_A_EVENT, sizeof(*event), event)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, head);
	genlmsg_multicast(&family, skb, 0, group, GFP_KERNEL);
}

void gs_netlink_send(const struct gpushare_event *event)
{
	multicast(event, group_for(event->type));
	/* The ring is one for both. */
	if (event->type == GPUSHARE_EVENT_LOST)
		multicast(event, MCAST_GRANTS);
}

int gs_netlink_init(void)
{
	int ret = genl_register_family(&family);

	if (!ret)
		gs_events_init();
	return ret;
}

void gs_netlink_exit(void)
{
	gs_events_exit();
	genl_unregister_family(&family);
}
