#!/bin/bash
# SPDX-License-Identifier: MIT
# The layer from outside: what it exports, children, other layers, shares, limits.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/opencl-layer/lib.sh
. tests/opencl-layer/lib.sh
look=$O/tests/opencl-layer/look
api=$O/tests/opencl-layer/api
spy=$PWD/$O/tests/opencl-layer/spy.so
[ "${O#/}" = "$O" ] || spy=$O/tests/opencl-layer/spy.so
plan 17

nm -D --defined-only "$layer" | awk '{ print $3 }' | sort >"$dir/given"
printf '%s\n' clDeinitLayer clGetLayerInfo clInitLayer clInitLayerWithProperties | diff - "$dir/given" >"$dir/diff"
verdict $? "it exports the loaders' entry points alone" "$dir/diff"

newest=$(objdump -T "$layer" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
[ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ] || nm "$layer" | grep -q '__[at]san_'
verdict $? "no glibc newer than 2.28 is needed ($newest)"

start_daemon
export GPUSHARE_ARBITER=$socket
OPENCL_LAYERS=$layer "$look" extensions >"$dir/out" 2>&1
[ "$(sort -u "$dir/out")" = none ]
verdict $? "no extension passes it by" "$dir/out"

# Another layer inside and outside of ours: what is read back is the same.
some="shapes arguments_are_those_of_the_enqueue long_chain_in_order"
# shellcheck disable=SC2086
SPY_OUT=$dir/spy.off OPENCL_LAYERS=$spy "$api" $some >"$dir/off" 2>&1
verdict $? "the other layer alone"
for layers in "$spy:$layer" "$layer:$spy"; do
	# shellcheck disable=SC2086
	SPY_OUT=$dir/spy.on GPUSHARE_OPENCL_MODE=slice GPUSHARE_OPENCL_CUTS=7 OPENCL_LAYERS=$layers \
		"$api" $some >"$dir/on" 2>"$dir/err"
	diff "$dir/off" "$dir/on" >"$dir/diff" && diff "$dir/spy.off" "$dir/spy.on" >>"$dir/diff"
	verdict $? "with ours $([ "$layers" = "$spy:$layer" ] && echo outside || echo inside)" "$dir/diff"
	[ "$(OPENCL_LAYERS=$layers "$look" child)" = "$layers" ]
	verdict $? "a child has both layers"
	rm -f "$dir/spy.on"
done

# What is freed is overwritten, so that what is used after its end shows.
# PoCL 3.1 aborts now and then when somebody waits for a command that fails: it unlocks
# an event that the waiter has released. That says nothing of the layer.
for _ in 1 2 3 4 5; do
	SPY_FAIL=3 MALLOC_PERTURB_=165 GPUSHARE_OPENCL_MODE=slice GPUSHARE_OPENCL_CUTS=7 \
		OPENCL_LAYERS=$spy:$layer timeout 60 "$look" fail >"$dir/out" 2>&1
	grep -q '^PTHREAD ERROR in pocl_update_event_failed' "$dir/out" || break
done
printf '%s\n' -5 0 | diff - "$dir/out" >"$dir/diff"
verdict $? "a piece in the middle that fails: so has the launch, and the next one hasn't" "$dir/diff"

SPY_ADDRESS=1 GPUSHARE_VERBOSE=1 OPENCL_LAYERS=$spy:$layer "$look" address >"$dir/out" 2>&1
grep -q '^gpushare: kernel by_address: ' "$dir/out"
verdict $? "a function of the core that the driver tells by its name is ours" "$dir/out"

GPUSHARE_ARBITER=none GPUSHARE_VERBOSE=1 OPENCL_LAYERS=$spy:$layer "$look" fail >"$dir/out" 2>&1
grep -q '^gpushare: kernel k: whole (past the gate)' "$dir/out"
verdict $? "a launch is counted that has no arbiter to ask" "$dir/out"

# PoCL alone takes about 230 MiB for these.
OPENCL_LAYERS=$layer timeout 300 "$look" many 100000 >"$dir/out" 2>&1
awk '{ exit !($1 == 100000 && $2 < 1000) }' "$dir/out"
verdict $? "launches without end, that nobody waits for, whose events nobody reads" "$dir/out"

"$ctl" set name:small mem.max=64M >"$dir/out" 2>&1
GPUSHARE_GROUP=small OPENCL_LAYERS=$layer "$look" allocate 40 40 free 40 >"$dir/out" 2>&1
printf '40: 0\n40: -4\n40: 0\n' | diff - "$dir/out" >"$dir/diff"
verdict $? "a group's memory limit refuses, and what is freed can be had again" "$dir/diff"

"$ctl" run -- "$look" busy 1 >/dev/null 2>&1
"$ctl" device set cpu:0 slice=4ms
count() { sed -n 's/ launches$//p' "$1"; }
both() {
	"$ctl" run --weight=100 --name=light -r -- "$look" busy 8 >"$dir/light" 2>&1 &
	light=$!
	"$ctl" run --weight=300 --name=heavy -r -- "$look" busy 8 >"$dir/heavy" 2>&1
	wait $light
	awk -v l="$(held "$dir/light")" -v h="$(held "$dir/heavy")" 'BEGIN { exit !(h > l) }'
}
held() { sed -n 's/.*held .* (\([0-9.]*\)% of.*/\1/p' "$1"; }
# On a machine so busy that launches take seconds, a start that comes late decides.
for _ in 1 2 3; do both && break; done
[ -n "$(count "$dir/light")" ] && [ -n "$(count "$dir/heavy")" ]
verdict $? "two programs run to their end: $(count "$dir/light") and $(count "$dir/heavy") launches" "$dir/heavy"
awk -v l="$(held "$dir/light")" -v h="$(held "$dir/heavy")" 'BEGIN { exit !(h > l) }'
verdict $? "weight 300 holds more than weight 100: $(held "$dir/heavy") % and $(held "$dir/light") %"

# Killed in the middle: the other one has the device, and the daemon goes on.
"$ctl" run --name=dies -- "$look" busy 60 >/dev/null 2>&1 &
dies=$!
find_victim() { victim=$("$ctl" -j status | jq -e '[.clients[] | select(.comm == "look")][0].pid'); }
eventually find_victim
kill -KILL "$victim" 2>/dev/null
wait $dies 2>/dev/null
OPENCL_LAYERS=$layer timeout 60 "$look" busy 1 >"$dir/out" 2>&1
verdict $? "after a kill -9 in the middle another one runs" "$dir/out"
# A program that can't have all that it asks of the device in time still ends.
"$ctl" run --max=20% --name=capped -r -- "$look" busy 3 >"$dir/capped" 2>&1
awk -v h="$(held "$dir/capped")" 'BEGIN { exit !(h != "" && h < 45) }'
verdict $? "max=20% holds: $(held "$dir/capped") %" "$dir/capped"
finish
