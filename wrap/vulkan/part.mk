# SPDX-License-Identifier: MIT
# The Vulkan layer: held to libgpushare's rules as the OpenCL layer is, with that library
# in it. It is left out where Vulkan's headers aren't.
vulkan-headers := $(wildcard /usr/include/vulkan/vk_layer.h)
vulkan-core := /usr/include/vulkan/vulkan_core.h
vulkan-src := $(wildcard wrap/vulkan/*.c) $(addprefix wrap/launch/,box.c budget.c option.c)
vulkan-so := $(O)/lib/gpushare/vulkan/libgpushare-vulkan.so
vulkan-json := $(O)/lib/gpushare/vulkan/gpushare.json
vulkan-made := $(O)/gen/vulkan-commands.h
vulkan-ours = $(shell sed -n 's/.*{ "\(vkCmd[A-Za-z]*\)".*/\1/p' wrap/vulkan/record.c)
cflags-wrap/vulkan = $(ulib-flags) $(ulib-tsan) -I$(O)/gen

$(vulkan-made): wrap/vulkan/commands.awk wrap/vulkan/record.c $(wildcard $(vulkan-core))
	$(Q)mkdir -p $(@D)
	$(call say,GEN,$@)awk -v ours="$(vulkan-ours)" -f $< $(vulkan-core) >$@.new && mv $@.new $@

$(call pic-objs,wrap/vulkan/others.c): $(vulkan-made)

$(vulkan-json): wrap/vulkan/gpushare.json
	$(Q)mkdir -p $(@D)
	$(call say,CP,$@)cp $< $@

$(vulkan-so): $(call pic-objs,$(vulkan-src)) $(O)/lib/libgpushare.a wrap/vulkan/vulkan.map
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libgpushare-vulkan.so \
		-Wl,--no-as-needed -Wl,--version-script=wrap/vulkan/vulkan.map -Wl,-z,nodelete \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ \
		$(call pic-objs,$(vulkan-src)) $(O)/lib/libgpushare.a \
		$(if $(SAN),,-l:libdl.so.2 -l:libpthread.so.0)

ifneq ($(vulkan-headers),)
deps-y += $(patsubst %.o,%.d,$(call pic-objs,$(vulkan-src)))
all-y += $(vulkan-so) $(vulkan-json)

.PHONY: install-vulkan
install-vulkan: $(vulkan-so) $(vulkan-json)
	install -d $(DESTDIR)$(PREFIX)/lib/gpushare/vulkan
	install -m 755 $(vulkan-so) $(DESTDIR)$(PREFIX)/lib/gpushare/vulkan/
	install -m 644 $(vulkan-json) $(DESTDIR)$(PREFIX)/lib/gpushare/vulkan/
install-y += install-vulkan
endif
