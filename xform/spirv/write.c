// SPDX-License-Identifier: MIT
/*
 * The shadow module: the words as they are, but for these.
 *
 * Functions that read a value of the work-item which a cut launch gives otherwise, by
 * themselves or through others, get one more parameter: a pointer to the *state*, an
 * array of seven vectors that the entry point fills in, private to the work-item. Loads
 * of the built-in variables become loads from there, and calls hand the pointer on. What
 * isn't cut but calls such functions hands on a null pointer, and isn't launched.
 *
 * New types, constants and variables stand behind the module's own; a type that is there
 * already is used, as the rules want it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spv.h"

void emit_words(struct spv *s, struct words *o, const uint32_t *words, uint32_t n)
{
	if (!n || !spv_room(s, &o->w, &o->cap, o->n + n, 4))
		return;
	memcpy(o->w + o->n, words, n * 4);
	o->n += n;
}

void emit(struct spv *s, struct words *o, uint32_t op, const uint32_t *words, uint32_t n)
{
	uint32_t first = (n + 1) << 16 | op;

	if (n + 1 > 0xffff) {
		spv_error(s, -E2BIG, 0, "an instruction would be too long");
		return;
	}
	emit_words(s, o, &first, 1);
	emit_words(s, o, words, n);
}

/* A type (or constant) that is there; @skip words of it are its id and before. */
static uint32_t look_up(const uint32_t *w, uint32_t from, uint32_t to, uint32_t op,
			const uint32_t *rest, uint32_t n, uint32_t id_at)
{
	uint32_t at;

	for (at = from; at < to; at += w[at] >> 16)
		if ((w[at] & 0xffff) == op && w[at] >> 16 == n + 2 &&
		    (id_at == 1 ? !n || !memcmp(w + at + 2, rest, n * 4) :
		     w[at + 1] == rest[0] && !memcmp(w + at + 3, rest + 1, (n - 1) * 4)))
			return w[at + id_at];
	return 0;
}

static uint32_t type_of(struct writer *w, uint32_t op, const uint32_t *rest, uint32_t n)
{
	struct spv *s = w->s;
	uint32_t id = look_up(s->w, s->annotations, s->first_fn, op, rest, n, 1), first;

	if (!id)
		id = look_up(w->types.w, 0, w->types.n, op, rest, n, 1);
	if (id)
		return id;
	id = w->next++;
	first = (n + 2) << 16 | op;
	emit_words(s, &w->types, &first, 1);
	emit_words(s, &w->types, &id, 1);
	emit_words(s, &w->types, rest, n);
	return id;
}

#define TYPE(w, op, ...) type_of(w, op, (const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

uint32_t constant(struct writer *w, uint32_t type, uint64_t value)
{
	struct spv *s = w->s;
	uint32_t rest[3] = { type, value, value >> 32 }, n = type == w->t_ulong ? 3 : 2, id;

	id = look_up(s->w, s->annotations, s->first_fn, OP_CONSTANT, rest, n, 2);
	if (!id)
		id = look_up(w->types.w, 0, w->types.n, OP_CONSTANT, rest, n, 2);
	if (id)
		return id;
	id = w->next++;
	if (n == 3)
		EMIT(w, &w->types, OP_CONSTANT, type, id, rest[1], rest[2]);
	else
		EMIT(w, &w->types, OP_CONSTANT, type, id, rest[1]);
	return id;
}

static void make_types(struct writer *w)
{
	w->t_void = type_of(w, OP_TYPE_VOID, NULL, 0);
	w->t_bool = type_of(w, OP_TYPE_BOOL, NULL, 0);
	w->t_uint = TYPE(w, OP_TYPE_INT, 32, 0);
	w->t_ulong = TYPE(w, OP_TYPE_INT, 64, 0);
	w->t_size = w->s->physical32 ? w->t_uint : w->t_ulong;
	w->t_v3 = TYPE(w, OP_TYPE_VECTOR, w->t_size, 3);
	w->t_v4 = TYPE(w, OP_TYPE_VECTOR, w->t_ulong, 4);
	w->t_state = TYPE(w, OP_TYPE_ARRAY, w->t_v3, constant(w, w->t_uint, B_STATE));
	w->t_ptr_state = TYPE(w, OP_TYPE_POINTER, STORAGE_FUNCTION, w->t_state);
	w->t_ptr_v3 = TYPE(w, OP_TYPE_POINTER, STORAGE_FUNCTION, w->t_v3);
	w->t_ptr_size = TYPE(w, OP_TYPE_POINTER, STORAGE_FUNCTION, w->t_size);
	w->t_ptr_uint = TYPE(w, OP_TYPE_POINTER, STORAGE_FUNCTION, w->t_uint);
	w->t_ptr_global = TYPE(w, OP_TYPE_POINTER, STORAGE_CROSS, w->t_uint);
	w->t_ptr_local = TYPE(w, OP_TYPE_POINTER, STORAGE_WORKGROUP, w->t_uint);
}

