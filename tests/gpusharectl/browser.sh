#!/bin/bash
# SPDX-License-Identifier: MIT
# The page of gpusharectl web in Chromium, without a screen.
. "$(dirname "$0")/lib.sh"
command -v chromium >/dev/null || { echo "1..0 # SKIP no chromium here"; exit 4; }
start_daemon
gives 0 device set cpu:0 memory=1G
gives 0 set name:one weight=300; gives 0 set name:two weight=100 mem.max=1M
start one 600 3000 0 4096; start two 600 3000
# What a tenant calls its program is text.
evil=$dir/'<i id=evil>'
cp "$busy" "$evil"
GPUSHARE_GROUP=two "$evil" 600 3000 >/dev/null 2>&1 &
children+=($!)
within 30 clients 3 || wrong "the tenants didn't come"
: >"$dir/web"
"$ctl" web --listen=0 2>"$dir/web" &
children+=($!)
within 30 grep -q 127 "$dir/web" || wrong "it doesn't listen"
at=$(sed -n 's|.*\(http://[0-9.:]*/\)$|\1|p' "$dir/web")

# see NAME OPTION...: what the page has become after some seconds (its own clock is quicker), in $dir/NAME
see() {
	timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/profile" \
		--enable-logging=stderr --v=0 --window-size=1200,1000 --virtual-time-budget=600000 "${@:2}" "$at" >"$dir/$1" 2>"$dir/$1.log"
}
see dom --dump-dom || wrong "chromium: $(tail -3 "$dir/dom.log")"
# text: of the rows of the table of groups
text=$(sed 's/<tr>/\n/g; s/<\/t[dh]>/ | /g; s/<[^>]*>//g; s/&nbsp;//g; s/\xc2\xa0//g' "$dir/dom")
grep -qE '^ ?one \| 300 \| - \| - \| [0-9.]+% \| [0-9.]+% ' <<<"$text" || wrong "no row of one: $text"
grep -qE '^ ?two \| 100 ' <<<"$text" || wrong "no row of two"
used=$(sed -nE 's/^ ?one \| 300 \| - \| - \| [0-9.]+% \| ([0-9.]+)% .*/\1/p' <<<"$text")
awk -v u="$used" 'BEGIN { exit !(u > 30 && u < 101) }' || wrong "one used $used %"
grep -q '&lt;i id=evil&gt;' "$dir/dom" || wrong "the third tenant isn't there"
grep -qi '<i id="*evil' "$dir/dom" && wrong "a tenant writes HTML"
grep -q 'class="bad"' "$dir/dom" && wrong "it says that something is bad"
grep -E 'CONSOLE' "$dir/dom.log" >"$dir/console" && wrong "it complains: $(cat "$dir/console")"
result "the page shows shares, and tenants' names as text"

see shot --screenshot="$dir/shot.png" || wrong "chromium: $(tail -3 "$dir/shot.log")"
[ "$(stat -c %s "$dir/shot.png" 2>/dev/null || echo 0)" -gt 10000 ] || wrong "an empty picture"
[ -z "${KEEP_SHOT:-}" ] || cp "$dir/shot.png" "$KEEP_SHOT"
stop_daemon
see gone --dump-dom
grep -q 'no answer: no arbiter answers' "$dir/gone" || wrong "it doesn't say that the arbiter is gone"
result "a picture, and word of an arbiter that has gone"
finish
