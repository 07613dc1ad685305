#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that asks for everything in odd ways hears the same over the wrapper as
# over the bare driver, however the wrapper came before it.
cd "$(dirname "$0")/../../.." || exit 1
O=$(realpath "${O:-build/user}")
program=$O/tests/wrap/cuda/probe
driver=$O/cpucuda
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export GPUSHARE_ARBITER=none GPUSHARE_CACHE=off
n=0 bad=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
same() {	# NAME SETTING...
	local name=$1
	shift
	env "$@" "$program" >"$work/out" 2>"$work/err"
	local rc=$?
	diff "$work/bare" "$work/out" | head -n 10 | sed 's/^/# /'
	[ $rc = 0 ] && cmp -s "$work/bare" "$work/out" && grep -q UNGATED "$work/err"
	ok $? "$name"
}
sanitized() {
	nm -D "$O/cuda/libcuda.so.1" | grep -q ' __[at]san_\| __ubsan_'
}
echo 1..8
LD_LIBRARY_PATH=$driver "$program" >"$work/bare" 2>"$work/err"
[ $? = 0 ] && ! grep -q UNGATED "$work/err"
ok $? "over the bare driver"
same "the driver named by GPUSHARE_REAL_LIBCUDA" LD_LIBRARY_PATH="$O/cuda" \
	GPUSHARE_REAL_LIBCUDA="$driver/libcuda.so.1"
same "the driver found behind us in LD_LIBRARY_PATH" LD_LIBRARY_PATH="$O/cuda:$driver"
mkdir "$work/copy" && cp "$O/cuda/libcuda.so.1" "$work/copy/"
same "another copy of us isn't taken for the driver" \
	LD_LIBRARY_PATH="$O/cuda:$work/copy:$driver"
if sanitized; then
	n=$((n + 1)); echo "ok $n - preloaded # SKIP built with a sanitizer"
else
	same "preloaded" LD_PRELOAD="$O/cuda/libcuda.so.1" LD_LIBRARY_PATH="$driver"
fi
same "nothing is cut" LD_LIBRARY_PATH="$O/cuda:$driver" GPUSHARE_CUT=off
same "all is cut" LD_LIBRARY_PATH="$O/cuda:$driver" GPUSHARE_CUT=random=7

LD_LIBRARY_PATH=$O/cuda GPUSHARE_REAL_LIBCUDA=/nowhere "$program" >"$work/out" 2>"$work/err"
grep -q '^cuInit(0) 100$' "$work/out" && grep -q "there is no CUDA" "$work/err"
ok $? "without a driver there is no device, and it is said"
exit $bad
