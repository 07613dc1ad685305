# SPDX-License-Identifier: MIT
# The transformer for SPIR-V.

spirv-c := $(addprefix xform/spirv/,read.c facts.c flow.c waits.c write.c workers.c transform.c) \
	xform/reserved.c $(flow-c)

$(call archive,libgsspirv.a,$(spirv-c))
all-y += $(O)/libgsspirv.a

$(call program,tests/xform/spirv/transform,tests/xform/spirv/transform.c,$(O)/libgsspirv.a $(O)/libgsopencl.a)
$(call program,tests/xform/spirv/strict,tests/xform/spirv/strict.c,$(O)/libgsspirv.a $(O)/libgsopencl.a)
$(call program,tests/xform/spirv/broken,tests/xform/spirv/broken.c,$(O)/libgsspirv.a)
tests-y += $(addprefix $(O)/tests/xform/spirv/,transform strict broken)
$(call fuzzer,spirv,tests/fuzz/spirv.c $(spirv-c),,)

# Needs a device that takes SPIR-V: check-full has one.
$(call program,tests/xform/spirv/run,tests/xform/spirv/run.c,$(O)/libgsspirv.a \
	$(O)/libgsopencl.a -lOpenCL)
fulldeps-y += $(O)/tests/xform/spirv/run
full-y += tests/xform/spirv/run-newer
