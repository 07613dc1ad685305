#!/bin/bash
# SPDX-License-Identifier: MIT
# The gate: who isn't let in can't open a device, by whatever way; who holds one is listed.
# The device is the consoles' /dev/vcs, below a cgroup of the test's own. In a virtual
# machine (GS_VM) also the whole machine's gate.
. "$(dirname "$0")/gate-lib.sh"
chmod 755 "$dir"	# one of the ways is another user's
# way WORD: how it goes from a cgroup that isn't let in
way() {
	local files
	files=$(mktemp -d "$dir/way.XXXX")
	inside out timeout 30 "$intruder" "$1" $node "$files" 2>"$dir/err"
}
on() { gives 0 gate on --below="$us" --nodes=$node; }
refused() { "$ctl" -j gate status --below="$us" | jq .refused; }

start_daemon
gives 0 gate --below="$us"; says '^gate: off'
[ "$("$intruder" attached $node)" = 0 ] || wrong "something is attached already"
on; gives 0 gate status --below="$us"; says '^gate: on, mode share, below '; says 'char 7:0  vcs'; says 'char 195:\*  nvidia'
[ "$(programs)" = 1 ] || wrong "not attached"
says 'let in: nobody'; says 'refused: nobody'; says 'gpushare-rules.service'
inside out "$intruder" plain $node; [ $? = 1 ] || wrong "it isn't refused"
inside out "$intruder" plain /dev/vcsa || wrong "another node is closed"
inside out head -c 1 /dev/zero >/dev/null || wrong "all nodes are closed"
"$intruder" plain $node || wrong "closed to others"
gives 0 gate status --below="$us"; says "^refused:"; says "^  $us/out: 1 time vcs, last .* ago: pid [0-9]+ \(intruder\) of root"
result "who isn't let in is refused, and that is counted"

refusals=0 into_another=0 absent=
for w in plain for-writing own-call openat2 uring link own-node bind path-fd others-root handle user-ns \
	cgroup-ns pid-ns all-ns chroot another-user cgroup-below into-another own-program; do
	before=$(refused)
	way $w
	rc=$?
	case $rc in
	1) refusals=$((refusals + 1))
		[ $w = into-another ] && into_another=1 || [ "$(refused)" -gt "$before" ] || wrong "$w: refused, and not counted" ;;
	4) absent+=" $w" ;;
	*) wrong "$w: $rc, not refused: $(cat "$dir/err")" ;;
	esac
	# Without the gate it would have been a way: else it shows nothing.
done
[ $refusals -ge 15 ] || wrong "only $refusals ways were tried; not here: $absent"
echo "# refused: $refusals; not on this machine:${absent:- none}"
# No environment, no wrapper.
inside out env -i "$intruder" plain $node; [ $? = 1 ] || wrong "without environment"
inside out env -i setsid sh -c "cat $node" 2>/dev/null && wrong "a shell's child of another session"
result "ways round it are refused"

gives 0 gate off --below="$us"; [ "$(programs)" = 0 ] || wrong "it is attached still"
opened=0
for w in plain for-writing own-call openat2 uring link own-node bind path-fd others-root handle user-ns \
	cgroup-ns pid-ns all-ns chroot another-user cgroup-below own-program; do
	way $w
	case $? in
	0) opened=$((opened + 1)) ;;
	4) ;;
	*) wrong "$w leads nowhere without a gate, so that it shows nothing: $(cat "$dir/err")" ;;
	esac
done
[ $opened = $((refusals - into_another)) ] || wrong "only $opened of $refusals ways lead in"
gives 0 gate off --below="$us"; [ -z "$err" ] || wrong "to turn off what is off: $err"
result "off it is off, and the ways lead in"

