# SPDX-License-Identifier: MIT
# What a reader asks about a function's flow: SPIR-V's; PTX's has rules of its own yet.
flow-c := $(addprefix xform/flow/,graph.c waits.c)
