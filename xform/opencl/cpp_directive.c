// SPDX-License-Identifier: MIT
/* Lines that begin with #. */
#include <errno.h>
#include <string.h>

#include "cpp.h"

#define MAX_CONDS	1024

enum { D_IF, D_IFDEF, D_IFNDEF, D_ELIF, D_ELSE, D_ENDIF, D_DEFINE, D_UNDEF, D_INCLUDE, D_LINE,
	D_ERROR, D_WARNING, D_PRAGMA, D_ELIFDEF, D_ELIFNDEF, D_UNKNOWN };

static int directive_of(const struct tok *t)
{
	static const char *const names[] = {
		[D_IF] = "if", [D_IFDEF] = "ifdef", [D_IFNDEF] = "ifndef", [D_ELIF] = "elif",
		[D_ELSE] = "else", [D_ENDIF] = "endif", [D_DEFINE] = "define",
		[D_UNDEF] = "undef", [D_INCLUDE] = "include", [D_LINE] = "line",
		[D_ERROR] = "error", [D_WARNING] = "warning", [D_PRAGMA] = "pragma",
		[D_ELIFDEF] = "elifdef", [D_ELIFNDEF] = "elifndef",
	};
	int i;

	if (t->kind == LEX_NAME)
		for (i = 0; i < D_UNKNOWN; i++)
			if (t->len == strlen(names[i]) && !memcmp(t->s, names[i], t->len))
				return i;
	return D_UNKNOWN;
}

static struct file *file_now(struct cpp *p)
{
	return &p->files[p->n_files - 1];
}

/* One token of the present line; false: it is over, and nothing was taken. */
static bool line_tok(struct cpp *p, struct tok *t)
{
	struct lex *l = &file_now(p)->l, before = *l;
	struct lex_token from;

	lex_next(l, &from);
	if (from.kind == LEX_END || from.flags & LEX_LINE) {
		*l = before;
		return false;
	}
	take_tok(p, t, &from, l);
	p->steps++;
	return true;
}

void rest_of_line(struct cpp *p, struct toks *v)
{
	struct tok t;

	*v = (struct toks){ 0 };
	while (!p->err && line_tok(p, &t))
		toks_add(p, v, &t);
}

static bool same_body(const struct macro *a, const struct macro *b)
{
	if (a->n != b->n || a->n_params != b->n_params || a->function != b->function ||
	    a->variadic != b->variadic)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->body[i].len != b->body[i].len ||
		    memcmp(a->body[i].s, b->body[i].s, a->body[i].len))
			return false;
	return true;
}

/* Parameters, behind the '('; gives the number of tokens read, -1: an error. */
static int params_read(struct cpp *p, const struct toks *v, uint32_t from, struct macro *m)
{
	uint32_t i = from;
	const struct tok *t;

	for (;; i++) {
		t = &v->t[i];
		if (i < v->n && tok_is(t, ')') && i == from)
			break;
		if (i < v->n && tok_is(t, LEX_ELLIPSIS)) {
			p->va_args->flags |= NAME_TOUCHED;
			m->variadic = true;
			m->n_params++;
			i++;
		} else if (i < v->n && t->kind == LEX_NAME && !t->name->special) {
			m->n_params++;
			i++;
			if (i < v->n && tok_is(&v->t[i], LEX_ELLIPSIS)) {	/* GNU's args... */
				m->variadic = true;
				i++;
			}
		} else {
			i = v->n;
		}
		if (i < v->n && tok_is(&v->t[i], ')'))
			break;
		if (i >= v->n || !tok_is(&v->t[i], ',') || m->variadic) {
			cpp_error(p, -EINVAL, p->line, "the parameters of a macro aren't right");
			return -1;
		}
	}
	if (m->n_params >= UINT16_MAX) {
		cpp_error(p, -E2BIG, p->line, "a macro has too many parameters");
		return -1;
	}
	return i + 1 - from;
}

/* Which parameter a token is, from 1; 0: none. @params: the tokens between ( and ). */
static uint32_t param_of(const struct cpp *p, const struct tok *params, uint32_t n,
			 const struct tok *t)
{
	uint32_t at = 0;

	if (t->kind != LEX_NAME)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		bool dots = tok_is(&params[i], LEX_ELLIPSIS);
		bool named = dots && i && params[i - 1].kind == LEX_NAME;

		if (params[i].kind == LEX_NAME || (dots && !named))
			at++;
		if (params[i].kind == LEX_NAME ? params[i].name == t->name :
		    dots && !named && t->name == p->va_args)
			return at;
	}
	return 0;
}

