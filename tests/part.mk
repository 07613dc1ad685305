# SPDX-License-Identifier: MIT
$(call program,tests/frame/harness,tests/frame/harness.c)
$(call program,tests/frame/uapi,tests/frame/uapi.c)
tests-y += $(O)/tests/frame/harness $(O)/tests/frame/uapi tests/frame/tree.sh tests/frame/lint.sh tests/frame/docs.sh tests/frame/build.sh tests/frame/setup.sh tests/frame/run.sh
