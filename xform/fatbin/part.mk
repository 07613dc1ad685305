# SPDX-License-Identifier: MIT
fatbin-c := xform/fatbin/fatbin.c xform/fatbin/lz4.c xform/fatbin/zstd.c
$(call archive,xform/libgsfatbin.a,$(fatbin-c))
all-y += $(O)/xform/libgsfatbin.a

$(call program,tests/xform/fatbin/fatbin-test,tests/xform/fatbin/fatbin-test.c,$(O)/xform/libgsfatbin.a)
tests-y += $(O)/tests/xform/fatbin/fatbin-test
$(call fuzzer,fatbin,tests/fuzz/fatbin.c $(fatbin-c),,)
