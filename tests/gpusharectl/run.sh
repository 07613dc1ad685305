#!/bin/bash
# SPDX-License-Identifier: MIT
# run: exit statuses, signals, groups, what is left; record and plot.
. "$(dirname "$0")/lib.sh"
start_daemon

gives 0 run true
gives 7 run -- sh -c 'exit 7'
gives 127 run "$dir/nothere"; complains "can't be run: No such file"
gives 126 run "$dir"; complains "can't be run"
gives 137 run sh -c 'kill -9 $$'
gives 143 run -- sh -c 'kill -TERM $$'
gives 2 run; complains 'it needs'
gives 125 run --weight=0 true; complains 'weight=0: out of range'
gives 125 run --name=a/b true; complains 'letters, digits'
gives 125 run --device=gpu9 true; complains 'no such device'
gives 125 run --min=200% true
gives 0 run sh -c 'echo "$GPUSHARE_ARBITER"'; [ "$out" = "$GPUSHARE_ARBITER" ] || wrong "arbiter: $out"
# Both wrappers are put before the program, those of the same build or installation; that of
# libcuda only where there is a driver for it, as a program may go on without one.
echoes='echo "layers $OPENCL_LAYERS"; echo "libraries $LD_LIBRARY_PATH"'
GPUSHARE_REAL_LIBCUDA=$(readlink -f "$O/cpucuda/libcuda.so.1") gives 0 run sh -c "$echoes"
[ ! -e "$O/lib/gpushare/libgpushare-opencl.so" ] || says '^layers /.*/libgpushare-opencl\.so'
[ ! -e "$O/cuda/libcuda.so.1" ] || says '^libraries /.*/cuda(:|$)'
GPUSHARE_REAL_LIBCUDA=/nowhere gives 0 run sh -c "$echoes"
says_not '^libraries /.*/cuda(:|$)'
gives 3 run -w 5 --name=x$$ -- sh -c 'exit 3'
gives 0 run echo --weight=5 -h; [ "$out" = "--weight=5 -h" ] || wrong "its options: $out"
result "exit statuses"

"$ctl" run --name=sig$$ --weight=50 -- sh -c 'trap "echo got; exit 9" TERM; echo ready; while :; do sleep 0.1; done' >"$dir/run" &
runner=$!
within 30 grep -q ready "$dir/run" || wrong "it doesn't run"
kill -TERM $runner
wait $runner; rc=$?
[ $rc = 9 ] || wrong "status $rc after a signal was passed on"
grep -q got "$dir/run" || wrong "the signal wasn't passed on"
gives 0 list; says_not sig$$
result "signals are passed on, and nothing is left"

"$ctl" run --name=shared$$ --weight=400 --max=80% --report -- "$busy" 600 2000 2>"$dir/report" &
runner=$!
within 30 clients 1 || wrong "no client"
gives 0 list; says "shared$$ +1 +400 +- +80% "
gives 125 run --name=shared$$ true
[ -n "$err" ] || wrong "a second group of this name"
kill -TERM $runner
wait $runner; rc=$?
[ $rc = 143 ] || wrong "status $rc"
grep -qE "^shared$$ on cpu:0: held .*s \([0-9.]+% of .*\), waited .*, [0-9]+ grants" "$dir/report" ||
	wrong "report: $(cat "$dir/report")"
within 10 sh -c "! '$ctl' list | grep -q shared$$" || wrong "the group is still there"
# What isn't set is default then: without a group there would be nothing to report.
"$ctl" run --name=plain$$ --report -- "$busy" 600 2000 2>"$dir/report" &
runner=$!
within 60 sh -c "'$ctl' -j status | jq -e 'any(.clients[]; .grants > 0)' >/dev/null" || wrong "no grant"
kill -TERM $runner; wait $runner
grep -q "^plain$$ on cpu:0: held " "$dir/report" || wrong "report without a share: $(cat "$dir/report")"
result "a group for as long as it runs, and a report"

