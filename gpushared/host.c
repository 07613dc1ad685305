// SPDX-License-Identifier: MIT
/*
 * The core's callbacks. None may call the core again, so they write pages, set
 * timers and make notes; client_settle() acts on the notes afterwards.
 */
#include <stdlib.h>

#include "gpushared.h"

/*
 * The core tells only of times before the one that is armed, as to set a timer may cost more
 * than one that fires in vain. Ours cost nothing, so we are told each time. When nothing is
 * left to wait for, it may fire once.
 */
static void arm(struct gs_arbiter *arb, struct gs_device *core, u64 when)
{
	struct device *dev = core->priv;

	(void)arb;
	core->armed = GS_NEVER;
	timer_arm(&dev->timer, when);
}

/* A time that is still to come would be a lie in the client's favour. */
static u64 peek_idle(struct gs_arbiter *arb, struct gs_client *core)
{
	struct client *c = core->priv;
	u64 since = __atomic_load_n(&c->pages.own->idle_ns, __ATOMIC_ACQUIRE);

	return min(since, arb->now);
}

static u64 peek_until(struct gs_arbiter *arb, struct gs_client *core)
{
	struct client *c = core->priv;

	(void)arb;
	return __atomic_load_n(&c->pages.own->until_ns, __ATOMIC_ACQUIRE);
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
	.peek_until = peek_until,
	.kill = kill_client,
	.mem_over = memory_over,
	.node_free = node_free,
	.event = event_tell,
};

void host_init(void)
{
	d.started_ns = now_ns();
	gs_arbiter_init(&d.arb, &ops);
}
