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

# The corpus as PTX. nvcc writes most modules for sm_90 as for sm_75 but for the line with
# .target; of those only sm_75's is committed (tests/corpus/rebuild), and the other is made.
# What has a - in its name is another build of the same source, and has no twin.
corpus-kept := $(wildcard tests/corpus/ptx/sm_*/*.ptx)
corpus-pairs := $(foreach f,$(notdir $(wildcard tests/corpus/ptx/sm_75/*.ptx)),$(if $(findstring -,$f),,\
	tests/corpus/ptx/sm_90/$f))
corpus-ptx := $(patsubst tests/%,build/%,$(sort $(corpus-kept) $(corpus-pairs)))
checkdeps-y += $(corpus-ptx)

$(patsubst tests/%,build/%,$(corpus-kept)): build/%: tests/%
	$(Q)mkdir -p $(@D); cp $< $@

$(patsubst tests/%,build/%,$(filter-out $(corpus-kept),$(corpus-pairs))): \
		build/corpus/ptx/sm_90/%: tests/corpus/ptx/sm_75/%
	$(Q)mkdir -p $(@D); sed 's/^\.target sm_75$$/.target sm_90/' $< >$@
