// SPDX-License-Identifier: MIT
/*
 * Warp-wide operations. A lane brings its value and waits; when all lanes of its
 * mask that still live wait for the same, the last to come works out what each
 * gets and wakes them. Nothing is assumed about who runs together.
 */
#include "exec.h"

/* What the lanes of a warp do with matrices, together. */
static bool is_matrix(exec_fn fn)
{
	return fn == exec_mma || fn == exec_wmma_load || fn == exec_wmma_store ||
		fn == exec_ldmatrix || fn == exec_stmatrix || fn == exec_movmatrix;
}

static void meet(struct thread *t, const struct insn *i, uint32_t mask, uint64_t value,
		 uint64_t value2)
{
	if (!(mask >> t->lane & 1)) {
		thread_fault(t, i, FAULT_INSTRUCTION, "lane %u isn't in its own mask 0x%08x",
			     t->lane, mask);
		return;
	}
	t->mask = mask;
	t->value = value;
	t->value2 = value2;
	thread_wait(t, i, T_WARP);
	warp_check(t);
}

void exec_warpsync(struct thread *t, const struct insn *i)
{
	meet(t, i, val(t, &i->a[0]), 0, 0);
}

/* shfl.sync d|p, a, b, c, mask */
void exec_shfl(struct thread *t, const struct insn *i)
{
	meet(t, i, val(t, &i->a[4]), (uint32_t)val(t, &i->a[1]),
	     (val(t, &i->a[2]) & 31) | (val(t, &i->a[3]) & 0x1f1f) << 8);
}

void exec_vote(struct thread *t, const struct insn *i)
{
	meet(t, i, val(t, &i->a[2]), val(t, &i->a[1]) & 1, 0);
}

void exec_match(struct thread *t, const struct insn *i)
{
	meet(t, i, val(t, &i->a[2]), valn(t, &i->a[1], i->type), 0);
}

void exec_redux(struct thread *t, const struct insn *i)
{
	meet(t, i, val(t, &i->a[2]), valn(t, &i->a[1], i->type), 0);
}

#define MATRIX(name)							\
void exec_##name(struct thread *t, const struct insn *i)		\
{									\
	meet(t, i, ~0u, 0, 0);						\
}

MATRIX(mma)
MATRIX(wmma_load)
MATRIX(wmma_store)
MATRIX(ldmatrix)
MATRIX(stmatrix)
MATRIX(movmatrix)

void exec_elect(struct thread *t, const struct insn *i)
{
	meet(t, i, val(t, &i->a[1]), 0, 0);
}

/* Those that stand here with us now: run.c lets them all in before one goes on. */
void exec_activemask(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], PTX_T_U32, t->mask);
}

static struct thread *lane_of(struct thread *t, uint32_t lane)
{
	return t - t->lane + lane;
}

static void finish_shfl(struct thread *t, const struct insn *i, uint32_t lanes)
{
	uint32_t b = t->value2 & 31, c = t->value2 >> 8, clamp = c & 31, seg = c >> 8 & 31;
	uint32_t lo = t->lane & seg, hi = lo | (clamp & ~seg), src = t->lane;
	bool in = true;

	switch (i->op) {
	case S_UP:
		in = (int)t->lane - (int)b >= (int)hi;	/* here the clamp is the lower end */
		src = t->lane - b;
		break;
	case S_DOWN:
		src = t->lane + b;
		in = src <= hi;
		break;
	case S_BFLY:
		src = t->lane ^ b;
		in = src <= hi;
		break;
	default:
		src = lo | (b & ~seg);
		in = src <= hi;
	}
	if (!in)
		src = t->lane;
	/* a lane that isn't there has no value to give: anything may come */
	put(t, i->a[0].kind == K_VEC ? &i->a[0].vec[0] : &i->a[0], PTX_T_U32,
	    lanes >> src & 1 ? lane_of(t, src)->value : 0xdeadbeef);
	if (i->a[0].kind == K_VEC)
		put(t, &i->a[0].vec[1], PTX_T_PRED, in);
}

static void finish_vote(struct thread *t, const struct insn *i, uint32_t lanes, uint32_t yes)
{
	switch (i->op) {
	case V_BALLOT: put(t, &i->a[0], PTX_T_U32, yes); break;
	case V_ANY: put(t, &i->a[0], PTX_T_PRED, yes != 0); break;
	case V_ALL: put(t, &i->a[0], PTX_T_PRED, yes == lanes); break;
	default: put(t, &i->a[0], PTX_T_PRED, yes == lanes || !yes);
	}
}

static void finish_match(struct thread *t, const struct insn *i, uint32_t lanes)
{
	const struct opnd *d = i->a[0].kind == K_VEC ? &i->a[0].vec[0] : &i->a[0];
	uint32_t k, same = 0;

	for (k = 0; k < 32; k++)
		if (lanes >> k & 1 && lane_of(t, k)->value == t->value)
			same |= 1u << k;
	if (i->op == V_ALL && same != lanes)
		same = 0;
	put(t, d, PTX_T_U32, same);
	if (i->a[0].kind == K_VEC)
		put(t, &i->a[0].vec[1], PTX_T_PRED, same != 0);
}

static void finish_redux(struct thread *t, const struct insn *i, uint32_t lanes)
{
	bool sign = type_signed(i->type), first = true;
	uint64_t r = 0, v;
	uint32_t k;

	for (k = 0; k < 32; k++) {
		if (!(lanes >> k & 1))
			continue;
		v = lane_of(t, k)->value;
		if (first)
			r = v;
		else if (i->op == A_ADD)
			r += v;
		else if (i->op == A_AND)
			r &= v;
		else if (i->op == A_OR)
			r |= v;
		else if (i->op == A_XOR)
			r ^= v;
		else if (((sign ? (int64_t)v < (int64_t)r : v < r)) == (i->op == A_MIN))
			r = v;
		first = false;
	}
	put(t, &i->a[0], i->type, r);
}

/* @t is one of @lanes; their values stand until all have got theirs. */
void warp_finish(struct thread *t, uint32_t lanes)
{
	uint32_t k, yes = 0;

	if (is_matrix(t->wait->fn))
		matrix_finish(t, lanes);
	for (k = 0; k < 32; k++)
		if (lanes >> k & 1 && lane_of(t, k)->value & 1)
			yes |= 1u << k;
	for (k = 0; k < 32; k++) {
		struct thread *l = lane_of(t, k);
		const struct insn *i;

		if (!(lanes >> k & 1))
			continue;
		i = l->wait;
		if (i->fn == exec_shfl)
			finish_shfl(l, i, lanes);
		else if (i->fn == exec_vote)
			finish_vote(l, i, lanes, yes);
		else if (i->fn == exec_match)
			finish_match(l, i, lanes);
		else if (i->fn == exec_redux)
			finish_redux(l, i, lanes);
		else if (i->fn == exec_elect) {
			put(l, &i->a[0].vec[0], PTX_T_U32, __builtin_ctz(lanes));
			put(l, &i->a[0].vec[1], PTX_T_PRED, k == (uint32_t)__builtin_ctz(lanes));
		}
	}
	for (k = 0; k < 32; k++)
		if (lanes >> k & 1)
			thread_wake(lane_of(t, k));
}
