// SPDX-License-Identifier: MIT
/* Loads, stores, atomics, and what turns one address space's addresses into another's. */
#include <string.h>
#include "exec.h"

/* The host may read and write what is mapped at the same time: no access is torn. */
static uint64_t load(const uint8_t *p, unsigned int size)
{
	switch (size) {
	case 1: return __atomic_load_n(p, __ATOMIC_RELAXED);
	case 2: return __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED);
	case 4: return __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
	default: return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
	}
}

static void store(uint8_t *p, unsigned int size, uint64_t v)
{
	switch (size) {
	case 1: __atomic_store_n(p, v, __ATOMIC_RELAXED); break;
	case 2: __atomic_store_n((uint16_t *)p, v, __ATOMIC_RELAXED); break;
	case 4: __atomic_store_n((uint32_t *)p, v, __ATOMIC_RELAXED); break;
	default: __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED);
	}
}

/* False: somebody on the host was quicker. */
static bool replace(uint8_t *p, unsigned int size, uint64_t old, uint64_t v)
{
#define REPLACE(type) __atomic_compare_exchange_n((type *)p, &(type){ old }, v, false,	\
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED)
	return size == 2 ? REPLACE(uint16_t) : size == 4 ? REPLACE(uint32_t) : REPLACE(uint64_t);
#undef REPLACE
}

void exec_ld(struct thread *t, const struct insn *i)
{
	unsigned int size = type_size(i->type), n = i->a[0].kind == K_VEC ? i->a[0].reg : 1, k;
	uint8_t *p = access_at(t, i, &i->a[1], i->space, size * n);

	if (!p)
		return;
	if (n == 1) {
		put(t, &i->a[0], i->type, load(p, size));
		return;
	}
	for (k = 0; k < n; k++)
		put(t, &i->a[0].vec[k], i->type, load(p + k * size, size));
}

void exec_st(struct thread *t, const struct insn *i)
{
	unsigned int size = type_size(i->type), n = i->a[1].kind == K_VEC ? i->a[1].reg : 1, k;
	uint8_t *p = access_at(t, i, &i->a[0], i->space, size * n);

	if (!p)
		return;
	if (n == 1) {
		store(p, size, val(t, &i->a[1]));
		return;
	}
	for (k = 0; k < n; k++)
		store(p + k * size, size, val(t, &i->a[1].vec[k]));
}

static uint64_t float_update(const struct insn *i, uint64_t old, uint64_t v)
{
	unsigned int half = i->type == PTX_T_F16X2 ? PTX_T_F16 : PTX_T_BF16, k;
	double a, b;
	uint64_t r = 0;

	if (i->type == PTX_T_F16X2 || i->type == PTX_T_BF16X2) {
		for (k = 0; k < 32; k += 16)
			r |= float_bits(half, float_value(half, old >> k) +
					float_value(half, v >> k), R_N) << k;
		return r;
	}
	a = float_value(i->type, old);
	b = float_value(i->type, v);
	if (i->op == A_ADD)		/* two floats' sum in double is rounded once more: exact */
		return float_bits(i->type, a + b, R_N);
	return (i->op == A_MIN) == (b < a) ? v : old;
}

uint64_t atom_update(unsigned int type, unsigned int op, uint64_t old, uint64_t v, uint64_t c)
{
	bool sign = type_signed(type);

	switch (op) {
	case A_ADD: return old + v;
	case A_INC: return old >= v ? 0 : old + 1;
	case A_DEC: return !old || old > v ? v : old - 1;
	case A_MIN: return (sign ? (int64_t)v < (int64_t)old : v < old) ? v : old;
	case A_MAX: return (sign ? (int64_t)v > (int64_t)old : v > old) ? v : old;
	case A_AND: return old & v;
	case A_OR: return old | v;
	case A_XOR: return old ^ v;
	case A_EXCH: return v;
	default: return old == v ? c : old;	/* cas: v is what it must be */
	}
}

/* atom d, [a], b{, c}; red [a], b */
void exec_atom(struct thread *t, const struct insn *i)
{
	unsigned int size = type_size(i->type), at = i->flags & F_NORET ? 0 : 1;
	uint8_t *p = access_at(t, i, &i->a[at], i->space, size);
	uint64_t old, v, c, to;

	if (!p)
		return;
	v = valn(t, &i->a[at + 1], i->type);
	c = i->op == A_CAS ? val(t, &i->a[at + 2]) : 0;
	do {
		old = norm(i->type, load(p, size));
		to = is_float(i->type) && i->op <= A_MAX ? float_update(i, old, v) :
			atom_update(i->type, i->op, old, v, c);
	} while (!replace(p, size, old, to));
	if (at)
		put(t, &i->a[0], i->type, old);
}

/*
 * cp.async [to], [from], size {, how much is read of it, or whether to ignore the source}:
 * done at once, so that waiting for it needs nothing. What isn't read becomes zero.
 */
