// SPDX-License-Identifier: MIT
/*
 * The core's callbacks. None may call the core again, so they write pages, set
 * timers and make notes; client_settle() acts on the notes afterwards.
 */
#include <stdlib.h>

#include "gpushared.h"

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
	u64 since = __atomic_load_n(&c->pages.own->idle_ns, __ATOMIC_ACQUIRE);

	return min(since, arb->now);
}

static void kill_client(struct gs_arbiter *arb, struct gs_client *core)
{
	struct client *c = core->priv;

	(void)arb;
	c->kill = true;
	client_changed(c);
}

static void node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	(void)arb;
	free(node);
}

static const struct gs_host_ops ops = {
	.publish = page_publish,
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
