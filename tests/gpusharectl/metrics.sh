#!/bin/bash
# SPDX-License-Identifier: MIT
# Each figure of status is in metrics, and says the same; each query of the dashboard for
# Grafana is about series that are there.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "1..0 # SKIP no jq here"; exit 4; }
board=gpusharectl/grafana.json

start_daemon
gives 0 device set cpu:0 memory=1G units=4 bandwidth=25000
gives 0 device add mig:gpu/1 kill=5s slice=1500us
gives 0 set name:one weight=50 max=40ms/50ms mem.max=1M min=10%
gives 0 set name:two class=latency mem.high=8M
gives 0 set --device=mig:gpu/1 name:two weight=7
start one 600 3000 1000000000 4096
start two 600 30000 1000000000
within 30 clients 2 || wrong "the tenants didn't come"
# They have each had a slice, and pause; another takes the device from who is idle, until both
# are. Then nothing moves any more but the running means.
quiet() {
	GPUSHARE_GROUP=one "$busy" 1 2000
	"$ctl" -j status | jq -e 'all(.clients[]; .state == "idle" and .usage_usec > 0)' >/dev/null
}
within 60 quiet || wrong "they don't pause: $("$ctl" status)"
"$ctl" -j status >"$dir/status"
gives 0 metrics --clients
jq -nr --slurpfile status "$dir/status" --rawfile metrics "$dir/out" -f tests/gpusharectl/metrics.jq >"$dir/lacks" ||
	wrong "jq: $(tail -3 "$dir/lacks")"
[ -s "$dir/lacks" ] && wrong "$(head -20 "$dir/lacks")"
bad=$(LC_ALL=C awk -f tests/gpusharectl/metrics.awk "$dir/out"); [ -z "$bad" ] || wrong "$bad"
gives 0 metrics --clients -f prometheus
bad=$(LC_ALL=C awk -v old=1 -f tests/gpusharectl/metrics.awk "$dir/out"); [ -z "$bad" ] || wrong "$bad"
gives 0 metrics; says_not '^gpushare_client_'
result "each figure of status is in metrics"

# The comparison must see what is wrong, or it would be none.
gives 0 metrics --clients
jq '.devices[0].novel = 1 | .groups[0].devices[0].grants += 1 | .clients[0].comm = "x" | .novel = 2' "$dir/status" >"$dir/other"
grep -v '^gpushare_device_seats' "$dir/out" >"$dir/less"
jq -nr --slurpfile status "$dir/other" --rawfile metrics "$dir/less" -f tests/gpusharectl/metrics.jq >"$dir/lacks"
for what in '^device: novel is nowhere' '^status: novel is nowhere' '^gpushare_cgroup_grants_total.* is [0-9]+, not' \
	'client_info.*: comm isn.t x' '^gpushare_device_seats.* isn.t there'; do
	grep -qE "$what" "$dir/lacks" || wrong "it doesn't see $what: $(cat "$dir/lacks")"
done
result "the comparison finds mistakes"

# queries: those of the dashboard, a line each
queries() {
	jq -r '[.. | objects | (.expr? // empty), (.query? | if type == "object" then .query else . end | strings)][]' "$board"
}
# fits QUERY: names and labels are those of a series that there is; says what isn't so
fits() {
	local name labels l bad=
	for name in $(grep -oE 'gpushare_[a-z0-9_]+' <<<"$1" | sort -u); do
		labels=$(grep -E "^$name(\{| )" "$dir/out" | head -1)
		[ -n "$labels" ] || { bad+=" $name"; continue; }
		for l in $(grep -oE "$name\{[^}]*\}" <<<"$1" | grep -oE '[a-z_]+(=~|!=|!~|=)' | tr -d '=~!' | sort -u); do
			grep -qE "[{,]$l=\"" <<<"$labels" || bad+=" $name{$l}"
		done
	done
	# What sums and joins are by is a label of some of them.
	for l in $(grep -oE '\b(by|on|group_left|without) *\([^)]*\)' <<<"$1" | sed 's/.*(//; s/)//' | tr ',' ' '); do
		grep -qE "[{,]$l=\"" <(grep -E "^($(grep -oE 'gpushare_[a-z0-9_]+' <<<"$1" | sort -u | paste -sd'|'))\{" "$dir/out") ||
			bad+=" by($l)"
	done
	echo "$bad"
}
gives 0 metrics
n=0
while read -r q; do
	bad=$(fits "$q"); [ -z "$bad" ] || wrong "$q: no$bad"
	n=$((n + 1))
done < <(queries)
[ $n -ge 12 ] || wrong "only $n queries"
[ -n "$(fits 'rate(gpushare_cgroup_nonsense_total[1m])')" ] || wrong "a name that isn't there fits"
[ -n "$(fits 'gpushare_cgroup_weight{nonsense="1"}')" ] || wrong "a label that isn't there fits"
[ -n "$(fits 'sum by (nonsense) (gpushare_cgroup_weight)')" ] || wrong "a sum by what isn't there fits"
jq -e '.title == "gpushare" and (.panels | length >= 8) and ([.panels[].id] | length == (unique | length)) and
	all(.panels[] | select(.type != "row"); .targets | length >= 1)' "$board" >/dev/null || wrong "the dashboard's form"
result "the dashboard's queries are about what there is"
finish
