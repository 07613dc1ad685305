#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run over tests that end in every way: what it counts, says and leaves behind.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/t"
echo 1..15
n=0 failed=0

test_is() {	# NAME TEXT
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/t/$1"
	chmod +x "$dir/t/$1"
}
# gives NAME STATUS LAST-LINE PATTERN TEST...: one run of the runner
gives() {
	local name=$1 status=$2 last=$3 pattern=$4 said rc
	shift 4
	said=$(cd "$dir" && O=$dir/o "$OLDPWD/tests/run" "$@" 2>&1)
	rc=$?
	n=$((n + 1))
	if [ $rc = "$status" ] && [ "$(tail -n 1 <<<"$said")" = "$last" ] && grep -q "$pattern" <<<"$said"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name (status $rc)"
		sed 's/^/# /' <<<"$said"
		failed=1
	fi
}

test_is good 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
test_is bad 'echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1'
test_is skips 'echo 1..1; echo "ok 1 - a # SKIP no moon"; exit 4'
test_is dies 'echo 1..1; echo ok 1 - a; kill -SEGV $$'
test_is silent ''
test_is short 'echo 1..3; echo ok 1 - a'
test_is liar 'echo 1..1; echo ok 1 - a; exit 1'
test_is bails 'echo 1..1; echo ok 1 - a; echo Bail out!'
test_is hangs '# Time limit: 1 s
echo 1..1; echo ok 1 - a; sleep 60'
test_is leaves 'echo 1..1; echo ok 1 - a; sleep 300 & echo $! >'"$dir"'/left'
# It fails when it's run for the first time, and for the third.
test_is moody 'echo 1..1; echo x >>'"$dir"'/moods
[ $(($(wc -l <'"$dir"'/moods) % 2)) = 0 ] && echo ok 1 - a || { echo not ok 1 - a; exit 1; }'

gives 'what passes is counted' 0 '2 passed, 0 failed, 0 skipped' '^ok .*good' t/good
gives 'a failure is repeated, counted once and shown' 1 '3 passed, 1 failed, 0 skipped' '^FAIL .*bad (again)' t/good --alone t/bad
gives 'skipping everything is no pass' 1 '0 passed, 0 failed, 1 skipped' 'skip .*no moon' t/skips
gives 'a crash is a failure' 1 '1 passed, 1 failed, 0 skipped' 'exit status 139' t/dies
read -r pattern </proc/sys/kernel/core_pattern
case $pattern in
'' | *[/\|%]*)
	n=$((n + 1))
	echo "ok $n - the calls that led to a crash are shown # SKIP core dumps go to \"$pattern\"" ;;
*)
	gives 'the calls that led to a crash are shown' 1 '1 passed, 1 failed, 0 skipped' '^    | #0 .*kill' t/dies
	[ -s "$dir/o/log/t-dies.log.core" ] && [ -s "$dir/o/log/t-dies.log.first.core" ] &&
		[ -z "$(find "$dir" -maxdepth 1 -name "$pattern*")" ] || { echo "# dumps: $(ls "$dir" "$dir/o/log")"; failed=1; } ;;
esac
gives 'so is silence' 1 '0 passed, 1 failed, 0 skipped' 'plan says nothing' t/silent
gives 'so are fewer results than planned' 1 '1 passed, 1 failed, 0 skipped' '1 results, plan says 3' t/short
gives 'so is a status that the results do not bear out' 1 '1 passed, 1 failed, 0 skipped' 'without a failed test' t/liar
gives 'so is bailing out' 1 '1 passed, 1 failed, 0 skipped' 'it bailed out' t/bails
gives 'so is a test that does not end' 1 '1 passed, 1 failed, 0 skipped' 'no end within 1 s' t/hangs
gives 'what a test leaves running is ended' 0 '1 passed, 0 failed, 0 skipped' '^ok' t/leaves
! readlink "/proc/$(cat "$dir/left")/exe" >/dev/null || { echo "# it still runs"; failed=1; }
gives 'what passes when it is run alone has passed, and both are shown' 0 '3 passed, 0 failed, 0 skipped' '^FAIL .*moody ' t/moody t/good
rm "$dir/moods"
gives 'a repeat is counted and named' 0 '3 passed, 0 failed, 0 skipped' '^1 repeated: t/moody$' t/moody t/good
rm "$dir/moods"
gives 'where there is none, that is said too' 0 '2 passed, 0 failed, 0 skipped' '^0 repeated$' t/good
gives 'where more than four fail, nothing is repeated' 1 '6 passed, 5 failed, 0 skipped' '^FAIL .*moody ' t/moody t/dies t/short t/liar t/bails t/good
exit $failed
