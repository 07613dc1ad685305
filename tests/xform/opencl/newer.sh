#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 3600 s
# The corpus over the PoCL of Debian's next release: sub-groups, the generic address
# space, program-scope variables and work-group functions run only there.
cd "$(dirname "$0")/../../.." || exit 1
O=${O:-build/user}
tests/xform/opencl/newer-pocl -t || exit
mkdir -p "$O/tests/xform/opencl/newer-cache"
# The C library in there is a newer one, so what was built here runs.
POCL_CACHE_DIR=$PWD/$O/tests/xform/opencl/newer-cache OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd \
	exec tests/xform/opencl/newer-pocl env FULL="${FULL:-}" O="$O" "$O/tests/xform/opencl/corpus-test" "$@"
