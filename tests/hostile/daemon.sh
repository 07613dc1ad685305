#!/bin/sh
# SPDX-License-Identifier: MIT
# Time limit: 7200 s
# The hostile tenants over the daemon: the short suite, with FULL=1 all of it.
cd "$(dirname "$0")/../.." || exit 1
unset GPUSHARE_ARBITER
exec "${O:-build/user}/tests/hostile/suite" "$@"
