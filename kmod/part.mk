# SPDX-License-Identifier: MIT
# The module is built by kbuild (make kmod); what is installed is its source,
# where dkms finds it: dkms install gpushare/VERSION
kmod-src = $(DESTDIR)$(PREFIX)/src/gpushare-$(VERSION)
.PHONY: install-kmod
install-kmod:
	install -d $(addprefix $(kmod-src)/,kmod/core kmod/contract include/uapi/linux)
	install -m 644 Kbuild dkms.conf $(kmod-src)/
	install -m 644 kmod/*.[ch] $(kmod-src)/kmod/
	install -m 644 kmod/core/*.[ch] $(kmod-src)/kmod/core/
	install -m 644 kmod/contract/*.[ch] $(kmod-src)/kmod/contract/
	install -m 644 include/uapi/linux/gpushare.h $(kmod-src)/include/uapi/linux/
install-y += install-kmod
