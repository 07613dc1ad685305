# SPDX-License-Identifier: MIT
udev-lib = $(DESTDIR)$(PREFIX)/lib
.PHONY: install-udev
install-udev:
	install -d $(addprefix $(udev-lib)/,udev/rules.d modules-load.d sysusers.d tmpfiles.d)
	install -m 644 udev/60-gpushare.rules $(udev-lib)/udev/rules.d/
	install -m 644 udev/gpushare.modules-load $(udev-lib)/modules-load.d/gpushare.conf
	install -m 644 udev/gpushare.sysusers $(udev-lib)/sysusers.d/gpushare.conf
	install -m 644 udev/gpushare.tmpfiles $(udev-lib)/tmpfiles.d/gpushare.conf
install-y += install-udev
