// SPDX-License-Identifier: MIT
/*
 * The core's callbacks. None may call the core again, so they write pages, set
 * timers and make notes; client_settle() acts on the notes afterwards.
 */
#include <stdlib.h>

#include "gpushared.h"

static void publish(struct gs_arbiter *arb, struct gs_client *core)
{
	struct client *c = core->priv;
	bool had = c->grant->word & GPUSHARE_GRANTED;

	(void)arb;
	if (!client_show(c))
		return;
	if (had && !(c->grant->word & GPUSHARE_GRANTED) && !client_acts(c))
		c->withdrawn = true;
	if (list_empty(&c->changed))
		list_add_tail(&c->changed, &d.changed);
}

/*
 * The core tells only of times before the one that is armed. A handoff moves the time
 * on, so where devices change hands quickly such a timer fires in vain, once in a linger,
 * and that costs more than a handoff does; to set it at each handoff is a call in each.
 * So here the core tells each time, and a timer that has less than half of the time left
 * that it should have is put off: one call in half a linger, and only who holds for that
 * long is looked at. When nothing is left to wait for, it may fire once.
 */
static void arm(struct gs_arbiter *arb, struct gs_device *core, u64 when)
{
	struct device *dev = core->priv;
	u64 now = arb->now, armed = dev->armed;

	core->armed = GS_NEVER;
	if (when >= armed && armed > now && when - now <= 2 * (armed - now))
		return;
	dev->armed = when;
	timer_arm(&dev->timer, when);
}

/* A time that is still to come would be a lie in the client's favour. */
static u64 peek_idle(struct gs_arbiter *arb, struct gs_client *core)
{
	struct client *c = core->priv;
	u64 since = __atomic_load_n(&c->page->idle_ns, __ATOMIC_ACQUIRE);

	return min(since, arb->now);
}

static void kill_client(struct gs_arbiter *arb, struct gs_client *core)
{
	struct client *c = core->priv;

	(void)arb;
	c->kill = true;
	if (list_empty(&c->changed))
		list_add_tail(&c->changed, &d.changed);
}

static void node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	(void)arb;
	free(node);
}

static const struct gs_host_ops ops = {
	.publish = publish,
	.arm = arm,
	.peek_idle = peek_idle,
	.kill = kill_client,
	.node_free = node_free,
	.event = event_tell,
};

void host_init(void)
{
	gs_arbiter_init(&d.arb, &ops);
}
