#!/bin/sh
# SPDX-License-Identifier: MIT
# The wrapper from the outside: every function of every toolkit in the table, what
# it needs, and that nothing of it runs by itself. With a toolkit, that table and
# our declarations against its headers.
cd "$(dirname "$0")/../../.." || exit 1
so=${O:-build/user}/cuda/libcuda.so.1
names=wrap/cuda/names.h
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0 bad=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		[ -z "$3" ] || printf '%s\n' "$3" | head -n 20 | sed 's/^/# /'
		echo "not ok $n - $2"
		bad=1
	fi
}
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
sanitized() {
	nm -D "$so" | grep -q ' __[at]san_\| __ubsan_'
}
echo "TAP version 13"
echo "1..12"

# One line a function: name first last kind version.
tr -d '\n' <$names | sed 's/N(/\nN(/g; s/#undef/\n&/g' | sed -n \
	's/^N(\([A-Za-z0-9_]*\), *[A-Za-z0-9_]*, \([0-9]*\), [01], \([0-9]*\), \([0-9]*\), \([A-Z]\)[0-9]*).*/\1 \3 \4 \5 \2/p' |
	sort >"$work/table"
cut -d' ' -f1 "$work/table" >"$work/names"
nm -D --defined-only "$so" | awk '$2 == "T" { print $3 }' | sort >"$work/exported"
left=$(diff "$work/names" "$work/exported")
[ -s "$work/names" ] && [ -z "$left" ]
ok $? "exactly the table's functions are exported" "$left"

left=$(sed -n 's/^T(\([0-9]*\))$/\1/p' $names | while read -r toolkit; do
	awk -v t="$toolkit" '$2 <= t && $3 >= t { n[$4 ~ /[SC]/ ? "W" : $4]++; all++ }
	END { printf "# toolkit %s: %d functions, %d handled, %d forwarded, %d after the rest, %d past the gate\n", t, all,
	      n["H"], n["F"], n["D"], n["W"]; exit all < 400 || n["H"] + n["F"] + n["D"] + n["W"] != all }' \
	"$work/table" >&3 || echo "$toolkit"; done) 3>&1
[ -z "$left" ] && grep -q '^T(11' $names && grep -q '^T(12' $names && grep -q '^T(13' $names
ok $? "each function of each toolkit from 11 to 13 is handled, forwarded or passes the gate" "$left"

# The toolkits whose headers can't be had: a function's version says which have it, as
# it does for all whose headers were read.
left=$(sed -n 's/^T(\([0-9]*\))$/\1/p' $names | while read -r toolkit; do
	awk -v t="$toolkit" '$2 <= t && $3 >= t && !($5 && $5 <= t) { print $1, "isn\047t told for", t }' "$work/table"
done)
for toolkit in 11000 11010 11030 11040 11050 11060; do
	awk -v t=$toolkit '$5 && $5 <= t { n[$4 ~ /[SC]/ ? "W" : $4]++; all++ }
	END { printf "# toolkit %s: %d functions by their versions, %d handled, %d forwarded, %d past the gate\n",
	      t, all, n["H"], n["F"], n["W"]; exit all < 400 }' "$work/table" || left="$left $toolkit: too few"
done
[ -z "$left" ]
ok $? "versions tell the functions of the toolkits without headers" "$left"

# The sources say what is handled, the script what is what.
cuda=$(tests/corpus/toolkit) && include=$cuda/include || include=
left=$(wrap/cuda/regenerate ${include:+"$include"} | diff $names -)
ok $? "the table is what the script makes of it" "$left"

# cuGetProcAddress() may find any of them for a pointer.
left=$(tr -d '\n' <$names | sed 's/N(/\nN(/g; s/#undef/\n&/g' | sed -n \
	's/^N([A-Za-z0-9_]*, *\([A-Za-z0-9_]*\),.*, \([A-Z]\)[0-9]*).*/\1 \2/p' | sort -u | cut -d' ' -f1 | uniq -d)
[ -z "$left" ]
ok $? "all forms of a function are of one kind" "$left"

# Whatever launches work is among those handled or counted.
left=$(awk '$4 == "F"' "$work/table" | grep -E '^cu(Launch(Kernel|Grid|Coop)?|GraphLaunch|Memcpy|Memset|MemPrefetch)' |
	grep -v '^cuLaunchHostFunc')
[ -z "$left" ]
ok $? "no launch, copy or fill is forwarded without being counted" "$left"

if sanitized; then
	skip "no glibc newer than 2.28 is needed" "built with a sanitizer"
	skip "it is linked to the C library alone" "built with a sanitizer"
	skip "it has no constructor" "built with a sanitizer"
else
	newest=$(objdump -T "$so" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
	[ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ]
	ok $? "no glibc newer than 2.28 is needed" "it needs $newest"
	left=$(objdump -p "$so" | awk '/NEEDED/ { print $2 }' | grep -vE '^(libc|libdl|libpthread)\.so|^ld-linux')
	[ -z "$left" ]
	ok $? "it is linked to the C library alone" "$left"
	# The one entry is the compiler's own frame_dummy.
	size=$(objdump -h "$so" | awk '$2 == ".init_array" { print $3 }')
	[ "$size" = 00000008 ]
	ok $? "it has no constructor" ".init_array has 0x$size bytes"
fi

if command -v clang >/dev/null && clang --print-targets 2>/dev/null | grep -q aarch64; then
	left=$(clang --target=aarch64-linux-gnu -c wrap/cuda/entry.S -o "$work/entry.o" 2>&1)
	ok $? "the entry points are code for aarch64 as well" "$left"
else
	skip "the entry points are code for aarch64 as well" "no clang that knows it"
fi

known="the table knows all of the toolkit's functions"
declared="our declarations are the toolkit's"
if [ -z "$include" ]; then
	skip "$known" "$cuda"
	skip "$declared" "$cuda"
	exit $bad
fi
echo '#include <cuda.h>' | gcc -E -P -D__CUDA_API_VERSION_INTERNAL -I"$include" -x c - | tr '\n' ' ' |
	grep -oE '\bCUresult +cu[A-Z][A-Za-z0-9_]* *\(' | grep -oE 'cu[A-Z][A-Za-z0-9_]*' | sort -u >"$work/theirs"
left=$(comm -23 "$work/theirs" "$work/names")
[ -s "$work/theirs" ] && [ -z "$left" ]
ok $? "$known" "$left"
gcc -w -I. -o "$work/ours" tests/wrap/cuda/layout.c &&
	gcc -w -DTOOLKIT -I"$include" -o "$work/layout" tests/wrap/cuda/layout.c &&
	"$work/ours" >"$work/a" && "$work/layout" >"$work/b"
left=$(diff "$work/a" "$work/b")
[ -s "$work/b" ] && [ -z "$left" ]
ok $? "$declared" "$left"
exit $bad
