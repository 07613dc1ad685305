#!/bin/bash
# SPDX-License-Identifier: MIT
# What drivers tell of who computes is held against what was granted: by NVIDIA's
# library (one in its place), and by the files of DRM drivers (in a /proc of our own).
. "$(dirname "$0")/lib.sh"

# A second that a busy machine made longer says little of who had how much of it.
doctor() {
	local tries
	for tries in 1 2 3 4 5 6 7 8 9 10; do
		out=$("$@" "$ctl" doctor 2>&1 | grep -E '^ [a-zA-Z]+ +driver ')
		grep -qE 'of the last (1[1-9]|[2-9].)..,' <<<"$out" || return 0
		echo "# again: try $tries was late"
	done
}

start_daemon
"$ctl" device add pci:0000:65:00.0 >/dev/null || wrong "the device isn't taken"
"$busy" 300 1000 4000 & tenant=$!	# has about a fifth of the time
children+=($tenant)
start beside 300 1000			# which wants all that it doesn't
sleep 300 & other=$!
children+=($other)
within 30 eval '"$ctl" status 2>/dev/null | grep -qw $tenant' || wrong "the tenant isn't there"

doctor env LD_LIBRARY_PATH="$dir/none"
says 'ok +driver +none tells'
result "a machine whose drivers don't tell"

mkdir "$dir/lib"
cp "$O/tests/gpusharectl/libnvidia-ml.so.1" "$dir/lib/"
nvml() {
	doctor env LD_LIBRARY_PATH="$dir/lib" NVML_SAYS="$1"
}
nvml "$tenant:25"
says 'ok +driver +1 processes computed.*none past its grants'
nvml "$tenant:95"
says "WARN +driver +pid $tenant \(busy\) computed for [0-9]+ ms of the last 1[0-9]{3}.*was granted [0-9]{2,3}$"
nvml "$tenant:25 $other:60"
says "WARN +driver +pid $other \(sleep\) computed for [67].. ms .*isn't arbitrated"
says_not "pid $tenant"
nvml "$other:15"
says 'ok +driver +1 processes'
result "NVML tells who computes past its grants, or without any"

if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	echo "ok $((tests += 1)) - DRM drivers tell it # SKIP needs root"
	finish
fi

# file PID FD BUS CLIENT: a descriptor of a DRM device, its file from standard input
file() {
	mkdir -p "$dir/proc/$1/fd" "$dir/proc/$1/fdinfo"
	ln -sf /dev/dri/renderD128 "$dir/proc/$1/fd/$2"
	{ printf 'pos:\t0\ndrm-driver:\tfake\ndrm-pdev:\t%s\ndrm-client-id:\t%s\n' "$3" "$4"; cat; } \
		>"$dir/proc/$1/fdinfo/$2.new"
	mv "$dir/proc/$1/fdinfo/$2.new" "$dir/proc/$1/fdinfo/$2"
}
# The counters go on while somebody looks.
tick() {
	local ms=0 begin now
	begin=$(date +%s%N)
	while :; do
		now=$(($(date +%s%N) - begin)) ms=$((now / 1000000))
		# one that has its grants' worth, on a copy engine beside; one by cycles; one elsewhere
		file "$tenant" 5 0000:65:00.0 7 <<<"drm-engine-render:	$((now / 5)) ns
drm-engine-copy:	$((now / 5)) ns
drm-engine-capacity-render:	1"
		file "$tenant" 6 0000:65:00.0 7 <<<"drm-engine-render:	$((now / 5)) ns"
		file "$other" 3 0000:65:00.0 9 <<<"drm-cycles-ccs:	$((ms * 900))
drm-total-cycles-ccs:	$((ms * 1000))"
		file 1 3 0000:00:02.0 2 <<<"drm-engine-render:	$now ns"
		# Whole, for who reads it meanwhile.
		echo sleep >"$dir/comm" && mv "$dir/comm" "$dir/proc/$other/comm"
		sleep 0.02
	done
}
tick & ticking=$!
children+=($ticking)
within 30 test -e "$dir/proc/1/fdinfo/3"
doctor unshare -m sh -c 'mount --bind "$0" /proc && exec "$@"' "$dir/proc"
says "WARN +driver +pid $other \(sleep\) computed for .*isn't arbitrated"
says_not "pid $tenant"
says_not 'pid 1 '
result "DRM drivers tell it, by time or by cycles, once for a client"
kill $ticking
stop_daemon
finish
