#!/bin/bash
# SPDX-License-Identifier: MIT
# Rewritten kernels are kept on disk as binaries: another process builds no text, and none
# that is damaged, or that the driver refuses, is used.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/opencl-layer/lib.sh
. tests/opencl-layer/lib.sh
stalls=$O/tests/opencl-layer/stalls
spy=$PWD/$O/tests/opencl-layer/spy.so
[ "${O#/}" = "$O" ] || spy=$O/tests/opencl-layer/spy.so
plan 9

# Two kernels, one of which must be rewritten; it stalls nowhere, as nobody asks it to.
GPUSHARE_ARBITER=none "$stalls" build </dev/null >"$dir/want" 2>&1
# texts N NAME [VARIABLE=VALUE...]: in a process of its own N texts of ours are built
texts() {
	rm -f "$dir/spied"
	env GPUSHARE_ARBITER=none GPUSHARE_CACHE="$dir/kept" GPUSHARE_OPENCL_MODE=slice \
		SPY_OUT="$dir/spied" OPENCL_LAYERS="$spy:$layer" "${@:3}" \
		timeout -k 5 300 "$stalls" build </dev/null 2>"$dir/err" | diff "$dir/want" - >"$dir/diff" &&
		[ "$(grep -c '^rewritten' "$dir/spied")" = "$1" ]
	verdict $? "$2" "$dir/diff"
}
entries() { find "$dir/kept" -type f 2>/dev/null; }

texts 1 "with the cache off, a text is built" GPUSHARE_CACHE=off
[ -z "$(entries)" ]
verdict $? "and nothing kept"
texts 1 "the first process builds a text"
[ -n "$(entries)" ]
verdict $? "and doesn't end before its binary is kept"
texts 0 "the next one doesn't"
texts 1 "one whose driver refuses the binary does" SPY_BINARY=1
texts 0 "it is there as before"
for file in $(entries); do
	printf 'damaged' | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
done
texts 1 "one that finds it damaged builds the text"
texts 0 "and replaces it"
finish
