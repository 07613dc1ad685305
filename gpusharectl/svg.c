// SPDX-License-Identifier: MIT
/*
 * The picture of a timeline, for a page or a talk: above, a short time grant by
 * grant, so that one sees how tenants take turns; below, what share each of
 * them got over the whole time, against what it was entitled to; on the right,
 * the same in figures.
 *
 * A trace has far more grants than a picture has points. The upper part shows
 * as long a time as can be read, unless the caller says which; where bars are
 * still narrower than a point, one bar stands for what lies in it, as dark as
 * the time was filled.
 */
#include "plot.h"
#include "json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH		1280
#define LEFT		228
#define RIGHT		168
#define PLOT_WIDTH	(WIDTH - LEFT - RIGHT)
#define TOP		118
#define LANES_MOST	4	/* more clients of a row than that share lanes */
#define CURVE_POINTS	240
#define CURVE_HEIGHT	200
#define BARS_READABLE	54	/* grants in the upper part, if we choose it */
#define BARS_MOST	3000	/* of one row; more of them are drawn as columns */

/* Okabe and Ito's palette, which the colour-blind can tell apart, without yellow. */
static const char *const colours[] = {
	"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a6a9c", "#6b7280",
};

struct picture {
	FILE *out;
	const struct gs_timeline *tl;
	const struct gs_plot_options *options;
	uint64_t from_ns, to_ns;	/* the upper part */
	double row_height, row_gap;
	double rows_top, rows_end, curves_top, curves_end, height;
};

static const char *colour_of(size_t row)
{
	return colours[row % (sizeof(colours) / sizeof(*colours))];
}

/* At most @most characters of @s, escaped for XML; what isn't to be shown becomes '?'. */
static void write_text(FILE *out, const char *s, unsigned int most)
{
	unsigned int n, i;

	for (i = 0; *s && i < most; s += n, i++) {
		n = gs_utf8_length(s);
		if (i == most - 1 && s[n ? n : 1])
			fputs("…", out);
		else if (!gs_utf8_shown(s))
			fputc('?', out);
		else if (*s == '&')
			fputs("&amp;", out);
		else if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '>')
			fputs("&gt;", out);
		else if (*s == '"')
			fputs("&quot;", out);
		else
			fwrite(s, 1, n, out);
		n = n ? n : 1;
	}
}

#define NAME_MOST	20

/* The end of a long path says more than its beginning. */
static const char *tail(const char *name, unsigned int most)
{
	const char *slash;

	while (strlen(name) > most && (slash = strchr(name + 1, '/')))
		name = slash;
	return name;
}