uint32_t binary(struct writer *w, uint32_t op, uint32_t type, uint32_t a, uint32_t b)
{
	uint32_t id = w->next++;

	EMIT(w, &w->code, op, type, id, a, b);
	return id;
}

uint32_t extract(struct writer *w, uint32_t type, uint32_t v, uint32_t i)
{
	uint32_t id = w->next++;

	EMIT(w, &w->code, OP_COMPOSITE_EXTRACT, type, id, v, i);
	return id;
}

/* Between uint, ulong and size_t, which is one of them. */
uint32_t convert(struct writer *w, uint32_t type, uint32_t v)
{
	uint32_t id = w->next++;

	EMIT(w, &w->code, OP_U_CONVERT, type, id, v);
	return id;
}

uint32_t load_builtin(struct writer *w, enum builtin b)
{
	static const uint8_t numbers[B_COUNT] = {
		[B_GROUP_ID] = 26, [B_NUM_GROUPS] = 24, [B_GLOBAL_ID] = 28, [B_LOCAL_ID] = 27,
		[B_LOCAL_SIZE] = 25,
	};
	uint32_t id = w->next++, i;

	for (i = 1; i < w->s->bound && !w->variable[b]; i++)
		if (w->s->ids[i].builtin == b + 1)
			w->variable[b] = i;
	if (!w->variable[b]) {
		uint32_t pointer = TYPE(w, OP_TYPE_POINTER, STORAGE_INPUT, w->t_v3);

		w->variable[b] = w->next++;
		EMIT(w, &w->types, OP_VARIABLE, pointer, w->variable[b], STORAGE_INPUT);
		EMIT(w, &w->decorations, OP_DECORATE, w->variable[b], DECORATION_BUILT_IN,
		     numbers[b]);
	}
	w->used |= BIT(b);
	EMIT(w, &w->code, OP_LOAD, w->t_v3, id, w->variable[b]);
	return id;
}

uint32_t to_v3(struct writer *w, uint32_t v4)
{
	uint32_t t = w->s->physical32 ? TYPE(w, OP_TYPE_VECTOR, w->t_ulong, 3) : w->t_v3;
	uint32_t id = w->next++;

	EMIT(w, &w->code, OP_VECTOR_SHUFFLE, t, id, v4, v4, 0, 1, 2);
	return w->s->physical32 ? convert(w, w->t_v3, id) : id;
}

uint32_t linear_id(struct writer *w, uint32_t gid, uint32_t offset, uint32_t size)
{
	uint32_t at = binary(w, OP_I_SUB, w->t_v3, gid, offset), v, i;

	v = extract(w, w->t_size, at, 2);
	for (i = 2; i--;) {
		v = binary(w, OP_I_MUL, w->t_size, v, extract(w, w->t_size, size, i));
		v = binary(w, OP_I_ADD, w->t_size, v, extract(w, w->t_size, at, i));
	}
	return v;
}

void write_state(struct writer *w, uint32_t state, const uint32_t value[B_STATE])
{
	uint32_t at, b;

	for (b = 0; b < B_STATE; b++) {
		uint32_t place = value[b] ? constant(w, w->t_uint, b) : 0;

		if (!value[b])
			continue;
		at = w->next++;
		if (b == B_LINEAR_ID)
			EMIT(w, &w->code, OP_IN_BOUNDS_ACCESS_CHAIN, w->t_ptr_size, at, state,
			     place, constant(w, w->t_uint, 0));
		else
			EMIT(w, &w->code, OP_IN_BOUNDS_ACCESS_CHAIN, w->t_ptr_v3, at, state, place);
		EMIT(w, &w->code, OP_STORE, at, value[b]);
	}
}

