#!/bin/bash
# SPDX-License-Identifier: MIT
# Every command with good and bad input: what it says, and its exit status.
. "$(dirname "$0")/lib.sh"
start_daemon

gives 2; complains '^usage: gpusharectl'
gives 0 help; says 'commands:'
gives 0 --version; says '^gpusharectl [0-9.]+$'; gives 0 -V; gives 0 list --version; says '^gpusharectl [0-9.]+$'
gives 0 --help; says 'commands:'
for c in status list show set reset device run top why monitor record plot apply save metrics account usage hook web \
	doctor completion version help; do
	gives 0 help $c; says "^usage: gpusharectl $c"
	gives 0 $c --help; says "^usage: gpusharectl $c"
	gives 2 $c --no-such-option; complains 'no-such-option: no such option; see gpusharectl'
done
gives 2 help nonsense; complains 'nonsense: no such command'
gives 2 nonsense; complains '^gpusharectl: nonsense: no such command; '
gives 2 --color=sometimes status; complains 'auto, always or never'
gives 2 -Z status; complains '-Z: no such option'
gives 2 status --device; complains '--device: it needs a value'
gives 2 status extra; complains 'extra: too many arguments'
result "usage and help"

gives 0 version; says '^gpusharectl [0-9]+\.[0-9]+\.[0-9]+, abi 1$'; says '^arbiter '
gives 0 --arbiter="$dir/none.sock" version; says '^no arbiter answers'
for c in status list "show self" "set self weight=1" "device list" "why 1" save metrics monitor \
	"top --once" "run true"; do
	# shellcheck disable=SC2086
	gives $([ "$c" = "run true" ] && echo 125 || echo 5) --arbiter="$dir/none.sock" $c
	complains '^gpusharectl: arbiter: there is none .*doctor'
done
gives 5 --arbiter=none list; complains 'none is to be used'
: >"$dir/file"
gives 5 --arbiter="$dir/file" list; complains '^gpusharectl: arbiter: '
result "without an arbiter"

gives 0 device; says '^cpu:0 +1 +cpu +fair'
gives 0 device add pci:0000:65:00.0 slice=4ms memory=8G seats=2 policy=rr linger=0
gives 0 device list; says '^pci:0000:65:00.0 +2 +gpu +rr +2 +4ms +0ns +100ms +8.00G'
gives 1 device add pci:0000:65:00.0; complains 'pci:0000:65:00.0: it is there already'
gives 2 device add nokey; complains 'nokey: a key is KIND:NAME'
gives 2 device add "pci:a b"
gives 2 device add; complains "needs the device's key"
gives 2 device add mig:x/1 --kind=toaster; complains 'gpu, mig, cpu or other'
gives 2 device add mig:x/1 slice=4; complains 'slice=4: not understood; it takes TIME'
gives 1 device add mig:x/1 slice=2s; complains 'out of its range'
gives 2 device add mig:x/1 colour=red; complains 'colour: no such property'
gives 0 device list; says_not 'mig:x'
gives 0 device set 65:00 slice=10ms grace=50ms quota=naive epoch=200ms
gives 0 -j device list
[ "$(jq -r '.devices[1] | "\(.slice_usec) \(.grace_usec) \(.quota) \(.epoch_usec) \(.memory_bytes) \(.policy)"' \
	<<<"$out")" = "10000 50000 naive 200000 8589934592 rr" ] || wrong "set: $out"
gives 0 device set 65:00 oversubscribe=1; gives 0 -j device list
[ "$(jq .devices[1].oversubscribe <<<"$out")" = 1 ] || wrong "oversubscribe: $out"
gives 1 device set 65:00 oversubscribe=2; complains 'out of its range'
gives 0 device set 65:00 slice=default; gives 0 device list; says '65:00.0.* 2ms'
gives 3 device set nothere slice=1ms; complains 'nothere: no such device; '
gives 3 device set : slice=1ms; complains 'is it device'
gives 2 device set all slice=1ms; complains 'name one device'
gives 2 device set 2; complains 'PROPERTY=VALUE'
gives 2 device frob; complains 'list, add, set or remove'
gives 3 device remove 65:0; complains 'if it is pci:0000:65:00.0 or 2 that is to be removed'
gives 0 device set 65:00.0 slice=default; gives 0 device set 00000000:65:00.0 slice=default
gives 1 device add 65:00.0; complains 'it is there already'
gives 0 device add pci:0001:07:00.0; gives 0 device set 07:00.0 slice=3ms; gives 0 device remove 0001:07:00.0
gives 0 device add 0000:C1:00.0; gives 0 device list; says '^pci:0000:c1:00.0 .* gpu '; says_not 'C1'
gives 0 device remove c1:00.0; gives 0 device list; says_not 'c1'
gives 0 device remove 2; gives 0 device list; says_not '65:00'
gives 3 device remove 2; complains 'no such device'
gives 2 device remove
result "device"

