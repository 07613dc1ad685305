// SPDX-License-Identifier: MIT
/*
 * Declarations inside of functions: the variables, their bytes, and which of them a
 * loop round the kernel must not contain. Local variables may only be declared in a
 * kernel's outermost scope, and so may samplers; constants belong there, too. They are
 * noted to be moved in front of the loop, together with the types they may need.
 */
#include "cl.h"

struct type {
	uint32_t size;		/* bytes, 0: unknown */
	uint32_t tag, body;	/* tokens of a struct or enum that is defined, 0: none */
	bool group, constant, is_const, is_static, is_extern, global, volatile_, holds, pointer;
	bool is_typedef, moves, defines, aggregate, alias;	/* alias: a name that says where */
};

/* A constant expression in [from, to): *at goes on; NONE: we can't tell. */
static uint32_t sum(const struct job *j, uint32_t *at, uint32_t to, uint32_t depth);

static uint32_t number(const struct job *j, uint32_t i)
{
	const struct tok *t = &j->toks[i];
	const char *s = j->text + t->pos;
	uint64_t n = 0, base = 10;
	uint32_t k = 0;

	if (t->len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		k = 2;
	} else if (s[0] == '0') {
		base = 8;
	}
	for (; k < t->len; k++) {
		char c = s[k] | 0x20;
		uint32_t digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ?
			c - 'a' + 10 : 16;

		if (c == 'u' || c == 'l')
			break;
		if (s[k] == '.' || digit >= base)
			return NONE;
		n = n * base + digit;
		if (n > 1u << 30)
			return NONE;
	}
	return n;
}

static uint32_t factor(const struct job *j, uint32_t *at, uint32_t to, uint32_t depth)
{
	uint32_t n = NONE, close;

	if (*at >= to || depth > 40)
		return NONE;
	if (j->toks[*at].kind == LEX_NUMBER) {
		n = number(j, *at);
		++*at;
	} else if (is(j, *at, '(')) {
		close = j->toks[*at].x;
		++*at;
		n = sum(j, at, close, depth + 1);
		if (*at != close)
			n = NONE;
		*at = close + 1;
	}
	return n;
}

static uint32_t product(const struct job *j, uint32_t *at, uint32_t to, uint32_t depth)
{
	uint64_t n = factor(j, at, to, depth);
	uint32_t m;
	uint16_t p;

	while (n != NONE && *at < to &&
	       ((p = j->toks[*at].punct) == '*' || p == '/' || p == '%')) {
		++*at;
		m = factor(j, at, to, depth);
		if (m == NONE || (p != '*' && !m))
			return NONE;
		n = p == '*' ? n * m : p == '/' ? n / m : n % m;
		if (n > 1u << 30)
			return NONE;
	}
	return n;
}

static uint32_t sum(const struct job *j, uint32_t *at, uint32_t to, uint32_t depth)
{
	uint32_t n = product(j, at, to, depth), m;
	uint16_t p;

	while (n != NONE && *at < to && ((p = j->toks[*at].punct) == '+' || p == '-')) {
		++*at;
		m = product(j, at, to, depth);
		if (m == NONE || (p == '-' && m > n) || (uint64_t)n + m > 1u << 30)
			return NONE;
		n = p == '+' ? n + m : n - m;
	}
	return n;
}

