// SPDX-License-Identifier: MIT
/*
 * Expressions: where a value may come from, and what is written on the way.
 *
 * Types aren't worked out. What counts is which memory a pointer may point to
 * (roots), and for that arithmetic, ?: and comparisons can all be taken as "comes from
 * any of its operands", whatever their precedence; only assignments, *, &, [], ->,
 * calls and casts are told apart. What can't be followed points to FROM_UNKNOWN.
 */
#include <string.h>

#include "cl.h"

enum kind {
	VALUE,
	NAMED,			/* a variable, a member or an element of it */
	MEMORY,			/* what v.roots point to */
};

struct operand {
	enum kind kind;
	uint32_t var;		/* NAMED: index */
	bool element;		/* NAMED: not the whole variable */
	bool through;		/* NAMED: and perhaps not even it, but what it points to */
	uint32_t dims;		/* NAMED: subscripts so far */
	struct value v;
};

static struct operand unary(struct walk *w, uint32_t end);
static struct value rest(struct walk *w, uint32_t end, const struct operand *first);

void cl_merge(struct value *to, const struct value *v)
{
	to->roots |= v->roots;
	to->from |= v->from;
	to->deps |= v->deps;
	to->flags = ((to->flags | v->flags) & V_STICKY) | (to->flags & v->flags & V_LITERAL);
}

/* What is true is false now. */
void cl_negate(struct value *v)
{
	uint32_t won = v->flags & V_WON, lost = v->flags & V_LOST;

	v->flags &= ~(V_WON | V_LOST);
	v->flags |= (won ? V_LOST : 0) | (lost ? V_WON : 0);
}

struct var *cl_var_of(struct walk *w, uint32_t tok)
{
	struct symbol *y = sym(w->j, tok);

	return y->epoch == w->j->epoch ? &w->j->vars[y->var] : NULL;
}

struct var *cl_new_var(struct walk *w, uint32_t tok)
{
	struct job *j = w->j;
	struct symbol *y = sym(j, tok);
	struct var *v;

	if (y->epoch == j->epoch)
		return &j->vars[y->var];
	v = PUSH(j, j->vars, j->n_vars, j->cap_vars);
	*v = (struct var){ 0 };
	y->epoch = j->epoch;
	y->var = j->n_vars - 1;
	return v;
}

static uint64_t outside(uint64_t roots)
{
	return roots & ~FROM_OWN;
}

void cl_may_read(struct walk *w, uint64_t roots)
{
	w->f->reads |= roots & FROM_PARAMS;
	if (roots & FROM_UNKNOWN)
		cl_use(w, U_READS_ANY, w->j->toks[w->at].line);
}

void cl_may_write(struct walk *w, uint64_t roots)
{
	w->f->writes |= roots & FROM_PARAMS;
	if (roots & FROM_UNKNOWN)
		cl_use(w, U_WRITES_ANY, w->j->toks[w->at].line);
}

/* A pointer goes where it can't be followed. */
static void escape(struct walk *w, uint64_t roots)
{
	cl_may_read(w, roots);
	cl_may_write(w, roots);
}

/* Where pointers that are read from @roots may point to. */
static uint64_t contents(const struct walk *w, uint64_t roots)
{
	uint64_t r = roots & FROM_UNKNOWN;
	uint32_t i;

	if (roots & FROM_PARAMS)
		for (i = 0; i < w->f->n_params && !r; i++)
			if (w->j->params[w->f->param + i].deep &&
			    roots & 1ull << (i < 59 ? i : 59))
				r = FROM_UNKNOWN;
	if (roots & FROM_OWN)
		r |= w->own;
	return r;
}

static struct value load(struct walk *w, struct value at)
{
	struct value v = { .deps = at.deps, .flags = at.flags & V_VARYING };

	if (!at.roots)
		at.roots = FROM_UNKNOWN;
	cl_may_read(w, at.roots);
	v.roots = contents(w, at.roots);
	v.from = at.roots;
	if (at.flags & V_VOLATILE && outside(at.roots)) {
		v.flags |= V_SHARED | V_VARYING;
		w->f->reads_shared = true;
	}
	if (at.roots & FROM_PRIVATE)
		v.flags |= w->own_flags;
	return v;
}

static struct value value_of(struct walk *w, const struct operand *o)
{
	struct var *x;
	struct value v;

