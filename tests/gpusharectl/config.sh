#!/bin/bash
# SPDX-License-Identifier: MIT
# apply and save: round trips, mistakes with their places, and all or nothing.
. "$(dirname "$0")/lib.sh"
conf=$dir/conf

cat >"$dir/bad.conf" <<'EOF'
Weight=1
[Device]
Slice=4
Match=cpu:0
Colour=red
[Share]
Weight=20000
Weight=0
Match=name:a
	Max = 200ms
nonsense
[Thing]
Weight=1
[Share] x
EOF
printf '[Share]\nMatch=name:a\nWeight=1\0\n' >"$dir/nul.conf"
gives 1 apply --check "$dir/bad.conf"
for at in '1:1: Weight= outside' '3:7: slice=4: not understood' '5:1: Colour=: no such key in \[Device\]' \
	'7:8: weight=20000: out of range' '8:8: weight=0: out of range' \
	'10:8: max=200ms: not understood' '11:1: this is no KEY=VALUE' '12:1: \[Thing\]: no such section' \
	'14:1: a section is'; do
	complains "^$dir/bad.conf:$at"
done
complains '^gpusharectl: apply: 1[0-9] mistakes, nothing was changed'
gives 1 apply --check "$dir/nul.conf"; complains ':3:1: a NUL byte'
printf '[Share]\nMatch=name:a\n[Share]\nWeight=5\n[Device]\nMatch=x*\n' >"$dir/empty.conf"
gives 1 apply --check "$dir/empty.conf"
complains ':1:1: this section sets nothing'; complains ':3:1: this section has no Match='; complains ':5:1:'
gives 3 apply "$dir/nothere.conf"; complains "can't be read: No such file"
gives 3 apply "$dir"; complains 'it is a directory'
head -c 2000000 /dev/zero | tr '\0' '#' >"$dir/long.conf"
gives 1 apply --check "$dir/long.conf"; complains 'longer than 1M'
printf '[Share]\nMatch=name:a\nWeight=5\n' >"$dir/good.conf"
gives 0 apply --check "$dir/good.conf"
gives 5 --arbiter="$dir/none.sock" apply "$dir/good.conf"
result "mistakes are told with their places, without an arbiter"

start_daemon "$dir/state"
cat >"$conf/20-all.conf" <<'EOF'
# comment
; another
[Device]
Match = cpu:0
Slice=3ms
Memory=4G

[Device]
Match=mig:made/1
Policy=rr

[share]
match=name:a name:b
WEIGHT=300
MemoryMax=25%
Device=cpu:0

