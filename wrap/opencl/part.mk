# SPDX-License-Identifier: MIT
# The OpenCL layer. It is loaded into programs, in other distributions' containers
# as well, so it is held to libgpushare's rules, and carries that library in it.
# It is left out where OpenCL's headers aren't.
opencl-headers := $(wildcard /usr/include/CL/cl_layer.h)
opencl-src := $(wildcard wrap/opencl/*.c wrap/launch/*.c xform/opencl/*.c xform/spirv/*.c xform/flow/*.c) \
	xform/common.c xform/reserved.c
opencl-so := $(O)/lib/gpushare/libgpushare-opencl.so
cflags-wrap/opencl = $(ulib-flags) $(ulib-tsan)

$(opencl-so): $(call pic-objs,$(opencl-src)) $(O)/lib/libgpushare.a wrap/opencl/opencl.map
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libgpushare-opencl.so \
		-Wl,--no-as-needed -Wl,--version-script=wrap/opencl/opencl.map -Wl,-z,nodelete \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ \
		$(call pic-objs,$(opencl-src)) $(O)/lib/libgpushare.a \
		$(if $(SAN),,-l:libdl.so.2 -l:libpthread.so.0)

ifneq ($(opencl-headers),)
deps-y += $(patsubst %.o,%.d,$(call pic-objs,$(opencl-src)))
all-y += $(opencl-so)

# Loaders since ocl-icd 2.3.2 look for layers in /etc/OpenCL/layers as well; what
# lies there is for all programs, so the file is only put where an admin can
# link to it from there.
.PHONY: install-opencl
install-opencl: $(opencl-so)
	install -d $(DESTDIR)$(PREFIX)/lib/gpushare
	install -m 755 $(opencl-so) $(DESTDIR)$(PREFIX)/lib/gpushare/
	echo $(PREFIX)/lib/gpushare/libgpushare-opencl.so \
		>$(DESTDIR)$(PREFIX)/lib/gpushare/gpushare.lay
install-y += install-opencl
endif
