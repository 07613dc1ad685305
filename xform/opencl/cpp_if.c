// SPDX-License-Identifier: MIT
/*
 * The expressions of #if. The standard has them computed in intmax_t, which is 64 bits
 * for most, but 128 in clang's OpenCL, where long long is that wide. So both are
 * computed side by side, and where they decide differently (~0u == 0xffffffffffffffff)
 * the text is refused, as no one can say what the device's compiler does.
 */
#include <errno.h>
#include <string.h>

#include "cpp.h"

#define MAX_DEPTH	200

typedef unsigned __int128 wide;

enum { NARROW, WIDE, WIDTHS };

struct value {
	wide v[WIDTHS];		/* [NARROW]: the upper half is 0 */
	bool uns[WIDTHS];
};

struct eval {
	struct cpp *p;
	struct tok t;
	uint32_t depth;
};

static struct value conditional(struct eval *e, bool live);

static void bad(struct eval *e, const char *what)
{
	cpp_error(e->p, -EINVAL, e->p->line, "#if: %s", what);
	e->t.kind = LEX_END;
}

static wide cut(wide v, int i)
{
	return i == NARROW ? (uint64_t)v : v;
}

static __int128 signed_of(wide v, int i)
{
	return i == NARROW ? (int64_t)v : (__int128)v;
}

static struct value value_of(int64_t n)
{
	return (struct value){ .v = { (uint64_t)n, (__int128)n } };
}

/* Whether it isn't 0. */
static bool truth(struct eval *e, const struct value *v)
{
	if (!v->v[NARROW] != !v->v[WIDE])
		bad(e, "compilers with 64 and 128 bits don't agree");
	return v->v[NARROW];
}

static void take(struct eval *e)
{
	next_tok(e->p, &e->t);
}

static uint32_t digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static struct value number(struct eval *e)
{
	const char *s = e->t.s, *end = s + e->t.len;
	uint32_t base = 10, u = 0, l = 0, d;
	struct value n = { 0 };
	bool big = false;
	uint64_t v = 0;

	if (*s == '0' && end - s > 1) {
		base = s[1] == 'x' || s[1] == 'X' ? 16 : s[1] == 'b' || s[1] == 'B' ? 2 : 8;
		s += base == 8 ? 1 : 2;
		if (s == end)
			bad(e, "a number without digits");
	}
	for (; s < end && (d = digit(*s)) < base; s++) {
		big |= v > (UINT64_MAX - d) / base;
		v = v * base + d;
	}
	for (; s < end; s++) {
		if (*s == 'u' || *s == 'U')
			u++;
		else if (*s == 'l' || *s == 'L')
			l += 1 + 8 * (l && s[-1] != *s);
		else
			l = 9;
	}
	if (u > 1 || l > 2)
		bad(e, "not an integer");
	if (big)
		bad(e, "a number that is too big");
	n.v[NARROW] = n.v[WIDE] = v;
	n.uns[NARROW] = u || v > INT64_MAX;
	n.uns[WIDE] = u;
	return n;
}

static uint64_t escape(struct eval *e, const char **at, const char *end)
{
	static const char from[] = "abfnrtv\\'\"?e", to[] = "\a\b\f\n\r\t\v\\'\"?\33";
	const char *s = *at + 1, *hit;
	uint64_t v = 0;
	int n = 0;

	if (s < end && *s == 'x') {
		for (s++; s < end && digit(*s) < 16; s++, n++)
			v = v * 16 + digit(*s);
		if (!n || v > 255)
			bad(e, "an escape that isn't right");
	} else if (s < end && digit(*s) < 8) {
		for (; s < end && n < 3 && digit(*s) < 8; s++, n++)
			v = v * 8 + digit(*s);
		if (v > 255)
			bad(e, "an escape that isn't right");
	} else {
		hit = s < end && *s ? strchr(from, *s) : NULL;
		if (!hit)
			bad(e, "an escape that isn't known");
		else
			v = to[hit - from];
		s++;
	}
	*at = s;
	return v & 0xff;
}

/* 'a' is a signed char's value, 'ab' an int with the bytes in that order. */
static struct value character(struct eval *e)
{
	const char *s = e->t.s + 1, *end = e->t.s + e->t.len - 1;
	uint32_t v = 0, n = 0;

	if (e->t.s[0] == 'L') {
		bad(e, "a wide character");
		return value_of(0);
	}
	while (s < end && e->t.kind == LEX_CHAR) {
		v = v << 8 | (*s == '\\' ? escape(e, &s, end) : (unsigned char)*s++);
		n++;
	}
	if (!n || n > 4)
		bad(e, "a character of this length");
	return value_of(n == 1 ? (int8_t)v : (int32_t)v);
}

