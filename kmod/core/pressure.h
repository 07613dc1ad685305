/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Pressure: the part of time for which work waited, as the kernel's PSI has it
 * for CPU, memory and I/O. "some": at least one client of the group waits.
 * "full": at least one waits and none of the group runs.
 *
 * The totals are exact. The averages over 10, 60 and 300 s decay in steps of
 * 2 s, so a reader sees what PSI files would show. Nothing ticks: the steps
 * that were missed are made up for when somebody looks or the state changes.
 */
#ifndef GS_CORE_PRESSURE_H
#define GS_CORE_PRESSURE_H

#include "os.h"

#define GS_PRESSURE_STEP 2000000000ull

enum { GS_SOME, GS_FULL, GS_NR_PRESSURES };

/**
 * struct gs_pressure - one group's, on one device
 * @state: bit GS_SOME, bit GS_FULL: what holds since @since
 * @total: for how long each held, up to @since
 * @at_step: @total at the last step
 * @step: when that was
 * @avg: fixed point, 2048 is 1 %
 */
struct gs_pressure {
	u32 state;
	u64 since, step;
	u64 total[GS_NR_PRESSURES];
	u64 at_step[GS_NR_PRESSURES];
	u64 avg[GS_NR_PRESSURES][3];
};

void gs_pressure_init(struct gs_pressure *p, u64 now);

/* Account for what held since the last call, and note what holds from now. */
void gs_pressure_change(struct gs_pressure *p, u32 state, u64 now);

#endif
