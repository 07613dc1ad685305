// SPDX-License-Identifier: MIT
/*
 * Loops that wait for other work-groups, U_WAITS: xform/flow says which, and here it is told
 * what the instructions are. Variables of the function are values that are set and read as
 * others are; all other memory is one kind.
 */
#include "flow.h"

static bool shared_memory(const struct spv *s, uint32_t pointer)
{
	uint32_t storage = storage_of(s, pointer);

	return storage != STORAGE_FUNCTION && storage != STORAGE_WORKGROUP &&
	       storage != STORAGE_INPUT && storage != STORAGE_CONSTANT;
}

/* What is computed from a pointer to volatile memory points there, too. */
static bool is_volatile(const struct spv *s, uint32_t pointer)
{
	uint32_t def, op, n;

	for (n = 0; n < 64; n++) {
		if (s->all_volatile || s->ids[pointer].is_volatile)
			return true;
		def = s->ids[pointer].def;
		op = op_of(s, def);
		if (!def || !s->has_volatile || op == OP_VARIABLE || op == OP_FUNCTION_PARAMETER)
			return false;
		if (op != OP_ACCESS_CHAIN && op != OP_IN_BOUNDS_ACCESS_CHAIN &&
		    op != OP_PTR_ACCESS_CHAIN && op != OP_IN_BOUNDS_PTR_ACCESS_CHAIN &&
		    op != OP_COPY_OBJECT && op != OP_BITCAST &&
		    !(op >= OP_PTR_CAST_TO_GENERIC && op <= OP_GENERIC_CAST_TO_PTR_EXPLICIT))
			return true;	/* of one of several: it may be */
		pointer = s->w[def + 3];
		if (pointer >= s->bound)
			return true;
	}
	return true;
}

/* Through which pointer memory is read that others may write; 0: none. *access: how. */
static uint32_t reads_shared(const struct spv *s, uint32_t at, uint32_t *access)
{
	uint32_t op = op_of(s, at), len = len_of(s, at), from = 0, i, p;

	*access = 0;
	if (op == OP_LOAD)
		from = 3;
	else if (op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED)
		from = 2;
	if (from) {
		/* a copy may have two words of access: for the target, for the source */
		for (i = op == OP_LOAD || op == OP_COPY_MEMORY_SIZED ? 4 : 3; i < len; i++)
			*access |= s->w[at + i];
		p = s->w[at + from];
		return shared_memory(s, p) ? p : 0;
	}
	if (op == OP_EXT_INST && spv_set_of(s, at) == SET_STD && spv_loads_vector(s->w[at + 4]))
		for (i = 5; i < len; i++)
			if (!spv_is_number(s, at, i) &&
			    storage_of(s, s->w[at + i]) != UINT32_MAX &&
			    shared_memory(s, s->w[at + i]))
				return s->w[at + i];
	return 0;
}

/* The function's own variable that a pointer points into; 0: none. */
static uint32_t variable_of(const struct graph *k, uint32_t pointer)
{
	const struct spv *s = k->s;
	uint32_t n, def, op;

	for (n = 0; n < 64 && pointer < s->bound; n++) {
		def = s->ids[pointer].def;
		op = op_of(s, def);
		if (def < k->f->label || def >= k->f->end)
			return 0;
		if (op == OP_VARIABLE)
			return pointer;
		if (op != OP_ACCESS_CHAIN && op != OP_IN_BOUNDS_ACCESS_CHAIN && op != OP_BITCAST &&
		    op != OP_PTR_ACCESS_CHAIN && op != OP_IN_BOUNDS_PTR_ACCESS_CHAIN &&
		    op != OP_COPY_OBJECT && op != OP_PTR_CAST_TO_GENERIC)
			return 0;
		pointer = s->w[def + 3];
	}
	return 0;
}

#define ACCESS_VOLATILE	1u
#define ACCESS_VISIBLE	0x10u	/* makes others' writes visible */

/* Reads that see what others wrote behind a fence, or without one. */
static uint32_t read_flags(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at), access, pointer = reads_shared(s, at, &access);

	if (pointer && (access & (ACCESS_VOLATILE | ACCESS_VISIBLE) || is_volatile(s, pointer)))
		return FLOW_POLLS;
	return pointer || (op >= OP_SAMPLED_IMAGE && op <= OP_IMAGE_READ) ? FLOW_READS : 0;
}

