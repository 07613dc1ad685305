# SPDX-License-Identifier: MIT
doc-dir = $(DESTDIR)$(PREFIX)/share/doc/gpushare
.PHONY: install-doc
install-doc:
	install -d $(doc-dir)/Documentation
	install -m 644 README.md NEWS $(doc-dir)/
	install -m 644 Documentation/*.md Documentation/demo.svg $(doc-dir)/Documentation/
install-y += install-doc
