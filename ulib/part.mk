# SPDX-License-Identifier: MIT
# libgpushare, shared and static.
ulib-src := $(addprefix ulib/,backend.c backend-kernel.c backend-socket.c gate.c \
	container.c launches.c libgpushare.c memory.c page.c spawn.c user-socket.c watcher.c)
ulib-flags := -Iulib/include -DGS_DAEMON_PATH='"$(PREFIX)/sbin/gpushared"'
# gcc's thread sanitizer doesn't know fences; ours are for another process's sake.
ulib-tsan := $(if $(and $(findstring thread,$(SAN)),$(findstring gcc,$(CC))),-Wno-tsan)
cflags-ulib := $(ulib-flags) $(ulib-tsan)
cflags-gpushared := $(ulib-tsan)
ulib-a := $(O)/lib/libgpushare.a
ulib-so := $(O)/lib/libgpushare.so.1

$(ulib-a): $(call pic-objs,$(ulib-src))
	$(Q)mkdir -p $(@D); rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

# -z nodelete: a thread of ours may run while the program thinks it has unloaded us.
$(ulib-so): $(call pic-objs,$(ulib-src)) ulib/libgpushare.map
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(san-flags) $(LDFLAGS) -shared -Wl,-soname,libgpushare.so.1 \
		-Wl,--version-script=ulib/libgpushare.map -Wl,-z,nodelete \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ \
		$(call pic-objs,$(ulib-src)) $(if $(SAN),,-l:libpthread.so.0)
	$(Q)ln -sf libgpushare.so.1 $(O)/lib/libgpushare.so

deps-y += $(patsubst %.o,%.d,$(call pic-objs,$(ulib-src)))
all-y += $(ulib-a) $(ulib-so)

.PHONY: install-ulib
install-ulib: $(ulib-a) $(ulib-so)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/linux
	install -m 755 $(ulib-so) $(DESTDIR)$(LIBDIR)/
	ln -sf libgpushare.so.1 $(DESTDIR)$(LIBDIR)/libgpushare.so
	install -m 644 $(ulib-a) $(DESTDIR)$(LIBDIR)/
	install -m 644 ulib/include/gpushare.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 include/uapi/linux/gpushare.h $(DESTDIR)$(PREFIX)/include/linux/
	install -d $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 Documentation/man/libgpushare.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' ulib/libgpushare.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/libgpushare.pc
install-y += install-ulib
