# SPDX-License-Identifier: MIT
# What `metrics --clients` lacks of `status --json`, or says otherwise, a line each. A member
# that has no place here is one that somebody forgot.
#	jq -nr --slurpfile status FILE --rawfile metrics FILE -f metrics.jq
def counters: { usage_usec: ["gpu_seconds_total", 1e6], wait_usec: ["wait_seconds_total", 1e6],
	idle_usec: ["idle_seconds_total", 1e6], throttled_usec: ["throttled_seconds_total", 1e6],
	grants: ["grants_total", 1], handoffs: ["handoffs_total", 1], preempts: ["preemptions_total", 1],
	late: ["late_yields_total", 1], overruns: ["overruns_total", 1], periods: ["periods_total", 1],
	throttled: ["throttled_periods_total", 1], memory_current: ["memory_bytes", 1],
	memory_peak: ["memory_peak_bytes", 1], memory_swapped: ["memory_swapped_bytes", 1],
	memory_denied: ["memory_denied_total", 1], memory_waits: ["memory_waits_total", 1],
	memory_waited_usec: ["memory_wait_seconds_total", 1e6], memory_wanted: ["memory_wanted_bytes", 1],
	memory_waiters: ["memory_waiters", 1], memory_crossed: ["memory_crossed_total", 1] };
def share: { weight: ["weight", 1], max_usec: ["max_seconds", 1e6], period_usec: ["period_seconds", 1e6],
	burst_usec: ["burst_seconds", 1e6], min: ["min_ratio", 1], memory_max: ["memory_max_bytes", 1],
	memory_high: ["memory_high_bytes", 1], memory_min: ["memory_min_bytes", 1],
	memory_wait_usec: ["memory_wait_limit_seconds", 1e6],
	entitled: ["entitled_ratio", 1], clients: ["clients", 1] };
def device: { seats: ["seats", 1], slice_usec: ["slice_seconds", 1e6], linger_usec: ["linger_seconds", 1e6],
	grace_usec: ["grace_seconds", 1e6], kill_usec: ["kill_seconds", 1e6], epoch_usec: ["epoch_seconds", 1e6],
	latency_usec: ["latency_seconds", 1e6], units: ["units", 1], unit_threads: ["unit_threads", 1],
	unit_registers: ["unit_registers", 1], unit_local_bytes: ["unit_local_bytes", 1],
	bandwidth_mbps: ["bandwidth_bytes_per_second", 1e-6], memory_bytes: ["memory_capacity_bytes", 1],
	oversubscribe: ["oversubscribe", 1], clients: ["clients", 1], waiters: ["waiters", 1],
	memory_wait_usec: ["memory_wait_limit_seconds", 1e6], holders: ["holders", 1] };
def client: { progress: ["progress", 1], busy_usec: ["busy_seconds", 1e6], unscheduled: ["unscheduled", 1],
	workers: ["workers", 1], since_usec: ["state_seconds", 1e6] };

# One object of @status, as series NAME_figure{LABELS}: all members but @texts and "pressure".
def figures($name; $labels; $map; $texts):
	(to_entries[] | select(.key != "pressure" and (.key | IN($texts[]) | not)) |
		if $map[.key] then { series: "gpushare_\($name)_\($map[.key][0]){\($labels)}",
			value: (if .value == null then "+Inf" else .value / $map[.key][1] end) }
		else { lost: "\($name): \(.key) is nowhere" } end),
	(.pressure // {} | to_entries[] | .key as $kind | .value |
		{ series: "gpushare_\($name)_pressure_\($kind)_seconds_total{\($labels)}", value: (.total_usec / 1e6) },
		(["avg10", "10s"], ["avg60", "60s"], ["avg300", "300s"] | . as $w |
			{ series: "gpushare_\($name)_pressure_\($kind)_ratio{\($labels),window=\"\($w[1])\"}",
			  value: 0, about: true }),
		(keys[] | select(IN("avg10", "avg60", "avg300", "total_usec") | not) | { lost: "pressure: \(.)" })) ;
def info($series; $pairs): { info: $series, has: $pairs };

def wanted: $status[0] |
	(keys[] | select(IN("schema", "mode", "time_usec", "arbiter", "turned_away", "unkept_errno", "devices", "groups",
		"clients") | not) | { lost: "status: \(.) is nowhere" }),
	{ series: "gpushare_callers_turned_away_total", value: .turned_away },
	{ series: "gpushare_settings_unkept", value: (if .unkept_errno == 0 then 0 else 1 end) },
	(.devices[] | "gpu=\"\(.device)\"" as $l |
		figures("device"; $l; counters + device; ["device", "key", "kind", "policy", "quota", "workers",
			"memory_full"]),
		info("gpushare_device_info{\($l)"; { key, kind, policy, quota, workers, memory_full })),
	(.groups[] | . as $g | ($g | keys[] | select(IN("path", "id", "parent", "kind", "tenant", "all_devices",
		"devices") | not) | { lost: "group: \(.) is nowhere" }),
		($g.devices[] | "gpu=\"\(.device)\",cgroup=\"\($g.path)\"" as $l |
			figures("cgroup"; $l; counters + share; ["device", "key", "set", "class", "memory_full"]),
			info("gpushare_cgroup_info{\($l)"; { class, memory_full } + ($g | { id, parent, kind, tenant }) +
				{ set: ($g.all_devices.set + .set | unique | sort | join(",")) }))),
	(.clients[] | . as $c | "gpu=\"\(.device)\",client=\"\(.client)\"" as $l |
		figures("client"; $l; counters + client; ["client", "device", "group", "pid", "uid", "comm", "state"]),
		info("gpushare_client_info{\($l)"; { pid, uid, comm, state } +
			{ cgroup: [$status[0].groups[] | select(.id == $c.group) | .path] }));

($metrics | [split("\n")[] | select(test("^[a-z]")) | capture("^(?<key>.*) (?<value>[^ ]*)$")] | from_entries) as $has |
wanted | . as $w | if .lost then .lost
	elif .info then
		([$has | keys[] | select(startswith($w.info))][0] // "") as $line |
		if $line == "" then "\($w.info) isn't there" else
			($w.has | to_entries[] | . as $e |
				(if $e.key == "set" then ($line | capture("set=\"(?<s>[^\"]*)\"").s | split(",") | sort | join(","))
				else null end) as $set |
				if $set != null then (if $set == $e.value then empty else "\($line): set isn't \($e.value)" end)
				elif $line | contains("\($e.key)=\"\($e.value)\"") then empty
				elif $e.value | type == "array" then
					(if any($e.value[]; . as $v | $line | contains("\($e.key)=\"\($v)\"")) then empty
					else "\($line): \($e.key) isn't of \($e.value)" end)
				# jq has numbers of 53 bits.
				elif ($e.value | type) == "number" and $e.value > 9e15 and
					($line | contains("\($e.key)=\"\($e.value | tostring | .[:14])")) then empty
				else "\($line): \($e.key) isn't \($e.value)" end) end
	elif $has[.series] == null then "\(.series) isn't there"
	elif .about then ($has[.series] | tonumber | if . >= 0 and . <= 1 then empty else "\($w.series) is \(.)" end)
	elif .value == "+Inf" then (if $has[.series] == "+Inf" then empty else "\(.series) is \($has[.series])" end)
	elif .series | test("state_seconds") then empty
	elif ($has[.series] | tonumber) - .value | fabs > 2e-6 then "\(.series) is \($has[.series]), not \(.value)"
	else empty end
