/* SPDX-License-Identifier: MIT */
/*
 * The front end for PTX: text to a tree that still knows its text.
 *
 * ptx_parse() reads a module once and resolves names on the way, scope by scope
 * (PTX blocks { } may declare registers, variables and labels again). Everything
 * lies in a few arrays of the module and refers to other things by index, so that
 * a pass is a loop. Each statement keeps the range of bytes it came from: what a
 * rewriter doesn't touch it copies.
 *
 *	struct ptx_module m;
 *	err = ptx_parse(&m, text, len, "file", limit);
 *	for each f in m.functions: for (s = f->body; s < f->body + f->n_body; s++)
 *		m.stmts[s] ... ptx_arg(&m, stmt, 0) ...
 *	ptx_free(&m);
 *
 * Text is borrowed and must stay. Hostile text is expected: memory is limited by
 * `limit`, time is linear (hash chains and nesting are bounded), and every number
 * is checked.
 */
#ifndef GSX_PTX_H
#define GSX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops.h"

#define PTX_NONE	0xffffffffu
#define PTX_MODS	14	/* modifiers that are kept of an opcode */
#define PTX_DEPTH	64	/* nested scopes, vectors and expressions */

struct ptx_str {
	const char *s;
	uint32_t len;
};

enum ptx_type {
	PTX_T_NONE,
	PTX_T_B8, PTX_T_B16, PTX_T_B32, PTX_T_B64, PTX_T_B128,
	PTX_T_U8, PTX_T_U16, PTX_T_U32, PTX_T_U64,
	PTX_T_S8, PTX_T_S16, PTX_T_S32, PTX_T_S64,
	PTX_T_F16, PTX_T_F16X2, PTX_T_BF16, PTX_T_BF16X2, PTX_T_TF32, PTX_T_F32, PTX_T_F64,
	PTX_T_PRED, PTX_T_TEXREF, PTX_T_SAMPLERREF, PTX_T_SURFREF,
	PTX_T_OTHER		/* .e4m3x2 and the like: only in opcodes */
};

enum ptx_space {
	PTX_SPACE_NONE, PTX_SPACE_REG, PTX_SPACE_SREG, PTX_SPACE_CONST, PTX_SPACE_GLOBAL,
	PTX_SPACE_LOCAL, PTX_SPACE_PARAM, PTX_SPACE_SHARED, PTX_SPACE_TEX
};

/* Linkage bits */
#define PTX_EXTERN	0x1u
#define PTX_VISIBLE	0x2u
#define PTX_WEAK	0x4u
#define PTX_COMMON	0x8u

enum ptx_kind {
	PTX_NAME,	/* nothing known by that name: sym */
	PTX_REG,	/* ref: index into regs */
	PTX_SPECIAL,	/* ref: enum ptx_special */
	PTX_VARIABLE,	/* ref: index into vars; imm: byte offset added */
	PTX_FUNCTION,	/* ref: index into functions */
	PTX_LABEL,	/* ref: index into labels */
	PTX_INT,	/* imm */
	PTX_F32,	/* imm: bits */
	PTX_F64,	/* imm: bits */
	PTX_ADDRESS,	/* [a] or [a, b, ...]: children; a child's imm is its offset */
	PTX_VECTOR,	/* {a, b, ...}: children; in initializers also nested */
	PTX_PAIR,	/* a|b: children */
	PTX_LIST,	/* (a, b, ...) of a call: children */
	PTX_INDEX,	/* name[a]: sym and ref of a variable, child: the index */
	PTX_GENERIC,	/* generic(a), initializers only: child */
	PTX_MASK,	/* mask(a)(b), initializers only: children */
	PTX_SINK,	/* _ */
	PTX_STRING
};

struct ptx_operand {
	uint8_t kind;
	uint8_t not : 1;	/* !a */
	uint8_t neg : 1;	/* -a, of a name; numbers are negated at once */
	uint8_t component;	/* 0, or 'x' 'y' 'z' 'w'; 'b' 'h' with select, as in %r1.b2 */
	uint8_t select;
	uint32_t ref;
	uint32_t sym;		/* names: index into syms */
	uint32_t child;		/* index into operands of the first child */
	uint32_t n_children;
	uint64_t imm;
};

/* One for each different opcode text, as ld.global.nc.v4.f32. */
struct ptx_opcode {
	struct ptx_str text;
	uint32_t hash;
	enum ptx_op op;
	uint32_t class;		/* PTX_PURE ... */
	uint32_t results;	/* leading operands that are written */
	struct ptx_str mod[PTX_MODS];	/* without dots, after the base */
	uint32_t n_mods;
	enum ptx_space space;	/* PTX_SPACE_NONE: none is named, generic */
	enum ptx_type type;	/* the last one that is named, and its size */
	uint32_t bytes;
};

enum ptx_stmt_kind {
	PTX_INSTR,	/* ref: opcode */
	PTX_MARK,	/* label: ref: label */
	PTX_OPEN,	/* { */
	PTX_CLOSE,	/* } */
	PTX_DECL,	/* .reg, .shared, .local, .param ...: ref: first var or PTX_NONE */
	PTX_LOC,	/* .loc */
	PTX_TARGETS,	/* .branchtargets, .calltargets: args; ref: label in front */
	PTX_PROTOTYPE,	/* .callprototype; ref: label in front */
	PTX_PRAGMA,
	PTX_UNKNOWN	/* not understood, kept */
};

struct ptx_stmt {
	uint8_t kind;
	uint8_t pred_not;
	uint16_t n_args;
	uint32_t line;
	uint32_t begin, end;	/* bytes of the text, with ; but without the white space around */
	uint32_t pred;		/* index into operands, PTX_NONE: unconditional */
	uint32_t args;		/* index into operands */
	uint32_t ref;
	uint32_t scope;		/* index into scopes */
};

