#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 7200 s
# piglit.sh [PART-OF-NAME]: Debian's piglit tests for OpenCL, which carry their expected
# results, give the same answers over PoCL without the layer and with each kernel
# forced through slices and through workers, cut at random places.
#
# The package is fetched once into the user's cache, 34 MB, and only its OpenCL part is
# unpacked; nothing is installed.
cd "$(dirname "$0")/../../.." || exit 1
O=${O:-build/user}
layer=$(readlink -f "$O")/lib/gpushare/libgpushare-opencl.so
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gpushare/piglit
top=$cache/usr/lib/x86_64-linux-gnu/piglit
seed=${GS_SEED:-20261122}

lacking() { echo "1..0 # SKIP $*"; exit 4; }

fetch() {
	mkdir -p "$cache"
	(
		cd "$cache" || exit 1
		apt-get -qq -o APT::Sandbox::User="$(id -un)" download piglit libwaffle-1-0 &&
		dpkg-deb --fsys-tarfile libwaffle-1-0_*.deb | tar x ./usr/lib &&
		dpkg-deb --fsys-tarfile piglit_*.deb | tar x --wildcards '*/piglit/bin/cl-*' \
			'*/piglit/lib/*' '*/piglit/tests/cl/*' &&
		rm -f ./*.deb && touch 'done'
	) >"$cache/log" 2>&1
}

[ -e "$layer" ] || lacking "the layer isn't built: OpenCL's headers aren't here"
[ -e /etc/OpenCL/vendors/pocl.icd ] || lacking "no PoCL here"
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
[ -e "$cache/done" ] || fetch || lacking "piglit can't be fetched: is the network there?"
exec 9>&-
export LD_LIBRARY_PATH=$top/lib:$cache/usr/lib/x86_64-linux-gnu
! ldd "$top/bin/cl-program-tester" | grep -q 'not found' ||
	lacking "piglit wants libraries that aren't here: $(ldd "$top/bin/cl-program-tester" |
		awk '/not found/ { printf "%s ", $1 }')"

dir=$(mktemp -d "${TMPDIR:-/tmp}/gpushare-piglit.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd GPUSHARE_ARBITER=none top dir layer seed
export POCL_CACHE_DIR=$PWD/build/pocl-cache XDG_CACHE_HOME=$dir/cache
mkdir -p "$POCL_CACHE_DIR"
unset OPENCL_LAYERS

# shellcheck disable=SC2317
# one MODE FILE: its verdicts into $dir/MODE/FILE
one() {
	local out=$dir/$1/$2
	mkdir -p "$(dirname "$out")"
	if [ "$1" != off ]; then
		export OPENCL_LAYERS=$layer GPUSHARE_CUT=$1,random=$seed
		export GPUSHARE_VERBOSE=1
	fi
	cd "$top/tests/cl" || return
	timeout 600 "$top/bin/cl-program-tester" "$2" >"$out.log" 2>&1
	echo "exit $?" >>"$out.log"
	grep -E '^(PIGLIT:|exit )' "$out.log" >"$out"
}
export -f one

mapfile -t files < <(cd "$top/tests/cl" && find . -name '*.cl' -o -name '*.program_test' |
	sed 's,^./,,' | grep -F -- "${1:-}" | sort)
modes='off slice workers'
for mode in $modes; do
	printf '%s\n' "${files[@]}" | xargs -d '\n' -P "$(nproc)" -I{} bash -c "one $mode '{}'"
done

echo "# seed $seed"
echo "1..$((${#files[@]} * 2))"
n=0 failed=0
for mode in slice workers; do
	for file in "${files[@]}"; do
		n=$((n + 1))
		if cmp -s "$dir/off/$file" "$dir/$mode/$file"; then
			echo "ok $n - $mode: $file"
		else
			diff "$dir/off/$file" "$dir/$mode/$file" | head -n 20 | sed 's/^/# /'
			echo "not ok $n - $mode: $file"
			failed=1
		fi
	done
done
for mode in $modes; do
	echo "# $mode: $(find "$dir/$mode" -type f ! -name '*.log' -exec cat {} + |
		grep -c '"result": "pass"') files pass"
done
exit $failed
