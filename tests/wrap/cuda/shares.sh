#!/bin/sh
# SPDX-License-Identifier: MIT
# Shares of 9 to 1 with eight busy loops beside: the bench's rows, with a wider bound, as
# a test runs for seconds only, on a machine that others may use.
cd "$(dirname "$0")/../../.." || exit 1
out=$("${O:-build/user}/tests/wrap/cuda/shares" 4 8 9:1 2>/dev/null)
rc=$?
[ $rc != 4 ] || { echo "1..0 # SKIP ${out#\# }"; exit 4; }
printf '%s\n' "$out" | awk '
	/^#/ { print }
	/^bench/ { n++; bad += $3 > 4; print ($3 > 4 ? "not ok " : "ok ") n " - " $2 ": " $3 " points" }
	END { print "1.." n; exit !n || n % 3 || bad }'