	if (o->kind == VALUE)
		return o->v;
	if (o->kind == MEMORY)
		return load(w, o->v);
	x = &w->j->vars[o->var];
	x->read = true;
	v = x->v;
	v.flags = (v.flags | (o->v.flags & V_VARYING)) & V_STICKY;
	v.deps |= o->v.deps;
	if (x->array && !o->element) {		/* its address */
		w->own |= v.roots;
		w->own_flags |= v.flags & (V_VARYING | V_SHARED);
		return (struct value){
			.roots = x->moved ? FROM_GROUP : FROM_PRIVATE,
			.flags = x->volatile_ ? V_VOLATILE : 0,
		};
	}
	if (o->through) {
		cl_may_read(w, v.roots);
		if ((o->v.flags | v.flags) & V_VOLATILE && outside(v.roots)) {
			v.flags |= V_SHARED;
			w->f->reads_shared = true;
		}
		v.from |= v.roots;
		v.roots |= contents(w, v.roots);
	}
	if (x->addressed) {
		v.flags |= V_VARYING | w->own_flags;
		v.roots |= x->holds ? w->own : 0;
	}
	if (x->volatile_ && x->pointer)
		v.flags |= V_VOLATILE;
	return v;
}

/* Where what @o holds points to: an array within an object is where that is. */
static struct value target_of(struct walk *w, const struct operand *o)
{
	struct value v = o->v;
	uint64_t inner;

	if (o->kind != MEMORY)
		return value_of(w, o);
	inner = contents(w, v.roots);
	if (inner) {
		v = load(w, v);
		v.flags |= o->v.flags & V_VOLATILE;
		v.roots |= o->v.roots;
	}
	return v;
}

static void grow_var(struct walk *w, struct var *x, const struct value *v)
{
	struct value old = x->v;

	cl_merge(&x->v, v);
	if (x->read && (old.roots != x->v.roots || old.from != x->v.from ||
			old.deps != x->v.deps ||
			((old.flags ^ x->v.flags) & V_STICKY)))
		w->grew = true;
}

void cl_assign(struct walk *w, struct var *x, struct value v)
{
	if (!x->holds)
		v.roots = 0;
	else if (x->pointer && !v.roots && !(v.flags & V_LITERAL))
		v.roots = FROM_UNKNOWN;
	if (w->frame && v.flags & V_LITERAL)
		x->literal_in_loop = true;
	v.flags &= ~(V_WON | V_LOST);
	v.deps |= w->control.deps;
	v.flags |= w->control.flags & (V_VARYING | V_SHARED);
	if (x->moved)	/* whoever wrote it, behind a barrier all read the same */
		v.flags &= ~V_VARYING;
	grow_var(w, x, &v);
	if (w->frame)
		*PUSH(w->j, w->j->log, w->j->n_log, w->j->cap_log) = x - w->j->vars;
}

static void store(struct walk *w, const struct operand *to, struct value v)
{
	uint64_t roots = to->v.roots;

	if (to->kind == NAMED) {
		struct var *x = &w->j->vars[to->var];
		bool pointer = x->pointer;

		/* an element's index tells which one: all may differ then */
		v.flags |= to->v.flags & V_VARYING;
		v.deps |= to->v.deps;
		x->pointer = pointer && !to->element;
		cl_assign(w, x, v);
		x->pointer = pointer;
		if (to->through) {
			cl_may_write(w, x->v.roots);
			escape(w, outside(v.roots));
		}
	} else if (to->kind == MEMORY) {
		if (!roots)
			roots = FROM_UNKNOWN;
		cl_may_write(w, roots);
		if (roots & FROM_PRIVATE) {
			if (v.roots & ~w->own || v.flags & ~w->own_flags & V_STICKY)
				w->grew = true;
			w->own |= v.roots;
			w->own_flags |= (v.flags | to->v.flags | w->control.flags) &
				(V_VARYING | V_SHARED);
		}
		if (outside(roots))
			escape(w, outside(v.roots));
	} else {
		escape(w, outside(v.roots));
	}
}

/* The token at @i begins a type: a cast, or a declaration. */
bool cl_begins_type(const struct walk *w, uint32_t i)
{
	const struct job *j = w->j;
	enum word x = word(j, i);

	if (!is_name(j, i))
		return false;
	if (x == W_PLAIN)
		return sym(j, i)->flags & S_TYPE && sym(j, i)->epoch != j->epoch;
	return (x >= W_STRUCT && x < W_GLOBAL_ID && x != W_PIPE) || x == W_TYPEDEF ||
		x == W_TYPEOF;
}

static struct operand plain(struct value v)
{
	return (struct operand){ .kind = VALUE, .v = v };
}

static struct operand literal(void)
{
	return plain((struct value){ .flags = V_LITERAL });
}

