// SPDX-License-Identifier: MIT
/*
 * May a dispatch of a shader be cut? The pieces' groups have the numbers that they'd have
 * (WorkgroupId and GlobalInvocationId count from vkCmdDispatchBase()'s base). Two things
 * would show: NumWorkgroups, which is the piece's; and a group that waits in a loop for one
 * of a later piece. What can wait has a loop and looks at memory that others write: by an
 * atomic whose result is used, or by coherent or volatile memory. An identifier that is
 * also some instruction's literal counts as used; what isn't understood isn't cut.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

#define MAGIC			0x07230203
#define HEAD			5
#define OP_EXT_INST		12
#define OP_CAPABILITY		17
#define OP_FUNCTION		54
#define OP_DECORATE		71
#define OP_MEMBER_DECORATE	72
#define OP_ATOMIC_LOAD		227
#define OP_ATOMIC_STORE		228
#define OP_ATOMIC_XOR		242
#define OP_LOOP_MERGE		246
#define OP_ATOMIC_FLAG		318
#define OP_ATOMIC_FMIN		5614
#define OP_ATOMIC_FMAX		5615
#define OP_ATOMIC_FADD		6035
#define CAPABILITY_SHADER	1
#define CAPABILITY_MEMORY_MODEL	5345
#define BUILTIN			11
#define NUM_WORKGROUPS		24
#define VOLATILE		21
#define COHERENT		23

struct reading {
	bool shader, counts, loops, looks;
	uint32_t *atomics;		/* ids of their results */
	unsigned int n_atomics;
};

static bool is_atomic(uint32_t op)
{
	return (op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR && op != OP_ATOMIC_STORE) ||
	       op == OP_ATOMIC_FLAG || op == OP_ATOMIC_FMIN || op == OP_ATOMIC_FMAX ||
	       op == OP_ATOMIC_FADD;
}

static void read_decoration(struct reading *r, const uint32_t *word, uint32_t n)
{
	if (n >= 2 && word[0] == BUILTIN && word[1] == NUM_WORKGROUPS)
		r->counts = true;
	if (n >= 1 && (word[0] == VOLATILE || word[0] == COHERENT))
		r->looks = true;
}

static void read_one(struct reading *r, const uint32_t *word, uint32_t n, uint32_t op)
{
	if (op == OP_CAPABILITY && n == 2 && word[1] == CAPABILITY_SHADER)
		r->shader = true;
	else if (op == OP_CAPABILITY && n == 2 && word[1] == CAPABILITY_MEMORY_MODEL)
		r->looks = true;
	else if (op == OP_DECORATE && n > 2)
		read_decoration(r, word + 2, n - 2);
	else if (op == OP_MEMBER_DECORATE && n > 3)
		read_decoration(r, word + 3, n - 3);
	else if (op == OP_LOOP_MERGE)
		r->loops = true;
	else if (is_atomic(op) && n > 3)
		r->atomics[r->n_atomics++] = word[2];
}

/* Names, types, constants and decorations use nobody's result. */
static bool is_code(uint32_t op)
{
	return op == OP_EXT_INST || (op >= OP_FUNCTION && op != OP_DECORATE &&
				     op != OP_MEMBER_DECORATE);
}

static bool uses(const uint32_t *word, uint32_t n, uint32_t id, uint32_t op)
{
	uint32_t i;

	for (i = 1; i < n; i++)
		if (word[i] == id && !(i == 2 && is_atomic(op)))
			return true;
	return false;
}

static bool atomic_is_used(const struct reading *r, const uint32_t *code, size_t words)
{
	unsigned int i;
	size_t at;

	for (i = 0; i < r->n_atomics; i++)
		for (at = HEAD; at < words; at += code[at] >> 16)
			if (is_code(code[at] & 0xffff) &&
			    uses(code + at, code[at] >> 16, r->atomics[i], code[at] & 0xffff))
				return true;
	return false;
}

bool gsv_judge(const uint32_t *code, size_t bytes)
{
	struct reading r = { 0 };
	size_t words = bytes / 4, at;
	bool may = false;

	if (words <= HEAD || code[0] != MAGIC)
		return false;
	r.atomics = malloc(words * sizeof(*r.atomics));
	if (!r.atomics)
		return false;
	for (at = HEAD; at < words; at += code[at] >> 16) {
		if (!(code[at] >> 16) || code[at] >> 16 > words - at)
			goto out;
		read_one(&r, code + at, code[at] >> 16, code[at] & 0xffff);
	}
	may = r.shader && !r.counts &&
	      !(r.loops && (r.looks || atomic_is_used(&r, code, words)));
out:
	free(r.atomics);
	return may;
}
