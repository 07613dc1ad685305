#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 3600 s
# Programs that come as SPIR-V, over the PoCL of Debian's next release, which takes it.
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build/user}
tests/opencl/newer-pocl -t || exit
mkdir -p "$O/tests/opencl-layer/newer-cache"
# What it writes must be seen in there.
TMPDIR=$PWD/$O/tests/opencl-layer POCL_CACHE_DIR=$PWD/$O/tests/opencl-layer/newer-cache \
	GS_OVER=tests/opencl/newer-pocl OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd \
	exec tests/opencl-layer/il.sh
