// SPDX-License-Identifier: MIT
/*
 * The reference: what each tenant is entitled to at each moment, if the device
 * could be divided without any slices.
 *
 * Of those who want a device (they have work), each level of the tree divides
 * what came from above by weight, so that no one gets less than its min or
 * more than its max, nor more than it can use: a client one seat, a group what
 * is below it. What the idle class gets is what all others leave. A tenant's
 * entitlement is the integral of its rate; over each window of the scenario,
 * the error is how far the time that it held the device, with something to
 * run, is from that.
 *
 * It is computed from the scenario alone and knows nothing of the arbiter's
 * own books, so that it can't make the same mistake.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "run.h"

struct fluid_node {
	int parent;			/* index into nodes; 0 is the root */
	double weight, low, high;
	bool idle;
	bool wants;			/* there is work below */
	double cap, rate;
	struct tenant *tenant;		/* NULL: a group */
};

/* Of one tenant. */
struct fluid_sum {
	double entitled;		/* ns since the start */
	double window_entitled, window_held;	/* as of the window's begin */
};

struct fluid {
	struct fluid_node *nodes;	/* of one device: root, groups, tenants */
	struct fluid_node **members;	/* those of one level, while it is divided */
	double *rates;			/* [device][tenant] */
	struct fluid_sum *sums;		/* [tenant] */
	struct gs_share *shares;	/* [group + 1][device], as they are now */
	uint64_t since;
	double error;			/* the largest in any window, 0..1 */
};

/* -- rates ----------------------------------------------------------------- */

static int nnodes(const struct run *run)
{
	return 1 + run->s->ngroups + run->s->ntenants;
}

static double clamp(double v, double low, double high)
{
	return v > high ? high : v < low ? low : v;
}

/* What @members get at a level: each its weight's part, within its bounds. */
static double at_level(struct fluid_node **members, int n, double level)
{
	double sum = 0;
	int i;

	for (i = 0; i < n; i++) {
		struct fluid_node *c = members[i];

		c->rate = clamp(c->weight * level, c->low < c->cap ? c->low : c->cap, c->cap);
		sum += c->rate;
	}
	return sum;
}

/*
 * Divides @have among the wanting children of @parent that are @idle or not,
 * and says what is left. The sum grows with the level, so that halving finds
 * it; with no bound in the way the first guess is right.
 */
static double divide(struct fluid *f, int nnodes, int parent, bool idle, double have)
{
	double weights = 0, low = 0, high, level, sum;
	struct fluid_node *c;
	int i, n = 0;

	for (i = 1; i < nnodes; i++) {
		c = &f->nodes[i];
		if (c->parent != parent || !c->wants || c->idle != idle)
			continue;
		f->members[n++] = c;
		weights += c->weight;
	}
	if (!n)
		return have;
	sum = at_level(f->members, n, have / weights);
	if (sum > have * (1 - 1e-9) && sum < have * (1 + 1e-9))
		return 0;
	if (sum < have && at_level(f->members, n, 1e9) <= have)
		return have - at_level(f->members, n, 1e9);	/* all that they can use */
	for (high = have / weights; at_level(f->members, n, high) < have; high *= 2)
		;
	for (i = 0; i < 60; i++) {
		level = (low + high) / 2;
		if (at_level(f->members, n, level) < have)
			low = level;
		else
			high = level;
	}
	sum = at_level(f->members, n, high);
	for (i = 0; i < n && sum > have; i++)	/* more was promised than there is */
		f->members[i]->rate *= have / sum;
	return 0;
}