/* The body's operators become flags of what they act on. */
static bool body_read(struct cpp *p, const struct tok *t, uint32_t n, const struct tok *params,
		      uint32_t n_params, struct macro *m)
{
	struct tok *body = arena_get(p, &p->keep, (n + 1) * sizeof(*body));
	bool paste = false, quote = false;
	uint8_t space;

	if (!body)
		return false;
	m->plain = true;
	for (uint32_t i = 0; i < n; i++) {
		struct tok *b = &body[m->n];
		uint32_t param = m->function ? param_of(p, params, n_params, &t[i]) : 0;

		if (tok_is(&t[i], LEX_PASTE)) {
			if (!m->n || i + 1 == n) {
				cpp_error(p, -EINVAL, p->line, "## stands at an end of a macro");
				return false;
			}
			paste = true;
			m->plain = false;
			continue;
		}
		if (m->function && tok_is(&t[i], '#') && !quote) {
			quote = true;
			body[m->n].flags = t[i].flags & LEX_SPACE;
			continue;
		}
		if (quote && !param) {
			cpp_error(p, -EINVAL, p->line, "# stands before something else than a "
				  "parameter");
			return false;
		}
		space = quote ? b->flags : t[i].flags & LEX_SPACE;
		*b = t[i];
		b->flags = space | (paste ? TOK_PASTE : 0) | (quote ? TOK_QUOTE : 0);
		if (b->kind == LEX_NAME)
			b->punct = param;
		m->plain &= !param;
		paste = quote = false;
		m->n++;
	}
	if (quote)
		cpp_error(p, -EINVAL, p->line, "# stands at the end of a macro");
	m->body = body;
	return !p->err;
}

static void define(struct cpp *p, const struct toks *v)
{
	struct macro *m = arena_get(p, &p->keep, sizeof(*m));
	const struct tok *t = v->t;
	uint32_t from = 1;
	int n = 0;

	if (!m)
		return;
	if (!v->n || t->kind != LEX_NAME || t->name == p->defined || t->name == p->va_args) {
		cpp_error(p, -EINVAL, p->line, "#define without a name that may be a macro");
		return;
	}
	if (v->n > 1 && tok_is(&t[1], '(') && !(t[1].flags & LEX_SPACE)) {
		m->function = true;
		from = 2;
		n = params_read(p, v, from, m);
		if (n < 0)
			return;
	}
	/* One look at each parameter for each name: a wide macro is paid for here. */
	p->steps += (uint64_t)n * v->n;
	if (p->steps > p->max_steps)
		cpp_error(p, -E2BIG, p->line, "a macro has too many parameters");
	if (!body_read(p, t + from + n, v->n - from - n, t + from, n, m))
		return;
	if (t->name->special && t->name->special != S_HAS_INCLUDE) {
		cpp_error(p, -EINVAL, p->line, "%.100s is defined anew", t->name->s);
		return;
	}
	t->name->flags |= NAME_TOUCHED;
	/* The same once more changes nothing, and it may be at work. */
	if (!t->name->macro || !same_body(t->name->macro, m))
		t->name->macro = m;
}

static void undef(struct cpp *p, const struct toks *v)
{
	if (!v->n || v->t->kind != LEX_NAME || v->t->name->special) {
		cpp_error(p, -EINVAL, p->line, "#undef without a name that may be a macro");
		return;
	}
	v->t->name->macro = NULL;
	v->t->name->device = NULL;
	v->t->name->flags |= NAME_TOUCHED | NAME_KNOWN;
}

/* A name's state for #ifdef and defined, asking where the device must tell. */
static bool is_defined(struct cpp *p, struct name *n)
{
	if (n->macro || n->device || n->special == S_LINE || n->special == S_FILE)
		return true;
	met_in_condition(p, n);
	return false;
}

/* Names in conditions that are skipped: they are needed once others are known. */
static void met_in_line(struct cpp *p, const struct toks *v)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->t[i].kind == LEX_NAME && !v->t[i].name->special)
			is_defined(p, v->t[i].name);
}

static void open_cond(struct cpp *p, bool live, bool taken)
{
	if (p->n_conds >= MAX_CONDS)
		cpp_error(p, -E2BIG, p->line, "conditions are nested too deep");
	if (!cpp_grow(p, &p->conds, &p->cap_conds, p->n_conds + 1, sizeof(*p->conds)))
		return;
	p->conds[p->n_conds++] = (struct cond){ .live = live, .taken = taken, .line = p->line };
}

static bool name_alone(struct cpp *p, const struct toks *v)
{
	if (v->n && v->t->kind == LEX_NAME)
		return true;
	cpp_error(p, -EINVAL, p->line, "a condition lacks its name");
	return false;
}

