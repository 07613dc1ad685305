// SPDX-License-Identifier: MIT
#include "events.h"
#include "ulib/transport.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct gs_events {
	struct gs_transport *arbiter;	/* the daemon's, */
	struct gs_netlink *netlink;	/* or the module's */
	uint64_t types;
};

static int open_source(struct gs_ctl *ctl, struct gs_events *e)
{
	int rc;

	if (gs_transport_is_kernel(ctl->arbiter))
		return gs_netlink_open(e->types, &e->netlink);
	rc = gs_transport_open(gs_transport_path(ctl->arbiter), 0, &e->arbiter);
	return rc ? rc : gs_transport_events(e->arbiter, e->types);
}

int gs_events_open(struct gs_ctl *ctl, uint64_t types, struct gs_events **events)
{
	struct gs_events *e;
	int rc;

	rc = gs_connect(ctl);
	if (rc)
		return rc;
	e = calloc(1, sizeof(*e));
	if (!e)
		return gs_call_error("events", -ENOMEM);
	e->types = types | 1ULL << GPUSHARE_EVENT_LOST;
	rc = open_source(ctl, e);
	if (!rc) {
		*events = e;
		return 0;
	}
	gs_events_close(e);
	if (rc == -EOPNOTSUPP)
		return gs_error(GS_EXIT_FAILURE, "events", "the module's come by netlink, and this "
				"gpusharectl was built without libnl-genl-3");
	if (rc == -EPERM || rc == -EACCES)
		return gs_error(GS_EXIT_PERMISSION, "events", "not allowed; only root may listen");
	return gs_call_error("events", rc);
}

void gs_events_close(struct gs_events *e)
{
	if (!e)
		return;
	gs_transport_close(e->arbiter);
	gs_netlink_close(e->netlink);
	free(e);
}

static int take(struct gs_events *e, struct gpushare_event *event)
{
	int rc;

	do {
		rc = e->netlink ? gs_netlink_next(e->netlink, event) :
			gs_transport_next(e->arbiter, event);
		/* The netlink groups are coarser than what was asked for. */
	} while (rc == 1 && (event->type > 63 || !(e->types & 1ULL << event->type)));
	return rc;
}

int gs_events_next(struct gs_events *e, struct gpushare_event *event, int timeout_ms)
{
	struct pollfd p = { .events = POLLIN };
	int rc;

	rc = take(e, event);
	if (rc)
		return rc;
	p.fd = e->netlink ? gs_netlink_fd(e->netlink) : gs_transport_fd(e->arbiter);
	rc = poll(&p, 1, timeout_ms);
	if (rc <= 0)
		return rc < 0 && errno != EINTR ? -errno : 0;
	return take(e, event);
}