gives 2 set name:a mem=8; complains 'mem.max=8: 8 bytes\? With a unit it is 8G, 8M, 8K or 8B'
gives 2 set name:a mem=8GB; complains 'mem.max=8GB: write 8G, which is of 1024'
gives 2 set name:a mem=8GiB; complains 'write 8G'; gives 2 set name:a mem=8XB; complains 'not understood'
gives 0 set name:a mem=0; gives 0 set name:a mem=1048576; gives 0 reset name:a
gives 2 set user:no.such.user weight=1; complains 'no such user'
gives 0 set user:0 weight=1 -kn; says '^user:0: weight: default -> 1'
gives 0 set name:a weight=200 max=50% min=20% mem.max=1G class=latency
gives 0 show name:a; says 'weight +200 +set for all'; says 'max +50%'; says 'min +20%'
says 'mem.max +1G'; says 'class +latency'; says 'mem.min +0 +default'
gives 0 show name:a -P weight --value; [ "$out" = 200 ] || wrong "value: $out"
gives 0 show name:a -P max; [ "$out" = max=50% ] || wrong "property: $out"
gives 0 set name:a max=20ms/50ms+5ms; gives 0 show name:a -P max --value
[ "$out" = 20ms/50ms+5ms ] || wrong "max with a period: $out"
gives 0 set --device=cpu name:a weight=300
gives 0 show name:a; says 'weight +300 +set for this device'
gives 0 set --device=cpu name:a weight=
gives 0 show name:a; says 'weight +200 +set for all'
gives 0 set -n name:a weight=7; says 'a: weight: 200 -> 7'
gives 0 show name:a -P weight --value; [ "$out" = 200 ] || wrong "dry run changed it: $out"
gives 0 set name:a mem=2G; gives 0 show name:a -P mem; [ "$out" = mem.max=2G ] || wrong "mem: $out"
result "set and show"

before=$("$ctl" save)
gives 2 set name:a; complains 'it needs TARGET PROPERTY=VALUE'
gives 2 set name:a weight; complains 'weight: not of the form'
gives 2 set name:a wait=3; complains 'wait: no such property'
for v in weight=0 weight=10001 weight=x weight=99999999999999999999 class=fast max=0% max=20ms \
	max=65s/1s max=1ms/2s max=1ms/10ms+2ms max=70000% min=101% min=5 mem.max=-1 mem.max=1X mem.max=99999999999E \
	mem.high=1.3 min=0.01%; do
	gives 2 set name:a weight=5 "$v"; complains "${v%%=*}=.*: (out of range|not understood); it takes "
done
gives 2 set name:a mem.max=50%; complains 'a percentage needs one device whose memory is known'
gives 6 set name:b weight=9 min=90%
complains 'name:b: min=90.0% refused: .* at most 80.0% is free'
gives 2 set name:; gives 2 set 'name:a/b' weight=1; complains 'letters, digits'
gives 2 set nonsense weight=1; complains 'not a target; it is a /path'
gives 2 set pid:x weight=1; complains 'not a process id'
gives 3 set pid:999999999 weight=1; complains 'no such process'
gives 3 set /no/such/cgroup weight=1; complains 'no such cgroup'
gives 3 set /.. weight=1; complains 'no such cgroup'
gives 3 set job:77777 weight=1; complains 'no such cgroup'
gives 3 set nosuch.service weight=1; complains 'no such cgroup'
gives 3 set id:12345 weight=1; complains 'no group has this id'
gives 3 show name:nobody; complains 'name:nobody: no such group'
gives 3 reset name:nobody; gives 2 reset name:a nonsense
gives 3 set --device=gpu9 name:a weight=3; complains 'gpu9: no such device'
[ "$before" = "$("$ctl" save)" ] || wrong "bad input changed something"
result "bad input to set changes nothing"

gives 0 reset name:a max; gives 0 show name:a; says 'max +max +default'; says 'weight +200'
gives 0 reset name:a; gives 0 list; says_not '^.*─a '
result "reset"

gives 0 show self; says '^/  \(group'
gives 0 list; says '^GROUP +DEV +WEIGHT'; says '^/ +1 '
gives 0 list --interval=0; gives 2 list --interval=5; complains '--interval=5: a time'
gives 0 status; says '^daemon '; says '^DEVICES'; says '^1  cpu:0'
gives 0 status --device=1; gives 3 status --device=9
result "list and status"

