#!/bin/sh
# SPDX-License-Identifier: MIT
# The tree keeps its own rules: the top level, licences, widths. File sizes are advice.
cd "$(dirname "$0")/../.." || exit 1
echo 1..4
n=0

# result NAME OFFENDERS: passes if the second word is empty
result() {
	n=$((n + 1))
	if [ -n "$2" ]; then
		printf '%s\n' "$2" | sed 's/^/# /'
		echo "not ok $n - $1"
		failed=1
	else
		echo "ok $n - $1"
	fi
}

files=$(git ls-files 2>/dev/null || find . -type f ! -path './build/*' ! -path './.git/*' | cut -c3-)
code=$(printf '%s\n' "$files" | grep -E '\.(c|h|sh|mk|S|py|cl|cu)$|(^|/)(Makefile|Kbuild|run|setup)$')

result "the top level holds what it should" "$(printf '%s\n' "$files" | cut -d/ -f1 | sort -u |
	grep -vxE 'Kbuild|Makefile|debian|README.md|NEWS|LICENSES|dkms.conf|kmod|ulib|gpusharectl|xform|udev|tests|Documentation|include|gpushared|wrap|sim|cpucuda|\..*')"

result "every source has an SPDX line" "$(for f in $code; do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier' || echo "$f"; done)"

# Text that people may search for is better left whole, so strings may pass it.
result "no line without a string is longer than 100 columns" "$(for f in $(printf '%s\n' "$code" | grep -E '\.[chS]$' |
	grep -vE '/(corpus|data)/'); do
	expand "$f" | awk -v f="$f" 'length > 100 && !/"/ { print f ":" NR }'; done | head -n 20)"

result "nothing is left over" "$(printf '%s\n' "$files" | grep -vE '^(LICENSES/|tests/frame/tree.sh)' |
	xargs -d '\n' grep -nIE '\b(TODO|FIXME|XXX|HACK)\b' 2>/dev/null | head -n 20)"
# A file is one noun, and one noun seldom takes this much. It's for who reads to judge.
for f in $(printf '%s\n' "$code" | grep -E '\.[ch]$' | grep -vE '/(corpus|data)/'); do
	[ "$(wc -l <"$f")" -le 800 ] || echo "# $f is longer than 800 lines: does it hold several nouns?"
done
exit ${failed:-0}
