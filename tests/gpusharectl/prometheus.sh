#!/bin/bash
# SPDX-License-Identifier: MIT
# The dashboard's queries in Debian's Prometheus, which reads gpusharectl metrics --listen.
. "$(dirname "$0")/lib.sh"
for p in prometheus jq curl; do
	command -v $p >/dev/null || { echo "1..0 # SKIP no $p here"; exit 4; }
done
start_daemon
gives 0 device set cpu:0 memory=1G
gives 0 set name:one weight=50 max=90% mem.max=1M; gives 0 set name:two weight=100 min=10%
start one 600 3000 0 4096
start two 600 3000
within 30 clients 2 || wrong "the tenants didn't come"
"$ctl" metrics --listen=0 2>"$dir/http" &
children+=($!)
within 30 grep -q 127 "$dir/http" || wrong "it doesn't listen"
at=$(sed -n 's|.*http://\([0-9.:]*\)/.*|\1|p' "$dir/http")
cat >"$dir/prometheus.yml" <<EOF
global: { scrape_interval: 1s }
scrape_configs: [ { job_name: gpushare, static_configs: [ { targets: [ "$at" ] } ] } ]
EOF
# A port that is free now; a test beside this one may take it, so several are tried.
for _ in 1 2 3 4 5; do
	port=$((20000 + RANDOM % 20000))
	prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="127.0.0.1:$port" \
		>"$dir/prometheus.log" 2>&1 &
	prometheus=$!
	children+=($prometheus)
	ready() { curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null || ! kill -0 $prometheus 2>/dev/null; }
	within 60 ready
	kill -0 $prometheus 2>/dev/null && break
done
# ask QUERY: how many series it gives; "error ..." if it is none
ask() {
	curl -s "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" |
		jq -r 'if .status == "success" then (.data.result | length) else "error \(.error)" end'
}
up() { [ "$(ask 'up == 1')" = 1 ]; }
within 60 up || wrong "Prometheus doesn't take it: $(curl -s "http://127.0.0.1:$port/api/v1/targets" | jq -r '.data.activeTargets[].lastError')"
result "Prometheus reads the metrics"

# A range needs two samples.
ranged() { [ "$(ask 'sum(rate(gpushare_device_gpu_seconds_total[20s])) > 0')" = 1 ]; }
within 60 ranged || wrong "no rate"
n=0
while read -r q; do
	# What Grafana fills in.
	q=$(sed 's/\$__rate_interval/20s/g; s/\$__range/20s/g; s/\$gpu/.*/g; s/\$cgroup/.*/g' <<<"$q")
	got=$(ask "$q")
	[[ $got =~ ^[1-9] ]] || wrong "$q: $got"
	n=$((n + 1))
done < <(jq -r '.. | objects | .expr? // empty' gpusharectl/grafana.json)
[ $n -ge 12 ] || wrong "only $n queries"
[[ $(ask 'rate(gpushare_device_gpu_seconds_total)') == error* ]] || wrong "it takes nonsense"
result "each query of the dashboard gives something"

# What it says is so: both together have the whole device, by weight.
share() { curl -s "http://127.0.0.1:$port/api/v1/query" --data-urlencode \
	"query=rate(gpushare_cgroup_gpu_seconds_total{cgroup=\"$1\"}[20s])" | jq -r '.data.result[0].value[1]'; }
awk -v a="$(share one)" -v b="$(share two)" 'BEGIN { exit !(a + b > 0.5 && a + b < 1.1 && b > a) }' ||
	wrong "one has $(share one), two $(share two)"
result "and they are the shares"
finish
