#!/bin/bash
# SPDX-License-Identifier: MIT
# The units under systemd's own tools: they are sound, and a socket that systemd
# listens on starts the daemon, which answers there.
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build/user}
case $O in /*) ;; *) O=$PWD/$O ;; esac
command -v systemd-analyze >/dev/null || { echo "1..0 # SKIP no systemd here"; exit 4; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpushare-systemd.XXXXXX") || exit 1
pid=
# shellcheck disable=SC2317
clean_up() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}
trap clean_up EXIT
echo 1..5
n=0 failed=0
verdict() {
	n=$((n + 1))
	[ "$1" = 0 ] && { echo "ok $n - $2"; return; }
	sed 's/^/# /' "$dir/said"
	echo "not ok $n - $2"
	failed=1
}

mkdir "$dir/units" "$dir/sbin"
cp "$O/gpushared/gpushared" "$dir/sbin/"
sed "s|@PREFIX@|$dir|" gpushared/gpushared.service.in >"$dir/units/gpushared.service"
cp gpushared/gpushared.socket "$dir/units/"
mkdir "$dir/bin" && cp "$O/bin/gpusharectl" "$dir/bin/"
for s in rules account hook; do
	sed "s|@PREFIX@|$dir|" gpusharectl/gpushare-$s.service.in >"$dir/units/gpushare-$s.service"
done
# What it says of other units of this machine, and of the pages not being installed, isn't ours.
systemd-analyze verify --man=no "$dir"/units/gpushare* 2>&1 | grep gpushare >"$dir/said"
[ ! -s "$dir/said" ]
verdict $? "the units are sound"

sed 's/^SocketMode=/SocketMod=/' "$dir/units/gpushared.socket" >"$dir/sbin/gpushared.socket"
systemd-analyze verify --man=no "$dir/sbin/gpushared.socket" 2>&1 | grep -q SocketMod
verdict $? "and a mistake in one would be seen"

# As far as systemd can tell from its file, of 100: the higher the worse.
exposed() {
	systemd-analyze security --offline=yes --no-pager --threshold="$1" "$2" >"$dir/said" 2>&1
}
if systemd-analyze --help | grep -q -- --offline; then
	exposed 20 "$dir/units/gpushared.service"
	verdict $? "the daemon may little"
	sed '/^ProtectSystem=/d; /^SystemCallFilter=/d; /^PrivateNetwork=/d' "$dir/units/gpushared.service" >"$dir/sbin/gpushared.service"
	! exposed 20 "$dir/sbin/gpushared.service" && grep -q 'exposure level for gpushared.service' "$dir/said"
	verdict $? "and less of that would be seen"
else
	echo "ok 3 - the daemon may little # SKIP systemd is older than 250"
	echo "ok 4 - and less of that would be seen # SKIP the same"
	n=4
fi

# It listens, and starts the daemon with the first connection, passing the socket on.
if command -v systemd-socket-activate >/dev/null; then
	systemd-socket-activate --seqpacket -l "$dir/arbiter.sock" \
		"$O/gpushared/gpushared" --system --foreground --socket "$dir/arbiter.sock" \
		--state "$dir/state" --pci "$dir/none" >"$dir/said" 2>&1 &
	pid=$!
	until=$((SECONDS + 30)) rc=1
	while [ $SECONDS -lt $until ]; do
		"$O/bin/gpusharectl" --arbiter="$dir/arbiter.sock" version 2>>"$dir/said" | grep -q '^arbiter' && rc=0 && break
		sleep 0.1
	done
	# The daemon took systemd's place in the same process, and leaves systemd's socket to it.
	[ $rc = 0 ] && [ "$(cat "/proc/$pid/comm")" = gpushared ] && kill "$pid" && wait "$pid" && [ -S "$dir/arbiter.sock" ]
	verdict $? "its socket starts the daemon"
else
	echo "ok 5 - its socket starts the daemon # SKIP no systemd-socket-activate"
fi
exit $failed
