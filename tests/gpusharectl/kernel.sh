#!/bin/bash
# SPDX-License-Identifier: MIT
# gpusharectl over the module: /dev/gpushare, cgroups, and events by netlink.
. "$(dirname "$0")/lib.sh"
[ -c /dev/gpushare ] || { echo "1..0 # SKIP the module isn't loaded"; exit 4; }
export GPUSHARE_ARBITER=/dev/gpushare
cg=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/ctl-test-$$
mkdir -p "$cg/one" "$cg/two" || { echo "1..0 # SKIP no cgroup v2"; exit 4; }
us=/ctl-test-$$

gives 0 version; says '^arbiter '
gives 0 device add cpu:0 slice=4ms
gives 0 status; says '^kernel module '; says ' cpu:0 '
gives 0 doctor; says 'ok +arbiter +kernel module'; says 'ok +module'
gives 1 set name:x weight=5; complains 'no named groups'
gives 3 set "$us/none" weight=5
gives 0 set "$us/one" weight=100; gives 0 set "$us/two" weight=300 max=90%
gives 0 list; says "─${us#/}/one +[0-9]+ +100"; says "─${us#/}/two +[0-9]+ +300 +- +90%"
gives 0 show "$us/two"; says 'weight +300 +set for all devices'
result "status, set and show"

for g in one two; do
	sh -c "echo \$\$ >'$cg/$g/cgroup.procs'; exec '$busy' 120 2000" >/dev/null 2>"$dir/busy.log" &
	children+=($!)
done
within 60 clients 2 || wrong "the tenants didn't come: $(cat "$dir/busy.log")"
gives 0 -j status
jq -e '.mode == "kernel" and (.clients | length == 2 and all(.comm == "busy" and .pid > 0))' "$dir/out" >/dev/null ||
	wrong "status: $out"
gives 0 why "${children[0]}"; says "its group $us/one is entitled to 25.0%, and"
gives 0 top --once; says "─${us#/}"
gives 0 metrics; says "^gpushare_cgroup_weight\{gpu=\"[0-9]+\",cgroup=\"$us/two\"\} 300\$"; says 'mode="kernel"'
gives 0 run --name=job --weight=50 --max=50% -- cat /proc/self/cgroup; says '^0::.*/job$'
gives 0 list; says_not '/job '
result "clients, why, top, metrics and run"

if "$ctl" monitor --for=1ms 2>&1 | grep -q 'built without'; then
	echo "ok $((tests += 1)) - events by netlink # SKIP built without libnl"
else
	gives 0 monitor --count=20 --grants; says '^granted device [0-9]+ group /[^ ]+ client [0-9]+ pid [0-9]+ slice '
	says '^yielded .* held '
	gives 0 -j monitor --count=3 granted
	[ "$(jq -r .event "$dir/out" | sort -u)" = granted ] || wrong "not only granted: $out"
	gives 0 record -o "$dir/k.trace" --for=4s
	gives 0 plot "$dir/k.trace"; says "^$us/one +[0-9]+ +100 +25.0%"; says "^$us/two +[0-9]+ +300 +75.0%"
	gives 0 -j plot "$dir/k.trace"
	jq -e '.rows | map({(.name): .}) | add | ."'"$us/one"'".share < ."'"$us/two"'".share' "$dir/out" >/dev/null ||
		wrong "shares: $out"
	result "events by netlink: monitor, record and plot"
fi

gives 0 save "$dir/saved.conf"
gives 0 reset "$us/one"; gives 0 device set cpu:0 slice=8ms
gives 0 apply "$dir/saved.conf"; gives 0 apply -n "$dir/saved.conf"; [ -z "$out" ] || wrong "not at rest: $out"
gives 0 show "$us/one" -P weight --value; [ "$out" = 100 ] || wrong "not applied: $out"
gives 0 device list; says ' 4ms '
gives 0 set "$us/one" min=60%; gives 6 set "$us/two" min=60%; complains 'at most 40.0% is free'
result "save, apply and admission"

stop "${children[@]}"; children=()
gives 0 reset "$us/one"; gives 0 reset "$us/two"; gives 0 device remove cpu:0
within 30 rmdir "$cg/one" "$cg/two" "$cg" || wrong "the cgroups stay"
result "all of it is given back"
finish
