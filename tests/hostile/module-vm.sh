#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 7200 s
# The hostile tenants over the module, in a virtual machine: the short suite, with FULL=1
# all of it.
cd "$(dirname "$0")/../.." || exit 1
dir=${O:-build/user}/tests/hostile
if nm "$dir/suite" 2>/dev/null | grep -q '__[at]san_'; then
	echo "1..0 # SKIP built with a sanitizer"
	exit 4
fi
export GPUSHARE_ARBITER=/dev/gpushare VM_ENV="GPUSHARE_ARBITER FULL"
[ -z "${FULL:-}" ] || export GS_LIMIT=6000 LIMIT=6600
# shellcheck disable=SC2086
exec tests/vm/check -p "$dir/suite" ${VM_KERNELS:-6.12}
