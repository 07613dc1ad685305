// SPDX-License-Identifier: MIT
/* Characters to preprocessing tokens. */
#include <stddef.h>
#include <string.h>

#include "lex.h"

#define C_START		1	/* begins a name */
#define C_NAME		2	/* goes on a name or a number */
#define C_DIGIT		4
#define C_SPACE		8	/* but no newline; a NUL byte counts as one */

static const uint8_t class_of[256] = {
	['a' ... 'z'] = C_START | C_NAME, ['A' ... 'Z'] = C_START | C_NAME,
	['_'] = C_START | C_NAME, ['$'] = C_START | C_NAME,
	[0x80 ... 0xff] = C_START | C_NAME, ['0' ... '9'] = C_NAME | C_DIGIT,
	[' '] = C_SPACE, ['\t'] = C_SPACE, ['\f'] = C_SPACE, ['\v'] = C_SPACE, [0] = C_SPACE,
};

static inline uint8_t class(char c)
{
	return class_of[(unsigned char)c];
}

bool lex_name_start(char c)
{
	return class(c) & C_START;
}

bool lex_name_char(char c)
{
	return class(c) & C_NAME;
}

/* The length of the newline at @s: \n, \r\n, or a lone \r. */
static inline uint32_t newline(const char *s, const char *end)
{
	if (s == end)
		return 0;
	if (*s == '\n')
		return 1;
	if (*s == '\r')
		return end - s > 1 && s[1] == '\n' ? 2 : 1;
	return 0;
}

void lex_init(struct lex *l, const char *text, uint32_t len, const uint32_t *splice)
{
	static const uint32_t none = UINT32_MAX;

	*l = (struct lex){
		.text = text, .len = len, .line = 1, .splice = splice ? splice : &none,
	};
}

/*
 * The length of a splice at @s, a backslash: blanks between it and the newline are
 * forgiven, as all compilers do.
 */
static uint32_t splice_at(const char *s, const char *end)
{
	const char *p = s + 1;
	uint32_t n;

	while (p < end && class(*p) & C_SPACE && *p)
		p++;
	n = newline(p, end);
	return n ? p - s + n : 0;
}

uint32_t lex_count_splices(const char *text, uint32_t len)
{
	const char *s = text, *end = text + len;
	uint32_t n = 0;

	while (s < end && (s = memchr(s, '\\', end - s))) {
		uint32_t skip = splice_at(s, end);

		n += !!skip;
		s += skip ? skip : 1;
	}
	return n;
}

uint32_t lex_unsplice(const char *text, uint32_t len, char *to, uint32_t *splice)
{
	const char *s = text, *end = text + len, *next;
	uint32_t at = 0, skip;

	while (s < end) {
		next = memchr(s, '\\', end - s);
		if (!next)
			next = end;
		memcpy(to + at, s, next - s);
		at += next - s;
		s = next;
		if (s == end)
			break;
		skip = splice_at(s, end);
		if (skip)
			*splice++ = at;
		else
			to[at++] = *s;
		s += skip ? skip : 1;
	}
	*splice = UINT32_MAX;
	return at;
}

/* To the end of a comment that begins at @s; NULL: it doesn't end. */
static const char *comment(struct lex *l, const char *s, const char *end)
{
	const char *p;

	if (s[1] == '/') {
		for (s += 2; s < end && !newline(s, end); s++)
			;
		return s;
	}
	for (p = s + 2; end - p > 1 && !(p[0] == '*' && p[1] == '/'); p++)
		if (*p == '\n' || (*p == '\r' && p[1] != '\n'))
			l->line++;
	return end - p > 1 ? p + 2 : NULL;
}

static inline bool comment_begins(const char *s, const char *end)
{
	return *s == '/' && end - s > 1 && (s[1] == '/' || s[1] == '*');
}

/* An open comment swallows the rest. */
static const char *open_comment(struct lex *l, uint32_t line)
{
	l->open_line = line;
	return l->text + l->len;
}

static uint8_t skip_space(struct lex *l)
{
	const char *s = l->text + l->pos, *end = l->text + l->len, *from = s, *after;
	uint8_t flags = 0;
	uint32_t n, line;

	if (!l->pos)
		flags = LEX_LINE;
	for (;;) {
		while (s < end && class(*s) & C_SPACE)
			s++;
		if (s == end)
			break;
		n = newline(s, end);
		if (n) {
			l->line++;
			flags |= LEX_LINE;
			s += n;
		} else if (comment_begins(s, end)) {
			line = l->line;
			after = comment(l, s, end);
			s = after ? after : open_comment(l, line);
		} else if (*s == '\xef' && end - s >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) {
			s += 3;		/* a byte order mark, or a space of no width */
		} else {
			break;
		}
	}
	if (s > from)
		flags |= LEX_SPACE;
	l->pos = s - l->text;
	return flags;
}

void lex_skip_line(struct lex *l)
{
	const char *s = l->text + l->pos, *end = l->text + l->len, *after;
	uint32_t line;
	char quote = 0;

	while (s < end && !newline(s, end)) {
		if (quote) {
			if (*s == '\\' && end - s > 1 && !newline(s + 1, end))
				s++;
			else if (*s == quote)
				quote = 0;
			s++;
		} else if (*s == '"' || *s == '\'') {
			quote = *s++;
		} else if (comment_begins(s, end)) {
			line = l->line;
			after = comment(l, s, end);
			s = after ? after : open_comment(l, line);
		} else {
			s++;
		}
	}
	l->pos = s - l->text;
}

