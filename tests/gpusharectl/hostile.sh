#!/bin/bash
# SPDX-License-Identifier: MIT
# Names that a tenant chose to do harm: in pages for shells, in configurations,
# in metrics, on terminals. Cgroups may be called almost anything.
. "$(dirname "$0")/lib.sh"
cg=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
top=$cg/gpushare-hostile-$$
if [ -z "$cg" ] || ! mkdir "$top" 2>/dev/null; then
	echo "1..0 # SKIP no cgroup v2 that can be written to"
	exit 4
fi
# shellcheck disable=SC2317
remove_groups() {
	[ $BASHPID = $$ ] || return
	clean_up
	find "$top" -depth -type d -exec rmdir {} +
}
trap remove_groups EXIT
start_daemon

# The second word of one of them would be a pattern for somebody else's group.
deep=$(printf 'd%.0s' {1..200})
names=('plain' '$(touch '"\$HOSTILE"')' 'a b' '*' $'esc\e]0;t\ax' $'csi\xc2\x9b2J' $'turned\xe2\x80\xaegnp'
	'x name:victim' 'plain#1' $'broken\xff' "$deep/$deep" "$deep/${deep}e")
for name in "${names[@]}"; do
	mkdir -p "$top/$name"
	gives 0 set "/${top#"$cg"/}/$name" weight=7
done
gives 0 set name:victim weight=100

for format in openmetrics prometheus; do
	gives 0 metrics -f $format
	old=; [ $format = openmetrics ] || old=1
	bad=$(LC_ALL=C awk -v old=$old -f tests/gpusharectl/metrics.awk "$dir/out")
	[ -z "$bad" ] || wrong "$format: $bad"
	grep -v '^#' "$dir/out" | sed 's/ [^ ]*$//' | sort | uniq -d >"$dir/twice"
	[ ! -s "$dir/twice" ] || wrong "$format, twice: $(head -n 3 "$dir/twice")"
	[ "$(grep -c '^gpushare_cgroup_weight.* 7$' "$dir/out")" = ${#names[@]} ] || wrong "$format: not all are there"
done
says 'plain"'; says 'plain#1#[0-9]+"'; says 'a b"'
! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$dir/out" || wrong "controls in metrics"
result "metrics: valid, and each series once"

for c in list "list -i 0" status "top --once" "-j list" "-j status" metrics save; do
	# shellcheck disable=SC2086
	gives 0 $c
	! cat "$dir/out" "$dir/err" | LC_ALL=C grep -qE $'[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' ||
		wrong "$c: controls reach the terminal"
	[[ $c != -j* ]] || jq -e . "$dir/out" >/dev/null || wrong "$c: no JSON"
done
gives 0 -j list
jq -e '[.groups[].path] | any(endswith("/csi\u009b2J")) and any(endswith("/turned\u202egnp"))' "$dir/out" >/dev/null ||
	wrong "JSON doesn't tell the names as they are"
result "terminals: no control, no turned text"

gives 0 save
says "^Match=/${top#"$cg"/}/plain\$"; says "^Match=/${top#"$cg"/}/plain#1\$"
[ "$(grep -c '^Match=/' <<<"$out")" = 2 ] || wrong "saved: $(grep '^Match' <<<"$out")"
[ "$(grep -c "left out: this name can't stand in a configuration" <<<"$err")" = $((${#names[@]} - 2)) ] ||
	wrong "left out: $err"
"$ctl" save 2>/dev/null | "$ctl" apply - || wrong "what was saved can't be applied"
gives 0 show name:victim -P weight --value; [ "$out" = 100 ] || wrong "another group got the share: $out"
result "save: a name is no pattern"

gives 0 completion targets
says "^/${top#"$cg"/}/plain\$"
! grep -vE '^[A-Za-z0-9/._:@+,-]*$' "$dir/out" || wrong "offered to a shell: $out"
# As bash does it: the words are expanded, so nothing may be left to expand.
HOSTILE=$dir/run PATH=${ctl%/*}:$PATH bash -c '
	source <(gpusharectl completion bash)
	COMP_LINE="gpusharectl show /" COMP_POINT=${#COMP_LINE} COMP_WORDS=(gpusharectl show /) COMP_CWORD=2
	COMP_POINT=18
	_gpusharectl
	printf "%s\n" "${COMPREPLY[@]}"' >"$dir/offered" 2>/dev/null
grep -qx "/${top#"$cg"/}/plain" "$dir/offered" || wrong "bash offers: $(cat "$dir/offered")"
[ ! -e "$dir/run" ] || wrong "a name was run by the shell"
result "completion: a name isn't run"

# A tenant of such a name, in a cgroup of such a name.
worst=$(printf 'n\xef\xbf\xbf<&\e[31m')
cp "$busy" "$dir/$worst"
(echo $BASHPID >"$top/$(printf 'esc\e]0;t\ax')/cgroup.procs" && exec "$dir/$worst" 600 2000) >/dev/null 2>&1 &
children+=($!)
within 30 clients 1 || wrong "the tenant didn't come"
for by in group client; do
	gives 0 record -o "$dir/t.trace" --for=300ms
	gives 0 plot --by=$by -o "$dir/t.svg" "$dir/t.trace"
	! LC_ALL=C grep -qE $'[\x01-\x08\x0b-\x1f\x7f]|\xef\xbf\xbf' "$dir/t.svg" || wrong "$by: controls in the picture"
	! command -v xmllint >/dev/null || xmllint --noout "$dir/t.svg" || wrong "$by: the picture is no XML"
	gives 0 plot --by=$by -o "$dir/t.json" "$dir/t.trace"
	jq -e . "$dir/t.json" >/dev/null || wrong "$by: Perfetto's is no JSON"
	gives 0 plot --by=$by "$dir/t.trace"
	! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$dir/out" || wrong "$by: controls in the figures"
done
stop "${children[@]}"
result "pictures: names are text"

finish
