// SPDX-License-Identifier: MIT
/* One run, from the empty machine to the end of the scenario. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define TRACE_MAX	(4u << 20)	/* events; a picture of more shows no more */

void sim_trace(struct run *run, const struct gs_event *e)
{
	struct gs_event *p;

	if (!run->trace || run->nevents >= TRACE_MAX)
		return;
	if (run->nevents == run->events_room) {
		run->events_room = run->events_room ? 2 * run->events_room : 1024;
		p = realloc(run->events, run->events_room * sizeof(*p));
		if (!p) {
			run->error = -ENOMEM;
			return;
		}
		run->events = p;
	}
	run->events[run->nevents++] = *e;
}

/* When the last tenant had finished, if all of them did. */
static uint64_t end_of(const struct run *run)
{
	uint64_t end = 0;
	int i;

	for (i = 0; i < run->s->ntenants; i++) {
		if (run->only >= 0 && run->only != i)
			continue;
		if (!run->tenants[i].finished)
			return run->s->duration_ns;
		if (run->tenants[i].finished_at > end)
			end = run->tenants[i].finished_at;
	}
	return end ? end : run->s->duration_ns;
}

int sim_run(struct run *run, const struct sim_scenario *s, int only, bool trace)
{
	int i;

	memset(run, 0, sizeof(*run));
	run->s = s;
	run->only = only;
	run->trace = trace;
	run->machines = calloc(s->ndevices, sizeof(*run->machines));
	run->tenants = calloc(s->ntenants, sizeof(*run->tenants));
	if (!run->machines || !run->tenants)
		return -ENOMEM;
	for (i = 0; i < s->ndevices; i++)
		sim_machine_init(&run->machines[i], run, &s->devices[i]);
	for (i = 0; i < s->ntenants; i++)
		if (only < 0 || only == i)
			sim_tenant_init(&run->tenants[i], run, i);
	if (!s->native && only < 0) {
		if (sim_fluid_init(run) || sim_host_init(run))
			return run->error ? run->error : -ENOMEM;
	}
	sim_clock_run(run, s->duration_ns);
	sim_fluid_update(run);
	run->end_ns = end_of(run);
	return run->error;
}

void sim_run_free(struct run *run)
{
	int i;

	sim_host_free(run);
	sim_fluid_free(run);
	for (i = 0; run->tenants && i < run->s->ntenants; i++)
		if (run->tenants[i].t)
			sim_tenant_free(&run->tenants[i]);
	for (i = 0; run->machines && i < run->s->ndevices; i++)
		sim_machine_free(&run->machines[i]);
	free(run->tenants);
	free(run->machines);
	free(run->clock.heap);
	free(run->events);
	free(run->promises);
	memset(run, 0, sizeof(*run));
}
