#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 21600 s
# README's two commands, `make demo` and `make check`, in bare roots of Debian 12 and 13, as
# somebody has them who just cloned this. RELEASES and COMMANDS pick some of them.
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
read -ra commands <<<"${COMMANDS:-demo check}"
read -ra releases <<<"${RELEASES:-12 13}"
n=0 failed=0
echo "TAP version 13"
for release in "${releases[@]}"; do
	tests/root/root "$release" true >"$log" 2>&1
	there=$?
	for command in "${commands[@]}"; do
		n=$((n + 1))
		if [ $there = 4 ]; then
			echo "ok $n - Debian $release: make $command # SKIP $(tail -n 1 "$log")"
		elif tests/root/root "$release" make "$command" >"$log" 2>&1; then
			echo "ok $n - Debian $release: make $command"
		else
			grep -E '^(FAIL|    not ok|[0-9]+ passed)' "$log" | sed 's/^/# /'
			tail -n 40 "$log" | sed 's/^/# /'
			echo "not ok $n - Debian $release: make $command"
			failed=1
		fi
	done
done
echo "1..$n"
exit $failed
