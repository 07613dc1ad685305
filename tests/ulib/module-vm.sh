#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# The library's tests over the module, in virtual machines: the same programs
# that run over the daemon on the host. `make check` takes one kernel,
# `make check-full` each, and the shares over ten seconds as well.
cd "$(dirname "$0")/../.." || exit 1
dir=${O:-build/user}/tests
if nm "$dir/ulib/library" 2>/dev/null | grep -q '__[at]san_'; then
	echo "1..0 # SKIP built with a sanitizer"
	exit 4
fi
export GPUSHARE_ARBITER=/dev/gpushare VM_ENV=GPUSHARE_ARBITER
set -- -p "$dir/ulib/library" -p "$dir/gpushared/tenants" -p "$dir/gpushared/groups" \
	-p "$dir/gpushared/rights"
[ -z "${FULL:-}" ] || set -- "$@" -p "$dir/gpushared/shares"
# shellcheck disable=SC2086
exec tests/vm/check "$@" ${VM_KERNELS:-6.1 ${FULL:+6.12 6.12-rt}}
