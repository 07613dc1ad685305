// SPDX-License-Identifier: MIT
/* Tokens from the stack of lists and files, and what macros make of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cpp.h"

/* Calls inside arguments inside arguments: each level is one of our own stack. */
#define MAX_NESTING	200

struct arg {
	struct toks raw, full;
	bool expanded;
	bool absent;		/* not even a comma stands before it */
};

bool tok_is(const struct tok *t, uint16_t punct)
{
	return t->kind == LEX_PUNCT && t->punct == punct;
}

static struct file *file_now(const struct cpp *p)
{
	return &p->files[p->n_files - 1];
}

int64_t line_now(const struct cpp *p)
{
	return p->line + file_now(p)->line_shift;
}

static bool step(struct cpp *p)
{
	if (++p->steps > p->max_steps)
		cpp_error(p, -E2BIG, p->line, "the macros here expand to too much");
	return !p->err;
}

static void end_tok(struct tok *t)
{
	*t = (struct tok){ .s = "", .kind = LEX_END };
}

void take_tok(struct cpp *p, struct tok *t, const struct lex_token *from, const struct lex *l)
{
	t->s = l->text + from->pos;
	t->len = from->len;
	t->punct = from->punct;
	t->kind = from->kind;
	t->flags = from->flags;
	t->name = from->kind == LEX_NAME ? name_of(p, t->s, t->len) : NULL;
}

void push_list(struct cpp *p, const struct tok *t, uint32_t n, struct macro *m)
{
	if (!cpp_grow(p, &p->lists, &p->cap_lists, p->n_lists + 1, sizeof(*p->lists)))
		return;
	p->lists[p->n_lists++] = (struct list){ .t = t, .end = n ? t + n : t, .macro = m };
	if (m)
		m->disabled++;
}

void push_wall(struct cpp *p, const struct tok *t, uint32_t n)
{
	push_list(p, t, n, NULL);
	if (!p->err)
		p->lists[p->n_lists - 1].wall = true;
}

static void pop_list(struct cpp *p)
{
	struct list *l = &p->lists[--p->n_lists];

	if (l->macro)
		l->macro->disabled--;
}

void pop_wall(struct cpp *p)
{
	while (p->n_lists && !p->lists[p->n_lists - 1].wall)
		pop_list(p);
	if (p->n_lists)
		pop_list(p);
}

/* The next token that lies in a file; acts on the directives before it. */
static void file_tok(struct cpp *p, struct tok *t)
{
	struct lex_token l;
	struct file *f;

	for (;;) {
		f = file_now(p);
		if (p->err) {
			end_tok(t);
			return;
		}
		if (p->have_ahead) {
			l = p->ahead;
			p->have_ahead = false;
		} else {
			lex_next(&f->l, &l);
		}
		if (f->l.open_line) {
			cpp_error(p, -EINVAL, f->l.open_line, "a comment doesn't end");
		} else if (l.kind == LEX_END) {
			p->line = l.line;
			if (p->in_args || p->n_files == 1) {
				end_tok(t);
				return;
			}
			end_of_file(p);
		} else if (l.kind == LEX_PUNCT && l.punct == '#' && l.flags & LEX_LINE) {
			p->line = l.line;
			if (!p->in_args)
				arena_drop(p, &p->temp);
			cpp_directive(p);
		} else {
			break;
		}
	}
	p->line = l.line;
	if (f->guard_state != GUARD_OPEN)
		f->guard_state = GUARD_BROKEN;
	take_tok(p, t, &l, &f->l);
}

void next_raw(struct cpp *p, struct tok *t)
{
	struct list *l;

	while (step(p) && p->n_lists) {
		l = &p->lists[p->n_lists - 1];
		if (l->t < l->end) {
			*t = *l->t++;
			if (l->first) {
				t->flags = (t->flags & ~(LEX_LINE | LEX_SPACE)) | l->flags;
				l->first = false;
			}
			return;
		}
		if (l->wall)
			break;
		pop_list(p);
	}
	if (p->err || p->n_lists)
		end_tok(t);
	else
		file_tok(p, t);
}

