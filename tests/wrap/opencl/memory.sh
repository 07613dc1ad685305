#!/bin/bash
# SPDX-License-Identifier: MIT
# Two programs of 40 MiB on a device of 64 that know nothing of the layer, where memory is
# waited for; and what the tool says meanwhile.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
look=$O/tests/wrap/opencl/look
plan 9

start_daemon
export GPUSHARE_ARBITER=$socket
"$ctl" device set cpu:0 memory=64M mem.full=wait mem.wait=120s
"$ctl" -j device list | jq -e '.devices[] | select(.key == "cpu:0") |
	.memory_full == "wait" and .memory_wait_usec == 120000000' >/dev/null
verdict $? "a device is told to let memory be waited for"

said() { [ "$(cat "$dir/$1")" = "$2" ]; }
waits() { "$ctl" -j list | jq -e '[.groups[] | select(.path == "/") | .devices[].memory_waiters] |
	add == '"$1" >/dev/null; }

mkfifo "$dir/in"
"$ctl" run --name=first -- "$look" allocate 40 hold <"$dir/in" >"$dir/first" 2>&1 &
pids+=($!)
exec 7>"$dir/in"
eventually said first "40: 0"
verdict $? "the first one has its buffer" "$dir/first"
"$ctl" run --name=second -- "$look" allocate 40 >"$dir/second" 2>&1 7>&- &
second=$!
pids+=($second)
eventually waits 1
verdict $? "the second one waits"
"$ctl" status >"$dir/status"
grep -q 'memory 40.0M/64.0M, 1 waits for 40.0M' "$dir/status" && grep -q 'mem-wait 1' "$dir/status"
verdict $? "status says that one waits, and for how much" "$dir/status"
pid=$("$ctl" -j status | jq '.clients[] | select(.memory_wanted > 0) | .pid')
"$ctl" why "$pid" >"$dir/why" 2>&1
grep -q 'waits for 40.0M of memory' "$dir/why" && grep -q '(look, in .*) has most of it.*40.0M' "$dir/why"
verdict $? "why says what it waits for, and who has it" "$dir/why"
"$ctl" metrics | grep 'memory_wanted_bytes{gpu="1",cgroup="/"}' >"$dir/metrics"
grep -q ' 41943040$' "$dir/metrics"
verdict $? "so do the metrics" "$dir/metrics"
[ ! -s "$dir/second" ]
verdict $? "all that time it waited" "$dir/second"
exec 7>&-
wait "$second"
said second "40: 0" && waits 0
verdict $? "it has its buffer when the first one has ended" "$dir/second"

# Where its own group says otherwise it is refused.
"$ctl" set name:impatient mem.max=30M mem.full=fail
GPUSHARE_GROUP=impatient OPENCL_LAYERS=$layer "$look" allocate 20 20 >"$dir/out" 2>&1
printf '20: 0\n20: -4\n' | diff - "$dir/out" >"$dir/diff"
verdict $? "a group may say that it is refused" "$dir/diff"
finish