/* Sets the tree up for one device; with @all, all that are there want it. */
static void prepare(struct run *run, int device, bool all)
{
	const struct sim_scenario *s = run->s;
	struct fluid *f = run->fluid;
	struct fluid_node *n;
	int i;

	for (i = 0; i <= s->ngroups; i++) {
		const struct gs_share *share = &f->shares[i * s->ndevices + device];

		n = &f->nodes[i];
		n->parent = i ? s->groups[i - 1].parent + 1 : -1;
		n->weight = share->weight;
		n->idle = share->class == GS_CLASS_IDLE;
		n->low = share->min / 1000.0;
		n->high = share->quota == GS_UNLIMITED ? 1e9 :
			  (double)share->quota / share->period;
		n->wants = false;
		n->cap = n->rate = 0;
		n->tenant = NULL;
	}
	for (i = 0; i < s->ntenants; i++) {
		struct tenant *t = &run->tenants[i];

		n = &f->nodes[1 + s->ngroups + i];
		*n = (struct fluid_node){
			.parent = t->t->group + 1, .weight = 100, .high = 1, .cap = 1, .tenant = t,
		};
		/* One that runs elsewhere, or could, wants this one all the same. */
		n->wants = (t->devices >> device & 1) &&
			   (all ? t->state != TENANT_OUT : sim_tenant_wants(t) &&
			    (t->device < 0 || t->device == device));
	}
	for (i = nnodes(run) - 1; i > 0; i--) {
		n = &f->nodes[i];
		if (!n->tenant)
			n->cap = n->cap < n->high ? n->cap : n->high;
		if (!n->wants)
			continue;
		f->nodes[n->parent].wants = true;
		f->nodes[n->parent].cap += n->cap;
	}
}

static void compute(struct run *run, int device, bool all)
{
	const struct sim_scenario *s = run->s;
	struct fluid *f = run->fluid;
	int i, n = nnodes(run);
	double left;

	prepare(run, device, all);
	f->nodes[0].rate = s->devices[device].conf.seats;
	for (i = 0; i <= s->ngroups; i++) {
		if (!f->nodes[i].wants)
			continue;
		left = divide(f, n, i, false, f->nodes[i].rate);
		divide(f, n, i, true, left);
	}
}

/* -- integrals ------------------------------------------------------------- */

static void integrate(struct run *run)
{
	const struct sim_scenario *s = run->s;
	struct fluid *f = run->fluid;
	double dt = run->clock.now - f->since;
	int d, i;

	f->since = run->clock.now;
	for (d = 0; d < s->ndevices; d++)
		for (i = 0; i < s->ntenants; i++)
			f->sums[i].entitled += f->rates[d * s->ntenants + i] * dt;
}

void sim_fluid_update(struct run *run)
{
	const struct sim_scenario *s = run->s;
	struct fluid_node *n;
	int d, i;

	if (!run->fluid)
		return;
	integrate(run);
	for (d = 0; d < s->ndevices; d++) {
		compute(run, d, false);
		for (i = 0; i < s->ntenants; i++) {
			n = &run->fluid->nodes[1 + s->ngroups + i];
			run->fluid->rates[d * s->ntenants + i] = n->wants ? n->rate : 0;
		}
	}
}

static void note(struct run *run, int device, int tenant, uint32_t permille)
{
	struct promise *p;
	size_t i;

	/* Several things may change at one moment: the last word counts. */
	for (i = run->npromises; i && run->promises[i - 1].at == run->clock.now; i--) {
		p = &run->promises[i - 1];
		if (p->device == device && p->tenant == tenant) {
			p->permille = permille;
			return;
		}
	}
	if (run->npromises == run->promises_room) {
		run->promises_room = run->promises_room ? 2 * run->promises_room : 64;
		p = realloc(run->promises, run->promises_room * sizeof(*p));
		if (!p) {
			run->error = -ENOMEM;
			return;
		}
		run->promises = p;
	}
	run->promises[run->npromises++] = (struct promise){
		run->clock.now, device, tenant, permille,
	};
}

void sim_fluid_promise(struct run *run)
{
	const struct sim_scenario *s = run->s;
	struct fluid_node *n;
	int d, i;

	if (!run->trace || !run->fluid)
		return;
	for (d = 0; d < s->ndevices; d++) {
		compute(run, d, true);
		for (i = 0; i < s->ntenants; i++) {
			n = &run->fluid->nodes[1 + s->ngroups + i];
			if (s->tenants[i].devices >> d & 1)
				note(run, d, i, n->wants ? n->rate * 1000 + 0.5 : 0);
		}
	}
}

