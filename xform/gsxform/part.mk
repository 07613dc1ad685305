# SPDX-License-Identifier: MIT
# The command for all three languages.
$(call program,gsxform,$(addprefix xform/gsxform/,main.c opencl.c spirv.c),\
	$(addprefix $(O)/,libgsspirv.a libgsopencl.a libgsxform.a xform/libgsfatbin.a))
all-y += $(O)/gsxform

.PHONY: install-gsxform
install-gsxform: $(O)/gsxform
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(O)/gsxform $(DESTDIR)$(PREFIX)/bin/
	install -m 644 Documentation/man/gsxform.1 $(DESTDIR)$(PREFIX)/share/man/man1/
install-y += install-gsxform
