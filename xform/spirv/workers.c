// SPDX-License-Identifier: MIT
/*
 * The loop round a kernel: a new function that is the entry point, and calls the kernel's
 * own, an ordinary function now, once for each group. So its variables, and parameters
 * that are structs by value, begin anew each time, and a return ends a group, not the
 * worker; variables in local memory are the module's and stay where they are. The shape
 * of the loop is that of xform/opencl/workers.c, for the reasons that stand there, and
 * so is the queue.
 */
#include <errno.h>
#include <string.h>

#include "spv.h"

#define QUEUE_RANGES	16u	/* words before struct gsx_cl_queue.range */
#define VOLATILE	1u	/* a memory operand */
/* sequentially consistent, on local memory: barrier(CLK_LOCAL_MEM_FENCE) */
#define LOCAL_FENCE	0x110u

/* The ids that the pieces of a worker share. */
struct worker {
	struct writer *w;
	const struct fn *f;
	uint32_t queue, stop, hidden[3];
	uint32_t group, workers;	/* this one's number, and how many: uint */
	uint32_t groups[3], total, batch, n_back;	/* uint */
	uint32_t start, total64, batch64;	/* ulong */
	uint32_t v_n, v_end, v_next, v_left;	/* variables: uint */
};

static uint32_t u32(struct worker *k, uint32_t value)
{
	return constant(k->w, k->w->t_uint, value);
}

static uint32_t op2(struct worker *k, uint32_t op, uint32_t a, uint32_t b)
{
	return binary(k->w, op, k->w->t_uint, a, b);
}

static uint32_t choose(struct worker *k, uint32_t cond, uint32_t a, uint32_t b)
{
	uint32_t id = k->w->next++;

	EMIT(k->w, &k->w->code, OP_SELECT, k->w->t_uint, id, cond, a, b);
	return id;
}

static uint32_t load(struct worker *k, uint32_t from)
{
	uint32_t id = k->w->next++;

	EMIT(k->w, &k->w->code, OP_LOAD, k->w->t_uint, id, from);
	return id;
}

static void store(struct worker *k, uint32_t to, uint32_t value)
{
	EMIT(k->w, &k->w->code, OP_STORE, to, value);
}

static uint32_t queue_at(struct worker *k, uint32_t i)
{
	uint32_t id = k->w->next++;

	EMIT(k->w, &k->w->code, OP_IN_BOUNDS_PTR_ACCESS_CHAIN, k->w->t_ptr_global, id, k->queue, i);
	return id;
}

static void label(struct worker *k, uint32_t id)
{
	EMIT(k->w, &k->w->code, OP_LABEL, id);
}

static void branch(struct worker *k, uint32_t to)
{
	EMIT(k->w, &k->w->code, OP_BRANCH, to);
}

static void branch_if(struct worker *k, uint32_t cond, uint32_t yes, uint32_t no)
{
	EMIT(k->w, &k->w->code, OP_BRANCH_CONDITIONAL, cond, yes, no);
}

static void barrier(struct worker *k)
{
	uint32_t scope = u32(k, SCOPE_WORKGROUP), fence = u32(k, LOCAL_FENCE);

	EMIT(k->w, &k->w->code, OP_CONTROL_BARRIER, scope, scope, fence);
}

/*
 * Batch @t: first those to be resumed, from the queue, then fresh ones. *none: there is
 * no such batch. Without a branch: where the queue doesn't count, its head is read.
 */
