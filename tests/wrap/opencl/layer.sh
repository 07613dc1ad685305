#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# The layer from outside: what it exports, children, other layers, shares, limits.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
look=$O/tests/wrap/opencl/look
api=$O/tests/wrap/opencl/api
spy=$PWD/$O/tests/wrap/opencl/spy.so
[ "${O#/}" = "$O" ] || spy=$O/tests/wrap/opencl/spy.so
plan 33

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
	SPY_OUT=$dir/spy.on GPUSHARE_CUT=slice,random=7 OPENCL_LAYERS=$layers \
		"$api" $some >"$dir/on" 2>"$dir/err"
	# What ours builds for itself, another inside of it sees too.
	sed -i '/^\(rewritten\|built\|asked\|told\) /d' "$dir/spy.on"
	diff "$dir/off" "$dir/on" >"$dir/diff" && diff "$dir/spy.off" "$dir/spy.on" >>"$dir/diff"
	verdict $? "with ours $([ "$layers" = "$spy:$layer" ] && echo outside || echo inside)" "$dir/diff"
	[ "$(OPENCL_LAYERS=$layers "$look" child)" = "$layers" ]
	verdict $? "a child has both layers"
	rm -f "$dir/spy.on"
done

# What is freed is overwritten, so that what is used after its end shows.
# PoCL 3.1 aborts now and then when somebody waits for a command that fails: it unlocks
# an event that the waiter has released. That says nothing of the layer.
for driver in SPY_FAIL=3 'SPY_FAIL=3 SPY_FORGIVE=1'; do
	for _ in 1 2 3 4 5; do
		# shellcheck disable=SC2086
		env $driver MALLOC_PERTURB_=165 GPUSHARE_CUT=slice,random=7 OPENCL_LAYERS="$spy:$layer" \
			timeout -k 5 300 "$look" fail >"$dir/out" 2>&1
		grep -q '^PTHREAD ERROR in pocl_update_event_failed' "$dir/out" || break
	done
	printf '%s\n' '-5 -5' '0 0' | diff - "$dir/out" >"$dir/diff"
	verdict $? "a piece in the middle that fails: so has the launch, and the next one hasn't ($driver)" "$dir/diff"
done

printf '%s\n' "== what_is_written_before" "wrong 0" "== end" >"$dir/want"
SPY_LATE=1 GPUSHARE_CUT=whole OPENCL_LAYERS=$spy:$layer "$api" what_is_written_before \
	2>"$dir/err" | diff "$dir/want" - >"$dir/diff"
verdict $? "a launch comes behind a write that has returned and isn't done yet" "$dir/diff"

GPUSHARE_VERBOSE=1 GPUSHARE_CUT=slice OPENCL_LAYERS=$layer "$api" program_with_headers \
	>"$dir/out" 2>&1
grep -q '^gpushare: kernel k: slices' "$dir/out" &&
	! grep '^gpushare: kernel k: whole' "$dir/out" | grep -v 'its last build failed' | grep -q .
verdict $? "a program compiled with headers is cut" "$dir/out"

SPY_ADDRESS=1 GPUSHARE_VERBOSE=1 OPENCL_LAYERS=$spy:$layer "$look" address >"$dir/out" 2>&1
grep -q '^gpushare: kernel by_address: ' "$dir/out"
verdict $? "a function of the core that the driver tells by its name is ours" "$dir/out"

GPUSHARE_ARBITER=none GPUSHARE_VERBOSE=1 OPENCL_LAYERS=$spy:$layer "$look" fail >"$dir/out" 2>&1
grep -q '^gpushare: kernel k: whole (past the gate)' "$dir/out"
verdict $? "a launch is counted that has no arbiter to ask" "$dir/out"

GPUSHARE_ARBITER=none GPUSHARE_CUT=whole OPENCL_LAYERS=$layer timeout -k 5 300 \
	"$O/tests/wrap/opencl/unload" >"$dir/out" 2>&1
