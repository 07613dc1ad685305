# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For the scripts here: TAP, a daemon of one's own, and where the layer is.
O=${O:-build/user}
layer=$PWD/$O/lib/gpushare/libgpushare-opencl.so
[ "${O#/}" = "$O" ] || layer=$O/lib/gpushare/libgpushare-opencl.so
ctl=$O/bin/gpusharectl
[ -e /etc/OpenCL/vendors/pocl.icd ] || { echo "1..0 # SKIP no PoCL here"; exit 4; }
[ -e "$layer" ] || { echo "1..0 # SKIP the layer isn't built: OpenCL's headers aren't here"; exit 4; }
export OCL_ICD_VENDORS=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors/pocl.icd}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpushare-opencl.XXXXXX")
socket=$dir/arbiter.sock
# What PoCL compiles is kept between runs of these tests, but is no other's.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$PWD/build/pocl-cache}
mkdir -p "$POCL_CACHE_DIR"
export XDG_CACHE_HOME=$dir/cache
unset GPUSHARE_GROUP GPUSHARE_ARBITER OPENCL_LAYERS
pids=() n=0 failed=0

clean_up() {
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$dir"
}
trap clean_up EXIT

plan() { echo "1..$1"; }

# verdict STATUS NAME [FILE]: FILE is shown if it failed
verdict() {
	n=$((n + 1))
	[ "$1" = 0 ] && { echo "ok $n - $2"; return; }
	[ -z "${3:-}" ] || head -n 40 "$3" | sed 's/^/# /'
	echo "not ok $n - $2"
	failed=1
}

finish() { exit $failed; }

# eventually COMMAND...: until it is true, for seconds if need be
eventually() {
	for _ in $(seq 200); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

daemon_answers() { "$ctl" --arbiter "$socket" -q version 2>/dev/null | grep -q '^arbiter'; }

start_daemon() {
	"$O/ulib/gpushared/gpushared" --user --foreground --idle-exit 0 --pci "$dir/none" \
		--socket "$socket" --state none &
	pids+=($!)
	eventually daemon_answers || { echo "Bail out! the daemon didn't start"; exit 1; }
}
