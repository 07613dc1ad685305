#!/bin/bash
# SPDX-License-Identifier: MIT
# In a guest that systemd has booted: containers of podman's, root's and a user's. What
# root in them may do, and what the two get of a device.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root TMPDIR=/tmp
unset GPUSHARE_ARBITER GPUSHARE_GROUP
O=${O:-build/user}
case $O in /*) ;; *) O=$PWD/$O ;; esac
tree=$PWD busy=$O/tests/gpusharectl/busy
n=0 failed=0
verdict() {
	n=$((n + 1))
	[ "$1" = 0 ] && { echo "ok $n - $2"; return; }
	[ ! -s /tmp/said ] || sed 's/^/# /' /tmp/said
	gpusharectl status 2>&1 | sed 's/^/# /'
	echo "not ok $n - $2"
	failed=1
}
within() {
	local until=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $until ] || return 1; sleep 0.2; done
}

# Nothing but the host's programs; of ours what is installed, and the socket.
root=/tmp/root
mkdir -p $root/{proc,sys,dev,run,tmp,etc,usr,root} "$root$tree" && cp -a /etc/passwd /etc/group $root/etc/
for d in bin sbin lib lib32 lib64 libx32; do [ ! -L /$d ] || cp -a /$d $root/; done
chmod 755 $root
given=(--rm --network=none -v /usr:/usr:ro -v /usr/local:/usr/local:ro -v "$tree:$tree:ro"
	-v /run/gpushare:/run/gpushare)
pod() {	# [OPTION...] --rootfs ROOT COMMAND...
	podman --storage-driver=vfs run "${given[@]}" "$@"
}
pod_of_user() {
	runuser -u tenant -- env HOME=/home/tenant XDG_RUNTIME_DIR=/run/user/1234 \
		podman --cgroup-manager=cgroupfs --storage-driver=vfs run "${given[@]}" "$@"
}
weight() {
	gpusharectl show "$1" -P weight --value
}
# shellcheck disable=SC2317
clients() {
	gpusharectl -j status | jq -e --argjson n "$1" '(.clients | length) == $n and all(.clients[]; .grants > 5)'
}
# Each command that root of the container tries is refused.
# shellcheck disable=SC2016
tries='
me=$(sed -n "s/^0:://p" /proc/self/cgroup)
gpusharectl list >/dev/null || { echo "cannot look"; exit 1; }
[ "$me" = / ] || echo "not in a cgroup name space: $me"
set -x
gpusharectl set self weight=5000 && echo GAINED own weight
gpusharectl set self max=100% && echo GAINED own limit
gpusharectl set /sys/fs/cgroup weight=5000 && echo GAINED the root that it sees
gpusharectl set "id:$1" weight=5000 && echo GAINED the weight of another
gpusharectl set "id:$2" max=100% && echo GAINED own limit by its id
gpusharectl reset "id:$1" && echo GAINED to reset another
gpusharectl reset self && echo GAINED to reset itself
gpusharectl device add other:mine && echo GAINED a device
gpusharectl device remove cpu:0 && echo GAINED to remove one
exit 0
'
id() {
	gpusharectl -j list | jq -r --arg p "$1" '[.groups[] | select(.path | endswith($p)) | .id][0]'
}

echo 1..10
[ "$(cat /proc/1/comm)" = systemd ] && [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]
verdict $? "systemd runs, and cgroup v2 alone"

systemctl -q enable --now gpushared.socket && gpusharectl device add cpu:0
verdict $? "an arbiter"

for s in one two; do
	systemd-run -q --unit=gs-$s --slice=gs-$s.slice sleep infinity
	pod --cgroup-parent=gs-$s.slice --name=$s --rootfs $root "$busy" 3600 2000 >/tmp/said.$s 2>&1 &
done
gpusharectl set gs-one.slice weight=100 max=90% && gpusharectl set gs-two.slice weight=300 && within 200 clients 2
verdict $? "two containers of root's, each in a slice with a share"

used() {
	gpusharectl -j list | jq --arg p "$1" '[.groups[] | select(.path | endswith($p)) | .devices[0].usage_usec][0]'
}
# Since one and two were set, of 100
share_of_one() {
	one=$(($(used gs-one.slice) - one)) two=$(($(used gs-two.slice) - two))
	[ $((one + two)) -gt 5000000 ] && share=$((one * 100 / (one + two)))
	echo "# $one and $two us" | tee -a /tmp/said
}
one=$(used gs-one.slice) two=$(used gs-two.slice)
sleep 20
share_of_one && [ "$share" -ge 23 ] && [ "$share" -le 27 ]
verdict $? "they get 1:3, to 2 %"

one_id=$(id gs-one.slice) two_id=$(id gs-two.slice)
untouched() {
	grep '^gpusharectl: ' /tmp/said | sed 's/^/# /'
	! grep -q GAINED /tmp/said && [ "$(weight gs-one.slice) $(weight gs-two.slice)" = "100 300" ] &&
		gpusharectl status | grep -q cpu:0
}
[ "$one_id" -gt 0 ] && [ "$two_id" -gt 0 ] &&
	pod --cgroup-parent=gs-one.slice --rootfs $root bash -c "$tries" try "$two_id" "$one_id" >/tmp/said 2>&1 && untouched
verdict $? "root of a container sets nothing"

pod --cgroup-parent=gs-one.slice --rootfs $root gpusharectl run --weight=10000 --min=90% -- "$busy" 3 2000 >/tmp/said 2>&1
grep -q 'min=90.0% refused' /tmp/said
verdict $? "nor is it given a guarantee that the slice hasn't got"

one=$(used gs-one.slice) two=$(used gs-two.slice)
pod --cgroup-parent=gs-one.slice --rootfs $root gpusharectl run --weight=10000 -- "$busy" 20 2000 >/tmp/said 2>&1
share_of_one && [ "$share" -le 27 ]
verdict $? "nor does a group that it makes take more than the slice has"

useradd -m -u 1234 tenant && echo tenant:100000:65536 >/etc/subuid && cp /etc/subuid /etc/subgid &&
	mkdir -p /run/user/1234 && chown tenant /run/user/1234 && cp -a $root /home/tenant/root &&
	chown -R tenant /home/tenant/root &&
	pod_of_user --rootfs /home/tenant/root grep -q 100000 /proc/self/uid_map 2>/tmp/said
verdict $? "a container of a user's, with subordinate ids"

pod_of_user --rootfs /home/tenant/root bash -c "$tries" try "$two_id" "$one_id" >/tmp/said 2>&1 && untouched
verdict $? "nor does its root set anything"

podman kill one two >/dev/null 2>&1
wait
gpusharectl -j status | jq -e '.clients | length == 0' >/dev/null
verdict $? "all have gone"
exit $failed
