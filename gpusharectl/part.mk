# SPDX-License-Identifier: MIT
# What draws and stores traces; the simulator links it too. It needs -lm.
$(call archive,gpusharectl/libtrace.a,$(addprefix gpusharectl/,json.c perfetto.c svg.c \
	timeline.c trace.c))
all-y += $(O)/gpusharectl/libtrace.a

# Without these two libraries the tool lacks the module's events, and HTTP.
have-nl := $(wildcard /usr/include/libnl3/netlink/netlink.h)
have-mhd := $(wildcard /usr/include/microhttpd.h)
ctl-libs := -lm $(if $(have-nl),-lnl-genl-3 -lnl-3) $(if $(have-mhd),-lmicrohttpd)
# With its null checks gcc 12 takes formats that we pass on for possibly null.
ctl-san-flags := -Wno-format-truncation -Wno-format-overflow
cflags-gpusharectl := $(if $(have-nl),-DHAVE_LIBNL -I/usr/include/libnl3) \
	$(if $(have-mhd),-DHAVE_MICROHTTPD) $(if $(SAN),$(ctl-san-flags))
ctl-src := $(addprefix gpusharectl/,account.c amount.c apply.c books.c bpf.c completion.c config.c cuda.c device.c doctor.c driver.c \
	event-names.c events.c file.c gate.c gate-bpf.c gate-follow.c gate-holders.c gate-inside.c gate-nodes.c \
	groups.c hook.c http.c keep.c ledger.c main.c metrics.c monitor.c netlink.c plan.c plot.c props.c \
	query.c record.c run.c save.c set.c status.c target.c term.c top.c transforms.c units.c usage.c watch.c web.c why.c)

$(call program,bin/gpusharectl,$(ctl-src),$(O)/gpusharectl/libtrace.a $(O)/lib/libgpushare.a $(ctl-libs) -lpthread -ldl)
all-y += $(O)/bin/gpusharectl
$(O)/obj/gpusharectl/web.o: gpusharectl/web.html

.PHONY: install-gpusharectl
install-gpusharectl: $(O)/bin/gpusharectl
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin share/man/man1 share/man/man5 share/man/man7 \
		share/bash-completion/completions share/zsh/vendor-completions)
	install -m 755 $(O)/bin/gpusharectl $(DESTDIR)$(PREFIX)/bin/
	install -m 644 Documentation/man/gpusharectl.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 Documentation/man/gpushare.conf.5 $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 644 Documentation/man/gpushare.7 $(DESTDIR)$(PREFIX)/share/man/man7/
	install -d $(DESTDIR)$(PREFIX)/share/gpushare $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -m 644 gpusharectl/grafana.json $(DESTDIR)$(PREFIX)/share/gpushare/
	for s in rules account hook; do sed 's|@PREFIX@|$(PREFIX)|' gpusharectl/gpushare-$$s.service.in \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/gpushare-$$s.service || exit; done
	$(O)/bin/gpusharectl completion bash \
		>$(DESTDIR)$(PREFIX)/share/bash-completion/completions/gpusharectl
	$(O)/bin/gpusharectl completion zsh \
		>$(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_gpusharectl
install-y += install-gpusharectl
