# SPDX-License-Identifier: MIT
# What both wrappers share.
$(call program,tests/wrap/launch/cache,tests/wrap/launch/cache.c wrap/launch/cache.c wrap/launch/sha256.c)
$(call program,tests/wrap/launch/box,tests/wrap/launch/box.c wrap/launch/box.c)
tests-y += $(addprefix $(O)/tests/wrap/launch/,box cache)
