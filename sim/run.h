/* SPDX-License-Identifier: MIT */
/*
 * One run of a scenario in virtual time.
 *
 *	tenant.c   what a tenant wants: phases, arrivals, launches, slices
 *	host.c     the third host of the arbiter: its requests and actions
 *	machine.c  the device: blocks on units, in the order of the hardware queue
 *	fluid.c    what each tenant is entitled to at each moment, as a reference
 *	clock.c    the heap of events that all of them live by
 *
 * A tenant's launches reach the machine only while it holds a grant, or, in a
 * native run, at once.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "scenario.h"

struct run;
struct tenant;
struct host;
struct fluid;

/* clock.c */
typedef void (*sim_event_fn)(struct run *run, void *arg, uint64_t data);

struct event {
	uint64_t at, order;		/* events of one moment keep their order */
	sim_event_fn fn;
	void *arg;
	uint64_t data;
};

struct clock {
	uint64_t now;
	uint64_t order;
	struct event *heap;
	size_t n, room;
};

void sim_at(struct run *run, uint64_t at, sim_event_fn fn, void *arg, uint64_t data);
/* Runs all events up to and at @until. */
void sim_clock_run(struct run *run, uint64_t until);

/* machine.c: blocks of one launch that began together, and end so */
struct wave {
	struct wave *next;
	struct launch *launch;
	uint64_t n;
	uint64_t at, left;		/* when they end; or in how long, of one that has no turn */
	uint64_t life;			/* counts: an event of an earlier life is void */
};

struct launch {
	struct machine *machine;
	const struct sim_kernel *kernel;
	struct sim_random *random;
	struct tenant *owner;		/* told when it ends; NULL: nobody is */
	uint64_t left;			/* blocks not begun */
	uint64_t resident;		/* blocks that run */
	uint64_t width;			/* most blocks that may be resident */
	uint64_t ticket_ns;		/* on top of each block's time */
	bool persistent, stop, queued;
	struct wave *waves;		/* on a machine that takes turns */
	struct launch *next;		/* in the queue */
	struct launch *older, *newer;	/* of the machine's all */
};

struct machine {
	const struct sim_device *device;
	struct run *run;
	uint64_t threads, registers, local, blocks;	/* free */
	struct launch *first;
	struct launch **last;
	struct launch *all;
	uint64_t resident;		/* blocks, of all launches */
	uint64_t busy_since, busy_ns;	/* with a block resident at all */
	uint32_t present;		/* tenants that have blocks resident */
	uint64_t shared_since, shared_ns;	/* with more than one of them */
	struct tenant *turn;		/* whose it is, if it takes turns */
	uint64_t turn_since, turn_no;
	struct wave *unused;
};

void sim_machine_init(struct machine *m, struct run *run, const struct sim_device *d);
void sim_machine_free(struct machine *m);
void sim_launch(struct machine *m, struct launch *l);
/* Persistent: workers end with the block they are at. Others: what began, ends. */
void sim_launch_stop(struct launch *l);
/* Its tenant is gone: nobody is told when it ends. */
void sim_launch_abandon(struct launch *l);
/* Persistent: another number of workers, from the next block on. */
void sim_launch_width(struct launch *l, uint64_t width);
uint64_t sim_machine_busy(const struct machine *m);
uint64_t sim_machine_shared(const struct machine *m);

/* tenant.c */
struct job {
	const struct sim_kernel *kernel;
	uint64_t arrived;
	uint64_t left;			/* blocks not done */
	struct job *next;
};

struct samples {
	uint64_t *v;
	size_t n, room;
};

void sim_sample(struct samples *s, uint64_t v);

enum tenant_state {
	TENANT_OUT,			/* not yet there, or gone */
	TENANT_IDLE,			/* nothing to run, holds nothing */
	TENANT_WAITING,			/* asked for a device */
	TENANT_STARTING,		/* granted; wakes up, or restores memory */
	TENANT_RUNNING,			/* a launch is on the machine */
	TENANT_LINGERING,		/* holds, with nothing to run */
};

struct tenant {
	const struct sim_tenant *t;
	struct run *run;
	int index;
	enum tenant_state state;
	uint64_t life;			/* counts: an event of an earlier life is void */

	uint32_t phase, round;		/* where it is in its life */
	uint64_t phase_no;		/* counts: a timer of an earlier phase is void */
	uint64_t made, ended;		/* launches of this phase */
	bool phase_over, finished;
	struct job *jobs, **last_job;
	struct sim_random arrivals, blocks;

