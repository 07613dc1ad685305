/* SPDX-License-Identifier: MIT */
/*
 * C and OpenCL C as preprocessing tokens.
 *
 * The preprocessor reads sources with this, and the rewriter what the preprocessor
 * wrote. A token is a place in the text; nothing is copied, nothing allocated. Line
 * splices (a backslash before a newline) must be gone before: lex_unsplice() takes
 * them out and notes where they were, so that line numbers stay those of the file.
 * Comments are white space. Trigraphs aren't known: the preprocessor refuses them.
 *
 * Each byte is looked at a bounded number of times, whatever the text: bytes that
 * begin no token come as LEX_OTHER, one by one; a quote without its partner on the
 * same line makes the rest of the line one LEX_OTHER, as clang has it.
 */
#ifndef GS_OPENCL_LEX_H
#define GS_OPENCL_LEX_H

#include <stdbool.h>
#include <stdint.h>

enum lex_kind {
	LEX_END,
	LEX_NAME,		/* keywords too; $ and all bytes from 0x80 are letters */
	LEX_NUMBER,		/* a pp-number: 1, .5f, 0x1p-3, also 1.2.3e+x */
	LEX_STRING,		/* with its quotes, and L before them */
	LEX_CHAR,
	LEX_PUNCT,
	LEX_OTHER,		/* begins no token: \ @ ` and lone quotes */
};

/* lex_token.punct: the character itself, or for longer ones these. */
enum lex_punct {
	LEX_PASTE = 256,	/* ## */
	LEX_ELLIPSIS,
	LEX_ARROW, LEX_INC, LEX_DEC,
	LEX_SHL, LEX_SHR, LEX_LE, LEX_GE, LEX_EQ, LEX_NE, LEX_AND_AND, LEX_OR_OR,
	LEX_MUL_SET, LEX_DIV_SET, LEX_MOD_SET, LEX_ADD_SET, LEX_SUB_SET,
	LEX_SHL_SET, LEX_SHR_SET, LEX_AND_SET, LEX_XOR_SET, LEX_OR_SET,
};

/* lex_token.flags */
#define LEX_LINE	0x1u	/* the first on its line */
#define LEX_SPACE	0x2u	/* white space before it, comments and newlines too */

struct lex_token {
	uint32_t pos;		/* bytes from the start of the text */
	uint32_t len;
	uint32_t line;		/* from 1; where the token begins */
	uint8_t kind;		/* enum lex_kind */
	uint8_t flags;
	uint16_t punct;		/* LEX_PUNCT; digraphs as what they stand for */
};

struct lex {
	const char *text;
	uint32_t len;
	uint32_t pos;		/* behind the last token */
	uint32_t line;
	const uint32_t *splice;	/* from lex_unsplice(), ascending; ends in UINT32_MAX */
	uint32_t open_line;	/* a comment begins here and doesn't end; 0: none */
};

/* The longest text: positions and their sums stay far from overflow. */
#define LEX_MAX_TEXT	(1u << 30)

/* @splice: the table for this text, or NULL. */
void lex_init(struct lex *l, const char *text, uint32_t len, const uint32_t *splice);

/* At the end gives LEX_END, again and again. */
void lex_next(struct lex *l, struct lex_token *t);

/*
 * Goes to the newline that ends the present line (or to the end) without making
 * tokens: for the text of #error, #pragma and skipped groups. Comments that begin
 * here are passed over whole.
 */
void lex_skip_line(struct lex *l);

/* How many splices there are; 0: the text can be read as it is. */
uint32_t lex_count_splices(const char *text, uint32_t len);

/*
 * Copies @text without its splices to @to (room for @len bytes), and where they were
 * to @splice (room for lex_count_splices() + 1). Returns the length of the copy.
 */
uint32_t lex_unsplice(const char *text, uint32_t len, char *to, uint32_t *splice);

bool lex_name_start(char c);
bool lex_name_char(char c);

#endif
