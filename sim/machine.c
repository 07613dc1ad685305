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
 * With turns the machine is one tenant's at a time, as a GPU's contexts take turns: when
 * others have launches there it goes to the next after a turn, what runs stands still
 * until its tenant has it again, and who has nothing there is passed over.
 *
 * What is simpler than the truth:
 * - The units' resources are one pool. A kernel's own rounding per unit is
 *   kept (sim_width), the fragmentation between kernels is not.
 * - A block takes its time no matter who runs beside it: caches, memory
 *   bandwidth and the units' pipelines are not contended.
 * Blocks of constant time that begin together are one event, whatever their
 * number; of drawn times, one event each.
 */
#include <stdio.h>
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

static bool takes_turns(const struct machine *m)
{
	return m->device->turn_ns;
}

static void wave_end(struct run *run, void *arg, uint64_t life);

static void wave_goes_on(struct run *run, struct wave *w)
{
	w->at = run->clock.now + w->left;
	sim_at(run, w->at, wave_end, w, w->life);
}

/* Waves are used again and not freed while it runs, as void events point to them. */
static void wave_begin(struct launch *l, uint64_t n, uint64_t ns)
{
	struct machine *m = l->machine;
	struct wave *w = m->unused;

	if (w)
		m->unused = w->next;
	else
		w = calloc(1, sizeof(*w));
	if (!w) {
		perror("gpushare-sim");
		exit(2);
	}
	w->next = l->waves;
	l->waves = w;
	w->launch = l;
	w->n = n;
	w->left = ns;
	wave_goes_on(m->run, w);
}

static void wave_drop(struct wave *w)
{
	struct launch *l = w->launch;
	struct wave **p;

	for (p = &l->waves; *p != w; p = &(*p)->next)
		;
	*p = w->next;
	w->life++;
	w->next = l->machine->unused;
	l->machine->unused = w;
}

static void wave_end(struct run *run, void *arg, uint64_t life)
{
	struct wave *w = arg;
	struct launch *l = w->launch;
	uint64_t n = w->n;

	if (w->life != life)
		return;
	wave_drop(w);
	blocks_end(run, l, n);
}

/* Sets the ends of n blocks that begin now; their resources are taken. */
static void begin(struct launch *l, uint64_t n)
{
	struct run *run = l->machine->run;
	uint64_t ns, i, step = l->kernel->time.kind == SIM_CONST ? n : 1;

	l->left -= n;
	l->resident += n;
	for (i = 0; i < n; i += step) {
		ns = at_speed(l->machine->device, sim_draw(l->random, &l->kernel->time));
		if (takes_turns(l->machine))
			wave_begin(l, step, ns + l->ticket_ns);
		else
			sim_at(run, run->clock.now + ns + l->ticket_ns, blocks_end, l, step);
	}
}

static void dispatch(struct machine *m)
{
	struct launch **p = &m->first, *l;
	uint64_t n;

	while ((l = *p)) {
		if (takes_turns(m) && l->owner != m->turn) {
			p = &l->next;
			continue;
		}
		n = min_u64(room_for(m, l->kernel), l->left);
		n = min_u64(n, l->width > l->resident ? l->width - l->resident : 0);
		if (n) {
			occupy(m, l, n);
			begin(l, n);
		}
		/* The next one's turn comes when all that may begin has begun. */
		if (l->left && !(l->persistent && l->resident >= l->width))
			break;
		*p = l->next;
		if (!*p)
			m->last = p;
		l->queued = false;
	}
}

/* Whether the tenant's waves go on, or stand still. */
static void let_run(struct machine *m, const struct tenant *t, bool run)
{
	uint64_t now = m->run->clock.now;
	struct launch *l;
	struct wave *w;

	for (l = m->all; l; l = l->older) {
		if (l->owner != t)
			continue;
		for (w = l->waves; w; w = w->next) {
			occupy(m, l, run ? (int64_t)w->n : -(int64_t)w->n);
			w->life++;
			if (run)
				wave_goes_on(m->run, w);
			else
				w->left = w->at - now;
		}
	}
}

/* Whose turn it is after @t's: by the tenants' order, from the first after it on. */
static struct tenant *next_turn(const struct machine *m, const struct tenant *t)
{
	int n = m->run->s->ntenants, after = t ? t->index : -1, far = n + 1, d;
	struct tenant *next = NULL;
	struct launch *l;

	for (l = m->all; l; l = l->older) {
		if (!l->owner)
			continue;
		d = (l->owner->index - after - 1 + 2 * n) % n;
		if (d >= far)
			continue;
		far = d;
		next = l->owner;
	}
	return next;
}

static void turn_over(struct run *run, void *arg, uint64_t no);

/* Another's launch came, the last of one's has ended, or a turn is over. */
static void turns(struct machine *m, bool over)
{
	uint64_t now = m->run->clock.now, turn = m->device->turn_ns;
	struct tenant *next;
	struct launch *l;

	if (!turn)
		return;
	for (l = m->all; l && l->owner != m->turn; l = l->older)
		;
	if (!m->turn || !l || over) {
		next = next_turn(m, m->turn);
		if (next != m->turn) {
			if (m->turn)
				let_run(m, m->turn, false);
			m->turn = next;
			if (next)
				let_run(m, next, true);
		}
		m->turn_since = now;
		m->turn_no++;
	}
	if (m->turn && next_turn(m, m->turn) != m->turn)
		sim_at(m->run, now + turn - (now - m->turn_since) % turn, turn_over, m,
		       ++m->turn_no);
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

static void turn_over(struct run *run, void *arg, uint64_t no)
{
	struct machine *m = arg;

	(void)run;
	if (m->turn_no != no)
		return;
	turns(m, true);
	dispatch(m);
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
	struct wave *w;

	while ((l = m->all)) {
		m->all = l->older;
		while (l->waves)
			wave_drop(l->waves);
		free(l);
	}
	while ((w = m->unused)) {
		m->unused = w->next;
		free(w);
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
	turns(m, false);
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
	turns(m, false);
	dispatch(m);
}

void sim_launch_stop(struct launch *l)
{
	struct machine *m = l->machine;

	l->stop = true;
	dequeue(m, l);
	if (!l->resident)
		end(l);
	turns(m, false);
	dispatch(m);
}

/* What takes turns is a context, and goes with its process. */
static void drop_waves(struct launch *l)
{
	struct wave *w;

	while ((w = l->waves)) {
		l->resident -= w->n;
		if (l->owner == l->machine->turn)
			occupy(l->machine, l, -(int64_t)w->n);
		wave_drop(w);
	}
}

void sim_launch_abandon(struct launch *l)
{
	drop_waves(l);
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
