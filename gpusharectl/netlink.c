// SPDX-License-Identifier: MIT
/* The module's events, by generic netlink through libnl. */
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBNL

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#define BUFFER_BYTES	(4 << 20)
#define QUEUE		256

/* One datagram may carry several messages; what isn't asked for yet waits here. */
struct gs_netlink {
	struct nl_sock *sock;
	struct gpushare_event queue[QUEUE];
	unsigned int head, count, dropped;
};

static int on_message(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *h = nlmsg_data(nlmsg_hdr(msg));
	struct nlattr *attrs[GPUSHARE_A_MAX + 1], *a;
	struct gs_netlink *n = arg;
	struct gpushare_event *e;
	int size;

	if (h->cmd != GPUSHARE_CMD_EVENT ||
	    genlmsg_parse(nlmsg_hdr(msg), 0, attrs, GPUSHARE_A_MAX, NULL))
		return NL_OK;
	a = attrs[GPUSHARE_A_EVENT];
	if (!a)
		return NL_OK;
	if (n->count == QUEUE) {
		n->dropped++;
		return NL_OK;
	}
	/* A longer struct is a newer one: what we know of it is at its beginning. */
	size = nla_len(a);
	e = &n->queue[(n->head + n->count++) % QUEUE];
	memset(e, 0, sizeof(*e));
	memcpy(e, nla_data(a), size < (int)sizeof(*e) ? size : (int)sizeof(*e));
	return NL_OK;
}

static int join(struct gs_netlink *n, const char *group)
{
	int id = genl_ctrl_resolve_grp(n->sock, GPUSHARE_GENL_NAME, group);

	if (id < 0)
		return -ENOENT;
	return nl_socket_add_membership(n->sock, id) ? -EPERM : 0;
}

int gs_netlink_open(uint64_t types, struct gs_netlink **netlink)
{
	struct gs_netlink *n = calloc(1, sizeof(*n));
	int rc = -ENOMEM;

	if (!n)
		return -ENOMEM;
	n->sock = nl_socket_alloc();
	if (!n->sock)
		goto fail;
	rc = -EIO;
	if (genl_connect(n->sock))
		goto fail;
	nl_socket_disable_seq_check(n->sock);
	nl_socket_set_buffer_size(n->sock, BUFFER_BYTES, 0);
	nl_socket_modify_cb(n->sock, NL_CB_VALID, NL_CB_CUSTOM, on_message, n);
	rc = join(n, GPUSHARE_GENL_EVENTS);
	if (!rc && (types & GS_EVENTS_GRANTS))
		rc = join(n, GPUSHARE_GENL_GRANTS);
	if (!rc && nl_socket_set_nonblocking(n->sock))
		rc = -EIO;
	if (rc)
		goto fail;
	*netlink = n;
	return 0;
fail:
	gs_netlink_close(n);
	return rc;
}

void gs_netlink_close(struct gs_netlink *n)
{
	if (!n)
		return;
	nl_socket_free(n->sock);
	free(n);
}

int gs_netlink_fd(const struct gs_netlink *n)
{
	return nl_socket_get_fd(n->sock);
}

static int lost(struct gs_netlink *n, struct gpushare_event *event)
{
	*event = (struct gpushare_event){ .time_ns = gs_now(), .type = GPUSHARE_EVENT_LOST,
					  .value = n->dropped };
	n->dropped = 0;
	return 1;
}

int gs_netlink_next(struct gs_netlink *n, struct gpushare_event *event)
{
	int rc;

	if (!n->count) {
		if (n->dropped)
			return lost(n, event);
		rc = nl_recvmsgs_default(n->sock);
		/* The kernel had more than the socket's buffer: how many, it doesn't say. */
		if (rc == -NLE_NOMEM)
			return lost(n, event);
		if (rc < 0 && rc != -NLE_AGAIN && rc != -NLE_INTR)
			return -EIO;
		if (!n->count)
			return 0;
	}
	*event = n->queue[n->head];
	n->head = (n->head + 1) % QUEUE;
	n->count--;
	return 1;
}

#else

int gs_netlink_open(uint64_t types, struct gs_netlink **netlink)
{
	(void)types;
	(void)netlink;
	return -EOPNOTSUPP;
}

void gs_netlink_close(struct gs_netlink *netlink)
{
	(void)netlink;
}

int gs_netlink_fd(const struct gs_netlink *netlink)
{
	(void)netlink;
	return -1;
}

int gs_netlink_next(struct gs_netlink *netlink, struct gpushare_event *event)
{
	(void)netlink;
	(void)event;
	return -EOPNOTSUPP;
}

#endif
