#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu.sh over the driver on the CPU, so that it is in order when a GPU is there. Its
# figures say nothing here, but are all taken and written.
exec "$(dirname "$0")/gpu.sh" cpu
