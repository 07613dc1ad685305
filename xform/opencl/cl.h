/* SPDX-License-Identifier: MIT */
/*
 * The transformer of OpenCL C, inside.
 *
 *	memory.c	what a call holds, and how it fails
 *	names.c		words: keywords, types, builtin functions
 *	parse.c		tokens -> functions, parameters, types, program's variables
 *	body.c		statements of a function: what it uses, returns, barriers, loops
 *	expr.c		expressions: where values come from, what is written
 *	call.c		calls: what a function does to what it is given
 *	declare.c	variables: their bytes, which of them can't be in a loop
 *	judge.c		facts of all callees together -> modes and refusals of each kernel
 *	write.c		edits and text: what slices and workers share
 *	workers.c	the loop round a kernel
 *	link.c		several sources as one
 *	transform.c	the calls
 *
 * The text is read once into tokens; everything later is indices into that array.
 * A failure leaves by longjmp to the call (struct job.out), which frees all memory:
 * nothing else is held, so nothing needs unwinding on the way.
 */
#ifndef GS_OPENCL_CL_H
#define GS_OPENCL_CL_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gsopencl.h>

#include "lex.h"

#define NONE		UINT32_MAX
#define MAX_DEPTH	256	/* of brackets, and of anything recursive */

/* What a word is; of builtin functions also what they do, see names.c. */
enum word {
	W_PLAIN,
	W_IF, W_ELSE, W_FOR, W_WHILE, W_DO, W_SWITCH, W_CASE, W_DEFAULT, W_RETURN, W_GOTO,
	W_BREAK, W_CONTINUE, W_SIZEOF, W_ASM, W_TYPEOF, W_ATTRIBUTE, W_NULL,
	/* parts of declarations */
	W_TYPEDEF, W_STRUCT, W_ENUM, W_KERNEL, W_STATIC, W_EXTERN, W_INLINE, W_CONST,
	W_VOLATILE, W_RESTRICT, W_SIGNED, W_ATOMIC,
	W_GLOBAL, W_LOCAL, W_CONSTANT, W_PRIVATE, W_GENERIC,
	W_READ_ONLY, W_WRITE_ONLY, W_READ_WRITE, W_PIPE,
	/* types; struct symbol.arg is the size in bytes, 0: the device's pointers' */
	W_VOID, W_TYPE, W_IMAGE, W_SAMPLER, W_EVENT, W_QUEUE,
	/* work-item functions */
	W_GLOBAL_ID, W_GROUP_ID, W_NUM_GROUPS, W_GLOBAL_SIZE, W_GLOBAL_OFFSET,
	W_GLOBAL_LINEAR, W_ENQUEUED_SIZE, W_LOCAL_ID, W_UNIFORM_ID, W_WORK_DIM,
	/* other builtin functions */
	W_BARRIER, W_FENCE, W_COLLECTIVE, W_ASYNC_COPY, W_SUB_GROUP, W_SUB_COUNT,
	W_SUB_BARRIER,
	W_ATOMIC_STEP, W_ATOMIC_ADD, W_ATOMIC_OTHER, W_ATOMIC_LOAD, W_ATOMIC_STORE, W_CAS,
	W_CAS_EXPLICIT, W_VLOAD, W_VSTORE, W_READ_IMAGE, W_WRITE_IMAGE, W_OUT_POINTER,
	W_PURE, W_PASS, W_PRINTF, W_ENQUEUE, W_PIPE_CALL,
	W_INNER,		/* what stands behind the work-item functions of some devices */
};

/* struct symbol.flags */
#define S_TYPE		0x1u	/* a typedef's name */
#define S_TAKEN		0x2u	/* one that we add has it in it */
#define S_VOLATILE	0x4u	/* a typedef or a member that is volatile */
#define S_POINTER	0x8u	/* a typedef that is or may hold a pointer */
#define S_SPACE		0x10u	/* a typedef of __local or __constant things */
#define S_GLOBAL	0x20u	/* a variable of the program that may change */
#define S_PROGRAM	0x40u	/* a variable of the program */
#define S_DEFINED	0x80u	/* a struct's tag whose members have been seen */
#define S_ADDRESS	0x200u	/* a typedef of a pointer */
#define S_SINGLE	0x100u	/* a typedef of images or the like: not copied */
#define S_EXTERN	0x400u	/* a variable that is declared as another program's ... */
#define S_HERE		0x800u	/* ... and one that this program has */
#define S_OWN		0x1000u	/* a name for what only a device has */

struct symbol {
	uint32_t pos, len, hash;
	uint16_t arg;		/* of the word */
	uint16_t flags;
	uint8_t word;		/* enum word */
	uint32_t fn;		/* the first function of this name, NONE */
	uint32_t var, epoch;	/* the variable it names in the function being read */
};

