// SPDX-License-Identifier: MIT
/*
 * Streams of events. Each reader has a ring; it is sent at the end of a round,
 * and when the socket has room again. Who reads too slowly loses the newest and
 * is told how many. The core tells only what somebody listens for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "gpushared.h"

struct stream {
	struct peer *peer;
	struct list_head link;
	uint64_t types;
	bool started, blocked;
	unsigned int first, count;
	uint64_t lost;
	struct gpushare_event ring[STREAM_EVENTS];
};

static struct list_head streams = { &streams, &streams };

static void choose_events(void)
{
	uint64_t wanted = 0;
	struct stream *s;

	list_for_each_entry(s, &streams, link)
		wanted |= s->types;
	d.arb.events = gs_contract_events(wanted);
}

int stream_open(struct peer *p, const struct gpushare_events *u)
{
	struct stream *s, *i;
	unsigned int n = 0;

	if (u->flags || (u->types & ~((2ull << GPUSHARE_EVENT_LOST) - 1)))
		return -EINVAL;
	if (!p->admin)
		return -EPERM;
	if (p->client)
		return -EALREADY;
	list_for_each_entry(i, &streams, link)
		n += i->peer->uid == p->uid;
	if (n >= MAX_STREAMS_USER)
		return -EUSERS;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->peer = p;
	s->types = u->types;
	p->stream = s;
	peer_may_leave(p->source.fd, true);
	list_add_tail(&s->link, &streams);
	choose_events();
	return 0;
}

/* The answer has gone out, so events may follow it. */
void stream_start(struct peer *p)
{
	if (p->stream)
		p->stream->started = true;
}

void stream_free(struct peer *p)
{
	struct stream *s = p->stream;

	if (!s)
		return;
	p->stream = NULL;
	list_del_init(&s->link);
	free(s);
	choose_events();
}

/* The core tells of a new device before it is in our list. */
static bool is_new(const struct gs_event *ev)
{
	const struct device *dev;

	list_for_each_entry(dev, &d.devices, link)
		if (dev->core.id == ev->device)
			return false;
	return true;
}

void event_tell(struct gs_arbiter *arb, const struct gs_event *ev)
{
	struct client *c = ev->client ? client_find(ev->client) : NULL;
	struct gpushare_event out;
	struct stream *s;

	(void)arb;
	gs_contract_event(&out, ev, ev->type == GS_EV_DEVICE && is_new(ev),
			  c ? c->peer->pid : ev->client && d.acting ? d.acting->peer->pid : 0);
	if (!out.type)
		return;
	list_for_each_entry(s, &streams, link) {
		if (!(s->types & 1ull << out.type))
			continue;
		if (s->count == STREAM_EVENTS || s->lost)
			s->lost++;
		else
			s->ring[(s->first + s->count++) % STREAM_EVENTS] = out;
	}
}

/* Up to one message's worth from the ring, or word of what was lost. */
static unsigned int next_events(const struct stream *s, struct gpushare_event *to)
{
	unsigned int i, n = min(s->count, (unsigned int)GS_WIRE_EVENTS_MAX);

	for (i = 0; i < n; i++)
		to[i] = s->ring[(s->first + i) % STREAM_EVENTS];
	if (!n && s->lost) {
		memset(to, 0, sizeof(*to));
		to->time_ns = now_ns();
		to->type = GPUSHARE_EVENT_LOST;
		to->value = s->lost;
		return 1;
	}
	return n;
}

/* Returns what stopped it: 0, all is sent; or an error. */
static int send_events(struct stream *s)
{
	struct gs_wire head = {
		.magic = GS_WIRE_MAGIC, .flags = GS_WIRE_EVENT, .cmd = GPUSHARE_EVENTS,
	};
	struct gpushare_event events[GS_WIRE_EVENTS_MAX];
	unsigned int n;
	int err;

	while ((n = next_events(s, events))) {
		err = peer_send(s->peer, &head, events, n * sizeof(events[0]), NULL, 0);
		if (err)
			return err;
		if (s->count) {
			s->first = (s->first + n) % STREAM_EVENTS;
			s->count -= n;
		} else {
			s->lost = 0;
		}
	}
	return 0;
}

static void push(struct stream *s)
{
	int err = send_events(s);
	bool blocked = err == -EAGAIN;

	if (err && !blocked) {
		peer_doom(s->peer);
		return;
	}
	if (blocked != s->blocked) {
		s->blocked = blocked;
		loop_change(&s->peer->source, EPOLLIN | (blocked ? EPOLLOUT : 0));
	}
}

void stream_writable(struct peer *p)
{
	if (p->stream)
		push(p->stream);
}

void event_flush(void)
{
	struct stream *s, *n;

	list_for_each_entry_safe(s, n, &streams, link)
		if (s->started && !s->blocked && (s->count || s->lost))
			push(s);
}