/* A step of a counter, if it isn't one of nothing. */
static int8_t step_of(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at), v;

	if (op == OP_ATOMIC_I_INCREMENT || op == OP_ATOMIC_I_DECREMENT)
		return op == OP_ATOMIC_I_INCREMENT ? 1 : -1;
	if ((op != OP_ATOMIC_I_ADD && op != OP_ATOMIC_I_SUB) ||
	    !const_value(s, s->w[at + 6], &v) || !v)
		return 0;
	return (op == OP_ATOMIC_I_ADD) == ((int32_t)v > 0) ? 1 : -1;
}

static uint32_t atomic_flags(const struct spv *s, uint32_t at)
{
	switch (op_of(s, at)) {
	case OP_ATOMIC_COMPARE_EXCHANGE:
	case OP_ATOMIC_COMPARE_EXCHANGE_WEAK:
		return FLOW_SWAPS;
	case OP_ATOMIC_STORE:
	case OP_ATOMIC_FLAG_CLEAR:
		return FLOW_GIVES;
	case OP_ATOMIC_EXCHANGE:
	case OP_ATOMIC_S_MIN:
	case OP_ATOMIC_U_MIN:
	case OP_ATOMIC_AND:
	case OP_ATOMIC_XOR:
		return FLOW_POLLS | FLOW_GIVES;
	default:
		if (step_of(s, at))
			return FLOW_COUNTS | (step_of(s, at) < 0 ? FLOW_GIVES : 0);
		return FLOW_POLLS;
	}
}

static uint32_t call_flags(const struct spv *s, uint32_t at)
{
	uint32_t fn = s->fn_of_id[s->w[at + 3]], flags = 0;
	const struct fn *g;

	if (!fn)
		return 0;
	g = &s->fns[fn - 1];
	if (g->uses & U_POLLS)
		flags |= FLOW_POLLS;
	if (g->read || g->uses & (U_READS_ANY | U_GLOBALS | U_IMAGE))
		flags |= FLOW_READS;
	if (g->uses & U_FENCE)
		flags |= FLOW_FENCE;
	if (g->uses & U_ATOMIC)
		flags |= FLOW_GIVES;
	if (g->written || g->uses & U_WRITES_ANY)
		flags |= FLOW_WRITES;
	return flags | (g->tries ? FLOW_TRIES : 0);
}

static uint32_t compare_flags(uint32_t op)
{
	switch (op) {
	case OP_I_EQUAL:
		return FLOW_EQUAL;
	case OP_I_NOT_EQUAL:
		return FLOW_UNEQUAL;
	case OP_LOGICAL_NOT:
		return FLOW_NOT;
	case OP_LOGICAL_AND:
		return FLOW_AND;
	case OP_LOGICAL_OR:
		return FLOW_OR;
	case OP_I_ADD:
		return FLOW_ADDS | FLOW_RISES;
	case OP_I_SUB:
		return FLOW_ADDS;
	case OP_I_MUL:
	case OP_U_CONVERT:
	case OP_S_CONVERT:
		return FLOW_RISES;
	case OP_PHI:
		return FLOW_JOINS;
	case OP_COPY_OBJECT:
	case OP_BITCAST:
		return FLOW_COPIES;
	}
	if (op >= OP_U_LESS_THAN && op <= OP_S_LESS_THAN_EQUAL)
		return FLOW_LESS;
	return op >= OP_U_GREATER_THAN && op < OP_U_LESS_THAN ? FLOW_MORE : 0;
}

static uint32_t flags_of(const struct graph *k, uint32_t at)
{
	const struct spv *s = k->s;
	uint32_t op = op_of(s, at);

	if (op == OP_BRANCH_CONDITIONAL)
		return FLOW_BRANCH;
	if (op == OP_ATOMIC_FLAG_TEST_AND_SET)
		return FLOW_POLLS | FLOW_GIVES;
	if ((op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR) || op == OP_ATOMIC_FLAG_CLEAR)
		return shared_memory(s, s->w[at + (result_at(op) ? 3 : 1)]) ?
		       atomic_flags(s, at) : 0;
	if (op == OP_FUNCTION_CALL)
		return call_flags(s, at);
	if (op == OP_STORE)	/* into a part of a variable, or somewhere */
		return variable_of(k, s->w[at + 1]) == s->w[at + 1] ? FLOW_COPIES : FLOW_MAYBE;
	if (op == OP_LOAD && variable_of(k, s->w[at + 3]) == s->w[at + 3])
		return FLOW_COPIES;
	return read_flags(s, at) | (spv_is_fence(s, at) ? FLOW_FENCE : 0) | compare_flags(op) |
		(op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED ? FLOW_MAYBE : 0);
}

