# SPDX-License-Identifier: MIT
# What both wrappers share.
cflags-tests/slicer := -I.
$(call program,tests/slicer/cache,tests/slicer/cache.c ulib/slicer/cache.c ulib/slicer/sha256.c)
$(call program,tests/slicer/box,tests/slicer/box.c ulib/slicer/box.c)
tests-y += $(addprefix $(O)/tests/slicer/,box cache)
