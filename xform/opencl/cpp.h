/* SPDX-License-Identifier: MIT */
/*
 * The preprocessor's inside.
 *
 * One pass: tokens come from a stack. At its bottom lie the files, above them the
 * token lists of the macros that are being expanded. A macro is disabled while its
 * list is on the stack; its name, when it is met there, is painted and stays what it
 * is for good. So no set of names hangs on a token, and the result is that of gcc and
 * clang also where the standard leaves a choice:
 *
 *	#define f(a) a * g
 *	#define g(a) f(a)
 *	f(2)(9)			2 * 9 * g: f's list has ended when (9) is read
 *
 * An argument is expanded by itself, over a wall: a list whose end isn't passed.
 *
 * Errors stick: the first is noted, from then on there is nothing but LEX_END, so that
 * every loop ends by itself. Each token fetched or made costs one step, and all memory
 * is counted, so a text that explodes is refused.
 */
#ifndef GSX_OPENCL_CPP_H
#define GSX_OPENCL_CPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gsopencl.h>

#include "lex.h"

#define TOK_PAINTED	0x4u	/* a name that isn't expanded any more */
#define TOK_PASTE	0x8u	/* in a macro's body: ## stands before it */
#define TOK_QUOTE	0x10u	/* in a macro's body: a parameter behind # */
#define TOK_LOOKED	0x20u	/* was looked up as a macro, and is none of the program's */

struct tok {
	const char *s;
	struct name *name;	/* LEX_NAME */
	uint32_t len;
	uint16_t punct;		/* in a macro's body, LEX_NAME: parameter + 1 */
	uint8_t kind;		/* enum lex_kind */
	uint8_t flags;		/* LEX_ and TOK_ */
};

struct macro {
	const struct tok *body;
	uint32_t n;
	uint32_t n_params;
	bool function, variadic;
	bool plain;		/* the body can be read where it lies */
	uint32_t disabled;	/* lists of it on the stack */
};

enum special {
	NOT_SPECIAL,
	S_LINE, S_FILE, S_COUNTER, S_LEVEL,		/* expand to a value */
	S_DEFINED, S_PRAGMA, S_VA_ARGS, S_HAS_INCLUDE, S_HAS,	/* act where they stand */
};

/* struct name.flags */
#define NAME_TOUCHED	0x1u	/* the program has had it under #define or #undef */
#define NAME_UNDEFED	0x2u	/* an #undef for the device stands in the output */
#define NAME_ASKED	0x4u	/* among the questions */
#define NAME_GUARDED	0x8u	/* among the guards */
#define NAME_KNOWN	0x10u	/* the device has answered for it, or it has no more say */
#define NAME_PLAIN	0x20u	/* may stand in the text: seen to */

struct name {
	struct name *next;	/* in its slot */
	uint32_t hash, len;
	enum special special;
	uint32_t flags;
	struct macro *macro;	/* the program's */
	struct macro *device;	/* the device's, NULL: none, or not known */
	char s[];
};

/* Memory in chunks: what is kept, and what goes when no macro is being expanded. */
struct arena {
	struct arena_chunk *chunks;
};

struct toks {
	struct tok *t;
	uint32_t n, cap;
};

struct list {
	const struct tok *t, *end;
	struct macro *macro;	/* enabled again when the list goes */
	bool wall;
	bool first;		/* nothing was taken yet: flags below go for the first */
	uint8_t flags;
};

struct header {
	struct header *next;
	const char *path, *text;
	const uint32_t *splice;
	uint32_t len;
	bool passed;		/* by the program, with a name: it lies beside no file */
	bool once;
	struct name *guard;	/* all of it stands inside #ifndef this */
};

struct file {
	struct lex l;
	struct header *h;
	const char *name;	/* as __FILE__ says it; NULL: the program's own text */
	int64_t line_shift;	/* by #line */
	uint32_t conds;		/* open ones when it began */
	/* The include guard: found, the depth of its #ifndef, and whether it still holds. */
	struct name *guard;
	enum { GUARD_NONE, GUARD_OPEN, GUARD_CLOSED, GUARD_BROKEN } guard_state;
	uint32_t guard_depth;
};

struct cond {
	bool taken, live, had_else;
	uint32_t line;
};

