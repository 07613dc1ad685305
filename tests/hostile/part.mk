# SPDX-License-Identifier: MIT
# Hostile tenants beside honest ones, over the daemon and over the module.
cflags-tests/hostile := -I. -Iulib/include
$(call program,tests/hostile/suite,$(addprefix tests/hostile/,suite.c arena.c) tests/ulib/world.c,\
	$(O)/lib/libgpushare.a -lpthread,$(O)/ulib/gpushared/gpushared)
checkdeps-y += $(O)/tests/hostile/suite
alone-y += tests/hostile/daemon.sh $(if $(wildcard Kbuild),tests/hostile/module-vm.sh)
bench-y += hostile:tests/hostile/table
