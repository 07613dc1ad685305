// SPDX-License-Identifier: MIT
/*
 * What each function does, by itself and through those that it calls: which of the
 * work-item's values it reads, what may not be cut, and through which pointers memory
 * may be read and written.
 *
 * Pointers are followed coarsely and on the safe side: whatever is computed from a
 * value may point where the value points. A variable of the function's own holds what
 * was ever stored in it. What has no such origin may be anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spv.h"

/* OpenCL.std: the instructions that go through pointers, or print. */
enum { STD_VLOADN = 171, STD_VSTOREN, STD_VLOAD_HALF, STD_VLOAD_HALFN, STD_VSTORE_HALF,
	STD_VSTORE_HALF_R, STD_VSTORE_HALFN, STD_VSTORE_HALFN_R, STD_VLOADA_HALFN,
	STD_PRINTF = 184, STD_PREFETCH };

/* Built-ins that depend on the size of all groups. */
enum { MAX_SUBGROUP = 37, ENQUEUED_SUBGROUPS = 39 };

/* Of memory semantics: the order, and memory that only a sub-group or a group has. */
#define FENCE_WITHIN_GROUP	(0x1eu | 0x80 | 0x100)

struct walk {
	struct spv *s;
	struct fn *f;
	origins *of;		/* per id */
	origins blob;		/* stored where we don't follow it */
	bool changed;
};

void spv_use(struct fn *f, uint32_t bits, uint32_t at)
{
	for (uint32_t b = 0; b < 32; b++)
		if (bits & ~f->uses & 1u << b)
			f->where[b] = at;
	f->uses |= bits;
}

static void add_to(struct walk *k, origins *to, origins more)
{
	k->changed |= (more & ~*to) != 0;
	*to |= more;
}

static bool is_variable(const struct spv *s, uint32_t id)
{
	uint32_t def = s->ids[id].def;

	return def && op_of(s, def) == OP_VARIABLE;
}

/* Memory behind @pointer is written (or read): by which parameter, or any. */
static void through(struct walk *k, uint32_t pointer, bool write, uint32_t at)
{
	uint32_t storage = storage_of(k->s, pointer);
	origins from = k->of[pointer];

	if (!k->s->ids[pointer].def)		/* made by what isn't known */
		spv_use(k->f, U_UNKNOWN, at);
	if (storage == STORAGE_FUNCTION || storage == STORAGE_WORKGROUP ||
	    storage == STORAGE_INPUT || (storage == STORAGE_CONSTANT && !from))
		return;
	if (write)
		add_to(k, &k->f->written, from);
	else
		add_to(k, &k->f->read, from);
	if (!from)
		spv_use(k->f, write ? U_WRITES_ANY : U_READS_ANY, at);
}

static void stored(struct walk *k, uint32_t pointer, origins what)
{
	if (is_variable(k->s, pointer))
		add_to(k, &k->of[pointer], what);
	else if (storage_of(k->s, pointer) == STORAGE_FUNCTION ||
		 storage_of(k->s, pointer) == STORAGE_GENERIC)
		add_to(k, &k->blob, what);
}

static void walk_call(struct walk *k, uint32_t at)
{
	struct spv *s = k->s;
	uint32_t i, len = len_of(s, at), fn = s->fn_of_id[s->w[at + 3]];
	const struct fn *g;
	origins all = 0;

	if (!fn)
		return;
	g = &s->fns[fn - 1];
	for (i = 4; i < len; i++) {
		uint32_t arg = s->w[at + i];

		all |= k->of[arg];
		if (is_variable(s, arg) || storage_of(s, arg) == STORAGE_FUNCTION)
			all |= k->blob;		/* it may hold pointers of ours */
		if (g->written & origin_of(i - 4))
			through(k, arg, true, at);
		if (g->read & origin_of(i - 4))
			through(k, arg, false, at);
	}
	/* The callee may leave any of them in the memory of any other. */
	for (i = 4; i < len; i++)
		if (storage_of(s, s->w[at + i]) == STORAGE_FUNCTION)
			stored(k, s->w[at + i], all);
	add_to(k, &k->of[s->w[at + 2]], all);
}

