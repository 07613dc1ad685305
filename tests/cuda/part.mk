# SPDX-License-Identifier: MIT
# The corpus as C: the reference that runs of its PTX are held against.
corpus-cu := $(sort $(wildcard tests/cuda/corpus/*.cu))
corpus-c := tests/cuda/corpus/host.c tests/cuda/corpus/hostmath.c
corpus-objs := $(patsubst %.cu,$(O)/obj/%.o,$(corpus-cu)) $(call objs,$(corpus-c))
corpus-flags := -Wno-unused -Wno-implicit-fallthrough -Wno-unknown-pragmas \
	-Wno-uninitialized -ffp-contract=off -fwrapv -fno-sanitize=all
deps-y += $(corpus-objs:.o=.d)

$(O)/obj/tests/cuda/corpus/%.o: tests/cuda/corpus/%.cu Makefile
	$(Q)mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -x c $(filter-out -Wshadow=local,$(base-flags)) -O1 $(corpus-flags) -c -o $@ $<

$(O)/tests/cuda/corpus.a: $(corpus-objs)
	$(Q)mkdir -p $(@D); rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

# On a GPU: make check-gpu. In every check: over the driver on the CPU.
$(call program,tests/cuda/gpu-test,tests/cuda/gpu-test.c tests/cpucuda/corpus.c,\
	$(O)/libgsxform.a -Wl$(comma)--whole-archive $(O)/tests/cuda/corpus.a \
	-Wl$(comma)--no-whole-archive -lm -ldl,$(O)/tests/cuda/corpus.a)
tests-y += tests/cuda/on-cpu.sh
checkdeps-y += $(O)/tests/cuda/gpu-test $(O)/tests/cpucuda/libcuda.so.1

.PHONY: check-gpu
#? make check-gpu    the CUDA corpus, its variants and the wrapper on a GPU, where there is one
check-gpu: setup
	$(Q)$(MAKE) all $(O)/tests/cuda/gpu-test $(gpu-programs)
	$(Q)O=$(O) SKIPPED=ok tests/run --alone $(O)/tests/cuda/gpu-test tests/cuda-wrapper/gpu.sh
