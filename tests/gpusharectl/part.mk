# SPDX-License-Identifier: MIT
cflags-tests/gpusharectl := -Igpusharectl -Wno-sign-compare
$(call program,tests/gpusharectl/trace,tests/gpusharectl/trace.c,$(O)/gpusharectl/libtrace.a -lm)
tests-y += $(O)/tests/gpusharectl/trace
$(call fuzzer,trace,tests/gpusharectl/fuzz_trace.c $(addprefix gpusharectl/,json.c perfetto.c svg.c \
	timeline.c trace.c),-Igpusharectl,-lm)

# The tool, over a private daemon.
$(call program,tests/gpusharectl/busy,tests/gpusharectl/busy.c,$(O)/lib/libgpushare.a -lpthread)
checkdeps-y += $(O)/tests/gpusharectl/busy
$(call program,tests/gpusharectl/terminal,tests/gpusharectl/terminal.c)
checkdeps-y += $(O)/tests/gpusharectl/terminal
$(O)/tests/gpusharectl/libnvidia-ml.so.1: $(call pic-objs,tests/gpusharectl/nvml.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $^
checkdeps-y += $(O)/tests/gpusharectl/libnvidia-ml.so.1
deps-y += $(patsubst %.o,%.d,$(call pic-objs,tests/gpusharectl/nvml.c))
$(call program,tests/gpusharectl/intruder,tests/gpusharectl/intruder.c,$(if $(SAN),,-static) -pthread)
$(O)/tests/gpusharectl/bpf-faults.so: $(call pic-objs,tests/gpusharectl/bpf-faults.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $^ -ldl
checkdeps-y += $(O)/tests/gpusharectl/intruder $(O)/tests/gpusharectl/bpf-faults.so
deps-y += $(patsubst %.o,%.d,$(call pic-objs,tests/gpusharectl/bpf-faults.c))
tests-y += $(addprefix tests/gpusharectl/,commands.sh config.sh driver.sh gate.sh gate-faults.sh hook.sh hostile.sh json.sh metrics.sh pages.sh run.sh terminal.sh units.sh usage.sh users.sh web.sh)

ctl-words := $(addprefix gpusharectl/,amount.c config.c event-names.c json.c props.c term.c)
$(call program,tests/gpusharectl/words,tests/gpusharectl/words.c $(ctl-words))
tests-y += $(O)/tests/gpusharectl/words
$(call fuzzer,config,tests/gpusharectl/fuzz_config.c $(ctl-words),-Igpusharectl)

$(call program,tests/gpusharectl/ledger,tests/gpusharectl/ledger.c \
	$(addprefix gpusharectl/,books.c file.c ledger.c))
tests-y += $(O)/tests/gpusharectl/ledger
$(call fuzzer,ledger,tests/gpusharectl/fuzz_ledger.c gpusharectl/ledger.c,-Igpusharectl)

full-y += tests/gpusharectl/prometheus.sh tests/gpusharectl/browser.sh
$(call program,tests/gpusharectl/viewer,tests/gpusharectl/viewer.c)
checkdeps-y += $(O)/tests/gpusharectl/viewer
ifneq ($(wildcard Kbuild),)
full-y += tests/gpusharectl/kernel-vm.sh tests/gpusharectl/gate-vm.sh
endif
