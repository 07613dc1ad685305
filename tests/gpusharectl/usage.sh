#!/bin/bash
# SPDX-License-Identifier: MIT
# Accounts: what gpusharectl account writes and usage says, over a private daemon.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "1..0 # SKIP no jq here"; exit 4; }
books=$dir/usage collector=

# collect OPTION...: in the background
collect() {
	"$ctl" account --dir="$books" "$@" 2>>"$dir/account.log" &
	collector=$!
	children+=("$collector")
}

# halt SIGNAL STATUS
halt() {
	local rc
	kill "-$1" "$collector" 2>/dev/null
	wait "$collector" 2>/dev/null
	rc=$?
	[ $rc = "$2" ] || wrong "account ended with $rc, not $2: $(tail -3 "$dir/account.log")"
	collector=
}

# sum FIELD [FILTER]: over all that is accounted for
sum() {
	"$ctl" -j usage --dir="$books" --since=2d --by=user,group,unit,device |
		jq "[.uses[] | select(${2:-true}) | .$1] | add // 0"
}

# What the arbiter says it was in all, in us.
held() {
	"$ctl" -j status | jq '[.devices[].usage_usec] | add'
}

# counts LOW HIGH: what is accounted for is at least LOW, and no more than HIGH, but for
# counters that weren't read at one moment
counts() {
	local is
	is=$(sum held_usec 2>/dev/null)
	[ "$is" -ge $(($1 - 30000)) ] && [ "$is" -le $(($2 + 30000)) ] || wrong "accounted for: $is, held: $1 to $2"
}

# near A B MOST: A is B, but for MOST at most
near() {
	[ -n "$1" ] && [ -n "$2" ] && [ $(($1 > $2 ? $1 - $2 : $2 - $1)) -le "$3" ]
}

written() {
	[ "$(cat "$books"/*.usage 2>/dev/null | grep -c '^end ')" -ge "$1" ]
}

gives 3 usage --dir="$books"; complains "no accounts are kept; .* gpushare-account.service"
gives 2 usage --since=noon; complains '--since=noon: a time, as 7d'
gives 2 usage --until=2026-13-01; gives 2 usage --since=7; gives 2 usage --since=99999999999999999999d
gives 2 usage --by=nonsense; complains '--by=nonsense: user, group, unit, day or device'
gives 2 usage --by=; gives 2 usage --by=user,; gives 2 usage --csv -j
gives 2 usage extra; gives 2 account extra
gives 2 account --max-size=1K; complains '--max-size=1K: a size, from 1M on'
gives 2 account --every=1; complains '--every=1: a time'
gives 4 account --dir=/proc/nothing/usage; complains "accounts can't be kept there"
result "bad input"

start_daemon
# Before the first look: that isn't ours.
start early 1 2000; wait "$last"
before=$(held)
collect
within 30 test -e "$books/lock" || wrong "it doesn't begin"
gives 6 account --dir="$books"; complains "another gpusharectl account writes there"
sleep 1.2
start one 600 2000 0 1073741824; one=$last
start two 600 2000; two=$last
within 30 clients 2 || wrong "the tenants didn't come"
sleep 4
stop "$two"
within 30 clients 1
sleep 1
low=$(held)	# one still runs
halt TERM 0
total=$(($(held) - before))
counts $((low - before)) $total
near "$(sum held_usec '.group == "name:two"')" $((total * 2 / 5)) $((total / 5)) ||
	wrong "two has $(sum held_usec '.group == "name:two"') of $total"
[ "$(sum held_usec '.user == ""')" -lt 100000 ] || wrong "nobody's: $(sum held_usec '.user == ""')"
[ "$(sum held_usec '.group == "name:early"')" = 0 ] || wrong "what was before counts"
[ "$(sum grants '.group == "name:one"')" -gt 100 ] || wrong "grants: $(sum grants)"
[ "$(sum waited_usec '.group == "name:one"')" -gt 500000 ] || wrong "waits: $(sum waited_usec)"
# A GiB for some five seconds.
near "$(sum memory_kib_seconds '.group == "name:one"')" $((5 * 1048576)) $((3 * 1048576)) ||
	wrong "memory: $(sum memory_kib_seconds '.group == "name:one"')"
