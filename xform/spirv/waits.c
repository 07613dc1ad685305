// SPDX-License-Identifier: MIT
/*
 * Loops that wait for other work-groups.
 *
 * U_WAITS: a branch inside a loop depends on memory that other work-groups may change:
 * a volatile or atomic read, a plain one in a loop with a fence on global memory, or an
 * atomic operation. Not meant are atomic_add of a number in a loop (a queue: each turn
 * moves on) and a loop that ends as a compare-and-exchange succeeds that expects what is
 * read anew at each turn (whoever fails, another has succeeded).
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

static bool is_exchange(uint32_t op)
{
	return op == OP_ATOMIC_COMPARE_EXCHANGE || op == OP_ATOMIC_COMPARE_EXCHANGE_WEAK;
}

#define ACCESS_VOLATILE	1u
#define ACCESS_VISIBLE	0x10u	/* makes others' writes visible */

/* An instruction whose result tells what other groups did. */
static bool polls(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at), pointer, access, v;

	pointer = reads_shared(s, at, &access);
	if (pointer)
		return access & (ACCESS_VOLATILE | ACCESS_VISIBLE) || is_volatile(s, pointer);
	if (op == OP_ATOMIC_FLAG_TEST_AND_SET)
		return true;
	if (op < OP_ATOMIC_LOAD || op > OP_ATOMIC_XOR || op == OP_ATOMIC_STORE ||
	    !shared_memory(s, s->w[at + 3]))
		return false;
	if (is_exchange(op))
		return !(s->marks[s->w[at + 2]] & M_RETRY);
	if (op == OP_ATOMIC_I_INCREMENT || op == OP_ATOMIC_I_INCREMENT + 1)
		return false;
	/* a step, if it isn't one of nothing */
	if (op == OP_ATOMIC_I_ADD || op == OP_ATOMIC_I_ADD + 1)
		return !const_value(s, s->w[at + 6], &v) || !v;
	return true;
}

/* Reads that see what others wrote behind a fence. */
static bool fenced_read(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at), access;

	return reads_shared(s, at, &access) || (op >= OP_SAMPLED_IMAGE && op <= OP_IMAGE_READ);
}

static const struct fn *callee(const struct spv *s, uint32_t at)
{
	uint32_t fn = op_of(s, at) == OP_FUNCTION_CALL ? s->fn_of_id[s->w[at + 3]] : 0;

	return fn ? &s->fns[fn - 1] : NULL;
}

static bool calls_polling(const struct spv *s, uint32_t at)
{
	const struct fn *g = callee(s, at);

	return g && g->uses & U_POLLS;
}

static bool calls_reading(const struct spv *s, uint32_t at)
{
	const struct fn *g = callee(s, at);

	return g && (g->read || g->uses & (U_READS_ANY | U_GLOBALS | U_IMAGE));
}

static bool calls_fencing(const struct spv *s, uint32_t at)
{
	const struct fn *g = callee(s, at);

	return g && g->uses & U_FENCE;
}

static uint32_t block_at(const struct flow *k, uint32_t word)
{
	uint32_t low = 0, high = k->n;

	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;

		if (k->b[mid].word <= word)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* The function's own variable that a pointer points into; 0: none. */
static uint32_t variable_of(const struct flow *k, uint32_t pointer)
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
		    op != OP_PTR_ACCESS_CHAIN && op != OP_IN_BOUNDS_PTR_ACCESS_CHAIN)
			return 0;
		pointer = s->w[def + 3];
	}
	return 0;
}

#define MAX_FRESH_DEPTH	40

/*
 * Marks the blocks in which a value is read anew from memory that others may write, or
 * a variable that holds it is set. False: nothing of it is.
 */
