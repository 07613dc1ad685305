#!/bin/sh
# SPDX-License-Identifier: MIT
# Every file that a page links to is there, and make help names every target.
cd "$(dirname "$0")/../.." || exit 1
echo 1..2
missing=$(for page in README.md Documentation/*.md; do
	grep -oE '\]\([^)#]+' "$page" | cut -c3- | grep -v '^https\?:' | while read -r to; do
		[ -e "$(dirname "$page")/$to" ] || echo "$page: $to"
	done
done)
if [ -n "$missing" ]; then
	printf '%s\n' "$missing" | sed 's/^/# /'
	echo "not ok 1 - links lead somewhere"; failed=1
else
	echo "ok 1 - links lead somewhere"
fi
help=$(make -s help)
missing=$(for t in kmod check check-full check-vm bench demo install lint fuzz clean; do
	printf '%s\n' "$help" | grep -q "^make $t " || echo "help: $t"
	make -n "$t" SETUP=no >/dev/null 2>&1 || echo "target: $t"
done)
if [ -n "$missing" ]; then
	printf '%s\n' "$missing" | sed 's/^/# /'
	echo "not ok 2 - the targets are there and in make help"; failed=1
else
	echo "ok 2 - the targets are there and in make help"
fi
exit ${failed:-0}
