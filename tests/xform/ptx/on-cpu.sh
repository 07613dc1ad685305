#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu-test over the driver on the CPU, so that it is in order when a GPU is there.
cd "$(dirname "$0")/../../.." || exit 1
O=${O:-build/user}
CPUCUDA_SHUFFLE=0 GPUSHARE_REAL_LIBCUDA=$O/cpucuda/libcuda.so.1 exec "$O/tests/xform/ptx/gpu-test" "$@"
