#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 3600 s
# Programs that come as SPIR-V, over the PoCL of Debian's next release, which takes it.
cd "$(dirname "$0")/../../.." || exit 1
O=${O:-build/user}
tests/xform/opencl/newer-pocl -t || exit
mkdir -p "$O/tests/wrap/opencl/newer-cache"
# What it writes must be seen in there.
TMPDIR=$PWD/$O/tests/wrap/opencl POCL_CACHE_DIR=$PWD/$O/tests/wrap/opencl/newer-cache \
	GS_OVER=tests/xform/opencl/newer-pocl OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd \
	exec tests/wrap/opencl/il.sh
