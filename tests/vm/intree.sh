#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# The kselftests build in a kernel's tree, as they say: in a copy of what that
# takes of the debug kernel's sources.
set -u
here=$(dirname "$(readlink -f "$0")")
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

echo "TAP version 13"
echo "1..1"
src=$("$here/kernel" debug 2>"$work/log")/src
if [ ! -e "$src/tools/testing/selftests/lib.mk" ]; then
	echo "ok 1 - the kselftests build in a kernel's tree # SKIP no kernel sources: $(tail -n 1 "$work/log")"
	exit 4
fi
selftests=$work/tools/testing/selftests
mkdir -p "$work/usr/include/linux" "$work/tools" "$selftests/gpushare"
cp -R "$src/scripts" "$work/"
cp -R "$src/tools/scripts" "$work/tools/"
cp "$src"/tools/testing/selftests/{lib.mk,kselftest.h,kselftest_harness.h} "$selftests/"
cp -R "$src/tools/testing/selftests/kselftest" "$selftests/"
cp "$top/include/uapi/linux/gpushare.h" "$work/usr/include/linux/"	# as headers_install does
cp -R "$top/tests/kselftest/." "$top/tests/harness.h" "$selftests/gpushare/"

failed=0
if make -s -C "$selftests/gpushare" >"$work/log" 2>&1 && [ -x "$selftests/gpushare/compat32" ]; then
	echo "ok 1 - the kselftests build in a kernel's tree"
else
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - the kselftests build in a kernel's tree"
	failed=1
fi
exit $failed
