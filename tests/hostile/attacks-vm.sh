#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 3600 s
# The attacks on the module. The guest's time is counted in instructions, so that how long
# others wait doesn't depend on what else this machine does.
cd "$(dirname "$0")/../.." || exit 1
dir=${O:-build/user}/tests/hostile
if nm "$dir/attacks" 2>/dev/null | grep -q '__[at]san_'; then
	echo "1..0 # SKIP built with a sanitizer"
	exit 4
fi
export GPUSHARE_ARBITER=/dev/gpushare VM_ENV="GPUSHARE_ARBITER FULL" ICOUNT=1
export GS_LIMIT=3000 LIMIT=3300
# shellcheck disable=SC2086
exec tests/vm/check -p "$dir/attacks" ${VM_KERNELS:-6.12}