/* A cast or a compound literal; w->at is at its ( */
static struct operand cast(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	uint32_t close = j->toks[w->at].x, i;
	bool pointer = false, changes = false, wide = false;
	struct value v;
	struct operand o;

	for (i = w->at + 1; i < close; i++) {
		pointer |= is(j, i, '*');
		if (is_name(j, i)) {
			changes |= word(j, i) == W_VOLATILE || sym(j, i)->flags & S_VOLATILE;
			wide |= cl_holds_addresses(j, i) || word(j, i) == W_TYPEOF;
			pointer |= sym(j, i)->flags & S_TYPE && cl_holds_addresses(j, i);
		}
	}
	w->at = close + 1;
	if (w->at < end && is(j, w->at, '{')) {
		close = j->toks[w->at].x;
		w->at++;
		v = cl_expression(w, close);
		w->at = close + 1;
		/* it is a variable without a name */
		w->own |= v.roots;
		v.roots |= FROM_PRIVATE;
		return plain(v);
	}
	deeper(j, j->toks[close].line);
	o = unary(w, end);
	j->depth--;
	v = value_of(w, &o);
	if (!pointer && !wide)
		v.roots = 0;
	if (pointer && !v.roots && !(v.flags & V_LITERAL))
		v.roots = FROM_UNKNOWN;
	if (pointer && changes)
		v.flags |= V_VOLATILE;
	return plain(v);
}

static struct operand name(struct walk *w)
{
	struct job *j = w->j;
	uint32_t at = w->at;
	struct symbol *y = sym(j, at);
	enum word x = y->word;
	struct value v = { 0 };
	bool called = is(j, at + 1, '(');

	w->at++;
	if (x == W_ASM)
		cl_use(w, U_ASM, j->toks[at].line);
	if (x == W_ATTRIBUTE && called) {
		w->at = j->toks[at + 1].x + 1;
		return literal();
	}
	/* scopes aren't kept apart: a call is one, if a variable has this name elsewhere */
	if (y->epoch == j->epoch && !(called && (x >= W_GLOBAL_ID || y->fn != NONE)))
		return (struct operand){ .kind = NAMED, .var = y->var };
	if (x == W_INNER)
		cl_use(w, U_ASM, j->toks[at].line);
	if ((y->flags & (S_EXTERN | S_HERE)) == S_EXTERN)
		cl_use(w, U_EXTERN, j->toks[at].line);
	if (x >= W_IF && x <= W_CONTINUE)
		cl_use(w, U_HIDDEN, j->toks[at].line);
	if (called && (x == W_PLAIN || x >= W_GLOBAL_ID))
		return plain(cl_call(w, at));
	if (y->flags & S_PROGRAM) {
		v.roots = FROM_GROUP;
		if (y->flags & S_GLOBAL) {
			cl_use(w, U_GLOBAL_VAR, j->toks[at].line);
			v.roots = FROM_UNKNOWN;
			v.flags = V_VARYING | (y->flags & S_VOLATILE ? V_SHARED : 0);
			w->f->reads_shared |= !!(y->flags & S_VOLATILE);
		}
		return plain(v);
	}
	if (y->fn != NONE || cl_use_of_word(x) & (U_SLICE | U_WORKERS))
		cl_use(w, U_BARE, j->toks[at].line);
	return literal();
}

/* sizeof x, sizeof(x): nothing is read. */
static struct operand size_of(struct walk *w, uint32_t end)
{
	deeper(w->j, w->j->toks[w->at].line);
	w->at++;
	if (w->at < end && is(w->j, w->at, '('))
		w->at = w->j->toks[w->at].x + 1;
	else if (w->at < end)
		unary(w, end);
	w->j->depth--;
	return literal();
}

static struct operand primary(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	struct operand o;
	uint32_t close;

	if (w->at >= end)
		return literal();
	if (begins_line_hash(j, w->at)) {
		w->at = cl_skip_directive(j, w->at);
		return literal();
	}
	if (is_name(j, w->at))
		return word(j, w->at) == W_SIZEOF ? size_of(w, end) : name(w);
	if (is(j, w->at, '(')) {
		if (cl_begins_type(w, w->at + 1))
			return cast(w, end);
		if (is(j, w->at + 1, '{'))
			cl_use(w, U_HIDDEN, j->toks[w->at].line);
		close = j->toks[w->at].x;
		w->at++;
		o = unary(w, close);
		if (w->at < close)
			o = plain(rest(w, close, &o));
		w->at = close + 1;
		return o;
	}
	if (is(j, w->at, '{')) {
		close = j->toks[w->at].x;
		w->at++;
		o = plain(cl_expression(w, close));
		w->at = close + 1;
		return o;
	}
	if (is(j, w->at, '.') || is(j, w->at, '[')) {	/* a designator */
		w->at = is(j, w->at, '.') ? w->at + 2 : j->toks[w->at].x + 1;
		return literal();
	}
	w->at++;
	return literal();
}

