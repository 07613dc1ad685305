// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "internal.h"

/*
 * The weight of the past after one step of 2 s, of 2048: exp(-2 / 10),
 * exp(-2 / 60), exp(-2 / 300); the kernel's averages use the same.
 */
static const u32 decay[GS_NR_AVGS] = { 1677, 1981, 2034 };

#define ONE 2048u

/* @f to the power of @n, both f and the result of ONE. */
static u64 power(u64 f, u64 n)
{
	u64 r = ONE;

	for (; n; n >>= 1) {
		if (n & 1)
			r = r * f / ONE;
		f = f * f / ONE;
	}
	return r;
}

void gs_pressure_init(struct gs_pressure *p, u64 now)
{
	memset(p, 0, sizeof(*p));
	p->since = now;
	p->step = now;
}

/*
 * Steps that are over. The first sample covers all the time since the last
 * step; the steps that were missed before it only let the averages decay.
 */
static void steps(struct gs_pressure *p, u64 now)
{
	u64 time = now - p->step, n, part, past;
	unsigned int i, a;

	n = div64_u64(time, GS_PRESSURE_STEP);
	for (i = 0; i < GS_NR_PRESSURES; i++) {
		part = mul_u64_u64_div_u64(p->total[i] - p->at_step[i], 100ull * ONE, time);
		for (a = 0; a < GS_NR_AVGS; a++) {
			past = power(decay[a], n);
			p->avg[i][a] = (p->avg[i][a] * past + part * (ONE - past)) / ONE;
		}
		p->at_step[i] = p->total[i];
	}
	p->step = now;
}

void gs_pressure_change(struct gs_pressure *p, u32 state, u64 now)
{
	u64 time = now - p->since;

	if (p->state & BIT(GS_SOME))
		p->total[GS_SOME] += time;
	if (p->state & BIT(GS_FULL))
		p->total[GS_FULL] += time;
	p->since = now;
	p->state = state;
	if (unlikely(now - p->step >= GS_PRESSURE_STEP))
		steps(p, now);
}

void gs_pressure_read(struct gs_node *node, u64 now, struct gs_pressure_values *v)
{
	struct gs_pressure *p = &node->pressure;
	unsigned int a;

	gs_pressure_change(p, p->state, max(now, p->since));
	for (a = 0; a < GS_NR_AVGS; a++) {
		v->some_avg[a] = p->avg[GS_SOME][a] * 100 / ONE;
		v->full_avg[a] = p->avg[GS_FULL][a] * 100 / ONE;
	}
	v->some_total = p->total[GS_SOME];
	v->full_total = p->total[GS_FULL];
}
