#!/bin/bash
# SPDX-License-Identifier: MIT
# log-check finds what a kernel says of a fault, and nothing in a clean log.
# Each line is as a kernel wrote it (the planted bugs of tests/vm/plant among
# them), without what it was about.
cd "$(dirname "$0")" || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0 failed=0

# result RC NAME
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; fi
}

mapfile -t bad <<'END'
------------[ cut here ]------------
WARNING: CPU: 1 PID: 56 at plant.c:21 pl_init+0x1ae/0x1000 [plant]
WARNING: possible circular locking dependency detected
WARNING: suspicious RCU usage
BUG: KASAN: use-after-free in use+0x27/0x2c [plant]
BUG: sleeping function called from invalid context at include/linux/sched/mm.h:274
BUG: Invalid wait context
BUG: scheduling while atomic: sh/117/0x00000002
BUG: kernel NULL pointer dereference, address: 0000000000000008
BUG: unable to handle page fault for address: ffffc90000000000
BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!
UBSAN: shift-out-of-bounds in plant.c:20:10
UBSAN: array-index-out-of-bounds in plant.c:20:10
unreferenced object 0xff1100000494d200 (size 64):
ODEBUG: free active (active state 0) object type: hrtimer hint: expired+0x0/0x10
refcount_t: underflow; use-after-free.
list_del corruption. prev->next should be ffff888, but was dead
general protection fault, probably for non-canonical address 0xdffffc0000000001: 0000 [#1]
Oops: 0000 [#1] PREEMPT SMP NOPTI
kernel BUG at mm/slub.c:379!
Kernel panic - not syncing: Fatal exception
INFO: task storm:211 blocked for more than 120 seconds.
INFO: trying to register non-static key.
rcu: INFO: rcu_preempt self-detected stall on CPU
watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [sh:117]
sysfs: cannot create duplicate filename '/class/misc/gpushare'
gpushare: Unknown symbol cgroup_get_from_fd (err -2)
BUG gpushare_client (Tainted: G           O): Objects remaining on __kmem_cache_shutdown()
END
echo "1..$((${#bad[@]} + 1))"
for line in "${bad[@]}"; do
	{ echo "[    1.000000] gpushare: loaded"; echo "[    2.000000] $line"; } >"$log"
	./log-check "$log" >/dev/null
	result $(($? != 1)) "found: $line"
done
cat >"$log" <<'END'
[    0.120000] kasan: KernelAddressSanitizer initialized
[    0.200000] rcu: 	RCU CPU stall warnings timeout set to 120 (rcu_cpu_stall_timeout).
[    0.210000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
[    0.220000] kfence: initialized - using 2097152 bytes for 255 objects at 0x(____ptrval____)
[    2.100000] gpushare: loading out-of-tree module taints kernel.
[    2.200000] gpushare: loaded
GS-RC 0
END
./log-check "$log"
result $? "nothing in a clean log"
exit $failed