struct ptx_reg {
	uint32_t sym;
	uint8_t type;		/* enum ptx_type */
	uint8_t vec;		/* 1, 2, 4 */
	uint32_t function;
	uint32_t range;		/* used while parsing */
};

struct ptx_variable {
	uint32_t sym;
	uint32_t line;
	uint8_t space, type, vec, linkage;
	uint8_t array;		/* declared with [] */
	uint8_t pointer;	/* .ptr */
	uint8_t managed;	/* .attribute(.managed) */
	uint32_t align;		/* of the variable itself, natural where not given */
	uint64_t count;		/* elements; 0: [] without a size */
	uint64_t size;		/* bytes, 0 if unsized */
	uint32_t dims, n_dims;	/* operands: sizes as written, 0 for [] */
	uint32_t init;		/* operand, PTX_NONE: none */
	uint32_t offset;	/* of a function's parameter in its buffer */
	uint32_t function;	/* owner, PTX_NONE: module scope */
	uint32_t scope;
	uint32_t begin, end;	/* bytes of its declaration, with ;, at module scope */
};

struct ptx_label {
	uint32_t sym;
	uint32_t scope;
	uint32_t stmt;		/* where it stands */
	uint32_t function;
	uint32_t uses;		/* by instructions and target lists */
};

struct ptx_scope {
	uint32_t parent;	/* PTX_NONE: a function's outermost */
};

struct ptx_function {
	uint32_t sym;
	uint32_t line;
	uint8_t entry;		/* .entry, else .func */
	uint8_t linkage;
	uint8_t has_body;
	uint8_t clustered;	/* .reqnctapercluster, .explicitcluster, .maxclusterrank ... */
	uint8_t address_taken;	/* its name is used other than called */
	uint8_t variadic;	/* last parameter is an array without a size */
	uint32_t max_threads, min_ctas, max_regs, req_threads;	/* 0: not given */
	uint32_t rets, n_rets;		/* vars */
	uint32_t params, n_params;	/* vars */
	uint32_t param_bytes;
	/* bytes of the text */
	uint32_t begin;		/* linkage directive or .entry/.func */
	uint32_t head;		/* .entry or .func itself */
	uint32_t name_begin, name_end;
	uint32_t params_begin, params_end;	/* inside ( ); equal to name_end: no list */
	uint32_t maxnreg_begin, maxnreg_end;	/* the .maxnreg directive, if max_regs */
	uint32_t body_begin, body_end;		/* inside { } */
	uint32_t body, n_body;		/* stmts */
	uint32_t first_operand, n_operands;
	uint32_t first_reg, n_regs;
	uint32_t instructions;
};

struct ptx_symbol {
	const char *s;
	uint32_t len;
	uint32_t hash;
	/* used while parsing */
	uint32_t bound;		/* index into bindings, PTX_NONE */
	uint32_t range;		/* innermost .reg name<n> of this prefix */
	uint32_t stem;		/* symbol of the name without its digits, once looked up */
	uint32_t number;
	uint32_t cached_range, cached_reg;
};

struct ptx_vec {
	void *p;
	uint32_t n, cap, size;
};

struct ptx_module {
	const char *text;
	size_t len;
	const char *file;
	uint32_t version;	/* major * 100 + minor: 9.0 is 900 */
	uint32_t target;	/* sm_NN: NN, 0: none given */
	char target_suffix;	/* 'a', 'f' or 0 */
	uint32_t address_size;
	uint32_t tail;		/* where debug sections at the end begin, else len */
	bool debug;		/* has .section or .target debug */

	struct ptx_function *functions;
	struct ptx_stmt *stmts;
	struct ptx_operand *operands;
	struct ptx_reg *regs;
	struct ptx_variable *vars;
	struct ptx_label *labels;
	struct ptx_scope *scopes;
	struct ptx_symbol *syms;
	struct ptx_opcode *opcodes;
	uint32_t n_functions, n_stmts, n_operands, n_regs, n_vars, n_labels, n_scopes, n_syms;
	uint32_t n_opcodes;

	/* the first error: 0 or -errno, its line and its sentence */
	int err;
	uint32_t err_line;
	char err_text[160];

	size_t memory, memory_limit;
	struct ptx_vec vec[16];	/* what the arrays above lie in */
};

/* 0, -EINVAL (err_line, err_text), -E2BIG or -ENOMEM. ptx_free() in each case. */
int ptx_parse(struct ptx_module *m, const char *text, size_t len, const char *file,
	      size_t memory_limit);
void ptx_free(struct ptx_module *m);

static inline const struct ptx_operand *ptx_arg(const struct ptx_module *m,
						const struct ptx_stmt *s, uint32_t i)
{
	return i < s->n_args ? &m->operands[s->args + i] : NULL;
}

static inline const struct ptx_opcode *ptx_opcode(const struct ptx_module *m,
						  const struct ptx_stmt *s)
{
	return &m->opcodes[s->ref];
}

bool ptx_has_mod(const struct ptx_opcode *o, const char *mod);
bool ptx_is(const struct ptx_module *m, uint32_t sym, const char *name);
uint32_t ptx_type_size(enum ptx_type t);
/* "f32" to PTX_T_F32; PTX_T_NONE if it's no type */
enum ptx_type ptx_type_of(const char *s, uint32_t len);
/* the function a call goes to (index), PTX_NONE: indirect or unknown */
uint32_t ptx_call_target(const struct ptx_module *m, const struct ptx_stmt *s);

#endif