/* #ifndef as the file's first token may be an include guard. */
static void guard_opens(struct cpp *p, int d, const struct toks *v)
{
	struct file *f = file_now(p);

	if (f->guard_state == GUARD_NONE && d == D_IFNDEF && v->n == 1) {
		f->guard = v->t->name;
		f->guard_state = GUARD_OPEN;
		f->guard_depth = p->n_conds;
	} else if (f->guard_state != GUARD_OPEN) {
		f->guard_state = GUARD_BROKEN;
	}
}

static void guard_closes(struct cpp *p, bool endif)
{
	struct file *f = file_now(p);

	if (f->guard_state == GUARD_OPEN && p->n_conds == f->guard_depth + 1)
		f->guard_state = endif ? GUARD_CLOSED : GUARD_BROKEN;
}

/* An #if of any kind; returns whether what follows it is live. */
static bool begin_cond(struct cpp *p, int d)
{
	struct toks v;
	bool yes = false;

	rest_of_line(p, &v);
	if (d == D_IF) {
		guard_opens(p, d, &v);
		yes = cpp_condition(p, &v);
	} else if (name_alone(p, &v)) {
		guard_opens(p, d, &v);
		yes = is_defined(p, v.t->name) == (d == D_IFDEF);
	}
	open_cond(p, yes, yes);
	return yes;
}

/*
 * #elif and #else where the group above was live or skipped, and #endif. Returns
 * whether what follows is live.
 */
static bool go_on_cond(struct cpp *p, int d)
{
	struct cond *c = p->n_conds > file_now(p)->conds ? &p->conds[p->n_conds - 1] : NULL;
	bool yes;
	struct toks v;

	if (!c || (c->had_else && d != D_ENDIF)) {
		cpp_error(p, -EINVAL, p->line, "#else, #elif or #endif without its #if");
		return true;
	}
	rest_of_line(p, &v);
	guard_closes(p, d == D_ENDIF);
	if (d == D_ENDIF) {
		p->n_conds--;
		return true;
	}
	c->had_else = d == D_ELSE;
	if (d == D_ELIFDEF || d == D_ELIFNDEF) {
		/* Older compilers pass over these lines as unknown, newer ones don't. */
		cpp_error(p, -EINVAL, p->line, "compilers don't agree on #elifdef");
		return true;
	}
	if (c->taken) {
		if (d == D_ELIF)
			met_in_line(p, &v);
		c->live = false;
		return false;
	}
	yes = d == D_ELSE || cpp_condition(p, &v);
	c = &p->conds[p->n_conds - 1];
	c->live = c->taken = yes;
	return yes;
}

/* Passes over groups until one is live again. */
static void skip(struct cpp *p)
{
	struct file *f = file_now(p);
	uint32_t depth = 0;
	struct lex_token from;
	struct toks v;
	struct tok t;
	int d;

	while (!p->err) {
		lex_skip_line(&f->l);
		lex_next(&f->l, &from);
		p->steps++;
		if (from.kind == LEX_END)
			return;		/* end_of_file() tells what is open */
		if (from.kind != LEX_PUNCT || from.punct != '#' || !(from.flags & LEX_LINE))
			continue;
		p->line = from.line;
		if (!line_tok(p, &t))
			continue;
		d = directive_of(&t);
		if (d == D_IF || d == D_IFDEF || d == D_IFNDEF || (depth && d == D_ELIF)) {
			rest_of_line(p, &v);
			met_in_line(p, &v);
			depth += d != D_ELIF;
		} else if (depth) {
			depth -= d == D_ENDIF;
		} else if (d == D_ELIF || d == D_ELSE || d == D_ENDIF || d == D_ELIFDEF ||
			   d == D_ELIFNDEF) {
			if (go_on_cond(p, d))
				return;
		}
		if (!p->in_args)
			arena_drop(p, &p->temp);
	}
}

static void expand_line(struct cpp *p, const struct toks *v, struct toks *to)
{
	struct tok t;

	*to = (struct toks){ 0 };
	push_wall(p, v->t, v->n);
	for (next_tok(p, &t); t.kind != LEX_END; next_tok(p, &t))
		toks_add(p, to, &t);
	pop_wall(p);
}

