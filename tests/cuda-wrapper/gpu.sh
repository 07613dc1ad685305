#!/bin/bash
# SPDX-License-Identifier: MIT
# The wrapper before the driver of a GPU, where there is one: the corpus leaves the
# same in memory, bare and wrapped, whole and cut; programs of the runtime, graphs,
# NVRTC, and PyTorch with cuBLAS work over it, if they are there; and what sharing
# costs and gives is measured and written to Documentation/evaluation-gpu.md.
# "gpu.sh cpu" does the same over the driver on the CPU, and keeps no figures.
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build/user}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export GPUSHARE_ARBITER=none GPUSHARE_CACHE=$work/cache
mkdir -m 700 "$work/cache"
if [ "$1" = cpu ]; then
	driver=$O/tests/cpucuda/libcuda.so.1
	cuts=auto	# same.sh does all of them
	arch=compute_75 ms=100 page=$work/evaluation-gpu.md
	libraries=:$O/tests/cpucuda	# the runtime's double
else
	driver=${GPUSHARE_REAL_LIBCUDA:-$(ldconfig -p 2>/dev/null | awk '/libcuda\.so\.1 / { print $NF; exit }')}
	cuts="off auto slice guard workers random:1"
	arch=native ms=10000 page=Documentation/evaluation-gpu.md
	libraries=
fi
if [ -z "$driver" ] || ! [ -e "$driver" ]; then
	echo "1..0 # SKIP no CUDA driver"
	exit 4
fi
mkdir "$work/bare"
ln -s "$(realpath "$driver")" "$work/bare/libcuda.so.1"
export GPUSHARE_REAL_LIBCUDA=$driver
LD_LIBRARY_PATH=$work/bare "$O/tests/cuda-wrapper/replay" >"$work/whole" 2>"$work/err"
if grep -q '^cuInit(0): error\|^cuDeviceGetAttribute' "$work/whole"; then
	echo "1..0 # SKIP no CUDA device"
	exit 4
fi
echo "1..$(($(echo "$cuts" | wc -w) + 5))"
n=0 bad=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
for cut in $cuts; do
	GPUSHARE_CUDA_CUT=$cut "$O/tests/cuda-wrapper/replay" >"$work/out" 2>"$work/err"
	diff "$work/whole" "$work/out" | head -n 10 | sed 's/^/# /'
	[ -s "$work/whole" ] && cmp -s "$work/whole" "$work/out"
	ok $? "the corpus is the same, cut: $cut"
done

# On a GPU any toolkit will do; the double of the runtime is of one version.
cuda=
if [ "$1" != cpu ]; then
	nvcc=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v nvcc) &&
		cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
	why="no CUDA toolkit"
elif why=$(tests/cuda/toolkit); then
	cuda=$why
fi
if [ -n "$cuda" ]; then
	"$cuda/bin/nvcc" -arch=$arch ${libraries:+-cudart shared} -o "$work/prog" tests/cpucuda/toolkit-program.cu 2>&1 |
		sed 's/^/# /'
	LD_LIBRARY_PATH=$O/cuda$libraries timeout 60 "$work/prog" 2>/dev/null | tee "$work/out" | sed 's/^/# /'
	grep -q '0 wrong, seen 1000' "$work/out"
	ok $? "a runtime program with a graph works over the wrapper"
	GPUSHARE_CUDA_CUT=random:3 LD_LIBRARY_PATH=$cuda/lib64 timeout 120 "$O/tests/cuda-wrapper/nvrtc" \
		2>"$work/err" | tee "$work/out" | sed 's/^/# /'
	rc=${PIPESTATUS[0]}
	if [ "$rc" = 4 ]; then
		skip "NVRTC and its kernel in a graph work over the wrapper" "no NVRTC"
	else
		grep -q '^0 wrong, seen 458752$' "$work/out"
		ok $? "NVRTC and its kernel in a graph work over the wrapper"
	fi
else
	skip "a runtime program with a graph works over the wrapper" "$why"
	skip "NVRTC and its kernel in a graph work over the wrapper" "$why"
fi
if [ "$1" != cpu ] && python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	cat >"$work/t.py" <<-'END'
	import torch
	a = torch.arange(1 << 20, device="cuda", dtype=torch.float64).reshape(1024, 1024) % 7
	g = torch.cuda.CUDAGraph()
	b = a @ a
	torch.cuda.synchronize()
	with torch.cuda.graph(g):
	    c = (a @ a).sum()
	g.replay()
	print(c.item(), b.sum().item(), (a.cpu() @ a.cpu()).sum().item())
	END
	LD_LIBRARY_PATH=$O/cuda:$LD_LIBRARY_PATH python3 "$work/t.py" | tee "$work/out" | sed 's/^/# /'
	awk '{ exit !($1 == $2 && $2 == $3) }' "$work/out"
	ok $? "PyTorch with cuBLAS and a graph works over the wrapper"
else
	skip "PyTorch with cuBLAS and a graph works over the wrapper" "no PyTorch with CUDA"
fi

MEASURE_DRIVER=$driver MEASURE_MS=$ms timeout 600 "$O/tests/cuda-wrapper/measure" >"$work/figures" 2>"$work/err"
rc=$?
sed 's/^/# /' "$work/figures"
[ $rc = 0 ] || sed 's/^/# /' "$work/err"
[ $rc = 0 ] && [ "$(grep -c '^figure [a-z0-9.-]* -*[0-9.]* ' "$work/figures")" = 15 ]
ok $? "what sharing costs and gives is measured"

# The page: what was measured, on what, when.
{
	device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
	echo '<!-- SPDX-License-Identifier: MIT -->'
	echo '# Evaluation on a GPU'
	echo
	echo "Written by \`make check-gpu\` on $(date -u +%F), on ${device:-no GPU: the driver on the CPU}."
	echo 'What each figure is, tests/cuda-wrapper/measure.c says.'
	echo
	echo '| figure | measured | unit | target |'
	echo '|---|---:|---|---:|'
	sed -n 's/^figure \([^ ]*\) \([^ ]*\) \([^ ]*\) \([^ ]*\)$/| \1 | \2 | \3 | \4 |/p' "$work/figures"
} >"$work/page"
[ "$(grep -c '^| [a-z0-9.-]* | -*[0-9.]* | ' "$work/page")" = 15 ] && cp "$work/page" "$page"
ok $? "the figures are written to ${page##*/}"
exit $bad