uint32_t function_type(struct writer *w, const struct fn *f, const uint32_t *more, uint32_t n)
{
	struct spv *s = w->s;
	uint32_t def = s->ids[f->type].def, have = len_of(s, def) - 2, id;
	uint32_t *rest = malloc((have + n) * 4);

	if (!rest) {
		spv_error(s, -ENOMEM, 0, "out of memory");
		return 0;
	}
	memcpy(rest, s->w + def + 2, have * 4);
	memcpy(rest + have, more, n * 4);
	id = type_of(w, OP_TYPE_FUNCTION, rest, have + n);
	free(rest);
	return id;
}

static uint32_t bits_of(const struct writer *w)
{
	return w->mode == GSX_SLICE ? SLICE_BITS : WORKER_BITS;
}

/* The state of a slice: what its hidden arguments and its own launch tell. */
static void write_slice_state(struct writer *w, const struct fn *f, uint32_t state,
			      const uint32_t hidden[4])
{
	uint32_t value[B_STATE] = { 0 }, offset = 0, size = 0, id, i, x[3];

	if (f->uses & BIT(B_GROUP_ID))
		value[B_GROUP_ID] = binary(w, OP_I_ADD, w->t_v3, to_v3(w, hidden[0]),
					   load_builtin(w, B_GROUP_ID));
	if (f->uses & BIT(B_NUM_GROUPS))
		value[B_NUM_GROUPS] = to_v3(w, hidden[1]);
	if (f->uses & (BIT(B_GLOBAL_OFFSET) | BIT(B_LINEAR_ID)))
		offset = value[B_GLOBAL_OFFSET] = to_v3(w, hidden[2]);
	if (f->uses & (BIT(B_GLOBAL_SIZE) | BIT(B_LINEAR_ID)))
		size = value[B_GLOBAL_SIZE] = to_v3(w, hidden[3]);
	if (f->uses & BIT(B_LINEAR_ID))
		value[B_LINEAR_ID] = linear_id(w, load_builtin(w, B_GLOBAL_ID), offset, size);
	if (f->uses & BIT(B_ENQUEUED_SIZE)) {
		for (i = 0; i < 3; i++) {
			x[i] = extract(w, w->t_ulong, hidden[i], 3);
			if (w->s->physical32)
				x[i] = convert(w, w->t_uint, x[i]);
		}
		id = w->next++;
		EMIT(w, &w->code, OP_COMPOSITE_CONSTRUCT, w->t_v3, id, x[0], x[1], x[2]);
		value[B_ENQUEUED_SIZE] = id;
	}
	write_state(w, state, value);
}

/* A load of a built-in variable, or a pointer to one element of it. */
static bool write_builtin(struct writer *w, uint32_t state, uint32_t at)
{
	struct spv *s = w->s;
	uint32_t op = op_of(s, at), b, place, pointer;

	if (op != OP_LOAD && op != OP_ACCESS_CHAIN && op != OP_IN_BOUNDS_ACCESS_CHAIN)
		return false;
	b = s->ids[s->w[at + 3]].builtin;
	if (!b-- || !(BIT(b) & bits_of(w)))
		return false;
	place = constant(w, w->t_uint, b);
	if (op != OP_LOAD) {
		EMIT(w, &w->code, OP_IN_BOUNDS_ACCESS_CHAIN, w->t_ptr_size, s->w[at + 2], state,
		     place, s->w[at + 4]);
		return true;
	}
	pointer = w->next++;
	if (b == B_LINEAR_ID)
		EMIT(w, &w->code, OP_IN_BOUNDS_ACCESS_CHAIN, w->t_ptr_size, pointer, state, place,
		     constant(w, w->t_uint, 0));
	else
		EMIT(w, &w->code, OP_IN_BOUNDS_ACCESS_CHAIN, w->t_ptr_v3, pointer, state, place);
	EMIT(w, &w->code, OP_LOAD, s->w[at + 1], s->w[at + 2], pointer);
	return true;
}

/* A call of a function that takes the state now. */
static bool write_call(struct writer *w, uint32_t state, uint32_t at)
{
	struct spv *s = w->s;
	uint32_t fn = op_of(s, at) == OP_FUNCTION_CALL ? s->fn_of_id[s->w[at + 3]] : 0, first;

	if (!fn || !w->type[fn - 1])
		return false;
	if (!state && !w->no_state) {
		w->no_state = w->next++;
		EMIT(w, &w->types, OP_CONSTANT_NULL, w->t_ptr_state, w->no_state);
	}
	if (!state)
		state = w->no_state;
	first = (len_of(s, at) + 1) << 16 | OP_FUNCTION_CALL;
	emit_words(s, &w->code, &first, 1);
	emit_words(s, &w->code, s->w + at + 1, len_of(s, at) - 1);
	emit_words(s, &w->code, &state, 1);
	return true;
}

