# SPDX-License-Identifier: MIT
# The OpenCL layer, by programs that know nothing of it.
cflags-tests/opencl-layer := -Iulib/include
$(call program,tests/opencl-layer/api,$(addprefix tests/opencl-layer/,api.c events.c launches.c \
	modules.c objects.c use.c),-lOpenCL -lpthread)
$(call program,tests/opencl-layer/look,$(addprefix tests/opencl-layer/,look.c use.c),-lOpenCL -lpthread)
$(call program,tests/opencl-layer/stalls,$(addprefix tests/opencl-layer/,stalls.c use.c),-lOpenCL -lpthread)
$(call program,tests/opencl-layer/holds,tests/opencl-layer/holds.c,$(O)/lib/libgpushare.a -lpthread)
$(call program,tests/opencl-layer/charge,$(addprefix tests/opencl-layer/,charge.c use.c),-lOpenCL)
$(call program,tests/opencl-layer/unload,tests/opencl-layer/unload.c,-ldl)
$(call program,tests/opencl-layer/stops,$(addprefix tests/opencl-layer/,stops.c use.c),-lOpenCL)
$(call program,tests/opencl-layer/ways,tests/opencl-layer/ways.c ulib/opencl/ways.c)
$(call program,tests/opencl-layer/pieces,tests/opencl-layer/pieces.c \
	$(addprefix ulib/opencl/,cut.c estimate.c option.c) ulib/slicer/box.c)
tests-y += $(addprefix $(O)/tests/opencl-layer/,pieces ways)
$(call program,tests/opencl-layer/cost,$(addprefix tests/opencl-layer/,cost.c use.c),-lOpenCL)
corpus-host := $(addprefix tests/opencl/,spec.c clhost.c clprobe.c memory.c)
$(call program,tests/opencl-layer/longer,tests/opencl-layer/longer.c $(corpus-host), \
	$(O)/libgsopencl.a -lOpenCL)
$(call program,tests/opencl-layer/builds,tests/opencl-layer/builds.c $(corpus-host), \
	$(O)/libgsopencl.a -lOpenCL)

$(O)/tests/opencl-layer/spy.so: $(call pic-objs,tests/opencl-layer/spy.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $^ -lpthread

# Loaded before all others, so it is no layer.
$(O)/tests/opencl-layer/fewer.so: $(call pic-objs,tests/opencl-layer/fewer.c)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(LDFLAGS) -shared -o $@ $^ -ldl -lpthread

# Stands for a driver that takes SPIR-V, with what it needs to know ours by.
il-c := $(wildcard xform/opencl/*.c xform/spirv/*.c) xform/common.c xform/reserved.c
$(O)/tests/opencl-layer/il.so: $(call pic-objs,tests/opencl-layer/il.c $(il-c)) xform/include/gsspirv.h
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -o $@ $(call pic-objs,tests/opencl-layer/il.c $(il-c))
checkdeps-y += $(addprefix $(O)/tests/opencl-layer/,api charge fewer.so holds look stalls stops unload \
	spy.so il.so)

# The script, by way of a program of its own, which make builds with all that it needs.
$(O)/tests/opencl-layer/bench: tests/opencl-layer/bench $(addprefix $(O)/, \
		$(addprefix tests/opencl-layer/,cost longer builds look stops) \
		bin/gpusharectl \
		ulib/gpushared/gpushared lib/gpushare/libgpushare-opencl.so)
	$(Q)printf '#!/bin/sh\nexec %s/tests/opencl-layer/bench\n' "$(CURDIR)" >$@; chmod +x $@
bench-y += opencl:$(O)/tests/opencl-layer/bench
tests-y += $(addprefix tests/opencl-layer/,kept.sh threads.sh il.sh)
alone-y += tests/opencl-layer/modes.sh tests/opencl-layer/layer.sh tests/opencl-layer/programs.sh
# Not in `make check`: PoCL 3.1 may hang in workers (see ulib/opencl/workers.c).
full-y += tests/opencl-layer/stops.sh
full-y += $(addprefix tests/opencl-layer/,stalls.sh tenants.sh drivers.sh newer.sh system.sh)
