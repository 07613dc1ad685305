#!/bin/sh
# SPDX-License-Identifier: MIT
# The other compiler builds everything without a warning (they are errors), and
# `make install` puts below DESTDIR and PREFIX what it says, and nothing else;
# `make uninstall` takes that away, and nothing else.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS O SAN CC
echo 1..4
failed=0

if ! command -v clang >/dev/null; then
	echo "ok 1 - clang builds everything # SKIP no clang here"
elif make -j2 SETUP=no CC=clang O="$tmp/clang" all >"$tmp/log" 2>&1; then
	echo "ok 1 - clang builds everything"
else
	sed 's/^/# /' "$tmp/log" | tail -n 30
	echo "not ok 1 - clang builds everything"; failed=1
fi

if make SETUP=no DESTDIR="$tmp/root" PREFIX=/opt/gs install >"$tmp/log" 2>&1; then
	echo "ok 2 - make install"
else
	sed 's/^/# /' "$tmp/log" | tail -n 30
	echo "not ok 2 - make install"; failed=1
fi
strange=$(cd "$tmp/root" && find . ! -type d ! -path './opt/gs/*' ! -path './lib/*' \
	! -path './usr/lib/*' ! -path './etc/*')
lacking=$(for f in bin/gpusharectl sbin/gpushared include/gpushare.h lib/libgpushare.so \
	lib/libgpushare.a share/man/man1/gpusharectl.1; do
	[ -e "$tmp/root/opt/gs/$f" ] || echo "$f"
done)
if [ -z "$strange$lacking" ]; then
	echo "ok 3 - what is installed is in its place"
else
	echo "# strange: $strange"
	echo "# lacking: $lacking"
	echo "not ok 3 - what is installed is in its place"; failed=1
fi

echo mine >"$tmp/root/opt/gs/lib/gpushare/mine"
make SETUP=no DESTDIR="$tmp/root" PREFIX=/opt/gs uninstall >"$tmp/log" 2>&1
rc=$?
left=$(cd "$tmp/root" && find . ! -type d; find . -type d -name '*gpushare*')
if [ $rc = 0 ] && [ "$(echo $left)" = "./opt/gs/lib/gpushare/mine ./opt/gs/lib/gpushare" ]; then
	echo "ok 4 - make uninstall"
else
	tail -n 5 "$tmp/log" | sed 's/^/# /'
	echo "# left: $left"
	echo "not ok 4 - make uninstall"; failed=1
fi
exit $failed
