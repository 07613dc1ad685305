#!/bin/bash
# SPDX-License-Identifier: MIT
# Work of all kinds in all kinds of streams leaves the same in memory over the wrapper,
# which cuts every kernel and has its parts come later, as over the bare driver. With
# FULL=1, many more seeds.
cd "$(dirname "$0")/../../.." || exit 1
O=$(realpath "${O:-build/user}")
program=$O/tests/wrap/cuda/order
driver=$O/cpucuda
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export GPUSHARE_ARBITER=none GPUSHARE_CACHE=off GPUSHARE_REAL_LIBCUDA=$driver/libcuda.so.1
most=8
[ -z "$FULL" ] || most=200
seeds=$(seq 1 $most)
echo "1..$(echo "$seeds" | wc -w)"
n=0 bad=0
for seed in $seeds; do
	LD_LIBRARY_PATH=$driver timeout 300 "$program" "$seed" >"$work/bare" 2>&1
	rc=$?
	for cut in slice guard workers "random=$seed"; do
		[ $rc = 0 ] || break
		GPUSHARE_CUT=$cut timeout 300 "$program" "$seed" >"$work/out" 2>"$work/err"
		rc=$?
		[ $rc = 0 ] || echo "# $cut: ends with $rc"
		cmp -s "$work/bare" "$work/out" || rc=1
		[ $rc = 0 ] || diff "$work/bare" "$work/out" | head -n 10 | sed "s/^/# $cut: /"
	done
	n=$((n + 1))
	if [ $rc = 0 ]; then
		echo "ok $n - seed $seed"
	else
		echo "not ok $n - seed $seed"
		bad=1
	fi
done
exit $bad
