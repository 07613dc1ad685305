#!/bin/bash
# SPDX-License-Identifier: MIT
# gpusharectl run puts the wrapper before a program's libcuda, here and installed,
# and status --transforms says how its kernels were launched.
cd "$(dirname "$0")/../../.." || exit 1
O=$(realpath "${O:-build/user}")
work=$(mktemp -d) || exit 1
export GPUSHARE_ARBITER=$work/s GPUSHARE_CACHE=off
export GPUSHARE_REAL_LIBCUDA=$O/cpucuda/libcuda.so.1
"$O/gpushared/gpushared" --foreground --socket "$work/s" --state "$work/state" 2>"$work/log" &
daemon=$!
trap 'kill $daemon; wait $daemon; rm -rf "$work"' EXIT
n=0 bad=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
echo 1..10
for _ in $(seq 1200); do [ -S "$work/s" ] && break; sleep 0.05; done
name=cuda-$$
ctl=$O/bin/gpusharectl
"$ctl" device add pci:0000:00:00.0 >"$work/out" 2>&1 || sed 's/^/# /' "$work/out"
"$ctl" run --weight=100 --name="$name" --report -- "$O/tests/wrap/cuda/replay" atomic >"$work/out" 2>"$work/err"
ok $? "a program runs with the wrapper from the build"
grep -q "^$name on pci:0000:00:00.0: held" "$work/err"
rc=$?
[ $rc = 0 ] || sed 's/^/# /' "$work/err"
ok $rc "what it held was charged to its group"

make -s SETUP=no install-cuda install-gpusharectl DESTDIR="$work/root" PREFIX=/usr >/dev/null 2>&1
"$work/root/usr/bin/gpusharectl" run --weight=100 --name="$name" --report -- \
	"$O/tests/wrap/cuda/replay" atomic >"$work/out" 2>"$work/err" &&
	grep -q "^$name on pci:0000:00:00.0: held" "$work/err"
rc=$?
[ $rc = 0 ] || sed 's/^/# /' "$work/err"
ok $rc "and installed"

GPUSHARE_CUT=slice "$ctl" run -- sh -c "
	$O/tests/wrap/cuda/replay stay 2>&1 & pid=\$!
	for i in \$(seq 1200); do
		$ctl status --transforms >$work/out 2>&1
		grep -q slices $work/out && break
		sleep 0.05
	done
	for i in \$(seq 1200); do
		$ctl doctor >$work/past 2>&1
		grep -q 'calls put work past the gate' $work/past && break
		sleep 0.05
	done
	kill \$pid" >/dev/null 2>&1
grep -q slices "$work/out"
rc=$?
[ $rc = 0 ] || sed 's/^/# /' "$work/out"
ok $rc "status --transforms tells of slices"
grep -q '[1-9][0-9]* calls put work past the gate' "$work/past"
rc=$?
[ $rc = 0 ] || sed 's/^/# /' "$work/past"
ok $rc "doctor tells of copies, which aren't scheduled"

# doctor: what a program that is started here would get.
doctor() {	# NAME PATTERN SETTING...
	local name=$1 pattern=$2
	shift 2
	env "$@" doctor 2>&1 | grep -A 1 ' cuda ' >"$work/out"
	grep -qE "$pattern" "$work/out"
	local rc=$?
	[ $rc = 0 ] || sed 's/^/# /' "$work/out"
	ok $rc "doctor: $name"
}
doctor "the driver's version" 'ok +cuda +driver of CUDA 13.0, the wrapper knows all' "$ctl"
doctor "the wrapper isn't first" 'WARN +cuda .* past the wrapper' LD_LIBRARY_PATH="$O/cpucuda" "$ctl"
doctor "the wrapper is first in what run starts" 'ok +cuda .* get the wrapper' "$ctl" run -- "$ctl"
doctor "no driver" 'cuda +the wrapper finds no CUDA driver' GPUSHARE_REAL_LIBCUDA=/nowhere "$ctl"
mkdir "$work/new"
echo 'int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { return *v = 99010, 0; }' |
	gcc -w -shared -fPIC -x c -o "$work/new/libcuda.so.1" -
doctor "a driver newer than the wrapper" 'WARN +cuda +the driver is of CUDA 99.1, the wrapper knows' \
	GPUSHARE_REAL_LIBCUDA="$work/new/libcuda.so.1" "$ctl"
exit $bad
