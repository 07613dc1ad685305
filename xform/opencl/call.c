// SPDX-License-Identifier: MIT
/*
 * Calls: what a function does to what its arguments point to, and what its result is.
 *
 * A wait for another work-group is a loop that goes on until memory reads as somebody
 * else writes it. So what volatile reads and atomics return is V_SHARED, and a loop
 * that such a value ends is one that waits (body.c). Not so what takes a step by
 * itself: atomic_inc(), atomic_add() of a number but 0, and a loop that a compare and
 * swap ends that went well and expected what is read anew, from the same place, each
 * time: when it fails, somebody else has got on, so that it will end whoever is running.
 * One that expects a constant, or what was read once, is a lock, and looks like a flag
 * that is waited for; so does one that would swap a value for itself, and one whose
 * success goes round again.
 */
#include <string.h>

#include "cl.h"

#define MAX_ARGS	32

struct args {
	struct value v[MAX_ARGS];
	uint32_t from[MAX_ARGS];	/* tokens */
	uint32_t n;
};

void cl_use(struct walk *w, uint32_t uses, uint32_t line)
{
	struct fn *f = w->f;
	uint32_t i;

	for (i = 0; i < U_BITS; i++)
		if (uses & ~f->own & 1u << i)
			f->line[i] = line;
	f->own |= uses;
}

static void read_args(struct walk *w, uint32_t open, struct args *a)
{
	uint32_t close = w->j->toks[open].x, i;

	a->n = 0;
	w->at = open + 1;
	while (w->at < close) {
		uint32_t from = w->at;
		struct value v = cl_assignment(w, close);

		i = a->n < MAX_ARGS ? a->n++ : MAX_ARGS - 1;
		if (a->n == MAX_ARGS && i == MAX_ARGS - 1 && from != open + 1)
			cl_merge(&a->v[i], &v);
		else
			a->v[i] = v;
		a->from[i] = from;
		if (w->at < close)
			w->at++;
	}
	w->at = close + 1;
}

static struct value all_of(const struct args *a)
{
	struct value v = { .flags = V_LITERAL };
	uint32_t i;

	for (i = 0; i < a->n; i++)
		cl_merge(&v, &a->v[i]);
	return v;
}

/* What is only computed: no address. */
static struct value computed(const struct args *a, uint32_t flags)
{
	struct value v = all_of(a);

	v.roots = 0;
	v.flags = (v.flags & (V_SHARED | V_VARYING)) | flags;
	return v;
}

static uint64_t target(const struct args *a, uint32_t i)
{
	uint64_t roots = i < a->n ? a->v[i].roots : 0;

	return roots ? roots : FROM_UNKNOWN;
}

/* A number, and not 0. */
static bool is_step(const struct walk *w, const struct args *a)
{
	const struct job *j = w->j;
	const struct tok *t;
	uint32_t i;

	if (a->n < 2)
		return false;
	t = &j->toks[a->from[1]];
	if (t->kind != LEX_NUMBER || !(is(j, a->from[1] + 1, ')') || is(j, a->from[1] + 1, ',')))
		return false;
	for (i = 0; i < t->len; i++)
		if (j->text[t->pos + i] >= '1' && j->text[t->pos + i] <= '9')
			return true;
	return false;
}

/* What an atomic on @roots returns, if it tells of others' @waits. */
static struct value found(struct walk *w, const struct args *a, uint64_t roots, bool waits)
{
	struct value v = { .flags = V_VARYING, .from = roots };

	if (a->n)
		v.deps = a->v[0].deps;
	if (waits && roots & ~FROM_OWN) {
		v.flags |= V_SHARED;
		w->f->reads_shared = true;
	}
	return v;
}

/* Are the second and the third argument the same words? */
static bool swaps_nothing(const struct job *j, const struct args *a)
{
	uint32_t i, n = a->from[2] - a->from[1] - 1;

	for (i = 0; i < n; i++) {
		const struct tok *x = &j->toks[a->from[1] + i], *y = &j->toks[a->from[2] + i];

		if (x->len != y->len || memcmp(j->text + x->pos, j->text + y->pos, x->len))
			return false;
	}
	return is(j, a->from[2] + n, ')') || is(j, a->from[2] + n, ',');
}

static struct value swap(struct walk *w, const struct args *a, uint64_t roots)
{
	const struct value *expected = &a->v[1];
	struct job *j = w->j;
	struct value v;
	bool fresh;

