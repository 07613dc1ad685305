/* SPDX-License-Identifier: MIT */
/*
 * PTX made ready to run: each instruction is a function with its operands
 * resolved. decode.c makes it from the tree of xform/ptx, run.c runs it.
 */
#ifndef CPUCUDA_CODE_H
#define CPUCUDA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "xform/ptx/ptx.h"

enum opnd_kind {
	K_NONE,
	K_REG,		/* reg */
	K_IMM,		/* imm */
	K_SPECIAL,	/* reg: enum ptx_special; imm: component or number */
	K_VEC,		/* reg: how many, vec: them */
	K_SINK,
	K_SHARED,	/* imm: offset in the block's shared memory */
	K_DYNAMIC,	/* imm: offset from where dynamic shared memory begins */
	K_FRAME,	/* imm: offset in the call's frame, in local memory */
	K_PARAM		/* imm: offset in the kernel's parameters */
};

struct opnd {
	uint8_t kind, not, base_reg;	/* base_reg: an address, reg + imm */
	uint8_t size;			/* K_REG: its bytes */
	bool address;			/* it stood in brackets */
	uint32_t reg;
	union {
		uint64_t imm;
		struct opnd *vec;
	};
};

struct thread;
struct insn;
typedef void (*exec_fn)(struct thread *t, const struct insn *i);

/* struct insn.flags */
#define F_SAT	0x0001u
#define F_FTZ	0x0002u
#define F_HI	0x0004u
#define F_WIDE	0x0008u
#define F_CC	0x0010u		/* writes the carry */
#define F_CARRY	0x0020u		/* reads it */
#define F_WRAP	0x0040u
#define F_RIGHT	0x0080u
#define F_UNI	0x0100u
#define F_NAN	0x0200u
#define F_ABS	0x0400u
#define F_RELU	0x0800u
#define F_NORET	0x1000u		/* red: no result */
#define F_TO	0x2000u		/* cvta.to */
#define F_COUNT	0x4000u		/* a barrier with a count of threads */
#define F_SIMPLE 0x8000u	/* can neither wait nor branch */

enum cmp { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_EQU, C_NEU, C_LTU, C_LEU, C_GTU, C_GEU,
	C_NUM, C_NAN };
enum rnd { R_N, R_Z, R_M, R_P, R_NI, R_ZI, R_MI, R_PI, R_NONE, R_A };

struct insn {
	exec_fn fn;
	uint8_t type, stype;	/* enum ptx_type: of the result, of the source */
	uint8_t op;		/* comparison, atomic operation, mode ... */
	uint8_t op2;		/* boolean operation of setp; combination */
	uint8_t rnd, space, n, pred_not;
	uint16_t flags;
	int32_t pred;		/* register, -1: none */
	uint32_t target;	/* of a branch: instruction; of brx and call: pool index */
	uint32_t line;
	uint16_t m[3];		/* the shape of a matrix instruction */
	struct opnd a[5];
};

/* Where an argument or result of a call goes. */
struct bind {
	uint32_t callee;	/* frame offset there */
	uint32_t size;
	struct opnd here;	/* K_FRAME or a value */
};

struct call {
	struct func *callee;	/* NULL: through a pointer or by name */
	exec_fn builtin;
	struct opnd pointer;
	uint32_t n_args, n_rets;
	struct bind *args, *rets;
};

struct func {
	char *name;
	struct program *p;
	uint32_t index;		/* in the tree */
	bool entry, has_body, clustered, shown;	/* shown: other modules may call it */
	struct insn *code;
	uint32_t n_code, n_regs, frame;
	uint32_t static_shared, param_bytes, n_params;
	uint32_t *param_offset, *param_size;	/* of an entry; of a function: in its frame */
	uint32_t *ret_offset, *ret_size, n_rets;
	uint32_t max_threads, max_regs, req_cluster[3];
	bool uses_common;
	struct call *calls;
	uint32_t n_calls;
	uint32_t *targets;	/* brx tables, one behind the other */
	uint64_t address;	/* what a pointer to it holds */
	bool local;		/* uses local memory or calls */
};

struct variable {
	char *name;
	uint64_t addr;
	size_t size;
	bool constant, managed;
	uint8_t linkage;
};

struct program {
	struct func *funcs;
	uint32_t n_funcs;
	struct variable *vars;	/* of module scope, in .global and .const */
	uint32_t n_vars;
	uint32_t version, target;
	void **owned;		/* everything that goes with it */
	uint32_t n_owned, cap_owned;
	char error[400];	/* why it couldn't be decoded */
};

/*
 * Decodes a module and lays out its variables in the memory of device 0. 0 or
 * -errno with p->error.
 */
int program_decode(struct program *p, const char *text, size_t len, const char *file, void *owner);

/*
 * The same for several that are linked: what one declares and another defines is one.
 * @owner is what their memory goes with. On error, all are empty and p[0].error says why.
 */
struct piece {
	const char *text;
	size_t len;
};
int programs_link(struct program *p, const struct piece *pieces, uint32_t n, void *owner,
		  uint32_t device);
void program_free(struct program *p);
struct func *program_entry(struct program *p, const char *name);
struct func *func_at(uint64_t address);
/* Does a variable in .const lie there? */
bool program_constant(uint64_t address);

/* decode_ops.c: fills in fn and what belongs to it; false: not known */
struct decoder;
bool decode_op(struct insn *i, const struct ptx_opcode *o);
bool decode_unit(struct insn *i, const struct ptx_opcode *o);
exec_fn builtin_named(const char *name);

static inline unsigned int type_size(unsigned int t)
{
	return ptx_type_size(t);
}

#endif
