// SPDX-License-Identifier: MIT
/*
 * What a tenant's messages cost. The daemon's time is everybody's, and it runs before
 * others on a busy machine: so whoever sends and rings without end would take processors
 * through us. A tenant has a tenth of one, and a tenth of a second at once. Who has spent
 * that isn't heard any more, on any connection, until it has some again: its messages
 * wait in its own sockets. A request that ends each 0.2 ms costs a twentieth or less.
 *
 * What a turn costs is what passed until it was done, but no more than TURN_MOST, as it
 * may be that we were kept from the processor meanwhile; and what it takes to be woken
 * up. To ask the kernel for our own time takes longer than a turn, so that is for those
 * commands alone that may take long, and for connecting.
 *
 * Admins have no account, and who is alone in a user's own daemon needs none. An account
 * is kept until it is full again, or to leave and come back would be to be forgiven.
 *
 * KNOWN WEAKNESS: whom a connection belongs to is known when it has been looked at, and to
 * connect and leave without end costs us that look each time. It is one in a round.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "gpushared.h"

#define PART		10		/* of a processor, a tenth */
#define HOLDS_NS	1000000000ull	/* an empty account is full after that */
#define RESUME_NS	20000000ull	/* what it needs to be heard again, likewise */
#define RESUMED		64		/* connections at once */
#define TURN_NS		2000		/* to be woken up, and to go to sleep */
#define TURN_MOST	50000

struct account {
	struct list_head link;
	struct list_head paused;	/* who isn't heard */
	uint64_t tenant;
	unsigned int users;
	uint64_t spent_until;		/* what is paid for, up to HOLDS_NS from now */
};

static struct list_head accounts = { &accounts, &accounts };
static void resume(struct timer *t);
static struct timer timer = { .due = resume };
static uint64_t armed = GS_NEVER;

/* Whose turn it was, and what it cost beside the time that passed. */
static struct account *served;
static uint64_t extra;

/* Of ours on the processor, as others may keep us from it for longer. */
uint64_t own_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int account_open(struct peer *p)
{
	struct account *a, *n;
	uint64_t now = now_ns();

	if (!d.system || p->admin)
		return 0;
	list_for_each_entry_safe(a, n, &accounts, link) {
		if (a->tenant == p->tenant) {
			p->account = a;
		} else if (!a->users && a->spent_until <= now) {
			list_del_init(&a->link);
			free(a);
		}
	}
	if (!p->account) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return -ENOMEM;
		a->tenant = p->tenant;
		INIT_LIST_HEAD(&a->paused);
		list_add_tail(&a->link, &accounts);
		p->account = a;
	}
	p->account->users++;
	return 0;
}

void account_close(struct peer *p)
{
	list_del_init(&p->paused);
	if (!p->account)
		return;
	p->account->users--;
	p->account = NULL;
}

static void resume_at(uint64_t at)
{
	if (at >= armed)
		return;
	armed = at;
	timer_arm(&timer, at);
}

/* When it will have something worth while. */
static uint64_t ready_at(const struct account *a)
{
	return a->spent_until - min(a->spent_until, HOLDS_NS - RESUME_NS);
}

/* Is it heard? Its turn begins; it ends, and is paid, with account_settle(). */
bool account_hear(struct peer *p)
{
	struct account *a = p->account;

	served = a;
	if (!a || a->spent_until <= now_ns() + HOLDS_NS)
		return true;
	loop_change(&p->source, 0);
	if (p->bell.fd >= 0)
		loop_change(&p->bell, EPOLLET);
	if (list_empty(&p->paused))
		list_add_tail(&p->paused, &a->paused);
	resume_at(ready_at(a));
	return false;
}

/* In its turn: what that costs beside the time that passes. */
void account_charge(struct peer *p, uint64_t ns)
{
	if (p->account) {
		served = p->account;
		extra += ns;
	}
}

/* A turn is over that began at @start; returns when that was. */
uint64_t account_settle(uint64_t start)
{
	uint64_t now = now_ns(), price;

	if (served) {
		price = min(now - start, (uint64_t)TURN_MOST) + TURN_NS + extra;
		served->spent_until = max(served->spent_until, now) + PART * price;
		served = NULL;
	}
	extra = 0;
	return now;
}

/*
 * What was written or rung meanwhile is told at once. An errand has the source itself
 * back, and so has an answer that waits for the disk.
 */
static void resume_one(struct peer *p)
{
	list_del_init(&p->paused);
	if (!p->errand && !p->held)
		loop_change(&p->source, EPOLLIN);
	if (p->bell.fd >= 0)
		loop_change(&p->bell, EPOLLIN | EPOLLET);
}

static void resume(struct timer *t)
{
	uint64_t now = now_ns(), next = GS_NEVER;
	struct account *a;
	unsigned int n;

	(void)t;
	armed = GS_NEVER;
	list_for_each_entry(a, &accounts, link) {
		if (list_empty(&a->paused))
			continue;
		if (ready_at(a) > now) {
			next = min(next, ready_at(a));
			continue;
		}
		for (n = 0; n < RESUMED && !list_empty(&a->paused); n++)
			resume_one(list_first_entry(&a->paused, struct peer, paused));
		a->spent_until = max(a->spent_until, now) + PART * (uint64_t)n * TURN_NS;
		if (!list_empty(&a->paused))
			next = min(next, now + RESUME_NS);
	}
	resume_at(next);
}