static uint32_t fetch(struct worker *k, uint32_t t, uint32_t *end, uint32_t *none)
{
	struct writer *w = k->w;
	uint32_t back, i, a, b, fresh, from, behind, less;

	back = binary(w, OP_U_LESS_THAN, w->t_bool, t, k->n_back);
	i = op2(k, OP_I_ADD, k->workers, t);
	i = op2(k, OP_I_ADD, u32(k, QUEUE_RANGES), op2(k, OP_I_ADD, i, i));
	i = choose(k, back, i, u32(k, 0));
	a = load(k, queue_at(k, i));
	b = load(k, queue_at(k, op2(k, OP_I_ADD, i, u32(k, 1))));
	fresh = convert(w, w->t_ulong, op2(k, OP_I_SUB, t, k->n_back));
	from = binary(w, OP_I_MUL, w->t_ulong, fresh, k->batch64);
	from = binary(w, OP_I_ADD, w->t_ulong, k->start, from);
	*none = binary(w, OP_U_GREATER_THAN_EQUAL, w->t_bool, from, k->total64);
	behind = binary(w, OP_I_ADD, w->t_ulong, from, k->batch64);
	less = binary(w, OP_U_LESS_THAN, w->t_bool, behind, k->total64);
	*end = choose(k, back, b, choose(k, less, convert(w, w->t_uint, behind), k->total));
	a = choose(k, back, a, convert(w, w->t_uint, from));
	/* a resumed batch is always there */
	i = w->next++;
	EMIT(w, &w->code, OP_LOGICAL_NOT, w->t_bool, i, back);
	*none = binary(w, OP_LOGICAL_AND, w->t_bool, *none, i);
	return a;
}

static void parameters(struct worker *k, uint32_t *args)
{
	struct writer *w = k->w;
	struct spv *s = w->s;
	uint32_t def = s->ids[k->f->type].def, i, at, id;

	for (i = 0; i < k->f->n_params; i++) {
		args[i] = w->next++;
		EMIT(w, &w->code, OP_FUNCTION_PARAMETER, s->w[def + 3 + i], args[i]);
		for (at = s->names; at < s->annotations; at += len_of(s, at))
			if (op_of(s, at) == OP_DECORATE &&
			    s->w[at + 1] == s->params[k->f->first_param + i]) {
				emit_words(s, &w->decorations, s->w + at, 1);
				emit_words(s, &w->decorations, &args[i], 1);
				emit_words(s, &w->decorations, s->w + at + 2, len_of(s, at) - 2);
			}
	}
	for (i = 0; i < 5; i++) {
		id = w->next++;
		EMIT(w, &w->code, OP_FUNCTION_PARAMETER, i < 2 ? w->t_ptr_global : w->t_v4, id);
		*(i == 0 ? &k->queue : i == 1 ? &k->stop : &k->hidden[i - 2]) = id;
	}
}

static uint32_t variable(struct worker *k, uint32_t type)
{
	uint32_t id = k->w->next++;

	EMIT(k->w, &k->w->code, OP_VARIABLE, type, id, STORAGE_FUNCTION);
	return id;
}

/* A size_t, as a uint: group numbers are below 2^31 here. */
static uint32_t narrow(struct worker *k, uint32_t v)
{
	return k->w->s->physical32 ? v : convert(k->w, k->w->t_uint, v);
}

static void numbers(struct worker *k)
{
	struct writer *w = k->w;
	uint32_t i;

	k->group = narrow(k, extract(w, w->t_size, load_builtin(w, B_GROUP_ID), 0));
	k->workers = narrow(k, extract(w, w->t_size, load_builtin(w, B_NUM_GROUPS), 0));
	for (i = 0; i < 3; i++)
		k->groups[i] = convert(w, w->t_uint, extract(w, w->t_ulong, k->hidden[0], i));
	k->batch64 = extract(w, w->t_ulong, k->hidden[0], 3);
	k->start = extract(w, w->t_ulong, k->hidden[1], 3);
	k->n_back = convert(w, w->t_uint, extract(w, w->t_ulong, k->hidden[2], 3));
	k->total = op2(k, OP_I_MUL, k->groups[0], op2(k, OP_I_MUL, k->groups[1], k->groups[2]));
	k->total64 = convert(w, w->t_ulong, k->total);
}

