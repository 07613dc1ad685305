#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 1800 s
# The short form of packages.sh: over this machine's own root, which stays as it is.
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build/user}
skip() { echo "1..0 # SKIP $1"; exit 4; }
for tool in dpkg-buildpackage dh_dkms dh_installsystemd pkg-config; do
	command -v $tool >/dev/null || skip "no $tool"
done
! nm "$O/bin/gpusharectl" 2>/dev/null | grep -q '__[at]san_' || skip "built with a sanitizer"
! command -v gpusharectl gpushared >/dev/null || skip "gpushare is installed on this machine"
RELEASES=here exec tests/root/packages.sh
