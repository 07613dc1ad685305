# SPDX-License-Identifier: MIT
# What README promises to who has a bare Debian, tried there.
full-y += tests/root/commands.sh
