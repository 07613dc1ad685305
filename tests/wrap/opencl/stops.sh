#!/bin/bash
# SPDX-License-Identifier: MIT
# Workers stop when the device is asked back: no worker begins more than one group
# after that, and each group is done once all the same.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
stops=$O/tests/wrap/opencl/stops
plan 7

start_daemon
"$ctl" --arbiter "$socket" device set cpu:0 slice=2ms >/dev/null
export GPUSHARE_ARBITER=$socket OPENCL_LAYERS=$layer GPUSHARE_VERBOSE=1
# Each sees to it that the other one is asked to stop.
GPUSHARE_CUT=workers timeout 300 "$stops" 1000000 >/dev/null 2>&1 &
pids+=($!)
GPUSHARE_CUT=workers timeout 300 "$stops" 40 >"$dir/out" 2>"$dir/err"
verdict $? "each group is done once: $(cat "$dir/out")" "$dir/out"
grep -q 'kernel k: workers$' "$dir/err"
verdict $? "it was done by workers" "$dir/err"
read -r _ grants _ groups _ most _ p99 _ workers <"$dir/out"
[ "${grants:-0}" -ge 40 ]
verdict $? "launches were stopped, in ${grants:-0} grants"
# What is late began between a worker's look at the word and its own; and each
# worker does one group of a launch in any case.
[ -n "$workers" ] && [ "$most" -le $((2 * workers)) ] && [ "$p99" -le "$workers" ]
verdict $? "late groups of a grant: $p99 in 99 of 100, at most $most, with ${workers:-no} workers"

# Two seats: each runs by as many workers as it was dealt, a half of the device's two.
kill "${pids[1]}" 2>/dev/null
unset GPUSHARE_VERBOSE
"$ctl" device set cpu:0 seats=2 units=2 unit-threads=64
unset OPENCL_LAYERS
export GPUSHARE_CUT=workers
begin left -- "$O/tests/wrap/opencl/look" busy 600
begin right -- "$O/tests/wrap/opencl/look" busy 600
eventually both '.workers == 1 and .progress > 0'
verdict $? "each of two holders is dealt one of two workers"
end left
verdict $? "left: $(cat "$dir/left"), each group once" "$dir/left.err"
end right
verdict $? "right: $(cat "$dir/right"), each group once" "$dir/right.err"
finish
