# SPDX-License-Identifier: MIT
# On a GPU: make check-gpu. In every check: over the driver on the CPU.
$(call program,tests/xform/ptx/gpu-test,tests/xform/ptx/gpu-test.c tests/cpucuda/corpus.c,\
	$(O)/libgsxform.a -Wl$(comma)--whole-archive $(O)/tests/corpus/cuda.a \
	-Wl$(comma)--no-whole-archive -lm -ldl,$(O)/tests/corpus/cuda.a)
tests-y += tests/xform/ptx/on-cpu.sh
checkdeps-y += $(O)/tests/xform/ptx/gpu-test $(O)/cpucuda/libcuda.so.1

.PHONY: check-gpu
#? make check-gpu    the CUDA corpus, its variants and the wrapper on a GPU, where there is one
check-gpu: setup
	$(Q)$(MAKE) all $(O)/tests/xform/ptx/gpu-test $(gpu-programs) $(corpus-ptx)
	$(Q)O=$(O) SKIPPED=ok tests/run --alone $(O)/tests/xform/ptx/gpu-test tests/wrap/cuda/gpu.sh