# A group that it was given by name isn't the one that it gets.
if [ -n "$(awk '$3 == "cgroup2"' /proc/mounts)" ] && out=$("$ctl" run --name=own$$ sh -c 'cat /proc/self/cgroup') &&
		grep -q "own$$" <<<"$out"; then
	out=$(GPUSHARE_GROUP=other "$ctl" run --weight=5 -- sh -c 'echo "${GPUSHARE_GROUP-none}"')
	[ "$out" = none ] || wrong "in the group $out"
	# Killed, it leaves its cgroup; the next one takes that away, unless something runs there.
	"$ctl" run --name=left$$ --weight=5 -- sh -c 'echo $$; exec sleep 600' >"$dir/left" & runner=$!
	within 30 test -s "$dir/left" || wrong "it doesn't run"
	gives 125 run --name=left$$ true; complains 'such a group already'
	kill -KILL $runner; wait $runner 2>/dev/null
	gives 125 run --name=left$$ true; complains 'such a group already'
	kill "$(cat "$dir/left")"
	within 30 "$ctl" run --name=left$$ --weight=7 -- true 2>/dev/null || wrong "what was left stays in the way"
	# And whatever its name: the next one of any takes it away.
	"$ctl" run --name=gone$$ --weight=5 -- sh -c 'echo $$; exec sleep 600' >"$dir/gone" & runner=$!
	within 30 test -s "$dir/gone" || wrong "it doesn't run"
	kill -KILL $runner; wait $runner 2>/dev/null
	at=$(sed -n 's/^0:://p' "/proc/$(cat "$dir/gone")/cgroup")
	kill "$(cat "$dir/gone")"
	at=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)$at
	within 30 sh -c "'$ctl' run --name=next$$ true && ! test -e '$at'" || wrong "$at is still there"
	# One that somebody else made isn't ours to remove, empty or not.
	mkdir "$(dirname "$at")/made$$"
	gives 125 run --name=made$$ true; complains 'such a group already'
	rmdir "$(dirname "$at")/made$$" || wrong "it removed another's"
	result "what a killed one left"
else
	echo "ok $((tests += 1)) - what a killed one left # SKIP no cgroup can be made here"
fi