double sim_fluid_entitled(const struct run *run, int tenant)
{
	return run->fluid ? run->fluid->sums[tenant].entitled : 0;
}

/* Where a tenant may choose among devices there is no one right division. */
double sim_fluid_error(const struct run *run)
{
	int i;

	for (i = 0; i < run->s->ntenants; i++)
		if (run->s->tenants[i].devices & (run->s->tenants[i].devices - 1))
			return NAN;
	return run->fluid ? run->fluid->error : NAN;
}

static void window_end(struct run *run, void *arg, uint64_t unused)
{
	struct fluid *f = run->fluid;
	double held, error;
	int i;

	(void)arg;
	(void)unused;
	integrate(run);
	for (i = 0; i < run->s->ntenants; i++) {
		struct fluid_sum *sum = &f->sums[i];

		held = sim_tenant_held(&run->tenants[i]) -
		       sim_tenant_lingered(&run->tenants[i]);
		error = (held - sum->window_held) - (sum->entitled - sum->window_entitled);
		if (error < 0)
			error = -error;
		if (error / run->s->window_ns > f->error)
			f->error = error / run->s->window_ns;
		sum->window_held = held;
		sum->window_entitled = sum->entitled;
	}
	sim_at(run, run->clock.now + run->s->window_ns, window_end, NULL, 0);
}

/* -- shares ---------------------------------------------------------------- */

static void merge(struct gs_share *to, const struct gs_share *from, uint32_t fields)
{
	if (fields & GS_SHARE_WEIGHT)
		to->weight = from->weight;
	if (fields & GS_SHARE_CLASS)
		to->class = from->class;
	if (fields & GS_SHARE_MIN)
		to->min = from->min;
	if (fields & GS_SHARE_MAX) {
		to->quota = from->quota;
		to->period = from->period;
	}
}

void sim_fluid_share(struct run *run, const struct sim_share *sh)
{
	int d;

	if (!run->fluid)
		return;
	for (d = 0; d < run->s->ndevices; d++)
		if (sh->device < 0 || sh->device == d)
			merge(&run->fluid->shares[(sh->group + 1) * run->s->ndevices + d],
			      &sh->share, sh->fields);
}

int sim_fluid_init(struct run *run)
{
	const struct sim_scenario *s = run->s;
	struct fluid *f = calloc(1, sizeof(*f));
	int i, n = (s->ngroups + 1) * s->ndevices;

	if (!f)
		return -ENOMEM;
	run->fluid = f;
	f->nodes = calloc(nnodes(run), sizeof(*f->nodes));
	f->members = calloc(nnodes(run), sizeof(*f->members));
	f->rates = calloc((size_t)s->ndevices * s->ntenants, sizeof(*f->rates));
	f->sums = calloc(s->ntenants, sizeof(*f->sums));
	f->shares = calloc(n, sizeof(*f->shares));
	if (!f->nodes || !f->members || !f->rates || !f->sums || !f->shares)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		f->shares[i] = (struct gs_share){
			.weight = GS_WEIGHT_DEFAULT, .quota = GS_UNLIMITED, .period = 1,
		};
	/* What is set for all devices first: what is set for one counts there. */
	for (i = 0; i < s->nshares; i++)
		if (s->shares[i].device < 0)
			sim_fluid_share(run, &s->shares[i]);
	for (i = 0; i < s->nshares; i++)
		if (s->shares[i].device >= 0)
			sim_fluid_share(run, &s->shares[i]);
	sim_at(run, s->window_ns, window_end, NULL, 0);
	return 0;
}

void sim_fluid_free(struct run *run)
{
	if (!run->fluid)
		return;
	free(run->fluid->nodes);
	free(run->fluid->members);
	free(run->fluid->rates);
	free(run->fluid->sums);
	free(run->fluid->shares);
	free(run->fluid);
	run->fluid = NULL;
}