static bool find_fresh(struct flow *k, uint32_t id, uint32_t depth)
{
	struct spv *s = k->s;
	uint32_t def = s->ids[id].def, op = op_of(s, def), at, i, to, variable;
	bool any = false;

	if (def < k->f->label || def >= k->f->end || s->marks[id] & M_SEEN ||
	    depth > MAX_FRESH_DEPTH || !step(k))
		return false;
	s->marks[id] |= M_SEEN;
	variable = op == OP_LOAD ? variable_of(k, s->w[def + 3]) : 0;
	if (variable) {
		for (at = k->f->label; at < k->f->end && step(k); at += len_of(s, at)) {
			bool sets = false;

			if (op_of(s, at) == OP_STORE && variable_of(k, s->w[at + 1]) == variable)
				sets = find_fresh(k, s->w[at + 2], depth + 1);
			/* and what it is handed to may set it */
			for (i = 4; op_of(s, at) == OP_FUNCTION_CALL && i < len_of(s, at); i++)
				sets |= variable_of(k, s->w[at + i]) == variable;
			if (op_of(s, at) == OP_COPY_MEMORY || op_of(s, at) == OP_COPY_MEMORY_SIZED)
				sets = variable_of(k, s->w[at + 1]) == variable;
			if (sets)
				k->b[block_at(k, at)].fresh = any = true;
		}
		return any;
	}
	if ((op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR) || fenced_read(s, def) ||
	    calls_reading(s, def)) {
		k->b[block_at(k, def)].fresh = true;
		return true;
	}
	to = literals_from(op) < len_of(s, def) ? literals_from(op) : len_of(s, def);
	for (i = 3; i < to && result_at(op) == 2; i++)
		if (s->w[def + i] < s->bound && !spv_is_number(s, def, i))
			any |= find_fresh(k, s->w[def + i], depth + 1);
	return any;
}

/* Is there a way round from a block to itself that meets no fresh one? */
static bool goes_round_stale(struct flow *k, uint32_t from)
{
	uint32_t n = 0, i, e;

	if (k->b[from].fresh)
		return false;
	for (i = 0; i < k->n && step(k); i++)
		k->b[i].seen = 0;
	k->stack[n++] = from;
	while (n && step(k)) {
		const struct block *b = &k->b[k->stack[--n]];

		for (e = 0; e < b->n_succ; e++) {
			uint32_t t = k->edges[b->succ + e];

			if (t == from)
				return true;
			if (!k->b[t].seen && !k->b[t].fresh)
				k->stack[n++] = t;
			k->b[t].seen = 1;
		}
	}
	return false;
}

/* Two operands that are one value: the same id, or loads of the same variable. */
static bool same_value(const struct flow *k, uint32_t a, uint32_t b)
{
	const struct spv *s = k->s;
	uint32_t d = s->ids[a].def, e = s->ids[b].def;

	return a == b || (op_of(s, d) == OP_LOAD && op_of(s, e) == OP_LOAD &&
			  s->w[d + 3] == s->w[e + 3]);
}

/*
 * A compare-and-exchange that changes something, and expects what is read anew, from
 * memory that others may write, whenever it is tried again.
 */
static void mark_retry(struct flow *k, uint32_t at)
{
	struct spv *s = k->s;
	uint32_t i, at2, r;

	if (same_value(k, s->w[at + 7], s->w[at + 8]))
		return;
	for (i = 0; i < k->n && step(k); i++)
		k->b[i].fresh = false;
	for (at2 = k->f->label; at2 < k->f->end && step(k); at2 += len_of(s, at2)) {
		r = result_at(op_of(s, at2));
		if (r)
			s->marks[s->w[at2 + r]] &= ~M_SEEN;
	}
	if (find_fresh(k, s->w[at + 8], 0) && !goes_round_stale(k, block_at(k, at)))
		s->marks[s->w[at + 2]] |= M_RETRY;
}

