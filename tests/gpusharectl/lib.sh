# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For the tests of gpusharectl: a private daemon, and TAP.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
O=${O:-build/user}
case $O in /*) ;; *) O=$PWD/$O ;; esac
ctl=$O/bin/gpusharectl
busy=$O/tests/gpusharectl/busy
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpushare-ctl.XXXXXX") || exit 1
export GPUSHARE_ARBITER=$dir/arbiter.sock NO_COLOR=1 LC_ALL=C.UTF-8 GPUSHARE_CONFIG_DIR=$dir/conf
unset GPUSHARE_GROUP COLUMNS
mkdir "$dir/conf"
daemon=
tests=0 failed=0
children=()

clean_up() {
	local pid
	# A child that is killed before its exec has this trap too.
	[ $BASHPID = $$ ] || return
	for pid in "${children[@]}" $daemon; do kill "$pid" 2>/dev/null; done
	wait 2>/dev/null
	rm -rf "$dir"
}
trap clean_up EXIT

# within SECONDS COMMAND...: until it succeeds; generous, as machines are slow
within() {
	local until=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.05
	done
}

start_daemon() {
	"$O/gpushared/gpushared" --user --foreground --idle-exit 0 --pci "$dir/none" \
		--socket "$GPUSHARE_ARBITER" --state "${1:-none}" 2>>"$dir/daemon.log" &
	daemon=$!
	within 30 daemon_answers || { echo "Bail out! the daemon doesn't start"; cat "$dir/daemon.log"; exit 1; }
}

daemon_answers() {
	"$ctl" version 2>/dev/null | grep -q '^arbiter'
}

stop_daemon() {
	kill "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon=
}

# result NAME: the verdict of what was noted by wrong since the last one
result() {
	tests=$((tests + 1))
	if [ -n "${why:-}" ]; then
		printf '%s' "$why" | sed 's/^/# /'
		echo "not ok $tests - $1"
		failed=$((failed + 1))
	else
		echo "ok $tests - $1"
	fi
	why=
}
why=

wrong() {
	why+="$*"$'\n'
}

# gives STATUS ARGUMENT...: runs gpusharectl; $out and $err are what it says
gives() {
	local want=$1 rc
	shift
	timeout 60 "$ctl" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	rc=$?
	out=$(cat "$dir/out")
	err=$(cat "$dir/err")
	[ $rc = "$want" ] || wrong "gpusharectl $*: status $rc, not $want; $err"
}

# says PATTERN: on stdout; complains PATTERN: on stderr (extended regular expressions)
says() {
	grep -qE -- "$1" <<<"$out" || wrong "no \"$1\" on stdout, but: $out"
}

says_not() {
	! grep -qE -- "$1" <<<"$out" || wrong "\"$1\" is on stdout: $out"
}

complains() {
	grep -qE -- "$1" <<<"$err" || wrong "no \"$1\" on stderr, but: $err"
}

# start GROUP ARGUMENT...: a tenant in a named group, in the background
start() {
	GPUSHARE_GROUP=$1 "$busy" "${@:2}" >/dev/null 2>>"$dir/busy.log" &
	children+=($!)
	last=$!
}

stop() {
	kill "$@" 2>/dev/null
	wait "$@" 2>/dev/null
}

clients() {
	[ "$("$ctl" -j status | jq '.clients | length')" = "$1" ]
}

finish() {
	echo "1..$tests"
	[ $failed = 0 ]
	exit
}
