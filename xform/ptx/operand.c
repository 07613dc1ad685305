// SPDX-License-Identifier: MIT
/*
 * Operands and constants.
 *
 * Children of an operand lie side by side in the tree, so they are collected on a
 * stack first and moved there together when their list closes.
 */
#include <errno.h>
#include <string.h>

#include "parser.h"

static struct ptx_operand *push(struct parser *p)
{
	uint32_t i = vec_push(p, V_STACK);

	return &VEC(p, V_STACK, struct ptx_operand)[i];
}

/* Moves what the stack holds from `from` on into the tree; gives its index. */
uint32_t take_operands(struct parser *p, uint32_t from)
{
	struct ptx_vec *stack = &p->m->vec[V_STACK];
	uint32_t first = p->m->vec[V_OPERANDS].n, i, to;
	struct ptx_operand *o;

	for (i = from; i < stack->n && !p->m->err; i++) {
		to = vec_push(p, V_OPERANDS);
		o = OPERAND(p, to);
		*o = ((struct ptx_operand *)stack->p)[i];
		if (o->kind == PTX_NAME && p->function != PTX_NONE) {
			uint32_t k = vec_push(p, V_MARKS);

			VEC(p, V_MARKS, struct mark)[k] = (struct mark){ to, p->scope };
		} else if (o->kind == PTX_FUNCTION) {
			FUNCTION(p, o->ref)->address_taken = 1;
		}
	}
	stack->n = from;
	return first;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static bool digits(const char *s, uint32_t len, int base, uint64_t *v)
{
	if (!len)
		return false;
	for (*v = 0; len; len--, s++) {
		if (digit(*s) >= base || *v > (UINT64_MAX - digit(*s)) / base)
			return false;
		*v = *v * base + digit(*s);
	}
	return true;
}

/* Decimal: 1.5, .5, 1e-3. Rounded twice at worst; compilers write 0d and 0f. */
static bool decimal(const char *s, uint32_t len, double *v)
{
	long double x = 0, scale = 1;
	int exponent = 0, sign = 1, point = 0, seen = 0, written = 0;
	uint32_t i;

	for (i = 0; i < len && (digit(s[i]) < 10 || (s[i] == '.' && !point)); i++) {
		if (s[i] == '.') {
			point = 1;
			continue;
		}
		seen = 1;
		if (x < 1e30L) {
			x = x * 10 + digit(s[i]);
			exponent -= point;
		} else {
			exponent += !point;
		}
	}
	if (i < len && (s[i] | 0x20) == 'e') {
		if (++i < len && (s[i] == '-' || s[i] == '+'))
			sign = s[i++] == '-' ? -1 : 1;
		for (seen = 0; i < len && digit(s[i]) < 10; i++, seen = 1)
			written = written < 9999 ? written * 10 + digit(s[i]) : written;
		exponent += sign * written;
	}
	if (!seen || i != len)
		return false;
	exponent = exponent > 4900 ? 4900 : exponent < -4900 ? -4900 : exponent;
	for (i = exponent < 0 ? -exponent : exponent; i; i--)
		scale *= 10;
	*v = exponent < 0 ? x / scale : x * scale;
	return true;
}

/* The number token at hand. */
static bool number(struct parser *p, struct ptx_operand *o)
{
	const char *s = p->t.s;
	uint32_t len = p->t.len;
	bool ok;
	double d = 0;

	o->kind = PTX_INT;
	if (len > 1 && s[0] == '0' && (s[1] | 0x20) == 'f') {
		o->kind = PTX_F32;
		ok = len == 10 && digits(s + 2, 8, 16, &o->imm);
	} else if (len > 1 && s[0] == '0' && (s[1] | 0x20) == 'd') {
		o->kind = PTX_F64;
		ok = len == 18 && digits(s + 2, 16, 16, &o->imm);
	} else if (len > 1 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		len -= s[len - 1] == 'U' || s[len - 1] == 'u';
		ok = digits(s + 2, len - 2, 16, &o->imm);
	} else if (memchr(s, '.', len) || memchr(s, 'e', len) || memchr(s, 'E', len)) {
		o->kind = PTX_F64;
		ok = decimal(s, len, &d);
		memcpy(&o->imm, &d, sizeof(d));
	} else {
		len -= len > 1 && (s[len - 1] == 'U' || s[len - 1] == 'u');
		if (len > 1 && s[0] == '0' && (s[1] | 0x20) == 'b')
			ok = digits(s + 2, len - 2, 2, &o->imm);
		else if (len > 1 && s[0] == '0')
			ok = digits(s + 1, len - 1, 8, &o->imm);
		else
			ok = digits(s, len, 10, &o->imm);
	}
	if (!ok)
		parse_error(p, -EINVAL, p->t.line, "'%.*s' is no number",
			    (int)(p->t.len < 40 ? p->t.len : 40), s);
	else
		next(p);
	return ok;
}

bool parse_uint(struct parser *p, uint64_t *v)
{
	struct ptx_operand o = { 0 };

	if (p->t.kind != TOK_NUMBER) {
		parse_error(p, -EINVAL, p->t.line, "a number is missing");
		return false;
	}
	if (!number(p, &o))
		return false;
	*v = o.imm;
	return o.kind == PTX_INT;
}

static bool binary(struct parser *p, struct ptx_operand *left, int level, int depth);

static bool unary(struct parser *p, struct ptx_operand *o, int depth)
{
	char c = p->t.c;

	if (depth > PTX_DEPTH) {
		parse_error(p, -E2BIG, p->t.line, "an expression is nested too deep");
		return false;
	}
	if (p->t.kind == TOK_NUMBER)
		return number(p, o);
	if (is_punct(p, '(')) {
		next(p);
		if (p->t.kind == TOK_DOT) {	/* a cast, (.s64) or (.u64) */
			next(p);
			return expect(p, ')') && unary(p, o, depth + 1);
		}
		return binary(p, o, 0, depth + 1) && expect(p, ')');
	}
	if (p->t.kind != TOK_PUNCT || !strchr("-+~!", c)) {
		parse_error(p, -EINVAL, p->t.line, "a constant is missing");
		return false;
	}
	next(p);
	if (!unary(p, o, depth + 1))
		return false;
	if (o->kind == PTX_INT)
		o->imm = c == '-' ? -o->imm : c == '~' ? ~o->imm : c == '!' ? !o->imm : o->imm;
	else if (c == '-')
		o->imm ^= o->kind == PTX_F32 ? 1ull << 31 : 1ull << 63;
	return true;
}

/* Binary operators from the loosest on; two characters where the second isn't 0. */
static const struct {
	char c, d;
	int level;
} operators[] = {
	{ '|', '|', 0 }, { '&', '&', 1 }, { '|', 0, 2 }, { '^', 0, 3 }, { '&', 0, 4 },
	{ '=', '=', 5 }, { '!', '=', 5 }, { '<', '=', 6 }, { '>', '=', 6 }, { '<', '<', 7 },
	{ '>', '>', 7 }, { '<', 0, 6 }, { '>', 0, 6 }, { '+', 0, 8 }, { '-', 0, 8 },
	{ '*', 0, 9 }, { '/', 0, 9 }, { '%', 0, 9 },
};

static int operator_at(const struct parser *p, int level)
{
	char d = p->p < p->end ? *p->p : 0;
	size_t i;

	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (is_punct(p, operators[i].c) && (!operators[i].d || operators[i].d == d))
			return operators[i].level >= level ? (int)i : -1;
	return -1;
}

static uint64_t apply(int op, int64_t a, int64_t b)
{
	uint64_t ua = a, ub = b;

	switch (operators[op].c << 8 | operators[op].d) {
	case '|' << 8 | '|': return a || b;
	case '&' << 8 | '&': return a && b;
	case '|' << 8: return ua | ub;
	case '^' << 8: return ua ^ ub;
	case '&' << 8: return ua & ub;
	case '=' << 8 | '=': return a == b;
	case '!' << 8 | '=': return a != b;
	case '<' << 8 | '=': return a <= b;
	case '>' << 8 | '=': return a >= b;
	case '<' << 8: return a < b;
	case '>' << 8: return a > b;
	case '<' << 8 | '<': return ub < 64 ? ua << ub : 0;
	case '>' << 8 | '>': return ub < 64 ? ua >> ub : 0;
	case '+' << 8: return ua + ub;
	case '-' << 8: return ua - ub;
	case '*' << 8: return ua * ub;
	case '/' << 8: return !b ? 0 : b == -1 ? -ua : (uint64_t)(a / b);
	default: return !b || b == -1 ? 0 : (uint64_t)(a % b);
	}
}

static bool binary(struct parser *p, struct ptx_operand *left, int level, int depth)
{
	struct ptx_operand right;
	int op;

	if (!unary(p, left, depth + 1))
		return false;
	while ((op = operator_at(p, level)) >= 0) {
		if (operators[op].d)
			p->p++;
		next(p);
		memset(&right, 0, sizeof(right));
		if (!binary(p, &right, operators[op].level + 1, depth + 1))
			return false;
		if (left->kind != PTX_INT || right.kind != PTX_INT) {
			parse_error(p, -EINVAL, p->t.line, "a float in a constant expression");
			return false;
		}
		left->imm = apply(op, left->imm, right.imm);
	}
	return true;
}

bool parse_constant(struct parser *p, struct ptx_operand *o)
{
	return binary(p, o, 3, 0);	/* | parts the operands of a pair */
}

static void component(struct parser *p, struct ptx_operand *o)
{
	const char *s = p->t.s;

	if (p->t.kind != TOK_DOT || p->t.len > 3)
		return;
	if (p->t.len == 2 && strchr("xyzwrgba", s[1])) {
		static const char rgba[] = "rgba", xyzw[] = "xyzw";
		const char *at = strchr(rgba, s[1]);

		o->component = at ? xyzw[at - rgba] : s[1];
	} else if (p->t.len == 3 && (s[1] == 'b' || s[1] == 'h') && s[2] >= '0' && s[2] <= '3') {
		o->component = s[1];
		o->select = s[2] - '0';
	} else {
		return;
	}
	next(p);
}

static void parse_list_until(struct parser *p, char close)
{
	while (!p->m->err && !is_punct(p, close)) {
		parse_operand(p);
		if (!accept(p, ','))
			break;
	}
	expect(p, close);
}

/* +4-8 behind a name or generic() */
static void offset(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand n;
	bool minus;

	while ((is_punct(p, '+') || is_punct(p, '-')) && !p->m->err) {
		minus = is_punct(p, '-');
		next(p);
		memset(&n, 0, sizeof(n));
		if (!binary(p, &n, 9, 0))
			return;
		o->imm += minus ? -n.imm : n.imm;
	}
}

/* generic(a), mask(0xff)(a); p->t is at the ( */
static void wrapped(struct parser *p, struct ptx_operand *o, enum ptx_kind kind)
{
	uint32_t from = p->m->vec[V_STACK].n;

	next(p);
	parse_list_until(p, ')');
	if (kind == PTX_MASK && accept(p, '('))
		parse_list_until(p, ')');
	o->kind = kind;
	o->n_children = p->m->vec[V_STACK].n - from;
	o->child = take_operands(p, from);
	offset(p, o);
}

/* a, a.x, a+4, a-4, a[2], generic(a), mask(a)(b) */
static void name(struct parser *p, struct ptx_operand *o)
{
	bool generic = is_word(p, "generic"), mask = is_word(p, "mask");
	uint32_t from;

	if (p->t.len == 1 && p->t.s[0] == '_') {
		o->kind = PTX_SINK;
		next(p);
		return;
	}
	o->sym = intern(p, p->t.s, p->t.len);
	next(p);
	if ((generic || mask) && is_punct(p, '(')) {
		wrapped(p, o, mask ? PTX_MASK : PTX_GENERIC);
		return;
	}
	resolve(p, o);
	component(p, o);
	if (is_punct(p, '[')) {
		from = p->m->vec[V_STACK].n;
		next(p);
		parse_list_until(p, ']');
		o->kind = PTX_INDEX;
		o->n_children = p->m->vec[V_STACK].n - from;
		o->child = take_operands(p, from);
	} else {
		offset(p, o);
	}
}

static void children(struct parser *p, struct ptx_operand *o, enum ptx_kind kind, char close)
{
	uint32_t from = p->m->vec[V_STACK].n;

	next(p);
	parse_list_until(p, close);
	o->kind = kind;
	o->n_children = p->m->vec[V_STACK].n - from;
	o->child = take_operands(p, from);
}

static void primary(struct parser *p, struct ptx_operand *o)
{
	if (p->t.kind == TOK_WORD) {
		name(p, o);
	} else if (is_punct(p, '[')) {
		children(p, o, PTX_ADDRESS, ']');
	} else if (is_punct(p, '{')) {
		children(p, o, PTX_VECTOR, '}');
	} else if (is_punct(p, '!')) {
		next(p);
		primary(p, o);
		o->not = 1;
	} else if (p->t.kind == TOK_STRING) {
		o->kind = PTX_STRING;
		next(p);
	} else if (is_punct(p, '-') && p->p < p->end && !(*p->p >= '0' && *p->p <= '9') &&
		   *p->p != '(' && *p->p != '.' && *p->p != '-' && *p->p != '~' && *p->p != ' ') {
		next(p);
		primary(p, o);
		o->neg = 1;
	} else {
		parse_constant(p, o);
	}
}

uint32_t parse_operand(struct parser *p)
{
	struct ptx_operand o = { 0 }, second = { 0 };
	uint32_t at = p->m->vec[V_STACK].n;

	if (++p->nesting > PTX_DEPTH) {
		parse_error(p, -E2BIG, p->t.line, "operands are nested too deep");
		return at;
	}
	primary(p, &o);
	if (is_punct(p, '|') && !p->m->err) {
		next(p);
		primary(p, &second);
		*push(p) = o;
		*push(p) = second;
		memset(&o, 0, sizeof(o));
		o.kind = PTX_PAIR;
		o.n_children = 2;
		o.child = take_operands(p, at);
	}
	*push(p) = o;
	p->nesting--;
	return at;
}