bool spv_loads_vector(uint32_t n)
{
	return n == STD_VLOADN || n == STD_VLOAD_HALF || n == STD_VLOAD_HALFN ||
		n == STD_VLOADA_HALFN;
}

static void walk_ext(struct walk *k, uint32_t at)
{
	struct spv *s = k->s;
	uint32_t i, n = s->w[at + 4];

	for (i = 5; i < len_of(s, at); i++) {
		uint32_t arg = s->w[at + i];

		if (arg >= s->bound || spv_is_number(s, at, i) ||
		    storage_of(s, arg) == UINT32_MAX || n == STD_PREFETCH)
			continue;
		if (spv_loads_vector(n) || n == STD_PRINTF)
			through(k, arg, false, at);
		else
			through(k, arg, true, at);
	}
}

static void walk_pointers(struct walk *k, uint32_t at)
{
	struct spv *s = k->s;
	uint32_t op = op_of(s, at), len = len_of(s, at), i, r = result_at(op), to;
	origins all = 0;

	switch (op) {
	case OP_LOAD:
		through(k, s->w[at + 3], false, at);
		if (is_variable(s, s->w[at + 3]))
			all = k->of[s->w[at + 3]];
		else if (storage_of(s, s->w[at + 3]) == STORAGE_FUNCTION)
			all = k->blob | k->of[s->w[at + 3]];
		add_to(k, &k->of[s->w[at + 2]], all);
		return;
	case OP_STORE:
		through(k, s->w[at + 1], true, at);
		stored(k, s->w[at + 1], k->of[s->w[at + 2]]);
		return;
	case OP_COPY_MEMORY:
	case OP_COPY_MEMORY_SIZED:
		through(k, s->w[at + 1], true, at);
		through(k, s->w[at + 2], false, at);
		stored(k, s->w[at + 1], k->of[s->w[at + 2]] | k->blob);
		return;
	case OP_FUNCTION_CALL:
		walk_call(k, at);
		return;
	case OP_EXT_INST:
		if (spv_set_of(s, at) == SET_STD)
			walk_ext(k, at);
		break;
	case OP_IMAGE_WRITE:
		if (len > 1 && s->w[at + 1] < s->bound)
			add_to(k, &k->f->written, k->of[s->w[at + 1]]);
		return;
	case OP_ATOMIC_STORE:
		if (len > 4 && s->w[at + 1] < s->bound)
			through(k, s->w[at + 1], true, at);
		return;
	case OP_GROUP_ASYNC_COPY:
		if (len > 6 && s->w[at + 4] < s->bound && s->w[at + 5] < s->bound) {
			through(k, s->w[at + 4], true, at);
			through(k, s->w[at + 5], false, at);
		}
		return;
	}
	if (op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR) {
		through(k, s->w[at + 3], op != OP_ATOMIC_LOAD, at);
		through(k, s->w[at + 3], false, at);
	} else if (op == OP_ATOMIC_FLAG_TEST_AND_SET || op == OP_ATOMIC_FLAG_CLEAR) {
		spv_use(k->f, U_WRITES_ANY, at);
	}
	if (!r || op == OP_VARIABLE)
		return;
	to = literals_from(op) < len ? literals_from(op) : len;
	for (i = r + 1; i < to; i++)
		if (s->w[at + i] < s->bound && !spv_is_number(s, at, i))
			all |= k->of[s->w[at + i]];
	add_to(k, &k->of[s->w[at + r]], all);
}

