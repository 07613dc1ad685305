# SPDX-License-Identifier: MIT
#
# One Makefile for everything in user space; the kernel module is built by
# kbuild from Kbuild. Each part brings a part.mk, found by name, which adds to:
#
#   all-y      what `make` builds
#   tests-y    test programs and scripts of `make check`, run side by side
#   alone-y    tests that measure time: run one at a time, after the others
#   full-y     what only `make check-full` runs (one at a time)
#   bench-y    NAME:PROGRAM pairs of `make bench`, picked by BENCH=NAME
#   fuzz-y     libFuzzer targets (`make fuzz` builds them, needs clang)
#   tidy-y     more for `make lint` to run
#   install-y  targets that `make install` depends on
#
# A test prints TAP and exits 0, 1 or 4 (all skipped); tests/run adds them up.
#
# User-space objects live in build/, never beside the sources, where kbuild
# puts its own. SAN=address,undefined or SAN=thread builds beside them.

MAKEFLAGS += -rR --no-print-directory
.DELETE_ON_ERROR:
.SUFFIXES:

VERSION := 0.1.0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
SAN ?=
comma := ,
O ?= build/user$(if $(SAN),-$(subst $(comma),-,$(SAN)))

CC := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
AR := $(if $(filter default undefined,$(origin AR)),ar,$(AR))
CFLAGS ?= -O2 -g
san-flags := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
WERROR ?= -Werror
warn-flags := -Wall -Wextra $(WERROR) -Wstrict-prototypes -Wmissing-prototypes
ifeq ($(findstring clang,$(CC)),)
# With a sanitizer's checks in the code, gcc takes pointers for null that can't be.
warn-flags += -Wshadow=local $(if $(SAN),-Wno-format-truncation)
endif
base-flags := -std=gnu11 $(CFLAGS) $(warn-flags) $(san-flags) -D_GNU_SOURCE \
	-DGPUSHARE_RELEASE='"$(VERSION)"' -I. -Iinclude/uapi -Ikmod/core -Iulib/include \
	-Ixform/include -Itests -MMD -MP

# Those targets that build before they run do so with all processors.
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

.PHONY: all
all:

# $(call objs,SOURCES): their objects. A directory's own flags go into
# cflags-DIR, in its part.mk.
objs = $(patsubst %.c,$(O)/obj/%.o,$(filter %.c,$(1)))
pic-objs = $(patsubst %.c,$(O)/pic/%.o,$(filter %.c,$(1)))

# $(call program,PATH,SOURCES,LIBS[,MORE PREREQUISITES]): build/.../PATH
define program-rule
$(O)/$(1): $(call objs,$(2)) $(filter %.a,$(3)) $(4)
	$$(Q)mkdir -p $$(@D)
	$$(call say,LD,$$@)$$(CC) $$(san-flags) $$(LDFLAGS) -o $$@ $(call objs,$(2)) $(3)
deps-y += $(patsubst %.o,%.d,$(call objs,$(2)))
endef
program = $(eval $(call program-rule,$(1),$(2),$(3),$(4)))

# $(call archive,PATH,SOURCES): a static library
define archive-rule
$(O)/$(1): $(call objs,$(2))
	$$(Q)mkdir -p $$(@D); rm -f $$@
	$$(call say,AR,$$@)$$(AR) rcs $$@ $$^
deps-y += $(patsubst %.o,%.d,$(call objs,$(2)))
endef
archive = $(eval $(call archive-rule,$(1),$(2)))

$(O)/obj/%.o: %.c Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(base-flags) $(cflags-$(patsubst %/,%,$(dir $<))) -c -o $@ $<

# Shared libraries are loaded into other distributions' containers, so they must not need
# a glibc newer than 2.28. Not with a sanitizer, which puts its own symbols in place.
old-glibc := $(if $(SAN),,-DGS_OLD_GLIBC -include ulib/glibc.h)

$(O)/pic/%.o: %.c Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(base-flags) -fPIC -fvisibility=hidden $(old-glibc) \
		$(cflags-$(patsubst %/,%,$(dir $<))) -c -o $@ $<

# libFuzzer targets: everything is compiled anew by clang, with its coverage.
FUZZ_CC ?= clang
define fuzzer-rule
build/fuzz/$(1): $(2) Makefile
	$$(Q)mkdir -p $$(@D)
	$$(call say,FUZZ,$$@)$$(FUZZ_CC) $$(filter-out -MMD -MP -Wshadow=local,$$(base-flags)) -O1 \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(3) -o $$@ $(2) $(4)
fuzz-y += build/fuzz/$(1)
endef
# $(call fuzzer,NAME,SOURCES,FLAGS,LIBS)
fuzzer = $(eval $(call fuzzer-rule,$(1),$(2),$(3),$(4)))

