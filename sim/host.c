// SPDX-License-Identifier: MIT
/*
 * The third host of the arbiter, beside the module and the daemon: it passes
 * the virtual time in, and what the core publishes on a client's page reaches
 * the tenant as an event of its own at the same moment, since the core may not
 * be called from within its callbacks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

static int complain(struct run *run, int error, const char *what, const char *name)
{
	fprintf(stderr, "%s: %s '%s': the arbiter says: %s\n", run->s->file, what, name,
		strerror(-error));
	run->error = error;
	return error;
}

/* -- what the core calls --------------------------------------------------- */

static void look(struct run *run, void *arg, uint64_t unused);

static void look_soon(struct host_client *hc)
{
	if (hc->looking)
		return;
	hc->looking = true;
	sim_at(hc->t->run, hc->t->run->clock.now, look, hc, 0);
}

static void publish(struct gs_arbiter *arb, struct gs_client *c)
{
	(void)arb;
	look_soon(c->priv);
}

static void expire(struct run *run, void *arg, uint64_t armed)
{
	struct host_device *hd = arg;

	if (hd->there && hd->armed == armed)
		gs_expire(&hd->dev, host_now(run));
}

static void arm(struct gs_arbiter *arb, struct gs_device *dev, u64 when)
{
	struct host_device *hd = dev->priv;
	struct host *host = arb->priv;
	uint64_t at = when > HOST_EPOCH ? when - HOST_EPOCH : 0;

	hd->armed++;
	if (when == GS_NEVER)
		return;
	if (at < host->run->clock.now)
		at = host->run->clock.now;
	sim_at(host->run, at, expire, hd, hd->armed);
}

static u64 peek_idle(struct gs_arbiter *arb, struct gs_client *c)
{
	struct host_client *hc = c->priv;

	(void)arb;
	return hc->holding && hc->t->state == TENANT_LINGERING ?
		hc->t->idle_since + HOST_EPOCH : 0;
}

/* What runs whole can't be stopped, and says so where the device takes turns. */
static u64 peek_until(struct gs_arbiter *arb, struct gs_client *c)
{
	struct host_client *hc = c->priv;
	const struct sim_device *d = &hc->t->run->s->devices[hc->device];
	const struct launch *l = hc->t->launch;
	uint64_t waves;

	if (!d->turn_ns || hc->t->t->run != SIM_UNSLICED || !l)
		return 0;
	waves = (l->left + l->resident + l->width - 1) / (l->width ? l->width : 1);
	return arb->now + waves * sim_mean(&l->kernel->time) * 1000 / d->speed;
}

static void kill_later(struct run *run, void *arg, uint64_t life)
{
	struct tenant *t = arg;

	(void)run;
	if (t->life == life)
		sim_tenant_kill(t);
}

static void kill_tenant(struct gs_arbiter *arb, struct gs_client *c)
{
	struct host_client *hc = c->priv;
	struct host *host = arb->priv;

	sim_at(host->run, host->run->clock.now, kill_later, hc->t, hc->t->life);
}

static void node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	(void)arb;
	free(node);
}

static void event(struct gs_arbiter *arb, const struct gs_event *ev)
{
	struct host *host = arb->priv;
	struct gs_event e = *ev;

	e.time -= HOST_EPOCH;
	if (e.type == GS_EV_THROTTLE && e.a != GS_NEVER)
		e.a -= HOST_EPOCH;
	sim_trace(host->run, &e);
}

static const struct gs_host_ops ops = {
	.publish = publish,
	.arm = arm,
	.peek_idle = peek_idle,
	.peek_until = peek_until,
	.kill = kill_tenant,
	.node_free = node_free,
	.event = event,
};

/* -- what the tenant sees -------------------------------------------------- */

static void look_gone(struct host_client *hc)
{
	hc->there = false;
	hc->holding = false;
	gs_client_remove(&hc->c, host_now(hc->t->run));
	sim_tenant_gone(hc->t, hc->device);
}

/* The grant was there and isn't: the holder was idle, or late. */
static void look_lost(struct host_client *hc)
{
	if (hc->c.state == GS_CLIENT_OVER) {
		hc->t->overran++;
		if (!hc->preempted)
			sim_tenant_preempt(hc->t);
		hc->preempted = true;
	} else if (hc->c.state == GS_CLIENT_WAITING) {
		hc->holding = false;
		sim_tenant_beside(hc->t);
	} else if (hc->t->state == TENANT_LINGERING) {
		hc->holding = false;
		sim_tenant_withdrawn(hc->t);
	} else {
		gs_revive(&hc->c, host_now(hc->t->run));
	}
}

