// SPDX-License-Identifier: MIT
/*
 * The loop: epoll, timers, and the order of one round. What has to go is closed and
 * freed at its end: epoll may have told of it in the same round, and callers up the
 * stack may be holding it.
 *
 * Timers are how long epoll waits at most. So to set one is a store and to hear of it
 * no call, which matters as each handoff does both. There are few: one a device and
 * some of ours.
 */
#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "gpushared.h"

#define ROUND 64

static int epoll_fd = -1;
static struct list_head armed = { &armed, &armed };

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int loop_init(void)
{
	prctl(PR_SET_TIMERSLACK, 1ul);	/* a time is that time */
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd < 0 ? -errno : 0;
}

int loop_add(struct source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->fd, &ev) ? -errno : 0;
}

int loop_change(struct source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, s->fd, &ev) ? -errno : 0;
}

/* Closes its file as well; the source's memory must outlive this round. */
void loop_remove(struct source *s)
{
	if (s->fd < 0)
		return;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	close(s->fd);
	s->fd = -1;
}

/* Leaves its file open: others hold it, or see to its end. */
void loop_forget(struct source *s)
{
	if (s->fd >= 0)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
}

/* At a point in time; one that has passed is in the next round, GS_NEVER is never. */
void timer_arm(struct timer *t, uint64_t at_ns)
{
	timer_stop(t);
	t->at = at_ns;
	if (at_ns != GS_NEVER)
		list_add_tail(&t->link, &armed);
}

void timer_stop(struct timer *t)
{
	if (t->link.next)
		list_del_init(&t->link);
}

/* Each once, though it may be set anew for a time that has passed, and stop others. */
static void timers_due(uint64_t now)
{
	struct list_head due = { &due, &due };
	struct timer *t, *n;

	list_for_each_entry_safe(t, n, &armed, link)
		if (t->at <= now)
			list_move_tail(&t->link, &due);
	while (!list_empty(&due)) {
		t = list_first_entry(&due, struct timer, link);
		list_del_init(&t->link);
		t->due(t);
		client_settle();
	}
}

/* Until something is ready or due; @now: when that was last looked at. */
static int wait_for_events(struct epoll_event *ev, uint64_t now)
{
	uint64_t first = GS_NEVER, ns;
	struct timespec ts;
	struct timer *t;
	int n;

	list_for_each_entry(t, &armed, link)
		first = min(first, t->at);
	ns = first > now ? first - now : 0;
	ts = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	n = epoll_pwait2(epoll_fd, ev, ROUND, first == GS_NEVER ? NULL : &ts, NULL);
	/* Before Linux 5.11, and in valgrind: in whole milliseconds. */
	if (n < 0 && errno == ENOSYS)
		n = epoll_wait(epoll_fd, ev, ROUND, first == GS_NEVER ? -1 :
			       (int)min(ns / 1000000 + 1, (uint64_t)INT_MAX));
	return n;
}

void loop_run(void)
{
	struct epoll_event ev[ROUND];
	uint64_t start, at = now_ns();
	struct source *s;
	int i, n;

	while (!d.stop) {
		n = wait_for_events(ev, at);
		start = now_ns();
		at = start;
		for (i = 0; i < n; i++) {
			s = ev[i].data.ptr;
			if (s->fd < 0)
				continue;
			s->ready(s, ev[i].events);
			client_settle();
			at = account_settle(at);
		}
		timers_due(start);
		do {
			client_settle();
			event_flush();
		} while (peer_end_round());
		at = now_ns();
		service_round(at - start);
	}
}

void loop_end(void)
{
	close(epoll_fd);
}