/* #line 12 "file", and # 12 "file" 1 as preprocessors write it. */
static void line_directive(struct cpp *p, const struct toks *v)
{
	struct file *f = file_now(p);
	struct toks full;
	uint64_t line = 0;
	char *name;

	expand_line(p, v, &full);
	if (!full.n || full.t->kind != LEX_NUMBER || full.t->len > 10 ||
	    (full.n > 1 && full.t[1].kind != LEX_STRING)) {
		cpp_error(p, -EINVAL, p->line, "#line without a number and a name");
		return;
	}
	for (uint32_t i = 0; i < full.t->len; i++) {
		if (full.t->s[i] < '0' || full.t->s[i] > '9')
			cpp_error(p, -EINVAL, p->line, "#line without a number");
		line = line * 10 + (full.t->s[i] - '0');
	}
	if (line > INT32_MAX)
		cpp_error(p, -EINVAL, p->line, "#line with a number that is too big");
	f->line_shift = (int64_t)line - p->line - 1;
	if (full.n > 1 && full.t[1].len >= 2 && full.t[1].s[0] == '"') {
		name = arena_get(p, &p->keep, full.t[1].len);
		if (!name)
			return;
		memcpy(name, full.t[1].s + 1, full.t[1].len - 2);
		if (strchr(name, '\\'))
			cpp_error(p, -EINVAL, p->line, "#line with a backslash in the name");
		f->name = name;
	}
}

static void pragma(struct cpp *p)
{
	struct toks v, full;

	rest_of_line(p, &v);
	if (v.n && v.t->len == 4 && !memcmp(v.t->s, "once", 4)) {
		if (p->n_files > 1)
			file_now(p)->h->once = true;
		return;
	}
	for (uint32_t i = 0; i < v.n && i < 2; i++)
		if (v.t[i].kind == LEX_NAME &&
		    (!strcmp(v.t[i].name->s, "push_macro") ||
		     !strcmp(v.t[i].name->s, "pop_macro") || !strcmp(v.t[i].name->s, "poison"))) {
			cpp_error(p, -EINVAL, p->line, "#pragma %s isn't known",
				  v.t[i].name->s);
			return;
		}
	/* As clang has it: those of the language stand as they are, the others (unroll) not. */
	if (v.n && v.t->kind == LEX_NAME && strcmp(v.t->name->s, "OPENCL") &&
	    strcmp(v.t->name->s, "STDC")) {
		expand_line(p, &(struct toks){ .t = v.t + 1, .n = v.n - 1 }, &full);
		v.n = 1;
		for (uint32_t i = 0; i < full.n; i++)
			toks_add(p, &v, &full.t[i]);
	}
	write_pragma(p, &v);
}

static void message(struct cpp *p)
{
	struct lex *l = &file_now(p)->l;
	uint32_t from = l->pos, len;

	lex_skip_line(l);
	len = l->pos - from;
	cpp_error(p, -EINVAL, p->line, "#error%.*s", (int)(len < 200 ? len : 200), l->text + from);
}

static void not_in_call(struct cpp *p)
{
	if (p->in_args)
		cpp_error(p, -EINVAL, p->line, "a directive stands inside a macro's call");
}

void cpp_directive(struct cpp *p)
{
	struct toks v, all = { 0 };
	struct tok t;
	int d;

	if (!line_tok(p, &t))
		return;
	d = directive_of(&t);
	if (d > D_IFNDEF && file_now(p)->guard_state != GUARD_OPEN)
		file_now(p)->guard_state = GUARD_BROKEN;
	switch (d) {
	case D_IF:
	case D_IFDEF:
	case D_IFNDEF:
		if (!begin_cond(p, d))
			skip(p);
		break;
	case D_ELIF:
	case D_ELSE:
	case D_ENDIF:
	case D_ELIFDEF:
	case D_ELIFNDEF:
		if (!go_on_cond(p, d))
			skip(p);
		break;
	case D_DEFINE:
	case D_UNDEF:
		not_in_call(p);
		rest_of_line(p, &v);
		if (d == D_DEFINE)
			define(p, &v);
		else
			undef(p, &v);
		break;
	case D_INCLUDE:
		not_in_call(p);
		rest_of_line(p, &v);
		cpp_include(p, &v);
		break;
	case D_LINE:
		rest_of_line(p, &v);
		line_directive(p, &v);
		break;
	case D_ERROR:
		message(p);
		break;
	case D_WARNING:
		lex_skip_line(&file_now(p)->l);
		break;
	case D_PRAGMA:
		not_in_call(p);
		pragma(p);
		break;
	default:
		if (t.kind == LEX_NUMBER) {
			rest_of_line(p, &v);
			toks_add(p, &all, &t);
			for (uint32_t i = 0; i < v.n; i++)
				toks_add(p, &all, &v.t[i]);
			line_directive(p, &all);
			break;
		}
		cpp_error(p, -EINVAL, p->line, "#%.*s isn't known",
			  (int)(t.len < 40 ? t.len : 40), t.s);
	}
}

void end_of_file(struct cpp *p)
{
	struct file *f = file_now(p);

	if (p->n_conds > f->conds)
		cpp_error(p, -EINVAL, p->conds[p->n_conds - 1].line, "this #if has no #endif");
	if (f->guard_state == GUARD_CLOSED)
		f->h->guard = f->guard;
	p->n_files--;
}
