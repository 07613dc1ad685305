// SPDX-License-Identifier: MIT
/*
 * MEMORY: the books are the core's; here are the charges that wait. They are answered when
 * they are over. Whoever asks may be another connection of the client's process than that
 * of the client, so that a thread can sleep in recv() until its answer comes while others
 * use the client's: then that one, by its end, takes the wait back.
 */
#include <errno.h>

#include "gpushared.h"

static void expired(struct timer *t);
static struct timer timer = { .due = expired };
static struct list_head waits = { &waits, &waits };

static void arm(void)
{
	uint64_t first = GS_NEVER;
	struct client *c;

	list_for_each_entry(c, &waits, memory.link)
		first = min(first, c->core.mem_until);
	timer_arm(&timer, first);
}

static void forget(struct client *c)
{
	c->memory.peer->wants = NULL;
	c->memory.peer = NULL;
	c->memory.over = false;
	list_del_init(&c->memory.link);
}

static void answer(struct client *c, int result)
{
	struct gpushare_memory u = c->memory.asked;
	struct peer *p = c->memory.peer;
	uint32_t size = min_t(uint32_t, c->memory.size, sizeof(u));

	gs_contract_memory_over(&u, &c->core, result);
	forget(c);
	peer_reply(p, &c->memory.head, result, &u, size, NULL, 0);
	/* It has gone in this very round, or can't be told: it doesn't know that it has it. */
	if (!result && p->doomed && c->core.state != GS_CLIENT_GONE)
		gs_mem_uncharge(&c->core, u.bytes, now_ns());
}

/* Of which client it speaks: the connection's, or that of the same process it names. */
static int whose(struct peer *p, uint64_t id, struct client **c)
{
	*c = id ? client_find(id) : p->client;
	if (id && (!*c || (*c)->peer->pid != p->pid))
		return -EBADF;
	return *c ? 0 : -ENOTCONN;
}

int memory_command(struct peer *p, struct message *m, uint32_t given)
{
	struct gpushare_memory *u = &m->memory;
	struct client *c;
	int err = whose(p, m->head.set, &c);

	if (!err)
		err = gs_contract_memory_check(u);
	if (err)
		return err;
	if (c->core.state == GS_CLIENT_GONE)
		return -ENODEV;
	/* One that is over, and isn't answered yet, is one still. */
	if (u->flags & GPUSHARE_MEM_WAIT && !(u->flags & GPUSHARE_MEM_NONBLOCK) &&
	    (p->wants || c->memory.peer))
		return -EBUSY;
	err = gs_contract_memory(&c->core, u, now_ns());
	if (err != -EAGAIN || u->flags & GPUSHARE_MEM_NONBLOCK)
		return err;
	c->memory.peer = p;
	c->memory.head = m->head;
	c->memory.asked = *u;
	c->memory.size = given;
	c->memory.over = false;
	p->wants = c;
	list_add_tail(&c->memory.link, &waits);
	arm();
	return LATER;
}

static void expired(struct timer *t)
{
	uint64_t now = now_ns();
	struct client *c, *n;

	(void)t;
	list_for_each_entry_safe(c, n, &waits, memory.link) {
		/* One that is over by now is told so when this round is settled. */
		if (!c->memory.over && c->core.mem_until <= now)
			answer(c, gs_mem_give_up(&c->core, false, now));
	}
	arm();
}

/* The core's: it is over. */
void memory_over(struct gs_arbiter *arb, struct gs_client *core, int result)
{
	struct client *c = core->priv;

	(void)arb;
	if (!c->memory.peer)
		return;
	c->memory.over = true;
	c->memory.result = result;
	client_changed(c);
}

void memory_settle(struct client *c)
{
	if (c->memory.over)
		answer(c, c->memory.result);
}

/* The client goes, with all that it has. */
void memory_end(struct client *c)
{
	if (c->memory.peer)
		answer(c, -ENOTCONN);
}

/* Nobody is there to be answered: what comes too late is given back. */
void memory_peer_gone(struct peer *p)
{
	struct client *c = p->wants;

	if (!c)
		return;
	if (!c->memory.over)
		gs_mem_give_up(&c->core, true, now_ns());
	else if (!c->memory.result)
		gs_mem_uncharge(&c->core, c->memory.asked.bytes, now_ns());
	forget(c);
}
