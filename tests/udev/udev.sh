#!/bin/bash
# SPDX-License-Identifier: MIT
# What udev/ holds means to systemd's own tools what it should. The rule is
# tried on the real device, in a virtual machine, if there is an udevadm.
cd "$(dirname "$0")/../.." || exit 1
echo 1..3
failed=0
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/etc"

# result NUMBER NAME CONDITION...
result() {
	local n=$1 name=$2
	shift 2
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		failed=1
	fi
}

if command -v systemd-sysusers >/dev/null; then
	out=$(systemd-sysusers --root="$root" "$PWD/udev/gpushare.sysusers" 2>&1) || echo "# $out"
	result 1 "sysusers makes the group" grep -q '^render:' "$root/etc/group"
else
	echo "ok 1 - sysusers makes the group # SKIP no systemd-sysusers"
fi
if command -v systemd-tmpfiles >/dev/null; then
	echo 'root:x:0:0::/:/bin/sh' >"$root/etc/passwd"
	out=$(systemd-tmpfiles --root="$root" --create "$PWD/udev/gpushare.tmpfiles" 2>&1) ||
		echo "# $out"
	result 2 "tmpfiles makes the directory" test -d "$root/run/gpushare"
else
	echo "ok 2 - tmpfiles makes the directory # SKIP no systemd-tmpfiles"
fi
if ! command -v udevadm >/dev/null || ! command -v qemu-system-x86_64 >/dev/null; then
	echo "ok 3 - the rule gives the node its group and tags # SKIP no udevadm or no qemu"
elif ! module=$(tests/vm/module 6.1 2>"$root/why"); then
	echo "ok 3 - the rule gives the node its group and tags # SKIP $(tail -n 1 "$root/why")"
else
	udevadm=$(command -v udevadm)
	out=$(LIMIT=850 timeout 880 tests/vm/run 6.1 sh -c "insmod $module && mkdir -p /run/udev/rules.d &&
		cp udev/60-gpushare.rules /run/udev/rules.d/ && $udevadm test /sys/class/misc/gpushare" 2>&1)
	if printf '%s\n' "$out" | grep -q 'gpushare.rules:.*\(GROUP\|MODE\)' &&
			printf '%s\n' "$out" | grep -q 'TAGS=.*:systemd:' &&
			printf '%s\n' "$out" | grep -q 'mode=0660\|MODE 0660'; then
		echo "ok 3 - the rule gives the node its group and tags"
	else
		printf '%s\n' "$out" | grep -v '^Reading rules' | tail -n 30 | sed 's/^/# /'
		echo "not ok 3 - the rule gives the node its group and tags"
		failed=1
	fi
fi
exit $failed
