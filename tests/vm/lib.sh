# SPDX-License-Identifier: MIT
# What the scripts in this folder share: where kernels are kept, how they are
# fetched, how trouble is told. To be sourced, with $here set to this folder.
#
# Kernels live outside the repository, in a cache of the user's, since they are
# large and the same for every checkout. Nothing is installed and the machine's
# apt configuration isn't touched: packages are downloaded and unpacked there.
# shellcheck shell=bash disable=SC2034

cache=${XDG_CACHE_HOME:-$HOME/.cache}/gpushare
kernels=$cache/kernels

die()
{
	echo "$(basename "$0"): $*" >&2
	exit 2
}

# apt_suite SUITE ARGS...: an apt command that sees that suite of Debian and nothing
# else, by a configuration of our own that names the mirror which the machine
# itself uses. The machine's lists and sources stay as they are.
apt_suite()
{
	local suite=$1 apt=$cache/apt-$1 tool=$2 uri
	shift 2
	mkdir -p "$apt/lists/partial"
	if [ ! -s "$apt/sources.list" ]; then
		uri=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CREATED_BY)' |
			awk '$2 ~ /^(bookworm|trixie)$/ && $3 == "Packages" { print $1; exit }')
		[ -n "$uri" ] || die "the machine's apt names no mirror of Debian, or its lists were" \
			"never fetched (apt-get update)"
		echo "deb $uri $suite main" >"$apt/sources.list"
	fi
	local opts=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o Dir::State::lists="$apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
		-o APT::Sandbox::User="$(id -un)" -o APT::Default-Release="$suite")
	if [ ! -e "$apt/updated" ] || [ "${UPDATE:-}" = 1 ]; then
		apt-get "${opts[@]}" -qq update >&2 ||
			die "can't fetch the list of $suite: is the network there?"
		touch "$apt/updated"
		UPDATE=
	fi
	"$tool" "${opts[@]}" "$@"
}

apt_backports()
{
	apt_suite bookworm-backports "$@"
}

apt_newest()
{
	apt_suite trixie-backports "$@"
}

# The same for Debian 12's own suites: on that the machine's, with its security's.
apt_own()
{
	if ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
		apt_suite bookworm "$@"
		return
	fi
	local tool=$1
	shift
	"$tool" -o APT::Sandbox::User="$(id -un)" "$@"
}

# candidate APT PACKAGE: the version that APT would install
candidate()
{
	"$1" apt-cache policy "$2" | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

# download APT FOLDER PACKAGE[=VERSION]...: fetch packages into a folder
download()
{
	local apt=$1 dir=$2
	shift 2
	mkdir -p "$dir"
	(cd "$dir" && "$apt" apt-get -qq download "$@") >&2 ||
		die "can't download $*: is the network there?"
}