/*
 * One function. A slice's entry point has its hidden parameters behind its own, its
 * state as its first variable, and fills that in behind the last one.
 */
static void write_function(struct writer *w, uint32_t fn)
{
	struct spv *s = w->s;
	const struct fn *f = &s->fns[fn];
	bool slice = w->mode == GSX_SLICE && w->rewritten[fn];
	bool fill = false, stateful = w->type[fn];
	uint32_t hidden[4] = { 0 }, state = 0, at, i, op;

	for (at = f->word; at < f->end; at += len_of(s, at)) {
		op = op_of(s, at);
		if (op == OP_FUNCTION) {
			EMIT(w, &w->code, OP_FUNCTION, s->w[at + 1], f->id, s->w[at + 3],
			     stateful ? w->type[fn] : f->type);
			continue;
		}
		if (at == f->label && slice) {
			for (i = 0; i < 4; i++) {
				hidden[i] = w->next++;
				EMIT(w, &w->code, OP_FUNCTION_PARAMETER, w->t_v4, hidden[i]);
			}
			emit_words(s, &w->code, s->w + at, len_of(s, at));
			if (f->uses & SLICE_BITS) {
				state = w->next++;
				EMIT(w, &w->code, OP_VARIABLE, w->t_ptr_state, state,
				     STORAGE_FUNCTION);
				fill = true;
			}
			continue;
		}
		if (at == f->label && stateful) {
			state = w->next++;
			EMIT(w, &w->code, OP_FUNCTION_PARAMETER, w->t_ptr_state, state);
		}
		if (fill && at != f->label && op != OP_VARIABLE && op != OP_LINE &&
		    op != OP_NO_LINE) {
			write_slice_state(w, f, state, hidden);
			fill = false;
		}
		if (!(state && write_builtin(w, state, at)) && !write_call(w, state, at))
			emit_words(s, &w->code, s->w + at, len_of(s, at));
	}
}

/* Which functions take a state, or hidden parameters, and the types that they have then. */
static void plan(struct writer *w)
{
	struct spv *s = w->s;
	uint32_t i, v4[4] = { w->t_v4, w->t_v4, w->t_v4, w->t_v4 };

	for (i = 0; i < s->n_entries; i++)
		w->rewritten[s->entries[i].fn] |= s->entries[i].modes & GSX_BIT(w->mode) &&
			!(w->mode == GSX_SLICE && !(s->fns[s->entries[i].fn].uses & SLICE_BITS) &&
			  !s->opt->rewrite_native);
	for (i = 0; i < s->n_fns; i++) {
		const struct fn *f = &s->fns[i];

		if (w->mode == GSX_SLICE && f->entry) {
			if (w->rewritten[i])
				w->type[i] = function_type(w, f, v4, 4);
		} else if (f->uses & bits_of(w) && f->label && (!f->entry || w->rewritten[i])) {
			w->type[i] = function_type(w, f, &w->t_ptr_state, 1);
		}
	}
}

static bool listed(const struct spv *s, uint32_t from, uint32_t to, uint32_t id)
{
	for (; from < to; from++)
		if (s->w[from] == id)
			return true;
	return false;
}

/* An entry point, with its new function, and the variables that our code loads. */
static void write_entry(struct writer *w, uint32_t entry, struct words *to)
{
	struct spv *s = w->s;
	const struct entry *e = &s->entries[entry];
	uint32_t at = e->word, len = len_of(s, at), more[B_COUNT + 1], n = 0, b, first;
	uint32_t name = at + 3 + strlen(e->name) / 4 + 1;

	if (!w->rewritten[e->fn]) {
		emit_words(s, to, s->w + at, len);
		return;
	}
	for (b = 0; b < B_COUNT; b++)
		if (w->used & BIT(b) && !listed(s, name, at + len, w->variable[b]))
			more[n++] = w->variable[b];
	if (w->local[entry] && s->version >= 0x10400)
		more[n++] = w->local[entry];
	first = (len + n) << 16 | OP_ENTRY_POINT;
	if (len + n > 0xffff)
		spv_error(s, -E2BIG, at, "an entry point would be too long");
	emit_words(s, to, &first, 1);
	emit_words(s, to, s->w + at + 1, 1);
	emit_words(s, to, w->worker[entry] ? &w->worker[entry] : s->w + at + 2, 1);
	emit_words(s, to, s->w + at + 3, len - 3);
	emit_words(s, to, more, n);
}

