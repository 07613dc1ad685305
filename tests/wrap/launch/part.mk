# SPDX-License-Identifier: MIT
# What the wrappers share.
$(call program,tests/wrap/launch/cache,tests/wrap/launch/cache.c wrap/launch/cache.c wrap/launch/sha256.c)
$(call program,tests/wrap/launch/box,tests/wrap/launch/box.c wrap/launch/box.c)
$(call program,tests/wrap/launch/option,tests/wrap/launch/option.c wrap/launch/option.c)
$(call program,tests/wrap/launch/budget,tests/wrap/launch/budget.c wrap/launch/budget.c)
tests-y += $(addprefix $(O)/tests/wrap/launch/,box budget cache option)