/* A builtin's variable may be loaded from, whole or by element; all else is special. */
static void walk_builtins(struct spv *s, struct fn *f, uint32_t at)
{
	uint32_t op = op_of(s, at), len = len_of(s, at), i, r = result_at(op), to;

	if (op == OP_LINE || op == OP_NAME)
		return;
	to = literals_from(op) < len ? literals_from(op) : len;
	for (i = r ? r + 1 : 1; i < to; i++) {
		uint32_t id = s->w[at + i];

		if (id >= s->bound || !s->ids[id].builtin || spv_is_number(s, at, i))
			continue;
		spv_use(f, BIT(s->ids[id].builtin - 1), at);
		if (s->ids[id].builtin - 1 == B_SUBGROUP)
			spv_use(f, U_SUBGROUP, at);
		if (s->ids[id].number == MAX_SUBGROUP || s->ids[id].number == ENQUEUED_SUBGROUPS)
			spv_use(f, U_SUB_COUNT, at);
		if (op == OP_LOAD && i == 3)
			continue;
		if ((op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_ACCESS_CHAIN) && i == 3)
			continue;	/* its uses are looked at in walk_elements() */
		spv_use(f, U_SPECIAL, at);
	}
}

/* Pointers to an element of a builtin are for loads only. */
static void walk_elements(struct spv *s, struct fn *f, const uint8_t *element)
{
	uint32_t at, i, r, to, op;

	for (at = f->word; at < f->end; at += len_of(s, at)) {
		op = op_of(s, at);
		r = result_at(op);
		to = literals_from(op) < len_of(s, at) ? literals_from(op) : len_of(s, at);
		for (i = r ? r + 1 : 1; i < to; i++)
			if (s->w[at + i] < s->bound && element[s->w[at + i]] &&
			    !spv_is_number(s, at, i) && !(op == OP_LOAD && i == 3))
				spv_use(f, U_SPECIAL, at);
	}
}

/* The scope that operand @i names; UINT32_MAX: there is no telling. */
static uint32_t scope_of(const struct spv *s, uint32_t at, uint32_t i)
{
	uint32_t v;

	return len_of(s, at) > i && s->w[at + i] < s->bound &&
	       const_value(s, s->w[at + i], &v) ? v : UINT32_MAX;
}

/* A barrier for more than a group is a wait for others. */
static void walk_barrier(struct spv *s, struct fn *f, uint32_t at)
{
	uint32_t scope = scope_of(s, at, 1);

	if (scope == SCOPE_SUBGROUP)
		spv_use(f, U_SUBGROUP, at);
	else if (scope != SCOPE_ITEM)
		spv_use(f, scope == SCOPE_WORKGROUP ? U_BARRIER : U_BARRIER | U_WAITS, at);
}

static void walk_collective(struct spv *s, struct fn *f, uint32_t at)
{
	uint32_t scope = scope_of(s, at, op_of(s, at) == OP_GROUP_WAIT_EVENTS ? 1 : 3);

	if (scope == SCOPE_SUBGROUP)
		spv_use(f, U_SUBGROUP, at);
	else
		spv_use(f, scope == SCOPE_WORKGROUP ? U_COLLECTIVE | U_BARRIER : U_UNKNOWN, at);
}

/* What a function names: only variables that we know, and no function but to call it. */
static void walk_names(struct spv *s, struct fn *f, uint32_t at)
{
	uint32_t op = op_of(s, at), i, id, storage;

	for (i = 1; i < len_of(s, at) && i < literals_from(op); i++) {
		id = s->w[at + i];
		if (id >= s->bound || spv_is_number(s, at, i))
			continue;
		if (s->fn_of_id[id] && op != OP_FUNCTION && !(op == OP_FUNCTION_CALL && i == 3))
			spv_use(f, U_UNKNOWN, at);	/* a function's address */
		if (!s->ids[id].def || s->ids[id].def >= s->first_fn)
			continue;
		if (s->ids[id].global)
			spv_use(f, U_GLOBALS, at);
		if (!is_variable(s, id) || s->ids[id].builtin)
			continue;
		if (s->ids[id].imported)
			spv_use(f, U_EXTERN, at);
		storage = storage_of(s, id);
		if (storage != STORAGE_CONSTANT && storage != STORAGE_WORKGROUP &&
		    storage != STORAGE_CROSS)
			spv_use(f, U_UNKNOWN, at);
	}
}

/* A fence on memory that others see makes plain reads behind it see what they wrote. */
bool spv_is_fence(const struct spv *s, uint32_t at)
{
	uint32_t v;

	return op_of(s, at) == OP_MEMORY_BARRIER &&
	       (len_of(s, at) < 3 || s->w[at + 2] >= s->bound ||
		!const_value(s, s->w[at + 2], &v) || v & ~FENCE_WITHIN_GROUP);
}