[ "$(stat -c %a "$books" "$books"/*.usage | sort -u | tr '\n' ' ')" = "600 700 " ] || wrong "modes: $(ls -l "$books")"
result "who used how much: held, waited, memory, of those who went too"

# While nobody looks they go on; what they use meanwhile is counted when somebody does.
sleep 1.5
was=$(sum held_usec)
collect
sleep 1.5
low=$(held)
halt TERM 0
counts $((low - before)) $(($(held) - before))
[ "$(sum held_usec)" -gt $((was + 2000000)) ] || wrong "what was used meanwhile is lost: $was, $(sum held_usec)"
[ "$(sum held_usec '.user == ""')" -lt 150000 ] || wrong "nobody's: $(sum held_usec '.user == ""')"
result "it goes on where it was"

# Killed: all since the last time it wrote is in the counters yet, of who ended too.
collect --every=0.5s
within 30 written 6 || wrong "nothing is written: $(cat "$books"/*.usage)"
start three 600 2000; three=$last
sleep 2
halt KILL 137
stop "$three"
within 30 clients 1
collect --every=0.5s
sleep 2
low=$(held)
halt TERM 0
counts $((low - before)) $(($(held) - before))
result "killed in between it counts nothing twice, and loses nothing"

# An arbiter that is started anew counts from 0, while it is looked and while it isn't.
stop "$one"
within 30 clients 0
sum=$(($(held) - before))
collect --every=0.5s
sleep 1
stop_daemon; start_daemon
start four 600 2000; four=$last
sleep 3
first=$(held)
halt TERM 0
counts $((sum + first)) $((sum + $(held)))
[ "$(sum held_usec '.group == "name:four"')" -gt $((first - 100000)) ] ||
	wrong "four: $(sum held_usec '.group == "name:four"') of $first"
stop "$four"
stop_daemon; start_daemon
sum=$(sum held_usec)
start five 2 2000; wait "$last"
second=$(held)
collect --every=0.5s
sleep 1.5
halt TERM 0
counts $((sum + second)) $((sum + second))
result "over restarts of the arbiter"

# Many that come and go at once: the device's counters know of all.
collect --every=0.5s
sleep 1
sum=$(sum held_usec)
was=$(held)
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do GPUSHARE_GROUP=short "$busy" 0.2 1000; "$busy" 0 1000; done 2>/dev/null
start short 1 1000; wait "$last"
sleep 1.2
halt TERM 0
counts $((sum + $(held) - was)) $((sum + $(held) - was))
result "who comes and goes quickly"

gives 0 usage --dir="$books"; says "^USER +HELD +SHARE +WAITED +GIB-HOURS +GRANTS +OVERRUNS"; says "^$(id -un) .*[0-9]:[0-9][0-9]:[0-9][0-9] +[0-9.]+%"
gives 0 usage --dir="$books" --by=day,group --since=2d; says "^20[0-9-]+ +name:one "; says "^all "
gives 0 usage --dir="$books" --since=2020-01-01 --until="2021-01-01 12:00"; says_not "$(id -un)"
gives 0 usage --dir="$books" --csv --by=group,user --since=1h
[ "$(head -1 <<<"$out")" = user,group,held_usec,waited_usec,memory_kib_seconds,grants,overruns ] || wrong "csv: $out"
says "^$(id -un),name:two,[0-9]+,[0-9]+,[0-9]+,[0-9]+,0$"
gives 0 usage --dir="$books" --by=unit,device -j
jq -e '.schema == "gpushare.usage/1" and .uses[0].device == "cpu:0" and .uses[0].user == null' "$dir/out" >/dev/null ||
	wrong "json: $out"
result "tables, CSV and JSON"

