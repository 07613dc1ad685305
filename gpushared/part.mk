# SPDX-License-Identifier: MIT
# The daemon: the core under epoll.
gpushared-src := $(addprefix gpushared/,bell.c cgroup.c client.c command.c device.c event.c group.c \
	host.c loop.c main.c meet.c memory.c message.c page.c peer.c place.c porter.c service.c share.c state.c state-text.c \
	state-writer.c stats.c tenant.c room.c wait.c watch.c \
	account.c) \
	ulib/user-socket.c
gpushared := $(O)/gpushared/gpushared
$(call program,gpushared/gpushared,$(gpushared-src),$(contract-lib) $(core-lib) -lpthread)
all-y += $(gpushared)

.PHONY: install-gpushared
install-gpushared: $(gpushared)
	install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -m 755 $(gpushared) $(DESTDIR)$(PREFIX)/sbin/
	install -d $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 644 Documentation/man/gpushared.8 $(DESTDIR)$(PREFIX)/share/man/man8/
	sed 's|@PREFIX@|$(PREFIX)|' gpushared/gpushared.service.in \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/gpushared.service
	install -m 644 gpushared/gpushared.socket $(DESTDIR)$(PREFIX)/lib/systemd/system/
install-y += install-gpushared
