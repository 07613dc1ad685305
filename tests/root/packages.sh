#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 7200 s
# The Debian packages, made and installed in bare roots of Debian 12 and 13, the module's by
# the real dkms for that release's kernel. RELEASES picks some of them. With `here` they are
# made of what this build has, and tried in what this machine has, which is soon done.
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build/user}
case $O in /*) ;; *) O=$PWD/$O ;; esac
read -ra releases <<<"${RELEASES:-12 13}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/packages.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
n=0 failed=0
echo "TAP version 13"

# in_root RELEASE COMMAND...: its findings, numbered
in_root() {
	ROOT_SEES=$dir tests/root/root "$@" >"$dir/said" 2>"$dir/err" || {
		echo "not ok in the root: status $?" >>"$dir/said"
	}
	while IFS= read -r line; do
		case $line in
		'ok '*) n=$((n + 1)); echo "ok $n - $release: ${line#ok }" ;;
		'not ok '*) n=$((n + 1)) failed=1; echo "not ok $n - $release: ${line#not ok }" ;;
		*) echo "# $line" ;;
		esac
	done <"$dir/said"
	[ $failed = 0 ] || tail -n 20 "$dir/err" | sed 's/^/# /'
}

for release in "${releases[@]}"; do
	objects='' build='' try=''
	if [ "$release" = here ]; then
		objects=$O
	else
		# What they need, by apt as an administrator has it.
		build="apt-get -q update && apt-get -q install -y --no-install-recommends build-essential lintian &&
			apt-get -q build-dep -y --no-install-recommends ./ &&"
		try="apt-get -q update && apt-get -q install -y --no-install-recommends dkms linux-headers-amd64 udev systemd \
			libc6-dev pkg-config libnl-genl-3-200 '^libmicrohttpd12(t64)?$' &&"
	fi
	tests/root/root "$release" true >"$dir/said" 2>&1
	if [ $? = 4 ]; then
		n=$((n + 1))
		echo "ok $n - $release # SKIP $(tail -n 1 "$dir/said")"
		continue
	fi
	# shellcheck disable=SC2016
	in_root "$release" sh -c "export DEBIAN_FRONTEND=noninteractive; { $build :; } >/tmp/apt.log 2>&1 ||
		{ tail -n 5 /tmp/apt.log; exit 1; }; exec tests/root/packages build '$dir' '$objects'"
	in_root "$release" sh -c "export DEBIAN_FRONTEND=noninteractive; { $try :; } >/tmp/apt.log 2>&1 ||
		{ tail -n 5 /tmp/apt.log; exit 1; }; exec tests/root/packages try '$dir'"
	rm -rf "${dir:?}"/*
done
echo "1..$n"
exit $failed
