// SPDX-License-Identifier: MIT
/* Characters to tokens. Opcodes are put together by body.c, as only it knows them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parser.h"

#define C_NAME	1	/* goes on a name */
#define C_START	2	/* begins one */
#define C_DIGIT	4
#define C_SPACE	8	/* but not the newline */

static const uint8_t class_of[256] = {
	['a' ... 'z'] = C_NAME | C_START, ['A' ... 'Z'] = C_NAME | C_START,
	['0' ... '9'] = C_NAME | C_DIGIT, ['_'] = C_NAME | C_START, ['$'] = C_NAME | C_START,
	['%'] = C_START, ['@'] = 0, [' '] = C_SPACE, ['\t'] = C_SPACE, ['\r'] = C_SPACE,
	['\f'] = C_SPACE, ['\v'] = C_SPACE,
};

static inline uint8_t class(char c)
{
	return class_of[(unsigned char)c];
}

bool name_char(char c)
{
	return class(c) & C_NAME;
}

void parse_error(struct parser *p, int err, uint32_t line, const char *fmt, ...)
{
	struct ptx_module *m = p->m;
	va_list ap;

	if (!m->err) {
		m->err = err;
		m->err_line = line;
		va_start(ap, fmt);
		vsnprintf(m->err_text, sizeof(m->err_text), fmt, ap);
		va_end(ap);
	}
	p->t.kind = TOK_EOF;
	p->p = p->end;
}

static void skip_space(struct parser *p)
{
	const char *s = p->p, *end = p->end;
	uint32_t line;

	for (;;) {
		while (s < end && class(*s) & C_SPACE)
			s++;
		if (s == end)
			break;
		if (*s == '\n') {
			p->line++;
			s++;
		} else if (*s == '/' && end - s > 1 && s[1] == '/') {
			s = memchr(s, '\n', end - s);
			if (!s)
				s = end;
		} else if (*s == '/' && end - s > 1 && s[1] == '*') {
			line = p->line;
			for (s += 2; end - s > 1 && !(s[0] == '*' && s[1] == '/'); s++)
				p->line += *s == '\n';
			if (end - s < 2) {
				parse_error(p, -EINVAL, line, "a comment doesn't end");
				return;
			}
			s += 2;
		} else if (*s == '#') {		/* left by a preprocessor */
			s = memchr(s, '\n', end - s);
			if (!s)
				s = end;
		} else {
			break;
		}
	}
	p->p = s;
}

static void number(struct parser *p)
{
	const char *s = p->p, *end = p->end;
	bool hex = end - s > 1 && s[0] == '0' && strchr("xXfFdD", s[1]);

	while (s < end && (class(*s) & C_NAME || *s == '.' ||
			   (!hex && (*s == '+' || *s == '-') && (s[-1] == 'e' || s[-1] == 'E'))))
		s++;
	p->t.kind = TOK_NUMBER;
	p->p = s;
}

static void string(struct parser *p)
{
	const char *s = p->p + 1;

	while (s < p->end && *s != '"' && *s != '\n')
		s += 1 + (*s == '\\' && p->end - s > 1);
	if (s >= p->end || *s != '"') {
		parse_error(p, -EINVAL, p->line, "a string doesn't end in its line");
		return;
	}
	p->t.kind = TOK_STRING;
	p->p = s + 1;
}

void next(struct parser *p)
{
	struct token *t = &p->t;
	const char *s, *end = p->end;

	if (p->p < end && !(class(*p->p) & (C_START | C_DIGIT)))
		skip_space(p);
	s = p->p;
	t->s = s;
	t->line = p->line;
	t->c = 0;
	if (s == end) {
		t->kind = TOK_EOF;
	} else if (class(*s) & C_START) {
		for (s++; s < end && class(*s) & C_NAME; s++)
			;
		t->kind = TOK_WORD;
		p->p = s;
	} else if (class(*s) & C_DIGIT || (*s == '.' && end - s > 1 && class(s[1]) & C_DIGIT)) {
		number(p);
	} else if (*s == '.') {
		for (s++; s < end && (class(*s) & C_NAME ||
				      (*s == ':' && end - s > 2 && s[1] == ':' &&
				       class(s[2]) & C_NAME)); s++)
			s += *s == ':';
		t->kind = TOK_DOT;
		p->p = s;
	} else if (*s == '"') {
		string(p);
	} else if (!*s) {
		parse_error(p, -EINVAL, p->line, "a NUL byte in the text");
	} else {
		t->kind = TOK_PUNCT;
		t->c = *s;
		p->p = s + 1;
	}
	t->len = p->p - t->s;
}

/* .loc and .file end with their line; gives the end of it. */
const char *skip_line(struct parser *p)
{
	const char *s = p->p, *end = p->end;

	while (s < end && *s != '\n')
		s++;
	p->p = s;
	next(p);
	return s;
}

bool is_punct(const struct parser *p, char c)
{
	return p->t.kind == TOK_PUNCT && p->t.c == c;
}

bool is_word(const struct parser *p, const char *s)
{
	size_t len = strlen(s);

	return (p->t.kind == TOK_WORD || p->t.kind == TOK_DOT) && p->t.len == len &&
	       !memcmp(p->t.s, s, len);
}

bool accept(struct parser *p, char c)
{
	if (!is_punct(p, c))
		return false;
	next(p);
	return true;
}

bool expect(struct parser *p, char c)
{
	if (accept(p, c))
		return true;
	parse_error(p, -EINVAL, p->t.line, "expected '%c', found '%.*s'", c,
		    (int)(p->t.len < 40 ? p->t.len : 40), p->t.kind == TOK_EOF ? "" : p->t.s);
	return false;
}
