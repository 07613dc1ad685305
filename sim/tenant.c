// SPDX-License-Identifier: MIT
/*
 * A tenant: one client program that goes through its phases. Launches arrive
 * (one after the other, or by the clock), wait in order, and run.
 *
 *	OUT -> IDLE -> WAITING -> STARTING -> RUNNING -> LINGERING
 *	        ^                               |            |
 *	        +------------- yield -----------+------------+
 *
 * Natively it goes from IDLE to RUNNING and back. Under the arbiter it runs
 * what its way of being cut gives between two looks at the grant: a slice, a
 * launch of persistent workers, or a whole kernel. What was launched runs to
 * its end, or to the next block of each worker: that is the boundary, and the
 * only place where a tenant yields.
 */
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

void sim_sample(struct samples *s, uint64_t v)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->v = realloc(s->v, s->room * sizeof(*s->v));
		if (!s->v) {
			perror("gpushare-sim");
			exit(2);
		}
	}
	s->v[s->n++] = v;
}

static uint64_t now(const struct tenant *t)
{
	return t->run->clock.now;
}

static const struct sim_phase *phase(const struct tenant *t)
{
	return &t->t->phases[t->phase];
}

bool sim_tenant_wants(const struct tenant *t)
{
	return t->state != TENANT_OUT && t->jobs;
}

/* On a device that takes turns, what it really has of it is what counts. */
static bool takes_turns(const struct tenant *t)
{
	return t->run->s->devices[__builtin_ctzll(t->t->devices)].turn_ns;
}

uint64_t sim_tenant_held(const struct tenant *t)
{
	if (!t->run->host || takes_turns(t))
		return t->present_ns + (t->present ? now(t) - t->present_at : 0);
	return t->held_ns + (t->state >= TENANT_STARTING ? now(t) - t->granted_at : 0);
}

uint64_t sim_tenant_lingered(const struct tenant *t)
{
	if (takes_turns(t))
		return 0;
	return t->lingered_ns + (t->state == TENANT_LINGERING ? now(t) - t->idle_since : 0);
}

/* A state that isn't lingering, from any. */
static void set_state(struct tenant *t, enum tenant_state state)
{
	t->lingered_ns = sim_tenant_lingered(t);
	t->beside = false;
	t->state = state;
}

static void begin_phase(struct tenant *t);
static void pump(struct tenant *t);

/* -- what arrives ---------------------------------------------------------- */

static void add_job(struct tenant *t)
{
	struct job *job = calloc(1, sizeof(*job));
	bool first = !t->jobs;

	if (!job) {
		perror("gpushare-sim");
		exit(2);
	}
	job->kernel = &t->run->s->kernels[phase(t)->kernel];
	job->arrived = now(t);
	job->left = job->kernel->blocks;
	*t->last_job = job;
	t->last_job = &job->next;
	t->made++;
	if (first)
		sim_fluid_update(t->run);
}

static void drop_job(struct tenant *t)
{
	struct job *job = t->jobs;

	t->jobs = job->next;
	if (!t->jobs)
		t->last_job = &t->jobs;
	free(job);
}

static void finish(struct tenant *t)
{
	t->finished = true;
	t->finished_at = now(t);
	sim_tenant_kill(t);
}

static void next_phase(struct tenant *t)
{
	t->phase_no++;
	if (++t->phase == t->t->nphases) {
		t->phase = 0;
		if (t->t->repeat && ++t->round == t->t->repeat) {
			t->phase_over = true;
			t->round = UINT32_MAX;	/* no more: it ends with its last launch */
			if (!t->jobs)
				finish(t);
			return;
		}
	}
	begin_phase(t);
}

static bool last_phase_over(const struct tenant *t)
{
	return t->round == UINT32_MAX;
}

static void phase_timer(struct run *run, void *arg, uint64_t no)
{
	struct tenant *t = arg;

	(void)run;
	if (t->state == TENANT_OUT || t->phase_no != no)
		return;
	if (phase(t)->kernel >= 0 && phase(t)->arrive == SIM_CLOSED && t->jobs) {
		t->phase_over = true;	/* the launch that is there ends first */
		return;
	}
	next_phase(t);
}

