# SPDX-License-Identifier: MIT
#
# The kernel module for the kernels at hand, and its tests in virtual machines.
# KVER names the kernels to build for: 6.1, 6.12, 6.12-rt, 7, debug, or a release
# whose headers are installed. Without it, those are it that are installed, or
# those that the tests use where none is.

KVER ?= $(or $(notdir $(patsubst %/build,%,$(wildcard /lib/modules/*/build))),6.1 6.12 6.12-rt)

.PHONY: kmod
kmod:
	$(Q)for k in $(KVER); do tests/vm/module $$k || exit; done

tests-y += tests/vm/log-check.sh

# The kselftests in Debian's kernels, as part of `make check`, and in the debug
# kernel, which is built first (some ten minutes, once). There, every operation
# that can fail is made to fail, and the fuzzer and the storm do their worst.
VM_KERNELS ?= 6.1 6.12 6.12-rt

ifneq ($(wildcard Kbuild),)
alone-y += tests/vm/check-vm.sh
checkdeps-y += kselftest
full-y += tests/vm/hotplug.sh tests/vm/configs.sh tests/vm/intree.sh tests/vm/check-debug.sh
fulldeps-y += debug-kernel $(addprefix $(O)/,$(fault-y))
endif

.PHONY: check-vm check-debug debug-kernel kselftest
kselftest:
	$(Q)$(MAKE) -s -C tests/kselftest OUTPUT=$(CURDIR)/build/kselftest

check-vm: setup kselftest
	$(Q)NEED=1 tests/vm/check $(VM_KERNELS)

check-debug: setup debug-kernel kselftest $(addprefix $(O)/,$(fault-y))
	$(Q)O=$(O) NEED=1 tests/vm/check-debug.sh

debug-kernel:
	$(Q)tests/vm/kernel debug

cflags-tests/bench += -Itests/kselftest
$(call program,tests/bench/kmod,tests/bench/kmod.c tests/kselftest/lib.c tests/kselftest/module.c,-pthread)
bench-y += kmod:tests/vm/bench
