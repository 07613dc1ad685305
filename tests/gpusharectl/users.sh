#!/bin/bash
# SPDX-License-Identifier: MIT
# The system's daemon: how tenants' parts of groups are shown.
. "$(dirname "$0")/lib.sh"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	echo "1..0 # SKIP needs root, and setpriv"
	exit 4
fi
chmod 755 "$dir"
if ! setpriv --reuid 65521 --regid 65521 --clear-groups "$ctl" help >/dev/null 2>&1 ||
	! setpriv --reuid 65521 --regid 65521 --clear-groups test -x "$dir"; then
	echo "1..0 # SKIP other users can't look into TMPDIR, or run this"
	exit 4
fi
"$O/gpushared/gpushared" --system --foreground --pci "$dir/none" \
	--socket "$GPUSHARE_ARBITER" --state none 2>>"$dir/daemon.log" &
daemon=$!
within 30 daemon_answers || exit 1
gives 0 device add cpu:0

as() {
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

for uid in 65521 65522; do
	as $uid "$ctl" run --name=mine --weight=$((uid - 65421)) -- sleep 60 &
	children+=($!)
done
both_there() { [ "$("$ctl" list 2>/dev/null | grep -c mine)" = 2 ]; }
within 30 both_there || wrong "no two groups of that name"
gives 0 list
says '@65521 '
says '@65522 '
gives 0 status --json
grep -o '"path":"[^"]*","id":[0-9]*,"parent":[0-9]*,"kind":"[a-z]*","tenant":[0-9]*' \
	"$dir/out" | sed 's/"id":[0-9]*,"parent":[0-9]*,//' >"$dir/groups"
grep -qx '"path":"/@65521","kind":"user","tenant":65521' "$dir/groups" ||
	wrong "no user's part: $(cat "$dir/groups")"
grep -qx '"path":"mine","kind":"named","tenant":65522' "$dir/groups" ||
	wrong "no named group: $(cat "$dir/groups")"
# What is below a part stands there.
[ "$("$ctl" list | grep -oE '@6552.|mine|^/ ' | tr -d ' \n')" = /@65521mine@65522mine ] ||
	wrong "not in the order of the tree: $("$ctl" list)"
result "parts are shown with whose they are"

gives 6 set /@65521 weight=5
complains "a tenant's part can't be given a share"
as 65521 "$ctl" set name:mine min=50% >"$dir/out" 2>"$dir/err" && wrong "a promise"
err=$(cat "$dir/err")
complains 'it divides /@65521'
[ "$("$ctl" metrics | grep "^gpushare_cgroup_weight" | cut -d' ' -f1 | sort | uniq -d)" = "" ] ||
	wrong "two series of the same labels"
gives 0 save
[ -z "$(grep @ "$dir/out")" ] || wrong "a part is saved"
result "parts can't be set"
finish
