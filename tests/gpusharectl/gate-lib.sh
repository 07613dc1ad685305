# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For the tests of the gate: a cgroup of their own, $us, with "in" and "out" in it, and the
# device, the consoles' /dev/vcs. What lacks is said, and the test is skipped.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cg=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
intruder=$O/tests/gpusharectl/intruder
us=/gate-$$
node=/dev/vcs
skip() { echo "1..0 # SKIP $*"; exit 4; }
[ "$(id -u)" = 0 ] || skip "needs root"
[ -n "$cg" ] && mkdir "$cg$us" 2>/dev/null || skip "no cgroup v2 that can be written to"
mkdir "$cg$us/in" "$cg$us/out"
export CGROUP=$cg$us/out INSIDE=$cg$us/in
gone() {
	local p
	for p in $(cat "$cg$us/cgroup.procs" "$cg$us"/*/cgroup.procs "$cg$us"/*/*/cgroup.procs 2>/dev/null); do kill -9 "$p" 2>/dev/null; done
	find "$cg$us" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -e "$cg$us" ]
}
trap 'clean_up; within 10 gone' EXIT
"$intruder" attached $node >/dev/null 2>"$dir/err" || skip "no BPF for cgroups here: $(cat "$dir/err")"
[ -c $node ] && "$intruder" plain $node 2>/dev/null || skip "$node can't be opened here"

# inside CGROUP COMMAND...: it runs there
inside() {
	local where=$1
	shift
	(echo $BASHPID >"$cg$us/$where/cgroup.procs" && exec "$@")
}
# programs: how many are attached to our cgroup
programs() {
	CGROUP=$cg$us "$intruder" attached $node
}