# The core first: its library stands in the others' rules.
parts := $(sort $(wildcard */part.mk */*/part.mk */*/*/part.mk))
include kmod/core/part.mk $(filter-out kmod/core/part.mk,$(parts))

all: $(all-y)

.PHONY: setup check check-full bench demo fuzz lint install uninstall dist deb help clean
# The only step that changes the machine: it installs the Debian packages that are missing,
# from the lists in .ci: for demo what that needs, for check and check-full more. SETUP=no
# leaves it out.
setup:
ifneq ($(SETUP),no)
	@.ci/setup $(if $(filter check-full,$(MAKECMDGOALS)),full,$(if $(filter-out demo,$(MAKECMDGOALS)),check,demo))
endif

# Tests are listed by path in the build folder or, for scripts, in the tree.
# TESTS names those that are wanted instead of all, T the parts whose tests are wanted:
# the tests of a part are in the folder of its name, the module's in tests/vm.
part-folders = $(patsubst %,tests/%/,$(patsubst kmod,vm,$(patsubst kmod/%,%,$(T:%/=%))))
of-parts = $(if $(T),$(foreach t,$(1),$(if $(strip $(foreach p,$(part-folders),\
	$(findstring /$(p),/$(t)))),$(t))),$(1))
TESTS ?= $(call of-parts,$(tests-y)) --alone $(call of-parts,$(alone-y))
# What they need is asked of a make of its own: it sees what was just installed.
.PHONY: check-deps check-full-deps
check-deps: all $(filter $(O)/%,$(TESTS)) $(checkdeps-y)
check-full-deps: all $(filter $(O)/%,$(tests-y) $(alone-y) $(full-y)) $(checkdeps-y) $(fulldeps-y)

check: setup
	$(Q)$(if $(filter-out --alone,$(TESTS)),,echo "T=$(T): no tests in $(part-folders)" >&2; exit 1)
	$(Q)$(MAKE) $(jobs) check-deps
	$(Q)O=$(O) tests/run $(TESTS)

check-full: setup
	$(Q)$(MAKE) $(jobs) check-full-deps
	$(Q)O=$(O) FULL=1 tests/run $(tests-y) --alone $(alone-y) $(full-y)

BENCH ?= $(foreach b,$(bench-y),$(firstword $(subst :, ,$(b))))
bench: setup
	$(Q)$(MAKE) $(foreach b,$(bench-y),$(filter $(O)/%,$(lastword $(subst :, ,$(b)))))
	$(Q)O=$(O) tests/bench/run $(foreach b,$(bench-y),$(if $(filter $(BENCH),$(firstword $(subst :, ,$(b)))),$(lastword $(subst :, ,$(b)))))

fuzz: $(fuzz-y)

lint: $(tidy-y)
	$(Q)tests/lint

# It builds what it installs, and no more.
install: $(install-y)

# What an installation puts there is what is taken away: no second list. Folders go if
# they are named after gpushare and nothing else is in them.
uninstall:
	$(Q)list=$$(mktemp -d) && $(MAKE) -s install DESTDIR=$$list >/dev/null && (cd $$list && \
		find . ! -type d | while read -r f; do rm -fv "$(DESTDIR)/$${f#./}"; done; \
		find . -depth -type d -path '*gpushare*' | while read -r d; do \
			[ ! -d "$(DESTDIR)/$$d" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)/$$d"; done); \
		rc=$$?; rm -rf "$$list"; exit $$rc

# The sources as they are now, those that git knows or would take; where there is no git, as
# in what dist has made, all but build/. Sorted, of one date and of nobody, so that the same
# sources are the same bytes.
dist := gpushare-$(VERSION)
tarball := build/$(dist).tar.xz
dist:
	$(Q)mkdir -p build
	$(Q){ if [ -e .git ]; then git ls-files -co --exclude-standard; \
		else find . -type f ! -path './build/*' -printf '%P\n'; fi; } | \
		while IFS= read -r f; do [ ! -e "$$f" ] || printf '%s\n' "$$f"; done | LC_ALL=C sort >build/dist.list
	$(Q)date=$$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1) && \
		tar c --no-recursion --verbatim-files-from -T build/dist.list --format=gnu \
			--owner=0 --group=0 --numeric-owner --mode='u+rw,go+r,go-w' --mtime="$$date" \
			--transform 's,^,$(dist)/,S' | xz -T1 -c >$(tarball).new
	$(Q)mv $(tarball).new $(tarball)
	@echo $(tarball)

# Debian packages of this machine's release, from what dist gives, in build/packages.
deb: dist
	$(Q)rm -rf build/packages && mkdir -p build/packages
	$(Q)tar xf $(tarball) -C build/packages
	$(Q)cd build/packages/$(dist) && unset MAKEFLAGS MFLAGS MAKELEVEL && dpkg-buildpackage -us -uc -b
	$(Q)rm -rf build/packages/$(dist)
	@ls build/packages/*.deb

clean:
	rm -rf build

help:
	@sed -n 's/^#? //p' $(MAKEFILE_LIST)

#? make              build everything in user space
#? make kmod         build the kernel module for the kernel headers found
#? make demo         set up, build and show gpushare at work
#? make check        set up, build and run the tests
#? make check T=PART only the tests of a part: T=wrap/cuda, T="gpushared ulib", T=kmod
#? make check-full   the same and everything that takes longer
#? make check-vm     the kernel module's tests in virtual machines
#? make check-debug  the same in a kernel that looks for faults, and worse
#? make bench        measure; BENCH=core picks a part
#? make fuzz         build the libFuzzer targets into build/fuzz/ (clang)
#? make lint         style and static checks, with the tools that are there (5 minutes)
#? make install      install below PREFIX (/usr/local), DESTDIR honoured
#? make uninstall    remove what make install put there, with the same PREFIX and DESTDIR
#? make dist         the sources as a tarball, the same bytes each time
#? make deb          Debian packages, in build/packages
#? make clean        remove build/
#?
#? Variables: CC=gcc|clang, SAN=address,undefined|thread, V=1 (say commands),
#? SETUP=no (install no packages), TESTS= (of make check), PREFIX=, LIBDIR=, DESTDIR=,
#? BENCH=

-include $(deps-y)
