#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of the runtime's interface, made by nvcc, over the runtime double: they
# print the same over the wrapper as over the bare driver, in all ways to pack PTX.
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build/user}")
cuda=$(tests/cuda/toolkit) || { echo "1..0 # SKIP $cuda"; exit 4; }
export PATH=$cuda/bin:$PATH
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export GPUSHARE_ARBITER=none GPUSHARE_CACHE=off GPUSHARE_REAL_LIBCUDA=$O/tests/cpucuda/libcuda.so.1
echo 1..6
n=0 bad=0
for how in "" "-compress-mode=size" "-G"; do
	# shellcheck disable=SC2086
	nvcc -arch=compute_75 -cudart shared $how -o "$work/prog" tests/cpucuda/toolkit-program.cu \
		2>&1 | sed 's/^/# /'
	LD_LIBRARY_PATH=$O/tests/cpucuda timeout 60 "$work/prog" >"$work/bare" 2>&1
	for cut in auto random:5; do
		LD_LIBRARY_PATH=$O/cuda:$O/tests/cpucuda GPUSHARE_CUDA_CUT=$cut timeout 60 "$work/prog" \
			>"$work/out" 2>"$work/err"
		n=$((n + 1))
		if [ -s "$work/bare" ] && diff "$work/bare" "$work/out" >"$work/diff" &&
			grep -q UNGATED "$work/err"; then
			echo "ok $n - nvcc $how, cut: $cut"
		else
			sed 's/^/# /' "$work/diff" "$work/err" | head -n 20
			echo "not ok $n - nvcc $how, cut: $cut"
			bad=1
		fi
	done
done
exit $bad
