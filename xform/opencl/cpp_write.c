// SPDX-License-Identifier: MIT
/* The preprocessed text, and what must hold for it to be right. */
#include <errno.h>
#include <string.h>

#include "cpp.h"
#include "device.h"

/* So many newlines are written as they were, to keep lines where they are. */
#define MAX_BLANK	8

static char last_char(const struct tok *t)
{
	return t->s[t->len - 1];
}

/* Whether two tokens would be read as one, or as a comment, without a space. */
static bool would_join(const struct tok *a, const struct tok *b)
{
	bool word_a = a->kind == LEX_NAME || a->kind == LEX_NUMBER;
	bool word_b = b->kind == LEX_NAME || b->kind == LEX_NUMBER;
	char x, y;

	if (!a->len)
		return false;
	x = last_char(a);
	y = b->s[0];
	if (word_a && word_b)
		return true;
	if (a->kind == LEX_NAME)
		return b->kind == LEX_STRING || b->kind == LEX_CHAR;
	if (a->kind == LEX_NUMBER)
		return y == '.' || y == '+' || y == '-';
	if (a->kind != LEX_PUNCT)
		return false;
	if (b->kind == LEX_NUMBER)
		return x == '.';
	if (b->kind != LEX_PUNCT)
		return false;
	return y == '=' || (x == y && strchr("+-<>&|#/=.", x)) || (x == '-' && y == '>') ||
	       (x == '<' && (y == ':' || y == '%')) || (x == '%' && (y == '>' || y == ':')) ||
	       (x == ':' && y == '>') || (x == '/' && y == '*');
}

/* From here on, the output's lines come from other lines of the input than before. */
static void lines_jump(struct cpp *p)
{
	const struct file *f = &p->files[p->n_files - 1];

	p->in_header = f->h;
	if (cpp_grow(p, &p->lines, &p->cap_lines, p->n_lines + 1, sizeof(*p->lines)))
		p->lines[p->n_lines++] = (struct gsx_cl_line){
			.out = p->out_line, .line = p->in_line,
			.file = p->n_files > 1 ? f->h->path : NULL,
		};
}

/* Begins a line of the output for what stands on the input's present line. */
static void begin_line(struct cpp *p)
{
	static const char blank[] = "\n\n\n\n\n\n\n\n";
	const struct file *f = &p->files[p->n_files - 1];
	uint32_t line = p->line, n = 1;
	bool straight = p->n_lines && p->in_header == f->h && line > p->in_line &&
		line - p->in_line <= MAX_BLANK;

	if (straight)
		n = line - p->in_line;
	else if (!p->n_lines)
		n = 0;
	cpp_put(p, &p->text, blank, n);
	p->out_line += n;
	p->in_line = line;
	p->last.len = 0;
	if (!straight)
		lines_jump(p);
}

static void put_tok(struct cpp *p, const struct tok *t)
{
	if (t->flags & (LEX_SPACE | LEX_LINE) ? p->last.len : would_join(&p->last, t))
		cpp_put(p, &p->text, " ", 1);
	cpp_put(p, &p->text, t->s, t->len);
	p->last = *t;
}

/* A value that can hide nothing: no braces, no statements, no functions of the program. */
static bool harmless(const struct macro *m, const struct name *self)
{
	for (uint32_t i = 0; i < m->n; i++) {
		const struct tok *t = &m->body[i];

		if (t->kind == LEX_NAME && (t->name == self || !device_value(t->s, t->len)))
			return false;
		if (t->kind == LEX_OTHER || (t->kind == LEX_PUNCT && strchr("{};#", t->s[0])))
			return false;
	}
	return true;
}

/*
 * A name goes into the text that isn't the program's macro. If the program has had it
 * as one, then the device's, if there is one, has no say any more.
 */