static const char *number(const char *s, const char *end)
{
	char c = 0;

	while (s < end && (class(*s) & C_NAME || *s == '.' ||
			   ((*s == '+' || *s == '-') &&
			    (c == 'e' || c == 'E' || c == 'p' || c == 'P'))) && *s != '$')
		c = *s++;
	return s;
}

/* To behind the closing quote; NULL: it isn't on this line. */
static const char *quoted(const char *s, const char *end)
{
	char quote = *s++;

	for (; s < end && *s != quote && !newline(s, end); s++)
		if (*s == '\\' && end - s > 1 && !newline(s + 1, end))
			s++;
	return s < end && *s == quote ? s + 1 : NULL;
}

/* The longest punctuator at @s; returns its length, 0: none. */
static uint32_t punctuator(const char *s, const char *end, uint16_t *code)
{
	char a = s[0], b = end - s > 1 ? s[1] : 0, c = end - s > 2 ? s[2] : 0;

#define ONE(what)	do { *code = (what); return 1; } while (0)
#define TWO(when, what)	do { if (b == (when)) { *code = (what); return 2; } } while (0)
	switch (a) {
	case '[': case ']': case '(': case ')': case '{': case '}':
	case '~': case '?': case ';': case ',':
		ONE(a);
	case '.':
		if (b == '.' && c == '.') {
			*code = LEX_ELLIPSIS;
			return 3;
		}
		ONE(a);
	case '-':
		TWO('>', LEX_ARROW);
		TWO('-', LEX_DEC);
		TWO('=', LEX_SUB_SET);
		ONE(a);
	case '+':
		TWO('+', LEX_INC);
		TWO('=', LEX_ADD_SET);
		ONE(a);
	case '&':
		TWO('&', LEX_AND_AND);
		TWO('=', LEX_AND_SET);
		ONE(a);
	case '|':
		TWO('|', LEX_OR_OR);
		TWO('=', LEX_OR_SET);
		ONE(a);
	case '*':
		TWO('=', LEX_MUL_SET);
		ONE(a);
	case '/':
		TWO('=', LEX_DIV_SET);
		ONE(a);
	case '^':
		TWO('=', LEX_XOR_SET);
		ONE(a);
	case '!':
		TWO('=', LEX_NE);
		ONE(a);
	case '=':
		TWO('=', LEX_EQ);
		ONE(a);
	case '#':
		TWO('#', LEX_PASTE);
		ONE(a);
	case ':':
		TWO('>', ']');
		ONE(a);
	case '%':
		if (b == ':' && c == '%' && end - s > 3 && s[3] == ':') {
			*code = LEX_PASTE;
			return 4;
		}
		TWO(':', '#');
		TWO('>', '}');
		TWO('=', LEX_MOD_SET);
		ONE(a);
	case '<':
		if (b == '<' && c == '=') {
			*code = LEX_SHL_SET;
			return 3;
		}
		TWO('<', LEX_SHL);
		TWO('=', LEX_LE);
		TWO(':', '[');
		TWO('%', '{');
		ONE(a);
	case '>':
		if (b == '>' && c == '=') {
			*code = LEX_SHR_SET;
			return 3;
		}
		TWO('>', LEX_SHR);
		TWO('=', LEX_GE);
		ONE(a);
	}
#undef ONE
#undef TWO
	return 0;
}

static const char *line_end(const char *s, const char *end)
{
	while (s < end && !newline(s, end))
		s++;
	return s;
}

void lex_next(struct lex *l, struct lex_token *t)
{
	const char *s, *end = l->text + l->len, *p, *open;
	uint32_t n;

	t->flags = skip_space(l);
	while (l->pos >= *l->splice) {
		l->line++;
		l->splice++;
	}
	s = l->text + l->pos;
	t->pos = l->pos;
	t->line = l->line;
	t->punct = 0;
	if (s == end) {
		t->kind = LEX_END;
		t->len = 0;
		return;
	}
	p = s;
	open = *s == '"' || *s == '\'' ? s :
		*s == 'L' && end - s > 1 && (s[1] == '"' || s[1] == '\'') ? s + 1 : NULL;
	if (open) {
		t->kind = *open == '"' ? LEX_STRING : LEX_CHAR;
		p = quoted(open, end);
		if (!p) {
			t->kind = LEX_OTHER;
			p = line_end(s, end);
		}
	} else if (class(*s) & C_START) {
		t->kind = LEX_NAME;
		while (++p < end && class(*p) & C_NAME)
			;
	} else if (class(*s) & C_DIGIT || (*s == '.' && end - s > 1 && class(s[1]) & C_DIGIT)) {
		t->kind = LEX_NUMBER;
		p = number(s, end);
	} else {
		n = punctuator(s, end, &t->punct);
		t->kind = n ? LEX_PUNCT : LEX_OTHER;
		p += n ? n : 1;
	}
	t->len = p - s;
	l->pos = p - l->text;
}