printf '%s\n' launched launched end | diff - <(grep -v '^gpushare: pid' "$dir/out") >"$dir/diff"
verdict $? "what is unloaded while a launch runs is still there for it" "$dir/out"

# PoCL alone takes about 230 MiB for these.
OPENCL_LAYERS=$layer timeout -k 5 300 "$look" many 100000 >"$dir/out" 2>&1
awk '{ ok = $1 == 100000 && $2 < 1000 } END { exit !ok }' "$dir/out"
verdict $? "launches without end, that nobody waits for, whose events nobody reads" "$dir/out"

# What is learnt of a launch is forgotten by halves, so a long one may count twice.
OPENCL_LAYERS=$layer timeout -k 5 300 "$look" seldom >"$dir/out" 2>&1
awk '{ ok = $1 > 0 && $1 < 4 * $2 } END { exit !ok }' "$dir/out"
verdict $? "idle time isn't taken for launches': $(cat "$dir/out") us"

# So long that the layer's own look at what is under way comes later than the waits' ends.
"$ctl" device set cpu:0 slice=100ms >/dev/null
OPENCL_LAYERS=$layer timeout -k 5 300 "$look" waits >"$dir/out" 2>&1
awk '{ ok = $1 > 10 } END { exit !ok }' "$dir/out"
verdict $? "what is waited for is learnt from: of $(cat "$dir/out") % of the time the layer knows"
"$ctl" device set cpu:0 slice=2ms >/dev/null

"$ctl" set name:small mem.max=64M >"$dir/out" 2>&1
verdict $? "a group is given a memory limit" "$dir/out"
# Where an arbiter can't even answer in ten seconds, programs go on without it.
for _ in 1 2 3; do
	GPUSHARE_GROUP=small OPENCL_LAYERS=$layer "$look" allocate 40 40 free 40 >"$dir/out" 2>&1
	grep -q UNGATED "$dir/out" || break
done
printf '40: 0\n40: -4\n40: 0\n' | diff - "$dir/out" >"$dir/diff"
verdict $? "a group's memory limit refuses, and what is freed can be had again" "$dir/diff"

# Of each kind of memory a second one is too much, but of what lies in another's.
"$O/tests/wrap/opencl/charge" 64 >"$dir/off" 2>&1
sed '/^of another/!{ s/had, had, had$/had, -4, had/; /^shared\|^the same/s/-4/NULL/ }' "$dir/off" >"$dir/want"
for _ in 1 2 3; do
	GPUSHARE_GROUP=small OPENCL_LAYERS=$layer "$O/tests/wrap/opencl/charge" 64 >"$dir/out" 2>&1
	grep -q UNGATED "$dir/out" || break
done
grep -q ': had' "$dir/off" && diff "$dir/want" "$dir/out" >"$dir/diff"
verdict $? "all kinds of memory are charged, refused and given back" "$dir/diff"

# Of any number of devices: those that the arbiter doesn't know are used ungated.
POCL_DEVICES="pthread pthread pthread pthread pthread pthread pthread pthread pthread" \
	GPUSHARE_GROUP=small OPENCL_LAYERS=$layer "$look" allocate 40 40 free 40 >"$dir/out" 2>&1
printf '40: 0\n40: -4\n40: 0\n' | diff - <(grep -v UNGATED "$dir/out") >"$dir/diff"
verdict $? "it does so in a context of nine devices" "$dir/diff"

# Two launches of a kernel in flight, whose pieces are of many widths: PoCL 3.1 aborts.
# Other drivers cut them.
crowd='kernel k: whole (PoCL before 6.0 may abort'
if [ "$OCL_ICD_VENDORS" != /etc/OpenCL/vendors/pocl.icd ] ||
		[ "$(clinfo --raw | sed -n 's/.*CL_DRIVER_VERSION *\([0-9]*\).*/\1/p' | head -n 1)" -ge 6 ]; then
	crowd='kernel k: slices'
