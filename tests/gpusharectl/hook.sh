#!/bin/bash
# SPDX-License-Identifier: MIT
# [Hook] sections: what is run, what it is told, how often, and what isn't believed.
. "$(dirname "$0")/lib.sh"
conf=$dir/conf hooks=

cat >"$dir/bad.conf" <<'EOF'
[Hook]
On=overrun
[Hook]
Exec=/bin/true
[Hook]
On=granted nonsense lost
Exec=true
Every=5
After=1s
Colour=red
[Hook]
On=killed
After=10s
Exec=/bin/true a
Exec=/bin/true b
Match=x
EOF
gives 1 apply --check "$dir/bad.conf"
for at in '1:1: this section has no Exec=' '3:1: this section has no On=' '6:4: On=granted: it is waiting' '6:4: On=nonsense:' \
	'6:4: On=lost:' "7:6: Exec=true: the program's path begins" '8:7: Every=5: a time from 1s' '10:1: Colour=: no such key in \[Hook\]' \
	'13:1: After= is for On=waiting' '15:6: Exec= is here for the second time'; do
	complains "^$dir/bad.conf:$at"
done
{ echo "[Hook]"; echo "On=killed"; printf 'Exec=/bin/true'; printf ' x%.0s' {1..40}; echo; } >"$dir/many.conf"
gives 1 apply --check "$dir/many.conf"; complains ':3:6: Exec= is too long'
for _ in {1..70}; do printf '[Hook]\nOn=killed\nExec=/bin/true\n'; done >"$dir/many.conf"
gives 1 apply --check "$dir/many.conf"; complains ':193:1: more than 64 hooks'
gives 2 hook --nonsense
result "mistakes are told with their places"

# The hook writes what it was told, in one line; and its arguments, which no shell has seen.
cat >"$dir/told" <<'EOF'
#!/bin/bash
out=$1
shift
{ printf '%q|' "$GPUSHARE_HOOK_EVENT" "$GPUSHARE_HOOK_COUNT" "$GPUSHARE_HOOK_GROUP" "$GPUSHARE_HOOK_DEVICE" \
	"$GPUSHARE_HOOK_PID" "$GPUSHARE_HOOK_VALUE" "$@"; env | cut -d= -f1 | sort | tr '\n' ' '; echo; } >>"$out"