	if (a->n < 3)
		return found(w, a, roots, true);
	fresh = !(expected->flags & V_LITERAL) && !swaps_nothing(j, a) &&
		(expected->flags & V_SWAPPED || expected->from & roots);
	v = found(w, a, roots, true);
	if (fresh) {
		v.flags |= V_SWAPPED;
		/* is it read anew each time? That is asked where the loop ends */
		if (roots & ~FROM_OWN)
			*PUSH(j, j->swaps, j->n_swaps, j->cap_swaps) = a->from[1];
	}
	return v;
}

/* atomic_compare_exchange_...(object, &expected, desired): whether it went well */
static struct value swap_explicit(struct walk *w, const struct args *a, uint64_t roots)
{
	struct job *j = w->j;
	bool fresh = false;
	struct value v;
	struct var *x;

	if (a->n >= 3 && is(j, a->from[1], '&') && is_name(j, a->from[1] + 1) &&
	    is(j, a->from[1] + 2, ',')) {
		x = cl_var_of(w, a->from[1] + 1);
		fresh = x && !x->literal_in_loop;
	}
	cl_may_write(w, target(a, 1));
	w->own_flags |= V_SHARED;
	v = found(w, a, roots, !fresh);
	v.flags |= fresh ? V_WON : 0;
	return v;
}

static struct value atomic(struct walk *w, enum word what, const struct args *a, uint32_t line)
{
	uint64_t roots = target(a, 0);

	cl_may_read(w, roots);
	cl_may_write(w, roots);
	if (roots & ~FROM_OWN)
		cl_use(w, U_ATOMIC, line);
	switch (what) {
	case W_ATOMIC_STEP:
		return found(w, a, roots, false);
	case W_ATOMIC_ADD:
		return found(w, a, roots, !is_step(w, a));
	case W_CAS:
		return swap(w, a, roots);
	case W_CAS_EXPLICIT:
		return swap_explicit(w, a, roots);
	default:
		return found(w, a, roots, true);
	}
}

/* A function that we don't know: all may happen to what it is given. */
static struct value unknown(struct walk *w, const struct args *a)
{
	struct value v = all_of(a);
	uint32_t i;

	for (i = 0; i < a->n; i++) {
		cl_may_read(w, a->v[i].roots);
		cl_may_write(w, a->v[i].roots);
	}
	v.flags &= V_SHARED | V_VARYING;
	if (v.roots & ~FROM_OWN)
		v.flags |= V_SHARED | V_VARYING;
	return v;
}

static bool scans(const struct job *j, uint32_t i)
{
	return memmem(j->text + j->toks[i].pos, j->toks[i].len, "scan", 4);
}

static struct value builtin(struct walk *w, uint32_t at, const struct args *a)
{
	struct job *j = w->j;
	enum word what = word(j, at);
	uint32_t line = j->toks[at].line;
	struct value v = { 0 };

	cl_use(w, cl_use_of_word(what), line);
	switch (what) {
	case W_GLOBAL_ID:
	case W_LOCAL_ID:
	case W_GLOBAL_LINEAR:
	case W_SUB_GROUP:
	case W_SUB_COUNT:
		return computed(a, V_VARYING);
	case W_BARRIER:
	case W_SUB_BARRIER:
		cl_met_barrier(w);
		return v;
	case W_COLLECTIVE:
		cl_met_barrier(w);
		v.flags = scans(j, at) ? V_VARYING : 0;
		return v;
	case W_ASYNC_COPY:
		cl_met_barrier(w);
		cl_may_write(w, target(a, 0));
		cl_may_read(w, target(a, 1));
		return v;
	case W_FENCE:
		if (w->frame)
			w->frame->fence = true;
		return v;
	case W_ATOMIC_STEP: case W_ATOMIC_ADD: case W_ATOMIC_OTHER: case W_ATOMIC_LOAD:
	case W_ATOMIC_STORE: case W_CAS: case W_CAS_EXPLICIT:
		return atomic(w, what, a, line);
	case W_VLOAD:
		cl_may_read(w, target(a, 1));
		v = computed(a, 0);
		v.from = target(a, 1);
		if (a->n > 1 && a->v[1].flags & V_VOLATILE && v.from & ~FROM_OWN)
			v.flags |= V_SHARED;
		return v;
	case W_VSTORE:
		cl_may_write(w, target(a, 2));
		return v;
	case W_READ_IMAGE:
		cl_may_read(w, target(a, 0));
		v = computed(a, 0);
		v.from |= target(a, 0);
		return v;
	case W_WRITE_IMAGE:
		cl_may_write(w, target(a, 0));
		return v;
	case W_OUT_POINTER:
		if (a->n)
			cl_may_write(w, target(a, a->n - 1));
		return computed(a, 0);
	case W_PASS:
		return all_of(a);
	case W_PRINTF:
		cl_may_read(w, all_of(a).roots);
		return v;
	case W_PLAIN:
		if (sym(j, at)->flags & S_OWN)
			cl_use(w, U_ASM, line);
		return unknown(w, a);
	case W_INNER:
	case W_ENQUEUE:
	case W_PIPE_CALL:
		return unknown(w, a);
	default:
		return computed(a, 0);
	}
}

