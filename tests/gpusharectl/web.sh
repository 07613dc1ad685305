#!/bin/bash
# SPDX-License-Identifier: MIT
# gpusharectl web, by a plain HTTP client: what it shows, to whom, and what it bears.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "1..0 # SKIP no jq here"; exit 4; }
viewer=$O/tests/gpusharectl/viewer

gives 2 web --listen=x; complains "--listen=x: a port, ADDRESS:PORT"
gives 2 web --listen=99999; gives 2 web --listen=localhost:1; gives 2 web --listen=[::1:1; gives 2 web --listen=1.2.3:4
gives 2 web --listen=; gives 2 web extra
gives 1 web --listen=192.0.2.1:0; complains "can't listen on 192.0.2.1:0"
result "bad input"

: >"$dir/web"
"$ctl" web --listen=0 --host=gpu.example 2>"$dir/web" & web=$!
children+=($web)
within 30 grep -q 'gpusharectl' "$dir/web" || wrong "it doesn't listen"
if grep -q 'built without' "$dir/web"; then
	echo "1..0 # SKIP built without libmicrohttpd"
	exit 4
fi
port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/$|\1|p' "$dir/web")
[ -n "$port" ] || { echo "Bail out! it doesn't say where: $(cat "$dir/web")"; exit 1; }
get() { out=$("$viewer" "$port" get "$@" | tr -d '\r'); }
get /status.json; says '^HTTP/1.1 503'; says 'no arbiter answers'
get /; says '^HTTP/1.1 200'
start_daemon
start one 600 3000; start two 600 3000
within 30 clients 2 || wrong "the tenants didn't come"
sleep 1
get /status.json; says '^HTTP/1.1 200'; says '^Content-Type: application/json'; says '^Cache-Control: no-store'
says "^Content-Security-Policy: default-src 'none'"; says '^X-Content-Type-Options: nosniff'
sed '1,/^$/d' <<<"$out" | jq -e '.schema == "gpushare.status/1" and (.clients | length == 2) and
	([.groups[].path] | contains(["one", "two"]))' >/dev/null || wrong "status: $out"
# Nothing of the page is anywhere else.
get /; says '<title>gpushare</title>'; says_not '(src|href)='; says_not 'https?://'
for host in localhost 127.0.0.1 "127.0.0.1:$port" "[::1]:1" GPU.example; do
	get / "$host"; says '^HTTP/1.1 200'
done
for host in evil.example evil.example:80 gpu.example.evil 127.0.0.1.evil.example "[evil]" ""; do
	get / "$host"; says '^HTTP/1.1 (403|400)'
done
get /metrics; says '^HTTP/1.1 404'
result "the page and what it asks for; not for who calls it by another name"

"$viewer" "$port" odd >"$dir/said" 2>&1 || wrong "$(cat "$dir/said")"
kill -0 $web 2>/dev/null || wrong "it is gone"
result "odd requests"

"$viewer" "$port" slow 1000 >"$dir/said" 2>&1 || wrong "slow: $(cat "$dir/said")"
"$viewer" "$port" deaf 1000 >"$dir/said" 2>&1 || wrong "deaf: $(cat "$dir/said")"
# More than it takes: once they have gone all is well.
"$viewer" "$port" slow 3000 >/dev/null 2>&1
well() { get /status.json; grep -q '^HTTP/1.1 200' <<<"$out"; }
within 30 well || wrong "after too many: $out"
kill -0 $web 2>/dev/null || wrong "it is gone"
result "a thousand connections that are slow, or don't listen"

# However many look, the arbiter is asked once a second; and not if nobody looks.
ticks() { awk '{ print $14 + $15 }' /proc/$1/stat; }
at=$(ticks $web)
"$viewer" "$port" watch 10 5 >"$dir/said" || wrong "$(cat "$dir/said")"
busy=$(($(ticks $web) - at))
# Of 500 ticks in 5 s and more; 10 viewers take some 1 % of a processor, and slow machines more.
[ $busy -le 50 ] || wrong "10 viewers took $busy hundredths of a second in 5 s"
times=$(for _ in 1 2 3 4 5 6; do "$viewer" "$port" get /status.json | tr -d '\r' | sed '1,/^$/d' | jq .time_usec; done | sort -u | wc -l)
[ "$times" -le 3 ] || wrong "six at once were answered from $times queries"
result "many viewers share one query"

stop_daemon
sleep 1.5
get /status.json; says '^HTTP/1.1 503'
start_daemon
within 30 well || wrong "a new arbiter isn't found: $out"
kill -TERM $web; wait $web || wrong "it ended with $?"
result "an arbiter that goes and comes back"
finish
