#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 14400 s
# Debian's OpenCL programs, which know nothing of the layer: the same results without
# it, with it, and with all that can be cut in pieces of random sizes. One that isn't
# installed is skipped by its name. Without names: those that are done in seconds.
#	programs.sh [clinfo] [clpeak] [clblast-ROUTINE...] [pyopencl] [examples] [hashcat]
# FULL=1 (make check-full): without names all of them, which takes PoCL's compiler many
# minutes, all of clpeak, and also gated only, and by workers that are stopped at random.
# GS_WAYS="cut workers" are the ways that are tried.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
spy=$PWD/$O/tests/wrap/opencl/spy.so
[ "${O#/}" = "$O" ] || spy=$O/tests/wrap/opencl/spy.so
seed=${GS_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "# seed $seed"
# PoCL says how much memory is free at the moment.
export POCL_MEMORY_LIMIT=2 PYTHONDONTWRITEBYTECODE=1

# Most of them take seconds; what doesn't end fails, and the next one is run.
most=$([ -z "${FULL:-}" ] && echo 300 || echo 1800)

# Each has a way to run it, and one to make two runs' output comparable.

# The layer takes some extensions away, and writes the list with single spaces.
# Without cpufreq, PoCL's clock is that of the moment.
hidden='cl_(khr_command_buffer|pocl_command_buffer|intel_unified_shared_memory|ext_buffer_device_address)[a-z_]*(:[^ ]*)?'
run_clinfo() { timeout --foreground -k 5 $most clinfo --raw; }
filter_clinfo() {
	grep -v -e COMMAND_BUFFER -e MAX_CLOCK_FREQUENCY -e MEM_CAPABILITIES_INTEL | sed -E "s/$hidden//g; s/ +/ /g; s/ $//"
}

# What it measures is left out.
run_clpeak() {
	# shellcheck disable=SC2046
	timeout --foreground -k 5 $most clpeak $([ -n "${FULL:-}" ] || echo --kernel-latency)
}
filter_clpeak() { sed -E 's/[0-9]+(\.[0-9]+)?/N/g'; }

run_pyopencl() { timeout --foreground -k 5 $most /usr/bin/python3 tests/wrap/opencl/arrays.py; }
filter_pyopencl() { cat; }

# pyopencl's own. The others need a window, a picture, a GPU of CUDA's or packages that
# Debian lacks, or measure for minutes; n-body's groups read what others write, so that
# its results are others each time. What these draw at random is the same each time.
examples=/usr/share/doc/python-pyopencl-doc/examples
run_examples() {
	local example
	cd "$dir" || return 1
	for example in demo demo_array demo_array_svm demo_elementwise demo_elementwise_complex \
			demo_meta_template demo-struct-reduce narray svm dump-properties \
			"pi-monte-carlo -g OpenCL -d 0 -i 100000 -b 16 -e 16 -f 4 -l 4 -r 1"; do
		echo "$example"
		# shellcheck disable=SC2086
		set -- $example
		PYOPENCL_CTX=0 timeout --foreground -k 5 $most /usr/bin/python3 -W ignore -c 'import numpy, random, runpy, sys
numpy.random.seed(7)
seeded = random.Random(7)
random.Random = lambda seed=None: seeded
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$examples/$1.py" "${@:2}" || return 1
	done
}
# Without what they measure, and what the layer takes away
filter_examples() {
	grep -vE '^EXTENSIONS_WITH_VERSION|CLOCK_FREQUENCY|DEVICE_ENQUEUE|Itops|done in|^[0-9.]+ [0-9.]+ 0\.00 ' |
		sed -E "s/$hidden//g; s/ +/ /g; s/0x[0-9a-f]+/ADDRESS/g"
}

# A routine's own test: results are compared with a BLAS on the processor.
run_clblast() {
	timeout --foreground -k 5 $most "clblast_test_${1#clblast-}" >"$dir/clblast" || return 1
	sed 's/\x1b\[[0-9;]*m//g' "$dir/clblast" | grep -E 'passed|failed|skipped|margins'
}
filter_clblast() { cat; }

# It checks itself on a known hash before it begins, then finds "zab". With two GiB it
# finds too little to allocate.
run_hashcat() {
	POCL_MEMORY_LIMIT=8 timeout --foreground -k 5 $most hashcat -m 0 -a 3 --potfile-disable --quiet --force -D 1 \
		46f6e8fb2d9082a6bff9070b7aee619c '?l?l?l'
}
filter_hashcat() { grep ':zab$'; }

# Of these also a hash of all that they read back is compared.
reads_back() { case $1 in pyopencl | examples | clblast-*) ;; *) return 1 ;; esac; }

have() {
	case $1 in
	examples) have pyopencl && [ -e $examples/demo.py ] ;;
	pyopencl) /usr/bin/python3 -c 'import pyopencl, numpy, mako' 2>/dev/null ;;
	clblast-*) type "clblast_test_${1#clblast-}" >/dev/null 2>&1 ;;
	*) type "$1" >/dev/null 2>&1 ;;
	esac
}