# A last line that was cut short, and bytes that aren't ours, take nothing with them.
sum=$(sum held_usec)
file=$(echo "$books"/*.usage)
cp "$file" "$dir/good"
size=$(stat -c %s "$file")
last=$(grep -b '^gpushare-usage' "$file" | tail -1 | cut -d: -f1)
truncate -s $(((size + last) / 2)) "$file"
gives 0 usage --dir="$books"; complains '1 place of the accounts is cut short or changed, and left out'
[ "$(sum held_usec 2>/dev/null)" -le "$sum" ] || wrong "more than before"
cut=$(sum held_usec 2>/dev/null)
collect --every=0.5s
start six 2 2000; wait "$last"
sleep 1
halt TERM 0
gives 0 usage --dir="$books"; complains '1 place'
[ "$(sum held_usec 2>/dev/null)" -gt $((cut + 1000000)) ] || wrong "what came after is lost: $cut, $(sum held_usec 2>/dev/null)"
cp "$dir/good" "$file"
sed -i 's/name:one/name:oni/' "$file"
gives 0 usage --dir="$books"; complains 'places? of the accounts'
{ cat "$dir/good"; head -c 100000 /dev/urandom; } >"$file"
gives 0 usage --dir="$books"; complains '1 place of the accounts is'
near "$(sum held_usec 2>/dev/null)" "$sum" 0 || wrong "with rubbish: $(sum held_usec 2>/dev/null), not $sum"
cp "$dir/good" "$file"
mkdir "$books/2020-01-01.usage"; gives 1 usage --dir="$books" --since=2019-01-01; complains "2020-01-01.usage: can't be read"
gives 0 usage --dir="$books" --since=2d
rmdir "$books/2020-01-01.usage"
result "files that were cut short, changed, or are none"

# No room: said once, what is counted stays, and it goes on.
command -v unshare >/dev/null && unshare -m true 2>/dev/null && {
	mkdir "$dir/small"
	: >"$dir/account.log"
	# shellcheck disable=SC2016
	unshare -m bash -c '
		step() { until [ -e "$2/$1" ] || [ ! -d "$2" ]; do sleep 0.05; done; }
		mount -t tmpfs -o size=64K none "$1" && mkdir -m 700 "$1/usage" || exit
		"$2" account --dir="$1/usage" --every=0.3s &
		child=$!
		trap "kill $child" EXIT
		step fill "$3"; head -c 100K /dev/zero >"$1/fill" 2>/dev/null; echo full >"$3/state"
		step free "$3"; rm "$1/fill"; echo free >"$3/state"
		step end "$3"; kill -TERM $child; wait $child
		cp -a "$1/usage" "$3/small-usage"; echo over >"$3/state"' - "$dir/small" "$ctl" "$dir" 2>>"$dir/account.log" &
	shell=$!
	children+=($shell)
	state() { [ "$(cat "$dir/state" 2>/dev/null)" = "$1" ]; }
	sleep 1.5
	was=$(held)
	: >"$dir/fill"; within 30 state full || wrong "not full"
	start seven 600 2000; seven=$last
	complaint() { grep -q "can't be written (No space left on device)" "$dir/account.log"; }
	within 30 complaint || wrong "it isn't said: $(cat "$dir/account.log")"
	sleep 1.5	# several times more
	[ "$(grep -c "can't be written" "$dir/account.log")" = 1 ] || wrong "said again and again: $(cat "$dir/account.log")"
	: >"$dir/free"; within 30 state free || wrong "not free"
	again() { grep -q 'is written again' "$dir/account.log"; }
	within 30 again || wrong "not written again: $(cat "$dir/account.log")"
	stop "$seven"
	sleep 1.2
	: >"$dir/end"; within 30 state over || wrong "not over"
	wait $shell
	books=$dir/small-usage
	counts $(($(held) - was)) $(($(held) - was))
	gives 0 usage --dir="$books"; [ -z "$err" ] || wrong "unsound: $err"
	result "a full disk: said once, and nothing is lost"
}
finish
