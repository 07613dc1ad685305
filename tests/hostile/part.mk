# SPDX-License-Identifier: MIT
# Hostile tenants beside honest ones, over the daemon and over the module.
hostile-test = $(call program,tests/hostile/$(1),tests/hostile/$(1).c tests/hostile/arena.c \
	$(addprefix tests/gpushared/,world.c hungfs.c),$(O)/lib/libgpushare.a -lpthread,$(O)/gpushared/gpushared)
$(call hostile-test,suite)
$(call hostile-test,attacks)
checkdeps-y += $(addprefix $(O)/tests/hostile/,suite attacks)
alone-y += tests/hostile/daemon.sh $(O)/tests/hostile/attacks $(if $(wildcard Kbuild),tests/hostile/module-vm.sh)
tests-y += $(if $(wildcard Kbuild),tests/hostile/attacks-vm.sh)
bench-y += hostile:tests/hostile/table
full-y += $(if $(wildcard Kbuild),tests/hostile/podman-vm.sh)
