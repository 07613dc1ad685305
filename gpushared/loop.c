// SPDX-License-Identifier: MIT
/*
 * The loop: epoll, and the order of one round. What has to go is closed and freed
 * at its end: epoll may have told of it in the same round, and callers up the
 * stack may be holding it.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "gpushared.h"

#define ROUND 64

static int epoll_fd = -1;

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int loop_init(void)
{
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

int timer_init(struct source *s)
{
	s->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return s->fd < 0 ? -errno : loop_add(s, EPOLLIN);
}

/* At a point in time; one that has passed is at once, GS_NEVER disarms. */
void timer_arm(struct source *s, uint64_t at_ns)
{
	struct itimerspec it = { 0 };

	if (at_ns != GS_NEVER) {
		it.it_value.tv_sec = (time_t)(at_ns / 1000000000);
		it.it_value.tv_nsec = (long)(at_ns % 1000000000);
		if (!at_ns)
			it.it_value.tv_nsec = 1;
	}
	timerfd_settime(s->fd, TFD_TIMER_ABSTIME, &it, NULL);
}

void loop_run(void)
{
	struct epoll_event ev[ROUND];
	struct source *s;
	uint64_t start, at;
	int i, n;

	while (!d.stop) {
		n = epoll_wait(epoll_fd, ev, ROUND, -1);
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
		do {
			client_settle();
			event_flush();
		} while (peer_end_round());
		device_end_round();
		service_round(now_ns() - start);
	}
}

void loop_end(void)
{
	close(epoll_fd);
}
