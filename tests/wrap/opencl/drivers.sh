#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 3600 s
# The layer on other drivers than Debian's PoCL, and under another loader than ocl-icd:
# what modes.sh, layer.sh and il.sh look at must be the same there. Debian has none of them, so
# who has says where:
#	GS_OPENCL_DRIVERS=FOLDER[:FOLDER...]	each with one driver's .icd file
#	GS_OPENCL_LOADER=FOLDER			with another libOpenCL.so.1, as Khronos's
cd "$(dirname "$0")/../../.." || exit 1
drivers=${GS_OPENCL_DRIVERS:-}
[ -n "$drivers" ] || { echo "1..0 # SKIP GS_OPENCL_DRIVERS names no folder of a driver"; exit 4; }
IFS=: read -ra folders <<<"$drivers"
looks="tests/wrap/opencl/modes.sh tests/wrap/opencl/layer.sh tests/wrap/opencl/il.sh"
# shellcheck disable=SC2086
set -- $looks
[ -z "${GS_OPENCL_LOADER:-}" ] ||
	export LD_LIBRARY_PATH=$GS_OPENCL_LOADER${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0 failed=0
echo "1..$((${#folders[@]} * $#))"
for folder in "${folders[@]}"; do
	for look; do
		n=$((n + 1))
		OCL_ICD_VENDORS=$folder "$look" >"$log" 2>&1
		rc=$?
		name="${folder##*/}: ${look##*/}, $(grep -c '^ok' "$log") of $(sed -n 's/^1\.\.//p' "$log")"
		# What fails is shown, with its reasons before it.
		if [ $rc = 0 ]; then
			echo "ok $n - $name"
		else
			grep -v '^ok' "$log" | sed 's/^/# /'
			echo "not ok $n - $name"
			failed=1
		fi
	done
done
exit $failed
