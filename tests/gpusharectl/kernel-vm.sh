#!/bin/sh
# SPDX-License-Identifier: MIT
# The tool over the module, in Debian's kernels: what can't be had is skipped.
cd "$(dirname "$0")/../.." || exit 1
exec tests/vm/check -p tests/gpusharectl/kernel.sh ${VM_KERNELS:-6.1 6.12}