# Without cgroups (in a mount name space without theirs) a named group: told by the environment.
cat >"$dir/hide" <<'EOF'
awk '$3 == "cgroup2" { print $2 }' /proc/mounts | xargs -r -n 1 umount -l && exec "$@"
EOF
if unshare -m sh "$dir/hide" true 2>/dev/null; then
	out=$(timeout 60 unshare -m sh "$dir/hide" "$ctl" run --name=inname --weight=70 -- \
		sh -c "echo \$GPUSHARE_GROUP; '$ctl' show name:inname -P weight --value")
	[ "$out" = "inname
70" ] || wrong "named: $out"
	gives 0 list; says_not inname
	# Held by a client of its own, it isn't another's to take.
	GPUSHARE_GROUP=inuse "$busy" 600 2000 & holder=$!
	children+=($holder)
	within 30 clients 1 || wrong "no client"
	timeout 60 unshare -m sh "$dir/hide" "$ctl" run --name=inuse true 2>"$dir/taken"
	[ $? = 125 ] && grep -q 'such a group already.*reset name:inuse' "$dir/taken" || wrong "taken: $(cat "$dir/taken")"
	kill $holder; wait $holder 2>/dev/null
	within 30 clients 0 || wrong "it is still there"
	result "a named group where no cgroup can be made"
else
	echo "ok $((tests += 1)) - a named group where no cgroup can be made # SKIP no mount namespaces here"
fi

gives 0 set name:one weight=100; gives 0 set name:two weight=300
start one 600 1500; start two 600 1500
within 30 clients 2 || wrong "the tenants didn't come"
gives 0 record -o "$dir/t.trace" --for=2s; complains 't.trace: [0-9]+ events'
gives 0 plot "$dir/t.trace"; says '^one +1 +100 +25.0%'; says '^two +1 +300 +75.0%'
gives 0 plot "$dir/t.trace" --by=client; says '^busy [0-9]+ +1 '
gives 0 -j plot "$dir/t.trace"
jq -e '.rows | map({(.name): .}) | add | .one.share < .two.share and .one.grants > 10 and
	((.one.share + .two.share <= 1.001 and .one.overruns + .two.overruns == 0) or
	.one.overruns + .two.overruns > 0) and .one.wait_p50_usec > 0' "$dir/out" >/dev/null || wrong "figures: $out"
gives 0 plot "$dir/t.trace" -o "$dir/t.svg" --title='a <b>'
grep -q 'median wait [0-9]' "$dir/t.svg" || wrong "the picture doesn't say what its wait is"
grep -q '<svg xmlns' "$dir/t.svg" && grep -q 'a &lt;b&gt;' "$dir/t.svg" || wrong "svg"
! command -v xmllint >/dev/null || xmllint --noout "$dir/t.svg" || wrong "svg is no XML"
gives 0 plot "$dir/t.trace" -o "$dir/t.json"
jq -e '[.traceEvents[] | select(.ph == "X" and .name == "grant")] | length > 20' "$dir/t.json" >/dev/null || wrong "perfetto"
# Grants of one seat don't overlap, whoever has them, but for one that overran: its
# seat is another's by then. A machine that is busy enough makes a tenant do that.
"$ctl" -j plot "$dir/t.trace" | jq -e 'any(.rows[]; .overruns > 0)' >/dev/null ||
jq -e '[.traceEvents[] | select(.ph == "X" and .name == "grant")] | sort_by(.ts) |
	. as $g | [range(1; length) | select($g[.].ts < $g[. - 1].ts + $g[. - 1].dur - 0.001)] | length == 0' \
	"$dir/t.json" >/dev/null || wrong "grants overlap"
gives 0 plot "$dir/t.trace" --by=client --from=500ms --to=1s; says '^busy'
gives 0 plot "$dir/t.trace" -f svg --zoom=1s-1.1s; says '100 ms of it, grant by grant'
result "record and plot"

gives 3 plot "$dir/nothere"; complains "can't be read"
gives 1 plot "$dir/t.svg"; complains 'no trace of gpusharectl record'
head -c 3001 "$dir/t.trace" >"$dir/cut.trace"
gives 0 plot "$dir/cut.trace"; complains 'it ends in the middle of a record'
gives 2 plot "$dir/t.trace" --format=gif; gives 2 plot --by=day; gives 2 plot --zoom=1s; gives 2 plot --from=2s --to=1s
gives 2 plot --from=1; gives 2 plot --device=x; gives 1 plot "$dir/t.trace" -o "$dir/no/x.svg"
gives 1 record -o "$dir/no/such.trace" --for=1ms; complains "can't be written"
gives 2 record --for=1; gives 2 record --size=x
gives 5 record -q -o "$dir/run.trace" -- sh -c 'exit 5'
gives 127 record -q -o "$dir/run.trace" -- "$dir/nothere"; complains "can.t be run"
gives 0 -q record -o "$dir/small.trace" --size=20K --for=30s
[ "$(stat -c %s "$dir/small.trace")" -lt 60000 ] || wrong "--size: $(stat -c %s "$dir/small.trace")"
result "record and plot with bad input"

"$ctl" record -o "$dir/dead.trace" 2>"$dir/record" & recorder=$!
within 30 test -s "$dir/dead.trace"
sleep 0.3
stop_daemon
wait $recorder; rc=$?
[ $rc = 5 ] || wrong "record: status $rc, not 5, when the arbiter goes away"
grep -q 'it went away' "$dir/record" || wrong "record: $(cat "$dir/record")"
gives 0 plot "$dir/dead.trace"; says '^two'
result "the arbiter goes away while recording"

# As after a fresh installation: nothing was started yet.
mkdir -m 700 "$dir/user"
export XDG_RUNTIME_DIR=$dir/user GPUSHARE_ARBITER=private GPUSHARE_DAEMON=$dir/nothere
gives 125 run --weight=50 true; complains 'start one: systemctl start gpushared.socket'
GPUSHARE_DAEMON=$O/gpushared/gpushared
gives 5 status; complains 'there is none'
gives 0 run --weight=50 --name=first -- sh -c 'echo "$GPUSHARE_ARBITER"; "$0" list' "$ctl"
says "^$dir/user/gpushare/arbiter.sock"; says 'first +1? *50|first.* 50 '
mapfile -t started < <(grep -lsz "^XDG_RUNTIME_DIR=$dir/user\$" /proc/[0-9]*/environ | cut -d/ -f3 | grep -vx $$)
children+=("${started[@]}")
result "run starts the user's own daemon where no arbiter is"
finish
