#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual pages and the completions know all that the tool knows.
. "$(dirname "$0")/lib.sh"
page=Documentation/man/gpusharectl.1

if command -v mandoc >/dev/null; then
	for p in Documentation/man/*.[1-8]; do
		said=$(mandoc -T lint -W warning "$p") || wrong "$said"
	done
	result "the manual pages pass the linter"
	mandoc -T ascii "$page" | sed 's/.\x08//g' | expand >"$dir/page"
else
	echo "ok $((tests += 1)) - the manual pages pass the linter # SKIP no mandoc here"
	sed 's/\\&//g; s/^\.It Fl \([a-zA-Z0-9]\) , Fl -/-\1, --/; s/Fl -/--/g' "$page" >"$dir/page"
fi

commands=$("$ctl" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 18 ] || wrong "few commands: $commands"
for c in $commands; do
	grep -qE "^ +$c( |\$)" "$dir/page" || wrong "gpusharectl(1) lacks the command $c"
	for o in $("$ctl" "$c" --help | sed -n 's/^  .*\(--[a-z][a-z-]*\).*/\1/p'); do
		grep -qE -- "$o([^a-z-]|\$)" "$dir/page" || wrong "gpusharectl(1) lacks $c $o"
	done
done
for p in $("$ctl" help set | sed -n 's/^  \([a-z.]*\)=.*/\1/p'); do
	grep -q -- "$p" "$dir/page" || wrong "gpusharectl(1) lacks the property $p"
done
for s in 0 1 2 3 4 5 6 7; do grep -qE "^ +$s +[a-z]" "$dir/page" || wrong "gpusharectl(1) lacks the status $s"; done
result "gpusharectl(1) has every command, option and property"

start_daemon
for key in $("$ctl" save | sed -n 's/^\([A-Z][A-Za-z]*\)=.*/\1/p' | sort -u) Weight Class Max Min MemoryMax MemoryHigh MemoryMin; do
	grep -q "$key" Documentation/man/gpushare.conf.5 || wrong "gpushare.conf(5) lacks $key"
done
result "gpushare.conf(5) has every key"

variables=$(grep -rhoE 'getenv\("GPUSHARE_[A-Z_]+"' ulib wrap gpushared gpusharectl | sed 's/.*"\(G.*\)"/\1/' | sort -u)
[ "$(wc -w <<<"$variables")" -ge 8 ] || wrong "few variables: $variables"
for v in $variables GPUSHARE_ARBITER GPUSHARE_DAEMON; do
	grep -qwE "$v" Documentation/man/*.[1-8] || wrong "no manual page has $v"
done
result "the manual pages have every variable"

"$ctl" completion bash >"$dir/bash" || wrong "no script for bash"
bash -n "$dir/bash" || wrong "no bash"
gives 0 set name:tenant weight=3
gives 0 device add mig:gpu/1
export PATH=$O/bin:$PATH
# complete WORDS...: what bash would offer for the last of them
complete_words() {
	bash -c '. "$1"; shift
		# As readline does: words are broken at : and =
		line="$*"; COMP_LINE=$line COMP_POINT=${#line}
		COMP_WORDS=() w=
		for word; do
			w=$word
			while [[ $w == *[:=]* ]]; do
				part=${w%%[:=]*}; [ -n "$part" ] && COMP_WORDS+=("$part")
				COMP_WORDS+=("${w:${#part}:1}"); w=${w:${#part}+1}
			done
			COMP_WORDS+=("$w")
		done
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_gpusharectl 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' - "$dir/bash" "$@"
}
offers() {
	local want=$1
	shift
	complete_words "$@" | sed 's/ *$//' | grep -qxF -- "$want" || wrong "no \"$want\" for: $*; but $(complete_words "$@" | head -n 5 | tr '\n' ' ')"
}
for c in $commands; do
	offers "$c" gpusharectl "${c:0:1}"
	for o in $("$ctl" "$c" --help | sed -n 's/^  .*\(--[a-z][a-z-]*=\{0,1\}\).*/\1/p'); do
		offers "$o" gpusharectl "$c" "${o:0:4}"
	done
done
offers tenant gpusharectl set name:te
offers weight= gpusharectl set name:tenant we
offers cpu:0 gpusharectl device remove cp
offers remove gpusharectl device re
offers lost gpusharectl monitor lo
offers zsh gpusharectl completion z
offers slice= gpusharectl device set cpu:0 sl
offers gpu/1 gpusharectl list --device=mig:gp
result "bash completion has every command, option, target and property"

if command -v zsh >/dev/null; then
	"$ctl" completion zsh >"$dir/_gpusharectl" || wrong "no script for zsh"
	zsh -fn "$dir/_gpusharectl" || wrong "no zsh"
	said=$(zsh -fc 'autoload -U compinit; compinit -u -d "$1/dump"; source "$1/_gpusharectl"; whence -w _gpusharectl
		print -r -- "$_comps[gpusharectl]"' - "$dir" 2>&1)
	[ "$said" = "_gpusharectl: function
_gpusharectl" ] || wrong "zsh: $said"
	for c in $commands; do grep -q "^		'$c:" "$dir/_gpusharectl" || wrong "zsh lacks $c"; done
	result "zsh completion loads and has every command"
else
	echo "ok $((tests += 1)) - zsh completion loads and has every command # SKIP no zsh here"
fi
finish
