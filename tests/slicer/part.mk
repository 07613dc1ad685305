# SPDX-License-Identifier: MIT
# What both wrappers share.
cflags-tests/slicer := -I.
$(call program,tests/slicer/cache,tests/slicer/cache.c ulib/slicer/cache.c ulib/slicer/sha256.c)
tests-y += $(O)/tests/slicer/cache
