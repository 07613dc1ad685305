#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 3600 s
# The kselftests in Debian's kernels, as `make check` runs them: what can't be
# had on this machine is skipped with the reason.
exec "$(dirname "$0")/check" ${VM_KERNELS:-6.1 6.12 6.12-rt}
