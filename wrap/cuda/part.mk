# SPDX-License-Identifier: MIT
# The libcuda wrapper: everything that it needs is in it, but the C library, and
# nothing but CUDA's names shows.
cuda-c := $(sort $(wildcard wrap/cuda/*.c)) $(wildcard wrap/launch/*.c)
cuda-xform := $(sort $(wildcard xform/ptx/*.c xform/maps/*.c)) xform/common.c xform/reserved.c
cuda-xform += $(addprefix xform/flow/,graph.c waits.c)
cuda-xform += $(addprefix xform/fatbin/,fatbin.c lz4.c zstd.c)
cuda-objs := $(call pic-objs,$(cuda-c) $(cuda-xform)) $(O)/pic/wrap/cuda/entry.o
cuda-so := $(O)/cuda/libcuda.so.1
cflags-wrap/cuda := -I$(O)/wrap/cuda -fno-semantic-interposition $(ulib-tsan)

# What was transformed is kept on disk under a key that names the transformer: by its
# sources, as nobody remembers to count up a number.
cuda-xform-id := $(O)/wrap/cuda/xform_id.h
$(cuda-xform-id): $(sort $(wildcard xform/ptx/*.[ch] xform/flow/*.[ch] xform/maps/*.[ch] xform/include/*.h)) xform/common.c xform/reserved.c
	$(Q)mkdir -p $(@D)
	$(Q)cat $^ | sha256sum | sed 's/^\([0-9a-f]*\).*/#define GS_XFORM_ID "\1"/' >$@
$(O)/pic/wrap/cuda/image.o: $(cuda-xform-id)

$(O)/pic/wrap/cuda/entry.o: wrap/cuda/entry.S wrap/cuda/names.h Makefile
	$(Q)mkdir -p $(@D)
	$(call say,AS,$@)$(CC) -c -o $@ $<

$(cuda-so): $(cuda-objs) $(O)/lib/libgpushare.a wrap/cuda/libcuda.map
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 \
		-Wl,--no-as-needed -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,--version-script=wrap/cuda/libcuda.map \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ $(cuda-objs) $(ulib-a) \
		$(if $(SAN),-ldl -lpthread,-l:libdl.so.2 -l:libpthread.so.0)

deps-y += $(filter %.d,$(cuda-objs:.o=.d))
all-y += $(cuda-so)

.PHONY: install-cuda
install-cuda: $(cuda-so)
	install -d $(DESTDIR)$(PREFIX)/lib/gpushare/cuda
	install -m 755 $(cuda-so) $(DESTDIR)$(PREFIX)/lib/gpushare/cuda/
install-y += install-cuda