/* defined X, defined(X): X isn't expanded. */
static struct value defined(struct eval *e)
{
	struct tok *t = &e->t;
	struct name *n;
	bool paren, yes;

	next_raw(e->p, t);
	paren = tok_is(t, '(');
	if (paren)
		next_raw(e->p, t);
	if (t->kind != LEX_NAME) {
		bad(e, "defined without a name");
		return value_of(0);
	}
	n = t->name;
	yes = n->macro || n->device || n->special == S_LINE || n->special == S_FILE;
	if (!yes)
		met_in_condition(e->p, n);
	if (paren) {
		next_raw(e->p, t);
		if (!tok_is(t, ')'))
			bad(e, "defined( without )");
	}
	if (!e->p->err)
		take(e);
	return value_of(yes);
}

/*
 * What only the device knows: __has_builtin(x), or a call of one of its macros. The
 * question is the call as it stands; the answer is a number.
 */
static struct value device_call(struct eval *e, struct name *n)
{
	struct value v = { 0 };
	char text[256];
	uint32_t len = n->len, depth = 0;
	struct name *call;

	if (len >= sizeof(text)) {
		bad(e, "a name that is too long");
		return v;
	}
	memcpy(text, n->s, len);
	do {
		if (e->t.kind == LEX_END || len + e->t.len + 2 > sizeof(text)) {
			bad(e, "a call that doesn't end, or is too long");
			return v;
		}
		if (e->t.kind == LEX_NAME && e->t.name->macro)
			bad(e, "the device's macro is called with one of the program's");
		if (e->t.flags & LEX_SPACE && depth)
			text[len++] = ' ';
		memcpy(text + len, e->t.s, e->t.len);
		len += e->t.len;
		depth += tok_is(&e->t, '(');
		depth -= tok_is(&e->t, ')');
		next_raw(e->p, &e->t);
	} while (depth && !e->p->err);
	text[len] = 0;
	call = name_of(e->p, text, len);
	if (!(call->flags & NAME_KNOWN)) {
		ask_text(e->p, text);
	} else if (call->device && call->device->n == 1 &&
		   call->device->body->kind == LEX_NUMBER) {
		struct tok after = e->t;

		e->t = *call->device->body;
		v = number(e);
		e->t = after;
	} else {
		bad(e, "the device gave no number for a call of its macro");
	}
	/* The token behind the call was taken as it is; it may be a macro. */
	if (e->t.kind == LEX_NAME) {
		push_list(e->p, &e->t, 1, NULL);
		take(e);
	}
	return v;
}

static struct value name(struct eval *e)
{
	struct name *n = e->t.name;
	struct value v = { 0 };

	if (n->special == S_DEFINED)
		return defined(e);
	if (n->special == S_HAS_INCLUDE) {
		v = value_of(has_include(e->p));
		take(e);
		return v;
	}
	if (n->special == S_PRAGMA || n->special == S_VA_ARGS || n->special == S_FILE) {
		bad(e, "a name that has no value");
		return v;
	}
	if (!n->macro && !n->device && !n->special)
		met_in_condition(e->p, n);
	take(e);
	if (tok_is(&e->t, '(') && (n->special == S_HAS || n->flags & NAME_ASKED ||
				   (n->flags & NAME_KNOWN && n->device)))
		return device_call(e, n);
	if (tok_is(&e->t, '('))
		bad(e, "a call of what is no macro");
	return v;
}

static struct value unary(struct eval *e, bool live)
{
	struct value v = { 0 };
	uint16_t op = e->t.kind == LEX_PUNCT ? e->t.punct : 0;

	if (++e->depth > MAX_DEPTH) {
		cpp_error(e->p, -E2BIG, e->p->line, "#if is nested too deep");
		e->t.kind = LEX_END;
	} else if (op == '(') {
		take(e);
		v = conditional(e, live);
		if (!tok_is(&e->t, ')'))
			bad(e, "a ) is missing");
		else
			take(e);
	} else if (op == '+' || op == '-' || op == '~' || op == '!') {
		take(e);
		v = unary(e, live);
		if (op == '!')
			v = value_of(!truth(e, &v));
		for (int i = 0; i < WIDTHS; i++)
			v.v[i] = cut(op == '-' ? -v.v[i] : op == '~' ? ~v.v[i] : v.v[i], i);
	} else if (e->t.kind == LEX_NAME) {
		v = name(e);
	} else if (e->t.kind == LEX_NUMBER) {
		v = number(e);
		take(e);
	} else if (e->t.kind == LEX_CHAR) {
		v = character(e);
		take(e);
	} else {
		bad(e, "a value is missing");
	}
	e->depth--;
	return v;
}

