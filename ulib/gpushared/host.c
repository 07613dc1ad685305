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

static void arm(struct gs_arbiter *arb, struct gs_device *core, u64 when)
{
	struct device *dev = core->priv;

	(void)arb;
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
