// SPDX-License-Identifier: MIT
/* gpusharectl plot: a trace as a picture, as a Perfetto file, or in figures. */
#include "amount.h"
#include "ctl.h"
#include "file.h"
#include "plot.h"
#include "term.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST	(4ULL << 30)

enum { OPT_OUTPUT, OPT_FORMAT, OPT_BY, OPT_FROM, OPT_TO, OPT_ZOOM, OPT_TITLE, OPT_DEVICE };

static const struct gs_option options[] = {
	{ "output", "FILE", "where to; - is standard output", 'o' },
	{ "format", "FORMAT", "svg, perfetto or table (by the output's name)", 'f' },
	{ "by", "WHAT", "a row for each group or client (group)", 0 },
	{ "from", "TIME", "leave out what was before", 0 },
	{ "to", "TIME", "leave out what was after", 0 },
	{ "zoom", "FROM-TO", "what to draw grant by grant, as 2s-2.1s", 0 },
	{ "title", "TEXT", "the picture's title", 0 },
	{ "device", "ID", "only this one", 'd' },
	{ NULL, NULL, NULL, 0 },
};

enum format { FORMAT_SVG, FORMAT_PERFETTO, FORMAT_TABLE };

struct plot {
	struct gs_ctl *ctl;
	struct gs_timeline timeline;
	struct gs_timeline_options how;
	struct gs_plot_options options;
	enum format format;
};

static int read_trace(const char *name, struct gs_trace *trace)
{
	char *data = NULL, *more;
	size_t size = 0, room = 0, offset;
	const char *why;
	FILE *in = strcmp(name, "-") ? fopen(name, "re") : stdin;
	int rc = 0;

	if (!in)
		return gs_error(GS_EXIT_NOT_FOUND, name, "can't be read: %s", strerror(errno));
	for (;;) {
		if (size == room) {
			room = room ? room * 2 : 1 << 16;
			more = room <= FILE_MOST ? realloc(data, room) : NULL;
			if (!more) {
				rc = gs_error(GS_EXIT_FAILURE, name, "too large");
				break;
			}
			data = more;
		}
		size += fread(data + size, 1, room - size, in);
		if (ferror(in))
			rc = gs_error(GS_EXIT_FAILURE, name, "can't be read: %s", strerror(errno));
		if (rc || size < room)
			break;
	}
	if (in != stdin)
		fclose(in);
	if (!rc && gs_trace_parse(trace, data, size, &why, &offset))
		rc = gs_error(GS_EXIT_FAILURE, name, "at byte %zu: %s", offset, why);
	if (!rc && trace->truncated)
		gs_error(0, name, "it ends in the middle of a record; what is before it is used");
	free(data);
	return rc;
}

static void figures_json(struct plot *p)
{
	const struct gs_timeline *tl = &p->timeline;
	const struct gs_row *r;
	double entitled;
	struct gs_json j;
	size_t i;

	gs_answer_begin(&j, p->ctl, "plot");
	gs_json_unsigned(&j, "length_usec", (tl->end_ns - tl->begin_ns) / 1000);
	gs_json_unsigned(&j, "gaps", tl->nr_gaps);
	gs_json_bool(&j, "truncated", tl->trace->truncated);
	gs_json_array(&j, "rows");
	for (i = 0; i < tl->nr_rows; i++) {
		r = &tl->rows[i];
		entitled = gs_row_entitled(r, tl->begin_ns, tl->end_ns);
		gs_json_object(&j, NULL);
		gs_json_string(&j, "name", r->name);
		gs_json_unsigned(&j, "id", r->id);
		gs_json_unsigned(&j, "device", r->device);
		gs_json_unsigned(&j, "weight", r->weight);
		if (entitled < 0)
			gs_json_null(&j, "entitled");
		else
			gs_json_scaled(&j, "entitled", (uint64_t)(entitled * 10000 + .5), 4);
		gs_json_scaled(&j, "share", (uint64_t)(gs_row_share(r, tl->begin_ns, tl->end_ns) *
						       10000 + .5), 4);
		gs_json_unsigned(&j, "run_usec", r->run_ns / 1000);
		gs_json_unsigned(&j, "wait_usec", r->wait_ns / 1000);
		gs_json_unsigned(&j, "throttled_usec", r->throttled_ns / 1000);
		gs_json_unsigned(&j, "wait_p50_usec", gs_row_wait(r, 50) / 1000);
		gs_json_unsigned(&j, "wait_p99_usec", gs_row_wait(r, 99) / 1000);
		gs_json_unsigned(&j, "grants", r->grants);
		gs_json_unsigned(&j, "preempts", r->preempts);
		gs_json_unsigned(&j, "overruns", r->overruns);
		gs_json_end(&j);
	}
	gs_json_end(&j);
	gs_json_end(&j);
}

