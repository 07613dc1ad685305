# SPDX-License-Identifier: MIT
tests-y += tests/kmod/udev.sh
