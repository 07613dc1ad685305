#!/bin/bash
# SPDX-License-Identifier: MIT
# What needs NVIDIA's toolkit: the driver's prototypes against cuda.h, and programs
# made by nvcc.
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build/user}
cuda=$(tests/corpus/toolkit) || { echo "1..0 # SKIP $cuda"; exit 4; }
export PATH=$cuda/bin:$PATH
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0 n=0

result() {	# RC NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; fi
}

echo 1..7

rc=0
for f in ctx device stream api_mem vmm pool managed array array_copy module library \
	launch graph graph_nodes capture proc; do
	${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -DCPUCUDA_TOOLKIT -fsyntax-only -Wall -Wextra -Werror \
		-Wno-deprecated-declarations -I. -Ixform/include -I"$cuda/include" \
		cpucuda/$f.c 2>&1 | sed 's/^/# /'
	[ "${PIPESTATUS[0]}" = 0 ] || rc=1
done
result $rc "the driver's sources agree with cuda.h"

# a program of the runtime's interface, in the three ways that PTX is packed
rc=0
for how in "" "-compress-mode=none" "-G"; do
	# shellcheck disable=SC2086
	nvcc -arch=compute_75 -cudart shared $how -o "$tmp/prog" tests/cpucuda/toolkit-program.cu \
		2>&1 | sed 's/^/# /'
	LD_LIBRARY_PATH=$O/cpucuda timeout 60 "$tmp/prog" >"$tmp/out" 2>&1 || rc=1
	sed 's/^/# /' "$tmp/out"
	grep -q '0 wrong, seen 1000, sum 5401250' "$tmp/out" || rc=1
	grep -q 'too many threads: 1$' "$tmp/out" || rc=1
done
result $rc "a program made by nvcc runs over the runtime double"

# More of the interface, also where each thread has a stream of its own.
rc=0
for how in "" "-default-stream per-thread"; do
	# shellcheck disable=SC2086
	nvcc -arch=compute_75 -cudart shared $how -o "$tmp/prog" tests/cpucuda/runtime-program.cu \
		2>&1 | sed 's/^/# /'
	LD_LIBRARY_PATH=$O/cpucuda timeout 60 "$tmp/prog" >"$tmp/out" 2>&1 || rc=1
	sed 's/^/# /' "$tmp/out"
	grep -qx '0 wrong' "$tmp/out" || rc=1
done
result $rc "arrays, textures, graphs and managed variables over the runtime double"

names() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | grep '^_*cuda' | sort -u; }
names "$(find -L "$cuda" -name libcudart.so.13 2>/dev/null | head -n 1)" >"$tmp/theirs"
[ -s "$tmp/theirs" ] && comm -23 "$tmp/theirs" <(names "$O/cpucuda/libcudart.so.13") >"$tmp/out"
rc=$?
sed 's/^/# missing: /' "$tmp/out"
echo "# $(wc -l <"$tmp/theirs") names, $(grep -o 'X(_*cuda[^)]*)' cpucuda/cudart-missing.c | wc -l) of them aren't supported"
[ $rc = 0 ] && [ ! -s "$tmp/out" ]
result $? "the runtime double has each name of NVIDIA's"

# The real runtime refuses our driver, which is respected: it must not get to run
# anything, and says so.
nvcc -arch=compute_75 -cudart static -o "$tmp/prog" tests/cpucuda/toolkit-program.cu 2>&1 | sed 's/^/# /'
LD_LIBRARY_PATH=$O/cpucuda timeout 60 "$tmp/prog" >"$tmp/out" 2>&1
r=$?
sed 's/^/# /' "$tmp/out"
[ $r != 0 ] && [ $r -lt 124 ] && ! grep -q ' wrong, seen ' "$tmp/out"
result $? "NVIDIA's runtime runs nothing over the driver"

# On drivers before CUDA 13.0 the corpus says that it is PTX 8.3: corpus_suit().
rc=0
for ptx in build/corpus/ptx/sm_*/*.ptx; do
	sed 's/^\.version 9\.0$/.version 8.3/' "$ptx" >"$tmp/old.ptx"
	grep -q '^\.version 8\.3$' "$tmp/old.ptx" && ptxas -O0 -arch="$(basename "$(dirname "$ptx")")" \
		-o "$tmp/old.cubin" "$tmp/old.ptx" >"$tmp/log" 2>&1 && continue
	head -n 3 "$tmp/log" | sed "s|^|# $ptx: |"
	rc=1
done
result $rc "the assembler takes the corpus as PTX 8.3"

# The committed PTX is what the sources give, where the compiler is the same. That
# is a question for who changes the corpus, not for `make check`. Not compared: debug
# information, which names the folder that the toolkit lies in; and types.ptx, of which the
# same version of nvcc gives another on another machine (local loads of one byte or two).
what="the committed PTX is up to date"
version=$(nvcc --version | sed -n 's/.*release.*, V\([0-9.]*\)$/\1/p')
ours=$(sed -n 's/.*release.*, V\([0-9.]*\)$/\1/p' tests/corpus/ptx/sm_75/barrier.ptx)
if [ -z "${FULL:-}" ]; then
	result 0 "$what # SKIP asked by make check-full"
elif [ "$version" = "$ours" ]; then
	tests/corpus/rebuild "$tmp/new" 2>&1 | sed 's/^/# /'
	diff -ru -x '*-debug.ptx' -x '*-lineinfo.ptx' -x types.ptx tests/corpus/ptx "$tmp/new/ptx" |
		sed 's/^/# /' | head -n 60
	[ "${PIPESTATUS[0]}" = 0 ]
	result $? "$what"
else
	result 0 "$what # SKIP made by nvcc $ours, this is $version"
fi
exit $failed