/* Whether a '(' comes next; nothing is taken. */
static bool paren_follows(struct cpp *p)
{
	struct file *f = file_now(p);

	for (uint32_t i = p->n_lists; i; i--) {
		const struct list *l = &p->lists[i - 1];

		if (l->t < l->end)
			return tok_is(l->t, '(');
		if (l->wall)
			return false;
	}
	if (!p->have_ahead) {
		lex_next(&f->l, &p->ahead);
		p->have_ahead = true;
	}
	return p->ahead.kind == LEX_PUNCT && p->ahead.punct == '(';
}

/*
 * The arguments of a call, behind its name; the '(' is there. Returns their number, or
 * -1 with the error noted. f() has one empty argument, or none if it takes none.
 */
static int read_args(struct cpp *p, const struct name *n, struct arg *args)
{
	const struct macro *m = n->macro ? n->macro : n->device;
	bool outer = p->in_args;
	uint32_t depth = 0, at = 0, from = p->line;
	struct tok t;

	p->in_args = true;
	next_raw(p, &t);
	for (;;) {
		next_raw(p, &t);
		if (t.kind == LEX_END) {
			cpp_error(p, -EINVAL, from, "the call of macro %.100s doesn't end", n->s);
			break;
		}
		if (tok_is(&t, '('))
			depth++;
		if (tok_is(&t, ')') && !depth--)
			break;
		if (tok_is(&t, ',') && !depth && !(m->variadic && at + 1 == m->n_params)) {
			if (++at >= m->n_params) {
				cpp_error(p, -EINVAL, p->line, "too many arguments for macro %.100s",
					  n->s);
				break;
			}
			continue;
		}
		if (!m->n_params) {
			cpp_error(p, -EINVAL, p->line, "macro %.100s takes no arguments", n->s);
			break;
		}
		t.flags &= ~LEX_LINE;
		toks_add(p, &args[at].raw, &t);
	}
	p->in_args = outer;
	args[m->n_params ? m->n_params - 1 : 0].absent = at + 1 < m->n_params;
	if (at + 1 + m->variadic < m->n_params)
		cpp_error(p, -EINVAL, p->line, "too few arguments for macro %.100s", n->s);
	return p->err ? -1 : (int)at + 1;
}

static void expand_arg(struct cpp *p, struct arg *a)
{
	struct tok t;

	if (a->expanded)
		return;
	a->expanded = true;
	push_wall(p, a->raw.t, a->raw.n);
	for (next_tok(p, &t); t.kind != LEX_END; next_tok(p, &t))
		toks_add(p, &a->full, &t);
	pop_wall(p);
}

/* One call's text in the making. */
struct making {
	struct toks out;
	bool left;		/* out's last is the left side of a ## that may follow */
	bool space;		/* for what comes next */
};

static void make(struct cpp *p, struct making *k, const struct tok *t, uint32_t n, bool paste)
{
	struct tok first;

	if (!n) {
		k->left &= paste;
		return;
	}
	if (!step(p))
		return;
	first = *t;
	first.flags &= ~(LEX_LINE | LEX_SPACE | TOK_PASTE);
	if (paste && k->left && k->out.n) {
		paste_toks(p, &k->out.t[k->out.n - 1], &first);
	} else {
		first.flags |= k->space ? LEX_SPACE : 0;
		toks_add(p, &k->out, &first);
	}
	k->space = false;
	for (uint32_t i = 1; i < n && step(p); i++)
		toks_add(p, &k->out, &t[i]);
	k->left = true;
}

/* , ## __VA_ARGS__: without arguments the comma goes, else nothing is pasted. */
static bool gnu_comma(const struct macro *m, uint32_t i)
{
	return i && m->variadic && m->body[i].punct == m->n_params &&
	       m->body[i].flags & TOK_PASTE && tok_is(&m->body[i - 1], ',');
}