# hold WAY CGROUP: a holder; $last is its pid
hold() {
	(echo $BASHPID >"$cg$us/$2/cgroup.procs" && exec "$intruder" "$1" $node "$dir") >"$dir/held" 2>"$dir/err" & last=$!
	children+=($last)
	disown $last
	within 20 grep -q ready "$dir/held" || wrong "$1 holds nothing: $(cat "$dir/err")"
}
listed() {
	"$ctl" -j gate status --below="$us" | jq -e --argjson pid "$1" 'any(.holders[]; .pid == $pid and .client == false and .major == 7)' >/dev/null
}
hold hold out; before=$last			# before it was closed
on; gives 0 gate allow --below="$us" "$us/in"
hold hold in; inside_holder=$last
export HOLDER=$inside_holder
hold of-another out; taken=$last
hold socket in; passed=$last
hold moved-out in; moved=$last
hold thread in; thread=$last
hold inherited in; giver=$last
heir=$(pgrep -P "$giver" 2>/dev/null || echo 0)
for h in "$before" "$inside_holder" "$taken" "$passed" "$moved" "$thread" "$heir"; do
	listed "$h" || wrong "pid $h ($(tr '\0' ' ' <"/proc/$h/cmdline")) isn't listed"
done
gives 0 gate status --below="$us"; says "^  pid $before \(intruder\) of root in $us/out: vcs 7:0, NO CLIENT of the arbiter"
says "allowlist +$us/in"
gives 0 gate disallow --below="$us" "$us/in"; inside in "$intruder" plain $node; [ $? = 1 ] || wrong "it is let in still"
for h in "$before" "$inside_holder" "$taken" "$passed" "$moved" "$thread" "$heir"; do kill -9 "$h" 2>/dev/null; done
kill -9 "$giver"
nobody() { "$ctl" gate status --below="$us" | grep -q 'open: nobody'; }
within 10 nobody
gives 0 gate status --below="$us"; says 'open: nobody'
result "who has it open all the same is listed"

# A mistake of the test would be to see no client where there is one.
"$busy" 60 2000 3<$node >/dev/null & children+=($!); client=$!
within 30 clients 1 || wrong "no client"
gives 0 gate status --below="$us"; says "pid $client \(busy\) .*, a client"
stop $client
result "a client is told from others"

gives 0 set "$us/in" weight=10
gives 0 gate on --below="$us" --nodes=$node
inside in "$intruder" plain $node || wrong "a share doesn't let in"
mkdir "$cg$us/in/deep"; inside in/deep "$intruder" plain $node || wrong "below a share"
gives 0 gate on --below="$us" --nodes=$node --mode=run
gives 0 gate status --below="$us"; says 'mode run'
inside in "$intruder" plain $node; [ $? = 1 ] || wrong "a share lets in where only run does"
inside in "$ctl" run --name=started -- "$intruder" plain $node || wrong "what run starts isn't let in"
inside in "$ctl" run -- "$intruder" plain $node || wrong "nor without a wish"
inside in "$ctl" run -- env -i "$intruder" plain $node || wrong "nor its children"
gives 0 gate status --below="$us"; says 'let in: nobody'
# Turned on anew, what was started stays in.
inside in "$ctl" run --name=stays -- sleep 60 & children+=($!)
within 20 test -s "$cg$us/in/stays/cgroup.procs"
within 20 eval '"$ctl" gate status --below="$us" | grep -q "run .*/in/stays"' || wrong "run isn't in the list"
on; gives 0 gate status --below="$us"; says "run +$us/in/stays"
says "share +$us/in\$"
stop "${children[-1]}"
result "by share, and by run"

# Each node of a driver, and one by itself.
gives 0 gate on --below="$us" --nodes=char:7; inside out "$intruder" plain /dev/vcsa1; [ $? = 1 ] || wrong "char:7 isn't all of it"
mknod "$dir/late" c 7 63; inside out "$intruder" plain "$dir/late"; [ $? = 1 ] || wrong "one that is made later"
gives 0 gate on --below="$us" --nodes=char:7:1; inside out "$intruder" plain $node || wrong "char:7:1 is more than that"
for bad in /dev/null char:1 /dev/tty char:5:2 /nothere "$dir" char: char:x char:7:y char:99999 char:7: 7; do
	gives 2 gate on --below="$us" --nodes="$bad"; complains 'gate: '
done
gives 2 gate on --below="$us" --nodes=/dev/null; complains "memory aren't closed"
inside out "$intruder" plain $node || wrong "a refusal changed it"
gives 3 gate on --below=/no/such; complains '/no/such: no such cgroup'
gives 3 gate on --below=/../x; gives 2 gate on --mode=open; complains 'share or run'; gives 2 gate open; gives 2 gate allow
gives 3 gate allow --below="$us" /no/such; complains 'no such cgroup'
gives 3 gate allow --below="$us/out" "$us/in"; complains 'there is none'
gives 2 gate on off; complains 'too many'
result "nodes, and what makes no sense"