static void look(struct run *run, void *arg, uint64_t unused)
{
	struct host_client *hc = arg;
	uint32_t flags = hc->c.flags;

	(void)run;
	(void)unused;
	hc->looking = false;
	if (!hc->there)
		return;
	if (flags & GS_GONE) {
		look_gone(hc);
		return;
	}
	if (flags & GS_PREPARE)
		sim_memory_prepare(hc);
	if (flags & GS_EVICT)
		sim_memory_evict(hc);
	if (hc->holding && !(flags & GS_GRANTED)) {
		look_lost(hc);
		return;
	}
	if ((flags & GS_GRANTED) && !hc->holding) {
		hc->holding = true;
		hc->preempted = false;
		sim_tenant_granted(hc->t, hc->device, hc->c.workers);
	}
	if (!hc->holding)
		return;
	if (hc->t->workers != hc->c.workers)
		sim_tenant_workers(hc->t, hc->c.workers);
	if ((flags & GS_PREEMPT) && !hc->preempted) {
		hc->preempted = true;
		sim_tenant_preempt(hc->t);
	}
}

/* -- what the tenant does -------------------------------------------------- */

static int add_nodes(struct host *host, struct gs_group *group, struct gs_device *dev)
{
	struct gs_group *missing;
	struct gs_node *node;
	int ret;

	while ((missing = gs_group_missing(group, dev))) {
		node = malloc(sizeof(*node));
		if (!node)
			return -ENOMEM;
		ret = gs_node_add(node, missing, dev, host_now(host->run));
		if (ret) {
			free(node);
			return ret;
		}
	}
	return 0;
}

static struct gs_group *group_of(struct host *host, int group)
{
	return group < 0 ? &host->arb.root : &host->groups[group];
}

int sim_host_join(struct tenant *t)
{
	struct host *host = t->run->host;
	struct gs_group *group = group_of(host, t->t->group);
	struct host_client *hc;
	int i, ret;

	for (i = 0; i < t->run->s->ndevices; i++) {
		if (!(t->devices >> i & 1) || !host->devices[i].there)
			continue;
		hc = host_client(t, i);
		ret = add_nodes(host, group, &host->devices[i].dev);
		if (!ret)
			ret = gs_client_add(&hc->c, sim_client_id(t, i), group,
					    &host->devices[i].dev, host_now(t->run));
		if (ret)
			return complain(t->run, ret, "tenant", t->t->name);
		hc->c.priv = hc;
		hc->there = true;
		ret = sim_memory_join(hc);
		if (ret == -ENOMEM) {
			t->denied = true;
			sim_host_leave(t);
			return ret;
		}
		if (ret)
			return complain(t->run, ret, "the memory of tenant", t->t->name);
	}
	return 0;
}

void sim_host_leave(struct tenant *t)
{
	struct host_client *hc;
	int i;

	for (i = 0; i < t->run->s->ndevices; i++) {
		hc = host_client(t, i);
		if (!hc->there)
			continue;
		hc->there = false;
		hc->holding = false;
		gs_client_remove(&hc->c, host_now(t->run));
	}
}

void sim_host_describe(struct tenant *t, const struct job *job)
{
	const struct sim_kernel *k = job->kernel;
	struct host_client *hc;
	uint64_t block;
	int i;
	u32 p;

	for (i = 0; i < t->run->s->ndevices; i++) {
		hc = host_client(t, i);
		if (!hc->there || t->run->s->devices[i].conf.seats < 2)
			continue;
		block = sim_mean(&k->time) * 1000 / t->run->s->devices[i].speed;
		hc->profile = (struct gs_profile){
			.threads = k->threads, .regs = k->registers, .local_mem = k->local,
			.points = GS_PROFILE_POINTS, .blocks = job->left,
		};
		for (p = 0; p < GS_PROFILE_POINTS; p++)
			hc->profile.rate[p] = (SIM_NS_PER_S << p) / (block ? block : 1);
		gs_profile_set(&hc->c, &hc->profile, host_now(t->run));
	}
}

static struct host_client *only_client(struct tenant *t)
{
	return host_client(t, __builtin_ctzll(t->devices));
}

void sim_host_request(struct tenant *t, uint64_t want_ns)
{
	struct gs_client *clients[GS_ANY_MAX];
	int i, n = 0, ret;

	for (i = 0; i < t->run->s->ndevices; i++)
		if (host_client(t, i)->there)
			clients[n++] = &host_client(t, i)->c;
	if (n > 1)
		ret = gs_request_any(clients, n, want_ns, host_now(t->run));
	else
		ret = gs_request(&only_client(t)->c, want_ns, host_now(t->run));
	if (ret < 0 && ret != -EAGAIN)
		complain(t->run, ret, "a request of tenant", t->t->name);
}

bool sim_host_yield(struct tenant *t, bool again, uint64_t want_ns)
{
	struct host_client *hc = host_client(t, t->device);
	bool any = t->devices & (t->devices - 1);
	int ret;

	ret = gs_yield(&hc->c, again && !any, want_ns, host_now(t->run));
	if (ret < 0)
		complain(t->run, ret, "a yield of tenant", t->t->name);
	hc->preempted = false;
	hc->holding = ret == 1;
	if (ret == 1)
		t->workers = hc->c.workers;
	if (again && any)
		sim_host_request(t, want_ns);
	return ret == 1;
}