static void substitute(struct cpp *p, const struct macro *m, struct arg *args, struct toks *to)
{
	struct making k = { 0 };
	const struct tok *b;
	struct arg *a;
	struct tok t;
	bool paste;

	for (uint32_t i = 0; i < m->n && !p->err; i++) {
		b = &m->body[i];
		paste = b->flags & TOK_PASTE;
		if (i && !paste && b->flags & LEX_SPACE)
			k.space = true;
		if (b->kind != LEX_NAME || !b->punct) {
			make(p, &k, b, 1, paste);
			continue;
		}
		a = &args[b->punct - 1];
		if (b->flags & TOK_QUOTE) {
			quote_toks(p, a->raw.t, a->raw.n, &t);
			make(p, &k, &t, 1, paste);
		} else if (gnu_comma(m, i)) {
			k.space = a->raw.n && a->raw.t->flags & LEX_SPACE;
			if (a->raw.n || !a->absent)
				make(p, &k, a->raw.t, a->raw.n, false);
			else if (m->n_params > 1 && k.out.n && tok_is(&k.out.t[k.out.n - 1], ','))
				k.out.n--;
		} else if (paste || (i + 1 < m->n && m->body[i + 1].flags & TOK_PASTE)) {
			make(p, &k, a->raw.t, a->raw.n, paste);
		} else {
			expand_arg(p, a);
			make(p, &k, a->full.t, a->full.n, false);
		}
	}
	*to = k.out;
}

/* __LINE__ and its kind. false: the name stays. */
static bool expand_special(struct cpp *p, struct tok *t)
{
	const char *file = file_now(p)->name;
	char text[32];
	struct tok s;
	char *at;

	switch (t->name->special) {
	case S_LINE:
		snprintf(text, sizeof(text), "%lld", (long long)line_now(p));
		break;
	case S_COUNTER:
		snprintf(text, sizeof(text), "%u", p->counter++);
		break;
	case S_LEVEL:
		snprintf(text, sizeof(text), "%u", p->n_files - 1);
		break;
	case S_FILE:
		if (!file)	/* whatever the device calls the program */
			return false;
		s = (struct tok){ .s = file, .len = strlen(file), .kind = LEX_OTHER };
		s.flags = TOK_QUOTE;	/* as inside a string */
		quote_toks(p, &s, 1, t);
		return true;
	default:
		return false;
	}
	at = arena_get(p, &p->temp, strlen(text) + 1);
	if (!at)
		return false;
	strcpy(at, text);
	*t = (struct tok){ .s = at, .len = strlen(at), .kind = LEX_NUMBER, .flags = t->flags };
	return true;
}

/* Puts a macro's list on the stack; false: the name stays a name. */
static bool expand(struct cpp *p, struct tok *t, struct macro *m)
{
	struct arg *args = NULL;
	struct toks made;

	if (m->function) {
		if (!paren_follows(p))
			return false;
		if (p->nesting >= MAX_NESTING) {
			cpp_error(p, -E2BIG, p->line, "macro calls are nested too deep");
			return false;
		}
		args = arena_get(p, &p->temp, (m->n_params + 1) * sizeof(*args));
		if (!args || read_args(p, t->name, args) < 0)
			return false;
	}
	if (m->plain) {
		push_list(p, m->body, m->n, m);
	} else {
		p->nesting++;
		substitute(p, m, args, &made);
		p->nesting--;
		push_list(p, made.t, made.n, m);
	}
	if (p->err)
		return false;
	p->lists[p->n_lists - 1].first = true;
	p->lists[p->n_lists - 1].flags = t->flags & (LEX_LINE | LEX_SPACE);
	return true;
}

void next_tok(struct cpp *p, struct tok *t)
{
	struct macro *m;
	uint8_t before = 0;

	for (;;) {
		next_raw(p, t);
		t->flags |= before;
		if (t->kind != LEX_NAME || t->flags & TOK_PAINTED)
			return;
		m = t->name->macro;
		if (!m && p->in_if)
			m = t->name->device;
		if (!m) {
			if (t->name->special)
				expand_special(p, t);
			t->flags |= TOK_LOOKED;
			return;
		}
		if (m->disabled) {
			t->flags |= TOK_PAINTED;
			return;
		}
		if (!expand(p, t, m))
			return;
		/* What becomes nothing leaves its white space. */
		before = p->lists[p->n_lists - 1].t == p->lists[p->n_lists - 1].end ?
			t->flags & (LEX_LINE | LEX_SPACE) : 0;
	}
}