static const char *duration(char *buffer, size_t size, double ns)
{
	static const struct { double unit; const char *name; } units[] = {
		{ 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" },
	};
	size_t i = 0;

	while (i < 3 && ns < units[i].unit)
		i++;
	snprintf(buffer, size, "%.3g %s", ns / units[i].unit, units[i].name);
	return buffer;
}

/* The largest of 1, 2, 5 times a power of ten that isn't above @value. */
static double round_down(double value)
{
	double power = pow(10, floor(log10(value > 0 ? value : 1)));

	return power * (value >= 5 * power ? 5 : value >= 2 * power ? 2 : 1);
}

/* A readable part: around the middle, where things have settled. */
static void choose_zoom(struct picture *p)
{
	const struct gs_timeline *tl = p->tl;
	uint64_t length = tl->end_ns - tl->begin_ns;
	double part = length;

	p->from_ns = tl->begin_ns;
	p->to_ns = tl->end_ns;
	if (p->options->zoom_to_ns) {
		if (p->options->zoom_from_ns < length)
			p->from_ns += p->options->zoom_from_ns;
		if (p->options->zoom_to_ns < length)
			p->to_ns = tl->begin_ns + p->options->zoom_to_ns;
		return;
	}
	if (tl->grants <= BARS_READABLE)
		return;
	part = fmin(round_down(part * BARS_READABLE / tl->grants * 1.3), length);
	p->from_ns = tl->begin_ns + (uint64_t)((length - part) / 2);
	p->to_ns = p->from_ns + (uint64_t)part;
}

static void lay_out(struct picture *p)
{
	size_t n = p->tl->nr_rows ? p->tl->nr_rows : 1;

	p->row_height = n <= 6 ? 44 : n <= 16 ? 30 : 16;
	p->row_gap = n <= 16 ? 12 : 4;
	p->rows_top = TOP;
	p->rows_end = TOP + n * (p->row_height + p->row_gap);
	p->curves_top = p->rows_end + 116;
	p->curves_end = p->curves_top + CURVE_HEIGHT;
	p->height = p->curves_end + 54;
}

static double x_of(uint64_t time, uint64_t from, uint64_t to)
{
	return LEFT + (double)PLOT_WIDTH * ((double)time - (double)from) /
		(double)(to > from ? to - from : 1);
}

static void write_head(struct picture *p)
{
	static const char style[] =
		"text{font-family:Inter,'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;"
		"fill:#1f2937}.t{font-size:24px;font-weight:600}.s{font-size:14px;fill:#6b7280}"
		".n{font-size:15px;font-weight:600}.d{font-size:12.5px;fill:#6b7280}"
		".a{font-size:12px;fill:#6b7280}.h{font-size:15px;font-weight:600;fill:#374151}"
		".b{font-size:20px;font-weight:600}";
	const struct gs_timeline *tl = p->tl;
	const struct gs_trace_name *device;
	bool several = tl->nr_rows && tl->rows[0].device != tl->rows[tl->nr_rows - 1].device;
	char buffer[32];
	size_t i;

	fprintf(p->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" "
		"width=\"%d\" height=\"%.0f\">\n<style>%s</style>\n<defs>\n",
		WIDTH, p->height, WIDTH, p->height, style);
	for (i = 0; i < sizeof(colours) / sizeof(*colours); i++)
		fprintf(p->out, "<pattern id=\"w%zu\" width=\"6\" height=\"6\" "
			"patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
			"<rect width=\"6\" height=\"6\" fill=\"%s\" fill-opacity=\".07\"/>"
			"<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"%s\" "
			"stroke-opacity=\".42\" stroke-width=\"1.6\"/></pattern>\n",
			i, colours[i], colours[i]);
	fprintf(p->out, "<pattern id=\"th\" width=\"5\" height=\"5\" "
		"patternUnits=\"userSpaceOnUse\"><rect width=\"5\" height=\"5\" fill=\"#e5e7eb\"/>"
		"<path d=\"M0 0L5 5M5 0L0 5\" stroke=\"#9ca3af\" stroke-width=\".9\"/></pattern>\n"
		"</defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");

	fprintf(p->out, "<text class=\"t\" x=\"32\" y=\"46\">");
	write_text(p->out, p->options->title ? p->options->title : "Who ran when", 80);
	fprintf(p->out, "</text>\n<text class=\"s\" x=\"32\" y=\"72\">%zu tenant%s",
		tl->nr_rows, tl->nr_rows == 1 ? "" : "s");
	if (tl->nr_rows && !several) {
		device = gs_trace_find(tl->trace, GS_TRACE_DEVICE, tl->rows[0].device, 0,
				       tl->end_ns);
		fputs(" on ", p->out);
		write_text(p->out, device ? device->name : "a device", 40);
	}
	fprintf(p->out, " · %s · %llu grants",
		duration(buffer, sizeof(buffer), tl->end_ns - tl->begin_ns),
		(unsigned long long)tl->grants);
	if (tl->nr_gaps)
		fprintf(p->out, " · events were lost %zu time%s", tl->nr_gaps,
			tl->nr_gaps == 1 ? "" : "s");
	if (tl->trace->truncated)
		fputs(" · the recording was cut short", p->out);
	fputs("</text>\n", p->out);
}

/* A time axis below @y, with grid lines up to @top. */
static void write_axis(struct picture *p, double top, double y, uint64_t from, uint64_t to)
{
	double length = to - from, step, t, x, unit;
	const char *name;

	if (length < 1)
		return;
	step = round_down(length / 6);
	unit = length >= 2e9 ? 1e9 : length >= 2e6 ? 1e6 : length >= 2e3 ? 1e3 : 1;
	name = length >= 2e9 ? "s" : length >= 2e6 ? "ms" : length >= 2e3 ? "µs" : "ns";
	for (t = 0; t <= length * 1.0001; t += step) {
		x = LEFT + PLOT_WIDTH * t / length;
		fprintf(p->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
			"stroke=\"#eceff3\"/><text class=\"a\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">%.6g %s</text>\n",
			x, x, top, y, x, y + 18, t / unit, name);
	}
}

static unsigned int lanes_of(const struct gs_row *row)
{
	return row->lanes > LANES_MOST ? LANES_MOST : row->lanes;
}

/* Bars too narrow to see, as columns that are as dark as the time was filled. */
static int write_columns(struct picture *p, size_t row_nr, double y)
{
	const struct gs_row *row = &p->tl->rows[row_nr];
	double *fill = calloc(PLOT_WIDTH, sizeof(*fill)), a, b;
	const struct gs_span *s;
	int i, j;

	if (!fill)
		return -ENOMEM;
	for (s = row->spans; s && s < row->spans + row->nr_spans; s++) {
		if (s->kind != GS_SPAN_RUN)
			continue;
		a = fmax(x_of(s->begin_ns, p->from_ns, p->to_ns) - LEFT, 0);
		b = fmin(x_of(s->end_ns, p->from_ns, p->to_ns) - LEFT, PLOT_WIDTH);
		for (i = (int)a; i < b && i < PLOT_WIDTH; i++)
			fill[i] += fmin(b, i + 1) - fmax(a, i);
	}
	for (i = 0; i < PLOT_WIDTH; i = j) {
		a = fmin(round(fill[i] * 12), 12);
		for (j = i + 1; j < PLOT_WIDTH && fmin(round(fill[j] * 12), 12) == a; j++)
			;
		if (a > 0)
			fprintf(p->out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
				"fill=\"%s\" fill-opacity=\"%.2f\"/>\n", LEFT + i, y, j - i,
				p->row_height, colour_of(row_nr), a / 12);
	}
	free(fill);
	return 0;
}

static void write_run(struct picture *p, size_t row_nr, const struct gs_span *s, double x,
		      double x2, double y, double height)
{
	char took[32], asked[32];
	double xa;

	fprintf(p->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"1.5\" "
		"fill=\"%s\"><title>", x, y, fmax(x2 - x, .6), height, colour_of(row_nr));
	write_text(p->out, p->tl->rows[row_nr].name, 80);
	fprintf(p->out, ": held for %s", duration(took, sizeof(took), s->end_ns - s->begin_ns));
	if (s->asked_ns > s->begin_ns)
		fprintf(p->out, ", asked to yield after %s",
			duration(asked, sizeof(asked), s->asked_ns - s->begin_ns));
	fputs("</title></rect>\n", p->out);
	if (!s->asked_ns || s->asked_ns < p->from_ns || s->asked_ns >= p->to_ns)
		return;
	/* Darker from when it was asked to yield, and a mark where that was. */
	xa = x_of(s->asked_ns, p->from_ns, p->to_ns);
	if (x2 - xa > .3)
		fprintf(p->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
			"fill=\"#000\" fill-opacity=\".28\"/>\n", xa, y, x2 - xa, height);
	fprintf(p->out, "<path d=\"M%.2f %.1fl-3.4 -6h6.8z\" fill=\"#374151\"/>\n", xa, y - .5);
}

static void write_span(struct picture *p, size_t row_nr, const struct gs_span *s, double top)
{
	double x = x_of(s->begin_ns, p->from_ns, p->to_ns);
	double x2 = x_of(s->end_ns, p->from_ns, p->to_ns);
	double height = p->row_height / lanes_of(&p->tl->rows[row_nr]);
	double y = top + height * (s->lane % lanes_of(&p->tl->rows[row_nr]));
	char took[32];

	x = fmax(x, LEFT);
	x2 = fmin(x2, LEFT + PLOT_WIDTH);
	if (s->kind == GS_SPAN_RUN) {
		write_run(p, row_nr, s, x, x2, y, height);
		return;
	}
	if (x2 - x < .3)
		return;
	if (s->kind == GS_SPAN_THROTTLED) {
		y = top + p->row_height - 8;
		height = 8;
	} else {
		y += height * .18;
		height *= .64;
	}
	fprintf(p->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"url(#",
		x, y, x2 - x, height);
	if (s->kind == GS_SPAN_THROTTLED)
		fputs("th", p->out);
	else
		fprintf(p->out, "w%zu", row_nr % (sizeof(colours) / sizeof(*colours)));
	fprintf(p->out, ")\"><title>%s for %s</title></rect>\n",
		s->kind == GS_SPAN_THROTTLED ? "throttled by its max" : "waited",
		duration(took, sizeof(took), s->end_ns - s->begin_ns));
}

static void write_marks(struct picture *p, const struct gs_row *row, double top)
{
	const struct gs_mark *m;
	const char *what;
	double x;

	for (m = row->marks; m && m < row->marks + row->nr_marks; m++) {
		if (m->type == GPUSHARE_EVENT_PREEMPT || m->time_ns < p->from_ns ||
		    m->time_ns > p->to_ns)
			continue;
		x = x_of(m->time_ns, p->from_ns, p->to_ns);
		what = m->type == GPUSHARE_EVENT_OVERRUN ? "overrun: the seat was taken back" :
		       m->type == GPUSHARE_EVENT_KILLED ? "killed" : "memory refused";
		fprintf(p->out, "<path d=\"M%.2f %.1fl4.5 -9h-9z\" fill=\"#dc2626\"><title>%s"
			"</title></path>\n", x, top + 1, what);
	}
}

static int write_bars(struct picture *p, size_t row_nr, double y)
{
	/* What matters most is drawn last. */
	static const int order[] = { GS_SPAN_WAIT, GS_SPAN_THROTTLED, GS_SPAN_RUN };
	const struct gs_row *row = &p->tl->rows[row_nr];
	const struct gs_span *s;
	size_t n = 0, kind, i;

	for (i = 0; i < row->nr_spans; i++)
		n += row->spans[i].end_ns > p->from_ns && row->spans[i].begin_ns < p->to_ns;
	if (n > BARS_MOST)
		return write_columns(p, row_nr, y);
	for (kind = 0; kind < 3; kind++)
		for (i = 0; i < row->nr_spans; i++) {
			s = &row->spans[i];
			if (s->kind == order[kind] && s->end_ns > p->from_ns &&
			    s->begin_ns < p->to_ns)
				write_span(p, row_nr, s, y);
		}
	write_marks(p, row, y);
	return 0;
}

/* What is cut away is shown by a pointer that rests on it. */
static void write_row_name(FILE *out, const char *name)
{
	const char *end = tail(name, NAME_MOST);

	if (end != name) {
		fputs("<title>", out);
		write_text(out, name, UINT_MAX);
		fputs("</title>…", out);
	}
	write_text(out, end, NAME_MOST);
}

static int write_row(struct picture *p, size_t i)
{
	const struct gs_row *row = &p->tl->rows[i];
	double y = p->rows_top + i * (p->row_height + p->row_gap);
	double middle = y + p->row_height / 2;
	bool small = p->row_height < 28;
	char buffer[32];
	double entitled = gs_row_entitled(row, p->tl->begin_ns, p->tl->end_ns);
	int rc = write_bars(p, i, y);

	fprintf(p->out, "<rect x=\"32\" y=\"%.1f\" width=\"5\" height=\"%.1f\" rx=\"2\" "
		"fill=\"%s\"/>\n<text class=\"n\" x=\"46\" y=\"%.1f\">", y, p->row_height,
		colour_of(i), small ? middle + 5 : middle - 1);
	write_row_name(p->out, row->name);
	fputs("</text>\n", p->out);
	if (!small) {
		fprintf(p->out, "<text class=\"d\" x=\"46\" y=\"%.1f\">", middle + 16);
		if (row->weight)
			fprintf(p->out, "weight %u · ", row->weight);
		fprintf(p->out, "median wait %s</text>\n",
			duration(buffer, sizeof(buffer), gs_row_wait(row, 50)));
	}
	fprintf(p->out, "<text class=\"b\" x=\"%d\" y=\"%.1f\" style=\"fill:%s%s\">%.1f %%</text>\n",
		LEFT + PLOT_WIDTH + 20, small ? middle + 5 : middle - 1, colour_of(i),
		small ? ";font-size:14px" : "",
		100 * gs_row_share(row, p->tl->begin_ns, p->tl->end_ns));
	if (!small && entitled >= 0)
		fprintf(p->out, "<text class=\"d\" x=\"%d\" y=\"%.1f\">entitled to %.1f %%</text>\n",
			LEFT + PLOT_WIDTH + 20, middle + 16, 100 * entitled);
	return rc;
}

static void write_gaps(struct picture *p, double top, double end, uint64_t from, uint64_t to)
{
	const struct gs_gap *g;

	for (g = p->tl->gaps; g && g < p->tl->gaps + p->tl->nr_gaps; g++) {
		double x = fmax(x_of(g->begin_ns, from, to), LEFT);
		double x2 = fmin(x_of(g->end_ns, from, to), LEFT + PLOT_WIDTH);

		if (x < x2)
			fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
				"fill=\"#fee2e2\"><title>%llu events were lost here</title></rect>\n",
				x, top, x2 - x, end - top, (unsigned long long)g->lost);
	}
}