/* It doesn't want what it was asked for in its stead. */
void sim_host_cancel(struct tenant *t)
{
	struct host_client *hc = host_client(t, t->device);

	if (gs_cancel(&hc->c, host_now(t->run)) == -EBUSY)
		gs_yield(&hc->c, false, 0, host_now(t->run));
}

void sim_host_idle(struct tenant *t)
{
	gs_idle(&host_client(t, t->device)->c, host_now(t->run), host_now(t->run));
}

void sim_host_busy(struct tenant *t)
{
	gs_busy(&host_client(t, t->device)->c, host_now(t->run));
}

uint64_t sim_host_restore(struct tenant *t, int device)
{
	return sim_memory_restore(host_client(t, device));
}

/* -- the scenario ---------------------------------------------------------- */

static int set_share(struct run *run, const struct sim_share *sh)
{
	struct host *host = run->host;
	struct gs_group *group = group_of(host, sh->group);
	struct gs_device *dev = sh->device < 0 ? NULL : &host->devices[sh->device].dev;
	int ret = 0;

	if (!sh->fields)
		return 0;
	if (dev)
		ret = add_nodes(host, group, dev);
	if (!ret)
		ret = gs_group_set(group, dev, &sh->share, sh->fields, host_now(run));
	return ret ? complain(run, ret, "the share of group",
			      sh->group < 0 ? "/" : run->s->groups[sh->group].path) : 0;
}

static void change(struct run *run, void *arg, uint64_t unused)
{
	const struct sim_change *c = arg;
	struct host_device *hd = &run->host->devices[c->index];
	int ret = 0;

	(void)unused;
	switch (c->kind) {
	case SIM_SET_SHARE:
		if (!set_share(run, &c->share))
			sim_fluid_share(run, &c->share);
		break;
	case SIM_KILL:
		sim_tenant_kill(&run->tenants[c->index]);
		break;
	case SIM_SET_DEVICE:
		ret = gs_device_set(&hd->dev, &c->conf, host_now(run));
		break;
	case SIM_REMOVE_DEVICE:
		if (hd->there)
			gs_device_remove(&hd->dev, host_now(run));
		hd->there = false;
	}
	if (ret)
		complain(run, ret, "a new setting of device", run->s->devices[c->index].name);
	sim_fluid_update(run);
	sim_fluid_promise(run);
}

static int add_all(struct run *run)
{
	const struct sim_scenario *s = run->s;
	struct host *host = run->host;
	int i, ret;

	for (i = 0; i < s->ndevices; i++) {
		ret = gs_device_add(&host->arb, &host->devices[i].dev, i + 1,
				    &s->devices[i].conf, host_now(run));
		if (ret)
			return complain(run, ret, "device", s->devices[i].name);
		host->devices[i].dev.priv = &host->devices[i];
		host->devices[i].there = true;
	}
	for (i = 0; i < s->ngroups; i++) {
		ret = gs_group_add(&host->arb, &host->groups[i], i + 2,
				   group_of(host, s->groups[i].parent), host_now(run));
		if (ret)
			return complain(run, ret, "group", s->groups[i].path);
	}
	for (i = 0; i < s->nshares; i++) {
		ret = set_share(run, &s->shares[i]);
		if (ret)
			return ret;
	}
	for (i = 0; i < s->nchanges; i++)
		sim_at(run, s->changes[i].at_ns, change, &s->changes[i], 0);
	return 0;
}

int sim_host_init(struct run *run)
{
	const struct sim_scenario *s = run->s;
	struct host *host = calloc(1, sizeof(*host));
	int i, j;

	if (!host)
		return -ENOMEM;
	run->host = host;
	host->run = run;
	host->devices = calloc(s->ndevices, sizeof(*host->devices));
	host->groups = calloc(s->ngroups + 1, sizeof(*host->groups));
	host->clients = calloc((size_t)s->ntenants * s->ndevices, sizeof(*host->clients));
	if (!host->devices || !host->groups || !host->clients)
		return -ENOMEM;
	gs_arbiter_init(&host->arb, &ops);
	host->arb.priv = host;
	host->arb.events = run->trace ? GS_EVENTS_ALL : 0;
	for (i = 0; i < s->ntenants; i++) {
		for (j = 0; j < s->ndevices; j++) {
			host_client(&run->tenants[i], j)->t = &run->tenants[i];
			host_client(&run->tenants[i], j)->device = j;
		}
	}
	return add_all(run);
}

/* Takes everything down as a host would, so that a leak shows. */
void sim_host_free(struct run *run)
{
	struct host *host = run->host;
	int i;

	if (!host)
		return;
	for (i = 0; i < run->s->ntenants; i++)
		sim_host_leave(&run->tenants[i]);
	for (i = run->s->ngroups - 1; i >= 0; i--)
		if (host->groups[i].arb)
			gs_group_remove(&host->groups[i], host_now(run));
	for (i = 0; i < run->s->ndevices; i++)
		if (host->devices[i].there)
			gs_device_remove(&host->devices[i].dev, host_now(run));
	free(host->clients);
	free(host->groups);
	free(host->devices);
	free(host);
	run->host = NULL;
}