static void walk_ops(struct spv *s, struct fn *f, uint32_t at)
{
	uint32_t op = op_of(s, at);

	switch (op) {
	case OP_CONTROL_BARRIER:
		walk_barrier(s, f, at);
		break;
	case OP_MEMORY_BARRIER:
		if (spv_is_fence(s, at))
			spv_use(f, U_FENCE, at);
		break;
	case OP_EXT_INST:
		if (spv_set_of(s, at) == SET_STD && s->w[at + 4] == STD_PRINTF)
			spv_use(f, U_PRINTF, at);
		else if (spv_set_of(s, at) != SET_STD && spv_set_of(s, at) != SET_DEBUG)
			spv_use(f, U_UNKNOWN, at);
		break;
	case OP_NAMED_BARRIER_INITIALIZE:
	case OP_MEMORY_NAMED_BARRIER:
	case OP_KILL:
		spv_use(f, U_UNKNOWN, at);
		break;
	}
	if (op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR)
		spv_use(f, U_ATOMIC, at);
	if (op == OP_ATOMIC_FLAG_TEST_AND_SET || op == OP_ATOMIC_FLAG_CLEAR)
		spv_use(f, U_ATOMIC, at);
	if (op >= OP_GROUP_ASYNC_COPY && op <= OP_GROUP_S_MAX)
		walk_collective(s, f, at);
	if (op >= OP_NON_UNIFORM_FIRST && op <= OP_NON_UNIFORM_LAST)
		spv_use(f, U_SUBGROUP, at);
	if (op >= OP_READ_PIPE && op <= OP_GROUP_COMMIT_WRITE_PIPE)
		spv_use(f, U_PIPE, at);
	if (op >= OP_ENQUEUE_MARKER && op <= OP_BUILD_ND_RANGE)
		spv_use(f, U_DEVICE_LAUNCH, at);
	if ((op >= OP_SAMPLED_IMAGE && op <= OP_IMAGE_QUERY_LAST) || op == OP_IMAGE_TEXEL_POINTER)
		spv_use(f, U_IMAGE, at);
	if (op > OP_LAST_CORE)
		spv_use(f, U_UNKNOWN, at);
	walk_names(s, f, at);
	f->own_instructions += op != OP_LINE && op != OP_NO_LINE && op != OP_LABEL &&
		op != OP_FUNCTION_PARAMETER && op != OP_VARIABLE;
}

static void note_calls(struct spv *s, struct fn *f)
{
	uint32_t at, fn;

	f->call = s->n_calls;
	for (at = f->word; at < f->end && !s->err; at += len_of(s, at)) {
		if (op_of(s, at) != OP_FUNCTION_CALL)
			continue;
		fn = s->fn_of_id[s->w[at + 3]];
		if (!fn || len_of(s, at) != 4 + s->fns[fn - 1].n_params) {
			spv_error(s, -EINVAL, at, "a call that doesn't fit its function");
			return;
		}
		if (spv_room(s, &s->calls, &s->cap_calls, s->n_calls + 1, sizeof(*s->calls)))
			s->calls[s->n_calls++] = (struct call){ at, fn - 1 };
	}
	f->n_calls = s->n_calls - f->call;
}

static void inherit(struct fn *f, const struct fn *g)
{
	for (uint32_t b = 0; b < 32; b++)
		if (g->uses & ~f->uses & 1u << b)
			f->where[b] = g->where[b];
	f->uses |= g->uses;
	if (f->instructions < (1u << 24))
		f->instructions += g->instructions;
}

