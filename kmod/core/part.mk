# SPDX-License-Identifier: MIT
# The core's sources stand here once for all of user space; Kbuild names the
# same for the kernel.
core-src := $(addprefix kmod/core/,arbiter.c beside.c due.c fair.c life.c mem.c memwait.c min.c \
	path.c policy.c pressure.c quota.c seats.c set.c slice.c state.c tree.c)
core-lib := $(O)/lib/libgscore.a
$(call archive,lib/libgscore.a,$(core-src))
cflags-kmod/core := -Wdeclaration-after-statement -Wframe-larger-than=1024
all-y += $(core-lib)

# What the contract means to it, for the daemon as for the module.
contract-src := $(addprefix kmod/contract/,ask.c device.c event.c page.c share.c stats.c use.c)
contract-lib := $(O)/lib/libgscontract.a
$(call archive,lib/libgscontract.a,$(contract-src))
cflags-kmod/contract := $(cflags-kmod/core)
