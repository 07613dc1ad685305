// SPDX-License-Identifier: MIT
#include "term.h"
#include "json.h"

#include <errno.h>
#include <linux/gpushare.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_LEAST	16	/* columns that the first column keeps */

int gs_colour_choose(const char *when, bool *colour)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!strcmp(when, "always"))
		*colour = true;
	else if (!strcmp(when, "never"))
		*colour = false;
	else if (!strcmp(when, "auto"))
		*colour = isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
	else
		return -EINVAL;
	return 0;
}

/* Writes at most @most columns of @s (one column a character), and returns how many. */
static unsigned int print_safe(FILE *out, const char *s, unsigned int most)
{
	unsigned int n, i;

	for (i = 0; *s && i < most; i++) {
		n = gs_utf8_length(s);
		if (out && gs_utf8_shown(s))
			fwrite(s, 1, n, out);
		else if (out)
			fputc('?', out);
		s += n ? n : 1;
	}
	return i;
}

void gs_print_safe(FILE *out, const char *s)
{
	print_safe(out, s, ~0U);
}

unsigned int gs_width(const char *s)
{
	return print_safe(NULL, s, ~0U);
}

/* A path's end says as much as its beginning, so the middle is what goes. */
unsigned int gs_print_cut(FILE *out, const char *s, unsigned int width)
{
	unsigned int has = gs_width(s), head = width / 2, skip;

	if (has <= width || width < 2)
		return print_safe(out, s, width);
	head -= width % 2 == 0;
	print_safe(out, s, head);
	fputs("…", out);
	for (skip = has - (width - head - 1); skip; skip--)
		s += gs_utf8_length(s) ? gs_utf8_length(s) : 1;
	print_safe(out, s, ~0U);
	return width;
}

unsigned int gs_columns(void)
{
	struct winsize w;
	const char *env = getenv("COLUMNS");

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col)
		return w.ws_col;
	return env && atoi(env) > 0 ? atoi(env) : 80;
}

void gs_table_begin(struct gs_table *t, const char *const *heads, unsigned int columns)
{
	*t = (struct gs_table){ .columns = columns, .heads = heads };
}

int gs_table_cell(struct gs_table *t, const char *format, ...)
{
	size_t room = t->room ? t->room * 2 : 64;
	va_list args;
	void *more;

	if (t->nr_cells == t->room) {
		more = reallocarray(t->cells, room, sizeof(*t->cells));
		if (!more)
			return -ENOMEM;
		t->cells = more;
		t->room = room;
	}
	va_start(args, format);
	vsnprintf(t->cells[t->nr_cells++], GS_CELL, format, args);
	va_end(args);
	return 0;
}

static void print_cell(const char *text, unsigned int width, bool right, bool last)
{
	unsigned int has = gs_width(text);

	if (right && has < width)
		printf("%*s", (int)(width - has), "");
	has = gs_print_cut(stdout, text, width);
	if (!last)
		printf("%*s", (int)((right ? 0 : width - has) + 2), "");
}

void gs_table_end(struct gs_table *t, bool colour)
{
	unsigned int width[32] = { 0 }, sum = 0, w, i, columns = gs_columns();
	bool right;
	size_t c;

	for (i = 0; i < t->columns; i++)
		width[i] = gs_width(t->heads[i] + (t->heads[i][0] == '>'));
	for (c = 0; c < t->nr_cells; c++) {
		w = gs_width(t->cells[c]);
		if (w > width[c % t->columns])
			width[c % t->columns] = w;
	}
	for (i = 0; i < t->columns; i++)
		sum += width[i] + 2 * (i > 0);
	if (columns && sum > columns && width[0] > FIRST_LEAST)
		width[0] = sum - columns < width[0] - FIRST_LEAST ?
			width[0] - (sum - columns) : FIRST_LEAST;
	if (colour)
		fputs("\033[1m", stdout);
	for (i = 0; i < t->columns; i++) {
		right = t->heads[i][0] == '>';
		print_cell(t->heads[i] + right, width[i], right, i + 1 == t->columns);
	}
	puts(colour ? "\033[0m" : "");
	for (c = 0; c < t->nr_cells; c++) {
		i = c % t->columns;
		print_cell(t->cells[c], width[i], t->heads[i][0] == '>', i + 1 == t->columns);
		if (i + 1 == t->columns)
			putchar('\n');
	}
	free(t->cells);
	*t = (struct gs_table){ 0 };
}

const char *gs_bytes(char *buffer, uint64_t bytes)
{
	static const char units[] = " KMGTPE";
	unsigned int i = 0;
	double v = bytes;

	if (bytes == GPUSHARE_NO_LIMIT)
		return strcpy(buffer, "max");
	for (; v >= 1024 && i < 6; i++)
		v /= 1024;
	if (!i)
		snprintf(buffer, GS_AMOUNT, "%u", (unsigned int)bytes);
	else
		snprintf(buffer, GS_AMOUNT, "%.*f%c", v < 10 ? 2 : v < 100 ? 1 : 0, v, units[i]);
	return buffer;
}

const char *gs_time(char *buffer, uint64_t ns)
{
	static const struct { uint64_t unit; const char *name; } units[] = {
		{ 3600000000000ULL, "h" }, { 60000000000ULL, "min" }, { 1000000000, "s" },
		{ 1000000, "ms" }, { 1000, "us" }, { 1, "ns" },
	};
	unsigned int i = 0;
	double v;

	while (i < 5 && ns < units[i].unit)
		i++;
	v = (double)ns / units[i].unit;
	snprintf(buffer, GS_AMOUNT, "%.*f%s", v < 10 && i < 5 && ns % units[i].unit ? 2 :
		 v < 100 && i < 5 && ns % units[i].unit ? 1 : 0, v, units[i].name);
	return buffer;
}

const char *gs_permille(char *buffer, unsigned int permille)
{
	snprintf(buffer, GS_AMOUNT, "%u.%u%%", permille / 10, permille % 10);
	return buffer;
}

unsigned int gs_ratio(uint64_t part, uint64_t whole)
{
	double v = whole ? (double)part * 1000 / whole + .5 : 0;

	return v > 65535 ? 65535 : (unsigned int)v;
}
