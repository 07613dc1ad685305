#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# Programs that know nothing of the layer, beside one another: under guarantees, on two
# devices, and with others that are killed at random moments.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
look=$O/tests/wrap/opencl/look
seed=${GS_SEED:-$((RANDOM * 32768 + RANDOM))}
kills=${GS_KILLS:-20}
RANDOM=$seed
echo "# seed $seed"
plan 14

start_daemon
export GPUSHARE_ARBITER=$socket
# Compiled once, in all the ways that are needed, so that no tenant begins late.
"$ctl" run -- "$look" busy 3 >/dev/null 2>&1
# Who is kept from yielding, or from launching again, shall not lose its turn for it.
"$ctl" device set cpu:0 slice=4ms grace=2s linger=50ms

# Two guarantees hold against a weight that would leave them nothing.
begin half --weight=1 --min=50% -- "$look" busy 600
begin third --weight=1 --min=30% -- "$look" busy 600
begin heavy --weight=10000 -- "$look" busy 600
# Ten grants: as in layer.sh.
for name in half third heavy; do eventually has $name grants 10; done
for _ in $(seq 10); do
	read -r half third heavy < <(held 6 half third heavy)
	[ "$half" -ge 40 ] && [ "$third" -ge 22 ] && [ "$heavy" -ge 5 ] && break
done
[ "$half" -ge 40 ] && [ "$third" -ge 22 ]
verdict $? "min=50 % and 30 % hold $half % and $third % against a weight of 10000"
[ "$heavy" -ge 5 ]
verdict $? "which has what they leave: $heavy %"
for name in half third heavy; do
	end $name
	verdict $? "$name: $(cat "$dir/$name"), each group once" "$dir/$name.err"
done

# Killed at random moments, of all kinds of launches, compiling and starting up; what
# they leave behind must be nothing.
begin light --weight=100 -- "$look" busy 1200
begin strong --weight=300 -- "$look" busy 1200
for name in light strong; do eventually has $name grants 10; done
"$ctl" set name:victims weight=100 >/dev/null
clients() { "$ctl" -j status | jq '.clients | length'; }
only_survivors() { [ "$(clients)" = 2 ]; }
stuck=0 left=0
for i in $(seq "$kills"); do
	mode=(auto slice whole)
	GPUSHARE_GROUP=victims OPENCL_LAYERS=$layer \
		GPUSHARE_CUT=${mode[i % 3]}$([ $((i % 2)) = 0 ] || echo ",random=$seed") \
		"$look" busy 600 >/dev/null 2>&1 &
	victim=$!
	# One in four before it has come that far.
	[ $((RANDOM % 4)) = 0 ] || eventually has victims grants "$(of victims grants)"
	sleep "0.$((RANDOM % 800 + 100))"
	kill -KILL $victim
	wait $victim 2>/dev/null
	eventually only_survivors || left=$((left + 1))
	for name in light strong; do
		eventually has $name usage_usec "$(of $name usage_usec)" || stuck=$((stuck + 1))
	done
done
[ $left = 0 ]
verdict $? "after each of $kills kills nothing is left of the victim ($left)"
[ $stuck = 0 ]
verdict $? "and the others go on ($stuck didn't)"
! has victims memory_current 0
verdict $? "what the victims had allocated is given back"
for _ in $(seq 10); do
	read -r light strong < <(held 6 light strong)
	[ "$strong" -gt $((2 * light)) ] && [ "$strong" -lt $((4 * light)) ] && break
done
[ "$strong" -gt $((2 * light)) ] && [ "$strong" -lt $((4 * light)) ]
verdict $? "weights 100 and 300 hold $light % and $strong % afterwards"
for name in light strong; do
	end $name
	verdict $? "$name: $(cat "$dir/$name"), each group once" "$dir/$name.err"
done

# Two devices of one platform, with an arbiter each, in one context, and a queue on each. The
# drivers of both use the same threads, so that what is held says more than how fast it is.
export POCL_DEVICES="pthread pthread"
"$look" busy 1 >"$dir/out" 2>&1
verdict $? "PoCL alone computes on two devices" "$dir/out"
"$ctl" device add cpu:1 slice=4ms grace=2s linger=50ms
begin both --weight=100 -- "$look" busy 600 1
begin one --device=cpu:0 --max=5% -- "$look" busy 600 1
for name in both one; do
	for device in cpu:0 cpu:1; do eventually has $name grants 3 $device; done
done
held_most() { [ "$(of one usage_usec cpu:1)" -gt $((3 * $(of one usage_usec cpu:0))) ]; }
eventually held_most
verdict $? "max=5% of one: held $(of one usage_usec cpu:0) us there, $(of one usage_usec cpu:1) on the other"
end both; a=$?
end one; b=$?
[ $a = 0 ] && [ $b = 0 ] && [ "$(grep -c launches "$dir/both")" = 2 ]
verdict $? "both compute what they should on both" "$dir/both"
finish