	uint64_t devices;		/* that it may use, a bit each */
	int device;			/* that it holds, or runs on; -1: none */
	bool preempt;			/* asked back, and about to obey */
	bool beside;			/* lost the device, and its launch is there still */
	uint32_t workers;		/* 0: no limit */
	struct launch *launch;
	uint64_t present;		/* blocks on the machine */
	uint64_t idle_since;		/* while lingering */

	/* What is measured. */
	uint64_t asked_at, granted_at, finished_at, present_at;
	uint64_t held_ns, lingered_ns, present_ns, work_ns, done, grants, moved, overran;
	bool denied;			/* its memory was refused */
	struct samples waits, turnarounds;
};

/* The id of a tenant's client on a device, as events have it. */
static inline uint64_t sim_client_id(const struct tenant *t, int device)
{
	return (uint64_t)t->index * 64 + device + 1;
}

void sim_tenant_init(struct tenant *t, struct run *run, int index);
void sim_tenant_free(struct tenant *t);
void sim_tenant_kill(struct tenant *t);
bool sim_tenant_wants(const struct tenant *t);
/* For how long it held a device so far; natively: was on it. */
uint64_t sim_tenant_held(const struct tenant *t);
/* And of that, with nothing to run. */
uint64_t sim_tenant_lingered(const struct tenant *t);
/* The host tells: */
void sim_tenant_granted(struct tenant *t, int device, uint32_t workers);
void sim_tenant_preempt(struct tenant *t);
void sim_tenant_workers(struct tenant *t, uint32_t workers);
void sim_tenant_withdrawn(struct tenant *t);
void sim_tenant_beside(struct tenant *t);
void sim_tenant_gone(struct tenant *t, int device);
/* The machine tells: */
void sim_tenant_present(struct tenant *t, struct machine *m, bool present);
void sim_tenant_progress(struct tenant *t, const struct sim_kernel *k, uint64_t blocks);
void sim_tenant_launch_done(struct tenant *t, struct launch *l);

/*
 * host.c. sim_host_yield() gives the device back and, with @again, asks for it
 * anew in the same step; true: the tenant keeps it, with a new slice.
 */
int sim_host_init(struct run *run);
void sim_host_free(struct run *run);
int sim_host_join(struct tenant *t);
void sim_host_leave(struct tenant *t);
void sim_host_request(struct tenant *t, uint64_t want_ns);
bool sim_host_yield(struct tenant *t, bool again, uint64_t want_ns);
void sim_host_cancel(struct tenant *t);
/* The holder has nothing to run; it has again. */
void sim_host_idle(struct tenant *t);
void sim_host_busy(struct tenant *t);
/* What the tenant is about to run, for the dealing out of workers. */
void sim_host_describe(struct tenant *t, const struct job *job);
/* It holds @device now: when its memory is there, at the earliest. */
uint64_t sim_host_restore(struct tenant *t, int device);

/* fluid.c */
int sim_fluid_init(struct run *run);
void sim_fluid_free(struct run *run);
/* Somebody begins or ceases to want a device, or a share changed. */
void sim_fluid_update(struct run *run);
/* A share is set; sim_fluid_update() is due after it. */
void sim_fluid_share(struct run *run, const struct sim_share *share);
/* Who is there, or a share, changed: notes what each may count on, for the trace. */
void sim_fluid_promise(struct run *run);
double sim_fluid_entitled(const struct run *run, int tenant);	/* ns so far */
double sim_fluid_error(const struct run *run);	/* the largest of any window; NAN: none */

/* For the trace: a tenant's share from now on, if all that are there are busy. */
struct promise {
	uint64_t at;
	int device, tenant;
	uint32_t permille;
};

struct run {
	const struct sim_scenario *s;
	struct clock clock;
	struct machine *machines;
	struct tenant *tenants;
	struct host *host;		/* NULL: a native run */
	struct fluid *fluid;		/* NULL: a native run */
	uint64_t end_ns;		/* when all had finished, or the duration */
	int only;			/* index of the one tenant there is; -1: all */
	int error;

	/* The trace, if it is wanted. */
	bool trace;
	struct gs_event *events;
	size_t nevents, events_room;
	struct promise *promises;
	size_t npromises, promises_room;
};

void sim_trace(struct run *run, const struct gs_event *e);

/* run.c: @only -1 runs the scenario, else one tenant alone on the bare machine */
int sim_run(struct run *run, const struct sim_scenario *s, int only, bool trace);
void sim_run_free(struct run *run);

#endif