/* The state of group n. */
static void group_state(struct worker *k, uint32_t state, uint32_t lid, uint32_t size)
{
	struct writer *w = k->w;
	uint32_t n = load(k, k->v_n), value[B_STATE] = { 0 }, x[3], row, id, i, uses = k->f->uses;
	uint32_t first;

	row = op2(k, OP_U_DIV, n, k->groups[0]);
	x[0] = op2(k, OP_U_MOD, n, k->groups[0]);
	x[1] = op2(k, OP_U_MOD, row, k->groups[1]);
	x[2] = op2(k, OP_U_DIV, row, k->groups[1]);
	for (i = 0; i < 3 && !w->s->physical32; i++)
		x[i] = convert(w, w->t_ulong, x[i]);
	id = w->next++;
	EMIT(w, &w->code, OP_COMPOSITE_CONSTRUCT, w->t_v3, id, x[0], x[1], x[2]);
	value[B_GROUP_ID] = id;
	value[B_NUM_GROUPS] = to_v3(w, k->hidden[0]);
	value[B_GLOBAL_OFFSET] = to_v3(w, k->hidden[1]);
	value[B_GLOBAL_SIZE] = to_v3(w, k->hidden[2]);
	value[B_ENQUEUED_SIZE] = size;
	if (uses & (BIT(B_GLOBAL_ID) | BIT(B_LINEAR_ID))) {
		first = binary(w, OP_I_MUL, w->t_v3, id, size);
		first = binary(w, OP_I_ADD, w->t_v3, first, lid);
		value[B_GLOBAL_ID] = binary(w, OP_I_ADD, w->t_v3, first, value[B_GLOBAL_OFFSET]);
	}
	if (uses & BIT(B_LINEAR_ID))
		value[B_LINEAR_ID] = linear_id(w, value[B_GLOBAL_ID], value[B_GLOBAL_OFFSET],
					       value[B_GLOBAL_SIZE]);
	write_state(w, state, value);
}

static void call_body(struct worker *k, const uint32_t *args, uint32_t state)
{
	struct writer *w = k->w;
	uint32_t n = k->f->n_params, first = (4 + n + !!state) << 16 | OP_FUNCTION_CALL;
	uint32_t head[3] = { w->t_void, w->next++, k->f->id };

	emit_words(w->s, &w->code, &first, 1);
	emit_words(w->s, &w->code, head, 3);
	emit_words(w->s, &w->code, args, n);
	emit_words(w->s, &w->code, &state, !!state);
}

/* One item finds the next group, or notes what is left of the batch. */
static void next_group(struct worker *k, uint32_t local, uint32_t done)
{
	struct writer *w = k->w;
	uint32_t more = w->next++, take = w->next++, got = w->next++, step = w->next++;
	uint32_t stopped = w->next++, empty = w->next++, leave = w->next++, out = w->next++;
	uint32_t word = w->next++, n1, end, from, end2, none, ticket, i;

	EMIT(w, &w->code, OP_LOAD, w->t_uint, word, k->stop, VOLATILE);
	n1 = op2(k, OP_I_ADD, load(k, k->v_n), u32(k, 1));
	end = load(k, k->v_end);
	branch_if(k, binary(w, OP_I_EQUAL, w->t_bool, word, u32(k, 0)), more, stopped);
	label(k, more);
	branch_if(k, binary(w, OP_U_LESS_THAN, w->t_bool, n1, end), step, take);
	label(k, step);
	store(k, k->v_next, n1);
	branch(k, out);
	label(k, take);
	ticket = w->next++;
	EMIT(w, &w->code, OP_ATOMIC_I_ADD, w->t_uint, ticket, k->queue, u32(k, SCOPE_DEVICE),
	     u32(k, 0), u32(k, 1));
	from = fetch(k, ticket, &end2, &none);
	branch_if(k, none, empty, got);
	label(k, got);
	store(k, k->v_end, end2);
	store(k, k->v_next, from);
	branch(k, out);
	label(k, stopped);
	store(k, k->v_left, n1);
	branch(k, leave);
	label(k, empty);
	store(k, k->v_left, end);
	branch(k, leave);
	label(k, leave);
	i = op2(k, OP_I_ADD, u32(k, QUEUE_RANGES), op2(k, OP_I_ADD, k->group, k->group));
	store(k, queue_at(k, i), load(k, k->v_left));
	store(k, queue_at(k, op2(k, OP_I_ADD, i, u32(k, 1))), end);
	store(k, k->v_next, u32(k, UINT32_MAX));
	branch(k, out);
	label(k, out);
	store(k, local, load(k, k->v_next));
	branch(k, done);
}

