# SPDX-License-Identifier: MIT
# The libcuda wrapper over the driver on the CPU.
cuda-test-bed := tests/wrap/cuda/bed.c tests/gpushared/world.c
cuda-test-needs := $(O)/cuda/libcuda.so.1 $(O)/cpucuda/libcuda.so.1 $(O)/gpushared/gpushared
cuda-test = $(call program,tests/wrap/cuda/$(1),tests/wrap/cuda/$(1).c $(cuda-test-bed),\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../../cuda' \
	$(O)/lib/libgpushare.a -lpthread -ldl,$(cuda-test-needs))
$(foreach t,captures cut gate late link memory seats tenants tickets variables waits,$(call cuda-test,$(t)))
tests-y += $(addprefix $(O)/tests/wrap/cuda/,captures cut gate late link memory seats tickets variables waits) \
	tests/wrap/cuda/abi.sh

$(O)/tests/wrap/cuda/slow-start.so: $(call pic-objs,tests/wrap/cuda/slow-start.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $^
$(O)/tests/wrap/cuda/late: $(O)/tests/wrap/cuda/slow-start.so
deps-y += $(patsubst %.o,%.d,$(call pic-objs,tests/wrap/cuda/slow-start.c))

# This one writes fat binaries, and the wrapper's cache.
$(call program,tests/wrap/cuda/several,tests/wrap/cuda/several.c $(cuda-test-bed) \
	$(addprefix xform/fatbin/,fatbin.c lz4.c zstd.c) $(wildcard wrap/launch/*.c),\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../../cuda' \
	$(O)/lib/libgpushare.a -lpthread -ldl,$(cuda-test-needs))
# This one counts variables itself.
$(call program,tests/wrap/cuda/globals,tests/wrap/cuda/globals.c $(cuda-test-bed) \
	$(addprefix xform/fatbin/,fatbin.c lz4.c zstd.c) wrap/cuda/globals.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../../cuda' \
	$(O)/lib/libgpushare.a -lpthread -ldl,$(cuda-test-needs))
tests-y += $(addprefix $(O)/tests/wrap/cuda/,globals several)

# A driver with the functions that the one on the CPU lacks.
rare-driver := $(call pic-objs,$(cpucuda-lib) tests/wrap/cuda/rare-driver.c)
$(O)/tests/wrap/cuda/rare-driver/libcuda.so.1: $(rare-driver)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 \
		-Wl,-Bsymbolic -Wl,-z,nodelete -o $@ $^ -lm -lpthread
deps-y += $(patsubst %.o,%.d,$(rare-driver))
$(call cuda-test,rare)
$(O)/tests/wrap/cuda/rare: $(O)/tests/wrap/cuda/rare-driver/libcuda.so.1
tests-y += $(O)/tests/wrap/cuda/rare
checkdeps-y += $(O)/cuda/libcuda.so.1

# One program for both sides: it finds the wrapper unless LD_LIBRARY_PATH says otherwise.
$(call program,tests/wrap/cuda/replay,tests/wrap/cuda/replay.c tests/cpucuda/corpus.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../../cuda' \
	-Wl$(comma)--whole-archive $(O)/tests/corpus/cuda.a -Wl$(comma)--no-whole-archive -lm -ldl,\
	$(cuda-test-needs) $(O)/tests/corpus/cuda.a)
$(call program,tests/wrap/cuda/order,tests/wrap/cuda/order.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../../cuda',$(cuda-test-needs))
tests-y += tests/wrap/cuda/same.sh tests/wrap/cuda/order.sh
checkdeps-y += $(O)/tests/wrap/cuda/order
checkdeps-y += $(O)/tests/wrap/cuda/replay
$(call cuda-test,bench)
$(call cuda-test,shares)
$(O)/tests/wrap/cuda/shares: $(O)/tests/wrap/opencl/spin $(O)/lib/gpushare/libgpushare-opencl.so
bench-y += shares:$(O)/tests/wrap/cuda/shares
$(call cuda-test,device)
bench-y += device:$(O)/tests/wrap/cuda/device
$(call cuda-test,measure)
$(call program,tests/wrap/cuda/nvrtc,tests/wrap/cuda/nvrtc.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../../cuda' -ldl,$(cuda-test-needs))
gpu-programs := $(addprefix $(O)/tests/wrap/cuda/,replay measure nvrtc)
checkdeps-y += $(gpu-programs)
tests-y += tests/wrap/cuda/gpu-on-cpu.sh
$(O)/tests/wrap/cuda/bench: | $(corpus-ptx)
bench-y += cuda:$(O)/tests/wrap/cuda/bench
# This one links with nothing: it finds libcuda.so.1 by its name.
$(call program,tests/wrap/cuda/probe,tests/wrap/cuda/probe.c,-ldl,$(cuda-test-needs))
tests-y += tests/wrap/cuda/probe.sh tests/wrap/cuda/runtime.sh \
	tests/wrap/cuda/tool.sh
checkdeps-y += $(O)/cpucuda/libcudart.so.13
checkdeps-y += $(O)/tests/wrap/cuda/probe
alone-y += $(O)/tests/wrap/cuda/tenants tests/wrap/cuda/shares.sh tests/wrap/cuda/device.sh
checkdeps-y += $(O)/tests/wrap/cuda/shares $(O)/tests/wrap/cuda/device