static void write_legend(struct picture *p, double y)
{
	fprintf(p->out,
		"<g transform=\"translate(%d %.1f)\">"
		"<rect width=\"22\" height=\"12\" rx=\"1.5\" fill=\"#4b5563\"/>"
		"<rect x=\"16\" width=\"6\" height=\"12\" fill=\"#000\" fill-opacity=\".4\"/>"
		"<path d=\"M16 -.5l-3.4 -6h6.8z\" fill=\"#374151\"/>"
		"<text class=\"a\" x=\"29\" y=\"10.5\">runs; ▼ asked to yield, darker from then on</text>"
		"<rect x=\"330\" width=\"22\" height=\"12\" fill=\"url(#w7)\"/>"
		"<text class=\"a\" x=\"359\" y=\"10.5\">waits</text>"
		"<rect x=\"424\" y=\"2\" width=\"22\" height=\"8\" fill=\"url(#th)\"/>"
		"<text class=\"a\" x=\"453\" y=\"10.5\">throttled by its max</text>"
		"<path d=\"M606 12l5 -10h-10z\" fill=\"#dc2626\"/>"
		"<text class=\"a\" x=\"617\" y=\"10.5\">overrun, killed or out of memory</text></g>\n",
		LEFT, y);
}

static int write_rows(struct picture *p)
{
	char part[32];
	size_t i;
	int rc;

	fprintf(p->out, "<text class=\"h\" x=\"%d\" y=\"%.1f\">", LEFT, p->rows_top - 16);
	if (p->from_ns > p->tl->begin_ns || p->to_ns < p->tl->end_ns)
		fprintf(p->out, "%s of it, grant by grant",
			duration(part, sizeof(part), p->to_ns - p->from_ns));
	else
		fputs("Grant by grant", p->out);
	fprintf(p->out, "</text>\n<text class=\"h\" x=\"%d\" y=\"%.1f\">Got</text>\n",
		LEFT + PLOT_WIDTH + 20, p->rows_top - 16);
	write_axis(p, p->rows_top - 4, p->rows_end, p->from_ns, p->to_ns);
	write_gaps(p, p->rows_top - 4, p->rows_end, p->from_ns, p->to_ns);
	for (i = 0; i < p->tl->nr_rows; i++) {
		rc = write_row(p, i);
		if (rc)
			return rc;
	}
	write_legend(p, p->rows_end + 32);
	return 0;
}

