# SPDX-License-Identifier: MIT
# The OpenCL layer, by programs that know nothing of it.
$(call program,tests/wrap/opencl/api,$(addprefix tests/wrap/opencl/,api.c events.c launches.c \
	modules.c objects.c use.c),-lOpenCL -lpthread)
$(call program,tests/wrap/opencl/look,$(addprefix tests/wrap/opencl/,look.c use.c),-lOpenCL -lpthread)
$(call program,tests/wrap/opencl/spin,$(addprefix tests/wrap/opencl/,spin.c use.c),-lOpenCL)
$(call program,tests/wrap/opencl/stalls,$(addprefix tests/wrap/opencl/,stalls.c use.c),-lOpenCL -lpthread)
$(call program,tests/wrap/opencl/holds,tests/wrap/opencl/holds.c,$(O)/lib/libgpushare.a -lpthread)
$(call program,tests/wrap/opencl/charge,$(addprefix tests/wrap/opencl/,charge.c use.c),-lOpenCL)
$(call program,tests/wrap/opencl/ends,$(addprefix tests/wrap/opencl/,ends.c use.c),-lOpenCL)
$(call program,tests/wrap/opencl/unload,tests/wrap/opencl/unload.c,-ldl)
$(call program,tests/wrap/opencl/stops,$(addprefix tests/wrap/opencl/,stops.c use.c),-lOpenCL)
$(call program,tests/wrap/opencl/ways,tests/wrap/opencl/ways.c wrap/opencl/ways.c)
$(call program,tests/wrap/opencl/pieces,tests/wrap/opencl/pieces.c \
	$(addprefix wrap/opencl/,cut.c estimate.c) $(addprefix wrap/launch/,box.c option.c))
tests-y += $(addprefix $(O)/tests/wrap/opencl/,pieces ways)
$(call program,tests/wrap/opencl/cost,$(addprefix tests/wrap/opencl/,cost.c use.c),-lOpenCL)
corpus-host := $(addprefix tests/xform/opencl/,spec.c clhost.c clprobe.c memory.c)
$(call program,tests/wrap/opencl/longer,tests/wrap/opencl/longer.c $(corpus-host), \
	$(O)/libgsopencl.a -lOpenCL)
$(call program,tests/wrap/opencl/builds,tests/wrap/opencl/builds.c $(corpus-host), \
	$(O)/libgsopencl.a -lOpenCL)

$(O)/tests/wrap/opencl/spy.so: $(call pic-objs,tests/wrap/opencl/spy.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $^ -lpthread

# Loaded before all others, so it is no layer.
$(O)/tests/wrap/opencl/fewer.so: $(call pic-objs,tests/wrap/opencl/fewer.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS) -shared -o $@ $^ -ldl -lpthread

# Stands for a driver that takes SPIR-V, with what it needs to know ours by.
il-c := $(wildcard xform/opencl/*.c xform/spirv/*.c xform/flow/*.c) xform/common.c xform/reserved.c
$(O)/tests/wrap/opencl/il.so: $(call pic-objs,tests/wrap/opencl/il.c $(il-c)) xform/include/gsspirv.h
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $(call pic-objs,tests/wrap/opencl/il.c $(il-c))
checkdeps-y += $(addprefix $(O)/tests/wrap/opencl/,api charge ends fewer.so holds look stalls stops unload \
	spy.so il.so)

# The script, by way of a program of its own, which make builds with all that it needs.
$(O)/tests/wrap/opencl/bench: tests/wrap/opencl/bench $(addprefix $(O)/, \
		$(addprefix tests/wrap/opencl/,cost longer builds look stops) \
		bin/gpusharectl \
		gpushared/gpushared lib/gpushare/libgpushare-opencl.so)
	$(Q)printf '#!/bin/sh\nexec %s/tests/wrap/opencl/bench\n' "$(CURDIR)" >$@; chmod +x $@
bench-y += opencl:$(O)/tests/wrap/opencl/bench
tests-y += $(addprefix tests/wrap/opencl/,kept.sh threads.sh il.sh ends.sh memory.sh)
alone-y += tests/wrap/opencl/modes.sh tests/wrap/opencl/layer.sh tests/wrap/opencl/programs.sh
# Not in `make check`: PoCL 3.1 may hang in workers (see wrap/opencl/workers.c).
full-y += tests/wrap/opencl/stops.sh
full-y += $(addprefix tests/wrap/opencl/,stalls.sh tenants.sh drivers.sh newer.sh system.sh)
