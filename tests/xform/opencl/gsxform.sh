#!/bin/sh
# SPDX-License-Identifier: MIT
# gsxform with OpenCL C: build options, includes, the report, the text that it writes.
cd "$(dirname "$0")/../../.." || exit 1
tool=${O:-build/user}/gsxform
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
echo 1..8
n=0

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

mkdir "$dir/inc" "$dir/a b"
echo 'int low(int d) { return get_group_id(d) + K; }' >"$dir/inc/low.h"
echo '#define TWICE(x) (2 * (x))' >"$dir/beside.h"
cat >"$dir/x.cl" <<'END'
#include <low.h>
#include "beside.h"
#ifdef cl_khr_fp64
__kernel void d(__global double *x) { x[get_global_id(0)] = TWICE(get_local_id(0)); }
#endif
__kernel void f(__global int *o, __global const int *i) { o[0] = i[0] + low(0); }
__kernel void w(volatile __global int *o)
{
	while (!*o)
		;
}
END

"$tool" -D K=1 -I "$dir/inc" -p "$dir/x.cl" >"$dir/out" 2>&1
result "takes build options, -I and files beside the program" $?
grep -q '^      slice (as it is, by a global offset), workers; ' "$dir/out"
result "says that an offset serves" $?
grep -q 'no slice workers (wait-loop), line 9: ' "$dir/out"
result "names the reason and the program's own line" $?
grep -q '^      i  *buffer, read$' "$dir/out" && grep -q '^      o  *buffer, written$' "$dir/out"
result "shows which buffers are read and written" $?

"$tool" -DK=1 -I"$dir/inc" '-M!cl_khr_fp64' "$dir/x.cl" >"$dir/out" 2>&1
grep -q '2 kernels' "$dir/out"
result "-M says what the device defines" $?

"$tool" -DK=1 -I"$dir/inc" -m slice -o "$dir/slice.cl" "$dir/x.cl" >"$dir/out" 2>&1 &&
	grep -q 'gsx_get_group_id(gsx_s, d) + 1' "$dir/slice.cl" &&
	! grep -q 'void d(' "$dir/slice.cl"
result "-m slice -o writes the shadow program" $?

"$tool" -DK=1 -I"$dir/inc" -s "$dir/x.cl" >"$dir/out" 2>&1
grep -q '^3 kernels: slice 2 (66.7 %), .*workers 2 (66.7 %)$' "$dir/out" &&
	grep -q '1 wait-loop' "$dir/out"
result "-s adds up" $?

! "$tool" -DK=1 "$dir/x.cl" >"$dir/out" 2>&1 && grep -q 'x.cl:1: .*low.h' "$dir/out"
result "a header that isn't there is named, with status 1" $?
exit ${failed:-0}
