#!/bin/sh
# SPDX-License-Identifier: MIT
# libgpushare from the outside: what it needs, what it gives, how it is linked.
so=${O:-build/user}/lib/libgpushare.so.1
n=0 bad=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		[ -z "$3" ] || printf '%s\n' "$3" | sed 's/^/# /'
		echo "not ok $n - $2"
		bad=1
	fi
}
echo "TAP version 13"
echo "1..9"

if nm "${O:-build/user}/lib/libgpushare.a" 2>/dev/null | grep -q '__[at]san_'; then
	n=1; echo "ok 1 - no glibc newer than 2.28 is needed # SKIP built with a sanitizer"
else
	newest=$(objdump -T "$so" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
	[ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ]
	ok $? "no glibc newer than 2.28 is needed" "it needs $newest"
fi

other=$(objdump -p "$so" | awk '/NEEDED/ { print $2 }' |
	grep -vE '^(libc|libpthread|libasan|libtsan|libubsan)\.so|^ld-linux')
[ -z "$other" ]
ok $? "it is linked to libc alone" "$other"

given=$(objdump -T "$so" | awk '/ GPUSHARE_1 / && / DF / { print $NF }' | sort)
wanted=$(sed -n 's/^\t\(gpushare_[a-z_]*\);/\1/p' ulib/libgpushare.map | sort)
[ -n "$given" ] && [ "$given" = "$wanted" ]
ok $? "the map's functions are what it gives" "$given"

declared=$(grep -o '^[a-z].*gpushare_[a-z_]*(' ulib/include/gpushare.h | grep -v inline |
	grep -o 'gpushare_[a-z_]*(' | tr -d '(' | sort)
[ "$declared" = "$wanted" ]
ok $? "the header's functions are the map's" "$declared"

packaged=$(sed -n 's/^ \(gpushare_[a-z_]*\)@GPUSHARE_1 .*/\1/p' debian/libgpushare1.symbols | sort)
[ "$packaged" = "$wanted" ]
ok $? "the package's functions are the map's" "$packaged"

# A constructor of ours would be a function that an .init_array entry points to:
# there is one entry only, the compiler's own frame_dummy.
if nm "${O:-build/user}/lib/libgpushare.a" 2>/dev/null | grep -q '__[at]san_'; then
	n=$((n + 1)); echo "ok $n - it has no constructor # SKIP built with a sanitizer"
else
	size=$(objdump -h "$so" | awk '$2 == ".init_array" { print $3 }')
	[ "$size" = 00000008 ]
	ok $? "it has no constructor" ".init_array has 0x$size bytes"
fi

# A program's end, its signals and its forks are its own. The child that starts the daemon,
# which spawn.c makes, ends itself and has the signals as they are at first.
never='_?exit|_Exit|quick_exit|abort|raise|kill|tgkill|pthread_kill|signal|sigaction|atexit'
undefined=$(nm -A --undefined-only "${O:-build/user}/lib/libgpushare.a") || undefined="no library"
other=$(echo "$undefined" | grep -v ':spawn\.o:' |
	grep -E "^no library| U ($never|(__)?(pthread|register)_atfork)(@.*)?\$")
[ -z "$other" ]
ok $? "it ends no program, handles no signal and no fork" "$other"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cat >"$work/p.cc" <<'END'
#include <gpushare.h>
int main()
{
	struct gpushare *g = nullptr;
	return gpushare_open(&g, "bad", nullptr) == -22 && !g ? 0 : 1;
}
END
c++ -Wall -Werror -Iinclude/uapi -Iulib/include -c -o "$work/p.o" "$work/p.cc"
ok $? "C++ can include the header"

make -s SETUP=no install-ulib DESTDIR="$work" PREFIX=/usr >/dev/null 2>&1
flags=$(PKG_CONFIG_SYSROOT_DIR=$work PKG_CONFIG_LIBDIR=$work/usr/lib/pkgconfig \
	pkg-config --cflags --libs libgpushare 2>/dev/null) ||
	flags="-I$work/usr/include -L$work/usr/lib -lgpushare"
cat >"$work/p.c" <<'END'
#include <gpushare.h>
int main(void)
{
	struct gpushare *g = 0;
	return gpushare_open(&g, "bad", 0) == -22 && !g ? 0 : 1;
}
END
# shellcheck disable=SC2086
cc ${SAN:+-fsanitize=$SAN} -o "$work/p" "$work/p.c" -I"$work/usr/include" $flags &&
	LD_LIBRARY_PATH=$work/usr/lib "$work/p"
ok $? "a program is built with what is installed, and runs"
exit $bad