# Beside others, and in another's way.
"$intruder" attach-beside $node || wrong "no second program"
mkdir "$cg$us/beside" "$cg$us/alone"; gives 0 gate on --below="$us/beside" --nodes=$node
CGROUP=$cg$us/beside "$intruder" attach-beside $node || wrong "nothing is allowed beside it"
inside beside "$intruder" plain $node; [ $? = 1 ] || wrong "another beside it opens it"
gives 0 gate on --mode=run --below="$us/beside" --nodes=$node
[ "$(CGROUP=$cg$us/beside "$intruder" attached $node)" = 2 ] || wrong "it took another's place"
gives 0 gate off --below="$us/beside"; [ "$(CGROUP=$cg$us/beside "$intruder" attached $node)" = 1 ] || wrong "it took another away"
gives 0 gate off --below="$us"
CGROUP=$cg$us/alone "$intruder" attach-alone $node || wrong "not alone"
gives 4 gate on --below="$us/alone" --nodes=$node; complains 'not changed: it .*attached there that allows none beside it'
inside alone "$intruder" plain $node || wrong "half on"
result "beside other programs of the cgroup, and not in their place"

if command -v setpriv >/dev/null && chmod 755 "$dir" && setpriv --reuid 65534 --regid 65534 --clear-groups "$ctl" help >/dev/null 2>&1; then
	on
	timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups env -u GPUSHARE_CONFIG_DIR "$ctl" gate on --below="$us" 2>"$dir/err"; [ $? = 4 ] || wrong "a user turns it"
	err=$(cat "$dir/err"); complains 'gate: not changed: '
	timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$ctl" gate status --below="$us" 2>"$dir/err"; [ $? = 4 ] || wrong "status"
	err=$(cat "$dir/err"); complains 'it is on, mode share; only root sees more'
	inside out "$intruder" plain $node; [ $? = 1 ] || wrong "a user opened it"
	result "a user can't turn it, and is told so"
fi

# A loop of refusals is one line, and bounded.
gives 0 gate off --below="$us"; on
inside out bash -c "for i in {1..300}; do : <$node; done" 2>/dev/null
gives 0 gate status --below="$us"; says "^  $us/out: 300 times vcs"; [ "$(grep -c ' vcs, last' <<<"$out")" = 1 ] || wrong "more than a line"
result "a loop of refusals"
gives 0 gate off --below="$us"

# Specifications of CDI, drivers and screens, in a machine of our own.
if unshare -m true 2>/dev/null; then
	mkdir -p "$dir/cdi" "$dir/drm/card0/device/drm/card0" "$dir/drm/card1/device/drm/renderD128" "$dir/drm/card1/device/drm/card1"
	echo 226:0 >"$dir/drm/card0/dev"; echo 226:1 >"$dir/drm/card1/dev"
	printf 'Character devices:\n  1 mem\n195 nvidia-frontend\n226 drm\n234 nvidia-caps\n511 nvidia-uvm\n  7 vcs\n510 kfd\n\nBlock devices:\n259 nvidia-disk\n' >"$dir/devices"
	mknod "$dir/cap" c 240 3
	printf '{"cdiVersion":"0.5.0","kind":"acme.com/gpu","containerEdits":{"deviceNodes":[{"path":"/dev/vcsa"},{"path":"/dev/null"},{"hostPath": "/dev/vcsu","path":"/dev/x"},{"path":"/dev/nothere"}]}}' >"$dir/cdi/a.json"
	printf 'cdiVersion: 0.5.0\nkind: "nvidia.com/gpu"\ndevices:\n- containerEdits:\n    deviceNodes:\n    - path: /dev/vcs1\n    mounts:\n    - hostPath: /dev/vcsa1\n' >"$dir/cdi/b.yaml"
	printf '{"kind":"acme.com/net","containerEdits":{"deviceNodes":[{"path":"/dev/vcsu1"}]}}' >"$dir/cdi/c.json"
	unshare -m sh -c 'mount --bind "$1/devices" /proc/devices; mkdir -p /run/cdi 2>/dev/null; mount --bind "$1/cdi" /var/run/cdi
		mount -t tmpfs none /sys/class && mkdir /sys/class/drm && mount --bind "$1/drm" /sys/class/drm
		exec "$2" -j gate on --below="$3" && exec "$2" -j gate on' - "$dir" "$ctl" "$us" 2>"$dir/err" || wrong "$(cat "$dir/err")"
	"$ctl" -j gate status --below="$us" | jq -c '[.nodes[] | [.major, .minor, .closed]]' >"$dir/out"
	for want in '[7,128,true]' '[7,64,true]' '[7,1,true]' '[195,null,true]' '[234,null,true]' '[510,null,true]' '[511,null,true]' \
		'[226,null,true]' '[226,0,false]' '[261,null,true]'; do
		grep -qF -- "$want" "$dir/out" || wrong "no $want: $(cat "$dir/out")"
	done
	for not in '[7,65,' '[1,3' '[226,1,' '[259,' '[7,0,'; do
		! grep -qF -- "$not" "$dir/out" || wrong "$not: $(cat "$dir/out")"
	done
	gives 0 gate off --below="$us"
	result "nodes are found from drivers, sysfs and CDI"