fi
# in_queues N SEED
in_queues() {
	GPUSHARE_VERBOSE=1 GPUSHARE_CUT=random=$2 POCL_DEVICES="pthread pthread" \
		OPENCL_LAYERS=$layer "$look" busy 1 "$1" >"$dir/out" 2>&1
}
often() { for seed in 1 2 3 4 5 6; do in_queues 8 $seed || return; done; }
often && grep -q '^[1-9][0-9]* launches' "$dir/out" && grep -q "$crowd" "$dir/out"
verdict $? "a crowd of queues: $crowd" "$dir/out"
in_queues 1 7 && grep -q '^[1-9][0-9]* launches' "$dir/out" && grep -q "$crowd" "$dir/out"
verdict $? "a queue on each of two devices: $crowd" "$dir/out"
GPUSHARE_VERBOSE=1 GPUSHARE_CUT=random=7 OPENCL_LAYERS=$layer "$look" busy 1 1 >"$dir/out" 2>&1 &&
	grep -q '^[1-9][0-9]* launches' "$dir/out" && grep -q 'kernel k: slices' "$dir/out"
verdict $? "in one queue launches are cut" "$dir/out"

# What counts is a stretch of time when what the kernels take is known: of the first
# launches nothing is, so they aren't cut, and on a busy machine they take seconds.
"$ctl" run -- "$look" busy 1 >/dev/null 2>&1
# Who is kept from yielding, or from launching again, shall not lose its turn for it.
"$ctl" device set cpu:0 slice=4ms grace=2s linger=50ms
begin light --weight=100 -- "$look" busy 600
begin heavy --weight=300 -- "$look" busy 600
# Two measurements make a kernel known: ten grants are enough, and a stretch in which it
# wasn't yet costs another one, not the result.
for name in light heavy; do eventually has $name grants 10; done
for _ in $(seq 20); do
	read -r light heavy < <(held 3 light heavy)
	[ $((10 * heavy)) -gt $((14 * light)) ] && break
done
[ $((10 * heavy)) -gt $((14 * light)) ]
verdict $? "weight 300 holds more than weight 100: $heavy % and $light %"
end light && end heavy
verdict $? "two programs compute what they should: $(cat "$dir/light") and $(cat "$dir/heavy")" "$dir/heavy"

# Killed in the middle: the other one has the device, and the daemon goes on.
"$ctl" run --name=dies -- "$look" busy 60 >/dev/null 2>&1 &
dies=$!
find_victim() { victim=$("$ctl" -j status | jq -e '[.clients[] | select(.comm == "look")][0].pid'); }
eventually find_victim
kill -KILL "$victim" 2>/dev/null
wait $dies 2>/dev/null
OPENCL_LAYERS=$layer timeout -k 5 300 "$look" busy 1 >"$dir/out" 2>&1
verdict $? "after a kill -9 in the middle another one runs" "$dir/out"
# What a launch takes beyond the quota, as the first ones do, is paid back later.
begin capped --max=20% -- "$look" busy 600
eventually has capped usage_usec 300000
for _ in $(seq 20); do
	read -r capped < <(held 3 capped)
	[ "$capped" -gt 0 ] && [ "$capped" -lt 45 ] && break
done
[ "$capped" -gt 0 ] && [ "$capped" -lt 45 ]
verdict $? "max=20% holds: $capped %" "$dir/capped.err"
end capped
verdict $? "a program that can't have all that it asks for still ends: $(cat "$dir/capped")" "$dir/capped.err"

# On a device with several seats the arbiter learns what kernels need, and deals workers.
"$ctl" device set cpu:0 seats=2 units=4 unit-threads=4096
begin left -- "$look" busy 600
begin right -- "$look" busy 600
eventually both '.workers > 0 and .progress > 0'
verdict $? "both of two holders are dealt workers, and their progress is counted"
end left
verdict $? "left: $(cat "$dir/left"), each group once" "$dir/left.err"
end right
verdict $? "right: $(cat "$dir/right"), each group once" "$dir/right.err"
finish
