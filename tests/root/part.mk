# SPDX-License-Identifier: MIT
# What README promises to who has a bare Debian, tried there.
tests-y += tests/root/packages-here.sh
full-y += tests/root/commands.sh tests/root/packages.sh
