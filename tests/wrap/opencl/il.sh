#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# Programs that come as SPIR-V, by the core's function and the extension's: cut, they compute
# what they do whole, with the constants of the build that a kernel is of. Where the driver
# takes none, a layer beneath ours stands in for one that does (il.c). By what GS_OVER
# names the program is run over another system's driver.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
api=$O/tests/wrap/opencl/api
il=$PWD/$O/tests/wrap/opencl/il.so
[ "${O#/}" = "$O" ] || il=$O/tests/wrap/opencl/il.so

# run FILE [VARIABLE=VALUE...]: what the program prints comes into FILE; what else is said, beside
run() {
	rm -f "$dir/made"
	# shellcheck disable=SC2086
	${GS_OVER:-} env GPUSHARE_ARBITER=none GPUSHARE_CACHE=off GPUSHARE_VERBOSE=1 \
		IL_OUT="$dir/made" "${@:2}" timeout -k 5 300 "$api" programs_from_modules \
		>"$1" 2>"$1.err"
}
# same NAME [VARIABLE=VALUE...]: with the layer, it prints what it does without
same() {
	run "$dir/on" OPENCL_LAYERS="${double:+$double:}$layer" "${@:2}" &&
		diff "$dir/off" "$dir/on" >"$dir/diff"
	verdict $? "$1" "$dir/diff"
}
# whole: the reasons why kernels went whole in the last run
whole() { sed -n 's/^gpushare: kernel [a-z]*: whole (\(.*\))$/\1/p' "$dir/on.err" | sort -u; }
# reasons NAME REASON...: these, and no others, and something was cut unless none of it can be
reasons() {
	printf '%s\n' "${@:2}" | sort -u | diff - <(whole) >"$dir/diff"
	verdict $? "$1" "$dir/on.err"
}
made() { grep -cx "$1" "$dir/made"; }

run "$dir/off"
double=
! grep -q '^none:' "$dir/off" || double=$il
ways="slice"
# PoCL 3.1 may hang in workers (see workers.c).
[ -n "$double" ] && [ -z "${FULL:-}" ] || ways="slice workers"
# shellcheck disable=SC2086
set -- $ways
plan $((3 + 5 * $# + ${double:+7} + 0))

run "$dir/off" OPENCL_LAYERS="$double" && [ "$(tail -n 1 "$dir/off")" = "== end" ]
verdict $? "without the layer" "$dir/off"
same "with it" GPUSHARE_CUT=whole
! grep -q 'slices\|workers' "$dir/on.err"
verdict $? "nothing is cut that isn't to be" "$dir/on.err"
linked=("linked of several, one of intermediate language")
! grep -qx 'with options: 0' "$dir/off" || linked+=("linked with options")
for way; do
	same "$way" GPUSHARE_CUT="$way"
	reasons "$way: what isn't cut" "made from a binary" "${linked[@]}"
	for kernel in k groups plain; do grep "^gpushare: kernel $kernel: $way" "$dir/on.err"; done >"$dir/out"
	[ "$(sort -u "$dir/out" | wc -l)" = 3 ]
	verdict $? "$way: all kernels" "$dir/on.err"
	same "$way, at random places, by the cache" GPUSHARE_CUT="$way,random=7" \
		GPUSHARE_CACHE="$dir/kept"
	reasons "$way: a binary that it was there to see saved" "${linked[@]}"
done
[ -n "$double" ] || finish

# Five builds of the module and the one that is linked of it, but for the binary's.
same "slices, of the driver's double" GPUSHARE_CUT=slice
[ "$(made slice) $(made workers)" = "5 0" ]
verdict $? "one rewritten program of each build, for all of its kernels" "$dir/made"
# A process's end waits ten seconds for what it keeps; on a busy machine that may be too short.
for _ in 1 2 3 4 5; do
	run "$dir/on" OPENCL_LAYERS="$double:$layer" GPUSHARE_CUT=slice GPUSHARE_CACHE="$dir/kept"
	[ "$(made slice)" != 0 ] || break
done
[ "$(made slice)" = 0 ] && diff "$dir/off" "$dir/on" >"$dir/diff"
verdict $? "another process makes none: they are kept, each with its constants" "$dir/diff"
run "$dir/off" OPENCL_LAYERS="$double" IL_KHR=1
same "a driver that has the extension only" GPUSHARE_CUT=slice IL_KHR=1
reasons "is asked by it for what is rewritten, too" "made from a binary" "${linked[@]}"
same "a driver that refuses a constant in what is rewritten" GPUSHARE_CUT=slice IL_KHR=1 \
	IL_FIXED=1
reasons "builds none of it" "its rewritten form isn't built by the driver" "made from a binary" "${linked[@]}"
finish
