#!/bin/sh
# SPDX-License-Identifier: MIT
# Every file that a page links to is there, make help names every target,
# and the daemon's header every file of the daemon's.
cd "$(dirname "$0")/../.." || exit 1
echo 1..3
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
missing=$(for t in kmod check check-full check-vm bench demo install dist deb lint fuzz clean; do
	printf '%s\n' "$help" | grep -q "^make $t " || echo "help: $t"
	make -n "$t" SETUP=no >/dev/null 2>&1 || echo "target: $t"
done)
if [ -n "$missing" ]; then
	printf '%s\n' "$missing" | sed 's/^/# /'
	echo "not ok 2 - the targets are there and in make help"; failed=1
else
	echo "ok 2 - the targets are there and in make help"
fi
missing=$(for f in gpushared/*.c; do
	f=$(basename "$f")
	[ "$f" = main.c ] || grep -q "^ \*	$f	" gpushared/gpushared.h || echo "gpushared.h: $f"
done)
if [ -n "$missing" ]; then
	printf '%s\n' "$missing" | sed 's/^/# /'
	echo "not ok 3 - the daemon's files are listed"; failed=1
else
	echo "ok 3 - the daemon's files are listed"
fi
exit ${failed:-0}
