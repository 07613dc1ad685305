#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 32400 s
# check-debug.sh [PART...]: everything that the debug kernel is for: the planted
# bugs (plants: does the net hold?), the kselftests, every operation failing in
# turn (failnth), the fuzzer (fuzz) and the storm (storm), each part in a kernel
# of its own. One TAP for all; what each part said is kept in build/vm/. KERNEL
# names another kernel, for those parts that need no more than its log.
set -u
here=$(dirname "$(readlink -f "$0")")
cd "$here/../.." || exit 1
O=${O:-build/user}
kernel=${KERNEL:-debug}
mkdir -p build/vm
n=0 failed=0

# part NAME COMMAND...: its results, numbered on; its plan is kept back
part()
{
	local out=build/vm/$kernel-$1.tap

	shift
	VM_LOG=${out%.tap}.log "$@" >"$out" 2>&1
	[ $? = 0 ] || failed=1
	awk -v n="$n" '
	/^(not )?ok [0-9]+/ { n++; sub(/ok [0-9]+/, "ok " n) }
	/^1\.\.[0-9]+|^TAP version/ { next }
	{ print }' "$out"
	n=$((n + $(grep -cE '^(not )?ok [0-9]+' "$out")))
}

export LIMIT=9000 GS_LIMIT=8000
[ $# -gt 0 ] || set -- plants kselftest failnth fuzz storm
echo "TAP version 13"
for p; do
	case $p in
	plants)
		part $p "$here/plants"
		;;
	kselftest)
		part $p "$here/check" "$kernel"
		;;
	failnth)
		allow='kobject_add_internal failed .*error: -12|no more sockets|vm_struct allocation failed'
		GS_ALLOW="$allow|event_define_fields\+|Could not initialize trace point" \
			part $p "$here/check" -p "$O/tests/fault/$p" "$kernel"
		;;
	fuzz|storm)
		part $p "$here/check" -p "$O/tests/fault/$p" "$kernel"
		;;
	*)
		echo "check-debug.sh: no part is named '$p'" >&2
		exit 2
		;;
	esac
done
echo "1..$n"
exit $failed
