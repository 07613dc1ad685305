#!/bin/sh
# SPDX-License-Identifier: MIT
# What the checkers of `make lint` say: nothing. checkpatch.pl is here only where a debug
# kernel was built, the others are Debian packages.
cd "$(dirname "$0")/../.." || exit 1
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
echo 1..4
n=0 failed=0
for checker in checkpatch shellcheck sparse mandoc; do
	n=$((n + 1))
	tests/lint $checker >"$out" 2>&1
	case $? in
	0)	echo "ok $n - $checker" ;;
	4)	echo "ok $n - $checker # SKIP $(head -n 1 "$out")" ;;
	*)	head -n 60 "$out" | sed 's/^/# /'
		echo "not ok $n - $checker"
		failed=1 ;;
	esac
done
exit $failed
