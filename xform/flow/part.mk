# SPDX-License-Identifier: MIT
# What the readers of PTX and SPIR-V ask about a function's flow.
flow-c := $(addprefix xform/flow/,graph.c waits.c)
