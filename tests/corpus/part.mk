# SPDX-License-Identifier: MIT
# The corpus as C: the reference that runs of its PTX are held against.
corpus-cu := $(sort $(wildcard tests/corpus/cuda/*.cu))
corpus-c := tests/corpus/cuda/host.c tests/corpus/cuda/hostmath.c
corpus-objs := $(patsubst %.cu,$(O)/obj/%.o,$(corpus-cu)) $(call objs,$(corpus-c))
corpus-flags := -Wno-unused -Wno-implicit-fallthrough -Wno-unknown-pragmas \
	-Wno-uninitialized -ffp-contract=off -fwrapv -fno-sanitize=all
deps-y += $(corpus-objs:.o=.d)

$(O)/obj/tests/corpus/cuda/%.o: tests/corpus/cuda/%.cu Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -x c $(filter-out -Wshadow=local,$(base-flags)) -O1 $(corpus-flags) -c -o $@ $<

$(O)/tests/corpus/cuda.a: $(corpus-objs)
	$(Q)mkdir -p $(@D); rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^
