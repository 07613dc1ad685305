#!/bin/bash
# SPDX-License-Identifier: MIT
# [X-GPUShare] sections of systemd's units: which files count for a cgroup, in which order,
# mistakes with their places, and what happens when they change. No systemd is needed: it
# is the files and the cgroups that are looked at.
. "$(dirname "$0")/lib.sh"
etc=$dir/etc lib=$dir/usr
mkdir "$etc" "$lib"
export SYSTEMD_UNIT_PATH=$etc:$dir/none:$lib

# unit FILE KEY=VALUE...: a unit or drop-in with such a section among others
unit() {
	mkdir -p "$(dirname "$1")"
	{
		printf '[Unit]\nDescription=of a test\n\n[Service]\nExecStart=/bin/sh -c "true; \\\n'
		printf '[X-GPUShare]" \\\n# Weight=1\n  Weight=2\n\n[X-GPUShare]\n'
		printf '%s\n' "${@:2}"
		printf '[Install]\nWantedBy=multi-user.target\nWeight=3\n'
	} >"$1"
}

{
	printf '[Service]\nnonsense\nWeigh=1\n[X-GPUShare]\nWeigh=5\nWeight=0\nMatch=/a\nMin=5%%\nMin=6%%\nMax=\\\n50%%\n'
	printf 'nonsense\n[X-GPUShares]\nWeight=1\n[X-GPUShare] x\n[Unit]\nWeigh=1\n[X-GPUShare]\n'
} >"$lib/bad.service"
unit "$lib/bad.timer" Weight=5
unit "$etc/-.slice.d/bad.conf" Weight=5
head -c 5000 /dev/zero | tr '\0' x >"$lib/long.service"
printf '\n\0\n[X-GPUShare]\nWeight=5\0\n' >>"$lib/long.service"
gives 1 apply --check
for at in 'bad.service:5:1: Weigh=: no such key in \[X-GPUShare\]' 'bad.service:6:8: weight=0: out of range' \
	'bad.service:7:1: Match=: no such key' 'bad.service:9:5: Min= is here for the second time, first in line 8' \
	'bad.service:10:1: what is said here is said on one line' 'bad.service:12:1: this is no KEY=VALUE' \
	'bad.service:13:1: \[X-GPUShares\]: no such section' 'bad.service:15:1: a section is' \
	'bad.service:18:1: this section sets nothing' 'bad.timer:10:1: only a service, a slice or a scope' \
	'long.service:4:1: a NUL byte'; do
	complains "^$lib/$at"