static bool is_far(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at);

	if (op == OP_STORE || op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED)
		return storage_of(s, s->w[at + 1]) != STORAGE_FUNCTION;
	return op == OP_ATOMIC_STORE || (op == OP_EXT_INST && flow_reads_pointer(s, at)) ||
	       (op == OP_FUNCTION_CALL && call_flags(s, at) & (FLOW_POLLS | FLOW_READS));
}

/* Where it reads, or writes; FLOW_NONE: not in one place that is known. */
static uint32_t address_of(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at);

	if (op == OP_LOAD || (op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR))
		return s->w[at + (result_at(op) ? 3 : 1)];
	return op == OP_COPY_MEMORY ? s->w[at + 2] : FLOW_NONE;
}

/* What is computed from its operands alone, which are ids, and gives a type. */
static uint64_t alike(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at);

	if ((op < OP_ACCESS_CHAIN || op > OP_PTR_ACCESS_CHAIN) &&
	    op != OP_IN_BOUNDS_PTR_ACCESS_CHAIN && (op < OP_CONVERT_FIRST || op > OP_BITCAST) &&
	    (op < OP_ARITHMETIC_FIRST || op > OP_ARITHMETIC_LAST) &&
	    (op < OP_BITS_FIRST || op > OP_BITS_LAST))
		return 0;
	return (uint64_t)s->w[at + 1] << 16 | op;
}

/* What an instruction sets: its result, where it writes to, what it hands to a function. */
static void tell_defs(struct graph *k, struct flow *f, uint32_t at)
{
	const struct spv *s = k->s;
	uint32_t op = op_of(s, at), i, v;

	if (result_at(op) == 2)
		flow_def(f, s->w[at + 2]);
	if (op == OP_STORE || op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED) {
		v = variable_of(k, s->w[at + 1]);
		flow_def(f, v ? v : s->w[at + 1]);
	}
	for (i = 4; op == OP_FUNCTION_CALL && i < len_of(s, at); i++) {
		v = variable_of(k, s->w[at + i]);
		if (v)
			flow_def(f, v);
	}
}

void spv_tell(struct graph *k, uint32_t at)
{
	const struct spv *s = k->s;
	struct flow *f = &k->flow;
	uint32_t op = op_of(s, at), len = len_of(s, at), r = result_at(op), i, to;
	struct flow_op *o = flow_op(f, at);

	o->flags = flags_of(k, at);
	o->from = op == OP_LOAD ? FLOW_FAR : 0;
	o->to = is_far(s, at) ? FLOW_FAR : 0;
	if (o->flags & FLOW_COUNTS)
		o->step = step_of(s, at);
	o->address = address_of(s, at);
	o->alike = alike(s, at);
	if (o->flags & FLOW_SWAPS) {
		o->puts = s->w[at + 7];
		o->expects = s->w[at + 8];
	}
	if (op == OP_STORE && shared_memory(s, s->w[at + 1]))
		o->puts = s->w[at + 2];
	if (op == OP_STORE)	/* what is stored comes first */
		flow_use(f, s->w[at + 2]);
	to = literals_from(op) < len ? literals_from(op) : len;
	/* a phi has pairs of a value and the block that it comes from */
	for (i = r ? r + 1 : 1; i < to; i += op == OP_PHI ? 2 : 1)
		if (s->w[at + i] < s->bound && !spv_is_number(s, at, i))
			flow_use(f, s->w[at + i]);
	tell_defs(k, f, at);
}

void spv_find_waits(struct graph *k)
{
	struct flow_waits w;

	/* what it reads, behind a fence of its own, it may give to a loop of its caller */
	flow_waits(&k->flow, k->f->uses & U_FENCE && (k->f->read || k->f->uses & U_READS_ANY), &w);
	k->f->tries |= w.tries;
	if (w.polls)
		spv_use(k->f, U_POLLS, k->f->word);
	if (w.waits)
		spv_use(k->f, U_WAITS, w.place == FLOW_NONE ? k->f->word : w.place);
}
