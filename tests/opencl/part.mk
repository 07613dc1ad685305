# SPDX-License-Identifier: MIT
# OpenCL kernels, cut and run: what comes out must be what the original gives.
opencl-cut := $(addprefix tests/opencl/,spec.c clhost.c clprobe.c memory.c cut.c engine.c)
opencl-libs := $(O)/libgsopencl.a -lOpenCL -lpthread

$(call program,tests/opencl/corpus-test,tests/opencl/corpus-test.c $(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/opencl/corpus-test

$(call program,tests/opencl/random-test,$(addprefix tests/opencl/,random-test.c generate.c) \
	$(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/opencl/random-test

$(call program,tests/opencl/plants-test,tests/opencl/plants-test.c $(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/opencl/plants-test

full-y += tests/opencl/newer.sh

$(call program,tests/opencl/oracle-test,tests/opencl/oracle-test.c $(opencl-cut),$(opencl-libs))
tests-y += $(O)/tests/opencl/oracle-test

full-y += tests/opencl/piglit.sh

$(call program,tests/opencl/build-bench,$(addprefix tests/opencl/,build-bench.c spec.c clhost.c \
	clprobe.c engine.c),$(opencl-libs) -lm)
bench-y += opencl:$(O)/tests/opencl/build-bench