struct tok {
	uint32_t pos, len, line;
	uint8_t kind, flags;
	uint16_t punct;
	uint32_t x;		/* a name's symbol; a bracket's partner */
};

/* What a function, with all that it calls, does. */
#define U_GLOBAL_ID	0x1u
#define U_GROUP_ID	0x2u
#define U_NUM_GROUPS	0x4u
#define U_GLOBAL_SIZE	0x8u
#define U_GLOBAL_OFFSET	0x10u
#define U_GLOBAL_LINEAR	0x20u
#define U_ENQUEUED_SIZE	0x40u
#define U_BARRIER	0x80u
#define U_COLLECTIVE	0x100u
#define U_SUB_GROUP	0x200u
#define U_PRINTF	0x400u
#define U_ATOMIC	0x800u
#define U_ENQUEUE	0x1000u
#define U_PIPE		0x2000u
#define U_GLOBAL_VAR	0x4000u
#define U_BARE		0x8000u	/* a work-item function's name, not called */
#define U_EXTERN	0x10000u /* calls what has no body here */
#define U_KERNEL	0x20000u /* calls a kernel */
#define U_WAITS		0x40000u
#define U_EARLY		0x80000u /* a return before a barrier */
#define U_DIVERGES	0x100000u /* a barrier that not all may meet */
#define U_ASM		0x200000u	/* or what a device has behind these */
#define U_RECURSION	0x400000u
#define U_IMAGE		0x800000u
#define U_WRITES_ANY	0x1000000u
#define U_READS_ANY	0x2000000u
#define U_CALLS		0x4000000u
#define U_ENTERS	0x8000000u /* jumps into a loop */
#define U_CLASH		0x10000000u /* calls a function named as a builtin one */

/* What needs the launch's state, in slices and in workers. */
#define U_SLICE		(U_GROUP_ID | U_NUM_GROUPS | U_GLOBAL_SIZE | U_GLOBAL_OFFSET | \
			 U_GLOBAL_LINEAR | U_ENQUEUED_SIZE)
#define U_WORKERS	(U_GLOBAL_ID | U_GROUP_ID | U_NUM_GROUPS | U_GLOBAL_SIZE | \
			 U_GLOBAL_OFFSET | U_GLOBAL_LINEAR)
#define U_FENCE		0x20000000u
#define U_HIDDEN	0x40000000u /* statements within an expression */
#define U_SUB_COUNT	0x80000000u /* asks for what is the same in all groups' sub-groups */
#define U_BITS		32

/* Where a value may come from: bits of the function's parameters, and these. */
#define FROM_PARAMS	((1ull << 60) - 1)	/* the 60th and all later ones share a bit */
#define FROM_CALL	(1ull << 60)		/* read by a function that was called */
#define FROM_UNKNOWN	(1ull << 61)		/* memory that we can't name */
#define FROM_PRIVATE	(1ull << 62)		/* the function's own variables */
#define FROM_GROUP	(1ull << 63)		/* local memory, constants */
#define FROM_OWN	(FROM_PRIVATE | FROM_GROUP)

/* What a value is. */
#define V_SHARED	0x1u	/* was read where other work-groups may write, to be seen */
#define V_VARYING	0x2u	/* may differ between the work-items of a group */
#define V_SWAPPED	0x4u	/* what a compare and swap found, that expected what it read */
#define V_VOLATILE	0x8u	/* points to volatile things */
#define V_LITERAL	0x10u	/* a constant */
#define V_WON		0x20u	/* true: a compare and swap went well */
#define V_LOST		0x40u	/* true: it didn't */
#define V_STICKY	(V_SHARED | V_VARYING | V_SWAPPED | V_VOLATILE | V_WON | V_LOST)

struct param {
	uint32_t from, to;	/* tokens */
	uint32_t name;		/* token, NONE */
	uint32_t flags;		/* GSX_CL_... and GSX_PARAM_... */
	bool array, volatile_, copied, single;	/* single: can't be copied (images ...) */
	bool deep;		/* what it points to may hold pointers */
};

struct call {
	uint32_t tok, fn;
};

