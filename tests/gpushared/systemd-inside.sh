#!/bin/bash
# SPDX-License-Identifier: MIT
# In a guest that systemd has booted: the units as an administrator would use them.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root TMPDIR=/tmp SYSTEMD_COLORS=0
unset GPUSHARE_ARBITER GPUSHARE_GROUP
O=${O:-build/user}
case $O in /*) ;; *) O=$PWD/$O ;; esac
busy=$O/tests/gpusharectl/busy
n=0 failed=0
verdict() {
	n=$((n + 1))
	[ "$1" = 0 ] && { echo "ok $n - $2"; return; }
	gpusharectl status 2>&1 | sed 's/^/# /'
	journalctl -q --no-pager -n 20 -o cat | sed 's/^/# /'
	echo "not ok $n - $2"
	failed=1
}
within() {
	local until=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $until ] || return 1; sleep 0.2; done
}
is() {
	[ "$(systemctl is-active "$2")" = "$1" ]
}
clients() {
	gpusharectl -j status | jq -e --argjson n "$1" '(.clients | length) == $n and all(.clients[]; .grants > 5)'
}
has_display() {
	gpusharectl -j device list | jq -e '[.devices[].key | select(startswith("pci:"))] | length == 1'
}
weighs() {
	[ "$(gpusharectl show "$1" -P weight --value)" = "$2" ]
}
main_pid() {
	systemctl show -P MainPID gpushared.service
}
echo 1..15
[ "$(cat /proc/1/comm)" = systemd ] && [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]
verdict $? "systemd runs, and cgroup v2 alone"

systemctl -q enable --now gpushared.socket && is active gpushared.socket && is inactive gpushared.service
verdict $? "the socket is enabled, and nothing runs yet"

gpusharectl status | grep -q '^daemon' && is active gpushared.service && gpusharectl device add cpu:0
verdict $? "the first caller starts the service"

# Those that the unit leaves it: CAP_DAC_READ_SEARCH, CAP_KILL, CAP_SYS_PTRACE.
grep -q '^CapEff:	0000000000080024$' "/proc/$(main_pid)/status" && grep -q '^NoNewPrivs:	1$' "/proc/$(main_pid)/status"
verdict $? "it has the rights that it needs and no more"

# It is told of them in a network of its own.
display=
for d in /sys/bus/pci/devices/*; do [ "$(cat "$d/class")" != 0x038000 ] || display=$d; done
[ -n "$display" ] && has_display >/dev/null && echo 1 >"$display/remove" && within 60 eval '! has_display' &&
	echo 1 >/sys/bus/pci/rescan && within 60 has_display
verdict $? "it sees devices come and go"

runuser -u nobody -- gpusharectl list >/dev/null; listed=$?
runuser -u nobody -- gpusharectl set self weight=500 2>/dev/null; set=$?
runuser -u nobody -- gpusharectl device add test:x 2>/dev/null
[ "$listed $set $?" = "0 4 4" ]
verdict $? "a user may look, and change nothing"

for s in one two; do systemd-run -q --unit=gs-$s --slice=gs-$s.slice "$busy" 3600 2000; done
within 120 is active gs-two.service
gpusharectl set gs-one.slice weight=100 && gpusharectl set gs-two.slice weight=300 && within 120 clients 2 &&
	gpusharectl -j list | jq -e '[.groups[] | select(.devices[0].grants > 0) | .path] |
		any(endswith("gs-one.slice")) and any(endswith("gs-two.slice"))' >/dev/null
verdict $? "services belong to their slices' shares"

old=$(main_pid)
kill -KILL "$old"
within 120 clients 2 && [ "$(main_pid)" != "$old" ] && [ "$(gpusharectl show gs-two.slice -P weight --value)" = 300 ]
verdict $? "killed, it is started again, with its shares and its clients"

systemctl restart gpushared.service
within 120 clients 2 && [ "$(gpusharectl show gs-two.slice -P weight --value)" = 300 ]
verdict $? "restarted as well"

# Rules: for what isn't there yet, over a restart of the arbiter that has lost its state.
mkdir -p /etc/gpushare && printf '[Device]\nMatch=cpu:0\n' >/etc/gpushare/10-device.conf &&
	systemctl -q enable --now gpushare-rules.service && gpusharectl set --keep gs-three.slice weight=77 &&
	gpusharectl set --keep gs-one.slice weight=55 && [ -e /etc/gpushare/50-gs-three.slice.conf ] &&
	systemd-run -q --unit=gs-three --slice=gs-three.slice "$busy" 3600 2000 && within 120 weighs gs-three.slice 77
verdict $? "a slice that comes later has the share that was kept for it"

systemctl stop gpushared.service && rm -f /var/lib/gpushare/state && gpusharectl status >/dev/null &&
	within 120 weighs gs-three.slice 77 && within 120 weighs gs-one.slice 55 && is active gpushare-rules.service &&
	systemctl stop gs-three.service && within 120 clients 2
verdict $? "so has everything kept, with an arbiter that knows nothing"

# Units: systemd passes over our sections, and we read what it reads.
units=/etc/systemd/system
printf '[Service]\nExecStart=%s 3600 2000\n[X-GPUShare]\nWeight=44\nMax=60%%\n' "$busy" >$units/gs-x-y@.service
systemctl daemon-reload && systemctl start gs-x-y@i.service && within 120 weighs gs-x-y@i.service 44 &&
	! journalctl -q --no-pager -o cat | grep -i 'X-GPUShare\|Unknown section' &&
	[ "$(gpusharectl show gs-x-y@i.service -P max --value)" = 60% ] && within 120 clients 3
verdict $? "a template's instance has the share of its unit"

# Of equally named drop-ins one counts: the same for both, whichever are there.
weight=200
for place in $units /run/systemd/system; do
	for u in gs-x-y@i gs-x-y@ gs-x-@i gs-x-@ gs-@i gs-@ gs-x- gs- ''; do
		mkdir -p "$place/${u:+$u.}service.d" && weight=$((weight + 1)) &&
			printf '[X-GPUShare]\nWeight=%s\n' $weight >"$place/${u:+$u.}service.d/50-gs.conf"
	done
done
# On a busy machine the bus may take longer than systemctl waits.
loaded() {
	systemctl daemon-reload && drops=$(systemctl show -P DropInPaths gs-x-y@i.service)
}
differs='' seen=0
while :; do
	within 300 loaded || { differs='nothing: systemd says no drop-ins'; break; }
	drop=$(tr ' ' '\n' <<<"$drops" | grep 50-gs.conf)
	want=$([ -z "$drop" ] && echo 44 || sed -n 's/^Weight=//p' "$drop")
	within 120 weighs gs-x-y@i.service "$want" || differs="$differs $drop"
	[ -n "$drop" ] && [ -z "$differs" ] || break
	seen=$((seen + 1))
	rm "$drop"
done
[ -z "$differs" ] && [ $seen = 18 ] || { echo "# $seen were alike, then $differs"; find $units /run/systemd/system -name 50-gs.conf | sed 's/^/# left: /'; false; }
verdict $? "drop-ins count for it as they do for systemd"

mkdir -p $units/gs-x-y@i.service.d && printf '[X-GPUShare]\nWeigh=1\nWeight=46\n' >$units/gs-x-y@i.service.d/10-gpu.conf
within 60 weighs gs-x-y@i.service 46 && journalctl -q --no-pager -o cat | grep -q 'gs-x-y@i.service.d/10-gpu.conf:2:1: Weigh=' &&
	gpusharectl doctor | grep -q 'FAIL *units .*10-gpu.conf:2:1: Weigh=' && rm $units/gs-x-y@i.service.d/10-gpu.conf &&
	within 60 weighs gs-x-y@i.service 44 && systemctl stop gs-x-y@i.service && within 120 clients 2
verdict $? "a mistake is said, with its place, and the rest holds"

systemctl stop gs-one.service
within 120 clients 1 && systemctl stop gpushared.socket && within 60 is inactive gpushared.service && is inactive gpushared.service &&
	systemctl start gpushared.service && is active gpushared.socket && within 120 gpusharectl status
verdict $? "it stops, and starts"
exit $failed
