# SPDX-License-Identifier: MIT
# OpenCL kernels, cut and run: what comes out must be what the original gives.
opencl-cut := $(addprefix tests/xform/opencl/,spec.c clhost.c clprobe.c memory.c run-cut.c engine.c)
opencl-libs := $(O)/libgsopencl.a -lOpenCL -lpthread

$(call program,tests/xform/opencl/corpus-test,tests/xform/opencl/corpus-test.c $(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/xform/opencl/corpus-test

$(call program,tests/xform/opencl/random-test,$(addprefix tests/xform/opencl/,random-test.c generate.c) \
	$(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/xform/opencl/random-test

$(call program,tests/xform/opencl/plants-test,tests/xform/opencl/plants-test.c $(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/xform/opencl/plants-test

full-y += tests/xform/opencl/newer.sh

$(call program,tests/xform/opencl/oracle-test,tests/xform/opencl/oracle-test.c $(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/xform/opencl/oracle-test

full-y += tests/xform/opencl/piglit.sh

$(call program,tests/xform/opencl/build-bench,$(addprefix tests/xform/opencl/,build-bench.c spec.c clhost.c \
	clprobe.c engine.c),$(opencl-libs) -lm)
bench-y += opencl:$(O)/tests/xform/opencl/build-bench
