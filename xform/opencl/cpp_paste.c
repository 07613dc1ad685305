// SPDX-License-Identifier: MIT
/* What # and ## make. */
#include <errno.h>
#include <string.h>

#include "cpp.h"

/*
 * A token that was looked up and found to be no macro, and now goes into a string or
 * another name: if the device had made it one, other text would have been made.
 */
static void depends_on(struct cpp *p, const struct tok *t)
{
	if (t->kind == LEX_NAME && t->flags & TOK_LOOKED && !t->name->macro)
		guard_name(p, t->name);
}

void quote_toks(struct cpp *p, const struct tok *t, uint32_t n, struct tok *to)
{
	size_t room = 3, at = 0;
	char *s;

	for (uint32_t i = 0; i < n; i++)
		room += 2 * (size_t)t[i].len + 1;
	s = arena_get(p, &p->temp, room);
	*to = (struct tok){ .s = "\"\"", .len = 2, .kind = LEX_STRING };
	if (!s)
		return;
	s[at++] = '"';
	for (uint32_t i = 0; i < n; i++) {
		bool inside = t[i].kind == LEX_STRING || t[i].kind == LEX_CHAR ||
			t[i].flags & TOK_QUOTE;

		depends_on(p, &t[i]);
		if (i && t[i].flags & (LEX_SPACE | LEX_LINE))
			s[at++] = ' ';
		for (uint32_t j = 0; j < t[i].len; j++) {
			char c = t[i].s[j];

			if (inside && (c == '"' || c == '\\'))
				s[at++] = '\\';
			s[at++] = c;
		}
		p->steps += t[i].len / 16;
	}
	s[at++] = '"';
	to->s = s;
	to->len = at;
	/* A lone backslash or quote may have spoiled it. */
	if (n && t[n - 1].kind == LEX_OTHER && !(t[n - 1].flags & TOK_QUOTE))
		cpp_error(p, -EINVAL, p->line, "# makes a string that doesn't end");
}

void paste_toks(struct cpp *p, struct tok *left, const struct tok *right)
{
	uint32_t len = left->len + right->len;
	uint8_t flags = left->flags & ~(TOK_PAINTED | TOK_LOOKED);
	struct lex_token t;
	struct lex l;
	char *s;

	if (len > (1u << 20)) {
		cpp_error(p, -E2BIG, p->line, "## makes a name that is too long");
		return;
	}
	s = arena_get(p, &p->temp, len + 1);
	if (!s)
		return;
	depends_on(p, left);
	depends_on(p, right);
	memcpy(s, left->s, left->len);
	memcpy(s + left->len, right->s, right->len);
	p->steps += len / 16;
	lex_init(&l, s, len, NULL);
	lex_next(&l, &t);
	if (t.len != len || t.kind == LEX_OTHER || t.kind == LEX_END) {
		cpp_error(p, -EINVAL, p->line, "## makes \"%.100s\", which is no token", s);
		return;
	}
	take_tok(p, left, &t, &l);
	left->flags = flags;
}
