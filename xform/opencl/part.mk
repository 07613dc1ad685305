# SPDX-License-Identifier: MIT
# The transformer for OpenCL C.

opencl-front := $(addprefix xform/opencl/,lex.c cpp.c cpp_memory.c cpp_expand.c cpp_paste.c \
	cpp_directive.c cpp_include.c cpp_if.c cpp_write.c device.c options.c probe.c)

cflags-tests/xform/opencl := -Ixform/opencl

$(call program,tests/xform/opencl/lex,tests/xform/opencl/lex.c $(opencl-front),)
tests-y += $(O)/tests/xform/opencl/lex

opencl-cpp-tests := $(addprefix tests/xform/opencl/,cpp cpp-random cpp-corpus cpp-broken)
$(foreach t,$(opencl-cpp-tests),$(call program,$(t),$(t).c,$(O)/libgsopencl.a))
tests-y += $(addprefix $(O)/,$(opencl-cpp-tests))
$(call fuzzer,cpp,tests/fuzz/cpp.c $(opencl-front),-Ixform/opencl,)

opencl-back := $(addprefix xform/opencl/,memory.c names.c parse.c expr.c call.c declare.c body.c \
	judge.c write.c workers.c link.c transform.c launch.c told.c)

$(call archive,libgsopencl.a,$(opencl-front) $(opencl-back) xform/common.c xform/reserved.c)
all-y += $(O)/libgsopencl.a

$(call program,tests/xform/opencl/launch,tests/xform/opencl/launch.c,$(O)/libgsopencl.a)
tests-y += $(O)/tests/xform/opencl/launch

opencl-cut-tests := $(addprefix tests/xform/opencl/,rewrite refuse facts link hostile)
$(foreach t,$(opencl-cut-tests),$(call program,$(t),$(t).c,$(O)/libgsopencl.a))
tests-y += $(addprefix $(O)/,$(opencl-cut-tests))
tests-y += tests/xform/opencl/gsxform.sh
checkdeps-y += $(O)/gsxform
$(call fuzzer,opencl,tests/fuzz/opencl.c $(opencl-front) $(opencl-back) xform/common.c xform/reserved.c,,)

$(call program,tests/bench/opencl-xform,tests/bench/opencl-xform.c,$(O)/libgsopencl.a)
bench-y += opencl-xform:$(O)/tests/bench/opencl-xform
