#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate, with that of a whole machine, in Debian's kernels: what can't be had is skipped.
cd "$(dirname "$0")/../.." || exit 1
exec tests/vm/check -p tests/gpusharectl/gate.sh -p tests/gpusharectl/gate-faults.sh ${VM_KERNELS:-6.1 6.12}