static void figures(struct plot *p)
{
	static const char *const heads[] = { "TENANT", ">DEV", ">WEIGHT", ">ENTITLED", ">GOT", ">RUN",
					     ">GRANTS", ">PREEMPTS", ">WAIT-P50", ">WAIT-P99" };
	const struct gs_timeline *tl = &p->timeline;
	char a[GS_AMOUNT];
	const struct gs_row *r;
	struct gs_table t;
	double entitled;
	size_t i;

	gs_table_begin(&t, heads, 10);
	for (i = 0; i < tl->nr_rows; i++) {
		r = &tl->rows[i];
		entitled = gs_row_entitled(r, tl->begin_ns, tl->end_ns);
		gs_table_cell(&t, "%s", r->name);
		gs_table_cell(&t, "%u", r->device);
		gs_table_cell(&t, r->weight ? "%u" : "-", r->weight);
		gs_table_cell(&t, entitled < 0 ? "-" : "%.1f%%", entitled * 100);
		gs_table_cell(&t, "%.1f%%", 100 * gs_row_share(r, tl->begin_ns, tl->end_ns));
		gs_table_cell(&t, "%s", gs_time(a, r->run_ns));
		gs_table_cell(&t, "%llu", (unsigned long long)r->grants);
		gs_table_cell(&t, "%llu", (unsigned long long)r->preempts);
		gs_table_cell(&t, "%s", gs_time(a, gs_row_wait(r, 50)));
		gs_table_cell(&t, "%s", gs_time(a, gs_row_wait(r, 99)));
	}
	gs_table_end(&t, p->ctl->colour);
}

static int write_picture(FILE *out, void *arg)
{
	struct plot *p = arg;

	return p->format == FORMAT_SVG ? gs_svg_write(out, &p->timeline, &p->options) :
		gs_perfetto_write(out, &p->timeline);
}

static int parse_zoom(struct plot *p, const char *text)
{
	uint64_t from, to;
	char part[64], *dash;

	snprintf(part, sizeof(part), "%s", text);
	dash = strchr(part, '-');
	if (!dash)
		return -EINVAL;
	*dash = 0;
	if (gs_parse_us(part, &from) || gs_parse_us(dash + 1, &to) || from >= to ||
	    to > 1000000000000)
		return -EINVAL;
	p->options.zoom_from_ns = from * 1000;
	p->options.zoom_to_ns = to * 1000;
	return 0;
}

static int parse_times(struct plot *p)
{
	static const int which[] = { OPT_FROM, OPT_TO };
	uint64_t *times[] = { &p->how.from_ns, &p->how.to_ns };
	const char *value;
	int i;

	for (i = 0; i < 2; i++) {
		value = p->ctl->values[which[i]];
		if (value && (gs_parse_us(value, times[i]) || *times[i] > 1000000000000))
			return gs_usage(p->ctl, "--%s=%s: a time after the beginning, as 1.5s",
					options[which[i]].name, value);
		*times[i] *= 1000;
	}
	if (p->how.to_ns && p->how.from_ns >= p->how.to_ns)
		return gs_usage(p->ctl, "--from must be before --to");
	return 0;
}

static int take_options(struct plot *p)
{
	static const char *const formats[] = { "svg", "perfetto", "table" };
	const char *const *v = p->ctl->values, *output = v[OPT_OUTPUT];
	uint64_t id;
	size_t length = output ? strlen(output) : 0;
	int f;

	p->format = !output ? FORMAT_TABLE : length > 5 && !strcmp(output + length - 5, ".json") ?
		FORMAT_PERFETTO : FORMAT_SVG;
	if (v[OPT_FORMAT]) {
		for (f = 0; f < 3 && strcmp(formats[f], v[OPT_FORMAT]); f++)
			;
		if (f == 3)
			return gs_usage(p->ctl, "--format=%s: svg, perfetto or table", v[OPT_FORMAT]);
		p->format = f;
	}
	if (v[OPT_BY] && strcmp(v[OPT_BY], "group") && strcmp(v[OPT_BY], "client"))
		return gs_usage(p->ctl, "--by=%s: group or client", v[OPT_BY]);
	p->how.by_client = v[OPT_BY] && !strcmp(v[OPT_BY], "client");
	if (v[OPT_ZOOM] && parse_zoom(p, v[OPT_ZOOM]))
		return gs_usage(p->ctl, "--zoom=%s: two times, as 2s-2.1s", v[OPT_ZOOM]);
	if (v[OPT_DEVICE]) {
		if (gs_parse_unsigned(v[OPT_DEVICE], UINT32_MAX, &id))
			return gs_usage(p->ctl, "--device=%s: a device's id", v[OPT_DEVICE]);
		p->how.device = id;
	}
	p->options.title = v[OPT_TITLE];
	return parse_times(p);
}

static int run_plot(struct gs_ctl *ctl, int argc, char **argv)
{
	struct plot p = { .ctl = ctl };
	const char *name = argc ? argv[0] : "gpushare.trace", *output = ctl->values[OPT_OUTPUT];
	struct gs_trace trace;
	int rc;

	rc = take_options(&p);
	if (rc)
		return rc;
	gs_trace_init(&trace);
	rc = read_trace(name, &trace);
	if (!rc && gs_timeline_build(&p.timeline, &trace, &p.how))
		rc = gs_error(GS_EXIT_FAILURE, name, "not enough memory");
	if (!rc && p.format != FORMAT_TABLE) {
		rc = gs_file_replace(output ? output : "-", write_picture, &p);
		if (rc)
			rc = gs_error(GS_EXIT_FAILURE, output ? output : "plot",
				      "can't be written: %s", strerror(-rc));
	} else if (!rc && ctl->json) {
		figures_json(&p);
	} else if (!rc) {
		figures(&p);
	}
	gs_timeline_free(&p.timeline);
	gs_trace_free(&trace);
	return rc;
}

const struct gs_command gs_plot_command = {
	.name = "plot", .args = "[FILE]", .options = options, .run = run_plot,
	.operands = "file", .most = 1,
	.summary = "A trace as a picture (SVG), for Perfetto, or in figures",
	.details = "FILE is what record wrote (gpushare.trace). Without --output and --format it\n"
	"prints figures. A name that ends in .json is written for ui.perfetto.dev.\n",
};