static struct operand member(struct walk *w, struct operand o, bool arrow)
{
	struct job *j = w->j;

	if (arrow) {
		o.v = target_of(w, &o);
		o.kind = MEMORY;
	}
	o.element = true;
	o.dims = UINT32_MAX / 2;	/* its own are unknown */
	if (is_name(j, w->at) && sym(j, w->at)->flags & S_VOLATILE)
		o.v.flags |= V_VOLATILE;
	w->at++;
	return o;
}

static struct operand subscript(struct walk *w, struct operand o)
{
	struct job *j = w->j;
	uint32_t close = j->toks[w->at].x;
	struct value index, base;
	bool inside = false;

	w->at++;
	index = cl_expression(w, close);
	w->at = close + 1;
	if (o.kind == NAMED && !(index.roots && !j->vars[o.var].v.roots)) {
		struct var *x = &j->vars[o.var];

		if (x->moved && x->array) {
			o = (struct operand){ .kind = MEMORY, .v = {
				.roots = FROM_GROUP, .flags = x->volatile_ ? V_VOLATILE : 0 } };
			inside = true;
		} else if (o.dims++ < x->dims || !(x->pointer || o.element)) {
			/* a type that we can't see through may be a pointer */
			o.through |= !x->array && x->holds;
			o.element = inside = true;
		} else if (o.element && !x->pointer) {
			o.through = inside = true;
		}
	}
	if (!inside) {
		base = target_of(w, &o);
		if (!base.roots && index.roots)
			base.roots = index.roots;
		o = (struct operand){ .kind = MEMORY, .v = base };
	}
	o.v.flags |= index.flags & (V_VARYING | V_SHARED);
	o.v.deps |= index.deps;
	return o;
}

static struct operand postfix(struct walk *w, uint32_t end)
{
	struct operand o = primary(w, end);
	struct job *j = w->j;

	while (w->at < end) {
		if (is(j, w->at, '[')) {
			o = subscript(w, o);
		} else if (is(j, w->at, '(')) {	/* through something we can't name */
			uint32_t close = j->toks[w->at].x;

			if (!(w->f->own & (U_ASM | U_BARE | U_HIDDEN)))	/* said already */
				cl_use(w, U_EXTERN, j->toks[w->at].line);
			w->at++;
			escape(w, cl_expression(w, close).roots);
			w->at = close + 1;
		} else if (is(j, w->at, '.') || is(j, w->at, LEX_ARROW)) {
			bool arrow = is(j, w->at, LEX_ARROW);

			w->at++;
			o = member(w, o, arrow);
		} else if (is(j, w->at, LEX_INC) || is(j, w->at, LEX_DEC)) {
			struct value v = value_of(w, &o);

			store(w, &o, v);
			w->at++;
			o = plain(v);
		} else {
			break;
		}
	}
	return o;
}

static struct operand address_of(struct walk *w, struct operand o)
{
	if (o.kind == NAMED) {
		struct var *x = &w->j->vars[o.var];

		if (!x->array || !x->moved) {
			x->addressed = true;
			w->own |= x->v.roots;
			w->own_flags |= x->v.flags & (V_VARYING | V_SHARED);
			if (x->holds && x->pointer)
				x->v.roots |= FROM_UNKNOWN;
		}
		o.v.roots = x->moved ? FROM_GROUP : FROM_PRIVATE;
		if (x->volatile_)
			o.v.flags |= V_VOLATILE;
	} else if (o.kind == MEMORY && !o.v.roots) {
		o.v.roots = FROM_UNKNOWN;
	}
	o.kind = VALUE;
	return o;
}

