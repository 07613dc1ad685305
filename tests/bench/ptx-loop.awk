# SPDX-License-Identifier: MIT
# A module of nvcc's, and behind it copies of its kernels whose blocks go round a loop over
# the grid's first dimension, as one writes it by hand: no tickets, no stop, nothing that a
# host could see. It is what the assembler needs for a loop at least; it isn't run.
function braces(s) { sub(/\/\/.*/, "", s); return gsub(/{/, "{", s) - gsub(/}/, "}", s) }
function looped(s) {
	gsub(/%ctaid\.x/, "%loop_b", s)
	gsub(/ret;/, "bra $loop_next;", s)
	return s
}
{ print }
/^\.address_size/ { print ".const .align 4 .u32 loop_total;" }
!inside && /\.entry / { inside = 1; depth = 0; body = 0; copy = ""; sub(/\.entry [^ (]+/, "&__loop") }
inside {
	was = depth
	depth += braces($0)
	if (body && !depth)
		copy = copy "$loop_next:\n\tbar.sync 0;\n\tmov.u32 %loop_n, %nctaid.x;\n" \
			"\tadd.u32 %loop_b, %loop_b, %loop_n;\n\tld.const.u32 %loop_n, [loop_total];\n" \
			"\tsetp.lt.u32 %loop_p, %loop_b, %loop_n;\n\t@%loop_p bra $loop_again;\n\tret;\n"
	copy = copy looped($0) "\n"
	if (!body && depth) {
		body = 1
		copy = copy "\t.reg .b32 %loop_b, %loop_n;\n\t.reg .pred %loop_p;\n" \
			"\tmov.u32 %loop_b, %ctaid.x;\n$loop_again:\n"
	}
	if (body && !depth) { all = all copy; inside = 0 }
}
END { printf "%s", all }
