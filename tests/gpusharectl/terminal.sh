#!/bin/bash
# SPDX-License-Identifier: MIT
# top on a terminal: keys, resizing, a slow line, stopping, and how it is left.
. "$(dirname "$0")/lib.sh"
start_daemon
gives 0 set name:one weight=100; gives 0 set name:two weight=300 max=90%
gives 0 device add test:b
start one 600 2000; start two 600 2000
within 30 clients 2 || wrong "the tenants didn't come"

# on COLUMNS LINES: what is on standard input, with top
on() {
	"$O/tests/gpusharectl/terminal" "$1" "$2" "$ctl" --color=always top --delay="${3:-200ms}" >"$dir/screen" || wrong "$(cat "$dir/screen")"
}

on 80 24 <<'END'
see ^gpushare .* 2 devices, 2 clients  sort tree
see ^ 1 cpu:0 +\[
see ^ 2 test:b +\[
see ^GROUP +DEV ENTITLED AND GOT +ENTITL +GOT +WAIT +MEM *$
see one +1 \[[#+ -]{14}\]
key s
see sort used
key sss
see sort name
key s
see sort tree
key c
see ^CLIENT
see ^[0-9]+ busy
key c
see ^GROUP
key d
gone ^ 2 test:b
key d
gone ^ 1 cpu:0
key d
see ^ 1 cpu:0
key h
see ^The bar is the whole device
key h
see ^GROUP
key +-+
key q
end 0
END
result "keys"

# All of the help, on a narrow one.
on 60 24 <<'END'
see ^GROUP
key h
see ^WAIT is the time in which somebody of it waited\.
see c  groups or clients
see -  look less often
key q
end 0
END
result "the help is whole on 60 columns"

on 160 50 <<'END'
see ^GROUP {30} +DEV .* MEM STATE
see one +1 \[[#+ -]{24}\]
size 80 24
see one +1 \[[#+ -]{14}\]
gone \[[#+ -]{24}\]
size 40 10
see ^gpushare
see ^GROUP
size 100 30
see one +1 \[[#+ -]{24}\]
size 20 3
see ^gpushare
key q
end 0
END
result "sizes"

on 80 24 20ms <<'END'
see ^GROUP
sleep 1500
see one +1 \[
sleep 1500
key q
end 0
END
result "a slow line"

on 80 24 <<'END'
see ^GROUP
signal 20
stops
see ^GROUP
signal 15
end 0
END
on 80 24 <<'END'
see ^GROUP
signal 1
end 0
END
printf 'see ^GROUP\nkey \003\nend 0\n' | on 80 24
result "signals"

# The arbiter ends while it looks: it says so, on a terminal that is itself again.
on 80 24 <<END
see ^GROUP
do kill $daemon
end 5
see ^gpusharectl: arbiter:
gone ^GROUP
END
stop "${children[@]}"; children=()
stop_daemon
result "the arbiter ends"
finish
