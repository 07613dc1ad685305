// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the arbiter tells of, on its way to tracepoints and to netlink.
 *
 * Events come under gs.lock, where no message can be made for the lack of a
 * sleep. So they are put into a ring, if anybody listens, and a work item sends
 * them. A listener that is slower than the ring is told how many it missed: in
 * numbers if the ring was full, by ENOBUFS of its socket if that was.
 */
#include <linux/pid.h>
#include <linux/workqueue.h>
#include "gpushare.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

#define RING 1024

/* All of it is protected by gs.lock. */
static struct gpushare_event ring[RING];
static unsigned int head, tail;	/* first in, next free: both count on and on */
static u64 lost;

static void send(struct work_struct *work);
static DECLARE_WORK(send_work, send);

/* Those that come many a second, of which only who listens should pay for. */
#define OFTEN	(BIT_ULL(GS_EV_REQUEST) | BIT_ULL(GS_EV_GRANT) | BIT_ULL(GS_EV_PREEMPT) | \
		 BIT_ULL(GS_EV_YIELD) | BIT_ULL(GS_EV_LINGER))

/* Those that the interface doesn't know. */
#define UNKNOWN	(BIT_ULL(GS_EV_CANCEL) | BIT_ULL(GS_EV_MOVE) | BIT_ULL(GS_EV_EVICT) | \
		 BIT_ULL(GS_EV_EPOCH))

static bool telling;	/* there is a netlink family. Protected by gs.lock */

/*
 * Who listens? This is asked each time the lock is taken, but for the quickest
 * of calls, which ask once a millisecond.
 */
void gs_listen(u64 now)
{
	u64 events = GS_EVENTS_ALL & ~(OFTEN | UNKNOWN);

	lockdep_assert_held(&gs.lock);
	gs.listened = now;
	if (!telling)
		return;
	if (trace_gpushare_grant_enabled())
		events |= BIT_ULL(GS_EV_GRANT);
	if (trace_gpushare_preempt_enabled())
		events |= BIT_ULL(GS_EV_PREEMPT);
	if (trace_gpushare_yield_enabled())
		events |= BIT_ULL(GS_EV_YIELD) | BIT_ULL(GS_EV_LINGER);
	if (gs_netlink_wanted(GPUSHARE_EVENT_GRANTED))
		events |= OFTEN;
	gs.arb.events = events;
}

static void trace(const struct gs_event *ev)
{
	switch (ev->type) {
	case GS_EV_GRANT:
		trace_gpushare_grant(ev);
		break;
	case GS_EV_PREEMPT:
		trace_gpushare_preempt(ev);
		break;
	case GS_EV_YIELD:
	case GS_EV_LINGER:
		trace_gpushare_yield(ev);
		break;
	case GS_EV_OVERRUN:
		trace_gpushare_overrun(ev);
		break;
	case GS_EV_THROTTLE:
		trace_gpushare_throttle(ev);
		break;
	}
}

static struct kclient *client_of(const struct gs_event *ev)
{
	struct gs_id *found = ev->client ? gs_id_find(&gs.clients, ev->client) : NULL;

	return found ? container_of(found, struct kclient, id) : NULL;
}

static void fill(struct gpushare_event *out, const struct gs_event *ev)
{
	struct kclient *c = client_of(ev);
	/* The arbiter tells of a new device before it is listed. */
	bool new_device = ev->type == GS_EV_DEVICE && !gs_device_by_id(ev->device);

	gs_contract_event(out, ev, new_device, c ? pid_nr(c->pid) : 0);
}

/* The arbiter's callback, under gs.lock. */
void gs_event(struct gs_arbiter *arb, const struct gs_event *ev)
{
	lockdep_assert_held(&gs.lock);
	trace(ev);
	if (!gs_netlink_wanted(gs_contract_event_type(ev->type)))
		return;
	if (tail - head == RING)
		lost++;
	else
		fill(&ring[tail++ % RING], ev);
	schedule_work(&send_work);
}

/* The next event to send, or a word about those that were lost. */
static bool next(struct gpushare_event *event)
{
	bool some = true;
	u64 now = gs_lock();

	if (head != tail) {
		*event = ring[head++ % RING];
	} else if (lost) {
		*event = (struct gpushare_event) {
			.time_ns = now,
			.type = GPUSHARE_EVENT_LOST,
			.value = lost,
		};
		lost = 0;
	} else {
		some = false;
	}
	gs_unlock();
	return some;
}

static void send(struct work_struct *work)
{
	struct gpushare_event event;

	while (next(&event)) {
		gs_netlink_send(&event);
		cond_resched();
	}
}

void gs_events_init(void)
{
	gs_lock();
	telling = true;
	gs_unlock();
}

/* Groups may still go after this, but nothing is told of them: the work must not come back. */
void gs_events_exit(void)
{
	gs_lock();
	telling = false;
	gs.arb.events = 0;
	gs_unlock();
	flush_work(&send_work);
}