start one 600 2000
start two 600 2000 0 1000000
pid=$last
within 30 clients 2 || wrong "the tenants didn't come"
gives 0 set name:two mem=1M
gives 0 status; says "^one +[^ ]+ +[0-9]+ +busy +1 +(running|yielding|waiting|idle)"; says " 977K| 976K| 0.95M"
gives 0 list; says '─one +1 .*(running|waiting|idle) 1'
gives 0 why "$pid"; says "^pid $pid \(busy\) on cpu:0: "; says 'its group two is entitled to 50.0%, and'
gives 3 why 999999999; complains 'no such process'
sleep 60 & idler=$!; gives 3 why $idler; complains 'the arbiter knows no client'; kill $idler; wait $idler 2>/dev/null
gives 0 why name:two; says "^pid $pid \\(busy\\) on cpu:0: "
"$ctl" run -q -- "$busy" 60 2000 >/dev/null 2>&1 & run=$!; children+=($run)
("$busy" 60 2000 >/dev/null & echo $! >"$dir/below"; exec sleep 60) & shell=$!; children+=($shell)
within 20 clients 4 || wrong "no more clients"
gives 0 why $run; says "^pid [0-9]+ \\(busy\\) on cpu:0: "; [ "$(grep -c ^pid <<<"$out")" = 1 ] || wrong "not one: $out"
gives 0 why $shell; says "^pid $(cat "$dir/below") \\(busy\\) on cpu:0: "
kill "$(cat "$dir/below")" $shell $run; wait $shell $run 2>/dev/null
gives 3 why name:nobody; complains 'no client of this group'
gives 2 why 0; complains '0: not a process id'
gives 2 why nonsense; complains 'not a target'
gives 0 status; says "^one +$(id -un) +[0-9]+ +busy"
gives 2 why
result "status and why with tenants"

gives 0 top --once; says '^gpushare .*2 clients'; says 'ENTITLED AND GOT'; says '─two +1 \['
gives 0 top --batch --count=2 --delay=50ms --clients --sort=used; says '[0-9]+ busy +1 \['
[ "$(grep -c '^gpushare ' <<<"$out")" = 2 ] || wrong "not two looks"
gives 0 top --count=1 --device=1
gives 2 top --sort=beauty; complains 'tree, used, wait, mem or name'
gives 2 top --delay=1; complains '--delay=1: a time'
gives 2 top --count=0; gives 3 top --device=7 --once
"$ctl" top --once | sed 's/[─├└│]/x/g' | grep -E '.{81}' >"$dir/wide" &&
	wrong "top is wider than 80 columns: $(head -n 1 "$dir/wide")"
result "top"
gives 0 status --transforms; says 'KERNEL +PID +COMMAND +WAY +LAUNCHES +WHY'; says '^saxpy +[0-9]+ +busy +slices +[0-9]+'
says '^reduce\?\[2J +[0-9]+ +busy +whole +1 +it waits for other blocks'
result "status --transforms"

gives 0 monitor --count=20 --grants; says '^granted device 1 group (one|two) client [0-9]+ pid [0-9]+ slice '
says '^yielded .* held '
gives 0 -j monitor --count=5 granted
[ "$(jq -r .event <<<"$out" | sort -u)" = granted ] || wrong "not only granted: $out"
gives 0 monitor --for=50ms share-set; [ -z "$out" ] || wrong "an event from nowhere: $out"
"$ctl" monitor -t --count=1 share-set >"$dir/events" & watcher=$!
within 30 sh -c "'$ctl' set name:one weight=50; kill -0 $watcher 2>/dev/null && sleep 0.1; ! kill -0 $watcher 2>/dev/null"
wait $watcher || wrong "monitor failed"
grep -qE '^[0-9:]{8}\.[0-9]{6} share-set' "$dir/events" || wrong "no share-set: $(cat "$dir/events")"
gives 2 monitor nonsense; complains 'nonsense: no such event'
gives 2 monitor --count=x; gives 2 monitor --for=3
"$ctl" monitor --grants >"$dir/events2" & watcher=$!
within 30 test -s "$dir/events2" || wrong "monitor says nothing"
kill -INT $watcher; wait $watcher || wrong "monitor doesn't end well on SIGINT"
"$ctl" monitor --grants | head -n 1 >/dev/null
result "monitor"