/* The words of a type; leaves w->at at the first declarator. */
static struct type specifiers(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	struct type t = { 0 };
	bool typed = false;

	for (; w->at < end; w->at++) {
		enum word x = word(j, w->at);
		struct symbol *y;

		if (x == W_ATTRIBUTE && is(j, w->at + 1, '(')) {
			w->at = j->toks[w->at + 1].x;
			continue;
		}
		if (x == W_TYPEOF && is(j, w->at + 1, '(')) {
			w->at = j->toks[w->at + 1].x;
			t.holds = typed = true;
			continue;
		}
		if (!is_name(j, w->at))
			break;
		y = sym(j, w->at);
		if (cl_plain_name(j, w->at)) {
			/* the type, if there was none and something follows that it names */
			if (typed)
				break;
			typed = true;
			t.size = y->flags & S_TYPE ? y->arg : 0;
			t.holds |= !(y->flags & S_TYPE) || y->flags & S_POINTER;
			t.pointer |= !!(y->flags & S_ADDRESS);
			t.volatile_ |= !!(y->flags & S_VOLATILE);
			t.alias |= !!(y->flags & S_SPACE);
			continue;
		}
		t.group |= x == W_LOCAL;
		t.constant |= x == W_CONSTANT;
		t.global |= x == W_GLOBAL;
		t.is_const |= x == W_CONST;
		t.is_static |= x == W_STATIC || x == W_EXTERN;
		t.is_extern |= x == W_EXTERN;
		t.is_typedef |= x == W_TYPEDEF;
		t.volatile_ |= x == W_VOLATILE || x == W_ATOMIC ||
			!!(y->flags & S_VOLATILE && x == W_TYPE);
		if (x == W_SAMPLER || x == W_IMAGE)
			t.moves = true;
		if (x == W_TYPE || x == W_VOID || (x == W_SIGNED && !typed)) {
			typed = true;
			t.size = y->arg ? y->arg : j->pointer_bytes;
			t.holds |= cl_holds_addresses(j, w->at);
		} else if (x == W_STRUCT || x == W_ENUM) {
			typed = true;
			t.aggregate = x == W_STRUCT;
			t.size = x == W_ENUM ? 4 : 0;
			if (cl_plain_name(j, w->at + 1))
				t.tag = ++w->at;
			t.holds |= !is(j, w->at + 1, '{') &&
				(is_name(j, w->at) && sym(j, w->at)->flags & S_POINTER);
			if (w->at + 1 < end && is(j, w->at + 1, '{')) {
				t.defines = t.holds = true;
				t.body = w->at + 1;
				w->at = j->toks[w->at + 1].x;
			}
		} else if (x >= W_IMAGE && x <= W_QUEUE) {
			typed = t.holds = true;
		}
	}
	return t;
}

static void count_bytes(struct walk *w, const struct type *t, uint32_t bytes, bool group)
{
	struct fn *f = w->f;

	if (!w->first)
		return;
	if (group) {
		if (bytes == NONE)
			f->kinds |= GSX_CL_LOCAL_UNKNOWN;
		else
			f->local_bytes += bytes;
	} else if (!t->constant) {
		if (bytes == NONE)
			f->kinds |= GSX_CL_PRIVATE_UNKNOWN;
		else
			f->private_bytes += bytes;
	}
}

struct declarator {
	uint32_t from, to, name;
	bool star, array, group;	/* group: says local itself, behind a * */
	uint32_t dims, elements;
};

static struct declarator declarator(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	struct declarator d = { .from = w->at, .name = NONE, .elements = 1 };

	for (; w->at < end && !is(j, w->at, ',') && !is(j, w->at, '=') && !is(j, w->at, ':');
	     w->at++) {
		enum word x = word(j, w->at);

		if (x == W_ATTRIBUTE && is(j, w->at + 1, '(')) {
			w->at = j->toks[w->at + 1].x;
		} else if (is(j, w->at, '*')) {
			d.star = true;
			d.group = false;
		} else if (is(j, w->at, '[')) {
			uint32_t close = j->toks[w->at].x, at = w->at + 1, n;

			d.array = true;
			d.dims++;
			n = at < close ? sum(j, &at, close, 0) : NONE;
			if (n == NONE || at != close || d.elements == NONE ||
			    (uint64_t)d.elements * n > 1u << 30)
				d.elements = NONE;
			else
				d.elements *= n;
			w->at++;
			cl_expression(w, close);
			w->at = close;
		} else if (is(j, w->at, '(')) {
			if (d.name != NONE)
				w->at = j->toks[w->at].x;	/* a function, an initial value */
		} else if (cl_plain_name(j, w->at)) {
			if (d.name == NONE)
				d.name = w->at;
		} else if (x == W_LOCAL) {
			d.group = d.star;
		}
	}
	d.to = w->at;
	return d;
}

