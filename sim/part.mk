# SPDX-License-Identifier: MIT
# The simulator: the core under a clock of its own.
sim-lib := $(addprefix sim/,clock.c fluid.c host.c machine.c memory.c metrics.c option.c \
	report.c run.c scenario.c tenant.c things.c trace.c value.c)
sim-eval := $(addprefix sim/,evaluation.c eval_fairness.c eval_guarantees.c eval_slices.c)

# No fused multiply-add: the figures must be the same on every machine.
cflags-sim := -ffp-contract=off

$(call archive,sim/libsim.a,$(sim-lib))
sim-libs := $(O)/sim/libsim.a $(core-lib) $(O)/gpusharectl/libtrace.a -lm

$(call program,sim/gpushare-sim,sim/main.c,$(sim-libs))
$(call program,sim/evaluation,$(sim-eval),$(sim-libs))
all-y += $(O)/sim/gpushare-sim

.PHONY: evaluation
#? make evaluation   write Documentation/evaluation.md anew
evaluation: $(O)/sim/evaluation
	$(Q)$< sim/scenarios > Documentation/evaluation.md.new
	$(Q)mv Documentation/evaluation.md.new Documentation/evaluation.md
