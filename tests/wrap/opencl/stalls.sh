#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that stalls in the middle of its work doesn't keep the device from others;
# and what its driver refuses or leaves undone doesn't stall it. The arbiter's own way
# out, to take the device back after `grace`, is put off for longer than any test lasts.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
look=$O/tests/wrap/opencl/look
stalls=$O/tests/wrap/opencl/stalls
api=$O/tests/wrap/opencl/api
spy=$PWD/$O/tests/wrap/opencl/spy.so
[ "${O#/}" = "$O" ] || spy=$O/tests/wrap/opencl/spy.so
plan 30

runs() { "$ctl" -j status | jq -e "any(.clients[]; .comm == \"$1\" and .usage_usec > 100000)" >/dev/null; }

start_daemon
export GPUSHARE_ARBITER=$socket
"$ctl" device add cpu:0 >/dev/null 2>&1
"$ctl" device set cpu:0 slice=4ms grace=2000s >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }

# What is compiled for the first time takes long.
"$look" busy 0 >/dev/null
for where in write empty barrier other copy native read unflushed unknown unordered; do
	GPUSHARE_ARBITER=none "$stalls" $where </dev/null >"$dir/want" 2>&1
	rm -f "$dir/go"
	mkfifo "$dir/go"
	exec 3<>"$dir/go"
	# A driver that gathers commands until they are flushed matters to the last ones alone.
	SPY_HOLD=1 OPENCL_LAYERS=$([ "${where#u}" = "$where" ] || echo "$spy:")$layer \
		timeout -k 5 300 "$stalls" $where <"$dir/go" 3>&- >"$dir/on" 2>"$dir/err" &
	pids+=($!)
	eventually grep -q '^ready$' "$dir/on" &&
		OPENCL_LAYERS=$layer timeout -k 5 100 "$look" busy 0.1 >"$dir/out" 2>&1
	verdict $? "$where: another one has the device" "$dir/err"
	exec 3>&-
	wait "${pids[-1]}" && diff "$dir/want" "$dir/on" >"$dir/diff"
	verdict $? "$where: and it goes on as without the layer" "$dir/diff"
done

# A launch that waits for what the layer or the driver takes long for keeps none of
# another queue of the same program.
for where in build release; do
	GPUSHARE_ARBITER=none "$stalls" $where </dev/null >"$dir/want" 2>&1
	rm -f "$dir/go"
	mkfifo "$dir/go"
	exec 3<>"$dir/go"
	SPY_SLOW=$dir/may-build SPY_FINISH=1 GPUSHARE_CACHE=off GPUSHARE_CUT=slice \
		SPY_OUT=$dir/spied OPENCL_LAYERS=$spy:$layer \
		timeout -k 5 300 "$stalls" $where <"$dir/go" 3>&- >"$dir/on" 2>"$dir/err" &
	pids+=($!)
	eventually grep -q '^ready$' "$dir/on" && { [ $where = release ] || eventually grep -q rewritten "$dir/spied"; }
	verdict $? "$where: launches of another queue don't wait" "$dir/err"
	touch "$dir/may-build"
	exec 3>&-
	wait "${pids[-1]}" && diff "$dir/want" "$dir/on" >"$dir/diff"
	verdict $? "$where: and then it goes on as without the layer" "$dir/diff"
done

# Launches that there is room for don't pass one that waits for more for ever.
OPENCL_LAYERS=$layer timeout -k 5 100 "$stalls" past </dev/null >"$dir/out" 2>"$dir/err"
grep -qx over "$dir/out"
verdict $? "a longer launch has its turn among short ones" "$dir/out"

# What the launcher puts into queues of its own is flushed by it.
some="shapes arguments_are_those_of_the_enqueue long_chain_in_order"
# shellcheck disable=SC2086
"$api" $some >"$dir/off" 2>&1
# shellcheck disable=SC2086
SPY_HOLD=1 GPUSHARE_CUT=slice,random=7 OPENCL_LAYERS=$spy:$layer \
	timeout -k 5 300 "$api" $some 2>"$dir/err" | diff "$dir/off" - >"$dir/diff"
verdict $? "pieces are flushed" "$dir/diff"

# No callbacks: of a batch; of a piece; and of a marker, whose launch then fails. The
# first has no marker, as each launch is waited for before the next.
GPUSHARE_ARBITER=none "$stalls" unflushed </dev/null >"$dir/want" 2>&1
SPY_REFUSE=1 OPENCL_LAYERS=$spy:$layer timeout -k 5 100 "$stalls" unflushed </dev/null 2>"$dir/err" |
	diff "$dir/want" - >"$dir/diff"
verdict $? "batches without callbacks" "$dir/diff"
# shellcheck disable=SC2086
SPY_REFUSE=1 GPUSHARE_CUT=slice,random=7 OPENCL_LAYERS=$spy:$layer \
	timeout -k 5 300 "$api" $some 2>"$dir/err" | diff "$dir/off" - >"$dir/diff"
verdict $? "pieces without callbacks" "$dir/diff"
# As in layer.sh: PoCL 3.1 aborts now and then when somebody waits for what fails.
for _ in 1 2 3 4 5; do
	SPY_REFUSE=1 OPENCL_LAYERS=$spy:$layer timeout -k 5 100 "$stalls" refused >"$dir/out" 2>&1
	grep -q '^PTHREAD ERROR in pocl_update_event_failed' "$dir/out" || break
done
printf '%s\n' -14 0 | diff - <(head -n 2 "$dir/out") >"$dir/diff"
verdict $? "a launch whose turn nobody tells fails, and the next one doesn't" "$dir/out"

# To plan a launch may take a grant, which comes again only when that which is asked back
# has been given back: so no launch of ours may be in flight that nobody tells the end of.
OPENCL_LAYERS=$layer "$look" busy 600 >"$dir/busy" 2>&1 &
pids+=($!)
eventually runs look
# Long enough for a launch right behind another one, too short for a question.
"$ctl" device set cpu:0 slice=20ms linger=20ms
GPUSHARE_CACHE=off OPENCL_LAYERS=$layer timeout -k 5 200 "$stalls" plan 5 >"$dir/out" 2>&1
verdict $? "launches are planned while others want the device" "$dir/out"
finish