void exec_copy(struct thread *t, const struct insn *i)
{
	uint32_t size = val(t, &i->a[2]), from = i->n > 3 ? val(t, &i->a[3]) : size;
	uint8_t *d, *s;

	if (size != 4 && size != 8 && size != 16) {
		thread_fault(t, i, FAULT_MISALIGNED, "a copy of %u bytes", size);
		return;
	}
	if (i->n > 3 && i->a[3].kind == K_REG && i->a[3].size == 1)	/* a predicate */
		from = from & 1 ? 0 : size;
	if (from > size)
		from = size;
	d = access_at(t, i, &i->a[0], PTX_SPACE_SHARED, size);
	s = d && from ? range_at(t, i, &i->a[1], PTX_SPACE_GLOBAL, from, size) : NULL;
	if (!d || (from && !s))
		return;
	memset(d + from, 0, size - from);
	if (from)
		memcpy(d, s, from);
}

void exec_nothing(struct thread *t, const struct insn *i)
{
	(void)t;
	(void)i;
}

static struct block *member(struct thread *t, uint32_t rank)
{
	struct cluster *c = t->b->cluster;

	return c && rank < c->n ? c->member[rank] : !c && !rank ? t->b : NULL;
}

void exec_cvta(struct thread *t, const struct insn *i)
{
	uint64_t v = val(t, &i->a[1]), base = 0;
	struct block *b = t->b;

	if (i->space == PTX_SPACE_SHARED) {
		if (i->flags & F_TO) {
			b = shared_owner(t, v);
			v += b && b != t->b ? (uint64_t)(b->rank + 1) << 24 : 0;
		} else if (v >> 24 && v >> 24 <= 16) {
			b = member(t, (v >> 24) - 1);
			v &= 0xffffff;
		}
		base = b ? (uint64_t)(uintptr_t)b->shared : 0;
	} else if (i->space == PTX_SPACE_LOCAL) {
		base = (uint64_t)(uintptr_t)t->local;
	}
	put(t, &i->a[0], i->type, i->flags & F_TO ? v - base : v + base);
}

void exec_isspacep(struct thread *t, const struct insn *i)
{
	uint64_t v = val(t, &i->a[1]);
	struct block *b = t->b, *owner = shared_owner(t, v);
	bool local = v - (uint64_t)(uintptr_t)t->local < dev.stack_bytes && b->local;
	bool param = v - (uint64_t)(uintptr_t)b->g->params < b->g->f->param_bytes;
	bool constant = program_constant(v), r;

	switch (i->space) {
	case PTX_SPACE_SHARED: r = i->op ? owner != NULL : owner == b; break;
	case PTX_SPACE_LOCAL: r = local; break;
	case PTX_SPACE_PARAM: r = param; break;
	case PTX_SPACE_CONST: r = constant; break;
	case PTX_SPACE_GLOBAL:	/* .param lies there */
		r = !owner && !local && !constant;
		break;
	default: r = false;
	}
	put(t, &i->a[0], PTX_T_PRED, r);
}

/* The same place in another block of the cluster. */
void exec_mapa(struct thread *t, const struct insn *i)
{
	uint64_t v = val(t, &i->a[1]), rank = (uint32_t)val(t, &i->a[2]);
	struct block *b = member(t, rank);

	if (!b) {
		thread_fault(t, i, FAULT_ADDRESS, "the cluster has no block %u", (unsigned int)rank);
		return;
	}
	if (i->space == PTX_SPACE_SHARED)
		v = (rank + 1) << 24 | (v & 0xffffff);
	else
		v = v - (uint64_t)(uintptr_t)t->b->shared + (uint64_t)(uintptr_t)b->shared;
	put(t, &i->a[0], i->type, v);
}

void exec_getctarank(struct thread *t, const struct insn *i)
{
	uint64_t v = val(t, &i->a[1]);
	struct block *b = i->space != PTX_SPACE_SHARED ? shared_owner(t, v) :
		v >> 24 ? member(t, (v >> 24) - 1) : t->b;

	put(t, &i->a[0], PTX_T_U32, b ? b->rank : 0);
}

void exec_alloca(struct thread *t, const struct insn *i)
{
	uint64_t size = val(t, &i->a[1]), align = i->n > 2 ? val(t, &i->a[2]) : 16;
	uint64_t at = (t->top + align - 1) & ~(align - 1);

	if (size > dev.stack_bytes || at + size > dev.stack_bytes) {
		thread_fault(t, i, FAULT_STACK, "alloca of %llu bytes passes the stack's end",
			     (unsigned long long)size);
		return;
	}
	t->top = at + size;
	put(t, &i->a[0], i->type, at);
}

void exec_stacksave(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, t->top);
}

void exec_stackrestore(struct thread *t, const struct insn *i)
{
	uint64_t v = val(t, &i->a[0]);

	if (v <= t->top)
		t->top = v;
}

void exec_refused(struct thread *t, const struct insn *i)
{
	thread_fault(t, i, FAULT_INSTRUCTION, "this instruction isn't known to the driver on the CPU");
}