struct fn {
	uint32_t from;		/* first token of the declaration */
	uint32_t name, open, close;	/* tokens */
	uint32_t body, end;	/* braces; NONE: a prototype */
	uint32_t next;		/* the next function of this name, NONE */
	uint32_t param, n_params;	/* in job.params */
	uint32_t call, n_calls;	/* in job.calls */
	uint32_t uses, own;	/* U_, with callees; without */
	uint32_t line[U_BITS];	/* where a use is first seen */
	uint64_t reads, writes;	/* through parameters: bits */
	uint64_t returns;	/* memory that the value returned may point to */
	uint64_t uniform;	/* parameters that must be the same for all items */
	uint32_t ret_flags;	/* V_ of the value returned, if it doesn't depend on them */
	uint64_t ret_deps;
	uint32_t ops;		/* its own instructions, estimated */
	uint32_t total_ops;
	uint32_t local_bytes, private_bytes;
	uint32_t kinds;		/* GSX_CL_LOCAL_UNKNOWN, _PRIVATE_UNKNOWN */
	uint32_t reqd[3];
	uint32_t dims;		/* see struct gsx_cl_kernel; with callees */
	uint32_t hoist, n_hoists;	/* in job.hoists: kernels only */
	uint32_t local_form;	/* line of a local variable that can't be moved, 0: none */
	uint8_t state;		/* of the walk: 0 new, 1 being read, 2 read */
	bool kernel, called, body_returns;
	bool overload;		/* says that there are others of its name */
	bool reads_shared;	/* reads what others may write, to be seen */
	uint8_t needs;		/* GSX_BIT()s of the modes in which it takes the state */
	uint8_t modes;		/* of a kernel: what is possible */
	bool native;		/* a kernel whose slices need no rewriting */
	bool dead;		/* no kernel that is cut calls it, and it wouldn't build */
};

/* A declaration that workers move before the loop, or what of it stays. */
struct hoist {
	uint32_t from, to;	/* tokens, with the ; */
	uint32_t spec;		/* where the declarators begin, if only some of them move */
	bool split;
};

struct job {
	const char *text;
	uint32_t len;
	const struct gsx_cl_options *opt;
	struct tok *toks;
	uint32_t n_toks, cap_toks;
	struct symbol *syms;
	uint32_t n_syms, cap_syms;
	uint32_t *slots, mask;
	struct fn *fns;
	uint32_t n_fns, cap_fns;
	struct param *params;
	uint32_t n_params, cap_params;
	struct call *calls;
	uint32_t n_calls, cap_calls;
	struct hoist *hoists;
	uint32_t n_hoists, cap_hoists;
	struct var *vars;
	uint32_t n_vars, cap_vars;
	uint32_t epoch, depth;
	struct out {
		char *p;
		uint32_t n, cap;
	} o;
	uint32_t from;			/* write.c: the text is written up to here */
	uint32_t *log, n_log, cap_log;	/* set since the outermost loop began */
	uint32_t *swaps, n_swaps, cap_swaps;	/* what compare and swaps expect: tokens */
	/* of the function being read: loops, and the names behind goto and of labels */
	struct range {
		uint32_t from, to;
	} *loops;
	uint32_t *jumps, *labels;
	uint32_t *stays, n_stays, cap_stays;	/* symbols of types that aren't moved */
	uint32_t n_loops, cap_loops, n_jumps, cap_jumps, n_labels, cap_labels;
	uint32_t pointer_bytes;
	uint64_t steps;
	bool joins;			/* link.c wants to know what is declared: */
	uint32_t *named, n_named, cap_named;	/* variables and typedefs, tokens */

	const struct gsx_cl_source *source;	/* of gsx_cl_program(), else NULL */

	/* memory.c */
	struct block *blocks;
	size_t memory, limit;
	jmp_buf out;
	int err;
	uint32_t err_line;
	const char *err_text;
};

/* memory.c */
void cl_fail(struct job *j, int err, uint32_t line, const char *text) __attribute__((noreturn));
void *cl_get(struct job *j, size_t bytes);
void *cl_grow(struct job *j, void *p, uint32_t *cap, size_t size);
void cl_release(struct job *j, void *p);
const char *cl_copy_text(struct job *j, const char *s, size_t len);
const char *cl_say(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cl_free_blocks(struct block *b);

#define PUSH(j, array, n, cap)	({						\
	if ((n) == (cap))							\
		(array) = cl_grow(j, array, &(cap), sizeof(*(array)));		\
	&(array)[(n)++];							\
})

/* Work beyond a bounded number of steps for each token: a text made to be slow. */
static inline void spend(struct job *j)
{
	if (++j->steps > 1000000ull + 400ull * j->n_toks)
		cl_fail(j, -7 /* E2BIG */, 0, "takes too many steps");
}

static inline void deeper(struct job *j, uint32_t line)
{
	if (++j->depth > MAX_DEPTH)
		cl_fail(j, -7 /* E2BIG */, line, "nested too deep");
}

/* names.c */
uint32_t cl_symbol_of(struct job *j, uint32_t pos, uint32_t len);
uint32_t cl_use_of_word(enum word w);
bool cl_overloads_builtin(const struct job *j, const struct fn *f);
bool cl_named_as_builtin(const struct job *j, uint32_t tok);

bool cl_is_builtin(const struct job *j, const struct symbol *y);

