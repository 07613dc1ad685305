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
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpushare-opencl.XXXXXX") || exit 1
socket=$dir/arbiter.sock
# What PoCL compiles is kept between runs of these tests, but is no other's.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$PWD/build/pocl-cache}
mkdir -p "$POCL_CACHE_DIR"
export XDG_CACHE_HOME=$dir/cache
unset GPUSHARE_GROUP GPUSHARE_ARBITER OPENCL_LAYERS
pids=() n=0 failed=0

# Of a layer that was built with a sanitizer (make SAN=...) all reports are gathered, and each
# fails the test. Races, leaks and orders of locks of the driver's own aren't ours to mend.
sanitizer=$(ldd "$layer" | awk '/lib[at]san/ { print $3 }')
if [ -n "$sanitizer" ]; then
	for library in libpocl libLLVM libclang-cpp; do
		echo "leak:$library" >>"$dir/leaks"
		printf '%s\n' "race:$library" "deadlock:$library" "mutex:$library" >>"$dir/races"
	done
	# Beside another sanitizer it knows of no file to report to: it ends the program.
	export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
	export ASAN_OPTIONS=log_path=$dir/report
	export LSAN_OPTIONS=suppressions=$dir/leaks:print_suppressions=0:exitcode=0
	export TSAN_OPTIONS=suppressions=$dir/races:log_path=$dir/report:exitcode=0:history_size=4
fi

# gone_within SECONDS PID: a program that doesn't end is one that fails, and no more
gone_within() {
	local until=$((SECONDS + $1))
	while jobs -rp | grep -qx "$2"; do
		[ $SECONDS -lt $until ] || { kill -KILL "$2" 2>/dev/null; return; }
		sleep 0.1
	done
}

clean_up() {
	local pid
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	for pid in "${pids[@]}"; do gone_within 10 "$pid"; done
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

finish() {
	local report
	for report in "$dir"/report.*; do
		[ -e "$report" ] || continue
		head -n 200 "$report" | sed 's/^/# /'
		failed=1
	done
	exit $failed
}

# eventually COMMAND...: until it is true, for a minute if need be
eventually() {
	local until=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.1
	done
}

daemon_answers() { "$ctl" --arbiter "$socket" -q version 2>/dev/null | grep -q '^arbiter'; }

start_daemon() {
	"$O/gpushared/gpushared" --user --foreground --idle-exit 0 --pci "$dir/none" \
		--socket "$socket" --state none &
	pids+=($!)
	eventually daemon_answers || { echo "Bail out! the daemon didn't start"; exit 1; }
}

# Tenants: "$ctl" finds the daemon by GPUSHARE_ARBITER.

# begin NAME OPTION... -- COMMAND...: a tenant, whose words come into $dir/NAME
declare -A tenant
begin() {
	local name=$1
	shift
	"$ctl" run --name="$name" "$@" >"$dir/$name" 2>"$dir/$name.err" &
	tenant[$name]=$!
	pids+=($!)
}

# end NAME: it is told to end, and has computed what it should
end() {
	kill -TERM "${tenant[$1]}"
	gone_within 300 "${tenant[$1]}"
	wait "${tenant[$1]}"
}

# both CONDITION: two tenants' programs are clients, and jq's CONDITION is true of each
both() {
	"$ctl" -j status | jq -e '[.clients[] | select(.comm == "look")] | length == 2 and
		all(.[]; '"$1"')' >/dev/null
}

# counts DEVICE KEY NAME...: the arbiter's time, and what it has counted for each, at one time
counts() {
	"$ctl" -j list | jq -r --arg device "$1" --arg key "$2" '. as $all |
		[.time_usec, ($ARGS.positional[] as $name | [$all.groups[] |
			select(.path | test("(^|[:/])" + $name + "$")) | .devices[] |
			select(.key == $device) | .[$key]] | add // 0)] | join(" ")' --args "${@:3}"
}

# of NAME KEY [DEVICE]
of() { counts "${3:-cpu:0}" "$2" "$1" | cut -d' ' -f2; }

# has NAME KEY MORE-THAN [DEVICE]
has() { [ "$(of "$1" "$2" "${4:-cpu:0}")" -gt "$3" ]; }

# held SECONDS NAME...: what each holds of the device's time, in percent
held() {
	local before after
	before=$(counts cpu:0 usage_usec "${@:2}")
	sleep "$1"
	after=$(counts cpu:0 usage_usec "${@:2}")
	echo "$before $after" | awk '{
		for (i = 2; i <= NF / 2; i++)
			printf "%d ", 100 * ($(i + NF / 2) - $i) / ($(1 + NF / 2) - $1)
		print ""
	}'
}
