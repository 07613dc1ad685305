#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1200 s
# The layer as `make install` leaves it, set for a whole system by a link to its .lay file:
# programs have it that ask for none. Debian 12's loader reads no such files, so this runs
# over Debian's next release. There the folder is named by a variable: /etc/OpenCL/layers
# is every other test's as well.
cd "$(dirname "$0")/../../.." || exit 1
O=${O:-build/user}
tests/xform/opencl/newer-pocl -t || exit
# What is written here must be seen in there.
export TMPDIR=$PWD/$O/tests/wrap/opencl
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh

make -s install SETUP=no O="$O" PREFIX="$dir/usr" DESTDIR= >"$dir/install" 2>&1 || {
	sed 's/^/# /' "$dir/install"
	echo "Bail out! it can't be installed"
	exit 1
}
mkdir "$dir/layers" "$dir/none"
ln -s "$dir/usr/lib/gpushare/gpushare.lay" "$dir/layers/"

# run FILE LAYERS [VARIABLE=VALUE...]: what a program prints, and beside it what is said
run() {
	tests/xform/opencl/newer-pocl env -u OPENCL_LAYERS OPENCL_LAYER_PATH="$2" GPUSHARE_ARBITER=none \
		GPUSHARE_CACHE=off GPUSHARE_VERBOSE=1 GPUSHARE_CUT=slice "${@:3}" \
		timeout -k 5 300 "$O/tests/wrap/opencl/api" user_event_in_order barriers_and_local_memory >"$1" 2>"$1.err"
}
plan 5
run "$dir/off" "$dir/none" && [ "$(tail -n 1 "$dir/off")" = "== end" ]
verdict $? "a program without the layer" "$dir/off.err"
! grep -q gpushare "$dir/off.err"
verdict $? "there is none" "$dir/off.err"
run "$dir/on" "$dir/layers" && diff "$dir/off" "$dir/on" >"$dir/diff"
verdict $? "the same with it" "$dir/diff"
grep -q '^gpushare: kernel [a-z]*: slices' "$dir/on.err"
verdict $? "whose kernels it cuts" "$dir/on.err"
run "$dir/twice" "$dir/layers" OPENCL_LAYERS="$dir/usr/lib/gpushare/libgpushare-opencl.so" &&
	diff "$dir/off" "$dir/twice" >"$dir/diff"
verdict $? "and with the variable as well" "$dir/diff"
finish
