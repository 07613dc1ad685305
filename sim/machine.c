// SPDX-License-Identifier: MIT
/*
 * The device: compute units that hold blocks as long as threads, registers,
 * local memory and block slots last, and the hardware's queue.
 *
 * The queue is the one of today's GPUs when nobody arbitrates: launches are
 * served in order, and the blocks of the next begin only when all of the ones
 * before have begun ("leftover"). A wide kernel thus fills the device until
 * its last wave, and a short one behind it waits.
 *
 * What is simpler than the truth:
 * - The units' resources are one pool. A kernel's own rounding per unit is
 *   kept (sim_width), the fragmentation between kernels is not.
 * - A block takes its time no matter who runs beside it: caches, memory
 *   bandwidth and the units' pipelines are not contended.
 * Blocks of constant time that begin together are one event, whatever their
 * number; of drawn times, one event each.
 */
#include <stdlib.h>

#include "run.h"

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t fit(uint64_t have, uint64_t need)
{
	return need ? have / need : UINT64_MAX;
}

uint64_t sim_width(const struct sim_device *d, const struct sim_kernel *k)
{
	uint64_t n = d->conf.blocks;

	n = min_u64(n, fit(d->conf.threads, k->threads));
	n = min_u64(n, fit(d->conf.regs, k->registers));
	n = min_u64(n, fit(d->conf.local_mem, k->local));
	return n * d->conf.units;
}

static uint64_t at_speed(const struct sim_device *d, uint64_t ns)
{
	return (uint64_t)((__uint128_t)ns * 1000 / d->speed);
}

void sim_machine_init(struct machine *m, struct run *run, const struct sim_device *d)
{
	*m = (struct machine){
		.device = d,
		.run = run,
		.threads = (uint64_t)d->conf.threads * d->conf.units,
		.registers = (uint64_t)d->conf.regs * d->conf.units,
		.local = (uint64_t)d->conf.local_mem * d->conf.units,
		.blocks = (uint64_t)d->conf.blocks * d->conf.units,
	};
	m->last = &m->first;
}

static uint64_t room_for(const struct machine *m, const struct sim_kernel *k)
{
	uint64_t n = min_u64(m->blocks, fit(m->threads, k->threads));

	n = min_u64(n, fit(m->registers, k->registers));
	return min_u64(n, fit(m->local, k->local));
}

/* Who is on the machine, and since when more than one of them. */
static void presence(struct machine *m, struct tenant *t, int64_t n)
{
	uint64_t now = m->run->clock.now;

	if (!t->present && n > 0) {
		if (m->present++ == 1)
			m->shared_since = now;
		sim_tenant_present(t, m, true);
	}
	t->present += n;
	if (!t->present) {
		if (--m->present == 1)
			m->shared_ns += now - m->shared_since;
		sim_tenant_present(t, m, false);
	}
}

/* Takes (n > 0) or gives back the resources of n blocks. */
static void occupy(struct machine *m, const struct launch *l, int64_t n)
{
	if (!m->resident && n > 0)
		m->busy_since = m->run->clock.now;
	m->blocks -= n;
	m->threads -= n * l->kernel->threads;
	m->registers -= n * l->kernel->registers;
	m->local -= n * l->kernel->local;
	m->resident += n;
	if (!m->resident)
		m->busy_ns += m->run->clock.now - m->busy_since;
	if (l->owner)
		presence(m, l->owner, n);
}

uint64_t sim_machine_busy(const struct machine *m)
{
	return m->busy_ns + (m->resident ? m->run->clock.now - m->busy_since : 0);
}

uint64_t sim_machine_shared(const struct machine *m)
{
	return m->shared_ns + (m->present > 1 ? m->run->clock.now - m->shared_since : 0);
}

static void blocks_end(struct run *run, void *arg, uint64_t n);

/* Sets the ends of n blocks that begin now; their resources are taken. */
static void begin(struct launch *l, uint64_t n)
{
	struct run *run = l->machine->run;
	uint64_t ns, i, step = l->kernel->time.kind == SIM_CONST ? n : 1;

	l->left -= n;
	l->resident += n;
	for (i = 0; i < n; i += step) {
		ns = at_speed(l->machine->device, sim_draw(l->random, &l->kernel->time));
		sim_at(run, run->clock.now + ns + l->ticket_ns, blocks_end, l, step);
	}
}

static void dispatch(struct machine *m)
{
	struct launch *l;
	uint64_t n;

	while ((l = m->first)) {
		n = min_u64(room_for(m, l->kernel), l->left);
		n = min_u64(n, l->width > l->resident ? l->width - l->resident : 0);
		if (n) {
			occupy(m, l, n);
			begin(l, n);
		}
		/* The next one's turn comes when all that may begin has begun. */
		if (l->left && !(l->persistent && l->resident >= l->width))
			break;
		m->first = l->next;
		if (!m->first)
			m->last = &m->first;
		l->queued = false;
	}
}

static void enqueue(struct machine *m, struct launch *l)
{
	l->next = NULL;
	l->queued = true;
	*m->last = l;
	m->last = &l->next;
}

static void dequeue(struct machine *m, struct launch *l)
{
	struct launch **p;

	if (!l->queued)
		return;
	for (p = &m->first; *p != l; p = &(*p)->next)
		;
	*p = l->next;
	if (!*p)
		m->last = p;
	l->queued = false;
}

/* Frees a launch of which nothing runs and nothing will. */
static void end(struct launch *l)
{
	dequeue(l->machine, l);
	if (l->newer)
		l->newer->older = l->older;
	else
		l->machine->all = l->older;
	if (l->older)
		l->older->newer = l->newer;
	if (l->owner)
		sim_tenant_launch_done(l->owner, l);
	free(l);
}

/* What still runs at the end of a run. */
void sim_machine_free(struct machine *m)
{
	struct launch *l;

	while ((l = m->all)) {
		m->all = l->older;
		free(l);
	}
}

static void blocks_end(struct run *run, void *arg, uint64_t n)
{
	struct launch *l = arg;
	struct machine *m = l->machine;
	uint64_t again = 0;

	(void)run;
	l->resident -= n;
	if (l->owner)
		sim_tenant_progress(l->owner, l->kernel, n);
	if (l->persistent && !l->stop && l->width > l->resident)
		again = min_u64(min_u64(n, l->left), l->width - l->resident);
	if (again < n)
		occupy(m, l, -(int64_t)(n - again));
	if (again)
		begin(l, again);
	if (!l->resident && (!l->left || l->stop))
		end(l);
	dispatch(m);
}

void sim_launch(struct machine *m, struct launch *l)
{
	l->machine = m;
	l->older = m->all;
	if (l->older)
		l->older->newer = l;
	m->all = l;
	enqueue(m, l);
	dispatch(m);
}

void sim_launch_stop(struct launch *l)
{
	struct machine *m = l->machine;

	l->stop = true;
	dequeue(m, l);
	if (!l->resident)
		end(l);
	dispatch(m);
}

void sim_launch_abandon(struct launch *l)
{
	if (l->resident)
		presence(l->machine, l->owner, -(int64_t)l->resident);
	l->owner = NULL;
	sim_launch_stop(l);
}

void sim_launch_width(struct launch *l, uint64_t width)
{
	l->width = min_u64(width, sim_width(l->machine->device, l->kernel));
	if (l->stop || l->queued || !l->left || l->resident >= l->width)
		return;
	enqueue(l->machine, l);
	dispatch(l->machine);
}
