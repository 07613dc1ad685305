# SPDX-License-Identifier: MIT
# The demo. Its tenant is built when it is wanted: it needs OpenCL's headers.
$(call program,tests/demo/tenant,tests/demo/tenant.c,-lOpenCL)

demo: setup
	$(Q)$(MAKE) $(O)/bin/gpusharectl $(O)/gpushared/gpushared $(O)/tests/demo/tenant \
		$(O)/lib/gpushare/libgpushare-opencl.so
	$(Q)O=$(O) tests/demo/demo

checkdeps-y += $(O)/tests/demo/tenant
alone-y += tests/demo/check.sh