static void finish(struct spv *s, struct fn *f, origins *of, uint8_t *element)
{
	struct walk k = { .s = s, .f = f, .of = of };
	uint32_t at, i, rounds = 0;

	if (!f->label) {
		spv_use(f, U_EXTERN, f->word);
		return;
	}
	for (i = 0; i < f->n_params; i++)
		of[s->params[f->first_param + i]] = origin_of(i);
	for (at = f->word; at < f->end; at += len_of(s, at)) {
		uint32_t op = op_of(s, at);

		walk_builtins(s, f, at);
		walk_ops(s, f, at);
		if ((op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_ACCESS_CHAIN) &&
		    s->ids[s->w[at + 3]].builtin) {
			element[s->w[at + 2]] = 1;
			if (len_of(s, at) != 5)
				spv_use(f, U_SPECIAL, at);
		}
	}
	walk_elements(s, f, element);
	do {
		k.changed = false;
		for (at = f->word; at < f->end; at += len_of(s, at))
			walk_pointers(&k, at);
	} while (k.changed && ++rounds < 200);
	if (k.changed)			/* never seen; on the safe side */
		f->written = f->read = ~(origins)0;
	f->own = f->uses;
	f->instructions = f->own_instructions;
	for (i = 0; i < f->n_calls; i++) {
		const struct fn *g = &s->fns[s->calls[f->call + i].fn];

		inherit(f, g);
		if (g->entry && g->uses & (SLICE_BITS | WORKER_BITS))
			spv_use(f, U_CALLS_KERNEL, s->calls[f->call + i].word);
	}
	spv_flow(s, f);
}

/* A block that hands its own parameters on: the translator puts one before each kernel. */
static bool hands_on(const struct spv *s, const struct fn *f, uint32_t call)
{
	uint32_t i, j, at;

	for (at = f->label + len_of(s, f->label); at < f->end; at += len_of(s, at))
		if (op_of(s, at) == OP_LABEL)
			return false;
	for (i = 4; i < len_of(s, call); i++) {
		for (j = 0; j < f->n_params; j++)
			if (s->params[f->first_param + j] == s->w[call + i])
				break;
		if (j == f->n_params)
			return false;
	}
	return true;
}

/* Functions whose parameters are a kernel's: the same for all work-items. */
static void find_kernels(struct spv *s)
{
	uint32_t i, c;

	for (i = 0; i < s->n_fns; i++)
		s->fns[i].uniform = s->fns[i].called = s->fns[i].entry;
	for (i = 0; i < s->n_fns; i++)
		for (c = 0; c < s->fns[i].n_calls; c++) {
			const struct call *call = &s->calls[s->fns[i].call + c];
			struct fn *g = &s->fns[call->fn];
			bool yes = s->fns[i].entry && hands_on(s, &s->fns[i], call->word);

			g->uniform = g->called ? g->uniform && yes : yes;
			g->called = true;
		}
}

/* Callees first. One's own stack isn't used: calls may be nested as deep as they like. */
void spv_facts(struct spv *s)
{
	uint32_t *stack = calloc(s->n_fns + 1, sizeof(*stack)), n, i;
	origins *of = calloc(s->bound, sizeof(*of));
	uint8_t *element = calloc(s->bound, 1);

	if (!stack || !of || !element)
		spv_error(s, -ENOMEM, 0, "out of memory");
	for (i = 0; i < s->n_fns && !s->err; i++)
		note_calls(s, &s->fns[i]);
	if (!s->err)
		find_kernels(s);
	for (i = 0; i < s->n_fns && !s->err; i++) {
		n = 0;
		if (!s->fns[i].seen)
			stack[n++] = i;
		while (n && !s->err) {
			struct fn *f = &s->fns[stack[n - 1]];

			if (f->seen == 2) {
				n--;
				continue;
			}
			f->seen = 1;
			while (f->next_call < f->n_calls) {
				struct fn *g = &s->fns[s->calls[f->call + f->next_call].fn];

				if (g->seen == 1)
					spv_error(s, -EINVAL, s->calls[f->call + f->next_call].word,
						  "functions that call each other in a circle");
				if (!g->seen)
					break;
				f->next_call++;
			}
			if (f->next_call < f->n_calls) {
				stack[n++] = s->calls[f->call + f->next_call].fn;
			} else if (!s->err) {
				finish(s, f, of, element);
				f->seen = 2;
				n--;
			}
		}
	}
	free(stack);
	free(of);
	free(element);
}