/* Does a loop go on where such a compare-and-exchange succeeds, and end where it fails? */
static bool goes_on_by_success(const struct flow *k, const struct block *b)
{
	const struct spv *s = k->s;
	uint32_t cond, def, n = 0, won, lost;
	bool equal;

	if (op_of(s, b->last) != OP_BRANCH_CONDITIONAL)
		return false;
	cond = s->w[b->last + 1];
	for (def = s->ids[cond].def; op_of(s, def) == OP_LOGICAL_NOT && n < 64; n++)
		def = s->ids[s->w[def + 3] < s->bound ? s->w[def + 3] : 0].def;
	if ((op_of(s, def) != OP_I_EQUAL && op_of(s, def) != OP_I_NOT_EQUAL) ||
	    len_of(s, def) < 5 || s->w[def + 3] >= s->bound || s->w[def + 4] >= s->bound ||
	    !((s->marks[s->w[def + 3]] | s->marks[s->w[def + 4]]) & M_RETRY))
		return false;
	equal = (op_of(s, def) == OP_I_EQUAL) != (n & 1);
	won = k->edges[b->succ + !equal];
	lost = k->edges[b->succ + equal];
	return k->b[won].low == b->low && k->b[lost].low != b->low;
}

void flow_find_waits(struct flow *k)
{
	struct spv *s = k->s;
	bool control = false, any = false, memory = false, fenced = false;
	uint32_t i, at, op, r, hit = 0;

	for (at = k->f->label; at < k->f->end; at += len_of(s, at))
		if (is_exchange(op_of(s, at)))
			mark_retry(k, at);
	for (at = k->f->label; at < k->f->end; at += len_of(s, at))
		any |= polls(s, at) || calls_polling(s, at);
	for (i = 0; i < k->n; i++) {
		for (at = k->b[i].word; at <= k->b[i].last && k->b[i].in_loop; at += len_of(s, at))
			fenced |= spv_is_fence(s, at) || calls_fencing(s, at);
		if (k->b[i].in_loop && goes_on_by_success(k, &k->b[i]))
			hit = k->b[i].last;
	}
	/* what it reads, behind a fence of its own, it may give to a loop of its caller */
	any |= k->f->uses & U_FENCE && (k->f->read || k->f->uses & U_READS_ANY);
	if (k->lost || hit)
		spv_use(k->f, U_WAITS, hit ? hit : k->f->word);
	if (!any && !fenced)
		return;
	spv_use(k->f, U_POLLS, k->f->word);
	do {
		k->changed = false;
		for (i = 0; i < k->n && step(k); i++) {
			struct block *b = &k->b[i];

			for (at = b->word; at <= b->last && step(k); at += len_of(s, at)) {
				bool yes = flow_marked(k, at, M_TAINTED);

				op = op_of(s, at);
				r = result_at(op);
				yes |= polls(s, at) || calls_polling(s, at);
				yes |= fenced && b->in_loop &&
					(fenced_read(s, at) || calls_reading(s, at));
				yes |= control && b->in_loop && (op == OP_PHI || op == OP_STORE);
				yes |= memory && op == OP_LOAD;
				if (!yes)
					continue;
				if (r)
					flow_mark(k, s->w[at + r], M_TAINTED);
				if (op == OP_STORE || op == OP_COPY_MEMORY ||
				    op == OP_COPY_MEMORY_SIZED) {
					flow_mark(k, s->w[at + 1], M_TAINTED);
					memory |= storage_of(s, s->w[at + 1]) != STORAGE_FUNCTION;
				}
				/* into memory that isn't followed */
				memory |= calls_polling(s, at) || op == OP_ATOMIC_STORE ||
					(fenced && calls_reading(s, at)) ||
					(op == OP_EXT_INST && flow_reads_pointer(s, at));
				if (b->in_loop && at == b->last && b->n_succ > 1) {
					k->changed |= !control;
					control = true;
					hit = at;
				}
			}
		}
	} while (k->changed && !k->lost);
	if (hit || k->lost)
		spv_use(k->f, U_WAITS, hit ? hit : k->f->word);
}
