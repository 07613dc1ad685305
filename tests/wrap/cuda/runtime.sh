#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of the runtime's interface, made by nvcc, over the runtime double: they
# print the same over the wrapper as over the bare driver, in all ways to pack PTX.
# NVIDIA's own runtime, as nvcc links it unless told otherwise, takes NVIDIA's driver alone
# (Documentation/cpucuda.md says where it ends); as far as it comes it asks for the same,
# by the same versions and flags, and ends the same.
cd "$(dirname "$0")/../../.." || exit 1
O=$(realpath "${O:-build/user}")
cuda=$(tests/corpus/toolkit) || { echo "1..0 # SKIP $cuda"; exit 4; }
export PATH=$cuda/bin:$PATH
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export GPUSHARE_ARBITER=none GPUSHARE_CACHE=off GPUSHARE_REAL_LIBCUDA=$O/cpucuda/libcuda.so.1
echo 1..11
n=0 bad=0
for made in "toolkit" "toolkit -compress-mode=size" "toolkit -G" "runtime" \
		"runtime -default-stream per-thread"; do
	how=${made#* }
	[ "$how" != "$made" ] || how=
	# shellcheck disable=SC2086
	nvcc -arch=compute_75 -cudart shared $how -o "$work/prog" "tests/cpucuda/${made%% *}-program.cu" \
		2>&1 | sed 's/^/# /'
	LD_LIBRARY_PATH=$O/cpucuda timeout 60 "$work/prog" >"$work/bare" 2>&1
	for cut in auto random=5; do
		LD_LIBRARY_PATH=$O/cuda:$O/cpucuda GPUSHARE_CUT=$cut timeout 60 "$work/prog" \
			>"$work/out" 2>"$work/err"
		n=$((n + 1))
		if [ -s "$work/bare" ] && diff "$work/bare" "$work/out" >"$work/diff" &&
			grep -q UNGATED "$work/err"; then
			echo "ok $n - nvcc $made, cut: $cut"
		else
			sed 's/^/# /' "$work/diff" "$work/err" | head -n 20
			echo "not ok $n - nvcc $made, cut: $cut"
			bad=1
		fi
	done
done

nvcc -arch=compute_75 -cudart static -o "$work/prog" tests/cpucuda/toolkit-program.cu 2>&1 | sed 's/^/# /'
CPUCUDA_ASKED=$work/asked LD_LIBRARY_PATH=$O/cpucuda timeout 60 "$work/prog" >"$work/bare" 2>&1
echo "ends with $?" >>"$work/bare"
CPUCUDA_ASKED=$work/asked-of-us LD_LIBRARY_PATH=$O/cuda timeout 60 "$work/prog" >"$work/out" 2>"$work/err"
echo "ends with $?" >>"$work/out"
n=$((n + 1))
if [ "$(wc -l <"$work/asked")" -gt 400 ] && [ "$(tail -n 1 "$work/asked")" = \
	"table 6bd5fb6c5bf4e74a8987d93912fd9df9" ] && diff "$work/asked" "$work/asked-of-us" >"$work/diff" &&
	diff "$work/bare" "$work/out" >>"$work/diff"; then
	echo "ok $n - nvcc -cudart static, as far as it comes"
else
	sed 's/^/# /' "$work/diff" "$work/err" | head -n 20
	echo "not ok $n - nvcc -cudart static, as far as it comes"
	bad=1
fi
exit $bad