[Share]
Match=name:a
Max=20ms/50ms+5ms
Class=latency
EOF
printf '[Device]\nMatch=cpu:*\nSlice=5ms\nGrace=60ms\n' >"$conf/30-later.conf"
gives 0 apply -n
says '^set device cpu:0 slice=3ms memory=4G'; says '^add device mig:made/1 policy=rr'
gives 0 device list; says 'cpu:0 .* 2ms'; says_not 'mig:made'
gives 0 apply
gives 0 -j device list
[ "$(jq -r '.devices[] | "\(.key) \(.slice_usec) \(.grace_usec) \(.memory_bytes) \(.policy) \(.kind)"' "$dir/out")" = \
	"cpu:0 5000 60000 4294967296 fair cpu
mig:made/1 2000 100000 0 rr mig" ] || wrong "devices: $out"
gives 0 show --device=cpu name:b; says 'weight +300 +set for this device'; says 'mem.max +1G'
gives 0 show --device=cpu name:a; says 'max +20ms/50ms\+5ms +set for all'; says 'class +latency'
gives 0 apply -n; [ -z "$(grep -v cpu:0 <<<"$out")" ] || wrong "not at rest: $out"
result "apply makes it so; the later section has the last word"

gives 0 save "$dir/saved.conf"; [ -z "$out" ] || wrong "save says: $out"
gives 0 apply --check "$dir/saved.conf"
gives 0 apply -n "$dir/saved.conf"; [ -z "$out" ] || wrong "what was saved isn't so: $out"
cp "$dir/saved.conf" "$dir/first.conf"
gives 0 reset name:a; gives 0 reset --device=cpu name:a; gives 0 reset --device=cpu name:b
gives 0 device remove mig:made/1; gives 0 device set cpu:0 slice=9ms memory=0
gives 0 apply "$dir/saved.conf"
gives 0 save "$dir/saved.conf"
diff "$dir/first.conf" "$dir/saved.conf" >"$dir/diff" || wrong "$(cat "$dir/diff")"
gives 0 save; [ "$out" = "$(cat "$dir/saved.conf")" ] || wrong "save to stdout differs"
gives 1 save "$dir/no/such/file"; complains "can't be written"
# What is no file is written to, and stays what it is.
mkfifo "$dir/pipe"; cat "$dir/pipe" >"$dir/piped" & reader=$!
gives 0 save "$dir/pipe"
[ -p "$dir/pipe" ] || wrong "the pipe was replaced"
wait $reader
cmp -s "$dir/piped" "$dir/saved.conf" || wrong "through a pipe: $(head -n 3 "$dir/piped")"
[ "$(echo "$dir"/saved.conf*)" = "$dir/saved.conf" ] || wrong "a temporary file is left"
result "save and apply round trip"

before=$("$ctl" save)
cat >"$dir/refused.conf" <<'EOF'
[Device]
Match=cpu:0
Slice=7ms
[Device]
Match=other:new
[Share]
Match=name:a
Weight=77
[Share]
Match=name:a
Min=60%
[Share]
Match=name:b
Min=60%
EOF
gives 6 apply "$dir/refused.conf"; complains 'refused.conf: .*too much is guaranteed'
complains 'apply: nothing was changed'
[ "$before" = "$("$ctl" save)" ] || wrong "it changed: $(diff <(echo "$before") <("$ctl" save))"
printf '[Device]\nMatch=cpu:0\nSlice=8ms\n[Share]\nMatch=name:a\nDevice=gpu9\nWeight=3\n' >"$dir/refused.conf"
gives 3 apply "$dir/refused.conf"; complains 'gpu9: no such device'
printf '[Device]\nMatch=cpu:0\nSlice=8ms\n[Share]\nMatch=name:a\nMemoryMax=50%%\n' >"$dir/refused.conf"
gives 1 apply "$dir/refused.conf"; complains 'refused.conf:6:11: .*a percentage needs one device'
gives 1 apply "$dir/good.conf" "$dir/bad.conf"
[ "$before" = "$("$ctl" save)" ] || wrong "it changed: $(diff <(echo "$before") <("$ctl" save))"
result "all or nothing"

printf '[Share]\nMatch=/no/such/cgroup /no/such/*.slice job:4711\nWeight=5\n' >"$dir/later.conf"
gives 0 apply "$dir/later.conf"; complains '/no/such/cgroup: no such cgroup now, left out'
gives 0 -q apply "$dir/later.conf"; [ -z "$err" ] || wrong "quiet says: $err"
printf '[Share]\nMatch=name:a\nWeight=\nMax=default\n' | "$ctl" apply - || wrong "from stdin"
gives 0 show name:a; says 'max +max'
gives 0 apply --prune "$dir/good.conf"
gives 0 save; says_not 'name:b'; says 'name:a'; says 'Weight=5'; says_not 'MemoryMax'
ln -s /dev/null "$conf/10-off.conf"
gives 0 apply
result "left out, taken back, pruned"

gives 0 save "$dir/before.conf"
kill -9 "$daemon"; wait "$daemon" 2>/dev/null
start_daemon "$dir/state"
gives 0 save "$dir/after.conf"
# Devices may have other ids then, and so another order.
diff <(sort "$dir/before.conf") <(sort "$dir/after.conf") >"$dir/diff" || wrong "$(cat "$dir/diff")"
gives 0 apply -n "$dir/before.conf"; [ -z "$out" ] || wrong "what was saved isn't so: $out"
result "the same after kill -9 of the daemon"

# What can't be kept is done, and said: at once, and to all who look, until it is kept.
mkdir "$dir/state.new"
gives 8 set name:k weight=7; complains 'name:k: done, but lost .*Is a directory'
gives 0 show name:k -P weight --value; [ "$out" = 7 ] || wrong "weight $out"
gives 8 device add cpu:unkept
gives 8 device set cpu:unkept slice=3ms
gives 8 device remove cpu:unkept
printf '[Share]\nMatch=name:k\nWeight=8\n' >"$dir/unkept.conf"
gives 8 apply "$dir/unkept.conf"; gives 0 apply "$dir/unkept.conf"; gives 0 set name:k weight=9 -n
gives 0 status; says "won't outlive the daemon"
gives 0 -j status; says '"unkept_errno":21'
gives 1 doctor; says 'state .*Is a directory'
gives 0 metrics; says '^gpushare_settings_unkept 1$'
gives 8 reset name:k weight
rmdir "$dir/state.new"
kept() { "$ctl" metrics | grep -q '^gpushare_settings_unkept 0$'; }
within 20 kept || wrong "it isn't said that it is kept again"
gives 0 status; says_not "outlive"
result "what can't be kept is said to who sets it, and to who looks"

cg=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$cg" ] && mkdir "$cg/gpushare-ctl-test-$$.slice" 2>/dev/null; then
	slice=gpushare-ctl-test-$$.slice
	mkdir "$cg/$slice/job_$$" "$cg/$slice/job_$$/step_0"
	gives 0 set "$slice" weight=250; gives 0 show "/$slice" -P weight --value
	[ "$out" = 250 ] || wrong "unit: $out"
	gives 0 set job:$$.0 weight=50; gives 0 list; says "$slice"; says " └─job_$$/step_0"
	gives 0 set "job:$$" max=50%; gives 0 show "job:$$" -P max --value
	[ "$out" = 50% ] || wrong "job: $out"
	printf '[Share]\nMatch=/gpushare-ctl-test-*.slice unit:gpushare-ctl-test-%s.slice job:%s*\nMin=5%%\n' $$ $$ >"$dir/x.conf"
	gives 0 apply "$dir/x.conf"
	gives 0 show "/$slice"; says 'min +5%'; gives 0 show job:$$; says 'min +5%'
	gives 0 save; says "^Match=/$slice\$"
	sleep 60 & sleeper=$!; children+=($sleeper)
	echo $sleeper >"$cg/$slice/job_$$/step_0/cgroup.procs"
	gives 0 show pid:$sleeper; says "^/$slice/job_$$/step_0 "
	gives 0 reset pid:$sleeper; gives 0 show pid:$sleeper; says "^/$slice/job_$$ "
	kill $sleeper; wait $sleeper 2>/dev/null
	gives 0 reset "job:$$"; gives 0 reset "$slice"
	within 10 rmdir "$cg/$slice/job_$$/step_0"; rmdir "$cg/$slice/job_$$" "$cg/$slice"
	result "cgroups: by path, unit, job and process"

	# weighs TARGET WEIGHT: within a second or so
	weighs() { [ "$("$ctl" show "$1" -P weight --value 2>/dev/null)" = "$2" ]; }
	soon() { within 5 weighs "$@" || wrong "$1 doesn't get weight $2 but $("$ctl" show "$1" -P weight --value 2>&1)"; }
	rm -f "$conf"/*
	# With one device as with several.
	gives 0 device remove mig:made/1; gives 0 -j device list
	[ "$(jq '.devices | length' "$dir/out")" = 1 ] || wrong "devices: $out"
	printf '[Share]\nMatch=/%s/made-later unit:later-%s.service\nWeight=42\n' "$slice" $$ >"$conf/50-rules.conf"
	"$ctl" apply --watch 2>"$dir/watch.err" & watch=$!; children+=($watch)
	mkdir "$cg/$slice"; sleep 0.3
	mkdir -p "$cg/$slice/made-later" "$cg/$slice/a/later-$$.service"
	soon "/$slice/made-later" 42; soon "later-$$.service" 42
	result "rules: a cgroup that is made later gets its share"

	gives 0 set "/$slice/made-later" weight=43; mkdir "$cg/$slice/other"; sleep 1.5
	weighs "/$slice/made-later" 43 || wrong "what was set by hand is overruled"
	rmdir "$cg/$slice/made-later"; sleep 0.2; mkdir "$cg/$slice/made-later"
	soon "/$slice/made-later" 42
	# Nor is it by files beside, or beside the directory of files.
	gives 0 set "/$slice/made-later" weight=43
	: >"$dir/resolv.conf"; mv "$dir/resolv.conf" "$dir/again.conf"; : >"$conf/.hidden.conf"; : >"$conf/note.txt"; sleep 1.2
	weighs "/$slice/made-later" 43 || wrong "another file makes the rules so anew"
	rmdir "$cg/$slice/made-later"; sleep 0.2; mkdir "$cg/$slice/made-later"
	result "rules: what is set by hand stays, and one that is made anew is new"

	kill -9 "$daemon"; wait "$daemon" 2>/dev/null
	sleep 1.2
	start_daemon
	soon "/$slice/made-later" 42; soon "later-$$.service" 42
	result "rules: a daemon that comes back without its state gets them"

	printf '[Share]\nMatch=unit:later-%s.service\nWeigh=1\n' $$ >"$conf/60-more.conf"
	complained() { grep -q '60-more.conf:3:1: Weigh=' "$dir/watch.err"; }
	within 5 complained || wrong "a mistake isn't said: $(cat "$dir/watch.err")"
	printf '[Share]\nMatch=unit:later-%s.service\nWeight=44\n' $$ >"$conf/60-more.conf"
	soon "later-$$.service" 44
	rm "$conf/60-more.conf"; soon "later-$$.service" 42
	printf '[Share]\nMatch=unit:later-%s.service\nDevice=cpu:soon\nWeight=45\n[Share]\nMatch=name:made\nMin=70%%\n[Share]\nMatch=/%s/made-later\nMin=60%%\n' $$ "$slice" >"$conf/60-more.conf"
	gives 0 device add cpu:soon
	on_device() { [ "$("$ctl" show "later-$$.service" -d cpu:soon -P weight --value)" = 45 ]; }
	within 5 on_device || wrong "a device that comes later has no share on it"
	# One that makes no sense is said once, and those after it are kept.
	printf '[Share]\nMatch=unit:later-%s.service\nDevice=cpu\nWeight=9\n[Share]\nMatch=/%s/made-later\nWeight=49\n' $$ "$slice" >"$conf/70-unclear.conf"
	soon "/$slice/made-later" 49; mkdir "$cg/$slice/news"; sleep 1.2; mkdir "$cg/$slice/more-news"; sleep 1.2
	[ "$(grep -c 'is it device' "$dir/watch.err")" = 1 ] || wrong "not said once: $(cat "$dir/watch.err")"
	rm "$conf/70-unclear.conf"; soon "/$slice/made-later" 42
	result "rules: files that change, with mistakes too, and devices that come later"

	gives 0 set --keep "/$slice/kept" weight=46 max=50%
	grep -qx "Match=/$slice/kept" "$conf/50-$slice-kept.conf" || wrong "no rule: $(ls "$conf")"
	mkdir "$cg/$slice/kept"; soon "/$slice/kept" 46
	gives 0 set -k "/$slice/kept" weight=47 -d cpu:soon
	gives 0 set -k "/$slice/kept" weight=48; soon "/$slice/kept" 48
	grep -qx Max=50% "$conf/50-$slice-kept.conf" || wrong "max is forgotten"
	gives 0 reset -k "/$slice/kept" max; gives 0 show "/$slice/kept"; says 'max +max'
	! grep -q Max= "$conf/50-$slice-kept.conf" || wrong "max is still kept"
	gives 0 reset -k "/$slice/kept"; [ ! -e "$conf/50-$slice-kept.conf" ] || wrong "an empty rule"
	[ -e "$conf/50-$slice-kept@cpu:soon.conf" ] || wrong "the device's is gone too"
	echo "[Share]" >"$conf/50-x.slice.conf"; gives 1 set -k x.slice weight=3; rm "$conf/50-x.slice.conf"
	gives 0 set -k x.slice weight=3; grep -qx Match=unit:x.slice "$conf/50-x.slice.conf" || wrong "no unit"
	gives 6 set -k "/with space" weight=3; complains "can't be kept"
	gives 0 set -k user:54321 weight=3; grep -qx Match=user:54321 "$conf/50-user:54321.conf" || wrong "no user: $(ls "$conf")"
	"$ctl" set name:byid weight=4; id=$("$ctl" show name:byid | sed -n 's/.*(group \([0-9]*\)).*/\1/p')
	gives 0 set -k "id:$id" weight=5; grep -qx Match=name:byid "$conf/50-name:byid.conf" || wrong "no name: $(ls "$conf")"
	long=$(printf '%064d' 7); mkdir "$cg/$slice/$long"; gives 0 set "/$slice/$long" weight=5
	gives 0 list; says '/000000000000 +'; says_not "$long"; gives 0 -j list; says "$long"
	gives 6 apply --watch; complains 'another --watch'
	gives 0 set --keep -n x.slice weight=9; says "x.slice: weight: default -> 9"; grep -qx Weight=3 "$conf/50-x.slice.conf" || wrong "a dry run writes"
	result "rules: what is set --keep"

	# A name in a place where others may choose names is no unit's.
	mkdir "$cg/$slice/theirs"; chown 65534 "$cg/$slice/theirs"; rmdir "$cg/$slice/a/later-$$.service"
	mkdir "$cg/$slice/theirs/later-$$.service"; sleep 1.5
	gives 3 show "/$slice/theirs/later-$$.service"
	gives 3 set "later-$$.service" weight=5; complains 'no such cgroup'
	"$ctl" doctor | grep -q 'ok *rules *kept, of ' || wrong "the doctor doesn't see who keeps them: $("$ctl" doctor)"
	kill $watch; wait $watch; rc=$?; [ $rc = 0 ] || wrong "it ends with $rc"
	"$ctl" doctor | grep -q 'rules .*nobody keeps them' || wrong "the doctor doesn't see that nobody keeps them"
	gives 2 apply --watch --prune; complains 'no other option'
	result "rules: nothing of a name that a user may have chosen"
	gone() { find "$cg/$slice" -depth -type d -exec rmdir {} + 2>/dev/null; [ ! -e "$cg/$slice" ]; }
	within 10 gone
else
	echo "ok $((tests += 1)) - cgroups and rules # SKIP no cgroup v2 that can be written to"
fi
finish