/* Time run in each of CURVE_POINTS intervals, then the mean over @around of them. */
static void share_curve(const struct gs_timeline *tl, const struct gs_row *row, double *curve,
			int around)
{
	double length = (double)(tl->end_ns - tl->begin_ns) / CURVE_POINTS, a, b, sum;
	double raw[CURVE_POINTS] = { 0 };
	const struct gs_span *s;
	int i, j, n;

	for (s = row->spans; length > 0 && s && s < row->spans + row->nr_spans; s++) {
		if (s->kind != GS_SPAN_RUN)
			continue;
		a = (s->begin_ns - tl->begin_ns) / length;
		b = (s->end_ns - tl->begin_ns) / length;
		for (i = (int)a; i < b && i < CURVE_POINTS; i++)
			raw[i] += fmin(b, i + 1) - fmax(a, i);
	}
	for (i = 0; i < CURVE_POINTS; i++) {
		for (sum = n = 0, j = i - around; j <= i + around; j++) {
			if (j < 0 || j >= CURVE_POINTS)
				continue;
			sum += raw[j];
			n++;
		}
		curve[i] = sum / n;
	}
}

static double y_of(const struct picture *p, double share, double most)
{
	return p->curves_end - (p->curves_end - p->curves_top) * fmin(share / most, 1);
}

