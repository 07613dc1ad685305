// SPDX-License-Identifier: MIT
/* Declarations: variables, registers, parameters. */
#include <errno.h>
#include <string.h>

#include "parser.h"

uint8_t linkage_of(const struct parser *p)
{
	return is_word(p, ".extern") ? PTX_EXTERN : is_word(p, ".visible") ? PTX_VISIBLE :
	       is_word(p, ".weak") ? PTX_WEAK : is_word(p, ".common") ? PTX_COMMON : 0;
}

enum ptx_space space_of(const struct parser *p)
{
	static const struct {
		const char *name;
		enum ptx_space space;
	} spaces[] = {
		{ ".reg", PTX_SPACE_REG }, { ".param", PTX_SPACE_PARAM },
		{ ".shared", PTX_SPACE_SHARED }, { ".local", PTX_SPACE_LOCAL },
		{ ".global", PTX_SPACE_GLOBAL }, { ".const", PTX_SPACE_CONST },
		{ ".tex", PTX_SPACE_TEX }, { ".sreg", PTX_SPACE_SREG },
	};
	size_t i;

	if (p->t.kind != TOK_DOT)
		return PTX_SPACE_NONE;
	for (i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (is_word(p, spaces[i].name))
			return spaces[i].space;
	return PTX_SPACE_NONE;
}

/* .attribute(.managed); others are kept, not understood */
static void in_parens(struct parser *p, struct ptx_variable *v)
{
	int depth = 0;

	do {
		if (is_punct(p, '('))
			depth++;
		else if (is_punct(p, ')'))
			depth--;
		else if (is_word(p, ".managed"))
			v->managed = 1;
		next(p);
	} while (depth > 0 && p->t.kind != TOK_EOF);
}

/*
 * What stands before a declared name, in any order: alignment, vector, type, .ptr
 * with its space and the alignment of what it points to.
 */
static void attributes(struct parser *p, struct ptx_variable *v)
{
	uint64_t n;

	while (p->t.kind == TOK_DOT) {
		if (is_word(p, ".align")) {
			next(p);
			if (!parse_uint(p, &n))
				return;
			if (!n || n > 1u << 20 || n & (n - 1)) {
				parse_error(p, -EINVAL, p->t.line, "not an alignment");
				return;
			}
			if (!v->pointer)
				v->align = n;
			continue;
		}
		if (is_word(p, ".ptr"))
			v->pointer = 1;
		else if (is_word(p, ".v2"))
			v->vec = 2;
		else if (is_word(p, ".v4"))
			v->vec = 4;
		else if (is_word(p, ".v8"))
			v->vec = 8;
		else if (ptx_type_of(p->t.s + 1, p->t.len - 1))
			v->type = ptx_type_of(p->t.s + 1, p->t.len - 1);
		next(p);
		if (is_punct(p, '('))
			in_parens(p, v);
	}
}

/* [4][5], [] */
static void dimensions(struct parser *p, struct ptx_variable *v)
{
	uint32_t from = p->m->vec[V_STACK].n;
	struct ptx_operand o;

	v->count = 1;
	while (is_punct(p, '[')) {
		next(p);
		memset(&o, 0, sizeof(o));
		o.kind = PTX_INT;
		if (!is_punct(p, ']') && !parse_constant(p, &o))
			return;
		if (!expect(p, ']'))
			return;
		v->array = 1;
		if (o.imm && v->count > (1ull << 40) / o.imm) {
			parse_error(p, -EINVAL, p->t.line, "an array of impossible size");
			return;
		}
		v->count *= o.imm;
		*(struct ptx_operand *)vec_add(p, V_STACK) = o;
	}
	v->n_dims = p->m->vec[V_STACK].n - from;
	v->dims = take_operands(p, from);
}

static uint32_t declare_name(struct parser *p, const struct ptx_variable *like)
{
	struct ptx_variable v = *like;
	uint32_t i, from;
	uint64_t n;

	if (p->t.kind != TOK_WORD) {
		parse_error(p, -EINVAL, p->t.line, "a name to declare is missing");
		return PTX_NONE;
	}
	v.sym = intern(p, p->t.s, p->t.len);
	v.line = p->t.line;
	next(p);
	if (is_punct(p, '<')) {
		next(p);
		if (!parse_uint(p, &n) || !expect(p, '>'))
			return PTX_NONE;
		if (n >= PTX_NONE || v.space != PTX_SPACE_REG)
			parse_error(p, -EINVAL, p->t.line, "not a range of registers");
		else
			bind_range(p, v.sym, n, v.type, v.vec);
		return PTX_NONE;
	}
	if (v.space == PTX_SPACE_REG) {
		bind_name(p, v.sym, PTX_REG, add_reg(p, v.sym, v.type, v.vec));
		return PTX_NONE;
	}
	dimensions(p, &v);
	v.size = v.count * v.vec * ptx_type_size(v.type);
	if (!v.align)
		v.align = ptx_type_size(v.type) * v.vec;
	if (!v.align)
		v.align = 1;
	i = vec_push(p, V_VARS);
	*VAR(p, i) = v;
	bind_name(p, v.sym, PTX_VARIABLE, i);
	if (accept(p, '=')) {
		from = p->m->vec[V_STACK].n;
		parse_operand(p);
		from = take_operands(p, from);
		VAR(p, i)->init = from;
	}
	return i;
}

uint32_t parse_declaration(struct parser *p, uint8_t linkage)
{
	struct ptx_variable v = { .space = space_of(p), .linkage = linkage, .vec = 1,
				  .init = PTX_NONE, .function = p->function,
				  .scope = p->scope };
	uint32_t first = PTX_NONE, i;

	next(p);
	attributes(p, &v);
	do {
		i = declare_name(p, &v);
		if (first == PTX_NONE)
			first = i;
	} while (accept(p, ','));
	return first;
}

/* A parenthesised list of .param or .reg declarations; p->t is behind the '('. */
void parse_params(struct parser *p, uint32_t *first, uint32_t *n, uint32_t *bytes)
{
	struct ptx_variable v, *var;
	uint64_t at = 0;
	uint32_t i;

	*first = p->m->vec[V_VARS].n;
	*n = 0;
	if (is_punct(p, ')'))
		goto out;
	while (!p->m->err) {
		memset(&v, 0, sizeof(v));
		v.space = space_of(p);
		v.vec = 1;
		v.init = PTX_NONE;
		v.function = p->function;
		v.scope = p->scope;
		if (v.space != PTX_SPACE_PARAM && v.space != PTX_SPACE_REG) {
			parse_error(p, -EINVAL, p->t.line, "a parameter is missing");
			return;
		}
		next(p);
		attributes(p, &v);
		i = declare_name(p, &v);
		if (i != PTX_NONE) {
			var = VAR(p, i);
			at = (at + var->align - 1) & ~((uint64_t)var->align - 1);
			var->offset = at;
			at += var->size;
			if (at > 1u << 30)
				parse_error(p, -EINVAL, v.line, "parameters of impossible size");
			++*n;
		}
		if (!accept(p, ','))
			break;
	}
out:
	*bytes = at;
}
