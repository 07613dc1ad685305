// SPDX-License-Identifier: MIT
/* Statements of a function's body. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

static uint32_t add_stmt(struct parser *p, enum ptx_stmt_kind kind, const struct token *t)
{
	uint32_t i = vec_push(p, V_STMTS);

	*STMT(p, i) = (struct ptx_stmt){ .kind = kind, .line = t->line, .pred = PTX_NONE,
					 .begin = offset_of(p, t->s),
					 .end = offset_of(p, t->s) + t->len,
					 .ref = PTX_NONE, .scope = p->scope };
	return i;
}

/* To the ';' that ends a statement; its end goes into the statement. */
static void end_stmt(struct parser *p, uint32_t i)
{
	if (is_punct(p, ';'))
		STMT(p, i)->end = offset_of(p, p->t.s) + 1;
	expect(p, ';');
}

static void skip_stmt(struct parser *p, uint32_t i)
{
	int depth = 0;

	STMT(p, i)->kind = PTX_UNKNOWN;
	while (p->t.kind != TOK_EOF && !(is_punct(p, ';') && !depth)) {
		depth += is_punct(p, '{');
		depth -= is_punct(p, '}') && depth;
		next(p);
	}
	end_stmt(p, i);
}

static char *join(struct parser *p, const char *s, uint32_t len, char *old)
{
	uint32_t had = old ? strlen(old) : 0;
	char *joined = realloc(old, had + len + 1);

	if (!joined || had + len > 200) {
		parse_error(p, joined ? -EINVAL : -ENOMEM, p->t.line, "an endless opcode");
		free(joined ? joined : old);
		return NULL;
	}
	memcpy(joined + had, s, len);
	joined[had + len] = 0;
	return joined;
}

/*
 * An opcode with its modifiers: ld.global.v4.f32, cp.async.ca.shared::cta. White
 * space before a modifier is legal and rare.
 */
static uint32_t opcode(struct parser *p)
{
	const char *s = p->t.s, *e = p->p;
	char *joined = NULL;
	uint32_t len, i;

	while (e < p->end && (name_char(*e) || *e == '.' ||
			      (*e == ':' && p->end - e > 2 && e[1] == ':' && name_char(e[2]))))
		e += *e == ':' ? 2 : 1;
	len = e - s;
	p->p = e;
	next(p);
	if (p->t.kind != TOK_DOT)
		return intern_opcode(p, s, len);
	joined = join(p, s, len, NULL);
	while (joined && p->t.kind == TOK_DOT) {
		joined = join(p, p->t.s, p->t.len, joined);
		next(p);
	}
	if (!joined)
		return 0;
	i = vec_push(p, V_STRINGS);
	if (p->m->err) {
		free(joined);
		return 0;
	}
	VEC(p, V_STRINGS, char *)[i] = joined;
	return intern_opcode(p, joined, strlen(joined));
}

/* (ret), f, (args), prototype; all but f may be missing */
static void call_operands(struct parser *p)
{
	while (!p->m->err && !is_punct(p, ';')) {
		if (is_punct(p, '(')) {
			struct ptx_operand list = { .kind = PTX_LIST };
			uint32_t from = p->m->vec[V_STACK].n;

			next(p);
			while (!p->m->err && !is_punct(p, ')')) {
				parse_operand(p);
				if (!accept(p, ','))
					break;
			}
			expect(p, ')');
			list.n_children = p->m->vec[V_STACK].n - from;
			list.child = take_operands(p, from);
			*(struct ptx_operand *)vec_add(p, V_STACK) = list;
		} else {
			parse_operand(p);
		}
		if (!accept(p, ','))
			break;
	}
}

static void operands(struct parser *p, uint32_t i, bool call)
{
	uint32_t from = p->m->vec[V_STACK].n, n, k;
	struct ptx_operand callee = { 0 };
	bool taken;

	if (call) {
		call_operands(p);
	} else {
		while (!p->m->err && !is_punct(p, ';')) {
			parse_operand(p);
			if (!accept(p, ','))
				break;
		}
	}
	n = p->m->vec[V_STACK].n - from;
	if (n > 0xffff) {
		parse_error(p, -E2BIG, p->t.line, "too many operands");
		return;
	}
	STMT(p, i)->n_args = n;
	for (k = 0; call && k < n; k++) {
		callee = VEC(p, V_STACK, struct ptx_operand)[from + k];
		if (callee.kind != PTX_LIST)
			break;
	}
	taken = callee.kind == PTX_FUNCTION && FUNCTION(p, callee.ref)->address_taken;
	STMT(p, i)->args = take_operands(p, from);
	/* being called doesn't count as having one's address taken */
	if (callee.kind == PTX_FUNCTION)
		FUNCTION(p, callee.ref)->address_taken = taken;
}

