#!/bin/bash
# SPDX-License-Identifier: MIT
# The gate is never half on: each call of bpf(2) fails in turn, with each of some errors, and
# what was before is there still.
. "$(dirname "$0")/gate-lib.sh"
faults=$O/tests/gpusharectl/bpf-faults.so
errors="1 12 22 38"		# EPERM ENOMEM EINVAL ENOSYS

# each WORDS...: gpusharectl gate WORDS with a failure at the first call, the second, until
# there is none left to fail. After each, unchanged must be true, and the tool has said why.
each() {
	local e n rc hits=0
	for e in $errors; do
		for ((n = 1; n < 200; n++)); do
			rm -f "$dir/hit"
			ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 BPF_FAIL=$n BPF_ERROR=$e BPF_HIT=$dir/hit LD_PRELOAD=$faults \
				timeout 60 "$ctl" gate "$1" --below="$us" "${@:2}" >"$dir/out" 2>"$dir/err" </dev/null
			rc=$?
			[ -e "$dir/hit" ] || break
			hits=$((hits + 1))
			case $rc in
			0)	done_anyhow && continue
				wrong "gate $*: call $n (command $(cat "$dir/hit")) failed with $e, and it says nothing" ;;
			1|4) ;;
			*) wrong "gate $*: call $n (command $(cat "$dir/hit")) failed with $e, and its status is $rc: $(cat "$dir/err")" ;;
			esac
			grep -q '^gpusharectl: gate: \|^gpusharectl: /' "$dir/err" || wrong "gate $*: call $n, error $e: it doesn't say why: $(cat "$dir/err")"
			unchanged || wrong "gate $*: call $n (command $(cat "$dir/hit")), error $e: something has changed"
		done
		[ $rc = 0 ] || wrong "gate $*: without a failure its status is $rc: $(cat "$dir/err")"
		again
	done
	[ $hits -ge $((least * $(wc -w <<<"$errors"))) ] || wrong "gate $*: only $hits failures"
	echo "# gate $1: $hits failures"
}

done_anyhow() { false; }
off() { [ "$(programs)" = 0 ] && inside out "$intruder" plain $node; }
# is_on MODE: one program, in lets in, out doesn't
is_on() {
	[ "$(programs)" = 1 ] && inside in "$intruder" plain $node && ! inside out "$intruder" plain $node &&
		"$ctl" gate status --below="$us" >"$dir/status" && grep -q "^gate: on, mode $1," "$dir/status"
}

unchanged() { off; }
again() { is_on_for_nobody || wrong "it isn't on"; "$ctl" gate off --below="$us"; }
is_on_for_nobody() { [ "$(programs)" = 1 ] && ! inside in "$intruder" plain $node; }
least=9
each on --nodes=$node
result "turned on"

"$ctl" gate on --below="$us" --nodes=$node --mode=share 2>"$dir/err"
unchanged() { [ "$(programs)" = 1 ] && ! inside in "$intruder" plain $node; }
again() { is_on share || wrong "not allowed"; "$ctl" gate disallow --below="$us" "$us/in"; }
least=9
each allow "$us/in"
result "let in"

"$ctl" gate allow --below="$us" "$us/in"
unchanged() { is_on share; }
again() { is_on run || wrong "it isn't of the new mode"; "$ctl" gate on --below="$us" --nodes=$node --mode=share 2>"$dir/err"; }
least=20
each on --nodes=$node --mode=run
result "made anew"

# Its maps needn't be read to take it away.
rearm() { "$ctl" gate on --below="$us" --nodes=$node 2>"$dir/err"; "$ctl" gate allow --below="$us" "$us/in"; }
done_anyhow() { off && rearm; }
again() { off || wrong "it isn't off"; rearm; }
least=4
each off
result "turned off"

done_anyhow() { false; }
again() { :; }
least=9
each status
result "looked at"
finish
