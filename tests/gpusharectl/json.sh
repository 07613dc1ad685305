#!/bin/bash
# SPDX-License-Identifier: MIT
# The JSON that the tool writes against the shapes in Documentation/gpusharectl.md.
. "$(dirname "$0")/lib.sh"
doc=Documentation/gpusharectl.md
command -v jq >/dev/null || { echo "1..0 # SKIP no jq here"; exit 4; }

# All shapes as one object; a block begins with ```json shape=NAME.
awk 'BEGIN { print "{" } /^```json shape=/ { sub(/.*shape=/, ""); printf "%s\"%s\":", n++ ? "," : "", $0; on = 1; next }
	/^```/ { on = 0 } on { print } END { print "}" }' "$doc" >"$dir/shapes.json"
jq -e . "$dir/shapes.json" >/dev/null || { echo "Bail out! the shapes in $doc are no JSON"; exit 1; }

cat >"$dir/check.jq" <<'EOF'
def whole: if type == "object" then
	reduce (.["..."] // [])[] as $n (del(.["..."]); . + ($shapes[0][$n] // error("no shape \($n)") | whole))
	else . end;
def is($t): . as $v | any($t | split("|")[]; . as $w |
	if $w == "integer" then ($v | type == "number" and . == floor) else ($v | type) == $w end);
def check($shape; $at): . as $v | ($shape | whole) as $s |
	if $s | type == "object" then
		if type != "object" then "\($at) is no object" else
			(($s | keys) - keys)[] | "\($at).\(.) is missing" end,
		if type == "object" then (keys - ($s | keys))[] | "\($at).\(.) isn't documented" else empty end,
		if type == "object" then ($s | keys)[] as $k | select(has($k)) |
			.[$k] | check($s[$k]; "\($at).\($k)") else empty end
	elif $s | type == "array" then
		if type != "array" then "\($at) is no array"
		else .[] | check($s[0]; "\($at)[]") end
	elif is($s) then empty else "\($at) is \(type), not \($s)" end;
check($shapes[0][$shape]; ".")
EOF

# fits SHAPE SCHEMA: what was said fits the shape, every line of it if it's a stream
fits() {
	local bad
	bad=$(jq -r --slurpfile shapes "$dir/shapes.json" --arg shape "$1" -f "$dir/check.jq" "$dir/out" 2>&1)
	[ -z "$bad" ] || wrong "$1: $bad"
	[ "$(jq -r .schema "$dir/out" | sort -u)" = "gpushare.$2/1" ] || wrong "$1: the schema's name"
	tested+=" $1"
}
tested=

# The checker itself must see what is wrong, or it would be no test.
echo '{"schema":"gpushare.version/1","time_usec":"x","version":"1","abi":1.5,"new":[]}' >"$dir/out"
bad=$(jq -r --slurpfile shapes "$dir/shapes.json" --arg shape version-alone -f "$dir/check.jq" "$dir/out")
[ "$bad" = ".arbiter is missing
.new isn't documented
.abi is number, not integer
.time_usec is string, not integer" ] || [ "$(sort <<<"$bad" | grep -c .)" = 4 ] || wrong "it finds: $bad"
result "the checker finds mistakes"

gives 0 -j --arbiter="$dir/none.sock" version; fits version-alone version
start_daemon
gives 0 -j version; fits version version
gives 0 device set cpu:0 memory=1G
gives 0 set name:one weight=200 max=50% mem.high=1M; gives 0 set name:two min=10%
start one 600 2000 0 4096; pid=$last
start two 600 3000
within 30 clients 2 || wrong "the tenants didn't come"
gives 0 -j status; fits status status
jq -e '.clients | length == 2' "$dir/out" >/dev/null || wrong "not two clients"
gives 0 status --json --pretty; fits status status
[ "$(wc -l <"$dir/out")" -gt 50 ] || wrong "not pretty"
gives 0 -j status --transforms; fits transforms transforms
jq -e '.unread == 0 and (.processes | length == 2) and all(.processes[]; .comm == "busy" and .others == 0 and
	(.launches | map({(.kernel): .}) | add | (.saxpy.way == "slices" and .saxpy.count > 0 and
	.["reduce\u001b[2J"].count == 1 and .["reduce\u001b[2J"].why == "it waits for other blocks")))' \
	"$dir/out" >/dev/null || wrong "transforms: $out"
gives 0 -j list; fits list list
gives 0 -j show name:one; fits show show
jq -e '.groups | length == 1 and (.[0].path == "one") and (.[0].all_devices | .weight == 200 and
	.max_usec == 50000 and .memory_high == 1048576 and (.set | sort) == ["max", "memory_high", "weight"])' \
	"$dir/out" >/dev/null || wrong "show: $out"
gives 0 -j device list; fits devices devices
gives 0 -j why "$pid"; fits why why
jq -e '.clients[0].reasons | map(.kind) | contains(["share", "limit"]) or contains(["share", "throttled"])' \
	"$dir/out" >/dev/null || wrong "why: $out"
gives 0 -j monitor --count=8 --grants; fits event event
gives 0 -j top --count=2 --delay=50ms; fits status status
[ "$(wc -l <"$dir/out")" = 2 ] || wrong "top: not one object a line"
gives 0 -q record -o "$dir/t.trace" --for=3s
gives 0 -j plot "$dir/t.trace"; fits plot plot
jq -e '.rows | length == 2' "$dir/out" >/dev/null || wrong "plot: $out"
timeout 60 "$ctl" -j doctor >"$dir/out"; fits doctor doctor
# Who may, sees the gate: off, and on below a cgroup of ours.
cg=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if "$ctl" -j gate >"$dir/out" 2>/dev/null && mkdir "$cg/json-$$" 2>/dev/null; then
	fits gate gate
	if "$ctl" gate on --below="/json-$$" --nodes=char:240 2>/dev/null; then
		gives 0 gate allow --below="/json-$$" "/json-$$"
		gives 0 -j gate --below="/json-$$"; fits gate gate
		jq -e '.state == "share" and .inside[0].why == "allowlist" and (.nodes | length > 2)' "$dir/out" >/dev/null || wrong "gate: $out"
	fi
	rmdir "$cg/json-$$"
fi
tested+=" gate"
# Without an arbiter as well, so there is no mode.
"$ctl" account --dir="$dir/usage" & child=$!
children+=($child)
within 30 test -e "$dir/usage/lock"; sleep 1.5; kill $child; wait $child
gives 0 -j usage --dir="$dir/usage"; fits usage usage
gives 0 -j usage --dir="$dir/usage" --by=day,unit,group,device; fits usage usage
result "each answer fits its shape"

# Those that only others include, or that no command has, are no answers.
all=$(jq -r 'keys[]' "$dir/shapes.json" | sort)
parts=$(jq -r '[.. | objects | .["..."]? // [] | .[]] | unique[]' "$dir/shapes.json" | sort)
for s in $(comm -23 <(echo "$all") <(echo "$parts")); do
	case " $tested " in *" $s "*) ;; *) wrong "no test for the shape $s" ;; esac
done
result "each shape is tested"

# A name that is no UTF-8 and one with controls must still be JSON.
cp "$busy" "$dir/$(printf 'b\xff\033[31m"')" 2>/dev/null
GPUSHARE_GROUP=one "$dir/$(printf 'b\xff\033[31m"')" 60 2000 >/dev/null 2>&1 &
children+=($!)
within 30 clients 3 || wrong "the third tenant didn't come"
gives 0 -j status; fits status status
jq -e '[.clients[].comm] | any(. == "b\ufffd\u001b[31m\"")' "$dir/out" >/dev/null || wrong "comm: $(jq -c '[.clients[].comm]' "$dir/out")"
gives 0 status; says 'b\?\?\[31m"'
result "hostile names"
finish