/* @p or @!p, then the opcode and its operands. */
static void instruction(struct parser *p)
{
	uint32_t i = add_stmt(p, PTX_INSTR, &p->t), from;
	struct ptx_operand pred;

	if (accept(p, '@')) {
		from = p->m->vec[V_STACK].n;
		parse_operand(p);
		pred = VEC(p, V_STACK, struct ptx_operand)[from];
		if (!p->m->err && pred.kind != PTX_REG && pred.kind != PTX_NAME)
			parse_error(p, -EINVAL, p->t.line, "a predicate must be a register");
		STMT(p, i)->pred_not = pred.not;
		STMT(p, i)->pred = take_operands(p, from);
	}
	if (p->t.kind != TOK_WORD) {
		parse_error(p, -EINVAL, p->t.line, "an instruction is missing before '%.*s'",
			    (int)(p->t.len < 40 ? p->t.len : 40),
			    p->t.kind == TOK_EOF ? "" : p->t.s);
		return;
	}
	from = opcode(p);
	STMT(p, i)->ref = from;
	if (p->m->err)
		return;
	operands(p, i, VEC(p, V_OPCODES, struct ptx_opcode)[from].op == PTX_OP_call);
	end_stmt(p, i);
	FUNCTION(p, p->function)->instructions++;
}

static uint32_t label(struct parser *p, const struct token *t)
{
	uint32_t i = vec_push(p, V_LABELS), stmt = add_stmt(p, PTX_MARK, t);

	VEC(p, V_LABELS, struct ptx_label)[i] = (struct ptx_label){
		.sym = intern(p, t->s, t->len), .scope = p->scope, .stmt = stmt,
		.function = p->function };
	STMT(p, stmt)->ref = i;
	STMT(p, stmt)->end = offset_of(p, p->t.s) + 1;	/* with its colon */
	add_label(p, i);
	return i;
}

static void directive(struct parser *p, uint32_t at_label)
{
	uint32_t i, from;

	if (is_word(p, ".loc") || is_word(p, ".file")) {
		i = add_stmt(p, PTX_LOC, &p->t);
		STMT(p, i)->end = offset_of(p, skip_line(p));
		return;
	}
	if (space_of(p) != PTX_SPACE_NONE || linkage_of(p)) {
		uint8_t linkage = linkage_of(p);

		i = add_stmt(p, PTX_DECL, &p->t);
		if (linkage)
			next(p);
		from = parse_declaration(p, linkage);
		STMT(p, i)->ref = from;
		end_stmt(p, i);
		return;
	}
	i = add_stmt(p, PTX_UNKNOWN, &p->t);
	if (is_word(p, ".branchtargets") || is_word(p, ".calltargets")) {
		next(p);
		operands(p, i, false);
		STMT(p, i)->kind = PTX_TARGETS;
		STMT(p, i)->ref = at_label;
		end_stmt(p, i);
	} else if (is_word(p, ".callprototype")) {
		skip_stmt(p, i);
		STMT(p, i)->kind = PTX_PROTOTYPE;
		STMT(p, i)->ref = at_label;
	} else if (is_word(p, ".pragma")) {
		skip_stmt(p, i);
		STMT(p, i)->kind = PTX_PRAGMA;
	} else {
		skip_stmt(p, i);
	}
}

static bool colon_follows(const struct parser *p)
{
	const char *s = p->p;

	while (s < p->end && (*s == ' ' || *s == '\t'))
		s++;
	return s < p->end && *s == ':' && !(p->end - s > 1 && s[1] == ':');
}

/* Between { and the } that closes the function; p->t is behind the {. */
void parse_body(struct parser *p, uint32_t function)
{
	uint32_t outer = p->depth, last_label = PTX_NONE;
	struct token t;

	FUNCTION(p, function)->body = p->m->vec[V_STMTS].n;
	while (p->t.kind != TOK_EOF) {
		t = p->t;
		if (t.kind == TOK_DOT) {
			directive(p, last_label);
		} else if (is_punct(p, '{')) {
			add_stmt(p, PTX_OPEN, &t);
			open_scope(p);
			next(p);
		} else if (is_punct(p, '}')) {
			if (p->depth == outer)
				break;
			add_stmt(p, PTX_CLOSE, &t);
			close_scope(p);
			next(p);
		} else if (is_punct(p, ';')) {
			next(p);
		} else if (t.kind == TOK_WORD && colon_follows(p)) {
			next(p);
			last_label = label(p, &t);
			next(p);
			continue;
		} else if (t.kind == TOK_WORD || is_punct(p, '@')) {
			instruction(p);
		} else {
			parse_error(p, -EINVAL, t.line, "'%.*s' begins no statement",
				    (int)(t.len < 40 ? t.len : 40), t.s);
		}
		last_label = PTX_NONE;
	}
	if (p->t.kind == TOK_EOF)
		parse_error(p, -EINVAL, p->t.line, "the body of a function doesn't end");
	FUNCTION(p, function)->n_body = p->m->vec[V_STMTS].n - FUNCTION(p, function)->body;
}
