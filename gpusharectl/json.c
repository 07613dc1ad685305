// SPDX-License-Identifier: MIT
#include "json.h"

#include <assert.h>
#include <inttypes.h>

void gs_json_begin(struct gs_json *j, FILE *out, bool pretty)
{
	*j = (struct gs_json){ .out = out, .pretty = pretty };
}

/* The character at @str and its length, 0 at a byte that begins none. */
static unsigned int decode(const char *str, uint32_t *character)
{
	const unsigned char *s = (const unsigned char *)str;
	unsigned int n, i;
	uint32_t c;

	*character = s[0];
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	c = s[0] & (0xff >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10ffff ||
	    (c >= 0xd800 && c < 0xe000))
		return 0;
	*character = c;
	return n;
}

unsigned int gs_utf8_length(const char *s)
{
	uint32_t c;

	return decode(s, &c);
}

unsigned int gs_utf8_shown(const char *s)
{
	/* Of general category Cc or Cf, and the separators of lines and paragraphs. */
	static const struct { uint32_t from, to; } hidden[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x600, 0x605 }, { 0x61c, 0x61c },
		{ 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x180e, 0x180e }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0xe0000, 0xe0fff },
	};
	uint32_t c;
	unsigned int n = decode(s, &c);
	size_t i;

	if ((c & 0xfffe) == 0xfffe)
		return 0;
	for (i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (c >= hidden[i].from && c <= hidden[i].to)
			return 0;
	return n;
}

static void write_string(FILE *out, const char *s)
{
	unsigned int n;
	uint32_t c;

	fputc('"', out);
	while (*s) {
		n = decode(s, &c);
		if (!n)
			fputs("\\ufffd", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (gs_utf8_shown(s))
			fwrite(s, 1, n, out);
		else if (c < 0x10000)
			fprintf(out, "\\u%04x", c);
		else
			fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
		s += n ? n : 1;
	}
	fputc('"', out);
}

static void indent(struct gs_json *j)
{
	unsigned int i;

	if (!j->pretty)
		return;
	fputc('\n', j->out);
	for (i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

/* What stands before every value: comma, line, key. */
static void lead(struct gs_json *j, const char *key)
{
	if (j->depth) {
		assert(!key == (j->closing[j->depth - 1] == ']'));
		if (j->filled[j->depth - 1])
			fputc(',', j->out);
		j->filled[j->depth - 1] = true;
		indent(j);
	}
	if (key) {
		write_string(j->out, key);
		fputs(j->pretty ? ": " : ":", j->out);
	}
}

static void nest(struct gs_json *j, const char *key, char opening, char closing)
{
	lead(j, key);
	assert(j->depth < GS_JSON_DEPTH);
	fputc(opening, j->out);
	j->filled[j->depth] = false;
	j->closing[j->depth++] = closing;
}

void gs_json_object(struct gs_json *j, const char *key)
{
	nest(j, key, '{', '}');
}

void gs_json_array(struct gs_json *j, const char *key)
{
	nest(j, key, '[', ']');
}

void gs_json_end(struct gs_json *j)
{
	assert(j->depth);
	j->depth--;
	if (j->filled[j->depth])
		indent(j);
	fputc(j->closing[j->depth], j->out);
	if (!j->depth)
		fputc('\n', j->out);
}

void gs_json_string(struct gs_json *j, const char *key, const char *value)
{
	lead(j, key);
	write_string(j->out, value);
}

void gs_json_unsigned(struct gs_json *j, const char *key, uint64_t value)
{
	lead(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void gs_json_signed(struct gs_json *j, const char *key, int64_t value)
{
	lead(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void gs_json_bool(struct gs_json *j, const char *key, bool value)
{
	lead(j, key);
	fputs(value ? "true" : "false", j->out);
}

void gs_json_null(struct gs_json *j, const char *key)
{
	lead(j, key);
	fputs("null", j->out);
}

void gs_json_scaled(struct gs_json *j, const char *key, uint64_t value, unsigned int digits)
{
	uint64_t scale = 1;
	unsigned int i;

	for (i = 0; i < digits; i++)
		scale *= 10;
	lead(j, key);
	fprintf(j->out, "%" PRIu64, value / scale);
	if (digits)
		fprintf(j->out, ".%0*" PRIu64, (int)digits, value % scale);
}