fi

# As rules, and the log.
conf=$GPUSHARE_CONFIG_DIR
printf '[Gate]\nMode=share\nBelow=%s\nNodes=%s\nAllow=unit:later-*.service %s/named\n' "$us" $node "$us" >"$conf/gate.conf"
printf '[Gate]\nMode=open\nBelow=x\nNoes=1\nAllow=%s\n[Gates]\n' "$(seq -f 'a%g' 20 | tr '\n' ' ')" >"$dir/bad.conf"
gives 1 apply --check "$dir/bad.conf"; complains 'bad.conf:2:6: Mode=open: it is share, run or off'; complains ':3:7: Below=x'
complains ':4:1: Noes=: no such key in \[Gate\]'; complains ':5:7: more than 16 patterns'; complains ':6:1: \[Gates\]'
gives 0 reset "$us/in"
"$ctl" apply --watch 2>"$dir/watch.err" & watch=$!; children+=($watch)
is_on() { "$ctl" gate status --below="$us" | grep -q '^gate: on'; }
within 20 is_on || wrong "the rules don't turn it on: $(cat "$dir/watch.err")"
lets_in() { inside "$1" "$intruder" plain $node; }
lets_not_in() { ! lets_in "$1"; }
lets_not_in out || wrong "it is open"
logged() { grep -q "gate: refused pid [0-9]* (intruder) of root in $us/out: vcs (char 7:0) is closed to it, as its cgroup has no share; gpusharectl set --keep TARGET weight=100" "$dir/watch.err"; }
within 20 logged || wrong "nothing in the log: $(cat "$dir/watch.err")"
for i in 1 2 3; do lets_not_in out; done; sleep 2.2
[ "$(grep -c 'gate: refused' "$dir/watch.err")" -le 3 ] || wrong "a loop fills the log: $(cat "$dir/watch.err")"
mkdir "$cg$us/later-$$.service" "$cg$us/named"
within 20 lets_in "later-$$.service" || wrong "the allowlist's unit that came later"
within 20 lets_in named || wrong "the allowlist's path that came later"
gives 0 set "$us/in" weight=20; within 20 lets_in in || wrong "a share that was set later"
gives 0 reset "$us/in"; within 20 lets_not_in in || wrong "one that was taken back"
"$ctl" gate status --below="$us" | grep -q 'nobody writes' && wrong "it says that nobody writes the log"
kill -9 $watch; wait $watch 2>/dev/null; lets_not_in out || wrong "it is open without who keeps the rules"
result "rules: the gate, who comes later, and the log"

