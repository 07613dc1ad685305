#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# Containers of podman's, in a virtual machine that systemd has booted: its engines want
# cgroup v2 alone, which not every host has.
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build/user}
skip() { echo "1..0 # SKIP $1"; exit 4; }
[ -x /lib/systemd/systemd ] || skip "no systemd here"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64"
for c in podman crun newuidmap; do command -v $c >/dev/null || skip "no $c"; done
nm "$O/bin/gpusharectl" 2>/dev/null | grep -q '__[at]san_' && skip "built with a sanitizer"
why=$(tests/vm/kernel 6.1 2>&1 >/dev/null) || skip "$why"
rm -rf build/vm/systemd
make -s SETUP=no O="$O" DESTDIR="$PWD/build/vm/systemd" PREFIX=/usr/local install >/dev/null || exit 1
VM_STAGE2=tests/gpushared/systemd-stage2 VM_ENV=O MEM=3072 LIMIT=${LIMIT:-1500} tests/vm/run 6.1 tests/hostile/podman-inside.sh
