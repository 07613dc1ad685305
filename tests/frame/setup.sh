#!/bin/sh
# SPDX-License-Identifier: MIT
# .ci/setup on machines of all sorts, which are made of commands of our own: it asks
# for what is missing and nothing else, waits for another apt, and says what it lacks.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/ci" "$dir/bin"
cp .ci/setup "$dir/ci/"
printf '# a list\n\none\tthe first\n' >"$dir/ci/packages"
printf 'two\tthe second\n' >"$dir/ci/packages-check"
printf 'three\tthe third\n' >"$dir/ci/packages-full"

command_is() {	# NAME TEXT
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}
for tool in sh dirname mktemp rm env grep tail; do
	ln -s "$(command -v $tool)" "$dir/bin/$tool"
done
# What a package's state is stands in a file of its name.
command_is dpkg-query 'for p; do :; done; cat "$DIR/$p" 2>/dev/null'
# Each call is noted. What it says stands in out.N, for the Nth call: then it fails.
command_is apt-get 'while [ "$1" != install ] && [ "$1" != update ]; do shift; done
echo "$*" >>"$DIR/calls"
n=0; while read -r _; do n=$((n + 1)); done <"$DIR/calls"
! [ -e "$DIR/out.$n" ] || { while read -r l; do echo "$l"; done <"$DIR/out.$n"; exit 100; }'
# A release knows what stands in the file "known".
command_is apt-cache 'for p; do :; done; while read -r k; do [ "$k" != "$p" ] || exit 0; done <"$DIR/known"; exit 100'
echo gcc >"$dir/known"
command_is id 'echo "${UID_IS:-0}"'
command_is sleep ''
ln -s "$(command -v cat)" "$dir/bin/cat"
echo 1..16
n=0 failed=0
what=check

# gives NAME STATUS CALLS [PATTERN]: a run on the machine as it is now
gives() {
	rm -f "$dir/calls"
	DIR=$dir PATH=$dir/bin "$dir/ci/setup" $what >"$dir/said" 2>&1
	rc=$?
	n=$((n + 1))
	calls=$(cat "$dir/calls" 2>/dev/null)
	if [ $rc = "$2" ] && [ "$calls" = "$3" ] && { [ -z "${4:-}" ] || grep -q "$4" "$dir/said"; }; then
		echo "ok $n - $1"
	else
		sed 's/^/# /' "$dir/said"
		printf '%s\n' "status $rc" "$calls" | sed 's/^/# /'
		echo "not ok $n - $1"
		failed=1
	fi
	rm -f "$dir"/out.*
}
install="install -y --no-install-recommends"

printf 'ii ' >"$dir/one"; printf 'hi ii ' >"$dir/two"
gives "nothing is done where all is there, held or of two architectures" 0 ""
what=full gives "but what make check-full needs is" 0 "$install three" "installing three  *the third"
printf 'ii ' >"$dir/three"
what=full gives "once" 0 ""
rm "$dir/one"; printf 'rc ' >"$dir/two"
gives "what is missing or was removed is installed" 0 "$install one two" "installing one  *the first"
printf 'iF ' >"$dir/one"; printf 'ii ' >"$dir/two"
gives "so is what was left half installed" 0 "$install one"
rm "$dir/one" "$dir/two"
what=demo gives "a demo gets what a demo needs" 0 "$install one"
printf 'ii ' >"$dir/one"
printf 'two|other|-\tthe second\n' >"$dir/ci/packages-check"
printf 'gcc\nother\n' >"$dir/known"
gives "where a package has another name, that is installed" 0 "$install other"
echo gcc >"$dir/known"
gives "and none where none is known and none will do" 0 ""
printf 'two|other\tthe second\n' >"$dir/ci/packages-check"
gives "else the first is asked for, whose lack is told" 0 "$install two"
: >"$dir/known"
gives "lists that were never fetched are, before they are asked" 0 "update
$install two"
printf 'ii ' >"$dir/other"
gives "nothing is done where one of them is there" 0 ""
printf 'two\tthe second\n' >"$dir/ci/packages-check"
printf 'ii ' >"$dir/two"; printf 'iF ' >"$dir/one"
echo "E: Could not get lock /var/lib/dpkg/lock" >"$dir/out.1"
cp "$dir/out.1" "$dir/out.2"
gives "it waits for another apt" 0 "$install one
$install one
$install one"
echo "E: Unable to locate package one" >"$dir/out.1"
gives "lists that are too old are fetched" 0 "$install one
update
$install one"
echo "E: Unable to locate package one" >"$dir/out.1"
echo "E: no address" >"$dir/out.2"
gives "without a network it says what is lacking" 1 "$install one
update" "could not install: one"
export UID_IS=1000
gives "nor can it without root" 1 "" "need root or sudo to install: one"
command_is sudo 'exec "$@"'
gives "but with sudo" 0 "$install one"
exit $failed
