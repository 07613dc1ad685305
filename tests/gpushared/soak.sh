#!/bin/bash
# SPDX-License-Identifier: MIT
# The daemon and the library with the address, undefined behaviour and thread sanitizers,
# hammered by all that is hostile here, in turn, with another seed each time.
# Time limit: 3600 s
# MINUTES: for each of the two builds, 5 by default. SANS: which builds.
set -u
cd "$(dirname "$0")/../.." || exit 1
minutes=${MINUTES:-5}
sans=(${SANS:-address,undefined thread})
programs="ulib/races ulib/library"
for p in hostile files faults bell groups rights users state arbiters; do
	programs="$programs gpushared/$p"
done
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# soak BUILD: until the time is over, or one fails; what it said is in $log
soak() {
	local o=$1 end=$((SECONDS + 60 * minutes)) seed=$RANDOM runs=0 p rc
	while :; do
		for p in $programs; do
			[ $SECONDS -lt $end ] || { echo "# $o: $runs runs, seeds up to $seed"; return 0; }
			seed=$((seed + 1)) runs=$((runs + 1))
			args=()
			[ "$p" = gpushared/hostile ] && args=("$seed")
			timeout 1500 "$o/tests/$p" "${args[@]}" >"$log" 2>&1
			rc=$?
			if { [ $rc != 0 ] && [ $rc != 4 ]; } ||
			   grep -qE 'Sanitizer|runtime error:' "$log"; then
				echo "# $o: $p, seed $seed, status $rc"
				return 1
			fi
		done
	done
}

echo "TAP version 13"
echo "1..${#sans[@]}"
n=0 bad=0
for san in "${sans[@]}"; do
	n=$((n + 1))
	o=build/user-${san/,/-}
	# shellcheck disable=SC2086
	if ! make -s SAN="$san" O="$o" all $(printf "$o/tests/%s " $programs) >"$log" 2>&1 ||
	   ! soak "$o"; then
		sed 's/^/# /' "$log" | tail -60
		echo "not ok $n - $san"
		bad=1
	else
		echo "ok $n - $san"
	fi
done
exit $bad
