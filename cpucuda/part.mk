# SPDX-License-Identifier: MIT
# The driver on the CPU. What needs no API is an archive that tests link.
cpucuda-exec := $(addprefix cpucuda/,memory.c decode.c decode_state.c decode_ops.c exec_int.c \
	exec_float.c exec_mem.c exec_flow.c exec_tex.c exec_matrix.c exec_async.c \
	exec_simd.c decode_units.c warp.c thread.c special.c run.c texture.c)
cflags-cpucuda := -frounding-math

$(call archive,cpucuda/exec.a,$(cpucuda-exec))

cpucuda-api := $(addprefix cpucuda/,ctx.c device.c stream.c api_mem.c vmm.c pool.c \
	managed.c array.c array_copy.c module.c library.c launch.c graph.c graph_nodes.c capture.c proc.c times.c)
cpucuda-lib := $(cpucuda-exec) $(cpucuda-api) xform/fatbin/fatbin.c xform/fatbin/lz4.c \
	xform/fatbin/zstd.c $(addprefix xform/ptx/,memory.c lex.c names.c opcode.c operand.c \
	declare.c body.c parse.c)
# Never unloaded (nodelete): its thread, the device, runs on when a program that
# loaded it, as NVIDIA's runtime does when it refuses us, closes it again. It needs
# the libraries that NVIDIA's driver and runtime need, so that a start costs what it does.
cpucuda-needs := -Wl,--no-as-needed -lm $(if $(SAN),-ldl -lpthread,\
	-l:libdl.so.2 -l:libpthread.so.0 -l:librt.so.1)
$(O)/cpucuda/libcuda.so.1: $(call pic-objs,$(cpucuda-lib)) cpucuda/part.mk
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 \
		-Wl,-Bsymbolic -Wl,-z,nodelete -o $@ $(filter %.o,$^) $(cpucuda-needs)
	$(Q)ln -sf libcuda.so.1 $(@D)/libcuda.so
deps-y += $(patsubst %.o,%.d,$(call pic-objs,$(cpucuda-lib)))

cudart-src := $(addprefix cpucuda/cudart,.c -graph.c -memory.c -missing.c)
$(O)/cpucuda/libcudart.so.13: $(call pic-objs,$(cudart-src)) cpucuda/cudart.map
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libcudart.so.13 \
		-Wl,--version-script=cpucuda/cudart.map -o $@ $(filter %.o,$^) -ldl -lpthread
deps-y += $(patsubst %.o,%.d,$(call pic-objs,$(cudart-src)))
all-y += $(addprefix $(O)/cpucuda/,libcuda.so.1 libcudart.so.13)
