/* SPDX-License-Identifier: MIT */
/*
 * What the files of the front end share: the cursor over the text, the growing
 * arrays, names and their scopes. Nothing here is for users of the tree.
 *
 * Errors stick: the first one is noted in the module, from then on the lexer
 * gives nothing but the end, so that every loop ends by itself. Arrays have room
 * for one element from the start; when one can't grow, its first element stands
 * in, as the module is thrown away anyway.
 */
#ifndef GSX_PTX_PARSER_H
#define GSX_PTX_PARSER_H

#include "ptx.h"

enum token_kind { TOK_EOF, TOK_WORD, TOK_DOT, TOK_NUMBER, TOK_STRING, TOK_PUNCT };

struct token {
	enum token_kind kind;
	char c;			/* TOK_PUNCT */
	const char *s;		/* TOK_DOT: with the dot; TOK_STRING: with quotes */
	uint32_t len;
	uint32_t line;
};

enum vec_id {
	V_FUNCTIONS, V_STMTS, V_OPERANDS, V_REGS, V_VARS, V_LABELS, V_SCOPES, V_SYMS, V_OPCODES,
	V_BINDINGS, V_RANGES, V_UNDO, V_STACK, V_MARKS, V_STRINGS,
	V_COUNT
};

/* A name that means something in a scope. */
struct binding {
	uint32_t sym;
	uint32_t outer;		/* binding that it hides */
	uint32_t depth;
	enum ptx_kind kind;	/* PTX_REG, PTX_VARIABLE, PTX_FUNCTION */
	uint32_t ref;
};

/* .reg .b32 %r<100>: a prefix that stands for many names. */
struct range {
	uint32_t sym;		/* the prefix */
	uint32_t outer;
	uint32_t depth;
	uint32_t count;
	uint8_t type, vec;
};

/* What to take back when a scope closes. */
struct undo {
	uint32_t is_range;
	uint32_t index;
	uint32_t depth;
};

/* A name in an operand that may turn out to be a label. */
struct mark {
	uint32_t operand;
	uint32_t scope;
};

struct slots {
	uint32_t *slot;		/* index + 1, 0: free */
	uint32_t mask, used;
};

struct parser {
	struct ptx_module *m;
	const char *p, *end;
	uint32_t line;
	struct token t;
	struct slots syms, opcodes, labels, range_regs;
	uint32_t depth;
	uint32_t scope;		/* PTX_NONE at module scope */
	uint32_t function;	/* index while inside one, else PTX_NONE */
	uint32_t nesting;	/* of operands */
};

#define VEC(par, id, type)	((type *)(par)->m->vec[id].p)
#define FUNCTION(par, i)	(&VEC(par, V_FUNCTIONS, struct ptx_function)[i])
#define STMT(par, i)		(&VEC(par, V_STMTS, struct ptx_stmt)[i])
#define OPERAND(par, i)		(&VEC(par, V_OPERANDS, struct ptx_operand)[i])
#define SYM(par, i)		(&VEC(par, V_SYMS, struct ptx_symbol)[i])
#define VAR(par, i)		(&VEC(par, V_VARS, struct ptx_variable)[i])

/* memory.c */
int vec_init(struct ptx_module *m, enum vec_id id, uint32_t size);
uint32_t vec_push(struct parser *p, enum vec_id id);	/* index of a zeroed element */
void *vec_add(struct parser *p, enum vec_id id);		/* the element itself */
bool slots_init(struct parser *p, struct slots *s, uint32_t n);
bool slots_grow(struct parser *p, struct slots *s);
void slots_free(struct parser *p, struct slots *s);

/* lex.c */
void parse_error(struct parser *p, int err, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void next(struct parser *p);
const char *skip_line(struct parser *p);	/* p->t becomes the token after the line */
bool is_punct(const struct parser *p, char c);
bool is_word(const struct parser *p, const char *s);	/* TOK_WORD or TOK_DOT */
bool accept(struct parser *p, char c);
bool expect(struct parser *p, char c);
bool name_char(char c);
static inline uint32_t offset_of(const struct parser *p, const char *s)
{
	return s - p->m->text;
}

/* names.c */
uint32_t intern(struct parser *p, const char *s, uint32_t len);
void bind_name(struct parser *p, uint32_t sym, enum ptx_kind kind, uint32_t ref);
void bind_range(struct parser *p, uint32_t prefix, uint32_t count, uint8_t type, uint8_t vec);
void resolve(struct parser *p, struct ptx_operand *o);	/* o->sym to kind and ref */
void open_scope(struct parser *p);
void close_scope(struct parser *p);
void add_label(struct parser *p, uint32_t label);
void resolve_labels(struct parser *p);	/* those noted in V_MARKS */
uint32_t add_reg(struct parser *p, uint32_t sym, uint8_t type, uint8_t vec);

/* opcode.c */
uint32_t intern_opcode(struct parser *p, const char *s, uint32_t len);

/* operand.c */
uint32_t parse_operand(struct parser *p);	/* pushes onto the stack */
uint32_t take_operands(struct parser *p, uint32_t from);	/* moves them into the tree */
bool parse_constant(struct parser *p, struct ptx_operand *o);
bool parse_uint(struct parser *p, uint64_t *v);

/* declare.c */
uint8_t linkage_of(const struct parser *p);
enum ptx_space space_of(const struct parser *p);
/* at the space directive; first var's index or PTX_NONE */
uint32_t parse_declaration(struct parser *p, uint8_t linkage);
void parse_params(struct parser *p, uint32_t *first, uint32_t *n, uint32_t *bytes);

/* body.c */
void parse_body(struct parser *p, uint32_t function);

#endif