static bool made_all(const struct tenant *t)
{
	return phase(t)->count && t->made >= phase(t)->count;
}

static void arrival(struct run *run, void *arg, uint64_t no)
{
	struct tenant *t = arg;
	const struct sim_phase *p;
	uint32_t i;

	if (t->state == TENANT_OUT || t->phase_no != no)
		return;
	p = phase(t);
	for (i = 0; i < p->burst && !made_all(t); i++)
		add_job(t);
	if (p->arrive != SIM_CLOSED && !made_all(t)) {
		struct sim_dist gap = { SIM_EXP, p->gap_ns, 0 };

		sim_at(run, run->clock.now + (p->arrive == SIM_POISSON ?
		       sim_draw(&t->arrivals, &gap) : p->gap_ns), arrival, t, no);
	}
	pump(t);
}

static void begin_phase(struct tenant *t)
{
	const struct sim_phase *p = phase(t);

	t->made = 0;
	t->ended = 0;
	t->phase_over = false;
	if (p->for_ns != SIM_NEVER)
		sim_at(t->run, now(t) + p->for_ns, phase_timer, t, t->phase_no);
	if (p->kernel >= 0)
		sim_at(t->run, now(t), arrival, t, t->phase_no);
}

/* The launch at the head is done. */
static void job_done(struct tenant *t)
{
	const struct sim_phase *p = phase(t);

	sim_sample(&t->turnarounds, now(t) - t->jobs->arrived);
	t->done++;
	t->ended++;
	drop_job(t);
	if (last_phase_over(t)) {
		if (!t->jobs)
			finish(t);
	} else if (t->phase_over || (p->count && t->ended >= p->count)) {
		next_phase(t);
	} else if (p->kernel >= 0 && p->arrive == SIM_CLOSED) {
		uint64_t think = sim_draw(&t->arrivals, &p->think);

		if (!think)
			add_job(t);	/* nobody sees it without work */
		else
			sim_at(t->run, now(t) + think, arrival, t, t->phase_no);
	}
	if (t->state != TENANT_OUT && !t->jobs)
		sim_fluid_update(t->run);
}

/* -- what runs ------------------------------------------------------------- */

static struct machine *machine(const struct tenant *t)
{
	return &t->run->machines[t->device];
}

static uint64_t piece(const struct tenant *t, const struct launch *l, uint64_t left)
{
	uint64_t waves = t->t->piece_ns / (sim_mean(&l->kernel->time) ? : 1);
	uint64_t blocks = (waves ? waves : 1) * l->width;

	if (t->workers && blocks > t->workers)
		blocks = t->workers;
	return left < blocks ? left : blocks;
}

static void submit(struct run *run, void *arg, uint64_t life)
{
	struct tenant *t = arg;
	struct job *job = t->jobs;
	struct launch *l;

	if (t->life != life)
		return;
	l = calloc(1, sizeof(*l));
	if (!l) {
		perror("gpushare-sim");
		exit(2);
	}
	l->kernel = job->kernel;
	l->random = &t->blocks;
	l->owner = t;
	l->width = sim_width(machine(t)->device, job->kernel);
	if (run->host && t->t->run == SIM_PERSISTENT) {
		l->persistent = true;
		l->ticket_ns = t->t->ticket_ns;
		if (t->workers && t->workers < l->width)
			l->width = t->workers;
		l->left = job->left;
	} else if (run->host && t->t->run == SIM_SLICED) {
		l->left = piece(t, l, job->left);
	} else {
		l->left = job->left;
	}
	job->left -= l->left;
	t->launch = l;
	sim_launch(machine(t), l);
	if (t->preempt && t->launch == l && l->persistent)
		sim_launch_stop(l);
}

static void run_piece(struct tenant *t)
{
	if (t->run->host)
		sim_host_describe(t, t->jobs);
	set_state(t, TENANT_RUNNING);
	sim_at(t->run, now(t) + machine(t)->device->launch_ns, submit, t, t->life);
}