done
complains "^$etc/-.slice.d/bad.conf:10:1: the root has no share"
complains '^gpusharectl: apply: 1[0-9] mistakes in units, nothing was changed'
[ "$(grep -c '^/' <<<"$err")" = "$(sed -n 's/.* \([0-9]*\) mistakes .*/\1/p' <<<"$err")" ] || wrong "what isn't ours is a mistake: $err"
"$ctl" doctor | grep -q "FAIL *units *$lib/bad.service:5:1: Weigh=" || wrong "the doctor: $("$ctl" doctor)"
gives 0 apply --check /dev/null
rm -r "${lib:?}"/* "${etc:?}"/*
unit "$lib/good.service" Weight=5
gives 0 apply --check
"$ctl" doctor | grep -q 'rules .*rules (in units), and nobody keeps them' || wrong "the doctor: $("$ctl" doctor)"
result "mistakes are told with their places, others' sections aren't read"

cg=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -z "$cg" ] || ! mkdir "$cg/gputest$$.slice" 2>/dev/null; then
	echo "ok $((tests += 1)) - units # SKIP no cgroup v2 that can be written to"
	finish
fi
start_daemon
slice=gputest$$.slice
s=$cg/$slice
weighs() { [ "$("$ctl" show "/$slice/$1" -P weight --value 2>/dev/null)" = "$2" ]; }
soon() { within 10 weighs "$@" || wrong "$1 doesn't get weight $2 but $("$ctl" show "/$slice/$1" -P weight --value 2>&1)"; }
says_of() { [ "$("$ctl" show "/$slice/$1" -P "$2" --value 2>&1)" = "$3" ] || wrong "$1 has no $2 $3: $("$ctl" show "/$slice/$1" 2>&1)"; }

# Which files, in which order.
unit "$lib/a-b@.service" Weight=10 Max=50% MemoryHigh=1G
unit "$lib/a-b@.service.d/20-x.conf" Weight=20
unit "$etc/a-.service.d/30-x.conf" Weight=30
unit "$etc/a-@1.service.d/30-x.conf" Weight=31		# systemd has the prefix without an instance before it
unit "$lib/a-b@1.service.d/40-x.conf" Weight=40
unit "$etc/a-@2.service.d/35-x.conf" MemoryMax=2G
unit "$lib/service.d/50-x.conf" MemoryHigh=2G
unit "$lib/a-b@2.service.d/30-x.conf" MemoryHigh=3G		# of the same name, but after /etc's
unit "$etc/a-b@3.service" Weight=11			# instead of the template
unit "$lib/a-b@4.service.d/30-x.conf" Weight=44
mkdir "$etc/a-b@5.service.d"; ln -s /dev/null "$etc/a-b@5.service.d/30-x.conf"
unit "$lib/$slice" Weight=60
unit "$etc/gputest.slice" Weight=1			# another one
unit "$lib/named.scope.d/x.conf" Weight=70 MemoryMax=1G
mkdir "$s/named.scope" "$s/named.scope/named.scope" "$s/_named.scope" "$s/other.service"
for i in 1 2 3 4 5; do mkdir "$s/a-b@$i.service"; done
gives 0 apply
[ "$("$ctl" show "/$slice" -P weight --value)" = 60 ] || wrong "the slice: $("$ctl" show "/$slice")"
says_of a-b@1.service weight 40; says_of a-b@1.service max 50%; says_of a-b@1.service mem.high 2G
says_of a-b@2.service weight 30; says_of a-b@2.service mem.max 2G; says_of a-b@2.service mem.high 2G
says_of a-b@3.service weight 30; says_of a-b@3.service max max
says_of a-b@4.service weight 30
says_of a-b@5.service weight 20
says_of named.scope weight 70; says_of named.scope mem.max 1G; says_of _named.scope weight 70
says_of other.service mem.high 2G; says_of other.service weight 100
gives 3 show "/$slice/named.scope/named.scope"
gives 0 apply -n; [ -z "$out" ] || wrong "not at rest: $out"
result "a unit's file, its template's, and drop-ins by name, place and prefix"

# With the rules beside them, whose is the last word.
printf '[Share]\nMatch=unit:a-b@1.service\nWeight=77\n' >"$dir/conf/50-x.conf"
gives 0 apply; says_of a-b@1.service weight 77; says_of a-b@1.service max 50%
gives 0 apply --prune; says_of a-b@2.service weight 30
gives 0 set "/$slice/other.service" weight=5; gives 0 set name:lost weight=5; gives 0 apply --prune
gives 3 show name:lost; says_of other.service mem.high 2G
result "gpushare.conf has the last word, and pruning leaves what units have"

rm -r "${lib:?}"/* "${etc:?}"/*; gives 0 reset "/$slice"; for i in 1 2 3 4 5; do gives 0 reset "/$slice/a-b@$i.service"; done
"$ctl" apply --watch 2>"$dir/watch.err" & watch=$!; children+=($watch)
within 10 weighs a-b@1.service 77 || wrong "the watch doesn't begin"
unit "$etc/a-b@1.service.d/10-x.conf" Weight=50 MemoryHigh=4G
within 10 eval '[ "$("$ctl" show "/$slice/a-b@1.service" -P mem.high --value)" = 4G ]' || wrong "a new drop-in isn't seen"
says_of a-b@1.service weight 77
rm "$dir/conf/50-x.conf"; unit "$etc/a-b@1.service.d/10-x.conf" Weight=51 MemoryHigh=4G; soon a-b@1.service 51
mkdir "$dir/none"; unit "$dir/none/later@.service" Weight=8
mkdir "$s/later@1.service"; soon later@1.service 8
result "units that change, and their cgroups that come later"

gives 0 set "/$slice/a-b@1.service" weight=52; unit "$etc/a-b@1.service.d/20-x.conf" Max=60%
within 10 eval '[ "$("$ctl" show "/$slice/a-b@1.service" -P max --value)" = 60% ]' || wrong "a second drop-in isn't seen"
says_of a-b@1.service weight 51
gives 0 set "/$slice/a-b@1.service" weight=53; unit "$etc/other.service" Weight=9; mkdir "$s/news.service"
soon other.service 9; says_of a-b@1.service weight 53
rm "$etc/a-b@1.service.d/10-x.conf"; soon a-b@1.service 100
says_of a-b@1.service mem.high max; says_of a-b@1.service max 60%
printf '[X-GPUShare]\nMax=70%%\nWeigh=1\n' >"$etc/a-b@1.service.d/20-x.conf"
within 10 eval '[ "$("$ctl" show "/$slice/a-b@1.service" -P max --value)" = 70% ]' || wrong "a mistake takes the other lines along"
mkdir "$s/more.service"; sleep 1.2; : >"$etc/touched.service"; sleep 0.5
[ "$(grep -c '20-x.conf:3:1: Weigh=: no such key' "$dir/watch.err")" = 1 ] || wrong "not said once: $(cat "$dir/watch.err")"
rm -r "$etc/a-b@1.service.d"; within 10 eval '[ "$("$ctl" show "/$slice/a-b@1.service" -P max --value 2>/dev/null || echo max)" = max ]' || wrong "a share that nobody has said any more stays"
result "what is set by hand stays until its unit changes, and what is taken out is taken back"

# On one device, which comes later; and what makes no sense is said once.
unit "$etc/dev.service" Weight=5 '[X-GPUShare]' Device=cpu:soon Weight=6 Max=10% '[X-GPUShare]' Device=nothere Weight=7
unit "$etc/sense.service" MemoryMax=50%
mkdir "$s/dev.service" "$s/sense.service"; soon dev.service 5
gives 0 device add cpu:soon
on_device() { [ "$("$ctl" show "/$slice/dev.service" -d cpu:soon -P weight --value)" = 6 ]; }
within 10 on_device || wrong "a device that comes later has no share on it"
sleep 1.2; mkdir "$s/again.service"; sleep 1.2
grep -q "$etc/sense.service:11:11: .*a percentage needs one device" "$dir/watch.err" || wrong "not said: $(cat "$dir/watch.err")"
kill $watch; wait $watch; rc=$?; [ $rc = 0 ] || wrong "it ends with $rc"
result "sections for a device"

gone() { find "$s" -depth -type d -exec rmdir {} + 2>/dev/null; [ ! -e "$s" ]; }
within 10 gone
finish
