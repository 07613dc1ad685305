# SPDX-License-Identifier: MIT
# Rules and what goes with the module.
udev-lib = $(DESTDIR)$(PREFIX)/lib
.PHONY: install-udev
install-udev:
	install -d $(addprefix $(udev-lib)/,udev/rules.d modules-load.d sysusers.d tmpfiles.d)
	install -m 644 udev/60-gpushare.rules $(udev-lib)/udev/rules.d/
	install -m 644 udev/gpushare.modules-load $(udev-lib)/modules-load.d/gpushare.conf
	install -m 644 udev/gpushare.sysusers $(udev-lib)/sysusers.d/gpushare.conf
	install -d $(DESTDIR)$(PREFIX)/libexec/gpushare $(udev-lib)/systemd/system
	install -m 755 udev/reload-module $(DESTDIR)$(PREFIX)/libexec/gpushare/
	sed 's|@PREFIX@|$(PREFIX)|' udev/gpushare-reload.service.in \
		>$(udev-lib)/systemd/system/gpushare-reload.service
	install -m 644 udev/gpushare.tmpfiles $(udev-lib)/tmpfiles.d/gpushare.conf
install-y += install-udev
