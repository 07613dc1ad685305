#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 600 s
# A display that is plugged in while the module runs, by qemu's monitor, becomes
# a device, and goes when it is unplugged. The guest says when it is ready for
# each step, and waits for what must come. KERNEL is where to do it (6.12). The
# next display goes into another slot, since qemu may not be done with the first
# one's memory when the guest is; that one comes back is a kselftest's matter.
set -u
here=$(dirname "$(readlink -f "$0")")
cd "$here/../.." || exit 1
kernel=${KERNEL:-6.12}

# in_guest: what runs in the virtual machine
in_guest()
{
	local failed=0 n=0 first second

	# device_in SLOT: the id of the device that is there, or nothing
	device_in()
	{
		local key
		for key in /sys/kernel/gpushare/*/key; do
			grep -qsxF "pci:0000:00:$1.0" "$key" && cat "${key%key}id"
		done
	}
	# within_time CONDITION: it comes true
	within_time()
	{
		local i
		for ((i = 0; i < 1200; i++)); do
			eval "$1" && return 0
			sleep 0.1
		done
		return 1
	}
	result()
	{
		n=$((n + 1))
		[ "$1" = 0 ] || failed=1
		echo "$([ "$1" = 0 ] || echo "not ")ok $n - $2"
	}

	insmod "$GS_MODULES" || exit 1
	[ -z "$(device_in 1e)" ]
	result $? "nothing is in the slot"
	echo "## monitor device_add bochs-display,romfile=,id=first,addr=1e.0"
	within_time '[ -n "$(device_in 1e)" ]'
	result $? "a display that is plugged in becomes a device"
	first=$(device_in 1e)
	echo "## monitor device_add bochs-display,romfile=,id=second,addr=1d.0"
	within_time '[ -n "$(device_in 1d)" ]'
	result $? "so does another one"
	second=$(device_in 1d)
	echo "## monitor device_del first"
	within_time '[ -z "$(device_in 1e)" ]'
	result $? "one that is unplugged goes"
	[ "$(device_in 1d)" = "$second" ] && [ "$first" != "$second" ]
	result $? "and the other one stays"
	rmmod gpushare
	result $? "and the module goes with it plugged in"
	exit $failed
}

if [ "${GS_VM:-}" = 1 ]; then
	in_guest
fi

echo "TAP version 13"
echo "1..7"
if ! why=$("$here/kernel" "$kernel" 2>&1 >/dev/null) ||
		! why=$(command -v qemu-system-x86_64 || { echo "no qemu-system-x86_64"; false; }); then
	for n in 1 2 3 4 5 6 7; do
		echo "ok $n # SKIP $(printf '%s' "$why" | tail -n 1)"
	done
	exit 4
fi
module=$("$here/module" "$kernel") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkfifo "$work/monitor.in" "$work/monitor.out"
exec 8<>"$work/monitor.in" 9<>"$work/monitor.out"	# neither end waits for the other
QEMU_ARGS="-monitor pipe:$work/monitor" GS_MODULES=$module LIMIT=500 \
	VM_LOG=build/vm/hotplug-$kernel.log "$here/run" "$kernel" "$here/hotplug.sh" 2>"$work/log" |
while IFS= read -r line; do
	case $line in
	'## monitor '*)	printf '%s\n' "${line#'## monitor '}" >&8 ;;
	*)		printf '%s\n' "$line" ;;
	esac
done
rc=${PIPESTATUS[0]}
if [ "$rc" = 0 ] || [ "$rc" = 1 ]; then
	echo "ok 7 - nothing bad in the kernel's log"
else
	sed 's/^/# /' "$work/log"
	echo "not ok 7 - nothing bad in the kernel's log"
fi
exit $((rc != 0))
