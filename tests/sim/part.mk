# SPDX-License-Identifier: MIT
sim-lib := $(addprefix tests/sim/,clock.c fluid.c host.c machine.c memory.c metrics.c option.c \
	report.c run.c scenario.c tenant.c things.c trace.c value.c)
sim-eval := $(addprefix tests/sim/,evaluation.c eval_fairness.c eval_guarantees.c eval_slices.c)

# No fused multiply-add: the figures must be the same on every machine.
cflags-tests/sim := -ffp-contract=off

$(call archive,tests/sim/libsim.a,$(sim-lib))
sim-libs := $(O)/tests/sim/libsim.a $(core-lib) $(O)/gpusharectl/libtrace.a -lm

$(call program,tests/sim/gpushare-sim,tests/sim/main.c,$(sim-libs))
$(call program,tests/sim/evaluation,$(sim-eval),$(sim-libs))
all-y += $(O)/tests/sim/gpushare-sim

$(call program,tests/sim/values,tests/sim/values.c,$(sim-libs))
$(call program,tests/sim/parser,tests/sim/parser.c,$(sim-libs))
$(call program,tests/sim/model,tests/sim/model.c,$(sim-libs))
tests-y += $(addprefix $(O)/tests/sim/,values parser model)
tests-y += $(addprefix tests/sim/check-,scenarios output evaluation)
checkdeps-y += $(O)/tests/sim/gpushare-sim $(O)/tests/sim/evaluation

sim-fuzz := tests/sim/fuzz-scenario.c $(filter-out tests/sim/trace.c,$(sim-lib)) $(core-src)
$(call fuzzer,sim-scenario,$(sim-fuzz),-Itests/sim,-lm)

.PHONY: evaluation
#? make evaluation   write Documentation/evaluation.md anew
evaluation: $(O)/tests/sim/evaluation
	$(Q)$< tests/sim/scenarios > Documentation/evaluation.md.new
	$(Q)mv Documentation/evaluation.md.new Documentation/evaluation.md