static void yield(struct tenant *t)
{
	bool again = t->jobs;

	t->held_ns += now(t) - t->granted_at;
	t->preempt = false;
	set_state(t, again ? TENANT_WAITING : TENANT_IDLE);
	t->asked_at = now(t);
	if (sim_host_yield(t, again, t->t->want_ns)) {
		t->granted_at = now(t);
		t->grants++;
		run_piece(t);
		return;
	}
	t->device = -1;
}

/* What it had on the device when it lost it has ended. */
static void boundary_beside(struct tenant *t)
{
	set_state(t, t->jobs ? TENANT_WAITING : TENANT_IDLE);
	t->asked_at = now(t);
	if (t->jobs)
		sim_host_request(t, t->t->want_ns);
	else
		sim_host_cancel(t);
	t->device = -1;
}

/* Between two launches. */
static void boundary(struct tenant *t)
{
	if (t->beside) {
		boundary_beside(t);
	} else if (!t->run->host) {
		set_state(t, TENANT_IDLE);
		pump(t);
	} else if (t->preempt) {
		yield(t);
	} else if (t->jobs) {
		run_piece(t);
	} else {
		t->idle_since = now(t);
		t->state = TENANT_LINGERING;
		sim_host_idle(t);
	}
}

/* Work is there, or may be. */
static void pump(struct tenant *t)
{
	if (!t->jobs)
		return;
	if (t->state == TENANT_LINGERING) {
		set_state(t, TENANT_RUNNING);
		sim_host_busy(t);
		boundary(t);
	} else if (t->state == TENANT_IDLE && t->run->host) {
		set_state(t, TENANT_WAITING);
		t->asked_at = now(t);
		sim_host_request(t, t->t->want_ns);
	} else if (t->state == TENANT_IDLE) {
		t->device = __builtin_ctzll(t->devices);
		run_piece(t);
	}
}

void sim_tenant_progress(struct tenant *t, const struct sim_kernel *k, uint64_t blocks)
{
	t->work_ns += blocks * sim_mean(&k->time);
}

void sim_tenant_launch_done(struct tenant *t, struct launch *l)
{
	t->launch = NULL;
	t->jobs->left += l->left;
	if (!t->jobs->left) {
		job_done(t);
		if (t->state == TENANT_OUT)
			return;
	}
	boundary(t);
}

/* Natively the timeline shows when the tenant was on the machine at all. */
void sim_tenant_present(struct tenant *t, struct machine *m, bool present)
{
	uint64_t at = now(t);

	if (present)
		t->present_at = at;
	else
		t->present_ns += at - t->present_at;
	if (!t->run->host)
		sim_trace(t->run, &(struct gs_event){
			.time = at, .type = present ? GS_EV_GRANT : GS_EV_YIELD,
			.device = m - t->run->machines + 1,
			.client = sim_client_id(t, m - t->run->machines),
			.group = t->t->group + 2, .a = present ? 0 : at - t->present_at });
}

/* -- what the host tells --------------------------------------------------- */

static void start_running(struct run *run, void *arg, uint64_t life)
{
	struct tenant *t = arg;

	(void)run;
	if (t->life != life || t->state != TENANT_STARTING)
		return;
	if (t->jobs)
		run_piece(t);
	else
		boundary(t);
}

void sim_tenant_granted(struct tenant *t, int device, uint32_t workers)
{
	uint64_t ready, awake = now(t) + t->run->s->devices[device].wake_ns;

	if (t->beside) {
		t->beside = false;
		t->granted_at = now(t);
		t->grants++;
		t->preempt = false;
	}
	if (t->state != TENANT_WAITING)
		return;
	t->device = device;
	t->workers = workers;
	t->granted_at = now(t);
	t->grants++;
	t->preempt = false;
	set_state(t, TENANT_STARTING);
	sim_sample(&t->waits, now(t) - t->asked_at);
	ready = sim_host_restore(t, device);
	sim_at(t->run, ready > awake ? ready : awake, start_running, t, t->life);
}

