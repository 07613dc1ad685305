/* SPDX-License-Identifier: MIT */
/* Text for terminals: colours, columns, amounts, and names that may be hostile. */
#ifndef GS_CTL_TERM_H
#define GS_CTL_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* "auto", "always" or "never": 0, or -EINVAL. */
int gs_colour_choose(const char *when, bool *colour);

/* Writes @s; what isn't to be shown (gs_utf8_shown()) becomes '?'. */
void gs_print_safe(FILE *out, const char *s);
/* Writes @s in at most @width columns, without its middle if need be; how many it took. */
unsigned int gs_print_cut(FILE *out, const char *s, unsigned int width);

/* The columns that @s takes when written so. */
unsigned int gs_width(const char *s);
/* The terminal's columns; 0: not a terminal, as many as one likes. */
unsigned int gs_columns(void);

#define GS_CELL	320

/* A table: headed columns, as wide as their cells; the first one gives way. */
struct gs_table {
	unsigned int columns;
	const char *const *heads;	/* a leading '>' aligns to the right */
	char (*cells)[GS_CELL];
	size_t nr_cells, room;
};

void gs_table_begin(struct gs_table *t, const char *const *heads, unsigned int columns);
int gs_table_cell(struct gs_table *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints it, the heads in bold if @colour, and frees what it has. */
void gs_table_end(struct gs_table *t, bool colour);

#define GS_AMOUNT	24
/* "31.0G"; GPUSHARE_NO_LIMIT is "max". */
const char *gs_bytes(char *buffer, uint64_t bytes);
/* "2.5ms" */
const char *gs_time(char *buffer, uint64_t ns);
/* "57.1%" of per mille */
const char *gs_permille(char *buffer, unsigned int permille);
/* @part of @whole in per mille, 0 if there is no whole; at most 65535. */
unsigned int gs_ratio(uint64_t part, uint64_t whole);

#endif