/* Is it a variable in local or constant memory, or one that can't be in a loop? */
static bool is_moved(const struct type *t, const struct declarator *d)
{
	return d->star ? d->group : t->group || t->constant || t->moves;
}

static void note_typedef(struct walk *w, const struct type *t, const struct declarator *d)
{
	struct symbol *y = sym(w->j, d->name);

	if (y->epoch == w->j->epoch)
		y->epoch = 0;
	y->flags |= S_TYPE | (t->holds || d->star ? S_POINTER : 0) |
		(t->pointer || d->star ? S_ADDRESS : 0) |
		(t->volatile_ ? S_VOLATILE : 0) |
		((t->group || t->constant) && !d->star ? S_SPACE : 0);
	y->arg = d->star || d->array || t->size > 0xffff ? 0 : t->size;
}

static void add_variable(struct walk *w, const struct type *t, const struct declarator *d,
			 bool moved)
{
	struct job *j = w->j;
	struct var *v = cl_new_var(w, d->name);
	uint32_t size = d->star ? j->pointer_bytes : t->size;

	v->array |= d->array;
	v->dims = d->dims > v->dims ? d->dims : v->dims;
	v->pointer |= d->star || t->pointer;
	v->holds |= d->star || t->holds;
	v->volatile_ |= t->volatile_;
	v->moved |= moved && !t->moves;
	if (t->is_extern && !(sym(j, d->name)->flags & S_HERE))
		cl_use(w, U_EXTERN, j->toks[d->name].line);
	if ((t->is_static || (t->global && !d->star)) &&
	    !(t->is_const && !d->star && !t->pointer))
		cl_use(w, U_GLOBAL_VAR, j->toks[d->name].line);
	if (moved && (t->group || d->group))
		count_bytes(w, t, size && d->elements != NONE ? size * d->elements : NONE, true);
	else if (!moved && (d->array || t->aggregate || !size))
		count_bytes(w, t, size && d->elements != NONE ? size * d->elements : NONE, false);
}

/*
 * A type that is defined together with variables stays with them, and what is moved
 * must not name it: the tag, and an enum's constants.
 */
static void note_type(struct walk *w, const struct type *t)
{
	struct job *j = w->j;
	uint32_t i, end = j->toks[t->body].x;

	if (t->tag)
		*PUSH(j, j->stays, j->n_stays, j->cap_stays) = j->toks[t->tag].x;
	for (i = t->body + 1; !t->aggregate && i < end; i++)
		if (cl_plain_name(j, i) && (is(j, i - 1, '{') || is(j, i - 1, ',')))
			cl_new_var(w, i);
}

static void check_tags(struct walk *w, uint32_t from, uint32_t to)
{
	struct job *j = w->j;
	uint32_t i, k;

	for (i = from; i + 1 < to; i++)
		for (k = 0; k < j->n_stays && (word(j, i) == W_STRUCT || word(j, i) == W_ENUM); k++)
			if (is_name(j, i + 1) && j->toks[i + 1].x == j->stays[k] &&
			    !w->f->local_form)
				w->f->local_form = j->toks[i].line;
}

/*
 * What is moved hides another thing of its name from where the loop begins on: nothing
 * in front of it may mean that other one.
 */
static void check_before(struct walk *w, uint32_t name, uint32_t from)
{
	const struct job *j = w->j;
	uint32_t i;

	if (!w->first || sym(j, name)->pos >= j->toks[w->f->body].pos)
		return;
	for (i = w->f->body + 1; i < from && !w->f->local_form; i++)
		if (is_name(j, i) && j->toks[i].x == j->toks[name].x)
			w->f->local_form = j->toks[name].line;
}

/* The same for the names that a type brings: its tag, and an enum's constants. */
static void check_type_before(struct walk *w, const struct type *t, uint32_t from)
{
	struct job *j = w->j;
	uint32_t i, end = j->toks[t->body].x;

	if (t->tag)
		check_before(w, t->tag, from);
	for (i = t->body + 1; !t->aggregate && i < end; i++)
		if (cl_plain_name(j, i) && (is(j, i - 1, '{') || is(j, i - 1, ',')))
			check_before(w, i, from);
}