static void obey(struct run *run, void *arg, uint64_t granted_at)
{
	struct tenant *t = arg;

	(void)run;
	if (t->device < 0 || t->granted_at != granted_at || t->preempt)
		return;
	t->preempt = true;
	if (t->state == TENANT_LINGERING)
		boundary(t);
	else if (t->launch && t->launch->persistent)
		sim_launch_stop(t->launch);
}

void sim_tenant_preempt(struct tenant *t)
{
	if (t->t->stubborn_ns)
		sim_at(t->run, now(t) + t->t->stubborn_ns, obey, t, t->granted_at);
	else
		obey(t->run, t, t->granted_at);
}

void sim_tenant_workers(struct tenant *t, uint32_t workers)
{
	t->workers = workers;
	if (t->launch && t->launch->persistent && !t->launch->stop)
		sim_launch_width(t->launch, workers ? workers : UINT64_MAX);
}

/* The grant of an idle holder was taken back. */
void sim_tenant_withdrawn(struct tenant *t)
{
	t->held_ns += now(t) - t->granted_at;
	set_state(t, TENANT_IDLE);
	t->device = -1;
	pump(t);
}

/* The next one has it, and this one's launch runs on. */
void sim_tenant_beside(struct tenant *t)
{
	t->beside = true;
	t->preempt = false;
}

void sim_tenant_gone(struct tenant *t, int device)
{
	t->devices &= ~(1ULL << device);
	if (t->device != device) {
		if (!t->devices && t->state != TENANT_OUT)
			sim_tenant_kill(t);
		return;
	}
	/* What ran there is lost and begins anew elsewhere, if there is a place. */
	t->held_ns += now(t) - t->granted_at;
	t->life++;
	if (t->launch)
		sim_launch_abandon(t->launch);
	t->launch = NULL;
	if (t->jobs)
		t->jobs->left = t->jobs->kernel->blocks;
	t->device = -1;
	set_state(t, TENANT_IDLE);
	if (t->devices)
		pump(t);
	else
		sim_tenant_kill(t);
}

/* -- its life -------------------------------------------------------------- */

void sim_tenant_kill(struct tenant *t)
{
	if (t->state == TENANT_OUT)
		return;
	if (t->state >= TENANT_STARTING && t->run->host)
		t->held_ns += now(t) - t->granted_at;
	set_state(t, TENANT_OUT);
	t->life++;
	t->phase_no++;
	if (t->launch)
		sim_launch_abandon(t->launch);
	t->launch = NULL;
	t->device = -1;
	while (t->jobs)
		drop_job(t);
	if (t->run->host)
		sim_host_leave(t);
	sim_fluid_update(t->run);
	sim_fluid_promise(t->run);
}

static void stop(struct run *run, void *arg, uint64_t unused)
{
	(void)run;
	(void)unused;
	sim_tenant_kill(arg);
}

static void start(struct run *run, void *arg, uint64_t unused)
{
	struct tenant *t = arg;

	(void)unused;
	set_state(t, TENANT_IDLE);
	if (run->host && sim_host_join(t)) {
		set_state(t, TENANT_OUT);
		return;
	}
	sim_fluid_promise(run);
	begin_phase(t);
}

void sim_tenant_init(struct tenant *t, struct run *run, int index)
{
	t->t = &run->s->tenants[index];
	t->run = run;
	t->index = index;
	set_state(t, TENANT_OUT);
	t->device = -1;
	t->devices = t->t->devices;
	t->last_job = &t->jobs;
	sim_random_init(&t->arrivals, run->s->seed, t->t->name, 1);
	sim_random_init(&t->blocks, run->s->seed, t->t->name, 2);
	sim_at(run, t->t->start_ns, start, t, 0);
	if (t->t->stop_ns != SIM_NEVER)
		sim_at(run, t->t->stop_ns, stop, t, 0);
}

void sim_tenant_free(struct tenant *t)
{
	while (t->jobs)
		drop_job(t);
	free(t->waits.v);
	free(t->turnarounds.v);
}
