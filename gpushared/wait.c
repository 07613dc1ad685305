// SPDX-License-Identifier: MIT
/*
 * Requests: taken, answered when granted or over, and what follows calls of the core.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpushared.h"

static void wait_expired(struct timer *t);
static struct timer timer = { .due = wait_expired };

/* @c's request is over; @of is whose grant it came to. */
static void answer(struct client *c, int result, const struct client *of)
{
	struct gpushare_wait w = { .size = c->wait_size };
	struct gs_wire head = c->wait_head;

	gs_contract_tell(&w, &of->core);
	c->waiting = false;
	list_del_init(&c->wait_link);
	peer_reply(c->peer, &head, result, &w, min_t(uint32_t, c->wait_size, sizeof(w)), NULL, 0);
}

static void arm_waits(void)
{
	uint64_t first = GS_NEVER;
	struct client *c;

	list_for_each_entry(c, &d.waits, wait_link)
		first = min(first, c->wait_until);
	timer_arm(&timer, first);
}

/* Of its own doing, so it needn't be woken. */
int client_ask(struct client *c, bool any, uint64_t want, bool again, struct gs_client **holder)
{
	int ret;

	d.acting = c;
	d.acting_any = any;
	ret = gs_contract_ask(&c->core, any, again, want, holder, now_ns());
	d.acting = NULL;
	return ret;
}

void client_give_back(struct client *c, bool any)
{
	d.acting = c;
	d.acting_any = any;
	gs_contract_give_back(&c->core, any, now_ns());
	d.acting = NULL;
}

int client_wait(struct peer *p, struct message *m, uint32_t given)
{
	bool yields = _IOC_NR(m->head.cmd) == _IOC_NR(GPUSHARE_YIELD);
	struct gpushare_wait *w = &m->wait;
	bool any = w->flags & GPUSHARE_WAIT_ANY, asks = !yields || w->flags & GPUSHARE_WAIT_AGAIN;
	bool waits = asks && !(w->flags & GPUSHARE_WAIT_NONBLOCK || m->head.flags & GS_WIRE_QUIET);
	int got = gs_contract_wait_check(w, yields);
	struct client *c = p->client;
	struct gs_client *holder;

	if (got)
		return got;
	if (!c)
		return -ENOTCONN;
	if (c->core.state == GS_CLIENT_GONE)
		return -ENODEV;
	if (waits && c->waiting)
		return -EBUSY;
	client_asked(c, any);
	holder = &c->core;
	if (asks)
		got = client_ask(c, any, w->want_ns, yields, &holder);
	else
		client_give_back(c, any);
	if (got < 0)
		return got;
	gs_contract_tell(w, holder);
	if (got || !asks)
		return 0;
	if (!waits)
		return -EAGAIN;
	c->waiting = true;
	c->wait_head = m->head;
	c->wait_size = given;
	/* Without a time it is 0 in an older caller's struct: long past. */
	c->wait_until = w->until_ns;
	list_add_tail(&c->wait_link, &d.waits);
	arm_waits();
	return LATER;
}

static void wait_expired(struct timer *t)
{
	uint64_t now = now_ns();
	struct client *c, *n;

	(void)t;
	list_for_each_entry_safe(c, n, &d.waits, wait_link) {
		/* One that has it by now is told so when this round is settled. */
		if (c->wait_until <= now && gs_cancel(&c->core, now) != -EBUSY)
			answer(c, -ETIMEDOUT, c);
	}
	arm_waits();
}

/* Its client goes. */
void wait_end(struct client *c)
{
	if (c->waiting && !c->peer->closed)
		answer(c, -ENOTCONN, c);
	list_del_init(&c->wait_link);
}

/*
 * Whoever of its set waits for an answer gets it; whoever sleeps on a page looks
 * at those of all.
 */
static void answer_granted(struct client *c)
{
	struct client *i;

	list_for_each_entry(i, &c->core.set, core.set) {
		__atomic_store_n(&i->pages.grant->wake, i->pages.grant->wake + 1,
				 __ATOMIC_RELEASE);
		page_wake(i);
		if (i->waiting && i->core.state == GS_CLIENT_IDLE)
			answer(i, 0, c);
	}
	if (c->waiting)
		answer(c, 0, c);
}

void client_changed(struct client *c)
{
	if (list_empty(&c->changed))
		list_add_tail(&c->changed, &d.changed);
}

static void settle_one(struct client *c)
{
	if (c->withdrawn) {
		c->withdrawn = false;
		/* Pairs with the client's fence between clearing its flag and its look. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (c->core.state == GS_CLIENT_IDLE && !c->pages.own->idle_ns)
			gs_revive(&c->core, now_ns());
	}
	if (c->kill) {
		c->kill = false;
		say("pid %d (%s) is killed: it kept %s past kill_us", c->peer->pid, c->comm,
		    c->device ? c->device->info.key : "its device");
		syscall(SYS_pidfd_send_signal, c->peer->process.fd, SIGKILL, NULL, 0);
	}
	if (c->taken_back && c->waiting)
		answer(c, -EINTR, c);
	c->taken_back = false;
	memory_settle(c);
	if (c->core.state == GS_CLIENT_GONE && c->waiting)
		answer(c, -ENODEV, c);
	else if (c->core.flags & GS_GRANTED)
		answer_granted(c);
}

/* After calls of the core: what its callbacks noted. */
void client_settle(void)
{
	struct client *c;

	while (!list_empty(&d.changed)) {
		c = list_first_entry(&d.changed, struct client, changed);
		list_del_init(&c->changed);
		settle_one(c);
	}
}
