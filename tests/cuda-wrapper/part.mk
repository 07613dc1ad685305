# SPDX-License-Identifier: MIT
# The libcuda wrapper over the driver on the CPU.
cflags-tests/cuda-wrapper := -I. -Itests -Iulib/include
cuda-test-bed := tests/cuda-wrapper/bed.c tests/ulib/world.c
cuda-test-needs := $(O)/cuda/libcuda.so.1 $(O)/tests/cpucuda/libcuda.so.1 $(O)/ulib/gpushared/gpushared
cuda-test = $(call program,tests/cuda-wrapper/$(1),tests/cuda-wrapper/$(1).c $(cuda-test-bed),\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../cuda' \
	$(O)/lib/libgpushare.a -lpthread -ldl,$(cuda-test-needs))
$(foreach t,captures cut gate late link memory tenants tickets variables,$(call cuda-test,$(t)))
tests-y += $(addprefix $(O)/tests/cuda-wrapper/,captures cut gate late link memory tickets variables) \
	tests/cuda-wrapper/abi.sh

$(O)/tests/cuda-wrapper/slow-start.so: $(call pic-objs,tests/cuda-wrapper/slow-start.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $^
$(O)/tests/cuda-wrapper/late: $(O)/tests/cuda-wrapper/slow-start.so
deps-y += $(patsubst %.o,%.d,$(call pic-objs,tests/cuda-wrapper/slow-start.c))

# This one writes fat binaries, and the wrapper's cache.
$(call program,tests/cuda-wrapper/several,tests/cuda-wrapper/several.c $(cuda-test-bed) \
	$(addprefix xform/fatbin/,fatbin.c lz4.c zstd.c) $(wildcard ulib/slicer/*.c),\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../cuda' \
	$(O)/lib/libgpushare.a -lpthread -ldl,$(cuda-test-needs))
# This one counts variables itself.
$(call program,tests/cuda-wrapper/globals,tests/cuda-wrapper/globals.c $(cuda-test-bed) \
	$(addprefix xform/fatbin/,fatbin.c lz4.c zstd.c) ulib/cuda/globals.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../cuda' \
	$(O)/lib/libgpushare.a -lpthread -ldl,$(cuda-test-needs))
tests-y += $(addprefix $(O)/tests/cuda-wrapper/,globals several)

# A driver with the functions that the one on the CPU lacks.
rare-driver := $(call pic-objs,$(cpucuda-lib) tests/cuda-wrapper/rare-driver.c)
$(O)/tests/cuda-wrapper/rare-driver/libcuda.so.1: $(rare-driver)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 \
		-Wl,-Bsymbolic -Wl,-z,nodelete -o $@ $^ -lm -lpthread
deps-y += $(patsubst %.o,%.d,$(rare-driver))
$(call cuda-test,rare)
$(O)/tests/cuda-wrapper/rare: $(O)/tests/cuda-wrapper/rare-driver/libcuda.so.1
tests-y += $(O)/tests/cuda-wrapper/rare
checkdeps-y += $(O)/cuda/libcuda.so.1

# One program for both sides: it finds the wrapper unless LD_LIBRARY_PATH says otherwise.
$(call program,tests/cuda-wrapper/replay,tests/cuda-wrapper/replay.c tests/cpucuda/corpus.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../cuda' \
	-Wl$(comma)--whole-archive $(O)/tests/cuda/corpus.a -Wl$(comma)--no-whole-archive -lm -ldl,\
	$(cuda-test-needs) $(O)/tests/cuda/corpus.a)
$(call program,tests/cuda-wrapper/order,tests/cuda-wrapper/order.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../cuda',$(cuda-test-needs))
tests-y += tests/cuda-wrapper/same.sh tests/cuda-wrapper/order.sh
checkdeps-y += $(O)/tests/cuda-wrapper/order
checkdeps-y += $(O)/tests/cuda-wrapper/replay
$(call cuda-test,bench)
$(call cuda-test,measure)
$(call program,tests/cuda-wrapper/nvrtc,tests/cuda-wrapper/nvrtc.c,\
	-L$(O)/cuda -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../cuda' -ldl,$(cuda-test-needs))
gpu-programs := $(addprefix $(O)/tests/cuda-wrapper/,replay measure nvrtc)
checkdeps-y += $(gpu-programs)
tests-y += tests/cuda-wrapper/gpu-on-cpu.sh
bench-y += cuda:$(O)/tests/cuda-wrapper/bench
# This one links with nothing: it finds libcuda.so.1 by its name.
$(call program,tests/cuda-wrapper/probe,tests/cuda-wrapper/probe.c,-ldl,$(cuda-test-needs))
tests-y += tests/cuda-wrapper/probe.sh tests/cuda-wrapper/runtime.sh \
	tests/cuda-wrapper/tool.sh
checkdeps-y += $(O)/tests/cpucuda/libcudart.so.13
checkdeps-y += $(O)/tests/cuda-wrapper/probe
alone-y += $(O)/tests/cuda-wrapper/tenants