static struct operand unary(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	struct operand o;
	uint16_t p;

	if (w->at >= end)
		return literal();
	p = j->toks[w->at].punct;
	switch (p) {
	case '+': case '-': case '!': case '~': case '*': case '&':
	case LEX_INC: case LEX_DEC:
		break;
	case '^':		/* a block */
		cl_use(w, U_ENQUEUE, j->toks[w->at].line);
		for (w->at++; w->at < end && !is(j, w->at, '{'); w->at++)
			if (is(j, w->at, '('))
				w->at = j->toks[w->at].x;
		if (w->at < end)
			w->at = j->toks[w->at].x + 1;
		return literal();
	default:
		return postfix(w, end);
	}
	deeper(j, j->toks[w->at].line);
	w->at++;
	o = unary(w, end);
	j->depth--;
	if (p == '*') {
		if (o.kind == NAMED && j->vars[o.var].array && !o.element) {
			o.element = true;
			if (j->vars[o.var].moved)
				o = (struct operand){ .kind = MEMORY, .v.roots = FROM_GROUP };
			return o;
		}
		o.v = target_of(w, &o);
		o.kind = MEMORY;
		return o;
	}
	if (p == '&')
		return address_of(w, o);
	if (p == LEX_INC || p == LEX_DEC) {
		struct value v = value_of(w, &o);

		v.flags &= ~V_LITERAL;
		store(w, &o, v);
	}
	if (p == '!') {
		struct value v = value_of(w, &o);

		cl_negate(&v);
		return plain(v);
	}
	return o.kind == VALUE && (p == '+' || p == '-') ? o : plain(value_of(w, &o));
}

static bool assigns(uint16_t p)
{
	return p == '=' || (p >= LEX_MUL_SET && p <= LEX_OR_SET);
}

/*
 * A comparison with what a compare and swap found tells whether that went well; then
 * others got on if it didn't, and nobody is waited for; see call.c.
 */
static void compared(struct value *v, uint32_t how)
{
	if (!how || !(v->flags & (V_SWAPPED | V_WON | V_LOST)))
		return;
	/* (x == e) == y: unknown */
	v->flags |= v->flags & (V_WON | V_LOST) ? V_WON | V_LOST : how;
	if (v->flags & V_SWAPPED)
		v->flags &= ~(V_SHARED | V_SWAPPED);
}

/* 0 or false, alone */
static bool is_false(const struct job *j, uint32_t i)
{
	const struct tok *t = &j->toks[i];

	return (t->len == 1 && j->text[t->pos] == '0') ||
		(t->len == 5 && !memcmp(j->text + t->pos, "false", 5));
}

/* Up to a comma or @end; @first is what was read of it already. */
static struct value assignment_from(struct walk *w, uint32_t end, const struct operand *first)
{
	struct value all = { .flags = V_LITERAL }, part = all;
	struct job *j = w->j;
	struct frame arm = { .line = j->toks[w->at].line };
	uint32_t compares = 0;
	bool arms = false;

	deeper(j, j->toks[w->at].line);
	while (first || (w->at < end && !is(j, w->at, ','))) {
		struct operand o = first ? *first : unary(w, end);
		uint16_t p = w->at < end ? j->toks[w->at].punct : 0;
		struct value v;

		first = NULL;
		if (assigns(p)) {
			w->at++;
			v = cl_assignment(w, end);
			if (p != '=') {
				struct value old = value_of(w, &o);

				cl_merge(&v, &old);
			}
			store(w, &o, v);
		} else {
			v = value_of(w, &o);
		}
		cl_merge(&part, &v);
		if (w->at >= end || is(j, w->at, ','))
			break;
		if (part.flags & (V_WON | V_LOST) && (p == LEX_EQ || p == LEX_NE) &&
		    is_false(j, w->at + 1)) {
			if (p == LEX_EQ)
				cl_negate(&part);
		} else {
			compares |= p == LEX_EQ ? V_WON : p == LEX_NE ? V_LOST : 0;
		}
		if (p == LEX_AND_AND || p == LEX_OR_OR || p == '?' || p == ':') {
			compared(&part, compares);
			cl_merge(&all, &part);
			arm.when = all;
			if (!arms)
				cl_push_frame(w, &arm);
			arms = true;
			part = (struct value){ .flags = V_LITERAL };
			compares = 0;
		}
		/* two operands side by side: nothing that we know, but each is read */
		if (p && p != '(' && p != '{' && p != '[')
			w->at++;
	}
	compared(&part, compares);
	cl_merge(&all, &part);
	if (arms)
		cl_pop_frame(w);
	j->depth--;
	return all;
}

struct value cl_assignment(struct walk *w, uint32_t end)
{
	return assignment_from(w, end, NULL);
}

/* All up to @end, commas too. */
static struct value rest(struct walk *w, uint32_t end, const struct operand *first)
{
	struct value all = { .flags = V_LITERAL };

	while (first || w->at < end) {
		struct value v = assignment_from(w, end, first);

		first = NULL;
		cl_merge(&all, &v);
		if (w->at < end)
			w->at++;
	}
	return all;
}

struct value cl_expression(struct walk *w, uint32_t end)
{
	return rest(w, end, NULL);
}
