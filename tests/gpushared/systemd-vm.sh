#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# The units in a system that systemd has booted: the host's own, in a virtual machine.
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build/user}
skip() { echo "1..0 # SKIP $1"; exit 4; }
[ -x /lib/systemd/systemd ] || skip "no systemd here"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64"
nm "$O/bin/gpusharectl" 2>/dev/null | grep -q '__[at]san_' && skip "built with a sanitizer"
why=$(tests/vm/kernel 6.1 2>&1 >/dev/null) || skip "$why"
rm -rf build/vm/systemd
make -s SETUP=no O="$O" DESTDIR="$PWD/build/vm/systemd" PREFIX=/usr/local install >/dev/null || exit 1
# With a display, that comes and goes.
QEMU_ARGS='-device bochs-display' VM_STAGE2=tests/gpushared/systemd-stage2 VM_ENV=O MEM=2048 LIMIT=${LIMIT:-1500} tests/vm/run 6.1 tests/gpushared/systemd-inside.sh