static void plain_name(struct cpp *p, struct name *n)
{
	enum device_kind kind;

	if (n->flags & (NAME_GUARDED | NAME_PLAIN | NAME_UNDEFED) || n->special)
		return;
	kind = device_name(n->s, n->len);
	if (n->flags & NAME_TOUCHED && (kind || n->flags & NAME_KNOWN)) {
		n->flags |= NAME_UNDEFED;
		cpp_put(p, &p->text, "\n#undef ", 8);
		cpp_put(p, &p->text, n->s, n->len);
		cpp_put(p, &p->text, "\n", 1);
		p->out_line += 2;
		p->last.len = 0;
		lines_jump(p);
	} else if (kind) {
		n->flags |= NAME_PLAIN;
	} else if (!n->device) {
		guard_name(p, n);
	} else if (harmless(n->device, n)) {
		n->flags |= NAME_PLAIN;
	} else {
		cpp_error(p, -EINVAL, p->line, "%.100s is a macro of the device, with a value "
			  "that may hide what must be seen", n->s);
	}
}

void write_tok(struct cpp *p, const struct tok *t)
{
	if (t->flags & LEX_LINE || !p->n_lines)
		begin_line(p);
	if (t->kind == LEX_NAME)
		plain_name(p, t->name);
	else if (t->kind == LEX_OTHER)
		cpp_error(p, -EINVAL, p->line, "no token begins with %.1s", t->s);
	else if (!p->last.len && tok_is(t, '#'))
		cpp_error(p, -EINVAL, p->line, "a # begins a line and is no directive");
	put_tok(p, t);
}

void write_pragma(struct cpp *p, const struct toks *v)
{
	begin_line(p);
	cpp_put(p, &p->text, "#pragma", 7);
	p->last = (struct tok){ .s = "pragma", .len = 6, .kind = LEX_NAME };
	for (uint32_t i = 0; i < v->n; i++)
		put_tok(p, &v->t[i]);
	/* What follows on the same line, behind _Pragma, begins a new one. */
	cpp_put(p, &p->text, "\n", 1);
	p->out_line++;
	p->last.len = 0;
	p->in_line++;
}

void ask_text(struct cpp *p, const char *text)
{
	struct name *n = name_of(p, text, strlen(text));

	if (n->flags & (NAME_ASKED | NAME_KNOWN))
		return;
	n->flags |= NAME_ASKED;
	if (cpp_grow(p, &p->questions, &p->cap_questions, p->n_questions + 1, sizeof(char *)))
		p->questions[p->n_questions++] = n->s;
}

#define GUARD_FAILS	"\n#error \"gpushare: a plain name of the program is a macro here\"\n#endif\n"

void guard_name(struct cpp *p, struct name *n)
{
	enum device_kind kind = device_name(n->s, n->len);

	if (n->flags & (NAME_GUARDED | NAME_KNOWN) || n->special || p->err)
		return;
	if (kind == DEVICE_CONSTANT || (!kind && p->opt->ask_all))
		ask_text(p, n->s);
	if (kind || p->opt->ask_all)
		return;
	n->flags |= NAME_GUARDED;
	if (p->guards % 8)
		cpp_put(p, &p->guard, " || ", 4);
	else if (p->guards)
		cpp_put(p, &p->guard, GUARD_FAILS "#if ", sizeof(GUARD_FAILS "#if ") - 1);
	else
		cpp_put(p, &p->guard, "#if ", 4);
	p->guards++;
	cpp_put(p, &p->guard, "defined(", 8);
	cpp_put(p, &p->guard, n->s, n->len);
	cpp_put(p, &p->guard, ")", 1);
}

void met_in_condition(struct cpp *p, struct name *n)
{
	if (n->flags & NAME_KNOWN)
		return;
	if (device_name(n->s, n->len) || n->s[0] == '_' || p->opt->ask_all)
		ask_text(p, n->s);
	else
		guard_name(p, n);
}

void write_end(struct cpp *p)
{
	cpp_put(p, &p->text, "\n", p->text.len > 0);
	cpp_put(p, &p->guard, GUARD_FAILS, p->guards ? sizeof(GUARD_FAILS) - 1 : 0);
}
