#!/bin/sh
# SPDX-License-Identifier: MIT
# gsxform with PTX, fat binaries, and programs that hold some.
cd "$(dirname "$0")/../../.." || exit 1
tool=${O:-build/user}/gsxform
ptx=tests/corpus/ptx/sm_75/warp.ptx
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
echo 1..7
n=0 failed=0

# result NAME STATUS
result() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		sed 's/^/# /' "$dir/out"
		echo "not ok $n - $1"
		failed=1
	fi
}

refused=tests/corpus/ptx/sm_75/funcs.ptx
"$tool" "$refused" >"$dir/out" 2>&1 &&
	grep -q "^ *no workers (warp-after-exit): $refused:[0-9]*: " "$dir/out"
result "a refusal has its reason and line" $?

"$tool" -o "$dir/x.ptx" "$ptx" >"$dir/out" 2>&1 && grep -q 'entry warp_matrix__gsx_workers' "$dir/x.ptx" &&
	head -c "$(stat -c %s "$ptx")" "$dir/x.ptx" | cmp -s - "$ptx"
result "the text comes first as it was, then the variants" $?

"$tool" "$dir/x.ptx" >"$dir/out" 2>&1
[ $? = 1 ] && grep -q 'names with gsx_' "$dir/out"
result "what is transformed isn't transformed again" $?

cat /bin/sh tests/corpus/fatbin/default.fatbin >"$dir/program"
"$tool" -s "$dir/program" >"$dir/out" 2>&1 &&
	grep -q '^18 kernels: slice 18 (100.0 %)' "$dir/out"
result "a program's kernels are found" $?

"$tool" -o "$dir/x.fatbin" "$dir/program" >"$dir/out" 2>&1 &&
	[ "$(head -c 4 "$dir/x.fatbin" | od -An -tx1 | tr -d ' ')" = 50ed55ba ] &&
	grep -qa '__gsx_slice' "$dir/x.fatbin"
result "and go into a fat binary with their variants" $?

"$tool" tests/corpus/fatbin/cubin.fatbin >"$dir/out" 2>&1 &&
	grep -q 'machine code, whole launches only' "$dir/out"
result "what holds machine code alone is said to" $?

"$tool" /bin/sh >"$dir/out" 2>&1
[ $? = 1 ] && grep -q 'holds no fat binary' "$dir/out"
result "so is a program without fat binaries" $?
exit $failed