[ "$(readlink /proc/self/fd/0)" = /dev/null ] || echo "stdin" >>"$out"
readlink /proc/$$/fd/* | grep -c 'socket:\|anon_inode' >"$out.fds"
EOF
chmod +x "$dir/told"
printf '[Hook]\nOn=overrun\nMatch=name:late* /nowhere\nEvery=3s\nExec=%s %s $HOME ;touch *\n' "$dir/told" "$dir/overrun" >"$conf/10-hook.conf"
printf '[Hook]\nOn=waiting\nAfter=1s\nEvery=2s\nExec=%s %s\n' "$dir/told" "$dir/waiting" >"$conf/20-hook.conf"
start_daemon
gives 0 device set cpu:0 grace=20ms slice=2ms
"$ctl" hook 2>"$dir/hook.log" &
hooks=$!
children+=($hooks)
sleep 1.5
start late 600 300000; late=$last
start other 600 300000; other=$last
within 30 clients 2 || wrong "the tenants didn't come"
within 30 test -s "$dir/overrun" || wrong "no hook: $(cat "$dir/hook.log")"
sleep 7
stop "$late" "$other"
runs=$(grep -c '^overrun|' "$dir/overrun")
# At once, and at most each 3 s: some 7 s, on a machine that may be slow.
[ "$runs" -ge 2 ] && [ "$runs" -le 6 ] || wrong "$runs runs: $(cat "$dir/overrun")"
grep -qE '^overrun\|[0-9]+\|name:late\|cpu:0\|[0-9]+\|[0-9]+\|\\\$HOME\|\\;touch\|\\\*\|' "$dir/overrun" || wrong "told: $(cat "$dir/overrun")"
grep -q 'name:other' "$dir/overrun" && wrong "Match= isn't heeded: $(cat "$dir/overrun")"
[ "$(sed -n 2p "$dir/overrun" | cut -d'|' -f2)" -gt 1 ] || wrong "what happened meanwhile isn't counted: $(cat "$dir/overrun")"
[ "$(head -1 "$dir/overrun" | cut -d'|' -f10)" = \
	"GPUSHARE_HOOK_CLIENT GPUSHARE_HOOK_COUNT GPUSHARE_HOOK_DEVICE GPUSHARE_HOOK_EVENT GPUSHARE_HOOK_GROUP GPUSHARE_HOOK_GROUP_ID GPUSHARE_HOOK_PID GPUSHARE_HOOK_VALUE PATH PWD SHLVL _ " ] ||
	wrong "environment: $(head -1 "$dir/overrun")"
grep -q stdin "$dir/overrun" && wrong "standard input isn't empty"
[ "$(cat "$dir/overrun.fds")" = 0 ] || wrong "open files: $(cat "$dir/overrun.fds")"
result "a group that overruns: told at once, then each Every="

# Somebody holds the device for good, and the others wait.
rm -f "$dir/waiting"
gives 0 device set cpu:0 grace=100s
start holder 600 100000000; holder=$last
within 30 clients 1; sleep 0.3
start "a" 600 2000; patient=$last
within 30 test -s "$dir/waiting" || wrong "no hook: $(cat "$dir/hook.log")"
IFS='|' read -r event count group device pid value _ <"$dir/waiting"
[ "$event $count $group $device $pid" = "waiting 1 name:a cpu:0 $patient" ] || wrong "told: $(cat "$dir/waiting")"
[ "$value" -ge 1000000000 ] && [ "$value" -le 20000000000 ] || wrong "waited: $value"
stop "$patient"
result "a client that waits for longer than After="

# What is wrong with a program is said; one that doesn't end is killed; files that change are read.
printf '[Hook]\nOn=client-joined\nEvery=1s\nExec=/no/such/program\n' >"$conf/30-hook.conf"
printf '[Hook]\nOn=client-joined\nEvery=1s\nExec=/bin/sh -c exit\\t3\n[Share]\nMatch=name:x\nWeight=5\n' >"$conf/40-hook.conf"
printf '[Hook]\nOn=client-joined\nEvery=1s\nExec=/bin/false\n' >"$conf/40-hook.conf"
printf '[Hook]\nOn=client-joined\nEvery=1s\nExec=%s %s\n' "$dir/told" "$dir/joined" >"$conf/50-hook.conf"
joined() { start b 0 1000; wait "$last" 2>/dev/null; [ -s "$dir/joined" ]; }
gives 0 device set cpu:0 grace=100ms
stop "$holder"
within 30 joined || wrong "the new file isn't read: $(cat "$dir/hook.log")"
says_of() { grep -q "$1" "$dir/hook.log"; }
within 30 says_of '30-hook.conf:1: /no/such/program ended with 127' || wrong "not said: $(cat "$dir/hook.log")"
within 30 says_of '40-hook.conf:1: /bin/false ended with 1' || wrong "not said: $(cat "$dir/hook.log")"
printf '[Hook]\nOn=never\nExec=/bin/true\n' >"$conf/60-hook.conf"
within 30 says_of '60-hook.conf:2:4: On=never' || wrong "a mistake isn't said"
rm -f "$dir/joined" "$conf/60-hook.conf"
sleep 1.2
within 30 joined || wrong "the rules before a mistake are lost"
result "programs that fail, files that change, files with mistakes"

# Groups without end, by somebody who may make them: bounded.
rm -f "$conf"/[34]0-hook.conf "$conf/50-hook.conf"
printf '[Hook]\nOn=client-joined\nEvery=600s\nExec=%s %s\n' "$dir/told" "$dir/joined" >"$conf/50-hook.conf"
sleep 2.5
rm -f "$dir/joined"
for i in {1..40}; do GPUSHARE_GROUP=many$i "$busy" 0 1000; done 2>/dev/null
sleep 2
runs=$(grep -c . "$dir/joined")
[ "$runs" -ge 8 ] && [ "$runs" -le 16 ] || wrong "$runs runs for 40 groups"
# And over a new arbiter.
printf '[Hook]\nOn=client-joined\nEvery=1s\nExec=%s %s\n' "$dir/told" "$dir/joined" >"$conf/50-hook.conf"
stop_daemon; rm -f "$dir/joined"; start_daemon
within 30 joined || wrong "a new arbiter isn't heard: $(cat "$dir/hook.log")"
kill -TERM $hooks; wait $hooks || wrong "it ended with $?"
result "many groups are bounded, and a new arbiter is heard"
finish
