#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# The module builds without a warning for kernels that lack what Debian's have,
# and says clearly why it doesn't where it can't. Each option is taken out of a
# copy of the headers' configuration; nothing is booted. KERNELS: 6.1 and 6.12.
set -u
here=$(dirname "$(readlink -f "$0")")
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0

result()
{
	n=$((n + 1))
	[ "$1" = 0 ] || { sed 's/^/# /' "$work/log"; failed=1; }
	echo "$([ "$1" = 0 ] || echo "not ")ok $n - $2"
}

# build KERNEL OPTION...: without these
build()
{
	local headers option
	headers=$(readlink -f "$("$here/kernel" "$1")/build")
	shift
	rm -rf "$work/headers" "$work/module"
	mkdir "$work/headers" "$work/module"
	ln -s "$headers"/* "$work/headers/"
	rm "$work/headers/include"
	cp -a "$headers/include" "$work/headers/"
	cp -pR "$top/Kbuild" "$top/kmod" "$top/include" "$work/module"
	for option; do
		sed -i "/^CONFIG_$option[=_]/d; /^CONFIG_$option=/d" "$work/headers/include/config/auto.conf"
		sed -i "/define CONFIG_$option\(_MODULE\)\? /d" "$work/headers/include/generated/autoconf.h"
	done
	make -s -C "$work/headers" M="$work/module" W=1 KCFLAGS=-Werror \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$work/log" 2>&1 &&
		[ -e "$work/module/gpushare.ko" ]
}

echo "TAP version 13"
for kernel in ${KERNELS:-6.1 6.12}; do
	if ! "$here/kernel" "$kernel" >/dev/null 2>"$work/log"; then
		n=$((n + 1))
		echo "ok $n - $kernel # SKIP $(tail -n 1 "$work/log")"
		continue
	fi
	build "$kernel" COMPAT COMPAT_32 IA32_EMULATION X86_X32_ABI SYSVIPC_COMPAT
	result $? "$kernel builds without CONFIG_COMPAT"
	build "$kernel" PCI
	result $? "$kernel builds without CONFIG_PCI"
	build "$kernel" DEBUG_FS
	result $? "$kernel builds without CONFIG_DEBUG_FS"
	for needed in CGROUPS HIGH_RES_TIMERS; do
		! build "$kernel" $needed && grep -q "gpushare needs a kernel with CONFIG_$needed" "$work/log"
		result $? "$kernel without $needed says so"
	done
done
echo "1..$n"
exit $failed
