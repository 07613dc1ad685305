#!/bin/sh
# SPDX-License-Identifier: MIT
# What a shared device does, by the bench's short form. Its targets are for machines that do
# nothing else; the bounds here are what no load excuses, or so wide that it isn't seen.
cd "$(dirname "$0")/../../.." || exit 1
out=$("${O:-build/user}/tests/wrap/cuda/device" short 2>/dev/null)
rc=$?
[ $rc != 4 ] || { echo "1..0 # SKIP ${out#\# }"; exit 4; }
printf '%s\n' "$out" | awk '
	BEGIN {
		most["total,tenants=1"] = most["total,tenants=2"] = 4
		most["total,tenants=4"] = most["total,tenants=8"] = 4
		most["wake-ups,0.2ms"] = most["wake-ups,1ms"] = 12
		most["front,cut"] = most["front,few-long-blocks"] = 250
		most["front,whole"] = 500
		most["front-overruns,whole"] = 2
		most["start-cpu"] = 4
		most["start-memory"] = 1024
		most["burst"] = 20000
		most["lost,clients=500"] = 20
	}
	/^#/ { print }
	/^bench device/ {
		name = $2; sub(/^device\//, "", name); sub(/,load=.*/, "", name)
		if (!(name in most)) next
		seen[name] = 1
		bad += $3 > most[name]
		print ($3 > most[name] ? "not ok " : "ok ") ++n " - " name ": " $3 " " $4 ", at most " most[name]
	}
	END {
		for (name in most)
			if (!(name in seen)) { bad++; print "not ok " ++n " - " name " wasn'"'"'t measured" }
		print "1.." n
		exit bad > 0
	}'
