// SPDX-License-Identifier: MIT
/* libFuzzer: any bytes as a scenario. What is taken is run, cut short. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes a scenario one that is run in no time. */
static void shrink(struct sim_scenario *s)
{
	struct sim_tenant *t;
	struct sim_kernel *k;
	struct sim_phase *p;

	if (s->duration_ns > 2 * SIM_NS_PER_MS)
		s->duration_ns = 2 * SIM_NS_PER_MS;
	if (s->window_ns > s->duration_ns || s->window_ns < SIM_NS_PER_US)
		s->window_ns = s->duration_ns;
	for (k = s->kernels; k < s->kernels + s->nkernels; k++) {
		if (k->blocks > 100)
			k->blocks = 100;
		if (k->time.kind == SIM_EXP || k->time.a < 10 * SIM_NS_PER_US)
			k->time = (struct sim_dist){ SIM_CONST, 10 * SIM_NS_PER_US, 0 };
	}
	for (t = s->tenants; t < s->tenants + s->ntenants; t++)
		for (p = t->phases; p < t->phases + t->nphases; p++) {
			if (p->burst > 4)
				p->burst = 4;
			if (p->for_ns < SIM_NS_PER_US)
				p->for_ns = SIM_NS_PER_US;
			if (p->arrive != SIM_CLOSED && p->gap_ns < 10 * SIM_NS_PER_US)
				p->gap_ns = 10 * SIM_NS_PER_US;
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), error[512];
	struct sim_scenario s;
	struct run run;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (!sim_parse(&s, "fuzz", text, error, sizeof(error))) {
		if (s.ntenants <= 32) {
			shrink(&s);
			sim_run(&run, &s, -1, true);
			sim_run_free(&run);
		}
		sim_scenario_free(&s);
	}
	free(text);
	return 0;
}
