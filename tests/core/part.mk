# SPDX-License-Identifier: MIT
core-tests := basic beside contract due examples guarantee hostile life long memory numbers rules \
	shares
$(foreach t,$(core-tests),\
	$(call program,tests/core/$(t),tests/core/$(t).c tests/core/bed.c,$(contract-lib) $(core-lib) -lm))
tests-y += $(addprefix $(O)/tests/core/,$(core-tests))

core-world := $(addprefix tests/core/,properties.c world.c world-check.c)
$(call program,tests/core/properties,$(core-world),$(core-lib))
tests-y += $(O)/tests/core/properties

# For who builds packages: they need nothing but a processor.
.PHONY: check-core
check-core: $(addprefix $(O)/tests/core/,$(core-tests) properties)
	$(Q)O=$(O) tests/run $^
$(call fuzzer,core,$(core-world) $(core-src),-DGS_LIBFUZZER)

$(call program,tests/core/bench,tests/core/bench.c,$(core-lib))
bench-y += core:$(O)/tests/core/bench
