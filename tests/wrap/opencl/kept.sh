#!/bin/bash
# SPDX-License-Identifier: MIT
# Rewritten kernels are kept on disk as binaries: another process builds no text, and none
# that is damaged, or that the driver refuses, is used. Nor has PoCL to compile one twice.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
stalls=$O/tests/wrap/opencl/stalls
spy=$PWD/$O/tests/wrap/opencl/spy.so
[ "${O#/}" = "$O" ] || spy=$O/tests/wrap/opencl/spy.so
plan 11

# Two kernels, one of which must be rewritten; it stalls nowhere, as nobody asks it to.
GPUSHARE_ARBITER=none "$stalls" build </dev/null >"$dir/want" 2>&1
# run [VARIABLE=VALUE...]: a process of its own, which computes what it should
run() {
	rm -f "$dir/spied"
	env GPUSHARE_ARBITER=none GPUSHARE_CACHE="$dir/kept" GPUSHARE_CUT=slice \
		SPY_OUT="$dir/spied" OPENCL_LAYERS="$spy:$layer" "$@" \
		timeout -k 5 300 "$stalls" build </dev/null 2>"$dir/err" | diff "$dir/want" - >"$dir/diff"
}
# texts N NAME [VARIABLE=VALUE...]: N texts of ours are built in it
texts() {
	run "${@:3}" && [ "$(grep -c '^rewritten' "$dir/spied")" = "$1" ]
	verdict $? "$2" "$dir/diff"
}
# kept COMMAND...: until it is true. A process's end waits ten seconds for what it keeps, which
# is too short on a busy machine; then the next one has to keep it.
kept() {
	local until=$((SECONDS + 300))
	until "$@"; do
		[ $SECONDS -lt $until ] || return 1
		run
	done
}
entries() { find "$dir/kept" -type f 2>/dev/null; }
there_is_one() { [ -n "$(entries)" ]; }
they_are_whole() { there_is_one && ! grep -rq damaged "$dir/kept"; }

texts 1 "with the cache off, a text is built" GPUSHARE_CACHE=off
[ -z "$(entries)" ]
verdict $? "and nothing kept"
texts 1 "the first process builds a text" SPY_OFFSETS=1
# PoCL would compile its kernels once more for a launch without an offset.
! grep -q '^unshifted' "$dir/spied"
verdict $? "all pieces of its launches have an offset" "$dir/spied"
kept there_is_one
verdict $? "and its binary is kept" "$dir/diff"
texts 0 "the next one doesn't"
texts 1 "one whose driver refuses the binary does" SPY_BINARY=1
texts 0 "it is there as before"
for file in $(entries); do
	printf 'damaged' | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
done
texts 1 "one that finds it damaged builds the text"
kept they_are_whole
texts 0 "and replaces it"

# One that requires the size of its groups, asked for while it runs, is the end of PoCL 3.1, if
# it comes at the right moment: one time in two.
GPUSHARE_ARBITER=none "$stalls" required >"$dir/want" 2>&1
for i in $(seq 8); do
	POCL_CACHE_DIR=$dir/pocl.$i GPUSHARE_ARBITER=none GPUSHARE_CACHE=$dir/kept.$i \
		GPUSHARE_CUT=slice OPENCL_LAYERS=$layer timeout -k 5 300 "$stalls" required \
		2>"$dir/err" | diff "$dir/want" - >"$dir/diff" || break
done
[ ! -s "$dir/diff" ]
verdict $? "launches of a kernel that requires the size of its groups go on" "$dir/err"
finish
