#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that have done their work end well under the layer, which may be in the driver's
# compiler at that moment: many at a time, so that its threads are kept from their processors,
# each with a cache that has the program's own form only, so that what is compiled first is the
# layer's. With FULL=1 200 of them, 30 at a time.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
plan 2
export many=${FULL:+200} at_once=${FULL:+30} program=$O/tests/wrap/opencl/ends dir layer
many=${many:-20}
# A core dump of each would fill the disk, and says no more than one.
ulimit -S -c 0

# once KEY [VARIABLE=VALUE...]: says how it ended
once() {
	local key=$1 own=$dir/$1
	shift
	cp -r "$dir/warm" "$own"
	env POCL_CACHE_DIR="$own" XDG_CACHE_HOME="$own/layer" GPUSHARE_ARBITER=none "$@" \
		timeout --foreground 300 "$program" $((key % 20 * 2)) >"$own.out" 2>&1
	echo "$key $?"
	rm -rf "$own"
}
export -f once

mkdir "$dir/warm"
env POCL_CACHE_DIR="$dir/warm" "$program"
verdict $? "alone the program ends well"
seq "$many" | xargs -P "${at_once:-10}" -I{} bash -c \
	'once {} OPENCL_LAYERS="$layer" GPUSHARE_CUT=slice' >"$dir/ends"
awk -v many="$many" '$2 { bad++; print "# the end of " $1 ": " $2 }
	END { exit bad || NR != many }' "$dir/ends"
verdict $? "$many that end while the layer may compile end well"
finish
