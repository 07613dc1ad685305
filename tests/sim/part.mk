# SPDX-License-Identifier: MIT
cflags-tests/sim := -Isim -ffp-contract=off
$(call program,tests/sim/values,tests/sim/values.c,$(sim-libs))
$(call program,tests/sim/parser,tests/sim/parser.c,$(sim-libs))
$(call program,tests/sim/model,tests/sim/model.c,$(sim-libs))
tests-y += $(addprefix $(O)/tests/sim/,values parser model)
tests-y += $(addprefix tests/sim/check-,scenarios output evaluation)
checkdeps-y += $(O)/sim/gpushare-sim $(O)/sim/evaluation

sim-fuzz := tests/sim/fuzz-scenario.c $(filter-out sim/trace.c,$(sim-lib)) $(core-src)
$(call fuzzer,sim-scenario,$(sim-fuzz),-Isim,-lm)
