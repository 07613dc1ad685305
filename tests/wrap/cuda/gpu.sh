#!/bin/bash
# SPDX-License-Identifier: MIT
# The wrapper before the driver of a GPU, where there is one: the corpus leaves the
# same in memory, bare and wrapped, whole and cut; programs of the runtime (static and
# shared), graphs, NVRTC, CUDA's memory checker and PyTorch with cuBLAS, a graph and
# CUDA's own pools work over it, if they are there; and what sharing costs and gives is
# measured and written behind Documentation/evaluation-gpu.md.
# "gpu.sh cpu" does the same over the driver on the CPU, and keeps no figures.
# Time limit: 2400 s
cd "$(dirname "$0")/../../.." || exit 1
O=$(realpath "${O:-build/user}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export GPUSHARE_ARBITER=none GPUSHARE_CACHE=$work/cache
mkdir -m 700 "$work/cache"

# The driver that a program finds here: as the loader looks for it, then where drivers
# put it whom the loader doesn't know.
find_driver() {
	local folder
	for folder in ${LD_LIBRARY_PATH//:/ }; do
		[ ! -e "$folder/libcuda.so.1" ] || { echo "$folder/libcuda.so.1"; return; }
	done
	PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | awk -v machine="$(uname -m | tr _ -)" '
		$1 == "libcuda.so.1" && (index($0, machine) || index($0, "AArch64")) { print $NF; exit }' |
		grep . && return
	for folder in "/usr/lib/$(uname -m)-linux-gnu" /usr/lib64 /usr/lib /usr/lib/wsl/lib \
		/usr/local/nvidia/lib64 /run/opengl-driver/lib; do
		[ ! -e "$folder/libcuda.so.1" ] || { echo "$folder/libcuda.so.1"; return; }
	done
}

if [ "$1" = cpu ]; then
	driver=$O/cpucuda/libcuda.so.1
	cuts=auto	# same.sh does all of them
	ms=100 page=$work/evaluation-gpu.md
	export CPUCUDA_VERSION=12040	# older than the toolkit that wrote the corpus
else
	driver=${GPUSHARE_REAL_LIBCUDA:-$(find_driver)}
	cuts="off auto slice guard workers random=1"
	ms=10000 page=Documentation/evaluation-gpu.md
fi
if [ -z "$driver" ] || ! [ -e "$driver" ]; then
	echo "1..0 # SKIP no CUDA driver"
	exit 4
fi
driver=$(realpath "$driver")
mkdir "$work/bare"
ln -s "$driver" "$work/bare/libcuda.so.1"
export GPUSHARE_REAL_LIBCUDA=$driver
later=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}	# the driver may have more of its own there
bare() {
	LD_LIBRARY_PATH=$work/bare$libraries$later "$@"
}
wrapped() {
	LD_LIBRARY_PATH=$O/cuda$libraries$later "$@"
}
libraries=
bare timeout 300 "$O/tests/wrap/cuda/replay" >"$work/whole" 2>"$work/err"
rc=$?
if grep -q '^cuInit(0): error 100$' "$work/whole"; then
	echo "1..0 # SKIP no CUDA device"
	exit 4
fi
[ "$1" = cpu ] && more=10 || more=9
echo "1..$(($(echo "$cuts" | wc -w) + more))"
n=0 bad=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
show() {
	tail -n 20 "$@" | sed 's/^/# /'
}

# What isn't the same each time over the bare driver says nothing: a GPU runs blocks in
# any order. It must be little.
for _ in 1 2; do
	bare timeout 300 "$O/tests/wrap/cuda/replay" 2>"$work/err" | diff - "$work/whole" |
		sed -n 's/^> //p' >>"$work/unsteady"
done
unsteady=$(cut -d' ' -f1,2 "$work/unsteady" | sort -u)
[ -z "$unsteady" ] || printf '# not the same each time: %s\n' "$unsteady"
[ $rc = 0 ] && [ "$(wc -l <"$work/whole")" -gt 200 ] && [ "$(echo "$unsteady" | wc -l)" -le 5 ]
rc=$?
[ $rc = 0 ] || show "$work/whole" "$work/err"
ok $rc "the corpus runs over the bare driver"
steady() {
	if [ -n "$unsteady" ]; then grep -vF "$unsteady" "$1"; else cat "$1"; fi
}
for cut in $cuts; do
	wrapped env "GPUSHARE_CUT=$cut" timeout 300 "$O/tests/wrap/cuda/replay" \
		>"$work/out" 2>"$work/err"
	rc=$?
	diff <(steady "$work/whole") <(steady "$work/out") >"$work/diff" && [ $rc = 0 ] &&
		grep -q UNGATED "$work/err"
	rc=$?
	[ $rc = 0 ] || show "$work/diff" "$work/err"
	ok $rc "the corpus is the same, cut: $cut"
done
unset CPUCUDA_VERSION

# On a GPU any toolkit will do that isn't too new for the driver; the double of the runtime
# is of one version, and NVIDIA's own takes NVIDIA's driver alone.
cuda=
if [ "$1" != cpu ]; then
	nvcc=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v nvcc) &&
		cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
	why="no CUDA toolkit"
	kinds="static shared"
