#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 3600 s
# A program that knows nothing of the layer prints what it saw of OpenCL: the same
# without it, with it, and with it in each forced mode, with random cuts.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh

# Each time another seed in make check-full; what refuses a change is the same each time.
seed=${GS_SEED:-${FULL:+$((RANDOM * 32768 + RANDOM))}}
seed=${seed:-20261122}
echo "# seed $seed"
modes="none:auto none:whole none:slice none:workers daemon:auto daemon:off daemon:slice"
# PoCL 3.1 may hang in workers that are never stopped (see workers.c).
[ -z "${FULL:-}" ] || modes="$modes daemon:workers"
mapfile -t scenarios < <("$O/tests/wrap/opencl/api" -l)
# shellcheck disable=SC2086
set -- $modes
plan $(($# * (${#scenarios[@]} + 1) + 2))

# PoCL 3.1 alone crashes now and then, in a refused build: that says nothing of the layer.
for _ in 1 2 3; do
	timeout "${LIMIT:-600}" "$O/tests/wrap/opencl/api" >"$dir/off" 2>&1
	rc=$?
	[ $rc = 0 ] && break
done
verdict $rc "without the layer"
[ "$(tail -n 1 "$dir/off")" = "== end" ]
verdict $? "it comes to its end"
section() { awk -v s="== $2" '/^== / { on = $0 == s } on' "$1"; }
start_daemon
for mode; do
	out=$dir/${mode/:/-}
	arbiter=none
	[ "${mode%:*}" = none ] || arbiter=$socket
	cut=${mode#*:}
	# With a daemon, workers look at the grant's own word.
	case $mode in *slice|none:workers) cut=$cut,random=$seed ;; esac
	# A hang of PoCL's own in workers (see workers.c) is seldom: once more, then.
	for _ in 1 2 3; do
		GPUSHARE_ARBITER=$arbiter GPUSHARE_CUT=$cut OPENCL_LAYERS=$layer \
			timeout "${LIMIT:-600}" "$O/tests/wrap/opencl/api" >"$out" 2>"$out.err"
		rc=$?
		[ $rc = 124 ] && [ "${mode#*:}" = workers ] || break
		echo "# $mode: no end, in $(grep '^== ' "$out" | tail -n 1)"
	done
	verdict $rc "$mode: ends well" "$out.err"
	for s in "${scenarios[@]}"; do
		section "$dir/off" "$s" >"$dir/want"
		section "$out" "$s" | diff "$dir/want" - >"$dir/diff"
		verdict $? "$mode: $s" "$dir/diff"
	done
done
finish