static void move(struct walk *w, uint32_t from, uint32_t to, uint32_t spec, bool split)
{
	struct fn *f = w->f;
	struct hoist *h;

	if (!w->first)
		return;
	h = PUSH(w->j, w->j->hoists, w->j->n_hoists, w->j->cap_hoists);
	*h = (struct hoist){ .from = from, .to = to, .spec = spec, .split = split };
	if (!f->n_hoists++)
		f->hoist = w->j->n_hoists - 1;
}

/* What is moved must not name what stays: it would mean something else there. */
static void check_names(struct walk *w, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from; i < to; i++) {
		struct var *v = is_name(w->j, i) ? cl_var_of(w, i) : NULL;

		if (v && !v->moved && !w->f->local_form)
			w->f->local_form = w->j->toks[i].line;
	}
}

/* From w->at to behind its ; */
void cl_declare(struct walk *w)
{
	struct job *j = w->j;
	uint32_t from = w->at, end = from, spec, stay = 0, go = 0, i;
	bool outermost = w->f->kernel && w->scope == 1 && !w->frame;
	struct type t;

	for (; !is(j, end, ';') && j->toks[end].kind != LEX_END && !is(j, end, '}') &&
	       !is(j, end, ')'); end++)
		if (is(j, end, '(') || is(j, end, '[') || is(j, end, '{'))
			end = j->toks[end].x;
		else if (word(j, end) == W_ASM)		/* another name for it */
			cl_use(w, U_ASM, j->toks[end].line);
	t = specifiers(w, end);
	spec = w->at;
	while (w->at < end) {
		uint32_t before = w->at;
		struct declarator d = declarator(w, end);
		bool moved = d.name != NONE && is_moved(&t, &d);
		struct var *v = NULL;

		if (d.name != NONE && is(j, d.name + 1, '(')) {
			/* one that is linked, and may ask for anything */
			if (sym(j, d.name)->fn == NONE)
				cl_use(w, U_EXTERN, j->toks[d.name].line);
		} else if (d.name != NONE && t.is_typedef) {
			note_typedef(w, &t, &d);
		} else if (d.name != NONE) {
			add_variable(w, &t, &d, moved);
			v = cl_var_of(w, d.name);
			if (t.alias && !d.star && !w->f->local_form)
				w->f->local_form = j->toks[d.name].line;
			if (moved && w->f->kernel && !outermost && !t.constant && w->scope > 1 &&
			    !w->f->local_form)
				w->f->local_form = j->toks[d.name].line;
		}
		if (outermost && d.name != NONE && (moved || t.is_typedef))
			check_before(w, d.name, from);
		stay += !moved;
		go += moved;
		if (w->at < end && is(j, w->at, ':')) {
			w->at++;
			cl_assignment(w, end);
		}
		if (w->at < end && is(j, w->at, '=')) {
			struct value x;

			w->at++;
			x = cl_assignment(w, end);
			if (v) {
				v = cl_var_of(w, d.name);
				cl_assign(w, v, x);
			}
		}
		if (w->at < end && is(j, w->at, ','))
			w->at++;
		if (w->at == before)
			w->at++;
	}
	w->at = end + (is(j, end, ';') ? 1 : 0);
	if (!outermost || !is(j, end, ';'))
		return;
	if (t.defines && stay && !t.is_typedef)
		note_type(w, &t);
	if (t.defines && (t.is_typedef || go || spec == end))
		check_type_before(w, &t, from);
	if (t.is_typedef || go)
		check_tags(w, from, end);
	if (t.is_typedef || (t.defines && spec == end))
		move(w, from, end + 1, 0, false);
	else if (go)
		move(w, from, end + 1, spec, stay);
	else
		return;
	for (i = from; i <= end && w->first; i++)
		if (is(j, i, '[') || (word(j, i) == W_TYPEOF && is(j, i + 1, '(')))
			check_names(w, i, j->toks[is(j, i, '[') ? i : i + 1].x);
		else if (is(j, i, '='))
			check_names(w, i, end);
}