gives 0 metrics; says '^# EOF$'; says '^# TYPE gpushare_cgroup_gpu_seconds counter$'
says '^gpushare_cgroup_gpu_seconds_total\{gpu="1",cgroup="one"\} [0-9]+\.[0-9]{9}$'
says '^gpushare_cgroup_weight\{gpu="1",cgroup="one"\} 50$'
says '^gpushare_cgroup_memory_max_bytes\{gpu="1",cgroup="one"\} \+Inf$'
gives 0 metrics --textfile="$dir/x.prom"; [ -z "$out" ] || wrong "it says something: $out"
grep -q '^# TYPE gpushare_cgroup_gpu_seconds_total counter$' "$dir/x.prom" || wrong "textfile"
grep -q '# EOF' "$dir/x.prom" && wrong "an end mark that node_exporter doesn't know"
[ "$(echo "$dir"/x.prom*)" = "$dir/x.prom" ] || wrong "a temporary file is left"
# Each sample belongs to the family that was said before it; no sample twice.
awk '/^# TYPE/ { type[$3] = $4; next } /^#/ { next } { name = $1; sub(/\{.*/, "", name)
	if (!(name in type)) print "untyped: " $0
	if (type[name] == "counter" && name !~ /_total$/) print "counter without _total: " $0
	key = $0; sub(/ [^ ]*$/, "", key); if (seen[key]++) print "twice: " $0 }' "$dir/x.prom" >"$dir/bad"
[ -s "$dir/bad" ] && wrong "$(head -n 3 "$dir/bad")"
gives 0 metrics --max-groups=1; says '^gpushare_cgroups_left_out [1-9]'; says_not 'cgroup="one"'
gives 1 metrics --textfile="$dir/no/such/x.prom"; complains "can't be written"
gives 2 metrics --format=xml; gives 2 metrics --listen=99999
gives 0 metrics; out=$(LC_ALL=C awk -f tests/gpusharectl/metrics.awk "$dir/out"); [ -z "$out" ] || wrong "$out"
out=$(LC_ALL=C awk -v old=1 -f tests/gpusharectl/metrics.awk "$dir/x.prom"); [ -z "$out" ] || wrong "$out"
# The checker must see what is wrong, or it would be no check.
out=$(printf '%s\n' '# HELP gpushare_aB x.' '# TYPE gpushare_aB gauge' 'gpushare_b{x="1",x="\t"} 1,5' |
	LC_ALL=C awk -f tests/gpusharectl/metrics.awk | grep -c .)
[ "$out" -ge 5 ] || wrong "the checker sees $out faults"
command -v promtool >/dev/null && { promtool check metrics <"$dir/x.prom" || wrong promtool; }
result "metrics"

"$ctl" metrics --listen=0 2>"$dir/http" & http=$!
within 30 grep -q metrics "$dir/http" || wrong "it doesn't listen"
if grep -q 'built without' "$dir/http"; then
	echo "ok $((tests += 1)) - metrics over HTTP # SKIP built without libmicrohttpd"
else
	port=$(sed -n 's|.*127.0.0.1:\([0-9]*\)/.*|\1|p' "$dir/http")
	get() {
		exec 9<>"/dev/tcp/127.0.0.1/$port" || return 1
		printf '%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n' "$1" "$2" "${3:-}" >&9
		timeout 20 cat <&9; exec 9>&-
	}
	out=$(get GET /metrics); says '^HTTP/1.1 200'; says 'version=0.0.4'; says '^gpushare_cgroup_weight'
	out=$(get GET /metrics $'Accept: application/openmetrics-text\r\n'); says 'openmetrics-text'; says '^# EOF'
	out=$(get GET /etc/passwd); says '^HTTP/1.1 404'
	out=$(get POST /metrics); says '^HTTP/1.1 405'
	kill -TERM $http; wait $http || wrong "it doesn't end well"
	result "metrics over HTTP"
fi

gives 0 doctor; says 'ok +arbiter +daemon'; says 'ok +device'; says ' coverage '
gives 1 --arbiter="$dir/none.sock" doctor; says 'FAIL +arbiter'; says '-> '
gives 0 -q doctor; says_not '^ ok'
"$ctl" doctor | grep -q WARN && gives 1 doctor --strict
result "doctor"

kill -STOP "$daemon"
gives 7 status; complains 'it hangs'
gives 1 doctor; says 'FAIL +arbiter.*timed out'; says 'systemctl restart'
kill -CONT "$daemon"
result "a daemon that hangs"

stop_daemon
gives 5 list; complains 'it ended and left its socket|there is none'
result "after the daemon's end"
finish
