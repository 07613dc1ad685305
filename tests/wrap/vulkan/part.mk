# SPDX-License-Identifier: MIT
# The Vulkan layer, by programs that know nothing of it.
ifneq ($(wildcard /usr/include/vulkan/vk_layer.h),)
cflags-tests/wrap/vulkan = -I$(O)/gen
vulkan-shaders := $(patsubst tests/wrap/vulkan/%,$(O)/gen/%.h,$(wildcard tests/wrap/vulkan/*.comp))

$(O)/gen/%.comp.h: tests/wrap/vulkan/%.comp
	$(Q)mkdir -p $(@D)
	$(call say,GLSL,$@)glslangValidator -V --quiet --vn $*_spv -o $@ $<

$(O)/obj/tests/wrap/vulkan/compute.o: $(vulkan-shaders)
$(call program,tests/wrap/vulkan/compute,tests/wrap/vulkan/compute.c,-lvulkan)
checkdeps-y += $(O)/tests/wrap/vulkan/compute
endif
alone-y += tests/wrap/vulkan/layer.sh
