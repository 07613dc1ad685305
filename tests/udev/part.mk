# SPDX-License-Identifier: MIT
tests-y += tests/udev/udev.sh