static void write_entitled(struct picture *p, size_t row_nr, double most)
{
	const struct gs_row *row = &p->tl->rows[row_nr];
	const struct gs_timeline *tl = p->tl;
	size_t i;

	if (!row->nr_steps)
		return;
	fprintf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" "
		"stroke-dasharray=\"7 5\" stroke-opacity=\".75\" d=\"", colour_of(row_nr));
	fprintf(p->out, "M%d %.1f", LEFT, y_of(p, row->steps[0].permille / 1000., most));
	for (i = 1; i < row->nr_steps; i++)
		fprintf(p->out, "H%.1fV%.1f",
			fmin(fmax(x_of(row->steps[i].time_ns, tl->begin_ns, tl->end_ns), LEFT),
			     LEFT + PLOT_WIDTH),
			y_of(p, row->steps[i].permille / 1000., most));
	fprintf(p->out, "H%d\"/>\n", LEFT + PLOT_WIDTH);
}

static int write_curves(struct picture *p)
{
	const struct gs_timeline *tl = p->tl;
	double (*curves)[CURVE_POINTS] = calloc(tl->nr_rows + 1, sizeof(*curves));
	double most = .2, v, width = (double)PLOT_WIDTH / CURVE_POINTS;
	char window[32];
	int around, k;
	size_t i;

	if (!curves)
		return -ENOMEM;
	/* Smooth over what holds some ten grants of each, and no more than a tenth. */
	around = tl->grants ? (int)(tl->nr_rows * 6 * CURVE_POINTS / tl->grants) : 0;
	around = around < 3 ? 3 : around > CURVE_POINTS / 20 ? CURVE_POINTS / 20 : around;
	for (i = 0; i < tl->nr_rows; i++) {
		share_curve(tl, &tl->rows[i], curves[i], around);
		for (k = 0; k < CURVE_POINTS; k++)
			most = fmax(most, curves[i][k]);
		most = fmax(most, gs_row_entitled(&tl->rows[i], tl->begin_ns, tl->end_ns));
	}
	most = fmin(ceil(most * 5) / 5, 1);
	fprintf(p->out, "<text class=\"h\" x=\"%d\" y=\"%.1f\">Share of the device over the whole "
		"time</text>\n<text class=\"d\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">mean over %s; "
		"dashed: entitled</text>\n",
		LEFT, p->curves_top - 16, LEFT + PLOT_WIDTH, p->curves_top - 16,
		duration(window, sizeof(window),
			 (double)(tl->end_ns - tl->begin_ns) * (2 * around + 1) / CURVE_POINTS));
	for (v = 0; v <= most + .001; v += .2)
		fprintf(p->out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>"
			"<text class=\"a\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f %%</text>\n",
			LEFT, LEFT + PLOT_WIDTH, y_of(p, v, most), y_of(p, v, most),
			v < .01 ? "#9ca3af" : "#eceff3", LEFT - 8, y_of(p, v, most) + 4, v * 100);
	write_axis(p, p->curves_end, p->curves_end, tl->begin_ns, tl->end_ns);
	write_gaps(p, p->curves_top, p->curves_end, tl->begin_ns, tl->end_ns);
	if (p->from_ns > tl->begin_ns || p->to_ns < tl->end_ns)
		fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"fill=\"#fde68a\" fill-opacity=\".7\"><title>what is shown above</title></rect>\n",
			x_of(p->from_ns, tl->begin_ns, tl->end_ns), p->curves_top,
			fmax(x_of(p->to_ns, tl->begin_ns, tl->end_ns) -
			     x_of(p->from_ns, tl->begin_ns, tl->end_ns), 2), (double)CURVE_HEIGHT);
	for (i = 0; i < tl->nr_rows; i++) {
		write_entitled(p, i, most);
		fprintf(p->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.4\" "
			"stroke-linejoin=\"round\" points=\"", colour_of(i));
		for (k = 0; k < CURVE_POINTS; k++)
			fprintf(p->out, "%.1f,%.1f ", LEFT + (k + .5) * width,
				y_of(p, curves[i][k], most));
		fputs("\"/>\n", p->out);
	}
	free(curves);
	return 0;
}

int gs_svg_write(FILE *out, const struct gs_timeline *tl, const struct gs_plot_options *options)
{
	struct picture p = { .out = out, .tl = tl, .options = options };
	int rc;

	choose_zoom(&p);
	lay_out(&p);
	write_head(&p);
	rc = write_rows(&p);
	if (!rc)
		rc = write_curves(&p);
	fputs("</svg>\n", out);
	return rc ? rc : ferror(out) ? -EIO : 0;
}