static uint64_t bit(uint32_t i)
{
	return 1ull << (i < 59 ? i : 59);
}

/* A function of the program: one of those with this name. */
static struct value own_function(struct walk *w, const struct fn *g, const struct args *a,
				 uint32_t line)
{
	struct value v = { .flags = g->ret_flags };
	struct fn *f = w->f;
	uint32_t i;

	if (g->body == NONE)
		return v;
	for (i = 0; i < a->n; i++) {
		const struct value *x = &a->v[i];
		uint64_t roots = x->roots ? x->roots : x->flags & V_LITERAL ? 0 : FROM_UNKNOWN;

		if (g->reads & bit(i))
			cl_may_read(w, roots);
		if (g->writes & bit(i))
			cl_may_write(w, roots);
		if (g->writes & bit(i) && roots & FROM_PRIVATE)
			w->own_flags |= V_VARYING | (g->reads_shared ? V_SHARED : 0);
		if (g->reads & bit(i) && roots & ~FROM_OWN)
			v.from |= FROM_CALL;
		if (g->returns & bit(i))
			v.roots |= roots;
		if (g->ret_deps & bit(i)) {
			v.flags |= x->flags & (V_VARYING | V_SHARED);
			v.deps |= x->deps;
		}
		if (g->uniform & bit(i)) {
			f->uniform |= x->deps;
			if (x->flags & V_VARYING)
				cl_use(w, U_DIVERGES, line);
		}
	}
	v.roots |= g->returns & ~FROM_PARAMS;
	f->reads_shared |= g->reads_shared;
	if (g->uses & U_READS_ANY)
		v.from |= FROM_CALL;
	if (g->uses & U_FENCE) {
		if (w->frame)
			w->frame->fence = true;
		/* it reads, and sees to it that it reads what is new */
		if (v.from & FROM_CALL) {
			v.flags |= V_SHARED;
			f->reads_shared = true;
		}
	}
	if (g->uses & U_BARRIER)
		cl_met_barrier(w);
	return v;
}

struct value cl_call(struct walk *w, uint32_t at)
{
	struct job *j = w->j;
	struct value v = { 0 }, one;
	struct args a;
	uint32_t i, line = j->toks[at].line;
	bool body = false;

	read_args(w, at + 1, &a);
	i = sym(j, at)->fn;
	if (i == NONE)
		return builtin(w, at, &a);
	/* which of the two is called isn't worked out: it may be either */
	if (word(j, at) >= W_GLOBAL_ID && cl_named_as_builtin(j, at)) {
		if (cl_use_of_word(word(j, at)) & (U_SLICE | U_WORKERS))
			cl_use(w, U_BARE, line);
		v = builtin(w, at, &a);
	}
	for (; i != NONE; i = j->fns[i].next) {
		spend(j);
		body |= j->fns[i].body != NONE;
		one = own_function(w, &j->fns[i], &a, line);
		cl_merge(&v, &one);
		if (j->fns[i].kernel)
			cl_use(w, U_KERNEL, line);
		if (j->fns[i].uses & (U_SLICE | U_WORKERS) && cl_overloads_builtin(j, &j->fns[i]))
			cl_use(w, U_CLASH, line);
	}
	cl_use(w, U_CALLS, line);
	if (!body) {
		cl_use(w, U_EXTERN, line);
		return unknown(w, &a);
	}
	return v;
}