struct out {
	char *s;
	size_t len, cap;
};

/* The build options, cut up. */
struct options {
	struct out defines;	/* #define and #undef lines, in order */
	struct out kept;	/* for the shadow program */
	const char **folders;	/* -I */
	uint32_t n_folders, cap_folders;
};

struct cpp {
	const struct gsx_cl_cpp_options *opt;
	struct options split;
	struct gsx_cl_source *res;
	size_t memory, max_memory;
	uint64_t steps, max_steps;
	int err;
	uint32_t err_line;
	char *err_text;		/* kept */
	struct arena keep, temp;
	struct name **slots;
	struct name *none;	/* any name, when there is no memory for one */
	uint32_t n_names, mask;
	struct list *lists;
	uint32_t n_lists, cap_lists;
	struct file *files;
	uint32_t n_files;
	struct cond *conds;
	uint32_t n_conds, cap_conds;
	struct header *headers;
	struct lex_token ahead;	/* read from the file to look for a '(' */
	bool have_ahead;
	bool in_args;		/* a call's arguments are read from the file */
	bool in_if;		/* a condition: the device's macros count */
	uint32_t nesting;
	uint32_t line;		/* of the last token taken from the file */
	uint32_t counter;
	struct name *defined, *va_args;
	/* output */
	struct out text, guard;
	struct tok last;	/* written last on this line; len 0: none */
	uint32_t out_line, in_line;	/* where we stand, in the output and in the input */
	const struct header *in_header;
	struct gsx_cl_line *lines;
	uint32_t n_lines, cap_lines;
	const char **questions;
	uint32_t n_questions, cap_questions;
	uint32_t guards;
};

/* cpp_memory.c */
void cpp_error(struct cpp *p, int err, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void *arena_get(struct cpp *p, struct arena *a, size_t size);	/* zeroed; NULL: error noted */
void arena_drop(struct cpp *p, struct arena *a);
/* @*array grows to hold @n elements; false: it can't, and the error is noted. */
bool cpp_grow(struct cpp *p, void *array, uint32_t *cap, uint32_t n, size_t size);
struct name *name_of(struct cpp *p, const char *s, uint32_t len);
void toks_add(struct cpp *p, struct toks *v, const struct tok *t);
void cpp_put(struct cpp *p, struct out *o, const char *s, size_t len);

/* cpp_expand.c */
void take_tok(struct cpp *p, struct tok *t, const struct lex_token *from, const struct lex *l);
void next_raw(struct cpp *p, struct tok *t);		/* not expanded */
void next_tok(struct cpp *p, struct tok *t);		/* expanded */
void push_list(struct cpp *p, const struct tok *t, uint32_t n, struct macro *m);
void push_wall(struct cpp *p, const struct tok *t, uint32_t n);
void pop_wall(struct cpp *p);
bool tok_is(const struct tok *t, uint16_t punct);
int64_t line_now(const struct cpp *p);

/* cpp_paste.c: what # and ## make */
void quote_toks(struct cpp *p, const struct tok *t, uint32_t n, struct tok *to);
void paste_toks(struct cpp *p, struct tok *left, const struct tok *right);

/* cpp_directive.c */
void cpp_directive(struct cpp *p);		/* the lexer stands behind a # */
void end_of_file(struct cpp *p);
/* The tokens up to the end of the line, into temporary memory. */
void rest_of_line(struct cpp *p, struct toks *v);

/* cpp_include.c */
void cpp_include(struct cpp *p, const struct toks *line);
/* __has_include, behind its name; the tokens are taken. */
bool has_include(struct cpp *p);
void open_text(struct cpp *p, const char *name, const char *text, size_t len);

/* options.c */
void options_read(struct cpp *p, const char *s);

/* cpp_if.c */
bool cpp_condition(struct cpp *p, const struct toks *line);

/* cpp_write.c */
void write_tok(struct cpp *p, const struct tok *t);
void write_pragma(struct cpp *p, const struct toks *v);
void write_end(struct cpp *p);
void ask_text(struct cpp *p, const char *text);
/* A name in a condition that the program hasn't defined: asks, or guards. */
void met_in_condition(struct cpp *p, struct name *n);
void guard_name(struct cpp *p, struct name *n);

#endif