elif why=$(tests/corpus/toolkit); then
	cuda=$why
	kinds=shared
fi
program() {	# static|shared
	local name="a program of the $1 runtime with a graph works over the wrapper"
	if [ -z "$cuda" ]; then
		skip "$name" "$why"
		return
	elif [[ " $kinds " != *" $1 "* ]]; then
		skip "$name" "it takes NVIDIA's driver alone"
		return
	fi
	libraries=:$cuda/lib64
	[ "$kinds" != shared ] || libraries=:$O/cpucuda
	# Machine code for the device, and PTX, which the wrapper cuts by.
	if ! "$cuda/bin/nvcc" -arch="$([ "$kinds" = shared ] && echo compute_75 || echo "$arch")" \
		-cudart "$1" -o "$work/prog" tests/cpucuda/toolkit-program.cu >"$work/err" 2>&1; then
		skip "$name" "nvcc makes no program here: $(tail -n 1 "$work/err")"
		return
	fi
	bare timeout 60 "$work/prog" >"$work/out" 2>>"$work/err"
	if grep -q 'driver version is insufficient\|unsupported toolchain' "$work/out"; then
		skip "$name" "the toolkit is newer than the driver"
		return
	fi
	mv "$work/out" "$work/barely"
	wrapped timeout 60 "$work/prog" >"$work/out" 2>"$work/said"
	grep -q '0 wrong, seen 1000' "$work/out" && cmp -s "$work/barely" "$work/out" &&
		grep -q UNGATED "$work/said"
	local rc=$?
	[ $rc = 0 ] || show "$work/err" "$work/barely" "$work/out" "$work/said"
	ok $rc "$name"
}
# As the first lines of what is measured say it: which architecture.
MEASURE_DRIVER=$driver MEASURE_MS=$ms timeout 900 "$O/tests/wrap/cuda/measure" >"$work/figures" 2>"$work/failed"
measured=$?
device=$(sed -n 's/^device //p' "$work/figures")
arch=$(echo "$device" | grep -o 'sm_[0-9]*')
program static
program shared

# CUDA's checker comes between a program and its driver as well.
checker=$cuda/bin/compute-sanitizer
name="CUDA's memory checker finds the same over the wrapper"
if [ -n "$cuda" ] && [ "$1" != cpu ] && [ -x "$checker" ] && [ -x "$work/prog" ]; then
	bare timeout 300 "$checker" "$work/prog" >"$work/barely" 2>&1
	wrapped timeout 300 "$checker" "$work/prog" >"$work/out" 2>&1
	grep -h 'ERROR SUMMARY' "$work/barely" "$work/out" | sort | uniq -c | grep -q '^ *2 '
	rc=$?
	[ $rc = 0 ] || show "$work/barely" "$work/out"
	ok $rc "$name"
else
	skip "$name" "no checker"
fi