programs="clinfo clpeak clblast-xaxpy"
if [ -n "${FULL:-}" ]; then
	programs="$programs pyopencl examples hashcat"
	for routine in xdot xamax xger xgemv xsyrk xtrsv xomatcopy xim2col xgemm xtrsm; do
		programs="$programs clblast-$routine"
	done
fi
[ $# = 0 ] || programs=$*
ways="on cut"
[ -z "${FULL:-}" ] || ways="on off cut workers"
ways=${GS_WAYS:-$ways}

# How each of them is set up, and said
declare -A set_up=(
	[on]="GPUSHARE_ARBITER=$socket"
	[off]="GPUSHARE_ARBITER=$socket GPUSHARE_CUT=off"
	[cut]="GPUSHARE_ARBITER=none GPUSHARE_CUT=slice,random=$seed"
	[workers]="GPUSHARE_ARBITER=none GPUSHARE_CUT=workers,random=$seed"
)
declare -A said=(
	[on]="with the layer" [off]="gated only" [cut]="cut at random"
	[workers]="by workers stopped at random"
)

# ticks GROUP: of processor time that its processes have taken
ticks() {
	cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' |
		awk -v group="$1" '$3 == group { t += $12 + $13 } END { print t + 0 }'
}

# PoCL 3.1 may hang in workers by itself (see workers.c): a thread of it waits in the C
# library for a word that has long been said, and goes on when a signal makes it look.
# So a program that does nothing is given one. What is stuck otherwise stays so, and fails.
watch_for_hangs() {	# GROUP FILE
	local before=-1 now
	while sleep 20 && kill -0 -- "-$1" 2>/dev/null; do
		now=$(ticks "$1")
		if [ $((now - before)) -lt 4 ]; then
			echo hung >>"$2"
			kill -STOP -- "-$1"
			kill -CONT -- "-$1"
		fi
		before=$now
	done
}

# try HOW PROGRAM [VARIABLE=VALUE...]: what it prints is kept in $dir/PROGRAM.HOW
try() {
	local out=$dir/$2.$1 rc watch
	export XDG_CACHE_HOME=$dir/cache.$1 HOME=$dir/home.$1
	mkdir -p "$HOME"
	set -m
	(
		[ $# -lt 3 ] || export "${@:3}"
		# Others' programs have no sanitizer in them, and leak what they like.
		[ -z "$sanitizer" ] ||
			export LD_PRELOAD=$sanitizer ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
		if reads_back "$2"; then
			export OPENCL_LAYERS=${OPENCL_LAYERS:+$OPENCL_LAYERS:}$spy SPY_OUT=$out.read
		fi
		"run_${2%%-*}" "$2"
	) >"$out.all" 2>"$out.err" </dev/null &
	set +m
	pids+=($!)
	if [ "$1" = workers ]; then
		watch_for_hangs $! "$out.hung" &
		watch=$!
	fi
	wait -f "${pids[-1]}"
	rc=$?
	if [ -n "${watch:-}" ]; then
		kill "$watch" 2>/dev/null
		wait "$watch" 2>/dev/null
		[ ! -e "$out.hung" ] ||
			echo "# $2: hung in PoCL's workers $(wc -l <"$out.hung") times, until a signal came"
	fi
	[ $rc = 0 ] && "filter_${2%%-*}" <"$out.all" >"$out" && [ -s "$out" ] &&
		{ ! reads_back "$2" || { [ -s "$out.read" ] && cat "$out.read" >>"$out"; }; }
}

# shellcheck disable=SC2086
set -- $programs
plan $(($# * (1 + 2 * $(echo "$ways" | wc -w))))
start_daemon
for program; do
	if ! have "$program"; then
		for what in alone $(for way in $ways; do echo "$way $way:same"; done); do
			n=$((n + 1))
			echo "ok $n - $program: $what # SKIP $program isn't installed"
		done
		continue
	fi
	try off "$program"
	verdict $? "$program: alone" "$dir/$program.off.err"
	for way in $ways; do
		# shellcheck disable=SC2086
		try "$way" "$program" OPENCL_LAYERS="$layer" GPUSHARE_VERBOSE=1 ${set_up[$way]}
		verdict $? "$program: ${said[$way]}" "$dir/$program.$way.err"
		diff "$dir/$program.off" "$dir/$program.$way" >"$dir/diff"
		verdict $? "$program: ${said[$way]}: the same" "$dir/diff"
		sed -n 's/^gpushare: kernel [^:]*: \([a-z]*\).*/\1/p' "$dir/$program.$way.err" | sort |
			uniq -c | awk -v p="$program" -v w="${said[$way]}" \
				'{ printf "# %s, %s: %d ways are %s\n", p, w, $1, $2 }'
	done
done
finish
