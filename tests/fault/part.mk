# SPDX-License-Identifier: MIT
#
# What is done to the module in the debug kernel only: see tests/vm/part.mk.
cflags-tests/fault := -Itests/kselftest
fault-y := $(addprefix tests/fault/,failnth storm fuzz)
$(foreach p,$(fault-y),$(call program,$(p),$(p).c tests/kselftest/lib.c tests/kselftest/module.c,-pthread))