# NVRTC is in the toolkit, or came with PyTorch.
name="NVRTC and its kernel in a graph work over the wrapper"
libraries=${cuda:+:$cuda/lib64}$(python3 -c '
import glob, nvidia
for path in nvidia.__path__:
    for folder in glob.glob(path + "/c*/lib"):
        print(":" + folder, end="")' 2>/dev/null)
bare timeout 120 "$O/tests/wrap/cuda/nvrtc" >"$work/barely" 2>"$work/err"
rc=$?
if [ $rc = 4 ]; then
	skip "$name" "$(tail -n 1 "$work/barely")"
elif [ $rc != 0 ]; then
	show "$work/barely" "$work/err"
	skip "$name" "it doesn't over the bare driver"
else
	wrapped env GPUSHARE_CUT=random=3 timeout 120 "$O/tests/wrap/cuda/nvrtc" \
		>"$work/out" 2>"$work/err"
	grep -q '^0 wrong, seen 458752$' "$work/out" && cmp -s "$work/barely" "$work/out" &&
		grep -q UNGATED "$work/err"
	rc=$?
	[ $rc = 0 ] || show "$work/barely" "$work/out" "$work/err"
	ok $rc "$name"
fi

cat >"$work/t.py" <<-'END'
	import sys, torch
	a = torch.arange(1 << 20, device="cuda", dtype=torch.float64).reshape(1024, 1024) % 7
	b = a @ a
	c = b.sum()
	torch.cuda.synchronize()
	if sys.argv[1] == "graph":
	    g = torch.cuda.CUDAGraph()
	    with torch.cuda.graph(g):
	        c = (a @ a).sum()
	    g.replay()
	else:
	    for i in range(100):
	        c = (torch.empty(1 << (10 + i % 12), device="cuda").fill_(0).sum() + b.sum())
	print(c.item(), b.sum().item(), (a.cpu() @ a.cpu()).sum().item())
END
libraries=
right() {
	[ -s "$work/out" ] && awk '{ exit !(NF == 3 && $1 == $2 && $2 == $3) }' "$work/out"
}
torch() {	# NAME ARGUMENT SETTING...
	local name=$1 argument=$2
	shift 2
	if [ -z "$have_torch" ]; then
		skip "$name" "no PyTorch with CUDA"
		return
	fi
	bare env "$@" timeout 300 python3 "$work/t.py" "$argument" >"$work/out" 2>"$work/err"
	if ! right; then
		show "$work/out" "$work/err"
		skip "$name" "it doesn't over the bare driver"
		return
	fi
	wrapped env "$@" timeout 300 python3 "$work/t.py" "$argument" >"$work/out" 2>"$work/err"
	right && grep -q UNGATED "$work/err"
	local rc=$?
	[ $rc = 0 ] || show "$work/out" "$work/err"
	ok $rc "$name"
}
have_torch=
[ "$1" = cpu ] || have_torch=$(bare timeout 300 python3 -c \
	'import torch; torch.cuda.is_available() and print("yes")' 2>/dev/null)
torch "PyTorch with cuBLAS and a graph works over the wrapper" graph GPUSHARE_ARBITER=none
torch "PyTorch with CUDA's own pools works over the wrapper" pools \
	PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync

sed 's/^/# /' "$work/figures"
[ $measured = 0 ] || [ $measured = 4 ] || show "$work/failed"
figures=24
[ $measured != 4 ] || figures=3	# one process at a time
{ [ $measured = 0 ] || [ $measured = 4 ]; } &&
	[ "$(grep -c '^figure [a-z0-9.-]* -*[0-9.]* ' "$work/figures")" = $figures ]
whole=$?
ok $whole "what sharing costs and gives is measured"
if [ "$1" = cpu ]; then
	# The same where the device takes one process.
	CPUCUDA_COMPUTE_MODE=3 MEASURE_DRIVER=$driver MEASURE_MS=$ms timeout 300 \
		"$O/tests/wrap/cuda/measure" >"$work/out" 2>&1
	[ $? = 4 ] && [ "$(grep -c '^figure ' "$work/out")" = 3 ] && grep -q 'one process' "$work/out"
	ok $? "and what can be where it takes one process at a time"
fi

# The page: what was measured, on what, when; the newest behind the others.
{
	if [ -s "$page" ]; then
		cat "$page"
	else
		echo '<!-- SPDX-License-Identifier: MIT -->'
		echo '# Evaluation on a GPU'
		echo
		# shellcheck disable=SC2016
		echo 'Written by `make check-gpu`. What each figure is, tests/wrap/cuda/measure.c says.'
	fi
	echo
	echo "## $(date -u '+%F %R UTC'), $device"
	echo
	version=$(grep -om 1 '[0-9]\{3\}\.[0-9.]*[0-9]' /proc/driver/nvidia/version 2>/dev/null)
	echo "Driver ${version:-of no version that the kernel tells}, Linux $(uname -r)," \
		"$(nproc) processors ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1))," \
		"load $(cut -d' ' -f1 /proc/loadavg). gpushare $(git describe --always --dirty 2>/dev/null)."
	echo
	echo '| figure | measured | unit | target | |'
	echo '|---|---:|---|---:|---|'
	awk '$1 == "figure" { printf "| %s | %s | %s | %s | %s |\n", $2, $3, $4, $5,
		$5 == "-" ? "" : $3 <= $5 ? "met" : "missed" }' "$work/figures"
} >"$work/page"
[ $whole = 0 ] && cp "$work/page" "$page"
ok $? "the figures are written to ${page##*/}, if all were measured"
exit $bad