static int level_of(const struct tok *t)
{
	if (t->kind != LEX_PUNCT)
		return 0;
	switch (t->punct) {
	case '*': case '/': case '%':
		return 10;
	case '+': case '-':
		return 9;
	case LEX_SHL: case LEX_SHR:
		return 8;
	case '<': case '>': case LEX_LE: case LEX_GE:
		return 7;
	case LEX_EQ: case LEX_NE:
		return 6;
	case '&':
		return 5;
	case '^':
		return 4;
	case '|':
		return 3;
	case LEX_AND_AND:
		return 2;
	case LEX_OR_OR:
		return 1;
	}
	return 0;
}

static wide divide(struct eval *e, uint16_t op, wide a, wide b, bool uns, int i, bool live)
{
	__int128 x = signed_of(a, i), y = signed_of(b, i);

	if (!b) {
		if (live)
			bad(e, "a division by zero");
		return 0;
	}
	if (uns)
		return op == '/' ? a / b : a % b;
	if (y == -1)		/* the least number has no opposite */
		return op == '/' ? -a : 0;
	return op == '/' ? x / y : x % y;
}

static wide shift(struct eval *e, uint16_t op, wide a, wide b, bool uns, int i, bool live)
{
	if (b > 63) {		/* undefined, and compilers differ */
		if (live)
			bad(e, "a shift by less than 0 or more than 63");
		return 0;
	}
	if (op == LEX_SHL)
		return a << b;
	return uns ? a >> b : (wide)(signed_of(a, i) >> b);
}

static bool compare(uint16_t op, wide a, wide b, bool uns, int i)
{
	bool less = uns ? a < b : signed_of(a, i) < signed_of(b, i);

	switch (op) {
	case '<':
		return less;
	case '>':
		return !less && a != b;
	case LEX_LE:
		return less || a == b;
	case LEX_GE:
		return !less;
	case LEX_EQ:
		return a == b;
	default:
		return a != b;
	}
}

/* One operator in one width; *uns: the operands' sign comes in, the result's goes out. */
static wide apply(struct eval *e, uint16_t op, const struct value *x, const struct value *y,
		  bool *uns, int i, bool live)
{
	wide a = x->v[i], b = y->v[i];

	switch (op) {
	case '/':
	case '%':
		return divide(e, op, a, b, *uns, i, live);
	case LEX_SHL:
	case LEX_SHR:
		*uns = x->uns[i];
		return shift(e, op, a, b, *uns, i, live);
	case '*':
		return a * b;
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '&':
		return a & b;
	case '^':
		return a ^ b;
	case '|':
		return a | b;
	default:
		b = compare(op, a, b, *uns, i);
		*uns = false;
		return b;
	}
}

static struct value binary(struct eval *e, int least, bool live)
{
	struct value a = unary(e, live), b;
	bool yes;
	uint16_t op;
	int level;

	while ((level = level_of(&e->t)) >= least && level && !e->p->err) {
		op = e->t.punct;
		take(e);
		if (op == LEX_AND_AND || op == LEX_OR_OR) {
			yes = truth(e, &a);
			b = binary(e, level + 1, live && yes == (op == LEX_AND_AND));
			a = value_of(op == LEX_AND_AND ? yes && truth(e, &b) : yes || truth(e, &b));
			continue;
		}
		b = binary(e, level + 1, live);
		for (int i = 0; i < WIDTHS; i++) {
			bool uns = a.uns[i] | b.uns[i];

			a.v[i] = cut(apply(e, op, &a, &b, &uns, i, live), i);
			a.uns[i] = uns;
		}
	}
	return a;
}

static struct value conditional(struct eval *e, bool live)
{
	struct value c = binary(e, 1, live), a, b;
	bool yes;

	if (tok_is(&e->t, '?') && ++e->depth <= MAX_DEPTH) {
		yes = truth(e, &c);
		take(e);
		a = conditional(e, live && yes);
		if (!tok_is(&e->t, ':')) {
			bad(e, "a : is missing");
			return a;
		}
		take(e);
		b = conditional(e, live && !yes);
		e->depth--;
		c = yes ? a : b;
		for (int i = 0; i < WIDTHS; i++)
			c.uns[i] = a.uns[i] | b.uns[i];
	}
	if (tok_is(&e->t, ',') && !e->p->err) {
		if (live)		/* not a constant expression; some take it */
			bad(e, "a comma");
		take(e);
		c = conditional(e, live);
	}
	return c;
}

bool cpp_condition(struct cpp *p, const struct toks *line)
{
	struct eval e = { .p = p };
	bool outer = p->in_if;
	struct value v;

	push_wall(p, line->t, line->n);
	p->in_if = true;
	take(&e);
	v = conditional(&e, true);
	if (e.t.kind != LEX_END)
		bad(&e, "something stands behind the expression");
	p->in_if = outer;
	pop_wall(p);
	return truth(&e, &v);
}
