#!/bin/sh
# SPDX-License-Identifier: MIT
# The library under valgrind: no bad access, nothing lost. Valgrind can't run the daemon, a
# process of which shares its table of open files; the address sanitizer looks at that.
tests="a_slice waiting_ends_in_time a_forked_child memory describe nothing_is_left"
echo "TAP version 13"
if ! command -v valgrind >/dev/null; then
	echo "1..0 # SKIP valgrind isn't here"
	exit 4
fi
if nm "${O:-build/user}/lib/libgpushare.a" 2>/dev/null | grep -q '__[at]san_'; then
	echo "1..0 # SKIP built with a sanitizer"
	exit 4
fi
echo "1..$(echo $tests | wc -w)"
n=0 bad=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for t in $tests; do
	n=$((n + 1))
	if timeout 120 valgrind -q --leak-check=full --error-exitcode=9 \
		--errors-for-leak-kinds=definite,possible \
		"${O:-build/user}/tests/ulib/library" -d "$t" >"$log" 2>&1 &&
		! grep -q '^==' "$log"; then
		echo "ok $n - $t"
	else
		sed 's/^/# /' "$log"
		echo "not ok $n - $t"
		bad=1
	fi
done
exit $bad
