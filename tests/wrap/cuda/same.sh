#!/bin/bash
# SPDX-License-Identifier: MIT
# The corpus over the bare driver and over the wrapper: it prints the same, to the
# bit, whatever is done to its launches. With FULL=1, many more seeds.
cd "$(dirname "$0")/../../.." || exit 1
O=$(realpath "${O:-build/user}")
program=$O/tests/wrap/cuda/replay
driver=$O/cpucuda
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export GPUSHARE_ARBITER=none GPUSHARE_CACHE=$work/cache GPUSHARE_REAL_LIBCUDA=$driver/libcuda.so.1
mkdir -m 700 "$work/cache"
n=0 bad=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
launches() { sed -n 's/^launches //p' "$1"; }
seeds=${FULL:+$(seq 4 40)}
seeds="1 2 3 $seeds"
# shellcheck disable=SC2086
echo "1..$((9 + $(echo $seeds | wc -w)))"

LD_LIBRARY_PATH=$driver "$program" >"$work/bare" 2>"$work/bare.err"
[ $? = 0 ] && [ "$(wc -l <"$work/bare")" -gt 400 ]
ok $? "over the bare driver"
bare=$(launches "$work/bare.err")

try() {	# NAME SETTING
	GPUSHARE_CUT=$2 "$program" >"$work/out" 2>"$work/err"
	local rc=$?
	diff "$work/bare" "$work/out" | head -n 10 | sed 's/^/# /'
	grep -v '^launches\|UNGATED' "$work/err" | head -n 10 | sed 's/^/# /'
	echo "# $(launches "$work/err") launches, $bare bare"
	[ $rc = 0 ] && cmp -s "$work/bare" "$work/out"
	ok $? "the same: $1"
}
try "nothing is cut" off
[ "$(launches "$work/err")" = "$bare" ]
ok $? "then there are as many launches"
try "cut where it is long" auto
try "all in slices" slice
[ "$(launches "$work/err")" -gt $((bare * 3 / 2)) ]
ok $? "then there are more launches"
kept=$(find "$work/cache" -type f | wc -l)
[ "$kept" -gt 10 ]
ok $? "what was transformed is kept ($kept modules)"
try "all guarded" guard
try "all by workers" workers
for seed in $seeds; do
	try "cuts and stops at random, seed $seed" "random=$seed"
done
exit $bad
