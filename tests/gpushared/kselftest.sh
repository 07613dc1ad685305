#!/bin/bash
# SPDX-License-Identifier: MIT
# The contract's tests (tests/kselftest), over a private daemon.
# kselftest.sh [PROGRAM...]
cd "$(dirname "$0")/../.." || exit 1
O=$(readlink -f "${O:-build/user}")
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	echo "1..0 # SKIP needs root and a mount name space"
	exit 4
fi
# The tests want the cgroups where a machine has them that has no others.
if [ -z "${GS_APART:-}" ]; then
	GS_APART=1 exec unshare -m "$0" "$@"
fi
mount --make-rprivate / && umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 1
dir=$(mktemp -d) || exit 1
trap 'kill "$daemon" 2>/dev/null; wait; rm -rf "$dir"' EXIT
"$O/gpushared/gpushared" --system --foreground --pci "$dir/none" --socket "$dir/s" --state none \
	2>"$dir/log" &
daemon=$!
for _ in $(seq 100); do [ -S "$dir/s" ] && break; sleep 0.1; done
chmod 755 "$dir"
export GPUSHARE_ARBITER=$dir/s
[ $# -gt 0 ] || set -- $(printf "$O/tests/gpushared/kselftest/%s " structs attach memory share device stats \
	grant page life rights regroup tenants limits)
n=0 failed=0
echo "TAP version 13"
for program; do
	timeout 300 "$program" >"$dir/out" 2>&1 </dev/null
	rc=$?
	while IFS= read -r line; do
		if [[ $line =~ ^('not ')?ok\ [0-9]+\ ?('- ')?(.*) ]]; then
			n=$((n + 1))
			echo "${BASH_REMATCH[1]}ok $n - $(basename "$program"): ${BASH_REMATCH[3]}"
		elif [[ $line != 'TAP version'* && ! $line =~ ^1\.\.[0-9] ]]; then
			echo "# $line"
		fi
	done <"$dir/out"
	case $rc in
	0|4) ;;
	1) failed=1 ;;
	*) n=$((n + 1)) failed=1; echo "not ok $n - $(basename "$program"): exit status $rc" ;;
	esac
done
if ! kill -0 "$daemon" 2>/dev/null; then
	n=$((n + 1)) failed=1
	sed 's/^/# /' "$dir/log"
	echo "not ok $n - the daemon is still there"
fi
echo "1..$n"
exit $failed
