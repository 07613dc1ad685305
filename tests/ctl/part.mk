# SPDX-License-Identifier: MIT
cflags-tests/ctl := -Igpusharectl -Wno-sign-compare
$(call program,tests/ctl/trace,tests/ctl/trace.c,$(O)/gpusharectl/libtrace.a -lm)
tests-y += $(O)/tests/ctl/trace
$(call fuzzer,trace,tests/ctl/fuzz_trace.c $(addprefix gpusharectl/,json.c perfetto.c svg.c \
	timeline.c trace.c),-Igpusharectl,-lm)

# The tool, over a private daemon.
cflags-tests/ctl += -Iulib/include
$(call program,tests/ctl/busy,tests/ctl/busy.c,$(O)/lib/libgpushare.a -lpthread)
checkdeps-y += $(O)/tests/ctl/busy
$(call program,tests/ctl/terminal,tests/ctl/terminal.c)
checkdeps-y += $(O)/tests/ctl/terminal
$(O)/tests/ctl/libnvidia-ml.so.1: $(call pic-objs,tests/ctl/nvml.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $^
checkdeps-y += $(O)/tests/ctl/libnvidia-ml.so.1
deps-y += $(patsubst %.o,%.d,$(call pic-objs,tests/ctl/nvml.c))
tests-y += $(addprefix tests/ctl/,commands.sh config.sh driver.sh hostile.sh json.sh pages.sh run.sh terminal.sh users.sh)

ctl-words := $(addprefix gpusharectl/,amount.c config.c json.c props.c term.c)
$(call program,tests/ctl/words,tests/ctl/words.c $(ctl-words))
tests-y += $(O)/tests/ctl/words
$(call fuzzer,config,tests/ctl/fuzz_config.c $(ctl-words),-Igpusharectl)

ifneq ($(wildcard Kbuild),)
full-y += tests/ctl/kernel-vm.sh
endif
