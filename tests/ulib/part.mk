# SPDX-License-Identifier: MIT
# The library, over a private daemon and over the module.
$(foreach t,library memory races,$(call program,tests/ulib/$(t),tests/ulib/$(t).c tests/gpushared/world.c,\
	$(O)/lib/libgpushare.a -lpthread,$(O)/gpushared/gpushared))
tests-y += $(addprefix $(O)/tests/ulib/,library memory races) tests/ulib/abi.sh
alone-y += $(if $(wildcard Kbuild),tests/ulib/module-vm.sh)
# It runs the daemon's programs as well, which T=ulib alone would not build.
checkdeps-y += $(addprefix $(O)/tests/gpushared/,tenants groups rights shares)
