# SPDX-License-Identifier: MIT
# The transformer for PTX, and the front end that others read PTX with.

ptx-front := $(addprefix xform/ptx/,memory.c lex.c names.c opcode.c operand.c declare.c body.c parse.c)
ptx-back := $(addprefix xform/ptx/,facts.c outside.c state.c waits.c shadow.c cfg.c spread.c exits.c \
	pointers.c maps.c text.c report.c rewrite.c prologue.c transform.c) $(flow-c)
maps-c := $(addprefix xform/maps/,nodes.c order.c values.c access.c figures.c rows.c ranges.c)

$(call archive,libptx.a,$(ptx-front))
$(call archive,libgsxform.a,$(ptx-front) $(ptx-back) $(maps-c) xform/common.c xform/reserved.c)
all-y += $(O)/libgsxform.a

$(call program,tests/xform/ptx/front,tests/xform/ptx/front.c,$(O)/libptx.a)
tests-y += $(O)/tests/xform/ptx/front

$(call program,tests/xform/ptx/transform,tests/xform/ptx/transform.c,$(O)/libgsxform.a)
tests-y += $(O)/tests/xform/ptx/transform

$(call program,tests/xform/ptx/waits,tests/xform/ptx/waits.c,$(O)/libgsxform.a)
tests-y += $(O)/tests/xform/ptx/waits

$(call program,tests/xform/ptx/broken,tests/xform/ptx/broken.c,$(O)/libgsxform.a)
tests-y += $(O)/tests/xform/ptx/broken
$(call fuzzer,ptx,tests/fuzz/ptx.c $(ptx-front) $(ptx-back) $(maps-c) xform/common.c xform/reserved.c,,)

$(call program,tests/bench/ptx,tests/bench/ptx.c,$(O)/libgsxform.a)
$(O)/tests/bench/ptx: $(O)/gsxform $(corpus-ptx)
bench-y += ptx:$(O)/tests/bench/ptx ptx:tests/bench/ptx-cost

# Needs ptxas; says so and passes over where it isn't there.
tests-y += tests/xform/ptx/assemble
tests-y += tests/xform/ptx/gsxform.sh