printf '[Gate]\nMode=share\nBelow=%s\nNodes=%s\n' "$us" $node >"$conf/gate.conf"
"$ctl" apply --watch 2>"$dir/watch.err" & watch=$!; children+=($watch)
within 20 lets_not_in named || wrong "who isn't on the list any more is in still"
printf '[Gate]\nMode=off\nBelow=%s\n' "$us" >"$conf/gate.conf"
within 20 lets_in out || wrong "Mode=off"
rm "$conf/gate.conf"
gives 0 gate on --keep --below="$us" --nodes=$node; grep -qx Mode=share "$conf/50-gate.conf" || wrong "not kept"
gives 0 gate allow --keep "$us/out" "more.service"; grep -qx "Allow=$us/out" "$conf/50-gate.conf" || wrong "allow isn't kept"
grep -qx "Allow=unit:more.service" "$conf/50-gate.conf" || wrong "a unit that isn't there isn't kept: $(cat "$conf/50-gate.conf")"
within 20 lets_in out || wrong "not allowed"
gives 6 gate allow --keep self; complains "can't be kept"
gives 0 gate disallow --keep "$us/out"; within 20 lets_not_in out || wrong "allowed still"
grep -q "$us/out" "$conf/50-gate.conf" && wrong "it is kept still"
gives 0 gate disallow --keep more.service; gives 0 gate off --keep; [ ! -e "$conf/50-gate.conf" ] || wrong "a rule is left: $(cat "$conf/50-gate.conf")"
kill $watch; wait $watch; rc=$?; [ $rc = 0 ] || wrong "the rules' keeper ends with $rc: $(cat "$dir/watch.err")"
result "rules that change, and --keep"
stop_daemon

# Users' runs, by the service alone.
chmod 755 "$dir"
as() { setpriv --reuid 65521 --regid 65521 --clear-groups "$@"; }
if command -v setpriv >/dev/null && as "$ctl" help >/dev/null 2>&1 && as test -x "$dir"; then
	"$O/gpushared/gpushared" --system --foreground --pci "$dir/none" --socket "$GPUSHARE_ARBITER" --state none 2>>"$dir/daemon.log" & daemon=$!
	within 30 daemon_answers || wrong "no daemon"
	mknod -m 666 "$dir/open" c 7 0
	mkdir -p "$cg$us/user" "$cg$us/beggar"; for d in user beggar; do mkdir "$cg$us/$d/own"; chown 65521 "$cg$us/$d" "$cg$us/$d/cgroup.procs" "$cg$us/$d/cgroup.subtree_control" "$cg$us/$d/own" "$cg$us/$d/own/cgroup.procs"; done
	gives 0 set "$us/user" weight=30
	printf '[Gate]\nMode=run\nBelow=%s\nNodes=%s\n' "$us" $node >"$conf/gate.conf"
	"$ctl" apply --watch 2>"$dir/watch.err" & watch=$!; children+=($watch)
	within 20 is_on
	# run moves itself: from a cgroup of the user's into one below
	inside user/own setpriv --reuid 65521 --regid 65521 --clear-groups env -u GPUSHARE_CONFIG_DIR timeout 60 "$ctl" run --slice="$us/user" --name=mine -- "$intruder" plain "$dir/open" 2>"$dir/err"
	[ $? = 0 ] || wrong "a user's run isn't let in: $(cat "$dir/err" "$dir/watch.err")"
	inside user/own setpriv --reuid 65521 --regid 65521 --clear-groups "$intruder" plain "$dir/open"; [ $? = 1 ] || wrong "without run"
	inside beggar/own setpriv --reuid 65521 --regid 65521 --clear-groups env -u GPUSHARE_CONFIG_DIR timeout 60 "$ctl" run --slice="$us/beggar" --name=mine -- "$intruder" plain "$dir/open" 2>"$dir/err"
	[ $? = 1 ] || wrong "who was given nothing is let in"
	err=$(cat "$dir/err"); complains 'gate: still closed to this program: .*an administrator gave a share'
	kill $watch; wait $watch 2>/dev/null; gives 0 gate off --below="$us"
	stop_daemon
	result "a user's run is let in within what an administrator gave, and not without"
fi

if [ -n "${GS_VM:-}" ]; then
	rm -f "$conf"/*; start_daemon
	gives 0 gate on --nodes=$node
	inside out "$intruder" plain $node; [ $? = 1 ] || wrong "the machine's gate is open"
	"$intruder" plain $node; [ $? = 1 ] || wrong "to the root"
	gives 0 set "$us/in" weight=10; inside in "$intruder" plain $node || wrong "set doesn't let in at once"
	gives 0 reset "$us/in"; inside in "$intruder" plain $node; [ $? = 1 ] || wrong "reset lets in still"
	gives 0 run -- "$intruder" plain $node
	gives 0 doctor; says 'device-gate +on, mode share'
	gives 0 gate off; "$intruder" plain $node || wrong "off"
	result "the machine's gate"
fi
finish
