#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# The module builds without a warning for kernels that lack what Debian's have,
# and says clearly why it doesn't where it can't: each option is taken out of a
# copy of the headers' configuration, or their version is another. What is
# installed for dkms builds as dkms.conf says. Nothing is booted. KERNELS: 6.1
# and 6.12.
set -u
here=$(dirname "$(readlink -f "$0")")
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0 failed=0

result()
{
	n=$((n + 1))
	[ "$1" = 0 ] || { sed 's/^/# /' "$work/log"; failed=1; }
	echo "$([ "$1" = 0 ] || echo "not ")ok $n - $2"
}

# headers KERNEL: a copy of what may be changed in its headers, in $work/headers
headers()
{
	local from
	from=$(readlink -f "$("$here/kernel" "$1")/build")
	rm -rf "$work/headers"
	mkdir "$work/headers"
	ln -s "$from"/* "$work/headers/"
	rm "$work/headers/include"
	cp -a "$from/include" "$work/headers/"
}

# module [EDIT]: build it against them; EDIT changes its compat.h before
module()
{
	rm -rf "$work/module"
	mkdir "$work/module"
	cp -pR "$top/Kbuild" "$top/kmod" "$top/include" "$work/module"
	sed -i "${1:-}" "$work/module/kmod/compat.h"
	make -s -C "$work/headers" M="$work/module" W=1 KCFLAGS=-Werror \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$work/log" 2>&1 &&
		[ -e "$work/module/gpushare.ko" ]
}

# build KERNEL OPTION...: without these
build()
{
	local option
	headers "$1"
	shift
	for option; do
		sed -i "/^CONFIG_${option}[=_]/d; /^CONFIG_$option=/d" "$work/headers/include/config/auto.conf"
		sed -i "/define CONFIG_$option\(_MODULE\)\? /d" "$work/headers/include/generated/autoconf.h"
	done
	module
}

# refuses TEXT [EDIT]: it isn't built, and that is the first that is said of why
refuses()
{
	! module "${2:-}" && grep -m 1 'error:' "$work/log" | grep -q "#error \"gpushare needs $1"
}

# by_dkms KERNEL: what is installed, put where dkms puts it, by the words of its
# dkms.conf; and cleaned up
by_dkms()
{
	local kernel_source_dir dkms_tree=$work/dkms PACKAGE_NAME PACKAGE_VERSION MAKE CLEAN
	local BUILT_MODULE_NAME DEST_MODULE_LOCATION AUTOINSTALL built
	kernel_source_dir=$(readlink -f "$("$here/kernel" "$1")/build")
	rm -rf "$work/root" "$dkms_tree"
	make -s -C "$top" SETUP=no DESTDIR="$work/root" PREFIX=/usr install-kmod >"$work/log" 2>&1 ||
		return 1
	# shellcheck source=dkms.conf
	. "$work"/root/usr/src/gpushare-*/dkms.conf
	built=$dkms_tree/$PACKAGE_NAME/$PACKAGE_VERSION/build
	mkdir -p "$(dirname "$built")"
	cp -R "$work/root/usr/src/$PACKAGE_NAME-$PACKAGE_VERSION" "$built" &&
		eval "${MAKE[0]}" >"$work/log" 2>&1 &&
		[ "$(modinfo -F version "$built/${BUILT_MODULE_NAME[0]}.ko")" = "$PACKAGE_VERSION" ] &&
		eval "$CLEAN" >>"$work/log" 2>&1 && [ ! -e "$built/${BUILT_MODULE_NAME[0]}.ko" ]
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
	headers "$kernel"
	sed -i 's/\(LINUX_VERSION_CODE\) .*/\1 331775/' "$work/headers/include/generated/uapi/linux/version.h"
	refuses "Linux 6.1 or newer"
	result $? "$kernel as 5.15.255 says that it is too old"
	headers "$kernel"
	refuses "Linux 6.1.68 or newer" '/net\/genetlink.h/a #undef GENL_MCAST_CAP_SYS_ADMIN'
	result $? "$kernel as before 6.1.68 says that it is too old"
	by_dkms "$kernel"
	result $? "$kernel: what is installed builds as dkms.conf says"
done
echo "1..$n"
exit $failed
