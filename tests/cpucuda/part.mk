# SPDX-License-Identifier: MIT
# The driver on the CPU. What needs no API is an archive that tests link.
cpucuda-exec := $(addprefix tests/cpucuda/,memory.c decode.c decode_state.c decode_ops.c exec_int.c \
	exec_float.c exec_mem.c exec_flow.c exec_tex.c exec_matrix.c exec_async.c \
	exec_simd.c decode_units.c warp.c thread.c special.c run.c texture.c)
cflags-tests/cpucuda := -frounding-math

$(call archive,tests/cpucuda/exec.a,$(cpucuda-exec))
corpus-whole := -Wl,--whole-archive $(O)/tests/cuda/corpus.a -Wl,--no-whole-archive
$(call program,tests/cpucuda/exec-test,tests/cpucuda/exec-test.c tests/cpucuda/corpus.c,\
	$(O)/tests/cpucuda/exec.a $(O)/libptx.a $(corpus-whole) -lm,$(O)/tests/cuda/corpus.a)
tests-y += $(O)/tests/cpucuda/exec-test

$(call program,tests/cpucuda/cut-test,tests/cpucuda/cut-test.c tests/cpucuda/cut.c \
	tests/cpucuda/corpus.c,$(O)/tests/cpucuda/exec.a $(O)/libgsxform.a $(corpus-whole) -lm,\
	$(O)/tests/cuda/corpus.a)
tests-y += $(O)/tests/cpucuda/cut-test

# The instructions one by one.
cpucuda-unit = $(call program,tests/cpucuda/$(1),$(addprefix tests/cpucuda/,$(1).c unit.c),\
	$(O)/tests/cpucuda/exec.a $(O)/libptx.a -lm)
$(foreach t,units-test edges-test,$(call cpucuda-unit,$(t)))
tests-y += $(addprefix $(O)/tests/cpucuda/,units-test edges-test)

$(call program,tests/cpucuda/coverage-test,tests/cpucuda/coverage-test.c tests/cpucuda/corpus.c,\
	$(O)/tests/cpucuda/exec.a $(O)/libptx.a $(corpus-whole) -lm,$(O)/tests/cuda/corpus.a)
tests-y += $(O)/tests/cpucuda/coverage-test

# The driver itself, and what else has its name by loading.
cpucuda-api := $(addprefix tests/cpucuda/,ctx.c device.c stream.c api_mem.c vmm.c pool.c \
	managed.c array.c array_copy.c module.c library.c launch.c graph.c graph_nodes.c capture.c proc.c)
cpucuda-lib := $(cpucuda-exec) $(cpucuda-api) xform/fatbin/fatbin.c xform/fatbin/lz4.c \
	xform/fatbin/zstd.c $(addprefix xform/ptx/,memory.c lex.c names.c opcode.c operand.c \
	declare.c body.c parse.c)
# Never unloaded (nodelete): its thread, the device, runs on when a program that
# loaded it, as NVIDIA's runtime does when it refuses us, closes it again. It needs
# the libraries that NVIDIA's driver and runtime need, so that a start costs what it does.
cpucuda-needs := -Wl,--no-as-needed -lm $(if $(SAN),-ldl -lpthread,\
	-l:libdl.so.2 -l:libpthread.so.0 -l:librt.so.1)
$(O)/tests/cpucuda/libcuda.so.1: $(call pic-objs,$(cpucuda-lib)) tests/cpucuda/part.mk
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 \
		-Wl,-Bsymbolic -Wl,-z,nodelete -o $@ $(filter %.o,$^) $(cpucuda-needs)
	$(Q)ln -sf libcuda.so.1 $(@D)/libcuda.so
deps-y += $(patsubst %.o,%.d,$(call pic-objs,$(cpucuda-lib)))
all-y += $(O)/tests/cpucuda/libcuda.so.1

$(call program,tests/cpucuda/driver-test,tests/cpucuda/driver-test.c tests/cpucuda/corpus.c,\
	-L$(O)/tests/cpucuda -lcuda -Wl$(comma)-rpath$(comma)'$$$$ORIGIN' $(corpus-whole) -lm -ldl \
	-lpthread,$(O)/tests/cpucuda/libcuda.so.1 $(O)/tests/cuda/corpus.a)
tests-y += $(O)/tests/cpucuda/driver-test

$(call program,tests/cpucuda/objects-test,tests/cpucuda/objects-test.c,\
	-L$(O)/tests/cpucuda -lcuda -Wl$(comma)-rpath$(comma)'$$$$ORIGIN' -lpthread,\
	$(O)/tests/cpucuda/libcuda.so.1)
tests-y += $(O)/tests/cpucuda/objects-test

$(O)/tests/cpucuda/libcudart.so.13: $(O)/pic/tests/cpucuda/cudart.o tests/cpucuda/cudart.map
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libcudart.so.13 \
		-Wl,--version-script=tests/cpucuda/cudart.map -o $@ $< -ldl -lpthread
deps-y += $(O)/pic/tests/cpucuda/cudart.d
all-y += $(O)/tests/cpucuda/libcudart.so.13
tests-y += tests/cpucuda/toolkit.sh
checkdeps-y += $(O)/tests/cpucuda/libcudart.so.13 $(O)/tests/cpucuda/libcuda.so.1 $(O)/gsxform

$(call program,tests/cpucuda/random-test,$(addprefix tests/cpucuda/,random-test.c generate.c cut.c),\
	$(O)/tests/cpucuda/exec.a $(O)/libgsxform.a -lm)
tests-y += $(O)/tests/cpucuda/random-test
