#!/bin/bash
# SPDX-License-Identifier: MIT
# The layer's threads that are in the driver's compiler: a process's end waits for them, but
# not for ever, nor for those that wait for a grant; they have a stack as deep as any; few are
# there; and where there can be none it goes on without them. And of the program's own.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
in_tests() { [ "${O#/}" = "$O" ] && echo "$PWD/$O/tests/wrap/opencl/$1" || echo "$O/tests/wrap/opencl/$1"; }
stalls=$(in_tests stalls)
spy=$(in_tests spy.so)
plan 31

# run NAME VARIABLE=VALUE... COMMAND...: in the background, its input is descriptor 3
run() {
	local name=$1
	shift
	rm -f "$dir/go" "$dir/spied" "$dir/may"
	mkfifo "$dir/go"
	exec 3<>"$dir/go"
	: >"$dir/spied"
	env GPUSHARE_ARBITER=none GPUSHARE_CACHE=off GPUSHARE_CUT=slice \
		SPY_OUT="$dir/spied" OPENCL_LAYERS="$spy:$layer" "$@" \
		<"$dir/go" >"$dir/$name" 2>"$dir/$name.err" 3>&- 4>&- &
	pid=$!
	pids+=($pid)
}
# ends SECONDS: it is told to, and does within that time
ends() {
	exec 3>&-
	gone_within "$1" "$pid"
	wait "$pid"
}
said() { grep -qx "$2" "$dir/$1"; }
spied() { [ "$(grep -c "^$1" "$dir/spied")" -ge "$2" ]; }
runs() { jobs -rp | grep -qx "$pid"; }
alone() { GPUSHARE_ARBITER=none "$stalls" "$@" </dev/null >"$dir/want" 2>&1; }

# A process's end, while a thread of the layer builds. The launch for that comes late: PoCL
# 3.1, which compiles for it in threads of its own, now and then crashes at such an end, also
# without the layer. So what is asked is whether the build had come to its end.
was_built() { ends 60; [ $? != 137 ] && spied built 1; }
for how in end unload; do
	command=("$stalls" end)
	[ $how = end ] || command=("$(in_tests unload)" once)
	run out SPY_SLOW="$dir/may" "${command[@]}"
	eventually spied rewritten 1 && eventually grep -q 'ready\|launched' "$dir/out"
	verdict $? "$how: a thread builds" "$dir/out.err"
	exec 3>&-
	sleep 1
	runs
	verdict $? "$how: the process's end waits for it" "$dir/spied"
	touch "$dir/may"
	was_built
	verdict $? "$how: until it is done" "$dir/spied"
	[ $how = unload ] && continue
	said out "the compiler ends after the build"
	verdict $? "$how: and what the compiler had registered comes after" "$dir/out"
done

run out SPY_SLOW="$dir/may" "$stalls" end
eventually spied rewritten 1 && eventually said out ready
ends 60 && ! spied built 1
verdict $? "one that builds for ever is waited for no longer than ten seconds" "$dir/out.err"

run out SPY_SLOW="$dir/may" "$stalls" fork
eventually spied rewritten 1 && eventually said out ready
began=${EPOCHREALTIME/./}
exec 3>&-
eventually said out 768
verdict $? "the child of a fork ends" "$dir/out"
took=$((${EPOCHREALTIME/./} - began))
[ $took -lt 8000000 ]
verdict $? "and waits for no thread of its parent's: $took us"
touch "$dir/may"
was_built
verdict $? "as its parent does" "$dir/out.err"

# A stack.
alone build
run out SPY_DEEP=1 GPUSHARE_CACHE="$dir/kept" "$stalls" build
# At its end it would ask for none any more.
eventually spied told 1
ends 100 && diff "$dir/want" "$dir/out" >"$dir/diff" && spied built 1 && spied told 1
verdict $? "there is a stack of more than six MiB to build, and to ask for a binary" "$dir/spied"