/* What is said about a kernel goes to the worker that stands for it now. */
static bool moved(struct writer *w, uint32_t at, struct words *to)
{
	struct spv *s = w->s;
	uint32_t op = op_of(s, at), i;
	bool mode = op == OP_EXECUTION_MODE || op == OP_EXECUTION_MODE_ID, any = false;

	if (w->mode != GSX_WORKERS || len_of(s, at) < 3 ||
	    !(mode || op == OP_NAME || (op == OP_DECORATE && s->w[at + 2] == DECORATION_LINKAGE)))
		return false;
	for (i = 0; i < s->n_entries; i++) {
		if (s->fns[s->entries[i].fn].id != s->w[at + 1] || !w->rewritten[s->entries[i].fn])
			continue;
		any = true;
		if (op == OP_DECORATE)		/* the body isn't for others to link */
			continue;
		emit_words(s, to, s->w + at, 1);
		emit_words(s, to, &w->worker[i], 1);
		emit_words(s, to, s->w + at + 2, len_of(s, at) - 2);
	}
	return any;
}

/*
 * The translator of SPIR-V to LLVM puts an entry point before each kernel that does
 * nothing but call it, and when it reads takes the function of the kernel's name for the
 * kernel again, whatever the entry point's parameters are. So that function loses its
 * name, and isn't for others to link.
 */
static bool misleads(const struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at), end = at + len_of(s, at), fn, i, from;

	if (len_of(s, at) < 3 || s->w[at + 1] >= s->bound ||
	    !(op == OP_NAME || (op == OP_DECORATE && s->w[at + 2] == DECORATION_LINKAGE)))
		return false;
	fn = s->fn_of_id[s->w[at + 1]];
	if (!fn || s->fns[fn - 1].entry)
		return false;
	from = op == OP_NAME ? at + 2 : at + 3;
	for (i = 0; i < s->n_entries; i++)
		if (spv_string_is(s, from, end, s->entries[i].name, false))
			return true;
	return false;
}

static void assemble(struct writer *w, struct words *to)
{
	struct spv *s = w->s;
	uint32_t at, entry = 0;

	emit_words(s, to, s->w, 5);
	if (!s->has_int64)
		EMIT(w, to, OP_CAPABILITY, CAPABILITY_INT64);
	for (at = 5; at < s->first_fn; at += len_of(s, at)) {
		if (at == s->names)
			emit_words(s, to, w->names.w, w->names.n);
		if (at == s->annotations)
			emit_words(s, to, w->decorations.w, w->decorations.n);
		if (op_of(s, at) == OP_ENTRY_POINT)
			write_entry(w, entry++, to);
		else if (!misleads(s, at) && !moved(w, at, to))
			emit_words(s, to, s->w + at, len_of(s, at));
	}
	emit_words(s, to, w->types.w, w->types.n);
	emit_words(s, to, w->code.w, w->code.n);
	if (w->next > MAX_BOUND)
		spv_error(s, -E2BIG, 3, "the result would have too many ids");
	if (!s->err)
		to->w[3] = w->next;
}

void write_module(struct spv *s, enum gsx_mode mode, struct words *to)
{
	struct writer w = { .s = s, .mode = mode, .next = s->bound };
	uint32_t i;

	w.rewritten = spv_keep(s, s->n_fns + 1);
	w.type = spv_keep(s, (s->n_fns + 1) * 4);
	w.worker = spv_keep(s, (s->n_entries + 1) * 4);
	w.local = spv_keep(s, (s->n_entries + 1) * 4);
	if (s->err)
		return;
	make_types(&w);
	plan(&w);
	for (i = 0; i < s->n_fns && !s->err; i++)
		write_function(&w, i);
	for (i = 0; i < s->n_entries && !s->err && mode == GSX_WORKERS; i++)
		if (w.rewritten[s->entries[i].fn])
			write_worker(&w, i);
	assemble(&w, to);
	free(w.names.w);
	free(w.decorations.w);
	free(w.types.w);
	free(w.code.w);
}
