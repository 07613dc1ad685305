# SPDX-License-Identifier: MIT
# The grammar of OpenMetrics and of Prometheus' older text format (-v old=1), as
# far as gpusharectl writes it: https://prometheus.io/docs/specs/om/open_metrics_spec/
# says it. Prints what is wrong, and nothing if all is well.
function wrong(what) { print NR ": " what ": " $0; bad++ }
function label_set(s,	n) {
	# name="value", ...: in a value \\, \" and \n are the only escapes
	while (match(s, /^[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\[\\"n])*"/)) {
		n = substr(s, 1, index(s, "=") - 1)
		if (n in seen_label)
			wrong("a label twice")
		seen_label[n] = 1
		s = substr(s, RLENGTH + 1)
		if (s == "")
			return 1
		if (substr(s, 1, 1) != ",")
			return 0
		s = substr(s, 2)
	}
	return 0
}
done { wrong("a line after the end") }
/^# EOF$/ { done = 1; next }
/^# HELP / || /^# TYPE / {
	family = $3
	if (family !~ /^gpushare_[a-z0-9_]+$/)
		wrong("a name")
	if ($2 == "HELP") {
		if (family in help)
			wrong("help twice, or a family in two places")
		help[family] = 1
		last = family
		next
	}
	if (family in type || family != last)
		wrong("a type twice, or without its help before it")
	if ($4 != "counter" && $4 != "gauge")
		wrong("a type")
	if (($4 == "counter" && old) != (family ~ /_total$/))
		wrong("_total is for counters, in the older format's types")
	type[family] = $4
	next
}
/^#/ || /^$/ { wrong("a comment or an empty line"); next }
{
	if (!match($0, /^[a-z_][a-z0-9_]*/)) {
		wrong("no sample")
		next
	}
	name = substr($0, 1, RLENGTH)
	rest = substr($0, RLENGTH + 1)
	family = last
	if (name != (type[last] == "counter" && !old ? last "_total" : last))
		wrong("a sample that isn't of the family above it")
	delete seen_label
	if (substr(rest, 1, 1) == "{") {
		end = match(rest, /\} [^ "]+$/)
		if (!end || !label_set(substr(rest, 2, end - 2)))
			wrong("labels")
		series = name substr(rest, 1, end)
		value = substr(rest, end + 2)
	} else {
		series = name
		value = substr(rest, 2)
	}
	if (series in all)
		wrong("a series twice")
	all[series] = 1
	if (value !~ /^([0-9]+(\.[0-9]+)?|\+Inf)$/)
		wrong("a value")
	samples++
}
END {
	if (!old != done)
		print "the end mark"
	if (!samples)
		print "no samples"
}