# Kernels that are kept: 20 at once, of which the second launch finds those left out.
alone kept 20
run out SPY_KEEP="$dir/may" GPUSHARE_CACHE="$dir/many" "$stalls" kept 20
# Each is compiled four times, which takes a busy machine long.
for _ in 1 2 3 4 5; do eventually grep -q kept "$dir/out" && break; done
grep -q kept "$dir/out" && spied asked 1
verdict $? "20 kernels are launched, none of which is kept yet" "$dir/out.err"
threads() { find "/proc/$(pgrep -P $$ -x stalls)/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }
before=$(threads)
touch "$dir/may"
fewer() { [ "$(threads)" -lt "$before" ]; }
eventually fewer
verdict $? "who asks for their binaries ends: there are $before threads, then $(threads)"
asked=$(grep -c '^asked' "$dir/spied")
[ "$asked" -ge 1 ] && [ "$asked" -le 17 ]
verdict $? "those that wait for it are few: $asked were kept"
echo >&3
eventually spied told 20
verdict $? "the others are kept when they are launched again" "$dir/spied"
ends 60 && diff "$dir/want" "$dir/out" >"$dir/diff" && ! grep -v '^asked 1$' "$dir/spied" | grep -q ^asked
verdict $? "one at a time" "$dir/spied"

run out SPY_KEEP="$dir/may" GPUSHARE_CACHE="$dir/late" "$stalls" kept 4
eventually grep -q kept "$dir/out" && eventually spied asked 1
exec 3>&-
sleep 2
runs && touch "$dir/may"
ends 60 && [ "$(grep -c '^asked' "$dir/spied")" = 1 ]
verdict $? "a process's end waits for the one that is asked for, not for those to come" "$dir/spied"

# No threads, but for the one that launches; and not even that.
alone balance
run out FEWER=1 LD_PRELOAD="$(in_tests fewer.so)" SPY_PROGRAMS=1 GPUSHARE_CACHE="$dir/none" "$stalls" balance
eventually said out ready
verdict $? "where no thread can be had, programs go on" "$dir/out.err"
grep -q '^no thread' "$dir/out.err" && spied built 4
verdict $? "and are cut all the same" "$dir/out.err"
balanced() { [ "$(grep -c ^taken "$dir/spied")" = $(($(grep -c ^given "$dir/spied") + 1)) ]; }
eventually balanced
verdict $? "and all that they were cut by is given back" "$dir/spied"
ends 60 && diff "$dir/want" "$dir/out" >"$dir/diff"
verdict $? "with the same results" "$dir/diff"
run out FEWER=0 LD_PRELOAD="$(in_tests fewer.so)" "$stalls" balance
ends 60
[ $? = 1 ] && grep -q 'error -5$' "$dir/out"
verdict $? "where there is no thread to launch, a launch that must be put off is refused" "$dir/out"

# Threads of the program's: one puts commands into a queue that another finishes.
alone finished
run out SPY_WRITE=1 "$stalls" finished
ends 60 && diff "$dir/want" "$dir/out" >"$dir/diff"
verdict $? "a launch comes behind a write that another thread's clFinish() didn't wait for" "$dir/diff"

alone rebuilt
run out "$stalls" rebuilt
ends 60 && diff "$dir/want" "$dir/out" >"$dir/diff" && spied rewritten 1
verdict $? "a launch is of its program's build, not of a later one" "$dir/diff"

start_daemon
export POCL_DEVICES="pthread pthread"
for key in cpu:0 cpu:1; do "$ctl" --arbiter "$socket" device add $key >/dev/null 2>&1; done
"$ctl" --arbiter "$socket" device set cpu:0 grace=2000s
: >"$dir/held"
alone blocked
run out GPUSHARE_ARBITER="$socket" GPUSHARE_CUT=auto SPY_BLOCK=1 "$stalls" blocked
ends 60 && diff "$dir/want" "$dir/out" >"$dir/diff"
verdict $? "a driver that waits in an enqueue for a launch doesn't keep it from being launched" "$dir/out.err"

mkfifo "$dir/hold"
exec 4<>"$dir/hold"
GPUSHARE_ARBITER=$socket "$(in_tests holds)" cpu:0 <"$dir/hold" >"$dir/held" 4>&- &
holder=$!
pids+=($holder)
eventually said held held
waits() { "$ctl" --arbiter "$socket" -j status | jq -e 'any(.clients[]; .comm == "stalls" and .state == "waiting")' >/dev/null; }

run out GPUSHARE_ARBITER="$socket" "$stalls" ask
eventually said out ready && eventually waits
verdict $? "a thread of the layer waits for a grant to ask the device" "$dir/out.err"
began=${EPOCHREALTIME/./}
ends 60
verdict $? "the program ends" "$dir/out.err"
took=$((${EPOCHREALTIME/./} - began))
[ $took -lt 8000000 ]
verdict $? "and doesn't wait for that: $took us"

# PoCL 3.1 may hang in workers (see wrap/opencl/workers.c).
alone devices
for _ in 1 2 3; do
	run out GPUSHARE_ARBITER="$socket" GPUSHARE_CUT=workers "$stalls" devices
	eventually said out enqueued && eventually waits
	asks=$?
	echo >&3
	eventually said out ready && break
	kill -KILL "$pid"
done
[ $asks = 0 ] && said out ready
verdict $? "what one device is asked that is another's keeps no other waiting" "$dir/out.err"
exec 4>&-
wait $holder
ends 100 && diff <(sed 1d "$dir/want") <(sed 1d "$dir/out") >"$dir/diff"
verdict $? "and then it is done too" "$dir/diff"
finish