/* transform.c */
int cl_run(const char *text, size_t len, const struct gsx_cl_options *opt,
	   const struct gsx_cl_source *source, struct gsx_cl_result *res,
	   void (*work)(struct job *j, struct gsx_cl_result *res, void *arg), void *arg);
void cl_transform(struct job *j, struct gsx_cl_result *res, void *arg);

/* parse.c */
void cl_read_tokens(struct job *j);
uint32_t cl_declaration(struct job *j, uint32_t i);	/* outside of functions */
void cl_parse(struct job *j);
uint32_t cl_skip_attributes(const struct job *j, uint32_t i);
uint32_t cl_skip_directive(const struct job *j, uint32_t i);
bool cl_plain_name(const struct job *j, uint32_t i);
bool cl_holds_addresses(const struct job *j, uint32_t i);

/* expr.c and body.c: one function being read */
struct value {
	uint64_t roots;		/* FROM_: memory that it may point to */
	uint64_t from;		/* FROM_: memory that it was read from */
	uint64_t deps;		/* parameters that it depends on */
	uint32_t flags;		/* V_ */
};

struct var {
	struct value v;
	uint32_t dims;		/* of an array */
	bool array, pointer, holds, volatile_, addressed, moved;
	bool read;		/* in this pass: if it grows now, one more is needed */
	bool literal_in_loop;
};

/* A statement that decides whether, or how often, others run. */
struct frame {
	struct frame *up;
	struct value when;
	bool loop, choice, bounded;	/* choice: a switch; bounded: ends by itself */
	bool barrier, left, fence;	/* left: a return inside */
	struct value exit;	/* what decides on break, continue, return */
	uint32_t line, log, tok, swap;
};

struct walk {
	struct job *j;
	struct fn *f;
	uint32_t at;		/* token */
	struct frame *frame;
	struct value control;	/* all conditions that hold here */
	uint64_t own;		/* pointers kept in private memory by address */
	uint32_t own_flags;
	uint32_t scope;		/* 1: outermost of the body */
	uint32_t return_line;	/* of the first return seen, 0: none */
	bool jumps, met;	/* there is a goto; a barrier */
	bool first, grew;	/* the first pass; what was found later changes it */
};

struct value cl_expression(struct walk *w, uint32_t end);
struct value cl_assignment(struct walk *w, uint32_t end);
struct var *cl_var_of(struct walk *w, uint32_t tok);
struct var *cl_new_var(struct walk *w, uint32_t tok);
void cl_assign(struct walk *w, struct var *x, struct value v);
void cl_met_barrier(struct walk *w);
void cl_use(struct walk *w, uint32_t uses, uint32_t line);
bool cl_begins_type(const struct walk *w, uint32_t i);
void cl_merge(struct value *to, const struct value *v);
void cl_negate(struct value *v);
struct value cl_call(struct walk *w, uint32_t name);
void cl_may_read(struct walk *w, uint64_t roots);
void cl_may_write(struct walk *w, uint64_t roots);
void cl_wait_seen(struct walk *w, uint32_t line);
void cl_push_frame(struct walk *w, struct frame *x);
void cl_pop_frame(struct walk *w);
void cl_declare(struct walk *w);
void cl_walk(struct job *j, struct fn *f);
void cl_judge(struct job *j, struct gsx_cl_result *res);

/* write.c and workers.c */
/* Into res->text[mode], and where each kernel is in it. */
void cl_write_text(struct job *j, enum gsx_mode mode, struct gsx_cl_result *res);
void cl_put(struct job *j, const char *s, size_t len);
void cl_puts(struct job *j, const char *s);
void cl_put_tokens(struct job *j, uint32_t from, uint32_t to);
void cl_put_name(struct job *j, uint32_t tok);
void cl_write_worker(struct job *j, const struct fn *f);
void cl_mark_copied(struct job *j, const struct fn *f);
extern const char cl_worker_prelude[];

static inline bool is(const struct job *j, uint32_t i, uint16_t punct)
{
	return j->toks[i].punct == punct;
}

/* The word at token @i; W_PLAIN for all that isn't a name. */
static inline enum word word(const struct job *j, uint32_t i)
{
	return j->toks[i].kind == LEX_NAME ? j->syms[j->toks[i].x].word : W_PLAIN;
}

static inline struct symbol *sym(const struct job *j, uint32_t i)
{
	return &j->syms[j->toks[i].x];
}

static inline bool is_name(const struct job *j, uint32_t i)
{
	return j->toks[i].kind == LEX_NAME;
}

static inline bool begins_line_hash(const struct job *j, uint32_t i)
{
	return j->toks[i].punct == '#' && j->toks[i].flags & LEX_LINE;
}

#endif