static void name_it(struct writer *w, uint32_t id, const char *name)
{
	uint32_t words[64] = { id }, n = strlen(name), i;

	for (i = 0; i < n && i < 4 * 62; i++)
		words[1 + i / 4] |= (uint32_t)(unsigned char)name[i] << i % 4 * 8;
	emit(w->s, &w->names, OP_NAME, words, 2 + i / 4);
}

/* The variable that hands the next group on. Devices look for the kernel's name in its. */
static uint32_t local_variable(struct writer *w, const char *kernel)
{
	char name[240];
	uint32_t id = w->next++;
	size_t n = strlen(kernel);

	EMIT(w, &w->types, OP_VARIABLE, w->t_ptr_local, id, STORAGE_WORKGROUP);
	n = n < 200 ? n : 200;
	memcpy(name, kernel, n);
	strcpy(name + n, ".gsx_next");
	name_it(w, id, name);
	return id;
}

void write_worker(struct writer *w, uint32_t entry)
{
	struct spv *s = w->s;
	struct entry *e = &s->entries[entry];
	struct worker k = { .w = w, .f = &s->fns[e->fn] };
	uint32_t more[5] = { w->t_ptr_global, w->t_ptr_global, w->t_v4, w->t_v4, w->t_v4 };
	uint32_t type = function_type(w, k.f, more, 5), state = 0, lid, size, any, first, end, none;
	uint32_t loop = w->next++, find = w->next++, done = w->next++, out = w->next++, i, next;
	uint32_t *args = spv_keep(s, (k.f->n_params + 1) * 4);

	if (!args)
		return;
	w->worker[entry] = w->next++;
	w->local[entry] = local_variable(w, e->name);
	EMIT(w, &w->code, OP_FUNCTION, w->t_void, w->worker[entry], 0, type);
	parameters(&k, args);
	label(&k, w->next++);
	if (w->type[e->fn])
		state = variable(&k, w->t_ptr_state);
	k.v_n = variable(&k, w->t_ptr_uint);
	k.v_end = variable(&k, w->t_ptr_uint);
	k.v_next = variable(&k, w->t_ptr_uint);
	k.v_left = variable(&k, w->t_ptr_uint);
	numbers(&k);
	lid = load_builtin(w, B_LOCAL_ID);
	size = load_builtin(w, B_LOCAL_SIZE);
	any = extract(w, w->t_size, lid, 0);
	for (i = 1; i < 3; i++)
		any = binary(w, OP_BITWISE_OR, w->t_size, any, extract(w, w->t_size, lid, i));
	first = fetch(&k, k.group, &end, &none);
	store(&k, k.v_n, first);
	store(&k, k.v_end, end);
	branch(&k, loop);
	label(&k, loop);
	if (state)
		group_state(&k, state, lid, size);
	call_body(&k, args, state);
	barrier(&k);
	branch_if(&k, binary(w, OP_I_EQUAL, w->t_bool, any, constant(w, w->t_size, 0)), find, done);
	label(&k, find);
	next_group(&k, w->local[entry], done);
	label(&k, done);
	barrier(&k);
	next = load(&k, w->local[entry]);
	store(&k, k.v_n, next);
	branch_if(&k, binary(w, OP_U_LESS_THAN, w->t_bool, next, k.total), loop, out);
	label(&k, out);
	emit(s, &w->code, OP_RETURN, NULL, 0);
	emit(s, &w->code, OP_FUNCTION_END, NULL, 0);
}
